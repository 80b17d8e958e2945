//! Local recoding: every cell has its class, and a class is called by what its cells have in common.
//!
//! Classes are no boxes of a partition: the labels of two classes may overlap. So a local recoding
//! fits only the rows it was made from, and cannot be saved.

use super::Style;

/// The class of each cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// The class of each cell, by number.
    pub class_of: Vec<u32>,
    /// How many classes there are.
    pub classes: u32,
    /// What classes are called.
    pub style: Style,
}
