//! How much does the detail of each column matter?
//!
//! Weights are exact fractions; only their proportions matter. They are kept as the smallest whole
//! numbers with these proportions, so that equal weights are the same as none.

use crate::ratio::{Ratio, greatest_common_divisor};

/// The weight of each column's LM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    of: Vec<u64>,
    total: u64,
    is_given: bool,
}

impl Weights {
    /// Whole weights are at most this, so that sums and products of them fit in 64 bits.
    const MOST: u64 = u32::MAX as u64;

    /// The weight 1 for each of some columns.
    pub fn equal(columns: usize) -> Weights {
        Weights { of: vec![1; columns], total: columns as u64, is_given: false }
    }

    /// The weights that were given, each above 0; 1 where none was. `None` if one is 0, or if the
    /// numbers are too long for their common denominator.
    pub fn new(given: &[Option<Ratio>]) -> Option<Weights> {
        let weights = || given.iter().map(|weight| weight.unwrap_or(Ratio::ONE));
        let common = weights().try_fold(1u64, |common, weight| {
            let below = weight.denominator();
            common.checked_mul(below / greatest_common_divisor(common, below))
        })?;
        let whole = |weight: Ratio| weight.numerator().checked_mul(common / weight.denominator());
        let whole: Vec<u64> = weights().map(whole).collect::<Option<_>>()?;
        if whole.iter().any(|weight| *weight == 0 || *weight > Weights::MOST) {
            return None;
        }
        let shared = whole.iter().copied().fold(0, greatest_common_divisor);
        let of: Vec<u64> = whole.into_iter().map(|weight| weight / shared).collect();
        let total = of.iter().sum();
        Some(Weights { of, total, is_given: given.iter().any(Option::is_some) })
    }

    /// Whether at least one was given.
    pub fn is_given(&self) -> bool {
        self.is_given
    }

    /// The weight of a column as a whole number.
    pub fn whole(&self, column: usize) -> u64 {
        self.of[column]
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.of.len()
    }

    /// The sum of all whole numbers.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The weight of a column, if the mean of all weights is 1: a suppressed row then costs as much
    /// as without weights, the number of columns.
    pub fn relative(&self, column: usize) -> f64 {
        let columns = self.of.len() as f64;
        self.of[column] as f64 * columns / self.total as f64
    }

    /// All relative weights.
    pub fn relatives(&self) -> Vec<f64> {
        (0..self.of.len()).map(|column| self.relative(column)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(texts: &[&str]) -> Option<Weights> {
        let given = texts.iter().map(|text| text.parse().ok());
        Weights::new(&given.collect::<Vec<_>>())
    }

    #[test]
    fn only_proportions_matter() {
        let known = weights(&["0.5", "", "1/3"]).unwrap();
        assert_eq!((known.of.as_slice(), known.total()), ([3, 6, 2].as_slice(), 11));
        assert_eq!(known, weights(&["3", "6", "2"]).unwrap());
        let sum: f64 = known.relatives().iter().sum();
        assert!((sum - 3.0).abs() < 1e-12 && known.relative(1) == 2.0 * known.relative(0));
    }

    #[test]
    fn equal_weights_are_those_of_nothing() {
        let known = weights(&["0.7", "7/10"]).unwrap();
        assert!(known.is_given() && known.of == Weights::equal(2).of);
        assert_eq!(known.relatives(), [1.0, 1.0]);
        assert!(!weights(&["", ""]).unwrap().is_given());
        assert_eq!(weights(&[]).unwrap().total(), 0);
    }

    #[test]
    fn nothing_and_numbers_that_are_too_long_are_refused() {
        assert_eq!(weights(&["0", "1"]), None);
        assert_eq!(weights(&["1e-9", "1e9"]), None);
        assert_eq!(weights(&["1/999999937", "1/999999929", "1/999999893"]), None);
        assert!(weights(&["0.001", "4e6"]).is_some());
    }
}
