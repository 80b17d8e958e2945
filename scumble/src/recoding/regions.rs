//! Regions: a tree of splits over the space of quasi-identifiers, whose leaves are boxes.
//!
//! A split parts an ordered axis at a threshold, or a node of a tree into children. Children that
//! are too rare may be one part together, the rest. What falls under none of the listed children
//! goes to the rest; if there is none (no such child held a row), it stays with the split itself
//! and keeps the node's own name. So every tuple of the domain belongs to exactly one region and
//! the tree is a recoding function (LeFevre and DeWitt 2007, section 1.2).
//!
//! The rest keeps the node's name, so the name of one region may contain that of another. Their
//! tuples are apart all the same: where the two part, one is below a listed child, and all nodes
//! that the other is called by either contain this child or are apart from it. A label stands for
//! one set of values in a whole tree, so no two regions have the same name.

use super::Columns;
use crate::error::{Error, Result, quoted};
use crate::table::Type;
use crate::taxonomy::{ANY_NUMBER, Axis, Extent, ROOT, TreeNode, cover_label, rounded_outwards};
use crate::watch::Watch;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

/// What a set of rows is called in a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// The range, or the smallest common ancestor, of the values that it holds.
    Tight,
    /// The same with ranges rounded outwards: their ends are values of the table only where there
    /// is no room for others.
    #[default]
    Cover,
    /// The box of the partition tree, whether values fill it or not. Rows of other tables get the
    /// same names.
    Boxes,
}

impl Style {
    /// Every style with its name in a policy.
    pub const NAMES: [(&'static str, Style); 2] =
        [("tight", Style::Tight), ("cover", Style::Cover)];

    /// Its name in a report.
    pub fn name(self) -> &'static str {
        match self {
            Style::Tight => "tight",
            Style::Cover | Style::Boxes => "cover",
        }
    }

    /// The style of regions whose names must fit rows of other tables.
    pub fn of_boxes(self) -> Style {
        match self {
            Style::Tight => Style::Tight,
            Style::Cover | Style::Boxes => Style::Boxes,
        }
    }

    /// The place by which a range of codes is called, in its box if there is one; `None` if it is
    /// called by its values.
    pub fn place(self, axis: &Axis, extent: Extent, of_box: Option<&Place>) -> Option<Place> {
        let axis = match (self, axis) {
            (Style::Boxes, _) => return of_box.copied(),
            (Style::Cover, Axis::Ordered(axis)) => axis,
            (Style::Tight, _) | (Style::Cover, Axis::Tree(_)) => return None,
        };
        if extent.first == extent.last || axis.missing == Some(extent.last) {
            return None;
        }
        let ends = (axis.number(extent.first), axis.number(extent.last));
        let limits = match of_box {
            Some(Place::Numbers { above, up_to }) => (*above, *up_to),
            _ => (None, None),
        };
        let (above, up_to) = rounded_outwards(axis.kind, ends, limits);
        // No number is below the smallest float.
        let above = Some(above).filter(|side| side.is_finite());
        Some(Place::Numbers { above, up_to: Some(up_to) })
    }

    /// The share of detail that a range of codes loses if only its name is released.
    pub fn lost(self, axis: &Axis, extent: Extent) -> f64 {
        self.place(axis, extent, None).map_or_else(|| axis.lost(extent), |place| place.lost(axis))
    }
}

/// A node of a partition tree. Children are numbers of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum RegionNode {
    /// A leaf: one region of the release.
    Region,
    /// An ordered axis parted: codes below `before` go to `below`, the others to `above`.
    Threshold {
        /// The axis.
        column: usize,
        /// The first code that goes to `above`.
        before: u64,
        /// The greatest number that goes to `below`; where absent, missing values are set apart
        /// from all numbers.
        up_to: Option<f64>,
        /// The node of smaller codes.
        below: u32,
        /// The node of larger codes.
        above: u32,
    },
    /// A node of a tree parted into those of its children that hold rows, in their order, and the
    /// rest.
    Children {
        /// The axis.
        column: usize,
        /// The level of the children.
        level: usize,
        /// The number of each child within its level, and its node here.
        children: Vec<(u32, u32)>,
        /// The node of all that is below none of them, if some of it holds rows.
        rest: Option<u32>,
    },
}

