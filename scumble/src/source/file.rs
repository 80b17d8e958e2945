//! Tables in files of every format.

use super::encoding::{Decoded, Wanted};
use super::format::{Compression, FileFormat, Format};
use super::meter::Metered;
use super::spill::WaitingFile;
use super::{Batches, Form, Meter, RecordBatches, Source};
use super::{check_names, columnar, csv, jsonl, names, sheet};
use crate::error::{Error, Result};
use crate::watch::Watch;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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
    /// Where notes go.
    watch: Watch,
    kept: Kept,
    /// The file as it was opened, until the first scan takes it.
    opened: Mutex<Option<Opened>>,
    /// The private file of a table that was copied, which goes with it.
    waiting: Option<WaitingFile>,
}

enum Opened {
    Csv(Box<csv::CsvRows>),
    Jsonl(jsonl::Rows),
    Columnar(columnar::Reader),
}

/// What was learned when a file was opened, and is not learned again.
enum Kept {
    Nothing,
    /// The columns of JSON lines.
    Shape(Arc<jsonl::Shape>),
    /// A sheet, as a private CSV file.
    Sheet(sheet::Copied),
}

/// By how much a compressed text file grows, by a rough guess.
const UNPACKED: u64 = 5;

impl TableFile {
    /// Opens a file whose name tells its format.
    pub fn open(path: &Path) -> Result<TableFile> {
        TableFile::open_as(path, FileFormat::of(path)?)
    }

    /// Opens a file of this format.
    pub fn open_as(path: &Path, format: FileFormat) -> Result<TableFile> {
        TableFile::open_in(path, format, &std::env::temp_dir(), &Watch::silent())
    }

    /// The same, with a folder for the private copy of a sheet. The watch gets notes on how the file
    /// was read, some of them during a scan, and can abort the reading of JSON lines and of sheets,
    /// which happens once before the first scan.
    pub fn open_in(
        path: &Path,
        format: FileFormat,
        folder: &Path,
        watch: &Watch,
    ) -> Result<TableFile> {
        TableFile::begin(File { path, name: path, folder, watch }, format)
    }

    /// Opens a file that messages call by another name.
    pub(crate) fn open_named(path: &Path, name: &Path, format: FileFormat) -> Result<TableFile> {
        let (folder, watch) = (&std::env::temp_dir(), &Watch::silent());
        TableFile::begin(File { path, name, folder, watch }, format)
    }

    fn begin(file: File<'_>, format: FileFormat) -> Result<TableFile> {
        let File { path, name, watch, .. } = file;
        let bytes = std::fs::metadata(path).map_err(Error::io(name, "read"))?.len();
        let meter = Meter::default();
        let kept = file.learn(&format, &meter)?;
        let mut table = TableFile {
            path: path.to_path_buf(),
            name: name.to_path_buf(),
            format,
            schema: Schema::empty().into(),
            bytes,
            rows: None,
            unpacked: 0,
            meter,
            watch: watch.clone(),
            kept,
            opened: Mutex::new(None),
            waiting: None,
        };
        let (opened, schema) = table.start()?;
        check_names(&schema, name)?;
        (table.rows, table.unpacked) = match (&opened, &table.kept) {
            (Opened::Csv(_), Kept::Sheet(copied)) => (None, copied.bytes()),
            (Opened::Csv(_), _) => (None, table.text_bytes()),
            (Opened::Jsonl(_), Kept::Shape(shape)) => (Some(shape.rows()), table.text_bytes()),
            (Opened::Jsonl(_), _) => (None, table.text_bytes()),
            // Arrow's own format may be compressed, and does not say how well.
            (Opened::Columnar(reader), _) => {
                (reader.rows(), reader.unpacked_bytes().unwrap_or(2 * bytes))
            }
        };
        if let (Opened::Csv(rows), Format::Csv) = (&opened, table.format.format) {
            table.format.delimiter = Some(rows.delimiter());
        }
        table.schema = schema;
        table.opened = Mutex::new(Some(opened));
        Ok(table)
    }

    /// Bytes of the text in a file, more or less.
    fn text_bytes(&self) -> u64 {
        match self.format.compression {
            Compression::None => self.bytes,
            _ => self.bytes.saturating_mul(UNPACKED),
        }
    }

