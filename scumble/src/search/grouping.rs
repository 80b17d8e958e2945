//! The groups that a mapping of levels or cuts makes of counted tuples, in any memory.
//!
//! A pass over the tuples puts groups together in memory. If they do not fit, tuples are sorted on
//! disk by what their leaves became, so that each group comes in one piece, and groups are handed
//! over some at a time. What is asked of groups one by one, or added up over them, does not depend
//! on how many come together.

use super::lattice::{GroupKey, TooSmall};
use crate::error::{Error, Result};
use crate::privacy::{Group, Requirement, all_hold};
use crate::source::spill::{SpillFolder, TupleCounter, Tuples};
use crate::table::{Field, Packing, Tallies};
use crate::watch::Watch;
use hashbrown::HashTable;
use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};
use rustc_hash::FxHashSet;

/// Groups that are judged between two polls for an abort.
const JUDGED: usize = 1 << 12;

/// The part of all groups that is looked at to find that too many are too small.
const PROBED: u64 = 8;

/// Counted tuples, and how much memory a pass over them may take.
#[derive(Clone, Copy)]
pub struct Grouping<'a> {
    /// The tuples: the leaf of each quasi-identifier, then of each counted column.
    pub tuples: &'a dyn Tuples,
    /// Where these are in a tuple.
    pub packing: &'a Packing,
    /// For each counted column, a number above all its leaves.
    pub values: &'a [usize],
    /// Rows of the table.
    pub rows: u64,
    /// Bytes of memory for a pass.
    pub memory: u64,
    /// Where they are sorted if groups do not fit; `None` if tuples are read only once.
    pub folder: Option<&'a SpillFolder>,
    /// Can abort it.
    pub watch: &'a Watch,
}

/// A part of all hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HashPart {
    part: u64,
    of: u64,
}

impl HashPart {
    /// All of them.
    const WHOLE: HashPart = HashPart { part: 0, of: 1 };

    fn holds(self, hash: u64) -> bool {
        ((hash >> 32) * self.of) >> 32 == self.part
    }
}

/// Some groups.
#[derive(Debug)]
pub(super) struct PartGroups<K> {
    pub(super) groups: Vec<(K, u32)>,
    /// The values of each counted column in each group.
    pub(super) tallies: Vec<Tallies>,
}

/// What comes of a pass.
#[derive(Debug)]
pub(super) enum Pass<K> {
    Groups(PartGroups<K>),
    /// Too many rows are in groups that are too small.
    TooSmall,
    /// They do not fit into memory.
    TooMany,
}

/// Counts of values by group, for one counted column.
#[derive(Default)]
struct Entries {
    /// Group and value in one number, and the rows.
    list: Vec<(u64, u32)>,
    /// As many are merged.
    merged: usize,
}

impl Entries {
    #[inline]
    fn add(&mut self, group: u32, value: u32, rows: u32) {
        self.list.push((u64::from(group) << 32 | u64::from(value), rows));
    }

    /// Merges what is equal if it has become twice as much.
    fn compact(&mut self) {
        if self.list.len() > 2 * self.merged.max(1 << 12) {
            self.merge();
        }
    }

    fn merge(&mut self) {
        self.list.sort_unstable_by_key(|(place, _)| *place);
        self.list.dedup_by(|next, known| {
            let is_equal = next.0 == known.0;
            if is_equal {
                known.1 += next.1;
            }
            is_equal
        });
        self.merged = self.list.len();
    }

    fn tallies(mut self, groups: usize) -> Tallies {
        self.merge();
        let mut starts = vec![0u32; groups + 1];
        self.list.iter().for_each(|(place, _)| starts[(place >> 32) as usize + 1] += 1);
        (0..groups).for_each(|group| starts[group + 1] += starts[group]);
        let entries = self.list.iter().map(|(place, rows)| (*place as u32, *rows)).collect();
        Tallies::from_parts(starts, entries)
    }
}

