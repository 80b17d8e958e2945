//! Recodings by levels or cuts of tables that do not fit in memory.
//!
//! A first scan finds the values of every column that is counted. A second one counts distinct
//! tuples, by spill and merge where they do not fit, and the search works on these; a search by a
//! summary counts only the groups of its candidates. The last scan recodes the rows, which are
//! sorted on disk, so that their order says nothing about the input's. The release is the same as
//! that of a table in memory.

use super::believed::Belief;
use super::disk::most_values;
use super::memory::check_saving;
use super::search::levels_by_hand;
use super::{Beside, Decision, Produced, ToldCaps, Walk, cuts, summarize};
use crate::bind::{AskedOfCuts, Required, Surveyed};
use crate::error::{Error, Refusal, Result, Shortfall};
use crate::ids::{CellId, Code, Id, IdMap, LeafId};
use crate::loss::{Codes as RecodedCodes, Lm, Loss, Said, Weights, non_uniform_entropy};
use crate::loss::{cm, conditional_entropy, rmse};
use crate::policy::{Algorithm, Policy};
use crate::ratio::Ratio;
use crate::recoding::{Columns, Mapping, Recoding};
use crate::release::{
    Background, Believed, ClassTotals, ClassWriter, CountedTarget, From, Io, Losses, OfTarget,
    PrivateLosses, PrivateRecoding, PrivateReport, RELEASE, RecodedValues, RecodingReport,
    ReleaseKind, SearchReport, Sink, Sorter, inverse, judge_classes, mapped_values, released_type,
    spelled_table,
};
use crate::search::cuts::{Problem, Suppression};
use crate::search::grouping::{AllGroups, Asked, FailingGroups, Grouping, Judged};
use crate::search::lattice::incognito;
use crate::search::{Found, Task};
use crate::source::spill::{CountedTuples, EachPiece, SpillFolder, TupleCounter, Tuples};
use crate::source::{Batch, Coder, Codes, Form, Series, ahead};
use crate::summary::Summary;
use crate::table::{Cells, Packing, Role, Tallies, Type};
use crate::taxonomy::{Axis, Taxonomy, TreeNode};
use crate::watch::Watch;
use arrow_array::ArrayRef;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use rayon::iter::{
    IndexedParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator,
};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Generations of groups that a search for cuts keeps, as far as memory is planned.
const GENERATIONS: usize = 8;

/// Bytes that groups may take in any memory, where their number decides what is found or read.
const LEAST: u64 = 1 << 20;

/// Cells that a search for cuts has at least.
const LEAST_CELLS: u64 = 1 << 10;

/// Whether a table that exceeds the memory can be recoded here. Of cuts, rows that are left out of
/// classes that stay are not known here.
pub(super) fn is_supported(algorithm: Algorithm, policy: &Policy) -> bool {
    match algorithm {
        Algorithm::Incognito | Algorithm::SInstant => true,
        Algorithm::LPlusOptimize | Algorithm::Annealing => {
            matches!(scheme(policy), Ok(Suppression::None | Suppression::AllRecords))
                && policy.search().cuts().extra_suppression.is_none()
        }
        _ => false,
    }
}

/// What happens to classes that fail. If cuts are what `auto` was asked for, they are left out as a
/// whole.
fn scheme(policy: &Policy) -> Result<Suppression> {
    let is_open = !policy.search().algorithm.is_on_cuts();
    if is_open && policy.search().suppression > Ratio::ZERO {
        return Ok(Suppression::AllRecords);
    }
    policy.scheme()
}

/// A column of the release.
struct Column {
    /// Its place in the source.
    at: usize,
    name: String,
    role: Role,
    kind: DataType,
    codes: Codes,
    /// The rows with each code.
    rows: Vec<u64>,
}

impl Column {
    /// Whether its values are counted, or only passed on.
    fn is_counted(&self) -> bool {
        self.role != Role::Insensitive
    }

    fn is_key(&self) -> bool {
        self.role == Role::QuasiIdentifier
    }
}

/// The codes of each column of a batch that is counted and read, and its series if it is read.
type BatchColumns<'b> = Vec<(Vec<u32>, Option<&'b Series>)>;

/// Takes the columns of a batch; answers whether more are wanted.
type EachBatch<'a> = dyn FnMut(&mut [Column], BatchColumns<'_>) -> Result<bool> + 'a;

