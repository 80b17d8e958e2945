//! A recoding applied to the cells of a table: classes, and which of them may be released.

use super::suppress::Within;
use super::values::{self, Lost, RecodedValues};
use crate::error::Result;
use crate::error::Shortfall;
use crate::ids::{CellId, ClassId, Id, IdMap, IdVec, RowId, TableCellId};
use crate::loss::{
    Lm, Loss, ReleaseFigures, Said, Weights, cm, conditional_entropy, dm, minority,
    non_uniform_entropy, rmse,
};
use crate::privacy::{Group, Requirement, all_hold};
use crate::recoding::Mapping;
use crate::search::Task;
use crate::table::{Cells, Table, Tallies};
use crate::watch::Watch;
use std::sync::Arc;

/// Classes that are judged between two polls for an abort.
const JUDGED: usize = 1 << 12;

/// The classes that a mapping makes, before anything is suppressed.
pub(crate) struct Classes {
    /// The values of each recoded column.
    pub(crate) values: Vec<RecodedValues>,
    /// The classes, coded by those values.
    pub(crate) classes: Cells<ClassId>,
    /// The class of each cell.
    pub(crate) class_of: IdMap<CellId, ClassId>,
    /// For each counted column, its values in each class.
    pub(crate) tallies: Vec<Tallies>,
}

impl Classes {
    pub(crate) fn new(task: &Task, mapping: &Mapping, watch: &Watch) -> Result<Classes> {
        let (values, classes, class_of) = values::classes(task, mapping, watch)?;
        let merge = |(tally, values): (&Tallies, &usize)| {
            tally.merge(classes.len(), class_of.raw(), *values, watch)
        };
        let tallies = task.tallies.iter().zip(&task.values).map(merge).collect::<Result<_>>()?;
        Ok(Classes { values, classes, class_of, tallies })
    }
}

/// How well the target is known from a release.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfTarget {
    /// Classification metric.
    pub cm: f64,
    /// Bits about it that are open.
    pub conditional_entropy: f64,
    /// Error of guessing it as the mean of its class, where it is a number.
    pub rmse: Option<f64>,
}

/// The classes of a recoded table.
#[derive(Debug)]
pub struct Recoded {
    /// The values of each recoded column.
    pub values: Vec<RecodedValues>,
    /// The classes, coded by those values.
    pub classes: Cells<ClassId>,
    /// The class of each cell.
    pub class_of: IdMap<CellId, ClassId>,
    /// Whether each class is released.
    pub kept: IdVec<ClassId, bool>,
    /// Rows that are not.
    pub suppressed: u64,
    /// What goes of classes that are released, where not only whole classes go.
    pub within: Option<Within>,
}

impl Recoded {
    /// Recodes the cells and leaves out the classes that fail. It is an error if nothing can be
    /// released then. Classes are judged again, independently of the search: the two share only the
    /// requirements.
    pub fn new(task: &Task, mapping: &Mapping, watch: &Watch) -> Result<Recoded> {
        let Classes { values, classes, class_of, tallies } = Classes::new(task, mapping, watch)?;
        let judge = |requirements: &[Box<dyn Requirement>], class: ClassId| {
            let (rows, index) = (u64::from(classes.count(class)), class.index());
            all_hold(requirements, &Group { rows, columns: &tallies, index })
        };
        let mut kept: IdVec<ClassId, bool> = IdVec::repeat(false, classes.len());
        watch
            .each(classes.ids(), JUDGED, |class| kept[class] = judge(&task.requirements, class))?;
        let left_out = classes.counts().iter().zip(kept.values()).filter(|(_, kept)| !**kept);
        // Of the population's groups without a row there is nothing to leave out.
        let suppressed: u64 = left_out.map(|(count, _)| u64::from(*count).max(1)).sum();
        let rows = task.rows();
        if suppressed > task.suppressible || suppressed == rows {
            let levels = match mapping {
                Mapping::Levels(levels) => Some(levels.clone()),
                Mapping::Cuts(_) | Mapping::Regions(_) | Mapping::Local(_) => None,
            };
            let (failing, suppressible) = (suppressed, task.suppressible);
            return Err(Shortfall::ClassesFail { levels, failing, rows, suppressible }.into());
        }
        if suppressed > 0 {
            let mut released: Vec<Vec<u64>> =
                task.values.iter().map(|values| vec![0; *values]).collect();
            watch.each(classes.ids().filter(|class| kept[*class]), JUDGED, |class| {
                for (totals, tally) in released.iter_mut().zip(&tallies) {
                    for (value, count) in tally.group(class.index()) {
                        totals[*value as usize] += u64::from(*count);
                    }
                }
            })?;
            let again: Vec<Box<dyn Requirement>> = task
                .requirements
                .iter()
                .filter_map(|requirement| requirement.against_release(&released))
                .collect();
            let mut failing = 0;
            watch.each(classes.ids().filter(|class| kept[*class]), JUDGED, |class| {
                failing += usize::from(!judge(&again, class));
            })?;
            if failing > 0 {
                return Err(Shortfall::FarFromRelease { classes: failing as u64 }.into());
            }
        }
        Ok(Recoded { values, classes, class_of, kept, suppressed, within: None })
    }

