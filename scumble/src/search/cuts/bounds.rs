//! What does a partition cost, and what is the least that it can cost however it is split?
//!
//! Section V of the paper, with the symbols
//!
//! | here | paper | meaning |
//! |---|---|---|
//! | partition | Part | rows that a cut makes indistinguishable |
//! | member | | rows of a partition that even the most specific cut of the subtree leaves together |
//! | general, `loss` of a member | cost_g(t, Cut_spec) | what the row costs if it is only generalized |
//! | `Caps::largest_part` | n - #MinRm | lemma 3, for all values at once |
//!
//! Three bounds are tighter than the paper's:
//!
//! - Lemma 3 is applied to all values together: whatever is kept of a partition at a finer cut is a
//!   union of parts that meet every cap, so it meets every cap itself and has at most
//!   `largest_part` rows.
//! - Under `all-records`, `all-values` and `violating-values` a finer cut loses whole members,
//!   never single rows. What has to go so that one value meets its cap is a knapsack over members;
//!   its fractional solution is a bound, and is exact for a partition of one member (a homogeneous
//!   one). Lemma 3 is the case where all members are single rows.
//! - A suppressed row costs the suppression instead of its own generalization, row by row (theorem
//!   6), not the sum's least terms only.

use crate::error::Result;
use crate::loss::{Loss, LossChoice};
use crate::privacy::Caps;
use crate::watch::{PIECE, Watch};

/// What happens to a partition that breaks a cap (section III-C).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suppression {
    /// There must be none.
    None,
    /// All its records go.
    AllRecords,
    /// The fewest records go that let every value meet its cap.
    ViolatingRecords,
    /// All its sensitive values go.
    AllValues,
    /// The sensitive values that break their cap go.
    ViolatingValues,
}

impl Suppression {
    /// Every scheme with its name in a policy.
    pub const NAMES: [(&'static str, Suppression); 5] = [
        ("none", Suppression::None),
        ("all-records", Suppression::AllRecords),
        ("violating-records", Suppression::ViolatingRecords),
        ("all-values", Suppression::AllValues),
        ("violating-values", Suppression::ViolatingValues),
    ];

    /// Whether sensitive values go and all records stay.
    pub fn is_of_values(self) -> bool {
        matches!(self, Suppression::AllValues | Suppression::ViolatingValues)
    }

    /// Whether records go.
    pub fn is_of_records(self) -> bool {
        matches!(self, Suppression::AllRecords | Suppression::ViolatingRecords)
    }

    /// What it suppresses, in a sentence.
    pub fn suppresses(self) -> &'static str {
        if self.is_of_values() { "sensitive values" } else { "rows" }
    }

    /// Whether a loss says what this scheme costs (section VII): DM and CM know suppressed records
    /// only.
    pub fn is_defined_for(self, loss: LossChoice) -> bool {
        !self.is_of_values() || loss.suppressed_value(1).is_some()
    }
}

/// Rows that stay together: how often each value occurs in them (with each class label, where
/// labels count), and what generalizing one of them costs.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// How many rows.
    pub rows: u64,
    /// `counts[value * labels + label]`.
    pub counts: &'a [u32],
    /// The loss of one row, for LM.
    pub loss: f64,
}

/// What a partition costs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Price {
    /// In the unit of the search.
    pub cost: f64,
    /// Suppressed records, or values.
    pub lost: u64,
}

impl Price {
    /// The price of a cut through a tree, from those of its nodes.
    pub(super) fn sum(cut: &[u32], prices: &[Price]) -> Price {
        cut.iter().map(|node| prices[*node as usize]).fold(Price::default(), Price::with)
    }

    /// Both together.
    pub(super) fn with(self, other: Price) -> Price {
        Price { cost: self.cost + other.cost, lost: self.lost + other.lost }
    }
}

