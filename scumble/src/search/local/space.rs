//! Cells as points, and what it costs to say only what several of them have in common.
//!
//! A class is described by a box: the least and the greatest code of each column. Codes follow the
//! leaves of a tree, so the box says which node is released, and a larger box never costs less. If
//! sets of values are released, the box has the set itself, one bit for each code.
//! Columns count by their weights, which are 1 on average: a suppressed row costs the number of
//! columns, whatever they weigh.
//!
//! Columns are in an order of their own: those come first in which any two values are far apart.
//! So most points that are far apart are known to be after a column or two.

use crate::error::Result;
use crate::ids::CellId;
use crate::recoding::Style;
use crate::search::Task;
use crate::taxonomy::{Axis, Extent};
use crate::watch::{PIECE, Watch};
use std::fmt;
use std::ops::Range;

/// Columns with more codes than this get no table: theirs would not fit in a cache.
const TABLE: usize = 512;

/// Steps from one code to the next that are looked at.
const STEPS: usize = 1024;

/// Columns that are summed up before a sum is compared with a limit.
const FIRST: usize = 4;

/// Codes of a set in the first of its two words.
const WORD: u32 = 32;

/// What a range of codes costs each row.
type Price = Box<dyn Fn(u32, u32) -> f32 + Send + Sync>;

/// The cells of a task as points.
///
/// A box has two lists. `high` has the greatest code of each column. `low` has the least one; if
/// the column has a table, it is the place in the table where the ranges of that code start, so
/// that the sum of both is the place of the range. Of a column of sets, `low` has the bits of the
/// first 32 codes, and `high` those of the others.
///
/// Columns with a table come first, then those of sets, then all others.
pub struct Space {
    /// How many columns there are.
    pub width: usize,
    /// The column of the task that each column here is.
    pub columns: Vec<usize>,
    /// The cell of each unit. Units are in the order of their codes, so that the answer does not
    /// depend on the order of the rows.
    pub cells: Vec<u32>,
    /// The codes of each unit, unit by unit.
    codes: Vec<u32>,
    /// The box of each unit, unit by unit.
    low: Vec<u32>,
    high: Vec<u32>,
    /// The rows of each unit.
    rows: Vec<u32>,
    /// Where the table of each column starts, and how many codes it has. Columns of sets and those
    /// with many codes have none; they are the last ones.
    starts: Vec<(u32, u32)>,
    /// For each column of sets, what a set costs, by the number of its values.
    sets: Vec<Vec<f32>>,
    /// What each range of codes costs, the first code's ranges first.
    tables: Vec<f32>,
    /// The prices of the columns without a table.
    prices: Vec<Price>,
}

impl fmt::Debug for Space {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "Space of {} units and {} columns", self.len(), self.width)
    }
}

impl Space {
    /// The cells of a task.
    pub fn new(task: &Task, style: Style, watch: &Watch) -> Result<Space> {
        let lost = |column: usize| {
            let (axis, weight) = (task.axes[column].clone(), task.weights.relative(column));
            move |first: u32, last: u32| {
                let extent = Extent { first: first.into(), last: last.into() };
                (style.lost(&axis, extent) * weight) as f32
            }
        };
        let codes = |column: usize| codes(&task.axes[column]);
        // What a set costs, by the number of its values.
        let of_set = |column: usize, values: u32| {
            let most = (codes(column) - 1).max(1);
            let share = f64::from(values.saturating_sub(1)) / f64::from(most);
            (share * task.weights.relative(column)) as f32
        };
        // What the cheapest step from one value to the next costs, of some steps.
        let step = |column: usize| {
            if task.sets[column] {
                return of_set(column, 2);
            }
            let lost = lost(column);
            let apart = codes(column) as usize / STEPS + 1;
            let steps = (1..codes(column)).step_by(apart);
            steps.map(|code| lost(code - 1, code)).fold(f32::INFINITY, f32::min)
        };
        let steps: Vec<f32> = (0..task.axes.len()).map(step).collect();
        let place = |column: usize| {
            if task.sets[column] {
                Held::Set
            } else if codes(column) as usize <= TABLE {
                Held::Table
            } else {
                Held::Price
            }
        };
        let mut columns: Vec<usize> = (0..task.axes.len()).collect();
        columns.sort_by(|a, b| place(*a).cmp(&place(*b)).then(steps[*b].total_cmp(&steps[*a])));

        let (mut starts, mut tables, mut prices) = (Vec::new(), Vec::new(), Vec::<Price>::new());
        let mut sets = Vec::new();
        for column in &columns {
            let (codes, lost, start) = (codes(*column) as usize, lost(*column), tables.len());
            match place(*column) {
                Held::Table => {}
                Held::Set => {
                    sets.push((0..=codes as u32).map(|values| of_set(*column, values)).collect());
                    continue;
                }
                Held::Price => {
                    prices.push(Box::new(lost));
                    continue;
                }
            }
            starts.push((start as u32, codes as u32));
            for first in 0..codes {
                watch.check()?;
                for last in 0..first {
                    tables.push(tables[start + last * codes + first]);
                }
                tables.extend((first..codes).map(|last| lost(first as u32, last as u32)));
            }
        }
        let mut cells: Vec<u32> = (0..task.cells.len() as u32).collect();
        let codes = |cell: u32| {
            let codes = task.cells.codes(CellId(cell));
            columns.iter().map(move |column| codes[*column])
        };
        watch.sort_by(&mut cells, |a, b| codes(*a).cmp(codes(*b)))?;
        let mut list = Vec::new();
        for cells in cells.chunks(PIECE) {
            watch.check()?;
            list.extend(cells.iter().flat_map(|cell| codes(*cell)));
        }
        let rows = cells.iter().map(|cell| task.cells.count(CellId(*cell))).collect();
        let (width, codes) = (columns.len(), list);
        let (low, high) = (codes.clone(), codes.clone());
        let space =
            Space { width, columns, cells, codes, low, high, rows, starts, sets, tables, prices };
        space.with_boxes(watch)
    }

