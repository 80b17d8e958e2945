//! A distribution release against the table that it came from.

use super::plan::{self, Plan, Rows};
use super::verify::{self, DistributionVerification};
use super::{Generalized, read};
use crate::error::{Error, Result, quoted};
use crate::policy::{Of, Policy};
use crate::recoding::{Columns, Recoding};
use crate::release::{Distributed, Released, Tree, read_coded};
use crate::table::{Role, Table, Tallies};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// The values that the groups of a release had.
pub(super) struct Originals<'a> {
    /// For each group of the release, in its order, values of the domain with counts.
    pub(super) values: Cow<'a, Tallies>,
    /// What each value of the domain is called.
    pub(super) labels: &'a [String],
    /// Rows of each group.
    pub(super) records: &'a [u32],
}

impl Originals<'_> {
    /// How often each leaf of a tree occurs in the whole table, or in the owner's group that group
    /// `at` is a part of.
    pub(super) fn counts(
        &self,
        released: &Distributed,
        tree: &Tree,
        of: Of,
        at: usize,
    ) -> Vec<u64> {
        let leaf_of = self.leaf_of(tree);
        let leaves = tree.leaves.first().map_or(0, |(_, end)| *end as usize);
        let mut counts = vec![0; leaves];
        for (group, read) in released.groups.iter().enumerate().take(self.values.len()) {
            if of == Of::Table || read.part_of == released.groups[at].part_of {
                for (code, count) in self.values.group(group) {
                    if let Some(leaf) = leaf_of[*code as usize] {
                        counts[leaf as usize] += u64::from(*count);
                    }
                }
            }
        }
        counts
    }

    /// The leaf of each value of the domain in a tree.
    fn leaf_of(&self, tree: &Tree) -> Vec<Option<u32>> {
        let leaf = |label: &String| {
            let (start, end) = tree.leaves[*tree.index.get(label)? as usize];
            (end == start + 1).then_some(start)
        };
        self.labels.iter().map(leaf).collect()
    }
}

/// Definition 3.1: whether the subdomains of every group are a generalization of its values. What
/// is not, is said.
pub(super) fn check(released: &Distributed, originals: &Originals<'_>) -> Vec<String> {
    if originals.values.len() != released.groups.len() {
        return vec![format!(
            "{} groups where the table has {}",
            released.groups.len(),
            originals.values.len()
        )];
    }
    let leaves: Vec<Vec<Option<u32>>> =
        released.trees.iter().map(|tree| originals.leaf_of(tree)).collect();
    let wrong = released.groups.par_iter().enumerate().find_map_first(|(at, group)| {
        let name = quoted(&group.name);
        if group.records != u64::from(originals.records[at]) {
            return Some(format!(
                "group {name} has {} records, and the table {}",
                group.records, originals.records[at]
            ));
        }
        let leaf = |(code, count): &(u32, u32)| Some((leaves[group.tree][*code as usize]?, *count));
        let values: Option<Vec<(u32, u32)>> = originals.values.group(at).iter().map(leaf).collect();
        let fits = values.is_some_and(|mut values| {
            values.sort_unstable();
            released.trees[group.tree].is_generalization(&values, &group.subdomains)
        });
        (!fits).then(|| format!("the subdomains of group {name} are no generalization of its values (definition 3.1)"))
    });
    wrong.into_iter().collect()
}

