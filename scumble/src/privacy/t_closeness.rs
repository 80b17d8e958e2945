//! t-closeness: the sensitive values of a group are distributed nearly as in the whole table (Li et
//! al. 2007).
//!
//! The earth mover's distance between a group's distribution q and the table's p must be at most t.
//! With counts n_i of n rows in the group and N_i of N rows in the table, n N (q_i - p_i) = n_i N -
//! N_i n is an integer, and so is the distance times a known denominator: every comparison is
//! exact.
//!
//! | ground distance | distance |
//! |---|---|
//! | equal | half the sum of abs(p_i - q_i) |
//! | ordered | sum over i of abs(sum up to i of (p - q)), over m - 1 |
//! | hierarchical | sum over inner nodes of height/H x min(surplus, deficit) of their children |
//!
//! For the ordered distance the m values that occur in the table count, in numeric order, a missing
//! value last. The distance is convex, so groups that hold make a group that holds; a failing one
//! may spoil its neighbour. There is no test for a sample: one is taken as it is, and a small one
//! is rarely close to the whole.

use super::{Alone, Group, Monotone, Requirement, Statement};
use crate::estimate::asked::Asked;
use crate::estimate::bucket::Condition;
use crate::ratio::Ratio;
use crate::taxonomy::Taxonomy;
use std::sync::Arc;

/// How far apart two values are.
#[derive(Clone, Debug)]
pub enum Distance {
    /// Any two different values are 1 apart.
    Equal,
    /// Values are as far apart as their ranks among those that occur. The values in ascending
    /// order.
    Ordered(Arc<[u32]>),
    /// Values are as far apart as the height of their lowest common ancestor.
    Hierarchical(Arc<Taxonomy>),
}

/// t-closeness of one sensitive attribute.
#[derive(Clone, Debug)]
pub struct TCloseness {
    column: usize,
    t: Ratio,
    distance: Distance,
    /// How often each value occurs in the whole.
    whole: Vec<u64>,
    rows: u64,
}

impl TCloseness {
    /// The requirement on a counted column whose values occur `whole[value]` times in all; `None`
    /// for t above 1.
    pub fn new(column: usize, t: Ratio, distance: Distance, whole: Vec<u64>) -> Option<TCloseness> {
        let rows = whole.iter().sum();
        (t <= Ratio::ONE).then_some(TCloseness { column, t, distance, whole, rows })
    }

    /// The distance as an exact fraction: numerator and denominator.
    fn fraction(&self, group: &Group<'_>) -> (u128, u128) {
        let unit = u128::from(group.rows) * u128::from(self.rows);
        match &self.distance {
            Distance::Equal => {
                // Values that the group lacks differ by p_i alone, and all p_i make 1.
                let mut sum = unit as i128;
                for (value, count) in group.tally(self.column) {
                    let whole = i128::from(self.whole[*value as usize]) * i128::from(group.rows);
                    sum += (i128::from(*count) * i128::from(self.rows) - whole).abs() - whole;
                }
                (sum.unsigned_abs(), 2 * unit)
            }
            Distance::Ordered(order) => {
                let differences: Vec<i128> = self.differences(group).collect();
                let (mut carried, mut sum, mut values) = (0i128, 0u128, 0u128);
                // A value that does not occur is no step on the way.
                for value in
                    order.iter().map(|value| *value as usize).filter(|value| self.whole[*value] > 0)
                {
                    carried += differences[value];
                    sum += carried.unsigned_abs();
                    values += 1;
                }
                (sum, unit * values.saturating_sub(1).max(1))
            }
            Distance::Hierarchical(taxonomy) => {
                let mut below: Vec<i128> = self.differences(group).collect();
                let mut sum = 0u128;
                for level in 1..=taxonomy.height() {
                    let nodes = taxonomy.level(level).len();
                    let (mut surplus, mut deficit) = (vec![0i128; nodes], vec![0i128; nodes]);
                    for (child, parent) in taxonomy.lift(level - 1, level).into_iter().enumerate() {
                        surplus[parent as usize] += below[child].max(0);
                        deficit[parent as usize] -= below[child].min(0);
                    }
                    let moved: i128 =
                        surplus.iter().zip(&deficit).map(|(more, less)| more.min(less)).sum();
                    sum += moved.unsigned_abs() * level as u128;
                    below = surplus.iter().zip(&deficit).map(|(more, less)| more - less).collect();
                }
                (sum, unit * taxonomy.height() as u128)
            }
        }
    }

    /// n N (q_i - p_i) for each value.
    fn differences<'a>(&'a self, group: &Group<'a>) -> impl Iterator<Item = i128> + 'a {
        let rows = i128::from(group.rows);
        let mut tally = group.tally(self.column).iter().peekable();
        self.whole.iter().enumerate().map(move |(value, whole)| {
            let count =
                tally.next_if(|(next, _)| *next as usize == value).map_or(0, |(_, count)| *count);
            i128::from(count) * i128::from(self.rows) - i128::from(*whole) * rows
        })
    }
}

