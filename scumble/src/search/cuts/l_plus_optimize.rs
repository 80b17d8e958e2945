//! l+-Optimize: the cheapest full-subtree recoding, proven (Liu and Wang 2010).
//!
//! Depth first through the cut enumeration tree (section IV). At a node an open value is chosen;
//! its two branches are the cuts that specialize it and those that do not, in which it is locked.
//! Both are assessed at the same time, and the one that specializes is searched first. A branch
//! falls when no cut of it can be cheaper than the best one known.
//!
//! | here | paper | meaning |
//! |---|---|---|
//! | `Subtree::open`, `locked` | openVs, lockedVs | values that may be specialized, and those that may not |
//! | `Subtree::bound` | LB_cost(T, Cut) | no cut of the subtree costs less |
//! | `Search::limit` | cost(T, Cut_best) | what a cut must cost less than; the h-th best where h are wanted (IX-B) |
//! | [`Techniques`] | section VI, figure 9 | what can be switched off to see what it is worth |
//!
//! What goes beyond the paper:
//!
//! - The column with the most cuts is not branched on. For given cuts of the others, every
//!   partition has one value of it, so its best cut is the least sum over its tree, bottom up; the
//!   same holds for bounds. On the Adult table that takes a factor of eleven million from the
//!   space.
//! - The first solution comes from descent: each column in turn gets its best cut for the cuts of
//!   the others, from four starts. It is often the optimum already, and the rest of the search is
//!   its proof.
//! - Bounds know that whole groups go, not single rows; see [`super::bounds`](super::Rules).
//! - A step counts again only the partitions that it touches.
//!
//! The answer does not depend on the number of threads: two branches are assessed in parallel, and
//! learnt from in order. Costs are whole numbers held exactly by floats as long as LM's common
//! denominator allows it; beyond that they are rounded like any float, and "optimal" means up to
//! that rounding.
//!
//! Cost: one assessment is linear in the groups below all nodes of the widest tree, at most its
//! height times the cells.

use super::descent::{at_depth, descend};
use super::enumeration::{Assessment, AssessmentScratch, CutValue, Subtree};
use super::{Cuts, Machine};
use crate::error::Result;
use crate::loss::Loss;

/// Parts of the algorithm that can be left out, to see what each is worth.
#[derive(Clone, Copy, Debug)]
pub struct Techniques {
    /// A first solution by descent; otherwise the search begins with the most general cut.
    pub first_solution: bool,
    /// Values in descending order of what locking them loses; otherwise ascending.
    pub descending: bool,
    /// Bounds are computed again when a value is locked.
    pub update: bool,
    /// Suppression is bounded by whole members of a partition; otherwise by rows, as lemma 3 and
    /// theorems 4 to 6 do.
    pub members: bool,
}

impl Default for Techniques {
    fn default() -> Techniques {
        Techniques { first_solution: true, descending: true, update: true, members: true }
    }
}

/// How far a search has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The cost of the best cut so far.
    pub best: f64,
    /// No cut costs less.
    pub bound: f64,
    /// The share of all cuts that is decided.
    pub decided: f64,
    /// Cuts whose cost was evaluated.
    pub visited: u64,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The best cuts, cheapest first, with their costs in the paper's unit.
    pub best: Vec<(f64, Cuts)>,
    /// No cut costs less.
    pub bound: f64,
    /// Whether the search went through to the end.
    pub optimal: bool,
    /// Cuts whose cost was evaluated.
    pub visited: u64,
}

/// Searches for the `top` cheapest cuts; `go_on` is asked at every node.
pub fn search(
    machine: &Machine,
    techniques: Techniques,
    top: usize,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome> {
    let last = machine.widest();
    let by_rows;
    let machine = if techniques.members {
        machine
    } else {
        by_rows = machine.bounded_by_rows();
        &by_rows
    };
    let mut search = BranchAndBound {
        machine,
        last,
        techniques,
        top: top.max(1),
        best: Vec::new(),
        visited: 0,
        scratch: [AssessmentScratch::default(), AssessmentScratch::default()],
    };
    if techniques.first_solution {
        search.first_solution(go_on)?;
    }
    let (bound, optimal) = search.run(go_on)?;
    machine.watch.check()?;
    let best = search.best.into_iter().map(|(cost, cuts)| (machine.reported(cost), cuts)).collect();
    Ok(Outcome { best, bound: machine.reported(bound), optimal, visited: search.visited })
}

/// How far down the trees a descent starts.
const STARTS: [f64; 4] = [0.0, 0.34, 0.67, 1.0];

struct BranchAndBound<'a> {
    machine: &'a Machine,
    last: usize,
    techniques: Techniques,
    top: usize,
    /// The best cuts so far, cheapest first, no more than `top`.
    best: Vec<(f64, Cuts)>,
    visited: u64,
    scratch: [AssessmentScratch; 2],
}

