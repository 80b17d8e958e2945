//! Groups of cells at a node of the lattice, and their roll-up to a coarser node.
//!
//! A group's key holds the node of each column in a bit field of its own, wide enough for the
//! column's leaves, so rolling up replaces fields and needs no other data than the finer groups.
//! Keys are as short as the columns allow: 32 bits hold the nine columns of the Adult table.

use super::{Node, many};
use crate::error::Result;
use crate::search::Task;
use crate::search::grouping::PartGroups;
use crate::table::{Field, Packing, Tallies};
use crate::watch::{PIECE, Watch};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, OnceLock};

/// The nodes of a group, one for each column, in bit fields.
pub(in crate::search) trait GroupKey:
    Copy + Eq + Default + Debug + Send + Sync + 'static
{
    /// The node in a field.
    fn node(&self, field: Field) -> u32;

    /// The key with some bits of a field turned over.
    fn flip(self, field: Field, bits: u32) -> Self;

    /// Spreads keys that differ in few bits; the highest bits are the good ones.
    fn hash(&self) -> u64;
}

/// The golden ratio in 64 bits: multiplicative hashing.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

impl GroupKey for u32 {
    #[inline]
    fn node(&self, field: Field) -> u32 {
        self >> field.shift & field.mask
    }

    #[inline]
    fn flip(self, field: Field, bits: u32) -> u32 {
        self ^ bits << field.shift
    }

    #[inline]
    fn hash(&self) -> u64 {
        u64::from(*self).wrapping_mul(SPREAD)
    }
}

impl<const W: usize> GroupKey for [u64; W]
where
    [u64; W]: Default,
{
    #[inline]
    fn node(&self, field: Field) -> u32 {
        (self[field.word] >> field.shift) as u32 & field.mask
    }

    #[inline]
    fn flip(mut self, field: Field, bits: u32) -> [u64; W] {
        self[field.word] ^= u64::from(bits) << field.shift;
        self
    }

    #[inline]
    fn hash(&self) -> u64 {
        let hash =
            self.iter().fold(0u64, |hash, word| (hash.rotate_left(26) ^ word).wrapping_mul(SPREAD));
        (hash ^ hash >> 32).wrapping_mul(SPREAD)
    }
}

/// How long keys must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// 32 bits.
    Half,
    /// So many words of 64 bits.
    Words(usize),
}

/// The bit fields of all columns, and the way of every node up its taxonomy.
#[derive(Debug)]
pub(super) struct Layout {
    fields: Vec<Field>,
    length: Length,
    /// `lifts[column][from][to - from - 1]`: the bits in which each node of level `from` differs
    /// from the one above it of level `to`.
    lifts: Vec<Vec<Vec<Vec<u32>>>>,
}

impl Layout {
    pub(super) fn new(task: &Task) -> Layout {
        let packing = Packing::new(task.taxonomies.iter().map(|taxonomy| taxonomy.codes()));
        let fields = packing.fields().to_vec();
        let lifts = task.taxonomies.iter().map(|taxonomy| {
            let top = taxonomy.height();
            let bits = |from, to| {
                (0..)
                    .zip(taxonomy.lift(from, to))
                    .map(|(node, above): (u32, u32)| node ^ above)
                    .collect()
            };
            (0..top).map(|from| (from + 1..=top).map(|to| bits(from, to)).collect()).collect()
        });
        let lifts = lifts.collect();
        let length = if packing.is_half() { Length::Half } else { Length::Words(packing.words()) };
        Layout { fields, length, lifts }
    }

    /// How long keys must be.
    pub(super) fn length(&self) -> Length {
        self.length
    }

    /// The node of a column in a key.
    pub(super) fn node<K: GroupKey>(&self, key: &K, column: usize) -> u32 {
        key.node(self.fields[column])
    }
}

/// More groups than this go up in parts, and all columns at once.
pub(super) const MANY_GROUPS: usize = 1 << 16;

/// The most slots that a hash table begins with.
const FIRST_SLOTS: usize = 1 << 15;

/// A slot with no group in it.
const EMPTY: u32 = u32::MAX;

/// Memory for putting groups together, used again and again.
#[derive(Debug)]
pub(super) struct GroupScratch<K> {
    slots: Vec<u32>,
    found: Vec<(K, u32)>,
}

impl<K> Default for GroupScratch<K> {
    fn default() -> Self {
        GroupScratch { slots: Vec::new(), found: Vec::new() }
    }
}

/// Finer groups that some were rolled up from, and where each of them went.
type From<K> = (Arc<NodeGroups<K>>, Vec<u32>);

/// The groups at one node of the lattice. What the counted columns hold is put together only when
/// it is asked for: many nodes are decided by their counts alone.
#[derive(Debug)]
pub(super) struct NodeGroups<K> {
    pub(super) node: Node,
    /// The key of each group and its rows.
    pub(super) groups: Vec<(K, u32)>,
    tallies: OnceLock<Vec<Tallies>>,
    /// What the tallies are put together from, until they are.
    from: Mutex<Option<From<K>>>,
}

