//! A release of a table that fits in memory: one scan, a search over cells, rows in an order of
//! their own.

use super::search::{Searched, levels_by_hand, most_general, search, with_refusal};
use super::world::{confidences, exactly};
use super::{Beside, Decision, Job, Produced, ToldCaps, Walk, tight_note};
use crate::bind::{Outside, Prepared};
use crate::error::{Error, Place, Result};
use crate::ids::Id;
use crate::policy::{Algorithm, Policy};
use crate::recoding::{Columns, Local, Mapping, Recoding, Regions};
use crate::release::{
    Alternative, Background, Draws, Io, Losses, OfTarget, PrivateLosses, PrivateRecoding,
    PrivateReport, RELEASE, Recoded, RecodingReport, Records, ReleaseKind, ReleasedRows, RowNeeds,
    SearchReport, Sink, Token, schema, spelled_table,
};
use crate::source::Series;
use crate::table::{Column, Data, Notation, Role, Table, Tallies, Type};
use crate::taxonomy::{Cut, Taxonomy, TreeNode};
use crate::watch::{PIECE, Watch};
use std::io::Write;
use std::sync::Arc;

/// A table in memory, bound to the policy.
pub(super) struct Bound<'a> {
    pub(super) policy: &'a Policy,
    pub(super) table: Arc<Table>,
    pub(super) prepared: Prepared,
}

/// Scans, binds, decides, recodes and writes.
pub(super) fn produce(walk: &mut Walk<'_>, sink: &mut dyn Sink) -> Result<Produced> {
    check_saving(walk, sink)?;
    let (bound, needs, bytes) = bind(walk)?;
    let Decided { algorithm, mapping, search, alternatives, proven } =
        decide(walk, &bound, sink.wants_recoding())?;
    let recoded = bound.recode(&mapping, walk.job, walk.watch);
    let recoded =
        recoded.map_err(|error| with_refusal(error, &bound.prepared, &mapping, walk.watch))?;
    let token = bound.token();
    let (losses, rows) = rayon::join(
        || losses(&bound.table, &bound.prepared, &recoded, walk.watch),
        || {
            let leaf_cell = &bound.prepared.leaf_cell;
            let keep_order = walk.job.keep_order;
            ReleasedRows::new(&bound.table, leaf_cell, &recoded, token, keep_order, walk.watch)
        },
    );
    let (losses, rows) = (losses?, rows?);
    let schema = schema(&bound.table, token);
    let table = sink.table(RELEASE, &schema)?;
    let table = spelled_table(table, bound.notations(token), sink.name());
    let mut table = Background::new(table, &schema, 2);
    walk.clock.phase("recode");
    let written = rows.len() as u64;
    let mut sent = 0;
    for columns in rows {
        walk.watch.check()?;
        let columns = columns?;
        sent += columns.first().map_or(0, Series::len) as u64;
        table.write(columns)?;
        walk.watch.progress("write", sent, Some(written));
    }
    table.finish()?;
    if sink.wants_recoding()
        && let Some(mut file) = sink.recoding()?
    {
        let recoding = Recoding::of(bound.columns(), &mapping);
        let recoding = recoding.ok_or_else(|| Error::NotSaveable { file: sink.name().into() })?;
        let text = recoding.to_json() + "\n";
        file.write_all(text.as_bytes()).map_err(Error::io(sink.name().as_ref(), "write"))?;
    }
    walk.clock.phase("write");
    let Recoded { values, classes, class_of, .. } = &recoded;
    // Regions may tell less of their own rows than is known here. For all else the release tells
    // the same, so its verification computes the figure, and nothing is computed twice.
    let task = &bound.prepared.task;
    let counts_rows = task.confident.as_ref().is_some_and(|asked| asked.listed(0, 0..0).is_some());
    let exact = if counts_rows && matches!(mapping, Mapping::Regions(_)) {
        exactly(task, values, classes, class_of, walk.watch)?
    } else {
        None
    };
    let policy = bound.policy.with_caps(&bound.prepared.caps)?;
    let hidden = recoded.within.as_ref().map(|within| within.hidden_values());
    let (recoding, of_owner) = bound.decided(&mapping, &recoded);
    let (mut losses, mut of_input) = losses;
    losses = losses.with_bound(proven);
    of_input.lm_bound = losses.lm_bound;
    of_input.lm_weighted_bound = losses.lm_weighted_bound;
    let extra = recoded.within.as_ref().map(|within| within.extra).filter(|extra| *extra > 0);
    let caps = bound.told_caps(&recoded, walk.watch)?;
    let notes = match &mapping {
        Mapping::Regions(Regions { style, .. }) | Mapping::Local(Local { style, .. }) => {
            tight_note(*style, &bound.prepared.task.axes)
        }
        Mapping::Levels(_) | Mapping::Cuts(_) => Vec::new(),
    };
    let Bound { policy: asked, table, prepared } = bound;
    Ok(Produced {
        algorithm,
        generalized_by: None,
        rows: table.rows(),
        written,
        columns: schema.fields().iter().map(|field| field.name().clone()).collect(),
        suppressed_values: token_of(asked, &prepared).and(hidden),
        caps,
        private: PrivateReport {
            extra_suppressed: extra,
            ..PrivateReport::new(of_input, of_owner)
        },
        policy,
        release: ReleaseKind::Table { loss: losses, recoding, search },
        notes,
        alternatives,
        io: Io { bytes_read: bytes, repartitions: Some(0), pruned_nodes: Some(0), ..Io::default() },
        beside: Beside::Presence { exact, needs },
        leftovers: Box::new((table, prepared.task, recoded, mapping)),
    })
}

