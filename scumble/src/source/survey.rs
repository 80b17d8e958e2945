//! What one scan learns of each column without keeping the rows: its distinct values, or, of
//! numbers that may be parted anywhere, only their type and their ends. A simple random sample of
//! the rows is drawn on the way.
//!
//! Whether a column without a declared type holds numbers is known for certain only at the end. It
//! is taken for numbers as long as its values are; when one is not, [`Survey::of`] starts again
//! with the column's distinct values.

use super::ahead::spread;
use super::texts::texts;
use super::{Batch, Lines, Series, Source, ahead};
use crate::error::{Error, Place, Result};
use crate::random::Reservoir;
use crate::table::{Day, Dictionary, Moment, Type};
use crate::taxonomy::Hierarchy;
use crate::watch::Watch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What is wanted of a column.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// Nothing: it is not read.
    Nothing,
    /// It is a quasi-identifier, recoded in this way.
    Key {
        /// How its values are generalized.
        hierarchy: Hierarchy,
        /// The type that the policy states.
        kind: Option<Type>,
        /// Values that mean "missing".
        missing: Vec<String>,
    },
    /// It only travels with its row, as this type.
    Travels(DataType),
    /// Its values are counted, and it travels with its row.
    CountedAndTravels(DataType),
}

/// What was seen of a column.
#[derive(Debug)]
pub enum Seen {
    /// Nothing was wanted.
    Nothing,
    /// Numbers or days.
    Numbers {
        /// Their type; `None` where every value is missing.
        kind: Option<Type>,
        /// The least.
        least: f64,
        /// The greatest.
        greatest: f64,
        /// Whether some value is missing.
        missing: bool,
        /// Whether timestamps have a zone: all of them, or none.
        zone: Option<bool>,
    },
    /// Distinct values, and the rows with each.
    Values(Dictionary, Vec<u64>),
}

impl Seen {
    /// Memory, without what does not grow.
    fn bytes(&self) -> u64 {
        match self {
            Seen::Values(dictionary, rows) => dictionary.bytes() as u64 + 8 * rows.len() as u64,
            Seen::Nothing | Seen::Numbers { .. } => 0,
        }
    }
}

/// A file after a first scan.
#[derive(Debug)]
pub struct Survey {
    /// How many rows there are.
    pub rows: u64,
    /// What was seen of each column.
    pub columns: Vec<Seen>,
    /// For each column, the values of the sampled rows: bits of a number, or a code.
    pub sample: Vec<Vec<u64>>,
}

/// The bits that stand for a missing number.
pub(super) const MISSING: u64 = u64::MAX;

/// A value that showed that its column does not hold numbers.
struct NotNumbers(usize);

struct SurveyedColumn<'a> {
    name: &'a str,
    wanted: &'a Wanted,
    seen: Seen,
    sample: Vec<u64>,
}

impl Survey {
    /// Scans a source. The sample has at most `sampled` rows, and distinct values take no more than
    /// about `most_bytes`.
    pub fn of(
        source: &dyn Source,
        wanted: &[Wanted],
        (sampled, seed): (u64, u64),
        most_bytes: u64,
        watch: &Watch,
    ) -> Result<Survey> {
        let mut as_values = vec![false; wanted.len()];
        loop {
            match scan(source, wanted, &as_values, (sampled, seed, most_bytes), watch)? {
                Ok(survey) => return Ok(survey),
                Err(NotNumbers(column)) => as_values[column] = true,
            }
        }
    }
}

