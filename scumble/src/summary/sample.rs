//! A uniform sample: the believed share of a tuple is its share of the sampled rows.

use super::{Believe, Grouping, Joint, NOWHERE};
use crate::error::Result;
use crate::watch::{PIECE, Watch};

/// Sampled rows, as tuples of values. They have no names, and an order of their own: that of the
/// tuples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawnRows {
    /// Values in a row.
    pub width: usize,
    /// The values of one row after the other.
    pub values: Vec<u32>,
}

impl DrawnRows {
    /// The rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.values.chunks_exact(self.width.max(1))
    }

    /// The same rows in the order of their tuples.
    pub fn sorted(self, watch: &Watch) -> Result<DrawnRows> {
        let mut rows: Vec<&[u32]> = self.rows().collect();
        watch.sort(&mut rows)?;
        let mut values = Vec::with_capacity(self.values.len());
        for piece in rows.chunks(PIECE) {
            watch.check()?;
            piece.iter().for_each(|row| values.extend_from_slice(row));
        }
        Ok(DrawnRows { width: self.width, values })
    }
}

impl Believe for DrawnRows {
    fn joint(&self, groups: &[Grouping<'_>], watch: &Watch) -> Result<Option<Joint>> {
        let number = |row: &[u32]| {
            row.iter().zip(groups).try_fold(0u64, |number, (value, groups)| {
                match groups.of[*value as usize] {
                    NOWHERE => None,
                    group => Some(number * groups.len as u64 + u64::from(group)),
                }
            })
        };
        let mut numbers: Vec<u64> = Vec::new();
        for piece in self.values.chunks(PIECE * self.width.max(1)) {
            watch.check()?;
            numbers.extend(piece.chunks_exact(self.width.max(1)).filter_map(number));
        }
        watch.sort(&mut numbers)?;
        let rows = self.rows().len().max(1) as f64;
        let tuples = numbers
            .chunk_by(|a, b| a == b)
            .map(|alike| (alike[0], alike.len() as f64 / rows))
            .collect();
        Ok(Some(Joint { tuples }))
    }
}
