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

/// The codes of a column between two ends that occur, with the rows of each, and for every code the
/// number of those before it that do.
fn dense(
    points: &Points<'_>,
    column: usize,
    first: u64,
    last: u64,
    watch: &Watch,
) -> Result<(Vec<u64>, Vec<u64>, Vec<u32>)> {
    let mut rows_of = vec![0u64; (last - first) as usize + 1];
    points.each_code(column, watch, |code, rows| rows_of[(code - first) as usize] += rows)?;
    let mut places = Vec::with_capacity(rows_of.len());
    let (mut codes, mut counts) = (Vec::new(), Vec::new());
    for (code, rows) in (first..).zip(rows_of) {
        places.push(codes.len() as u32);
        if rows > 0 {
            codes.push(code);
            counts.push(rows);
        }
    }
    Ok((codes, counts, places))
}

/// The same of codes that lie far apart, each as often as it occurs.
fn sorted(mut sorted: Vec<u64>, watch: &Watch) -> Result<(Vec<u64>, Vec<u64>)> {
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
    Ok((codes, counts))
}

impl FrequencySet {
    /// Counts one attribute of some points; `counted` columns are counted beside it.
    pub fn of(
        points: &Points<'_>,
        column: usize,
        counted: usize,
        watch: &Watch,
    ) -> Result<FrequencySet> {
        let code = points.layout().reader(column);
        let (mut first, mut last) = (u64::MAX, 0);
        points.each_code(column, watch, |code, _| {
            (first, last) = (first.min(code), last.max(code))
        })?;
        let is_dense = first <= last && last - first < points.rows().saturating_mul(2);
        let (codes, counts, places) = if is_dense {
            dense(points, column, first, last, watch)?
        } else {
            let (codes, counts) = sorted(points.by_row(watch, code)?, watch)?;
            (codes, counts, Vec::new())
        };
        let mut tallies = Vec::with_capacity(counted);
        if counted > 0 {
            let ranks = if is_dense {
                points.by_row(watch, |point| places[(code(point) - first) as usize])?
            } else {
                let rank = |point: &[u32]| codes.partition_point(|known| *known < code(point));
                points.by_row(watch, |point| rank(point) as u32)?
            };
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
