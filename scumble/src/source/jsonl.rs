//! JSON lines: an object on each line.
//!
//! The columns are the keys of all objects, in the order in which they occur first, so a file is
//! read to its end before the first scan. That also tells the type of each column: booleans,
//! integers and numbers have a type of Arrow if it keeps their spelling, because what is passed on
//! is released as it came. Numbers in several spellings, such as `1` and `1.50`, are texts that are
//! released as numbers. A column with texts and something else is text; one with an array or an
//! object has no text at all.

use super::csv::MOST_COLUMNS;
use super::encoding::failed;
use super::{BATCH_BYTES, BATCH_ROWS, Batch, Form, Lines as RowLines, Series, unsupported};
use crate::error::{Error, Place, Result};
use crate::watch::Watch;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The lines of a file.
pub(super) struct Lines {
    file: BufReader<Box<dyn Read + Send>>,
    /// What messages call it.
    path: PathBuf,
    bytes: Vec<u8>,
    /// The number of the last line.
    line: u64,
    longest: usize,
}

impl Lines {
    pub(super) fn new(file: Box<dyn Read + Send>, path: &Path, longest: usize) -> Lines {
        let (file, path) = (BufReader::with_capacity(1 << 16, file), path.to_path_buf());
        Lines { file, path, bytes: Vec::new(), line: 0, longest }
    }

    fn place(&self) -> Place {
        Place::file(&self.path).line(self.line)
    }

    /// Reads the next line that is not blank; false at the end of the file.
    fn advance(&mut self) -> Result<bool> {
        loop {
            self.bytes.clear();
            self.line += 1;
            let most = self.longest as u64 + 1;
            let read = (&mut self.file).take(most).read_until(b'\n', &mut self.bytes);
            match read.map_err(|error| failed(error, &self.path, self.line))? {
                0 => return Ok(false),
                read if read as u64 == most => {
                    return Err(Error::LongRecord { place: self.place(), most: self.longest });
                }
                _ => {}
            }
            if self.line == 1 && self.bytes.starts_with(b"\xEF\xBB\xBF") {
                self.bytes.drain(..3);
            }
            if !self.bytes.iter().all(u8::is_ascii_whitespace) {
                return Ok(true);
            }
        }
    }

    /// Parses the line; `take` is called with each key and the text of its value.
    fn parse(&self, mut take: impl FnMut(&str, &str) -> Result<(), String>) -> Result<()> {
        let bad = |problem: String| Error::BadRecord { place: self.place(), problem };
        let text = std::str::from_utf8(&self.bytes)
            .map_err(|_| bad("the line is not valid UTF-8; convert the file to UTF-8".into()))?;
        match text.trim_start().as_bytes().first() {
            Some(b'{') => {}
            Some(b'[') => {
                return Err(bad("found a JSON array; write one object on each line".into()));
            }
            _ => return Err(bad("expected a JSON object on each line".into())),
        }
        let mut problem = None;
        let mut parser = serde_json::Deserializer::from_str(text);
        let members = Members { take: &mut take, problem: &mut problem };
        let parsed = members.deserialize(&mut parser).and_then(|()| parser.end());
        parsed.map_err(|error| match problem.take() {
            Some(problem) => bad(problem),
            None => {
                // Only a line that ends early is never read to a wrong byte.
                if error.is_eof() {
                    return bad("invalid JSON: the line ends before its object does".into());
                }
                let said = error.to_string();
                let said = said.split(" at line ").next().unwrap_or_default();
                bad(format!("invalid JSON at byte {} of the line: {said}", error.column()))
            }
        })
    }
}

/// Hands the members of an object over, one by one.
struct Members<'a, F> {
    take: &'a mut F,
    problem: &'a mut Option<String>,
}

impl<'de, F: FnMut(&str, &str) -> Result<(), String>> DeserializeSeed<'de> for Members<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, F: FnMut(&str, &str) -> Result<(), String>> Visitor<'de> for Members<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(key)) = map.next_key()? {
            let value: &RawValue = map.next_value()?;
            if let Err(problem) = (self.take)(&key, value.get()) {
                *self.problem = Some(problem);
                return Err(A::Error::custom("the record is refused"));
            }
        }
        Ok(())
    }
}

