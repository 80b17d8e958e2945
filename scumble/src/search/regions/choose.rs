//! Which split of a partition is taken: from frequency sets alone.

use super::{Aim, FrequencySet, Judge};
use crate::error::Result;
use crate::recoding::RegionNode;
use crate::table::Tallies;
use crate::taxonomy::{Axis, Extent, Level, Taxonomy, threshold_between};
use crate::watch::Watch;
use std::cmp::Ordering;
use std::ops::Range;

/// A split.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// An ordered axis at a threshold: codes below `before` from the rest. Rows that were not
    /// counted may have codes between two that were; they go where the threshold says.
    Threshold {
        /// The axis.
        column: usize,
        /// The first code that belongs to the second part.
        before: u64,
        /// The greatest code of the first part that was counted.
        last: u64,
        /// The threshold, a number that belongs to the first part; `None` if missing values are set
        /// apart from all numbers.
        up_to: Option<f64>,
    },
    /// A node of a tree into those of its children that occur.
    Children {
        /// The axis.
        column: usize,
        /// The children's level.
        level: usize,
        /// The numbers within it of those that are parts by themselves, ascending.
        children: Vec<u32>,
        /// The numbers of those that are the last part together, ascending; there may be none.
        rest: Vec<u32>,
    },
}

impl Choice {
    /// The split between two neighbouring codes that were counted.
    pub fn between(axis: &Axis, column: usize, last: u64, next: u64) -> Choice {
        match axis {
            Axis::Ordered(axis) => {
                let (below, above) = (axis.number(last), axis.number(next));
                let up_to = threshold_between(axis.kind, below, above);
                Choice::Threshold { column, before: axis.above(up_to), last, up_to: Some(up_to) }
            }
            // Trees have no thresholds.
            Axis::Tree(_) => Choice::Threshold { column, before: last + 1, last, up_to: None },
        }
    }

    /// The axis that is split.
    pub fn column(&self) -> usize {
        match self {
            Choice::Threshold { column, .. } | Choice::Children { column, .. } => *column,
        }
    }

    /// The threshold; `None` where missing values are set apart, and for trees.
    pub fn up_to(&self) -> Option<f64> {
        match self {
            Choice::Threshold { up_to, .. } => *up_to,
            Choice::Children { .. } => None,
        }
    }

    /// The split as a node of a partition tree, whose parts are nodes with these numbers.
    pub fn node(&self, parts: &[u32]) -> RegionNode {
        match self {
            Choice::Threshold { column, before, .. } => RegionNode::Threshold {
                column: *column,
                before: *before,
                up_to: self.up_to(),
                below: parts[0],
                above: parts[1],
            },
            Choice::Children { column, level, children, rest } => RegionNode::Children {
                column: *column,
                level: *level,
                children: children.iter().copied().zip(parts.iter().copied()).collect(),
                rest: parts.last().copied().filter(|_| !rest.is_empty()),
            },
        }
    }

    /// The rows of each part, from the counts of the attribute that is split.
    pub fn sizes(&self, axes: &[Axis], set: &FrequencySet) -> Vec<u64> {
        let rows = |range: Range<usize>| set.counts[range].iter().sum();
        match self {
            Choice::Threshold { before, .. } => {
                let at = set.codes.partition_point(|code| code < before);
                vec![rows(0..at), rows(at..set.codes.len())]
            }
            Choice::Children { column, level, rest, .. } => {
                let (mut sizes, mut of_rest) = (Vec::new(), 0);
                for (child, range) in child_ranges(&axes[*column], *level, set) {
                    match rest.binary_search(&child) {
                        Ok(_) => of_rest += rows(range),
                        Err(_) => sizes.push(rows(range)),
                    }
                }
                sizes.extend((!rest.is_empty()).then_some(of_rest));
                sizes
            }
        }
    }

    /// The extents of a part's rows, as far as the split tells.
    pub fn narrowed(&self, axes: &[Axis], extents: &[Extent], part: usize) -> Vec<Extent> {
        let mut narrowed = extents.to_vec();
        let extent = &mut narrowed[self.column()];
        match (self, &axes[self.column()]) {
            (Choice::Threshold { last, .. }, _) if part == 0 => extent.last = *last,
            (Choice::Threshold { last, up_to: Some(_), .. }, _) => extent.first = last + 1,
            (Choice::Threshold { before, up_to: None, .. }, _) => extent.first = *before,
            (Choice::Children { level, children, rest, .. }, Axis::Tree(taxonomy)) => {
                let nodes = taxonomy.level(*level);
                let (first, last) = match (children.get(part), rest.first(), rest.last()) {
                    (Some(child), ..) => (child, child),
                    (None, Some(first), Some(last)) => (first, last),
                    (None, ..) => return narrowed,
                };
                let (first, last) = (nodes.range(*first).start, nodes.range(*last).end - 1);
                *extent = Extent { first: first.into(), last: last.into() };
            }
            (Choice::Children { .. }, Axis::Ordered(_)) => {}
        }
        narrowed
    }
}

