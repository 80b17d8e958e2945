//! l-diversity: a group does not give away the sensitive value of its members (Machanavajjhala et
//! al. 2006).
//!
//! Four forms, for a group of n rows whose values occur x1 >= x2 >= … >= xm times:
//!
//! | form | holds if | decided by |
//! |---|---|---|
//! | frequency | x1 / n <= 1 / l | l x1 <= n, in integers |
//! | distinct | m >= l | integers |
//! | entropy | -sum (xi/n) ln (xi/n) >= ln l | n ln n - sum xi ln xi >= n ln l; see [`entropy_holds`] |
//! | recursive (c, l) | x1 < c (xl + … + xm) | integers; (c, 1) always holds, as [LeFevre and DeWitt] define it |
//!
//! Distinct diversity only grows when groups merge. For the other three the union of two groups
//! that hold holds, but a failing group may spoil its neighbour: merging is safe only where nothing
//! is suppressed.

use super::sample::TOWARD_NO;
use super::{Alone, Group, Monotone, Requirement, Sample, Statement};
use crate::estimate::asked::{Asked, Cap};
use crate::estimate::bucket::Condition;
use crate::ratio::Ratio;

/// The form of l-diversity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diversity {
    /// The most frequent value's share is at most 1/l.
    Frequency(Ratio),
    /// At least l different values.
    Distinct(u64),
    /// The entropy of the values is at least ln l.
    Entropy(Ratio),
    /// The most frequent value is rarer than c times all from the l-th on.
    Recursive {
        /// The factor.
        c: Ratio,
        /// The rank from which values count.
        l: u64,
    },
}

/// l-diversity of one sensitive attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LDiversity {
    column: usize,
    form: Diversity,
}

impl LDiversity {
    /// The requirement on a counted column, or `None` for l below 1 or c of 0.
    pub fn new(column: usize, form: Diversity) -> Option<LDiversity> {
        let sound = match form {
            Diversity::Frequency(l) | Diversity::Entropy(l) => l >= Ratio::ONE,
            Diversity::Distinct(l) => l >= 1,
            Diversity::Recursive { c, l } => l >= 1 && c > Ratio::ZERO,
        };
        sound.then_some(LDiversity { column, form })
    }
}

/// Up to this l the most frequent values are found without sorting.
const SMALL_L: usize = 8;

/// The count of the most frequent value, and the rows of the values from the `l`-th most frequent
/// on.
fn recursive_parts(tally: &[(u32, u32)], l: u64) -> (u64, u64) {
    let skipped = usize::try_from(l - 1).unwrap_or(usize::MAX);
    let mut small = [0; SMALL_L];
    let mut many = Vec::new();
    let largest = if skipped <= SMALL_L {
        // The largest counts in descending order; a new one pushes smaller ones on.
        for (_, count) in tally {
            let mut pushed = *count;
            for kept in &mut small[..skipped.max(1)] {
                (*kept, pushed) = ((*kept).max(pushed), (*kept).min(pushed));
            }
        }
        &small[..skipped.max(1)]
    } else {
        many.extend(tally.iter().map(|(_, count)| *count));
        many.sort_unstable_by(|a, b| b.cmp(a));
        &many[..skipped.min(many.len())]
    };
    let sum = |counts: &mut dyn Iterator<Item = u32>| counts.map(u64::from).sum::<u64>();
    let all = sum(&mut tally.iter().map(|(_, count)| *count));
    (
        u64::from(largest.first().copied().unwrap_or(0)),
        all - sum(&mut largest.iter().take(skipped).copied()),
    )
}

impl Requirement for LDiversity {
    fn holds(&self, group: &Group<'_>) -> bool {
        let tally = group.tally(self.column);
        match self.form {
            Diversity::Frequency(l) => {
                let largest = tally.iter().map(|(_, count)| u128::from(*count)).max().unwrap_or(0);
                largest * u128::from(l.numerator())
                    <= u128::from(group.rows) * u128::from(l.denominator())
            }
            Diversity::Distinct(l) => tally.len() as u64 >= l,
            Diversity::Entropy(l) => entropy_holds(group.rows, tally, l),
            Diversity::Recursive { l: 1, .. } => true,
            Diversity::Recursive { c, l } => {
                let (largest, tail) = recursive_parts(tally, l);
                u128::from(largest) * u128::from(c.denominator())
                    < u128::from(tail) * u128::from(c.numerator())
            }
        }
    }

