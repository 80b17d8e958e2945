//! MinSumOfRange: the P-private generalization of a group whose ranges sum to the least.
//!
//! Koudas et al. 2009, section 4.1, algorithm 1, theorem 1. From the root down, as many values as
//! the weights allow are pushed into the children; what is left over becomes copies of the node
//! itself. Which value becomes which subdomain is never decided, because the subdomains are
//! permuted anyway.
//!
//! | paper | here |
//! |---|---|
//! | m | `kept`: subdomains to be found inside a node |
//! | N = (&#124;g_D1&#124;, …, &#124;g_Dk&#124;) | `inside`: values of the group in each child |
//! | W, an m-bound allocation | the children's weights times `units` |
//!
//! Cost: only nodes with something to keep are visited, so at most O(|g|) of them, each with a
//! binary search per child.

use super::hierarchy::ROOT;
use super::{Annotated, GroupValues};
use crate::error::Result;
use crate::watch::Watch;

/// The largest number of whole units that an allocation of `kept` subdomains may have: `inside` are
/// the numbers of values in the children with the children's weights, `unit` is the sum of the
/// weights.
pub fn units(kept: u64, unit: u64, inside: impl Iterator<Item = (u64, u64)>) -> u64 {
    inside.fold(kept / unit, |units, (values, weight)| units.min(values / weight))
}

/// The best generalization: nodes with copies, in ascending order.
pub fn generalize(
    hierarchy: &Annotated,
    group: &GroupValues,
    watch: &Watch,
) -> Result<Vec<(u32, u32)>> {
    // `upto[i]` is the number of values before entry `i`.
    let mut upto = Vec::with_capacity(group.len() + 1);
    upto.push(0u64);
    upto.extend(group.iter().scan(0, |sum, (_, count)| {
        *sum += u64::from(*count);
        Some(*sum)
    }));
    let mut found = Vec::new();
    let mut open = vec![(ROOT, upto[group.len()], 0, group.len())];
    let mut ends = Vec::new();
    while let Some((number, kept, from, to)) = open.pop() {
        watch.check()?;
        let children = hierarchy.children(number);
        ends.clear();
        let mut at = from;
        for child in children {
            at += group[at..to].partition_point(|(leaf, _)| *leaf < child.leaves.end);
            ends.push(at);
        }
        let starts = || [from].into_iter().chain(ends.iter().copied());
        let inside = starts().zip(&ends).zip(children);
        let inside = inside.map(|((start, end), child)| (upto[*end] - upto[start], child.weight));
        let node = hierarchy.node(number);
        let units = if children.is_empty() { 0 } else { units(kept, node.unit, inside) };
        let copies = kept - units * node.unit;
        if copies > 0 {
            found.push((number, copies as u32));
        }
        if units > 0 {
            for ((child, start), end) in node.children.clone().zip(starts()).zip(&ends) {
                open.push((child, units * hierarchy.node(child).weight, start, *end));
            }
        }
    }
    watch.sort(&mut found)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::{Measure, Shape};
    use super::*;

    #[test]
    fn the_allocations_of_section_4_1() {
        let inside = || [(3, 1), (8, 2), (6, 2), (9, 1)].into_iter();
        assert_eq!(units(15, 6, inside()), 2, "(2, 4, 4, 2)");
        assert_eq!(units(5, 6, inside()), 0, "(0, 0, 0, 0)");
    }

    #[test]
    fn example_1() {
        let tree = Annotated::exact(
            &[1; 4],
            &Shape::Balanced { arity: 2 },
            Measure::Numbers(&[30, 40, 50, 60]),
        );
        let group = [(0, 2), (1, 2), (2, 1), (3, 1)];
        let found = generalize(&tree, &group, &Watch::silent()).unwrap();
        // Two copies of the root and each value once.
        assert_eq!(found, [(0, 2), (3, 1), (4, 1), (5, 1), (6, 1)]);
        assert_eq!(tree.sum_of_ranges(&found), 60);
    }
}