impl BranchAndBound<'_> {
    /// What a cut must cost less than to be of interest.
    fn limit(&self) -> f64 {
        if self.best.len() < self.top { f64::INFINITY } else { self.best[self.top - 1].0 }
    }

    fn add(&mut self, cost: f64, cuts: Cuts) {
        if cost < self.limit() && self.best.iter().all(|(_, known)| *known != cuts) {
            let at = self.best.partition_point(|(known, _)| *known <= cost);
            self.best.insert(at, (cost, cuts));
            self.best.truncate(self.top);
        }
    }

    fn first_solution(&mut self, go_on: &mut dyn FnMut(&Progress) -> bool) -> Result<()> {
        let mut scratch = AssessmentScratch::default();
        let mut more = true;
        for share in STARTS {
            descend(
                self.machine,
                at_depth(self.machine, share),
                &mut scratch,
                &mut |cost, cuts| {
                    self.visited += 1;
                    self.add(cost, cuts.clone());
                    more = more && go_on(&self.progress(0.0, 0.0));
                    more
                },
            )?;
        }
        Ok(())
    }

    fn progress(&self, bound: f64, decided: f64) -> Progress {
        let best = self.best.first().map_or(f64::INFINITY, |(cost, _)| *cost);
        let reported = |cost: f64| self.machine.reported(cost);
        Progress {
            best: reported(best),
            bound: reported(bound.min(best)),
            decided,
            visited: self.visited,
        }
    }

    fn run(&mut self, go_on: &mut dyn FnMut(&Progress) -> bool) -> Result<(f64, bool)> {
        let mut root = Subtree::root(self.machine, self.last)?;
        let assessment =
            root.assess(self.machine, self.last, self.top > 1, None, &mut self.scratch[0])?;
        self.learn(&root, &assessment)?;
        root.bound = assessment.bound;
        let mut stack = vec![root];
        let mut decided = 0.0;
        while let Some(mut node) = stack.pop() {
            self.machine.watch.check()?;
            if node.bound >= self.limit() || node.open.is_empty() {
                decided += node.share;
                continue;
            }
            node.join(self.machine, self.last)?;
            let value = self.choose(&node)?;
            let mut special = node.specialize(self.machine, self.last, value)?;
            let mut locked = node.lock(self.machine, self.last, value)?;
            let [first, second] = &mut self.scratch;
            let (machine, last, all) = (self.machine, self.last, self.top > 1);
            let update = self.techniques.update;
            let change = Some((&node, value));
            let (of_special, of_locked) = rayon::join(
                || special.assess(machine, last, all, change, first),
                || update.then(|| locked.assess(machine, last, false, change, second)),
            );
            let of_special = of_special?;
            self.learn(&special, &of_special)?;
            special.bound = node.bound.max(of_special.bound);
            if let Some(of_locked) = of_locked.transpose()? {
                locked.bound = node.bound.max(of_locked.bound);
            }
            locked.unjoin(&node, value);
            stack.push(locked);
            stack.push(special);
            let best = self.best.first().map_or(f64::INFINITY, |(cost, _)| *cost);
            let bound = stack.iter().map(|node| node.bound).fold(best, f64::min);
            if !go_on(&self.progress(bound, decided)) {
                return Ok((bound, false));
            }
        }
        Ok((self.best.first().map_or(f64::INFINITY, |(cost, _)| *cost), true))
    }

    fn learn(&mut self, node: &Subtree, assessment: &Assessment) -> Result<()> {
        self.visited += 1;
        if assessment.cost < self.limit() {
            let tree = &self.machine.trees[self.last];
            for (cost, cut) in tree.best_cuts(&assessment.costs, self.top, &self.machine.watch)? {
                self.add(cost, node.cuts(self.machine, self.last, cut));
            }
        }
        Ok(())
    }

    /// The value to branch on.
    fn choose(&self, node: &Subtree) -> Result<CutValue> {
        let machine = self.machine;
        let weight = |value: &CutValue| {
            if machine.rules.loss.columns_decide() {
                return node.loss_of_locking(machine, self.last, *value);
            }
            let tree = &machine.trees[machine.column(self.last, value.place)];
            Ok(tree.branch(value.node).rows as f64)
        };
        let mut best = (node.open[0], weight(&node.open[0])?);
        for value in &node.open[1..] {
            let weight = weight(value)?;
            if (weight > best.1) == self.techniques.descending && weight != best.1 {
                best = (*value, weight);
            }
        }
        Ok(best.0)
    }
}
