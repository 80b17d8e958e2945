//! Published experiments, re-run.

use scumble::error::{Error, Result};
use scumble::generate::Kind;
use scumble::jobs;
use scumble::policy::Policy;
use scumble::search::Found;
use scumble::search::lattice::incognito::{self, Strategy};
use scumble::source::{Format, Source, encode};
use scumble::watch::Watch;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// A table of measurements.
pub struct Measured {
    title: String,
    columns: Vec<&'static str>,
    rows: Vec<Vec<Value>>,
}

impl Measured {
    /// One object for each row.
    pub fn to_json(&self) -> Value {
        let row = |row: &Vec<Value>| -> Value {
            self.columns
                .iter()
                .map(|name| name.to_string())
                .zip(row.iter().cloned())
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        json!({"title": self.title, "rows": self.rows.iter().map(row).collect::<Vec<_>>()})
    }

    /// A Markdown table.
    pub fn to_text(&self) -> String {
        let mut text =
            format!("{}\n\n| {} |\n|{}\n", self.title, self.columns.join(" | "), "---|".repeat(self.columns.len()));
        for row in &self.rows {
            let cells: Vec<String> = row.iter().map(cell).collect();
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => format!("{:.4}", number.as_f64().unwrap_or(f64::NAN)),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// One case of the full-domain experiment.
struct Case {
    name: &'static str,
    nine: bool,
    privacy: &'static str,
    suppression: &'static str,
    /// CPU milliseconds of ARX 3.9's search, warm, its fastest setting, as published with this comparison.
    arx: f64,
}

const CASES: [Case; 4] = [
    Case { name: "k=5", nine: false, privacy: "k = 5", suppression: "0", arx: 15.0 },
    Case { name: "k=5, 5 % suppression", nine: false, privacy: "k = 5", suppression: "0.05", arx: 27.0 },
    Case {
        name: "k=5, recursive (3,4)-diversity, 5 %",
        nine: false,
        privacy: "k = 5\nl-diversity = { kind = \"recursive\", l = 4, c = 3 }",
        suppression: "0.05",
        arx: 145.0,
    },
    Case { name: "9 quasi-identifiers, k=5, 5 %", nine: true, privacy: "k = 5", suppression: "0.05", arx: 250.0 },
];

/// The most cells on which the textbook orders are timed.
const MOST_TEXTBOOK_CELLS: usize = 20_000;

const SEVEN: [&str; 7] = ["age", "education", "native-country", "workclass", "marital-status", "sex", "race"];

/// The policy of a case over the Adult table.
fn adult_policy(case: &Case, folder: &Path) -> Result<Policy> {
    let mut text = String::from("[defaults]\nrole = \"insensitive\"\n");
    let mut keys = SEVEN.to_vec();
    if case.nine {
        keys.extend(["occupation", "salary-class"]);
    } else {
        text.push_str("[attributes.occupation]\nrole = \"sensitive\"\n");
    }
    for key in keys {
        let _ = write!(
            text,
            "[attributes.{key}]\nrole = \"quasi-identifier\"\nhierarchy = \"adult_hierarchy_{key}.csv\"\n"
        );
    }
    let _ = write!(text, "[privacy]\n{}\n[search]\nsuppression = {{ limit = {} }}\n", case.privacy, case.suppression);
    Policy::parse(&text, &folder.join("policy.toml"))
}

/// The fastest of some runs on some threads, and what was found.
fn fastest(task: &scumble::search::Task, strategy: Strategy, threads: usize, runs: u32) -> Result<(f64, Found)> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| Error::Io {
        file: "threads".into(),
        doing: "start",
        source: std::io::Error::other(error),
    })?;
    pool.install(|| {
        let mut best = f64::INFINITY;
        let mut found = incognito::search(task, strategy, &Watch::default())?;
        for _ in 0..runs {
            let start = Instant::now();
            found = incognito::search(task, strategy, &Watch::default())?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        Ok((best, found))
    })
}

/// The full-domain search: on Adult against ARX's published times, or on synthetic census data by itself.
pub fn full_domain(adult: Option<&Path>, runs: u32) -> Result<Measured> {
    let scratch;
    let mut rows = Vec::new();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut measure = |name: &str, policy: &Policy, data: &Path, arx: Option<f64>| -> Result<()> {
        let source = Source::open(data, Format::Csv(None))?;
        let roles = policy.roles(&source, false)?;
        let table = encode(source, &roles)?;
        let prepared = policy.prepare(&table)?;
        let (one, found) = fastest(&prepared.task, Strategy::BestFirst, 1, runs)?;
        let (all, _) = fastest(&prepared.task, Strategy::BestFirst, threads, runs)?;
        // The textbook orders visit thousands of nodes; on many cells that takes minutes and shows nothing new.
        let textbook = |strategy| -> Result<Value> {
            if prepared.task.cells.len() > MOST_TEXTBOOK_CELLS {
                return Ok(Value::Null);
            }
            let (seconds, found) = fastest(&prepared.task, strategy, 1, 1)?;
            Ok(json!(format!("{:.1} ({})", seconds * 1e3, found.visited)))
        };
        let (top_down, bottom_up) = (textbook(Strategy::TopDown)?, textbook(Strategy::BottomUp)?);
        let against = |seconds: f64| arx.map_or(Value::Null, |arx| json!(format!("{:.1}x", arx / 1e3 / seconds)));
        rows.push(vec![
            json!(name),
            json!(table.rows()),
            json!(prepared.task.cells.len()),
            json!(format!("{} of {}", found.visited, found.space.unwrap_or(0))),
            json!(found.cost),
            json!(format!("{:.2}", one * 1e3)),
            json!(format!("{:.2}", all * 1e3)),
            arx.map_or(Value::Null, |arx| json!(format!("{arx:.0}"))),
            against(one),
            against(all),
            top_down,
            bottom_up,
        ]);
        Ok(())
    };
    match adult {
        Some(folder) => {
            for case in &CASES {
                measure(case.name, &adult_policy(case, folder)?, &folder.join("adult.csv"), Some(case.arx))?;
            }
        }
        None => {
            scratch = std::env::temp_dir().join(format!("scumble-bench-{}", std::process::id()));
            std::fs::create_dir_all(&scratch).map_err(Error::io(&scratch, "write"))?;
            let result = [10_000, 100_000, 1_000_000].into_iter().try_for_each(|size| {
                let data = scratch.join(format!("census-{size}.csv"));
                let files = jobs::generate(Kind::Census, size, 1, &data, None, &Watch::default())?;
                measure("census, k=5, distinct 3-diversity, 5 %", &Policy::read(&files[1])?, &data, None)
            });
            let _ = std::fs::remove_dir_all(&scratch);
            result?;
        }
    }
    Ok(Measured {
        title: format!("Full-domain search, fastest of {runs} runs, milliseconds; textbook orders with nodes visited"),
        columns: vec![
            "case",
            "rows",
            "cells",
            "visited",
            "cost",
            "1 thread",
            "all threads",
            "ARX",
            "ratio, 1 thread",
            "ratio, all",
            "top-down",
            "bottom-up",
        ],
        rows,
    })
}
