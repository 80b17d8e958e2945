//! Boxes in attribute space: greedy recursive partitioning (LeFevre and DeWitt 2007).
//!
//! The space of quasi-identifiers is parted again and again, as long as every part meets the
//! requirements. A split is chosen from counts alone ([`FrequencySet`], the paper's AV, AVC and AVS
//! sets), so it does not matter where the rows are: Mondrian counts points in memory, Rothko-T
//! counts rows on disk, Rothko-S counts a sample and asks a [`Judge`] that knows it is one. All of
//! them ask `choose` and get the same answer for the same counts.
//!
//! | here | paper |
//! |---|---|
//! | frequency set (group) | AV, AVC, AVS set (group): values of one attribute (of all) with their counts, by class label and sensitive value where these matter |
//! | allowable | every part of the split meets every requirement |
//! | minimal | no allowable split is left |
//!
//! A split of a tree makes a part of every child that occurs. Where children are pooled, those
//! that are not allowable by themselves are one part together, and if this part is not allowable
//! either, the smallest of the others join it.
//!
//! Stated order of choice. `loss`: the allowable split that gives a row the most detail back for
//! each bit of its parts, times the weight of the attribute, where a threshold is taken to halve
//! the range; of equal ones the attribute that `median` tries first. `median`: attributes by descending share of their range that is left in
//! the partition, equal ones by their position in the table; within a numeric attribute the
//! allowable threshold that leaves the most equal halves, of two such the lower. `info-gain`,
//! `regression`: the allowable split with the greatest gain, of equal ones the first attribute and
//! the lowest threshold.

mod children;
mod choose;
pub mod disk;
mod frequency;
mod gain;
pub mod m_instant;
pub mod mfalm;
pub mod mondrian;
pub mod mpalm;
mod points;
pub mod rothko_s;
pub mod rothko_t;

pub use choose::{Choice, choose};
pub use frequency::FrequencySet;
pub use points::{Layout, Points};

use crate::loss::Weights;
use crate::privacy::{Group, Requirement, Sample, all_hold};
use crate::recoding::Style;
use crate::table::Tallies;
use std::sync::Arc;

/// How splits are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Criterion {
    /// The attribute whose split removes the most loss, numbers at their median.
    #[default]
    Loss,
    /// The widest attribute at its median.
    Median,
    /// The greatest gain of information about a class label.
    InfoGain,
    /// The greatest drop of squared error of a numeric target.
    Regression,
}

impl Criterion {
    /// Every criterion with its name in a policy.
    pub const NAMES: [(&'static str, Criterion); 4] = [
        ("loss", Criterion::Loss),
        ("median", Criterion::Median),
        ("info-gain", Criterion::InfoGain),
        ("regression", Criterion::Regression),
    ];

    /// Whether it looks at a target.
    pub fn needs_target(self) -> bool {
        matches!(self, Criterion::InfoGain | Criterion::Regression)
    }
}

/// How to partition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Partitioning {
    /// How splits are chosen.
    pub criterion: Criterion,
    /// Below this gain the median takes over, for a node and all below it (the paper's footnote
    /// 13).
    pub least_gain: f64,
    /// Whether children of a node that are not allowable by themselves may be one part together.
    pub pooling: bool,
    /// What regions are called.
    pub style: Style,
}

impl Default for Partitioning {
    fn default() -> Self {
        let (criterion, style) = (Criterion::default(), Style::default());
        Partitioning { criterion, least_gain: 0.01, pooling: true, style }
    }
}

/// What a split is good for, beside the median's equal halves.
#[derive(Clone, Debug)]
pub enum Aim {
    /// Less loss.
    Loss {
        /// What the detail of each attribute weighs.
        weights: Arc<[f64]>,
    },
    /// Nothing: halves.
    Median,
    /// To tell the values of a counted column.
    InfoGain {
        /// The class label among the counted columns.
        column: usize,
    },
    /// To tell the number of a counted column.
    Regression {
        /// The target among the counted columns.
        column: usize,
        /// The number of each of its values, around zero.
        numbers: Arc<[f64]>,
    },
}

