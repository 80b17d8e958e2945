//! Rothko-T: partitioning by exact counts (LeFevre and DeWitt 2007, section 2).
//!
//! One scan counts the frequency groups of all open leaves of the tree; each leaf is then split as
//! Mondrian would split it, since both choose from the same counts. That goes on level by level
//! while the groups fit into memory. Then rows are written to a file for each leaf and each leaf
//! goes on by itself; one that fits into memory is finished there. The regions are exactly
//! Mondrian's.
//!
//! | here | paper |
//! |---|---|
//! | `limits.groups` | F_CACHE |
//! | `Group` | the frequency groups in memory |

use super::disk::{Branch, Disk, Limb, Limits, Receiver, Scan, Stock, as_regions};
use super::{FrequencySet, Layout, choose};
use crate::error::Result;
use crate::recoding::Place;
use crate::table::Tallies;
use crate::taxonomy::{Axis, Extent};
use rustc_hash::FxHashMap;

/// A narrow column is counted in a plain list of up to so many numbers.
const DENSE: u64 = 1 << 22;

/// How often each code of one attribute occurs.
enum CodeCounts {
    Dense { first: u64, counts: Vec<u32> },
    Sparse(FxHashMap<u64, u32>),
}

impl CodeCounts {
    fn new(extent: Extent, dense: u64) -> CodeCounts {
        match extent.last - extent.first {
            width if width < dense => {
                CodeCounts::Dense { first: extent.first, counts: vec![0; width as usize + 1] }
            }
            _ => CodeCounts::Sparse(FxHashMap::default()),
        }
    }

    fn add(&mut self, code: u64) {
        match self {
            CodeCounts::Dense { first, counts } => counts[(code - *first) as usize] += 1,
            CodeCounts::Sparse(counts) => *counts.entry(code).or_insert(0) += 1,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            CodeCounts::Dense { counts, .. } => counts.len() as u64 * 4,
            CodeCounts::Sparse(counts) => counts.capacity() as u64 * 18,
        }
    }

    /// Codes that occur, ascending, with their counts.
    fn sorted(&self) -> (Vec<u64>, Vec<u64>) {
        match self {
            CodeCounts::Dense { first, counts } => {
                let occurring = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                occurring.map(|(at, count)| (first + at as u64, u64::from(*count))).unzip()
            }
            CodeCounts::Sparse(counts) => {
                let mut entries: Vec<(u64, u64)> =
                    counts.iter().map(|(code, count)| (*code, u64::from(*count))).collect();
                entries.sort_unstable();
                entries.into_iter().unzip()
            }
        }
    }
}

/// How often each value of a counted column occurs beside each code of an attribute.
enum Beside {
    /// A number for every value of every code.
    Dense {
        first: u64,
        values: usize,
        counts: Vec<u32>,
    },
    Sparse(FxHashMap<(u64, u32), u32>),
}

impl Beside {
    fn new(extent: Extent, values: u32, dense: u64) -> Beside {
        let pairs = (extent.last - extent.first)
            .checked_add(1)
            .and_then(|codes| codes.checked_mul(values.into()));
        match pairs.filter(|pairs| *pairs <= dense) {
            Some(pairs) => Beside::Dense {
                first: extent.first,
                values: values as usize,
                counts: vec![0; pairs as usize],
            },
            None => Beside::Sparse(FxHashMap::default()),
        }
    }

    fn add(&mut self, code: u64, value: u32) {
        match self {
            Beside::Dense { first, values, counts } => {
                counts[(code - *first) as usize * *values + value as usize] += 1;
            }
            Beside::Sparse(counts) => *counts.entry((code, value)).or_insert(0) += 1,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Beside::Dense { counts, .. } => counts.len() as u64 * 4,
            Beside::Sparse(counts) => counts.capacity() as u64 * 26,
        }
    }

    /// The values beside each of some codes, which are all that occur, ascending.
    fn tallies(&self, codes: &[u64]) -> Tallies {
        let mut starts = vec![0u32];
        let mut tallied: Vec<(u32, u32)> = Vec::new();
        match self {
            Beside::Dense { first, values, counts } => {
                for code in codes {
                    let of_code = &counts[(code - first) as usize * values..][..*values];
                    let occurring = of_code.iter().enumerate().filter(|(_, count)| **count > 0);
                    tallied.extend(occurring.map(|(value, count)| (value as u32, *count)));
                    starts.push(tallied.len() as u32);
                }
            }
            Beside::Sparse(counts) => {
                let mut entries: Vec<(u64, u32, u32)> =
                    counts.iter().map(|((code, value), count)| (*code, *value, *count)).collect();
                entries.sort_unstable();
                starts.extend(
                    codes
                        .iter()
                        .map(|code| entries.partition_point(|entry| entry.0 <= *code) as u32),
                );
                tallied.extend(entries.into_iter().map(|(_, value, count)| (value, count)));
            }
        }
        Tallies::from_parts(starts, tallied)
    }
}

