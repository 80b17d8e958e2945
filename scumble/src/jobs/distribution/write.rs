//! The files of a distribution release. Lines are made in parallel and written in order.

use super::plan::{GROUP, Plan};
use crate::error::{Error, Result};
use crate::query::Ends;
use crate::release::{FolderDraft, push_field};
use crate::search::buckets::{Bucket, Distributed};
use crate::table::push_decimal;
use rayon::prelude::*;
use std::fs::File;
use std::io::Write;

/// Rows, or groups' worth of rows, that are made into lines at a time.
const WINDOW: usize = 1 << 20;

/// The names of the columns of `bounds.csv` behind `group,selected`, where values are numbers.
const BOUNDS: &str = ",sum_lower,sum_upper,min_lower,min_upper,max_lower,max_upper";

/// Texts as fields of a line, each with the comma before it but for the first column.
struct Rendered {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Rendered {
    fn new<'a>(texts: impl Iterator<Item = &'a str>, position: usize) -> Rendered {
        let mut rendered = Rendered { bytes: Vec::new(), ends: vec![0] };
        for text in texts {
            push_field(&mut rendered.bytes, text, position, b',');
            rendered.ends.push(rendered.bytes.len());
        }
        rendered
    }

    fn get(&self, at: u32) -> &[u8] {
        &self.bytes[self.ends[at as usize]..self.ends[at as usize + 1]]
    }
}

/// A file of the folder that takes windows of lines.
struct Lines<'a> {
    draft: &'a FolderDraft,
    name: &'static str,
    file: File,
    written: u64,
}

impl<'a> Lines<'a> {
    fn create(draft: &'a FolderDraft, name: &'static str, header: &str) -> Result<Lines<'a>> {
        let mut lines = Lines { draft, name, file: draft.create(name)?, written: 0 };
        lines.write(format!("{header}\n").as_bytes())?;
        Ok(lines)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        self.file.write_all(bytes).map_err(Error::io(&self.draft.target().join(self.name), "write"))
    }

    /// Writes the lines of items, which `weights` tells the number of, in parallel pieces.
    fn write_all(&mut self, weights: &[u64], render: impl Fn(usize, &mut Vec<u8>) + Sync) -> Result<()> {
        let mut from = 0;
        while from < weights.len() {
            let mut to = from;
            let mut pieces = Vec::new();
            let mut lines = 0;
            while to < weights.len() && lines < WINDOW as u64 {
                let (start, mut piece) = (to, 0);
                while to < weights.len() && piece < (WINDOW / 32) as u64 {
                    piece += weights[to].max(1);
                    to += 1;
                }
                lines += piece;
                pieces.push((start..to, piece));
            }
            let made: Vec<Vec<u8>> = pieces
                .into_par_iter()
                .map(|(items, lines)| {
                    let mut bytes = Vec::with_capacity(lines as usize * 24);
                    items.for_each(|item| render(item, &mut bytes));
                    bytes
                })
                .collect();
            made.iter().try_for_each(|bytes| self.write(bytes))?;
            from = to;
        }
        Ok(())
    }
}

/// Writes the records, sorted by what is released of them; returns the bytes.
pub(super) fn records(
    draft: &FolderDraft,
    plan: &Plan<'_>,
    groups: &[u32],
    names: &[String],
    keep_order: bool,
) -> Result<u64> {
    let mut header = Vec::new();
    for (position, column) in plan.columns.iter().enumerate() {
        push_field(&mut header, column.name, position, b',');
    }
    push_field(&mut header, GROUP, plan.columns.len(), b',');
    let mut lines = Lines::create(draft, "records.csv", &String::from_utf8_lossy(&header))?;
    // Values in the order of what they are called: a record's ranks sort it, and tell what is written of it.
    let rendered: Vec<Rendered> = plan
        .columns
        .iter()
        .enumerate()
        .map(|(position, column)| Rendered::new(column.order().into_iter().map(|value| column.label(value)), position))
        .collect();
    let group_names = Rendered::new(names.iter().map(String::as_str), plan.columns.len());
    let packing = Packing::new(plan, names.len());
    let records = packing.pack(plan, groups, keep_order);
    let ones = vec![1; plan.rows.len()];
    lines.write_all(&ones, |at, bytes| {
        let record = &records[at * packing.words..][..packing.words];
        for (column, rendered) in rendered.iter().enumerate() {
            bytes.extend_from_slice(rendered.get(packing.part(record, column + 1)));
        }
        bytes.extend_from_slice(group_names.get(packing.part(record, 0)));
        bytes.push(b'\n');
    })?;
    Ok(lines.written)
}

