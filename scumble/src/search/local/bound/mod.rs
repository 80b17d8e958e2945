//! What does every local recoding lose at least?
//!
//! Give each row a price. Suppose that for every label, a generalized tuple that says one thing in
//! each column, the `k` dearest rows it covers have prices that sum to at most `k` times what the
//! label costs a row. A class has `k` rows or more, so the mean price of its rows is at most the
//! mean price of the `k` dearest rows under its label, and that is at most what each of its rows
//! pays. So every class costs at least what its rows are priced at, and every release costs at
//! least the sum of all prices. This is the dual of the linear program that covers all rows by
//! shares of classes at the least cost.
//!
//! - `k` is the least number of rows of a class, from all requirements. Whatever else is asked only
//!   leaves fewer releases.
//! - A suppressed row costs 1 in each column. If some may be suppressed, no price is above that.
//! - A set of several values costs at least what two values cost, and is taken to cover everything.
//! - Rows of one tuple have one price, but the proof does not ask that they stay together.
//! - Levels, cuts and regions are local recodings too, with labels that are no cheaper than the
//!   smallest label of the same rows. So the bound holds for them as well.
//!
//! Prices grow from nearly nothing, all at the same pace, until they reach a ceiling. Then they are
//! adjusted: `separation` finds labels whose rows are too dear, and `prices` solves the linear
//! program over those found so far. The result is optimal for this kind of proof when nothing is
//! too dear any more. It need not be met by a release, because a class is taken as a whole or not
//! at all.
//!
//! No price is believed: `check` has the last word, and only what it certified counts.

pub mod check;
mod columns;
pub mod effort;
mod prices;
mod separation;

use crate::error::Result;
use crate::search::Task;
use crate::watch::Watch;
use check::Claimed;
use columns::{Menu, ONE, Tuples};
use effort::Effort;
use prices::{Weighted, lower};
use separation::{Ceiling, Separation};
use std::time::Instant;

/// Groups of numbers: few at first, more if they were not enough of a challenge.
const GROUPS: [usize; 3] = [16, 64, 256];

/// Sweeps over all ceilings between two moments at which rows become dearer, and how often they do
/// between two walks.
const SWEEPS: usize = 10;
const RAISES: usize = 5;

/// By which share of the mean price a row becomes dearer that nothing covers.
const STEP: f64 = 0.3;

/// Walks without a better sum after which prices are taken for optimal.
const PATIENCE: u32 = 4;

/// A better sum is better by this share at least.
const BETTER: f64 = 1e-5;

/// Walks between two certificates, by their steps.
const BETWEEN: u64 = 10;

/// Tables of more distinct tuples get no bound: it would take longer than the search.
const CELLS: usize = 1 << 18;

/// Steps for each tuple if nothing else limits them, and the most in all: on Adult as much
/// time as the search takes.
const STEPS_PER_TUPLE: u64 = 12_000;
const STEPS: u64 = 1 << 27;

/// Prices are at most so many times what a suppressed row costs: sums of them must fit in 64 bits.
const MOST: u64 = 16;

/// Searches for prices, and keeps the best bound that was certified.
#[derive(Debug)]
pub struct LowerBound<'a> {
    task: &'a Task,
    /// The least number of rows of a class.
    least: u64,
    /// Which of the numbers of groups is in use.
    fineness: usize,
    tuples: Tuples,
    /// Whether each tuple can have a price: those of enough rows are a class for nothing.
    is_priced: Vec<bool>,
    stage: Stage,
    ceilings: Weighted,
    /// The best prices so far with their sum over all rows, and whether the checker has seen them.
    best: (u128, Vec<u64>),
    is_checked: bool,
    /// The steps of the last walk, and all steps since the last certificate.
    walked: u64,
    uncertified: u64,
    /// What is certified: what all rows together cost at least.
    certified: Option<u128>,
}

/// How far prices are.
#[derive(Debug)]
enum Stage {
    /// Those that have met no ceiling grow.
    Growing { level: u64, open: Vec<bool>, prices: Vec<u64> },
    /// All are adjusted.
    Adjusting { prices: Vec<f64>, step: f64, idle: u32 },
    /// There is nothing left to do.
    Finished,
}

