//! What is priced: the distinct tuples of a task, and what labels cost in each column.
//!
//! Costs are whole numbers, shares of detail in units of 2^-32 times the weight of the column,
//! rounded down: a label is never taken for dearer than it is. Weights are 1 on average.
//!
//! A column of numbers without a hierarchy may have a label for every pair of its values. If there
//! are too many of them, neighbours form groups of about equal width, and a range of groups costs
//! what the narrowest range of values costs that reaches from the first group to the last. That can
//! only lower the bound.

use crate::ids::CellId;
use crate::loss::Weights;
use crate::search::Task;
use crate::taxonomy::{Axis, Extent, Ordered, Taxonomy};

/// The share of detail that is lost with the whole of a column, on average over the columns.
pub const ONE: u64 = 1 << 32;

/// The labels of one column.
#[derive(Debug)]
pub enum Menu {
    /// The nodes of a tree, from the leaves to the root.
    Layers(Vec<Layer>),
    /// All ranges of groups.
    Ranges(Ranges),
}

/// The nodes of one level of a tree.
#[derive(Debug)]
pub struct Layer {
    /// The node of each code.
    pub node_of: Vec<u32>,
    /// What each node costs.
    pub costs: Vec<u64>,
    /// What the cheapest of them costs.
    pub least: u64,
}

/// Ranges of groups of codes.
#[derive(Debug)]
pub struct Ranges {
    /// How many groups there are.
    pub groups: usize,
    /// The first code of each group.
    pub firsts: Vec<u32>,
    /// What a range from one group to another costs, the first group's ranges first.
    pub costs: Vec<u64>,
    /// The group of missing values. No range has it and others but that of all groups.
    pub missing: Option<u32>,
    /// What the label of everything costs.
    pub everything: u64,
}

impl Ranges {
    /// What a range of groups costs.
    pub fn cost(&self, first: u32, last: u32) -> u64 {
        self.costs[first as usize * self.groups + last as usize]
    }
}

impl Menu {
    /// What the cheapest label costs that covers two codes and all between them.
    pub fn cost(&self, low: u32, high: u32) -> u64 {
        match self {
            Menu::Layers(layers) => {
                let holds =
                    |layer: &&Layer| layer.node_of[low as usize] == layer.node_of[high as usize];
                layers
                    .iter()
                    .find(holds)
                    .map_or(0, |layer| layer.costs[layer.node_of[low as usize] as usize])
            }
            Menu::Ranges(ranges) => ranges.cost(low, high),
        }
    }

    /// The least cost above 0.
    fn least(&self) -> Option<u64> {
        let costs: &mut dyn Iterator<Item = &u64> = match self {
            Menu::Layers(layers) => &mut layers.iter().flat_map(|layer| &layer.costs),
            Menu::Ranges(ranges) => &mut ranges.costs.iter(),
        };
        costs.filter(|cost| **cost > 0).min().copied()
    }
}

/// The distinct tuples of a task. Of columns of numbers, codes are groups.
#[derive(Debug)]
pub struct Tuples {
    /// The labels of each column.
    pub menus: Vec<Menu>,
    /// The codes of each column, by tuple.
    pub codes: Vec<Vec<u32>>,
    /// The rows of each tuple.
    pub rows: Vec<u64>,
    /// The tuple of each cell.
    pub of_cell: Vec<u32>,
    /// Whether some column has fewer groups than values.
    pub is_coarse: bool,
}

