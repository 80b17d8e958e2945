//! c-confident delta-presence: the range of delta-presence is kept with a confidence, when only
//! attribute distributions are known (Nergiz and Clifton 2008, sections 4, 5 and 7).
//!
//! Whoever attacks may know the whole population; whoever publishes knows how many of the others
//! have each value. So the world is a random one, and each person of the table must be present
//! within [min, max] in a share of worlds that is at least the confidence. For a class of n1 rows
//! that means: the number of others who match it is from c_low to c_high.
//!
//! | here | paper |
//! |---|---|
//! | [`Tuple`] | t* with n1 and f_i(t*[i]) for all attributes |
//! | [`ConfidentPresence::bounds`] | c_low = ceil(n1 / max - n1), c_high = floor(n1 / min - n1) |
//! | [`Shortcuts::practical`] | PA: what fails is taken to fail wherever it is finer |
//! | [`Shortcuts::sigmas`] | SD |
//! | [`Shortcuts::dominant`] | DM: only tuples that no other dominates are judged |
//! | [`Shortcuts::bucket`] | DC |
//!
//! What is added: the mean and the variance of the number of matches are known in closed form, and
//! by the inequalities of Cantelli, Chernoff, Bernstein and Berry-Esseen they decide most tuples
//! for certain ([`Shortcuts::moments`]). Certainty (a confidence of 1) is decided by the numbers of
//! matches that are possible at all. Where a cut leaves it open whether a tuple holds, it is
//! computed without ([`Shortcuts::refined`]); the paper refuses it. Equal tuples are judged once,
//! and those that agree on their rarest values share likelihoods ([`Shortcuts::shared`]): the order
//! of attributes does not matter, so they are taken from the rarest value on, which keeps bands
//! narrow.
//!
//! Every number rounds toward refusal; a confidence that equals what is asked is decided by
//! integers where 128 bits hold them.

use super::{Shortcuts, Statement};
use crate::error::Result;
use crate::estimate::{Cut, Hypergeometric, Likelihoods, moments, normal_tail, possible, reaches};
use crate::ratio::Ratio;
use crate::watch::{PIECE, Watch};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What is known of a class: how many rows it has, and how many of the others have its value in
/// each attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tuple {
    rows: u64,
    /// Ascending: the order of attributes does not matter.
    marked: Vec<u64>,
    /// The same where no more than that is known: at least `marked`, at most these. Empty where
    /// they are equal.
    more: Vec<u64>,
    /// Which of the confidences it needs.
    needed: u32,
}

/// The presence that is asked for, and how often each value occurs among the others.
#[derive(Debug)]
pub struct ConfidentPresence {
    min: Ratio,
    max: Ratio,
    /// What is asked of whoever needs nothing else.
    asked: Ratio,
    /// Confidences that classes may need, ascending.
    confidences: Vec<Ratio>,
    /// The counted column that holds the number of the confidence that each row needs; all need the
    /// first where absent.
    needed_by: Option<usize>,
    /// `sums[column][code]`: others with a smaller code.
    sums: Vec<Vec<u64>>,
    /// The same for the people whom the marginals count, where the table's rows are among them.
    listed: Option<Vec<Vec<u64>>>,
    /// `occurring[column][code]`: smaller codes that the marginals count at all.
    occurring: Vec<Vec<u64>>,
    draws: Hypergeometric,
    cover_all: bool,
    shortcuts: Shortcuts,
    memory: Mutex<Memory>,
    seen: AtomicU64,
    judged: AtomicU64,
}

/// How much work was there, and how much of it was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Tuples of all releases that were judged.
    pub tuples: u64,
    /// Those that no other dominated.
    pub dominant: u64,
    /// Numbers that could occur in all rows of densities.
    pub possible: u64,
    /// Those that were computed.
    pub computed: u64,
}

/// What was computed before.
#[derive(Debug, Default)]
struct Memory {
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

/// What is known of a confidence without any likelihood.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Whether the range is kept in every world, or in none, if one of both is so.
    certain: Option<bool>,
    /// The probability that the range is not kept is not above this.
    missed: f64,
    /// The confidence is not above this.
    at_most: f64,
}

