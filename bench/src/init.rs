//! What the policies of `init` are worth: hierarchies that are learned against those by frequency,
//! against none, and against those that people wrote, with the same roles and requirements.
//!
//! LM counts the values under a label, among those that the hierarchy lists, so LM in different
//! hierarchies can be compared only roughly. Two yardsticks know no hierarchy: the bits that are lost
//! per value, which depend on the original values and on who shares a label alone; and the error of a
//! decision tree that is learned from two thirds of the released rows and predicts a class label in
//! the others.

use crate::harness::{Measured, Scratch};
use crate::tree::{Attribute, Examples, Tree};
use scumble::error::{Error, Result};
use scumble::policy::PolicyBuilder;
use scumble::random::Random;
use scumble::source::Texts;
use scumble::{
    Job, ReleaseBatches, Role, Source, Synthetic, TableFile, Type, Watch, generate, suggest,
};
use serde_json::json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Random splits that errors are averaged over.
const SPLITS: u64 = 20;

/// The hierarchies that are compared.
const TREES: [&str; 4] = ["learned", "by frequency", "none for texts", "written by hand"];

/// A table with a class label, and a policy for it that a person wrote.
struct Subject {
    name: &'static str,
    table: PathBuf,
    label: &'static str,
    keys: Vec<&'static str>,
    by_hand: ByHand,
    /// Roles other than quasi-identifiers, and requirements: the same for all policies.
    asked: fn(PolicyBuilder) -> PolicyBuilder,
}

