//! Which values of each subdomain satisfy a condition?

use super::condition::{Cell, Condition};
use super::filtered::Choice;
use crate::release::Tree;
use crate::table::Type;

/// The values below a node that satisfy a condition, as positions in an order of all values.
#[derive(Clone, Copy, Debug)]
struct Satisfied {
    /// The smallest and the largest.
    ends: Option<(i64, i64)>,
    /// Whether some do not.
    rejected: bool,
}

/// Each node of a tree under a condition on its values, with one copy.
///
/// A leaf that is a run of whole numbers is judged at its ends and around the constants of the
/// condition: between two of them all numbers are alike.
pub fn choices(tree: &Tree, condition: &Condition, is_numeric: bool) -> Vec<Choice> {
    let mut constants = condition.numbers();
    constants.sort_unstable_by(f64::total_cmp);
    let satisfied = |node: &u32| match tree.ends.get(*node as usize) {
        Some((lower, upper)) if lower < upper => run((*lower, *upper), condition, &constants),
        ends => {
            let (value, _) = ends.copied().unwrap_or_default();
            let holds = holds(condition, &tree.labels[*node as usize], is_numeric);
            Satisfied { ends: holds.then_some((value, value)), rejected: !holds }
        }
    };
    let nodes = tree.leaf_nodes();
    let leaves: Vec<Satisfied> = nodes.iter().map(satisfied).collect();
    // The next leaf with a value that satisfies the condition, the last one before, and the number
    // of leaves before with a value that does not.
    let mut next = vec![None; leaves.len() + 1];
    for at in (0..leaves.len()).rev() {
        next[at] = leaves[at].ends.map(|(low, _)| (at, low)).or(next[at + 1]);
    }
    let (mut last, mut rejected) = (vec![None; leaves.len() + 1], vec![0u32; leaves.len() + 1]);
    for (at, leaf) in leaves.iter().enumerate() {
        last[at + 1] = leaf.ends.map(|(_, high)| (at, high)).or(last[at]);
        rejected[at + 1] = rejected[at] + u32::from(leaf.rejected);
    }
    // A leaf may have several values, so the leaves of a node are found by its values.
    let leaf_at = |value: u32| nodes.partition_point(|node| tree.leaves[*node as usize].0 < value);
    let choice = |(from, to): &(u32, u32)| {
        let (from, to) = (leaf_at(*from), leaf_at(*to));
        let low = next[from].filter(|(at, _)| *at < to).map(|(_, low)| low);
        let high = last[to].filter(|(at, _)| *at >= from).map(|(_, high)| high);
        Choice { selected: low.zip(high), rejected: rejected[to] > rejected[from], copies: 1 }
    };
    tree.leaves.iter().map(choice).collect()
}

fn holds(condition: &Condition, text: &str, is_numeric: bool) -> bool {
    let kind = if is_numeric { Type::Real } else { Type::Text };
    condition.holds(&|_| Cell { text, kind }) == Some(true)
}

/// The whole numbers of a run that satisfy a condition with these constants, ascending.
fn run((lower, upper): (i64, i64), condition: &Condition, constants: &[f64]) -> Satisfied {
    let from = constants.partition_point(|constant| *constant < lower as f64 - 1.0);
    let to = constants.partition_point(|constant| *constant <= upper as f64 + 1.0);
    let around = constants[from..to.max(from)].iter().flat_map(|constant| {
        let (below, above) = (constant.floor() as i64, constant.ceil() as i64);
        [below.saturating_sub(1), below, above, above.saturating_add(1)]
    });
    let inside = around.filter(|number| (lower..=upper).contains(number));
    let mut judged: Vec<i64> = [lower, upper].into_iter().chain(inside).collect();
    judged.sort_unstable();
    judged.dedup();
    let count = judged.len();
    let kept: Vec<i64> =
        judged.into_iter().filter(|number| holds(condition, &number.to_string(), true)).collect();
    let ends = kept.first().copied().zip(kept.last().copied());
    Satisfied { ends, rejected: kept.len() < count }
}

#[cfg(test)]
mod tests {
    use super::super::condition::{Comparison, Literal};
    use super::*;
    use proptest::prelude::*;

    fn compared() -> impl Strategy<Value = Condition> {
        let number = (-30i64..60).prop_map(|quarters| quarters as f64 / 4.0);
        let comparison = prop_oneof![
            Just(Comparison::Equal),
            Just(Comparison::Different),
            Just(Comparison::Less),
            Just(Comparison::AtMost),
            Just(Comparison::Greater),
            Just(Comparison::AtLeast),
        ];
        let simple = (comparison, number.clone()).prop_map(|(comparison, number)| {
            Condition::Compare(0, comparison, Literal::Number(number))
        });
        let among = proptest::collection::vec(number.prop_map(Literal::Number), 1..4)
            .prop_map(|numbers| Condition::In(0, numbers));
        prop_oneof![simple, among].prop_recursive(3, 8, 2, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone())
                    .prop_map(|(one, other)| Condition::And(Box::new(one), Box::new(other))),
                (inner.clone(), inner.clone())
                    .prop_map(|(one, other)| Condition::Or(Box::new(one), Box::new(other))),
                inner.prop_map(|inner| Condition::Not(Box::new(inner))),
            ]
        })
    }

    proptest! {
        /// The root has two children: a run and a single number.
        #[test]
        fn a_run_is_what_its_numbers_are(condition in compared(), first in -9i64..5, length in 2u32..12) {
            let last = first + i64::from(length) - 1;
            let tree = Tree {
                labels: vec!["all".into(), "run".into(), (last + 2).to_string()],
                parents: vec![0, 0, 0],
                ends: vec![(first, last + 2), (first, last), (last + 2, last + 2)],
                leaves: vec![(0, length + 1), (0, length), (length, length + 1)],
                ..Tree::default()
            };
            let numbers: Vec<i64> = (first..=last).chain([last + 2]).collect();
            let found = choices(&tree, &condition, true);
            for (choice, (from, to)) in found.iter().zip([(0, length + 1), (0, length), (length, length + 1)]) {
                let numbers = &numbers[from as usize..to as usize];
                let kept = numbers.iter().copied().filter(|number| holds(&condition, &number.to_string(), true));
                let kept: Vec<i64> = kept.collect();
                prop_assert_eq!(choice.selected, kept.first().copied().zip(kept.last().copied()));
                prop_assert_eq!(choice.rejected, kept.len() < numbers.len());
            }
        }
    }
}
