//! A summary bound to what a policy asks: trees over its values, and a condition that every bucket
//! should meet.

use super::{Belief, Believe, Grouping, Histogram, Joint, NOWHERE, Summary};
use crate::error::Result;
use crate::estimate::asked::Asked;
use crate::estimate::binomial::{Binomial, Truncated};
use crate::estimate::bucket::{Condition, of_rows, of_values};
use crate::estimate::diverse::Diversity;
use crate::estimate::grid::{Grid, Multiset};
use crate::estimate::multinomial::{Bucket, Doubt, Shortcuts, Size, Total};
use crate::estimate::sampled::Sampled;
use crate::ids::{Code, Id, IdMap, LeafId};
use crate::loss::{LossChoice, Weights};
use crate::recoding::Mapping;
use crate::taxonomy::{Axis, Cut, Taxonomy};
use crate::watch::Watch;
use std::ops::Range;
use std::sync::Arc;

/// Sizes at which the chance to be diverse still changes, about: what a grid must tell apart.
const DIVERSE_SCALE: u64 = 64;

/// A sensitive attribute that a requirement counts.
#[derive(Clone, Debug)]
pub struct Sensitive {
    /// The attribute of the summary.
    pub attribute: usize,
    /// The leaf of each of its values, by which requirements know it.
    pub leaf_of: IdMap<Code, LeafId>,
    /// How many leaves there are.
    pub values: usize,
}

/// What is believed of a table, and what is asked of its release.
#[derive(Clone, Debug)]
pub struct Beliefs {
    /// The summary.
    pub summary: Summary,
    /// The quasi-identifiers, which come first among its attributes.
    pub names: Vec<String>,
    /// Their trees.
    pub taxonomies: Vec<Arc<Taxonomy>>,
    /// Each as a dimension.
    pub axes: Vec<Axis>,
    /// The leaf of each value of each of them.
    pub leaf_of: Vec<IdMap<Code, LeafId>>,
    /// The sensitive attributes, as requirements number them.
    pub sensitive: Vec<Sensitive>,
    /// When a bucket is fine.
    pub condition: Condition,
    /// The requirements of which the condition asks only a part, or nothing.
    pub not_estimated: Vec<String>,
    /// What is minimised.
    pub loss: LossChoice,
    /// How much the detail of each quasi-identifier matters to LM.
    pub weights: Weights,
    /// How many rows may be left out.
    pub suppressible: u64,
}

/// The groups of one quasi-identifier: that of each code, and how many there are.
#[derive(Clone, Debug)]
pub struct Grouped {
    of: Vec<u32>,
    len: usize,
}

impl Beliefs {
    /// How many rows the table has.
    pub fn rows(&self) -> u64 {
        self.summary.rows
    }

    /// The rows with each leaf of a quasi-identifier.
    pub fn leaf_rows(&self, column: usize) -> Vec<u64> {
        let mut rows = vec![0; self.taxonomies[column].codes() as usize];
        for (leaf, count) in
            self.leaf_of[column].iter().zip(&self.summary.attributes[column].counts)
        {
            rows[leaf.index()] += count;
        }
        rows
    }

    /// The rows with each value of a sensitive attribute, as requirements know it.
    fn shares_of(&self, position: usize) -> Vec<f64> {
        let Sensitive { attribute, leaf_of, values } = &self.sensitive[position];
        let mut rows = vec![0.0; *values];
        for (leaf, count) in leaf_of.iter().zip(&self.summary.attributes[*attribute].counts) {
            rows[leaf.index()] += *count as f64;
        }
        rows
    }

    /// A quasi-identifier's values, grouped as its leaves are; `group` has one for each leaf.
    pub fn grouped(&self, column: usize, group: &[u32], len: usize) -> Grouped {
        let of = self.leaf_of[column].iter().map(|leaf| group[leaf.index()]).collect();
        Grouped { of, len }
    }

