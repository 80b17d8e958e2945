//! Rothko-S: partitioning by a sample (LeFevre and DeWitt 2007, section 3).
//!
//! A simple random sample of a partition decides where it is split, as long as a test is confident
//! that no part breaks a requirement (growth). All rows are then written to the leaves
//! (repartitioning), and splits that turn out to be wrong are undone (pruning). Each leaf goes on
//! by itself; one that fits into memory is finished there, exactly.
//!
//! | here | paper |
//! |---|---|
//! | `limits.tuples` | TM |
//! | sample rows, population | n, N |
//! | `Sampling::alpha` | alpha |
//! | `limits.fan_out` | leaves that are written at a time |
//!
//! Growth takes the largest leaf first and ends when every leaf is expected to fit into memory, or
//! at the fan-out: then a row is written once, to a bounded number of files. Where no confident
//! split exists, Rothko-T finishes the partition from exact counts; where those do not fit either,
//! it stays one region and the result is not called minimal.

use super::disk::{Branch, Disk, Receiver, Scan, Stock};
use super::mondrian::Growth;
use super::{Choice, FrequencySet, Judge, Points, choose};
use crate::error::{Error, Result};
use crate::estimate::z_above;
use crate::privacy::Sample;
use crate::random::Reservoir;
use crate::recoding::{Place, RegionNode, Regions};
use crate::watch::Watch;
use std::collections::{BinaryHeap, VecDeque};

/// How a sample is drawn and trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// The chance of a wrong split.
    pub alpha: f64,
    /// Whether to believe a sample without a test, for comparison.
    pub naive: bool,
    /// Whether to grow to the fan-out as long as the tests are confident, though every leaf would
    /// fit into memory: the paper's way, for comparison.
    pub to_fan_out: bool,
    /// What draws the sample.
    pub seed: u64,
}

/// Draws a sample of rows.
pub fn sample(
    rows: &dyn Scan,
    width: usize,
    most: u64,
    seed: u64,
    watch: &Watch,
) -> Result<Vec<u32>> {
    let most = most.min(rows.rows());
    let mut reservoir = Reservoir::new(most, seed);
    let mut drawn = vec![0; most as usize * width];
    rows.scan(&mut |records| {
        watch.check()?;
        for row in 0..records.len() {
            if let Some(place) = reservoir.place() {
                drawn[place * width..][..width].copy_from_slice(records.words(row));
            }
        }
        Ok(())
    })?;
    Ok(drawn)
}

/// Partitions rows by a sample of them.
pub fn partition<R: Receiver>(
    disk: &mut Disk<'_, R>,
    rows: &dyn Scan,
    drawn: Vec<u32>,
    sampling: Sampling,
    places: &[Place],
) -> Result<()> {
    part(disk, rows, drawn, sampling, places, false).and_then(|left| match left {
        None => Ok(()),
        Some(stock) => give_up(disk, stock, places, false),
    })
}

/// Partitions rows by a tree that was foreseen, as far as it goes: splits that fail are undone, and
/// what does not fit into memory is partitioned by samples.
pub fn partition_foreseen<R: Receiver>(
    disk: &mut Disk<'_, R>,
    rows: &dyn Scan,
    foreseen: &Regions,
    sampling: Sampling,
    places: &[Place],
) -> Result<()> {
    let tree = as_branches(foreseen, disk.limits.fan_out)?;
    let left = if tree.len() == 1 {
        Some(disk.gather(rows)?)
    } else {
        by_tree(disk, rows, &tree, sampling, places)?
    };
    // Nothing is left of what was foreseen, so the rows decide alone.
    let Some(stock) = left else { return Ok(()) };
    let (width, most) = (disk.layout.width(), disk.limits.tuples);
    let drawn = sample(&stock, width, most, sampling.seed, disk.growth.watch)?;
    partition(disk, &stock, drawn, sampling, places)
}

/// One round: growth, repartitioning, pruning, and all rounds below. Rows that no confident split
/// could part are handed back, in files.
fn part<R: Receiver>(
    disk: &mut Disk<'_, R>,
    rows: &dyn Scan,
    mut drawn: Vec<u32>,
    sampling: Sampling,
    places: &[Place],
    plain: bool,
) -> Result<Option<Stock>> {
    let population = rows.rows();
    let fitting = disk.limits.fitting(rows, disk.layout.width());
    let tree = grow(disk, &mut drawn, population, fitting, sampling, plain)?;
    drop(drawn);
    if tree.len() == 1 {
        return disk.gather(rows).map(Some);
    }
    by_tree(disk, rows, &tree, sampling, places)
}

/// A round after its growth.
fn by_tree<R: Receiver>(
    disk: &mut Disk<'_, R>,
    rows: &dyn Scan,
    tree: &[Branch],
    sampling: Sampling,
    places: &[Place],
) -> Result<Option<Stock>> {
    let limb = disk.repartition(rows, tree)?;
    if let super::disk::Limb::Leaf(stock, _) = limb {
        // Everything was undone: trying again would thrash.
        return Ok(Some(stock));
    }
    disk.descend(limb, places, &mut |disk, stock, places, plain| {
        let (width, most) = (disk.layout.width(), disk.limits.tuples);
        let drawn = sample(&stock, width, most, sampling.seed, disk.growth.watch)?;
        let left = part(disk, &stock, drawn, sampling, places, plain)?;
        drop(stock);
        match left {
            None => Ok(()),
            Some(left) if disk.fits(&left) => disk.finish(left, places, plain),
            Some(left) => give_up(disk, left, places, plain),
        }
    })?;
    Ok(None)
}

