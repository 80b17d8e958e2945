//! Searches in memory: which algorithm runs, and what is told if nothing can be released.

use super::memory::Bound;
use super::{Job, auto, cuts, estimate, local};
use crate::bind::Prepared;
use crate::error::{Error, Refusal, Result};
use crate::policy::{Algorithm, nearest};
use crate::recoding::Mapping;
use crate::release::{Alternative, Believed, Classes, judge_classes};
use crate::search::Found;
use crate::search::lattice::{incognito, sfalm, spalm};
use crate::search::regions::{mfalm, mondrian, mpalm};
use crate::taxonomy::Taxonomy;
use crate::watch::Watch;
use std::sync::Arc;

/// What a search found, and by which algorithm.
pub(super) struct Searched {
    pub(super) algorithm: &'static str,
    pub(super) found: Found,
    /// What it went by, if that was a summary.
    pub(super) believed: Option<Believed>,
    /// What other kinds of recoding would have lost.
    pub(super) alternatives: Vec<Alternative>,
    /// No release has a smaller LM, proven; a smaller weighted LM, if the policy gives weights.
    pub(super) proven: Option<f64>,
}

/// Searches as the policy says; for a recoding that can be saved, if it will be.
pub(super) fn search(
    job: &Job,
    bound: &Bound<'_>,
    is_saved: bool,
    watch: &Watch,
) -> Result<Searched> {
    let search = job.policy.search();
    if search.algorithm.is_instant() {
        return estimate::search(job, bound, watch);
    }
    // A presence knows nothing of labels that overlap.
    let is_open = search.algorithm == Algorithm::Auto && job.policy.privacy().presence.is_none();
    if is_open {
        return auto::search(job, &bound.prepared, is_saved, watch);
    }
    let (believed, alternatives) = (None, Vec::new());
    if search.algorithm == Algorithm::Local {
        let found = local::search(job, &bound.prepared, watch);
        let (found, proven) = found.map_err(|error| refused(error, &bound.prepared, watch))?;
        return Ok(Searched { algorithm: "local", found, believed, alternatives, proven });
    }
    let (algorithm, found) = by_rows(job, &bound.prepared, watch)?;
    Ok(Searched { algorithm, found, believed, alternatives, proven: None })
}

/// Searches by counts of rows: the algorithm's name, and what it found.
pub(super) fn by_rows(
    job: &Job,
    prepared: &Prepared,
    watch: &Watch,
) -> Result<(&'static str, Found)> {
    let (policy, task) = (&job.policy, &prepared.task);
    let (strategy, partitioning) = (job.parameters.strategy, policy.search().partitioning);
    let is_confident = task.confident.is_some();
    let algorithm = match policy.search().algorithm {
        Algorithm::Auto if is_confident => Algorithm::Sfalm,
        Algorithm::Auto if policy.privacy().presence.is_some() => Algorithm::Spalm,
        algorithm => algorithm,
    };
    let (name, found) = match algorithm {
        Algorithm::Spalm => ("spalm", spalm::search(task, strategy, watch)),
        Algorithm::Sfalm => ("sfalm", sfalm::search(task, strategy, watch)),
        Algorithm::Mpalm if is_confident => ("mpalm", mfalm::search(task, watch)),
        Algorithm::Mpalm => ("mpalm", mpalm::search(task, partitioning, watch)),
        Algorithm::Auto
        | Algorithm::Incognito
        | Algorithm::SInstant
        | Algorithm::SaOnly
        | Algorithm::QiSa => ("incognito", incognito::search(task, strategy, watch)),
        Algorithm::Mondrian | Algorithm::MInstant | Algorithm::RothkoT | Algorithm::RothkoS => {
            ("mondrian", mondrian::search(task, partitioning, watch))
        }
        Algorithm::Local => ("local", local::search(job, prepared, watch).map(|(found, _)| found)),
        Algorithm::LPlusOptimize => ("l-plus-optimize", cuts::search(job, prepared, watch)),
        Algorithm::Annealing => ("annealing", cuts::search(job, prepared, watch)),
    };
    Ok((name, found.map_err(|error| refused(error, prepared, watch))?))
}

/// An error with what the most general recoding would reach, if no recoding can be released.
pub(super) fn refused(error: Error, prepared: &Prepared, watch: &Watch) -> Error {
    with_refusal(error, prepared, &most_general(prepared), watch)
}

/// The most general recoding: the root of every tree.
pub(super) fn most_general(prepared: &Prepared) -> Mapping {
    let trees = &prepared.task.taxonomies;
    Mapping::Levels(trees.iter().map(|taxonomy| taxonomy.height()).collect())
}

/// A level for each quasi-identifier, from those that were given by name.
pub(super) fn levels_by_hand(
    given: &[(String, usize)],
    names: &[String],
    taxonomies: &[Arc<Taxonomy>],
) -> Result<Vec<usize>> {
    let wrong = |value: String, expected: String| Error::BadParameter {
        place: None,
        key: "levels".into(),
        value,
        expected,
    };
    for (name, _) in given {
        if !names.contains(name) {
            let near = nearest(name, names.iter().map(String::as_str));
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(wrong(name.clone(), format!("the name of a quasi-identifier{hint}")));
        }
    }
    let level = |(name, taxonomy): (&String, &Arc<Taxonomy>)| {
        let mut matching = given.iter().filter(|(given, _)| given == name);
        match (matching.next(), matching.next()) {
            (None, _) => Err(wrong(name.clone(), "a level for this quasi-identifier".into())),
            (_, Some(_)) => {
                Err(wrong(name.clone(), "only one level for this quasi-identifier".into()))
            }
            (Some((_, level)), None) if *level > taxonomy.height() => Err(wrong(
                format!("{name}={level}"),
                format!("a level from 0 to {}", taxonomy.height()),
            )),
            (Some((_, level)), None) => Ok(*level),
        }
    };
    names.iter().zip(taxonomies).map(level).collect()
}

/// An unmet requirement, with what a mapping would reach before suppression.
pub(super) fn with_refusal(
    error: Error,
    prepared: &Prepared,
    mapping: &Mapping,
    watch: &Watch,
) -> Error {
    let Error::CannotBeMet { shortfall, refusal: None } = error else { return error };
    match refusal(prepared, mapping, watch) {
        Ok(refusal) => Error::CannotBeMet { shortfall, refusal: Some(Box::new(refusal)) },
        Err(error) => error,
    }
}

/// What a mapping would reach before suppression.
fn refusal(prepared: &Prepared, mapping: &Mapping, watch: &Watch) -> Result<Refusal> {
    let task = &prepared.task;
    let Classes { values, classes, tallies, class_of } = Classes::new(task, mapping, watch)?;
    let mut verified = judge_classes(&classes, &tallies, &task.requirements, watch)?;
    verified.privacy.extend(super::world::exactly(task, &values, &classes, &class_of, watch)?);
    let levels = match mapping {
        Mapping::Levels(levels) => {
            Some(prepared.names.iter().cloned().zip(levels.iter().copied()).collect())
        }
        Mapping::Cuts(_) | Mapping::Regions(_) | Mapping::Local(_) => None,
    };
    Ok(Refusal {
        rows: task.rows(),
        suppressible: task.suppressible,
        classes: verified.classes,
        smallest_class: verified.smallest,
        privacy: verified.judged(&prepared.counted),
        levels,
        remedies: None,
    })
}
