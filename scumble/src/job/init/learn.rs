//! Which values behave alike? A hierarchy of texts that is learned from the other columns.
//!
//! Somebody who writes a hierarchy of occupations puts together those that are alike: similar
//! incomes, hours, education. That is what the other columns of the table say, so a hierarchy can be
//! learned from them. Each value v has a profile: for every other column, the shares of its values
//! (numbers in ten quantile bins, texts in their most frequent values) among the sampled rows with
//! v. Values whose profiles are similar are merged first.
//!
//! **Distance.** Profiles are compared by the squared Hellinger distance, the sum of
//! (sqrt p - sqrt q)^2, which for similar profiles is a multiple of the information that is lost
//! when two values are no longer told apart. In square roots it is a Euclidean distance, so that
//! clusters have centroids.
//!
//! **Clustering** is agglomerative, by Ward's criterion: the next merge is the one that increases
//! the weighted sum of squares the least, where a value weighs its rows. Rare values are therefore
//! merged early, and common values keep their detail long, which is what LM rewards. Ward's
//! criterion is reducible, so chains of nearest neighbours find the same dendrogram as comparing all
//! pairs before each merge, in O(n^2) distances instead of O(n^3).
//!
//! **A majority**, a value in more than half of the rows, stays alone on every level, and the root is
//! all it shares with others. Rare values are mostly near it, since their profiles are mixed with that
//! of the whole table, which is nearly its own. If they joined it, a level that keeps them apart
//! would be paid for by most rows.
//!
//! **Rare values** have profiles that are mostly chance. Each profile is mixed with the profile of
//! the whole table, which counts like [`PRIOR`] rows, and columns whose dependence on the column is
//! not significant (by a G-test) are left out. If none remains, nothing is learned.
//!
//! **Levels.** The dendrogram is cut at up to four sizes between the number of values and one, in
//! geometric progression. Beyond [`MOST`] values, each of the rarer ones joins the common value that
//! is nearest to it. Ties are broken by frequency, so the same sample gives the same tree.

use super::scan::{Profile, Values};
use crate::error::Result;
use crate::table::Type;
use crate::watch::Watch;

/// The minimum number of distinct values that a tree is learned for.
pub(super) const LEAST: usize = 10;

/// The number of values that are clustered; rarer ones join them.
const MOST: usize = 600;

/// The maximum number of values.
const MOST_LEAVES: usize = 5000;

/// The number of rows that the profile of the whole table counts like.
const PRIOR: f64 = 5.0;

/// Bins of a column of numbers, values of a column of texts, and columns, in a profile.
const BINS: usize = 10;
const TEXTS: usize = 24;
const COLUMNS: usize = 16;

/// Another column in few bins.
pub(super) struct Feature {
    bins: usize,
    /// The bin of each sampled row.
    of_row: Vec<u32>,
}

/// The bins of a column; none if it has a single one.
pub(super) fn feature(profile: &Profile) -> Option<Feature> {
    let values = profile.values.as_ref()?;
    let bin_of: Vec<u32> = match values.detected.kind {
        Type::Text => frequent(values),
        _ => quantiles(values),
    };
    let of_row: Vec<u32> = values.sample.iter().map(|code| bin_of[*code as usize]).collect();
    let bins = of_row.iter().max().map_or(0, |last| *last as usize + 1);
    (bins > 1).then_some(Feature { bins, of_row })
}

/// Bins of texts: the most frequent ones, then the others; the first bin has missing values.
fn frequent(values: &Values) -> Vec<u32> {
    let mut bin_of = vec![0; values.dictionary.len()];
    for (bin, code) in (1..).zip(by_rows(values)) {
        bin_of[code as usize] = bin.min(TEXTS as u32 + 1);
    }
    bin_of
}

/// The codes of values that are not missing, from the most frequent to the rarest; of equally
/// frequent ones in the order of their texts.
pub(super) fn by_rows(values: &Values) -> Vec<u32> {
    let mut codes: Vec<u32> = values.codes().collect();
    let key = |code: &u32| {
        (std::cmp::Reverse(values.counts[*code as usize]), values.dictionary.value(*code))
    };
    codes.sort_by(|a, b| key(a).cmp(&key(b)));
    codes
}

