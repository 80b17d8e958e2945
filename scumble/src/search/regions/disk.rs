//! Partitions on disk: what Rothko-T and Rothko-S share (LeFevre and DeWitt 2007, sections 2 and
//! 3).
//!
//! A partition is a [`Stock`] of files. Both algorithms grow some levels of the tree without
//! holding the rows, write the rows to a file for each leaf, and go on with every leaf by itself,
//! depth first; a stock that fits into memory is read and finished by Mondrian's own code, or by
//! another [`Finisher`]. So only the path to the current partition is ever in memory, and whatever
//! is decided is told to a [`Receiver`] at once.

use super::mondrian::{Grown, Growth};
use super::{Choice, Layout, Points};
use crate::error::{Error, Result};
use crate::privacy::Group;
use crate::recoding::{Place, RegionNode, Regions, Style};
use crate::source::spill::{Records, SpillFile, SpillFolder, SpillWriter};
use crate::table::Tallies;
use crate::taxonomy::{Extent, TreeNode};
use rustc_hash::FxHashMap;

/// Rows that can be gone through more than once, some at a time.
pub trait Scan {
    /// How many rows there are.
    fn rows(&self) -> u64;

    /// The bytes that travel with all of them, as far as is known.
    fn payload_bytes(&self) -> u64;

    /// Hands over all rows, in any number of pieces.
    fn scan(&self, each: &mut dyn FnMut(&Records) -> Result<()>) -> Result<()>;
}

/// The rows of a partition, in files.
#[derive(Default)]
pub struct Stock {
    files: Vec<SpillFile>,
}

impl Stock {
    /// The rows of one file.
    pub fn of(file: SpillFile) -> Stock {
        Stock { files: vec![file] }
    }

    /// The memory that the rows would take.
    pub fn memory_bytes(&self) -> u64 {
        self.files.iter().map(SpillFile::memory_bytes).sum()
    }

    fn take(&mut self, mut other: Stock) {
        self.files.append(&mut other.files);
    }
}

impl<S: Scan + ?Sized> Scan for &S {
    fn rows(&self) -> u64 {
        (**self).rows()
    }

    fn payload_bytes(&self) -> u64 {
        (**self).payload_bytes()
    }

    fn scan(&self, each: &mut dyn FnMut(&Records) -> Result<()>) -> Result<()> {
        (**self).scan(each)
    }
}

impl Scan for Stock {
    fn rows(&self) -> u64 {
        self.files.iter().map(SpillFile::rows).sum()
    }

    fn payload_bytes(&self) -> u64 {
        self.files.iter().map(SpillFile::payload_bytes).sum()
    }

    fn scan(&self, each: &mut dyn FnMut(&Records) -> Result<()>) -> Result<()> {
        let mut records = Records::default();
        for file in &self.files {
            let mut blocks = file.blocks()?;
            loop {
                records.clear();
                records.width = file.width();
                if !blocks.append_to(&mut records)? {
                    break;
                }
                each(&records)?;
            }
        }
        Ok(())
    }
}

/// How much may be in memory at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rows of a sample, and of a partition that is finished in memory (the paper's TM).
    pub tuples: u64,
    /// Bytes of such a partition.
    pub bytes: u64,
    /// Frequency groups at a time (F_CACHE), where the number was asked for.
    pub groups: Option<usize>,
    /// Bytes of frequency groups.
    pub group_bytes: u64,
    /// Partitions that are written at a time.
    pub fan_out: usize,
    /// Bytes gathered for each of them before they are written.
    pub block: usize,
}

impl Limits {
    /// Whether a partition can be finished in memory.
    fn fits(&self, stock: &Stock) -> bool {
        stock.rows() <= self.tuples && stock.memory_bytes() <= self.bytes
    }

    /// How many rows like these a partition may have that is finished in memory.
    pub fn fitting(&self, rows: &dyn Scan, width: usize) -> u64 {
        let of_row = Records::row_bytes(width) as f64
            + rows.payload_bytes() as f64 / rows.rows().max(1) as f64;
        self.tuples.min((self.bytes as f64 / of_row) as u64)
    }

    /// Bytes gathered for each of so many partitions.
    fn block_of(&self, partitions: usize) -> usize {
        // One split of a tree may have more parts than are wanted.
        (self.block as u64 * self.fan_out as u64 / partitions.max(self.fan_out) as u64).max(4096)
            as usize
    }
}