/// A key, which is copied only if it has escapes.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// What a value is.
fn string(value: &str) -> Result<Cow<'_, str>, String> {
    match value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str::<String>(value)
            .map(Cow::Owned)
            .map_err(|error| format!("invalid string {}", error_of(&error))),
    }
}

fn error_of(error: &serde_json::Error) -> String {
    error.to_string().split(" at line ").next().unwrap_or_default().to_string()
}

/// What the values of a column are, as far as they were met.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    texts: bool,
    booleans: bool,
    numbers: bool,
    nested: bool,
    /// A number that is not spelled as an integer of Arrow's, and one that is not as a float.
    no_integer: bool,
    no_real: bool,
}

impl Met {
    fn add(&mut self, value: &str) {
        match value.as_bytes().first() {
            Some(b'"') => self.texts = true,
            Some(b'{' | b'[') => self.nested = true,
            Some(b't' | b'f') => self.booleans = true,
            Some(b'n') => {}
            _ => {
                self.numbers = true;
                self.no_integer |= integer(value).is_none();
                // Most columns of numbers are one or the other.
                self.no_real |= self.no_real || real(value).is_none();
            }
        }
    }

    fn kind(self) -> Kind {
        match self {
            Met { nested: true, .. } => Kind::Nested,
            Met { texts: false, numbers: false, booleans: true, .. } => Kind::Boolean,
            Met { texts: false, booleans: false, numbers: true, .. } => match self {
                Met { no_integer: false, .. } => Kind::Integer,
                Met { no_real: false, .. } => Kind::Real,
                _ => Kind::Spelled,
            },
            _ => Kind::Text,
        }
    }
}

/// A number as an integer that is spelled the same.
fn integer(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    // Longer ones have a zero at their beginning, which JSON does not allow.
    (number != 0 || text == "0").then_some(number)
}

/// A number as a float that is spelled the same.
fn real(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    let array: ArrayRef = Arc::new(Float64Array::from(vec![number]));
    let spelled = cast(&array, &DataType::Utf8).ok()?;
    let spelled = arrow_array::cast::AsArray::as_string::<i32>(&spelled);
    (spelled.value(0) == text).then_some(number)
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Boolean,
    Integer,
    Real,
    /// Numbers as they are spelled.
    Spelled,
    Nested,
}

impl Kind {
    fn data_type(self) -> DataType {
        match self {
            Kind::Text | Kind::Spelled => DataType::Utf8,
            Kind::Boolean => DataType::Boolean,
            Kind::Integer => DataType::Int64,
            Kind::Real => DataType::Float64,
            // Nobody reads it. It stands for all types that have no text.
            Kind::Nested => DataType::ListView(Arc::new(Field::new("item", DataType::Null, true))),
        }
    }
}

/// The columns of a file.
pub(super) struct Shape {
    schema: SchemaRef,
    kinds: Vec<Kind>,
    index: HashMap<String, usize>,
    rows: u64,
}

/// Lines after which a watch is asked.
const POLLED: u64 = 1 << 10;

