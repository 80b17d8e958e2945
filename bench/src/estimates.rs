//! Are estimates as good as they say? Random tables are dealt as is believed, some thousand times
//! each, and judged by the requirement itself; what was estimated of them, and the error that was
//! stated, stand beside it.

use crate::harness::Measured;
use scumble::error::{Error, Result};
use scumble::estimate::bucket::Condition;
use scumble::estimate::multinomial::Shortcuts;
use scumble::estimate::trial::{Outcome, Trial, shares};
use scumble::privacy::{
    Distance, Diversity, Group, KAnonymity, LDiversity, Requirement, TCloseness, VarianceDiversity,
};
use scumble::random::Random;
use scumble::ratio::Ratio;
use scumble::table::Tallies;
use serde_json::{Value, json};

/// Tables that are dealt in each case.
pub const RUNS: u32 = 3000;

/// A difference of so many standard deviations of the simulation is no error of the estimate.
const NOISE: f64 = 4.0;

/// What is asked, in turn.
const KINDS: [&str; 8] = [
    "k",
    "frequency",
    "distinct",
    "entropy",
    "recursive, l = 2",
    "recursive, l = 3",
    "t-closeness",
    "variance",
];

/// How it is estimated: with which shortcuts, and whether buckets share their work on values.
const WAYS: [(&str, (Shortcuts, bool)); 3] = [
    ("histogram", (Shortcuts::ALL, true)),
    ("histogram, no shortcuts", (Shortcuts::NONE, true)),
    ("network", (Shortcuts::ALL, false)),
];

/// What is asked of a table with these shares of values.
fn requirement(
    kind: usize,
    random: &mut Random,
    shares: &[f64],
    mean: u64,
) -> Option<Box<dyn Requirement>> {
    let values = shares.len() as u64;
    let diverse = |form| Some(Box::new(LDiversity::new(0, form)?) as Box<dyn Requirement>);
    let hundredth =
        |random: &mut Random, from: u64, to: u64| Ratio::new(from + random.below(to - from), 100);
    match kind {
        0 => Some(Box::new(KAnonymity::new(2 + random.below(mean.max(2)))?)),
        1 => diverse(Diversity::Frequency(hundredth(random, 120, 100 * values.min(5))?)),
        2 => diverse(Diversity::Distinct(2 + random.below(values - 1))),
        3 => diverse(Diversity::Entropy(hundredth(random, 120, 80 * values)?)),
        4 => diverse(Diversity::Recursive { c: hundredth(random, 50, 400)?, l: 2 }),
        5 => diverse(Diversity::Recursive { c: hundredth(random, 100, 800)?, l: 3 }),
        6 => {
            let whole = shares.iter().map(|share| (share * 1e6).round() as u64 + 1).collect();
            let distance = match random.below(2) {
                0 => Distance::Equal,
                _ => Distance::Ordered((0..shares.len() as u32).collect()),
            };
            Some(Box::new(TCloseness::new(0, hundredth(random, 5, 60)?, distance, whole)?))
        }
        _ => {
            let numbers: Vec<f64> = (0..values).map(|_| random.below(20) as f64).collect();
            let average: f64 = numbers.iter().zip(shares).map(|(x, share)| x * share).sum();
            let spread = |(x, share): (&f64, &f64)| (x - average).powi(2) * share;
            let variance: f64 = numbers.iter().zip(shares).map(spread).sum();
            let asked = (variance * (20 + random.below(80)) as f64).round().max(1.0) as u64;
            Some(Box::new(VarianceDiversity::new(0, Ratio::new(asked, 100)?, numbers.into())?))
        }
    }
}

/// A random case of a kind.
fn case(kind: usize, random: &mut Random) -> Option<(Trial, Box<dyn Requirement>)> {
    let buckets = [2, 3, 5, 8, 20, 60, 200][random.below(7) as usize];
    let mean = [4, 8, 15, 30, 60][random.below(5) as usize];
    let values = 3 + random.below(8) as usize;
    let (flat, steep) = (random.below(3) as i32, random.below(3) as i32);
    let (likelihoods, shares) = (shares(random, buckets, flat), shares(random, values, steep));
    let requirement = requirement(kind, random, &shares, mean)?;
    let condition = Condition::default().and(requirement.believed(&[values]));
    Some((Trial { rows: mean * buckets as u64, likelihoods, shares, condition }, requirement))
}

