//! One level per attribute: the lattice of full-domain recodings.
//!
//! A node is a level for each quasi-identifier; a coarser node merges groups of a finer one. The
//! `Engine` knows the groups at a node, by rolling up from the smallest finer node that it kept,
//! and assesses them. The algorithms of this folder decide which node to ask for next.

mod groups;
pub mod incognito;
mod many;
mod node;
mod parts;
pub mod s_instant;
pub mod sfalm;
pub mod spalm;

pub(super) use groups::{GroupKey, TooSmall};
pub use node::{Lattice, MOST_NODES, Node};

use super::Task;
use super::grouping::Grouping;
use crate::error::Result;
use crate::loss::{LevelLoss, Lm, Loss, ReleaseFigures};
use crate::privacy::{
    ConfidentPresence, Group, Monotone, Requirement, Tuple, all_hold, asks_nothing,
};
use crate::table::Tallies;
use crate::taxonomy::{Level, Taxonomy};
use crate::watch::{PIECE, Watch};
use groups::{GroupScratch, Layout, Length, MANY_GROUPS, NodeGroups, Step};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Groups that are kept for roll-up beside the cells, in all: a few hundred megabytes.
const KEPT_GROUPS: usize = 1 << 24;

/// Groups that are judged between two polls for an abort: one may take a microsecond.
const JUDGED: usize = 1 << 12;

/// What is known of a node after its groups were judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assessment {
    /// What a release at this node costs; infinite where there can be none.
    pub cost: f64,
    /// Whether it may be released: not too many rows suppressed, and not all.
    pub feasible: bool,
    /// No node at least as fine can be feasible.
    pub hopeless: bool,
    /// Rows that fail here and at every finer node; all of them only where the node is not
    /// hopeless.
    pub never: u64,
    /// No node at least as coarse can cost less.
    pub floor: f64,
}

/// Knows and judges the groups at each node.
struct Engine<'a, K> {
    task: &'a Task,
    lattice: Lattice,
    layout: Layout,
    lm: Lm,
    /// `marginals[column][level]`: what the column alone loses.
    marginals: Vec<Vec<LevelLoss>>,
    /// Whether rows can only come to meet every requirement as groups merge.
    always: bool,
    /// Whether unions of groups that hold do.
    mergeable: bool,
    /// `marked[column][level][node]`: the others of a likely world with a value below the node.
    marked: Vec<Vec<Vec<u64>>>,
    /// When too many rows are in groups that fail for their size alone.
    too_small: TooSmall,
    /// Columns, those whose rows are spread most evenly over most values first: raising them joins
    /// most groups.
    order: Vec<usize>,
    kept: RwLock<Kept<K>>,
    /// Memory for roll-up that no thread uses now.
    idle: Mutex<Vec<GroupScratch<K>>>,
    rows: u64,
    /// Distinct tuples of quasi-identifiers, or more.
    cells: usize,
    /// The rows, if the task has no cells.
    tuples: Option<Grouping<'a>>,
    /// Groups that may be kept, in all.
    most_kept: usize,
    watch: &'a Watch,
}

/// The others of a likely world with a value below each node.
fn marked(task: &Task, confident: &ConfidentPresence) -> Vec<Vec<Vec<u64>>> {
    let of_level = |column: usize, level: &Level| {
        (0..level.len() as u32).map(|node| confident.marked(column, level.range(node))).collect()
    };
    let of_column = |(column, taxonomy): (usize, &Arc<Taxonomy>)| {
        taxonomy.levels().iter().map(|level| of_level(column, level)).collect()
    };
    task.taxonomies.iter().enumerate().map(of_column).collect()
}

/// The rows with each leaf of a column.
fn rows_of(task: &Task, column: usize, watch: &Watch) -> Result<Vec<u64>> {
    let mut rows = vec![0; task.taxonomies[column].codes() as usize];
    let mut codes = task.cells.column(column);
    for counts in task.cells.counts().chunks(PIECE) {
        watch.check()?;
        for (count, code) in counts.iter().zip(codes.by_ref()) {
            rows[code as usize] += u64::from(*count);
        }
    }
    Ok(rows)
}

