//! What can be answered from a release?
//!
//! A distribution release has records with exact quasi-identifiers and, apart from them, the
//! subdomains of each group. Which records a query selects is known; which subdomains are theirs is
//! not. [`bounds`] gives the least and the greatest answer of all worlds that fit the release
//! (Koudas et al. 2009, section 3.3), and [`filtered`] does so if the value must satisfy a condition
//! too; [`sql`] reads what is asked, [`condition`] selects records, [`select`] values.

pub mod bounds;
pub mod condition;
pub mod filtered;
pub mod select;
pub mod sql;

pub use bounds::{Aggregate, Answer, Ends, Exact};

/// A parsed query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The aggregates of the sensitive attribute, each with its alias or as it was written.
    pub aggregates: Vec<(String, Aggregate)>,
    /// Selects records; its columns are positions in `used`.
    pub condition: condition::Condition,
    /// Selects values of the sensitive attribute, which is its only column.
    pub value: Option<condition::Condition>,
    /// The GROUP BY columns, as positions in `used`.
    pub by: Vec<usize>,
    /// The columns that the query names, by their numbers in the records.
    pub used: Vec<usize>,
}
