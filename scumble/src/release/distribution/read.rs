//! A distribution release as it lies in its folder: targets, groups, subdomains.
//!
//! | file | columns |
//! |---|---|
//! | `records.csv` | what is released of each record, and its `group` |
//! | `sensitive.csv` | `group,value`: the subdomains, in an order that says nothing about the records |
//! | `bounds.csv` | `group,selected,…`: the auxiliary table of section 3.3 |
//! | `groups.csv` | `group,part_of,target,records,subdomains` |
//! | `hierarchy.csv` | `target,value,parent,weight,lower,upper`: the privacy-annotated hierarchies, parents first |
//!
//! A node of `hierarchy.csv` without children is a value, or, if its bounds differ, the run of all
//! whole numbers between them.
//!
//! What is read here is judged here too, with nothing of the search.

use crate::error::{Error, Result, quoted};
use crate::release::Tables;
use crate::source::{PlainReader, PlainSource, Source, encode};
use crate::table::{Data, Decimals, Dictionary, Notation, Role, Table};
use crate::watch::Watch;
use std::collections::{BinaryHeap, HashMap};

/// A privacy-annotated hierarchy as it was read.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// The nodes by their labels.
    pub index: HashMap<String, u32>,
    /// What each node is called; parents stand before their children.
    pub labels: Vec<String>,
    /// The node above; the root's is itself.
    pub parents: Vec<u32>,
    /// The weight of the edge above.
    pub weights: Vec<u64>,
    /// The least and the greatest value of each node as numbers; empty for categories.
    pub ends: Vec<(i64, i64)>,
    /// The values below each node, counted in order.
    pub leaves: Vec<(u32, u32)>,
    /// The weights of each node's children, summed.
    pub units: Vec<u128>,
}

/// A group as it was read.
#[derive(Clone, Debug, Default)]
pub struct ReadGroup {
    /// Its name.
    pub name: String,
    /// The owner's group that it is a part of.
    pub part_of: String,
    /// The number of its target's tree.
    pub tree: usize,
    /// How many records it has, as it says.
    pub records: u64,
    /// How many subdomains it has, as it says.
    pub said: u64,
    /// Nodes of its tree with copies.
    pub subdomains: Vec<(u32, u32)>,
}

impl ReadGroup {
    /// How many subdomains there are.
    pub fn len(&self) -> u64 {
        self.subdomains.iter().map(|(_, copies)| u64::from(*copies)).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.subdomains.is_empty()
    }
}

/// A distribution release, all but its records.
#[derive(Clone, Debug, Default)]
pub struct Distributed {
    /// The targets' trees.
    pub trees: Vec<Tree>,
    /// The groups, in the order of `groups.csv`.
    pub groups: Vec<ReadGroup>,
    /// The number of decimals of all ends; `None` for categories.
    pub scale: Option<u32>,
}

/// Reads a small table whole, every column coded. One that is not as it should be is a mismatch of
/// the release.
fn read_coded(source: &dyn Source, columns: &[&str], watch: &Watch) -> Result<Table> {
    if source.names() != columns {
        let problem = format!("expected the columns {}", columns.join(","));
        return Err(Error::Mismatch { file: source.file(), problem });
    }
    encode(source, &vec![Role::Target; columns.len()], watch, "verify")
}

/// A table whose labels of the sensitive attribute are read in the plain way.
fn in_plain<'a>(source: &'a dyn Source, notation: Option<&Notation>) -> Box<dyn Source + 'a> {
    let Some(notation) = notation else { return Box::new(source) };
    let is_label = |name: &String| name == "value" || name == "parent";
    let reader = || PlainReader::of_labels(notation.clone());
    let readers = source.names().iter().map(|name| is_label(name).then(reader)).collect();
    Box::new(PlainSource::new(source, readers))
}

/// The values of a coded column, row by row.
fn column(table: &Table, column: usize) -> (&Dictionary, &[u32]) {
    match &table.columns[column].data {
        Data::Coded { dictionary, codes, .. } => (dictionary, codes.raw()),
        _ => unreachable!("every column was read as coded"),
    }
}

