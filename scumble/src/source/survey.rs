//! What one scan learns of each column without keeping the rows: its distinct values, or, of numbers that may be parted
//! anywhere, only their type and their ends. A simple random sample of the rows is drawn on the way.
//!
//! Whether a column without a declared type holds numbers is known for certain only at the end. It is taken for numbers
//! as long as its values are; when one is not, [`Survey::of`] starts again with the column's distinct values.

use super::texts::texts;
use super::{Batch, Lines, Source, ahead};
use crate::error::{Error, Place, Result};
use crate::random::Random;
use crate::table::{Dictionary, Type};
use crate::taxonomy::Hierarchy;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
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
    /// Its values are counted.
    Counted,
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
    },
    /// Distinct values, and the rows with each.
    Values(Dictionary, Vec<u64>),
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

struct Column<'a> {
    name: &'a str,
    wanted: &'a Wanted,
    seen: Seen,
    sample: Vec<u64>,
}

impl Survey {
    /// Scans a file; `open` opens it, `sampled` is the most rows that the sample has.
    pub fn of(open: impl Fn() -> Result<Source>, wanted: &[Wanted], sampled: u64, seed: u64) -> Result<Survey> {
        let mut as_values = vec![false; wanted.len()];
        loop {
            match scan(open()?, wanted, &as_values, sampled as usize, seed)? {
                Ok(survey) => return Ok(survey),
                Err(NotNumbers(column)) => as_values[column] = true,
            }
        }
    }
}

