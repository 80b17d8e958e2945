//! l+-diversity: a cap on the confidence in each sensitive value (Liu and Wang 2010, definition 1).
//!
//! In a class of n rows a value that occurs n_i times has the confidence n_i / n, which must not
//! exceed its cap θ_i. Where every θ_i is 1/l this is the frequency form of l-diversity.
//! Comparisons are by integers: 1 of 3 meets 1/3.
//!
//! Groups that meet their caps make a group that meets them; one that fails may spoil its
//! neighbour.

use super::{Group, Monotone, Requirement, Statement};
use crate::error::{Figure, WorstValue};
use crate::ratio::Ratio;

/// The cap of each value of a sensitive column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps(Vec<Ratio>);

impl Caps {
    /// The caps of the values in order, or `None` where one is above 1.
    pub fn new(caps: Vec<Ratio>) -> Option<Caps> {
        caps.iter().all(|cap| *cap <= Ratio::ONE).then_some(Caps(caps))
    }

    /// The cap of each value.
    pub fn of_values(&self) -> &[Ratio] {
        &self.0
    }

    /// Both sides of the comparison of a value's confidence with its cap.
    #[inline]
    fn sides(&self, value: usize, count: u64, rows: u64) -> (u128, u128) {
        let cap = self.0[value];
        (
            u128::from(count) * u128::from(cap.denominator()),
            u128::from(rows) * u128::from(cap.numerator()),
        )
    }

    /// By how many rows a value is too frequent, times the denominator of its cap, where it breaks
    /// the cap. Rounded only past 2^53.
    #[inline]
    pub fn excess(&self, value: usize, count: u64, rows: u64) -> Option<f64> {
        let (count, rows) = self.sides(value, count, rows);
        let excess = count.checked_sub(rows).filter(|excess| *excess > 0)?;
        Some(u64::try_from(excess).map_or(excess as f64, |excess| excess as f64))
    }

    /// Whether a value occurs too often.
    #[inline]
    pub fn is_broken(&self, value: usize, count: u64, rows: u64) -> bool {
        let (count, rows) = self.sides(value, count, rows);
        count > rows
    }

    /// How many rows of a value may stay in a class of `rows` rows.
    #[inline]
    pub fn most(&self, value: usize, count: u64, rows: u64) -> u64 {
        count.min(self.0[value].floor_of(rows))
    }

    /// The largest number of rows that can be kept of a group so that every value meets its cap:
    /// the largest m with sum of min(n_i, floor(θ_i m)) >= m. The sum only falls with m, so every m
    /// that is too large leads down to one that no answer exceeds; lemma 3, repeated, is a bound on
    /// the way.
    pub fn largest_part(&self, tally: impl Iterator<Item = (usize, u64)> + Clone) -> u64 {
        let mut rows: u64 = tally.clone().map(|(_, count)| count).sum();
        loop {
            let kept = tally.clone().map(|(value, count)| self.most(value, count, rows)).sum();
            if kept >= rows {
                return rows;
            }
            rows = kept;
        }
    }
}

/// l+-diversity of one sensitive attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thresholds {
    column: usize,
    caps: Caps,
    /// The cap that all values share, except those that have none (suppressed values, whose cap is
    /// the whole).
    uniform: Option<Ratio>,
    /// How each value is written, for reports; empty where nobody is told.
    names: Vec<String>,
}

impl Thresholds {
    /// The requirement on a counted column; a cap for each of its values.
    pub fn new(column: usize, caps: Caps) -> Thresholds {
        let mut real = caps.0.iter().filter(|cap| **cap < Ratio::ONE);
        let first = real.next().copied().unwrap_or(Ratio::ONE);
        let uniform = real.all(|cap| *cap == first).then_some(first);
        Thresholds { column, caps, uniform, names: Vec::new() }
    }

    /// The same with a name for each value, so that a report can tell which one is worst.
    pub fn with_names(self, names: Vec<String>) -> Thresholds {
        Thresholds { names, ..self }
    }

    /// The values of a group that have a cap, with their counts.
    fn capped<'a>(&'a self, group: &Group<'a>) -> impl Iterator<Item = (usize, u64)> + 'a {
        counts(group.tally(self.column)).filter(|(value, _)| self.caps.0[*value] < Ratio::ONE)
    }

    /// The confidence in a value, where all caps are the same; otherwise as a multiple of its cap.
    fn confidence(&self, value: usize, count: u64, rows: u64) -> f64 {
        let confidence = count as f64 / rows as f64;
        if self.uniform.is_some() { confidence } else { confidence / self.caps.0[value].to_f64() }
    }
}

fn counts(tally: &[(u32, u32)]) -> impl Iterator<Item = (usize, u64)> + Clone {
    tally.iter().map(|(value, count)| (*value as usize, u64::from(*count)))
}

