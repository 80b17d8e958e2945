//! What a release looks like, before and after.

use super::{Job, Walk, check_apart};
use crate::error::Result;
use crate::portrait::{Portrait, Sitting};
use crate::release::{Report, Risks, Sink, Tables};
use crate::source::Source;
use crate::watch::Watch;
use std::path::{Path, PathBuf};

impl Job {
    /// Portrays a release: its columns, how they were recoded, classes and risk.
    ///
    /// With the original table, the portrait tells what only the owner may see; without it, nothing
    /// that the release, its policy and its published report do not tell.
    pub fn portray(
        &self,
        release: &Tables,
        original: Option<&dyn Source>,
        report: Option<&Report>,
        watch: &Watch,
    ) -> Result<Portrait> {
        let memory = self.limits.memory;
        let (policy, is_measured) = (Some(&self.policy), false);
        let sitting = Sitting { release, original, policy, report, is_measured, memory };
        self.on_threads(|| sitting.portray(watch))
    }

    /// Portrays a table or a release whose risk was measured.
    pub fn portray_risk(&self, table: &Tables, risks: Risks, watch: &Watch) -> Result<Portrait> {
        let (memory, release, policy) = (self.limits.memory, table, Some(&self.policy));
        let (original, report, is_measured) = (None, None, true);
        let sitting = Sitting { release, original, policy, report, is_measured, memory };
        Ok(self.on_threads(|| sitting.portray(watch))?.with_risks(risks))
    }

    /// [Runs](Job::run) the job and portrays the release beside its source. If that fails, nothing
    /// is published.
    pub fn run_portrayed(
        &self,
        source: impl Source,
        mut sink: impl Sink,
        watch: &Watch,
    ) -> Result<(Report, Portrait)> {
        let look = |sealed: &Tables, report: &Report| {
            let sitting = Sitting {
                release: sealed,
                original: Some(&source),
                policy: Some(&self.policy),
                report: Some(report),
                is_measured: false,
                memory: self.limits.memory,
            };
            sitting.portray(watch)
        };
        let plain = self.policy.plain(&source);
        let released = self.on_threads(|| Walk::new(self, &*plain, watch).to(&mut sink, look));
        released.inspect_err(|_| sink.abandon())
    }
}

impl Portrait {
    /// Refuses a file for a page if it is one of those that were read.
    pub fn check_output(read: &[PathBuf], output: &Path) -> Result<()> {
        check_apart(&[output.to_path_buf()], read.iter().map(PathBuf::as_path))
    }
}
