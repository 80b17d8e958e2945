//! What classes are grown from in one neighbourhood: units, and rests of large classes.

use super::improve::{Classes, NOISE, PRICED, Rebuilt, Ruin};
use super::judge::Tally;
use super::space::{Bounds, Space};
use crate::random::Random;

/// Units and rests. One that took in others stands for all of them.
#[derive(Debug, Default)]
pub struct Slots {
    low: Vec<u32>,
    high: Vec<u32>,
    rows: Vec<u64>,
    detail: Vec<f32>,
    /// What is gained by taking each in: what it costs now, or the price of what may not be a class
    /// yet.
    worth: Vec<f32>,
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
    /// Slots that are suppressed; each is one unit.
    pub lost: Vec<u32>,
}

/// Slots that are tried one by one where more than rows is asked.
const TRIED: usize = 6;

/// Follows the last slot of a list.
const END: u32 = u32::MAX;

impl Slots {
    /// Starts anew with what a ruin left.
    pub fn fill(&mut self, of: &Classes<'_>, tally: &mut Tally, ruin: &Ruin) {
        let slots = ruin.loose.len() + ruin.rests.len();
        self.low.clear();
        self.high.clear();
        self.rows.clear();
        self.is_enough.clear();
        self.worth.clear();
        for unit in &ruin.loose {
            let (rows, is_enough) = (of.space.rows(*unit), of.is_enough[*unit as usize]);
            let (low, high) = of.space.point(*unit);
            self.low.extend_from_slice(low);
            self.high.extend_from_slice(high);
            self.rows.push(rows);
            self.is_enough.push(is_enough);
            self.worth.push(PRICED * of.prices[*unit as usize] * rows as f32);
        }
        self.detail.clear();
        self.detail.resize(ruin.loose.len(), 0.0);
        for rest in &ruin.rests {
            let (mut low, mut high) = (Vec::new(), Vec::new());
            of.space.hull(rest, &mut low, &mut high);
            self.detail.push(of.space.detail((&low, &high)));
            self.low.append(&mut low);
            self.high.append(&mut high);
            self.is_enough.push(of.judge.allows_units(tally, of.space, rest));
            self.rows.push(tally.rows);
            let price: f32 = rest.iter().map(|unit| of.prices[*unit as usize]).sum();
            self.worth.push(PRICED * price / rest.len() as f32 * tally.rows as f32);
        }
        self.into.clear();
        self.into.extend(0..slots as u32);
        self.next.clear();
        self.next.resize(slots, END);
        self.last.clone_from(&self.into);
        self.alive.clone_from(&self.into);
    }