/// The probability of missing the range that a needed confidence leaves, rounded down.
fn allowed(needed: Ratio) -> f64 {
    let above = needed.denominator().saturating_sub(needed.numerator());
    above as f64 / needed.denominator() as f64 * (1.0 - 1e-15)
}

/// A number that the probability of straying so far to one side of the mean is not above. The
/// number of matches is distributed as a sum of independent ones (Vatutin and Mikhailov 1982), so
/// Bernstein's inequality holds with its variance.
fn bernstein(variance: f64, distance: f64) -> f64 {
    (-distance * distance / (2.0 * variance + 2.0 / 3.0 * distance)).exp()
}

/// The same by the theorem of Berry and Esseen: such a sum differs from the normal distribution by
/// at most 0.56 / sigma, since the third moments of its parts are no larger than their variances
/// (the constant is Shevtsova's of 2010). It decides between large classes, which are costly.
fn berry_esseen((least, most): (f64, f64), distance: f64) -> f64 {
    if least < 100.0 {
        return 1.0;
    }
    normal_tail(distance / most.sqrt()) * (1.0 + 1e-12) + 0.56 / least.sqrt()
}

/// A number that the probability of at least (or, below the mean, at most) so many matches is not
/// above. Whether one person matches makes it only less likely of others (negative association), so
/// matches stray no further than independent ones of the same mean would: exp(-U KL(x/U ||
/// mean/U)).
fn chernoff(others: f64, mean: f64, number: f64) -> f64 {
    if number > others {
        return 0.0;
    }
    let part = |number: f64, mean: f64| {
        if number > 0.0 { number * ((mean - number) / number).ln_1p() } else { 0.0 }
    };
    let exponent = part(number, mean) + part(others - number, others - mean);
    // Both parts are about as large as the distance to the mean, which their rounding grows with.
    (exponent + 1e-5 + 1e-14 * others).exp().min(1.0)
}

/// The figure for a confidence that misses with some probability, and is not certain.
fn figure(missed: f64) -> f64 {
    (1.0 - missed).clamp(0.0, BELOW_ONE)
}

/// The sum of all numbers before each, and of all.
fn sums(numbers: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut sums = vec![0];
    for number in numbers {
        sums.push(sums[sums.len() - 1] + number);
    }
    sums
}

impl ConfidentPresence {
    /// What must hold; `listed[column][code]` is how many people the marginals count with each
    /// code, the same number in every column. `own` is how many of them are rows of the table,
    /// where those are counted too.
    pub fn new(
        (min, max): (Ratio, Ratio),
        confidence: Ratio,
        listed: &[Vec<u64>],
        own: Option<&[Vec<u64>]>,
        cover_all: bool,
    ) -> ConfidentPresence {
        let all: Vec<Vec<u64>> = listed.iter().map(|counts| sums(counts.iter().copied())).collect();
        let others = match own {
            None => all.clone(),
            Some(own) => {
                let others = |(listed, own): (&Vec<u64>, &Vec<u64>)| {
                    sums(listed.iter().zip(own).map(|(listed, own)| listed.saturating_sub(*own)))
                };
                listed.iter().zip(own).map(others).collect()
            }
        };
        ConfidentPresence {
            min,
            max,
            asked: confidence,
            confidences: vec![confidence],
            needed_by: None,
            draws: Hypergeometric::new(
                others.first().and_then(|sums| sums.last()).copied().unwrap_or(0),
            ),
            sums: others,
            listed: own.map(|_| all),
            occurring: listed
                .iter()
                .map(|counts| sums(counts.iter().map(|count| u64::from(*count > 0))))
                .collect(),
            cover_all,
            shortcuts: Shortcuts::default(),
            memory: Mutex::default(),
            seen: AtomicU64::new(0),
            judged: AtomicU64::new(0),
        }
    }

