//! M-INSTANT: Mondrian's splitter with a believed count ([Nergiz, Tamersoy and Saygin 2011],
//! section 3.3, algorithm 2).
//!
//! The first phase parts the domain, not the rows. Each region in turn is split at the believed
//! median of its widest attribute, if the whole partition is believed in afterwards. The estimates
//! of a partition are sums over its regions, so a split changes them by the difference of a few
//! terms.
//!
//! The second phase goes over the rows once. A split of which some part fails among the rows is
//! undone: the part is merged with its siblings. Whatever region is left is split further as
//! Mondrian does, by counts, as long as an allowable split is left.
//!
//! | here | paper |
//! |---|---|
//! | [`partition`] | lines 1 to 17, the queue Q |
//! | [`settle`] | lines 18 to 22: "merge with their siblings", "further partition big segments" |
//!
//! Of a table that does not fit in memory, the foreseen regions are the first partitions on disk, and
//! [`rothko_s`](super::rothko_s) does the rest.
//!
//! Departures: where the widest attribute cannot be split the paper's first phase goes on with a
//! narrower one. That decides by belief what the rows decide better: on the Adult table it costs
//! 0.07 of LM. Here such a region is left to the rows, and the result is Mondrian's wherever belief
//! is right. The paper's stack of mappings would undo the last splits, wherever they were; its text
//! merges those that fail, and so does this. Undoing works from the top down: a part that fails
//! takes all below it along, which for k-anonymity is the same as merging upwards.

use super::choose::by_range;
use super::mondrian::{Grown, Growth, aim, check_whole, found, points};
use super::{Aim, Choice, FrequencySet, Judge, Layout, Partitioning, Points, choose};
use crate::error::Result;
use crate::estimate::multinomial::{Bucket, Size, Total};
use crate::privacy::{KAnonymity, Requirement};
use crate::recoding::{RegionNode, Regions, Style};
use crate::search::instant::By;
use crate::search::{Found, Task};
use crate::summary::Estimator;
use crate::table::Tallies;
use crate::taxonomy::{Axis, Extent};
use crate::watch::Watch;
use std::collections::VecDeque;
use std::ops::Range;

/// Believed rows are fractions; they are counted in this part of one.
const PARTS_OF_A_ROW: u64 = 1024;

/// A partition of the domain that is believed in.
#[derive(Clone, Debug)]
pub struct Foreseen {
    /// Its tree, in the codes of the summary.
    pub regions: Regions,
    /// The probability that every region is fine.
    pub probability: f64,
    /// The expected number of rows in regions that are not.
    pub outliers: f64,
    /// How many splits were estimated.
    pub visited: u64,
}

/// A region that may still be split.
struct OpenRegion {
    ranges: Vec<Range<u32>>,
    believed: (Size, Bucket),
    /// Its node in the tree.
    at: u32,
}

/// Parts the domain as long as the partition is believed in.
pub fn partition(estimator: &Estimator<'_>, by: By, watch: &Watch) -> Result<Foreseen> {
    partition_within(estimator, by, usize::MAX, watch)
}

