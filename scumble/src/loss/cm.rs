//! CM, the classification metric (Iyengar 2002): rows whose label is not their class's most
//! frequent one.

use super::{LevelLoss, Loss, ReleaseFigures};
use crate::error::Result;

/// The number of rows of a class outside its majority label.
pub fn minority(labels: &[(u32, u32)]) -> u64 {
    let all: u64 = labels.iter().map(|(_, count)| u64::from(*count)).sum();
    let majority = labels.iter().map(|(_, count)| u64::from(*count)).max().unwrap_or(0);
    all - majority
}

/// The share of input rows outside their class's majority label, including suppressed rows.
pub fn cm(minority_rows: u64, suppressed: u64, rows: u64) -> f64 {
    if rows == 0 { 0.0 } else { (minority_rows + suppressed) as f64 / rows as f64 }
}

/// CM as a loss to minimize: a row costs 1 if it is outside the majority label or suppressed.
#[derive(Clone, Copy, Debug)]
pub struct Classification;

impl Loss for Classification {
    fn cost(&self, release: &impl ReleaseFigures) -> Result<f64> {
        Ok((release.sum_of_labels(minority)? + release.suppressed()) as f64)
    }

    fn part(&self, rows: u64, _: f64, majority: impl FnOnce() -> u64) -> f64 {
        (rows - majority()) as f64
    }

    fn suppressed_record(&self, _: u64, _: usize) -> f64 {
        1.0
    }

    fn needs_target(&self) -> bool {
        true
    }

    /// A share of the rows.
    fn unit(&self, rows: u64, _: usize) -> f64 {
        rows as f64
    }

    fn bound<'a>(
        &self,
        _: impl Iterator<Item = &'a LevelLoss>,
        _: u64,
        _: usize,
        lost: u64,
    ) -> f64 {
        lost as f64
    }
}
