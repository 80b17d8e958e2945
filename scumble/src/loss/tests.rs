//! Does every loss keep what the trait promises? Small tables, parts and ways to lose rows, all by
//! the definitions.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The height of the trees of the table: leaves, pairs, root.
const HEIGHT: usize = 2;

fn losses() -> impl Iterator<Item = LossChoice> {
    LossChoice::NAMES.into_iter().map(|(_, loss, _)| loss)
}

/// Rows with two codes below 4 and a label, at a level for each column. Groups whose bit is set are
/// suppressed.
struct Release<'a> {
    rows: &'a [([u32; 2], u32)],
    levels: [usize; 2],
    suppressed: u32,
}

impl Release<'_> {
    fn groups(&self) -> Vec<Vec<u32>> {
        let mut groups: BTreeMap<[u32; 2], Vec<u32>> = BTreeMap::new();
        for ([a, b], label) in self.rows {
            groups.entry([a >> self.levels[0], b >> self.levels[1]]).or_default().push(*label);
        }
        groups.into_values().collect()
    }

    fn released(&self) -> impl Iterator<Item = Vec<u32>> {
        let groups = self.groups().into_iter().enumerate();
        groups.filter(|(at, _)| self.suppressed >> at & 1 == 0).map(|(_, group)| group)
    }

    fn bound(&self, loss: LossChoice, lost: u64) -> f64 {
        let at = |level: &usize| {
            let (dearest, whole) = ((1 << level) - 1, 3);
            let lost = self.rows.len() as u128 * u128::from(dearest);
            let share = lost as f64 / whole as f64;
            LevelLoss { values: 4 >> level, lost, share, dearest, whole, weight: 1.0 }
        };
        let levels: Vec<LevelLoss> = self.levels.iter().map(at).collect();
        let cells: BTreeSet<[u32; 2]> = self.rows.iter().map(|(codes, _)| *codes).collect();
        loss.bound(levels.iter(), self.rows(), cells.len(), lost)
    }
}

impl ReleaseFigures for Release<'_> {
    fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    fn suppressed(&self) -> u64 {
        self.rows() - self.released().map(|group| group.len() as u64).sum::<u64>()
    }

    fn detail(&self) -> f64 {
        let (all, suppressed) = (self.rows(), self.suppressed());
        let lost = |level: &usize| (all - suppressed) * ((1 << level) - 1) + suppressed * 3;
        self.levels.iter().map(|level| lost(level) as f64 / 3.0).sum()
    }

    fn sum_of_sizes(&self, figure: impl Fn(u64) -> u128) -> u128 {
        self.released().map(|group| figure(group.len() as u64)).sum()
    }

    fn sum_of_labels(&self, figure: impl Fn(&[(u32, u32)]) -> u64) -> Result<u64> {
        let tally = |group: Vec<u32>| {
            let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
            group.iter().for_each(|label| *counts.entry(*label).or_default() += 1);
            counts.into_iter().collect::<Vec<_>>()
        };
        Ok(self.released().map(|group| figure(&tally(group))).sum())
    }
}

/// The least cost of parts of these sizes after at least `lost` of their rows went, of all ways.
fn least_of_all(loss: LossChoice, sizes: &[u64], lost: u64, suppressed: f64) -> f64 {
    let Some((first, rest)) = sizes.split_first() else {
        return if lost == 0 { 0.0 } else { f64::INFINITY };
    };
    let least = |gone: u64| {
        let kept = first - gone;
        loss.part(kept, 0.0, || kept)
            + suppressed * gone as f64
            + least_of_all(loss, rest, lost.saturating_sub(gone), suppressed)
    };
    (0..=*first).map(least).fold(f64::INFINITY, f64::min)
}

proptest! {
    #[test]
    fn costs_grow_and_bounds_are_below(
        rows in prop::collection::vec(([0u32..4, 0u32..4], 0u32..3), 1..20),
        suppressed in any::<u32>(),
    ) {
        for loss in losses() {
            for levels in (0..=HEIGHT).flat_map(|a| (0..=HEIGHT).map(move |b| [a, b])) {
                let whole = Release { rows: &rows, levels, suppressed: 0 };
                let part = Release { rows: &rows, levels, suppressed };
                let (all, some) = (loss.cost(&whole).unwrap(), loss.cost(&part).unwrap());
                prop_assert!(some >= all - 1e-9);
                prop_assert!(whole.bound(loss, 0) <= all);
                prop_assert!(part.bound(loss, part.suppressed()) <= some + 1e-9);
                if loss.columns_decide() {
                    prop_assert!((whole.bound(loss, 0) - all).abs() < 1e-9);
                }
                for column in (0..2).filter(|column| levels[*column] < HEIGHT) {
                    let mut levels = levels;
                    levels[column] += 1;
                    let coarser = Release { rows: &rows, levels, suppressed: 0 };
                    prop_assert!(loss.cost(&coarser).unwrap() >= all);
                }
            }
        }
    }

    #[test]
    fn merging_and_suppressing_never_make_parts_cheaper(
        a in 1u64..50,
        b in 1u64..50,
        details in [0.0f64..3.0, 0.0f64..3.0],
        labels in [0.0f64..1.0, 0.0f64..1.0],
        more in 0u64..200,
    ) {
        let majority = |rows: u64, share: f64| (rows as f64 * share).ceil() as u64;
        let most = majority(a, labels[0]) + majority(b, labels[1]);
        for loss in losses() {
            let first = loss.part(a, details[0], || majority(a, labels[0]));
            let second = loss.part(b, details[1], || majority(b, labels[1]));
            let merged = loss.part(a + b, details[0].max(details[1]), || most);
            prop_assert!(first >= 0.0 && merged >= first + second - 1e-9);
            let suppressed = loss.suppressed_record(a + b + more, 3);
            prop_assert!(first <= suppressed * a as f64);
            if let Some(row) = loss.row(a, details[0]) {
                prop_assert!((row * a as f64 - first).abs() < 1e-9);
            }
            let least = loss.least_part(a, || details[0], suppressed);
            for gone in 0..=a {
                let kept = a - gone;
                let cost = loss.part(kept, details[0], || kept) + suppressed * gone as f64;
                prop_assert!(least <= cost + 1e-9);
            }
        }
    }

    #[test]
    fn no_way_to_lose_rows_is_cheaper_than_the_least(
        sizes in prop::collection::vec(1u64..7, 1..5),
        lost in 0.0f64..1.0,
        more in 0u64..10,
    ) {
        let all: u64 = sizes.iter().sum();
        let lost = (all as f64 * lost) as u64;
        for loss in losses() {
            let suppressed = loss.suppressed_record(all + more, 2);
            let watch = Watch::silent();
            let least = loss.least_without(lost, sizes.iter().copied(), suppressed, &watch);
            if let Some(least) = least.unwrap() {
                prop_assert!(least <= least_of_all(loss, &sizes, lost, suppressed));
            }
        }
    }
}

#[test]
fn names_are_distinct_and_choices_know_theirs() {
    let names: BTreeSet<&str> = LossChoice::NAMES.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names.len(), LossChoice::NAMES.len());
    assert!(LossChoice::NAMES.iter().all(|(name, loss, _)| loss.name() == *name));
}
