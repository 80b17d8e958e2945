//! Tables that do not fit in memory: scans of the input, partitions on disk, and a release that is
//! written as partitions are finished.

use super::believed::{Belief, check_criterion};
use super::memory::check_saving;
use super::parts::PartPace;
use super::{Beside, DiskParameters, Job, LEAST, Produced, ToldCaps, Walk, summarize, tight_note};
use crate::bind::{Required, Surveyed, numbers};
use crate::error::{Error, Refusal, Result};
use crate::ids::{Code, Id, IdMap, LeafId};
use crate::loss::Weights;
use crate::policy::{Algorithm, Policy};
use crate::privacy::{Group, Requirement};
use crate::ratio::Ratio;
use crate::recoding::{Columns, Place, Regions, Style};
use crate::release::{
    Background, Believed, CountedTarget, From, Io, Losses, Predicted, PrivateLosses, PrivateReport,
    RELEASE, RecodingReport, ReleaseKind, Rules, SearchReport, Sink, Stream, Totals, judge_classes,
    released_type, spelled_table,
};
use crate::search::local::MOST_STEPS;
use crate::search::local::parts::{LocalParts, Pace, SearchedParts};
use crate::search::regions::disk::{Disk, Happened, Limits, Scan};
use crate::search::regions::mondrian::{Growth, check_group};
use crate::search::regions::rothko_s::{self, Sampling};
use crate::search::regions::{Aim, Criterion, Judge, Layout, rothko_t};
use crate::search::{Task, Warrant};
use crate::source::spill::{Records, SpillFolder};
use crate::source::{Coder, Input, KeyCoder, Seen, Survey, Wanted, axis_between};
use crate::table::{Cells, Role, Tallies};
use crate::taxonomy::{Axis, Taxonomy};
use crate::watch::Watch;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

impl DiskParameters {
    /// The limits for records of so many words.
    fn limits(&self, memory: u64, width: usize) -> Limits {
        // A point is its words and its number, where its bytes end, and scratch space of a split. A
        // small share of the memory holds them, so that the next partition is at work while batches
        // of this one wait to be written.
        let per_row = (4 * (width as u64 + 1) + 16) + 8;
        let fan_out = self.fan_out.unwrap_or((memory / 4 / BLOCK as u64).clamp(16, 1024) as usize);
        Limits {
            tuples: self.tuples.unwrap_or((memory / 8 / per_row).clamp(1000, u64::from(u32::MAX))),
            bytes: memory / 3,
            groups: self.groups,
            // Nothing else is in memory while rows are counted, but what a split is chosen from.
            group_bytes: memory / 5 * 2,
            fan_out: fan_out.max(2),
            block: (memory / 4 / fan_out.max(1) as u64).clamp(8192, BLOCK as u64) as usize,
        }
    }

    /// Rows of the first sample, which has so many columns of raw values beside records of as many
    /// words.
    fn sampled(&self, memory: u64, columns: usize) -> u64 {
        let per_row = 16 * columns as u64;
        let tuples = self.tuples.unwrap_or((memory / 4 / per_row.max(1)).max(1000));
        tuples.min(self.limits(memory, columns).tuples)
    }
}

/// Bytes of a value that is counted at a leaf, where many are.
const VALUE: u64 = 24;

/// Bytes that the distinct values of all columns may take.
pub(super) fn most_values(memory: u64) -> u64 {
    (memory / 3).max(LEAST)
}

/// Bytes that are gathered for a partition, where memory allows.
const BLOCK: usize = 1 << 18;

/// What is known of a file after its first scan.
struct ScannedTable {
    coder: Coder,
    axes: Vec<Axis>,
    taxonomies: Vec<Arc<Taxonomy>>,
    names: Vec<String>,
    weights: Weights,
    required: Required,
    aim: Aim,
    /// What splits are chosen for.
    target: Option<CountedTarget>,
    layout: Layout,
    /// The counted values of all rows.
    whole: Vec<Tallies>,
    /// What is asked of every group, once more: for the tasks of local searches.
    asked: Vec<Box<dyn Requirement>>,
}

