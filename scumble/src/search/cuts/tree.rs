//! The trees that cuts go through: what is left of a taxonomy when only choices that matter are
//! kept.
//!
//! A node below which all rows lie under one child says the same of the table as that child and
//! loses no less, so no best cut needs it: a chain of such nodes is one node here, said by the
//! lowest of them. Nodes without rows are no nodes here; [`Tree::cut`] puts them back.

use crate::error::Result;
use crate::taxonomy::{Cut, Taxonomy, TreeNode};
use crate::watch::Watch;
use rustc_hash::FxHashSet;

/// A node of a [`Tree`].
#[derive(Clone, Debug)]
pub struct Branch {
    /// Nodes one step more specific; none below a leaf.
    pub children: Vec<u32>,
    /// The node one step more general.
    pub parent: Option<u32>,
    /// The codes of the column below it.
    pub codes: std::ops::Range<u32>,
    /// Rows below it: its occurrences.
    pub rows: u64,
    /// What LM counts for a row said by it, in leaves.
    pub lost: u64,
    /// How many cuts of this tree go through it or below it.
    pub cuts: f64,
    /// The node of the taxonomy that says it.
    node: TreeNode,
}

impl Branch {
    /// Whether it cannot be specialized.
    pub fn is_leaf(&self) -> bool {
        self.children.is_empty()
    }
}

/// The choices in one column. Children come before their parents; the root is the last node.
#[derive(Clone, Debug)]
pub struct Tree {
    branches: Vec<Branch>,
    /// The leaf of each code; `u32::MAX` where no row has it.
    leaf_of: Vec<u32>,
}

impl Tree {
    /// The tree of a column; `rows[code]` counts its values.
    pub fn new(taxonomy: &Taxonomy, rows: &[u64]) -> Tree {
        Tree::above_level(taxonomy, rows, 0)
    }

    /// The same without what is below a level. The rows of a node of that level are counted at its
    /// first code.
    pub fn above_level(taxonomy: &Taxonomy, rows: &[u64], lowest: usize) -> Tree {
        let mut below = vec![0u64];
        for count in rows {
            below.push(below[below.len() - 1] + count);
        }
        let mut tree = Tree { branches: Vec::new(), leaf_of: vec![u32::MAX; rows.len()] };
        tree.grow(taxonomy, &below, lowest, TreeNode { level: taxonomy.height(), index: 0 });
        tree
    }

    /// Adds what lies below a node that has rows; returns its number. `below[code]` counts the rows
    /// before a code.
    fn grow(&mut self, taxonomy: &Taxonomy, below: &[u64], lowest: usize, node: TreeNode) -> u32 {
        let level = taxonomy.level(node.level);
        let codes = level.range(node.index);
        let count =
            |codes: &std::ops::Range<u32>| below[codes.end as usize] - below[codes.start as usize];
        let mut children = Vec::new();
        if let Some(lower) = node.level.checked_sub(1).filter(|lower| *lower >= lowest) {
            let finer = taxonomy.level(lower);
            let all = finer.node_of(codes.start)..=finer.node_of(codes.end - 1);
            let with_rows = |index: &u32| count(&finer.range(*index)) > 0;
            children =
                all.filter(with_rows).map(|index| TreeNode { level: lower, index }).collect();
            if let [only] = children[..] {
                return self.grow(taxonomy, below, lowest, only);
            }
        }
        let children: Vec<u32> =
            children.into_iter().map(|child| self.grow(taxonomy, below, lowest, child)).collect();
        let number = self.branches.len() as u32;
        for child in &children {
            self.branches[*child as usize].parent = Some(number);
        }
        if children.is_empty() {
            self.leaf_of[codes.start as usize] = number;
        }
        let cuts =
            children.iter().map(|child| self.branches[*child as usize].cuts).product::<f64>();
        self.branches.push(Branch {
            cuts: if children.is_empty() { 1.0 } else { 1.0 + cuts },
            children,
            parent: None,
            rows: count(&codes),
            codes,
            lost: level.leaves(node.index) - 1,
            node,
        });
        number
    }

    /// The nodes, children before parents.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// A node.
    pub fn branch(&self, number: u32) -> &Branch {
        &self.branches[number as usize]
    }

    /// The root.
    pub fn root(&self) -> u32 {
        self.branches.len() as u32 - 1
    }

