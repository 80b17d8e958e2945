//! The tables of a distribution release.
//!
//! | table | columns |
//! |---|---|
//! | `records` | what is released of each record, and its `group` |
//! | `sensitive` | `group,value`: the subdomains, in an order that says nothing about the records |
//! | `bounds` | `group,selected,…`: the auxiliary table of section 3.3 |
//! | `groups` | `group,part_of,target,records,subdomains` |
//! | `hierarchy` | `target,value,parent,weight,lower,upper`: the privacy-annotated hierarchies, without what can be told |

use super::super::Walk;
use super::pieces::in_order;
use super::plan::Plan;
use super::records;
use crate::error::Result;
use crate::query::Ends;
use crate::release::{Background, Sink, spelled_table};
use crate::search::buckets::{Bucket, Distributed, Subdomain, Target};
use crate::source::Series;
use crate::table::Notation;
use crate::watch::Watch;
use arrow_array::StringArray;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;

/// Batches that may wait for the thread that writes them.
const WAITING: usize = 32;

/// A release that is complete but for its writing.
pub(super) struct Release<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) found: &'a Distributed<'a>,
    /// The names of the release's groups.
    pub(super) names: &'a [String],
    /// The records of each group.
    pub(super) records: &'a [u32],
    /// The nodes of each target that are written.
    pub(super) nodes: &'a [WrittenNodes],
}

/// The nodes of a target that are written. Below a node that consists of successive whole numbers
/// and has no subdomain inside, all others can be told: the node is a leaf, a run of numbers.
pub(super) struct WrittenNodes {
    /// The nodes that are subdomains of some group, ascending.
    used: Vec<u32>,
    /// Those that are written, ascending.
    written: Vec<u32>,
    /// Whether a leaf is a run.
    pub(super) has_runs: bool,
}

impl WrittenNodes {
    /// Those of all targets.
    pub(super) fn of_all(plan: &Plan<'_>, found: &Distributed<'_>) -> Vec<WrittenNodes> {
        let mut used: Vec<Vec<u32>> = vec![Vec::new(); plan.targets.len()];
        for (bucket, owner) in found.buckets.iter().zip(&found.part_of) {
            let nodes = bucket.subdomains.iter().map(|(node, _)| *node);
            used[plan.target_of[*owner as usize] as usize].extend(nodes);
        }
        let of = |(target, mut used): (&Target, Vec<u32>)| {
            used.sort_unstable();
            used.dedup();
            WrittenNodes::new(plan, target, used)
        };
        plan.targets.iter().zip(used).map(of).collect()
    }

    fn new(plan: &Plan<'_>, target: &Target, used: Vec<u32>) -> WrittenNodes {
        let nodes = target.hierarchy.nodes();
        // Nodes with a subdomain strictly inside.
        let mut is_split = vec![false; nodes.len()];
        for node in &used {
            let mut above = *node;
            while above != 0 {
                above = nodes[above as usize].parent;
                if std::mem::replace(&mut is_split[above as usize], true) {
                    break;
                }
            }
        }
        let whole = plan.domain.numbers.as_ref().filter(|numbers| numbers.scale == 0);
        let is_run = |node: &Subdomain| {
            let Some(numbers) = whole else { return false };
            let end = |leaf: u32| numbers.units[target.codes[leaf as usize] as usize];
            let (first, last) = (end(node.leaves.start), end(node.leaves.end - 1));
            last.abs_diff(first) + 1 == node.leaves.len() as u64
        };
        let mut is_written = vec![true; nodes.len()];
        let mut has_runs = false;
        for number in 0..nodes.len() {
            let is_leaf = !is_split[number] && is_run(&nodes[number]);
            has_runs |= is_leaf && is_written[number] && nodes[number].leaves.len() > 1;
            if is_leaf || !is_written[number] {
                nodes[number].children.clone().for_each(|child| is_written[child as usize] = false);
            }
        }
        let written = (0..).zip(is_written).filter(|(_, is_written)| *is_written);
        WrittenNodes { used, written: written.map(|(node, _)| node).collect(), has_runs }
    }
}

/// A table on its way into a sink, on a thread of its own.
struct Table {
    schema: SchemaRef,
    table: Background,
}

impl Table {
    /// `notation` tells how the labels of a column are spelled.
    fn begin<'a>(
        sink: &mut dyn Sink,
        name: &str,
        columns: Vec<(&str, DataType)>,
        notation: impl Fn(&str) -> Option<&'a Notation>,
    ) -> Result<Table> {
        let field = |(name, kind): (&str, DataType)| Field::new(name, kind, true);
        let schema = Arc::new(Schema::new(columns.into_iter().map(field).collect::<Vec<_>>()));
        let notations = schema.fields().iter().map(|field| notation(field.name()));
        let table = spelled_table(sink.table(name, &schema)?, notations, sink.name());
        let table = Background::new(table, &schema, WAITING);
        Ok(Table { schema, table })
    }

    /// Writes the rows of items, made in pieces.
    fn write(
        mut self,
        items: usize,
        rows: impl Fn(usize) -> u64,
        make: impl Fn(Range<usize>) -> Vec<Series> + Sync,
        watch: &Watch,
    ) -> Result<()> {
        debug_assert!(!self.schema.fields().is_empty());
        in_order(items, rows, make, |columns| self.table.write(columns), watch)?;
        self.table.finish()
    }
}

