//! How many of the others share all values with a person, when only the counts of single values are
//! known (Nergiz and Clifton 2008, sections 4.2, 5.2 and 5.4).
//!
//! Of `U` others, M_i have the value of attribute i, and every way to put attributes together is as
//! likely. How many have the first value is known; of `y` who have the first i - 1 values, x have
//! the next one too with the probability of drawing x marked of M_i among U in y draws. So the
//! likelihoods of all x follow from those of all y by a product with a narrow band, attribute by
//! attribute.
//!
//! | here | paper |
//! |---|---|
//! | [`Likelihoods`] | l^n_x for all x |
//! | `others` | U, N |
//! | `marked` | M, f_n(t*[n]) |
//! | y | n of hyp(x; n, M, N) |
//! | [`Cut::sigmas`] | SD: hyp' is nothing so many standard deviations from the mean |
//! | [`Cut::bucket`] | DC: hyp'' is the lesser end of a bucket of so many numbers |
//!
//! Misprints: the sum over y begins at 0, not at 1; the mean of the approximation is y M / U; hyp'
//! is the density within the cut, and everywhere where the case is not standard, else 0 (the paper
//! has it the other way round); hyp'' inside a bucket is that of the bucket's beginning.
//!
//! The density at the mode comes from a table of logarithms of factorials; its neighbours follow by
//! their ratios, which keep the precision of a float. Without a cut, the numbers of a row are
//! divided by their sum, so the precision of the logarithms does not matter. A cut or a bucket only
//! makes densities smaller, and so does dropping those below 10^-22 of the largest: the sum of all
//! [`Likelihoods`] says how much is missing at most.

use crate::error::Result;
use crate::watch::Watch;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The logarithms of factorials: a table for small numbers, Stirling's series for larger ones. The
/// table is made when the first density is asked for; often none is.
#[derive(Debug)]
struct LogFactorials {
    most: u64,
    table: OnceLock<Vec<f64>>,
}

impl LogFactorials {
    /// Beyond this number the series is as precise as the table.
    const MOST: u64 = 1 << 20;

    fn new(most: u64) -> LogFactorials {
        LogFactorials { most: most.min(Self::MOST), table: OnceLock::new() }
    }

    fn table(&self) -> &[f64] {
        self.table.get_or_init(|| {
            let (mut sum, mut rest) = (0.0f64, 0.0f64);
            let entries = (0..=self.most).map(|number| {
                if number > 1 {
                    // Kahan summation: the rounding error is carried along.
                    let term = (number as f64).ln() - rest;
                    let next = sum + term;
                    rest = (next - sum) - term;
                    sum = next;
                }
                sum
            });
            entries.collect()
        })
    }

    fn of(&self, number: u64) -> f64 {
        if number <= self.most {
            return self.table()[number as usize];
        }
        let n = number as f64;
        n * n.ln() - n + 0.5 * (std::f64::consts::TAU * n).ln() + 1.0 / (12.0 * n)
    }

    /// The logarithm of the binomial coefficient.
    fn choose(&self, many: u64, some: u64) -> f64 {
        self.of(many) - self.of(some) - self.of(many - some)
    }
}

/// What is left out of a row of densities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Numbers further from the mean than this many standard deviations, if the case is standard.
    pub sigmas: Option<f64>,
    /// The size of buckets; 1 for no buckets.
    pub bucket: u64,
    /// Densities below this share of the largest.
    pub negligible: f64,
}

impl Cut {
    /// Leaves out only what does not change a sum of floats.
    pub const EXACT: Cut = Cut { sigmas: None, bucket: 1, negligible: 1e-22 };
    /// Leaves out nothing that is above zero as a float.
    pub const NOTHING: Cut = Cut { sigmas: None, bucket: 1, negligible: 0.0 };
}

/// The likelihood of each number; numbers outside the range are impossible or were left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Likelihoods {
    from: u64,
    values: Vec<f64>,
}

impl Likelihoods {
    /// A number that is known with certainty.
    pub fn certain(number: u64) -> Likelihoods {
        Likelihoods { from: number, values: vec![1.0] }
    }

