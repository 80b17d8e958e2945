//! What single change would make a release possible?
//!
//! Each kind of change is a [`Ladder`]: changes of one thing in order, from the smallest to the
//! largest. The ladder is searched by bisection for the first step at which the job finds something
//! that can be released; the step before it fails. With an exact search, every weaker requirement
//! and every larger limit allows what the stronger one allows, so this step is the smallest of all.
//! Only then is the job run to its end in a [rehearsal](super::rehearsal): what is offered was
//! written and verified.
//!
//! A quasi-identifier is only left out if levels are given. To leave one out is to give it its root,
//! and a search has tried that: it would not help.

use super::rehearsal::Rehearsal;
use super::{Decision, Effort, Job};
use crate::error::{Change, Error, ErrorKind, Refusal, Remedies, Remedy, Result};
use crate::policy::{Dial, Kind};
use crate::ratio::Ratio;
use crate::release::{ReleaseKind, Report};
use crate::source::Source;
use crate::table::Role;
use crate::watch::Watch;
use std::time::{Duration, Instant};

impl Job {
    /// Looks for single changes with which a release is possible, after a [run](Job::run) was refused.
    /// Each one that is found was tried and verified on the same source, and nothing is published.
    ///
    /// The search ends after 30 seconds, or with what it has if the watch is
    /// [stopped](Watch::stop). Tables that exceed the memory are not searched.
    pub fn remedies(
        &self,
        source: impl Source,
        refusal: &Refusal,
        watch: &Watch,
    ) -> Result<Remedies> {
        if self.policy.privacy().distribution.is_some() {
            return Ok(incomplete("they are not tried for a distribution"));
        }
        let heeding = watch.heed();
        let job = Job { given: Vec::new(), ..self.clone() };
        let remedies = self.on_threads(|| {
            let plain = self.policy.plain(&source);
            let rehearsal = Rehearsal::new(&*plain);
            if rehearsal.is_on_disk(&job, watch)? {
                return Ok(incomplete("they are not tried for a table that exceeds the memory"));
            }
            let end = Instant::now() + self.parameters.remedies;
            Quest { job: &job, rehearsal, refusal, watch, end }.run()
        });
        drop(heeding);
        remedies
    }

    /// An error of [`run`](Job::run), with the changes that would make a release possible if it is a
    /// refusal; see [`remedies`](Job::remedies). All other errors stay as they are.
    pub fn with_remedies(&self, error: Error, source: impl Source, watch: &Watch) -> Error {
        match error {
            Error::CannotBeMet { shortfall, refusal: Some(mut refusal) } => {
                let remedies = self.remedies(source, &refusal, watch);
                refusal.remedies =
                    Some(remedies.unwrap_or_else(|error| incomplete(error.to_string())));
                Error::CannotBeMet { shortfall, refusal: Some(refusal) }
            }
            error => error,
        }
    }

    /// This job after a change of its policy or of its levels.
    pub fn amended(&self, change: &Change) -> Result<Job> {
        let policy = self.policy.edit();
        let policy = match change {
            Change::Number { path, to } => policy.number(path, to),
            Change::Suppression { limit, .. } => policy.suppression(limit.as_str()),
            Change::Recoding(kind) => {
                policy.remove(["search", "algorithm"]).set(["search", "recoding"], kind.as_str())
            }
            Change::LeaveOut(attribute) => policy.identifier(attribute),
            Change::Level { .. } | Change::Search => policy,
        };
        let decision = match (&self.decision, change) {
            (Decision::Levels(levels), Change::LeaveOut(attribute)) => {
                let others = levels.iter().filter(|(name, _)| name != attribute);
                Decision::Levels(others.cloned().collect())
            }
            (Decision::Levels(levels), Change::Level { attribute, to }) => {
                let level = |(name, level): &(String, usize)| {
                    (name.clone(), if name == attribute { *to } else { *level })
                };
                Decision::Levels(levels.iter().map(level).collect())
            }
            (_, Change::Search) => Decision::Search,
            (decision, _) => decision.clone(),
        };
        Ok(Job { policy: policy.build()?, decision, ..self.clone() })
    }
}

