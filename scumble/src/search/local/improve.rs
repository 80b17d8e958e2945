//! Ruin and recreate: units around a random one leave their classes, and classes are grown anew.
//!
//! A step takes a unit and the classes near it: those of the units nearest to it, or, every other
//! time, those nearest to each member of its class. The second way is for outliers, which share a
//! class with other outliers far away. Small classes are dissolved; of a large class only the units
//! that are near leave it, and the rest of it stays together without a look at its units. Then, in random order, whatever is
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

use super::aim::Aim;
use super::class::{Class, Common, DISSOLVED};
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

/// The first temperature: what one value is worth, for so many of the rows that a class needs at
/// least. It is no more than a share of what an average class costs that costs anything.
const TEMPERATURE: f64 = 0.25;
const OF_A_CLASS: f64 = 0.8;

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
    pub(super) aim: &'a Aim<'a>,
    index: Index,
    /// The units nearest to each unit, found when they are first asked for.
    near: Vec<OnceLock<Box<[u32]>>>,
    classes: Vec<Class>,
    /// The class of each unit, [`NONE`] if it is suppressed, and its place among the units of the
    /// class.
    class_of: Vec<u32>,
    places: Vec<u32>,
    /// Rows that are suppressed, and how many may be.
    suppressed: u64,
    suppressible: u64,
    /// What the classes of each unit have cost each of its rows lately, on average.
    pub(super) prices: Vec<f32>,
    /// Whether each unit may be a class on its own.
    pub(super) is_enough: Vec<bool>,
    /// Numbers of classes that are not in use.
    free: Vec<u32>,
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
    /// Units that left their class, and units that were suppressed.
    pub loose: Vec<u32>,
    /// What remains of each class that was not dissolved.
    pub rests: Vec<Rest>,
    /// Rows that may be suppressed.
    pub suppressible: u64,
    units: usize,
    cost: f64,
}

/// What remains of a large class.
pub(super) struct Rest {
    pub class: u32,
    pub common: Common,
}

/// What a step would change.
struct Proposal {
    /// The classes that change.
    classes: Vec<u32>,
    /// The units that leave them, and those that were suppressed.
    loose: Vec<u32>,
    rebuilt: Vec<Rebuilt>,
    /// Units that are suppressed.
    lost: Vec<u32>,
}

/// What is to be one class.
pub(super) struct Rebuilt {
    /// Loose units.
    pub units: Vec<u32>,
    /// Large classes, without the units that left them.
    pub rests: Vec<u32>,
    pub cost: f64,
    /// What it costs each row.
    pub price: f32,
}

/// What a thread needs for a step.
struct Scratch {
    ruin: Ruin,
    slots: Slots,
    tallies: [Tally; 2],
}

impl Scratch {
    fn new(judge: &Judge<'_>) -> Scratch {
        let tallies = [judge.nothing(), judge.nothing()];
        Scratch { ruin: Ruin::default(), slots: Slots::default(), tallies }
    }
}

impl<'a> Classes<'a> {
    /// Starts with allowable classes of all units.
    pub fn new(
        (space, judge, aim): (&'a Space, &'a Judge<'a>, &'a Aim<'a>),
        members: Vec<Vec<u32>>,
        suppressible: u64,
        seed: u64,
        watch: &Watch,
    ) -> Result<Classes<'a>> {
        let (mut tally, mut is_enough) = (judge.nothing(), Vec::with_capacity(space.len()));
        for unit in 0..space.len() as u32 {
            watch.check()?;
            is_enough.push(judge.allows_units(&mut tally, space, &[unit]));
        }
        let suppressed: u64 = (0..space.len() as u32).map(|unit| space.rows(unit)).sum();
        let mut classes = Classes {
            space,
            judge,
            aim,
            index: Index::new(space, watch)?,
            near: (0..space.len()).map(|_| OnceLock::new()).collect(),
            classes: Vec::with_capacity(members.len()),
            class_of: vec![NONE; space.len()],
            places: vec![0; space.len()],
            suppressed,
            suppressible,
            prices: vec![aim.suppressed as f32; space.len()],
            is_enough,
            free: Vec::new(),
            cost: suppressed as f64 * aim.suppressed,
            steps: 0,
            temperature: 0.0,
            seed,
            batch: (members.len() / CLASSES_PER_STEP).clamp(1, BATCH),
            batches: 0,
        };
        for units in members {
            watch.check()?;
            classes.add(units);
        }
        let costly = classes.classes.iter().filter(|class| class.cost > 0.0).count();
        let of_a_class = OF_A_CLASS * classes.cost / costly.max(1) as f64;
        let of_rows = TEMPERATURE * judge.least as f64 * aim.suppressed / space.width.max(1) as f64;
        classes.temperature = of_rows.min(of_a_class);
        Ok(classes)
    }

