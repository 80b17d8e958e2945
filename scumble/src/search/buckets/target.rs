//! Real weights become whole ones.
//!
//! The paper assumes integer weights (section 3.1). A normal or a Zipf distribution has none, and
//! the exact weights of a large table (5013 : 4987) are of little use either: no group smaller than
//! 10,000 has a whole unit of them. So at every node the children get the smallest whole weights
//! whose shares are within a tolerance of the true ones, and never 0. What that does to the
//! distribution as a whole is reported. By default whole weights are rounded only at nodes where a
//! group has few units of them.

use super::{Annotated, Measure, Shape};
use crate::ratio::greatest_common_divisor;

/// A target distribution: the values of the domain that it allows, in a privacy-annotated
/// hierarchy.
#[derive(Clone, Debug)]
pub struct Target {
    /// The code of each leaf in the domain, ascending.
    pub codes: Vec<u32>,
    /// The tree over these values, with their weights.
    pub hierarchy: Annotated,
    /// How far the weights are from what was asked.
    pub rounding: Rounding,
}

impl Target {
    /// The leaf of a code of the domain; `None` where the target does not allow the value.
    pub fn leaf(&self, code: u32) -> Option<u32> {
        // Most targets allow all values. Codes ascend, so where this one stands in its own place,
        // no other could.
        if self.codes.get(code as usize) == Some(&code) {
            return Some(code);
        }
        self.codes.binary_search(&code).ok().map(|leaf| leaf as u32)
    }
}

/// How far rounded weights are from what was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rounding {
    /// The largest difference of a value's probability.
    pub largest: f64,
    /// Half the sum of all differences.
    pub total_variation: f64,
}

impl Rounding {
    /// The differences of a hierarchy's probabilities from the shares of some weights.
    fn of(hierarchy: &Annotated, weights: impl Iterator<Item = f64> + Clone) -> Rounding {
        let total: f64 = weights.clone().sum();
        let differences = hierarchy.probabilities().into_iter().zip(weights);
        let differences = differences.map(|(share, weight)| (share - weight / total).abs());
        let (mut largest, mut sum) = (0.0f64, 0.0);
        differences.for_each(|difference| {
            largest = largest.max(difference);
            sum += difference;
        });
        Rounding { largest, total_variation: sum / 2.0 }
    }
}

impl Annotated {
    /// The hierarchy of a distribution with whole weights above 0, exactly; but at nodes where a
    /// group of `size` values is expected to have fewer than `units` units of the children's
    /// weights, these are rounded if that makes the unit smaller.
    ///
    /// A node of mass m whose children's masses have the divisor d has a unit of m / d, and a group
    /// of n values has n·m / total of them inside it: n·d / total units.
    pub fn eased(
        weights: &[u64],
        (size, units): (u64, u64),
        tolerance: f64,
        shape: &Shape,
        measure: Measure<'_>,
    ) -> (Annotated, Rounding) {
        let mut sums = vec![0u64; weights.len() + 1];
        for (leaf, weight) in weights.iter().enumerate() {
            sums[leaf + 1] = sums[leaf] + weight;
        }
        let total = sums[weights.len()];
        let mut is_rounded = false;
        let hierarchy = Annotated::weighed(weights.len() as u32, shape, measure, |children| {
            let mass = |node: &super::Subdomain| {
                sums[node.leaves.end as usize] - sums[node.leaves.start as usize]
            };
            let exact: Vec<u64> = children.iter().map(mass).collect();
            let divisor =
                exact.iter().fold(0, |divisor, mass| greatest_common_divisor(divisor, *mass));
            if u128::from(size) * u128::from(divisor) >= u128::from(units) * u128::from(total) {
                return exact;
            }
            let parent: u64 = exact.iter().sum();
            let shares: Vec<f64> = exact.iter().map(|mass| *mass as f64 / parent as f64).collect();
            let found = simplest(&shares, tolerance);
            if found.iter().sum::<u64>() >= parent / divisor {
                return exact;
            }
            is_rounded = true;
            found
        });
        let rounding = if is_rounded {
            Rounding::of(&hierarchy, weights.iter().map(|weight| *weight as f64))
        } else {
            Rounding::default()
        };
        (hierarchy, rounding)
    }

    /// The hierarchy of a distribution with real weights above 0: at each node the smallest whole
    /// weights whose shares are within `tolerance` of the true ones. `tolerance` is above 0.
    pub fn rounded(
        weights: &[f64],
        tolerance: f64,
        shape: &Shape,
        measure: Measure<'_>,
    ) -> (Annotated, Rounding) {
        let hierarchy = Annotated::weighed(weights.len() as u32, shape, measure, |children| {
            let leaves =
                |node: &super::Subdomain| node.leaves.start as usize..node.leaves.end as usize;
            // Where few values are left, differences of sums would lose the small ones.
            let mass: Vec<f64> =
                children.iter().map(|node| weights[leaves(node)].iter().sum()).collect();
            let total: f64 = mass.iter().sum();
            simplest(&mass.iter().map(|mass| mass / total).collect::<Vec<_>>(), tolerance)
        });
        let rounding = Rounding::of(&hierarchy, weights.iter().copied());
        (hierarchy, rounding)
    }
}

