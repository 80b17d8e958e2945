//! Columns that are passed on as they came, by number.
//!
//! A column of a Parquet or Arrow file comes as arrays. Most columns have few distinct values. Each
//! is looked up and stored once; what follows compares, sorts and copies numbers.

use super::bits::{self, Bits};
use super::texts::{Codes, Texts};
use super::{BATCH_ROWS, Lines};
use crate::table::{Passed, RowNumbers};
use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, UInt32Array, new_null_array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::{concat::concat, take::take};
use std::sync::Arc;

/// The distinct values of a column that is passed on.
#[derive(Debug)]
pub(super) enum Recurring {
    Texts(Codes),
    /// With the arrays of all values, in the order of their numbers.
    Bits(Bits, Vec<ArrayRef>),
}

pub(super) fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, value) => is_text(value),
        _ => false,
    }
}

impl Recurring {
    /// For a column of this type; `None` if its values cannot be numbered.
    pub(super) fn new(kind: &DataType) -> Option<Recurring> {
        match kind {
            kind if is_text(kind) => Some(Recurring::Texts(Codes::default())),
            kind => Bits::new(kind).map(|bits| Recurring::Bits(bits, Vec::new())),
        }
    }

    /// Whether values recur often enough in so many rows.
    fn recurs(&self, rows: usize) -> bool {
        match self {
            Recurring::Texts(codes) => bits::recur(codes.dictionary().len(), rows),
            Recurring::Bits(bits, _) => bits.recur(),
        }
    }

    /// Adds the numbers of more rows.
    fn add(&mut self, array: &ArrayRef, numbers: &mut Vec<u32>) -> Result<(), ArrowError> {
        match self {
            Recurring::Texts(codes) => {
                let start = numbers.len();
                codes.encode_texts(&Texts::of_array(array)?, &Lines::From(1), numbers);
                let added = &mut numbers[start..];
                added.iter_mut().for_each(|number| *number += 1);
                if let Some(nulls) = array.logical_nulls() {
                    let rows = added.iter_mut().zip(&nulls).filter(|(_, is_valid)| !is_valid);
                    rows.for_each(|(number, _)| *number = 0);
                }
            }
            Recurring::Bits(bits, values) => {
                let new = bits.add(array, numbers)?;
                if !new.is_empty() {
                    values.push(take(array, &UInt32Array::from(new), None)?);
                }
            }
        }
        Ok(())
    }

    /// A null, and the values in the order of their numbers.
    fn values(&self, kind: &DataType) -> Result<ArrayRef, ArrowError> {
        match self {
            Recurring::Texts(codes) => {
                let values = codes.dictionary().values();
                let bytes: usize = values.clone().map(str::len).sum();
                let all = std::iter::once(None).chain(values.map(Some));
                Ok(if i32::try_from(bytes).is_ok() {
                    Arc::new(all.collect::<StringArray>())
                } else {
                    Arc::new(all.collect::<LargeStringArray>())
                })
            }
            Recurring::Bits(_, values) => {
                let null = new_null_array(kind, 1);
                let all = std::iter::once(&null).chain(values);
                concat(&all.map(AsRef::as_ref).collect::<Vec<&dyn Array>>())
            }
        }
    }
}

/// A column that is passed on, while it is read.
#[derive(Debug)]
pub(super) struct Passing {
    kind: DataType,
    /// The values and the number of each row, as long as values recur.
    recurring: Option<(Recurring, Vec<u32>)>,
    arrays: Vec<ArrayRef>,
}

impl Passing {
    pub(super) fn new(kind: &DataType) -> Passing {
        let recurring = Recurring::new(kind).map(|recurring| (recurring, Vec::new()));
        Passing { kind: kind.clone(), recurring, arrays: Vec::new() }
    }

    /// For texts that hardly recur.
    pub(super) fn plain() -> Passing {
        Passing { kind: DataType::Utf8, recurring: None, arrays: Vec::new() }
    }

    /// Takes more rows.
    pub(super) fn push(&mut self, array: ArrayRef) -> Result<(), ArrowError> {
        let Some((recurring, numbers)) = &mut self.recurring else {
            self.arrays.push(array);
            return Ok(());
        };
        let rows = numbers.len();
        if recurring.add(&array, numbers).is_err() {
            // Texts that are too long to be looked up.
            numbers.truncate(rows);
            self.spell()?;
            self.arrays.push(array);
        } else if !recurring.recurs(numbers.len()) {
            self.spell()?;
        }
        Ok(())
    }

    /// Makes arrays of the rows so far: their values do not recur.
    fn spell(&mut self) -> Result<(), ArrowError> {
        let Some((recurring, numbers)) = self.recurring.take() else { return Ok(()) };
        let values = recurring.values(&self.kind)?;
        for numbers in numbers.chunks(BATCH_ROWS) {
            self.arrays.push(take(&values, &UInt32Array::from(numbers.to_vec()), None)?);
        }
        Ok(())
    }

