//! What a summary suggests, for a table that does not fit in memory.

use super::Job;
use super::estimate::{by, candidates, columns};
use crate::error::{Error, Result};
use crate::policy::Policy;
use crate::recoding::{Columns, Mapping, Recoding, Regions};
use crate::release::Believed;
use crate::search::instant::{Candidate, Candidates};
use crate::search::regions::m_instant;
use crate::search::{Found, Warrant};
use crate::summary::{Estimator, Summary};
use crate::watch::Watch;
use std::path::PathBuf;

/// Refuses splits that a summary knows nothing of.
pub(super) fn check_criterion(policy: &Policy) -> Result<()> {
    if !policy.search().partitioning.criterion.needs_target() {
        return Ok(());
    }
    Err(Error::Incomplete {
        file: policy.file().to_path_buf(),
        missing: "m-instant supports only the splits `loss` and `median`, because a summary has \
                  no target; use mondrian for other splits"
            .into(),
    })
}

/// The first regions that m-instant foresees, about so many, in the codes of a table.
pub(super) fn foreseen(
    job: &Job,
    summary: Summary,
    table: Columns<'_>,
    most: usize,
    watch: &Watch,
) -> Result<(Regions, Believed)> {
    let file = PathBuf::from(summary.file());
    let beliefs = job.policy.believe(summary, &file)?;
    let instant = &job.parameters.instant;
    let by = by(&job.policy, instant, beliefs.suppressible)?;
    let estimator = Estimator::new(&beliefs, instant.shortcuts, watch)?;
    let _heeding = watch.heed();
    let foreseen = m_instant::partition_within(&estimator, by, most, watch)?;
    watch.check()?;
    let believed = Believed {
        summary: beliefs.summary.kind().name().into(),
        candidates: foreseen.regions.nodes.len() as u64,
        checks: 1,
        probability: foreseen.probability,
        outliers: foreseen.outliers,
    };
    let mapping = Mapping::Regions(foreseen.regions);
    let recoding = Recoding::of(columns(&beliefs), &mapping).ok_or(Error::Defect)?;
    match recoding.bind(table, &file)? {
        Mapping::Regions(regions) => Ok((regions, believed)),
        _ => Err(Error::Defect),
    }
}

/// Candidates in the order in which they are checked.
pub(super) struct Listed {
    /// Those that are believed in, the cheapest first, and then the most general recoding.
    pub(super) candidates: Vec<Candidate>,
    /// How many are believed in.
    pub(super) believed: u64,
    summary: String,
    visited: u64,
    space: Option<u128>,
}

/// The candidates of a summary in the codes of a table. Those of another table's summary are
/// foreign, and have to be translated.
pub(super) fn listed(
    job: &Job,
    summary: Summary,
    table: Columns<'_>,
    is_foreign: bool,
    watch: &Watch,
) -> Result<Listed> {
    let file = PathBuf::from(summary.file());
    let beliefs = job.policy.believe(summary, &file)?;
    let instant = &job.parameters.instant;
    let by = by(&job.policy, instant, beliefs.suppressible)?;
    let estimator = Estimator::new(&beliefs, instant.shortcuts, watch)?;
    let _heeding = watch.heed();
    let Candidates { mut list, visited, space } = candidates(&job.policy, &estimator, by, watch)?;
    if is_foreign {
        for candidate in &mut list {
            let recoding = Recoding::of(columns(&beliefs), &candidate.mapping);
            candidate.mapping = recoding.ok_or(Error::Defect)?.bind(table, &file)?;
        }
    }
    let believed = list.len() as u64;
    list.push(Candidate {
        mapping: Mapping::Levels(table.taxonomies.iter().map(|tree| tree.height()).collect()),
        probability: 0.0,
        outliers: 0.0,
        lm: 1.0,
        lm_weighted: 1.0,
        cost: 1.0,
    });
    let summary = beliefs.summary.kind().name().into();
    Ok(Listed { candidates: list, believed, summary, visited, space })
}

impl Listed {
    /// What was found if a candidate holds and those before it do not.
    pub(super) fn found(&self, at: usize) -> Result<(Found, Believed)> {
        let candidate = self.candidates.get(at).ok_or(Error::Defect)?;
        let Candidate { mapping, probability, outliers, cost, .. } = candidate;
        let found = Found {
            mapping: mapping.clone(),
            warrant: Warrant::Likely,
            cost: Some(*cost),
            space: self.space,
            visited: self.visited,
        };
        let believed = Believed {
            summary: self.summary.clone(),
            candidates: self.believed,
            checks: at as u64 + 1,
            probability: *probability,
            outliers: *outliers,
        };
        Ok((found, believed))
    }
}
