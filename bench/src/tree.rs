//! A decision tree in the manner of C4.5 (Quinlan 1993), to measure what a release is worth for
//! classification.
//!
//! A split is the one with the largest gain ratio among those whose gain is at least the average.
//! Nominal attributes have a branch for each label, ordered ones (ages) two branches and a
//! threshold. Subtrees are replaced by leaves if that does not raise the pessimistic error, with
//! C4.5's default confidence of 25 %. Nothing is drawn at random.

use std::collections::BTreeMap;

/// At least two branches of a split have this many rows, as in C4.5.
const LEAST_ROWS: usize = 2;
/// The upper quartile of the normal distribution: a confidence of 25 %.
const QUARTILE: f64 = 0.674_489_75;

/// Rows to learn from or to classify, column by column.
pub struct Examples {
    /// The columns.
    pub attributes: Vec<Attribute>,
    /// The class label of each row.
    pub labels: Vec<u32>,
}

/// One column of labels.
pub struct Attribute {
    /// The label of each row, as a number.
    pub codes: Vec<u32>,
    /// Whether the order of the numbers means something.
    pub is_ordered: bool,
}

/// A tree, or a leaf that says which class label is the most frequent one.
pub struct Tree {
    majority: u32,
    /// Training rows, and those with another label.
    rows: usize,
    wrong: usize,
    split: Option<Split>,
}

struct Split {
    attribute: usize,
    /// For ordered attributes, codes up to this go to branch 0 and others to branch 1.
    threshold: Option<u32>,
    branches: BTreeMap<u32, Tree>,
}

impl Split {
    fn branch(attribute: &Attribute, threshold: Option<u32>, row: usize) -> u32 {
        let code = attribute.codes[row];
        threshold.map_or(code, |threshold| u32::from(code > threshold))
    }
}

impl Tree {
    /// Learns from some rows, and prunes.
    pub fn learn(examples: &Examples, rows: &[usize]) -> Tree {
        let unused = vec![true; examples.attributes.len()];
        let mut tree = Tree::grow(examples, rows, &unused);
        tree.prune();
        tree
    }

    fn grow(examples: &Examples, rows: &[usize], unused: &[bool]) -> Tree {
        let counts = counts(rows.iter().map(|row| examples.labels[*row]));
        // The first of the most frequent ones.
        let most = counts.iter().rev().max_by_key(|(_, count)| **count);
        let (majority, right) = most.map_or((0, 0), |(label, count)| (*label, *count));
        let wrong = rows.len() - right;
        let mut tree = Tree { majority, rows: rows.len(), wrong, split: None };
        if wrong == 0 || rows.len() < 2 * LEAST_ROWS {
            return tree;
        }
        let Some((attribute, threshold)) = best_split(examples, rows, unused) else { return tree };
        let column = &examples.attributes[attribute];
        let mut unused = unused.to_vec();
        unused[attribute] = column.is_ordered;
        let mut parts = BTreeMap::<u32, Vec<usize>>::new();
        for row in rows {
            parts.entry(Split::branch(column, threshold, *row)).or_default().push(*row);
        }
        let grown =
            |(branch, rows): (u32, Vec<usize>)| (branch, Tree::grow(examples, &rows, &unused));
        let branches = parts.into_iter().map(grown).collect();
        tree.split = Some(Split { attribute, threshold, branches });
        tree
    }

    /// Replaces subtrees from the leaves upward; returns the pessimistic number of errors.
    fn prune(&mut self) -> f64 {
        let as_leaf = pessimistic(self.rows, self.wrong);
        let Some(split) = &mut self.split else { return as_leaf };
        let as_tree: f64 = split.branches.values_mut().map(Tree::prune).sum();
        if as_leaf <= as_tree + 0.1 {
            self.split = None;
            return as_leaf;
        }
        as_tree
    }

    /// The class label that the tree gives a row. A label that a node has never seen ends there.
    pub fn classify(&self, examples: &Examples, row: usize) -> u32 {
        let next = self.split.as_ref().and_then(|split| {
            let column = &examples.attributes[split.attribute];
            split.branches.get(&Split::branch(column, split.threshold, row))
        });
        next.map_or(self.majority, |next| next.classify(examples, row))
    }

    /// The share of rows that get a wrong label.
    pub fn error(&self, examples: &Examples, rows: &[usize]) -> f64 {
        let is_wrong = |row: &&usize| self.classify(examples, **row) != examples.labels[**row];
        rows.iter().filter(is_wrong).count() as f64 / rows.len() as f64
    }

    /// How many leaves there are.
    pub fn leaves(&self) -> usize {
        self.split.as_ref().map_or(1, |split| split.branches.values().map(Tree::leaves).sum())
    }
}

