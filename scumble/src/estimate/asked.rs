//! What is asked of the values in a bucket?
//!
//! Caps and a number of distinct values are data, and have exact formulas. Everything else is a
//! [`Judge`], which is asked about one bucket after the other.

use crate::ratio::Ratio;
use std::fmt::Debug;
use std::sync::Arc;

/// The largest share that a value may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    share: Ratio,
    /// Whether the share must be below the cap, not at it.
    is_strict: bool,
}

impl Cap {
    /// At most this share.
    pub fn at_most(share: Ratio) -> Cap {
        Cap { share, is_strict: false }
    }

    /// Less than this share.
    pub fn below(share: Ratio) -> Cap {
        Cap { share, is_strict: true }
    }

    /// How many of `rows` rows may have the value; `None` if not even none.
    pub fn of(self, rows: u64) -> Option<u64> {
        let most = self.share.floor_of(rows);
        let denominator = u128::from(self.share.denominator());
        let reached = u128::from(most) * denominator;
        let is_reached = reached == u128::from(rows) * u128::from(self.share.numerator());
        if self.is_strict && is_reached { most.checked_sub(1) } else { Some(most) }
    }

    /// The share as a number.
    pub fn to_f64(self) -> f64 {
        self.share.to_f64()
    }

    /// Sizes after which rounding repeats itself.
    pub(super) fn period(self) -> u64 {
        self.share.denominator().div_ceil(self.share.numerator().max(1)).min(10_000)
    }

    fn stricter(self, other: Cap) -> Cap {
        let is_other = (other.share, !other.is_strict) < (self.share, !self.is_strict);
        if is_other { other } else { self }
    }
}

/// Decides whether one bucket is fine.
pub trait Judge: Debug + Send + Sync {
    /// Whether values that occur so often (value and count, ascending, none of them 0) are fine,
    /// and by what margin. Margins are above 0 if the values are fine and below if not; among
    /// buckets of about one size they can be averaged.
    fn judge(&self, counts: &[(u32, u32)]) -> (bool, f64);
}

/// What is asked of the values of one column: all of it must hold.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The cap of each value.
    pub caps: Option<Vec<Cap>>,
    /// The least number of distinct values.
    pub distinct: u64,
    /// Whatever else is asked.
    pub judges: Vec<Arc<dyn Judge>>,
}

impl Asked {
    /// Caps alone.
    pub fn caps(caps: Vec<Cap>) -> Asked {
        Asked { caps: Some(caps), ..Asked::default() }
    }

    /// A number of distinct values alone.
    pub fn distinct(least: u64) -> Asked {
        Asked { distinct: least, ..Asked::default() }
    }

    /// What a judge asks.
    pub fn judged(judge: impl Judge + 'static) -> Asked {
        Asked { judges: vec![Arc::new(judge)], ..Asked::default() }
    }

    /// Whether nothing is asked.
    pub fn is_nothing(&self) -> bool {
        self.caps.is_none() && self.distinct <= 1 && self.judges.is_empty()
    }

    /// Both.
    pub fn and(mut self, other: Asked) -> Asked {
        self.caps = match (self.caps, other.caps) {
            (Some(own), Some(others)) => {
                Some(own.into_iter().zip(others).map(|(own, other)| own.stricter(other)).collect())
            }
            (own, others) => own.or(others),
        };
        self.distinct = self.distinct.max(other.distinct);
        self.judges.extend(other.judges);
        self
    }

    /// Whether a bucket with these values meets everything, and the smallest margin.
    pub fn judge(&self, counts: &[(u32, u32)]) -> (bool, f64) {
        let rows: u64 = counts.iter().map(|(_, count)| u64::from(*count)).sum();
        let mut verdict = (true, f64::INFINITY);
        let mut add = |(fine, margin): (bool, f64)| {
            verdict = (verdict.0 && fine, verdict.1.min(margin));
        };
        if self.distinct > 1 {
            let held = counts.len() as u64;
            add((held >= self.distinct, held as f64 - self.distinct as f64 + 0.5));
        }
        if let Some(caps) = &self.caps {
            for (value, count) in counts {
                let cap = caps[*value as usize];
                let fine = cap.of(rows).is_some_and(|most| u64::from(*count) <= most);
                add((fine, cap.to_f64() - f64::from(*count) / rows.max(1) as f64));
            }
        }
        self.judges.iter().for_each(|judge| add(judge.judge(counts)));
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_caps_stop_short_of_the_share() {
        let third = Ratio::new(1, 3).unwrap();
        assert_eq!([5, 6, 7].map(|rows| Cap::at_most(third).of(rows)), [Some(1), Some(2), Some(2)]);
        assert_eq!([5, 6, 7].map(|rows| Cap::below(third).of(rows)), [Some(1), Some(1), Some(2)]);
        assert_eq!(Cap::below(third).of(0), None);
        assert_eq!(Cap::at_most(third).stricter(Cap::below(third)), Cap::below(third));
        let half = Cap::below(Ratio::new(1, 2).unwrap());
        assert_eq!(half.stricter(Cap::at_most(third)), Cap::at_most(third));
    }

    #[test]
    fn everything_that_is_asked_counts() {
        let half = vec![Cap::at_most(Ratio::new(1, 2).unwrap()); 3];
        let asked = Asked::caps(half).and(Asked::distinct(3));
        assert!(asked.judge(&[(0, 2), (1, 1), (2, 1)]).0);
        let (fine, margin) = asked.judge(&[(0, 2), (2, 2)]);
        assert!(!fine && margin < 0.0);
        assert!(!asked.judge(&[(0, 3), (1, 1), (2, 1)]).0);
        assert!(Asked::distinct(1).is_nothing() && !asked.is_nothing());
    }
}
