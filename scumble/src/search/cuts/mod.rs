//! One cut per attribute: full-subtree recodings.
//!
//! A cut takes from each taxonomy a set of nodes that covers every leaf once; rows that it says
//! alike are a partition. The [`Machine`] knows the rows by cells, the trees with what matters of
//! them, and what a subtree of the cut enumeration tree costs at least. The algorithms of this
//! folder decide where to go.

pub mod annealing;
mod bounds;
mod descent;
mod enumeration;
mod groups;
pub mod l_plus_optimize;
pub mod s_instant;
mod steps;
mod tree;
mod within;

pub use bounds::{Member, Price, Rules, Suppression};
pub use tree::{Branch, Tree};

use crate::error::Result;
use crate::ids::CellId;
use crate::loss::{Lm, Loss, LossChoice, Weights, exact_scale};
use crate::privacy::Caps;
use crate::table::{Cells, Tallies, gather};
use crate::taxonomy::{Cut, Taxonomy};
use crate::watch::{PIECE, Watch};
use enumeration::CutValue;
use std::sync::Arc;

/// What is searched: data that is bound and counted, and what is asked of a release.
#[derive(Debug)]
pub struct Problem {
    /// The tree of each quasi-identifier.
    pub taxonomies: Vec<Arc<Taxonomy>>,
    /// How often each sensitive value occurs in each cell; with labels, value x labels + label.
    pub tallies: Tallies,
    /// How many class labels there are; 1 unless the loss looks at them.
    pub labels: usize,
    /// The cap of each sensitive value; a single value with the cap 1 where nothing is sensitive.
    pub caps: Caps,
    /// The least number of rows of a class.
    pub k: u64,
    /// What happens to classes that fail.
    pub scheme: Suppression,
    /// What is minimised.
    pub loss: LossChoice,
    /// How much the detail of each column matters to LM.
    pub weights: Weights,
    /// The most records that may be suppressed, or values where the scheme suppresses values;
    /// `None` if there is no limit.
    pub suppressible: Option<u64>,
}

impl Problem {
    /// The most records (or values) that a cut may suppress. A release must keep a record.
    pub(crate) fn suppressible(&self, rows: u64) -> u64 {
        let limit = self.suppressible.unwrap_or(u64::MAX);
        if self.scheme.is_of_records() { limit.min(rows.saturating_sub(1)) } else { limit }
    }
}

/// A cut through each tree, as nodes in ascending order.
pub type Cuts = Vec<Vec<u32>>;

/// Cells or groups between two polls for an abort: each takes a fraction of a microsecond.
const POLLED: usize = 1 << 12;

/// Rows with the same leaves, one after the other in lists that are gone at once when they are
/// dropped.
#[derive(Clone, Debug, Default)]
struct Leaves {
    columns: usize,
    /// Numbers that are counted of a cell.
    width: usize,
    leaves: Vec<u32>,
    rows: Vec<u32>,
    counts: Vec<u32>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
struct Cell<'a> {
    leaves: &'a [u32],
    rows: u32,
    counts: &'a [u32],
}

impl Leaves {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn cell(&self, number: usize) -> Cell<'_> {
        Cell {
            leaves: &self.leaves[number * self.columns..][..self.columns],
            rows: self.rows[number],
            counts: &self.counts[number * self.width..][..self.width],
        }
    }
}

/// Knows the rows and what they cost.
#[derive(Clone, Debug)]
pub struct Machine {
    trees: Vec<Tree>,
    taxonomies: Vec<Arc<Taxonomy>>,
    cells: Arc<Leaves>,
    /// Cells by their leaf, for each column.
    by_leaf: Arc<Vec<Vec<u32>>>,
    rules: Rules,
    /// Numbers that are counted of a group.
    width: usize,
    /// What LM counts for a row that is said by a node: `losses[column][node]`.
    losses: Vec<Vec<f64>>,
    /// Costs are this many times what the paper counts: LM's fractions become whole numbers where
    /// these are small enough to be exact. Weights are whole numbers inside, and 1 on average in
    /// what is reported.
    scale: f64,
    watch: Watch,
}