/// What a person wrote.
enum ByHand {
    /// A policy.
    Policy(Box<PolicyBuilder>),
    /// Hierarchies of some columns.
    Files(Vec<(&'static str, PathBuf)>),
}

const OF_CENSUS: [&str; 8] =
    ["sex", "age", "race", "marital-status", "education", "birthplace", "workclass", "zip"];

/// All measurements.
pub fn init(adult: Option<&Path>, rows: Option<u64>) -> Result<Vec<Measured>> {
    let scratch = Scratch::new()?;
    let rows = rows.unwrap_or(10_000);
    let mut subjects: Vec<Subject> = adult.map(of_adult).into_iter().collect();
    subjects.extend([
        hospital()?,
        census()?,
        subset(&scratch, rows)?,
        agrawal(&scratch, rows)?,
        hidden(&scratch, rows)?,
    ]);
    subjects.iter().map(|subject| of_subject(subject, &scratch)).collect()
}

/// The hierarchies that come with the table, and the roles of the papers.
fn of_adult(folder: &Path) -> Subject {
    let keys = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"];
    let file = |name: &'static str| (name, folder.join(format!("adult_hierarchy_{name}.csv")));
    Subject {
        name: "Adult",
        table: folder.join("adult.csv"),
        label: "salary-class",
        keys: keys.to_vec(),
        by_hand: ByHand::Files(keys.into_iter().map(file).collect()),
        asked: |policy| {
            with_role(policy, "occupation", Role::Sensitive).k(5).l_diversity("distinct", 2)
        },
    }
}

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(path)
}

/// Admissions, with the policy that docs/guide.md ends with.
fn hospital() -> Result<Subject> {
    Ok(Subject {
        name: "hospital",
        table: example("hospital/patients.csv"),
        label: "discharge",
        keys: vec!["birth_date", "sex", "admitted", "days"],
        by_hand: ByHand::Policy(PolicyBuilder::read(&example("hospital/policy.toml"))?.into()),
        asked: |policy| {
            let policy = ["patient_id", "postcode", "crp"]
                .into_iter()
                .fold(policy, |policy, name| with_role(policy, name, Role::Identifier));
            with_role(policy, "diagnosis", Role::Sensitive)
                .k(11)
                .default_threshold("1/5")
                .threshold("B20", "1/50")
        },
    })
}

/// The census in the examples.
fn census() -> Result<Subject> {
    Ok(Subject {
        name: "census",
        table: example("census/census.csv"),
        label: "salary-class",
        keys: OF_CENSUS.to_vec(),
        by_hand: ByHand::Policy(PolicyBuilder::read(&example("census/policy.toml"))?.into()),
        asked: |policy| of_people(policy).k(5).l_diversity("distinct", 3),
    })
}

/// People of a census who were chosen by age, sex and race.
fn subset(scratch: &Scratch, rows: u64) -> Result<Subject> {
    let (table, policy) = (scratch.path("subset.csv"), scratch.path("subset.toml"));
    generate(
        Synthetic::Subset(scumble::Selection::Biased),
        rows,
        1,
        &table,
        Some(&policy),
        &Watch::default(),
    )?;
    Ok(Subject {
        name: "subset",
        table,
        label: "salary-class",
        keys: OF_CENSUS.to_vec(),
        by_hand: ByHand::Policy(PolicyBuilder::read(&policy)?.into()),
        asked: |policy| of_people(policy).k(3),
    })
}

fn of_people(policy: PolicyBuilder) -> PolicyBuilder {
    let policy = with_role(policy, "id", Role::Identifier);
    with_role(policy, "occupation", Role::Sensitive)
}

/// Nine columns of numbers, with widths as the comment in the generated policy suggests.
fn agrawal(scratch: &Scratch, rows: u64) -> Result<Subject> {
    let (table, policy) = (scratch.path("agrawal.csv"), scratch.path("agrawal.toml"));
    generate(Synthetic::Agrawal, rows, 1, &table, Some(&policy), &Watch::default())?;
    let widths = [
        ("salary", "[10000, 20000, 40000]"),
        ("commission", "[10000, 20000, 40000]"),
        ("age", "[5, 10, 20]"),
        ("hvalue", "[50000, 100000, 200000]"),
        ("hyears", "[5, 10]"),
        ("loan", "[50000, 100000, 200000]"),
    ];
    let mut text = std::fs::read_to_string(&policy).map_err(Error::io(&policy, "read"))?;
    for (name, widths) in widths {
        let head = format!("[attributes.{name}]\n");
        text = text.replace(&head, &format!("{head}hierarchy = {{ intervals = {widths} }}\n"));
    }
    Ok(Subject {
        name: "agrawal",
        table,
        label: "c2",
        keys: vec![
            "salary",
            "commission",
            "age",
            "elevel",
            "car",
            "zipcode",
            "hvalue",
            "hyears",
            "loan",
        ],
        by_hand: ByHand::Policy(PolicyBuilder::parse(&text, &policy)?.into()),
        asked: |policy| {
            let policy = ["c7", "r7", "r10"]
                .into_iter()
                .fold(policy, |policy, name| with_role(policy, name, Role::Insensitive));
            policy.k(20)
        },
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
    Ok(Subject {
        name: "hidden",
        table,
        label: "votes",
        keys: vec!["town", "age", "height"],
        by_hand: ByHand::Files(vec![("town", file)]),
        asked: |policy| policy.k(5),
    })
}

/// A column in another role, without what its old role needed.
fn with_role(policy: PolicyBuilder, name: &str, role: Role) -> PolicyBuilder {
    policy.remove(["attributes", name]).role(name, role)
}

/// Every policy for one table, with each kind of recoding.
fn of_subject(subject: &Subject, scratch: &Scratch) -> Result<Measured> {
    let mut rows = Vec::new();
    let original = Released::new(&TableFile::open(&subject.table)?)?;
    let entropy = original.entropy(&subject.keys);
    for recoding in ["levels", "regions", "any"] {
        for trees in TREES {
            let policy = policy(subject, scratch, trees)?.set(["search", "recoding"], recoding);
            let mut sink = ReleaseBatches::new();
            let job = Job::new(policy.build()?).seed(1);
            let report = job.run(TableFile::open(&subject.table)?, &mut sink, &Watch::default());
            let report = match report {
                Ok(report) => report.to_json(),
                Err(Error::CannotBeMet { .. }) => {
                    rows.push(vec![json!(recoding), json!(trees), json!("no release")]);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let source = scumble::TableBatches::new(sink.batches().to_vec())?;
            let (mean, deviation) = Released::new(&source)?.error(subject.label);
            let lost = report["private"]["loss"]["entropy"].as_f64();
            let shown = |number: Option<f64>| json!(number.map(|number| format!("{number:.3}")));
            rows.push(vec![
                json!(recoding),
                json!(trees),
                shown(report["loss"]["lm"].as_f64()),
                shown(lost),
                json!(lost.map(|lost| format!("{:.1}", 100.0 * (1.0 - lost / entropy)))),
                json!(format!("{:.2} ± {:.2}", 100.0 * mean, 100.0 * deviation)),
                report["suppressed"].clone(),
            ]);
        }
    }
    let (mean, deviation) = original.error(subject.label);
    let title = format!(
        "{}: {} rows, {} quasi-identifiers, error of the original {:.2} ± {:.2} %, of the majority \
         {:.2} %",
        subject.name,
        original.columns[0].len(),
        subject.keys.len(),
        100.0 * mean,
        100.0 * deviation,
        100.0 * original.majority_error(subject.label),
    );
    let columns = vec![
        "recoding",
        "hierarchies",
        "LM",
        "bits lost per value",
        "information kept %",
        "error %",
        "suppressed",
    ];
    Ok(Measured { title, columns, rows })
}

/// The policy with hierarchies of a kind.
fn policy(subject: &Subject, scratch: &Scratch, trees: &str) -> Result<PolicyBuilder> {
    let policy = match (trees, &subject.by_hand) {
        ("written by hand", ByHand::Policy(policy)) => {
            let keys = subject.keys.iter();
            // The weights of a study are no matter of hierarchies.
            keys.fold(policy.as_ref().clone(), |policy, name| {
                policy.remove(["attributes", name, "weight"])
            })
        }
        ("written by hand", ByHand::Files(files)) => {
            let written = files.iter().map(|(name, file)| (*name, file));
            written.fold(suggested(subject, scratch, trees)?, |policy, (name, file)| {
                let path = ["attributes", name, "hierarchy"];
                policy.set(path, file.to_string_lossy().into_owned())
            })
        }
        _ => suggested(subject, scratch, trees)?,
    };
    let policy = policy.remove(["privacy"]).remove(["search"]);
    let policy = (subject.asked)(with_role(policy, subject.label, Role::Target));
    Ok(policy.algorithm("auto").suppression("5%"))
}

/// The policy of `init`, but for the roles.
fn suggested(subject: &Subject, scratch: &Scratch, trees: &str) -> Result<PolicyBuilder> {
    let source = TableFile::open(&subject.table)?;
    let folder = scratch.path(&format!("{}-{}", subject.name, trees.replace(' ', "-")));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(Error::io(&folder, "write"))?;
    let file = folder.join("policy.toml");
    let suggestion = suggest(&source, &file, trees != "by frequency", &Watch::default())?;
    suggestion.write()?;
    let mut policy = PolicyBuilder::read(&file)?;
    for column in suggestion.columns() {
        let (name, kind) = (column.name.as_str(), column.kind);
        if subject.keys.contains(&name) && column.role != Role::QuasiIdentifier {
            // Without a hierarchy: `init` does not generalize columns in other roles.
            policy = with_role(policy, name, Role::QuasiIdentifier);
        }
        let is_code = policy.at(["attributes", name, "hierarchy"]).is_none();
        if trees == "none for texts" && kind == Some(Type::Text) && !is_code {
            policy = policy.remove(["attributes", name, "hierarchy"]);
        }
    }
    Ok(policy)
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
    fn entropy(&self, names: &[&str]) -> f64 {
        let of_column = |name: &&str| {
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
