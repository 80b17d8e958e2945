//! Decided from a summary: the experiments of Nergiz, Tamersoy and Saygin 2011 (figures 5 to 12, table V) on census data of
//! growing size and on Adult.
//!
//! What the paper counts as data scans of S-INSTANT are candidates that were checked against the rows ("checks"), and of
//! Incognito nodes that were evaluated ("visited"). Everything is timed from a table in memory, as the paper's is; summaries
//! are made beforehand, and how long that takes is told by itself.

use super::{Measured, SEVEN, Scratch};
use scumble::error::{Error, Result};
use scumble::estimate::multinomial::Shortcuts;
use scumble::generate::Kind as Synthetic;
use scumble::jobs::{self, InstantOptions};
use scumble::policy::{Policy, Prepared};
use scumble::release::Recoded;
use scumble::search::cuts::{Machine, l_plus_optimize};
use scumble::search::instant::{By, holds};
use scumble::search::lattice::incognito::{self, Strategy};
use scumble::search::lattice::s_instant::Nodes;
use scumble::search::regions::{Partitioning, m_instant, mondrian};
use scumble::search::{Found, cuts};
use scumble::source::{Format, Source, encode};
use scumble::summary::{Beliefs, Estimator, Kind, Structure, Summary};
use scumble::table::Table;
use scumble::watch::Watch;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Sizes of the census where none is given.
const SIZES: [u64; 3] = [100_000, 300_000, 1_000_000];

/// The size at which everything but the size varies.
const USUAL: u64 = 100_000;

/// The quasi-identifiers of the census, those that the paper has first.
const CENSUS: [&str; 7] = ["age", "sex", "education", "marital-status", "race", "workclass", "birthplace"];

const KINDS: [(&str, Kind); 3] = [("histogram", Kind::Histogram), ("bayes", Kind::Bayes), ("sample", Kind::Sample)];

/// A table with what a policy over it begins with.
struct Data {
    name: String,
    file: PathBuf,
    folder: PathBuf,
    keys: Vec<&'static str>,
    hierarchies: Vec<String>,
    sensitive: &'static str,
    format: Format,
}

impl Data {
    fn adult(folder: &Path) -> Data {
        Data {
            name: "Adult".into(),
            file: folder.join("adult.csv"),
            folder: folder.to_path_buf(),
            keys: SEVEN.to_vec(),
            hierarchies: SEVEN.iter().map(|key| format!("\"adult_hierarchy_{key}.csv\"")).collect(),
            sensitive: "occupation",
            format: Format::Csv(None),
        }
    }

    fn census(rows: u64, scratch: &Scratch) -> Result<Data> {
        let file = scratch.path(&format!("census-{rows}.csv"));
        jobs::generate(Synthetic::Census, rows, 1, &file, None, &Watch::default())?;
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
            format: Format::Csv(None),
        })
    }

    /// The policy with the first so many quasi-identifiers.
    fn policy(&self, keys: usize, privacy: &str, limit: &str) -> Result<Policy> {
        let mut text =
            format!("[defaults]\nrole = \"insensitive\"\n[attributes.{}]\nrole = \"sensitive\"\n", self.sensitive);
        for (key, hierarchy) in self.keys.iter().zip(&self.hierarchies).take(keys) {
            let _ = write!(text, "[attributes.{key}]\nrole = \"quasi-identifier\"\nhierarchy = {hierarchy}\n");
        }
        let _ = write!(text, "[privacy]\n{privacy}\n[search]\nsuppression = {{ limit = {limit} }}\n");
        Policy::parse(&text, &self.folder.join("policy.toml"))
    }

    fn read(&self, policy: &Policy) -> Result<Table> {
        let source = Source::open(&self.file, self.format)?;
        let roles = policy.roles(&source, false)?;
        encode(source, &roles)
    }
}

/// A table in memory with a summary of each kind, for some quasi-identifiers.
struct Ready {
    data: Data,
    keys: usize,
    table: Table,
    summaries: Vec<Summary>,
    seconds: Vec<f64>,
}

