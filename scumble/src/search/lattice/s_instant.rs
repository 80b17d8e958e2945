//! S-INSTANT: the lattice judged by belief instead of counts ([Nergiz, Tamersoy and Saygin 2011],
//! section 3.2, algorithm 1).
//!
//! The first phase goes down the lattice from its top and estimates each node from a summary. A
//! node that is not believed in takes all finer ones with it (theorem 3.5; for the expectation of
//! diversity that is a heuristic); the others are candidates, the cheapest first. The second phase
//! is the caller's: it counts the rows of one candidate after the other until one holds.
//!
//! | here | paper |
//! |---|---|
//! | [`By::Probability`] | P_mu >= th, line 6 |
//! | [`By::Expectation`] | E_mu <= th |
//! | cost | CM, line 9: LM from the marginals, or the expected DM |
//!
//! With independent attributes all nodes share their work: see [`grid`](crate::estimate::grid).
//! Cost: a scalar product for each node then; with other summaries the believed buckets of each
//! node that is looked at.

use super::{Lattice, Node};
use crate::error::Result;
use crate::estimate::grid::Levels;
use crate::estimate::multinomial::Total;
use crate::loss::Loss;
use crate::recoding::Mapping;
use crate::search::instant::{By, Candidate, Candidates};
use crate::summary::{Beliefs, Estimator, Grouped};
use crate::taxonomy::Level;
use crate::watch::Watch;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rustc_hash::FxHashSet;

/// The most nodes for which all multisets of both halves are kept.
const MOST_SHARED: u64 = 1 << 18;

/// Estimates the nodes of a lattice.
#[derive(Debug)]
pub struct Nodes<'a> {
    estimator: &'a Estimator<'a>,
    lattice: Lattice,
    /// `grouped[column][level]`: the values of a column by the nodes of a level.
    grouped: Vec<Vec<Grouped>>,
    /// `lost[column][level]`: LM of a column at a level, as a share of what it can lose.
    lost: Vec<Vec<f64>>,
    levels: Option<Levels<'a>>,
}

impl<'a> Nodes<'a> {
    /// Makes ready what nodes share.
    pub fn new(estimator: &'a Estimator<'a>) -> Result<Nodes<'a>> {
        let beliefs = estimator.beliefs();
        let lattice =
            Lattice::new(beliefs.taxonomies.iter().map(|taxonomy| taxonomy.height()).collect())?;
        let columns = beliefs.taxonomies.iter().enumerate();
        let grouped: Vec<Vec<Grouped>> = columns
            .map(|(column, tree)| {
                tree.levels()
                    .iter()
                    .map(|level| beliefs.grouped(column, level.nodes(), level.len()))
                    .collect()
            })
            .collect();
        let shared = estimator.grid().filter(|_| lattice.space() <= MOST_SHARED);
        let levels = shared.map(|grid| {
            let shares = |(column, grouped): (usize, &Vec<Grouped>)| {
                grouped.iter().map(|grouped| estimator.shares(column, grouped)).collect()
            };
            let shares: Vec<_> = grouped.iter().enumerate().map(shares).collect();
            Levels::new(grid, &shares, estimator.watch())
        });
        let levels = levels.transpose()?;
        let lost = (0..grouped.len()).map(|column| lost(beliefs, column)).collect();
        Ok(Nodes { estimator, lattice, grouped, lost, levels })
    }

    /// How many nodes there are.
    pub fn space(&self) -> u64 {
        self.lattice.space()
    }

    /// The estimates at some levels; `None` where there are too many buckets to be believed in.
    pub fn total(&self, levels: &[usize]) -> Result<Option<Total>> {
        self.total_while(levels, &|_| true)
    }

    fn total_while(
        &self,
        levels: &[usize],
        promising: &dyn Fn(&Total) -> bool,
    ) -> Result<Option<Total>> {
        self.estimator.watch().check()?;
        match &self.levels {
            Some(shared) => Ok(Some(shared.total(levels))),
            None => self.estimator.total_while(&self.keys(levels), promising),
        }
    }

    fn keys(&self, levels: &[usize]) -> Vec<Grouped> {
        levels.iter().zip(&self.grouped).map(|(level, grouped)| grouped[*level].clone()).collect()
    }

    /// Some levels with what is believed of them.
    pub fn candidate(&self, levels: Vec<usize>, total: &Total) -> Candidate {
        let beliefs = self.estimator.beliefs();
        let lost = levels.iter().zip(&self.lost).map(|(level, lost)| lost[*level]);
        let lost: Vec<f64> = lost.collect();
        let lm = LmEstimate::new(&lost, lost.len().max(1) as f64, beliefs);
        believed(beliefs, Mapping::Levels(levels), lm, total)
    }

    /// Every node that is believed in, the cheapest first.
    pub fn candidates(&self, by: By, watch: &Watch) -> Result<Candidates> {
        let rows = self.estimator.beliefs().rows();
        let mut found = Candidates { space: Some(self.space().into()), ..Candidates::default() };
        let mut layer = vec![self.lattice.top()];
        while !layer.is_empty() && !watch.stopped() {
            let promising = |so_far: &Total| by.is_open(so_far, rows);
            let estimate = |node: &Node| self.total_while(&self.lattice.levels(*node), &promising);
            let totals: Vec<Option<Total>> = match &self.levels {
                // A microsecond each: handing them out would take longer.
                Some(_) => layer.iter().map(estimate).collect::<Result<_>>()?,
                None => layer.par_iter().map(estimate).collect::<Result<_>>()?,
            };
            found.visited += layer.len() as u64;
            watch.progress("estimate", found.visited, None);
            let mut accepted = FxHashSet::default();
            for (node, total) in layer.iter().zip(&totals) {
                watch.check()?;
                if let Some(total) = total.as_ref().filter(|total| by.accepts(total, rows)) {
                    accepted.insert(*node);
                    found.list.push(self.candidate(self.lattice.levels(*node), total));
                }
            }
            layer = self.below(&layer, &accepted, watch)?;
        }
        found.sort(watch)?;
        watch.check()?;
        Ok(found)
    }

    /// The nodes one step finer all of whose coarser neighbours are believed in.
    fn below(
        &self,
        layer: &[Node],
        accepted: &FxHashSet<Node>,
        watch: &Watch,
    ) -> Result<Vec<Node>> {
        let mut seen = FxHashSet::default();
        let columns = 0..self.lattice.columns();
        let above = |node: &Node| {
            columns
                .clone()
                .filter_map(|column| self.lattice.raised(*node, column))
                .all(|above| accepted.contains(&above))
        };
        let mut below = Vec::new();
        for node in layer.iter().filter(|node| accepted.contains(node)) {
            watch.check()?;
            let finer = columns.clone().filter_map(|column| self.lattice.lowered(*node, column));
            below.extend(finer.filter(|node| seen.insert(*node)).filter(above));
        }
        Ok(below)
    }
}

