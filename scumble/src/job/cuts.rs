//! Searches for cuts: when they end, which of the best is taken, and how progress is reported.

use super::{Effort, Job};
use crate::bind::{OnCuts, Prepared};
use crate::error::{Error, Place, Result, Shortfall};
use crate::ids::CellId;
use crate::policy::Algorithm;
use crate::recoding::Mapping;
use crate::search::cuts::l_plus_optimize::{self, Outcome, Progress, Techniques};
use crate::search::cuts::{Cuts, Machine, Problem, annealing};
use crate::search::{Found, Warrant};
use crate::table::Cells;
use crate::watch::{Closing, Watch};
use std::time::Instant;

/// Cells that a search for cuts looks at, at most, if it is one of several: a second or two. There
/// are so many cells in one assessment, and as many in the machine.
const LOOKS: u64 = 1 << 26;

/// Of the time limit of a search of several kinds, cuts get this share.
const OF_THE_TIME: u32 = 10;

/// Searches for cuts as one of several candidates: the provably best ones, or the best that were
/// found within a number of steps that depends on the table alone.
pub(super) fn try_out(
    job: &Job,
    problem: &Problem,
    prepared: &Prepared,
    watch: &Watch,
) -> Result<Found> {
    let (start, task) = (Instant::now(), &prepared.task);
    let machine = Machine::new(problem, &task.cells, watch)?;
    let most = LOOKS / task.cells.len().max(1) as u64;
    let limit = job.parameters.cuts.time_limit.map(|limit| limit / OF_THE_TIME);
    let heeding = watch.heed();
    let mut go_on = |progress: &Progress| {
        let Progress { best, bound, decided, visited } = *progress;
        watch.closing(visited, Closing { best, bound, decided });
        let in_time = limit.is_none_or(|limit| start.elapsed() < limit);
        let is_enough = job.effort == Effort::First && best.is_finite();
        visited < most && in_time && !is_enough && !watch.stopped() && !watch.aborted()
    };
    let outcome = l_plus_optimize::search(&machine, Techniques::default(), 1, &mut go_on)?;
    drop(heeding);
    watch.check()?;
    let Outcome { best, bound, optimal, visited } = outcome;
    let Some((cost, cuts)) = best.into_iter().next() else {
        return Err(nothing(problem, task.rows(), optimal).into());
    };
    found(&machine, &cuts, cost, (bound, optimal), visited)
}

/// What was found, and whether it is the best.
fn found(
    machine: &Machine,
    cuts: &Cuts,
    cost: f64,
    (bound, optimal): (f64, bool),
    visited: u64,
) -> Result<Found> {
    let mapping = machine.taxonomy_cuts(cuts).ok_or(Error::Defect)?;
    let warrant = if optimal && cost <= bound { Warrant::Optimal } else { Warrant::AtLeast(bound) };
    let (mapping, space) = (Mapping::Cuts(mapping), machine.space());
    Ok(Found { mapping, warrant, cost: Some(cost), space, visited })
}

/// Searches for l-plus-optimize or annealing, as the policy says.
pub(super) fn search(job: &Job, prepared: &Prepared, watch: &Watch) -> Result<Found> {
    let Some(OnCuts { problem, .. }) = &prepared.cuts else { return Err(Error::Defect) };
    let lowest = vec![0; problem.taxonomies.len()];
    search_above(job, problem, (&prepared.task.cells, &lowest), watch)
}

/// The same for cuts that do not go below a level of each tree.
pub(super) fn search_above(
    job: &Job,
    problem: &Problem,
    (cells, lowest): (&Cells<CellId>, &[usize]),
    watch: &Watch,
) -> Result<Found> {
    let start = Instant::now();
    let machine = Machine::above_levels(problem, cells, lowest, watch)?;
    let rows = cells.counts().iter().map(|count| u64::from(*count)).sum();
    let chosen = &job.parameters.cuts;
    let most = match job.effort {
        Effort::Brief => LOOKS / cells.len().max(1) as u64,
        Effort::Full | Effort::First => u64::MAX,
    };
    let heeding = watch.heed();
    let mut go_on = |progress: &Progress| {
        let Progress { best, bound, decided, visited } = *progress;
        watch.closing(visited, Closing { best, bound, decided });
        let in_time = chosen.time_limit.is_none_or(|limit| start.elapsed() < limit);
        let is_enough = job.effort == Effort::First && best.is_finite();
        visited < most && in_time && !is_enough && !watch.stopped() && !watch.aborted()
    };
    let outcome = match job.policy.search().algorithm {
        Algorithm::Annealing => {
            let schedule = annealing::steps_for(&machine);
            let steps = chosen.time_limit.map_or(schedule, |_| annealing::STEPS);
            annealing::search(&machine, steps, job.seed.unwrap_or(0), &mut go_on)
        }
        _ => l_plus_optimize::search(&machine, Techniques::default(), chosen.top, &mut go_on),
    }?;
    drop(heeding);
    watch.check()?;
    let Outcome { best, bound, optimal, visited } = outcome;
    // Whoever could guess the draw would know what it hides.
    let mut dice = job.secrets().dice();
    let draw = dice.below(best.len().max(1) as u64)? as usize;
    let Some((mut cost, mut cuts)) = best.into_iter().nth(draw) else {
        return Err(nothing(problem, rows, optimal).into());
    };
    if chosen.extra_generalization {
        // Who asked for it relies on it.
        let next = machine.generalized(&cuts, |n| dice.below(n))?;
        (cost, cuts) = next.ok_or_else(|| Error::Inapplicable {
            place: Some(Place::file(job.policy.file())),
            key: "search.extra-generalization".into(),
            problem: "is impossible here, because no cut more general than the best one can be \
                      released; leave it out"
                .into(),
        })?;
    }
    let mut found = found(&machine, &cuts, cost, (bound, optimal), visited)?;
    // Nothing is proven of cuts that were not looked at.
    if lowest.iter().any(|level| *level > 0) {
        found.warrant = Warrant::AtLeast(0.0);
    }
    Ok(found)
}

/// Why there is no cut.
fn nothing(problem: &Problem, rows: u64, proven: bool) -> Shortfall {
    let what = problem.scheme.suppresses();
    match (proven, problem.suppressible) {
        (true, Some(suppressible)) => Shortfall::NoCutWithin { what, rows, suppressible },
        (true, None) if problem.scheme.is_of_records() => Shortfall::AllSuppressed { rows },
        _ => Shortfall::NoCut { proven },
    }
}
