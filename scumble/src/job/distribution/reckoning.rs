//! Does what is about to be built fit in memory?

use crate::error::{Error, Result};
use crate::search::buckets::Memory;

/// Bytes that a value of a stated domain takes while the domain and its hierarchy are built:
/// measured with two million values, 545.
pub(super) const VALUE: u64 = 560;

/// Bytes that a value of a target's hierarchy takes: two nodes and a code.
pub(super) const LEAF: u64 = 120;

/// The memory limit, and what is known to be used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reckoning {
    limit: Option<u64>,
    used: u64,
}

impl Reckoning {
    pub(super) fn new(limit: Option<u64>, used: u64) -> Reckoning {
        Reckoning { limit, used }
    }

    /// Adds what is about to be built, and refuses it if it does not fit.
    pub(super) fn add(
        &mut self,
        what: impl FnOnce() -> String,
        bytes: u64,
        instead: &'static str,
    ) -> Result<()> {
        self.used = self.used.saturating_add(bytes);
        match self.limit {
            Some(limit) if self.used > limit => {
                Err(Error::too_little_memory(what(), self.used, Some(instead)))
            }
            _ => Ok(()),
        }
    }

    /// What is left for a search.
    pub(super) fn memory(&self) -> Option<Memory> {
        self.limit.map(|limit| Memory { limit, used: self.used })
    }
}
