//! Suppression inside classes, for recodings by cuts: single records or sensitive values go, not
//! only whole classes (Liu and Wang 2010, section III-C).
//!
//! This judges afresh what a search has judged: the two share the caps and nothing else.

use super::apply::{Classes, Recoded};
use super::extra::Extra;
use crate::error::Shortfall;
use crate::error::{Error, Result};
use crate::ids::{CellId, ClassId, Id, IdMap, IdVec, LeafId, RowId};
use crate::privacy::Caps;
use crate::random::{Dice, Secrets};
use crate::recoding::Mapping;
use crate::search::Task;
use crate::search::cuts::{Problem, Suppression};
use crate::watch::{PIECE, Watch};

/// The rows of a table, as suppression sees them.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    /// The cell of each row.
    pub cells: &'a IdMap<RowId, CellId>,
    /// The sensitive value of each row; empty where nothing is sensitive.
    pub values: &'a IdMap<RowId, LeafId>,
    /// The class label of each row; empty where the choice of rows does not depend on it.
    pub labels: &'a IdMap<RowId, LeafId>,
}

/// What is drawn at random.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    /// Where the draws come from.
    pub secrets: Secrets,
    /// The most records (or values) that are suppressed although no requirement forces it.
    pub extra: u64,
}

/// What goes of classes that stay.
#[derive(Clone, Debug)]
pub struct Within {
    /// Whether each row is left out.
    pub rows: IdVec<RowId, bool>,
    /// Rows that are left out of each class.
    pub of_class: IdVec<ClassId, u32>,
    /// Rows that are left out of each cell.
    pub of_cell: IdVec<CellId, u32>,
    /// Whether each row's sensitive value is left out.
    pub hidden: IdVec<RowId, bool>,
    /// How many of the rows (or values) are left out although no requirement forces it.
    pub extra: u64,
}

impl Within {
    /// How many sensitive values are left out of rows that stay.
    pub fn hidden_values(&self) -> u64 {
        self.hidden.values().iter().filter(|hidden| **hidden).count() as u64
    }
}

impl Recoded {
    /// Recodes the cells and suppresses as the problem's scheme says, or says why nothing can be
    /// released. Which rows of a value go is drawn at random.
    pub fn by_scheme(
        task: &Task,
        mapping: &Mapping,
        problem: &Problem,
        records: Records<'_>,
        draws: Draws,
        watch: &Watch,
    ) -> Result<Recoded> {
        let Classes { values, classes, class_of, .. } = Classes::new(task, mapping, watch)?;
        let rows = records.cells.len();
        let mut within = Within {
            rows: IdVec::repeat(false, rows),
            of_class: IdVec::repeat(0, classes.len()),
            of_cell: IdVec::repeat(0, task.cells.len()),
            hidden: IdVec::repeat(false, rows),
            extra: 0,
        };
        let mut members: IdVec<ClassId, Vec<RowId>> = IdVec::repeat(Vec::new(), classes.len());
        let pairs = records.cells.pairs();
        watch.each(pairs.clone(), PIECE, |(row, cell)| members[class_of.at(cell)].push(row))?;
        for (class, members) in members.pairs() {
            watch.check()?;
            let mut dice = draws.secrets.stream(u64::from(class.number()));
            let class =
                Members { rows: members, records, caps: &problem.caps, labels: problem.labels };
            class.suppress(problem.scheme, problem.k, &mut dice, &mut within)?;
        }
        if draws.extra > 0 {
            // The streams of classes have smaller numbers.
            let mut dice = draws.secrets.stream(u64::MAX);
            let extra = Extra { members: &members, records, problem };
            within.extra = extra.suppress(draws.extra, &mut dice, &mut within, watch)?;
        }
        watch.each(pairs, PIECE, |(row, cell)| {
            if within.rows[row] {
                within.hidden[row] = false;
                within.of_cell[cell] += 1;
                within.of_class[class_of.at(cell)] += 1;
            }
        })?;
        let lost = within.of_class.values();
        let suppressed = lost.iter().map(|lost| u64::from(*lost)).sum();
        if suppressed == task.rows() {
            return Err(Error::from(Shortfall::AllSuppressed { rows: suppressed }));
        }
        let counted =
            if problem.scheme.is_of_values() { within.hidden_values() } else { suppressed };
        let counted = counted - within.extra;
        if let Some(suppressible) = problem.suppressible.filter(|limit| counted > *limit) {
            let (what, rows) = (problem.scheme.suppresses(), task.rows());
            let shortfall =
                Shortfall::TooManySuppressed { what, suppressed: counted, rows, suppressible };
            return Err(Error::from(shortfall));
        }
        let kept = classes.counts().iter().zip(lost).map(|(rows, lost)| lost < rows).collect();
        Ok(Recoded { values, classes, class_of, kept, suppressed, within: Some(within) })
    }
}

