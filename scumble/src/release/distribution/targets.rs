//! The targets of a policy by their definitions, and whether the trees of a release have them.
//!
//! The domain and the weights are derived here once more, from the definitions in docs/policy.md
//! and in section 3.1 of the paper. Nothing of the producer's `bind::targets` and of the search's
//! `buckets` is used, so neither can confirm its own mistakes.

use super::Tree;
use super::originals::{Held, Value};
use crate::policy::{DistributionAsked, Of, Policy, RoundingAsked, TargetAsked, TargetForm};
use crate::ratio::{Ratio, greatest_common_divisor};
use crate::table::Type;
use crate::taxonomy::Hierarchy;
use std::collections::{HashMap, HashSet};

/// How far the share of a node may be from its target's if the policy does not say: for real
/// weights, and for whole ones of which a group has few units.
const ROUNDING: f64 = 0.01;

/// A group with fewer units of whole weights has few.
const UNITS: u128 = 10;

/// What floats may add to that.
const SLACK: f64 = 1e-9;

/// The values at the leaves of a tree.
pub(super) struct Leaves<'a> {
    tree: &'a Tree,
    /// What categories are called.
    labels: Vec<&'a str>,
    /// The values as numbers, ascending; `None` for categories.
    numbers: Option<Vec<f64>>,
}

impl<'a> Leaves<'a> {
    pub(super) fn new(tree: &'a Tree, scale: Option<u32>) -> Leaves<'a> {
        let nodes = tree.leaf_nodes();
        let Some(scale) = scale else {
            let labels = nodes.iter().map(|node| tree.labels[*node as usize].as_str()).collect();
            return Leaves { tree, labels, numbers: None };
        };
        let mut numbers = Vec::with_capacity(tree.values());
        for node in nodes {
            // More than one only in a run of whole numbers.
            let (lower, upper) = tree.ends[node as usize];
            numbers.extend((lower..=upper).map(|units| float(units, scale)));
        }
        Leaves { tree, labels: Vec::new(), numbers: Some(numbers) }
    }

    pub(super) fn len(&self) -> usize {
        self.tree.values()
    }

    /// The leaf of a value: a number however it is written, any other value by its text.
    pub(super) fn find(&self, value: Value<'_>) -> Option<u32> {
        if let Some(numbers) = &self.numbers {
            let number = value.number?;
            let found = numbers.binary_search_by(|known| known.total_cmp(&number));
            return found.ok().map(|leaf| leaf as u32);
        }
        let (start, end) = self.tree.leaves[*self.tree.index.get(value.text)? as usize];
        (end == start + 1).then_some(start)
    }
}

/// The values that a release's targets may be about.
pub(super) struct Domain<'a> {
    numbers: Vec<f64>,
    texts: HashSet<&'a str>,
    /// Whether all values are known: those that occur are, or need not be.
    is_whole: bool,
}

impl<'a> Domain<'a> {
    /// The values that the policy lists, and those that occur if they are known.
    pub(super) fn new(
        policy: &'a Policy,
        asked: &'a DistributionAsked,
        held: Option<&'a Held<'_>>,
    ) -> Domain<'a> {
        let mut texts: HashSet<&str> = HashSet::new();
        for target in asked.all_targets() {
            if let TargetForm::File { weights, .. } = &target.form {
                texts.extend(weights.iter().map(|(_, value, _)| value.as_str()));
            }
        }
        let hierarchy = policy.attribute(&asked.attribute).map(|attribute| &attribute.hierarchy);
        if let Some(Hierarchy::File(file) | Hierarchy::Tree(file)) = hierarchy {
            texts.extend(file.rows().iter().map(|row| row[0].as_str()));
        }
        let mut numbers: Vec<f64> =
            texts.iter().filter_map(|text| Value::new(text).number).collect();
        numbers
            .extend(asked.domain.iter().flat_map(|(from, to)| *from..=*to).map(|own| own as f64));
        for value in held.into_iter().flat_map(Held::occurring) {
            texts.insert(value.text);
            numbers.extend(value.number);
        }
        numbers.sort_unstable_by(f64::total_cmp);
        numbers.dedup();
        Domain { numbers, texts, is_whole: held.is_some() }
    }

    /// Whether a tree is about the whole domain, or about all of it between its first and its last
    /// value; as far as the domain is known.
    fn is_of(&self, leaves: &Leaves<'_>, of: Of) -> bool {
        let Some(numbers) = &leaves.numbers else {
            let known = leaves.labels.iter().filter(|label| self.texts.contains(**label)).count();
            return (of == Of::Group || known == self.texts.len())
                && (!self.is_whole || known == leaves.len());
        };
        let wanted = match (of, numbers.first().zip(numbers.last())) {
            (Of::Group, Some((first, last))) => {
                let from = self.numbers.partition_point(|known| known < first);
                let to = self.numbers.partition_point(|known| known <= last);
                &self.numbers[from..to]
            }
            _ => &self.numbers[..],
        };
        if self.is_whole {
            return wanted == numbers;
        }
        let is_leaf =
            |known: &f64| numbers.binary_search_by(|number| number.total_cmp(known)).is_ok();
        wanted.iter().all(is_leaf)
    }
}

