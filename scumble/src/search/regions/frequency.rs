//! Frequency sets: the values of one attribute in one partition, each with its count and with the
//! counts of class labels and sensitive values beside it (the paper's AV, AVC and AVS sets).

use super::Points;
use crate::error::Result;
use crate::ids::CellId;
use crate::search::Task;
use crate::table::Tallies;
use crate::watch::{PIECE, Watch};

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
    pub fn of(
        points: &Points<'_>,
        column: usize,
        counted: usize,
        watch: &Watch,
    ) -> Result<FrequencySet> {
        let code = |point: &[u32]| points.layout().code(point, column);
        let mut sorted = points.by_row(watch, code)?;
        watch.sort(&mut sorted)?;
        let (mut codes, mut counts) = (Vec::new(), Vec::new());
        for piece in sorted.chunks(PIECE) {
            watch.check()?;
            for run in piece.chunk_by(|a, b| a == b) {
                match counts.last_mut() {
                    Some(count) if codes.last() == Some(&run[0]) => *count += run.len() as u64,
                    _ => {
                        codes.push(run[0]);
                        counts.push(run.len() as u64);
                    }
                }
            }
        }
        drop(sorted);
        let mut tallies = Vec::with_capacity(counted);
        if counted > 0 {
            let rank = |point: &[u32]| {
                let code = code(point);
                codes.partition_point(|known| *known < code) as u32
            };
            let ranks = points.by_row(watch, rank)?;
            for column in 0..counted {
                let values = points.by_row(watch, |point| points.layout().value(point, column))?;
                tallies.push(Tallies::count(codes.len(), &ranks, &values, watch)?);
            }
        }
        Ok(FrequencySet { codes, counts, tallies })
    }

    /// Counts one attribute of some cells of a task, with all its counted columns.
    pub fn of_cells(
        task: &Task,
        cells: &[u32],
        column: usize,
        watch: &Watch,
    ) -> Result<FrequencySet> {
        let mut sorted: Vec<(u32, u32)> = Vec::with_capacity(cells.len());
        for piece in cells.chunks(PIECE) {
            watch.check()?;
            sorted
                .extend(piece.iter().map(|cell| (task.cells.codes(CellId(*cell))[column], *cell)));
        }
        watch.sort(&mut sorted)?;
        let mut set = FrequencySet::default();
        let runs = || sorted.chunk_by(|a, b| a.0 == b.0);
        for run in runs() {
            set.codes.push(run[0].0.into());
            let mut rows = 0;
            for piece in run.chunks(PIECE) {
                watch.check()?;
                let counts = task.cells.counts();
                rows +=
                    piece.iter().map(|(_, cell)| u64::from(counts[*cell as usize])).sum::<u64>();
            }
            set.counts.push(rows);
        }
        for counted in &task.tallies {
            let (mut starts, mut entries) = (vec![0], Vec::new());
            let mut of_run: Vec<(u32, u32)> = Vec::new();
            for run in runs() {
                of_run.clear();
                for piece in run.chunks(PIECE) {
                    watch.check()?;
                    let groups = piece.iter().map(|(_, cell)| counted.group(*cell as usize));
                    groups.for_each(|entries| of_run.extend_from_slice(entries));
                }
                watch.sort(&mut of_run)?;
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
        Ok(set)
    }

    /// All rows.
    pub fn rows(&self) -> u64 {
        self.counts.iter().sum()
    }
}
