//! What the groups of a release held before: the original table, grouped as the release says.
//!
//! Nothing of the plan that made a release is used here. Records and rows are matched by the owner's
//! group and the quasi-identifiers: how many there are of each, and which group they are in.

use super::{Generalized, read};
use crate::error::{Error, Result, quoted};
use crate::job::Job;
use crate::policy::{DistributionAsked, Policy};
use crate::recoding::{Columns, Recoding};
use crate::release::{
    Distributed, GROUP, Originals, Released, Tables, Verification, check_distribution, owner_name,
};
use crate::source::Source;
use crate::table::{Cells, Data, Table, Tallies};
use crate::watch::{PIECE, Watch};
use std::borrow::Cow;
use std::collections::HashMap;

/// Verifies a release, beside the table it came from if that is given.
pub(in crate::job) fn verify(
    job: &Job,
    release: &Tables,
    original: Option<&dyn Source>,
    watch: &Watch,
) -> Result<Verification> {
    let policy = &job.policy;
    let (Some(original), Some(asked)) = (original, &policy.privacy().distribution) else {
        return check_distribution(release, policy, None, watch);
    };
    match compare(policy, asked, release, original, watch) {
        Ok(originals) => check_distribution(release, policy, Some(&originals), watch),
        // What differs from the table is told beside what is wrong with the release itself.
        Err(Error::Mismatch { file, problem }) if file.starts_with(release.name()) => {
            let mut verification = check_distribution(release, policy, None, watch)?;
            verification.fail(problem);
            Ok(verification)
        }
        Err(error) => Err(error),
    }
}

/// A column of the original as it would be released: what its values are called, and the value of
/// each row.
struct ReleasedColumn<'a> {
    labels: Vec<Cow<'a, str>>,
    codes: &'a [u32],
}

/// The sensitive values of each group of the release, from the original.
fn compare(
    policy: &Policy,
    asked: &DistributionAsked,
    release: &Tables,
    original: &dyn Source,
    watch: &Watch,
) -> Result<Originals> {
    let table = read(original, policy, asked, watch)?;
    let generalized = if policy.privacy().asks_for_classes() {
        Some(recode(release, policy, &table)?)
    } else {
        None
    };
    let columns = match &generalized {
        Some(generalized) => generalized.released(&table).0,
        None => Released::of(&table, None),
    };
    let is_released = |row: usize| match &generalized {
        None => true,
        Some(generalized) => {
            let cell = generalized.prepared.leaf_cell[table.row_cells[row] as usize];
            let class = generalized.recoded.class_of[cell as usize];
            generalized.recoded.kept[class as usize]
        }
    };
    let rows: Vec<u32> =
        (0..table.rows() as u32).filter(|row| is_released(*row as usize)).collect();
    let keys: Vec<&Released<'_>> = columns.iter().filter(|column| column.is_key).collect();
    let owners = owners(policy, asked, &columns, &keys, &table)?;
    let sensitive = table.columns.iter().find(|column| column.name == asked.attribute);
    let sensitive = sensitive.ok_or(Error::Defect)?;
    let Data::Coded { dictionary, codes, .. } = &sensitive.data else { return Err(Error::Defect) };
    let mut occurs = vec![false; dictionary.len()];
    rows.iter().for_each(|row| occurs[codes[*row as usize] as usize] = true);
    let domain = policy.domain(asked, &table, sensitive, |code| occurs[code as usize])?;

    // Distinct tuples of owner's columns, quasi-identifiers and the value.
    let (owner_width, width) = (owners.len(), owners.len() + keys.len());
    let mut cells = Cells::new(width + 1);
    let mut tuple = vec![0; width + 1];
    for (number, row) in rows.iter().enumerate() {
        if number % PIECE == 0 {
            watch.check()?;
        }
        let row = *row as usize;
        let of_owners = owners.iter().map(|column| column.codes[row]);
        let of_keys = keys.iter().map(|column| column.codes[row]);
        let all = of_owners.chain(of_keys).chain([codes[row]]);
        tuple.iter_mut().zip(all).for_each(|(code, value)| *code = value);
        cells.add(&tuple, 1);
    }

    let released = Distributed::read(release, watch)?;
    let names: Vec<String> = keys.iter().map(|column| column.name.to_string()).collect();
    let records = released_tuples(release, &released, &names, watch)?;
    let differs = |owner: &str| Error::Mismatch {
        file: release.name().to_path_buf(),
        problem: format!("the records of group {} are not those of the table", quoted(owner)),
    };
    let mut matched: HashMap<(String, Vec<&str>), u64> = HashMap::new();
    let mut of_groups: Vec<(u32, u32, u32)> = Vec::new();
    for (codes, rows) in cells.tuples().zip(cells.counts()) {
        let labels = owners.iter().zip(codes).map(|(column, code)| &*column.labels[*code as usize]);
        let owner = owner_name(labels);
        let of_keys = keys.iter().zip(&codes[owner_width..width]);
        let tuple: Vec<&str> = of_keys.map(|(column, code)| column.label(*code)).collect();
        let found = records.get(&(owner.clone(), owned(&tuple)));
        let (group, _) = found.ok_or_else(|| differs(&owner))?;
        let value = domain.code_of[codes[width] as usize].ok_or(Error::Defect)?;
        of_groups.push((*group, value, *rows));
        *matched.entry((owner, tuple)).or_default() += u64::from(*rows);
    }
    for ((owner, tuple), rows) in &matched {
        let found = records.get(&(owner.clone(), owned(tuple)));
        if found.is_none_or(|(_, counted)| counted != rows) {
            return Err(differs(owner));
        }
    }
    if matched.len() != records.len() {
        let counted: u64 = records.values().map(|(_, counted)| counted).sum();
        let problem = format!("{counted} records, and the table has {}", rows.len());
        return Err(Error::Mismatch { file: release.name().to_path_buf(), problem });
    }
    Ok(originals(of_groups, released.groups.len(), domain.labels))
}

