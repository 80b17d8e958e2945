//! Incognito: the optimal full-domain recoding (after LeFevre, DeWitt and Ramakrishnan 2005).
//!
//! Exact for every requirement, loss and suppression limit: a node is left out only where a proof
//! says that it is infeasible or not cheaper than the best node known. Three orders reach the same
//! cost:
//!
//! - best-first takes nodes in ascending order of a lower bound and stops when the bound passes the
//!   best cost. Where feasibility is monotone it bisects the chain of nodes above a node first: an
//!   infeasible node high up rules out everything below it, a feasible one lowers the best cost.
//! - top-down starts at the root and never goes below a hopeless node.
//! - bottom-up starts at the leaves and never goes above a node whose floor passes the best cost.
//!
//! | here | meaning |
//! |---|---|
//! | bound | least cost of a node, from its columns alone |
//! | floor | least cost of all coarser nodes, from a node's groups |
//! | hopeless | no finer node is feasible: too many rows fail a requirement that they could only meet by merging |
//!
//! Departure from the original: it lists all minimal feasible nodes and checks subsets of
//! attributes first; here the cost steers, and roll-up makes full nodes cheap.

use super::{Assessment, Engine, GroupKey, Lattice, Layout, Length, Node};
use crate::error::Shortfall;
use crate::error::{Error, Result};
use crate::recoding::Mapping;
use crate::search::grouping::Grouping;
use crate::search::{Found, Task, Warrant};
use crate::watch::Watch;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

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
    pub const NAMES: [(&'static str, Strategy); 3] = [
        ("best-first", Strategy::BestFirst),
        ("top-down", Strategy::TopDown),
        ("bottom-up", Strategy::BottomUp),
    ];
}

/// The cheapest node, or an error that says how far the best one falls short. A search that is
/// stopped hands over the best node it has seen, with what is proven about those it has not.
pub fn search(task: &Task, strategy: Strategy, watch: &Watch) -> Result<Found> {
    let practical = task.confident.as_ref().is_some_and(|asked| asked.shortcuts().practical);
    search_with(task, strategy, practical, watch)
}

/// The same for a task without cells, whose rows are counted tuples.
pub fn search_tuples(
    task: &Task,
    tuples: Grouping<'_>,
    strategy: Strategy,
    watch: &Watch,
) -> Result<Found> {
    search_in(task, Some(tuples), (strategy, false), watch)
}

/// The same, with or without practical anti-monotonicity where presence is confident.
pub(super) fn search_with(
    task: &Task,
    strategy: Strategy,
    practical: bool,
    watch: &Watch,
) -> Result<Found> {
    search_in(task, None, (strategy, practical), watch)
}

fn search_in(
    task: &Task,
    tuples: Option<Grouping<'_>>,
    how: (Strategy, bool),
    watch: &Watch,
) -> Result<Found> {
    let lattice = Lattice::new(task.taxonomies.iter().map(|taxonomy| taxonomy.height()).collect())?;
    let layout = Layout::new(task);
    let _heeding = watch.heed();
    // Within the threads' pool from the beginning: going there for every few nodes would cost more
    // than these.
    rayon::scope(|_| match layout.length() {
        Length::Half => BestFirst::<u32>::run(task, tuples, lattice, layout, how, watch),
        Length::Words(1) => BestFirst::<[u64; 1]>::run(task, tuples, lattice, layout, how, watch),
        Length::Words(2) => BestFirst::<[u64; 2]>::run(task, tuples, lattice, layout, how, watch),
        Length::Words(3..=8) => {
            BestFirst::<[u64; 8]>::run(task, tuples, lattice, layout, how, watch)
        }
        // The lattice of so many columns is beyond MOST_NODES, which Lattice::new has refused,
        // unless they are wide.
        _ => Err(Error::SpaceTooLarge { nodes: lattice.space() as f64, most: super::MOST_NODES }),
    })
}

