//! Which generalized and permuted sensitive values follow a target distribution?
//!
//! Koudas, Srivastava, Yu and Zhang, "Distribution-based microdata anonymization" (VLDB 2009).
//! Quasi-identifiers stay; the sensitive values of a group become subdomains, nodes of a
//! [privacy-annotated hierarchy](Annotated), and are released apart from the records. Whoever reads
//! the release can tell of each person only that the value follows the target (definition 3.2), and
//! still bounds every aggregate, because the multiset of subdomains is known.
//!
//! | paper | here |
//! |---|---|
//! | g, a multiset of values | a [`GroupValues`]: leaves with counts, ascending |
//! | H, a privacy-annotated hierarchy for P | [`Annotated`] |
//! | G, a P-private generalization | [`Bucket::subdomains`]: nodes with copies |
//! | f, fake values | [`Bucket::fakes`] |
//! | t, the most fakes | the limit of [`fakes::choose`] |
//!
//! A generalization whose subdomains are nodes of the hierarchy is P-private if and only if, at
//! every node, the numbers of subdomains inside the children are proportional to the children's
//! weights. (Take definition 3.2, sum it over the values of a child, and go down from the root.) So
//! a group can be allocated from the root downwards, in integers.

pub mod fakes;
mod hierarchy;
pub mod min_sum_of_ranges;
pub mod qi_sa;
pub mod sa_only;
mod target;

pub use hierarchy::{Annotated, Measure, Shape, Subdomain};
pub use target::{Rounding, Target, normal, zipf};

use crate::error::{Error, Result};
use crate::ratio::Ratio;
use crate::table::Tallies;
use crate::watch::Watch;
use rayon::prelude::*;
use std::borrow::Cow;

/// The sensitive values of a group: leaves of the hierarchy with their counts, in ascending order.
pub type GroupValues = [(u32, u32)];

/// What is released of a group's sensitive values, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// Nodes of the hierarchy with the number of their copies, in ascending order.
    pub subdomains: Vec<(u32, u32)>,
    /// Fake values among them: leaves with counts, in ascending order.
    pub fakes: Vec<(u32, u32)>,
    /// What was minimised: the ranges of all subdomains, summed.
    pub sum_of_ranges: u64,
}

impl Bucket {
    /// The best bucket of a group with at most `limit` fakes.
    pub fn fill(
        hierarchy: &Annotated,
        group: &GroupValues,
        limit: u32,
        watch: &Watch,
    ) -> Result<Bucket> {
        let fakes = match limit {
            0 => Vec::new(),
            _ => fakes::choose(hierarchy, group, limit, watch)?,
        };
        let subdomains = if fakes.is_empty() {
            min_sum_of_ranges::generalize(hierarchy, group, watch)?
        } else {
            min_sum_of_ranges::generalize(hierarchy, &merge(group, &fakes), watch)?
        };
        let sum_of_ranges = hierarchy.sum_of_ranges(&subdomains);
        Ok(Bucket { subdomains, fakes, sum_of_ranges })
    }

    /// How many subdomains there are: one for each value, and one for each fake.
    pub fn len(&self) -> u64 {
        size(&self.subdomains)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.subdomains.is_empty()
    }
}

/// How many fakes a group may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fakes {
    /// So many.
    Number(u32),
    /// This share of its values, rounded down.
    Share(Ratio),
}

impl Fakes {
    /// The most for a group of some size.
    pub fn limit(self, size: u64) -> u32 {
        match self {
            Fakes::Number(number) => number,
            Fakes::Share(share) => share.floor_of(size).min(u64::from(u32::MAX)) as u32,
        }
    }
}

/// Rows in the groups of their owner.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The group of each row.
    pub groups: &'a [u32],
    /// The value of each row, as a code of the domain; its group's target has it.
    pub values: &'a [u32],
    /// How often each value occurs in each group.
    pub tallies: &'a Tallies,
    /// The targets.
    pub targets: &'a [Target],
    /// The target of each group.
    pub target_of: &'a [u32],
    /// How many fakes are allowed.
    pub fakes: Fakes,
    /// The memory limit, if there is one.
    pub memory: Option<Memory>,
}

