//! Does a distribution release keep what was asked?

mod read;

pub use read::{Distributed, ReadGroup, Tree};

use super::{Tables, Verification};
use crate::error::{Error, Result};
use crate::policy::Policy;
use crate::table::Tallies;
use crate::watch::Watch;

/// The sensitive values that the groups of a release had.
pub(crate) struct Originals {
    /// For each group of the release, in its order, values of the domain with counts.
    pub(crate) values: Tallies,
    /// What each value of the domain is called.
    pub(crate) labels: Vec<String>,
    /// Rows of each group.
    pub(crate) records: Vec<u32>,
}

pub(crate) fn check_distribution(
    _: &Tables,
    _: &Policy,
    _: Option<&Originals>,
    _: &Watch,
) -> Result<Verification> {
    Err(Error::Defect)
}
