//! Where do rows come from?
//!
//! A [`Source`] is a table that can be scanned as often as needed, in batches of Arrow arrays, and
//! that answers a GROUP BY with [`Counts`]: a [file](TableFile), [record batches](TableBatches) in
//! memory, or an [Arrow stream](TableStream). Its [`Meter`] counts the scans, rows and bytes that really
//! happened. `encode` turns the batches of one scan into a `Table`. Rows
//! that do not fit in memory wait in files of a [`spill`] folder.

mod ahead;
mod bits;
mod coder;
mod columnar;
mod count;
mod csv;
mod encode;
mod encoding;
mod file;
mod format;
mod jsonl;
mod memory;
mod messages;
mod meter;
mod names;
mod pages;
mod plain;
mod recurring;
mod rewriting;
mod sheet;
mod slices;
pub mod spill;
mod stream;
mod survey;
mod texts;
mod thrift;

pub(crate) use ahead::spread;
pub use ahead::{Batches, ahead};
pub use coder::{Coder, Input, KeyCoder, axis_between};
pub use count::Counts;
pub use encode::encode;
pub use file::TableFile;
pub use format::{Compression, FileFormat, Format};
pub use memory::TableBatches;
pub use meter::Meter;
pub(crate) use meter::{Counted, Metered};
pub use plain::{PlainReader, PlainSource};
pub use rewriting::Rewriting;
pub use stream::TableStream;
pub use survey::{Seen, Survey, Wanted};
pub(crate) use texts::is_same;
pub use texts::{Codes, Series, Texts};

use crate::error::{Error, Place, Result};
use crate::watch::Watch;
use arrow_array::RecordBatch;
use arrow_cast::can_cast_types;
use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef};
use std::path::{Path, PathBuf};

/// Rows per batch: enough that the work per batch does not matter, few enough to stay in cache and
/// to let the reader and the consumer of a table of some ten thousand rows work at the same time.
pub const BATCH_ROWS: usize = 4096;

/// Bytes after which a batch ends before it has all its rows.
pub const BATCH_BYTES: usize = 1 << 21;

/// Record batches as a [`Source`] yields them. After an error there are none.
pub type RecordBatches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// A table that can be scanned, more than once.
///
/// A source needs a name, a schema, a meter and `scan`. The other methods have defaults; override
/// [`count`](Source::count) where something closer to the data answers it faster, as a database
/// does with one GROUP BY.
///
/// Two scans must yield the same rows in the same order. A job that notices a difference fails with
/// [`Error::ChangedMeanwhile`].
pub trait Source: Send + Sync {
    /// What messages call it: a path, or the name of a table.
    fn name(&self) -> String;

    /// The columns, with unique names.
    fn schema(&self) -> SchemaRef;

    /// Counts what happens. An implementation calls [`Meter::add_scan`] in `scan` and
    /// [`Meter::add_read`] as it reads; rows are counted by whoever takes them.
    fn meter(&self) -> &Meter;

    /// Begins a scan of these columns, by position and in this order.
    fn scan(&self, columns: &[usize]) -> Result<RecordBatches>;

    /// The distinct tuples of these columns, with the number of rows that have each. Nulls and
    /// empty texts are the same. A key that is no column, or is asked for twice, is an error.
    fn count(&self, keys: &[usize], watch: &Watch) -> Result<Counts> {
        count::check_keys(&self.schema(), keys, &self.name())?;
        count::by_scan(self.read(&forms_of(self.schema().fields().len(), keys))?, self, keys, watch)
    }

    /// The number of rows, if it is known without a scan.
    fn rows(&self) -> Option<u64> {
        None
    }

    /// About how many bytes all values take when nothing is packed, if known.
    fn unpacked_bytes(&self) -> Option<u64> {
        None
    }

    /// About how much memory all rows take once they are read, if known.
    fn memory_needed(&self) -> Option<u64> {
        self.unpacked_bytes().map(|bytes| bytes.saturating_mul(2))
    }

    /// The files behind it, which no output may overwrite.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Whether every value is text, and a missing one the empty text, as in CSV.
    #[doc(hidden)]
    fn is_all_text(&self) -> bool {
        false
    }

