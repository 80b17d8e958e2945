//! delta-presence: how likely a known person is in the table at all (Nergiz and Clifton 2008,
//! section 3).
//!
//! Whoever knows the population sees for each of its groups how many of its people are in the
//! release; a person of the group is in it with just that share (equation 1). The share must lie
//! within [min, max], also where it is nothing because no row of the group is in the table.
//!
//! | here | paper |
//! |---|---|
//! | rows of a group | \|t* in T*\| |
//! | rows and others | \|t* in P*\| |
//!
//! A share of merged groups lies between theirs, so groups that hold make a group that holds
//! (theorem 1).

use super::{Group, Monotone, Requirement, Statement};
use crate::ratio::Ratio;

/// An end of the range in which shares must lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// No larger share.
    Max,
    /// No smaller share.
    Min,
}

/// One end of delta-presence. A counted column holds the people of each group who are not in the
/// table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Presence {
    others: usize,
    side: Side,
    bound: Ratio,
}

impl Presence {
    /// What delta-presence asks: both ends, where they ask anything. `others` is the counted column
    /// of the people who are not in the table; all its values are one.
    pub fn within(others: usize, min: Ratio, max: Ratio) -> Vec<Presence> {
        let max = (max < Ratio::ONE).then_some((Side::Max, max));
        let min = (min > Ratio::ZERO).then_some((Side::Min, min));
        let presence = |(side, bound)| Presence { others, side, bound };
        match (max, min) {
            // A range that asks nothing is still reported.
            (None, None) => vec![presence((Side::Max, Ratio::ONE))],
            _ => max.into_iter().chain(min).map(presence).collect(),
        }
    }

    /// The group's people in the table, and all of them.
    fn counts(&self, group: &Group<'_>) -> (u64, u64) {
        let others: u64 = group.tally(self.others).iter().map(|(_, count)| u64::from(*count)).sum();
        (group.rows, group.rows + others)
    }
}

impl Requirement for Presence {
    fn holds(&self, group: &Group<'_>) -> bool {
        let (present, all) = self.counts(group);
        let share = u128::from(present) * u128::from(self.bound.denominator());
        let bound = u128::from(all) * u128::from(self.bound.numerator());
        match self.side {
            Side::Max => share <= bound,
            Side::Min => share >= bound,
        }
    }

    fn figure(&self, group: &Group<'_>) -> f64 {
        let (present, all) = self.counts(group);
        present as f64 / all as f64
    }

    fn statement(&self) -> Statement {
        Statement {
            requirement: "delta-presence",
            kind: Some(if self.side == Side::Max { "max" } else { "min" }),
            column: None,
            required: self.bound.to_f64(),
            also: [None; 2],
            larger_is_safer: self.side == Side::Min,
        }
    }

    fn monotone(&self) -> Monotone {
        Monotone::UnlessSuppressed
    }

    fn is_about_absent(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Tallies;

    fn holds(present: u64, others: u32, min: &str, max: &str) -> bool {
        let tallies = [Tallies::from_parts(vec![0, 1], vec![(0, others)])];
        let group = Group { rows: present, columns: &tallies, index: 0 };
        let (min, max) = (min.parse().unwrap(), max.parse().unwrap());
        Presence::within(0, min, max).iter().all(|one| one.holds(&group))
    }

    #[test]
    fn both_ends_belong_to_the_range_exactly() {
        assert!(holds(1, 9, "1/10", "1/10") && holds(3, 27, "0.1", "0.1"));
        assert!(!holds(3, 26, "0", "0.1") && !holds(3, 28, "0.1", "1"));
        assert!(holds(1, 2, "1/3", "0.34") && !holds(1, 2, "0", "0.333333333333"));
        assert!(holds(0, 7, "0", "0.1") && !holds(0, 7, "0.01", "0.1"));
        assert!(holds(7, 0, "0", "1") && !holds(7, 0, "0", "0.99"));
    }
}
