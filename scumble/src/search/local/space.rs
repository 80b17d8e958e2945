//! Cells as points, and what it costs to say only what several of them have in common.
//!
//! A class is described by a box: the least and the greatest code of each column. Codes follow the
//! leaves of a tree, so the box says which node is released, and a larger box never costs less.

use std::fmt;

/// How one column prices a range of codes.
pub enum Scale {
    /// By a table of all ranges, for columns of few codes: what a range from one code to another
    /// costs, the first code's ranges first.
    Table {
        /// How many codes the column has.
        codes: usize,
        /// Where its table starts among all tables.
        start: usize,
    },
    /// By a function.
    Function(Box<dyn Fn(u32, u32) -> f32 + Send + Sync>),
}

impl fmt::Debug for Scale {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scale::Table { codes, .. } => write!(text, "Table of {codes} codes"),
            Scale::Function(_) => write!(text, "Function"),
        }
    }
}

/// The cells of a task as points.
#[derive(Debug)]
pub struct Space {
    /// How many columns there are.
    pub width: usize,
    /// The cell of each unit. Units are in the order of their codes, so that the answer does not
    /// depend on the order of the rows.
    pub cells: Vec<u32>,
    /// The codes of each unit, unit by unit.
    pub codes: Vec<u32>,
    /// The rows of each unit.
    pub rows: Vec<u32>,
    /// The prices of each column.
    pub scales: Vec<Scale>,
    /// The tables that they use.
    pub tables: Vec<f32>,
}

impl Space {
    /// How many units there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The codes of a unit.
    #[inline(always)]
    pub fn codes(&self, unit: u32) -> &[u32] {
        &self.codes[unit as usize * self.width..][..self.width]
    }

    /// The rows of a unit.
    #[inline(always)]
    pub fn rows(&self, unit: u32) -> u64 {
        u64::from(self.rows[unit as usize])
    }

    /// What a range of codes of one column costs each row.
    #[inline(always)]
    pub fn lost(&self, column: usize, first: u32, last: u32) -> f32 {
        match &self.scales[column] {
            Scale::Table { codes, start } => {
                self.tables[start + first as usize * codes + last as usize]
            }
            Scale::Function(lost) => lost(first, last),
        }
    }

    /// What a box costs each row.
    #[inline(always)]
    pub fn detail(&self, low: &[u32], high: &[u32]) -> f32 {
        let ends = low.iter().zip(high).enumerate();
        ends.map(|(column, (low, high))| self.lost(column, *low, *high)).sum()
    }

    /// What the least box costs each row that holds two others.
    #[inline(always)]
    pub fn joined(&self, one: (&[u32], &[u32]), other: (&[u32], &[u32])) -> f32 {
        let mut sum = 0.0;
        let ends = one.0.iter().zip(one.1).zip(other.0.iter().zip(other.1)).enumerate();
        for (column, ((low, high), (other_low, other_high))) in ends {
            sum += self.lost(column, *low.min(other_low), *high.max(other_high));
        }
        sum
    }

    /// The box of some units.
    pub fn hull(&self, units: &[u32], low: &mut Vec<u32>, high: &mut Vec<u32>) {
        low.clear();
        low.extend_from_slice(self.codes(units[0]));
        high.clone_from(low);
        units.iter().for_each(|unit| widen(low, high, self.codes(*unit)));
    }
}

/// Makes a box hold a point.
#[inline(always)]
pub fn widen(low: &mut [u32], high: &mut [u32], codes: &[u32]) {
    for ((low, high), code) in low.iter_mut().zip(high).zip(codes) {
        *low = (*low).min(*code);
        *high = (*high).max(*code);
    }
}
