//! Rows on their way into a file: CSV, JSON lines, Parquet or Arrow.

use super::objects::ObjectWriter;
use super::{TableSink, by_number, in_parts, spelled};
use crate::error::{Error, Result};
use crate::release::lines::LineWriter;
use crate::source::{Compression, FileFormat, Format, Metered, Series};
use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression as PageCompression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// A table in a file that takes batches of rows.
pub struct TableWriter {
    target: PathBuf,
    schema: SchemaRef,
    writer: Writer,
    /// Bytes that a format may gather before it writes them.
    most_bytes: usize,
}

enum Writer {
    Csv(Box<LineWriter<Packed>>),
    Jsonl(Box<ObjectWriter<Packed>>),
    Parquet(Box<ArrowWriter<BufWriter<Metered>>>),
    Arrow(Box<FileWriter<BufWriter<Metered>>>),
}

/// Rows of a Parquet row group, whose columns are gathered in memory.
const ROW_GROUP: usize = 1 << 18;

/// Bytes that are gathered before they are written. Most batches have more, and are written without
/// being copied.
const BUFFER: usize = 1 << 16;

impl TableWriter {
    /// Starts a table in `file`; `target` is what errors call it.
    pub fn new(
        file: Metered,
        target: &Path,
        format: &FileFormat,
        schema: &SchemaRef,
    ) -> Result<TableWriter> {
        TableWriter::with_numbers(file, target, format, schema, &[])
    }

    /// The same with columns whose texts are numbers, which only JSON tells apart.
    pub fn with_numbers(
        file: Metered,
        target: &Path,
        format: &FileFormat,
        schema: &SchemaRef,
        numbers: &[String],
    ) -> Result<TableWriter> {
        let failed = |source: ArrowError| failure(target, source);
        let buffered = |file| BufWriter::with_capacity(BUFFER, file);
        let writer = match format.format {
            Format::Csv => {
                let file =
                    Packed::new(file, format.compression).map_err(Error::io(target, "write"))?;
                let delimiter = format.delimiter.unwrap_or(b',');
                Writer::Csv(Box::new(LineWriter::new(file, target, delimiter, schema)))
            }
            Format::Jsonl => {
                let file =
                    Packed::new(file, format.compression).map_err(Error::io(target, "write"))?;
                Writer::Jsonl(Box::new(ObjectWriter::new(file, target, schema, numbers)))
            }
            Format::Xlsx => {
                let problem = "workbooks can only be read; choose .csv, .jsonl, .parquet or .arrow";
                return Err(Error::Mismatch { file: target.into(), problem: problem.into() });
            }
            Format::Parquet => {
                // No statistics: of recoded labels they help no reader, and they compare every
                // value twice.
                let properties = WriterProperties::builder()
                    .set_compression(PageCompression::SNAPPY)
                    .set_statistics_enabled(EnabledStatistics::None)
                    .set_max_row_group_row_count(Some(ROW_GROUP))
                    .build();
                let writer = ArrowWriter::try_new(buffered(file), schema.clone(), Some(properties));
                Writer::Parquet(Box::new(writer.map_err(|error| failed(error.into()))?))
            }
            Format::Arrow => Writer::Arrow(Box::new(
                FileWriter::try_new(buffered(file), schema).map_err(failed)?,
            )),
        };
        let (target, schema) = (target.to_path_buf(), schema.clone());
        Ok(TableWriter { target, schema, writer, most_bytes: usize::MAX })
    }

    /// Lets a format gather about this many bytes before it writes them.
    pub fn within(self, most_bytes: usize) -> TableWriter {
        TableWriter { most_bytes, ..self }
    }
}

impl TableSink for TableWriter {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let target = &self.target;
        match &mut self.writer {
            Writer::Csv(lines) => lines.write(&Series::all(&batch)),
            Writer::Jsonl(objects) => objects.write(&Series::all(&batch)),
            Writer::Parquet(writer) => {
                let full = writer.write(&batch).map(|()| writer.memory_size() > self.most_bytes);
                let written = full.and_then(|full| if full { writer.flush() } else { Ok(()) });
                written.map_err(|error| failure(target, error.into()))
            }
            Writer::Arrow(writer) => writer.write(&batch).map_err(|error| failure(target, error)),
        }
    }

    fn takes_numbers(&self) -> bool {
        // Parquet looks up the text of each row in a dictionary of its own.
        !matches!(self.writer, Writer::Arrow(_))
    }

    fn write_series(&mut self, columns: &[Series]) -> Result<()> {
        match &mut self.writer {
            Writer::Csv(lines) => lines.write(columns),
            Writer::Jsonl(objects) => objects.write(columns),
            Writer::Parquet(_) => {
                let batch = by_number(columns, &self.schema);
                self.write(batch.map_err(|error| failure(&self.target, error))?)
            }
            Writer::Arrow(_) => Err(Error::Defect),
        }
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let target = &self.target;
        let flushed = |done: io::Result<()>| done.map_err(Error::io(target, "write"));
        match self.writer {
            Writer::Csv(lines) => flushed(lines.finish()?.finish()),
            Writer::Jsonl(objects) => flushed(objects.finish()?.finish()),
            Writer::Parquet(writer) => {
                let file = writer.into_inner().map_err(|error| failure(target, error.into()));
                flushed(file?.flush())
            }
            Writer::Arrow(writer) => {
                flushed(writer.into_inner().map_err(|error| failure(target, error))?.flush())
            }
        }
    }
}