/// A partition in memory: points in the order of their regions, the last word of each being its
/// number in `payload`.
#[derive(Debug)]
pub struct Finished<'a> {
    /// Where the columns of a point stand.
    pub layout: &'a Layout,
    /// The points.
    pub words: &'a [u32],
    /// The tree, whose regions lie side by side.
    pub grown: &'a Grown,
    /// The bytes of each row.
    pub payload: &'a Records,
}

impl Finished<'_> {
    /// The words of some points.
    pub fn points(&self, rows: std::ops::Range<usize>) -> &[u32] {
        &self.words[rows.start * self.layout.width()..rows.end * self.layout.width()]
    }
}

/// What finishes partitions that fit into memory, if it is not Mondrian.
pub trait Finisher {
    /// Parts some points, and moves them so that those of each set lie side by side. `plain`: the
    /// median has taken over.
    fn grow(&mut self, growth: &Growth<'_>, points: Points<'_>, plain: bool) -> Result<Grown>;
}

/// Who is told what was decided, depth first.
pub trait Receiver {
    /// A split; its parts follow, each told by one of these calls.
    fn split(&mut self, choice: &Choice) -> Result<()>;

    /// A partition whose every split is made, in the box `places`.
    fn finished(&mut self, places: &[Place], finished: &Finished<'_>) -> Result<()>;

    /// A region that does not fit into memory, with the values of each counted column in it.
    fn region(
        &mut self,
        places: &[Place],
        extents: &[Extent],
        tallies: &[Tallies],
        stock: Stock,
    ) -> Result<()>;
}

/// What happened on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// How often rows were written to new partitions.
    pub repartitions: u64,
    /// Nodes that were undone because a sample had been wrong.
    pub pruned: u64,
    /// Partitions larger than memory for which a sample had no confident split, or only splits that
    /// were undone.
    pub unsplit: u64,
    /// Regions that may have an allowable split left.
    pub unsure: u64,
    /// Nodes of the partition tree.
    pub nodes: u64,
}

/// The machine.
pub struct Disk<'a, R> {
    /// What splits are chosen for, and what is allowable.
    pub growth: Growth<'a>,
    /// Where the columns of a spilled row stand.
    pub layout: &'a Layout,
    /// The same with the row's number behind it.
    pub numbered: &'a Layout,
    /// How many values each counted column has.
    pub values: Vec<u32>,
    /// Where rows wait.
    pub folder: &'a SpillFolder,
    /// How much may be in memory.
    pub limits: Limits,
    /// What finishes partitions that fit, if it is not Mondrian.
    pub finisher: Option<&'a mut dyn Finisher>,
    /// Who is told.
    pub receiver: R,
    /// What happened so far.
    pub happened: Happened,
}

/// Rows by node of a tree: what pruning needs to know.
struct Counter {
    rows: u64,
    values: Vec<FxHashMap<u32, u32>>,
}

impl Counter {
    fn new(counted: usize) -> Counter {
        Counter { rows: 0, values: vec![FxHashMap::default(); counted] }
    }

    fn add(&mut self, layout: &Layout, words: &[u32]) {
        self.rows += 1;
        for (column, counts) in self.values.iter_mut().enumerate() {
            *counts.entry(layout.value(words, column)).or_insert(0) += 1;
        }
    }

    /// The values of each counted column, as one group.
    fn tallies(&self) -> Vec<Tallies> {
        let of_column = |counts: &FxHashMap<u32, u32>| {
            let mut entries: Vec<(u32, u32)> =
                counts.iter().map(|(value, count)| (*value, *count)).collect();
            entries.sort_unstable();
            Tallies::from_parts(vec![0, entries.len() as u32], entries)
        };
        self.values.iter().map(of_column).collect()
    }
}

/// A tree whose leaves are files.
pub(super) enum Limb {
    /// A partition, and whether the median has taken over there.
    Leaf(Stock, bool),
    Split(Choice, Vec<Limb>),
}