/// A partition tree; node 0 is the root.
#[derive(Clone, Debug, PartialEq)]
pub struct Regions {
    /// The nodes.
    pub nodes: Vec<RegionNode>,
    /// What regions are called.
    pub style: Style,
}

/// The part of one axis that a box of the partition tree covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// All of it.
    Whole,
    /// Missing values.
    Missing,
    /// Numbers above one and up to another, each where the box has that side.
    Numbers {
        /// The lower side.
        above: Option<f64>,
        /// The upper side.
        up_to: Option<f64>,
    },
    /// What lies below a node of a tree.
    Below(TreeNode),
}

impl Place {
    /// Both parts of a place that is parted at a threshold (`None`: missing values are set apart).
    pub fn parted(self, at: Option<f64>) -> [Place; 2] {
        let (above, up_to) = match self {
            Place::Numbers { above, up_to } => (above, up_to),
            _ => (None, None),
        };
        match at {
            None => [Place::Numbers { above, up_to }, Place::Missing],
            Some(_) => [Place::Numbers { above, up_to: at }, Place::Numbers { above: at, up_to }],
        }
    }

    /// The codes that lie in it, of an axis with so many.
    pub fn codes(&self, axis: &Axis, all: u32) -> Range<u32> {
        match (self, axis) {
            (Place::Below(node), Axis::Tree(taxonomy)) => {
                taxonomy.level(node.level).range(node.index)
            }
            (Place::Missing, Axis::Ordered(axis)) => {
                axis.missing.map_or(all, |missing| missing as u32)..all
            }
            (Place::Numbers { above, up_to }, Axis::Ordered(axis)) => {
                let behind = |number: f64| axis.above(number) as u32;
                above.map_or(0, behind)
                    ..up_to.map_or(axis.missing.map_or(all, |missing| missing as u32), behind)
            }
            _ => 0..all,
        }
    }

    /// What the place is called, and the share of detail that is lost when only that is said.
    pub fn said(&self, axis: &Axis) -> (String, f64) {
        (self.label(axis), self.lost(axis))
    }

    fn label(&self, axis: &Axis) -> String {
        match (self, axis) {
            (Place::Below(node), Axis::Tree(taxonomy)) => {
                taxonomy.level(node.level).label(node.index).to_string()
            }
            (Place::Missing, _) => String::new(),
            (Place::Numbers { above: None, up_to: None }, _) => ANY_NUMBER.to_string(),
            (Place::Numbers { above, up_to }, Axis::Ordered(axis)) => {
                cover_label(axis.kind, *above, *up_to)
            }
            (Place::Whole, Axis::Tree(taxonomy)) => {
                taxonomy.level(taxonomy.height()).label(0).to_string()
            }
            // A place is made from its own axis.
            (Place::Whole | Place::Below(_), Axis::Ordered(_))
            | (Place::Numbers { .. }, Axis::Tree(_)) => ROOT.to_string(),
        }
    }

    /// The share of detail that is lost when only the place is named.
    pub fn lost(&self, axis: &Axis) -> f64 {
        match (self, axis) {
            (Place::Below(node), Axis::Tree(taxonomy)) => {
                let leaves = taxonomy.level(node.level).leaves(node.index);
                (leaves - 1) as f64 / (taxonomy.leaves() - 1).max(1) as f64
            }
            (Place::Missing, _) => 0.0,
            (Place::Numbers { above: None, up_to: None }, _) => 1.0,
            (Place::Numbers { above, up_to }, Axis::Ordered(axis)) => {
                let (least, greatest) = (axis.least, axis.greatest);
                // The first of whole numbers above one is the next.
                let step = if axis.kind == Type::Real { 0.0 } else { 1.0 };
                let from = above.map_or(least, |above| above + step);
                let held = up_to.unwrap_or(greatest).min(greatest) - from.max(least);
                if greatest > least { held.max(0.0) / (greatest - least) } else { 0.0 }
            }
            // A single number loses nothing.
            (Place::Whole, Axis::Ordered(axis))
                if axis.greatest <= axis.least && axis.missing.is_none() =>
            {
                0.0
            }
            // A place is made from its own axis.
            (Place::Whole, _)
            | (Place::Below(_), Axis::Ordered(_))
            | (Place::Numbers { .. }, Axis::Tree(_)) => 1.0,
        }
    }
}