impl Shape {
    /// Reads a file to its end.
    pub(super) fn learn(mut lines: Lines, watch: &Watch) -> Result<Shape> {
        let (mut index, mut met, mut last): (HashMap<String, usize>, Vec<(Met, u64)>, usize) =
            Default::default();
        let (mut names, mut rows): (Vec<String>, u64) = (Vec::new(), 0);
        while lines.advance()? {
            rows += 1;
            if rows.is_multiple_of(POLLED) {
                watch.check()?;
            }
            lines.parse(|key, value| {
                let at = match find(&index, &names, key, &mut last) {
                    Some(at) => at,
                    None if names.len() == MOST_COLUMNS => {
                        return Err(format!("more than {MOST_COLUMNS} different keys"));
                    }
                    None => {
                        index.insert(key.into(), names.len());
                        names.push(key.into());
                        met.push((Met::default(), 0));
                        names.len() - 1
                    }
                };
                once(&mut met[at].1, rows, key)?;
                met[at].0.add(value);
                Ok(())
            })?;
        }
        if rows == 0 {
            return Err(Error::EmptyTable { file: lines.path });
        }
        if names.is_empty() {
            let problem = "no columns: there is no object with a key".into();
            return Err(Error::BadRecord { place: Place::file(&lines.path), problem });
        }
        let kinds: Vec<Kind> = met.into_iter().map(|(met, _)| met.kind()).collect();
        let fields = names.into_iter().zip(&kinds);
        let fields: Vec<Field> =
            fields.map(|(name, kind)| Field::new(name, kind.data_type(), true)).collect();
        Ok(Shape { schema: Arc::new(Schema::new(fields)), kinds, index, rows })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether a column has numbers as texts.
    pub(super) fn is_spelled(&self, column: usize) -> bool {
        self.kinds[column] == Kind::Spelled
    }
}

/// The column of a key. Most lines have their keys in the same order, so `last`, the column of the
/// key before, tells where to look first.
fn find(
    index: &HashMap<String, usize>,
    names: &[String],
    key: &str,
    last: &mut usize,
) -> Option<usize> {
    let next = if *last + 1 < names.len() { *last + 1 } else { 0 };
    let found = match names.get(next) {
        Some(name) if name == key => next,
        _ => *index.get(key)?,
    };
    *last = found;
    Some(found)
}

/// Refuses a key that its row has had already.
fn once(seen: &mut u64, row: u64, key: &str) -> Result<(), String> {
    if *seen == row {
        return Err(format!("the key {} occurs twice; remove one", crate::error::quoted(key)));
    }
    *seen = row;
    Ok(())
}

/// The rows of a file, not yet read.
pub(super) struct Rows {
    lines: Lines,
    shape: Arc<Shape>,
}

impl Rows {
    pub(super) fn new(lines: Lines, shape: Arc<Shape>) -> Rows {
        Rows { lines, shape }
    }

    /// Begins to read the wanted columns.
    pub(super) fn batches(
        self,
        forms: &[Form],
    ) -> impl Iterator<Item = Result<Batch>> + Send + 'static {
        let Rows { lines, shape } = self;
        let forms = forms.iter().zip(&shape.kinds);
        let columns = forms
            .map(|(form, kind)| Reading {
                values: (*form != Form::Skipped).then(|| Values::new(*kind)),
                seen: 0,
            })
            .collect();
        let names = shape.schema.fields().iter().map(|field| field.name().clone()).collect();
        let mut scan = Scan { lines, shape, names, columns, rows: 0, ended: false };
        std::iter::from_fn(move || scan.batch().transpose())
    }
}

struct Scan {
    lines: Lines,
    shape: Arc<Shape>,
    names: Vec<String>,
    columns: Vec<Reading>,
    /// Rows of all batches.
    rows: u64,
    ended: bool,
}

/// A column while it is read.
struct Reading {
    /// Nothing if it is not wanted.
    values: Option<Values>,
    /// The last row that has the key.
    seen: u64,
}

impl Scan {
    /// Refuses wanted columns that have no values of a type.
    fn check_wanted(&self) -> Result<()> {
        let mut wanted = self.shape.schema.fields().iter().zip(&self.columns);
        match wanted.find(|(_, column)| matches!(column.values, Some(Values::Nested))) {
            Some((field, _)) => Err(unsupported(&self.lines.path, field)),
            None => Ok(()),
        }
    }