/// The frequency group of one node: for each attribute its values, and beside them the values of
/// counted columns.
struct FrequencyGroup {
    rows: u64,
    attributes: Vec<CodeCounts>,
    /// By attribute and counted column.
    beside: Vec<Vec<Beside>>,
}

impl FrequencyGroup {
    /// No rows yet, of these extents; `values` are the numbers of values of counted columns,
    /// `most_bytes` may be taken.
    fn new(extents: &[Extent], values: &[u32], most_bytes: u64) -> FrequencyGroup {
        // Plain lists take their memory at once, however few rows come: as many as fit, the shorter
        // ones first.
        let mut left = most_bytes / 4;
        let mut dense = |codes: u64| {
            let fits = codes <= left.min(DENSE);
            left -= if fits { codes } else { 0 };
            if fits { codes } else { 0 }
        };
        let codes = |extent: &Extent| (extent.last - extent.first).saturating_add(1);
        let mut order: Vec<usize> = (0..extents.len()).collect();
        order.sort_by_key(|column| codes(&extents[*column]));
        let mut attributes: Vec<Option<CodeCounts>> = extents.iter().map(|_| None).collect();
        for column in &order {
            attributes[*column] =
                Some(CodeCounts::new(extents[*column], dense(codes(&extents[*column]))));
        }
        let mut beside: Vec<Vec<Beside>> = extents.iter().map(|_| Vec::new()).collect();
        for column in order {
            for values in values {
                let pairs = codes(&extents[column]).saturating_mul((*values).into());
                beside[column].push(Beside::new(extents[column], *values, dense(pairs)));
            }
        }
        FrequencyGroup { rows: 0, attributes: attributes.into_iter().flatten().collect(), beside }
    }

    fn add(&mut self, layout: &Layout, words: &[u32]) {
        self.rows += 1;
        for (column, counts) in self.attributes.iter_mut().enumerate() {
            let code = layout.code(words, column);
            counts.add(code);
            for (counted, pairs) in self.beside[column].iter_mut().enumerate() {
                pairs.add(code, layout.value(words, counted));
            }
        }
    }

    fn bytes(&self) -> u64 {
        let beside = self.beside.iter().flatten().map(Beside::bytes);
        self.attributes.iter().map(CodeCounts::bytes).chain(beside).sum()
    }

    fn set(&self, column: usize) -> FrequencySet {
        let (codes, counts) = self.attributes[column].sorted();
        let tallies = self.beside[column].iter().map(|pairs| pairs.tallies(&codes)).collect();
        FrequencySet { codes, counts, tallies }
    }

    fn extents(&self, within: &[Extent]) -> Vec<Extent> {
        let ends = |(counts, within): (&CodeCounts, &Extent)| {
            let (codes, _) = counts.sorted();
            match (codes.first(), codes.last()) {
                (Some(first), Some(last)) => Extent { first: *first, last: *last },
                _ => *within,
            }
        };
        self.attributes.iter().zip(within).map(ends).collect()
    }
}

/// A leaf that may still be split: its node and the extents of its rows.
struct OpenLeaf {
    node: usize,
    plain: bool,
    extents: Vec<Extent>,
}

/// Partitions rows by exact counts. They are handed back untouched where not even one frequency
/// group fits into memory.
pub fn partition<R: Receiver>(
    disk: &mut Disk<'_, R>,
    stock: Stock,
    places: &[Place],
    plain: bool,
) -> Result<Option<Stock>> {
    if disk.fits(&stock) {
        disk.finish(stock, places, plain)?;
        return Ok(None);
    }
    let mut tree = vec![Branch::Leaf { plain }];
    let extents = disk.growth.axes.iter().map(Axis::whole).collect();
    let mut open = vec![OpenLeaf { node: 0, plain, extents }];
    let mut group_bytes = 0;
    while !open.is_empty() {
        let most = match disk.limits.groups {
            Some(groups) => groups,
            None if group_bytes == 0 => 1,
            None => (disk.limits.group_bytes / group_bytes) as usize,
        };
        let leaves = tree.iter().filter(|branch| matches!(branch, Branch::Leaf { .. })).count();
        if open.len() > most.max(1) || leaves >= disk.limits.fan_out {
            break;
        }
        let Some(groups) = count(disk, &stock, &tree, &open)? else {
            // The root's group does not fit; a later one is no larger.
            if tree.len() == 1 {
                return Ok(Some(stock));
            }
            break;
        };
        group_bytes = groups.iter().map(FrequencyGroup::bytes).max().unwrap_or(1).max(1);
        let fitting = disk.limits.fitting(&stock, disk.layout.width());
        open = split(disk, &mut tree, open, &groups, fitting)?;
    }
    if tree.len() == 1 {
        disk.region(stock, places)?;
        return Ok(None);
    }
    let limb = disk.repartition(&stock, &tree)?;
    drop(stock);
    if let Limb::Leaf(stock, _) = limb {
        // Exact counts are never wrong; whatever this is, it is safe as one region.
        disk.region(stock, places)?;
        return Ok(None);
    }
    // Leaves that do not fit are still to be split, or cannot be: counting them again will tell.
    disk.descend(limb, places, &mut |disk, stock, places, plain| match partition(
        disk, stock, places, plain,
    )? {
        None => Ok(()),
        Some(stock) => {
            disk.happened.unsure += 1;
            disk.region(stock, places)
        }
    })?;
    Ok(None)
}

