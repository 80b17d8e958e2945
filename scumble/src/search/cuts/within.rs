//! The best cuts of one tree that suppress no more than is allowed.
//!
//! Without a limit the best cut is the least sum over the tree. With one, a subtree may have to be
//! said in a dearer way that suppresses less, so every way is kept that no other one beats in both
//! cost and suppression. A way is dropped early if even the best of the rest of the tree cannot make
//! it allowable, or cheaper than what is known.

use super::{Price, Rules, Tree};
use crate::error::Result;
use crate::watch::Watch;
use std::collections::BinaryHeap;

/// What is asked of a cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) rules: &'a Rules,
    /// How many cuts are wanted.
    pub(super) most: usize,
    /// What they must cost less than.
    pub(super) below: f64,
}

/// A way to say a part of the tree.
#[derive(Clone, Copy, Debug)]
struct Way {
    price: Price,
    /// Its number among the steps.
    step: u32,
}

/// How a way came about.
#[derive(Clone, Copy, Debug)]
enum Step {
    Node(u32),
    Both(u32, u32),
}

/// What the rest of the tree adds at least.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    penalized: f64,
    lost: f64,
}

/// Just below a sum of floats that may be rounded up.
const BELOW: f64 = 1.0 - 1e-12;

impl Wanted<'_> {
    /// Whether a way may be part of a cut that is wanted.
    fn has_hope(&self, price: Price, rest: Rest) -> bool {
        let penalized = (self.rules.penalized(price) + rest.penalized) * BELOW;
        price.cost < f64::INFINITY
            && price.lost as f64 + rest.lost <= self.rules.suppressible as f64
            && penalized - self.rules.returned() < self.below
    }

    /// Leaves out ways that are beaten by as many others as are wanted. Of equal ones the first
    /// stay.
    fn thin(&self, ways: &mut Vec<Way>) {
        ways.sort_by(|a, b| {
            a.price.cost.total_cmp(&b.price.cost).then(a.price.lost.cmp(&b.price.lost))
        });
        // The losses of the best ways so far, the largest on top.
        let mut least: BinaryHeap<u64> = BinaryHeap::new();
        ways.retain(|way| {
            let is_beaten = least.len() >= self.most
                && least.peek().is_some_and(|most| *most <= way.price.lost);
            if !is_beaten {
                least.push(way.price.lost);
                if least.len() > self.most {
                    least.pop();
                }
            }
            !is_beaten
        });
    }
}

impl Tree {
    /// The cheapest cuts that suppress no more than is allowed, the cheapest first; `prices` has
    /// what each node costs.
    pub(super) fn best_cuts_within(
        &self,
        prices: &[Price],
        wanted: Wanted<'_>,
        watch: &Watch,
    ) -> Result<Vec<(Price, Vec<u32>)>> {
        let penalized: Vec<f64> =
            prices.iter().map(|price| wanted.rules.penalized(*price)).collect();
        let lost = |price: &Price| match price.cost {
            f64::INFINITY => f64::INFINITY,
            _ => price.lost as f64,
        };
        let lost: Vec<f64> = prices.iter().map(lost).collect();
        let (least, least_lost) = (self.least_below(&penalized), self.least_below(&lost));
        let (outside, outside_lost) = (self.outside(&least), self.outside(&least_lost));
        let mut steps: Vec<Step> = Vec::new();
        let mut ways: Vec<Vec<Way>> = Vec::with_capacity(self.branches().len());
        for (number, branch) in self.branches().iter().enumerate() {
            watch.check()?;
            let mut here: Vec<Way> = Vec::new();
            let rest = Rest { penalized: outside[number], lost: outside_lost[number] };
            let later = after(&branch.children, &least);
            let later_lost = after(&branch.children, &least_lost);
            for (at, child) in branch.children.iter().enumerate() {
                let of_child = std::mem::take(&mut ways[*child as usize]);
                if at == 0 {
                    here = of_child;
                    continue;
                }
                watch.check()?;
                let siblings = Rest {
                    penalized: rest.penalized + later[at],
                    lost: rest.lost + later_lost[at],
                };
                let mut both = Vec::new();
                for a in &here {
                    for b in &of_child {
                        let price = a.price.with(b.price);
                        if wanted.has_hope(price, siblings) {
                            both.push(Way { price, step: steps.len() as u32 });
                            steps.push(Step::Both(a.step, b.step));
                        }
                    }
                }
                here = both;
                wanted.thin(&mut here);
            }
            if wanted.has_hope(prices[number], rest) {
                here.push(Way { price: prices[number], step: steps.len() as u32 });
                steps.push(Step::Node(number as u32));
                wanted.thin(&mut here);
            }
            ways.push(here);
        }
        let mut best = ways.pop().unwrap_or_default();
        best.truncate(wanted.most);
        Ok(best.into_iter().map(|way| (way.price, nodes(&steps, way.step))).collect())
    }

    /// The least sum of costs over the cuts of each node's own subtree.
    fn least_below(&self, costs: &[f64]) -> Vec<f64> {
        let mut least = costs.to_vec();
        for (number, branch) in self.branches().iter().enumerate() {
            if !branch.is_leaf() {
                let below: f64 = branch.children.iter().map(|child| least[*child as usize]).sum();
                least[number] = least[number].min(below);
            }
        }
        least
    }

    /// The least sum over what is not below each node, if a cut goes through it or below it.
    fn outside(&self, least: &[f64]) -> Vec<f64> {
        let mut outside = vec![0.0; least.len()];
        for (number, branch) in self.branches().iter().enumerate().rev() {
            let mut before = outside[number];
            let after = after(&branch.children, least);
            for (child, after) in branch.children.iter().zip(after) {
                outside[*child as usize] = before + after;
                before += least[*child as usize];
            }
        }
        outside
    }
}

/// For each child, the least sum over those after it.
fn after(children: &[u32], least: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; children.len()];
    for at in (1..children.len()).rev() {
        sums[at - 1] = sums[at] + least[children[at] as usize];
    }
    sums
}

/// The nodes of a way, in ascending order.
fn nodes(steps: &[Step], step: u32) -> Vec<u32> {
    let mut cut = Vec::new();
    let mut open = vec![step];
    while let Some(step) = open.pop() {
        match steps[step as usize] {
            Step::Node(node) => cut.push(node),
            Step::Both(a, b) => open.extend([a, b]),
        }
    }
    cut.sort_unstable();
    cut
}
