//! Mondrian: greedy recursive partitioning in memory (LeFevre, DeWitt and Ramakrishnan 2006;
//! LeFevre and DeWitt 2007, section 1.2).
//!
//! The points of a partition lie side by side; a split moves them and hands its parts on, in
//! parallel where they are large. Where rows alone decide (k-anonymity) and halves are wanted, a
//! point is a cell with the number of its rows, and the threshold is found by selection in linear
//! time; everything else goes row by row through frequency sets.
//!
//! Departures: children of a node of a tree that are too rare may be one part together (see
//! `pooling`; the paper splits a node into all children or not at all, so that one rare child
//! blocks the split); by default the attribute is chosen by the loss that its split removes, not by
//! its range; the threshold is the allowable one nearest to the median, not the median itself, so
//! the result is minimal with many equal values and under diversity too; a missing number is parted
//! from all numbers before they are parted.
//!
//! Cost: O(n log n) for the median under k-anonymity, O(n log² n) otherwise, n rows (along trees n
//! cells, where rows alone decide) and a fixed number of attributes.

use super::children::{parted, pool_rows, worth};
use super::choose::{WORTHLESS, by_loss, by_range, halved};
use super::{Aim, Choice, Criterion, FrequencySet, Judge, Layout, Partitioning, Points, choose};
use crate::error::Shortfall;
use crate::error::{Error, Result};
use crate::ids::CellId;
use crate::privacy::{Group, Requirement, asks_nothing};
use crate::recoding::{Mapping, RegionNode, Regions, Style};
use crate::search::{Found, Task, Warrant};
use crate::table::Tallies;
use crate::taxonomy::{Axis, Extent, Taxonomy};
use crate::watch::{PIECE, Watch};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Below this many points a thread of its own is not worth its while.
const ALONE: usize = 1024;

/// Children that are counted without asking for memory.
const FEW: usize = 32;

/// A grown partition tree.
#[derive(Debug)]
pub enum Grown {
    /// A region of so many points: no allowable split is left.
    Region(usize),
    /// A split, with its parts in order.
    Split(Choice, Vec<Grown>),
    /// Sets of points that are no boxes: so many points in each, and those that are suppressed
    /// behind all of them.
    Classes {
        /// The points of each set.
        sizes: Vec<usize>,
        /// Points that are suppressed.
        suppressed: usize,
    },
}

impl Grown {
    /// How many points there are.
    pub fn points(&self) -> usize {
        match self {
            Grown::Region(points) => *points,
            Grown::Split(_, parts) => parts.iter().map(Grown::points).sum(),
            Grown::Classes { sizes, suppressed } => sizes.iter().sum::<usize>() + suppressed,
        }
    }

    /// The points of each region, in order.
    pub fn regions(&self, sizes: &mut Vec<usize>) {
        match self {
            Grown::Region(points) => sizes.push(*points),
            Grown::Split(_, parts) => parts.iter().for_each(|part| part.regions(sizes)),
            Grown::Classes { sizes: own, .. } => sizes.extend(own),
        }
    }
}

/// What growing needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Growth<'a> {
    /// The dimensions.
    pub axes: &'a [Axis],
    /// What is allowable.
    pub judge: Judge<'a>,
    /// How many columns are counted.
    pub counted: usize,
    /// What splits are chosen for.
    pub aim: &'a Aim,
    /// The gain below which the median takes over.
    pub least_gain: f64,
    /// Can abort it.
    pub watch: &'a Watch,
}

impl<'a> Growth<'a> {
    /// For a task in memory, judged exactly.
    pub(super) fn of(
        task: &'a Task,
        aim: &'a Aim,
        partitioning: Partitioning,
        watch: &'a Watch,
    ) -> Growth<'a> {
        Growth {
            axes: &task.axes,
            judge: Judge::exact(&task.requirements).pooling(partitioning.pooling),
            counted: if rows_decide(task, aim) { 0 } else { task.tallies.len() },
            aim,
            least_gain: partitioning.least_gain,
            watch,
        }
    }
}

