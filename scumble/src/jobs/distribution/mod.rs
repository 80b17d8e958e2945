//! Sensitive values that follow a target distribution: groups, buckets, a folder that is verified
//! before it has its name.
//!
//! Quasi-identifiers stay as they are, so who is in the table is not hidden. Where the policy asks
//! for classes too (`k`, …), any other search generalizes them first, and the distribution holds
//! inside each class.
//!
//! What is done for each of many million rows is little: a row gets the number of its group and of
//! its value, values are counted by group once, for the search and for whoever checks it, and rows
//! are sorted as packed numbers. Lines are copied from fields that were rendered once per value, in
//! pieces that are made in parallel and handed over in order. A file that is complete becomes
//! durable while the others are written and read back.
//!
//! | file | question |
//! |---|---|
//! | `plan` | which groups, values and targets do rows have? |
//! | `records`, `write`, `bounds` | what stands in the files? |
//! | `lines` | how are a hundred million fields written? |
//! | `verify`, `original` | does the folder keep what was asked, by what is written in it, and beside the table? |
//! | `scripts`, `report` | how is it used, and what did it take? |

mod bounds;
mod lines;
mod original;
mod plan;
mod records;
mod report;
mod scripts;
mod verify;
mod write;

pub use report::DistributionReport;
pub use verify::{DistributionVerification, verify_distribution};

use super::{Clock, Failure, Options, anonymize, check_apart, open};
use crate::bind::Prepared;
use crate::error::{Error, Place, Result, quoted};
use crate::policy::{Algorithm, DistributionAsked, Policy};
use crate::recoding::{Columns, Mapping, Recoding};
use crate::release::{FolderDraft, Io, Recoded, Released};
use crate::search::buckets::{Distributed, qi_sa, sa_only, size};
use crate::source::{Source, encode};
use crate::table::{Role, Table};
use plan::{GROUP, Plan, Rows, part_names};
use std::borrow::Cow;
use std::path::Path;

/// Reads a table so that every released column is coded, with the roles of the policy; the
/// sensitive attribute is insensitive to all other requirements.
fn read(source: Source, policy: &Policy, asked: &DistributionAsked) -> Result<Table> {
    let roles = policy.roles(&source.names().collect::<Vec<_>>(), source.file(), false)?;
    check_roles(&source, policy, asked, &roles)?;
    // Cells of quasi-identifiers are for searches.
    let keyed = policy.privacy().asks_for_classes();
    let read = |role: &Role| match role {
        Role::Insensitive => Role::Target,
        Role::QuasiIdentifier if !keyed => Role::Target,
        role => *role,
    };
    let mut table = encode(source, &roles.iter().map(read).collect::<Vec<_>>())?;
    let kept = roles.into_iter().filter(|role| *role != Role::Identifier);
    for (column, role) in table.columns.iter_mut().zip(kept) {
        column.role = if column.name == asked.attribute { Role::Insensitive } else { role };
    }
    Ok(table)
}

