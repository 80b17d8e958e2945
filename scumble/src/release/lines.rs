//! Rows as lines of delimited text.

use super::sink::failure;
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, SchemaRef};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes that are gathered before they are written, and what a line may take behind them before there must be more room.
const BUFFER: usize = 1 << 16;
const LINE: usize = 1 << 12;

/// A file of lines.
pub(super) struct Lines {
    file: File,
    target: PathBuf,
    delimiter: u8,
    bytes: Vec<u8>,
    /// For each column that came by number, its fields.
    rendered: Vec<Option<Rendered>>,
}

impl Lines {
    /// Begins with the names of the columns.
    pub(super) fn new(file: File, target: &Path, delimiter: u8, schema: &SchemaRef) -> Lines {
        let mut bytes = Vec::with_capacity(BUFFER + LINE);
        for (position, field) in schema.fields().iter().enumerate() {
            push_field(&mut bytes, field.name(), position, delimiter);
        }
        bytes.push(b'\n');
        let rendered = schema.fields().iter().map(|_| None).collect();
        Lines { file, target: target.to_path_buf(), delimiter, bytes, rendered }
    }

    /// Writes more rows.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let last = batch.num_columns().saturating_sub(1);
        let end = |position: usize| if position == last { b'\n' } else { self.delimiter };
        let mut columns = Vec::with_capacity(batch.num_columns());
        for ((position, array), rendered) in batch.columns().iter().enumerate().zip(&mut self.rendered) {
            let coded = array.as_dictionary_opt::<Int32Type>().filter(|coded| coded.keys().null_count() == 0);
            let coded = coded.and_then(|coded| Some((coded.keys(), coded.values().as_string_opt::<i32>()?)));
            columns.push(match coded {
                Some((keys, texts)) => {
                    if !rendered.as_ref().is_some_and(|rendered| rendered.is_of(texts)) {
                        let ending = Ending { delimiter: self.delimiter, byte: end(position), is_only: last == 0 };
                        *rendered = Some(Rendered::new(texts, ending));
                    }
                    Column::Coded(keys, rendered.as_ref().ok_or(Error::Defect)?)
                }
                None => Column::Plain(text(array, &self.target)?, end(position)),
            });
        }
        for row in 0..batch.num_rows() {
            for column in &columns {
                match column {
                    Column::Coded(keys, rendered) => rendered.push(&mut self.bytes, keys.value(row)),
                    Column::Plain(texts, end) => {
                        let text = if texts.is_null(row) { "" } else { texts.value(row) };
                        push_alone(&mut self.bytes, text, self.delimiter, last == 0);
                        self.bytes.push(*end);
                    }
                }
            }
            if self.bytes.len() >= BUFFER {
                self.file.write_all(&self.bytes).map_err(Error::io(&self.target, "write"))?;
                self.bytes.clear();
            }
        }
        Ok(())
    }

    /// Writes what was gathered.
    pub(super) fn finish(mut self) -> Result<()> {
        self.file.write_all(&self.bytes).map_err(Error::io(&self.target, "write"))
    }
}

/// A column of a batch.
enum Column<'a> {
    /// By number, every field having been rendered.
    Coded(&'a Int32Array, &'a Rendered),
    /// Text by text, with what follows it.
    Plain(StringArray, u8),
}

/// The texts of a column. A value without one is an error, not an empty field.
fn text(array: &ArrayRef, target: &Path) -> Result<StringArray> {
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    match array.data_type() {
        DataType::Utf8 => Ok(array.as_string().clone()),
        _ => cast_with_options(array, &DataType::Utf8, &strict)
            .map(|array| array.as_string().clone())
            .map_err(|source| failure(target, source)),
    }
}

/// What follows the fields of a column.
#[derive(Clone, Copy)]
struct Ending {
    delimiter: u8,
    byte: u8,
    is_only: bool,
}

/// The fields of a column that comes by number, with what follows them: each is made once and copied as often as it occurs.
struct Rendered {
    /// What they are made of.
    texts: StringArray,
    /// Short ones, whose length is the last byte, or a mark that it is a long one.
    short: Vec<[u8; SLOT]>,
    long: Vec<Vec<u8>>,
}

/// Bytes of a short field and its length, which are copied at once.
const SLOT: usize = 32;

/// In place of a length: the first bytes are the number of a long field.
const LONG: u8 = u8::MAX;

impl Rendered {
    fn new(texts: &StringArray, ending: Ending) -> Rendered {
        let mut rendered = Rendered { texts: texts.clone(), short: Vec::with_capacity(texts.len()), long: Vec::new() };
        let mut field = Vec::new();
        for text in texts {
            field.clear();
            push_alone(&mut field, text.unwrap_or_default(), ending.delimiter, ending.is_only);
            field.push(ending.byte);
            let mut slot = [0; SLOT];
            if field.len() < SLOT {
                slot[..field.len()].copy_from_slice(&field);
                slot[SLOT - 1] = field.len() as u8;
            } else {
                slot[..4].copy_from_slice(&(rendered.long.len() as u32).to_le_bytes());
                slot[SLOT - 1] = LONG;
                rendered.long.push(field.clone());
            }
            rendered.short.push(slot);
        }
        rendered
    }

    /// Whether they are made of these texts: the same place in memory, which is held and cannot have been taken by others.
    fn is_of(&self, texts: &StringArray) -> bool {
        self.texts.len() == texts.len()
            && self.texts.value_offsets().as_ptr() == texts.value_offsets().as_ptr()
            && self.texts.value_data().as_ptr() == texts.value_data().as_ptr()
    }

    #[inline]
    fn push(&self, bytes: &mut Vec<u8>, key: i32) {
        let slot = &self.short[key as usize];
        match slot[SLOT - 1] {
            LONG => {
                let number = u32::from_le_bytes([slot[0], slot[1], slot[2], slot[3]]);
                bytes.extend_from_slice(&self.long[number as usize]);
            }
            length => {
                let start = bytes.len();
                bytes.extend_from_slice(slot);
                bytes.truncate(start + usize::from(length));
            }
        }
    }
}

/// A field that may be the only one of its line: if empty that would be blank, and readers skip blank lines.
fn push_alone(line: &mut Vec<u8>, text: &str, delimiter: u8, is_only: bool) {
    match is_only && text.is_empty() {
        true => line.extend_from_slice(b"\"\""),
        false => push_field(line, text, 0, delimiter),
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
