//! Ruin and recreate: units around a random one leave their classes, and classes are grown anew.
//!
//! A step takes a unit and the classes near it: those of the units nearest to it, or, every other
//! time, those nearest to each member of its class. The second way is for outliers, which share a
//! class with other outliers far away. Small classes are dissolved; of a large class only the units
//! that are near leave it, and the rest of it stays together. Then, in random order, whatever is
//! not allowable takes in what is cheapest to join, until it is. The result replaces the old
//! classes if it is cheaper, or by chance if it is not much dearer (simulated annealing,
//! Kirkpatrick, Gelatt and Vecchi 1983).
//!
//! What is cheapest to join is decided with prices: a unit that has been in costly classes is worth
//! more to whatever takes it in, because it would cost as much elsewhere.
//!
//! If rows may be suppressed, a unit that is dear to join is left out of all classes instead; later
//! steps nearby may take it in again.
//!
//! Steps come in batches. All steps of a batch start from the same classes and are computed in
//! parallel; a step whose classes were changed by an earlier one of its batch is dropped. The size
//! of a batch depends on the number of classes only, and every step draws from a stream of its own,
//! so the answer does not depend on the threads.

use super::index::Index;
use super::judge::{Judge, Tally};
use super::slots::Slots;
use super::space::Space;
use crate::error::Result;
use crate::random::Random;
use crate::watch::Watch;
use rayon::prelude::*;
use std::sync::OnceLock;

/// Steps of one batch, at most, and classes for each of them, at least.
const BATCH: usize = 64;
const CLASSES_PER_STEP: usize = 32;

/// Neighbours of a unit that are looked at.
const NEAR: usize = 24;

/// Classes of a neighbourhood, at most.
const CLASSES: u64 = 6;

/// Units of a neighbourhood, at most.
const UNITS: usize = 40;

/// Of this many times a class is passed over that could be in a neighbourhood, one on average.
const PASSED_OVER: u64 = 4;

/// Larger classes are not dissolved.
const DISSOLVED: usize = 32;

/// The first temperature: what one value is worth, for so many of the rows that a class needs at
/// least. It is no more than a share of what an average class costs that costs anything.
const TEMPERATURE: f64 = 0.25;
const OF_A_CLASS: f64 = 0.8;

/// How often it is tried to give the units a class that have none at the start.
const ROUNDS: u64 = 3;

/// The share of a price that counts, and how fast prices follow.
pub(super) const PRICED: f32 = 0.5;
const FOLLOWED: f32 = 0.1;

/// By which share the cost of a join is increased at random, at most, if more than rows is asked.
pub(super) const NOISE: f32 = 2.0;

/// The class of units that are suppressed.
pub(super) const NONE: u32 = u32::MAX;

/// Classes that change, with what they cost.
#[derive(Debug)]
pub struct Classes<'a> {
    pub(super) space: &'a Space,
    pub(super) judge: &'a Judge<'a>,
    index: Index,
    /// The units nearest to each unit, found when they are first asked for.
    near: Vec<OnceLock<Box<[u32]>>>,
    /// The units of each class; none if its number is not in use.
    members: Vec<Vec<u32>>,
    costs: Vec<f64>,
    /// The class of each unit; [`NONE`] if it is suppressed.
    class_of: Vec<u32>,
    /// Rows that are suppressed, and how many may be.
    suppressed: u64,
    suppressible: u64,
    /// What the classes of each unit have cost its rows lately, on average.
    pub(super) prices: Vec<f32>,
    /// Whether each unit may be a class on its own.
    pub(super) is_enough: Vec<bool>,
    /// Numbers of classes that are not in use.
    free: Vec<u32>,
    /// The batch in which each class was last changed.
    changed: Vec<u64>,
    /// What all classes cost.
    pub cost: f64,
    /// Steps so far.
    pub steps: u64,
    temperature: f64,
    seed: u64,
    batch: usize,
    batches: u64,
}

/// A neighbourhood that is to be rebuilt.
#[derive(Default)]
pub(super) struct Ruin {
    classes: Vec<u32>,
    /// Units that left their class.
    pub loose: Vec<u32>,
    /// What remains of each class that was not dissolved.
    pub rests: Vec<Vec<u32>>,
    /// Units that were suppressed; they are loose too.
    regained: Vec<u32>,
    /// Rows that may be suppressed.
    pub suppressible: u64,
    units: usize,
    cost: f64,
}