/// The groups at a node.
enum Reached<K> {
    Groups(Arc<NodeGroups<K>>),
    /// The node is hopeless because too many groups are too small; nothing else is known of it.
    TooSmall,
    /// They do not fit into memory.
    TooMany,
}

/// Groups of nodes seen before.
struct Kept<K> {
    /// Each with the number of its groups; the cells first.
    nodes: Vec<(usize, Node, Arc<NodeGroups<K>>)>,
    weight: usize,
}

impl<'a, K: GroupKey> Engine<'a, K> {
    /// `practical`: a node whose presence is not confident is taken to fail with all finer ones.
    /// If there are tuples, the task has no cells.
    fn new(
        task: &'a Task,
        tuples: Option<Grouping<'a>>,
        lattice: Lattice,
        layout: Layout,
        practical: bool,
        watch: &'a Watch,
    ) -> Result<Self> {
        let mut kept = Kept { weight: 0, nodes: Vec::new() };
        let (rows_of, rows) = match &tuples {
            None => {
                let bottom = NodeGroups::bottom(task, &layout, lattice.bottom(), watch)?;
                kept.nodes.push((bottom.len(), lattice.bottom(), Arc::new(bottom)));
                let columns = 0..task.taxonomies.len();
                let rows_of: Vec<Vec<u64>> =
                    columns.map(|column| rows_of(task, column, watch)).collect::<Result<_>>()?;
                (rows_of, task.rows())
            }
            Some(tuples) => {
                (tuples.leaf_rows(task.taxonomies.iter().map(|tree| tree.codes()))?, tuples.rows)
            }
        };
        let cells = match &tuples {
            None => task.cells.len(),
            Some(tuples) => parts::distinct::<K>(task, tuples)?,
        };
        let most_kept = tuples.map_or(KEPT_GROUPS, |tuples| parts::most_kept::<K>(&tuples));
        let lm = Lm::new(task.taxonomies.iter().map(Arc::as_ref), &task.weights);
        let marginal = |column: usize| {
            let (whole, weight) = (lm.whole()[column], lm.weights()[column]);
            let of_level = |level| LevelLoss::new(level, &rows_of[column], whole, weight);
            task.taxonomies[column].levels().iter().map(of_level).collect()
        };
        let marginals = (0..task.taxonomies.len()).map(marginal).collect();
        // The negative entropy of a column, up to a factor and a constant that are the same for
        // all.
        let crowding = |column: &usize| -> f64 {
            rows_of[*column]
                .iter()
                .map(|rows| *rows as f64)
                .filter(|rows| *rows > 0.0)
                .map(|rows| rows * rows.ln())
                .sum()
        };
        let mut order: Vec<usize> = (0..task.taxonomies.len()).collect();
        order.sort_by(|a, b| crowding(a).total_cmp(&crowding(b)));
        let monotone: Vec<Monotone> =
            task.requirements.iter().map(|requirement| requirement.monotone()).collect();
        Ok(Engine {
            lm,
            marginals,
            always: task.confident.is_none()
                && monotone.iter().all(|monotone| *monotone == Monotone::Always),
            too_small: TooSmall {
                least: task
                    .requirements
                    .iter()
                    .map(|requirement| requirement.least_rows())
                    .max()
                    .unwrap_or(1),
                limit: task.suppressible,
            },
            order,
            mergeable: monotone.iter().all(|monotone| *monotone != Monotone::Never)
                && (practical || task.confident.is_none()),
            marked: task.confident.as_ref().map_or(Vec::new(), |confident| marked(task, confident)),
            rows,
            cells,
            tuples,
            most_kept,
            idle: Mutex::default(),
            kept: RwLock::new(kept),
            task,
            lattice,
            layout,
            watch,
        })
    }

    /// Whether a feasible node's coarser neighbours are all feasible too: rows that fail never
    /// become more.
    pub fn is_monotone(&self) -> bool {
        self.always || self.mergeable && self.task.suppressible == 0
    }

    /// Whether a node that fails may say something of finer ones.
    pub fn prunes_finer(&self) -> bool {
        self.mergeable || self.task.suppressible > 0
    }

    /// The least that any release at this node can cost, known without looking at its groups.
    pub fn bound(&self, node: Node) -> f64 {
        self.bound_without(node, 0)
    }

