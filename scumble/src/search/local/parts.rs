//! Tables larger than memory: each partition is searched by itself.
//!
//! A partition is a box of Rothko's tree whose rows fit into memory. Mondrian finishes it first. If
//! the search of the whole box does not fit into memory, each part of Mondrian's first split is
//! searched by itself, and so on. Regions of Mondrian are what a search starts with, unless vectors
//! of levels give first classes that lose less. Requirements are those of the whole table: what
//! compares a class with all rows compares it with the rows of all partitions.
//!
//! Cost: a part takes a number of steps that is proportional to its units, so the time is linear in
//! the rows.

use super::{Course, Progress, STEPS_PER_UNIT, search};
use crate::error::{Error, Result, Shortfall};
use crate::ids::{CellId, Id};
use crate::privacy::{Group, all_hold};
use crate::random::Random;
use crate::ratio::Ratio;
use crate::recoding::{Local, Mapping, Style};
use crate::search::Task;
use crate::search::regions::Points;
use crate::search::regions::disk::Finisher;
use crate::search::regions::mondrian::{Grown, Growth};
use crate::table::{Cells, Tallies};
use crate::taxonomy::{Axis, AxisNumbers, Ordered};
use crate::watch::{PIECE, Watch};

/// How long each part is searched.
pub trait Pace {
    /// A part begins that has so many rows. The schedule has so many steps for it; none if the part
    /// is not searched.
    fn begin(&mut self, rows: u64, planned: u64);

    /// The heat of the next batch of steps; none if the search of this part is to end.
    fn heat(&mut self, progress: &Progress) -> Option<f64>;
}

/// Searches one part after the other.
pub struct LocalParts<'a> {
    /// What is asked of every part. Its cells, tallies and axes are those of one part at a time.
    pub task: Task,
    /// The dimensions of the whole table.
    pub axes: &'a [Axis],
    /// What classes are called.
    pub style: Style,
    /// What draws the steps.
    pub seed: u64,
    /// How many of the best recodings of a part are kept, of which one is drawn.
    pub top: usize,
    /// Bytes that a search may take.
    pub most_bytes: u64,
    /// The share of rows that may be suppressed. No part gets more than its rows allow, and what
    /// the parts before it left.
    pub suppression: Ratio,
    /// How long each part is searched.
    pub pace: &'a mut dyn Pace,
    /// What happened so far.
    pub searched: SearchedParts,
}

/// What happened in the parts so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchedParts {
    /// Their rows.
    pub rows: u64,
    /// Those that were suppressed.
    pub suppressed: u64,
    /// Steps that were taken.
    pub steps: u64,
}

/// The bytes that a search takes for each unit of so many columns, at most, if so many of the best
/// recodings are kept. Lists that grow may be twice as long as they are full.
pub fn unit_bytes(columns: usize, top: usize) -> u64 {
    let columns = columns as u64;
    // Codes, count and a place in the index.
    let cells = 8 * columns + 24;
    let space = 16 * columns + 8;
    // Of five units in a node, all columns but the last may have nodes of their own.
    let index = 2 * 20 * (1 + columns / 5);
    // The nearest units, in a block of their own.
    let near = 24 + 4 * 24 + 16;
    // A class may be one unit: its list, in a block of its own, and four numbers. What the units of
    // a class have in common is kept only if there are more than 32.
    let class = 2 * (48 + 4) + 48 + columns;
    // Class, place, price and whether the unit is enough; the best classes so far, and the last
    // ones.
    let own = 4 + 4 + 4 + 1 + (2 + top as u64) * 4;
    cells + space + index + near + class + own
}

/// The bytes that a search takes for each row with so many counted values, at most.
pub fn row_bytes(counted: usize) -> u64 {
    // Its cell and its place; a code that is ranked; values while they are tallied.
    4 + 4 + 8 + 20 * counted as u64
}

