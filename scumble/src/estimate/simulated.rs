//! Are estimates what happens? Against every way to deal out a few rows, and against rows that are
//! dealt by chance.

use super::asked::{Asked, Cap};
use super::binomial::Binomial;
use super::bucket::{of_rows, of_values};
use super::diverse::Diversity;
use super::grid::{Grid, Levels};
use super::multinomial::{Shortcuts, Total};
use crate::random::Random;
use crate::ratio::Ratio;
use crate::watch::Watch;
use proptest::prelude::*;

fn total(rows: u64, likelihoods: &[f64], k: u64, shortcuts: Shortcuts) -> Total {
    let mut total = Total::default();
    for likelihood in likelihoods {
        let size = Binomial { n: rows, p: *likelihood };
        total.add(size.into(), &of_rows(size, k, shortcuts), 1.0);
    }
    total
}

/// Every way to deal `rows` rows to buckets, with its chance.
fn deals(rows: usize, likelihoods: &[f64], each: &mut impl FnMut(&[usize], f64)) {
    fn go(
        left: usize,
        chance: f64,
        rest: &[f64],
        sizes: &mut Vec<usize>,
        each: &mut impl FnMut(&[usize], f64),
    ) {
        let [first, others @ ..] = rest else {
            return if left == 0 {
                each(sizes, chance)
            };
        };
        let mut term = chance;
        for size in 0..=left {
            sizes.push(size);
            go(left - size, term, others, sizes, each);
            sizes.pop();
            // left! / (size! (left - size)!) first^size: the others bring in what is left.
            term *= (left - size) as f64 / (size + 1) as f64 * first;
        }
    }
    go(rows, 1.0, likelihoods, &mut Vec::new(), each);
}

/// Probability and expectation of k-anonymity by enumeration.
fn exactly(rows: usize, likelihoods: &[f64], k: usize) -> (f64, f64) {
    let (mut probability, mut outliers, mut whole) = (0.0, 0.0, 0.0);
    deals(rows, likelihoods, &mut |sizes, chance| {
        let lost: usize = sizes.iter().filter(|size| **size < k).sum();
        whole += chance;
        outliers += chance * lost as f64;
        probability += if lost == 0 { chance } else { 0.0 };
    });
    assert!((whole - 1.0).abs() < 1e-9);
    (probability, outliers)
}

fn random_likelihoods(random: &mut Random, buckets: usize, skew: i32) -> Vec<f64> {
    let weights: Vec<f64> = (0..buckets).map(|_| (1.0 - random.unit()).powi(skew) + 1e-9).collect();
    let whole: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / whole).collect()
}

/// Rows dealt by chance: the shares of deals that are fine, and the mean of outliers.
fn simulated(random: &mut Random, rows: u64, likelihoods: &[f64], k: u32, runs: u32) -> (f64, f64) {
    let mut ends = Vec::new();
    let mut sum = 0.0;
    for likelihood in likelihoods {
        sum += likelihood;
        ends.push(sum);
    }
    let (mut fine, mut outliers) = (0, 0u64);
    for _ in 0..runs {
        let mut sizes = vec![0u32; likelihoods.len()];
        for _ in 0..rows {
            let at = random.unit() * sum;
            sizes[ends.partition_point(|end| *end <= at).min(likelihoods.len() - 1)] += 1;
        }
        let lost: u64 = sizes.iter().filter(|size| **size < k).map(|size| u64::from(*size)).sum();
        fine += u32::from(lost == 0);
        outliers += lost;
    }
    (f64::from(fine) / f64::from(runs), outliers as f64 / f64::from(runs))
}

#[test]
fn expectation_is_exact_and_probability_near_for_few_rows() {
    let mut random = Random::new(1);
    let mut worst: f64 = 0.0;
    for case in 0..60 {
        let buckets = 2 + case % 4;
        let likelihoods = random_likelihoods(&mut random, buckets, 1 + case as i32 % 3);
        let rows = 6 + random.below(13) as usize;
        for k in 2..6 {
            let (probability, outliers) = exactly(rows, &likelihoods, k);
            let found = total(rows as u64, &likelihoods, k as u64, Shortcuts::NONE);
            assert!(
                (found.outliers() - outliers).abs() < 1e-9,
                "{} is not {outliers}",
                found.outliers()
            );
            worst = worst.max((found.probability(rows as u64) - probability).abs());
        }
    }
    // So few rows are far from normal, and yet.
    assert!(worst < 0.15, "probability is off by {worst}");
}

