//! Signals that ask the command to end.

use scumble::Watch;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The signals that the command has received.
pub struct Signals {
    last: Arc<AtomicU8>,
}

impl Signals {
    /// Listens for signals. The first SIGINT asks a search for the best it has. Any other signal,
    /// and the first if nothing heeds it, aborts the job: it removes what it has begun and returns.
    /// A third signal ends the process at once; the next run removes its files.
    #[cfg(unix)]
    pub fn listen(watch: &Watch) -> Signals {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let last = Arc::new(AtomicU8::new(0));
        let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
            return Signals { last };
        };
        let (watch, noted) = (watch.clone(), last.clone());
        std::thread::spawn(move || {
            let mut aborted = 0;
            for signal in signals.forever() {
                if signal == SIGINT && !watch.stopped() && watch.stop() {
                    continue;
                }
                noted.store(signal as u8, Relaxed);
                watch.abort();
                aborted += 1;
                if aborted > 2 {
                    std::process::exit(128 + signal);
                }
            }
        });
        Signals { last }
    }

    /// Nothing is known of signals here; a next run removes what a killed one left.
    #[cfg(not(unix))]
    pub fn listen(_: &Watch) -> Signals {
        Signals { last: Arc::default() }
    }

    /// The signal that aborted the job, if there was one.
    pub fn received(&self) -> Option<u8> {
        Some(self.last.load(Relaxed)).filter(|signal| *signal > 0)
    }
}
