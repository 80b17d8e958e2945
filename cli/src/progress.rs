//! How far the whole job is: a line on standard error, only on a terminal, removed at the end. It
//! is there with `--json` too, as it never mixes with standard output.
//!
//! A job goes through phases. Those that pass rows take about equally long each, so what is left of
//! the whole job follows from what this phase and earlier ones took. Nobody knows how long a search
//! takes unless it has a time limit: while it is ahead, the time left is a minimum, and while it
//! runs, there is none.

use crate::args::Command;
use crate::show::thousands;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scumble::{Closing, Progress, Watch};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Jobs that take less than this show nothing.
const SILENCE: Duration = Duration::from_millis(300);

/// Parts of the bar.
const PARTS: u64 = 1000;

/// What is ahead of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    phases: &'static [&'static str],
    /// The time limit of the search.
    limit: Option<Duration>,
}

impl Plan {
    /// The phases of a command, if its rows fit in memory.
    pub fn of(command: &Command) -> Plan {
        let (phases, limit): (&[&str], _) = match command {
            Command::Anonymize { levels: Some(_), .. } | Command::Apply { .. } => {
                (&["read", "write", "verify"], None)
            }
            Command::Anonymize { cuts, .. } => {
                (&["read", "search", "write", "verify"], cuts.time_limit.as_deref())
            }
            Command::Verify { .. } | Command::Risk { .. } => (&["verify"], None),
            Command::Show { .. } => (&["portray"], None),
            // What is compared is searched, written and verified in turn.
            Command::Compare { .. } => (&["read", "search"], None),
            Command::Summarize { .. } => (&["summarize"], None),
            Command::Generate { .. } => (&["write"], None),
            _ => (&["read"], None),
        };
        Plan { phases, limit: limit.and_then(seconds) }
    }
}

/// A time limit as it is typed. The library refuses what is not one.
fn seconds(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|one: char| one.is_ascii_alphabetic())?);
    let factor = match unit.trim() {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.trim().parse::<f64>().ok()? * factor).ok()
}

/// The phases of a job whose rows do not fit in memory.
const ON_DISK: &[&str] = &["survey", "partition", "write", "verify"];

/// Where a job is.
struct State {
    plan: Plan,
    /// The position in the plan.
    at: usize,
    phase: &'static str,
    /// When the phase began.
    since: Instant,
    /// How long the phases took that passed all rows.
    took: Vec<Duration>,
    /// The share of the whole job; it never decreases.
    share: f64,
}

/// What is left of the whole job.
#[derive(Debug, PartialEq)]
enum Left {
    About(Duration),
    /// A search is ahead, and nobody knows how long it takes.
    AtLeast(Duration),
    Unknown,
}

impl State {
    fn new(plan: Plan, now: Instant) -> State {
        State { plan, at: 0, phase: "", since: now, took: Vec::new(), share: 0.0 }
    }

    /// Takes note of what was heard.
    fn hear(&mut self, progress: &Progress, now: Instant) {
        if self.phase != progress.phase {
            if !self.phase.is_empty() && self.phase != "search" {
                self.took.push(now - self.since);
            }
            (self.phase, self.since) = (progress.phase, now);
            if progress.phase == "survey" {
                self.plan.phases = ON_DISK;
            }
            let found = self.plan.phases.iter().position(|phase| *phase == progress.phase);
            self.at = self.at.max(found.unwrap_or(self.at));
        }
        let within = self.within(progress, now - self.since).unwrap_or(0.0);
        let share = (self.at as f64 + within) / self.plan.phases.len() as f64;
        self.share = self.share.max(share);
    }

    /// The share of this phase that is done.
    fn within(&self, progress: &Progress, elapsed: Duration) -> Option<f64> {
        let share = match (progress.closing, progress.total, self.plan.limit) {
            (_, _, Some(limit)) if progress.phase == "search" => {
                elapsed.as_secs_f64() / limit.as_secs_f64().max(1e-9)
            }
            (Some(closing), ..) => closing.decided,
            (None, Some(total), _) => progress.done as f64 / total.max(1) as f64,
            _ => return None,
        };
        Some(share.clamp(0.0, 1.0))
    }

