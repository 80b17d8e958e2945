//! Which groups may be released?
//!
//! A [`Requirement`] judges one group of rows that a release makes indistinguishable. It also says
//! what merging does to it ([`Monotone`]): what a search may prune follows from that, and from
//! nothing else.

mod advice;
mod confident;
mod k_anonymity;
mod l_diversity;
mod overlaps;
mod presence;
mod sample;
mod shortcuts;
mod t_closeness;
mod thresholds;
mod variance;

pub use advice::{Advice, Stakes, Unadvisable};
pub use confident::{ConfidentPresence, Tuple, Work};
pub use k_anonymity::KAnonymity;
pub use l_diversity::{Diversity, LDiversity};
pub use overlaps::Overlaps;
pub use presence::{Presence, Side};
pub use sample::Sample;
pub use shortcuts::{Shortcuts, SwitchOff};
pub use t_closeness::{Distance, TCloseness};
pub use thresholds::{Caps, Thresholds};
pub use variance::VarianceDiversity;

use crate::error::WorstValue;
use crate::estimate::asked::{Asked, Cap, Judge};
use crate::estimate::bucket::Condition;
use crate::ratio::Ratio;
use crate::table::Tallies;
use std::fmt::Debug;

/// What is counted of a group: its rows, and the values of every counted column.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// How many rows it has; none only where a population is known, of which some group may have no
    /// row in the table.
    pub rows: u64,
    /// The tallies of the counted columns.
    pub columns: &'a [Tallies],
    /// Which group of the tallies this is.
    pub index: usize,
}

impl<'a> Group<'a> {
    /// The values of a counted column in this group, in ascending order, with their counts.
    pub fn tally(&self, column: usize) -> &'a [(u32, u32)] {
        self.columns[column].group(self.index)
    }
}

/// What merging groups does to a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monotone {
    /// A group that holds still holds after any other rows join it. So the rows that fail only
    /// become fewer as groups merge, and pruning is sound with suppression too.
    Always,
    /// Groups that hold make a group that holds; one that fails may spoil its neighbour. So pruning
    /// is sound only where nothing is suppressed.
    UnlessSuppressed,
    /// Merging may break it. Nothing may be pruned.
    Never,
}

