//! Local recoding of a table that is larger than memory: how long each part is searched.

use crate::search::local::Progress;
use crate::search::local::parts::Pace;
use crate::watch::Watch;
use std::time::{Duration, Instant};

/// Searches by the schedule, or shares the time that is left over the rows that are left.
pub(super) struct PartPace<'a> {
    start: Instant,
    limit: Option<Duration>,
    /// Steps of all parts together, at most.
    most: u64,
    /// Rows of the table, of the parts that are over, and of the one that is searched.
    rows: u64,
    done: u64,
    part: u64,
    /// Steps of the part.
    planned: u64,
    /// When it began, and its time.
    began: Instant,
    time: Option<Duration>,
    watch: &'a Watch,
}

impl PartPace<'_> {
    /// Without a time limit, all parts together take no more steps than `most`.
    pub(super) fn new(
        rows: u64,
        limit: Option<Duration>,
        most: u64,
        watch: &Watch,
    ) -> PartPace<'_> {
        let (start, began) = (Instant::now(), Instant::now());
        let (done, part, planned, time) = (0, 0, 0, None);
        PartPace { start, limit, most, rows, done, part, planned, began, time, watch }
    }
}

impl Pace for PartPace<'_> {
    fn begin(&mut self, rows: u64, planned: u64) {
        self.done += self.part;
        let most = u128::from(self.most) * u128::from(rows) / u128::from(self.rows.max(1));
        let planned = planned.min(u64::try_from(most).unwrap_or(u64::MAX));
        (self.part, self.planned, self.began) = (rows, planned, Instant::now());
        let left = self.rows.saturating_sub(self.done).max(rows).max(1);
        let share = rows as f64 / left as f64;
        let time = |limit: Duration| limit.saturating_sub(self.start.elapsed()).mul_f64(share);
        self.time = self.limit.map(time);
        self.watch.progress("partition", self.done, Some(self.rows));
    }

    fn heat(&mut self, progress: &Progress) -> Option<f64> {
        if self.watch.stopped() {
            return None;
        }
        let spent = match self.time {
            Some(time) if time.is_zero() => 1.0,
            Some(time) => self.began.elapsed().as_secs_f64() / time.as_secs_f64(),
            None => progress.steps as f64 / self.planned.max(1) as f64,
        };
        let searched = self.done + (spent.min(1.0) * self.part as f64) as u64;
        self.watch.progress("partition", searched, Some(self.rows));
        (spent < 1.0).then_some(1.0 - spent)
    }
}