/// No changes, and why.
fn incomplete(reason: impl Into<String>) -> Remedies {
    Remedies { remedies: Vec::new(), remedies_incomplete: Some(reason.into()) }
}

/// Changes of one thing, from the smallest to the largest.
struct Ladder {
    /// How many there are.
    steps: u64,
    /// The step that is tried first.
    guess: Option<u64>,
    rungs: Rungs,
    from: Option<String>,
    sensitive: Option<String>,
}

/// What is changed.
enum Rungs {
    Dial(Dial),
    /// More rows than so many of all.
    Suppression {
        now: u64,
        rows: u64,
    },
    /// A higher level than this of an attribute.
    Level {
        attribute: String,
        now: usize,
    },
    One(Change),
}

impl Ladder {
    fn one(change: Change, from: Option<String>) -> Ladder {
        Ladder { steps: 1, guess: None, rungs: Rungs::One(change), from, sensitive: None }
    }

    /// A step, from 1 on.
    fn change(&self, step: u64) -> Change {
        match &self.rungs {
            Rungs::Dial(dial) => Change::Number { path: dial.path.clone(), to: dial.value(step) },
            Rungs::Suppression { now, rows } => {
                let most = now + step;
                Change::Suppression { limit: limit_of(most, *rows), rows: most }
            }
            Rungs::Level { attribute, now } => {
                Change::Level { attribute: attribute.clone(), to: now + step as usize }
            }
            Rungs::One(change) => change.clone(),
        }
    }

    /// The first step that suffices, if the last one does. Of steps that suffice, all later ones
    /// should; in any case the step before fails.
    fn first(&self, mut suffices: impl FnMut(&Change) -> Result<bool>) -> Result<Option<u64>> {
        let mut try_step = |step: u64| suffices(&self.change(step));
        let (mut fails, mut holds) = (0, self.steps);
        let guess = self.guess.filter(|guess| (1..self.steps).contains(guess));
        match guess {
            Some(guess) if try_step(guess)? => {
                holds = guess;
                if guess > 1 && !try_step(guess - 1)? {
                    fails = guess - 1;
                }
            }
            _ if !try_step(self.steps)? => return Ok(None),
            _ => fails = guess.unwrap_or(0),
        }
        while holds - fails > 1 {
            let middle = fails + (holds - fails) / 2;
            if try_step(middle)? { holds = middle } else { fails = middle }
        }
        Ok(Some(holds))
    }
}

/// The shortest percentage that allows exactly this number of rows.
fn limit_of(most: u64, rows: u64) -> String {
    let exact =
        |text: &String| text.parse::<Ratio>().is_ok_and(|share| share.floor_of(rows) == most);
    let with_decimals = |decimals: u32| {
        let unit = 10u128.pow(decimals);
        let units = (u128::from(most) * 100 * unit).div_ceil(u128::from(rows.max(1)));
        let (whole, rest) = (units / unit, units % unit);
        match decimals {
            0 => format!("{whole}%"),
            _ => format!("{whole}.{rest:0width$}%", width = decimals as usize),
        }
    };
    (0..12).map(with_decimals).find(exact).unwrap_or_else(|| format!("{most}/{rows}"))
}

/// What took too long in its share of the time is tried again with a share of what is left.
const ROUNDS: usize = 3;

/// The search for changes.
struct Quest<'a> {
    job: &'a Job,
    rehearsal: Rehearsal<'a>,
    refusal: &'a Refusal,
    watch: &'a Watch,
    end: Instant,
}

