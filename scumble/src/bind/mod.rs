//! What does the policy mean for these columns?
//!
//! A `Policy` is data and knows no table. Here it is laid over the values that a scan has counted:
//! quasi-identifiers get their trees, requirements get their columns, and targets of a distribution
//! get their weights. Tables in memory, files on disk, summaries and releases that are verified are
//! all bound here.
//!
//! Binding fails closed: a requirement that cannot be bound is an error, and after binding every
//! requirement of the policy is among those that are judged.

mod believe;
mod caps;
mod keys;
mod listed;
mod notations;
mod on_cuts;
mod prepare;
mod require;
mod roles;
mod targets;
mod world;

pub(crate) use keys::BoundKey;
pub use on_cuts::OnCuts;
pub(crate) use prepare::numbers;
pub use prepare::{Outside, Prepared};
pub(crate) use require::{Required, Surveyed};
pub use targets::Domain;
pub(crate) use world::{World, listed_by_column, others};