/// Verifies a folder from what is written in it and from the table it came from: the values of each
/// group, and the records.
pub(super) fn verify(
    folder: &Path,
    policy: &Policy,
    original: &Path,
    delimiter: Option<u8>,
) -> Result<DistributionVerification> {
    let asked = verify::asked(policy)?;
    let table = read(crate::jobs::open(original, delimiter)?, policy, asked)?;
    let generalized = match policy.privacy().asks_for_classes() {
        true => Some(recode(folder, policy, &table)?),
        false => None,
    };
    let (columns, rows) = match &generalized {
        Some(generalized) => generalized.released(&table),
        None => (Released::of(&table, None), Rows::All(table.rows() as usize)),
    };
    let plan = Plan::new(policy, asked, &table, &columns, rows, generalized.is_some())?;
    let tuples = plan.tuples();
    let released = Distributed::read(folder)?;
    let records = Records::read(folder, policy)?;
    let owner: HashMap<&str, u32> =
        released.groups.iter().zip(0..).map(|(group, at)| (group.name.as_str(), at)).collect();
    let mut problems = Vec::new();
    // Records and rows are matched by the owner's group and the tuple: how many there are of each,
    // and which group they are in.
    let mut found: HashMap<(String, String), (u32, u32)> = HashMap::new();
    for ((group, tuple), count) in &records.counts {
        let Some(at) = owner.get(group.as_str()) else { continue };
        let part_of = released.groups[*at as usize].part_of.clone();
        found.entry((part_of, tuple.clone())).or_insert((*at, 0)).1 += count;
    }
    let mut pairs: Vec<(u64, u32)> = (0..plan.rows.len() as u32)
        .map(|at| (u64::from(plan.groups[at as usize]) << 32 | u64::from(tuples[at as usize]), at))
        .collect();
    pairs.par_sort_unstable();
    let mut groups = vec![0u32; plan.rows.len()];
    let mut sizes = vec![0u32; released.groups.len()];
    for run in pairs.chunk_by(|a, b| a.0 == b.0) {
        let first = run[0].1 as usize;
        let tuple = tuple_text(plan.columns.iter().copied(), plan.rows.get(first));
        let name = plan.names[plan.groups[first] as usize].clone();
        match found.get(&(name.clone(), tuple)) {
            Some((at, count)) if *count as usize == run.len() => {
                sizes[*at as usize] += run.len() as u32;
                run.iter().for_each(|(_, row)| groups[*row as usize] = *at);
            }
            _ => {
                problems.push(format!(
                    "the records of group {} are not those of the table",
                    quoted(&name)
                ));
                break;
            }
        }
    }
    let rows: u64 = records.counts.values().map(|count| u64::from(*count)).sum();
    if problems.is_empty() && rows != plan.rows.len() as u64 {
        problems.push(format!("{rows} records, and the table has {}", plan.rows.len()));
    }
    if !problems.is_empty() {
        let mut verification = verify::judge(folder, policy, None)?;
        verification.problems.extend(problems);
        verification.compared = true;
        return Ok(verification);
    }
    let values = Cow::Owned(Tallies::count(released.groups.len(), &groups, &plan.values));
    let originals = Originals { values, labels: &plan.domain.labels, records: &sizes };
    verify::judge(folder, policy, Some(&originals))
}

/// The quasi-identifiers as the release's own recoding makes them.
fn recode(folder: &Path, policy: &Policy, table: &Table) -> Result<Generalized> {
    let file = folder.join("recoding.json");
    let text = std::fs::read(&file).map_err(|_| Error::Incomplete {
        file: folder.to_path_buf(),
        missing:
            "this release has no recoding.json, without which its classes cannot be made again"
                .into(),
    })?;
    let saved = Recoding::from_json(&text, &file)?;
    let prepared = policy.prepare(table)?;
    let task = &prepared.task;
    let columns =
        Columns { names: &prepared.names, taxonomies: &task.taxonomies, axes: &task.axes };
    let mapping = saved.bind(columns, &file)?;
    Generalized::new("saved-recoding", prepared, mapping)
}

/// How many records there are of each group and tuple.
struct Records {
    counts: HashMap<(String, String), u32>,
}

/// What stands between the values of a tuple: nothing that a table has.
const BETWEEN: char = '\u{1f}';

/// The quasi-identifiers of a row in one text.
fn tuple_text<'a>(columns: impl Iterator<Item = &'a Released<'a>>, row: usize) -> String {
    let mut text = String::new();
    for column in columns.filter(|column| column.is_key) {
        text.push_str(column.label(column.codes[row]));
        text.push(BETWEEN);
    }
    text
}

impl Records {
    fn read(folder: &Path, policy: &Policy) -> Result<Records> {
        let mut table = read_coded(folder, "records.csv", &[])?;
        for column in &mut table.columns {
            let said = policy
                .attribute(&column.name)
                .and_then(|attribute| attribute.role)
                .or(policy.default_role());
            if said == Some(Role::QuasiIdentifier) && column.name != plan::GROUP {
                column.role = Role::QuasiIdentifier;
            }
        }
        let columns = Released::of(&table, None);
        let group = columns.iter().find(|column| column.name == plan::GROUP).ok_or_else(|| {
            Error::Mismatch {
                file: folder.join("records.csv"),
                problem: "there is no column `group`".into(),
            }
        })?;
        let mut counts = HashMap::new();
        for row in 0..table.rows() as usize {
            let name = group.label(group.codes[row]).to_string();
            *counts.entry((name, tuple_text(columns.iter(), row))).or_insert(0) += 1;
        }
        Ok(Records { counts })
    }
}