/// Reads some columns of the source once.
fn scan(
    walk: &Walk<'_>,
    columns: &mut [Column],
    is_read: impl Fn(&Column) -> bool,
    phase: &'static str,
    each: &mut EachBatch<'_>,
) -> Result<u64> {
    let (source, watch) = (walk.source, walk.watch);
    let broken = |error: ArrowError| Error::Columnar { file: source.file(), source: error };
    let mut forms = vec![Form::Skipped; source.schema().fields().len()];
    for column in columns.iter().filter(|column| is_read(column)) {
        forms[column.at] = if column.is_counted() { Form::Coded } else { Form::Plain };
    }
    let mut rows = 0;
    ahead(source.read(&forms)?, watch, |batches| {
        for batch in batches {
            let Batch { columns: read, rows: more, lines, total } = batch?;
            rows += more as u64;
            if rows > u64::from(u32::MAX) {
                let most = u64::from(u32::MAX);
                return Err(Error::TooManyRows { file: source.file(), most });
            }
            let mut read = read.iter();
            let series: Vec<Option<&Series>> = columns
                .iter()
                .map(|column| read.by_ref().take(is_read(column).into()).next())
                .collect();
            let coded = columns.par_iter_mut().zip(series.par_iter()).map(|(column, series)| {
                let mut codes = Vec::new();
                if let Some(series) = series.filter(|_| column.is_counted()) {
                    column.codes.encode(series, &lines, &mut codes).map_err(broken)?;
                }
                Ok((codes, *series))
            });
            let coded: BatchColumns<'_> = coded.collect::<Result<_>>()?;
            watch.progress(phase, rows, total);
            if !each(columns, coded)? {
                break;
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

/// A table after a first scan.
struct Scanned {
    columns: Vec<Column>,
    rows: u64,
    /// What is believed of it, if that is wanted.
    summary: Option<Summary>,
}

impl Scanned {
    /// Finds the values of every counted column, and makes a summary on the way.
    fn new(walk: &Walk<'_>, with_summary: bool) -> Result<Scanned> {
        let (job, policy, source) = (walk.job, &walk.job.policy, walk.source);
        let (roles, schema, file) = (walk.roles()?, walk.source.schema(), walk.source.file());
        let is_text = |role: &Role| !matches!(role, Role::Identifier | Role::Insensitive);
        source.check_texts(roles.iter().map(is_text))?;
        let fields = schema.fields().iter().zip(&roles).enumerate();
        let column = |(at, (field, role)): (usize, (&Arc<Field>, &Role))| Column {
            at,
            name: field.name().clone(),
            role: *role,
            kind: field.data_type().clone(),
            codes: Codes::default(),
            rows: Vec::new(),
        };
        let released = fields.filter(|(_, (_, role))| **role != Role::Identifier);
        let mut columns: Vec<Column> = released.map(column).collect();
        let order = summarized(&columns);
        let memory = job.limits.memory();
        let mut builder = with_summary.then(|| {
            let (instant, seed) = (&job.parameters.instant, job.seed.unwrap_or(0));
            summarize::builder(order.len(), instant, seed, memory / 2)
        });
        let rows =
            scan(walk, &mut columns, Column::is_counted, "survey", &mut |columns, batch| {
                for (column, (codes, _)) in columns.iter_mut().zip(&batch) {
                    column.rows.resize(column.codes.dictionary().len(), 0);
                    codes.iter().for_each(|code| column.rows[*code as usize] += 1);
                }
                if let Some(builder) = &mut builder {
                    let ordered: Vec<&[u32]> =
                        order.iter().map(|at| batch[*at].0.as_slice()).collect();
                    builder.see(&ordered)?;
                }
                let bytes = |column: &Column| column.codes.dictionary().bytes() as u64;
                if columns.iter().map(bytes).sum::<u64>() > most_values(memory) {
                    let what = "the distinct values of the table".into();
                    return Err(Error::TooLittleMemory { what, instead: None });
                }
                Ok(true)
            })?;
        if rows == 0 {
            return Err(Error::EmptyTable { file });
        }
        let attribute = |at: &usize| {
            let Column { name, role, codes, .. } = &columns[*at];
            let dictionary = codes.dictionary();
            Ok((dictionary, policy.summarized(name, *role, dictionary, &file)?))
        };
        let summary = builder.map(|builder| {
            builder.finish(order.iter().map(attribute).collect::<Result<_>>()?, walk.watch)
        });
        let summary = summary.transpose()?;
        Ok(Scanned { columns, rows, summary })
    }

    fn of_role(&self, role: Role) -> impl Iterator<Item = (usize, &Column)> {
        self.columns.iter().enumerate().filter(move |(_, column)| column.role == role)
    }
}

/// The columns of a summary: quasi-identifiers, then sensitive ones.
fn summarized(columns: &[Column]) -> Vec<usize> {
    let of = |role| (0..columns.len()).filter(move |at| columns[*at].role == role);
    of(Role::QuasiIdentifier).chain(of(Role::Sensitive)).collect()
}

/// What a policy means for the values that were found.
struct BoundTable {
    names: Vec<String>,
    /// The quasi-identifiers and the counted columns: which column it is, and the leaf of each code.
    packed: Vec<(usize, IdMap<Code, LeafId>)>,
    packing: Packing,
    /// The counted columns, as requirements number them.
    counted: Vec<String>,
    caps: Vec<(String, String, Ratio)>,
    task: Task,
    /// What is asked of cuts, if they are searched.
    cuts: Option<AskedOfCuts>,
    rows: u64,
}

impl BoundTable {
    fn new(
        policy: &Policy,
        algorithm: Algorithm,
        scanned: &Scanned,
        file: &Path,
    ) -> Result<BoundTable> {
        policy.check_presence()?;
        let (mut names, mut taxonomies) = (Vec::new(), Vec::<Arc<Taxonomy>>::new());
        let (mut axes, mut packed) = (Vec::<Axis>::new(), Vec::new());
        for (at, column) in scanned.of_role(Role::QuasiIdentifier) {
            let declared = policy.declared(&column.name);
            let bound = declared.bind_key(&column.name, column.codes.dictionary(), file)?;
            names.push(column.name.clone());
            taxonomies.push(bound.taxonomy);
            axes.push(bound.axis);
            packed.push((at, bound.leaf_of));
        }
        let sensitive: Vec<(usize, &Column)> = scanned.of_role(Role::Sensitive).collect();
        let surveyed: Vec<Surveyed<'_>> = sensitive
            .iter()
            .map(|(_, column)| Surveyed {
                name: &column.name,
                dictionary: column.codes.dictionary(),
                rows: &column.rows,
            })
            .collect();
        policy.check_named_values(surveyed.iter().map(|one| (one.name, one.dictionary)))?;
        let mut required = policy.required(&surveyed, file)?;
        let leaf_of = std::mem::take(&mut required.leaf_of);
        let places = required.columns.iter().map(|position| sensitive[*position].0);
        packed.extend(places.zip(leaf_of));
        let mut target = None;
        if policy.search().loss.needs_target() {
            let wanted_by = format!("the loss `{}`", policy.search().loss.name());
            let mut targets = scanned.of_role(Role::Target);
            let first = targets.next();
            let (at, column) = policy.one_target(&wanted_by, first, targets.next().is_some())?;
            let codes = column.codes.dictionary().len();
            target = Some(required.values.len());
            required.names.push(column.name.clone());
            required.values.push(codes);
            // A target has no tree: its codes are its leaves.
            packed.push((at, LeafId::first(codes).collect()));
        }
        let weights = policy.weights(names.iter().map(String::as_str))?;
        let cuts = if algorithm.is_on_cuts() {
            let how = (target, scheme(policy)?);
            Some(policy.asked_of_cuts(&taxonomies, &required, how, &weights, scanned.rows)?)
        } else {
            None
        };
        let Required { names: counted, values, requirements, caps, .. } = required;
        let suppressible = match &cuts {
            Some(AskedOfCuts { problem, .. }) if problem.scheme == Suppression::None => 0,
            Some(AskedOfCuts { problem, .. }) => problem.suppressible(scanned.rows),
            None => policy.search().suppression.floor_of(scanned.rows),
        };
        let leaves = taxonomies.iter().map(|tree| tree.codes());
        let packing = Packing::new(leaves.chain(values.iter().map(|values| *values as u32)));
        let task = Task {
            sets: vec![false; taxonomies.len()],
            cells: Cells::new(taxonomies.len()),
            taxonomies,
            axes,
            tallies: Vec::new(),
            values,
            requirements,
            confident: None,
            loss: policy.search().loss,
            weights,
            target,
            target_numbers: None,
            suppressible,
        };
        Ok(BoundTable { names, packed, packing, counted, caps, task, cuts, rows: scanned.rows })
    }

    fn columns(&self) -> Columns<'_> {
        let Task { taxonomies, axes, .. } = &self.task;
        Columns { names: &self.names, taxonomies, axes }
    }

    /// Packs the rows of a batch, of which the codes of each column are given.
    fn pack(&self, batch: &BatchColumns<'_>, tuples: &mut Vec<u64>) {
        let words = self.packing.words();
        let rows = self.packed.first().map_or(0, |(at, _)| batch[*at].0.len());
        tuples.clear();
        tuples.resize(rows * words, 0);
        for ((at, leaf_of), field) in self.packed.iter().zip(self.packing.fields()) {
            for (tuple, code) in tuples.chunks_exact_mut(words).zip(&batch[*at].0) {
                field.put(tuple, leaf_of.at(Code(*code)).0);
            }
        }
    }

    fn grouping<'a>(
        &'a self,
        tuples: &'a dyn Tuples,
        memory: u64,
        watch: &'a Watch,
    ) -> Grouping<'a> {
        let (packing, values, rows) = (&self.packing, self.task.values.as_slice(), self.rows);
        Grouping { tuples, packing, values, rows, memory, folder: None, watch }
    }

    /// The same for tuples that are read from the source, which is done once.
    fn once<'a>(&'a self, tuples: &'a dyn Tuples, memory: u64, watch: &'a Watch) -> Grouping<'a> {
        self.grouping(tuples, (memory / 3).max(LEAST), watch)
    }

    /// The same for counted tuples, which are sorted in a folder if their groups do not fit.
    fn again<'a>(
        &'a self,
        tuples: &'a CountedTuples,
        folder: &'a SpillFolder,
        memory: u64,
        watch: &'a Watch,
    ) -> Grouping<'a> {
        Grouping { folder: Some(folder), ..self.grouping(tuples, memory, watch) }
    }

    /// What a mapping makes of the leaves of each column.
    fn maps<'a>(&'a self, mapping: &'a Mapping) -> Result<Vec<&'a [u32]>> {
        match mapping {
            Mapping::Levels(levels) => {
                let trees = self.task.taxonomies.iter().zip(levels);
                Ok(trees.map(|(tree, level)| tree.level(*level).nodes()).collect())
            }
            Mapping::Cuts(cuts) => Ok(cuts.iter().map(|cut| cut.node_of()).collect()),
            Mapping::Regions(_) | Mapping::Local(_) => Err(Error::Defect),
        }
    }

    fn asked(&self, counts_all: bool) -> Asked<'_> {
        let Task { requirements, suppressible, .. } = &self.task;
        Asked { requirements, suppressible: *suppressible, counts_all }
    }

    /// An unmet requirement, with what the most general recoding would reach.
    fn refused(&self, error: Error, scanned: &Scanned, watch: &Watch) -> Error {
        let Error::CannotBeMet { shortfall, refusal: None } = error else { return error };
        match self.refusal(scanned, watch) {
            Ok(refusal) => Error::CannotBeMet { shortfall, refusal: Some(Box::new(refusal)) },
            Err(error) => error,
        }
    }

    fn refusal(&self, scanned: &Scanned, watch: &Watch) -> Result<Refusal> {
        let keys = self.names.len();
        let whole = self.packed[keys..].iter();
        let whole: Vec<Tallies> = whole
            .map(|(at, leaf_of)| Tallies::weighted(leaf_of.raw(), &scanned.columns[*at].rows))
            .collect();
        let mut classes = Cells::new(0);
        classes.add(&[], u32::try_from(self.rows).unwrap_or(u32::MAX));
        let verified = judge_classes(&classes, &whole, &self.task.requirements, watch)?;
        let heights = self.task.taxonomies.iter().map(|tree| tree.height());
        Ok(Refusal {
            rows: self.rows,
            suppressible: self.task.suppressible,
            classes: verified.classes,
            smallest_class: verified.smallest,
            privacy: verified.judged(&self.counted),
            levels: Some(self.names.iter().cloned().zip(heights).collect()),
            remedies: None,
        })
    }
}

