//! S-INSTANT over cuts: one cut of each attribute's tree, judged by belief ([Nergiz, Tamersoy and
//! Saygin 2011], section 7, which searches "single-dimensional" recodings beside full-domain ones).
//!
//! There are too many cuts to go through them all. Every step from the top down takes the
//! specialization that gains most, as long as the result is believed in; one that is not never will
//! be further down (theorem 3.5) and is not tried again. Three measures of gain lead to three ways
//! down, and every cut on them is a candidate: the cheapest of all is checked first, and those
//! above it are there if it does not hold. Full-domain recodings are cuts as well and are
//! candidates too.
//!
//! Departure: the paper does not say how its search for cuts goes; it is no exhaustive one here,
//! and none is claimed.

use super::{Cuts, Tree};
use crate::error::Result;
use crate::estimate::multinomial::Total;
use crate::recoding::Mapping;
use crate::search::instant::{By, Candidates};
use crate::search::lattice::s_instant::{LmEstimate, Nodes, believed};
use crate::summary::{Beliefs, Estimator, Grouped};
use crate::taxonomy::{Cut, Taxonomy};
use crate::watch::Watch;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// What a way down takes first.
#[derive(Clone, Copy, Debug)]
enum Gain {
    /// The most loss saved.
    Loss,
    /// The most loss saved for each new bucket.
    LossPerBucket,
    /// The largest branch.
    Rows,
}

struct Descent<'a> {
    estimator: &'a Estimator<'a>,
    by: By,
    trees: Vec<Tree>,
    visited: u64,
}

/// Every cut that was believed in, the cheapest first.
pub fn candidates(estimator: &Estimator<'_>, by: By, watch: &Watch) -> Result<Candidates> {
    let beliefs = estimator.beliefs();
    let mut found = Nodes::new(estimator)?.candidates(by, watch)?;
    for candidate in &mut found.list {
        watch.check()?;
        let cut = |(tree, level): (&Arc<Taxonomy>, &usize)| Cut::at_level(tree, *level);
        let cuts = beliefs.taxonomies.iter().zip(candidate.mapping.levels()).map(cut).collect();
        candidate.mapping = Mapping::Cuts(cuts);
    }
    let trees = beliefs.taxonomies.iter().enumerate();
    let trees =
        trees.map(|(column, taxonomy)| Tree::new(taxonomy, &beliefs.leaf_rows(column))).collect();
    let mut descent = Descent { estimator, by, trees, visited: 0 };
    for gain in [Gain::Loss, Gain::LossPerBucket, Gain::Rows] {
        descent.down(gain, &mut found, watch)?;
    }
    found.visited += descent.visited;
    found.space = descent.trees.iter().try_fold(1u128, |product, tree| {
        let cuts = tree.branch(tree.root()).cuts;
        if cuts < 1e30 { product.checked_mul(cuts as u128) } else { None }
    });
    found.sort(watch)?;
    watch.check()?;
    Ok(found)
}

impl Descent<'_> {
    fn down(&mut self, gain: Gain, found: &mut Candidates, watch: &Watch) -> Result<()> {
        let beliefs = self.estimator.beliefs();
        let mut cuts: Cuts = self.trees.iter().map(|tree| vec![tree.root()]).collect();
        let Some(_) = self.accepted(&cuts)? else { return Ok(()) };
        let mut refused: FxHashSet<(usize, u32)> = FxHashSet::default();
        while !watch.stopped() {
            watch.check()?;
            let mut steps: Vec<(f64, usize, u32)> = Vec::new();
            for (column, cut) in cuts.iter().enumerate() {
                let open =
                    cut.iter().filter(|branch| !self.trees[column].branch(**branch).is_leaf());
                let open = open.filter(|branch| !refused.contains(&(column, **branch)));
                steps
                    .extend(open.map(|branch| (self.gain(gain, column, *branch), column, *branch)));
            }
            let Some((_, column, branch)) =
                steps.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a })
            else {
                return Ok(());
            };
            let next = self.specialized(&cuts, column, branch);
            match self.accepted(&next)? {
                None => _ = refused.insert((column, branch)),
                Some(total) => {
                    cuts = next;
                    let lm = self.lm(&cuts);
                    let taxonomy_cuts = self.trees.iter().zip(&beliefs.taxonomies).zip(&cuts);
                    let taxonomy_cuts =
                        taxonomy_cuts.map(|((tree, taxonomy), cut)| tree.cut(taxonomy, cut));
                    if let Some(taxonomy_cuts) = taxonomy_cuts.collect() {
                        found.list.push(believed(
                            beliefs,
                            Mapping::Cuts(taxonomy_cuts),
                            lm,
                            &total,
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// What specializing a branch is worth.
    fn gain(&self, gain: Gain, column: usize, branch: u32) -> f64 {
        let tree = &self.trees[column];
        let whole = (self.estimator.beliefs().taxonomies[column].leaves() - 1).max(1) as f64;
        let branch = tree.branch(branch);
        let below: f64 = branch
            .children
            .iter()
            .map(|child| tree.branch(*child))
            .map(|child| child.rows as f64 * child.lost as f64)
            .sum();
        let weight = self.estimator.beliefs().weights.relative(column);
        let saved = (branch.rows as f64 * branch.lost as f64 - below) / whole * weight;
        match gain {
            Gain::Loss => saved,
            Gain::LossPerBucket => saved / (branch.children.len() as f64 - 1.0).max(1.0),
            Gain::Rows => branch.rows as f64 / branch.children.len() as f64,
        }
    }

    fn specialized(&self, cuts: &Cuts, column: usize, branch: u32) -> Cuts {
        let mut next = cuts.clone();
        next[column].retain(|known| *known != branch);
        next[column].extend(&self.trees[column].branch(branch).children);
        next[column].sort_by_key(|branch| self.trees[column].branch(*branch).codes.start);
        next
    }

    /// The mean LM of a cut in each column.
    fn lm(&self, cuts: &Cuts) -> LmEstimate {
        let beliefs = self.estimator.beliefs();
        let column = |(column, cut): (usize, &Vec<u32>)| {
            let lost: f64 = cut
                .iter()
                .map(|branch| self.trees[column].branch(*branch))
                .map(|one| one.rows as f64 * one.lost as f64)
                .sum();
            lost / (beliefs.taxonomies[column].leaves() - 1).max(1) as f64
        };
        let lost: Vec<f64> = cuts.iter().enumerate().map(column).collect();
        LmEstimate::new(&lost, cuts.len().max(1) as f64 * beliefs.rows() as f64, beliefs)
    }

    /// The estimates of some cuts, where they are believed in.
    fn accepted(&mut self, cuts: &Cuts) -> Result<Option<Total>> {
        self.visited += 1;
        let beliefs = self.estimator.beliefs();
        let keys: Vec<Grouped> = cuts
            .iter()
            .enumerate()
            .map(|(column, cut)| self.grouped(beliefs, column, cut))
            .collect();
        let promising = |so_far: &Total| self.by.is_open(so_far, beliefs.rows());
        let total = self.estimator.total_while(&keys, &promising)?;
        Ok(total.filter(|total| self.by.accepts(total, beliefs.rows())))
    }

    fn grouped(&self, beliefs: &Beliefs, column: usize, cut: &[u32]) -> Grouped {
        let mut group = vec![0; beliefs.taxonomies[column].codes() as usize];
        for (number, branch) in (0..).zip(cut) {
            let codes = self.trees[column].branch(*branch).codes.clone();
            group[codes.start as usize..codes.end as usize].fill(number);
        }
        beliefs.grouped(column, &group, cut.len())
    }
}
