//! Ruin and recreate: units around a random one leave their classes, and classes are grown anew.
//!
//! A step takes a unit and the classes of the units nearest to it. Small classes are dissolved; of
//! a large class only the units that are near leave it, and the rest of it stays together. Then,
//! in random order, whatever is not allowable takes in what is cheapest to join, until it is. The
//! result replaces the old classes if it is cheaper, or by chance if it is not much dearer
//! (simulated annealing, Kirkpatrick, Gelatt and Vecchi 1983).
//!
//! Steps come in batches of disjoint neighbourhoods that are computed in parallel. A batch has the
//! same size for any number of threads, and every step draws from a stream of its own, so the
//! answer does not depend on the threads.

use super::index::Index;
use super::judge::{Judge, Tally};
use super::space::Space;
use crate::error::Result;
use crate::random::Random;
use crate::watch::Watch;
use rayon::prelude::*;
use std::sync::OnceLock;

/// Steps of one batch.
const BATCH: usize = 64;

/// Neighbours of a unit that are looked at.
const NEAR: usize = 32;

/// Classes of a neighbourhood, at most.
const CLASSES: u64 = 8;

/// Units of a neighbourhood, at most. A class with more is never dissolved.
const UNITS: usize = 60;

/// The first temperature, as a share of what an average class costs that costs anything.
const TEMPERATURE: f64 = 0.5;

/// By which share the cost of a join is increased at random, at most, if more than rows is asked.
const NOISE: f64 = 2.0;

/// Classes that change, with what they cost.
#[derive(Debug)]
pub struct Classes<'a> {
    space: &'a Space,
    judge: &'a Judge<'a>,
    index: Index,
    /// The units nearest to each unit, found when they are first asked for.
    near: Vec<OnceLock<Box<[u32]>>>,
    /// The units of each class; none if its number is not in use.
    members: Vec<Vec<u32>>,
    costs: Vec<f64>,
    class_of: Vec<u32>,
    /// Whether each unit may be a class on its own.
    is_enough: Vec<bool>,
    /// Numbers of classes that are not in use.
    free: Vec<u32>,
    /// The batch in which each class was last taken.
    taken: Vec<u64>,
    /// What all classes cost.
    pub cost: f64,
    /// Steps so far.
    pub steps: u64,
    temperature: f64,
    seed: u64,
    batches: u64,
}

/// A neighbourhood that is to be rebuilt.
struct Ruin {
    classes: Vec<u32>,
    /// Units that left their class.
    loose: Vec<u32>,
    /// What remains of each class that was not dissolved.
    rests: Vec<Vec<u32>>,
    cost: f64,
    random: Random,
}

/// New classes as lists of units, each with its cost.
type Rebuilt = Vec<(Vec<u32>, f64)>;

impl Ruin {
    /// The units of a slot as it was filled.
    fn units(&self, slot: u32) -> &[u32] {
        match self.loose.get(slot as usize) {
            Some(unit) => std::slice::from_ref(unit),
            None => &self.rests[slot as usize - self.loose.len()],
        }
    }
}