    /// Rows of a class that are left out.
    fn lost(&self, class: ClassId) -> u32 {
        match (&self.within, self.kept[class]) {
            (Some(within), _) => within.of_class[class],
            (None, true) => 0,
            (None, false) => self.classes.count(class),
        }
    }

    /// Whether a row of a class is released.
    pub fn is_released(&self, row: RowId, class: ClassId) -> bool {
        self.kept[class] && self.within.as_ref().is_none_or(|within| !within.rows[row])
    }

    /// The class of each row of a table; `leaf_cell` is the recoded cell that each cell of the table
    /// went to.
    pub fn class_of_row(
        &self,
        table: &Table,
        leaf_cell: &IdMap<TableCellId, CellId>,
        watch: &Watch,
    ) -> Result<IdMap<RowId, ClassId>> {
        let class = |cell: TableCellId| self.class_of.at(leaf_cell.at(cell)).number();
        Ok(IdMap::new(watch.list(table.row_cells.iter().map(class))?))
    }

    /// For each column, the labels that released rows have, in the order of its values.
    pub(crate) fn released_labels(&self) -> impl Iterator<Item = Vec<String>> {
        self.values.iter().enumerate().map(|(column, values)| {
            let mut is_released = vec![false; values.len()];
            for class in self.classes.ids() {
                if self.kept[class] && self.classes.count(class) > self.lost(class) {
                    is_released[self.classes.codes(class)[column] as usize] = true;
                }
            }
            let released = (0..).zip(is_released).filter(|(_, is_released)| *is_released);
            released.map(|(value, _)| values.label(value).to_string()).collect()
        })
    }

    /// The sizes of the released classes.
    fn sizes(&self) -> impl Iterator<Item = u64> {
        let size = |class: ClassId| u64::from(self.classes.count(class) - self.lost(class));
        self.classes.ids().filter(|class| self.kept[*class]).map(size)
    }

    /// LM of the release, a mean over all quasi-identifier cells of all input rows.
    pub fn lm(&self, task: &Task) -> f64 {
        self.mean_lm(task, &Weights::equal(task.taxonomies.len()))
    }

    /// The same as a weighted mean over the columns, if the policy gives weights.
    pub fn lm_weighted(&self, task: &Task) -> Option<f64> {
        task.weights.is_given().then(|| self.mean_lm(task, &task.weights))
    }

    fn mean_lm(&self, task: &Task, weights: &Weights) -> f64 {
        let lm = Lm::new(task.taxonomies.iter().map(Arc::as_ref), weights);
        let mut sum = lm.nothing();
        let mut shares = 0.0;
        for class in self.classes.ids() {
            let lost = u128::from(self.lost(class));
            let rows = u128::from(self.classes.count(class)) - lost;
            for (column, value) in self.classes.codes(class).iter().enumerate() {
                sum.0[column] += lost * u128::from(lm.whole()[column]);
                match self.values[column].lost(*value) {
                    Lost::Leaves(leaves) => sum.0[column] += rows * u128::from(leaves),
                    Lost::Share(share) => shares += rows as f64 * share * lm.weights()[column],
                }
            }
        }
        let cells = task.rows() as f64 * self.values.len() as f64;
        lm.mean(&sum, task.rows()) + if cells > 0.0 { shares / cells } else { 0.0 }
    }

