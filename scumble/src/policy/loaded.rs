//! Files that a policy names, read once: a policy that is changed keeps what it has read.

use crate::error::{Error, Place, Result};
use crate::ratio::Ratio;
use crate::source::read_records;
use crate::taxonomy::HierarchyFile;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The lines of marginals: number, attribute, value, count.
pub(super) type Marginals = Arc<[(u64, String, String, u64)]>;

/// The lines of a target: number, value, weight.
pub(super) type TargetWeights = Vec<(u64, String, Ratio)>;

/// What was read already.
#[derive(Clone, Debug, Default)]
pub(super) struct Loaded {
    pub(super) hierarchies: Vec<HierarchyFile>,
    pub(super) marginals: Option<(PathBuf, Marginals)>,
    pub(super) targets: Vec<(PathBuf, TargetWeights)>,
}

impl Loaded {
    pub(super) fn hierarchy(&self, file: &Path) -> Result<HierarchyFile> {
        match self.hierarchies.iter().find(|known| known.file() == file) {
            Some(known) => Ok(known.clone()),
            None => HierarchyFile::new(file, read_records(file)?),
        }
    }

    pub(super) fn marginals(&self, file: &Path) -> Result<Marginals> {
        match &self.marginals {
            Some((known, lines)) if known == file => Ok(lines.clone()),
            _ => Ok(read_marginals(file)?.into()),
        }
    }

    /// A CSV `value,weight`, with or without a header.
    pub(super) fn target(&self, file: &Path) -> Result<TargetWeights> {
        match self.targets.iter().find(|(known, _)| known == file) {
            Some((_, weights)) => Ok(weights.clone()),
            None => read_target(file),
        }
    }
}

/// The lines of a CSV `attribute,value,count`, with or without a header.
fn read_marginals(file: &Path) -> Result<Vec<(u64, String, String, u64)>> {
    let mut listed = Vec::new();
    for (at, (line, record)) in read_records(file)?.into_iter().enumerate() {
        let place = || Place::file(file).line(line);
        let ragged = |record: Vec<String>| Error::RaggedRow {
            place: place(),
            expected: 3,
            found: record.len(),
        };
        let [attribute, value, count] = <[String; 3]>::try_from(record).map_err(ragged)?;
        match count.trim().parse::<u64>() {
            // Factorials are kept up to the population.
            Ok(count) if count <= u64::from(u32::MAX) => {
                listed.push((line, attribute, value, count))
            }
            // The first line may name the columns.
            Err(_) if at == 0 => {}
            _ => {
                let expected = "a whole number from 0 to 4294967295".into();
                return Err(Error::BadParameter {
                    place: Some(place()),
                    key: "count".into(),
                    value: count,
                    expected,
                });
            }
        }
    }
    Ok(listed)
}

fn read_target(file: &Path) -> Result<TargetWeights> {
    let records = read_records(file)?;
    let mut weights = Vec::with_capacity(records.len());
    for (at, (line, record)) in records.into_iter().enumerate() {
        let place = || Place::file(file).line(line);
        let [value, weight] = <[String; 2]>::try_from(record).map_err(|record| {
            Error::RaggedRow { place: place(), expected: 2, found: record.len() }
        })?;
        match weight.parse::<Ratio>() {
            Ok(weight) => weights.push((line, value, weight)),
            // The first line may name the columns.
            Err(_) if at == 0 => {}
            Err(_) => {
                return Err(Error::BadParameter {
                    place: Some(place()),
                    key: "weight".into(),
                    value: weight,
                    expected: "a number of at least 0, such as 3, 0.25 or 1/4".into(),
                });
            }
        }
    }
    Ok(weights)
}
