//! A bucket of which a sample has seen some rows, while the number of other rows is unknown.
//!
//! If c of n sampled rows are in a bucket, the likelihood of the bucket is not known to be c/n; the
//! sample only says how likely each likelihood is. Without prior knowledge, likelihoods have a
//! Dirichlet distribution with the counts as parameters. Sizes are then negative binomial, X = c +
//! R with R ~ NB(c, n/N), for N rows in all. Given their sum, they are distributed like the sizes
//! of buckets into which rows fall with such likelihoods, so the formula of
//! [`multinomial`](super::multinomial) holds for them as it does for binomials. A sample of all
//! rows gives the exact size.
//!
//! [Nergiz, Tamersoy and Saygin 2011] take c/n as it is (section 2.3). One sampled row of fifty
//! then stands for a bucket of fifty rows, and with k = 20 every mapping is believed in.

use super::binomial::{Binomial, Truncated};
use super::multinomial::{Bucket, Doubt};

/// Terms below this share of the sum so far are ignored.
const NEGLIGIBLE: f64 = 1e-18;

/// The size of a bucket of which `seen` rows were drawn, in a sample of `sampled` of all `rows`
/// rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// Sampled rows of the bucket, at least one.
    pub seen: u64,
    /// All sampled rows.
    pub sampled: u64,
    /// All rows.
    pub rows: u64,
}

impl Sampled {
    /// The share of rows that were sampled.
    fn drawn(&self) -> f64 {
        self.sampled as f64 / self.rows as f64
    }

    /// The mean size.
    pub fn mean(&self) -> f64 {
        self.seen as f64 / self.drawn()
    }

    /// Its variance.
    pub fn variance(&self) -> f64 {
        self.mean() * (1.0 - self.drawn()) / self.drawn()
    }

    /// The estimates of the bucket if it needs `least` rows; it is not empty.
    pub fn bucket(&self, least: u64) -> Bucket {
        let doubt = Doubt::default();
        let (mean, variance, seen) = (self.mean(), self.variance(), self.seen as f64);
        if self.seen >= least {
            let fine = Truncated { ln_chance: 0.0, mean, variance };
            return Bucket { fine, outliers: 0.0, doubt };
        }
        if self.sampled >= self.rows {
            return Bucket { fine: Truncated::NEVER, outliers: mean, doubt };
        }
        // Sizes below `least`, from the largest down: j more rows than were seen, with c / (c + j)
        // times the probability of c successes in c + j trials.
        let more = least - 1 - self.seen;
        let draws = Binomial { n: self.seen + more, p: self.drawn() };
        let mut term = (draws.ln_probability(self.seen) + (seen / (seen + more as f64)).ln()).exp();
        let (mut weight, mut first, mut second, mut outliers) = (0.0, 0.0, 0.0, 0.0);
        for more in (0..=more).rev() {
            let size = seen + more as f64;
            let distance = size - mean;
            weight += term;
            first += term * distance;
            second += term * distance * distance;
            outliers += term * size;
            if size < mean && term * (1.0 + distance * distance) < NEGLIGIBLE * weight {
                break;
            }
            term *= more as f64 / ((size - 1.0) * (1.0 - self.drawn()));
        }
        let left = 1.0 - weight;
        if left <= 0.0 {
            return Bucket { fine: Truncated::NEVER, outliers, doubt };
        }
        let offset = -first / left;
        let spread = (variance - second) / left - offset * offset;
        Bucket {
            fine: Truncated {
                ln_chance: (-weight).ln_1p(),
                mean: mean + offset,
                variance: spread.max(0.0),
            },
            outliers,
            doubt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_chance_is_that_of_a_bucket_that_was_sampled() {
        // The size of a bucket of which c rows were drawn is simulated by counting rows until c of
        // them are drawn. This matches the bucket's model if all sizes are equally likely on a
        // logarithmic scale.
        let mut random = Random::new(11);
        for (seen, least) in [(1u64, 20u64), (2, 60), (5, 40), (5, 140)] {
            let sampled = Sampled { seen, sampled: 1000, rows: 20_000 };
            let (mut fine, mut sum, mut outliers) = (0, 0.0, 0.0);
            let runs = 20_000;
            for _ in 0..runs {
                let (mut size, mut drawn) = (0u64, 0);
                while drawn < seen {
                    size += 1;
                    drawn += u64::from(random.below(20) == 0);
                }
                fine += u32::from(size >= least);
                sum += if size >= least { size as f64 } else { 0.0 };
                outliers += if size < least { size as f64 } else { 0.0 };
            }
            let (found, runs) = (sampled.bucket(least), f64::from(runs));
            let chance = f64::from(fine) / runs;
            assert!(
                (found.fine.chance() - chance).abs() < 0.015,
                "{seen} {least}: {} {chance}",
                found.fine.chance()
            );
            assert!(
                (found.fine.mean - sum / f64::from(fine)).abs() < 0.03 * found.fine.mean + 1.0,
                "{seen} {least}"
            );
            assert!(
                (found.outliers - outliers / runs).abs() < 0.3,
                "{} {}",
                found.outliers,
                outliers / runs
            );
            // Rows in fine buckets and outliers add up to the mean.
            assert!(
                (found.outliers + found.fine.chance() * found.fine.mean - sampled.mean()).abs()
                    < 1e-6 * sampled.mean()
            );
        }
    }

    #[test]
    fn a_sample_of_everything_knows() {
        let all = |seen| Sampled { seen, sampled: 500, rows: 500 }.bucket(10);
        assert_eq!((all(10).fine.ln_chance, all(10).outliers), (0.0, 0.0));
        assert_eq!((all(9).fine, all(9).outliers), (Truncated::NEVER, 9.0));
    }
}
