//! Is a distance between distributions the work of moving one to the other?
//!
//! The earth mover's distance is a transportation problem: the least sum of amount x distance that
//! turns a group's distribution into the whole's. Library and oracle use closed forms, which hold
//! for three ground distances only; here the problem itself is solved, on integers, and all three
//! must agree to the last digit.

use crate::exact::{Fraction, Ground, differences, distance, in_order};
use crate::oracle::Tree;
use crate::tables::{names, tree};
use scumble::ids::Code;
use scumble::privacy::{Distance, Group, Requirement, TCloseness};
use scumble::random::Random;
use scumble::ratio::Ratio;
use scumble::table::{Dictionary, Tallies, Type};
use scumble::taxonomy::{Hierarchy, HierarchyFile, bind};
use scumble::watch::Watch;
use std::path::Path;
use std::sync::Arc;

/// The cheapest way to level out `surplus`, which sums to zero: augmenting along shortest ways,
/// where what flows already may be sent back.
fn least_work(mut surplus: Vec<i128>, cost: &dyn Fn(usize, usize) -> i128) -> u128 {
    let places = surplus.len();
    let mut flow = vec![vec![0i128; places]; places];
    while surplus.iter().any(|amount| *amount > 0) {
        // Bellman and Ford from all places with too much; a way back costs what the way there had
        // cost.
        let mut reached: Vec<Option<(i128, usize)>> = surplus
            .iter()
            .enumerate()
            .map(|(at, amount)| (*amount > 0).then_some((0, at)))
            .collect();
        let step = |from: usize, to: usize, flow: &[Vec<i128>]| match flow[to][from] {
            0 => cost(from, to),
            _ => -cost(to, from),
        };
        for _ in 0..places {
            for from in 0..places {
                let Some((length, _)) = reached[from] else { continue };
                for to in (0..places).filter(|to| *to != from) {
                    let longer = length + step(from, to, &flow);
                    if reached[to].is_none_or(|(known, _)| longer < known) {
                        reached[to] = Some((longer, from));
                    }
                }
            }
        }
        let deficits = (0..places).filter(|at| surplus[*at] < 0);
        let end = deficits
            .min_by_key(|at| reached[*at])
            .expect("what is too much somewhere is missing elsewhere");
        let mut way = vec![end];
        while let Some((_, from)) =
            reached[way[way.len() - 1]].filter(|(_, from)| *from != way[way.len() - 1])
        {
            way.push(from);
        }
        way.reverse();
        let back = way.windows(2).map(|pair| flow[pair[1]][pair[0]]).filter(|flowing| *flowing > 0);
        let amount = back.chain([surplus[way[0]], -surplus[end]]).min().expect("two ends");
        for pair in way.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            match flow[to][from] {
                0 => flow[from][to] += amount,
                _ => flow[to][from] -= amount,
            }
        }
        surplus[way[0]] -= amount;
        surplus[end] += amount;
    }
    let pairs = (0..places).flat_map(|from| (0..places).map(move |to| (from, to)));
    pairs.map(|(from, to)| (flow[from][to] * cost(from, to)).unsigned_abs()).sum()
}

/// The level of the lowest common ancestor.
fn common_ancestor(tree: &Tree, a: &str, b: &str) -> i128 {
    (0..).find(|level| tree[a][*level] == tree[b][*level]).expect("the root is common") as i128
}

/// The distance by its definition, for values in order.
fn by_transport(ground: Ground, group: &[&str], whole: &[&str], tree: &Tree) -> Fraction {
    let (differences, unit) = differences(group, whole);
    let values = in_order_of(ground, differences.keys().copied());
    let surplus = values.iter().map(|value| differences[value]).collect();
    let rank = |a: usize, b: usize| a.abs_diff(b) as i128;
    let (work, longest) = match ground {
        Ground::Equal => (least_work(surplus, &|a, b| rank(a, b).min(1)), 1),
        Ground::Ordered => (least_work(surplus, &rank), (values.len() - 1).max(1)),
        Ground::Hierarchical => {
            let apart = |a: usize, b: usize| common_ancestor(tree, values[a], values[b]);
            (least_work(surplus, &apart), tree.values().next().unwrap().len() - 1)
        }
    };
    Fraction::new(work, unit * longest as u128)
}

fn in_order_of<'a>(ground: Ground, values: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    if ground == Ground::Ordered { in_order(values) } else { values.collect() }
}

