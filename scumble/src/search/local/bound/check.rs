//! Are the prices low enough? Decided in whole numbers, for every label there is.
//!
//! The checker shares no code with the search for prices. It takes a price for each cell, and for
//! columns of numbers a division of their codes into groups, neither of which it trusts. Whenever
//! the dearest rows of a label are too dear, it lowers them on the spot and goes on. Prices only
//! fall, so a label that was fine remains fine, and one walk is enough: what is left at its end is
//! proven.
//!
//! The walk sorts cells by the prices that it was given. They are never below the current ones, so
//! whatever they show to be fine is fine.

use super::effort::Effort;
use crate::error::Result;
use crate::ids::CellId;
use crate::search::Task;
use crate::taxonomy::{Axis, Extent, Taxonomy};
use std::cmp::Reverse;

/// A price of 1: the whole detail of one column of average weight.
const WHOLE: u128 = 1 << 32;

/// What is claimed.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The price of a row of each cell, in units of 2^-32.
    pub prices: Vec<u64>,
    /// The first code of each group of a column of numbers; empty for trees.
    pub firsts: Vec<Vec<u32>>,
}

/// Lowers the prices of a claim until they prove a bound, and returns what all rows together cost
/// at least, in units of 2^-32; nothing if the effort was not enough.
pub fn certify(
    task: &Task,
    claimed: &mut Claimed,
    effort: &mut Effort<'_>,
) -> Result<Option<u128>> {
    let columns = task.axes.len();
    if !claimed.firsts.iter().all(|firsts| firsts.is_sorted()) {
        return Ok(None);
    }
    if task.suppressible > 0 {
        // A suppressed row costs the weight of each column, 1 on average.
        let most = u64::try_from(WHOLE * columns as u128).unwrap_or(u64::MAX);
        claimed.prices.iter_mut().for_each(|price| *price = (*price).min(most));
    }
    let mut cells: Vec<u32> = (0..task.cells.len() as u32).collect();
    cells.sort_by_key(|cell| (Reverse(claimed.prices[*cell as usize]), *cell));
    let mut order: Vec<usize> = (0..columns).collect();
    order.sort_by_key(|column| {
        (!claimed.firsts[*column].is_empty(), task.taxonomies[*column].codes())
    });
    let least = task.requirements.iter().map(|requirement| requirement.least_rows()).max();
    let mut checker = Checker {
        task,
        order,
        least: u128::from(least.unwrap_or(1).max(1)),
        given: claimed.prices.clone(),
        prices: &mut claimed.prices,
        firsts: &claimed.firsts,
    };
    if !checker.column(0, &cells, 0, effort)? {
        return Ok(None);
    }
    let costs = claimed.prices.iter().zip(task.cells.counts());
    Ok(Some(costs.map(|(price, rows)| u128::from(*price) * u128::from(*rows)).sum()))
}

struct Checker<'a> {
    task: &'a Task,
    order: Vec<usize>,
    /// The least number of rows of a class.
    least: u128,
    /// The prices as they were given, by which lists are sorted, dearest first.
    given: Vec<u64>,
    prices: &'a mut [u64],
    firsts: &'a [Vec<u32>],
}