    fn figure(&self, group: &Group<'_>) -> f64 {
        let tally = group.tally(self.column);
        let largest = tally.iter().map(|(_, count)| *count).max().unwrap_or(0);
        match self.form {
            Diversity::Frequency(_) => group.rows as f64 / f64::from(largest),
            Diversity::Distinct(_) => tally.len() as f64,
            Diversity::Entropy(_) => (entropy_sum(group.rows, tally) / group.rows as f64).exp(),
            Diversity::Recursive { l, .. } => {
                let (largest, tail) = recursive_parts(tally, l);
                largest as f64 / tail as f64
            }
        }
    }

    fn statement(&self) -> Statement {
        let (kind, required, also, larger_is_safer) = match self.form {
            Diversity::Frequency(l) => ("frequency", l.to_f64(), None, true),
            Diversity::Distinct(l) => ("distinct", l as f64, None, true),
            Diversity::Entropy(l) => ("entropy", l.to_f64(), None, true),
            Diversity::Recursive { c, l } => {
                ("recursive", c.to_f64(), Some(("l", l as f64)), false)
            }
        };
        let column = Some(self.column);
        Statement {
            requirement: "l-diversity",
            kind: Some(kind),
            column,
            required,
            also: [also, None],
            larger_is_safer,
        }
    }

    /// A part with each value once is the most diverse there is, so it decides.
    fn attainable(&self, group: &Group<'_>) -> bool {
        let values = group.tally(self.column).len() as u128;
        match self.form {
            Diversity::Frequency(l) | Diversity::Entropy(l) => {
                values * u128::from(l.denominator()) >= u128::from(l.numerator())
            }
            Diversity::Distinct(l) => values >= u128::from(l),
            Diversity::Recursive { l: 1, .. } => true,
            Diversity::Recursive { c, l } => {
                let tail = (values + 1).saturating_sub(u128::from(l));
                u128::from(c.denominator()) < tail * u128::from(c.numerator())
            }
        }
    }

    /// Recursive diversity by the paper's test: c p2 - p1 > z sqrt(var), where p1 is the share of
    /// the most frequent value and p2 that of the l-th and all rarer ones, as if the sample had the
    /// population's order of values. The paper takes the two for independent; but what one share
    /// gains the others lose, their covariance is -p1 p2 / n, and var(c p2 - p1) has 2 c p1 p2 / n
    /// more. Frequency diversity in the same manner: 1/l - p1 >= z sqrt(var) with the variance of
    /// 1/l. Different values of a sample are different values of the population, so that distinct
    /// diversity needs no test. For entropy there is none: it is taken from the sample as it is.
    fn likely_holds(&self, group: &Group<'_>, sample: &Sample) -> bool {
        if sample.is_everything() || sample.is_naive() {
            return self.holds(group);
        }
        let rows = group.rows as f64;
        let tally = group.tally(self.column);
        match self.form {
            Diversity::Frequency(l) if l > Ratio::ONE => {
                let largest = tally.iter().map(|(_, count)| *count).max().unwrap_or(0);
                let (asked, found) = (1.0 / l.to_f64(), f64::from(largest) / rows);
                let variance = sample.variance(asked * (1.0 - asked), group.rows);
                asked - found >= sample.z() * variance.sqrt() * TOWARD_NO && self.holds(group)
            }
            Diversity::Recursive { c, l } if l > 1 => {
                let (largest, tail) = recursive_parts(tally, l);
                let (c, p1, p2) = (c.to_f64(), largest as f64 / rows, tail as f64 / rows);
                let spread = c * c * p2 * (1.0 - p2) + p1 * (1.0 - p1) + 2.0 * c * p1 * p2;
                let variance = sample.variance(spread, group.rows);
                c * p2 - p1 > sample.z() * variance.sqrt() * TOWARD_NO && self.holds(group)
            }
            _ => self.holds(group),
        }
    }

    fn caps(&self, values: usize) -> Option<(usize, Vec<Ratio>)> {
        match self.form {
            Diversity::Frequency(l) => {
                Some((self.column, vec![Ratio::new(l.denominator(), l.numerator())?; values]))
            }
            _ => None,
        }
    }