impl<'a> Classes<'a> {
    /// Starts with allowable classes.
    pub fn new(
        space: &'a Space,
        judge: &'a Judge<'a>,
        members: Vec<Vec<u32>>,
        seed: u64,
        watch: &Watch,
    ) -> Result<Classes<'a>> {
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let mut class_of = vec![0; space.len()];
        let mut costs = Vec::with_capacity(members.len());
        for (class, units) in (0..).zip(&members) {
            units.iter().for_each(|unit| class_of[*unit as usize] = class);
            space.hull(units, &mut low, &mut high);
            let rows: u64 = units.iter().map(|unit| space.rows(*unit)).sum();
            costs.push(f64::from(space.detail(&low, &high)) * rows as f64);
        }
        let mut tally = judge.nothing();
        let is_enough = |unit: u32| judge.allows_units(&mut tally, space, &[unit]);
        let is_enough = (0..space.len() as u32).map(is_enough).collect();
        let cost: f64 = costs.iter().sum();
        let costly = costs.iter().filter(|cost| **cost > 0.0).count();
        Ok(Classes {
            space,
            judge,
            index: Index::new(space, watch)?,
            near: (0..space.len()).map(|_| OnceLock::new()).collect(),
            taken: vec![0; members.len()],
            members,
            costs,
            class_of,
            is_enough,
            free: Vec::new(),
            cost,
            steps: 0,
            temperature: TEMPERATURE * cost / costly.max(1) as f64,
            seed,
            batches: 0,
        })
    }

    /// Takes a batch of steps. `heat` falls from 1 to 0.
    pub fn batch(&mut self, heat: f64, watch: &Watch) -> Result<()> {
        watch.check()?;
        self.batches += 1;
        let first = self.batches * BATCH as u64;
        let mut randoms: Vec<Random> =
            (0..BATCH as u64).map(|step| Random::stream(self.seed, first + step)).collect();
        let seeds: Vec<Option<u32>> = randoms.iter_mut().map(|random| self.unit(random)).collect();
        seeds.par_iter().flatten().for_each(|unit| {
            self.near(*unit);
        });
        let ruins: Vec<Ruin> = seeds
            .into_iter()
            .zip(randoms)
            .filter_map(|(unit, random)| self.ruin(unit?, random))
            .collect();
        let scratch = || (Slots::default(), self.judge.nothing());
        let rebuilt: Vec<_> = ruins
            .into_par_iter()
            .with_min_len(4)
            .map_init(scratch, |(slots, tally), ruin| self.rebuild(slots, tally, ruin, heat))
            .collect();
        for (classes, rebuilt) in rebuilt {
            if let Some(rebuilt) = rebuilt {
                self.replace(classes, rebuilt);
            }
        }
        self.steps += BATCH as u64;
        Ok(())
    }

    /// A unit whose class costs something, if one is found soon.
    fn unit(&self, random: &mut Random) -> Option<u32> {
        for _ in 0..256 {
            let unit = random.below(self.space.len() as u64) as u32;
            if self.costs[self.class_of[unit as usize] as usize] > 0.0 {
                return Some(unit);
            }
        }
        None
    }

    /// The nearest units, found when they are first asked for.
    fn near(&self, unit: u32) -> &[u32] {
        self.near[unit as usize].get_or_init(|| {
            let cap = 2 * self.judge.least;
            let nearest = self.index.nearest(self.space, unit, NEAR, cap);
            nearest.into_iter().map(|(_, unit)| unit).collect()
        })
    }

    /// Takes the classes around a unit, unless this batch has taken its own before.
    fn ruin(&mut self, unit: u32, mut random: Random) -> Option<Ruin> {
        let own = self.class_of[unit as usize];
        if self.taken[own as usize] == self.batches {
            return None;
        }
        let most = 2 + random.below(CLASSES - 1) as usize;
        let mut classes = vec![own];
        let mut units = self.members[own as usize].len().min(NEAR);
        for other in self.near[unit as usize].get()?.iter() {
            let class = self.class_of[*other as usize];
            let size = self.members[class as usize].len().min(NEAR);
            let is_new = self.taken[class as usize] < self.batches && !classes.contains(&class);
            if is_new && units + size <= UNITS {
                units += size;
                classes.push(class);
                if classes.len() == most {
                    break;
                }
            }
        }
        let (mut loose, mut rests) = (Vec::new(), Vec::new());
        for class in &classes {
            self.taken[*class as usize] = self.batches;
            let members = &self.members[*class as usize];
            if members.len() <= NEAR {
                loose.extend_from_slice(members);
                continue;
            }
            let near = self.near[unit as usize].get()?;
            let is_near = |member: &u32| *member == unit || near.contains(member);
            let (leave, stay): (Vec<u32>, Vec<u32>) =
                members.iter().partition(|unit| is_near(unit));
            loose.extend(leave);
            rests.extend((!stay.is_empty()).then_some(stay));
        }
        let cost = classes.iter().map(|class| self.costs[*class as usize]).sum();
        Some(Ruin { classes, loose, rests, cost, random })
    }

    /// Grows classes anew, and decides whether they are taken.
    fn rebuild(
        &self,
        slots: &mut Slots,
        tally: &mut Tally,
        mut ruin: Ruin,
        heat: f64,
    ) -> (Vec<u32>, Option<Rebuilt>) {
        slots.fill(self, tally, &ruin);
        if !slots.grow(self, tally, &mut ruin) {
            return (ruin.classes, None);
        }
        let chance = ruin.random.unit().max(f64::MIN_POSITIVE);
        let limit = ruin.cost - self.temperature * heat * chance.ln();
        let taken = slots.cost() <= limit;
        let rebuilt = taken.then(|| slots.classes(&ruin));
        (ruin.classes, rebuilt)
    }

    fn replace(&mut self, classes: Vec<u32>, rebuilt: Rebuilt) {
        for class in classes {
            self.cost -= self.costs[class as usize];
            self.costs[class as usize] = 0.0;
            self.members[class as usize].clear();
            self.free.push(class);
        }
        for (units, cost) in rebuilt {
            let class = self.free.pop().unwrap_or_else(|| {
                self.members.push(Vec::new());
                self.costs.push(0.0);
                self.taken.push(0);
                self.members.len() as u32 - 1
            });
            units.iter().for_each(|unit| self.class_of[*unit as usize] = class);
            self.cost += cost;
            self.costs[class as usize] = cost;
            self.members[class as usize] = units;
        }
    }

    /// The class of each unit. Numbers of classes that are not in use may be missing.
    pub fn of_units(&self) -> Vec<u32> {
        self.class_of.clone()
    }
}

