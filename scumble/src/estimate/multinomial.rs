//! How likely are all buckets to be fine at once, if rows fall into them at random?
//!
//! The sizes of n buckets are multinomial. [Nergiz, Tamersoy and Saygin 2011] (section 4.1, after
//! Levin 1981) take them for independent binomials X_i ~ B(N, l_i) that happen to add up to N. If
//! Y_i is X_i given that bucket i is fine,
//!
//! P(all fine) = P(sum Y_i = N) / P(sum X_i = N) * prod P(X_i is fine),
//!
//! and both sums are taken for normal: P(|N(mean, variance) - N| <= 1/2). The algorithms 3 and 5 of
//! the paper print the two the wrong way round. Products are sums of logarithms: a million buckets
//! is normal.
//!
//! | here | paper |
//! |---|---|
//! | [`Total`] | the sums of lines 9 and 10, and the product cml |
//! | [`Total::probability`] | mu-probability |
//! | [`Total::outliers`] | mu-expectation: algorithms 4 and 6 |
//! | [`Shortcuts`] | the optimizations of section 6 |

use super::binomial::{Binomial, Truncated};
use super::normal_tail;
use super::sampled::Sampled;

/// The optimizations of the paper's section 6. Each costs a little precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortcuts {
    /// HYBRID: a binomial that is not skewed is treated as normal.
    pub hybrid: bool,
    /// EXPO: the tail of a skewed binomial is treated as exponential.
    pub expo: bool,
    /// SD_CUT: sizes far from a bucket's mean are ignored.
    pub sd_cut: bool,
    /// LIMIT: a probability of diversity near 0 or 1 is assumed to stay there.
    pub limit: bool,
    /// MAX: if one value is certainly the most frequent, it decides alone.
    pub max: bool,
}

impl Shortcuts {
    /// All optimizations.
    pub const ALL: Shortcuts =
        Shortcuts { hybrid: true, expo: true, sd_cut: true, limit: true, max: true };
    /// No optimization.
    pub const NONE: Shortcuts =
        Shortcuts { hybrid: false, expo: false, sd_cut: false, limit: false, max: false };
    /// Their names.
    pub const NAMES: [&'static str; 5] = ["hybrid", "expo", "sd-cut", "limit", "max"];

    /// The same without one of them; `None` for an unknown name. Underscores count as hyphens.
    pub fn without(self, name: &str) -> Option<Shortcuts> {
        Some(match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "hybrid" => Shortcuts { hybrid: false, ..self },
            "expo" => Shortcuts { expo: false, ..self },
            "sd-cut" => Shortcuts { sd_cut: false, ..self },
            "limit" => Shortcuts { limit: false, ..self },
            "max" => Shortcuts { max: false, ..self },
            _ => return None,
        })
    }
}

impl Default for Shortcuts {
    fn default() -> Self {
        Shortcuts::ALL
    }
}

/// A logarithm that is this far off says nothing.
const HOPELESS: f64 = 1e3;

/// Sums of many terms may be off by this much.
const ROUNDING: f64 = 1e-6;

/// The error of the model: this over the square root of the number of buckets, and at most that. In
/// 800 random cases of dealt tables it was half of that at most (`bench estimates`).
const MODEL: (f64, f64) = (0.25, 0.15);

/// The estimates of one bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Its size given that it is fine, and the probability of that.
    pub fine: Truncated,
    /// The expected number of its rows that are in a bucket that is not fine.
    pub outliers: f64,
    /// How far both may be off.
    pub doubt: Doubt,
}

impl Bucket {
    /// The probability of not being fine, and how far the logarithm of its counterpart and the
    /// outliers may be off.
    pub fn doubts(&self) -> [f64; 3] {
        let chance = self.fine.chance();
        let doubt = self.doubt.chance / chance.max(f64::MIN_POSITIVE);
        [1.0 - chance, doubt.min(HOPELESS), self.doubt.outliers]
    }
}

/// How far the estimates of a bucket may be off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Doubt {
    /// The probability of being fine.
    pub chance: f64,
    /// The expected number of rows that fail.
    pub outliers: f64,
}

/// The size of a bucket, whether it is fine or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Its mean.
    pub mean: f64,
    /// Its variance.
    pub variance: f64,
}

impl From<Binomial> for Size {
    fn from(size: Binomial) -> Size {
        Size { mean: size.mean(), variance: size.variance() }
    }
}

impl From<Sampled> for Size {
    fn from(size: Sampled) -> Size {
        Size { mean: size.mean(), variance: size.variance() }
    }
}

