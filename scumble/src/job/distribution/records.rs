//! The records: what is released of each row, and its group, sorted by that.
//!
//! A record becomes a number that sorts like it: its group, then the ranks of its values. What is
//! written of it is read off this number again, so the table is not visited in random order.
//! Records go to the place of their group and its neighbours first, by counting; then each place
//! sorts its own.

use super::plan::Plan;
use super::tables::names;
use crate::error::{Error, Result};
use crate::release::inverse;
use crate::source::Series;
use crate::watch::{AT_ONCE, PIECE, Watch};
use arrow_array::StringArray;
use rayon::prelude::*;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

/// Places that records are put to before they are sorted: so few that the ends of all are near, so
/// many that what is in one is sorted near the core.
const PLACES: u64 = 512;

/// Records of one place that are worth several threads: there are more than a fair share, as a
/// large group has.
const LARGE: usize = 1 << 18;

/// The records of a release, in their order.
pub(super) struct Sorted {
    packing: Packing,
    /// The values of each column in the order of what they are called.
    orders: Vec<Vec<u32>>,
    /// The words of all records; none if they keep the order of the input.
    words: Option<Vec<u64>>,
}

impl Sorted {
    /// Sorts the records; `sizes` tells how many each group has.
    pub(super) fn new(
        plan: &Plan<'_>,
        groups: &[u32],
        sizes: &[u32],
        keep_order: bool,
        watch: &Watch,
    ) -> Result<Sorted> {
        let orders: Vec<Vec<u32>> = plan.columns.par_iter().map(|column| column.order()).collect();
        let packing = Packing::new(&orders, sizes.len());
        watch.check()?;
        let words = if keep_order { None } else { Some(packing.sort(plan, groups, sizes, watch)?) };
        Ok(Sorted { packing, orders, words })
    }

    /// What the values of each column are called, in their order, and the groups.
    pub(super) fn labels(&self, plan: &Plan<'_>, groups: &[String]) -> Vec<StringArray> {
        let columns = plan.columns.iter().zip(&self.orders);
        let columns =
            columns.map(|(column, order)| names(order.iter().map(|value| column.label(*value))));
        columns.chain([names(groups.iter().map(String::as_str))]).collect()
    }

    /// The columns of some records, told by number among `labels`.
    pub(super) fn columns(
        &self,
        plan: &Plan<'_>,
        groups: &[u32],
        rows: Range<usize>,
        labels: &[StringArray],
    ) -> Vec<Series> {
        let words = self.packing.words;
        let packed: Cow<'_, [u64]> = match &self.words {
            Some(sorted) => Cow::Borrowed(&sorted[rows.start * words..rows.end * words]),
            None => {
                let mut packed = vec![0; rows.len() * words];
                for (at, record) in rows.zip(packed.chunks_exact_mut(words)) {
                    self.packing.pack(plan, groups, at, record);
                }
                packed.into()
            }
        };
        let column = |part: &BitField| -> Vec<i32> {
            packed.chunks_exact(words).map(|record| part.of(record) as i32).collect()
        };
        // The group comes first in a record, and last in the table.
        let (group, columns) = (&self.packing.parts[..1], &self.packing.parts[1..]);
        let parts = columns.iter().chain(group).zip(labels);
        parts.map(|(part, labels)| Series::Numbered(column(part).into(), labels.clone())).collect()
    }
}

/// How a record becomes numbers that sort like it, in as few 64-bit words as they need.
struct Packing {
    ranks: Vec<Vec<u32>>,
    /// Where the group stands, then the rank of each column's value.
    parts: Vec<BitField>,
    words: usize,
}

/// Where a number stands in the words of a record.
struct BitField {
    word: usize,
    shift: u32,
    mask: u64,
}

impl BitField {
    #[inline]
    fn of(&self, record: &[u64]) -> u32 {
        (record[self.word] >> self.shift & self.mask) as u32
    }
}

impl Packing {
    /// `orders` has the values of each column in the order of what they are called.
    fn new(orders: &[Vec<u32>], groups: usize) -> Packing {
        let (mut parts, mut word, mut room) = (Vec::new(), 0, u64::BITS);
        for size in [groups].into_iter().chain(orders.iter().map(Vec::len)) {
            let bits = (usize::BITS - size.leading_zeros()).max(1);
            if bits > room {
                (word, room) = (word + 1, u64::BITS);
            }
            room -= bits;
            parts.push(BitField { word, shift: room, mask: (1u64 << bits) - 1 });
        }
        let ranks = orders.par_iter().map(|order| inverse(order)).collect();
        Packing { ranks, parts, words: word + 1 }
    }

    /// The words of a released record, which are all zero before.
    #[inline]
    fn pack(&self, plan: &Plan<'_>, groups: &[u32], at: usize, record: &mut [u64]) {
        let row = plan.rows.get(at);
        record[0] |= u64::from(groups[at]) << self.parts[0].shift;
        for ((column, ranks), part) in plan.columns.iter().zip(&self.ranks).zip(&self.parts[1..]) {
            record[part.word] |= u64::from(ranks[column.codes[row] as usize]) << part.shift;
        }
    }

