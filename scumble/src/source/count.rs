//! Distinct tuples with their counts: the answer to a GROUP BY.

use super::{Batches, Codes, Source, ahead};
use crate::error::{Error, Result};
use crate::table::{Cells, Dictionary};
use crate::watch::Watch;
use arrow_schema::{ArrowError, SchemaRef};
use std::path::PathBuf;

/// The distinct tuples of some columns of a table, with the number of rows that have each.
///
/// Values are known by their texts, not by the codes of one process, so the counts of several
/// parts of a table can be [merged](Counts::merge).
#[derive(Debug, Default)]
pub struct Counts {
    names: Vec<String>,
    values: Vec<Dictionary>,
    cells: Cells,
    rows: u64,
}

impl Counts {
    /// No tuples yet, of columns with these names.
    pub fn new(names: Vec<String>) -> Counts {
        let cells = Cells::new(names.len());
        let values = names.iter().map(|_| Dictionary::default()).collect();
        Counts { values, names, cells, rows: 0 }
    }

    /// Adds rows that have the same tuple; `tuple` has a text for each column.
    pub fn add(&mut self, tuple: &[&str], rows: u64) -> Result<()> {
        let table = || self.names.join(", ").into();
        if tuple.len() != self.names.len() {
            let problem =
                format!("the tuple has {} values; expected {}", tuple.len(), self.names.len());
            return Err(Error::Mismatch { file: table(), problem });
        }
        let all = self.rows.checked_add(rows).filter(|all| *all <= u64::from(u32::MAX));
        self.rows = all.ok_or_else(|| too_many(table()))?;
        let codes = self.values.iter_mut().zip(tuple).map(|(values, text)| values.encode(text, 0));
        let codes: Vec<u32> = codes.collect();
        // All rows together are no more than this type has numbers.
        self.cells.add(&codes, rows as u32);
        Ok(())
    }

    /// Adds the counts of another part of the same table. Columns are matched by name.
    pub fn merge(&mut self, other: &Counts) -> Result<()> {
        let position = |name: &String| other.names.iter().position(|known| known == name);
        let positions: Option<Vec<usize>> = self.names.iter().map(position).collect();
        let positions = positions.filter(|found| found.len() == other.names.len());
        let positions = positions.ok_or_else(|| Error::Mismatch {
            file: self.names.join(", ").into(),
            problem: format!("cannot merge counts of other columns: {}", other.names.join(", ")),
        })?;
        for (tuple, rows) in other.tuples() {
            let tuple: Vec<&str> = positions.iter().map(|at| tuple[*at]).collect();
            self.add(&tuple, rows)?;
        }
        Ok(())
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of distinct tuples.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there is no tuple.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The tuples, with the number of rows of each.
    pub fn tuples(&self) -> impl Iterator<Item = (Vec<&str>, u64)> {
        self.cells.tuples().zip(self.cells.counts()).map(move |(codes, rows)| {
            let texts = self.values.iter().zip(codes).map(|(values, code)| values.value(*code));
            (texts.collect(), u64::from(*rows))
        })
    }

    /// The distinct values of a column.
    pub(crate) fn dictionary(&self, column: usize) -> &Dictionary {
        &self.values[column]
    }

    /// The tuples by the codes of their values.
    pub(crate) fn cells(&self) -> &Cells {
        &self.cells
    }
}

fn too_many(file: PathBuf) -> Error {
    Error::TooManyRows { file, most: u64::from(u32::MAX) }
}

/// Refuses keys that are no columns, or that are asked for twice.
pub(super) fn check_keys(schema: &SchemaRef, keys: &[usize], name: &str) -> Result<()> {
    let columns = schema.fields().len();
    let is_wrong = |at: &usize| keys[*at] >= columns || keys[..*at].contains(&keys[*at]);
    match (0..keys.len()).find(is_wrong) {
        None => Ok(()),
        Some(at) => Err(Error::Mismatch {
            file: name.into(),
            problem: format!("key {} is not one of {columns} columns, or a repeated one", keys[at]),
        }),
    }
}

/// Counts by a scan of the keys, which `batches` has in the order of the table.
pub(super) fn by_scan<S: Source + ?Sized>(
    batches: Batches,
    source: &S,
    keys: &[usize],
    watch: &Watch,
) -> Result<Counts> {
    let schema = source.schema();
    let file = || PathBuf::from(source.name());
    let mut counts =
        Counts::new(keys.iter().map(|key| schema.field(*key).name().clone()).collect());
    // Batches have the order of the table, keys may have another.
    let mut read: Vec<usize> = keys.to_vec();
    read.sort_unstable();
    let at: Vec<usize> = keys.iter().map(|key| read.partition_point(|other| other < key)).collect();
    let mut codes: Vec<Codes> = keys.iter().map(|_| Codes::default()).collect();
    let mut rows = 0u64;
    ahead(batches, watch, |batches| {
        for batch in batches {
            let batch = batch?;
            rows += batch.rows as u64;
            if rows > u64::from(u32::MAX) {
                return Err(too_many(file()));
            }
            let mut numbers: Vec<Vec<u32>> = Vec::with_capacity(keys.len());
            for (codes, at) in codes.iter_mut().zip(&at) {
                let mut of_column = Vec::new();
                let encoded = codes.encode(&batch.columns[*at], &batch.lines, &mut of_column);
                encoded.map_err(|source: ArrowError| Error::Columnar { file: file(), source })?;
                numbers.push(of_column);
            }
            let mut tuple = vec![0; keys.len()];
            for row in 0..batch.rows {
                tuple.iter_mut().zip(&numbers).for_each(|(code, numbers)| *code = numbers[row]);
                counts.cells.add(&tuple, 1);
            }
        }
        Ok(())
    })?;
    counts.rows = rows;
    counts.values = codes.into_iter().map(Codes::into_dictionary).collect();
    Ok(counts)
}