/// The attributes of a partition that could be split, by descending share of their range: what the
/// median tries first.
pub fn by_range(axes: &[Axis], extents: &[Extent]) -> Vec<usize> {
    let mut columns: Vec<(f64, usize)> = axes
        .iter()
        .zip(extents)
        .enumerate()
        .filter(|(_, (_, extent))| extent.first < extent.last)
        .map(|(column, (axis, extent))| (axis.lost(*extent), column))
        .collect();
    columns.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    columns.into_iter().map(|(_, column)| column).collect()
}

/// The split to take, or `None` where none is allowable. `set` counts an attribute when it is asked
/// for. The second value says whether the aim was given up for the median.
pub fn choose(
    axes: &[Axis],
    extents: &[Extent],
    judge: &Judge<'_>,
    aim: &Aim,
    least_gain: f64,
    watch: &Watch,
    mut set: impl FnMut(usize) -> Result<FrequencySet>,
) -> Result<(Option<Choice>, bool)> {
    if matches!(aim, Aim::InfoGain { .. } | Aim::Regression { .. })
        && let Some((gain, choice)) = by_gain(axes, extents, judge, aim, watch, &mut set)?
        && gain >= least_gain
    {
        return Ok((Some(choice), false));
    }
    let mut split = |column: usize, known: f64| {
        let (axis, extent, set) = (&axes[column], extents[column], set(column)?);
        let weight = aim.weight(column);
        let found = match splits(axis, extent) {
            Splits::Thresholds { until } => {
                nearest_to_median(axis, column, &set, until, judge, watch)?
            }
            Splits::Apart(missing) => {
                let at = set.codes.partition_point(|code| *code < missing);
                allows(&[0..at, at..set.codes.len()], &set, judge, watch)?
                    .then(|| apart(column, &set, at, missing))
            }
            Splits::Children { level } => {
                let least = Least { known, weight };
                let found = children(axis, column, level, (&set, least), judge, watch)?;
                return Ok(found.map(|parted| (parted.worth, parted.choice)));
            }
        };
        Ok(found.map(|choice| (halved(axis, extent, weight), choice)))
    };
    if let Aim::Loss { weights } = aim {
        return Ok((by_loss(axes, extents, weights, split)?, false));
    }
    for column in by_range(axes, extents) {
        if let Some((_, choice)) = split(column, WORTHLESS)? {
            return Ok((Some(choice), true));
        }
    }
    Ok((None, true))
}

/// Less than any split is worth.
pub(super) const WORTHLESS: f64 = -1.0;

/// Any split is of interest.
const ANY: Least = Least { known: WORTHLESS, weight: 1.0 };

/// The split that removes the most loss for each bit that it takes to tell its parts. `split` has
/// the split of an attribute and what it is worth, or nothing if that is no more than is known.
pub(super) fn by_loss(
    axes: &[Axis],
    extents: &[Extent],
    weights: &[f64],
    mut split: impl FnMut(usize, f64) -> Result<Option<(f64, Choice)>>,
) -> Result<Option<Choice>> {
    let mut best = (WORTHLESS, None);
    for column in by_range(axes, extents) {
        let most = match &axes[column] {
            axis @ Axis::Ordered(_) => halved(axis, extents[column], weights[column]),
            // All there is, with two parts.
            axis @ Axis::Tree(_) => rounded(axis.lost(extents[column]) * weights[column]),
        };
        if most <= best.0 {
            continue;
        }
        if let Some((worth, choice)) = split(column, best.0)?.filter(|(worth, _)| *worth > best.0) {
            best = (worth, Some(choice));
        }
    }
    Ok(best.1)
}

/// What a threshold is taken to be worth: a median leaves about half of the range to either side.
/// So numbers are tried by their range, and only the first allowable threshold is looked for.
pub(super) fn halved(axis: &Axis, extent: Extent, weight: f64) -> f64 {
    rounded(axis.lost(extent) / 2.0 * weight)
}