    /// The same, where it is known that at least `lost` rows fail.
    pub fn bound_without(&self, node: Node, lost: u64) -> f64 {
        let levels = self.marginals.iter().enumerate();
        let levels = levels.map(|(column, levels)| &levels[self.lattice.level(node, column)]);
        self.task.loss.bound(levels, self.rows, self.cells, lost)
    }

    /// Whether [`bound`](Self::bound) is at least as good as the floor of any finer node.
    pub fn bound_is_floor(&self) -> bool {
        self.task.loss.columns_decide()
    }

    /// A cost in the unit of the loss.
    fn reported(&self, cost: f64) -> f64 {
        cost / self.task.loss.unit(self.rows, self.task.taxonomies.len())
    }

    /// The groups at a node, rolled up from the finer node with the fewest groups that is kept, the
    /// columns that join most groups first; from the tuples if there is none. Every step on the way is
    /// kept for other nodes. Few
    /// groups go up one column at a time, so that more steps can be shared; many go up all columns
    /// at once, since large steps between would not stay in cache.
    fn groups(&self, node: Node) -> Result<Reached<K>> {
        let Some(mut groups) = self.smallest_start(node) else {
            return self.reach_from_tuples(node);
        };
        let mut scratch =
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let reached = loop {
            let step = |column: &usize| {
                let (from, to) =
                    (self.lattice.level(groups.node, *column), self.lattice.level(node, *column));
                (from < to).then_some(Step { column: *column, from, to })
            };
            let mut steps: Vec<Step> = self.order.iter().filter_map(step).collect();
            if steps.is_empty() {
                break Reached::Groups(groups);
            }
            if groups.len() <= MANY_GROUPS {
                steps.truncate(1);
            }
            let next = steps
                .iter()
                .fold(groups.node, |node, step| self.lattice.with(node, step.column, step.to));
            // Floors of other losses are drawn from groups, those of hopeless nodes too.
            let unless = (next == node && self.bound_is_floor()).then_some(self.too_small);
            let with_tallies = !self.task.values.is_empty();
            let (layout, to) = (&self.layout, (next, &steps[..]));
            let raised =
                groups.raise(&mut scratch, layout, to, with_tallies, unless, self.watch)?;
            let Some(raised) = raised else { break Reached::TooSmall };
            groups = Arc::new(raised);
            self.keep(&groups);
        };
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
        Ok(reached)
    }

    /// Of the kept nodes that are finer, the one with the fewest groups. If the task has cells, they
    /// are always there.
    fn smallest_start(&self, node: Node) -> Option<Arc<NodeGroups<K>>> {
        let kept = self.kept.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        let finer = kept.nodes.iter().filter(|known| self.lattice.is_finer(known.1, node));
        finer.min_by_key(|known| known.0).map(|(.., groups)| groups.clone())
    }

    /// Keeps groups for later; where there is no room, the largest go first, since the smallest
    /// help most.
    fn keep(&self, groups: &Arc<NodeGroups<K>>) {
        let mut kept = self.kept.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        kept.weight += groups.weight();
        kept.nodes.push((groups.len(), groups.node, groups.clone()));
        // The cells stay.
        let first = usize::from(self.tuples.is_none());
        while kept.weight > self.most_kept && kept.nodes.len() > first {
            let largest =
                (first..kept.nodes.len()).max_by_key(|at| kept.nodes[*at].0).unwrap_or(first);
            let (_, _, dropped) = kept.nodes.swap_remove(largest);
            kept.weight = kept.weight.saturating_sub(dropped.weight());
        }
    }

    /// What is known of a node with too many groups that are too small.
    fn too_small_at(&self, node: Node) -> Assessment {
        let (cost, floor) = (f64::INFINITY, self.bound(node));
        Assessment { cost, feasible: false, hopeless: true, never: 0, floor }
    }