    /// All quasi-identifiers, grouped as levels or cuts say; regions are no groups of single
    /// columns.
    pub fn grouped_by(&self, mapping: &Mapping) -> Option<Vec<Grouped>> {
        match mapping {
            Mapping::Levels(levels) => {
                let nodes =
                    levels.iter().zip(&self.taxonomies).map(|(level, tree)| tree.level(*level));
                Some(
                    nodes
                        .enumerate()
                        .map(|(column, level)| self.grouped(column, level.nodes(), level.len()))
                        .collect(),
                )
            }
            Mapping::Cuts(cuts) => {
                let of = |(column, cut): (usize, &Cut)| {
                    self.grouped(column, cut.node_of(), cut.nodes().len())
                };
                Some(cuts.iter().enumerate().map(of).collect())
            }
            Mapping::Regions(_) | Mapping::Local(_) => None,
        }
    }

    /// Those of a range of leaves as one group, the others left out.
    fn within(&self, column: usize, range: &Range<u32>) -> Grouped {
        let group = |leaf: LeafId| if range.contains(&leaf.0) { 0 } else { NOWHERE };
        Grouped { of: self.leaf_of[column].iter().map(group).collect(), len: 1 }
    }

    /// Believed shares by groups of the quasi-identifiers, and by the values of a sensitive
    /// attribute where one is named.
    fn joint(
        &self,
        keys: &[Grouped],
        sensitive: Option<usize>,
        watch: &Watch,
    ) -> Result<Option<Joint>> {
        let told = sensitive.map(|position| &self.sensitive[position]);
        let attributes = &self.summary.attributes[keys.len()..];
        let nothing: Vec<u32> =
            vec![0; attributes.iter().map(|attribute| attribute.values.len()).max().unwrap_or(0)];
        let mut groups: Vec<Grouping<'_>> =
            keys.iter().map(|keys| Grouping { of: &keys.of, len: keys.len }).collect();
        for (position, attribute) in (keys.len()..).zip(attributes) {
            groups.push(match told.filter(|told| told.attribute == position) {
                Some(told) => Grouping { of: told.leaf_of.raw(), len: told.values },
                None => Grouping { of: &nothing[..attribute.values.len()], len: 1 },
            });
        }
        self.summary.joint(&groups, watch)
    }
}

/// Estimates mappings from beliefs.
#[derive(Debug)]
pub struct Estimator<'a> {
    beliefs: &'a Beliefs,
    shortcuts: Shortcuts,
    /// Where attributes are independent.
    grid: Option<Grid>,
    watch: Watch,
}

impl<'a> Estimator<'a> {
    /// An estimator that may use these shortcuts, and whose work `watch` can abort.
    pub fn new(beliefs: &'a Beliefs, shortcuts: Shortcuts, watch: &Watch) -> Result<Estimator<'a>> {
        let mut estimator = Estimator { beliefs, shortcuts, grid: None, watch: watch.clone() };
        if beliefs.summary.belief == Belief::Histogram {
            let values = beliefs.condition.values.iter();
            let diverse = values.map(|(position, asked)| {
                Diversity::new(&beliefs.shares_of(*position), asked, shortcuts)
            });
            let diverse: Vec<Diversity> = diverse.map(Diversity::shared).collect();
            let scale = if diverse.is_empty() {
                beliefs.condition.least
            } else {
                beliefs.condition.least.max(DIVERSE_SCALE)
            };
            let bucket = |size| estimator.bucket(size, &diverse);
            estimator.grid = Some(Grid::new(beliefs.rows(), scale, bucket, watch)?);
        }
        Ok(estimator)
    }

    /// The beliefs.
    pub fn beliefs(&self) -> &'a Beliefs {
        self.beliefs
    }

    /// What can abort its work.
    pub(crate) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The grid of estimates, where attributes are independent.
    pub fn grid(&self) -> Option<&Grid> {
        self.grid.as_ref()
    }

