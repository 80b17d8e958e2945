//! Incognito: the optimal full-domain recoding (after LeFevre, DeWitt and Ramakrishnan 2005).
//!
//! Exact for every requirement, loss and suppression limit: a node is left out only where a proof says that it is
//! infeasible or not cheaper than the best node known. Three orders reach the same cost:
//!
//! - best-first takes nodes in ascending order of a lower bound and stops when the bound passes the best cost. Where
//!   feasibility is monotone it bisects the chain of nodes above a node first: an infeasible node high up rules out
//!   everything below it, a feasible one lowers the best cost.
//! - top-down starts at the root and never goes below a hopeless node.
//! - bottom-up starts at the leaves and never goes above a node whose floor passes the best cost.
//!
//! | here | meaning |
//! |---|---|
//! | bound | least cost of a node, from its columns alone |
//! | floor | least cost of all coarser nodes, from a node's groups |
//! | hopeless | no finer node is feasible: too many rows fail a requirement that they could only meet by merging |
//!
//! Departure from the original: it lists all minimal feasible nodes and checks subsets of attributes first; here the
//! cost steers, and roll-up makes full nodes cheap.

use super::{Assessment, Engine, Groups, Lattice, Layout, is_finer};
use crate::error::{Error, Result};
use crate::search::{Found, Task};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

/// The order in which nodes are visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// In ascending order of a lower bound.
    #[default]
    BestFirst,
    /// From the root down, pruned by anti-monotonicity.
    TopDown,
    /// From the leaves up, with roll-up.
    BottomUp,
}

impl Strategy {
    /// Every strategy with its name on the command line.
    pub const NAMES: [(&'static str, Strategy); 3] =
        [("best-first", Strategy::BestFirst), ("top-down", Strategy::TopDown), ("bottom-up", Strategy::BottomUp)];
}

/// The cheapest node, or an error that says how far the best one falls short.
pub fn search(task: &Task, strategy: Strategy) -> Result<Found> {
    let lattice = Lattice::new(task.taxonomies.iter().map(|taxonomy| taxonomy.height()).collect())?;
    let layout = Layout::new(task);
    match layout.words() {
        1 => Search::<1>::run(task, lattice, layout, strategy),
        2 => Search::<2>::run(task, lattice, layout, strategy),
        3..=8 => Search::<8>::run(task, lattice, layout, strategy),
        // The lattice of so many columns is beyond MOST_NODES, which Lattice::new has refused, unless they are wide.
        _ => Err(Error::SpaceTooLarge { nodes: lattice.space() as f64, most: super::MOST_NODES }),
    }
}

/// What one node, fixed by hand, would cost.
pub fn assess(task: &Task, levels: &[usize]) -> Result<Assessment> {
    let lattice = Lattice::new(levels.to_vec())?;
    let layout = Layout::new(task);
    Ok(match layout.words() {
        1 => Engine::<1>::new(task, lattice, layout).assess(levels),
        2 => Engine::<2>::new(task, lattice, layout).assess(levels),
        _ => Engine::<8>::new(task, lattice, layout).assess(levels),
    })
}

struct Search<'a, const W: usize> {
    engine: Engine<'a, W>,
    best: Option<(f64, Vec<usize>)>,
    /// The fewest rows that any node had to suppress, for the error.
    fewest: u64,
    seen: HashMap<Vec<usize>, Assessment>,
    hopeless: Vec<Vec<usize>>,
    floors: Vec<(f64, Vec<usize>)>,
}

impl<'a, const W: usize> Search<'a, W> {
    fn run(task: &'a Task, lattice: Lattice, layout: Layout, strategy: Strategy) -> Result<Found> {
        let engine = Engine::<W>::new(task, lattice, layout);
        let mut search = Search {
            best: None,
            fewest: u64::MAX,
            seen: HashMap::new(),
            hopeless: Vec::new(),
            floors: Vec::new(),
            engine,
        };
        match strategy {
            Strategy::BestFirst => search.best_first(),
            Strategy::TopDown => search.top_down(),
            Strategy::BottomUp => search.bottom_up(),
        }
        let (space, visited) = (search.engine.lattice.space(), search.seen.len() as u64);
        match search.best {
            Some((cost, levels)) => {
                let cost = search.engine.reported(cost);
                Ok(Found { levels, cost, optimal: true, space, visited })
            }
            None => Err(Error::CannotBeMet {
                reason: format!(
                    "of {space} recodings none holds; the best of {visited} evaluated would suppress {} of {} rows, and \
                     {} may be; lower the requirement or raise the suppression limit",
                    search.fewest, search.engine.rows, task.suppressible
                ),
            }),
        }
    }