/// What a requirement asks, as a report states it.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The requirement's name: "k-anonymity", "l-diversity", "t-closeness", "variance-diversity",
    /// "delta-presence".
    pub requirement: &'static str,
    /// The kind, where there are several.
    pub kind: Option<&'static str>,
    /// The position of the sensitive attribute it is about, among the counted columns.
    pub column: Option<usize>,
    /// The figure asked for.
    pub required: f64,
    /// Further parameters with their names: `l` of recursive (c, l)-diversity, `min` and `max` of a
    /// presence.
    pub also: [Option<(&'static str, f64)>; 2],
    /// Whether a larger figure is safer.
    pub larger_is_safer: bool,
}

impl Statement {
    /// The worse of two figures.
    pub fn worse(&self, one: f64, other: f64) -> f64 {
        if self.larger_is_safer { one.min(other) } else { one.max(other) }
    }
}

/// A property that every released group must have.
pub trait Requirement: Debug + Send + Sync {
    /// Whether the group has it. Exact: a group on the boundary is decided by integers, and where
    /// that is beyond reach, against the group.
    fn holds(&self, group: &Group<'_>) -> bool;

    /// What is measured of the group, for a report; comparable with [`Statement::required`].
    fn figure(&self, group: &Group<'_>) -> f64;

    /// What is asked.
    fn statement(&self) -> Statement;

    /// The value that the group's [figure](Self::figure) is about, where values have caps.
    fn worst(&self, _group: &Group<'_>) -> Option<WorstValue> {
        None
    }

    /// What merging does to it.
    fn monotone(&self) -> Monotone;

    /// Whether some part of the group's rows could meet it. Where none can, the rows fail at every
    /// finer node as well, and a search may count on that.
    fn attainable(&self, group: &Group<'_>) -> bool {
        self.monotone() != Monotone::Always || self.holds(group)
    }

    /// Whether it likely holds for the part of a population from which a sample drew just this
    /// group. If the sample is everything, the answer is that of [`Requirement::holds`]; a naive
    /// one is taken at its word. A wrong answer costs a search some work, which it must be ready to
    /// undo.
    ///
    /// Where there is no test, a group that meets it stands for a part that does.
    fn likely_holds(&self, group: &Group<'_>, _sample: &Sample) -> bool {
        self.holds(group)
    }

    /// The column it is about and the cap of each of its `values` values, where such caps are all
    /// it asks.
    fn caps(&self, _values: usize) -> Option<(usize, Vec<Ratio>)> {
        None
    }

    /// The least number of rows of a group that meets it.
    fn least_rows(&self) -> u64 {
        1
    }

    /// Whether it asks something of a group of the population that has no row in the table. All
    /// others are met by such a group, which has nobody to protect.
    fn is_about_absent(&self) -> bool {
        false
    }

    /// Whether [`least_rows`](Self::least_rows) rows are all it asks.
    fn rows_decide(&self) -> bool {
        false
    }

    /// What belief can tell of it, before any row is counted: a condition that every group which
    /// meets it meets too. The two are the same unless the condition says that it is
    /// [partial](Condition::is_partial); then a search by belief finds out the rest when it counts.
    /// `values[column]` is how many values a counted column has.
    fn believed(&self, values: &[usize]) -> Condition {
        let capped = self.statement().column.and_then(|column| self.caps(values[column]));
        let is_partial = capped.is_none() && !self.rows_decide();
        let asked = capped.map(|(column, caps)| {
            (column, Asked::caps(caps.into_iter().map(Cap::at_most).collect()))
        });
        Condition { is_partial, ..Condition::new(self.least_rows(), asked) }
    }

    /// The same requirement measured against what is released instead of the whole input, where it
    /// compares a group with the whole: `columns[i]` are the totals of counted column `i` over the
    /// released rows. A release must hold in both ways, so that whoever has only the release can
    /// check it.
    fn against_release(&self, _columns: &[Vec<u64>]) -> Option<Box<dyn Requirement>> {
        None
    }
}

/// Whether a group meets all requirements.
pub fn all_hold(requirements: &[Box<dyn Requirement>], group: &Group<'_>) -> bool {
    requirements
        .iter()
        .all(|requirement| asks_nothing(requirement.as_ref(), group) || requirement.holds(group))
}

/// Whether a requirement has nothing to ask of a group, which has no row.
pub fn asks_nothing(requirement: &dyn Requirement, group: &Group<'_>) -> bool {
    group.rows == 0 && !requirement.is_about_absent()
}

/// A requirement on the first counted column as a judge of single groups. A margin is how far the
/// figure is from what is asked, as a share of that, at most 1.
#[derive(Debug)]
struct Alone<R>(R);

impl<R: Requirement> Judge for Alone<R> {
    fn judge(&self, counts: &[(u32, u32)]) -> (bool, f64) {
        let rows = counts.iter().map(|(_, count)| u64::from(*count)).sum();
        let tallies = [Tallies::from_parts(vec![0, counts.len() as u32], counts.to_vec())];
        let group = Group { rows, columns: &tallies, index: 0 };
        let Statement { required, larger_is_safer, .. } = self.0.statement();
        let relative = self.0.figure(&group) / required - 1.0;
        let margin = if larger_is_safer { relative } else { -relative };
        let margin = if margin.is_nan() { -1.0 } else { margin.clamp(-1.0, 1.0) };
        (self.0.holds(&group), margin)
    }
}

/// What is said of a group with so many rows of each value, in one counted column.
#[cfg(test)]
fn judged<T>(counts: &[u32], judge: impl FnOnce(&Group<'_>) -> T) -> T {
    let entries: Vec<(u32, u32)> =
        (0..).zip(counts.iter().copied()).filter(|(_, count)| *count > 0).collect();
    let tallies = [Tallies::from_parts(vec![0, entries.len() as u32], entries)];
    let rows = counts.iter().map(|count| u64::from(*count)).sum();
    judge(&Group { rows, columns: &tallies, index: 0 })
}
