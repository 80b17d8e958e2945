//! Sensitive values that follow a target distribution: groups, buckets, several tables.
//!
//! Quasi-identifiers stay as they are, so who is in the table is not hidden. If the policy asks for
//! classes too (`k`, …), another search generalizes them first, and the distribution holds inside
//! each class.
//!
//! Little is done for each of many million rows: a row gets the number of its group and of its
//! value, values are counted by group once, and rows are sorted as packed numbers. The tables are
//! made in pieces, in parallel, and handed over in order.
//!
//! | file | question |
//! |---|---|
//! | `plan` | which groups, values and targets do rows have? |
//! | `reckoning` | does it fit in memory? |
//! | `records`, `tables` | what is in the tables? |
//! | `pieces` | how are a hundred million fields written? |
//! | `scripts` | how is the release used in a database? |
//! | `filters` | the same, with a condition on the sensitive attribute |
//! | `original` | what did the groups of a release hold before? |

mod filters;
mod original;
mod pieces;
mod plan;
mod reckoning;
mod records;
mod scripts;
mod tables;

pub(super) use crate::release::Originals;
pub(super) use original::verify;

use super::memory::decide_mapping;
use super::search::{by_rows, with_refusal};
use super::{Beside, Decision, Produced, ToldCaps, Walk};
use crate::bind::{Outside, Prepared};
use crate::error::{Error, Place, Result, quoted};
use crate::ids::{Id, RowId, TableCellId};
use crate::policy::{DistributionAsked, Policy, nearest};
use crate::recoding::{Columns, Mapping, Recoding};
use crate::release::{
    Claim, DistributionReport, Io, PrivateLosses, PrivateReport, Recoded, ReleaseKind, Released,
    RoundingReport, Sink,
};
use crate::search::buckets::{Rounding, qi_sa, sa_only, size};
use crate::source::{Source, encode};
use crate::table::{Notation, Role, Table};
use crate::watch::{PIECE, Watch};
use plan::{Asked, GROUP, KeptRows, Plan, part_names};
use reckoning::Reckoning;
use std::collections::BTreeMap;
use std::io::Write;
use tables::WrittenNodes;

/// Reads a table so that every released column is coded, with the roles of the policy; the
/// sensitive attribute is insensitive to all other requirements.
fn read(
    source: &dyn Source,
    policy: &Policy,
    asked: &DistributionAsked,
    watch: &Watch,
) -> Result<Table> {
    let names = source.names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let roles = policy.roles(&names, &source.file(), false)?;
    check_roles(source, policy, asked, &roles)?;
    // Cells of quasi-identifiers are for searches.
    let keyed = policy.privacy().asks_for_classes();
    let read = |role: &Role| match role {
        Role::Insensitive => Role::Target,
        Role::QuasiIdentifier if !keyed => Role::Target,
        role => *role,
    };
    let mut table = encode(source, &roles.iter().map(read).collect::<Vec<_>>(), watch, "read")?;
    let kept = roles.into_iter().filter(|role| *role != Role::Identifier);
    for (column, role) in table.columns.iter_mut().zip(kept) {
        column.role = if column.name == asked.attribute { Role::Insensitive } else { role };
    }
    Ok(table)
}

fn check_roles(
    source: &dyn Source,
    policy: &Policy,
    asked: &DistributionAsked,
    roles: &[Role],
) -> Result<()> {
    let incomplete =
        |missing: String| Err(Error::Incomplete { file: policy.file().to_path_buf(), missing });
    let (name, names) = (quoted(&asked.attribute), source.names());
    match names.iter().zip(roles).find(|(name, _)| **name == asked.attribute).map(|(_, role)| role)
    {
        None => {
            let nearest = nearest(&asked.attribute, names.iter().map(String::as_str));
            let (file, column) = (source.file(), asked.attribute.clone());
            return Err(Error::NoSuchColumn { file, column, nearest });
        }
        Some(Role::Sensitive) => {}
        Some(_) => {
            return incomplete(format!("`distribution` requires the role `sensitive` for {name}"));
        }
    }
    let is_other =
        |(name, role): &(&String, &Role)| **role == Role::Sensitive && **name != asked.attribute;
    let other = names.iter().zip(roles).find(is_other);
    if let (Some((other, _)), false) = (other, policy.privacy().asks_for_classes()) {
        return incomplete(format!(
            "{} is sensitive, but nothing protects it; require `k` or `l-diversity`, or make it an \
             identifier",
            quoted(other)
        ));
    }
    let privacy = policy.privacy();
    let about = privacy.diversity.iter().map(|asked| &asked.sensitive);
    let about = about.chain(privacy.closeness.iter().map(|asked| &asked.sensitive));
    let about = about.chain(privacy.variance.iter().map(|asked| &asked.sensitive));
    let mut about = about.chain(privacy.thresholds.iter().map(|asked| &asked.sensitive));
    // A requirement that names no attribute is about all that are left.
    let concerns = |about: &Option<String>| {
        about.as_ref().map_or(other.is_none(), |about| *about == asked.attribute)
    };
    if about.any(concerns) {
        return incomplete(format!(
            "{name} cannot have both `distribution` and other requirements for sensitive values; remove one"
        ));
    }
    let is_group = asked.groups.len() == 1 && asked.groups[0] == (GROUP.to_string(), 0);
    if names.iter().any(|name| name == GROUP) && !is_group {
        let place = Place::file(source.file()).column(GROUP);
        let problem = "is reserved for a column that the release adds; rename it, or group by it";
        return Err(Error::Unfit { place, value: GROUP.into(), problem: problem.into() });
    }
    Ok(())
}