/// A file that may be compressed.
pub(crate) enum Packed {
    Plain(Metered),
    Gzip(Box<flate2::write::GzEncoder<Metered>>),
    Zstd(Box<zstd::stream::write::Encoder<'static, Metered>>),
}

impl Packed {
    fn new(file: Metered, compression: Compression) -> io::Result<Packed> {
        Ok(match compression {
            Compression::None => Packed::Plain(file),
            Compression::Gzip => {
                let level = flate2::Compression::default();
                Packed::Gzip(Box::new(flate2::write::GzEncoder::new(file, level)))
            }
            Compression::Zstd => {
                Packed::Zstd(Box::new(zstd::stream::write::Encoder::new(file, 0)?))
            }
        })
    }

    /// Writes what the compression has at its end.
    fn finish(self) -> io::Result<()> {
        match self {
            Packed::Plain(mut file) => file.flush(),
            Packed::Gzip(encoder) => encoder.finish()?.flush(),
            Packed::Zstd(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Packed::Plain(file) => file.write(bytes),
            Packed::Gzip(encoder) => encoder.write(bytes),
            Packed::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Packed::Plain(file) => file.flush(),
            Packed::Gzip(encoder) => encoder.flush(),
            Packed::Zstd(encoder) => encoder.flush(),
        }
    }
}

enum Message {
    Batch(RecordBatch),
    Series(Vec<Series>),
    /// All rows were sent.
    End,
}

/// A table that is written on a thread of its own, a few batches behind.
pub(crate) struct Background {
    sender: mpsc::SyncSender<Message>,
    schema: SchemaRef,
    takes_numbers: bool,
    is_abandoned: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Background {
    /// Moves a table to a thread of its own; at most `waiting` batches wait for it.
    pub(crate) fn new(
        mut table: Box<dyn TableSink>,
        schema: &SchemaRef,
        waiting: usize,
    ) -> Background {
        let (sender, receiver) = mpsc::sync_channel::<Message>(waiting);
        let (schema, takes_numbers) = (schema.clone(), table.takes_numbers());
        let is_abandoned = Arc::new(AtomicBool::new(false));
        let abandoned = is_abandoned.clone();
        let thread = std::thread::spawn(move || {
            for message in receiver {
                if abandoned.load(Relaxed) {
                    break;
                }
                match message {
                    Message::Batch(batch) => table.write(batch)?,
                    Message::Series(columns) => table.write_series(&columns)?,
                    Message::End => return table.finish(),
                }
            }
            // A table that was not sent to its end is not finished.
            Err(Error::Interrupted)
        });
        Background { sender, schema, takes_numbers, is_abandoned, thread: Some(thread) }
    }

    /// Hands over more rows. An error may be that of an earlier batch.
    pub(crate) fn write(&mut self, columns: Vec<Series>) -> Result<()> {
        if self.takes_numbers {
            return self.send(Message::Series(columns));
        }
        // On this thread, which has less to do than the one that writes.
        let broken = |source| Error::Columnar { file: "the release".into(), source };
        let parts =
            in_parts(&columns, &|columns| spelled(columns, &self.schema)).map_err(broken)?;
        parts.into_iter().try_for_each(|batch| self.send(Message::Batch(batch)))
    }

    fn send(&mut self, message: Message) -> Result<()> {
        match self.sender.send(message) {
            Ok(()) => Ok(()),
            // The thread has ended before its time, and says why.
            Err(_) => self.join().and(Err(Error::Defect)),
        }
    }

    /// Waits until everything is written.
    pub(crate) fn finish(mut self) -> Result<()> {
        // If the thread has ended before its time, it says why.
        let _ = self.sender.send(Message::End);
        self.join()
    }

    fn join(&mut self) -> Result<()> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err(Error::Defect),
        }
    }
}

impl Drop for Background {
    /// A job that fails must not leave a thread that still writes. What waits is not written.
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.is_abandoned.store(true, Relaxed);
            let _ = self.sender.send(Message::End);
            let _ = self.join();
        }
    }
}

/// An error of the writers: of the disk if there is one behind it, otherwise of the data.
pub(crate) fn failure(target: &Path, source: ArrowError) -> Error {
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
