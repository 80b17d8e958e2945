//! Tables in memory.

use super::{Meter, RecordBatches, Source, check_names};
use crate::error::{Error, Result};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::path::Path;
use std::sync::Arc;

/// Record batches as a source.
#[derive(Clone, Debug)]
pub struct TableBatches {
    name: String,
    schema: SchemaRef,
    batches: Arc<[RecordBatch]>,
    meter: Meter,
}

impl TableBatches {
    /// A table of record batches, which have one schema. There must be at least one batch, which
    /// may be empty.
    pub fn new(batches: Vec<RecordBatch>) -> Result<TableBatches> {
        match batches.first() {
            Some(first) => TableBatches::with_schema(first.schema(), batches),
            None => Err(Error::NoHeader { file: "record batches".into() }),
        }
    }

    /// A table with this schema, which all batches must have.
    pub fn with_schema(schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<TableBatches> {
        let name = "record batches";
        check_names(&schema, Path::new(name))?;
        if let Some(at) =
            batches.iter().position(|batch| batch.schema().fields() != schema.fields())
        {
            let problem = format!("batch {} has a different schema than the table", at + 1);
            return Err(Error::Mismatch { file: name.into(), problem });
        }
        Ok(TableBatches {
            name: name.into(),
            schema,
            batches: batches.into(),
            meter: Meter::default(),
        })
    }

    /// The same table, which messages call by this name.
    pub fn named(self, name: impl Into<String>) -> TableBatches {
        TableBatches { name: name.into(), ..self }
    }
}

impl Source for TableBatches {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn scan(&self, columns: &[usize]) -> Result<RecordBatches> {
        self.meter.add_scan();
        let (columns, batches) = (columns.to_vec(), self.batches.clone());
        let (file, meter) = (self.name.clone(), self.meter.clone());
        Ok(Box::new((0..batches.len()).map(move |at| {
            let batch = batches[at].project(&columns);
            let batch =
                batch.map_err(|source| Error::Columnar { file: file.clone().into(), source })?;
            meter.add_read(bytes_of(&batch));
            Ok(batch)
        })))
    }

    fn rows(&self) -> Option<u64> {
        Some(self.batches.iter().map(|batch| batch.num_rows() as u64).sum())
    }

    fn unpacked_bytes(&self) -> Option<u64> {
        Some(self.batches.iter().map(bytes_of).sum())
    }
}

/// Bytes of the values of a batch, which may be a slice of larger arrays.
pub(super) fn bytes_of(batch: &RecordBatch) -> u64 {
    let bytes = batch.columns().iter().map(|column| {
        let data = column.to_data();
        // Where slices cannot be measured (views), the whole buffers are.
        data.get_slice_memory_size().unwrap_or_else(|_| data.get_buffer_memory_size())
    });
    bytes.sum::<usize>() as u64
}