/// What is wanted of each column of a source.
fn wanted(policy: &Policy, schema: &Schema, roles: &[Role]) -> Vec<Wanted> {
    let wants_target = policy.search().partitioning.criterion.needs_target();
    let of = |(field, role): (&Arc<Field>, &Role)| {
        let kind = released_type(field.data_type());
        match role {
            Role::Identifier => Wanted::Nothing,
            Role::QuasiIdentifier => {
                let declared = policy.declared(field.name());
                Wanted::Key {
                    hierarchy: declared.hierarchy.clone(),
                    kind: declared.kind,
                    missing: declared.missing.to_vec(),
                }
            }
            Role::Sensitive if policy.counts(field.name()) => Wanted::CountedAndTravels(kind),
            Role::Target if wants_target => Wanted::CountedAndTravels(kind),
            Role::Sensitive | Role::Target | Role::Insensitive => Wanted::Travels(kind),
        }
    };
    schema.fields().iter().zip(roles).map(of).collect()
}

impl ScannedTable {
    /// Binds the policy to what was seen.
    fn new(
        walk: &Walk<'_>,
        roles: &[Role],
        wanted: &[Wanted],
        survey: &mut Survey,
    ) -> Result<ScannedTable> {
        let (policy, file) = (&walk.job.policy, &walk.source.file());
        let schema = walk.source.schema();
        let fields = schema.fields();
        let mut axes = Vec::new();
        let mut taxonomies = Vec::new();
        let mut names = Vec::new();
        let mut keys = Vec::new();
        let asked = required(policy, fields, roles, survey, file)?.0.requirements;
        let (mut required, surveyed) = required(policy, fields, roles, survey, file)?;
        for (column, wanted) in wanted.iter().enumerate() {
            let Wanted::Key { missing, .. } = wanted else { continue };
            let name = fields[column].name();
            names.push(name.clone());
            let seen = std::mem::replace(&mut survey.columns[column], Seen::Nothing);
            let (key, axis, taxonomy) = match seen {
                Seen::Numbers { kind: Some(kind), least, greatest, missing, .. }
                    if least <= greatest =>
                {
                    let axis = axis_between(kind, least, greatest, missing);
                    (
                        KeyCoder::Number(axis.clone()),
                        Axis::Ordered(axis),
                        Arc::new(Taxonomy::nothing()),
                    )
                }
                seen => {
                    let dictionary = match seen {
                        Seen::Values(dictionary, _) => dictionary,
                        // Nothing but missing values.
                        _ => {
                            let mut dictionary = crate::table::Dictionary::default();
                            dictionary.encode_empty(1);
                            for token in missing {
                                dictionary.encode(token, 1);
                            }
                            dictionary
                        }
                    };
                    let bound = policy.declared(name).bind_key(name, &dictionary, file)?;
                    (KeyCoder::Leaf(dictionary, bound.leaf_of), bound.axis, bound.taxonomy)
                }
            };
            keys.push((column, key, missing.clone()));
            axes.push(axis);
            taxonomies.push(taxonomy);
        }
        let (mut counted, mut whole) = (Vec::new(), Vec::new());
        for (position, leaf_of) in
            required.columns.iter().zip(std::mem::take(&mut required.leaf_of))
        {
            let column = surveyed[*position];
            let Seen::Values(dictionary, rows) = &mut survey.columns[column] else { continue };
            whole.push(Tallies::weighted(leaf_of.raw(), rows));
            counted.push((column, std::mem::take(dictionary), leaf_of));
        }
        let weights = policy.weights(names.iter().map(String::as_str))?;
        let aimed = aim(policy, (fields, roles), &weights, survey, &mut counted, file)?;
        let (aim, target) = aimed;
        let travelling: Vec<(usize, DataType)> = wanted
            .iter()
            .enumerate()
            .filter_map(|(column, wanted)| match wanted {
                Wanted::Travels(kind) | Wanted::CountedAndTravels(kind) => {
                    Some((column, kind.clone()))
                }
                _ => None,
            })
            .collect();
        let wide: Vec<bool> = keys.iter().map(|(_, key, _)| key.is_wide()).collect();
        let layout = Layout::new(&wide, counted.len(), 0);
        let broken = |source: ArrowError| Error::Columnar { file: file.to_path_buf(), source };
        let converter = Coder::converter(&travelling).map_err(broken)?;
        let coder = Coder { keys, counted, travelling, width: layout.width(), converter };
        Ok(ScannedTable {
            coder,
            axes,
            taxonomies,
            names,
            weights,
            required,
            aim,
            target,
            layout,
            whole,
            asked,
        })
    }

