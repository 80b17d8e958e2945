//! Frequency sets: the values of one attribute in one partition, each with its count and with the counts of class labels
//! and sensitive values beside it (the paper's AV, AVC and AVS sets).

use super::Points;
use crate::table::Tallies;

/// The values of one attribute in one partition.
#[derive(Clone, Debug, Default)]
pub struct FrequencySet {
    /// The distinct codes, ascending.
    pub codes: Vec<u64>,
    /// The rows with each.
    pub counts: Vec<u64>,
    /// For each counted column, its values by code.
    pub tallies: Vec<Tallies>,
}

impl FrequencySet {
    /// Counts one attribute of some points; `counted` columns are counted beside it.
    pub fn of(points: &Points<'_>, column: usize, counted: usize) -> FrequencySet {
        let of_points: Vec<u64> = points.codes(column).collect();
        let mut codes = of_points.clone();
        codes.sort_unstable();
        let mut counts = Vec::new();
        for run in codes.chunk_by(|a, b| a == b) {
            counts.push(run.len() as u64);
        }
        codes.dedup();
        let mut tallies = Vec::with_capacity(counted);
        if counted > 0 {
            let rank = |code: &u64| codes.partition_point(|known| known < code) as u32;
            let ranks: Vec<u32> = of_points.iter().map(rank).collect();
            for column in 0..counted {
                let values: Vec<u32> = points.iter().map(|point| points.layout().value(point, column)).collect();
                tallies.push(Tallies::count(codes.len(), &ranks, &values));
            }
        }
        FrequencySet { codes, counts, tallies }
    }

    /// All rows.
    pub fn rows(&self) -> u64 {
        self.counts.iter().sum()
    }
}