/// Fails as `produce` would if nothing can be released.
pub(super) fn probe(mut walk: Walk<'_>) -> Result<()> {
    let (bound, ..) = bind(&mut walk)?;
    let is_searched = matches!(walk.job.decision, Decision::Search);
    // The most general recoding is among those of every search. With a confident presence more than
    // its classes must be judged.
    if is_searched && bound.prepared.task.confident.is_none() {
        let whole = Recoded::new(&bound.prepared.task, &most_general(&bound.prepared), walk.watch);
        if whole.is_ok_and(|whole| whole.suppressed == 0) {
            return Ok(());
        }
    }
    let decided = decide(&mut walk, &bound, false)?;
    bound.recode(&decided.mapping, walk.job, walk.watch).map(drop)
}

/// The highest level of each quasi-identifier.
pub(super) fn heights(mut walk: Walk<'_>) -> Result<Vec<(String, usize)>> {
    let (Bound { prepared, .. }, ..) = bind(&mut walk)?;
    let heights = prepared.task.taxonomies.iter().map(|tree| tree.height());
    Ok(prepared.names.into_iter().zip(heights).collect())
}

/// Refuses to save what fits only the rows it was made from.
pub(super) fn check_saving(walk: &Walk<'_>, sink: &dyn Sink) -> Result<()> {
    let is_local = walk.job.policy.search().algorithm == Algorithm::Local;
    if sink.wants_recoding() && is_local && matches!(walk.job.decision, Decision::Search) {
        return Err(Error::Inapplicable {
            place: None,
            key: "save-recoding".into(),
            problem:
                "cannot be used with the algorithm local, whose classes fit only the rows they \
                      were made from"
                    .into(),
        });
    }
    Ok(())
}

/// Scans the table once and binds the policy to it. The confidences that rows need and the bytes of
/// the population come with it.
fn bind<'a>(walk: &mut Walk<'a>) -> Result<(Bound<'a>, Option<RowNeeds>, u64)> {
    let (policy, watch) = (&walk.job.policy, walk.watch);
    let table = walk.table()?;
    walk.clock.phase("read");
    let keys: Vec<&str> =
        table.with_role(Role::QuasiIdentifier).map(|column| column.name.as_str()).collect();
    let population = policy.population(&keys, watch)?;
    let confidences = confidences(policy, walk.source, watch)?;
    let outside = Outside {
        population: population.as_ref().map(|(table, _)| table),
        confidences: confidences.as_deref(),
    };
    let mut prepared = policy.prepare_within(&table, outside, watch)?;
    let task = &mut prepared.task;
    let shortcuts = walk.job.parameters.shortcuts;
    task.confident = task.confident.take().map(|confident| confident.with_shortcuts(shortcuts));
    let bytes = population.map_or(0, |(_, bytes)| bytes);
    let needs = confidences.map(|confidences| RowNeeds::new(&table, &confidences, watch));
    let needs = needs.transpose()?;
    walk.clock.phase("bind");
    Ok((Bound { policy, table, prepared }, needs, bytes))
}

/// What is released, and how it was decided.
struct Decided {
    algorithm: &'static str,
    mapping: Mapping,
    search: Option<SearchReport>,
    alternatives: Vec<Alternative>,
    /// No release loses less of what was minimized, proven.
    proven: Option<f64>,
}

