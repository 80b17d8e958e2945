//! Whether classes have the confidence that they need: likelihoods are computed where bounds leave
//! that open.

use super::bounds::{Bounds, allowed};
use super::{ConfidentPresence, Tuple};
use crate::error::Result;
use crate::estimate::{Cut, Likelihoods, normal_tail, reaches};
use crate::ratio::Ratio;
use crate::watch::Watch;
use rustc_hash::FxHashMap;
use std::sync::{Arc, PoisonError};

/// What was computed before.
#[derive(Debug, Default)]
pub(super) struct Memory {
    verdicts: FxHashMap<Tuple, bool>,
    /// By a cut's number and the counts of the rarest values.
    likelihoods: FxHashMap<(u8, Vec<u64>), Arc<Likelihoods>>,
    numbers: usize,
}

/// Numbers that are kept in likelihoods: 64 megabytes.
const KEPT: usize = 1 << 23;

/// A cut at so many standard deviations leaves out less than a ten-thousandth.
const NEARLY_ALL: f64 = 4.0;

/// Tuples whose moments are taken between two polls for an abort.
const MOMENTS: usize = 1 << 12;

/// Rows that are divided by their sums are right to a few of these.
const MARGIN: f64 = 1e-11;

/// What was cut off at 10^-22 of the largest, in all steps together.
const TRIMMED: f64 = 1e-15;

/// A confidence is computed only where it may differ from 1 by more than this.
const NEARLY_ONE: f64 = 5e-13;

/// The largest figure for a confidence that is not certain.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

/// The figure for a confidence that misses with some probability, and is not certain.
fn figure(missed: f64) -> f64 {
    (1.0 - missed).clamp(0.0, BELOW_ONE)
}

