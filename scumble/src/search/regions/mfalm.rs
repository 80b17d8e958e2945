//! MFALM: multidimensional partitioning under c-confident delta-presence, which Nergiz and Clifton
//! (2008, section 9) leave open.
//!
//! Rows are parted as Mondrian parts them, and a part is allowable if its box has the confidence
//! that its rows need. The guarantee is that of the full-domain search, box by box: the number of
//! others who fall into a box follows the same recursion with the counts of its sides, because the
//! model does not care which values are put together; confidence is defined for each tuple by
//! itself (definition 9); and boxes do not overlap, so a person matches one of them at most. What
//! is judged is the box that is written. That is the box of the partition tree, never only the
//! range of the rows' values: fewer others fall into a smaller box, and what the rows' range leaves
//! out would be known to be absent.
//!
//! The classes of the best full-domain recoding are where it begins, so it loses no more than that
//! (in trees; the whole table where numbers without a hierarchy make other boxes that fail). From
//! there on each region takes the allowable split that saves most detail, until none is left.
//!
//! Where marginals count the table's rows too, the others of a side are those that whoever has the
//! release alone can be sure of ([`Overlaps`]): such a release can be verified from its file.
//! Parting one region makes others' sides better known and never worse, so what was allowed stays
//! allowed, and regions are tried until none can be parted.
//!
//! Of a column's thresholds at values of the table the allowable one nearest to the median counts.
//! Where none of them is allowable, one between two such values may be: it parts the rows in the
//! same way and the others in another. So those are tried too, up to a limit, and no partition is
//! called minimal where one was left out.

use super::children::child_ranges;
use super::choose::{Splits, apart, splits};
use super::mpalm::{extents, part};
use super::{Choice, FrequencySet, Judge};
use crate::error::Shortfall;
use crate::error::{Error, Result};
use crate::privacy::{ConfidentPresence, Overlaps, Tuple};
use crate::recoding::{Mapping, Place, RegionNode, Regions, Style};
use crate::search::lattice::incognito::Strategy;
use crate::search::lattice::sfalm;
use crate::search::{Found, Task, Warrant};
use crate::table::Tallies;
use crate::taxonomy::{Axis, Extent, TreeNode};
use crate::watch::{PIECE, Watch};
use std::ops::Range;

/// Thresholds between values of the table that are tried for one column of a region.
const BETWEEN: usize = 256;

/// The same in a whole search.
const ALL_BETWEEN: usize = 1 << 14;

