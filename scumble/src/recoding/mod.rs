//! What was decided?
//!
//! A [`Mapping`] is all that passes from a search to a release: a decision in the codes of one
//! table. A [`Recoding`] is the same decision in terms of names, numbers and labels: it can be
//! saved and later applied to other rows of the same shape.

mod cuts;
mod descent;
mod local;
mod regions;

pub use local::Local;
pub use regions::{Place, RegionNode, Regions, Style};

use crate::error::{Error, Result, quoted};
use crate::taxonomy::{Axis, Cut, Taxonomy};
use cuts::AttributeCut;
use regions::SavedNode;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// The version of saved recodings that this code writes and reads.
const VERSION: u32 = 1;

/// A decision in the codes of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Mapping {
    /// Every value of a column at one level of the column's taxonomy.
    Levels(Vec<usize>),
    /// A cut through the taxonomy of each column.
    Cuts(Vec<Cut>),
    /// Boxes in the space of all columns.
    Regions(Regions),
    /// A class for each cell.
    Local(Local),
}

impl Mapping {
    /// The same, with regions called by names that fit rows of other tables.
    pub fn of_boxes(self) -> Mapping {
        match self {
            Mapping::Regions(regions) => {
                let style = regions.style.of_boxes();
                Mapping::Regions(Regions { style, ..regions })
            }
            other => other,
        }
    }

    /// The levels of a full-domain mapping; empty for other mappings.
    pub fn levels(&self) -> &[usize] {
        match self {
            Mapping::Levels(levels) => levels,
            _ => &[],
        }
    }
}

/// How quasi-identifiers are recoded, for any table of the same shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum Recoding {
    /// Every value of a column at one level of the column's taxonomy.
    FullDomain {
        /// A level for each quasi-identifier, in the table's order.
        attributes: Vec<AttributeLevel>,
    },
    /// A cut through the taxonomy of each column.
    Cuts {
        /// A cut for each quasi-identifier, in the table's order.
        attributes: Vec<AttributeCut>,
    },
    /// A tree of splits whose leaves are regions.
    Regions {
        /// The quasi-identifiers, in the table's order.
        attributes: Vec<String>,
        /// The nodes of the partition tree, each followed by its parts.
        nodes: Vec<SavedNode>,
    },
}

/// The level of one quasi-identifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeLevel {
    /// The column.
    pub name: String,
    /// The level; 0 keeps values as they are.
    pub level: usize,
    /// Whether the level was the root. Trees made from values may have a different height over
    /// other rows, but the root remains the root.
    pub root: bool,
}

/// The contents of a saved recoding.
#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    #[serde(flatten)]
    recoding: Recoding,
}

/// What a recoding needs to know about the quasi-identifiers of a table.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// Their names.
    pub names: &'a [String],
    /// Their trees.
    pub taxonomies: &'a [Arc<Taxonomy>],
    /// Their dimensions.
    pub axes: &'a [Axis],
}

impl Recoding {
    /// The decision by name, or `None` for a mapping that cannot be applied to other tables.
    pub fn of(columns: Columns<'_>, mapping: &Mapping) -> Option<Recoding> {
        match mapping {
            Mapping::Levels(levels) => {
                let attribute = |((name, taxonomy), level): ((&String, &Arc<Taxonomy>), &usize)| {
                    AttributeLevel {
                        name: name.clone(),
                        level: *level,
                        root: *level == taxonomy.height(),
                    }
                };
                let attributes = columns
                    .names
                    .iter()
                    .zip(columns.taxonomies)
                    .zip(levels)
                    .map(attribute)
                    .collect();
                Some(Recoding::FullDomain { attributes })
            }
            Mapping::Regions(regions) if regions.style == Style::Boxes => Some(Recoding::Regions {
                attributes: columns.names.to_vec(),
                nodes: regions.saved(columns),
            }),
            Mapping::Cuts(cuts) => {
                let attribute = |((name, taxonomy), cut): ((&String, &Arc<Taxonomy>), &Cut)| {
                    AttributeCut::new(name, taxonomy, cut)
                };
                let attributes =
                    columns.names.iter().zip(columns.taxonomies).zip(cuts).map(attribute).collect();
                Some(Recoding::Cuts { attributes })
            }
            Mapping::Regions(_) | Mapping::Local(_) => None,
        }
    }

