//! The tables of the experiments on instant anonymization, in memory with their summaries, and the
//! searches that are compared.

use crate::harness::{SEVEN, Scratch, read};
use scumble::bind::Prepared;
use scumble::error::{Error, Result};
use scumble::estimate::multinomial::Shortcuts;
use scumble::job::{InstantParameters, Parameters};
use scumble::policy::Policy;
use scumble::recoding::Mapping;
use scumble::release::Recoded;
use scumble::search::cuts::{Machine, l_plus_optimize};
use scumble::search::instant::{By, holds};
use scumble::search::lattice::incognito::{self, Strategy};
use scumble::search::lattice::s_instant::Nodes;
use scumble::search::{Found, cuts};
use scumble::summary::{Beliefs, Estimator, Structure, Summary, SummaryKind};
use scumble::table::Table;
use scumble::watch::Watch;
use scumble::{Job, Synthetic, generate};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The quasi-identifiers of the census, those that the paper has first.
const CENSUS: [&str; 7] =
    ["age", "sex", "education", "marital-status", "race", "workclass", "birthplace"];

pub(super) const KINDS: [(&str, SummaryKind); 3] = [
    ("histogram", SummaryKind::Histogram),
    ("bayes", SummaryKind::Bayes),
    ("sample", SummaryKind::Sample),
];

/// A table with what a policy over it begins with.
pub(super) struct Data {
    pub(super) name: String,
    pub(super) file: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) keys: Vec<&'static str>,
    pub(super) hierarchies: Vec<String>,
    pub(super) sensitive: &'static str,
}

impl Data {
    pub(super) fn adult(folder: &Path) -> Data {
        Data {
            name: "Adult".into(),
            file: folder.join("adult.csv"),
            folder: folder.to_path_buf(),
            keys: SEVEN.to_vec(),
            hierarchies: SEVEN.iter().map(|key| format!("\"adult_hierarchy_{key}.csv\"")).collect(),
            sensitive: "occupation",
        }
    }

    pub(super) fn census(rows: u64, scratch: &Scratch) -> Result<Data> {
        let file = scratch.path(&format!("census-{rows}.csv"));
        generate(Synthetic::Census, rows, 1, &file, None, &Watch::default())?;
        let hierarchy = |key: &&str| match *key {
            "age" => "{ intervals = [5, 10, 20, 40], from = 0, to = 100 }".to_string(),
            key => format!("\"hierarchies/{key}.csv\""),
        };
        Ok(Data {
            name: format!(
                "census {}",
                if rows.is_multiple_of(1_000_000) {
                    format!("{}m", rows / 1_000_000)
                } else {
                    format!("{}k", rows / 1000)
                }
            ),
            file,
            folder: scratch.0.clone(),
            keys: CENSUS.to_vec(),
            hierarchies: CENSUS.iter().map(hierarchy).collect(),
            sensitive: "occupation",
        })
    }

    /// The policy with the first so many quasi-identifiers.
    pub(super) fn policy(&self, keys: usize, privacy: &str, limit: &str) -> Result<Policy> {
        let mut text = format!(
            "[defaults]\nrole = \"insensitive\"\n[attributes.{}]\nrole = \"sensitive\"\n",
            self.sensitive
        );
        for (key, hierarchy) in self.keys.iter().zip(&self.hierarchies).take(keys) {
            let _ = write!(
                text,
                "[attributes.{key}]\nrole = \"quasi-identifier\"\nhierarchy = {hierarchy}\n"
            );
        }
        let _ =
            write!(text, "[privacy]\n{privacy}\n[search]\nsuppression = {{ limit = {limit} }}\n");
        Policy::parse(&text, &self.folder.join("policy.toml"))
    }

    pub(super) fn read(&self, policy: &Policy) -> Result<Table> {
        read(&self.file, policy)
    }
}

/// A table in memory with a summary of each kind, for some quasi-identifiers.
pub(super) struct Ready {
    pub(super) data: Data,
    pub(super) keys: usize,
    pub(super) table: Table,
    pub(super) summaries: Vec<Summary>,
    pub(super) seconds: Vec<f64>,
}

impl Ready {
    pub(super) fn new(data: Data, keys: usize) -> Result<Ready> {
        let policy = data.policy(keys, "k = 2", "0")?;
        let table = data.read(&policy)?;
        let (mut summaries, mut seconds) = (Vec::new(), Vec::new());
        for (_, kind) in KINDS {
            let structure = Structure::ChowLiu;
            let instant = InstantParameters { kind, structure, ..InstantParameters::default() };
            let parameters = Parameters { instant, ..Parameters::default() };
            let job = Job::new(policy.clone()).memory(8 << 30).parameters(parameters);
            let start = Instant::now();
            summaries.push(job.summarize_table(&table, &Watch::default())?);
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok(Ready { data, keys, table, summaries, seconds })
    }

    pub(super) fn bound(&self, privacy: &str, limit: &str) -> Result<Bound<'_>> {
        let policy = self.data.policy(self.keys, privacy, limit)?;
        let prepared = policy.prepare(&self.table)?;
        Ok(Bound { ready: self, policy, prepared })
    }
}

