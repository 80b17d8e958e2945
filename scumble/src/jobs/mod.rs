//! How do the rooms work together?
//!
//! One file per command: read, bind, search, recode, write, verify, in one direction. The command
//! line, and any other face of scumble, calls these and shows what comes back.

mod anonymize;
mod apply;
mod cuts;
mod distribution;
mod generate;
mod hierarchy;
mod init;
mod instant;
mod presence;
mod query;
mod risk;
mod rothko;
mod summarize;
mod verify;

pub use anonymize::{Options, anonymize};
pub use apply::apply;
pub use cuts::CutOptions;
pub use distribution::{
    DistributionReport, DistributionVerification, distribute, verify_distribution,
};
pub use generate::{generate, generate_subset};
pub use hierarchy::{build_hierarchy, read_hierarchy};
pub use init::init;
pub use instant::{Estimation, InstantOptions, beliefs, by, estimate, estimate_of};
pub use query::{QueryAnswer, query};
pub use risk::risk;
pub use rothko::DiskOptions;
pub use summarize::{summarize, summary_of};
pub use verify::{Verification, caps_of, verify};

use crate::bind::{Outside, Prepared};
use crate::error::{Error, Place, Result};
use crate::policy::Policy;
use crate::recoding::{Columns, Mapping, Recoding};
use crate::release::{
    Background, Decided, Draft, Io, Judgement, Losses, Phase, Recoded, Records, Report, Rows,
    Searched, Sink, Token, is_releasable, publish, schema,
};
use crate::source::{Format, Series, Source, encode};
use crate::table::{Data, Role, Table, Tallies, Type};
use crate::taxonomy::{Cut, Node, Taxonomy};
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// A job that released nothing: why, and where a requirement was the reason, how far it fell short.
#[derive(Debug)]
pub struct Failure {
    /// What went wrong.
    pub error: Error,
    /// What was asked and reached, as JSON.
    pub report: Option<Value>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { error, report: None }
    }
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
    fn phase(&mut self, name: &'static str) -> f64 {
        let now = Instant::now();
        let seconds = (now - self.last).as_secs_f64();
        self.phases.push(Phase { name, seconds });
        self.last = now;
        seconds
    }
}

/// Opens a file whose format its name tells.
fn open(file: &Path, delimiter: Option<u8>) -> Result<Source> {
    let format = match Format::of(file)? {
        Format::Csv(_) => Format::Csv(delimiter),
        format => format,
    };
    Source::open(file, format)
}

/// A job that has looked at its ends and read nothing yet.
struct Begun {
    source: Source,
    roles: Vec<Role>,
    /// The format of the output.
    format: Format,
    clock: Clock,
}

/// Opens the input. What could be known to fail at the end is refused here: an output of no known
/// format, or one that would overwrite the input.
fn begin(input: &Path, policy: &Policy, output: &Path, options: &Options) -> Result<Begun> {
    let clock = Clock::start();
    policy.scheme()?;
    policy.check_presence()?;
    refuse_distribution(policy)?;
    let asked = Format::of(output)?;
    let report = report_of(output);
    let outputs: Vec<&Path> =
        [output, &report].into_iter().chain(options.save_recoding.as_deref()).collect();
    check_apart(&outputs, policy.files().chain([input]))?;
    let source = open(input, options.delimiter)?.watched(&options.watch, "read");
    let format = match (asked, source.format()) {
        (Format::Csv(_), Format::Csv(delimiter)) => Format::Csv(delimiter),
        (Format::Csv(_), _) => {
            let tabs = output.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("tsv"));
            Format::Csv(options.delimiter.or(tabs.then_some(b'\t')))
        }
        (format, _) => format,
    };
    let roles = policy.roles(&source.names().collect::<Vec<_>>(), source.file(), false)?;
    for (field, role) in source.schema().fields().iter().zip(&roles) {
        if *role != Role::Identifier && !is_releasable(field.data_type()) {
            let place = Place::file(input).column(field.name().clone());
            return Err(Error::UnsupportedColumn {
                place,
                data_type: field.data_type().to_string(),
            });
        }
    }
    Ok(Begun { source, roles, format, clock })
}

