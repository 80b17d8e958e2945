//! How likely is a bucket of x rows diverse, when each row draws its sensitive value by chance?
//!
//! [Nergiz, Tamersoy and Saygin 2011], section 5.1: value j occurs U_j times, the U_j are
//! multinomial with x rows and the shares l'_j. The paper asks that none passes its cap x/l. Here
//! anything may be asked that can be counted, in three ways: caps (`capped`) and distinct values
//! (`distinct`) by formulas, the rest by dealing buckets (`dealt`).
//!
//! | here | paper |
//! |---|---|
//! | shares | sensitivity likelihoods l'_j |
//! | caps | 1/l for each value; l+-diversity has others |
//! | [`Diversity::chance`] | P(I \| X = x), the conditional l-diversity probability |
//!
//! MAX is the paper's section 6.4 with shares in proportion to their caps, for large buckets only.
//! LIMIT is its section 6.3, and needs care: the chance goes to 1 or to 0, but in steps, since x/l
//! is rounded down: of two values with l = 2, three rows can never be diverse. So it is taken to
//! have settled when it was beyond the threshold for as many sizes as a step is long, and only on
//! the side where theorem 6.1 says that it ends. The threshold is 1e-5, not the paper's 0.01: there
//! may be a million buckets.

mod capped;
mod dealt;
mod distinct;

use super::asked::Asked;
use super::multinomial::Shortcuts;
use crate::error::Result;
use crate::watch::Watch;
use capped::Capped;
use dealt::{Dealt, Effort};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// A chance that has come so near to 0 or 1 stays there.
const SETTLED: f64 = 1e-5;

/// By how much a sum of many terms may be off.
const EXACTLY: f64 = 1e-9;

/// Of what is dealt, small sizes differ from their neighbours for so long.
const LUMPS: u64 = 12;

/// Sizes of buckets that are convolved: of which many buckets ask, and others.
const CONVOLVED: (u64, u64) = (256, 64);

/// A probability, and by how much it may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guess {
    /// The probability.
    pub chance: f64,
    /// How far it may be from the truth.
    pub doubt: f64,
}

impl Guess {
    const ALWAYS: Guess = Guess { chance: 1.0, doubt: 0.0 };
    const NEVER: Guess = Guess { chance: 0.0, doubt: 0.0 };

    fn between(lower: f64, upper: f64) -> Guess {
        Guess { chance: (lower + upper) / 2.0, doubt: (upper - lower).abs() / 2.0 + EXACTLY }
    }
}

#[derive(Clone, Debug)]
enum Way {
    /// Values with caps.
    Capped(Capped),
    /// At least so many of the values with these shares, the largest first.
    Distinct(Vec<f64>, u64),
    Dealt(Dealt),
}

/// Believed shares of values, and what is asked of them.
#[derive(Clone, Debug)]
pub struct Diversity {
    way: Way,
    /// Sizes after which rounding repeats itself.
    period: u64,
    /// Whether chances go to 1 as buckets grow.
    rises: bool,
    shortcuts: Shortcuts,
    /// Whether many buckets have these shares.
    is_shared: bool,
    /// Chances that were asked for.
    known: RefCell<FxHashMap<u64, Guess>>,
}

impl Diversity {
    /// Of values with these shares, which need not add up to one.
    pub fn new(shares: &[f64], asked: &Asked, shortcuts: Shortcuts) -> Diversity {
        let whole: f64 = shares.iter().sum();
        let occurring = (0u32..).zip(shares).filter(|(_, share)| **share > 0.0);
        let values: Vec<(u32, f64)> =
            occurring.map(|(value, share)| (value, (share / whole).min(1.0))).collect();
        let (way, period, rises) = match asked {
            Asked { caps: Some(caps), distinct: 0 | 1, judges } if judges.is_empty() => {
                let values = values.iter().map(|(value, share)| (*share, caps[*value as usize]));
                let capped = Capped::new(values.collect(), shortcuts);
                let (period, rises) = (capped.period(), capped.rises());
                (Way::Capped(capped), period, rises)
            }
            Asked { caps: None, distinct, judges } if judges.is_empty() => {
                let mut shares: Vec<f64> = values.iter().map(|(_, share)| *share).collect();
                shares.sort_by(|a, b| b.total_cmp(a));
                let rises = shares.len() as u64 >= *distinct;
                (Way::Distinct(shares, *distinct), 1, rises)
            }
            _ => {
                let caps = asked.caps.iter().flatten();
                let period = caps.map(|cap| cap.period()).max().unwrap_or(1).max(LUMPS);
                let dealt = Dealt::new(values, asked.clone());
                let rises = dealt.rises();
                (Way::Dealt(dealt), period, rises)
            }
        };
        let known = RefCell::default();
        Diversity { way, period, rises, shortcuts, is_shared: false, known }
    }

