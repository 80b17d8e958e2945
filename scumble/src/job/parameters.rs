//! Parameters of single algorithms, as the policy gives them.

use crate::estimate::multinomial;
use crate::policy::{ByAsked, Policy, StructureSearch};
use crate::privacy::Shortcuts;
use crate::ratio::Ratio;
use crate::search::lattice::incognito::Strategy;
use crate::summary::{Structure, SummaryKind};
use std::time::Duration;

/// What may be chosen of an algorithm.
#[derive(Clone, Debug)]
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
    /// How long changes are looked for with which a release is possible.
    pub remedies: Duration,
}

/// After this time a person would rather change the policy than wait.
const REMEDIES: Duration = Duration::from_secs(20);

impl Default for Parameters {
    fn default() -> Self {
        Parameters {
            strategy: Strategy::default(),
            cuts: CutParameters::default(),
            disk: DiskParameters::default(),
            instant: InstantParameters::default(),
            shortcuts: Shortcuts::default(),
            remedies: REMEDIES,
        }
    }
}

/// Parameters of a search for cuts.
#[derive(Clone, Debug, Default)]
pub struct CutParameters {
    /// The search ends after this time with the best so far.
    pub time_limit: Option<Duration>,
    /// A search for a local recoding ends if at most this share of its loss is avoidable.
    pub gap: Option<Ratio>,
    /// The release is drawn at random from this many of the best cuts.
    pub top: usize,
    /// The release is one random step more general than what was found.
    pub extra_generalization: bool,
    /// Whether rows or values are suppressed at random although no requirement forces it.
    pub extra_suppression: bool,
}

/// Parameters of partitions on disk.
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
        let (tuples, groups, fan_out) = (None, None, None);
        DiskParameters { tuples, groups, fan_out, alpha: 0.05, naive: false, to_fan_out: false }
    }
}

/// Parameters of a search by a summary.
#[derive(Clone, Debug, Default)]
pub struct InstantParameters {
    /// The kind of summary that is made of the table.
    pub kind: SummaryKind,
    /// How the structure of a network is found; annealing gets the seed of the job.
    pub structure: Structure,
    /// Rows of a sample; a default if `None`.
    pub sampled: Option<usize>,
    /// Which estimate decides; one that suits the policy if `None`.
    pub by: Option<ByAsked>,
    /// Its threshold.
    pub threshold: Option<f64>,
    /// The shortcuts of the estimators.
    pub shortcuts: multinomial::Shortcuts,
}

impl Parameters {
    /// The parameters that a policy gives.
    pub(super) fn of(policy: &Policy) -> Parameters {
        let search = policy.search();
        let (cuts, disk, instant) = (search.cuts(), search.disk(), search.instant());
        let structure = match (instant.max_parents, instant.structure_search.unwrap_or_default()) {
            (None | Some(..2), _) => Structure::ChowLiu,
            (_, StructureSearch::Greedy) => Structure::Greedy,
            (_, StructureSearch::Annealed) => Structure::Annealed { seed: 0 },
        };
        Parameters {
            strategy: search.strategy().unwrap_or_default(),
            cuts: CutParameters {
                time_limit: cuts.time_limit,
                gap: cuts.gap,
                top: cuts.top.map_or(1, usize::from),
                extra_generalization: cuts.extra_generalization,
                extra_suppression: cuts.extra_suppression.is_some_and(|extra| extra > Ratio::ZERO),
            },
            disk: DiskParameters {
                tuples: disk.sample_tuples,
                groups: disk.frequency_groups.map(|groups| groups as usize),
                fan_out: disk.fan_out.map(|fan_out| fan_out as usize),
                alpha: disk.alpha.map_or(0.05, Ratio::to_f64),
                naive: disk.naive,
                to_fan_out: false,
            },
            instant: InstantParameters {
                kind: instant.summary_kind.unwrap_or_default(),
                structure,
                sampled: instant.sample_rows.map(|rows| rows as usize),
                by: search.by,
                threshold: search.threshold.map(Ratio::to_f64),
                shortcuts: instant.shortcuts,
            },
            shortcuts: search.shortcuts(),
            remedies: REMEDIES,
        }
    }
}
