//! Values of a policy on their way through the checks: each knows its path and its place.

use super::document::{Field, Setting, Value};
use super::keys::{self, nearest};
use super::loaded::Loaded;
use crate::error::{Error, Place, Result};
use crate::ratio::Ratio;
use crate::table::{Notation, Type};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Where a policy comes from, and what was read for it before.
pub(super) struct Origin<'a> {
    pub(super) file: &'a Path,
    pub(super) loaded: &'a Loaded,
}

impl Origin<'_> {
    pub(super) fn place(&self, line: Option<u64>) -> Place {
        let place = Place::file(self.file);
        line.map_or(place.clone(), |line| place.line(line))
    }

    /// A path of the policy, which is relative to the policy's folder.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).join(text)
    }
}

/// A table of the policy: its entries, all of them known keys.
pub(super) struct Section<'a> {
    origin: &'a Origin<'a>,
    path: String,
    pub(super) entries: Vec<(&'a str, Entry<'a>)>,
}

/// A value and where it stands.
#[derive(Clone)]
pub(super) struct Entry<'a> {
    pub(super) origin: &'a Origin<'a>,
    path: String,
    setting: &'a Setting,
}

impl<'a> Section<'a> {
    /// Opens a table; `known` is its name in the list of keys, `None` if any key is allowed.
    fn open(
        origin: &'a Origin<'a>,
        path: &str,
        known: Option<&str>,
        fields: &'a [Field],
    ) -> Result<Section<'a>> {
        let mut entries: Vec<(&str, Entry<'_>)> = Vec::new();
        let mut seen = HashSet::new();
        for Field { name, line, setting } in fields {
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            if let Some(section) = known
                && !keys::of(section).any(|key| key == name)
            {
                let nearest = nearest(name, keys::of(section));
                return Err(Error::UnknownKey { place: origin.place(*line), key: path, nearest });
            }
            let entry = Entry { origin, path, setting };
            if !seen.insert(name.as_str()) {
                return Err(entry.inapplicable("is a duplicate key"));
            }
            entries.push((name, entry));
        }
        Ok(Section { origin, path: path.to_string(), entries })
    }

