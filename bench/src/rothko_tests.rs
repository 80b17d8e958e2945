//! How good are the tests on samples? Nodes that Rothko-S prunes with them and without (LeFevre and
//! DeWitt 2007, figure 28), by sample size, for k-anonymity, recursive (1, l)-diversity of the zip
//! code and variance of the salary.

use crate::harness::{Scratch, Shown};
use crate::synthetic::{Asked, Data, LEAST_GAIN, NO_FREQUENCY_GROUP, release, table};
use scumble::error::{Error, Result};
use scumble::job::DiskParameters;
use scumble::random::Random;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Rows where nothing else is asked for: the paper's.
const ROWS: u64 = 100_000;

const SAMPLES: [u64; 8] = [100, 250, 500, 1000, 2500, 5000, 10_000, 25_000];

/// The paper repartitions when the tree has this many leaves, at height 8.
const FAN_OUT: usize = 256;

/// The normal salary: the paper has its variance, which is about this one squared.
const MEAN: f64 = 85_000.0;
const DEVIATION: f64 = 10_488.0;

/// A column of the figure.
struct Case {
    name: &'static str,
    /// The policy's words.
    privacy: &'static str,
    sensitive: Option<&'static str>,
    /// Whether the salary is normal.
    normal: bool,
    /// Fewer rows cannot meet it.
    least_rows: u64,
}

const fn of_rows(name: &'static str, privacy: &'static str, k: u64) -> Case {
    Case { name, privacy, sensitive: None, normal: false, least_rows: k }
}

const fn of_zipcode(name: &'static str, privacy: &'static str) -> Case {
    Case { name, privacy, sensitive: Some("zipcode"), normal: false, least_rows: 0 }
}

const fn of_salary(name: &'static str, privacy: &'static str, normal: bool) -> Case {
    Case { name, privacy, sensitive: Some("salary"), normal, least_rows: 0 }
}

const CASES: [Case; 14] = [
    of_rows("k=10", "k = 10", 10),
    of_rows("k=100", "k = 100", 100),
    of_rows("k=1000", "k = 1000", 1000),
    of_rows("k=10000", "k = 10000", 10_000),
    of_zipcode("l=2", "l-diversity = { kind = \"recursive\", c = 1, l = 2 }"),
    of_zipcode("l=4", "l-diversity = { kind = \"recursive\", c = 1, l = 4 }"),
    of_zipcode("l=6", "l-diversity = { kind = \"recursive\", c = 1, l = 6 }"),
    of_zipcode("l=8", "l-diversity = { kind = \"recursive\", c = 1, l = 8 }"),
    of_salary("v=1.1e9, uniform", "variance = 1.1e9", false),
    of_salary("v=1.2e9, uniform", "variance = 1.2e9", false),
    of_salary("v=1.3e9, uniform", "variance = 1.3e9", false),
    of_salary("v=7e7, normal", "variance = 7e7", true),
    of_salary("v=8e7, normal", "variance = 8e7", true),
    of_salary("v=9e7, normal", "variance = 9e7", true),
];

/// The table with a normal salary instead of the uniform one, and a commission that follows from it
/// as before.
fn with_normal_salary(scratch: &Scratch, uniform: &Path) -> Result<PathBuf> {
    let text = std::fs::read_to_string(uniform).map_err(Error::io(uniform, "read"))?;
    let mut lines = text.lines();
    let mut random = Random::new(28);
    let mut normal = lines.next().unwrap_or_default().to_string() + "\n";
    for line in lines {
        // Salary and commission stand first.
        let Some(rest) = line.splitn(3, ',').nth(2) else { return Err(Error::Defect) };
        let salary = (MEAN + DEVIATION * random.normal()).round() as i64;
        let commission = if salary >= 75_000 { 0 } else { random.between(10_000, 75_000) };
        let _ = writeln!(normal, "{salary},{commission},{rest}");
    }
    let file = scratch.path("normal.csv");
    std::fs::write(&file, normal).map_err(Error::io(&file, "write"))?;
    Ok(file)
}

/// The nodes that one release pruned, or the paper's x where a sample had no confident split for a
/// partition larger than memory, so that the regions may not be minimal.
fn pruned(
    scratch: &Scratch,
    table: &Path,
    case: &Case,
    tuples: u64,
    naive: bool,
) -> Result<String> {
    let asked = Asked {
        of: Data::Agrawal,
        algorithm: "rothko-s",
        split: "median",
        least_gain: LEAST_GAIN,
        privacy: case.privacy.into(),
        other: case.sensitive.map(|name| (name, "sensitive")),
    };
    let disk = DiskParameters {
        tuples: Some(tuples),
        fan_out: Some(FAN_OUT),
        naive,
        to_fan_out: true,
        ..DiskParameters::default()
    };
    let (report, _) = release(scratch, table, &asked, disk, Some(NO_FREQUENCY_GROUP), 0)?;
    let is_unsplit = report.io.unsplit_partitions.unwrap_or(0) > 0;
    let pruned = report.io.pruned_nodes.unwrap_or(0);
    Ok(if is_unsplit { "x".into() } else { pruned.to_string() })
}

/// Figure 28.
pub fn rothko_tests(rows: Option<u64>, shown: &mut Shown) -> Result<()> {
    let rows = rows.unwrap_or(ROWS);
    let scratch = Scratch::new()?;
    let uniform = table(&scratch, Data::Agrawal, rows, 1, "csv")?;
    let normal = with_normal_salary(&scratch, &uniform)?;
    shown.begin(
        format!(
            "Nodes pruned by Rothko-S on {rows} rows, with tests (and naively); x where a sample left a partition larger than \
             memory unsplit"
        ),
        std::iter::once("sample").chain(CASES.iter().map(|case| case.name)).collect(),
    );
    for tuples in SAMPLES.into_iter().filter(|tuples| *tuples < rows) {
        let mut row = vec![json!(tuples)];
        for case in &CASES {
            if case.least_rows > rows {
                row.push(Value::Null);
                continue;
            }
            let table = if case.normal { &normal } else { &uniform };
            let pruned = |naive| pruned(&scratch, table, case, tuples, naive);
            row.push(json!(format!("{} ({})", pruned(false)?, pruned(true)?)));
        }
        shown.row(row);
    }
    Ok(())
}