    /// The same among so many others, where the marginals count more people than those.
    pub fn among(self, others: u64) -> ConfidentPresence {
        ConfidentPresence { draws: Hypergeometric::new(others), ..self }
    }

    /// The same with a confidence for each row: a counted column holds the number of each in an
    /// ascending list.
    pub fn with_confidences(self, column: usize, confidences: Vec<Ratio>) -> ConfidentPresence {
        ConfidentPresence { confidences, needed_by: Some(column), ..self }
    }

    /// The same with confidences that classes need, ascending; each tuple tells which.
    pub fn with_needs(self, confidences: Vec<Ratio>) -> ConfidentPresence {
        ConfidentPresence { confidences, ..self }
    }

    /// The same, judged with other shortcuts.
    pub fn with_shortcuts(self, shortcuts: Shortcuts) -> ConfidentPresence {
        ConfidentPresence { shortcuts, memory: Mutex::default(), ..self }
    }

    /// How it is judged.
    pub fn shortcuts(&self) -> Shortcuts {
        self.shortcuts
    }

    /// Whether every tuple that the marginals allow must be covered.
    pub fn covers_all(&self) -> bool {
        self.cover_all
    }

    /// The counted column with the confidence of each row.
    pub fn needed_by(&self) -> Option<usize> {
        self.needed_by
    }

    /// How many of the others have one of these codes.
    pub fn marked(&self, column: usize, codes: Range<u32>) -> u64 {
        self.sums[column][codes.end as usize] - self.sums[column][codes.start as usize]
    }

    /// How many people with one of these codes the marginals count, where the table's rows are
    /// among them.
    pub fn listed(&self, column: usize, codes: Range<u32>) -> Option<u64> {
        let sums = &self.listed.as_ref()?[column];
        Some(sums[codes.end as usize] - sums[codes.start as usize])
    }

    /// A class of so many rows, given what is marked of each attribute and which confidence is
    /// needed.
    pub fn tuple(&self, rows: u64, mut marked: Vec<u64>, needed: u32) -> Tuple {
        marked.sort_unstable();
        Tuple { rows, marked, more: Vec::new(), needed }
    }

    /// The same where others who have the value of an attribute are known to be from one number to
    /// another. Its confidence is the least that they can make: more others never make fewer
    /// matches likely (theorem 3).
    pub fn tuple_between(&self, rows: u64, marked: &[(u64, u64)], needed: u32) -> Tuple {
        let others = self.draws.others();
        let mut least: Vec<u64> = marked.iter().map(|(least, _)| (*least).min(others)).collect();
        let mut most: Vec<u64> = marked.iter().map(|(_, most)| (*most).min(others)).collect();
        least.sort_unstable();
        most.sort_unstable();
        match (self.min == Ratio::ZERO, self.max == Ratio::ONE) {
            // One end asks for one number alone.
            (true, _) => Tuple { rows, marked: least, more: Vec::new(), needed },
            (_, true) => Tuple { rows, marked: most, more: Vec::new(), needed },
            _ if least == most => Tuple { rows, marked: least, more: Vec::new(), needed },
            _ => Tuple { rows, marked: least, more: most, needed },
        }
    }

    /// How many of the others may match a class of so many rows: from c_low to c_high.
    pub fn bounds(&self, rows: u64) -> (u64, u64) {
        let parts = |ratio: Ratio| {
            let above = u128::from(rows) * u128::from(ratio.denominator() - ratio.numerator());
            (above, u128::from(ratio.numerator()))
        };
        let (above, below) = parts(self.max);
        let least = u64::try_from(above.div_ceil(below)).unwrap_or(u64::MAX);
        let most = match self.min.numerator() {
            0 => u64::MAX,
            _ => {
                let (above, below) = parts(self.min);
                u64::try_from(above / below).unwrap_or(u64::MAX)
            }
        };
        (least, most)
    }

    /// Whether all classes of a release have the confidence that they need.
    pub fn hold(&self, tuples: &[Tuple]) -> bool {
        // An inert watch aborts nothing.
        self.try_hold(tuples, &Watch::default()).unwrap_or(false)
    }