fn owned(tuple: &[&str]) -> Vec<String> {
    tuple.iter().map(|text| text.to_string()).collect()
}

/// Counts by group and value as a verification needs them.
fn originals(mut counts: Vec<(u32, u32, u32)>, groups: usize, labels: Vec<String>) -> Originals {
    counts.sort_unstable();
    let (mut starts, mut entries): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
    let mut records = vec![0u32; groups];
    for alike in counts.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (group, value, _) = alike[0];
        let rows: u32 = alike.iter().map(|(.., rows)| rows).sum();
        starts.resize(group as usize + 1, entries.len() as u32);
        entries.push((value, rows));
        records[group as usize] += rows;
    }
    starts.resize(groups + 1, entries.len() as u32);
    Originals { values: Tallies::from_parts(starts, entries), labels, records }
}

/// The columns that owner's groups are made of, at their levels.
fn owners<'a>(
    policy: &Policy,
    asked: &DistributionAsked,
    columns: &'a [Released<'a>],
    keys: &[&'a Released<'a>],
    table: &Table,
) -> Result<Vec<ReleasedColumn<'a>>> {
    let plain = |column: &'a Released<'a>| ReleasedColumn {
        labels: column.labels().map(Cow::Borrowed).collect(),
        codes: &column.codes,
    };
    if asked.groups.is_empty() {
        let classes = policy.privacy().asks_for_classes();
        return Ok(if classes { keys.iter().copied().map(plain).collect() } else { Vec::new() });
    }
    let mut owners = Vec::new();
    for (name, level) in &asked.groups {
        let column = columns.iter().find(|column| column.name == name);
        let column = column.ok_or(Error::Defect)?;
        owners.push(match level {
            0 => plain(column),
            level => {
                let source = table.columns.iter().find(|column| column.name == *name);
                let values = source.and_then(|column| column.dictionary()).ok_or(Error::Defect)?;
                let labels = policy.labels_of(name, values, *level, &table.file)?;
                let labels = labels.into_iter().map(Cow::Owned).collect();
                ReleasedColumn { labels, codes: &column.codes }
            }
        });
    }
    Ok(owners)
}

type Tuples = HashMap<(String, Vec<String>), (u32, u64)>;

/// For each owner's group and tuple of quasi-identifiers: the group of the release, and how many
/// records it has.
fn released_tuples(
    release: &Tables,
    released: &Distributed,
    keys: &[String],
    watch: &Watch,
) -> Result<Tuples> {
    let table = release.get("records")?;
    let names = table.names();
    let position = |name: &str| {
        let found = names.iter().position(|known| known == name);
        let problem = format!("there is no column {}", quoted(name));
        found.ok_or_else(|| Error::Mismatch { file: table.file(), problem })
    };
    let mut columns = vec![position(GROUP)?];
    for key in keys {
        columns.push(position(key)?);
    }
    let group_of: HashMap<&str, u32> =
        released.groups.iter().zip(0..).map(|(group, at)| (group.name.as_str(), at)).collect();
    let mut tuples = Tuples::new();
    for (tuple, rows) in table.count(&columns, watch)?.tuples() {
        let Some(at) = group_of.get(tuple[0]) else { continue };
        let owner = released.groups[*at as usize].part_of.clone();
        tuples.entry((owner, owned(&tuple[1..]))).or_insert((*at, 0)).1 += rows;
    }
    Ok(tuples)
}

/// The quasi-identifiers as the release's own recoding makes them.
fn recode(release: &Tables, policy: &Policy, table: &Table) -> Result<Generalized> {
    let file = release.name().join("recoding.json");
    let text = release.recoding().ok_or_else(|| Error::Incomplete {
        file: release.name().to_path_buf(),
        missing: "this release has no recoding.json, without which its classes cannot be made \
                  again"
            .into(),
    })?;
    let saved = Recoding::from_json(text, &file)?;
    let prepared = policy.prepare(table)?;
    let task = &prepared.task;
    let columns =
        Columns { names: &prepared.names, taxonomies: &task.taxonomies, axes: &task.axes };
    let mapping = saved.bind(columns, &file)?;
    Generalized::new("saved-recoding", prepared, mapping)
}
