//! What does a release cost?
//!
//! Each loss is a sum over groups and columns. It never decreases when groups merge, and
//! suppression only adds to it, so the loss of a finer node without suppression is a lower bound
//! for every coarser node. Sums are kept as integers and divided once at the end, so a release has
//! the same cost as a float however it was reached.
//!
//! A [`Loss`] is what a search can minimize, one file each; [`LossChoice`] lists them. The other
//! figures of a report (entropy, conditional entropy, RMSE) are plain functions.

mod choice;
mod cm;
mod conditional_entropy;
mod dm;
mod entropy;
mod lm;
mod rmse;
mod weights;

pub use choice::LossChoice;
pub use cm::{cm, minority};
pub use conditional_entropy::{conditional_entropy, open_bits};
pub use dm::dm;
pub use entropy::{Codes, Said, non_uniform_entropy};
pub use lm::{LevelLoss, Lm, LmSum, exact_scale};
pub use rmse::{rmse, squared_error};
pub use weights::Weights;

use crate::error::Result;
use crate::watch::Watch;

/// What a search minimizes.
///
/// Searches know losses only through this trait. They never decide by the kind of loss, they ask
/// it. Figures that take time to compute are passed as closures or as [`ReleaseFigures`], and a
/// loss asks only for those that it needs. All methods are statically dispatched, since some are
/// called once for every group: [`LossChoice`] does it with one `match`.
///
/// Three methods are required. The others improve bounds or describe the loss. Their defaults are
/// right for every loss that is never negative and never decreases when groups merge or when rows
/// of a group are suppressed.
pub trait Loss {
    /// What a full-domain release costs: its groups and its suppressed rows, as a sum over rows.
    /// It never decreases if groups merge or more rows are suppressed.
    fn cost(&self, release: &impl ReleaseFigures) -> Result<f64>;

    /// What `rows` rows cost that stay together and are all released. LM counts `detail` for each
    /// of them, and `majority` of them have the most frequent class label.
    fn part(&self, rows: u64, detail: f64, majority: impl FnOnce() -> u64) -> f64;

    /// What a suppressed record costs beside [`part`](Self::part), in a table with this number of rows and
    /// quasi-identifiers.
    fn suppressed_record(&self, rows: u64, columns: usize) -> f64;

    /// What a suppressed sensitive value costs if its record stays, for losses that count it.
    fn suppressed_value(&self, _columns: usize) -> Option<f64> {
        None
    }

    /// Whether it is LM's detail that is counted. What a row costs then follows from its own
    /// recoded values, [`bound`](Self::bound) without lost rows is the cost of a release that
    /// suppresses nothing, and [`part`](Self::part) is proportional to `detail`.
    fn columns_decide(&self) -> bool {
        false
    }

    /// Whether the class labels of rows are counted, so that a policy must name a target.
    fn needs_target(&self) -> bool {
        false
    }

    /// The divisor from a sum over rows to the unit in which the cost of a full-domain release is
    /// reported.
    fn unit(&self, _rows: u64, _columns: usize) -> f64 {
        1.0
    }

    /// The least that any release of `rows` rows in `cells` cells can cost with these levels, one
    /// for each column, if at least `lost` rows are suppressed. Nothing is known of its groups.
    fn bound<'a>(
        &self,
        _levels: impl Iterator<Item = &'a LevelLoss>,
        _rows: u64,
        _cells: usize,
        _lost: u64,
    ) -> f64 {
        0.0
    }

    /// The least that `rows` rows cost that stay together, if any number of them can be suppressed
    /// for `suppressed` each. Their labels are not known.
    fn least_part(&self, _rows: u64, _detail: impl FnOnce() -> f64, _suppressed: f64) -> f64 {
        0.0
    }

    /// What each row of a [`part`](Self::part) costs, if it is the same for all of them.
    fn row(&self, _rows: u64, _detail: f64) -> Option<f64> {
        None
    }

    /// The least that one or more parts of these sizes cost after `lost` or more of their rows were
    /// suppressed for `suppressed` each, for losses where a row that goes makes those that stay
    /// cheaper. Without an answer, suppressing rows of a part never makes it cheaper.
    fn least_without(
        &self,
        _lost: u64,
        _sizes: impl Iterator<Item = u64>,
        _suppressed: f64,
        _watch: &Watch,
    ) -> Result<Option<f64>> {
        Ok(None)
    }

    /// What a release of `rows` rows is believed to cost if only a summary of them is known: its LM
    /// including suppression, the expected sum of squared group sizes, and the share of rows that
    /// are lost. By default the search minimizes LM instead.
    fn believed(&self, lm: f64, _squares: f64, _lost: f64, _rows: u64) -> f64 {
        lm
    }
}

/// What a loss can ask about a full-domain release. Each figure is computed when it is asked for.
pub trait ReleaseFigures {
    /// The number of input rows.
    fn rows(&self) -> u64;

    /// The number of suppressed rows.
    fn suppressed(&self) -> u64;

    /// The weighted sum over columns of the share of detail lost, in rows; a suppressed row loses
    /// all.
    fn detail(&self) -> f64;

    /// The sum of a figure over the sizes of the released groups.
    fn sum_of_sizes(&self, figure: impl Fn(u64) -> u128) -> u128;

    /// The sum of a figure over the class labels of the released groups, each with its count.
    fn sum_of_labels(&self, figure: impl Fn(&[(u32, u32)]) -> u64) -> Result<u64>;
}

#[cfg(test)]
mod tests;