    fn left(&self, progress: &Progress, now: Instant) -> Left {
        let elapsed = now - self.since;
        let is_search = self.phase == "search";
        let whole = match (is_search, self.plan.limit, self.within(progress, elapsed)) {
            (true, Some(limit), _) => limit,
            (false, _, Some(share)) if share > 0.0 => elapsed.div_f64(share),
            _ => return Left::Unknown,
        };
        let mut rows = self.took.clone();
        rows.extend((!is_search).then_some(whole));
        let pace = rows.iter().sum::<Duration>() / rows.len().max(1) as u32;
        let ahead = self.plan.phases.iter().skip(self.at + 1);
        let passes = ahead.clone().filter(|phase| **phase != "search").count() as u32;
        let has_search = ahead.clone().count() as u32 > passes;
        let search = self.plan.limit.filter(|_| has_search);
        let left = whole.saturating_sub(elapsed) + pace * passes + search.unwrap_or_default();
        if has_search && search.is_none() { Left::AtLeast(left) } else { Left::About(left) }
    }
}

/// The line.
pub struct Line {
    bar: ProgressBar,
    began: Instant,
    state: Mutex<State>,
}

impl Line {
    /// Removes the line, so that others can be written.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    fn hear(&self, progress: Progress) {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.hear(&progress, now);
        if now - self.began < SILENCE || self.bar.is_finished() {
            return;
        }
        let text = told(&progress, now - state.since, &state.left(&progress, now));
        self.bar.set_message(text);
        self.bar.set_position((state.share * PARTS as f64) as u64);
    }
}

/// A watch that shows progress where standard error is a terminal, and is silent elsewhere.
pub fn watch(plan: Plan) -> (Watch, Arc<Line>) {
    let target = ProgressDrawTarget::stderr_with_hz(10);
    let bar = ProgressBar::with_draw_target(Some(PARTS), target);
    // The text is cut off at the width of the terminal.
    if let Ok(style) = ProgressStyle::with_template("{bar:20} {percent:>3} % {wide_msg}") {
        bar.set_style(style.progress_chars("█▌░"));
    }
    let now = Instant::now();
    let line = Arc::new(Line { bar, began: now, state: Mutex::new(State::new(plan, now)) });
    if line.bar.is_hidden() {
        return (Watch::silent(), line);
    }
    let drawing = line.clone();
    (Watch::new(move |progress| drawing.hear(progress)), line)
}

/// `read: 4,000,000 of 10,000,000 rows, 1,000,000 per second, at least 6 s left`
fn told(progress: &Progress, time: Duration, left: &Left) -> String {
    let Progress { phase, done, total, closing } = *progress;
    let unit = match phase {
        "search" | "estimate" | "check" => "recodings",
        _ => "rows",
    };
    let of = total.map_or(String::new(), |total| format!(" of {}", thousands(total.into())));
    let name = if phase == "portray" { "describe" } else { phase };
    let mut text = format!("{name}: {}{of} {unit}", thousands(done.into()));
    if closing.is_none() {
        let rate = done as f64 / time.as_secs_f64();
        if rate.is_finite() && rate >= 1.0 {
            text += &format!(", {} per second", thousands(rate as u128));
        }
    }
    match left {
        Left::About(left) => text += &format!(", about {} left", clock(*left)),
        Left::AtLeast(left) => text += &format!(", at least {} left", clock(*left)),
        Left::Unknown => {}
    }
    // A narrow terminal cuts off the end, so what matters least comes last.
    if let Some(Closing { best, bound, decided }) = closing {
        text += &format!(
            "; press Ctrl-C to use the best so far: {best:.2}, lower bound {bound:.2}, {:.2} % decided",
            100.0 * decided
        );
    }
    text
}