/// The rows of the source as tuples: every look at them is a scan.
struct RowTuples<'a> {
    walk: &'a Walk<'a>,
    columns: Mutex<&'a mut Vec<Column>>,
    bound: &'a BoundTable,
}

impl Tuples for RowTuples<'_> {
    fn scan(&self, each: &mut EachPiece<'_>) -> Result<()> {
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut tuples, mut counts, mut is_ended) = (Vec::new(), Vec::new(), false);
        let bound = self.bound;
        let places: Vec<usize> = bound.packed.iter().map(|(at, _)| columns[*at].at).collect();
        let is_read = |column: &Column| places.contains(&column.at);
        let rows = scan(self.walk, &mut columns, is_read, "check", &mut |columns, batch| {
            check_known(self.walk, columns)?;
            bound.pack(&batch, &mut tuples);
            counts.resize(tuples.len() / bound.packing.words(), 1);
            is_ended = !each(&tuples, &counts)?;
            Ok(!is_ended)
        })?;
        if is_ended || rows == bound.rows {
            return Ok(());
        }
        Err(Error::ChangedMeanwhile { file: self.walk.source.file() })
    }
}

/// Refuses values that the first scan did not meet.
fn check_known(walk: &Walk<'_>, columns: &[Column]) -> Result<()> {
    let is_known = |column: &Column| column.codes.dictionary().len() == column.rows.len();
    if columns.iter().all(is_known) {
        return Ok(());
    }
    Err(Error::ChangedMeanwhile { file: walk.source.file() })
}

