//! Which recoding is best?
//!
//! A search gets a [`Task`]: taxonomies, cells and requirements, all bound to columns. It hands back a [`Found`]: a
//! recoding, what it costs, and whether that is proven to be the least.

pub mod lattice;

use crate::loss::Loss;
use crate::privacy::Requirement;
use crate::table::{Cells, Tallies};
use crate::taxonomy::Taxonomy;
use std::sync::Arc;

/// What is searched: data that is bound and counted, and what is asked of a release.
#[derive(Debug)]
pub struct Task {
    /// The tree of each quasi-identifier.
    pub taxonomies: Vec<Arc<Taxonomy>>,
    /// The distinct tuples of quasi-identifiers, coded by the leaves of their trees.
    pub cells: Cells,
    /// For each counted column, its values in each cell.
    pub tallies: Vec<Tallies>,
    /// For each counted column, a number above all its values.
    pub values: Vec<usize>,
    /// What every group must meet.
    pub requirements: Vec<Box<dyn Requirement>>,
    /// What is minimised.
    pub loss: Loss,
    /// The class label among the counted columns.
    pub target: Option<usize>,
    /// How many rows may be left out.
    pub suppressible: u64,
}

impl Task {
    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.cells.counts().iter().map(|count| u64::from(*count)).sum()
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The level of each quasi-identifier.
    pub levels: Vec<usize>,
    /// What the search minimised, in its own unit.
    pub cost: f64,
    /// Whether nothing cheaper exists, proven.
    pub optimal: bool,
    /// How many recodings there are.
    pub space: u64,
    /// How many of them were evaluated.
    pub visited: u64,
}
