//! QI-SA: each group of the owner is cut by equal quasi-identifiers, and each part is one bucket.
//!
//! Koudas et al. 2009, section 4.2. A query on quasi-identifiers then selects all of a part or
//! nothing, so it is wide only by what was generalized; but small parts must be generalized more to
//! follow the target. Better than [SA-only](super::sa_only) for narrow queries where
//! quasi-identifiers tell little about the sensitive attribute.

use super::{Distributed, Problem};
use crate::error::Result;
use crate::table::Tallies;
use crate::watch::{PIECE, Watch};
use std::borrow::Cow;

/// Fills a bucket for each part; `tuples` numbers the tuple of quasi-identifiers of each row. Parts
/// are in the order of their groups, then of their tuples.
pub fn search<'a>(problem: &Problem<'a>, tuples: &[u32], watch: &Watch) -> Result<Distributed<'a>> {
    let pair = |(group, tuple): (&u32, &u32)| u64::from(*group) << 32 | u64::from(*tuple);
    let pieces = || problem.groups.chunks(PIECE).zip(tuples.chunks(PIECE));
    let mut sorted: Vec<u64> = Vec::with_capacity(tuples.len());
    for (groups, tuples) in pieces() {
        watch.check()?;
        sorted.extend(groups.iter().zip(tuples).map(pair));
    }
    watch.sort(&mut sorted)?;
    let mut parts: Vec<u64> = Vec::new();
    for piece in sorted.chunks(PIECE) {
        watch.check()?;
        for part in piece {
            if parts.last() != Some(part) {
                parts.push(*part);
            }
        }
    }
    drop(sorted);
    let number = |row| parts.binary_search(&pair(row)).map_or(0, |part| part as u32);
    let mut groups: Vec<u32> = Vec::with_capacity(tuples.len());
    for (owner, tuples) in pieces() {
        watch.check()?;
        groups.extend(owner.iter().zip(tuples).map(number));
    }
    let part_of: Vec<u32> = parts.iter().map(|part| (part >> 32) as u32).collect();
    let tallies = Tallies::count(parts.len(), &groups, problem.values, watch)?;
    let buckets = problem.fill(&tallies, &part_of, watch)?;
    Ok(Distributed { groups: groups.into(), tallies: Cow::Owned(tallies), part_of, buckets })
}
