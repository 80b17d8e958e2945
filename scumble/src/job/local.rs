//! Local recoding: when the search ends, and how progress is reported.

use super::Job;
use crate::bind::Prepared;
use crate::error::Result;
use crate::search::Found;
use crate::search::local::{self, Progress};
use crate::watch::{Closing, Watch};
use std::time::Instant;

/// Searches as the policy says: by the schedule, or as long as the time limit allows.
pub(super) fn search(job: &Job, prepared: &Prepared, watch: &Watch) -> Result<Found> {
    let start = Instant::now();
    let limit = job.parameters.cuts.time_limit;
    let heeding = watch.heed();
    let mut heat = |progress: &Progress| {
        let Progress { steps, planned, cost } = *progress;
        let spent = match limit {
            Some(limit) => start.elapsed().as_secs_f64() / limit.as_secs_f64(),
            None => steps as f64 / planned as f64,
        };
        watch.closing(steps, Closing { best: cost, bound: 0.0, decided: spent.min(1.0) });
        (spent < 1.0 && !watch.stopped()).then_some(1.0 - spent)
    };
    let style = job.policy.search().partitioning.style;
    let found = local::search(&prepared.task, style, job.seed.unwrap_or(0), &mut heat, watch);
    drop(heeding);
    found
}
