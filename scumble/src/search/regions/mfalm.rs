//! MFALM: multidimensional partitioning under c-confident delta-presence, which Nergiz and Clifton (2008, section 9) leave open.
//!
//! Rows are parted as Mondrian parts them, and a part is allowable if its box has the confidence that its rows need. The
//! guarantee is that of the full-domain search, box by box: the number of others who fall into a box follows the same
//! recursion with the counts of its sides, because the model does not care which values are put together; confidence is
//! defined for each tuple by itself (definition 9); and boxes do not overlap, so a person matches one of them at most.
//! What is judged is the box that is written: the range of the rows' values, or with `regions = "cover"` that of the
//! partition tree.
//!
//! Where marginals count the table's rows too, the others of a side are those that whoever has the release alone can be sure
//! of ([`Overlaps`]): such a release can be verified from its file. Parting one region makes others' sides better known and
//! never worse, so what was allowed stays allowed, and regions are tried until none can be parted.
//!
//! Choice: the attribute with the largest share of its range left that has an allowable split; its children, or the
//! allowable threshold nearest to the median.

use super::choose::{Splits, apart, by_range, child_ranges, splits, threshold};
use super::mpalm::{extents, part};
use super::{Choice, FrequencySet, Judge, Partitioning};
use crate::error::{Error, Result};
use crate::privacy::{ConfidentPresence, Overlaps, Tuple};
use crate::recoding::{Mapping, Place, RegionNode, Regions, Style};
use crate::search::{Found, Task, Warrant};
use crate::table::Tallies;
use crate::taxonomy::{Extent, Node};
use std::ops::Range;

/// Partitions a task whose presence is judged in likely worlds.
pub fn search(task: &Task, partitioning: Partitioning) -> Result<Found> {
    let confident = task.confident.as_ref().ok_or(Error::Defect)?;
    super::mondrian::check_whole(task)?;
    let mut growth = Growth {
        task,
        confident,
        judge: Judge::exact(&task.requirements),
        style: partitioning.style,
        nodes: vec![RegionNode::Region],
        overlaps: confident.listed(0, 0..0).map(|_| Overlaps::new(task.axes.len())),
    };
    let whole = growth.region(0, (0..task.cells.len() as u32).collect(), vec![Place::Whole; task.axes.len()]);
    growth.check_whole(&whole)?;
    growth.take(&whole);
    let mut regions = vec![whole];
    loop {
        let (mut done, mut parted) = (Vec::new(), false);
        while let Some(region) = regions.pop() {
            match growth.split(&region) {
                None => done.push(region),
                Some(parts) => {
                    parted = true;
                    regions.extend(parts);
                }
            }
        }
        // Where sides are not known better than before, nothing that was refused is allowable now.
        if !parted || growth.overlaps.is_none() {
            break;
        }
        regions = done;
    }
    let mut found = Regions { nodes: growth.nodes, style: partitioning.style };
    if partitioning.style == Style::Cover {
        found = found.with_missing_apart(&task.axes);
    }
    let visited = found.nodes.len() as u64;
    let mapping = Mapping::Regions(found);
    Ok(Found { mapping, warrant: Warrant::Minimal(true), cost: None, space: None, visited })
}

/// A box, and the rows in it.
struct Region {
    node: u32,
    cells: Vec<u32>,
    rows: u64,
    extents: Vec<Extent>,
    places: Vec<Place>,
    /// The codes that its name stands for.
    sides: Vec<Range<u32>>,
}

struct Growth<'a> {
    task: &'a Task,
    confident: &'a ConfidentPresence,
    judge: Judge<'a>,
    style: Style,
    nodes: Vec<RegionNode>,
    /// What the release will tell of its own rows, where that matters.
    overlaps: Option<Overlaps>,
}