/// Bins of numbers with about as many sampled rows each; the first bin has missing values.
fn quantiles(values: &Values) -> Vec<u32> {
    let number: Vec<Option<f64>> = (0..values.dictionary.len() as u32)
        .map(|code| values.number(code).filter(|_| !values.is_missing[code as usize]))
        .collect();
    let mut sorted: Vec<f64> =
        values.sample.iter().filter_map(|code| number[*code as usize]).collect();
    sorted.sort_by(f64::total_cmp);
    let mut cuts: Vec<f64> =
        (1..BINS).filter_map(|bin| sorted.get(sorted.len() * bin / BINS).copied()).collect();
    cuts.dedup();
    let bin = |number: f64| 1 + cuts.partition_point(|cut| *cut <= number) as u32;
    number.into_iter().map(|number| number.map_or(0, bin)).collect()
}

/// The groups of texts on each level, from fine to coarse; `None` if the other columns say nothing
/// about them. `texts` are codes of `values`, the most frequent first.
pub(super) fn levels(
    values: &Values,
    texts: &[u32],
    others: &[&Feature],
    watch: &Watch,
) -> Result<Option<Vec<Vec<usize>>>> {
    if !(LEAST..=MOST_LEAVES).contains(&texts.len()) {
        return Ok(None);
    }
    let mut place = vec![None; values.dictionary.len()];
    for (at, code) in texts.iter().enumerate() {
        place[*code as usize] = Some(at);
    }
    let of_row: Vec<Option<usize>> =
        values.sample.iter().map(|code| place[*code as usize]).collect();
    let mut related: Vec<Table> = Vec::new();
    for feature in others {
        watch.check()?;
        related.extend(Table::new(&of_row, texts.len(), feature).related());
    }
    related.sort_by(|a, b| b.dependence.total_cmp(&a.dependence));
    related.truncate(COLUMNS);
    if related.is_empty() {
        return Ok(None);
    }
    let profiles: Vec<Vec<f64>> = (0..texts.len())
        .map(|text| related.iter().flat_map(|table| table.roots(text)).collect())
        .collect();
    let rows: Vec<u64> = texts.iter().map(|code| values.counts[*code as usize]).collect();
    grouped(&profiles, &rows, watch).map(Some)
}

/// The groups of texts on each level. `rows` has the rows with each text, descending.
fn grouped(profiles: &[Vec<f64>], rows: &[u64], watch: &Watch) -> Result<Vec<Vec<usize>>> {
    let all: u64 = rows.iter().sum();
    let alone = usize::from(rows.first().is_some_and(|first| *first > all - first));
    let others = &profiles[alone..];
    let most = others.len().min(MOST);
    let weights: Vec<f64> = rows[alone..][..most].iter().map(|rows| *rows as f64).collect();
    let merges = merges(&others[..most], &weights, watch)?;
    let joined: Vec<usize> = (0..others.len())
        .map(|text| if text < most { text } else { nearest(&others[text], &others[..most]) })
        .collect();
    let groups = |size: usize| {
        let group_of = cut(most, &merges[..most - size.min(most)]);
        (0..alone).chain(joined.iter().map(|text| alone + group_of[*text])).collect()
    };
    Ok(sizes(others.len()).into_iter().map(groups).collect())
}

/// Numbers of groups between the number of values and one, descending.
fn sizes(values: usize) -> Vec<usize> {
    let levels = (values.ilog2() as usize - 1).clamp(2, 4);
    let ratio = (values as f64).powf(1.0 / (levels as f64 + 1.0));
    let size = |level: usize| (values as f64 / ratio.powi(level as i32)).round() as usize;
    let mut sizes: Vec<usize> = (1..=levels).map(size).filter(|size| *size > 1).collect();
    sizes.dedup();
    sizes
}

/// How often each bin of another column occurs with each text.
struct Table {
    counts: Vec<Vec<f64>>,
    /// The rows with each bin.
    all: Vec<f64>,
    /// How far the dependence exceeds what chance explains, in standard deviations.
    dependence: f64,
}

impl Table {
    fn new(of_row: &[Option<usize>], texts: usize, feature: &Feature) -> Table {
        let (mut counts, mut all) = (vec![vec![0.0; feature.bins]; texts], vec![0.0; feature.bins]);
        for (text, bin) in of_row.iter().zip(&feature.of_row) {
            if let Some(text) = text {
                counts[*text][*bin as usize] += 1.0;
                all[*bin as usize] += 1.0;
            }
        }
        let mut table = Table { counts, all, dependence: 0.0 };
        table.dependence = table.dependence();
        table
    }