impl<R: Receiver> Disk<'_, R> {
    /// Writes all rows to one file.
    pub fn gather(&mut self, rows: &dyn Scan) -> Result<Stock> {
        let mut writer = self.folder.file(self.layout.width(), self.limits.block);
        rows.scan(&mut |records| {
            self.growth.watch.check()?;
            (0..records.len())
                .try_for_each(|row| writer.push(records.words(row), records.payload(row)))
        })?;
        Ok(Stock::of(writer.finish()?))
    }

    /// Writes rows to a file for each leaf of a tree, then undoes every split that has a part which
    /// is not allowable.
    pub(super) fn repartition(&mut self, rows: &dyn Scan, tree: &[Branch]) -> Result<Limb> {
        self.happened.repartitions += 1;
        let regions = as_regions(tree);
        let block = self
            .limits
            .block_of(tree.iter().filter(|branch| matches!(branch, Branch::Leaf { .. })).count());
        let (layout, counted) = (self.layout, self.growth.counted);
        let mut writers: Vec<Option<SpillWriter>> = tree.iter().map(|_| None).collect();
        let mut counters: Vec<Counter> = tree.iter().map(|_| Counter::new(counted)).collect();
        rows.scan(&mut |records| {
            self.growth.watch.check()?;
            for row in 0..records.len() {
                let words = records.words(row);
                let at =
                    regions.find(self.growth.axes, |column| layout.code(words, column)) as usize;
                let writer =
                    writers[at].get_or_insert_with(|| self.folder.file(layout.width(), block));
                writer.push(words, records.payload(row))?;
                counters[at].add(layout, words);
            }
            Ok(())
        })?;
        let mut stocks: Vec<Stock> = Vec::with_capacity(tree.len());
        for writer in writers {
            stocks.push(match writer {
                Some(writer) => Stock::of(writer.finish()?),
                None => Stock::default(),
            });
        }
        Ok(self.undo(0, tree, &mut stocks, &mut counters).0)
    }

    /// A tree's node with its stocks, after splits in error were undone, and the rows below it.
    fn undo(
        &mut self,
        at: usize,
        tree: &[Branch],
        stocks: &mut [Stock],
        counters: &mut [Counter],
    ) -> (Limb, Counter) {
        let taken = std::mem::replace(&mut counters[at], Counter::new(0));
        let stock = std::mem::take(&mut stocks[at]);
        let Branch::Split { choice, parts, plain } = &tree[at] else {
            let plain = matches!(&tree[at], Branch::Leaf { plain: true, .. });
            return (Limb::Leaf(stock, plain), taken);
        };
        // What falls under no child was not in the sample: the split was made in error too.
        let mut wrong = taken.rows > 0;
        let (mut limbs, mut whole) = (Vec::with_capacity(parts.len()), taken);
        for part in parts {
            let (limb, counter) = self.undo(*part, tree, stocks, counters);
            wrong |= !self.holds(&counter);
            whole.rows += counter.rows;
            for (counts, more) in whole.values.iter_mut().zip(counter.values) {
                more.into_iter()
                    .for_each(|(value, count)| *counts.entry(value).or_insert(0) += count);
            }
            limbs.push(limb);
        }
        if !wrong {
            return (Limb::Split(choice.clone(), limbs), whole);
        }
        let mut merged = stock;
        for limb in limbs {
            self.happened.pruned += merge(limb, &mut merged);
        }
        (Limb::Leaf(merged, *plain), whole)
    }

    fn holds(&self, counter: &Counter) -> bool {
        let tallies = counter.tallies();
        let group = Group { rows: counter.rows, columns: &tallies, index: 0 };
        counter.rows > 0
            && self.growth.judge.requirements.iter().all(|requirement| requirement.holds(&group))
    }

    /// Goes through the leaves of a tree of files, depth first; `each` is called with those that do
    /// not fit into memory.
    pub(super) fn descend(
        &mut self,
        limb: Limb,
        places: &[Place],
        each: &mut Each<'_, Self>,
    ) -> Result<()> {
        self.happened.nodes += 1;
        match limb {
            Limb::Leaf(stock, plain) if self.limits.fits(&stock) => {
                self.finish(stock, places, plain)
            }
            Limb::Leaf(stock, plain) => each(self, stock, places, plain),
            Limb::Split(choice, limbs) => {
                self.receiver.split(&choice)?;
                for (limb, part) in limbs.into_iter().zip(parts_of(&choice, places)) {
                    self.descend(limb, &part, each)?;
                }
                Ok(())
            }
        }
    }

    /// Whether a partition can be finished in memory.
    pub fn fits(&self, stock: &Stock) -> bool {
        self.limits.fits(stock)
    }

    /// Finishes a partition in memory.
    pub fn finish(&mut self, stock: impl Scan, places: &[Place], plain: bool) -> Result<()> {
        let rows = usize::try_from(stock.rows()).map_err(|_| Error::Defect)?;
        let mut words = Vec::with_capacity(rows * self.numbered.width());
        let mut payload = Records::new(0);
        payload.ends.reserve_exact(rows);
        payload
            .payload
            .reserve_exact(usize::try_from(stock.payload_bytes()).map_err(|_| Error::Defect)?);
        stock.scan(&mut |records| {
            self.growth.watch.check()?;
            for row in 0..records.len() {
                words.extend_from_slice(records.words(row));
                words.push(payload.ends.len() as u32);
                payload.push(&[], records.payload(row));
            }
            Ok(())
        })?;
        drop(stock);
        let points = Points::new(self.numbered, &mut words);
        let grown = match &mut self.finisher {
            Some(finisher) => finisher.grow(&self.growth, points, plain)?,
            None => self.growth.grow(points, plain)?,
        };
        self.happened.nodes += nodes(&grown) - 1;
        let finished =
            Finished { layout: self.numbered, words: &words, grown: &grown, payload: &payload };
        self.receiver.finished(places, &finished)
    }

    /// Gives up on a partition that does not fit into memory: it is one region.
    pub fn region(&mut self, stock: Stock, places: &[Place]) -> Result<()> {
        let mut extents = vec![Extent::NONE; self.layout.keys()];
        let mut counter = Counter::new(self.growth.counted);
        stock.scan(&mut |records| {
            self.growth.watch.check()?;
            for row in 0..records.len() {
                let words = records.words(row);
                counter.add(self.layout, words);
                self.layout.include(&mut extents, words);
            }
            Ok(())
        })?;
        self.receiver.region(places, &extents, &counter.tallies(), stock)
    }
}

