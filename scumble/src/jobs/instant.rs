//! Decided from a summary: candidates without any data, and releases that are checked against it.

use super::anonymize::{Options, levels_by_hand, with_report};
use super::{Failure, summarize};
use crate::bind::Prepared;
use crate::error::{Error, Result};
use crate::estimate::multinomial::Shortcuts;
use crate::policy::{Algorithm, ByAsked, Policy, Space};
use crate::recoding::{Columns, Mapping, Recoding};
use crate::release::Believed;
use crate::search::instant::{By, Candidate, Candidates, holds};
use crate::search::lattice::s_instant::Nodes;
use crate::search::regions::{Criterion, m_instant};
use crate::search::{Found, Warrant, cuts};
use crate::summary::{Beliefs, Estimator, Kind, Structure, Summary};
use crate::table::Table;
use crate::taxonomy::{Cut, Node, Taxonomy};
use crate::watch::Watch;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What a caller may choose of a search by belief.
#[derive(Clone, Debug, Default)]
pub struct InstantOptions {
    /// The summary to go by; one is made of the table where none is given.
    pub summary: Option<PathBuf>,
    /// The kind of summary that is made then.
    pub kind: Kind,
    /// How the structure of a network is found.
    pub structure: Structure,
    /// Rows of a sample; a default where not given.
    pub sampled: Option<usize>,
    /// The seed of a sample.
    pub seed: u64,
    /// Which estimate decides, whatever the policy says.
    pub by: Option<ByAsked>,
    /// Its threshold, likewise.
    pub threshold: Option<f64>,
    /// The shortcuts of the estimators.
    pub shortcuts: Shortcuts,
}

/// The threshold of S-INSTANT by probability, and that of M-INSTANT, as in the paper's experiments.
const PROBABILITY: (f64, f64) = (0.8, 0.95);

/// Reads a summary and binds it to a policy.
pub fn beliefs(file: &Path, policy: &Policy) -> Result<Beliefs> {
    let text = std::fs::read(file).map_err(Error::io(file, "read"))?;
    policy.believe(Summary::from_json(&text, file)?, file)
}

/// Which estimate decides: as the options say, as the policy says, or as suits it.
pub fn by(policy: &Policy, options: &InstantOptions, suppressible: u64) -> Result<By> {
    let expected = if suppressible > 0 { ByAsked::Expectation } else { ByAsked::Probability };
    let threshold =
        options.threshold.or(policy.search().threshold.map(|threshold| threshold.to_f64()));
    let wrong = |value: f64, expected: &str| {
        let expected = expected.to_string();
        Error::BadParameter {
            place: None,
            key: "threshold".into(),
            value: value.to_string(),
            expected,
        }
    };
    match (options.by.or(policy.search().by).unwrap_or(expected), threshold) {
        (ByAsked::Probability, Some(least)) if !(least > 0.0 && least <= 1.0) => {
            Err(wrong(least, "a probability above 0, up to 1"))
        }
        (ByAsked::Probability, Some(least)) => Ok(By::Probability(least)),
        (ByAsked::Probability, None) => {
            let is_multidimensional = policy.search().algorithm == Algorithm::MInstant;
            Ok(By::Probability(if is_multidimensional { PROBABILITY.1 } else { PROBABILITY.0 }))
        }
        (ByAsked::Expectation, Some(most)) if !(most >= 0.0 && most.is_finite()) => {
            Err(wrong(most, "a number of rows from 0"))
        }
        (ByAsked::Expectation, Some(most)) => Ok(By::Expectation(most)),
        (ByAsked::Expectation, None) => Ok(By::Expectation(suppressible.max(1) as f64)),
    }
}

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
        Space::FullDomain => Ok(Nodes::new(estimator)?.candidates(by, watch)),
        Space::Subtree => cuts::s_instant::candidates(estimator, by, watch),
    }
}

/// Searches by belief: the algorithm's name, what was found, and what it went by.
pub(super) fn search(
    table: &Table,
    prepared: &Prepared,
    policy: &Policy,
    options: &Options,
) -> Result<(&'static str, Found, Believed), Failure> {
    let instant = &options.instant;
    let beliefs = match &instant.summary {
        Some(file) => beliefs(file, policy)?,
        None => policy.believe(
            summarize::summary_of(table, policy, instant, options.disk.memory())?,
            &table.file,
        )?,
    };
    let by = by(policy, instant, beliefs.suppressible)?;
    let estimator = Estimator::new(&beliefs, instant.shortcuts);
    let _heeding = options.watch.heed();
    let search =
        Search { table, prepared, policy, beliefs: &beliefs, estimator, by, watch: &options.watch };
    match policy.search().algorithm {
        Algorithm::MInstant => search.regions(),
        _ => search.levels_or_cuts(instant.summary.is_some()),
    }
}