fn scan(
    source: Source,
    wanted: &[Wanted],
    as_values: &[bool],
    sampled: usize,
    seed: u64,
) -> Result<Result<Survey, NotNumbers>> {
    let names: Vec<String> = source.names().map(str::to_string).collect();
    let file = source.file().to_path_buf();
    let seen = |(wanted, as_values): (&Wanted, &bool)| match wanted {
        Wanted::Nothing | Wanted::Travels(_) => Seen::Nothing,
        Wanted::Key { hierarchy: Hierarchy::None, kind, .. } if !*as_values && *kind != Some(Type::Text) => {
            Seen::Numbers { kind: *kind, least: f64::INFINITY, greatest: f64::NEG_INFINITY, missing: false }
        }
        _ => Seen::Values(Dictionary::default(), Vec::new()),
    };
    let mut columns: Vec<Column<'_>> = wanted
        .iter()
        .zip(as_values)
        .zip(&names)
        .map(|((wanted, as_values), name)| Column { name, wanted, seen: seen((wanted, as_values)), sample: Vec::new() })
        .collect();
    let read: Vec<bool> = columns.iter().map(|column| !matches!(column.seen, Seen::Nothing)).collect();
    let numbered: Vec<usize> = (0..columns.len()).filter(|column| read[*column]).collect();
    let mut rows = 0u64;
    let mut random = Random::new(seed);
    let batches = source.batches(&read)?;
    let wrong = ahead(batches, |batches| {
        for batch in batches {
            let Batch { columns: arrays, lines, .. } = batch?;
            let slots = slots(&mut random, rows, arrays.first().map_or(0, |array| array.len()), sampled);
            rows += slots.len() as u64;
            let mut read: Vec<&mut Column<'_>> =
                columns.iter_mut().filter(|column| !matches!(column.seen, Seen::Nothing)).collect();
            let outcomes: Vec<Result<bool>> = read
                .par_iter_mut()
                .zip(&arrays)
                .map(|(column, array)| column.see(array, &lines, &slots, &file))
                .collect();
            for (outcome, column) in outcomes.into_iter().zip(&numbered) {
                if !outcome? {
                    // Nothing more is learnt of a file that will be read again.
                    return Ok(Some(NotNumbers(*column)));
                }
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

/// Where each row of a batch goes in the sample, if anywhere (Vitter's algorithm R).
fn slots(random: &mut Random, before: u64, rows: usize, sampled: usize) -> Vec<Option<u32>> {
    let slot = |row: usize| {
        let seen = before + row as u64;
        let slot = if seen < sampled as u64 { seen } else { random.below(seen + 1) };
        (slot < sampled as u64).then_some(slot as u32)
    };
    (0..rows).map(slot).collect()
}

impl Column<'_> {
    /// More values; false where they show that the column does not hold numbers.
    fn see(&mut self, array: &ArrayRef, lines: &Lines, slots: &[Option<u32>], file: &Path) -> Result<bool> {
        let broken = |source: ArrowError| Error::Columnar { file: PathBuf::from(file), source };
        let Column { name, wanted, seen, sample } = self;
        let mut put = |row: usize, value: u64| {
            if let Some(slot) = slots[row] {
                match sample.get_mut(slot as usize) {
                    Some(known) => *known = value,
                    // Slots are first filled in order.
                    None => sample.push(value),
                }
            }
        };
        match seen {
            Seen::Nothing => {}
            Seen::Values(dictionary, counts) => {
                let texts = texts(array).map_err(broken)?;
                for row in 0..texts.len() {
                    let code = match texts.is_null(row) {
                        true => dictionary.encode_empty(lines.of(row)),
                        false => dictionary.encode(texts.value(row), lines.of(row)),
                    };
                    if code as usize == counts.len() {
                        counts.push(0);
                    }
                    counts[code as usize] += 1;
                    put(row, u64::from(code));
                }
            }
            Seen::Numbers { kind, least, greatest, missing } => {
                let Wanted::Key { kind: declared, missing: tokens, .. } = wanted else { return Ok(true) };
                let place = |row: usize| Place::file(file).line(lines.of(row)).column(*name);
                let wrong = |row: usize, kind: Type, value: &str| Error::WrongType {
                    place: place(row),
                    value: value.to_string(),
                    expected: kind.expected(),
                };
                let mut decoded = Decoded::new(array, tokens).map_err(broken)?;
                for row in 0..array.len() {
                    let (found, number) = match decoded.value(row, *declared) {
                        Value::Missing => {
                            *missing = true;
                            put(row, MISSING);
                            continue;
                        }
                        Value::Number(found, number) => (found, number),
                        Value::Other(text) => match declared {
                            Some(declared) => return Err(wrong(row, *declared, text)),
                            None => return Ok(false),
                        },
                    };
                    *kind = match (*kind, found) {
                        (None, found) => Some(found),
                        (Some(known), found) if known == found => Some(known),
                        (Some(Type::Integer | Type::Real), Type::Integer | Type::Real) => Some(Type::Real),
                        _ => return Ok(false),
                    };
                    *least = least.min(number);
                    *greatest = greatest.max(number);
                    put(row, number.to_bits());
                }
            }
        }
        Ok(true)
    }
}

/// A value of a column that may hold numbers.
pub(super) enum Value<'a> {
    Missing,
    Number(Type, f64),
    Other(&'a str),
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
        let cast =
            |kind: &DataType| cast_with_options(array, kind, &CastOptions { safe: false, ..CastOptions::default() });
        let values = match array.data_type() {
            // Listed values are texts, and so are the values that they are compared with.
            _ if !tokens.is_empty() => Typed::Texts(texts(array)?),
            DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32 => Typed::Integers(cast(&DataType::Int64)?.as_primitive::<Int64Type>().clone()),
            DataType::Float64 => Typed::Reals(array.as_primitive::<Float64Type>().clone()),
            DataType::Date32 => Typed::Days(array.as_primitive::<Date32Type>().clone()),
            _ => Typed::Texts(texts(array)?),
        };
        Ok(Decoded { values, tokens })
    }

    /// A value; `kind` is the type that it should have, any where there is none.
    pub(super) fn value(&mut self, row: usize, kind: Option<Type>) -> Value<'_> {
        let fits = |found: Type| match kind {
            None => true,
            Some(Type::Real) => found != Type::Date,
            Some(kind) => kind == found,
        };
        match &self.values {
            Typed::Integers(array) if array.is_null(row) => Value::Missing,
            Typed::Integers(array) => {
                let number = array.value(row);
                match number.unsigned_abs() <= EXACT && fits(Type::Integer) {
                    true => Value::Number(Type::Integer, number as f64),
                    false => Value::Other("a whole number"),
                }
            }
            Typed::Reals(array) if array.is_null(row) => Value::Missing,
            Typed::Reals(array) => match array.value(row) {
                number if number.is_finite() && fits(Type::Real) => Value::Number(Type::Real, number),
                _ => Value::Other("a real number"),
            },
            Typed::Days(array) if array.is_null(row) => Value::Missing,
            Typed::Days(array) => match fits(Type::Date) {
                true => Value::Number(Type::Date, f64::from(array.value(row))),
                false => Value::Other("a date"),
            },
            Typed::Texts(array) => {
                let text = if array.is_null(row) { "" } else { array.value(row) };
                if text.is_empty() || self.tokens.iter().any(|token| token == text) {
                    return Value::Missing;
                }
                let number = |kind: Type| kind.number(text).map(|number| Value::Number(kind, number));
                let found = match kind {
                    Some(kind) => number(kind),
                    None => number(Type::Integer).or_else(|| number(Type::Real)).or_else(|| number(Type::Date)),
                };
                found.unwrap_or(Value::Other(text))
            }
        }
    }
}