/// The node of a child, of those that are listed by their number in ascending order.
fn child(children: &[(u32, u32)], number: u32) -> Option<u32> {
    let (first, _) = children.first()?;
    // Mostly all between the first and the last are there.
    match children.get(number.checked_sub(*first)? as usize) {
        Some((known, node)) if *known == number => Some(*node),
        _ => children
            .binary_search_by_key(&number, |(known, _)| *known)
            .ok()
            .map(|position| children[position].1),
    }
}

impl Regions {
    /// The node where a tuple of codes ends: a region, or a split none of whose children is the
    /// tuple's.
    pub fn find(&self, axes: &[Axis], codes: impl Fn(usize) -> u64) -> u32 {
        let mut at = 0u32;
        loop {
            at = match &self.nodes[at as usize] {
                RegionNode::Region => return at,
                RegionNode::Threshold { column, before, below, above, .. } => {
                    if codes(*column) < *before { *below } else { *above }
                }
                RegionNode::Children { column, level, children, rest } => {
                    let Axis::Tree(taxonomy) = &axes[*column] else { return at };
                    let node = taxonomy.level(*level).node_of(codes(*column) as u32);
                    match child(children, node).or(*rest) {
                        Some(part) => part,
                        None => return at,
                    }
                }
            };
        }
    }

    /// The same tree with a branch for missing values wherever an axis that has some is parted
    /// without one: no row went there, but a tuple of the domain may, and it is no number above or
    /// below a threshold.
    pub fn with_missing_apart(self, axes: &[Axis], watch: &Watch) -> Result<Regions> {
        let missing = |column: usize| match &axes[column] {
            Axis::Ordered(axis) => axis.missing,
            Axis::Tree(_) => None,
        };
        if (0..axes.len()).all(|column| missing(column).is_none()) {
            return Ok(self);
        }
        let mut nodes = vec![RegionNode::Region];
        // A node, its new number, and the axes whose missing values are set apart above it.
        let mut next = vec![(0u32, 0u32, vec![false; axes.len()])];
        while let Some((old, at, mut apart)) = next.pop() {
            watch.check()?;
            let mut push = |old: u32, apart: &[bool]| {
                nodes.push(RegionNode::Region);
                next.push((old, nodes.len() as u32 - 1, apart.to_vec()));
                nodes.len() as u32 - 1
            };
            let node = match &self.nodes[old as usize] {
                RegionNode::Region => RegionNode::Region,
                RegionNode::Threshold { column, before, up_to, below, above } => {
                    let unknown = missing(*column).filter(|_| up_to.is_some() && !apart[*column]);
                    apart[*column] = true;
                    match unknown {
                        Some(before) => {
                            let below = push(old, &apart);
                            nodes.push(RegionNode::Region);
                            let above = nodes.len() as u32 - 1;
                            RegionNode::Threshold {
                                column: *column,
                                before,
                                up_to: None,
                                below,
                                above,
                            }
                        }
                        None => {
                            let (below, above) = (push(*below, &apart), push(*above, &apart));
                            RegionNode::Threshold {
                                column: *column,
                                before: *before,
                                up_to: *up_to,
                                below,
                                above,
                            }
                        }
                    }
                }
                RegionNode::Children { column, level, children, rest } => {
                    let children = children
                        .iter()
                        .map(|(index, child)| (*index, push(*child, &apart)))
                        .collect();
                    let rest = rest.map(|rest| push(rest, &apart));
                    RegionNode::Children { column: *column, level: *level, children, rest }
                }
            };
            nodes[at as usize] = node;
        }
        Ok(Regions { nodes, style: self.style })
    }

    /// The box of every node, over so many axes.
    pub fn boxes(&self, axes: usize) -> Vec<Vec<Place>> {
        let mut boxes: Vec<Vec<Place>> = vec![Vec::new(); self.nodes.len()];
        boxes[0] = vec![Place::Whole; axes];
        // Children come after their parents.
        for at in 0..self.nodes.len() {
            let parts: Vec<(u32, usize, Place)> = match &self.nodes[at] {
                RegionNode::Region => continue,
                RegionNode::Threshold { column, up_to, below, above, .. } => {
                    let [lower, upper] = boxes[at][*column].parted(*up_to);
                    vec![(*below, *column, lower), (*above, *column, upper)]
                }
                RegionNode::Children { column, level, children, rest } => {
                    let place = |index: u32| Place::Below(TreeNode { level: *level, index });
                    let part = |(index, child): &(u32, u32)| (*child, *column, place(*index));
                    // The rest covers what the node covers, as far as names go.
                    let rest = rest.map(|rest| (rest, *column, boxes[at][*column]));
                    children.iter().map(part).chain(rest).collect()
                }
            };
            for (child, column, place) in parts {
                let mut of_child = boxes[at].clone();
                of_child[column] = place;
                boxes[child as usize] = of_child;
            }
        }
        boxes
    }
}