    fn least_rows(&self) -> u64 {
        match self.form {
            Diversity::Frequency(l) | Diversity::Entropy(l) => {
                l.numerator().div_ceil(l.denominator())
            }
            Diversity::Distinct(l) | Diversity::Recursive { l, .. } => l,
        }
    }

    /// Frequency and (c, 2)-diversity are caps: x1 < c (n - x1) if x1 < n c / (1 + c).
    fn believed(&self, values: &[usize]) -> Condition {
        let capped = |cap: Cap| Asked::caps(vec![cap; values[self.column]]);
        let judged = || Asked::judged(Alone(LDiversity { column: 0, ..*self }));
        let asked = match self.form {
            Diversity::Frequency(l) => Ratio::new(l.denominator(), l.numerator())
                .map_or_else(judged, |share| capped(Cap::at_most(share))),
            Diversity::Distinct(l) => Asked::distinct(l),
            Diversity::Recursive { l: 1, .. } => Asked::default(),
            Diversity::Recursive { c, l: 2 } => c
                .denominator()
                .checked_add(c.numerator())
                .and_then(|whole| Ratio::new(c.numerator(), whole))
                .map_or_else(judged, |share| capped(Cap::below(share))),
            Diversity::Recursive { .. } | Diversity::Entropy(_) => judged(),
        };
        Condition::new(self.least_rows(), Some((self.column, asked)))
    }

    fn monotone(&self) -> Monotone {
        match self.form {
            Diversity::Distinct(_) | Diversity::Recursive { l: 1, .. } => Monotone::Always,
            _ => Monotone::UnlessSuppressed,
        }
    }
}

/// n ln n - sum xi ln xi: n times the entropy.
fn entropy_sum(rows: u64, tally: &[(u32, u32)]) -> f64 {
    let term = |count: f64| count * count.ln();
    term(rows as f64) - tally.iter().map(|(_, count)| term(f64::from(*count))).sum::<f64>()
}

/// Whether the entropy reaches ln l. Values of one frequency have the entropy ln m, which is
/// decided by integers. Other groups are decided by floats wherever these are certain. What is left
/// is within rounding of the boundary: it holds if the two sides, as products of powers `n^n` and
/// `l^n * prod xi^xi`, are the same number, which their prime factors tell; otherwise it is
/// refused.
fn entropy_holds(rows: u64, tally: &[(u32, u32)], l: Ratio) -> bool {
    let values = tally.len() as u64;
    if tally.iter().all(|(_, count)| *count == tally[0].1) {
        return u128::from(values) * u128::from(l.denominator()) >= u128::from(l.numerator());
    }
    let asked = rows as f64 * l.to_f64().ln();
    let difference = entropy_sum(rows, tally) - asked;
    // Every term is off by a few units in the last place, and so is every partial sum.
    let size = 2.0 * rows as f64 * (rows as f64).ln() + asked.abs();
    let margin = (values as f64 + 8.0) * f64::EPSILON * size;
    if difference.abs() > margin {
        return difference > 0.0;
    }
    let mut exponents = std::collections::BTreeMap::<u64, i128>::new();
    let counts = tally.iter().map(|(_, count)| (u64::from(*count), -i128::from(*count)));
    for (number, power) in counts.chain([(rows, i128::from(rows))]) {
        for (prime, exponent) in factors(number) {
            *exponents.entry(prime).or_default() += i128::from(exponent) * power;
        }
    }
    // The parts of l may be large, but they have no other primes than the counts if the two sides
    // are the same.
    for (mut part, power) in
        [(l.denominator(), i128::from(rows)), (l.numerator(), -i128::from(rows))]
    {
        for (prime, sum) in &mut exponents {
            while part.is_multiple_of(*prime) {
                part /= prime;
                *sum += power;
            }
        }
        if part > 1 {
            return false;
        }
    }
    exponents.values().all(|exponent| *exponent == 0)
}