fn counts(labels: impl Iterator<Item = u32>) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    labels.for_each(|label| *counts.entry(label).or_default() += 1);
    counts
}

/// Rows times the bits that are open about a value of which these are the counts.
fn open_bits(counts: impl Iterator<Item = usize> + Clone) -> f64 {
    let rows: usize = counts.clone().sum();
    let bits = |count: usize| count as f64 * (rows as f64 / count as f64).log2();
    counts.filter(|count| *count > 0).map(bits).sum()
}

/// A split that might be made.
struct Candidate {
    attribute: usize,
    threshold: Option<u32>,
    gain: f64,
    ratio: f64,
}

/// The attribute, and for an ordered one the threshold, with the largest gain ratio among the
/// splits whose gain is at least the average over attributes.
fn best_split(
    examples: &Examples,
    rows: &[usize],
    unused: &[bool],
) -> Option<(usize, Option<u32>)> {
    let open = counts(rows.iter().map(|row| examples.labels[*row]));
    let open = open_bits(open.values().copied());
    let candidate = |(attribute, column): (usize, &Attribute)| {
        let mut of_code = BTreeMap::<u32, BTreeMap<u32, usize>>::new();
        for row in rows {
            let counts = of_code.entry(column.codes[*row]).or_default();
            *counts.entry(examples.labels[*row]).or_default() += 1;
        }
        let found = if column.is_ordered {
            best_threshold(&of_code, open)
        } else {
            judged(of_code.values(), open).map(|(gain, ratio)| (None, gain, ratio))
        };
        found.map(|(threshold, gain, ratio)| Candidate { attribute, threshold, gain, ratio })
    };
    let columns = examples.attributes.iter().enumerate().filter(|(at, _)| unused[*at]);
    let candidates: Vec<Candidate> = columns.filter_map(candidate).collect();
    let average = candidates.iter().map(|one| one.gain).sum::<f64>() / candidates.len() as f64;
    let good = candidates.iter().filter(|one| one.gain >= average - 1e-9);
    let best = good.rev().max_by(|a, b| a.ratio.total_cmp(&b.ratio))?;
    Some((best.attribute, best.threshold))
}

/// The threshold with the largest gain, with its gain and gain ratio.
fn best_threshold(
    of_code: &BTreeMap<u32, BTreeMap<u32, usize>>,
    open: f64,
) -> Option<(Option<u32>, f64, f64)> {
    let merged = |codes: &mut dyn Iterator<Item = &BTreeMap<u32, usize>>| {
        let mut sum = BTreeMap::<u32, usize>::new();
        for (label, count) in codes.flatten() {
            *sum.entry(*label).or_default() += count;
        }
        sum
    };
    let at = |threshold: &u32| {
        let below = merged(&mut of_code.range(..=threshold).map(|(_, counts)| counts));
        let above = merged(&mut of_code.range(threshold + 1..).map(|(_, counts)| counts));
        let (gain, ratio) = judged([&below, &above].into_iter(), open)?;
        Some((Some(*threshold), gain, ratio))
    };
    of_code.keys().rev().filter_map(at).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Gain and gain ratio of a split into branches with these labels; `None` if the split is too
/// uneven or tells nothing.
fn judged<'a>(
    branches: impl Iterator<Item = &'a BTreeMap<u32, usize>> + Clone,
    open: f64,
) -> Option<(f64, f64)> {
    let sizes = branches.clone().map(|counts| counts.values().sum::<usize>());
    if sizes.clone().filter(|size| *size >= LEAST_ROWS).count() < 2 {
        return None;
    }
    let left: f64 = branches.map(|counts| open_bits(counts.values().copied())).sum();
    let (gain, information) = (open - left, open_bits(sizes));
    (gain > 1e-9 && information > 0.0).then(|| (gain, gain / information))
}