impl<'a> LowerBound<'a> {
    /// Nothing is known yet. `None` if there are too many tuples or classes are too large.
    pub fn new(task: &'a Task) -> Option<LowerBound<'a>> {
        let least = task.requirements.iter().map(|requirement| requirement.least_rows()).max();
        let least = least.unwrap_or(1).max(1);
        let columns = task.axes.len() as u64;
        let fits = least.checked_mul(columns)? < 1 << 24;
        if !fits || columns == 0 || task.cells.len() > CELLS {
            return None;
        }
        let mut bound = LowerBound {
            task,
            least,
            fineness: 0,
            tuples: Tuples::new(task, GROUPS[0]),
            is_priced: Vec::new(),
            stage: Stage::Finished,
            ceilings: Weighted::default(),
            best: (0, Vec::new()),
            is_checked: false,
            walked: 0,
            uncertified: 0,
            certified: None,
        };
        bound.begin();
        Some(bound)
    }

    /// Starts with the tuples as they are.
    fn begin(&mut self) {
        self.is_priced = self.tuples.rows.iter().map(|rows| *rows < self.least).collect();
        self.ceilings = Weighted::default();
        self.best = (0, vec![0; self.tuples.len()]);
        self.is_checked = false;
        self.stage = match self.tuples.least() {
            Some(level) => Stage::Growing {
                level,
                open: self.is_priced.clone(),
                prices: vec![0; self.tuples.len()],
            },
            None => Stage::Finished,
        };
    }

    /// No price is above this.
    fn most(&self) -> u64 {
        let columns = self.tuples.menus.len() as u64;
        let times = if self.task.suppressible > 0 { 1 } else { MOST.min(self.least) };
        times * columns * ONE
    }

    /// Steps that suit the table, if nothing else limits them.
    pub fn planned(&self) -> u64 {
        STEPS_PER_TUPLE.saturating_mul(self.task.cells.len() as u64).clamp(1 << 20, STEPS)
    }

    /// Whether more effort is of no use.
    pub fn is_finished(&self) -> bool {
        matches!(self.stage, Stage::Finished)
    }

    /// What is proven: no release has a smaller LM. Rounded down.
    pub fn proven(&self) -> Option<f64> {
        let values = self.task.rows() as f64 * self.task.axes.len() as f64;
        // Three roundings add far less than is taken away.
        self.certified.map(|sum| sum as f64 / ONE as f64 / values * (1.0 - 1e-15))
    }

    /// Works for so many steps, and not much longer than until a moment.
    pub fn advance(&mut self, steps: u64, until: Option<Instant>, watch: &Watch) -> Result<()> {
        let begun = Instant::now();
        let effort = &mut Effort::new(steps, until, watch);
        // Enough must be left for a walk and a certificate.
        while !self.is_finished() && effort.affords(self.walked.saturating_mul(3)) {
            let before = effort.spent;
            self.step(effort)?;
            self.uncertified += effort.spent - before;
            if self.uncertified >= BETWEEN * self.walked && effort.affords(2 * self.walked) {
                self.certify(effort)?;
            }
            if self.is_finished() && self.tuples.is_coarse && self.fineness + 1 < GROUPS.len() {
                self.certify(effort)?;
                self.fineness += 1;
                self.tuples = Tuples::new(self.task, GROUPS[self.fineness]);
                self.begin();
            }
        }
        // The last certificate may take longer than asked, by half.
        let late =
            until.and_then(|until| until.checked_add(until.saturating_duration_since(begun) / 2));
        let mut effort = Effort::new(self.walked.saturating_mul(4).max(steps / 4), late, watch);
        self.certify(&mut effort)
    }

    fn step(&mut self, effort: &mut Effort<'_>) -> Result<()> {
        match std::mem::replace(&mut self.stage, Stage::Finished) {
            Stage::Growing { level, open, prices } => self.grow(level, open, prices, effort),
            Stage::Adjusting { prices, step, idle } => self.adjust(prices, step, idle, effort),
            Stage::Finished => Ok(()),
        }
    }

    /// Finds what is priced too high.
    fn separate(
        &mut self,
        prices: &[u64],
        effort: &mut Effort<'_>,
    ) -> Result<Option<Vec<Ceiling>>> {
        let before = effort.spent;
        let found = Separation::new(&self.tuples, self.least).run(prices, effort)?;
        self.walked = effort.spent - before;
        Ok(found)
    }

    /// Raises all open prices to a level, and closes those that meet a ceiling.
    fn grow(
        &mut self,
        level: u64,
        mut open: Vec<bool>,
        mut prices: Vec<u64>,
        effort: &mut Effort<'_>,
    ) -> Result<()> {
        let most = self.most();
        if level > most || !open.contains(&true) {
            let rows = self.tuples.rows.iter().zip(&self.is_priced);
            let priced: u64 = rows.filter(|(_, is_priced)| **is_priced).map(|(rows, _)| rows).sum();
            let mean = self.sum(&prices) as f64 / ONE as f64 / priced.max(1) as f64;
            if mean > 0.0 {
                let prices = prices.iter().map(|price| *price as f64 / ONE as f64).collect();
                self.stage = Stage::Adjusting { prices, step: STEP * mean, idle: 0 };
            }
            return Ok(());
        }
        let raised = prices.iter_mut().zip(&open).filter(|(_, is_open)| **is_open);
        raised.for_each(|(price, _)| *price = level);
        let Some(found) = self.separate(&prices, effort)? else {
            self.stage = Stage::Growing { level, open, prices };
            return Ok(());
        };
        for ceiling in &found {
            self.ceilings.add(ceiling, &self.is_priced, ONE as f64);
            ceiling.rows.iter().for_each(|(tuple, _)| open[*tuple as usize] = false);
        }
        lower(&mut prices, &found);
        self.keep(&prices);
        let level = if level < most { (2 * level).min(most) } else { most + 1 };
        self.stage = Stage::Growing { level, open, prices };
        Ok(())
    }

    /// Finds ceilings that are exceeded, and solves the linear program over all that are known.
    fn adjust(
        &mut self,
        mut prices: Vec<f64>,
        step: f64,
        mut idle: u32,
        effort: &mut Effort<'_>,
    ) -> Result<()> {
        let mut whole: Vec<u64> = prices.iter().map(|price| (price * ONE as f64) as u64).collect();
        let Some(found) = self.separate(&whole, effort)? else {
            self.stage = Stage::Adjusting { prices, step, idle };
            return Ok(());
        };
        let asked = self.sum(&whole);
        lower(&mut whole, &found);
        let before = self.best.0;
        self.keep(&whole);
        let is_better = self.best.0 as f64 > before as f64 * (1.0 + BETTER);
        idle = if is_better { 0 } else { idle + 1 };
        let is_optimal = found.is_empty() && self.best.0 == asked && idle > 0;
        if idle >= PATIENCE || is_optimal {
            return Ok(());
        }
        for ceiling in &found {
            self.ceilings.add(ceiling, &self.is_priced, ONE as f64);
        }
        let most = self.most() as f64 / ONE as f64;
        for _ in 0..RAISES {
            let (rows, is_priced) = (&self.tuples.rows, &self.is_priced);
            self.ceilings.balance(rows, is_priced, &mut prices, step, most);
            for _ in 0..SWEEPS {
                self.ceilings.sweep(&mut prices, step);
                effort.spend(self.ceilings.entries() / 2)?;
            }
        }
        prices.iter_mut().for_each(|price| *price = price.clamp(0.0, most));
        self.ceilings.forget();
        self.stage = Stage::Adjusting { prices, step, idle };
        Ok(())
    }

    /// The sum of prices over all rows.
    fn sum(&self, prices: &[u64]) -> u128 {
        let rows = self.tuples.rows.iter();
        prices.iter().zip(rows).map(|(price, rows)| u128::from(*price) * u128::from(*rows)).sum()
    }

    /// Keeps prices if they are the best.
    fn keep(&mut self, prices: &[u64]) {
        let sum = self.sum(prices);
        if sum > self.best.0 {
            self.best = (sum, prices.to_vec());
            self.is_checked = false;
        }
    }

    /// Has the best prices certified, if they are better than what is proven.
    fn certify(&mut self, effort: &mut Effort<'_>) -> Result<()> {
        self.uncertified = 0;
        let is_known = self.certified.is_some_and(|certified| self.best.0 <= certified);
        if is_known || self.is_checked {
            return Ok(());
        }
        let firsts = |menu: &Menu| match menu {
            Menu::Layers(_) => Vec::new(),
            Menu::Ranges(ranges) => ranges.firsts.clone(),
        };
        let prices = self.tuples.of_cell.iter().map(|tuple| self.best.1[*tuple as usize]);
        let mut claimed = Claimed {
            prices: prices.collect(),
            firsts: self.tuples.menus.iter().map(firsts).collect(),
        };
        let certified = check::certify(self.task, &mut claimed, effort)?;
        self.is_checked = certified.is_some();
        self.certified = self.certified.max(certified);
        Ok(())
    }
}