impl Machine {
    /// Prepares a search, which `watch` can abort.
    pub fn new(problem: &Problem, cells: &Cells<CellId>, watch: &Watch) -> Result<Machine> {
        Machine::above_levels(problem, cells, &vec![0; problem.taxonomies.len()], watch)
    }

    /// The same for cuts that do not go below a level of each tree. A cell has the first code of
    /// each node.
    pub fn above_levels(
        problem: &Problem,
        cells: &Cells<CellId>,
        lowest: &[usize],
        watch: &Watch,
    ) -> Result<Machine> {
        let columns = problem.taxonomies.len();
        let mut rows_of: Vec<Vec<u64>> =
            problem.taxonomies.iter().map(|tree| vec![0; tree.codes() as usize]).collect();
        let mut tuples = cells.tuples();
        for counts in cells.counts().chunks(PIECE) {
            watch.check()?;
            for (count, tuple) in counts.iter().zip(tuples.by_ref()) {
                for (rows, code) in rows_of.iter_mut().zip(tuple) {
                    rows[*code as usize] += u64::from(*count);
                }
            }
        }
        let trees: Vec<Tree> = problem
            .taxonomies
            .iter()
            .zip(&rows_of)
            .zip(lowest)
            .map(|((taxonomy, rows), lowest)| Tree::above_level(taxonomy, rows, *lowest))
            .collect();
        let rows: u64 = cells.counts().iter().map(|count| u64::from(*count)).sum();
        let width = problem.caps.of_values().len() * problem.labels;
        let leaves = leaves(problem, cells, &trees, width, watch)?;
        let by_leaf = |column: usize| {
            let of_column = leaves.leaves.iter().skip(column).step_by(columns).copied();
            let branches = trees[column].branches().len();
            Ok(gather(branches, of_column.zip(0..), watch)?.0)
        };
        let by_leaf = (0..columns).map(by_leaf).collect::<Result<Vec<_>>>()?;
        let weights = &problem.weights;
        let lm = Lm::new(problem.taxonomies.iter().map(Arc::as_ref), weights);
        let exact = if problem.loss.columns_decide() {
            exact_scale(lm.whole(), rows, weights.total())
        } else {
            1.0
        };
        let loss = |column: usize| {
            let (whole, weight) = (lm.whole()[column] as f64, weights.whole(column) as f64);
            let lost = |branch: &Branch| branch.lost as f64 * exact / whole * weight;
            trees[column].branches().iter().map(lost).collect()
        };
        // A product first: it is a whole number.
        let of_weights = |cost: f64| match columns {
            0 => cost,
            _ => cost * weights.total() as f64 / columns as f64,
        };
        let of_value = problem.loss.suppressed_value(columns);
        let suppressed = of_value
            .filter(|_| problem.scheme.is_of_values())
            .unwrap_or_else(|| problem.loss.suppressed_record(rows, columns));
        Ok(Machine {
            by_leaf: Arc::new(by_leaf),
            losses: (0..columns).map(loss).collect(),
            rules: Rules {
                loss: problem.loss,
                scheme: problem.scheme,
                caps: problem.caps.clone(),
                k: problem.k,
                labels: problem.labels,
                suppressed: exact * of_weights(suppressed),
                suppressible: problem.suppressible(rows),
                limited: problem.suppressible.is_some() && problem.scheme != Suppression::None,
                penalty: 0.0,
                members: true,
                uniform: problem.caps.of_values().windows(2).all(|pair| pair[0] == pair[1]),
            },
            taxonomies: problem.taxonomies.clone(),
            trees,
            cells: Arc::new(leaves),
            width,
            scale: exact * of_weights(1.0),
            watch: watch.clone(),
        })
    }

    /// What LM counts for a row said by a node.
    fn loss(&self, column: usize, node: u32) -> f64 {
        self.losses[column][node as usize]
    }

