//! One level per attribute: the lattice of full-domain recodings.
//!
//! A node is a level for each quasi-identifier; a coarser node merges groups of a finer one. The [`Engine`] knows the
//! groups at a node, by rolling up from the smallest finer node that it kept, and assesses them. The algorithms of this
//! folder decide which node to ask for next.

mod groups;
pub mod incognito;

use crate::error::{Error, Result};
use crate::loss::{Lm, LmSum, Loss, dm, minority};
use crate::privacy::{Group, Monotone, Requirement, all_hold};
use crate::search::Task;
use groups::{Groups, Layout};
use std::sync::{Arc, RwLock};

/// The most nodes that are searched: their states are kept in memory.
pub const MOST_NODES: u64 = 1 << 26;

/// Groups that are kept for roll-up, in all: about a quarter of a gigabyte.
const KEPT_GROUPS: usize = 1 << 24;

/// The shape of the lattice.
#[derive(Clone, Debug)]
pub struct Lattice {
    heights: Vec<usize>,
    space: u64,
}

impl Lattice {
    /// The lattice over taxonomies of these heights.
    pub fn new(heights: Vec<usize>) -> Result<Lattice> {
        let space = heights.iter().try_fold(1u64, |space, height| space.checked_mul(*height as u64 + 1));
        match space {
            Some(space) if space <= MOST_NODES => Ok(Lattice { heights, space }),
            _ => {
                let nodes = heights.iter().map(|height| *height as f64 + 1.0).product();
                Err(Error::SpaceTooLarge { nodes, most: MOST_NODES })
            }
        }
    }

    /// How many nodes there are.
    pub fn space(&self) -> u64 {
        self.space
    }

    /// The coarsest node.
    pub fn top(&self) -> Vec<usize> {
        self.heights.clone()
    }

    /// The finest node.
    pub fn bottom(&self) -> Vec<usize> {
        vec![0; self.heights.len()]
    }

    /// Every node, the finest first: in ascending order of the sum of levels, then of the levels themselves.
    pub fn by_height(&self) -> Vec<Vec<usize>> {
        let mut nodes = vec![Vec::new()];
        for height in &self.heights {
            let longer = |node: &Vec<usize>, level| node.iter().copied().chain([level]).collect::<Vec<usize>>();
            nodes = nodes.iter().flat_map(|node| (0..=*height).map(move |level| longer(node, level))).collect();
        }
        nodes.sort_by_cached_key(|node| node.iter().sum::<usize>());
        nodes
    }
}

/// Whether `fine` is the same node as `coarse` or finer.
pub fn is_finer(fine: &[usize], coarse: &[usize]) -> bool {
    fine.iter().zip(coarse).all(|(fine, coarse)| fine <= coarse)
}

/// What is known of a node after its groups were judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// Rows in groups that fail.
    pub suppressed: u64,
    /// What a release at this node costs.
    pub cost: f64,
    /// Whether it may be released: not too many rows suppressed, and not all.
    pub feasible: bool,
    /// No node at least as fine can be feasible.
    pub hopeless: bool,
    /// No node at least as coarse can cost less.
    pub floor: f64,
}

/// Knows and judges the groups at each node.
pub struct Engine<'a, const W: usize> {
    task: &'a Task,
    lattice: Lattice,
    layout: Layout,
    lm: Lm,
    /// `marginals[column][level]`: leaves lost in the column if all its values go to the level and no row is lost.
    marginals: Vec<Vec<u128>>,
    /// Requirements that rows can only come to meet as groups merge; those that hold for unions; whether all are one
    /// of the two.
    always: Vec<bool>,
    mergeable: bool,
    kept: RwLock<Kept<W>>,
    rows: u64,
}

/// Groups of nodes seen before.
struct Kept<const W: usize> {
    nodes: Vec<Arc<Groups<W>>>,
    groups: usize,
}

