//! A block of records as columns. Each thread that parses has a [`Parser`] of its own.
//!
//! Columns that will be counted are handed over by number, among texts that a parser gathers for as
//! long as they recur: most values have been met before, and are then neither copied nor checked,
//! now or by whoever counts them.

use super::super::{Batch, Form, Series};
use super::blocks::Blocks;
use super::cut::{Cuts, said};
use crate::error::{Error, Place, Result};
use crate::table::Dictionary;
use arrow_array::StringArray;
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that the texts of one parser may take, all columns together.
const GATHERED: usize = 1 << 23;

/// Values that a column's texts should have on average while they are gathered; otherwise numbers
/// are not worth their while.
const RECURRING: u64 = 4;

/// What parses blocks of one file.
pub(super) struct Parser {
    path: PathBuf,
    /// The name of each column of the file.
    names: Arc<[String]>,
    columns: Vec<ParsedColumn>,
    scratch: Vec<u8>,
}

/// What becomes of a column.
enum ParsedColumn {
    Skipped,
    Plain,
    Coded(Box<Gathered>),
}

/// The texts of a column that were met.
#[derive(Default)]
struct Gathered {
    dictionary: Dictionary,
    /// The same, as it was last handed over.
    texts: Option<StringArray>,
    rows: u64,
    most_bytes: usize,
}

impl Parser {
    pub(super) fn new(blocks: &Blocks, names: Arc<[String]>, forms: &[Form]) -> Parser {
        let coded = forms.iter().filter(|form| **form == Form::Coded).count();
        let most_bytes = GATHERED / coded.max(1);
        let column = |form: &Form| match form {
            Form::Skipped => ParsedColumn::Skipped,
            Form::Plain => ParsedColumn::Plain,
            Form::Coded => {
                ParsedColumn::Coded(Box::new(Gathered { most_bytes, ..Gathered::default() }))
            }
        };
        let columns = forms.iter().map(column).collect();
        Parser { path: blocks.path().to_path_buf(), names, columns, scratch: Vec::new() }
    }

    /// The columns that are wanted; how many rows the file has is not known here.
    pub(super) fn parse(&mut self, bytes: &[u8], cuts: &mut Cuts) -> Result<Batch> {
        let Parser { path, names, columns, scratch } = self;
        let width = columns.len();
        if let Some(record) = cuts.ragged(width) {
            let place = Place::file(&*path).line(cuts.line(record));
            return Err(Error::RaggedRow { place, expected: width, found: cuts.fields(record) });
        }
        let is_coded = columns.iter().any(|column| matches!(column, ParsedColumn::Coded(_)));
        let repeats = if is_coded { cuts.repeats(bytes, width) } else { None };
        let mut values: Vec<Series> = Vec::with_capacity(width);
        // The first field that is not text: columns are parsed one after the other.
        let mut not_text: Option<(usize, usize, Vec<u8>)> = None;
        for (at, column) in columns.iter_mut().enumerate() {
            let fields = Fields { bytes, cuts, width, column: at, repeats: repeats.as_deref() };
            let read = match column {
                ParsedColumn::Skipped => continue,
                ParsedColumn::Plain => plain(&fields, scratch),
                ParsedColumn::Coded(gathered) => gathered.parse(&fields, scratch),
            };
            match read {
                Ok(read) => values.push(read),
                Err(Wrong::Text(record, value)) => {
                    let found = Some((record, at, value));
                    not_text = not_text.into_iter().chain(found).min();
                }
                Err(Wrong::Array(source)) => {
                    return Err(Error::Columnar { file: path.clone(), source });
                }
            }
            column.renew();
        }
        if let Some((record, at, value)) = not_text {
            let place = Place::file(&*path).line(cuts.line(record)).column(names[at].clone());
            let value = String::from_utf8_lossy(&value).into_owned();
            return Err(Error::InvalidUtf8 { place, value });
        }
        let rows = cuts.records();
        Ok(Batch { columns: values, rows, lines: cuts.take_lines(), total: None })
    }
}

impl ParsedColumn {
    /// Begins anew with texts that have become too many; where they hardly recur, without them.
    fn renew(&mut self) {
        let ParsedColumn::Coded(gathered) = self else { return };
        if gathered.dictionary.bytes() <= gathered.most_bytes {
            return;
        }
        *self = if gathered.rows >= RECURRING * gathered.dictionary.len() as u64 {
            let most_bytes = gathered.most_bytes;
            ParsedColumn::Coded(Box::new(Gathered { most_bytes, ..Gathered::default() }))
        } else {
            ParsedColumn::Plain
        };
    }
}