/// A table under some requirements.
pub(super) struct Bound<'a> {
    pub(super) ready: &'a Ready,
    pub(super) policy: Policy,
    pub(super) prepared: Prepared,
}

/// What a search came to.
pub(super) struct Reached {
    pub(super) seconds: f64,
    /// Checks of candidates, or nodes that were evaluated.
    pub(super) checks: u64,
    pub(super) lm: Option<f64>,
}

impl Reached {
    pub(super) fn cells(&self) -> [Value; 3] {
        [json!(format!("{:.2}", self.seconds * 1e3)), json!(self.checks), json!(self.lm)]
    }
}

impl Bound<'_> {
    pub(super) fn lm(&self, found: &Found) -> Result<f64> {
        Ok(Recoded::new(&self.prepared.task, &found.mapping, &Watch::default())?
            .lm(&self.prepared.task))
    }

    pub(super) fn incognito(&self) -> Result<Reached> {
        let start = Instant::now();
        let found =
            match incognito::search(&self.prepared.task, Strategy::BestFirst, &Watch::default()) {
                Err(Error::CannotBeMet { .. }) => {
                    return Ok(Reached {
                        seconds: start.elapsed().as_secs_f64(),
                        checks: 0,
                        lm: None,
                    });
                }
                found => found?,
            };
        Ok(Reached {
            seconds: start.elapsed().as_secs_f64(),
            checks: found.visited,
            lm: Some(self.lm(&found)?),
        })
    }

    /// The nodes that an Incognito from the top down evaluates: what the paper counts as its data
    /// scans.
    pub(super) fn top_down(&self) -> Result<u64> {
        match incognito::search(&self.prepared.task, Strategy::TopDown, &Watch::default()) {
            Err(Error::CannotBeMet { .. }) => Ok(0),
            found => Ok(found?.visited),
        }
    }

    pub(super) fn beliefs(&self, summary: usize) -> Result<Beliefs> {
        self.policy.believe(self.ready.summaries[summary].clone(), &self.ready.data.file)
    }

    /// S-INSTANT, both phases.
    pub(super) fn s_instant(
        &self,
        summary: usize,
        by: By,
        shortcuts: Shortcuts,
        subtree: bool,
    ) -> Result<Reached> {
        let beliefs = self.beliefs(summary)?;
        let start = Instant::now();
        let estimator = Estimator::new(&beliefs, shortcuts, &Watch::default())?;
        let candidates = if subtree {
            cuts::s_instant::candidates(&estimator, by, &Watch::default())?
        } else {
            Nodes::new(&estimator)?.candidates(by, &Watch::default())?
        };
        let mut checks = 0;
        let task = &self.prepared.task;
        let mut found = None;
        for candidate in candidates.list {
            checks += 1;
            if holds(task, &candidate.mapping, &Watch::default())? {
                found = Some(candidate);
                break;
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let lm = found
            .map(|found| {
                Recoded::new(task, &found.mapping, &Watch::default())
                    .map(|recoded| recoded.lm(task))
            })
            .transpose()?;
        Ok(Reached { seconds, checks, lm })
    }

    /// The optimal cut.
    pub(super) fn cuts(&self) -> Result<Option<Reached>> {
        let policy = self.policy.edit().algorithm("l-plus-optimize").build()?;
        let prepared = policy.prepare(&self.ready.table)?;
        let Some(on_cuts) = &prepared.cuts else { return Ok(None) };
        let start = Instant::now();
        let machine = Machine::new(&on_cuts.problem, &prepared.task.cells, &Watch::default())?;
        let mut go_on = |_: &l_plus_optimize::Progress| start.elapsed().as_secs_f64() < 60.0;
        let outcome = l_plus_optimize::search(
            &machine,
            l_plus_optimize::Techniques::default(),
            1,
            &mut go_on,
        )?;
        let seconds = start.elapsed().as_secs_f64();
        let cut = outcome.best.first().and_then(|(_, cuts)| machine.taxonomy_cuts(cuts));
        let lm = cut.map(|cut| {
            Recoded::new(&prepared.task, &Mapping::Cuts(cut), &Watch::default())
                .map(|recoded| recoded.lm(&prepared.task))
        });
        Ok(Some(Reached { seconds, checks: outcome.visited, lm: lm.transpose()? }))
    }
}