    fn bounds(&self, slot: u32, width: usize) -> Bounds<'_> {
        let start = slot as usize * width;
        (&self.low[start..start + width], &self.high[start..start + width])
    }

    fn cost_of(&self, slot: u32) -> f64 {
        f64::from(self.detail[slot as usize]) * self.rows[slot as usize] as f64
    }

    /// Grows what is not allowable until it is. Says whether that worked out and costs no more than
    /// a limit.
    pub fn grow(
        &mut self,
        of: &Classes<'_>,
        tally: &mut Tally,
        ruin: &Ruin,
        random: &mut Random,
        limit: f64,
    ) -> bool {
        // What is cheapest to join need not help with a requirement on values.
        let (noise, tried) = match random.below(4) {
            _ if of.judge.rows_decide => (0.0, 1),
            0 => (0.0, 1),
            1 => (NOISE, 1),
            _ => (0.0, TRIED),
        };
        // To suppress is the last resort, so it must cost clearly less than the first join.
        let patience = 1.0 + random.unit();
        let mut suppressible = ruin.suppressible;
        self.lost.clear();
        self.poor.clear();
        let is_enough = &self.is_enough;
        self.poor.extend((0..is_enough.len() as u32).filter(|slot| !is_enough[*slot as usize]));
        // What all slots cost. Joins only add to it, so the limit ends a bad attempt early.
        let mut cost: f64 = self.alive.iter().map(|slot| self.cost_of(*slot)).sum();
        while !self.poor.is_empty() {
            let drawn = random.below(self.poor.len() as u64) as usize;
            let slot = self.poor.swap_remove(drawn);
            if self.into[slot as usize] != slot {
                continue;
            }
            of.judge.clear(tally);
            self.count(of, tally, ruin, slot);
            cost -= self.cost_of(slot);
            while !of.judge.allows(tally) {
                let mut found = self.cheapest(of.space, slot, noise, random);
                if tried > 1 {
                    found = self.most_useful(of, tally, ruin, slot).or(found);
                }
                if let Some(suppression) = self.can_lose(of, ruin, slot, suppressible) {
                    let is_dear = |(more, _)| f64::from(more) > patience * suppression;
                    if found.is_none_or(is_dear) {
                        suppressible -= self.rows[slot as usize];
                        cost += suppression;
                        self.lose(slot);
                        break;
                    }
                }
                let Some((_, other)) = found else { return false };
                self.count(of, tally, ruin, other);
                cost -= self.cost_of(other);
                self.take_in(of.space, slot, other);
            }
            if self.lost.last() == Some(&slot) {
                continue;
            }
            cost += self.cost_of(slot);
            self.is_enough[slot as usize] = true;
            self.worth[slot as usize] = self.cost_of(slot) as f32;
            if cost > limit {
                return false;
            }
        }
        cost <= limit
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

    /// What it costs to suppress a slot, if it is a unit and that is allowed.
    fn can_lose(&self, of: &Classes<'_>, ruin: &Ruin, slot: u32, most: u64) -> Option<f64> {
        let is_unit = self.next[slot as usize] == END;
        let unit = ruin.loose.get(slot as usize).filter(|_| is_unit)?;
        (self.rows[slot as usize] <= most).then(|| of.suppression(*unit))
    }

    fn lose(&mut self, slot: u32) {
        self.lost.push(slot);
        self.remove(slot);
    }

    fn remove(&mut self, slot: u32) {
        if let Some(at) = self.alive.iter().position(|known| *known == slot) {
            self.alive.swap_remove(at);
        }
    }

    /// The slot that is cheapest to join, and what that costs.
    fn cheapest(
        &self,
        space: &Space,
        slot: u32,
        noise: f32,
        random: &mut Random,
    ) -> Option<(f32, u32)> {
        let (own, rows) = (self.bounds(slot, space.width), self.rows[slot as usize]);
        let mut best = (f32::INFINITY, END);
        for other in &self.alive {
            if *other == slot {
                continue;
            }
            let both = (rows + self.rows[*other as usize]) as f32;
            let worth = self.worth[*other as usize];
            let limit = if noise > 0.0 { f32::INFINITY } else { (best.0 + worth) / both };
            let joined = space.joined(own, self.bounds(*other, space.width), limit);
            let Some(joined) = joined else { continue };
            let mut more = joined * both - worth;
            if noise > 0.0 {
                more *= 1.0 + noise * random.unit() as f32;
            }
            if more < best.0 {
                best = (more, *other);
            }
        }
        (best.1 != END).then_some(best)
    }

    /// Of the slots that are cheapest to join, the one that brings a class nearest for its cost.
    fn most_useful(
        &self,
        of: &Classes<'_>,
        tally: &Tally,
        ruin: &Ruin,
        slot: u32,
    ) -> Option<(f32, u32)> {
        let (own, rows) = (self.bounds(slot, of.space.width), self.rows[slot as usize]);
        let mut cheapest = [(f32::INFINITY, END); TRIED];
        for other in self.alive.iter().filter(|other| **other != slot) {
            let both = (rows + self.rows[*other as usize]) as f32;
            let worth = self.worth[*other as usize];
            let limit = (cheapest[TRIED - 1].0 + worth) / both;
            let bounds = self.bounds(*other, of.space.width);
            let Some(joined) = of.space.joined(own, bounds, limit) else { continue };
            let more = joined * both - worth;
            if more < cheapest[TRIED - 1].0 {
                let at = cheapest.partition_point(|known| known.0 <= more);
                cheapest.copy_within(at..TRIED - 1, at + 1);
                cheapest[at] = (more, *other);
            }
        }
        let lack = of.judge.lack(tally);
        // What is gained by a join may be more than it costs.
        let least = cheapest[0].0.min(0.0);
        let mut best = (f64::INFINITY, None);
        for (more, other) in cheapest.into_iter().filter(|(_, other)| *other != END) {
            let mut trial = tally.clone();
            self.count(of, &mut trial, ruin, other);
            let nearer = lack - of.judge.lack(&trial);
            let score = f64::from(more - least + f32::EPSILON) / nearer.max(0.01);
            if score < best.0 {
                best = (score, Some((more, other)));
            }
        }
        best.1
    }

    fn take_in(&mut self, space: &Space, slot: u32, other: u32) {
        let (a, b) = (slot as usize, other as usize);
        let width = space.width;
        space.join(&mut self.low, &mut self.high, a, b);
        self.rows[a] += self.rows[b];
        self.detail[a] = space.detail(self.bounds(slot, width));
        self.into[b] = slot;
        self.next[self.last[a] as usize] = other;
        self.last[a] = self.last[b];
        self.remove(other);
    }

    /// The units of each slot that is left, and what they cost.
    pub fn classes(&self, ruin: &Ruin) -> Vec<Rebuilt> {
        let class = |slot: &u32| {
            let (mut units, mut at) = (Vec::new(), *slot);
            while at != END {
                units.extend_from_slice(ruin.units(at));
                at = self.next[at as usize];
            }
            let (detail, cost) = (self.detail[*slot as usize], self.cost_of(*slot));
            Rebuilt { units, detail, cost }
        };
        self.alive.iter().map(class).collect()
    }
}
