//! Rows as JSON lines.

use super::super::line_buffer::{Fields, LineBuffer};
use super::failure;
use crate::error::{Error, Result};
use crate::source::{Series, is_same};
use arrow_array::cast::AsArray;
use arrow_array::{Array, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, SchemaRef};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 16;

/// A file of objects, one on each line.
pub(super) struct ObjectWriter<W> {
    file: W,
    target: PathBuf,
    columns: Vec<Member>,
    page: LineBuffer,
}

/// A column of the file.
struct Member {
    /// What stands before its values.
    before: Vec<u8>,
    style: Style,
    /// Its values with what stands before them, if they came by number, and the texts that they
    /// are made of.
    rendered: Option<(StringArray, Fields<32>)>,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    String,
    /// A number or a boolean.
    Literal,
    /// A number if its text is one.
    Number,
}

/// A column of a batch.
enum Values<'a> {
    Coded(&'a [i32], &'a Fields<32>),
    Texts(StringArray),
}

impl<W: Write> ObjectWriter<W> {
    /// Begins a file; texts of the columns in `numbers` are numbers as they are spelled.
    pub(super) fn new(
        file: W,
        target: &Path,
        schema: &SchemaRef,
        numbers: &[String],
    ) -> ObjectWriter<W> {
        let member = |(position, field): (usize, &std::sync::Arc<arrow_schema::Field>)| {
            let mut before = vec![if position == 0 { b'{' } else { b',' }];
            push_string(&mut before, field.name());
            before.push(b':');
            let style = match field.data_type() {
                kind if kind.is_numeric() || *kind == DataType::Boolean => Style::Literal,
                _ if numbers.contains(field.name()) => Style::Number,
                _ => Style::String,
            };
            Member { before, style, rendered: None }
        };
        let columns = schema.fields().iter().enumerate().map(member).collect();
        ObjectWriter { file, target: target.to_path_buf(), columns, page: LineBuffer::default() }
    }

    /// Writes more rows.
    pub(super) fn write(&mut self, series: &[Series]) -> Result<()> {
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let mut columns = Vec::with_capacity(series.len());
        for (series, member) in series.iter().zip(&mut self.columns) {
            let Member { before, style, rendered } = member;
            let values = match series {
                Series::Numbered(keys, texts) => {
                    let is_known = |(known, _): &(StringArray, Fields<32>)| {
                        known.len() == texts.len() && is_same(known, texts)
                    };
                    if !rendered.as_ref().is_some_and(is_known) {
                        let fields = Fields::new(texts.iter(), |field, text| {
                            field.extend_from_slice(before);
                            push_value(field, text, *style);
                        });
                        *rendered = Some((texts.clone(), fields));
                    }
                    let (_, fields) = rendered.as_ref().ok_or(Error::Defect)?;
                    Values::Coded(keys, fields)
                }
                series => {
                    let array = series.to_array();
                    let texts = array
                        .and_then(|array| cast_with_options(&array, &DataType::Utf8, &options));
                    let texts = texts.map_err(|source| failure(&self.target, source))?;
                    Values::Texts(texts.as_string().clone())
                }
            };
            columns.push((&before[..], *style, values));
        }
        let mut value = Vec::new();
        for row in 0..series.first().map_or(0, Series::len) {
            for (before, style, values) in &columns {
                match values {
                    Values::Coded(keys, fields) => fields.push(&mut self.page, keys[row] as u32),
                    Values::Texts(texts) => {
                        value.clear();
                        value.extend_from_slice(before);
                        let text = texts.is_valid(row).then(|| texts.value(row));
                        push_value(&mut value, text, *style);
                        self.page.push(&value);
                    }
                }
            }
            self.page.push(b"}\n");
            if self.page.bytes().len() >= BUFFER {
                self.file.write_all(self.page.bytes()).map_err(Error::io(&self.target, "write"))?;
                self.page.clear();
            }
        }
        Ok(())
    }

    /// Writes what is left and hands back the file.
    pub(super) fn finish(mut self) -> Result<W> {
        let written = self.file.write_all(self.page.bytes());
        written.map_err(Error::io(&self.target, "write"))?;
        Ok(self.file)
    }
}

/// A value. JSON has no number that is infinite or none; they are null.
fn push_value(line: &mut Vec<u8>, text: Option<&str>, style: Style) {
    match (text, style) {
        (None, _) | (Some("NaN" | "inf" | "-inf"), Style::Literal) => {
            line.extend_from_slice(b"null")
        }
        (Some(text), Style::Literal) => line.extend_from_slice(text.as_bytes()),
        (Some(text), Style::Number) if is_number(text) => line.extend_from_slice(text.as_bytes()),
        (Some(text), _) => push_string(line, text),
    }
}

/// Whether a text is a number as JSON spells it.
fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && serde_json::from_str::<&serde_json::value::RawValue>(text)
            .is_ok_and(|raw| raw.get() == text)
}

fn push_string(line: &mut Vec<u8>, text: &str) {
    line.push(b'"');
    for character in text.chars() {
        match character {
            '"' | '\\' => line.extend_from_slice(&[b'\\', character as u8]),
            '\n' => line.extend_from_slice(b"\\n"),
            '\r' => line.extend_from_slice(b"\\r"),
            '\t' => line.extend_from_slice(b"\\t"),
            '\0'..='\u{1F}' => {
                line.extend_from_slice(format!("\\u{:04x}", character as u32).as_bytes());
            }
            _ => line.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    line.push(b'"');
}