/// What classes are grown from: units, and rests of classes. One that took in others stands for
/// all of them.
#[derive(Default)]
struct Slots {
    low: Vec<u32>,
    high: Vec<u32>,
    rows: Vec<u64>,
    detail: Vec<f32>,
    /// Whether each may be a class as it is.
    is_enough: Vec<bool>,
    /// The slot that took each in, or itself.
    into: Vec<u32>,
    /// What a slot stands for is a list: the slot that follows each, and the end of the list.
    next: Vec<u32>,
    last: Vec<u32>,
    /// Slots that were not taken in.
    alive: Vec<u32>,
    /// Slots that may not be a class yet.
    poor: Vec<u32>,
}

/// Follows the last slot of a list.
const END: u32 = u32::MAX;

impl Slots {
    fn fill(&mut self, of: &Classes<'_>, tally: &mut Tally, ruin: &Ruin) {
        let slots = ruin.loose.len() + ruin.rests.len();
        self.low.clear();
        for unit in &ruin.loose {
            self.low.extend_from_slice(of.space.codes(*unit));
        }
        self.high.clone_from(&self.low);
        self.rows.clear();
        self.rows.extend(ruin.loose.iter().map(|unit| of.space.rows(*unit)));
        self.detail.clear();
        self.detail.resize(ruin.loose.len(), 0.0);
        self.is_enough.clear();
        self.is_enough.extend(ruin.loose.iter().map(|unit| of.is_enough[*unit as usize]));
        for rest in &ruin.rests {
            let (mut low, mut high) = (Vec::new(), Vec::new());
            of.space.hull(rest, &mut low, &mut high);
            self.detail.push(of.space.detail(&low, &high));
            self.low.append(&mut low);
            self.high.append(&mut high);
            self.is_enough.push(of.judge.allows_units(tally, of.space, rest));
            self.rows.push(tally.rows);
        }
        self.into.clear();
        self.into.extend(0..slots as u32);
        self.next.clear();
        self.next.resize(slots, END);
        self.last.clone_from(&self.into);
        self.alive.clone_from(&self.into);
    }

