//! Decided from a summary: candidates without any data, and releases that are checked against it.

use super::memory::Bound;
use super::search::{Searched, levels_by_hand, most_general, refused, with_refusal};
use super::{Decision, InstantParameters, Job, summarize};
use crate::error::{Error, Result, Shortfall};
use crate::policy::{Algorithm, ByAsked, Policy, Space, Way};
use crate::recoding::{Columns, Mapping, Recoding};
use crate::release::Believed;
use crate::search::instant::{By, Candidate, Candidates, holds};
use crate::search::lattice::incognito::{self, Strategy};
use crate::search::lattice::s_instant::Nodes;
use crate::search::regions::m_instant;
use crate::search::{Found, Warrant, cuts};
use crate::summary::{Beliefs, Estimator, Summary};
use crate::taxonomy::{Cut, Taxonomy, TreeNode};
use crate::watch::Watch;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Instant;

/// The threshold of S-INSTANT by probability, and that of M-INSTANT, as in the paper's experiments.
const PROBABILITY: (f64, f64) = (0.8, 0.95);

/// Which estimate decides: as the options say, as the policy says, or as suits it.
pub fn by(policy: &Policy, options: &InstantParameters, suppressible: u64) -> Result<By> {
    let expected = if suppressible > 0 { ByAsked::Expectation } else { ByAsked::Probability };
    let threshold = options.threshold;
    let wrong = |value: f64, expected: &str| {
        let expected = expected.to_string();
        Error::BadParameter {
            place: None,
            key: "search.threshold".into(),
            value: value.to_string(),
            expected,
        }
    };
    match (options.by.unwrap_or(expected), threshold) {
        (ByAsked::Probability, Some(least)) if !(least > 0.0 && least <= 1.0) => {
            Err(wrong(least, "a probability above 0 and at most 1"))
        }
        (ByAsked::Probability, Some(least)) => Ok(By::Probability(least)),
        (ByAsked::Probability, None) => {
            let is_multidimensional = policy.search().algorithm == Algorithm::MInstant;
            Ok(By::Probability(if is_multidimensional { PROBABILITY.1 } else { PROBABILITY.0 }))
        }
        (ByAsked::Expectation, Some(most)) if !(most >= 0.0 && most.is_finite()) => {
            Err(wrong(most, "a number of rows of at least 0"))
        }
        (ByAsked::Expectation, Some(most)) => Ok(By::Expectation(most)),
        (ByAsked::Expectation, None) => Ok(By::Expectation(suppressible.max(1) as f64)),
    }
}

/// Candidates that are checked at most. If so many fail, what they have in common is a wrong belief.
const MOST_FAILED: usize = 5;

fn columns(beliefs: &Beliefs) -> Columns<'_> {
    Columns { names: &beliefs.names, taxonomies: &beliefs.taxonomies, axes: &beliefs.axes }
}

/// The first phase: every recoding that is believed in.
fn candidates(
    policy: &Policy,
    estimator: &Estimator<'_>,
    by: By,
    watch: &Watch,
) -> Result<Candidates> {
    match policy.search().space {
        Space::FullDomain => Nodes::new(estimator)?.candidates(by, watch),
        Space::Subtree => cuts::s_instant::candidates(estimator, by, watch),
    }
}

/// Searches by a summary: what was found, and what it went by.
pub(super) fn search(job: &Job, bound: &Bound<'_>, watch: &Watch) -> Result<Searched> {
    let instant = &job.parameters.instant;
    let policy = &job.policy;
    let beliefs = match &job.summary {
        Some(summary) => policy.believe(summary.clone(), summary.file())?,
        None => {
            let summary = summarize::of_table(job, &bound.table, watch)?;
            policy.believe(summary, &bound.table.file)?
        }
    };
    let by = by(policy, instant, beliefs.suppressible)?;
    let estimator = Estimator::new(&beliefs, instant.shortcuts, watch)?;
    let _heeding = watch.heed();
    let strategy = job.parameters.strategy;
    let search =
        BelievedSearch { policy, bound, beliefs: &beliefs, estimator, by, strategy, watch };
    match policy.search().algorithm {
        Algorithm::MInstant => search.regions(),
        _ => search.levels_or_cuts(job.summary.is_some()),
    }
}

struct BelievedSearch<'a> {
    policy: &'a Policy,
    bound: &'a Bound<'a>,
    beliefs: &'a Beliefs,
    estimator: Estimator<'a>,
    by: By,
    strategy: Strategy,
    watch: &'a Watch,
}