/// Partitions a task's rows.
pub fn search(task: &Task, partitioning: Partitioning, watch: &Watch) -> Result<Found> {
    check_whole(task, watch)?;
    let aim = aim(task, partitioning.criterion)?;
    let (layout, mut words) = points(task, &aim, watch)?;
    let growth = Growth::of(task, &aim, partitioning, watch);
    let grown = growth.grow(Points::holding(&layout, &mut words, task.rows()), false)?;
    found(&grown, task, partitioning.style, watch)
}

/// A grown tree in which no allowable split is left, as what a search found.
pub(super) fn found(grown: &Grown, task: &Task, style: Style, watch: &Watch) -> Result<Found> {
    let mut regions = Regions { nodes: Vec::new(), style };
    flatten(grown, &mut regions, watch)?;
    if style != Style::Tight {
        regions = regions.with_missing_apart(&task.axes, watch)?;
    }
    let visited = regions.nodes.len() as u64;
    let mapping = Mapping::Regions(regions);
    Ok(Found { mapping, warrant: Warrant::Minimal(true), cost: None, space: None, visited })
}

/// The aim of a criterion, for the target that the task counts.
pub(super) fn aim(task: &Task, criterion: Criterion) -> Result<Aim> {
    match (criterion, task.target, &task.target_numbers) {
        (Criterion::Loss, ..) => Ok(Aim::loss(&task.weights)),
        (Criterion::Median, ..) => Ok(Aim::Median),
        (Criterion::InfoGain, Some(column), _) => Ok(Aim::InfoGain { column }),
        (Criterion::Regression, Some(column), Some(numbers)) => {
            Ok(Aim::regression(column, numbers))
        }
        // Binding a policy makes sure that there is one.
        (Criterion::InfoGain | Criterion::Regression, ..) => Err(Error::Defect),
    }
}

/// Refuses a table that does not meet the requirements as one group: partitioning cannot help it.
pub(in crate::search) fn check_whole(task: &Task, watch: &Watch) -> Result<()> {
    let went = vec![0; task.cells.len()];
    let merge = |(tally, values): (&Tallies, &usize)| tally.merge(1, &went, *values, watch);
    let whole: Vec<Tallies> =
        task.tallies.iter().zip(&task.values).map(merge).collect::<Result<_>>()?;
    check_group(&task.requirements, &Group { rows: task.rows(), columns: &whole, index: 0 })
}

/// Refuses a whole table, as one group, that fails a requirement.
pub fn check_group(requirements: &[Box<dyn Requirement>], group: &Group<'_>) -> Result<()> {
    match requirements
        .iter()
        .find(|requirement| !asks_nothing(requirement.as_ref(), group) && !requirement.holds(group))
    {
        None => Ok(()),
        Some(failing) => {
            let statement = failing.statement();
            Err(Error::from(Shortfall::WholeTable {
                rows: group.rows,
                requirement: statement.requirement,
                required: statement.required,
                reached: failing.figure(group),
            }))
        }
    }
}

/// Whether splits are chosen by rows alone, and counted columns do not matter.
fn rows_decide(task: &Task, aim: &Aim) -> bool {
    matches!(aim, Aim::Loss { .. } | Aim::Median)
        && task.requirements.iter().all(|requirement| requirement.rows_decide())
}

/// The rows of a task as points, cell by cell. Where rows alone decide a point is a cell, unless
/// there are so few rows to a cell that one more word for their number would take more room.
pub(super) fn points(task: &Task, aim: &Aim, watch: &Watch) -> Result<(Layout, Vec<u32>)> {
    let keys = task.cells.width();
    if rows_decide(task, aim) {
        let layout = Layout::new(&vec![false; keys], 0, 0);
        let weighted = layout.weighted();
        let by_cells = task.cells.len() * weighted.width() <= task.rows() as usize * layout.width();
        return if by_cells {
            Ok((weighted, cells(task, watch)?))
        } else {
            Ok((layout, rows(task, 0, watch)?))
        };
    }
    let counted = task.tallies.len();
    Ok((Layout::new(&vec![false; keys], counted, 0), rows(task, counted, watch)?))
}