    /// Begins a scan in which each column comes in the form that suits its use. Readers of files
    /// override it: they hand over repeated texts by number.
    #[doc(hidden)]
    fn read(&self, forms: &[Form]) -> Result<Batches> {
        let columns: Vec<usize> =
            (0..forms.len()).filter(|column| forms[*column] != Form::Skipped).collect();
        let batches = Projected::new(self.scan(&columns)?, &self.schema(), &columns, self.name());
        Ok(Batches::of_record_batches(Box::new(batches?), self.rows(), self.meter()))
    }

    /// A job asks before it asks for the size: a stream whose size is not known yet reads itself to
    /// its end, and keeps at most `memory` bytes of it in memory, the rest in `folder`.
    #[doc(hidden)]
    fn settle(&self, _memory: u64, _folder: &Path, _watch: &Watch) -> Result<()> {
        Ok(())
    }
}

/// Batches that have the columns which were asked for. A source that hands over others is an error:
/// columns are known by their position, and an identifier could be released under another name.
struct Projected {
    batches: RecordBatches,
    wanted: SchemaRef,
    name: String,
}

impl Projected {
    fn new(
        batches: RecordBatches,
        schema: &SchemaRef,
        columns: &[usize],
        name: String,
    ) -> Result<Projected> {
        let failed = |source| Error::Columnar { file: name.clone().into(), source };
        let wanted = schema.project(columns).map_err(failed)?.into();
        Ok(Projected { batches, wanted, name })
    }

    fn check(&self, batch: &RecordBatch) -> Result<()> {
        let (found, wanted) = (batch.schema_ref().fields(), self.wanted.fields());
        let is_same = |(found, wanted): (&FieldRef, &FieldRef)| {
            found.name() == wanted.name() && found.data_type() == wanted.data_type()
        };
        if found.len() == wanted.len() && found.iter().zip(wanted).all(is_same) {
            return Ok(());
        }
        let names = |fields: &Fields| {
            let field = |field: &FieldRef| format!("{} {}", field.name(), field.data_type());
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        };
        let (found, wanted) = (names(found), names(wanted));
        let problem = format!("a scan of the columns [{wanted}] returned [{found}]");
        Err(Error::Mismatch { file: self.name.clone().into(), problem })
    }
}

impl Iterator for Projected {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let batch = self.batches.next()?;
        Some(batch.and_then(|batch| self.check(&batch).map(|()| batch)))
    }
}

/// A reference to a source, and a boxed one, are sources too.
macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<S: Source + ?Sized> Source for $pointer {
            fn name(&self) -> String {
                (**self).name()
            }

            fn schema(&self) -> SchemaRef {
                (**self).schema()
            }

            fn meter(&self) -> &Meter {
                (**self).meter()
            }

            fn scan(&self, columns: &[usize]) -> Result<RecordBatches> {
                (**self).scan(columns)
            }

            fn count(&self, keys: &[usize], watch: &Watch) -> Result<Counts> {
                (**self).count(keys, watch)
            }

            fn rows(&self) -> Option<u64> {
                (**self).rows()
            }

            fn unpacked_bytes(&self) -> Option<u64> {
                (**self).unpacked_bytes()
            }

            fn memory_needed(&self) -> Option<u64> {
                (**self).memory_needed()
            }

            fn files(&self) -> Vec<PathBuf> {
                (**self).files()
            }

            fn is_all_text(&self) -> bool {
                (**self).is_all_text()
            }

            fn read(&self, forms: &[Form]) -> Result<Batches> {
                (**self).read(forms)
            }

            fn settle(&self, memory: u64, folder: &Path, watch: &Watch) -> Result<()> {
                (**self).settle(memory, folder, watch)
            }
        }
    )*};
}

forward!(&S, Box<S>, std::sync::Arc<S>);

