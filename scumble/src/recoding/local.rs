//! Local recoding: every cell has its class, and a class is called by what its cells have in common.
//!
//! Classes are no boxes of a partition: the labels of two classes may overlap. So a local recoding
//! fits only the rows it was made from, and cannot be saved.

use super::{Place, Style};
use crate::taxonomy::{Axis, Extent, threshold_between};

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

impl Local {
    /// What a range of numbers is called if its ends must be no values of the table; `None` if the
    /// values themselves say it.
    pub fn place(axis: &Axis, extent: Extent, style: Style) -> Option<Place> {
        let Axis::Ordered(axis) = axis else { return None };
        if style == Style::Tight
            || extent.first == extent.last
            || axis.missing == Some(extent.last)
            || axis.least == axis.greatest
        {
            return None;
        }
        let between = |below: u64, above: u64| {
            threshold_between(axis.kind, axis.number(below), axis.number(above))
        };
        let (least, greatest) = (axis.number(extent.first), axis.number(extent.last));
        Some(Place::Numbers {
            above: (least > axis.least).then(|| between(extent.first - 1, extent.first)),
            up_to: (greatest < axis.greatest).then(|| between(extent.last, extent.last + 1)),
        })
    }

    /// The share of detail that a range loses when only its name is released.
    pub fn lost(axis: &Axis, extent: Extent, style: Style) -> f64 {
        match Local::place(axis, extent, style) {
            Some(place) => place.lost(axis),
            None => axis.lost(extent),
        }
    }
}
