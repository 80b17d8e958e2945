//! DM, discernibility (Bayardo and Agrawal 2005): every row pays the size of its class, a
//! suppressed one the size of the table.

use super::{LevelLoss, Loss, ReleaseFigures};
use crate::error::Result;
use crate::watch::Watch;

/// The sum of squared class sizes, plus rows x suppressed rows.
pub fn dm(class_sizes: impl Iterator<Item = u64>, rows: u64, suppressed: u64) -> u128 {
    class_sizes.map(square).sum::<u128>() + whole(rows, suppressed)
}

/// What a class costs.
fn square(size: u64) -> u128 {
    u128::from(size) * u128::from(size)
}

/// What suppressed rows cost.
fn whole(rows: u64, suppressed: u64) -> u128 {
    u128::from(rows) * u128::from(suppressed)
}

/// DM as a loss to minimize.
#[derive(Clone, Copy, Debug)]
pub struct Discernibility;

impl Loss for Discernibility {
    fn cost(&self, release: &impl ReleaseFigures) -> Result<f64> {
        let squares = release.sum_of_sizes(square);
        Ok((squares + whole(release.rows(), release.suppressed())) as f64)
    }

    fn part(&self, rows: u64, _: f64, _: impl FnOnce() -> u64) -> f64 {
        (rows * rows) as f64
    }

    fn suppressed_record(&self, rows: u64, _: usize) -> f64 {
        rows as f64
    }

    /// From the number of groups that there can be (Cauchy and Schwarz).
    fn bound<'a>(
        &self,
        levels: impl Iterator<Item = &'a LevelLoss>,
        rows: u64,
        cells: usize,
        lost: u64,
    ) -> f64 {
        let groups = levels.map(|level| level.values as f64).product::<f64>().min(cells as f64);
        // With two groups or more a lost row always costs more than it saves the others.
        let (rows, lost) = (rows as f64, if groups < 2.0 { 0.0 } else { lost as f64 });
        // A hair below, since each step is rounded.
        (((rows - lost) * (rows - lost) / groups + rows * lost) * (1.0 - 1e-12)).floor()
    }

    /// Of more than half the table it may be less than the square if some rows go: N r + (n - r)^2
    /// is least where half of the table stays.
    fn least_part(&self, rows: u64, _: impl FnOnce() -> f64, suppressed: f64) -> f64 {
        let (rows, half) = (rows as f64, suppressed / 2.0);
        if rows <= half { rows * rows } else { suppressed * rows - half * half }
    }

    fn row(&self, rows: u64, _: f64) -> Option<f64> {
        Some(rows as f64)
    }

    /// The squares of what is left are least if the rows go from the largest parts. A row of a part
    /// larger than half the table gains more than its suppression costs, so such a part shrinks to
    /// the half in any case.
    fn least_without(
        &self,
        lost: u64,
        sizes: impl Iterator<Item = u64>,
        suppressed: f64,
        watch: &Watch,
    ) -> Result<Option<f64>> {
        let mut sizes: Vec<u64> = sizes.collect();
        watch.sort_by(&mut sizes, |a, b| b.cmp(a))?;
        let half = (suppressed as u64).div_ceil(2);
        let lost = lost.max(sizes[0].saturating_sub(half));
        // Level the largest parts down together.
        let mut left = lost;
        let mut levelled = 1;
        let mut level = sizes[0];
        loop {
            let next = sizes.get(levelled).copied().unwrap_or(0);
            let room = (level - next) * levelled as u64;
            if room >= left {
                break;
            }
            left -= room;
            level = next;
            levelled += 1;
            if levelled > sizes.len() {
                break;
            }
        }
        let many = levelled.min(sizes.len()) as u64;
        let (each, more) = (left / many, left % many);
        let low = level.saturating_sub(each);
        let squares = (many - more) * low * low + more * low.saturating_sub(1).pow(2);
        let rest: u64 = sizes[many as usize..].iter().map(|size| size * size).sum();
        Ok(Some(suppressed * lost as f64 + (squares + rest) as f64))
    }

    fn believed(&self, _: f64, squares: f64, lost: f64, rows: u64) -> f64 {
        squares + lost * rows as f64 * rows as f64
    }
}
