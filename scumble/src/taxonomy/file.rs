//! Hierarchies from a CSV file: one row per leaf, `leaf;parent;…;root`, which is also the layout of
//! ARX.

use super::{Path, Taxonomy};
use crate::error::{Error, Place, Result};
use std::collections::HashMap;
use std::path::{Path as FilePath, PathBuf};

/// The maximum number of levels. Hierarchies that people write have ten; a tree has as many labels
/// for each leaf, and a search visits all levels.
const MOST_LEVELS: usize = 256;

/// The rows of a hierarchy file, which are known to form a tree.
#[derive(Clone, Debug)]
pub struct HierarchyFile {
    file: PathBuf,
    rows: Vec<Vec<String>>,
    /// The rows as they were read, if their labels were written in another way since.
    written: Option<Vec<Vec<String>>>,
}

impl HierarchyFile {
    /// Checks that rows, each with its line number, form a tree: no duplicate leaf, one parent for
    /// each label, rows of the same length, one root.
    pub fn new(file: &FilePath, rows: Vec<(u64, Vec<String>)>) -> Result<HierarchyFile> {
        let place = |line: u64| Place::file(file).line(line);
        let depth = rows.first().map_or(0, |(_, row)| row.len());
        if depth < 2 {
            return Err(Error::EmptyHierarchy { place: Place::file(file) });
        }
        if depth > MOST_LEVELS {
            let (place, found) = (rows.first().map_or(1, |(line, _)| *line), depth);
            let place = Place::file(file).line(place);
            return Err(Error::DeepHierarchy { place, found, most: MOST_LEVELS });
        }
        let mut leaves: HashMap<&str, u64> = HashMap::new();
        let mut parents: Vec<HashMap<&str, &str>> = vec![HashMap::new(); depth];
        let mut root = None;
        for (line, row) in &rows {
            if row.len() != depth {
                return Err(Error::UnevenHierarchy {
                    place: place(*line),
                    expected: depth,
                    found: row.len(),
                });
            }
            if let Some(first) = leaves.insert(&row[0], *line) {
                return Err(Error::RepeatedLeaf {
                    place: place(*line),
                    leaf: row[0].clone(),
                    first,
                });
            }
            // Each label has one parent. Two different roots are also reported as a label with two
            // parents.
            for (level, pair) in row.windows(2).enumerate() {
                let (label, parent) = (&pair[0], &pair[1]);
                let known = *parents[level].entry(label).or_insert(parent);
                if known != parent {
                    let parents = (known.to_string(), parent.clone());
                    return Err(Error::TwoParents {
                        place: place(*line),
                        label: label.clone(),
                        parents,
                    });
                }
            }
            let last = row[depth - 1].as_str();
            let first = *root.get_or_insert(last);
            if first != last {
                let (label, parents) =
                    (row[depth - 2].clone(), (first.to_string(), last.to_string()));
                return Err(Error::TwoParents { place: place(*line), label, parents });
            }
        }
        let rows = rows.into_iter().map(|(_, row)| row).collect();
        Ok(HierarchyFile { file: file.to_path_buf(), rows, written: None })
    }

    /// The file that was read.
    pub fn file(&self) -> &FilePath {
        &self.file
    }

    /// The same under another name of the file.
    pub(crate) fn moved(&self, file: &FilePath) -> HierarchyFile {
        HierarchyFile { file: file.to_path_buf(), ..self.clone() }
    }

    /// The same with all labels written in another way. They must form a tree still: two labels
    /// may have become one.
    pub(super) fn relabelled(self, label: impl Fn(&str) -> String) -> Result<HierarchyFile> {
        let row = |row: &Vec<String>| row.iter().map(|text| label(text)).collect();
        let rows = (1..).zip(self.rows.iter().map(row)).collect();
        let relabelled = HierarchyFile::new(&self.file, rows)?;
        Ok(HierarchyFile { written: Some(self.rows), ..relabelled })
    }

    /// The rows as they were read.
    pub(crate) fn as_written(&self) -> HierarchyFile {
        let rows = self.written.as_ref().unwrap_or(&self.rows).clone();
        HierarchyFile { file: self.file.clone(), rows, written: None }
    }

    /// The rows, from leaf to root.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// The tree, and the code of each leaf by its label.
    pub(super) fn taxonomy(&self, with_missing: bool) -> Result<(Taxonomy, HashMap<&str, u32>)> {
        let paths: Vec<Path<'_>> =
            self.rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
        let (taxonomy, codes) =
            Taxonomy::from_paths(self.file.display().to_string(), &paths, with_missing)?;
        let leaves = paths.iter().map(|path| path[0]).zip(codes).collect();
        Ok((taxonomy, leaves))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rows: &[&[&str]]) -> Result<HierarchyFile> {
        let numbered =
            (1..).zip(rows.iter().map(|row| row.iter().map(|label| label.to_string()).collect()));
        HierarchyFile::new(FilePath::new("h.csv"), numbered.collect())
    }

    #[test]
    fn what_is_not_a_tree_is_refused_with_its_line() {
        let line = |error: Error| error.to_string();
        assert!(
            line(read(&[&["a", "x", "*"], &["a", "x", "*"]]).unwrap_err())
                .starts_with("h.csv:2: duplicate `a`")
        );
        assert!(
            line(read(&[&["a", "x", "p", "*"], &["b", "x", "q", "*"]]).unwrap_err())
                .contains("`x` has two parents, `p` and `q`")
        );
        assert!(
            line(read(&[&["a", "x", "*"], &["b", "*"]]).unwrap_err())
                .starts_with("h.csv:2: the row has 2 labels")
        );
        assert!(matches!(read(&[&["a", "x"], &["b", "y"]]), Err(Error::TwoParents { .. })));
        assert!(matches!(read(&[]), Err(Error::EmptyHierarchy { .. })));
        assert!(matches!(read(&[&["a"]]), Err(Error::EmptyHierarchy { .. })));
        let labels: Vec<String> = (0..=MOST_LEVELS).map(|level| level.to_string()).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        assert!(read(&[&labels[..MOST_LEVELS]]).is_ok());
        let deep = line(read(&[&labels]).unwrap_err());
        assert!(deep.starts_with("h.csv:1: the hierarchy has 257 levels"), "{deep}");
    }

    #[test]
    fn leaves_are_numbered_in_depth_first_order() {
        let file = read(&[&["a", "x", "*"], &["b", "y", "*"], &["c", "x", "*"]]).unwrap();
        let (taxonomy, leaves) = file.taxonomy(false).unwrap();
        super::super::tests::check_laws(&taxonomy);
        assert_eq!((leaves["a"], leaves["c"], leaves["b"]), (0, 1, 2));
        assert_eq!(taxonomy.level(1).range(0), 0..2);
    }
}