    /// Local searches, each of which may take a third of the memory.
    fn parts<'a>(
        &'a self,
        requirements: Vec<Box<dyn Requirement>>,
        job: &Job,
        style: Style,
        pace: &'a mut dyn Pace,
    ) -> Result<LocalParts<'a>> {
        let seed = super::local::seed(job)?;
        let rows_decide = requirements.iter().all(|requirement| requirement.rows_decide());
        let values = if rows_decide { Vec::new() } else { self.required.values.clone() };
        // What a release without some rows means for caps or a target is not counted on disk.
        let suppresses = !job.policy.derives_caps() && self.target.is_none();
        let search = job.policy.search();
        let task = Task {
            taxonomies: self.taxonomies.clone(),
            axes: Vec::new(),
            cells: Cells::default(),
            tallies: Vec::new(),
            values,
            requirements,
            confident: None,
            loss: search.loss,
            target: None,
            target_numbers: None,
            weights: self.weights.clone(),
            sets: vec![false; self.axes.len()],
            suppressible: 0,
        };
        Ok(LocalParts {
            task,
            axes: &self.axes,
            style,
            seed,
            top: job.parameters.cuts.top,
            most_bytes: job.limits.memory() / 3,
            suppression: if suppresses { search.suppression } else { Ratio::ZERO },
            pace,
            searched: SearchedParts::default(),
        })
    }

    /// What splits are chosen for, and what is allowable.
    fn growth<'a>(&'a self, policy: &Policy, watch: &'a Watch) -> Growth<'a> {
        let partitioning = policy.search().partitioning;
        Growth {
            axes: &self.axes,
            judge: Judge::exact(&self.required.requirements).pooling(partitioning.pooling),
            counted: self.coder.counted.len(),
            aim: &self.aim,
            least_gain: partitioning.least_gain,
            watch,
        }
    }
}

/// What is asked of every group, and the sensitive columns that were counted for it.
fn required(
    policy: &Policy,
    fields: &arrow_schema::Fields,
    roles: &[Role],
    survey: &Survey,
    file: &Path,
) -> Result<(Required, Vec<usize>)> {
    let (mut surveyed, mut columns) = (Vec::new(), Vec::new());
    for (column, role) in roles.iter().enumerate() {
        if let (Role::Sensitive, Seen::Values(dictionary, rows)) = (role, &survey.columns[column]) {
            surveyed.push(Surveyed { name: fields[column].name(), dictionary, rows });
            columns.push(column);
        }
    }
    policy.check_named_values(surveyed.iter().map(|column| (column.name, column.dictionary)))?;
    Ok((policy.required(&surveyed, file)?, columns))
}

