//! Nodes of the lattice, small enough to copy and quick to compare.
//!
//! The level of each column stands in a bit field with one spare bit above it. Setting the spare
//! bits of a coarser node and subtracting a finer one borrows from no spare bit, so one subtraction
//! compares all columns at once.

use crate::error::{Error, Result};
use crate::watch::{PIECE, Watch};

/// The most nodes that are searched.
pub const MOST_NODES: u64 = 1 << 26;

/// A level for each column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(u128);

/// The shape of the lattice: the height of each column's tree, and where its level stands in a
/// node.
#[derive(Clone, Debug)]
pub struct Lattice {
    heights: Vec<usize>,
    shifts: Vec<u32>,
    masks: Vec<u128>,
    spare: u128,
    space: u64,
}

impl Lattice {
    /// The lattice over trees of these heights.
    pub fn new(heights: Vec<usize>) -> Result<Lattice> {
        let nodes: f64 = heights.iter().map(|height| *height as f64 + 1.0).product();
        let space =
            heights.iter().try_fold(1u64, |space, height| space.checked_mul(*height as u64 + 1));
        let too_large = || Error::SpaceTooLarge { nodes, most: MOST_NODES };
        let space = space.filter(|space| *space <= MOST_NODES).ok_or_else(too_large)?;
        let (mut shifts, mut masks, mut spare, mut shift) = (Vec::new(), Vec::new(), 0u128, 0u32);
        for height in &heights {
            let bits = usize::BITS - height.leading_zeros();
            // 2^26 nodes need at most 26 bits, and at most 26 columns round up and have a spare
            // bit.
            if shift + bits + 1 > u128::BITS {
                return Err(too_large());
            }
            shifts.push(shift);
            masks.push((1 << bits) - 1);
            spare |= 1 << (shift + bits);
            shift += bits + 1;
        }
        Ok(Lattice { heights, shifts, masks, spare, space })
    }

    /// How many nodes there are.
    pub fn space(&self) -> u64 {
        self.space
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.heights.len()
    }

    /// The finest node.
    pub fn bottom(&self) -> Node {
        Node(0)
    }

    /// The coarsest node.
    pub fn top(&self) -> Node {
        self.node(&self.heights)
    }

    /// The node with these levels.
    pub fn node(&self, levels: &[usize]) -> Node {
        Node(
            levels
                .iter()
                .zip(&self.shifts)
                .fold(0, |node, (level, shift)| node | (*level as u128) << shift),
        )
    }

    /// The level of a column.
    pub fn level(&self, node: Node, column: usize) -> usize {
        (node.0 >> self.shifts[column] & self.masks[column]) as usize
    }

    /// The levels of all columns.
    pub fn levels(&self, node: Node) -> Vec<usize> {
        (0..self.columns()).map(|column| self.level(node, column)).collect()
    }

    /// The same node with another level of one column.
    pub fn with(&self, node: Node, column: usize, level: usize) -> Node {
        let cleared = node.0 & !(self.masks[column] << self.shifts[column]);
        Node(cleared | (level as u128) << self.shifts[column])
    }

    /// The node one step coarser in a column, unless that is at its root.
    pub fn raised(&self, node: Node, column: usize) -> Option<Node> {
        (self.level(node, column) < self.heights[column])
            .then(|| Node(node.0 + (1 << self.shifts[column])))
    }

    /// The node one step finer in a column, unless that is at its leaves.
    pub fn lowered(&self, node: Node, column: usize) -> Option<Node> {
        (self.level(node, column) > 0).then(|| Node(node.0 - (1 << self.shifts[column])))
    }

    /// Whether `fine` is the same node as `coarse` or finer.
    pub fn is_finer(&self, fine: Node, coarse: Node) -> bool {
        ((coarse.0 | self.spare) - fine.0) & self.spare == self.spare
    }

    /// The coarser neighbours from which every node but the bottom is reached on one way only:
    /// those raised in the last raised column or a later one.
    pub fn successors(&self, node: Node) -> impl Iterator<Item = Node> + '_ {
        let last =
            (0..self.columns()).rev().find(|column| self.level(node, *column) > 0).unwrap_or(0);
        (last..self.columns()).filter_map(move |column| self.raised(node, column))
    }

    /// Every node, the finest first: in ascending order of the sum of levels.
    pub fn by_height(&self, watch: &Watch) -> Result<Vec<Node>> {
        let mut nodes = vec![self.bottom()];
        let mut next = 0;
        while let Some(node) = nodes.get(next).copied() {
            nodes.extend(self.successors(node));
            next += 1;
            if next % PIECE == 0 {
                watch.check()?;
            }
        }
        Ok(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nodes_are_their_levels(heights in prop::collection::vec(0usize..6, 1..6), pick in any::<[u16; 12]>()) {
            let lattice = Lattice::new(heights.clone()).unwrap();
            let levels = |from: usize| -> Vec<usize> {
                heights.iter().enumerate().map(|(i, height)| pick[from + i] as usize % (height + 1)).collect()
            };
            let (a, b) = (levels(0), levels(6));
            let (x, y) = (lattice.node(&a), lattice.node(&b));
            prop_assert_eq!(lattice.levels(x), a.clone());
            prop_assert_eq!(lattice.is_finer(x, y), a.iter().zip(&b).all(|(a, b)| a <= b));
            prop_assert!(lattice.is_finer(lattice.bottom(), x) && lattice.is_finer(x, lattice.top()));
            for column in 0..heights.len() {
                prop_assert_eq!(lattice.with(x, column, b[column]), {
                    let mut mixed = a.clone();
                    mixed[column] = b[column];
                    lattice.node(&mixed)
                });
            }
        }

        #[test]
        fn every_node_is_listed_once_and_the_finest_come_first(heights in prop::collection::vec(0usize..4, 1..5)) {
            let lattice = Lattice::new(heights).unwrap();
            let nodes = lattice.by_height(&Watch::silent()).unwrap();
            prop_assert_eq!(nodes.len() as u64, lattice.space());
            prop_assert_eq!(nodes.iter().collect::<std::collections::HashSet<_>>().len(), nodes.len());
            let sums: Vec<usize> = nodes.iter().map(|node| lattice.levels(*node).iter().sum()).collect();
            prop_assert!(sums.is_sorted());
        }
    }

    #[test]
    fn a_space_past_the_limit_is_refused() {
        assert!(Lattice::new(vec![1; 26]).is_ok());
        assert!(Lattice::new(vec![1; 27]).is_err());
        assert!(Lattice::new(vec![usize::MAX - 1, 3]).is_err());
    }
}
