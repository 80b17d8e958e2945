//! How do the rooms work together?
//!
//! A [`Job`] is a policy with limits. [`Job::run`] walks from a source to a sink in one direction:
//! scan, bind, search, recode and write, then seal, verify and publish. The first half depends on
//! the kind of release: in memory (`memory`), on disk (`disk`) or a `distribution`; the second half is
//! the same for all. The other tasks have a file each.

mod auto;
mod believed;
mod compare;
mod cuts;
mod disk;
mod distribution;
mod estimate;
mod generate;
mod hierarchy;
mod init;
mod levels;
mod local;
mod memory;
mod parameters;
mod parts;
mod portray;
mod query;
mod rehearsal;
mod remedies;
mod risk;
mod search;
mod summarize;
mod verify;
mod world;

pub use estimate::{Estimate, Estimated, EstimatedLoss, Estimation, EstimationError};
pub use generate::{Synthetic, generate};
pub use hierarchy::{build_hierarchy, read_hierarchy};
pub use init::{SuggestedColumn, Suggestion, suggest};
pub use parameters::{CutParameters, DiskParameters, InstantParameters, Parameters};
pub use query::{QueryAnswer, query};

use crate::error::{Error, Result};
use crate::ids::{Id, RowId};
use crate::loss::LossChoice;
use crate::policy::{Algorithm, Kind, Policy, Way};
use crate::random::Secrets;
use crate::ratio::Ratio;
use crate::recoding::{Recoding, Style};
use crate::release::{
    Alternative, Checked, Io, Judgement, Phase, PrivateReport, ReleaseKind, Report, RowNeeds, Sink,
    Tables, Verification, caps_json, check_distribution, check_regular, is_releasable,
};
use crate::source::{Counted, Source, can_be_spelled, check_names, encode, unsupported};
use crate::summary::Summary;
use crate::table::{Data, Role, Table};
use crate::taxonomy::Axis;
use crate::watch::{PIECE, Watch};
use rehearsal::Rehearsal;
use std::any::Any;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Bytes that each part of a job may take however small the limit is: with less, what can be found or
/// read would depend on it.
const LEAST: u64 = 1 << 20;

/// A policy, and how it may use the machine.
///
/// ```
/// use scumble::{Job, Policy, ReleaseBatches, TableBatches, Watch};
/// # use arrow_array::{Int64Array, RecordBatch, StringArray};
/// # use std::sync::Arc;
/// # fn main() -> Result<(), scumble::Error> {
/// # let ages = Arc::new(Int64Array::from(vec![31, 34, 52, 58])) as _;
/// # let diagnoses = Arc::new(StringArray::from(vec!["flu", "asthma", "flu", "gout"])) as _;
/// # let batch = RecordBatch::try_from_iter([("age", ages), ("diagnosis", diagnoses)]).unwrap();
/// let policy = Policy::from_toml(
///     r#"
///     [attributes]
///     age = { role = "quasi-identifier", hierarchy = { intervals = [10, 20], from = 20, to = 60 } }
///     diagnosis = { role = "sensitive" }
///
///     [privacy]
///     k = 2
///     "#,
/// )?;
/// let mut release = ReleaseBatches::new();
/// let table = TableBatches::new(vec![batch])?;
/// let report = Job::new(policy).run(table, &mut release, &Watch::default())?;
/// assert_eq!(report.classes.smallest_class, 2);
/// assert_eq!(release.batches()[0].num_rows(), 4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Job {
    policy: Policy,
    limits: Limits,
    seed: Option<u64>,
    keep_order: bool,
    /// Keys of the policy that must have an effect.
    given: Vec<String>,
    decision: Decision,
    summary: Option<Summary>,
    parameters: Parameters,
    /// Files that are read besides source and policy.
    inputs: Vec<PathBuf>,
    /// Files that will be written besides the release.
    outputs: Vec<PathBuf>,
    effort: Effort,
    /// The only kind of recoding that is searched of those among which `auto` chooses.
    only: Option<Kind>,
}

