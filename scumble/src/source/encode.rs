//! One scan of a file into a table: dictionaries, cells and the columns that only travel.
//!
//! While other threads parse the next batches, the columns of this one are encoded, in parallel
//! where there are threads left. Codes are given in the order of appearance and columns do not
//! depend on each other, so the table is the same for any number of threads.

use super::ahead::spread;
use super::recurring::Passing;
use super::{BATCH_ROWS, Batch, Codes, Form, Lines, Series, Source, ahead};
use crate::error::{Error, Result};
use crate::ids::{Id, IdMap};
use crate::table::{Cells, Column, Data, Dictionary, Passed, Role, Table};
use crate::watch::Watch;
use arrow_array::{ArrayRef, StringArray};
use arrow_schema::{ArrowError, DataType};
use std::sync::Arc;

/// Reads a source once. `roles` holds a role for each column; identifiers are not read. `phase` is
/// what the watch calls the scan.
pub fn encode(
    source: &dyn Source,
    roles: &[Role],
    watch: &Watch,
    phase: &'static str,
) -> Result<Table> {
    let file = source.file();
    source.check_texts(
        roles.iter().map(|role| !matches!(role, Role::Identifier | Role::Insensitive)),
    )?;
    let is_all_text = source.is_all_text();
    let (mut columns, mut forms) = (Vec::new(), Vec::new());
    for (field, role) in source.schema().fields().iter().zip(roles) {
        let text = field.data_type() == &DataType::Utf8;
        let (data, form) = match role {
            Role::Identifier => {
                forms.push(Form::Skipped);
                continue;
            }
            Role::QuasiIdentifier => (Data::Key(Dictionary::default()), Form::Coded),
            // Texts of CSV are told by number as long as they recur. Other formats tell nulls and
            // empty texts apart.
            Role::Insensitive if !is_all_text => {
                // Texts of Parquet lie by number on disk, and may come so.
                let form = if text { Form::Coded } else { Form::Plain };
                (Data::Plain(Passed::default()), form)
            }
            Role::Insensitive | Role::Sensitive | Role::Target => {
                let plain = (!text).then(Passed::default);
                (
                    Data::Coded {
                        dictionary: Dictionary::default(),
                        codes: IdMap::default(),
                        plain,
                    },
                    Form::Coded,
                )
            }
        };
        let (name, kind) = (field.name().clone(), field.data_type().clone());
        columns.push(Column { name, role: *role, kind, data });
        forms.push(form);
    }
    let width = columns.iter().filter(|column| column.role == Role::QuasiIdentifier).count();
    let mut known: Vec<Known> = columns.iter().map(|_| Known::default()).collect();
    let mut table = Table { file, columns, cells: Cells::new(width), row_cells: IdMap::default() };
    ahead(source.read(&forms)?, watch, |batches| {
        for batch in batches {
            let batch = batch?;
            let total = batch.total;
            if table.row_cells.is_empty() {
                table.reserve(total.unwrap_or(0));
            }
            table.append(batch, &mut known)?;
            watch.progress(phase, table.rows(), total);
        }
        Ok(())
    })?;
    if table.row_cells.is_empty() {
        return Err(Error::EmptyTable { file: table.file });
    }
    for (column, known) in table.columns.iter_mut().zip(known) {
        let broken = |source| Error::Columnar { file: table.file.clone(), source };
        let passed = known.passing.map(Passing::finish).transpose().map_err(broken)?;
        match &mut column.data {
            Data::Key(dictionary) => *dictionary = known.codes.into_dictionary(),
            Data::Coded { dictionary, plain, .. } => {
                *dictionary = known.codes.into_dictionary();
                *plain = passed;
            }
            Data::Plain(plain) => *plain = passed.unwrap_or_default(),
        }
    }
    Ok(table)
}

/// What is known of a column while it is read.
#[derive(Default)]
struct Known {
    /// Its distinct values, if it is counted.
    codes: Codes,
    /// Its values as they are, if these are passed on.
    passing: Option<Passing>,
}