/// How a record becomes a few numbers that sort like it: its group, then the ranks of its values, in as few 64-bit words
/// as they need. What is written of a record is read off these words again, so the table is not visited in random order.
struct Packing {
    ranks: Vec<Vec<u32>>,
    /// Word, shift and mask of the group and of each column.
    places: Vec<(usize, u32, u64)>,
    words: usize,
}

impl Packing {
    fn new(plan: &Plan<'_>, groups: usize) -> Packing {
        let ranks: Vec<Vec<u32>> = plan.columns.par_iter().map(|column| column.ranks()).collect();
        let (mut places, mut word, mut room) = (Vec::new(), 0, u64::BITS);
        for size in [groups].into_iter().chain(ranks.iter().map(Vec::len)) {
            let bits = (usize::BITS - size.leading_zeros()).max(1);
            if bits > room {
                (word, room) = (word + 1, u64::BITS);
            }
            room -= bits;
            places.push((word, room, (1u64 << bits) - 1));
        }
        Packing { ranks, places, words: word + 1 }
    }

    /// The group (0), or the rank of a column's value (1, 2, …).
    fn part(&self, record: &[u64], part: usize) -> u32 {
        let (word, shift, mask) = self.places[part];
        (record[word] >> shift & mask) as u32
    }

    /// The words of all records, one record after the other.
    fn pack(&self, plan: &Plan<'_>, groups: &[u32], keep_order: bool) -> Vec<u64> {
        let words = self.words;
        let mut records = vec![0u64; plan.rows.len() * words];
        records.par_chunks_mut(words).zip(&plan.rows).zip(groups).for_each(|((record, row), group)| {
            let mut put = |part: usize, rank: u32| {
                let (word, shift, _) = self.places[part];
                record[word] |= u64::from(rank) << shift;
            };
            put(0, *group);
            for (column, (released, ranks)) in plan.columns.iter().zip(&self.ranks).enumerate() {
                put(column + 1, ranks[released.codes[*row as usize] as usize]);
            }
        });
        // Records with equal words are equal in all that is released, so their order is nobody's business.
        match (keep_order, words) {
            (true, _) => records,
            (false, 1) => {
                records.par_sort_unstable();
                records
            }
            (false, _) => {
                let mut order: Vec<u32> = (0..plan.rows.len() as u32).collect();
                let record = |at: &u32| &records[*at as usize * words..][..words];
                order.par_sort_unstable_by_key(record);
                order.iter().flat_map(record).copied().collect()
            }
        }
    }
}

