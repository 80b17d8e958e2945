//! The experiments of l+-Optimize (Liu and Wang 2010, section VIII), re-run on the Adult table.

use crate::harness::{Measured, SEVEN, Scratch, read};
use scumble::bind::{OnCuts, Prepared};
use scumble::error::{Error, Result};
use scumble::loss::{Loss, LossChoice};
use scumble::policy::Policy;
use scumble::random::Random;
use scumble::search::cuts::l_plus_optimize::{Outcome, Techniques, search};
use scumble::search::cuts::{Machine, Suppression, annealing};
use scumble::search::lattice::incognito::{self, Strategy};
use scumble::watch::Watch;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A search that takes longer ends with what it has: those without a technique soon.
const LIMIT: f64 = 20.0;
const LIMIT_OF_SIZES: f64 = 300.0;

/// What varies between experiments.
#[derive(Clone)]
pub struct Setting<'a> {
    pub folder: &'a Path,
    pub data: PathBuf,
    pub keys: &'a [&'a str],
    /// A hierarchy for the age in place of the file.
    pub age: Option<&'a str>,
    pub privacy: String,
    pub loss: &'static str,
    pub scheme: &'static str,
}

impl<'a> Setting<'a> {
    /// The seven quasi-identifiers with the thresholds, loss and scheme that the paper has by
    /// default.
    pub fn of_adult(adult: Option<&'a Path>) -> Result<Setting<'a>> {
        let expected = "the folder with adult.csv and its hierarchies".into();
        let missing = || Error::BadParameter {
            place: None,
            key: "--adult".into(),
            value: "nothing".into(),
            expected,
        };
        let folder = adult.ok_or_else(missing)?;
        Ok(Setting {
            folder,
            data: folder.join("adult.csv"),
            keys: &SEVEN,
            age: None,
            privacy: uniform(4),
            loss: "dm",
            scheme: "all-records",
        })
    }
}

impl Setting<'_> {
    pub fn policy(&self, algorithm: &str) -> Result<Policy> {
        let mut text = String::from(
            "[defaults]\nrole = \"insensitive\"\n[attributes.occupation]\nrole = \"sensitive\"\n",
        );
        text.push_str("[attributes.salary-class]\nrole = \"target\"\n");
        for key in self.keys {
            let file = format!("\"adult_hierarchy_{key}.csv\"");
            let hierarchy = self.age.filter(|_| *key == "age").unwrap_or(&file);
            let _ = write!(
                text,
                "[attributes.{key}]\nrole = \"quasi-identifier\"\nhierarchy = {hierarchy}\n"
            );
        }
        let _ = write!(
            text,
            "[privacy]\n{}\n[search]\nalgorithm = \"{algorithm}\"\nloss = \"{}\"\nsuppression = {{ scheme = \"{}\" }}\n",
            self.privacy, self.loss, self.scheme
        );
        Policy::parse(&text, &self.folder.join("policy.toml"))
    }

    pub fn prepare(&self, algorithm: &str) -> Result<Prepared> {
        let policy = self.policy(algorithm)?;
        policy.prepare(&read(&self.data, &policy)?)
    }

    pub fn run(&self) -> Result<Run> {
        self.run_within(LIMIT)
    }

    fn run_within(&self, limit: f64) -> Result<Run> {
        let prepared = self.prepare("l-plus-optimize")?;
        Run::of(&prepared, Techniques::default(), limit)
    }

    /// The optimum of full-domain recoding without suppression, in the paper's unit.
    pub fn full_domain(&self) -> Result<f64> {
        let prepared = Setting { scheme: "none", ..self.clone() }.prepare("incognito")?;
        let cost = incognito::search(&prepared.task, Strategy::BestFirst, &Watch::default())?
            .cost
            .unwrap_or(f64::NAN);
        Ok(cost * chosen(self.loss).unit(prepared.task.rows(), self.keys.len()))
    }
}

/// How a search went.
pub struct Run {
    seconds: f64,
    pub outcome: Outcome,
    space: u128,
    rows: u64,
    tuples: usize,
    /// When the best cost became what.
    history: Vec<(f64, f64)>,
}

impl Run {
    fn of(prepared: &Prepared, techniques: Techniques, limit: f64) -> Result<Run> {
        Run::with(prepared, limit, |machine, watch| search(machine, techniques, 1, watch))
    }

