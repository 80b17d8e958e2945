//! The finest groups of a subtree, by every node of the last column's tree.
//!
//! One column, the last, is never branched on: partitions with different values of it have nothing
//! in common, so its best cut for given cuts of the others is found bottom up over its tree. Groups
//! are therefore kept for every node of that tree at once: `lists[node]` has the rows below the
//! node, grouped by what the most specific cut of the subtree says of the other columns. Locking a
//! value joins groups; specializing one leaves them as they are.

use super::{Machine, POLLED};
use crate::error::Result;
use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;
use std::sync::Arc;

/// The groups below one node of the last tree.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    /// Which tuple of the other columns each group has.
    pub(super) tuples: Vec<u32>,
    /// Its rows.
    pub(super) rows: Vec<u32>,
    /// Its tallies, one after the other.
    pub(super) counts: Vec<u32>,
}

impl List {
    /// Adds rows to the group of a tuple; `at[tuple]` is the group's place if `at[tuple] < len` and
    /// it has the tuple.
    fn add(&mut self, at: &mut [u32], tuple: u32, rows: u32, counts: &[u32]) {
        let place = at[tuple as usize] as usize;
        if self.tuples.get(place) == Some(&tuple) {
            self.rows[place] += rows;
            let sum = &mut self.counts[place * counts.len()..][..counts.len()];
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        } else {
            at[tuple as usize] = self.tuples.len() as u32;
            self.tuples.push(tuple);
            self.rows.push(rows);
            self.counts.extend_from_slice(counts);
        }
    }

    /// Adds groups one after the other.
    fn add_all<'a>(
        &mut self,
        groups: impl Iterator<Item = (u32, u32, &'a [u32])>,
        at: &mut [u32],
        machine: &Machine,
    ) -> Result<()> {
        machine.watch.check()?;
        for (number, (tuple, rows, counts)) in groups.enumerate() {
            if number % POLLED == POLLED - 1 {
                machine.watch.check()?;
            }
            self.add(at, tuple, rows, counts);
        }
        Ok(())
    }

    pub(super) fn groups(&self, width: usize) -> impl Iterator<Item = (u32, u32, &[u32])> {
        let counts = self.counts.chunks_exact(width);
        self.tuples
            .iter()
            .zip(&self.rows)
            .zip(counts)
            .map(|((tuple, rows), counts)| (*tuple, *rows, counts))
    }
}

/// The finest groups of a subtree.
#[derive(Clone, Debug)]
pub(super) struct FinestGroups {
    /// The nodes of each tuple in the other columns, one tuple after the other.
    nodes: Vec<u32>,
    /// What LM counts for a row of each tuple in the other columns.
    pub(super) loss: Vec<f64>,
    /// Rows of each tuple.
    pub(super) rows: Vec<u64>,
    /// By node of the last tree.
    pub(super) lists: Arc<Vec<List>>,
}