    /// Opens the file and reads its header or schema.
    fn start(&self) -> Result<(Opened, SchemaRef)> {
        let (path, name, format, meter) = (&self.path, &self.name, &self.format, &self.meter);
        let (opened, schema) = match (format.format, &self.kept) {
            (Format::Csv, _) => {
                let wanted = match format.encoding {
                    Some(given) => Wanted::Given(given),
                    None => Wanted::Detected(self.watch.clone()),
                };
                let file = text(path, name, format, meter, wanted)?;
                let (rows, schema) =
                    csv::open(file, name, format.delimiter, format.longest_record())?;
                (Opened::Csv(Box::new(rows)), schema)
            }
            (Format::Xlsx, Kept::Sheet(copied)) => {
                let file = Metered::open(copied.path(), meter)?;
                let longest = format.longest_record();
                let (rows, schema) = csv::open(Box::new(file), name, Some(sheet::COMMA), longest)?;
                (Opened::Csv(Box::new(rows)), schema)
            }
            (Format::Jsonl, Kept::Shape(shape)) => {
                let file = text(path, name, format, meter, Wanted::Marked)?;
                let lines = jsonl::Lines::new(file, name, format.longest_record());
                (Opened::Jsonl(jsonl::Rows::new(lines, shape.clone())), shape.schema())
            }
            (Format::Jsonl | Format::Xlsx, _) => return Err(Error::Defect),
            (Format::Parquet | Format::Arrow, _) => {
                let reader = columnar::Reader::open(path, name, format.format, meter)?;
                let schema = reader.schema();
                (Opened::Columnar(reader), schema)
            }
        };
        if !format.rename_duplicates {
            return Ok((opened, schema));
        }
        let schema = names::unique(&schema);
        Ok(match opened {
            Opened::Csv(rows) => (Opened::Csv(Box::new(rows.named(&schema))), schema),
            opened => (opened, schema),
        })
    }

    /// The columns whose texts are numbers, because no type of Arrow keeps their spelling.
    pub(crate) fn spelled_numbers(&self) -> Vec<String> {
        match &self.kept {
            Kept::Shape(shape) => {
                let fields = self.schema.fields().iter().enumerate();
                let spelled = fields.filter(|(at, _)| shape.is_spelled(*at));
                spelled.map(|(_, field)| field.name().clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Copies a table from a reader, such as standard input, to a private file in `folder` and opens
    /// that; messages call it `name`. The file goes with the table. gzip and Zstandard around text
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
        let format = format.packed_like(&start);
        let file = File { path: waiting.path(), name, folder, watch };
        let mut opened = TableFile::begin(file, format)?;
        opened.meter.add_read(bytes);
        opened.meter.add_written(bytes);
        opened.waiting = Some(waiting);
        Ok(opened)
    }

    /// How the table is stored; the delimiter of a CSV file is known by now.
    pub fn format(&self) -> &FileFormat {
        &self.format
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
        let (opened, schema) = self.start()?;
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

/// A file that is opened.
struct File<'a> {
    path: &'a Path,
    /// What messages call it.
    name: &'a Path,
    /// For private copies.
    folder: &'a Path,
    watch: &'a Watch,
}

impl File<'_> {
    /// Reads what must be known before the first scan.
    fn learn(&self, format: &FileFormat, meter: &Meter) -> Result<Kept> {
        let File { path, name, folder, watch } = *self;
        Ok(match format.format {
            Format::Jsonl => {
                let file = text(path, name, format, meter, Wanted::Marked)?;
                let lines = jsonl::Lines::new(file, name, format.longest_record());
                Kept::Shape(Arc::new(jsonl::Shape::learn(lines, watch)?))
            }
            Format::Xlsx => {
                let book = sheet::Book::open(path, name, format, (meter, watch))?;
                Kept::Sheet(book.copy(folder, (meter, watch))?)
            }
            _ => Kept::Nothing,
        })
    }
}

/// The text of a file, as UTF-8.
fn text(
    path: &Path,
    name: &Path,
    format: &FileFormat,
    meter: &Meter,
    wanted: Wanted,
) -> Result<Box<dyn Read + Send>> {
    let file = unpacked(Metered::open(path, meter)?, name, format.compression)?;
    Ok(Box::new(Decoded::new(file, name, wanted)))
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
            // The sheet is another file.
            (Format::Xlsx, _) => return Some(self.unpacked.saturating_mul(2)),
            (_, Compression::None) => 2,
            (_, _) => 2 * UNPACKED,
        };
        Some(self.bytes.saturating_mul(factor))
    }

    fn files(&self) -> Vec<PathBuf> {
        if self.waiting.is_some() { Vec::new() } else { vec![self.path.clone()] }
    }

    fn is_all_text(&self) -> bool {
        matches!(self.format.format, Format::Csv | Format::Xlsx)
    }

    fn read(&self, forms: &[Form]) -> Result<Batches> {
        let opened = self.take()?;
        self.meter.add_scan();
        match opened {
            Opened::Csv(rows) => {
                let parts = csv::Parts::new(*rows, forms, self.unpacked);
                let rows = match &self.kept {
                    Kept::Sheet(copied) => Some(copied.rows()),
                    _ => None,
                };
                Ok(Batches::parted(parts.renumbered(rows), &self.meter))
            }
            Opened::Jsonl(rows) => Ok(Batches::in_turn(rows.batches(forms), &self.meter)),
            Opened::Columnar(reader) => {
                let batches = reader.batches(forms)?;
                Ok(Batches::of_record_batches(batches, self.rows, &self.meter))
            }
        }
    }
}
