//! Hierarchies of masks: `{ mask = "right", char = "*" }` turns `13053` into `1305*`, `130**` and
//! so on.
//!
//! Level `i` masks `i` characters from one side, but never the last remaining one. Masked values
//! keep their length, so two values become equal only if their length and all unmasked characters
//! agree; the root `*` joins all that remain. The root is the same for every column: a root with as
//! many mask characters as the longest value would reveal that length, even if the row is
//! suppressed.

use super::{Path, ROOT, Taxonomy};
use crate::error::Result;

/// The side from which characters are masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first characters are masked first.
    Left,
    /// The last characters are masked first.
    Right,
}

/// The side, and the character that replaces masked ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    /// The side.
    pub side: Side,
    /// The character.
    pub character: char,
}

/// The maximum number of levels below the root. It limits the memory for labels to this many times
/// that of the values.
const MOST_LEVELS: usize = 64;

impl Mask {
    fn apply(self, value: &str, masked: usize) -> String {
        let length = value.chars().count();
        let masked = masked.min(length.saturating_sub(1));
        let stands_in = std::iter::repeat_n(self.character, masked);
        match self.side {
            Side::Right => value.chars().take(length - masked).chain(stands_in).collect(),
            Side::Left => stands_in.chain(value.chars().skip(masked)).collect(),
        }
    }

    /// The tree over distinct values, which are its leaves.
    pub(super) fn taxonomy(
        self,
        values: &[&str],
        with_missing: bool,
    ) -> Result<(Taxonomy, Vec<u32>)> {
        let longest =
            values.iter().map(|value| value.chars().count()).max().unwrap_or(1).min(MOST_LEVELS);
        let labels: Vec<Vec<String>> = values
            .iter()
            .map(|value| (1..longest).map(|masked| self.apply(value, masked)).collect())
            .collect();
        let paths: Vec<Path<'_>> = values
            .iter()
            .zip(&labels)
            .map(|(value, labels)| {
                let middle = labels.iter().map(String::as_str);
                std::iter::once(*value).chain(middle).chain(std::iter::once(ROOT)).collect()
            })
            .collect();
        Taxonomy::from_paths(self.describe(), &paths, with_missing)
    }

    /// A short description for error messages.
    pub(super) fn describe(self) -> String {
        format!("the mask `{}`", self.character)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use proptest::prelude::*;

    const MASK: Mask = Mask { side: Side::Right, character: '*' };

    #[test]
    fn characters_go_one_by_one() {
        let (taxonomy, codes) = MASK.taxonomy(&["13053", "13068", "14850"], false).unwrap();
        let labels: Vec<&str> =
            taxonomy.levels().iter().map(|level| level.label(level.node_of(codes[0]))).collect();
        assert_eq!(labels, ["13053", "1305*", "130**", "13***", "1****", "*"]);
        assert_eq!(Mask { side: Side::Left, character: '#' }.apply("año", 2), "##o");
    }

    /// No label reveals the length of the longest value, and short values are not mistaken for the
    /// root.
    #[test]
    fn the_root_is_the_same_for_all() {
        let (taxonomy, codes) = MASK.taxonomy(&["a", "bc", "bcdefg"], false).unwrap();
        let labels = |code: u32| -> Vec<&str> {
            taxonomy.levels().iter().map(|level| level.label(level.node_of(code))).collect()
        };
        assert_eq!(labels(codes[0]), ["a", "a", "a", "a", "a", "a", "*"]);
        assert_eq!(labels(codes[1]), ["bc", "b*", "b*", "b*", "b*", "b*", "*"]);
        super::super::tests::check_laws(&taxonomy);
    }

    #[test]
    fn levels_are_bounded() {
        let long = "x".repeat(100_000);
        let (taxonomy, _) = MASK.taxonomy(&["y", &long], false).unwrap();
        assert_eq!(taxonomy.height(), MOST_LEVELS);
    }

    #[test]
    fn a_value_that_looks_masked_already_is_refused() {
        assert!(matches!(
            MASK.taxonomy(&["12*", "123", "124"], false),
            Err(Error::AmbiguousLabel { .. })
        ));
    }

    proptest! {
        #[test]
        fn laws_hold(values in prop::collection::btree_set("[a-c]{1,4}", 1..30), missing in any::<bool>()) {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            let (taxonomy, _) = MASK.taxonomy(&values, missing).unwrap();
            super::super::tests::check_laws(&taxonomy);
        }
    }
}
