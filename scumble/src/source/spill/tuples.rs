//! Distinct packed tuples with counts: the answer to a GROUP BY that may not fit into memory.
//!
//! Tuples are gathered in memory, sorted, and merged where they are equal. If memory is full of
//! distinct ones, they are written to a file as a sorted run, and the runs are merged in the end.

use super::{Blocks, Records, SpillFile, SpillFolder, SpillWriter};
use crate::error::{Error, Result};
use crate::watch::Watch;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Tuples that are handed over at a time.
const TOGETHER: usize = 1 << 12;

/// Runs that are merged at a time.
const RUNS: usize = 64;

/// Packed tuples with the number of rows that have each, which can be read again and again. The
/// same tuple may come more than once.
pub trait Tuples: Sync {
    /// Hands over all tuples in pieces, their words one tuple after the other, and their counts.
    /// Ends early if `each` answers false.
    fn scan(&self, each: &mut EachPiece<'_>) -> Result<()>;
}

/// Takes words and counts of some tuples; answers whether more are wanted.
pub type EachPiece<'a> = dyn FnMut(&[u64], &[u32]) -> Result<bool> + 'a;

/// Tuples that are gathered, of a number of words that is known here only.
trait Gathered: Send {
    fn len(&self) -> usize;
    fn push(&mut self, words: &[u64], rows: u32);
    /// Sorts and merges.
    fn merge(&mut self, watch: &Watch) -> Result<()>;
    fn each(&self, each: &mut dyn FnMut(&[u64], u32) -> Result<()>) -> Result<()>;
    fn clear(&mut self);
}

struct OfWords<const W: usize> {
    list: Vec<([u64; W], u32)>,
}

impl<const W: usize> Gathered for OfWords<W> {
    fn len(&self) -> usize {
        self.list.len()
    }

    fn push(&mut self, words: &[u64], rows: u32) {
        let mut tuple = [0; W];
        tuple[..words.len()].copy_from_slice(words);
        self.list.push((tuple, rows));
    }

    fn merge(&mut self, watch: &Watch) -> Result<()> {
        watch.sort_by(&mut self.list, |a, b| a.0.cmp(&b.0))?;
        self.list.dedup_by(|next, known| {
            let is_equal = next.0 == known.0;
            if is_equal {
                known.1 += next.1;
            }
            is_equal
        });
        Ok(())
    }

    fn each(&self, each: &mut dyn FnMut(&[u64], u32) -> Result<()>) -> Result<()> {
        self.list.iter().try_for_each(|(words, count)| each(words, *count))
    }

    fn clear(&mut self) {
        self.list.clear();
    }
}

/// Room for tuples of at least so many words, and how many bytes each takes.
fn gathered(words: usize) -> Option<(Box<dyn Gathered>, usize)> {
    fn of<const W: usize>() -> Option<(Box<dyn Gathered>, usize)> {
        Some((Box::new(OfWords::<W> { list: Vec::new() }), size_of::<([u64; W], u32)>()))
    }
    match words {
        0..=1 => of::<1>(),
        2 => of::<2>(),
        3..=4 => of::<4>(),
        5..=8 => of::<8>(),
        9..=16 => of::<16>(),
        17..=64 => of::<64>(),
        _ => None,
    }
}

/// Counts tuples.
pub struct TupleCounter<'a> {
    folder: &'a SpillFolder,
    words: usize,
    /// Tuples that are gathered before they are merged.
    most: usize,
    block: usize,
    list: Box<dyn Gathered>,
    runs: Vec<SpillFile>,
    rows: u64,
    watch: &'a Watch,
}

