//! The confidence that each class needs, where rows need confidences of their own.
//!
//! A release does not tell them. So the rows of the original table are looked up in the classes by
//! labels, as the people of a population are; how they were recoded is not asked. A class needs the
//! largest confidence of its rows.

use super::presence::Written;
use crate::error::{Error, Result};
use crate::ids::{CellId, Id, LeafId};
use crate::ratio::Ratio;
use crate::release::KnownKey;
use crate::release::matched::each_match;
use crate::table::{Cells, Dictionary, Role, Table};
use crate::watch::{PIECE, Watch};

/// The tuples of quasi-identifiers in a table, each with the largest confidence that its rows need.
pub(crate) struct RowNeeds {
    keys: Vec<(String, Dictionary)>,
    /// The values of each tuple, in the order of the keys.
    tuples: Vec<Vec<u32>>,
    needed: Vec<Ratio>,
}

/// The confidences that classes need: an ascending list, and the number in it for each class.
pub(super) struct ClassNeeds {
    pub(super) confidences: Vec<Ratio>,
    pub(super) of_class: Vec<u32>,
}

impl RowNeeds {
    /// What the rows of a table need; `confidences` has one for each.
    pub(crate) fn new(table: &Table, confidences: &[Ratio], watch: &Watch) -> Result<RowNeeds> {
        let keys = table.with_role(Role::QuasiIdentifier);
        let keys = keys.filter_map(|key| Some((key.name.clone(), key.dictionary()?.clone())));
        let mut needed = vec![Ratio::ZERO; table.cells.len()];
        watch.each(table.row_cells.iter().zip(confidences), PIECE, |(cell, confidence)| {
            let known = &mut needed[cell.index()];
            *known = (*known).max(*confidence);
        })?;
        let mut tuples = Vec::with_capacity(table.cells.len());
        watch.each(table.cells.tuples(), PIECE, |tuple| tuples.push(tuple.to_vec()))?;
        Ok(RowNeeds { keys: keys.collect(), tuples, needed })
    }

    /// The values of a quasi-identifier.
    pub(super) fn values(&self, name: &str) -> Option<&Dictionary> {
        self.keys.iter().find(|(key, _)| key == name).map(|(_, values)| values)
    }

    /// What each class of a release needs. `leaves[i]` are those of the values of the release's
    /// i-th quasi-identifier. A row that belongs to no class is not lost: every class needs what it
    /// does. A class without a row needs the largest confidence of all.
    pub(super) fn by_class(
        &self,
        known: &[KnownKey],
        leaves: &[Vec<LeafId>],
        written: &Written<'_>,
        watch: &Watch,
    ) -> Result<ClassNeeds> {
        let position = |name: &&str| self.keys.iter().position(|(key, _)| key == name);
        let positions: Option<Vec<usize>> = written.keys.iter().map(position).collect();
        let positions = positions.ok_or(Error::Defect)?;
        let mut cells: Cells<CellId> = Cells::new(positions.len());
        let mut needed: Vec<Ratio> = Vec::new();
        let mut tuple = vec![0; positions.len()];
        watch.each(self.tuples.iter().zip(&self.needed), PIECE, |(values, need)| {
            for ((leaf, position), leaves) in tuple.iter_mut().zip(&positions).zip(leaves) {
                *leaf = leaves[values[*position] as usize].0;
            }
            let cell = cells.add(&tuple, 0).index();
            needed.resize(needed.len().max(cell + 1), Ratio::ZERO);
            needed[cell] = needed[cell].max(*need);
        })?;
        let mut everywhere = Ratio::ZERO;
        let mut of_class: Vec<Option<Ratio>> = vec![None; written.classes.len()];
        let Written { labels, classes, .. } = *written;
        each_match(known, labels, classes, &cells, watch, |cell, classes| {
            let (need, mut is_somewhere) = (needed[cell.index()], false);
            for class in classes {
                is_somewhere = true;
                let known = &mut of_class[class.index()];
                *known = (*known).max(Some(need));
            }
            if !is_somewhere {
                everywhere = everywhere.max(need);
            }
        })?;
        let most = needed.iter().copied().fold(everywhere, Ratio::max);
        let of_class: Vec<Ratio> =
            of_class.into_iter().map(|need| need.unwrap_or(most).max(everywhere)).collect();
        let mut confidences = of_class.clone();
        watch.sort(&mut confidences)?;
        confidences.dedup();
        let place = |need: &Ratio| confidences.partition_point(|known| known < need) as u32;
        let of_class = of_class.iter().map(place).collect();
        Ok(ClassNeeds { confidences, of_class })
    }
}