/// Counts distinct tuples in a scan.
fn count(
    walk: &Walk<'_>,
    scanned: &mut Scanned,
    bound: &BoundTable,
    folder: &SpillFolder,
) -> Result<CountedTuples> {
    let words = bound.packing.words();
    let memory = walk.job.limits.memory() / 3;
    let mut counter = TupleCounter::new(folder, words, memory, walk.watch)?;
    let rows = RowTuples { walk, columns: Mutex::new(&mut scanned.columns), bound };
    rows.scan(&mut |tuples, _| {
        tuples.chunks_exact(words).try_for_each(|tuple| counter.add(tuple, 1))?;
        Ok(true)
    })?;
    counter.finish()
}

/// What is released, and how it was decided.
struct Decided {
    algorithm: &'static str,
    mapping: Mapping,
    found: Option<(Found, Option<Believed>)>,
    failing: FailingGroups,
}

/// Scans, binds, searches, recodes and writes.
pub(super) fn produce(
    walk: &mut Walk<'_>,
    sink: &mut dyn Sink,
    algorithm: Algorithm,
) -> Result<Produced> {
    if walk.job.keep_order {
        return Err(Error::Inapplicable {
            place: None,
            key: "keep-order".into(),
            problem: "requires a table that fits in memory".into(),
        });
    }
    check_saving(walk, sink)?;
    let is_searched = matches!(walk.job.decision, Decision::Search);
    let is_believed = is_searched && algorithm == Algorithm::SInstant;
    let mut scanned = Scanned::new(walk, is_believed && walk.job.summary.is_none())?;
    walk.clock.phase("survey");
    let bound = BoundTable::new(&walk.job.policy, algorithm, &scanned, &walk.source.file())?;
    walk.clock.phase("bind");
    let folder = SpillFolder::create(&walk.job.limits.spill_folder())?;
    let decided = decide(walk, &mut scanned, &bound, &folder, algorithm);
    let Decided { algorithm, mapping, found, failing } =
        decided.map_err(|error| bound.refused(error, &scanned, walk.watch))?;
    let seconds = walk.clock.phase("search");
    let search = found.map(|(found, believed)| {
        let report = SearchReport {
            space: found.space,
            visited: found.visited,
            cost: found.cost,
            believed,
            seconds,
            ..SearchReport::default()
        };
        report.warranted(found.warrant)
    });
    let values = mapped_values(&bound.task, &mapping)?;
    let writing = Writing { walk, bound: &bound, values: &values, failing: &failing };
    let written = writing.write(&mut scanned, sink, &folder, &bound.maps(&mapping)?)?;
    walk.clock.phase("write");
    if sink.wants_recoding()
        && let Some(mut file) = sink.recoding()?
    {
        let recoding = Recoding::of(bound.columns(), &mapping).ok_or(Error::Defect)?;
        let text = recoding.to_json() + "\n";
        file.write_all(text.as_bytes()).map_err(Error::io(sink.name().as_ref(), "write"))?;
    }
    let target = written.of_target(&scanned, &failing);
    let (losses, of_input) = written.losses(&bound, &values, &failing, target);
    let (recoding, of_owner) = told(&bound, &mapping, &values, &written.totals);
    Ok(Produced {
        algorithm,
        generalized_by: None,
        rows: bound.rows,
        written: written.totals.rows,
        columns: scanned.columns.iter().map(|column| column.name.clone()).collect(),
        suppressed_values: None,
        caps: written.caps(&bound, &scanned, walk.job.policy.derives_caps()),
        private: PrivateReport::new(of_input, Some(of_owner)),
        policy: walk.job.policy.with_caps(&bound.caps)?,
        release: ReleaseKind::Table { loss: losses, recoding, search },
        notes: Vec::new(),
        alternatives: Vec::new(),
        io: Io {
            bytes_read: folder.bytes_read(),
            bytes_written: folder.bytes_written(),
            repartitions: Some(0),
            pruned_nodes: Some(0),
            ..Io::default()
        },
        beside: Beside::Nothing,
        leftovers: Box::new((scanned.columns, bound)),
    })
}