    /// The likelihood of a number.
    pub fn of(&self, number: u64) -> f64 {
        let at = number.checked_sub(self.from).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.values.get(at)).copied().unwrap_or(0.0)
    }

    /// The likelihood of a number from `least` to `most`.
    pub fn within(&self, least: u64, most: u64) -> f64 {
        if most < self.from || least > most {
            return 0.0;
        }
        let end = self.values.len() as u64;
        let first = least.saturating_sub(self.from).min(end) as usize;
        let last = (most - self.from).saturating_add(1).min(end) as usize;
        self.values[first..last.max(first)].iter().sum()
    }

    /// The likelihood of fewer than `least`, and that of more than `most`.
    pub fn outside(&self, least: u64, most: u64) -> (f64, f64) {
        let below = least.checked_sub(1).map_or(0.0, |last| self.within(0, last));
        let above = most.checked_add(1).map_or(0.0, |first| self.within(first, u64::MAX));
        (below, above)
    }

    /// The sum of all likelihoods: 1 minus what was left out.
    pub fn mass(&self) -> f64 {
        self.values.iter().sum()
    }

    /// The number of likelihoods kept.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no likelihood is kept.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Draws from a population of others.
#[derive(Debug)]
pub struct Hypergeometric {
    others: u64,
    factorials: LogFactorials,
    /// A factor below 1 for densities that are not divided by their sum: a density is made of nine
    /// logarithms, each correct to its last digit.
    toward_no: f64,
    possible: AtomicU64,
    computed: AtomicU64,
}

/// A row of densities of the numbers from `from` on.
#[derive(Default)]
struct Densities {
    from: u64,
    values: Vec<f64>,
    below: Vec<f64>,
}

impl Hypergeometric {
    /// Draws from `others` others.
    pub fn new(others: u64) -> Hypergeometric {
        let factorials = LogFactorials::new(others);
        // ln n! is at most n ln n.
        let (whole, epsilon) = (others as f64, f64::EPSILON);
        let toward_no = 1.0 - 1e-12 - 16.0 * epsilon * whole * whole.max(1.0).ln();
        let (possible, computed) = (AtomicU64::new(0), AtomicU64::new(0));
        Hypergeometric { others, factorials, toward_no, possible, computed }
    }

    /// The number of others.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// The probability of `x` marked ones in `draws` draws from all others, of whom `marked` are
    /// marked.
    pub fn density(&self, x: u64, draws: u64, marked: u64) -> f64 {
        let (least, most) = self.support(draws, marked);
        if x < least || x > most {
            return 0.0;
        }
        let ln = &self.factorials;
        (ln.choose(draws, x) + ln.choose(self.others - draws, marked - x)
            - ln.choose(self.others, marked))
        .exp()
    }

    /// The smallest and the largest possible number of marked ones.
    fn support(&self, draws: u64, marked: u64) -> (u64, u64) {
        ((draws + marked).saturating_sub(self.others), draws.min(marked))
    }

    /// The likelihoods after one more attribute, whose value `marked` of the others have.
    pub fn next(
        &self,
        before: &Likelihoods,
        marked: u64,
        cut: Cut,
        watch: &Watch,
    ) -> Result<Likelihoods> {
        if marked == self.others || before.is_empty() {
            return Ok(before.clone());
        }
        let last = before.from + before.values.len() as u64 - 1;
        let (from, to) = self.reach(before.from, last, marked, cut);
        let mut values = vec![0.0; (to - from + 1) as usize];
        let largest = before.values.iter().copied().fold(0.0, f64::max);
        let mut row = Densities::default();
        let (mut possible, mut computed) = (0, 0);
        for (draws, weight) in (before.from..).zip(&before.values) {
            if *weight <= largest * cut.negligible {
                continue;
            }
            watch.check()?;
            self.row(draws, marked, cut, (from, to), &mut row);
            let support = self.support(draws, marked);
            possible += support.1 - support.0 + 1;
            computed += row.values.len() as u64;
            let at = (row.from - from) as usize;
            let into = &mut values[at..at + row.values.len()];
            into.iter_mut().zip(&row.values).for_each(|(into, density)| *into += weight * density);
        }
        self.possible.fetch_add(possible, Ordering::Relaxed);
        self.computed.fetch_add(computed, Ordering::Relaxed);
        Ok(trimmed(from, values, cut.negligible))
    }

