//! Parquet and Arrow files, through Arrow's own readers.

use super::messages::{check_file, check_stream};
use super::meter::{Meter, Metered};
use super::pages::{metadata, reader};
use super::slices::Slices;
use super::texts::coded_type;
use super::{BATCH_BYTES, BATCH_ROWS, Form, Format, RecordBatches};
use crate::error::{Error, Result};
use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An opened file whose schema is known.
pub(super) struct Reader {
    /// What errors call the file.
    path: PathBuf,
    kind: FileKind,
}

enum FileKind {
    Parquet(Metered, Box<ArrowReaderMetadata>),
    File(Box<FileReader<BufReader<Metered>>>),
    Stream(Box<StreamReader<BufReader<Metered>>>),
}

/// What Arrow's file format begins with; its stream format does not.
const MAGIC: &[u8] = b"ARROW1";

impl Reader {
    /// Opens a file that errors call `name`.
    pub(super) fn open(path: &Path, name: &Path, format: Format, meter: &Meter) -> Result<Reader> {
        let file = Metered::open(path, meter)?;
        guarded(name, || Reader::open_unguarded(file, name, format))
    }

    fn open_unguarded(mut file: Metered, path: &Path, format: Format) -> Result<Reader> {
        let broken = |source: ArrowError| Error::Columnar { file: path.to_path_buf(), source };
        let kind = match format {
            Format::Parquet => {
                let metadata = metadata(&file).map_err(|error| broken(error.into()))?;
                FileKind::Parquet(file, Box::new(metadata))
            }
            _ => {
                let mut start = Vec::new();
                (&mut file)
                    .take(MAGIC.len() as u64)
                    .read_to_end(&mut start)
                    .map_err(Error::io(path, "read"))?;
                if start == MAGIC {
                    check_file(&mut file).map_err(broken)?;
                    let reader = FileReader::try_new(BufReader::new(file), None);
                    FileKind::File(Box::new(reader.map_err(broken)?))
                } else {
                    check_stream(&mut file).map_err(broken)?;
                    let reader = StreamReader::try_new(BufReader::new(file), None);
                    FileKind::Stream(Box::new(reader.map_err(broken)?))
                }
            }
        };
        Ok(Reader { path: path.to_path_buf(), kind })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        match &self.kind {
            FileKind::Parquet(_, metadata) => metadata.schema().clone(),
            FileKind::File(reader) => reader.schema(),
            FileKind::Stream(reader) => reader.schema(),
        }
    }

    /// The same file, text columns of Parquet being handed over by number where they may, as they
    /// mostly lie on disk.
    fn coded(self, forms: &[Form]) -> Result<Reader> {
        let Reader { path, kind } = self;
        let FileKind::Parquet(file, metadata) = kind else { return Ok(Reader { path, kind }) };
        let coded = |(field, form): (&FieldRef, &Form)| match field.data_type() {
            DataType::Utf8 if *form == Form::Coded => {
                Arc::new(field.as_ref().clone().with_data_type(coded_type()))
            }
            _ => field.clone(),
        };
        let fields: Fields = metadata.schema().fields().iter().zip(forms).map(coded).collect();
        let schema =
            Arc::new(Schema::new_with_metadata(fields, metadata.schema().metadata().clone()));
        let options = ArrowReaderOptions::new().with_schema(schema);
        let metadata = ArrowReaderMetadata::try_new(metadata.metadata().clone(), options);
        let metadata = metadata
            .map_err(|error| Error::Columnar { file: path.clone(), source: error.into() })?;
        Ok(Reader { path, kind: FileKind::Parquet(file, Box::new(metadata)) })
    }

    /// About how many bytes the values take, where the file tells.
    pub(super) fn unpacked_bytes(&self) -> Option<u64> {
        let FileKind::Parquet(_, metadata) = &self.kind else { return None };
        let columns = metadata.metadata().row_groups().iter().flat_map(|group| group.columns());
        Some(columns.map(unpacked).sum::<f64>() as u64)
    }

    /// The number of rows, if the file tells.
    pub(super) fn rows(&self) -> Option<u64> {
        let FileKind::Parquet(_, metadata) = &self.kind else { return None };
        u64::try_from(metadata.metadata().file_metadata().num_rows()).ok()
    }

    pub(super) fn batches(self, forms: &[Form]) -> Result<RecordBatches> {
        let wanted: Vec<usize> =
            (0..forms.len()).filter(|column| forms[*column] != Form::Skipped).collect();
        let Reader { path, kind } =
            if forms.contains(&Form::Coded) { self.coded(forms)? } else { self };
        let broken = {
            let path = path.clone();
            move |source: ArrowError| Error::Columnar { file: path.clone(), source }
        };
        let mut batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send> =
            match kind {
                // Parquet skips unwanted columns on disk; the others are read whole.
                FileKind::Parquet(file, metadata) => {
                    let mask = ProjectionMask::roots(metadata.parquet_schema(), wanted);
                    let rows = batch_rows(metadata.metadata(), &mask);
                    let reader = guarded(&path, || Ok(reader(file, &metadata, mask, rows)))?;
                    Box::new(reader.map_err(|error| broken(error.into()))?)
                }
                FileKind::File(reader) => Box::new(Slices::new(reader, wanted).map_err(&broken)?),
                FileKind::Stream(reader) => {
                    Box::new(reader.map(move |batch| batch?.project(&wanted)))
                }
            };
        let mut failed = false;
        Ok(Box::new(std::iter::from_fn(move || {
            // After an error the reader is in no state to go on.
            let next = if failed { Ok(None) } else { guarded(&path, || Ok(batches.next())) };
            failed = !matches!(next, Ok(Some(Ok(_))));
            let next = next.transpose()?;
            Some(next.and_then(|batch| batch.map_err(&broken)))
        })))
    }
}

/// The bytes of a column's values. Texts are unpacked from dictionaries; writers that tell how
/// large they are then are believed.
fn unpacked(column: &ColumnChunkMetaData) -> f64 {
    column.uncompressed_size().max(column.unencoded_byte_array_data_bytes().unwrap_or(0)).max(0)
        as f64
}

/// Rows of a batch: fewer where the wanted columns are wide.
fn batch_rows(metadata: &ParquetMetaData, mask: &ProjectionMask) -> usize {
    let of_row = |group: &RowGroupMetaData| {
        let columns =
            group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        columns.map(|(_, column)| unpacked(column)).sum::<f64>() / group.num_rows().max(1) as f64
    };
    let widest = metadata.row_groups().iter().map(of_row).fold(1.0, f64::max);
    ((BATCH_BYTES as f64 / widest) as usize).clamp(64, BATCH_ROWS)
}

/// Arrow's readers trust a file's own sizes in places, and panic where these are wrong. A damaged
/// file is an error.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|_| {
        let source = ArrowError::ParseError("the file is damaged".into());
        Err(Error::Columnar { file: path.to_path_buf(), source })
    })
}
