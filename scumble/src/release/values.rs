//! What the values of a recoded column are called, and what each of them has lost.

use crate::error::{Error, Result};
use crate::ids::{CellId, ClassId, IdMap};
use crate::loss::Codes;
use crate::recoding::{Local, Mapping, Place, Regions, Style};
use crate::search::Task;
use crate::table::Cells;
use crate::taxonomy::{Axis, Cut, Extent, ROOT, Taxonomy, said_set, set_label};
use crate::watch::{PIECE, Watch};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Regions that a thread looks at together.
const TOGETHER: usize = 64;

/// Regions that are named between two polls for an abort.
const NAMED: usize = 1 << 12;

/// What a value has lost of its column's detail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lost {
    /// Leaves of the domain below it, but one.
    Leaves(u64),
    /// A share of the whole, for ranges of numbers.
    Share(f64),
}

/// A value of a recoded column.
#[derive(Clone, Debug)]
pub struct RecodedValue {
    /// What it is called.
    pub label: String,
    /// What it has lost.
    pub lost: Lost,
    /// The codes that it stands for.
    pub codes: Codes,
}

/// The values of a recoded column, by number.
#[derive(Clone, Debug)]
pub enum RecodedValues {
    /// The nodes of one level.
    Level(Arc<Taxonomy>, usize),
    /// Any others.
    Listed(Vec<RecodedValue>),
}