    fn with(
        prepared: &Prepared,
        limit: f64,
        search: impl FnOnce(
            &Machine,
            &mut dyn FnMut(&scumble::search::cuts::l_plus_optimize::Progress) -> bool,
        ) -> Result<Outcome>,
    ) -> Result<Run> {
        let start = Instant::now();
        let mut history: Vec<(f64, f64)> = Vec::new();
        // A policy for cuts is prepared for them.
        let problem = &prepared.cuts.as_ref().map(|OnCuts { problem, .. }| problem);
        let Some(problem) = problem else { unreachable!("the algorithm searches for cuts") };
        let machine = Machine::new(problem, &prepared.task.cells, &Watch::default())?;
        let outcome = search(&machine, &mut |progress| {
            if history.last().is_none_or(|(_, best)| *best != progress.best) {
                history.push((start.elapsed().as_secs_f64(), progress.best));
            }
            start.elapsed().as_secs_f64() < limit
        })?;
        let seconds = start.elapsed().as_secs_f64();
        let space = machine.space().unwrap_or(u128::MAX);
        Ok(Run {
            seconds,
            outcome,
            space,
            rows: prepared.task.rows(),
            tuples: prepared.task.cells.len(),
            history,
        })
    }

    pub fn cost(&self) -> f64 {
        self.outcome.best.first().map_or(f64::INFINITY, |(cost, _)| *cost)
    }

    /// Seconds, and what is proven if not all is.
    pub fn time(&self) -> Value {
        if self.outcome.optimal {
            json!(format!("{:.2}", self.seconds))
        } else {
            json!(format!(
                "{:.0}, gap {:.1} %",
                self.seconds,
                100.0 * (1.0 - self.outcome.bound / self.cost())
            ))
        }
    }

    /// The share of all cuts whose cost was evaluated.
    fn share(&self) -> Value {
        json!(format!("{:.2e} %", 100.0 * self.outcome.visited as f64 / self.space as f64))
    }

    /// The best cost at a time.
    fn at(&self, time: f64) -> f64 {
        self.history
            .iter()
            .take_while(|(when, _)| *when <= time)
            .last()
            .map_or(f64::INFINITY, |(_, best)| *best)
    }
}

/// A cost, if there is one.
pub fn number(cost: f64) -> Value {
    if cost.is_finite() { json!(format!("{cost:.0}")) } else { json!("-") }
}

/// One threshold for all values.
pub fn uniform(l: u32) -> String {
    format!("thresholds = {{ default = \"1/{l}\" }}")
}

fn chosen(name: &str) -> LossChoice {
    let known = LossChoice::NAMES.iter().find(|(known, ..)| *known == name);
    known.map_or(LossChoice::Lm, |(_, loss, _)| *loss)
}

/// The schemes whose cost a loss knows.
pub fn schemes(loss: &str) -> impl Iterator<Item = &'static str> {
    let loss = chosen(loss);
    Suppression::NAMES
        .into_iter()
        .filter(move |(_, scheme)| scheme.is_defined_for(loss))
        .map(|(name, _)| name)
}

/// All tables; only that of sizes, and of one size, where one is given.
pub fn l_plus(adult: Option<&Path>, rows: Option<u64>) -> Result<Vec<Measured>> {
    let setting = Setting::of_adult(adult)?;
    if let Some(rows) = rows {
        return Ok(vec![sizes(&setting, &[rows as usize])?]);
    }
    Ok(vec![
        costs(&setting)?,
        over_time(&setting)?,
        techniques(&setting)?,
        granularity(&setting)?,
        number_of_keys(&setting)?,
        sizes(&setting, &[30_162, 50_000, 100_000, 250_000, 500_000, 1_000_000])?,
    ])
}

