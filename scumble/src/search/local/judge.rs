//! Which units may be a class? Judged by running tallies.

use super::space::Space;
use crate::loss::Loss;
use crate::privacy::{Group, Requirement, all_hold};
use crate::search::Task;
use crate::table::Tallies;

/// Says which units may be a class.
#[derive(Debug)]
pub struct Judge<'a> {
    requirements: &'a [Box<dyn Requirement>],
    tallies: &'a [Tallies],
    /// Fewer rows are never a class.
    pub least: u64,
    /// Whether enough rows are all that is asked.
    pub rows_decide: bool,
    /// The figure that each requirement asks for, and whether a larger one is safer.
    required: Vec<(f64, bool)>,
}

/// The rows of some units, counted.
#[derive(Clone, Debug)]
pub struct Tally {
    /// How many there are.
    pub rows: u64,
    columns: Vec<Tallies>,
}

impl Tally {
    /// The values of a counted column with their counts.
    pub fn column(&self, column: usize) -> &[(u32, u32)] {
        self.columns[column].group(0)
    }
}

impl<'a> Judge<'a> {
    /// Of the classes of a task.
    pub fn new(task: &'a Task) -> Judge<'a> {
        let requirements = &task.requirements;
        let least = requirements.iter().map(|requirement| requirement.least_rows()).max();
        let rows_decide = requirements.iter().all(|requirement| requirement.rows_decide());
        let is_counted = !rows_decide || task.loss.needs_target();
        let tallies = if is_counted { task.tallies.as_slice() } else { &[] };
        let required = requirements.iter().map(|requirement| {
            let statement = requirement.statement();
            (statement.required, statement.larger_is_safer)
        });
        let (least, required) = (least.unwrap_or(1).max(1), required.collect());
        Judge { requirements, tallies, least, rows_decide, required }
    }

    /// No rows yet.
    pub fn nothing(&self) -> Tally {
        Tally { rows: 0, columns: self.tallies.iter().map(|_| Tallies::single()).collect() }
    }

    /// Starts a tally anew.
    pub fn clear(&self, tally: &mut Tally) {
        tally.rows = 0;
        tally.columns.iter_mut().for_each(Tallies::clear);
    }

    /// Counts a unit's rows.
    pub fn add(&self, tally: &mut Tally, space: &Space, unit: u32) {
        tally.rows += space.rows(unit);
        for (sum, tallies) in tally.columns.iter_mut().zip(self.tallies) {
            tallies
                .group(space.cells[unit as usize] as usize)
                .iter()
                .for_each(|(value, rows)| sum.add(*value, *rows));
        }
    }

    /// Counts a unit's rows no longer.
    pub fn remove(&self, tally: &mut Tally, space: &Space, unit: u32) {
        tally.rows -= space.rows(unit);
        for (sum, tallies) in tally.columns.iter_mut().zip(self.tallies) {
            tallies
                .group(space.cells[unit as usize] as usize)
                .iter()
                .for_each(|(value, rows)| sum.remove(*value, *rows));
        }
    }

    /// Counts the rows of another tally too.
    pub fn add_all(&self, tally: &mut Tally, other: &Tally) {
        tally.rows += other.rows;
        for (sum, more) in tally.columns.iter_mut().zip(&other.columns) {
            more.group(0).iter().for_each(|(value, rows)| sum.add(*value, *rows));
        }
    }

    /// Whether the rows counted may be a class.
    pub fn allows(&self, tally: &Tally) -> bool {
        let group = Group { rows: tally.rows, columns: &tally.columns, index: 0 };
        tally.rows >= self.least && (self.rows_decide || all_hold(self.requirements, &group))
    }

    /// How far the rows counted are from a class: the relative distance of each figure from what is
    /// asked, summed up.
    pub fn lack(&self, tally: &Tally) -> f64 {
        let group = Group { rows: tally.rows, columns: &tally.columns, index: 0 };
        let lack = |(requirement, (required, larger)): (&dyn Requirement, &(f64, bool))| {
            let figure = requirement.figure(&group);
            let lack = if *larger { required - figure } else { figure - required };
            (lack / required.abs().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
        };
        let requirements = self.requirements.iter().map(AsRef::as_ref);
        requirements.zip(&self.required).map(lack).sum()
    }

    /// Whether units may be a class.
    pub fn allows_units(&self, tally: &mut Tally, space: &Space, units: &[u32]) -> bool {
        self.clear(tally);
        units.iter().for_each(|unit| self.add(tally, space, *unit));
        self.allows(tally)
    }
}