impl Distributed {
    /// Reads the targets, groups and subdomains of a release.
    ///
    /// `notation` is how the labels of the sensitive attribute are spelled.
    pub fn read(
        tables: &Tables,
        notation: Option<&Notation>,
        watch: &Watch,
    ) -> Result<Distributed> {
        let (trees, names, scale) = read_trees(tables, notation, watch)?;
        let mut groups = read_groups(tables, &names, watch)?;
        let index: HashMap<String, u32> =
            (0..).zip(&groups).map(|(at, group)| (group.name.clone(), at)).collect();
        let table = &*in_plain(tables.get("sensitive")?, notation);
        let wrong = |problem: String| Error::Mismatch { file: table.file(), problem };
        if table.names() != ["group", "value"] {
            return Err(wrong("expected the columns group,value".into()));
        }
        for (tuple, copies) in table.count(&[0, 1], watch)?.tuples() {
            let (name, label) = (tuple[0], tuple[1]);
            let at = index.get(name);
            let at =
                at.ok_or_else(|| wrong(format!("group {} is not in groups.csv", quoted(name))))?;
            let group = &mut groups[*at as usize];
            let node = trees[group.tree].index.get(label).ok_or_else(|| {
                let (label, name) = (quoted(label), quoted(name));
                wrong(format!("{label} of group {name} is not a node of its target"))
            })?;
            // There are at most as many as rows.
            group.subdomains.push((*node, copies as u32));
        }
        Ok(Distributed { trees, groups, scale })
    }

    /// The ends of a group's subdomains: lower, upper, copies. Nothing for categories.
    pub fn ends(&self, group: &ReadGroup) -> impl Iterator<Item = (i64, i64, u32)> + Clone {
        let ends = &self.trees[group.tree].ends;
        let known = if self.scale.is_some() { &group.subdomains[..] } else { &[] };
        known.iter().map(move |(node, copies)| {
            let (lower, upper) = ends[*node as usize];
            (lower, upper, *copies)
        })
    }
}

/// The most values in runs of whole numbers; a policy allows fewer.
const MOST_IN_RUNS: u64 = 1 << 25;

type Trees = (Vec<Tree>, HashMap<String, usize>, Option<u32>);

fn read_trees(tables: &Tables, notation: Option<&Notation>, watch: &Watch) -> Result<Trees> {
    let source = &*in_plain(tables.get("hierarchy")?, notation);
    let file = source.file();
    let table =
        read_coded(source, &["target", "value", "parent", "weight", "lower", "upper"], watch)?;
    let wrong = |row: usize, problem: &str| Error::Mismatch {
        file: file.clone(),
        problem: format!("row {row}: {problem}"),
    };
    let columns: Vec<(&Dictionary, &[u32])> = (0..6).map(|at| column(&table, at)).collect();
    let text = |at: usize, row: usize| columns[at].0.value(columns[at].1[row]);
    let rows = table.rows() as usize;
    // Either every node has ends or none has.
    let numeric = columns[4].0.values().chain(columns[5].0.values()).any(|end| !end.is_empty());
    let (mut lower, mut upper, mut scale) = (Vec::new(), Vec::new(), None);
    if numeric {
        let all = Decimals::read((0..2 * rows).map(|at| text(4 + at / rows, at % rows)));
        let all = all.map_err(|at| wrong(at % rows, "a bound is not a number"))?;
        (lower, upper) = (all.units[..rows].to_vec(), all.units[rows..].to_vec());
        scale = Some(all.scale);
    }
    let (mut trees, mut names): (Vec<Tree>, HashMap<String, usize>) = (Vec::new(), HashMap::new());
    for row in 0..rows {
        let next = trees.len();
        let at = *names.entry(text(0, row).to_string()).or_insert(next);
        if at == next {
            trees.push(Tree::default());
        }
        let tree = &mut trees[at];
        let node = tree.labels.len() as u32;
        let parent = match (node, text(2, row)) {
            (0, "") => 0,
            (0, _) => {
                return Err(wrong(
                    row,
                    "the first node of a target must be its root, without a parent",
                ));
            }
            (_, parent) => *tree
                .index
                .get(parent)
                .ok_or_else(|| wrong(row, "the parent of a node must come before it"))?,
        };
        // Larger ones would not leave room for the products that they are compared by.
        let weight =
            text(3, row).parse::<u64>().ok().filter(|weight| (1..1 << 62).contains(weight));
        tree.weights.push(
            weight.ok_or_else(|| {
                wrong(row, "a weight must be a whole number above 0 and below 2^62")
            })?,
        );
        if tree.index.insert(text(1, row).to_string(), node).is_some() {
            return Err(wrong(row, "duplicate value in a target"));
        }
        tree.labels.push(text(1, row).to_string());
        tree.parents.push(parent);
        if numeric {
            tree.ends.push((lower[row], upper[row]));
        }
    }
    for tree in &mut trees {
        if !tree.count_leaves(scale) {
            return Err(wrong(
                0,
                "a node without children is not a value or a run of whole numbers",
            ));
        }
        tree.units = vec![0; tree.weights.len()];
        (1..tree.weights.len()).for_each(|node| {
            tree.units[tree.parents[node] as usize] += u128::from(tree.weights[node])
        });
        if !tree.ends_fit() {
            return Err(wrong(0, "the bounds of a node do not match its values"));
        }
    }
    Ok((trees, names, scale))
}