/// Prime factors with their exponents, by trial division: numbers here are counts, below 2^32, and
/// the case is rare.
fn factors(mut number: u64) -> Vec<(u64, u32)> {
    let mut found = Vec::new();
    let mut prime = 2;
    while prime <= number / prime {
        let mut exponent = 0;
        while number.is_multiple_of(prime) {
            number /= prime;
            exponent += 1;
        }
        if exponent > 0 {
            found.push((prime, exponent));
        }
        prime += 1;
    }
    if number > 1 {
        found.push((number, 1));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::judged;
    use super::*;

    fn holds(form: Diversity, counts: &[u32]) -> bool {
        judged(counts, |group| LDiversity::new(0, form).unwrap().holds(group))
    }

    fn ratio(text: &str) -> Ratio {
        text.parse().unwrap()
    }

    #[test]
    fn boundaries_are_decided_exactly() {
        assert!(holds(Diversity::Frequency(ratio("3")), &[1, 1, 1]));
        assert!(!holds(Diversity::Frequency(ratio("3")), &[2, 1, 2]));
        assert!(holds(Diversity::Frequency(ratio("2.5")), &[2, 1, 2]));
        assert!(
            holds(Diversity::Distinct(3), &[9, 1, 1]) && !holds(Diversity::Distinct(4), &[9, 1, 1])
        );
        // x1 < c (xl + …): 3 < 1 * (2 + 1) does not hold, 3 < 2 * 2 does.
        let recursive = |c: &str, l| Diversity::Recursive { c: ratio(c), l };
        assert!(!holds(recursive("1", 2), &[3, 2, 1]) && holds(recursive("1.01", 2), &[3, 2, 1]));
        assert!(!holds(recursive("3", 4), &[3, 2, 1]), "fewer than l values");
        assert!(holds(recursive("1", 1), &[5]), "(c, 1) always holds");
    }

    #[test]
    fn frequencies_2_2_2_2_are_entropy_4_diverse() {
        for count in [1, 2, 3, 7, 1000, 1_000_003] {
            assert!(holds(Diversity::Entropy(ratio("4")), &[count; 4]), "{count}");
            assert!(!holds(Diversity::Entropy(ratio("4.000001")), &[count; 4]), "{count}");
        }
    }

    #[test]
    fn entropy_on_the_boundary_without_equal_frequencies() {
        // 4, 2, 2 of 8: entropy 1.5 ln 2 = ln sqrt 8, no fraction; 8, 1 x 8 of 16: ln 2 / 2 + ln 16
        // / 2 = ln sqrt 32. 2 x 4, 8 x 1 of 16: (1/2) ln 8 + (1/2) ln 16... reaches ln l for l =
        // sqrt 128; none is rational, so compare neighbours: 4,2,2 lies between 2.8284 and 2.8285.
        assert!(holds(Diversity::Entropy(ratio("2.8284")), &[4, 2, 2]));
        assert!(!holds(Diversity::Entropy(ratio("2.8285")), &[4, 2, 2]));
        // 8, 8, 4 x 4, 1 x … : shares 1/4, 1/4, 1/8 x 4: entropy (1/2) ln 4 + (1/2) ln 8 = ln sqrt
        // 32; and shares 1/2, 1/8 x 4: (1/2) ln 2 + (1/2) ln 8 = ln 4 exactly, with unequal
        // frequencies.
        assert!(holds(Diversity::Entropy(ratio("4")), &[4, 1, 1, 1, 1]));
        assert!(holds(Diversity::Entropy(ratio("4")), &[4000, 1000, 1000, 1000, 1000]));
        assert!(!holds(Diversity::Entropy(ratio("4.0000000001")), &[4, 1, 1, 1, 1]));
        assert!(!holds(Diversity::Entropy(ratio("4")), &[4001, 1000, 1000, 1000, 1000]));
    }

    /// l is hardly more than 4, with parts that have primes beyond 2^31: nobody may wait for their
    /// factors.
    #[test]
    fn a_large_fraction_is_decided_at_once() {
        let l = Ratio::new(4 * 2_305_843_009_213_693_951 + 1, 2_305_843_009_213_693_951).unwrap();
        for _ in 0..1000 {
            assert!(!holds(Diversity::Entropy(l), &[4000, 1000, 1000, 1000, 1000]));
        }
    }

    #[test]
    fn parameters_are_checked() {
        assert_eq!(LDiversity::new(0, Diversity::Distinct(0)), None);
        assert_eq!(LDiversity::new(0, Diversity::Frequency(ratio("0.5"))), None);
        assert_eq!(LDiversity::new(0, Diversity::Recursive { c: Ratio::ZERO, l: 2 }), None);
    }
}