/// A node of a partition tree, by names, numbers and labels. Nodes stand in a list, each followed
/// by its parts with all that belongs to them: it can be written while the tree is found, and it is
/// not nested, where readers of JSON give up on what is as deep as a tree may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SavedNode {
    /// One region.
    Region,
    /// An ordered column parted: numbers up to `up_to` (all numbers where it is absent), then the
    /// rest.
    #[serde(rename_all = "kebab-case")]
    Threshold {
        /// The column.
        attribute: String,
        /// The greatest number of the first part; where absent, missing values are set apart from
        /// all numbers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        up_to: Option<f64>,
    },
    /// A node of a hierarchy parted.
    Children {
        /// The column.
        attribute: String,
        /// The level of the children.
        level: usize,
        /// Their labels, in the order of the parts.
        labels: Vec<String>,
        /// Whether one more part follows, for all that is below none of them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        rest: bool,
    },
}

impl RegionNode {
    /// The node by name, without its parts.
    fn saved(&self, columns: Columns<'_>) -> SavedNode {
        match self {
            RegionNode::Region => SavedNode::Region,
            RegionNode::Threshold { column, up_to, .. } => {
                SavedNode::Threshold { attribute: columns.names[*column].clone(), up_to: *up_to }
            }
            RegionNode::Children { column, level, children, rest } => {
                let known = columns.taxonomies[*column].level(*level);
                let labels =
                    children.iter().map(|(index, _)| known.label(*index).to_string()).collect();
                SavedNode::Children {
                    attribute: columns.names[*column].clone(),
                    level: *level,
                    labels,
                    rest: rest.is_some(),
                }
            }
        }
    }
}

impl Regions {
    /// The tree by name.
    pub(super) fn saved(&self, columns: Columns<'_>) -> Vec<SavedNode> {
        let mut saved = Vec::with_capacity(self.nodes.len());
        let mut next = vec![0u32];
        while let Some(at) = next.pop() {
            let node = &self.nodes[at as usize];
            saved.push(node.saved(columns));
            match node {
                RegionNode::Region => {}
                RegionNode::Threshold { below, above, .. } => next.extend([above, below]),
                RegionNode::Children { children, rest, .. } => {
                    next.extend(rest);
                    next.extend(children.iter().rev().map(|(_, child)| child))
                }
            }
        }
        saved
    }

    /// A saved tree in the codes of a table. The tree may have been grown without missing values;
    /// here they get the branch that they would have had.
    pub(super) fn bind(saved: &[SavedNode], columns: Columns<'_>, file: &Path) -> Result<Regions> {
        let nodes = vec![RegionNode::Region];
        let mut bound = Bound { columns, file, labels: HashMap::new(), nodes, next: vec![Some(0)] };
        saved.iter().try_for_each(|node| bound.bind(node))?;
        if bound.next.is_empty() {
            Regions { nodes: bound.nodes, style: Style::Boxes }
                .with_missing_apart(columns.axes, &Watch::default())
        } else {
            Err(bound.mismatch("the tree of regions is incomplete".into()))
        }
    }
}

/// A saved tree on its way into the codes of a table.
struct Bound<'a> {
    columns: Columns<'a>,
    file: &'a Path,
    /// The labels of a level of a column's tree.
    labels: HashMap<(usize, usize), HashMap<&'a str, u32>>,
    nodes: Vec<RegionNode>,
    /// The numbers of the nodes that are still to come, the next one last; none for what the table
    /// has no place for.
    next: Vec<Option<u32>>,
}

