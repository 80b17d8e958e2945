//! Searches that are decided by belief: what is asked of an estimate, and how a candidate is
//! checked against the rows.

use crate::error::Result;
use crate::estimate::multinomial::Total;
use crate::ids::ClassId;
use crate::privacy::{Group, Requirement, all_hold};
use crate::recoding::Mapping;
use crate::search::Task;
use crate::table::{Cells, Tallies};
use crate::watch::Watch;

/// Groups that are judged between two polls for an abort: one may take a microsecond.
const JUDGED: usize = 1 << 12;

/// Which estimate decides, with its threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    /// The probability that every bucket is fine is at least this.
    Probability(f64),
    /// At most so many rows are expected in buckets that are not.
    Expectation(f64),
}

impl By {
    /// Whether a mapping with these estimates is believed in.
    pub fn accepts(self, total: &Total, rows: u64) -> bool {
        match self {
            By::Probability(least) => total.probability(rows) >= least,
            By::Expectation(most) => total.outliers() <= most,
        }
    }

    /// Whether a mapping may still be believed in when some of its buckets were added up. Outliers
    /// only become more. The product of chances only becomes less, and what it is multiplied with
    /// is at most one over P(sum X = N): the less, the larger the variance, which is at most N for
    /// binomials and below N^2 for buckets of a sample.
    pub fn is_open(self, so_far: &Total, rows: u64) -> bool {
        match self {
            By::Probability(least) => {
                let most = 0.5 * std::f64::consts::TAU.ln() + (rows as f64 + 1.0).ln() + 0.1;
                so_far.ln_product + most >= least.ln()
            }
            By::Expectation(most) => so_far.outliers() <= most,
        }
    }
}

/// A mapping that is believed in.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The mapping, in the codes of the summary.
    pub mapping: Mapping,
    /// The probability that every bucket is fine.
    pub probability: f64,
    /// The expected number of rows in buckets that are not.
    pub outliers: f64,
    /// What it would cost as LM, the rows that are expected to fail being lost.
    pub lm: f64,
    /// The same with the weights of the columns.
    pub lm_weighted: f64,
    /// What it would cost as the loss that is minimised.
    pub cost: f64,
    /// All that was estimated.
    pub total: Total,
}

/// What the first phase of a search hands to the second.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// The mappings, the cheapest first.
    pub list: Vec<Candidate>,
    /// How many mappings were estimated.
    pub visited: u64,
    /// How many there are.
    pub space: Option<u128>,
}

impl Candidates {
    /// Puts the cheapest first; of equal ones, the one that was found first.
    pub(super) fn sort(&mut self, watch: &Watch) -> Result<()> {
        let costs = self.list.iter().map(|candidate| candidate.cost);
        let mut order: Vec<(f64, usize)> = costs.zip(0..).collect();
        watch.sort_by(&mut order, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?;
        let mut list: Vec<Option<Candidate>> =
            std::mem::take(&mut self.list).into_iter().map(Some).collect();
        self.list.extend(order.into_iter().filter_map(|(_, at)| list[at].take()));
        Ok(())
    }
}

/// Whether a mapping of levels or cuts, in the codes of a task, may be released: one pass over its
/// cells.
pub fn holds(task: &Task, mapping: &Mapping, watch: &Watch) -> Result<bool> {
    let maps: Vec<&[u32]> = match mapping {
        Mapping::Levels(levels) => task
            .taxonomies
            .iter()
            .zip(levels)
            .map(|(tree, level)| tree.level(*level).nodes())
            .collect(),
        Mapping::Cuts(cuts) => cuts.iter().map(|cut| cut.node_of()).collect(),
        Mapping::Regions(_) | Mapping::Local(_) => return Ok(false),
    };
    let (groups, went): (Cells<ClassId>, _) = task.cells.recode(&maps, watch)?;
    let merge =
        |(tally, values): (&Tallies, &usize)| tally.merge(groups.len(), went.raw(), *values, watch);
    // Sizes first: they are at hand, and often they decide.
    let least =
        task.requirements.iter().map(|requirement| requirement.least_rows()).max().unwrap_or(1);
    let small = groups.counts().iter().map(|rows| u64::from(*rows)).filter(|rows| *rows < least);
    if small.sum::<u64>() > task.suppressible {
        return Ok(false);
    }
    let tallies: Vec<Tallies> =
        task.tallies.iter().zip(&task.values).map(merge).collect::<Result<_>>()?;
    let judge = |requirements: &[Box<dyn Requirement>], index: usize| {
        all_hold(
            requirements,
            &Group { rows: u64::from(groups.counts()[index]), columns: &tallies, index },
        )
    };
    let mut kept: Vec<bool> = Vec::with_capacity(groups.len());
    for group in 0..groups.len() {
        if group % JUDGED == 0 {
            watch.check()?;
        }
        kept.push(judge(&task.requirements, group));
    }
    let lost: u64 = groups
        .counts()
        .iter()
        .zip(&kept)
        .filter(|(_, kept)| !**kept)
        .map(|(rows, _)| u64::from(*rows))
        .sum();
    if lost > task.suppressible || lost == task.rows() {
        return Ok(false);
    }
    if lost == 0 {
        return Ok(true);
    }
    // What compares a group with the whole must hold against the released rows as well.
    let mut released: Vec<Vec<u64>> = task.values.iter().map(|values| vec![0; *values]).collect();
    for group in (0..groups.len()).filter(|group| kept[*group]) {
        if group % JUDGED == 0 {
            watch.check()?;
        }
        for (totals, tally) in released.iter_mut().zip(&tallies) {
            tally
                .group(group)
                .iter()
                .for_each(|(value, count)| totals[*value as usize] += u64::from(*count));
        }
    }
    let again: Vec<Box<dyn Requirement>> = task
        .requirements
        .iter()
        .filter_map(|requirement| requirement.against_release(&released))
        .collect();
    for (group, kept) in kept.iter().enumerate() {
        if group % JUDGED == 0 {
            watch.check()?;
        }
        if *kept && !judge(&again, group) {
            return Ok(false);
        }
    }
    Ok(true)
}
