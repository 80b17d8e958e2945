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
            // A bit also for a column of one value: no field begins behind the end of a word.
            let bits = (u32::BITS - (taxonomy.codes() - 1).leading_zeros()).max(1);
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

    /// The round, where a slot holds it.
    fn round(&self) -> u64 {
        u64::from(self.round) << 32
    }

    /// Puts groups into the first 2^`bits` slots, which are empty.
    fn place<const W: usize>(&mut self, bits: u32, groups: &[(Key<W>, u32)]) {
        let (round, last) = (self.round(), (1usize << bits) - 1);
        for (group, (key, _)) in groups.iter().enumerate() {
            let mut slot = (hash(key) >> (u64::BITS - bits)) as usize;
            while self.slots[slot & last] ^ round <= u64::from(u32::MAX) {
                slot += 1;
            }
            self.slots[slot & last] = round | group as u64;
        }
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
    /// The key of each group and its rows.
    pub(super) groups: Vec<(Key<W>, u32)>,
    tallies: OnceLock<Vec<Tallies>>,
    /// What the tallies are put together from, until they are.
    from: Mutex<Option<From<W>>>,
}

impl<const W: usize> Groups<W> {
    /// The cells themselves: the groups where nothing is generalized.
    pub(super) fn bottom(task: &Task, layout: &Layout, bottom: Node) -> Groups<W> {
        let pack = |tuple: &[u32]| {
            let mut key = [0; W];
            for (code, field) in tuple.iter().zip(&layout.fields) {
                key[field.word] |= u64::from(*code) << field.shift;
            }
            key
        };
        let groups = task.cells.tuples().map(pack).zip(task.cells.counts().iter().copied());
        Groups {
            node: bottom,
            groups: groups.collect(),
            tallies: OnceLock::from(task.tallies.clone()),
            from: Mutex::new(None),
        }
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// The rows of each group.
    pub(super) fn sizes(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().map(|(_, rows)| u64::from(*rows))
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
        let raised = SLOTS.with_borrow_mut(|slots| match lifts[..] {
            // One column is the rule for small tables, and worth a loop of its own.
            [(Field { word, shift, mask }, lift)] => self.regroup(slots, with_tallies, |mut key| {
                let node = lift[(key[word] >> shift & mask) as usize];
                key[word] = key[word] & !(mask << shift) | u64::from(node) << shift;
                key
            }),
            _ => self.regroup(slots, with_tallies, |mut key| {
                for (Field { word, shift, mask }, lift) in &lifts {
                    let node = lift[(key[*word] >> shift & mask) as usize];
                    key[*word] = key[*word] & !(mask << shift) | u64::from(node) << shift;
                }
                key
            }),
        });
        let (groups, went) = raised;
        let from = Mutex::new(with_tallies.then(|| (self.clone(), went)));
        Groups { node, groups, tallies: OnceLock::new(), from }
    }

    /// The groups after each key has become another, and where each went if that is asked for.
    #[inline]
    fn regroup(
        &self,
        slots: &mut Slots,
        with_tallies: bool,
        lift: impl Fn(Key<W>) -> Key<W>,
    ) -> (Vec<(Key<W>, u32)>, Vec<u32>) {
        let mut bits = (2 * self.len()).next_power_of_two().clamp(16, FIRST_SLOTS).trailing_zeros();
        slots.renew(bits);
        let mut found: Vec<(Key<W>, u32)> = Vec::with_capacity(self.len().min(FIRST_SLOTS / 2));
        let mut went = Vec::with_capacity(if with_tallies { self.len() } else { 0 });
        let mut rest = self.groups.as_slice();
        // Each turn fills the table half; then it is made twice as large.
        loop {
            let (round, room) = (slots.round(), 1usize << (bits - 1));
            let table = &mut slots.slots[..1 << bits];
            let last = table.len() - 1;
            let mut done = rest.len();
            for (at, (key, count)) in rest.iter().enumerate() {
                let key = lift(*key);
                let mut slot = (hash(&key) >> (u64::BITS - bits)) as usize;
                let group = loop {
                    let taken = table[slot & last] ^ round;
                    if taken > u64::from(u32::MAX) {
                        table[slot & last] = round | found.len() as u64;
                        found.push((key, *count));
                        break found.len() - 1;
                    }
                    let known = &mut found[taken as usize];
                    if known.0 == key {
                        known.1 += *count;
                        break taken as usize;
                    }
                    slot += 1;
                };
                if with_tallies {
                    went.push(group as u32);
                }
                if found.len() >= room {
                    done = at + 1;
                    break;
                }
            }
            rest = &rest[done..];
            if rest.is_empty() {
                return (found, went);
            }
            bits += 1;
            slots.renew(bits);
            slots.place(bits, &found);
        }
    }
}

/// One column going up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) column: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

/// Multiplicative hashing in two rounds, since keys differ in few bits; the highest bits are the good ones.
fn hash<const W: usize>(key: &Key<W>) -> u64 {
    let mut hash = 0u64;
    for word in key {
        hash = (hash.rotate_left(26) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    (hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