/// A memory limit in bytes, and how much of it is used already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The limit.
    pub limit: u64,
    /// What is used.
    pub used: u64,
}

/// Rows in the groups of a release.
#[derive(Clone, Debug)]
pub struct Distributed<'a> {
    /// The group of each row.
    pub groups: Cow<'a, [u32]>,
    /// How often each value occurs in each group.
    pub tallies: Cow<'a, Tallies>,
    /// The owner's group that each group is a part of.
    pub part_of: Vec<u32>,
    /// The bucket of each group; subdomains are nodes of its target's hierarchy.
    pub buckets: Vec<Bucket>,
}

impl Distributed<'_> {
    /// The same without what it was made from.
    pub fn into_owned(self) -> Distributed<'static> {
        let Distributed { groups, tallies, part_of, buckets } = self;
        let (groups, tallies) = (groups.into_owned().into(), Cow::Owned(tallies.into_owned()));
        Distributed { groups, tallies, part_of, buckets }
    }
}

impl Problem<'_> {
    /// A bucket for each of some groups, which are parts of the owner's.
    fn fill(&self, tallies: &Tallies, part_of: &[u32], watch: &Watch) -> Result<Vec<Bucket>> {
        let parts = Parts { problem: self, tallies, part_of };
        parts.check_memory(watch)?;
        let bucket = |group: usize| {
            let (hierarchy, values) = parts.get(group);
            Bucket::fill(hierarchy, &values, self.fakes.limit(size(&values)), watch)
        };
        (0..part_of.len()).into_par_iter().map(bucket).collect()
    }
}

/// Groups of a release, which are parts of the owner's.
struct Parts<'a> {
    problem: &'a Problem<'a>,
    tallies: &'a Tallies,
    part_of: &'a [u32],
}

impl<'a> Parts<'a> {
    /// The hierarchy of a group, and its values as leaves.
    fn get(&self, group: usize) -> (&'a Annotated, Vec<(u32, u32)>) {
        let target = self.problem.target_of[self.part_of[group] as usize];
        let target = &self.problem.targets[target as usize];
        let leaf = |(code, count): &(u32, u32)| (target.leaf(*code).unwrap_or_default(), *count);
        (&target.hierarchy, self.tallies.group(group).iter().map(leaf).collect())
    }

    /// Refuses fakes whose tables would not fit in memory, for as many groups at once as there are
    /// threads.
    fn check_memory(&self, watch: &Watch) -> Result<()> {
        let Some(memory) = self.problem.memory else { return Ok(()) };
        let needed = |group: usize| {
            let (hierarchy, values) = self.get(group);
            match self.problem.fakes.limit(size(&values)) {
                0 => Ok(0),
                limit => fakes::memory_needed(hierarchy, &values, limit, watch),
            }
        };
        // One after the other: to reckon takes memory too, but little of it.
        let mut largest: Vec<u64> = Vec::new();
        for group in 0..self.part_of.len() {
            largest.push(needed(group)?);
            if largest.len() > rayon::current_num_threads() {
                largest.sort_unstable_by(|one, other| other.cmp(one));
                largest.pop();
            }
        }
        let needed = largest.iter().fold(memory.used, |sum, one| sum.saturating_add(*one));
        if largest.iter().all(|one| *one == 0) || needed <= memory.limit {
            return Ok(());
        }
        let instead = "lower `fakes`, make groups smaller, or use fewer threads";
        Err(Error::too_little_memory("the tables of fakes".into(), needed, Some(instead)))
    }
}

/// How many values a group has.
pub fn size(group: &GroupValues) -> u64 {
    group.iter().map(|(_, count)| u64::from(*count)).sum()
}

/// Two groups in one, both ascending.
pub fn merge(one: &GroupValues, other: &GroupValues) -> Vec<(u32, u32)> {
    let mut merged: Vec<(u32, u32)> = one.iter().chain(other).copied().collect();
    merged.sort_unstable_by_key(|(leaf, _)| *leaf);
    merged.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0 };
        same
    });
    merged
}
