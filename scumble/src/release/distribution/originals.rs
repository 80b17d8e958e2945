//! What the groups of a release held before: the rows of the owner's table, by what they are called
//! in the records.
//!
//! Rows are counted by the labels of their columns, and records are found by the same labels, so
//! the group of a row is what the records say. Nothing of the plan, the search and its numbering is
//! used. The code that is shared with them belongs to the room `table`: dictionaries, and how many
//! rows have a tuple or a value.
//!
//! Where quasi-identifiers are generalized, the producer says which label each row got,
//! and which rows are left out ([`Claim`]). That is believed only if the value of every row may
//! have its label by the policy's hierarchy, and if as many rows as records have the same labels. A
//! claim that passes is a way in which the release is true of the table, so a
//! wrong claim cannot hide an error.

use super::Distributed;
use super::levels::Levels;
use super::targets::{Leaves, number};
use super::verify::{GROUP, is_compared, owner_name};
use crate::error::{Error, Result, quoted};
use crate::ids::{Id, RowId};
use crate::policy::{DistributionAsked, Policy};
use crate::source::Counts;
use crate::table::{Cells, Data, Dictionary, Role, Table, Tallies};
use crate::watch::{PIECE, Watch};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// A generalized column, as the producer of the release claims it to be.
pub(crate) struct Claim<'a> {
    /// The name of the column.
    pub(crate) name: &'a str,
    /// The labels that it may have.
    pub(crate) labels: Vec<&'a str>,
    /// The label of each row of the table.
    pub(crate) codes: &'a [u32],
}

/// The sensitive values of a table by the labels of its rows.
pub(crate) struct Originals {
    /// The columns that rows and records are compared by. The owner's own `group` comes first.
    names: Vec<String>,
    labels: Vec<Vec<String>>,
    /// The codes of each tuple of labels, one after the other.
    tuples: Vec<u32>,
    /// For each tuple, sensitive values with counts.
    values: Tallies,
    /// The sensitive values as they are written.
    texts: Vec<String>,
    /// What is wrong with a claim.
    problem: Option<String>,
}

/// A value of the sensitive attribute.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    pub(super) text: &'a str,
    pub(super) number: Option<f64>,
}

impl<'a> Value<'a> {
    pub(super) fn new(text: &'a str) -> Value<'a> {
        Value { text, number: number(text) }
    }
}

/// A column that rows are counted by.
struct ComparedColumn<'a> {
    name: &'a str,
    labels: Vec<Cow<'a, str>>,
    codes: &'a [u32],
}

/// The coded values of a column.
fn coded<'a>(table: &'a Table, name: &str) -> Result<(&'a Dictionary, &'a [u32])> {
    let column = table.columns.iter().find(|column| column.name == name);
    match column.map(|column| &column.data) {
        Some(Data::Coded { dictionary, codes, .. }) => Ok((dictionary, codes.raw())),
        Some(_) => Err(Error::Defect),
        None => Err(Error::NoSuchColumn {
            file: table.file.clone(),
            column: name.to_string(),
            nearest: None,
        }),
    }
}

impl Originals {
    /// Whether rows are counted by the labels of a column.
    pub(crate) fn has_labels(
        policy: &Policy,
        asked: &DistributionAsked,
        name: &str,
        role: Role,
    ) -> bool {
        // A column `group` of the owner's own becomes the one that the release adds.
        let is_own = name == GROUP && asked.groups.iter().any(|(own, _)| own == GROUP);
        is_own || is_compared(policy, asked, name, role)
    }

    /// Counts the rows of a table, or those that are said to be released.
    pub(crate) fn count(
        policy: &Policy,
        asked: &DistributionAsked,
        table: &Table,
        claims: &[Claim<'_>],
        released: Option<&[u32]>,
        watch: &Watch,
    ) -> Result<Originals> {
        let mut problem = None;
        for claim in claims {
            problem = problem.or(check_claim(policy, table, claim, released, watch)?);
        }
        let columns = table.columns.iter();
        let columns = columns
            .filter(|column| Originals::has_labels(policy, asked, &column.name, column.role))
            .map(|column| compared(table, &column.name, claims));
        let mut columns: Vec<ComparedColumn<'_>> = columns.collect::<Result<_>>()?;
        columns.sort_by_key(|column| column.name != GROUP);
        let (dictionary, codes) = coded(table, &asked.attribute)?;
        let codes = of_rows(codes, released);
        let (tuples, tuple_of) = match &columns[..] {
            [] => (Vec::new(), vec![0; codes.len()].into()),
            [only] => ((0..only.labels.len() as u32).collect(), of_rows(only.codes, released)),
            columns => {
                let (tuples, tuple_of) = number_tuples(columns, codes.len(), released, watch)?;
                (tuples, tuple_of.into())
            }
        };
        let number = if columns.is_empty() { 1 } else { tuples.len() / columns.len() };
        let values = Tallies::count(number, &tuple_of, &codes, watch)?;
        let owned = |column: &ComparedColumn<'_>| {
            column.labels.iter().map(|label| label.to_string()).collect()
        };
        Ok(Originals {
            names: columns.iter().map(|column| column.name.to_string()).collect(),
            labels: columns.iter().map(owned).collect(),
            tuples,
            values,
            texts: dictionary.values().map(str::to_string).collect(),
            problem,
        })
    }

