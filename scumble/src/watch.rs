//! How far has a job come, and who may end it early?
//!
//! A [`Watch`] goes with a job. The job reports how far each phase has come, and a listener hears
//! it. There are two ways to end a job early:
//!
//! - [`stop`](Watch::stop) asks for the best so far. Work that [heeds](Watch::heed) it, such as a
//!   search that has something to hand over, polls [`stopped`](Watch::stopped) and ends with the
//!   best it has. Everything else goes on.
//! - [`abort`](Watch::abort) ends everything at once, and nothing is released. Every loop that may
//!   take long [checks](Watch::check) for it, and whatever returns early because of it returns
//!   [`Error::Interrupted`]: a partial result is never mistaken for a result.

mod sort;

pub(crate) use sort::AT_ONCE;

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Items between two polls for an abort in a loop that does little for each: small enough to end
/// within milliseconds, large enough that polling is free.
pub const PIECE: usize = 1 << 16;

/// How far a phase has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The phase, as a report names it: "read", "search", "write", "verify".
    pub phase: &'static str,
    /// What is done: rows, or recodings in a search.
    pub done: u64,
    /// What there is to do, as far as can be told.
    pub total: Option<u64>,
    /// What a search has to show so far, where it closes in on its answer from both sides.
    pub closing: Option<Closing>,
}

/// What is known of the best recoding before it is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closing {
    /// The cost of the best so far.
    pub best: f64,
    /// Nothing costs less, proven.
    pub bound: f64,
    /// The share of all recodings that is decided.
    pub decided: f64,
}

/// Goes with a job. Clones share one state. The default watch is inert: it has no listener and can
/// be neither stopped nor aborted.
#[derive(Clone, Default)]
pub struct Watch {
    shared: Option<Arc<Shared>>,
    /// Only aborts: reports nothing, and knows of no wish for the best so far.
    only_aborts: bool,
}

struct Shared {
    listener: Box<dyn Fn(Progress) + Send + Sync>,
    stopped: AtomicBool,
    heeding: AtomicUsize,
    /// [`RUNNING`], [`ABORTED`], [`COUNTING`] or [`LIMITED`].
    state: AtomicU8,
    /// Polls that are left while the state is [`COUNTING`].
    polls: AtomicU64,
    notes: Mutex<Vec<String>>,
    /// What ends the work while the state is [`LIMITED`]: its time, or what it is a part of.
    limit: Option<(Watch, Instant)>,
}

/// Nobody has aborted the job.
const RUNNING: u8 = 0;
/// The job was aborted.
const ABORTED: u8 = 1;
/// The job is aborted after a number of polls.
const COUNTING: u8 = 2;
/// The job is aborted at some time, or with the job that it is a part of.
const LIMITED: u8 = 3;

impl Shared {
    /// Whether the job is aborted, if it is not simply running.
    #[cold]
    fn is_aborted(&self) -> bool {
        let goes_on = match (self.state.load(Relaxed), &self.limit) {
            (COUNTING, _) => {
                let left = self.polls.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
                left.is_ok()
            }
            (LIMITED, Some((whole, end))) => {
                !whole.aborted() && !whole.stopped() && Instant::now() < *end
            }
            _ => false,
        };
        if !goes_on {
            self.state.store(ABORTED, Relaxed);
        }
        !goes_on
    }
}

impl Watch {
    /// A watch that tells `listener` what it hears; often, and from any thread.
    pub fn new(listener: impl Fn(Progress) + Send + Sync + 'static) -> Watch {
        Watch::with(listener, RUNNING, 0, None)
    }

    /// A watch without a listener, which can be stopped and aborted.
    pub fn silent() -> Watch {
        Watch::new(|_| {})
    }

    /// A watch that aborts the job at the poll after `polls` others: for tests, which can try every
    /// moment without a clock.
    #[doc(hidden)]
    pub fn aborting_after(polls: u64) -> Watch {
        Watch::with(|_| {}, COUNTING, polls, None)
    }

