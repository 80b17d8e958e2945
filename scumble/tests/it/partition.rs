//! The textbook of partitioning, without the library and without speed: every possible split of
//! every attribute is listed as lists of rows, and judged by the oracle's definitions.

use crate::oracle::{Demand, Plain};
use std::collections::BTreeMap;

/// A partition of rows.
pub type Parts = Vec<Vec<usize>>;

/// Gains closer than this are one.
const SAME: f64 = 1e-9;

/// How a split is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    Loss,
    Median,
    InfoGain,
    Regression,
}

/// A table as a space of points.
pub struct Space<'a> {
    pub plain: &'a Plain,
    pub demands: &'a [Demand],
    /// For each quasi-identifier that is ordered, the number of each row, if it has one.
    pub ordered: &'a [Option<Vec<Option<f64>>>],
    /// The target as a number.
    pub target: &'a [f64],
    pub split: Split,
    pub least_gain: f64,
    /// Whether children of a node that fail by themselves may be one part together.
    pub pooling: bool,
    /// What the detail of each quasi-identifier weighs.
    pub weights: &'a [u64],
}

impl Space<'_> {
    /// What the whole table becomes, or `None` where it fails as it is.
    pub fn partition(&self) -> Option<Parts> {
        let all: Vec<usize> = (0..self.plain.rows).collect();
        let mut regions = Vec::new();
        self.holds(&all).then(|| self.grow(all, self.split == Split::Median, &mut regions))?;
        Some(regions)
    }

    fn grow(&self, rows: Vec<usize>, by_median: bool, regions: &mut Parts) {
        if self.split == Split::Loss {
            match self.least_lossy(&rows) {
                Some(parts) => parts.into_iter().for_each(|part| self.grow(part, false, regions)),
                None => regions.push(rows),
            }
            return;
        }
        let gainful = if by_median { None } else { self.most_gainful(&rows) };
        let (parts, by_median) = match gainful {
            Some((gain, parts)) if gain >= self.least_gain - SAME => (Some(parts), false),
            _ => (self.nearest_to_median(&rows), true),
        };
        match parts {
            Some(parts) => parts.into_iter().for_each(|part| self.grow(part, by_median, regions)),
            None => regions.push(rows),
        }
    }

    pub fn holds(&self, rows: &[usize]) -> bool {
        let all: Vec<usize> = (0..self.plain.rows).collect();
        self.demands.iter().all(|demand| demand.holds(self.plain, rows, &all))
    }

    fn is_allowable(&self, parts: &Parts) -> bool {
        parts.iter().all(|part| self.holds(part))
    }

    /// The rows below each child of the node that some rows have in common; none below a leaf.
    fn children(&self, key: usize, rows: &[usize]) -> Parts {
        let column = &self.plain.keys[key];
        let level = self.ancestor(key, rows);
        let mut children: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
        for row in rows.iter().filter(|_| level > 0) {
            let label = &column.tree[&column.values[*row]][level - 1];
            children.entry(label).or_default().push(*row);
        }
        children.into_values().collect()
    }

    /// Some children apart, and all others together.
    fn with_rest(children: &Parts, is_apart: &dyn Fn(usize) -> bool) -> Parts {
        let (apart, rest): (Vec<usize>, Vec<usize>) =
            (0..children.len()).partition(|child| is_apart(*child));
        let rest: Vec<usize> = rest.iter().flat_map(|child| children[*child].clone()).collect();
        let apart = apart.into_iter().map(|child| children[child].clone());
        apart.chain((!rest.is_empty()).then_some(rest)).collect()
    }

    /// The split of a tree that is taken: all children apart, or those that fail together with as
    /// many others as it takes, the smallest first; in the end one child apart, the largest first.
    fn pooled(&self, key: usize, rows: &[usize]) -> Option<Parts> {
        let children = self.children(key, rows);
        let allowable = |is_apart: &dyn Fn(usize) -> bool| {
            Some(Self::with_rest(&children, is_apart)).filter(|parts| self.is_allowable(parts))
        };
        let mut fine: Vec<usize> =
            (0..children.len()).filter(|child| self.holds(&children[*child])).collect();
        let all_fine = fine.len() == children.len();
        if children.len() < 2 || all_fine || !self.pooling {
            return allowable(&|_| true).filter(|_| children.len() > 1);
        }
        fine.sort_by_key(|child| children[*child].len());
        let joined =
            (0..fine.len()).find_map(|from| allowable(&|child| fine[from..].contains(&child)));
        let single = || fine.iter().rev().find_map(|only| allowable(&|child| child == *only));
        joined.or_else(single)
    }

    /// Every way to split some rows by one attribute, thresholds ascending. Where children are
    /// pooled, any of them may be apart and all others together.
    pub fn splits(&self, key: usize, rows: &[usize]) -> Vec<Parts> {
        let part = |keep: &dyn Fn(usize) -> bool| {
            rows.iter().copied().filter(|row| keep(*row)).collect::<Vec<_>>()
        };
        let Some(numbers) = &self.ordered[key] else {
            let children = self.children(key, rows);
            let all = 1u32 << children.len();
            let first = if self.pooling { 1 } else { all - 1 };
            let split = |set: u32| Self::with_rest(&children, &|child| set >> child & 1 == 1);
            return (first..all).map(split).filter(|parts| parts.len() > 1).collect();
        };
        let missing = part(&|row| numbers[row].is_none());
        let present = part(&|row| numbers[row].is_some());
        match (missing.is_empty(), present.is_empty()) {
            (_, true) => Vec::new(),
            (false, false) => vec![vec![present, missing]],
            (true, false) => {
                let mut ends: Vec<f64> = rows.iter().filter_map(|row| numbers[*row]).collect();
                ends.sort_by(f64::total_cmp);
                ends.dedup();
                let below = |row: usize, end: f64| numbers[row].is_some_and(|number| number <= end);
                let halves =
                    |end: &f64| vec![part(&|row| below(row, *end)), part(&|row| !below(row, *end))];
                ends[..ends.len() - 1].iter().map(halves).collect()
            }
        }
    }

    /// The lowest level at which some rows have one label.
    pub fn ancestor(&self, key: usize, rows: &[usize]) -> usize {
        let column = &self.plain.keys[key];
        let label = |row: &usize, level: usize| &column.tree[&column.values[*row]][level];
        let same =
            |level: &usize| rows.iter().all(|row| label(row, *level) == label(&rows[0], *level));
        (0..=column.height()).find(same).expect("all rows are below the root")
    }

    /// The share of an attribute's range that some rows still have: what LM counts of their label.
    pub fn width(&self, key: usize, rows: &[usize]) -> f64 {
        let Some(numbers) = &self.ordered[key] else {
            let column = &self.plain.keys[key];
            let level = self.ancestor(key, rows);
            let label = &column.tree[&column.values[rows[0]]][level];
            let leaves = column.tree.values().filter(|path| path[level] == *label).count();
            return (leaves - 1) as f64 / (column.tree.len() - 1).max(1) as f64;
        };
        let ends = |rows: &mut dyn Iterator<Item = usize>| {
            rows.filter_map(|row| numbers[row])
                .fold((f64::MAX, f64::MIN), |(a, b), n| (a.min(n), b.max(n)))
        };
        let missing = rows.iter().filter(|row| numbers[**row].is_none()).count();
        match missing {
            0 => {
                let (least, greatest) = ends(&mut rows.iter().copied());
                let (first, last) = ends(&mut (0..self.plain.rows));
                if least == greatest { 0.0 } else { (greatest - least) / (last - first) }
            }
            _ if missing == rows.len() => 0.0,
            _ => 1.0,
        }
    }

    fn nearest_to_median(&self, rows: &[usize]) -> Option<Parts> {
        let mut keys: Vec<usize> = (0..self.plain.keys.len()).collect();
        keys.sort_by(|a, b| self.width(*b, rows).total_cmp(&self.width(*a, rows)).then(a.cmp(b)));
        keys.into_iter().find_map(|key| self.halves(key, rows))
    }

    /// The split of one attribute: of a tree, or nearest to the median.
    fn halves(&self, key: usize, rows: &[usize]) -> Option<Parts> {
        self.candidates(key, rows)
            .into_iter()
            .min_by_key(|parts| (2 * parts[0].len()).abs_diff(rows.len()))
    }

    /// The allowable splits of one attribute that are compared.
    fn candidates(&self, key: usize, rows: &[usize]) -> Vec<Parts> {
        if self.ordered[key].is_none() {
            return self.pooled(key, rows).into_iter().collect();
        }
        self.splits(key, rows).into_iter().filter(|parts| self.is_allowable(parts)).collect()
    }

    /// The split that gives back the most detail per bit of its parts; of equal ones the widest
    /// attribute, then the first.
    fn least_lossy(&self, rows: &[usize]) -> Option<Parts> {
        let mut keys: Vec<usize> = (0..self.plain.keys.len()).collect();
        keys.sort_by(|a, b| self.width(*b, rows).total_cmp(&self.width(*a, rows)).then(a.cmp(b)));
        let mut best: Option<(f64, Parts)> = None;
        for key in keys {
            let Some(parts) = self.halves(key, rows) else { continue };
            let weight = self.weights[key] as f64 / self.weights.iter().sum::<u64>() as f64;
            let worth = self.worth(key, rows, &parts) * weight;
            if best.as_ref().is_none_or(|(known, _)| worth > known + SAME) {
                best = Some((worth, parts));
            }
        }
        best.map(|(_, parts)| parts)
    }

    /// Half of a range; of a tree, what rows of children that are apart get back by being called by
    /// the child.
    fn worth(&self, key: usize, rows: &[usize], parts: &Parts) -> f64 {
        if self.ordered[key].is_some() {
            return self.width(key, rows) / 2.0;
        }
        let column = &self.plain.keys[key];
        let level = self.ancestor(key, rows);
        let leaves = |row: usize, level: usize| {
            let label = &column.tree[&column.values[row]][level];
            column.tree.values().filter(|path| path[level] == *label).count()
        };
        let regained = |part: &Vec<usize>| {
            let is_child = self.ancestor(key, part) < level;
            let gone = leaves(part[0], level) - leaves(part[0], level - 1);
            if is_child { part.len() * gone } else { 0 }
        };
        let regained: usize = parts.iter().map(regained).sum();
        let each = regained as f64 / rows.len() as f64 / (column.tree.len() - 1).max(1) as f64;
        each / (parts.len() as f64).log2()
    }

    fn most_gainful(&self, rows: &[usize]) -> Option<(f64, Parts)> {
        let mut best: Option<(f64, Parts)> = None;
        for key in 0..self.plain.keys.len() {
            for parts in self.candidates(key, rows) {
                let gain = self.gain(rows, &parts);
                if best.as_ref().is_none_or(|(known, _)| gain > known + SAME) {
                    best = Some((gain, parts));
                }
            }
        }
        best
    }

    fn gain(&self, rows: &[usize], parts: &Parts) -> f64 {
        match self.split {
            Split::Loss | Split::Median => 0.0,
            Split::InfoGain => {
                let share = |part: &Vec<usize>| part.len() as f64 / rows.len() as f64;
                self.entropy(rows)
                    - parts.iter().map(|part| share(part) * self.entropy(part)).sum::<f64>()
            }
            Split::Regression => {
                let whole = self.squared_error(rows);
                let left: f64 = parts.iter().map(|part| self.squared_error(part)).sum();
                if whole > 0.0 { (whole - left) / whole } else { 0.0 }
            }
        }
    }

    /// The entropy of the target in some rows, in bits.
    pub fn entropy(&self, rows: &[usize]) -> f64 {
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        rows.iter().for_each(|row| *counts.entry(&self.plain.target[*row]).or_default() += 1);
        let share = |count: &usize| *count as f64 / rows.len() as f64;
        -counts.values().map(|count| share(count) * share(count).log2()).sum::<f64>()
    }

    /// The squared error of the target's mean in some rows.
    pub fn squared_error(&self, rows: &[usize]) -> f64 {
        let mean = rows.iter().map(|row| self.target[*row]).sum::<f64>() / rows.len() as f64;
        rows.iter().map(|row| (self.target[*row] - mean).powi(2)).sum()
    }

    /// An allowable split of some rows, by whatever attribute and threshold.
    pub fn any_allowable(&self, rows: &[usize]) -> Option<Parts> {
        let all = (0..self.plain.keys.len()).flat_map(|key| self.splits(key, rows));
        all.into_iter().find(|parts| self.is_allowable(parts))
    }
}
