//! Cells: the distinct tuples of quasi-identifiers, each with the number of rows that have it.
//!
//! Whatever a search asks is asked of cells. A table of ten million people has ten or a hundred
//! thousand of them, and the rows themselves are read once.

use crate::error::Result;
use crate::ids::{Id, IdMap};
use crate::watch::{PIECE, Watch};
use hashbrown::HashTable;
use rayon::prelude::*;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::marker::PhantomData;
use std::ops::Range;

/// Distinct tuples of codes with their counts. `K` is the kind of their numbers: the cells of a
/// table, those of a search and the classes of a release are three numberings.
#[derive(Debug)]
pub struct Cells<K = u32> {
    width: usize,
    codes: Vec<u32>,
    counts: Vec<u32>,
    /// Finds cells by their codes; empty until one is looked for where they were made without.
    index: HashTable<u32>,
    kind: PhantomData<K>,
}

/// More cells than this are not moved to another index at once.
const MANY_CELLS: usize = 1 << 19;

fn hash(codes: &[u32]) -> u64 {
    let mut hasher = FxHasher::default();
    let (pairs, last) = codes.as_chunks::<2>();
    pairs
        .iter()
        .for_each(|[one, other]| hasher.write_u64(u64::from(*one) << 32 | u64::from(*other)));
    last.iter().for_each(|code| hasher.write_u32(*code));
    hasher.finish()
}

/// Whether no two codes become the same.
fn is_one_to_one(map: &[u32]) -> bool {
    let mut taken = vec![false; map.iter().max().map_or(0, |last| *last as usize + 1)];
    map.iter().all(|new| !std::mem::replace(&mut taken[*new as usize], true))
}

impl<K: Id> Default for Cells<K> {
    fn default() -> Self {
        Cells::new(0)
    }
}

impl<K: Id> Cells<K> {
    /// No cells yet, of tuples of `width` codes.
    pub fn new(width: usize) -> Self {
        Cells {
            width,
            codes: Vec::new(),
            counts: Vec::new(),
            index: HashTable::new(),
            kind: PhantomData,
        }
    }

