//! Variance diversity: the numbers of a group are spread out, so that belonging to it does not give
//! away about how much somebody has ([LeFevre and DeWitt], section 1.1).
//!
//! Var(E, S) = (1/|E|) sum (s - mean)^2 must be at least v. For n rows with numbers s this is
//! n sum s^2 - (sum s)^2 >= v n^2, and subtracting the same number from all s changes neither side.
//!
//! Numbers that are written with few decimals are whole multiples of a unit 10^-d. Then the left
//! side is an integer in units squared, small after subtracting the smallest s, and the comparison
//! is exact. Other numbers, and sums past 128 bits, are decided by floats with a bound on their
//! error, against the group where the bound does not settle it.
//!
//! A missing value has no number. Its row stays in the group and contributes nothing: the variance
//! is that of the rows that have a number, and a group without any fails.
//!
//! The variance of a union is at least the smaller one of its parts' (theorem 1 of the paper), so
//! groups that hold make a group that holds. A failing one may spoil its neighbour: many equal
//! numbers narrow any spread. (A union within the error of floats about the boundary may be refused
//! where its parts were not; that can cost a release, never let one pass.)

use super::sample::TOWARD_NO;
use super::{Alone, Group, Monotone, Requirement, Sample, Statement};
use crate::estimate::asked::Asked;
use crate::estimate::bucket::Condition;
use crate::estimate::chi_square_tail;
use crate::ratio::Ratio;
use std::sync::Arc;

/// The most decimals that exact arithmetic is tried for.
const MOST_DECIMALS: u32 = 12;

/// At least some variance of one numeric sensitive attribute.
#[derive(Clone, Debug)]
pub struct VarianceDiversity {
    column: usize,
    at_least: Ratio,
    /// The number of each value; NaN, or a value past the end, has none.
    numbers: Arc<[f64]>,
    decimals: Option<Decimals>,
}

/// Numbers as multiples of a unit.
#[derive(Clone, Debug)]
struct Decimals {
    /// The multiple of each value that has a number.
    multiples: Arc<[i64]>,
    /// How many squared units make 1.
    per_square: u128,
}

impl Decimals {
    /// The numbers in the largest unit 10^-d that has all of them, if there is one. A multiple
    /// below 2^53 divided by 10^d is the float nearest to that decimal, so a float that equals it
    /// stands for what was written.
    fn of(numbers: &[f64]) -> Option<Decimals> {
        (0..=MOST_DECIMALS).find_map(|places| {
            let scale = 10f64.powi(places as i32);
            let multiple = |number: &f64| {
                let multiple = (number * scale).round();
                let is_exact = multiple.abs() <= (1u64 << 53) as f64 && multiple / scale == *number;
                (is_exact || number.is_nan()).then_some(multiple as i64)
            };
            let multiples = numbers.iter().map(multiple).collect::<Option<Arc<[i64]>>>()?;
            Some(Decimals { multiples, per_square: 10u128.pow(2 * places) })
        })
    }
}

/// What floats say of a group.
struct Spread {
    /// The rows that have a number.
    rows: u64,
    /// Sum of (s - mean)^2 over them.
    squares: f64,
    /// How far `squares` may be above the truth.
    error: f64,
}

impl VarianceDiversity {
    /// The requirement on a counted column whose value `v` is the number `numbers[v]` (NaN, or past
    /// the end: it has none); `None` for a variance of 0, which asks nothing.
    pub fn new(column: usize, at_least: Ratio, numbers: Arc<[f64]>) -> Option<VarianceDiversity> {
        let decimals = Decimals::of(&numbers);
        (at_least > Ratio::ZERO).then_some(VarianceDiversity {
            column,
            at_least,
            numbers,
            decimals,
        })
    }