/// Quasi-identifiers that were generalized, and how.
struct Generalized {
    algorithm: &'static str,
    prepared: Prepared,
    mapping: Mapping,
    recoded: Recoded,
}

impl Generalized {
    fn search(walk: &Walk<'_>, table: &Table) -> Result<Generalized> {
        let (job, watch) = (walk.job, walk.watch);
        let prepared = job.policy.prepare_within(table, Outside::default(), watch)?;
        let (algorithm, mapping) = match &job.decision {
            Decision::Search => {
                let (algorithm, found) = by_rows(job, &prepared, watch)?;
                // It is saved beside the folder.
                (algorithm, found.mapping.of_boxes())
            }
            decision => decide_mapping(decision, &prepared)?,
        };
        Generalized::new(algorithm, prepared, mapping, watch)
    }

    fn new(
        algorithm: &'static str,
        prepared: Prepared,
        mapping: Mapping,
        watch: &Watch,
    ) -> Result<Generalized> {
        let recoded = Recoded::new(&prepared.task, &mapping, watch)
            .map_err(|error| with_refusal(error, &prepared, &mapping, watch))?;
        Ok(Generalized { algorithm, prepared, mapping, recoded })
    }

    /// The rows whose class is kept.
    fn kept(&self, table: &Table) -> impl Iterator<Item = RowId> {
        let is_kept = |cell: TableCellId| {
            self.recoded.kept[self.recoded.class_of.at(self.prepared.leaf_cell.at(cell))]
        };
        table.row_cells.pairs().filter(move |(_, cell)| is_kept(*cell)).map(|(row, _)| row)
    }

    /// The columns as they are released, and the rows whose class is kept.
    fn released<'a>(
        &'a self,
        table: &'a Table,
        watch: &Watch,
    ) -> Result<(Vec<Released<'a>>, KeptRows)> {
        let leaf_cell = &self.prepared.leaf_cell;
        let mut kept = Vec::new();
        watch.each(self.kept(table), PIECE, |row| kept.push(row.number()))?;
        let columns = Released::of(table, Some((&self.recoded, leaf_cell)), watch)?;
        Ok((columns, KeptRows::Some(kept)))
    }

    fn recoding(&self) -> Option<Recoding> {
        let Prepared { names, task, .. } = &self.prepared;
        let columns = Columns { names, taxonomies: &task.taxonomies, axes: &task.axes };
        Recoding::of(columns, &self.mapping)
    }
}