/// What is asked of a partition and how its cost is counted.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What is minimised.
    pub loss: LossChoice,
    /// What happens to partitions that fail.
    pub scheme: Suppression,
    /// The cap of each sensitive value.
    pub caps: Caps,
    /// The least number of rows.
    pub k: u64,
    /// Class labels that are told apart: 1 unless the loss looks at them.
    pub labels: usize,
    /// What a suppressed record (or value) costs.
    pub suppressed: f64,
    /// The most records (or values) that a cut may suppress.
    pub suppressible: u64,
    /// Whether the policy limits suppression. Otherwise a cut is only refused if it keeps no row.
    pub limited: bool,
    /// What bounds charge for a suppressed record (or value) beside its cost: a Lagrange multiplier
    /// of the limit.
    pub penalty: f64,
    /// Whether all caps are the same.
    pub uniform: bool,
    /// Whether bounds know that whole members go.
    pub members: bool,
}

/// Just below a sum of floats that may be rounded up.
const BELOW: f64 = 1.0 - 1e-12;

impl Rules {
    /// Whether every partition can be made releasable, so that all costs are finite.
    pub fn are_always_met(&self) -> bool {
        match self.scheme {
            Suppression::None => false,
            Suppression::AllValues | Suppression::ViolatingValues => self.k <= 1,
            Suppression::AllRecords | Suppression::ViolatingRecords => true,
        }
    }

    fn of_value(&self, counts: &[u32], value: usize) -> u64 {
        counts[value * self.labels..][..self.labels].iter().map(|count| u64::from(*count)).sum()
    }

    /// The values with their counts.
    fn tally<'a>(&'a self, counts: &'a [u32]) -> impl Iterator<Item = (usize, u64)> + Clone + 'a {
        (0..self.caps.of_values().len()).map(|value| (value, self.of_value(counts, value)))
    }

    /// Whether a partition may be released as it is.
    pub fn meets(&self, rows: u64, counts: &[u32]) -> bool {
        if rows < self.k {
            return false;
        }
        match self.uniform {
            // The commonest value decides.
            true if self.labels == 1 => {
                let largest = counts.iter().copied().max().unwrap_or(0);
                !self.caps.is_broken(0, u64::from(largest), rows)
            }
            _ => self.tally(counts).all(|(value, count)| !self.caps.is_broken(value, count, rows)),
        }
    }

    /// Rows that stay of a partition under `violating-records`.
    pub fn kept(&self, counts: &[u32]) -> u64 {
        let part = self.caps.largest_part(self.tally(counts));
        if part < self.k { 0 } else { part }
    }

    /// The cost of rows that are generalized together and not suppressed.
    pub fn general(&self, member: &Member<'_>) -> f64 {
        let Member { rows, counts, loss } = *member;
        self.loss.part(rows, loss, || self.majority(counts, u64::MAX))
    }

    /// The most rows with one label that can be among `kept` rows of a partition that keeps as many
    /// of each value as its cap allows.
    fn majority(&self, counts: &[u32], kept: u64) -> u64 {
        let mut of_label = vec![0; self.labels];
        for (value, of_value) in counts.chunks_exact(self.labels).enumerate() {
            let all = of_value.iter().map(|count| u64::from(*count)).sum();
            let most = if kept == u64::MAX { all } else { self.caps.most(value, all, kept) };
            of_label
                .iter_mut()
                .zip(of_value)
                .for_each(|(sum, count)| *sum += most.min(u64::from(*count)));
        }
        of_label.into_iter().max().unwrap_or(0).min(kept)
    }

    /// What a partition costs: infinite where the scheme cannot make it releasable.
    pub fn price(&self, part: &Member<'_>) -> Price {
        if self.meets(part.rows, part.counts) {
            Price { cost: self.general(part), lost: 0 }
        } else {
            self.broken_price(part)
        }
    }

    /// What a partition costs that does not meet what is asked.
    pub fn broken_price(&self, part: &Member<'_>) -> Price {
        let Member { rows, counts, loss } = *part;
        let (lost, general) = match self.scheme {
            Suppression::None => (0, f64::INFINITY),
            Suppression::AllRecords => (rows, 0.0),
            Suppression::AllValues | Suppression::ViolatingValues if rows < self.k => {
                (rows, f64::INFINITY)
            }
            Suppression::AllValues => (rows, self.general(part)),
            Suppression::ViolatingValues => {
                let broken = self.broken(rows, counts).map(|(_, count)| count).sum();
                (broken, self.general(part))
            }
            Suppression::ViolatingRecords => {
                let kept = self.kept(counts);
                (rows - kept, self.loss.part(kept, loss, || self.majority(counts, kept)))
            }
        };
        Price { cost: general + self.suppressed * lost as f64, lost }
    }