    /// A bucket that holds this share of the rows, as far as is believed. `shares` are the shares of
    /// the values about which something is asked.
    fn believed(&self, share: f64, shares: &[Vec<f64>]) -> Result<(Size, Bucket)> {
        let (rows, condition) = (self.beliefs.rows(), &self.beliefs.condition);
        if let Belief::Sample(drawn) = &self.beliefs.summary.belief
            && share > 0.0
        {
            let sampled = drawn.rows().len() as u64;
            if sampled >= rows {
                return Ok(self.counted(share, shares));
            }
            // What a sample has counted is no likelihood; where values decide it is taken for one.
            if shares.is_empty() {
                let seen = ((share * sampled as f64).round() as u64).max(1);
                let size = Sampled { seen, sampled, rows };
                return Ok((size.into(), size.bucket(condition.least)));
            }
        }
        let asked = condition.values.iter().zip(shares);
        let diverse: Vec<Diversity> = asked
            .map(|((_, asked), shares)| Diversity::new(shares, asked, self.shortcuts))
            .collect();
        let size = Binomial { n: rows, p: share.min(1.0) };
        Ok((size.into(), self.bucket(size, &diverse)?))
    }

    /// A bucket all of whose rows are known, because the sample is the table.
    fn counted(&self, share: f64, shares: &[Vec<f64>]) -> (Size, Bucket) {
        let Beliefs { condition, .. } = self.beliefs;
        let rows_of = |share: &f64| (share * self.beliefs.rows() as f64).round();
        let rows = rows_of(&share);
        let holds = |(asked, shares): (&Asked, &Vec<f64>)| {
            let counts = (0..).zip(shares).map(|(value, share)| (value, rows_of(share) as u32));
            let counts: Vec<(u32, u32)> = counts.filter(|(_, count)| *count > 0).collect();
            asked.judge(&counts).0
        };
        let is_fine = rows as u64 >= condition.least
            && condition.values.iter().map(|(_, asked)| asked).zip(shares).all(holds);
        let certain = Truncated { ln_chance: 0.0, mean: rows, variance: 0.0 };
        let (fine, outliers) = if is_fine { (certain, 0.0) } else { (Truncated::NEVER, rows) };
        (Size { mean: rows, variance: 0.0 }, Bucket { fine, outliers, doubt: Doubt::default() })
    }

    fn bucket(&self, size: Binomial, diverse: &[Diversity]) -> Result<Bucket> {
        let least = self.beliefs.condition.least;
        if diverse.is_empty() {
            return Ok(of_rows(size, least, self.shortcuts));
        }
        of_values(size, least, diverse, self.shortcuts, &self.watch)
    }

    /// The estimates of a mapping, given by the groups of each quasi-identifier; `None` where it
    /// has too many buckets to be believed in.
    pub fn total(&self, keys: &[Grouped]) -> Result<Option<Total>> {
        self.total_while(keys, &|_| true)
    }

    /// The same, as long as what was added up so far is promising; `None` as soon as it is not.
    pub fn total_while(
        &self,
        keys: &[Grouped],
        promising: &dyn Fn(&Total) -> bool,
    ) -> Result<Option<Total>> {
        if let Some(grid) = &self.grid {
            return Ok(Some(grid.total(&self.multiset(grid, keys)?)));
        }
        let beliefs = self.beliefs;
        let Some(buckets) = beliefs.joint(keys, None, &self.watch)? else { return Ok(None) };
        // For each column that is asked about, shares by bucket and value: values of one bucket stand
        // side by side.
        let mut columns: Vec<Joint> = Vec::new();
        for (position, _) in &beliefs.condition.values {
            let joint = beliefs.joint(keys, Some(*position), &self.watch)?;
            let Some(joint) = joint else { return Ok(None) };
            columns.push(joint);
        }
        let mut at = vec![0; columns.len()];
        let mut total = Total::default();
        for (number, likelihood) in &buckets.tuples {
            self.watch.check()?;
            let mut shares = Vec::new();
            for ((joint, at), (position, _)) in
                columns.iter().zip(&mut at).zip(&beliefs.condition.values)
            {
                let values = beliefs.sensitive[*position].values as u64;
                let mut of_bucket = vec![0.0; values as usize];
                while let Some((one, share)) =
                    joint.tuples.get(*at).filter(|(one, _)| one / values == *number)
                {
                    of_bucket[(one % values) as usize] = *share;
                    *at += 1;
                }
                shares.push(of_bucket);
            }
            let (size, bucket) = self.believed(*likelihood, &shares)?;
            total.add(size, &bucket, 1.0);
            if !promising(&total) {
                return Ok(None);
            }
        }
        Ok(Some(total))
    }

