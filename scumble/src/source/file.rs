//! Tables in files: CSV, Parquet, Arrow.

use super::meter::Metered;
use super::spill::WaitingFile;
use super::{Batches, Form, Meter, RecordBatches, Source, check_names, columnar, csv};
use crate::error::{Error, Result};
use crate::watch::Watch;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, SchemaRef};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A format of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text with a delimiter.
    Csv,
    /// Apache Parquet.
    Parquet,
    /// Arrow's interprocess format, as a file or a stream.
    Arrow,
}

impl Format {
    /// Every format with its name.
    pub const NAMES: [(&'static str, Format); 3] =
        [("csv", Format::Csv), ("parquet", Format::Parquet), ("arrow", Format::Arrow)];
}

/// How a CSV file is compressed as a whole. Parquet and Arrow compress inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// gzip, `.csv.gz`.
    Gzip,
    /// Zstandard, `.csv.zst`.
    Zstd,
}

/// How a table is stored in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFormat {
    /// The format.
    pub format: Format,
    /// The delimiter of CSV (default: detected when read; a comma when written, or a tab for
    /// `.tsv`).
    pub delimiter: Option<u8>,
    /// The compression of CSV.
    pub compression: Compression,
    /// The maximum length of a record of CSV.
    longest_record: usize,
}

/// The maximum length of a record of CSV. Reading one takes up to 14 times as much memory.
const LONGEST_RECORD: usize = 64 << 20;

/// The part of the memory that a record of CSV may have, and what it may have in any case.
const PART_OF_MEMORY: u64 = 16;
const ALWAYS_ALLOWED: usize = 1 << 20;

impl FileFormat {
    /// A format without a delimiter of its own and without compression.
    pub fn new(format: Format) -> FileFormat {
        let (compression, longest_record) = (Compression::None, LONGEST_RECORD);
        FileFormat { format, delimiter: None, compression, longest_record }
    }

    /// The same format for a reader with this much memory: a record of CSV may have a sixteenth of
    /// it.
    pub fn within(self, memory: u64) -> FileFormat {
        let part = usize::try_from(memory / PART_OF_MEMORY).unwrap_or(usize::MAX);
        let longest_record = part.clamp(ALWAYS_ALLOWED, LONGEST_RECORD);
        FileFormat { longest_record, ..self }
    }

    /// The format of a file, from the ending of its name.
    pub fn of(file: &Path) -> Result<FileFormat> {
        let unknown = || Error::UnknownFormat { file: file.to_path_buf() };
        let name = file.file_name().and_then(|name| name.to_str()).ok_or_else(unknown)?;
        let name = name.to_ascii_lowercase();
        let (name, compression) = match name.rsplit_once('.') {
            Some((name, "gz")) => (name, Compression::Gzip),
            Some((name, "zst")) => (name, Compression::Zstd),
            _ => (name.as_str(), Compression::None),
        };
        let parts = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        let format = match parts.map(|(_, ending)| ending) {
            Some("csv" | "tsv" | "txt") => Format::Csv,
            Some("parquet" | "pq") if compression == Compression::None => Format::Parquet,
            Some("arrow" | "feather" | "ipc") if compression == Compression::None => Format::Arrow,
            _ => return Err(unknown()),
        };
        Ok(FileFormat { compression, ..FileFormat::new(format) })
    }

    /// The same format with this delimiter, if there is one.
    pub fn with_delimiter(self, delimiter: Option<u8>) -> FileFormat {
        FileFormat { delimiter: delimiter.or(self.delimiter), ..self }
    }
}

/// A table in a file. Its header or schema is read when it is opened.
pub struct TableFile {
    path: PathBuf,
    /// What messages call it.
    name: PathBuf,
    format: FileFormat,
    schema: SchemaRef,
    bytes: u64,
    rows: Option<u64>,
    unpacked: u64,
    meter: Meter,
    /// The file as it was opened, until the first scan takes it.
    opened: Mutex<Option<Opened>>,
    /// The private file of a table that was copied, which goes with it.
    waiting: Option<WaitingFile>,
}