/// Nodes that are examined at a time, and evaluated in parallel. Fixed, so that what is visited
/// does not depend on the number of threads.
const AT_A_TIME: usize = 6;

/// Passes over counted tuples at a time, each of which may take the memory of a pass.
pub const PASSES: usize = 2;

struct BestFirst<'a, K> {
    engine: Engine<'a, K>,
    best: Option<(f64, Node)>,
    seen: FxHashMap<Node, Assessment>,
    /// Nodes below which nothing is feasible; none is finer than another.
    hopeless: Vec<Node>,
    /// Visited nodes that are not hopeless, and so are all above them; none is coarser than
    /// another.
    hopeful: Vec<Node>,
    /// Floors of visited nodes, where they say more than the bound.
    floors: Vec<(f64, Node)>,
    /// Visited nodes at and below which some rows fail for certain.
    losses: Vec<(u64, Node)>,
    watch: &'a Watch,
}

impl<'a, K: GroupKey> BestFirst<'a, K> {
    fn run(
        task: &'a Task,
        tuples: Option<Grouping<'a>>,
        lattice: Lattice,
        layout: Layout,
        (strategy, practical): (Strategy, bool),
        watch: &'a Watch,
    ) -> Result<Found> {
        let mut search = BestFirst {
            engine: Engine::<K>::new(task, tuples, lattice, layout, practical, watch)?,
            best: None,
            seen: FxHashMap::default(),
            hopeless: Vec::new(),
            hopeful: Vec::new(),
            floors: Vec::new(),
            losses: Vec::new(),
            watch,
        };
        let least = match strategy {
            Strategy::BestFirst => search.best_first()?,
            Strategy::TopDown => search.top_down()?,
            Strategy::BottomUp => search.bottom_up()?,
        };
        search.settle()?;
        watch.check()?;
        let lattice = &search.engine.lattice;
        let (space, visited) = (lattice.space(), search.seen.len() as u64);
        match search.best {
            Some((cost, node)) => {
                let mapping = Mapping::Levels(lattice.levels(node));
                let warrant = match least.filter(|least| *least < cost) {
                    None => Warrant::Optimal,
                    Some(least) => Warrant::AtLeast(search.engine.reported(least)),
                };
                let cost = Some(search.engine.reported(cost));
                Ok(Found { mapping, warrant, cost, space: Some(space.into()), visited })
            }
            None if least.is_some() => Err(Error::Interrupted),
            None => {
                // Nothing is suppressed under a presence: who is left out would still be in the
                // table.
                let is_presence = task.confident.is_some()
                    || task.requirements.iter().any(|requirement| requirement.is_about_absent());
                let suppressible = (!is_presence).then_some(task.suppressible);
                let rows = search.engine.rows;
                Err(Error::from(Shortfall::NoRecoding { space, rows, suppressible }))
            }
        }
    }

    /// Evaluates nodes that were not seen before, in parallel, and learns from them in their order.
    fn visit(&mut self, nodes: &[Node]) -> Result<()> {
        let engine = &self.engine;
        let assessed: Vec<Assessment> = match nodes {
            [node] => vec![engine.assess(*node)?],
            // Each pass has its share of the memory.
            nodes if engine.tuples.is_some() => {
                let pairs = nodes.chunks(PASSES).map(|nodes| {
                    nodes.par_iter().map(|node| engine.assess(*node)).collect::<Result<Vec<_>>>()
                });
                pairs.collect::<Result<Vec<_>>>()?.concat()
            }
            nodes => nodes.par_iter().map(|node| engine.assess(*node)).collect::<Result<_>>()?,
        };
        for (node, assessment) in nodes.iter().zip(assessed) {
            self.learn(*node, assessment);
        }
        self.watch.progress("search", self.seen.len() as u64, None);
        self.watch.check()
    }