    /// The number of every cell, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = K> + DoubleEndedIterator + Clone + use<K> {
        K::first(self.len())
    }

    /// Makes room for so many more.
    pub fn reserve(&mut self, cells: usize) {
        let Cells { width, codes, counts, index, .. } = self;
        index.reserve(cells, |&cell| hash(&codes[cell as usize * *width..][..*width]));
        codes.reserve(cells * *width);
        counts.reserve(cells);
    }

    /// How many distinct tuples there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many codes a tuple has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The memory that they take.
    pub fn bytes(&self) -> usize {
        4 * (self.codes.capacity() + self.counts.capacity()) + self.index.allocation_size()
    }

    /// The codes of a cell.
    pub fn codes(&self, cell: K) -> &[u32] {
        self.tuple(cell.number())
    }

    fn tuple(&self, cell: u32) -> &[u32] {
        &self.codes[cell as usize * self.width..][..self.width]
    }

    /// The codes of every cell, in order.
    pub fn tuples(&self) -> impl Iterator<Item = &[u32]> + Clone {
        self.codes.chunks_exact(self.width.max(1))
    }

    /// The code of every cell in one column.
    pub fn column(&self, column: usize) -> impl Iterator<Item = u32> + Clone {
        self.tuples().map(move |tuple| tuple[column])
    }

    /// The number of rows of a cell.
    pub fn count(&self, cell: K) -> u32 {
        self.counts[cell.index()]
    }

    /// The number of rows of each cell.
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// Counts `rows` more rows with a tuple; returns the tuple's cell.
    pub fn add(&mut self, tuple: &[u32], rows: u32) -> K {
        debug_assert_eq!(tuple.len(), self.width);
        let Cells { width, codes, counts, index, .. } = self;
        let at = |cell: u32| &codes[cell as usize * *width..][..*width];
        if index.len() < counts.len() {
            index.reserve(counts.len(), |&cell| hash(at(cell)));
            (0..counts.len() as u32).for_each(|cell| {
                _ = index.insert_unique(hash(at(cell)), cell, |&cell| hash(at(cell)))
            });
        }
        // Tuples are short: to call a comparison of memory takes longer than to compare them. Most
        // are known.
        let is_it = |cell: &u32| at(*cell).iter().zip(tuple).all(|(known, code)| known == code);
        let hashed = hash(tuple);
        if let Some(cell) = index.find(hashed, is_it) {
            counts[*cell as usize] += rows;
            return K::new(*cell);
        }
        let cell = counts.len() as u32;
        index.insert_unique(hashed, cell, |&cell| hash(at(cell)));
        codes.extend_from_slice(tuple);
        counts.push(rows);
        K::new(cell)
    }

    /// Makes room in the index for one more piece of cells if there are many: a hash table that
    /// grows by itself moves all of them at once, which cannot be aborted.
    fn make_room(&mut self, watch: &Watch) -> Result<()> {
        let room = self.index.capacity() - self.index.len();
        if self.len() < MANY_CELLS || room >= PIECE || self.index.len() < self.len() {
            return Ok(());
        }
        let mut index = HashTable::with_capacity(2 * self.index.capacity());
        for start in (0..self.len()).step_by(PIECE) {
            watch.check()?;
            for cell in start..(start + PIECE).min(self.len()) {
                let cell = cell as u32;
                index.insert_unique(hash(self.tuple(cell)), cell, |&cell| hash(self.tuple(cell)));
            }
        }
        self.index = index;
        Ok(())
    }

    /// The cells after each code of column `i` has become `maps[i][code]`, and which new cell each
    /// old one went to.
    pub fn recode<N: Id>(&self, maps: &[&[u32]], watch: &Watch) -> Result<(Cells<N>, IdMap<K, N>)> {
        if maps.iter().all(|map| is_one_to_one(map)) {
            // Distinct tuples stay distinct.
            let mut codes = Vec::with_capacity(self.codes.len());
            for piece in self.codes.chunks(self.width.max(1) * PIECE) {
                watch.check()?;
                for tuple in piece.chunks_exact(self.width.max(1)) {
                    codes.extend(tuple.iter().zip(maps).map(|(code, map)| map[*code as usize]));
                }
            }
            let cells = Cells { codes, counts: self.counts.clone(), ..Cells::new(self.width) };
            return Ok((cells, N::first(self.len()).collect()));
        }
        let mut cells: Cells<N> = Cells::new(self.width);
        let mut tuple = vec![0; self.width];
        let mut went = Vec::with_capacity(self.len());
        for start in (0..self.len()).step_by(PIECE) {
            watch.check()?;
            cells.make_room(watch)?;
            for cell in start..(start + PIECE).min(self.len()) {
                for ((code, map), new) in self.tuple(cell as u32).iter().zip(maps).zip(&mut tuple) {
                    *new = map[*code as usize];
                }
                went.push(cells.add(&tuple, self.counts[cell]).number());
            }
        }
        Ok((cells, IdMap::new(went)))
    }
}

/// Rows that are worth a thread of their own.
const LARGE: usize = 1 << 14;

/// Puts items beside those of their group, in their order: the items, and where each group begins
/// and the last one ends.
pub(crate) fn gather(
    groups: usize,
    items: impl Iterator<Item = (u32, u32)> + Clone,
    watch: &Watch,
) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut next = vec![0u32; groups + 1];
    watch.each(items.clone(), PIECE, |(group, _)| next[group as usize + 1] += 1)?;
    (0..groups).for_each(|group| next[group + 1] += next[group]);
    let bounds = next.clone();
    let mut gathered = vec![0; bounds[groups] as usize];
    watch.each(items, PIECE, |(group, item)| {
        let place = &mut next[group as usize];
        gathered[*place as usize] = item;
        *place += 1;
    })?;
    Ok((gathered, bounds))
}

/// Groups that lie between `bounds`, some thousand rows of neighbours at a time.
pub(crate) fn neighbours(bounds: &[u32], rows: usize) -> Vec<Range<usize>> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for end in 1..bounds.len() {
        if (bounds[end] - bounds[start]) as usize >= rows || end + 1 == bounds.len() {
            parts.push(start..end);
            start = end;
        }
    }
    parts
}

