//! Groups of cells at a node of the lattice, and their roll-up to a coarser node.
//!
//! A group's key holds the node of each column in a bit field of its own, wide enough for the column's leaves, so
//! rolling up replaces fields and needs no other data than the finer groups. Keys have as many 64-bit words as the
//! columns need; one is the rule.

use super::Node;
use crate::search::Task;
use crate::table::Tallies;
use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

/// A key of `W` words.
pub(super) type Key<const W: usize> = [u64; W];

/// Where a column's node stands in a key.
#[derive(Clone, Copy, Debug)]
struct Field {
    word: usize,
    shift: u32,
    mask: u64,
}

/// The bit fields of all columns, and the way of every node up its taxonomy.
#[derive(Debug)]
pub(super) struct Layout {
    fields: Vec<Field>,
    words: usize,
    /// `lifts[column][from][to - from - 1]`: the node of level `to` above each node of level `from`.
    lifts: Vec<Vec<Vec<Vec<u32>>>>,
}

impl Layout {
    pub(super) fn new(task: &Task) -> Layout {
        let (mut word, mut shift) = (0, 0);
        let mut fields = Vec::new();
        for taxonomy in &task.taxonomies {
            let bits = u32::BITS - (taxonomy.codes() - 1).leading_zeros();
            if shift + bits > u64::BITS {
                (word, shift) = (word + 1, 0);
            }
            fields.push(Field { word, shift, mask: (1u64 << bits) - 1 });
            shift += bits;
        }
        let lifts = task
            .taxonomies
            .iter()
            .map(|taxonomy| {
                let top = taxonomy.height();
                (0..top).map(|from| (from + 1..=top).map(|to| taxonomy.lift(from, to)).collect()).collect()
            })
            .collect();
        Layout { fields, words: word + 1, lifts }
    }

    /// Words that a key needs.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// The node of a column in a key.
    pub(super) fn node<const W: usize>(&self, key: &Key<W>, column: usize) -> u32 {
        let Field { word, shift, mask } = self.fields[column];
        (key[word] >> shift & mask) as u32
    }
}

/// One column going up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) column: usize,
    pub(super) from: usize,
    pub(super) to: usize,
    /// The node that is reached.
    pub(super) node: Node,
}

/// The hash table of a roll-up. Each slot holds the round it was filled in and a group, so that a new round empties it
/// without touching it.
#[derive(Debug)]
struct Slots {
    round: u32,
    slots: Vec<u64>,
}

impl Slots {
    fn renew(&mut self, size: usize) {
        if self.round == u32::MAX {
            self.slots.clear();
            self.round = 0;
        }
        if self.slots.len() < size {
            self.slots.resize(size, 0);
        }
        self.round += 1;
    }
}

thread_local! {
    /// Kept by each thread, so that its memory is not asked for again and again.
    static SLOTS: RefCell<Slots> = const { RefCell::new(Slots { round: 0, slots: Vec::new() }) };
}

/// The groups at one node of the lattice. What the counted columns hold is put together only when it is asked for:
/// many nodes are decided by their counts alone.
#[derive(Debug)]
pub(super) struct Groups<const W: usize> {
    pub(super) node: Node,
    pub(super) keys: Vec<Key<W>>,
    pub(super) counts: Vec<u32>,
    tallies: OnceLock<Vec<Tallies>>,
    /// The finer groups that these were rolled up from, and where each of them went.
    from: Option<(Arc<Groups<W>>, Vec<u32>)>,
}

impl<const W: usize> Groups<W> {
    /// The cells themselves: the groups where nothing is generalized.
    pub(super) fn bottom(task: &Task, layout: &Layout, bottom: Node) -> Groups<W> {
        let pack = |cell: u32| {
            let mut key = [0; W];
            for (code, field) in task.cells.codes(cell).iter().zip(&layout.fields) {
                key[field.word] |= u64::from(*code) << field.shift;
            }
            key
        };
        Groups {
            node: bottom,
            keys: (0..task.cells.len() as u32).map(pack).collect(),
            counts: task.cells.counts().to_vec(),
            tallies: OnceLock::from(task.tallies.clone()),
            from: None,
        }
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The values of the counted columns in each group.
    pub(super) fn tallies(&self, values: &[usize]) -> &[Tallies] {
        self.tallies.get_or_init(|| match &self.from {
            None => Vec::new(),
            Some((finer, went)) => {
                let merge = |(tally, values): (&Tallies, &usize)| tally.merge(self.len(), went, *values);
                finer.tallies(values).iter().zip(values).map(merge).collect()
            }
        })
    }

    /// The groups after one column has gone up. `with_tallies` remembers the way for the counted columns.
    pub(super) fn raise(self: &Arc<Self>, layout: &Layout, step: Step, with_tallies: bool) -> Groups<W> {
        SLOTS.with_borrow_mut(|slots| {
            let bits = (2 * self.len()).next_power_of_two().trailing_zeros().max(4);
            slots.renew(1 << bits);
            self.raise_with(slots, bits, layout, step, with_tallies)
        })
    }

    /// The same with an empty hash table of 2^`bits` slots, at least twice as many as there are groups.
    fn raise_with(
        self: &Arc<Self>,
        slots: &mut Slots,
        bits: u32,
        layout: &Layout,
        step: Step,
        with_tallies: bool,
    ) -> Groups<W> {
        let Field { word, shift, mask } = layout.fields[step.column];
        let lift = layout.lifts[step.column][step.from][step.to - step.from - 1].as_slice();
        let (now, slots) = (u64::from(slots.round) << 32, &mut slots.slots[..1 << bits]);
        let last = slots.len() - 1;
        let mut keys: Vec<Key<W>> = Vec::with_capacity(self.len());
        let mut counts: Vec<u32> = Vec::with_capacity(self.len());
        let mut went = Vec::with_capacity(if with_tallies { self.len() } else { 0 });
        for (key, count) in self.keys.iter().zip(&self.counts) {
            let mut key = *key;
            let node = lift[(key[word] >> shift & mask) as usize];
            key[word] = key[word] & !(mask << shift) | u64::from(node) << shift;
            let mut slot = (hash(&key) >> (u64::BITS - bits)) as usize;
            let group = loop {
                let taken = slots[slot] ^ now;
                if taken > u64::from(u32::MAX) {
                    slots[slot] = now | keys.len() as u64;
                    keys.push(key);
                    counts.push(*count);
                    break keys.len() - 1;
                }
                if keys[taken as usize] == key {
                    counts[taken as usize] += *count;
                    break taken as usize;
                }
                slot = (slot + 1) & last;
            };
            if with_tallies {
                went.push(group as u32);
            }
        }
        let from = with_tallies.then(|| (self.clone(), went));
        Groups { node: step.node, tallies: OnceLock::new(), keys, counts, from }
    }
}

/// Multiplicative hashing; the highest bits are the good ones.
fn hash<const W: usize>(key: &Key<W>) -> u64 {
    let mut hash = 0u64;
    for word in key {
        hash = (hash.rotate_left(26) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    hash
}