    /// A watch for a part of the work that is of no use unless it is done by `end`: it reports to
    /// this watch, and is aborted at that time, or as soon as this one is stopped or aborted.
    pub(crate) fn until(&self, end: Instant) -> Watch {
        let whole = self.clone();
        let tell = move |progress| {
            if let Some(shared) = whole.told() {
                (shared.listener)(progress);
            }
        };
        Watch::with(tell, LIMITED, 0, Some((self.clone(), end)))
    }

    fn with(
        listener: impl Fn(Progress) + Send + Sync + 'static,
        state: u8,
        polls: u64,
        limit: Option<(Watch, Instant)>,
    ) -> Watch {
        Watch {
            shared: Some(Arc::new(Shared {
                listener: Box::new(listener),
                stopped: AtomicBool::new(false),
                heeding: AtomicUsize::new(0),
                state: AtomicU8::new(state),
                polls: AtomicU64::new(polls),
                notes: Mutex::default(),
                limit,
            })),
            only_aborts: false,
        }
    }

    /// The same watch for a step whose partial result is of no use: it can be aborted, but it is
    /// not told of a stop, and reports nothing.
    pub(crate) fn only_aborting(&self) -> Watch {
        Watch { shared: self.shared.clone(), only_aborts: true }
    }

    /// What is shared, unless this watch only aborts.
    fn told(&self) -> Option<&Shared> {
        self.shared.as_deref().filter(|_| !self.only_aborts)
    }

    /// Tells how far a phase has come.
    pub fn progress(&self, phase: &'static str, done: u64, total: Option<u64>) {
        if let Some(shared) = self.told() {
            (shared.listener)(Progress { phase, done, total, closing: None });
        }
    }

    /// Tells how a search closes in on its answer after so many recodings.
    pub fn closing(&self, done: u64, closing: Closing) {
        if let Some(shared) = self.told() {
            (shared.listener)(Progress {
                phase: "search",
                done,
                total: None,
                closing: Some(closing),
            });
        }
    }

    /// Notes what a person should know about an input that was read, such as a guessed encoding or
    /// sheets that were left out. A note that was made before is not repeated.
    pub fn note(&self, note: String) {
        if let Some(shared) = &self.shared {
            let mut notes = shared.notes.lock().unwrap_or_else(PoisonError::into_inner);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }

    /// The notes so far.
    pub fn notes(&self) -> Vec<String> {
        let notes = self.shared.as_ref().map(|shared| shared.notes.lock());
        notes.map(|notes| notes.unwrap_or_else(PoisonError::into_inner).clone()).unwrap_or_default()
    }

    /// Asks for the best so far. Returns whether any work now in progress will heed it.
    pub fn stop(&self) -> bool {
        self.told().is_some_and(|shared| {
            shared.stopped.store(true, Relaxed);
            shared.heeding.load(Relaxed) > 0
        })
    }

    /// Whether the best so far was asked for.
    pub fn stopped(&self) -> bool {
        self.told().is_some_and(|shared| shared.stopped.load(Relaxed))
    }

    /// Ends everything at once; nothing is released. It wins over [`stop`](Self::stop).
    pub fn abort(&self) {
        if let Some(shared) = &self.shared {
            shared.state.store(ABORTED, Relaxed);
        }
    }

    /// Whether the job was aborted. One relaxed load.
    #[inline]
    pub fn aborted(&self) -> bool {
        self.shared
            .as_ref()
            .is_some_and(|shared| shared.state.load(Relaxed) != RUNNING && shared.is_aborted())
    }

    /// [`Error::Interrupted`] once the job was aborted.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.aborted() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Does something with every item, and polls for an abort between pieces of `every` items.
    #[inline]
    pub(crate) fn each<T>(
        &self,
        items: impl IntoIterator<Item = T>,
        every: usize,
        mut work: impl FnMut(T),
    ) -> Result<()> {
        let mut items = items.into_iter();
        loop {
            self.check()?;
            let mut left = every;
            items.by_ref().take(every).for_each(|item| {
                work(item);
                left -= 1;
            });
            if left > 0 {
                return Ok(());
            }
        }
    }

    /// The items of a list, unless the job is aborted.
    #[inline]
    pub(crate) fn list<T>(&self, items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
        let mut list = Vec::with_capacity(items.len());
        self.each(items, PIECE, |item| list.push(item))?;
        Ok(list)
    }

    /// Marks work as one that heeds [`stop`](Self::stop), until the guard is dropped.
    pub fn heed(&self) -> Heeding<'_> {
        if let Some(shared) = self.told() {
            shared.heeding.fetch_add(1, Relaxed);
        }
        Heeding(self)
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.shared.as_ref().map(|shared| shared.state.load(Relaxed));
        f.debug_struct("Watch")
            .field("stopped", &self.stopped())
            .field("aborted", &(state == Some(ABORTED)))
            .finish_non_exhaustive()
    }
}

