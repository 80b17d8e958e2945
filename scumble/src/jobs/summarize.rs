//! A summary from one scan of a file, or from a table that is in memory already.

use super::{Clock, InstantOptions, Options, check_apart, open};
use crate::error::{Error, Result};
use crate::policy::Policy;
use crate::release::Draft;
use crate::source::{Batch, Codes, ahead};
use crate::summary::{Attribute, Builder, Summary};
use crate::table::{Data, Dictionary, Role, Table};
use arrow_schema::ArrowError;
use rayon::iter::{
    IndexedParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator,
};
use std::path::Path;

/// Rows of a sample where nothing else is said.
const SAMPLED: usize = 20_000;

/// Rows of a table in memory that are counted at a time.
const ROWS: usize = 1 << 16;

fn builder(columns: usize, options: &InstantOptions, memory: u64) -> Builder {
    let sampled =
        options.sampled.unwrap_or(SAMPLED).min((memory / 8 / (4 * columns.max(1)) as u64) as usize);
    Builder::new(columns, options.kind, options.structure, sampled, options.seed, memory)
}

/// Reads `input` once and writes its summary to `output`. Returns the summary and the seconds that
/// it took.
pub fn summarize(
    input: &Path,
    policy: &Policy,
    output: &Path,
    options: &Options,
) -> Result<(Summary, f64)> {
    let mut clock = Clock::start();
    check_apart(&[output], policy.files().chain([input]))?;
    let source = open(input, options.delimiter)?.watched(&options.watch, "summarize");
    let roles = policy.roles(&source.names().collect::<Vec<_>>(), source.file(), false)?;
    let names: Vec<String> = source.names().map(str::to_string).collect();
    let wanted: Vec<bool> =
        roles.iter().map(|role| matches!(role, Role::QuasiIdentifier | Role::Sensitive)).collect();
    // Quasi-identifiers first, then sensitive attributes; batches have the file's order.
    let read: Vec<usize> = (0..names.len()).filter(|column| wanted[*column]).collect();
    let mut order: Vec<usize> = (0..read.len()).collect();
    order.sort_by_key(|at| roles[read[*at]] == Role::Sensitive);
    let memory = options.disk.memory();
    let mut builder = builder(read.len(), &options.instant, memory / 2);
    let mut codes: Vec<Codes> = read.iter().map(|_| Codes::default()).collect();
    let broken = |source: ArrowError| Error::Columnar { file: input.to_path_buf(), source };
    let mut rows = 0;
    ahead(source.texts(&wanted)?, |batches| {
        for batch in batches {
            let Batch { columns, lines, .. } = batch?;
            let numbered = codes.par_iter_mut().zip(columns.par_iter()).map(|(codes, array)| {
                let mut numbers = Vec::new();
                codes.encode(array, &lines, &mut numbers).map_err(broken)?;
                Ok(numbers)
            });
            let numbered: Vec<Vec<u32>> = numbered.collect::<Result<_>>()?;
            let ordered: Vec<&[u32]> = order.iter().map(|at| numbered[*at].as_slice()).collect();
            rows += ordered.first().map_or(0, |column| column.len());
            builder.see(&ordered)?;
            if codes.iter().map(|codes| codes.dictionary().bytes() as u64).sum::<u64>() > memory / 2
            {
                let reason =
                    "the distinct values of the table take more memory than --memory allows; allow more".into();
                return Err(Error::TooLittleMemory { reason });
            }
        }
        Ok(())
    })?;
    if rows == 0 {
        return Err(Error::EmptyTable { file: input.to_path_buf() });
    }
    let attribute = |at: &usize| {
        let (column, dictionary) = (read[*at], codes[*at].dictionary());
        Ok((dictionary, policy.summarized(&names[column], roles[column], dictionary, input)?))
    };
    let summary = builder.finish(order.iter().map(attribute).collect::<Result<_>>()?);
    Draft::with(output, &summary.to_json())?.publish()?;
    Ok((summary, clock.phase("summarize")))
}

/// The summary of a table in memory.
pub fn summary_of(
    table: &Table,
    policy: &Policy,
    options: &InstantOptions,
    memory: u64,
) -> Result<Summary> {
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
        Data::Coded { codes, .. } => Some(codes.as_slice()),
        _ => None,
    });
    let sensitive: Vec<&[u32]> = sensitive.collect();
    let mut builder = builder(columns.len(), options, memory);
    for (chunk, cells) in table.row_cells.chunks(ROWS).enumerate() {
        let of_key = |key: usize| cells.iter().map(|cell| table.cells.codes(*cell)[key]).collect();
        let keys: Vec<Vec<u32>> = (0..table.cells.width()).map(of_key).collect();
        let from = chunk * ROWS;
        let others = sensitive.iter().map(|codes| &codes[from..from + cells.len()]);
        builder.see(&keys.iter().map(Vec::as_slice).chain(others).collect::<Vec<_>>())?;
    }
    Ok(builder.finish(columns))
}
