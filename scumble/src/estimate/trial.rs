//! What becomes of rows that are dealt as is believed? For tests and experiments: an estimate is
//! put beside what happens.

use super::binomial::Binomial;
use super::bucket::{Condition, of_rows, of_values};
use super::diverse::Diversity;
use super::multinomial::{Shortcuts, Total};
use crate::error::Result;
use crate::random::Random;
use crate::watch::Watch;

/// A table that is believed in, and what is asked of it. All buckets have the same shares of
/// values.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Rows of the table.
    pub rows: u64,
    /// The likelihood of each bucket.
    pub likelihoods: Vec<f64>,
    /// The shares of the sensitive values.
    pub shares: Vec<f64>,
    /// What is asked, of the values of one column.
    pub condition: Condition,
}

/// What became of dealt tables.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The share of tables all of whose buckets are fine.
    pub probability: f64,
    /// The mean number of rows in buckets that are not.
    pub outliers: f64,
    /// The standard deviations of both, as means of the tables that were dealt.
    pub deviations: [f64; 2],
}

/// Shares that add up to 1; the larger `skew`, the more they differ.
pub fn shares(random: &mut Random, len: usize, skew: i32) -> Vec<f64> {
    let weights: Vec<f64> = (0..len).map(|_| (1.0 - random.unit()).powi(skew) + 1e-9).collect();
    let whole: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / whole).collect()
}

/// Sums up to each share.
fn ends(shares: &[f64]) -> Vec<f64> {
    shares
        .iter()
        .scan(0.0, |sum, share| {
            *sum += share;
            Some(*sum)
        })
        .collect()
}

fn draw(random: &mut Random, ends: &[f64]) -> usize {
    let at = random.unit() * ends.last().copied().unwrap_or(0.0);
    ends.partition_point(|end| *end <= at).min(ends.len().saturating_sub(1))
}

impl Trial {
    /// The estimates of the table, and how far they may be off. Work on values may be shared by all
    /// buckets, as with a histogram, or not, as with a network.
    pub fn estimate(&self, shortcuts: Shortcuts, is_shared: bool) -> Result<(Total, [f64; 2])> {
        let (least, watch) = (self.condition.least, Watch::silent());
        let asked = self.condition.values.iter();
        let diverse = asked.map(|(_, asked)| Diversity::new(&self.shares, asked, shortcuts));
        let diverse: Vec<Diversity> =
            diverse.map(|one| if is_shared { one.shared() } else { one }).collect();
        let mut total = Total::default();
        for likelihood in &self.likelihoods {
            let size = Binomial { n: self.rows, p: *likelihood };
            let bucket = if diverse.is_empty() {
                of_rows(size, least, shortcuts)
            } else {
                of_values(size, least, &diverse, shortcuts, &watch)?
            };
            total.add(size.into(), &bucket, 1.0);
        }
        Ok((total, total.error(self.rows, [0.0; 2])))
    }

    /// Deals the table so many times. `is_fine` judges a bucket by the number of its rows with each
    /// value.
    pub fn run(
        &self,
        runs: u32,
        random: &mut Random,
        is_fine: impl Fn(&[(u32, u32)]) -> bool,
    ) -> Outcome {
        let (buckets, values) = (ends(&self.likelihoods), ends(&self.shares));
        let mut counts = vec![0u32; self.likelihoods.len() * self.shares.len()];
        let (mut fine, mut sum, mut squares) = (0.0, 0.0, 0.0);
        let mut held = Vec::new();
        for _ in 0..runs {
            counts.fill(0);
            for _ in 0..self.rows {
                let bucket = draw(random, &buckets);
                counts[bucket * self.shares.len() + draw(random, &values)] += 1;
            }
            let mut lost = 0;
            for counts in counts.chunks_exact(self.shares.len()) {
                held.clear();
                held.extend((0..).zip(counts.iter().copied()).filter(|(_, count)| *count > 0));
                let rows: u64 = held.iter().map(|(_, count)| u64::from(*count)).sum();
                lost += if rows == 0 || is_fine(&held) { 0 } else { rows };
            }
            fine += if lost == 0 { 1.0 } else { 0.0 };
            sum += lost as f64;
            squares += (lost * lost) as f64;
        }
        let runs = f64::from(runs);
        let (probability, outliers) = (fine / runs, sum / runs);
        // One more of each kind: a share of 0 is not known for certain.
        let even = (fine + 1.0) / (runs + 2.0);
        let variance = (squares / runs - outliers * outliers).max(0.0);
        Outcome {
            probability,
            outliers,
            deviations: [(even * (1.0 - even) / runs).sqrt(), (variance / runs).sqrt()],
        }
    }
}