/// What is released: found by a search, fixed by hand, or saved before.
fn decide(
    walk: &Walk<'_>,
    scanned: &mut Scanned,
    bound: &BoundTable,
    folder: &SpillFolder,
    algorithm: Algorithm,
) -> Result<Decided> {
    let (job, watch) = (walk.job, walk.watch);
    let memory = job.limits.memory();
    let given = match &job.decision {
        Decision::Search => None,
        Decision::Levels(given) => {
            let levels = levels_by_hand(given, &bound.names, &bound.task.taxonomies)?;
            Some(("fixed-levels", Mapping::Levels(levels)))
        }
        Decision::Saved(recoding, name) => {
            Some(("saved-recoding", recoding.bind(bound.columns(), name)?))
        }
    };
    if let Some((algorithm, mapping)) = given {
        let rows = RowTuples { walk, columns: Mutex::new(&mut scanned.columns), bound };
        let failing = match judged(&bound.once(&rows, memory, watch), bound, &mapping)? {
            Some(failing) => failing,
            None => {
                let counted = count(walk, scanned, bound, folder)?;
                let grouping = bound.again(&counted, folder, memory / 3, watch);
                judged(&grouping, bound, &mapping)?.ok_or(Error::Defect)?
            }
        };
        return Ok(Decided { algorithm, mapping, found: None, failing });
    }
    if algorithm == Algorithm::SInstant {
        return by_belief(walk, scanned, bound, folder);
    }
    let counted = count(walk, scanned, bound, folder)?;
    let found = match &bound.cuts {
        Some(asked) => by_cuts(walk, bound, asked, &counted)?,
        None => {
            let passes = bound.again(&counted, folder, memory / 8, watch);
            incognito::search_tuples(&bound.task, passes, job.parameters.strategy, watch)?
        }
    };
    let algorithm = if bound.cuts.is_some() { algorithm.name() } else { "incognito" };
    let mapping = found.mapping.clone();
    let grouping = bound.again(&counted, folder, memory / 3, watch);
    let failing = judged(&grouping, bound, &mapping)?.ok_or(Error::Defect)?;
    Ok(Decided { algorithm, mapping, found: Some((found, None)), failing })
}

/// Searches for cuts through cells in memory. If they do not fit, those that are equal on higher
/// levels are put together, and cuts do not go below these: the column with most values is raised
/// first.
fn by_cuts(
    walk: &Walk<'_>,
    bound: &BoundTable,
    asked: &AskedOfCuts,
    counted: &CountedTuples,
) -> Result<Found> {
    let (watch, memory, trees) = (walk.watch, walk.job.limits.memory(), &bound.task.taxonomies);
    let AskedOfCuts { problem, column, .. } = asked;
    let width = problem.caps.of_values().len() * problem.labels;
    let heights: usize = trees.iter().map(|tree| tree.height() + 1).max().unwrap_or(1);
    // Leaves, nodes and tallies of a cell, and those of its groups at each node of one tree; a
    // search keeps some generations of groups.
    let cell = 16 * trees.len() + 32 + GENERATIONS * (heights + 2) * (8 + 4 * width);
    let most = (memory / 2 / cell as u64).max(LEAST_CELLS);
    let grouping = bound.grouping(counted, (memory / 3).max(LEAST), watch);
    let mut lowest = vec![0; trees.len()];
    let groups = loop {
        let maps = trees.iter().zip(&lowest).map(|(tree, level)| tree.level(*level).nodes());
        if let Some(groups) = grouping.all(&maps.collect::<Vec<_>>(), most)? {
            break groups;
        }
        let values = |at: &usize| trees[*at].level(lowest[*at]).len();
        let open = (0..trees.len()).filter(|at| lowest[*at] < trees[*at].height());
        let widest = open.rev().max_by_key(values).ok_or(Error::TooLittleMemory {
            what: "the cells of a search for cuts".into(),
            instead: Some("use rothko-s"),
        })?;
        lowest[widest] += 1;
    };
    let AllGroups { nodes, rows, mut tallies } = groups;
    let mut cells: Cells<CellId> = Cells::new(trees.len());
    for (nodes, rows) in nodes.chunks_exact(trees.len()).zip(rows) {
        let first = nodes.iter().zip(trees).zip(&lowest);
        let first = first.map(|((node, tree), level)| tree.level(*level).range(*node).start);
        cells.add(&first.collect::<Vec<u32>>(), rows);
    }
    let joint = match (*column, bound.task.target) {
        (Some(_), Some(_)) => {
            return Err(Error::TooLittleMemory {
                what: "values and labels of a search for cuts".into(),
                instead: Some("use the loss lm or dm"),
            });
        }
        (Some(column), None) | (None, Some(column)) => {
            std::mem::replace(tallies.get_mut(column).ok_or(Error::Defect)?, Tallies::single())
        }
        (None, None) => {
            let starts = (0..=cells.len() as u32).collect();
            Tallies::from_parts(starts, cells.counts().iter().map(|rows| (0, *rows)).collect())
        }
    };
    let problem = Problem {
        taxonomies: problem.taxonomies.clone(),
        tallies: joint,
        caps: problem.caps.clone(),
        weights: problem.weights.clone(),
        ..*problem
    };
    cuts::search_above(walk.job, &problem, (&cells, &lowest), watch)
}