fn check_roles(
    source: &Source,
    policy: &Policy,
    asked: &DistributionAsked,
    roles: &[Role],
) -> Result<()> {
    let incomplete =
        |missing: String| Err(Error::Incomplete { file: policy.file().to_path_buf(), missing });
    let name = quoted(&asked.attribute);
    let role =
        source.names().zip(roles).find(|(name, _)| *name == asked.attribute).map(|(_, role)| *role);
    match role {
        None => {
            let names = source.names();
            let nearest = crate::policy::nearest(&asked.attribute, names);
            let file = source.file().to_path_buf();
            return Err(Error::NoSuchColumn { file, column: asked.attribute.clone(), nearest });
        }
        Some(Role::Sensitive) => {}
        Some(_) => {
            return incomplete(format!(
                "`distribution` is about {name}, whose role is not `sensitive`"
            ));
        }
    }
    let other = source
        .names()
        .zip(roles)
        .find(|(name, role)| **role == Role::Sensitive && *name != asked.attribute);
    if let (Some((other, _)), false) = (other, policy.privacy().asks_for_classes()) {
        return incomplete(format!(
            "{} is sensitive too, and nothing protects it beside unchanged quasi-identifiers; ask for `k` or `l-diversity`, or make it an identifier",
            quoted(other)
        ));
    }
    let privacy = policy.privacy();
    let mut about = privacy.diversity.iter().map(|asked| &asked.sensitive).chain(
        privacy.closeness.iter().map(|asked| &asked.sensitive).chain(
            privacy
                .variance
                .iter()
                .map(|asked| &asked.sensitive)
                .chain(privacy.thresholds.iter().map(|asked| &asked.sensitive)),
        ),
    );
    // What is not about one attribute is about all that are left.
    if about.any(|about| about.as_ref().map_or(other.is_none(), |about| *about == asked.attribute))
    {
        return incomplete(format!(
            "diversity and closeness of {name} are a matter of its distribution's target"
        ));
    }
    let is_group = asked.groups.len() == 1 && asked.groups[0] == (GROUP.to_string(), 0);
    if source.names().any(|name| name == GROUP) && !is_group {
        let place = Place::file(source.file()).column(GROUP);
        let problem = "is the name of a column that the release adds; rename yours, or group by it";
        return Err(Error::Unfit { place, value: GROUP.into(), problem: problem.into() });
    }
    Ok(())
}

/// The algorithm for the buckets.
fn algorithm(policy: &Policy, asked: &DistributionAsked) -> (&'static str, bool) {
    match asked.algorithm.unwrap_or(policy.search().algorithm) {
        Algorithm::QiSa => ("qi-sa", true),
        _ => ("sa-only", false),
    }
}

/// Quasi-identifiers that a search has generalized, and how.
struct Generalized {
    algorithm: &'static str,
    prepared: Prepared,
    mapping: Mapping,
    recoded: Recoded,
}

impl Generalized {
    fn search(policy: &Policy, table: &Table, options: &Options) -> Result<Generalized, Failure> {
        let prepared = policy.prepare(table)?;
        if let Some(given) = &options.levels {
            let levels =
                anonymize::levels_by_hand(given, &prepared.names, &prepared.task.taxonomies)?;
            return Ok(Generalized::new("fixed-levels", prepared, Mapping::Levels(levels))?);
        }
        let (algorithm, found) =
            anonymize::search(policy, &prepared, options, std::time::Instant::now())?;
        Ok(Generalized::new(algorithm, prepared, found.mapping)?)
    }

    fn new(algorithm: &'static str, prepared: Prepared, mapping: Mapping) -> Result<Generalized> {
        let recoded = Recoded::new(&prepared.task, &mapping)?;
        Ok(Generalized { algorithm, prepared, mapping, recoded })
    }

    /// The columns as they are released, and the rows whose class is kept.
    fn released<'a>(&'a self, table: &'a Table) -> (Vec<Released<'a>>, Rows) {
        let leaf_cell = &self.prepared.leaf_cell;
        let class = |row: u32| {
            self.recoded.class_of[leaf_cell[table.row_cells[row as usize] as usize] as usize]
        };
        let kept = (0..table.rows() as u32)
            .filter(|row| self.recoded.kept[class(*row) as usize])
            .collect();
        (Released::of(table, Some((&self.recoded, leaf_cell))), Rows::Some(kept))
    }

    fn recoding(&self) -> Option<Recoding> {
        let task = &self.prepared.task;
        let columns =
            Columns { names: &self.prepared.names, taxonomies: &task.taxonomies, axes: &task.axes };
        Recoding::of(columns, &self.mapping)
    }
}

