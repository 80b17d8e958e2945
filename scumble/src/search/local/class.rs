//! One class: its units, and what many units have in common.

use super::judge::{Judge, Tally};
use super::space::{Bounds, Space};

/// Larger classes are not dissolved, and what their units have in common is kept.
pub const DISSOLVED: usize = 32;

/// A class; without units if its number is not in use.
#[derive(Debug, Default)]
pub struct Class {
    /// Its units.
    pub units: Vec<u32>,
    /// What it costs.
    pub cost: f64,
    /// The batch in which it was last changed.
    pub changed: u64,
    /// What its units have in common, if there are more than [`DISSOLVED`].
    pub common: Option<Box<Common>>,
}

/// What many units have in common. A few of them can leave without a look at the others.
#[derive(Clone, Debug)]
pub struct Common {
    /// Their rows.
    pub tally: Tally,
    low: Vec<u32>,
    high: Vec<u32>,
    /// How many units are at the low and at the high end of each column.
    at_low: Vec<u32>,
    at_high: Vec<u32>,
    /// Whether an end has lost all of its units.
    is_stale: bool,
}

impl Class {
    /// Brings what its units have in common up to date.
    pub fn settle(&mut self, space: &Space, judge: &Judge<'_>) {
        if self.units.len() <= DISSOLVED {
            self.common = None;
        } else if let Some(common) = &mut self.common {
            common.settle(space, self.units.iter().copied());
        } else {
            self.common = Some(Box::new(Common::new(space, judge, &self.units)));
        }
    }
}

impl Common {
    /// Of some units.
    pub fn new(space: &Space, judge: &Judge<'_>, units: &[u32]) -> Common {
        let none = Vec::new;
        let (tally, low, high) = (judge.nothing(), none(), none());
        let (at_low, at_high, is_stale) = (none(), none(), false);
        let mut common = Common { tally, low, high, at_low, at_high, is_stale };
        units.iter().for_each(|unit| judge.add(&mut common.tally, space, *unit));
        common.measure(space, units.iter().copied());
        common
    }

    /// The box of the units.
    pub fn bounds(&self) -> Bounds<'_> {
        (&self.low, &self.high)
    }

    /// Takes a unit in.
    pub fn join(&mut self, space: &Space, judge: &Judge<'_>, unit: u32) {
        judge.add(&mut self.tally, space, unit);
        self.widen(space, space.point(unit));
    }

    fn widen(&mut self, space: &Space, point: Bounds<'_>) {
        for column in space.of_sets() {
            self.low[column] |= point.0[column];
            self.high[column] |= point.1[column];
        }
        for column in space.of_ranges() {
            let (low, high) = (&point.0[column], &point.1[column]);
            let (least, at_low) = (&mut self.low[column], &mut self.at_low[column]);
            *at_low = if low < least { 0 } else { *at_low } + u32::from(low <= least);
            *least = (*least).min(*low);
            let (most, at_high) = (&mut self.high[column], &mut self.at_high[column]);
            *at_high = if high > most { 0 } else { *at_high } + u32::from(high >= most);
            *most = (*most).max(*high);
        }
    }

    /// Lets a unit go. Then the box may be too large until it [settles](Self::settle).
    pub fn leave(&mut self, space: &Space, judge: &Judge<'_>, unit: u32) {
        judge.remove(&mut self.tally, space, unit);
        let (low, high) = space.point(unit);
        // Whether another unit has the same value of a set is not known.
        self.is_stale |= !space.of_sets().is_empty();
        for column in space.of_ranges() {
            self.at_low[column] -= u32::from(low[column] == self.low[column]);
            self.at_high[column] -= u32::from(high[column] == self.high[column]);
            self.is_stale |= self.at_low[column] == 0 || self.at_high[column] == 0;
        }
    }

    /// Makes the box as small as the units allow; they are all that are left.
    pub fn settle(&mut self, space: &Space, units: impl Iterator<Item = u32>) {
        if self.is_stale {
            self.measure(space, units);
        }
    }

    fn measure(&mut self, space: &Space, units: impl Iterator<Item = u32>) {
        let width = space.width;
        for (ends, value) in [
            (&mut self.low, u32::MAX),
            (&mut self.high, 0),
            (&mut self.at_low, 0),
            (&mut self.at_high, 0),
        ] {
            ends.clear();
            ends.resize(width, value);
        }
        self.low[space.of_sets()].fill(0);
        units.for_each(|unit| self.widen(space, space.point(unit)));
        self.is_stale = false;
    }
}
