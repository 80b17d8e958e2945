//! What the experiments on tables larger than memory share: the synthetic table of the paper's
//! figure 7, policies over it, and one release that is measured. LeFevre and DeWitt 2007, section
//! 5.

use crate::harness::{Scratch, processor_seconds};
use scumble::error::Result;
use scumble::job::{DiskParameters, Parameters};
use scumble::policy::{Policy, PolicyBuilder};
use scumble::{Job, ReleaseFile, Report, Synthetic, TableFile, Watch, generate};
use std::path::{Path, PathBuf};

/// Quasi-identifiers unless a case makes one of them sensitive; each is split anywhere.
const KEYS: [&str; 9] =
    ["salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan"];

/// Too little for a frequency group of this table, which has 8 MB here as in the paper: where a
/// sample of Rothko-S is not enough, Rothko-T cannot go on. So what is seen is what samples can do.
pub const NO_FREQUENCY_GROUP: u64 = 16 << 20;

/// The paper's switch to the median (footnote 13).
pub const LEAST_GAIN: f64 = 0.01;

/// What a case asks of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// rothko-t or rothko-s.
    pub algorithm: &'static str,
    /// median, info-gain or regression.
    pub split: &'static str,
    /// Below this gain the median takes over.
    pub least_gain: f64,
    /// What every region must meet, as a policy says it.
    pub privacy: String,
    /// A column with another role than that of a quasi-identifier. Targets that are not named are
    /// left out of the release, as the paper's tuples have one at most.
    pub other: Option<(&'static str, &'static str)>,
}

impl Asked {
    fn policy(&self) -> Result<Policy> {
        let role = |name: &str, role: &str| format!("[attributes.{name}]\nrole = \"{role}\"\n");
        let mut text = String::from("[defaults]\nrole = \"identifier\"\n");
        for key in KEYS.into_iter().filter(|key| self.other.is_none_or(|(other, _)| other != *key))
        {
            text += &role(key, "quasi-identifier");
        }
        if let Some((name, other)) = self.other {
            text += &role(name, other);
        }
        let Asked { algorithm, split, privacy, .. } = self;
        text += &format!(
            "[privacy]\n{privacy}\n[search]\nalgorithm = \"{algorithm}\"\nsplit = \"{split}\"\n\
             pooling = false\n"
        );
        let policy = PolicyBuilder::parse(&text, Path::new("policy.toml"))?;
        policy.set(["search", "least-gain"], self.least_gain).build()
    }
}

/// A table of so many rows.
pub fn table(scratch: &Scratch, rows: u64, seed: u64, ending: &str) -> Result<PathBuf> {
    let table = scratch.path(&format!("agrawal-{rows}-{seed}.{ending}"));
    if !table.exists() {
        generate(Synthetic::Agrawal, rows, seed, &table, None, &Watch::default())?;
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
    let mut job = Job::new(asked.policy()?).seed(seed).spill_folder(scratch.path(""));
    job = job.parameters(Parameters { disk, ..Parameters::default() });
    if let Some(memory) = memory {
        job = job.memory(memory);
    }
    let before = processor_seconds();
    let report = job.run(TableFile::open(table)?, output, &Watch::default())?;
    Ok((report, processor_seconds().zip(before).map(|(after, before)| after.own - before.own)))
}
