//! Regions: a tree of splits over the space of quasi-identifiers, whose leaves are boxes.
//!
//! A split parts an ordered axis at a threshold, or a node of a tree into children. What falls under none of the listed
//! children (none of them held a row) stays with the split itself and keeps the node's own name, so every tuple of the
//! domain belongs to exactly one region and the tree is a recoding function (LeFevre and DeWitt 2007, section 1.2).

use super::Columns;
use crate::error::{Error, Result, quoted};
use crate::taxonomy::{ANY_NUMBER, Axis, Node, ROOT, cover_label};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a region is called in a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// The range, or the smallest common ancestor, of the values that it holds.
    #[default]
    Tight,
    /// The box of the partition tree, whether values fill it or not.
    Cover,
}

impl Style {
    /// Every style with its name in a policy.
    pub const NAMES: [(&'static str, Style); 2] = [("tight", Style::Tight), ("cover", Style::Cover)];
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
        /// The greatest number that goes to `below`; where absent, missing values are set apart from all numbers.
        up_to: Option<f64>,
        /// The node of smaller codes.
        below: u32,
        /// The node of larger codes.
        above: u32,
    },
    /// A node of a tree parted into those of its children that hold rows, in their order.
    Children {
        /// The axis.
        column: usize,
        /// The level of the children.
        level: usize,
        /// The number of each child within its level, and its node here.
        children: Vec<(u32, u32)>,
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
    Below(Node),
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

    /// What the place is called, and the share of detail that is lost when only that is said.
    pub fn said(&self, axis: &Axis) -> (String, f64) {
        match (self, axis) {
            (Place::Below(node), Axis::Tree(taxonomy)) => {
                let level = taxonomy.level(node.level);
                let lost = (level.leaves(node.index) - 1) as f64 / (taxonomy.leaves() - 1).max(1) as f64;
                (level.label(node.index).to_string(), lost)
            }
            (Place::Missing, _) => (String::new(), 0.0),
            (Place::Numbers { above: None, up_to: None }, _) => (ANY_NUMBER.to_string(), 1.0),
            (Place::Numbers { above, up_to }, Axis::Ordered(axis)) => {
                let (least, greatest) = (axis.least, axis.greatest);
                let held = up_to.unwrap_or(greatest).min(greatest) - above.unwrap_or(least).max(least);
                let lost = if greatest > least { held.max(0.0) / (greatest - least) } else { 0.0 };
                (cover_label(axis.kind, *above, *up_to), lost)
            }
            // A place is made from its own axis.
            (Place::Whole, _) | (Place::Below(_), Axis::Ordered(_)) | (Place::Numbers { .. }, Axis::Tree(_)) => {
                (ROOT.to_string(), 1.0)
            }
        }
    }
}

impl Regions {
    /// The node where a tuple of codes ends: a region, or a split none of whose children is the tuple's.
    pub fn find(&self, axes: &[Axis], codes: impl Fn(usize) -> u64) -> u32 {
        let mut at = 0u32;
        loop {
            at = match &self.nodes[at as usize] {
                RegionNode::Region => return at,
                RegionNode::Threshold { column, before, below, above, .. } => {
                    if codes(*column) < *before {
                        *below
                    } else {
                        *above
                    }
                }
                RegionNode::Children { column, level, children } => {
                    let Axis::Tree(taxonomy) = &axes[*column] else { return at };
                    let node = taxonomy.level(*level).node_of(codes(*column) as u32);
                    match children.binary_search_by_key(&node, |(child, _)| *child) {
                        Ok(position) => children[position].1,
                        Err(_) => return at,
                    }
                }
            };
        }
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
                RegionNode::Children { column, level, children } => {
                    let place = |index: u32| Place::Below(Node { level: *level, index });
                    children.iter().map(|(index, child)| (*child, *column, place(*index))).collect()
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

/// A node of a partition tree, by names, numbers and labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SavedRegion {
    /// One region.
    Region,
    /// An ordered column parted: numbers up to `up_to` (all numbers where it is absent) from the rest.
    #[serde(rename_all = "kebab-case")]
    Threshold {
        /// The column.
        attribute: String,
        /// The greatest number of the first part; where absent, missing values are set apart from all numbers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        up_to: Option<f64>,
        /// Both parts.
        parts: Box<[SavedRegion; 2]>,
    },
    /// A node of a hierarchy parted.
    Children {
        /// The column.
        attribute: String,
        /// The level of the children.
        level: usize,
        /// Children by label.
        parts: Vec<(String, SavedRegion)>,
    },
}

impl Regions {
    /// The tree by name.
    pub(super) fn saved(&self, columns: Columns<'_>) -> SavedRegion {
        self.saved_from(0, columns)
    }

    fn saved_from(&self, at: u32, columns: Columns<'_>) -> SavedRegion {
        match &self.nodes[at as usize] {
            RegionNode::Region => SavedRegion::Region,
            RegionNode::Threshold { column, up_to, below, above, .. } => SavedRegion::Threshold {
                attribute: columns.names[*column].clone(),
                up_to: *up_to,
                parts: Box::new([self.saved_from(*below, columns), self.saved_from(*above, columns)]),
            },
            RegionNode::Children { column, level, children } => SavedRegion::Children {
                attribute: columns.names[*column].clone(),
                level: *level,
                parts: children
                    .iter()
                    .map(|(index, child)| {
                        let label = columns.taxonomies[*column].level(*level).label(*index);
                        (label.to_string(), self.saved_from(*child, columns))
                    })
                    .collect(),
            },
        }
    }

    /// A saved tree in the codes of a table. Labels that the table's trees do not have are passed over: no row can go
    /// there.
    pub(super) fn bind(saved: &SavedRegion, columns: Columns<'_>, file: &Path) -> Result<Regions> {
        let mut regions = Regions { nodes: vec![RegionNode::Region], style: Style::Cover };
        regions.bind_at(0, saved, columns, file, 0)?;
        Ok(regions)
    }

    fn bind_at(&mut self, at: u32, saved: &SavedRegion, columns: Columns<'_>, file: &Path, depth: usize) -> Result<()> {
        let mismatch = |problem: String| Error::Mismatch { file: file.to_path_buf(), problem };
        let position = |name: &String| {
            let found = columns.names.iter().position(|known| known == name);
            found.ok_or_else(|| mismatch(format!("it splits {}, which is not a quasi-identifier here", quoted(name))))
        };
        if depth > 512 {
            return Err(mismatch("its tree is too deep".into()));
        }
        let push = |regions: &mut Regions, saved: &SavedRegion| {
            let child = regions.nodes.len() as u32;
            regions.nodes.push(RegionNode::Region);
            regions.bind_at(child, saved, columns, file, depth + 1).map(|()| child)
        };
        let node = match saved {
            SavedRegion::Region => RegionNode::Region,
            SavedRegion::Threshold { attribute, up_to, parts } => {
                let column = position(attribute)?;
                let Axis::Ordered(axis) = &columns.axes[column] else {
                    return Err(mismatch(format!("{} has no numbers to split here", quoted(attribute))));
                };
                // Without a missing value in the table, no code goes to the missing side.
                let before = up_to.map_or(axis.missing.unwrap_or(u64::MAX), |number| axis.above(number));
                let below = push(self, &parts[0])?;
                let above = push(self, &parts[1])?;
                RegionNode::Threshold { column, before, up_to: *up_to, below, above }
            }
            SavedRegion::Children { attribute, level, parts } => {
                let column = position(attribute)?;
                let taxonomy = &columns.taxonomies[column];
                let mut children = Vec::new();
                if matches!(columns.axes[column], Axis::Tree(_)) && *level < taxonomy.height() {
                    let known = taxonomy.level(*level);
                    for (label, part) in parts {
                        if let Some(index) = (0..known.len() as u32).find(|index| known.label(*index) == label) {
                            children.push((index, push(self, part)?));
                        }
                    }
                    children.sort_unstable();
                }
                RegionNode::Children { column, level: *level, children }
            }
        };
        self.nodes[at as usize] = node;
        Ok(())
    }
}
