//! What a summary suggests for a table, whether its rows are in memory or not.

use super::Job;
use super::estimate::{by, candidates, columns};
use crate::error::{Error, Result};
use crate::policy::{Policy, Space};
use crate::recoding::{Columns, Mapping, Recoding, Regions};
use crate::release::Believed;
use crate::search::instant::{By, Candidate, Candidates};
use crate::search::lattice::s_instant::Nodes;
use crate::search::regions::m_instant;
use crate::search::{Found, Warrant};
use crate::summary::{Beliefs, Estimator};
use crate::taxonomy::{Cut, Taxonomy};
use crate::watch::Watch;
use std::path::Path;
use std::sync::Arc;

/// Candidates that are checked at most. If so many fail, what they have in common is a wrong belief.
const MOST_FAILED: usize = 5;

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

/// What a summary makes one believe of a table.
pub(super) struct Belief<'a> {
    policy: &'a Policy,
    beliefs: &'a Beliefs,
    estimator: Estimator<'a>,
    by: By,
    table: Columns<'a>,
    file: &'a Path,
}

/// The candidates that are checked, in this order, in the codes of the table.
pub(super) struct Listed {
    pub(super) candidates: Vec<Candidate>,
    /// How many recodings are believed in.
    believed: u64,
    visited: u64,
    space: Option<u128>,
}

impl<'a> Belief<'a> {
    /// `table` has the columns of the table, which is called `file`.
    pub(super) fn new(
        job: &'a Job,
        beliefs: &'a Beliefs,
        (table, file): (Columns<'a>, &'a Path),
        watch: &Watch,
    ) -> Result<Belief<'a>> {
        let (policy, instant) = (&job.policy, &job.parameters.instant);
        let by = by(policy, instant, beliefs.suppressible)?;
        let estimator = Estimator::new(beliefs, instant.shortcuts, watch)?;
        Ok(Belief { policy, beliefs, estimator, by, table, file })
    }

    /// A mapping of the summary in the codes of the table, which may have other values.
    fn translated(&self, mapping: &Mapping) -> Result<Mapping> {
        let recoding = Recoding::of(columns(self.beliefs), mapping).ok_or(Error::Defect)?;
        recoding.bind(self.table, self.file)
    }

    fn believed(
        &self,
        candidates: u64,
        checks: usize,
        probability: f64,
        outliers: f64,
    ) -> Believed {
        let (summary, checks) = (self.beliefs.summary.kind().name().into(), checks as u64);
        Believed { summary, candidates, checks, fallback: None, probability, outliers }
    }

    /// S-INSTANT's first phase. The candidates of another table's summary are `foreign`.
    pub(super) fn listed(&self, foreign: bool, watch: &Watch) -> Result<Listed> {
        let Candidates { mut list, visited, space } =
            candidates(self.policy, &self.estimator, self.by, watch)?;
        let believed = list.len() as u64;
        list.truncate(MOST_FAILED);
        if foreign {
            for candidate in &mut list {
                candidate.mapping = self.translated(&candidate.mapping)?;
            }
        }
        Ok(Listed { candidates: list, believed, visited, space })
    }

    /// What was found if a candidate holds and those before it do not.
    pub(super) fn found(&self, listed: &Listed, at: usize) -> Result<(Found, Believed)> {
        let candidate = listed.candidates.get(at).ok_or(Error::Defect)?;
        let Candidate { mapping, probability, outliers, cost, .. } = candidate;
        let (warrant, cost) = (Warrant::Likely, Some(*cost));
        let Listed { space, visited, believed, .. } = *listed;
        let found = Found { mapping: mapping.clone(), warrant, cost, space, visited };
        Ok((found, self.believed(believed, at + 1, *probability, *outliers)))
    }

    /// What was found if no candidate holds: the best levels by the rows themselves, and what was
    /// believed of them.
    pub(super) fn fallen_back(&self, listed: &Listed, found: Found) -> Result<(Found, Believed)> {
        let Found { mapping, warrant, cost, space, visited } = found;
        let levels = mapping.levels();
        // Another table's summary may have the columns in another order, and lower trees.
        let Beliefs { names, taxonomies, .. } = self.beliefs;
        let known = |(name, tree): (&String, &Arc<Taxonomy>)| {
            let at = self.table.names.iter().position(|known| known == name)?;
            levels.get(at).copied().filter(|level| *level <= tree.height())
        };
        let known: Option<Vec<usize>> = names.iter().zip(taxonomies).map(known).collect();
        let total = match known {
            Some(levels) => Nodes::new(&self.estimator)?.total(&levels)?,
            None => None,
        };
        let rows = self.beliefs.rows();
        let (probability, outliers) =
            total.map_or((0.0, rows as f64), |total| (total.probability(rows), total.outliers()));
        let checks = listed.candidates.len();
        let believed = Believed {
            fallback: Some("incognito".into()),
            ..self.believed(listed.believed, checks, probability, outliers)
        };
        let visited = visited + listed.visited;
        let found = match self.policy.search().space {
            Space::FullDomain => Found { mapping, warrant, cost, space, visited },
            // Levels are cuts, but of these the best was not looked for.
            Space::Subtree => {
                let trees = self.table.taxonomies.iter().zip(levels);
                let cuts = trees.map(|(tree, level)| Cut::at_level(tree, *level)).collect();
                let (mapping, warrant) = (Mapping::Cuts(cuts), Warrant::Likely);
                Found { mapping, warrant, cost, space: listed.space, visited }
            }
        };
        Ok((found, believed))
    }

    /// M-INSTANT's first phase: the regions that it foresees, about so many at most, in the codes of
    /// the table, and how many were looked at.
    pub(super) fn foreseen(&self, most: usize, watch: &Watch) -> Result<(Regions, Believed, u64)> {
        let foreseen = m_instant::partition_within(&self.estimator, self.by, most, watch)?;
        watch.check()?;
        let candidates = foreseen.regions.nodes.len() as u64;
        let believed = self.believed(candidates, 1, foreseen.probability, foreseen.outliers);
        match self.translated(&Mapping::Regions(foreseen.regions))? {
            Mapping::Regions(regions) => Ok((regions, believed, foreseen.visited)),
            _ => Err(Error::Defect),
        }
    }
}
