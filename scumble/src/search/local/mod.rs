//! Local recoding: which sets of rows share one generalized tuple with the least loss?
//!
//! Full-domain recoding gives all rows of a column one level, and regions are the leaves of one
//! partition tree. Here every class is any set of cells: it gets the smallest label in each column
//! that covers its cells, and labels of different classes may overlap. That is the freest of all
//! recodings, so its loss can be the least, and the hardest to optimize.
//!
//! `start` makes the first classes by walking vectors of levels from the cheapest on, and
//! `improve` rebuilds neighbourhoods of classes until time or steps run out. Units are whole
//! cells: all rows of one tuple stay together. The judge knows every requirement through its
//! tallies, and searching never needs to know which one it is. Rows are suppressed where that costs
//! less than to join them with others, as far as the policy allows it.

mod aim;
pub mod bound;
mod class;
mod improve;
mod index;
mod judge;
pub mod parts;
mod slots;
mod space;
mod start;

use crate::error::Result;
use crate::privacy::Requirement;
use crate::recoding::{Local, Mapping, Style};
use crate::search::regions::mondrian::check_whole;
use crate::search::{Found, Task, Warrant};
use crate::table::Tallies;
use crate::watch::Watch;
use aim::Aim;
use improve::Classes;
use judge::Judge;
use space::Space;
pub use start::has_few_levels;

/// Steps for each unit, if nothing else limits the search.
const STEPS_PER_UNIT: u64 = 16;

/// The least and the most steps of a schedule.
const STEPS: (u64, u64) = (1 << 13, MOST_STEPS);

/// The most steps of a schedule for a table in memory.
pub const MOST_STEPS: u64 = 1 << 19;

/// Batches between two copies of the best so far.
const COPIED: u64 = 256;

/// The same if several of the best are kept, to draw one of them.
const DRAWN: u64 = 64;

/// How far a search has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Steps that were taken.
    pub steps: u64,
    /// Steps of the schedule.
    pub planned: u64,
    /// What the classes cost now, as a mean over all values.
    pub cost: f64,
}

/// How a search is to go.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// What the labels of a class say.
    pub style: Style,
    /// The seed of all random draws.
    pub seed: u64,
    /// How many of the best recodings are kept.
    pub top: usize,
}

/// Searches for the classes with the least loss. Returns the best recodings that it came across,
/// the best one first. If allowable classes are `known` already, as the class of each cell, the
/// search starts with them, unless vectors of levels make cheaper ones. `heat` is asked before
/// every batch of steps: it falls from 1 to 0 in the course of the search, and the search ends if
/// there is none.
pub fn search(
    task: &Task,
    known: Option<&[u32]>,
    course: Course,
    heat: &mut dyn FnMut(&Progress) -> Option<f64>,
    watch: &Watch,
) -> Result<Vec<Found>> {
    check_whole(task, watch)?;
    let space = Space::new(task, course.style, watch)?;
    let (judge, aim) = (Judge::new(task), Aim::new(task, &space));
    let ground = (&space, &judge, &aim);
    let known = known.map(|known| members(space.cells.iter().map(|cell| known[*cell as usize])));
    let first = start::start(task, (&space, &judge), known, watch)?;
    let most = suppressible(task);
    let mut classes = Classes::new(ground, first, most, course.seed, watch)?;
    let planned = STEPS_PER_UNIT.saturating_mul(space.len() as u64).clamp(STEPS.0, STEPS.1);
    let values = task.rows() as f64 * space.width.max(1) as f64;
    let mut best = Best { most: course.top.max(1), kept: Vec::new() };
    best.offer(&classes);
    let mut batches = 0;
    while classes.cost > 0.0 {
        let progress = Progress { steps: classes.steps, planned, cost: classes.cost / values };
        let Some(heat) = heat(&progress) else { break };
        classes.batch(heat, watch)?;
        batches += 1;
        if batches % if best.most > 1 { DRAWN } else { COPIED } == 0 {
            best.offer(&classes);
        }
    }
    watch.check()?;
    best.offer(&classes);
    let found = |(cost, of_units): (f64, Vec<u32>)| {
        let cost = Some(aim.reported(&space, &of_units, cost) / aim.unit);
        let number = of_units.iter().max().map_or(0, |class| class + 1);
        let mut class_of = vec![0; of_units.len()];
        space.cells.iter().zip(of_units).for_each(|(cell, class)| class_of[*cell as usize] = class);
        let mapping = Mapping::Local(Local { class_of, classes: number, style: course.style });
        Found { mapping, warrant: Warrant::Likely, cost, space: None, visited: classes.steps }
    };
    Ok(best.kept.into_iter().map(found).collect())
}

/// The best classes so far.
struct Best {
    most: usize,
    /// What they cost, and the class of each unit; the cheapest ones first.
    kept: Vec<(f64, Vec<u32>)>,
}

impl Best {
    /// Keeps a copy of classes that are among the best, unless they are known.
    fn offer(&mut self, classes: &Classes<'_>) {
        let cost = classes.cost;
        let is_worse = self.kept.last().is_some_and(|worst| cost >= worst.0);
        if is_worse && self.kept.len() == self.most {
            return;
        }
        let of_units = classes.of_units();
        if self.kept.iter().any(|known| known.1 == of_units) {
            return;
        }
        let at = self.kept.partition_point(|known| known.0 <= cost);
        self.kept.insert(at, (cost, of_units));
        self.kept.truncate(self.most);
    }
}

/// The units of each class, from the class of each unit.
fn members(of_units: impl Iterator<Item = u32>) -> Vec<Vec<u32>> {
    let mut members: Vec<Vec<u32>> = Vec::new();
    for (unit, class) in (0..).zip(of_units) {
        let class = class as usize;
        if class >= members.len() {
            members.resize(class + 1, Vec::new());
        }
        members[class].push(unit);
    }
    members
}

/// How many rows the search may suppress. None if a requirement compares classes with all released
/// rows: then each suppressed row would change what the other classes must meet.
fn suppressible(task: &Task) -> u64 {
    let total = |(tallies, values): (&Tallies, &usize)| {
        let mut sums = vec![0; *values];
        for cell in 0..task.cells.len() {
            let group = tallies.group(cell).iter();
            group.for_each(|(value, rows)| sums[*value as usize] += u64::from(*rows));
        }
        sums
    };
    let totals: Vec<Vec<u64>> = task.tallies.iter().zip(&task.values).map(total).collect();
    let compares = |requirement: &dyn Requirement| requirement.against_release(&totals).is_some();
    let is_relative = task.requirements.iter().any(|requirement| compares(requirement.as_ref()));
    if is_relative { 0 } else { task.suppressible }
}
