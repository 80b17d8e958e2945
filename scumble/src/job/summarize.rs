//! A summary from one scan of a table, or from a table that is in memory already.

use super::{InstantParameters, Job, LEAST};
use crate::error::{Error, Result};
use crate::ids::TableCellId;
use crate::source::{Batch, Codes, Source, ahead};
use crate::summary::{Attribute, Builder, Structure, Summary};
use crate::table::{Data, Dictionary, Role, Table};
use crate::watch::Watch;
use arrow_schema::ArrowError;
use rayon::iter::{
    IndexedParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator,
};

/// Rows of a sample by default.
const SAMPLED: usize = 20_000;

/// Rows of a table in memory that are counted at a time.
const ROWS: usize = 1 << 16;

impl Job {
    /// Summarizes a table in one scan.
    pub fn summarize(&self, source: impl Source, watch: &Watch) -> Result<Summary> {
        let source = self.policy.plain(&source);
        self.on_threads(|| summarize(self, &*source, watch))
    }

    /// Summarizes a table that is in memory already.
    #[doc(hidden)]
    pub fn summarize_table(&self, table: &Table, watch: &Watch) -> Result<Summary> {
        of_table(self, table, watch)
    }
}

pub(super) fn builder(
    columns: usize,
    instant: &InstantParameters,
    seed: u64,
    memory: u64,
) -> Builder {
    let structure = match instant.structure {
        Structure::Annealed { .. } => Structure::Annealed { seed },
        structure => structure,
    };
    let sampled =
        instant.sampled.unwrap_or(SAMPLED).min((memory / 8 / (4 * columns.max(1)) as u64) as usize);
    Builder::new(columns, instant.kind, structure, sampled, seed, memory.max(LEAST))
}

/// Summarizes a source whose columns are read in the plain way.
pub(super) fn summarize(job: &Job, source: &dyn Source, watch: &Watch) -> Result<Summary> {
    let (policy, file) = (&job.policy, source.file());
    let names = source.names();
    let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
    let roles = policy.roles(&borrowed, &file, false)?;
    let wanted: Vec<bool> =
        roles.iter().map(|role| matches!(role, Role::QuasiIdentifier | Role::Sensitive)).collect();
    // Quasi-identifiers first, then sensitive attributes; batches have the file's order.
    let read: Vec<usize> = (0..names.len()).filter(|column| wanted[*column]).collect();
    let mut order: Vec<usize> = (0..read.len()).collect();
    order.sort_by_key(|at| roles[read[*at]] == Role::Sensitive);
    let memory = job.limits.memory();
    let seed = job.seed.unwrap_or(0);
    let mut builder = builder(read.len(), &job.parameters.instant, seed, memory / 2);
    let mut codes: Vec<Codes> = read.iter().map(|_| Codes::default()).collect();
    let broken = |source: ArrowError| Error::Columnar { file: file.clone(), source };
    let mut rows = 0;
    ahead(source.texts(&wanted)?, watch, |batches| {
        for batch in batches {
            let Batch { columns, lines, total, .. } = batch?;
            let numbered = codes.par_iter_mut().zip(columns.par_iter()).map(|(codes, array)| {
                let mut numbers = Vec::new();
                codes.encode(array, &lines, &mut numbers).map_err(broken)?;
                Ok(numbers)
            });
            let numbered: Vec<Vec<u32>> = numbered.collect::<Result<_>>()?;
            let ordered: Vec<&[u32]> = order.iter().map(|at| numbered[*at].as_slice()).collect();
            rows += ordered.first().map_or(0, |column| column.len());
            builder.see(&ordered)?;
            watch.progress("summarize", rows as u64, total);
            let bytes = codes.iter().map(|codes| codes.dictionary().bytes() as u64);
            if bytes.sum::<u64>() > (memory / 2).max(LEAST) {
                let what = "the distinct values of the table".into();
                return Err(Error::TooLittleMemory { what, instead: None });
            }
        }
        Ok(())
    })?;
    if rows == 0 {
        return Err(Error::EmptyTable { file });
    }
    let attribute = |at: &usize| {
        let (column, dictionary) = (read[*at], codes[*at].dictionary());
        Ok((dictionary, policy.summarized(&names[column], roles[column], dictionary, &file)?))
    };
    builder.finish(order.iter().map(attribute).collect::<Result<_>>()?, watch)
}

/// The summary of a table in memory.
pub(super) fn of_table(job: &Job, table: &Table, watch: &Watch) -> Result<Summary> {
    let policy = &job.policy;
    let keys = table.with_role(Role::QuasiIdentifier);
    let mut columns: Vec<(&Dictionary, Attribute)> = Vec::new();
    for column in keys.chain(table.with_role(Role::Sensitive)) {
        if let Some(dictionary) = column.dictionary() {
            columns.push((
                dictionary,
                policy.summarized(&column.name, column.role, dictionary, &table.file)?,
            ));
        }
    }
    let sensitive = table.with_role(Role::Sensitive).filter_map(|column| match &column.data {
        Data::Coded { codes, .. } => Some(codes.raw()),
        _ => None,
    });
    let sensitive: Vec<&[u32]> = sensitive.collect();
    let (seed, memory) = (job.seed.unwrap_or(0), job.limits.memory());
    let mut builder = builder(columns.len(), &job.parameters.instant, seed, memory);
    for (chunk, cells) in table.row_cells.raw().chunks(ROWS).enumerate() {
        watch.check()?;
        let code = |cell: u32, key: usize| table.cells.codes(TableCellId(cell))[key];
        let of_key = |key: usize| cells.iter().map(|cell| code(*cell, key)).collect();
        let keys: Vec<Vec<u32>> = (0..table.cells.width()).map(of_key).collect();
        let from = chunk * ROWS;
        let others = sensitive.iter().map(|codes| &codes[from..from + cells.len()]);
        builder.see(&keys.iter().map(Vec::as_slice).chain(others).collect::<Vec<_>>())?;
    }
    builder.finish(columns, watch)
}