fn scan(
    source: &dyn Source,
    wanted: &[Wanted],
    as_values: &[bool],
    (sampled, seed, most_bytes): (u64, u64, u64),
    watch: &Watch,
) -> Result<Result<Survey, NotNumbers>> {
    let (names, file) = (source.names(), source.file());
    let seen = |(wanted, as_values): (&Wanted, &bool)| match wanted {
        Wanted::Nothing | Wanted::Travels(_) => Seen::Nothing,
        Wanted::Key { hierarchy: Hierarchy::None, kind, .. }
            if !*as_values && *kind != Some(Type::Text) =>
        {
            Seen::Numbers {
                kind: *kind,
                least: f64::INFINITY,
                greatest: f64::NEG_INFINITY,
                missing: false,
                zone: None,
            }
        }
        _ => Seen::Values(Dictionary::default(), Vec::new()),
    };
    let mut columns: Vec<SurveyedColumn<'_>> = wanted
        .iter()
        .zip(as_values)
        .zip(&names)
        .map(|((wanted, as_values), name)| SurveyedColumn {
            name,
            wanted,
            seen: seen((wanted, as_values)),
            sample: Vec::new(),
        })
        .collect();
    let read: Vec<bool> =
        columns.iter().map(|column| !matches!(column.seen, Seen::Nothing)).collect();
    let numbered: Vec<usize> = (0..columns.len()).filter(|column| read[*column]).collect();
    let mut rows = 0u64;
    let mut reservoir = Reservoir::new(sampled, seed);
    let batches = source.batches(&read)?;
    let wrong = ahead(batches, watch, |batches| {
        for batch in batches {
            let Batch { columns: series, rows: more, lines, total } = batch?;
            let places = if sampled > 0 { reservoir.places(more) } else { Vec::new() };
            rows += more as u64;
            watch.progress("survey", rows, total);
            let read = columns.iter_mut().filter(|column| !matches!(column.seen, Seen::Nothing));
            let outcomes = spread(read.zip(&series).collect(), |(column, series)| {
                column.see(series, &lines, &places, &file)
            });
            for (outcome, column) in outcomes.into_iter().zip(&numbered) {
                if !outcome? {
                    // Nothing more is learnt of a file that will be read again.
                    return Ok(Some(NotNumbers(*column)));
                }
            }
            if columns.iter().map(|column| column.seen.bytes()).sum::<u64>() > most_bytes {
                let what = "the distinct values of the table".into();
                return Err(Error::TooLittleMemory { what, instead: None });
            }
        }
        Ok(None)
    })?;
    if let Some(wrong) = wrong {
        return Ok(Err(wrong));
    }
    if rows == 0 {
        return Err(Error::EmptyTable { file });
    }
    let (seen, sample) = columns.into_iter().map(|column| (column.seen, column.sample)).unzip();
    Ok(Ok(Survey { rows, columns: seen, sample }))
}

impl SurveyedColumn<'_> {
    /// More values; false where they show that the column does not hold numbers.
    fn see(
        &mut self,
        series: &Series,
        lines: &Lines,
        places: &[(u32, u32)],
        file: &Path,
    ) -> Result<bool> {
        let broken = |source: ArrowError| Error::Columnar { file: PathBuf::from(file), source };
        let array = &series.to_array().map_err(broken)?;
        let SurveyedColumn { name, wanted, seen, sample } = self;
        match seen {
            Seen::Nothing => {}
            Seen::Values(dictionary, counts) => {
                let texts = texts(array).map_err(broken)?;
                let mut codes = Vec::with_capacity(texts.len());
                for row in 0..texts.len() {
                    let code = if texts.is_null(row) {
                        dictionary.encode_empty(lines.of(row))
                    } else {
                        dictionary.encode(texts.value(row), lines.of(row))
                    };
                    if code as usize == counts.len() {
                        counts.push(0);
                    }
                    counts[code as usize] += 1;
                    codes.push(code);
                }
                keep(sample, places, |row| u64::from(codes[row]));
            }
            Seen::Numbers { kind, least, greatest, missing, zone } => {
                let Wanted::Key { kind: declared, missing: tokens, .. } = wanted else {
                    return Ok(true);
                };
                let decoded = Decoded::new(array, tokens).map_err(broken)?;
                let found = match decoded.plain_integers(*declared) {
                    Some(numbers) => NumbersOfBatch::of_integers(numbers),
                    None => match NumbersOfBatch::of(&decoded, array.len(), *declared, *zone) {
                        Ok(found) => found,
                        Err(row) => {
                            return match (declared, decoded.value(row, *declared)) {
                                (Some(declared), value) => {
                                    let value = match value {
                                        NumberOrText::Other(text) => text.into_owned(),
                                        _ => decoded.text(row).map_err(broken)?,
                                    };
                                    Err(Error::WrongType {
                                        place: Place::file(file).line(lines.of(row)).column(*name),
                                        value,
                                        expected: declared.expected().into(),
                                    })
                                }
                                _ => Ok(false),
                            };
                        }
                    },
                };
                *kind = match (*kind, found.kind) {
                    (known, None) => known,
                    (None, found) => found,
                    (Some(known), Some(found)) if known == found => Some(known),
                    (Some(Type::Integer | Type::Real), Some(Type::Integer | Type::Real)) => {
                        Some(Type::Real)
                    }
                    _ => return Ok(false),
                };
                *least = least.min(found.least);
                *greatest = greatest.max(found.greatest);
                *missing |= found.missing;
                *zone = found.zone;
                keep(sample, places, |row| match decoded.value(row, *declared) {
                    NumberOrText::Number(_, number) => number.to_bits(),
                    NumberOrText::Missing | NumberOrText::Other(_) => MISSING,
                });
            }
        }
        Ok(true)
    }
}