    /// The probability of fewer than `least` and that of more than `most` after the last attribute,
    /// whose value `marked` of the others have.
    ///
    /// One more draw makes it less likely that at most a are marked, by the probability that a are
    /// and the next one is too: h(a; y) (M - a) / (U - y). So these probabilities follow from one
    /// of them for all y, and no likelihood of a single number is needed. Only positive numbers are
    /// added, so small probabilities are as precise as large ones.
    pub fn outside(
        &self,
        before: &Likelihoods,
        marked: u64,
        (least, most): (u64, u64),
        watch: &Watch,
    ) -> Result<(f64, f64)> {
        if marked == self.others || before.is_empty() {
            return Ok(before.outside(least, most));
        }
        let (first, last) = (before.from, before.from + before.values.len() as u64 - 1);
        let mut row = Densities::default();
        let mut tail = |draws: u64, range: (u64, u64)| {
            self.row(draws, marked, Cut::EXACT, self.support(draws, marked), &mut row);
            Likelihoods { from: row.from, values: row.values.clone() }.within(range.0, range.1)
        };
        let mut below = 0.0;
        if let Some(a) = least.checked_sub(1) {
            // From the most draws down, at which the probability is smallest.
            let mut at_most = tail(last, (0, a));
            let steps = self.steps(a, marked, (first, last), watch)?;
            let steps = [&0.0].into_iter().chain(steps.iter().rev());
            for (weight, step) in before.values.iter().rev().zip(steps) {
                at_most = (at_most + step).min(1.0);
                below += weight * at_most;
            }
        }
        let mut above = 0.0;
        if most < last.min(marked) {
            let mut more = tail(first, (most + 1, u64::MAX));
            let steps = self.steps(most, marked, (first, last), watch)?;
            for (weight, step) in before.values.iter().zip([&0.0].into_iter().chain(&steps)) {
                more = (more + step).min(1.0);
                above += weight * more;
            }
        }
        Ok((below, above))
    }

    /// h(a; y) (M - a) / (U - y) for all y from the first up to the last but one.
    fn steps(
        &self,
        a: u64,
        marked: u64,
        (first, last): (u64, u64),
        watch: &Watch,
    ) -> Result<Vec<f64>> {
        watch.check()?;
        let mut steps = vec![0.0; (last - first) as usize];
        // Where a marked ones are possible.
        let (from, to) = (first.max(a), last.min((self.others - marked).saturating_add(a)));
        if a >= marked || from > to {
            return Ok(steps);
        }
        let likeliest = u128::from(a) * (u128::from(self.others) + 1) / u128::from(marked);
        let likeliest = u64::try_from(likeliest).unwrap_or(u64::MAX).clamp(from, to);
        let mut row = Densities::default();
        self.row(likeliest, marked, Cut::EXACT, self.support(likeliest, marked), &mut row);
        let peak = Likelihoods { from: row.from, values: row.values }.of(a);
        self.possible.fetch_add(to - from + 1, Ordering::Relaxed);
        self.computed.fetch_add(to - from + 1, Ordering::Relaxed);
        let [known, m, n] = [a, marked, self.others].map(|number| number as f64);
        let mut put = |y: u64, density: f64| {
            if y < last {
                steps[(y - first) as usize] = density * (m - known) / (n - y as f64);
            }
        };
        let ratio = |y: u64| {
            let y = y as f64;
            (y + 1.0) / (y + 1.0 - known) * ((n - m - y + known) / (n - y))
        };
        put(likeliest, peak);
        let mut density = peak;
        for y in likeliest..to {
            density *= ratio(y);
            if density == 0.0 {
                break;
            }
            put(y + 1, density);
        }
        density = peak;
        for y in (from..likeliest).rev() {
            density /= ratio(y);
            if density == 0.0 {
                break;
            }
            put(y, density);
        }
        Ok(steps)
    }

    /// The number of densities that were possible in the rows so far, and the number that were
    /// computed.
    pub fn work(&self) -> (u64, u64) {
        (self.possible.load(Ordering::Relaxed), self.computed.load(Ordering::Relaxed))
    }