impl BelievedSearch<'_> {
    /// A mapping of the summary in the codes of the table, which may have other values.
    fn translated(&self, mapping: &Mapping) -> Result<Mapping> {
        let recoding = Recoding::of(columns(self.beliefs), mapping).ok_or(Error::Defect)?;
        recoding.bind(self.bound.columns(), &self.bound.table.file)
    }

    fn believed(&self, candidates: u64, checks: u64, probability: f64, outliers: f64) -> Believed {
        let summary = self.beliefs.summary.kind().name().into();
        Believed { summary, candidates, checks, fallback: None, probability, outliers }
    }

    /// S-INSTANT: candidates one after the other until one holds. If the first few do not, the
    /// summary is wrong about this table, and the rows decide. The candidates of another table's
    /// summary are `foreign`.
    fn levels_or_cuts(self, foreign: bool) -> Result<Searched> {
        let task = &self.bound.prepared.task;
        let Candidates { list, visited, space } =
            candidates(self.policy, &self.estimator, self.by, self.watch)?;
        let number = list.len() as u64;
        for (checks, candidate) in (1..).zip(list.iter().take(MOST_FAILED)) {
            self.watch.check()?;
            if self.watch.stopped() {
                return Err(Error::Interrupted);
            }
            let mapping = if foreign {
                self.translated(&candidate.mapping)?
            } else {
                candidate.mapping.clone()
            };
            self.watch.progress("check", checks, Some(number));
            if holds(task, &mapping, self.watch)? {
                let (warrant, cost) = (Warrant::Likely, Some(candidate.cost));
                let found = Found { mapping, warrant, cost, space, visited };
                let Candidate { probability, outliers, .. } = *candidate;
                return Ok(searched(found, self.believed(number, checks, probability, outliers)));
            }
        }
        let checks = number.min(MOST_FAILED as u64);
        self.by_rows(Candidates { list, visited, space }, checks)
    }

    /// The best full-domain recoding by the rows themselves, and what was believed of it.
    fn by_rows(self, candidates: Candidates, checks: u64) -> Result<Searched> {
        let prepared = &self.bound.prepared;
        let Found { mapping, warrant, cost, space, visited } =
            incognito::search(&prepared.task, self.strategy, self.watch)
                .map_err(|error| refused(error, prepared, self.watch))?;
        let levels = mapping.levels();
        // Another table's summary may have the columns in another order, and lower trees.
        let Beliefs { names, taxonomies, .. } = self.beliefs;
        let known = |(name, tree): (&String, &Arc<Taxonomy>)| {
            let at = prepared.names.iter().position(|known| known == name)?;
            levels.get(at).copied().filter(|level| *level <= tree.height())
        };
        let known: Option<Vec<usize>> = names.iter().zip(taxonomies).map(known).collect();
        let total = match known {
            Some(levels) => Nodes::new(&self.estimator)?.total(&levels)?,
            None => None,
        };
        let (probability, outliers) = total.map_or((0.0, self.beliefs.rows() as f64), |total| {
            (total.probability(self.beliefs.rows()), total.outliers())
        });
        let candidates_number = candidates.list.len() as u64;
        let believed = Believed {
            fallback: Some("incognito".into()),
            ..self.believed(candidates_number, checks, probability, outliers)
        };
        let found = match self.policy.search().space {
            Space::FullDomain => Found { mapping, warrant, cost, space, visited },
            // Levels are cuts, but of these the best was not looked for.
            Space::Subtree => {
                let trees = prepared.task.taxonomies.iter().zip(levels);
                let cuts = trees.map(|(tree, level)| Cut::at_level(tree, *level)).collect();
                let (mapping, space) = (Mapping::Cuts(cuts), candidates.space);
                Found { mapping, warrant: Warrant::Likely, cost, space, visited }
            }
        };
        let visited = found.visited + candidates.visited;
        Ok(searched(Found { visited, ..found }, believed))
    }

    /// M-INSTANT.
    fn regions(self) -> Result<Searched> {
        let prepared = &self.bound.prepared;
        let partitioning = self.policy.search().partitioning;
        if partitioning.criterion.needs_target() {
            return Err(Error::Incomplete {
                file: self.policy.file().to_path_buf(),
                missing:
                    "m-instant supports only the splits `loss` and `median`, because a summary has \
                          no target; use mondrian for other splits"
                        .into(),
            });
        }
        let foreseen = m_instant::partition(&self.estimator, self.by, self.watch)?;
        let candidates = foreseen.regions.nodes.len() as u64;
        let foreseen_regions = self.translated(&Mapping::Regions(foreseen.regions))?;
        let Mapping::Regions(regions) = foreseen_regions else { return Err(Error::Defect) };
        let settled = m_instant::settle(&prepared.task, &regions, partitioning, self.watch);
        let mut found = settled
            .map_err(|error| with_refusal(error, prepared, &most_general(prepared), self.watch))?;
        found.visited += foreseen.visited;
        let believed = self.believed(candidates, 1, foreseen.probability, foreseen.outliers);
        Ok(Searched { algorithm: "m-instant", ..searched(found, believed) })
    }
}

/// What S-INSTANT found.
fn searched(found: Found, believed: Believed) -> Searched {
    let (believed, alternatives) = (Some(believed), Vec::new());
    Searched { algorithm: "s-instant", found, believed, alternatives, proven: None }
}

