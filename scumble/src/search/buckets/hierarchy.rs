//! A domain as a tree whose edges have weights: the target distribution, said level by level.
//!
//! Koudas et al. 2009, section 3.1. Leaves are the values in ascending order (or in the order of a
//! taxonomy), so every node is a range of leaves. The weights of siblings are whole numbers without
//! a common divisor; the probability of a value is the product of its shares on the way from the
//! root.

use crate::ratio::greatest_common_divisor;
use std::ops::Range;

/// What the range of a subdomain is.
#[derive(Clone, Copy, Debug)]
pub enum Measure<'a> {
    /// The difference of its last and its first value; the values of all leaves, ascending.
    Numbers(&'a [i64]),
    /// The number of its values (footnote 3 of the paper).
    Categories,
}

/// How a domain is cut into subdomains.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Each node has so many children, as equal as possible, the larger ones first.
    Balanced {
        /// At least 2.
        arity: u32,
    },
    /// Levels from the coarsest to the finest; each is the leaves at which its nodes begin.
    Levels(Vec<Vec<u32>>),
}

impl Shape {
    /// The parts of a node of at least two leaves.
    fn split(&self, leaves: &Range<u32>) -> Vec<Range<u32>> {
        let starts: Vec<u32> = match self {
            Shape::Balanced { arity } => {
                let (length, parts) =
                    (leaves.end - leaves.start, (*arity).clamp(2, leaves.end - leaves.start));
                let size = |part: u32| length / parts + u32::from(part < length % parts);
                let begin = |start: &mut u32, part: u32| {
                    let this = *start;
                    *start += size(part);
                    Some(this)
                };
                (0..parts).scan(leaves.start, begin).collect()
            }
            Shape::Levels(levels) => {
                let inside =
                    |level: &&Vec<u32>| cut(level, leaves).is_some_and(|(from, to)| to > from);
                match levels.iter().find(inside) {
                    Some(level) => {
                        let (from, to) = cut(level, leaves).unwrap_or((0, 0));
                        [leaves.start].into_iter().chain(level[from..to].iter().copied()).collect()
                    }
                    None => leaves.clone().collect(),
                }
            }
        };
        let ends = starts.iter().skip(1).copied().chain([leaves.end]);
        starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
    }
}

/// The positions of the beginnings of a level strictly inside a node.
fn cut(level: &[u32], leaves: &Range<u32>) -> Option<(usize, usize)> {
    let from = level.partition_point(|start| *start <= leaves.start);
    let to = level.partition_point(|start| *start < leaves.end);
    (from <= to).then_some((from, to))
}

/// A subdomain: a node of the hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subdomain {
    /// Its values.
    pub leaves: Range<u32>,
    /// Its children, empty for a leaf.
    pub children: Range<u32>,
    /// The node above; the root's is itself.
    pub parent: u32,
    /// The weight of the edge to the node above, without a divisor that all siblings share.
    pub weight: u64,
    /// The weights of its children, summed; 0 for a leaf.
    pub unit: u64,
    /// Its range.
    pub range: u64,
}

/// A privacy-annotated hierarchy: the tree of a domain with the weights of a target distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotated {
    nodes: Vec<Subdomain>,
}

/// Node 0.
pub const ROOT: u32 = 0;

impl Annotated {
    /// A tree without weights: each is 1. There must be a leaf.
    fn tree(leaves: u32, shape: &Shape, measure: Measure<'_>) -> Annotated {
        assert!(leaves > 0, "a domain has values");
        let range = |leaves: &Range<u32>| match measure {
            Measure::Numbers(values) => {
                values[leaves.end as usize - 1].abs_diff(values[leaves.start as usize])
            }
            Measure::Categories => u64::from(leaves.end - leaves.start),
        };
        let node = |leaves: Range<u32>, parent: u32| {
            let range = range(&leaves);
            Subdomain { leaves, children: 0..0, parent, weight: 1, unit: 0, range }
        };
        // Every node has two children or none, or more, and then there are fewer nodes.
        let mut nodes = Vec::with_capacity(2 * leaves as usize);
        nodes.push(node(0..leaves, ROOT));
        let mut next = 0;
        while next < nodes.len() {
            if nodes[next].leaves.len() > 1 {
                let parts = shape.split(&nodes[next].leaves);
                let first = nodes.len() as u32;
                nodes[next].children = first..first + parts.len() as u32;
                nodes[next].unit = parts.len() as u64;
                nodes.extend(parts.into_iter().map(|part| node(part, next as u32)));
            }
            next += 1;
        }
        Annotated { nodes }
    }

    /// The hierarchy of a distribution with whole weights, exactly. Each weight must be above 0,
    /// and their sum must fit.
    pub fn exact(weights: &[u64], shape: &Shape, measure: Measure<'_>) -> Annotated {
        let mut hierarchy = Annotated::tree(weights.len() as u32, shape, measure);
        let mut sums = vec![0u64; weights.len() + 1];
        for (leaf, weight) in weights.iter().enumerate() {
            assert!(*weight > 0, "a value without weight is not in the domain");
            sums[leaf + 1] = sums[leaf] + weight;
        }
        hierarchy.weigh(|nodes| {
            let mass = |node: &Subdomain| {
                sums[node.leaves.end as usize] - sums[node.leaves.start as usize]
            };
            nodes.iter().map(mass).collect()
        });
        hierarchy
    }