fn read_groups(
    tables: &Tables,
    targets: &HashMap<String, usize>,
    watch: &Watch,
) -> Result<Vec<ReadGroup>> {
    let table = read_coded(
        tables.get("groups")?,
        &["group", "part_of", "target", "records", "subdomains"],
        watch,
    )?;
    let file = tables.get("groups")?.file();
    let wrong = |problem: String| Error::Mismatch { file: file.clone(), problem };
    let columns: Vec<(&Dictionary, &[u32])> = (0..5).map(|at| column(&table, at)).collect();
    let text = |at: usize, row: usize| columns[at].0.value(columns[at].1[row]);
    let number = |at: usize, row: usize| match text(at, row).parse::<u32>() {
        Ok(number) => Ok(u64::from(number)),
        Err(_) => {
            Err(wrong(format!("a count of group {} is not a whole number", quoted(text(0, row)))))
        }
    };
    let mut groups = Vec::with_capacity(table.rows() as usize);
    let mut seen = std::collections::HashSet::new();
    for row in 0..table.rows() as usize {
        let name = text(0, row);
        if !seen.insert(columns[0].1[row]) {
            return Err(wrong(format!("duplicate group {}", quoted(name))));
        }
        groups.push(ReadGroup {
            name: name.to_string(),
            part_of: text(1, row).to_string(),
            tree: *targets
                .get(text(2, row))
                .ok_or_else(|| wrong(format!("unknown target {}", quoted(text(2, row)))))?,
            records: number(3, row)?,
            said: number(4, row)?,
            subdomains: Vec::new(),
        });
    }
    Ok(groups)
}

impl Tree {
    /// Numbers the values below each node, children in the order in which they stand; returns
    /// whether all nodes without children have values, and not too many.
    fn count_leaves(&mut self, scale: Option<u32>) -> bool {
        let nodes = self.labels.len();
        let mut below = vec![0u32; nodes];
        let mut has_children = vec![false; nodes];
        (1..nodes).for_each(|node| has_children[self.parents[node] as usize] = true);
        let (mut single, mut in_runs) = (0u64, 0u64);
        for node in 0..nodes {
            let values = match self.ends.get(node) {
                _ if has_children[node] => continue,
                Some((lower, upper)) if lower > upper => return false,
                Some((lower, upper)) => upper.abs_diff(*lower).saturating_add(1),
                None => 1,
            };
            if values == 1 {
                single += 1;
            } else {
                in_runs = in_runs.saturating_add(values);
            }
            below[node] = u32::try_from(values).unwrap_or(u32::MAX);
        }
        // A forged release must not make the program list numbers without end.
        if in_runs > MOST_IN_RUNS
            || (in_runs > 0 && scale != Some(0))
            || single > u64::from(u32::MAX) - MOST_IN_RUNS
        {
            return false;
        }
        for node in (0..nodes).rev() {
            if node > 0 {
                below[self.parents[node] as usize] += below[node];
            }
        }
        self.leaves = vec![(0, 0); nodes];
        let mut next = vec![0u32; nodes];
        for node in 0..nodes {
            let start = if node == 0 { 0 } else { next[self.parents[node] as usize] };
            self.leaves[node] = (start, start + below[node]);
            next[node] = start;
            if node > 0 {
                next[self.parents[node] as usize] += below[node];
            }
        }
        true
    }

    /// The number of values.
    pub fn values(&self) -> usize {
        self.leaves.first().map_or(0, |(_, end)| *end as usize)
    }

    /// The nodes without children, in the order of their values.
    pub fn leaf_nodes(&self) -> Vec<u32> {
        let mut inner = vec![false; self.labels.len()];
        (1..self.labels.len()).for_each(|node| inner[self.parents[node] as usize] = true);
        let leaves = (0..self.labels.len()).filter(|node| !inner[*node]);
        let mut leaves: Vec<u32> = leaves.map(|node| node as u32).collect();
        leaves.sort_unstable_by_key(|node| self.leaves[*node as usize].0);
        leaves
    }

