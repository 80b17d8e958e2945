//! Suppression inside classes, for recodings by cuts: single records or sensitive values go, not
//! only whole classes (Liu and Wang 2010, section III-C).
//!
//! This judges afresh what a search has judged: the two share the caps and nothing else.

use super::apply::{Classes, Recoded};
use crate::error::Shortfall;
use crate::error::{Error, Result};
use crate::privacy::Caps;
use crate::random::{Dice, Secrets};
use crate::recoding::Mapping;
use crate::search::Task;
use crate::search::cuts::{Problem, Suppression};

/// The rows of a table, as suppression sees them.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    /// The cell of each row.
    pub cells: &'a [u32],
    /// The sensitive value of each row; empty where nothing is sensitive.
    pub values: &'a [u32],
    /// The class label of each row; empty where the choice of rows does not depend on it.
    pub labels: &'a [u32],
}

/// What goes of classes that stay.
#[derive(Clone, Debug)]
pub struct Within {
    /// Whether each row is left out.
    pub rows: Vec<bool>,
    /// Rows that are left out of each class.
    pub of_class: Vec<u32>,
    /// Rows that are left out of each cell.
    pub of_cell: Vec<u32>,
    /// Whether each row's sensitive value is left out.
    pub hidden: Vec<bool>,
}

impl Within {
    /// How many sensitive values are left out of rows that stay.
    pub fn hidden_values(&self) -> u64 {
        self.hidden.iter().filter(|hidden| **hidden).count() as u64
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
        secrets: Secrets,
    ) -> Result<Recoded> {
        let Classes { values, classes, class_of, .. } = Classes::new(task, mapping);
        let rows = records.cells.len();
        let mut within = Within {
            rows: vec![false; rows],
            of_class: vec![0; classes.len()],
            of_cell: vec![0; task.cells.len()],
            hidden: vec![false; rows],
        };
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); classes.len()];
        for (row, cell) in records.cells.iter().enumerate() {
            members[class_of[*cell as usize] as usize].push(row as u32);
        }
        for (class, members) in members.iter().enumerate() {
            let mut dice = secrets.stream(class as u64);
            let class = Class { members, records, caps: &problem.caps, labels: problem.labels };
            class.suppress(problem.scheme, problem.k, &mut dice, &mut within)?;
        }
        for (row, cell) in records.cells.iter().enumerate().filter(|(row, _)| within.rows[*row]) {
            within.hidden[row] = false;
            within.of_cell[*cell as usize] += 1;
            within.of_class[class_of[*cell as usize] as usize] += 1;
        }
        let suppressed = within.of_class.iter().map(|lost| u64::from(*lost)).sum();
        if suppressed == task.rows() {
            return Err(Error::from(Shortfall::AllSuppressed { rows: suppressed }));
        }
        let kept =
            classes.counts().iter().zip(&within.of_class).map(|(rows, lost)| lost < rows).collect();
        Ok(Recoded { values, classes, class_of, kept, suppressed, within: Some(within) })
    }
}

/// One class and what is asked of it.
struct Class<'a> {
    members: &'a [u32],
    records: Records<'a>,
    caps: &'a Caps,
    labels: usize,
}

impl Class<'_> {
    fn value(&self, row: u32) -> usize {
        self.records.values.get(row as usize).map_or(0, |value| *value as usize)
    }

    fn label(&self, row: u32) -> usize {
        self.records.labels.get(row as usize).map_or(0, |label| *label as usize)
    }

    /// The rows of each value that occurs, by value.
    fn by_value(&self) -> Vec<(usize, Vec<u32>)> {
        let mut by_value = std::collections::BTreeMap::<usize, Vec<u32>>::new();
        for row in self.members {
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
        let rows = self.members.len() as u64;
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
            Suppression::AllRecords => {
                self.members.iter().for_each(|row| within.rows[*row as usize] = true)
            }
            Suppression::AllValues => {
                self.members.iter().for_each(|row| within.hidden[*row as usize] = true)
            }
            Suppression::ViolatingValues => {
                for (_, rows) in by_value.iter().filter(|(value, rows)| broken(*value, rows.len()))
                {
                    rows.iter().for_each(|row| within.hidden[*row as usize] = true);
                }
            }
            Suppression::ViolatingRecords => {
                let kept = self.kept(by_value, k, dice)?;
                self.members.iter().for_each(|row| within.rows[*row as usize] = true);
                kept.iter().for_each(|row| within.rows[*row as usize] = false);
            }
        }
        Ok(())
    }

    /// The rows that stay if as few as possible go. As many of each value as its cap allows, at
    /// random; where that is more than can stay, of the commonest values fewer. Where labels count,
    /// rows with the label that can have the largest majority are preferred: what goes then costs
    /// least.
    fn kept(&self, by_value: Vec<(usize, Vec<u32>)>, k: u64, dice: &mut Dice) -> Result<Vec<u32>> {
        let counts = by_value.iter().map(|(value, rows)| (*value, rows.len() as u64));
        let most = self.caps.largest_part(counts);
        if most < k {
            return Ok(Vec::new());
        }
        let room = |value: usize, rows: &[u32]| self.caps.most(value, rows.len() as u64, most);
        let with_label = |rows: &[u32], label: usize| {
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
        let mut stay: Vec<Vec<u32>> = Vec::new();
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
                |rows: &Vec<u32>| rows.last().is_some_and(|row| self.label(*row) != preferred);
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
fn shuffle(rows: &mut [u32], dice: &mut Dice) -> Result<()> {
    for last in (1..rows.len()).rev() {
        rows.swap(last, dice.below(last as u64 + 1)? as usize);
    }
    Ok(())
}