impl Bound<'_> {
    fn mismatch(&self, problem: String) -> Error {
        Error::Mismatch { file: self.file.to_path_buf(), problem }
    }

    fn column(&self, name: &String) -> Result<usize> {
        let found = self.columns.names.iter().position(|known| known == name);
        let unknown = || {
            self.mismatch(format!(
                "a split of {}, which is not a quasi-identifier of the table",
                quoted(name)
            ))
        };
        found.ok_or_else(unknown)
    }

    fn push(&mut self) -> u32 {
        self.nodes.push(RegionNode::Region);
        self.nodes.len() as u32 - 1
    }

    fn bind(&mut self, saved: &SavedNode) -> Result<()> {
        let at = self
            .next
            .pop()
            .ok_or_else(|| self.mismatch("the tree of regions has too many nodes".into()))?;
        let node = match saved {
            SavedNode::Region => RegionNode::Region,
            SavedNode::Threshold { attribute, up_to } => {
                let column = self.column(attribute)?;
                let Axis::Ordered(axis) = &self.columns.axes[column] else {
                    return Err(self.mismatch(format!(
                        "a numeric split of {}, which has no numbers in the table",
                        quoted(attribute)
                    )));
                };
                // Without a missing value in the table, no code goes to the missing side.
                let before =
                    up_to.map_or(axis.missing.unwrap_or(u64::MAX), |number| axis.above(number));
                let (below, above) = (self.push(), self.push());
                self.next.extend([above, below].map(|part| at.map(|_| part)));
                RegionNode::Threshold { column, before, up_to: *up_to, below, above }
            }
            SavedNode::Children { attribute, level, labels, rest } => {
                let column = self.column(attribute)?;
                let known = self.children(column, *level, labels);
                let parts: Vec<Option<u32>> = known
                    .iter()
                    .map(|index| index.filter(|_| at.is_some()).map(|_| self.push()))
                    .collect();
                let of_rest = at.filter(|_| *rest).map(|_| self.push());
                self.next.extend(rest.then_some(of_rest));
                self.next.extend(parts.iter().rev());
                let mut children: Vec<(u32, u32)> = known
                    .iter()
                    .zip(&parts)
                    .filter_map(|(index, part)| Some(((*index)?, (*part)?)))
                    .collect();
                children.sort_unstable();
                if children.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                    return Err(self.mismatch(format!(
                        "two parts of {} have the same label",
                        quoted(attribute)
                    )));
                }
                // Where no part is left, rows stay at the split. The tree may not even have its level.
                let level = if children.is_empty() { 0 } else { *level };
                if children.is_empty() && of_rest.is_none() {
                    RegionNode::Region
                } else {
                    RegionNode::Children { column, level, children, rest: of_rest }
                }
            }
        };
        if let Some(at) = at {
            self.nodes[at as usize] = node;
        }
        Ok(())
    }

    /// The number of each label within a level. What the table's tree does not have is passed over:
    /// no row can go there.
    fn children(&mut self, column: usize, level: usize, labels: &[String]) -> Vec<Option<u32>> {
        let columns = self.columns;
        let taxonomy = &columns.taxonomies[column];
        if !matches!(columns.axes[column], Axis::Tree(_)) || level >= taxonomy.height() {
            return vec![None; labels.len()];
        }
        let known = taxonomy.level(level);
        let number = || (0..known.len() as u32).map(|index| (known.label(index), index)).collect();
        let numbers = self.labels.entry((column, level)).or_insert_with(number);
        labels.iter().map(|label| numbers.get(label.as_str()).copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files that were saved before children were pooled have no word of a rest, and partitions
    /// without one are still saved as they were.
    #[test]
    fn a_rest_is_told_only_where_there_is_one() {
        let with = |rest: bool| SavedNode::Children {
            attribute: "q".into(),
            level: 1,
            labels: vec!["a".into(), "b".into()],
            rest,
        };
        let before = r#"{"children":{"attribute":"q","level":1,"labels":["a","b"]}}"#;
        assert_eq!(serde_json::from_str::<SavedNode>(before).unwrap(), with(false));
        assert_eq!(serde_json::to_string(&with(false)).unwrap(), before);
        let pooled = serde_json::to_string(&with(true)).unwrap();
        assert_eq!(pooled, before.replace("]}", "],\"rest\":true}"));
        assert_eq!(serde_json::from_str::<SavedNode>(&pooled).unwrap(), with(true));
    }
}