/// The stated errors: 0.08 for up to ten buckets, 0.04 beyond, besides three standard deviations of
/// the simulation.
#[test]
fn estimates_agree_with_simulation_from_2_to_100_000_buckets() {
    let mut random = Random::new(2);
    let cases = [
        (2, 60, 20),
        (2, 400, 180),
        (5, 300, 40),
        (10, 1000, 70),
        (100, 5000, 25),
        (1000, 30_000, 10),
    ];
    let cases = cases.into_iter().chain([
        (1000, 40_000, 20),
        (10_000, 200_000, 5),
        (100_000, 1_000_000, 2),
    ]);
    for (buckets, rows, k) in cases {
        let runs: u32 = if rows <= 1000 {
            4000
        } else if rows <= 5000 {
            1500
        } else if rows <= 50_000 {
            150
        } else {
            6
        };
        for skew in [0, 1] {
            let likelihoods: Vec<f64> = random_likelihoods(&mut random, buckets, skew);
            let (fine, outliers) = simulated(&mut random, rows, &likelihoods, k, runs);
            for shortcuts in [Shortcuts::NONE, Shortcuts::ALL] {
                let found = total(rows, &likelihoods, k.into(), shortcuts);
                let probability = found.probability(rows);
                let chance =
                    3.0 * (fine * (1.0 - fine) / f64::from(runs)).sqrt() + 1.0 / f64::from(runs);
                let stated = if buckets <= 10 { 0.08 } else { 0.04 };
                assert!(
                    (probability - fine).abs() <= stated + chance,
                    "{buckets} {rows} {k}: {probability}, not {fine}"
                );
                let noise = 4.0 * (f64::from(k) * (outliers + 1.0) / f64::from(runs)).sqrt();
                assert!(
                    (found.outliers() - outliers).abs() <= noise + 0.01 * outliers,
                    "{buckets} {rows} {k}: {outliers}"
                );
            }
        }
    }
}

#[test]
fn a_million_buckets_do_not_underflow() {
    let found = |rows, k| total(rows, &vec![1e-6; 1_000_000], k, Shortcuts::ALL);
    // Forty rows each on average: some of a million buckets has fewer than 10 with a chance of
    // about 1e-3.
    let probability = found(40_000_000, 10).probability(40_000_000);
    assert!(probability > 0.9 && probability <= 1.0, "{probability}");
    let hopeless = found(2_000_000, 10);
    assert_eq!(hopeless.probability(2_000_000), 0.0);
    assert!(hopeless.ln_product < -1e5 && hopeless.outliers() > 1.9e6);
}

fn caps(l: u64, values: usize) -> Asked {
    Asked::caps(vec![Cap::at_most(Ratio::new(1, l).unwrap()); values])
}

/// P(I | X = x) against every way to deal values out to few rows.
#[test]
fn conditional_diversity_is_near_the_exact_one() {
    let mut random = Random::new(3);
    let mut worst: f64 = 0.0;
    for case in 0..40 {
        let values = 2 + case % 4;
        let shares = random_likelihoods(&mut random, values, 1 + case as i32 % 2);
        for l in 2..=3 {
            for rows in 1..=14u64 {
                let mut exact = 0.0;
                deals(rows as usize, &shares, &mut |sizes, chance| {
                    let fine = sizes.iter().all(|size| *size as u64 * l <= rows);
                    exact += if fine { chance } else { 0.0 };
                });
                let found = Diversity::new(&shares, &caps(l, values), Shortcuts::NONE)
                    .chance(rows, &Watch::silent())
                    .unwrap();
                let chance = found.chance;
                assert!(
                    (0.0..=1.0).contains(&chance) && (exact > 0.0 || chance == 0.0),
                    "{shares:?} {l} {rows}"
                );
                assert!((chance - exact).abs() <= found.doubt, "{shares:?} {l} {rows}");
                worst = worst.max(found.doubt);
            }
        }
    }
    assert!(worst < 1e-4, "in doubt by {worst}");
}