impl<K: GroupKey> NodeGroups<K> {
    /// The cells themselves: the groups where nothing is generalized.
    pub(super) fn bottom(
        task: &Task,
        layout: &Layout,
        bottom: Node,
        watch: &Watch,
    ) -> Result<NodeGroups<K>> {
        let pack = |tuple: &[u32]| {
            tuple
                .iter()
                .zip(&layout.fields)
                .fold(K::default(), |key, (code, field)| key.flip(*field, *code))
        };
        let mut cells = task.cells.tuples().map(pack).zip(task.cells.counts().iter().copied());
        let mut groups = Vec::with_capacity(task.cells.len());
        while groups.len() < task.cells.len() {
            watch.check()?;
            groups.extend(cells.by_ref().take(PIECE));
        }
        let tallies: Vec<Tallies> =
            task.tallies.iter().map(|tallies| tallies.try_clone(watch)).collect::<Result<_>>()?;
        let tallies = OnceLock::from(tallies);
        Ok(NodeGroups { node: bottom, groups, tallies, from: Mutex::new(None) })
    }

    /// Groups that were put together from counted tuples.
    pub(super) fn of_tuples(node: Node, part: PartGroups<K>) -> NodeGroups<K> {
        let PartGroups { groups, tallies } = part;
        NodeGroups { node, groups, tallies: OnceLock::from(tallies), from: Mutex::new(None) }
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
        // The thread that holds the lock puts the tallies together. The finer ones are not needed
        // after that.
        let Ok(from) = self.from.try_lock() else { return self.len() };
        self.len() + from.as_ref().map_or(0, |(_, went)| went.len() / 3)
    }

    /// The values of the counted columns in each group.
    pub(super) fn tallies(&self, values: &[usize], watch: &Watch) -> Result<&[Tallies]> {
        if let Some(known) = self.tallies.get() {
            return Ok(known);
        }
        let mut from = self.from.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((finer, went)) = &*from {
            let merge =
                |(tally, values): (&Tallies, &usize)| tally.merge(self.len(), went, *values, watch);
            let finer = finer.tallies(values, watch)?;
            let merged = finer.iter().zip(values).map(merge).collect::<Result<_>>()?;
            *from = None;
            return Ok(self.tallies.get_or_init(|| merged));
        }
        Ok(self.tallies.get().map_or(&[], Vec::as_slice))
    }

    /// The groups after some columns have gone up, each to a level, to reach `node`; `None` where
    /// so many rows are in groups that are too small that nothing else is asked of them.
    /// `with_tallies` remembers the way for the counted columns.
    #[inline(never)]
    pub(super) fn raise(
        self: &Arc<Self>,
        scratch: &mut GroupScratch<K>,
        layout: &Layout,
        (node, columns): (Node, &[Step]),
        with_tallies: bool,
        unless: Option<TooSmall>,
        watch: &Watch,
    ) -> Result<Option<NodeGroups<K>>> {
        let lifts: Vec<(Field, &[u32])> = columns
            .iter()
            .map(|step| {
                let lift = layout.lifts[step.column][step.from][step.to - step.from - 1].as_slice();
                (layout.fields[step.column], lift)
            })
            .collect();
        let mut went = Vec::with_capacity(if with_tallies { self.len() } else { 0 });
        let lift_all =
            |key| lifts.iter().fold(key, |key: K, (field, lift)| lifted(key, *field, lift));
        let groups = if self.len() > MANY_GROUPS {
            let found =
                many::regroup(&self.groups, &mut went, with_tallies, unless, lift_all, watch)?;
            let Some(groups) = found else { return Ok(None) };
            groups
        } else {
            let raised = match (&lifts[..], with_tallies) {
                // One column is the rule for small tables, and worth a loop of its own.
                ([(field, lift)], false) => {
                    regroup::<K, false>(&self.groups, 0, scratch, &mut went, watch, |key| {
                        lifted(key, *field, lift)
                    })?
                }
                ([(field, lift)], true) => {
                    regroup::<K, true>(&self.groups, 0, scratch, &mut went, watch, |key| {
                        lifted(key, *field, lift)
                    })?
                }
                (_, false) => {
                    regroup::<K, false>(&self.groups, 0, scratch, &mut went, watch, lift_all)?
                }
                (_, true) => {
                    regroup::<K, true>(&self.groups, 0, scratch, &mut went, watch, lift_all)?
                }
            };
            if unless.is_some_and(|too_small| too_small.are(raised.iter().map(|(_, rows)| *rows))) {
                return Ok(None);
            }
            raised.to_vec()
        };
        let from = Mutex::new(with_tallies.then(|| (self.clone(), went)));
        Ok(Some(NodeGroups { node, groups, tallies: OnceLock::new(), from }))
    }
}

