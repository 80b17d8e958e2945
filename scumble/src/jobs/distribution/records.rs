//! `records.csv`: what is released of each record, and its group, sorted by that.
//!
//! A record becomes a number that sorts like it: its group, then the ranks of its values. What is
//! written of it is read off this number again, so the table is not visited in random order.
//! Records go to the place of their group and its neighbours first, by counting; then each place
//! sorts its own.

use super::lines::{Lines, rendered};
use super::plan::{GROUP, Plan};
use crate::error::Result;
use crate::release::{FolderDraft, Page, inverse, push_field};
use rayon::prelude::*;
use std::ops::Range;

/// Places that records are put to before they are sorted: so few that the ends of all are near, so
/// many that what is in one is sorted near the core.
const PLACES: u64 = 512;

/// Records of one place that are worth several threads: there are more than a fair share, as a
/// large group has.
const LARGE: usize = 1 << 18;

/// Writes the records; `sizes` tells how many each group has. Returns the bytes.
pub(super) fn write(
    draft: &FolderDraft,
    plan: &Plan<'_>,
    groups: &[u32],
    names: &[String],
    sizes: &[u32],
    keep_order: bool,
) -> Result<u64> {
    let mut header = Vec::new();
    for (position, column) in plan.columns.iter().enumerate() {
        push_field(&mut header, column.name, position, b',');
    }
    push_field(&mut header, GROUP, plan.columns.len(), b',');
    let mut lines = Lines::create(draft, "records.csv", &String::from_utf8_lossy(&header))?;
    // In the order of what values are called, as ranks are.
    let orders: Vec<Vec<u32>> = plan.columns.par_iter().map(|column| column.order()).collect();
    let fields: Vec<_> = plan
        .columns
        .iter()
        .zip(&orders)
        .enumerate()
        .map(|(position, (column, order))| {
            rendered(order.iter().map(|value| column.label(*value)), position, "")
        })
        .collect();
    let group_names = rendered(names.iter().map(String::as_str), plan.columns.len(), "\n");
    let packing = Packing::new(&orders, names.len());
    drop(orders);
    let (group_part, parts) = (&packing.parts[0], &packing.parts[1..]);
    let say = |page: &mut Page, record: &[u64]| {
        fields.iter().zip(parts).for_each(|(fields, part)| fields.push(page, part.of(record)));
        group_names.push(page, group_part.of(record));
    };
    let sorted = match keep_order {
        true => Vec::new(),
        false => packing.sort(plan, groups, sizes),
    };
    let make = |range: Range<usize>, page: &mut Page| {
        if !keep_order {
            return range.for_each(|at| say(page, &sorted[at * packing.words..][..packing.words]));
        }
        let mut record = vec![0; packing.words];
        for at in range {
            record.fill(0);
            packing.pack(plan, groups, at, &mut record);
            say(page, &record);
        }
    };
    lines.write_all(groups.len(), |_| 1, make)?;
    Ok(lines.finish())
}

/// How a record becomes numbers that sort like it, in as few 64-bit words as they need.
struct Packing {
    ranks: Vec<Vec<u32>>,
    /// Where the group stands, then the rank of each column's value.
    parts: Vec<Part>,
    words: usize,
}

/// Where a number stands in the words of a record.
struct Part {
    word: usize,
    shift: u32,
    mask: u64,
}

impl Part {
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
            parts.push(Part { word, shift: room, mask: (1u64 << bits) - 1 });
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
    fn sort(&self, plan: &Plan<'_>, groups: &[u32], sizes: &[u32]) -> Vec<u64> {
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
                let mut record = [0];
                self.pack(plan, groups, at, &mut record);
                records[place(at)] = record[0];
            }
            each_place(&mut records, &ends, |part| match part.len() < LARGE {
                true => part.sort_unstable(),
                false => part.par_sort_unstable(),
            });
            return records;
        }
        // Longer ones stay where they are while their numbers are sorted.
        let mut records = vec![0u64; groups.len() * words];
        records
            .par_chunks_mut(words)
            .enumerate()
            .for_each(|(at, record)| self.pack(plan, groups, at, record));
        let mut order = vec![0u32; groups.len()];
        (0..groups.len()).for_each(|at| order[place(at)] = at as u32);
        let record = |at: &u32| &records[*at as usize * words..][..words];
        each_place(&mut order, &ends, |part| match part.len() < LARGE {
            true => part.sort_unstable_by_key(record),
            false => part.par_sort_unstable_by_key(record),
        });
        order.iter().flat_map(record).copied().collect()
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
fn each_place<T: Send>(items: &mut [T], ends: &[usize], each: impl Fn(&mut [T]) + Send + Sync) {
    let (mut rest, mut start, mut parts) = (items, 0, Vec::with_capacity(ends.len()));
    for end in ends {
        let (part, others) = rest.split_at_mut(end - start);
        parts.push(part);
        (rest, start) = (others, *end);
    }
    parts.into_par_iter().for_each(each);
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
