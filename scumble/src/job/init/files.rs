//! Files of hierarchies that a policy refers to.

use std::collections::HashSet;
use std::path::PathBuf;

/// Files of hierarchies, with names that are safe on any system.
pub(super) struct Files {
    /// Paths relative to the policy, and contents.
    pub(super) files: Vec<(PathBuf, String)>,
    /// The folder that they are in.
    pub(super) folder: String,
    taken: HashSet<String>,
}

/// Names that some systems do not allow for a file.
const RESERVED: [&str; 5] = ["con", "nul", "aux", "prn", "com1"];

impl Files {
    pub(super) fn new(folder: &str) -> Files {
        Files { files: Vec::new(), folder: folder.into(), taken: HashSet::new() }
    }

    /// Adds the file of a column; returns its path as a policy has it.
    pub(super) fn add(&mut self, column: &str, text: String) -> String {
        let plain = |character: char| match character {
            '-' | '_' => character,
            _ if character.is_alphanumeric() => character,
            _ => '_',
        };
        let mut name: String = column.chars().take(60).map(plain).collect();
        if name.trim_matches(['_', '-']).is_empty() || name.starts_with('-') {
            name = format!("column_{name}");
        }
        let mut number = 1;
        let name = loop {
            let name = if number == 1 { name.clone() } else { format!("{name}-{number}") };
            // Some systems do not tell letters of different case apart.
            let folded = name.to_lowercase();
            if !RESERVED.contains(&folded.as_str()) && self.taken.insert(folded) {
                break name;
            }
            number += 1;
        };
        let path = format!("{}/{name}.csv", self.folder);
        self.files.push((PathBuf::from(&path), text));
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_safe_and_differ() {
        let mut files = Files::new("hierarchies");
        let mut add = |name: &str| files.add(name, String::new());
        assert_eq!(add("a/b"), "hierarchies/a_b.csv");
        assert_eq!(add("A.B"), "hierarchies/A_B-2.csv");
        assert_eq!(add("../.."), "hierarchies/column______.csv");
        assert_eq!(add("nul"), "hierarchies/nul-2.csv");
        assert_eq!(add("Größe"), "hierarchies/Größe.csv");
    }
}
