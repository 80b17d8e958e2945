//! Tables that do not fit into memory: two scans of the input, partitions on disk, and a release
//! that is written as partitions are finished.

use super::anonymize::shortfall;
use super::{Failure, Options, Verification, begin, conclude};
use crate::bind::{Required, Surveyed, numbers};
use crate::error::{Error, Result};
use crate::policy::{Algorithm, Policy};
use crate::privacy::Group;
use crate::recoding::{Columns, Place, Style};
use crate::release::{
    Background, Decided, Draft, From, Io, Losses, Predicted, Report, Rules, Searched, Sink, Stream,
    Target, Totals, verify, wide,
};
use crate::search::Warrant;
use crate::search::regions::disk::{Disk, Happened, Limits, Scan};
use crate::search::regions::mondrian::{Growth, check_group};
use crate::search::regions::rothko_s::{self, Sampling};
use crate::search::regions::{Aim, Criterion, Judge, Layout, rothko_t};
use crate::source::spill::{Records, SpillFolder};
use crate::source::{Coder, Input, KeyCoder, Seen, Source, Survey, Wanted, axis_between};
use crate::table::{Cells, Role, Tallies};
use crate::taxonomy::{Axis, Taxonomy};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// How partitioning on disk may use the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskOptions {
    /// Bytes of working memory; a share of what the machine has where not given.
    pub memory: Option<u64>,
    /// Rows of a sample, and of a partition in memory (TM); by memory where not given.
    pub tuples: Option<u64>,
    /// Frequency groups at a time (F_CACHE); by memory where not given.
    pub groups: Option<usize>,
    /// Partitions that are written at a time; by memory where not given.
    pub fan_out: Option<usize>,
    /// The chance that a split is wrong.
    pub alpha: f64,
    /// Whether a sample is believed without a test, for comparison.
    pub naive: bool,
    /// Whether samples grow trees to the fan-out, though all leaves would fit into memory, for
    /// comparison.
    pub to_fan_out: bool,
    /// Where rows wait; the system's temporary folder where not given.
    pub spill: Option<std::path::PathBuf>,
    /// What draws samples.
    pub seed: u64,
}

impl Default for DiskOptions {
    fn default() -> Self {
        DiskOptions {
            memory: None,
            tuples: None,
            groups: None,
            fan_out: None,
            alpha: 0.05,
            naive: false,
            to_fan_out: false,
            spill: None,
            seed: 0,
        }
    }
}