impl RecodedValues {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            RecodedValues::Level(taxonomy, level) => taxonomy.level(*level).len(),
            RecodedValues::Listed(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a value is called.
    pub fn label(&self, value: u32) -> &str {
        match self {
            RecodedValues::Level(taxonomy, level) => taxonomy.level(*level).label(value),
            RecodedValues::Listed(values) => &values[value as usize].label,
        }
    }

    /// What a value has lost.
    pub fn lost(&self, value: u32) -> Lost {
        match self {
            RecodedValues::Level(taxonomy, level) => {
                Lost::Leaves(taxonomy.level(*level).leaves(value) - 1)
            }
            RecodedValues::Listed(values) => values[value as usize].lost,
        }
    }

    /// The range of codes that a value stands for; `None` if it is a set.
    pub fn range(&self, value: u32) -> Option<Range<u32>> {
        match self {
            RecodedValues::Level(taxonomy, level) => Some(taxonomy.level(*level).range(value)),
            RecodedValues::Listed(values) => match &values[value as usize].codes {
                Codes::Range(range) => Some(range.clone()),
                Codes::Set(_) => None,
            },
        }
    }

    /// The codes that each value stands for.
    pub fn all_codes(&self) -> Vec<Codes> {
        match self {
            RecodedValues::Level(taxonomy, level) => {
                let level = taxonomy.level(*level);
                (0..level.len() as u32).map(|value| Codes::Range(level.range(value))).collect()
            }
            RecodedValues::Listed(values) => {
                values.iter().map(|value| value.codes.clone()).collect()
            }
        }
    }

    fn of_cut(taxonomy: &Taxonomy, cut: &Cut) -> RecodedValues {
        let value = |node: &crate::taxonomy::TreeNode| {
            let level = taxonomy.level(node.level);
            RecodedValue {
                label: level.label(node.index).to_string(),
                lost: Lost::Leaves(level.leaves(node.index) - 1),
                codes: Codes::Range(level.range(node.index)),
            }
        };
        RecodedValues::Listed(cut.nodes().iter().map(value).collect())
    }
}

/// The values of each column, the classes coded by them, and the class of each cell.
type ValuesAndClasses = (Vec<RecodedValues>, Cells<ClassId>, IdMap<CellId, ClassId>);

/// The values of each column of a recoding by levels or cuts.
pub(crate) fn mapped_values(task: &Task, mapping: &Mapping) -> Result<Vec<RecodedValues>> {
    let trees = task.taxonomies.iter();
    match mapping {
        Mapping::Levels(levels) => {
            let level = |(tree, level): (&Arc<Taxonomy>, &usize)| {
                RecodedValues::Level(tree.clone(), *level)
            };
            Ok(trees.zip(levels).map(level).collect())
        }
        Mapping::Cuts(cuts) => {
            Ok(trees.zip(cuts).map(|(tree, cut)| RecodedValues::of_cut(tree, cut)).collect())
        }
        Mapping::Regions(_) | Mapping::Local(_) => Err(Error::Defect),
    }
}

/// The classes of a mapping.
pub(super) fn classes(task: &Task, mapping: &Mapping, watch: &Watch) -> Result<ValuesAndClasses> {
    match mapping {
        Mapping::Levels(levels) => {
            let nodes =
                task.taxonomies.iter().zip(levels).map(|(tree, level)| tree.level(*level).nodes());
            let (classes, class_of) = task.cells.recode(&nodes.collect::<Vec<_>>(), watch)?;
            Ok((mapped_values(task, mapping)?, classes, class_of))
        }
        Mapping::Cuts(cuts) => {
            let maps: Vec<&[u32]> = cuts.iter().map(|cut| cut.node_of()).collect();
            let (classes, class_of) = task.cells.recode(&maps, watch)?;
            Ok((mapped_values(task, mapping)?, classes, class_of))
        }
        Mapping::Regions(regions) => of_regions(task, regions, watch),
        Mapping::Local(local) => of_local(task, local, watch),
    }
}

/// The least and the greatest code of each region's cells, column by column.
fn extents(task: &Task, regions: &[(u32, &[u32])]) -> Vec<(u32, u32)> {
    let columns = task.axes.len();
    let mut extents = vec![(u32::MAX, 0); regions.len() * columns];
    let of_regions = extents.par_chunks_mut(columns.max(1)).zip(regions).with_min_len(TOGETHER);
    of_regions.for_each(|(extents, (_, cells))| {
        for cell in *cells {
            let codes = extents.iter_mut().zip(task.cells.codes(CellId(*cell)));
            codes.for_each(|(known, code)| *known = (known.0.min(*code), known.1.max(*code)));
        }
    });
    extents
}

/// The values of one column, each once.
#[derive(Default)]
struct Listing {
    values: Vec<RecodedValue>,
    by_label: HashMap<String, u32>,
    /// Those that were found by their extent before: labels are made once for each.
    by_extent: FxHashMap<Extent, u32>,
    /// The same for sets of codes.
    by_set: FxHashMap<u64, u32>,
}

impl Listing {
    /// The number of what an extent, or the place that holds it, is called.
    fn value(&mut self, axis: &Axis, extent: Extent, place: Option<&Place>, all: u32) -> u32 {
        if let (None, Some(known)) = (place, self.by_extent.get(&extent)) {
            return *known;
        }
        let ((label, share), codes) = match place {
            Some(place) => (place.said(axis), place.codes(axis, all)),
            None => ((axis.label(extent), axis.lost(extent)), axis.said_codes(extent, all)),
        };
        // Leaves are counted in whole numbers, so that the same release costs the same however it
        // was found.
        let lost = match axis {
            Axis::Tree(taxonomy) => {
                Lost::Leaves((share * (taxonomy.leaves() - 1).max(1) as f64).round() as u64)
            }
            Axis::Ordered(_) => Lost::Share(share),
        };
        let values = &mut self.values;
        let value = *self.by_label.entry(label).or_insert_with_key(|label| {
            let codes = Codes::Range(codes);
            values.push(RecodedValue { label: label.clone(), lost, codes });
            values.len() as u32 - 1
        });
        if place.is_none() {
            self.by_extent.insert(extent, value);
        }
        value
    }