    /// The values that have a number, with the number and its count.
    fn counted<'a>(
        &'a self,
        group: &Group<'a>,
    ) -> impl Iterator<Item = (usize, f64, u32)> + Clone + 'a {
        let number = |value: u32| {
            self.numbers.get(value as usize).copied().filter(|number| !number.is_nan())
        };
        group
            .tally(self.column)
            .iter()
            .filter_map(move |(value, count)| Some((*value as usize, number(*value)?, *count)))
    }

    /// The rows n with a number, and n sum s^2 - (sum s)^2 in squared units, where that is within
    /// reach.
    fn exact(&self, group: &Group<'_>) -> Option<(u64, u128)> {
        let multiples = &self.decimals.as_ref()?.multiples;
        let least = self.counted(group).map(|(value, ..)| multiples[value]).min().unwrap_or(0);
        let (mut rows, mut sum, mut squares) = (0u64, 0u128, 0u128);
        for (value, _, count) in self.counted(group) {
            let above = u128::from(multiples[value].abs_diff(least));
            let share = above * u128::from(count);
            rows += u64::from(count);
            sum += share;
            squares = squares.checked_add(share.checked_mul(above)?)?;
        }
        // Cauchy and Schwarz: the second part is never above the first.
        Some((rows, squares.checked_mul(u128::from(rows))? - sum * sum))
    }

    /// By floats, in two passes. With r the range of the numbers, R the largest of them, K the
    /// values and e one rounding: a number differs from what was written by R e at most, a
    /// deviation from the mean by a few (r + R) e, and its square by 2r times that. A mean that is
    /// itself off by K r e adds its square to every row. Sums of K positive terms are off by K e of
    /// themselves. Every count of roundings below is taken generously.
    fn spread(&self, group: &Group<'_>) -> Spread {
        let numbers = self.counted(group).map(|(_, number, _)| number);
        let (least, most) = (
            numbers.clone().fold(f64::INFINITY, f64::min),
            numbers.fold(f64::NEG_INFINITY, f64::max),
        );
        let (mut rows, mut values, mut sum) = (0u64, 0.0, 0.0);
        for (_, number, count) in self.counted(group) {
            rows += u64::from(count);
            values += 1.0;
            sum += (number - least) * f64::from(count);
        }
        let mean = sum / rows as f64;
        let square = |(_, number, count): (usize, f64, u32)| {
            (number - least - mean).powi(2) * f64::from(count)
        };
        let squares: f64 = self.counted(group).map(square).sum();
        let (range, largest) = (most - least, least.abs().max(most.abs()));
        let deviation = 4.0 * f64::EPSILON * (range + largest);
        let of_mean = (values + 8.0) * f64::EPSILON * range + deviation;
        let per_row = 2.0 * range * deviation + deviation * deviation + of_mean * of_mean;
        let error = rows as f64 * per_row * 2.0 + (values + 8.0) * f64::EPSILON * squares;
        Spread { rows, squares, error }
    }

    /// The rows with a number and the sum of their squared deviations, as near as a float can be.
    fn squares(&self, group: &Group<'_>) -> (u64, f64) {
        match (self.exact(group), &self.decimals) {
            (Some((rows, squares)), Some(decimals)) if rows > 0 => {
                (rows, squares as f64 / rows as f64 / decimals.per_square as f64)
            }
            (Some((rows, _)), _) => (rows, 0.0),
            (None, _) => {
                let spread = self.spread(group);
                (spread.rows, spread.squares)
            }
        }
    }
}

impl Requirement for VarianceDiversity {
    fn holds(&self, group: &Group<'_>) -> bool {
        if let (Some((rows, squares)), Some(decimals)) = (self.exact(group), &self.decimals) {
            // v n^2: the requirement's parts and the rows have 64 bits at most, so only absurdly
            // many rows overflow.
            let asked = u128::from(rows)
                .checked_pow(2)
                .and_then(|square| square.checked_mul(u128::from(self.at_least.numerator())));
            if let Some(asked) = asked {
                let reached = product(squares, u128::from(self.at_least.denominator()));
                return rows > 0 && reached >= product(asked, decimals.per_square);
            }
        }
        let spread = self.spread(group);
        let asked = spread.rows as f64 * self.at_least.to_f64() * (1.0 + 8.0 * f64::EPSILON);
        spread.rows > 0 && spread.squares - spread.error >= asked
    }

    fn figure(&self, group: &Group<'_>) -> f64 {
        let (rows, squares) = self.squares(group);
        if rows == 0 { 0.0 } else { squares / rows as f64 }
    }

    fn statement(&self) -> Statement {
        Statement {
            requirement: "variance-diversity",
            kind: None,
            column: Some(self.column),
            required: self.at_least.to_f64(),
            also: [None; 2],
            larger_is_safer: true,
        }
    }

    /// No part has a larger variance than one row of the least number and one of the greatest: a
    /// quarter of the squared range (Popoviciu's inequality).
    fn attainable(&self, group: &Group<'_>) -> bool {
        if let Some(Decimals { multiples, per_square }) = &self.decimals {
            let of_group = self.counted(group).map(|(value, ..)| multiples[value]);
            let range = of_group
                .clone()
                .max()
                .zip(of_group.min())
                .map_or(0, |(most, least)| most.abs_diff(least));
            let asked = product(4 * u128::from(self.at_least.numerator()), *per_square);
            let square = u128::from(range) * u128::from(range);
            return product(square, u128::from(self.at_least.denominator())) >= asked;
        }
        let numbers = self.counted(group).map(|(_, number, _)| number);
        let (least, most) = (
            numbers.clone().fold(f64::INFINITY, f64::min),
            numbers.fold(f64::NEG_INFINITY, f64::max),
        );
        // Rounded toward yes: a search may rely on a no.
        let range = (most - least) + 8.0 * f64::EPSILON * (most.abs() + least.abs());
        range * range * (1.0 + 8.0 * f64::EPSILON) >= 4.0 * self.at_least.to_f64()
    }

