//! All mappings at once, where attributes are independent.
//!
//! If attributes are independent the likelihood of a bucket is a product of one number from each
//! attribute, and the multiset of all likelihoods is a product of small multisets. Both estimates
//! of a mapping are sums over it, so the buckets need not be listed: on a logarithmic grid the
//! multiset of a product is a convolution.
//!
//! - A likelihood is put on its two neighbours on the grid, in such shares that the number of
//!   buckets and the likelihood both stay what they are; then so do those of all products. What is
//!   left is the curvature of the estimate between neighbours, and [`Grid::error`] bounds it.
//! - Far below one expected row every estimate is proportional to the likelihood: the grid ends
//!   there, and the last point holds the mass of everything beyond.
//! - Mappings that differ in some attributes share the convolution of the others. Attributes are
//!   parted into two halves: for each choice of levels in the first the multiset is known, for each
//!   choice in the second what a bucket of the first half adds to the estimates. A mapping is then
//!   one scalar product, in a microsecond.

use super::binomial::Binomial;
use super::multinomial::{Bucket, Total};
use crate::error::Result;
use crate::watch::Watch;

/// Expected rows below which estimates are proportional to them.
const DUST: f64 = 1e-3;

/// What a bucket adds: ln chance, mean and variance that being fine takes away, outliers.
const FIGURES: usize = 4;

/// What it adds to the error: the probability of not being fine, doubts of ln chance and outliers.
const DOUBTS: usize = 3;

/// Estimates of buckets by the logarithm of their likelihood.
#[derive(Clone, Debug)]
pub struct Grid {
    rows: u64,
    /// The distance of points, in ln.
    step: f64,
    /// The number of the last point; the first is the likelihood 1.
    last: usize,
    /// The figures at each point.
    figures: [Vec<f64>; FIGURES],
    doubts: [Vec<f64>; DOUBTS],
}

/// A multiset of likelihoods on the grid, and the sum of their squares.
#[derive(Clone, Debug)]
pub struct Multiset {
    counts: Vec<f64>,
    /// The points from the first that is taken to behind the last.
    held: std::ops::Range<usize>,
    squares: f64,
}

impl Grid {
    /// The grid for `rows` rows. `scale` is about how many rows decide whether a bucket is fine:
    /// the more, the finer are the differences that matter. `bucket` estimates one bucket.
    pub fn new(
        rows: u64,
        scale: u64,
        bucket: impl Fn(Binomial) -> Result<Bucket>,
        watch: &Watch,
    ) -> Result<Grid> {
        let step = (1.0 / (12.0 * (scale.max(1) as f64).sqrt())).min(1.0 / 32.0);
        let last = ((rows.max(1) as f64 / DUST).ln() / step).ceil() as usize + 1;
        let mut figures = [const { Vec::new() }; FIGURES];
        let mut doubts = [const { Vec::new() }; DOUBTS];
        for point in 0..=last {
            let size = Binomial { n: rows, p: (-step * point as f64).exp() };
            watch.check()?;
            let believed = bucket(size)?;
            // A bucket that is never fine makes the whole impossible; so does a very small number.
            figures[0].push(believed.fine.ln_chance.max(-1e6));
            figures[1].push(size.mean() - believed.fine.mean);
            figures[2].push(size.variance() - believed.fine.variance);
            figures[3].push(believed.outliers);
            doubts.iter_mut().zip(believed.doubts()).for_each(|(all, one)| all.push(one));
        }
        Ok(Grid { rows, step, last, figures, doubts })
    }

    /// The point below a likelihood, and the shares of that point and the next.
    fn place(&self, likelihood: f64) -> (usize, [f64; 2]) {
        let at = (-likelihood.min(1.0).ln() / self.step).max(0.0);
        let point = at.floor();
        let second = (1.0 - (-self.step * (at - point)).exp()) / (1.0 - (-self.step).exp());
        (point as usize, [1.0 - second, second])
    }

    /// One bucket that holds everything.
    pub fn whole(&self) -> Multiset {
        let mut counts = vec![0.0; self.last + 1];
        counts[0] = 1.0;
        Multiset { counts, held: 0..1, squares: 1.0 }
    }