    /// The range of numbers that rows with `first` to `last` draws can reach. Outside it a density
    /// is below 10^-22, because drawing without replacement deviates no further than drawing with
    /// replacement (Hoeffding: exp(-2 t² / draws)).
    fn reach(&self, first: u64, last: u64, marked: u64, cut: Cut) -> (u64, u64) {
        let (least, most) = (self.support(first, marked).0, self.support(last, marked).1);
        if cut.negligible == 0.0 {
            return (least, most);
        }
        let share = marked as f64 / self.others as f64;
        let stray = (25.4 * last as f64).sqrt() + 1.0;
        let low = (first as f64 * share - stray).max(0.0) as u64;
        let high = (last as f64 * share + stray).ceil() as u64;
        (least.max(low), most.min(high).max(least.max(low)))
    }

    /// The densities for one number of draws, within the limits.
    fn row(&self, draws: u64, marked: u64, cut: Cut, limits: (u64, u64), row: &mut Densities) {
        let (least, most) = self.support(draws, marked);
        let (mut least, mut most) = (least.max(limits.0), most.min(limits.1));
        let [y, m, n] = [draws, marked, self.others].map(|number| number as f64);
        let share = m / n;
        let (mean, sigma) = (y * share, (y * share * (1.0 - share) * (1.0 - y / n)).sqrt());
        let is_standard = share < 0.99 && y / n < 0.99;
        let sigmas = cut.sigmas.filter(|_| is_standard);
        if let Some(sigmas) = sigmas {
            least = least.max((mean - sigmas * sigma).ceil().max(0.0) as u64);
            most = most.min((mean + sigmas * sigma).floor() as u64);
        }
        row.from = least.min(limits.1);
        row.values.clear();
        if least > most {
            return;
        }
        // The paper discretizes where at least four buckets lie within two standard deviations.
        if cut.bucket > 1 && is_standard && 4.0 * sigma >= 4.0 * cut.bucket as f64 {
            return self.buckets(draws, marked, cut.bucket, (least, most), row);
        }
        let mode = (((draws + 1) as f64 * (marked + 1) as f64 / (self.others + 2) as f64) as u64)
            .clamp(least, most);
        let peak =
            self.density(mode, draws, marked) * if sigmas.is_some() { self.toward_no } else { 1.0 };
        let negligible = peak * cut.negligible;
        // In both directions from the mode, by the ratio of neighbours. Ratios do not depend on
        // each other, so they are computed first.
        let shift = n - y - m;
        let up = |x: u64| {
            let x = x as f64;
            (y - x) * (m - x) / ((x + 1.0) * (shift + x + 1.0))
        };
        row.below.clear();
        let within = |from: u64, to: u64| to.min(from + reach(sigma, cut.negligible));
        let down = mode - least;
        let down = within(0, down);
        row.below.extend((mode - down..mode).rev().map(|x| 1.0 / up(x)));
        let kept = multiplied(&mut row.below, peak, negligible);
        row.below.truncate(kept);
        row.from = mode - row.below.len() as u64;
        row.values.extend(row.below.iter().rev());
        row.values.push(peak);
        let start = row.values.len();
        row.values.extend((mode..within(mode, most)).map(up));
        let kept = multiplied(&mut row.values[start..], peak, negligible);
        row.values.truncate(start + kept);
        if sigmas.is_none() {
            let sum: f64 = row.values.iter().sum();
            row.values.iter_mut().for_each(|density| *density /= sum);
        }
    }

    /// The same in buckets. Inside a bucket the density is at least that of the lower end, because
    /// it rises up to the mode and falls after it. Only whole buckets count.
    fn buckets(
        &self,
        draws: u64,
        marked: u64,
        bucket: u64,
        (least, most): (u64, u64),
        row: &mut Densities,
    ) {
        let first = least.next_multiple_of(bucket);
        row.from = first.min(most);
        let mut start = first;
        let mut density = if start <= most { self.density(start, draws, marked) } else { 0.0 };
        while start + bucket <= most {
            let end = self.density(start + bucket, draws, marked);
            row.values
                .extend(std::iter::repeat_n(density.min(end) * self.toward_no, bucket as usize));
            (start, density) = (start + bucket, end);
        }
    }
}

