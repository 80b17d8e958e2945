//! Which children of a node are parts by themselves, and which are pooled? From counts alone.

use super::choose::{Choice, WORTHLESS, merged, rounded};
use super::{FrequencySet, Judge};
use crate::error::Result;
use crate::table::Tallies;
use crate::taxonomy::{Axis, Level, Taxonomy};
use crate::watch::Watch;
use std::ops::Range;

/// What a split must be worth to be of interest.
#[derive(Clone, Copy)]
pub(super) struct Least {
    /// More than this,
    pub known: f64,
    /// where the attribute weighs so much.
    pub weight: f64,
}

/// Any split is of interest.
pub(super) const ANY: Least = Least { known: WORTHLESS, weight: 1.0 };

/// The positions of each child that occurs, in order.
pub(super) fn child_ranges(
    axis: &Axis,
    level: usize,
    set: &FrequencySet,
) -> Vec<(u32, Range<usize>)> {
    let Axis::Tree(taxonomy) = axis else { return Vec::new() };
    let level = taxonomy.level(level);
    let mut ranges: Vec<(u32, Range<usize>)> = Vec::new();
    for (position, code) in set.codes.iter().enumerate() {
        let node = level.node_of(*code as u32);
        match ranges.last_mut() {
            Some((last, range)) if *last == node => range.end = position + 1,
            _ => ranges.push((node, position..position + 1)),
        }
    }
    ranges
}

/// An allowable split of a tree.
pub(super) struct Parted {
    pub choice: Choice,
    /// The positions of each part.
    pub parts: Vec<Vec<Range<usize>>>,
    /// What it is worth to the loss.
    pub worth: f64,
}

/// The allowable split of a tree; `None` too if it is certainly worth no more than is known.
pub(super) fn children(
    axis: &Axis,
    column: usize,
    level: usize,
    (set, least_worth): (&FrequencySet, Least),
    judge: &Judge<'_>,
    watch: &Watch,
) -> Result<Option<Parted>> {
    let Least { known, weight } = least_worth;
    let Axis::Tree(taxonomy) = axis else { return Ok(None) };
    let ranges = child_ranges(axis, level, set);
    let counted = |(node, range): &(u32, Range<usize>)| {
        (*node, set.counts[range.clone()].iter().sum::<u64>())
    };
    let nodes: Vec<(u32, u64)> = ranges.iter().map(counted).collect();
    let least = judge.least_rows();
    let most = nodes.iter().map(|(node, rows)| (*node, *rows, *rows < least));
    if known >= regained(taxonomy, level, most) * weight {
        return Ok(None);
    }
    let pooled: Vec<bool> = match judge.enough(ranges.len()) {
        Some(enough) => {
            let Some(pool) = pool_rows(taxonomy, level, nodes.iter().copied(), enough, judge)
            else {
                return Ok(None);
            };
            nodes.iter().map(|node| pool.holds(*node)).collect()
        }
        None => match pool(taxonomy.level(level), set, &ranges, &nodes, judge, watch)? {
            Some(pooled) => pooled,
            None => return Ok(None),
        },
    };
    let nodes = nodes.iter().zip(&pooled).map(|((node, rows), pooled)| (*node, *rows, *pooled));
    let worth = worth(taxonomy, level, nodes.clone(), weight);
    let choice = parted(column, level, nodes);
    let (mut parts, mut rest) = (Vec::new(), Vec::new());
    for ((_, range), pooled) in ranges.into_iter().zip(pooled) {
        if pooled { rest.push(range) } else { parts.push(vec![range]) }
    }
    parts.extend((!rest.is_empty()).then_some(rest));
    Ok(Some(Parted { choice, parts, worth }))
}

/// The split of a node into children, each with its rows and whether it is pooled.
pub(super) fn parted(
    column: usize,
    level: usize,
    nodes: impl Iterator<Item = (u32, u64, bool)>,
) -> Choice {
    let (mut children, mut rest) = (Vec::new(), Vec::new());
    nodes.for_each(|(node, _, pooled)| if pooled { rest.push(node) } else { children.push(node) });
    Choice::Children { column, level, children, rest }
}

/// The share of detail that a row gets back in an attribute, by a split of a node into children,
/// each with its rows and whether it is pooled.
fn regained(
    taxonomy: &Taxonomy,
    level: usize,
    nodes: impl Iterator<Item = (u32, u64, bool)>,
) -> f64 {
    let (known, above) = (taxonomy.level(level), taxonomy.level(level + 1));
    let (mut regained, mut all) = (0u128, 0u128);
    for (node, rows, pooled) in nodes {
        all += u128::from(rows);
        if !pooled {
            let leaves = above.leaves(above.node_of(known.range(node).start));
            regained += u128::from(rows) * u128::from(leaves - known.leaves(node));
        }
    }
    regained as f64 / (all as f64 * (taxonomy.leaves() - 1).max(1) as f64).max(1.0)
}

/// What a split of a node is worth: the share of detail that a row gets back, for each bit that it
/// takes to tell the parts, times the weight of the attribute.
pub(super) fn worth(
    taxonomy: &Taxonomy,
    level: usize,
    nodes: impl Iterator<Item = (u32, u64, bool)> + Clone,
    weight: f64,
) -> f64 {
    let apart = nodes.clone().filter(|(_, _, pooled)| !pooled).count();
    let parts = apart + usize::from(nodes.clone().any(|(_, _, pooled)| pooled));
    rounded(regained(taxonomy, level, nodes) / (parts.max(2) as f64).log2() * weight)
}

