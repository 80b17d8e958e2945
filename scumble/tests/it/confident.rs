//! Are confidences what exact arithmetic and simulated worlds say, and is the best release under
//! them the best?

use crate::fixture::{Folder, STRATEGIES, policy, read};
use proptest::prelude::*;
use scumble::bind::{Outside, Prepared};
use scumble::estimate::{Cut, Hypergeometric, Likelihoods, moments, reaches};
use scumble::policy::Policy;
use scumble::privacy::{ConfidentPresence, Shortcuts, Tuple};
use scumble::random::Random;
use scumble::recoding::Mapping;
use scumble::release::Recoded;
use scumble::search::lattice::incognito::Strategy as Order;
use scumble::search::lattice::sfalm;
use scumble::search::regions::mfalm;
use scumble::search::{Found, Warrant};
use scumble::table::Table;
use scumble::watch::Watch;
use std::collections::BTreeMap;
use std::fmt::Write as _;

fn choose(many: i128, some: i128) -> i128 {
    if some < 0 || some > many {
        0
    } else {
        (0..some).fold(1, |ways, at| ways * (many - at) / (at + 1))
    }
}

/// In how many ways sets of given sizes, out of `others`, have just x members in common: by
/// inclusion and exclusion, without the recursion over attributes. And how many ways there are.
fn ways(others: u64, marked: &[u64], x: u64) -> (i128, i128) {
    let (others, x) = (i128::from(others), i128::from(x));
    let product = |left: i128, taken: i128| {
        marked.iter().map(|m| choose(left, i128::from(*m) - taken)).product::<i128>()
    };
    let common = |j: i128| {
        let sign = if j % 2 == 0 { 1 } else { -1 };
        sign * choose(others - x, j) * product(others - x - j, x + j)
    };
    (choose(others, x) * (0..=others - x).map(common).sum::<i128>(), product(others, 0))
}

fn likelihoods(draws: &Hypergeometric, marked: &[u64], cut: Cut) -> Likelihoods {
    marked[1..].iter().fold(Likelihoods::certain(marked[0]), |before, marked| {
        draws.next(&before, *marked, cut, &Watch::default()).unwrap()
    })
}

fn ratio(text: &str) -> scumble::ratio::Ratio {
    text.parse().unwrap()
}

/// Confident presence where every column has one value with a count and another with the rest.
fn presence(
    others: u64,
    marked: &[u64],
    min: &str,
    max: &str,
    confidence: &str,
) -> ConfidentPresence {
    let listed: Vec<Vec<u64>> =
        marked.iter().map(|marked| vec![*marked, others - marked]).collect();
    ConfidentPresence::new((ratio(min), ratio(max)), ratio(confidence), &listed, None, false)
}

/// Tables 3 and 4 and the example of section 4: of the others 1 has a1, b1 and c1 each, 3 have a2,
/// b2 and c2.
#[test]
fn nergiz_2008_tables_3_and_4_the_confidence_is_15_of_16() {
    let draws = Hypergeometric::new(4);
    let two = likelihoods(&draws, &[3, 3], Cut::EXACT);
    // D1 and D2 of the two-dimensional functions.
    assert!((two.of(3) - 1.0 / 4.0).abs() < 1e-15 && (two.of(2) - 3.0 / 4.0).abs() < 1e-15);
    let three = likelihoods(&draws, &[3, 3, 3], Cut::EXACT);
    for (x, sixteenths) in [(0, 0.0), (1, 6.0), (2, 9.0), (3, 1.0)] {
        assert!((three.of(x) - sixteenths / 16.0).abs() < 1e-15, "{x}: {}", three.of(x));
    }
    let asked = presence(4, &[3, 3, 3], "0.33", "1", "15/16");
    assert_eq!(asked.bounds(1), (0, 2));
    let rare = asked.tuple(1, vec![1, 1, 1], 0);
    let common = asked.tuple(1, vec![3, 3, 3], 0);
    assert!(
        (asked.confidence(&common, &Watch::default()).unwrap() - 15.0 / 16.0).abs() < 1e-15
            && asked.confidence(&rare, &Watch::default()).unwrap() == 1.0
    );
    // Equality is decided by integers, and a little more is too much.
    for shortcuts in [Shortcuts::default(), Shortcuts::NONE] {
        let exactly = presence(4, &[3, 3, 3], "0.33", "1", "15/16").with_shortcuts(shortcuts);
        assert!(exactly.hold(&[rare.clone(), common.clone()], &Watch::default()).unwrap());
        let more = presence(4, &[3, 3, 3], "0.33", "1", "0.9375000001").with_shortcuts(shortcuts);
        assert!(!more.hold(&[rare.clone(), common.clone()], &Watch::default()).unwrap());
    }
    assert_eq!(asked.smallest(&[rare, common], &Watch::default()).unwrap().1, 0);
}

