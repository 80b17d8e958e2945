//! No value more often than its cap.
//!
//! E_j is the event that value j exceeds its cap. Counts of a multinomial are negatively associated
//! (Joag-Dev and Proschan 1983), so
//!
//! 1 - sum P(E_j) <= P(no E_j) <= prod (1 - P(E_j)),
//!
//! and P(E_j) is a binomial tail. Mostly the two sides agree to many digits, because large buckets
//! are almost certainly fine. If no two values can exceed their caps at once the lower one is exact.
//! What is left is convolved for small buckets: given their sum, independent Poisson numbers are
//! multinomial. Only for large ones is the sum taken for normal (equation 6 of [Nergiz, Tamersoy and
//! Saygin 2011], which prints N for x); for small ones that is off by up to 0.3.

use super::super::asked::Cap;
use super::super::binomial::Binomial;
use super::super::multinomial::{Shortcuts, near};
use super::{EXACTLY, Guess};
use crate::error::Result;
use crate::watch::Watch;

/// Bounds that are this close decide.
const TIGHT: f64 = 1e-4;

/// Values beyond their caps with smaller probabilities are left to the bounds.
const NEVER: f64 = 1e-13;

/// From this number of rows on, a tail may be taken for that of a normal distribution.
const MANY: u64 = 2000;

/// By how much equation 6 may be off for buckets that are too large to be convolved.
const NORMAL: f64 = 0.02;

/// How far apart, in standard deviations of each, two frequencies must be for one to be the larger
/// for certain.
const APART: f64 = 4.0;

/// Values between two polls for an abort: each may take some microseconds.
const POLLED: usize = 1 << 8;

/// Values with their shares and caps.
#[derive(Clone, Debug)]
pub(super) struct Capped {
    /// The values that occur, the one nearest to its cap first.
    values: Vec<(f64, Cap)>,
    shortcuts: Shortcuts,
}

impl Capped {
    /// Of values with these shares, which add up to one.
    pub(super) fn new(mut values: Vec<(f64, Cap)>, shortcuts: Shortcuts) -> Capped {
        values.sort_by(|a, b| nearness(b).total_cmp(&nearness(a)));
        Capped { values, shortcuts }
    }

    /// Sizes in one step of the smallest cap.
    pub(super) fn period(&self) -> u64 {
        self.values.iter().map(|(_, cap)| cap.period()).max().unwrap_or(1)
    }

    /// Whether chances go to 1 as buckets grow. A share that is its cap goes to one half; it is
    /// taken for one that does not rise, and never settles on that side.
    pub(super) fn rises(&self) -> bool {
        self.values.first().is_none_or(|first| nearness(first) < 1.0)
    }

    /// The chance that no value of `rows` rows exceeds its cap; buckets of up to `exact` rows are
    /// convolved.
    pub(super) fn chance(&self, rows: u64, exact: u64, watch: &Watch) -> Result<Guess> {
        let mut room = 0u64;
        for (_, cap) in &self.values {
            let Some(most) = cap.of(rows) else { return Ok(Guess::NEVER) };
            room = room.saturating_add(most.min(rows));
        }
        if room < rows {
            return Ok(Guess::NEVER);
        }
        if self.shortcuts.max && rows > exact && self.has_one_largest(rows) {
            let tail = exceeds(self.values[0], rows, self.shortcuts);
            return Ok(Guess { chance: 1.0 - tail, doubt: EXACTLY });
        }
        let (mut sum, mut ln_none, mut open) = (0.0, 0.0, Vec::new());
        for piece in self.values.chunks(POLLED) {
            watch.check()?;
            for value in piece {
                let tail = exceeds(*value, rows, self.shortcuts);
                sum += tail;
                ln_none += (-tail.min(1.0)).ln_1p();
                if tail > NEVER {
                    open.push((value.0, value.1.of(rows).unwrap_or(0)));
                }
            }
        }
        let (lower, upper) = ((1.0 - sum).max(0.0), f64::exp(ln_none));
        if is_disjoint(&open, rows) {
            return Ok(Guess { chance: lower, doubt: EXACTLY });
        }
        if upper - lower <= TIGHT {
            return Ok(Guess::between(lower, upper));
        }
        if rows <= exact {
            let chance = convolved(&open, rows).clamp(lower, upper.max(lower));
            return Ok(Guess { chance, doubt: EXACTLY });
        }
        let chance = self.normal(rows, watch)?.clamp(lower, upper.max(lower));
        let farthest = (chance - lower).max(upper - chance);
        Ok(Guess { chance, doubt: NORMAL.min(farthest) + EXACTLY })
    }