/// Where the entries of each of some groups end, and the entries.
type Counted = (Vec<u32>, Vec<(u32, u32)>);

/// Counts values, one group after the other.
struct Counter {
    /// How often each value occurs, all zero in between; empty where values are too many for that.
    row: Vec<u32>,
    sorted: Vec<u32>,
}

impl Counter {
    /// For values below `most`.
    fn new(most: usize) -> Counter {
        Counter { row: vec![0; if most <= LARGE { most } else { 0 }], sorted: Vec::new() }
    }

    /// Adds the values that occur with their counts, in ascending order: by the row where it is not
    /// much longer than the group, else by sorting.
    fn count(
        &mut self,
        values: &[u32],
        entries: &mut Vec<(u32, u32)>,
        watch: &Watch,
    ) -> Result<()> {
        if !self.row.is_empty() && values.len() * 4 >= self.row.len() {
            for piece in values.chunks(PIECE) {
                watch.check()?;
                piece.iter().for_each(|value| self.row[*value as usize] += 1);
            }
            // Nothing branches on which values occur: each is written, and the next one over it
            // unless it counts.
            let mut filled = entries.len();
            entries.resize(filled + self.row.len(), (0, 0));
            for (value, count) in (0..).zip(&mut self.row) {
                entries[filled] = (value, *count);
                filled += usize::from(*count > 0);
                *count = 0;
            }
            entries.truncate(filled);
            return Ok(());
        }
        self.sorted.clear();
        self.sorted.extend_from_slice(values);
        match values.len() {
            0..LARGE => self.sorted.sort_unstable(),
            LARGE..PIECE => self.sorted.par_sort_unstable(),
            _ => watch.sort(&mut self.sorted)?,
        }
        entries.extend(self.sorted.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)));
        Ok(())
    }
}

/// Places for counts that stay in a cache.
const FEW: usize = 1 << 18;

/// For each group of rows, the values of one column that occur in it with their counts, in
/// ascending order of value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    starts: Vec<u32>,
    entries: Vec<(u32, u32)>,
}

impl Tallies {
    /// Counts values by group; `groups[i]` and `values[i]` belong to the same row.
    pub fn count(
        number_of_groups: usize,
        groups: &[u32],
        values: &[u32],
        watch: &Watch,
    ) -> Result<Tallies> {
        let distinct = values.iter().max().map_or(0, |last| *last as usize + 1);
        if number_of_groups.saturating_mul(distinct) <= FEW.min(2 * values.len()) {
            return Tallies::count_few(number_of_groups, distinct, groups, values, watch);
        }
        // Values are put beside those of their group, then each group counts its own.
        let (gathered, bounds) =
            gather(number_of_groups, groups.iter().copied().zip(values.iter().copied()), watch)?;
        let counted: Vec<Counted> = neighbours(&bounds, LARGE)
            .into_par_iter()
            .map_init(
                || Counter::new(distinct),
                |counter, groups| {
                    watch.check()?;
                    let (mut ends, mut entries) = (Vec::with_capacity(groups.len()), Vec::new());
                    for bounds in bounds[groups.start..=groups.end].windows(2) {
                        let values = &gathered[bounds[0] as usize..bounds[1] as usize];
                        counter.count(values, &mut entries, watch)?;
                        ends.push(entries.len() as u32);
                    }
                    Ok((ends, entries))
                },
            )
            .collect::<Result<_>>()?;
        drop(gathered);
        let total = counted.iter().map(|(_, entries)| entries.len()).sum();
        let mut tallies = Tallies {
            starts: Vec::with_capacity(number_of_groups + 1),
            entries: Vec::with_capacity(total),
        };
        tallies.starts.push(0);
        for (ends, entries) in counted {
            watch.check()?;
            let before = tallies.entries.len() as u32;
            tallies.starts.extend(ends.into_iter().map(|end| before + end));
            tallies.entries.extend_from_slice(&entries);
        }
        Ok(tallies)
    }