/// The weights of a target at some leaves. A leaf of weight 0 does not belong to the target.
enum Weights {
    Exact(Vec<u64>),
    Real(Vec<f64>),
}

/// A target that the policy asks for.
pub(super) struct Wanted<'a> {
    pub(super) target: &'a TargetAsked,
    pub(super) rounding: RoundingAsked,
    /// The records of the smallest group that follows the target.
    pub(super) smallest: u64,
    pub(super) domain: &'a Domain<'a>,
}

impl Wanted<'_> {
    /// Whether a tree has this target; `None` if that depends on values that are not known.
    /// `counts` has how often each leaf occurs in the table or in the group, and then the number
    /// of rows there.
    pub(super) fn is_target(
        &self,
        leaves: &Leaves<'_>,
        counts: Option<(&[u64], u64)>,
    ) -> Option<bool> {
        let TargetAsked { form, of } = self.target;
        let is_listed = matches!(form, TargetForm::File { .. });
        if let Some((counts, rows)) = counts
            && !is_listed
        {
            // Every value that occurs is at some leaf; a group's range begins and ends with one.
            let ends = [counts.first(), counts.last()];
            let is_inside = counts.iter().sum::<u64>() == rows
                && (*of == Of::Table || ends.into_iter().flatten().all(|count| *count > 0));
            if !is_inside {
                return Some(false);
            }
        }
        let is_counted = matches!(form, TargetForm::Source);
        if !is_listed && !is_counted && !self.domain.is_of(leaves, *of) {
            return Some(false);
        }
        let weights = self.weights(leaves, counts.map(|(counts, _)| counts))?;
        Some(self.has_weights(leaves.tree, &weights))
    }

    /// The weight of each leaf.
    fn weights(&self, leaves: &Leaves<'_>, counts: Option<&[u64]>) -> Option<Weights> {
        Some(match &self.target.form {
            TargetForm::Uniform => Weights::Exact(vec![1; leaves.len()]),
            TargetForm::Source => Weights::Exact(counts?.to_vec()),
            TargetForm::File { weights, .. } => Weights::Exact(listed(weights, leaves)),
            // The value of rank k has 1 / k^s.
            TargetForm::Zipf { s } => {
                let weight = |rank: usize| above_zero((-s * (rank as f64).ln()).exp());
                Weights::Real((1..=leaves.len()).map(weight).collect())
            }
            TargetForm::Normal { mean, deviation } => {
                // Categories are not numbers, and have no such target.
                let Some(numbers) = &leaves.numbers else {
                    return Some(Weights::Exact(vec![0; leaves.len()]));
                };
                let own = counts.map(|counts| moments(numbers, counts));
                let mean = mean.or(own.map(|(mean, _)| mean))?;
                let deviation = deviation.or(own.map(|(_, deviation)| deviation))?;
                let density = |number: &f64| {
                    let distance = (number - mean) / deviation;
                    above_zero((-distance * distance / 2.0).exp())
                };
                Weights::Real(numbers.iter().map(density).collect())
            }
        })
    }

    /// Whether the weights at every node are in the proportions of those of the leaves: exactly,
    /// or as near as the policy asks.
    fn has_weights(&self, tree: &Tree, weights: &Weights) -> bool {
        let nodes = 1..tree.labels.len();
        let parent = |node: usize| tree.parents[node] as usize;
        let near = |node: usize, share: f64| {
            let tolerance = SLACK
                + match self.rounding {
                    RoundingAsked::Within(share) => share.to_f64(),
                    RoundingAsked::Default | RoundingAsked::Exact => ROUNDING,
                };
            let own = tree.weights[node] as f64 / tree.units[parent(node)] as f64;
            (own - share).abs() <= tolerance
        };
        let below = |node: usize| tree.leaves[node].0 as usize..tree.leaves[node].1 as usize;
        match weights {
            Weights::Real(weights) => {
                let mass = |node: usize| weights[below(node)].iter().sum::<f64>();
                nodes.clone().all(|node| near(node, mass(node) / mass(parent(node))))
            }
            Weights::Exact(weights) => {
                let mut sums = vec![0u128];
                sums.extend(weights.iter().scan(0u128, |sum, weight| {
                    *sum += u128::from(*weight);
                    Some(*sum)
                }));
                let mass = |node: usize| sums[below(node).end] - sums[below(node).start];
                // The masses of siblings are multiples of this.
                let mut divisors = vec![0u64; tree.labels.len()];
                for node in nodes.clone() {
                    let divisor = &mut divisors[parent(node)];
                    let mass = u64::try_from(mass(node)).unwrap_or(1);
                    *divisor = greatest_common_divisor(*divisor, mass);
                }
                let total = sums.last().copied().unwrap_or(0);
                let has_few_units = |node: usize| {
                    // A group expects this share of the total inside the parent, in units.
                    let units = u128::from(self.smallest) * u128::from(divisors[parent(node)]);
                    units < UNITS.saturating_mul(total)
                };
                let is_exact = |node: usize| {
                    let own = u128::from(tree.weights[node]).checked_mul(mass(parent(node)));
                    own.is_some() && own == mass(node).checked_mul(tree.units[parent(node)])
                };
                let is_near =
                    |node: usize| near(node, mass(node) as f64 / mass(parent(node)) as f64);
                let fits = |node: usize| match self.rounding {
                    RoundingAsked::Within(_) => is_near(node),
                    RoundingAsked::Exact => is_exact(node),
                    RoundingAsked::Default => {
                        is_exact(node) || (has_few_units(node) && is_near(node))
                    }
                };
                weights.iter().all(|weight| *weight > 0) && nodes.clone().all(fits)
            }
        }
    }
}