impl FinestGroups {
    /// The groups of all rows at a cut: `above[column][leaf]` is the node that says a leaf. The
    /// last column's is not read.
    pub(super) fn new(machine: &Machine, last: usize, above: &[Vec<u32>]) -> Result<FinestGroups> {
        let columns: Vec<usize> =
            (0..machine.trees.len()).filter(|column| *column != last).collect();
        let mut tuple_of: HashTable<u32> = HashTable::new();
        let mut groups = FinestGroups {
            nodes: Vec::new(),
            loss: Vec::new(),
            rows: Vec::new(),
            lists: Arc::default(),
        };
        let tree = &machine.trees[last];
        let mut tuples = Vec::with_capacity(machine.cells.len());
        let mut key = Vec::with_capacity(columns.len());
        for number in 0..machine.cells.len() {
            if number % POLLED == 0 {
                machine.watch.check()?;
            }
            let cell = machine.cells.cell(number);
            key.clear();
            key.extend(columns.iter().map(|column| above[*column][cell.leaves[*column] as usize]));
            let nodes_of = |tuple: &u32| &groups.nodes[*tuple as usize * key.len()..][..key.len()];
            let hash = |key: &[u32]| FxBuildHasher.hash_one(key);
            let tuple = match tuple_of.find(hash(&key), |tuple| *nodes_of(tuple) == key[..]) {
                Some(tuple) => *tuple,
                None => {
                    let tuple = groups.loss.len() as u32;
                    tuple_of.insert_unique(hash(&key), tuple, |tuple| hash(nodes_of(tuple)));
                    let losses =
                        columns.iter().zip(&key).map(|(column, node)| machine.loss(*column, *node));
                    groups.loss.push(losses.sum());
                    groups.rows.push(0);
                    groups.nodes.extend_from_slice(&key);
                    tuple
                }
            };
            groups.rows[tuple as usize] += u64::from(cell.rows);
            tuples.push(tuple);
        }
        let mut lists = vec![List::default(); tree.branches().len()];
        // Leaves first; each list needs to know where its tuples are, so cells are taken leaf by
        // leaf.
        let mut at = vec![0u32; groups.loss.len()];
        for (number, cell) in machine.by_leaf[last].iter().enumerate() {
            if number % POLLED == 0 {
                machine.watch.check()?;
            }
            let (cell, tuple) = (machine.cells.cell(*cell as usize), tuples[*cell as usize]);
            lists[cell.leaves[last] as usize].add(&mut at, tuple, cell.rows, cell.counts);
        }
        let width = machine.width;
        for (number, branch) in tree.branches().iter().enumerate() {
            let (finer, this) = lists.split_at_mut(number);
            for child in &branch.children {
                this[0].add_all(finer[*child as usize].groups(width), &mut at, machine)?;
            }
        }
        groups.lists = Arc::new(lists);
        Ok(groups)
    }

    /// The node of each tuple in a column, which is counted among the other columns.
    pub(super) fn nodes_of(&self, column: usize) -> impl Iterator<Item = u32> {
        let width = self.nodes.len() / self.loss.len().max(1);
        self.nodes.iter().skip(column).step_by(width.max(1)).copied()
    }

    /// The groups after a value of a column was locked: all that lies below it is said by it. Also
    /// the new tuple of each old one.
    pub(super) fn lock(
        &self,
        machine: &Machine,
        column: usize,
        place: usize,
        value: u32,
    ) -> Result<(FinestGroups, Vec<u32>)> {
        let columns = self.nodes.len() / self.loss.len().max(1);
        let mut tuple_of: FxHashMap<&[u32], u32> = FxHashMap::default();
        let codes = &machine.trees[column].branch(value).codes;
        let mut nodes = self.nodes.clone();
        let mut locked = Vec::with_capacity(self.loss.len());
        for tuple in 0..self.loss.len() {
            if tuple % POLLED == 0 {
                machine.watch.check()?;
            }
            let node = &mut nodes[tuple * columns + place];
            let inside = codes.contains(&machine.trees[column].branch(*node).codes.start);
            locked.push(if inside {
                machine.loss(column, value) - machine.loss(column, *node)
            } else {
                0.0
            });
            if inside {
                *node = value;
            }
        }
        let mut joined = FinestGroups {
            nodes: Vec::new(),
            loss: Vec::new(),
            rows: Vec::new(),
            lists: self.lists.clone(),
        };
        let mut went = Vec::with_capacity(self.loss.len());
        for tuple in 0..self.loss.len() {
            if tuple % POLLED == 0 {
                machine.watch.check()?;
            }
            let key = &nodes[tuple * columns..][..columns];
            let next = joined.loss.len() as u32;
            let number = *tuple_of.entry(key).or_insert(next);
            if number == next {
                joined.nodes.extend_from_slice(key);
                joined.loss.push(self.loss[tuple] + locked[tuple]);
                joined.rows.push(0);
            }
            joined.rows[number as usize] += self.rows[tuple];
            went.push(number);
        }
        if joined.loss.len() < self.loss.len() {
            let mut at = vec![0u32; joined.loss.len()];
            let join = |list: &List| {
                let mut joined = List::default();
                let groups = list.groups(machine.width);
                let groups =
                    groups.map(|(tuple, rows, counts)| (went[tuple as usize], rows, counts));
                joined.add_all(groups, &mut at, machine)?;
                Ok(joined)
            };
            joined.lists = Arc::new(self.lists.iter().map(join).collect::<Result<_>>()?);
        }
        Ok((joined, went))
    }
}
