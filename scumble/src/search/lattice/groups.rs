//! Groups of cells at a node of the lattice, and their roll-up to a coarser node.
//!
//! A group's key holds the node of each column in a bit field of its own, wide enough for the column's leaves, so
//! rolling up replaces fields and needs no other data than the finer groups. Keys have as many 64-bit words as the
//! columns need; one is the rule.

use super::Node;
use crate::search::Task;
use crate::table::Tallies;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, OnceLock};

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

/// The most slots that a hash table begins with.
const FIRST_SLOTS: usize = 1 << 15;

/// A hash table from keys to groups. It has room for all groups from the beginning where these are few, and grows with
/// those that are found where they are many: rolling millions up to a few thousand then stays in cache. Each slot holds the round it was filled in and a group, so that a new round empties
/// it without touching it.
#[derive(Debug)]
struct Slots {
    round: u32,
    slots: Vec<u64>,
}

impl Slots {
    /// Empty, with at least 2^`bits` slots.
    fn renew(&mut self, bits: u32) {
        if self.round == u32::MAX {
            self.slots.clear();
            self.round = 0;
        }
        if self.slots.len() < 1 << bits {
            self.slots.resize(1 << bits, 0);
        }
        self.round += 1;
    }
}

thread_local! {
    /// Kept by each thread, so that its memory is not asked for again and again.
    static SLOTS: RefCell<Slots> = const { RefCell::new(Slots { round: 0, slots: Vec::new() }) };
}

/// Finer groups that some were rolled up from, and where each of them went.
type From<const W: usize> = (Arc<Groups<W>>, Vec<u32>);

/// The groups at one node of the lattice. What the counted columns hold is put together only when it is asked for:
/// many nodes are decided by their counts alone.
#[derive(Debug)]
pub(super) struct Groups<const W: usize> {
    pub(super) node: Node,
    pub(super) keys: Vec<Key<W>>,
    pub(super) counts: Vec<u32>,
    tallies: OnceLock<Vec<Tallies>>,
    /// What the tallies are put together from, until they are.
    from: Mutex<Option<From<W>>>,
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
            from: Mutex::new(None),
        }
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Memory, in groups: these, and what is still needed of finer ones.
    pub(super) fn weight(&self) -> usize {
        let from = self.from.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.len() + from.as_ref().map_or(0, |(_, went)| went.len() / 3)
    }

    /// The values of the counted columns in each group.
    pub(super) fn tallies(&self, values: &[usize]) -> &[Tallies] {
        self.tallies.get_or_init(|| {
            let from = self.from.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
            let Some((finer, went)) = from else { return Vec::new() };
            let merge = |(tally, values): (&Tallies, &usize)| tally.merge(self.len(), &went, *values);
            finer.tallies(values).iter().zip(values).map(merge).collect()
        })
    }

    /// The groups after some columns have gone up, each to a level, to reach `node`. `with_tallies` remembers the way
    /// for the counted columns.
    pub(super) fn raise(
        self: &Arc<Self>,
        layout: &Layout,
        node: Node,
        columns: &[Step],
        with_tallies: bool,
    ) -> Groups<W> {
        let lifts: Vec<(Field, &[u32])> = columns
            .iter()
            .map(|step| {
                let lift = layout.lifts[step.column][step.from][step.to - step.from - 1].as_slice();
                (layout.fields[step.column], lift)
            })
            .collect();
        SLOTS.with_borrow_mut(|slots| {
            let bits = (2 * self.len()).next_power_of_two().clamp(16, FIRST_SLOTS).trailing_zeros();
            slots.renew(bits);
            let room = self.len().min(FIRST_SLOTS / 2);
            let (keys, counts) = (Vec::with_capacity(room), Vec::with_capacity(room));
            let mut raised = Raised { keys, counts, slots, bits };
            let mut went = Vec::with_capacity(if with_tallies { self.len() } else { 0 });
            // One column is the rule for small tables, and worth a loop of its own.
            match lifts[..] {
                [(Field { word, shift, mask }, lift)] => {
                    for (key, count) in self.keys.iter().zip(&self.counts) {
                        let mut key = *key;
                        let node = lift[(key[word] >> shift & mask) as usize];
                        key[word] = key[word] & !(mask << shift) | u64::from(node) << shift;
                        let group = raised.add(key, *count);
                        if with_tallies {
                            went.push(group);
                        }
                    }
                }
                _ => {
                    for (key, count) in self.keys.iter().zip(&self.counts) {
                        let mut key = *key;
                        for (Field { word, shift, mask }, lift) in &lifts {
                            let node = lift[(key[*word] >> shift & mask) as usize];
                            key[*word] = key[*word] & !(mask << shift) | u64::from(node) << shift;
                        }
                        let group = raised.add(key, *count);
                        if with_tallies {
                            went.push(group);
                        }
                    }
                }
            }
            let from = Mutex::new(with_tallies.then(|| (self.clone(), went)));
            Groups { node, tallies: OnceLock::new(), keys: raised.keys, counts: raised.counts, from }
        })
    }
}

/// One column going up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) column: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Coarser groups as they are found.
struct Raised<'a, const W: usize> {
    keys: Vec<Key<W>>,
    counts: Vec<u32>,
    slots: &'a mut Slots,
    bits: u32,
}

impl<const W: usize> Raised<'_, W> {
    /// Adds rows to the group with a key; returns the group.
    #[inline]
    fn add(&mut self, key: Key<W>, count: u32) -> u32 {
        let round = u64::from(self.slots.round) << 32;
        let last = (1usize << self.bits) - 1;
        let mut slot = (hash(&key) >> (u64::BITS - self.bits)) as usize;
        loop {
            let taken = self.slots.slots[slot] ^ round;
            if taken > u64::from(u32::MAX) {
                break;
            }
            if self.keys[taken as usize] == key {
                self.counts[taken as usize] += count;
                return taken as u32;
            }
            slot = (slot + 1) & last;
        }
        let group = self.keys.len() as u32;
        self.slots.slots[slot] = round | u64::from(group);
        self.keys.push(key);
        self.counts.push(count);
        if 2 * self.keys.len() > last {
            self.grow();
        }
        group
    }

    /// Twice as many slots, and every group in its place again.
    #[cold]
    fn grow(&mut self) {
        self.bits += 1;
        let size = 1usize << self.bits;
        self.slots.renew(self.bits);
        let round = u64::from(self.slots.round) << 32;
        for (group, key) in self.keys.iter().enumerate() {
            let mut slot = (hash(key) >> (u64::BITS - self.bits)) as usize;
            while self.slots.slots[slot] ^ round <= u64::from(u32::MAX) {
                slot = (slot + 1) & (size - 1);
            }
            self.slots.slots[slot] = round | group as u64;
        }
    }
}

/// Multiplicative hashing in two rounds, since keys differ in few bits; the highest bits are the good ones.
fn hash<const W: usize>(key: &Key<W>) -> u64 {
    let mut hash = 0u64;
    for word in key {
        hash = (hash.rotate_left(26) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    (hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