impl DiskOptions {
    /// Bytes of working memory. Without a limit, half of what the machine has to spare.
    pub fn memory(&self) -> u64 {
        let spare = || {
            let text = std::fs::read_to_string("/proc/meminfo").ok()?;
            let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
            Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
        };
        self.memory.unwrap_or_else(|| spare().unwrap_or(4 << 30) / 2)
    }

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

/// Bytes that are gathered for a partition, where memory allows.
const BLOCK: usize = 1 << 18;

/// What is known of a file after its first scan.
struct Known {
    coder: Coder,
    axes: Vec<Axis>,
    taxonomies: Vec<Arc<Taxonomy>>,
    names: Vec<String>,
    required: Required,
    aim: Aim,
    /// What splits are chosen for.
    target: Option<Target>,
    layout: Layout,
    /// The counted values of all rows.
    whole: Vec<Tallies>,
}

/// What is wanted of each column of a source.
fn wanted(policy: &Policy, source: &Source, roles: &[Role]) -> Vec<Wanted> {
    let wants_target = policy.search().partitioning.criterion != Criterion::Median;
    let of = |(field, role): (&Arc<Field>, &Role)| {
        // As tables in memory have it: sensitive texts and targets keep their short offsets.
        let kind = match (role, field.data_type()) {
            (Role::Sensitive | Role::Target, DataType::Utf8) => DataType::Utf8,
            (_, kind) => wide(kind),
        };
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
    source.schema().fields().iter().zip(roles).map(of).collect()
}

impl Known {
    /// Binds the policy to what was seen.
    fn new(
        policy: &Policy,
        source: &Source,
        roles: &[Role],
        wanted: &[Wanted],
        survey: &mut Survey,
    ) -> Result<Known> {
        let file = source.file();
        let fields = source.schema().fields();
        let mut axes = Vec::new();
        let mut taxonomies = Vec::new();
        let mut names = Vec::new();
        let mut keys = Vec::new();
        let (mut required, surveyed) = required(policy, fields, roles, survey, file)?;
        for (column, wanted) in wanted.iter().enumerate() {
            let Wanted::Key { missing, .. } = wanted else { continue };
            let name = fields[column].name();
            names.push(name.clone());
            let seen = std::mem::replace(&mut survey.columns[column], Seen::Nothing);
            let (key, axis, taxonomy) = match seen {
                Seen::Numbers { kind: Some(kind), least, greatest, missing }
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
            whole.push(Tallies::weighted(&leaf_of, rows));
            counted.push((column, std::mem::take(dictionary), leaf_of));
        }
        let (aim, target) = aim(policy, fields, roles, survey, &mut counted, file)?;
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
        Ok(Known { coder, axes, taxonomies, names, required, aim, target, layout, whole })
    }

    /// What splits are chosen for, and what is allowable.
    fn growth(&self, policy: &Policy) -> Growth<'_> {
        Growth {
            axes: &self.axes,
            judge: Judge::exact(&self.required.requirements),
            counted: self.coder.counted.len(),
            aim: &self.aim,
            least_gain: policy.search().partitioning.least_gain,
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
    fields: &arrow_schema::Fields,
    roles: &[Role],
    survey: &mut Survey,
    counted: &mut Vec<(usize, crate::table::Dictionary, Vec<u32>)>,
    file: &Path,
) -> Result<(Aim, Option<Target>)> {
    let criterion = policy.search().partitioning.criterion;
    if criterion == Criterion::Median {
        return Ok((Aim::Median, None));
    }
    let mut targets = (0..roles.len()).filter(|column| roles[*column] == Role::Target);
    let column = policy.one_target("the split", targets.next(), targets.next().is_some())?;
    let Seen::Values(dictionary, _) = &mut survey.columns[column] else {
        return Err(Error::Defect);
    };
    let dictionary = std::mem::take(dictionary);
    let codes = (0..dictionary.len() as u32).collect();
    let position = counted.len();
    let numbers = numbers(&dictionary, fields[column].name(), file);
    let (aim, numbers) = match criterion {
        Criterion::Regression => {
            numbers.map(|numbers| (Aim::regression(position, &numbers), Some(numbers)))?
        }
        _ => (Aim::InfoGain { column: position }, numbers.ok()),
    };
    counted.push((column, dictionary, codes));
    Ok((aim, Some(Target { column: position, numbers })))
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
fn check_asked(policy: &Policy, options: &Options) -> Result<()> {
    if options.keep_order {
        return Err(Error::BadParameter {
            place: None,
            key: "--keep-order with algorithm".into(),
            value: name(policy).into(),
            expected: "an algorithm that has the whole table in memory, to keep its order".into(),
        });
    }
    match &options.save_recoding {
        Some(file) if policy.search().partitioning.style == Style::Tight => {
            Err(Error::NotSaveable { file: file.clone() })
        }
        _ => Ok(()),
    }
}

fn is_by_sample(policy: &Policy) -> bool {
    policy.search().algorithm != Algorithm::RothkoT
}

fn name(policy: &Policy) -> &'static str {
    if is_by_sample(policy) { "rothko-s" } else { "rothko-t" }
}

/// Anonymizes a table of any size.
pub fn rothko(
    input: &Path,
    policy: &Policy,
    output: &Path,
    options: &Options,
) -> Result<Report, Failure> {
    check_asked(policy, options)?;
    let mut begun = begin(input, policy, output, options)?;
    let (source, disk, memory) = (begun.source, &options.disk, options.disk.memory());
    let wanted = wanted(policy, &source, &begun.roles);
    let read = wanted
        .iter()
        .filter(|wanted| !matches!(wanted, Wanted::Nothing | Wanted::Travels(_)))
        .count();
    let sampled = if is_by_sample(policy) { disk.sampled(memory, read) } else { 0 };
    let open = |phase| {
        move || {
            super::open(input, options.delimiter)
                .map(|source| source.watched(&options.watch, phase))
        }
    };
    let searching = Instant::now();
    let mut survey = Survey::of(open("survey"), &wanted, sampled, disk.seed)?;
    let rows = survey.rows;
    begun.clock.phase("survey");
    let known = Known::new(policy, &source, &begun.roles, &wanted, &mut survey)?;
    check_whole(&known, rows)?;
    let drawn = known.coder.sample(&survey);
    drop(survey);
    let limits = disk.limits(memory, known.layout.width());
    let numbered = known.layout.numbered();
    let folder = SpillFolder::create(&disk.spill.clone().unwrap_or_else(std::env::temp_dir))?;
    let draft = Draft::new(output)?;
    let (schema, columns) = released(&source, &begun.roles, &known.coder);
    let sink = Sink::new(draft.writer()?, output, begun.format, &Arc::new(schema))?;
    let saved = options.save_recoding.as_deref().map(Draft::new).transpose()?;
    let named = Columns { names: &known.names, taxonomies: &known.taxonomies, axes: &known.axes };
    let rules = match &saved {
        None => None,
        Some(draft) => Some(Rules::new(draft.writer()?, draft.target(), named)?),
    };
    let receiver = Stream {
        axes: &known.axes,
        style: policy.search().partitioning.style,
        columns,
        converter: known.coder.converter.as_ref(),
        // The more batches may wait, the less one partition has to wait for the one before it to be
        // written.
        sink: Background::new(
            sink.within(limits.bytes as usize / 2),
            (memory >> 24).clamp(2, 64) as usize,
        ),
        target: output,
        folder: &folder,
        most_bytes: limits.bytes,
        rules,
        aimed_at: known.target.as_ref(),
        totals: Totals::default(),
        watch: &options.watch,
        expected: rows,
        written: 0,
    };
    let machine = Disk {
        growth: known.growth(policy),
        layout: &known.layout,
        numbered: &numbered,
        values: known
            .coder
            .counted
            .iter()
            .map(|(.., codes)| codes.iter().max().map_or(0, |most| most + 1))
            .collect(),
        folder: &folder,
        limits,
        receiver,
        happened: Happened { scanned: rows, ..Happened::default() },
    };
    // Bytes of what travels are sorted as they are: a value takes some more than it has.
    let payload_bytes =
        source.unpacked_bytes() * 9 / 8 + 10 * rows * known.coder.travelling.len() as u64;
    let all = Input {
        open: Box::new(open("partition")),
        coder: &known.coder,
        wanted: &wanted,
        rows,
        payload_bytes,
    };
    let done = partition(machine, &all, drawn, policy, disk, &draft)?;
    let seconds = searching.elapsed().as_secs_f64();
    begun.clock.phase("partition");
    let written = std::fs::metadata(draft.path()).map_err(Error::io(output, "read"))?.len();
    let verification =
        super::verify::verify_draft(&draft, begun.format, policy, rows, memory, &options.watch)?;
    begun.clock.phase("verify");
    let happened = &done.0;
    let io = Io {
        read: 2 * source.bytes() + folder.bytes_read() + verification.bytes_read,
        written: written + folder.bytes_written(),
        repartitions: happened.repartitions,
        pruned: happened.pruned,
        unsplit: happened.unsplit,
        predicted: predicted(policy, rows, limits, disk.alpha, happened),
    };
    conclude(
        draft,
        saved,
        report(policy, &known, rows, verification, &done, io, seconds),
        begun.clock,
    )
}

/// Partitions all rows and waits until they are written.
fn partition(
    mut machine: Disk<'_, Stream<'_>>,
    all: &Input<'_>,
    drawn: Vec<u32>,
    policy: &Policy,
    disk: &DiskOptions,
    draft: &Draft,
) -> Result<(Happened, Totals)> {
    let places: Vec<Place> = vec![Place::Whole; machine.growth.axes.len()];
    let partitioned = match is_by_sample(policy) {
        _ if all.rows <= machine.limits.fitting(all, machine.layout.width()) => {
            machine.finish(all, &places, false)
        }
        true => {
            let DiskOptions { alpha, naive, to_fan_out, seed, .. } = *disk;
            let sampling = Sampling { alpha, naive, to_fan_out, seed };
            rothko_s::partition(&mut machine, all, drawn, sampling, &places)
        }
        false => by_counts(&mut machine, all, &places),
    };
    let Disk { receiver: Stream { sink, totals, rules, .. }, happened, .. } = machine;
    partitioned
        .and_then(|()| sink.finish())
        .map_err(|error| told_if_full(error, draft, totals.rows, all.rows))?;
    rules.map_or(Ok(()), Rules::finish)?;
    Ok((happened, totals))
}

fn report(
    policy: &Policy,
    known: &Known,
    rows: u64,
    verification: Verification,
    (happened, totals): &(Happened, Totals),
    io: Io,
    seconds: f64,
) -> Report {
    let style = policy.search().partitioning.style;
    let cells = rows as f64 * known.axes.len() as f64;
    let of_target = known.target.as_ref().map(|target| totals.of_target(target));
    let searched = Searched {
        warrant: Warrant::Minimal(happened.unsure == 0),
        cost: None,
        space: None,
        visited: happened.nodes,
        data_scans: 2,
        seconds,
        believed: None,
    };
    Report {
        algorithm: name(policy),
        rows,
        suppressed: 0,
        suppressed_values: None,
        verified: verification.verified,
        counted: verification.counted,
        // Nothing is suppressed, so the release has the input's frequencies.
        caps: Vec::new(),
        losses: Losses {
            lm: totals.lost / cells,
            dm: totals.squares,
            target: of_target,
            entropy: None,
        },
        decided: Decided::Regions(totals.regions, style),
        searched: Some(searched),
        io,
        phases: Vec::new(),
    }
}

/// Rothko-T, from all rows.
fn by_counts(machine: &mut Disk<'_, Stream<'_>>, rows: &Input<'_>, places: &[Place]) -> Result<()> {
    let stock = machine.gather(rows)?;
    match rothko_t::partition(machine, stock, places, false)? {
        None => Ok(()),
        Some(_) => {
            let reason =
                "not even one frequency group fits into memory; allow more of it, or use rothko-s"
                    .into();
            Err(Error::TooLittleMemory { reason })
        }
    }
}

/// An error that says how much more space a release would have taken, if it was that of a full
/// disk.
fn told_if_full(error: Error, draft: &Draft, told: u64, rows: u64) -> Error {
    let is_full = |source: &std::io::Error| {
        matches!(source.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
    };
    match error {
        Error::Io { file, source, .. } if file == draft.target() && is_full(&source) => {
            let written = std::fs::metadata(draft.path()).map_or(0, |found| found.len());
            // The rows that were told last may not have been written: there may be some more to
            // come than this.
            let missing = written as f64 * (rows as f64 / told.max(1) as f64) - written as f64;
            Error::ReleaseFull { file, written, missing: missing as u64 }
        }
        other => other,
    }
}

/// The columns of the release, and where their values come from.
fn released(source: &Source, roles: &[Role], coder: &Coder) -> (Schema, Vec<From>) {
    let mut fields = Vec::new();
    let mut from = Vec::new();
    for (column, (field, role)) in source.schema().fields().iter().zip(roles).enumerate() {
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
fn check_whole(known: &Known, rows: u64) -> Result<(), Failure> {
    let Required { requirements, names, .. } = &known.required;
    let group = Group { rows, columns: &known.whole, index: 0 };
    check_group(requirements, &group).map_err(|error| {
        let mut whole = Cells::new(0);
        // Whatever has more rows than a class can count does not fail for want of them.
        whole.add(&[], u32::try_from(rows).unwrap_or(u32::MAX));
        let report = shortfall(&error, rows, 0, &verify(&whole, &known.whole, requirements), names);
        Failure { error, report: Some(report) }
    })
}

/// What section 4 of the paper predicts, beside what happened.
fn predicted(
    policy: &Policy,
    rows: u64,
    limits: Limits,
    alpha: f64,
    happened: &Happened,
) -> Option<Predicted> {
    let k = policy.privacy().k.unwrap_or(1);
    let repartitions = match is_by_sample(policy) {
        true => rothko_s::predicted_repartitions(rows, limits.tuples, k, alpha),
        false => rothko_t::predicted_repartitions(rows, limits),
    };
    let scans = match is_by_sample(policy) {
        true => 2 * repartitions + 1,
        false => rothko_t::height(rows, limits.tuples) + repartitions + 1,
    };
    let share = |count: u64| count as f64 / rows as f64;
    Some(Predicted {
        repartitions,
        scans,
        writes: repartitions,
        scanned: share(happened.scanned),
        written: share(happened.written),
    })
}
