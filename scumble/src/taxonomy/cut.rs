//! Cuts: a set of nodes that together cover every leaf exactly once.
//!
//! A level is a cut whose nodes have the same depth; full-subtree recoding may cut deeper on one
//! branch than on another.

use super::Taxonomy;

/// A node of a taxonomy: its level and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeNode {
    /// The level; level 0 has the leaves.
    pub level: usize,
    /// The number within the level.
    pub index: u32,
}

/// Nodes that cover every leaf exactly once, in the order of the leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    nodes: Vec<TreeNode>,
    node_of: Vec<u32>,
}

impl Cut {
    /// The cut with these nodes, or `None` if they overlap, leave a gap or do not exist.
    pub fn new(taxonomy: &Taxonomy, mut nodes: Vec<TreeNode>) -> Option<Cut> {
        let range = |node: &TreeNode| {
            let level = taxonomy.levels().get(node.level)?;
            ((node.index as usize) < level.len()).then(|| level.range(node.index))
        };
        if nodes.iter().any(|node| range(node).is_none()) {
            return None;
        }
        nodes.sort_by_key(|node| range(node).map(|range| range.start));
        let mut node_of = Vec::with_capacity(taxonomy.codes() as usize);
        for (number, node) in nodes.iter().enumerate() {
            let range = range(node)?;
            if range.start as usize != node_of.len() {
                return None;
            }
            node_of.resize(range.end as usize, number as u32);
        }
        (node_of.len() == taxonomy.codes() as usize).then_some(Cut { nodes, node_of })
    }

    /// The cut through one level.
    pub fn at_level(taxonomy: &Taxonomy, level: usize) -> Cut {
        let nodes = (0..taxonomy.level(level).len() as u32)
            .map(|index| TreeNode { level, index })
            .collect();
        Cut { nodes, node_of: taxonomy.level(level).nodes().to_vec() }
    }

    /// The nodes in the order of their leaves.
    pub fn nodes(&self) -> &[TreeNode] {
        &self.nodes
    }

    /// For each leaf, the position in [`nodes`](Self::nodes) of the node that covers it.
    pub fn node_of(&self) -> &[u32] {
        &self.node_of
    }

    /// The node that covers a leaf.
    pub fn node(&self, code: u32) -> TreeNode {
        self.nodes[self.node_of[code as usize] as usize]
    }

    /// The number of cuts of a taxonomy, or `None` if it exceeds 128 bits. A cut of a tree is its
    /// root alone, or a cut of each child. A node with one child is equivalent to the child, but
    /// both count.
    pub fn count(taxonomy: &Taxonomy) -> Option<u128> {
        fn below(taxonomy: &Taxonomy, level: usize, index: u32) -> Option<u128> {
            let Some(child_level) = level.checked_sub(1) else { return Some(1) };
            let range = taxonomy.level(level).range(index);
            let children = taxonomy.level(child_level);
            let (first, last) = (children.node_of(range.start), children.node_of(range.end - 1));
            let mut product = 1u128;
            for child in first..=last {
                product = product.checked_mul(below(taxonomy, child_level, child)?)?;
            }
            product.checked_add(1)
        }
        below(taxonomy, taxonomy.height(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Taxonomy {
        let paths = vec![
            vec!["a", "x", "*"],
            vec!["b", "x", "*"],
            vec!["c", "y", "*"],
            vec!["d", "y", "*"],
        ];
        Taxonomy::from_paths("t".into(), &paths, false).unwrap().0
    }

    #[test]
    fn a_cut_covers_every_leaf_once() {
        let tree = tree();
        let node = |level, index| TreeNode { level, index };
        let cut = Cut::new(&tree, vec![node(1, 1), node(0, 0), node(0, 1)]).unwrap();
        assert_eq!((cut.node(0), cut.node(3)), (node(0, 0), node(1, 1)));
        assert_eq!(Cut::new(&tree, vec![node(1, 1)]), None, "a gap");
        assert_eq!(Cut::new(&tree, vec![node(1, 0), node(1, 1), node(0, 0)]), None, "an overlap");
        assert_eq!(Cut::new(&tree, vec![node(3, 0)]), None, "no such node");
        assert_eq!(Cut::new(&tree, vec![node(1, 0), node(1, 1)]), Some(Cut::at_level(&tree, 1)));
    }

    #[test]
    fn cuts_are_counted() {
        // The root; or for each of x and y: itself or its two leaves.
        assert_eq!(Cut::count(&tree()), Some(1 + 2 * 2));
        let chain = Taxonomy::from_paths("t".into(), &[vec!["a", "x", "*"]], false).unwrap().0;
        assert_eq!(Cut::count(&chain), Some(3));
    }
}