    /// The same where every group may as well have a place for each value.
    fn count_few(
        number_of_groups: usize,
        distinct: usize,
        groups: &[u32],
        values: &[u32],
        watch: &Watch,
    ) -> Result<Tallies> {
        let mut counts = vec![0u32; number_of_groups * distinct];
        for (groups, values) in groups.chunks(PIECE).zip(values.chunks(PIECE)) {
            watch.check()?;
            for (group, value) in groups.iter().zip(values) {
                counts[*group as usize * distinct + *value as usize] += 1;
            }
        }
        let mut tallies =
            Tallies { starts: Vec::with_capacity(number_of_groups + 1), entries: Vec::new() };
        tallies.starts.push(0);
        for group in 0..number_of_groups {
            let counts = (0..).zip(&counts[group * distinct..][..distinct]);
            tallies.entries.extend(
                counts.filter(|(_, count)| **count > 0).map(|(value, count)| (value, *count)),
            );
            tallies.starts.push(tallies.entries.len() as u32);
        }
        Ok(tallies)
    }

    /// Tallies put together group by group.
    pub fn from_parts(starts: Vec<u32>, entries: Vec<(u32, u32)>) -> Tallies {
        Tallies { starts, entries }
    }

    /// One group without rows, to be filled with [`add`](Self::add).
    pub fn single() -> Tallies {
        Tallies { starts: vec![0, 0], entries: Vec::new() }
    }

    /// One group whose rows are counted value by value: `rows[i]` of them have `values[i]`. Counts
    /// past 2^32 stay there: such a value is frequent enough.
    pub fn weighted(values: &[u32], rows: &[u64]) -> Tallies {
        let mut single = Tallies::single();
        let mut pairs: Vec<(u32, u64)> = values.iter().copied().zip(rows.iter().copied()).collect();
        pairs.sort_unstable_by_key(|pair| pair.0);
        for run in pairs.chunk_by(|a, b| a.0 == b.0) {
            let rows: u64 = run.iter().map(|pair| pair.1).sum();
            single.entries.push((run[0].0, u32::try_from(rows).unwrap_or(u32::MAX)));
        }
        single.starts[1] = single.entries.len() as u32;
        single
    }

    /// Counts a value of the only group `count` more times.
    pub fn add(&mut self, value: u32, count: u32) {
        match self.entries.binary_search_by_key(&value, |entry| entry.0) {
            Ok(position) => self.entries[position].1 += count,
            Err(position) => self.entries.insert(position, (value, count)),
        }
        self.starts[1] = self.entries.len() as u32;
    }