/// What is done with a partition that does not fit into memory: in its box, and whether the median
/// has taken over.
pub(super) type Each<'e, D> = dyn FnMut(&mut D, Stock, &[Place], bool) -> Result<()> + 'e;

/// Puts the files below a limb to others; returns how many nodes are gone.
fn merge(limb: Limb, into: &mut Stock) -> u64 {
    match limb {
        Limb::Leaf(stock, _) => {
            into.take(stock);
            1
        }
        Limb::Split(_, limbs) => limbs.into_iter().map(|limb| merge(limb, into)).sum::<u64>() + 1,
    }
}

fn nodes(grown: &Grown) -> u64 {
    match grown {
        Grown::Region(_) | Grown::Classes { .. } => 1,
        Grown::Split(_, parts) => parts.iter().map(nodes).sum::<u64>() + 1,
    }
}

/// The boxes of a split's parts.
pub fn parts_of(choice: &Choice, places: &[Place]) -> Vec<Vec<Place>> {
    let with = |column: usize, place: Place| {
        let mut part = places.to_vec();
        part[column] = place;
        part
    };
    match choice {
        Choice::Threshold { column, .. } => {
            let parted = places[*column].parted(choice.up_to());
            parted.into_iter().map(|place| with(*column, place)).collect()
        }
        Choice::Children { column, level, children, rest } => {
            let place = |index: &u32| Place::Below(TreeNode { level: *level, index: *index });
            let rest = (!rest.is_empty()).then(|| places.to_vec());
            children.iter().map(|child| with(*column, place(child))).chain(rest).collect()
        }
    }
}

/// A node of a tree that is being grown; node 0 is the root and children follow their parents.
#[derive(Debug)]
pub(super) enum Branch {
    /// Not split (yet), and whether the median has taken over.
    Leaf { plain: bool },
    /// Split.
    Split { choice: Choice, parts: Vec<usize>, plain: bool },
}

/// The tree as one that tuples can be looked up in.
pub(super) fn as_regions(tree: &[Branch]) -> Regions {
    let node = |branch: &Branch| match branch {
        Branch::Leaf { .. } => RegionNode::Region,
        Branch::Split { choice, parts, .. } => {
            choice.node(&parts.iter().map(|part| *part as u32).collect::<Vec<_>>())
        }
    };
    Regions { nodes: tree.iter().map(node).collect(), style: Style::Boxes }
}
