//! Distribution-based anonymization against exhaustive search: every multiset of subdomains, every
//! multiset of fakes.
//!
//! What is asked here is asked in the paper's own words, definition by definition, in fractions,
//! with nothing of the library but the tree that is judged.

use scumble::random::Random;
use scumble::search::buckets::{Annotated, Bucket, Measure, Shape, fakes, merge};
use scumble::watch::Watch;

/// A small random tree over `leaves` values, with random numbers and weights; the weights are
/// returned too.
fn tree(random: &mut Random, leaves: usize) -> (Annotated, Vec<u64>, Vec<i64>) {
    let mut values = vec![random.between(-20, 20)];
    while values.len() < leaves {
        values.push(values[values.len() - 1] + random.between(1, 9));
    }
    let most = random.between(1, 3);
    let weights: Vec<u64> = (0..leaves).map(|_| random.between(1, most) as u64).collect();
    let shape = match random.below(4) {
        0 => Shape::Balanced { arity: 2 },
        1 => Shape::Balanced { arity: 3 },
        2 => Shape::Levels(vec![]),
        _ => {
            let cuts = |random: &mut Random| {
                (1..leaves as u32).filter(|_| random.below(2) == 0).collect::<Vec<u32>>()
            };
            let coarse = cuts(random);
            let fine: Vec<u32> = (1..leaves as u32)
                .filter(|cut| coarse.contains(cut) || random.below(2) == 0)
                .collect();
            Shape::Levels(vec![coarse, fine])
        }
    };
    (Annotated::exact(&weights, &shape, Measure::Numbers(&values)), weights, values)
}

/// Definition 3.1: some one-to-one mapping puts every value into a subdomain that has it. By trying
/// all of them.
fn is_generalization(tree: &Annotated, values: &[u32], subdomains: &mut Vec<u32>) -> bool {
    let Some((value, rest)) = values.split_first() else { return true };
    (0..subdomains.len()).any(|index| {
        let node = subdomains.swap_remove(index);
        let fits =
            tree.node(node).leaves.contains(value) && is_generalization(tree, rest, subdomains);
        subdomains.push(node);
        let last = subdomains.len() - 1;
        subdomains.swap(index, last);
        fits
    })
}

/// Definition 3.2: P(x = t) = 1/n · Σ P(x = t | x ∈ Dᵢ) for every t. Both sides over P(x = t) and
/// times a number that every possible weight divides, so that all is whole.
fn is_private(tree: &Annotated, weights: &[u64], subdomains: &[u32]) -> bool {
    const DIVISIBLE_BY_1_TO_24: u64 = 5_354_228_880;
    let share = |leaves: std::ops::Range<u32>| {
        let mass: u64 = weights[leaves.start as usize..leaves.end as usize].iter().sum();
        assert!(mass <= 24, "the tests use small weights");
        DIVISIBLE_BY_1_TO_24 / mass
    };
    (0..weights.len() as u32).all(|t| {
        let having = subdomains
            .iter()
            .map(|node| tree.node(*node).leaves.clone())
            .filter(|leaves| leaves.contains(&t));
        having.map(share).sum::<u64>() == subdomains.len() as u64 * share(0..weights.len() as u32)
    })
}

/// The least sum of ranges of all P-private generalizations of some values, by going through every
/// multiset of nodes.
fn exhaustive(tree: &Annotated, weights: &[u64], values: &[u32]) -> u64 {
    fn go(
        tree: &Annotated,
        weights: &[u64],
        values: &[u32],
        from: u32,
        chosen: &mut Vec<u32>,
        best: &mut u64,
    ) {
        if chosen.len() == values.len() {
            let sum = chosen.iter().map(|node| tree.node(*node).range).sum();
            if sum < *best
                && is_private(tree, weights, chosen)
                && is_generalization(tree, values, &mut chosen.clone())
            {
                *best = sum;
            }
            return;
        }
        for node in from..tree.nodes().len() as u32 {
            chosen.push(node);
            go(tree, weights, values, node, chosen, best);
            chosen.pop();
        }
    }
    let mut best = u64::MAX;
    go(tree, weights, values, 0, &mut Vec::new(), &mut best);
    best
}