impl Tuples {
    /// The tuples of a task; columns of numbers have so many groups at most, besides that of
    /// missing values.
    pub fn new(task: &Task, groups: usize) -> Tuples {
        let mut menus = Vec::new();
        let mut group_of: Vec<Option<Vec<u32>>> = Vec::new();
        let mut is_coarse = false;
        for (column, axis) in task.axes.iter().enumerate() {
            let (tree, whole) = (&task.taxonomies[column], whole_of(&task.weights, column));
            match axis {
                Axis::Tree(tree) => {
                    menus.push(Menu::Layers(layers(tree, whole, task.sets[column])));
                    group_of.push(None);
                }
                Axis::Ordered(ordered) => {
                    let groups = grouped(ordered, tree.codes(), groups);
                    let ranges = ranges((axis, ordered), tree, &groups, whole);
                    is_coarse |= ranges.groups < tree.codes() as usize;
                    menus.push(Menu::Ranges(ranges));
                    group_of.push(Some(groups));
                }
            }
        }
        let width = menus.len();
        let mut codes = Vec::with_capacity(task.cells.len() * width);
        for tuple in task.cells.tuples() {
            codes.extend(tuple.iter().zip(&group_of).map(|(code, groups)| {
                groups.as_ref().map_or(*code, |groups| groups[*code as usize])
            }));
        }
        let codes_of = |cell: u32| &codes[cell as usize * width..][..width];
        // The order of the codes, so that the answer does not depend on the order of the rows.
        let mut cells: Vec<u32> = (0..task.cells.len() as u32).collect();
        cells.sort_unstable_by(|a, b| codes_of(*a).cmp(codes_of(*b)));
        let mut tuples = Tuples {
            menus,
            codes: vec![Vec::new(); width],
            rows: Vec::new(),
            of_cell: vec![0; task.cells.len()],
            is_coarse,
        };
        for same in cells.chunk_by(|a, b| codes_of(*a) == codes_of(*b)) {
            let tuple = tuples.rows.len() as u32;
            same.iter().for_each(|cell| tuples.of_cell[*cell as usize] = tuple);
            let rows = same.iter().map(|cell| u64::from(task.cells.count(CellId(*cell))));
            tuples.rows.push(rows.sum());
            for (known, code) in tuples.codes.iter_mut().zip(codes_of(same[0])) {
                known.push(*code);
            }
        }
        tuples
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The least cost of a label that costs something.
    pub fn least(&self) -> Option<u64> {
        self.menus.iter().filter_map(Menu::least).min()
    }

    /// What the cheapest label costs that covers some tuples, all columns together.
    pub fn hull(&self, tuples: &[(u32, u64)]) -> u64 {
        let cost = |(codes, menu): (&Vec<u32>, &Menu)| {
            let codes = tuples.iter().map(|(tuple, _)| codes[*tuple as usize]);
            let (low, high) = codes.fold((u32::MAX, 0), |(low, high): (u32, u32), code| {
                (low.min(code), high.max(code))
            });
            menu.cost(low, high)
        };
        self.codes.iter().zip(&self.menus).map(cost).sum()
    }
}

/// The levels of a tree that differ from the one below.
fn layers(tree: &Taxonomy, whole: u64, has_sets: bool) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    for level in tree.levels() {
        if layers.last().is_some_and(|below| below.costs.len() == level.len()) {
            continue;
        }
        let lost = |node: u32| match level.leaves(node) - 1 {
            // A set of several values costs at least what two cost, and could be any.
            lost if has_sets => lost.min(1),
            lost => lost,
        };
        let costs: Vec<u64> = (0..level.len() as u32)
            .map(|node| part_of(whole, lost(node), tree.leaves() - 1))
            .collect();
        let least = costs.iter().min().copied().unwrap_or(0);
        layers.push(Layer { node_of: level.nodes().to_vec(), costs, least });
    }
    layers
}

/// What the whole of a column costs, in units of 2^-32, rounded down.
pub fn whole_of(weights: &Weights, column: usize) -> u64 {
    let columns = weights.columns() as u128;
    let heavier = u128::from(weights.whole(column)) * columns * u128::from(ONE);
    (heavier / u128::from(weights.total())) as u64
}

/// A fraction of the whole, rounded down.
fn part_of(whole: u64, lost: u64, leaves: u64) -> u64 {
    (u128::from(lost) * u128::from(whole) / u128::from(leaves.max(1))) as u64
}

/// The group of each code.
fn grouped(axis: &Ordered, codes: u32, most: usize) -> Vec<u32> {
    if codes as usize <= most {
        return (0..codes).collect();
    }
    let width = axis.greatest - axis.least;
    let mut group_of = Vec::with_capacity(codes as usize);
    let (mut group, mut known) = (0, None);
    for code in 0..codes {
        // Missing values are a group of their own.
        let part = match axis.missing {
            Some(missing) if missing == u64::from(code) => most as u64,
            _ => {
                let share = (axis.number(code.into()) - axis.least) / width;
                ((share * most as f64) as u64).min(most as u64 - 1)
            }
        };
        if known.is_some_and(|known| known != part) {
            group += 1;
        }
        known = Some(part);
        group_of.push(group);
    }
    group_of
}

fn ranges(
    (axis, ordered): (&Axis, &Ordered),
    tree: &Taxonomy,
    group_of: &[u32],
    whole: u64,
) -> Ranges {
    let groups = group_of.last().map_or(0, |last| *last as usize + 1);
    let mut firsts = vec![u32::MAX; groups];
    let mut lasts = vec![0; groups];
    for (code, group) in (0..).zip(group_of) {
        let group = *group as usize;
        (firsts[group], lasts[group]) = (firsts[group].min(code), code);
    }
    let mut costs = vec![0; groups * groups];
    for first in 0..groups {
        for last in first + 1..groups {
            let extent = Extent { first: lasts[first].into(), last: firsts[last].into() };
            costs[first * groups + last] = narrowest(axis, tree, extent, whole);
        }
    }
    let missing = ordered.missing.map(|missing| group_of[missing as usize]);
    // One less, as for ranges.
    Ranges { groups, firsts, costs, missing, everything: whole.saturating_sub(1) }
}

/// What the cheapest label costs, of whatever kind of recoding, that covers two codes of numbers.
/// Rounded ranges and boxes are never narrower than the range of the values, but days have a
/// calendar as well, whose units count the days that occur.
fn narrowest(axis: &Axis, tree: &Taxonomy, extent: Extent, whole: u64) -> u64 {
    // One less, in case the share was rounded up, and more of a whole that is longer than the share
    // is precise.
    let rounded = 1 + (whole >> 40);
    let range = ((axis.lost(extent) * whole as f64) as u64).saturating_sub(rounded);
    let node = Axis::ancestor(tree, extent);
    let leaves = tree.level(node.level).leaves(node.index);
    range.min(part_of(whole, leaves - 1, tree.leaves() - 1))
}