/// What may be wrong with a column.
enum Wrong {
    /// The field of a record is not text.
    Text(usize, Vec<u8>),
    Array(arrow_schema::ArrowError),
}

/// The fields of one column.
struct Fields<'a> {
    bytes: &'a [u8],
    cuts: &'a Cuts,
    width: usize,
    column: usize,
    /// For each record, how many of its first fields are those of the record before it.
    repeats: Option<&'a [u32]>,
}

impl Fields<'_> {
    /// Adds the number that is made of each field: of what it says, a place among bytes.
    #[inline]
    fn each(
        &self,
        scratch: &mut Vec<u8>,
        numbers: &mut Vec<i32>,
        mut number: impl FnMut(&[u8], Range<usize>) -> i32,
    ) {
        let places = self.cuts.column(self.width, self.column);
        if self.cuts.quoted {
            numbers.extend(places.map(|place| {
                let said = said(&self.bytes[place], scratch);
                number(said, 0..said.len())
            }))
        } else {
            numbers.extend(places.map(|place| number(self.bytes, place)))
        }
    }

    /// The same where records repeat fields of those before them, which are passed over.
    fn each_run(
        &self,
        repeats: &[u32],
        scratch: &mut Vec<u8>,
        numbers: &mut Vec<i32>,
        mut number: impl FnMut(&[u8], Range<usize>) -> i32,
    ) {
        let column = self.column as u32;
        *numbers = vec![0; repeats.len()];
        let mut start = 0;
        while start < repeats.len() {
            let alike = repeats[start + 1..].iter().position(|repeated| *repeated <= column);
            let end = alike.map_or(repeats.len(), |alike| start + 1 + alike);
            let said = said(&self.bytes[self.cuts.field(self.width, self.column, start)], scratch);
            numbers[start..end].fill(number(said, 0..said.len()));
            start = end;
        }
    }

    /// The first field that is not text.
    fn wrong(&self, scratch: &mut Vec<u8>) -> Wrong {
        let mut places = self.cuts.column(self.width, self.column).enumerate();
        let is_text =
            |field: &[u8], scratch: &mut Vec<u8>| std::str::from_utf8(said(field, scratch)).is_ok();
        let wrong = places.find(|(_, place)| !is_text(&self.bytes[place.clone()], scratch));
        let (record, place) = wrong.unwrap_or_default();
        Wrong::Text(record, said(&self.bytes[place], scratch).to_vec())
    }
}

/// A column as texts one behind the other.
fn plain(fields: &Fields<'_>, scratch: &mut Vec<u8>) -> Result<Series, Wrong> {
    let rows = fields.cuts.records();
    let (mut bytes, mut offsets) = (Vec::new(), Vec::with_capacity(rows + 1));
    offsets.push(0);
    fields.each(scratch, &mut offsets, |among, place| {
        bytes.extend_from_slice(&among[place]);
        // A block is shorter than that.
        bytes.len() as i32
    });
    // A field may also end in the middle of a character that the next one completes.
    let is_boundary = |at: i32| bytes.get(at as usize).is_none_or(|byte| byte & 0xC0 != 0x80);
    if std::str::from_utf8(&bytes).is_err() || !offsets.iter().all(|end| is_boundary(*end)) {
        return Err(fields.wrong(scratch));
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let array = StringArray::try_new(offsets, Buffer::from_vec(bytes), None);
    Ok(Series::Array(Arc::new(array.map_err(Wrong::Array)?)))
}

impl Gathered {
    /// A column by number among the texts that were met.
    fn parse(&mut self, fields: &Fields<'_>, scratch: &mut Vec<u8>) -> Result<Series, Wrong> {
        let known = self.dictionary.len();
        let mut keys = Vec::new();
        // There are never so many texts that one has a number below 0; what is no text has.
        let number =
            |among: &[u8], place: Range<usize>| match self.dictionary.encode_at(among, place, || 0)
            {
                Some(code) => code as i32,
                None => -1,
            };
        match fields.repeats {
            None => fields.each(scratch, &mut keys, number),
            Some(repeats) => fields.each_run(repeats, scratch, &mut keys, number),
        }
        if keys.iter().fold(0, |all, key| all | key) < 0 {
            return Err(fields.wrong(scratch));
        }
        self.rows += keys.len() as u64;
        let texts = match &self.texts {
            Some(texts) if known == self.dictionary.len() => texts.clone(),
            _ => StringArray::from_iter_values(self.dictionary.values()),
        };
        self.texts = Some(texts.clone());
        Ok(Series::Numbered(keys.into(), texts))
    }
}
