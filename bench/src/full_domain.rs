//! The full-domain search: on Adult against the published times of ARX, or on synthetic census data
//! by itself.

use crate::harness::{Measured, SEVEN, Scratch, fastest, read};
use scumble::error::Result;
use scumble::policy::Policy;
use scumble::search::lattice::incognito::{self, Strategy};
use scumble::watch::Watch;
use scumble::{Synthetic, generate};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// One case of the full-domain experiment.
struct Case {
    name: &'static str,
    nine: bool,
    privacy: &'static str,
    suppression: &'static str,
    /// CPU milliseconds of ARX 3.9's search, warm, its fastest setting, as published with this
    /// comparison.
    arx: f64,
}

const CASES: [Case; 4] = [
    Case { name: "k=5", nine: false, privacy: "k = 5", suppression: "0", arx: 15.0 },
    Case {
        name: "k=5, 5 % suppression",
        nine: false,
        privacy: "k = 5",
        suppression: "0.05",
        arx: 27.0,
    },
    Case {
        name: "k=5, recursive (3,4)-diversity, 5 %",
        nine: false,
        privacy: "k = 5\nl-diversity = { kind = \"recursive\", l = 4, c = 3 }",
        suppression: "0.05",
        arx: 145.0,
    },
    Case {
        name: "9 quasi-identifiers, k=5, 5 %",
        nine: true,
        privacy: "k = 5",
        suppression: "0.05",
        arx: 250.0,
    },
];

/// The most cells on which the textbook orders are timed.
const MOST_TEXTBOOK_CELLS: usize = 20_000;

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
    let _ = write!(
        text,
        "[privacy]\n{}\n[search]\nsuppression = {{ limit = {} }}\n",
        case.privacy, case.suppression
    );
    Policy::parse(&text, &folder.join("policy.toml"))
}

/// The full-domain search: on Adult against ARX's published times, or on synthetic census data by
/// itself.
pub fn full_domain(adult: Option<&Path>, runs: u32) -> Result<Measured> {
    let mut rows = Vec::new();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut measure = |name: &str, policy: &Policy, data: &Path, arx: Option<f64>| -> Result<()> {
        let table = read(data, policy)?;
        let prepared = policy.prepare(&table)?;
        let search = |strategy| incognito::search(&prepared.task, strategy, &Watch::default());
        let (one, found) = fastest(1, runs, || search(Strategy::BestFirst))?;
        let (all, _) = fastest(threads, runs, || search(Strategy::BestFirst))?;
        // The textbook orders visit thousands of nodes; on many cells that takes minutes and shows
        // nothing new.
        let textbook = |strategy| -> Result<Value> {
            if prepared.task.cells.len() > MOST_TEXTBOOK_CELLS {
                return Ok(Value::Null);
            }
            let (seconds, found) = fastest(1, 1, || search(strategy))?;
            Ok(json!(format!("{:.1} ({})", seconds * 1e3, found.visited)))
        };
        let (top_down, bottom_up) = (textbook(Strategy::TopDown)?, textbook(Strategy::BottomUp)?);
        let against = |seconds: f64| {
            arx.map_or(Value::Null, |arx| json!(format!("{:.1}x", arx / 1e3 / seconds)))
        };
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
                measure(
                    case.name,
                    &adult_policy(case, folder)?,
                    &folder.join("adult.csv"),
                    Some(case.arx),
                )?;
            }
        }
        None => {
            let scratch = Scratch::new()?;
            [10_000, 100_000, 1_000_000].into_iter().try_for_each(|size| {
                let data = scratch.path(&format!("census-{size}.csv"));
                let files = generate(Synthetic::Census, size, 1, &data, None, &Watch::default())?;
                measure(
                    "census, k=5, distinct 3-diversity, 5 %",
                    &Policy::read(&files[1])?,
                    &data,
                    None,
                )
            })?;
        }
    }
    Ok(Measured {
        title: format!(
            "Full-domain search, fastest of {runs} runs, milliseconds; textbook orders with nodes visited"
        ),
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
