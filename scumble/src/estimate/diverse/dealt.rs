//! Whatever else is asked: buckets are dealt, and judged.
//!
//! Small ones in every way there is, with the probability of each; others by chance, with the same
//! numbers every time. Most of the dealt buckets are alike, all fine or all not. How likely the
//! others are is then told by the margins, as if they were normal: what a thousand buckets cannot
//! show is guessed from their mean and variance, and the doubt says so.

use super::super::asked::Asked;
use super::super::normal_tail;
use super::{EXACTLY, Guess};
use crate::error::Result;
use crate::random::Random;
use crate::watch::Watch;

/// The seed of all buckets; it is part of no secret.
const SEED: u64 = 0x5EED_0F0B_0CCE_7500;

/// Fewer buckets of a kind are too few to tell how likely it is.
const FEW: u32 = 6;

/// Margins that are so many standard deviations from 0 need no second look.
const FAR: f64 = 6.0;

/// With a larger variance a binomial number is drawn as a rounded normal one.
const ROUND: f64 = 30.0;

/// Larger buckets are not listed: weights of ways would overflow.
const LISTED: u64 = 256;

/// How much work may go into one size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Ways to deal a bucket that are listed at most.
    ways: f64,
    /// Buckets that are dealt at first.
    first: u32,
    /// Buckets that are dealt if the first leave it open.
    most: u32,
    /// Up to this many rows each size is dealt by itself.
    dense: u64,
    /// The step of the sizes beyond, as a factor; chances between are interpolated.
    step: f64,
}

impl Effort {
    /// For shares of which many buckets ask.
    pub(super) const SHARED: Effort =
        Effort { ways: 20_000.0, first: 512, most: 8192, dense: 48, step: 1.12 };
    /// For those of one bucket.
    pub(super) const OWN: Effort =
        Effort { ways: 200.0, first: 32, most: 256, dense: 12, step: 1.4 };
}

/// Values that are dealt, with their shares.
#[derive(Clone, Debug)]
pub(super) struct Dealt {
    asked: Asked,
    /// Number and share of each value, the numbers ascending.
    values: Vec<(u32, f64)>,
}

impl Dealt {
    /// Values with these shares, which add up to one.
    pub(super) fn new(values: Vec<(u32, f64)>, asked: Asked) -> Dealt {
        Dealt { asked, values }
    }

    /// Whether chances go to 1 as buckets grow: shares that are fine themselves.
    pub(super) fn rises(&self) -> bool {
        let whole = f64::from(1u32 << 24);
        let counts: Vec<(u32, u32)> = self
            .values
            .iter()
            .map(|(value, share)| (*value, (share * whole).round() as u32))
            .filter(|(_, count)| *count > 0)
            .collect();
        self.asked.judge(&counts).0
    }

    /// The sizes between which a size lies, and how far on the way it is.
    pub(super) fn knots(rows: u64, effort: Effort) -> (u64, u64, f64) {
        let Effort { dense, step, .. } = effort;
        if rows <= dense {
            return (rows, rows, 0.0);
        }
        let at = (rows as f64 / dense as f64).ln() / step.ln();
        let knot = |number: f64| (dense as f64 * step.powf(number)).round() as u64;
        let (below, above) = (knot(at.floor()).min(rows), knot(at.floor() + 1.0).max(rows));
        if below == above {
            return (below, above, 0.0);
        }
        let way = (rows as f64 / below as f64).ln() / (above as f64 / below as f64).ln();
        (below, above, way)
    }

    /// The chance that `rows` rows are fine.
    pub(super) fn chance(&self, rows: u64, effort: Effort, watch: &Watch) -> Result<Guess> {
        let values = self.values.len() as u64;
        let ways = (1..values).fold(1.0, |ways, value| ways * (rows + value) as f64 / value as f64);
        if ways <= effort.ways && rows <= LISTED {
            return self.listed(rows, watch);
        }
        self.simulated(rows, effort, watch)
    }

    /// Every way to deal the rows, with its probability.
    fn listed(&self, rows: u64, watch: &Watch) -> Result<Guess> {
        let mut listing = Listing { dealt: self, counts: Vec::new(), fine: 0.0, whole: 0.0, watch };
        // As Poisson numbers with the mean that each value has; what is common to all ways falls
        // out at the end.
        listing.go(0, rows, 1.0, rows as f64)?;
        Ok(Guess { chance: (listing.fine / listing.whole).clamp(0.0, 1.0), doubt: EXACTLY })
    }

    fn simulated(&self, rows: u64, effort: Effort, watch: &Watch) -> Result<Guess> {
        let mut random = Random::stream(SEED, rows);
        let mut seen = Seen::default();
        let mut counts = Vec::new();
        for run in 0..effort.most {
            if run % 64 == 0 {
                watch.check()?;
            }
            if run == effort.first && seen.is_clear() {
                break;
            }
            self.deal(rows, &mut random, &mut counts);
            seen.add(self.asked.judge(&counts));
        }
        Ok(seen.guess())
    }

