//! A table whose labels are spelled in the notations of their columns.

use super::TableSink;
use crate::error::{Error, Result};
use crate::source::{Rewriting, Series};
use crate::table::Notation;
use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_schema::ArrowError;
use std::path::PathBuf;

/// A table on its way into a sink. Labels come in the plain way.
struct SpelledTable {
    table: Box<dyn TableSink>,
    columns: Vec<Option<(Notation, Rewriting)>>,
    /// What errors call the release.
    name: PathBuf,
}

/// A table that spells the labels of columns that have a notation. `name` is what errors call the
/// release.
pub(crate) fn spelled_table<'a>(
    table: Box<dyn TableSink>,
    notations: impl Iterator<Item = Option<&'a Notation>>,
    name: String,
) -> Box<dyn TableSink> {
    let columns: Vec<_> = notations
        .map(|notation| notation.map(|notation| (notation.clone(), Rewriting::default())))
        .collect();
    if columns.iter().all(Option::is_none) {
        return table;
    }
    Box::new(SpelledTable { table, columns, name: name.into() })
}

impl SpelledTable {
    fn spell(&mut self, columns: &mut [Series]) -> Result<()> {
        for (series, column) in columns.iter_mut().zip(&mut self.columns) {
            let Some((notation, rewriting)) = column else { continue };
            let spelled = rewriting.of(series, |label| Some(notation.spelled_label(label).into()));
            let broken = |source: ArrowError| super::failure(&self.name, source);
            // Every label has a spelling.
            *series = spelled.map_err(broken)?.map_err(|_| Error::Defect)?;
        }
        Ok(())
    }
}

impl TableSink for SpelledTable {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let mut columns = Series::all(&batch);
        self.spell(&mut columns)?;
        let arrays = columns.iter().zip(batch.schema_ref().fields());
        let arrays = arrays.map(|(series, field)| cast(&series.to_array()?, field.data_type()));
        let arrays = arrays.collect::<Result<Vec<_>, ArrowError>>();
        let spelled = arrays.and_then(|arrays| RecordBatch::try_new(batch.schema(), arrays));
        self.table.write(spelled.map_err(|source| super::failure(&self.name, source))?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.table.finish()
    }

    fn takes_numbers(&self) -> bool {
        self.table.takes_numbers()
    }

    fn write_series(&mut self, columns: &[Series]) -> Result<()> {
        let mut columns = columns.to_vec();
        self.spell(&mut columns)?;
        self.table.write_series(&columns)
    }
}
