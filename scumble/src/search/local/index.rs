//! Which units are nearest? A trie of their codes, searched by branch and bound.
//!
//! The units of a node have the same codes in the first columns. A larger range of codes never
//! costs less, so the search goes outwards from the code of the unit that asks, and turns back
//! where the columns so far cost more than the farthest neighbour that is known.

use super::space::Space;
use crate::error::Result;
use crate::watch::Watch;
use std::ops::Range;

/// Units that are compared one by one.
const FEW: usize = 4;

/// Codes that one search compares, at most. What is found first is near already.
const LOOKS: usize = 1 << 17;

/// Columns that are compared before a unit may turn out to be too far.
const COLUMNS: usize = 8;

#[derive(Debug)]
struct Node {
    /// The code that its units have in the column of its depth.
    code: u32,
    units: (u32, u32),
    /// Its children; none if its units are compared one by one.
    children: (u32, u32),
}

/// A trie of units.
#[derive(Debug)]
pub struct Index {
    nodes: Vec<Node>,
    top: Range<usize>,
}

/// A unit and what it costs to join it.
pub type Neighbour = (f32, u32);

impl Index {
    /// Over all units of a space. They are in the order of their codes.
    pub fn new(space: &Space, watch: &Watch) -> Result<Index> {
        let mut nodes = Vec::new();
        let units = if space.width == 0 { 0..0 } else { 0..space.len() };
        let top = children(space, 0, units, &mut nodes);
        let mut open = vec![(0, top.clone())];
        while let Some((depth, parts)) = open.pop() {
            watch.check()?;
            for at in parts {
                let units = nodes[at].units.0 as usize..nodes[at].units.1 as usize;
                if units.len() > FEW && depth + 1 < space.width {
                    let found = children(space, depth + 1, units, &mut nodes);
                    nodes[at].children = (found.start as u32, found.end as u32);
                    open.push((depth + 1, found));
                }
            }
        }
        Ok(Index { nodes, top })
    }

    /// The units that are cheapest to join with one, in ascending order of their cost. Rows above
    /// `cap` together count as `cap`.
    pub fn nearest(&self, space: &Space, unit: u32, most: usize, cap: u64) -> Vec<Neighbour> {
        let rows = space.rows(unit);
        let mut query = Query {
            index: self,
            space,
            unit,
            rows,
            most,
            cap,
            fewest: (rows + 1).min(cap) as f32,
            looks: 0,
            found: Vec::with_capacity(most + 1),
        };
        query.visit(0, self.top.clone(), 0.0);
        query.found
    }
}

/// Adds a node for each code of a column among some units.
fn children(
    space: &Space,
    depth: usize,
    units: Range<usize>,
    nodes: &mut Vec<Node>,
) -> Range<usize> {
    let start = nodes.len();
    let mut first = units.start;
    while first < units.end {
        let code = space.codes(first as u32)[depth];
        let is_same = |unit: &usize| space.codes(*unit as u32)[depth] == code;
        let last = (first + 1..units.end).find(|unit| !is_same(unit)).unwrap_or(units.end);
        nodes.push(Node { code, units: (first as u32, last as u32), children: (0, 0) });
        first = last;
    }
    start..nodes.len()
}

/// One search for neighbours.
struct Query<'a> {
    index: &'a Index,
    space: &'a Space,
    unit: u32,
    rows: u64,
    most: usize,
    cap: u64,
    /// The rows of a pair are at least so many.
    fewest: f32,
    looks: usize,
    found: Vec<Neighbour>,
}

impl Query<'_> {
    /// Whether a pair that costs each row so much is too far.
    fn is_far(&self, detail: f32) -> bool {
        let farthest = self.found.len() == self.most;
        self.looks > LOOKS || (farthest && detail * self.fewest >= self.found[self.most - 1].0)
    }

    /// Visits nodes from the code of the unit outwards; `before` is what the columns above cost.
    fn visit(&mut self, depth: usize, nodes: Range<usize>, before: f32) {
        let code = self.space.codes(self.unit)[depth];
        let all = &self.index.nodes[nodes.clone()];
        let middle = nodes.start + all.partition_point(|node| node.code < code);
        for at in middle..nodes.end {
            if !self.enter(depth, at, before) {
                break;
            }
        }
        for at in (nodes.start..middle).rev() {
            if !self.enter(depth, at, before) {
                break;
            }
        }
    }

    /// Visits a node, unless it is too far.
    fn enter(&mut self, depth: usize, at: usize, before: f32) -> bool {
        let node = &self.index.nodes[at];
        let own = self.space.codes(self.unit)[depth];
        let detail = before + self.space.apart(depth, own, node.code);
        self.looks += 1;
        if self.is_far(detail) {
            return false;
        }
        if node.children.1 > 0 {
            let children = node.children.0 as usize..node.children.1 as usize;
            self.visit(depth + 1, children, detail);
        } else {
            (node.units.0..node.units.1).for_each(|other| self.compare(depth + 1, other, detail));
        }
        true
    }

    /// Compares a unit by the columns that are left.
    fn compare(&mut self, depth: usize, other: u32, before: f32) {
        if other == self.unit {
            return;
        }
        let (one, another) = (self.space.codes(self.unit), self.space.codes(other));
        let mut detail = before;
        for first in (depth..one.len()).step_by(COLUMNS) {
            let last = (first + COLUMNS).min(one.len());
            self.looks += last - first;
            for column in first..last {
                detail += self.space.apart(column, one[column], another[column]);
            }
            if self.is_far(detail) {
                return;
            }
        }
        let cost = detail * (self.rows + self.space.rows(other)).min(self.cap) as f32;
        if self.found.len() < self.most || cost < self.found[self.most - 1].0 {
            let at = self.found.partition_point(|known| *known <= (cost, other));
            self.found.truncate(self.most - 1);
            self.found.insert(at.min(self.found.len()), (cost, other));
        }
    }
}
