//! A policy as it was written: texts, numbers, lists and tables, with their lines.
//!
//! TOML, serde and the builder all produce a [`Setting`]. One reader checks it, so it does not matter
//! where a policy comes from.

use crate::error::{Error, Place, Result};
use crate::ratio::Ratio;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// A value of a policy that has not been checked yet: a number, a text, a list or a table.
///
/// Numbers are kept as they were written, so `0.2` means 1/5.
///
/// ```
/// use scumble::policy::Setting;
///
/// let diversity = Setting::table([("kind", "recursive".into()), ("c", 3.into()), ("l", 4.into())]);
/// ```
#[derive(Clone, Debug)]
pub struct Setting {
    pub(super) value: Value,
    pub(super) line: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    /// A decimal number, as it was written.
    Number(String),
    Boolean(bool),
    List(Vec<Setting>),
    Table(Vec<Field>),
    /// Something that no key accepts: a date of TOML, a hexadecimal number, nothing.
    Other(&'static str, String),
}

/// An entry of a table.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    /// The line of its name.
    pub(super) line: Option<u64>,
    pub(super) setting: Setting,
}

impl From<Value> for Setting {
    fn from(value: Value) -> Setting {
        Setting { value, line: None }
    }
}

impl From<&str> for Setting {
    fn from(text: &str) -> Setting {
        Value::Text(text.into()).into()
    }
}

impl From<String> for Setting {
    fn from(text: String) -> Setting {
        Value::Text(text).into()
    }
}

impl From<bool> for Setting {
    fn from(value: bool) -> Setting {
        Value::Boolean(value).into()
    }
}

impl From<Ratio> for Setting {
    fn from(ratio: Ratio) -> Setting {
        ratio.to_string().into()
    }
}

impl<S: Into<Setting>> From<Vec<S>> for Setting {
    fn from(list: Vec<S>) -> Setting {
        Value::List(list.into_iter().map(Into::into).collect()).into()
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl From<$number> for Setting {
            fn from(number: $number) -> Setting {
                Value::Number(number.to_string()).into()
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

impl From<f64> for Setting {
    /// The shortest text that is read as this number: 0.2 is 1/5.
    fn from(number: f64) -> Setting {
        Value::Number(format!("{number:?}")).into()
    }
}

impl Setting {
    /// A table, from names and values.
    pub fn table<N: Into<String>>(fields: impl IntoIterator<Item = (N, Setting)>) -> Setting {
        let field = |(name, setting): (N, Setting)| Field::new(name.into(), setting);
        Value::Table(fields.into_iter().map(field).collect()).into()
    }

    /// A document of TOML; `file` is for errors.
    pub(super) fn from_toml(text: &str, file: &Path) -> Result<Setting> {
        let lines = LineStarts::new(text);
        let table = DeTable::parse(text).map_err(|error| {
            let line = lines.of(error.span().map_or(0, |span| span.start));
            Error::PolicySyntax { place: Place::file(file).line(line), source: Box::new(error) }
        })?;
        Ok(from_table(table.get_ref(), &lines).into())
    }

    /// The setting at a path of names. The items of a list are named by number, from 0.
    pub(super) fn at<S: AsRef<str>>(&self, path: &[S]) -> Option<&Setting> {
        path.iter().try_fold(self, |setting, name| match &setting.value {
            Value::Table(fields) => {
                fields.iter().find(|field| field.name == name.as_ref()).map(|field| &field.setting)
            }
            Value::List(items) => items.get(name.as_ref().parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// The same to be changed. Tables on the way are made; `None` if something else is in the way.
    pub(super) fn at_mut<S: AsRef<str>>(&mut self, path: &[S]) -> Option<&mut Setting> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        let fields = match &mut self.value {
            Value::Table(fields) => fields,
            Value::List(items) => {
                return items.get_mut(first.as_ref().parse::<usize>().ok()?)?.at_mut(rest);
            }
            _ => return None,
        };
        let known = fields.iter().position(|field| field.name == first.as_ref());
        let position = known.unwrap_or(fields.len());
        if known.is_none() {
            let empty = Value::Table(Vec::new()).into();
            fields.push(Field::new(first.as_ref().to_string(), empty));
        }
        fields[position].setting.at_mut(rest)
    }

    /// Removes what is at a path of names.
    pub(super) fn remove<S: AsRef<str>>(&mut self, path: &[S]) {
        let Some((last, above)) = path.split_last() else { return };
        if let Some(fields) = self.fields_at(above) {
            fields.retain(|field| field.name != last.as_ref());
        }
    }

    /// The fields of the table at a path, if there is one.
    pub(super) fn fields_at<S: AsRef<str>>(&mut self, path: &[S]) -> Option<&mut Vec<Field>> {
        self.at(path)?;
        match &mut self.at_mut(path)?.value {
            Value::Table(fields) => Some(fields),
            _ => None,
        }
    }
}

impl Field {
    pub(super) fn new(name: String, setting: Setting) -> Field {
        Field { name, line: None, setting }
    }
}

/// Where the lines of a text begin.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn new(text: &str) -> LineStarts {
        LineStarts(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line of a position, counted from 1.
    fn of(&self, at: usize) -> u64 {
        self.0.partition_point(|end| *end < at) as u64 + 1
    }
}

fn from_table(table: &DeTable<'_>, lines: &LineStarts) -> Value {
    let mut fields: Vec<(usize, Field)> = Vec::new();
    for (name, value) in table.iter() {
        let at = value.span().start;
        let setting =
            Setting { value: from_value(value.get_ref(), lines), line: Some(lines.of(at)) };
        let line = Some(lines.of(name.span().start));
        fields.push((at, Field { name: name.get_ref().to_string(), line, setting }));
    }
    // In the order of the file: columns are then named in the order in which their author thinks of
    // them.
    fields.sort_by_key(|(at, _)| *at);
    Value::Table(fields.into_iter().map(|(_, field)| field).collect())
}

fn from_value(value: &DeValue<'_>, lines: &LineStarts) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => {
            Value::Number(number.as_str().to_string())
        }
        DeValue::Integer(number) => Value::Other("integer", number.to_string()),
        DeValue::Float(number) => Value::Number(number.as_str().to_string()),
        DeValue::Boolean(value) => Value::Boolean(*value),
        DeValue::Array(array) => Value::List(
            array
                .iter()
                .map(|item| Setting {
                    value: from_value(item.get_ref(), lines),
                    line: Some(lines.of(item.span().start)),
                })
                .collect(),
        ),
        DeValue::Table(table) => from_table(table, lines),
        DeValue::Datetime(_) => Value::Other("datetime", "a datetime".into()),
    }
}
