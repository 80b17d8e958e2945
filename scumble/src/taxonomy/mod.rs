//! How can a value be made less precise?
//!
//! A [`Taxonomy`] is a tree over the values of one column, from leaves (level 0) to a single root.
//! The leaves are numbered in depth-first order, so every node of every level is a contiguous range
//! of codes. Numeric and categorical columns are therefore treated alike, and two numbers describe
//! the values below a node.
//!
//! Every leaf has the same depth. A missing value is a leaf of its own that stays separate on every
//! level below the root, so it cannot be mistaken for a real value.

mod axis;
mod bind;
mod cut;
mod dates;
mod file;
mod intervals;
mod mask;
mod moments;
mod round;
mod sets;

pub use axis::{
    ANY_NUMBER, Axis, AxisNumbers, Extent, Ordered, bits_of, cover_label, is_range_label,
    number_label, range_label, said_range,
};
pub use bind::{Binding, bind};
pub use cut::{Cut, TreeNode};
pub use dates::DateLevel;
pub use file::HierarchyFile;
pub use intervals::Intervals;
pub use mask::{Mask, Side};
pub(crate) use round::{rounded_outwards, threshold_between};
pub use sets::{said_set, set_label};

use crate::error::{Error, Result};
use crate::table::Type;
use std::collections::HashMap;

/// The default label of a root; a file may have another.
pub const ROOT: &str = "*";

/// How a column's values are generalized, as stated in a policy.
#[derive(Clone, Debug, Default)]
pub enum Hierarchy {
    /// No hierarchy is given: a value, then the root (for dates: the calendar).
    #[default]
    None,
    /// A file with one row per leaf.
    File(HierarchyFile),
    /// A tree that the policy holds itself, with a row per leaf.
    Tree(HierarchyFile),
    /// Intervals of growing width.
    Intervals(Intervals),
    /// Characters masked one by one.
    Mask(Mask),
    /// Months, quarters, years, decades.
    Dates(Vec<DateLevel>),
    /// Texts without a hierarchy: a value, sets of values in local recodings, then the root.
    Sets,
}

impl Hierarchy {
    /// Whether a text can occur in a release of a column with this hierarchy. If any text can be a
    /// value (a mask, or no hierarchy over text), this is always true.
    pub fn is_label(&self, text: &str, declared: Option<Type>) -> bool {
        let numeric =
            |kind: Type| text == ROOT || kind.number(text).is_some() || is_range_label(text, kind);
        match (self, declared) {
            (Hierarchy::File(file) | Hierarchy::Tree(file), _) => {
                file.rows().iter().flatten().any(|label| label == text)
            }
            (Hierarchy::Intervals(intervals), Some(kind)) => intervals.is_label(text, kind),
            // The type is unknown: integers unless some value is not, so all types are tried.
            (Hierarchy::Intervals(intervals), None) => [Type::Integer, Type::Real, Type::Date]
                .into_iter()
                .any(|kind| intervals.is_label(text, kind)),
            (Hierarchy::Dates(steps), _) => dates::is_label(steps, text),
            (Hierarchy::Sets, _) => said_set(text).is_some(),
            (Hierarchy::Mask(_), _) | (Hierarchy::None, None | Some(Type::Text)) => true,
            (Hierarchy::None, Some(kind @ (Type::Date | Type::Timestamp))) => {
                dates::is_label(&DateLevel::all(kind), text) || is_range_label(text, kind)
            }
            (Hierarchy::None, Some(kind)) => numeric(kind),
        }
    }

    /// The same with all labels of a file or a tree written in another way.
    pub(crate) fn in_plain(self, plain: impl Fn(&str) -> String) -> Result<Hierarchy> {
        Ok(match self {
            Hierarchy::File(file) => Hierarchy::File(file.relabelled(plain)?),
            Hierarchy::Tree(tree) => Hierarchy::Tree(tree.relabelled(plain)?),
            other => other,
        })
    }

    /// A short description for error messages.
    pub fn describe(&self) -> String {
        match self {
            Hierarchy::File(file) => file.file().display().to_string(),
            Hierarchy::Tree(tree) => format!("the tree in {}", tree.file().display()),
            Hierarchy::Intervals(intervals) => intervals.describe(),
            Hierarchy::Mask(mask) => mask.describe(),
            Hierarchy::Dates(_) => "the date hierarchy".into(),
            Hierarchy::Sets => "sets of values".into(),
            Hierarchy::None => "the values of the column's type".into(),
        }
    }
}

/// One level of a taxonomy: its nodes in order, each a range of leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// Node `i` covers the codes `starts[i] .. starts[i + 1]`.
    starts: Vec<u32>,
    labels: Vec<Box<str>>,
    /// The number of leaves of the domain below each node; more than codes if the domain is larger
    /// than the data.
    leaves: Vec<u64>,
    /// The node above each code.
    node_of: Vec<u32>,
}

impl Level {
    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no nodes, which never happens in a taxonomy.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The codes below a node.
    pub fn range(&self, node: u32) -> std::ops::Range<u32> {
        self.starts[node as usize]..self.starts[node as usize + 1]
    }