/// `45 s`, `3 min 20 s` or `1 h 5 min`
fn clock(time: Duration) -> String {
    match time.as_secs_f64().ceil() as u64 {
        seconds if seconds < 60 => format!("{seconds} s"),
        seconds if seconds < 3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: Plan = Plan { phases: &["read", "search", "write", "verify"], limit: None };

    fn progress(phase: &'static str, done: u64, total: Option<u64>) -> Progress {
        Progress { phase, done, total, closing: None }
    }

    #[test]
    fn a_line_tells_rate_and_time_left() {
        let line = |phase, done, total, left| {
            told(&progress(phase, done, total), Duration::from_secs(4), &left)
        };
        assert_eq!(
            line("read", 4_000_000, Some(10_000_000), Left::AtLeast(Duration::from_secs(6))),
            "read: 4,000,000 of 10,000,000 rows, 1,000,000 per second, at least 6 s left"
        );
        assert_eq!(line("search", 80, None, Left::Unknown), "search: 80 recodings, 20 per second");
        let closing = Some(Closing { best: 12.5, bound: 10.0, decided: 0.25 });
        let search = Progress { phase: "search", done: 80, total: None, closing };
        assert_eq!(
            told(&search, Duration::from_secs(4), &Left::About(Duration::from_secs(90))),
            "search: 80 recodings, about 1 min 30 s left; press Ctrl-C to use the best so far: 12.50, lower bound 10.00, 25.00 % decided"
        );
        assert_eq!(line("write", 0, Some(3), Left::Unknown), "write: 0 of 3 rows");
        assert_eq!(
            told(&progress("read", 3, Some(2)), Duration::ZERO, &Left::Unknown),
            "read: 3 of 2 rows"
        );
    }

    /// Every phase over ten rows takes ten seconds here.
    #[test]
    fn the_time_left_is_that_of_the_whole_job() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let about = |seconds| Left::About(Duration::from_secs(seconds));
        let left = |state: &mut State, progress: Progress, seconds| {
            state.hear(&progress, at(seconds));
            state.left(&progress, at(seconds))
        };
        let rows = |phase, done| progress(phase, done, Some(10));
        let mut state = State::new(MEMORY, start);
        assert_eq!(left(&mut state, rows("read", 0), 0), Left::Unknown);
        let least = Left::AtLeast(Duration::from_secs(25));
        assert_eq!(left(&mut state, rows("read", 5), 5), least, "half, then write and verify");
        assert_eq!(state.share, 0.125);
        assert_eq!(left(&mut state, progress("search", 1, None), 10), Left::Unknown);
        assert_eq!(left(&mut state, progress("search", 9, None), 20), Left::Unknown);
        assert_eq!(left(&mut state, rows("write", 0), 30), Left::Unknown);
        assert_eq!(left(&mut state, rows("write", 5), 35), about(15));
        assert_eq!(left(&mut state, rows("verify", 0), 40), Left::Unknown);
        assert_eq!(left(&mut state, rows("verify", 9), 49), about(1));
        assert_eq!(state.share, 0.975);
        // With a time limit the end of the search is known.
        let limit = Some(Duration::from_secs(60));
        let mut state = State::new(Plan { limit, ..MEMORY }, start);
        left(&mut state, rows("read", 0), 0);
        assert_eq!(left(&mut state, rows("read", 5), 5), about(5 + 60 + 20));
        assert_eq!(left(&mut state, progress("search", 1, None), 10), about(60 + 20));
        assert_eq!(left(&mut state, progress("search", 1, None), 40), about(30 + 20));
    }

    #[test]
    fn a_job_on_disk_has_a_plan_of_its_own_and_a_share_never_decreases() {
        let start = Instant::now();
        let mut state = State::new(MEMORY, start);
        state.hear(&progress("survey", 5, Some(10)), start);
        assert_eq!((state.plan.phases, state.share), (ON_DISK, 0.125));
        state.hear(&progress("partition", 5, Some(10)), start);
        assert_eq!(state.share, 0.375);
        // Partitions are read again.
        state.hear(&progress("partition", 1, Some(10)), start);
        assert_eq!(state.share, 0.375);
        state.hear(&progress("population", 9, Some(10)), start);
        assert!(state.share < 0.5, "a phase that is not in the plan counts as the current one");
    }

    #[test]
    fn times_are_read_and_written() {
        assert_eq!(seconds("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(seconds("2m"), Some(Duration::from_secs(120)));
        assert_eq!(seconds("soon"), None);
        assert_eq!(clock(Duration::from_millis(1)), "1 s");
        assert_eq!(clock(Duration::from_secs(200)), "3 min 20 s");
        assert_eq!(clock(Duration::from_secs(3900)), "1 h 5 min");
    }
}
