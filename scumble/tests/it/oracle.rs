//! The textbook: tables of text, hierarchies as maps, groups as maps, every definition as it is
//! printed.
//!
//! Nothing here is shared with the library, and nothing is clever: every node of the lattice is
//! grouped from the rows and judged in full.

use crate::exact::{Fraction, Ground, distance, entropy_reaches};
use std::collections::{BTreeMap, BTreeSet};

/// For each leaf, its labels from itself to the root.
pub type Tree = BTreeMap<String, Vec<String>>;

/// A column and its hierarchy. A missing value is an empty text.
#[derive(Clone, Debug)]
pub struct Column {
    pub values: Vec<String>,
    pub tree: Tree,
}

impl Column {
    /// A missing value (empty, or one of `tokens`, unless it is a leaf of the hierarchy) is a leaf
    /// of its own that stays itself until the root; the leaf is there only if it occurs.
    pub fn new(raw: &[String], mut tree: Tree, tokens: &[&str]) -> Column {
        let height = tree.values().next().map_or(1, |path| path.len() - 1);
        let root = tree.values().next().map_or("*".into(), |path| path[height].clone());
        let is_missing = |value: &String| value.is_empty() || tokens.contains(&value.as_str());
        let listed: BTreeSet<String> = tree.keys().cloned().collect();
        let mut values = raw.to_vec();
        for value in values.iter_mut().filter(|value| is_missing(value) && !listed.contains(*value))
        {
            *value = String::new();
            let mut path = vec![String::new(); height];
            path.push(root.clone());
            tree.insert(String::new(), path);
        }
        Column { values, tree }
    }

    /// Values, then the root.
    pub fn flat(raw: &[String], tokens: &[&str]) -> Column {
        let real =
            raw.iter().filter(|value| !value.is_empty() && !tokens.contains(&value.as_str()));
        Column::new(
            raw,
            real.map(|value| (value.clone(), vec![value.clone(), "*".into()])).collect(),
            tokens,
        )
    }

    pub fn height(&self) -> usize {
        self.tree.values().next().expect("a column has values").len() - 1
    }

    fn label(&self, row: usize, level: usize) -> &str {
        &self.tree[&self.values[row]][level]
    }

    /// What a label costs: (leaves below it - 1) / (leaves below the root - 1).
    fn cost(&self, label: &str, level: usize) -> f64 {
        let below = self.tree.values().filter(|path| path[level] == label).count();
        if below == 1 { 0.0 } else { (below - 1) as f64 / (self.tree.len() - 1) as f64 }
    }
}

/// A table: quasi-identifiers, sensitive attributes, and the label of the expected use.
#[derive(Clone, Debug)]
pub struct Plain {
    pub rows: usize,
    pub keys: Vec<Column>,
    pub sensitive: Vec<Column>,
    pub target: Vec<String>,
}

/// What every released group must have. `of` is the sensitive attribute.
#[derive(Clone, Debug)]
pub enum Demand {
    Size { k: usize },
    Frequency { of: usize, l: Fraction },
    Distinct { of: usize, l: usize },
    Entropy { of: usize, l: Fraction },
    Recursive { of: usize, c: Fraction, l: usize },
    Close { of: usize, t: Fraction, ground: Ground },
    Spread { of: usize, v: Fraction },
}

/// A release at one node of the lattice.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub levels: Vec<usize>,
    pub suppressed: usize,
    /// Every released group also holds against the released rows.
    pub holds_in_release: bool,
    pub lm: f64,
    /// The same for each column by itself.
    pub lm_of: Vec<f64>,
    pub dm: u128,
    pub cm: f64,
}

impl Outcome {
    pub fn is_feasible(&self, rows: usize, suppressible: usize) -> bool {
        self.suppressed <= suppressible && self.suppressed < rows && self.holds_in_release
    }

    pub fn cost(&self, loss: &str) -> f64 {
        match loss {
            "lm" => self.lm,
            "dm" => self.dm as f64,
            "cm" => self.cm,
            other => panic!("no loss is called {other}"),
        }
    }
}

