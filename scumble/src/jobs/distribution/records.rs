//! `records.csv`: what is released of each record, and its group, sorted by that.
//!
//! Records go to the place of their group first, by counting; then each group sorts its own. What sorts a record are the ranks of
//! its values, packed into a number, and what is written of it is read off this number again, so the table is not visited
//! in random order.

use super::lines::{Fields, Lines};
use super::plan::{GROUP, Plan};
use crate::error::Result;
use crate::release::{FolderDraft, push_field};
use rayon::prelude::*;
use std::ops::Range;

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
    let fields: Vec<Fields> = plan
        .columns
        .iter()
        .zip(&orders)
        .enumerate()
        .map(|(position, (column, order))| Fields::new(order.iter().map(|value| column.label(*value)), position, ""))
        .collect();
    let group_names = Fields::new(names.iter().map(String::as_str), plan.columns.len(), "\n");
    let packing = Packing::new(plan, &orders);
    let say = |bytes: &mut Vec<u8>, record: &[u64], group: u32| {
        for (fields, place) in fields.iter().zip(&packing.places) {
            fields.push(bytes, place.rank(record));
        }
        group_names.push(bytes, group);
    };
    let records = groups.len();
    match keep_order {
        true => {
            let make = |range: Range<usize>, bytes: &mut Vec<u8>| {
                let mut record = vec![0; packing.words];
                for at in range {
                    packing.pack(plan, at, &mut record);
                    say(bytes, &record, groups[at]);
                }
            };
            lines.write_all(records, |_| 1, make)?;
        }
        false => {
            let ends = ends(sizes);
            let sorted = packing.sort(plan, groups, &ends);
            let make = |range: Range<usize>, bytes: &mut Vec<u8>| {
                let mut group = ends.partition_point(|end| *end as usize <= range.start);
                for at in range {
                    while ends[group] as usize <= at {
                        group += 1;
                    }
                    say(bytes, &sorted[at * packing.words..][..packing.words], group as u32);
                }
            };
            lines.write_all(records, |_| 1, make)?;
        }
    }
    Ok(lines.finish())
}

/// Where each group ends if groups lie one behind the other.
fn ends(sizes: &[u32]) -> Vec<u32> {
    let sum = |sum: &mut u32, size: &u32| {
        *sum += size;
        Some(*sum)
    };
    sizes.iter().scan(0, sum).collect()
}

/// How a record becomes numbers that sort like the ranks of its values, in as few 64-bit words as they need.
struct Packing {
    ranks: Vec<Vec<u32>>,
    places: Vec<Place>,
    words: usize,
}

/// Where the rank of a column's value stands.
struct Place {
    word: usize,
    shift: u32,
    mask: u64,
}

impl Place {
    #[inline]
    fn rank(&self, record: &[u64]) -> u32 {
        (record[self.word] >> self.shift & self.mask) as u32
    }
}

impl Packing {
    /// `orders` has the values of each column in the order of what they are called.
    fn new(plan: &Plan<'_>, orders: &[Vec<u32>]) -> Packing {
        debug_assert_eq!(plan.columns.len(), orders.len());
        let (mut places, mut word, mut room) = (Vec::new(), 0, u64::BITS);
        for order in orders {
            let bits = (usize::BITS - order.len().leading_zeros()).max(1);
            if bits > room {
                (word, room) = (word + 1, u64::BITS);
            }
            room -= bits;
            places.push(Place { word, shift: room, mask: (1u64 << bits) - 1 });
        }
        let ranks = orders.par_iter().map(|order| {
            let mut ranks = vec![0; order.len()];
            (0..).zip(order).for_each(|(rank, value)| ranks[*value as usize] = rank);
            ranks
        });
        Packing { ranks: ranks.collect(), places, words: word + 1 }
    }

    /// The words of a released record.
    #[inline]
    fn pack(&self, plan: &Plan<'_>, at: usize, record: &mut [u64]) {
        let row = plan.rows.get(at);
        record.fill(0);
        for ((column, ranks), place) in plan.columns.iter().zip(&self.ranks).zip(&self.places) {
            record[place.word] |= u64::from(ranks[column.codes[row] as usize]) << place.shift;
        }
    }

    /// The words of all records, group by group, each group sorted. Records with equal words are equal in all that is released, so
    /// their order is nobody's business.
    fn sort(&self, plan: &Plan<'_>, groups: &[u32], ends: &[u32]) -> Vec<u64> {
        let mut next: Vec<u32> = [0].into_iter().chain(ends.iter().copied()).take(ends.len()).collect();
        let mut place = |at: usize| {
            let next = &mut next[groups[at] as usize];
            *next += 1;
            *next as usize - 1
        };
        let words = self.words;
        if words == 1 {
            let mut records = vec![0u64; groups.len()];
            for at in 0..groups.len() {
                self.pack(plan, at, &mut records[place(at)..][..1]);
            }
            for_each_part(&mut records, ends, |part, large| match large {
                true => part.par_sort_unstable(),
                false => part.sort_unstable(),
            });
            return records;
        }
        // Longer ones stay where they are while their numbers are sorted.
        let mut records = vec![0u64; groups.len() * words];
        records.par_chunks_mut(words).enumerate().for_each(|(at, record)| self.pack(plan, at, record));
        let mut order = vec![0u32; groups.len()];
        (0..groups.len()).for_each(|at| order[place(at)] = at as u32);
        let record = |at: &u32| &records[*at as usize * words..][..words];
        for_each_part(&mut order, ends, |part, large| match large {
            true => part.par_sort_unstable_by_key(record),
            false => part.sort_unstable_by_key(record),
        });
        order.iter().flat_map(record).copied().collect()
    }
}

/// A part of so many items is worth several threads of its own.
const LARGE: usize = 1 << 14;

/// Does something with each of the parts of some items that end at `ends`, many at a time; says whether a part is so large
/// that it should be done in parallel itself.
fn for_each_part<T: Send>(items: &mut [T], ends: &[u32], each: impl Fn(&mut [T], bool) + Sync) {
    fn halve<T: Send>(items: &mut [T], start: u32, ends: &[u32], each: &(impl Fn(&mut [T], bool) + Sync)) {
        if items.len() < LARGE || ends.len() < 2 {
            let (mut rest, mut start) = (items, start);
            for end in ends {
                let (part, others) = rest.split_at_mut((end - start) as usize);
                let large = part.len() >= LARGE;
                each(part, large);
                (rest, start) = (others, *end);
            }
            return;
        }
        let (first, last) = ends.split_at(ends.len() / 2);
        let middle = first[first.len() - 1];
        let (left, right) = items.split_at_mut((middle - start) as usize);
        rayon::join(|| halve(left, start, first, each), || halve(right, middle, last, each));
    }
    halve(items, 0, ends, &each);
}