    /// Whether the values of the leaves ascend, and the ends of every node are those of its first
    /// and its last value.
    fn ends_fit(&self) -> bool {
        if self.ends.is_empty() {
            return true;
        }
        let leaves = self.leaf_nodes();
        let ends = |node: &u32| self.ends[*node as usize];
        let ascending = leaves.windows(2).all(|pair| ends(&pair[0]).1 < ends(&pair[1]).0);
        // The leaf in which a value stands.
        let leaf_of = |value: u32| {
            let at = leaves.partition_point(|node| self.leaves[*node as usize].1 <= value);
            leaves.get(at).map_or((0, 0), ends)
        };
        let spans = |(ends, (from, to)): (&(i64, i64), &(u32, u32))| {
            *ends == (leaf_of(*from).0, leaf_of(to.saturating_sub(1)).1)
        };
        ascending && self.ends.iter().zip(&self.leaves).all(spans)
    }

    /// The range of a node: the difference of its ends, or the number of its values.
    pub fn range(&self, node: u32) -> u64 {
        match self.ends.get(node as usize) {
            Some((lower, upper)) => upper.abs_diff(*lower),
            None => u64::from(self.leaves[node as usize].1 - self.leaves[node as usize].0),
        }
    }

    /// Definition 3.2, exactly: whether these subdomains look drawn from the target. A node whose
    /// children do not hold subdomains in proportion to their weights is returned.
    ///
    /// The definition asks P(t) = 1/n Σ P(t | Dᵢ) of every value t. Summed over the values of a
    /// child C of the root, with n₀ copies of the root itself, it says n·P(C) = n₀·P(C) +
    /// (subdomains inside C): what does not stay at the root is divided by the weights. The copies
    /// of the root contribute the same multiple of P(t) to every t, so the same holds inside each
    /// child, and so on downwards; and proportions at every node give the definition back.
    pub fn torn(&self, subdomains: &[(u32, u32)]) -> Option<u32> {
        let nodes = self.labels.len();
        let mut inside = vec![0u64; nodes];
        for (node, copies) in subdomains {
            inside[*node as usize] += u64::from(*copies);
        }
        let mut below = vec![0u64; nodes];
        for node in (1..nodes).rev() {
            if inside[node] > 0 {
                let parent = self.parents[node] as usize;
                inside[parent] += inside[node];
                below[parent] += inside[node];
            }
        }
        let fits = |node: &usize| {
            let parent = self.parents[*node] as usize;
            // Where nothing is below the parent, nothing is inside the node.
            below[parent] == 0
                || u128::from(inside[*node]) * self.units[parent]
                    == u128::from(below[parent]) * u128::from(self.weights[*node])
        };
        (1..nodes).find(|node| !fits(node)).map(|node| self.parents[node])
    }

    /// Definition 3.1: whether some one-to-one mapping gives every value, a leaf with a count, a
    /// subdomain that has it. Values ascend; each takes, of the subdomains that have begun, the one
    /// that ends first.
    pub fn is_generalization(&self, values: &[(u32, u32)], subdomains: &[(u32, u32)]) -> bool {
        let mut coming: Vec<(u32, u32, u32)> = subdomains
            .iter()
            .map(|(node, copies)| {
                let (start, end) = self.leaves[*node as usize];
                (start, end, *copies)
            })
            .collect();
        coming.sort_unstable_by(|a, b| b.cmp(a));
        // Ends, the first on top, with copies left.
        let mut open: BinaryHeap<std::cmp::Reverse<(u32, u32)>> = BinaryHeap::new();
        for (leaf, count) in values {
            while coming.last().is_some_and(|(start, ..)| start <= leaf) {
                let (_, end, copies) = coming.pop().unwrap_or_default();
                open.push(std::cmp::Reverse((end, copies)));
            }
            let mut left = *count;
            while left > 0 {
                let Some(std::cmp::Reverse((end, copies))) = open.pop() else { return false };
                if end <= *leaf {
                    continue;
                }
                let taken = copies.min(left);
                left -= taken;
                if copies > taken {
                    open.push(std::cmp::Reverse((end, copies - taken)));
                }
            }
        }
        true
    }
}
