//! Frequency sets: the values of one attribute in one partition, each with its count and with the
//! counts of class labels and sensitive values beside it (the paper's AV, AVC and AVS sets).

use super::Points;
use crate::search::Task;
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
        let of_rows = points.by_row(|point| points.layout().code(point, column));
        let mut codes = of_rows.clone();
        codes.sort_unstable();
        let mut counts = Vec::new();
        for run in codes.chunk_by(|a, b| a == b) {
            counts.push(run.len() as u64);
        }
        codes.dedup();
        let mut tallies = Vec::with_capacity(counted);
        if counted > 0 {
            let rank = |code: &u64| codes.partition_point(|known| known < code) as u32;
            let ranks: Vec<u32> = of_rows.iter().map(rank).collect();
            for column in 0..counted {
                let values = points.by_row(|point| points.layout().value(point, column));
                tallies.push(Tallies::count(codes.len(), &ranks, &values));
            }
        }
        FrequencySet { codes, counts, tallies }
    }

    /// Counts one attribute of some cells of a task, with all its counted columns.
    pub fn of_cells(task: &Task, cells: &[u32], column: usize) -> FrequencySet {
        let mut sorted: Vec<(u32, u32)> =
            cells.iter().map(|cell| (task.cells.codes(*cell)[column], *cell)).collect();
        sorted.sort_unstable();
        let mut set = FrequencySet::default();
        let runs = || sorted.chunk_by(|a, b| a.0 == b.0);
        for run in runs() {
            set.codes.push(run[0].0.into());
            set.counts.push(
                run.iter().map(|(_, cell)| u64::from(task.cells.counts()[*cell as usize])).sum(),
            );
        }
        for counted in &task.tallies {
            let (mut starts, mut entries) = (vec![0], Vec::new());
            let mut of_run: Vec<(u32, u32)> = Vec::new();
            for run in runs() {
                of_run.clear();
                run.iter()
                    .for_each(|(_, cell)| of_run.extend_from_slice(counted.group(*cell as usize)));
                of_run.sort_unstable();
                let merged = of_run.chunk_by(|a, b| a.0 == b.0);
                entries.extend(
                    merged.map(|alike| {
                        (alike[0].0, alike.iter().map(|(_, count)| count).sum::<u32>())
                    }),
                );
                starts.push(entries.len() as u32);
            }
            set.tallies.push(Tallies::from_parts(starts, entries));
        }
        set
    }

    /// All rows.
    pub fn rows(&self) -> u64 {
        self.counts.iter().sum()
    }
}