/// Whether a bucket with these values may be released.
fn holds(requirement: &dyn Requirement, counts: &[(u32, u32)]) -> bool {
    let rows = counts.iter().map(|(_, count)| u64::from(*count)).sum();
    let tallies = [Tallies::from_parts(vec![0, counts.len() as u32], counts.to_vec())];
    requirement.holds(&Group { rows, columns: &tallies, index: 0 })
}

/// What one case has shown.
struct Shown {
    /// Probability and outliers: how far off, how much of that the simulation explains, and the
    /// stated error. Outliers as a share of the rows.
    off: [f64; 2],
    noise: [f64; 2],
    stated: [f64; 2],
}

impl Shown {
    fn new(trial: &Trial, outcome: &Outcome, way: (Shortcuts, bool)) -> Result<Shown> {
        let (total, error) = trial.estimate(way.0, way.1)?;
        let rows = trial.rows as f64;
        let off = [
            (total.probability(trial.rows) - outcome.probability).abs(),
            (total.outliers() - outcome.outliers).abs() / rows,
        ];
        let [chance, outliers] = outcome.deviations;
        // Where no table has shown outliers one might have, with a bucket of the largest size.
        let largest = trial.likelihoods.iter().copied().fold(0.0, f64::max);
        let noise = [NOISE * chance, NOISE * (outliers / rows).max(chance * largest)];
        Ok(Shown { off, noise, stated: [error[0], error[1] / rows] })
    }

    fn is_outside(&self, figure: usize) -> bool {
        self.off[figure] > self.stated[figure] + self.noise[figure]
    }
}

/// `cases` random cases, all kinds in turn, with every shortcut and with none.
pub fn estimates(cases: u32, runs: u32) -> Result<Measured> {
    let mut random = Random::new(18);
    let mut shown: Vec<[Vec<Shown>; 3]> = KINDS.iter().map(|_| Default::default()).collect();
    for number in 0..cases as usize {
        let kind = number % KINDS.len();
        let (trial, requirement) = case(kind, &mut random).ok_or(Error::Defect)?;
        let outcome = trial.run(runs, &mut random, |counts| holds(&*requirement, counts));
        for (shown, (_, way)) in shown[kind].iter_mut().zip(WAYS) {
            shown.push(Shown::new(&trial, &outcome, way)?);
        }
    }
    let mut rows = Vec::new();
    for (kind, shown) in KINDS.iter().zip(&shown) {
        for ((name, _), shown) in WAYS.iter().zip(shown) {
            let mut row: Vec<Value> = vec![json!(kind), json!(name), json!(shown.len())];
            for figure in 0..2 {
                let mean = |of: &dyn Fn(&Shown) -> f64| {
                    shown.iter().map(of).sum::<f64>() / shown.len().max(1) as f64
                };
                let most = |of: &dyn Fn(&Shown) -> f64| shown.iter().map(of).fold(0.0, f64::max);
                row.push(json!(mean(&|one| one.off[figure])));
                row.push(json!(most(&|one| one.off[figure])));
                row.push(json!(mean(&|one| one.stated[figure])));
                row.push(json!(most(&|one| one.stated[figure])));
                row.push(json!(shown.iter().filter(|one| one.is_outside(figure)).count()));
            }
            rows.push(row);
        }
    }
    let columns = vec![
        "requirement",
        "way",
        "cases",
        "probability: mean off",
        "most off",
        "mean stated",
        "most stated",
        "outside",
        "outliers / rows: mean off",
        "most off ",
        "mean stated ",
        "most stated ",
        "outside ",
    ];
    let title = format!("Estimates against {runs} dealt tables in each of {cases} cases");
    Ok(Measured { title, columns, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_case_is_outside_the_stated_error() {
        let measured = estimates(48, 500).unwrap();
        let outside = |name: &str| -> u64 {
            let at = measured.columns.iter().position(|column| *column == name).unwrap();
            measured.rows.iter().map(|row| row[at].as_u64().unwrap()).sum()
        };
        assert_eq!((outside("outside"), outside("outside ")), (0, 0), "{}", measured.to_text());
        assert_eq!(measured.rows.len(), WAYS.len() * KINDS.len());
    }
}