/// What splits are chosen for; the target joins the counted columns.
fn aim(
    policy: &Policy,
    (fields, roles): (&arrow_schema::Fields, &[Role]),
    weights: &Weights,
    survey: &mut Survey,
    counted: &mut Vec<(usize, crate::table::Dictionary, IdMap<Code, LeafId>)>,
    file: &Path,
) -> Result<(Aim, Option<CountedTarget>)> {
    let criterion = policy.search().partitioning.criterion;
    match criterion {
        Criterion::Loss => return Ok((Aim::loss(weights), None)),
        Criterion::Median => return Ok((Aim::Median, None)),
        Criterion::InfoGain | Criterion::Regression => {}
    }
    let mut targets = (0..roles.len()).filter(|column| roles[*column] == Role::Target);
    let column = policy.one_target("the split", targets.next(), targets.next().is_some())?;
    let Seen::Values(dictionary, _) = &mut survey.columns[column] else {
        return Err(Error::Defect);
    };
    let dictionary = std::mem::take(dictionary);
    // A target has no tree: its codes are its leaves.
    let leaf_of = LeafId::first(dictionary.len()).collect();
    let position = counted.len();
    let numbers = numbers(&dictionary, fields[column].name(), file);
    let (aim, numbers) = match criterion {
        Criterion::Regression => {
            numbers.map(|numbers| (Aim::regression(position, &numbers), Some(numbers)))?
        }
        _ => (Aim::InfoGain { column: position }, numbers.ok()),
    };
    counted.push((column, dictionary, leaf_of));
    Ok((aim, Some(CountedTarget { column: position, numbers })))
}

impl Scan for Input<'_> {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    fn scan(&self, each: &mut dyn FnMut(&Records) -> Result<()>) -> Result<()> {
        Input::scan(self, each)
    }
}

/// Refuses what partitions on disk cannot do.
fn check_asked(walk: &Walk<'_>, sink: &dyn Sink) -> Result<()> {
    let policy = &walk.job.policy;
    if walk.job.keep_order {
        return Err(Error::Inapplicable {
            place: None,
            key: "keep-order".into(),
            problem: "requires an algorithm that works in memory, such as mondrian".into(),
        });
    }
    if sink.wants_recoding() && policy.search().partitioning.style == Style::Tight {
        return Err(Error::NotSaveable { file: sink.name().into() });
    }
    Ok(())
}