    /// The leaf of a code that some row has.
    pub fn leaf(&self, code: u32) -> u32 {
        self.leaf_of[code as usize]
    }

    /// The distance of a node from the root.
    pub fn depth(&self, number: u32) -> usize {
        std::iter::successors(Some(number), |at| self.branch(*at).parent).count() - 1
    }

    /// The node of a cut above each leaf, for every leaf below the cut: `above[leaf]`.
    pub fn above(&self, cut: &[u32]) -> Vec<u32> {
        let mut above = vec![u32::MAX; self.branches.len()];
        for node in cut {
            above[*node as usize] = *node;
        }
        for number in (0..self.branches.len()).rev() {
            if let Some(parent) = self.branches[number].parent
                && above[parent as usize] != u32::MAX
            {
                above[number] = above[parent as usize];
            }
        }
        above
    }

    /// The cut that stops at the first nodes, from the root down, that say so.
    pub fn cut_of_stops(&self, stops: &[bool]) -> Vec<u32> {
        let mut cut = Vec::new();
        let mut open = vec![self.root()];
        while let Some(node) = open.pop() {
            let branch = self.branch(node);
            if stops[node as usize] || branch.is_leaf() {
                cut.push(node);
            } else {
                open.extend(&branch.children);
            }
        }
        cut.sort_unstable();
        cut
    }

    /// The least sum of the nodes' costs over all cuts.
    pub fn least(&self, costs: &[f64]) -> f64 {
        let mut least = costs.to_vec();
        for (number, branch) in
            self.branches.iter().enumerate().filter(|(_, branch)| !branch.is_leaf())
        {
            let below: f64 = branch.children.iter().map(|child| least[*child as usize]).sum();
            least[number] = least[number].min(below);
        }
        least[least.len() - 1]
    }

    /// The `most` cuts with the least sums of finite costs, the least first; of equal ones the
    /// finer first.
    pub fn best_cuts(
        &self,
        costs: &[f64],
        most: usize,
        watch: &Watch,
    ) -> Result<Vec<(f64, Vec<u32>)>> {
        let mut best: Vec<Vec<(f64, Vec<u32>)>> = Vec::with_capacity(self.branches.len());
        for (number, branch) in self.branches.iter().enumerate() {
            let mut here = Vec::new();
            if let Some((first, others)) = branch.children.split_first() {
                here = std::mem::take(&mut best[*first as usize]);
                for child in others {
                    watch.check()?;
                    let child = std::mem::take(&mut best[*child as usize]);
                    let pair = |a: &(f64, Vec<u32>), b: &(f64, Vec<u32>)| {
                        (a.0 + b.0, [&a.1[..], &b.1].concat())
                    };
                    here =
                        here.iter().flat_map(|a| child.iter().map(move |b| pair(a, b))).collect();
                    here.sort_by(|a, b| a.0.total_cmp(&b.0));
                    here.truncate(most);
                }
            }
            if costs[number] < f64::INFINITY {
                here.push((costs[number], vec![number as u32]));
            }
            here.sort_by(|a, b| a.0.total_cmp(&b.0));
            here.truncate(most);
            best.push(here);
        }
        Ok(best.pop().unwrap_or_default())
    }

    /// A cut of this tree as a cut of its taxonomy. What no row has is said as generally as it can
    /// be.
    pub fn cut(&self, taxonomy: &Taxonomy, cut: &[u32]) -> Option<Cut> {
        let chosen: FxHashSet<TreeNode> =
            cut.iter().map(|number| self.branch(*number).node).collect();
        let mut nodes = Vec::new();
        let mut open = vec![TreeNode { level: taxonomy.height(), index: 0 }];
        while let Some(node) = open.pop() {
            let codes = taxonomy.level(node.level).range(node.index);
            let has_rows = codes.clone().any(|code| self.leaf_of[code as usize] != u32::MAX);
            if chosen.contains(&node) || !has_rows || node.level == 0 {
                nodes.push(node);
                continue;
            }
            let finer = taxonomy.level(node.level - 1);
            let children = finer.node_of(codes.start)..=finer.node_of(codes.end - 1);
            open.extend(children.map(|index| TreeNode { level: node.level - 1, index }));
        }
        Cut::new(taxonomy, nodes)
    }
}