    /// A tree whose edges are weighed by `weights`, which gets the children of a node and returns a
    /// weight for each.
    pub(super) fn weighed(
        leaves: u32,
        shape: &Shape,
        measure: Measure<'_>,
        weights: impl FnMut(&[Subdomain]) -> Vec<u64>,
    ) -> Annotated {
        let mut hierarchy = Annotated::tree(leaves, shape, measure);
        hierarchy.weigh(weights);
        hierarchy
    }

    fn weigh(&mut self, mut weights: impl FnMut(&[Subdomain]) -> Vec<u64>) {
        for node in 0..self.nodes.len() {
            let children =
                self.nodes[node].children.start as usize..self.nodes[node].children.end as usize;
            if children.is_empty() {
                continue;
            }
            let found = weights(&self.nodes[children.clone()]);
            let common =
                found.iter().fold(0, |common, weight| greatest_common_divisor(common, *weight));
            for (child, weight) in self.nodes[children].iter_mut().zip(&found) {
                child.weight = weight / common;
            }
            self.nodes[node].unit = found.iter().map(|weight| weight / common).sum();
        }
    }

    /// All nodes; parents stand before their children, node 0 is the root.
    pub fn nodes(&self) -> &[Subdomain] {
        &self.nodes
    }

    /// A node.
    pub fn node(&self, node: u32) -> &Subdomain {
        &self.nodes[node as usize]
    }

    /// The children of a node.
    pub fn children(&self, node: u32) -> &[Subdomain] {
        let Range { start, end } = self.nodes[node as usize].children;
        &self.nodes[start as usize..end as usize]
    }

    /// How many values the domain has.
    pub fn leaves(&self) -> u32 {
        self.nodes[0].leaves.end
    }

    /// The node of each leaf.
    pub fn leaf_nodes(&self) -> Vec<u32> {
        let mut found = vec![0; self.leaves() as usize];
        for (number, node) in
            self.nodes.iter().enumerate().filter(|(_, node)| node.children.is_empty())
        {
            found[node.leaves.start as usize] = number as u32;
        }
        found
    }

    /// The probability of each leaf, as near as floats come.
    pub fn probabilities(&self) -> Vec<f64> {
        let mut shares = vec![1.0; self.nodes.len()];
        for number in 1..self.nodes.len() {
            let node = &self.nodes[number];
            let above = node.parent as usize;
            shares[number] = shares[above] * node.weight as f64 / self.nodes[above].unit as f64;
        }
        self.leaf_nodes().into_iter().map(|node| shares[node as usize]).collect()
    }

    /// The ranges of some subdomains with copies, summed.
    pub fn sum_of_ranges(&self, subdomains: &[(u32, u32)]) -> u64 {
        subdomains.iter().map(|(node, copies)| self.node(*node).range * u64::from(*copies)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_3_is_a_balanced_binary_tree_with_weights_one() {
        let tree = Annotated::exact(
            &[5; 4],
            &Shape::Balanced { arity: 2 },
            Measure::Numbers(&[30, 40, 50, 60]),
        );
        let shown: Vec<(Range<u32>, u64, u64)> = tree
            .nodes()
            .iter()
            .map(|node| (node.leaves.clone(), node.weight, node.range))
            .collect();
        assert_eq!(
            shown,
            [
                (0..4, 1, 30),
                (0..2, 1, 10),
                (2..4, 1, 10),
                (0..1, 1, 0),
                (1..2, 1, 0),
                (2..3, 1, 0),
                (3..4, 1, 0)
            ]
        );
        assert_eq!(tree.probabilities(), [0.25; 4]);
    }

    #[test]
    fn shapes_partition_every_node() {
        let levels = vec![vec![0], vec![0, 4], vec![0, 2, 4], vec![0, 2, 4, 5, 6]];
        let shapes = [
            Shape::Balanced { arity: 2 },
            Shape::Balanced { arity: 3 },
            Shape::Balanced { arity: 100 },
            Shape::Levels(levels),
            Shape::Levels(vec![]),
        ];
        for shape in shapes {
            let weights = [3, 1, 4, 1, 5, 9, 2];
            let tree = Annotated::exact(&weights, &shape, Measure::Categories);
            for (number, node) in tree.nodes().iter().enumerate() {
                let children = tree.children(number as u32);
                assert_eq!(children.is_empty(), node.leaves.len() == 1);
                let mut next = node.leaves.start;
                for child in children {
                    assert_eq!((child.leaves.start, child.parent), (next, number as u32));
                    next = child.leaves.end;
                }
                assert!(children.is_empty() || next == node.leaves.end);
            }
            let total: u64 = weights.iter().sum();
            for (probability, weight) in tree.probabilities().iter().zip(weights) {
                assert!((probability - weight as f64 / total as f64).abs() < 1e-12);
            }
        }
    }
}