    /// The number of what a set of a tree's leaves is called, of which bit `n` is leaf `n`.
    fn set(&mut self, taxonomy: &Taxonomy, set: u64) -> u32 {
        if let Some(known) = self.by_set.get(&set) {
            return *known;
        }
        let codes: Vec<u32> = (0..taxonomy.codes()).filter(|code| set >> code & 1 == 1).collect();
        let is_all = codes.len() == taxonomy.codes() as usize && codes.len() > 1;
        let label = if is_all { ROOT.to_string() } else { label_of(taxonomy, &codes) };
        let lost = Lost::Leaves(codes.len() as u64 - 1);
        self.values.push(RecodedValue { label, lost, codes: Codes::Set(codes) });
        let value = self.values.len() as u32 - 1;
        self.by_set.insert(set, value);
        value
    }
}

/// What some leaves of a column are called. Its own labels already tell values from sets.
fn label_of(taxonomy: &Taxonomy, codes: &[u32]) -> String {
    let leaf = |code: &u32| {
        let label = taxonomy.level(0).label(*code);
        // A value that begins with a brace is a set of one.
        said_set(label).and_then(|values| values.into_iter().next()).unwrap_or_default()
    };
    let values: Vec<String> = codes.iter().map(leaf).collect();
    set_label(&values.iter().map(String::as_str).collect::<Vec<_>>())
}

fn of_regions(task: &Task, regions: &Regions, watch: &Watch) -> Result<ValuesAndClasses> {
    let columns = task.axes.len();
    let mut order = Vec::new();
    let held = regions.descend(&task.axes, &task.cells, &mut order, watch)?;
    let boxes = match regions.style {
        Style::Tight => Vec::new(),
        Style::Cover | Style::Boxes => regions.boxes(columns),
    };
    let place = |region: u32, column: usize, extent| {
        let of_box = boxes.get(region as usize).map(|places| &places[column]);
        regions.style.place(&task.axes[column], extent, of_box)
    };
    named(task, &held, false, place, watch)
}

fn of_local(task: &Task, local: &Local, watch: &Watch) -> Result<ValuesAndClasses> {
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); local.classes as usize];
    let cells = (0..).zip(&local.class_of);
    watch.each(cells, PIECE, |(cell, class)| members[*class as usize].push(cell))?;
    let held: Vec<(u32, &[u32])> = (0..)
        .zip(members.iter().map(Vec::as_slice))
        .filter(|(_, cells)| !cells.is_empty())
        .collect();
    let place = |_: u32, column: usize, extent| local.style.place(&task.axes[column], extent, None);
    named(task, &held, true, place, watch)
}

/// Names sets of cells, each with a number. A set is called by its place in each column, or by the
/// values of its cells where there is none: by a set of values if that is wanted.
fn named(
    task: &Task,
    held: &[(u32, &[u32])],
    by_sets: bool,
    place: impl Fn(u32, usize, Extent) -> Option<Place>,
    watch: &Watch,
) -> Result<ValuesAndClasses> {
    let columns = task.axes.len();
    let extents = extents(task, held);
    let mut listings: Vec<Listing> = task.axes.iter().map(|_| Listing::default()).collect();
    let mut tuples = Vec::with_capacity(extents.len());
    let boxed = held.iter().zip(extents.chunks_exact(columns.max(1)));
    watch.each(boxed, NAMED, |((number, cells), extents)| {
        for (column, (axis, listing)) in task.axes.iter().zip(&mut listings).enumerate() {
            if by_sets && task.sets[column] {
                let code = |cell: &u32| task.cells.codes(CellId(*cell))[column];
                let set = cells.iter().fold(0u64, |set, cell| set | 1 << code(cell));
                tuples.push(listing.set(&task.taxonomies[column], set));
                continue;
            }
            let extent = Extent { first: extents[column].0.into(), last: extents[column].1.into() };
            let place = place(*number, column, extent);
            let all = task.taxonomies[column].codes();
            tuples.push(listing.value(axis, extent, place.as_ref(), all));
        }
    })?;
    // A class for each set, where its first cell is. Sets of one name are one class.
    let mut classes = Cells::new(columns);
    let mut class_of = IdMap::new(vec![0; task.cells.len()]);
    let mut by_first: Vec<usize> = (0..held.len()).collect();
    by_first.sort_unstable_by_key(|region| held[*region].1[0]);
    watch.each(by_first, NAMED, |region| {
        let cells = held[region].1;
        let rows = cells.iter().map(|cell| task.cells.counts()[*cell as usize]).sum();
        let class = classes.add(&tuples[region * columns..][..columns], rows);
        cells.iter().for_each(|cell| class_of.set(CellId(*cell), class));
    })?;
    Ok((
        listings.into_iter().map(|listing| RecodedValues::Listed(listing.values)).collect(),
        classes,
        class_of,
    ))
}