impl Quest<'_> {
    fn run(self) -> Result<Remedies> {
        let ladders = self.ladders()?;
        let mut remedies = Vec::new();
        let mut open: Vec<&Ladder> = ladders.iter().collect();
        for _ in 0..ROUNDS {
            let mut again = Vec::new();
            for (at, ladder) in open.iter().enumerate() {
                let left = self.end.saturating_duration_since(Instant::now());
                match self.climb(ladder, left / (open.len() - at) as u32) {
                    Ok(found) => remedies.extend(found),
                    Err(Error::Interrupted) if !self.watch.aborted() => again.push(*ladder),
                    Err(error) => return Err(error),
                }
            }
            open = again;
        }
        // A column that is lost as a whole is no loss of detail in the others.
        let cost = |remedy: &Remedy| remedy.lm_weighted.unwrap_or(remedy.lm);
        let is_column = |remedy: &Remedy| matches!(remedy.change, Change::LeaveOut(_));
        remedies.sort_by(|a, b| is_column(a).cmp(&is_column(b)).then(cost(a).total_cmp(&cost(b))));
        let reason = match self.watch.stopped() {
            true => "the search was interrupted",
            false => "not all were tried in the time allowed",
        };
        let incomplete = (!open.is_empty()).then(|| reason.to_string());
        Ok(Remedies { remedies, remedies_incomplete: incomplete })
    }

    /// The smallest change of a ladder, if one suffices.
    fn climb(&self, ladder: &Ladder, share: Duration) -> Result<Option<Remedy>> {
        let start = Instant::now();
        let watch = self.watch.until(start + share / 2);
        watch.check()?;
        let suffices = |change: &Change| self.suffices(change, &watch);
        let Some(step) = ladder.first(suffices)? else { return Ok(None) };
        let change = ladder.change(step);
        let watch = self.watch.until(start + share);
        let mut remedy = self.tried(&change, ladder, &watch)?;
        // The root of a column tells nothing of it.
        if let Rungs::Level { attribute, .. } = &ladder.rungs
            && step == ladder.steps
            && let Some(at_root) = &mut remedy
        {
            let change = Change::LeaveOut(attribute.clone());
            if self.tried(&change, ladder, &watch)?.is_some() {
                (at_root.change, at_root.from) = (change, None);
            }
        }
        Ok(remedy)
    }

    /// Whether a release is possible with a change. What cannot be asked for does not help.
    fn suffices(&self, change: &Change, watch: &Watch) -> Result<bool> {
        let Ok(job) = self.job.amended(change) else { return Ok(false) };
        Ok(possible(self.rehearsal.probe(&job, watch))?.is_some())
    }

    /// What the job loses with a change that suffices. If a full search would take too long, the
    /// first recoding that is found must do.
    fn tried(&self, change: &Change, ladder: &Ladder, watch: &Watch) -> Result<Option<Remedy>> {
        let job = self.job.amended(change)?;
        let remedy = |report: Report, is_upper_bound: bool| match report.release {
            ReleaseKind::Table { loss, .. } => Some(Remedy {
                change: change.clone(),
                from: ladder.from.clone(),
                sensitive: ladder.sensitive.clone(),
                lm: loss.lm,
                lm_weighted: loss.lm_weighted,
                suppressed: report.suppressed,
                is_upper_bound,
            }),
            ReleaseKind::Distribution { .. } => None,
        };
        match self.rehearsal.run(&job, watch) {
            Err(Error::Interrupted) if !self.watch.aborted() && !self.watch.stopped() => {
                let end = self.end + self.job.parameters.remedies / 2;
                let job = Job { effort: Effort::First, ..job };
                let report = possible(self.rehearsal.run(&job, &self.watch.until(end)))?;
                Ok(report.and_then(|report| remedy(report, true)))
            }
            done => Ok(possible(done)?.and_then(|report| remedy(report, false))),
        }
    }

    /// Everything that could be changed.
    fn ladders(&self) -> Result<Vec<Ladder>> {
        let mut ladders: Vec<Ladder> =
            self.job.policy.dials().into_iter().map(|dial| self.of_dial(dial)).collect();
        ladders.extend(self.suppression());
        ladders.extend(self.recodings());
        if let Decision::Levels(given) = &self.job.decision {
            ladders.push(Ladder::one(Change::Search, None));
            for (name, height) in self.rehearsal.heights(self.job, self.watch)? {
                let level = given.iter().find(|(known, _)| *known == name);
                ladders.extend(level.filter(|(_, now)| *now < height).map(|(_, now)| Ladder {
                    steps: (height - now) as u64,
                    guess: None,
                    rungs: Rungs::Level { attribute: name.clone(), now: *now },
                    from: Some(now.to_string()),
                    sensitive: None,
                }));
            }
        }
        let names = self.rehearsal.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let roles = self.job.policy.roles(&names, &self.rehearsal.file(), false)?;
        let sensitive = names.iter().zip(roles).filter(|(_, role)| *role == Role::Sensitive);
        ladders.extend(
            sensitive.map(|(name, _)| Ladder::one(Change::LeaveOut(name.to_string()), None)),
        );
        Ok(ladders)
    }

    fn of_dial(&self, dial: Dial) -> Ladder {
        let path: Vec<&str> = dial.path.iter().map(String::as_str).collect();
        let from = self.job.policy.written(&path);
        Ladder {
            steps: dial.steps,
            guess: dial.guess(&self.refusal.privacy),
            from: Some(from.map_or_else(|| dial.from.to_string(), str::to_string)),
            sensitive: dial.sensitive.clone(),
            rungs: Rungs::Dial(dial),
        }
    }

    /// More suppression, if it is allowed and has a limit.
    fn suppression(&self) -> Option<Ladder> {
        let (policy, rows) = (&self.job.policy, self.refusal.rows);
        let search = policy.search();
        let has_no_limit = search.limit().is_none() && search.may_suppress();
        if policy.privacy().presence.is_some() || has_no_limit {
            return None;
        }
        let now = search.suppression.floor_of(rows);
        let from = policy.written(&["search", "suppression", "limit"]).unwrap_or("0");
        let steps = rows.checked_sub(now + 1).filter(|steps| *steps > 0)?;
        let (guess, sensitive, rungs) = (None, None, Rungs::Suppression { now, rows });
        Some(Ladder { steps, guess, rungs, from: Some(from.to_string()), sensitive })
    }

    /// Other kinds of recoding, if the policy wants only one.
    fn recodings(&self) -> Vec<Ladder> {
        let (policy, search) = (&self.job.policy, self.job.policy.search());
        let is_open = search.algorithm.is_open() && search.recoding == Kind::Any;
        if !matches!(self.job.decision, Decision::Search) || is_open {
            return Vec::new();
        }
        let now = search.algorithm.kind().unwrap_or(search.recoding);
        let written = policy.written(&["search", "recoding"]);
        let from = written.unwrap_or(search.algorithm.name()).to_string();
        let kinds = Kind::NAMES.into_iter().filter(|(_, kind)| *kind != Kind::Any && *kind != now);
        kinds
            .map(|(name, _)| Ladder::one(Change::Recoding(name.into()), Some(from.clone())))
            .collect()
    }
}