    /// The same, unless the job is aborted.
    pub fn try_hold(&self, tuples: &[Tuple], watch: &Watch) -> Result<bool> {
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
            if !self.try_holds(tuple, watch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What is decided without any likelihood: by what is possible, and by mean and variance.
    fn by_bounds(&self, tuple: &Tuple) -> Option<bool> {
        if self.shortcuts.moments {
            self.decided(tuple, self.known(tuple))
        } else {
            self.decided(tuple, self.certainty(tuple))
        }
    }

    /// What follows for a tuple from what is known of its confidence.
    fn decided(&self, tuple: &Tuple, known: Bounds) -> Option<bool> {
        let needed = self.confidences[tuple.needed as usize];
        match known.certain {
            Some(is_kept) => Some(is_kept || needed == Ratio::ZERO),
            // Some world misses the range, and some world keeps it.
            None if needed == Ratio::ONE => Some(false),
            None if needed == Ratio::ZERO => Some(true),
            None if known.missed <= allowed(needed) => Some(true),
            None if known.at_most < needed.to_f64() * (1.0 - 1e-15) => Some(false),
            None => None,
        }
    }

    /// What the possible numbers of matches say.
    fn certainty(&self, tuple: &Tuple) -> Bounds {
        let (least, most) = self.bounds(tuple.rows);
        let few = possible(self.draws.others(), &tuple.marked);
        let many =
            if tuple.more.is_empty() { few } else { possible(self.draws.others(), &tuple.more) };
        let (missed, at_most) = (1.0, 1.0);
        if least <= few.0 && many.1 <= most {
            Bounds { certain: Some(true), missed: 0.0, at_most }
        } else if least > most || few.1 < least || most < many.0 {
            Bounds { certain: Some(false), missed, at_most: 0.0 }
        } else {
            Bounds { certain: None, missed, at_most }
        }
    }

    /// The same, with what mean and variance say.
    fn known(&self, tuple: &Tuple) -> Bounds {
        let certainty = self.certainty(tuple);
        if certainty.certain.is_some() {
            return certainty;
        }
        let (least, most) = self.bounds(tuple.rows);
        let others = self.draws.others();
        let few = moments(others, &tuple.marked);
        let many = if tuple.more.is_empty() { few } else { moments(others, &tuple.more) };
        // A hair nearer and wider, since both are rounded.
        let beyond = |(mean, variance): (f64, f64), number: f64, distance: f64| {
            let (distance, hair) =
                (distance - mean * 1e-12, variance * 1e-9 + 1e-9 + 1e-15 * others as f64);
            if distance <= 0.0 {
                return 1.0;
            }
            let most = variance + hair;
            let cantelli = most / (most + distance * distance);
            let bernstein = bernstein(most, distance) * (1.0 + 1e-9);
            let normal = berry_esseen((variance - hair, most), distance);
            cantelli.min(bernstein).min(normal).min(chernoff(others as f64, mean, number))
        };
        let below = |moments: (f64, f64), number: f64| beyond(moments, number, moments.0 - number);
        let above = |moments: (f64, f64), number: f64| beyond(moments, number, number - moments.0);
        let too_few = if least == 0 { 0.0 } else { below(few, (least - 1) as f64) };
        let too_many = if most == u64::MAX { 0.0 } else { above(many, most as f64 + 1.0) };
        let enough = above(few, least as f64);
        let not_more = if most == u64::MAX { 1.0 } else { below(many, most as f64) };
        let missed = (too_few + too_many).min(1.0);
        Bounds { certain: None, missed, at_most: enough.min(not_more) }
    }

    /// The tuples that no other dominates, where one end of the range asks nothing (definition 12);
    /// else all of them.
    fn dominant<'a>(&self, mut tuples: Vec<&'a Tuple>, watch: &Watch) -> Result<Vec<&'a Tuple>> {
        let (only_max, only_min) = (self.min == Ratio::ZERO, self.max == Ratio::ONE);
        self.seen.fetch_add(tuples.len() as u64, Ordering::Relaxed);
        if !self.shortcuts.dominant || !(only_max || only_min) {
            self.judged.fetch_add(tuples.len() as u64, Ordering::Relaxed);
            return Ok(tuples);
        }
        let harder =
            |one: &Tuple, other: &Tuple| one.needed >= other.needed && self.is_harder(one, other);
        // A tuple that dominates another comes before it.
        let marked = |tuple: &Tuple| tuple.marked.iter().sum::<u64>();
        watch.sort_by(&mut tuples, |a, b| {
            let order = b.rows.cmp(&a.rows).then_with(|| marked(a).cmp(&marked(b)));
            let order = if only_max { order } else { order.reverse() };
            order.then_with(|| b.needed.cmp(&a.needed)).then_with(|| a.marked.cmp(&b.marked))
        })?;
        let mut kept: Vec<&Tuple> = Vec::new();
        for tuple in tuples {
            watch.check()?;
            if !kept.iter().any(|known| harder(known, tuple)) {
                kept.push(tuple);
            }
        }
        self.judged.fetch_add(kept.len() as u64, Ordering::Relaxed);
        Ok(kept)
    }