/// An upper bound on the distance from the mode at which densities can be above the share
/// `negligible` of the largest. A hypergeometric variable is a sum of independent ones, so
/// Bernstein's inequality holds with its variance: exp(-t² / (2 sigma² + 2 t / 3)).
fn reach(sigma: f64, negligible: f64) -> u64 {
    if negligible > 0.0 {
        (3.0 * sigma * (-2.0 * negligible.ln()).sqrt()) as u64 + 64
    } else {
        u64::MAX / 4
    }
}

/// Turns ratios of neighbours into densities, starting next to `first`; returns how many are above
/// `negligible`.
fn multiplied(ratios: &mut [f64], first: f64, negligible: f64) -> usize {
    let mut density = first;
    for (at, ratio) in ratios.iter_mut().enumerate() {
        density *= *ratio;
        if density <= negligible {
            return at;
        }
        *ratio = density;
    }
    ratios.len()
}

/// Likelihoods without the negligible ones at both ends.
fn trimmed(from: u64, mut values: Vec<f64>, negligible: f64) -> Likelihoods {
    let least = values.iter().copied().fold(0.0, f64::max) * negligible;
    let end = values.iter().rposition(|value| *value > least).map_or(0, |at| at + 1);
    values.truncate(end);
    let start = values.iter().position(|value| *value > least).unwrap_or(0);
    values.drain(..start);
    Likelihoods { from: from + start as u64, values }
}

/// The smallest and the largest number of people who can share all values, if `marked[i]` of
/// `others` have the i-th value. Every number between them is possible.
pub fn possible(others: u64, marked: &[u64]) -> (u64, u64) {
    let without = |marked: &u64| others.saturating_sub(*marked);
    let least = marked.iter().map(without).fold(others, u64::saturating_sub);
    (least, marked.iter().copied().fold(others, u64::min))
}

/// Mean and variance of the number of people who share all values, if `marked[i]` of `others` have
/// the i-th value.
pub fn moments(others: u64, marked: &[u64]) -> (f64, f64) {
    let whole = others as f64;
    let Some((first, rest)) = marked.split_first() else { return (whole, 0.0) };
    let (mut mean, mut variance) = (*first as f64, 0.0);
    for marked in rest {
        let share = *marked as f64 / whole;
        // For y draws the variance is y (U - y) share (1 - share) / (U - 1). The total is its mean
        // plus the variance of the mean.
        let spread = (whole * mean - (variance + mean * mean)) / (whole - 1.0).max(1.0);
        variance = (spread * share * (1.0 - share)).max(0.0) + share * share * variance;
        mean *= share;
    }
    (mean, variance)
}

/// Whether the probability of a number from `least` to `most` is at least `above` / `below`,
/// decided in integers; `None` if they do not fit in 128 bits.
///
/// Counting the ways to mark M of U instead of the ways to draw y gives every step a single
/// denominator: hyp(x; y, M, U) = C(y, x) C(U - y, M - x) / C(U, M).
pub fn reaches(
    others: u64,
    marked: &[u64],
    within: (u64, u64),
    (above, below): (u64, u64),
) -> Option<bool> {
    if others > 64 {
        return None;
    }
    let (first, rest) = marked.split_first()?;
    let mut ways = vec![0u128; others as usize + 1];
    ways[*first as usize] = 1;
    let mut all = 1u128;
    for marked in rest {
        let mut next = vec![0u128; ways.len()];
        for (y, ways) in (0..).zip(&ways).filter(|(_, ways)| **ways > 0) {
            for x in (y + marked).saturating_sub(others)..=y.min(*marked) {
                let here = choose(y, x)?
                    .checked_mul(choose(others - y, marked - x)?)?
                    .checked_mul(*ways)?;
                next[x as usize] = next[x as usize].checked_add(here)?;
            }
        }
        all = all.checked_mul(choose(others, *marked)?)?;
        ways = next;
    }
    let (least, most) = (within.0.min(others + 1) as usize, within.1.min(others) as usize);
    let good = if least > most { 0 } else { ways[least..=most].iter().sum::<u128>() };
    Some(good.checked_mul(below.into())? >= all.checked_mul(above.into())?)
}

fn choose(many: u64, some: u64) -> Option<u128> {
    (0..some.min(many - some)).try_fold(1u128, |ways, at| {
        Some(ways.checked_mul((many - at).into())? / u128::from(at + 1))
    })
}