    /// The same with the boxes of all units, from their codes.
    fn with_boxes(mut self, watch: &Watch) -> Result<Space> {
        let of_sets = self.of_sets();
        let boxes = self.low.chunks_exact_mut(self.width.max(1));
        for (low, high) in boxes.zip(self.high.chunks_exact_mut(self.width.max(1))) {
            watch.check()?;
            for (code, (start, all)) in low.iter_mut().zip(&self.starts) {
                *code = start + *code * all;
            }
            for column in of_sets.clone() {
                let bit = 1u64 << high[column];
                (low[column], high[column]) = (bit as u32, (bit >> WORD) as u32);
            }
        }
        Ok(self)
    }

    /// The columns of ranges.
    #[inline(always)]
    pub fn of_ranges(&self) -> impl Iterator<Item = usize> {
        let of_sets = self.of_sets();
        (0..of_sets.start).chain(of_sets.end..self.width)
    }

    /// The columns of sets.
    #[inline(always)]
    pub fn of_sets(&self) -> Range<usize> {
        self.starts.len()..self.starts.len() + self.sets.len()
    }

    /// How many units there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The codes of a unit.
    #[inline(always)]
    pub fn codes(&self, unit: u32) -> &[u32] {
        &self.codes[unit as usize * self.width..][..self.width]
    }

