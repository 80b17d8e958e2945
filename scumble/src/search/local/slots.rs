//! What classes are grown from in one neighbourhood: units, and rests of large classes.

use super::aim::Aim;
use super::improve::{Classes, NOISE, PRICED, Rebuilt, Rest, Ruin};
use super::judge::Tally;
use super::space::Bounds;
use crate::random::Random;

/// Units and rests. One that took in others stands for all of them.
#[derive(Debug, Default)]
pub struct Slots {
    low: Vec<u32>,
    high: Vec<u32>,
    rows: Vec<u64>,
    detail: Vec<f32>,
    /// The rows of each label in each slot, if labels count.
    labels: Vec<u32>,
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
    pub fn fill(&mut self, of: &Classes<'_>, ruin: &Ruin) {
        let slots = ruin.loose.len() + ruin.rests.len();
        self.low.clear();
        self.high.clear();
        self.rows.clear();
        self.is_enough.clear();
        self.worth.clear();
        self.detail.clear();
        self.labels.clear();
        self.labels.resize(slots * of.aim.labels, 0);
        let mut labels = self.labels.chunks_exact_mut(of.aim.labels.max(1));
        for unit in &ruin.loose {
            let (rows, is_enough) = (of.space.rows(*unit), of.is_enough[*unit as usize]);
            let (low, high) = of.space.point(*unit);
            self.low.extend_from_slice(low);
            self.high.extend_from_slice(high);
            self.rows.push(rows);
            self.is_enough.push(is_enough);
            self.worth.push(PRICED * of.prices[*unit as usize] * rows as f32);
            self.detail.push(0.0);
            labels.next().into_iter().for_each(|labels| of.aim.count_unit(of.space, *unit, labels));
        }
        for (slot, Rest { common, .. }) in (ruin.loose.len() as u32..).zip(&ruin.rests) {
            let (low, high) = common.bounds();
            self.low.extend_from_slice(low);
            self.high.extend_from_slice(high);
            self.rows.push(common.tally.rows);
            self.is_enough.push(of.judge.allows(&common.tally));
            self.detail.push(of.space.detail((low, high)));
            let labels = &mut self.labels[slot as usize * of.aim.labels..][..of.aim.labels];
            of.aim.count_all(&common.tally, labels);
            self.worth.push(self.cost_of(of.aim, slot) as f32);
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

    fn labels(&self, aim: &Aim<'_>, slot: u32) -> &[u32] {
        &self.labels[slot as usize * aim.labels..][..aim.labels]
    }

    fn cost_of(&self, aim: &Aim<'_>, slot: u32) -> f64 {
        let (rows, detail) = (self.rows[slot as usize], self.detail[slot as usize]);
        aim.cost(rows, detail, self.labels(aim, slot).iter().copied())
    }

    /// Grows what is not allowable until it is. Says whether that worked out and costs no more than
    /// a limit.
    pub fn grow(
        &mut self,
        of: &Classes<'_>,
        [tally, trial]: &mut [Tally; 2],
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
        let mut cost: f64 = self.alive.iter().map(|slot| self.cost_of(of.aim, *slot)).sum();
        while !self.poor.is_empty() {
            let drawn = random.below(self.poor.len() as u64) as usize;
            let slot = self.poor.swap_remove(drawn);
            if self.into[slot as usize] != slot {
                continue;
            }
            of.judge.clear(tally);
            self.count(of, tally, ruin, slot);
            cost -= self.cost_of(of.aim, slot);
            while !of.judge.allows(tally) {
                let found = if tried > 1 {
                    self.most_useful(of, (&*tally, &mut *trial), ruin, slot)
                } else {
                    self.cheapest(of, slot, noise, random)
                };
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
                cost -= self.cost_of(of.aim, other);
                self.take_in(of, slot, other);
            }
            if self.lost.last() == Some(&slot) {
                continue;
            }
            cost += self.cost_of(of.aim, slot);
            self.is_enough[slot as usize] = true;
            self.worth[slot as usize] = self.cost_of(of.aim, slot) as f32;
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
            match ruin.loose.get(at as usize) {
                Some(unit) => of.judge.add(tally, of.space, *unit),
                None => {
                    let rest = &ruin.rests[at as usize - ruin.loose.len()];
                    of.judge.add_all(tally, &rest.common.tally);
                }
            }
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

    /// What it costs to join two slots beyond what the second is worth; nothing if that is as much
    /// as a limit.
    #[inline(always)]
    fn more(&self, of: &Classes<'_>, slot: u32, other: u32, limit: f32) -> Option<f32> {
        let both = self.rows[slot as usize] + self.rows[other as usize];
        let worth = self.worth[other as usize];
        let (own, bounds) = (self.bounds(slot, of.space.width), self.bounds(other, of.space.width));
        if of.aim.columns_decide {
            let both = both as f32;
            return Some(of.space.joined(own, bounds, (limit + worth) / both)? * both - worth);
        }
        let detail = of.space.joined(own, bounds, f32::INFINITY)?;
        let labels = self.labels(of.aim, slot).iter().zip(self.labels(of.aim, other));
        let cost = of.aim.cost(both, detail, labels.map(|(one, other)| one + other));
        Some(cost as f32 - worth)
    }

    /// The slot that is cheapest to join, and what that costs.
    fn cheapest(
        &self,
        of: &Classes<'_>,
        slot: u32,
        noise: f32,
        random: &mut Random,
    ) -> Option<(f32, u32)> {
        let mut best = (f32::INFINITY, END);
        for other in self.alive.iter().filter(|other| **other != slot) {
            let limit = if noise > 0.0 { f32::INFINITY } else { best.0 };
            let Some(mut more) = self.more(of, slot, *other, limit) else { continue };
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
        (tally, trial): (&Tally, &mut Tally),
        ruin: &Ruin,
        slot: u32,
    ) -> Option<(f32, u32)> {
        let mut cheapest = [(f32::INFINITY, END); TRIED];
        for other in self.alive.iter().filter(|other| **other != slot) {
            let limit = cheapest[TRIED - 1].0;
            let Some(more) = self.more(of, slot, *other, limit) else { continue };
            if more < limit {
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
            of.judge.clear(trial);
            of.judge.add_all(trial, tally);
            self.count(of, trial, ruin, other);
            let nearer = lack - of.judge.lack(trial);
            let score = f64::from(more - least + f32::EPSILON) / nearer.max(0.01);
            if score < best.0 {
                best = (score, Some((more, other)));
            }
        }
        best.1
    }

    fn take_in(&mut self, of: &Classes<'_>, slot: u32, other: u32) {
        let (a, b) = (slot as usize, other as usize);
        let (width, labels) = (of.space.width, of.aim.labels);
        of.space.join(&mut self.low, &mut self.high, a, b);
        for label in 0..labels {
            self.labels[a * labels + label] += self.labels[b * labels + label];
        }
        self.rows[a] += self.rows[b];
        self.detail[a] = of.space.detail(self.bounds(slot, width));
        self.into[b] = slot;
        self.next[self.last[a] as usize] = other;
        self.last[a] = self.last[b];
        self.remove(other);
    }

    /// What each slot that is left stands for, and what it costs.
    pub fn classes(&self, of: &Classes<'_>, ruin: &Ruin) -> Vec<Rebuilt> {
        let class = |slot: &u32| {
            let (mut units, mut rests, mut at) = (Vec::new(), Vec::new(), *slot);
            while at != END {
                match ruin.loose.get(at as usize) {
                    Some(unit) => units.push(*unit),
                    None => rests.push(ruin.rests[at as usize - ruin.loose.len()].class),
                }
                at = self.next[at as usize];
            }
            let cost = self.cost_of(of.aim, *slot);
            let price = (cost / self.rows[*slot as usize] as f64) as f32;
            Rebuilt { units, rests, cost, price }
        };
        self.alive.iter().map(class).collect()
    }
}