impl Ready {
    fn new(data: Data, keys: usize) -> Result<Ready> {
        let policy = data.policy(keys, "k = 2", "0")?;
        let table = data.read(&policy)?;
        let (mut summaries, mut seconds) = (Vec::new(), Vec::new());
        for (_, kind) in KINDS {
            let options = InstantOptions { kind, structure: Structure::ChowLiu, ..InstantOptions::default() };
            let start = Instant::now();
            summaries.push(jobs::summary_of(&table, &policy, &options, 8 << 30)?);
            seconds.push(start.elapsed().as_secs_f64());
        }
        Ok(Ready { data, keys, table, summaries, seconds })
    }

    fn bound(&self, privacy: &str, limit: &str) -> Result<Bound<'_>> {
        let policy = self.data.policy(self.keys, privacy, limit)?;
        let prepared = policy.prepare(&self.table)?;
        Ok(Bound { ready: self, policy, prepared })
    }
}

/// A table under some requirements.
struct Bound<'a> {
    ready: &'a Ready,
    policy: Policy,
    prepared: Prepared,
}

/// What a search came to.
struct Reached {
    seconds: f64,
    /// Checks of candidates, or nodes that were evaluated.
    checks: u64,
    lm: Option<f64>,
}

impl Reached {
    fn cells(&self) -> [Value; 3] {
        [json!(format!("{:.2}", self.seconds * 1e3)), json!(self.checks), json!(self.lm)]
    }
}

impl Bound<'_> {
    fn lm(&self, found: &Found) -> Result<f64> {
        Ok(Recoded::new(&self.prepared.task, &found.mapping)?.lm(&self.prepared.task))
    }

    fn incognito(&self) -> Result<Reached> {
        let start = Instant::now();
        let found = match incognito::search(&self.prepared.task, Strategy::BestFirst, &Watch::default()) {
            Err(Error::CannotBeMet { .. }) => {
                return Ok(Reached { seconds: start.elapsed().as_secs_f64(), checks: 0, lm: None });
            }
            found => found?,
        };
        Ok(Reached { seconds: start.elapsed().as_secs_f64(), checks: found.visited, lm: Some(self.lm(&found)?) })
    }

    /// The nodes that an Incognito from the top down evaluates: what the paper counts as its data scans.
    fn top_down(&self) -> Result<u64> {
        match incognito::search(&self.prepared.task, Strategy::TopDown, &Watch::default()) {
            Err(Error::CannotBeMet { .. }) => Ok(0),
            found => Ok(found?.visited),
        }
    }

    fn beliefs(&self, summary: usize) -> Result<Beliefs> {
        self.policy.believe(self.ready.summaries[summary].clone(), &self.ready.data.file)
    }

    /// S-INSTANT, both phases.
    fn s_instant(&self, summary: usize, by: By, shortcuts: Shortcuts, subtree: bool) -> Result<Reached> {
        let beliefs = self.beliefs(summary)?;
        let start = Instant::now();
        let estimator = Estimator::new(&beliefs, shortcuts);
        let candidates = match subtree {
            false => Nodes::new(&estimator)?.candidates(by, &Watch::default()),
            true => cuts::s_instant::candidates(&estimator, by, &Watch::default())?,
        };
        let mut checks = 0;
        let task = &self.prepared.task;
        let found = candidates.list.into_iter().find(|candidate| {
            checks += 1;
            holds(task, &candidate.mapping)
        });
        let seconds = start.elapsed().as_secs_f64();
        let lm = found.map(|found| Recoded::new(task, &found.mapping).map(|recoded| recoded.lm(task))).transpose()?;
        Ok(Reached { seconds, checks, lm })
    }

    /// The optimal cut.
    fn cuts(&self) -> Result<Option<Reached>> {
        let mut policy = self.policy.clone();
        policy.search.algorithm = scumble::policy::Algorithm::LPlusOptimize;
        let prepared = policy.prepare(&self.ready.table)?;
        let Some(on_cuts) = &prepared.cuts else { return Ok(None) };
        let start = Instant::now();
        let machine = Machine::new(&on_cuts.problem, &prepared.task.cells);
        let mut go_on = |_: &l_plus_optimize::Progress| start.elapsed().as_secs_f64() < 60.0;
        let outcome = l_plus_optimize::search(&machine, l_plus_optimize::Techniques::default(), 1, &mut go_on);
        let seconds = start.elapsed().as_secs_f64();
        let cut = outcome.best.first().and_then(|(_, cuts)| machine.taxonomy_cuts(cuts));
        let lm = cut.map(|cut| {
            Recoded::new(&prepared.task, &scumble::recoding::Mapping::Cuts(cut))
                .map(|recoded| recoded.lm(&prepared.task))
        });
        Ok(Some(Reached { seconds, checks: outcome.visited, lm: lm.transpose()? }))
    }
}