/// A point for each cell with rows, their number behind its codes.
fn cells(task: &Task, watch: &Watch) -> Result<Vec<u32>> {
    let mut words = Vec::with_capacity(task.cells.len() * (task.cells.width() + 1));
    let mut tuples = task.cells.tuples();
    for counts in task.cells.counts().chunks(PIECE) {
        watch.check()?;
        let cells = counts.iter().zip(tuples.by_ref());
        for (count, codes) in cells.filter(|(count, _)| **count > 0) {
            words.extend_from_slice(codes);
            words.push(*count);
        }
    }
    Ok(words)
}

/// A point for each row, with the values of the first so many counted columns behind its codes.
/// Rows of one cell stay together in every partition, so it does not matter which of them gets
/// which of the cell's counted values.
fn rows(task: &Task, counted: usize, watch: &Watch) -> Result<Vec<u32>> {
    let keys = task.cells.width();
    let width = keys + counted;
    let mut words = Vec::with_capacity(task.rows() as usize * width);
    let mut checked = 0;
    for cell in 0..task.cells.len() {
        let start = words.len();
        if start - checked > PIECE {
            watch.check()?;
            checked = start;
        }
        for _ in 0..task.cells.counts()[cell] {
            words.extend_from_slice(task.cells.codes(CellId(cell as u32)));
            words.extend(std::iter::repeat_n(0, counted));
        }
        for (column, tallies) in task.tallies.iter().enumerate().take(counted) {
            let values = tallies
                .group(cell)
                .iter()
                .flat_map(|(value, count)| std::iter::repeat_n(*value, *count as usize));
            for (row, value) in values.enumerate() {
                words[start + row * width + keys + column] = value;
            }
        }
    }
    Ok(words)
}