/// What a step would change: the classes that go, and those that come.
struct Proposal {
    classes: Vec<u32>,
    regained: Vec<u32>,
    rebuilt: Vec<Rebuilt>,
    /// Units that are suppressed.
    lost: Vec<u32>,
}

/// A new class.
pub(super) struct Rebuilt {
    pub units: Vec<u32>,
    /// What it costs each row.
    pub detail: f32,
    /// What it costs all rows.
    pub cost: f64,
}

/// What a thread needs for a step.
struct Scratch {
    ruin: Ruin,
    slots: Slots,
    tally: Tally,
}

impl Scratch {
    fn new(judge: &Judge<'_>) -> Scratch {
        Scratch { ruin: Ruin::default(), slots: Slots::default(), tally: judge.nothing() }
    }
}

impl Ruin {
    /// The units of a slot as it was filled.
    pub fn units(&self, slot: u32) -> &[u32] {
        match self.loose.get(slot as usize) {
            Some(unit) => std::slice::from_ref(unit),
            None => &self.rests[slot as usize - self.loose.len()],
        }
    }
}

impl<'a> Classes<'a> {
    /// Starts with allowable classes. Units that are in none of them count as suppressed, even if
    /// that is more than may be, until [`settle`](Self::settle) gives them a class.
    pub fn new(
        space: &'a Space,
        judge: &'a Judge<'a>,
        members: Vec<Vec<u32>>,
        suppressible: u64,
        seed: u64,
        watch: &Watch,
    ) -> Result<Classes<'a>> {
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let mut class_of = vec![NONE; space.len()];
        let mut prices = vec![space.width as f32; space.len()];
        let mut costs = Vec::with_capacity(members.len());
        for (class, units) in (0..).zip(&members) {
            space.hull(units, &mut low, &mut high);
            let detail = space.detail((&low, &high));
            for unit in units {
                class_of[*unit as usize] = class;
                prices[*unit as usize] = detail;
            }
            let rows: u64 = units.iter().map(|unit| space.rows(*unit)).sum();
            costs.push(f64::from(detail) * rows as f64);
        }
        let mut tally = judge.nothing();
        let is_enough = |unit: u32| judge.allows_units(&mut tally, space, &[unit]);
        let is_enough = (0..space.len() as u32).map(is_enough).collect();
        let left = (0..space.len() as u32).filter(|unit| class_of[*unit as usize] == NONE);
        let suppressed: u64 = left.map(|unit| space.rows(unit)).sum();
        let cost = costs.iter().sum::<f64>() + (suppressed * space.width as u64) as f64;
        let costly = costs.iter().filter(|cost| **cost > 0.0).count();
        Ok(Classes {
            space,
            judge,
            index: Index::new(space, watch)?,
            near: (0..space.len()).map(|_| OnceLock::new()).collect(),
            changed: vec![0; members.len()],
            batch: (members.len() / CLASSES_PER_STEP).clamp(1, BATCH),
            members,
            costs,
            class_of,
            suppressed,
            suppressible,
            prices,
            is_enough,
            free: Vec::new(),
            cost,
            steps: 0,
            temperature: (TEMPERATURE * judge.least as f64)
                .min(OF_A_CLASS * cost / costly.max(1) as f64),
            seed,
            batches: 0,
        })
    }

    /// Takes a batch of steps. `heat` falls from 1 to 0.
    pub fn batch(&mut self, heat: f64, watch: &Watch) -> Result<()> {
        watch.check()?;
        self.batches += 1;
        let first = self.batches * BATCH as u64;
        let scratch = || Scratch::new(self.judge);
        let proposals: Vec<Option<Proposal>> = (0..self.batch)
            .into_par_iter()
            .with_min_len(4)
            .map_init(scratch, |scratch, step| {
                self.step(Random::stream(self.seed, first + step as u64), scratch, heat)
            })
            .collect();
        for proposal in proposals.into_iter().flatten() {
            if self.is_valid(&proposal) {
                self.replace(proposal);
            }
        }
        self.steps += self.batch as u64;
        Ok(())
    }

    /// Gives units a class that have none, whatever that costs. Returns the units for which no class
    /// was found: all rows around them together are not allowable.
    pub fn settle(&mut self, watch: &Watch) -> Result<Vec<u32>> {
        let mut scratch = Scratch::new(self.judge);
        let mut left: Vec<u32> = (0..self.space.len() as u32).collect();
        for round in 0..=ROUNDS {
            left.retain(|unit| self.class_of[*unit as usize] == NONE);
            for unit in left.iter().filter(|_| round < ROUNDS) {
                watch.check()?;
                if self.class_of[*unit as usize] != NONE {
                    continue;
                }
                let mut random = Random::stream(self.seed, u64::from(*unit) << 2 | round);
                self.ruin(&mut scratch.ruin, *unit, &mut random);
                scratch.ruin.suppressible = 0;
                if let Some(proposal) = self.rebuild(&mut scratch, &mut random, f64::INFINITY) {
                    self.replace(proposal);
                }
            }
        }
        Ok(left)
    }

    /// The units of each class.
    pub fn into_members(self) -> Vec<Vec<u32>> {
        self.members.into_iter().filter(|units| !units.is_empty()).collect()
    }

    /// Whether what a proposal starts from is still there, and no more rows would be suppressed
    /// than may be.
    fn is_valid(&self, proposal: &Proposal) -> bool {
        let rows = |units: &[u32]| units.iter().map(|unit| self.space.rows(*unit)).sum::<u64>();
        proposal.classes.iter().all(|class| self.changed[*class as usize] < self.batches)
            && proposal.regained.iter().all(|unit| self.class_of[*unit as usize] == NONE)
            && self.suppressed + rows(&proposal.lost)
                <= self.suppressible + rows(&proposal.regained)
    }

    /// Rebuilds the neighbourhood of a random unit; nothing if that is not worth it.
    fn step(&self, mut random: Random, scratch: &mut Scratch, heat: f64) -> Option<Proposal> {
        let unit = self.unit(&mut random)?;
        self.ruin(&mut scratch.ruin, unit, &mut random);
        let chance = random.unit().max(f64::MIN_POSITIVE);
        let limit = scratch.ruin.cost - self.temperature * heat * heat * chance.ln();
        self.rebuild(scratch, &mut random, limit)
    }

    /// Grows classes from what a ruin left, if that costs no more than a limit.
    fn rebuild(&self, scratch: &mut Scratch, random: &mut Random, limit: f64) -> Option<Proposal> {
        let Scratch { ruin, slots, tally } = scratch;
        slots.fill(self, tally, ruin);
        if !slots.grow(self, tally, ruin, random, limit) {
            return None;
        }
        Some(Proposal {
            classes: ruin.classes.clone(),
            regained: ruin.regained.clone(),
            rebuilt: slots.classes(ruin),
            lost: slots.lost.iter().map(|slot| ruin.loose[*slot as usize]).collect(),
        })
    }

    /// Of two random units the one whose class costs more, if that is anything.
    fn unit(&self, random: &mut Random) -> Option<u32> {
        let cost = |unit: u32| match self.class_of[unit as usize] {
            NONE => self.suppression(unit),
            class => self.costs[class as usize],
        };
        for _ in 0..256 {
            let [one, other] = [(); 2].map(|()| random.below(self.space.len() as u64) as u32);
            let dearer = if cost(one) >= cost(other) { one } else { other };
            if cost(dearer) > 0.0 {
                return Some(dearer);
            }
        }
        None
    }

    /// What it costs to suppress a unit: 1 for each of its values.
    pub(super) fn suppression(&self, unit: u32) -> f64 {
        (self.space.rows(unit) * self.space.width as u64) as f64
    }

    /// The nearest units, found when they are first asked for.
    fn near(&self, unit: u32) -> &[u32] {
        self.near[unit as usize].get_or_init(|| {
            let cap = 2 * self.judge.least;
            let nearest = self.index.nearest(self.space, unit, NEAR, cap);
            nearest.into_iter().map(|(_, unit)| unit).collect()
        })
    }

    /// Takes the classes around a unit.
    fn ruin(&self, ruin: &mut Ruin, unit: u32, random: &mut Random) {
        ruin.classes.clear();
        ruin.loose.clear();
        ruin.rests.clear();
        ruin.regained.clear();
        ruin.suppressible = self.suppressible.saturating_sub(self.suppressed);
        (ruin.units, ruin.cost) = (0, 0.0);
        let most = 2 + random.below(CLASSES - 1) as usize;
        let own = self.class_of[unit as usize];
        if own == NONE {
            self.regain(ruin, unit);
        } else {
            self.dissolve(ruin, own, unit);
        }
        let members = self.members.get(own as usize).map_or(&[] as &[u32], Vec::as_slice);
        if random.below(2) == 0 || members.is_empty() || members.len() > DISSOLVED {
            while ruin.classes.len() < most && self.dissolve_near(ruin, unit, random) {}
            return;
        }
        let (mut at, mut missed) = (random.below(members.len() as u64) as usize, 0);
        while ruin.classes.len() < most && missed < members.len() {
            let found = self.dissolve_near(ruin, members[at], random);
            missed = if found { 0 } else { missed + 1 };
            at = if at + 1 < members.len() { at + 1 } else { 0 };
        }
    }

    /// Dissolves the next class near a unit, if there is one.
    fn dissolve_near(&self, ruin: &mut Ruin, unit: u32, random: &mut Random) -> bool {
        for other in self.near(unit) {
            let class = self.class_of[*other as usize];
            if class == NONE {
                if !ruin.regained.contains(other) && ruin.units < UNITS {
                    self.regain(ruin, *other);
                }
                continue;
            }
            let size = self.members[class as usize].len().min(NEAR);
            let is_new = !ruin.classes.contains(&class) && ruin.units + size <= UNITS;
            if is_new && random.below(PASSED_OVER) > 0 {
                self.dissolve(ruin, class, unit);
                return true;
            }
        }
        false
    }

    /// Takes a suppressed unit in again.
    fn regain(&self, ruin: &mut Ruin, unit: u32) {
        ruin.regained.push(unit);
        ruin.loose.push(unit);
        ruin.suppressible += self.space.rows(unit);
        ruin.cost += self.suppression(unit);
        ruin.units += 1;
    }

    /// Takes a class apart; of a large one, only what is near a unit.
    fn dissolve(&self, ruin: &mut Ruin, class: u32, unit: u32) {
        ruin.classes.push(class);
        ruin.cost += self.costs[class as usize];
        let members = &self.members[class as usize];
        if members.len() <= DISSOLVED {
            ruin.loose.extend_from_slice(members);
            ruin.units += members.len();
            return;
        }
        let near = self.near(unit);
        let is_near = |member: &u32| *member == unit || near.contains(member);
        let (leave, stay): (Vec<u32>, Vec<u32>) = members.iter().partition(|unit| is_near(unit));
        ruin.units += leave.len() + 1;
        ruin.loose.extend(leave);
        ruin.rests.extend((!stay.is_empty()).then_some(stay));
    }

    fn replace(&mut self, proposal: Proposal) {
        for class in proposal.classes {
            self.cost -= self.costs[class as usize];
            self.costs[class as usize] = 0.0;
            self.members[class as usize].clear();
            self.changed[class as usize] = self.batches;
            self.free.push(class);
        }
        for unit in proposal.regained {
            self.suppressed -= self.space.rows(unit);
            self.cost -= self.suppression(unit);
        }
        for unit in proposal.lost {
            self.class_of[unit as usize] = NONE;
            self.suppressed += self.space.rows(unit);
            self.cost += self.suppression(unit);
            let price = &mut self.prices[unit as usize];
            *price += FOLLOWED * (self.space.width as f32 - *price);
        }
        for Rebuilt { units, detail, cost } in proposal.rebuilt {
            let class = self.free.pop().unwrap_or_else(|| {
                self.members.push(Vec::new());
                self.costs.push(0.0);
                self.changed.push(0);
                self.members.len() as u32 - 1
            });
            for unit in &units {
                self.class_of[*unit as usize] = class;
                let price = &mut self.prices[*unit as usize];
                *price += FOLLOWED * (detail - *price);
            }
            self.cost += cost;
            self.costs[class as usize] = cost;
            self.changed[class as usize] = self.batches;
            self.members[class as usize] = units;
        }
    }

    /// The class of each unit. Suppressed units have classes of their own, which are not allowable.
    /// Numbers of classes that are not in use may be missing.
    pub fn of_units(&self) -> Vec<u32> {
        let mut own = self.members.len() as u32..;
        let class = |class: &u32| if *class == NONE { own.next() } else { Some(*class) };
        self.class_of.iter().filter_map(class).collect()
    }
}
