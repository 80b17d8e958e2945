//! Numbers and days by range, in one pass, whatever their order.
//!
//! Ranges come from a chain of grids, each of which joins the ranges of the one before: widths 1, 5,
//! 10, 50, … for numbers; days, months, years, decades and centuries for dates. Numbers are counted
//! on a grid that is fine enough, and when they need too many ranges the grid becomes the next one.
//! Which grid is the last depends on the smallest and the largest number alone, so the order of the
//! rows does not matter.

use crate::table::{Day, Type};
use crate::taxonomy::number_label;
use serde::Serialize;
use std::collections::BTreeMap;

/// Numbers within a range, both ends included (the end of a range of real numbers is not).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bar {
    /// The start.
    pub from: String,
    /// The end.
    pub to: String,
    /// Rows with a number in it.
    pub rows: u64,
}

impl Bar {
    /// The range in words.
    pub(crate) fn label(&self) -> String {
        let Bar { from, to, .. } = self;
        match from == to {
            true => from.clone(),
            false if from.contains('-') || to.contains('-') => format!("{from} to {to}"),
            false => format!("{from}–{to}"),
        }
    }
}

/// The most ranges.
const MOST: i64 = 24;

/// The microseconds of a day.
const DAY: f64 = 86_400e6;

/// The finest grid of real numbers: 10^-9, in steps of two grids for each power of ten.
const FINEST: i32 = -18;

/// The coarsest grid: 10^300.
const COARSEST: i32 = 600;

/// Counts in the making.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    kind: Type,
    grid: i32,
    rows: BTreeMap<i64, u64>,
}

impl Histogram {
    /// Of numbers or days, each with its rows; `None` if there is none.
    pub(super) fn of(kind: Type, numbers: &[(f64, u64)]) -> Option<Histogram> {
        if kind == Type::Text || numbers.is_empty() {
            return None;
        }
        let grid = if kind == Type::Real { FINEST } else { 0 };
        let mut histogram = Histogram { kind, grid, rows: BTreeMap::new() };
        let largest = numbers.iter().map(|(number, _)| number.abs()).fold(0.0, f64::max);
        // Beyond this, numbers and grid would not be told apart by a float.
        while !histogram.has_days() && largest / width(histogram.grid) > 1e15 {
            histogram.grid += 1;
        }
        numbers.iter().for_each(|(number, rows)| histogram.add(*number, *rows));
        Some(histogram)
    }

    /// More rows with a number.
    pub(super) fn add(&mut self, number: f64, rows: u64) {
        while !self.has_days() && number.abs() / width(self.grid) > 1e15 && self.grid < COARSEST {
            self.coarsen();
        }
        *self.rows.entry(self.place(number)).or_insert(0) += rows;
        while self.span() > MOST && self.grid < COARSEST {
            self.coarsen();
        }
    }

    /// The ranges from the first to the last number.
    pub(super) fn bars(&self) -> Vec<Bar> {
        let ends = (self.rows.keys().next(), self.rows.keys().next_back());
        let (Some(first), Some(last)) = ends else { return Vec::new() };
        let bar = |place: i64| {
            let (from, to) = self.ends(place);
            Bar { from, to, rows: self.rows.get(&place).copied().unwrap_or(0) }
        };
        (*first..=*last).map(bar).collect()
    }

    fn span(&self) -> i64 {
        let ends = (self.rows.keys().next(), self.rows.keys().next_back());
        ends.0.zip(ends.1).map_or(0, |(first, last)| last.saturating_sub(*first).saturating_add(1))
    }

    /// Whether ranges are those of the calendar.
    fn has_days(&self) -> bool {
        matches!(self.kind, Type::Date | Type::Timestamp)
    }

    /// The range of a number.
    fn place(&self, number: f64) -> i64 {
        match self.kind {
            Type::Date => (0..self.grid).fold(number as i64, joined_days),
            Type::Timestamp => (0..self.grid).fold((number / DAY).floor() as i64, joined_days),
            _ => (number / width(self.grid)).floor() as i64,
        }
    }

    fn coarsen(&mut self) {
        let joined = |place: i64| match self.kind {
            Type::Date | Type::Timestamp => joined_days(place, self.grid),
            _ => place.div_euclid(if self.grid.rem_euclid(2) == 0 { 5 } else { 2 }),
        };
        let mut rows = BTreeMap::new();
        for (place, more) in &self.rows {
            *rows.entry(joined(*place)).or_insert(0) += more;
        }
        self.rows = rows;
        self.grid += 1;
    }