/// A table on its way to a release: read, and bound to the policy.
struct Work<'a> {
    policy: &'a Policy,
    output: &'a Path,
    /// The format of the output.
    format: Format,
    table: Table,
    prepared: Prepared,
    bytes: u64,
    clock: Clock,
}

impl<'a> Work<'a> {
    /// Reads the input once.
    fn read(
        input: &Path,
        policy: &'a Policy,
        output: &'a Path,
        options: &Options,
    ) -> Result<Work<'a>> {
        let Begun { source, roles, format, mut clock } = begin(input, policy, output, options)?;
        let bytes = source.bytes();
        let table = encode(source, &roles)?;
        clock.phase("read");
        let population = presence::population(policy, table.with_role(Role::QuasiIdentifier))?;
        let confidences = presence::confidences(policy, || open(input, options.delimiter))?;
        let population_table = population.as_ref().map(|(population, _)| population);
        let outside = Outside { population: population_table, confidences: confidences.as_deref() };
        let mut prepared = policy.prepare_within(&table, outside)?;
        let task = &mut prepared.task;
        task.confident =
            task.confident.take().map(|confident| confident.with_shortcuts(options.shortcuts));
        let bytes = bytes + population.map_or(0, |(_, bytes)| bytes);
        clock.phase("bind");
        Ok(Work { policy, output, format, table, prepared, bytes, clock })
    }

    /// The quasi-identifiers, as a recoding needs to know them.
    fn columns(&self) -> Columns<'_> {
        let task = &self.prepared.task;
        Columns { names: &self.prepared.names, taxonomies: &task.taxonomies, axes: &task.axes }
    }

    /// What was decided, as a report tells it.
    fn decided(&self, mapping: &Mapping, recoded: &Recoded) -> Decided {
        let columns = self.columns();
        match mapping {
            Mapping::Levels(levels) => {
                let trees = columns.names.iter().zip(columns.taxonomies);
                let level = |((name, tree), level): ((&String, &Arc<Taxonomy>), &usize)| {
                    (name.clone(), *level, tree.height())
                };
                Decided::Levels(trees.zip(levels).map(level).collect())
            }
            Mapping::Cuts(cuts) => {
                let trees = columns.names.iter().zip(columns.taxonomies);
                let cut = |((name, tree), cut): ((&String, &Arc<Taxonomy>), &Cut)| {
                    let label = |node: &Node| tree.level(node.level).label(node.index).to_string();
                    (name.clone(), cut.nodes().iter().map(label).collect())
                };
                Decided::Cuts(trees.zip(cuts).map(cut).collect())
            }
            Mapping::Regions(regions) => {
                // Regions of the population where no row of the table is are in no release.
                let released = recoded.classes.counts().iter().filter(|rows| **rows > 0).count();
                Decided::Regions(released as u64, regions.style)
            }
        }
    }

    /// What stands for suppressed sensitive values, where some may be.
    fn token(&self) -> Option<Token<'_>> {
        let column = self.prepared.cuts.as_ref()?.sensitive.as_deref()?;
        self.policy.token().map(|text| Token { column, text })
    }

    /// The classes of a mapping and what is suppressed of them.
    fn recode(&self, mapping: &Mapping, options: &Options) -> Result<Recoded> {
        let task = &self.prepared.task;
        let Some(cuts) =
            self.prepared.cuts.as_ref().filter(|_| matches!(mapping, Mapping::Cuts(_)))
        else {
            return Recoded::new(task, mapping);
        };
        let cells: Vec<u32> = self.cells_of_rows().collect();
        let records = Records { cells: &cells, values: &cuts.values, labels: &cuts.labels };
        Recoded::by_scheme(task, mapping, &cuts.problem, records, options.seed.unwrap_or(0))
    }

    /// The cell of each row.
    fn cells_of_rows(&self) -> impl Iterator<Item = u32> {
        self.table.row_cells.iter().map(|cell| self.prepared.leaf_cell[*cell as usize])
    }

    /// An empty draft, and what writes rows into it.
    fn begin_draft(&self) -> Result<(Draft, Sink)> {
        let draft = Draft::new(self.output)?;
        let sink = Sink::new(
            draft.writer()?,
            self.output,
            self.format,
            &schema(&self.table, self.token()),
        )?;
        Ok((draft, sink))
    }

    /// Recodes, writes a draft, reads it back, verifies it, and gives it its name with the report
    /// beside it.
    fn release(
        mut self,
        algorithm: &'static str,
        mapping: Mapping,
        searched: Option<Searched>,
        options: &Options,
    ) -> Result<Report, Failure> {
        let mut clock = std::mem::replace(&mut self.clock, Clock::start());
        let recoded = self.recode(&mapping, options);
        let recoded =
            recoded.map_err(|error| anonymize::with_report(error, &self.prepared, &mapping))?;
        let ((losses, begun), rows) = rayon::join(
            || (losses(&self.table, &self.prepared, &recoded), self.begin_draft()),
            || {
                Rows::new(
                    &self.table,
                    &self.prepared.leaf_cell,
                    &recoded,
                    self.token(),
                    options.keep_order,
                )
            },
        );
        let rows = rows?;
        let (draft, sink) = begun?;
        clock.phase("recode");
        let mut sink = Background::new(sink, 2);
        let released = rows.len() as u64;
        let mut sent = 0;
        for columns in rows {
            let columns = columns?;
            sent += columns.first().map_or(0, Series::len) as u64;
            sink.write(columns)?;
            options.watch.progress("write", sent, Some(released));
        }
        sink.finish()?;
        clock.phase("write");
        let written =
            std::fs::metadata(draft.path()).map_err(Error::io(self.output, "read"))?.len();
        let memory = options.disk.memory();
        let policy = self.policy.with_caps(&self.prepared.caps);
        let mut verification =
            verify::verify_draft(&draft, self.format, &policy, released, memory, &options.watch)?;
        // What the file tells, and what is known of the table besides.
        let Recoded { values, classes, class_of, .. } = &recoded;
        if let Some(exact) = presence::exactly(&self.prepared.task, values, classes, class_of) {
            let judged = verification
                .verified
                .privacy
                .iter_mut()
                .find(|one| one.statement == exact.statement);
            let judged = judged.ok_or(Error::Defect)?;
            *judged = Judgement { failing: judged.failing.max(exact.failing), ..exact };
            if let Some(reason) = verification.failure() {
                return Err(Error::CheckFailed { file: self.output.to_path_buf(), reason }.into());
            }
        }
        clock.phase("verify");
        // Whatever may fail (a folder, a missing place, a full disk) fails before any file gets its
        // name, and the release gets it last: there is none without its report. Its bytes have
        // reached the disk; what is left are names.
        let saved = match &options.save_recoding {
            None => None,
            Some(file) => {
                let recoding = Recoding::of(self.columns(), &mapping)
                    .ok_or_else(|| Error::NotSaveable { file: file.clone() })?;
                Some(Draft::with(file, &(recoding.to_json() + "\n"))?)
            }
        };
        let decided = self.decided(&mapping, &recoded);
        let report = Report {
            algorithm,
            rows: self.table.rows(),
            suppressed: recoded.suppressed,
            suppressed_values: self
                .token()
                .and(recoded.within.as_ref())
                .map(|within| within.hidden_values()),
            verified: verification.verified,
            counted: verification.counted,
            caps: if self.policy.derives_caps() { self.prepared.caps } else { Vec::new() },
            losses,
            decided,
            searched,
            io: Io { read: self.bytes + verification.bytes_read, written, ..Io::default() },
            phases: Vec::new(),
        };
        // What is given up takes time too, and the disk can be waited for meanwhile.
        let given_up = (self.table, self.prepared.task, recoded, mapping);
        rayon::join(|| conclude(draft, saved, report, clock), || drop(given_up)).0
    }
}