    /// The decision in the codes of a table with these columns, which are matched by name.
    pub fn bind(&self, columns: Columns<'_>, file: &Path) -> Result<Mapping> {
        let mismatch = |problem: String| Error::Mismatch { file: file.to_path_buf(), problem };
        match self {
            Recoding::FullDomain { attributes } => {
                let mut levels = Vec::new();
                for (name, taxonomy) in columns.names.iter().zip(columns.taxonomies) {
                    let saved = attributes.iter().find(|attribute| attribute.name == *name);
                    let saved = saved.ok_or_else(|| {
                        mismatch(format!(
                            "the recoding has no level for the quasi-identifier {}; use the policy \
                             that it was made with",
                            quoted(name)
                        ))
                    })?;
                    // A root stays the root even if this tree has a different height.
                    levels.push(if saved.root {
                        taxonomy.height()
                    } else {
                        saved.level.min(taxonomy.height())
                    });
                }
                if levels.len() != attributes.len() {
                    return Err(mismatch(
                        "the recoding has a level for a column that is not a quasi-identifier; use \
                         the policy that it was made with"
                            .into(),
                    ));
                }
                Ok(Mapping::Levels(levels))
            }
            Recoding::Cuts { attributes } => {
                let mut cuts = Vec::new();
                for (name, taxonomy) in columns.names.iter().zip(columns.taxonomies) {
                    let saved = attributes.iter().find(|attribute| attribute.name == *name);
                    let saved = saved.ok_or_else(|| {
                        mismatch(format!(
                            "the recoding has no cut for the quasi-identifier {}; use the policy that \
                             it was made with",
                            quoted(name)
                        ))
                    })?;
                    cuts.push(saved.bind(taxonomy).map_err(mismatch)?);
                }
                if cuts.len() != attributes.len() {
                    return Err(mismatch(
                        "a cut for a column that is not a quasi-identifier of the table".into(),
                    ));
                }
                Ok(Mapping::Cuts(cuts))
            }
            Recoding::Regions { attributes, nodes } => {
                let mut here = columns.names.to_vec();
                let mut there = attributes.clone();
                here.sort();
                there.sort();
                if here != there {
                    let names = attributes.join(", ");
                    return Err(mismatch(format!(
                        "the recoding has the quasi-identifiers {names}, but the table has others"
                    )));
                }
                Ok(Mapping::Regions(Regions::bind(nodes, columns, file)?))
            }
        }
    }

    /// The recoding as JSON, with a version.
    pub fn to_json(&self) -> String {
        let saved = Saved { version: VERSION, recoding: self.clone() };
        // A struct of names and numbers always serializes.
        serde_json::to_string_pretty(&saved).unwrap_or_default()
    }

    /// Parses the output of [`to_json`](Self::to_json).
    pub fn from_json(text: &[u8], file: &Path) -> Result<Recoding> {
        let saved: Saved = serde_json::from_slice(text)
            .map_err(|source| Error::BadJson { file: file.to_path_buf(), source })?;
        if saved.version != VERSION {
            let problem = format!(
                "unsupported recoding version {}; expected version {VERSION}",
                saved.version
            );
            return Err(Error::Mismatch { file: file.to_path_buf(), problem });
        }
        Ok(saved.recoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recoding_survives_json_and_another_version_is_refused() {
        let attribute = AttributeLevel { name: "age".into(), level: 2, root: false };
        let recoding = Recoding::FullDomain { attributes: vec![attribute] };
        let json = recoding.to_json();
        assert_eq!(Recoding::from_json(json.as_bytes(), Path::new("r")).unwrap(), recoding);
        let newer = json.replace("\"version\": 1", "\"version\": 2");
        assert!(matches!(
            Recoding::from_json(newer.as_bytes(), Path::new("r")),
            Err(Error::Mismatch { .. })
        ));
        assert!(matches!(Recoding::from_json(b"{}", Path::new("r")), Err(Error::BadJson { .. })));
    }
}
