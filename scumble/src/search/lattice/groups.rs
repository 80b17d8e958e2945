//! Groups of cells at a node of the lattice, and their roll-up to a coarser node.
//!
//! A group's key holds the node of each column in a bit field of its own, wide enough for the column's leaves, so
//! rolling up replaces fields and needs no other data than the finer groups. Keys have as many 64-bit words as the
//! columns need; one is the rule.

use crate::search::Task;
use crate::table::Tallies;

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

/// The groups at one node of the lattice.
#[derive(Debug)]
pub(super) struct Groups<const W: usize> {
    pub(super) levels: Vec<usize>,
    pub(super) keys: Vec<Key<W>>,
    pub(super) counts: Vec<u32>,
    pub(super) tallies: Vec<Tallies>,
}

impl<const W: usize> Groups<W> {
    /// The cells themselves: the groups where nothing is generalized.
    pub(super) fn bottom(task: &Task, layout: &Layout) -> Groups<W> {
        let pack = |cell: u32| {
            let mut key = [0; W];
            for (code, field) in task.cells.codes(cell).iter().zip(&layout.fields) {
                key[field.word] |= u64::from(*code) << field.shift;
            }
            key
        };
        Groups {
            levels: vec![0; task.taxonomies.len()],
            keys: (0..task.cells.len() as u32).map(pack).collect(),
            counts: task.cells.counts().to_vec(),
            tallies: task.tallies.clone(),
        }
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether a node is this one or coarser, so that it can be rolled up from here.
    pub(super) fn reaches(&self, levels: &[usize]) -> bool {
        self.levels.iter().zip(levels).all(|(mine, asked)| mine <= asked)
    }

    /// The groups at a coarser node.
    pub(super) fn roll_up(&self, layout: &Layout, levels: &[usize], values: &[usize]) -> Groups<W> {
        let changes: Vec<(Field, &[u32])> = self
            .levels
            .iter()
            .zip(levels)
            .enumerate()
            .filter(|(_, (from, to))| from < to)
            .map(|(column, (from, to))| (layout.fields[column], layout.lifts[column][*from][to - from - 1].as_slice()))
            .collect();
        let bits = (2 * self.len()).next_power_of_two().trailing_zeros().max(4);
        let mut slots = vec![0u32; 1 << bits];
        let last = slots.len() - 1;
        let mut keys: Vec<Key<W>> = Vec::new();
        let mut counts: Vec<u32> = Vec::new();
        let mut went = Vec::with_capacity(if self.tallies.is_empty() { 0 } else { self.len() });
        for (key, count) in self.keys.iter().zip(&self.counts) {
            let mut key = *key;
            for (field, lift) in &changes {
                let word = key[field.word];
                let node = lift[(word >> field.shift & field.mask) as usize];
                key[field.word] = word & !(field.mask << field.shift) | u64::from(node) << field.shift;
            }
            let mut slot = (hash(&key) >> (u64::BITS - bits)) as usize;
            let group = loop {
                match slots[slot] {
                    0 => {
                        keys.push(key);
                        counts.push(*count);
                        slots[slot] = keys.len() as u32;
                        break keys.len() - 1;
                    }
                    taken if keys[taken as usize - 1] == key => {
                        counts[taken as usize - 1] += *count;
                        break taken as usize - 1;
                    }
                    _ => slot = (slot + 1) & last,
                }
            };
            if !self.tallies.is_empty() {
                went.push(group as u32);
            }
        }
        let merged = self.tallies.iter().zip(values).map(|(tally, values)| tally.merge(keys.len(), &went, *values));
        Groups { levels: levels.to_vec(), tallies: merged.collect(), keys, counts }
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