    /// A price with the penalty on suppression.
    pub fn penalized(&self, price: Price) -> f64 {
        price.cost + self.penalty * price.lost as f64
    }

    /// What bounds charge for a suppressed record (or value).
    pub fn charged(&self) -> f64 {
        self.suppressed + self.penalty
    }

    /// What penalties can be returned to a cut that suppresses no more than is allowed: its cost is
    /// at least its penalized cost without this.
    pub fn returned(&self) -> f64 {
        if self.penalty > 0.0 { self.penalty * self.suppressible as f64 } else { 0.0 }
    }

    /// The fewest records (or values) that a partition can lose at any cut of the subtree, if it
    /// does not meet what is asked. What is kept of it is a union of parts that meet every cap, so
    /// it meets every cap itself.
    pub fn broken_least_lost(&self, rows: u64, counts: &[u32], members: &[Member<'_>]) -> u64 {
        if let [only] = members {
            return self.broken_price(only).lost;
        }
        match self.scheme {
            Suppression::None => 0,
            Suppression::AllRecords | Suppression::ViolatingRecords => rows - self.kept(counts),
            Suppression::AllValues => rows - self.caps.largest_part(self.tally(counts)),
            Suppression::ViolatingValues => {
                let least = |(value, count): (usize, u64)| self.least_to_lose(value, count, rows);
                self.broken(rows, counts).map(least).sum()
            }
        }
    }

    /// The values that break their caps, with their counts.
    fn broken<'a>(
        &'a self,
        rows: u64,
        counts: &'a [u32],
    ) -> impl Iterator<Item = (usize, u64)> + 'a {
        // A cap that all share allows each value the same number of rows.
        let most = if self.uniform { self.caps.most(0, u64::MAX, rows) } else { 0 };
        let is_broken = move |(value, count): &(usize, u64)| {
            *count > most && (self.uniform || self.caps.is_broken(*value, *count, rows))
        };
        self.tally(counts).filter(is_broken)
    }

    /// The least that a partition can cost at any cut of the subtree, which splits it into unions
    /// of its members. `rows` and `counts` are the sums over members, `general` that of their costs
    /// without suppression. Suppression is charged with its penalty.
    pub fn bound(
        &self,
        rows: u64,
        counts: &[u32],
        general: f64,
        members: &[Member<'_>],
        watch: &Watch,
    ) -> Result<f64> {
        if self.meets(rows, counts) {
            return Ok(general);
        }
        self.broken_bound(rows, counts, general, members, watch)
    }

    /// The same of a partition that does not meet what is asked.
    pub fn broken_bound(
        &self,
        rows: u64,
        counts: &[u32],
        general: f64,
        members: &[Member<'_>],
        watch: &Watch,
    ) -> Result<f64> {
        if let [only] = members {
            return Ok(self.penalized(self.broken_price(only)));
        }
        let charged = self.charged();
        Ok(match self.scheme {
            Suppression::None => f64::INFINITY,
            Suppression::AllRecords if rows < self.k => charged * rows as f64,
            Suppression::AllValues | Suppression::ViolatingValues if rows < self.k => f64::INFINITY,
            Suppression::AllRecords => {
                let whole =
                    |member: &Member<'_>| charged * member.rows as f64 - self.general(member);
                let of_members = self.members_to_lose(rows, counts, members, whole, watch)?;
                let lost = rows - self.kept(counts);
                let of_rows = self.rows_to_lose(lost, general, members, watch)?;
                general + of_members.max(of_rows)
            }
            Suppression::AllValues => {
                let lost = charged * (rows - self.caps.largest_part(self.tally(counts))) as f64;
                let whole = |member: &Member<'_>| charged * member.rows as f64;
                general + lost.max(self.members_to_lose(rows, counts, members, whole, watch)?)
            }
            Suppression::ViolatingValues => {
                let least = |(value, count): (usize, u64)| {
                    if !self.members {
                        return Ok(charged * self.least_to_lose(value, count, rows) as f64);
                    }
                    let cost =
                        |member: &Member<'_>| charged * self.of_value(member.counts, value) as f64;
                    self.lose_for(value, rows, counts, members, cost, watch)
                };
                general + self.broken(rows, counts).map(least).sum::<Result<f64>>()?
            }
            Suppression::ViolatingRecords => {
                let (lost, sizes) =
                    (rows - self.kept(counts), members.iter().map(|member| member.rows));
                match self.loss.least_without(lost, sizes, charged, watch)? {
                    Some(least) => least,
                    None => general + self.rows_to_lose(lost, general, members, watch)?,
                }
            }
        })
    }

    /// Lemma 3: at least so many rows with a value go until it meets its cap, if nothing else goes.
    fn least_to_lose(&self, value: usize, count: u64, rows: u64) -> u64 {
        let cap = self.caps.of_values()[value];
        let (above, below) = (u128::from(cap.numerator()), u128::from(cap.denominator()));
        let excess = (u128::from(count) * below).saturating_sub(u128::from(rows) * above);
        // A value whose cap is the whole never breaks it.
        u64::try_from(excess.div_ceil((below - above).max(1))).unwrap_or(count)
    }

    /// What suppression adds at least if `lost` rows go, and of those the ones that cost most to
    /// keep.
    fn rows_to_lose(
        &self,
        mut lost: u64,
        general: f64,
        members: &[Member<'_>],
        watch: &Watch,
    ) -> Result<f64> {
        let mut gains: Vec<(f64, u64)> = Vec::with_capacity(members.len());
        for member in members {
            let Some(row) = self.loss.row(member.rows, member.loss) else {
                // The rows that go may be of any member, and cost no more than all together.
                return Ok((self.charged() * lost as f64 - general).max(0.0));
            };
            gains.push((self.charged() - row, member.rows));
        }
        watch.sort_by(&mut gains, |a, b| a.0.total_cmp(&b.0))?;
        let mut added = 0.0;
        for (each, rows) in gains {
            let taken = rows.min(lost);
            added += each * taken as f64;
            lost -= taken;
        }
        Ok(added)
    }

    /// What losing whole members adds at least: the dearest of the values that break their cap.
    fn members_to_lose(
        &self,
        rows: u64,
        counts: &[u32],
        members: &[Member<'_>],
        cost: impl Fn(&Member<'_>) -> f64 + Copy,
        watch: &Watch,
    ) -> Result<f64> {
        if !self.members {
            return Ok(0.0);
        }
        let mut most: f64 = 0.0;
        for (value, _) in self.broken(rows, counts) {
            most = most.max(self.lose_for(value, rows, counts, members, cost, watch)?);
        }
        Ok(most)
    }

    /// The least cost of losing parts of members until a value meets its cap in the rest.
    fn lose_for(
        &self,
        value: usize,
        rows: u64,
        counts: &[u32],
        members: &[Member<'_>],
        cost: impl Fn(&Member<'_>) -> f64,
        watch: &Watch,
    ) -> Result<f64> {
        let Some(mut left) = self.caps.excess(value, self.of_value(counts, value), rows) else {
            return Ok(0.0);
        };
        let mut items: Vec<(f64, f64, f64)> = Vec::with_capacity(members.len());
        for piece in members.chunks(PIECE) {
            watch.check()?;
            for member in piece {
                let count = self.of_value(member.counts, value);
                if let Some(excess) = self.caps.excess(value, count, member.rows) {
                    let cost = cost(member);
                    items.push((cost / excess, cost, excess));
                }
            }
        }
        watch.sort_by(&mut items, |a, b| a.0.total_cmp(&b.0))?;
        let mut added = 0.0;
        for (each, cost, excess) in items {
            if excess >= left {
                added += each * left;
                break;
            }
            added += cost;
            left -= excess;
        }
        Ok(added * BELOW)
    }
}
