//! Which recoding is released: found by a search on counted tuples, or given.

use super::bound::{BoundTable, RowTuples, count};
use super::scan::Scanned;
use crate::bind::AskedOfCuts;
use crate::error::{Error, Result, Shortfall};
use crate::ids::CellId;
use crate::job::believed::Belief;
use crate::job::search::levels_by_hand;
use crate::job::{Decision, LEAST, Walk, cuts};
use crate::policy::Algorithm;
use crate::recoding::Mapping;
use crate::release::Believed;
use crate::search::Found;
use crate::search::cuts::Problem;
use crate::search::grouping::{AllGroups, FailingGroups, Grouping, Judged};
use crate::search::lattice::incognito;
use crate::source::spill::{CountedTuples, SpillFolder};
use crate::table::{Cells, Tallies};
use std::path::PathBuf;
use std::sync::Mutex;

/// Generations of groups that a search for cuts keeps, as far as memory is planned.
const GENERATIONS: usize = 8;

/// Cells that a search for cuts has at least.
const LEAST_CELLS: u64 = 1 << 10;

/// What is released, and how it was decided.
pub(super) struct Decided {
    pub(super) algorithm: &'static str,
    pub(super) mapping: Mapping,
    pub(super) found: Option<(Found, Option<Believed>)>,
    pub(super) failing: FailingGroups,
}

/// What is released: found by a search, fixed by hand, or saved before.
pub(super) fn decide(
    walk: &Walk<'_>,
    scanned: &mut Scanned,
    bound: &BoundTable,
    folder: &SpillFolder,
    algorithm: Algorithm,
) -> Result<Decided> {
    let (job, watch) = (walk.job, walk.watch);
    let memory = job.limits.memory();
    let given = match &job.decision {
        Decision::Search => None,
        Decision::Levels(given) => {
            let levels = levels_by_hand(given, &bound.names, &bound.task.taxonomies)?;
            Some(("fixed-levels", Mapping::Levels(levels)))
        }
        Decision::Saved(recoding, name) => {
            Some(("saved-recoding", recoding.bind(bound.columns(), name)?))
        }
    };
    if let Some((algorithm, mapping)) = given {
        let rows = RowTuples { walk, columns: Mutex::new(&mut scanned.columns), bound };
        let failing = match judged(&bound.once(&rows, memory, watch), bound, &mapping)? {
            Some(failing) => failing,
            None => {
                let counted = count(walk, scanned, bound, folder)?;
                let grouping = bound.again(&counted, folder, memory / 3, watch);
                judged(&grouping, bound, &mapping)?.ok_or(Error::Defect)?
            }
        };
        return Ok(Decided { algorithm, mapping, found: None, failing });
    }
    if algorithm == Algorithm::SInstant {
        return by_belief(walk, scanned, bound, folder);
    }
    let counted = count(walk, scanned, bound, folder)?;
    let found = match &bound.cuts {
        Some(asked) => by_cuts(walk, bound, asked, &counted)?,
        None => {
            let passes = bound.again(&counted, folder, memory / 8, watch);
            incognito::search_tuples(&bound.task, passes, job.parameters.strategy, watch)?
        }
    };
    let algorithm = if bound.cuts.is_some() { algorithm.name() } else { "incognito" };
    let mapping = found.mapping.clone();
    let grouping = bound.again(&counted, folder, memory / 3, watch);
    let failing = judged(&grouping, bound, &mapping)?.ok_or(Error::Defect)?;
    Ok(Decided { algorithm, mapping, found: Some((found, None)), failing })
}

/// Searches for cuts through cells in memory. If they do not fit, those that are equal on higher
/// levels are put together, and cuts do not go below these: the column with most values is raised
/// first.
fn by_cuts(
    walk: &Walk<'_>,
    bound: &BoundTable,
    asked: &AskedOfCuts,
    counted: &CountedTuples,
) -> Result<Found> {
    let (watch, memory, trees) = (walk.watch, walk.job.limits.memory(), &bound.task.taxonomies);
    let AskedOfCuts { problem, column, .. } = asked;
    let width = problem.caps.of_values().len() * problem.labels;
    let heights: usize = trees.iter().map(|tree| tree.height() + 1).max().unwrap_or(1);
    // Leaves, nodes and tallies of a cell, and those of its groups at each node of one tree; a
    // search keeps some generations of groups.
    let cell = 16 * trees.len() + 32 + GENERATIONS * (heights + 2) * (8 + 4 * width);
    let most = (memory / 2 / cell as u64).max(LEAST_CELLS);
    let grouping = bound.grouping(counted, (memory / 3).max(LEAST), watch);
    let mut lowest = vec![0; trees.len()];
    let groups = loop {
        let maps = trees.iter().zip(&lowest).map(|(tree, level)| tree.level(*level).nodes());
        if let Some(groups) = grouping.all(&maps.collect::<Vec<_>>(), most)? {
            break groups;
        }
        let values = |at: &usize| trees[*at].level(lowest[*at]).len();
        let open = (0..trees.len()).filter(|at| lowest[*at] < trees[*at].height());
        let widest = open.rev().max_by_key(values).ok_or(Error::TooLittleMemory {
            what: "the cells of a search for cuts".into(),
            instead: Some("use rothko-s"),
        })?;
        lowest[widest] += 1;
    };
    let AllGroups { nodes, rows, mut tallies } = groups;
    let mut cells: Cells<CellId> = Cells::new(trees.len());
    for (nodes, rows) in nodes.chunks_exact(trees.len()).zip(rows) {
        let first = nodes.iter().zip(trees).zip(&lowest);
        let first = first.map(|((node, tree), level)| tree.level(*level).range(*node).start);
        cells.add(&first.collect::<Vec<u32>>(), rows);
    }
    let joint = match (*column, bound.task.target) {
        (Some(_), Some(_)) => {
            return Err(Error::TooLittleMemory {
                what: "values and labels of a search for cuts".into(),
                instead: Some("use the loss lm or dm"),
            });
        }
        (Some(column), None) | (None, Some(column)) => {
            std::mem::replace(tallies.get_mut(column).ok_or(Error::Defect)?, Tallies::single())
        }
        (None, None) => {
            let starts = (0..=cells.len() as u32).collect();
            Tallies::from_parts(starts, cells.counts().iter().map(|rows| (0, *rows)).collect())
        }
    };
    let problem = Problem {
        taxonomies: problem.taxonomies.clone(),
        tallies: joint,
        caps: problem.caps.clone(),
        weights: problem.weights.clone(),
        ..*problem
    };
    cuts::search_above(walk.job, &problem, (&cells, &lowest), watch)
}