    /// The paper's test: sum (s - mean)^2 / v >= chi-square of alpha with n - 1 degrees of freedom,
    /// for n rows that have a number. It would be right for normal numbers in an endless
    /// population; for others it is a rule of thumb. Asked in the other direction, whether at most
    /// alpha lies above the left side, which saves finding the right one.
    fn likely_holds(&self, group: &Group<'_>, sample: &Sample) -> bool {
        if sample.is_everything() || sample.is_naive() {
            return self.holds(group);
        }
        let (rows, squares) = self.squares(group);
        let statistic = squares / self.at_least.to_f64() / TOWARD_NO;
        rows > 1 && chi_square_tail(statistic, rows - 1) <= sample.alpha()
    }

    fn believed(&self, _values: &[usize]) -> Condition {
        let asked = Asked::judged(Alone(VarianceDiversity { column: 0, ..self.clone() }));
        Condition::new(self.least_rows(), Some((self.column, asked)))
    }

    /// A variance above 0 takes two numbers.
    fn least_rows(&self) -> u64 {
        2
    }

    fn monotone(&self) -> Monotone {
        Monotone::UnlessSuppressed
    }
}

/// A product in 256 bits, the high half first, by halves of 64 bits.
fn product(a: u128, b: u128) -> (u128, u128) {
    let half = |number: u128| (number >> 64, number & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (half(a), half(b));
    let (low, middle, other) = (a0 * b0, a1 * b0, a0 * b1);
    let carried = (low >> 64) + half(middle).1 + half(other).1;
    (
        a1 * b1 + half(middle).0 + half(other).0 + half(carried).0,
        half(carried).1 << 64 | half(low).1,
    )
}

#[cfg(test)]
mod tests {
    use super::super::judged;
    use super::*;
    use proptest::prelude::*;

    fn required(at_least: &str, numbers: &[f64]) -> VarianceDiversity {
        VarianceDiversity::new(0, at_least.parse().unwrap(), numbers.into()).unwrap()
    }

    fn holds(at_least: &str, numbers: &[f64], counts: &[u32]) -> bool {
        judged(counts, |group| required(at_least, numbers).holds(group))
    }

    #[test]
    fn boundaries_are_decided_exactly() {
        // 1, 2, 3: mean 2, variance 2/3.
        assert!(
            holds("2/3", &[1.0, 2.0, 3.0], &[1, 1, 1])
                && !holds("0.66667", &[1.0, 2.0, 3.0], &[1, 1, 1])
        );
        // 20000 twice and 30000 twice: 5000 squared; far from zero the same.
        for base in [0.0, -25_000.0, 9e15] {
            let numbers = [base, base + 10_000.0];
            assert!(
                holds("25e6", &numbers, &[2, 2]) && !holds("25000000.000001", &numbers, &[2, 2]),
                "{base}"
            );
            assert!(!holds("25e6", &numbers, &[3, 2]), "{base}");
        }
        // Tenths: 0.1, 0.2, 0.4 have mean 7/30 and variance 7/450.
        assert!(
            holds("7/450", &[0.1, 0.2, 0.4], &[1, 1, 1])
                && !holds("0.0155555555556", &[0.1, 0.2, 0.4], &[1, 1, 1])
        );
        assert_eq!(judged(&[5, 5], |group| required("1", &[0.01, 0.03]).figure(group)), 0.0001);
    }

    #[test]
    fn missing_values_have_no_number() {
        // The last value lies past the end, the one before is no number.
        let numbers = [10.0, 20.0, f64::NAN];
        assert!(holds("25", &numbers, &[1, 1, 7, 9]) && !holds("25.1", &numbers, &[1, 1, 7, 9]));
        assert!(!holds("1e-9", &numbers, &[0, 0, 3, 4]), "no numbers");
        assert_eq!(judged(&[0, 0, 3, 4], |group| required("1", &numbers).figure(group)), 0.0);
        assert!(!judged(&[0, 0, 3, 4], |group| required("1", &numbers).attainable(group)));
    }

    #[test]
    fn sums_past_128_bits_are_refused_only_near_the_boundary() {
        let numbers = [-9e15, 9e15];
        let many = [u32::MAX, u32::MAX];
        assert!(judged(&many, |group| required("1", &numbers).exact(group)).is_none());
        // The variance is 81e30; a threshold has 64 bits at most.
        assert!(holds("18446744073709551615", &numbers, &many));
        // A range of 2 about a far centre: exact, although the numbers themselves are large.
        assert!(
            holds("1", &[9e15 - 1.0, 9e15 + 1.0], &many)
                && !holds("1.0000000001", &[9e15 - 1.0, 9e15 + 1.0], &many)
        );
    }

    #[test]
    fn numbers_beyond_decimals_are_decided_by_floats_toward_refusal() {
        let third = 1.0 / 3.0;
        let requirement = required("1", &[third, third + 2.0]);
        assert!(requirement.decimals.is_none());
        assert!(
            !judged(&[1, 1], |group| requirement.holds(group)),
            "within rounding of the boundary"
        );
        assert!(
            judged(&[1, 1], |group| requirement.attainable(group)),
            "within rounding of the boundary"
        );
        assert!(holds("0.9999999999", &[third, third + 2.0], &[1, 1]));
        assert!(!holds("1.0000000001", &[third, third + 2.0], &[1, 1]));
        // Nothing that overflows or is lost in rounding is accepted.
        assert!(
            !holds("1", &[-1e300, 1e300], &[1, 1]) && !holds("1e-18", &[1e300, 1e300], &[1, 1])
        );
    }

    #[test]
    fn products_carry() {
        assert_eq!(product(u128::MAX, u128::MAX), (u128::MAX - 1, 1));
        assert_eq!(product(1 << 127, 6), (3, 0));
        assert_eq!(
            product(u128::from(u64::MAX), u128::from(u64::MAX)),
            (0, u128::from(u64::MAX).pow(2))
        );
    }

    #[test]
    fn a_variance_of_nothing_is_no_requirement() {
        assert!(VarianceDiversity::new(0, Ratio::ZERO, [1.0].into()).is_none());
    }

    /// Multiples, units in 1, the counts of two groups, and a variance.
    type Drawn = (Vec<i32>, f64, Vec<u32>, Vec<u32>, (u64, u64));

    /// Groups of small numbers in units of 1, 1/10 or about 1/3: those need floats.
    fn groups() -> impl Strategy<Value = Drawn> {
        let unit = prop_oneof![Just(1.0), Just(10.0), Just(3.0)];
        (prop::collection::vec(-20..20i32, 1..6), unit).prop_flat_map(|(numbers, unit)| {
            let counts = || prop::collection::vec(0..4u32, numbers.len());
            (Just(numbers.clone()), Just(unit), counts(), counts(), (1..60u64, 1..20u64))
        })
    }

    /// The textbook, in fractions: n sum s^2 - (sum s)^2 - v n^2 with s in units, and n.
    fn margin(numbers: &[i32], unit: f64, counts: &[u32], v: (u64, u64)) -> (i128, i128) {
        let rows: i128 = counts.iter().map(|count| i128::from(*count)).sum();
        let weighted = |power: u32| -> i128 {
            numbers
                .iter()
                .zip(counts)
                .map(|(number, count)| i128::from(*number).pow(power) * i128::from(*count))
                .sum()
        };
        let per_square = (unit * unit) as i128;
        let left = (rows * weighted(2) - weighted(1).pow(2)) * i128::from(v.1);
        (left - i128::from(v.0) * rows * rows * per_square, rows)
    }

    proptest! {
        #[test]
        fn it_is_the_textbooks((numbers, unit, counts, others, v) in groups()) {
            let floats: Vec<f64> = numbers.iter().map(|number| f64::from(*number) / unit).collect();
            let requirement = VarianceDiversity::new(0, Ratio::new(v.0, v.1).unwrap(), floats.into()).unwrap();
            let says = |counts: &[u32]| judged(counts, |group| requirement.holds(group));
            let (over, rows) = margin(&numbers, unit, &counts, v);
            if requirement.decimals.is_some() || over != 0 {
                prop_assert_eq!(says(&counts), rows > 0 && over >= 0);
            } else {
                prop_assert!(!says(&counts));
            }
            // Groups that hold make a group that holds, and a part that holds makes the whole
            // attainable.
            let both: Vec<u32> = counts.iter().zip(&others).map(|(a, b)| a + b).collect();
            if says(&counts) && says(&others) {
                prop_assert!(says(&both));
            }
            if says(&counts) {
                prop_assert!(judged(&both, |group| requirement.attainable(group)));
                prop_assert!(rows >= 2);
            }
            // One row of the least number and one of the greatest are the best part there is.
            let occurring = || both.iter().zip(0..).filter(|(count, _)| **count > 0).map(|(_, value): (_, usize)| value);
            let ends = [occurring().min_by_key(|value| numbers[*value]), occurring().max_by_key(|value| numbers[*value])];
            if let [Some(least), Some(most)] = ends && requirement.decimals.is_some() {
                let mut pair = vec![0; numbers.len()];
                pair[least] += 1;
                pair[most] += 1;
                prop_assert_eq!(judged(&both, |group| requirement.attainable(group)), says(&pair));
            }
        }
    }
}