/// The whole weights with the smallest sum whose shares are within `tolerance` of `shares`; each at
/// least 1. Large sums are tried in steps of a sixty-fourth.
fn simplest(shares: &[f64], tolerance: f64) -> Vec<u64> {
    let least = shares.len() as u64;
    // Rounding moves a share by less than 1 / sum, and the 1 of tiny shares takes at most `least`
    // from the others.
    let most = ((least + 2) as f64 / tolerance).ceil() as u64;
    let mut sum = least;
    loop {
        let weights = largest_remainders(shares, sum);
        let close = |(share, weight): (&f64, &u64)| {
            (*weight as f64 / sum as f64 - share).abs() <= tolerance
        };
        if sum >= most || shares.iter().zip(&weights).all(close) {
            return weights;
        }
        sum = (sum + 1 + sum / 64).min(most);
    }
}

/// Whole weights of a given sum, at least one for each share, by largest remainders.
fn largest_remainders(shares: &[f64], sum: u64) -> Vec<u64> {
    let ideal: Vec<f64> = shares.iter().map(|share| share * sum as f64).collect();
    let mut weights: Vec<u64> = ideal.iter().map(|ideal| (ideal.floor() as u64).max(1)).collect();
    let given: u64 = weights.iter().sum();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    // Those that lack most come first; they get what is left, and those at the end give what is too
    // much.
    order.sort_by(|a, b| {
        (ideal[*b] - weights[*b] as f64).total_cmp(&(ideal[*a] - weights[*a] as f64)).then(a.cmp(b))
    });
    for child in order.iter().take(sum.saturating_sub(given) as usize) {
        weights[*child] += 1;
    }
    let mut surplus = given.saturating_sub(sum);
    order.sort_by_key(|child| std::cmp::Reverse(weights[*child]));
    for child in order {
        let taken = surplus.min(weights[child] - 1);
        weights[child] -= taken;
        surplus -= taken;
    }
    weights
}

/// Weights of a normal distribution at some values: its density, never 0.
pub fn normal(values: &[f64], mean: f64, deviation: f64) -> Vec<f64> {
    let density = |value: &f64| (-0.5 * ((value - mean) / deviation).powi(2)).exp();
    values.iter().map(|value| density(value).max(f64::MIN_POSITIVE)).collect()
}

/// Weights of a Zipf distribution: the value of rank k has 1 / k^s (section 6.3).
pub fn zipf(values: usize, s: f64) -> Vec<f64> {
    (1..=values).map(|rank| (rank as f64).powf(-s).max(f64::MIN_POSITIVE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_weights_within_tolerance() {
        assert_eq!(simplest(&[0.5013, 0.4987], 0.01), [1, 1]);
        assert_eq!(simplest(&[0.53, 0.47], 0.01), [7, 6]);
        assert_eq!(simplest(&[0.2, 0.3, 0.5], 1e-9), [2, 3, 5]);
        assert_eq!(simplest(&[0.999999, 0.000001], 0.1), [9, 1]);
    }

    #[test]
    fn whole_weights_are_rounded_where_a_group_has_few_units() {
        let values: Vec<i64> = (1024..=3072).collect();
        let (shape, weights) = (Shape::Balanced { arity: 2 }, vec![1; values.len()]);
        let measure = Measure::Numbers(&values);
        // 1025 : 1024 at the root, and so on below.
        let exact = Annotated::exact(&weights, &shape, measure);
        assert_eq!(exact.node(0).unit, 2049);
        let (tree, rounding) = Annotated::eased(&weights, (300, 10), 0.01, &shape, measure);
        assert_eq!(tree.node(0).unit, 2);
        assert!(rounding.largest > 0.0 && rounding.total_variation < 0.02, "{rounding:?}");
        // Ten units of every node, down to the last.
        let (tree, rounding) = Annotated::eased(&weights, (20_490, 10), 0.01, &shape, measure);
        assert_eq!((tree, rounding), (exact, Rounding::default()));
        // What has small units already stays as it is.
        let (tree, rounding) =
            Annotated::eased(&[2, 3, 2, 4], (1, 10), 0.01, &shape, Measure::Categories);
        assert_eq!(tree, Annotated::exact(&[2, 3, 2, 4], &shape, Measure::Categories));
        assert_eq!(rounding, Rounding::default());
    }

    #[test]
    fn shares_are_within_tolerance_at_every_node() {
        let values: Vec<i64> = (0..300).collect();
        let numbers: Vec<f64> = values.iter().map(|value| *value as f64).collect();
        for weights in [normal(&numbers, 140.0, 30.0), zipf(300, 1.2), vec![0.1; 300]] {
            for arity in [2, 3, 5] {
                let shape = Shape::Balanced { arity };
                let (tree, rounding) =
                    Annotated::rounded(&weights, 0.01, &shape, Measure::Numbers(&values));
                for (number, node) in tree.nodes().iter().enumerate() {
                    let mass = |node: &super::super::Subdomain| -> f64 {
                        weights[node.leaves.start as usize..node.leaves.end as usize].iter().sum()
                    };
                    for child in tree.children(number as u32) {
                        let share = child.weight as f64 / node.unit as f64;
                        assert!(
                            (share - mass(child) / mass(node)).abs() <= 0.01 + 1e-12,
                            "{number}"
                        );
                        assert!(child.weight > 0);
                    }
                }
                assert!(
                    rounding.largest <= 0.05 && rounding.total_variation <= 0.2,
                    "{rounding:?}"
                );
            }
        }
    }
}