/// The errors to expect of a leaf: the upper end of the confidence interval of its error rate (the
/// normal approximation, Witten and Frank 2005, section 6.1), times its rows.
fn pessimistic(rows: usize, wrong: usize) -> f64 {
    if rows == 0 {
        return 0.0;
    }
    let (n, f, z) = (rows as f64, wrong as f64 / rows as f64, QUARTILE);
    let root = (f / n - f * f / n + z * z / (4.0 * n * n)).sqrt();
    n * (f + z * z / (2.0 * n) + z * root) / (1.0 + z * z / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples(columns: &[(&[u32], bool)], labels: &[u32]) -> Examples {
        let attribute = |(codes, is_ordered): &(&[u32], bool)| Attribute {
            codes: codes.to_vec(),
            is_ordered: *is_ordered,
        };
        Examples { attributes: columns.iter().map(attribute).collect(), labels: labels.to_vec() }
    }

    /// Quinlan's fourteen days: outlook, temperature, humidity, wind, and whether there is play.
    fn days() -> Examples {
        examples(
            &[
                (&[0, 0, 1, 2, 2, 2, 1, 0, 0, 2, 0, 1, 1, 2], false),
                (&[2, 2, 2, 1, 0, 0, 0, 1, 0, 1, 1, 1, 2, 1], false),
                (&[1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1], false),
                (&[0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1], false),
            ],
            &[0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0],
        )
    }

    /// The published tree: outlook first, then humidity if it is sunny and wind if it rains. The
    /// gain of outlook is 0.247 bits and its gain ratio 0.156.
    #[test]
    fn quinlans_example_comes_out() {
        let days = days();
        let rows: Vec<usize> = (0..14).collect();
        let tree = Tree::grow(&days, &rows, &[true; 4]);
        let split = tree.split.as_ref().unwrap();
        assert_eq!(split.attribute, 0);
        let below = |branch: u32| split.branches[&branch].split.as_ref().map(|s| s.attribute);
        assert_eq!([below(0), below(1), below(2)], [Some(2), None, Some(3)]);
        assert_eq!((tree.leaves(), tree.error(&days, &rows)), (5, 0.0));
        let open = open_bits([9, 5].into_iter());
        assert!((open / 14.0 - 0.940).abs() < 5e-4);
        let branches = [[(0, 3), (1, 2)], [(1, 4), (2, 0)], [(0, 2), (1, 3)]].map(BTreeMap::from);
        let (gain, ratio) = judged(branches.iter(), open).unwrap();
        assert!((gain / 14.0 - 0.247).abs() < 5e-4 && (ratio - 0.156).abs() < 5e-4);
    }

    /// Witten and Frank's example: leaves with 2 of 6, 1 of 2 and 2 of 6 errors have pessimistic
    /// rates of 0.47, 0.72 and 0.47 (with z = 0.69), and their parent with 5 of 14 has 0.46, so it
    /// becomes a leaf.
    #[test]
    fn a_subtree_that_does_not_help_is_pruned() {
        let rate = |rows, wrong| pessimistic(rows, wrong) / rows as f64;
        for (rows, wrong, expected) in [(6, 2, 0.47), (2, 1, 0.72), (14, 5, 0.45)] {
            assert!((rate(rows, wrong) - expected).abs() < 0.01, "{}", rate(rows, wrong));
        }
        let leaf = |rows, wrong| Tree { majority: 0, rows, wrong, split: None };
        let branches = BTreeMap::from([(0, leaf(6, 2)), (1, leaf(2, 1)), (2, leaf(6, 2))]);
        let split = Some(Split { attribute: 0, threshold: None, branches });
        let mut tree = Tree { majority: 0, rows: 14, wrong: 5, split };
        tree.prune();
        assert_eq!(tree.leaves(), 1);
        // One that helps stays.
        let branches = BTreeMap::from([(0, leaf(60, 2)), (1, leaf(60, 1))]);
        let split = Some(Split { attribute: 0, threshold: None, branches });
        let mut tree = Tree { majority: 0, rows: 120, wrong: 60, split };
        tree.prune();
        assert_eq!(tree.leaves(), 2);
    }

    /// An ordered attribute is split where it tells most, twice if need be; a nominal one cannot be
    /// split at a threshold. Rows with labels that were never seen get the majority.
    #[test]
    fn thresholds_are_found_and_unseen_labels_get_the_majority() {
        let codes: Vec<u32> = (0..60).collect();
        let labels: Vec<u32> =
            codes.iter().map(|code| u32::from((20..45).contains(code))).collect();
        let ordered = examples(&[(&codes, true)], &labels);
        let rows: Vec<usize> = (0..60).collect();
        let tree = Tree::learn(&ordered, &rows);
        assert_eq!((tree.leaves(), tree.error(&ordered, &rows)), (3, 0.0));
        let nominal = examples(&[(&codes, false)], &labels);
        let known: Vec<usize> = (0..60).filter(|row| row % 2 == 0).collect();
        let tree = Tree::learn(&nominal, &known);
        let unseen: Vec<usize> = (0..60).filter(|row| row % 2 == 1).collect();
        let minority = unseen.iter().filter(|row| labels[**row] == 1).count();
        assert_eq!(tree.error(&nominal, &unseen), minority as f64 / unseen.len() as f64);
    }

    #[test]
    fn nothing_to_learn_from_is_a_leaf() {
        let empty = examples(&[(&[], false)], &[]);
        assert_eq!(Tree::learn(&empty, &[]).leaves(), 1);
        let pure = examples(&[(&[0, 1, 2, 3], true)], &[1, 1, 1, 1]);
        let tree = Tree::learn(&pure, &[0, 1, 2, 3]);
        assert_eq!((tree.leaves(), tree.classify(&pure, 0)), (1, 1));
    }
}