/// How long a search goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Effort {
    /// As long as the policy says.
    #[default]
    Full,
    /// No longer than as one of several.
    Brief,
    /// Until anything is found that can be released.
    First,
}

/// How a job may use the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Limits {
    memory: Option<u64>,
    threads: Option<usize>,
    spill: Option<PathBuf>,
}

impl Limits {
    /// Bytes of working memory. Without a limit, half of what the machine has available.
    fn memory(&self) -> u64 {
        let available = || {
            let text = std::fs::read_to_string("/proc/meminfo").ok()?;
            let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
            Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
        };
        self.memory.unwrap_or_else(|| available().unwrap_or(4 << 30) / 2)
    }

    /// Refuses a folder that is none before anything is read: a search may run for an hour before it
    /// spills.
    fn check(&self) -> Result<()> {
        let Some(folder) = &self.spill else { return Ok(()) };
        let found = std::fs::metadata(folder).and_then(|found| match found.is_dir() {
            true => Ok(()),
            false => Err(std::io::ErrorKind::NotADirectory.into()),
        });
        found.map_err(Error::io(folder, "spill rows into it"))
    }

    /// Where rows wait that do not fit in memory.
    fn spill_folder(&self) -> PathBuf {
        self.spill.clone().unwrap_or_else(std::env::temp_dir)
    }
}

/// Who decides how rows are recoded.
#[derive(Clone, Debug)]
enum Decision {
    /// A search.
    Search,
    /// Levels fixed by hand.
    Levels(Vec<(String, usize)>),
    /// A saved recoding.
    Saved(Recoding, PathBuf),
}

impl Job {
    /// A job without limits.
    pub fn new(policy: Policy) -> Job {
        let (limits, parameters) = (Limits::default(), Parameters::of(&policy));
        let (seed, keep_order, decision) = (None, false, Decision::Search);
        let (summary, inputs, outputs) = (None, Vec::new(), Vec::new());
        Job {
            policy,
            limits,
            seed,
            keep_order,
            given: Vec::new(),
            decision,
            summary,
            parameters,
            inputs,
            outputs,
            effort: Effort::Full,
            only: None,
        }
    }

    /// Limits the working memory, in bytes. The default is half of the memory that is available.
    pub fn memory(mut self, bytes: u64) -> Job {
        self.limits.memory = Some(bytes);
        self
    }

    /// Uses a pool of this many threads. The default is the current rayon pool.
    pub fn threads(mut self, threads: usize) -> Job {
        self.limits.threads = Some(threads.max(1));
        self
    }

    /// Keeps rows that do not fit in memory inside this folder. The default is the system's
    /// temporary folder.
    pub fn spill_folder(mut self, folder: impl Into<PathBuf>) -> Job {
        self.limits.spill = Some(folder.into());
        self
    }

    /// Makes everything that is drawn at random reproducible, and therefore guessable. Without a
    /// seed, what must not be guessed is drawn from the operating system.
    pub fn seed(mut self, seed: u64) -> Job {
        self.seed = Some(seed);
        self
    }

    /// Leaves rows in the order of the input, which an outsider may know.
    pub fn keep_order(mut self) -> Job {
        self.keep_order = true;
        self
    }

    /// Names keys of the policy, each with its path, that must have an effect on the release. One that
    /// has none with this algorithm is refused instead of ignored.
    pub fn given(mut self, keys: impl IntoIterator<Item = String>) -> Job {
        self.given.extend(keys);
        self
    }

    /// Fixes the level of every quasi-identifier; nothing is searched.
    pub fn levels(mut self, levels: Vec<(String, usize)>) -> Job {
        self.decision = Decision::Levels(levels);
        self
    }