    /// Equation 6.
    fn normal(&self, rows: u64, watch: &Watch) -> Result<f64> {
        let (mut ln_product, mut mean, mut variance, mut whole_variance) = (0.0, 0.0, 0.0, 0.0);
        for piece in self.values.chunks(POLLED) {
            watch.check()?;
            for (share, cap) in piece {
                let size = Binomial { n: rows, p: *share };
                let part = size.at_most(cap.of(rows).unwrap_or(0), self.shortcuts);
                ln_product += part.ln_chance;
                mean += part.mean;
                variance += part.variance;
                whole_variance += size.variance();
            }
        }
        let rows = rows as f64;
        let (fine, whole) = (near(rows, mean, variance), near(rows, rows, whole_variance));
        let chance = (ln_product + fine.ln() - whole.ln()).exp();
        Ok(if chance.is_nan() { 0.0 } else { chance.min(1.0) })
    }

    /// Theorems 6.2 and 6.3: the first value exceeds all others, in proportion to their caps, but
    /// for a negligible chance.
    fn has_one_largest(&self, rows: u64) -> bool {
        let end = |(share, cap): &(f64, Cap), side: f64| {
            let count = Binomial { n: rows, p: *share };
            (count.mean() + side * APART * count.variance().sqrt()) / cap.to_f64()
        };
        let Some((first, others)) = self.values.split_first() else { return false };
        let least = end(first, -1.0);
        // Those behind the second have smaller shares, but caps of their own may make their ends
        // longer.
        others.iter().all(|other| end(other, 1.0) <= least)
    }
}

fn nearness((share, cap): &(f64, Cap)) -> f64 {
    share / cap.to_f64()
}

/// The probability that a value exceeds its cap.
fn exceeds((share, cap): (f64, Cap), rows: u64, shortcuts: Shortcuts) -> f64 {
    let most = cap.of(rows).unwrap_or(0);
    if most >= rows {
        return 0.0;
    }
    let size = Binomial { n: rows, p: share };
    // Bernstein's inequality: at this distance a tail is below exp(-36).
    let distance = most as f64 - size.mean();
    if distance > 0.0 && distance * distance > 72.0 * (size.variance() + distance / 3.0) {
        return 0.0;
    }
    let hybrid = shortcuts.hybrid && rows >= MANY;
    size.at_least(most + 1, Shortcuts { hybrid, ..Shortcuts::NONE }).chance()
}

/// Whether no two of these values can exceed their caps at once.
fn is_disjoint(open: &[(f64, u64)], rows: u64) -> bool {
    let mut caps: Vec<u64> = open.iter().map(|(_, cap)| *cap).collect();
    caps.sort_unstable();
    match caps[..] {
        [first, second, ..] => first.saturating_add(second).saturating_add(2) > rows,
        _ => true,
    }
}

/// The chance that none of the values with these shares and caps is exceeded; all others together
/// may take any number of rows.
fn convolved(open: &[(f64, u64)], rows: u64) -> f64 {
    let (whole, size) = (rows as f64, rows as usize + 1);
    let rest = (1.0 - open.iter().map(|(share, _)| share).sum::<f64>()).max(0.0);
    let mut ways = poisson(rest * whole, size);
    for (share, cap) in open {
        let weights = poisson(share * whole, (*cap as usize + 1).min(size));
        let mut next = vec![0.0; size];
        for (more, weight) in weights.iter().enumerate() {
            let sums = next[more..].iter_mut().zip(&ways);
            sums.for_each(|(sum, way)| *sum += weight * way);
        }
        ways = next;
    }
    ways[size - 1] / poisson(whole, size)[size - 1]
}

/// The first probabilities of a Poisson distribution.
fn poisson(mean: f64, len: usize) -> Vec<f64> {
    let mut term = (-mean).exp();
    let next = |x: usize| {
        let now = term;
        term *= mean / (x + 1) as f64;
        now
    };
    (0..len).map(next).collect()
}