impl Growth<'_> {
    fn region(&self, node: u32, cells: Vec<u32>, places: Vec<Place>) -> Region {
        let extents = extents(self.task, &cells);
        let sides = self.task.axes.iter().enumerate().map(|(column, axis)| {
            let all = self.task.taxonomies[column].codes();
            match self.style {
                Style::Tight => axis.said_codes(extents[column], all),
                Style::Cover => places[column].codes(axis, all),
            }
        });
        let sides = sides.collect();
        let rows = cells.iter().map(|cell| u64::from(self.task.cells.counts()[*cell as usize])).sum();
        Region { node, cells, rows, extents, places, sides }
    }

    fn check_whole(&self, whole: &Region) -> Result<()> {
        let everything = |column: usize| 0..self.task.taxonomies[column].codes();
        let covers = self.volume(whole) == self.confident.volume(everything);
        let mut known = self.overlaps.clone();
        known.iter_mut().for_each(|known| known.add(&whole.sides, whole.rows));
        if self.confident.covers_all() && !covers {
            let reason = "the range of the table's values leaves out some that the marginals count; cover them with \
                          `regions = \"cover\"`";
            return Err(Error::CannotBeMet { reason: reason.into() });
        }
        let tuple = self.tuple(whole, known.as_ref());
        match self.confident.holds(&tuple) {
            true => Ok(()),
            false => {
                let reason = format!(
                    "the whole table of {} rows as one class is present within the range with a confidence of {}, and \
                     partitioning cannot help it",
                    whole.rows,
                    self.confident.confidence(&tuple)
                );
                Err(Error::CannotBeMet { reason })
            }
        }
    }

    fn take(&mut self, region: &Region) {
        self.overlaps.iter_mut().for_each(|known| known.add(&region.sides, region.rows));
    }

    fn volume(&self, region: &Region) -> u128 {
        self.confident.volume(|column| region.sides[column].clone())
    }

    /// What is known of a region's others, beside the regions that are known.
    fn tuple(&self, region: &Region, known: Option<&Overlaps>) -> Tuple {
        let needed = self.confident.needed_by().map_or(0, |column| {
            let of_cell = |cell: &u32| self.task.tallies[column].group(*cell as usize).last().map_or(0, |last| last.0);
            region.cells.iter().map(of_cell).max().unwrap_or(0)
        });
        let marked = region.sides.iter().enumerate().map(|(column, side)| {
            let exact = self.confident.marked(column, side.clone());
            let listed = self.confident.listed(column, side.clone());
            known.zip(listed).map_or((exact, exact), |(known, listed)| known.others(column, side, listed))
        });
        self.confident.tuple_between(region.rows, &marked.collect::<Vec<_>>(), needed)
    }

    /// Parts a region, if there is an allowable way.
    fn split(&mut self, region: &Region) -> Option<Vec<Region>> {
        for column in by_range(&self.task.axes, &region.extents) {
            for choice in self.choices(region, column) {
                if let Some(parts) = self.allowed(region, &choice) {
                    return Some(self.apply(region, &choice, parts));
                }
            }
        }
        None
    }

    /// The splits of a column, the best first.
    fn choices(&self, region: &Region, column: usize) -> Vec<Choice> {
        let (axis, extent) = (&self.task.axes[column], region.extents[column]);
        let set = FrequencySet::of_cells(self.task, &region.cells, column);
        match splits(axis, extent) {
            Splits::Children { level } => {
                let children: Vec<u32> = child_ranges(axis, level, &set).into_iter().map(|(node, _)| node).collect();
                if children.len() > 1 { vec![Choice::Children { column, level, children }] } else { Vec::new() }
            }
            Splits::Apart(missing) => {
                let at = set.codes.partition_point(|code| *code < missing);
                if at > 0 { vec![apart(column, &set, at, missing)] } else { Vec::new() }
            }
            Splits::Thresholds { .. } => {
                let rows = set.rows();
                let mut below = 0;
                let mut positions: Vec<(u64, usize)> = Vec::new();
                for (at, count) in set.counts.iter().enumerate().take(set.codes.len().saturating_sub(1)) {
                    below += count;
                    positions.push(((2 * below).abs_diff(rows), at + 1));
                }
                positions.sort_unstable();
                positions.into_iter().map(|(_, at)| threshold(column, &set, at)).collect()
            }
        }
    }

    /// The parts of a split, if all of them are allowable.
    fn allowed(&self, region: &Region, choice: &Choice) -> Option<Vec<Region>> {
        let column = choice.column();
        let places = |at: usize| {
            let mut places = region.places.clone();
            places[column] = match choice {
                Choice::Threshold { .. } => places[column].parted(choice.up_to(&self.task.axes))[at],
                Choice::Children { level, children, .. } => Place::Below(Node { level: *level, index: children[at] }),
            };
            places
        };
        let parts = part(self.task, region.cells.clone(), choice).into_iter().enumerate();
        let parts: Vec<Region> = parts.map(|(at, cells)| self.region(0, cells, places(at))).collect();
        if self.confident.covers_all()
            && parts.iter().map(|part| self.volume(part)).fold(0u128, u128::saturating_add) != self.volume(region)
        {
            return None;
        }
        let meets = |part: &Region| {
            let merged: Vec<Tallies> = self.task.tallies.iter().map(|counted| gathered(counted, &part.cells)).collect();
            self.judge.allows(part.rows, &merged, parts.len())
        };
        if !self.task.requirements.is_empty() && !parts.iter().all(meets) {
            return None;
        }
        let mut known = self.overlaps.clone();
        if let Some(known) = &mut known {
            known.remove(&region.sides, region.rows);
            parts.iter().for_each(|part| known.add(&part.sides, part.rows));
        }
        let tuples: Vec<Tuple> = parts.iter().map(|part| self.tuple(part, known.as_ref())).collect();
        self.confident.hold(&tuples).then_some(parts)
    }

    /// Writes an allowed split into the tree.
    fn apply(&mut self, region: &Region, choice: &Choice, mut parts: Vec<Region>) -> Vec<Region> {
        if let Some(known) = &mut self.overlaps {
            known.remove(&region.sides, region.rows);
            parts.iter().for_each(|part| known.add(&part.sides, part.rows));
        }
        let mut numbers = Vec::with_capacity(parts.len());
        for part in &mut parts {
            part.node = self.nodes.len() as u32;
            numbers.push(part.node);
            self.nodes.push(RegionNode::Region);
        }
        self.nodes[region.node as usize] = choice.node(&self.task.axes, &numbers);
        parts
    }
}

/// The values of a counted column in some cells, as one group.
fn gathered(counted: &Tallies, cells: &[u32]) -> Tallies {
    let mut entries: Vec<(u32, u32)> = cells.iter().flat_map(|cell| counted.group(*cell as usize)).copied().collect();
    entries.sort_unstable();
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    Tallies::from_parts(vec![0, entries.len() as u32], entries)
}
