//! Local recoding: when the search ends, how long the lower bound takes, and how progress is
//! reported.

use super::{Effort, Job};
use crate::bind::Prepared;
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::ratio::Ratio;
use crate::release::Recoded;
use crate::search::local::bound::LowerBound;
use crate::search::local::{self, Course, Progress};
use crate::search::regions::mondrian;
use crate::search::{Found, Task};
use crate::watch::{Closing, Watch};
use std::time::{Duration, Instant};

/// Rounds of a search that is to close a gap, and how many times longer than the last each is.
const ROUNDS: u32 = 3;
const LONGER: u64 = 4;

/// Costs of the search are sums of short floats: what they may be off.
const ROUNDED: f64 = 1.0 + 1e-6;

/// Searches as the policy says: by the schedule, or as long as the time limit allows. The bound
/// comes first. Returns the best recoding, and what no release can lose less than.
pub(super) fn search(
    job: &Job,
    prepared: &Prepared,
    watch: &Watch,
) -> Result<(Found, Option<f64>)> {
    let heeding = watch.heed();
    let cuts = &job.parameters.cuts;
    let is_lm = prepared.task.loss.columns_decide();
    let is_first = job.effort == Effort::First;
    let mut ending = Ending {
        start: Instant::now(),
        limit: cuts.time_limit,
        gap: cuts.gap.map(Ratio::to_f64),
        // Of other losses than LM no bound is known.
        bound: if is_lm && !is_first { LowerBound::new(&prepared.task) } else { None },
        is_first,
        round: 0,
        before: 0,
        watch,
    };
    ending.prove(1)?;
    let style = job.policy.search().partitioning.style;
    let course = Course { style, seed: seed(job)?, top: cuts.top };
    let task = &prepared.task;
    let known = if local::has_few_levels(task) { None } else { regions(job, task, watch)? };
    let known = known.as_deref();
    let found = local::search(task, known, course, &mut |progress| ending.heat(progress), watch)?;
    drop(heeding);
    let draw = job.secrets().dice().below(found.len().max(1) as u64)? as usize;
    let found = found.into_iter().nth(draw).ok_or(Error::Defect)?;
    Ok((found, ending.proven()))
}

/// The class of each cell in the regions of Mondrian; none if not all of them can be released.
fn regions(job: &Job, task: &Task, watch: &Watch) -> Result<Option<Vec<u32>>> {
    let found = mondrian::search(task, job.policy.search().partitioning, watch)?;
    match Recoded::new(task, &found.mapping, watch) {
        Ok(recoded) if recoded.suppressed == 0 => Ok(Some(recoded.class_of.raw().to_vec())),
        Ok(_) | Err(Error::CannotBeMet { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The seed of a search. If one of several recodings is drawn, it must not be guessed: who could
/// repeat the search would know what the draw hides.
pub(super) fn seed(job: &Job) -> Result<u64> {
    match (job.seed, job.parameters.cuts.top) {
        (None, 2..) => job.secrets().dice().below(u64::MAX),
        (seed, _) => Ok(seed.unwrap_or(0)),
    }
}

/// When a search ends.
struct Ending<'a> {
    start: Instant,
    limit: Option<Duration>,
    /// The share of the loss that may be avoidable.
    gap: Option<f64>,
    bound: Option<LowerBound<'a>>,
    /// Whether the first classes are enough.
    is_first: bool,
    /// Of a search that is to close a gap: rounds that are over, and their steps.
    round: u32,
    before: u64,
    watch: &'a Watch,
}

impl Ending<'_> {
    fn proven(&self) -> Option<f64> {
        self.bound.as_ref().and_then(LowerBound::proven)
    }

    /// Works on the bound: so many times its schedule, or up to a third of the time.
    fn prove(&mut self, times: u64) -> Result<()> {
        let Some(bound) = &mut self.bound else { return Ok(()) };
        // A last certificate may take half as long again.
        let until = self.limit.and_then(|limit| self.start.checked_add(limit / 9 * 2));
        let steps = if until.is_some() { u64::MAX } else { bound.planned().saturating_mul(times) };
        bound.advance(steps, until, self.watch)
    }

    /// The heat of the next batch; none if the search is to end.
    fn heat(&mut self, progress: &Progress) -> Option<f64> {
        let Progress { steps, planned, cost } = *progress;
        let proven = self.proven().unwrap_or(0.0);
        let cost = cost * ROUNDED;
        if self.is_first
            || self.watch.stopped()
            || self.gap.is_some_and(|gap| cost - proven <= gap * cost)
        {
            return None;
        }
        let spent = match self.limit {
            Some(limit) => self.start.elapsed().as_secs_f64() / limit.as_secs_f64(),
            None => {
                let planned = planned.saturating_mul(LONGER.pow(self.round));
                (steps - self.before) as f64 / planned as f64
            }
        };
        let closing = Closing { best: progress.cost, bound: proven, decided: spent.min(1.0) };
        self.watch.closing(steps, closing);
        // Later rounds are no warmer than the middle of the one before.
        let warm = 0.5f64.powi(self.round as i32);
        if spent < 1.0 {
            return Some((1.0 - spent) * warm);
        }
        let is_last = self.gap.is_none() || self.limit.is_some() || self.round + 1 == ROUNDS;
        if is_last {
            return None;
        }
        (self.round, self.before) = (self.round + 1, steps);
        // If it fails, the job was aborted, which the search finds out by itself.
        self.prove(LONGER.pow(self.round)).ok()?;
        Some(0.5 * warm)
    }
}