/// The groups after each key has become another, and where each went if that is asked for.
/// `skipped` is how many of the first bits of their hashes all keys have in common.
///
/// The hash table has room for all groups from the beginning where these are few, and grows with
/// those that are found where they are many: rolling many up to a few then stays in cache. Whether
/// a key is new is almost random, so nothing branches on it: the place behind the last group
/// always holds the key at hand, and what is found in an empty slot is that place.
#[inline]
pub(super) fn regroup<'a, K: GroupKey, const WENT: bool>(
    groups: &[(K, u32)],
    skipped: u32,
    GroupScratch { slots, found }: &'a mut GroupScratch<K>,
    went: &mut Vec<u32>,
    watch: &Watch,
    lift: impl Fn(K) -> K,
) -> Result<&'a [(K, u32)]> {
    let mut bits = (4 * groups.len()).next_power_of_two().clamp(16, FIRST_SLOTS).trailing_zeros();
    let mut len = 0;
    let mut rest = groups;
    while !rest.is_empty() {
        // The table is filled half; then it is made twice as large. Before that, as many groups are
        // taken as find room even if all are new.
        let room = groups.len().min(1 << (bits - 1));
        if found.len() <= room {
            found.resize(room + 1, (K::default(), 0));
        }
        let table = renewed(slots, bits, skipped, &found[..len]);
        let known = &mut found[..=room];
        while !rest.is_empty() && (room - len > room / 8 || room == groups.len()) {
            watch.check()?;
            let (now, later) = rest.split_at(rest.len().min(room - len).min(PIECE));
            rest = later;
            len = regroup_piece::<K, WENT>(now, (skipped, bits), table, (known, len), went, &lift);
        }
        bits += 1;
    }
    Ok(&found[..len])
}

/// Adds some groups to those that are known, of which there are `len`; returns how many there are
/// then. All find room. A function of its own: nothing else is kept in registers.
#[inline(never)]
fn regroup_piece<K: GroupKey, const WENT: bool>(
    groups: &[(K, u32)],
    (skipped, bits): (u32, u32),
    table: &mut [u32],
    (known, mut len): (&mut [(K, u32)], usize),
    went: &mut Vec<u32>,
    lift: &impl Fn(K) -> K,
) -> usize {
    let last = table.len() - 1;
    for (key, count) in groups {
        let key = lift(*key);
        known[len] = (key, 0);
        let mut slot = (key.hash() << skipped >> (u64::BITS - bits)) as usize & last;
        let mut group = if table[slot] == EMPTY { len } else { table[slot] as usize };
        let mut entry = &mut known[group];
        while entry.0 != key {
            slot = (slot + 1) & last;
            group = if table[slot] == EMPTY { len } else { table[slot] as usize };
            entry = &mut known[group];
        }
        entry.1 += *count;
        table[slot] = group as u32;
        len += usize::from(group == len);
        if WENT {
            went.push(group as u32);
        }
    }
    len
}

/// A key with the node of a column replaced by the one above it.
#[inline]
fn lifted<K: GroupKey>(key: K, field: Field, lift: &[u32]) -> K {
    key.flip(field, lift[key.node(field) as usize])
}

/// Groups of fewer than `least` rows, with more than `limit` rows in all: whatever else is asked,
/// they fail here and at every finer node, where they are smaller still.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct TooSmall {
    pub(in crate::search) least: u64,
    pub(in crate::search) limit: u64,
}

impl TooSmall {
    /// Whether groups of these sizes are so.
    pub(in crate::search) fn are(&self, sizes: impl Iterator<Item = u32>) -> bool {
        self.rows(sizes) > self.limit
    }

    /// The rows in groups that are too small.
    pub(super) fn rows(&self, sizes: impl Iterator<Item = u32>) -> u64 {
        let least = u32::try_from(self.least).unwrap_or(u32::MAX);
        sizes.map(|rows| if rows < least { u64::from(rows) } else { 0 }).sum()
    }
}

/// A hash table of 2^`bits` slots that holds these groups.
fn renewed<'a, K: GroupKey>(
    slots: &'a mut Vec<u32>,
    bits: u32,
    skipped: u32,
    groups: &[(K, u32)],
) -> &'a mut [u32] {
    slots.resize(slots.len().max(1 << bits), EMPTY);
    let table = &mut slots[..1 << bits];
    table.fill(EMPTY);
    let last = table.len() - 1;
    for (group, (key, _)) in groups.iter().enumerate() {
        let mut slot = (key.hash() << skipped >> (u64::BITS - bits)) as usize & last;
        while table[slot] != EMPTY {
            slot = (slot + 1) & last;
        }
        table[slot] = group as u32;
    }
    table
}

/// One column going up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) column: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}