    /// Every likelihood of a multiset times each of these.
    pub fn times(
        &self,
        multiset: &Multiset,
        likelihoods: &[f64],
        watch: &Watch,
    ) -> Result<Multiset> {
        let mut counts = vec![0.0; self.last + 1];
        let (mut from, mut to) = (self.last, 0);
        for likelihood in likelihoods.iter().filter(|likelihood| **likelihood > 0.0) {
            watch.check()?;
            let (point, shares) = self.place(*likelihood);
            for (point, share) in [(point, shares[0]), (point + 1, shares[1])] {
                let inside = multiset
                    .held
                    .end
                    .min((self.last + 1).saturating_sub(point))
                    .max(multiset.held.start);
                let (start, held) =
                    (multiset.held.start + point, &multiset.counts[multiset.held.start..inside]);
                if !held.is_empty() {
                    counts[start..start + held.len()]
                        .iter_mut()
                        .zip(held)
                        .for_each(|(sum, more)| *sum += share * more);
                    (from, to) = (from.min(start), to.max(start + held.len()));
                }
                for beyond in inside..multiset.held.end {
                    let over = (beyond + point - self.last) as f64;
                    counts[self.last] +=
                        share * multiset.counts[beyond] * (-self.step * over).exp();
                    (from, to) = (from.min(self.last), self.last + 1);
                }
            }
        }
        let squares = multiset.squares
            * likelihoods.iter().map(|likelihood| likelihood * likelihood).sum::<f64>();
        Ok(Multiset { counts, held: from..to.max(from), squares })
    }

    /// The estimates of a mapping whose buckets have these likelihoods.
    pub fn total(&self, multiset: &Multiset) -> Total {
        let held = multiset.held.clone();
        let sums = [0, 1, 2, 3]
            .map(|figure| dot(&multiset.counts[held.clone()], &self.figures[figure][held.clone()]));
        let [failing, ln_doubt, outliers_doubt] = [0, 1, 2]
            .map(|doubt| dot(&multiset.counts[held.clone()], &self.doubts[doubt][held.clone()]));
        let total = self.put_together(sums, multiset.squares);
        Total { failing, ln_doubt, outliers_doubt, ..total }
    }

    fn put_together(&self, sums: [f64; FIGURES], squares: f64) -> Total {
        let rows = self.rows as f64;
        let variance = rows * (1.0 - squares).max(0.0);
        Total {
            ln_product: sums[0],
            mean: rows,
            variance,
            fine_mean: rows - sums[1],
            fine_variance: (variance - sums[2]).max(0.0),
            outliers: sums[3],
            squares: variance + rows * rows * squares,
            ..Total::default()
        }
    }

    /// How far ln chance and outliers of a bucket can be off at each point, after so many factors:
    /// half the second derivative by the likelihood, times the variance that placing has added.
    fn curvatures(&self, factors: usize) -> [Vec<f64>; 2] {
        let variance = factors as f64 * self.step * self.step / 4.0;
        [0, 3].map(|figure| {
            let values = &self.figures[figure];
            let at = |point: usize| {
                let (before, here, after) = (values[point - 1], values[point], values[point + 1]);
                let second = (before - 2.0 * here + after) / (self.step * self.step);
                (second - (before - after) / (2.0 * self.step)).abs() * variance / 2.0
            };
            let own: Vec<f64> =
                (0..=self.last).map(|point| at(point.clamp(1, self.last - 1))).collect();
            // A product may lie as many points from where it belongs as it has factors.
            (0..=self.last)
                .map(|point| {
                    own[point.saturating_sub(factors)..=(point + factors).min(self.last)]
                        .iter()
                        .copied()
                        .fold(0.0, f64::max)
                })
                .collect()
        })
    }