    /// The box of a unit.
    #[inline(always)]
    pub fn point(&self, unit: u32) -> Bounds<'_> {
        let start = unit as usize * self.width;
        (&self.low[start..start + self.width], &self.high[start..start + self.width])
    }

    /// The rows of a unit.
    #[inline(always)]
    pub fn rows(&self, unit: u32) -> u64 {
        u64::from(self.rows[unit as usize])
    }

    /// What two codes of one column cost each row together: the range between them, or their set.
    #[inline(always)]
    pub fn apart(&self, column: usize, one: u32, other: u32) -> f32 {
        match self.starts.get(column) {
            Some((start, codes)) => self.tables[(start + one * codes + other) as usize],
            None => self.without_table(column, one.min(other), one.max(other), 2),
        }
    }

    /// What all codes from one to another cost each row together.
    pub fn across(&self, column: usize, first: u32, last: u32) -> f32 {
        match self.starts.get(column) {
            Some(_) => self.apart(column, first, last),
            None => self.without_table(column, first, last, last - first + 1),
        }
    }

    /// What a range, or a set of so many codes of it, costs each row.
    fn without_table(&self, column: usize, first: u32, last: u32, codes: u32) -> f32 {
        let at = column - self.starts.len();
        match self.sets.get(at) {
            Some(_) if first == last => 0.0,
            Some(prices) => prices[codes as usize],
            None => self.prices[at - self.sets.len()](first, last),
        }
    }

    /// The least and the greatest code of a box in one column.
    pub fn ends(&self, column: usize, (low, high): Bounds<'_>) -> (u32, u32) {
        let (low, high) = (low[column], high[column]);
        match self.starts.get(column) {
            Some((start, codes)) => ((low - start) / codes, high),
            None if self.of_sets().contains(&column) => {
                let set = u64::from(high) << WORD | u64::from(low);
                (set.trailing_zeros(), set.checked_ilog2().unwrap_or(0))
            }
            None => (low, high),
        }
    }

    /// What a box costs each row.
    #[inline(always)]
    pub fn detail(&self, bounds: Bounds<'_>) -> f32 {
        self.joined(bounds, bounds, f32::INFINITY).unwrap_or(f32::INFINITY)
    }

    /// What the least box costs each row that holds two others; nothing if the first columns cost
    /// as much as the limit.
    #[inline(always)]
    pub fn joined(&self, one: Bounds<'_>, other: Bounds<'_>, limit: f32) -> Option<f32> {
        let tabled = self.starts.len();
        let ((low, high), (other_low, other_high)) = (one, other);
        // Lengths that are known to be equal are checked once.
        let (lows, other_lows) = (&low[..tabled], &other_low[..tabled]);
        let (highs, other_highs) = (&high[..tabled], &other_high[..tabled]);
        let at = |column: usize| {
            let start = lows[column].min(other_lows[column]) as usize;
            self.tables[start + highs[column].max(other_highs[column]) as usize]
        };
        let (first, mut sum) = (FIRST.min(tabled), 0.0);
        for column in 0..first {
            sum += at(column);
        }
        if sum >= limit {
            return None;
        }
        for column in first..tabled {
            sum += at(column);
        }
        for (column, prices) in (tabled..).zip(&self.sets) {
            let set = low[column] | other_low[column];
            let others = high[column] | other_high[column];
            sum += prices[(set.count_ones() + others.count_ones()) as usize];
        }
        for (column, price) in (tabled + self.sets.len()..).zip(&self.prices) {
            let least = low[column].min(other_low[column]);
            sum += price(least, high[column].max(other_high[column]));
        }
        Some(sum)
    }

    /// What classes cost, and units that are in none of them.
    pub fn cost(&self, classes: &[Vec<u32>]) -> f64 {
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let (mut cost, mut held) = (0.0, 0);
        for units in classes {
            self.hull(units, &mut low, &mut high);
            let rows: u64 = units.iter().map(|unit| self.rows(*unit)).sum();
            cost += f64::from(self.detail((&low, &high))) * rows as f64;
            held += rows;
        }
        let all: u64 = self.rows.iter().map(|rows| u64::from(*rows)).sum();
        cost + ((all - held) * self.width as u64) as f64
    }

    /// The box of some units.
    pub fn hull(&self, units: &[u32], low: &mut Vec<u32>, high: &mut Vec<u32>) {
        let first = self.point(units[0]);
        low.clear();
        low.extend_from_slice(first.0);
        high.clear();
        high.extend_from_slice(first.1);
        units.iter().for_each(|unit| self.widen(low, high, self.point(*unit)));
    }

    /// Makes a box hold another.
    #[inline(always)]
    pub fn widen(&self, low: &mut [u32], high: &mut [u32], (other_low, other_high): Bounds<'_>) {
        let of_sets = self.of_sets();
        for column in 0..self.width {
            let both = (low[column], high[column], other_low[column], other_high[column]);
            (low[column], high[column]) = wider(both, of_sets.contains(&column));
        }
    }

    /// Makes one box of a list hold another.
    #[inline(always)]
    pub fn join(&self, low: &mut [u32], high: &mut [u32], into: usize, from: usize) {
        let of_sets = self.of_sets();
        for column in 0..self.width {
            let (at, other) = (into * self.width + column, from * self.width + column);
            let both = (low[at], high[at], low[other], high[other]);
            (low[at], high[at]) = wider(both, of_sets.contains(&column));
        }
    }
}

/// The ends of two ranges together, or the words of two sets.
#[inline(always)]
fn wider((low, high, other_low, other_high): (u32, u32, u32, u32), is_set: bool) -> (u32, u32) {
    if is_set {
        (low | other_low, high | other_high)
    } else {
        (low.min(other_low), high.max(other_high))
    }
}

/// How it is known what a column costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    /// From a table of all ranges.
    Table,
    /// From the number of values of a set.
    Set,
    /// It is computed each time.
    Price,
}

/// How many codes an axis has; they count from 0.
pub fn codes(axis: &Axis) -> u32 {
    axis.whole().last as u32 + 1
}

/// The ends of a box: `low` and `high`.
pub type Bounds<'a> = (&'a [u32], &'a [u32]);
