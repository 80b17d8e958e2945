//! c-confident delta-presence: the range of delta-presence is kept with a confidence, when only
//! attribute distributions are known (Nergiz and Clifton 2008, sections 4, 5 and 7).
//!
//! An attacker may know the whole population; the publisher knows only how many of the others have
//! each value. So the world is a random one, and each person of the table must be present
//! within [min, max] in a share of worlds that is at least the confidence. For a class of n1 rows
//! that means: the number of others who match it is from c_low to c_high.
//!
//! | here | paper |
//! |---|---|
//! | [`Tuple`] | t* with n1 and f_i(t*[i]) for all attributes |
//! | [`ConfidentPresence::bounds`] | c_low = ceil(n1 / max - n1), c_high = floor(n1 / min - n1) |
//! | [`Shortcuts::practical`] | PA: what fails is taken to fail wherever it is finer |
//! | [`Shortcuts::sigmas`] | SD |
//! | [`Shortcuts::dominant`] | DM: only tuples that no other dominates are judged |
//! | [`Shortcuts::bucket`] | DC |
//!
//! What is added: the mean and the variance of the number of matches are known in closed form, and
//! by the inequalities of Cantelli, Chernoff, Bernstein and Berry-Esseen they decide most tuples
//! for certain ([`Shortcuts::moments`]). Certainty (a confidence of 1) is decided by the numbers of
//! matches that are possible at all. Where a cut leaves it open whether a tuple holds, it is
//! computed without ([`Shortcuts::refined`]); the paper refuses it. Equal tuples are judged once,
//! and those that agree on their rarest values share likelihoods ([`Shortcuts::shared`]): the order
//! of attributes does not matter, so they are taken from the rarest value on, which keeps bands
//! narrow.
//!
//! Every number rounds toward refusal; a confidence that equals what is asked is decided by
//! integers where 128 bits hold them.

mod bounds;
mod judge;

use super::{Shortcuts, Statement};
use crate::error::Result;
use crate::estimate::Hypergeometric;
use crate::ratio::Ratio;
use crate::watch::{PIECE, Watch};
use judge::Memory;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is known of a class: how many rows it has, and how many of the others have its value in
/// each attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tuple {
    rows: u64,
    /// Ascending: the order of attributes does not matter.
    marked: Vec<u64>,
    /// The same where no more than that is known: at least `marked`, at most these. Empty where
    /// they are equal.
    more: Vec<u64>,
    /// Which of the confidences it needs.
    needed: u32,
}

/// The presence that is asked for, and how often each value occurs among the others.
#[derive(Debug)]
pub struct ConfidentPresence {
    min: Ratio,
    max: Ratio,
    /// The confidence that rows need by default.
    asked: Ratio,
    /// Confidences that classes may need, ascending.
    confidences: Vec<Ratio>,
    /// The counted column that holds the number of the confidence that each row needs; all need the
    /// first where absent.
    needed_by: Option<usize>,
    /// `sums[column][code]`: others with a smaller code.
    sums: Vec<Vec<u64>>,
    /// The same for the people whom the marginals count, where the table's rows are among them.
    listed: Option<Vec<Vec<u64>>>,
    /// `occurring[column][code]`: smaller codes that the marginals count at all.
    occurring: Vec<Vec<u64>>,
    draws: Hypergeometric,
    cover_all: bool,
    shortcuts: Shortcuts,
    memory: Mutex<Memory>,
    seen: AtomicU64,
    judged: AtomicU64,
}

/// How much work was there, and how much of it was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Tuples of all releases that were judged.
    pub tuples: u64,
    /// Those that no other dominated.
    pub dominant: u64,
    /// Numbers that could occur in all rows of densities.
    pub possible: u64,
    /// Those that were computed.
    pub computed: u64,
}

/// The sum of all numbers before each, and of all.
fn sums(numbers: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut sums = vec![0];
    for number in numbers {
        sums.push(sums[sums.len() - 1] + number);
    }
    sums
}