impl<'a> TupleCounter<'a> {
    /// For tuples of so many words, in about so many bytes of memory.
    pub fn new(
        folder: &'a SpillFolder,
        words: usize,
        memory: u64,
        watch: &'a Watch,
    ) -> Result<TupleCounter<'a>> {
        let too_wide = || Error::TooLittleMemory {
            what: "tuples of so many columns".into(),
            instead: Some("use rothko-s"),
        };
        let (list, bytes) = gathered(words).ok_or_else(too_wide)?;
        // Sorting takes as much again.
        let most = (memory / 2 / bytes as u64).clamp(64, 1 << 31) as usize;
        let block = (memory / 2 / (RUNS as u64 + 1)).clamp(4096, 1 << 18) as usize;
        Ok(TupleCounter { folder, words, most, block, list, runs: Vec::new(), rows: 0, watch })
    }

    /// Rows that have a tuple.
    #[inline]
    pub fn add(&mut self, words: &[u64], rows: u32) -> Result<()> {
        if self.list.len() >= self.most {
            self.make_room()?;
        }
        self.list.push(words, rows);
        self.rows += u64::from(rows);
        Ok(())
    }

    /// Merges what is equal, and writes it all to a file if that does not help.
    fn make_room(&mut self) -> Result<()> {
        self.list.merge(self.watch)?;
        if self.list.len() > self.most / 2 { self.write() } else { Ok(()) }
    }

    /// Writes a sorted run.
    fn write(&mut self) -> Result<()> {
        let mut writer = self.folder.file(2 * self.words + 1, self.block);
        let (mut record, words) = (Vec::new(), self.words);
        self.list
            .each(&mut |tuple, count| push(&mut writer, &mut record, &tuple[..words], count))?;
        self.list.clear();
        self.runs.push(writer.finish()?);
        if self.runs.len() == RUNS {
            let merged = self.merged()?;
            self.runs.push(merged);
        }
        Ok(())
    }

    /// All runs as one.
    fn merged(&mut self) -> Result<SpillFile> {
        let runs = std::mem::take(&mut self.runs);
        let mut writer = self.folder.file(2 * self.words + 1, self.block);
        let mut heads = Vec::with_capacity(runs.len());
        for run in &runs {
            heads.push(Head::new(run)?);
        }
        let mut heap: BinaryHeap<Reverse<HeadKey>> = BinaryHeap::new();
        for (run, head) in heads.iter().enumerate() {
            heap.extend(head.key(self.words, run).map(Reverse));
        }
        let (mut open, mut record) = (None::<(Vec<u64>, u32)>, Vec::new());
        let mut merged = 0usize;
        while let Some(Reverse(HeadKey { tuple, run })) = heap.pop() {
            merged += 1;
            if merged.is_multiple_of(TOGETHER) {
                self.watch.check()?;
            }
            let count = heads[run].count();
            heads[run].advance()?;
            heap.extend(heads[run].key(self.words, run).map(Reverse));
            open = match open {
                Some((known, sum)) if known == tuple => Some((known, sum + count)),
                Some((known, sum)) => {
                    push(&mut writer, &mut record, &known, sum)?;
                    Some((tuple, count))
                }
                None => Some((tuple, count)),
            };
        }
        if let Some((known, sum)) = open {
            push(&mut writer, &mut record, &known, sum)?;
        }
        writer.finish()
    }

    /// All that was counted.
    pub fn finish(mut self) -> Result<CountedTuples> {
        self.list.merge(self.watch)?;
        let (words, rows, watch) = (self.words, self.rows, self.watch.clone());
        let at = if self.runs.is_empty() {
            let mut tuples = Vec::with_capacity(self.list.len() * words);
            let mut counts = Vec::with_capacity(self.list.len());
            self.list.each(&mut |tuple, count| {
                tuples.extend_from_slice(&tuple[..words]);
                counts.push(count);
                Ok(())
            })?;
            Kept::Memory(tuples, counts)
        } else {
            self.write()?;
            Kept::File(if self.runs.len() == 1 {
                self.runs.pop().ok_or(Error::Defect)?
            } else {
                self.merged()?
            })
        };
        Ok(CountedTuples { at, words, rows, watch })
    }
}

/// Appends a tuple to a file.
fn push(writer: &mut SpillWriter, record: &mut Vec<u32>, tuple: &[u64], count: u32) -> Result<()> {
    record.clear();
    record.extend(tuple.iter().flat_map(|word| [(word >> 32) as u32, *word as u32]));
    record.push(count);
    writer.push(record, &[])
}

/// A word of a tuple in a file's record.
fn word(record: &[u32], at: usize) -> u64 {
    u64::from(record[2 * at]) << 32 | u64::from(record[2 * at + 1])
}

/// The rest of a run that is merged.
struct Head {
    blocks: Blocks,
    block: Records,
    next: usize,
}

/// The first tuple of a run's rest.
#[derive(PartialEq, Eq)]
struct HeadKey {
    tuple: Vec<u64>,
    run: usize,
}

