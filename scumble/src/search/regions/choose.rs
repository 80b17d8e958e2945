//! Which split of a partition is taken: from frequency sets alone.

use super::children::{Least, child_ranges, children};
use super::gain::by_gain;
use super::{Aim, FrequencySet, Judge};
use crate::error::Result;
use crate::recoding::RegionNode;
use crate::table::Tallies;
use crate::taxonomy::{Axis, Extent, threshold_between};
use crate::watch::Watch;
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
pub(super) fn allows(
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
pub(super) fn merged(
    set: &FrequencySet,
    part: &Range<usize>,
    watch: &Watch,
) -> Result<Vec<Tallies>> {
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

/// A gain rounded far above a float's precision, so that gains which differ by the order of a sum
/// only are equal, and the stated order decides.
pub(super) fn rounded(gain: f64) -> f64 {
    const STEPS: f64 = (1u64 << 36) as f64;
    // A sum with zero has no negative zero.
    (gain * STEPS).round() / STEPS + 0.0
}
