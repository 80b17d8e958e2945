//! Nodes of a table whose cells are not in memory: their groups are put together from counted
//! tuples, and judged part by part if they do not fit into memory.

use super::groups::{GroupKey, NodeGroups, TooSmall};
use super::{Assessment, Engine, Judged, Node, Reached};
use crate::error::Result;
use crate::loss::{Loss, ReleaseFigures};
use crate::privacy::{Group, Requirement, all_hold};
use crate::search::Task;
use crate::search::grouping::{Grouping, PartGroups, Pass};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Values of a counted column that a group has at most, as far as memory is planned.
const PLANNED: usize = 32;

/// How many groups may be kept: they take as much memory as two passes.
pub(super) fn most_kept<K>(tuples: &Grouping<'_>) -> usize {
    let of_values = tuples.values.iter().map(|values| 4 + 8 * *values.min(&PLANNED)).sum::<usize>();
    tuples.memory as usize * 2 / (size_of::<(K, u32)>() + of_values)
}

/// How many distinct tuples of quasi-identifiers there are, if the loss wants to know.
pub(super) fn distinct<K: GroupKey>(task: &Task, tuples: &Grouping<'_>) -> Result<usize> {
    if task.loss.columns_decide() {
        return Ok(0);
    }
    let maps: Vec<&[u32]> = task.taxonomies.iter().map(|tree| tree.level(0).nodes()).collect();
    let mut cells = 0;
    tuples.each_part::<K>(&maps, None, &mut |part| {
        cells += part.groups.len();
        Ok(true)
    })?;
    Ok(cells)
}

/// What is added up over the parts of a node.
struct PartSums {
    suppressed: u64,
    never: u64,
    /// What the failing groups lose of each column, in leaves.
    failing: Vec<u128>,
    /// How many groups of each size are released, and how many there are.
    released_sizes: BTreeMap<u64, u64>,
    sizes: BTreeMap<u64, u64>,
    /// The released rows of each value of each counted column.
    released: Vec<Vec<u64>>,
}