    pub(super) fn get(&self, name: &str) -> Option<&Entry<'a>> {
        self.entries.iter().find(|(key, _)| *key == name).map(|(_, entry)| entry)
    }

    pub(super) fn required(&self, name: &str) -> Result<&Entry<'a>> {
        self.get(name).ok_or_else(|| {
            let missing = format!("missing key `{name}` in [{}]", self.path);
            Error::Incomplete { file: self.origin.file.to_path_buf(), missing }
        })
    }

    /// One of a list of names, if the key is there.
    pub(super) fn choice<T: Copy>(
        &self,
        name: &str,
        names: impl IntoIterator<Item = (&'static str, T)>,
    ) -> Result<Option<T>> {
        self.get(name).map(|entry| entry.choice(names)).transpose()
    }

    /// A whole number within a range, if the key is there.
    pub(super) fn whole(
        &self,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>> {
        let Some(entry) = self.get(name) else { return Ok(None) };
        let expected = match *range.end() {
            u64::MAX => format!("a whole number of at least {}", range.start()),
            end => format!("a whole number from {} to {end}", range.start()),
        };
        let number = entry.whole(&expected)?;
        if range.contains(&number) { Ok(Some(number)) } else { Err(entry.wrong(expected)) }
    }

    /// A boolean, `false` if the key is not there.
    pub(super) fn boolean(&self, name: &str) -> Result<bool> {
        let Some(entry) = self.get(name) else { return Ok(false) };
        match entry.value() {
            Value::Boolean(value) => Ok(*value),
            _ => Err(entry.wrong("true or false")),
        }
    }
}

impl<'a> Entry<'a> {
    /// The whole policy.
    pub(super) fn root(origin: &'a Origin<'a>, document: &'a Setting) -> Entry<'a> {
        Entry { origin, path: String::new(), setting: document }
    }

    pub(super) fn value(&self) -> &'a Value {
        &self.setting.value
    }

    pub(super) fn line(&self) -> Option<u64> {
        self.setting.line
    }

    /// The value as it was typed, near enough for an error.
    fn shown(&self) -> String {
        match self.value() {
            Value::Text(text) | Value::Number(text) | Value::Other(_, text) => text.clone(),
            Value::Boolean(value) => value.to_string(),
            Value::List(list) => {
                let item = |setting: &'a Setting| Entry { setting, ..self.clone() }.shown();
                format!("[{}]", list.iter().map(item).collect::<Vec<_>>().join(", "))
            }
            Value::Table(_) => "a table".into(),
        }
    }

    pub(super) fn wrong(&self, expected: impl Into<String>) -> Error {
        Error::BadParameter {
            place: Some(self.origin.place(self.setting.line)),
            key: self.path.clone(),
            value: self.shown(),
            expected: expected.into(),
        }
    }

    /// An error about a key that cannot be used together with the others.
    pub(super) fn inapplicable(&self, problem: impl Into<String>) -> Error {
        Error::Inapplicable {
            place: Some(self.origin.place(self.setting.line)),
            key: self.path.clone(),
            problem: problem.into(),
        }
    }

    pub(super) fn table(&self, known: Option<&str>) -> Result<Section<'a>> {
        match self.value() {
            Value::Table(fields) => Section::open(self.origin, &self.path, known, fields),
            _ => Err(self.wrong("a table")),
        }
    }

    pub(super) fn is_table(&self) -> bool {
        matches!(self.value(), Value::Table(_))
    }

    pub(super) fn items(&self) -> Result<Vec<Entry<'a>>> {
        let Value::List(list) = self.value() else { return Err(self.wrong("a list")) };
        Ok(list.iter().map(|setting| Entry { setting, ..self.clone() }).collect())
    }

    /// One table, or a list of them.
    pub(super) fn one_or_more(&self) -> Result<Vec<Entry<'a>>> {
        match self.value() {
            Value::List(list) if list.is_empty() => Err(self.wrong("at least one table")),
            Value::List(_) => self.items(),
            _ => Ok(vec![self.clone()]),
        }
    }

    pub(super) fn str(&self) -> Result<&'a str> {
        match self.value() {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong("a string")),
        }
    }

    pub(super) fn texts(&self) -> Result<Vec<String>> {
        self.items()?.iter().map(|item| item.str().map(str::to_string)).collect()
    }

    /// One of a list of names.
    pub(super) fn choice<T: Copy>(
        &self,
        names: impl IntoIterator<Item = (&'static str, T)>,
    ) -> Result<T> {
        let names: Vec<(&str, T)> = names.into_iter().collect();
        let typed = self.str()?;
        let found = names.iter().find(|(name, _)| *name == typed).map(|(_, value)| *value);
        found.ok_or_else(|| {
            let all: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            let hint =
                nearest(typed, all.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
            self.wrong(format!("one of {}{}", all.join(", "), hint.unwrap_or_default()))
        })
    }

    /// A number as it was typed: exactly.
    pub(super) fn ratio(&self, expected: &str) -> Result<Ratio> {
        match self.value() {
            Value::Text(text) | Value::Number(text) => {
                text.parse().map_err(|_| self.wrong(expected))
            }
            _ => Err(self.wrong(expected)),
        }
    }

    /// A number from 0 to 1.
    pub(super) fn share(&self, expected: &str) -> Result<Ratio> {
        let share = self.ratio(expected)?;
        if share <= Ratio::ONE { Ok(share) } else { Err(self.wrong(expected)) }
    }

    pub(super) fn whole(&self, expected: &str) -> Result<u64> {
        let ratio = self.ratio(expected)?;
        if ratio.denominator() == 1 { Ok(ratio.numerator()) } else { Err(self.wrong(expected)) }
    }

    /// A text in the plain way, whether it is written so or in the notation of a column.
    pub(super) fn plain_text(&self, notation: Option<&Notation>) -> Option<String> {
        let text = self.str().ok()?;
        Some(notation.and_then(|notation| notation.plain(text)).unwrap_or_else(|| text.into()))
    }

    /// A number, or a text that is one in the notation of a column of numbers.
    pub(super) fn number_in(&self, notation: Option<&Notation>) -> Result<f64> {
        let Some(Notation::Numbers { .. }) = notation else { return self.number() };
        let Some(text) = self.plain_text(notation) else { return self.number() };
        let number = Type::Real.number(&text);
        number.ok_or_else(|| self.wrong("a number, in the plain way or as its column has it"))
    }

    pub(super) fn number(&self) -> Result<f64> {
        match self.value() {
            Value::Number(text) => {
                text.replace('_', "").parse().map_err(|_| self.wrong("a number"))
            }
            _ => Err(self.wrong("a number")),
        }
    }
}