    /// Deals one bucket: each value's number of rows given those before it.
    fn deal(&self, rows: u64, random: &mut Random, counts: &mut Vec<(u32, u32)>) {
        counts.clear();
        let (mut left, mut share_left) = (rows, 1.0);
        for (value, share) in &self.values {
            if left == 0 {
                break;
            }
            let count = if *share >= share_left * (1.0 - 1e-12) {
                left
            } else {
                binomial(random, left, (share / share_left).clamp(0.0, 1.0))
            };
            if count > 0 {
                counts.push((*value, u32::try_from(count).unwrap_or(u32::MAX)));
            }
            left -= count;
            share_left -= share;
        }
        // What rounding of shares has left belongs to the last value.
        if let (true, Some((last, _))) = (left > 0, self.values.last()) {
            match counts.last_mut().filter(|(value, _)| value == last) {
                Some((_, count)) => *count = count.saturating_add(left as u32),
                None => counts.push((*last, left as u32)),
            }
        }
    }
}

struct Listing<'a> {
    dealt: &'a Dealt,
    counts: Vec<(u32, u32)>,
    fine: f64,
    whole: f64,
    watch: &'a Watch,
}

impl Listing<'_> {
    fn go(&mut self, at: usize, left: u64, weight: f64, rows: f64) -> Result<()> {
        let (value, share) = self.dealt.values[at];
        let is_last = at + 1 == self.dealt.values.len();
        let mut term = weight;
        for count in 0..=left {
            if !is_last || count == left {
                if count > 0 {
                    self.counts.push((value, count as u32));
                }
                if is_last {
                    let (fine, _) = self.dealt.asked.judge(&self.counts);
                    self.whole += term;
                    self.fine += if fine { term } else { 0.0 };
                } else {
                    self.watch.check()?;
                    self.go(at + 1, left - count, term, rows)?;
                }
                if count > 0 {
                    self.counts.pop();
                }
            }
            term *= share * rows / (count + 1) as f64;
        }
        Ok(())
    }
}

/// What was dealt so far.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    runs: u32,
    fine: u32,
    margins: f64,
    squares: f64,
}

impl Seen {
    fn add(&mut self, (fine, margin): (bool, f64)) {
        self.runs += 1;
        self.fine += u32::from(fine);
        self.margins += margin;
        self.squares += margin * margin;
    }

    /// The mean margin in standard deviations.
    fn distance(&self) -> f64 {
        let runs = f64::from(self.runs.max(1));
        let mean = self.margins / runs;
        let variance = (self.squares / runs - mean * mean).max(0.0);
        let distance = mean / variance.sqrt();
        if distance.is_nan() { 0.0 } else { distance.clamp(-1e6, 1e6) }
    }

    /// Whether it is all the same.
    fn is_clear(&self) -> bool {
        self.fine.min(self.runs - self.fine) == 0 && self.distance().abs() >= FAR
    }

    fn guess(&self) -> Guess {
        let (runs, rare) = (f64::from(self.runs), self.fine.min(self.runs - self.fine));
        let found = f64::from(self.fine) / runs;
        if rare >= FEW {
            // Three standard deviations.
            return Guess { chance: found, doubt: 3.0 * (found * (1.0 - found) / runs).sqrt() };
        }
        let (is_fine, distance) = (self.fine > self.runs - self.fine, self.distance().abs());
        // Nine in a thousand samples of a chance that large would have shown no more of it.
        let most = (f64::from(rare) + 4.7 + 2.0 * f64::from(rare).sqrt()) / runs;
        let tail = normal_tail(distance).max(f64::from(rare) / runs).min(most);
        // Tails of margins are longer than normal ones.
        let doubt = normal_tail(0.6 * distance).min(most).max(tail.min(most - tail)) + EXACTLY;
        Guess { chance: if is_fine { 1.0 - tail } else { tail }, doubt }
    }
}

/// A binomial number.
fn binomial(random: &mut Random, n: u64, p: f64) -> u64 {
    if p > 0.5 {
        return n - binomial(random, n, 1.0 - p);
    }
    let (mean, variance) = (n as f64 * p, n as f64 * p * (1.0 - p));
    if variance > ROUND {
        let number = mean + variance.sqrt() * random.normal();
        return number.round().clamp(0.0, n as f64) as u64;
    }
    let (mut at, odds) = (random.unit(), p / (1.0 - p));
    let mut term = (n as f64 * (-p).ln_1p()).exp();
    for x in 0..n {
        if at < term {
            return x;
        }
        at -= term;
        term *= (n - x) as f64 / (x + 1) as f64 * odds;
        if term < 1e-30 && x as f64 > mean {
            return x;
        }
    }
    n
}
