//! What a class costs, by the loss that is to be small.

use super::judge::Tally;
use super::members;
use super::space::Space;
use crate::loss::{Loss, LossChoice};
use crate::search::Task;
use crate::table::Tallies;

/// The share of the detail that counts beside a loss that does not see it. Of classes that are
/// equally good, those are taken that say more.
const BESIDE: f64 = 1.0 / 64.0;

/// What the classes are to lose little of.
#[derive(Debug)]
pub struct Aim<'a> {
    loss: LossChoice,
    /// Whether the columns of a class decide what each of its rows costs.
    pub columns_decide: bool,
    /// The counted column with the labels, if they count, and its tallies.
    target: Option<(usize, &'a Tallies)>,
    /// How many different labels there are; none if they do not count.
    pub labels: usize,
    /// What each row costs beside the loss for each unit of detail.
    beside: f64,
    /// What it costs to suppress a row.
    pub suppressed: f64,
    /// The divisor from the cost of all rows to what is reported.
    pub unit: f64,
}

impl<'a> Aim<'a> {
    /// The loss of a task.
    pub fn new(task: &'a Task, space: &Space) -> Aim<'a> {
        let loss = task.loss;
        let columns_decide = loss.columns_decide();
        let target = task.target.filter(|_| loss.needs_target());
        let width = space.width.max(1);
        let beside = if columns_decide { 0.0 } else { BESIDE / width as f64 };
        Aim {
            loss,
            columns_decide,
            target: target.map(|target| (target, &task.tallies[target])),
            labels: target.map_or(0, |target| task.values[target]),
            beside,
            // Detail is all that LM counts here: cuts count a sensitive value that goes, too.
            suppressed: match columns_decide {
                true => width as f64,
                false => loss.suppressed_record(task.rows(), width) + beside * width as f64,
            },
            unit: loss.unit(task.rows(), width),
        }
    }

    /// What a class costs all its rows. `labels` has the rows of each label.
    #[inline(always)]
    pub fn cost(&self, rows: u64, detail: f32, labels: impl Iterator<Item = u32>) -> f64 {
        let detail = f64::from(detail);
        let majority = || labels.max().map_or(0, u64::from);
        self.loss.part(rows, detail, majority) + self.beside * detail * rows as f64
    }

    /// What classes cost without what counts beside the loss; `cost` is with it.
    pub fn reported(&self, space: &Space, of_units: &[u32], cost: f64) -> f64 {
        if self.columns_decide {
            return cost;
        }
        let members = members(of_units.iter().copied());
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let beside = |units: &Vec<u32>| {
            space.hull(units, &mut low, &mut high);
            let rows: u64 = units.iter().map(|unit| space.rows(*unit)).sum();
            self.beside * f64::from(space.detail((&low, &high))) * rows as f64
        };
        cost - members.iter().filter(|units| !units.is_empty()).map(beside).sum::<f64>()
    }

    /// Adds the labels of a unit's rows.
    pub fn count_unit(&self, space: &Space, unit: u32, labels: &mut [u32]) {
        let Some((_, tallies)) = self.target else { return };
        count(tallies.group(space.cells[unit as usize] as usize), labels);
    }

    /// Adds the labels of the rows that were counted.
    pub fn count_all(&self, tally: &Tally, labels: &mut [u32]) {
        let Some((column, _)) = self.target else { return };
        count(tally.column(column), labels);
    }
}

fn count(group: &[(u32, u32)], labels: &mut [u32]) {
    group.iter().for_each(|(label, rows)| labels[*label as usize] += rows);
}
