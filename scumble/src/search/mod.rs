//! Which recoding is best?
//!
//! A search gets a [`Task`]: taxonomies, cells and requirements, all bound to columns. It hands
//! back a [`Found`]: a recoding, what it costs, and whether that is proven to be the least.

pub mod buckets;
pub mod cuts;
pub mod grouping;
pub mod instant;
pub mod lattice;
pub mod local;
pub mod regions;

use crate::ids::CellId;
use crate::loss::{LossChoice, Weights};
use crate::privacy::{ConfidentPresence, Requirement};
use crate::recoding::Mapping;
use crate::table::{Cells, Tallies};
use crate::taxonomy::{Axis, Taxonomy};
use std::sync::Arc;

/// What is searched: data that is bound and counted, and what is asked of a release.
#[derive(Debug)]
pub struct Task {
    /// The tree of each quasi-identifier.
    pub taxonomies: Vec<Arc<Taxonomy>>,
    /// Each quasi-identifier as a dimension.
    pub axes: Vec<Axis>,
    /// The quasi-identifiers of which a local recoding releases sets of values.
    pub sets: Vec<bool>,
    /// The distinct tuples of quasi-identifiers, coded by the leaves of their trees.
    pub cells: Cells<CellId>,
    /// For each counted column, its values in each cell.
    pub tallies: Vec<Tallies>,
    /// For each counted column, a number above all its values.
    pub values: Vec<usize>,
    /// What every group must meet.
    pub requirements: Vec<Box<dyn Requirement>>,
    /// What the classes together must meet in likely worlds.
    pub confident: Option<ConfidentPresence>,
    /// What is minimised.
    pub loss: LossChoice,
    /// How much the detail of each quasi-identifier matters to LM.
    pub weights: Weights,
    /// The class label among the counted columns.
    pub target: Option<usize>,
    /// The number of each of its values, where the search needs them.
    pub target_numbers: Option<Arc<[f64]>>,
    /// How many rows may be left out.
    pub suppressible: u64,
}

/// Columns of which sets are released have at most so many values: a set is one word.
pub const MOST_IN_SETS: u32 = 64;

impl Task {
    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.cells.counts().iter().map(|count| u64::from(*count)).sum()
    }
}

/// What a search can swear to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warrant {
    /// Nothing cheaper exists, proven.
    Optimal,
    /// It ended early; nothing is cheaper than this, proven.
    AtLeast(f64),
    /// Whether no allowable split is left.
    Minimal(bool),
    /// Nothing cheaper was believed in; it may exist.
    Likely,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// What was decided.
    pub mapping: Mapping,
    /// What the search can swear to.
    pub warrant: Warrant,
    /// What the search minimised, in its own unit; partitioning minimises nothing.
    pub cost: Option<f64>,
    /// How many recodings there are, where they can be counted.
    pub space: Option<u128>,
    /// How many recodings (or nodes of a partition tree) were evaluated.
    pub visited: u64,
}