/// What a summary tells of recodings, without any data.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Estimation {
    /// Rows of the summarized table.
    pub rows: u64,
    /// The kind of summary.
    pub summary: String,
    /// Requirements that the estimates leave out.
    pub not_estimated: Vec<String>,
    /// Recodings that were estimated.
    pub visited: u64,
    /// Wall-clock time.
    pub seconds: f64,
    /// The recodings that likely hold, cheapest first, or the one that was asked about.
    pub candidates: Vec<Estimate>,
}

/// What is estimated of one recoding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Estimate {
    /// The recoding: the level of each attribute, or the labels of its cut.
    #[serde(flatten)]
    pub recoding: Estimated,
    /// The probability that it holds.
    pub probability: f64,
    /// The number of rows that are expected to fail.
    pub expected_outliers: f64,
    /// What it costs.
    pub loss: EstimatedLoss,
    /// How far the figures may be off.
    pub error: EstimationError,
}

/// A recoding by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimated {
    /// The level of each attribute.
    Levels(Map<String, Value>),
    /// The labels of each attribute's cut.
    Cuts(Map<String, Value>),
}

/// What an estimated recoding costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct EstimatedLoss {
    /// Loss metric.
    pub lm: f64,
    /// The same as a weighted mean over the columns, if the policy gives weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lm_weighted: Option<f64>,
}

/// How far an estimate may be off, if the rows are as the summary believes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct EstimationError {
    /// Of the probability.
    pub probability: f64,
    /// Of the expected number of rows that fail.
    pub expected_outliers: f64,
}

impl Job {
    /// Estimates every recoding, or the one with the job's [levels](Job::levels), from a summary
    /// alone.
    pub fn estimate(&self, summary: &Summary, watch: &Watch) -> Result<Estimation> {
        let beliefs = self.policy.believe(summary.clone(), summary.file())?;
        self.on_threads(|| self.estimate_from(&beliefs, watch))
    }

    /// The same from a summary that is bound to the policy.
    #[doc(hidden)]
    pub fn estimate_from(&self, beliefs: &Beliefs, watch: &Watch) -> Result<Estimation> {
        let start = Instant::now();
        let is_searched = !matches!(self.decision, Decision::Levels(_));
        let way = Way { algorithm: Algorithm::SInstant, is_searched, is_on_disk: false };
        self.policy.check_weights(way)?;
        self.policy.check_sets(way, false)?;
        let instant = &self.parameters.instant;
        let by = by(&self.policy, instant, beliefs.suppressible)?;
        let estimator = Estimator::new(beliefs, instant.shortcuts, watch)?;
        let _heeding = watch.heed();
        let Candidates { list, visited, .. } = match &self.decision {
            Decision::Levels(given) => {
                let levels = levels_by_hand(given, &beliefs.names, &beliefs.taxonomies)?;
                let nodes = Nodes::new(&estimator)?;
                let total = nodes.total(&levels)?.ok_or(Shortfall::TooManyClasses)?;
                let list = vec![nodes.candidate(levels, &total)];
                Candidates { list, visited: 1, space: Some(nodes.space().into()) }
            }
            _ => candidates(&self.policy, &estimator, by, watch)?,
        };
        watch.check()?;
        let seconds = start.elapsed().as_secs_f64();
        let candidates = list.iter().map(|one| estimated(one, beliefs, &estimator));
        let candidates = candidates.collect::<Result<_>>()?;
        let summary = beliefs.summary.kind().name().into();
        let not_estimated = beliefs.not_estimated.clone();
        let rows = beliefs.rows();
        Ok(Estimation { rows, summary, not_estimated, visited, seconds, candidates })
    }
}

/// What is told of a candidate.
fn estimated(
    candidate: &Candidate,
    beliefs: &Beliefs,
    estimator: &Estimator<'_>,
) -> Result<Estimate> {
    let keys = beliefs.grouped_by(&candidate.mapping);
    let error = keys.map_or(Ok([0.0; 2]), |keys| estimator.error(&keys, &candidate.total))?;
    let named = |values: Vec<Value>| beliefs.names.iter().cloned().zip(values).collect();
    let recoding = match &candidate.mapping {
        Mapping::Cuts(cuts) => {
            let labels = |(tree, cut): (&Arc<Taxonomy>, &Cut)| {
                let label = |node: &TreeNode| tree.level(node.level).label(node.index).to_string();
                json!(cut.nodes().iter().map(label).collect::<Vec<_>>())
            };
            Estimated::Cuts(named(beliefs.taxonomies.iter().zip(cuts).map(labels).collect()))
        }
        mapping => {
            Estimated::Levels(named(mapping.levels().iter().map(|level| json!(level)).collect()))
        }
    };
    let [probability, expected_outliers] = error;
    Ok(Estimate {
        recoding,
        probability: candidate.probability,
        expected_outliers: candidate.outliers,
        loss: EstimatedLoss {
            lm: candidate.lm,
            lm_weighted: beliefs.weights.is_given().then_some(candidate.lm_weighted),
        },
        error: EstimationError { probability, expected_outliers },
    })
}

impl Estimation {
    /// The estimates as one JSON object.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}