fn spread(counted: &[(u32, u32)]) -> Vec<u32> {
    counted.iter().flat_map(|(item, count)| vec![*item; *count as usize]).collect()
}

fn group(random: &mut Random, leaves: usize, size: usize) -> Vec<(u32, u32)> {
    let values: Vec<(u32, u32)> =
        (0..size).map(|_| (random.below(leaves as u64) as u32, 1)).collect();
    merge(&values, &[])
}

#[test]
fn min_sum_of_ranges_is_the_least_of_all_generalizations() {
    let mut random = Random::new(7);
    let mut generalized = 0;
    for case in 0..600 {
        let leaves = random.between(2, 5) as usize;
        let (tree, weights, _) = tree(&mut random, leaves);
        let size = random.between(1, if leaves > 4 { 5 } else { 6 }) as usize;
        let group = group(&mut random, leaves, size);
        let bucket = Bucket::fill(&tree, &group, 0, &Watch::default()).unwrap();
        let subdomains = spread(&bucket.subdomains);
        assert!(is_private(&tree, &weights, &subdomains), "case {case}: {group:?} {bucket:?}");
        assert!(
            is_generalization(&tree, &spread(&group), &mut subdomains.clone()),
            "case {case}: {group:?}"
        );
        assert_eq!(
            bucket.sum_of_ranges,
            exhaustive(&tree, &weights, &spread(&group)),
            "case {case}: {group:?}"
        );
        generalized += usize::from(bucket.sum_of_ranges > 0 && bucket.subdomains.len() > 1);
    }
    assert!(generalized > 100, "only {generalized} cases had anything to decide");
}

/// The least sum of ranges with exactly so many fakes, by going through every multiset of them.
fn with_fakes(tree: &Annotated, group: &[(u32, u32)], fakes: u32, from: u32) -> u64 {
    match fakes {
        0 => Bucket::fill(tree, group, 0, &Watch::default()).unwrap().sum_of_ranges,
        _ => {
            let more = |leaf| with_fakes(tree, &merge(group, &[(leaf, 1)]), fakes - 1, leaf);
            (from..tree.leaves()).map(more).min().unwrap()
        }
    }
}

#[test]
fn fakes_are_the_best_of_all_fakes() {
    let mut random = Random::new(11);
    let (mut helped, mut more_than_one) = (0, 0);
    for case in 0..1500 {
        let leaves = random.between(2, 8) as usize;
        let (tree, weights, _) = tree(&mut random, leaves);
        let size = random.between(1, 14) as usize;
        let group = group(&mut random, leaves, size);
        let limit = random.between(1, if leaves > 5 { 4 } else { 6 }) as u32;
        let truth: Vec<u64> =
            (0..=limit).map(|fakes| with_fakes(&tree, &group, fakes, 0)).collect();
        assert_eq!(
            fakes::sums(&tree, &group, limit, &Watch::silent()).unwrap(),
            truth,
            "case {case}: {group:?} {tree:?}"
        );
        let bucket = Bucket::fill(&tree, &group, limit, &Watch::default()).unwrap();
        let taken = spread(&bucket.fakes).len();
        assert_eq!(
            bucket.sum_of_ranges,
            *truth.iter().min().unwrap(),
            "case {case}: {group:?} {bucket:?}"
        );
        assert_eq!(
            Some(taken),
            truth.iter().position(|sum| *sum == bucket.sum_of_ranges),
            "the fewest, case {case}"
        );
        let subdomains = spread(&bucket.subdomains);
        assert_eq!(subdomains.len(), size + taken);
        if subdomains.len() <= 8 {
            assert!(is_private(&tree, &weights, &subdomains));
            assert!(
                is_generalization(&tree, &spread(&group), &mut subdomains.clone()),
                "case {case}"
            );
        }
        helped += usize::from(taken > 0);
        more_than_one += usize::from(taken > 1);
    }
    assert!(helped > 300 && more_than_one > 100, "{helped} {more_than_one}");
}