    fn learn(&mut self, node: Node, assessment: Assessment) {
        let lattice = &self.engine.lattice;
        if assessment.feasible && self.best.is_none_or(|(cost, _)| assessment.cost < cost) {
            self.best = Some((assessment.cost, node));
        }
        if assessment.hopeless && !self.is_hopeless(node) {
            self.hopeless.retain(|known| !lattice.is_finer(*known, node));
            self.hopeless.push(node);
        }
        if !assessment.hopeless && !self.is_hopeful(node) {
            self.hopeful.retain(|known| !lattice.is_finer(node, *known));
            self.hopeful.push(node);
        }
        if !self.engine.bound_is_floor() {
            self.floors.push((assessment.floor, node));
        }
        if assessment.never > 0 && !assessment.hopeless {
            self.losses.push((assessment.never, node));
        }
        self.seen.insert(node, assessment);
    }

    /// Whether neither the node nor a finer one can be feasible.
    fn is_hopeless(&self, node: Node) -> bool {
        self.hopeless.iter().any(|known| self.engine.lattice.is_finer(node, *known))
    }

    /// Whether the node is known not to be hopeless.
    fn is_hopeful(&self, node: Node) -> bool {
        self.hopeful.iter().any(|known| self.engine.lattice.is_finer(*known, node))
    }

    /// Whether a node with this bound cannot beat the best.
    fn is_dear(&self, bound: f64) -> bool {
        self.best.is_some_and(|(cost, _)| bound >= cost)
    }

    /// The best bound for a node: its own, or the floor of a finer node.
    fn bound(&self, node: Node) -> f64 {
        let finer =
            self.floors.iter().filter(|(_, known)| self.engine.lattice.is_finer(*known, node));
        finer.map(|(floor, _)| *floor).fold(self.engine.bound(node), f64::max)
    }

    /// Each order ends with nothing, or with the least that a node it has not seen may cost if it
    /// was stopped.
    fn best_first(&mut self) -> Result<Option<f64>> {
        self.visit(&[self.engine.lattice.top()])?;
        let mut open =
            BinaryHeap::from([OpenNode { bound: 0.0, node: self.engine.lattice.bottom() }]);
        let mut front: Vec<OpenNode> = Vec::with_capacity(AT_A_TIME);
        loop {
            // Fill the front with undecided nodes in ascending order of their bounds.
            while front.len() < AT_A_TIME {
                let Some(OpenNode { bound, node }) = open.pop() else { break };
                // Many nodes may be decided before one is not.
                self.watch.check()?;
                if self.is_dear(bound) {
                    open.clear();
                    break;
                }
                // Where a floor rules this node out it rules out all coarser ones with it.
                let bound =
                    if self.floors.is_empty() { bound } else { bound.max(self.bound(node)) };
                if self.is_dear(bound) {
                    continue;
                }
                for coarser in self.engine.lattice.successors(node) {
                    let bound = bound.max(self.engine.bound(coarser));
                    if !self.is_dear(bound) {
                        open.push(OpenNode { bound, node: coarser });
                    }
                }
                if !self.is_decided(node, bound) {
                    front.push(OpenNode { bound, node });
                }
            }
            if front.is_empty() {
                return Ok(None);
            }
            if self.watch.stopped() {
                let bounds = front.iter().chain(open.peek()).map(|open| open.bound);
                return Ok(bounds.min_by(f64::total_cmp));
            }
            let mut probes: Vec<Node> = Vec::with_capacity(front.len());
            for OpenNode { node, .. } in &front {
                let probe = self.probe(*node);
                if !probes.contains(&probe) {
                    probes.push(probe);
                }
            }
            self.visit(&probes)?;
            front.retain(|open| !self.is_decided(open.node, open.bound));
        }
    }