/// Puts values into the sample; places are first filled in order.
fn keep(sample: &mut Vec<u64>, places: &[(u32, u32)], value: impl Fn(usize) -> u64) {
    for (row, place) in places {
        let value = value(*row as usize);
        match sample.get_mut(*place as usize) {
            Some(known) => *known = value,
            None => sample.push(value),
        }
    }
}

/// What a batch says of a column of numbers.
struct NumbersOfBatch {
    kind: Option<Type>,
    least: f64,
    greatest: f64,
    missing: bool,
    zone: Option<bool>,
}

impl NumbersOfBatch {
    fn of_integers(numbers: &[i64]) -> NumbersOfBatch {
        let ends = numbers
            .iter()
            .fold((i64::MAX, i64::MIN), |ends, number| (ends.0.min(*number), ends.1.max(*number)));
        NumbersOfBatch {
            kind: Some(Type::Integer),
            least: ends.0 as f64,
            greatest: ends.1 as f64,
            missing: false,
            zone: None,
        }
    }

    /// Value by value; an error is the row of one that is no number, or not of one type with those
    /// before it. Of timestamps either all have a zone or none has; `zone` is what is known of those
    /// before.
    fn of(
        decoded: &Decoded<'_>,
        rows: usize,
        declared: Option<Type>,
        zone: Option<bool>,
    ) -> Result<NumbersOfBatch, usize> {
        let mut found = NumbersOfBatch {
            kind: declared,
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
            missing: false,
            zone,
        };
        for row in 0..rows {
            match decoded.value(row, declared) {
                NumberOrText::Missing => found.missing = true,
                NumberOrText::Other(_) => return Err(row),
                NumberOrText::Number(kind, number) => {
                    found.kind = match (found.kind, kind) {
                        (None, kind) => Some(kind),
                        (Some(known), kind) if known == kind => Some(known),
                        (Some(Type::Integer | Type::Real), Type::Integer | Type::Real) => {
                            Some(Type::Real)
                        }
                        _ => return Err(row),
                    };
                    if kind == Type::Timestamp {
                        let zone = decoded.has_zone(row);
                        if *found.zone.get_or_insert(zone) != zone {
                            return Err(row);
                        }
                    }
                    found.least = found.least.min(number);
                    found.greatest = found.greatest.max(number);
                }
            }
        }
        // A declared type says nothing of a batch without numbers.
        found.kind = found.kind.filter(|_| found.least <= found.greatest || declared.is_some());
        Ok(found)
    }
}

/// A value of a column that may hold numbers.
pub(super) enum NumberOrText<'a> {
    Missing,
    Number(Type, f64),
    Other(Cow<'a, str>),
}

/// The values of an array, decoded without a detour over text where that gives the same.
pub(super) struct Decoded<'a> {
    values: Typed,
    tokens: &'a [String],
}

enum Typed {
    Integers(arrow_array::Int64Array),
    Reals(arrow_array::Float64Array),
    Days(arrow_array::Date32Array),
    Texts(StringArray),
}

/// Whole numbers up to here are exact.
const EXACT: u64 = 1 << 53;