#[test]
fn bounds_are_exact() {
    let bounds = |rows, min: &str, max: &str| presence(4, &[1], min, max, "1").bounds(rows);
    // 3 of 30 are a tenth, 3 of 29 more.
    assert_eq!(bounds(3, "0", "0.1"), (27, u64::MAX));
    assert_eq!(bounds(3, "0.1", "0.1"), (27, 27));
    assert_eq!(bounds(7, "1/3", "2/3"), (4, 14));
    assert_eq!(bounds(1, "0.33", "1"), (0, 2));
    assert_eq!(
        bounds(1_000_000_007, "0", "1e-9"),
        (999_999_998_999_999_993 + 7_000_000_000, u64::MAX)
    );
}

/// Others, and how many of them have each of a few values.
fn counts(most: u64) -> impl Strategy<Value = (u64, Vec<u64>)> {
    (1..=most).prop_flat_map(|others| (Just(others), prop::collection::vec(0..=others, 1..5)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn likelihoods_are_those_of_exact_arithmetic((others, marked) in counts(22)) {
        let draws = Hypergeometric::new(others);
        let (mut mean, mut square, mut sum) = (0.0, 0.0, 0.0);
        for cut in [Cut::EXACT, Cut::NOTHING] {
            let found = likelihoods(&draws, &marked, cut);
            for x in 0..=others {
                let (good, all) = ways(others, &marked, x);
                let exact = good as f64 / all as f64;
                prop_assert!((found.of(x) - exact).abs() < 1e-13, "{x}: {} is not {exact}", found.of(x));
            }
            prop_assert!((found.mass() - 1.0).abs() < 1e-13);
        }
        for x in 0..=others {
            let (good, all) = ways(others, &marked, x);
            let share = good as f64 / all as f64;
            (mean, square, sum) = (mean + share * x as f64, square + share * (x * x) as f64, sum + share);
        }
        let (found, variance) = moments(others, &marked);
        prop_assert!((sum - 1.0).abs() < 1e-9 && (found - mean).abs() < 1e-9);
        prop_assert!((variance - (square - mean * mean)).abs() < 1e-8, "{variance}");
    }

    #[test]
    fn thresholds_are_decided_by_integers((others, marked) in counts(16), low in 0u64..8, more in 0u64..8) {
        let within = |x: &u64| (low..=low + more).contains(x);
        let good: i128 = (0..=others).filter(within).map(|x| ways(others, &marked, x).0).sum();
        let all = ways(others, &marked, 0).1;
        for (above, below) in [(1u64, 2u64), (15, 16), (1, 1), (0, 1), (9, 10)] {
            let expected = good * i128::from(below) >= all * i128::from(above);
            prop_assert_eq!(reaches(others, &marked, (low, low + more), (above, below)), Some(expected));
        }
    }

    #[test]
    fn cuts_and_buckets_only_lower((others, marked) in counts(3000), sigmas in 1u8..5, bucket in 1u64..7) {
        let draws = Hypergeometric::new(others);
        let exact = likelihoods(&draws, &marked, Cut::EXACT);
        for cut in [
            Cut { sigmas: Some(sigmas.into()), ..Cut::EXACT },
            Cut { bucket, ..Cut::EXACT },
            Cut { sigmas: Some(sigmas.into()), bucket, ..Cut::EXACT },
        ] {
            let lowered = likelihoods(&draws, &marked, cut);
            for x in 0..=others {
                prop_assert!(lowered.of(x) <= exact.of(x) * (1.0 + 1e-12) + 1e-18, "{x}");
            }
        }
    }

    /// The probability of too few or too many follows without the likelihood of each number.
    #[test]
    fn tails_are_the_sums_of_single_numbers(
        (others, marked) in counts(3000),
        low in any::<u16>(),
        more in any::<u16>(),
    ) {
        let draws = Hypergeometric::new(others);
        let numbers = likelihoods(&draws, &marked, Cut::NOTHING);
        let least = u64::from(low) % (others + 2);
        let within = (least, least + u64::from(more) % (others + 2));
        let (last, before) = marked.split_last().unwrap();
        let (below, above) = match before {
            [] => Likelihoods::certain(*last).outside(within.0, within.1),
            before => {
                let before = likelihoods(&draws, before, Cut::EXACT);
                draws.outside(&before, *last, within, &Watch::default()).unwrap()
            }
        };
        let single = numbers.outside(within.0, within.1);
        for (tail, sum) in [(below, single.0), (above, single.1)] {
            prop_assert!((tail - sum).abs() <= 1e-10 * sum + 1e-18, "{tail:e} is not {sum:e}");
        }
    }

    /// A confidence of 1 is met where every possible number of matches is within the range, and
    /// only there.
    #[test]
    fn certainty_is_decided_by_the_possible_numbers(
        (others, marked) in counts(22),
        rows in 1u64..6,
        (min, max) in prop::sample::select(vec![("0", "0.2"), ("0.2", "1"), ("0.1", "0.5"), ("0", "1")]),
    ) {
        let range = presence(others, &marked, min, max, "1").bounds(rows);
        let is_kept = |x: u64| (range.0..=range.1).contains(&x);
        let occurs: Vec<u64> = (0..=others).filter(|x| ways(others, &marked, *x).0 > 0).collect();
        let (every, none) =
            (occurs.iter().all(|x| is_kept(*x)), !occurs.iter().any(|x| is_kept(*x)));
        for shortcuts in [Shortcuts::default(), Shortcuts::NONE] {
            let asked = presence(others, &marked, min, max, "1").with_shortcuts(shortcuts);
            let tuple = asked.tuple(rows, marked.clone(), 0);
            prop_assert_eq!(asked.hold(std::slice::from_ref(&tuple), &Watch::default()).unwrap(), every);
            let (smallest, failing) = asked.smallest(std::slice::from_ref(&tuple), &Watch::default()).unwrap();
            prop_assert_eq!((smallest == 1.0, failing == 0), (every, every));
            prop_assert_eq!(asked.confidence(&tuple, &Watch::default()).unwrap() == 1.0, every);
            prop_assert_eq!(asked.confidence(&tuple, &Watch::default()).unwrap() == 0.0, none);
        }
    }

    /// Whatever is switched on or off: what is claimed is true, and with refinement nothing true is
    /// refused.
    #[test]
    fn shortcuts_never_claim_too_much(
        others in 30u64..400,
        picks in prop::collection::vec((1u64..6, prop::collection::vec(any::<u16>(), 3)), 1..12),
        (min, max) in prop::sample::select(vec![("0", "0.2"), ("0.05", "1"), ("0.02", "0.3")]),
        confidence in prop::sample::select(vec!["0.5", "0.8", "0.95"]),
        switches in any::<[bool; 7]>(),
    ) {
        let mut shortcuts = Shortcuts::default();
        for ((_, off), is_off) in Shortcuts::NAMES.iter().zip(switches) {
            if is_off {
                off(&mut shortcuts);
            }
        }
        let of = |shortcuts| presence(others, &[1, 1, 1], min, max, confidence).with_shortcuts(shortcuts);
        let (quick, slow) = (of(shortcuts), of(Shortcuts::NONE));
        let tuple = |(rows, counts): &(u64, Vec<u16>)| {
            quick.tuple(*rows, counts.iter().map(|count| u64::from(*count) % (others + 1)).collect(), 0)
        };
        let tuples: Vec<Tuple> = picks.iter().map(tuple).collect();
        let truth = slow.hold(&tuples, &Watch::default()).unwrap();
        prop_assert_eq!(truth, tuples.iter().all(|tuple| slow.holds(tuple, &Watch::default()).unwrap()));
        prop_assert!(!quick.hold(&tuples, &Watch::default()).unwrap() || truth);
        if !shortcuts.may_refuse() {
            prop_assert_eq!(quick.hold(&tuples, &Watch::default()).unwrap(), truth);
        }
        let (smallest, failing) = quick.smallest(&tuples, &Watch::default()).unwrap();
        let least = tuples.iter().map(|tuple| slow.confidence(tuple, &Watch::default()).unwrap()).fold(1.0, f64::min);
        prop_assert!((smallest - least).abs() < 1e-12);
        prop_assert_eq!(failing == 0, truth);
    }
}

#[test]
fn a_confidence_of_one_can_be_met_among_many_others() {
    for shortcuts in [Shortcuts::default(), Shortcuts::NONE] {
        let of = |min: &str, max: &str| {
            presence(1000, &[990, 995], min, max, "1").with_shortcuts(shortcuts)
        };
        // From 985 to 990 of the others match.
        let judge = |min: &str, max: &str| {
            let asked = of(min, max);
            let tuple = [asked.tuple(1, vec![990, 995], 0)];
            (
                asked.hold(&tuple, &Watch::default()).unwrap(),
                asked.smallest(&tuple, &Watch::default()).unwrap(),
            )
        };
        assert_eq!(judge("0", "1"), (true, (1.0, 0)));
        assert_eq!(judge("1/991", "1/986"), (true, (1.0, 0)));
        for (min, max) in [("1/991", "1/987"), ("1/990", "1/986")] {
            let (holds, (smallest, failing)) = judge(min, max);
            assert!(!holds && failing == 1 && (0.0..1.0).contains(&smallest), "{smallest}");
        }
    }
    // What a float cannot tell from 1 is not certain: only that all are somebody's is.
    let asked = presence(100_000, &[50_000, 50_000], "0", "0.5", "1");
    let tuple = [asked.tuple(1, vec![50_000, 50_000], 0)];
    let (smallest, failing) = asked.smallest(&tuple, &Watch::default()).unwrap();
    assert!(
        !asked.hold(&tuple, &Watch::default()).unwrap()
            && failing == 1
            && smallest < 1.0
            && smallest > 1.0 - 1e-12
    );
    // Nor does a confidence near 1 need certainty.
    let asked = presence(100_000, &[50_000, 50_000], "0", "0.5", "0.999999999999999");
    assert!(
        asked.hold(&tuple, &Watch::default()).unwrap()
            && asked.smallest(&tuple, &Watch::default()).unwrap().1 == 0
    );
}

/// The paper's example: 70 patients of 260 million people.
const AMERICANS: u64 = 260_000_000;

#[test]
fn what_is_nearly_certain_is_not_computed() {
    let asked = presence(AMERICANS, &[1, 1, 1], "0", "0.01", "0.95");
    let tuple = |at: u64| {
        let marked = [2, 5, 3 + at].map(|part| AMERICANS / part);
        asked.tuple(1 + at % 3, marked.to_vec(), 0)
    };
    let tuples: Vec<Tuple> = (0..2000).map(tuple).collect();
    let (smallest, failing) = asked.smallest(&tuples, &Watch::default()).unwrap();
    assert!(failing == 0 && smallest < 1.0 && smallest > 1.0 - 1e-11, "{smallest}");
    assert_eq!(asked.work().computed, 0);
}

/// Of classes with about the same confidence, one that no other can be below is computed.
#[test]
fn dominated_classes_are_not_computed() {
    let others = 2_600_000;
    for (min, max, hardest) in [("0", "0.01", 0), ("0.006", "1", 299)] {
        let of = || presence(others, &[1, 1, 1, 1], min, max, "0.9");
        let tuple = |asked: &ConfidentPresence, at: u64| {
            asked.tuple(2, vec![325_000 + at, 520_000, 430_000 + 2 * at, 60_000], 0)
        };
        let (one, all) = (of(), of());
        let alone = one.smallest(&[tuple(&one, hardest)], &Watch::default()).unwrap();
        let tuples: Vec<Tuple> = (0..300).map(|at| tuple(&all, at)).collect();
        assert_eq!(all.smallest(&tuples, &Watch::default()).unwrap(), alone);
        assert!((0.9..1.0 - 1e-9).contains(&alone.0), "{alone:?}");
        assert_eq!(all.work().computed, one.work().computed);
    }
}

/// A class of tens of millions: its matches stray by thousands, and a product of all pairs of
/// numbers would be billions.
#[test]
fn a_large_class_is_computed_in_linear_time() {
    let rows = 8;
    let marked = vec![AMERICANS / 2, AMERICANS / 2, AMERICANS / 2 + 12_345];
    let (mean, variance) = moments(AMERICANS, &marked);
    // One standard deviation below the mean is the least that may match.
    let max = format!("{rows}/{}", rows + (mean - variance.sqrt()) as u64);
    let asked = presence(AMERICANS, &[1, 1, 1], "0", &max, "0.8");
    let (smallest, failing) =
        asked.smallest(&[asked.tuple(rows, marked, 0)], &Watch::default()).unwrap();
    assert!(failing == 0 && (smallest - 0.8413).abs() < 1e-3, "{smallest}");
    assert!(asked.work().computed < 1_000_000, "{:?}", asked.work());
}

/// Worlds drawn at random: each attribute's values are dealt out to the others anew.
#[test]
fn simulated_worlds_agree_on_larger_populations() {
    let mut random = Random::new(11);
    for (others, marked, rows) in [
        (400u64, vec![300u64, 200, 250], 10u64),
        (5000, vec![600, 2500, 3000, 4000], 16),
        (3000, vec![2900, 1500], 161),
    ] {
        let asked = presence(others, &marked, "0.05", "0.1", "0.5");
        let (least, most) = asked.bounds(rows);
        let confidence =
            asked.confidence(&asked.tuple(rows, marked.clone(), 0), &Watch::default()).unwrap();
        let worlds = 3000;
        let mut good = 0;
        for _ in 0..worlds {
            let mut matches = vec![true; others as usize];
            for marked in &marked {
                // A person is marked with the chance that is left among those who are.
                let mut left = *marked;
                for (at, matching) in matches.iter_mut().enumerate() {
                    let is_marked = random.below(others - at as u64) < left;
                    left -= u64::from(is_marked);
                    *matching &= is_marked;
                }
            }
            let matching = matches.iter().filter(|matching| **matching).count() as u64;
            good += u32::from((least..=most).contains(&matching));
        }
        let share = f64::from(good) / f64::from(worlds);
        let error = (confidence * (1.0 - confidence) / f64::from(worlds)).sqrt();
        assert!(confidence > 0.02 && confidence < 0.98, "a case that says something: {confidence}");
        assert!(
            (share - confidence).abs() < 4.5 * error,
            "{share} of worlds, {confidence} computed"
        );
    }
}

/// Hundreds of thousands of people: the mass stays, and so does the mean.
#[test]
fn large_populations_keep_their_precision() {
    for others in [300_000u64, 3_000_000] {
        let marked = [others / 7, others / 3, others / 2, others - others / 5];
        let found = likelihoods(&Hypergeometric::new(others), &marked, Cut::EXACT);
        let (mean, variance) = moments(others, &marked);
        let numbers =
            || (0..others).map(|x| (x as f64, found.of(x))).filter(|(_, share)| *share > 0.0);
        let sum: f64 = numbers().map(|(x, share)| x * share).sum();
        let spread: f64 = numbers().map(|(x, share)| (x - mean) * (x - mean) * share).sum();
        assert!((found.mass() - 1.0).abs() < 1e-12, "{}", found.mass());
        assert!((sum / mean - 1.0).abs() < 1e-11 && (spread / variance - 1.0).abs() < 1e-7);
    }
}

/// A random world with a part of it as the table, three attributes with small hierarchies.
struct Small {
    folder: Folder,
    /// The values of each person; the first `private` are in the table.
    people: Vec<[u64; 3]>,
    private: usize,
}

const LEAVES: [u64; 3] = [4, 3, 2];

impl Small {
    fn new(name: &str, seed: u64) -> Small {
        let mut random = Random::new(seed);
        let private = 3 + random.below(8) as usize;
        let people = (0..private + 20 + random.below(40) as usize)
            .map(|_| LEAVES.map(|leaves| random.below(leaves).min(random.below(leaves))))
            .collect();
        let folder = Folder::new(&format!("{name}-{seed}"));
        folder.write("a.csv", "a0;a01;*\na1;a01;*\na2;a23;*\na3;a23;*\n");
        folder.write("b.csv", "b0;b01;*\nb1;b01;*\nb2;b2;*\n");
        folder.write("c.csv", "c0;*\nc1;*\n");
        let small = Small { folder, people, private };
        let mut table = String::from("a,b,c\n");
        for [a, b, c] in &small.people[..private] {
            writeln!(table, "a{a},b{b},c{c}").unwrap();
        }
        small.folder.write("table.csv", &table);
        let mut marginals = String::from("attribute,value,count\n");
        for (column, name) in ["a", "b", "c"].iter().enumerate() {
            let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
            small.people.iter().for_each(|person| *counts.entry(person[column]).or_default() += 1);
            counts.iter().for_each(|(value, count)| {
                writeln!(marginals, "{name},{name}{value},{count}").unwrap()
            });
        }
        small.folder.write("marginals.csv", &marginals);
        small
    }

    fn policy(&self, presence: &str, more: &str) -> Policy {
        let attribute = |name| {
            format!(
                "attributes.{name} = {{ role = \"quasi-identifier\", hierarchy = \"{name}.csv\" }}"
            )
        };
        let attributes: Vec<String> = ["a", "b", "c"].map(attribute).to_vec();
        let text = format!(
            "{}\nprivacy.presence = {{ {presence}, marginals = \"marginals.csv\" }}\n{more}",
            attributes.join("\n")
        );
        policy(self.folder.path("x").parent().unwrap(), &text)
    }

    fn prepared(&self, policy: &Policy, shortcuts: Shortcuts) -> (Table, Prepared) {
        let table = read(&self.folder.path("table.csv"), b',', policy);
        let mut prepared =
            policy.prepare_within(&table, Outside::default(), &Watch::default()).unwrap();
        prepared.task.confident =
            prepared.task.confident.map(|confident| confident.with_shortcuts(shortcuts));
        (table, prepared)
    }

    /// What a value is called at a level.
    fn label(column: usize, value: u64, level: usize) -> u64 {
        match (column, level) {
            (_, 0) => value,
            (0 | 1, 1) => 10 + value / 2,
            _ => 99,
        }
    }

    /// Whether every class at some levels has its confidence, by inclusion and exclusion over the
    /// counts of the others.
    fn holds(&self, levels: &[usize], (min, max): (f64, f64), confidence: f64) -> bool {
        let said = |person: &[u64; 3]| -> Vec<u64> {
            (0..3).map(|column| Small::label(column, person[column], levels[column])).collect()
        };
        let (private, others) = self.people.split_at(self.private);
        let mut classes: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
        private.iter().for_each(|person| *classes.entry(said(person)).or_default() += 1);
        classes.iter().all(|(class, rows)| {
            let count = |column: usize| {
                others.iter().filter(|person| said(person)[column] == class[column]).count()
            };
            let marked: Vec<u64> = (0..3).map(|column| count(column) as u64).collect();
            let total = others.len() as u64;
            let present = |x: u64| {
                let share = *rows as f64 / (*rows + x) as f64;
                share >= min - 1e-12 && share <= max + 1e-12
            };
            let found = likelihoods(&Hypergeometric::new(total), &marked, Cut::NOTHING);
            (0..=total).filter(|x| present(*x)).map(|x| found.of(x)).sum::<f64>()
                >= confidence - 1e-9
        })
    }

    fn all_levels() -> Vec<Vec<usize>> {
        (0..18).map(|at| vec![at % 3, at / 3 % 3, at / 9]).collect()
    }
}

fn lm(prepared: &Prepared, levels: &[usize]) -> f64 {
    Recoded::new(&prepared.task, &Mapping::Levels(levels.to_vec()), &Watch::default())
        .unwrap()
        .lm(&prepared.task)
}

fn search(prepared: &Prepared, strategy: Order) -> Option<Found> {
    sfalm::search(&prepared.task, strategy, &Watch::default()).ok()
}

#[test]
fn sfalm_without_practical_anti_monotonicity_is_the_best_of_all() {
    let (mut found_some, mut infeasible, mut not_monotone, mut pa_missed) = (0, 0, 0, 0);
    for seed in 0..150 {
        let small = Small::new("sfalm", seed);
        let (presence, range, confidence) = match seed % 4 {
            0 => ("min = 0, max = 0.25, confidence = 0.7", (0.0, 0.25), 0.7),
            3 => ("min = 0, max = 0.12, confidence = 0.7", (0.0, 0.12), 0.7),
            1 => ("min = 0.05, max = 0.5, confidence = 0.6", (0.05, 0.5), 0.6),
            _ => ("min = 0.04, max = 1, confidence = 0.8", (0.04, 1.0), 0.8),
        };
        let policy = small.policy(presence, "");
        let exact = Shortcuts { practical: false, ..Shortcuts::default() };
        let (_table, prepared) = small.prepared(&policy, exact);
        let feasible: Vec<Vec<usize>> = Small::all_levels()
            .into_iter()
            .filter(|levels| small.holds(levels, range, confidence))
            .collect();
        let best = feasible.iter().map(|levels| lm(&prepared, levels)).min_by(f64::total_cmp);
        for strategy in STRATEGIES {
            let found = search(&prepared, strategy);
            assert_eq!(found.is_some(), best.is_some(), "seed {seed}");
            if let (Some(found), Some(best)) = (found, best) {
                assert_eq!(found.warrant, Warrant::Optimal);
                assert!(
                    (lm(&prepared, found.mapping.levels()) - best).abs() < 1e-12,
                    "seed {seed} {strategy:?}"
                );
                found_some += 1;
            }
        }
        infeasible += usize::from(best.is_none());
        // With PA: never an infeasible release, never better than the best, and the best where it
        // is anti-monotone.
        let monotone = feasible.iter().all(|fine| {
            let coarser =
                |coarse: &&Vec<usize>| coarse.iter().zip(fine).all(|(coarse, fine)| coarse >= fine);
            Small::all_levels().iter().filter(coarser).all(|coarse| feasible.contains(coarse))
        });
        not_monotone += usize::from(!monotone);
        let (_table, prepared) = small.prepared(&policy, Shortcuts::default());
        for strategy in STRATEGIES {
            match search(&prepared, strategy) {
                // Before it is said that none holds, all have been judged.
                None => assert!(best.is_none(), "seed {seed}"),
                Some(found) => {
                    assert!(feasible.contains(&found.mapping.levels().to_vec()), "seed {seed}");
                    let cost = lm(&prepared, found.mapping.levels());
                    let is_best = best.is_some_and(|best| (cost - best).abs() < 1e-12);
                    // Only a search without PA proves something.
                    assert!(found.warrant == Warrant::AtLeast(0.0) || !monotone && is_best);
                    assert!(is_best || !monotone, "seed {seed}: {cost}");
                    pa_missed += usize::from(!is_best);
                }
            }
        }
    }
    assert!(
        found_some > 100 && infeasible > 3 && not_monotone > 3,
        "{found_some} {infeasible} {not_monotone} {pa_missed}"
    );
}

#[test]
fn regions_are_confident_and_no_worse_than_the_full_domain() {
    let (mut parted, mut better) = (0, 0);
    for seed in 0..60 {
        let small = Small::new("mfalm", seed);
        for of in ["", ", marginals-of = \"others\""] {
            let presence = format!("min = 0, max = 0.4, confidence = 0.6{of}");
            let policy = small.policy(&presence, "search.algorithm = \"mpalm\"");
            let (_table, prepared) = small.prepared(&policy, Shortcuts::default());
            let Ok(found) = mfalm::search(&prepared.task, &Watch::silent()) else { continue };
            let recoded = Recoded::new(&prepared.task, &found.mapping, &Watch::default()).unwrap();
            let confident = prepared.task.confident.as_ref().unwrap();
            for class in recoded.classes.ids() {
                let codes = recoded.classes.codes(class).iter().enumerate();
                let marked = codes.map(|(column, value)| {
                    confident.marked(column, recoded.values[column].range(*value).unwrap())
                });
                let rows = u64::from(recoded.classes.count(class));
                let tuple = confident.tuple(rows, marked.collect(), 0);
                assert!(
                    confident.confidence(&tuple, &Watch::default()).unwrap() >= 0.6 - 1e-12,
                    "seed {seed}"
                );
            }
            parted += usize::from(recoded.classes.len() > 1);
            let full = search(&prepared, Order::BestFirst).unwrap();
            let (regions, levels) =
                (recoded.lm(&prepared.task), lm(&prepared, full.mapping.levels()));
            assert!(regions <= levels + 1e-12, "seed {seed}: {regions} and {levels}");
            better += usize::from(regions < levels - 1e-12);
        }
    }
    assert!(parted > 40 && better > 20, "{parted} {better}");
}

#[test]
fn none_holds_is_said_only_of_recodings_that_were_judged() {
    let (range, confidence) = ((0.06, 1.0), 0.8);
    let mut only_below = 0;
    for seed in 0..150 {
        let small = Small::new("judged", seed);
        let policy = small.policy("min = 0.06, max = 1.0, confidence = 0.8", "");
        let (_table, prepared) = small.prepared(&policy, Shortcuts::default());
        let feasible: Vec<Vec<usize>> = Small::all_levels()
            .into_iter()
            .filter(|levels| small.holds(levels, range, confidence))
            .collect();
        // Where the most general recoding fails, PA takes all to fail.
        only_below += usize::from(!feasible.is_empty() && !feasible.contains(&vec![2, 2, 1]));
        for strategy in STRATEGIES {
            let found = search(&prepared, strategy);
            assert_eq!(found.is_some(), !feasible.is_empty(), "seed {seed} {strategy:?}");
            if let Some(found) = found {
                assert!(feasible.contains(&found.mapping.levels().to_vec()));
            }
        }
    }
    assert!(only_below > 5, "{only_below}");
}

/// A table of two numbers without a hierarchy, and how many of the others have each value.
fn numbers(name: &str, rows: &[[u64; 2]], listed: &[Vec<u64>; 2], asked: &str) -> (Folder, Policy) {
    let folder = Folder::new(name);
    let mut table = String::from("x,y\n");
    rows.iter().for_each(|[x, y]| writeln!(table, "{x},{y}").unwrap());
    folder.write("table.csv", &table);
    let mut marginals = String::from("attribute,value,count\n");
    for (name, counts) in ["x", "y"].iter().zip(listed) {
        counts.iter().enumerate().for_each(|(value, count)| {
            writeln!(marginals, "{name},{value},{count}").unwrap();
        });
    }
    folder.write("marginals.csv", &marginals);
    let text = format!(
        "attributes.x = {{ role = \"quasi-identifier\" }}\nattributes.y = {{ role = \"quasi-identifier\" }}\n\
         privacy.presence = {{ {asked}, marginals = \"marginals.csv\", marginals-of = \"others\" }}\n\
         search.algorithm = \"mpalm\""
    );
    let policy = policy(folder.path("x").parent().unwrap(), &text);
    (folder, policy)
}

/// The regions that are found, as the sides of each with its rows, and what is claimed of them.
type SidesAndRows = Vec<([std::ops::Range<u32>; 2], Vec<[u32; 2]>)>;

fn regions(folder: &Folder, policy: &Policy) -> Option<(Prepared, SidesAndRows, Warrant)> {
    let table = read(&folder.path("table.csv"), b',', policy);
    let prepared = policy.prepare_within(&table, Outside::default(), &Watch::default()).unwrap();
    let found = mfalm::search(&prepared.task, &Watch::silent()).ok()?;
    let recoded = Recoded::new(&prepared.task, &found.mapping, &Watch::default()).unwrap();
    let sides = |class| {
        let codes = recoded.classes.codes(class);
        [0, 1].map(|column| recoded.values[column].range(codes[column]).unwrap())
    };
    let mut regions: SidesAndRows =
        recoded.classes.ids().map(|class| (sides(class), Vec::new())).collect();
    let cells = &prepared.task.cells;
    for cell in cells.ids() {
        let codes = [cells.codes(cell)[0], cells.codes(cell)[1]];
        let is_in = |sides: &[std::ops::Range<u32>; 2]| {
            sides.iter().zip(&codes).all(|(side, code)| side.contains(code))
        };
        let region = regions.iter_mut().find(|(sides, _)| is_in(sides)).unwrap();
        region.1.extend(std::iter::repeat_n(codes, cells.count(cell) as usize));
    }
    Some((prepared, regions, found.warrant))
}

#[test]
fn numbers_are_parted_between_values_of_the_table() {
    // Of 100 others 10 have each x: a side of one value has too few, four values have enough.
    let listed = [vec![10; 10], vec![100]];
    let asked = "min = 0.0, max = 0.04, confidence = 0.9";
    let (folder, policy) = numbers("between", &[[0, 0], [9, 0]], &listed, asked);
    let (_, found, warrant) = regions(&folder, &policy).unwrap();
    let sides: Vec<_> = found.iter().map(|(sides, _)| sides[0].clone()).collect();
    assert_eq!((found.len(), warrant), (2, Warrant::Minimal(true)), "{sides:?}");
    // Nearly all others have one value, so one side has too few wherever it is parted. That no
    // split is left is claimed only if all were tried.
    for (values, is_minimal) in [(200, true), (2000, false)] {
        let mut counts = vec![1; values];
        counts[values / 2] = 10 * values as u64;
        let listed = [counts.clone(), vec![counts.iter().sum()]];
        let rows = [[0, 0], [values as u64 - 1, 0]];
        let asked = format!("min = 0.0, max = {}, confidence = 0.9", 0.9 / values as f64);
        let (folder, policy) = numbers(&format!("limit-{values}"), &rows, &listed, &asked);
        let found = regions(&folder, &policy);
        let found = found.map(|(_, regions, warrant)| (regions.len(), warrant));
        assert_eq!(found, Some((1, Warrant::Minimal(is_minimal))));
    }
}

#[test]
fn a_minimal_partition_has_no_allowable_split() {
    let (mut parted, mut minimal) = (0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let others = 40 + random.below(60);
        let mut listed = [vec![0; 8], vec![0; 5]];
        for counts in &mut listed {
            let values = counts.len() as u64;
            (0..others).for_each(|_| counts[random.below(values) as usize] += 1);
        }
        let rows: Vec<[u64; 2]> =
            (0..2 + random.below(6)).map(|_| [random.below(8), random.below(5)]).collect();
        let asked = match seed % 3 {
            0 => "min = 0.0, max = 0.2, confidence = 0.7",
            1 => "min = 0.02, max = 0.4, confidence = 0.6",
            _ => "min = 0.05, max = 1.0, confidence = 0.6",
        };
        let (folder, policy) = numbers(&format!("minimal-{seed}"), &rows, &listed, asked);
        let Some((prepared, found, warrant)) = regions(&folder, &policy) else { continue };
        let confident = prepared.task.confident.as_ref().unwrap();
        let tuple = |sides: &[std::ops::Range<u32>; 2], rows: u64| {
            let marked = [0, 1].map(|column| confident.marked(column, sides[column].clone()));
            confident.tuple(rows, marked.to_vec(), 0)
        };
        for (sides, rows) in &found {
            assert!(
                confident.holds(&tuple(sides, rows.len() as u64), &Watch::default()).unwrap(),
                "seed {seed}"
            );
            if warrant != Warrant::Minimal(true) {
                continue;
            }
            for column in 0..2 {
                for before in sides[column].start + 1..sides[column].end {
                    let below = rows.iter().filter(|codes| codes[column] < before).count();
                    let (mut low, mut high) = (sides.clone(), sides.clone());
                    (low[column].end, high[column].start) = (before, before);
                    let parts =
                        [tuple(&low, below as u64), tuple(&high, (rows.len() - below) as u64)];
                    let is_allowable = below > 0
                        && below < rows.len()
                        && confident.hold(&parts, &Watch::default()).unwrap();
                    assert!(!is_allowable, "seed {seed}: {sides:?} {column} before {before}");
                }
            }
        }
        parted += usize::from(found.len() > 1);
        minimal += usize::from(warrant == Warrant::Minimal(true));
    }
    assert!(parted > 20 && minimal > 20, "{parted} {minimal}");
}