/// Scans, binds, partitions and writes a table of any size: by rothko-t, or by rothko-s, or by local
/// searches inside the partitions of rothko-s.
pub(super) fn produce(
    walk: &mut Walk<'_>,
    sink: &mut dyn Sink,
    algorithm: Algorithm,
) -> Result<Produced> {
    check_asked(walk, sink)?;
    check_saving(walk, sink)?;
    let (is_by_sample, is_local) = (algorithm != Algorithm::RothkoT, algorithm == Algorithm::Local);
    let style = walk.job.policy.search().partitioning.style;
    let style = if sink.wants_recoding() { style.of_boxes() } else { style };
    let (policy, watch, source) = (&walk.job.policy, walk.watch, walk.source);
    let (chosen, memory) = (&walk.job.parameters.disk, walk.job.limits.memory());
    let (schema, roles) = (source.schema(), walk.roles()?);
    let wanted = wanted(policy, &schema, &roles);
    let is_surveyed = |wanted: &&Wanted| !matches!(wanted, Wanted::Nothing | Wanted::Travels(_));
    let surveyed = wanted.iter().filter(is_surveyed).count();
    let sampled = if is_by_sample { chosen.sampled(memory, surveyed) } else { 0 };
    let seed = walk.job.seed.unwrap_or(0);
    let searching = Instant::now();
    let mut survey = Survey::of(source, &wanted, (sampled, seed), most_values(memory), watch)?;
    let rows = survey.rows;
    walk.clock.phase("survey");
    let mut known = ScannedTable::new(walk, &roles, &wanted, &mut survey)?;
    let asked = std::mem::take(&mut known.asked);
    check_whole(&known, rows, watch)?;
    let drawn = known.coder.sample(&survey);
    drop(survey);
    let mut limits = chosen.limits(memory, known.layout.width());
    // The values of every leaf are counted while rows are written to it.
    let counted = known.coder.counted.iter().map(|(_, values, _)| values.len() as u64);
    let leaves = (memory / 8).max(LEAST) / (VALUE * counted.sum::<u64>().max(1));
    limits.fan_out = limits.fan_out.min(leaves.max(2) as usize);
    let foreseen = match algorithm {
        Algorithm::MInstant => Some(foreseen(walk, &known, limits.fan_out)?),
        _ => None,
    };
    let numbered = known.layout.numbered();
    let folder = SpillFolder::create(&walk.job.limits.spill_folder())?;
    let (schema, columns) = released(&schema, &roles, &known.coder);
    let schema = Arc::new(schema);
    sink.limit(limits.bytes as usize / 2);
    let table = sink.table(RELEASE, &schema)?;
    let notations = schema.fields().iter().zip(&columns).map(|(field, from)| match from {
        From::Key(_) => policy.notation(field.name()),
        From::Travelling(_) => None,
    });
    let table = spelled_table(table, notations, sink.name());
    let named = Columns { names: &known.names, taxonomies: &known.taxonomies, axes: &known.axes };
    let name = PathBuf::from(sink.name());
    let rules = match if sink.wants_recoding() { sink.recoding()? } else { None } {
        None => None,
        Some(file) => Some(Rules::new(file, &name, named)?),
    };
    let receiver = Stream {
        axes: &known.axes,
        style,
        columns,
        converter: known.coder.converter.as_ref(),
        // The more batches may wait, the less one partition waits for the one before it to be
        // written.
        sink: Background::new(table, &schema, (memory >> 24).clamp(2, 64) as usize),
        target: &name,
        folder: &folder,
        most_bytes: limits.bytes,
        rules,
        aimed_at: known.target.as_ref(),
        weights: known.weights.relatives(),
        totals: Totals::default(),
        watch,
        tells: !is_local,
        expected: rows,
        written: 0,
    };
    // Users who did not ask for a local recoding do not expect to wait for it.
    let most = if policy.search().algorithm == Algorithm::Auto { MOST_STEPS } else { u64::MAX };
    let mut pace = PartPace::new(rows, walk.job.parameters.cuts.time_limit, most, watch);
    let heeding = is_local.then(|| watch.heed());
    let mut parts = known.parts(asked, walk.job, style, &mut pace)?;
    let values = known.coder.counted.iter();
    let values = values.map(|(.., leaf_of)| leaf_of.raw().iter().max().map_or(0, |most| most + 1));
    let machine = Disk {
        growth: known.growth(policy, watch),
        layout: &known.layout,
        numbered: &numbered,
        values: values.collect(),
        folder: &folder,
        limits,
        finisher: if is_local { Some(&mut parts) } else { None },
        receiver,
        happened: Happened::default(),
    };
    // Bytes of what travels are sorted as they are: a value takes some more than it has.
    let unpacked = source.unpacked_bytes().unwrap_or(rows * 8 * schema.fields().len() as u64);
    let travelling = 10 * rows * known.coder.travelling.len() as u64;
    let payload_bytes = (unpacked / 8).saturating_mul(9).saturating_add(travelling);
    let (coder, wanted) = (&known.coder, &wanted);
    let all = Input { source, watch, coder, wanted, rows, payload_bytes };
    let (happened, totals) = {
        let foreseen = foreseen.as_ref().map(|(regions, _)| regions);
        partition(machine, &all, (drawn, foreseen), walk, sink, is_by_sample)?
    };
    drop(heeding);
    let steps = is_local.then_some(parts.searched.steps);
    let seconds = searching.elapsed().as_secs_f64();
    walk.clock.phase("partition");
    let share = |count: u64| Some(count as f64 / rows as f64);
    let io = Io {
        bytes_read: folder.bytes_read(),
        bytes_written: folder.bytes_written(),
        repartitions: Some(happened.repartitions),
        pruned_nodes: Some(happened.pruned),
        unsplit_partitions: Some(happened.unsplit),
        tables_read: share(source.meter().since(walk.before).rows + folder.rows_read()),
        tables_written: share(folder.rows_written()),
        predicted: Some(predicted(policy, rows, limits, is_by_sample.then_some(chosen.alpha))),
    };
    let (mut release, of_input) = told(policy, &known, rows, (&happened, &totals, steps), seconds);
    if let (ReleaseKind::Table { search: Some(search), .. }, Some((_, believed))) =
        (&mut release, foreseen)
    {
        search.believed = Some(believed);
    }
    Ok(Produced {
        algorithm: algorithm.name(),
        generalized_by: None,
        rows,
        written: totals.rows,
        columns: schema.fields().iter().map(|field| field.name().clone()).collect(),
        suppressed_values: None,
        // Where caps follow from frequencies nothing is suppressed, so the release has those of the
        // input.
        caps: ToldCaps::default(),
        private: PrivateReport::new(of_input, None),
        policy: policy.clone(),
        release,
        notes: tight_note(policy.search().partitioning.style, &known.axes),
        alternatives: Vec::new(),
        io,
        beside: Beside::Nothing,
        leftovers: Box::new(()),
    })
}

