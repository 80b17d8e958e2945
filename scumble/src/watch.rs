//! How far has a job come, and who may end it early?
//!
//! A [`Watch`] goes with a job. The job tells it how far each phase has come; whoever made it
//! listens. It also carries the wish that the job should end: work that [heeds](Watch::heed) it (a
//! search that has something to hand over) looks at [`stopped`](Watch::stopped) from time to time
//! and ends with the best it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

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

/// Goes with a job, and says nothing unless somebody made it listen. A copy is the same watch.
#[derive(Clone, Default)]
pub struct Watch {
    shared: Option<Arc<Shared>>,
}

struct Shared {
    listener: Box<dyn Fn(Progress) + Send + Sync>,
    stopped: AtomicBool,
    heeding: AtomicUsize,
}

impl Watch {
    /// A watch that tells `listener` what it hears; often, and from any thread.
    pub fn new(listener: impl Fn(Progress) + Send + Sync + 'static) -> Watch {
        let (stopped, heeding) = (AtomicBool::new(false), AtomicUsize::new(0));
        Watch { shared: Some(Arc::new(Shared { listener: Box::new(listener), stopped, heeding })) }
    }

    /// Tells how far a phase has come.
    pub fn progress(&self, phase: &'static str, done: u64, total: Option<u64>) {
        if let Some(shared) = &self.shared {
            (shared.listener)(Progress { phase, done, total, closing: None });
        }
    }

    /// Tells how a search closes in on its answer after so many recodings.
    pub fn closing(&self, done: u64, closing: Closing) {
        if let Some(shared) = &self.shared {
            (shared.listener)(Progress {
                phase: "search",
                done,
                total: None,
                closing: Some(closing),
            });
        }
    }

    /// Asks for an early end. Whether anything that is at work now will heed it.
    pub fn stop(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| {
            shared.stopped.store(true, Relaxed);
            shared.heeding.load(Relaxed) > 0
        })
    }

    /// Whether an early end was asked for.
    pub fn stopped(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.stopped.load(Relaxed))
    }

    /// Says that work which looks at [`stopped`](Self::stopped) is going on, until the answer is
    /// dropped.
    pub fn heed(&self) -> Heeding<'_> {
        if let Some(shared) = &self.shared {
            shared.heeding.fetch_add(1, Relaxed);
        }
        Heeding(self)
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("stopped", &self.stopped()).finish_non_exhaustive()
    }
}

/// Work that can end early is going on.
#[must_use]
pub struct Heeding<'a>(&'a Watch);

impl Drop for Heeding<'_> {
    fn drop(&mut self) {
        if let Some(shared) = &self.0.shared {
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
}