/// What rooms inside the crate ask of any source.
impl dyn Source + '_ {
    /// The name as errors carry it.
    pub(crate) fn file(&self) -> PathBuf {
        self.name().into()
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> Vec<String> {
        self.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Begins a scan of the wanted columns, as they are.
    pub(crate) fn batches(&self, wanted: &[bool]) -> Result<Batches> {
        self.read(&Form::Plain.of(wanted))
    }

    /// Begins a scan of the wanted columns, to be counted by their [`Texts`]. Columns without a
    /// text form are refused.
    pub(crate) fn texts(&self, wanted: &[bool]) -> Result<Batches> {
        self.check_texts(wanted.iter().copied())?;
        self.read(&Form::Coded.of(wanted))
    }

    /// Refuses columns that are to be counted and have no text form.
    pub(crate) fn check_texts(&self, counted: impl Iterator<Item = bool>) -> Result<()> {
        for (field, counted) in self.schema().fields().iter().zip(counted) {
            if counted && !has_text(field.data_type()) {
                return Err(unsupported(&self.file(), field));
            }
        }
        Ok(())
    }
}

/// Whether values of this type have a text, so that they can be counted. Lists, structs, maps and
/// binary values have none.
pub(crate) fn has_text(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, value) => has_text(value),
        DataType::RunEndEncoded(_, value) => has_text(value.data_type()),
        kind => !is_binary(kind) && !kind.is_nested() && can_be_spelled(kind),
    }
}

/// Whether a column of this type can be written as text. Some lists and binary data can.
pub(crate) fn can_be_spelled(kind: &DataType) -> bool {
    can_cast_types(kind, &DataType::Utf8)
}

fn is_binary(kind: &DataType) -> bool {
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary};
    matches!(kind, Binary | LargeBinary | BinaryView | FixedSizeBinary(_))
}

/// Refuses a column for its type.
pub(crate) fn unsupported(file: &Path, field: &Field) -> Error {
    let place = Place::file(file).column(field.name().clone());
    let data_type = match field.data_type() {
        kind if is_binary(kind) => "binary data".into(),
        kind if kind.is_nested() => "nested data".into(),
        kind => kind.to_string(),
    };
    Error::UnsupportedColumn { place, data_type }
}

/// Refuses a table without columns, and names that are empty or repeated.
pub(crate) fn check_names(schema: &SchemaRef, source: &Path) -> Result<()> {
    let file = || source.to_path_buf();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    if names.is_empty() {
        return Err(Error::NoHeader { file: file() });
    }
    for (position, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(Error::NamelessColumn { file: file(), position: position + 1 });
        }
        if let Some(first) = names[..position].iter().position(|earlier| earlier == name) {
            let (column, positions) = (name.to_string(), (first + 1, position + 1));
            return Err(Error::RepeatedColumn { file: file(), column, positions });
        }
    }
    Ok(())
}

/// The forms of a scan that counts some of `columns` columns.
fn forms_of(columns: usize, keys: &[usize]) -> Vec<Form> {
    let mut forms = vec![Form::Skipped; columns];
    for key in keys {
        if let Some(form) = forms.get_mut(*key) {
            *form = Form::Coded;
        }
    }
    forms
}

/// Some rows, column by column, with their lines.
#[derive(Debug)]
pub struct Batch {
    /// The wanted columns, in the order of the table.
    pub columns: Vec<Series>,
    /// The number of rows.
    pub rows: usize,
    /// The line (or row, in columnar formats) of each row, counted from 1.
    pub lines: Lines,
    /// The number of rows of the table, as far as it can be told by now.
    pub total: Option<u64>,
}

/// The line of each row of a batch.
#[derive(Debug)]
pub enum Lines {
    /// One by one, because of quoted line breaks.
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
    /// As it is in the table.
    Plain,
    /// To be counted by its [`Texts`]: by number where that is quicker.
    Coded,
}

impl Form {
    /// This form for the wanted columns.
    fn of(self, wanted: &[bool]) -> Vec<Form> {
        wanted.iter().map(|wanted| if *wanted { self } else { Form::Skipped }).collect()
    }
}

/// All records of a small delimited text file without a header, such as a hierarchy, with their
/// lines.
pub fn read_records(file: &Path) -> Result<Vec<(u64, Vec<String>)>> {
    csv::read_all(file)
}