impl ConfidentPresence {
    /// Whether all classes of a release have the confidence that they need.
    pub fn hold(&self, tuples: &[Tuple], watch: &Watch) -> Result<bool> {
        let mut open = Vec::new();
        for (at, tuple) in tuples.iter().enumerate() {
            if at % MOMENTS == 0 {
                watch.check()?;
            }
            match self.by_bounds(tuple) {
                Some(true) => {}
                Some(false) => return Ok(false),
                None => open.push(tuple),
            }
        }
        for tuple in self.dominant(open, watch)? {
            if !self.holds(tuple, watch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a class has the confidence that it needs.
    pub fn holds(&self, tuple: &Tuple, watch: &Watch) -> Result<bool> {
        let known = || {
            self.memory.lock().unwrap_or_else(PoisonError::into_inner).verdicts.get(tuple).copied()
        };
        if let Some(known) = self.shortcuts.shared.then(known).flatten() {
            return Ok(known);
        }
        let verdict = self.judge(tuple, watch)?;
        if self.shortcuts.shared {
            self.memory
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .verdicts
                .insert(tuple.clone(), verdict);
        }
        Ok(verdict)
    }

    fn judge(&self, tuple: &Tuple, watch: &Watch) -> Result<bool> {
        if let Some(decided) = self.decided(tuple, self.certainty(tuple)) {
            return Ok(decided);
        }
        let needed = self.confidences[tuple.needed as usize];
        for cut in self.cuts(tuple, needed.to_f64()) {
            let (lowered, mass) = self.likelihood(tuple, cut, watch)?;
            if lowered >= needed.to_f64() + MARGIN {
                return Ok(true);
            }
            // What was left out could not make up for it.
            if !self.shortcuts.refined || lowered + (1.0 - mass) < needed.to_f64() - MARGIN {
                return Ok(false);
            }
        }
        let missed = if self.shortcuts.cut() == Cut::NOTHING {
            self.missed_by_numbers(tuple, watch)?
        } else {
            self.missed(tuple, watch)?
        };
        Ok(self.settled(tuple, missed))
    }

    /// Whether a class that misses its range with this computed probability has the confidence that
    /// it needs.
    fn settled(&self, tuple: &Tuple, missed: f64) -> bool {
        let needed = self.confidences[tuple.needed as usize];
        let allowed = allowed(needed);
        match () {
            // Small probabilities are precise to more digits behind the point.
            _ if missed + MARGIN.min(missed * 1e-9) + TRIMMED <= allowed => true,
            _ if missed - MARGIN > allowed => false,
            _ => self.is_exactly(tuple, needed),
        }
    }

    /// What is left out in turn, until that decides: as asked, then next to nothing.
    fn cuts(&self, tuple: &Tuple, needed: f64) -> impl Iterator<Item = Cut> {
        let cut = self.shortcuts.cut();
        let lowers = cut.sigmas.is_some() || cut.bucket > 1;
        // Two standard deviations keep 95.5 % at every step, so many steps cannot reach much.
        let steps =
            tuple.marked.iter().filter(|marked| **marked < self.draws.others()).count() as i32 - 1;
        let kept = cut.sigmas.map_or(1.0, |sigmas| 1.0 - 2.0 * normal_tail(sigmas));
        let first = lowers && !(self.shortcuts.refined && kept.powi(steps.max(0)) < needed);
        let second = cut.sigmas.is_some() && self.shortcuts.refined;
        let second = second.then_some(Cut { sigmas: Some(NEARLY_ALL), bucket: 1, ..cut });
        first.then_some(cut).into_iter().chain(second.filter(|second| !first || *second != cut))
    }

    /// On the boundary integers decide; where they do not fit, against the tuple.
    fn is_exactly(&self, tuple: &Tuple, needed: Ratio) -> bool {
        if !tuple.more.is_empty() {
            return false;
        }
        let within = self.bounds(tuple.rows);
        let needed = (needed.numerator(), needed.denominator());
        reaches(self.draws.others(), &tuple.marked, within, needed).unwrap_or(false)
    }

    /// How likely it is that a class's matching others are within their bounds, and how likely
    /// everything is that was not left out.
    fn likelihood(&self, tuple: &Tuple, cut: Cut, watch: &Watch) -> Result<(f64, f64)> {
        let (least, most) = self.bounds(tuple.rows);
        let few = self.likelihoods(&tuple.marked, cut, watch)?;
        if tuple.more.is_empty() {
            return Ok((few.within(least, most), few.mass()));
        }
        let many = self.likelihoods(&tuple.more, cut, watch)?;
        let within = few.within(least, u64::MAX) + many.within(0, most) - 1.0;
        Ok((within, few.mass() + many.mass() - 1.0))
    }

    /// How likely it is that a class's matching others are not within their bounds.
    fn missed(&self, tuple: &Tuple, watch: &Watch) -> Result<f64> {
        let (least, most) = self.bounds(tuple.rows);
        if tuple.more.is_empty() {
            let (below, above) = self.outside(&tuple.marked, (least, most), watch)?;
            return Ok(below + above);
        }
        let (below, _) = self.outside(&tuple.marked, (least, u64::MAX), watch)?;
        let (_, above) = self.outside(&tuple.more, (0, most), watch)?;
        Ok(below + above)
    }

    /// How likely fewer matches than the first number and more than the second are.
    fn outside(&self, marked: &[u64], within: (u64, u64), watch: &Watch) -> Result<(f64, f64)> {
        // Values that everybody has tell nothing; they come last.
        let telling = marked.partition_point(|marked| *marked < self.draws.others());
        let Some((last, before)) = marked[..telling].split_last() else {
            return Ok(Likelihoods::certain(self.draws.others()).outside(within.0, within.1));
        };
        if before.is_empty() {
            return Ok(Likelihoods::certain(*last).outside(within.0, within.1));
        }
        let before = self.likelihoods(before, Cut::EXACT, watch)?;
        self.draws.outside(&before, *last, within, watch)
    }

    /// The same by the likelihood of every single number.
    fn missed_by_numbers(&self, tuple: &Tuple, watch: &Watch) -> Result<f64> {
        let (least, most) = self.bounds(tuple.rows);
        let more = if tuple.more.is_empty() { &tuple.marked } else { &tuple.more };
        let few = self.likelihoods(&tuple.marked, Cut::NOTHING, watch)?;
        let many = self.likelihoods(more, Cut::NOTHING, watch)?;
        Ok(few.outside(least, u64::MAX).0 + many.outside(0, most).1)
    }

    /// How likely each number of matching others is.
    fn likelihoods(&self, marked: &[u64], cut: Cut, watch: &Watch) -> Result<Arc<Likelihoods>> {
        let Some((last, before)) = marked.split_last() else {
            return Ok(Arc::new(Likelihoods::certain(self.draws.others())));
        };
        if before.is_empty() {
            return Ok(Arc::new(Likelihoods::certain(*last)));
        }
        let next = || {
            let before = self.likelihoods(before, cut, watch)?;
            Ok(Arc::new(self.draws.next(&before, *last, cut, watch)?))
        };
        if !self.shortcuts.shared || *last == self.draws.others() {
            return next();
        }
        let number = match cut {
            Cut::EXACT => 0,
            Cut { sigmas: Some(NEARLY_ALL), bucket: 1, .. } => 1,
            _ => 2,
        };
        let key = (number, marked.to_vec());
        if let Some(known) =
            self.memory.lock().unwrap_or_else(PoisonError::into_inner).likelihoods.get(&key)
        {
            return Ok(known.clone());
        }
        let found = next()?;
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.numbers > KEPT {
            memory.likelihoods.clear();
            memory.numbers = 0;
        }
        memory.numbers += found.len() + marked.len();
        memory.likelihoods.insert(key, found.clone());
        Ok(found)
    }

    /// The confidence of a class, to the precision of a float.
    /// Only what is certain is 1.
    pub fn confidence(&self, tuple: &Tuple, watch: &Watch) -> Result<f64> {
        match self.certainty(tuple).certain {
            Some(is_kept) => Ok(f64::from(u8::from(is_kept))),
            None => Ok(figure(self.missed(tuple, watch)?)),
        }
    }

    /// The smallest confidence of all classes, and how many have less than they need. Nothing is
    /// left out but what cannot be the smallest, and what differs from 1 by less than 10^-12: there
    /// the figure is a bound, which is never too large.
    pub fn smallest(&self, tuples: &[Tuple], watch: &Watch) -> Result<(f64, u64)> {
        let mut order: Vec<(Bounds, usize)> = Vec::with_capacity(tuples.len());
        for (at, tuple) in tuples.iter().enumerate() {
            if at % MOMENTS == 0 {
                watch.check()?;
            }
            order.push((self.known(tuple), at));
        }
        watch.sort_by(&mut order, |a, b| b.0.missed.total_cmp(&a.0.missed).then(a.1.cmp(&b.1)))?;
        let (mut smallest, mut failing) = (1.0f64, 0);
        let mut computed: Vec<(&Tuple, bool)> = Vec::new();
        for (known, at) in order {
            let tuple = &tuples[at];
            let decided = self.decided(tuple, known);
            let at_least = match known.certain {
                Some(is_kept) => f64::from(u8::from(is_kept)),
                None => figure(known.missed),
            };
            let is_known =
                known.certain.is_some() || known.missed <= NEARLY_ONE || at_least >= smallest;
            if let Some(holds) = decided.filter(|_| is_known) {
                smallest = smallest.min(at_least);
                failing += u64::from(!holds);
                continue;
            }
            watch.check()?;
            let easier = |(other, holds): &(&Tuple, bool)| {
                (decided == Some(true) || *holds && other.needed >= tuple.needed)
                    && self.is_harder(other, tuple)
            };
            if decided != Some(false) && computed.iter().any(easier) {
                continue;
            }
            let missed = self.missed(tuple, watch)?;
            smallest = smallest.min(figure(missed));
            let holds = decided.unwrap_or_else(|| self.settled(tuple, missed));
            failing += u64::from(!holds);
            computed.push((tuple, holds));
        }
        Ok((smallest, failing))
    }
}