/// The groups of a mapping that are left out, or why it cannot be released; `None` if they do not
/// fit into memory.
fn judged(
    grouping: &Grouping<'_>,
    bound: &BoundTable,
    mapping: &Mapping,
) -> Result<Option<FailingGroups>> {
    let maps = bound.maps(mapping)?;
    let levels = match mapping {
        Mapping::Levels(levels) => Some(levels.clone()),
        _ => None,
    };
    let (rows, suppressible) = (bound.rows, bound.task.suppressible);
    match grouping.judge(&[maps], bound.asked(true))?.pop() {
        Some(Judged::Holds(failing)) => Ok(Some(failing)),
        Some(Judged::TooMany) => Ok(None),
        Some(Judged::Fails(failing)) => {
            Err(Shortfall::ClassesFail { levels, failing, rows, suppressible }.into())
        }
        Some(Judged::FarFromRelease(classes)) => Err(Shortfall::FarFromRelease { classes }.into()),
        None => Err(Error::Defect),
    }
}

/// S-INSTANT: the candidates are checked in one scan, or by counted tuples if it does not suffice. If
/// none holds, the counted tuples decide.
fn by_belief(
    walk: &Walk<'_>,
    scanned: &mut Scanned,
    bound: &BoundTable,
    folder: &SpillFolder,
) -> Result<Decided> {
    let (job, watch, memory) = (walk.job, walk.watch, walk.job.limits.memory());
    let (summary, foreign) = match (&job.summary, scanned.summary.take()) {
        (Some(summary), _) => (summary.clone(), true),
        (None, Some(summary)) => (summary, false),
        (None, None) => return Err(Error::Defect),
    };
    let file = walk.source.file();
    let named = if foreign { PathBuf::from(summary.file()) } else { file.clone() };
    let beliefs = job.policy.believe(summary, &named)?;
    let belief = Belief::new(job, &beliefs, (bound.columns(), &file), watch)?;
    let heeding = watch.heed();
    let listed = belief.listed(foreign, watch)?;
    drop(heeding);
    let (mut counted, mut next) = (None, 0);
    while next < listed.candidates.len() {
        watch.check()?;
        if watch.stopped() {
            return Err(Error::Interrupted);
        }
        watch.progress("check", next as u64, Some(listed.candidates.len() as u64));
        let candidates = listed.candidates[next..].iter();
        let maps = candidates.map(|one| bound.maps(&one.mapping)).collect::<Result<Vec<_>>>()?;
        let judged = match &counted {
            None => {
                let rows = RowTuples { walk, columns: Mutex::new(&mut scanned.columns), bound };
                bound.once(&rows, memory, watch).judge(&maps, bound.asked(false))?
            }
            Some(tuples) => {
                let grouping = bound.again(tuples, folder, memory / 3, watch);
                grouping.judge(&maps, bound.asked(false))?
            }
        };
        for judged in judged {
            match judged {
                Judged::Holds(failing) => {
                    let (found, believed) = belief.found(&listed, next)?;
                    let mapping = found.mapping.clone();
                    let found = Some((found, Some(believed)));
                    return Ok(Decided { algorithm: "s-instant", mapping, found, failing });
                }
                Judged::TooMany => break,
                Judged::Fails(_) | Judged::FarFromRelease(_) => next += 1,
            }
        }
        if counted.is_none() && next < listed.candidates.len() {
            counted = Some(count(walk, scanned, bound, folder)?);
        }
    }
    let counted = match counted {
        Some(counted) => counted,
        None => count(walk, scanned, bound, folder)?,
    };
    let passes = bound.again(&counted, folder, memory / 8, watch);
    let found = incognito::search_tuples(&bound.task, passes, job.parameters.strategy, watch)?;
    let (found, believed) = belief.fallen_back(&listed, found)?;
    let mapping = found.mapping.clone();
    let grouping = bound.again(&counted, folder, memory / 3, watch);
    let failing = judged(&grouping, bound, &mapping)?.ok_or(Error::Defect)?;
    Ok(Decided { algorithm: "s-instant", mapping, found: Some((found, Some(believed))), failing })
}
