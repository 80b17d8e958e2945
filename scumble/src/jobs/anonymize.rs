//! The main job: search, recode, verify, write.

use super::rothko::rothko;
use super::{CutOptions, DiskOptions, Failure, InstantOptions, Work, cuts, instant, presence};
use crate::bind::Prepared;
use crate::error::{Error, Result};
use crate::policy::{Algorithm, Policy, nearest};
use crate::privacy::Shortcuts;
use crate::recoding::Mapping;
use crate::release::{Classes, Report, Searched, Verified, verify};
use crate::search::Found;
use crate::search::lattice::incognito::{self, Strategy};
use crate::search::lattice::{sfalm, spalm};
use crate::search::regions::{mfalm, mondrian, mpalm};
use crate::taxonomy::Taxonomy;
use crate::watch::Watch;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What a caller may choose besides the policy.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The delimiter of a CSV input; sniffed where not given.
    pub delimiter: Option<u8>,
    /// Levels fixed by hand: nothing is searched.
    pub levels: Option<Vec<(String, usize)>>,
    /// The order of the search.
    pub strategy: Strategy,
    /// Rows stay in the order of the input.
    pub keep_order: bool,
    /// Where to save the recoding.
    pub save_recoding: Option<PathBuf>,
    /// How partitioning on disk may use the machine.
    pub disk: DiskOptions,
    /// Is told how far the job has come, and may ask a search to end with the best it has.
    pub watch: Watch,
    /// For whatever is drawn at random.
    pub seed: Option<u64>,
    /// What concerns searches for cuts only.
    pub cuts: CutOptions,
    /// How confident presence is judged.
    pub shortcuts: Shortcuts,
    /// What concerns searches by belief only.
    pub instant: InstantOptions,
}

/// Anonymizes `input` as `policy` asks and writes the verified release to `output`, with a report
/// beside it.
pub fn anonymize(
    input: &Path,
    policy: &Policy,
    output: &Path,
    options: &Options,
) -> Result<Report, Failure> {
    if options.levels.is_none() && is_on_disk(input, policy, options)? {
        return rothko(input, policy, output, options);
    }
    let start = Instant::now();
    let mut work = Work::read(input, policy, output, options)?;
    if let Some(given) = &options.levels {
        let levels = levels_by_hand(given, &work.prepared.names, &work.prepared.task.taxonomies)?;
        return work.release("fixed-levels", Mapping::Levels(levels), None, options);
    }
    let (name, found, believed) = if policy.search().algorithm.is_instant() {
        let (name, found, believed) =
            instant::search(&work.table, &work.prepared, policy, options)?;
        (name, found, Some(believed))
    } else {
        let (name, found) = search(policy, &work.prepared, options, start)?;
        (name, found, None)
    };
    let seconds = work.clock.phase("search");
    let Found { mapping, warrant, cost, space, visited } = found;
    // Whatever was decided, and however often, was decided on what one reading left in memory.
    let searched = Searched { warrant, cost, space, visited, data_scans: 1, seconds, believed };
    work.release(name, mapping, Some(searched), options)
}

/// Searches in memory as the policy says, in a job that began at `start`: the algorithm's name, and
/// what it found.
pub(super) fn search(
    policy: &Policy,
    prepared: &Prepared,
    options: &Options,
    start: Instant,
) -> Result<(&'static str, Found), Failure> {
    let task = &prepared.task;
    let (name, found) = match policy.search().algorithm {
        Algorithm::Spalm => ("spalm", spalm::search(task, options.strategy, &options.watch)),
        Algorithm::Auto if task.confident.is_none() && policy.privacy().presence.is_some() => {
            ("spalm", spalm::search(task, options.strategy, &options.watch))
        }
        Algorithm::Sfalm => ("sfalm", sfalm::search(task, options.strategy, &options.watch)),
        Algorithm::Auto if task.confident.is_some() => {
            ("sfalm", sfalm::search(task, options.strategy, &options.watch))
        }
        Algorithm::Mpalm if task.confident.is_some() => ("mpalm", mfalm::search(task)),
        Algorithm::Mpalm => ("mpalm", mpalm::search(task, policy.search().partitioning)),
        Algorithm::Auto
        | Algorithm::Incognito
        | Algorithm::SInstant
        | Algorithm::SaOnly
        | Algorithm::QiSa => {
            ("incognito", incognito::search(task, options.strategy, &options.watch))
        }
        // On disk where nothing was fixed by hand; that was seen to above.
        Algorithm::Mondrian | Algorithm::MInstant | Algorithm::RothkoT | Algorithm::RothkoS => {
            ("mondrian", mondrian::search(task, policy.search().partitioning))
        }
        algorithm @ (Algorithm::LPlusOptimize | Algorithm::Annealing) => {
            let name =
                if algorithm == Algorithm::Annealing { "annealing" } else { "l-plus-optimize" };
            (name, Ok(cuts::search(prepared, algorithm, options, start)?))
        }
    };
    let found = found.map_err(|error| {
        let top = task.taxonomies.iter().map(|taxonomy| taxonomy.height()).collect();
        with_report(error, prepared, &Mapping::Levels(top))
    })?;
    Ok((name, found))
}