    /// The same, for many buckets: more work goes into a chance.
    pub fn shared(self) -> Diversity {
        Diversity { is_shared: true, ..self }
    }

    /// Sizes after which rounding repeats itself.
    pub(super) fn period(&self) -> u64 {
        self.period
    }

    /// The chance that `rows` rows are diverse.
    pub fn chance(&self, rows: u64, watch: &Watch) -> Result<Guess> {
        let Way::Dealt(_) = self.way else { return self.remembered(rows, watch) };
        let (below, above, way) = Dealt::knots(rows, self.effort());
        let first = self.remembered(below, watch)?;
        if way == 0.0 {
            return Ok(first);
        }
        let second = self.remembered(above, watch)?;
        let chance = first.chance + way * (second.chance - first.chance);
        let doubt = first.doubt.max(second.doubt) + (second.chance - first.chance).abs() / 4.0;
        Ok(Guess { chance, doubt })
    }

    fn remembered(&self, rows: u64, watch: &Watch) -> Result<Guess> {
        if let Some(known) = self.known.borrow().get(&rows) {
            return Ok(*known);
        }
        let guess = self.computed(rows, watch)?;
        self.known.borrow_mut().insert(rows, guess);
        Ok(guess)
    }

    fn computed(&self, rows: u64, watch: &Watch) -> Result<Guess> {
        if rows == 0 {
            return Ok(Guess::ALWAYS);
        }
        match &self.way {
            Way::Capped(capped) => {
                let exact = if self.is_shared { CONVOLVED.0 } else { CONVOLVED.1 };
                capped.chance(rows, exact, watch)
            }
            Way::Distinct(shares, least) => distinct::chance(shares, *least, rows, watch),
            Way::Dealt(dealt) => dealt.chance(rows, self.effort(), watch),
        }
    }

    fn effort(&self) -> Effort {
        if self.is_shared { Effort::SHARED } else { Effort::OWN }
    }

    /// The chances of growing buckets, one size after the other.
    pub fn growing(&self) -> Growing<'_> {
        Growing { diversity: self, beyond: 0, settled: None }
    }
}

/// Asks for the chances of ascending sizes, and for none any more when they have settled.
#[derive(Debug)]
pub struct Growing<'a> {
    diversity: &'a Diversity,
    beyond: u64,
    settled: Option<f64>,
}

impl Growing<'_> {
    /// The chance at a size, which is above the last one asked for.
    pub fn chance(&mut self, rows: u64, watch: &Watch) -> Result<Guess> {
        if let Some(chance) = self.settled {
            return Ok(Guess { chance, doubt: SETTLED });
        }
        let guess = self.diversity.chance(rows, watch)?;
        let end = if self.diversity.rises { 1.0 } else { 0.0 };
        // What is dealt may be impossible for the smallest sizes, likely for others, and fall then.
        let may_end = self.diversity.rises || !matches!(self.diversity.way, Way::Dealt(_));
        let is_beyond = (guess.chance - end).abs() + guess.doubt <= SETTLED;
        self.beyond = if is_beyond { self.beyond + 1 } else { 0 };
        // The paper goes on with the threshold itself; the limit is nearer to what follows.
        if self.diversity.shortcuts.limit && may_end && self.beyond > self.diversity.period {
            self.settled = Some(end);
        }
        Ok(guess)
    }

    /// The chance at all sizes that follow, where it is known.
    pub fn settled(&self) -> Option<f64> {
        self.settled
    }
}