    /// Evaluates a node, once.
    fn visit(&mut self, levels: &[usize]) -> Assessment {
        if let Some(known) = self.seen.get(levels) {
            return known.clone();
        }
        let (assessment, groups) = self.engine.assess_keeping(levels);
        self.learn(levels, &assessment, groups);
        assessment
    }

    fn learn(&mut self, levels: &[usize], assessment: &Assessment, groups: Arc<Groups<W>>) {
        self.engine.keep(groups);
        self.fewest = self.fewest.min(assessment.suppressed);
        if assessment.feasible && self.best.as_ref().is_none_or(|(cost, _)| assessment.cost < *cost) {
            self.best = Some((assessment.cost, levels.to_vec()));
        }
        if assessment.hopeless {
            self.hopeless.retain(|known| !is_finer(known, levels));
            self.hopeless.push(levels.to_vec());
        }
        self.floors.push((assessment.floor, levels.to_vec()));
        self.seen.insert(levels.to_vec(), assessment.clone());
    }

    /// Whether a finer or equal node cannot be feasible.
    fn is_hopeless(&self, levels: &[usize]) -> bool {
        self.hopeless.iter().any(|node| is_finer(levels, node))
    }

    /// Whether a node with this bound cannot beat the best.
    fn is_dear(&self, bound: f64) -> bool {
        self.best.as_ref().is_some_and(|(cost, _)| bound >= *cost)
    }

    /// The best bound for a node: its own, or the floor of a finer node.
    fn bound(&self, levels: &[usize]) -> f64 {
        let own = self.engine.bound(levels);
        let finer = self.floors.iter().filter(|(floor, node)| *floor > own && is_finer(node, levels));
        finer.map(|(floor, _)| *floor).fold(own, f64::max)
    }

    fn best_first(&mut self) {
        let top = self.engine.lattice.top();
        let all = self.visit(&top);
        if all.hopeless {
            return;
        }
        let mut open = BinaryHeap::from([Open { bound: 0.0, levels: self.engine.lattice.bottom() }]);
        while let Some(Open { bound, levels }) = open.pop() {
            if self.is_dear(bound) {
                break;
            }
            let bound = bound.max(self.bound(&levels));
            if self.is_dear(bound) {
                continue;
            }
            if !self.is_hopeless(&levels) {
                if self.engine.is_monotone() {
                    self.bisect_above(&levels);
                }
                if !self.is_hopeless(&levels) {
                    self.visit(&levels);
                }
            }
            // Each node is reached on one way only: by raising the last raised column or a later one.
            let last = levels.iter().rposition(|level| *level > 0).unwrap_or(0);
            for column in last..levels.len() {
                if levels[column] < self.engine.lattice.heights[column] {
                    let mut coarser = levels.clone();
                    coarser[column] += 1;
                    let bound = bound.max(self.engine.bound(&coarser));
                    open.push(Open { bound, levels: coarser });
                }
            }
        }
    }

    /// Where feasibility is monotone: finds the border on a chain from a node up, as far as nodes can still be cheaper
    /// than the best.
    fn bisect_above(&mut self, levels: &[usize]) {
        let mut chain = vec![levels.to_vec()];
        while let Some(next) = self.cheapest_step(&chain[chain.len() - 1]) {
            chain.push(next);
        }
        let (mut low, mut high) = (0, chain.len());
        while low < high {
            let middle = (low + high) / 2;
            let node = chain[middle].clone();
            if self.is_hopeless(&node) || self.visit(&node).hopeless {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
    }

    /// The coarser neighbour with the least bound, if that can still beat the best.
    fn cheapest_step(&self, levels: &[usize]) -> Option<Vec<usize>> {
        let steps = (0..levels.len()).filter(|column| levels[*column] < self.engine.lattice.heights[*column]);
        let neighbours = steps.map(|column| {
            let mut coarser = levels.to_vec();
            coarser[column] += 1;
            (self.engine.bound(&coarser), coarser)
        });
        let cheapest = neighbours.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (!self.is_dear(cheapest.0)).then_some(cheapest.1)
    }

    fn top_down(&mut self) {
        let mut nodes = self.engine.lattice.by_height();
        nodes.reverse();
        for levels in nodes {
            if !self.is_hopeless(&levels) {
                self.visit(&levels);
            }
        }
    }

    fn bottom_up(&mut self) {
        for levels in self.engine.lattice.by_height() {
            let finer = self.floors.iter().any(|(floor, node)| self.is_dear(*floor) && is_finer(node, &levels));
            if !finer {
                self.visit(&levels);
            }
        }
    }
}

/// A node that may be worth a visit; the least bound comes first, then the first node.
#[derive(PartialEq)]
struct Open {
    bound: f64,
    levels: Vec<usize>,
}

impl Eq for Open {}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then_with(|| other.levels.cmp(&self.levels))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
