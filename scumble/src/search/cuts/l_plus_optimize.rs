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
//! - Suppression can be limited. A cut that suppresses more, or that keeps no row, is no candidate.
//!   A subtree also falls if all its cuts suppress too much. If the limit matters, bounds charge a
//!   penalty for suppression and return it for as many rows as the limit allows: no allowable cut
//!   costs less than that, whatever the penalty is.
//!
//! The answer does not depend on the number of threads: two branches are assessed in parallel, and
//! learnt from in order. Costs are whole numbers held exactly by floats as long as LM's common
//! denominator allows it; beyond that they are rounded like any float, and "optimal" means up to
//! that rounding.
//!
//! Cost: one assessment is linear in the groups below all nodes of the widest tree, at most its
//! height times the cells.

use super::descent::{STARTS, at_depth, descend};
use super::enumeration::{Assessment, AssessmentScratch, CutValue, Subtree};
use super::within::Wanted;
use super::{Cuts, Machine, Price};
use crate::error::Result;
use crate::loss::Loss;
use std::sync::Arc;

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
    let mut search = BranchAndBound {
        machine: Arc::new(if techniques.members {
            machine.clone()
        } else {
            machine.bounded_by_rows()
        }),
        last,
        ceiling: machine.ceiling(),
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

/// Ever larger penalties are tried this often until the limit on suppression is met, and the
/// smallest that meets it is then approached in so many halvings.
const RAISED: u32 = 12;
const HALVED: u32 = 10;

struct BranchAndBound {
    machine: Arc<Machine>,
    last: usize,
    techniques: Techniques,
    /// What every cut costs less than.
    ceiling: f64,
    top: usize,
    /// The best cuts so far, cheapest first, no more than `top`.
    best: Vec<(f64, Cuts)>,
    visited: u64,
    scratch: [AssessmentScratch; 2],
}

impl BranchAndBound {
    /// What a cut must cost less than to be of interest.
    fn limit(&self) -> f64 {
        if self.best.len() < self.top { self.ceiling } else { self.best[self.top - 1].0 }
    }

    /// Remembers a cut that is one of the best so far. One that suppresses too much is none.
    fn add(&mut self, price: Price, cuts: Cuts) {
        let Price { cost, lost } = price;
        if cost < self.limit()
            && lost <= self.machine.rules.suppressible
            && self.best.iter().all(|(_, known)| *known != cuts)
        {
            let at = self.best.partition_point(|(known, _)| *known <= cost);
            self.best.insert(at, (cost, cuts));
            self.best.truncate(self.top);
        }
    }

    fn first_solution(&mut self, go_on: &mut dyn FnMut(&Progress) -> bool) -> Result<()> {
        let within = self.descents(&STARTS, go_on)?;
        if !self.machine.rules.limited || within != Some(false) {
            return Ok(());
        }
        // The cheapest cuts suppress too much. With a penalty on suppression the bounds are those
        // of the limited problem (Lagrangian relaxation). Whole numbers keep sums exact.
        let most = (2f64.powi(50) / self.machine.rows() as f64).floor().max(1.0);
        let (mut low, mut high) = (0.0, self.machine.rules.suppressed.ceil().clamp(1.0, most));
        for _ in 0..RAISED {
            self.machine = Arc::new(self.machine.penalized_by(high));
            match self.descents(&STARTS[..1], go_on)? {
                None => return Ok(()),
                Some(true) => break,
                Some(false) => (low, high) = (high, (4.0 * high).min(most)),
            }
        }
        for _ in 0..HALVED {
            let middle = ((low + high) / 2.0).floor();
            if middle <= low {
                break;
            }
            self.machine = Arc::new(self.machine.penalized_by(middle));
            match self.descents(&STARTS[..1], go_on)? {
                None => return Ok(()),
                Some(true) => high = middle,
                Some(false) => low = middle,
            }
        }
        self.machine = Arc::new(self.machine.penalized_by(high));
        self.descents(&STARTS, go_on).map(drop)
    }

    /// Descends from several starts; returns whether the cut with the least penalized cost
    /// suppresses no more than is allowed, or `None` if the caller ended the search.
    fn descents(
        &mut self,
        starts: &[f64],
        go_on: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Option<bool>> {
        let machine = self.machine.clone();
        let mut scratch = AssessmentScratch::default();
        let mut more = true;
        let mut least = (f64::INFINITY, true);
        for share in starts {
            descend(&machine, at_depth(&machine, *share), &mut scratch, &mut |price, cuts| {
                self.visited += 1;
                let penalized = machine.rules.penalized(price);
                if penalized < least.0 {
                    least = (penalized, price.lost <= machine.rules.suppressible);
                }
                self.add(price, cuts.clone());
                more = more && go_on(&self.progress(0.0, 0.0));
                more
            })?;
        }
        Ok(more.then_some(least.1))
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
        let machine = &*self.machine.clone();
        let mut root = Subtree::root(machine, self.last)?;
        let assessment =
            root.assess(machine, self.last, self.top > 1, None, &mut self.scratch[0])?;
        self.learn(&mut root, &assessment)?;
        root.bound = assessment.bound;
        let mut stack = vec![root];
        let mut decided = 0.0;
        while let Some(mut node) = stack.pop() {
            machine.watch.check()?;
            if node.bound >= self.limit() || node.open.is_empty() {
                decided += node.share;
                continue;
            }
            node.join(machine, self.last)?;
            let value = self.choose(&node)?;
            let mut special = node.specialize(machine, self.last, value)?;
            let mut locked = node.lock(machine, self.last, value)?;
            let [first, second] = &mut self.scratch;
            let (last, all) = (self.last, self.top > 1);
            let update = self.techniques.update;
            let change = Some((&node, value));
            let (of_special, of_locked) = rayon::join(
                || special.assess(machine, last, all, change, first),
                || update.then(|| locked.assess(machine, last, false, change, second)),
            );
            let of_special = of_special?;
            self.learn(&mut special, &of_special)?;
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

    fn learn(&mut self, node: &mut Subtree, assessment: &Assessment) -> Result<()> {
        self.visited += 1;
        if assessment.cost >= self.limit() {
            return Ok(());
        }
        let machine = self.machine.clone();
        let (tree, rules) = (&machine.trees[self.last], &machine.rules);
        if rules.penalty == 0.0 {
            let costs: Vec<f64> = assessment.prices.iter().map(|price| price.cost).collect();
            let best = tree.best_cuts(&costs, self.top, &machine.watch)?;
            let priced = |(_, cut): (f64, Vec<u32>)| (Price::sum(&cut, &assessment.prices), cut);
            let best: Vec<(Price, Vec<u32>)> = best.into_iter().map(priced).collect();
            if best.iter().all(|(price, _)| price.lost <= rules.suppressible) {
                self.add_all(node, best);
                return Ok(());
            }
        }
        // Nodes without a price may be part of the best cut that suppresses less.
        let complete;
        let is_complete = self.top > 1 || rules.limited;
        let prices = if is_complete {
            &assessment.prices
        } else {
            complete = node.assess(&machine, self.last, true, None, &mut self.scratch[0])?.prices;
            &complete
        };
        let wanted = Wanted { rules, most: self.top, below: self.limit() };
        let best = tree.best_cuts_within(prices, wanted, &machine.watch)?;
        self.add_all(node, best);
        Ok(())
    }

    fn add_all(&mut self, node: &Subtree, best: Vec<(Price, Vec<u32>)>) {
        for (price, cut) in best {
            let cuts = node.cuts(&self.machine, self.last, cut);
            self.add(price, cuts);
        }
    }

    /// The value to branch on.
    fn choose(&self, node: &Subtree) -> Result<CutValue> {
        let machine = &self.machine;
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
