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

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 16;

/// Bytes of a line, mostly.
const LINE: usize = 1 << 12;

/// A file of lines.
pub(super) struct Lines {
    delimiter: u8,
    /// For each column that came by number, its fields.
    rendered: Vec<Option<Rendered>>,
    gathered: Gathered,
}

/// Bytes on their way to a file.
struct Gathered {
    file: File,
    target: PathBuf,
    /// What was gathered is in the first bytes of a room.
    bytes: Vec<u8>,
    filled: usize,
}

impl Lines {
    /// Begins with the names of the columns.
    pub(super) fn new(file: File, target: &Path, delimiter: u8, schema: &SchemaRef) -> Lines {
        let mut bytes = Vec::new();
        for (position, field) in schema.fields().iter().enumerate() {
            push_field(&mut bytes, field.name(), position, delimiter);
        }
        bytes.push(b'\n');
        let rendered = schema.fields().iter().map(|_| None).collect();
        let gathered = Gathered { file, target: target.to_path_buf(), filled: bytes.len(), bytes };
        Lines { delimiter, rendered, gathered }
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
                None => Column::Plain(text(array, &self.gathered.target)?, end(position)),
            });
        }
        let rows = batch.num_rows();
        let coded: Option<Vec<_>> = columns.iter().map(Column::coded).collect();
        match coded {
            Some(coded) => self.gathered.write_coded(rows, &coded),
            None => self.gathered.write_any(rows, &columns, self.delimiter, last == 0),
        }
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> Result<()> {
        self.gathered.flush()
    }
}

