//! What can be answered from a release?
//!
//! A distribution release has records with exact quasi-identifiers and, apart from them, the subdomains of each group.
//! Which records a query selects is known; which subdomains are theirs is not. [`bounds`] gives the least and the greatest
//! answer of all worlds that fit the release (Koudas et al. 2009, section 3.3).

pub mod bounds;

pub use bounds::{Aggregate, Answer, Ends, Exact};