    fn bounds(&self, slot: u32, width: usize) -> (&[u32], &[u32]) {
        let start = slot as usize * width;
        (&self.low[start..start + width], &self.high[start..start + width])
    }

    fn cost_of(&self, slot: u32) -> f64 {
        f64::from(self.detail[slot as usize]) * self.rows[slot as usize] as f64
    }

    /// Grows what is not allowable until it is. Says whether that worked out.
    fn grow(&mut self, of: &Classes<'_>, tally: &mut Tally, ruin: &mut Ruin) -> bool {
        // What is cheapest to join need not help with a requirement on values.
        let is_noisy = !of.judge.rows_decide && ruin.random.below(2) == 0;
        let noise = if is_noisy { NOISE } else { 0.0 };
        self.poor.clear();
        let is_enough = &self.is_enough;
        self.poor.extend((0..is_enough.len() as u32).filter(|slot| !is_enough[*slot as usize]));
        while !self.poor.is_empty() {
            let drawn = ruin.random.below(self.poor.len() as u64) as usize;
            let slot = self.poor.swap_remove(drawn);
            if self.into[slot as usize] != slot {
                continue;
            }
            of.judge.clear(tally);
            self.count(of, tally, ruin, slot);
            while !of.judge.allows(tally) {
                let Some(other) = self.cheapest(of.space, slot, noise, &mut ruin.random) else {
                    return false;
                };
                self.count(of, tally, ruin, other);
                self.take_in(of.space, slot, other);
            }
            self.is_enough[slot as usize] = true;
        }
        true
    }

    /// Counts all units that a slot stands for.
    fn count(&self, of: &Classes<'_>, tally: &mut Tally, ruin: &Ruin, slot: u32) {
        if of.judge.rows_decide {
            tally.rows += self.rows[slot as usize];
            return;
        }
        let mut at = slot;
        while at != END {
            ruin.units(at).iter().for_each(|unit| of.judge.add(tally, of.space, *unit));
            at = self.next[at as usize];
        }
    }

    /// The slot that is cheapest to join.
    fn cheapest(&self, space: &Space, slot: u32, noise: f64, random: &mut Random) -> Option<u32> {
        let (own, rows) = (self.bounds(slot, space.width), self.rows[slot as usize]);
        let mut best = (f64::INFINITY, None);
        for other in &self.alive {
            if *other == slot {
                continue;
            }
            let joined = space.joined(own, self.bounds(*other, space.width));
            let both = (rows + self.rows[*other as usize]) as f64;
            let mut more = f64::from(joined) * both - self.cost_of(*other);
            if noise > 0.0 {
                more *= 1.0 + noise * random.unit();
            }
            if more < best.0 {
                best = (more, Some(*other));
            }
        }
        best.1
    }

    fn take_in(&mut self, space: &Space, slot: u32, other: u32) {
        let (a, b) = (slot as usize, other as usize);
        let (from, width) = (b * space.width, space.width);
        for column in 0..width {
            let (low, high) = (self.low[from + column], self.high[from + column]);
            let at = a * width + column;
            self.low[at] = self.low[at].min(low);
            self.high[at] = self.high[at].max(high);
        }
        self.rows[a] += self.rows[b];
        let (low, high) = self.bounds(slot, width);
        self.detail[a] = space.detail(low, high);
        self.into[b] = slot;
        self.next[self.last[a] as usize] = other;
        self.last[a] = self.last[b];
        self.alive.retain(|known| *known != other);
    }

    fn cost(&self) -> f64 {
        self.alive.iter().map(|slot| self.cost_of(*slot)).sum()
    }

    /// The units of each slot that is left, and what they cost.
    fn classes(&self, ruin: &Ruin) -> Rebuilt {
        let class = |slot: &u32| {
            let (mut units, mut at) = (Vec::new(), *slot);
            while at != END {
                units.extend_from_slice(ruin.units(at));
                at = self.next[at as usize];
            }
            (units, self.cost_of(*slot))
        };
        self.alive.iter().map(class).collect()
    }
}