    /// The values of each group of a release, or why the records are not those of the table.
    pub(super) fn held(
        &self,
        records: &Counts,
        released: &Distributed,
        watch: &Watch,
    ) -> Result<Result<Held<'_>, String>> {
        let went = match self.problem.clone().map_or_else(|| self.went(records, released), Err) {
            Ok(went) => went,
            Err(problem) => return Ok(Err(problem)),
        };
        let values = self.values.merge(released.groups.len(), &went, self.texts.len(), watch)?;
        let mut totals = vec![0u64; self.texts.len()];
        for (code, count) in (0..values.len()).flat_map(|group| values.group(group)) {
            totals[*code as usize] += u64::from(*count);
        }
        let texts = self.texts.iter().map(|text| Value::new(text)).collect();
        Ok(Ok(Held { values, texts, totals }))
    }

    /// The group of the release that the rows of each tuple are in.
    fn went(&self, records: &Counts, released: &Distributed) -> Result<Vec<u32>, String> {
        let own_group = self.names.first().is_some_and(|name| name == GROUP);
        if self.names[usize::from(own_group)..] != records.names()[1..] {
            return Err("the records do not have the columns of the table".into());
        }
        let written = RecordTuples::new(records, released, own_group)?;
        let known = written.index(released)?;
        let called = self.called(records, &written.owners, own_group);
        let mut rows = vec![0u64; written.groups.len()];
        let mut went: Vec<u32> = Vec::with_capacity(self.values.len());
        let mut key = vec![0; written.width];
        let first = usize::from(!own_group);
        for tuple in 0..self.values.len() {
            let counts = self.values.group(tuple).iter().map(|(_, count)| u64::from(*count));
            let held: u64 = counts.sum();
            if held == 0 {
                // A value of a single column that no released row has.
                went.push(0);
                continue;
            }
            let mut is_called = true;
            let codes = self.codes(tuple).iter().zip(&called);
            for (own, (code, called)) in key[first..].iter_mut().zip(codes) {
                let found = called[*code as usize];
                is_called &= found.is_some();
                *own = found.unwrap_or(0);
            }
            let at = known.get(&key[..]).filter(|_| is_called).ok_or_else(|| {
                let labels = self.codes(tuple).iter().zip(&self.labels);
                differ(labels.map(|(code, labels)| labels[*code as usize].as_str()), 0, held)
            })?;
            rows[*at] += held;
            went.push(written.groups[*at]);
        }
        let counted = records.cells().counts().iter().map(|rows| u64::from(*rows)).zip(&rows);
        let mut different = counted.enumerate().filter(|(_, (counted, held))| counted != *held);
        match different.next() {
            None => Ok(went),
            Some((at, (counted, held))) => {
                let texts = records.cells().codes(at as u32).iter().enumerate().skip(1);
                let texts = texts.map(|(column, code)| records.dictionary(column).value(*code));
                Err(differ(texts, counted, *held))
            }
        }
    }

    /// For each column, what its labels are called in the records.
    fn called(
        &self,
        records: &Counts,
        owners: &FxHashMap<&str, u32>,
        own_group: bool,
    ) -> Vec<Vec<Option<u32>>> {
        let owner = |label: &String| {
            let name = owner_name([label.as_str()].into_iter());
            owners.get(name.as_str()).copied()
        };
        let of_column = |(at, labels): (usize, &Vec<String>)| match at {
            0 if own_group => labels.iter().map(owner).collect(),
            at => {
                let column = records.dictionary(at + usize::from(!own_group));
                labels.iter().map(|label| column.find(label)).collect()
            }
        };
        self.labels.iter().enumerate().map(of_column).collect()
    }

    fn codes(&self, tuple: usize) -> &[u32] {
        let width = self.names.len();
        &self.tuples[tuple * width..(tuple + 1) * width]
    }
}

