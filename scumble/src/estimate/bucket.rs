//! The model of one bucket: its size is binomial, and a condition says which sizes and values are
//! acceptable ("fine").
//!
//! [Nergiz, Tamersoy and Saygin 2011]: equation 4 and algorithms 3 to 6. P(I) = sum over x of P(I | X = x) P(X = x), and
//! x = 0 counts, since an empty bucket is fine; the paper's loops begin at 1 and leave it out.
//!
//! Departure: SD_CUT is six standard deviations wide, not four. Four leave out one bucket in some
//! ten thousand, and there may be a million of them. Within it large buckets are summed in strides.

use super::asked::Asked;
use super::binomial::{Binomial, Truncated};
use super::diverse::{Diversity, Guess};
use super::multinomial::{Bucket, Doubt, Shortcuts};
use crate::error::Result;
use crate::watch::Watch;

/// The cut of SD_CUT: how many standard deviations from the mean sizes still count, plus a constant
/// above the mean for small means.
const CUT: (f64, f64) = (6.0, 12.0);

/// Up to this many sizes are evaluated one by one. With SD_CUT, of a larger number about this many
/// are evaluated and represent their neighbours. Sizes are then so large that neither their
/// probabilities nor their diversity changes noticeably from one to the next.
const SIZES: u64 = 384;

/// Terms below this are ignored.
const NEGLIGIBLE: f64 = 1e-17;

/// The probabilities of HYBRID and EXPO are off by at most this share of either tail, and by at
/// most this much.
const ROUGH: (f64, f64) = (0.2, 8e-4);

/// The condition for a bucket to be fine: it is empty, or has enough rows and good values.
#[derive(Clone, Debug, Default)]
pub struct Condition {
    /// The minimum number of rows.
    pub least: u64,
    /// What is asked of the values of some columns.
    pub values: Vec<(usize, Asked)>,
    /// Whether a requirement asks for more than this.
    pub is_partial: bool,
}

impl Condition {
    /// A minimum number of rows, and what is asked of the values of a column.
    pub fn new(least: u64, values: Option<(usize, Asked)>) -> Condition {
        let values = values.into_iter().filter(|(_, asked)| !asked.is_nothing()).collect();
        Condition { least, values, is_partial: false }
    }

    /// Both conditions at once.
    pub fn and(mut self, other: Condition) -> Condition {
        self.least = self.least.max(other.least);
        self.is_partial |= other.is_partial;
        for (column, asked) in other.values {
            match self.values.iter_mut().find(|(known, _)| *known == column) {
                Some((_, known)) => *known = std::mem::take(known).and(asked),
                None => self.values.push((column, asked)),
            }
        }
        self
    }
}

/// A bucket for which the size alone decides.
pub fn of_rows(size: Binomial, least: u64, shortcuts: Shortcuts) -> Bucket {
    let fine = size.zero_or_at_least(least, shortcuts);
    let is_rough = shortcuts.hybrid || shortcuts.expo;
    let tail = fine.chance().min(1.0 - fine.chance());
    let chance = if is_rough { ROUGH.1.min(ROUGH.0 * tail) } else { 0.0 };
    let doubt = Doubt { chance, outliers: 0.0 };
    Bucket { fine, outliers: too_few(size, least, shortcuts), doubt }
}

/// The expected rows of a bucket that is not empty but has fewer than `least`. No normal or
/// exponential approximation here: the paper's expectation is exact.
fn too_few(size: Binomial, least: u64, shortcuts: Shortcuts) -> f64 {
    let (mean, deviation) = (size.mean(), size.variance().sqrt());
    if shortcuts.sd_cut && (least as f64) <= mean - CUT.0 * deviation {
        return 0.0;
    }
    if least > size.n {
        return mean;
    }
    // x P(X = x) is n p times the term of x - 1 in n - 1 trials, so the sum is a binomial tail.
    let fewer = Binomial { n: size.n.saturating_sub(1), p: size.p };
    match least {
        0 | 1 => 0.0,
        _ => mean * fewer.at_most(least - 2, Shortcuts::NONE).chance(),
    }
}

/// A bucket for which values count too: `diverse[i]` has the shares of the values of the i-th
/// column about which something is asked.
pub fn of_values(
    size: Binomial,
    least: u64,
    diverse: &[Diversity],
    shortcuts: Shortcuts,
    watch: &Watch,
) -> Result<Bucket> {
    let mut growing: Vec<_> = diverse.iter().map(Diversity::growing).collect();
    let chance = |x: u64| {
        watch.check()?;
        let mut all = Guess { chance: 1.0, doubt: 0.0 };
        for one in &mut growing {
            let Guess { chance, doubt } = one.chance(x, watch)?;
            all = Guess { chance: all.chance * chance, doubt: all.doubt + doubt };
        }
        let settled = growing.iter().map(|one| one.settled());
        Ok((all, settled.into_iter().try_fold(1.0, |all, one| Some(all * one?))))
    };
    let periods: Vec<u64> = diverse.iter().map(Diversity::period).collect();
    of_chances(size, least, chance, &periods, shortcuts)
}