    /// The label of a node in a release.
    pub fn label(&self, node: u32) -> &str {
        &self.labels[node as usize]
    }

    /// The number of leaves of the domain below a node.
    pub fn leaves(&self, node: u32) -> u64 {
        self.leaves[node as usize]
    }

    /// The node above a leaf.
    pub fn node_of(&self, code: u32) -> u32 {
        self.node_of[code as usize]
    }

    /// The node above each leaf.
    pub fn nodes(&self) -> &[u32] {
        &self.node_of
    }
}

/// A tree over the values of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taxonomy {
    name: String,
    levels: Vec<Level>,
    /// The leaf of missing values.
    missing: Option<u32>,
}

/// A leaf that is added to a taxonomy: its labels from leaf to root.
type Path<'a> = Vec<&'a str>;

impl Taxonomy {
    /// A placeholder tree for a column that is split by its numbers: one leaf below the root.
    pub fn nothing() -> Taxonomy {
        let level = || Level::from_runs(std::iter::once((ROOT, true, 1)));
        Taxonomy { name: "the column".into(), levels: vec![level(), level()], missing: None }
    }

    /// The name for error messages: a file, or a description.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of the root's level; levels are `0 ..= height`.
    pub fn height(&self) -> usize {
        self.levels.len() - 1
    }

    /// A level; level 0 has the leaves.
    pub fn level(&self, level: usize) -> &Level {
        &self.levels[level]
    }

    /// The levels, from the leaves to the root.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The number of codes.
    pub fn codes(&self) -> u32 {
        self.levels[0].len() as u32
    }

    /// The number of leaves of the domain, at least the number of codes.
    pub fn leaves(&self) -> u64 {
        self.levels[self.height()].leaves[0]
    }

    /// The leaf of missing values, if the column has any.
    pub fn missing(&self) -> Option<u32> {
        self.missing
    }

    /// The labels of each leaf, from its own to the root, as in a hierarchy file. Missing values
    /// are not included.
    pub fn rows(&self) -> impl Iterator<Item = Vec<&str>> {
        let codes = (0..self.codes()).filter(|code| self.missing != Some(*code));
        codes.map(|code| self.levels.iter().map(|level| level.label(level.node_of(code))).collect())
    }

    /// The same tree with labels that are written in another way.
    pub(crate) fn relabelled(mut self, label: impl Fn(&str) -> String) -> Taxonomy {
        let labels = self.levels.iter_mut().flat_map(|level| &mut level.labels);
        labels.for_each(|text| *text = label(text).into());
        self
    }

    /// For each node of level `from`, its ancestor on level `to`.
    pub fn lift(&self, from: usize, to: usize) -> Vec<u32> {
        let (from, to) = (&self.levels[from], &self.levels[to]);
        from.starts[..from.len()].iter().map(|first| to.node_of[*first as usize]).collect()
    }