    /// The column at a place among those that are branched on, which are all but the last.
    fn column(&self, last: usize, place: usize) -> usize {
        if place < last { place } else { place + 1 }
    }

    /// The nodes of a cut in the columns that are branched on.
    fn values(&self, last: usize, cuts: &Cuts) -> Vec<CutValue> {
        let columns = cuts.iter().enumerate().filter(|(column, _)| *column != last);
        let values = |(place, (_, cut)): (usize, (usize, &Vec<u32>))| {
            cut.iter().map(|node| CutValue { place, node: *node }).collect::<Vec<_>>()
        };
        columns.enumerate().flat_map(values).collect()
    }

    /// The column with the most cuts: the one whose best cut is computed instead of searched.
    fn widest(&self) -> usize {
        let cuts = |column: &usize| self.trees[*column].branch(self.trees[*column].root()).cuts;
        (0..self.trees.len()).max_by(|a, b| cuts(a).total_cmp(&cuts(b))).unwrap_or(0)
    }

    /// The same machine with the paper's bounds on suppression.
    fn bounded_by_rows(&self) -> Machine {
        Machine { rules: Rules { members: false, ..self.rules.clone() }, ..self.clone() }
    }

    /// The same machine whose bounds charge a penalty for suppression.
    fn penalized_by(&self, penalty: f64) -> Machine {
        Machine { rules: Rules { penalty, ..self.rules.clone() }, ..self.clone() }
    }

    /// How many rows there are.
    fn rows(&self) -> u64 {
        self.cells.rows.iter().map(|rows| u64::from(*rows)).sum()
    }

    /// No cut that can be released costs this much or more; infinite where that is not known. A row
    /// that is kept costs no more than a suppressed one.
    fn ceiling(&self) -> f64 {
        if self.rules.scheme.is_of_records() {
            (self.rules.suppressed * self.rows() as f64).next_up()
        } else {
            f64::INFINITY
        }
    }

    /// The trees that cuts go through.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// A cost in the paper's unit.
    pub fn reported(&self, cost: f64) -> f64 {
        cost / self.scale
    }

    /// The cuts of all columns as cuts of their taxonomies.
    pub fn taxonomy_cuts(&self, cuts: &Cuts) -> Option<Vec<Cut>> {
        let each =
            |((tree, taxonomy), cut): ((&Tree, &Arc<Taxonomy>), &Vec<u32>)| tree.cut(taxonomy, cut);
        self.trees.iter().zip(&self.taxonomies).zip(cuts).map(each).collect()
    }

    /// How many cuts the taxonomies have together, by the formula of section III-B; `None` past
    /// 2^128.
    pub fn space(&self) -> Option<u128> {
        let counts = self.taxonomies.iter().map(|taxonomy| Cut::count(taxonomy));
        counts.into_iter().try_fold(1u128, |product, count| product.checked_mul(count?))
    }
}

/// The cells of a table by the leaves of its trees.
fn leaves(
    problem: &Problem,
    cells: &Cells<CellId>,
    trees: &[Tree],
    width: usize,
    watch: &Watch,
) -> Result<Leaves> {
    let mut leaves = Leaves {
        columns: trees.len(),
        width,
        leaves: Vec::with_capacity(cells.len() * trees.len()),
        rows: Vec::with_capacity(cells.len()),
        counts: vec![0; cells.len() * width],
    };
    let tuples = cells.tuples().zip(cells.counts());
    for (number, (tuple, rows)) in tuples.enumerate() {
        if number % POLLED == 0 {
            watch.check()?;
        }
        leaves.leaves.extend(trees.iter().zip(tuple).map(|(tree, code)| tree.leaf(*code)));
        leaves.rows.push(*rows);
        let counts = &mut leaves.counts[number * width..][..width];
        for (value, count) in problem.tallies.group(number) {
            counts[*value as usize] += count;
        }
    }
    Ok(leaves)
}