fn costs(setting: &Setting<'_>) -> Result<Measured> {
    let mut rows = Vec::new();
    for (loss, ..) in LossChoice::NAMES {
        for scheme in schemes(loss) {
            for l in 2..=6 {
                let one = Setting { loss, scheme, privacy: uniform(l), ..setting.clone() };
                let (run, full_domain) = (one.run()?, one.full_domain()?);
                rows.push(vec![
                    json!(loss),
                    json!(scheme),
                    json!(l),
                    number(run.cost()),
                    number(full_domain),
                    json!(format!("{:.2}", full_domain / run.cost())),
                    run.time(),
                    json!(run.outcome.visited),
                    run.share(),
                ]);
            }
        }
    }
    let columns = vec![
        "loss",
        "scheme",
        "l",
        "cost",
        "full-domain, no suppression",
        "ratio",
        "seconds",
        "evaluated",
        "share",
    ];
    let title = "Figures 5 and 8: one threshold 1/l for all values; cost, time and share evaluated";
    Ok(Measured { title: title.into(), columns, rows })
}

fn over_time(setting: &Setting<'_>) -> Result<Measured> {
    const TIMES: [f64; 6] = [0.05, 0.1, 0.2, 0.5, 1.0, 4.0];
    const RUNS: u64 = 6;
    let mut rows = Vec::new();
    for scheme in schemes("lm") {
        let prepared = Setting { loss: "lm", scheme, privacy: uniform(5), ..setting.clone() }
            .prepare("l-plus-optimize")?;
        let optimum = Run::of(&prepared, Techniques::default(), LIMIT)?;
        let mut row = vec![json!(scheme), json!("l-plus-optimize")];
        row.extend(TIMES.map(|time| number(optimum.at(time))));
        row.push(optimum.time());
        rows.push(row);
        let anneal = |seed: u64| {
            Run::with(&prepared, LIMIT, |machine, watch| {
                let start = Instant::now();
                annealing::search(machine, annealing::STEPS, seed, &mut |progress| {
                    watch(progress) && start.elapsed().as_secs_f64() < TIMES[TIMES.len() - 1]
                })
            })
        };
        let runs: Vec<Run> = (0..RUNS).map(anneal).collect::<Result<_>>()?;
        let mean = |time: f64| runs.iter().map(|run| run.at(time)).sum::<f64>() / RUNS as f64;
        let mut row = vec![json!(scheme), json!("annealing, mean of 6")];
        row.extend(TIMES.map(|time| number(mean(time))));
        row.push(Value::Null);
        rows.push(row);
    }
    let columns = vec![
        "scheme",
        "algorithm",
        "0.05 s",
        "0.1 s",
        "0.2 s",
        "0.5 s",
        "1 s",
        "4 s",
        "proven after, seconds",
    ];
    Ok(Measured { title: "Figure 7: best cost over time, LM, l = 5".into(), columns, rows })
}

fn techniques(setting: &Setting<'_>) -> Result<Measured> {
    let full = Techniques::default();
    let cases = [
        ("all", full),
        ("no first solution", Techniques { first_solution: false, ..full }),
        ("ascending order", Techniques { descending: false, ..full }),
        ("no update on locking", Techniques { update: false, ..full }),
        ("lemma 3 instead of members", Techniques { members: false, ..full }),
        (
            "none of these",
            Techniques { first_solution: false, descending: false, update: false, members: false },
        ),
    ];
    let mut rows = Vec::new();
    for loss in ["lm", "dm"] {
        for scheme in ["none", "all-records", "violating-records"] {
            let prepared =
                Setting { loss, scheme, ..setting.clone() }.prepare("l-plus-optimize")?;
            for (name, techniques) in cases {
                let run = Run::of(&prepared, techniques, LIMIT)?;
                rows.push(vec![
                    json!(loss),
                    json!(scheme),
                    json!(name),
                    number(run.cost()),
                    run.time(),
                    json!(run.outcome.visited),
                ]);
            }
        }
    }
    let columns = vec!["loss", "scheme", "techniques", "cost", "seconds", "evaluated"];
    Ok(Measured {
        title: "Figure 9 (a, b): what each technique is worth, l = 4".into(),
        columns,
        rows,
    })
}

fn row_of(run: &Run, first: Vec<Value>) -> Vec<Value> {
    let more = [
        json!(run.space.to_string()),
        number(run.cost()),
        run.time(),
        json!(run.outcome.visited),
        run.share(),
    ];
    first.into_iter().chain(more).collect()
}

