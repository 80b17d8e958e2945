//! Which split of a partition is taken: from frequency sets alone.

use super::{Aim, FrequencySet, Judge};
use crate::error::Result;
use crate::recoding::RegionNode;
use crate::table::Tallies;
use crate::taxonomy::{Axis, Extent, threshold_between};
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
        /// Their numbers within it, ascending.
        children: Vec<u32>,
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
            Choice::Children { column, level, children } => RegionNode::Children {
                column: *column,
                level: *level,
                children: children.iter().copied().zip(parts.iter().copied()).collect(),
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
            Choice::Children { column, level, .. } => child_ranges(&axes[*column], *level, set)
                .into_iter()
                .map(|(_, range)| rows(range))
                .collect(),
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
            (Choice::Children { level, children, .. }, Axis::Tree(taxonomy)) => {
                let range = taxonomy.level(*level).range(children[part]);
                *extent = Extent { first: range.start.into(), last: u64::from(range.end) - 1 };
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
    if !matches!(aim, Aim::Median)
        && let Some((gain, choice)) = by_gain(axes, extents, judge, aim, watch, &mut set)?
        && gain >= least_gain
    {
        return Ok((Some(choice), false));
    }
    for column in by_range(axes, extents) {
        let set = set(column)?;
        let choice = match splits(&axes[column], extents[column]) {
            Splits::Thresholds { until } => {
                nearest_to_median(&axes[column], column, &set, until, judge, watch)?
            }
            Splits::Apart(missing) => {
                let at = set.codes.partition_point(|code| *code < missing);
                allows(&[0..at, at..set.codes.len()], &set, judge, watch)?
                    .then(|| apart(column, &set, at, missing))
            }
            Splits::Children { level } => {
                children(&axes[column], column, level, &set, judge, watch)?
            }
        };
        if choice.is_some() {
            return Ok((choice, true));
        }
    }
    Ok((None, true))
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

fn children(
    axis: &Axis,
    column: usize,
    level: usize,
    set: &FrequencySet,
    judge: &Judge<'_>,
    watch: &Watch,
) -> Result<Option<Choice>> {
    let ranges = child_ranges(axis, level, set);
    let parts: Vec<Range<usize>> = ranges.iter().map(|(_, range)| range.clone()).collect();
    let choice = || Choice::Children {
        column,
        level,
        children: ranges.iter().map(|(node, _)| *node).collect(),
    };
    Ok((parts.len() > 1 && allows(&parts, set, judge, watch)?).then(choice))
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
                candidates.push((gain(aim, &set, &parts), parts, apart(column, &set, at, missing)));
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
                let ranges = child_ranges(axis, level, &set);
                let parts: Vec<Range<usize>> =
                    ranges.iter().map(|(_, range)| range.clone()).collect();
                let children = ranges.iter().map(|(node, _)| *node).collect();
                let choice = Choice::Children { column, level, children };
                candidates.push((gain(aim, &set, &parts), parts, choice));
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
            Aim::Median | Aim::Regression { .. } => Spread::Numbers(0.0, 0.0, 0.0),
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

/// Bits of information about the label per row, or the share of the squared error that goes away.
/// Rounded far above a float's precision, so that gains which differ by the order of a sum only are
/// equal, and the stated order decides.
fn scaled(aim: &Aim, rows: u64, whole: f64, left: f64) -> f64 {
    const STEPS: f64 = (1u64 << 36) as f64;
    let gain = match aim {
        Aim::InfoGain { .. } => (whole - left) / rows as f64,
        _ if whole > 0.0 => (whole - left) / whole,
        _ => 0.0,
    };
    // A sum with zero has no negative zero.
    (gain * STEPS).round() / STEPS + 0.0
}

fn spread_of(aim: &Aim, set: &FrequencySet, part: Range<usize>) -> Spread {
    let mut spread = Spread::none(aim, set);
    part.for_each(|at| spread.add(aim, set, at, 1));
    spread
}

fn gain(aim: &Aim, set: &FrequencySet, parts: &[Range<usize>]) -> f64 {
    let whole = spread_of(aim, set, 0..set.codes.len()).uncertainty();
    let left = parts.iter().map(|part| spread_of(aim, set, part.clone()).uncertainty()).sum();
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
