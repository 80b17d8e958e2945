//! What a release tells of its own rows: how many have a value on a side of a box.
//!
//! Marginals of the whole population count the rows of the table too, and whoever has the release
//! alone does not know how many rows have which value: a class of people from 20 to 40 may have all
//! of them below 30 or none. Of the rows of all classes whose side lies within a side, all are
//! there; of those whose side meets it, at most all. Where sides never meet in part, as at one
//! level of a hierarchy, both numbers are the same.

use std::collections::BTreeMap;
use std::ops::Range;

/// The sides of all classes, column by column, with the rows behind each.
#[derive(Clone, Debug)]
pub struct Overlaps {
    columns: Vec<BTreeMap<(u32, u32), u64>>,
}

impl Overlaps {
    /// No class yet, of so many columns.
    pub fn new(columns: usize) -> Overlaps {
        Overlaps { columns: vec![BTreeMap::new(); columns] }
    }

    /// Takes in a class.
    pub fn add(&mut self, sides: &[Range<u32>], rows: u64) {
        for (column, side) in self.columns.iter_mut().zip(sides) {
            *column.entry((side.start, side.end)).or_insert(0) += rows;
        }
    }

    /// Takes out a class that was taken in.
    pub fn remove(&mut self, sides: &[Range<u32>], rows: u64) {
        for (column, side) in self.columns.iter_mut().zip(sides) {
            let key = (side.start, side.end);
            if let Some(known) = column.get_mut(&key) {
                *known -= rows;
                if *known == 0 {
                    column.remove(&key);
                }
            }
        }
    }

    /// The least and the greatest number of rows with a value on a side.
    pub fn rows(&self, column: usize, side: &Range<u32>) -> (u64, u64) {
        let (mut least, mut most) = (0, 0);
        for ((start, end), rows) in &self.columns[column] {
            if *start < side.end && side.start < *end {
                most += rows;
                least += if side.start <= *start && *end <= side.end { *rows } else { 0 };
            }
        }
        (least, most)
    }

    /// How many of the others are on a side, at least and at most, where `listed` people of the
    /// population are.
    pub fn others(&self, column: usize, side: &Range<u32>, listed: u64) -> (u64, u64) {
        let (least, most) = self.rows(column, side);
        (listed.saturating_sub(most), listed.saturating_sub(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::slice::from_ref;

    proptest! {
        /// Rows somewhere on the sides of their classes: as many as are on a side lie between the
        /// two numbers, and taking a class out again leaves no trace.
        #[test]
        fn what_is_known_holds_for_every_table(
            classes in prop::collection::vec((0u32..8, 1u32..5, prop::collection::vec(any::<u8>(), 1..4)), 1..10),
            (start, length) in (0u32..8, 1u32..6),
        ) {
            let mut overlaps = Overlaps::new(1);
            let asked = start..start + length;
            let mut truth = 0;
            for (start, length, rows) in &classes {
                overlaps.add(from_ref(&(*start..start + length)), rows.len() as u64);
                truth += rows.iter().filter(|row| asked.contains(&(start + u32::from(**row) % length))).count() as u64;
            }
            let (least, most) = overlaps.rows(0, &asked);
            prop_assert!(least <= truth && truth <= most);
            prop_assert_eq!(overlaps.others(0, &asked, 100), (100 - most, 100 - least));
            let before = overlaps.rows(0, &asked);
            overlaps.add(from_ref(&(2..4)), 3);
            overlaps.remove(from_ref(&(2..4)), 3);
            prop_assert_eq!(overlaps.rows(0, &asked), before);
        }
    }
}
