//! Cells as points, and what it costs to say only what several of them have in common.
//!
//! A class is described by a box: the least and the greatest code of each column. Codes follow the
//! leaves of a tree, so the box says which node is released, and a larger box never costs less.
//! Columns count by their weights, which are 1 on average: a suppressed row costs the number of
//! columns, whatever they weigh.
//!
//! Columns are in an order of their own: those come first in which any two values are far apart.
//! So most points that are far apart are known to be after a column or two.

use crate::ids::CellId;
use crate::recoding::Style;
use crate::search::Task;
use crate::taxonomy::Extent;
use rayon::prelude::*;
use std::fmt;

/// Columns with more codes than this get no table: theirs would not fit in a cache.
const TABLE: usize = 512;

/// Steps from one code to the next that are looked at.
const STEPS: usize = 1024;

/// Columns that are summed up before a sum is compared with a limit.
const FIRST: usize = 4;

/// What a range of codes costs each row.
type Price = Box<dyn Fn(u32, u32) -> f32 + Send + Sync>;

/// The cells of a task as points.
///
/// A box has two lists. `high` has the greatest code of each column. `low` has the least one; if
/// the column has a table, it is the place in the table where the ranges of that code start, so
/// that the sum of both is the place of the range.
pub struct Space {
    /// How many columns there are.
    pub width: usize,
    /// The column of the task that each column here is.
    pub columns: Vec<usize>,
    /// The cell of each unit. Units are in the order of their codes, so that the answer does not
    /// depend on the order of the rows.
    pub cells: Vec<u32>,
    /// The box of each unit, unit by unit.
    low: Vec<u32>,
    high: Vec<u32>,
    /// The rows of each unit.
    rows: Vec<u32>,
    /// Where the table of each column starts, and how many codes it has. Columns with many codes
    /// have none; they are the last ones.
    starts: Vec<(u32, u32)>,
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
    pub fn new(task: &Task, style: Style) -> Space {
        let lost = |column: usize| {
            let (axis, weight) = (task.axes[column].clone(), task.weights.relative(column));
            move |first: u32, last: u32| {
                let extent = Extent { first: first.into(), last: last.into() };
                (style.lost(&axis, extent) * weight) as f32
            }
        };
        let codes = |column: usize| task.taxonomies[column].codes();
        // What the cheapest step from one value to the next costs, of some steps.
        let step = |column: usize| {
            let lost = lost(column);
            let apart = codes(column) as usize / STEPS + 1;
            let steps = (1..codes(column)).step_by(apart);
            steps.map(|code| lost(code - 1, code)).fold(f32::INFINITY, f32::min)
        };
        let steps: Vec<f32> = (0..task.axes.len()).map(step).collect();
        let has_table = |column: usize| codes(column) as usize <= TABLE;
        let mut columns: Vec<usize> = (0..task.axes.len()).collect();
        columns.sort_by(|a, b| {
            has_table(*b).cmp(&has_table(*a)).then(steps[*b].total_cmp(&steps[*a]))
        });

        let (mut starts, mut tables, mut prices) = (Vec::new(), Vec::new(), Vec::<Price>::new());
        for column in &columns {
            let (codes, lost, start) = (codes(*column) as usize, lost(*column), tables.len());
            if !has_table(*column) {
                prices.push(Box::new(lost));
                continue;
            }
            starts.push((start as u32, codes as u32));
            for first in 0..codes {
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
        cells.par_sort_unstable_by(|a, b| codes(*a).cmp(codes(*b)));
        let high: Vec<u32> = cells.iter().flat_map(|cell| codes(*cell)).collect();
        let rows = cells.iter().map(|cell| task.cells.count(CellId(*cell))).collect();
        Space::of(columns, cells, high, rows, starts, tables, prices)
    }

    fn of(
        columns: Vec<usize>,
        cells: Vec<u32>,
        high: Vec<u32>,
        rows: Vec<u32>,
        starts: Vec<(u32, u32)>,
        tables: Vec<f32>,
        prices: Vec<Price>,
    ) -> Space {
        let mut low = high.clone();
        for codes in low.chunks_exact_mut(columns.len().max(1)) {
            for (code, (start, all)) in codes.iter_mut().zip(&starts) {
                *code = start + *code * all;
            }
        }
        Space { width: columns.len(), columns, cells, low, high, rows, starts, tables, prices }
    }

    /// How many units there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The codes of a unit.
    #[inline(always)]
    pub fn codes(&self, unit: u32) -> &[u32] {
        &self.high[unit as usize * self.width..][..self.width]
    }

    /// The box of a unit.
    #[inline(always)]
    pub fn point(&self, unit: u32) -> Bounds<'_> {
        (&self.low[unit as usize * self.width..][..self.width], self.codes(unit))
    }

    /// The rows of a unit.
    #[inline(always)]
    pub fn rows(&self, unit: u32) -> u64 {
        u64::from(self.rows[unit as usize])
    }

    /// What the range between two codes of one column costs each row.
    #[inline(always)]
    pub fn apart(&self, column: usize, one: u32, other: u32) -> f32 {
        match self.starts.get(column) {
            Some((start, codes)) => self.tables[(start + one * codes + other) as usize],
            None => self.prices[column - self.starts.len()](one.min(other), one.max(other)),
        }
    }

    /// The least code of a box in one column.
    pub fn least(&self, column: usize, low: &[u32]) -> u32 {
        match self.starts.get(column) {
            Some((start, codes)) => (low[column] - start) / codes,
            None => low[column],
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
        for (column, price) in (tabled..).zip(&self.prices) {
            let least = low[column].min(other_low[column]);
            sum += price(least, high[column].max(other_high[column]));
        }
        Some(sum)
    }

    /// The box of some units.
    pub fn hull(&self, units: &[u32], low: &mut Vec<u32>, high: &mut Vec<u32>) {
        let first = self.point(units[0]);
        low.clear();
        low.extend_from_slice(first.0);
        high.clear();
        high.extend_from_slice(first.1);
        units.iter().for_each(|unit| widen(low, high, self.point(*unit)));
    }
}

/// The ends of a box: `low` and `high`.
pub type Bounds<'a> = (&'a [u32], &'a [u32]);

/// Makes a box hold another.
#[inline(always)]
pub fn widen(low: &mut [u32], high: &mut [u32], other: Bounds<'_>) {
    low.iter_mut().zip(other.0).for_each(|(low, other)| *low = (*low).min(*other));
    high.iter_mut().zip(other.1).for_each(|(high, other)| *high = (*high).max(*other));
}