/// Texts as they are told by number; an empty one is null.
pub(super) fn names<'a>(texts: impl Iterator<Item = &'a str>) -> StringArray {
    texts.map(|text| Some(text).filter(|text| !text.is_empty())).collect()
}

/// Integers.
fn whole(numbers: Vec<i64>) -> Series {
    Series::Decimals(numbers.into(), 0)
}

/// The type of numbers with this many decimals.
fn number(scale: u32) -> DataType {
    if scale == 0 { DataType::Int64 } else { DataType::Decimal128(38, scale as i8) }
}

impl Release<'_> {
    /// Writes all tables.
    pub(super) fn write(&self, sink: &mut dyn Sink, walk: &Walk<'_>) -> Result<()> {
        let (plan, policy, watch) = (self.plan, &walk.job.policy, walk.watch);
        let scale = plan.domain.scale();
        let mut columns: Vec<(&str, DataType)> =
            plan.columns.iter().map(|column| (column.name, DataType::Utf8)).collect();
        columns.push((super::plan::GROUP, DataType::Utf8));
        // The column that is added has no notation, whatever the policy says of its name.
        let of_records = |name: &str| policy.notation(name).filter(|_| name != super::plan::GROUP);
        let records = Table::begin(sink, "records", columns, of_records)?;
        let (text, integer) = (DataType::Utf8, DataType::Int64);
        let columns = vec![("group", text.clone()), ("value", text.clone())];
        let own = policy.privacy().distribution.as_ref();
        let own = own.and_then(|asked| policy.notation(&asked.attribute));
        let of_labels = |name: &str| own.filter(|_| name == "value" || name == "parent");
        let sensitive = Table::begin(sink, "sensitive", columns, of_labels)?;
        let mut columns = vec![("group", text.clone()), ("selected", integer.clone())];
        if plan.domain.numbers.is_some() {
            let ends =
                ["sum_lower", "sum_upper", "min_lower", "min_upper", "max_lower", "max_upper"];
            columns.extend(ends.map(|end| (end, number(scale))));
        }
        let bounds = Table::begin(sink, "bounds", columns, |_| None)?;
        let groups = Table::begin(
            sink,
            "groups",
            vec![
                ("group", text.clone()),
                ("part_of", text.clone()),
                ("target", integer.clone()),
                ("records", integer.clone()),
                ("subdomains", integer.clone()),
            ],
            |_| None,
        )?;
        let end = if plan.domain.numbers.is_some() { number(scale) } else { text.clone() };
        let hierarchy = Table::begin(
            sink,
            "hierarchy",
            vec![
                ("target", integer.clone()),
                ("value", text.clone()),
                ("parent", text),
                ("weight", integer),
                ("lower", end.clone()),
                ("upper", end),
            ],
            of_labels,
        )?;
        // The records sort for a while, the others need little but threads.
        let (one, others) = rayon::join(
            || self.write_records(records, walk.job.keep_order, watch),
            || {
                self.write_sensitive(sensitive, watch)?;
                self.write_groups(groups, watch)?;
                self.write_hierarchy(hierarchy, watch)?;
                self.write_bounds(bounds, watch)
            },
        );
        one.and(others)
    }

    fn write_records(&self, table: Table, keep_order: bool, watch: &Watch) -> Result<()> {
        let groups = &self.found.groups;
        let sorted = records::Sorted::new(self.plan, groups, self.records, keep_order, watch)?;
        let labels = sorted.labels(self.plan, self.names);
        let make = |rows: Range<usize>| sorted.columns(self.plan, groups, rows, &labels);
        table.write(groups.len(), |_| 1, make, watch)
    }

    /// The number of a group's target.
    fn target_of(&self, group: usize) -> u32 {
        self.plan.target_of[self.found.part_of[group] as usize]
    }

    fn write_sensitive(&self, table: Table, watch: &Watch) -> Result<()> {
        let plan = self.plan;
        // The labels of the nodes that are used, one target's after the other's.
        let (mut labels, mut starts) = (Vec::new(), Vec::new());
        for (target, nodes) in plan.targets.iter().zip(self.nodes) {
            starts.push(labels.len());
            labels.extend(nodes.used.iter().map(|node| plan.domain.label(target, *node)));
        }
        let labels = names(labels.iter().map(String::as_str));
        let group_names = names(self.names.iter().map(String::as_str));
        let make = |groups: Range<usize>| {
            let (mut of_group, mut values): (Vec<i32>, Vec<i32>) = (Vec::new(), Vec::new());
            for group in groups {
                let target = self.target_of(group) as usize;
                let (start, used) = (starts[target], &self.nodes[target].used);
                for (node, copies) in &self.found.buckets[group].subdomains {
                    let copies = *copies as usize;
                    // Every subdomain is among them.
                    let label = start + used.binary_search(node).unwrap_or_default();
                    of_group.extend(std::iter::repeat_n(group as i32, copies));
                    values.extend(std::iter::repeat_n(label as i32, copies));
                }
            }
            vec![
                Series::Numbered(of_group.into(), group_names.clone()),
                Series::Numbered(values.into(), labels.clone()),
            ]
        };
        let rows = |group: usize| self.found.buckets[group].len();
        table.write(self.names.len(), rows, make, watch)
    }

    fn write_groups(&self, table: Table, watch: &Watch) -> Result<()> {
        let group_names = names(self.names.iter().map(String::as_str));
        let owners = names(self.plan.names.iter().map(String::as_str));
        let make = |groups: Range<usize>| {
            let numbers: Vec<i32> = groups.clone().map(|group| group as i32).collect();
            let of = |value: &dyn Fn(usize) -> i64| whole(groups.clone().map(value).collect());
            let part_of = groups.clone().map(|group| self.found.part_of[group] as i32);
            let part_of: Vec<i32> = part_of.collect();
            vec![
                Series::Numbered(numbers.into(), group_names.clone()),
                Series::Numbered(part_of.into(), owners.clone()),
                of(&|group| i64::from(self.target_of(group)) + 1),
                of(&|group| self.records[group].into()),
                of(&|group| Bucket::len(&self.found.buckets[group]) as i64),
            ]
        };
        table.write(self.names.len(), |_| 1, make, watch)
    }

    fn write_hierarchy(&self, table: Table, watch: &Watch) -> Result<()> {
        let plan = self.plan;
        let make = |targets: Range<usize>| {
            let (mut numbers, mut weights) = (Vec::new(), Vec::new());
            let (mut values, mut parents) = (Vec::new(), Vec::new());
            let mut ends = (Vec::new(), Vec::new());
            for number in targets {
                let target = &plan.targets[number];
                let label = |node: u32| plan.domain.label(target, node);
                for at in self.nodes[number].written.iter().copied() {
                    let node = target.hierarchy.node(at);
                    numbers.push(number as i64 + 1);
                    values.push(label(at));
                    parents.push(if at == 0 { String::new() } else { label(node.parent) });
                    weights.push(node.weight as i64);
                    if let Some(numbers) = &plan.domain.numbers {
                        let end = |leaf: u32| numbers.units[target.codes[leaf as usize] as usize];
                        ends.0.push(end(node.leaves.start));
                        ends.1.push(end(node.leaves.end - 1));
                    }
                }
            }
            let text = |texts: &[String]| -> Series {
                Series::Array(Arc::new(names(texts.iter().map(String::as_str))))
            };
            let end = |ends: Vec<i64>| match &plan.domain.numbers {
                Some(numbers) => Series::Decimals(ends.into(), numbers.scale),
                None => Series::Array(Arc::new(StringArray::new_null(values.len()))),
            };
            let (lower, upper) = (end(ends.0), end(ends.1));
            let (values, parents) = (text(&values), text(&parents));
            vec![whole(numbers), values, parents, whole(weights), lower, upper]
        };
        let rows = |target: usize| self.nodes[target].written.len() as u64;
        table.write(plan.targets.len(), rows, make, watch)
    }

    fn write_bounds(&self, table: Table, watch: &Watch) -> Result<()> {
        let plan = self.plan;
        let group_names = names(self.names.iter().map(String::as_str));
        let make = |groups: Range<usize>| {
            let (mut of_group, mut selected): (Vec<i32>, Vec<i64>) = (Vec::new(), Vec::new());
            let mut ends: [Vec<i64>; 6] = Default::default();
            for group in groups {
                let records = self.records[group];
                of_group.extend(std::iter::repeat_n(group as i32, records as usize));
                selected.extend(1..=i64::from(records));
                let Some(numbers) = &plan.domain.numbers else { continue };
                let target = &plan.targets[self.target_of(group) as usize];
                let end = |leaf: u32| numbers.units[target.codes[leaf as usize] as usize];
                let subdomains = self.found.buckets[group].subdomains.iter();
                let subdomains = subdomains.map(|(node, copies)| {
                    let leaves = &target.hierarchy.node(*node).leaves;
                    (end(leaves.start), end(leaves.end - 1), *copies)
                });
                for line in Ends::new(subdomains).lines(records) {
                    let bounds = [line.sum, line.min, line.max];
                    let bounds = bounds.into_iter().flat_map(|(lower, upper)| [lower, upper]);
                    ends.iter_mut().zip(bounds).for_each(|(ends, end)| ends.push(end));
                }
            }
            let group = Series::Numbered(of_group.into(), group_names.clone());
            let mut columns = vec![group, whole(selected)];
            if let Some(numbers) = &plan.domain.numbers {
                columns.extend(ends.map(|ends| Series::Decimals(ends.into(), numbers.scale)));
            }
            columns
        };
        table.write(self.names.len(), |group| self.records[group].into(), make, watch)
    }
}