enum Opened {
    Csv(Box<csv::CsvRows>),
    Columnar(columnar::Reader),
}

/// By how much a compressed CSV file grows, by a rough guess.
const UNPACKED: u64 = 5;

impl TableFile {
    /// Opens a file whose name tells its format.
    pub fn open(path: &Path) -> Result<TableFile> {
        TableFile::open_as(path, FileFormat::of(path)?)
    }

    /// Opens a file of this format.
    pub fn open_as(path: &Path, format: FileFormat) -> Result<TableFile> {
        TableFile::open_named(path, path, format)
    }

    /// Opens a file that messages call by another name.
    pub(crate) fn open_named(path: &Path, name: &Path, format: FileFormat) -> Result<TableFile> {
        let bytes = std::fs::metadata(path).map_err(Error::io(name, "read"))?.len();
        let meter = Meter::default();
        let (opened, format, schema) = begin(path, name, format, &meter)?;
        check_names(&schema, name)?;
        let unpacked = match (&opened, format.compression) {
            (Opened::Csv(_), Compression::None) => bytes,
            (Opened::Csv(_), _) => bytes.saturating_mul(UNPACKED),
            // Arrow's own format may be compressed, and does not say how well.
            (Opened::Columnar(reader), _) => reader.unpacked_bytes().unwrap_or(2 * bytes),
        };
        let rows = match &opened {
            Opened::Csv(_) => None,
            Opened::Columnar(reader) => reader.rows(),
        };
        let (path, name, opened) =
            (path.to_path_buf(), name.to_path_buf(), Mutex::new(Some(opened)));
        let waiting = None;
        Ok(TableFile { path, name, format, schema, bytes, rows, unpacked, meter, opened, waiting })
    }

    /// Copies a table from a reader, such as standard input, to a private file in `folder` and opens
    /// that; messages call it `name`. The file goes with the table. gzip and Zstandard around CSV
    /// are recognised.
    ///
    /// The reader has a thread of its own, so that an abort need not wait for it. If it never ends,
    /// neither does that thread.
    pub fn spool(
        reader: impl Read + Send + 'static,
        name: &Path,
        format: FileFormat,
        folder: &Path,
        watch: &Watch,
    ) -> Result<TableFile> {
        let (waiting, mut file) = WaitingFile::create(folder)?;
        let (mut start, mut bytes) = (Vec::new(), 0);
        let pieces = pieces(reader);
        loop {
            watch.check()?;
            let piece = match pieces.recv_timeout(POLLED) {
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
                Ok(piece) => piece.map_err(Error::io(name, "read"))?,
            };
            start.extend_from_slice(&piece[..piece.len().min(4usize.saturating_sub(start.len()))]);
            file.write_all(&piece).map_err(|error| waiting.failed(error))?;
            bytes += piece.len() as u64;
        }
        drop(file);
        let compression = match &start[..] {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        };
        let is_csv = format.format == Format::Csv;
        let compression = if is_csv { compression } else { Compression::None };
        let format = FileFormat { compression, ..format };
        let mut opened = TableFile::open_named(waiting.path(), name, format)?;
        opened.meter.add_read(bytes);
        opened.meter.add_written(bytes);
        opened.waiting = Some(waiting);
        Ok(opened)
    }