/// The regions that a summary foresees, in the codes of the table.
fn foreseen(walk: &Walk<'_>, known: &ScannedTable, most: usize) -> Result<(Regions, Believed)> {
    let Walk { job, source, watch, .. } = *walk;
    check_criterion(&job.policy)?;
    let (summary, file) = match &job.summary {
        Some(summary) => (summary.clone(), PathBuf::from(summary.file())),
        None => (summarize::summarize(job, source, watch)?, source.file()),
    };
    let beliefs = job.policy.believe(summary, &file)?;
    let ScannedTable { names, taxonomies, axes, .. } = known;
    let table = Columns { names, taxonomies, axes };
    let file = source.file();
    let belief = Belief::new(job, &beliefs, (table, &file), watch)?;
    let _heeding = watch.heed();
    let (regions, believed, _) = belief.foreseen(most, watch)?;
    Ok((regions, believed))
}

/// Partitions all rows and waits until they are written.
fn partition(
    mut machine: Disk<'_, Stream<'_>>,
    all: &Input<'_>,
    (drawn, foreseen): (Vec<u32>, Option<&Regions>),
    walk: &Walk<'_>,
    sink: &dyn Sink,
    is_by_sample: bool,
) -> Result<(Happened, Totals)> {
    let places: Vec<Place> = vec![Place::Whole; machine.growth.axes.len()];
    let in_memory = all.rows <= machine.limits.fitting(all, machine.layout.width());
    let partitioned = if in_memory {
        machine.finish(all, &places, false)
    } else if is_by_sample {
        let DiskParameters { alpha, naive, to_fan_out, .. } = walk.job.parameters.disk;
        let seed = walk.job.seed.unwrap_or(0);
        let sampling = Sampling { alpha, naive, to_fan_out, seed };
        match foreseen {
            Some(regions) => {
                rothko_s::partition_foreseen(&mut machine, all, regions, sampling, &places)
            }
            None => rothko_s::partition(&mut machine, all, drawn, sampling, &places),
        }
    } else {
        by_counts(&mut machine, all, &places)
    };
    let Disk { receiver: Stream { sink: table, totals, rules, .. }, happened, .. } = machine;
    let written = partitioned.and_then(|()| table.finish());
    written.map_err(|error| told_if_full(error, sink, totals.rows, all.rows))?;
    rules.map_or(Ok(()), Rules::finish)?;
    Ok((happened, totals))
}

/// What a report tells of the release.
fn told(
    policy: &Policy,
    known: &ScannedTable,
    rows: u64,
    (happened, totals, steps): (&Happened, &Totals, Option<u64>),
    seconds: f64,
) -> (ReleaseKind, PrivateLosses) {
    let cells = rows as f64 * known.axes.len() as f64;
    let weighted = known.weights.is_given().then_some(totals.weighted / cells);
    let of_target = known.target.as_ref().map(|target| totals.of_target(target));
    let style = policy.search().partitioning.style;
    let (recoding, visited, warrant) = match steps {
        Some(steps) => (RecodingReport::local(style), steps, Warrant::Likely),
        None => {
            let minimal = Warrant::Minimal(happened.unsure == 0);
            (RecodingReport::regions(totals.regions, style), happened.nodes, minimal)
        }
    };
    let search = SearchReport { visited, seconds, ..SearchReport::default() };
    let dm = totals.squares + u128::from(totals.suppressed) * u128::from(rows);
    let release = ReleaseKind::Table {
        loss: Losses { lm_weighted: weighted, ..Losses::new(totals.lost / cells, dm, of_target) },
        recoding,
        search: Some(search.warranted(warrant)),
    };
    (release, PrivateLosses::new(of_target, None))
}

