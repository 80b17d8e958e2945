//! Sends all cells down a partition tree together.
//!
//! For a single cell, the way down is a chain of unpredictable branches. For all cells of a node
//! together, it is a list that is split in two passes without branches: first the part of each
//! cell, then the parts one after the other.

use super::{RegionNode, Regions};
use crate::table::Cells;
use crate::taxonomy::Axis;
use rayon::prelude::*;

/// The number of cells that justifies a task of its own.
const ALONE: usize = 2048;

/// Some cells on their way down: the node where they are, and their numbers in ascending order.
type Group<'a> = (u32, &'a mut [u32]);

/// Splits groups.
struct Descent<'a> {
    regions: &'a Regions,
    axes: &'a [Axis],
    cells: &'a Cells,
}

/// Buffers for splitting one group.
#[derive(Default)]
struct Room {
    /// The part of each cell.
    part_of: Vec<u32>,
    /// For each node of a level, its part.
    part_below: Vec<u32>,
    /// The position of the next cell of each part.
    next: Vec<u32>,
    parted: Vec<u32>,
}

impl Regions {
    /// The nodes where cells end (regions, or splits none of whose children matches), in the order
    /// of their numbers, with their cells in ascending order. `order` is a buffer for the numbers
    /// of all cells.
    pub fn descend<'a>(
        &self,
        axes: &[Axis],
        cells: &Cells,
        order: &'a mut Vec<u32>,
    ) -> Vec<(u32, &'a [u32])> {
        *order = (0..cells.len() as u32).collect();
        let descent = Descent { regions: self, axes, cells };
        let alone = (cells.len() / (4 * rayon::current_num_threads())).max(ALONE);
        let (small, mut ended) = descent.go(vec![(0, order)], alone);
        ended.par_extend(small.into_par_iter().flat_map_iter(|group| descent.go(vec![group], 0).1));
        ended.sort_unstable_by_key(|(node, _)| *node);
        ended.into_iter().map(|(node, cells)| (node, &*cells)).collect()
    }
}

impl Descent<'_> {
    /// Continues with groups of more than `least` cells. Returns the smaller groups, and those that
    /// have ended.
    fn go<'a>(&self, mut groups: Vec<Group<'a>>, least: usize) -> (Vec<Group<'a>>, Vec<Group<'a>>) {
        let (mut small, mut ended, mut room) = (Vec::new(), Vec::new(), Room::default());
        while let Some((at, group)) = groups.pop() {
            match &self.regions.nodes[at as usize] {
                _ if group.is_empty() => {}
                RegionNode::Region => ended.push((at, group)),
                _ if group.len() <= least => small.push((at, group)),
                RegionNode::Threshold { column, before, below, above, .. } => {
                    let is_above =
                        |cell: u32| u64::from(self.cells.codes(cell)[*column]) >= *before;
                    let (lower, upper) = room.part_in_two(group, is_above);
                    groups.extend([(*below, lower), (*above, upper)]);
                }
                RegionNode::Children { column, level, children } => {
                    let Axis::Tree(taxonomy) = &self.axes[*column] else {
                        ended.push((at, group));
                        continue;
                    };
                    let level = taxonomy.level(*level);
                    room.part_below.clear();
                    // After the children: what is below none of them.
                    room.part_below.resize(level.len(), children.len() as u32);
                    (0..)
                        .zip(children)
                        .for_each(|(part, (child, _))| room.part_below[*child as usize] = part);
                    let node = |cell: u32| level.node_of(self.cells.codes(cell)[*column]) as usize;
                    let parts =
                        room.part(group, children.len() + 1, |cell, below| below[node(cell)]);
                    let (mut parts, mut nodes) = (parts.into_iter(), children.iter());
                    groups.extend(nodes.by_ref().map(|(_, node)| *node).zip(parts.by_ref()));
                    ended.extend(parts.filter(|rest| !rest.is_empty()).map(|rest| (at, rest)));
                }
            }
        }
        (small, ended)
    }
}

impl Room {
    /// Splits a group in two and keeps the order of cells.
    fn part_in_two<'a>(
        &mut self,
        group: &'a mut [u32],
        is_above: impl Fn(u32) -> bool,
    ) -> (&'a mut [u32], &'a mut [u32]) {
        let parted = &mut self.parted;
        parted.resize(parted.len().max(group.len()), 0);
        let (mut below, mut above) = (0, 0);
        // Each cell is written to both sides, and overwritten on the side where it does not belong.
        for at in 0..group.len() {
            let (cell, goes_up) = (group[at], usize::from(is_above(group[at])));
            (group[below], parted[above]) = (cell, cell);
            (below, above) = (below + 1 - goes_up, above + goes_up);
        }
        let (lower, upper) = group.split_at_mut(below);
        upper.copy_from_slice(&parted[..above]);
        (lower, upper)
    }

    /// Splits a group by what `part` returns for each cell, given the part of each node, and keeps
    /// the order of cells.
    fn part<'a>(
        &mut self,
        group: &'a mut [u32],
        parts: usize,
        part: impl Fn(u32, &[u32]) -> u32,
    ) -> Vec<&'a mut [u32]> {
        let Room { part_of, part_below, next, parted } = self;
        next.clear();
        next.resize(parts + 1, 0);
        part_of.clear();
        part_of.extend(group.iter().map(|cell| part(*cell, part_below)));
        part_of.iter().for_each(|part| next[*part as usize + 1] += 1);
        (0..parts).for_each(|part| next[part + 1] += next[part]);
        parted.resize(parted.len().max(group.len()), 0);
        for (cell, part) in group.iter().zip(&*part_of) {
            let place = &mut next[*part as usize];
            parted[*place as usize] = *cell;
            *place += 1;
        }
        group.copy_from_slice(&parted[..group.len()]);
        // Each part starts where the previous one ends.
        let (mut rest, mut start) = (group, 0);
        let cut = next[..parts].iter().map(|end| {
            let (first, others) = std::mem::take(&mut rest).split_at_mut((*end - start) as usize);
            (rest, start) = (others, *end);
            first
        });
        cut.collect()
    }
}
