//! The cut enumeration tree (section IV): every node stands for the cuts between a most general and
//! a most specific one.
//!
//! | here | paper | meaning |
//! |---|---|---|
//! | [`Subtree`] | subtree(Cut) | all cuts from Cut down to Cut_spec |
//! | `class`, `classes` | Cut.parts | partitions of the most general cut, without the last column |
//! | `groups` | | partitions of the most specific cut, likewise, for every node of the last tree |
//! | `open` | Cut.openVs | values that may still be specialized |
//! | [`Subtree::specialize`] | specialization step | |
//! | [`Subtree::lock`] | backtracking step | the value stays in every further cut |

use super::groups::FinestGroups;
use super::{Cuts, Machine, Member, POLLED, Price};
use crate::error::Result;
use crate::loss::Loss;
use std::sync::Arc;

/// A value of one of the branched columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CutValue {
    /// The column's place among those that are branched on.
    pub(super) place: usize,
    /// The node of its tree.
    pub(super) node: u32,
}

/// A node of the cut enumeration tree, at some moment of its visit.
#[derive(Clone, Debug)]
pub(super) struct Subtree {
    groups: Arc<FinestGroups>,
    /// The partition of each tuple at the most general cut.
    class: Arc<Vec<u32>>,
    /// What LM counts for a row of each partition at the most general cut.
    losses: Arc<Vec<f64>>,
    pub(super) open: Vec<CutValue>,
    pub(super) locked: Vec<CutValue>,
    /// The share of all cuts that it holds.
    pub(super) share: f64,
    /// None of its cuts costs less.
    pub(super) bound: f64,
    /// What the partitions with each node of the last tree cost, where that was of interest.
    sums: Arc<Vec<Option<Costs>>>,
    /// A value that is locked while groups are still those of before; they are joined when the
    /// subtree is visited.
    unjoined: Option<CutValue>,
}

/// What some partitions cost: at least, at any cut of the subtree, and at the most general one.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    /// With the penalty on suppression.
    bound: f64,
    /// The fewest records (or values) that they lose; 0 unless suppression is limited.
    least_lost: u64,
    price: Price,
}

impl Costs {
    fn add(&mut self, bound: f64, least_lost: u64, price: Price) {
        self.bound += bound;
        self.least_lost += least_lost;
        self.price.cost += price.cost;
        self.price.lost += price.lost;
    }

    /// What they cost after some went and others came.
    fn changed(self, gone: Costs, come: Costs) -> Costs {
        Costs {
            bound: self.bound - gone.bound + come.bound,
            least_lost: self.least_lost - gone.least_lost + come.least_lost,
            price: Price {
                cost: self.price.cost - gone.price.cost + come.price.cost,
                lost: self.price.lost - gone.price.lost + come.price.lost,
            },
        }
    }
}

/// What a subtree's partitions cost.
#[derive(Debug)]
pub(super) struct Assessment {
    /// No cut of the subtree that may be released costs less; infinite if there is none.
    pub(super) bound: f64,
    /// The most general cut costs at least this with any cut of the last column, if it may be
    /// released.
    pub(super) cost: f64,
    /// What its partitions cost at each node of the last tree.
    pub(super) prices: Vec<Price>,
}

/// Buffers of an assessment, kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct AssessmentScratch {
    now: u32,
    /// By partition.
    sums: Vec<Sum>,
    /// The tallies of each partition.
    counts: Vec<u32>,
    /// The group before each group in its partition.
    before: Vec<u32>,
    order: Vec<u32>,
}

/// What is known of a partition besides its tallies.
#[derive(Clone, Copy, Debug)]
struct Sum {
    /// The last time it was touched.
    touched: u32,
    /// Its newest group.
    head: u32,
    rows: u64,
    /// What its groups cost without suppression.
    general: f64,
}

const NONE: u32 = u32::MAX;

impl Subtree {
    /// The whole tree: nothing but roots, all of them open.
    pub(super) fn root(machine: &Machine, last: usize) -> Result<Subtree> {
        let above: Vec<Vec<u32>> =
            machine.trees.iter().map(|tree| (0..tree.branches().len() as u32).collect()).collect();
        let groups = FinestGroups::new(machine, last, &above)?;
        let columns = machine.trees.iter().enumerate().filter(|(column, _)| *column != last);
        let roots =
            columns.enumerate().map(|(place, (_, tree))| CutValue { place, node: tree.root() });
        let (mut open, mut locked, mut loss) = (Vec::new(), Vec::new(), 0.0);
        for value in roots {
            let column = machine.column(last, value.place);
            loss += machine.loss(column, value.node);
            let leaf = machine.trees[column].branch(value.node).is_leaf();
            if leaf { locked.push(value) } else { open.push(value) }
        }
        Ok(Subtree {
            class: Arc::new(vec![0; groups.loss.len()]),
            groups: Arc::new(groups),
            losses: Arc::new(vec![loss]),
            open,
            locked,
            share: 1.0,
            bound: 0.0,
            sums: Arc::default(),
            unjoined: None,
        })
    }

