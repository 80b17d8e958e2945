//! How likely is a bucket of x rows to be diverse, if each row draws its sensitive value at random?
//!
//! [Nergiz, Tamersoy and Saygin 2011], section 5.1: value j occurs U_j times, the U_j are
//! multinomial with x rows and the shares l'_j, and none may pass its cap. It is the question of
//! [`super::multinomial`] once more, with U_j <= cap_j x in place of X_i >= k, and the sum compared
//! with x (equation 6 of the paper prints N).
//!
//! | here | paper |
//! |---|---|
//! | shares | sensitivity likelihoods l'_j |
//! | caps | 1/l for each value; l+-diversity has others |
//! | [`Diversity::chance`] | P(I \| X = x), the conditional l-diversity probability |
//!
//! MAX is the paper's section 6.4 with shares in proportion to their caps. LIMIT is its section
//! 6.3, and needs care: the chance goes to 1 or to 0, but in steps, since x/l is rounded down: of
//! two values with l = 2, three rows can never be diverse. So it is taken to have settled when it
//! was beyond the threshold for as many sizes as a step is long, and only on the side where theorem
//! 6.1 says that it ends.

use super::binomial::Binomial;
use super::multinomial::{Shortcuts, near};
use crate::ratio::Ratio;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// How far apart, in standard deviations of each, two frequencies must be for one to count as
/// certainly larger.
const APART: f64 = 4.0;

/// A probability this close to 0 or 1 is assumed to stay there.
const SETTLED: f64 = 0.01;

/// Believed shares of values, and the cap of each.
#[derive(Clone, Debug)]
pub struct Diversity {
    /// Share and cap of the values that occur, the value closest to its cap first.
    values: Vec<(f64, Ratio)>,
    /// The number of sizes in one step of the smallest cap.
    period: usize,
    /// Whether the probability goes to 1 as buckets grow.
    rises: bool,
    shortcuts: Shortcuts,
    /// A cache of probabilities, if many buckets have these shares.
    known: Option<RefCell<FxHashMap<u64, f64>>>,
}

impl Diversity {
    /// Values with these shares, which need not add up to one, and caps.
    pub fn new(shares: &[f64], caps: &[Ratio], shortcuts: Shortcuts) -> Diversity {
        let whole: f64 = shares.iter().sum();
        let occurring = shares.iter().zip(caps).filter(|(share, _)| **share > 0.0);
        let mut values: Vec<(f64, Ratio)> =
            occurring.map(|(share, cap)| ((share / whole).min(1.0), *cap)).collect();
        let nearness = |value: &(f64, Ratio)| value.0 / value.1.to_f64();
        values.sort_by(|a, b| nearness(b).total_cmp(&nearness(a)));
        let least = values.iter().map(|(_, cap)| *cap).min().unwrap_or(Ratio::ONE);
        let period = least.denominator().div_ceil(least.numerator().max(1)).min(10_000) as usize;
        // If a share equals its cap, the probability goes to one half. It counts as not rising and
        // never settles on that side.
        let rises = values.first().is_none_or(|first| nearness(first) < 1.0);
        Diversity { values, period, rises, shortcuts, known: None }
    }

    /// The same with a cache, for use with many buckets.
    pub fn remembering(self) -> Diversity {
        Diversity { known: Some(RefCell::default()), ..self }
    }

    /// The probability that `rows` rows are diverse.
    pub fn chance(&self, rows: u64) -> f64 {
        let Some(known) = &self.known else { return self.computed(rows) };
        if let Some(chance) = known.borrow().get(&rows) {
            return *chance;
        }
        let chance = self.computed(rows);
        known.borrow_mut().insert(rows, chance);
        chance
    }

    fn computed(&self, rows: u64) -> f64 {
        let cap = |value: &(f64, Ratio)| value.1.floor_of(rows);
        if rows == 0 || self.values.iter().all(|value| cap(value) >= rows) {
            return 1.0;
        }
        // Even with every value at its cap there is not enough room for the rows.
        if self.values.iter().map(|value| cap(value).min(rows)).fold(0, u64::saturating_add) < rows
        {
            return 0.0;
        }
        let count = |share: f64| Binomial { n: rows, p: share };
        if self.shortcuts.max && self.has_one_largest(rows) {
            let (share, _) = self.values[0];
            return count(share).at_most(cap(&self.values[0]), self.shortcuts).chance();
        }
        let (mut ln_product, mut mean, mut variance, mut whole_variance) = (0.0, 0.0, 0.0, 0.0);
        for value in &self.values {
            let size = count(value.0);
            let part = size.at_most(cap(value), self.shortcuts);
            ln_product += part.ln_chance;
            mean += part.mean;
            variance += part.variance;
            whole_variance += size.variance();
        }
        let rows = rows as f64;
        let chance = (ln_product + near(rows, mean, variance).ln()
            - near(rows, rows, whole_variance).ln())
        .exp();
        if chance.is_nan() { 0.0 } else { chance.min(1.0) }
    }

    /// Theorems 6.2 and 6.3: the first value exceeds all others, in proportion to their caps, but
    /// for a negligible chance.
    fn has_one_largest(&self, rows: u64) -> bool {
        let end = |(share, cap): &(f64, Ratio), side: f64| {
            let count = Binomial { n: rows, p: *share };
            (count.mean() + side * APART * count.variance().sqrt()) / cap.to_f64()
        };
        let Some((first, others)) = self.values.split_first() else { return false };
        let least = end(first, -1.0);
        // All others are checked, not only the second: their own caps may extend their ranges.
        others.iter().all(|other| end(other, 1.0) <= least)
    }

    /// The probabilities for growing buckets, one size after the other.
    pub fn growing(&self) -> Growing<'_> {
        Growing { diversity: self, beyond: 0, settled: None }
    }
}

/// Computes probabilities for ascending sizes, and stops computing when they have settled.
#[derive(Debug)]
pub struct Growing<'a> {
    diversity: &'a Diversity,
    beyond: usize,
    settled: Option<f64>,
}

impl Growing<'_> {
    /// The probability at a size, which must be one more than in the previous call.
    pub fn chance(&mut self, rows: u64) -> f64 {
        if let Some(settled) = self.settled {
            return settled;
        }
        let chance = self.diversity.chance(rows);
        let end = if self.diversity.rises { 1.0 } else { 0.0 };
        self.beyond = if (chance - end).abs() <= SETTLED { self.beyond + 1 } else { 0 };
        // The paper goes on with the threshold itself; the limit is nearer to what follows.
        if self.diversity.shortcuts.limit && self.beyond > self.diversity.period {
            self.settled = Some(end);
        }
        chance
    }

    /// The probability at all following sizes, if known.
    pub fn settled(&self) -> Option<f64> {
        self.settled
    }
}