    /// Recodes in the way of a saved recoding; nothing is searched. Messages call it `name`: its file,
    /// which no output may overwrite, or any name.
    pub fn recoding(mut self, recoding: Recoding, name: impl Into<PathBuf>) -> Job {
        let name = name.into();
        self.inputs.push(name.clone());
        self.decision = Decision::Saved(recoding, name);
        self
    }

    /// Lets s-instant and m-instant go by this summary instead of one of the input.
    pub fn summary(mut self, summary: Summary) -> Job {
        self.summary = Some(summary);
        self
    }

    /// Names a file that the job reads besides source and policy. No output may overwrite it.
    pub fn reads(mut self, file: impl Into<PathBuf>) -> Job {
        self.inputs.push(file.into());
        self
    }

    /// Names a file that will be written besides the release. It must not be a file that the job
    /// reads or writes.
    pub fn writes(mut self, file: impl Into<PathBuf>) -> Job {
        self.outputs.push(file.into());
        self
    }

    /// Refuses an output that would overwrite a file of the job.
    pub fn check_output(&self, source: &dyn Source, output: &Path) -> Result<()> {
        check_apart(&[output.to_path_buf()], self.files(source).iter().map(PathBuf::as_path))
    }

    /// All files that the job reads.
    fn files(&self, source: &dyn Source) -> Vec<PathBuf> {
        let of_policy = self.policy.files().map(Path::to_path_buf);
        source.files().into_iter().chain(of_policy).chain(self.inputs.iter().cloned()).collect()
    }

    #[doc(hidden)]
    pub fn parameters(mut self, parameters: Parameters) -> Job {
        self.parameters = parameters;
        self
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Anonymizes a table as the policy asks. The release is verified as it was written before it
    /// is published; if anything fails, the sink abandons what was written.
    ///
    /// Figures of the report are what the source counted during this job. They are mixed up if two
    /// jobs run on one source at the same time.
    pub fn run(&self, source: impl Source, mut sink: impl Sink, watch: &Watch) -> Result<Report> {
        let plain = self.policy.plain(&source);
        let released = self.limits.check().and_then(|()| {
            self.on_threads(|| Walk::new(self, &*plain, watch).to(&mut sink, |_, _| Ok(())))
        });
        released.map(|(report, ())| report).inspect_err(|_| sink.abandon())
    }

    /// Runs on a pool of its own, if the number of threads is limited. Errors have values as they
    /// are written.
    fn on_threads<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let done = match self.limits.threads {
            None => work(),
            Some(threads) => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.map_err(|source| Error::TooManyThreads { threads, source })?.install(work)
            }
        };
        done.map_err(|error| self.policy.as_written(error))
    }

    /// Where draws come from that must not be guessed.
    fn secrets(&self) -> Secrets {
        self.seed.map_or(Secrets::System, Secrets::Seed)
    }
}

/// Where the work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// On rows in memory.
    Memory,
    /// On partitions on disk.
    Partitions(Algorithm),
    /// On distinct tuples that were counted on disk.
    Tuples(Algorithm),
}

/// Measures the stages of a job.
struct Clock {
    last: Instant,
    phases: Vec<Phase>,
}

impl Clock {
    fn start() -> Clock {
        Clock { last: Instant::now(), phases: Vec::new() }
    }

    /// Ends a stage, which has the time since the last one, and returns its seconds.
    fn phase(&mut self, name: &str) -> f64 {
        let now = Instant::now();
        let seconds = (now - self.last).as_secs_f64();
        self.phases.push(Phase { name: name.into(), seconds });
        self.last = now;
        seconds
    }
}

/// A job on its way from a source to a sink.
struct Walk<'a> {
    job: &'a Job,
    source: &'a dyn Source,
    watch: &'a Watch,
    clock: Clock,
    /// What the source had counted before.
    before: Counted,
    /// Where the table is kept for other jobs, if nothing is to be published.
    rehearsal: Option<&'a Rehearsal<'a>>,
}

