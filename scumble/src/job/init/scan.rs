//! What is in each column? One pass in bounded memory.
//!
//! The distinct values of a column are counted up to a limit. A column with more of them is only
//! measured from then on: the number of distinct values is estimated from the 2048 smallest hashes
//! of its values (the k-th smallest of n uniform hashes is about k/n; the standard error is 2 %),
//! types that no longer fit are dropped, and what else is asked is answered by the sample. The
//! sample is a simple random sample of rows, drawn with a fixed seed, so the same table always
//! gives the same answers.

use crate::error::{Error, Result};
use crate::random::Reservoir;
use crate::source::{Batch, Codes, Form, Lines, Series, Source, Texts, ahead, has_text, spread};
use crate::table::{Detected, Dictionary, Notation, Type};
use crate::watch::Watch;
use arrow_schema::{ArrowError, DataType};
use rustc_hash::FxHasher;
use std::collections::{BTreeSet, HashSet};
use std::hash::Hasher;

/// The maximum number of sampled rows, and of sampled values of all columns together.
const SAMPLED_ROWS: u64 = 20_000;
const SAMPLED_VALUES: u64 = 1_200_000;

/// The maximum number of distinct values that are counted in all columns together, and how much
/// memory they may take.
const COUNTED_VALUES: usize = 1_000_000;
const COUNTED_BYTES: usize = 128 << 20;

/// Hashes that an estimate of the number of distinct values is made from.
const HASHES: usize = 2048;

/// A table after the pass.
pub(super) struct Scan {
    /// The number of rows.
    pub(super) rows: u64,
    /// The number of sampled rows.
    pub(super) sampled: usize,
    /// The columns, in the order of the table.
    pub(super) columns: Vec<Profile>,
}

/// What is known of a column.
pub(super) struct Profile {
    /// The name.
    pub(super) name: String,
    /// Whether its format knows numbers and dates, and this column is text nevertheless.
    pub(super) is_declared_text: bool,
    /// Its values; none if they have no text form.
    pub(super) values: Option<Values>,
}

/// The values of a column.
pub(super) struct Values {
    /// All distinct values, or those of the sampled rows.
    pub(super) dictionary: Dictionary,
    /// The rows with each of them: of all rows, or of the sampled ones.
    pub(super) counts: Vec<u64>,
    /// Which of them mean "missing".
    pub(super) is_missing: Vec<bool>,
    /// Whether these are all distinct values.
    pub(super) is_all: bool,
    /// The number of distinct values that are not missing; an estimate unless these are all.
    pub(super) distinct: u64,
    /// The number of rows with a value.
    pub(super) present: u64,
    /// Type, notation, and values that seem to mean "missing".
    pub(super) detected: Detected,
    /// The least and the greatest number (or day), if the column has numbers.
    pub(super) ends: Option<(f64, f64)>,
    /// The values of the sampled rows.
    pub(super) sample: Vec<u32>,
}

impl Values {
    /// The codes of values that are not missing.
    pub(super) fn codes(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.dictionary.len() as u32).filter(|code| !self.is_missing[*code as usize])
    }

    /// The number of a value.
    pub(super) fn number(&self, code: u32) -> Option<f64> {
        number(self.detected.kind, self.detected.notation.as_ref(), self.dictionary.value(code))
    }

    /// The share of rows (with a value) whose value has a property.
    pub(super) fn share(&self, mut has: impl FnMut(&str) -> bool) -> f64 {
        let (mut with, mut all) = (0, 0);
        for code in self.codes() {
            let rows = self.counts[code as usize];
            all += rows;
            with += if has(self.dictionary.value(code)) { rows } else { 0 };
        }
        if all == 0 { 0.0 } else { with as f64 / all as f64 }
    }

    /// Distinct values for each row with a value, at most 1.
    pub(super) fn distinct_share(&self) -> f64 {
        (self.distinct as f64 / self.present.max(1) as f64).min(1.0)
    }
}

/// The number that a value of a type stands for.
fn number(kind: Type, notation: Option<&Notation>, value: &str) -> Option<f64> {
    match notation {
        Some(notation) => kind.number(&notation.plain(value)?),
        None => kind.number(value),
    }
}

