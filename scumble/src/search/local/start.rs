//! The first classes: what one level per column makes allowable, cheapest levels first.
//!
//! All vectors of levels are walked in ascending order of their cost. At each, the units that have
//! no class yet are grouped by their generalized values, and every group that is allowable becomes
//! a class, or what is left of it without units that it is better off without. In the end, units
//! without a class go where there is room for them. If there are too many vectors, a search starts
//! with classes that are known, or units are parted from the top, at the column and the place where
//! both parts stay allowable.

use super::class::Common;
use super::judge::{Judge, Tally};
use super::space::{Space, codes};
use crate::error::Result;
use crate::search::Task;
use crate::taxonomy::Axis;
use crate::watch::{PIECE, Watch};

/// Vectors of levels that are walked at most.
const VECTORS: usize = 1 << 16;

/// Units that are grouped, for each unit and at least, until vectors are skipped that cost little
/// more than the one before, and by how much they must differ then.
const GROUPED: (usize, usize) = (256, 1 << 25);
const DEARER: f64 = 1.02;

/// Parts of a column of numbers at its lowest made-up level.
const PARTS: usize = 64;

/// Places where a column is tried to be cut.
const CUTS: usize = 16;

/// Pairs of a unit and a class that are compared at most, to find a class for units that have none.
const COMPARED: usize = 1 << 26;

/// The node of each code, at each level of one column.
type Levels = Vec<Vec<u32>>;

