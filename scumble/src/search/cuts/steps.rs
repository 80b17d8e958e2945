//! Single cuts: what one costs, and the cuts one step away.

use super::enumeration::{AssessmentScratch, Subtree};
use super::{Cuts, Machine};
use crate::error::Result;
use crate::random::Random;
use std::convert::Infallible;

impl Machine {
    /// What a cut costs, in the paper's unit; infinite where it cannot be released.
    pub fn cost(&self, cuts: &Cuts) -> Result<f64> {
        Ok(self.reported(self.cost_with(cuts, &mut AssessmentScratch::default())?))
    }

    pub(super) fn cost_with(&self, cuts: &Cuts, scratch: &mut AssessmentScratch) -> Result<f64> {
        let last = self.widest();
        let costs = Subtree::only(self, last, cuts)?.assess(self, last, true, None, scratch)?.costs;
        Ok(cuts[last].iter().map(|node| costs[*node as usize]).sum())
    }

    /// A cut one random step more general: a value is said by its parent, and so are all that lie
    /// below that. `below(n)` draws a number below `n`. `None` if nothing is left to generalize.
    pub fn generalized<E>(
        &self,
        cuts: &Cuts,
        below: impl FnOnce(u64) -> Result<u64, E>,
    ) -> Result<Option<Cuts>, E> {
        let mut parents: Vec<(usize, u32)> = Vec::new();
        for (column, cut) in cuts.iter().enumerate() {
            let of_column = cut.iter().filter_map(|node| self.trees[column].branch(*node).parent);
            parents.extend(of_column.map(|parent| (column, parent)));
        }
        parents.sort_unstable();
        parents.dedup();
        let drawn = below(parents.len().max(1) as u64)? as usize;
        let Some((column, parent)) = parents.get(drawn).copied() else { return Ok(None) };
        let tree = &self.trees[column];
        let mut next = cuts.clone();
        next[column]
            .retain(|node| !tree.branch(parent).codes.contains(&tree.branch(*node).codes.start));
        next[column].push(parent);
        next[column].sort_unstable();
        Ok(Some(next))
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
        if (open.is_empty() || random.below(2) == 0)
            && let Ok(Some(next)) =
                self.generalized(cuts, |n| Ok::<u64, Infallible>(random.below(n)))
        {
            return Some(next);
        }
        let (column, node) = *open.get(random.below(open.len().max(1) as u64) as usize)?;
        let mut next = cuts.clone();
        next[column].retain(|other| *other != node);
        next[column].extend(&self.trees[column].branch(node).children);
        next[column].sort_unstable();
        Some(next)
    }
}