/// A weight that is too small for a float is still one: every value of a target has some.
fn above_zero(weight: f64) -> f64 {
    weight.max(f64::MIN_POSITIVE)
}

/// Mean and standard deviation of values with counts. Values that are all alike have no deviation;
/// 1 then stands for it.
fn moments(numbers: &[f64], counts: &[u64]) -> (f64, f64) {
    let pairs = || numbers.iter().zip(counts).map(|(number, count)| (*number, *count as f64));
    let rows: f64 = pairs().map(|(_, count)| count).sum();
    let mean = pairs().map(|(number, count)| number * (count / rows)).sum::<f64>();
    let variance = pairs().map(|(number, count)| (number - mean).powi(2) * (count / rows));
    let variance: f64 = variance.sum();
    (mean, if variance > 0.0 { variance.sqrt() } else { 1.0 })
}

/// The weights of a file, times their common denominator. All weights are 0, and no target, if the
/// leaves are not the values that the file gives a weight above 0.
fn listed(weights: &[(u64, String, Ratio)], leaves: &Leaves<'_>) -> Vec<u64> {
    let none = vec![0; leaves.len()];
    let mut found: HashMap<u32, Ratio> = HashMap::new();
    for (_, text, weight) in weights.iter().filter(|(.., weight)| weight.numerator() > 0) {
        let leaf = leaves.find(Value::new(text));
        // A value that is not a leaf, or a duplicate.
        if leaf.is_none_or(|leaf| found.insert(leaf, *weight).is_some()) {
            return none;
        }
    }
    let common = found.values().try_fold(1u64, |common, weight| {
        let divisor = greatest_common_divisor(common, weight.denominator());
        common.checked_mul(weight.denominator() / divisor)
    });
    let whole = |leaf: u32| {
        let weight = found.get(&leaf)?;
        weight.numerator().checked_mul(common? / weight.denominator())
    };
    (0..leaves.len() as u32).map(whole).collect::<Option<_>>().unwrap_or(none)
}

