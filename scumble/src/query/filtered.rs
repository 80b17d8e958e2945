//! Bounds of aggregates over the rows that also satisfy a condition on the sensitive attribute.
//!
//! The paper's queries (section 3.3) have conditions on quasi-identifiers only. With a condition on
//! the value too, a world decides which rows are selected. In a group, `records` rows satisfy the
//! conditions on the records, and a world gives each of them a subdomain of its own. A subdomain
//! may hold a value that satisfies the condition, one that does not, or one of either kind, as the
//! world likes. Groups do not touch each other.
//!
//! Everything here is stated for the smallest answer. The largest is the smallest for the negated
//! values. Let l be the smallest value of a subdomain that satisfies the condition.
//!
//! | aggregate | smallest answer |
//! |---|---|
//! | COUNT | records minus subdomains that can be rejected, at least 0 |
//! | SUM | each subdomain contributes l, or 0 if that is less and it can be rejected; the smallest contributions of each group |
//! | AVG | the smallest λ for which contributions of l − λ sum to 0 (Dinkelbach 1967) |
//! | MIN | the smallest l |
//! | MAX | the smallest value that no group is forced to exceed |
//! | MEDIAN | see `least_median` |
//!
//! An aggregate of no rows has no value, so all but COUNT are over the worlds that select a row.

use super::bounds::{Aggregate, Answer, Exact};
use std::collections::BTreeSet;

/// What a subdomain may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The smallest and the largest value that satisfy the condition; `None` if none does.
    /// Categories have zeros.
    pub selected: Option<(i64, i64)>,
    /// Whether some value does not satisfy it.
    pub rejected: bool,
    /// How many such subdomains there are.
    pub copies: u32,
}

/// The same as seen from the smallest answer.
#[derive(Clone, Copy)]
struct Low {
    low: Option<i128>,
    rejected: bool,
    copies: u64,
}

/// A group: its subdomains, and the records that satisfy the conditions on records.
struct Lows {
    parts: Vec<Low>,
    records: u64,
}

/// A sum of selected values, and how many they are.
type Sum = (i128, u64);

impl Lows {
    /// The records get the subdomains that cost least. `cost` is what it costs to select a value,
    /// and rejecting one costs nothing.
    fn cheapest(&self, cost: impl Fn(i128) -> i128) -> Sum {
        let mut offers: Vec<(i128, bool, i128, u64)> = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            // On a tie a value is selected.
            let chosen = part.low.filter(|low| !part.rejected || cost(*low) <= 0);
            let price = chosen.map_or(0, &cost);
            offers.push((price, chosen.is_none(), chosen.unwrap_or(0), part.copies));
        }
        offers.sort_unstable();
        let (mut sum, mut left) = ((0, 0), self.records);
        for (_, is_rejected, low, copies) in offers {
            let taken = copies.min(left);
            left -= taken;
            if !is_rejected {
                sum = (sum.0 + low * i128::from(taken), sum.1 + taken);
            }
        }
        sum
    }

    /// How many copies there are of the parts that a test picks.
    fn copies(&self, is_counted: impl Fn(&Low) -> bool) -> u64 {
        self.parts.iter().filter(|part| is_counted(part)).map(|part| part.copies).sum()
    }

    /// The value that some selected row of this group must reach; `None` if all can be rejected.
    fn forced(&self) -> Option<i128> {
        let mut needed = self.records.checked_sub(self.copies(|part| part.rejected))?;
        let always = self.parts.iter().filter(|part| !part.rejected);
        let mut always: Vec<(i128, u64)> =
            always.filter_map(|part| Some((part.low?, part.copies))).collect();
        always.sort_unstable();
        for (low, copies) in always {
            if needed == 0 {
                return None;
            }
            needed = needed.saturating_sub(copies);
            if needed == 0 {
                return Some(low);
            }
        }
        None
    }
}

fn all_lows(groups: &[Lows]) -> impl Iterator<Item = i128> {
    groups.iter().flat_map(|group| &group.parts).filter_map(|part| part.low)
}

fn cheapest(groups: &[Lows], cost: impl Fn(i128) -> i128) -> Sum {
    let sums = groups.iter().map(|group| group.cheapest(&cost));
    sums.fold((0, 0), |(sum, rows), (more, others)| (sum + more, rows + others))
}

/// The smallest sum of a world that selects a row.
fn least_sum(groups: &[Lows]) -> Option<i128> {
    let (sum, rows) = cheapest(groups, |low| low);
    // If all rows are rejected, no value is below 0, and one that is selected costs itself: its
    // subdomain replaces one that contributed nothing.
    if rows > 0 { Some(sum) } else { all_lows(groups).min() }
}

/// The smallest mean of a world that selects a row. Each step finds the world that is best for
/// the current mean; the mean of that world is smaller, until the best world is found.
fn least_mean(groups: &[Lows]) -> Option<Sum> {
    // No mean of smallest values is above the largest of them.
    let mut best = (all_lows(groups).max()?, 1);
    loop {
        let (sum, rows) = best;
        let next = cheapest(groups, |low| low * i128::from(rows) - sum);
        if next.1 == 0 || next.0 * i128::from(rows) >= sum * i128::from(next.1) {
            // The start need not be the mean of a world, but the first step finds one that is equal.
            return Some(if next.1 > 0 { next } else { best });
        }
        best = next;
    }
}