impl Aim {
    /// Less loss, where the detail of attributes weighs so much.
    pub fn loss(weights: &Weights) -> Aim {
        Aim::Loss { weights: weights.relatives().into() }
    }

    /// What the detail of an attribute weighs.
    fn weight(&self, column: usize) -> f64 {
        match self {
            Aim::Loss { weights } => weights[column],
            Aim::Median | Aim::InfoGain { .. } | Aim::Regression { .. } => 1.0,
        }
    }

    /// To tell the number of a counted column. Numbers are moved to lie around zero, which changes
    /// no error and keeps their squares precise.
    pub fn regression(column: usize, numbers: &[f64]) -> Aim {
        let (least, greatest) = numbers
            .iter()
            .fold((f64::MAX, f64::MIN), |ends, number| (ends.0.min(*number), ends.1.max(*number)));
        let middle = (least / 2.0 + greatest / 2.0).floor();
        Aim::Regression { column, numbers: numbers.iter().map(|number| number - middle).collect() }
    }
}

/// Whether parts are allowable: for certain where all rows were counted, likely where a sample was.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// What every part must meet.
    pub requirements: &'a [Box<dyn Requirement>],
    /// The sample that was counted, and the chance of error of a whole split.
    pub sampled: Option<Sample>,
    /// Whether children of a node that are not allowable by themselves may be one part together.
    pub pools: bool,
}

impl<'a> Judge<'a> {
    /// A judge of rows that were all counted. All children of a node are parts by themselves.
    pub fn exact(requirements: &'a [Box<dyn Requirement>]) -> Judge<'a> {
        Judge { requirements, sampled: None, pools: false }
    }

    /// The same, with rare children pooled or not. What lies in the rest cannot be told from its
    /// name alone, so they are never pooled if a population is matched by names.
    pub fn pooling(self, pools: bool) -> Judge<'a> {
        let mut requirements = self.requirements.iter();
        let is_matched = requirements.any(|requirement| requirement.is_about_absent());
        Judge { pools: pools && !is_matched, ..self }
    }

    /// The sample, with the chance of error of one of `parts` parts (Bonferroni).
    fn sample(&self, parts: usize) -> Option<Sample> {
        self.sampled.map(|sample| sample.each_of(parts))
    }

    /// The least rows of a part, where rows alone decide about one of `parts` parts.
    pub fn enough(&self, parts: usize) -> Option<u64> {
        if !self.requirements.iter().all(|requirement| requirement.rows_decide()) {
            return None;
        }
        let Some(sample) = self.sample(parts) else { return Some(self.least_rows()) };
        // More rows are never less likely to be enough, so the least number is found by halving.
        let likely = |rows: u64| {
            let group = Group { rows, columns: &[], index: 0 };
            self.requirements.iter().all(|requirement| requirement.likely_holds(&group, &sample))
        };
        let (mut too_few, mut enough) = (0, sample.rows() + 1);
        while enough - too_few > 1 {
            let middle = too_few + (enough - too_few) / 2;
            *(if likely(middle) { &mut enough } else { &mut too_few }) = middle;
        }
        Some(enough)
    }

    /// Fewer counted rows than this never meet the requirements.
    pub fn least_rows(&self) -> u64 {
        match self.sampled {
            Some(_) => 1,
            // A part of the population may have no row of the table.
            None if self.requirements.iter().any(|requirement| requirement.is_about_absent()) => 0,
            None => self
                .requirements
                .iter()
                .map(|requirement| requirement.least_rows())
                .max()
                .unwrap_or(1)
                .max(1),
        }
    }

    /// Whether one of `parts` parts is allowable.
    pub fn allows(&self, rows: u64, tallies: &[Tallies], parts: usize) -> bool {
        let group = Group { rows, columns: tallies, index: 0 };
        match self.sample(parts) {
            _ if rows < self.least_rows() => false,
            None => all_hold(self.requirements, &group),
            Some(sample) => self
                .requirements
                .iter()
                .all(|requirement| requirement.likely_holds(&group, &sample)),
        }
    }
}
