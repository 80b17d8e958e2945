//! Columns with a notation are read in the plain way.

use crate::error::Error;
use crate::policy::Policy;
use crate::source::{PlainReader, PlainSource, Source};
use crate::table::{Notation, Role};
use crate::taxonomy::Hierarchy;
use std::borrow::Cow;

impl Policy {
    /// How the values of a column are written, if not in the plain way. Columns that are only passed
    /// on are not looked at.
    pub(crate) fn notation(&self, name: &str) -> Option<&Notation> {
        let attribute = self.attribute(name)?;
        let asked = self.privacy().presence.as_ref().and_then(|asked| asked.marginals());
        let confidences = asked.and_then(|asked| asked.confidence_column.as_deref());
        let is_read = match attribute.role.or(self.default_role()) {
            Some(Role::QuasiIdentifier | Role::Sensitive | Role::Target) => true,
            _ => confidences == Some(name),
        };
        attribute.notation.as_ref().filter(|_| is_read)
    }

    /// A table of values in the plain way.
    pub(crate) fn plain<'a>(&self, source: &'a dyn Source) -> Box<dyn Source + 'a> {
        self.with_readers(source, false)
    }

    /// A release, or a table that may be one: there are labels beside values.
    pub(crate) fn plain_release<'a>(&self, source: &'a dyn Source) -> Box<dyn Source + 'a> {
        self.with_readers(source, true)
    }

    /// An error about a value in the plain way, with the value as it is written. Where a hierarchy
    /// lists all values, one that is none of them was never read.
    pub(crate) fn as_written(&self, mut error: Error) -> Error {
        if let Error::NotInHierarchy { place, value, .. } | Error::Unfit { place, value, .. } =
            &mut error
            && let Some(name) = &place.column
            && let Some(reader) = self.reader(name, false)
            && reader.leaves.is_none()
        {
            *value = reader.notation.spelled_label(value);
        }
        error
    }

    /// A value of a column in the plain way, the empty one if it is missing. One that is not written
    /// in the column's notation stays as it is.
    pub(crate) fn plain_value<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        let reader = self.reader(name, false);
        reader.and_then(|reader| reader.plain(value)).unwrap_or(value.into())
    }

    fn with_readers<'a>(&self, source: &'a dyn Source, has_labels: bool) -> Box<dyn Source + 'a> {
        let readers: Vec<Option<PlainReader>> =
            source.names().iter().map(|name| self.reader(name, has_labels)).collect();
        if readers.iter().all(Option::is_none) {
            return Box::new(source);
        }
        Box::new(PlainSource::new(source, readers))
    }

    /// How a column is read, if it has a notation.
    fn reader(&self, name: &str, has_labels: bool) -> Option<PlainReader> {
        let notation = self.notation(name)?.clone();
        let leaves = match &self.attribute(name)?.hierarchy {
            Hierarchy::File(file) | Hierarchy::Tree(file) => {
                Some(file.rows().iter().map(|row| row[0].clone()).collect())
            }
            _ => None,
        };
        let missing = self.missing_of(name).to_vec();
        Some(PlainReader { notation, missing, leaves, has_labels })
    }
}
