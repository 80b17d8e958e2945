//! Scans of a table whose rows are not kept: its values, and the codes of its rows.

use crate::error::{Error, Result};
use crate::job::disk::most_values;
use crate::job::{Walk, summarize};
use crate::source::{Batch, Codes, Form, Series, ahead};
use crate::summary::Summary;
use crate::table::Role;
use arrow_schema::{ArrowError, DataType, Field};
use rayon::iter::{
    IndexedParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator,
};
use std::sync::Arc;

/// A column of the release.
pub(super) struct Column {
    /// Its place in the source.
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) kind: DataType,
    pub(super) codes: Codes,
    /// The rows with each code.
    pub(super) rows: Vec<u64>,
}

impl Column {
    /// Whether its values are counted, or only passed on.
    pub(super) fn is_counted(&self) -> bool {
        self.role != Role::Insensitive
    }

    pub(super) fn is_key(&self) -> bool {
        self.role == Role::QuasiIdentifier
    }
}

/// The codes of each column of a batch that is counted and read, and its series if it is read.
pub(super) type BatchColumns<'b> = Vec<(Vec<u32>, Option<&'b Series>)>;

/// Takes the columns of a batch; answers whether more are wanted.
pub(super) type EachBatch<'a> = dyn FnMut(&mut [Column], BatchColumns<'_>) -> Result<bool> + 'a;

/// Reads some columns of the source once.
pub(super) fn scan(
    walk: &Walk<'_>,
    columns: &mut [Column],
    is_read: impl Fn(&Column) -> bool,
    phase: &'static str,
    each: &mut EachBatch<'_>,
) -> Result<u64> {
    let (source, watch) = (walk.source, walk.watch);
    let broken = |error: ArrowError| Error::Columnar { file: source.file(), source: error };
    let mut forms = vec![Form::Skipped; source.schema().fields().len()];
    for column in columns.iter().filter(|column| is_read(column)) {
        forms[column.at] = if column.is_counted() { Form::Coded } else { Form::Plain };
    }
    let mut rows = 0;
    ahead(source.read(&forms)?, watch, |batches| {
        for batch in batches {
            let Batch { columns: read, rows: more, lines, total } = batch?;
            rows += more as u64;
            if rows > u64::from(u32::MAX) {
                let most = u64::from(u32::MAX);
                return Err(Error::TooManyRows { file: source.file(), most });
            }
            let mut read = read.iter();
            let series: Vec<Option<&Series>> = columns
                .iter()
                .map(|column| read.by_ref().take(is_read(column).into()).next())
                .collect();
            let coded = columns.par_iter_mut().zip(series.par_iter()).map(|(column, series)| {
                let mut codes = Vec::new();
                if let Some(series) = series.filter(|_| column.is_counted()) {
                    column.codes.encode(series, &lines, &mut codes).map_err(broken)?;
                }
                Ok((codes, *series))
            });
            let coded: BatchColumns<'_> = coded.collect::<Result<_>>()?;
            watch.progress(phase, rows, total);
            if !each(columns, coded)? {
                break;
            }
        }
        Ok(())
    })?;
    Ok(rows)
}

/// A table after a first scan.
pub(super) struct Scanned {
    pub(super) columns: Vec<Column>,
    pub(super) rows: u64,
    /// What is believed of it, if that is wanted.
    pub(super) summary: Option<Summary>,
}

impl Scanned {
    /// Finds the values of every counted column, and makes a summary on the way.
    pub(super) fn new(walk: &Walk<'_>, with_summary: bool) -> Result<Scanned> {
        let (job, policy, source) = (walk.job, &walk.job.policy, walk.source);
        let (roles, schema, file) = (walk.roles()?, walk.source.schema(), walk.source.file());
        let is_text = |role: &Role| !matches!(role, Role::Identifier | Role::Insensitive);
        source.check_texts(roles.iter().map(is_text))?;
        let fields = schema.fields().iter().zip(&roles).enumerate();
        let column = |(at, (field, role)): (usize, (&Arc<Field>, &Role))| Column {
            at,
            name: field.name().clone(),
            role: *role,
            kind: field.data_type().clone(),
            codes: Codes::default(),
            rows: Vec::new(),
        };
        let released = fields.filter(|(_, (_, role))| **role != Role::Identifier);
        let mut columns: Vec<Column> = released.map(column).collect();
        let order = summarized(&columns);
        let memory = job.limits.memory();
        let mut builder = with_summary.then(|| {
            let (instant, seed) = (&job.parameters.instant, job.seed.unwrap_or(0));
            summarize::builder(order.len(), instant, seed, memory / 2)
        });
        let rows =
            scan(walk, &mut columns, Column::is_counted, "survey", &mut |columns, batch| {
                for (column, (codes, _)) in columns.iter_mut().zip(&batch) {
                    column.rows.resize(column.codes.dictionary().len(), 0);
                    codes.iter().for_each(|code| column.rows[*code as usize] += 1);
                }
                if let Some(builder) = &mut builder {
                    let ordered: Vec<&[u32]> =
                        order.iter().map(|at| batch[*at].0.as_slice()).collect();
                    builder.see(&ordered)?;
                }
                let bytes = |column: &Column| column.codes.dictionary().bytes() as u64;
                if columns.iter().map(bytes).sum::<u64>() > most_values(memory) {
                    let what = "the distinct values of the table".into();
                    return Err(Error::TooLittleMemory { what, instead: None });
                }
                Ok(true)
            })?;
        if rows == 0 {
            return Err(Error::EmptyTable { file });
        }
        let attribute = |at: &usize| {
            let Column { name, role, codes, .. } = &columns[*at];
            let dictionary = codes.dictionary();
            Ok((dictionary, policy.summarized(name, *role, dictionary, &file)?))
        };
        let summary = builder.map(|builder| {
            builder.finish(order.iter().map(attribute).collect::<Result<_>>()?, walk.watch)
        });
        let summary = summary.transpose()?;
        Ok(Scanned { columns, rows, summary })
    }

    pub(super) fn of_role(&self, role: Role) -> impl Iterator<Item = (usize, &Column)> {
        self.columns.iter().enumerate().filter(move |(_, column)| column.role == role)
    }
}

/// The columns of a summary: quasi-identifiers, then sensitive ones.
pub(super) fn summarized(columns: &[Column]) -> Vec<usize> {
    let of = |role| (0..columns.len()).filter(move |at| columns[*at].role == role);
    of(Role::QuasiIdentifier).chain(of(Role::Sensitive)).collect()
}

/// Refuses values that the first scan did not meet.
pub(super) fn check_known(walk: &Walk<'_>, columns: &[Column]) -> Result<()> {
    let is_known = |column: &Column| column.codes.dictionary().len() == column.rows.len();
    if columns.iter().all(is_known) {
        return Ok(());
    }
    Err(Error::ChangedMeanwhile { file: walk.source.file() })
}
