//! From acceptable misuse to delta-presence (Nergiz and Clifton 2008, section 6).
//!
//! A person has the condition with the prior probability b. The population has P people. T of them
//! are in the table, and all of these have the condition. Someone who knows that a person is in the
//! table with probability p believes in the condition with probability
//!
//! ```text
//! b' = p + (1 - p) (b P - T) / (P - T) = p P (1 - b) / (P - T) + (b P - T) / (P - T)
//! ```
//!
//! A disclosure costs d, and misuse up to m is acceptable, so belief may change by a = m / d. From
//! b' - b <= a and b - b' <= a' follow
//!
//! ```text
//! p <= delta-max = ( a  P + (1 - a  - b) T) / ((1 - b) P)
//! p >= delta-min = (-a' P + (1 + a' - b) T) / ((1 - b) P)
//! ```
//!
//! With confidence c, the range may fail with probability 1 - c. Belief then rises to 1 at most,
//! which costs (1 - b) d. The expected liability is (1 - c)(1 - b) d for each person in the table.
//! The paper states it separately, too; its printed term, (1 / c) / d, has no unit.

/// What is known and what is acceptable. All costs have the same unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stakes {
    /// b: the probability that a person of the population has the condition.
    pub prior: f64,
    /// P: the number of people in the population.
    pub population: f64,
    /// T: the number of people in the table.
    pub table: f64,
    /// d: the cost of a disclosure.
    pub cost: f64,
    /// m: the acceptable expected cost if belief in the condition rises.
    pub misuse: f64,
    /// The acceptable expected cost if belief in the condition falls (default: unlimited).
    pub misuse_below: Option<f64>,
    /// c: the confidence in the range.
    pub confidence: f64,
}

/// The resulting range of delta-presence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The expected liability for each person in the table.
    pub liability: f64,
}

/// An invalid parameter of [`Stakes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unadvisable {
    /// The prior is not between 0 and 1.
    Prior,
    /// The table is empty or not smaller than the population.
    Table,
    /// The table has more people than the prior implies have the condition.
    MoreThanPrior,
    /// The cost is not above 0, or misuse is below 0.
    Cost,
    /// The confidence is not from 0 to 1.
    Confidence,
    /// What is acceptable below the prior and above it leaves no range between them.
    EmptyRange,
}

impl Stakes {
    /// The acceptable range. Both ends are rounded inwards to six digits.
    pub fn advice(&self) -> Result<Advice, Unadvisable> {
        let Stakes { prior: b, population: p, table: t, cost: d, misuse, misuse_below, confidence } =
            *self;
        let is_number = |number: f64| number.is_finite() && number >= 0.0;
        if !(b > 0.0 && b < 1.0) {
            return Err(Unadvisable::Prior);
        }
        if !(is_number(p) && t > 0.0 && t < p) {
            return Err(Unadvisable::Table);
        }
        if t > b * p {
            return Err(Unadvisable::MoreThanPrior);
        }
        if !(is_number(d) && d > 0.0 && is_number(misuse) && misuse_below.is_none_or(is_number)) {
            return Err(Unadvisable::Cost);
        }
        if !(0.0..=1.0).contains(&confidence) {
            return Err(Unadvisable::Confidence);
        }
        let a = misuse / d;
        let max = (a * p + (1.0 - a - b) * t) / ((1.0 - b) * p);
        let min = misuse_below.map_or(0.0, |below| {
            let a = below / d;
            (-a * p + (1.0 + a - b) * t) / ((1.0 - b) * p)
        });
        const DIGITS: f64 = 1e6;
        // A hair first, so that what is whole in decimals stays it.
        let max = ((max * DIGITS + 1e-6).floor() / DIGITS).clamp(0.0, 1.0);
        let min = ((min * DIGITS - 1e-6).ceil() / DIGITS).clamp(0.0, 1.0) + 0.0;
        if min > max {
            return Err(Unadvisable::EmptyRange);
        }
        Ok(Advice { min, max, liability: (1.0 - confidence) * (1.0 - b) * d })
    }

    /// The belief in the condition of a person who is in the table with this probability.
    pub fn belief(&self, presence: f64) -> f64 {
        let rest = (self.prior * self.population - self.table) / (self.population - self.table);
        presence + (1.0 - presence) * rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A minimum above the maximum is no advice.
    #[test]
    fn a_range_that_is_empty_is_refused() {
        let stakes = Stakes {
            prior: 0.5,
            population: 1000.0,
            table: 400.0,
            cost: 1000.0,
            misuse: 0.0,
            misuse_below: Some(0.0),
            confidence: 1.0,
        };
        let advised = stakes.advice();
        assert!(advised.is_ok_and(|advice| advice.min <= advice.max));
        // Rounded inwards, both ends pass each other.
        let narrow = Stakes { table: 1000.0 / 3.0, ..stakes };
        assert!(matches!(narrow.advice(), Err(Unadvisable::EmptyRange)));
    }

    /// Diabetes: 7 % have it, 4 % of the population are in the table, it costs $10,000, and $100
    /// and $200 are noise.
    const DIABETES: Stakes = Stakes {
        prior: 0.07,
        population: 45_222.0,
        table: 0.04 * 45_222.0,
        cost: 10_000.0,
        misuse: 100.0,
        misuse_below: Some(200.0),
        confidence: 0.98,
    };

    #[test]
    fn nergiz_2008_section_6_diabetes() {
        let advice = DIABETES.advice().unwrap();
        // (0.01 + 0.92 x 0.04) / 0.93 and (-0.02 + 0.95 x 0.04) / 0.93: "about 0.05" and "about
        // 0.02".
        assert_eq!((advice.min, advice.max), (0.019355, 0.050322));
        assert!((advice.liability - 186.0).abs() < 1e-9);
        // Nobody in the table: belief falls to 0.03125 ("b_o = 0.032").
        assert!((DIABETES.belief(0.0) - 0.03125).abs() < 1e-12);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |stakes: Stakes| stakes.advice().unwrap_err();
        assert_eq!(refused(Stakes { prior: 0.0, ..DIABETES }), Unadvisable::Prior);
        assert_eq!(refused(Stakes { table: 50_000.0, ..DIABETES }), Unadvisable::Table);
        assert_eq!(refused(Stakes { prior: 0.03, ..DIABETES }), Unadvisable::MoreThanPrior);
        assert_eq!(refused(Stakes { cost: f64::NAN, ..DIABETES }), Unadvisable::Cost);
        assert_eq!(refused(Stakes { confidence: 1.5, ..DIABETES }), Unadvisable::Confidence);
    }

    proptest! {
        /// Whoever keeps the advice keeps the misuse: belief itself is the judge.
        #[test]
        fn belief_stays_within_what_is_acceptable(
            prior in 0.01..0.9f64, share in 0.001..0.99f64, misuse in 0.0..3000.0f64, below in 0.0..3000.0f64,
        ) {
            let population = 10_000.0;
            let stakes = Stakes {
                prior, population, table: share * prior * population, cost: 10_000.0, misuse, misuse_below: Some(below),
                confidence: 0.9,
            };
            let advice = stakes.advice().unwrap();
            prop_assert!(stakes.belief(advice.max) - prior <= misuse / 10_000.0 + 1e-9);
            prop_assert!(prior - stakes.belief(advice.min) <= below / 10_000.0 + 1e-9);
            // And hardly anything is given away.
            let more = (advice.max + 3e-6).min(1.0);
            prop_assert!(advice.max == 1.0 || stakes.belief(more) - prior >= misuse / 10_000.0 - 1e-9);
        }
    }
}