impl ConfidentPresence {
    /// What must hold; `listed[column][code]` is how many people the marginals count with each
    /// code, the same number in every column. `own` is how many of them are rows of the table,
    /// where those are counted too.
    pub fn new(
        (min, max): (Ratio, Ratio),
        confidence: Ratio,
        listed: &[Vec<u64>],
        own: Option<&[Vec<u64>]>,
        cover_all: bool,
    ) -> ConfidentPresence {
        let all: Vec<Vec<u64>> = listed.iter().map(|counts| sums(counts.iter().copied())).collect();
        let others = match own {
            None => all.clone(),
            Some(own) => {
                let others = |(listed, own): (&Vec<u64>, &Vec<u64>)| {
                    sums(listed.iter().zip(own).map(|(listed, own)| listed.saturating_sub(*own)))
                };
                listed.iter().zip(own).map(others).collect()
            }
        };
        ConfidentPresence {
            min,
            max,
            asked: confidence,
            confidences: vec![confidence],
            needed_by: None,
            draws: Hypergeometric::new(
                others.first().and_then(|sums| sums.last()).copied().unwrap_or(0),
            ),
            sums: others,
            listed: own.map(|_| all),
            occurring: listed
                .iter()
                .map(|counts| sums(counts.iter().map(|count| u64::from(*count > 0))))
                .collect(),
            cover_all,
            shortcuts: Shortcuts::default(),
            memory: Mutex::default(),
            seen: AtomicU64::new(0),
            judged: AtomicU64::new(0),
        }
    }

    /// The same among so many others, where the marginals count more people than those.
    pub fn among(self, others: u64) -> ConfidentPresence {
        ConfidentPresence { draws: Hypergeometric::new(others), ..self }
    }

    /// The same with a confidence for each row: a counted column holds the number of each in an
    /// ascending list.
    pub fn with_confidences(self, column: usize, confidences: Vec<Ratio>) -> ConfidentPresence {
        ConfidentPresence { confidences, needed_by: Some(column), ..self }
    }

    /// The same with confidences that classes need, ascending; each tuple tells which.
    pub fn with_needs(self, confidences: Vec<Ratio>) -> ConfidentPresence {
        ConfidentPresence { confidences, ..self }
    }

    /// The same, judged with other shortcuts.
    pub fn with_shortcuts(self, shortcuts: Shortcuts) -> ConfidentPresence {
        ConfidentPresence { shortcuts, memory: Mutex::default(), ..self }
    }

    /// How it is judged.
    pub fn shortcuts(&self) -> Shortcuts {
        self.shortcuts
    }

    /// Whether every tuple that the marginals allow must be covered.
    pub fn covers_all(&self) -> bool {
        self.cover_all
    }

    /// The counted column with the confidence of each row.
    pub fn needed_by(&self) -> Option<usize> {
        self.needed_by
    }

    /// How many of the others have one of these codes.
    pub fn marked(&self, column: usize, codes: Range<u32>) -> u64 {
        self.sums[column][codes.end as usize] - self.sums[column][codes.start as usize]
    }

    /// How many people with one of these codes the marginals count, where the table's rows are
    /// among them.
    pub fn listed(&self, column: usize, codes: Range<u32>) -> Option<u64> {
        let sums = &self.listed.as_ref()?[column];
        Some(sums[codes.end as usize] - sums[codes.start as usize])
    }

    /// A class of so many rows, given what is marked of each attribute and which confidence is
    /// needed.
    pub fn tuple(&self, rows: u64, mut marked: Vec<u64>, needed: u32) -> Tuple {
        marked.sort_unstable();
        Tuple { rows, marked, more: Vec::new(), needed }
    }

    /// The same where others who have the value of an attribute are known to be from one number to
    /// another. Its confidence is the least that they can make: more others never make fewer
    /// matches likely (theorem 3).
    pub fn tuple_between(&self, rows: u64, marked: &[(u64, u64)], needed: u32) -> Tuple {
        let others = self.draws.others();
        let mut least: Vec<u64> = marked.iter().map(|(least, _)| (*least).min(others)).collect();
        let mut most: Vec<u64> = marked.iter().map(|(_, most)| (*most).min(others)).collect();
        least.sort_unstable();
        most.sort_unstable();
        match (self.min == Ratio::ZERO, self.max == Ratio::ONE) {
            // One end asks for one number alone.
            (true, _) => Tuple { rows, marked: least, more: Vec::new(), needed },
            (_, true) => Tuple { rows, marked: most, more: Vec::new(), needed },
            _ if least == most => Tuple { rows, marked: least, more: Vec::new(), needed },
            _ => Tuple { rows, marked: least, more: most, needed },
        }
    }

