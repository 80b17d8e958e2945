//! k-anonymity: every group has at least k rows, so nobody stands out from k - 1 others (Samarati 2001, Sweeney 2002).

use super::{Group, Monotone, Requirement, Statement};

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
            also: None,
            larger_is_safer: true,
        }
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
