//! Parameters of single algorithms.

use crate::estimate::multinomial;
use crate::policy::ByAsked;
use crate::privacy::Shortcuts;
use crate::search::lattice::incognito::Strategy;
use crate::summary::{Kind, Structure};
use std::time::Duration;

/// What a caller may choose of an algorithm.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    /// The order in which recodings are visited.
    pub strategy: Strategy,
    /// Of searches for cuts.
    pub cuts: CutParameters,
    /// Of partitions on disk.
    pub disk: DiskParameters,
    /// Of searches by a summary.
    pub instant: InstantParameters,
    /// How confident presence is judged.
    pub shortcuts: Shortcuts,
}

/// What a caller may choose of a search for cuts.
#[derive(Clone, Debug, Default)]
pub struct CutParameters {
    /// The search ends after this time with the best so far.
    pub time_limit: Option<Duration>,
    /// The release is drawn at random from this many of the best cuts; 0 and 1 are the best itself.
    pub top: usize,
    /// The release is one random step more general than what was found.
    pub extra_generalization: bool,
}

/// What a caller may choose of partitions on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskParameters {
    /// Rows of a sample, and of a partition in memory (TM); by memory if `None`.
    pub tuples: Option<u64>,
    /// Frequency groups at a time (F_CACHE); by memory if `None`.
    pub groups: Option<usize>,
    /// Partitions that are written at a time; by memory if `None`.
    pub fan_out: Option<usize>,
    /// The chance that a split is wrong.
    pub alpha: f64,
    /// Whether a sample is believed without a test, for comparison.
    pub naive: bool,
    /// Whether samples grow trees to the fan-out though all leaves would fit in memory, for
    /// comparison.
    pub to_fan_out: bool,
}

impl Default for DiskParameters {
    fn default() -> Self {
        DiskParameters {
            tuples: None,
            groups: None,
            fan_out: None,
            alpha: 0.05,
            naive: false,
            to_fan_out: false,
        }
    }
}

/// What a caller may choose of a search by a summary.
#[derive(Clone, Debug, Default)]
pub struct InstantParameters {
    /// The kind of summary that is made of the table.
    pub kind: Kind,
    /// How the structure of a network is found.
    pub structure: Structure,
    /// Rows of a sample; a default if `None`.
    pub sampled: Option<usize>,
    /// Which estimate decides, whatever the policy says.
    pub by: Option<ByAsked>,
    /// Its threshold, likewise.
    pub threshold: Option<f64>,
    /// The shortcuts of the estimators.
    pub shortcuts: multinomial::Shortcuts,
}