/// The groups of a mapping that are left out, or why it cannot be released; `None` if they do not
/// fit into memory.
fn judged(
    grouping: &Grouping<'_>,
    bound: &BoundTable,
    mapping: &Mapping,
) -> Result<Option<FailingGroups>> {
    let maps = bound.maps(mapping)?;
    let levels = match mapping {
        Mapping::Levels(levels) => Some(levels.clone()),
        _ => None,
    };
    let (rows, suppressible) = (bound.rows, bound.task.suppressible);
    match grouping.judge(&[maps], bound.asked(true))?.pop() {
        Some(Judged::Holds(failing)) => Ok(Some(failing)),
        Some(Judged::TooMany) => Ok(None),
        Some(Judged::Fails(failing)) => {
            Err(Shortfall::ClassesFail { levels, failing, rows, suppressible }.into())
        }
        Some(Judged::FarFromRelease(classes)) => Err(Shortfall::FarFromRelease { classes }.into()),
        None => Err(Error::Defect),
    }
}

/// S-INSTANT: the candidates are checked in one scan, or by counted tuples if it does not suffice. If
/// none holds, the counted tuples decide.
fn by_belief(
    walk: &Walk<'_>,
    scanned: &mut Scanned,
    bound: &BoundTable,
    folder: &SpillFolder,
) -> Result<Decided> {
    let (job, watch, memory) = (walk.job, walk.watch, walk.job.limits.memory());
    let (summary, foreign) = match (&job.summary, scanned.summary.take()) {
        (Some(summary), _) => (summary.clone(), true),
        (None, Some(summary)) => (summary, false),
        (None, None) => return Err(Error::Defect),
    };
    let file = walk.source.file();
    let named = if foreign { PathBuf::from(summary.file()) } else { file.clone() };
    let beliefs = job.policy.believe(summary, &named)?;
    let belief = Belief::new(job, &beliefs, (bound.columns(), &file), watch)?;
    let heeding = watch.heed();
    let listed = belief.listed(foreign, watch)?;
    drop(heeding);
    let (mut counted, mut next) = (None, 0);
    while next < listed.candidates.len() {
        watch.check()?;
        if watch.stopped() {
            return Err(Error::Interrupted);
        }
        watch.progress("check", next as u64, Some(listed.candidates.len() as u64));
        let candidates = listed.candidates[next..].iter();
        let maps = candidates.map(|one| bound.maps(&one.mapping)).collect::<Result<Vec<_>>>()?;
        let judged = match &counted {
            None => {
                let rows = RowTuples { walk, columns: Mutex::new(&mut scanned.columns), bound };
                bound.once(&rows, memory, watch).judge(&maps, bound.asked(false))?
            }
            Some(tuples) => {
                let grouping = bound.again(tuples, folder, memory / 3, watch);
                grouping.judge(&maps, bound.asked(false))?
            }
        };
        for judged in judged {
            match judged {
                Judged::Holds(failing) => {
                    let (found, believed) = belief.found(&listed, next)?;
                    let mapping = found.mapping.clone();
                    let found = Some((found, Some(believed)));
                    return Ok(Decided { algorithm: "s-instant", mapping, found, failing });
                }
                Judged::TooMany => break,
                Judged::Fails(_) | Judged::FarFromRelease(_) => next += 1,
            }
        }
        if counted.is_none() && next < listed.candidates.len() {
            counted = Some(count(walk, scanned, bound, folder)?);
        }
    }
    let counted = match counted {
        Some(counted) => counted,
        None => count(walk, scanned, bound, folder)?,
    };
    let passes = bound.again(&counted, folder, memory / 8, watch);
    let found = incognito::search_tuples(&bound.task, passes, job.parameters.strategy, watch)?;
    let (found, believed) = belief.fallen_back(&listed, found)?;
    let mapping = found.mapping.clone();
    let grouping = bound.again(&counted, folder, memory / 3, watch);
    let failing = judged(&grouping, bound, &mapping)?.ok_or(Error::Defect)?;
    Ok(Decided { algorithm: "s-instant", mapping, found: Some((found, Some(believed))), failing })
}

/// The last scan.
struct Writing<'a> {
    walk: &'a Walk<'a>,
    bound: &'a BoundTable,
    values: &'a [RecodedValues],
    failing: &'a FailingGroups,
}

/// What was counted while rows were written.
struct Written {
    totals: ClassTotals,
    target: Option<(usize, CountedTarget)>,
    /// The rows with each leaf of each quasi-identifier, and those of them that are left out.
    leaves: Vec<Vec<(u64, u64)>>,
    /// For each column, whether each code is released.
    released: Vec<Vec<bool>>,
}

