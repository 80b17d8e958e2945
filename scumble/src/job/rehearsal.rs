//! Jobs that are tried without publishing anything, several on one source.
//!
//! The source is read once for jobs that give its columns the same roles and keep its rows in
//! memory. A rehearsal is the whole walk: what it reports was written, read back and verified, into
//! a sink that is then forgotten.

use super::{At, Effort, Job, Walk, memory};
use crate::error::Result;
use crate::release::{ReleaseBatches, ReleaseStream, Report};
use crate::source::{FileFormat, Format, Source, encode};
use crate::table::{Role, Table};
use crate::watch::Watch;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A source that several jobs look at, one after the other.
pub(super) struct Rehearsal<'a> {
    source: &'a dyn Source,
    /// What the last job has read, with the roles that it gave to columns.
    kept: Mutex<Option<(Vec<Role>, Arc<Table>)>>,
}

impl<'a> Rehearsal<'a> {
    pub(super) fn new(source: &'a dyn Source) -> Rehearsal<'a> {
        Rehearsal { source, kept: Mutex::default() }
    }

    /// The table with these roles: what the last job has read, if its roles were the same.
    pub(super) fn table(&self, roles: Vec<Role>, watch: &Watch) -> Result<Arc<Table>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, table)) = kept.as_ref().filter(|(known, _)| *known == roles) {
            return Ok(table.clone());
        }
        // Two tables at a time may be more than the memory allows.
        *kept = None;
        let table = Arc::new(encode(self.source, &roles, watch, "read")?);
        *kept = Some((roles, table.clone()));
        Ok(table)
    }

    /// A walk that is not to publish anything.
    fn walk<'w>(&'w self, job: &'w Job, watch: &'w Watch) -> Walk<'w> {
        Walk { rehearsal: Some(self), ..Walk::new(job, self.source, watch) }
    }

    /// Whether a job keeps its rows on disk.
    pub(super) fn is_on_disk(&self, job: &Job, watch: &Watch) -> Result<bool> {
        let limits = &job.limits;
        self.source.settle(limits.memory() / 2, &limits.spill_folder(), watch)?;
        Ok(self.walk(job, watch).place(&ReleaseBatches::new())? != At::Memory)
    }

    /// Fails as the job would if nothing can be released. Nothing is written, and the search ends with
    /// the first recoding that it finds.
    pub(super) fn probe(&self, job: &Job, watch: &Watch) -> Result<()> {
        let job = Job { effort: Effort::First, ..job.clone() };
        let walk = self.walk(&job, watch);
        let sink = ReleaseBatches::new();
        walk.check_ends(&sink)?;
        walk.check_given(At::Memory, false)?;
        memory::probe(walk)
    }

    /// The columns of the source.
    pub(super) fn names(&self) -> Vec<String> {
        self.source.names()
    }

    /// What errors call the source.
    pub(super) fn file(&self) -> PathBuf {
        self.source.file()
    }

    /// The highest level of each quasi-identifier.
    pub(super) fn heights(&self, job: &Job, watch: &Watch) -> Result<Vec<(String, usize)>> {
        memory::heights(self.walk(job, watch))
    }

    /// What the job would report.
    pub(super) fn run(&self, job: &Job, watch: &Watch) -> Result<Report> {
        let walk = self.walk(job, watch);
        if !self.is_on_disk(job, watch)? {
            return Ok(walk.to(&mut ReleaseBatches::new(), |_, _| Ok(()))?.0);
        }
        // A release of a table that exceeds the memory does so too.
        let (format, folder) = (FileFormat::new(Format::Arrow), job.limits.spill_folder());
        let mut sink = ReleaseStream::new(std::io::sink(), format, &folder);
        Ok(walk.to(&mut sink, |_, _| Ok(()))?.0)
    }
}
