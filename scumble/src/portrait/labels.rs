//! How a quasi-identifier was recoded, told by the labels of the release.
//!
//! What a label stands for follows from the policy, and, where that leaves it open, from the values
//! of the original table. Without the original, losses that depend on them are not told.

use super::columns::Counted;
use super::told;
use crate::bind::BoundKey;
use crate::error::Result;
use crate::policy::Policy;
use crate::table::{Dictionary, Type};
use crate::taxonomy::{
    ANY_NUMBER, Axis, Hierarchy, Intervals, Ordered, ROOT, Taxonomy, said_range, said_set,
};
use serde::Serialize;
use std::collections::HashMap;
use std::ops::{Bound, Range};
use std::path::Path;

/// Labels that are listed.
const LISTED: usize = 30;

/// The labels of a column in the release.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Labels {
    /// The labels in the order of the column; the most frequent ones if there are many.
    pub listed: Vec<Label>,
    /// How many others there are.
    pub others: u64,
    /// The rows that have one of the others.
    pub other_rows: u64,
    /// Whether labels overlap: a value of the original table may then be covered by several.
    pub overlap: bool,
    /// Rows that were left out.
    pub suppressed: u64,
}

/// A label of a release.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Label {
    /// The label; a long one is shortened.
    pub label: String,
    /// Rows of the release that have it.
    pub rows: u64,
    /// Rows of the original table whose value it covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Distinct values of the original table that it covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<u64>,
    /// The share of detail that a row with this label lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<f64>,
    /// The nodes above it, from the root, if the policy has a tree for the column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
}

/// What the labels of a column mean.
pub(super) struct Meaning<'a> {
    hierarchy: Option<&'a Hierarchy>,
    /// The column bound to the values of the original, or to the policy's tree alone.
    key: Option<BoundKey>,
    /// The rows below each leaf, summed up: those of leaves before `i` at `i`. Only known with the
    /// original.
    rows: Option<Vec<u64>>,
    /// The same for leaves that some row has.
    met: Vec<u64>,
    /// The node that a label denotes: its level and index.
    nodes: HashMap<String, (usize, u32)>,
}

