//! Where rows go: CSV, Parquet or Arrow.

use super::lines::Lines;
use crate::error::{Error, Result};
use crate::source::{Format, Series};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// A file that takes batches of rows.
pub struct Sink {
    target: PathBuf,
    schema: SchemaRef,
    kind: Kind,
    /// Bytes that a format may gather before it writes them.
    most_bytes: usize,
}

enum Kind {
    Csv(Box<Lines>),
    Parquet(Box<ArrowWriter<BufWriter<File>>>),
    Arrow(Box<FileWriter<BufWriter<File>>>),
}

/// Rows of a Parquet row group, whose columns are gathered in memory.
const ROW_GROUP: usize = 1 << 18;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 20;

impl Sink {
    /// Starts a table in `file`; `target` is what errors call it.
    pub fn new(file: File, target: &Path, format: Format, schema: &SchemaRef) -> Result<Sink> {
        let failed = |source: ArrowError| failure(target, source);
        let buffered = |file| BufWriter::with_capacity(BUFFER, file);
        let kind = match format {
            Format::Csv(delimiter) => {
                Kind::Csv(Box::new(Lines::new(file, target, delimiter.unwrap_or(b','), schema)))
            }
            Format::Parquet => {
                // No statistics: of recoded labels they help no reader, and they compare every
                // value twice.
                let properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .set_statistics_enabled(EnabledStatistics::None)
                    .set_max_row_group_row_count(Some(ROW_GROUP))
                    .build();
                let writer = ArrowWriter::try_new(buffered(file), schema.clone(), Some(properties));
                Kind::Parquet(Box::new(writer.map_err(|error| failed(error.into()))?))
            }
            Format::Arrow => {
                Kind::Arrow(Box::new(FileWriter::try_new(buffered(file), schema).map_err(failed)?))
            }
        };
        Ok(Sink {
            target: target.to_path_buf(),
            schema: schema.clone(),
            kind,
            most_bytes: usize::MAX,
        })
    }

    /// Lets a format gather about so many bytes before it writes them.
    pub fn within(self, most_bytes: usize) -> Sink {
        Sink { most_bytes, ..self }
    }

    /// Writes more rows, column by column. Texts may come by number.
    pub fn write(&mut self, columns: &[Series]) -> Result<()> {
        let (target, schema) = (&self.target, &self.schema);
        let spelled = || spelled(columns, schema).map_err(|error| failure(target, error));
        match &mut self.kind {
            Kind::Csv(lines) => lines.write(columns),
            Kind::Parquet(writer) => {
                let written = writer.write(&spelled()?).and_then(|()| {
                    match writer.memory_size() > self.most_bytes {
                        true => writer.flush(),
                        false => Ok(()),
                    }
                });
                written.map_err(|error| failure(target, error.into()))
            }
            Kind::Arrow(writer) => {
                writer.write(&spelled()?).map_err(|error| failure(target, error))
            }
        }
    }

    /// Writes what a format has at its end.
    pub fn finish(self) -> Result<()> {
        let target = &self.target;
        let flushed =
            |file: std::result::Result<_, std::io::Error>| file.map_err(Error::io(target, "write"));
        match self.kind {
            Kind::Csv(lines) => lines.finish(),
            Kind::Parquet(writer) => {
                let mut file =
                    writer.into_inner().map_err(|error| failure(target, error.into()))?;
                flushed(file.flush())
            }
            Kind::Arrow(writer) => {
                let mut file = writer.into_inner().map_err(|error| failure(target, error))?;
                flushed(file.flush())
            }
        }
    }
}

/// A sink that writes on a thread of its own, a few batches behind.
pub struct Background {
    sender: Option<mpsc::SyncSender<Vec<Series>>>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Background {
    /// Moves a sink to a thread of its own; at most so many batches wait for it.
    pub fn new(mut sink: Sink, waiting: usize) -> Background {
        let (sender, receiver) = mpsc::sync_channel::<Vec<Series>>(waiting);
        let thread = std::thread::spawn(move || {
            for columns in receiver {
                sink.write(&columns)?;
            }
            sink.finish()
        });
        Background { sender: Some(sender), thread: Some(thread) }
    }

    /// Hands over more rows. An error may be that of an earlier batch.
    pub fn write(&mut self, columns: Vec<Series>) -> Result<()> {
        match self.sender.as_ref().map(|sender| sender.send(columns)) {
            Some(Ok(())) => Ok(()),
            // The thread has ended before its time, and says why.
            _ => self.join().and(Err(Error::Defect)),
        }
    }

    /// Waits until everything is written.
    pub fn finish(mut self) -> Result<()> {
        self.join()
    }

    fn join(&mut self) -> Result<()> {
        self.sender = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err(Error::Defect),
        }
    }
}

/// The same rows as columns of these types: what came by number is spelled out, since a file that
/// keeps numbers keeps all texts too, those of rows that are not released among them.
fn spelled(columns: &[Series], schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = columns.iter().zip(schema.fields());
    let columns: Result<Vec<ArrayRef>, ArrowError> =
        columns.map(|(series, field)| cast(&series.to_array()?, field.data_type())).collect();
    RecordBatch::try_new(schema.clone(), columns?)
}

/// An error of the writers: of the disk if there is one behind it, otherwise of the data.
pub(super) fn failure(target: &Path, source: ArrowError) -> Error {
    match source {
        ArrowError::IoError(_, source) => {
            Error::Io { file: target.to_path_buf(), doing: "write", source }
        }
        ArrowError::ExternalError(inner) => match inner.downcast::<std::io::Error>() {
            Ok(source) => Error::Io { file: target.to_path_buf(), doing: "write", source: *source },
            Err(inner) => Error::Columnar {
                file: target.to_path_buf(),
                source: ArrowError::ExternalError(inner),
            },
        },
        source => Error::Columnar { file: target.to_path_buf(), source },
    }
}