struct Search<'a> {
    table: &'a Table,
    prepared: &'a Prepared,
    policy: &'a Policy,
    beliefs: &'a Beliefs,
    estimator: Estimator<'a>,
    by: By,
    watch: &'a Watch,
}

impl Search<'_> {
    /// A mapping of the summary in the codes of the table, which may have other values.
    fn bound(&self, mapping: &Mapping) -> Result<Mapping> {
        let task = &self.prepared.task;
        let here =
            Columns { names: &self.prepared.names, taxonomies: &task.taxonomies, axes: &task.axes };
        Recoding::of(columns(self.beliefs), mapping)
            .ok_or(Error::Defect)?
            .bind(here, &self.table.file)
    }

    fn believed(&self, candidates: u64, checks: u64, probability: f64, outliers: f64) -> Believed {
        Believed {
            summary: self.beliefs.summary.kind().name(),
            candidates,
            checks,
            probability,
            outliers,
        }
    }

    /// S-INSTANT: candidates one after the other until one holds, and the most general recoding if
    /// none does.
    fn levels_or_cuts(self, foreign: bool) -> Result<(&'static str, Found, Believed), Failure> {
        let task = &self.prepared.task;
        let Candidates { list, visited, space } =
            candidates(self.policy, &self.estimator, self.by, self.watch)?;
        let top: Vec<usize> = task.taxonomies.iter().map(|taxonomy| taxonomy.height()).collect();
        let last = Candidate {
            mapping: Mapping::Levels(top.clone()),
            probability: 0.0,
            outliers: 0.0,
            lm: 1.0,
            cost: 1.0,
        };
        let mut checks = 0;
        for (candidate, own) in list.iter().map(|one| (one, !foreign)).chain([(&last, true)]) {
            if self.watch.stopped() {
                return Err(Error::Interrupted.into());
            }
            let mapping =
                if own { candidate.mapping.clone() } else { self.bound(&candidate.mapping)? };
            checks += 1;
            self.watch.progress("check", checks, Some(list.len() as u64));
            if holds(task, &mapping) {
                let found = Found {
                    mapping,
                    warrant: Warrant::Likely,
                    cost: Some(candidate.cost),
                    space,
                    visited,
                };
                let believed = self.believed(
                    list.len() as u64,
                    checks,
                    candidate.probability,
                    candidate.outliers,
                );
                return Ok(("s-instant", found, believed));
            }
        }
        let reason = format!(
            "none of {} recodings that were believed in holds, nor does the most general one, with at most {} of {} rows \
             suppressed; lower the requirement or raise the suppression limit",
            list.len(),
            task.suppressible,
            task.rows()
        );
        Err(with_report(Error::CannotBeMet { reason }, self.prepared, &Mapping::Levels(top)))
    }

    /// M-INSTANT.
    fn regions(self) -> Result<(&'static str, Found, Believed), Failure> {
        if self.policy.search().partitioning.criterion != Criterion::Median {
            let missing = "m-instant splits at the median, since a summary knows no target; use mondrian for another `split`";
            return Err(Error::Incomplete {
                file: self.policy.file().to_path_buf(),
                missing: missing.into(),
            }
            .into());
        }
        let task = &self.prepared.task;
        let foreseen = m_instant::partition(&self.estimator, self.by, self.watch);
        let candidates = foreseen.regions.nodes.len() as u64;
        let Mapping::Regions(regions) = self.bound(&Mapping::Regions(foreseen.regions))? else {
            return Err(Error::Defect.into());
        };
        let settled = m_instant::settle(task, &regions, self.policy.search().partitioning);
        let mut found = settled.map_err(|error| {
            let top = task.taxonomies.iter().map(|taxonomy| taxonomy.height()).collect();
            with_report(error, self.prepared, &Mapping::Levels(top))
        })?;
        found.visited += foreseen.visited;
        Ok((
            "m-instant",
            found,
            self.believed(candidates, 1, foreseen.probability, foreseen.outliers),
        ))
    }
}