impl Gathered {
    /// Writes rows all of whose columns come by number.
    fn write_coded(&mut self, rows: usize, columns: &[(&[i32], &Rendered)]) -> Result<()> {
        let longest: usize = columns.iter().map(|(_, rendered)| rendered.longest.max(SLOT)).sum();
        let is_short = columns.iter().all(|(_, rendered)| rendered.long.is_empty());
        if self.filled >= BUFFER {
            self.flush()?;
        }
        self.bytes.resize(self.bytes.len().max(BUFFER + longest), 0);
        for row in 0..rows {
            let mut at = self.filled;
            match is_short {
                true => {
                    columns.iter().for_each(|(keys, rendered)| at += rendered.put(&mut self.bytes[at..], keys[row]))
                }
                false => {
                    for (keys, rendered) in columns {
                        let field = rendered.field(keys[row]);
                        self.bytes[at..][..field.len()].copy_from_slice(field);
                        at += field.len();
                    }
                }
            }
            self.filled = at;
            if at >= BUFFER {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes rows some of whose columns come text by text.
    fn write_any(&mut self, rows: usize, columns: &[Column<'_>], delimiter: u8, is_only: bool) -> Result<()> {
        let mut line = Vec::with_capacity(LINE);
        for row in 0..rows {
            line.clear();
            for column in columns {
                match column {
                    Column::Coded(keys, rendered) => line.extend_from_slice(rendered.field(keys.value(row))),
                    Column::Plain(texts, end) => {
                        let text = if texts.is_null(row) { "" } else { texts.value(row) };
                        push_alone(&mut line, text, delimiter, is_only);
                        line.push(*end);
                    }
                }
            }
            self.put(&line)?;
        }
        Ok(())
    }

    /// Gathers some bytes.
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.resize(self.bytes.len().max(self.filled + bytes.len()), 0);
        self.bytes[self.filled..][..bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
        if self.filled >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Writes what was gathered.
    fn flush(&mut self) -> Result<()> {
        let filled = std::mem::take(&mut self.filled);
        self.file.write_all(&self.bytes[..filled]).map_err(Error::io(&self.target, "write"))
    }
}

/// A column of a batch.
enum Column<'a> {
    /// By number, every field having been rendered.
    Coded(&'a Int32Array, &'a Rendered),
    /// Text by text, with what follows it.
    Plain(StringArray, u8),
}

impl<'a> Column<'a> {
    fn coded(&self) -> Option<(&'a [i32], &'a Rendered)> {
        match self {
            Column::Coded(keys, rendered) => Some((keys.values(), rendered)),
            Column::Plain(..) => None,
        }
    }
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
    /// Bytes of the longest.
    longest: usize,
}

/// Bytes of a short field and its length, which are copied at once.
const SLOT: usize = 32;

/// In place of a length: the first bytes are the number of a long field.
const LONG: u8 = u8::MAX;

impl Rendered {
    fn new(texts: &StringArray, ending: Ending) -> Rendered {
        let (short, long) = (Vec::with_capacity(texts.len()), Vec::new());
        let mut rendered = Rendered { texts: texts.clone(), short, long, longest: 0 };
        let mut field = Vec::new();
        for text in texts {
            field.clear();
            push_alone(&mut field, text.unwrap_or_default(), ending.delimiter, ending.is_only);
            field.push(ending.byte);
            rendered.longest = rendered.longest.max(field.len());
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

    /// The field of a number.
    fn field(&self, key: i32) -> &[u8] {
        let slot = &self.short[key as usize];
        match slot[SLOT - 1] {
            LONG => &self.long[u32::from_le_bytes([slot[0], slot[1], slot[2], slot[3]]) as usize],
            length => &slot[..usize::from(length)],
        }
    }

    /// Puts the field of a number, all of them being short, at the front of some bytes, which are no fewer than a slot has; returns
    /// its length.
    #[inline]
    fn put(&self, bytes: &mut [u8], key: i32) -> usize {
        let slot = &self.short[key as usize];
        bytes[..SLOT].copy_from_slice(slot);
        usize::from(slot[SLOT - 1])
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use arrow_array::DictionaryArray;
    use arrow_schema::{Field, Schema};
    use std::sync::Arc;

    /// Columns as lines, some of them by number.
    fn lines(columns: &[Vec<&str>], by_number: impl Fn(usize) -> bool) -> Vec<u8> {
        let texts = |column: &Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(column.clone())) };
        let coded = |column: &Vec<&str>| -> ArrayRef {
            Arc::new(column.iter().copied().collect::<DictionaryArray<Int32Type>>())
        };
        let columns = columns.iter().enumerate();
        let arrays: Vec<ArrayRef> =
            columns.map(|(at, column)| if by_number(at) { coded(column) } else { texts(column) }).collect();
        let name = |at: usize| if at == 0 { "n".repeat(BUFFER + 1) } else { format!("column {at}") };
        let fields = arrays.iter().enumerate().map(|(at, array)| Field::new(name(at), array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let batch = RecordBatch::try_new(schema.clone(), arrays).unwrap();
        let path = std::env::temp_dir().join(format!("scumble-lines-{}", std::process::id()));
        let mut lines = Lines::new(File::create(&path).unwrap(), &path, b';', &schema);
        lines.write(&batch).unwrap();
        lines.write(&batch).unwrap();
        lines.finish().unwrap();
        let written = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        written
    }

    #[test]
    fn fields_by_number_are_the_fields_of_their_texts() {
        let long = "a field that does not fit into a slot, by far";
        let values = ["", "a", "b;c", "a \"word\"", "two\nlines", "thirty bytes, neither more nor", long];
        let mut random = Random::new(9);
        for (width, rows) in [(1, 100), (3, 4000), (9, 2000)] {
            let columns: Vec<Vec<&str>> = (0..width)
                .map(|_| (0..rows).map(|_| values[random.below(values.len() as u64) as usize]).collect())
                .collect();
            let plain = lines(&columns, |_| false);
            assert!(lines(&columns, |_| true) == plain);
            assert!(lines(&columns, |at| at % 2 == 0) == plain);
            let text = String::from_utf8(plain).unwrap();
            let naive = |row: usize| {
                let field = |column: &Vec<&str>| match column[row] {
                    "" if width == 1 => "\"\"".to_string(),
                    text if text.contains([';', '"', '\n']) => format!("\"{}\"", text.replace('"', "\"\"")),
                    text => text.to_string(),
                };
                columns.iter().map(field).collect::<Vec<String>>().join(";") + "\n"
            };
            let naive: String = (0..rows).map(naive).collect();
            assert!(text.split_once('\n').unwrap().1 == naive.repeat(2));
        }
    }
}