/// Diversity of whole tables: rows are dealt to buckets, each with a value.
#[test]
fn diversity_agrees_with_simulation() {
    let mut random = Random::new(4);
    for (buckets, rows, l, values) in
        [(3, 300, 2, 4), (8, 1200, 3, 6), (40, 6000, 2, 5), (200, 30_000, 4, 10)]
    {
        let likelihoods = random_likelihoods(&mut random, buckets, 1);
        let shares = random_likelihoods(&mut random, values, 0);
        let runs = if rows < 2000 { 1500 } else { 150 };
        let (mut fine, mut outliers) = (0, 0.0);
        for _ in 0..runs {
            let mut sizes = vec![vec![0u64; values]; buckets];
            for _ in 0..rows {
                let draw = |weights: &[f64], at: f64| {
                    let mut sum = 0.0;
                    weights
                        .iter()
                        .position(|weight| {
                            sum += weight;
                            at < sum
                        })
                        .unwrap_or(weights.len() - 1)
                };
                let bucket = draw(&likelihoods, random.unit());
                sizes[bucket][draw(&shares, random.unit())] += 1;
            }
            let failing = |size: &&Vec<u64>| size.iter().any(|count| count * l > size.iter().sum());
            let lost: u64 = sizes.iter().filter(failing).map(|size| size.iter().sum::<u64>()).sum();
            fine += u32::from(lost == 0);
            outliers += lost as f64;
        }
        let (fine, outliers) = (f64::from(fine) / f64::from(runs), outliers / f64::from(runs));
        for shortcuts in [Shortcuts::NONE, Shortcuts::ALL] {
            let mut total = Total::default();
            let diverse = [Diversity::new(&shares, &caps(l, values), shortcuts)];
            for likelihood in &likelihoods {
                let size = Binomial { n: rows, p: *likelihood };
                total.add(
                    size.into(),
                    &of_values(size, l, &diverse, shortcuts, &Watch::silent()).unwrap(),
                    1.0,
                );
            }
            let probability = total.probability(rows);
            assert!(
                (probability - fine).abs() < 0.1,
                "{buckets} {rows}: {probability}, not {fine}"
            );
            let noise = 0.1 * outliers
                + 4.0 * (outliers.max(1.0) * rows as f64 / buckets as f64 / f64::from(runs)).sqrt();
            assert!(
                (total.outliers() - outliers).abs() < noise,
                "{buckets} {rows}: {} not {outliers}",
                total.outliers()
            );
        }
    }
}

#[test]
fn one_bucket_holds_all_rows() {
    let even = [Diversity::new(&[0.3, 0.3, 0.4], &caps(2, 3), Shortcuts::ALL)];
    for size in [Binomial { n: 500, p: 1.0 }, Binomial { n: 500, p: 1.0 - 1e-12 }] {
        let mut total = Total::default();
        total.add(
            size.into(),
            &of_values(size, 2, &even, Shortcuts::ALL, &Watch::silent()).unwrap(),
            1.0,
        );
        assert!(total.probability(500) > 0.99 && total.outliers() < 1.0);
    }
}

#[test]
fn the_limit_waits_for_a_whole_step() {
    // Three rows of two values are never 2-diverse; large buckets of even shares with three values
    // are.
    let diversity = Diversity::new(&[0.4, 0.3, 0.3], &caps(2, 3), Shortcuts::ALL);
    let mut growing = diversity.growing();
    let chances: Vec<f64> =
        (1..2000).map(|rows| growing.chance(rows, &Watch::silent()).unwrap().chance).collect();
    assert_eq!((chances[0], growing.settled()), (0.0, Some(1.0)));
    assert!(chances[1] > 0.3 && chances[1998] == 1.0);
    // A share beyond the cap: down to 0, though the first sizes are 0 for another reason.
    let diversity = Diversity::new(&[0.6, 0.4], &caps(2, 2), Shortcuts::ALL);
    let mut growing = diversity.growing();
    assert_eq!(growing.chance(1, &Watch::silent()).unwrap().chance, 0.0);
    assert!(growing.chance(2, &Watch::silent()).unwrap().chance > 0.3);
}

fn listed(columns: &[Vec<f64>]) -> Vec<f64> {
    columns.iter().fold(vec![1.0], |products, column| {
        products
            .iter()
            .flat_map(|product| column.iter().map(move |share| product * share))
            .collect()
    })
}