fn granularity(setting: &Setting<'_>) -> Result<Measured> {
    let ages = [
        ("coarse: ages by 20", "{ intervals = [20, 100], from = 0, to = 99 }"),
        ("medium: by 10, 20", "{ intervals = [10, 20, 100], from = 0, to = 99 }"),
        ("fine: by 5, 10, 20", "{ intervals = [5, 10, 20, 100], from = 0, to = 99 }"),
        ("finest: by 2, 4, 12, 24, 48", "{ intervals = [2, 4, 12, 24, 48], from = 0, to = 99 }"),
    ];
    let mut rows = Vec::new();
    for (name, age) in ages {
        for scheme in ["none", "all-records", "violating-records"] {
            let run = Setting { scheme, age: Some(age), ..setting.clone() }.run()?;
            rows.push(row_of(&run, vec![json!(name), json!(scheme)]));
        }
    }
    let columns = vec!["age", "scheme", "cuts", "cost", "seconds", "evaluated", "share"];
    Ok(Measured {
        title: "Figure 9 (c, d): granularity of the taxonomy of ages, DM, l = 4".into(),
        columns,
        rows,
    })
}

fn number_of_keys(setting: &Setting<'_>) -> Result<Measured> {
    let mut rows = Vec::new();
    for many in 1..=SEVEN.len() {
        for scheme in ["none", "all-records", "violating-records"] {
            let run = Setting { scheme, keys: &SEVEN[..many], ..setting.clone() }.run()?;
            rows.push(row_of(&run, vec![json!(many), json!(scheme)]));
        }
    }
    let columns =
        vec!["quasi-identifiers", "scheme", "cuts", "cost", "seconds", "evaluated", "share"];
    Ok(Measured {
        title: "Figure 9 (e, f): the first quasi-identifiers of table II, DM, l = 4".into(),
        columns,
        rows,
    })
}

fn sizes(setting: &Setting<'_>, sizes: &[usize]) -> Result<Measured> {
    let scratch = Scratch::new()?;
    let data = scratch.path("adult.csv");
    let mut rows = Vec::new();
    for size in sizes {
        amplify(&setting.data, &data, *size)?;
        for scheme in ["none", "all-records", "violating-records"] {
            let run = Setting { scheme, data: data.clone(), ..setting.clone() }
                .run_within(LIMIT_OF_SIZES)?;
            rows.push(vec![
                json!(run.rows),
                json!(run.tuples),
                json!(scheme),
                number(run.cost()),
                run.time(),
                json!(run.outcome.visited),
                json!(format!("{:.1}", 1e6 * run.seconds / run.tuples as f64)),
                json!(format!(
                    "{:.2}",
                    1e6 * run.seconds / run.tuples as f64 / run.outcome.visited as f64
                )),
            ]);
        }
    }
    let columns = vec![
        "rows",
        "distinct tuples",
        "scheme",
        "cost",
        "seconds",
        "evaluated",
        "µs a tuple",
        "µs a tuple and cut",
    ];
    Ok(Measured { title: "Figure 9 (g, h): the table's size, DM, l = 4".into(), columns, rows })
}

/// The paper's way to a larger table: variants of records, each with values drawn anew in some
/// quasi-identifiers.
fn amplify(from: &Path, to: &Path, rows: usize) -> Result<()> {
    let text = std::fs::read_to_string(from).map_err(Error::io(from, "read"))?;
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let columns: Vec<&str> = header.split(';').collect();
    let keys: Vec<usize> =
        SEVEN.iter().filter_map(|key| columns.iter().position(|column| column == key)).collect();
    let records: Vec<Vec<&str>> = lines.map(|line| line.split(';').collect()).collect();
    let mut domains: Vec<Vec<&str>> =
        (0..columns.len()).map(|at| records.iter().map(|row| row[at]).collect()).collect();
    for domain in &mut domains {
        domain.sort_unstable();
        domain.dedup();
    }
    let mut random = Random::new(1);
    let mut out = format!("{header}\n");
    for number in 0..rows {
        let mut record = records[number % records.len()].clone();
        if number >= records.len() {
            let changed = 1 + random.below(keys.len() as u64) as usize;
            let mut left = keys.clone();
            for _ in 0..changed {
                let at = left.swap_remove(random.below(left.len() as u64) as usize);
                record[at] = domains[at][random.below(domains[at].len() as u64) as usize];
            }
        }
        out.push_str(&record.join(";"));
        out.push('\n');
    }
    std::fs::write(to, out).map_err(Error::io(to, "write"))
}