/// Gives a verified release, its report and its recoding their names, all or none.
fn conclude(
    draft: Draft,
    saved: Option<Draft>,
    mut report: Report,
    clock: Clock,
) -> Result<Report, Failure> {
    report.phases = clock.phases;
    let json = serde_json::to_string_pretty(&report.to_json()).unwrap_or_default() + "\n";
    let beside = Draft::with(&report_of(draft.target()), &json)?;
    publish(saved.into_iter().chain([beside, draft]).collect())?;
    Ok(report)
}

/// Refuses a policy whose distribution a single table could not keep: its sensitive values would
/// stand beside the records.
fn refuse_distribution(policy: &Policy) -> Result<()> {
    match policy.privacy().distribution {
        None => Ok(()),
        Some(_) => {
            let missing = "`distribution` is for `anonymize` into a folder, and for `verify` of such a folder".into();
            Err(Error::Incomplete { file: policy.file().to_path_buf(), missing })
        }
    }
}

/// The report's place, beside a release.
fn report_of(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_os_string();
    name.push(".report.json");
    name.into()
}

/// Refuses outputs that would overwrite a file the job reads, or one another.
fn check_apart<'a>(outputs: &[&Path], inputs: impl Iterator<Item = &'a Path>) -> Result<()> {
    // A file that is not there yet is known by its folder and name.
    let real = |file: &Path| {
        let folder =
            file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = || {
            std::fs::canonicalize(folder)
                .map(|folder| folder.join(file.file_name().unwrap_or_default()))
        };
        std::fs::canonicalize(file).or_else(|_| folder()).unwrap_or_else(|_| file.to_path_buf())
    };
    let mut taken: HashSet<PathBuf> = inputs.map(real).collect();
    match outputs.iter().find(|output| !taken.insert(real(output))) {
        Some(output) => Err(Error::OutputIsInput { file: output.to_path_buf() }),
        None => Ok(()),
    }
}

