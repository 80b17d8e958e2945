//! What the hierarchies of `init` are worth: learned ones against ones by frequency, against none,
//! and against those that people wrote, with the same roles and requirements.
//!
//! LM depends on the hierarchy that it is measured in, so LM of different hierarchies cannot be
//! compared. Two yardsticks can: the error of a decision tree that is learned from two thirds of the
//! released rows and predicts a class label in the others, and the share of the information about
//! the original values that the labels keep, 1 - H(value | label) / H(value).

use crate::harness::{Measured, Scratch};
use crate::tree::{Attribute, Examples, Tree};
use scumble::error::{Error, Result};
use scumble::job::SuggestedColumn;
use scumble::policy::PolicyBuilder;
use scumble::random::Random;
use scumble::source::Texts;
use scumble::{Job, ReleaseBatches, Role, Source, Synthetic, TableFile, Watch, generate, suggest};
use serde_json::json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Random splits that errors are averaged over.
const SPLITS: u64 = 5;

/// A table with a class label, and hierarchies that a person wrote for some of its columns.
struct Subject {
    name: &'static str,
    table: PathBuf,
    label: &'static str,
    /// Columns and their hierarchies.
    written: Vec<(&'static str, PathBuf)>,
}

/// All measurements.
pub fn init(adult: Option<&Path>, rows: Option<u64>) -> Result<Vec<Measured>> {
    let scratch = Scratch::new()?;
    let rows = rows.unwrap_or(10_000);
    let mut subjects = vec![census(&scratch, rows)?, hidden(&scratch, rows)?];
    if let Some(folder) = adult {
        let columns =
            ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"];
        let file = |name: &'static str| (name, folder.join(format!("adult_hierarchy_{name}.csv")));
        subjects.insert(
            0,
            Subject {
                name: "Adult",
                table: folder.join("adult.csv"),
                label: "salary-class",
                written: columns.into_iter().map(file).collect(),
            },
        );
    }
    let mut measured = Vec::new();
    for subject in &subjects {
        measured.push(of_subject(subject, &scratch)?);
    }
    Ok(measured)
}

/// The census with its own hierarchies.
fn census(scratch: &Scratch, rows: u64) -> Result<Subject> {
    let (table, policy) = (scratch.path("census.csv"), scratch.path("written/census.toml"));
    let folder = scratch.path("written");
    std::fs::create_dir_all(&folder).map_err(Error::io(&folder, "write"))?;
    generate(Synthetic::Census, rows, 1, &table, Some(&policy), &Watch::default())?;
    let columns = ["sex", "race", "marital-status", "education", "birthplace", "workclass"];
    let file = |name: &'static str| (name, folder.join(format!("hierarchies/{name}.csv")));
    Ok(Subject {
        name: "census",
        table,
        label: "salary-class",
        written: columns.into_iter().map(file).collect(),
    })
}

/// 40 towns in 5 valleys, in no order. The valley determines a column of numbers and the label, up
/// to noise; the hierarchy that is written has the valleys.
fn hidden(scratch: &Scratch, rows: u64) -> Result<Subject> {
    let (table, file) = (scratch.path("hidden.csv"), scratch.path("towns.csv"));
    let mut random = Random::new(17);
    let valley = |town: u64| town * 7 % 5;
    let mut text = String::from("town,age,height,votes\n");
    for _ in 0..rows {
        // Some towns are larger than others.
        let town = random.below(40).min(random.below(40));
        let noise = random.below(4) == 0;
        let side = if noise { random.below(2) } else { valley(town) % 2 };
        let height = 200 + 300 * valley(town) + random.below(400);
        text += &format!("town {town},{},{height},{side}\n", 20 + random.below(60));
    }
    std::fs::write(&table, text).map_err(Error::io(&table, "write"))?;
    let row = |town: u64| format!("town {town};valley {};*\n", valley(town));
    let tree: String = (0..40).map(row).collect();
    std::fs::write(&file, tree).map_err(Error::io(&file, "write"))?;
    Ok(Subject { name: "hidden", table, label: "votes", written: vec![("town", file)] })
}

/// Every policy for one table, with the best levels and with regions.
fn of_subject(subject: &Subject, scratch: &Scratch) -> Result<Measured> {
    let mut rows = Vec::new();
    let original = Released::new(&TableFile::open(&subject.table)?)?;
    for recoding in ["levels", "regions"] {
        for trees in ["learned", "by frequency", "none for texts", "written by hand"] {
            let (policy, keys) = policy(subject, scratch, trees)?;
            let policy = policy
                .set(["search", "recoding"], recoding)
                .set(["attributes", subject.label, "role"], "target");
            let mut sink = ReleaseBatches::new();
            let start = Instant::now();
            let job = Job::new(policy.build()?).seed(1);
            let report = job.run(TableFile::open(&subject.table)?, &mut sink, &Watch::default())?;
            let seconds = start.elapsed().as_secs_f64();
            let source = scumble::TableBatches::new(sink.batches().to_vec())?;
            let released = Released::new(&source)?;
            let (mean, deviation) = released.error(subject.label);
            // Bits that are lost, per value.
            let report = report.to_json();
            let lost = report["private"]["loss"]["entropy"].as_f64();
            let kept = lost.map(|lost| 1.0 - lost / original.entropy(&keys));
            rows.push(vec![
                json!(recoding),
                json!(trees),
                json!(report["loss"]["lm"]),
                json!(format!("{:.2} ± {:.2}", 100.0 * mean, 100.0 * deviation)),
                json!(kept.map(|kept| format!("{:.1}", 100.0 * kept))),
                json!(report["suppressed"]),
                json!(format!("{seconds:.2}")),
            ]);
        }
    }
    let (mean, deviation) = original.error(subject.label);
    let title = format!(
        "{}: k = 5, error of the original {:.2} ± {:.2} %, of the majority {:.2} %",
        subject.name,
        100.0 * mean,
        100.0 * deviation,
        100.0 * original.majority_error(subject.label),
    );
    let columns = vec![
        "recoding",
        "hierarchies of texts",
        "LM (in its own trees)",
        "error %",
        "information kept %",
        "suppressed",
        "seconds",
    ];
    Ok(Measured { title, columns, rows })
}

/// The policy of `init` with trees of a kind, and its quasi-identifiers.
fn policy(
    subject: &Subject,
    scratch: &Scratch,
    trees: &str,
) -> Result<(PolicyBuilder, Vec<String>)> {
    let source = TableFile::open(&subject.table)?;
    let suggestion = suggest(&source, trees != "by frequency", &Watch::default())?;
    let folder = scratch.path(&format!("{}-{}", subject.name, trees.replace(' ', "-")));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(Error::io(&folder, "write"))?;
    suggestion.write(&folder.join("policy.toml"))?;
    let mut policy = PolicyBuilder::read(&folder.join("policy.toml"))?;
    let is_key = |column: &&SuggestedColumn| {
        column.role == Role::QuasiIdentifier && column.name != subject.label
    };
    let keys: Vec<&SuggestedColumn> = suggestion.columns().iter().filter(is_key).collect();
    if trees == "none for texts" || trees == "written by hand" {
        for column in &keys {
            let path = ["attributes", column.name.as_str(), "hierarchy"];
            // Only those that are files are texts.
            if policy.at(path).is_some() {
                policy = policy.remove(path);
            }
        }
    }
    if trees == "written by hand" {
        for (name, file) in &subject.written {
            let path = ["attributes", name, "hierarchy"];
            policy = policy.set(path, file.to_string_lossy().into_owned());
        }
    }
    Ok((policy, keys.into_iter().map(|column| column.name.clone()).collect()))
}

/// The labels of a table, as numbers.
struct Released {
    names: Vec<String>,
    columns: Vec<Vec<u32>>,
}

impl Released {
    fn new(source: &dyn Source) -> Result<Released> {
        let fields = source.schema().fields().clone();
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let mut columns = vec![Vec::new(); names.len()];
        let mut known: Vec<HashMap<String, u32>> = vec![HashMap::new(); names.len()];
        let all: Vec<usize> = (0..names.len()).collect();
        for batch in source.scan(&all)? {
            let batch = batch?;
            for (at, array) in batch.columns().iter().enumerate() {
                let broken = |error| Error::Columnar { file: source.name().into(), source: error };
                let texts = Texts::of_array(array).map_err(broken)?;
                for row in 0..batch.num_rows() {
                    let next = known[at].len() as u32;
                    columns[at].push(*known[at].entry(texts.get(row).into()).or_insert(next));
                }
            }
        }
        Ok(Released { names, columns })
    }