impl Checker<'_> {
    fn code(&self, column: usize, cell: u32) -> u32 {
        self.task.cells.codes(CellId(cell))[column]
    }

    /// Whether some label below may be wrong that covers no more than these cells and costs no
    /// less.
    fn may_be_wrong(&self, cells: &[u32], cost: u128) -> bool {
        let (mut rows, mut sum) = (0, 0);
        for cell in cells {
            let more = u128::from(self.task.cells.count(CellId(*cell))).min(self.least - rows);
            rows += more;
            sum += more * u128::from(self.given[*cell as usize]);
            if rows == self.least {
                return sum > self.least * cost;
            }
        }
        // There is no class of so few rows.
        false
    }

    /// Tries all labels of one more column. All answers say whether the effort is enough.
    fn column(
        &mut self,
        depth: usize,
        cells: &[u32],
        cost: u128,
        effort: &mut Effort<'_>,
    ) -> Result<bool> {
        if depth == self.order.len() {
            self.settle(cells, cost);
            return Ok(true);
        }
        let task = self.task;
        let column = self.order[depth];
        match &task.axes[column] {
            Axis::Tree(tree) => self.node(depth, (tree, tree.height()), cells, cost, effort),
            Axis::Ordered(_) => self.numbers(depth, column, cells, cost, effort),
        }
    }

    /// Tries a label.
    fn label(
        &mut self,
        depth: usize,
        cells: &[u32],
        cost: u128,
        effort: &mut Effort<'_>,
    ) -> Result<bool> {
        if !self.may_be_wrong(cells, cost) {
            return Ok(true);
        }
        // A row that is cheap enough together with the dearest of the others cannot do harm.
        let (mut rows, mut others) = (0, 0);
        for cell in cells {
            let more = u128::from(self.task.cells.count(CellId(*cell))).min(self.least - 1 - rows);
            rows += more;
            others += more * u128::from(self.given[*cell as usize]);
            if rows + 1 == self.least {
                break;
            }
        }
        let limit = self.least * cost;
        let harmless = |cell: &u32| others + u128::from(self.given[*cell as usize]) <= limit;
        let kept = cells.iter().position(harmless).unwrap_or(cells.len());
        self.column(depth + 1, &cells[..kept], cost, effort)
    }

    /// Tries the node of a level that covers the cells, and all nodes below it.
    fn node(
        &mut self,
        depth: usize,
        (tree, level): (&Taxonomy, usize),
        cells: &[u32],
        cost: u128,
        effort: &mut Effort<'_>,
    ) -> Result<bool> {
        if !effort.spend(cells.len() as u64 + 1)? {
            return Ok(false);
        }
        let column = self.order[depth];
        let Some(first) = cells.first() else { return Ok(true) };
        let first = self.code(column, *first);
        let own = tree.level(level);
        // Sets of several values may cover anything, and cost what two values cost at least.
        let most = if self.task.sets[column] { 2 } else { u64::MAX };
        let leaves = own.leaves(own.node_of(first)).min(most);
        let with_node = cost + self.share(column, leaves, tree.leaves());
        let Some(below) = level.checked_sub(1) else {
            return self.label(depth, cells, with_node, effort);
        };
        let child = |of: &Self, cell: u32| tree.level(below).node_of(of.code(column, cell));
        let mut sorted: Vec<(u32, u32)> =
            cells.iter().map(|cell| (child(self, *cell), *cell)).collect();
        // Stable: dearest first below each child.
        sorted.sort_by_key(|(child, _)| *child);
        let mut parts = sorted.chunk_by(|a, b| a.0 == b.0).peekable();
        if parts.peek().is_some_and(|part| part.len() == cells.len()) {
            // One child has them all, and costs no more.
            return self.node(depth, (tree, below), cells, cost, effort);
        }
        if !self.label(depth, cells, with_node, effort)? {
            return Ok(false);
        }
        for part in parts {
            let part: Vec<u32> = part.iter().map(|(_, cell)| *cell).collect();
            let is_over = self.may_be_wrong(&part, cost)
                && !self.node(depth, (tree, below), &part, cost, effort)?;
            if is_over {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Tries all ranges of groups of numbers.
    fn numbers(
        &mut self,
        depth: usize,
        column: usize,
        cells: &[u32],
        cost: u128,
        effort: &mut Effort<'_>,
    ) -> Result<bool> {
        let firsts = self.firsts;
        let group = |code: u32| firsts[column].partition_point(|first| *first <= code);
        let of_cells: Vec<usize> =
            cells.iter().map(|cell| group(self.code(column, *cell))).collect();
        let mut held = of_cells.clone();
        held.sort_unstable();
        held.dedup();
        for (at, from) in held.iter().enumerate() {
            for to in &held[at..] {
                let cost = cost + self.range(column, *from, *to);
                if !effort.spend(1)? {
                    return Ok(false);
                }
                if !self.may_be_wrong(cells, cost) {
                    // Wider ranges cost no less.
                    break;
                }
                if !effort.spend(cells.len() as u64)? {
                    return Ok(false);
                }
                let within = cells.iter().zip(&of_cells);
                let within = within.filter(|(_, group)| (from..=to).contains(group));
                let within: Vec<u32> = within.map(|(cell, _)| *cell).collect();
                if !self.label(depth, &within, cost, effort)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// What every label costs at least that reaches from one group of numbers to another, whatever
    /// the kind of recoding: a range of numbers, or a node of the column's tree.
    fn range(&self, column: usize, from: usize, to: usize) -> u128 {
        if from == to {
            return 0;
        }
        let (axis, tree) = (&self.task.axes[column], &self.task.taxonomies[column]);
        let first_of = |group: usize| self.firsts[column].get(group.wrapping_sub(1)).copied();
        // Groups are numbered from 1: the last code of one is before the first of the next.
        let (Some(next), Some(first)) = (first_of(from + 1), first_of(to)) else { return 0 };
        let extent = Extent { first: u64::from(next - 1), last: u64::from(first) };
        // Floats: one unit of 2^32 less is more than their error.
        let whole = self.share(column, 2, 2);
        let range = (axis.lost(extent) * whole as f64).floor() as u128;
        let range = range.saturating_sub(1 + whole / (WHOLE << 8));
        let nodes = tree.levels().iter().rev();
        let common = nodes
            .take_while(|level| level.node_of(next - 1) == level.node_of(first))
            .map(|level| level.leaves(level.node_of(first)))
            .min();
        range.min(self.share(column, common.unwrap_or(1), tree.leaves()))
    }

    /// What a node above some of a column's leaves costs: their share of its weight, rounded down.
    fn share(&self, column: usize, leaves: u64, of: u64) -> u128 {
        let weights = &self.task.weights;
        let weight = u128::from(weights.whole(column)) * self.order.len() as u128;
        let parts = u128::from(weights.total()) * u128::from(of - 1).max(1);
        u128::from(leaves - 1) * weight * WHOLE / parts
    }

    /// Lowers the dearest of the cells that a label covers, if they are too dear.
    fn settle(&mut self, cells: &[u32], cost: u128) {
        let mut dearest: Vec<u32> = cells.to_vec();
        dearest.sort_by_key(|cell| Reverse(self.prices[*cell as usize]));
        let (mut rows, mut sum, mut last) = (0, 0, 0);
        for cell in &dearest {
            let more = u128::from(self.task.cells.count(CellId(*cell))).min(self.least - rows);
            if more == 0 {
                break;
            }
            last = u128::from(self.prices[*cell as usize]);
            (rows, sum) = (rows + more, sum + more * last);
        }
        let most = self.least * cost;
        if rows < self.least || sum <= most {
            return;
        }
        // In proportion, and the others to no more than the cheapest of the dearest.
        for cell in dearest {
            let price = &mut self.prices[cell as usize];
            let lowered = u128::from(*price).max(last) * most / sum;
            *price = (*price).min(u64::try_from(lowered).unwrap_or(u64::MAX));
        }
    }
}