impl<'a> Meaning<'a> {
    /// Nothing is known without a policy.
    pub(super) fn unknown() -> Meaning<'a> {
        let (hierarchy, key, rows) = (None, None, None);
        Meaning { hierarchy, key, rows, met: Vec::new(), nodes: HashMap::new() }
    }

    /// The labels of a column in terms of the original, or of the policy if there is none. `file`
    /// names the original.
    pub(super) fn new(
        policy: &'a Policy,
        name: &str,
        original: Option<&Counted>,
        released: &Counted,
        file: &Path,
    ) -> Result<Meaning<'a>> {
        let declared = policy.declared(name);
        let is_tree = matches!(declared.hierarchy, Hierarchy::File(_) | Hierarchy::Tree(_));
        let mut meaning = Meaning { hierarchy: Some(declared.hierarchy), ..Meaning::unknown() };
        match original.filter(|original| original.is_complete()) {
            Some(original) => {
                let key = declared.bind_key(name, original.dictionary(), file)?;
                meaning.count(&key, original);
                meaning.key = Some(key);
            }
            None if is_tree => {
                // A tree of the policy is the same for any values.
                let mut values = Dictionary::default();
                if released.dictionary().find("").is_some() {
                    values.encode("", 1);
                }
                meaning.key = Some(declared.bind_key(name, &values, file)?);
            }
            None => {}
        }
        if let Some(key) = &meaning.key {
            meaning.nodes = nodes(&key.taxonomy);
        }
        Ok(meaning)
    }

    fn count(&mut self, key: &BoundKey, original: &Counted) {
        let mut of_leaf = vec![0u64; key.taxonomy.codes() as usize];
        for (leaf, rows) in key.leaf_of.raw().iter().zip(original.counts()) {
            of_leaf[*leaf as usize] += rows;
        }
        let sums = |of: &dyn Fn(u64) -> u64| {
            let mut sum = 0;
            let added = of_leaf.iter().map(|rows| {
                sum += of(*rows);
                sum
            });
            std::iter::once(0).chain(added.collect::<Vec<u64>>()).collect::<Vec<u64>>()
        };
        self.met = sums(&|rows| u64::from(rows > 0));
        self.rows = Some(sums(&|rows| rows));
    }

    fn has_tree(&self) -> bool {
        matches!(self.hierarchy, Some(Hierarchy::File(_) | Hierarchy::Tree(_)))
    }

    fn has_sets(&self) -> bool {
        matches!(self.hierarchy, Some(Hierarchy::Sets))
    }

    /// The parts of the column's codes that a label covers; nothing if it means nothing here.
    fn codes(&self, label: &str) -> Vec<Range<u32>> {
        let Some(key) = &self.key else { return Vec::new() };
        let node = |(level, index): &(usize, u32)| key.taxonomy.level(*level).range(*index);
        if let Some(found) = self.nodes.get(label) {
            return vec![node(found)];
        }
        if self.has_sets() {
            let values = said_set(label).unwrap_or_default();
            let leaf = |value: &String| {
                let label = crate::taxonomy::set_label(&[value]);
                self.nodes.get(&label).map(node)
            };
            return values.iter().filter_map(leaf).collect();
        }
        let at = |number: f64, inclusive: bool| {
            key.numbers.partition_point(|known| *known < number || inclusive && *known == number)
                as u32
        };
        if let Some(number) = key.kind.number(label) {
            return vec![at(number, false)..at(number, true)];
        }
        let Axis::Ordered(_) = &key.axis else { return Vec::new() };
        let Some((from, to)) = said_range(label, key.kind) else { return Vec::new() };
        let first = match from {
            Bound::Unbounded => 0,
            Bound::Included(number) => at(number, false),
            Bound::Excluded(number) => at(number, true),
        };
        let last = match to {
            Bound::Unbounded => key.numbers.len() as u32,
            Bound::Included(number) => at(number, true),
            Bound::Excluded(number) => at(number, false),
        };
        vec![first..last.max(first)]
    }

    /// The rows and the distinct values of the original that a label covers.
    fn covered(&self, label: &str) -> Option<(u64, u64)> {
        let rows = self.rows.as_ref()?;
        let sum = |sums: &[u64]| {
            let of_range =
                |range: Range<u32>| sums[range.end as usize] - sums[range.start as usize];
            self.codes(label).into_iter().map(of_range).sum()
        };
        Some((sum(rows), sum(&self.met)))
    }

    /// The share of detail that a row with this label lost, by the definition of LM.
    fn lost(&self, label: &str) -> Option<f64> {
        let Some(key) = &self.key else { return self.lost_by_policy(label) };
        let taxonomy = &key.taxonomy;
        let of_leaves =
            |leaves: u64| leaves.saturating_sub(1) as f64 / (taxonomy.leaves() - 1).max(1) as f64;
        if let Axis::Ordered(axis) = &key.axis {
            return lost_of_range(axis, label);
        }
        if let Some((level, index)) = self.nodes.get(label) {
            return Some(of_leaves(taxonomy.level(*level).leaves(*index)));
        }
        if self.has_sets() {
            return said_set(label).map(|values| of_leaves(values.len() as u64));
        }
        // A number that is written in another way.
        key.kind.number(label).map(|_| 0.0)
    }

    /// The same if only the policy is known.
    fn lost_by_policy(&self, label: &str) -> Option<f64> {
        match self.hierarchy? {
            _ if label == ROOT => Some(1.0),
            _ if label.is_empty() => Some(0.0),
            Hierarchy::Intervals(intervals) => lost_of_interval(intervals, label),
            _ => None,
        }
    }

    /// The nodes above a label in the policy's tree, from the root.
    fn path(&self, label: &str) -> Vec<String> {
        let found = self.nodes.get(label).zip(self.key.as_ref()).filter(|_| self.has_tree());
        let Some(((level, index), key)) = found else { return Vec::new() };
        let code = key.taxonomy.level(*level).range(*index).start;
        let above = (level + 1..=key.taxonomy.height()).rev().map(|level| {
            let level = key.taxonomy.level(level);
            told(level.label(level.node_of(code)))
        });
        let mut path: Vec<String> = above.collect();
        // A chain of nodes with one name is one node.
        path.dedup();
        path.retain(|node| node != label);
        path
    }

    /// Where a label stands among the others of its column.
    fn place(&self, label: &str) -> (u8, f64, f64) {
        if label.is_empty() {
            return (3, 0.0, 0.0);
        }
        // In a tree, the root is above all others.
        if label == ROOT && !self.has_tree() {
            return (2, 0.0, 0.0);
        }
        if let Some(range) = self.codes(label).into_iter().reduce(|one, _| one) {
            return (0, f64::from(range.start), -f64::from(range.end));
        }
        let kinds = [Type::Integer, Type::Real, Type::Date, Type::Timestamp];
        let range = kinds.iter().find_map(|kind| {
            let single = kind.number(label).map(|number| (number, number));
            single.or_else(|| said_range(label, *kind).map(|(from, to)| (start(from), end(to))))
        });
        range.map_or((1, 0.0, 0.0), |(from, to)| (0, from, -to))
    }
}