    /// Builds the tree from the paths of its leaves, which must have the same length and lead to
    /// the same root. Leaves are put in depth-first order, siblings in the order of their first
    /// appearance. Returns the tree and the code of each path. `with_missing` adds the leaf for
    /// missing values as the last one.
    fn from_paths(
        name: String,
        paths: &[Path<'_>],
        with_missing: bool,
    ) -> Result<(Taxonomy, Vec<u32>)> {
        let depth = paths.first().map_or(2, Vec::len).max(2);
        let mut ids: Vec<HashMap<&str, u32>> = vec![HashMap::new(); depth];
        let mut keys: Vec<Vec<u32>> = Vec::with_capacity(paths.len());
        for path in paths {
            let mut key = Vec::with_capacity(depth);
            for (level, label) in path.iter().enumerate() {
                let next = ids[level].len() as u32;
                key.push(*ids[level].entry(label).or_insert(next));
            }
            key.reverse();
            keys.push(key);
        }
        let mut order: Vec<u32> = (0..paths.len() as u32).collect();
        order.sort_by(|a, b| keys[*a as usize].cmp(&keys[*b as usize]));
        let mut codes = vec![0; paths.len()];
        for (code, path) in order.iter().enumerate() {
            codes[*path as usize] = code as u32;
        }
        let mut levels: Vec<Level> = Vec::with_capacity(depth);
        for level in 0..depth {
            let labels = order.iter().map(|path| paths[*path as usize][level]);
            let key = |code: usize| keys[order[code] as usize][depth - 1 - level];
            let same = |code: usize| code > 0 && key(code) == key(code - 1);
            levels.push(Level::from_runs(
                labels.enumerate().map(|(code, label)| (label, !same(code), 1)),
            ));
        }
        if with_missing {
            Level::append_missing(&mut levels);
        }
        let missing = with_missing.then_some(paths.len() as u32);
        Ok((Taxonomy::checked(name, levels, missing)?, codes))
    }

    /// The only constructor. It refuses a label that denotes two different sets, which a reader of
    /// a release could not tell apart.
    fn checked(name: String, levels: Vec<Level>, missing: Option<u32>) -> Result<Taxonomy> {
        let mut meaning: HashMap<&str, (u32, u32)> = HashMap::new();
        for level in &levels {
            for (node, label) in level.labels.iter().enumerate() {
                let range = (level.starts[node], level.starts[node + 1]);
                if *meaning.entry(label).or_insert(range) != range {
                    return Err(Error::AmbiguousLabel {
                        place: None,
                        hierarchy: name,
                        label: label.to_string(),
                    });
                }
            }
        }
        Ok(Taxonomy { name, levels, missing })
    }
}

impl Level {
    /// A level from its codes in order, each with its label, whether a new node begins here, and
    /// the number of leaves of the domain that it adds.
    fn from_runs<'a>(codes: impl Iterator<Item = (&'a str, bool, u64)>) -> Level {
        let mut level = Level {
            starts: Vec::new(),
            labels: Vec::new(),
            leaves: Vec::new(),
            node_of: Vec::new(),
        };
        for (code, (label, begins, leaves)) in codes.enumerate() {
            if begins {
                level.starts.push(code as u32);
                level.labels.push(label.into());
                level.leaves.push(0);
            }
            let node = level.labels.len() - 1;
            level.leaves[node] += leaves;
            level.node_of.push(node as u32);
        }
        level.starts.push(level.node_of.len() as u32);
        level
    }

    /// Adds the leaf for missing values: a separate node on every level but the last, where it
    /// joins the root.
    fn append_missing(levels: &mut [Level]) {
        let root = levels.len() - 1;
        for (number, level) in levels.iter_mut().enumerate() {
            let code = level.node_of.len() as u32;
            if number < root || level.labels.is_empty() {
                level.labels.push(if number < root { "".into() } else { ROOT.into() });
                level.leaves.push(1);
                level.node_of.push(level.labels.len() as u32 - 1);
                level.starts.push(code + 1);
            } else {
                level.leaves[0] += 1;
                level.node_of.push(0);
                level.starts[1] = code + 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Checks the invariants stated at the top of this file.
    pub(super) fn check_laws(taxonomy: &Taxonomy) {
        let codes = taxonomy.codes();
        for (number, level) in taxonomy.levels().iter().enumerate() {
            let mut next = 0;
            for node in 0..level.len() as u32 {
                let range = level.range(node);
                assert_eq!(range.start, next, "nodes are contiguous and in order");
                assert!(range.end > range.start, "no node is empty");
                assert!(range.clone().all(|code| level.node_of(code) == node));
                assert!(level.leaves(node) >= u64::from(range.end - range.start));
                next = range.end;
            }
            assert_eq!(next, codes, "each level partitions the leaves");
            if number > 0 {
                let below = taxonomy.level(number - 1);
                for (node, parent) in taxonomy.lift(number - 1, number).into_iter().enumerate() {
                    let (child, parent) = (below.range(node as u32), level.range(parent));
                    assert!(
                        parent.start <= child.start && child.end <= parent.end,
                        "children refine parents"
                    );
                }
            }
        }
        assert_eq!(taxonomy.level(0).len() as u32, codes);
        assert_eq!(taxonomy.level(taxonomy.height()).len(), 1, "one root");
    }

    proptest! {
        #[test]
        fn laws_hold_for_trees_from_paths(
            parents in prop::collection::vec((0u8..4, 0u8..3), 1..40),
            missing in any::<bool>(),
        ) {
            // Leaf i lies below parent p of grandparent g. Labels contain their path, so this is a
            // tree.
            let rows: Vec<[String; 4]> = parents.iter().enumerate()
                .map(|(i, (p, g))| [format!("l{i}"), format!("p{g}.{p}"), format!("g{g}"), "*".into()])
                .collect();
            let paths: Vec<Path> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
            let (taxonomy, codes) = Taxonomy::from_paths("t".into(), &paths, missing).unwrap();
            check_laws(&taxonomy);
            for (path, code) in paths.iter().zip(&codes) {
                for (level, label) in path.iter().enumerate() {
                    let level = taxonomy.level(level);
                    prop_assert_eq!(level.label(level.node_of(*code)), *label);
                }
            }
            prop_assert_eq!(taxonomy.leaves(), parents.len() as u64 + u64::from(missing));
        }
    }

    #[test]
    fn a_missing_value_is_itself_until_the_root() {
        let paths = vec![vec!["a", "x", "*"], vec!["b", "x", "*"]];
        let (taxonomy, _) = Taxonomy::from_paths("t".into(), &paths, true).unwrap();
        let code = taxonomy.missing().unwrap();
        let labels: Vec<&str> =
            taxonomy.levels().iter().map(|level| level.label(level.node_of(code))).collect();
        assert_eq!(labels, ["", "", "*"]);
    }

    #[test]
    fn a_label_with_two_meanings_is_refused_and_a_repeated_chain_is_not() {
        let paths = vec![vec!["a", "b", "*"], vec!["b", "c", "*"]];
        let refused = Taxonomy::from_paths("t".into(), &paths, false);
        assert!(matches!(refused, Err(Error::AmbiguousLabel { label, .. }) if label == "b"));
        let paths = vec![vec!["a", "a", "*"], vec!["b", "c", "*"]];
        assert!(Taxonomy::from_paths("t".into(), &paths, false).is_ok());
    }
}
