//! Where rows go: CSV, Parquet or Arrow.

use crate::error::{Error, Result};
use crate::source::Format;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, SchemaRef};
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
    kind: Kind,
    /// Bytes that a format may gather before it writes them.
    most_bytes: usize,
}

enum Kind {
    Csv { file: BufWriter<File>, delimiter: u8 },
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
        let mut file = BufWriter::with_capacity(BUFFER, file);
        let kind = match format {
            Format::Csv(delimiter) => {
                let delimiter = delimiter.unwrap_or(b',');
                let mut line = Vec::new();
                for (position, field) in schema.fields().iter().enumerate() {
                    push_field(&mut line, field.name(), position, delimiter);
                }
                line.push(b'\n');
                file.write_all(&line).map_err(Error::io(target, "write"))?;
                Kind::Csv { file, delimiter }
            }
            Format::Parquet => {
                // No statistics: of recoded labels they help no reader, and they compare every value twice.
                let properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .set_statistics_enabled(EnabledStatistics::None)
                    .set_max_row_group_row_count(Some(ROW_GROUP))
                    .build();
                let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties));
                Kind::Parquet(Box::new(writer.map_err(|error| failed(error.into()))?))
            }
            Format::Arrow => Kind::Arrow(Box::new(FileWriter::try_new(file, schema).map_err(failed)?)),
        };
        Ok(Sink { target: target.to_path_buf(), kind, most_bytes: usize::MAX })
    }

    /// Lets a format gather about so many bytes before it writes them.
    pub fn within(self, most_bytes: usize) -> Sink {
        Sink { most_bytes, ..self }
    }

    /// Writes more rows.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let target = &self.target;
        match &mut self.kind {
            Kind::Csv { file, delimiter } => write_csv(file, *delimiter, batch, target),
            Kind::Parquet(writer) => {
                let written = writer.write(batch).and_then(|()| match writer.memory_size() > self.most_bytes {
                    true => writer.flush(),
                    false => Ok(()),
                });
                written.map_err(|error| failure(target, error.into()))
            }
            Kind::Arrow(writer) => writer.write(batch).map_err(|error| failure(target, error)),
        }
    }

    /// Writes what a format has at its end.
    pub fn finish(self) -> Result<()> {
        let target = &self.target;
        let flushed = |file: std::result::Result<_, std::io::Error>| file.map_err(Error::io(target, "write"));
        match self.kind {
            Kind::Csv { mut file, .. } => flushed(file.flush()),
            Kind::Parquet(writer) => {
                let mut file = writer.into_inner().map_err(|error| failure(target, error.into()))?;
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
    sender: Option<mpsc::SyncSender<RecordBatch>>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Background {
    /// Moves a sink to a thread of its own; at most so many batches wait for it.
    pub fn new(mut sink: Sink, waiting: usize) -> Background {
        let (sender, receiver) = mpsc::sync_channel::<RecordBatch>(waiting);
        let thread = std::thread::spawn(move || {
            for batch in receiver {
                sink.write(&batch)?;
            }
            sink.finish()
        });
        Background { sender: Some(sender), thread: Some(thread) }
    }

    /// Hands over more rows. An error may be that of an earlier batch.
    pub fn write(&mut self, batch: RecordBatch) -> Result<()> {
        match self.sender.as_ref().map(|sender| sender.send(batch)) {
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

/// An error of the writers: of the disk if there is one behind it, otherwise of the data.
fn failure(target: &Path, source: ArrowError) -> Error {
    match source {
        ArrowError::IoError(_, source) => Error::Io { file: target.to_path_buf(), doing: "write", source },
        ArrowError::ExternalError(inner) => match inner.downcast::<std::io::Error>() {
            Ok(source) => Error::Io { file: target.to_path_buf(), doing: "write", source: *source },
            Err(inner) => Error::Columnar { file: target.to_path_buf(), source: ArrowError::ExternalError(inner) },
        },
        source => Error::Columnar { file: target.to_path_buf(), source },
    }
}

/// A field of a CSV line, behind a delimiter unless it is the first, quoted where it must be.
pub(crate) fn push_field(line: &mut Vec<u8>, text: &str, position: usize, delimiter: u8) {
    if position > 0 {
        line.push(delimiter);
    }
    let special = |byte: u8| byte == delimiter || byte == b'"' || byte == b'\n' || byte == b'\r';
    if !text.bytes().any(special) {
        line.extend_from_slice(text.as_bytes());
        return;
    }
    line.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            line.push(b'"');
        }
        line.push(byte);
    }
    line.push(b'"');
}

fn write_csv(file: &mut impl Write, delimiter: u8, batch: &RecordBatch, target: &Path) -> Result<()> {
    let text = |array: &ArrayRef| match array.data_type() {
        DataType::Utf8 => Ok(array.clone()),
        // A value without a text form is an error, not an empty field.
        _ => {
            let strict = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(array, &DataType::Utf8, &strict).map_err(|source| failure(target, source))
        }
    };
    let columns: Vec<ArrayRef> = batch.columns().iter().map(text).collect::<Result<_>>()?;
    let columns: Vec<_> = columns.iter().map(|column| column.as_string::<i32>()).collect();
    let mut lines = Vec::with_capacity(batch.num_rows() * columns.len() * 12);
    for row in 0..batch.num_rows() {
        let start = lines.len();
        for (position, column) in columns.iter().enumerate() {
            let value = if column.is_null(row) { "" } else { column.value(row) };
            push_field(&mut lines, value, position, delimiter);
        }
        // A lone empty field would be a blank line, which readers skip.
        if lines.len() == start {
            lines.extend_from_slice(b"\"\"");
        }
        lines.push(b'\n');
    }
    file.write_all(&lines).map_err(Error::io(target, "write"))
}
