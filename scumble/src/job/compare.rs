//! What would several jobs release? Each is run on the same source, and nothing is published.

use super::rehearsal::Rehearsal;
use super::{Effort, Job};
use crate::error::{Error, Result};
use crate::policy::Kind;
use crate::release::Report;
use crate::source::Source;
use crate::watch::Watch;

impl Job {
    /// What each of some jobs would report on one source; nothing is published. The source is read
    /// once if the jobs give the same roles to its columns and it fits in memory, and the phase
    /// `read` of the other reports is short. A job that fails does not keep the others from running.
    ///
    /// If the watch is [stopped](Watch::stop), the job in progress ends with the best so far, and
    /// those that follow are [interrupted](Error::Interrupted).
    ///
    /// ```
    /// use scumble::{Job, Policy, TableBatches, Watch};
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use std::sync::Arc;
    /// # fn main() -> Result<(), scumble::Error> {
    /// # let ages = Arc::new(Int64Array::from(vec![31, 34, 52, 58])) as _;
    /// # let table = TableBatches::new(vec![RecordBatch::try_from_iter([("age", ages)]).unwrap()])?;
    /// let text = "[attributes.age]\nrole = \"quasi-identifier\"\nhierarchy = { intervals = [10] }";
    /// let policy = Policy::from_toml(text)?;
    /// let job = |k: u64| Ok::<_, scumble::Error>(Job::new(policy.edit().k(k).build()?));
    /// let reports = Job::compare(&[job(2)?, job(5)?], table, &Watch::default());
    /// assert_eq!(reports[0].as_ref().unwrap().classes.classes, 2);
    /// assert!(reports[1].is_err(), "there are only four rows");
    /// # Ok(())
    /// # }
    /// ```
    pub fn compare(jobs: &[Job], source: impl Source, watch: &Watch) -> Vec<Result<Report>> {
        let (shared, names) = (Rehearsal::new(&source), (&source as &dyn Source).names());
        let heeding = watch.heed();
        let run = |job: &Job| {
            if watch.stopped() {
                return Err(Error::Interrupted);
            }
            job.on_threads(|| {
                if names.iter().all(|name| job.policy.notation(name).is_none()) {
                    return shared.run(job, watch);
                }
                // Other policies may read the same columns in another way.
                Rehearsal::new(&*job.policy.plain(&source)).run(job, watch)
            })
        };
        let reports = jobs.iter().map(run).collect();
        drop(heeding);
        reports
    }

    /// This job for each kind of recoding that its policy allows, with the name of the kind. A search
    /// takes about as long as it does as a part of `auto`, which chooses among them.
    pub fn by_recoding(&self) -> Result<Vec<(&'static str, Job)>> {
        let search = self.policy.search();
        let is_fixed = !matches!(self.decision, super::Decision::Search);
        if let Some(kind) = search.algorithm.kind().filter(|_| !is_fixed) {
            return Ok(vec![(kind.name(), self.clone())]);
        }
        if is_fixed || !search.algorithm.is_open() || self.policy.privacy().distribution.is_some() {
            return Ok(vec![(search.algorithm.name(), self.clone())]);
        }
        let kinds = if self.policy.privacy().presence.is_some() {
            // A presence knows nothing of cuts, nor of labels that overlap.
            &[Kind::Levels, Kind::Regions][..]
        } else {
            &[Kind::Levels, Kind::Cuts, Kind::Regions, Kind::Local]
        };
        let allowed = kinds.iter().filter(|kind| search.recoding.allows(**kind));
        allowed.map(|kind| Ok((kind.name(), self.of_kind(*kind)?))).collect()
    }

    /// The same job for one kind of recoding.
    fn of_kind(&self, kind: Kind) -> Result<Job> {
        if self.policy.compares_kinds() {
            return Ok(Job { only: Some(kind), ..self.clone() });
        }
        let policy = self.policy.edit().set(["search", "recoding"], kind.name()).build()?;
        Ok(Job { policy, effort: Effort::Brief, ..self.clone() })
    }
}