const COLUMNS: [&str; 12] = [
    "figures",
    "table",
    "varied",
    "summary",
    "optimum, ms",
    "optimum visited",
    "optimum LM",
    "by",
    "ms",
    "checks",
    "LM",
    "LM over optimum",
];

/// S-INSTANT with every summary, by probability and by expectation, against an optimum.
fn compare(
    rows: &mut Vec<Vec<Value>>,
    figures: &str,
    bound: &Bound<'_>,
    varied: &str,
    bys: &[(&str, By)],
    subtree: bool,
) -> Result<()> {
    let optimum = if subtree { bound.cuts()? } else { Some(bound.incognito()?) };
    let visited = match (&optimum, subtree, bound.ready.table.rows() <= 300_000) {
        // The paper's Incognito goes from the top down.
        (Some(_), false, true) => json!(bound.top_down()?),
        (Some(optimum), true, _) => json!(optimum.checks),
        _ => Value::Null,
    };
    for (summary, (kind, _)) in KINDS.iter().enumerate() {
        for (name, by) in bys {
            let found = bound.s_instant(summary, *by, Shortcuts::ALL, subtree)?;
            let over = optimum.as_ref().and_then(|optimum| Some(found.lm? - optimum.lm?));
            let (ms, lm) = optimum.as_ref().map_or((Value::Null, Value::Null), |optimum| {
                let [ms, _, lm] = optimum.cells();
                (ms, lm)
            });
            let mut row = vec![
                json!(figures),
                json!(bound.ready.data.name),
                json!(varied),
                json!(kind),
                ms,
                visited.clone(),
                lm,
                json!(name),
            ];
            row.extend(found.cells());
            row.push(json!(over));
            rows.push(row);
        }
    }
    Ok(())
}

const BOTH: [(&str, By); 2] = [("probability", By::Probability(0.8)), ("expectation", By::Expectation(1.0))];

/// Figures 5 to 9 and 11 on one table: k, l, suppression, quasi-identifiers, thresholds; full-domain and cuts.
fn single_dimensional(ready: &Ready, rows: &mut Vec<Vec<Value>>) -> Result<()> {
    let diverse = |l: u32| format!("l-diversity = {{ kind = \"frequency\", l = {l} }}");
    for k in [20, 40, 60, 80, 100] {
        let bound = ready.bound(&format!("k = {k}"), "0")?;
        compare(rows, "5a, 5b", &bound, &format!("k={k}"), &BOTH, false)?;
        if matches!(k, 20 | 60 | 100) {
            compare(rows, "6a, 6b", &bound, &format!("cuts, k={k}"), &BOTH, true)?;
        }
    }
    for share in 1..=5u64 {
        let bound = ready.bound("k = 20", &format!("0.0{share}"))?;
        let most = bound.prepared.task.suppressible as f64;
        compare(
            rows,
            "7",
            &bound,
            &format!("k=20, {share} % suppressed"),
            &[("expectation", By::Expectation(most))],
            false,
        )?;
    }
    for l in [2, 3, 4, 5, 10] {
        let bound = ready.bound(&diverse(l), "0")?;
        compare(rows, "8a, 8b", &bound, &format!("l={l}"), &BOTH, false)?;
        if matches!(l, 2 | 4) {
            compare(rows, "9", &bound, &format!("cuts, l={l}"), &BOTH, true)?;
        }
    }
    let bound = ready.bound(&diverse(3), "0")?;
    for threshold in [0.1, 0.3, 0.5, 0.7, 0.9] {
        compare(
            rows,
            "11",
            &bound,
            &format!("l=3, threshold {threshold}"),
            &[("probability", By::Probability(threshold))],
            false,
        )?;
    }
    Ok(())
}