/// What a recoded table lost. Several targets: the first counts.
fn losses(table: &Table, prepared: &Prepared, recoded: &Recoded) -> Losses {
    let task = &prepared.task;
    let target = table.with_role(Role::Target).next().and_then(|column| match &column.data {
        Data::Coded { dictionary, codes, .. } => {
            let class = |cell: &u32| recoded.class_of[prepared.leaf_cell[*cell as usize] as usize];
            let classes: Vec<u32> = table.row_cells.iter().map(class).collect();
            let mut whole = vec![0; dictionary.len()];
            codes.iter().for_each(|code| whole[*code as usize] += 1);
            let by_class = |classes: &[u32], codes: &[u32]| {
                Tallies::count(recoded.classes.len(), classes, codes)
            };
            let released = match &recoded.within {
                None => by_class(&classes, codes),
                Some(within) => {
                    let rows = classes
                        .iter()
                        .zip(codes)
                        .zip(&within.rows)
                        .filter(|(_, is_lost)| !**is_lost);
                    let (classes, codes): (Vec<u32>, Vec<u32>) =
                        rows.map(|((class, code), _)| (*class, *code)).unzip();
                    by_class(&classes, &codes)
                }
            };
            let numbers: Option<Vec<f64>> =
                dictionary.values().map(|value| Type::Real.number(value)).collect();
            Some(recoded.of_target(task, &whole, &released, numbers.as_deref()))
        }
        _ => None,
    });
    Losses {
        lm: recoded.lm(task),
        dm: recoded.dm(task),
        target,
        entropy: Some(recoded.entropy(task)),
    }
}