impl Growth<'_> {
    /// Grows the tree of some points. `plain`: the median has taken over.
    pub fn grow(&self, points: Points<'_>, plain: bool) -> Result<Grown> {
        if points.rows() < 2 * self.judge.least_rows() {
            return Ok(Grown::Region(points.len()));
        }
        self.watch.check()?;
        let extents = points.extents(self.watch)?;
        let (choice, plain) = self.choose(&points, &extents, plain)?;
        let Some(choice) = choice else { return Ok(Grown::Region(points.len())) };
        let many = points.len();
        let parts = self.part(points, &choice)?;
        let grow = |part| self.grow(part, plain);
        let parts = match many {
            0..ALONE => parts.into_iter().map(grow).collect::<Result<_>>()?,
            _ => parts.into_par_iter().map(grow).collect::<Result<_>>()?,
        };
        Ok(Grown::Split(choice, parts))
    }

    fn choose(
        &self,
        points: &Points<'_>,
        extents: &[Extent],
        plain: bool,
    ) -> Result<(Option<Choice>, bool)> {
        let aim = if plain { &Aim::Median } else { self.aim };
        match (aim, self.judge.enough(2)) {
            (Aim::Median, Some(enough)) => {
                for column in by_range(self.axes, extents) {
                    if let Some((_, choice)) =
                        self.split(points, extents, (column, WORTHLESS), enough)?
                    {
                        return Ok((Some(choice), true));
                    }
                }
                Ok((None, true))
            }
            (Aim::Loss { weights }, Some(enough)) => {
                let split = |column, known| self.split(points, extents, (column, known), enough);
                Ok((by_loss(self.axes, extents, weights, split)?, false))
            }
            _ => {
                let set = |column| FrequencySet::of(points, column, self.counted, self.watch);
                choose(self.axes, extents, &self.judge, aim, self.least_gain, self.watch, set)
            }
        }
    }

    /// The split of an attribute, and what it is worth to the loss if that is more than is known,
    /// where `enough` rows on either side are all that is asked: by counting or selection, without
    /// sorting.
    fn split(
        &self,
        points: &Points<'_>,
        extents: &[Extent],
        (column, known): (usize, f64),
        enough: u64,
    ) -> Result<Option<(f64, Choice)>> {
        let (axis, extent) = (&self.axes[column], extents[column]);
        let choice = match axis {
            Axis::Tree(taxonomy) => {
                return self.specialize(taxonomy, points, (column, known), extent);
            }
            Axis::Ordered(ordered) if ordered.missing == Some(extent.last) => {
                self.set_apart(points, column, extent.last, enough)?
            }
            Axis::Ordered(_) => {
                let middle = self.middle(points, column, extent, enough)?;
                middle.map(|(last, next)| Choice::between(axis, column, last, next))
            }
        };
        Ok(choice.map(|choice| (halved(axis, extent, self.aim.weight(column)), choice)))
    }

    /// The split of missing values from all numbers.
    fn set_apart(
        &self,
        points: &Points<'_>,
        column: usize,
        missing: u64,
        enough: u64,
    ) -> Result<Option<Choice>> {
        let (mut apart, mut last) = (0, None);
        points.each_code(column, self.watch, |code, rows| {
            if code == missing { apart += rows } else { last = last.max(Some(code)) }
        })?;
        let allowed = apart >= enough && points.rows() - apart >= enough;
        let choice = |last| Choice::Threshold { column, before: missing, last, up_to: None };
        Ok(last.filter(|_| allowed).map(choice))
    }

    /// The last code of the first half, and the first of the second.
    fn middle(
        &self,
        points: &Points<'_>,
        column: usize,
        extent: Extent,
        enough: u64,
    ) -> Result<Option<(u64, u64)>> {
        let (layout, watch) = (points.layout(), self.watch);
        match extent.last - extent.first {
            range if range < points.rows() => counted_middle(points, column, extent, enough, watch),
            _ if layout.is_narrow() => {
                let codes = &mut points.by_row(watch, |point| point[column])?;
                let middle = middle(codes, enough, watch)?;
                Ok(middle.map(|(last, next)| (last.into(), next.into())))
            }
            _ => {
                let codes = &mut points.by_row(watch, |point| layout.code(point, column))?;
                middle(codes, enough, watch)
            }
        }
    }

    /// The split into the children that occur, where rows alone decide.
    fn specialize(
        &self,
        taxonomy: &Taxonomy,
        points: &Points<'_>,
        (column, known): (usize, f64),
        extent: Extent,
    ) -> Result<Option<(f64, Choice)>> {
        let level = Axis::ancestor(taxonomy, extent).level - 1;
        let nodes = taxonomy.level(level);
        let (first, last) = (nodes.node_of(extent.first as u32), nodes.node_of(extent.last as u32));
        let occur = (last - first) as usize + 1;
        let (mut few, mut many) = ([0u64; FEW], Vec::new());
        let counts = match few.get_mut(..occur) {
            Some(counts) => counts,
            None => {
                many.resize(occur, 0);
                &mut many
            }
        };
        points.each_code(column, self.watch, |code, rows| {
            counts[(nodes.node_of(code as u32) - first) as usize] += rows;
        })?;
        let children = (first..).zip(counts.iter().copied()).filter(|(_, count)| *count > 0);
        let pool = self
            .judge
            .enough(children.clone().count())
            .and_then(|enough| pool_rows(taxonomy, level, children.clone(), enough, &self.judge));
        let Some(pool) = pool else { return Ok(None) };
        let parts = children.map(|(node, rows)| (node, rows, pool.holds((node, rows))));
        let worth = worth(taxonomy, level, parts.clone(), self.aim.weight(column));
        Ok((worth > known).then(|| (worth, parted(column, level, parts))))
    }

    /// The parts of a split, in order.
    pub fn part<'p>(&self, points: Points<'p>, choice: &Choice) -> Result<Vec<Points<'p>>> {
        match choice {
            Choice::Threshold { column, before, .. } => {
                let (below, above) = points.part(*column, *before, self.watch)?;
                Ok(vec![below, above])
            }
            Choice::Children { column, level, children, rest } => {
                let Axis::Tree(taxonomy) = &self.axes[*column] else { return Ok(vec![points]) };
                let level = taxonomy.level(*level);
                let all = || children.iter().chain(rest).copied();
                let (first, last) = (all().min().unwrap_or(0), all().max().unwrap_or(0));
                // What is no child of its own is in the rest, behind them.
                let mut part_of = vec![children.len(); (last - first) as usize + 1];
                children
                    .iter()
                    .enumerate()
                    .for_each(|(part, child)| part_of[(child - first) as usize] = part);
                let part_of = |code: u64| part_of[(level.node_of(code as u32) - first) as usize];
                let parts = children.len() + usize::from(!rest.is_empty());
                points.part_many(*column, parts, part_of, self.watch)
            }
        }
    }
}