    /// How the table is stored; the delimiter of a CSV file is known by now.
    pub fn format(&self) -> FileFormat {
        self.format
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file as it was opened, or opened again.
    fn take(&self) -> Result<Opened> {
        let first = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(opened) = first {
            return Ok(opened);
        }
        let (opened, _, schema) = begin(&self.path, &self.name, self.format, &self.meter)?;
        if schema != self.schema {
            return Err(Error::ChangedMeanwhile { file: self.name.clone() });
        }
        Ok(opened)
    }
}

/// How long an abort waits for a reader.
const POLLED: Duration = Duration::from_millis(20);

/// Reads to the end on a thread of its own, some bytes at a time.
fn pieces(mut reader: impl Read + Send + 'static) -> Receiver<std::io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(4);
    std::thread::spawn(move || {
        loop {
            let mut piece = vec![0; 1 << 16];
            let read = match reader.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => Ok(read),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let is_last = read.is_err();
            let piece = read.map(|read| {
                piece.truncate(read);
                piece
            });
            // Nobody listens after an abort.
            if sender.send(piece).is_err() || is_last {
                break;
            }
        }
    });
    receiver
}

/// Opens a file and reads its header or schema.
fn begin(
    path: &Path,
    name: &Path,
    format: FileFormat,
    meter: &Meter,
) -> Result<(Opened, FileFormat, SchemaRef)> {
    if format.format != Format::Csv {
        let reader = columnar::Reader::open(path, name, format.format, meter)?;
        let schema = reader.schema();
        return Ok((Opened::Columnar(reader), format, schema));
    }
    let file = unpacked(Metered::open(path, meter)?, name, format.compression)?;
    let (rows, delimiter, schema) = csv::open(file, name, format.delimiter, format.longest_record)?;
    Ok((Opened::Csv(Box::new(rows)), format.with_delimiter(Some(delimiter)), schema))
}

/// The bytes of a file without its compression.
fn unpacked(file: Metered, name: &Path, compression: Compression) -> Result<Box<dyn Read + Send>> {
    Ok(match compression {
        Compression::None => Box::new(file),
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(file)),
        Compression::Zstd => {
            Box::new(zstd::stream::read::Decoder::new(file).map_err(Error::io(name, "read"))?)
        }
    })
}

impl Source for TableFile {
    fn name(&self) -> String {
        self.name.display().to_string()
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn scan(&self, columns: &[usize]) -> Result<RecordBatches> {
        let forms = super::forms_of(self.schema.fields().len(), columns);
        let plain = |form: &Form| if *form == Form::Skipped { Form::Skipped } else { Form::Plain };
        let batches = self.read(&forms.iter().map(plain).collect::<Vec<_>>())?;
        let name = self.name.clone();
        let failed = move |source: ArrowError| Error::Columnar { file: name.clone(), source };
        let schema = Arc::new(self.schema.project(columns).map_err(&failed)?);
        let mut read = columns.to_vec();
        read.sort_unstable();
        read.dedup();
        let at: Vec<usize> =
            columns.iter().map(|column| read.partition_point(|other| other < column)).collect();
        Ok(Box::new(batches.map(move |batch| {
            let batch = batch?;
            let array = |at: &usize| batch.columns[*at].to_array();
            let arrays: Result<Vec<ArrayRef>, ArrowError> = at.iter().map(array).collect();
            arrays.and_then(|arrays| RecordBatch::try_new(schema.clone(), arrays)).map_err(&failed)
        })))
    }

    fn rows(&self) -> Option<u64> {
        self.rows
    }

    fn unpacked_bytes(&self) -> Option<u64> {
        Some(self.unpacked)
    }

    /// By a rough guess from the size of the file: columnar files are compressed, and reading adds
    /// dictionaries and numbers of cells.
    fn memory_needed(&self) -> Option<u64> {
        let factor = match (self.format.format, self.format.compression) {
            (Format::Parquet, _) => 6,
            (Format::Csv | Format::Arrow, Compression::None) => 2,
            (Format::Csv | Format::Arrow, _) => 2 * UNPACKED,
        };
        Some(self.bytes.saturating_mul(factor))
    }

    fn files(&self) -> Vec<PathBuf> {
        if self.waiting.is_some() { Vec::new() } else { vec![self.path.clone()] }
    }

    fn is_all_text(&self) -> bool {
        self.format.format == Format::Csv
    }

    fn read(&self, forms: &[Form]) -> Result<Batches> {
        let opened = self.take()?;
        self.meter.add_scan();
        match opened {
            Opened::Csv(rows) => {
                Ok(Batches::parted(csv::Parts::new(*rows, forms, self.unpacked), &self.meter))
            }
            Opened::Columnar(reader) => {
                let batches = reader.batches(forms)?;
                Ok(Batches::of_record_batches(batches, self.rows, &self.meter))
            }
        }
    }
}