/// Sums over buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// The logarithm of the product of their probabilities of being fine.
    pub ln_product: f64,
    /// The mean of the sum of sizes.
    pub mean: f64,
    /// Its variance.
    pub variance: f64,
    /// The mean of the sum of sizes given that all are fine.
    pub fine_mean: f64,
    /// Its variance.
    pub fine_variance: f64,
    /// Rows that are expected in buckets that are not fine.
    pub outliers: f64,
    /// The expected sum of squared sizes.
    pub squares: f64,
    /// The expected number of buckets that are not fine.
    pub failing: f64,
    /// How far `ln_product` may be off.
    pub ln_doubt: f64,
    /// How far `outliers` may be off.
    pub outliers_doubt: f64,
}

impl Total {
    /// Adds `times` buckets with the same size and estimates. `times` may be a fraction, or
    /// negative to remove buckets.
    pub fn add(&mut self, size: Size, bucket: &Bucket, times: f64) {
        let Size { mean, variance } = size;
        self.ln_product += times * bucket.fine.ln_chance;
        self.mean += times * mean;
        self.variance += times * variance;
        self.fine_mean += times * bucket.fine.mean;
        self.fine_variance += times * bucket.fine.variance;
        self.outliers += times * bucket.outliers;
        self.squares += times * (variance + mean * mean);
        let [failing, ln_doubt, outliers_doubt] = bucket.doubts();
        self.failing += times * failing;
        self.ln_doubt += times * ln_doubt;
        self.outliers_doubt += times * outliers_doubt;
    }

    /// The probability that all buckets are fine, given that the sizes add up to `rows`.
    pub fn probability(&self, rows: u64) -> f64 {
        if self.ln_product == f64::NEG_INFINITY {
            return 0.0;
        }
        let (fine, whole) = (
            near(rows as f64, self.fine_mean, self.fine_variance),
            near(rows as f64, self.mean, self.variance),
        );
        let probability = (fine.ln() - whole.ln() + self.ln_product).exp();
        if probability.is_nan() { 0.0 } else { probability.min(1.0) }
    }

    /// How far the probability and the outliers may be off, if rows are dealt as is believed: the
    /// doubts of the buckets, `more` (of the logarithm of the probability, and of the outliers), and
    /// the model, which takes sums for normal.
    ///
    /// The model is trusted as far as simulation shows, and no farther than two
    /// bounds that need none: the probability is at least 1 - sum P(i fails), and at most the product
    /// of P(i is fine) over P(sum X_i = N).
    pub fn error(&self, rows: u64, more: [f64; 2]) -> [f64; 2] {
        let probability = self.probability(rows);
        let ln = self.ln_doubt + more[0];
        let lower = (1.0 - self.failing - ln).max(0.0);
        let whole = near(rows as f64, self.mean, self.variance);
        let upper = (self.ln_product + ln - whole.ln()).exp();
        let upper = if upper.is_nan() { 1.0 } else { upper.min(1.0) };
        let farthest = (probability - lower).max(upper - probability).max(0.0);
        let doubted = (probability * ln.min(HOPELESS).exp_m1()).min(1.0);
        let found = (self.model(rows) + doubted).min(farthest) + ROUNDING;
        [found.min(1.0), self.outliers_doubt + more[1] + ROUNDING * (1.0 + self.outliers())]
    }

    /// How far the normal distribution is off: less, the more buckets there are, where one that
    /// holds most rows counts for few.
    fn model(&self, rows: u64) -> f64 {
        let rows = rows as f64;
        let shares = (self.squares - self.variance).max(0.0) / (rows * rows).max(1.0);
        let buckets = 1.0 / shares.clamp(1e-12, 1.0);
        (MODEL.0 / buckets.sqrt()).min(MODEL.1)
    }

    /// Rows that are expected in buckets that are not fine.
    pub fn outliers(&self) -> f64 {
        self.outliers.max(0.0)
    }
}

/// P(|N(mean, variance) - rows| <= 1/2).
pub fn near(rows: f64, mean: f64, variance: f64) -> f64 {
    let deviation = variance.max(0.0).sqrt();
    let distance = (rows - mean).abs();
    // A variable without variance equals its mean, up to rounding errors of the sum.
    if deviation < 1e-9 * (1.0 + rows) {
        return if distance <= 0.5 + 1e-9 * rows { 1.0 } else { 0.0 };
    }
    let (lower, upper) = ((distance - 0.5) / deviation, (distance + 0.5) / deviation);
    // If the density is flat over the interval, its value in the middle suffices and avoids a
    // difference of nearly equal tails.
    if 1.0 / deviation < 1e-3 {
        let z = distance / deviation;
        return (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt() / deviation;
    }
    normal_tail(lower) - normal_tail(upper)
}