/// The same as [`middle`], where codes are so close together that they are counted one by one.
fn counted_middle(
    points: &Points<'_>,
    column: usize,
    extent: Extent,
    enough: u64,
    watch: &Watch,
) -> Result<Option<(u64, u64)>> {
    let mut counts = vec![0u64; (extent.last - extent.first) as usize + 1];
    points.each_code(column, watch, |code, rows| {
        counts[(code - extent.first) as usize] += rows;
    })?;
    let rows = points.rows();
    let distance = |below: u64| (2 * below).abs_diff(rows);
    // The last code below which less than half of the rows are, and the next: one of them is
    // nearest.
    let (mut best, mut below) = (None, 0);
    for (code, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        below += count;
        if below < rows && best.is_none_or(|(_, known)| distance(below) < distance(known)) {
            best = Some((code, below));
        }
        if 2 * below >= rows {
            break;
        }
    }
    let Some((code, below)) = best else { return Ok(None) };
    let is_enough = below >= enough && rows - below >= enough;
    let next = counts[code + 1..].iter().position(|count| *count > 0);
    let code = extent.first + code as u64;
    Ok(next.filter(|_| is_enough).map(|next| (code, code + 1 + next as u64)))
}

/// More codes than this are not selected from at once.
const MANY: usize = 1 << 20;

/// The last code of the first half, and the first of the second, where the threshold between them
/// leaves the most equal halves (of two such, the lower), if both have enough.
fn middle<T: Copy + Ord + Send + Sync>(
    codes: &mut Vec<T>,
    enough: u64,
    watch: &Watch,
) -> Result<Option<(T, T)>> {
    let rows = codes.len();
    if (rows as u64) < 2 * enough {
        return Ok(None);
    }
    watch.check()?;
    let (median, less, equal) = match rows {
        0..MANY => {
            let (lower, median, upper) = codes.select_nth_unstable(rows / 2);
            let median = *median;
            // Equal codes may lie on both sides of the middle.
            let less = lower.iter().filter(|code| **code < median).count();
            let above = upper.iter().filter(|code| **code == median).count();
            (median, less, 1 + (lower.len() - less) + above)
        }
        _ => {
            // A selection cannot be aborted, a sort can.
            watch.sort(codes)?;
            let median = codes[rows / 2];
            let less = codes.partition_point(|code| *code < median);
            (median, less, codes.partition_point(|code| *code <= median) - less)
        }
    };
    let distance = |below: usize| (2 * below).abs_diff(rows);
    let at_least_one = |below: usize| below > 0 && below < rows;
    let before = at_least_one(less)
        && (!at_least_one(less + equal) || distance(less) <= distance(less + equal));
    let below = if before { less } else { less + equal };
    if !at_least_one(below) || (below as u64) < enough || ((rows - below) as u64) < enough {
        return Ok(None);
    }
    Ok(if before {
        let last = codes[..rows / 2].iter().copied().filter(|code| *code < median).max();
        last.map(|last| (last, median))
    } else {
        let next = codes[rows / 2..].iter().copied().filter(|code| *code > median).min();
        next.map(|next| (median, next))
    })
}

