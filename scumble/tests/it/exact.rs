//! The arithmetic of the oracle: fractions of integers, numbers of any length, and distances
//! between distributions.

use std::collections::BTreeMap;

/// A fraction, not necessarily in lowest terms.
#[derive(Clone, Copy, Debug)]
pub struct Fraction {
    pub above: u128,
    pub below: u128,
}

impl Fraction {
    pub fn new(above: u128, below: u128) -> Fraction {
        assert!(below > 0, "a fraction of nothing");
        Fraction { above, below }
    }

    /// Numbers here are small enough that cross products fit.
    pub fn at_most(self, other: Fraction) -> bool {
        self.above * other.below <= other.above * self.below
    }
}

impl std::fmt::Display for Fraction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.above, self.below)
    }
}

/// How far apart two values are, for the earth mover's distance of t-closeness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    Equal,
    Ordered,
    Hierarchical,
}

/// Whether -sum (x/n) ln (x/n) >= ln l: both sides times n, as powers of e, are n^n and l^n prod
/// x^x.
pub fn entropy_reaches(counts: &[usize], l: Fraction) -> bool {
    let rows: usize = counts.iter().sum();
    let held = product(&[(rows as u128, rows), (l.below, rows)]);
    let mut powers = vec![(l.above, rows)];
    powers.extend(counts.iter().map(|count| (*count as u128, *count)));
    let asked = product(&powers);
    held.len().cmp(&asked.len()).then_with(|| held.iter().rev().cmp(asked.iter().rev())).is_ge()
}

/// The product of powers, in digits of base 2^32, the least first and no zero last.
fn product(powers: &[(u128, usize)]) -> Vec<u64> {
    let mut digits = vec![1u64];
    for (base, exponent) in powers {
        let base =
            u64::from(u32::try_from(*base).expect("bases are counts or parts of typed fractions"));
        assert!(base > 0, "zero has no powers here");
        for _ in 0..*exponent {
            let mut carried = 0;
            for digit in &mut digits {
                let sum = *digit * base + carried;
                (*digit, carried) = (sum & u64::from(u32::MAX), sum >> 32);
            }
            if carried > 0 {
                digits.push(carried);
            }
        }
    }
    digits
}

/// n N (q - p) for each value of the whole, where q are the shares in the group of n and p those in
/// the whole of N; and n N itself.
pub fn differences<'a>(group: &[&'a str], whole: &[&'a str]) -> (BTreeMap<&'a str, i128>, u128) {
    let mut differences = BTreeMap::new();
    for value in whole {
        *differences.entry(*value).or_insert(0) -= group.len() as i128;
    }
    for value in group {
        *differences.get_mut(value).expect("a group is part of the whole") += whole.len() as i128;
    }
    (differences, group.len() as u128 * whole.len() as u128)
}

/// The earth mover's distance between a group and the whole. `tree` has the labels of each value up
/// to the root.
pub fn distance(
    ground: Ground,
    group: &[&str],
    whole: &[&str],
    tree: &BTreeMap<String, Vec<String>>,
) -> Fraction {
    let (differences, unit) = differences(group, whole);
    match ground {
        // What is too much in some places is missing in others, so the sum counts all that is moved
        // twice.
        Ground::Equal => {
            Fraction::new(differences.values().map(|d| d.unsigned_abs()).sum(), 2 * unit)
        }
        // Between two neighbours moves whatever is too much on one side of them.
        Ground::Ordered => {
            let mut moved = 0;
            let mut carried = 0i128;
            for value in in_order(differences.keys().copied()) {
                carried += differences[value];
                moved += carried.unsigned_abs();
            }
            Fraction::new(moved, unit * (differences.len() as u128 - 1).max(1))
        }
        // Two leaves are as far apart as their lowest common ancestor is high: the way up and down
        // a tree whose edges have length 1/2. Over the edge above a node moves whatever is too much
        // below it.
        Ground::Hierarchical => {
            let height = tree.values().next().expect("a tree has leaves").len() - 1;
            let moved_above = |level: usize| {
                let mut below: BTreeMap<&str, i128> = BTreeMap::new();
                for (value, difference) in &differences {
                    *below.entry(&tree[*value][level]).or_default() += difference;
                }
                below.values().map(|d| d.unsigned_abs()).sum::<u128>()
            };
            let moved = (0..height).map(moved_above).sum();
            Fraction::new(moved, 2 * height as u128 * unit)
        }
    }
}

/// Values in numeric order, a missing one last.
pub fn in_order<'a>(values: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut values: Vec<&str> = values.collect();
    let number = |value: &str| {
        if value.is_empty() { f64::INFINITY } else { value.parse().expect("a number") }
    };
    values.sort_by(|a, b| number(a).total_cmp(&number(b)));
    values
}

#[test]
fn long_products_carry_and_compare() {
    // 10^20 = 5 * 2^64 + 7766279631452241920, whose halves are 1661992960 and 1808227885.
    assert_eq!(product(&[(10, 20)]), [1_661_992_960, 1_808_227_885, 5]);
    assert!(
        entropy_reaches(&[2; 4], Fraction::new(4, 1))
            && !entropy_reaches(&[2; 4], Fraction::new(4001, 1000))
    );
    assert!(
        entropy_reaches(&[4, 1, 1, 1, 1], Fraction::new(4, 1)),
        "(1/2) ln 2 + (1/2) ln 8 = ln 4"
    );
    assert!(!entropy_reaches(&[5, 1, 1, 1, 1], Fraction::new(4, 1)));
}