/// Whether rows are partitioned on disk: where that is asked for, and where the choice is open and
/// the input exceeds the memory. An algorithm that needs all rows in memory is refused where they
/// would exceed a limit that was given.
fn is_on_disk(input: &Path, policy: &Policy, options: &Options) -> Result<bool> {
    let needed = || Ok::<_, Error>(super::open(input, options.delimiter)?.memory_needed());
    match policy.search().algorithm {
        Algorithm::RothkoT | Algorithm::RothkoS => Ok(true),
        Algorithm::Auto if policy.privacy().presence.is_none() => {
            Ok(needed()? > options.disk.memory())
        }
        // Without a limit there is nothing to open the file for.
        _ if options.disk.memory.is_none() => Ok(false),
        _ => check_memory(input, needed()?, options, ", or use rothko-s").map(|()| false),
    }
}

/// Refuses what needs more memory than a limit that was given.
pub(super) fn check_memory(
    input: &Path,
    needed: u64,
    options: &Options,
    instead: &str,
) -> Result<()> {
    match options.disk.memory {
        Some(memory) if needed > memory => {
            let file = input.display();
            let reason = format!(
                "{file}: its rows would take more memory than --memory allows; allow more{instead}"
            );
            Err(Error::TooLittleMemory { reason })
        }
        _ => Ok(()),
    }
}

/// A level for each quasi-identifier, from those that were given by name.
pub(super) fn levels_by_hand(
    given: &[(String, usize)],
    names: &[String],
    taxonomies: &[Arc<Taxonomy>],
) -> Result<Vec<usize>> {
    let wrong = |value: String, expected: String| Error::BadParameter {
        place: None,
        key: "--levels".into(),
        value,
        expected,
    };
    for (name, _) in given {
        if !names.contains(name) {
            let near = nearest(name, names.iter().map(String::as_str));
            let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(wrong(name.clone(), format!("quasi-identifiers{hint}")));
        }
    }
    let level = |(name, taxonomy): (&String, &Arc<Taxonomy>)| {
        let mut matching = given.iter().filter(|(given, _)| given == name);
        match (matching.next(), matching.next()) {
            (None, _) => Err(wrong(
                name.clone(),
                "a level for every quasi-identifier, and this one has none".into(),
            )),
            (_, Some(_)) => Err(wrong(name.clone(), "one level for each quasi-identifier".into())),
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
pub(super) fn with_report(error: Error, prepared: &Prepared, mapping: &Mapping) -> Failure {
    if !matches!(error, Error::CannotBeMet { .. }) {
        return error.into();
    }
    let task = &prepared.task;
    let Classes { values, classes, tallies, class_of } = Classes::new(task, mapping);
    let mut verified = verify(&classes, &tallies, &task.requirements);
    verified.privacy.extend(presence::exactly(task, &values, &classes, &class_of));
    let mut report =
        shortfall(&error, task.rows(), task.suppressible, &verified, &prepared.counted);
    if let Mapping::Levels(levels) = mapping {
        let levels: serde_json::Map<String, Value> =
            prepared.names.iter().cloned().zip(levels.iter().map(|level| json!(level))).collect();
        report["recoding"] = json!({"model": "full-domain", "levels": levels});
    }
    Failure { error, report: Some(report) }
}

/// What was asked and what would be reached, where nothing can be released.
pub(super) fn shortfall(
    error: &Error,
    rows: u64,
    suppressible: u64,
    verified: &Verified,
    counted: &[String],
) -> Value {
    json!({
        "error": error.to_string(),
        "rows": rows,
        "released": 0,
        "suppressible": suppressible,
        "classes": verified.classes,
        "smallest-class": verified.smallest,
        "privacy": verified.privacy_json(counted),
    })
}