    /// The mean and the standard deviation of the error on held-out rows.
    fn error(&self, label: &str) -> (f64, f64) {
        let at = self.names.iter().position(|name| name == label).unwrap_or(0);
        let others = (0..self.names.len()).filter(|other| *other != at);
        let attribute =
            |other: usize| Attribute { codes: self.columns[other].clone(), is_ordered: false };
        let examples = Examples {
            attributes: others.map(attribute).collect(),
            labels: self.columns[at].clone(),
        };
        let rows = examples.labels.len();
        let errors: Vec<f64> = (0..SPLITS)
            .map(|number| {
                let mut order: Vec<usize> = (0..rows).collect();
                let mut random = Random::stream(2026, number);
                for last in (1..rows).rev() {
                    order.swap(last, random.below(last as u64 + 1) as usize);
                }
                let test = order.split_off(rows * 2 / 3);
                Tree::learn(&examples, &order).error(&examples, &test)
            })
            .collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let squares: f64 = errors.iter().map(|error| (error - mean).powi(2)).sum();
        (mean, (squares / (errors.len() as f64 - 1.0)).sqrt())
    }

    fn majority_error(&self, label: &str) -> f64 {
        let at = self.names.iter().position(|name| name == label).unwrap_or(0);
        let most = counts(&self.columns[at]).into_values().max().unwrap_or(0);
        1.0 - most as f64 / self.columns[at].len() as f64
    }

    /// The mean entropy of some columns, in bits.
    fn entropy(&self, names: &[String]) -> f64 {
        let of_column = |name: &String| {
            let at = self.names.iter().position(|known| known == name).unwrap_or(0);
            let rows = self.columns[at].len() as f64;
            let counts = counts(&self.columns[at]);
            let mut shares: Vec<f64> = counts.values().map(|count| *count as f64 / rows).collect();
            // In an order of their own, so that sums are the same each time.
            shares.sort_by(f64::total_cmp);
            -shares.iter().map(|share| share * share.log2()).sum::<f64>()
        };
        names.iter().map(of_column).sum::<f64>() / names.len() as f64
    }
}

fn counts(codes: &[u32]) -> HashMap<u32, u64> {
    let mut counts = HashMap::new();
    codes.iter().for_each(|code| *counts.entry(*code).or_default() += 1);
    counts
}