    fn batch(&mut self) -> Result<Option<Batch>> {
        self.check_wanted()?;
        let (mut lines, mut bytes, mut last) = (Vec::new(), 0, 0);
        while !self.ended && lines.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            if !self.lines.advance()? {
                self.ended = true;
                break;
            }
            let Scan { lines: file, shape, names, columns, rows, .. } = self;
            *rows += 1;
            let changed = || Error::ChangedMeanwhile { file: file.path.clone() };
            let (mut is_changed, row) = (false, *rows);
            file.parse(|key, value| {
                let Some(at) = find(&shape.index, names, key, &mut last) else {
                    is_changed = true;
                    return Ok(());
                };
                let Reading { values, seen } = &mut columns[at];
                once(seen, row, key)?;
                if let Some(values) = values {
                    is_changed |= !values.push(value)?;
                }
                Ok(())
            })?;
            if is_changed || row > shape.rows {
                return Err(changed());
            }
            for Reading { values, seen } in columns.iter_mut() {
                if let Some(values) = values.as_mut().filter(|_| *seen != row) {
                    values.push_null();
                }
            }
            lines.push(file.line);
            bytes += file.bytes.len();
        }
        if lines.is_empty() {
            return match self.rows == self.shape.rows {
                true => Ok(None),
                false => Err(Error::ChangedMeanwhile { file: self.lines.path.clone() }),
            };
        }
        let rows = lines.len();
        let columns = self.columns.iter_mut().filter_map(|column| column.values.as_mut());
        let columns = columns.map(|values| Series::Array(values.finish())).collect();
        Ok(Some(Batch {
            columns,
            rows,
            lines: RowLines::Each(lines),
            total: Some(self.shape.rows),
        }))
    }
}

/// The values of a column of a batch.
enum Values {
    Text(StringBuilder),
    Boolean(BooleanBuilder),
    Integer(Int64Builder),
    Real(Float64Builder),
    Nested,
}

impl Values {
    fn new(kind: Kind) -> Values {
        match kind {
            Kind::Text | Kind::Spelled => Values::Text(StringBuilder::new()),
            Kind::Boolean => Values::Boolean(BooleanBuilder::new()),
            Kind::Integer => Values::Integer(Int64Builder::new()),
            Kind::Real => Values::Real(Float64Builder::new()),
            Kind::Nested => Values::Nested,
        }
    }

    /// Adds the value of a text; false if it is not of the column's type.
    fn push(&mut self, value: &str) -> Result<bool, String> {
        if value == "null" {
            self.push_null();
            return Ok(true);
        }
        match self {
            Values::Text(values) if value.starts_with('"') => values.append_value(string(value)?),
            Values::Text(values) => values.append_value(value),
            Values::Boolean(values) => match value {
                "true" | "false" => values.append_value(value == "true"),
                _ => return Ok(false),
            },
            Values::Integer(values) => match integer(value) {
                Some(number) => values.append_value(number),
                None => return Ok(false),
            },
            Values::Real(values) => match value.parse() {
                Ok(number) => values.append_value(number),
                Err(_) => return Ok(false),
            },
            Values::Nested => return Err("arrays and objects cannot be read as values".into()),
        }
        Ok(true)
    }

    fn push_null(&mut self) {
        match self {
            Values::Text(values) => values.append_null(),
            Values::Boolean(values) => values.append_null(),
            Values::Integer(values) => values.append_null(),
            Values::Real(values) => values.append_null(),
            Values::Nested => {}
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Values::Text(values) => Arc::new(values.finish()),
            Values::Boolean(values) => Arc::new(values.finish()),
            Values::Integer(values) => Arc::new(values.finish()),
            Values::Real(values) => Arc::new(values.finish()),
            Values::Nested => Arc::new(arrow_array::NullArray::new(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_column_keeps_the_spelling_of_its_values() {
        let kind = |values: &[&str]| {
            let mut met = Met::default();
            values.iter().for_each(|value| met.add(value));
            met.kind()
        };
        assert_eq!(kind(&["1", "-7", "null", "0"]), Kind::Integer);
        assert_eq!(kind(&["9223372036854775807"]), Kind::Integer);
        assert_eq!(kind(&["9223372036854775808"]), Kind::Spelled);
        assert_eq!(kind(&["1.0", "0.1", "-2.5"]), Kind::Real);
        for spelled in ["1.50", "-0", "1e3", "1E400", "0.10"] {
            assert_eq!(kind(&[spelled]), Kind::Spelled, "{spelled}");
        }
        assert_eq!(kind(&["1", "1.5"]), Kind::Spelled);
        assert_eq!(kind(&["true", "null"]), Kind::Boolean);
        assert_eq!(kind(&["true", "1"]), Kind::Text);
        assert_eq!(kind(&["\"1\"", "1"]), Kind::Text);
        assert_eq!(kind(&["null"]), Kind::Text);
        assert_eq!(kind(&["\"a\"", "[]"]), Kind::Nested);
    }
}