    /// How far the probability and the expected outliers of a mapping may be off, if rows are dealt
    /// as is believed. `total` is what was estimated of it.
    pub fn error(&self, keys: &[Grouped], total: &Total) -> Result<[f64; 2]> {
        let rows = self.beliefs.rows();
        let Some(grid) = &self.grid else { return Ok(total.error(rows, [0.0; 2])) };
        // Totals that mappings share have no doubts.
        let multiset = self.multiset(grid, keys)?;
        Ok(grid.total(&multiset).error(rows, grid.error(&multiset, keys.len())))
    }

    /// The likelihoods of all buckets.
    fn multiset(&self, grid: &Grid, keys: &[Grouped]) -> Result<Multiset> {
        keys.iter().enumerate().try_fold(grid.whole(), |set, (column, keys)| {
            grid.times(&set, &self.shares(column, keys), &self.watch)
        })
    }

    /// The share of rows in each group of one quasi-identifier.
    pub fn shares(&self, column: usize, keys: &Grouped) -> Vec<f64> {
        let Summary { rows, attributes, .. } = &self.beliefs.summary;
        Histogram { rows: *rows, attributes }
            .shares(column, &Grouping { of: &keys.of, len: keys.len })
    }

    /// What is believed of one box of leaves; `None` where there is too much to be gone through.
    pub fn of_box(&self, ranges: &[Range<u32>]) -> Result<Option<(Size, Bucket)>> {
        let beliefs = self.beliefs;
        let keys: Vec<Grouped> = ranges
            .iter()
            .enumerate()
            .map(|(column, range)| beliefs.within(column, range))
            .collect();
        let Some(joint) = beliefs.joint(&keys, None, &self.watch)? else { return Ok(None) };
        let share: f64 = joint.tuples.iter().map(|(_, share)| share).sum();
        let mut values = Vec::new();
        for (position, _) in &beliefs.condition.values {
            let mut shares = vec![0.0; beliefs.sensitive[*position].values];
            let joint = beliefs.joint(&keys, Some(*position), &self.watch)?;
            let Some(joint) = joint else { return Ok(None) };
            joint.tuples.iter().for_each(|(value, share)| shares[*value as usize] = *share);
            values.push(shares);
        }
        Ok(Some(self.believed(share, &values)?))
    }

    /// The believed shares of rows in a box with each leaf of one column: leaf and share, those
    /// that are not zero.
    pub fn within(&self, ranges: &[Range<u32>], column: usize) -> Result<Vec<(u32, f64)>> {
        let of = |(at, range): (usize, &Range<u32>)| {
            if at == column {
                let group = |leaf: LeafId| {
                    if range.contains(&leaf.0) { leaf.0 - range.start } else { NOWHERE }
                };
                Grouped {
                    of: self.beliefs.leaf_of[at].iter().map(group).collect(),
                    len: range.len(),
                }
            } else {
                self.beliefs.within(at, range)
            }
        };
        let keys: Vec<Grouped> = ranges.iter().enumerate().map(of).collect();
        let joint = self.beliefs.joint(&keys, None, &self.watch)?.unwrap_or_default();
        let leaf = |(leaf, share): &(u64, f64)| (*leaf as u32 + ranges[column].start, *share);
        Ok(joint.tuples.iter().map(leaf).collect())
    }
}