impl Writing<'_> {
    fn write(
        &self,
        scanned: &mut Scanned,
        sink: &mut dyn Sink,
        folder: &SpillFolder,
        maps: &[&[u32]],
    ) -> Result<Written> {
        let Writing { walk, bound, values, failing } = *self;
        let (policy, watch, memory) = (&walk.job.policy, walk.watch, walk.job.limits.memory());
        let file = PathBuf::from(sink.name());
        let broken = |source: ArrowError| Error::Columnar { file: file.clone(), source };
        let layout = RowLayout::new(&scanned.columns);
        let kinds =
            layout.travelling.iter().map(|at| (*at, released_type(&scanned.columns[*at].kind)));
        let kinds: Vec<(usize, DataType)> = kinds.collect();
        let converter = Coder::converter(&kinds).map_err(broken)?;
        let (width, compared) =
            (layout.width(), layout.width() - usize::from(layout.target.is_some()));
        let mut sorter = Sorter::new(folder, (width, compared), memory / 2, watch);
        let mut written = Written {
            totals: ClassTotals::default(),
            target: layout.target.map(|at| (at, counted_target(&scanned.columns[at]))),
            leaves: bound
                .task
                .taxonomies
                .iter()
                .map(|tree| vec![(0, 0); tree.codes() as usize])
                .collect(),
            released: scanned.columns.iter().map(|one| vec![false; one.rows.len()]).collect(),
        };
        let (mut tuples, mut lifted, mut record) = (Vec::new(), Vec::new(), Vec::new());
        let key_words = bound.grouping(&NoTuples, 0, watch).key_words();
        let fields = &bound.packing.fields()[..bound.names.len()];
        let rows = scan(walk, &mut scanned.columns, |_| true, "recode", &mut |columns, batch| {
            check_known(walk, columns)?;
            bound.pack(&batch, &mut tuples);
            let travelling = kinds.iter().map(|(at, kind)| {
                let series =
                    batch[*at].1.ok_or_else(|| ArrowError::SchemaError("no column".into()))?;
                cast(&series.as_written()?, kind)
            });
            let travelling =
                travelling.collect::<Result<Vec<ArrayRef>, ArrowError>>().map_err(broken)?;
            let payload =
                converter.as_ref().map(|converter| converter.convert_columns(&travelling));
            let payload = payload.transpose().map_err(broken)?;
            for (row, tuple) in tuples.chunks_exact(bound.packing.words()).enumerate() {
                record.clear();
                let nodes =
                    fields.iter().zip(maps).map(|(field, map)| map[field.get(tuple) as usize]);
                record.extend(nodes);
                let is_lost = !failing.is_empty() && {
                    lifted.clear();
                    lifted.resize(key_words, 0);
                    let nodes = fields.iter().zip(&record);
                    nodes.for_each(|(field, node)| field.put(&mut lifted, *node));
                    failing.contains(&lifted)
                };
                for (field, leaves) in fields.iter().zip(&mut written.leaves) {
                    let (rows, lost) = &mut leaves[field.get(tuple) as usize];
                    *rows += 1;
                    *lost += u64::from(is_lost);
                }
                if is_lost {
                    continue;
                }
                for (at, ranks) in &layout.ranked {
                    let code = batch[*at].0[row] as usize;
                    written.released[*at][code] = true;
                    record.push(ranks[code]);
                }
                record.extend(layout.target.map(|at| batch[at].0[row]));
                let payload = payload.as_ref().map(|rows| rows.row(row));
                sorter.push(&record, payload.as_ref().map_or(&[], |row| row.data()))?;
            }
            Ok(true)
        })?;
        if rows != bound.rows {
            return Err(Error::ChangedMeanwhile { file: walk.source.file() });
        }
        let schema = layout.schema(&scanned.columns);
        sink.limit(memory as usize / 6);
        let table = sink.table(RELEASE, &schema)?;
        let notations = scanned
            .columns
            .iter()
            .map(|column| policy.notation(&column.name).filter(|_| column.is_key()));
        let table = spelled_table(table, notations, sink.name());
        let background = Background::new(table, &schema, 2);
        let target = written.target.as_ref().map(|(_, target)| target);
        let expected = bound.rows - failing.rows;
        let mut writer = ClassWriter::new(
            values,
            &layout.from,
            converter.as_ref(),
            background,
            &file,
            target,
            (width, expected),
            watch,
        );
        sorter.finish(&mut |words, payload| writer.push(words, payload))?;
        written.totals = writer.finish()?;
        Ok(written)
    }
}

/// No tuples at all.
struct NoTuples;

impl Tuples for NoTuples {
    fn scan(&self, _: &mut EachPiece<'_>) -> Result<()> {
        Ok(())
    }
}

/// How rows are sorted and put together: the values of the class, then the places of counted values
/// among all values of their columns, then what travels.
struct RowLayout {
    keys: usize,
    /// The columns that are counted besides the keys, and the place of each code.
    ranked: Vec<(usize, Vec<u32>)>,
    /// The first target, whose code is the last word.
    target: Option<usize>,
    /// The columns that travel, the counted ones first.
    travelling: Vec<usize>,
    /// Where the values of each column come from.
    from: Vec<From>,
}

impl RowLayout {
    fn new(columns: &[Column]) -> RowLayout {
        let of = |is_wanted: fn(&Column) -> bool| {
            (0..columns.len()).filter(move |at| is_wanted(&columns[*at]))
        };
        let counted = of(|column| !column.is_key() && column.is_counted());
        let ranks = |at: usize| {
            let dictionary = columns[at].codes.dictionary();
            let mut order: Vec<u32> = (0..dictionary.len() as u32).collect();
            order.sort_unstable_by_key(|code| dictionary.value(*code));
            (at, inverse(&order))
        };
        let travelling: Vec<usize> =
            counted.clone().chain(of(|column| !column.is_counted())).collect();
        let mut keys = 0;
        let from = |(at, column): (usize, &Column)| {
            if column.is_key() {
                keys += 1;
                return From::Key(keys - 1);
            }
            let place = travelling.iter().position(|known| *known == at);
            From::Travelling(place.unwrap_or(0))
        };
        let from = columns.iter().enumerate().map(from).collect();
        let ranked = counted.map(ranks).collect();
        let target = of(|column| column.role == Role::Target).next();
        RowLayout { keys, ranked, target, travelling, from }
    }

    fn width(&self) -> usize {
        self.keys + self.ranked.len() + usize::from(self.target.is_some())
    }