/// What a split must be worth to be of interest.
#[derive(Clone, Copy)]
struct Least {
    /// More than this,
    known: f64,
    /// where the attribute weighs so much.
    weight: f64,
}

/// How an attribute can be split within an extent.
pub(super) enum Splits {
    /// Between any two codes up to this one.
    Thresholds { until: u64 },
    /// Missing values, with this code, from all numbers.
    Apart(u64),
    /// Into the nodes of a level.
    Children { level: usize },
}

pub(super) fn splits(axis: &Axis, extent: Extent) -> Splits {
    match axis {
        Axis::Ordered(ordered) => match ordered.missing {
            Some(missing) if extent.last == missing => Splits::Apart(missing),
            _ => Splits::Thresholds { until: extent.last },
        },
        Axis::Tree(taxonomy) => {
            Splits::Children { level: Axis::ancestor(taxonomy, extent).level - 1 }
        }
    }
}

/// The threshold before a position.
pub(super) fn threshold(axis: &Axis, column: usize, set: &FrequencySet, at: usize) -> Choice {
    Choice::between(axis, column, set.codes[at - 1], set.codes[at])
}

/// Missing values from all numbers, those before a position.
pub(super) fn apart(column: usize, set: &FrequencySet, at: usize, missing: u64) -> Choice {
    Choice::Threshold { column, before: missing, last: set.codes[at - 1], up_to: None }
}

