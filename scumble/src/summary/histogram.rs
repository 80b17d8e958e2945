//! Independent attributes: the believed share of a tuple is the product of the shares of its
//! values.

use super::{Attribute, Believe, Grouping, Joint, MOST_TUPLES, NOWHERE};
use crate::error::Result;
use crate::watch::Watch;

/// Attributes with their counts, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Histogram<'a> {
    /// The rows of the table.
    pub rows: u64,
    /// Its attributes.
    pub attributes: &'a [Attribute],
}

impl Histogram<'_> {
    /// The share of rows in each group of an attribute.
    pub fn shares(&self, attribute: usize, groups: &Grouping<'_>) -> Vec<f64> {
        let mut rows = vec![0u64; groups.len];
        for (group, count) in groups.of.iter().zip(&self.attributes[attribute].counts) {
            if *group != NOWHERE {
                rows[*group as usize] += count;
            }
        }
        rows.into_iter().map(|rows| rows as f64 / self.rows as f64).collect()
    }
}

impl Believe for Histogram<'_> {
    fn joint(&self, groups: &[Grouping<'_>], watch: &Watch) -> Result<Option<Joint>> {
        let mut tuples = vec![(0u64, 1.0)];
        for (attribute, groups) in groups.iter().enumerate() {
            watch.check()?;
            let shares = self.shares(attribute, groups);
            let held: Vec<(u64, f64)> =
                (0..).zip(shares).filter(|(_, share)| *share > 0.0).collect();
            if tuples.len().saturating_mul(held.len()) > MOST_TUPLES {
                return Ok(None);
            }
            let extended = tuples.iter().flat_map(|(number, chance)| {
                held.iter()
                    .map(move |(group, share)| (number * groups.len as u64 + group, chance * share))
            });
            tuples = extended.collect();
        }
        Ok(Some(Joint { tuples }))
    }
}
