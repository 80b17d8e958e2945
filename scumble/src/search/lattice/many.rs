//! Roll-up of many groups, in parts.
//!
//! Groups that become one have the same key, and so the same hash: those whose hashes begin alike
//! are put together by themselves, in a table that fits into cache, and different parts by
//! different threads. Most nodes of a large and sparse table are only visited to prove that too
//! many rows are in groups that are too small, and that is often certain after a few parts.

use super::groups::{GroupKey, GroupScratch, TooSmall, regroup as regroup_part};
use crate::error::Result;
use crate::watch::Watch;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSlice;

/// So many first bits of a hash tell the part.
const BITS: u32 = 8;
const PARTS: usize = 1 << BITS;

/// Groups that are cut into parts at a time.
const CHUNK: usize = 1 << 18;

/// Parts that are put together before it is asked whether the rest is needed. Fixed, like all of
/// these, so that the answer does not depend on the number of threads.
const AT_A_TIME: usize = 16;

/// Some groups in the order of their parts.
struct Chunk<K> {
    groups: Vec<(K, u32)>,
    /// Where each stood before, if that is asked for.
    origins: Vec<u32>,
    starts: Vec<u32>,
}

impl<K: GroupKey> Chunk<K> {
    /// Cuts groups, the first of which is number `first`, after each key has become another.
    fn cut(groups: &[(K, u32)], first: u32, with_origins: bool, lift: impl Fn(K) -> K) -> Chunk<K> {
        let part = |key: &K| (key.hash() >> (u64::BITS - BITS)) as usize;
        let lifted: Vec<(K, u32)> = groups.iter().map(|(key, rows)| (lift(*key), *rows)).collect();
        let mut starts = vec![0; PARTS + 1];
        for (key, _) in &lifted {
            starts[part(key) + 1] += 1;
        }
        for part in 0..PARTS {
            starts[part + 1] += starts[part];
        }
        let mut next: Vec<u32> = starts.clone();
        let mut sorted = vec![(K::default(), 0); lifted.len()];
        let mut origins = vec![0; if with_origins { lifted.len() } else { 0 }];
        for (number, group) in (first..).zip(&lifted) {
            let next = &mut next[part(&group.0)];
            sorted[*next as usize] = *group;
            if with_origins {
                origins[*next as usize] = number;
            }
            *next += 1;
        }
        Chunk { groups: sorted, origins, starts }
    }

    fn range(&self, part: usize) -> std::ops::Range<usize> {
        self.starts[part] as usize..self.starts[part + 1] as usize
    }
}

/// The groups of a part, and where those that it was made of went.
type PartOfGroups<K> = (Vec<(K, u32)>, Vec<u32>);

fn put_together<K: GroupKey>(
    chunks: &[Chunk<K>],
    part: usize,
    with_went: bool,
    scratch: &mut GroupScratch<K>,
    watch: &Watch,
) -> Result<PartOfGroups<K>> {
    let mut groups = Vec::with_capacity(chunks.iter().map(|chunk| chunk.range(part).len()).sum());
    for chunk in chunks {
        watch.check()?;
        groups.extend_from_slice(&chunk.groups[chunk.range(part)]);
    }
    let mut went = Vec::with_capacity(if with_went { groups.len() } else { 0 });
    let found = if with_went {
        regroup_part::<K, true>(&groups, BITS, scratch, &mut went, watch, |key| key)?
    } else {
        regroup_part::<K, false>(&groups, BITS, scratch, &mut went, watch, |key| key)?
    };
    Ok((found.to_vec(), went))
}

/// The groups after each key has become another, and where each went if that is asked for; `None`
/// as soon as it is certain that too many rows are in groups that are too small.
pub(super) fn regroup<K: GroupKey>(
    groups: &[(K, u32)],
    went: &mut Vec<u32>,
    with_went: bool,
    unless: Option<TooSmall>,
    lift: impl Fn(K) -> K + Sync,
    watch: &Watch,
) -> Result<Option<Vec<(K, u32)>>> {
    let chunks: Vec<Chunk<K>> = groups
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(number, chunk)| {
            watch.check()?;
            Ok(Chunk::cut(chunk, (number * CHUNK) as u32, with_went, &lift))
        })
        .collect::<Result<_>>()?;
    let (mut parts, mut small) = (Vec::<PartOfGroups<K>>::with_capacity(PARTS), 0);
    while parts.len() < PARTS {
        let next: Vec<PartOfGroups<K>> = (parts.len()..parts.len() + AT_A_TIME)
            .into_par_iter()
            .map_init(GroupScratch::default, |scratch, part| {
                put_together(&chunks, part, with_went, scratch, watch)
            })
            .collect::<Result<_>>()?;
        if let Some(too_small) = &unless {
            small +=
                too_small.rows(next.iter().flat_map(|(groups, _)| groups).map(|(_, rows)| *rows));
            if small > too_small.limit {
                return Ok(None);
            }
        }
        parts.extend(next);
    }
    if with_went {
        went.resize(groups.len(), 0);
        let mut before = 0;
        for (part, (groups, places)) in parts.iter().enumerate() {
            let mut places = places.iter();
            for chunk in &chunks {
                watch.check()?;
                for (origin, place) in chunk.origins[chunk.range(part)].iter().zip(places.by_ref())
                {
                    went[*origin as usize] = before + place;
                }
            }
            before += groups.len() as u32;
        }
    }
    let mut whole = Vec::with_capacity(parts.iter().map(|(groups, _)| groups.len()).sum());
    for (groups, _) in parts {
        watch.check()?;
        whole.extend_from_slice(&groups);
    }
    Ok(Some(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::collections::HashMap;

    /// What is put together in parts is what counting one by one gives, and giving up is right.
    #[test]
    fn parts_make_the_whole() {
        let mut random = Random::stream(1, 2);
        let groups: Vec<([u64; 1], u32)> =
            (0..300_000).map(|_| ([random.below(40_000)], 1 + random.below(3) as u32)).collect();
        let lift = |key: [u64; 1]| [key[0] / 3];
        let mut truth: HashMap<[u64; 1], u32> = HashMap::new();
        for (key, rows) in &groups {
            *truth.entry(lift(*key)).or_default() += rows;
        }
        let mut went = Vec::new();
        let watch = Watch::silent();
        let found = regroup(&groups, &mut went, true, None, lift, &watch).unwrap().unwrap();
        assert_eq!(found.iter().copied().collect::<HashMap<_, _>>(), truth);
        assert_eq!(found.len(), truth.len());
        for ((key, _), place) in groups.iter().zip(&went) {
            assert_eq!(found[*place as usize].0, lift(*key));
        }
        let small: u64 =
            truth.values().filter(|rows| **rows < 40).map(|rows| u64::from(*rows)).sum();
        assert!(small > 100);
        let unless = |limit| Some(TooSmall { least: 40, limit });
        let mut nowhere = Vec::new();
        let mut regrouped =
            |limit| regroup(&groups, &mut nowhere, false, unless(limit), lift, &watch).unwrap();
        assert_eq!(regrouped(small), Some(found));
        assert_eq!(regrouped(small - 1), None);
    }
}