/// What is released: found by a search, fixed by hand, or saved before.
fn decide(walk: &mut Walk<'_>, bound: &Bound<'_>, is_saved: bool) -> Result<Decided> {
    let Decision::Search = &walk.job.decision else {
        let (algorithm, mapping) = decide_mapping(&walk.job.decision, &bound.prepared)?;
        let (search, alternatives, proven) = (None, Vec::new(), None);
        return Ok(Decided { algorithm, mapping, search, alternatives, proven });
    };
    let Searched { algorithm, found, believed, alternatives, proven } =
        search(walk.job, bound, is_saved, walk.watch)?;
    let seconds = walk.clock.phase("search");
    let search = Some(SearchReport::of(&found, believed, seconds));
    let mapping = if is_saved { found.mapping.of_boxes() } else { found.mapping };
    Ok(Decided { algorithm, mapping, search, alternatives, proven })
}

/// The mapping of levels fixed by hand, or of a saved recoding.
pub(super) fn decide_mapping(
    decision: &Decision,
    prepared: &Prepared,
) -> Result<(&'static str, Mapping)> {
    let Prepared { names, task, .. } = prepared;
    match decision {
        Decision::Search => Err(Error::Defect),
        Decision::Levels(given) => {
            let levels = levels_by_hand(given, names, &task.taxonomies)?;
            Ok(("fixed-levels", Mapping::Levels(levels)))
        }
        Decision::Saved(recoding, name) => {
            let columns = Columns { names, taxonomies: &task.taxonomies, axes: &task.axes };
            Ok(("saved-recoding", recoding.bind(columns, name)?))
        }
    }
}

/// What stands for suppressed sensitive values, if some may be.
fn token_of<'a>(policy: &'a Policy, prepared: &'a Prepared) -> Option<Token<'a>> {
    let column = prepared.cuts.as_ref()?.sensitive.as_deref()?;
    policy.token().map(|text| Token { column, text })
}

impl Bound<'_> {
    /// The quasi-identifiers, as a recoding needs to know them.
    pub(super) fn columns(&self) -> Columns<'_> {
        let task = &self.prepared.task;
        Columns { names: &self.prepared.names, taxonomies: &task.taxonomies, axes: &task.axes }
    }

    fn token(&self) -> Option<Token<'_>> {
        token_of(self.policy, &self.prepared)
    }

    /// For each column of the release, how its labels are spelled. Values that are passed on are
    /// written as they came, unless some of them are suppressed.
    fn notations<'b>(
        &'b self,
        token: Option<Token<'b>>,
    ) -> impl Iterator<Item = Option<&'b Notation>> {
        self.table.columns.iter().map(move |column| {
            let is_recoded = matches!(column.data, Data::Key(_));
            let has_token = token.is_some_and(|token| token.column == column.name);
            let notation = self.policy.notation(&column.name);
            notation.filter(|_| is_recoded || has_token)
        })
    }

    /// The caps that follow from frequencies.
    fn told_caps(&self, recoded: &Recoded, watch: &Watch) -> Result<ToldCaps> {
        if !self.policy.derives_caps() {
            return Ok(ToldCaps::default());
        }
        let classes = recoded.class_of_row(&self.table, &self.prepared.leaf_cell, watch)?;
        let hidden = self.token().zip(recoded.within.as_ref());
        ToldCaps::new(&self.prepared.caps, &self.table, watch, |column, row| {
            let is_hidden =
                hidden.is_some_and(|(token, within)| token.column == column && within.hidden[row]);
            !is_hidden && recoded.is_released(row, classes.at(row))
        })
    }

    /// What was decided: as a published report tells it, and what only the owner may see.
    fn decided(
        &self,
        mapping: &Mapping,
        recoded: &Recoded,
    ) -> (RecodingReport, Option<PrivateRecoding>) {
        let columns = self.columns();
        let names = columns.names.iter().cloned();
        match mapping {
            Mapping::Levels(levels) => {
                let heights = columns.taxonomies.iter().map(|tree| tree.height());
                let heights = names.clone().zip(heights).collect();
                let levels = names.zip(levels.iter().copied()).collect();
                (RecodingReport::FullDomain { levels }, Some(PrivateRecoding::Heights(heights)))
            }
            Mapping::Cuts(cuts) => {
                let labels = |(tree, cut): (&Arc<Taxonomy>, &Cut)| {
                    let label =
                        |node: &TreeNode| tree.level(node.level).label(node.index).to_string();
                    cut.nodes().iter().map(label).collect()
                };
                let labels = columns.taxonomies.iter().zip(cuts).map(labels);
                let all = names.clone().zip(labels).collect();
                let cuts = names.zip(recoded.released_labels()).collect();
                (RecodingReport::Cuts { cuts }, Some(PrivateRecoding::Cuts(all)))
            }
            Mapping::Regions(regions) => {
                // Regions of the population without a row of the table are in no release.
                let released = recoded.classes.counts().iter().filter(|rows| **rows > 0).count();
                (RecodingReport::regions(released as u64, regions.style), None)
            }
            Mapping::Local(local) => (RecodingReport::local(local.style), None),
        }
    }

    /// The classes of a mapping and what is suppressed of them.
    fn recode(&self, mapping: &Mapping, job: &Job, watch: &Watch) -> Result<Recoded> {
        let task = &self.prepared.task;
        let is_extra = job.parameters.cuts.extra_suppression;
        let cuts = self.prepared.cuts.as_ref().filter(|_| matches!(mapping, Mapping::Cuts(_)));
        let Some(cuts) = cuts else {
            if is_extra {
                return Err(self.no_extra("requires cuts; leave it out if levels are given"));
            }
            return Recoded::new(task, mapping, watch);
        };
        let cells = self.table.row_cells.then(&self.prepared.leaf_cell, watch)?;
        let records = Records { cells: &cells, values: &cuts.values, labels: &cuts.labels };
        let draws = Draws { secrets: job.secrets(), extra: cuts.extra };
        let recoded = Recoded::by_scheme(task, mapping, &cuts.problem, records, draws, watch)?;
        // Who asked for it relies on it.
        if is_extra && recoded.within.as_ref().is_none_or(|within| within.extra == 0) {
            return Err(self.no_extra(
                "is impossible here, because nothing can be suppressed within this share; raise \
                 it, or leave it out",
            ));
        }
        Ok(recoded)
    }

    /// Why nothing can be suppressed at random.
    fn no_extra(&self, problem: &str) -> Error {
        let place = Some(Place::file(self.policy.file()));
        let key = "search.extra-suppression".into();
        Error::Inapplicable { place, key, problem: problem.into() }
    }
}