impl<'a, const W: usize> Engine<'a, W> {
    fn new(task: &'a Task, lattice: Lattice, layout: Layout) -> Self {
        let bottom = Groups::bottom(task, &layout);
        let columns = 0..task.taxonomies.len();
        let marginals = columns
            .map(|column| {
                let taxonomy = &task.taxonomies[column];
                let mut rows = vec![0u64; taxonomy.codes() as usize];
                for (key, count) in bottom.keys.iter().zip(&bottom.counts) {
                    rows[layout.node(key, column) as usize] += u64::from(*count);
                }
                let lost = |level: &crate::taxonomy::Level| {
                    let per_leaf = rows.iter().enumerate().map(|(leaf, rows)| {
                        let leaves = level.leaves(level.node_of(leaf as u32));
                        u128::from(*rows) * u128::from(leaves - 1)
                    });
                    per_leaf.sum::<u128>()
                };
                taxonomy.levels().iter().map(lost).collect()
            })
            .collect();
        let monotone: Vec<Monotone> = task.requirements.iter().map(|requirement| requirement.monotone()).collect();
        Engine {
            lm: Lm::new(task.taxonomies.iter().map(Arc::as_ref)),
            marginals,
            always: monotone.iter().map(|monotone| *monotone == Monotone::Always).collect(),
            mergeable: monotone.iter().all(|monotone| *monotone != Monotone::Never),
            rows: task.rows(),
            kept: RwLock::new(Kept { groups: bottom.len(), nodes: vec![Arc::new(bottom)] }),
            task,
            lattice,
            layout,
        }
    }

    /// Whether a feasible node's coarser neighbours are all feasible too: rows that fail never become more.
    pub fn is_monotone(&self) -> bool {
        self.always.iter().all(|always| *always) || self.mergeable && self.task.suppressible == 0
    }

    /// The least that any release at this node can cost, known without looking at its groups. For LM it follows from
    /// the columns one by one; for DM from the number of groups there can be (Cauchy and Schwarz).
    pub fn bound(&self, levels: &[usize]) -> f64 {
        match self.task.loss {
            Loss::Lm => self.lm.in_rows(&self.generalization(levels)),
            Loss::Dm => {
                let nodes = levels.iter().zip(&self.task.taxonomies).map(|(level, tree)| tree.level(*level).len() as f64);
                let groups = nodes.product::<f64>().min(self.task.cells.len() as f64);
                // A hair below, since the division is rounded.
                (self.rows as f64 * self.rows as f64 / groups * (1.0 - 1e-12)).floor()
            }
            Loss::Cm => 0.0,
        }
    }

    /// A cost in the unit of the loss: a mean for LM, a sum for DM, a share for CM.
    fn reported(&self, cost: f64) -> f64 {
        match self.task.loss {
            Loss::Lm => cost / (self.rows as f64 * self.task.taxonomies.len() as f64),
            Loss::Dm => cost,
            Loss::Cm => cost / self.rows as f64,
        }
    }

    /// Leaves lost by generalization alone.
    fn generalization(&self, levels: &[usize]) -> LmSum {
        LmSum(levels.iter().zip(&self.marginals).map(|(level, lost)| lost[*level]).collect())
    }

    /// The groups at a node, from the smallest finer node that was kept.
    fn groups(&self, levels: &[usize]) -> Arc<Groups<W>> {
        let source = {
            let kept = self.kept.read().unwrap_or_else(|poisoned| poisoned.into_inner());
            let finer = kept.nodes.iter().filter(|groups| groups.reaches(levels));
            finer.min_by_key(|groups| groups.len()).map(Arc::clone)
        };
        match source {
            Some(groups) if groups.levels == levels => groups,
            Some(groups) => Arc::new(groups.roll_up(&self.layout, levels, &self.task.values)),
            // The bottom is always kept and reaches every node.
            None => Arc::new(Groups::bottom(self.task, &self.layout)),
        }
    }

    /// Keeps groups for later roll-ups, unless a kept node serves nearly as well or there is no room.
    fn keep(&self, groups: Arc<Groups<W>>) {
        let mut kept = self.kept.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let finer = kept.nodes.iter().filter(|known| known.reaches(&groups.levels));
        let best = finer.map(|known| known.len()).min().unwrap_or(usize::MAX);
        if groups.len() < best - best / 8 && kept.groups + groups.len() <= KEPT_GROUPS {
            kept.groups += groups.len();
            kept.nodes.push(groups);
        }
    }

    /// Judges the groups at a node.
    pub fn assess(&self, levels: &[usize]) -> Assessment {
        self.assess_keeping(levels).0
    }

