//! A sort that can be aborted.
//!
//! A sort of the standard library cannot be interrupted, and a hundred million items take it
//! seconds. So many items are dealt into parts by splitters that are drawn from them (samplesort),
//! each piece by itself, and each part is sorted by itself: between pieces and parts the watch is
//! polled.

use super::{PIECE, Watch};
use crate::error::Result;
use rayon::prelude::*;
use std::cmp::Ordering;

/// Items that are sorted at once: some ten milliseconds.
pub(crate) const AT_ONCE: usize = 1 << 19;

/// Splitters at most; there is a part for each, and one between any two.
const SPLITTERS: usize = 255;

/// Items that are looked at for each splitter.
const DRAWN: usize = 16;

/// Items of one piece in the order of their parts.
struct Dealt<T> {
    items: Vec<T>,
    starts: Vec<u32>,
}

impl<T> Dealt<T> {
    fn part(&self, part: usize) -> &[T] {
        &self.items[self.starts[part] as usize..self.starts[part + 1] as usize]
    }
}

/// The part of an item: even numbers lie between splitters, odd ones are equal to one.
fn part_of<T>(splitters: &[T], item: &T, compare: &impl Fn(&T, &T) -> Ordering) -> usize {
    let at = splitters.partition_point(|splitter| compare(splitter, item).is_lt());
    let equal = splitters.get(at).is_some_and(|splitter| compare(splitter, item).is_eq());
    2 * at + usize::from(equal)
}

fn deal<T: Copy>(
    piece: &[T],
    splitters: &[T],
    compare: &impl Fn(&T, &T) -> Ordering,
) -> Option<Dealt<T>> {
    let parts: Vec<u16> =
        piece.iter().map(|item| part_of(splitters, item, compare) as u16).collect();
    let mut starts = vec![0u32; 2 * splitters.len() + 2];
    parts.iter().for_each(|part| starts[usize::from(*part) + 1] += 1);
    (1..starts.len()).for_each(|part| starts[part] += starts[part - 1]);
    let mut next = starts.clone();
    let mut items = vec![*piece.first()?; piece.len()];
    for (item, part) in piece.iter().zip(&parts) {
        let place = &mut next[usize::from(*part)];
        items[*place as usize] = *item;
        *place += 1;
    }
    Some(Dealt { items, starts })
}

impl Watch {
    /// Sorts items, unless the job is aborted; the order of equal items is open.
    pub(crate) fn sort<T: Copy + Ord + Send + Sync>(&self, items: &mut Vec<T>) -> Result<()> {
        self.sort_by(items, T::cmp)
    }

    /// Sorts items by a comparison, unless the job is aborted; the order of equal items is open.
    pub(crate) fn sort_by<T: Copy + Send + Sync>(
        &self,
        items: &mut Vec<T>,
        compare: impl Fn(&T, &T) -> Ordering + Sync + Copy,
    ) -> Result<()> {
        self.check()?;
        if items.len() <= AT_ONCE {
            items.sort_unstable_by(compare);
            return Ok(());
        }
        let step = items.len() / (SPLITTERS * DRAWN);
        let mut drawn: Vec<T> = items.iter().step_by(step).copied().collect();
        drawn.sort_unstable_by(compare);
        let mut splitters: Vec<T> = drawn.into_iter().skip(DRAWN / 2).step_by(DRAWN).collect();
        splitters.truncate(SPLITTERS);
        splitters.dedup_by(|a, b| compare(a, b).is_eq());
        let deal = |piece: &[T]| self.check().map(|()| deal(piece, &splitters, &compare));
        let dealt: Vec<Option<Dealt<T>>> =
            items.par_chunks(PIECE).map(deal).collect::<Result<_>>()?;
        let sorted = |part: usize| {
            let mut items = Vec::new();
            for dealt in dealt.iter().flatten() {
                self.check()?;
                items.extend_from_slice(dealt.part(part));
            }
            // What is equal to a splitter is in order.
            if part.is_multiple_of(2) {
                self.sort_by(&mut items, compare)?;
            }
            Ok(items)
        };
        let parts: Vec<Vec<T>> =
            (0..=2 * splitters.len()).into_par_iter().map(sorted).collect::<Result<_>>()?;
        drop(dealt);
        items.clear();
        for piece in parts.iter().flat_map(|part| part.chunks(PIECE)) {
            self.check()?;
            items.extend_from_slice(piece);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::random::Random;

    #[test]
    fn many_items_are_sorted_as_few_are() {
        let mut random = Random::stream(1, 1);
        // All different, some often, all equal, and in order already.
        for most in [u64::MAX, 1000, 3, 1] {
            let mut items: Vec<u64> = (0..2 * AT_ONCE + 77).map(|_| random.below(most)).collect();
            let mut truth = items.clone();
            truth.sort_unstable();
            for _ in 0..2 {
                Watch::silent().sort(&mut items).unwrap();
                assert!(items == truth, "{most}");
            }
        }
    }

    #[test]
    fn an_abort_ends_a_sort_with_an_error() {
        let items: Vec<u64> = (0..AT_ONCE as u64 + 1).rev().collect();
        let mut ended = 0;
        for polls in (0..).step_by(37) {
            match Watch::aborting_after(polls).sort(&mut items.clone()) {
                Err(Error::Interrupted) => ended += 1,
                other => {
                    other.unwrap();
                    break;
                }
            }
        }
        assert!(ended > 3);
    }
}