/// The frequency groups of all open leaves, in one scan; `None` where they do not fit into memory.
fn count<R>(
    disk: &Disk<'_, R>,
    stock: &Stock,
    tree: &[Branch],
    open: &[OpenLeaf],
) -> Result<Option<Vec<FrequencyGroup>>> {
    let regions = as_regions(tree);
    let mut group_of: Vec<Option<usize>> = vec![None; tree.len()];
    for (group, leaf) in open.iter().enumerate() {
        group_of[leaf.node] = Some(group);
    }
    let most_bytes = disk.limits.group_bytes / open.len().max(1) as u64;
    let group = |open: &OpenLeaf| FrequencyGroup::new(&open.extents, &disk.values, most_bytes);
    let mut groups: Vec<FrequencyGroup> = open.iter().map(group).collect();
    let mut fits = true;
    stock.scan(&mut |records| {
        disk.growth.watch.check()?;
        for row in 0..records.len() {
            if !fits {
                break;
            }
            let words = records.words(row);
            let at = regions.find(disk.growth.axes, |column| disk.layout.code(words, column));
            if let Some(group) = group_of[at as usize] {
                groups[group].add(disk.layout, words);
            }
        }
        fits = fits
            && (disk.limits.groups.is_some()
                || groups.iter().map(FrequencyGroup::bytes).sum::<u64>()
                    <= disk.limits.group_bytes);
        Ok(())
    })?;
    Ok(fits.then_some(groups))
}

/// Splits the open leaves whose counts are known; returns the leaves that are open then: those with
/// more rows than are `fitting`, too large for memory.
fn split<R>(
    disk: &Disk<'_, R>,
    tree: &mut Vec<Branch>,
    open: Vec<OpenLeaf>,
    groups: &[FrequencyGroup],
    fitting: u64,
) -> Result<Vec<OpenLeaf>> {
    let growth = &disk.growth;
    let mut next = Vec::new();
    for (leaf, group) in open.into_iter().zip(groups) {
        let extents = group.extents(&leaf.extents);
        let aim = if leaf.plain { &super::Aim::Median } else { growth.aim };
        let set = |column| growth.watch.check().map(|()| group.set(column));
        let (choice, plain) = choose(
            growth.axes,
            &extents,
            &growth.judge,
            aim,
            growth.least_gain,
            growth.watch,
            set,
        )?;
        let Some(choice) = choice else { continue };
        let sizes = choice.sizes(growth.axes, &group.set(choice.column()));
        let mut parts = Vec::new();
        for (part, rows) in sizes.into_iter().enumerate() {
            let node = tree.len();
            parts.push(node);
            tree.push(Branch::Leaf { plain });
            if rows > fitting {
                next.push(OpenLeaf {
                    node,
                    plain,
                    extents: choice.narrowed(growth.axes, &extents, part),
                });
            }
        }
        tree[leaf.node] = Branch::Split { choice, parts, plain: leaf.plain };
    }
    Ok(next)
}

/// Levels of the tree until every leaf fits into memory, with balanced halves (section 4 of the
/// paper).
pub fn height(rows: u64, tuples: u64) -> u64 {
    (rows as f64 / tuples as f64).log2().ceil().max(0.0) as u64
}

/// How often section 4 of the paper expects all rows to be written.
pub fn predicted_repartitions(rows: u64, limits: Limits) -> u64 {
    let groups = limits.groups.unwrap_or(1).max(1) as u64;
    height(rows, limits.tuples).div_ceil(u64::from(groups.ilog2()) + 1)
}
