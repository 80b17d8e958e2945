//! What the experiments on tables larger than memory share: synthetic tables, policies over them,
//! and one release that is measured. LeFevre and DeWitt 2007, section 5.

use crate::harness::{Scratch, processor_seconds};
use scumble::error::Result;
use scumble::job::{DiskParameters, Parameters};
use scumble::policy::{Policy, PolicyBuilder};
use scumble::{Job, ReleaseFile, Report, Synthetic, TableFile, Watch, generate};
use std::path::{Path, PathBuf};

/// Quasi-identifiers of the table of the paper's figure 7; each is split anywhere.
const AGRAWAL: [&str; 9] =
    ["salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan"];

/// Quasi-identifiers of the census, in whose place the paper has a table that is not public. Ages are
/// split anywhere, the others along their hierarchies.
const CENSUS: [&str; 8] =
    ["sex", "age", "race", "marital-status", "education", "birthplace", "workclass", "zip"];

/// Too little for a frequency group of this table, which has 8 MB here as in the paper: where a
/// sample of Rothko-S is not enough, Rothko-T cannot go on. So what is seen is what samples can do.
pub const NO_FREQUENCY_GROUP: u64 = 16 << 20;

/// The paper's switch to the median (footnote 13).
pub const LEAST_GAIN: f64 = 0.01;

/// A synthetic table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// The paper's, of numbers.
    Agrawal,
    Census,
}

/// What a case asks of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Which table.
    pub of: Data,
    /// rothko-t or rothko-s.
    pub algorithm: &'static str,
    /// median, info-gain or regression.
    pub split: &'static str,
    /// Below this gain the median takes over.
    pub least_gain: f64,
    /// What every region must meet, as a policy says it.
    pub privacy: String,
    /// A column with another role than that of a quasi-identifier. All that are not named here and
    /// are no quasi-identifiers are left out, as the paper's tuples have one target at most.
    pub other: Option<(&'static str, &'static str)>,
}

impl Asked {
    /// `folder` has the table's hierarchies.
    fn policy(&self, folder: &Path) -> Result<Policy> {
        let role = |name: &str, role: &str| format!("[attributes.{name}]\nrole = \"{role}\"\n");
        let hierarchy = |name: &str| match (self.of, name) {
            (Data::Agrawal, _) | (_, "age") => String::new(),
            (_, "zip") => "type = \"text\"\nhierarchy = { mask = \"right\" }\n".into(),
            _ => format!("hierarchy = \"hierarchies/{name}.csv\"\n"),
        };
        let keys = match self.of {
            Data::Agrawal => &AGRAWAL[..],
            Data::Census => &CENSUS,
        };
        let mut text = String::from("[defaults]\nrole = \"identifier\"\n");
        for key in keys.iter().filter(|key| self.other.is_none_or(|(other, _)| other != **key)) {
            text += &role(key, "quasi-identifier");
            text += &hierarchy(key);
        }
        if let Some((name, other)) = self.other {
            text += &role(name, other);
        }
        let Asked { algorithm, split, privacy, .. } = self;
        text += &format!(
            "[privacy]\n{privacy}\n[search]\nalgorithm = \"{algorithm}\"\nsplit = \"{split}\"\n\
             pooling = false\n"
        );
        let policy = PolicyBuilder::parse(&text, &folder.join("policy.toml"))?;
        policy.set(["search", "least-gain"], self.least_gain).build()
    }
}

/// A table with this number of rows, and its hierarchies if it has any.
pub fn table(scratch: &Scratch, of: Data, rows: u64, seed: u64, ending: &str) -> Result<PathBuf> {
    let (name, kind) = match of {
        Data::Agrawal => ("agrawal", Synthetic::Agrawal),
        Data::Census => ("census", Synthetic::Census),
    };
    let table = scratch.path(&format!("{name}-{rows}-{seed}.{ending}"));
    if !table.exists() {
        let policy = scratch.path(&format!("{name}.toml"));
        let policy = (of == Data::Census && !policy.exists()).then_some(policy);
        generate(kind, rows, seed, &table, policy.as_deref(), &Watch::default())?;
    }
    Ok(table)
}

/// A release, and the processor's seconds that went into it where the system tells.
pub fn release(
    scratch: &Scratch,
    table: &Path,
    asked: &Asked,
    disk: DiskParameters,
    memory: Option<u64>,
    seed: u64,
) -> Result<(Report, Option<f64>)> {
    let output = ReleaseFile::new(&scratch.path("release.parquet"))?;
    let mut job =
        Job::new(asked.policy(&scratch.path(""))?).seed(seed).spill_folder(scratch.path(""));
    job = job.parameters(Parameters { disk, ..Parameters::default() });
    if let Some(memory) = memory {
        job = job.memory(memory);
    }
    let before = processor_seconds();
    let report = job.run(TableFile::open(table)?, output, &Watch::default())?;
    Ok((report, processor_seconds().zip(before).map(|(after, before)| after.own - before.own)))
}
