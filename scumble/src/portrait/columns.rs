//! The values of every column of a table, counted in one scan.
//!
//! Up to a limit, distinct values are counted one by one. A column that has more becomes a histogram
//! if it holds numbers or days, and is only known to have more otherwise: which values are the most
//! frequent could not be told without counting all.

use super::histogram::Histogram;
use super::{ColumnValues, LISTED, ValueRows, told};
use crate::error::{Error, Result};
use crate::source::{Batch, Codes, Lines, Series, Source, Texts, ahead};
use crate::table::{Dictionary, Type};
use crate::watch::Watch;
use arrow_cast::can_cast_types;
use arrow_schema::{ArrowError, DataType};

/// Distinct values that are counted of a column.
pub(super) const LIMIT: usize = 50_000;

/// A table whose columns were counted.
pub(super) struct CountedTable {
    pub(super) rows: u64,
    pub(super) columns: Vec<(String, Counted)>,
}

/// The values of a column.
pub(super) struct Counted {
    codes: Codes,
    /// The rows of each code.
    counts: Vec<u64>,
    /// What is known of values beyond the limit.
    beyond: Option<Beyond>,
    /// The code of each row of a batch.
    batch: Vec<u32>,
    limit: usize,
    all: u64,
}

/// Values beyond the limit.
#[derive(Default)]
struct Beyond {
    rows: u64,
    missing: u64,
    /// Numbers or days, as long as all values are.
    histogram: Option<(Type, Histogram)>,
}

/// Counts the columns of a table that have a text form.
pub(super) fn count(table: &dyn Source, limit: usize, watch: &Watch) -> Result<CountedTable> {
    let (file, schema) = (table.file(), table.schema());
    let wanted: Vec<bool> = schema
        .fields()
        .iter()
        .map(|field| can_cast_types(field.data_type(), &DataType::Utf8))
        .collect();
    let names = schema.fields().iter().zip(&wanted).filter(|(_, wanted)| **wanted);
    let mut columns: Vec<(String, Counted)> =
        names.map(|(field, _)| (field.name().clone(), Counted::new(limit))).collect();
    let mut rows = 0;
    ahead(table.texts(&wanted)?, watch, |batches| {
        for batch in batches {
            let Batch { columns: series, rows: more, lines, total } = batch?;
            rows += more as u64;
            watch.progress("portray", rows, total);
            for ((_, counted), series) in columns.iter_mut().zip(&series) {
                let added = counted.add(series, &lines);
                added.map_err(|source| Error::Columnar { file: file.clone(), source })?;
            }
        }
        Ok(())
    })?;
    Ok(CountedTable { rows, columns })
}

impl Counted {
    fn new(limit: usize) -> Counted {
        let codes = Codes::default();
        Counted { codes, counts: Vec::new(), beyond: None, batch: Vec::new(), limit, all: 0 }
    }

    /// The values that were counted one by one.
    pub(super) fn dictionary(&self) -> &Dictionary {
        self.codes.dictionary()
    }

    /// The rows of each of them.
    pub(super) fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Whether every value was counted.
    pub(super) fn is_complete(&self) -> bool {
        self.beyond.is_none()
    }

    /// Values with their rows.
    pub(super) fn values_with_rows(&self) -> impl Iterator<Item = (&str, u64)> {
        self.dictionary().values().zip(self.counts.iter().copied())
    }

    fn add(&mut self, series: &Series, lines: &Lines) -> Result<(), ArrowError> {
        self.all += series.len() as u64;
        if self.beyond.is_some() {
            return self.add_beyond(series);
        }
        self.batch.clear();
        self.codes.encode(series, lines, &mut self.batch)?;
        self.counts.resize(self.codes.dictionary().len(), 0);
        self.batch.iter().for_each(|code| self.counts[*code as usize] += 1);
        if self.counts.len() > self.limit {
            self.beyond = Some(self.histogram_so_far());
        }
        Ok(())
    }

    fn histogram_so_far(&self) -> Beyond {
        let kind = Type::infer(self.dictionary().values().filter(|value| !value.is_empty()));
        let histogram = self.histogram(kind, &[]).map(|histogram| (kind, histogram));
        Beyond { histogram, ..Beyond::default() }
    }

    fn add_beyond(&mut self, series: &Series) -> Result<(), ArrowError> {
        let texts = Texts::of(series)?;
        let dictionary = self.codes.dictionary();
        let Some(beyond) = &mut self.beyond else { return Ok(()) };
        for row in 0..series.len() {
            let text = texts.get(row);
            match dictionary.find(text) {
                Some(code) => self.counts[code as usize] += 1,
                None => beyond.rows += 1,
            }
            beyond.missing += u64::from(text.is_empty());
            let Some((kind, histogram)) = &mut beyond.histogram else { continue };
            match kind.number(text) {
                Some(number) => histogram.add(number, 1),
                None if text.is_empty() => {}
                // A whole number that turns out to be one among real ones.
                None => beyond.histogram = None,
            }
        }
        Ok(())
    }

    /// The narrowest type of the values that are not missing.
    pub(super) fn kind(&self, missing: &[String]) -> Type {
        match &self.beyond {
            Some(beyond) => beyond.histogram.as_ref().map_or(Type::Text, |(kind, _)| *kind),
            None => {
                let values = self.dictionary().values();
                Type::infer(values.filter(|value| !is_missing(value, missing)))
            }
        }
    }

    fn histogram(&self, kind: Type, missing: &[String]) -> Option<Histogram> {
        let values = self.values_with_rows().filter(|(value, _)| !is_missing(value, missing));
        let numbers: Option<Vec<(f64, u64)>> =
            values.map(|(value, rows)| Some((kind.number(value)?, rows))).collect();
        Histogram::of(kind, &numbers?)
    }

    /// What is told of the values, of which `missing` are none. The values of an identifier name
    /// people and are only counted.
    pub(super) fn values(
        mut self,
        missing: &[String],
        kind: Option<Type>,
        is_identifier: bool,
    ) -> ColumnValues {
        let is_missing = |value: &str| is_missing(value, missing);
        let without: u64 = self
            .values_with_rows()
            .filter(|(value, _)| is_missing(value))
            .map(|(_, rows)| rows)
            .sum();
        let values = self.dictionary().values().filter(|value| !is_missing(value));
        let mut values = ColumnValues {
            rows: self.all,
            missing: without,
            distinct: values.count() as u64,
            more: self.beyond.is_some(),
            frequent: Vec::new(),
            others: self.all - without,
            histogram: Vec::new(),
        };
        if is_identifier {
            return values;
        }
        let histogram = match self.beyond.take() {
            Some(beyond) => beyond.histogram.map(|(_, histogram)| histogram),
            None => {
                values.frequent = self.frequent(missing);
                values.others -= values.frequent.iter().map(|value| value.rows).sum::<u64>();
                self.histogram(kind.unwrap_or(Type::Text), missing)
            }
        };
        values.histogram = histogram.map(|histogram| histogram.bars()).unwrap_or_default();
        values
    }

    /// The most frequent values, in an order that says nothing about that of the rows.
    fn frequent(&self, missing: &[String]) -> Vec<ValueRows> {
        let mut values: Vec<(&str, u64)> =
            self.values_with_rows().filter(|(value, _)| !is_missing(value, missing)).collect();
        values.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        values.truncate(LISTED);
        let value = |(value, rows): (&str, u64)| ValueRows { value: told(value), rows };
        values.into_iter().map(value).collect()
    }
}

/// Whether a value means that there is none.
pub(super) fn is_missing(value: &str, missing: &[String]) -> bool {
    value.is_empty() || missing.iter().any(|token| token == value)
}
