//! Which few columns single out people together?
//!
//! A sampled row is singled out by some columns if no other sampled row has the same values there.
//! Wanted are the sets of at most four columns that single out at least half of the rows, and of
//! which no part does so. Sets are tried by size. Where there are too many, only those are extended
//! that single out the most.
//!
//! A set is a partition of the rows by their values, of which only the parts with two rows or more
//! are kept ("stripped partitions", as in the search for functional dependencies): rows that are
//! singled out stay so when a column is added.

use crate::error::Result;
use crate::watch::Watch;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Columns that single out rows together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Singling {
    /// The columns, ascending.
    pub(super) columns: Vec<usize>,
    /// The rows that they single out.
    pub(super) alone: usize,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Singlings {
    /// Sets that single out at least half of the rows, and of which no part does, by size, then by
    /// the rows that they single out.
    pub(super) sets: Vec<Singling>,
    /// The set that singles out the most, if there is no such set.
    pub(super) best: Option<Singling>,
    /// Sampled rows.
    pub(super) rows: usize,
    /// Whether all sets were tried.
    pub(super) is_complete: bool,
}

/// The maximum number of sets that are told.
const TOLD: usize = 5;

impl Singlings {
    /// The sets to tell of, the most telling first among those of the same size.
    pub(super) fn told(&self) -> impl Iterator<Item = &Singling> {
        let best = self.best.iter().filter(|best| self.sets.is_empty() && best.alone > 0);
        self.sets.iter().take(TOLD).chain(best)
    }
}

/// The maximum size of a set.
const MOST_COLUMNS: usize = 4;

/// Sets that are tried of each size.
const MOST_SETS: usize = 8000;

/// The rows that share their values with others, one part after the other.
#[derive(Clone)]
struct Parts {
    rows: Vec<u32>,
    ends: Vec<usize>,
}

impl Parts {
    fn whole(rows: usize) -> Parts {
        Parts { rows: (0..rows as u32).collect(), ends: vec![rows] }
    }

    /// The parts of these by one more column.
    fn refined(&self, codes: &[u32]) -> Parts {
        let (mut refined, mut start) = (Parts { rows: Vec::new(), ends: Vec::new() }, 0);
        let mut found: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for end in &self.ends {
            for row in &self.rows[start..*end] {
                found.entry(codes[*row as usize]).or_default().push(*row);
            }
            // Their order does not matter: they are only counted and parted again.
            for (_, rows) in found.drain().filter(|(_, rows)| rows.len() > 1) {
                refined.rows.extend(rows);
                refined.ends.push(refined.rows.len());
            }
            start = *end;
        }
        refined
    }
}

/// Looks for sets among some columns; `codes` has the values of the sampled rows.
pub(super) fn search(columns: &[(usize, &[u32])], rows: usize, watch: &Watch) -> Result<Singlings> {
    let mut found = Singlings { rows, is_complete: true, ..Singlings::default() };
    if rows < 2 {
        return Ok(found);
    }
    let whole = Parts::whole(rows);
    // Positions in `columns`, of sets that single out too few rows.
    let mut open: Vec<(usize, Vec<usize>)> = vec![(0, Vec::new())];
    for size in 1..=MOST_COLUMNS.min(columns.len()) {
        watch.check()?;
        let extended = |set: &(usize, Vec<usize>)| -> Vec<(usize, Vec<usize>)> {
            let parts = set.1.iter().fold(whole.clone(), |parts, at| parts.refined(columns[*at].1));
            let others = (0..columns.len()).filter(|at| !set.1.contains(at));
            let extend = |at: usize| {
                let alone = rows - parts.refined(columns[at].1).rows.len();
                let mut set: Vec<usize> = set.1.iter().copied().chain([at]).collect();
                set.sort_unstable();
                (alone, set)
            };
            // Every set once, where all are tried: by its last column.
            let is_next =
                |at: &usize| !found.is_complete || set.1.last().is_none_or(|last| last < at);
            others.filter(is_next).map(extend).collect()
        };
        let tried: BTreeSet<(usize, Vec<usize>)> =
            open.par_iter().flat_map_iter(extended).collect();
        let mut tried: Vec<(usize, Vec<usize>)> = tried.into_iter().collect();
        let named = |set: &[usize]| set.iter().map(|at| columns[*at].0).collect::<Vec<_>>();
        let has = |set: &[usize], other: &[usize]| {
            other.iter().all(|column| set.iter().any(|at| columns[*at].0 == *column))
        };
        tried.retain(|(_, set)| !found.sets.iter().any(|known| has(set, &known.columns)));
        // The most telling first; of equals, the first columns.
        tried.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        if let Some((alone, set)) = tried.first()
            && found.best.as_ref().is_none_or(|best| best.alone < *alone)
        {
            found.best = Some(Singling { columns: named(set), alone: *alone });
        }
        let is_enough = |(alone, _): &&(usize, Vec<usize>)| 2 * alone >= rows;
        let singling =
            |(alone, set): &(usize, Vec<usize>)| Singling { columns: named(set), alone: *alone };
        let enough: Vec<Singling> = tried.iter().filter(is_enough).map(singling).collect();
        found.sets.extend(enough);
        tried.retain(|set| !is_enough(&set));
        // Each is extended by every column; a set of n is met n times.
        if tried.len() * columns.len() / (size + 1) > MOST_SETS {
            tried.truncate((MOST_SETS / columns.len()).max(8));
            found.is_complete = false;
        }
        open = tried;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Rows that are alone with their values, counted in the obvious way.
    fn alone(columns: &[Vec<u32>], set: &[usize], rows: usize) -> usize {
        let tuple = |row: usize| set.iter().map(|at| columns[*at][row]).collect::<Vec<_>>();
        (0..rows)
            .filter(|row| (0..rows).filter(|other| tuple(*other) == tuple(*row)).count() == 1)
            .count()
    }

    #[test]
    fn sets_are_those_of_brute_force() {
        let mut random = Random::new(11);
        let mut sizes = [0; 5];
        for _ in 0..60 {
            let (rows, width) = (2 + random.below(40) as usize, 1 + random.below(6) as usize);
            let columns: Vec<Vec<u32>> = (0..width)
                .map(|_| {
                    let values = 1 + random.below(8);
                    (0..rows).map(|_| random.below(values) as u32).collect()
                })
                .collect();
            let given: Vec<(usize, &[u32])> =
                columns.iter().enumerate().map(|(at, codes)| (at, &codes[..])).collect();
            let found = search(&given, rows, &Watch::default()).unwrap();
            assert!(found.is_complete);
            let mut expected: Vec<Singling> = Vec::new();
            let mut sets: Vec<Vec<usize>> = (1..1usize << width)
                .map(|bits| (0..width).filter(|at| bits >> at & 1 == 1).collect())
                .collect();
            sets.sort_by_key(|set: &Vec<usize>| set.len());
            for set in sets.into_iter().filter(|set| set.len() <= 4) {
                let is_minimal =
                    !expected.iter().any(|known| known.columns.iter().all(|at| set.contains(at)));
                let alone = alone(&columns, &set, rows);
                if is_minimal && 2 * alone >= rows {
                    sizes[set.len()] += 1;
                    expected.push(Singling { columns: set, alone });
                }
            }
            let mut sets = found.sets.clone();
            sets.sort_by_key(|set| (set.columns.len(), set.columns.clone()));
            expected.sort_by_key(|set| (set.columns.len(), set.columns.clone()));
            assert_eq!(sets, expected);
        }
        assert!(sizes[2] > 5 && sizes[3] > 5, "{sizes:?}");
    }

    #[test]
    fn many_columns_are_searched_from_the_most_telling() {
        let mut random = Random::new(3);
        let columns: Vec<Vec<u32>> =
            (0..150).map(|_| (0..300).map(|_| random.below(3) as u32).collect()).collect();
        let given: Vec<(usize, &[u32])> =
            columns.iter().enumerate().map(|(at, codes)| (at, &codes[..])).collect();
        let found = search(&given, 300, &Watch::default()).unwrap();
        assert!(!found.is_complete && found.sets.is_empty());
        assert_eq!(found.best.unwrap().columns.len(), 4);
    }
}