/// What the first half of a walk leaves: a release that is written and not yet verified.
struct Produced {
    algorithm: &'static str,
    generalized_by: Option<&'static str>,
    /// Rows of the input.
    rows: u64,
    /// Rows that were written.
    written: u64,
    /// The columns of the table, if it is only one.
    columns: Vec<String>,
    suppressed_values: Option<u64>,
    /// Caps that follow from frequencies of the input.
    caps: ToldCaps,
    /// What only the owner may see.
    private: PrivateReport,
    /// The policy that the release is judged by.
    policy: Policy,
    release: ReleaseKind,
    /// What the owner should know about the release besides what its verification says.
    notes: Vec<String>,
    /// What other kinds of recoding would have lost.
    alternatives: Vec<Alternative>,
    /// What was read and written besides source and sink.
    io: Io,
    /// What the release is compared with besides the policy.
    beside: Beside,
    /// What is no longer needed: freeing it takes time too, and the disk can be waited for
    /// meanwhile.
    leftovers: Box<dyn Any + Send>,
}

/// Caps that follow from frequencies of the input, by column and value.
#[derive(Default)]
struct ToldCaps {
    all: Vec<(String, String, Ratio)>,
    /// Those of values that the release has.
    released: Vec<(String, String, Ratio)>,
}

impl ToldCaps {
    /// `is_released` says whether a row is released with its value of a column.
    fn new(
        caps: &[(String, String, Ratio)],
        table: &Table,
        watch: &Watch,
        is_released: impl Fn(&str, RowId) -> bool,
    ) -> Result<ToldCaps> {
        let mut released = Vec::new();
        for column in table.with_role(Role::Sensitive) {
            let Data::Coded { dictionary, codes, .. } = &column.data else { continue };
            let mut is_met = vec![false; dictionary.len()];
            watch.each(codes.pairs(), PIECE, |(row, code)| {
                is_met[code.index()] |= is_released(&column.name, row);
            })?;
            let is_told = |(name, value, _): &&(String, String, Ratio)| {
                *name == column.name
                    && dictionary.find(value).is_some_and(|code| is_met[code as usize])
            };
            released.extend(caps.iter().filter(is_told).cloned());
        }
        Ok(ToldCaps { all: caps.to_vec(), released })
    }
}

/// A note on labels that are values of the table.
fn tight_note(style: Style, axes: &[Axis]) -> Vec<String> {
    let has_ranges = axes.iter().any(|axis| matches!(axis, Axis::Ordered(_)));
    let note = "with regions = \"tight\", both ends of every range are exact values of somebody in the \
                table; use regions = \"cover\" to avoid this";
    let is_noted = style == Style::Tight && has_ranges;
    is_noted.then(|| note.to_string()).into_iter().collect()
}

impl Produced {
    /// Refuses a sink that hands back other columns than it was given: they would not be judged.
    fn check_sealed(&self, sealed: &Tables) -> Result<()> {
        let Some(table) = sealed.only().filter(|_| !self.columns.is_empty()) else { return Ok(()) };
        let found = table.names();
        if found == self.columns {
            return Ok(());
        }
        let (found, written) = (found.join(", "), self.columns.join(", "));
        let problem = format!("the columns are [{found}], and [{written}] were written");
        Err(Error::WrongSeal { name: sealed.name().display().to_string(), problem })
    }
}

/// What the owner of a table knows beside its release.
enum Beside {
    /// Nothing.
    Nothing,
    /// An exact judgement of the presence, where the release tells less, and the confidences that
    /// rows need.
    Presence { exact: Option<Judgement>, needs: Option<RowNeeds> },
    /// The sensitive values of each group of a distribution.
    Values(distribution::Originals),
}