    /// The words of all records in order. Records with equal words are equal in all that is
    /// released, so their order is nobody's business.
    fn sort(
        &self,
        plan: &Plan<'_>,
        groups: &[u32],
        sizes: &[u32],
        watch: &Watch,
    ) -> Result<Vec<u64>> {
        let (place_of, ends) = places(sizes);
        let mut next: Vec<usize> = [0].into_iter().chain(ends.iter().copied()).collect();
        let mut place = |at: usize| {
            let next = &mut next[place_of[groups[at] as usize] as usize];
            *next += 1;
            *next - 1
        };
        let words = self.words;
        if words == 1 {
            let mut records = vec![0u64; groups.len()];
            for at in 0..groups.len() {
                if at % PIECE == 0 {
                    watch.check()?;
                }
                let mut record = [0];
                self.pack(plan, groups, at, &mut record);
                records[place(at)] = record[0];
            }
            each_place(&mut records, &ends, watch, |part| sort_by(part, watch, u64::cmp))?;
            return Ok(records);
        }
        // Longer ones stay where they are while their numbers are sorted.
        let mut records = vec![0u64; groups.len() * words];
        records.par_chunks_mut(words * PIECE).enumerate().try_for_each(|(piece, records)| {
            watch.check()?;
            let records = records.chunks_exact_mut(words).enumerate();
            records.for_each(|(at, record)| self.pack(plan, groups, piece * PIECE + at, record));
            Ok::<(), Error>(())
        })?;
        let mut order = vec![0u32; groups.len()];
        watch.each(0..groups.len(), PIECE, |at| order[place(at)] = at as u32)?;
        let record = |at: &u32| &records[*at as usize * words..][..words];
        let compare = |one: &u32, other: &u32| record(one).cmp(record(other));
        each_place(&mut order, &ends, watch, |part| sort_by(part, watch, compare))?;
        let mut sorted = Vec::with_capacity(records.len());
        watch.each(&order, PIECE, |at| sorted.extend_from_slice(record(at)))?;
        Ok(sorted)
    }
}

/// Neighbouring groups of some sizes share a place: the place of each, and where each place ends.
fn places(sizes: &[u32]) -> (Vec<u32>, Vec<usize>) {
    // Where nobody is anywhere, one place is enough.
    let total = sizes.iter().map(|size| u64::from(*size)).sum::<u64>().max(1);
    let (mut place_of, mut ends, mut end) = (Vec::with_capacity(sizes.len()), Vec::new(), 0u64);
    for size in sizes {
        // A place that has its share is full.
        if ends.is_empty() || end * PLACES >= ends.len() as u64 * total {
            ends.push(0);
        }
        end += u64::from(*size);
        place_of.push(ends.len() as u32 - 1);
        if let Some(last) = ends.last_mut() {
            *last = end as usize;
        }
    }
    (place_of, ends)
}

/// Does something with each of the parts of some items that end at `ends`, in parallel.
fn each_place<T: Send>(
    items: &mut [T],
    ends: &[usize],
    watch: &Watch,
    each: impl Fn(&mut [T]) -> Result<()> + Send + Sync,
) -> Result<()> {
    let (mut rest, mut start, mut parts) = (items, 0, Vec::with_capacity(ends.len()));
    for end in ends {
        let (part, others) = rest.split_at_mut(end - start);
        parts.push(part);
        (rest, start) = (others, *end);
    }
    parts.into_par_iter().try_for_each(|part| watch.check().and_then(|()| each(part)))
}

/// Sorts items. Very many are sorted elsewhere, so that an abort need not wait.
fn sort_by<T: Copy + Send + Sync>(
    items: &mut [T],
    watch: &Watch,
    compare: impl Fn(&T, &T) -> Ordering + Sync + Copy,
) -> Result<()> {
    if items.len() < LARGE {
        items.sort_unstable_by(compare);
    } else if items.len() <= AT_ONCE {
        items.par_sort_unstable_by(compare);
    } else {
        let mut sorted = items.to_vec();
        watch.sort_by(&mut sorted, compare)?;
        items.copy_from_slice(&sorted);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn places_are_in_the_order_of_their_groups_and_have_room_for_them() {
        let mut random = Random::new(4);
        for round in 0..50 {
            let sizes: Vec<u32> =
                (0..1 + 40 * round).map(|_| random.below(1 << (round % 20)) as u32).collect();
            let (place_of, ends) = places(&sizes);
            assert!(place_of.is_sorted() && ends.is_sorted() && ends.len() as u64 <= PLACES + 1);
            let mut counted = vec![0; ends.len()];
            place_of
                .iter()
                .zip(&sizes)
                .for_each(|(place, size)| counted[*place as usize] += *size as usize);
            let mut sum = 0;
            for (counted, end) in counted.iter().zip(&ends) {
                sum += counted;
                assert_eq!(sum, *end);
            }
        }
    }
}
