//! LM, the loss metric (Iyengar 2002): a recoded value costs (leaves below it - 1) / (leaves of the
//! domain - 1), a suppressed row costs 1 in each column; the mean over all quasi-identifier cells
//! of all input rows.

use crate::taxonomy::Taxonomy;

/// The denominators of LM: the cost of a value at the root in each column, in leaves.
#[derive(Clone, Debug)]
pub struct Lm {
    whole: Vec<u64>,
}

/// The numerators of LM: leaves lost in each column, as integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LmSum(pub Vec<u128>);

impl Lm {
    /// The denominators for columns with these taxonomies.
    pub fn new<'a>(taxonomies: impl IntoIterator<Item = &'a Taxonomy>) -> Lm {
        // A domain with one value can lose only the row itself.
        Lm {
            whole: taxonomies.into_iter().map(|taxonomy| (taxonomy.leaves() - 1).max(1)).collect(),
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

    /// The sum over columns of the share lost, in rows: between 0 and rows x columns.
    pub fn in_rows(&self, sum: &LmSum) -> f64 {
        // Each step is also monotone in floats, so smaller numerators never give a larger value.
        sum.0.iter().zip(&self.whole).map(|(lost, whole)| *lost as f64 / *whole as f64).sum()
    }

    /// The mean over all cells.
    pub fn mean(&self, sum: &LmSum, rows: u64) -> f64 {
        let cells = rows as f64 * self.whole.len() as f64;
        if cells == 0.0 { 0.0 } else { self.in_rows(sum) / cells }
    }
}