/// Writes the subdomains, the groups and the hierarchies; returns the bytes.
pub(super) fn buckets(
    draft: &FolderDraft,
    plan: &Plan<'_>,
    found: &Distributed,
    names: &[String],
    records: &[u32],
) -> Result<u64> {
    let labels: Vec<Rendered> = plan
        .targets
        .par_iter()
        .map(|target| {
            let nodes = 0..target.hierarchy.nodes().len() as u32;
            let labels: Vec<String> = nodes.map(|node| plan.domain.label(target, node)).collect();
            Rendered::new(labels.iter().map(String::as_str), 1)
        })
        .collect();
    let group_names = Rendered::new(names.iter().map(String::as_str), 0);
    let weights: Vec<u64> = found.buckets.iter().map(Bucket::len).collect();
    let target_of = |group: usize| plan.target_of[found.part_of[group] as usize];
    let mut lines = Lines::create(draft, "sensitive.csv", "group,value")?;
    lines.write_all(&weights, |group, bytes| {
        let labels = &labels[target_of(group) as usize];
        for (node, copies) in &found.buckets[group].subdomains {
            for _ in 0..*copies {
                bytes.extend_from_slice(group_names.get(group as u32));
                bytes.extend_from_slice(labels.get(*node));
                bytes.push(b'\n');
            }
        }
    })?;
    let mut written = lines.written;
    let owners = Rendered::new(plan.names.iter().map(String::as_str), 1);
    let mut lines = Lines::create(draft, "groups.csv", "group,part_of,target,records,subdomains")?;
    lines.write_all(&vec![1; names.len()], |group, bytes| {
        bytes.extend_from_slice(group_names.get(group as u32));
        bytes.extend_from_slice(owners.get(found.part_of[group]));
        let rest = format!(",{},{},{}\n", target_of(group) + 1, records[group], weights[group]);
        bytes.extend_from_slice(rest.as_bytes());
    })?;
    written += lines.written;
    let mut lines = Lines::create(draft, "hierarchy.csv", "target,value,parent,weight,lower,upper")?;
    for ((number, target), labels) in (1..).zip(&plan.targets).zip(&labels) {
        let mut bytes = Vec::new();
        for (at, node) in target.hierarchy.nodes().iter().enumerate() {
            bytes.extend_from_slice(format!("{number}").as_bytes());
            bytes.extend_from_slice(labels.get(at as u32));
            bytes.extend_from_slice(if at == 0 { b"," } else { labels.get(node.parent) });
            bytes.extend_from_slice(format!(",{}", node.weight).as_bytes());
            for leaf in [node.leaves.start, node.leaves.end - 1] {
                bytes.push(b',');
                if let Some(numbers) = &plan.domain.numbers {
                    push_decimal(&mut bytes, numbers.units[target.codes[leaf as usize] as usize], numbers.scale);
                }
            }
            bytes.push(b'\n');
        }
        lines.write(&bytes)?;
    }
    Ok(written + lines.written)
}

/// The header of `bounds.csv`.
pub(super) fn bounds_header(numeric: bool) -> String {
    format!("group,selected{}", if numeric { BOUNDS } else { "" })
}

/// The auxiliary table of a group: a line for each number of selected records.
pub(super) fn bounds_lines(bytes: &mut Vec<u8>, name: &str, ends: Option<&Ends>, records: u32, scale: u32) {
    let mut field = Vec::new();
    push_field(&mut field, name, 0, b',');
    field.push(b',');
    let Some(ends) = ends else {
        for selected in 1..=records {
            bytes.extend_from_slice(&field);
            push_decimal(bytes, selected.into(), 0);
            bytes.push(b'\n');
        }
        return;
    };
    for line in ends.lines(records) {
        bytes.extend_from_slice(&field);
        push_decimal(bytes, line.selected.into(), 0);
        for end in [line.sum.0, line.sum.1, line.min.0, line.min.1, line.max.0, line.max.1] {
            bytes.push(b',');
            push_decimal(bytes, end, scale);
        }
        bytes.push(b'\n');
    }
}

/// Writes the auxiliary table; returns the bytes.
pub(super) fn bounds(
    draft: &FolderDraft,
    plan: &Plan<'_>,
    found: &Distributed,
    names: &[String],
    records: &[u32],
) -> Result<u64> {
    let numbers = plan.domain.numbers.as_ref();
    let mut lines = Lines::create(draft, "bounds.csv", &bounds_header(numbers.is_some()))?;
    let weights: Vec<u64> = records.iter().map(|records| u64::from(*records)).collect();
    lines.write_all(&weights, |group, bytes| {
        let target = &plan.targets[plan.target_of[found.part_of[group] as usize] as usize];
        let ends = numbers.map(|numbers| {
            let end = |leaf: u32| numbers.units[target.codes[leaf as usize] as usize];
            Ends::new(found.buckets[group].subdomains.iter().map(|(node, copies)| {
                let leaves = &target.hierarchy.node(*node).leaves;
                (end(leaves.start), end(leaves.end - 1), *copies)
            }))
        });
        bounds_lines(bytes, &names[group], ends.as_ref(), records[group], plan.domain.scale());
    })?;
    Ok(lines.written)
}

/// Writes a small file.
pub(super) fn text(draft: &FolderDraft, name: &'static str, content: &str) -> Result<u64> {
    let mut file = draft.create(name)?;
    file.write_all(content.as_bytes()).map_err(Error::io(&draft.target().join(name), "write"))?;
    Ok(content.len() as u64)
}
