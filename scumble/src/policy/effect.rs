//! Which keys have an effect on a release?
//!
//! A policy may hold keys for several algorithms, and those of others are not read. A key that is
//! set for a single release, such as by a flag, is meant to do something: the caller lists these
//! keys, and one without effect is refused.

use super::{Algorithm, Kind, Policy};
use crate::error::{Error, Result};
use crate::loss::LossChoice;
use crate::search::cuts::Suppression;
use crate::search::regions::Criterion;

/// How a release is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// The algorithm that runs; never `auto`.
    pub(crate) algorithm: Algorithm,
    /// Whether anything is searched; otherwise levels or a recoding were given.
    pub(crate) is_searched: bool,
    /// Whether rows are partitioned on disk.
    pub(crate) is_on_disk: bool,
}

impl Policy {
    /// Refuses the first of some keys, each with its path, that has no effect on a release.
    pub(crate) fn check_effect(&self, keys: &[String], way: Way) -> Result<()> {
        let problem = keys.iter().find_map(|key| Some((key, self.why_unused(key, way)?)));
        match problem {
            Some((key, problem)) => Err(self.inapplicable(key, problem)),
            None => Ok(()),
        }
    }

    /// An error about a key of the policy that does not go with the others.
    pub(super) fn inapplicable(&self, key: &str, problem: impl Into<String>) -> Error {
        let place = Some(crate::error::Place::file(&self.file));
        Error::Inapplicable { place, key: key.into(), problem: problem.into() }
    }

    /// Refuses sets if no local recoding is among those that are searched.
    pub(crate) fn check_sets(&self, way: Way, is_saved: bool) -> Result<()> {
        let Some(attribute) = self.attributes.iter().find(|one| one.has_sets()) else {
            return Ok(());
        };
        let is_tried = self.compares_kinds() && way.algorithm == Algorithm::Incognito && !is_saved;
        if way.is_searched && (way.algorithm == Algorithm::Local || is_tried) {
            return Ok(());
        }
        let problem = "requires a search for local recodings: the algorithm local, or auto \
                       without a recoding that is saved";
        Err(self.inapplicable(&format!("attributes.{}.sets", attribute.name), problem))
    }

    /// Refuses weights that a search does not heed. If nothing is searched, the report has the
    /// weighted loss of what was given.
    pub(crate) fn check_weights(&self, way: Way) -> Result<()> {
        use Algorithm::*;
        let weighed = self.attributes.iter().find(|attribute| attribute.weight.is_some());
        let Some(attribute) = weighed.filter(|_| way.is_searched) else { return Ok(()) };
        let is_regions = self.search.algorithm == Auto
            && self.search.recoding == Kind::Regions
            && way.algorithm == Incognito;
        let algorithm = if is_regions { Mondrian } else { way.algorithm };
        let by_split = matches!(algorithm, Mondrian | RothkoT | RothkoS);
        let problem = if self.privacy.distribution.is_some() {
            "cannot be used with `distribution`; leave it out"
        } else if matches!(algorithm, MInstant | Mpalm) {
            "cannot be used with the algorithm m-instant or mpalm, which minimize no loss"
        } else if by_split && self.search.partitioning.criterion != Criterion::Loss {
            "requires the split `loss`; others minimize no loss"
        } else if !by_split && self.search.loss != LossChoice::Lm {
            "requires the loss lm"
        } else {
            return Ok(());
        };
        Err(self.inapplicable(&format!("attributes.{}.weight", attribute.name), problem))
    }

    /// Whether auto compares all kinds of recoding, as long as the table fits in memory.
    pub(crate) fn compares_kinds(&self) -> bool {
        self.search.algorithm == Algorithm::Auto
            && self.search.recoding == Kind::Any
            && self.privacy.presence.is_none()
            && self.privacy.distribution.is_none()
    }

    /// Whether auto chooses among several kinds of recoding, one of which is local.
    fn is_open(&self, algorithm: Algorithm) -> bool {
        self.search.algorithm == Algorithm::Auto
            && self.search.recoding == Kind::Any
            && algorithm == Algorithm::Incognito
    }

    /// Why a key has no effect; a phrase that follows the key.
    fn why_unused(&self, key: &str, way: Way) -> Option<&'static str> {
        use Algorithm::*;
        let Way { algorithm, is_searched, is_on_disk } = way;
        let is_by_sample = algorithm == RothkoS || (algorithm == Local && is_on_disk);
        let name = key.strip_prefix("search.")?;
        let is_distribution = self.privacy.distribution.is_some();
        let has_classes = self.privacy.asks_for_classes();
        let asked = self.search.algorithm;
        let is_limit = name == "suppression.limit";
        let is_scheme = name == "suppression.scheme";
        let of_cuts = !matches!(self.search.scheme, None | Some(Suppression::None));
        if is_distribution && !has_classes && !matches!(asked, SaOnly | QiSa if name == "algorithm")
        {
            return Some(
                "has no effect on a distribution without classes; add a requirement such as `k`, \
                 or leave it out",
            );
        }
        // Cuts that were saved are suppressed like those that were just found.
        let is_extra = name == "extra-suppression";
        if !is_searched && !is_limit && !is_extra && (!is_scheme || of_cuts) {
            return Some("cannot be used if levels or a recoding are given; leave it out");
        }
        let by_summary = matches!(name, "summary-kind" | "by" | "threshold" | "without");
        if is_distribution && by_summary {
            return Some("cannot be used with `distribution`; leave it out");
        }
        let is_lm = self.search.loss == LossChoice::Lm;
        let (suits, needs) = match name {
            "algorithm" => (
                !is_distribution || !matches!(asked, SInstant | MInstant | RothkoT | RothkoS),
                "must be incognito, mondrian, l-plus-optimize or annealing, or sa-only or qi-sa, \
                 if the policy has a `distribution`",
            ),
            "suppression.scheme" => (
                !is_distribution || !of_cuts,
                "must be records or none if the policy has a `distribution`",
            ),
            "loss" => (
                matches!(
                    algorithm,
                    Incognito | SInstant | Local | LPlusOptimize | Annealing | Spalm | Sfalm
                ),
                "requires the algorithm incognito, s-instant, local, l-plus-optimize, annealing, \
                 spalm or sfalm; others minimize no loss",
            ),
            "time-limit" => (
                matches!(algorithm, LPlusOptimize | Annealing | Local) || self.is_open(algorithm),
                "requires the algorithm local, l-plus-optimize or annealing, or auto with \
                 recoding = \"any\"",
            ),
            "gap" if algorithm == Local && is_on_disk => (
                false,
                "requires a table that fits in memory; there is no lower bound for larger ones",
            ),
            "gap" => (
                algorithm == Local || (self.is_open(algorithm) && is_lm),
                "requires the algorithm local, or auto with the loss lm",
            ),
            "strategy" => (
                matches!(algorithm, Incognito | Spalm | Sfalm),
                "requires the algorithm incognito, spalm or sfalm",
            ),
            "sample-tuples" | "fan-out" => (
                algorithm == RothkoT || is_by_sample,
                "requires the algorithm rothko-t or rothko-s, or local and a table larger than \
                 memory",
            ),
            "frequency-groups" => (algorithm == RothkoT, "requires the algorithm rothko-t"),
            "alpha" | "naive" => (
                is_by_sample,
                "requires the algorithm rothko-s, or local and a table larger than memory",
            ),
            _ => (true, ""),
        };
        (!suits).then_some(needs)
    }
}