/// The same, no further than to so many regions, more or less: a split may have many parts.
pub fn partition_within(
    estimator: &Estimator<'_>,
    by: By,
    most: usize,
    watch: &Watch,
) -> Result<Foreseen> {
    let beliefs = estimator.beliefs();
    let rows = beliefs.rows();
    let enough = KAnonymity::new(beliefs.condition.least.max(1).saturating_mul(PARTS_OF_A_ROW));
    let enough: Vec<Box<dyn Requirement>> =
        enough.map(|one| Box::new(one) as Box<dyn Requirement>).into_iter().collect();
    let ranges =
        (0..beliefs.names.len()).map(|column| held(&beliefs.leaf_rows(column))).collect::<Vec<_>>();
    let mut regions = Regions { nodes: vec![RegionNode::Region], style: Style::Boxes };
    let mut total = Total::default();
    let mut queue = VecDeque::new();
    if let Some(whole) = estimator.of_box(&ranges)? {
        total.add(whole.0, &whole.1, 1.0);
        queue.push_back(OpenRegion { ranges, believed: whole, at: 0 });
    }
    let (mut visited, mut leaves) = (1, 1);
    while let Some(open) = queue.pop_front().filter(|_| leaves < most) {
        watch.check()?;
        if watch.stopped() || !total.ln_product.is_finite() {
            break;
        }
        let extents: Vec<Extent> = open.ranges.iter().map(extent).collect();
        let widest = by_range(&beliefs.axes, &extents).first().copied();
        let chosen = match widest {
            Some(column) => split(estimator, &enough, &open, &extents, column, watch)?,
            None => None,
        };
        if let Some((choice, parts)) = chosen {
            visited += 1;
            let mut next = total;
            next.add(open.believed.0, &open.believed.1, -1.0);
            parts.iter().for_each(|(_, (size, bucket))| next.add(*size, bucket, 1.0));
            if !by.accepts(&next, rows) {
                continue;
            }
            total = next;
            leaves += parts.len() - 1;
            let numbers: Vec<u32> =
                (0..parts.len() as u32).map(|part| regions.nodes.len() as u32 + part).collect();
            regions.nodes[open.at as usize] = choice.node(&numbers);
            for ((ranges, believed), at) in parts.into_iter().zip(numbers) {
                regions.nodes.push(RegionNode::Region);
                queue.push_back(OpenRegion { ranges, believed, at });
            }
        }
        watch.progress("estimate", visited, None);
    }
    let (probability, outliers) = (total.probability(rows), total.outliers());
    Ok(Foreseen { regions, probability, outliers, visited })
}

/// From the first leaf that some row has to the last.
fn held(rows: &[u64]) -> Range<u32> {
    let first = rows.iter().position(|rows| *rows > 0).unwrap_or(0);
    let last = rows.iter().rposition(|rows| *rows > 0).unwrap_or(0);
    first as u32..last as u32 + 1
}

fn extent(range: &Range<u32>) -> Extent {
    Extent { first: range.start.into(), last: u64::from(range.end) - 1 }
}

/// A part of a split: its box, and what is believed of it.
type Half = (Vec<Range<u32>>, (Size, Bucket));

/// The split of a region in one column at its believed median, and its parts.
fn split(
    estimator: &Estimator<'_>,
    enough: &[Box<dyn Requirement>],
    open: &OpenRegion,
    extents: &[Extent],
    column: usize,
    watch: &Watch,
) -> Result<Option<(Choice, Vec<Half>)>> {
    let axes = &estimator.beliefs().axes;
    let rows = (estimator.beliefs().rows() * PARTS_OF_A_ROW) as f64;
    let shares = estimator.within(&open.ranges, column)?;
    let believed =
        shares.iter().map(|(leaf, share)| (u64::from(*leaf), (share * rows).round() as u64));
    let (codes, counts) = believed.filter(|(_, rows)| *rows > 0).unzip();
    let set = FrequencySet { codes, counts, tallies: Vec::new() };
    // Only this column is open to the splitter.
    let mut only: Vec<Extent> =
        extents.iter().map(|extent| Extent { last: extent.first, ..*extent }).collect();
    let (Some(first), Some(last)) = (set.codes.first(), set.codes.last()) else { return Ok(None) };
    only[column] = Extent { first: *first, last: *last };
    let judge = Judge::exact(enough);
    let (choice, _) = choose(axes, &only, &judge, &Aim::Median, 0.0, watch, |_| Ok(set.clone()))?;
    let Some(choice) = choice else { return Ok(None) };
    let parts = match &choice {
        Choice::Threshold { .. } => 2,
        Choice::Children { children, .. } => children.len(),
    };
    let part = |part: usize| {
        let narrowed = choice.narrowed(axes, extents, part)[column];
        let mut ranges = open.ranges.clone();
        ranges[column] = narrowed.first as u32..narrowed.last as u32 + 1;
        let believed = estimator.of_box(&ranges)?;
        Ok(believed.map(|believed| (ranges, believed)))
    };
    let parts: Option<Vec<Half>> = (0..parts).map(part).collect::<Result<_>>()?;
    Ok(parts.map(|parts| (choice, parts)))
}