    /// Judges the groups at a node.
    pub fn assess(&self, node: Node) -> Result<Assessment> {
        let groups = match self.groups(node)? {
            Reached::Groups(groups) => groups,
            Reached::TooSmall => return Ok(self.too_small_at(node)),
            Reached::TooMany => return self.assess_in_parts(node),
        };
        let judged = self.judge(&groups)?;
        let limit = self.task.suppressible;
        let hopeless =
            if limit == 0 { self.mergeable && judged.suppressed > 0 } else { judged.never > limit };
        let feasible = judged.suppressed <= limit
            && judged.suppressed < self.rows
            && (judged.suppressed == 0 || self.holds_against_release(&groups, &judged.failing)?);
        let cost = if feasible {
            self.cost(&groups, &judged.failing, judged.suppressed)?
        } else {
            f64::INFINITY
        };
        // Where merging only helps, whatever fails here fails below.
        let never = if self.is_monotone() { judged.suppressed } else { judged.never };
        Ok(Assessment { cost, feasible, hopeless, never, floor: self.floor(&groups)? })
    }

    /// Goes through the groups until it is certain that too many rows fail here and at every finer
    /// node.
    fn judge(&self, groups: &NodeGroups<K>) -> Result<Judged> {
        let task = self.task;
        let mut judged = Judged { failing: Vec::new(), suppressed: 0, never: 0 };
        // Counts alone first: they are at hand, and often they decide.
        if self.too_small.are(groups.groups.iter().map(|(_, rows)| *rows)) {
            return Ok(Judged { suppressed: u64::MAX, never: u64::MAX, ..judged });
        }
        let tallies = groups.tallies(&task.values, self.watch)?;
        for (index, rows) in groups.sizes().enumerate() {
            if index % JUDGED == 0 {
                self.watch.check()?;
            }
            let group = Group { rows, columns: tallies, index };
            if all_hold(&task.requirements, &group) {
                continue;
            }
            judged.failing.push(index);
            // Of the population's groups without a row there is nothing to leave out.
            judged.suppressed += group.rows.max(1);
            if judged.suppressed > task.suppressible && self.is_monotone() {
                return Ok(Judged { never: judged.suppressed, ..judged });
            }
            if task
                .requirements
                .iter()
                .any(|one| !asks_nothing(one.as_ref(), &group) && !one.attainable(&group))
            {
                judged.never += group.rows;
                if judged.never > task.suppressible {
                    break;
                }
            }
        }
        if let Some(confident) = &task.confident
            && judged.suppressed == 0
            && !self.is_confident(groups, confident)?
        {
            // The classes together fail, so no row is the one to leave out.
            judged.suppressed = 1;
        }
        Ok(judged)
    }

    /// Whether the classes of a node are confidently present, and cover all that they should.
    fn is_confident(&self, groups: &NodeGroups<K>, confident: &ConfidentPresence) -> Result<bool> {
        let levels = self.lattice.levels(groups.node);
        let node = |class: usize, column: usize| self.layout.node(&groups.groups[class].0, column);
        let codes = |class: usize, column: usize| {
            self.task.taxonomies[column].level(levels[column]).range(node(class, column))
        };
        if confident.covers_all() && !confident.is_covered(groups.len(), codes, self.watch)? {
            return Ok(false);
        }
        let tallies = groups.tallies(&self.task.values, self.watch)?;
        let needed = confident.needed_by().map(|column| &tallies[column]);
        let tuple = |(class, rows): (usize, u64)| {
            let marked = self.marked.iter().zip(&levels).enumerate();
            let marked = marked
                .map(|(column, (of, level))| of[*level][node(class, column) as usize])
                .collect();
            confident.tuple(
                rows,
                marked,
                needed.and_then(|needed| needed.group(class).last()).map_or(0, |last| last.0),
            )
        };
        let mut tuples: Vec<Tuple> = Vec::with_capacity(groups.len());
        let mut classes = groups.sizes().enumerate();
        while tuples.len() < groups.len() {
            self.watch.check()?;
            tuples.extend(classes.by_ref().take(JUDGED).map(&tuple));
        }
        confident.hold(&tuples, self.watch)
    }