/// LM of a column at each level, from its counts.
fn lost(beliefs: &Beliefs, column: usize) -> Vec<f64> {
    let (rows, tree) = (beliefs.leaf_rows(column), &beliefs.taxonomies[column]);
    let whole = (tree.leaves() - 1).max(1) as f64 * beliefs.rows() as f64;
    let lost = |level: &Level| {
        let leaves = |leaf: usize| u128::from(level.leaves(level.node_of(leaf as u32)) - 1);
        rows.iter().enumerate().map(|(leaf, rows)| u128::from(*rows) * leaves(leaf)).sum::<u128>()
            as f64
            / whole
    };
    tree.levels().iter().map(lost).collect()
}

/// The mean LM of a mapping before rows are suppressed.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) struct LmEstimate {
    plain: f64,
    /// With the weights of the columns.
    weighted: f64,
}

impl LmEstimate {
    /// From what each column loses, in a unit of which all columns can lose so many.
    pub(in crate::search) fn new(lost: &[f64], most: f64, beliefs: &Beliefs) -> LmEstimate {
        let weighted = lost.iter().enumerate();
        let weighted = weighted.map(|(column, lost)| lost * beliefs.weights.relative(column));
        LmEstimate {
            plain: lost.iter().sum::<f64>() / most,
            weighted: weighted.sum::<f64>() / most,
        }
    }
}

/// A mapping with what is believed of it; `lm` is its loss before rows are suppressed.
pub(in crate::search) fn believed(
    beliefs: &Beliefs,
    mapping: Mapping,
    lm: LmEstimate,
    total: &Total,
) -> Candidate {
    let rows = beliefs.rows();
    let outliers = total.outliers();
    // Rows that fail are lost whole, if they may be.
    let lost = if beliefs.suppressible > 0 { (outliers / rows as f64).min(1.0) } else { 0.0 };
    let with_lost = |lm: f64| lm + lost * (1.0 - lm);
    let (lm, lm_weighted) = (with_lost(lm.plain), with_lost(lm.weighted));
    let cost = beliefs.loss.believed(lm_weighted, total.squares, lost, rows);
    Candidate {
        mapping,
        probability: total.probability(rows),
        outliers,
        lm,
        lm_weighted,
        cost,
        total: *total,
    }
}