    fn schema(&self, columns: &[Column]) -> Arc<Schema> {
        let field = |column: &Column| {
            let kind = if column.is_key() { DataType::Utf8 } else { released_type(&column.kind) };
            Field::new(&column.name, kind, true)
        };
        Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
    }
}

/// A target, and what its values are if all of them are numbers.
fn counted_target(column: &Column) -> CountedTarget {
    let numbers = column.codes.dictionary().values().map(|value| Type::Real.number(value));
    CountedTarget { column: 0, numbers: numbers.collect() }
}

impl Written {
    /// How well the target is known from the release.
    fn of_target(&self, scanned: &Scanned, failing: &FailingGroups) -> Option<OfTarget> {
        let (at, target) = self.target.as_ref()?;
        let (whole, suppressed, totals) =
            (scanned.columns[*at].rows.as_slice(), failing.rows, &self.totals);
        let rows = scanned.rows as f64;
        // What the rows that are left out leave open, and what the others do.
        let open =
            conditional_entropy(std::iter::empty(), suppressed, whole) + totals.open_bits / rows;
        let error = target.numbers.as_ref().map(|numbers| {
            let left_out = rmse(std::iter::empty(), suppressed, whole, numbers);
            (left_out * left_out + totals.squared_error / rows).sqrt()
        });
        let cm = cm(totals.minority, suppressed, scanned.rows);
        Some(OfTarget { cm, conditional_entropy: open, rmse: error })
    }

    fn losses(
        &self,
        bound: &BoundTable,
        values: &[RecodedValues],
        failing: &FailingGroups,
        target: Option<OfTarget>,
    ) -> (Losses, PrivateLosses) {
        let (totals, task) = (&self.totals, &bound.task);
        let mean = |weights: &Weights| {
            let lm = Lm::new(task.taxonomies.iter().map(Arc::as_ref), weights);
            let mut sum = lm.nothing();
            for (column, lost) in sum.0.iter_mut().enumerate() {
                let whole = u128::from(lm.whole()[column]);
                *lost = totals.lost[column] + u128::from(failing.rows) * whole;
            }
            lm.mean(&sum, bound.rows)
        };
        let lm = mean(&Weights::equal(task.taxonomies.len()));
        let lm_weighted = task.weights.is_given().then(|| mean(&task.weights));
        let dm = totals.squares + u128::from(bound.rows) * u128::from(failing.rows);
        let entropy = |(column, leaves): (usize, &Vec<(u64, u64)>)| {
            let codes: Vec<RecodedCodes> = values[column].all_codes();
            let became = became(&codes, leaves.len());
            let said = leaves.iter().enumerate().map(|(leaf, (rows, lost))| Said {
                leaf: leaf as u32,
                became: became[leaf],
                released: rows - lost,
                suppressed: *lost,
            });
            non_uniform_entropy(leaves.len() as u32, &codes, said)
        };
        let entropies: f64 = self.leaves.iter().enumerate().map(entropy).sum();
        let entropy = entropies / self.leaves.len().max(1) as f64;
        let losses = Losses { lm_weighted, ..Losses::new(lm, dm, target) };
        (losses, PrivateLosses::new(target, Some(entropy)))
    }

    /// The caps that follow from frequencies, and those of values that the release has.
    fn caps(&self, bound: &BoundTable, scanned: &Scanned, derives_caps: bool) -> ToldCaps {
        if !derives_caps {
            return ToldCaps::default();
        }
        let is_told = |(name, value, _): &&(String, String, _)| {
            let columns = scanned.columns.iter().zip(&self.released);
            columns.into_iter().any(|(column, released)| {
                column.name == *name
                    && column
                        .codes
                        .dictionary()
                        .find(value)
                        .is_some_and(|code| released[code as usize])
            })
        };
        let released = bound.caps.iter().filter(is_told).cloned().collect();
        ToldCaps { all: bound.caps.clone(), released }
    }
}

/// The number of the value that each leaf became.
fn became(values: &[RecodedCodes], leaves: usize) -> Vec<u32> {
    let mut became = vec![0; leaves];
    for (value, codes) in (0..).zip(values) {
        if let RecodedCodes::Range(range) = codes {
            became[range.start as usize..range.end as usize].fill(value);
        }
    }
    became
}

/// What was decided: as a published report tells it, and what only the owner may see.
fn told(
    bound: &BoundTable,
    mapping: &Mapping,
    values: &[RecodedValues],
    totals: &ClassTotals,
) -> (RecodingReport, PrivateRecoding) {
    let names = bound.names.iter().cloned();
    let trees = &bound.task.taxonomies;
    let Mapping::Cuts(cuts) = mapping else {
        let heights = names.clone().zip(trees.iter().map(|tree| tree.height())).collect();
        let levels = names.zip(mapping.levels().iter().copied()).collect();
        return (RecodingReport::FullDomain { levels }, PrivateRecoding::Heights(heights));
    };
    let label = |tree: &Arc<Taxonomy>, node: &TreeNode| {
        tree.level(node.level).label(node.index).to_string()
    };
    let all = trees.iter().zip(cuts);
    let all = all.map(|(tree, cut)| cut.nodes().iter().map(|node| label(tree, node)).collect());
    let released = values.iter().zip(&totals.is_released).map(|(values, is_released)| {
        let released = (0..).zip(is_released).filter(|(_, is_released)| **is_released);
        released.map(|(value, _)| values.label(value).to_string()).collect()
    });
    let all = names.clone().zip(all).collect();
    (RecodingReport::Cuts { cuts: names.zip(released).collect() }, PrivateRecoding::Cuts(all))
}