impl<'a> Walk<'a> {
    fn new(job: &'a Job, source: &'a dyn Source, watch: &'a Watch) -> Walk<'a> {
        let (clock, before, rehearsal) = (Clock::start(), source.meter().start(), None);
        Walk { job, source, watch, clock, before, rehearsal }
    }

    /// The whole way. What is verified is looked at once more before it is published.
    fn to<T>(
        mut self,
        sink: &mut dyn Sink,
        look: impl FnOnce(&Tables, &Report) -> Result<T>,
    ) -> Result<(Report, T)> {
        self.check_ends(sink)?;
        let limits = &self.job.limits;
        self.source.settle(limits.memory() / 2, &limits.spill_folder(), self.watch)?;
        let is_distribution = self.job.policy.privacy().distribution.is_some();
        let at = if is_distribution { At::Memory } else { self.place(sink)? };
        self.check_given(at, sink.wants_recoding())?;
        let produced = match at {
            _ if is_distribution => distribution::produce(&mut self, sink)?,
            At::Partitions(algorithm) => disk::produce(&mut self, sink, algorithm)?,
            At::Tuples(algorithm) => levels::produce(&mut self, sink, algorithm)?,
            At::Memory => memory::produce(&mut self, sink)?,
        };
        self.watch.check()?;
        let sealed = sink.seal()?;
        produced.check_sealed(&sealed)?;
        let verification = self.verify(&sealed, &produced)?;
        self.clock.phase("verify");
        let (report, leftovers) = self.report(produced, verification, sink);
        let seen = look(&sealed, &report)?;
        drop(sealed);
        self.watch.check()?;
        rayon::join(|| sink.publish(&report), || drop(leftovers)).0?;
        Ok((report, seen))
    }

    /// Refuses at once what would fail at the end.
    fn check_ends(&self, sink: &dyn Sink) -> Result<()> {
        let (policy, file) = (&self.job.policy, self.source.file());
        check_names(&self.source.schema(), &file)?;
        policy.check_release()?;
        let by_summary = policy.search().algorithm.is_instant()
            && matches!(self.job.decision, Decision::Search)
            && policy.privacy().distribution.is_none();
        if self.job.summary.is_some() && !by_summary {
            return Err(Error::Unsuitable {
                what: "a summary",
                needs: "the algorithm s-instant or m-instant",
            });
        }
        if policy.privacy().distribution.is_some() && !sink.takes_several() {
            return Err(Error::Unsuitable {
                what: "a distribution",
                needs: "a folder as output, because it has several tables",
            });
        }
        let inputs = self.job.files(self.source);
        let outputs = [sink.files(), self.job.outputs.clone()].concat();
        check_apart(&outputs, inputs.iter().map(PathBuf::as_path))?;
        let roles = self.roles()?;
        for (field, role) in self.source.schema().fields().iter().zip(&roles) {
            let kind = field.data_type();
            let is_lost = !sink.keeps_types() && !can_be_spelled(kind);
            if *role != Role::Identifier && (is_lost || !is_releasable(kind)) {
                return Err(unsupported(&file, field));
            }
        }
        Ok(())
    }

    /// The table, in memory.
    fn table(&self) -> Result<Arc<Table>> {
        let roles = self.roles()?;
        match self.rehearsal {
            Some(rehearsal) => rehearsal.table(roles, self.watch),
            None => Ok(Arc::new(encode(self.source, &roles, self.watch, "read")?)),
        }
    }

    /// The role of each column.
    fn roles(&self) -> Result<Vec<Role>> {
        let names = self.source.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.job.policy.roles(&names, &self.source.file(), false)
    }

    /// Where the work is done: on disk if the policy asks for it, or if the table exceeds the memory
    /// and the algorithm can work on disk too. Any other algorithm is refused if the rows would
    /// exceed a given limit.
    fn place(&self, sink: &dyn Sink) -> Result<At> {
        let (policy, search) = (&self.job.policy, self.job.policy.search());
        let needed = self.source.memory_needed().unwrap_or(0);
        let exceeds = needed > self.job.limits.memory();
        let is_present = policy.privacy().presence.is_some();
        match &self.job.decision {
            Decision::Search => {}
            Decision::Levels(_) | Decision::Saved(Recoding::FullDomain { .. }, _)
                if exceeds && !is_present =>
            {
                return Ok(At::Tuples(Algorithm::Incognito));
            }
            Decision::Levels(_) | Decision::Saved(..) => return Ok(At::Memory),
        }
        let algorithm = match search.algorithm {
            Algorithm::Auto if exceeds && !is_present => self.beyond_memory(sink),
            algorithm => algorithm,
        };
        match algorithm {
            Algorithm::RothkoT | Algorithm::RothkoS => Ok(At::Partitions(algorithm)),
            Algorithm::MInstant if exceeds && !is_present => Ok(At::Partitions(algorithm)),
            // Labels are not counted on disk, nor is the size of the whole table.
            Algorithm::Local if search.loss == LossChoice::Lm && exceeds => {
                Ok(At::Partitions(algorithm))
            }
            algorithm if exceeds && !is_present && levels::is_supported(algorithm, policy) => {
                Ok(At::Tuples(algorithm))
            }
            Algorithm::Auto | Algorithm::Local => Ok(At::Memory),
            _ => self.check_memory(needed, Some("use rothko-s")).map(|()| At::Memory),
        }
    }

    /// The algorithm that stands for `auto` if the table exceeds the memory. It finds the kind of
    /// recoding that is wanted.
    fn beyond_memory(&self, sink: &dyn Sink) -> Algorithm {
        let search = self.job.policy.search();
        // Local recodings minimize LM, and cannot be saved.
        let is_local = search.recoding.allows(Kind::Local)
            && search.loss == LossChoice::Lm
            && !sink.wants_recoding();
        match search.recoding {
            _ if is_local => Algorithm::Local,
            Kind::Levels => Algorithm::Incognito,
            Kind::Cuts => Algorithm::LPlusOptimize,
            Kind::Any | Kind::Regions | Kind::Local => Algorithm::RothkoS,
        }
    }

    /// Refuses a key that must have an effect and has none.
    fn check_given(&self, at: At, is_saved: bool) -> Result<()> {
        let (policy, presence) = (&self.job.policy, &self.job.policy.privacy().presence);
        let algorithm = match (at, policy.search().algorithm) {
            (At::Partitions(algorithm) | At::Tuples(algorithm), _) => algorithm,
            (_, Algorithm::Auto) => {
                match presence.as_ref().map(|asked| asked.marginals().is_some()) {
                    Some(true) => Algorithm::Sfalm,
                    Some(false) => Algorithm::Spalm,
                    None => Algorithm::Incognito,
                }
            }
            // Classes of a distribution, which is made of them afterwards.
            (_, Algorithm::SaOnly | Algorithm::QiSa) => Algorithm::Incognito,
            (_, algorithm) => algorithm,
        };
        let is_on_disk = matches!(at, At::Partitions(_));
        let is_searched = matches!(self.job.decision, Decision::Search);
        let way = Way { algorithm, is_searched, is_on_disk };
        policy.check_weights(way)?;
        policy.check_sets(way, is_saved)?;
        policy.check_effect(&self.job.given, way)
    }

    /// Refuses a table that needs more memory than a given limit.
    fn check_memory(&self, needed: u64, instead: Option<&'static str>) -> Result<()> {
        match self.job.limits.memory {
            Some(memory) if needed > memory => {
                let what = format!("the rows of {}", self.source.name());
                Err(Error::TooLittleMemory { what, instead })
            }
            _ => Ok(()),
        }
    }

    /// Verifies what was written, as it will be read.
    fn verify(&self, sealed: &Tables, produced: &Produced) -> Result<Verification> {
        let memory = Some(self.job.limits.memory());
        let verification = match (&produced.beside, sealed.only()) {
            (Beside::Values(originals), _) => {
                check_distribution(sealed, &produced.policy, Some(originals), self.watch)?
            }
            (beside, Some(table)) => {
                let (exact, needs) = match beside {
                    Beside::Presence { exact, needs } => (exact.clone(), needs.as_ref()),
                    _ => (None, None),
                };
                let policy = &produced.policy;
                let checked: Checked =
                    crate::release::check_table(table, policy, needs, memory, self.watch)?;
                checked.with_exact(exact)?.into_verification(sealed)
            }
            (_, None) => {
                let problem = "one table was written, and several came back".into();
                return Err(Error::WrongSeal {
                    name: sealed.name().display().to_string(),
                    problem,
                });
            }
        };
        // A release that contradicts itself was not counted, and says what is wrong with it.
        verification.check_draft()?;
        let (file, written) = (sealed.name().to_path_buf(), produced.written);
        if verification.released != written {
            let found = verification.released;
            let problem = format!("{written} rows were written, but {found} were read back");
            let (classes, failing) = (verification.classes.classes, Vec::new());
            let (problems, exists) = (vec![problem], false);
            return Err(Error::CheckFailed { file, classes, failing, problems, exists });
        }
        Ok(verification)
    }

    /// The story of a verified release. Figures come from the meters of those who counted.
    fn report(
        &mut self,
        produced: Produced,
        verification: Verification,
        sink: &dyn Sink,
    ) -> (Report, Box<dyn Any + Send>) {
        let Produced { algorithm, generalized_by, rows, written, mut release, mut io, .. } =
            produced;
        let counted = self.source.meter().since(self.before);
        io.bytes_read += counted.read + verification.io.bytes_read;
        io.bytes_written += counted.written + sink.meter().bytes_written();
        let mut private = produced.private;
        let cuts = &self.job.parameters.cuts;
        match &mut release {
            ReleaseKind::Table { search: Some(search), .. } => {
                search.data_scans = counted.scans;
                let is_drawn = cuts.top > 1 || cuts.extra_generalization || cuts.extra_suppression;
                private.search = is_drawn.then(|| search.take_proof(cuts.extra_suppression));
            }
            ReleaseKind::Table { search: None, .. } => {}
            ReleaseKind::Distribution { distribution } => {
                let checked = verification.distribution.unwrap_or_default();
                distribution.groups = checked.groups;
                distribution.fakes = checked.fakes;
                distribution.sum_of_ranges = checked.sum_of_ranges;
                distribution.share_of_trivial = checked.share_of_trivial;
            }
        }
        let report = Report {
            algorithm: algorithm.into(),
            generalized_by: generalized_by.map(str::to_string),
            rows,
            released: verification.released,
            suppressed: rows - written,
            suppressed_values: produced.suppressed_values,
            classes: verification.classes,
            privacy: verification.privacy,
            same_value: verification.same_value,
            thresholds: caps_json(&produced.caps.released),
            notes: [produced.notes, verification.notes].concat(),
            alternatives: produced.alternatives,
            release,
            io,
            phases: std::mem::take(&mut self.clock.phases),
            private: Some(PrivateReport { thresholds: caps_json(&produced.caps.all), ..private }),
        };
        (report, produced.leftovers)
    }
}

/// Refuses outputs that would overwrite a file the job reads, one another, or anything that is not
/// a regular file: now rather than after a long search.
fn check_apart<'a>(outputs: &[PathBuf], inputs: impl Iterator<Item = &'a Path>) -> Result<()> {
    // A file that does not exist yet is known by its folder and name.
    let real = |file: &Path| {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let in_folder = || {
            let folder = std::fs::canonicalize(folder)?;
            Ok::<_, std::io::Error>(folder.join(file.file_name().unwrap_or_default()))
        };
        std::fs::canonicalize(file).or_else(|_| in_folder()).unwrap_or_else(|_| file.to_path_buf())
    };
    let mut taken: HashSet<PathBuf> = inputs.map(real).collect();
    match outputs.iter().find(|output| !taken.insert(real(output))) {
        Some(output) => Err(Error::OutputIsInput { file: output.to_path_buf() }),
        None => outputs.iter().try_for_each(|output| check_regular(output)),
    }
}