impl Requirement for TCloseness {
    fn holds(&self, group: &Group<'_>) -> bool {
        let (numerator, denominator) = self.fraction(group);
        // Both sides fit: counts are below 2^32 each, so the fraction's parts stay below 2^98.
        match numerator.checked_mul(u128::from(self.t.denominator())) {
            Some(left) => denominator
                .checked_mul(u128::from(self.t.numerator()))
                .is_none_or(|right| left <= right),
            None => false,
        }
    }

    fn figure(&self, group: &Group<'_>) -> f64 {
        let (numerator, denominator) = self.fraction(group);
        numerator as f64 / denominator as f64
    }

    fn statement(&self) -> Statement {
        let kind = match self.distance {
            Distance::Equal => "equal",
            Distance::Ordered(_) => "ordered",
            Distance::Hierarchical(_) => "hierarchical",
        };
        Statement {
            requirement: "t-closeness",
            kind: Some(kind),
            column: Some(self.column),
            required: self.t.to_f64(),
            also: [None; 2],
            larger_is_safer: false,
        }
    }

    fn believed(&self, _values: &[usize]) -> Condition {
        let asked = Asked::judged(Alone(TCloseness { column: 0, ..self.clone() }));
        Condition::new(self.least_rows(), Some((self.column, asked)))
    }

    fn monotone(&self) -> Monotone {
        Monotone::UnlessSuppressed
    }

    fn against_release(&self, columns: &[Vec<u64>]) -> Option<Box<dyn Requirement>> {
        let whole = columns[self.column].clone();
        let rows = whole.iter().sum();
        Some(Box::new(TCloseness { whole, rows, ..self.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Dictionary, Tallies, Type};
    use crate::taxonomy::{Hierarchy, HierarchyFile, bind};
    use std::path::Path;

    fn figure(distance: Distance, whole: &[u64], counts: &[u32]) -> (f64, bool) {
        let entries: Vec<(u32, u32)> =
            (0..).zip(counts.iter().copied()).filter(|(_, count)| *count > 0).collect();
        let tallies = [Tallies::from_parts(vec![0, entries.len() as u32], entries)];
        let group = Group {
            rows: counts.iter().map(|count| u64::from(*count)).sum(),
            columns: &tallies,
            index: 0,
        };
        let requirement =
            TCloseness::new(0, "0.375".parse().unwrap(), distance, whole.to_vec()).unwrap();
        (requirement.figure(&group), requirement.holds(&group))
    }

    /// Li et al.'s example: salaries 3k to 11k, the group {3k, 4k, 5k} has distance 0.375, {6k, 8k,
    /// 11k} 0.167.
    #[test]
    fn ordered_distance_of_the_salary_example() {
        let whole = [1; 9];
        let ordered = || Distance::Ordered((0..9).collect());
        assert_eq!(figure(ordered(), &whole, &[1, 1, 1, 0, 0, 0, 0, 0, 0]), (0.375, true));
        let (distance, _) = figure(ordered(), &whole, &[0, 0, 0, 1, 0, 1, 0, 0, 1]);
        assert!((distance - 1.0 / 6.0).abs() < 1e-12, "{distance}");
    }

    #[test]
    fn values_that_do_not_occur_are_no_steps_and_order_is_by_number() {
        // Three values occur, in the order 2, 0, 4; the group has the least.
        let ordered = Distance::Ordered([1, 2, 0, 3, 4].into());
        assert_eq!(figure(ordered, &[1, 0, 1, 0, 1], &[0, 0, 1, 0, 0]).0, 0.5);
    }

    #[test]
    fn equal_distance_is_half_the_differences() {
        let (distance, holds) = figure(Distance::Equal, &[2, 1, 1], &[0, 1, 1]);
        assert_eq!((distance, holds), (0.5, false));
        assert_eq!(figure(Distance::Equal, &[5, 3], &[5, 3]), (0.0, true));
    }

    #[test]
    fn hierarchical_distance_moves_mass_through_ancestors() {
        let rows = [("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")];
        let rows =
            rows.map(|(leaf, parent)| (1, vec![leaf.into(), parent.into(), "*".into()])).to_vec();
        let file = HierarchyFile::new(Path::new("h"), rows).unwrap();
        let dictionary = Dictionary::default();
        let bound =
            bind(&Hierarchy::File(file), Some(Type::Text), &[], &dictionary, "s", Path::new("t"))
                .unwrap();
        let distance = Distance::Hierarchical(Arc::new(bound.taxonomy));
        // All of the group in a; the whole is uniform: 1/4 moves within x (height 1 of 2), 1/2
        // across the root.
        assert_eq!(figure(distance.clone(), &[1; 4], &[1, 0, 0, 0]).0, 0.25 * 0.5 + 0.5);
        assert_eq!(figure(distance, &[1; 4], &[1, 1, 0, 0]).0, 0.5);
    }
}