impl LocalParts<'_> {
    /// Makes the points of a part the task. Returns the cell of each; none if the search would take
    /// too much memory.
    fn count(&mut self, points: &Points<'_>, watch: &Watch) -> Result<Option<Vec<u32>>> {
        let counted = self.task.values.len();
        let left = self.most_bytes.checked_sub(points.rows() * row_bytes(counted));
        let most = left.map_or(0, |left| left / unit_bytes(self.axes.len(), self.top));
        let (layout, columns) = (points.layout(), self.axes.len());
        let mut ranks: Vec<Option<Vec<u64>>> = Vec::with_capacity(columns);
        for (column, axis) in self.axes.iter().enumerate() {
            ranks.push(match axis {
                Axis::Ordered(ordered) if most > 0 => Some(codes(points, column, ordered, watch)?),
                _ => None,
            });
        }
        let readers: Vec<_> = (0..columns).map(|column| layout.reader(column)).collect();
        let mut cells: Cells<CellId> = Cells::new(columns);
        let mut cell_of = Vec::with_capacity(points.len());
        let mut tuple = vec![0; columns];
        for (number, point) in points.iter().enumerate() {
            if number % PIECE == 0 {
                watch.check()?;
            }
            if cells.len() as u64 >= most {
                return Ok(None);
            }
            for (column, code) in tuple.iter_mut().enumerate() {
                let exact = readers[column](point);
                *code = match &ranks[column] {
                    None => exact as u32,
                    Some(codes) => codes.partition_point(|known| *known < exact) as u32,
                };
            }
            cell_of.push(cells.add(&tuple, 1).number());
        }
        let axis = |(axis, ranks): (&Axis, &Option<Vec<u64>>)| match (axis, ranks) {
            (Axis::Ordered(ordered), Some(codes)) => Axis::Ordered(ranked(ordered, codes)),
            _ => axis.clone(),
        };
        self.task.axes = self.axes.iter().zip(&ranks).map(axis).collect();
        let tally = |column: usize| {
            let values = watch.list(points.iter().map(|point| layout.value(point, column)))?;
            Tallies::count(cells.len(), &cell_of, &values, watch)
        };
        self.task.tallies = (0..counted).map(tally).collect::<Result<_>>()?;
        self.task.cells = cells;
        Ok(Some(cell_of))
    }

    /// Searches the task for classes, and moves the points of each side by side.
    fn classes(
        &mut self,
        points: Points<'_>,
        cell_of: Vec<u32>,
        grown: &Grown,
        watch: &Watch,
    ) -> Result<Grown> {
        let rows = points.rows();
        let allowed = self.suppression.floor_of(self.searched.rows + rows);
        self.task.suppressible = allowed.saturating_sub(self.searched.suppressed);
        self.pace.begin(rows, STEPS_PER_UNIT.saturating_mul(self.task.cells.len() as u64));
        let mut heat = |progress: &Progress| self.pace.heat(progress);
        let known = regions(grown, &cell_of, self.task.cells.len());
        let course = Course { style: self.style, seed: self.seed, top: self.top };
        let mut found = search(&self.task, Some(&known), course, &mut heat, watch)?;
        let draw = Random::stream(self.seed, self.searched.rows).below(found.len() as u64);
        let found = found.swap_remove(draw as usize);
        let Mapping::Local(local) = found.mapping else { return Err(Error::Defect) };
        let is_kept = self.kept(&local, watch)?;
        self.task.cells = Cells::default();
        self.task.tallies.clear();
        let class = |point: usize| local.class_of[cell_of[point] as usize] as usize;
        let mut sizes = vec![0; local.classes as usize];
        watch.each(0..cell_of.len(), PIECE, |point| sizes[class(point)] += 1)?;
        // Classes that are kept first, then the others.
        let (mut starts, mut start) = (vec![0u32; sizes.len()], 0);
        for kept in [true, false] {
            let classes = (0..sizes.len()).filter(|class| is_kept[*class] == kept);
            classes.for_each(|class| {
                starts[class] = start;
                start += sizes[class] as u32;
            });
        }
        let mut places = Vec::with_capacity(cell_of.len());
        watch.each(0..cell_of.len(), PIECE, |point| {
            let next = &mut starts[class(point)];
            places.push(*next);
            *next += 1;
        })?;
        points.put_in_place(&mut places, watch)?;
        let of = |kept: bool| {
            let sizes = sizes.iter().zip(&is_kept).filter(move |(_, is_kept)| **is_kept == kept);
            sizes.map(|(size, _)| *size).filter(|size| *size > 0)
        };
        let suppressed: usize = of(false).sum();
        if suppressed as u64 > self.task.suppressible {
            let (failing, suppressible) = (suppressed as u64, self.task.suppressible);
            return Err(Shortfall::ClassesFail { levels: None, failing, rows, suppressible }.into());
        }
        self.searched.rows += rows;
        self.searched.suppressed += suppressed as u64;
        self.searched.steps += found.visited;
        Ok(Grown::Classes { sizes: of(true).collect(), suppressed })
    }

    /// Whether each class is allowable; a suppressed unit is a class that is not.
    fn kept(&self, local: &Local, watch: &Watch) -> Result<Vec<bool>> {
        let task = &self.task;
        let classes = local.classes as usize;
        if task.suppressible == 0 {
            return Ok(vec![true; classes]);
        }
        let mut rows = vec![0u64; classes];
        let cells = local.class_of.iter().zip(task.cells.counts());
        watch.each(cells, PIECE, |(class, count)| rows[*class as usize] += u64::from(*count))?;
        let merge = |(tally, values): (&Tallies, &usize)| {
            tally.merge(classes, &local.class_of, *values, watch)
        };
        let columns: Vec<Tallies> =
            task.tallies.iter().zip(&task.values).map(merge).collect::<Result<_>>()?;
        let holds = |(index, rows): (usize, u64)| {
            all_hold(&task.requirements, &Group { rows, columns: &columns, index })
        };
        let mut kept = Vec::with_capacity(classes);
        watch.each(rows.into_iter().enumerate(), PIECE, |class| kept.push(holds(class)))?;
        Ok(kept)
    }
}