    fn assess_keeping(&self, levels: &[usize]) -> (Assessment, Arc<Groups<W>>) {
        let groups = self.groups(levels);
        let judged = self.judge(&groups);
        let suppressed = judged.failing.iter().map(|group| u64::from(groups.counts[*group])).sum::<u64>();
        let limit = self.task.suppressible;
        let mut feasible = suppressed <= limit && suppressed < self.rows;
        if feasible && suppressed > 0 {
            feasible = self.holds_against_release(&groups, &judged.failing);
        }
        let hopeless = if limit == 0 { self.mergeable && suppressed > 0 } else { judged.never > limit };
        let (cost, floor) = self.cost(&groups, &judged.failing, suppressed);
        (Assessment { suppressed, cost, feasible, hopeless, floor }, groups)
    }

    fn judge(&self, groups: &Groups<W>) -> Judged {
        let requirements = &self.task.requirements;
        let mut judged = Judged { failing: Vec::new(), never: 0 };
        for (index, count) in groups.counts.iter().enumerate() {
            let group = Group { rows: u64::from(*count), columns: &groups.tallies, index };
            let Some(first) = requirements.iter().position(|requirement| !requirement.holds(&group)) else { continue };
            judged.failing.push(index);
            let fails_always = |at: usize| self.always[at] && !requirements[at].holds(&group);
            if self.always[first] || (first + 1..requirements.len()).any(fails_always) {
                judged.never += group.rows;
            }
        }
        judged
    }

    /// Requirements that compare a group with the whole must hold against the released rows as well.
    fn holds_against_release(&self, groups: &Groups<W>, failing: &[usize]) -> bool {
        let mut released: Vec<Vec<u64>> =
            groups.tallies.iter().zip(&self.task.values).map(|(tally, values)| tally.totals(*values)).collect();
        for (totals, tallies) in released.iter_mut().zip(&groups.tallies) {
            for (value, count) in failing.iter().flat_map(|group| tallies.group(*group)) {
                totals[*value as usize] -= u64::from(*count);
            }
        }
        let again: Vec<Box<dyn Requirement>> =
            self.task.requirements.iter().filter_map(|requirement| requirement.against_release(&released)).collect();
        let mut failing = failing.iter().copied().peekable();
        again.is_empty()
            || (0..groups.len()).all(|index| {
                let rows = u64::from(groups.counts[index]);
                failing.next_if_eq(&index).is_some()
                    || all_hold(&again, &Group { rows, columns: &groups.tallies, index })
            })
    }

    /// The cost of a release at a node, and a floor for all coarser nodes.
    fn cost(&self, groups: &Groups<W>, failing: &[usize], suppressed: u64) -> (f64, f64) {
        match self.task.loss {
            Loss::Lm => {
                let mut sum = self.generalization(&groups.levels);
                let floor = self.lm.in_rows(&sum);
                for (column, (lost, whole)) in sum.0.iter_mut().zip(self.lm.whole()).enumerate() {
                    let level = self.task.taxonomies[column].level(groups.levels[column]);
                    *lost += u128::from(suppressed) * u128::from(*whole);
                    for group in failing {
                        let leaves = level.leaves(self.layout.node(&groups.keys[*group], column));
                        *lost -= u128::from(groups.counts[*group]) * u128::from(leaves - 1);
                    }
                }
                (self.lm.in_rows(&sum), floor)
            }
            Loss::Dm => {
                let sizes = || groups.counts.iter().map(|count| u64::from(*count));
                let lost = failing.iter().map(|group| u64::from(groups.counts[*group]));
                let squares = dm(sizes(), self.rows, 0);
                let cost = squares - dm(lost, self.rows, 0) + dm(std::iter::empty(), self.rows, suppressed);
                (cost as f64, squares as f64)
            }
            Loss::Cm => {
                let Some(target) = self.task.target else { return (0.0, 0.0) };
                let labels = |group: usize| minority(groups.tallies[target].group(group));
                let all: u64 = (0..groups.len()).map(labels).sum();
                let lost: u64 = failing.iter().map(|group| labels(*group)).sum();
                ((all - lost + suppressed) as f64, all as f64)
            }
        }
    }
}

/// The groups that fail, and the rows that fail in every finer node too.
struct Judged {
    failing: Vec<usize>,
    never: u64,
}