impl<'a, K: GroupKey> Engine<'a, K> {
    /// What each leaf becomes at a node.
    fn maps(&self, node: Node) -> Vec<&'a [u32]> {
        let trees = self.task.taxonomies.iter().zip(self.lattice.levels(node));
        trees.map(|(tree, level)| tree.level(level).nodes()).collect()
    }

    /// Floors of other losses than LM are drawn from groups, those of hopeless nodes too.
    fn unless(&self) -> Option<TooSmall> {
        self.bound_is_floor().then_some(self.too_small)
    }

    /// The groups at a node, from a pass over the tuples. They are kept.
    pub(super) fn reach_from_tuples(&self, node: Node) -> Result<Reached<K>> {
        let Some(tuples) = &self.tuples else { return Ok(Reached::TooMany) };
        let unless = self.unless();
        Ok(match tuples.pass(&self.maps(node), unless)? {
            Pass::Groups(part) => {
                let is_small = |small: TooSmall| small.are(part.groups.iter().map(|(_, n)| *n));
                if unless.is_some_and(is_small) {
                    return Ok(Reached::TooSmall);
                }
                let groups = Arc::new(NodeGroups::of_tuples(node, part));
                self.keep(&groups);
                Reached::Groups(groups)
            }
            Pass::TooSmall => Reached::TooSmall,
            Pass::TooMany => Reached::TooMany,
        })
    }

    /// Hands over the groups at a node part by part.
    fn each_part(
        &self,
        node: Node,
        each: &mut dyn FnMut(&NodeGroups<K>) -> Result<bool>,
    ) -> Result<bool> {
        let Some(tuples) = &self.tuples else { return Ok(false) };
        tuples.each_of_many(&self.maps(node), self.unless(), &mut |part: PartGroups<K>| {
            each(&NodeGroups::of_tuples(node, part))
        })
    }

    /// Judges the groups at a node part by part.
    pub(super) fn assess_in_parts(&self, node: Node) -> Result<Assessment> {
        let limit = self.task.suppressible;
        let mut sums = PartSums {
            suppressed: 0,
            never: 0,
            failing: vec![0; self.task.taxonomies.len()],
            released_sizes: BTreeMap::new(),
            sizes: BTreeMap::new(),
            released: self.task.values.iter().map(|values| vec![0; *values]).collect(),
        };
        let is_complete = self.each_part(node, &mut |groups| {
            let judged = self.judge(groups)?;
            self.add(&mut sums, groups, &judged)?;
            // Nothing else is to be known of a node with too many that fail.
            Ok(!self.bound_is_floor() || sums.never <= limit)
        })?;
        if !is_complete {
            return Ok(self.too_small_at(node));
        }
        let hopeless =
            if limit == 0 { self.mergeable && sums.suppressed > 0 } else { sums.never > limit };
        let feasible = sums.suppressed <= limit
            && sums.suppressed < self.rows
            && (sums.suppressed == 0 || self.parts_hold_against(node, &sums.released)?);
        let release = |is_all| PartRelease { engine: self, node, sums: &sums, is_all };
        let cost = match feasible {
            true => self.task.loss.cost(&release(false))?,
            false => f64::INFINITY,
        };
        let never = if self.is_monotone() { sums.suppressed } else { sums.never };
        let floor = match self.bound_is_floor() {
            true => self.bound(node),
            false => self.task.loss.cost(&release(true))?,
        };
        Ok(Assessment { cost, feasible, hopeless, never, floor })
    }

    fn add(&self, sums: &mut PartSums, groups: &NodeGroups<K>, judged: &Judged) -> Result<()> {
        sums.suppressed = sums.suppressed.saturating_add(judged.suppressed);
        sums.never = sums.never.saturating_add(judged.never);
        for (column, lost) in sums.failing.iter_mut().enumerate() {
            let level = self.lattice.level(groups.node, column);
            let level = self.task.taxonomies[column].level(level);
            for (key, rows) in judged.failing.iter().map(|group| &groups.groups[*group]) {
                let leaves = level.leaves(self.layout.node(key, column)) - 1;
                *lost += u128::from(*rows) * u128::from(leaves);
            }
        }
        let tallies = groups.tallies(&self.task.values, self.watch)?;
        let mut failing = judged.failing.iter().copied().peekable();
        for (index, rows) in groups.sizes().enumerate() {
            *sums.sizes.entry(rows).or_default() += 1;
            if failing.next_if_eq(&index).is_some() {
                continue;
            }
            *sums.released_sizes.entry(rows).or_default() += 1;
            for (totals, tally) in sums.released.iter_mut().zip(tallies) {
                let values = tally.group(index).iter();
                values.for_each(|(value, count)| totals[*value as usize] += u64::from(*count));
            }
        }
        Ok(())
    }

    /// Whether the groups that are released hold against the released rows too.
    fn parts_hold_against(&self, node: Node, released: &[Vec<u64>]) -> Result<bool> {
        let requirements = self.task.requirements.iter();
        let again: Vec<Box<dyn Requirement>> =
            requirements.filter_map(|one| one.against_release(released)).collect();
        if again.is_empty() {
            return Ok(true);
        }
        let mut hold = true;
        self.each_part(node, &mut |groups| {
            let columns = groups.tallies(&self.task.values, self.watch)?;
            for (index, rows) in groups.sizes().enumerate() {
                let group = Group { rows, columns, index };
                let is_released = all_hold(&self.task.requirements, &group);
                hold &= !is_released || all_hold(&again, &group);
            }
            Ok(hold)
        })?;
        Ok(hold)
    }
}

/// A release at a node of which only sums are in memory.
struct PartRelease<'a, K> {
    engine: &'a Engine<'a, K>,
    node: Node,
    sums: &'a PartSums,
    /// Whether every group is released.
    is_all: bool,
}

impl<K: GroupKey> ReleaseFigures for PartRelease<'_, K> {
    fn rows(&self) -> u64 {
        self.engine.rows
    }

    fn suppressed(&self) -> u64 {
        if self.is_all { 0 } else { self.sums.suppressed }
    }

    fn detail(&self) -> f64 {
        let Engine { lattice, lm, marginals, .. } = self.engine;
        let mut sum = lm.nothing();
        for (column, (lost, whole)) in sum.0.iter_mut().zip(lm.whole()).enumerate() {
            *lost = marginals[column][lattice.level(self.node, column)].lost
                + u128::from(self.suppressed()) * u128::from(*whole);
            if !self.is_all {
                *lost -= self.sums.failing[column];
            }
        }
        lm.in_rows(&sum)
    }

    fn sum_of_sizes(&self, figure: impl Fn(u64) -> u128) -> u128 {
        let sizes = if self.is_all { &self.sums.sizes } else { &self.sums.released_sizes };
        sizes.iter().map(|(size, groups)| figure(*size) * u128::from(*groups)).sum()
    }

    fn sum_of_labels(&self, figure: impl Fn(&[(u32, u32)]) -> u64) -> Result<u64> {
        let Engine { task, watch, .. } = self.engine;
        let Some(target) = task.target else { return Ok(0) };
        let mut sum = 0;
        self.engine.each_part(self.node, &mut |groups| {
            let columns = groups.tallies(&task.values, watch)?;
            for (index, rows) in groups.sizes().enumerate() {
                if self.is_all || all_hold(&task.requirements, &Group { rows, columns, index }) {
                    sum += figure(columns[target].group(index));
                }
            }
            Ok(true)
        })?;
        Ok(sum)
    }
}