fn start(from: Bound<f64>) -> f64 {
    match from {
        Bound::Unbounded => f64::NEG_INFINITY,
        Bound::Included(number) | Bound::Excluded(number) => number,
    }
}

fn end(to: Bound<f64>) -> f64 {
    match to {
        Bound::Unbounded => f64::INFINITY,
        Bound::Included(number) | Bound::Excluded(number) => number,
    }
}

/// The node of each label; the lowest of nodes with one name, which stand for the same values.
fn nodes(taxonomy: &Taxonomy) -> HashMap<String, (usize, u32)> {
    let mut nodes = HashMap::new();
    for (number, level) in taxonomy.levels().iter().enumerate() {
        for index in 0..level.len() as u32 {
            nodes.entry(level.label(index).to_string()).or_insert((number, index));
        }
    }
    nodes
}

/// What a range of numbers lost of the width of its column.
fn lost_of_range(axis: &Ordered, label: &str) -> Option<f64> {
    let width = axis.greatest - axis.least;
    if label.is_empty() || axis.kind.number(label).is_some() {
        return Some(0.0);
    }
    if label == ROOT {
        // A column of one number and no missing value has nothing to lose.
        return Some(if width == 0.0 && axis.missing.is_none() { 0.0 } else { 1.0 });
    }
    if label == ANY_NUMBER {
        return Some(1.0);
    }
    let (from, to) = said_range(label, axis.kind)?;
    // The first of whole numbers above one is the next.
    let step = if axis.kind.is_stepped() { 1.0 } else { 0.0 };
    let from = match from {
        Bound::Excluded(number) => number + step,
        from => start(from),
    };
    let held = end(to).min(axis.greatest) - from.max(axis.least);
    Some(if width > 0.0 { held.max(0.0) / width } else { 0.0 })
}

/// What an interval of whole numbers lost, if the policy tells the whole domain.
fn lost_of_interval(intervals: &Intervals, label: &str) -> Option<f64> {
    let domain = intervals.to()? - intervals.from()?;
    if !intervals.is_whole() || intervals.has_dates() {
        return None;
    }
    if Type::Integer.number(label).is_some() {
        return Some(0.0);
    }
    let (from, to) = said_range(label, Type::Integer)?;
    (domain > 0.0).then(|| (end(to) - start(from)) / domain)
}

/// The labels of a column, and the share of detail that it lost with `suppressed` rows.
pub(super) fn portray(
    meaning: &Meaning<'_>,
    released: &Counted,
    suppressed: u64,
) -> (Labels, Option<f64>) {
    let mut all: Vec<(&str, u64)> = released.values_with_rows().collect();
    all.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    let loss = loss(meaning, released, &all, suppressed);
    let overlap = overlap(meaning, &all);
    let (listed, others) = match released.is_complete() {
        true => all.split_at(all.len().min(LISTED)),
        // Which labels are the most frequent is not known.
        false => all.split_at(0),
    };
    let mut listed = listed.to_vec();
    listed.sort_by(|one, other| {
        meaning
            .place(one.0)
            .partial_cmp(&meaning.place(other.0))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let label = |(label, rows): &(&str, u64)| {
        let (before, values) = meaning.covered(label).unzip();
        let (lost, path) = (meaning.lost(label), meaning.path(label));
        Label { label: told(label), rows: *rows, before, values, lost, path }
    };
    let labels = Labels {
        listed: listed.iter().map(label).collect(),
        others: others.len() as u64,
        other_rows: others.iter().map(|(_, rows)| rows).sum(),
        overlap,
        suppressed,
    };
    (labels, loss)
}

/// The mean over all rows of what each lost; a suppressed row lost everything.
fn loss(
    meaning: &Meaning<'_>,
    released: &Counted,
    all: &[(&str, u64)],
    suppressed: u64,
) -> Option<f64> {
    let mut sum = suppressed as f64;
    for (label, rows) in all {
        sum += *rows as f64 * meaning.lost(label)?;
    }
    let rows = all.iter().map(|(_, rows)| rows).sum::<u64>() + suppressed;
    (released.is_complete() && rows > 0).then(|| sum / rows as f64)
}

/// Whether some value is covered by two labels.
fn overlap(meaning: &Meaning<'_>, all: &[(&str, u64)]) -> bool {
    let mut ranges: Vec<Range<u32>> = all
        .iter()
        .flat_map(|(label, _)| meaning.codes(label))
        .filter(|range| !range.is_empty())
        .collect();
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.windows(2).any(|pair| pair[1].start < pair[0].end)
}
