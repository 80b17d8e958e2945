//! MPALM: multidimensional partitioning under delta-presence with a public table (Nergiz, Atzori
//! and Clifton 2007; named in Nergiz and Clifton 2008, section 7).
//!
//! Population and private rows are parted together, as Mondrian parts rows: a split is allowable if
//! the share of private rows on every side stays within the range and every other requirement holds
//! for the private rows of it. A side without a private row is a group too, and is refused where
//! the least share is above nothing. What is called halves are halves of the private rows.
//!
//! A region is named by all people in it, not by the private rows alone: a name that left out some
//! of the population would tell that they are not in the table, and make the others' share larger.
//! Regions are boxes that do not overlap, so every person of the population falls into one of them.
//!
//! Cells are parted, not rows: people with the same values always share a side.
//!
//! Cost: O(c log² c) for c cells of the population and a fixed number of attributes.

use super::mondrian::{Grown, aim, check_whole, found};
use super::{Aim, Choice, Criterion, FrequencySet, Judge, Partitioning, choose};
use crate::error::Result;
use crate::ids::CellId;
use crate::search::{Found, Task};
use crate::taxonomy::{Axis, Extent};
use crate::watch::{PIECE, Watch};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Below this many cells a thread of its own is not worth its while.
const ALONE: usize = 4096;

/// Partitions the population of a task.
pub fn search(task: &Task, partitioning: Partitioning, watch: &Watch) -> Result<Found> {
    check_whole(task, watch)?;
    let aim = match partitioning.criterion {
        // What the papers do, and what the policy's documentation promises for a presence.
        Criterion::Loss => Aim::Median,
        criterion => aim(task, criterion)?,
    };
    let growth = PopulationGrowth {
        task,
        judge: Judge::exact(&task.requirements),
        aim: &aim,
        least_gain: partitioning.least_gain,
        watch,
    };
    let grown = growth.grow((0..task.cells.len() as u32).collect(), false)?;
    found(&grown, task, partitioning.style.of_boxes(), watch)
}

struct PopulationGrowth<'a> {
    task: &'a Task,
    judge: Judge<'a>,
    aim: &'a Aim,
    least_gain: f64,
    watch: &'a Watch,
}

impl PopulationGrowth<'_> {
    /// Grows the tree of some cells. `plain`: the median has taken over.
    fn grow(&self, cells: Vec<u32>, plain: bool) -> Result<Grown> {
        let extents = extents(self.task, &cells, self.watch)?;
        let aim = if plain { &Aim::Median } else { self.aim };
        let set = |column| FrequencySet::of_cells(self.task, &cells, column, self.watch);
        let axes = &self.task.axes;
        let (choice, plain) =
            choose(axes, &extents, &self.judge, aim, self.least_gain, self.watch, set)?;
        let Some(choice) = choice else { return Ok(Grown::Region(cells.len())) };
        let many = cells.len() >= ALONE;
        let parts = part(self.task, cells, &choice, self.watch)?;
        let grow = |part| self.grow(part, plain);
        let parts = if many {
            parts.into_par_iter().map(grow).collect::<Result<_>>()?
        } else {
            parts.into_iter().map(grow).collect::<Result<_>>()?
        };
        Ok(Grown::Split(choice, parts))
    }
}

/// The least and the greatest code of some cells in every column.
pub(super) fn extents(task: &Task, cells: &[u32], watch: &Watch) -> Result<Vec<Extent>> {
    let mut extents = vec![Extent::NONE; task.axes.len()];
    for piece in cells.chunks(PIECE) {
        watch.check()?;
        for cell in piece {
            extents
                .iter_mut()
                .zip(task.cells.codes(CellId(*cell)))
                .for_each(|(extent, code)| extent.include(u64::from(*code)));
        }
    }
    Ok(extents)
}

/// The parts of a split, in order.
pub(super) fn part(
    task: &Task,
    cells: Vec<u32>,
    choice: &Choice,
    watch: &Watch,
) -> Result<Vec<Vec<u32>>> {
    let code = |cell: &u32, column: usize| task.cells.codes(CellId(*cell))[column];
    match choice {
        Choice::Threshold { column, before, .. } => {
            let (mut below, mut above) = (Vec::new(), Vec::new());
            for piece in cells.chunks(PIECE) {
                watch.check()?;
                for cell in piece {
                    let first = u64::from(code(cell, *column)) < *before;
                    if first { below.push(*cell) } else { above.push(*cell) }
                }
            }
            Ok(vec![below, above])
        }
        Choice::Children { column, level, children, .. } => {
            let Axis::Tree(taxonomy) = &task.axes[*column] else { return Ok(vec![cells]) };
            let level = taxonomy.level(*level);
            let mut parts = vec![Vec::new(); children.len()];
            for piece in cells.chunks(PIECE) {
                watch.check()?;
                for cell in piece {
                    let node = level.node_of(code(cell, *column));
                    // Every cell's child was counted, so it is one of them.
                    parts[children.partition_point(|child| *child < node)].push(*cell);
                }
            }
            Ok(parts)
        }
    }
}
