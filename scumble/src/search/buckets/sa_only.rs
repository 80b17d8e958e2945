//! SA-only: each group of the owner is one bucket.
//!
//! Koudas et al. 2009, section 4.2. The sum of ranges is the least for whole groups; a query that
//! selects few rows of a large group gets wide bounds.

use super::{Distributed, Problem};
use crate::error::Result;
use crate::watch::Watch;
use std::borrow::Cow;

/// Fills a bucket for each group.
pub fn search<'a>(problem: &Problem<'a>, watch: &Watch) -> Result<Distributed<'a>> {
    let part_of: Vec<u32> = (0..problem.target_of.len() as u32).collect();
    let buckets = problem.fill(problem.tallies, &part_of, watch)?;
    let (groups, tallies) = (Cow::Borrowed(problem.groups), Cow::Borrowed(problem.tallies));
    Ok(Distributed { groups, tallies, part_of, buckets })
}