    /// How many of the others may match a class of so many rows: from c_low to c_high.
    pub fn bounds(&self, rows: u64) -> (u64, u64) {
        let parts = |ratio: Ratio| {
            let above = u128::from(rows) * u128::from(ratio.denominator() - ratio.numerator());
            (above, u128::from(ratio.numerator()))
        };
        let (above, below) = parts(self.max);
        let least = u64::try_from(above.div_ceil(below)).unwrap_or(u64::MAX);
        let most = match self.min.numerator() {
            0 => u64::MAX,
            _ => {
                let (above, below) = parts(self.min);
                u64::try_from(above / below).unwrap_or(u64::MAX)
            }
        };
        (least, most)
    }

    /// How much was done so far.
    pub fn work(&self) -> Work {
        let (possible, computed) = self.draws.work();
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Work { tuples: of(&self.seen), dominant: of(&self.judged), possible, computed }
    }

    /// How many tuples that the marginals allow lie in a box: every tuple of values that occur.
    pub fn volume(&self, side: impl Fn(usize) -> Range<u32>) -> u128 {
        let lengths = self.occurring.iter().enumerate().map(|(column, values)| {
            let codes = side(column);
            u128::from(values[codes.end as usize] - values[codes.start as usize])
        });
        lengths.fold(1u128, |volume, length| volume.saturating_mul(length))
    }

    /// Whether boxes that do not overlap cover every tuple that the marginals allow. `codes(class,
    /// column)` are a box's sides.
    pub fn is_covered(
        &self,
        classes: usize,
        codes: impl Fn(usize, usize) -> Range<u32>,
        watch: &Watch,
    ) -> Result<bool> {
        let whole = self.volume(|column| 0..self.occurring[column].len() as u32 - 1);
        let mut covered = 0u128;
        for class in 0..classes {
            if class % PIECE == 0 {
                watch.check()?;
            }
            covered = covered.saturating_add(self.volume(|column| codes(class, column)));
        }
        Ok(whole < u128::MAX && covered == whole)
    }

    /// What is asked, as a report states it.
    pub fn statement(&self) -> Statement {
        Statement {
            requirement: "delta-presence",
            kind: Some("confident"),
            column: None,
            required: self.asked.to_f64(),
            also: [Some(("min", self.min.to_f64())), Some(("max", self.max.to_f64()))],
            larger_is_safer: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn what_moments_say_holds_for_the_confidence(
            others in 2u64..3000,
            counts in prop::collection::vec(any::<u16>(), 1..5),
            rows in 1u64..60,
            (min, max) in prop::sample::select(vec![("0", "0.1"), ("0.02", "1"), ("0.02", "0.3"), ("0", "0.6")]),
        ) {
            let [min, max] = [min, max].map(|text| text.parse::<Ratio>().unwrap());
            let listed: Vec<Vec<u64>> = counts.iter().map(|_| vec![others]).collect();
            let asked = ConfidentPresence::new((min, max), Ratio::ONE, &listed, None, false);
            let marked = counts.iter().map(|count| u64::from(*count) % (others + 1)).collect();
            let tuple = asked.tuple(rows, marked, 0);
            let known = asked.known(&tuple);
            let confidence = asked.confidence(&tuple, &Watch::default()).unwrap();
            prop_assert!(1.0 - known.missed <= confidence + 1e-12 && confidence <= known.at_most + 1e-12, "{known:?} {confidence}");
            prop_assert_eq!(known.certain == Some(true), confidence == 1.0);
        }

        /// Where less is known, no more is claimed.
        #[test]
        fn less_knowledge_never_raises_a_confidence(
            others in 10u64..500,
            counts in prop::collection::vec((any::<u16>(), 0u64..20, 0u64..20), 1..4),
            rows in 1u64..20,
            (min, max) in prop::sample::select(vec![("0", "0.2"), ("0.05", "1"), ("0.02", "0.3")]),
        ) {
            let [min, max] = [min, max].map(|text| text.parse::<Ratio>().unwrap());
            let listed: Vec<Vec<u64>> = counts.iter().map(|_| vec![others]).collect();
            let asked = ConfidentPresence::new((min, max), Ratio::ONE, &listed, None, false);
            let exact: Vec<u64> = counts.iter().map(|(count, ..)| u64::from(*count) % (others + 1)).collect();
            let between: Vec<(u64, u64)> = exact.iter().zip(&counts)
                .map(|(exact, (_, less, more))| (exact.saturating_sub(*less), exact + more)).collect();
            let known = asked.confidence(&asked.tuple(rows, exact, 0), &Watch::default()).unwrap();
            let guessed = asked.confidence(&asked.tuple_between(rows, &between, 0), &Watch::default()).unwrap();
            prop_assert!(guessed <= known + 1e-12, "{guessed} {known}");
        }
    }
}