    /// What the release costs by the loss that the task minimizes, as a sum over rows.
    pub fn cost(&self, task: &Task, watch: &Watch) -> Result<f64> {
        task.loss.cost(&Figures { recoded: self, task, watch })
    }

    /// DM of the release.
    pub fn dm(&self, task: &Task) -> u128 {
        dm(self.sizes(), task.rows(), self.suppressed)
    }

    /// What the release says of a target: `whole` is the count of each of its values in the input,
    /// `by_class` has those of each class in the rows that stay where not only whole classes go,
    /// and `numbers` are what they are where all of them are numbers.
    pub fn of_target(
        &self,
        task: &Task,
        whole: &[u64],
        by_class: &Tallies,
        numbers: Option<&[f64]>,
    ) -> OfTarget {
        let kept = || {
            let kept = self.classes.ids().filter(|class| self.kept[*class]);
            kept.map(|class| by_class.group(class.index()))
        };
        OfTarget {
            cm: cm(kept().map(minority).sum(), self.suppressed, task.rows()),
            conditional_entropy: conditional_entropy(kept(), self.suppressed, whole),
            rmse: numbers.map(|numbers| rmse(kept(), self.suppressed, whole, numbers)),
        }
    }

    /// Non-uniform entropy of the release: bits lost, averaged over all quasi-identifier cells of
    /// all input rows.
    pub fn entropy(&self, task: &Task, watch: &Watch) -> Result<f64> {
        let columns = task.taxonomies.len();
        let suppressed =
            self.class_of.pairs().zip(task.cells.counts()).map(|((cell, class), rows)| {
                match (&self.within, self.kept[class]) {
                    (_, false) => *rows,
                    (Some(within), true) => within.of_cell[cell],
                    (None, true) => 0,
                }
            });
        let suppressed: Vec<u32> = suppressed.collect();
        let per_column = (0..columns).map(|column| {
            watch.check()?;
            let values: IdVec<ClassId, u32> = self.classes.column(column).collect();
            let rows = self.class_of.iter().zip(task.cells.counts()).zip(&suppressed);
            let said =
                task.cells.column(column).zip(rows).map(|(leaf, ((class, rows), suppressed))| {
                    Said {
                        leaf,
                        became: values[class],
                        released: (*rows - *suppressed).into(),
                        suppressed: (*suppressed).into(),
                    }
                });
            let codes = task.taxonomies[column].codes();
            Ok(non_uniform_entropy(codes, &self.values[column].all_codes(), said))
        });
        let sum = per_column.sum::<Result<f64>>()?;
        Ok(if columns == 0 { 0.0 } else { sum / columns as f64 })
    }
}

/// What a loss can ask about a recoded table.
struct Figures<'a> {
    recoded: &'a Recoded,
    task: &'a Task,
    watch: &'a Watch,
}

impl ReleaseFigures for Figures<'_> {
    fn rows(&self) -> u64 {
        self.task.rows()
    }

    fn suppressed(&self) -> u64 {
        self.recoded.suppressed
    }

    fn detail(&self) -> f64 {
        let cells = self.task.rows() as f64 * self.recoded.values.len() as f64;
        self.recoded.mean_lm(self.task, &self.task.weights) * cells
    }

    fn sum_of_sizes(&self, figure: impl Fn(u64) -> u128) -> u128 {
        self.recoded.sizes().map(figure).sum()
    }

    fn sum_of_labels(&self, figure: impl Fn(&[(u32, u32)]) -> u64) -> Result<u64> {
        let (recoded, task) = (self.recoded, self.task);
        let Some(target) = task.target else { return Ok(0) };
        let (classes, values) = (recoded.classes.len(), task.values[target]);
        let of_cells = &task.tallies[target];
        let labels = of_cells.merge(classes, recoded.class_of.raw(), values, self.watch)?;
        let kept = recoded.classes.ids().filter(|class| recoded.kept[*class]);
        Ok(kept.map(|class| figure(labels.group(class.index()))).sum())
    }
}
