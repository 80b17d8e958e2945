//! Cells go down a partition tree together.
//!
//! One by one, a cell's way down is a chain of branches that nothing foretells. All cells of a node
//! at once are a list that is parted in two passes without a branch: which part each goes to, then
//! the parts one behind the other.

use super::{RegionNode, Regions};
use crate::error::Result;
use crate::ids::CellId;
use crate::table::Cells;
use crate::taxonomy::Axis;
use crate::watch::{PIECE, Watch};
use rayon::prelude::*;

/// Cells that are worth a thread of their own.
const ALONE: usize = 2048;

/// Some cells on their way: the node where they are, and their numbers in ascending order.
type CellsAtNode<'a> = (u32, &'a mut [u32]);

/// What parts groups.
struct Descent<'a> {
    regions: &'a Regions,
    axes: &'a [Axis],
    cells: &'a Cells<CellId>,
    watch: &'a Watch,
}

/// Room for the parting of one group.
#[derive(Default)]
struct Room {
    /// The part that each cell goes to.
    part_of: Vec<u32>,
    /// For each node of a level, the part that is below it.
    part_below: Vec<u32>,
    /// Where the next cell of each part goes.
    next: Vec<u32>,
    parted: Vec<u32>,
}

impl Regions {
    /// The nodes where cells end (regions, or splits none of whose children is theirs), in the
    /// order of their numbers, with their cells in ascending order. `order` is room for the numbers
    /// of all cells.
    pub fn descend<'a>(
        &self,
        axes: &[Axis],
        cells: &Cells<CellId>,
        order: &'a mut Vec<u32>,
        watch: &Watch,
    ) -> Result<Vec<(u32, &'a [u32])>> {
        *order = (0..cells.len() as u32).collect();
        let descent = Descent { regions: self, axes, cells, watch };
        let alone = (cells.len() / (4 * rayon::current_num_threads())).max(ALONE);
        let (small, mut ended) = descent.go(vec![(0, order)], alone)?;
        let deeper: Vec<Vec<CellsAtNode<'_>>> = small
            .into_par_iter()
            .map(|group| Ok(descent.go(vec![group], 0)?.1))
            .collect::<Result<_>>()?;
        ended.extend(deeper.into_iter().flatten());
        let mut ended: Vec<(u32, &[u32])> =
            ended.into_iter().map(|(node, cells)| (node, &*cells)).collect();
        watch.sort_by(&mut ended, |one, other| one.0.cmp(&other.0))?;
        Ok(ended)
    }
}

impl Descent<'_> {
    /// Goes on with groups of more cells than that: the others, and those that have ended.
    fn go<'a>(
        &self,
        mut groups: Vec<CellsAtNode<'a>>,
        least: usize,
    ) -> Result<(Vec<CellsAtNode<'a>>, Vec<CellsAtNode<'a>>)> {
        let (mut small, mut ended, mut room) = (Vec::new(), Vec::new(), Room::default());
        while let Some((at, group)) = groups.pop() {
            self.watch.check()?;
            match &self.regions.nodes[at as usize] {
                _ if group.is_empty() => {}
                RegionNode::Region => ended.push((at, group)),
                _ if group.len() <= least => small.push((at, group)),
                RegionNode::Threshold { column, before, below, above, .. } => {
                    let is_above =
                        |cell: u32| u64::from(self.cells.codes(CellId(cell))[*column]) >= *before;
                    let (lower, upper) = room.part_in_two(group, is_above, self.watch)?;
                    groups.extend([(*below, lower), (*above, upper)]);
                }
                RegionNode::Children { column, level, children, rest } => {
                    let Axis::Tree(taxonomy) = &self.axes[*column] else {
                        ended.push((at, group));
                        continue;
                    };
                    let level = taxonomy.level(*level);
                    room.part_below.clear();
                    // Behind the children: what is below none of them.
                    room.part_below.resize(level.len(), children.len() as u32);
                    (0..)
                        .zip(children)
                        .for_each(|(part, (child, _))| room.part_below[*child as usize] = part);
                    let leaf = |cell: u32| self.cells.codes(CellId(cell))[*column];
                    let part = |cell: u32, below: &[u32]| below[level.node_of(leaf(cell)) as usize];
                    let parts = room.part(group, children.len() + 1, part, self.watch)?;
                    let (mut parts, mut nodes) = (parts.into_iter(), children.iter());
                    groups.extend(nodes.by_ref().map(|(_, node)| *node).zip(parts.by_ref()));
                    let left = parts.filter(|left| !left.is_empty());
                    match rest {
                        Some(rest) => groups.extend(left.map(|left| (*rest, left))),
                        None => ended.extend(left.map(|left| (at, left))),
                    }
                }
            }
        }
        Ok((small, ended))
    }
}

impl Room {
    /// Parts a group in two; their order stays.
    fn part_in_two<'a>(
        &mut self,
        group: &'a mut [u32],
        is_above: impl Fn(u32) -> bool,
        watch: &Watch,
    ) -> Result<(&'a mut [u32], &'a mut [u32])> {
        let parted = &mut self.parted;
        parted.resize(parted.len().max(group.len()), 0);
        let (mut below, mut above) = (0, 0);
        // Each is written to both sides, and written over unless it belongs there.
        for start in (0..group.len()).step_by(PIECE) {
            watch.check()?;
            for at in start..group.len().min(start + PIECE) {
                let (cell, goes_up) = (group[at], usize::from(is_above(group[at])));
                (group[below], parted[above]) = (cell, cell);
                (below, above) = (below + 1 - goes_up, above + goes_up);
            }
        }
        let (lower, upper) = group.split_at_mut(below);
        upper.copy_from_slice(&parted[..above]);
        Ok((lower, upper))
    }

    /// Parts a group by what `part` says of each cell, given the parts below each node; their order
    /// stays.
    fn part<'a>(
        &mut self,
        group: &'a mut [u32],
        parts: usize,
        part: impl Fn(u32, &[u32]) -> u32,
        watch: &Watch,
    ) -> Result<Vec<&'a mut [u32]>> {
        let Room { part_of, part_below, next, parted } = self;
        next.clear();
        next.resize(parts + 1, 0);
        part_of.clear();
        for piece in group.chunks(PIECE) {
            watch.check()?;
            part_of.extend(piece.iter().map(|cell| part(*cell, part_below)));
        }
        part_of.iter().for_each(|part| next[*part as usize + 1] += 1);
        (0..parts).for_each(|part| next[part + 1] += next[part]);
        parted.resize(parted.len().max(group.len()), 0);
        for (cells, parts) in group.chunks(PIECE).zip(part_of.chunks(PIECE)) {
            watch.check()?;
            for (cell, part) in cells.iter().zip(parts) {
                let place = &mut next[*part as usize];
                parted[*place as usize] = *cell;
                *place += 1;
            }
        }
        group.copy_from_slice(&parted[..group.len()]);
        // Where each part ends, the next one goes.
        let (mut rest, mut start) = (group, 0);
        let cut = next[..parts].iter().map(|end| {
            let (first, others) = std::mem::take(&mut rest).split_at_mut((*end - start) as usize);
            (rest, start) = (others, *end);
            first
        });
        Ok(cut.collect())
    }
}