/// Numbers the tuples of labels that rows have: the codes of each, one after the other, and the
/// number of each row's.
fn number_tuples(
    columns: &[ComparedColumn<'_>],
    rows: usize,
    released: Option<&[u32]>,
    watch: &Watch,
) -> Result<(Vec<u32>, Vec<u32>)> {
    let mut cells = Cells::new(columns.len());
    let (mut tuple, mut tuple_of) = (vec![0; columns.len()], Vec::with_capacity(rows));
    for at in 0..rows {
        if at % PIECE == 0 {
            watch.check()?;
        }
        let row = released.map_or(at, |released| released[at] as usize);
        tuple.iter_mut().zip(columns).for_each(|(code, column)| *code = column.codes[row]);
        tuple_of.push(cells.add(&tuple, 1));
    }
    Ok((cells.tuples().flatten().copied().collect(), tuple_of))
}

/// The tuples of the records: the owner's group if that is a column, else 0, and the labels.
struct RecordTuples<'a> {
    width: usize,
    keys: Vec<u32>,
    /// The group of each tuple.
    groups: Vec<u32>,
    owners: FxHashMap<&'a str, u32>,
}

impl<'a> RecordTuples<'a> {
    fn new(
        records: &Counts,
        released: &'a Distributed,
        own_group: bool,
    ) -> Result<RecordTuples<'a>, String> {
        let group_of: FxHashMap<&str, u32> =
            released.groups.iter().zip(0..).map(|(group, at)| (group.name.as_str(), at)).collect();
        let mut owners: FxHashMap<&str, u32> = FxHashMap::default();
        let (mut keys, mut groups) = (Vec::new(), Vec::new());
        for codes in records.cells().tuples() {
            let group = group_of.get(records.dictionary(0).value(codes[0]));
            let group = *group.ok_or("the records have groups that are unknown")?;
            let owner = &released.groups[group as usize].part_of;
            let next = owners.len() as u32;
            keys.push(if own_group { *owners.entry(owner).or_insert(next) } else { 0 });
            keys.extend_from_slice(&codes[1..]);
            groups.push(group);
        }
        Ok(RecordTuples { width: records.names().len(), keys, groups, owners })
    }

    /// The number of each tuple; it must be in one group.
    fn index(&self, released: &Distributed) -> Result<FxHashMap<&[u32], usize>, String> {
        let mut index: FxHashMap<&[u32], usize> = FxHashMap::default();
        index.reserve(self.groups.len());
        for (at, key) in self.keys.chunks_exact(self.width).enumerate() {
            if let Some(other) = index.insert(key, at) {
                let name = |at: usize| quoted(&released.groups[self.groups[at] as usize].name);
                let (one, other) = (name(other), name(at));
                return Err(format!("groups {one} and {other} have records that look alike"));
            }
        }
        Ok(index)
    }
}

fn differ<'a>(labels: impl Iterator<Item = &'a str>, records: u64, rows: u64) -> String {
    let labels: Vec<String> = labels.map(quoted).collect();
    let labels = labels.join(", ");
    format!("the records are not those of the table: {labels} has {records} records, {rows} rows")
}

/// The codes of the released rows.
fn of_rows<'a>(codes: &'a [u32], released: Option<&[u32]>) -> Cow<'a, [u32]> {
    match released {
        None => Cow::Borrowed(codes),
        Some(rows) => rows.iter().map(|row| codes[*row as usize]).collect(),
    }
}

/// A column as rows are compared by it.
fn compared<'a>(
    table: &'a Table,
    name: &'a str,
    claims: &'a [Claim<'_>],
) -> Result<ComparedColumn<'a>> {
    if let Some(claim) = claims.iter().find(|claim| claim.name == name) {
        let labels = claim.labels.iter().map(|label| Cow::Borrowed(*label)).collect();
        return Ok(ComparedColumn { name, labels, codes: claim.codes });
    }
    let (dictionary, codes) = coded(table, name)?;
    let labels = dictionary.values().map(Cow::Borrowed).collect();
    Ok(ComparedColumn { name, labels, codes })
}