/// The groups of a pass that is under way.
struct PassState<'a, K> {
    words: usize,
    /// Columns that become more than one value, and what their leaves become.
    looked: Vec<(Field, &'a [u32])>,
    counted: &'a [Field],
    part: HashPart,
    /// More groups than this are too small.
    most: u64,
    memory: u64,
    groups: Vec<(K, u32)>,
    places: HashTable<u32>,
    entries: Vec<Entries>,
    end: Option<Pass<K>>,
}

impl<'a, K: GroupKey> PassState<'a, K> {
    fn new(
        grouping: &Grouping<'a>,
        maps: &[&'a [u32]],
        part: HashPart,
        unless: Option<TooSmall>,
    ) -> PassState<'a, K> {
        let (keys, counted) = grouping.packing.fields().split_at(grouping.keys());
        let looked = keys.iter().zip(maps).filter(|(_, map)| map.iter().any(|node| *node > 0));
        let at_most = |small: TooSmall| grouping.rows / small.least.max(1) + small.limit;
        PassState {
            words: grouping.packing.words(),
            looked: looked.map(|(field, map)| (*field, *map)).collect(),
            counted,
            part,
            most: unless.map_or(u64::MAX, at_most),
            memory: grouping.memory,
            groups: Vec::new(),
            places: HashTable::new(),
            entries: counted.iter().map(|_| Entries::default()).collect(),
            end: None,
        }
    }

    /// Takes some tuples; answers whether more are needed.
    fn take(&mut self, tuples: &[u64], counts: &[u32]) -> bool {
        if self.end.is_some() {
            return false;
        }
        let PassState { looked, part, groups, places, .. } = self;
        // The low bits find a place, and those of a product are bad.
        let spread = |key: &K| key.hash().rotate_left(32);
        for (tuple, rows) in tuples.chunks_exact(self.words).zip(counts) {
            let lift = |key: K, (field, map): &(Field, &[u32])| {
                key.flip(*field, map[field.get(tuple) as usize])
            };
            let key = looked.iter().fold(K::default(), lift);
            if part.of > 1 && !part.holds(key.hash()) {
                continue;
            }
            let is_it = |place: &u32| groups[*place as usize].0 == key;
            let group = match places.find(spread(&key), is_it) {
                Some(group) => *group,
                None => {
                    let group = groups.len() as u32;
                    groups.push((key, 0));
                    places.insert_unique(spread(&key), group, |known| {
                        spread(&groups[*known as usize].0)
                    });
                    group
                }
            };
            groups[group as usize].1 += rows;
            for (entries, field) in self.entries.iter_mut().zip(self.counted) {
                entries.add(group, field.get(tuple), *rows);
            }
        }
        self.entries.iter_mut().for_each(Entries::compact);
        let listed: usize = self.entries.iter().map(|entries| entries.list.len()).sum();
        let bytes = self.groups.len() * (size_of::<(K, u32)>() + 8) + listed * 24;
        if self.groups.len() as u64 > self.most {
            self.give_up(Pass::TooSmall);
        } else if bytes as u64 > self.memory && self.groups.len() > 1 {
            self.give_up(Pass::TooMany);
        }
        self.end.is_none()
    }

    /// Ends without groups, whose memory others can use.
    fn give_up(&mut self, end: Pass<K>) {
        self.end = Some(end);
        (self.groups, self.places) = (Vec::new(), HashTable::new());
        self.entries.iter_mut().for_each(|entries| *entries = Entries::default());
    }

    fn finish(self) -> Pass<K> {
        let PassState { groups, places, entries, end, .. } = self;
        drop(places);
        let tallies = || entries.into_iter().map(|entries| entries.tallies(groups.len())).collect();
        match end {
            Some(end) => end,
            None => Pass::Groups(PartGroups { tallies: tallies(), groups }),
        }
    }
}

impl<'a> Grouping<'a> {
    /// How many quasi-identifiers there are.
    fn keys(&self) -> usize {
        self.packing.fields().len() - self.values.len()
    }