/// Rothko-T, from all rows.
fn by_counts(machine: &mut Disk<'_, Stream<'_>>, rows: &Input<'_>, places: &[Place]) -> Result<()> {
    let stock = machine.gather(rows)?;
    match rothko_t::partition(machine, stock, places, false)? {
        None => Ok(()),
        Some(_) => {
            let what = "one frequency group".into();
            Err(Error::TooLittleMemory { what, instead: Some("use rothko-s") })
        }
    }
}

/// An error that says how much more space a release needs, if the disk is full.
fn told_if_full(error: Error, sink: &dyn Sink, told: u64, rows: u64) -> Error {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    let is_full = |source: &std::io::Error| matches!(source.kind(), StorageFull | QuotaExceeded);
    match error {
        Error::Io { file, source, .. } if file == Path::new(&sink.name()) && is_full(&source) => {
            let written = sink.meter().bytes_written();
            // The rows that came last may not have been written: more may be missing than this.
            let missing = written as f64 * (rows as f64 / told.max(1) as f64) - written as f64;
            Error::ReleaseFull { file, written, missing: missing as u64 }
        }
        other => other,
    }
}

/// The columns of the release, and where their values come from.
fn released(schema: &Schema, roles: &[Role], coder: &Coder) -> (Schema, Vec<From>) {
    let mut fields = Vec::new();
    let mut from = Vec::new();
    for (column, (field, role)) in schema.fields().iter().zip(roles).enumerate() {
        let key = coder.keys.iter().position(|(key, ..)| *key == column);
        let travelling = coder.travelling.iter().position(|(travelling, _)| *travelling == column);
        match (role, key, travelling) {
            (_, Some(key), _) => {
                fields.push(Field::new(field.name(), DataType::Utf8, true));
                from.push(From::Key(key));
            }
            (_, _, Some(position)) => {
                fields.push(Field::new(field.name(), coder.travelling[position].1.clone(), true));
                from.push(From::Travelling(position));
            }
            _ => {}
        }
    }
    (Schema::new(fields), from)
}

/// Refuses a table that does not meet the requirements as one group.
fn check_whole(known: &ScannedTable, rows: u64, watch: &Watch) -> Result<()> {
    let Required { requirements, names, .. } = &known.required;
    let group = Group { rows, columns: &known.whole, index: 0 };
    check_group(requirements, &group).map_err(|error| {
        let Error::CannotBeMet { shortfall, .. } = error else { return error };
        let mut whole = Cells::new(0);
        // A table with more rows than a class can count does not fail for want of them.
        whole.add(&[], u32::try_from(rows).unwrap_or(u32::MAX));
        let verified = match judge_classes(&whole, &known.whole, requirements, watch) {
            Ok(verified) => verified,
            Err(error) => return error,
        };
        let refusal = Refusal {
            rows,
            suppressible: 0,
            classes: verified.classes,
            smallest_class: verified.smallest,
            privacy: verified.judged(names),
            levels: None,
            remedies: None,
        };
        Error::CannotBeMet { shortfall, refusal: Some(Box::new(refusal)) }
    })
}

/// What section 4 of the paper predicts; `alpha` of splits by samples.
fn predicted(policy: &Policy, rows: u64, limits: Limits, alpha: Option<f64>) -> Predicted {
    let k = policy.privacy().k.unwrap_or(1);
    let (repartitions, tables_read) = if let Some(alpha) = alpha {
        let repartitions = rothko_s::predicted_repartitions(rows, limits.tuples, k, alpha);
        (repartitions, 2 * repartitions + 1)
    } else {
        let repartitions = rothko_t::predicted_repartitions(rows, limits);
        (repartitions, rothko_t::height(rows, limits.tuples) + repartitions + 1)
    };
    Predicted { repartitions, tables_read, tables_written: repartitions }
}