/// Which children are pooled, where rows decide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pool {
    /// Those with fewer rows,
    enough: u64,
    /// and one more.
    joined: Option<u32>,
}

impl Pool {
    /// Whether a child with its rows is pooled.
    pub(super) fn holds(&self, (node, rows): (u32, u64)) -> bool {
        rows < self.enough || self.joined == Some(node)
    }
}

/// Which children of a node are pooled, if `enough` rows in every part are all that is asked:
/// those with fewer, and if these are too few together, the smallest of the others (of equal ones
/// the first by its label, so that the order of a hierarchy does not matter). `None` if that leaves
/// no two parts.
pub(super) fn pool_rows(
    taxonomy: &Taxonomy,
    level: usize,
    nodes: impl Iterator<Item = (u32, u64)> + Clone,
    enough: u64,
    judge: &Judge<'_>,
) -> Option<Pool> {
    let (mut small, mut apart, mut together) = (0, 0, 0);
    for (_, rows) in nodes.clone() {
        if rows < enough {
            (small, together) = (small + 1, together + rows);
        } else {
            apart += 1;
        }
    }
    if small > 0 && !judge.pools {
        return None;
    }
    let mut joined = None;
    if small > 0 && together < enough {
        let key = |(node, rows): &(u32, u64)| (*rows, taxonomy.level(level).label(*node));
        let others = nodes.filter(|(_, rows)| *rows >= enough);
        joined = Some(others.min_by(|a, b| key(a).cmp(&key(b)))?.0);
        apart -= 1;
    }
    (apart > 0 && small + apart > 1).then_some(Pool { enough, joined })
}

/// Which children of a node are pooled: those that are not allowable by themselves. If these are
/// not allowable together, others join them, the smallest first. In the end each child is tried as
/// the only one that is apart. Allowable groups make an allowable group, so if any set of children
/// can be apart with all others together, one of them can, and nothing is missed.
fn pool(
    level: &Level,
    set: &FrequencySet,
    ranges: &[(u32, Range<usize>)],
    nodes: &[(u32, u64)],
    judge: &Judge<'_>,
    watch: &Watch,
) -> Result<Option<Vec<bool>>> {
    let (number, least) = (ranges.len(), judge.least_rows());
    let all_large = nodes.iter().all(|(_, rows)| *rows >= least);
    if number < 2 || !(judge.pools || all_large) {
        return Ok(None);
    }
    let mut pooled = Vec::with_capacity(number);
    for ((_, range), (_, rows)) in ranges.iter().zip(nodes) {
        watch.check()?;
        let is_alone = *rows >= least && judge.allows(*rows, &merged(set, range, watch)?, number);
        if !is_alone && !judge.pools {
            return Ok(None);
        }
        pooled.push(!is_alone);
    }
    let mut apart: Vec<usize> = (0..number).filter(|child| !pooled[*child]).collect();
    if apart.len() == number {
        return Ok(Some(pooled));
    }
    let key = |child: usize| (nodes[child].1, level.label(nodes[child].0));
    apart.sort_by(|a, b| key(*a).cmp(&key(*b)));
    let mut rest = Rest::new(set);
    (0..number)
        .filter(|child| pooled[*child])
        .try_for_each(|child| rest.add(&ranges[child].1, watch))?;
    for child in &apart {
        if rest.is_allowed(judge, number) {
            return Ok(Some(pooled));
        }
        pooled[*child] = true;
        rest.add(&ranges[*child].1, watch)?;
    }
    // All are in it now, and the largest has been the only one apart.
    for child in apart.iter().rev().skip(1) {
        rest.remove(&ranges[*child].1, watch)?;
        if rest.is_allowed(judge, number) {
            return Ok(Some((0..number).map(|other| other != *child).collect()));
        }
        rest.add(&ranges[*child].1, watch)?;
    }
    Ok(None)
}

/// Children that are pooled, counted.
struct Rest<'a> {
    set: &'a FrequencySet,
    rows: u64,
    tallies: Vec<Tallies>,
}

impl Rest<'_> {
    fn new(set: &FrequencySet) -> Rest<'_> {
        let tallies = set.tallies.iter().map(|_| Tallies::single()).collect();
        Rest { set, rows: 0, tallies }
    }

    fn add(&mut self, range: &Range<usize>, watch: &Watch) -> Result<()> {
        self.rows += self.set.counts[range.clone()].iter().sum::<u64>();
        for (known, counted) in self.tallies.iter_mut().zip(&self.set.tallies) {
            known.add_groups(counted, range.clone(), watch)?;
        }
        Ok(())
    }

    fn remove(&mut self, range: &Range<usize>, watch: &Watch) -> Result<()> {
        self.rows -= self.set.counts[range.clone()].iter().sum::<u64>();
        watch.check()?;
        for (known, counted) in self.tallies.iter_mut().zip(&self.set.tallies) {
            let groups = range.clone().flat_map(|at| counted.group(at));
            groups.for_each(|(value, count)| known.remove(*value, *count));
        }
        Ok(())
    }

    fn is_allowed(&self, judge: &Judge<'_>, parts: usize) -> bool {
        judge.allows(self.rows, &self.tallies, parts)
    }
}