/// The rows of one class and what is asked of it.
struct Members<'a> {
    rows: &'a [RowId],
    records: Records<'a>,
    caps: &'a Caps,
    labels: usize,
}

impl Members<'_> {
    fn value(&self, row: RowId) -> usize {
        self.records.values.get(row).map_or(0, Id::index)
    }

    fn label(&self, row: RowId) -> usize {
        self.records.labels.get(row).map_or(0, Id::index)
    }

    /// The rows of each value that occurs, by value.
    fn by_value(&self) -> Vec<(usize, Vec<RowId>)> {
        let mut by_value = std::collections::BTreeMap::<usize, Vec<RowId>>::new();
        for row in self.rows {
            by_value.entry(self.value(*row)).or_default().push(*row);
        }
        by_value.into_iter().collect()
    }

    fn suppress(
        &self,
        scheme: Suppression,
        k: u64,
        dice: &mut Dice,
        within: &mut Within,
    ) -> Result<()> {
        let rows = self.rows.len() as u64;
        let by_value = self.by_value();
        let broken = |value: usize, count: usize| self.caps.is_broken(value, count as u64, rows);
        let small = rows < k;
        if !small && by_value.iter().all(|(value, rows)| !broken(*value, rows.len())) {
            return Ok(());
        }
        match scheme {
            Suppression::None => {
                return Err(Error::from(Shortfall::NothingSuppressible { rows }));
            }
            Suppression::AllValues | Suppression::ViolatingValues if small => {
                return Err(Error::from(Shortfall::OnlyValues { rows }));
            }
            Suppression::AllRecords => self.rows.iter().for_each(|row| within.rows[*row] = true),
            Suppression::AllValues => self.rows.iter().for_each(|row| within.hidden[*row] = true),
            Suppression::ViolatingValues => {
                for (_, rows) in by_value.iter().filter(|(value, rows)| broken(*value, rows.len()))
                {
                    rows.iter().for_each(|row| within.hidden[*row] = true);
                }
            }
            Suppression::ViolatingRecords => {
                let kept = self.kept(by_value, k, dice)?;
                self.rows.iter().for_each(|row| within.rows[*row] = true);
                kept.iter().for_each(|row| within.rows[*row] = false);
            }
        }
        Ok(())
    }

    /// The rows that stay if as few as possible go. As many of each value as its cap allows, at
    /// random; where that is more than can stay, of the commonest values fewer. Where labels count,
    /// rows with the label that can have the largest majority are preferred: what goes then costs
    /// least.
    fn kept(
        &self,
        by_value: Vec<(usize, Vec<RowId>)>,
        k: u64,
        dice: &mut Dice,
    ) -> Result<Vec<RowId>> {
        let counts = by_value.iter().map(|(value, rows)| (*value, rows.len() as u64));
        let most = self.caps.largest_part(counts);
        if most < k {
            return Ok(Vec::new());
        }
        let room = |value: usize, rows: &[RowId]| self.caps.most(value, rows.len() as u64, most);
        let with_label = |rows: &[RowId], label: usize| {
            rows.iter().filter(|row| self.label(**row) == label).count()
        };
        let majority = |label: &usize| -> u64 {
            by_value
                .iter()
                .map(|(value, rows)| room(*value, rows).min(with_label(rows, *label) as u64))
                .sum()
        };
        // The first of the best, for the same answer every time.
        let preferred = (0..self.labels).rev().max_by_key(majority).unwrap_or(0);
        let mut stay: Vec<Vec<RowId>> = Vec::new();
        for (value, mut rows) in by_value {
            let room = room(value, &rows) as usize;
            shuffle(&mut rows, dice)?;
            rows.sort_by_key(|row| self.label(*row) != preferred);
            rows.truncate(room);
            stay.push(rows);
        }
        let mut surplus = stay.iter().map(Vec::len).sum::<usize>() - most as usize;
        while surplus > 0 {
            // Rows with other labels stand last and go first, of the values with most rows.
            let other =
                |rows: &Vec<RowId>| rows.last().is_some_and(|row| self.label(*row) != preferred);
            let Some(largest) = stay.iter_mut().max_by_key(|rows| (other(rows), rows.len())) else {
                break;
            };
            largest.pop();
            surplus -= 1;
        }
        Ok(stay.concat())
    }
}

/// Fisher and Yates.
fn shuffle(rows: &mut [RowId], dice: &mut Dice) -> Result<()> {
    for last in (1..rows.len()).rev() {
        rows.swap(last, dice.below(last as u64 + 1)? as usize);
    }
    Ok(())
}