impl Demand {
    /// Whether a group of rows has it; `whole` are the rows that it is compared with.
    pub fn holds(&self, table: &Plain, group: &[usize], whole: &[usize]) -> bool {
        let counts = |of: usize| descending_counts(&table.sensitive[of], group);
        match self {
            Demand::Size { k } => group.len() >= *k,
            Demand::Frequency { of, l } => {
                Fraction::new(counts(*of)[0] as u128, group.len() as u128)
                    .at_most(Fraction::new(l.below, l.above))
            }
            Demand::Distinct { of, l } => counts(*of).len() >= *l,
            Demand::Entropy { of, l } => entropy_reaches(&counts(*of), *l),
            Demand::Recursive { l: 1, .. } => true,
            Demand::Recursive { of, c, l } => {
                let counts = counts(*of);
                let tail: usize = counts.iter().skip(l - 1).sum();
                (counts[0] as u128 * c.below) < c.above * tail as u128
            }
            Demand::Close { of, t, ground } => {
                let column = &table.sensitive[*of];
                let values = |rows: &[usize]| {
                    rows.iter().map(|row| column.values[*row].as_str()).collect::<Vec<_>>()
                };
                distance(*ground, &values(group), &values(whole), &column.tree).at_most(*t)
            }
            Demand::Spread { of, v } => {
                let values = group.iter().map(|row| &table.sensitive[*of].values[*row]);
                let numbers: Vec<i128> = values.filter_map(|value| value.parse().ok()).collect();
                let rows = numbers.len() as i128;
                // Deviations from the mean are whole in units of 1/n, and their squares in units of
                // 1/n^2.
                let sum: i128 = numbers.iter().sum();
                let squares: i128 = numbers.iter().map(|number| (number * rows - sum).pow(2)).sum();
                rows > 0 && v.at_most(Fraction::new(squares as u128, rows.pow(3) as u128))
            }
        }
    }
}

fn descending_counts(column: &Column, group: &[usize]) -> Vec<usize> {
    let mut counts = BTreeMap::new();
    for row in group {
        *counts.entry(&column.values[*row]).or_insert(0) += 1;
    }
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

impl Plain {
    /// Every node of the lattice.
    pub fn nodes(&self) -> Vec<Vec<usize>> {
        let mut nodes = vec![Vec::new()];
        for column in &self.keys {
            let one_more = |node: &Vec<usize>| {
                let node = node.clone();
                (0..=column.height()).map(move |level| [node.as_slice(), &[level]].concat())
            };
            nodes = nodes.iter().flat_map(one_more).collect();
        }
        nodes
    }

    /// The rows of each class, by its labels.
    pub fn groups(&self, levels: &[usize]) -> BTreeMap<Vec<&str>, Vec<usize>> {
        let mut groups: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
        for row in 0..self.rows {
            let labels = self
                .keys
                .iter()
                .zip(levels)
                .map(|(column, level)| column.label(row, *level))
                .collect();
            groups.entry(labels).or_default().push(row);
        }
        groups
    }

    /// What a release at these levels is, if all classes that fail a demand are left out.
    pub fn release(&self, levels: &[usize], demands: &[Demand]) -> Outcome {
        let all: Vec<usize> = (0..self.rows).collect();
        let (kept, lost): (Vec<_>, Vec<_>) = self
            .groups(levels)
            .into_iter()
            .partition(|(_, group)| demands.iter().all(|demand| demand.holds(self, group, &all)));
        let released: Vec<usize> =
            kept.iter().flat_map(|(_, group)| group.iter().copied()).collect();
        let suppressed: usize = lost.iter().map(|(_, group)| group.len()).sum();
        let again =
            |group: &[usize]| demands.iter().all(|demand| demand.holds(self, group, &released));
        let (mut lm, mut dm, mut wrong) = (0.0, 0, suppressed);
        let mut lm_of = vec![suppressed as f64; self.keys.len()];
        for (labels, group) in &kept {
            let of_row = labels
                .iter()
                .zip(levels)
                .zip(&self.keys)
                .map(|((label, level), key)| key.cost(label, *level));
            let of_row: Vec<f64> = of_row.collect();
            let sums = lm_of.iter_mut().zip(&of_row);
            sums.for_each(|(sum, cost)| *sum += cost * group.len() as f64);
            lm += of_row.iter().sum::<f64>() * group.len() as f64;
            dm += group.len() as u128 * group.len() as u128;
            let mut of_label = BTreeMap::new();
            for row in group {
                *of_label.entry(&self.target[*row]).or_insert(0) += 1;
            }
            wrong += group.len() - of_label.values().max().expect("a group has rows");
        }
        lm += (suppressed * self.keys.len()) as f64;
        Outcome {
            levels: levels.to_vec(),
            suppressed,
            holds_in_release: kept.iter().all(|(_, group)| again(group)),
            lm: lm / (self.rows * self.keys.len()) as f64,
            lm_of: lm_of.iter().map(|lm| lm / self.rows as f64).collect(),
            dm: dm + self.rows as u128 * suppressed as u128,
            cm: wrong as f64 / self.rows as f64,
        }
    }

    /// The outcome at every node.
    pub fn outcomes(&self, demands: &[Demand]) -> Vec<Outcome> {
        self.nodes().iter().map(|levels| self.release(levels, demands)).collect()
    }
}

/// The least cost of all feasible outcomes.
pub fn least_cost(
    outcomes: &[Outcome],
    rows: usize,
    suppressible: usize,
    loss: &str,
) -> Option<f64> {
    let feasible = outcomes.iter().filter(|outcome| outcome.is_feasible(rows, suppressible));
    feasible.map(|outcome| outcome.cost(loss)).min_by(f64::total_cmp)
}