    /// The column when all rows have been read.
    pub(super) fn finish(self) -> Result<Passed, ArrowError> {
        match self.recurring {
            Some((recurring, numbers)) => {
                let values = recurring.values(&self.kind)?;
                Ok(Passed::Numbered { numbers: RowNumbers::new(numbers, values.len()), values })
            }
            None => Ok(Passed::Arrays(self.arrays)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use arrow_array::types::{Int8Type, Int32Type};
    use arrow_array::{
        BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array,
        Int64Array, StringViewArray,
    };
    use arrow_cast::cast;

    /// Columns of all types that are passed on, with nulls, empty texts and odd numbers.
    fn arrays(random: &mut Random, rows: usize, values: u64) -> Vec<ArrayRef> {
        let drawn: Vec<Option<u64>> =
            (0..rows).map(|_| (random.below(9) > 0).then(|| random.below(values))).collect();
        let all = || drawn.iter().copied();
        let float = |number: u64| match number {
            0 => -0.0,
            1 => 0.0,
            2 => f64::NAN,
            3 => -f64::NAN,
            number => number as f64 - 7.5,
        };
        let text = |number: u64| match number {
            0 => String::new(),
            number => format!("{}{}", ["b", "", "\u{e9}", "ba"][number as usize % 4], number),
        };
        let texts = || all().map(|one| one.map(text));
        let plain = StringArray::from_iter(texts());
        let short: Vec<Option<String>> = all().map(|one| one.map(|one| text(one % 100))).collect();
        vec![
            Arc::new(Int64Array::from_iter(all().map(|one| one.map(|one| one as i64 - 3)))),
            Arc::new(Date32Array::from_iter(all().map(|one| one.map(|one| one as i32 - 3)))),
            Arc::new(Float64Array::from_iter(all().map(|one| one.map(float)))),
            Arc::new(BooleanArray::from_iter(all().map(|one| one.map(|one| one % 2 == 0)))),
            Arc::new(Decimal128Array::from_iter(
                all().map(|one| one.map(|one| i128::from(one) << 70 | 5)),
            )),
            cast(&plain, &DataType::LargeUtf8).unwrap(),
            Arc::new(StringViewArray::from_iter(texts())),
            Arc::new(plain.iter().collect::<DictionaryArray<Int32Type>>()),
            Arc::new(short.iter().map(Option::as_deref).collect::<DictionaryArray<Int8Type>>()),
            Arc::new(BinaryArray::from_iter(texts())),
            Arc::new(plain),
        ]
    }

    /// What comes out is what went in, bit by bit, whether values recur or not.
    #[test]
    fn columns_come_out_as_they_went_in() {
        let mut random = Random::new(2);
        let mut spelled = 0;
        for (rows, values) in [(0, 1), (1, 1), (400, 3), (3000, 400), (90_000, 80_000)] {
            for array in arrays(&mut random, rows, values) {
                let mut passing = Passing::new(array.data_type());
                let mut start = 0;
                while start < rows {
                    let piece = (1 + random.below(20_000) as usize).min(rows - start);
                    passing.push(array.slice(start, piece)).unwrap();
                    start += piece;
                }
                let wide = |array: &ArrayRef| {
                    let is_text = is_text(array.data_type());
                    if is_text { cast(array, &DataType::LargeUtf8).unwrap() } else { array.clone() }
                };
                let again = match passing.finish().unwrap() {
                    Passed::Numbered { numbers, values } => {
                        let numbers = UInt32Array::from_iter_values(numbers.iter());
                        wide(&take(&values, &numbers, None).unwrap())
                    }
                    Passed::Arrays(arrays) => {
                        spelled += 1;
                        let arrays: Vec<ArrayRef> = arrays.iter().map(wide).collect();
                        let parts: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
                        match parts[..] {
                            [] => wide(&array.slice(0, 0)),
                            _ => concat(&parts).unwrap(),
                        }
                    }
                };
                let bits = |array: &ArrayRef| {
                    let rows = arrow_row::RowConverter::new(vec![arrow_row::SortField::new(
                        array.data_type().clone(),
                    )]);
                    let rows = rows.unwrap().convert_columns(std::slice::from_ref(array)).unwrap();
                    rows.iter().map(|row| row.as_ref().to_vec()).collect::<Vec<Vec<u8>>>()
                };
                assert!(bits(&again) == bits(&wide(&array)), "{:?}", array.data_type());
            }
        }
        // Bytes are never numbered; texts, decimals, floating-point numbers, days and integers are
        // not if they hardly recur.
        assert_eq!(spelled, 5 + 8);
    }
}