    /// What the ends of a range are called.
    fn ends(&self, place: i64) -> (String, String) {
        match self.kind {
            Type::Date | Type::Timestamp => {
                let told = |place: i64| match self.grid {
                    0 => Day(place as i32).to_string(),
                    1 => format!("{}-{:02}", place.div_euclid(12), place.rem_euclid(12) + 1),
                    grid => (place * 10i64.pow(grid as u32 - 2)).to_string(),
                };
                let last = match self.grid {
                    0 | 1 => told(place),
                    grid => ((place + 1) * 10i64.pow(grid as u32 - 2) - 1).to_string(),
                };
                (told(place), last)
            }
            Type::Integer => {
                let width = width(self.grid);
                let from = place as f64 * width;
                (number_label(self.kind, from), number_label(self.kind, from + width - 1.0))
            }
            _ => {
                let told = |place: i64| decimal(place, self.grid);
                (told(place), told(place + 1))
            }
        }
    }
}

/// The number of a range on the next grid of days: months, years, decades, centuries, …
fn joined_days(place: i64, grid: i32) -> i64 {
    match grid {
        0 => {
            let (year, month, _) = Day(place as i32).parts();
            i64::from(year) * 12 + i64::from(month) - 1
        }
        1 => place.div_euclid(12),
        _ => place.div_euclid(10),
    }
}

/// The width of a grid's ranges: 1, 5, 10, 50, …
fn width(grid: i32) -> f64 {
    let power = 10f64.powi(grid.div_euclid(2));
    if grid.rem_euclid(2) == 0 { power } else { 5.0 * power }
}

/// So many widths, without the digits that floats would add.
fn decimal(place: i64, grid: i32) -> String {
    let number = place as f64 * width(grid);
    let power = grid.div_euclid(2);
    if power < 0 { format!("{number:.*}", -power as usize) } else { format!("{}", number + 0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(kind: Type, numbers: &[f64]) -> Vec<(String, String, u64)> {
        let numbers: Vec<(f64, u64)> = numbers.iter().map(|number| (*number, 1)).collect();
        let bars = Histogram::of(kind, &numbers).unwrap().bars();
        bars.into_iter().map(|bar| (bar.from, bar.to, bar.rows)).collect()
    }

    #[test]
    fn ranges_are_round_and_named() {
        let ages = told(Type::Integer, &[17.0, 18.0, 90.0]);
        assert_eq!(ages[0], ("15".into(), "19".into(), 2));
        assert_eq!(ages.len(), 16);
        assert_eq!(told(Type::Integer, &[-3.0])[0], ("-3".into(), "-3".into(), 1));
        let reals = told(Type::Real, &[0.125, 0.25, 0.5]);
        assert_eq!(reals[0], ("0.10".into(), "0.15".into(), 1));
        let days = [("1980-12-31", "1999-01-02")]
            .map(|(a, b)| [a, b].map(|day| Type::Date.number(day).unwrap()));
        let years = told(Type::Date, &days[0]);
        assert_eq!((years[0].0.as_str(), years.len()), ("1980", 19));
        assert!(told(Type::Real, &[1e300, -1e300]).len() <= MOST as usize);
        assert_eq!(told(Type::Real, &[0.0]).len(), 1);
    }

    proptest! {
        /// Every number is counted in the range that names it, in any order of the rows.
        #[test]
        fn counts_agree_with_ranges(numbers in prop::collection::vec(-5000i64..90_000, 1..60)) {
            let pairs: Vec<(f64, u64)> = numbers.iter().map(|number| (*number as f64, 2)).collect();
            let bars = Histogram::of(Type::Integer, &pairs).unwrap().bars();
            prop_assert!(bars.len() <= MOST as usize);
            for bar in &bars {
                let (from, to): (i64, i64) = (bar.from.parse().unwrap(), bar.to.parse().unwrap());
                let held = numbers.iter().filter(|number| (from..=to).contains(*number)).count();
                prop_assert_eq!(bar.rows, 2 * held as u64);
            }
            let mut grown = Histogram::of(Type::Integer, &pairs[..1]).unwrap();
            pairs[1..].iter().rev().for_each(|(number, rows)| grown.add(*number, *rows));
            prop_assert_eq!(grown.bars(), bars);
        }
    }
}