/// Whether parts, given as ranges of positions in a set, are all allowable.
fn allows(
    parts: &[Range<usize>],
    set: &FrequencySet,
    judge: &Judge<'_>,
    watch: &Watch,
) -> Result<bool> {
    let rows = |part: &Range<usize>| set.counts[part.clone()].iter().sum::<u64>();
    if let Some(enough) = judge.enough(parts.len()) {
        return Ok(parts.iter().all(|part| rows(part) >= enough));
    }
    let least = judge.least_rows();
    if !parts.iter().all(|part| rows(part) >= least) {
        return Ok(false);
    }
    for part in parts {
        if !judge.allows(rows(part), &merged(set, part, watch)?, parts.len()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The values of each counted column in some positions of a set, as one group.
fn merged(set: &FrequencySet, part: &Range<usize>, watch: &Watch) -> Result<Vec<Tallies>> {
    let merge = |counted: &Tallies| {
        let mut single = Tallies::single();
        single.add_groups(counted, part.clone(), watch)?;
        Ok(single)
    };
    set.tallies.iter().map(merge).collect()
}

/// The allowable threshold that leaves the most equal halves; of two such, the lower.
fn nearest_to_median(
    axis: &Axis,
    column: usize,
    set: &FrequencySet,
    until: u64,
    judge: &Judge<'_>,
    watch: &Watch,
) -> Result<Option<Choice>> {
    let rows = set.rows();
    let positions = set.codes.partition_point(|code| *code <= until);
    let distance = |below: u64| (2 * below).abs_diff(rows);
    // A threshold lies before position `at`; `below` rows are on its left. Candidates are taken
    // from the middle outwards.
    let Some(first) = set.counts.first() else { return Ok(None) };
    let (mut at, mut below) = (1, *first);
    // A value that only others of a population have moves nothing.
    while at + 1 < positions
        && (set.counts[at] == 0 || distance(below + set.counts[at]) < distance(below))
    {
        below += set.counts[at];
        at += 1;
    }
    if at >= positions {
        return Ok(None);
    }
    let least = judge.least_rows();
    let enough = judge.enough(2);
    if let Some(enough) = enough {
        let is_enough = below >= enough && rows - below >= enough;
        return Ok(is_enough.then(|| threshold(axis, column, set, at)));
    }
    let mut lower = Sides::new(set, at, below, watch)?;
    let mut upper = lower.clone();
    upper.advance(set);
    loop {
        watch.check()?;
        // Of two at one distance the lower comes first.
        let lower_open = lower.at >= 1 && lower.below >= least;
        let upper_open = upper.at < positions && rows - upper.below >= least;
        let take_lower = match (lower_open, upper_open) {
            (false, false) => return Ok(None),
            (true, true) => distance(lower.below) <= distance(upper.below),
            (lower, _) => lower,
        };
        let side = if take_lower { &mut lower } else { &mut upper };
        if side.below >= least && rows - side.below >= least && side.allowed(rows, judge) {
            return Ok(Some(threshold(axis, column, set, side.at)));
        }
        if take_lower { lower.retreat(set) } else { upper.advance(set) }
    }
}

/// Both sides of a threshold, moved value by value.
#[derive(Clone)]
struct Sides {
    at: usize,
    below: u64,
    left: Vec<Tallies>,
    right: Vec<Tallies>,
}

impl Sides {
    fn new(set: &FrequencySet, at: usize, below: u64, watch: &Watch) -> Result<Sides> {
        let left = merged(set, &(0..at), watch)?;
        Ok(Sides { at, below, left, right: merged(set, &(at..set.codes.len()), watch)? })
    }

    fn advance(&mut self, set: &FrequencySet) {
        if self.at < set.codes.len() {
            self.below += set.counts[self.at];
            for (column, counted) in set.tallies.iter().enumerate() {
                counted.group(self.at).iter().for_each(|(value, count)| {
                    self.left[column].add(*value, *count);
                    self.right[column].remove(*value, *count);
                });
            }
        }
        self.at += 1;
    }

    fn retreat(&mut self, set: &FrequencySet) {
        self.at -= 1;
        self.below -= set.counts[self.at];
        for (column, counted) in set.tallies.iter().enumerate() {
            counted.group(self.at).iter().for_each(|(value, count)| {
                self.left[column].remove(*value, *count);
                self.right[column].add(*value, *count);
            });
        }
    }

    fn allowed(&self, rows: u64, judge: &Judge<'_>) -> bool {
        judge.allows(self.below, &self.left, 2) && judge.allows(rows - self.below, &self.right, 2)
    }
}

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
struct Parted {
    choice: Choice,
    /// The positions of each part.
    parts: Vec<Vec<Range<usize>>>,
    /// What it is worth to the loss.
    worth: f64,
}

/// The allowable split of a tree; `None` too if it is certainly worth no more than is known.
fn children(
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

/// The allowable split with the greatest gain.
fn by_gain(
    axes: &[Axis],
    extents: &[Extent],
    judge: &Judge<'_>,
    aim: &Aim,
    watch: &Watch,
    set: &mut impl FnMut(usize) -> Result<FrequencySet>,
) -> Result<Option<(f64, Choice)>> {
    let mut best: Option<(f64, Choice)> = None;
    for (column, (axis, extent)) in axes.iter().zip(extents).enumerate() {
        if extent.first == extent.last {
            continue;
        }
        let set = set(column)?;
        let mut candidates: Vec<(f64, Vec<Range<usize>>, Choice)> = Vec::new();
        let all = set.codes.len();
        match splits(axis, *extent) {
            Splits::Apart(missing) => {
                let at = set.codes.partition_point(|code| *code < missing);
                let parts = vec![0..at, at..all];
                let both: Vec<_> = parts.iter().map(|part| vec![part.clone()]).collect();
                let gain = gain(aim, &set, &both);
                candidates.push((gain, parts, apart(column, &set, at, missing)));
            }
            Splits::Thresholds { .. } => {
                for (at, gain) in gains(aim, &set, watch)? {
                    if best.as_ref().is_none_or(|(known, _)| gain > *known) {
                        candidates.push((
                            gain,
                            vec![0..at, at..all],
                            threshold(axis, column, &set, at),
                        ));
                    }
                }
            }
            Splits::Children { level } => {
                if let Some(Parted { choice, parts, .. }) =
                    children(axis, column, level, (&set, ANY), judge, watch)?
                {
                    let gain = gain(aim, &set, &parts);
                    let beats = |known: f64| gain.total_cmp(&known) == Ordering::Greater;
                    if best.as_ref().is_none_or(|(known, _)| beats(*known)) {
                        best = Some((gain, choice));
                    }
                }
                continue;
            }
        }
        // Of equal gains the lowest threshold comes first.
        let gains = candidates.iter().map(|(gain, ..)| *gain);
        let mut order: Vec<(f64, usize)> = gains.zip(0..).collect();
        watch.sort_by(&mut order, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)))?;
        let beats = |gain: f64| {
            best.as_ref().is_none_or(|(known, _)| gain.total_cmp(known) == Ordering::Greater)
        };
        let mut found = None;
        for (gain, at) in order.into_iter().take_while(|(gain, _)| beats(*gain)) {
            watch.check()?;
            if allows(&candidates[at].1, &set, judge, watch)? {
                found = Some((gain, candidates.swap_remove(at).2));
                break;
            }
        }
        best = found.or(best);
    }
    Ok(best)
}

/// What is known of the target in some rows: enough to say how uncertain it is there.
#[derive(Clone, Debug)]
enum Spread {
    Labels(Vec<u64>),
    /// Rows, sum and sum of squares.
    Numbers(f64, f64, f64),
}

impl Spread {
    fn none(aim: &Aim, set: &FrequencySet) -> Spread {
        match aim {
            Aim::InfoGain { column } => {
                let labels =
                    (0..set.codes.len()).filter_map(|at| set.tallies[*column].group(at).last());
                Spread::Labels(vec![
                    0;
                    labels.map(|(label, _)| *label as usize + 1).max().unwrap_or(0)
                ])
            }
            Aim::Loss { .. } | Aim::Median | Aim::Regression { .. } => {
                Spread::Numbers(0.0, 0.0, 0.0)
            }
        }
    }

    fn add(&mut self, aim: &Aim, set: &FrequencySet, at: usize, sign: i64) {
        match (self, aim) {
            (Spread::Labels(labels), Aim::InfoGain { column }) => {
                for (label, count) in set.tallies[*column].group(at) {
                    let known = &mut labels[*label as usize];
                    *known = known.wrapping_add_signed(sign * i64::from(*count));
                }
            }
            (Spread::Numbers(rows, sum, squares), Aim::Regression { column, numbers }) => {
                for (value, count) in set.tallies[*column].group(at) {
                    let (number, count) =
                        (numbers[*value as usize], sign as f64 * f64::from(*count));
                    *rows += count;
                    *sum += count * number;
                    *squares += count * number * number;
                }
            }
            _ => {}
        }
    }

    /// Bits (times rows) of the labels, or squared error of the numbers.
    fn uncertainty(&self) -> f64 {
        match self {
            Spread::Labels(labels) => {
                let rows: u64 = labels.iter().sum();
                let bits = |count: &u64| *count as f64 * (rows as f64 / *count as f64).log2();
                labels.iter().filter(|count| **count > 0).map(bits).sum()
            }
            Spread::Numbers(rows, sum, squares) => {
                if *rows > 0.0 {
                    (squares - sum * sum / rows).max(0.0)
                } else {
                    0.0
                }
            }
        }
    }
}

/// A gain rounded far above a float's precision, so that gains which differ by the order of a sum
/// only are equal, and the stated order decides.
fn rounded(gain: f64) -> f64 {
    const STEPS: f64 = (1u64 << 36) as f64;
    // A sum with zero has no negative zero.
    (gain * STEPS).round() / STEPS + 0.0
}

/// Bits of information about the label per row, or the share of the squared error that goes away.
fn scaled(aim: &Aim, rows: u64, whole: f64, left: f64) -> f64 {
    let gain = match aim {
        Aim::InfoGain { .. } => (whole - left) / rows as f64,
        _ if whole > 0.0 => (whole - left) / whole,
        _ => 0.0,
    };
    rounded(gain)
}

fn spread_of(aim: &Aim, set: &FrequencySet, part: impl Iterator<Item = usize>) -> Spread {
    let mut spread = Spread::none(aim, set);
    part.for_each(|at| spread.add(aim, set, at, 1));
    spread
}

fn gain(aim: &Aim, set: &FrequencySet, parts: &[Vec<Range<usize>>]) -> f64 {
    let whole = spread_of(aim, set, 0..set.codes.len()).uncertainty();
    let positions = |part: &Vec<Range<usize>>| part.clone().into_iter().flatten();
    let left = parts.iter().map(|part| spread_of(aim, set, positions(part)).uncertainty()).sum();
    scaled(aim, set.rows(), whole, left)
}

/// The gain of every threshold, by the position behind it.
fn gains(aim: &Aim, set: &FrequencySet, watch: &Watch) -> Result<Vec<(usize, f64)>> {
    let mut above = spread_of(aim, set, 0..set.codes.len());
    let mut below = Spread::none(aim, set);
    let (rows, whole) = (set.rows(), above.uncertainty());
    let step = |at: usize| {
        watch.check()?;
        below.add(aim, set, at, 1);
        above.add(aim, set, at, -1);
        Ok((at + 1, scaled(aim, rows, whole, below.uncertainty() + above.uncertainty())))
    };
    (0..set.codes.len().saturating_sub(1)).map(step).collect()
}
