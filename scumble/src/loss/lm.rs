//! LM, the loss metric (Iyengar 2002): a recoded value costs (leaves below it - 1) / (leaves of the
//! domain - 1), a suppressed row costs 1 in each column; the mean over all quasi-identifier cells
//! of all input rows. With weights it is the weighted mean over the columns.

use super::{Loss, ReleaseFigures, Weights};
use crate::error::Result;
use crate::taxonomy::{Level, Taxonomy};

/// The denominators of LM: the cost of a value at the root in each column, in leaves, and what
/// columns weigh.
#[derive(Clone, Debug)]
pub struct Lm {
    whole: Vec<u64>,
    weights: Vec<f64>,
}

/// The numerators of LM: leaves lost in each column, as integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LmSum(pub Vec<u128>);

impl Lm {
    /// For columns with these taxonomies and weights.
    pub fn new<'a>(taxonomies: impl IntoIterator<Item = &'a Taxonomy>, weights: &Weights) -> Lm {
        // A domain with one value can lose only the row itself.
        Lm {
            whole: taxonomies.into_iter().map(|taxonomy| (taxonomy.leaves() - 1).max(1)).collect(),
            weights: weights.relatives(),
        }
    }

    /// Nothing lost yet.
    pub fn nothing(&self) -> LmSum {
        LmSum(vec![0; self.whole.len()])
    }

    /// The cost of a suppressed row in each column, in leaves.
    pub fn whole(&self) -> &[u64] {
        &self.whole
    }

    /// What columns weigh; 1 on average.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The weighted sum over columns of the share lost, in rows: between 0 and rows x columns.
    pub fn in_rows(&self, sum: &LmSum) -> f64 {
        // Each step is also monotone in floats, so smaller numerators never give a larger value.
        let columns = sum.0.iter().zip(&self.whole).zip(&self.weights);
        columns.map(|((lost, whole), weight)| *lost as f64 / *whole as f64 * weight).sum()
    }

    /// The mean over all cells.
    pub fn mean(&self, sum: &LmSum, rows: u64) -> f64 {
        let cells = rows as f64 * self.whole.len() as f64;
        if cells == 0.0 { 0.0 } else { self.in_rows(sum) / cells }
    }
}

/// What a column loses at a level.
#[derive(Clone, Copy, Debug)]
pub struct LevelLoss {
    /// The number of different values that there can be.
    pub values: usize,
    /// Leaves lost if all rows go to the level and none is suppressed.
    pub lost: u128,
    /// The same as a share of `whole`, in rows, times the weight.
    pub share: f64,
    /// The most leaves that a value can lose.
    pub dearest: u64,
    /// The leaves that a suppressed row loses.
    pub whole: u64,
    /// What the column weighs.
    pub weight: f64,
}

impl LevelLoss {
    /// Of a level, from the number of rows with each leaf.
    pub fn new(level: &Level, rows: &[u64], whole: u64, weight: f64) -> LevelLoss {
        let leaves = |leaf: usize| u128::from(level.leaves(level.node_of(leaf as u32)) - 1);
        let lost: u128 =
            rows.iter().enumerate().map(|(leaf, rows)| u128::from(*rows) * leaves(leaf)).sum();
        let dearest = (0..level.len() as u32).map(|node| level.leaves(node) - 1).max();
        LevelLoss {
            values: level.len(),
            lost,
            share: lost as f64 / whole as f64 * weight,
            dearest: dearest.unwrap_or(0),
            whole,
            weight,
        }
    }

    /// The least share that is lost, in rows, if at least `suppressed` rows are suppressed: each of
    /// them costs the difference between losing it whole and the most that a row can lose here.
    fn share_without(&self, suppressed: u64) -> f64 {
        // A column of one value has no leaf to lose, and counts a lost row as one.
        let more = u128::from(suppressed) * u128::from(self.whole.saturating_sub(self.dearest));
        (self.lost + more) as f64 / self.whole as f64 * self.weight
    }
}

/// The least common multiple of the denominators, where every sum of losses stays a whole number
/// that a float holds exactly; otherwise 1. `total` is what all columns weigh together.
pub fn exact_scale(wholes: &[u64], rows: u64, total: u64) -> f64 {
    let limit = (1u128 << 52) / (u128::from(rows.max(1)) * 2 * u128::from(total.max(1)));
    let mut multiple = 1u128;
    for whole in wholes {
        let (mut a, mut b) = (multiple, u128::from(*whole));
        while b != 0 {
            (a, b) = (b, a % b);
        }
        multiple = multiple / a * u128::from(*whole);
        if multiple > limit {
            return 1.0;
        }
    }
    multiple as f64
}

/// LM as a loss to minimize.
#[derive(Clone, Copy, Debug)]
pub struct LossMetric;

impl Loss for LossMetric {
    fn cost(&self, release: &impl ReleaseFigures) -> Result<f64> {
        Ok(release.detail())
    }

    fn part(&self, rows: u64, detail: f64, _: impl FnOnce() -> u64) -> f64 {
        detail * rows as f64
    }

    /// All detail of its quasi-identifiers, and as much again for its sensitive value.
    fn suppressed_record(&self, _: u64, columns: usize) -> f64 {
        2.0 * columns as f64
    }

    fn suppressed_value(&self, columns: usize) -> Option<f64> {
        Some(columns as f64)
    }

    fn columns_decide(&self) -> bool {
        true
    }

    /// A mean over all cells.
    fn unit(&self, rows: u64, columns: usize) -> f64 {
        rows as f64 * columns as f64
    }

    /// The same sum of quotients as [`Lm::in_rows`] takes, in the same order.
    fn bound<'a>(
        &self,
        levels: impl Iterator<Item = &'a LevelLoss>,
        _: u64,
        _: usize,
        lost: u64,
    ) -> f64 {
        if lost == 0 {
            levels.map(|level| level.share).sum()
        } else {
            levels.map(|level| level.share_without(lost)).sum()
        }
    }

    /// Suppression never makes a row cheaper.
    fn least_part(&self, rows: u64, detail: impl FnOnce() -> f64, _: f64) -> f64 {
        detail() * rows as f64
    }

    fn row(&self, _: u64, detail: f64) -> Option<f64> {
        Some(detail)
    }
}
