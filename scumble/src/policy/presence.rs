//! `presence` under [privacy]: how likely a known person may be in the table, and what is known of
//! the world.

use super::file::{Entry, Section};
use super::{Algorithm, Policy};
use crate::error::{Error, Place, Result};
use crate::ratio::Ratio;
use crate::source::read_records;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A presence that is asked for.
#[derive(Clone, Debug)]
pub struct PresenceAsked {
    /// The least share of a group of the population that may be in the table.
    pub min: Ratio,
    /// The greatest share.
    pub max: Ratio,
    /// What is known of the world.
    pub world: WorldAsked,
}

/// What is known of the world that the table is a part of.
#[derive(Clone, Debug)]
pub enum WorldAsked {
    /// Everybody, those of the table among them.
    Population(PathBuf),
    /// How often each value occurs; the range is kept with a confidence.
    Marginals(MarginalsAsked),
}

/// Attribute distributions, and how sure one must be.
#[derive(Clone, Debug)]
pub struct MarginalsAsked {
    /// The file that holds them.
    pub file: PathBuf,
    /// Its lines: number, attribute, value, count.
    pub listed: Arc<[(u64, String, String, u64)]>,
    /// Whose they are.
    pub of: MarginalsOf,
    /// How sure one must be that the range is kept for a person of the table.
    pub confidence: Ratio,
    /// A column of the table with the confidence that its row needs instead.
    pub confidence_column: Option<String>,
    /// Whether every tuple that the marginals allow must be covered.
    pub cover_all: bool,
}

/// Whose values marginals count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarginalsOf {
    /// Everybody's, those of the table among them.
    Population,
    /// Everybody else's.
    Others,
}

impl PresenceAsked {
    /// The file that holds what is known of the world.
    pub fn file(&self) -> &Path {
        match &self.world {
            WorldAsked::Population(file) => file,
            WorldAsked::Marginals(asked) => &asked.file,
        }
    }

    /// The public table, where there is one.
    pub fn population(&self) -> Option<&Path> {
        match &self.world {
            WorldAsked::Population(file) => Some(file),
            WorldAsked::Marginals(_) => None,
        }
    }

    /// The attribute distributions, where there are.
    pub fn marginals(&self) -> Option<&MarginalsAsked> {
        match &self.world {
            WorldAsked::Population(_) => None,
            WorldAsked::Marginals(asked) => Some(asked),
        }
    }
}

pub(super) fn parse(entry: &Entry<'_>) -> Result<PresenceAsked> {
    let section = entry.table(Some("privacy.presence"))?;
    let (min, max) = (share(&section, "min", Ratio::ZERO)?, share(&section, "max", Ratio::ONE)?);
    if min > max {
        return Err(section.required("min")?.wrong(format!("a share up to `max`, which is {max}")));
    }
    if max == Ratio::ZERO {
        return Err(section
            .required("max")?
            .wrong("a share above 0, since somebody is in the table"));
    }
    Ok(PresenceAsked { min, max, world: world(entry, &section)? })
}

fn share(section: &Section<'_>, name: &str, absent: Ratio) -> Result<Ratio> {
    let Some(entry) = section.get(name) else { return Ok(absent) };
    let expected = "a share from 0 to 1";
    let share = entry.ratio(expected)?;
    if share <= Ratio::ONE { Ok(share) } else { Err(entry.wrong(expected)) }
}

fn world(entry: &Entry<'_>, section: &Section<'_>) -> Result<WorldAsked> {
    let folder = entry.text.file.parent().unwrap_or(Path::new(""));
    let Some(marginals) = section.get("marginals") else {
        let Some(population) = section.get("population") else {
            return Err(entry
                .wrong("`population`, a table of everybody, or `marginals` with a `confidence`"));
        };
        let only = ["confidence", "marginals-of", "cover", "confidence-column"];
        if let Some(stray) = only.into_iter().find_map(|name| section.get(name)) {
            return Err(stray.wrong("nothing: it goes with `marginals`"));
        }
        return Ok(WorldAsked::Population(folder.join(population.str()?)));
    };
    if let Some(stray) = section.get("population") {
        return Err(stray.wrong("nothing: whoever knows the population needs no `marginals`"));
    }
    let file = folder.join(marginals.str()?);
    let of = [("population", MarginalsOf::Population), ("others", MarginalsOf::Others)];
    section.required("confidence")?;
    Ok(WorldAsked::Marginals(MarginalsAsked {
        listed: listed(&file)?.into(),
        file,
        of: section
            .get("marginals-of")
            .map_or(Ok(MarginalsOf::Population), |entry| entry.choice(of.into_iter()))?,
        confidence: share(section, "confidence", Ratio::ONE)?,
        confidence_column: section
            .get("confidence-column")
            .map(|entry| entry.str().map(str::to_string))
            .transpose()?,
        cover_all: section.get("cover").map_or(Ok(false), |entry| {
            entry.choice([("table", false), ("all", true)].into_iter())
        })?,
    }))
}

/// The lines of a CSV `attribute,value,count`, with or without a header.
fn listed(file: &Path) -> Result<Vec<(u64, String, String, u64)>> {
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

impl Policy {
    /// Refuses what does not go with a presence, and searches that are for nothing else.
    pub(crate) fn check_presence(&self) -> Result<()> {
        let algorithm = self.search.algorithm;
        if self.privacy.presence.is_some() && self.privacy.distribution.is_some() {
            return Err(self.incomplete(
                "`presence` and `distribution` do not go together: a folder of records hides nobody".into(),
            ));
        }
        let Some(asked) = &self.privacy.presence else {
            return match algorithm {
                Algorithm::Spalm | Algorithm::Mpalm | Algorithm::Sfalm => Err(self.incomplete(
                    "the algorithm is for `presence` under [privacy]; without one use incognito or mondrian".into(),
                )),
                _ => Ok(()),
            };
        };
        if self.search.suppression > Ratio::ZERO {
            let missing = "`presence` and suppression do not go together: whoever is left out of the release is in the \
                           table all the same";
            return Err(self.incomplete(missing.into()));
        }
        match (algorithm, &asked.world) {
            (Algorithm::Auto | Algorithm::Mpalm, _)
            | (Algorithm::Spalm, WorldAsked::Population(_))
            | (Algorithm::Sfalm, WorldAsked::Marginals(_)) => Ok(()),
            (_, WorldAsked::Population(_)) => Err(self.incomplete(
                "`presence` with a population needs the algorithm spalm or mpalm".into(),
            )),
            (_, WorldAsked::Marginals(_)) => Err(self
                .incomplete("`presence` with marginals needs the algorithm sfalm or mpalm".into())),
        }
    }
}
