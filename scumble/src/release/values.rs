//! What the values of a recoded column are called, and what each of them has lost.

use crate::recoding::{Mapping, Regions, Style};
use crate::search::Task;
use crate::table::Cells;
use crate::taxonomy::{Axis, Cut, Extent, Taxonomy};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

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
pub struct Value {
    /// What it is called.
    pub label: String,
    /// What it has lost.
    pub lost: Lost,
    /// The codes that it stands for.
    pub codes: Range<u32>,
}

/// The values of a recoded column, by number.
#[derive(Clone, Debug)]
pub enum Values {
    /// The nodes of one level.
    Level(Arc<Taxonomy>, usize),
    /// Any others.
    Listed(Vec<Value>),
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Level(taxonomy, level) => taxonomy.level(*level).len(),
            Values::Listed(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a value is called.
    pub fn label(&self, value: u32) -> &str {
        match self {
            Values::Level(taxonomy, level) => taxonomy.level(*level).label(value),
            Values::Listed(values) => &values[value as usize].label,
        }
    }

    /// What a value has lost.
    pub fn lost(&self, value: u32) -> Lost {
        match self {
            Values::Level(taxonomy, level) => Lost::Leaves(taxonomy.level(*level).leaves(value) - 1),
            Values::Listed(values) => values[value as usize].lost,
        }
    }

    /// The codes that a value stands for.
    pub fn codes(&self, value: u32) -> Range<u32> {
        match self {
            Values::Level(taxonomy, level) => taxonomy.level(*level).range(value),
            Values::Listed(values) => values[value as usize].codes.clone(),
        }
    }

    fn of_cut(taxonomy: &Taxonomy, cut: &Cut) -> Values {
        let value = |node: &crate::taxonomy::Node| {
            let level = taxonomy.level(node.level);
            Value {
                label: level.label(node.index).to_string(),
                lost: Lost::Leaves(level.leaves(node.index) - 1),
                codes: level.range(node.index),
            }
        };
        Values::Listed(cut.nodes().iter().map(value).collect())
    }
}

/// The classes of a mapping: the values of each column, the classes coded by them, and the class of each cell.
pub(super) fn classes(task: &Task, mapping: &Mapping) -> (Vec<Values>, Cells, Vec<u32>) {
    match mapping {
        Mapping::Levels(levels) => {
            let nodes = task.taxonomies.iter().zip(levels).map(|(tree, level)| tree.level(*level).nodes().to_vec());
            let (classes, class_of) = task.cells.recode(&nodes.collect::<Vec<_>>());
            let values = task.taxonomies.iter().zip(levels).map(|(tree, level)| Values::Level(tree.clone(), *level));
            (values.collect(), classes, class_of)
        }
        Mapping::Cuts(cuts) => {
            let maps: Vec<Vec<u32>> = cuts.iter().map(|cut| cut.node_of().to_vec()).collect();
            let (classes, class_of) = task.cells.recode(&maps);
            let values = task.taxonomies.iter().zip(cuts).map(|(tree, cut)| Values::of_cut(tree, cut)).collect();
            (values, classes, class_of)
        }
        Mapping::Regions(regions) => of_regions(task, regions),
    }
}

/// The extent of each region's cells in every column; `None` where no cell is.
fn extents(task: &Task, region_of: &[u32], regions: usize) -> Vec<Option<Vec<Extent>>> {
    let mut extents: Vec<Option<Vec<Extent>>> = vec![None; regions];
    for (cell, region) in region_of.iter().enumerate() {
        let codes = task.cells.codes(cell as u32);
        let known = extents[*region as usize].get_or_insert_with(|| vec![Extent::NONE; codes.len()]);
        known.iter_mut().zip(codes).for_each(|(extent, code)| extent.include(u64::from(*code)));
    }
    extents
}

fn of_regions(task: &Task, regions: &Regions) -> (Vec<Values>, Cells, Vec<u32>) {
    let cells = 0..task.cells.len() as u32;
    let find = |cell: u32| regions.find(&task.axes, |column| u64::from(task.cells.codes(cell)[column]));
    let region_of: Vec<u32> = cells.map(find).collect();
    let extents = extents(task, &region_of, regions.nodes.len());
    let boxes = match regions.style {
        Style::Cover => regions.boxes(task.axes.len()),
        Style::Tight => Vec::new(),
    };
    let mut lists: Vec<Vec<Value>> = vec![Vec::new(); task.axes.len()];
    let mut known: Vec<HashMap<String, u32>> = vec![HashMap::new(); task.axes.len()];
    let mut tuples: Vec<Vec<u32>> = vec![Vec::new(); extents.len()];
    for (region, held) in extents.iter().enumerate() {
        let Some(held) = held else { continue };
        for (column, (axis, extent)) in task.axes.iter().zip(held).enumerate() {
            let all = task.taxonomies[column].codes();
            let ((label, share), codes) = match boxes.get(region) {
                Some(places) => (places[column].said(axis), places[column].codes(axis, all)),
                None => ((axis.label(*extent), axis.lost(*extent)), axis.said_codes(*extent, all)),
            };
            // Leaves are counted in whole numbers, so that the same release costs the same however it was found.
            let lost = match axis {
                Axis::Tree(taxonomy) => Lost::Leaves((share * (taxonomy.leaves() - 1).max(1) as f64).round() as u64),
                Axis::Ordered(_) => Lost::Share(share),
            };
            let list = &mut lists[column];
            let value = *known[column].entry(label).or_insert_with_key(|label| {
                list.push(Value { label: label.clone(), lost, codes });
                list.len() as u32 - 1
            });
            tuples[region].push(value);
        }
    }
    let mut classes = Cells::new(task.axes.len());
    let count = |(cell, region): (usize, &u32)| classes.add(&tuples[*region as usize], task.cells.counts()[cell]);
    let class_of = region_of.iter().enumerate().map(count).collect();
    (lists.into_iter().map(Values::Listed).collect(), classes, class_of)
}
