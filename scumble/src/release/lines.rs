//! Rows as lines of delimited text.

use super::line_buffer::{Fields, LineBuffer, push_field};
use super::sink::failure;
use crate::error::{Error, Result};
use crate::source::{Series, Texts, is_same};
use arrow_array::{Array, StringArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::SchemaRef;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 16;

/// A file of lines.
pub(super) struct LineWriter<W> {
    file: W,
    target: PathBuf,
    delimiter: u8,
    /// For each column that came by number, its fields.
    rendered: Vec<Option<Rendered>>,
    page: LineBuffer,
}

/// The fields of a column that comes by number, and the texts that they are made of.
struct Rendered {
    texts: StringArray,
    fields: Fields<32>,
}

impl Rendered {
    fn is_of(&self, texts: &StringArray) -> bool {
        self.texts.len() == texts.len() && is_same(&self.texts, texts)
    }
}

/// A column of a batch.
enum RenderedColumn<'a> {
    /// By number, every field having been made.
    Coded(ScalarBuffer<i32>, &'a Fields<32>),
    /// Text by text.
    Plain(Box<Texts>),
    /// Numbers in units of 10^-scale.
    Decimals(ScalarBuffer<i64>, u32),
}

impl<W: Write> LineWriter<W> {
    /// Begins with the names of the columns.
    pub(super) fn new(file: W, target: &Path, delimiter: u8, schema: &SchemaRef) -> LineWriter<W> {
        let (mut page, mut line) = (LineBuffer::default(), Vec::new());
        for (position, field) in schema.fields().iter().enumerate() {
            push_field(&mut line, field.name(), position, delimiter);
        }
        line.push(b'\n');
        page.push(&line);
        let rendered = schema.fields().iter().map(|_| None).collect();
        LineWriter { file, target: target.to_path_buf(), delimiter, rendered, page }
    }

    /// Writes more rows.
    pub(super) fn write(&mut self, series: &[Series]) -> Result<()> {
        let last = series.len().saturating_sub(1);
        let delimiter = self.delimiter;
        // A field and what follows it. An only one that is empty would be a blank line, and readers
        // skip those.
        let say = |field: &mut Vec<u8>, text: &str, position: usize| {
            if last == 0 && text.is_empty() {
                field.extend_from_slice(b"\"\"")
            } else {
                push_field(field, text, 0, delimiter)
            }
            field.push(if position == last { b'\n' } else { delimiter });
        };
        let mut columns = Vec::with_capacity(series.len());
        for ((position, series), rendered) in series.iter().enumerate().zip(&mut self.rendered) {
            if let Series::Decimals(units, scale) = series {
                columns.push(RenderedColumn::Decimals(units.clone(), *scale));
                continue;
            }
            // A value without a text is an error, not an empty field.
            columns.push(
                match Texts::of(series).map_err(|source| failure(&self.target, source))? {
                    Texts::Coded(keys, None, texts) => {
                        if !rendered.as_ref().is_some_and(|rendered| rendered.is_of(&texts)) {
                            let all = texts.iter().map(Option::unwrap_or_default);
                            let fields = Fields::new(all, |field, text| say(field, text, position));
                            *rendered = Some(Rendered { texts, fields });
                        }
                        RenderedColumn::Coded(keys, &rendered.as_ref().ok_or(Error::Defect)?.fields)
                    }
                    texts => RenderedColumn::Plain(Box::new(texts)),
                },
            );
        }
        let rows = series.first().map_or(0, Series::len);
        let repeats = repeats(&columns, rows);
        let mut field = Vec::new();
        // Where the line before begins, and how far from there each of its fields ends.
        let (mut before, mut ends) = (None, vec![0; columns.len()]);
        for (row, repeated) in repeats.into_iter().enumerate() {
            let start = self.page.bytes().len();
            let repeated = before.map_or(0, |_| repeated as usize);
            if let (Some(before), 1..) = (before, repeated) {
                self.page.push_again(before, ends[repeated - 1]);
            }
            for (position, column) in columns.iter().enumerate().skip(repeated) {
                match column {
                    RenderedColumn::Coded(keys, fields) => {
                        fields.push(&mut self.page, keys[row] as u32)
                    }
                    RenderedColumn::Plain(texts) => {
                        field.clear();
                        say(&mut field, texts.get(row), position);
                        self.page.push(&field);
                    }
                    RenderedColumn::Decimals(units, scale) => {
                        self.page.push_decimal(units[row], *scale);
                        self.page.push_byte(if position == last { b'\n' } else { delimiter });
                    }
                }
                ends[position] = self.page.bytes().len() - start;
            }
            before = Some(start);
            if self.page.bytes().len() >= BUFFER {
                self.file.write_all(self.page.bytes()).map_err(Error::io(&self.target, "write"))?;
                self.page.clear();
                before = None;
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

/// For each row, how many of its first fields are those of the row before it. Rows of a class stand
/// together, so that is most of them, and they are copied in one piece.
fn repeats(columns: &[RenderedColumn<'_>], rows: usize) -> Vec<u32> {
    let mut repeats = vec![columns.len() as u32; rows];
    for (position, column) in columns.iter().enumerate().rev() {
        let repeats = repeats.iter_mut().skip(1);
        match column {
            RenderedColumn::Plain(_) | RenderedColumn::Decimals(..) => {
                repeats.for_each(|repeats| *repeats = position as u32)
            }
            RenderedColumn::Coded(keys, _) => {
                repeats.zip(keys.windows(2)).for_each(|(repeats, pair)| {
                    *repeats = if pair[0] == pair[1] { *repeats } else { position as u32 };
                })
            }
        }
    }
    repeats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray};
    use arrow_schema::{Field, Schema};
    use std::sync::Arc;

    /// Columns as lines, some of them by number.
    fn lines(columns: &[Vec<&str>], by_number: impl Fn(usize) -> bool) -> Vec<u8> {
        let texts =
            |column: &Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(column.clone())) };
        let coded = |column: &Vec<&str>| -> ArrayRef {
            Arc::new(column.iter().copied().collect::<DictionaryArray<Int32Type>>())
        };
        let columns = columns.iter().enumerate();
        let arrays: Vec<ArrayRef> = columns
            .map(|(at, column)| if by_number(at) { coded(column) } else { texts(column) })
            .collect();
        let name =
            |at: usize| if at == 0 { "n".repeat(BUFFER + 1) } else { format!("column {at}") };
        let fields = arrays
            .iter()
            .enumerate()
            .map(|(at, array)| Field::new(name(at), array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let series: Vec<Series> = arrays.into_iter().map(Series::Array).collect();
        let path = std::env::temp_dir().join(format!("scumble-lines-{}", std::process::id()));
        let mut lines =
            LineWriter::new(std::fs::File::create(&path).unwrap(), &path, b';', &schema);
        lines.write(&series).unwrap();
        lines.write(&series).unwrap();
        lines.finish().unwrap();
        let written = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        written
    }

    #[test]
    fn fields_by_number_are_the_fields_of_their_texts() {
        let long = "a field that does not fit into a slot, by far";
        let values =
            ["", "a", "b;c", "a \"word\"", "two\nlines", "thirty bytes, neither more nor", long];
        let mut random = Random::new(9);
        for (width, rows) in [(1, 100), (3, 4000), (9, 2000)] {
            let columns: Vec<Vec<&str>> = (0..width)
                .map(|_| {
                    (0..rows).map(|_| values[random.below(values.len() as u64) as usize]).collect()
                })
                .collect();
            let plain = lines(&columns, |_| false);
            assert!(lines(&columns, |_| true) == plain);
            assert!(lines(&columns, |at| at % 2 == 0) == plain);
            let text = String::from_utf8(plain).unwrap();
            let naive = |row: usize| {
                let field = |column: &Vec<&str>| match column[row] {
                    "" if width == 1 => "\"\"".to_string(),
                    text if text.contains([';', '"', '\n']) => {
                        format!("\"{}\"", text.replace('"', "\"\""))
                    }
                    text => text.to_string(),
                };
                columns.iter().map(field).collect::<Vec<String>>().join(";") + "\n"
            };
            let naive: String = (0..rows).map(naive).collect();
            assert!(text.split_once('\n').unwrap().1 == naive.repeat(2));
        }
    }
}
