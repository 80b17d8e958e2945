//! What pages consist of: tables, charts, and a table with its chart.

use super::svg::{Svg, visible};

/// A table with a heading for each of its columns. The first cell of a row is its name.
pub(super) struct Grid {
    pub(super) caption: String,
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A column in detail.
pub(super) struct Detail {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) notes: Vec<String>,
    pub(super) charts: Vec<Chart>,
    pub(super) grid: Option<Grid>,
}

/// A chart with its caption.
pub(super) struct Chart {
    pub(super) caption: String,
    pub(super) svg: Svg,
    /// Whether it has bars of the original too.
    pub(super) has_before: bool,
}

/// A chart with its table.
pub(super) struct Figure {
    pub(super) chart: Chart,
    pub(super) grid: Grid,
}

/// The name of a label or a value.
pub(super) fn named(label: &str) -> String {
    if label.is_empty() { "(missing)".into() } else { visible(label) }
}