    /// The G statistic, which follows a chi-square distribution if the columns are independent.
    fn dependence(&self) -> f64 {
        let rows: f64 = self.all.iter().sum();
        let mut statistic = 0.0;
        for counts in &self.counts {
            let of_text: f64 = counts.iter().sum();
            for (count, all) in counts.iter().zip(&self.all).filter(|(count, _)| **count > 0.0) {
                statistic += 2.0 * count * (count * rows / (of_text * all)).ln();
            }
        }
        let texts = self.counts.iter().filter(|counts| counts.iter().any(|count| *count > 0.0));
        let bins = self.all.iter().filter(|count| **count > 0.0);
        let freedom = (texts.count().saturating_sub(1) * bins.count().saturating_sub(1)) as f64;
        if freedom == 0.0 { 0.0 } else { (statistic - freedom) / (2.0 * freedom).sqrt() }
    }

    /// The table, if it tells more than chance. Three standard deviations, because many columns may
    /// be tried.
    fn related(self) -> Option<Table> {
        (self.dependence > 3.0).then_some(self)
    }

    /// The square roots of the shares of a text.
    fn roots(&self, text: usize) -> impl Iterator<Item = f64> {
        let rows: f64 = self.all.iter().sum();
        let of_text: f64 = self.counts[text].iter().sum();
        self.counts[text]
            .iter()
            .zip(&self.all)
            .map(move |(count, all)| ((count + PRIOR * all / rows) / (of_text + PRIOR)).sqrt())
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The profile that is nearest to another one; of equals, the first.
fn nearest(profile: &[f64], profiles: &[Vec<f64>]) -> usize {
    let far = |at: &usize| distance(profile, &profiles[*at]);
    (0..profiles.len()).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0)
}

/// Two clusters that are merged, each called by one of its texts, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Merge {
    kept: usize,
    gone: usize,
    cost: f64,
}

/// All merges by Ward's criterion, the cheapest first.
fn merges(profiles: &[Vec<f64>], rows: &[f64], watch: &Watch) -> Result<Vec<Merge>> {
    let (mut centers, mut weights) = (profiles.to_vec(), rows.to_vec());
    let mut alive: Vec<usize> = (0..profiles.len()).collect();
    let (mut merges, mut chain) = (Vec::new(), Vec::<usize>::new());
    while alive.len() > 1 {
        watch.check()?;
        let last = match chain.last() {
            Some(last) => *last,
            None => {
                chain.push(alive[0]);
                alive[0]
            }
        };
        let cost = |other: usize| {
            let both = weights[last] + weights[other];
            let weight = if both > 0.0 { weights[last] * weights[other] / both } else { 0.0 };
            weight * distance(&centers[last], &centers[other])
        };
        // The one before it wins ties, so that a chain ends.
        let before = chain.len().checked_sub(2).map(|at| chain[at]);
        let mut nearest = before.map(|before| (cost(before), before));
        for other in alive.iter().copied().filter(|other| *other != last) {
            let cost = cost(other);
            if nearest.is_none_or(|(least, _)| cost < least) {
                nearest = Some((cost, other));
            }
        }
        let Some((cost, nearest)) = nearest else { break };
        if Some(nearest) != before {
            chain.push(nearest);
            continue;
        }
        chain.truncate(chain.len() - 2);
        let (kept, gone) = (last.min(nearest), last.max(nearest));
        merges.push(Merge { kept, gone, cost });
        let both = weights[kept] + weights[gone];
        let share = if both > 0.0 { weights[gone] / both } else { 0.5 };
        let gone_center = std::mem::take(&mut centers[gone]);
        for (kept, gone) in centers[kept].iter_mut().zip(gone_center) {
            *kept += share * (gone - *kept);
        }
        weights[kept] = both;
        alive.retain(|cluster| *cluster != gone);
    }
    // Stable: of equal costs, a part comes before what it is merged into.
    merges.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    Ok(merges)
}