/// Reads a source once.
pub(super) fn scan(source: &dyn Source, watch: &Watch) -> Result<Scan> {
    let schema = source.schema();
    let width = schema.fields().len() as u64;
    let limit = Limit::of(schema.fields().len());
    let most = (SAMPLED_VALUES / width.max(1)).clamp(1000, SAMPLED_ROWS);
    let mut reservoir = Reservoir::new(most, 0);
    let is_wanted = schema.fields().iter().map(|field| has_text(field.data_type()));
    let forms: Vec<Form> =
        is_wanted.map(|wanted| if wanted { Form::Coded } else { Form::Skipped }).collect();
    let mut columns: Vec<Growing> =
        forms.iter().filter(|form| **form == Form::Coded).map(|_| Growing::default()).collect();
    let mut rows = 0u64;
    ahead(source.read(&forms)?, watch, |batches| {
        for batch in batches {
            let Batch { columns: series, rows: more, lines, total } = batch?;
            let places = reservoir.places(more);
            rows += more as u64;
            watch.progress("read", rows, total);
            let pairs = columns.iter_mut().zip(&series).collect();
            let seen = spread(pairs, |(column, series): (&mut Growing, &Series)| {
                column.see(series, &lines, &places, limit)
            });
            let broken = |error| Error::Columnar { file: source.file(), source: error };
            seen.into_iter().collect::<Result<(), ArrowError>>().map_err(broken)?;
        }
        Ok(())
    })?;
    if rows == 0 {
        return Err(Error::EmptyTable { file: source.file() });
    }
    let is_untyped = source.is_all_text();
    let mut columns = columns.into_iter();
    let profile = |(field, form): (&arrow_schema::FieldRef, &Form)| Profile {
        name: field.name().clone(),
        is_declared_text: !is_untyped && is_text(field.data_type()),
        values: (*form == Form::Coded).then(|| columns.next()).flatten().map(Growing::finish),
    };
    let columns: Vec<Profile> = schema.fields().iter().zip(&forms).map(profile).collect();
    Ok(Scan { rows, sampled: rows.min(most) as usize, columns })
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// How much of a column is counted value by value.
#[derive(Clone, Copy)]
struct Limit {
    values: usize,
    bytes: usize,
}

impl Limit {
    fn of(columns: usize) -> Limit {
        let columns = columns.max(1);
        Limit {
            values: (COUNTED_VALUES / columns).clamp(2000, 100_000),
            bytes: (COUNTED_BYTES / columns).max(1 << 18),
        }
    }
}

/// A column while it is read.
enum Growing {
    /// Its distinct values are counted.
    Counted { codes: Box<Codes>, counts: Vec<u64>, sample: Vec<u32> },
    /// It has too many of them.
    Measured(Box<Measured>),
}

impl Default for Growing {
    fn default() -> Growing {
        Growing::Counted { codes: Box::default(), counts: Vec::new(), sample: Vec::new() }
    }
}

impl Growing {
    /// More values; `places` has the rows that are sampled, each with its place in the sample.
    fn see(
        &mut self,
        series: &Series,
        lines: &Lines,
        places: &[(u32, u32)],
        limit: Limit,
    ) -> Result<(), ArrowError> {
        match self {
            Growing::Counted { codes, counts, sample } => {
                let mut batch = Vec::with_capacity(series.len());
                codes.encode(series, lines, &mut batch)?;
                counts.resize(codes.dictionary().len(), 0);
                batch.iter().for_each(|code| counts[*code as usize] += 1);
                keep(sample, places, |row| batch[row]);
                let (values, bytes) = (codes.dictionary().len(), codes.dictionary().bytes());
                if values > limit.values || bytes > limit.bytes {
                    *self = Growing::Measured(Box::new(Measured::new(
                        codes.dictionary(),
                        counts,
                        sample,
                    )));
                }
            }
            Growing::Measured(measured) => {
                let texts = Texts::of(series)?;
                (0..series.len()).for_each(|row| measured.see(texts.get(row)));
                keep(&mut measured.sample, places, |row| texts.get(row).into());
            }
        }
        Ok(())
    }

    fn finish(self) -> Values {
        match self {
            Growing::Counted { codes, counts, sample } => {
                let dictionary = codes.into_dictionary();
                let detected = detect(&dictionary);
                let mut values = Values::of(dictionary, counts, sample, detected);
                values.is_all = true;
                values
            }
            Growing::Measured(measured) => measured.finish(),
        }
    }
}

/// Puts values into a sample; places are first filled in order.
fn keep<T>(sample: &mut Vec<T>, places: &[(u32, u32)], value: impl Fn(usize) -> T) {
    for (row, place) in places {
        let value = value(*row as usize);
        match sample.get_mut(*place as usize) {
            Some(known) => *known = value,
            None => sample.push(value),
        }
    }
}

/// Type and notation of distinct values. Values of spaces alone are missing: a number may have
/// spaces around it, but not nothing else.
fn detect(dictionary: &Dictionary) -> Detected {
    let mut detected = Detected::of(dictionary.values());
    let blank = dictionary.values().filter(|value| !value.is_empty() && value.trim().is_empty());
    detected.missing.extend(blank.map(str::to_string));
    detected
}

impl Values {
    /// The values of a dictionary, as if they were all.
    fn of(
        dictionary: Dictionary,
        counts: Vec<u64>,
        sample: Vec<u32>,
        detected: Detected,
    ) -> Values {
        let tokens: HashSet<&str> = detected.missing.iter().map(String::as_str).collect();
        let is_missing: Vec<bool> =
            dictionary.values().map(|value| value.is_empty() || tokens.contains(value)).collect();
        let mut values = Values {
            distinct: is_missing.iter().filter(|missing| !**missing).count() as u64,
            present: 0,
            is_all: false,
            ends: None,
            dictionary,
            counts,
            is_missing,
            detected,
            sample,
        };
        values.present = values.codes().map(|code| values.counts[code as usize]).sum();
        let numbers = values.codes().filter_map(|code| values.number(code));
        values.ends = numbers.fold(None, widened);
        values
    }
}

/// The ends of numbers, with one more.
fn widened(ends: Option<(f64, f64)>, number: f64) -> Option<(f64, f64)> {
    let (least, greatest) = ends.unwrap_or((number, number));
    Some((least.min(number), greatest.max(number)))
}

/// A column with too many distinct values to count each.
struct Measured {
    /// The smallest hashes.
    smallest: BTreeSet<u64>,
    /// What the values that were counted looked like.
    first: Detected,
    /// Types and notations that fit every value so far.
    fitting: Vec<(Type, Option<Notation>)>,
    ends: Option<(f64, f64)>,
    /// The first timestamp: others must have a zone if it has one.
    first_time: Option<String>,
    /// Rows with a value.
    present: u64,
    /// Values that seem to mean "missing".
    missing: BTreeSet<String>,
    sample: Vec<Box<str>>,
}

/// The longest text that may mean "missing".
const LONGEST_TOKEN: usize = 16;

impl Measured {
    fn new(dictionary: &Dictionary, counts: &[u64], sample: &[u32]) -> Measured {
        let first = detect(dictionary);
        let mut fitting = Vec::new();
        let of_kind = |kind: Type, notation: Option<&Notation>| match kind {
            Type::Text => Vec::new(),
            // Integers may turn out to be reals.
            Type::Integer => {
                [Type::Integer, Type::Real].map(|kind| (kind, notation.cloned())).into()
            }
            kind => vec![(kind, notation.cloned())],
        };
        fitting.extend(of_kind(first.kind, first.notation.as_ref()));
        for notation in &first.possible {
            fitting.extend(of_kind(notation.kind().unwrap_or(Type::Integer), Some(notation)));
        }
        let mut measured = Measured {
            smallest: BTreeSet::new(),
            missing: first.missing.iter().cloned().collect(),
            first,
            fitting,
            ends: None,
            first_time: None,
            present: 0,
            sample: sample.iter().map(|code| dictionary.value(*code).into()).collect(),
        };
        for (value, rows) in dictionary.values().zip(counts) {
            measured.see(value);
            let is_present = !value.is_empty() && !measured.missing.contains(value);
            measured.present += if is_present { rows - 1 } else { 0 };
        }
        measured
    }

    /// One more value.
    fn see(&mut self, value: &str) {
        if value.is_empty() || value.len() <= LONGEST_TOKEN && self.missing.contains(value) {
            return;
        }
        let parsed =
            |(kind, notation): &(Type, Option<Notation>)| number(*kind, notation.as_ref(), value);
        let mut fits: Vec<Option<f64>> = self.fitting.iter().map(parsed).collect();
        if let ([(Type::Timestamp, None), ..], [fits @ Some(_), ..]) =
            (&self.fitting[..], &mut fits[..])
        {
            let first = self.first_time.get_or_insert_with(|| value.to_string());
            *fits =
                fits.filter(|_| Type::mixed_zone([first.as_str(), value].into_iter()).is_none());
        }
        let fitting = fits.iter().flatten().next();
        if fitting.is_none() && value.len() <= LONGEST_TOKEN {
            let alone = detect_one(value);
            if alone {
                self.missing.insert(value.to_string());
                return;
            }
        }
        if let Some(number) = fitting {
            self.ends = widened(self.ends, *number);
        }
        if fits.contains(&None) {
            let mut fits = fits.iter();
            self.fitting.retain(|_| fits.next().is_some_and(Option::is_some));
        }
        self.present += 1;
        let hash = hash(value);
        if self.smallest.len() < HASHES {
            self.smallest.insert(hash);
        } else if self.smallest.last().is_some_and(|last| hash < *last)
            && self.smallest.insert(hash)
        {
            self.smallest.pop_last();
        }
    }

    /// The number of distinct values, estimated.
    fn distinct(&self) -> u64 {
        match self.smallest.last() {
            Some(last) if self.smallest.len() >= HASHES => {
                let share = *last as f64 / 2f64.powi(64);
                ((HASHES - 1) as f64 / share).round() as u64
            }
            _ => self.smallest.len() as u64,
        }
    }

    fn finish(self) -> Values {
        let distinct = self.distinct().min(self.present);
        let (mut dictionary, mut counts, mut sample) =
            (Dictionary::default(), Vec::new(), Vec::new());
        for value in &self.sample {
            let code = dictionary.encode(value, 0);
            counts.resize(dictionary.len(), 0);
            counts[code as usize] += 1;
            sample.push(code);
        }
        let mut notations: Vec<&Option<Notation>> = Vec::new();
        for (_, notation) in &self.fitting {
            if !notations.contains(&notation) {
                notations.push(notation);
            }
        }
        let mut detected = match (&self.fitting[..], notations.len()) {
            ([(kind, notation), ..], 1) => {
                let doubt = self.first.doubt.clone().filter(|_| self.first.kind == *kind);
                let (kind, notation) = (*kind, notation.clone());
                Detected { kind, notation, doubt, ..self.first.clone() }
            }
            ([], _) if self.first.kind != Type::Text || !self.first.possible.is_empty() => {
                let doubt = "some values are not written like the first ones, so it is text; look \
                             for mistakes";
                let (kind, notation) = (Type::Text, None);
                Detected { kind, notation, doubt: Some(doubt.into()), ..self.first.clone() }
            }
            _ => self.first.clone(),
        };
        detected.missing = self.missing.into_iter().collect();
        if notations.len() <= 1 {
            detected.possible = Vec::new();
        }
        let mut values = Values::of(dictionary, counts, sample, detected);
        (values.distinct, values.present, values.ends) = (distinct, self.present, self.ends);
        values
    }
}

/// Whether a text means "missing" by itself.
fn detect_one(value: &str) -> bool {
    value.trim().is_empty() || !Detected::of(std::iter::once(value)).missing.is_empty()
}

/// A hash whose bits are all mixed.
fn hash(value: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(value.as_bytes());
    let hash = hasher.finish();
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(values: &[&str]) -> Measured {
        let mut dictionary = Dictionary::default();
        for value in values {
            dictionary.encode(value, 1);
        }
        Measured::new(&dictionary, &vec![1; dictionary.len()], &[0])
    }

    #[test]
    fn distinct_values_are_estimated_within_a_few_percent() {
        let mut column = measured(&["0"]);
        for number in 0..300_000u32 {
            column.see(&(number / 3).to_string());
        }
        let estimate = column.distinct() as f64;
        assert!((estimate / 100_000.0 - 1.0).abs() < 0.08, "{estimate}");
        assert_eq!(column.ends, Some((0.0, 99_999.0)));
        assert_eq!(column.finish().detected.kind, Type::Integer);
    }

    #[test]
    fn later_values_change_the_type() {
        let kind = |first: &[&str], later: &[&str]| {
            let mut column = measured(first);
            later.iter().for_each(|value| column.see(value));
            let values = column.finish();
            (values.detected.kind, values.detected.notation.is_some(), values.detected.missing)
        };
        assert_eq!(kind(&["1"], &["2.5"]), (Type::Real, false, vec![]));
        assert_eq!(kind(&["1"], &["x1"]), (Type::Text, false, vec![]));
        assert_eq!(kind(&["1"], &["NA", "2"]), (Type::Integer, false, vec!["NA".to_string()]));
        assert_eq!(kind(&["01.02.2000"], &["31.12.2000"]), (Type::Date, true, vec![]));
        assert_eq!(kind(&["01.02.2000"], &["02.01.2000"]), (Type::Text, false, vec![]));
    }
}