    /// By how much the logarithm of the probability and the outliers of a mapping may be off, in
    /// theory: the mapping has so many attributes.
    pub fn error(&self, multiset: &Multiset, attributes: usize) -> [f64; 2] {
        let held = multiset.held.clone();
        self.curvatures(attributes)
            .map(|bound| dot(&multiset.counts[held.clone()], &bound[held.clone()]))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums side by side, which the processor adds up at once.
    let mut sums = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a4.remainder().iter().zip(b4.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a4.zip(b4) {
        for i in 0..4 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Every choice of one list of likelihoods from each attribute, ready to be estimated.
#[derive(Debug)]
pub struct Levels<'a> {
    grid: &'a Grid,
    /// The attributes of the first half and of the second.
    halves: [Vec<usize>; 2],
    /// How many lists each attribute has.
    lists: Vec<usize>,
    first: Vec<Multiset>,
    second: Vec<(Vec<[f64; FIGURES]>, f64)>,
}

impl<'a> Levels<'a> {
    /// `lists[attribute][level]` are the likelihoods of the attribute's nodes at a level.
    pub fn new(grid: &'a Grid, lists: &[Vec<Vec<f64>>], watch: &Watch) -> Result<Levels<'a>> {
        let halves = halves(lists);
        let mut levels = Levels {
            grid,
            lists: lists.iter().map(Vec::len).collect(),
            first: vec![grid.whole()],
            second: Vec::new(),
            halves,
        };
        for attribute in levels.halves[0].clone() {
            let extended = levels
                .first
                .iter()
                .flat_map(|set| lists[attribute].iter().map(|list| grid.times(set, list, watch)));
            levels.first = extended.collect::<Result<_>>()?;
        }
        let start = (0..=grid.last)
            .map(|point| [0, 1, 2, 3].map(|figure| grid.figures[figure][point]))
            .collect();
        levels.second.push((start, 1.0));
        for attribute in levels.halves[1].clone() {
            let extended = levels.second.iter().flat_map(|half| {
                lists[attribute].iter().map(|list| levels.seen_from(half, list, watch))
            });
            levels.second = extended.collect::<Result<_>>()?;
        }
        Ok(levels)
    }

    /// What a bucket at each point adds if it is parted by these likelihoods too.
    fn seen_from(
        &self,
        (figures, squares): &(Vec<[f64; FIGURES]>, f64),
        list: &[f64],
        watch: &Watch,
    ) -> Result<(Vec<[f64; FIGURES]>, f64)> {
        let mut sums = vec![[0.0; FIGURES]; figures.len()];
        let (end, fade) = (figures[self.grid.last], (-self.grid.step).exp());
        for likelihood in list.iter().filter(|likelihood| **likelihood > 0.0) {
            watch.check()?;
            let (point, shares) = self.grid.place(*likelihood);
            for (point, share) in [(point, shares[0]), (point + 1, shares[1])] {
                let beyond = point.min(figures.len());
                for (sum, more) in sums.iter_mut().zip(&figures[beyond..]) {
                    (0..FIGURES).for_each(|i| sum[i] += share * more[i]);
                }
                // Behind the last point all is proportional to the likelihood.
                let mut factor = share * (-self.grid.step * (point - beyond) as f64).exp();
                for sum in &mut sums[figures.len() - beyond..] {
                    factor *= fade;
                    (0..FIGURES).for_each(|i| sum[i] += factor * end[i]);
                }
            }
        }
        Ok((sums, squares * list.iter().map(|likelihood| likelihood * likelihood).sum::<f64>()))
    }

    fn position(&self, half: usize, levels: &[usize]) -> usize {
        self.halves[half]
            .iter()
            .fold(0, |position, attribute| position * self.lists[*attribute] + levels[*attribute])
    }

    /// The estimates of the mapping with these levels, without doubts.
    pub fn total(&self, levels: &[usize]) -> Total {
        let first = &self.first[self.position(0, levels)];
        let (figures, squares) = &self.second[self.position(1, levels)];
        let mut sums = [0.0; FIGURES];
        for (count, figures) in
            first.counts[first.held.clone()].iter().zip(&figures[first.held.clone()])
        {
            (0..FIGURES).for_each(|i| sums[i] += count * figures[i]);
        }
        self.grid.put_together(sums, first.squares * squares)
    }
}

/// Parts the attributes in two: long lists into the first half, where they cost less, as many
/// choices in both as can be.
fn halves(lists: &[Vec<Vec<f64>>]) -> [Vec<usize>; 2] {
    let longest = |attribute: &usize| lists[*attribute].iter().map(Vec::len).max().unwrap_or(0);
    let mut order: Vec<usize> = (0..lists.len()).collect();
    order.sort_by_key(|attribute| std::cmp::Reverse(longest(attribute)));
    let choices = |attributes: &[usize]| {
        attributes.iter().map(|attribute| lists[*attribute].len() as f64).product::<f64>()
    };
    let at = (0..=order.len()).min_by(|a, b| {
        let cost = |at: usize| choices(&order[..at]) + choices(&order[at..]);
        cost(*a).total_cmp(&cost(*b))
    });
    let (first, second) = order.split_at(at.unwrap_or(0));
    // In each half the long lists come first: they are gone through while there are few choices.
    [first.to_vec(), second.to_vec()]
}
