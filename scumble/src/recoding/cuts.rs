//! A cut, described by the labels of its nodes.

use crate::error::quoted;
use crate::taxonomy::{Cut, Taxonomy, TreeNode};
use serde::{Deserialize, Serialize};

/// The cut of one quasi-identifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeCut {
    /// The column.
    pub name: String,
    /// Its nodes.
    pub nodes: Vec<CutNode>,
}

/// A node, described by its level and label: missing values have the same label on every level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutNode {
    /// The level; level 0 has the leaves.
    pub level: usize,
    /// The label.
    pub label: String,
}

impl AttributeCut {
    pub(super) fn new(name: &str, taxonomy: &Taxonomy, cut: &Cut) -> AttributeCut {
        let label = |node: &TreeNode| taxonomy.level(node.level).label(node.index).to_string();
        let nodes =
            cut.nodes().iter().map(|node| CutNode { level: node.level, label: label(node) });
        AttributeCut { name: name.to_string(), nodes: nodes.collect() }
    }

    /// The same cut through another tree. Nodes that the tree does not have are left out. A gap
    /// that they leave is an error, and so is a value that the cut does not cover.
    pub(super) fn bind(&self, taxonomy: &Taxonomy) -> Result<Cut, String> {
        let mut nodes: Vec<TreeNode> = Vec::new();
        for saved in &self.nodes {
            let Some(level) = taxonomy.levels().get(saved.level) else { continue };
            let index = (0..level.len() as u32).find(|index| level.label(*index) == saved.label);
            nodes.extend(index.map(|index| TreeNode { level: saved.level, index }));
        }
        let covered = |code: u32| {
            nodes.iter().any(|node| taxonomy.level(node.level).range(node.index).contains(&code))
        };
        if let Some(code) = (0..taxonomy.codes()).find(|code| !covered(*code)) {
            let (name, value) = (quoted(&self.name), quoted(taxonomy.level(0).label(code)));
            return Err(format!("the cut of {name} does not cover the value {value}"));
        }
        Cut::new(taxonomy, nodes)
            .ok_or_else(|| format!("the cut of {} covers a value twice", quoted(&self.name)))
    }
}