    /// Forgets all values of the only group.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.starts[1] = 0;
    }

    /// Counts a value of the only group `count` fewer times.
    pub fn remove(&mut self, value: u32, count: u32) {
        if let Ok(position) = self.entries.binary_search_by_key(&value, |entry| entry.0) {
            self.entries[position].1 -= count;
            if self.entries[position].1 == 0 {
                self.entries.remove(position);
            }
        }
        self.starts[1] = self.entries.len() as u32;
    }

    /// Adds some groups of other tallies to the only group.
    pub fn add_groups(
        &mut self,
        others: &Tallies,
        groups: Range<usize>,
        watch: &Watch,
    ) -> Result<()> {
        let entries = &others.entries
            [others.starts[groups.start] as usize..others.starts[groups.end] as usize];
        for piece in entries.chunks(PIECE) {
            watch.check()?;
            self.entries.extend_from_slice(piece);
        }
        watch.sort_by(&mut self.entries, |one, other| one.0.cmp(&other.0))?;
        self.entries.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        self.starts[1] = self.entries.len() as u32;
        Ok(())
    }

    /// A copy, unless the job is aborted.
    pub(crate) fn try_clone(&self, watch: &Watch) -> Result<Tallies> {
        let mut copy = Tallies {
            starts: Vec::with_capacity(self.starts.len()),
            entries: Vec::with_capacity(self.entries.len()),
        };
        for piece in self.starts.chunks(PIECE) {
            watch.check()?;
            copy.starts.extend_from_slice(piece);
        }
        for piece in self.entries.chunks(PIECE) {
            watch.check()?;
            copy.entries.extend_from_slice(piece);
        }
        Ok(copy)
    }

    /// The values of a group with their counts.
    pub fn group(&self, group: usize) -> &[(u32, u32)] {
        &self.entries[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many (group, value) pairs there are.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// The tallies of the groups that arise when each group `i` goes to `went[i]`, of `groups` new
    /// ones. `values` is larger than any value.
    pub fn merge(
        &self,
        groups: usize,
        went: &[u32],
        values: usize,
        watch: &Watch,
    ) -> Result<Tallies> {
        if values == 1 {
            return self.merge_one(groups, went, watch);
        }
        // Groups in the order of where they go (a counting sort), then each new group by a row of
        // counts.
        let mut ends = vec![0u32; groups + 1];
        for piece in went.chunks(PIECE) {
            watch.check()?;
            piece.iter().for_each(|new| ends[*new as usize + 1] += 1);
        }
        for group in 0..groups {
            ends[group + 1] += ends[group];
        }
        // What is now the beginning of each group becomes its end while it is filled.
        let mut order = vec![0u32; went.len()];
        for (start, piece) in (0..).step_by(PIECE).zip(went.chunks(PIECE)) {
            watch.check()?;
            for (old, new) in (start..).zip(piece) {
                let next = &mut ends[*new as usize];
                order[*next as usize] = old;
                *next += 1;
            }
        }
        let mut row = MergedRow { short: [0; SHORT_ROW], long: vec![0; values], seen: Vec::new() };
        // Merging never makes entries more; a row's worth of room lets the last group write before
        // it counts.
        let mut entries = vec![(0, 0); self.entries.len() + values.min(SHORT_ROW)];
        let mut starts = Vec::with_capacity(groups + 1);
        let (mut start, mut len) = (0, 0);
        starts.push(0);
        for some in ends[..groups].chunks(FEW_GROUPS) {
            watch.check()?;
            for end in some {
                match &order[start..*end as usize] {
                    [only] => {
                        let only = self.group(*only as usize);
                        entries[len..len + only.len()].copy_from_slice(only);
                        len += only.len();
                    }
                    several if values <= SHORT_ROW => {
                        len += row.add_short(self, several, &mut entries[len..], watch)?
                    }
                    several => len += row.add_long(self, several, &mut entries[len..], watch)?,
                }
                start = *end as usize;
                starts.push(len as u32);
            }
        }
        entries.truncate(len);
        entries.shrink_to_fit();
        Ok(Tallies { starts, entries })
    }

    /// The same for a column of one value: sums.
    fn merge_one(&self, groups: usize, went: &[u32], watch: &Watch) -> Result<Tallies> {
        let mut sums = vec![0u32; groups];
        for (start, piece) in (0..).step_by(PIECE).zip(went.chunks(PIECE)) {
            watch.check()?;
            for (bounds, new) in self.starts[start..].windows(2).zip(piece) {
                if bounds[0] < bounds[1] {
                    sums[*new as usize] += self.entries[bounds[0] as usize].1;
                }
            }
        }
        let mut starts = Vec::with_capacity(groups + 1);
        let mut entries = Vec::with_capacity(groups);
        starts.push(0);
        for piece in sums.chunks(PIECE) {
            watch.check()?;
            for sum in piece {
                entries.extend((*sum > 0).then_some((0, *sum)));
                starts.push(entries.len() as u32);
            }
        }
        Ok(Tallies { starts, entries })
    }

    /// How often each of `values` values occurs in all groups together.
    pub fn totals(&self, values: usize, watch: &Watch) -> Result<Vec<u64>> {
        let mut totals = vec![0; values];
        for piece in self.entries.chunks(PIECE) {
            watch.check()?;
            for (value, count) in piece {
                totals[*value as usize] += u64::from(*count);
            }
        }
        Ok(totals)
    }
}

/// Up to so many values a group's counts are read off one by one, whether they occur or not.
const SHORT_ROW: usize = 64;

/// Groups that are put together, and groups that each of them is put together from, between two
/// polls for an abort.
const FEW_GROUPS: usize = 64;
const MANY_GROUPS: usize = 1 << 12;

/// How often each value occurs in a group that is put together; all zero in between.
struct MergedRow {
    short: [u32; SHORT_ROW],
    long: Vec<u32>,
    seen: Vec<u32>,
}

impl MergedRow {
    /// Writes what some groups have together; returns how many entries that are. Which values occur
    /// is almost random, so nothing branches on it: each is written, and the next one over it
    /// unless it counts.
    fn add_short(
        &mut self,
        tallies: &Tallies,
        groups: &[u32],
        entries: &mut [(u32, u32)],
        watch: &Watch,
    ) -> Result<usize> {
        // Most groups are put together from a few, for which a poll would take long.
        let (some, more) = groups.split_at(groups.len().min(MANY_GROUPS));
        self.count_short(tallies, some);
        for some in more.chunks(MANY_GROUPS) {
            watch.check()?;
            self.count_short(tallies, some);
        }
        let mut filled = 0;
        for (value, count) in (0..).zip(&mut self.short[..self.long.len()]) {
            entries[filled] = (value, *count);
            filled += usize::from(*count > 0);
            *count = 0;
        }
        Ok(filled)
    }

    #[inline(always)]
    fn count_short(&mut self, tallies: &Tallies, groups: &[u32]) {
        for group in groups {
            for (value, count) in tallies.group(*group as usize) {
                self.short[*value as usize % SHORT_ROW] += count;
            }
        }
    }

    /// The same where values are many: only those that occur are looked at.
    fn add_long(
        &mut self,
        tallies: &Tallies,
        groups: &[u32],
        entries: &mut [(u32, u32)],
        watch: &Watch,
    ) -> Result<usize> {
        for piece in groups.chunks(MANY_GROUPS) {
            watch.check()?;
            for (value, count) in piece.iter().flat_map(|group| tallies.group(*group as usize)) {
                let known = &mut self.long[*value as usize];
                if *known == 0 {
                    self.seen.push(*value);
                }
                *known += count;
            }
        }
        let filled = self.seen.len();
        if filled < PIECE {
            self.seen.sort_unstable();
            for (value, entry) in self.seen.iter().zip(entries) {
                *entry = (*value, std::mem::take(&mut self.long[*value as usize]));
            }
        } else {
            // Going through all values needs no sort, which could not be aborted.
            let mut entries = entries.iter_mut();
            for (start, piece) in (0..).step_by(PIECE).zip(self.long.chunks_mut(PIECE)) {
                watch.check()?;
                let occurring = (start..).zip(piece).filter(|(_, count)| **count > 0);
                for ((value, count), entry) in occurring.zip(entries.by_ref()) {
                    *entry = (value, std::mem::take(count));
                }
            }
        }
        self.seen.clear();
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Groups of a hundred and of sixty thousand rows, values few and many.
    #[test]
    fn tallies_of_many_rows_are_those_of_each_group_alone() {
        let mut random = crate::random::Random::new(5);
        for most in [7, 700, 70_000] {
            let groups: Vec<u32> =
                (0..130_000).map(|row| if row % 2 == 0 { 0 } else { row % 500 }).collect();
            let values: Vec<u32> = groups.iter().map(|_| random.below(most) as u32).collect();
            let tallies = Tallies::count(500, &groups, &values, &Watch::default()).unwrap();
            for group in [0, 1, 2, 333, 499] {
                let own = groups.iter().zip(&values).filter(|(of, _)| **of == group);
                let mut own: Vec<u32> = own.map(|(_, value)| *value).collect();
                own.sort_unstable();
                let runs: Vec<(u32, u32)> =
                    own.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect();
                assert_eq!(tallies.group(group as usize), runs);
            }
        }
    }

    proptest! {
        #[test]
        fn merging_tallies_is_counting_the_merged_rows(
            rows in prop::collection::vec((0u32..6, 0u32..5), 1..100),
            went in prop::collection::vec(0u32..3, 6),
        ) {
            let (groups, values): (Vec<u32>, Vec<u32>) = rows.into_iter().unzip();
            let fine = Tallies::count(6, &groups, &values, &Watch::default()).unwrap();
            let moved: Vec<u32> = groups.iter().map(|group| went[*group as usize]).collect();
            prop_assert_eq!(fine.merge(3, &went, 5, &Watch::default()).unwrap(), Tallies::count(3, &moved, &values, &Watch::default()).unwrap());
            prop_assert_eq!(fine.merge(3, &went, SHORT_ROW + 1, &Watch::default()).unwrap(), Tallies::count(3, &moved, &values, &Watch::default()).unwrap());
            prop_assert_eq!(fine.totals(5, &Watch::default()).unwrap().iter().sum::<u64>(), groups.len() as u64);
            let (ones, zeros): (Vec<u32>, Vec<u32>) = groups.iter().map(|group| (group % 5, 0)).unzip();
            let moved: Vec<u32> = ones.iter().map(|group| went[*group as usize]).collect();
            let fine = Tallies::count(6, &ones, &zeros, &Watch::default()).unwrap();
            prop_assert_eq!(fine.merge(3, &went, 1, &Watch::default()).unwrap(), Tallies::count(3, &moved, &zeros, &Watch::default()).unwrap());
        }

        #[test]
        fn tallies_count_each_value_of_each_group(
            rows in prop::sample::select(vec![4u32, 90])
                .prop_flat_map(|values| prop::collection::vec((0u32..5, 0..values), 0..300)),
            spread in prop::sample::select(vec![1u32, 1000]),
        ) {
            let (groups, values): (Vec<u32>, Vec<u32>) = rows.iter().map(|(group, value)| (*group, value * spread)).unzip();
            let tallies = Tallies::count(6, &groups, &values, &Watch::default()).unwrap();
            prop_assert_eq!(tallies.len(), 6);
            for group in 0..6 {
                let mut truth = BTreeMap::new();
                let own = groups.iter().zip(&values).filter(|(of, _)| **of == group);
                own.for_each(|(_, value)| *truth.entry(*value).or_insert(0) += 1);
                prop_assert_eq!(tallies.group(group as usize), truth.into_iter().collect::<Vec<(u32, u32)>>());
            }
        }

        #[test]
        fn cells_count_tuples(rows in prop::collection::vec((0u32..3, 0u32..3), 1..80)) {
            let mut cells: Cells = Cells::new(2);
            let mut truth = BTreeMap::new();
            for (a, b) in &rows {
                let cell = cells.add(&[*a, *b], 1);
                prop_assert_eq!(cells.codes(cell), &[*a, *b][..]);
                *truth.entry((*a, *b)).or_insert(0u32) += 1;
            }
            prop_assert_eq!(cells.len(), truth.len());
            for cell in 0..cells.len() as u32 {
                let codes = cells.codes(cell);
                prop_assert_eq!(cells.counts()[cell as usize], truth[&(codes[0], codes[1])]);
            }
            let (merged, went) = cells.recode::<u32>(&[&[0, 0, 1], &[0, 0, 0]], &Watch::default()).unwrap();
            prop_assert!(merged.len() <= 2 && went.len() == cells.len());
            prop_assert_eq!(merged.counts().iter().sum::<u32>() as usize, rows.len());
            // Codes that only change their names keep cells apart, and those are found by the new
            // ones.
            let (mut renamed, went) = cells.recode::<u32>(&[&[4, 0, 2], &[1, 2, 0]], &Watch::default()).unwrap();
            prop_assert!(went.iter().eq(cells.ids()));
            prop_assert_eq!(renamed.counts(), cells.counts());
            for cell in 0..cells.len() as u32 {
                let codes = cells.codes(cell);
                let tuple = [[4, 0, 2][codes[0] as usize], [1, 2, 0][codes[1] as usize]];
                prop_assert_eq!(renamed.codes(cell), &tuple[..]);
                prop_assert_eq!(renamed.add(&tuple, 1), cell);
            }
            prop_assert_eq!(renamed.add(&[9, 9], 1), cells.len() as u32);
        }
    }
}