impl<'a> Decoded<'a> {
    pub(super) fn new(array: &ArrayRef, tokens: &'a [String]) -> Result<Decoded<'a>, ArrowError> {
        let cast = |kind: &DataType| {
            cast_with_options(array, kind, &CastOptions { safe: false, ..CastOptions::default() })
        };
        let values = match array.data_type() {
            // Listed values are texts, and so are the values that they are compared with.
            _ if !tokens.is_empty() => Typed::Texts(texts(array)?),
            DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32 => {
                Typed::Integers(cast(&DataType::Int64)?.as_primitive::<Int64Type>().clone())
            }
            DataType::Float64 => Typed::Reals(array.as_primitive::<Float64Type>().clone()),
            DataType::Date32 => Typed::Days(array.as_primitive::<Date32Type>().clone()),
            _ => Typed::Texts(texts(array)?),
        };
        Ok(Decoded { values, tokens })
    }

    /// The values, where they are whole numbers, all there and all exact, and may be such.
    pub(super) fn plain_integers(&self, kind: Option<Type>) -> Option<&[i64]> {
        match &self.values {
            Typed::Integers(array)
                if array.null_count() == 0 && kind.is_none_or(|kind| kind == Type::Integer) =>
            {
                let numbers: &[i64] = array.values();
                let exact = |number: &i64| number.unsigned_abs() <= EXACT;
                (!numbers.is_empty() && numbers.iter().all(exact)).then_some(numbers)
            }
            _ => None,
        }
    }

    /// Whether a timestamp has a zone.
    fn has_zone(&self, row: usize) -> bool {
        match &self.values {
            Typed::Texts(array) => {
                Moment::read(array.value(row).trim()).is_some_and(|(_, zone)| zone)
            }
            _ => false,
        }
    }

    /// A value as a text.
    fn text(&self, row: usize) -> Result<String, ArrowError> {
        let array: &dyn Array = match &self.values {
            Typed::Integers(array) => array,
            Typed::Reals(array) => array,
            Typed::Days(array) => array,
            Typed::Texts(array) => array,
        };
        Ok(texts(&array.slice(row, 1))?.value(0).to_string())
    }

    /// A value; `kind` is the type that it should have, any where there is none.
    pub(super) fn value(&self, row: usize, kind: Option<Type>) -> NumberOrText<'_> {
        let fits = |found: Type| match kind {
            None => true,
            Some(Type::Real) => matches!(found, Type::Integer | Type::Real),
            Some(kind) => kind == found,
        };
        match &self.values {
            Typed::Integers(array) if array.is_null(row) => NumberOrText::Missing,
            Typed::Integers(array) => {
                let number = array.value(row);
                if number.unsigned_abs() <= EXACT && fits(Type::Integer) {
                    NumberOrText::Number(Type::Integer, number as f64)
                } else {
                    NumberOrText::Other(number.to_string().into())
                }
            }
            Typed::Reals(array) if array.is_null(row) => NumberOrText::Missing,
            Typed::Reals(array) => match array.value(row) {
                number if number.is_finite() && fits(Type::Real) => {
                    NumberOrText::Number(Type::Real, number)
                }
                number => NumberOrText::Other(number.to_string().into()),
            },
            Typed::Days(array) if array.is_null(row) => NumberOrText::Missing,
            Typed::Days(array) => {
                if fits(Type::Date) {
                    NumberOrText::Number(Type::Date, f64::from(array.value(row)))
                } else {
                    NumberOrText::Other(Day(array.value(row)).to_string().into())
                }
            }
            Typed::Texts(array) => {
                let text = if array.is_null(row) { "" } else { array.value(row) };
                if text.is_empty() || self.tokens.iter().any(|token| token == text) {
                    return NumberOrText::Missing;
                }
                let number =
                    |kind: Type| kind.number(text).map(|number| NumberOrText::Number(kind, number));
                let found = match kind {
                    Some(kind) => number(kind),
                    None => number(Type::Integer)
                        .or_else(|| number(Type::Real))
                        .or_else(|| number(Type::Date))
                        .or_else(|| number(Type::Timestamp)),
                };
                found.unwrap_or(NumberOrText::Other(text.into()))
            }
        }
    }
}