impl Requirement for Thresholds {
    fn holds(&self, group: &Group<'_>) -> bool {
        counts(group.tally(self.column))
            .all(|(value, count)| !self.caps.is_broken(value, count, group.rows))
    }

    /// The largest confidence, where all caps are the same; otherwise the largest confidence as a
    /// multiple of its cap.
    fn figure(&self, group: &Group<'_>) -> f64 {
        let confidence = |(value, count)| self.confidence(value, count, group.rows);
        self.capped(group).map(confidence).fold(0.0, f64::max)
    }

    /// Of several values that are equally bad, the one whose name comes first: the order of the
    /// rows must not matter.
    fn worst(&self, group: &Group<'_>) -> Option<WorstValue> {
        let named = self.capped(group).filter_map(|(value, count)| {
            let confidence = self.confidence(value, count, group.rows);
            Some((confidence, self.names.get(value)?, value, count))
        });
        let worst = named.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(one.1)));
        worst.map(|(_, name, value, count)| WorstValue {
            value: name.clone(),
            rows: count,
            class_rows: group.rows,
            share: Figure(count as f64 / group.rows as f64),
            cap: self.caps.0[value].to_string(),
        })
    }

    fn statement(&self) -> Statement {
        let (kind, required) = match self.uniform {
            Some(cap) => ("uniform", cap.to_f64()),
            None => ("per-value", 1.0),
        };
        Statement {
            requirement: "thresholds",
            kind: Some(kind),
            column: Some(self.column),
            required,
            also: [None; 2],
            larger_is_safer: false,
        }
    }

    fn attainable(&self, group: &Group<'_>) -> bool {
        self.caps.largest_part(counts(group.tally(self.column))) > 0
    }

    fn caps(&self, _values: usize) -> Option<(usize, Vec<Ratio>)> {
        Some((self.column, self.caps.0.clone()))
    }

    fn least_rows(&self) -> u64 {
        // A row that is there has a value, whose share is 1/n at least.
        let largest = self.caps.0.iter().copied().max().unwrap_or(Ratio::ONE);
        if largest == Ratio::ZERO {
            u64::MAX
        } else {
            largest.denominator().div_ceil(largest.numerator())
        }
    }

    fn monotone(&self) -> Monotone {
        Monotone::UnlessSuppressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn caps(texts: &[&str]) -> Caps {
        Caps::new(texts.iter().map(|text| text.parse().unwrap()).collect()).unwrap()
    }

    fn part(caps: &Caps, counts: &[u64]) -> u64 {
        caps.largest_part(counts.iter().copied().enumerate())
    }

    #[test]
    fn one_of_three_meets_one_third() {
        let caps = caps(&["1/3", "1/3", "1/3"]);
        assert!(
            !caps.is_broken(0, 1, 3) && caps.is_broken(0, 1, 2) && caps.is_broken(1, 3334, 10_000)
        );
    }

    /// Example 4 of the paper: asthma 3, cancer 2, flu 1 under 1/3. Lemma 3 takes 2 of asthma, then
    /// 1 of cancer.
    #[test]
    fn example_4() {
        assert_eq!(part(&caps(&["1/3", "1/3", "1/3"]), &[3, 2, 1]), 3);
        assert_eq!(
            part(&caps(&["1/2", "1/2"]), &[2, 1]),
            2,
            "example 1: one of two records with cancer goes"
        );
    }

    #[test]
    fn the_largest_part_is_the_largest() {
        let mut random = Random::new(4);
        for _ in 0..3000 {
            let values = 1 + random.below(4) as usize;
            let counts: Vec<u64> = (0..values).map(|_| random.below(7)).collect();
            let ratio = |random: &mut Random| {
                Ratio::new(random.below(4), 1 + random.below(6)).unwrap().min(Ratio::ONE)
            };
            let caps = Caps::new((0..values).map(|_| ratio(&mut random)).collect()).unwrap();
            // Every way to keep some of each value.
            let mut kept = vec![vec![]];
            for count in &counts {
                kept = kept
                    .iter()
                    .flat_map(|k| (0..=*count).map(move |n| [&k[..], &[n]].concat()))
                    .collect();
            }
            let fine = |kept: &Vec<u64>| {
                let rows: u64 = kept.iter().sum();
                kept.iter().enumerate().all(|(value, count)| {
                    let cap = caps.0[value];
                    count * cap.denominator() <= rows * cap.numerator()
                })
            };
            let best = kept
                .iter()
                .filter(|kept| fine(kept))
                .map(|kept| kept.iter().sum::<u64>())
                .max()
                .unwrap();
            assert_eq!(part(&caps, &counts), best, "{caps:?} {counts:?}");
        }
    }
}