    /// One cut of the branched columns, with every cut of the last.
    pub(super) fn only(machine: &Machine, last: usize, cuts: &Cuts) -> Result<Subtree> {
        let above: Vec<Vec<u32>> =
            machine.trees.iter().zip(cuts).map(|(tree, cut)| tree.above(cut)).collect();
        let groups = FinestGroups::new(machine, last, &above)?;
        Ok(Subtree {
            class: Arc::new((0..groups.loss.len() as u32).collect()),
            losses: Arc::new(groups.loss.clone()),
            groups: Arc::new(groups),
            open: Vec::new(),
            locked: machine.values(last, cuts),
            share: 0.0,
            bound: 0.0,
            sums: Arc::default(),
            unjoined: None,
        })
    }

    /// The cuts in which an open value is said by itself. Groups below it join.
    pub(super) fn lock(&self, machine: &Machine, last: usize, value: CutValue) -> Result<Subtree> {
        let column = machine.column(last, value.place);
        let (groups, class) = self.joined(machine, last, value)?;
        let mut locked = self.locked.clone();
        locked.push(value);
        Ok(Subtree {
            groups: Arc::new(groups),
            class: Arc::new(class),
            losses: self.losses.clone(),
            open: self.open.iter().copied().filter(|other| *other != value).collect(),
            locked,
            share: self.share / machine.trees[column].branch(value.node).cuts,
            bound: self.bound,
            sums: Arc::default(),
            unjoined: None,
        })
    }

    /// The groups after a value was locked, and the partition of each of their tuples.
    fn joined(
        &self,
        machine: &Machine,
        last: usize,
        value: CutValue,
    ) -> Result<(FinestGroups, Vec<u32>)> {
        let column = machine.column(last, value.place);
        let (groups, went) = self.groups.lock(machine, column, value.place, value.node)?;
        let mut class = vec![0; groups.loss.len()];
        for (old, new) in went.iter().enumerate() {
            class[*new as usize] = self.class[old];
        }
        Ok((groups, class))
    }

    /// Gives up the groups of a subtree that waits for its visit, until then: those it was joined
    /// from are shared with others, its own would be one more copy of a large table.
    pub(super) fn unjoin(&mut self, from: &Subtree, value: CutValue) {
        (self.groups, self.class) = (from.groups.clone(), from.class.clone());
        self.unjoined = Some(value);
    }

    /// Undoes [`unjoin`](Self::unjoin).
    pub(super) fn join(&mut self, machine: &Machine, last: usize) -> Result<()> {
        if let Some(value) = self.unjoined.take() {
            let (groups, class) = self.joined(machine, last, value)?;
            (self.groups, self.class) = (Arc::new(groups), Arc::new(class));
        }
        Ok(())
    }

    /// The cuts in which an open value is said by its children or below. Partitions with it split.
    pub(super) fn specialize(
        &self,
        machine: &Machine,
        last: usize,
        value: CutValue,
    ) -> Result<Subtree> {
        let column = machine.column(last, value.place);
        let tree = &machine.trees[column];
        let branch = tree.branch(value.node);
        let ways = branch.children.len() + 1;
        // The child above each node below the value.
        let above = tree.above(&branch.children);
        let way_of = |node: u32| match above[node as usize] {
            NONE => 0,
            child => 1 + branch.children.iter().position(|other| *other == child).unwrap_or(0),
        };
        let mut numbers = vec![NONE; self.losses.len() * ways];
        let mut losses = Vec::new();
        let mut class = Vec::with_capacity(self.class.len());
        for (old, node) in self.class.iter().zip(self.groups.nodes_of(value.place)) {
            if class.len() % POLLED == 0 {
                machine.watch.check()?;
            }
            let way = way_of(node);
            let number = &mut numbers[*old as usize * ways + way];
            if *number == NONE {
                *number = losses.len() as u32;
                let change = match way {
                    0 => 0.0,
                    way => {
                        machine.loss(column, branch.children[way - 1])
                            - machine.loss(column, value.node)
                    }
                };
                losses.push(self.losses[*old as usize] + change);
            }
            class.push(*number);
        }
        let mut open: Vec<CutValue> =
            self.open.iter().copied().filter(|other| *other != value).collect();
        let mut locked = self.locked.clone();
        for child in &branch.children {
            let list = if tree.branch(*child).is_leaf() { &mut locked } else { &mut open };
            list.push(CutValue { node: *child, ..value });
        }
        Ok(Subtree {
            groups: self.groups.clone(),
            class: Arc::new(class),
            losses: Arc::new(losses),
            open,
            locked,
            share: self.share * (1.0 - 1.0 / branch.cuts),
            bound: self.bound,
            sums: Arc::default(),
            unjoined: None,
        })
    }

