//! Single cuts: what one costs, and the cuts one step away.

use super::{Cuts, Machine, Member, POLLED, Price};
use crate::error::Result;
use crate::random::Random;
use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

impl Machine {
    /// What a cut costs, in the paper's unit; infinite where it cannot be released.
    pub fn cost(&self, cuts: &Cuts) -> Result<f64> {
        Ok(self.reported(self.allowable_cost(cuts)?))
    }

    /// What a cut costs; infinite where it cannot be released or suppresses too much.
    pub(super) fn allowable_cost(&self, cuts: &Cuts) -> Result<f64> {
        let Price { cost, lost } = self.price(cuts)?;
        Ok(if lost <= self.rules.suppressible { cost } else { f64::INFINITY })
    }

    /// What a cut costs and suppresses: one pass over the cells.
    fn price(&self, cuts: &Cuts) -> Result<Price> {
        let above: Vec<Vec<u32>> =
            self.trees.iter().zip(cuts).map(|(tree, cut)| tree.above(cut)).collect();
        let columns = self.trees.len();
        let mut class_of: HashTable<u32> = HashTable::new();
        let (mut nodes, mut rows, mut counts): (Vec<u32>, Vec<u64>, Vec<u32>) = Default::default();
        let mut key = Vec::with_capacity(columns);
        for number in 0..self.cells.len() {
            if number % POLLED == 0 {
                self.watch.check()?;
            }
            let cell = self.cells.cell(number);
            key.clear();
            key.extend(cell.leaves.iter().zip(&above).map(|(leaf, above)| above[*leaf as usize]));
            let hash = |key: &[u32]| FxBuildHasher.hash_one(key);
            let nodes_of = |class: &u32| &nodes[*class as usize * columns..][..columns];
            match class_of.find(hash(&key), |class| *nodes_of(class) == key[..]) {
                Some(class) => {
                    let class = *class as usize;
                    rows[class] += u64::from(cell.rows);
                    let sums = &mut counts[class * self.width..][..self.width];
                    sums.iter_mut().zip(cell.counts).for_each(|(sum, count)| *sum += count);
                }
                None => {
                    let class = rows.len() as u32;
                    class_of.insert_unique(hash(&key), class, |class| hash(nodes_of(class)));
                    nodes.extend_from_slice(&key);
                    rows.push(u64::from(cell.rows));
                    counts.extend_from_slice(cell.counts);
                }
            }
        }
        let classes = nodes.chunks_exact(columns).zip(rows).zip(counts.chunks_exact(self.width));
        let mut sum = Price::default();
        for (number, ((nodes, rows), counts)) in classes.enumerate() {
            if number % POLLED == 0 {
                self.watch.check()?;
            }
            let losses = nodes.iter().enumerate().map(|(column, node)| self.loss(column, *node));
            sum = sum.with(self.rules.price(&Member { rows, counts, loss: losses.sum() }));
        }
        Ok(sum)
    }

    /// The steps to a more general cut: a value is said by its parent, and so are all that lie below
    /// that.
    fn parents(&self, cuts: &Cuts) -> Vec<(usize, u32)> {
        let mut parents: Vec<(usize, u32)> = Vec::new();
        for (column, cut) in cuts.iter().enumerate() {
            let of_column = cut.iter().filter_map(|node| self.trees[column].branch(*node).parent);
            parents.extend(of_column.map(|parent| (column, parent)));
        }
        parents.sort_unstable();
        parents.dedup();
        parents
    }

    /// A cut with a node in the place of all that lies below it.
    fn said_by(&self, cuts: &Cuts, column: usize, node: u32) -> Cuts {
        let tree = &self.trees[column];
        let codes = &tree.branch(node).codes;
        let mut next = cuts.clone();
        next[column].retain(|other| !codes.contains(&tree.branch(*other).codes.start));
        next[column].push(node);
        next[column].sort_unstable();
        next
    }

    /// A cut one random step more general, with its cost in the paper's unit. Steps after which too
    /// much is suppressed are not taken. `below(n)` draws a number below `n`. `None` if no step is
    /// left.
    pub fn generalized(
        &self,
        cuts: &Cuts,
        below: impl FnOnce(u64) -> Result<u64>,
    ) -> Result<Option<(f64, Cuts)>> {
        let mut steps = Vec::new();
        for (column, parent) in self.parents(cuts) {
            let next = self.said_by(cuts, column, parent);
            let cost = self.cost(&next)?;
            if cost.is_finite() {
                steps.push((cost, next));
            }
        }
        if steps.is_empty() {
            return Ok(None);
        }
        let drawn = below(steps.len() as u64)? as usize;
        Ok(steps.into_iter().nth(drawn))
    }

    /// A cut one random step away, more general or more specific.
    pub(super) fn neighbour(&self, cuts: &Cuts, random: &mut Random) -> Option<Cuts> {
        let mut open: Vec<(usize, u32)> = Vec::new();
        for (column, cut) in cuts.iter().enumerate() {
            open.extend(
                cut.iter()
                    .filter(|node| !self.trees[column].branch(**node).is_leaf())
                    .map(|node| (column, *node)),
            );
        }
        if open.is_empty() || random.below(2) == 0 {
            let parents = self.parents(cuts);
            let drawn = random.below(parents.len().max(1) as u64) as usize;
            if let Some((column, parent)) = parents.get(drawn) {
                return Some(self.said_by(cuts, *column, *parent));
            }
        }
        let (column, node) = *open.get(random.below(open.len().max(1) as u64) as usize)?;
        let mut next = cuts.clone();
        next[column].retain(|other| *other != node);
        next[column].extend(&self.trees[column].branch(node).children);
        next[column].sort_unstable();
        Some(next)
    }
}
