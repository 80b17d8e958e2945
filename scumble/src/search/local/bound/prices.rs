//! Which prices sum to the most under known ceilings?
//!
//! This is a linear program: each price counts as often as its tuple has rows, and the prices of a
//! ceiling's rows may sum to so much. Its dual has a weight for each ceiling, a share of a class,
//! and asks that every row is covered by classes of weight 1 in all.
//!
//! It is solved by the method of multipliers (Hestenes 1969, Powell 1969; for linear programs
//! Polyak and Tretyakov 1972). A sweep goes over the ceilings one by one (Hildreth 1957): prices of
//! one that is exceeded fall by the same amount and its weight grows; if it has slack, its weight
//! shrinks and the prices rise. After some sweeps, rows that are covered by less than they need
//! become dearer, and rows that are covered by more become cheaper. Prices are floats here; what
//! they are worth, the checker decides.

use super::separation::Ceiling;
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::Hasher;

/// Sweeps after which a ceiling is forgotten that none of them touched.
const IDLE: u32 = 200;

/// Ceilings with their weights.
#[derive(Debug, Default)]
pub struct Weighted {
    /// Where the rows of each ceiling end.
    ends: Vec<u32>,
    /// Tuples of all ceilings, and how many rows of each.
    tuples: Vec<u32>,
    counts: Vec<f64>,
    /// What the prices may sum to.
    most: Vec<f64>,
    /// The sum of squared counts.
    norms: Vec<f64>,
    weights: Vec<f64>,
    /// Sweeps since each was touched.
    idle: Vec<u32>,
    known: FxHashSet<u64>,
}

impl Weighted {
    /// How many rows of tuples all ceilings have together.
    pub fn entries(&self) -> u64 {
        self.tuples.len() as u64
    }

    /// Adds a ceiling unless it is known. `unit` is what 1 means as a price. Tuples that are not
    /// priced are left out. Says whether it was added.
    pub fn add(&mut self, ceiling: &Ceiling, is_priced: &[bool], unit: f64) -> bool {
        let rows = || ceiling.rows.iter().filter(|(tuple, _)| is_priced[*tuple as usize]);
        let mut hasher = FxHasher::default();
        for (tuple, count) in rows() {
            hasher.write_u32(*tuple);
            hasher.write_u64(*count);
        }
        // A collision would only cost a ceiling.
        if !self.known.insert(hasher.finish()) {
            return false;
        }
        self.tuples.extend(rows().map(|(tuple, _)| *tuple));
        self.counts.extend(rows().map(|(_, count)| *count as f64));
        self.ends.push(self.tuples.len() as u32);
        self.most.push(ceiling.most as f64 / unit);
        self.norms.push(rows().map(|(_, count)| (*count as f64).powi(2)).sum());
        self.weights.push(0.0);
        self.idle.push(0);
        true
    }

    fn range(&self, ceiling: usize) -> std::ops::Range<usize> {
        let start = ceiling.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[ceiling] as usize
    }

    /// Goes over all ceilings once.
    pub fn sweep(&mut self, prices: &mut [f64], step: f64) {
        let mut start = 0;
        for ceiling in 0..self.ends.len() {
            let range = start..self.ends[ceiling] as usize;
            start = range.end;
            let (tuples, counts) = (&self.tuples[range.clone()], &self.counts[range]);
            let entries = tuples.iter().zip(counts);
            let sum: f64 = entries.map(|(tuple, count)| prices[*tuple as usize] * count).sum();
            let excess = sum - self.most[ceiling];
            let weight = self.weights[ceiling];
            if excess <= 0.0 && weight == 0.0 {
                self.idle[ceiling] += 1;
                continue;
            }
            self.idle[ceiling] = 0;
            let heavier = (weight + excess / (step * self.norms[ceiling])).max(0.0);
            self.weights[ceiling] = heavier;
            let less = step * (heavier - weight);
            for (tuple, count) in tuples.iter().zip(counts) {
                prices[*tuple as usize] -= less * count;
            }
        }
    }

    /// Makes rows dearer that are covered by too little, and others cheaper. No price leaves the
    /// range from 0 to `most`.
    pub fn balance(
        &self,
        rows: &[u64],
        is_priced: &[bool],
        prices: &mut [f64],
        step: f64,
        most: f64,
    ) {
        let mut missing: Vec<f64> = rows.iter().map(|rows| *rows as f64).collect();
        for (ceiling, weight) in
            self.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0)
        {
            for entry in self.range(ceiling) {
                missing[self.tuples[entry] as usize] -= weight * self.counts[entry];
            }
        }
        for (tuple, price) in prices.iter_mut().enumerate() {
            if is_priced[tuple] {
                *price = (*price + step * missing[tuple]).clamp(0.0, most);
            }
        }
    }

    /// Forgets ceilings that have not mattered for long.
    pub fn forget(&mut self) {
        let old = std::mem::take(self);
        for ceiling in (0..old.ends.len()).filter(|ceiling| old.idle[*ceiling] < IDLE) {
            let range = old.range(ceiling);
            let mut hasher = FxHasher::default();
            for entry in range.clone() {
                hasher.write_u32(old.tuples[entry]);
                hasher.write_u64(old.counts[entry] as u64);
            }
            self.known.insert(hasher.finish());
            self.tuples.extend_from_slice(&old.tuples[range.clone()]);
            self.counts.extend_from_slice(&old.counts[range]);
            self.ends.push(self.tuples.len() as u32);
            self.most.push(old.most[ceiling]);
            self.norms.push(old.norms[ceiling]);
            self.weights.push(old.weights[ceiling]);
            self.idle.push(old.idle[ceiling]);
        }
    }
}

/// Lowers prices, ceiling by ceiling, until none of these is exceeded.
pub fn lower(prices: &mut [u64], ceilings: &[Ceiling]) {
    for ceiling in ceilings {
        let sum = ceiling.sum(prices);
        if sum > ceiling.most {
            for (tuple, _) in &ceiling.rows {
                let price = &mut prices[*tuple as usize];
                *price = (u128::from(*price) * u128::from(ceiling.most) / u128::from(sum)) as u64;
            }
        }
    }
}