impl Known {
    fn pass(&mut self, series: &Series) -> Result<(), ArrowError> {
        let array = series.as_written()?;
        self.passing.get_or_insert_with(|| Passing::new(array.data_type())).push(array)
    }
}

/// Rows and cells that room is made for before they are seen: more of them grow into it soon
/// enough.
const EXPECTED: u64 = 1 << 20;
const EXPECTED_CELLS: usize = 1 << 14;

impl Table {
    /// Makes room for so many rows, more or less.
    fn reserve(&mut self, rows: u64) {
        let rows = rows.min(EXPECTED) as usize;
        self.row_cells.raw_mut().reserve(rows);
        self.cells.reserve(rows.min(EXPECTED_CELLS));
        for column in &mut self.columns {
            if let Data::Coded { codes, .. } = &mut column.data {
                codes.raw_mut().reserve(rows);
            }
        }
    }

    /// More rows from a file; `known` has what is known of each column.
    fn append(&mut self, batch: Batch, known: &mut [Known]) -> Result<()> {
        let Batch { columns: series, rows, lines, .. } = batch;
        if self.row_cells.len() as u64 + rows as u64 > u64::from(u32::MAX) {
            return Err(Error::TooManyRows { file: self.file.clone(), most: u64::from(u32::MAX) });
        }
        let file = &self.file;
        let columns = self.columns.iter_mut().zip(known).zip(&series).collect();
        let keys = spread(columns, |((column, known), series)| {
            column
                .append(series, &lines, known)
                .map_err(|source| Error::Columnar { file: file.clone(), source })
        });
        let keys: Vec<Option<Vec<u32>>> = keys.into_iter().collect::<Result<_>>()?;
        let keys: Vec<Vec<u32>> = keys.into_iter().flatten().collect();
        if keys.is_empty() {
            let cell = self.cells.add(&[], rows as u32);
            self.row_cells.raw_mut().extend(std::iter::repeat_n(cell.number(), rows));
            return Ok(());
        }
        let mut tuple = vec![0; keys.len()];
        self.row_cells.raw_mut().reserve(rows);
        self.cells.reserve(rows.min(EXPECTED_CELLS));
        for row in 0..rows {
            for (code, key) in tuple.iter_mut().zip(&keys) {
                *code = key[row];
            }
            self.row_cells.push(self.cells.add(&tuple, 1));
        }
        Ok(())
    }
}

impl Column {
    /// More values; the codes of a quasi-identifier are handed back for the cells.
    fn append(
        &mut self,
        series: &Series,
        lines: &Lines,
        known: &mut Known,
    ) -> Result<Option<Vec<u32>>, ArrowError> {
        match &mut self.data {
            Data::Plain(_) => known.pass(series)?,
            Data::Key(_) => {
                let mut codes = Vec::new();
                known.codes.encode(series, lines, &mut codes)?;
                return Ok(Some(codes));
            }
            Data::Coded { codes, .. } if self.role == Role::Insensitive && series.is_plain() => {
                // They do not recur any more: the rest comes as it is, and what came so far becomes
                // so.
                let met = std::mem::take(&mut known.codes).into_dictionary();
                let text = |code: &u32| met.value(*code);
                let arrays = codes.raw().chunks(BATCH_ROWS).map(|codes| -> ArrayRef {
                    Arc::new(StringArray::from_iter_values(codes.iter().map(text)))
                });
                let passing = known.passing.insert(Passing::plain());
                arrays.chain([series.to_array()?]).try_for_each(|array| passing.push(array))?;
                self.data = Data::Plain(Passed::default());
            }
            Data::Coded { codes, plain, .. } => {
                known.codes.encode(series, lines, codes.raw_mut())?;
                if plain.is_some() || series.is_written() {
                    known.pass(series)?;
                }
            }
        }
        Ok(None)
    }
}