    /// What LM adds if a value is locked now and nothing is suppressed.
    pub(super) fn loss_of_locking(
        &self,
        machine: &Machine,
        last: usize,
        value: CutValue,
    ) -> Result<f64> {
        let column = machine.column(last, value.place);
        let codes = &machine.trees[column].branch(value.node).codes;
        let whole = machine.loss(column, value.node);
        let mut nodes = self.groups.nodes_of(value.place);
        let mut loss = 0.0;
        for rows in self.groups.rows.chunks(POLLED) {
            machine.watch.check()?;
            for (rows, node) in rows.iter().zip(nodes.by_ref()) {
                if codes.contains(&machine.trees[column].branch(node).codes.start) {
                    loss += (whole - machine.loss(column, node)) * *rows as f64;
                }
            }
        }
        Ok(loss)
    }

    /// Costs and bounds of all partitions, and the best way through the last tree for each. Unless
    /// `all` are asked for, nodes of that tree where the rest is cheaper in any case have no cost;
    /// a limit on suppression asks for all, since what is dearer may lose less.
    /// `change` is the subtree this one came from and the value that was locked or specialized:
    /// what does not have that value costs what it cost there.
    pub(super) fn assess(
        &mut self,
        machine: &Machine,
        last: usize,
        all: bool,
        change: Option<(&Subtree, CutValue)>,
        scratch: &mut AssessmentScratch,
    ) -> Result<Assessment> {
        let tree = &machine.trees[last];
        let nodes = tree.branches().len();
        let rules = &machine.rules;
        let all = all || rules.limited;
        let (mut bounds, mut least, mut least_lost) =
            (vec![0.0; nodes], vec![0.0; nodes], vec![0.0; nodes]);
        let mut prices = vec![Price { cost: f64::INFINITY, lost: 0 }; nodes];
        let mut sums = vec![None; nodes];
        // Where most rows have the value, or where costs may be infinite, everything is counted
        // afresh.
        let change = change.filter(|(_, value)| {
            let tree = &machine.trees[machine.column(last, value.place)];
            let most = 2 * tree.branch(value.node).rows < tree.branch(tree.root()).rows;
            most && rules.are_always_met()
        });
        let touched = change.map(|(from, value)| {
            (from, from.having(machine, last, value), self.having(machine, last, value))
        });
        for (number, branch) in tree.branches().iter().enumerate() {
            machine.watch.check()?;
            let below = |of: &[f64]| {
                if branch.is_leaf() {
                    f64::INFINITY
                } else {
                    branch.children.iter().map(|child| of[*child as usize]).sum()
                }
            };
            (bounds[number], least[number]) = (below(&bounds), below(&least));
            least_lost[number] = below(&least_lost);
            let node = number as u32;
            if all || self.floor(machine, last, node)? < least[number] {
                let known = touched.as_ref().and_then(|(from, before, after)| {
                    Some((from, before, after, (*from.sums.get(number)?)?))
                });
                let here = match known {
                    None => self.partitions(machine, last, node, None, scratch)?,
                    Some((from, before, after, costs)) => {
                        let gone = from.partitions(machine, last, node, Some(before), scratch)?;
                        let come = self.partitions(machine, last, node, Some(after), scratch)?;
                        costs.changed(gone, come)
                    }
                };
                sums[number] = Some(here);
                prices[number] = here.price;
                bounds[number] = bounds[number].min(here.bound);
                least[number] = least[number].min(rules.penalized(here.price));
                least_lost[number] = least_lost[number].min(here.least_lost as f64);
            }
        }
        self.sums = Arc::new(sums);
        let is_hopeless = least_lost[nodes - 1] > rules.suppressible as f64;
        let bound = if rules.limited && is_hopeless {
            f64::INFINITY
        } else {
            bounds[nodes - 1] - rules.returned()
        };
        Ok(Assessment { bound, cost: least[nodes - 1] - rules.returned(), prices })
    }

    /// Which tuples have a value, or something below it.
    fn having(&self, machine: &Machine, last: usize, value: CutValue) -> Vec<bool> {
        let tree = &machine.trees[machine.column(last, value.place)];
        let codes = &tree.branch(value.node).codes;
        self.groups
            .nodes_of(value.place)
            .map(|node| codes.contains(&tree.branch(node).codes.start))
            .collect()
    }