/// The float that is nearest to a number of units of 10^-scale: what its text is read as.
fn float(units: i64, scale: u32) -> f64 {
    // The quotient of two exact floats is rounded once.
    if units.unsigned_abs() < 1 << 53 && scale <= 22 {
        return units as f64 / 10f64.powi(scale as i32);
    }
    format!("{units}e-{scale}").parse().unwrap_or(f64::NAN)
}

/// The number that a value is written as.
pub(super) fn number(text: &str) -> Option<f64> {
    Type::Real.number(text).map(|number| number + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree whose leaves, 10, 20, and so on, are below the root.
    fn flat(weights: &[u64]) -> Tree {
        let leaves = weights.len() as u32;
        let labels = (1..=leaves).map(|leaf| (10 * leaf).to_string());
        let labels: Vec<String> = std::iter::once("all".to_string()).chain(labels).collect();
        let ends = (1..=i64::from(leaves)).map(|leaf| (10 * leaf, 10 * leaf));
        let below = (0..leaves).map(|leaf| (leaf, leaf + 1));
        let mut units = vec![0; labels.len()];
        units[0] = weights.iter().map(|weight| u128::from(*weight)).sum();
        Tree {
            index: labels.iter().cloned().zip(0..).collect(),
            labels,
            parents: vec![0; weights.len() + 1],
            weights: std::iter::once(1).chain(weights.iter().copied()).collect(),
            ends: std::iter::once((10, 10 * i64::from(leaves))).chain(ends).collect(),
            leaves: std::iter::once((0, leaves)).chain(below).collect(),
            units,
        }
    }

    fn policy(target: &str) -> Policy {
        Policy::from_toml(&format!(
            "[attributes.x]\nrole = \"sensitive\"\n[privacy.distribution]\nattribute = \"x\"\n\
             {target}\n"
        ))
        .unwrap()
    }

    /// Whether a tree has the only target of a policy, for groups of many records.
    fn has(target: &str, weights: &[u64], counts: Option<(&[u64], u64)>) -> Option<bool> {
        has_in(1_000_000, target, weights, counts)
    }

    /// The same for groups of at least so many records.
    fn has_in(
        smallest: u64,
        target: &str,
        weights: &[u64],
        counts: Option<(&[u64], u64)>,
    ) -> Option<bool> {
        let policy = policy(target);
        let asked = policy.privacy().distribution.as_ref().unwrap();
        let (tree, domain) = (flat(weights), Domain::new(&policy, asked, None));
        let wanted =
            Wanted { target: &asked.target, rounding: asked.rounding, smallest, domain: &domain };
        wanted.is_target(&Leaves::new(&tree, Some(0)), counts)
    }

    #[test]
    fn weights_are_those_of_the_definition() {
        let uniform = "target = \"uniform\"";
        assert_eq!(has(uniform, &[7, 7, 7], None), Some(true));
        assert_eq!(has(uniform, &[1, 1, 2], None), Some(false));
        // Every value of the domain, and every value that occurs.
        let stated = "target = \"uniform\"\ndomain = [10, 11]";
        assert_eq!(has(stated, &[1, 1], None), Some(false));
        assert_eq!(has(uniform, &[1, 1], Some((&[3, 0], 3))), Some(true));
        assert_eq!(has(uniform, &[1, 1], Some((&[3, 0], 4))), Some(false));
        // The range of a group ends where its values do.
        let of_group = "target = { kind = \"uniform\", of = \"group\" }";
        assert_eq!(has(of_group, &[1, 1, 1], Some((&[3, 0, 1], 4))), Some(true));
        assert_eq!(has(of_group, &[1, 1], Some((&[3, 0], 3))), Some(false));

        let source = "target = \"source\"";
        assert_eq!(has(source, &[1, 3], None), None);
        assert_eq!(has(source, &[1, 3], Some((&[2, 6], 8))), Some(true));
        assert_eq!(has(source, &[1, 3], Some((&[2, 5], 7))), Some(false));
        assert_eq!(has(source, &[1, 3], Some((&[2, 6], 9))), Some(false));
        let near = "target = \"source\"\nrounding = \"10%\"";
        assert_eq!(has(near, &[1, 3], Some((&[2, 5], 7))), Some(true));
        assert_eq!(has(near, &[1, 1], Some((&[2, 5], 7))), Some(false));

        // 1 : 1/4 : 1/9.
        let zipf = "target = { kind = \"zipf\", s = 2 }\nrounding = 1e-6";
        assert_eq!(has(zipf, &[36, 9, 4], None), Some(true));
        assert_eq!(has(zipf, &[36, 9, 5], None), Some(false));
        // exp(-1/2) = 0.60653 at one deviation from the mean.
        let normal = "target = { kind = \"normal\", mean = 20, deviation = 10 }\nrounding = 1e-5";
        assert_eq!(has(normal, &[60653, 100_000, 60653], None), Some(true));
        assert_eq!(has(normal, &[60653, 100_000, 60753], None), Some(false));
        // Mean 20 and deviation 10: half of the rows at either end.
        let own = "target = \"normal\"\nrounding = 1e-5";
        assert_eq!(has(own, &[60653, 100_000, 60653], None), None);
        let counts: (&[u64], u64) = (&[4, 0, 4], 8);
        assert_eq!(has(own, &[60653, 100_000, 60653], Some(counts)), Some(true));
        assert_eq!(has(own, &[60653, 90_000, 60653], Some(counts)), Some(false));
    }

    #[test]
    fn weights_are_near_only_where_a_group_has_few_units() {
        let source = "target = \"source\"";
        let counts: (&[u64], u64) = (&[5013, 4987], 10_000);
        assert_eq!(has_in(99_999, source, &[1, 1], Some(counts)), Some(true));
        assert_eq!(has_in(100_000, source, &[1, 1], Some(counts)), Some(false));
        assert_eq!(has_in(100_000, source, &[5013, 4987], Some(counts)), Some(true));
        assert_eq!(has_in(1, source, &[5013, 4987], Some(counts)), Some(true));
        assert_eq!(has_in(1, source, &[11, 10], Some(counts)), Some(false));
        let exact = "target = \"source\"\nrounding = \"exact\"";
        assert_eq!(has_in(1, exact, &[1, 1], Some(counts)), Some(false));
        assert_eq!(has_in(1, exact, &[5013, 4987], Some(counts)), Some(true));
    }

    #[test]
    fn a_leaf_is_the_float_that_its_text_is_read_as() {
        for (units, scale, text) in [
            (3, 1, "0.3"),
            (-123_456_789_012_345_000, 3, "-123456789012345"),
            (123_456_789_012_345_001, 3, "123456789012345.001"),
            (7, 40, "7e-40"),
            (0, 330, "0"),
        ] {
            assert_eq!(Some(float(units, scale)), number(text), "{text}");
        }
    }

    #[test]
    fn a_file_has_all_its_values_and_no_others() {
        let ratio = |text: &str| text.parse::<Ratio>().unwrap();
        let weights = |rows: &[(&str, &str)]| -> Vec<(u64, String, Ratio)> {
            rows.iter().map(|(value, weight)| (1, value.to_string(), ratio(weight))).collect()
        };
        let tree = flat(&[1, 1]);
        let leaves = Leaves::new(&tree, Some(0));
        let of = |rows: &[(&str, &str)]| listed(&weights(rows), &leaves);
        assert_eq!(of(&[("10", "1/4"), ("20.0", "1/6"), ("30", "0")]), [3, 2]);
        for wrong in [
            [("10", "1"), ("10.0", "1")].as_slice(),
            &[("10", "1")],
            &[("10", "1"), ("20", "1"), ("30", "1")],
        ] {
            assert!(of(wrong).contains(&0), "{wrong:?}");
        }
    }
}
