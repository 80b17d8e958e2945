//! Signals that ask the command to end.

use crate::progress::Line;
use crate::show;
use scumble::tidy;
use scumble::watch::Watch;
use std::sync::Arc;

/// Waits for signals. The first SIGINT asks a search to end with the best it has. Any other, and
/// the first where nothing could heed it, ends the command: what it has not finished is removed,
/// and the status is 128 + the signal, as shells expect it.
#[cfg(unix)]
pub fn await_signals(watch: &Watch, line: &Arc<Line>) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
        return;
    };
    let (watch, line) = (watch.clone(), line.clone());
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGINT && !watch.stopped() && watch.stop() {
                continue;
            }
            // Held until the end, so that nothing new is begun.
            let _tidied = tidy::remove_all();
            line.clear();
            show::complain("interrupted; what was not finished is removed");
            std::process::exit(128 + signal);
        }
    });
}

/// Nothing is known of signals here; a next run removes what a killed one left.
#[cfg(not(unix))]
pub fn await_signals(_: &Watch, _: &Arc<Line>) {}