/// Goes over a task's rows: undoes splits that do not hold, and splits further what can be.
/// `regions` are in its codes.
pub fn settle(
    task: &Task,
    regions: &Regions,
    partitioning: Partitioning,
    watch: &Watch,
) -> Result<Found> {
    check_whole(task, watch)?;
    let aim = aim(task, partitioning.criterion)?;
    let (layout, mut words) = points(task, &aim, watch)?;
    let growth = Growth::of(task, &aim, partitioning, watch);
    let settling = Settling { growth, layout: &layout, regions };
    let grown = settling.settle(&mut words, task.rows(), Some(0))?;
    found(&grown, task, partitioning.style, watch)
}

struct Settling<'a> {
    growth: Growth<'a>,
    layout: &'a Layout,
    regions: &'a Regions,
}

impl Settling<'_> {
    /// The tree of some points, which a node of the foreseen one holds; `None` where it foresaw
    /// none. The points stand for `rows` rows.
    fn settle(&self, words: &mut [u32], rows: u64, at: Option<u32>) -> Result<Grown> {
        let watch = self.growth.watch;
        watch.check()?;
        let points = Points::holding(self.layout, words, rows);
        let (choice, nodes) = match at.map(|at| &self.regions.nodes[at as usize]) {
            None | Some(RegionNode::Region) => return self.growth.grow(points, false),
            Some(RegionNode::Threshold { column, before, up_to, below, above }) => {
                let (mut last, mut next) = (None, None::<u64>);
                points.each_code(*column, watch, |code, _| {
                    if code < *before {
                        last = last.max(Some(code));
                    } else {
                        next = Some(next.map_or(code, |next| next.min(code)));
                    }
                })?;
                let axis = &self.growth.axes[*column];
                let choice = match (last, next, up_to) {
                    // All rows are on one side: there is nothing to split.
                    (None, ..) => return self.settle(words, rows, Some(*above)),
                    (_, None, _) => return self.settle(words, rows, Some(*below)),
                    (Some(last), Some(next), Some(_)) => Choice::between(axis, *column, last, next),
                    (Some(last), Some(_), None) => {
                        let (column, before, up_to) = (*column, *before, None);
                        Choice::Threshold { column, before, last, up_to }
                    }
                };
                (choice, vec![Some(*below), Some(*above)])
            }
            Some(RegionNode::Children { column, level, children, .. }) => {
                let Axis::Tree(taxonomy) = &self.growth.axes[*column] else {
                    return self.growth.grow(points, false);
                };
                let nodes = taxonomy.level(*level);
                let mut occurs = vec![false; nodes.len()];
                points.each_code(*column, watch, |code, _| {
                    occurs[nodes.node_of(code as u32) as usize] = true;
                })?;
                let held: Vec<u32> =
                    (0..).zip(occurs).filter(|(_, occurs)| *occurs).map(|(node, _)| node).collect();
                let foreseen = |child: &u32| {
                    children.iter().find(|(known, _)| known == child).map(|(_, node)| *node)
                };
                let below = held.iter().map(foreseen).collect();
                if let [only] = held[..] {
                    return self.settle(words, rows, foreseen(&only));
                }
                let (column, level, rest) = (*column, *level, Vec::new());
                (Choice::Children { column, level, children: held, rest }, below)
            }
        };
        let parts = self.growth.part(points, &choice)?;
        let sizes: Vec<(usize, u64)> = parts.iter().map(|part| (part.len(), part.rows())).collect();
        for part in &parts {
            if !self.allows(part, parts.len())? {
                drop(parts);
                return self.growth.grow(Points::holding(self.layout, words, rows), false);
            }
        }
        drop(parts);
        let mut rest = words;
        let mut grown = Vec::new();
        for ((size, rows), node) in sizes.into_iter().zip(nodes) {
            let (part, others) = rest.split_at_mut(size * self.layout.width());
            grown.push(self.settle(part, rows, node)?);
            rest = others;
        }
        Ok(Grown::Split(choice, grown))
    }

    fn allows(&self, part: &Points<'_>, parts: usize) -> Result<bool> {
        let watch = self.growth.watch;
        let tally = |column: usize| {
            let values = part.by_row(watch, |point| self.layout.value(point, column))?;
            Tallies::count(1, &vec![0; values.len()], &values, watch)
        };
        let tallies: Vec<Tallies> = (0..self.growth.counted).map(tally).collect::<Result<_>>()?;
        Ok(self.growth.judge.allows(part.rows(), &tallies, parts))
    }
}