    /// Makes units a class that have none.
    fn add(&mut self, units: Vec<u32>) {
        let (mut low, mut high) = (Vec::new(), Vec::new());
        self.space.hull(&units, &mut low, &mut high);
        let detail = self.space.detail((&low, &high));
        let rows: u64 = units.iter().map(|unit| self.space.rows(*unit)).sum();
        let mut labels = vec![0; self.aim.labels];
        units.iter().for_each(|unit| self.aim.count_unit(self.space, *unit, &mut labels));
        let cost = self.aim.cost(rows, detail, labels.into_iter());
        let price = (cost / rows as f64) as f32;
        units.iter().for_each(|unit| self.prices[*unit as usize] = price);
        let (loose, rests) = (units.clone(), Vec::new());
        let rebuilt = vec![Rebuilt { units, rests, cost, price }];
        self.replace(Proposal { classes: Vec::new(), loose, rebuilt, lost: Vec::new() });
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

    /// Whether what a proposal starts from is still there, and no more rows would be suppressed
    /// than may be.
    fn is_valid(&self, proposal: &Proposal) -> bool {
        let rows = |unit: &u32| self.space.rows(*unit);
        let in_class = |class: &u32| proposal.classes.contains(class);
        let is_there = |unit: &u32| {
            let class = self.class_of[*unit as usize];
            class == NONE || in_class(&class)
        };
        let is_suppressed = |unit: &&u32| self.class_of[**unit as usize] == NONE;
        let regained: u64 = proposal.loose.iter().filter(is_suppressed).map(rows).sum();
        let lost: u64 = proposal.lost.iter().map(rows).sum();
        proposal.classes.iter().all(|class| self.classes[*class as usize].changed < self.batches)
            && proposal.loose.iter().all(is_there)
            && self.suppressed + lost <= self.suppressible + regained
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
        let Scratch { ruin, slots, tallies } = scratch;
        slots.fill(self, ruin);
        if !slots.grow(self, tallies, ruin, random, limit) {
            return None;
        }
        Some(Proposal {
            classes: ruin.classes.clone(),
            loose: ruin.loose.clone(),
            rebuilt: slots.classes(self, ruin),
            lost: slots.lost.iter().map(|slot| ruin.loose[*slot as usize]).collect(),
        })
    }

    /// Of two random units the one whose class costs more, if that is anything.
    fn unit(&self, random: &mut Random) -> Option<u32> {
        let cost = |unit: u32| match self.class_of[unit as usize] {
            NONE => self.suppression(unit),
            class => self.classes[class as usize].cost,
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

    /// What it costs to suppress a unit.
    pub(super) fn suppression(&self, unit: u32) -> f64 {
        self.space.rows(unit) as f64 * self.aim.suppressed
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
        ruin.suppressible = self.suppressible.saturating_sub(self.suppressed);
        (ruin.units, ruin.cost) = (0, 0.0);
        let most = 2 + random.below(CLASSES - 1) as usize;
        let own = self.class_of[unit as usize];
        if own == NONE {
            self.regain(ruin, unit);
        } else {
            self.dissolve(ruin, own, unit);
        }
        let own = self.classes.get(own as usize);
        let members = own.map_or(&[] as &[u32], |class| class.units.as_slice());
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
                if !ruin.loose.contains(other) && ruin.units < UNITS {
                    self.regain(ruin, *other);
                }
                continue;
            }
            let size = self.classes[class as usize].units.len().min(NEAR);
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
        ruin.loose.push(unit);
        ruin.suppressible += self.space.rows(unit);
        ruin.cost += self.suppression(unit);
        ruin.units += 1;
    }

    /// Takes a class apart; of a large one, only what is near a unit.
    fn dissolve(&self, ruin: &mut Ruin, number: u32, unit: u32) {
        let class = &self.classes[number as usize];
        ruin.classes.push(number);
        ruin.cost += class.cost;
        let Some(common) = &class.common else {
            ruin.loose.extend_from_slice(&class.units);
            ruin.units += class.units.len();
            return;
        };
        let first = ruin.loose.len();
        let is_own = |unit: &u32| self.class_of[*unit as usize] == number;
        ruin.loose.extend([unit].iter().chain(self.near(unit)).copied().filter(is_own));
        let leave = &ruin.loose[first..];
        ruin.units += leave.len() + 1;
        let mut common = common.as_ref().clone();
        leave.iter().for_each(|unit| common.leave(self.space, self.judge, *unit));
        if common.tally.rows > 0 {
            let stay = class.units.iter().copied().filter(|unit| !leave.contains(unit));
            common.settle(self.space, stay);
            ruin.rests.push(Rest { class: number, common });
        }
    }

    fn replace(&mut self, proposal: Proposal) {
        for class in &proposal.classes {
            let class = &mut self.classes[*class as usize];
            self.cost -= class.cost;
            (class.cost, class.changed) = (0.0, self.batches);
        }
        proposal.loose.iter().for_each(|unit| self.take_out(*unit));
        for unit in proposal.lost {
            self.suppressed += self.space.rows(unit);
            self.cost += self.suppression(unit);
            self.learn(unit, self.aim.suppressed as f32);
        }
        for Rebuilt { units, rests, cost, price } in proposal.rebuilt {
            let mut rests = rests.into_iter();
            let number = rests.next().or_else(|| self.free.pop()).unwrap_or_else(|| {
                self.classes.push(Class::default());
                self.classes.len() as u32 - 1
            });
            for unit in units {
                self.learn(unit, price);
                self.put(unit, number);
            }
            for rest in rests {
                let rest = std::mem::take(&mut self.classes[rest as usize].units);
                rest.into_iter().for_each(|unit| self.put(unit, number));
            }
            self.cost += cost;
            let class = &mut self.classes[number as usize];
            (class.cost, class.changed) = (cost, self.batches);
            class.settle(self.space, self.judge);
        }
        for number in proposal.classes {
            let class = &mut self.classes[number as usize];
            if class.units.is_empty() {
                class.common = None;
                self.free.push(number);
            }
        }
    }

    /// Notes what a class of a unit costs each row.
    fn learn(&mut self, unit: u32, price: f32) {
        let known = &mut self.prices[unit as usize];
        *known += FOLLOWED * (price - *known);
    }

    /// Takes a unit out of its class, or out of those that are suppressed.
    fn take_out(&mut self, unit: u32) {
        let number = std::mem::replace(&mut self.class_of[unit as usize], NONE);
        if number == NONE {
            self.suppressed -= self.space.rows(unit);
            self.cost -= self.suppression(unit);
            return;
        }
        let (class, place) = (&mut self.classes[number as usize], self.places[unit as usize]);
        class.units.swap_remove(place as usize);
        if let Some(moved) = class.units.get(place as usize) {
            self.places[*moved as usize] = place;
        }
        if let Some(common) = &mut class.common {
            common.leave(self.space, self.judge, unit);
        }
    }

    /// Puts a unit into a class.
    fn put(&mut self, unit: u32, number: u32) {
        let class = &mut self.classes[number as usize];
        self.class_of[unit as usize] = number;
        self.places[unit as usize] = class.units.len() as u32;
        class.units.push(unit);
        if let Some(common) = &mut class.common {
            common.join(self.space, self.judge, unit);
        }
    }

    /// The class of each unit, numbered in the order of their first units. Suppressed units have
    /// classes of their own, which are not allowable.
    pub fn of_units(&self) -> Vec<u32> {
        let (mut numbers, mut next) = (vec![NONE; self.classes.len()], 0..);
        let number = |class: &u32| {
            let known = numbers.get_mut(*class as usize).filter(|known| **known != NONE);
            if let Some(known) = known {
                return Some(*known);
            }
            let new = next.next()?;
            if let Some(number) = numbers.get_mut(*class as usize) {
                *number = new;
            }
            Some(new)
        };
        self.class_of.iter().filter_map(number).collect()
    }
}
