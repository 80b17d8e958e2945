//! Where do rows live and get counted?
//!
//! A [`Source`] is a file that is read once, front to back, in batches of Arrow arrays; [`encode`]
//! turns the batches into a [`Table`](crate::table::Table) as they arrive. The source counts how
//! often and how much it was read. Rows that do not fit into memory wait in files of a [`spill`]
//! folder.

mod ahead;
mod coder;
mod columnar;
mod csv;
mod encode;
mod meter;
mod slices;
pub mod spill;
mod survey;
mod texts;

pub use ahead::{Batches, ahead};
pub use coder::{Coder, Input, KeyCoder, axis_between};
pub use encode::encode;
pub use meter::Meter;
pub use survey::{Seen, Survey, Wanted};
pub(crate) use texts::is_same;
pub use texts::{Codes, Series, Texts};

use crate::error::{Error, Result};
use crate::watch::Watch;
use arrow_schema::SchemaRef;
use std::path::{Path, PathBuf};

/// Rows per batch: large enough that per-batch work vanishes, small enough to stay in cache, and
/// that whoever reads a table of some ten thousand rows and whoever counts it work at the same
/// time.
pub const BATCH_ROWS: usize = 4096;

/// Bytes after which a batch ends before it has all its rows.
pub const BATCH_BYTES: usize = 1 << 21;

/// How a table lies in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text with a delimiter (`None`: sniffed when read, a comma when written).
    Csv(Option<u8>),
    /// Parquet.
    Parquet,
    /// Arrow's interprocess format, as a file or a stream.
    Arrow,
}

impl Format {
    /// The format that a file's name tells.
    pub fn of(file: &Path) -> Result<Format> {
        let ending = file
            .extension()
            .and_then(|ending| ending.to_str())
            .unwrap_or_default()
            .to_ascii_lowercase();
        match ending.as_str() {
            "csv" | "tsv" | "txt" => Ok(Format::Csv(None)),
            "parquet" | "pq" => Ok(Format::Parquet),
            "arrow" | "feather" | "ipc" => Ok(Format::Arrow),
            _ => Err(Error::UnknownFormat { file: file.to_path_buf() }),
        }
    }
}

/// Some rows, column by column, with the lines they stood on.
#[derive(Debug)]
pub struct Batch {
    /// The wanted columns, in the file's order.
    pub columns: Vec<Series>,
    /// How many rows they have.
    pub rows: usize,
    /// The line (or row, in columnar formats) of each row, counted from 1.
    pub lines: Lines,
    /// How many rows the file has, as far as can be told by now.
    pub total: Option<u64>,
}

/// The line of each row of a batch.
#[derive(Debug)]
pub enum Lines {
    /// One by one, as quoted line breaks demand.
    Each(Vec<u64>),
    /// Consecutive, from this one.
    From(u64),
}

impl Lines {
    /// The line of a row of the batch.
    pub fn of(&self, row: usize) -> u64 {
        match self {
            Lines::Each(lines) => lines[row],
            Lines::From(first) => first + row as u64,
        }
    }
}

/// How a column is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Not at all.
    Skipped,
    /// As it lies in the file.
    Plain,
    /// To be counted by its [`Texts`]: by number where that is quicker.
    Coded,
}

impl Form {
    /// A form for the columns that are wanted.
    fn of(self, wanted: &[bool]) -> Vec<Form> {
        wanted.iter().map(|wanted| if *wanted { self } else { Form::Skipped }).collect()
    }
}

/// A file, opened: its columns are known, its rows are not yet read.
pub struct Source {
    file: PathBuf,
    format: Format,
    schema: SchemaRef,
    bytes: u64,
    opened: Opened,
    watch: (Watch, &'static str),
    meter: Meter,
}

enum Opened {
    Csv(Box<csv::Rows>),
    Columnar(columnar::Reader),
}

impl Source {
    /// Opens a file and reads its header or schema. Column names are checked to be unique and not
    /// empty.
    pub fn open(file: &Path, format: Format) -> Result<Source> {
        let bytes = std::fs::metadata(file).map_err(Error::io(file, "read"))?.len();
        let meter = Meter::default();
        let (format, schema, opened) = match format {
            Format::Csv(delimiter) => {
                let (rows, delimiter, schema) = csv::open(file, delimiter, &meter)?;
                (Format::Csv(Some(delimiter)), schema, Opened::Csv(Box::new(rows)))
            }
            _ => {
                let reader = columnar::Reader::open(file, format, &meter)?;
                (format, reader.schema(), Opened::Columnar(reader))
            }
        };
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        if names.is_empty() {
            return Err(Error::NoHeader { file: file.to_path_buf() });
        }
        for (position, name) in names.iter().enumerate() {
            if name.is_empty() {
                return Err(Error::NamelessColumn {
                    file: file.to_path_buf(),
                    position: position + 1,
                });
            }
            if let Some(first) = names[..position].iter().position(|earlier| earlier == name) {
                let positions = (first + 1, position + 1);
                return Err(Error::RepeatedColumn {
                    file: file.to_path_buf(),
                    column: name.to_string(),
                    positions,
                });
            }
        }
        let watch = (Watch::default(), "read");
        Ok(Source { file: file.to_path_buf(), format, schema, bytes, opened, watch, meter })
    }

    /// The same source, which tells a watch how far it was read; `phase` is what the reading is
    /// for.
    pub fn watched(self, watch: &Watch, phase: &'static str) -> Source {
        Source { watch: (watch.clone(), phase), ..self }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The format; the delimiter of a CSV file is known now.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The columns; those of a CSV file are all text.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The columns' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.schema.fields().iter().map(|field| field.name().as_str())
    }

    /// The size of the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What counts the bytes that are read of it, now and later.
    pub fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// The memory that the rows would take at once, by a rough guess from the size of the file:
    /// columnar files are compressed, and reading adds dictionaries and numbers of cells.
    pub fn memory_needed(&self) -> u64 {
        match self.format {
            Format::Parquet => self.bytes.saturating_mul(6),
            Format::Csv(_) | Format::Arrow => self.bytes.saturating_mul(2),
        }
    }

    /// The rows, in batches, with the columns that are wanted only, to be counted by their
    /// [`Texts`]. Columns without a text form are refused.
    pub fn texts(self, wanted: &[bool]) -> Result<Batches> {
        texts::check_texts(&self, wanted.iter().copied())?;
        self.read(&Form::Coded.of(wanted))
    }

    /// About how many bytes its values take when nothing is packed.
    pub fn unpacked_bytes(&self) -> u64 {
        match &self.opened {
            Opened::Csv(_) => self.bytes,
            // Arrow's own format may be compressed, and does not say how well.
            Opened::Columnar(reader) => reader.unpacked_bytes().unwrap_or(2 * self.bytes),
        }
    }

    /// The rows, in batches, with the columns that are wanted only.
    pub fn batches(self, wanted: &[bool]) -> Result<Batches> {
        self.read(&Form::Plain.of(wanted))
    }

    /// The rows, in batches, each column in its form.
    pub fn read(self, forms: &[Form]) -> Result<Batches> {
        match self.opened {
            Opened::Csv(rows) => Ok(Batches::parted(csv::Parts::new(*rows, forms, self.bytes))),
            Opened::Columnar(reader) => reader.batches(forms),
        }
    }
}

/// All records of a small delimited text file without a header, such as a hierarchy, with their
/// lines.
pub fn read_records(file: &Path) -> Result<Vec<(u64, Vec<String>)>> {
    csv::read_all(file)
}