/// Figure 10: each optimization off.
fn optimizations(ready: &Ready) -> Result<Measured> {
    let mut rows = Vec::new();
    let bound = ready.bound("l-diversity = { kind = \"frequency\", l = 3 }", "0")?;
    for (summary, (kind, _)) in KINDS.iter().enumerate() {
        for without in [None, Some("max"), Some("limit"), Some("expo"), Some("hybrid"), Some("sd-cut")] {
            // Without SD_CUT every size up to the number of rows is summed for every bucket; the paper does not wait for it.
            if without == Some("sd-cut") && *kind != "histogram" {
                continue;
            }
            let shortcuts =
                without.map_or(Some(Shortcuts::ALL), |name| Shortcuts::ALL.without(name)).unwrap_or_default();
            for (name, by) in BOTH {
                let found = bound.s_instant(summary, by, shortcuts, false)?;
                let mut row = vec![
                    json!(ready.data.name),
                    json!(kind),
                    json!(without.map_or("nothing", |name| name)),
                    json!(name),
                ];
                row.extend(found.cells());
                rows.push(row);
            }
        }
    }
    Ok(Measured {
        title: "Figure 10: S-INSTANT for 3-diversity without one of its optimizations".into(),
        columns: vec!["table", "summary", "without", "by", "ms", "checks", "LM"],
        rows,
    })
}

/// Figure 12 and table V: M-INSTANT against Mondrian.
fn multidimensional(ready: &Ready) -> Result<Measured> {
    let mut rows = Vec::new();
    let cases = [20, 40, 60, 80, 100].into_iter().map(|k| (k, 0.95, "12"));
    for (k, threshold, figure) in
        cases.chain([0.1, 0.3, 0.5, 0.7, 0.9].into_iter().map(|threshold| (20, threshold, "table V")))
    {
        let bound = ready.bound(&format!("k = {k}"), "0")?;
        let task = &bound.prepared.task;
        let start = Instant::now();
        let mondrian = mondrian::search(task, Partitioning::default())?;
        let (seconds, optimum) = (start.elapsed().as_secs_f64(), bound.lm(&mondrian)?);
        for (summary, (kind, _)) in KINDS.iter().enumerate() {
            let beliefs = bound.beliefs(summary)?;
            let start = Instant::now();
            let estimator = Estimator::new(&beliefs, Shortcuts::ALL);
            let foreseen = m_instant::partition(&estimator, By::Probability(threshold), &Watch::default());
            let first = start.elapsed().as_secs_f64();
            let settled = m_instant::settle(task, &foreseen.regions, Partitioning::default())?;
            let both = start.elapsed().as_secs_f64();
            let lm = bound.lm(&settled)?;
            rows.push(vec![
                json!(figure),
                json!(ready.data.name),
                json!(k),
                json!(threshold),
                json!(kind),
                json!(format!("{:.1}", seconds * 1e3)),
                json!(optimum),
                json!(format!("{:.1}", first * 1e3)),
                json!(format!("{:.1}", both * 1e3)),
                json!(
                    foreseen
                        .regions
                        .nodes
                        .iter()
                        .filter(|node| matches!(node, scumble::recoding::RegionNode::Region))
                        .count()
                ),
                json!(lm),
                json!(lm - optimum),
            ]);
        }
    }
    Ok(Measured {
        title: "Figure 12 and table V: M-INSTANT against Mondrian, both in memory".into(),
        columns: vec![
            "figure",
            "table",
            "k",
            "threshold",
            "summary",
            "Mondrian, ms",
            "Mondrian LM",
            "first phase, ms",
            "both, ms",
            "regions foreseen",
            "LM",
            "LM over Mondrian",
        ],
        rows,
    })
}