/// Scans, generalizes if the policy asks for it, fills buckets and writes.
pub(super) fn produce(walk: &mut Walk<'_>, sink: &mut dyn Sink) -> Result<Produced> {
    let policy = &walk.job.policy;
    let asked = policy.privacy().distribution.as_ref().ok_or(Error::Defect)?;
    let is_generalized = policy.privacy().asks_for_classes();
    let given = match walk.job.decision {
        Decision::Search => None,
        Decision::Levels(_) => Some("levels"),
        Decision::Saved(..) => Some("recoding"),
    };
    if let Some(key) = given.filter(|_| !is_generalized) {
        return Err(Error::Inapplicable {
            place: None,
            key: key.into(),
            problem: "has no effect on a distribution without classes; add a requirement such as \
                      `k`, or leave it out"
                .into(),
        });
    }
    // Beside the rows there are their groups, their order, and both again as they are verified.
    let needed = walk.source.memory_needed().unwrap_or(0).saturating_mul(3);
    walk.check_memory(needed, None)?;
    let mut reckoning = Reckoning::new(walk.job.limits.memory, needed);
    let table = read(walk.source, policy, asked, walk.watch)?;
    walk.clock.phase("read");
    let generalized = if is_generalized { Some(Generalized::search(walk, &table)?) } else { None };
    let (columns, rows) = match &generalized {
        Some(generalized) => generalized.released(&table, walk.watch)?,
        None => {
            let columns = Released::of(&table, None, walk.watch)?;
            (columns, KeptRows::All(table.rows() as usize))
        }
    };
    let parted = asked.is_parted(policy.search().algorithm);
    let wanted = Asked { policy, distribution: asked, is_generalized, is_parted: parted };
    let plan = Plan::new(wanted, &table, (&columns, rows), &mut reckoning, walk.watch)?;
    walk.clock.phase("bind");
    let problem = plan.problem(asked, &reckoning);
    let found = match &plan.tuples {
        Some(tuples) => qi_sa::search(&problem, tuples, walk.watch),
        None => sa_only::search(&problem, walk.watch),
    }?;
    walk.clock.phase("search");
    let names = part_names(&plan.names, &found.part_of, parted);
    let records: Vec<u32> =
        (0..names.len()).map(|group| size(found.tallies.group(group)) as u32).collect();
    let nodes = WrittenNodes::of_all(&plan, &found);
    let has_runs = nodes.iter().any(|nodes| nodes.has_runs);
    let written = tables::Release {
        plan: &plan,
        found: &found,
        names: &names,
        records: &records,
        nodes: &nodes,
    };
    written.write(sink, walk)?;
    if let Some(recoding) = generalized.as_ref().and_then(Generalized::recoding)
        && let Some(mut file) = sink.recoding()?
    {
        let text = recoding.to_json() + "\n";
        file.write_all(text.as_bytes()).map_err(Error::io(sink.name().as_ref(), "write"))?;
    }
    let types = scripts::columns(policy, &plan);
    let scale = plan.domain.numbers.as_ref().map(|numbers| numbers.scale);
    let in_sql = scripts::in_sql(policy, &types);
    for (name, text) in scripts::all(&asked.attribute, &in_sql, scale, has_runs) {
        sink.text(name, &text)?;
    }
    walk.clock.phase("write");
    let rounding = plan.targets.iter().fold(RoundingReport::default(), worst);
    let distribution = DistributionReport {
        attribute: asked.attribute.clone(),
        values: if scale.is_some() { "numbers" } else { "categories" }.into(),
        target: asked.target.name(),
        targets: plan.targets.len() as u64,
        domain: plan.domain.len() as u64,
        // These are counted in what was written.
        groups: 0,
        fakes: 0,
        sum_of_ranges: 0.0,
        share_of_trivial: 0.0,
        rounding,
        notations: notations(policy, types.iter().map(|(name, _)| name), &asked.attribute),
        columns: types.into_iter().map(|(name, kind)| (name, kind.name().into())).collect(),
    };
    let caps = generalized.as_ref().map_or(&[][..], |generalized| &generalized.prepared.caps);
    let judged_by = policy.with_caps(caps)?;
    let told_caps = if policy.derives_caps() {
        let mut is_chosen = vec![false; table.rows() as usize];
        match plan.rows.chosen() {
            Some(rows) => rows.iter().for_each(|row| is_chosen[*row as usize] = true),
            None => is_chosen.fill(true),
        }
        ToldCaps::new(caps, &table, walk.watch, |_, row| is_chosen[row.index()])?
    } else {
        ToldCaps::default()
    };
    let claims = if is_generalized { claims(&columns) } else { Vec::new() };
    let originals =
        Originals::count(policy, asked, &table, &claims, plan.rows.chosen(), walk.watch)?;
    Ok(Produced {
        algorithm: if parted { "qi-sa" } else { "sa-only" },
        generalized_by: generalized.as_ref().map(|generalized| generalized.algorithm),
        rows: table.rows(),
        written: plan.rows.len() as u64,
        columns: Vec::new(),
        suppressed_values: None,
        caps: told_caps,
        private: PrivateReport::new(PrivateLosses::default(), None),
        policy: judged_by,
        release: ReleaseKind::Distribution { distribution },
        notes: Vec::new(),
        alternatives: Vec::new(),
        io: Io::default(),
        beside: Beside::Values(originals),
        leftovers: Box::new(()),
    })
}

/// The notations of the released columns, as a policy states them.
fn notations<'a>(
    policy: &Policy,
    columns: impl Iterator<Item = &'a String>,
    attribute: &'a String,
) -> BTreeMap<String, BTreeMap<String, String>> {
    let keys = |notation: &Notation| {
        notation.keys().into_iter().map(|(key, value)| (key.to_string(), value)).collect()
    };
    let of_column = |name: &String| Some((name.clone(), keys(policy.notation(name)?)));
    columns.chain([attribute]).filter_map(of_column).collect()
}

/// The labels that the rows of generalized quasi-identifiers have, as they are written.
fn claims<'a>(columns: &'a [Released<'_>]) -> Vec<Claim<'a>> {
    let claim = |column: &'a Released<'_>| Claim {
        name: column.name,
        labels: column.labels().collect(),
        codes: &column.codes,
    };
    columns.iter().filter(|column| column.is_key).map(claim).collect()
}

/// The worse of two roundings.
fn worst(worst: RoundingReport, target: &crate::search::buckets::Target) -> RoundingReport {
    let Rounding { largest, total_variation } = target.rounding;
    RoundingReport {
        largest: worst.largest.max(largest),
        total_variation: worst.total_variation.max(total_variation),
    }
}