    /// Goes down from the best node while that costs no more: of two releases with one cost the
    /// finer is better. LM differs wherever its bound does, so there only levels that lose the same
    /// are tried.
    fn settle(&mut self) -> Result<()> {
        while let Some((cost, best)) = self.best.filter(|_| !self.watch.stopped()) {
            let lattice = &self.engine.lattice;
            let finer: Vec<Node> = (0..lattice.columns())
                .filter_map(|column| lattice.lowered(best, column))
                .filter(|node| {
                    !self.engine.bound_is_floor()
                        || self.engine.bound(*node) == self.engine.bound(best)
                })
                .filter(|node| !self.is_hopeless(*node))
                .collect();
            let unseen: Vec<Node> =
                finer.iter().copied().filter(|node| !self.seen.contains_key(node)).collect();
            self.visit(&unseen)?;
            let equal = |node: &&Node| {
                self.seen.get(node).is_some_and(|known| known.feasible && known.cost <= cost)
            };
            match finer.iter().find(equal) {
                Some(node) => self.best = Some((cost, *node)),
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Whether nothing is left to be found out about a node.
    fn is_decided(&self, node: Node, bound: f64) -> bool {
        self.seen.contains_key(&node)
            || self.is_dear(bound)
            || self.is_hopeless(node)
            || self.loses_too_much(node)
    }

    /// Whether the rows that fail at a coarser node, and so at this one, make it too dear. This
    /// says nothing about nodes that are coarser still: fewer rows may fail there.
    fn loses_too_much(&self, node: Node) -> bool {
        let coarser =
            self.losses.iter().filter(|(_, known)| self.engine.lattice.is_finer(node, *known));
        let lost = coarser.map(|(lost, _)| *lost).max();
        lost.is_some_and(|lost| self.is_dear(self.engine.bound_without(node, lost)))
    }

    /// The node to evaluate on behalf of an undecided one: the last of which it is open whether it
    /// is hopeless, on the way up by least bounds as far as nodes can still beat the best. If it is
    /// hopeless, much falls at once; if not, it may be the new best; and coarse nodes have few
    /// groups.
    fn probe(&self, node: Node) -> Node {
        let mut at = node;
        // Where a failing node says nothing of finer ones, the cheapest comes first.
        if !self.engine.prunes_finer() {
            return node;
        }
        while let Some(next) = self.cheapest_step(at).filter(|next| !self.is_hopeful(*next)) {
            at = next;
        }
        at
    }

    /// The coarser neighbour with the least bound, if that can still beat the best.
    fn cheapest_step(&self, node: Node) -> Option<Node> {
        let lattice = &self.engine.lattice;
        let neighbours = (0..lattice.columns()).filter_map(|column| lattice.raised(node, column));
        let cheapest = neighbours
            .map(|node| (self.engine.bound(node), node))
            .min_by(|a, b| a.0.total_cmp(&b.0))?;
        (!self.is_dear(cheapest.0)).then_some(cheapest.1)
    }

    fn top_down(&mut self) -> Result<Option<f64>> {
        for node in self.engine.lattice.by_height(self.watch)?.into_iter().rev() {
            self.watch.check()?;
            if self.watch.stopped() {
                return Ok(Some(self.engine.bound(self.engine.lattice.bottom())));
            }
            if !self.is_hopeless(node) {
                self.visit(&[node])?;
            }
        }
        Ok(None)
    }

    fn bottom_up(&mut self) -> Result<Option<f64>> {
        for node in self.engine.lattice.by_height(self.watch)? {
            self.watch.check()?;
            if self.watch.stopped() {
                return Ok(Some(self.engine.bound(self.engine.lattice.bottom())));
            }
            if !self.is_dear(self.bound(node)) {
                self.visit(&[node])?;
            }
        }
        Ok(None)
    }
}

/// A node that may be worth a visit; the least bound comes first, then the first node.
#[derive(Clone, Copy, PartialEq)]
struct OpenNode {
    bound: f64,
    node: Node,
}

impl Eq for OpenNode {}

impl Ord for OpenNode {
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then_with(|| other.node.cmp(&self.node))
    }
}

impl PartialOrd for OpenNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