/// How quick estimates are: the whole lattice, and one mapping.
fn speed(ready: &Ready) -> Result<Measured> {
    let mut rows = Vec::new();
    for k in [5, 20, 100] {
        let bound = ready.bound(&format!("k = {k}"), "0")?;
        let beliefs = bound.beliefs(0)?;
        let mut whole = f64::INFINITY;
        let (mut one, mut space) = (f64::INFINITY, 0);
        for _ in 0..10 {
            let start = Instant::now();
            let estimator = Estimator::new(&beliefs, Shortcuts::ALL);
            let nodes = Nodes::new(&estimator)?;
            let heights: Vec<usize> = beliefs.taxonomies.iter().map(|tree| tree.height()).collect();
            let mut levels = vec![0; heights.len()];
            let mut outliers = 0.0;
            space = 0;
            loop {
                outliers += nodes.total(&levels).map_or(0.0, |total| total.outliers());
                space += 1;
                // The next node, like the next number of an odometer.
                let Some(column) = (0..levels.len()).find(|column| levels[*column] < heights[*column]) else { break };
                levels[..column].fill(0);
                levels[column] += 1;
            }
            std::hint::black_box(outliers);
            whole = whole.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            (0..1000).for_each(|_| {
                std::hint::black_box(
                    nodes.total(std::hint::black_box(&heights.iter().map(|height| height / 2).collect::<Vec<_>>())),
                );
            });
            one = one.min(start.elapsed().as_secs_f64() / 1000.0);
        }
        rows.push(vec![
            json!(ready.data.name),
            json!(k),
            json!(space),
            json!(format!("{:.2}", whole * 1e3)),
            json!(format!("{:.2}", one * 1e6)),
        ]);
    }
    Ok(Measured {
        title: "Estimates from a histogram: every node of the lattice, with all that they share, and one more mapping; fastest of 10".into(),
        columns: vec!["table", "k", "nodes", "all, ms", "one, microseconds"],
        rows,
    })
}

/// The experiments, on census tables up to `rows` rows and on Adult where it is given.
pub fn instant(adult: Option<&Path>, rows: Option<u64>) -> Result<Vec<Measured>> {
    let scratch = Scratch::new()?;
    let usual = rows.unwrap_or(USUAL).min(USUAL);
    let sizes: Vec<u64> = match rows {
        Some(most) => [USUAL, 300_000, 1_000_000, 3_000_000, 10_000_000]
            .into_iter()
            .filter(|size| *size < most)
            .chain([most])
            .collect(),
        None => SIZES.to_vec(),
    };
    let mut tables = Vec::new();
    let mut readies = vec![Ready::new(Data::census(usual, &scratch)?, 7)?];
    if let Some(folder) = adult {
        readies.push(Ready::new(Data::adult(folder), 7)?);
    }
    let mut compared = Vec::new();
    for ready in &readies {
        single_dimensional(ready, &mut compared)?;
    }
    for (keys, l) in [(3, 3), (4, 3), (5, 3), (6, 3)] {
        let ready = Ready::new(Data::census(usual, &scratch)?, keys)?;
        let bound = ready.bound(&format!("l-diversity = {{ kind = \"frequency\", l = {l} }}"), "0")?;
        compare(&mut compared, "8e, 8f", &bound, &format!("l={l}, {keys} quasi-identifiers"), &BOTH, false)?;
    }
    let mut summaries = Vec::new();
    for size in sizes {
        let ready = Ready::new(Data::census(size, &scratch)?, 7)?;
        compare(&mut compared, "5c, 5d", &ready.bound("k = 20", "0")?, "k=20", &BOTH, false)?;
        compare(
            &mut compared,
            "8c, 8d",
            &ready.bound("l-diversity = { kind = \"frequency\", l = 3 }", "0")?,
            "l=3",
            &BOTH,
            false,
        )?;
        let seconds = ready.seconds.iter().map(|seconds| json!(format!("{seconds:.3}")));
        summaries.push([json!(ready.data.name)].into_iter().chain(seconds).collect());
        std::fs::remove_file(&ready.data.file).map_err(Error::io(&ready.data.file, "remove"))?;
    }
    tables.push(Measured {
        title: "Figures 5 to 9 and 11: S-INSTANT against the optimum".into(),
        columns: COLUMNS.to_vec(),
        rows: compared,
    });
    tables.push(Measured {
        title: "Seconds to make a summary of a table in memory".into(),
        columns: vec!["table", "histogram", "bayes", "sample"],
        rows: summaries,
    });
    for ready in &readies {
        tables.push(optimizations(ready)?);
        tables.push(multidimensional(ready)?);
        tables.push(speed(ready)?);
    }
    Ok(tables)
}