/// A grown tree as nodes of a mapping, each before its children.
pub fn flatten(grown: &Grown, regions: &mut Regions, watch: &Watch) -> Result<u32> {
    let at = regions.nodes.len() as u32;
    regions.nodes.push(RegionNode::Region);
    let Grown::Split(choice, parts) = grown else { return Ok(at) };
    watch.check()?;
    let flatten = |part: &Grown| flatten(part, regions, watch);
    let parts: Vec<u32> = parts.iter().map(flatten).collect::<Result<_>>()?;
    regions.nodes[at as usize] = choice.node(&parts);
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::KAnonymity;
    use crate::random::Random;
    use crate::table::{Dictionary, Type};
    use crate::taxonomy::{AxisNumbers, Hierarchy, Intervals, Ordered, bind};
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::sync::Arc;

    /// Values of each axis.
    const VALUES: u64 = 9;

    /// What the codes of the last axis are multiplied by: they lie further apart than a table has
    /// rows.
    const FAR: u64 = 10_000;

    /// A tree of nine leaves in threes, an ordered axis, and one whose codes lie far apart and
    /// whose last one is missing.
    fn axes() -> Vec<Axis> {
        let mut dictionary = Dictionary::default();
        (0..VALUES).for_each(|value| _ = dictionary.encode(&value.to_string(), value));
        let threes = Hierarchy::Intervals(
            Intervals::new(vec![3.0], Some(0.0), Some(VALUES as f64)).unwrap(),
        );
        let bound =
            bind(&threes, Some(Type::Integer), &[], &dictionary, "tree", Path::new("table.csv"))
                .unwrap();
        let numbers = (0..VALUES).map(|number| number as f64).collect();
        let ordered = |numbers: AxisNumbers, missing: Option<u64>, greatest: u64| {
            Axis::Ordered(Ordered {
                kind: Type::Integer,
                numbers,
                missing,
                least: 0.0,
                greatest: greatest as f64,
            })
        };
        vec![
            Axis::Tree(Arc::new(bound.taxonomy)),
            ordered(AxisNumbers::Ranked(numbers), None, VALUES - 1),
            ordered(AxisNumbers::Offset, Some((VALUES - 1) * FAR), (VALUES - 2) * FAR),
        ]
    }

    /// The tree of some rows, each of which is a point, or all that are alike are one.
    fn grown(
        axes: &[Axis],
        rows: &[[u64; 3]],
        k: u64,
        wide: bool,
        weighted: bool,
    ) -> (Vec<RegionNode>, usize) {
        let plain = Layout::new(&[false, false, wide], 0, 0);
        let layout = if weighted { plain.weighted() } else { plain.clone() };
        let mut tuples: BTreeMap<&[u64; 3], u32> = BTreeMap::new();
        rows.iter().for_each(|row| *tuples.entry(row).or_insert(0) += 1);
        let mut words = Vec::new();
        for (tuple, count) in tuples {
            let mut point = vec![0; plain.width()];
            tuple
                .iter()
                .enumerate()
                .for_each(|(column, code)| plain.set_code(&mut point, column, *code));
            for _ in 0..if weighted { 1 } else { count } {
                words.extend_from_slice(&point);
                words.extend(weighted.then_some(count));
            }
        }
        let points = Points::new(&layout, &mut words);
        assert_eq!(points.rows(), rows.len() as u64);
        let many = points.len();
        let requirements: Vec<Box<dyn Requirement>> = vec![Box::new(KAnonymity::new(k).unwrap())];
        let judge = Judge::exact(&requirements);
        let (aim, watch) = (&Aim::Median, &Watch::silent());
        let growth = Growth { axes, judge, counted: 0, aim, least_gain: 0.0, watch };
        let mut regions = Regions { nodes: Vec::new(), style: Style::Tight };
        flatten(&growth.grow(points, false).unwrap(), &mut regions, watch).unwrap();
        (regions.nodes, many)
    }

    #[test]
    fn cells_with_their_rows_are_split_as_their_rows_are() {
        let axes = axes();
        let (mut splits, mut saved) = (0, 0);
        for seed in 0..300 {
            let random = &mut Random::stream(seed, 0);
            // A few tables are large enough for threads of their own. Squares make some values
            // frequent.
            let many = if seed % 60 == 0 { 6000 } else { random.below(80) };
            let values = 1 + random.below(VALUES);
            let drawn = |random: &mut Random| random.below(values) * random.below(values) / values;
            let rows: Vec<[u64; 3]> = (0..many)
                .map(|_| [drawn(random), drawn(random), (VALUES - 1 - drawn(random)) * FAR])
                .collect();
            let (k, wide) = (1 + random.below(6), random.below(2) == 0);
            let (by_row, points) = grown(&axes, &rows, k, wide, false);
            let (by_cell, cells) = grown(&axes, &rows, k, wide, true);
            assert_eq!(by_row, by_cell, "seed {seed}");
            splits += by_cell.iter().filter(|node| **node != RegionNode::Region).count();
            saved += points - cells;
        }
        assert!(splits > 1000 && saved > 5000, "{splits} splits, {saved} points saved");
    }
}