    /// Requirements that compare a group with the whole must hold against the released rows as
    /// well.
    fn holds_against_release(&self, groups: &NodeGroups<K>, failing: &[usize]) -> Result<bool> {
        let tallies = groups.tallies(&self.task.values, self.watch)?;
        let mut released: Vec<Vec<u64>> = tallies
            .iter()
            .zip(&self.task.values)
            .map(|(tally, values)| tally.totals(*values, self.watch))
            .collect::<Result<_>>()?;
        for (totals, tally) in released.iter_mut().zip(tallies) {
            for (value, count) in failing.iter().flat_map(|group| tally.group(*group)) {
                totals[*value as usize] -= u64::from(*count);
            }
        }
        let again: Vec<Box<dyn Requirement>> = self
            .task
            .requirements
            .iter()
            .filter_map(|requirement| requirement.against_release(&released))
            .collect();
        let mut failing = failing.iter().copied().peekable();
        if again.is_empty() {
            return Ok(true);
        }
        for index in 0..groups.len() {
            if index % JUDGED == 0 {
                self.watch.check()?;
            }
            let rows = u64::from(groups.groups[index].1);
            let is_released = failing.next_if_eq(&index).is_none();
            if is_released && !all_hold(&again, &Group { rows, columns: tallies, index }) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The cost of a release at a node without the groups that fail.
    fn cost(&self, groups: &NodeGroups<K>, failing: &[usize], suppressed: u64) -> Result<f64> {
        self.task.loss.cost(&NodeRelease { engine: self, groups, failing, suppressed })
    }

    /// What no coarser node's release can cost less than: the loss without suppression, which only
    /// grows by merging.
    fn floor(&self, groups: &NodeGroups<K>) -> Result<f64> {
        if self.bound_is_floor() {
            return Ok(self.bound(groups.node));
        }
        self.cost(groups, &[], 0)
    }
}

/// A release at a node, which a loss asks for its figures.
struct NodeRelease<'a, K> {
    engine: &'a Engine<'a, K>,
    groups: &'a NodeGroups<K>,
    failing: &'a [usize],
    suppressed: u64,
}

impl<K: GroupKey> NodeRelease<'_, K> {
    /// The sum of a figure over the labels of some groups.
    fn sum_of_some(
        &self,
        labels: &Tallies,
        some: impl Iterator<Item = usize>,
        figure: impl Fn(&[(u32, u32)]) -> u64,
    ) -> Result<u64> {
        let mut sum = 0;
        for (at, group) in some.enumerate() {
            if at % PIECE == 0 {
                self.engine.watch.check()?;
            }
            sum += figure(labels.group(group));
        }
        Ok(sum)
    }
}

impl<K: GroupKey> ReleaseFigures for NodeRelease<'_, K> {
    fn rows(&self) -> u64 {
        self.engine.rows
    }

    fn suppressed(&self) -> u64 {
        self.suppressed
    }

    /// What the columns lose if every row is released, corrected for those that are not.
    fn detail(&self) -> f64 {
        let Engine { task, lattice, layout, lm, marginals, .. } = self.engine;
        let mut sum = lm.nothing();
        for (column, (lost, whole)) in sum.0.iter_mut().zip(lm.whole()).enumerate() {
            let at = lattice.level(self.groups.node, column);
            let level = task.taxonomies[column].level(at);
            *lost = marginals[column][at].lost + u128::from(self.suppressed) * u128::from(*whole);
            for (key, rows) in self.failing.iter().map(|group| &self.groups.groups[*group]) {
                let leaves = level.leaves(layout.node(key, column));
                *lost -= u128::from(*rows) * u128::from(leaves - 1);
            }
        }
        lm.in_rows(&sum)
    }

    fn sum_of_sizes(&self, figure: impl Fn(u64) -> u128) -> u128 {
        let failing = self.failing.iter().map(|group| u64::from(self.groups.groups[*group].1));
        self.groups.sizes().map(&figure).sum::<u128>() - failing.map(&figure).sum::<u128>()
    }

    fn sum_of_labels(&self, figure: impl Fn(&[(u32, u32)]) -> u64) -> Result<u64> {
        let Some(target) = self.engine.task.target else { return Ok(0) };
        let labels = &self.groups.tallies(&self.engine.task.values, self.engine.watch)?[target];
        let failing = self.sum_of_some(labels, self.failing.iter().copied(), &figure)?;
        Ok(self.sum_of_some(labels, 0..self.groups.len(), &figure)? - failing)
    }
}

/// The groups that fail, their rows, and those of them that fail in every finer node too. Complete
/// unless it is certain that too many fail.
struct Judged {
    failing: Vec<usize>,
    suppressed: u64,
    never: u64,
}
