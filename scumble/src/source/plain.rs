//! A source whose columns have notations, read in the plain way.
//!
//! This is one end of a job, and the table of a release that spells labels is the other: everything
//! between them knows plain values only. Columns that are passed on are handed over as they were
//! written too.

use super::recurring::is_text;
use super::rewriting::Rewriting;
use super::texts::Series;
use super::{Batch, Batches, Form, Meter, RecordBatches, Source};
use crate::error::{Error, Place, Result};
use crate::table::Notation;
use crate::watch::Watch;
use arrow_schema::{ArrowError, SchemaRef};
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// How the values of a column are read.
#[derive(Clone, Debug)]
pub struct PlainReader {
    /// How they are written.
    pub notation: Notation,
    /// Those that mean "missing", besides the empty one.
    pub missing: Vec<String>,
    /// The leaves of a hierarchy that lists all values, in the plain way. What is none of them is
    /// refused when the hierarchy is laid over the column.
    pub leaves: Option<HashSet<String>>,
    /// Whether labels may stand there too, as in a release.
    pub has_labels: bool,
}

impl PlainReader {
    /// A reader of labels that are spelled in a notation.
    pub fn of_labels(notation: Notation) -> PlainReader {
        PlainReader { notation, missing: Vec::new(), leaves: None, has_labels: true }
    }

    /// A value in the plain way, the empty one if it is missing; `None` if it is not written in the
    /// notation.
    pub fn plain<'a>(&self, value: &'a str) -> Option<Cow<'a, str>> {
        if value.is_empty() {
            return Some(value.into());
        }
        if self.has_labels {
            return Some(self.notation.plain_label(value).into());
        }
        if self.missing.iter().any(|token| token == value) {
            let is_leaf = self.leaves.as_ref().is_some_and(|leaves| leaves.contains(value));
            return Some(if is_leaf { value } else { "" }.into());
        }
        match self.notation.plain(value) {
            Some(plain) => Some(plain.into()),
            None => self.leaves.as_ref().map(|_| value.into()),
        }
    }
}

/// A source some of whose columns are read in the plain way.
pub struct PlainSource<S> {
    source: S,
    readers: Vec<Option<PlainReader>>,
}

impl<S: Source> PlainSource<S> {
    /// A source with a reader for each column that has a notation.
    pub fn new(source: S, readers: Vec<Option<PlainReader>>) -> PlainSource<S> {
        PlainSource { source, readers }
    }
}

impl<S: Source> Source for PlainSource<S> {
    fn name(&self) -> String {
        self.source.name()
    }

    fn schema(&self) -> SchemaRef {
        self.source.schema()
    }

    fn meter(&self) -> &Meter {
        self.source.meter()
    }

    /// Columns as they are. What is counted goes through `read`.
    fn scan(&self, columns: &[usize]) -> Result<RecordBatches> {
        self.source.scan(columns)
    }

    fn rows(&self) -> Option<u64> {
        self.source.rows()
    }

    fn unpacked_bytes(&self) -> Option<u64> {
        self.source.unpacked_bytes()
    }

    fn memory_needed(&self) -> Option<u64> {
        self.source.memory_needed()
    }

    fn files(&self) -> Vec<PathBuf> {
        self.source.files()
    }

    fn is_all_text(&self) -> bool {
        self.source.is_all_text()
    }

    fn read(&self, forms: &[Form]) -> Result<Batches> {
        let (schema, mut columns) = (self.schema(), Vec::new());
        for (at, (form, reader)) in forms.iter().zip(&self.readers).enumerate() {
            if *form == Form::Skipped {
                continue;
            }
            let field = schema.field(at);
            // Numbers and dates of Arrow are not written in any way.
            let reader = reader.clone().filter(|_| is_text(field.data_type()));
            columns.push(reader.map(|reader| PlainColumn {
                name: field.name().clone(),
                reader,
                rewriting: Rewriting::default(),
            }));
        }
        Ok(self.source.read(forms)?.in_plain(PlainColumns { file: self.name().into(), columns }))
    }

    fn settle(&self, memory: u64, folder: &Path, watch: &Watch) -> Result<()> {
        self.source.settle(memory, folder, watch)
    }
}

/// The columns of a scan that are read in the plain way.
#[derive(Debug)]
pub(super) struct PlainColumns {
    file: PathBuf,
    columns: Vec<Option<PlainColumn>>,
}

#[derive(Debug)]
struct PlainColumn {
    name: String,
    reader: PlainReader,
    rewriting: Rewriting,
}

impl PlainColumns {
    /// A batch with the columns in the plain way, beside how they were written.
    pub(super) fn of(&mut self, mut batch: Batch) -> Result<Batch> {
        for (series, column) in batch.columns.iter_mut().zip(&mut self.columns) {
            let Some(PlainColumn { name, reader, rewriting }) = column else { continue };
            let broken = |source: ArrowError| Error::Columnar { file: self.file.clone(), source };
            match rewriting.of(series, |value| reader.plain(value)).map_err(broken)? {
                Ok(plain) => *series = Series::written(series.clone(), plain),
                Err(row) => {
                    let line = batch.lines.of(row);
                    let value = super::Texts::of(series).map_err(broken)?.get(row).to_string();
                    return Err(Error::WrongType {
                        place: Place::file(&self.file).line(line).column(name.clone()),
                        value,
                        expected: reader.notation.expected(),
                    });
                }
            }
        }
        Ok(batch)
    }
}
