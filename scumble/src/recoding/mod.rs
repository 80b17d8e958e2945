//! What was decided?
//!
//! A [`Recoding`] is all that passes from a search to a release. It can be saved and applied later to other rows of the
//! same shape.

use crate::error::{Error, Result, quoted};
use crate::taxonomy::Taxonomy;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The version of saved recodings that this code writes and reads.
const VERSION: u32 = 1;

/// How quasi-identifiers are recoded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum Recoding {
    /// Every value of a column at one level of the column's taxonomy.
    FullDomain {
        /// A level for each quasi-identifier, in the table's order.
        attributes: Vec<AttributeLevel>,
    },
}

/// The level of one quasi-identifier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttributeLevel {
    /// The column.
    pub name: String,
    /// The level; 0 leaves values as they are.
    pub level: usize,
    /// Whether that was the root. Trees made from values may be higher or lower over other rows; the root stays it.
    pub root: bool,
}

/// What a saved recoding holds.
#[derive(Serialize, Deserialize)]
struct Saved {
    version: u32,
    #[serde(flatten)]
    recoding: Recoding,
}

impl Recoding {
    /// One level for each column; `levels[i]` belongs to `columns[i]`.
    pub fn full_domain<'a>(columns: impl Iterator<Item = (&'a str, &'a Taxonomy)>, levels: &[usize]) -> Recoding {
        let attribute = |((name, taxonomy), level): ((&str, &Taxonomy), &usize)| AttributeLevel {
            name: name.to_string(),
            level: *level,
            root: *level == taxonomy.height(),
        };
        Recoding::FullDomain { attributes: columns.zip(levels).map(attribute).collect() }
    }

    /// The level of each of these columns, found by name. A root stays the root where the tree here has another height.
    pub fn levels_for<'a>(
        &self,
        columns: impl Iterator<Item = (&'a str, &'a Taxonomy)>,
        file: &Path,
    ) -> Result<Vec<usize>> {
        let Recoding::FullDomain { attributes } = self;
        let mismatch = |problem: String| Error::Mismatch { file: file.to_path_buf(), problem };
        let mut levels = Vec::new();
        for (name, taxonomy) in columns {
            let saved = attributes.iter().find(|attribute| attribute.name == name);
            let saved = saved.ok_or_else(|| mismatch(format!("no level for the quasi-identifier {}", quoted(name))))?;
            levels.push(if saved.root { taxonomy.height() } else { saved.level.min(taxonomy.height()) });
        }
        if levels.len() != attributes.len() {
            return Err(mismatch("it has levels for columns that are not quasi-identifiers here".into()));
        }
        Ok(levels)
    }

    /// The recoding as JSON, with a version.
    pub fn to_json(&self) -> String {
        let saved = Saved { version: VERSION, recoding: self.clone() };
        // A struct of names and numbers has a JSON form.
        serde_json::to_string_pretty(&saved).unwrap_or_default()
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    pub fn from_json(text: &[u8], file: &Path) -> Result<Recoding> {
        let saved: Saved =
            serde_json::from_slice(text).map_err(|source| Error::BadJson { file: file.to_path_buf(), source })?;
        if saved.version != VERSION {
            let problem = format!("version {} of a recoding; this program reads {VERSION}", saved.version);
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
        assert!(matches!(Recoding::from_json(newer.as_bytes(), Path::new("r")), Err(Error::Mismatch { .. })));
        assert!(matches!(Recoding::from_json(b"{}", Path::new("r")), Err(Error::BadJson { .. })));
    }
}
