//! The progress line on standard error; only on a terminal.

use crate::show::thousands;
use scumble::{Closing, Progress, Watch};
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a line stays before the next one is drawn.
const PAUSE: Duration = Duration::from_millis(100);

/// What is drawn now.
#[derive(Default)]
pub struct Line {
    drawn: Mutex<Option<Drawn>>,
}

struct Drawn {
    phase: &'static str,
    began: Instant,
    last: Option<Instant>,
}

impl Line {
    /// Removes the line, so that others can be written.
    pub fn clear(&self) {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if drawn.take().is_some_and(|drawn| drawn.last.is_some()) {
            draw("");
        }
    }

    fn hear(&self, progress: Progress) {
        let now = Instant::now();
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let last = drawn.as_ref().and_then(|drawn| drawn.last);
        if drawn.as_ref().is_none_or(|drawn| drawn.phase != progress.phase) {
            *drawn = Some(Drawn { phase: progress.phase, began: now, last });
        }
        if let Some(drawn) = drawn.as_mut()
            && now - drawn.last.unwrap_or(drawn.began) >= PAUSE
        {
            draw(&told(progress, now - drawn.began));
            drawn.last = Some(now);
        }
    }
}

/// A watch that draws a line where standard error is a terminal, and is silent elsewhere.
pub fn watch() -> (Watch, Arc<Line>) {
    let line = Arc::new(Line::default());
    let (drawing, on_terminal) = (line.clone(), std::io::stderr().is_terminal());
    let watch = Watch::new(move |progress| {
        if on_terminal {
            drawing.hear(progress);
        }
    });
    (watch, line)
}

fn draw(text: &str) {
    let _ = write!(std::io::stderr().lock(), "\r\x1b[K{text}");
}

/// `read: 4,000,000 of 10,000,000 rows, 1,000,000 per second, 6 s left`
fn told(Progress { phase, done, total, closing }: Progress, time: Duration) -> String {
    let unit = if phase == "search" { "recodings" } else { "rows" };
    let of = total.map_or(String::new(), |total| format!(" of {}", thousands(total.into())));
    let mut text = format!("{phase}: {}{of} {unit}", thousands(done.into()));
    if let Some(Closing { best, bound, decided }) = closing {
        text +=
            &format!("; best {best:.2}, lower bound {bound:.2}, {:.2} % decided", 100.0 * decided);
        return text + "; press Ctrl-C to use the best so far";
    }
    let rate = done as f64 / time.as_secs_f64();
    if rate.is_finite() && rate >= 1.0 {
        text += &format!(", {} per second", thousands(rate as u128));
        if let Some(left) = total.and_then(|total| total.checked_sub(done)) {
            text += &format!(", {:.0} s left", (left as f64 / rate).ceil());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_rate_and_time_left() {
        let progress = |phase, done, total| {
            told(Progress { phase, done, total, closing: None }, Duration::from_secs(4))
        };
        assert_eq!(
            progress("read", 4_000_000, Some(10_000_000)),
            "read: 4,000,000 of 10,000,000 rows, 1,000,000 per second, 6 s left"
        );
        assert_eq!(progress("search", 80, None), "search: 80 recodings, 20 per second");
        let closing = Some(Closing { best: 12.5, bound: 10.0, decided: 0.25 });
        assert_eq!(
            told(
                Progress { phase: "search", done: 80, total: None, closing },
                Duration::from_secs(4)
            ),
            "search: 80 recodings; best 12.50, lower bound 10.00, 25.00 % decided; press Ctrl-C to use the best so far"
        );
        assert_eq!(progress("write", 0, Some(3)), "write: 0 of 3 rows");
        assert_eq!(
            told(
                Progress { phase: "read", done: 3, total: Some(2), closing: None },
                Duration::ZERO
            ),
            "read: 3 of 2 rows"
        );
    }
}