/// No confident split: exact counts decide, if they fit.
fn give_up<R: Receiver>(
    disk: &mut Disk<'_, R>,
    stock: Stock,
    places: &[Place],
    plain: bool,
) -> Result<()> {
    if disk.fits(&stock) {
        return disk.finish(stock, places, plain);
    }
    disk.happened.unsplit += 1;
    match super::rothko_t::partition(disk, stock, places, plain)? {
        None => Ok(()),
        Some(stock) => {
            disk.happened.unsure += 1;
            disk.region(stock, places)
        }
    }
}

/// A tree of regions as far as it has no more leaves than `most`, more or less: a split may have
/// many parts.
fn as_branches(regions: &Regions, most: usize) -> Result<Vec<Branch>> {
    let mut tree = vec![Branch::Leaf { plain: false }];
    let (mut open, mut leaves) = (VecDeque::from([(0u32, 0usize)]), 1);
    while let Some((from, to)) = open.pop_front() {
        if leaves >= most {
            break;
        }
        let (choice, nodes) = match regions.nodes.get(from as usize).ok_or(Error::Defect)? {
            RegionNode::Region => continue,
            RegionNode::Threshold { column, before, up_to, below, above } => {
                let (column, before, up_to) = (*column, *before, *up_to);
                let last = before.saturating_sub(1);
                (Choice::Threshold { column, before, last, up_to }, vec![*below, *above])
            }
            // What is below none of the children would not be told from what was not foreseen.
            RegionNode::Children { rest: Some(_), .. } => continue,
            RegionNode::Children { column, level, children, rest: None } => {
                let (column, level, rest) = (*column, *level, Vec::new());
                let nodes = children.iter().map(|(_, node)| *node).collect();
                let children = children.iter().map(|(child, _)| *child).collect();
                (Choice::Children { column, level, children, rest }, nodes)
            }
        };
        let first = tree.len();
        leaves += nodes.len() - 1;
        open.extend(nodes.iter().copied().zip(first..));
        let parts: Vec<usize> = (first..first + nodes.len()).collect();
        tree.extend(nodes.iter().map(|_| Branch::Leaf { plain: false }));
        tree[to] = Branch::Split { choice, parts, plain: false };
    }
    Ok(tree)
}

/// The growth phase, until leaves are expected to have at most so many rows as are `fitting`.
fn grow<R>(
    disk: &Disk<'_, R>,
    drawn: &mut [u32],
    population: u64,
    fitting: u64,
    sampling: Sampling,
    plain: bool,
) -> Result<Vec<Branch>> {
    let width = disk.layout.width();
    let sampled = (drawn.len() / width) as u64;
    let mut tree = vec![Branch::Leaf { plain }];
    let Some(sample) = Sample::new(sampled, population, sampling.alpha) else {
        return Ok(tree);
    };
    let sample = if sampling.naive { sample.naive() } else { sample };
    let growth =
        Growth { judge: Judge { sampled: Some(sample), ..disk.growth.judge }, ..disk.growth };
    // A leaf that is expected to take four fifths of the memory will seldom take more than all of
    // it.
    let expected = fitting as f64 * sampled as f64 / population as f64;
    let fitting = if sampling.to_fan_out { 0 } else { (expected * 0.8) as usize };
    let mut open = BinaryHeap::from([Leaf { node: 0, points: Points::new(disk.layout, drawn) }]);
    let mut leaves = 1;
    while let Some(Leaf { node, points }) = open.pop() {
        if points.len() <= fitting || leaves >= disk.limits.fan_out {
            break;
        }
        let Branch::Leaf { plain } = tree[node] else { continue };
        let watch = growth.watch;
        let extents = points.extents(watch)?;
        let aim = if plain { &super::Aim::Median } else { growth.aim };
        let set = |column| FrequencySet::of(&points, column, growth.counted, watch);
        let (choice, now_plain) =
            choose(growth.axes, &extents, &growth.judge, aim, growth.least_gain, watch, set)?;
        let Some(choice) = choice else { continue };
        let mut parts = Vec::new();
        for points in growth.part(points, &choice)? {
            parts.push(tree.len());
            open.push(Leaf { node: tree.len(), points });
            tree.push(Branch::Leaf { plain: now_plain });
        }
        leaves += parts.len() - 1;
        tree[node] = Branch::Split { choice, parts, plain };
    }
    Ok(tree)
}

/// A leaf of the growing tree; the largest is taken first, of equal ones the oldest.
struct Leaf<'a> {
    node: usize,
    points: Points<'a>,
}

impl PartialEq for Leaf<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Leaf<'_> {}

impl PartialOrd for Leaf<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Leaf<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.points.len().cmp(&other.points.len()).then(other.node.cmp(&self.node))
    }
}

/// How often section 4 of the paper expects all rows to be written, under k-anonymity and with
/// balanced halves.
pub fn predicted_repartitions(rows: u64, tuples: u64, k: u64, alpha: f64) -> u64 {
    let (mut left, mut repartitions) = (rows as f64, 0);
    while left > tuples as f64 {
        let sampled = (tuples as f64).min(left);
        let share = k as f64 / left;
        let spread = share * (1.0 - share) / sampled * ((left - sampled) / (left - 1.0));
        let needed = share + z_above(alpha / 2.0) * spread.max(0.0).sqrt();
        // The most levels for which 1 / 2^levels is enough.
        let levels = (1.0 / needed).log2().floor();
        if levels < 1.0 {
            break;
        }
        repartitions += 1;
        left /= levels.exp2();
    }
    repartitions
}