/// Anonymizes `input` by the policy's distribution and writes the verified release to the folder
/// `output`.
pub fn distribute(
    input: &Path,
    policy: &Policy,
    output: &Path,
    options: &Options,
) -> Result<DistributionReport, Failure> {
    let Some(asked) = &policy.privacy().distribution else {
        let missing = "there is no `distribution` under [privacy]".into();
        return Err(Error::Incomplete { file: policy.file().to_path_buf(), missing }.into());
    };
    policy.check_presence()?;
    let flag = |key: &str, expected: &str| -> Failure {
        let (key, value, expected) = (key.into(), "given".into(), expected.into());
        Error::BadParameter { place: None, key, value, expected }.into()
    };
    if options.save_recoding.is_some() {
        return Err(flag(
            "--save-recoding",
            "nothing: the folder of a distribution has its own recoding.json",
        ));
    }
    if options.levels.is_some() && !policy.privacy().asks_for_classes() {
        return Err(flag(
            "--levels",
            "a policy that asks for classes, such as `k`; else quasi-identifiers stay",
        ));
    }
    let mut clock = Clock::start();
    check_apart(&[output], policy.files().chain([input]))?;
    let draft = FolderDraft::new(output)?;
    let source = open(input, options.delimiter)?.watched(&options.watch, "read");
    let bytes = source.bytes();
    // Beside the rows there are their groups, their order, and both again as they are verified.
    anonymize::check_memory(input, source.memory_needed().saturating_mul(3), options, "")?;
    let table = read(source, policy, asked)?;
    clock.phase("read");
    let generalized = match policy.privacy().asks_for_classes() {
        true => Some(Generalized::search(policy, &table, options)?),
        false => None,
    };
    let (columns, rows) = match &generalized {
        Some(generalized) => generalized.released(&table),
        None => (Released::of(&table, None), Rows::All(table.rows() as usize)),
    };
    let plan = Plan::new(policy, asked, &table, &columns, rows, generalized.is_some())?;
    clock.phase("bind");
    let (algorithm, parted) = algorithm(policy, asked);
    let found = match parted {
        true => qi_sa::search(&plan.problem(asked), &plan.tuples()),
        false => sa_only::search(&plan.problem(asked)),
    };
    clock.phase("search");
    let names = part_names(&plan.names, &found.part_of, parted);
    let records: Vec<u32> =
        (0..names.len()).map(|group| size(found.tallies.group(group)) as u32).collect();
    let mut written = write_tables(&draft, &plan, &found, &names, &records, options)?;
    if let Some(recoding) = generalized.as_ref().and_then(Generalized::recoding) {
        written += write::text(&draft, "recoding.json", &(recoding.to_json() + "\n"))?;
    }
    clock.phase("write");
    let originals = original::Originals {
        values: Cow::Borrowed(&found.tallies),
        labels: &plan.domain.labels,
        records: &records,
    };
    let verification = verify::judge(draft.path(), policy, Some(&originals))?;
    if let Some(reason) = verification.failure() {
        return Err(Error::CheckFailed { file: output.to_path_buf(), reason }.into());
    }
    clock.phase("verify");
    let mut report = DistributionReport {
        algorithm,
        generalized_by: generalized.as_ref().map(|generalized| generalized.algorithm),
        rows: table.rows(),
        suppressed: table.rows() - plan.rows.len() as u64,
        attribute: asked.attribute.clone(),
        target: asked.target.name(),
        rounding: plan.targets.iter().map(|target| target.rounding).collect(),
        domain: plan.domain.len() as u64,
        scale: plan.domain.numbers.as_ref().map(|numbers| numbers.scale),
        columns: scripts::columns(policy, &plan),
        verification,
        io: Io { read: bytes + written, written, ..Io::default() },
        phases: Vec::new(),
    };
    for (name, text) in scripts::all(&report) {
        write::text(&draft, name, &text)?;
    }
    report.phases = clock.phases;
    let json = serde_json::to_string_pretty(&report.to_json()).unwrap_or_default() + "\n";
    write::text(&draft, "report.json", &json)?;
    draft.publish()?;
    Ok(report)
}

fn write_tables(
    draft: &FolderDraft,
    plan: &Plan<'_>,
    found: &Distributed<'_>,
    names: &[String],
    records: &[u32],
    options: &Options,
) -> Result<u64> {
    // The first sorts on its own for a while, the others need little but threads that render.
    let (one, others) = rayon::join(
        || records::write(draft, plan, &found.groups, names, records, options.keep_order),
        || {
            Ok(write::buckets(draft, plan, found, names, records)?
                + write::bounds(draft, plan, found, names, records)?)
        },
    );
    Ok(one? + others?)
}
