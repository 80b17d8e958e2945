//! A requirement judged from a sample: is there high confidence that the group's part of the
//! population meets it?
//!
//! Section 3.1 of [LeFevre and DeWitt]. From a population of N rows a simple random sample of n was
//! drawn; a group is the part of the sample that falls into some region, and stands for the part of
//! the population that does. The null hypothesis is that the population's part is just on the wrong
//! side of the requirement. It is rejected, and the group accepted, where a sample this favourable
//! would have had a chance of at most alpha. Whoever tests m parts at once gives alpha / m for each
//! (Bonferroni).
//!
//! | paper | here |
//! |---|---|
//! | N, n | [`Sample::population`], [`Sample::rows`] |
//! | alpha / m | [`Sample::alpha`] |
//! | z of alpha / m | `Sample::z` |
//! | n_i | the group's rows |
//!
//! An answer here is a guess that steers a search, not a promise: floats do, rounded toward no, and
//! what is released is put to [`Requirement::holds`](super::Requirement::holds) on all rows.

use crate::estimate::z_above;

/// Rounding errors of a test are far below this share of its threshold, which is raised by it.
pub(super) const TOWARD_NO: f64 = 1.0 + 1e-12;

/// How a sample was drawn, and how sure an answer from it must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    rows: u64,
    population: u64,
    alpha: f64,
    z: f64,
    naive: bool,
}

impl Sample {
    /// A simple random sample of `rows` of `population` rows, judged part by part with a chance of
    /// at most `alpha` to accept a part wrongly. `None` for a sample of nothing or larger than its
    /// population, and for an alpha outside of 0 to 1/2.
    pub fn new(rows: u64, population: u64, alpha: f64) -> Option<Sample> {
        let sound = rows > 0 && rows <= population && alpha > 0.0 && alpha <= 0.5;
        sound.then(|| Sample { rows, population, alpha, z: z_above(alpha), naive: false })
    }

    /// The same sample without any test: what holds for its part is taken to hold for the
    /// population's. For comparison (figure 28 of the paper).
    pub fn naive(self) -> Sample {
        Sample { naive: true, ..self }
    }

    /// How many rows it has.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many rows it was drawn from.
    pub fn population(&self) -> u64 {
        self.population
    }

    /// The chance of accepting a part wrongly.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The same sample for each of several parts that are tested at once (Bonferroni).
    pub fn each_of(self, parts: usize) -> Sample {
        let alpha = self.alpha / parts.max(1) as f64;
        Sample { alpha, z: z_above(alpha), ..self }
    }

    /// Whether nothing is tested.
    pub fn is_naive(&self) -> bool {
        self.naive
    }

    /// Whether nothing is left to chance.
    pub fn is_everything(&self) -> bool {
        self.rows == self.population
    }

    /// The number with the area alpha of the standard normal distribution to its right.
    pub(super) fn z(&self) -> f64 {
        self.z
    }

