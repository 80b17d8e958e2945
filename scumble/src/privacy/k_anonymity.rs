//! k-anonymity: every group has at least k rows, so nobody stands out from k - 1 others (Samarati
//! 2001, Sweeney 2002).

use super::sample::TOWARD_NO;
use super::{Group, Monotone, Requirement, Sample, Statement};

/// At least `k` rows in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KAnonymity {
    k: u64,
}

impl KAnonymity {
    /// The requirement, or `None` for k below 1.
    pub fn new(k: u64) -> Option<KAnonymity> {
        (k >= 1).then_some(KAnonymity { k })
    }
}

impl Requirement for KAnonymity {
    fn holds(&self, group: &Group<'_>) -> bool {
        group.rows >= self.k
    }

    fn figure(&self, group: &Group<'_>) -> f64 {
        group.rows as f64
    }

    fn statement(&self) -> Statement {
        Statement {
            requirement: "k-anonymity",
            kind: None,
            column: None,
            required: self.k as f64,
            also: [None; 2],
            larger_is_safer: true,
        }
    }

    /// With p0 = k/N and the group's share p of the sample: p - p0 >= z sqrt(p0 (1 - p0) / n (N -
    /// n)/(N - 1)), both sides times n N. k rows in the sample are k rows in the population; the
    /// paper's test does not know that, and would refuse some such groups where nearly all rows
    /// were drawn.
    fn likely_holds(&self, group: &Group<'_>, sample: &Sample) -> bool {
        let (rows, population) = (sample.rows(), sample.population());
        if self.holds(group) || sample.is_everything() || self.k > population {
            return self.holds(group);
        }
        let found = u128::from(group.rows) * u128::from(population);
        let Some(surplus) = found.checked_sub(u128::from(self.k) * u128::from(rows)) else {
            return false;
        };
        let [n, whole, k] = [rows, population, self.k].map(|number| number as f64);
        let variance = n * k * (whole - k) * ((whole - n) / (whole - 1.0));
        sample.is_naive() || surplus as f64 >= sample.z() * variance.sqrt() * TOWARD_NO
    }

    fn least_rows(&self) -> u64 {
        self.k
    }

    fn rows_decide(&self) -> bool {
        true
    }

    fn monotone(&self) -> Monotone {
        Monotone::Always
    }
}