/// Partitions a task whose presence is judged in likely worlds.
pub fn search(task: &Task, watch: &Watch) -> Result<Found> {
    let confident = task.confident.as_ref().ok_or(Error::Defect)?;
    super::mondrian::check_whole(task, watch)?;
    let growth = |levels: Vec<usize>| {
        let mut growth = WorldGrowth {
            task,
            confident,
            judge: Judge::exact(&task.requirements),
            nodes: vec![RegionNode::Region],
            overlaps: confident.listed(0, 0..0).map(|_| Overlaps::new(task.axes.len())),
            between: ALL_BETWEEN,
            watch,
        };
        let regions = growth.begin(&levels)?;
        Ok::<_, Error>((growth, regions))
    };
    let begun = match best_levels(task, watch)? {
        Some(levels) => {
            let (growth, regions) = growth(levels)?;
            growth.all_hold(&regions)?.then_some((growth, regions))
        }
        None => None,
    };
    let (mut growth, mut regions) = match begun {
        Some(begun) => begun,
        None => {
            let (growth, whole) =
                growth(task.taxonomies.iter().map(|taxonomy| taxonomy.height()).collect())?;
            growth.check_whole(&whole)?;
            (growth, whole)
        }
    };
    // A split that holds may be refused for what a cut left out.
    let judges_exactly = !confident.shortcuts().may_refuse();
    let mut tried_all;
    loop {
        let (mut done, mut parted) = (Vec::new(), false);
        tried_all = true;
        while let Some(region) = regions.pop() {
            watch.check()?;
            match growth.split(&region)? {
                Parting::Left { tried_all: all } => {
                    tried_all &= all;
                    done.push(region);
                }
                Parting::Into(parts) => {
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
    let found = Regions { nodes: growth.nodes, style: Style::Boxes };
    let found = found.with_missing_apart(&task.axes, watch)?;
    let visited = found.nodes.len() as u64;
    let mapping = Mapping::Regions(found);
    let warrant = Warrant::Minimal(tried_all && judges_exactly);
    Ok(Found { mapping, warrant, cost: None, space: None, visited })
}

/// The levels of the best full-domain recoding, if there is one. It is searched to the end, since
/// partitioning has nothing to hand over before: only an abort ends it early.
fn best_levels(task: &Task, watch: &Watch) -> Result<Option<Vec<usize>>> {
    match sfalm::search(task, Strategy::default(), &watch.only_aborting()) {
        Ok(best) => Ok(Some(best.mapping.levels().to_vec())),
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(_) => Ok(None),
    }
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

/// What becomes of a region.
enum Parting {
    /// It is parted.
    Into(Vec<Region>),
    /// It is left as it is; whether every split was tried.
    Left { tried_all: bool },
}

/// The splits of a column, the best first.
#[derive(Default)]
struct Choices {
    /// Along a tree, or at values of the table.
    own: Vec<Choice>,
    /// At values between two of the table.
    between: Vec<Choice>,
    /// Whether some between were left out.
    left_out: bool,
}

struct WorldGrowth<'a> {
    task: &'a Task,
    confident: &'a ConfidentPresence,
    judge: Judge<'a>,
    nodes: Vec<RegionNode>,
    /// What the release will tell of its own rows, where that matters.
    overlaps: Option<Overlaps>,
    /// How many thresholds between values of the table may still be tried.
    between: usize,
    watch: &'a Watch,
}

impl WorldGrowth<'_> {
    fn region(&self, node: u32, cells: Vec<u32>, places: Vec<Place>) -> Result<Region> {
        let extents = extents(self.task, &cells, self.watch)?;
        let sides = places.iter().zip(&self.task.axes).zip(&self.task.taxonomies);
        let sides =
            sides.map(|((place, axis), taxonomy)| place.codes(axis, taxonomy.codes())).collect();
        let counts = self.task.cells.counts();
        let mut rows = 0;
        for piece in cells.chunks(PIECE) {
            self.watch.check()?;
            rows += piece.iter().map(|cell| u64::from(counts[*cell as usize])).sum::<u64>();
        }
        Ok(Region { node, cells, rows, extents, places, sides })
    }

    /// The classes of a full-domain recoding as regions of the tree.
    fn begin(&mut self, levels: &[usize]) -> Result<Vec<Region>> {
        let whole = self.region(
            0,
            (0..self.task.cells.len() as u32).collect(),
            vec![Place::Whole; levels.len()],
        )?;
        self.exchange(&[], std::slice::from_ref(&whole));
        let (mut open, mut done) = (vec![whole], Vec::new());
        while let Some(region) = open.pop() {
            self.watch.check()?;
            let mut choice = None;
            for (column, level) in levels.iter().enumerate() {
                choice = self.toward(&region, column, *level)?;
                if choice.is_some() {
                    break;
                }
            }
            match choice {
                None => done.push(region),
                Some(choice) => {
                    let parts = self.parts(&region, &choice)?;
                    open.extend(self.apply(&region, &choice, parts));
                }
            }
        }
        Ok(done)
    }

    /// A split on the way from a region to the nodes of a level; `None` where it is there.
    fn toward(&self, region: &Region, column: usize, level: usize) -> Result<Option<Choice>> {
        let (axis, extent, taxonomy) =
            (&self.task.axes[column], region.extents[column], &self.task.taxonomies[column]);
        let set = || FrequencySet::of_cells(self.task, &region.cells, column, self.watch);
        match axis {
            Axis::Tree(_) => {
                let here = match region.places[column] {
                    Place::Below(node) => node.level,
                    _ => taxonomy.height(),
                };
                if here <= level {
                    return Ok(None);
                }
                let children = child_ranges(axis, here - 1, &set()?).into_iter();
                let children = children.map(|(node, _)| node).collect();
                Ok(Some(Choice::Children { column, level: here - 1, children, rest: Vec::new() }))
            }
            Axis::Ordered(_) => {
                let node = |code: u64| taxonomy.level(level).node_of(code as u32);
                if node(extent.first) == node(extent.last) {
                    return Ok(None);
                }
                let set = set()?;
                if let Splits::Apart(missing) = splits(axis, extent) {
                    let at = set.codes.partition_point(|code| *code < missing);
                    return Ok(Some(apart(column, &set, at, missing)));
                }
                let borders = (1..set.codes.len())
                    .filter(|at| node(set.codes[at - 1]) != node(set.codes[*at]));
                let at = borders.min_by_key(|at| at.abs_diff(set.codes.len() / 2));
                // Where people of the marginals are is decided by the values that are known of them.
                let at = at.map(|at| set.codes[at - 1]);
                Ok(at.map(|last| Choice::between(axis, column, last, last + 1)))
            }
        }
    }

    /// Whether all regions together may be released.
    fn all_hold(&self, regions: &[Region]) -> Result<bool> {
        let side = |region: usize, column: usize| regions[region].sides[column].clone();
        if self.confident.covers_all()
            && !self.confident.is_covered(regions.len(), side, self.watch)?
        {
            return Ok(false);
        }
        for region in regions {
            if !self.meets(region)? {
                return Ok(false);
            }
        }
        self.confident.hold(&self.tuples(regions)?, self.watch)
    }

    fn check_whole(&self, whole: &[Region]) -> Result<()> {
        if self.all_hold(whole)? {
            return Ok(());
        }
        let mut confidence: f64 = 1.0;
        for tuple in self.tuples(whole)? {
            confidence = confidence.min(self.confident.confidence(&tuple, self.watch)?);
        }
        let rows = self.task.rows();
        Err(Error::from(Shortfall::WholeTablePresence { rows, confidence }))
    }

    /// What is known of the others of some regions.
    fn tuples(&self, regions: &[Region]) -> Result<Vec<Tuple>> {
        regions.iter().map(|region| self.tuple(region)).collect()
    }

    /// What is known of a region's others, beside all other regions.
    fn tuple(&self, region: &Region) -> Result<Tuple> {
        self.watch.check()?;
        let mut needed = 0;
        if let Some(column) = self.confident.needed_by() {
            let counted = &self.task.tallies[column];
            for piece in region.cells.chunks(PIECE) {
                self.watch.check()?;
                let of_cell = |cell: &u32| Some(counted.group(*cell as usize).last()?.0);
                needed = needed.max(piece.iter().filter_map(of_cell).max().unwrap_or(0));
            }
        }
        let marked = region.sides.iter().enumerate().map(|(column, side)| {
            let exact = self.confident.marked(column, side.clone());
            let listed = self.confident.listed(column, side.clone());
            let known = self.overlaps.as_ref().zip(listed);
            known.map_or((exact, exact), |(known, listed)| known.others(column, side, listed))
        });
        Ok(self.confident.tuple_between(region.rows, &marked.collect::<Vec<_>>(), needed))
    }

    /// Parts a region in the allowable way that saves most, if there is one.
    fn split(&mut self, region: &Region) -> Result<Parting> {
        let mut best: Option<(f64, Choice, Vec<Region>)> = None;
        let mut tried_all = true;
        for column in 0..self.task.axes.len() {
            let Choices { own, mut between, left_out } = self.choices(region, column)?;
            let mut allowed = self.first_allowed(region, own)?;
            if allowed.is_none() {
                tried_all &= !left_out && between.len() <= self.between;
                between.truncate(self.between);
                self.between -= between.len();
                allowed = self.first_allowed(region, between)?;
            }
            let Some((parts, choice)) = allowed else { continue };
            let left: f64 = parts.iter().map(|part| self.lost(part)).sum();
            if best.as_ref().is_none_or(|(least, ..)| left < *least) {
                best = Some((left, choice, parts));
            }
        }
        Ok(match best {
            None => Parting::Left { tried_all },
            Some((_, choice, parts)) => Parting::Into(self.apply(region, &choice, parts)),
        })
    }

    /// The first of some splits whose parts are all allowable.
    fn first_allowed(
        &mut self,
        region: &Region,
        choices: Vec<Choice>,
    ) -> Result<Option<(Vec<Region>, Choice)>> {
        for choice in choices {
            if let Some(parts) = self.allowed(region, &choice)? {
                return Ok(Some((parts, choice)));
            }
        }
        Ok(None)
    }

    /// The detail that a region's rows have lost.
    fn lost(&self, region: &Region) -> f64 {
        let places = region.places.iter().zip(&self.task.axes);
        places.map(|(place, axis)| place.said(axis).1).sum::<f64>() * region.rows as f64
    }

    /// The splits of a column, the best first.
    fn choices(&self, region: &Region, column: usize) -> Result<Choices> {
        let (axis, extent) = (&self.task.axes[column], region.extents[column]);
        let only = |choice: Option<Choice>| Choices {
            own: choice.into_iter().collect(),
            ..Choices::default()
        };
        // A box may be wider than its rows: its node's children, whether or not all of them have
        // some.
        if let (Axis::Tree(taxonomy), place) = (axis, region.places[column]) {
            let here = match place {
                Place::Below(node) => node.level,
                _ => taxonomy.height(),
            };
            let choice = if here > 0 { self.toward(region, column, here - 1)? } else { None };
            return Ok(only(choice));
        }
        if extent.first == extent.last {
            return Ok(only(None));
        }
        let set = FrequencySet::of_cells(self.task, &region.cells, column, self.watch)?;
        match splits(axis, extent) {
            // Trees were seen to above.
            Splits::Children { .. } => Ok(only(None)),
            Splits::Apart(missing) => {
                let at = set.codes.partition_point(|code| *code < missing);
                Ok(only((at > 0).then(|| apart(column, &set, at, missing))))
            }
            Splits::Thresholds { .. } => self.thresholds(axis, column, &set),
        }
    }

    /// The thresholds of a column: at values of the region's rows and between them, in both cases
    /// those nearest to the median first.
    fn thresholds(&self, axis: &Axis, column: usize, set: &FrequencySet) -> Result<Choices> {
        let rows = set.rows();
        let mut below = 0;
        let mut positions: Vec<(u64, usize)> = Vec::new();
        for (at, count) in set.counts.iter().enumerate().take(set.codes.len().saturating_sub(1)) {
            below += count;
            positions.push(((2 * below).abs_diff(rows), at + 1));
        }
        self.watch.sort(&mut positions)?;
        let at = |last: u64| Choice::between(axis, column, last, last + 1);
        let own = positions.iter().map(|(_, position)| at(set.codes[position - 1])).collect();
        let gaps = || positions.iter().map(|(_, at)| set.codes[at - 1] + 1..set.codes[*at]);
        let all: u64 = gaps().map(|gap| gap.end - gap.start).sum();
        let every = all.div_ceil(BETWEEN as u64).max(1);
        let codes = gaps().flatten().step_by(usize::try_from(every).unwrap_or(usize::MAX));
        let between = codes.map(at);
        Ok(Choices { own, between: between.collect(), left_out: every > 1 })
    }

    /// The parts of a split.
    fn parts(&self, region: &Region, choice: &Choice) -> Result<Vec<Region>> {
        let column = choice.column();
        let places = |at: usize| {
            let mut places = region.places.clone();
            places[column] = match choice {
                Choice::Threshold { .. } => places[column].parted(choice.up_to())[at],
                Choice::Children { level, children, .. } => {
                    Place::Below(TreeNode { level: *level, index: children[at] })
                }
            };
            places
        };
        let parts = part(self.task, region.cells.clone(), choice, self.watch)?;
        let parts = parts.into_iter().enumerate();
        parts.map(|(at, cells)| self.region(0, cells, places(at))).collect()
    }

    /// Whether the rows of a region meet all that is asked of them beside presence.
    fn meets(&self, region: &Region) -> Result<bool> {
        if self.task.requirements.is_empty() {
            return Ok(true);
        }
        let merge = |counted: &Tallies| gathered(counted, &region.cells, self.watch);
        let tallies: Vec<Tallies> = self.task.tallies.iter().map(merge).collect::<Result<_>>()?;
        Ok(self.judge.allows(region.rows, &tallies, 2))
    }

    /// The parts of a split, if all of them are allowable.
    fn allowed(&mut self, region: &Region, choice: &Choice) -> Result<Option<Vec<Region>>> {
        let parts = self.parts(region, choice)?;
        let covered = || {
            let volume =
                |region: &Region| self.confident.volume(|column| region.sides[column].clone());
            parts.iter().map(volume).fold(0u128, u128::saturating_add) == volume(region)
        };
        if self.confident.covers_all() && !covered() {
            return Ok(None);
        }
        for part in &parts {
            if !self.meets(part)? {
                return Ok(None);
            }
        }
        self.exchange(std::slice::from_ref(region), &parts);
        let tuples = self.tuples(&parts)?;
        self.exchange(&parts, std::slice::from_ref(region));
        Ok(self.confident.hold(&tuples, self.watch)?.then_some(parts))
    }

    /// Some regions take the place of others in what the release tells of its rows.
    fn exchange(&mut self, old: &[Region], new: &[Region]) {
        if let Some(known) = &mut self.overlaps {
            old.iter().for_each(|region| known.remove(&region.sides, region.rows));
            new.iter().for_each(|region| known.add(&region.sides, region.rows));
        }
    }

    /// Writes an allowed split into the tree.
    fn apply(&mut self, region: &Region, choice: &Choice, mut parts: Vec<Region>) -> Vec<Region> {
        self.exchange(std::slice::from_ref(region), &parts);
        let mut numbers = Vec::with_capacity(parts.len());
        for part in &mut parts {
            part.node = self.nodes.len() as u32;
            numbers.push(part.node);
            self.nodes.push(RegionNode::Region);
        }
        self.nodes[region.node as usize] = choice.node(&numbers);
        parts
    }
}

/// The values of a counted column in some cells, as one group.
fn gathered(counted: &Tallies, cells: &[u32], watch: &Watch) -> Result<Tallies> {
    let mut entries: Vec<(u32, u32)> = Vec::new();
    for piece in cells.chunks(PIECE) {
        watch.check()?;
        entries.extend(piece.iter().flat_map(|cell| counted.group(*cell as usize)));
    }
    watch.sort(&mut entries)?;
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    Ok(Tallies::from_parts(vec![0, entries.len() as u32], entries))
}