/// What is wrong with the labels that the rows of a column are said to have.
fn check_claim(
    policy: &Policy,
    table: &Table,
    claim: &Claim<'_>,
    released: Option<&[u32]>,
    watch: &Watch,
) -> Result<Option<String>> {
    let keys = table.with_role(Role::QuasiIdentifier).filter_map(|column| match &column.data {
        Data::Key(dictionary) => Some((&column.name, dictionary)),
        _ => None,
    });
    let mut keys = keys.enumerate();
    let found = keys.find(|(_, (name, _))| *name == claim.name);
    let (key, (_, dictionary)) = found.ok_or(Error::Defect)?;
    // Rows of a cell have the same label, unless the claim is odd.
    let mut last = vec![u32::MAX; table.cells.len()];
    let mut pairs: FxHashSet<(u32, u32)> = FxHashSet::default();
    let rows = released.map_or(table.rows() as usize, <[u32]>::len);
    for at in 0..rows {
        if at % PIECE == 0 {
            watch.check()?;
        }
        let row = released.map_or(at, |released| released[at] as usize);
        let (cell, label) = (table.row_cells.at(RowId(row as u32)), claim.codes[row]);
        if std::mem::replace(&mut last[cell.index()], label) != label {
            pairs.insert((table.cells.codes(cell)[key], label));
        }
    }
    let levels = Levels::new(policy, claim.name, dictionary);
    let wrong = pairs.into_iter().find(|(value, label)| {
        !levels.may_be(dictionary.value(*value), claim.labels[*label as usize])
    });
    Ok(wrong.map(|(value, label)| {
        let (value, label) = (dictionary.value(value), claim.labels[label as usize]);
        let (name, value, label) = (quoted(claim.name), quoted(value), quoted(label));
        format!("column {name} says {label} of a row with {value}")
    }))
}

/// The sensitive values that the groups of a release had.
pub(super) struct Held<'a> {
    /// For each group of the release, values with counts.
    values: Tallies,
    texts: Vec<Value<'a>>,
    /// How often each value occurs.
    totals: Vec<u64>,
}

impl Held<'_> {
    /// The values that occur.
    pub(super) fn occurring(&self) -> impl Iterator<Item = Value<'_>> {
        let pairs = self.texts.iter().zip(&self.totals);
        pairs.filter(|(_, count)| **count > 0).map(|(value, _)| *value)
    }

    /// How often each leaf occurs in the whole table, and the rows of that.
    pub(super) fn in_table(&self, leaves: &Leaves<'_>) -> (Vec<u64>, u64) {
        self.at_leaves(leaves, (0..).zip(self.totals.iter().copied()))
    }

    /// How often each leaf occurs in some groups, and the rows of those.
    pub(super) fn in_groups(&self, leaves: &Leaves<'_>, groups: &[usize]) -> (Vec<u64>, u64) {
        let values = groups.iter().flat_map(|group| self.values.group(*group));
        self.at_leaves(leaves, values.map(|(code, count)| (*code, u64::from(*count))))
    }

    fn at_leaves(
        &self,
        leaves: &Leaves<'_>,
        values: impl Iterator<Item = (u32, u64)>,
    ) -> (Vec<u64>, u64) {
        let (mut counts, mut rows) = (vec![0; leaves.len()], 0);
        for (code, count) in values.filter(|(_, count)| *count > 0) {
            rows += count;
            if let Some(leaf) = leaves.find(self.texts[code as usize]) {
                counts[leaf as usize] += count;
            }
        }
        (counts, rows)
    }

    /// The leaf of each value; empty if few are looked up in the tree, which is then quicker.
    pub(super) fn leaf_of(&self, leaves: &Leaves<'_>, lookups: usize) -> Vec<Option<u32>> {
        if lookups < self.texts.len() {
            return Vec::new();
        }
        self.texts.iter().map(|value| leaves.find(*value)).collect()
    }

    /// The distinct values of a group.
    pub(super) fn distinct(&self, group: usize) -> usize {
        self.values.group(group).len()
    }

    /// The values of a group as leaves with counts, ascending; `None` if one is no leaf.
    pub(super) fn of_group(
        &self,
        group: usize,
        leaves: &Leaves<'_>,
        leaf_of: &[Option<u32>],
    ) -> Option<Vec<(u32, u32)>> {
        let leaf = |(code, count): &(u32, u32)| {
            let known = leaf_of.get(*code as usize).copied();
            let leaf = known.unwrap_or_else(|| leaves.find(self.texts[*code as usize]));
            Some((leaf?, *count))
        };
        let values: Option<Vec<(u32, u32)>> = self.values.group(group).iter().map(leaf).collect();
        let mut values = values?;
        values.sort_unstable();
        Some(values)
    }
}