/// Work that heeds [`Watch::stop`] is in progress.
#[must_use]
pub struct Heeding<'a>(&'a Watch);

impl Drop for Heeding<'_> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.told() {
            shared.heeding.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn a_listener_hears_what_is_told() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (listening, watch) = (heard.clone(), Watch::default());
        watch.progress("read", 1, None);
        let watch = Watch::new(move |progress| listening.lock().unwrap().push(progress));
        watch.clone().progress("read", 1, Some(2));
        assert_eq!(
            *heard.lock().unwrap(),
            [Progress { phase: "read", done: 1, total: Some(2), closing: None }]
        );
    }

    #[test]
    fn a_wish_to_stop_tells_whether_anybody_heeds_it() {
        let watch = Watch::new(|_| {});
        assert!(!watch.stopped());
        let heeding = watch.heed();
        assert!(watch.stop() && watch.stopped());
        drop(heeding);
        assert!(!watch.stop() && watch.clone().stopped());
        assert!(!Watch::default().stop() && !Watch::default().stopped(), "nobody can ask this one");
    }

    #[test]
    fn an_aborted_watch_is_aborted_for_all_its_clones() {
        for watch in [Watch::silent(), Watch::new(|_| {})] {
            assert!(!watch.aborted() && watch.check().is_ok());
            watch.clone().abort();
            assert!(watch.aborted() && matches!(watch.check(), Err(Error::Interrupted)));
            assert!(!watch.stopped(), "nobody asked for the best so far");
        }
        let inert = Watch::default();
        inert.abort();
        assert!(!inert.aborted());
    }

    #[test]
    fn an_abort_comes_after_the_polls_that_were_asked_for() {
        let watch = Watch::aborting_after(3);
        let polled: Vec<bool> = (0..5).map(|_| watch.aborted()).collect();
        assert_eq!(polled, [false, false, false, true, true]);
    }

    #[test]
    fn a_part_ends_with_its_time_or_with_the_whole() {
        let later = || Instant::now() + std::time::Duration::from_secs(3600);
        let whole = Watch::silent();
        let (late, early) = (whole.until(later()), whole.until(Instant::now()));
        assert!(!late.aborted() && early.aborted() && !whole.aborted());
        whole.stop();
        assert!(late.aborted() && !late.stopped(), "a part is worth nothing on its own");
        for whole in [Watch::silent(), Watch::default()] {
            let part = whole.until(later());
            part.abort();
            assert!(part.aborted() && !whole.aborted());
            let part = whole.until(later());
            whole.abort();
            assert_eq!(part.aborted(), whole.aborted());
        }
        let heard = Arc::new(Mutex::new(0));
        let listening = heard.clone();
        let whole = Watch::new(move |progress| *listening.lock().unwrap() += progress.done);
        whole.until(later()).progress("search", 7, None);
        assert_eq!(*heard.lock().unwrap(), 7);
    }

    #[test]
    fn a_step_that_only_aborts_knows_of_no_stop() {
        let watch = Watch::silent();
        let step = watch.only_aborting();
        let heeding = step.heed();
        assert!(!watch.stop(), "nobody heeds it");
        assert!(watch.stopped() && !step.stopped());
        watch.abort();
        assert!(step.aborted());
        drop(heeding);
    }
}