/// Classes that are all allowable, as lists of units; those that are `known` already, unless
/// vectors of levels make cheaper ones.
pub fn start(
    task: &Task,
    (space, judge): (&Space, &Judge<'_>),
    known: Option<Vec<Vec<u32>>>,
    watch: &Watch,
) -> Result<Vec<Vec<u32>>> {
    let of_column = |column: &usize| levels(&task.axes[*column]);
    let levels: Vec<Levels> = space.columns.iter().map(of_column).collect();
    let vectors = levels.iter().try_fold(1usize, |sum, levels| sum.checked_mul(levels.len()));
    let keys = levels.iter().try_fold(1u64, |sum, levels| sum.checked_mul(levels[0].len() as u64));
    if vectors.is_some_and(|vectors| vectors <= VECTORS) && keys.is_some() {
        let classes = walk(space, judge, &levels, watch)?;
        let cost = space.cost(&classes);
        return Ok(known.filter(|known| space.cost(known) <= cost).unwrap_or(classes));
    }
    if let Some(known) = known {
        return Ok(known);
    }
    let (mut tally, mut classes) = (judge.nothing(), Vec::new());
    let mut open = vec![(0..space.len() as u32).collect::<Vec<u32>>()];
    while let Some(part) = open.pop() {
        watch.check()?;
        match split(task, space, judge, &part, &mut tally) {
            Some((below, above)) => open.extend([above, below]),
            None => classes.push(part),
        }
    }
    Ok(classes)
}

/// Whether all vectors of levels can be walked. If not, the first classes are coarse.
pub fn has_few_levels(task: &Task) -> bool {
    let made_up = 2 + PARTS.ilog2() as usize;
    let levels = |axis: &Axis| match axis {
        Axis::Tree(tree) => tree.height() + 1,
        Axis::Ordered(_) => made_up,
    };
    let vectors = task.axes.iter().try_fold(1usize, |sum, axis| sum.checked_mul(levels(axis)));
    vectors.is_some_and(|vectors| vectors <= VECTORS)
}

/// The levels of a tree, or those made up for numbers: equal parts, each half as many as before.
fn levels(axis: &Axis) -> Levels {
    let codes = codes(axis);
    let ordered = match axis {
        Axis::Ordered(ordered) => ordered,
        Axis::Tree(tree) => {
            return tree.levels().iter().map(|level| level.nodes().to_vec()).collect();
        }
    };
    let mut levels = vec![(0..codes).collect::<Vec<u32>>()];
    let width = ordered.greatest - ordered.least;
    let mut parts = PARTS;
    while parts >= 2 && width > 0.0 {
        let part = |code: u32| {
            if ordered.missing == Some(code.into()) {
                return parts as u32;
            }
            let share = (ordered.number(code.into()) - ordered.least) / width;
            ((share * parts as f64) as u32).min(parts as u32 - 1)
        };
        if parts < codes as usize {
            levels.push((0..codes).map(part).collect());
        }
        parts /= 2;
    }
    levels.push(vec![0; codes as usize]);
    levels
}

/// What a level of one column costs all rows.
fn share(space: &Space, column: usize, nodes: &[u32]) -> f64 {
    let most = nodes.iter().max().map_or(0, |node| *node as usize + 1);
    let mut ends = vec![(u32::MAX, 0); most];
    for (code, node) in (0..).zip(nodes) {
        let (first, last) = &mut ends[*node as usize];
        (*first, *last) = ((*first).min(code), (*last).max(code));
    }
    let cost = |unit: u32| {
        let (first, last) = ends[nodes[space.codes(unit)[column] as usize] as usize];
        f64::from(space.across(column, first, last)) * space.rows(unit) as f64
    };
    (0..space.len() as u32).map(cost).sum()
}

/// A vector of levels, and what it costs all rows.
type Vector = (f64, Vec<usize>);

/// Vectors of levels in ascending order of their cost.
fn by_cost(space: &Space, levels: &[Levels], watch: &Watch) -> Result<Vec<Vector>> {
    let mut vectors = vec![(0.0, Vec::new())];
    for (column, levels) in levels.iter().enumerate() {
        let mut shares = Vec::with_capacity(levels.len());
        for nodes in levels {
            watch.check()?;
            shares.push(share(space, column, nodes));
        }
        let with = |(cost, vector): &Vector| {
            let (cost, vector) = (*cost, vector.clone());
            let next = shares.iter().enumerate().map(move |(level, share)| {
                let longer = vector.iter().copied().chain([level]).collect::<Vec<_>>();
                (cost + share, longer)
            });
            next.collect::<Vec<_>>()
        };
        vectors = vectors.iter().flat_map(with).collect();
    }
    vectors.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(vectors)
}

fn walk(
    space: &Space,
    judge: &Judge<'_>,
    levels: &[Levels],
    watch: &Watch,
) -> Result<Vec<Vec<u32>>> {
    let mut classes: Vec<Vec<u32>> = Vec::new();
    let mut left: Vec<u32> = (0..space.len() as u32).collect();
    let mut tally = judge.nothing();
    let mut keyed: Vec<(u64, u32)> = Vec::new();
    let mut sums = Sums::default();
    let (mut grouped, mut walked) = (0, 0.0);
    let most = (GROUPED.0 * space.len()).max(GROUPED.1);
    for (cost, vector) in by_cost(space, levels, watch)? {
        watch.check()?;
        if left.is_empty() {
            break;
        }
        if grouped >= most && cost < walked * DEARER {
            continue;
        }
        (grouped, walked) = (grouped + left.len(), cost);
        keyed.clear();
        sums.clear(left.len());
        for units in left.chunks(PIECE) {
            watch.check()?;
            for unit in units {
                let key = key(space, levels, &vector, *unit);
                sums.add(key, space.rows(*unit));
                keyed.push((key, *unit));
            }
        }
        left.clear();
        keyed.retain(|(key, unit)| {
            let is_enough = sums.get(*key) >= judge.least;
            if !is_enough {
                left.push(*unit);
            }
            is_enough
        });
        watch.sort(&mut keyed)?;
        for group in keyed.chunk_by(|a, b| a.0 == b.0) {
            watch.check()?;
            let units = group.iter().map(|(_, unit)| *unit).collect();
            let (class, others) = trim(space, judge, &mut tally, units);
            classes.extend((!class.is_empty()).then_some(class));
            left.extend(others);
        }
    }
    absorb(space, judge, classes, left, watch)
}

/// Parts a group into a class and units that are left out of it. If the group is not allowable,
/// those units are left out that bring it nearer. If that does not help, there is no class.
fn trim(
    space: &Space,
    judge: &Judge<'_>,
    tally: &mut Tally,
    group: Vec<u32>,
) -> (Vec<u32>, Vec<u32>) {
    let mut is_enough = judge.allows_units(tally, space, &group);
    if is_enough || judge.rows_decide {
        return if is_enough { (group, Vec::new()) } else { (Vec::new(), group) };
    }
    let mut lack = judge.lack(tally);
    let (mut class, mut others) = (Vec::new(), Vec::new());
    for unit in &group {
        let is_open = !is_enough && tally.rows >= judge.least + space.rows(*unit);
        if is_open {
            judge.remove(tally, space, *unit);
            let less = judge.lack(tally);
            if less < lack {
                (lack, is_enough) = (less, judge.allows(tally));
                others.push(*unit);
                continue;
            }
            judge.add(tally, space, *unit);
        }
        class.push(*unit);
    }
    if is_enough { (class, others) } else { (Vec::new(), group) }
}

/// The generalized values of a unit as one number.
fn key(space: &Space, levels: &[Levels], vector: &[usize], unit: u32) -> u64 {
    let nodes = levels.iter().zip(vector).map(|(levels, level)| &levels[*level]);
    nodes
        .zip(space.codes(unit))
        .fold(0, |key, (nodes, code)| key * nodes.len() as u64 + u64::from(nodes[*code as usize]))
}

/// Rows by key. A hash table that is cleared without being written.
#[derive(Default)]
struct Sums {
    /// The round in which each place was filled, its key and its rows.
    places: Vec<(u32, u64, u64)>,
    round: u32,
    mask: usize,
}

impl Sums {
    /// Makes room for some keys.
    fn clear(&mut self, keys: usize) {
        let room = (2 * keys).next_power_of_two();
        if self.places.len() < room {
            self.places.resize(room, (0, 0, 0));
        }
        (self.round, self.mask) = (self.round + 1, room - 1);
    }

    fn place(&self, key: u64) -> usize {
        // Fibonacci hashing: the upper half of a product depends on all bits of the key.
        let mut at = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & self.mask;
        while self.places[at].0 == self.round && self.places[at].1 != key {
            at = (at + 1) & self.mask;
        }
        at
    }

    fn add(&mut self, key: u64, rows: u64) {
        let at = self.place(key);
        let known = if self.places[at].0 == self.round { self.places[at].2 } else { 0 };
        self.places[at] = (self.round, key, known + rows);
    }

    fn get(&self, key: u64) -> u64 {
        self.places[self.place(key)].2
    }
}

/// Puts units that no class was found for into classes that are cheap to widen and stay allowable.
/// Those for which there is none become a class of their own, with the classes that are cheapest to
/// join, until it is allowable. All units together are.
fn absorb(
    space: &Space,
    judge: &Judge<'_>,
    mut members: Vec<Vec<u32>>,
    left: Vec<u32>,
    watch: &Watch,
) -> Result<Vec<Vec<u32>>> {
    let mut classes = Vec::with_capacity(members.len());
    for units in &members {
        watch.check()?;
        classes.push(Common::new(space, judge, units));
    }
    let mut rest = Vec::new();
    let apart = (left.len() * classes.len()).div_ceil(COMPARED);
    for unit in left {
        watch.check()?;
        match roomiest(space, judge, &mut classes, apart, unit) {
            Some(class) => {
                classes[class].join(space, judge, unit);
                members[class].push(unit);
            }
            None => rest.push(unit),
        }
    }
    if rest.is_empty() {
        return Ok(members);
    }
    let mut whole = Common::new(space, judge, &rest);
    while !classes.is_empty() && !judge.allows(&whole.tally) {
        watch.check()?;
        let more = |class: &Common| {
            let joined = space.joined(whole.bounds(), class.bounds(), f32::INFINITY);
            let detail = space.detail(class.bounds());
            (joined.unwrap_or(f32::INFINITY) - detail) * class.tally.rows as f32
        };
        let costs: Vec<f32> = classes.iter().map(more).collect();
        let cheapest = (0..classes.len()).min_by(|a, b| costs[*a].total_cmp(&costs[*b]));
        let cheapest = cheapest.unwrap_or(0);
        classes.swap_remove(cheapest);
        for unit in members.swap_remove(cheapest) {
            whole.join(space, judge, unit);
            rest.push(unit);
        }
    }
    members.push(rest);
    Ok(members)
}

/// The class that is cheapest to widen for a unit, of those that stay allowable. If there are too
/// many, only one in `apart` of them is looked at.
fn roomiest(
    space: &Space,
    judge: &Judge<'_>,
    classes: &mut [Common],
    apart: usize,
    unit: u32,
) -> Option<usize> {
    let mut best = (f32::INFINITY, None);
    for at in (unit as usize % apart.max(1)..classes.len()).step_by(apart.max(1)) {
        let class = &mut classes[at];
        let rows = class.tally.rows as f32;
        let before = space.detail(class.bounds()) * rows;
        let rows = rows + space.rows(unit) as f32;
        let limit = (best.0 + before) / rows;
        let Some(joined) = space.joined(class.bounds(), space.point(unit), limit) else { continue };
        let more = joined * rows - before;
        if more >= best.0 {
            continue;
        }
        judge.add(&mut class.tally, space, unit);
        if judge.allows(&class.tally) {
            best = (more, Some(at));
        }
        judge.remove(&mut class.tally, space, unit);
    }
    best.1
}

/// The dearest column that can be cut so that both parts are allowable, where they are most equal.
fn split(
    task: &Task,
    space: &Space,
    judge: &Judge<'_>,
    part: &[u32],
    tally: &mut Tally,
) -> Option<(Vec<u32>, Vec<u32>)> {
    let rows: u64 = part.iter().map(|unit| space.rows(*unit)).sum();
    if rows < 2 * judge.least {
        return None;
    }
    let (mut low, mut high) = (Vec::new(), Vec::new());
    space.hull(part, &mut low, &mut high);
    let ends: Vec<(u32, u32)> =
        (0..space.width).map(|column| space.ends(column, (&low, &high))).collect();
    let cost = |column: usize| space.across(column, ends[column].0, ends[column].1);
    let mut columns: Vec<usize> =
        (0..space.width).filter(|column| ends[*column].0 < ends[*column].1).collect();
    columns.sort_by(|a, b| cost(*b).total_cmp(&cost(*a)));
    let mut sorted = part.to_vec();
    for column in columns {
        let code = |unit: u32| space.codes(unit)[column];
        sorted.sort_unstable_by_key(|unit| (code(*unit), *unit));
        let child = child_of(&task.axes[space.columns[column]], ends[column].0, ends[column].1);
        let mut below = 0;
        let mut cuts: Vec<(u64, usize)> = Vec::new();
        for (at, pair) in sorted.windows(2).enumerate() {
            below += space.rows(pair[0]);
            let enough = below >= judge.least && rows - below >= judge.least;
            if enough && child(code(pair[0])) != child(code(pair[1])) {
                cuts.push((below.abs_diff(rows - below), at + 1));
            }
        }
        cuts.sort_unstable();
        for (_, cut) in cuts.into_iter().take(CUTS) {
            let (one, other) = sorted.split_at(cut);
            let allows =
                judge.allows_units(tally, space, one) && judge.allows_units(tally, space, other);
            if allows {
                return Some((one.to_vec(), other.to_vec()));
            }
        }
    }
    None
}

/// The child of the node that covers a range of codes, by code; of numbers, each is its own.
fn child_of(axis: &Axis, low: u32, high: u32) -> impl Fn(u32) -> u32 + '_ {
    let level = match axis {
        Axis::Tree(tree) => {
            let apart =
                |level: &usize| tree.level(*level).node_of(low) != tree.level(*level).node_of(high);
            (0..tree.height()).rev().find(apart)
        }
        Axis::Ordered(_) => None,
    };
    move |code| match (axis, level) {
        (Axis::Tree(tree), Some(level)) => tree.level(level).node_of(code),
        _ => code,
    }
}
