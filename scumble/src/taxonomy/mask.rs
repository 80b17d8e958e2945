//! Hierarchies of masks: `{ mask = "right", char = "*" }` turns `13053` into `1305*`, `130**` and so on.
//!
//! Level `i` masks `i` characters from one side. Masked values keep their length, so two values fall together only when
//! everything unmasked agrees; the root, as many masks as the longest value has characters, joins what is left.

use super::{Path, Taxonomy};
use crate::error::Result;

/// From which side characters are masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first characters go first.
    Left,
    /// The last characters go first.
    Right,
}

/// The side and the character that stands in for what is masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    /// The side.
    pub side: Side,
    /// The character.
    pub character: char,
}

impl Mask {
    fn apply(self, value: &str, masked: usize) -> String {
        let length = value.chars().count();
        let masked = masked.min(length);
        let stands_in = std::iter::repeat_n(self.character, masked);
        match self.side {
            Side::Right => value.chars().take(length - masked).chain(stands_in).collect(),
            Side::Left => stands_in.chain(value.chars().skip(masked)).collect(),
        }
    }

    /// The tree over distinct values, which are its leaves.
    pub(super) fn taxonomy(self, values: &[&str], with_missing: bool) -> Result<(Taxonomy, Vec<u32>)> {
        let longest = values.iter().map(|value| value.chars().count()).max().unwrap_or(1);
        let labels: Vec<Vec<String>> =
            values.iter().map(|value| (1..longest).map(|masked| self.apply(value, masked)).collect()).collect();
        let root: String = std::iter::repeat_n(self.character, longest).collect();
        let paths: Vec<Path<'_>> = values
            .iter()
            .zip(&labels)
            .map(|(value, labels)| {
                let middle = labels.iter().map(String::as_str);
                std::iter::once(*value).chain(middle).chain(std::iter::once(root.as_str())).collect()
            })
            .collect();
        Taxonomy::from_paths(self.describe(), &paths, with_missing)
    }

    /// The mask in one phrase, for errors.
    pub(super) fn describe(self) -> String {
        format!("the mask {:?}", self.character)
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
        let labels: Vec<&str> = taxonomy.levels().iter().map(|level| level.label(level.node_of(codes[0]))).collect();
        assert_eq!(labels, ["13053", "1305*", "130**", "13***", "1****", "*****"]);
        assert_eq!(Mask { side: Side::Left, character: '#' }.apply("año", 2), "##o");
    }

    #[test]
    fn a_value_that_looks_masked_already_is_refused() {
        assert!(matches!(MASK.taxonomy(&["12*", "123", "124"], false), Err(Error::AmbiguousLabel { .. })));
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
