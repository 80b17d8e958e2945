//! Suppression that no requirement forces, drawn at random (Liu and Wang 2010, section IX-B).
//!
//! An attacker who knows that a release is minimal knows that everything missing had to go. If some
//! of it went by chance, that no longer follows. What is drawn is what the scheme suppresses: whole
//! classes, single records, all values of a class, or one value of a class. Classes that stay meet
//! the requirements as before. A record is drawn only if its class meets them without it.

use super::suppress::{Records, Within};
use crate::error::Result;
use crate::ids::{ClassId, Id, IdVec, RowId};
use crate::random::Dice;
use crate::search::cuts::{Problem, Suppression};
use crate::watch::{PIECE, Watch};
use std::collections::BTreeMap;
use std::ops::Range;

/// What can be drawn from, before anything is.
pub(super) struct Extra<'a> {
    /// The rows of each class.
    pub(super) members: &'a IdVec<ClassId, Vec<RowId>>,
    /// The rows' values.
    pub(super) records: Records<'a>,
    /// The scheme and what is asked of a class.
    pub(super) problem: &'a Problem,
}

/// Rows that are suppressed together, or whose values are.
struct Unit {
    class: ClassId,
    rows: Range<usize>,
}

impl Extra<'_> {
    /// Suppresses units in random order, each if it fits into what is left of `most` records or
    /// values, and says how many went. One record always stays.
    pub(super) fn suppress(
        &self,
        most: u64,
        dice: &mut Dice,
        within: &mut Within,
        watch: &Watch,
    ) -> Result<u64> {
        let scheme = self.problem.scheme;
        let (rows, mut units) = self.units(within, watch)?;
        let most = if scheme.is_of_records() {
            most.min((rows.len() as u64).saturating_sub(1))
        } else {
            most
        };
        let mut classes = match scheme {
            Suppression::ViolatingRecords => Some(self.tallies(&rows, &units, watch)?),
            _ => None,
        };
        let mut left = most;
        for at in 0..units.len() {
            if left == 0 {
                break;
            }
            if at % PIECE == 0 {
                watch.check()?;
            }
            let pick = at + dice.below((units.len() - at) as u64)? as usize;
            units.swap(at, pick);
            let Unit { class, rows: range } = &units[at];
            let unit = &rows[range.clone()];
            let fits = unit.len() as u64 <= left;
            let can_go = |tallies: &mut IdVec<ClassId, Tally>| {
                unit.iter().all(|row| tallies[*class].remove(self.value(*row), self.problem))
            };
            if !fits || !classes.as_mut().is_none_or(can_go) {
                continue;
            }
            left -= unit.len() as u64;
            let marks = if scheme.is_of_values() { &mut within.hidden } else { &mut within.rows };
            unit.iter().for_each(|row| marks[*row] = true);
        }
        Ok(most - left)
    }

    fn value(&self, row: RowId) -> usize {
        self.records.values.get(row).map_or(0, Id::index)
    }

    /// Everything that is not suppressed yet, in units.
    fn units(&self, within: &Within, watch: &Watch) -> Result<(Vec<RowId>, Vec<Unit>)> {
        let scheme = self.problem.scheme;
        let (mut rows, mut units) = (Vec::new(), Vec::new());
        // Without a sensitive column there are no values to suppress.
        if scheme.is_of_values() && self.records.values.is_empty() {
            return Ok((rows, units));
        }
        for (class, members) in self.members.pairs() {
            watch.check()?;
            let stays = |row: &RowId| !within.rows[*row] && !within.hidden[*row];
            let mut open: Vec<RowId> = members.iter().copied().filter(stays).collect();
            let begin = rows.len();
            match scheme {
                Suppression::None => {}
                Suppression::AllRecords | Suppression::AllValues if open.is_empty() => {}
                Suppression::AllRecords | Suppression::AllValues => {
                    units.push(Unit { class, rows: begin..begin + open.len() });
                }
                Suppression::ViolatingRecords => {
                    let each = (begin..begin + open.len()).map(|at| at..at + 1);
                    units.extend(each.map(|rows| Unit { class, rows }));
                }
                Suppression::ViolatingValues => {
                    open.sort_by_key(|row| self.value(*row));
                    let mut begin = begin;
                    for same in open.chunk_by(|a, b| self.value(*a) == self.value(*b)) {
                        units.push(Unit { class, rows: begin..begin + same.len() });
                        begin += same.len();
                    }
                }
            }
            rows.extend(open);
        }
        Ok((rows, units))
    }

    /// The values of each class.
    fn tallies(
        &self,
        rows: &[RowId],
        units: &[Unit],
        watch: &Watch,
    ) -> Result<IdVec<ClassId, Tally>> {
        let mut tallies = IdVec::repeat(Tally::default(), self.members.values().len());
        watch.each(units, PIECE, |unit| {
            for row in &rows[unit.rows.clone()] {
                tallies[unit.class].add(self.value(*row));
            }
        })?;
        Ok(tallies)
    }
}

/// How often each value occurs in what is left of a class.
#[derive(Clone, Debug, Default)]
struct Tally {
    rows: u64,
    counts: BTreeMap<usize, u64>,
}

impl Tally {
    fn add(&mut self, value: usize) {
        self.rows += 1;
        *self.counts.entry(value).or_default() += 1;
    }

    /// Removes a row with this value if the others still meet what is asked, and says whether.
    fn remove(&mut self, value: usize, problem: &Problem) -> bool {
        let rows = self.rows - 1;
        let holds = |(known, count): (&usize, &u64)| {
            let count = if *known == value { count - 1 } else { *count };
            !problem.caps.is_broken(*known, count, rows)
        };
        let can_go = rows == 0 || (rows >= problem.k && self.counts.iter().all(holds));
        if can_go {
            self.rows = rows;
            if let Some(count) = self.counts.get_mut(&value) {
                *count -= 1;
            }
        }
        can_go
    }
}