/// The group of each text after some merges.
fn cut(texts: usize, merges: &[Merge]) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..texts).collect();
    let root = |parent: &[usize], mut text: usize| {
        while parent[text] != text {
            text = parent[text];
        }
        text
    };
    for merge in merges {
        let (kept, gone) = (root(&parent, merge.kept), root(&parent, merge.gone));
        parent[kept.max(gone)] = kept.min(gone);
    }
    (0..texts).map(|text| root(&parent, text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::collections::HashSet;

    /// Ward's clustering as in the textbook: before each merge, all pairs are compared.
    fn textbook(profiles: &[Vec<f64>], rows: &[f64]) -> Vec<Vec<Vec<usize>>> {
        let mut clusters: Vec<Vec<usize>> = (0..profiles.len()).map(|text| vec![text]).collect();
        let center = |cluster: &[usize]| -> (f64, Vec<f64>) {
            let weight: f64 = cluster.iter().map(|text| rows[*text]).sum();
            let sum = |at: usize| {
                cluster.iter().map(|text| rows[*text] * profiles[*text][at]).sum::<f64>()
            };
            (weight, (0..profiles[0].len()).map(|at| sum(at) / weight).collect())
        };
        let mut all = Vec::new();
        while clusters.len() > 1 {
            let mut best = (f64::INFINITY, 0, 0);
            for a in 0..clusters.len() {
                for b in a + 1..clusters.len() {
                    let ((wa, ca), (wb, cb)) = (center(&clusters[a]), center(&clusters[b]));
                    let cost = wa * wb / (wa + wb) * distance(&ca, &cb);
                    if cost < best.0 {
                        best = (cost, a, b);
                    }
                }
            }
            let gone = clusters.remove(best.2);
            clusters[best.1].extend(gone);
            clusters[best.1].sort_unstable();
            let mut sorted = clusters.clone();
            sorted.sort();
            all.push(sorted);
        }
        all
    }

    #[test]
    fn chains_find_the_clusters_of_the_textbook() {
        let mut random = Random::new(4);
        for _ in 0..20 {
            let texts = 3 + random.below(12) as usize;
            let profiles: Vec<Vec<f64>> =
                (0..texts).map(|_| (0..4).map(|_| random.unit()).collect()).collect();
            let rows: Vec<f64> = (0..texts).map(|_| 1.0 + random.below(50) as f64).collect();
            let merges = merges(&profiles, &rows, &Watch::default()).unwrap();
            for (done, expected) in (1..).zip(textbook(&profiles, &rows)) {
                let group_of = cut(texts, &merges[..done]);
                let mut clusters: Vec<Vec<usize>> = (0..texts)
                    .filter(|text| group_of[*text] == *text)
                    .map(|root| (0..texts).filter(|text| group_of[*text] == root).collect())
                    .collect();
                clusters.sort();
                assert_eq!(clusters, expected);
            }
        }
    }

    /// Whatever the profiles are: a majority has a group of its own on every level, and no other
    /// value changes groups because of it.
    #[test]
    fn a_majority_stays_alone() {
        let mut random = Random::new(29);
        for _ in 0..20 {
            let texts = 10 + random.below(30) as usize;
            let profiles: Vec<Vec<f64>> =
                (0..texts).map(|_| (0..3).map(|_| random.unit()).collect()).collect();
            let mut rows: Vec<u64> = (1..texts).map(|_| 1 + random.below(50)).collect();
            rows.sort_by(|a, b| b.cmp(a));
            let others: u64 = rows.iter().sum();
            let levels = |first: u64, rows: &[u64], profiles: &[Vec<f64>]| {
                let rows: Vec<u64> = [first].into_iter().chain(rows.iter().copied()).collect();
                grouped(profiles, &rows, &Watch::default()).unwrap()
            };
            let with = levels(others + 1, &rows, &profiles);
            let without = grouped(&profiles[1..], &rows, &Watch::default()).unwrap();
            assert_eq!(with.len(), without.len());
            for (with, without) in with.iter().zip(&without) {
                assert_eq!(with[0], 0);
                let shifted: Vec<usize> = without.iter().map(|group| group + 1).collect();
                assert_eq!(with[1..], shifted);
            }
            // Half of the rows is no majority: the value is clustered like the others.
            let half = levels(others, &rows, &profiles);
            let groups: HashSet<usize> = half[0].iter().copied().collect();
            assert_eq!(groups.len(), sizes(texts)[0]);
        }
    }

    #[test]
    fn sizes_fall_in_steps() {
        assert_eq!(sizes(10), [5, 2]);
        assert_eq!(sizes(14), [6, 2]);
        assert_eq!(sizes(41), [20, 9, 4, 2]);
        assert_eq!(sizes(600).len(), 4);
    }
}