/// The library's requirement with this t, and the group's tallies, by the codes of the values.
fn by_library(
    ground: Ground,
    group: &[&str],
    whole: &[&str],
    tree: &Tree,
    t: Ratio,
) -> (f64, bool) {
    let mut dictionary = Dictionary::default();
    let codes: Vec<u32> = tree.keys().map(|value| dictionary.encode(value, 1)).collect();
    let rows = tree.values().map(|path| (1, path.clone())).collect();
    let hierarchy = Hierarchy::File(HierarchyFile::new(Path::new("tree.csv"), rows).unwrap());
    let bound =
        bind(&hierarchy, Some(Type::Text), &[], &dictionary, "s", Path::new("table.csv")).unwrap();
    let position = |value: &str| tree.keys().position(|leaf| leaf == value).unwrap();
    let code = |value: &str| match ground {
        Ground::Hierarchical => bound.leaf_of.at(Code(codes[position(value)])).0,
        // Names of leaves are numbers below ten here, so their order as text is their order.
        _ => codes[position(value)],
    };
    let mut totals = vec![0; tree.len()];
    for value in whole {
        totals[code(value) as usize] += 1;
    }
    let values: Vec<u32> = group.iter().map(|value| code(value)).collect();
    let tallies = [Tallies::count(1, &vec![0; group.len()], &values, &Watch::default()).unwrap()];
    let distance = match ground {
        Ground::Equal => Distance::Equal,
        Ground::Ordered => Distance::Ordered((0..tree.len() as u32).collect()),
        Ground::Hierarchical => Distance::Hierarchical(Arc::new(bound.taxonomy)),
    };
    let requirement = TCloseness::new(0, t, distance, totals).unwrap();
    let group = Group { rows: group.len() as u64, columns: &tallies, index: 0 };
    (requirement.figure(&group), requirement.holds(&group))
}

fn compare(ground: Ground) {
    let random = &mut Random::new(ground as u64);
    let mut apart = 0;
    for _ in 0..2000 {
        let leaves = names("", 2 + random.below(6));
        let tree = tree(random, &leaves);
        let rows = 1 + random.below(12) as usize;
        let whole: Vec<&str> =
            (0..rows).map(|_| &*leaves[random.below(leaves.len() as u64) as usize]).collect();
        let group = &whole[..1 + random.below(rows as u64) as usize];
        let work = by_transport(ground, group, &whole, &tree);
        let closed = distance(ground, group, &whole, &tree);
        let what = format!("{ground:?}: {group:?} of {whole:?} in {tree:?}: {work} by transport");
        assert!(
            closed.at_most(work) && work.at_most(closed),
            "{what}, {closed} by the oracle's closed form"
        );
        // Exactly at the distance it holds; a hair below, it does not.
        let ratio = |above: u128, below: u128| Ratio::new(above as u64, below as u64).unwrap();
        let (figure, holds) =
            by_library(ground, group, &whole, &tree, ratio(work.above, work.below));
        assert!(
            (figure - work.above as f64 / work.below as f64).abs() < 1e-12 && holds,
            "{what}, {figure} by the library"
        );
        if work.above > 0 {
            apart += 1;
            let less = ratio(work.above * 1_000_000_000 - 1, work.below * 1_000_000_000);
            assert!(
                !by_library(ground, group, &whole, &tree, less).1,
                "{what}, and the library says it is less"
            );
        }
    }
    assert!(apart > 1000, "{apart} of 2000 were apart");
}

#[test]
fn equal_distance_is_transport() {
    compare(Ground::Equal);
}

/// Values that no row of the whole has are no step on the way: the domain is what occurs.
#[test]
fn ordered_distance_is_transport() {
    compare(Ground::Ordered);
}

#[test]
fn hierarchical_distance_is_transport() {
    compare(Ground::Hierarchical);
}

#[test]
fn work_is_least_where_a_greedy_mover_would_fail() {
    // Heaps at 10 and 20, holes at 11 and 0. The shortest move first costs 1 + 20; the least is 10
    // + 9.
    let places = [10i128, 20, 11, 0];
    let cost = |a: usize, b: usize| (places[a] - places[b]).abs();
    assert_eq!(least_work(vec![1, 1, -1, -1], &cost), 19);
    // A cost that is no metric needs the way back: 0 -> 2 first (cost 1), then 1 must push it on to
    // 3.
    let table = [[0, 9, 1, 2], [9, 0, 1, 9], [9, 9, 0, 9], [9, 9, 9, 0]];
    assert_eq!(least_work(vec![1, 1, -1, -1], &|a: usize, b: usize| table[a][b]), 3);
}
