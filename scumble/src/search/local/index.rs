//! Which units are nearest? A tree of boxes over the units, searched by branch and bound.
//!
//! A larger range of codes never costs less, so what it costs to reach the nearer end of a box is a
//! lower bound for every unit in it.

use super::space::Space;
use crate::error::Result;
use crate::watch::Watch;

/// Units that are not parted further.
const FEW: usize = 8;

#[derive(Debug)]
struct Node {
    /// Its units, as positions.
    first: u32,
    last: u32,
    /// The second child; the first one follows its parent. 0 for a leaf.
    second: u32,
}

/// A tree of boxes over the units.
#[derive(Debug)]
pub struct Index {
    nodes: Vec<Node>,
    /// The box of each node: least codes, then greatest codes.
    boxes: Vec<u32>,
    units: Vec<u32>,
}

/// A unit and what it costs to join it.
pub type Neighbour = (f32, u32);

impl Index {
    /// Over all units of a space.
    pub fn new(space: &Space, watch: &Watch) -> Result<Index> {
        let units = (0..space.len() as u32).collect();
        let mut index = Index { nodes: Vec::new(), boxes: Vec::new(), units };
        index.grow(space, 0, space.len(), watch)?;
        Ok(index)
    }

    fn grow(&mut self, space: &Space, first: usize, last: usize, watch: &Watch) -> Result<u32> {
        watch.check()?;
        let at = self.nodes.len();
        self.nodes.push(Node { first: first as u32, last: last as u32, second: 0 });
        let (mut low, mut high) = (Vec::new(), Vec::new());
        space.hull(&self.units[first..last], &mut low, &mut high);
        let cost = |column: usize| space.lost(column, low[column], high[column]);
        let dearest = (0..space.width).rev().max_by(|a, b| cost(*a).total_cmp(&cost(*b)));
        self.boxes.extend_from_slice(&low);
        self.boxes.extend_from_slice(&high);
        let Some(column) = dearest.filter(|column| low[*column] < high[*column]) else {
            return Ok(at as u32);
        };
        if last - first <= FEW {
            return Ok(at as u32);
        }
        let code = |unit: u32| space.codes(unit)[column];
        self.units[first..last].sort_unstable_by_key(|unit| (code(*unit), *unit));
        let part = &self.units[first..last];
        let median = code(part[part.len() / 2]);
        // Before the median's code, or behind it if nothing is before.
        let below = part.partition_point(|unit| code(*unit) < median);
        let upto = part.partition_point(|unit| code(*unit) <= median);
        let middle = part.len() / 2;
        let cut = if below > 0 && (upto == part.len() || middle - below <= upto - middle) {
            below
        } else {
            upto
        };
        self.grow(space, first, first + cut, watch)?;
        self.nodes[at].second = self.grow(space, first + cut, last, watch)?;
        Ok(at as u32)
    }

    /// The least that it costs to join any unit of a node.
    fn least(&self, space: &Space, node: u32, codes: &[u32]) -> f32 {
        let ends = &self.boxes[node as usize * 2 * space.width..][..2 * space.width];
        let (low, high) = ends.split_at(space.width);
        let mut sum = 0.0;
        for (column, code) in codes.iter().enumerate() {
            if *code < low[column] {
                sum += space.lost(column, *code, low[column]);
            } else if *code > high[column] {
                sum += space.lost(column, high[column], *code);
            }
        }
        sum
    }

    /// The units that are cheapest to join with one, in ascending order of their cost. Rows above
    /// `cap` together count as `cap`.
    pub fn nearest(&self, space: &Space, unit: u32, most: usize, cap: u64) -> Vec<Neighbour> {
        let (codes, rows) = (space.codes(unit), space.rows(unit));
        let mut found: Vec<Neighbour> = Vec::with_capacity(most + 1);
        let mut open: Vec<(f32, u32)> = vec![(0.0, 0)];
        let fewest = (rows + 1).min(cap) as f32;
        while let Some((least, at)) = open.pop() {
            if found.len() == most && least >= found[most - 1].0 {
                continue;
            }
            let node = &self.nodes[at as usize];
            if node.second > 0 {
                let children = [at + 1, node.second];
                let [a, b] = children.map(|child| self.least(space, child, codes) * fewest);
                let children = [(a, children[0]), (b, children[1])];
                open.extend(if a <= b { [children[1], children[0]] } else { children });
                continue;
            }
            for other in &self.units[node.first as usize..node.last as usize] {
                if *other == unit {
                    continue;
                }
                let point = space.codes(*other);
                let both = (rows + space.rows(*other)).min(cap) as f32;
                let cost = space.joined((codes, codes), (point, point)) * both;
                if found.len() < most || cost < found[most - 1].0 {
                    let at = found.partition_point(|known| *known <= (cost, *other));
                    found.truncate(most - 1);
                    found.insert(at.min(found.len()), (cost, *other));
                }
            }
        }
        found
    }
}