    /// What the partitions with one node of the last tree cost at least, known without their
    /// tallies.
    fn floor(&self, machine: &Machine, last: usize, node: u32) -> Result<f64> {
        let list = &self.groups.lists[node as usize];
        let here = machine.loss(last, node);
        let (loss, charged) = (machine.rules.loss, machine.rules.charged());
        let mut floor = 0.0;
        for (tuples, rows) in list.tuples.chunks(POLLED).zip(list.rows.chunks(POLLED)) {
            machine.watch.check()?;
            for (tuple, rows) in tuples.iter().zip(rows) {
                let detail = || self.groups.loss[*tuple as usize] + here;
                floor += loss.least_part(u64::from(*rows), detail, charged);
            }
        }
        Ok(floor)
    }

    /// The partitions with one node of the last tree, all or those of some tuples: the sums of
    /// their bounds and costs.
    fn partitions(
        &self,
        machine: &Machine,
        last: usize,
        node: u32,
        of: Option<&Vec<bool>>,
        scratch: &mut AssessmentScratch,
    ) -> Result<Costs> {
        let Machine { rules, width, .. } = machine;
        let list = &self.groups.lists[node as usize];
        let here = machine.loss(last, node);
        scratch.begin(self.losses.len(), list.rows.len(), *width);
        let member = |at: usize| Member {
            rows: u64::from(list.rows[at]),
            counts: &list.counts[at * width..][..*width],
            loss: self.groups.loss[list.tuples[at] as usize] + here,
        };
        let wanted = |tuple: &u32| of.is_none_or(|of| of[*tuple as usize]);
        for start in (0..list.tuples.len()).step_by(POLLED) {
            machine.watch.check()?;
            let tuples = (start..list.tuples.len().min(start + POLLED)).zip(&list.tuples[start..]);
            for (at, tuple) in tuples.filter(|(_, tuple)| wanted(tuple)) {
                let (class, member) = (self.class[*tuple as usize], member(at));
                scratch.add(class, at as u32, &member, rules.general(&member));
            }
        }
        let mut sum = Costs::default();
        let mut members = Vec::new();
        for (number, class) in scratch.order.iter().enumerate() {
            if number % POLLED == 0 {
                machine.watch.check()?;
            }
            let class = *class as usize;
            let Sum { rows, general, head, .. } = scratch.sums[class];
            let counts = &scratch.counts[class * width..][..*width];
            let part = Member { rows, counts, loss: self.losses[class] + here };
            if rules.meets(rows, counts) {
                sum.add(general, 0, Price { cost: rules.general(&part), lost: 0 });
                continue;
            }
            members.clear();
            let mut at = head;
            while at != NONE {
                members.push(member(at as usize));
                at = scratch.before[at as usize];
            }
            let bound = rules.broken_bound(rows, counts, general, &members, &machine.watch)?;
            let least_lost =
                if rules.limited { rules.broken_least_lost(rows, counts, &members) } else { 0 };
            sum.add(bound, least_lost, rules.broken_price(&part));
        }
        Ok(sum)
    }

    /// The most general cut, with a cut of the last column.
    pub(super) fn cuts(&self, machine: &Machine, last: usize, cut: Vec<u32>) -> Cuts {
        let mut cuts = vec![Vec::new(); machine.trees.len()];
        for value in self.open.iter().chain(&self.locked) {
            cuts[machine.column(last, value.place)].push(value.node);
        }
        cuts[last] = cut;
        cuts.iter_mut().for_each(|cut| cut.sort_unstable());
        cuts
    }
}

impl AssessmentScratch {
    fn begin(&mut self, classes: usize, groups: usize, width: usize) {
        self.now = self.now.wrapping_add(1);
        if self.sums.len() < classes || self.now == 0 || self.counts.len() < classes * width {
            *self = AssessmentScratch { now: 1, ..AssessmentScratch::default() };
            self.sums = vec![Sum { touched: 0, head: NONE, rows: 0, general: 0.0 }; classes];
            self.counts = vec![0; classes * width];
        }
        if self.before.len() < groups {
            self.before.resize(groups, NONE);
        }
        self.order.clear();
    }

    fn add(&mut self, class: u32, at: u32, member: &Member<'_>, general: f64) {
        let width = member.counts.len();
        let counts = &mut self.counts[class as usize * width..][..width];
        let sum = &mut self.sums[class as usize];
        if sum.touched == self.now {
            self.before[at as usize] = sum.head;
            sum.rows += member.rows;
            sum.general += general;
            counts.iter_mut().zip(member.counts).for_each(|(sum, count)| *sum += count);
        } else {
            self.before[at as usize] = NONE;
            *sum = Sum { touched: self.now, head: at, rows: member.rows, general };
            counts.copy_from_slice(member.counts);
            self.order.push(class);
        }
        sum.head = at;
    }
}