/// A bucket of x rows that is fine with the probability `chance(x)`. `chance` is called with
/// ascending sizes; its second value is the probability for all larger sizes, if known. Rounding
/// repeats itself after any of the `periods`.
fn of_chances(
    size: Binomial,
    least: u64,
    mut chance: impl FnMut(u64) -> Result<(Guess, Option<f64>)>,
    periods: &[u64],
    shortcuts: Shortcuts,
) -> Result<Bucket> {
    let (mean, deviation) = (size.mean(), size.variance().sqrt());
    let ln_zero = size.ln_zero();
    let zero = Truncated { ln_chance: ln_zero, mean: 0.0, variance: 0.0 };
    if size.p <= 0.0 || size.n == 0 {
        return Ok(Bucket { fine: zero, outliers: 0.0, doubt: Doubt::default() });
    }
    if size.p >= 1.0 {
        let Guess { chance: fine, doubt } =
            if size.n >= least { chance(size.n)?.0 } else { Guess { chance: 0.0, doubt: 0.0 } };
        let fine = Truncated { ln_chance: fine.ln(), mean, variance: 0.0 };
        let doubt = Doubt { chance: doubt, outliers: doubt * mean };
        return Ok(Bucket { outliers: mean * (1.0 - fine.chance()), fine, doubt });
    }
    let (mut from, mut to) = (least.max(1), size.n);
    if shortcuts.sd_cut {
        from = from.max((mean - CUT.0 * deviation).floor().max(0.0) as u64);
        to = to.min((mean + CUT.0 * deviation + CUT.1).ceil() as u64);
    }
    // Weight and moments, about the mean, of the sizes at which the bucket is fine, and the
    // expected rows of those at which it is not.
    let (mut weight, mut first, mut second, mut outliers) =
        (0.0, 0.0, 0.0, too_few(size, least, shortcuts));
    let mut doubt = Doubt::default();
    let stride = if shortcuts.sd_cut {
        stride((to.saturating_sub(from) / SIZES).max(1), periods)
    } else {
        1
    };
    let (mut term, odds) = (stride as f64 * size.ln_probability(from).exp(), size.odds());
    let (mut x, mut limit) = (from, None);
    while x <= to {
        let (guess, known) = chance(x)?;
        limit = limit.or(known);
        // From here on the probability is constant, so the rest of the sum is a tail.
        if let (Some(limit), true) = (limit, x as f64 + 1.0 < mean) {
            let (tail, distance) = (size.at_least(x, Shortcuts::NONE), |at: f64| at - mean);
            let share = limit * tail.chance();
            weight += share;
            first += share * distance(tail.mean);
            second += share * (tail.variance + distance(tail.mean) * distance(tail.mean));
            outliers += (1.0 - limit) * tail.chance() * tail.mean;
            doubt.chance += guess.doubt * tail.chance();
            doubt.outliers += guess.doubt * tail.chance() * tail.mean;
            break;
        }
        // Far below the mean, terms may underflow; recompute them so that they recover.
        if stride > 1 || term < 1e-290 {
            term = stride as f64 * size.ln_probability(x).exp();
        }
        let (fine, distance) = (guess.chance, x as f64 - mean);
        weight += fine * term;
        first += fine * term * distance;
        second += fine * term * distance * distance;
        outliers += (1.0 - fine) * term * x as f64;
        doubt.chance += guess.doubt * term;
        doubt.outliers += guess.doubt * term * x as f64;
        if x as f64 > mean && term * (1.0 + distance * distance) < NEGLIGIBLE {
            break;
        }
        term *= (size.n - x) as f64 / (x + 1) as f64 * odds;
        x += stride;
    }
    if weight <= 0.0 {
        return Ok(Bucket { fine: zero, outliers, doubt });
    }
    let offset = first / weight;
    let variance = (second / weight - offset * offset).max(0.0);
    let fine = Truncated { ln_chance: weight.min(1.0).ln(), mean: mean + offset, variance };
    let fine = fine.or_zero(ln_zero);
    Ok(Bucket { fine: Truncated { ln_chance: fine.ln_chance.min(0.0), ..fine }, outliers, doubt })
}

/// A stride of about this length that meets every remainder by every period: of two values with l =
/// 2, even numbers of rows may be diverse and odd ones never are.
fn stride(length: u64, periods: &[u64]) -> u64 {
    let gcd = |a: u64, b: u64| {
        let (mut a, mut b) = (a, b);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let is_fair = |length: &u64| periods.iter().all(|period| gcd(*length, *period) == 1);
    (length..length + 100).find(is_fair).unwrap_or(length)
}
