//! One scan of a file into a table: dictionaries, cells and the columns that only travel.
//!
//! While one thread parses the next batch, the columns of this one are encoded, in parallel where there are threads left.
//! Codes are given in the order of appearance and columns do not depend on each other, so the table is the same for any
//! number of threads.

use super::texts::{check_texts, texts};
use super::{Batch, Lines, Source, ahead, spread};
use crate::error::{Error, Result};
use crate::table::{Cells, Column, Data, Dictionary, Role, Table};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// Reads a source once. `roles` holds a role for each of its columns; identifiers are passed over unread.
pub fn encode(source: Source, roles: &[Role]) -> Result<Table> {
    let file = source.file().to_path_buf();
    let wanted: Vec<bool> = roles.iter().map(|role| *role != Role::Identifier).collect();
    check_texts(&source, roles.iter().map(|role| !matches!(role, Role::Identifier | Role::Insensitive)))?;
    let mut columns = Vec::new();
    for (field, role) in source.schema().fields().iter().zip(roles) {
        let text = field.data_type() == &DataType::Utf8;
        let data = match role {
            Role::Identifier => continue,
            Role::QuasiIdentifier => Data::Key(Dictionary::default()),
            Role::Insensitive => Data::Plain(Vec::new()),
            Role::Sensitive | Role::Target => {
                let plain = (!text).then(Vec::new);
                Data::Coded { dictionary: Dictionary::default(), codes: Vec::new(), plain }
            }
        };
        columns.push(Column { name: field.name().clone(), role: *role, data });
    }
    let width = columns.iter().filter(|column| column.role == Role::QuasiIdentifier).count();
    let mut table = Table { file, columns, cells: Cells::new(width), row_cells: Vec::new() };
    let (watch, phase) = source.watch.clone();
    let batches = source.batches(&wanted)?;
    ahead(batches, |batches| {
        for batch in batches {
            let batch = batch?;
            let total = batch.total;
            table.append(batch)?;
            watch.progress(phase, table.rows(), total);
        }
        Ok(())
    })?;
    if table.row_cells.is_empty() {
        return Err(Error::EmptyTable { file: table.file });
    }
    Ok(table)
}

impl Table {
    /// More rows from a file.
    fn append(&mut self, batch: Batch) -> Result<()> {
        let Batch { columns: arrays, lines, .. } = batch;
        let rows = arrays.first().map_or(0, |array| array.len());
        if self.row_cells.len() as u64 + rows as u64 > u64::from(u32::MAX) {
            return Err(Error::TooManyRows { file: self.file.clone(), most: u64::from(u32::MAX) });
        }
        let file = &self.file;
        let keys = spread(self.columns.iter_mut().zip(&arrays).collect(), |(column, array)| {
            column.append(array, &lines).map_err(|source| Error::Columnar { file: file.clone(), source })
        });
        let keys: Vec<Option<Vec<u32>>> = keys.into_iter().collect::<Result<_>>()?;
        let keys: Vec<Vec<u32>> = keys.into_iter().flatten().collect();
        if keys.is_empty() {
            let cell = self.cells.add(&[], rows as u32);
            self.row_cells.resize(self.row_cells.len() + rows, cell);
            return Ok(());
        }
        let mut tuple = vec![0; keys.len()];
        self.row_cells.reserve(rows);
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
    fn append(&mut self, array: &ArrayRef, lines: &Lines) -> Result<Option<Vec<u32>>, arrow_schema::ArrowError> {
        match &mut self.data {
            Data::Plain(arrays) => arrays.push(array.clone()),
            Data::Key(dictionary) => {
                let mut codes = Vec::with_capacity(array.len());
                encode_values(dictionary, array, lines, &mut codes)?;
                return Ok(Some(codes));
            }
            Data::Coded { dictionary, codes, plain } => {
                encode_values(dictionary, array, lines, codes)?;
                if let Some(arrays) = plain {
                    arrays.push(array.clone());
                }
            }
        }
        Ok(None)
    }
}

fn encode_values(
    dictionary: &mut Dictionary,
    array: &ArrayRef,
    lines: &Lines,
    codes: &mut Vec<u32>,
) -> Result<(), arrow_schema::ArrowError> {
    let texts = texts(array)?;
    codes.reserve(texts.len());
    match texts.null_count() {
        0 => codes.extend((0..texts.len()).map(|row| dictionary.encode(texts.value(row), lines.of(row)))),
        _ => codes.extend(texts.iter().enumerate().map(|(row, text)| match text {
            Some(text) => dictionary.encode(text, lines.of(row)),
            None => dictionary.encode_empty(lines.of(row)),
        })),
    }
    Ok(())
}