impl LocalParts<'_> {
    /// Searches below a node of a tree, whose regions lie side by side: all of it, if that fits into
    /// memory, or each of its parts.
    fn below(&mut self, grown: Grown, points: Points<'_>, watch: &Watch) -> Result<Grown> {
        watch.check()?;
        if let Some(cell_of) = self.count(&points, watch)? {
            return self.classes(points, cell_of, &grown, watch);
        }
        let Grown::Split(choice, parts) = grown else {
            self.pace.begin(points.rows(), 0);
            self.searched.rows += points.rows();
            return Ok(grown);
        };
        let mut rest = points;
        let mut below = Vec::with_capacity(parts.len());
        for part in parts {
            let (points, others) = rest.split_at(part.points());
            below.push(self.below(part, points, watch)?);
            rest = others;
        }
        Ok(Grown::Split(choice, below))
    }
}

impl Finisher for LocalParts<'_> {
    fn grow(&mut self, growth: &Growth<'_>, mut points: Points<'_>, plain: bool) -> Result<Grown> {
        let grown = growth.grow(points.again(), plain)?;
        self.below(grown, points, growth.watch)
    }
}

/// The region of each of so many cells; `cell_of` has the cell of each point.
fn regions(grown: &Grown, cell_of: &[u32], cells: usize) -> Vec<u32> {
    let mut sizes = Vec::new();
    grown.regions(&mut sizes);
    let (mut region_of, mut start) = (vec![0; cells], 0);
    for (region, size) in (0..).zip(sizes) {
        let cells = &cell_of[start..start + size];
        cells.iter().for_each(|cell| region_of[*cell as usize] = region);
        start += size;
    }
    region_of
}

/// The codes of an ordered axis that occur, ascending. There is a number among them.
fn codes(points: &Points<'_>, column: usize, ordered: &Ordered, watch: &Watch) -> Result<Vec<u64>> {
    let mut codes = Vec::with_capacity(points.len());
    points.each_code(column, watch, |code, _| codes.push(code))?;
    watch.sort(&mut codes)?;
    codes.dedup();
    if codes.first().copied() == ordered.missing {
        codes.insert(0, Axis::Ordered(ordered.clone()).whole().first);
    }
    codes.shrink_to_fit();
    Ok(codes)
}

/// An axis with the codes that occur by rank. Its width is that of the whole, so that a range costs
/// the same in every part.
fn ranked(ordered: &Ordered, codes: &[u64]) -> Ordered {
    let numbers = match codes.split_last() {
        Some((last, numbers)) if ordered.missing == Some(*last) => numbers,
        _ => codes,
    };
    Ordered {
        numbers: AxisNumbers::Ranked(numbers.iter().map(|code| ordered.number(*code)).collect()),
        missing: (numbers.len() < codes.len()).then_some(numbers.len() as u64),
        ..ordered.clone()
    }
}