    /// The rows with each leaf of each quasi-identifier; `codes` says how many leaves there are.
    pub(super) fn leaf_rows(&self, codes: impl Iterator<Item = u32>) -> Result<Vec<Vec<u64>>> {
        let mut rows: Vec<Vec<u64>> = codes.map(|codes| vec![0; codes as usize]).collect();
        let fields = &self.packing.fields()[..self.keys()];
        self.tuples.scan(&mut |tuples, counts| {
            for (tuple, count) in tuples.chunks_exact(self.packing.words()).zip(counts) {
                for (field, rows) in fields.iter().zip(&mut rows) {
                    rows[field.get(tuple) as usize] += u64::from(*count);
                }
            }
            Ok(true)
        })?;
        Ok(rows)
    }

    /// The groups with a hash in a part, where each leaf of a column becomes what `maps` says.
    /// With `unless`, a pass ends as soon as there are so many groups that too many rows must be in
    /// small ones.
    pub(super) fn pass<K: GroupKey>(
        &self,
        maps: &[&'a [u32]],
        unless: Option<TooSmall>,
    ) -> Result<Pass<K>> {
        let mut state = PassState::<K>::new(self, maps, HashPart::WHOLE, unless);
        self.tuples.scan(&mut |tuples, counts| Ok(state.take(tuples, counts)))?;
        Ok(state.finish())
    }

    /// All groups of several mappings, in one pass that shares the memory.
    fn pass_together<K: GroupKey>(
        &self,
        all: &[Vec<&'a [u32]>],
        unless: Option<TooSmall>,
    ) -> Result<Vec<Pass<K>>> {
        let share = Grouping { memory: self.memory / all.len().max(1) as u64, ..*self };
        let state = |maps: &Vec<_>| PassState::<K>::new(&share, maps, HashPart::WHOLE, unless);
        let mut states: Vec<PassState<'_, K>> = all.iter().map(state).collect();
        self.tuples.scan(&mut |tuples, counts| {
            let open = states.par_iter_mut().map(|state| state.take(tuples, counts));
            Ok(open.reduce(|| false, |one, other| one | other))
        })?;
        Ok(states.into_iter().map(PassState::finish).collect())
    }

    /// Hands over all groups, some at a time, until `each` answers false. Answers false if too many
    /// rows are in groups that are too small; not all groups are handed over then.
    pub(super) fn each_part<K: GroupKey>(
        &self,
        maps: &[&'a [u32]],
        unless: Option<TooSmall>,
        each: &mut dyn FnMut(PartGroups<K>) -> Result<bool>,
    ) -> Result<bool> {
        match self.pass(maps, unless)? {
            Pass::Groups(groups) => each(groups).map(|_| true),
            Pass::TooSmall => Ok(false),
            Pass::TooMany => self.each_of_many(maps, unless, each),
        }
    }

    /// The same if it is known that they do not fit all at once.
    pub(super) fn each_of_many<K: GroupKey>(
        &self,
        maps: &[&'a [u32]],
        unless: Option<TooSmall>,
        each: &mut dyn FnMut(PartGroups<K>) -> Result<bool>,
    ) -> Result<bool> {
        // Of most nodes too many groups are too small, which a part of them tells without sorting.
        if let Some(small) = unless {
            let part = HashPart { part: 0, of: PROBED };
            let mut state = PassState::<K>::new(self, maps, part, unless);
            state.entries.clear();
            self.tuples.scan(&mut |tuples, counts| Ok(state.take(tuples, counts)))?;
            let is_too_small = match state.finish() {
                Pass::Groups(part) => small.are(part.groups.iter().map(|(_, rows)| *rows)),
                Pass::TooSmall => true,
                Pass::TooMany => false,
            };
            if is_too_small {
                return Ok(false);
            }
        }
        self.each_sorted(maps, each).map(|()| true)
    }

    /// Sorts tuples by what their leaves became, and hands over the groups in this order.
    fn each_sorted<K: GroupKey>(
        &self,
        maps: &[&'a [u32]],
        each: &mut dyn FnMut(PartGroups<K>) -> Result<bool>,
    ) -> Result<()> {
        let folder = self.folder.ok_or(Error::Defect)?;
        let (keys, counted) = self.packing.fields().split_at(self.keys());
        let (key_words, words) = (self.key_words(), self.packing.words());
        // The key comes first, and the counted values in words of their own.
        let behind = Packing::new(self.values.iter().map(|values| *values as u32));
        let behind_words = if counted.is_empty() { 0 } else { behind.words() };
        let width = key_words + behind_words;
        let mut counter = TupleCounter::new(folder, width, self.memory, self.watch)?;
        let mut lifted = vec![0; width];
        self.tuples.scan(&mut |tuples, counts| {
            for (tuple, rows) in tuples.chunks_exact(words).zip(counts) {
                lifted.fill(0);
                for (field, map) in keys.iter().zip(maps) {
                    field.put(&mut lifted, map[field.get(tuple) as usize]);
                }
                for (from, to) in counted.iter().zip(behind.fields()) {
                    to.put(&mut lifted[key_words..], from.get(tuple));
                }
                counter.add(&lifted, *rows)?;
            }
            Ok(true)
        })?;
        let mut last = vec![u64::MAX; key_words];
        let mut groups: Vec<(K, u32)> = Vec::new();
        let mut entries: Vec<Entries> = counted.iter().map(|_| Entries::default()).collect();
        let mut is_over = false;
        let mut hand_over = |groups: &mut Vec<(K, u32)>, entries: &mut Vec<Entries>| {
            let tallies = entries.iter_mut().map(|one| std::mem::take(one).tallies(groups.len()));
            let tallies = tallies.collect();
            each(PartGroups { groups: std::mem::take(groups), tallies })
        };
        counter.finish()?.scan(&mut |tuples, counts| {
            for (tuple, rows) in tuples.chunks_exact(width).zip(counts) {
                if groups.is_empty() || last != tuple[..key_words] {
                    let listed: usize = entries.iter().map(|one| one.list.len()).sum();
                    let bytes = groups.len() * size_of::<(K, u32)>() + listed * 24;
                    if bytes as u64 > self.memory / 2 && !hand_over(&mut groups, &mut entries)? {
                        is_over = true;
                        return Ok(false);
                    }
                    last.copy_from_slice(&tuple[..key_words]);
                    let flip = |key: K, field: &Field| key.flip(*field, field.get(tuple));
                    groups.push((keys.iter().fold(K::default(), flip), 0));
                }
                let group = groups.len() - 1;
                groups[group].1 += rows;
                for (entries, field) in entries.iter_mut().zip(behind.fields()) {
                    entries.add(group as u32, field.get(&tuple[key_words..]), *rows);
                }
            }
            Ok(true)
        })?;
        if !is_over && !groups.is_empty() {
            hand_over(&mut groups, &mut entries)?;
        }
        Ok(())
    }
}

/// The groups of a mapping.
#[derive(Debug)]
pub struct AllGroups {
    /// What the leaves of each column became, group by group.
    pub nodes: Vec<u32>,
    /// The rows of each group.
    pub rows: Vec<u32>,
    /// The values of each counted column in each group.
    pub tallies: Vec<Tallies>,
}

/// The groups of a mapping that fail, as packed tuples of what their leaves became.
#[derive(Debug, Default)]
pub struct FailingGroups {
    narrow: FxHashSet<u64>,
    wide: FxHashSet<Box<[u64]>>,
    /// Their rows.
    pub rows: u64,
}

impl FailingGroups {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.narrow.is_empty() && self.wide.is_empty()
    }

    fn insert(&mut self, words: &[u64]) {
        match words {
            [word] => self.narrow.insert(*word),
            words => self.wide.insert(words.into()),
        };
    }

    /// Whether a group is one of them.
    pub fn contains(&self, words: &[u64]) -> bool {
        match words {
            [word] => self.narrow.contains(word),
            words => self.wide.contains(words),
        }
    }
}

/// How a mapping was judged.
#[derive(Debug)]
pub enum Judged {
    /// It may be released without these groups.
    Holds(FailingGroups),
    /// At least this number of rows are in groups that fail, which is too many.
    Fails(u64),
    /// This number of groups hold by themselves, but not against what would be released.
    FarFromRelease(u64),
    /// The groups do not fit into memory, and tuples may not be read again.
    TooMany,
}

/// What is asked of a mapping.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// What every group must meet.
    pub requirements: &'a [Box<dyn Requirement>],
    /// How many rows may be left out.
    pub suppressible: u64,
    /// Whether all rows that fail are counted, even if they are too many.
    pub counts_all: bool,
}

impl Asked<'_> {
    fn unless(&self) -> Option<TooSmall> {
        let least = self.requirements.iter().map(|one| one.least_rows()).max().unwrap_or(1);
        (!self.counts_all).then_some(TooSmall { least, limit: self.suppressible })
    }

    fn is_decided(&self, failing: u64) -> bool {
        !self.counts_all && failing > self.suppressible
    }
}

/// What is added up over the groups of a mapping.
struct Sums {
    failing: FailingGroups,
    released: Vec<Vec<u64>>,
}

/// Takes some groups; answers whether more are wanted.
type EachPart<'a, K> = dyn FnMut(&PartGroups<K>) -> Result<bool> + 'a;

/// A packed key as words.
fn key_words<K: GroupKey>(fields: &[Field], words: &mut [u64], key: &K) {
    words.fill(0);
    fields.iter().for_each(|field| field.put(words, key.node(*field)));
}

impl<'a> Grouping<'a> {
    /// Whether each of some mappings may be released, each given as what the leaves of every column
    /// become. They are judged together in one pass, and those whose groups do not fit in as many
    /// passes as it takes.
    pub fn judge(&self, all: &[Vec<&'a [u32]>], asked: Asked<'_>) -> Result<Vec<Judged>> {
        match self.key_words() {
            1 => self.judge_by::<[u64; 1]>(all, asked),
            2 => self.judge_by::<[u64; 2]>(all, asked),
            3..=8 => self.judge_by::<[u64; 8]>(all, asked),
            _ => {
                let what = "tuples of so many columns".into();
                Err(Error::TooLittleMemory { what, instead: Some("use rothko-s") })
            }
        }
    }

    /// All groups of a mapping, if they are no more than `most` and fit into memory.
    pub fn all(&self, maps: &[&'a [u32]], most: u64) -> Result<Option<AllGroups>> {
        match self.key_words() {
            1 => self.all_by::<[u64; 1]>(maps, most),
            2 => self.all_by::<[u64; 2]>(maps, most),
            3..=8 => self.all_by::<[u64; 8]>(maps, most),
            _ => Ok(None),
        }
    }

    fn all_by<K: GroupKey>(&self, maps: &[&'a [u32]], most: u64) -> Result<Option<AllGroups>> {
        // As if groups of one row were too small.
        let unless = TooSmall { least: self.rows.saturating_add(1), limit: most };
        let pass = self.pass::<K>(maps, Some(unless))?;
        let Pass::Groups(PartGroups { groups, tallies }) = pass else { return Ok(None) };
        let fields = &self.packing.fields()[..self.keys()];
        let nodes = groups.iter().flat_map(|(key, _)| fields.iter().map(|one| key.node(*one)));
        let rows = groups.iter().map(|(_, rows)| *rows).collect();
        Ok(Some(AllGroups { nodes: nodes.collect(), rows, tallies }))
    }

    /// Words of a tuple's quasi-identifiers.
    pub fn key_words(&self) -> usize {
        let keys = &self.packing.fields()[..self.keys()];
        keys.last().map_or(1, |field| field.word + 1)
    }

    fn judge_by<K: GroupKey>(
        &self,
        all: &[Vec<&'a [u32]>],
        asked: Asked<'_>,
    ) -> Result<Vec<Judged>> {
        let passes = self.pass_together::<K>(all, asked.unless())?;
        let judged = passes.into_iter().zip(all).map(|(pass, maps)| match pass {
            Pass::Groups(part) => {
                let mut sums = self.no_sums();
                self.add(&mut sums, &part, asked)?;
                self.conclude(sums, asked, &mut |each| each(&part).map(|_| ()))
            }
            Pass::TooSmall => Ok(Judged::Fails(asked.suppressible.saturating_add(1))),
            Pass::TooMany if self.folder.is_none() => Ok(Judged::TooMany),
            Pass::TooMany => {
                // Without others that share the memory, another pass would end in the same way.
                let each_part = match all {
                    [_] => Grouping::each_of_many::<K>,
                    _ => Grouping::each_part::<K>,
                };
                let mut sums = self.no_sums();
                let is_complete = each_part(self, maps, asked.unless(), &mut |part| {
                    self.add(&mut sums, &part, asked)?;
                    Ok(!asked.is_decided(sums.failing.rows))
                })?;
                if !is_complete {
                    return Ok(Judged::Fails(asked.suppressible.saturating_add(1)));
                }
                self.conclude(sums, asked, &mut |each| {
                    each_part(self, maps, None, &mut |part| each(&part)).map(|_| ())
                })
            }
        });
        judged.collect()
    }

    fn no_sums(&self) -> Sums {
        let released = self.values.iter().map(|values| vec![0; *values]).collect();
        Sums { failing: FailingGroups::default(), released }
    }

    /// Adds up some groups, as long as not too many rows fail.
    fn add<K: GroupKey>(
        &self,
        sums: &mut Sums,
        part: &PartGroups<K>,
        asked: Asked<'_>,
    ) -> Result<()> {
        let fields = &self.packing.fields()[..self.keys()];
        let mut words = vec![0; self.key_words()];
        for (index, (key, rows)) in part.groups.iter().enumerate() {
            if index % JUDGED == 0 {
                self.watch.check()?;
            }
            let group = Group { rows: u64::from(*rows), columns: &part.tallies, index };
            if !all_hold(asked.requirements, &group) {
                sums.failing.rows += group.rows;
                if asked.is_decided(sums.failing.rows) {
                    return Ok(());
                }
                if sums.failing.rows > asked.suppressible {
                    continue;
                }
                key_words(fields, &mut words, key);
                sums.failing.insert(&words);
                continue;
            }
            for (totals, tally) in sums.released.iter_mut().zip(&part.tallies) {
                let values = tally.group(index).iter();
                values.for_each(|(value, count)| totals[*value as usize] += u64::from(*count));
            }
        }
        Ok(())
    }

    /// Judges what was added up; `again` hands over the groups once more.
    fn conclude<K: GroupKey>(
        &self,
        sums: Sums,
        asked: Asked<'_>,
        again: &mut dyn FnMut(&mut EachPart<'_, K>) -> Result<()>,
    ) -> Result<Judged> {
        let Sums { failing, released } = sums;
        if failing.rows > asked.suppressible || failing.rows == self.rows {
            return Ok(Judged::Fails(failing.rows));
        }
        if failing.is_empty() {
            return Ok(Judged::Holds(failing));
        }
        // What compares a group with the whole must hold against the released rows as well.
        let requirements = asked.requirements.iter();
        let against: Vec<Box<dyn Requirement>> =
            requirements.filter_map(|one| one.against_release(&released)).collect();
        let mut far = 0;
        if !against.is_empty() {
            again(&mut |part| {
                for (index, (_, rows)) in part.groups.iter().enumerate() {
                    let group = Group { rows: u64::from(*rows), columns: &part.tallies, index };
                    let is_released = all_hold(asked.requirements, &group);
                    far += u64::from(is_released && !all_hold(&against, &group));
                }
                Ok(true)
            })?;
        }
        Ok(if far > 0 { Judged::FarFromRelease(far) } else { Judged::Holds(failing) })
    }
}