    /// Whether the confidence of one tuple is at most that of another by theorem 3: where one end of
    /// the range asks nothing, more rows and fewer others make the greatest share harder to keep,
    /// and the other way round for the least.
    fn is_harder(&self, one: &Tuple, other: &Tuple) -> bool {
        // With one end a tuple has one list of counts.
        let mut pairs = one.marked.iter().zip(&other.marked);
        if self.min == Ratio::ZERO {
            one.rows >= other.rows && pairs.all(|(one, other)| one <= other)
        } else if self.max == Ratio::ONE {
            one.rows <= other.rows && pairs.all(|(one, other)| one >= other)
        } else {
            false
        }
    }

    /// How much was done so far.
    pub fn work(&self) -> Work {
        let (possible, computed) = self.draws.work();
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Work { tuples: of(&self.seen), dominant: of(&self.judged), possible, computed }
    }

    /// Whether a class has the confidence that it needs.
    pub fn holds(&self, tuple: &Tuple) -> bool {
        // An inert watch aborts nothing.
        self.try_holds(tuple, &Watch::default()).unwrap_or(false)
    }

    /// The same, unless the job is aborted.
    pub fn try_holds(&self, tuple: &Tuple, watch: &Watch) -> Result<bool> {
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
        self.draws.try_outside(&before, *last, within, watch)
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
            Ok(Arc::new(self.draws.try_next(&before, *last, cut, watch)?))
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
    pub fn confidence(&self, tuple: &Tuple) -> f64 {
        // An inert watch aborts nothing.
        self.try_confidence(tuple, &Watch::default()).unwrap_or(0.0)
    }

    /// The same, unless the job is aborted. Only what is certain is 1.
    pub fn try_confidence(&self, tuple: &Tuple, watch: &Watch) -> Result<f64> {
        match self.certainty(tuple).certain {
            Some(is_kept) => Ok(f64::from(u8::from(is_kept))),
            None => Ok(figure(self.missed(tuple, watch)?)),
        }
    }

    /// The smallest confidence of all classes, and how many have less than they need. Nothing is
    /// left out but what cannot be the smallest, and what differs from 1 by less than 10^-12: there
    /// the figure is a bound, which is never too large.
    pub fn smallest(&self, tuples: &[Tuple]) -> (f64, u64) {
        // An inert watch aborts nothing.
        let smallest = self.try_smallest(tuples, &Watch::default());
        smallest.unwrap_or((0.0, tuples.len() as u64))
    }

    /// The same, unless the job is aborted.
    pub fn try_smallest(&self, tuples: &[Tuple], watch: &Watch) -> Result<(f64, u64)> {
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

    /// How many tuples that the marginals allow lie in a box: whoever has values that occur may
    /// exist.
    pub fn volume(&self, side: impl Fn(usize) -> Range<u32>) -> u128 {
        let lengths = self.occurring.iter().enumerate().map(|(column, values)| {
            let codes = side(column);
            u128::from(values[codes.end as usize] - values[codes.start as usize])
        });
        lengths.fold(1u128, |volume, length| volume.saturating_mul(length))
    }

    /// Whether boxes that do not overlap cover every tuple that the marginals allow. `codes(class,
    /// column)` are a box's sides.
    pub fn is_covered(&self, classes: usize, codes: impl Fn(usize, usize) -> Range<u32>) -> bool {
        // An inert watch aborts nothing.
        self.try_is_covered(classes, codes, &Watch::default()).unwrap_or(false)
    }

    /// The same, unless the job is aborted.
    pub fn try_is_covered(
        &self,
        classes: usize,
        codes: impl Fn(usize, usize) -> Range<u32>,
        watch: &Watch,
    ) -> Result<bool> {
        let whole = self.volume(|column| 0..self.occurring[column].len() as u32 - 1);
        let mut covered = 0u128;
        for class in 0..classes {
            if class % PIECE == 0 {
                watch.check()?;
            }
            covered = covered.saturating_add(self.volume(|column| codes(class, column)));
        }
        Ok(whole < u128::MAX && covered == whole)
    }

    /// What is asked, as a report states it.
    pub fn statement(&self) -> Statement {
        Statement {
            requirement: "delta-presence",
            kind: Some("confident"),
            column: None,
            required: self.asked.to_f64(),
            also: [Some(("min", self.min.to_f64())), Some(("max", self.max.to_f64()))],
            larger_is_safer: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn what_moments_say_holds_for_the_confidence(
            others in 2u64..3000,
            counts in prop::collection::vec(any::<u16>(), 1..5),
            rows in 1u64..60,
            (min, max) in prop::sample::select(vec![("0", "0.1"), ("0.02", "1"), ("0.02", "0.3"), ("0", "0.6")]),
        ) {
            let [min, max] = [min, max].map(|text| text.parse::<Ratio>().unwrap());
            let listed: Vec<Vec<u64>> = counts.iter().map(|_| vec![others]).collect();
            let asked = ConfidentPresence::new((min, max), Ratio::ONE, &listed, None, false);
            let marked = counts.iter().map(|count| u64::from(*count) % (others + 1)).collect();
            let tuple = asked.tuple(rows, marked, 0);
            let known = asked.known(&tuple);
            let confidence = asked.confidence(&tuple);
            prop_assert!(1.0 - known.missed <= confidence + 1e-12 && confidence <= known.at_most + 1e-12, "{known:?} {confidence}");
            prop_assert_eq!(known.certain == Some(true), confidence == 1.0);
        }

        /// Where less is known, no more is claimed.
        #[test]
        fn less_knowledge_never_raises_a_confidence(
            others in 10u64..500,
            counts in prop::collection::vec((any::<u16>(), 0u64..20, 0u64..20), 1..4),
            rows in 1u64..20,
            (min, max) in prop::sample::select(vec![("0", "0.2"), ("0.05", "1"), ("0.02", "0.3")]),
        ) {
            let [min, max] = [min, max].map(|text| text.parse::<Ratio>().unwrap());
            let listed: Vec<Vec<u64>> = counts.iter().map(|_| vec![others]).collect();
            let asked = ConfidentPresence::new((min, max), Ratio::ONE, &listed, None, false);
            let exact: Vec<u64> = counts.iter().map(|(count, ..)| u64::from(*count) % (others + 1)).collect();
            let between: Vec<(u64, u64)> = exact.iter().zip(&counts)
                .map(|(exact, (_, less, more))| (exact.saturating_sub(*less), exact + more)).collect();
            let known = asked.confidence(&asked.tuple(rows, exact, 0));
            let guessed = asked.confidence(&asked.tuple_between(rows, &between, 0));
            prop_assert!(guessed <= known + 1e-12, "{guessed} {known}");
        }
    }
}