/// The grid against the list of all buckets, with the error that it states.
#[test]
fn the_grid_is_as_good_as_it_says() {
    let mut random = Random::new(5);
    for (rows, k) in [(3000, 5), (30_000, 20), (500_000, 100)] {
        let columns: Vec<Vec<f64>> =
            [20, 8, 5, 2].iter().map(|size| random_likelihoods(&mut random, *size, 1)).collect();
        for shortcuts in [Shortcuts::NONE, Shortcuts::ALL] {
            let grid = Grid::new(rows, k, |size| Ok(of_rows(size, k, shortcuts)), &Watch::silent())
                .unwrap();
            // Coarser and coarser: the last columns go first.
            for kept in 0..=columns.len() {
                let truth = total(rows, &listed(&columns[..kept]), k, shortcuts);
                let multiset = columns[..kept].iter().fold(grid.whole(), |set, column| {
                    grid.times(&set, column, &Watch::silent()).unwrap()
                });
                let found = grid.total(&multiset);
                let [ln_error, outlier_error] = grid.error(&multiset, kept);
                assert!((found.squares - truth.squares).abs() < 1e-6 * truth.squares);
                let off = (found.outliers() - truth.outliers()).abs();
                assert!(
                    off <= outlier_error + 1e-3 * truth.outliers() + 1e-6,
                    "{off} beyond {outlier_error}"
                );
                // Steps of HYBRID and EXPO are no curve.
                if shortcuts == Shortcuts::NONE {
                    let off = (found.ln_product - truth.ln_product).abs();
                    assert!(
                        off <= ln_error + 1e-3 * truth.ln_product.abs() + 1e-6,
                        "{off} beyond {ln_error}"
                    );
                }
                let (found, truth) = (found.probability(rows), truth.probability(rows));
                assert!((found - truth).abs() < 0.02, "{kept} {rows} {k}: {found}, not {truth}");
            }
        }
    }
}

#[test]
fn levels_share_work_and_change_nothing() {
    let mut random = Random::new(6);
    let (rows, k) = (20_000, 10);
    let lists: Vec<Vec<Vec<f64>>> = [vec![12, 4, 1], vec![9, 3, 1], vec![5, 1], vec![2, 1]]
        .iter()
        .map(|sizes| sizes.iter().map(|size| random_likelihoods(&mut random, *size, 1)).collect())
        .collect();
    let grid =
        Grid::new(rows, k, |size| Ok(of_rows(size, k, Shortcuts::NONE)), &Watch::silent()).unwrap();
    let levels = Levels::new(&grid, &lists, &Watch::silent()).unwrap();
    for choice in 0..36 {
        let chosen = [choice % 3, choice / 3 % 3, choice / 9 % 2, choice / 18];
        let columns = chosen.iter().zip(&lists).map(|(level, lists)| &lists[*level]);
        let multiset = columns
            .fold(grid.whole(), |set, column| grid.times(&set, column, &Watch::silent()).unwrap());
        let (one, shared) = (grid.total(&multiset), levels.total(&chosen));
        assert!((one.outliers - shared.outliers).abs() < 1e-6 * (1.0 + one.outliers));
        assert!((one.ln_product - shared.ln_product).abs() < 1e-6 * (1.0 + one.ln_product.abs()));
        assert!((one.probability(rows) - shared.probability(rows)).abs() < 1e-6);
    }
}

proptest! {
    /// Theorem 3.5, by enumeration and within the stated error of the estimate: joining buckets
    /// never makes the probability lower nor the expectation higher.
    #[test]
    fn joined_buckets_are_not_worse(weights in prop::collection::vec(1u32..20, 3..6), rows in 6usize..16, k in 2usize..5) {
        let whole: u32 = weights.iter().sum();
        let fine: Vec<f64> = weights.iter().map(|weight| f64::from(*weight) / f64::from(whole)).collect();
        let mut coarse = fine[1..].to_vec();
        coarse[0] += fine[0];
        let (finer, coarser) = (exactly(rows, &fine, k), exactly(rows, &coarse, k));
        prop_assert!(coarser.0 >= finer.0 - 1e-12 && coarser.1 <= finer.1 + 1e-9);
        let estimate = |likelihoods: &[f64]| total(rows as u64, likelihoods, k as u64, Shortcuts::NONE);
        let (finer, coarser) = (estimate(&fine), estimate(&coarse));
        prop_assert!(coarser.outliers() <= finer.outliers() + 1e-9, "the expectation is exact");
        prop_assert!(coarser.probability(rows as u64) >= finer.probability(rows as u64) - 0.26);
    }
}