/// The smallest maximum of a world that selects a row.
fn least_max(groups: &[Lows]) -> Option<i128> {
    let least = all_lows(groups).min()?;
    Some(groups.iter().filter_map(Lows::forced).fold(least, i128::max))
}

/// Twice the smallest median of a world that selects a row.
///
/// Let a be a value. A selected value counts +1 if it is at most a and −1 if it is above. The best
/// balance of a group takes +1 where it can, then rejects, and takes −1 where it must. If the
/// balance of all groups is above 0, some world has a median of at most a. If it is 0, half of the
/// selected values are at most a, and the median is at most the mean of a and the next value, b:
/// the smallest one above a in a group that must take one. No world does better: the median of one
/// with a balance of 0 at its lower middle value a is the mean of a and some b that was forced.
fn least_median(groups: &[Lows]) -> Option<i128> {
    let candidates: Vec<i128> = all_lows(groups).collect::<BTreeSet<i128>>().into_iter().collect();
    let is_low = |part: &Low, a: i128| part.low.is_some_and(|low| low <= a);
    let counts = |group: &Lows, a: i128| {
        let low = group.copies(|part| is_low(part, a));
        let rejected = group.copies(|part| part.rejected && !is_low(part, a));
        (low.min(group.records), group.records.saturating_sub(low + rejected))
    };
    let balance = |a: i128| -> i128 {
        let of = groups.iter().map(|group| counts(group, a));
        of.map(|(low, above)| i128::from(low) - i128::from(above)).sum()
    };
    let next = |a: i128| {
        let must = groups.iter().filter(|group| counts(group, a).1 > 0);
        let above = must.flat_map(|group| &group.parts).filter(|part| !part.rejected);
        above.filter_map(|part| part.low).filter(|low| *low > a).min()
    };
    // A larger a never lowers the balance.
    let first = candidates.partition_point(|a| balance(*a) < 0);
    let whole = candidates.partition_point(|a| balance(*a) < 1);
    let halves = candidates[first..whole].iter().filter_map(|a| Some(a + next(*a)?));
    halves.chain(candidates.get(whole).map(|a| 2 * a)).min()
}

fn lows(groups: &[(&[Choice], u32)], value: impl Fn((i64, i64)) -> i128) -> Vec<Lows> {
    let part = |choice: &Choice| Low {
        low: choice.selected.map(&value),
        rejected: choice.rejected,
        copies: choice.copies.into(),
    };
    let some = groups.iter().filter(|(_, records)| *records > 0);
    some.map(|(choices, records)| Lows {
        parts: choices.iter().map(part).collect(),
        records: u64::from(*records),
    })
    .collect()
}

/// The tight bounds of an aggregate. Each group has its subdomains and the number of its records
/// that satisfy the conditions on records, which must not be larger. `scale` is the number of
/// decimals of the values.
pub fn bound_filtered(aggregate: Aggregate, groups: &[(&[Choice], u32)], scale: u32) -> Answer {
    let rows = groups.iter().map(|(_, records)| u64::from(*records)).sum();
    let least = lows(groups, |(low, _)| i128::from(low));
    let greatest = lows(groups, |(_, high)| -i128::from(high));
    let units = |low: i128, high: i128| (Exact::units(low, scale), Exact::units(high, scale));
    let both = |of: fn(&[Lows]) -> Option<i128>| Some((of(&least)?, -of(&greatest)?));
    let bounds = match aggregate {
        Aggregate::Count => {
            let at_least =
                |group: &Lows| group.records.saturating_sub(group.copies(|part| part.rejected));
            let at_most = |group: &Lows| group.records.min(group.copies(|part| part.low.is_some()));
            let lower: u64 = least.iter().map(at_least).sum();
            let upper: u64 = least.iter().map(at_most).sum();
            Some((Exact::units(lower.into(), 0), Exact::units(upper.into(), 0)))
        }
        Aggregate::Sum => both(least_sum).map(|(low, high)| units(low, high)),
        Aggregate::Avg => least_mean(&least).zip(least_mean(&greatest)).map(|(low, high)| {
            (Exact::over(low.0, low.1, scale), Exact::over(-high.0, high.1, scale))
        }),
        Aggregate::Min => {
            let low = all_lows(&least).min();
            low.zip(least_max(&greatest)).map(|(low, high)| units(low, -high))
        }
        Aggregate::Max => {
            let high = all_lows(&greatest).min();
            least_max(&least).zip(high).map(|(low, high)| units(low, -high))
        }
        Aggregate::Median => both(least_median)
            .map(|(low, high)| (Exact::over(low, 2, scale), Exact::over(high, 2, scale))),
    };
    Answer { rows, bounds }
}
