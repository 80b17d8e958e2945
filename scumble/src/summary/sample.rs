//! A uniform sample: the believed share of a tuple is its share of the sampled rows.

use super::{Believe, Groups, Joint, NOWHERE};

/// Sampled rows, as tuples of values. They have no names, and an order of their own: that of the
/// tuples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// Values in a row.
    pub width: usize,
    /// The values of one row after the other.
    pub values: Vec<u32>,
}

impl Drawn {
    /// The rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.values.chunks_exact(self.width.max(1))
    }

    /// The same rows in the order of their tuples.
    pub fn sorted(self) -> Drawn {
        let mut rows: Vec<&[u32]> = self.rows().collect();
        rows.sort_unstable();
        Drawn { width: self.width, values: rows.concat() }
    }
}

impl Believe for Drawn {
    fn joint(&self, groups: &[Groups<'_>]) -> Option<Joint> {
        let number = |row: &[u32]| {
            row.iter().zip(groups).try_fold(0u64, |number, (value, groups)| {
                match groups.of[*value as usize] {
                    NOWHERE => None,
                    group => Some(number * groups.len as u64 + u64::from(group)),
                }
            })
        };
        let mut numbers: Vec<u64> = self.rows().filter_map(number).collect();
        numbers.sort_unstable();
        let rows = self.rows().len().max(1) as f64;
        let tuples = numbers
            .chunk_by(|a, b| a == b)
            .map(|alike| (alike[0], alike.len() as f64 / rows))
            .collect();
        Some(Joint { tuples })
    }
}