impl Ord for HeadKey {
    fn cmp(&self, other: &HeadKey) -> Ordering {
        self.tuple.cmp(&other.tuple).then(self.run.cmp(&other.run))
    }
}

impl PartialOrd for HeadKey {
    fn partial_cmp(&self, other: &HeadKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Head {
    fn new(run: &SpillFile) -> Result<Head> {
        let mut head = Head { blocks: run.blocks()?, block: Records::new(run.width()), next: 0 };
        head.blocks.append_to(&mut head.block)?;
        Ok(head)
    }

    fn key(&self, words: usize, run: usize) -> Option<HeadKey> {
        (self.next < self.block.len()).then(|| {
            let record = self.block.words(self.next);
            HeadKey { tuple: (0..words).map(|at| word(record, at)).collect(), run }
        })
    }

    fn count(&self) -> u32 {
        self.block.words(self.next).last().copied().unwrap_or(0)
    }

    fn advance(&mut self) -> Result<()> {
        self.next += 1;
        if self.next == self.block.len() {
            self.block.clear();
            self.next = 0;
            self.blocks.append_to(&mut self.block)?;
        }
        Ok(())
    }
}

enum Kept {
    /// Words and counts.
    Memory(Vec<u64>, Vec<u32>),
    File(SpillFile),
}

/// Distinct tuples in ascending order of their words.
pub struct CountedTuples {
    at: Kept,
    words: usize,
    rows: u64,
    watch: Watch,
}

impl CountedTuples {
    /// How many distinct tuples there are.
    pub fn len(&self) -> u64 {
        match &self.at {
            Kept::Memory(_, counts) => counts.len() as u64,
            Kept::File(file) => file.rows(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many rows were counted.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether they are in a file.
    pub fn is_in_file(&self) -> bool {
        matches!(self.at, Kept::File(_))
    }
}

impl Tuples for CountedTuples {
    fn scan(&self, each: &mut EachPiece<'_>) -> Result<()> {
        match &self.at {
            Kept::Memory(tuples, counts) => {
                let pieces = tuples.chunks(TOGETHER * self.words);
                for (tuples, counts) in pieces.zip(counts.chunks(TOGETHER)) {
                    self.watch.check()?;
                    if !each(tuples, counts)? {
                        break;
                    }
                }
            }
            Kept::File(file) => {
                let (mut tuples, mut counts) = (Vec::new(), Vec::new());
                let (mut blocks, mut block) = (file.blocks()?, Records::new(file.width()));
                while blocks.append_to(&mut block)? {
                    self.watch.check()?;
                    tuples.clear();
                    counts.clear();
                    for record in block.words.chunks_exact(file.width()) {
                        tuples.extend((0..self.words).map(|at| word(record, at)));
                        counts.push(record[2 * self.words]);
                    }
                    if !each(&tuples, &counts)? {
                        break;
                    }
                    block.clear();
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::collections::BTreeMap;

    #[test]
    fn tuples_are_counted_in_any_memory() {
        let folder = SpillFolder::create(&std::env::temp_dir()).unwrap();
        let watch = Watch::default();
        let mut random = Random::new(8);
        let mut files = 0;
        for (words, rows, values) in
            [(1, 0, 1), (1, 9000, 40), (1, 30_000, 20_000), (3, 20_000, 900), (5, 9000, 1 << 40)]
        {
            for memory in [1, 20_000, 1 << 24] {
                let mut counter = TupleCounter::new(&folder, words, memory, &watch).unwrap();
                let mut truth: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
                for _ in 0..rows {
                    let tuple: Vec<u64> = (0..words).map(|_| random.below(values)).collect();
                    counter.add(&tuple, 1).unwrap();
                    *truth.entry(tuple).or_default() += 1;
                }
                let counted = counter.finish().unwrap();
                files += usize::from(counted.is_in_file());
                let mut found = Vec::new();
                let mut each = |tuples: &[u64], counts: &[u32]| {
                    let tuples = tuples.chunks(words).map(<[u64]>::to_vec);
                    found.extend(tuples.zip(counts.iter().copied()));
                    Ok(true)
                };
                counted.scan(&mut each).unwrap();
                assert_eq!(found, truth.into_iter().collect::<Vec<_>>());
                assert_eq!((counted.len(), counted.rows()), (found.len() as u64, rows));
            }
        }
        assert!(files > 4, "{files}");
        assert!(folder.bytes_held() == 0);
    }
}