/// What is believed of recodings, without any data.
#[derive(Debug)]
pub struct Estimation {
    /// The rows of the summarized table.
    pub rows: u64,
    /// The kind of summary.
    pub summary: &'static str,
    /// The recodings that are believed in, or the one that was asked about.
    pub candidates: Candidates,
    /// By how much logarithms of probabilities and expectations may be off for the sake of speed.
    pub errors: Vec<[f64; 2]>,
    /// How long it took.
    pub seconds: f64,
    names: Vec<String>,
    taxonomies: Vec<Arc<Taxonomy>>,
}

/// Estimates every recoding, or the one with these levels, from the file of a summary alone.
pub fn estimate(
    summary: &Path,
    policy: &Policy,
    options: &InstantOptions,
    levels: Option<&[(String, usize)]>,
    watch: &Watch,
) -> Result<Estimation> {
    estimate_of(&beliefs(summary, policy)?, policy, options, levels, watch)
}

/// The same from a summary in memory.
pub fn estimate_of(
    beliefs: &Beliefs,
    policy: &Policy,
    options: &InstantOptions,
    levels: Option<&[(String, usize)]>,
    watch: &Watch,
) -> Result<Estimation> {
    let start = Instant::now();
    let by = by(policy, options, beliefs.suppressible)?;
    let estimator = Estimator::new(beliefs, options.shortcuts);
    let _heeding = watch.heed();
    let candidates = match levels {
        None => candidates(policy, &estimator, by, watch)?,
        Some(given) => {
            let levels = levels_by_hand(given, &beliefs.names, &beliefs.taxonomies)?;
            let nodes = Nodes::new(&estimator)?;
            let total = nodes.total(&levels).ok_or_else(|| Error::CannotBeMet {
                reason: "these levels have too many classes to be estimated from this summary; raise some".into(),
            })?;
            let list = vec![nodes.candidate(levels, &total)];
            Candidates { list, visited: 1, space: Some(nodes.space().into()) }
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let keys = candidates.list.iter().map(|candidate| beliefs.grouped_by(&candidate.mapping));
    let errors = keys.map(|keys| keys.map_or([0.0; 2], |keys| estimator.error(&keys))).collect();
    Ok(Estimation {
        rows: beliefs.rows(),
        summary: beliefs.summary.kind().name(),
        candidates,
        errors,
        seconds,
        names: beliefs.names.clone(),
        taxonomies: beliefs.taxonomies.clone(),
    })
}

impl Estimation {
    /// A recoding as a report tells it: the level of each attribute, or the labels of its cut.
    fn decided(&self, mapping: &Mapping) -> (&'static str, Value) {
        let named = |values: Vec<Value>| {
            Value::Object(self.names.iter().cloned().zip(values).collect::<Map<_, _>>())
        };
        match mapping {
            Mapping::Cuts(cuts) => {
                let label = |tree: &Taxonomy, node: &Node| {
                    tree.level(node.level).label(node.index).to_string()
                };
                let cut = |(tree, cut): (&Arc<Taxonomy>, &Cut)| {
                    json!(cut.nodes().iter().map(|node| label(tree, node)).collect::<Vec<_>>())
                };
                ("cuts", named(self.taxonomies.iter().zip(cuts).map(cut).collect()))
            }
            mapping => {
                ("levels", named(mapping.levels().iter().map(|level| json!(level)).collect()))
            }
        }
    }

    /// The whole of it, for scripts.
    pub fn to_json(&self) -> Value {
        let candidate = |(candidate, error): (&Candidate, &[f64; 2])| {
            let (key, decided) = self.decided(&candidate.mapping);
            let mut object = json!({
                key: decided,
                "probability": candidate.probability,
                "expected-outliers": candidate.outliers,
                "loss": {"lm": candidate.lm},
            });
            if error[1] > 0.0 {
                object["error"] =
                    json!({"ln-probability": error[0], "expected-outliers": error[1]});
            }
            object
        };
        let list: Vec<Value> =
            self.candidates.list.iter().zip(&self.errors).map(candidate).collect();
        json!({
            "rows": self.rows,
            "summary": self.summary,
            "visited": self.candidates.visited,
            "seconds": self.seconds,
            "candidates": list,
        })
    }

    /// The names of the quasi-identifiers.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}