    /// The estimated variance of a proportion p that was measured on `rows` rows of the sample,
    /// from p (1 - p) or a sum of such: with the correction for a finite population, whose size in
    /// the part is estimated by the sampled share. Not finite for a single row, of which nothing
    /// can be said.
    pub(super) fn variance(&self, spread: f64, rows: u64) -> f64 {
        let left_out = (self.population - self.rows) as f64 / self.population as f64;
        if rows < 2 { f64::INFINITY } else { spread / (rows - 1) as f64 * left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::super::judged;
    use super::*;
    use crate::privacy::{
        Distance, Diversity, Group, KAnonymity, LDiversity, Requirement, TCloseness,
        VarianceDiversity,
    };
    use crate::random::Random;
    use proptest::prelude::*;

    fn likely(requirement: &dyn Requirement, counts: &[u32], sample: &Sample) -> bool {
        judged(counts, |group| requirement.likely_holds(group, sample))
    }

    fn diversity(form: Diversity) -> LDiversity {
        LDiversity::new(0, form).unwrap()
    }

    fn frequency(l: &str) -> LDiversity {
        diversity(Diversity::Frequency(l.parse().unwrap()))
    }

    fn recursive(c: &str, l: u64) -> LDiversity {
        diversity(Diversity::Recursive { c: c.parse().unwrap(), l })
    }

    fn variance(v: &str, numbers: &[f64]) -> VarianceDiversity {
        VarianceDiversity::new(0, v.parse().unwrap(), numbers.into()).unwrap()
    }

    #[test]
    fn worked_by_hand() {
        let sample = Sample::new(1000, 10_000, 0.05).unwrap();
        // p0 = 0.01, variance 0.0099 / 1000 * 9000 / 9999 = 8.911e-6; p >= 0.01 + 1.64485 *
        // 0.0029851 = 0.014910.
        let k = KAnonymity::new(100).unwrap();
        assert!(likely(&k, &[15], &sample) && !likely(&k, &[14], &sample));
        assert!(likely(&k, &[10], &sample.naive()) && !likely(&k, &[9], &sample.naive()));
        // 101 rows: 0.5 - p1 >= 1.64485 sqrt(0.25 / 100 * 0.9) = 0.078022, so p1 * 101 <= 42.62.
        assert!(
            likely(&frequency("2"), &[42, 42, 17], &sample)
                && !likely(&frequency("2"), &[43, 42, 16], &sample)
        );
        // 101 rows, c = 2, l = 2, where 2 p2 - p1 = 2 - 3 p1: for 59 and 42, 0.24752 > 1.64485
        // sqrt(9 * 0.242917 / 100 * 0.9) = 0.23073; for 60 and 41, 0.21782 < 0.22989.
        assert!(
            likely(&recursive("2", 2), &[59, 42], &sample)
                && !likely(&recursive("2", 2), &[60, 41], &sample)
        );
        assert!(likely(&recursive("2", 2), &[60, 41], &sample.naive()));
        // 11 rows, five each of -d and d: 10 d^2 >= 100 * 18.307, the number for 10 degrees.
        let with = |d: f64| likely(&variance("100", &[-d, 0.0, d]), &[5, 1, 5], &sample);
        assert!(with(13.531) && !with(13.53));
        assert!(likely(&variance("100", &[-13.0, 0.0, 13.0]), &[5, 1, 5], &sample.naive()));
    }

    #[test]
    fn proof_needs_no_test_and_one_row_proves_nothing() {
        // 999 of 1000 rows drawn: the test alone would ask for (1998 + 1.645 sqrt(999 * 2 * 998 /
        // 999)) / 1000 = 2.07 rows.
        let nearly = Sample::new(999, 1000, 0.05).unwrap();
        assert!(likely(&KAnonymity::new(2).unwrap(), &[2], &nearly));
        assert!(!likely(&KAnonymity::new(2000).unwrap(), &[999], &nearly));
        let sample = Sample::new(10, 1000, 0.05).unwrap();
        assert!(likely(&diversity(Diversity::Distinct(2)), &[1, 1], &sample));
        assert!(!likely(&diversity(Diversity::Distinct(2)), &[5], &sample));
        for alpha in [1e-12, 0.05, 0.5] {
            let sample = Sample::new(10, 1000, alpha).unwrap();
            assert!(
                !likely(&frequency("1.01"), &[1], &sample)
                    && likely(&frequency("1"), &[1], &sample)
            );
            assert!(
                !likely(&recursive("9", 2), &[1], &sample)
                    && likely(&recursive("9", 1), &[1], &sample)
            );
            assert!(!likely(&variance("1e-9", &[5.0]), &[1], &sample));
        }
    }

    #[test]
    fn parameters_are_checked() {
        for (rows, population, alpha) in [
            (0, 10, 0.05),
            (11, 10, 0.05),
            (5, 10, 0.0),
            (5, 10, 0.51),
            (5, 10, f64::NAN),
            (5, 10, -0.1),
        ] {
            assert_eq!(Sample::new(rows, population, alpha), None);
        }
    }

    /// The chances of 0, 1, … rows of the part in a sample, rows drawn without replacement: each
    /// from the one before.
    fn hypergeometric(population: u64, part: u64, rows: u64) -> Vec<f64> {
        let [n, whole, marked] = [rows, population, part].map(|number| number as f64);
        let mut chance: f64 = (0..rows)
            .map(|drawn| drawn as f64)
            .map(|i| (whole - marked - i) / (whole - i))
            .product();
        let next = |found: u64| {
            let x = found as f64;
            let now = chance;
            chance *= (marked - x) * (n - x) / ((x + 1.0) * (whole - marked - n + x + 1.0));
            now
        };
        (0..=part.min(rows)).map(next).collect()
    }

    #[test]
    fn a_part_just_too_small_is_accepted_about_as_often_as_allowed() {
        for (rows, population, k) in
            [(1000, 10_000, 400), (500, 2000, 300), (2000, 100_000, 3000), (1200, 2000, 400)]
        {
            for alpha in [0.05, 0.025, 0.005] {
                let sample = Sample::new(rows, population, alpha).unwrap();
                let requirement = KAnonymity::new(k).unwrap();
                let chances = hypergeometric(population, k - 1, rows);
                assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                let accepts = |found: u64| {
                    requirement
                        .likely_holds(&Group { rows: found, columns: &[], index: 0 }, &sample)
                };
                let wrong: f64 = (0u64..)
                    .zip(&chances)
                    .filter(|(found, _)| accepts(*found))
                    .map(|(_, chance)| chance)
                    .sum();
                // A count of rows cannot hit alpha exactly, and the normal curve is not quite its
                // distribution.
                assert!(
                    (0.5 * alpha..1.5 * alpha).contains(&wrong),
                    "{rows} of {population}, {k}: {wrong} for {alpha}"
                );
            }
        }
    }

    #[test]
    fn drawn_samples_accept_about_as_often_as_computed() {
        let (rows, population, k) = (400, 2000, 250);
        let sample = Sample::new(rows, population, 0.05).unwrap();
        let requirement = KAnonymity::new(k).unwrap();
        let random = &mut Random::new(28);
        let mut accepted = 0;
        for _ in 0..20_000 {
            let mut found = 0;
            for drawn in 0..rows {
                found += u64::from(random.below(population - drawn) < k - 1 - found);
            }
            let group = Group { rows: found.max(1), columns: &[], index: 0 };
            accepted += u32::from(requirement.likely_holds(&group, &sample));
        }
        assert!((600..1400).contains(&accepted), "{accepted} of 20000");
    }

    /// Normal numbers with just the variance that is asked for, or a little less: the chi-square
    /// distribution itself.
    #[test]
    fn normal_numbers_are_accepted_about_as_often_as_allowed() {
        let sample = Sample::new(1000, 1_000_000, 0.05).unwrap();
        let random = &mut Random::new(3);
        let mut accepted = 0;
        for _ in 0..10_000 {
            let numbers: Vec<f64> = (0..30).map(|_| (random.normal() * 1e6).round()).collect();
            accepted += u32::from(likely(&variance("1e12", &numbers), &[1; 30], &sample));
        }
        // 500 are expected, with a standard deviation of 22.
        assert!((410..590).contains(&accepted), "{accepted} of 10000");
    }

    /// On the boundary of (1, 2)-diversity, shares 1/2, 1/4 and 1/4. Here p2 = 1 - p1, and the
    /// standard deviation of p2 - p1 is 2 that of p1. The paper, for which p1 and p2 are
    /// independent, has sqrt 2, and accepts the normal area right of 1.645 / sqrt 2, 12.2 %,
    /// instead of 5 %. In frequency diversity there is no such gap.
    #[test]
    fn shares_are_accepted_about_as_often_as_allowed() {
        let sample = Sample::new(1_000_000, 1_000_000_000, 0.05).unwrap();
        let random = &mut Random::new(4);
        let (mut recursively, mut frequently) = (0, 0);
        for _ in 0..10_000 {
            let mut counts = [0; 3];
            for _ in 0..1000 {
                counts[[0, 0, 1, 2][random.below(4) as usize]] += 1;
            }
            recursively += u32::from(likely(&recursive("1", 2), &counts, &sample));
            frequently += u32::from(likely(&frequency("2"), &counts, &sample));
        }
        assert!((400..600).contains(&recursively), "{recursively} of 10000");
        assert!((400..600).contains(&frequently), "{frequently} of 10000");
    }

    fn requirements(numbers: usize) -> Vec<Box<dyn Requirement>> {
        let numbers: Vec<f64> = (0..numbers).map(|number| number as f64).collect();
        let whole = vec![7; numbers.len()];
        vec![
            Box::new(KAnonymity::new(6).unwrap()),
            Box::new(frequency("2")),
            Box::new(diversity(Diversity::Distinct(3))),
            Box::new(diversity(Diversity::Entropy("2.5".parse().unwrap()))),
            Box::new(recursive("1.5", 2)),
            Box::new(variance("1.25", &numbers)),
            Box::new(TCloseness::new(0, "0.3".parse().unwrap(), Distance::Equal, whole).unwrap()),
        ]
    }

    proptest! {
        #[test]
        fn everything_is_no_sample(counts in prop::collection::vec(0..6u32, 5), more in 0..50u64, alpha in 1e-9..0.5f64) {
            let rows = counts.iter().map(|count| u64::from(*count)).sum::<u64>();
            prop_assume!(rows > 0);
            let everything = Sample::new(rows + more, rows + more, alpha).unwrap();
            for requirement in requirements(counts.len()) {
                let holds = judged(&counts, |group| requirement.holds(group));
                for sample in [everything, everything.naive()] {
                    prop_assert_eq!(likely(&*requirement, &counts, &sample), holds, "{:?}", requirement.statement());
                }
            }
        }

        #[test]
        fn surer_answers_are_rarer(
            counts in prop::collection::vec(0..40u32, 5),
            more in 1..500u64,
            times in 2..100u64,
            alpha in 1e-9..0.5f64,
            share in 0.01..1.0f64,
        ) {
            let rows = counts.iter().map(|count| u64::from(*count)).sum::<u64>();
            prop_assume!(rows > 0);
            let sample = |alpha: f64| Sample::new(rows + more, (rows + more) * times, alpha).unwrap();
            for requirement in requirements(counts.len()) {
                if likely(&*requirement, &counts, &sample(alpha * share)) {
                    prop_assert!(likely(&*requirement, &counts, &sample(alpha)), "{:?}", requirement.statement());
                }
            }
        }
    }
}