/// What a recoded table lost. If there are several targets, the first counts.
fn losses(
    table: &Table,
    prepared: &Prepared,
    recoded: &Recoded,
    watch: &Watch,
) -> Result<(Losses, PrivateLosses)> {
    let task = &prepared.task;
    let target = table.with_role(Role::Target).next();
    let target = target.map(|column| of_target(column, table, prepared, recoded, watch));
    let target = target.transpose()?.flatten();
    watch.check()?;
    let (lm, dm) = (recoded.lm(task), recoded.dm(task));
    watch.check()?;
    let entropy = Some(recoded.entropy(task, watch)?);
    let lm_weighted = recoded.lm_weighted(task);
    let losses = Losses { lm_weighted, ..Losses::new(lm, dm, target) };
    Ok((losses, PrivateLosses::new(target, entropy)))
}

/// What a recoded table tells about a target.
fn of_target(
    column: &Column,
    table: &Table,
    prepared: &Prepared,
    recoded: &Recoded,
    watch: &Watch,
) -> Result<Option<OfTarget>> {
    let Data::Coded { dictionary, codes, .. } = &column.data else { return Ok(None) };
    let classes = recoded.class_of_row(table, &prepared.leaf_cell, watch)?;
    let mut whole = vec![0; dictionary.len()];
    watch.each(codes.raw(), PIECE, |code| whole[*code as usize] += 1)?;
    let by_class = |classes: &[u32], codes: &[u32]| {
        Tallies::count(recoded.classes.len(), classes, codes, watch)
    };
    let released = match &recoded.within {
        None => by_class(classes.raw(), codes.raw()),
        Some(within) => {
            let (mut kept_classes, mut kept_codes) = (Vec::new(), Vec::new());
            let rows = classes.iter().zip(codes.iter()).zip(within.rows.values());
            watch.each(rows, PIECE, |((class, code), is_lost)| {
                if !is_lost {
                    kept_classes.push(class.number());
                    kept_codes.push(code.number());
                }
            })?;
            by_class(&kept_classes, &kept_codes)
        }
    }?;
    let numbers: Option<Vec<f64>> =
        dictionary.values().map(|value| Type::Real.number(value)).collect();
    Ok(Some(recoded.of_target(&prepared.task, &whole, &released, numbers.as_deref())))
}