/// What came of a job; `None` if its requirements cannot be met, or if it asks for what does not go
/// together.
fn possible<T>(done: Result<T>) -> Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) if matches!(error.kind(), ErrorKind::Refused | ErrorKind::Input) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_allows_so_many_rows_and_no_more() {
        assert_eq!(limit_of(1, 2), "50%");
        assert_eq!(limit_of(1, 3), "34%");
        assert_eq!(limit_of(398, 30_162), "1.32%");
        assert_eq!(limit_of(0, 7), "0%");
        for rows in [1, 7, 99, 1000, 30_162, 10_000_019] {
            for most in [0, 1, 2, rows / 3, rows - 1, rows].into_iter().filter(|most| *most <= rows)
            {
                let share: Ratio = limit_of(most, rows).parse().unwrap();
                assert_eq!(share.floor_of(rows), most, "{most} of {rows}");
            }
        }
    }

    /// Against the definition, for every place of the first step that suffices and every guess.
    #[test]
    fn the_first_step_is_found_from_any_guess() {
        for steps in 1..=9 {
            for first in 1..=steps + 1 {
                for guess in (0..=steps + 1).map(Some).chain([None]) {
                    let rungs = Rungs::Suppression { now: 0, rows: 100 };
                    let ladder = Ladder { steps, guess, rungs, from: None, sensitive: None };
                    let found = ladder.first(|change| match change {
                        Change::Suppression { rows, .. } => Ok(*rows >= first),
                        _ => Err(Error::Defect),
                    });
                    let expected = (first <= steps).then_some(first);
                    assert_eq!(found.unwrap(), expected, "{steps} {first} {guess:?}");
                }
            }
        }
    }
}
