//! What a policy means for the values of a scanned table, and its rows as tuples of leaves.

use super::scan::{BatchColumns, Column, Scanned, check_known, scan};
use crate::bind::{AskedOfCuts, Required, Surveyed};
use crate::error::{Error, Refusal, Result};
use crate::ids::{Code, Id, IdMap, LeafId};
use crate::job::{LEAST, Walk};
use crate::loss::Loss;
use crate::policy::{Algorithm, Policy};
use crate::ratio::Ratio;
use crate::recoding::{Columns, Mapping};
use crate::release::judge_classes;
use crate::search::Task;
use crate::search::cuts::Suppression;
use crate::search::grouping::{Asked, Grouping};
use crate::source::spill::{CountedTuples, EachPiece, SpillFolder, TupleCounter, Tuples};
use crate::table::{Cells, Packing, Role, Tallies};
use crate::taxonomy::{Axis, Taxonomy};
use crate::watch::Watch;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What happens to classes that fail. If cuts are what `auto` was asked for, they are left out as a
/// whole.
pub(super) fn scheme(policy: &Policy) -> Result<Suppression> {
    let is_open = !policy.search().algorithm.is_on_cuts();
    if is_open && policy.search().suppression > Ratio::ZERO {
        return Ok(Suppression::AllRecords);
    }
    policy.scheme()
}

/// What a policy means for the values that were found.
pub(super) struct BoundTable {
    pub(super) names: Vec<String>,
    /// The quasi-identifiers and the counted columns: which column it is, and the leaf of each code.
    pub(super) packed: Vec<(usize, IdMap<Code, LeafId>)>,
    pub(super) packing: Packing,
    /// The counted columns, as requirements number them.
    pub(super) counted: Vec<String>,
    pub(super) caps: Vec<(String, String, Ratio)>,
    pub(super) task: Task,
    /// What is asked of cuts, if they are searched.
    pub(super) cuts: Option<AskedOfCuts>,
    pub(super) rows: u64,
}

impl BoundTable {
    pub(super) fn new(
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

    pub(super) fn columns(&self) -> Columns<'_> {
        let Task { taxonomies, axes, .. } = &self.task;
        Columns { names: &self.names, taxonomies, axes }
    }

    /// Packs the rows of a batch, of which the codes of each column are given.
    pub(super) fn pack(&self, batch: &BatchColumns<'_>, tuples: &mut Vec<u64>) {
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

    pub(super) fn grouping<'a>(
        &'a self,
        tuples: &'a dyn Tuples,
        memory: u64,
        watch: &'a Watch,
    ) -> Grouping<'a> {
        let (packing, values, rows) = (&self.packing, self.task.values.as_slice(), self.rows);
        Grouping { tuples, packing, values, rows, memory, folder: None, watch }
    }

    /// The same for tuples that are read from the source, which is done once.
    pub(super) fn once<'a>(
        &'a self,
        tuples: &'a dyn Tuples,
        memory: u64,
        watch: &'a Watch,
    ) -> Grouping<'a> {
        self.grouping(tuples, (memory / 3).max(LEAST), watch)
    }

    /// The same for counted tuples, which are sorted in a folder if their groups do not fit.
    pub(super) fn again<'a>(
        &'a self,
        tuples: &'a CountedTuples,
        folder: &'a SpillFolder,
        memory: u64,
        watch: &'a Watch,
    ) -> Grouping<'a> {
        Grouping { folder: Some(folder), ..self.grouping(tuples, memory, watch) }
    }

    /// What a mapping makes of the leaves of each column.
    pub(super) fn maps<'a>(&'a self, mapping: &'a Mapping) -> Result<Vec<&'a [u32]>> {
        match mapping {
            Mapping::Levels(levels) => {
                let trees = self.task.taxonomies.iter().zip(levels);
                Ok(trees.map(|(tree, level)| tree.level(*level).nodes()).collect())
            }
            Mapping::Cuts(cuts) => Ok(cuts.iter().map(|cut| cut.node_of()).collect()),
            Mapping::Regions(_) | Mapping::Local(_) => Err(Error::Defect),
        }
    }

    pub(super) fn asked(&self, counts_all: bool) -> Asked<'_> {
        let Task { requirements, suppressible, .. } = &self.task;
        Asked { requirements, suppressible: *suppressible, counts_all }
    }

    /// An unmet requirement, with what the most general recoding would reach.
    pub(super) fn refused(&self, error: Error, scanned: &Scanned, watch: &Watch) -> Error {
        let Error::CannotBeMet { shortfall, refusal: None } = error else { return error };
        match self.refusal(scanned, watch) {
            Ok(refusal) => Error::CannotBeMet { shortfall, refusal: Some(Box::new(refusal)) },
            Err(error) => error,
        }
    }

    pub(super) fn refusal(&self, scanned: &Scanned, watch: &Watch) -> Result<Refusal> {
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
pub(super) struct RowTuples<'a> {
    pub(super) walk: &'a Walk<'a>,
    pub(super) columns: Mutex<&'a mut Vec<Column>>,
    pub(super) bound: &'a BoundTable,
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

/// Counts distinct tuples in a scan.
pub(super) fn count(
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
