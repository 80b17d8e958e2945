//! Columns that are passed on as they came, by number.
//!
//! A column of a Parquet or Arrow file comes as an array. Most columns have few distinct values. To
//! compare their numbers is far quicker than to compare the values themselves, and rows are picked
//! from a short list of values that stays in cache. CSV is read by number in the first place.

use crate::error::Result;
use crate::watch::{PIECE, Watch};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Rows that a value should have on average to be told by number.
const ROWS_OF_A_VALUE: usize = 4;

/// Distinct values that any column may have.
const FEW: usize = 1 << 10;

/// A column by number. Values are in the order in which Arrow compares them, nulls first.
pub(super) struct Distinct {
    /// The number of each row's value.
    pub(super) codes: Vec<u32>,
    /// The values.
    pub(super) values: ArrayRef,
}

impl Distinct {
    /// The values of an array by number, if they recur. `None` for a column of other types than
    /// texts, bytes, numbers and times.
    pub(super) fn of(
        array: &ArrayRef,
        watch: &Watch,
        broken: &impl Fn(ArrowError) -> crate::error::Error,
    ) -> Result<Option<Distinct>> {
        let most = (array.len() / ROWS_OF_A_VALUE).max(FEW);
        let mut found = Found { most, ..Found::default() };
        let mut codes = Vec::with_capacity(array.len());
        for start in (0..array.len()).step_by(PIECE) {
            watch.check()?;
            let piece = array.slice(start, PIECE.min(array.len() - start));
            if !found.add(&piece, start, &mut codes).map_err(broken)? {
                return Ok(None);
            }
        }
        found.finish(array, codes).map(Some).map_err(broken)
    }
}

impl Distinct {
    /// Whether rows with the same code of another numbering always have the same value.
    pub(super) fn is_told_by(&self, codes: &[u32], numbers: usize) -> bool {
        let mut of = vec![u32::MAX; numbers];
        codes.iter().zip(&self.codes).all(|(other, own)| {
            let before = of.get_mut(*other as usize).map(|known| std::mem::replace(known, *own));
            before.is_some_and(|before| before == u32::MAX || before == *own)
        })
    }
}

/// Distinct values that were met, by bytes that have their order.
#[derive(Default)]
struct Found {
    index: HashTable<u32>,
    bytes: Vec<u8>,
    /// Where the bytes of each value end.
    ends: Vec<usize>,
    /// A row that has each value.
    rows: Vec<u32>,
    null: Option<u32>,
    most: usize,
    converter: Option<RowConverter>,
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

/// The bytes of a value.
fn value<'a>(bytes: &'a [u8], ends: &[usize], code: u32) -> &'a [u8] {
    let start = if code == 0 { 0 } else { ends[code as usize - 1] };
    &bytes[start..ends[code as usize]]
}

impl Found {
    fn value(&self, code: u32) -> &[u8] {
        value(&self.bytes, &self.ends, code)
    }

    /// The number of a value.
    fn code(&mut self, value: &[u8], row: u32) -> u32 {
        let hashed = hash(value);
        if let Some(code) = self.index.find(hashed, |code| self.value(*code) == value) {
            return *code;
        }
        let code = self.new_code(value, row);
        let Found { index, bytes, ends, .. } = self;
        index.insert_unique(hashed, code, |code| hash(self::value(bytes, ends, *code)));
        code
    }

    fn new_code(&mut self, value: &[u8], row: u32) -> u32 {
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
        self.rows.push(row);
        self.rows.len() as u32 - 1
    }

    fn null(&mut self, row: u32) -> u32 {
        if let Some(code) = self.null {
            return code;
        }
        let code = self.new_code(&[], row);
        self.null = Some(code);
        code
    }

    /// Numbers the values of a piece whose first row has this number; false if there are too many,
    /// or of no type that can be numbered.
    fn add(
        &mut self,
        piece: &ArrayRef,
        start: usize,
        codes: &mut Vec<u32>,
    ) -> Result<bool, ArrowError> {
        let kind = piece.data_type().clone();
        match kind {
            DataType::LargeUtf8 => {
                let texts = piece.as_string::<i64>();
                let values = texts.iter().map(|text| text.map(str::as_bytes));
                Ok(self.add_all(values, start, codes))
            }
            DataType::LargeBinary => {
                Ok(self.add_all(piece.as_binary::<i64>().iter(), start, codes))
            }
            kind if kind.is_primitive() || kind == DataType::Boolean => {
                let converter = match &mut self.converter {
                    Some(converter) => converter,
                    None => {
                        let converter = RowConverter::new(vec![SortField::new(kind)])?;
                        self.converter.insert(converter)
                    }
                };
                let rows = converter.convert_columns(std::slice::from_ref(piece))?;
                let is_null = |row: usize| piece.is_null(row);
                let values = rows.iter().enumerate();
                let values = values.map(|(row, value)| (!is_null(row)).then_some(value));
                let values: Vec<Option<arrow_row::Row<'_>>> = values.collect();
                let values = values.iter().map(|value| value.as_ref().map(AsRef::as_ref));
                Ok(self.add_all(values, start, codes))
            }
            _ => Ok(false),
        }
    }

    fn add_all<'v>(
        &mut self,
        values: impl Iterator<Item = Option<&'v [u8]>>,
        start: usize,
        codes: &mut Vec<u32>,
    ) -> bool {
        for (row, value) in (start as u32..).zip(values) {
            codes.push(match value {
                Some(value) => self.code(value, row),
                None => self.null(row),
            });
            if self.rows.len() > self.most {
                return false;
            }
        }
        true
    }

    /// Puts the values into their order.
    fn finish(self, array: &ArrayRef, mut codes: Vec<u32>) -> Result<Distinct, ArrowError> {
        let mut order: Vec<u32> = (0..self.rows.len() as u32).collect();
        let key = |code: &u32| (Some(*code) != self.null, self.value(*code));
        order.sort_unstable_by(|one, other| key(one).cmp(&key(other)));
        let ranks = super::rows::inverse(&order);
        codes.iter_mut().for_each(|code| *code = ranks[*code as usize]);
        let rows: UInt32Array = order.iter().map(|code| self.rows[*code as usize]).collect();
        Ok(Distinct { codes, values: take(array, &rows, None)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::random::Random;
    use arrow_array::{BooleanArray, Date32Array, Float64Array, Int64Array, LargeStringArray};
    use arrow_ord::ord::make_comparator;
    use arrow_schema::SortOptions;
    use std::sync::Arc;

    fn broken(source: ArrowError) -> Error {
        Error::Columnar { file: "test".into(), source }
    }

    fn arrays(random: &mut Random, rows: usize, values: u64) -> Vec<ArrayRef> {
        let mut drawn: Vec<Option<u64>> = Vec::new();
        drawn.extend((0..rows).map(|_| (random.below(9) > 0).then(|| random.below(values))));
        let all = || drawn.iter().copied();
        let float = |number: u64| match number {
            0 => -0.0,
            1 => 0.0,
            2 => f64::NAN,
            3 => f64::INFINITY,
            number => number as f64 - 7.5,
        };
        let text = |number: u64| match number {
            0 => String::new(),
            number => format!("{}{}", ["b", "", "\u{e9}", "ba"][number as usize % 4], number),
        };
        vec![
            Arc::new(Int64Array::from_iter(all().map(|one| one.map(|one| one as i64 - 3)))),
            Arc::new(Date32Array::from_iter(all().map(|one| one.map(|one| one as i32 - 3)))),
            Arc::new(Float64Array::from_iter(all().map(|one| one.map(float)))),
            Arc::new(BooleanArray::from_iter(all().map(|one| one.map(|one| one % 2 == 0)))),
            Arc::new(LargeStringArray::from_iter(all().map(|one| one.map(text)))),
        ]
    }

    /// Numbers have the order of Arrow's comparison, equal ones are equal in every bit, and the
    /// values are those of the rows.
    #[test]
    fn numbers_have_the_order_of_values() {
        let mut random = Random::new(2);
        for (rows, values) in [(0, 1), (1, 1), (40, 3), (300, 40), (300, 300)] {
            for array in arrays(&mut random, rows, values) {
                let distinct = Distinct::of(&array, &Watch::default(), &broken).unwrap().unwrap();
                let compare = make_comparator(&array, &array, SortOptions::default()).unwrap();
                for one in 0..rows {
                    for other in 0..rows {
                        let numbers = distinct.codes[one].cmp(&distinct.codes[other]);
                        assert_eq!(numbers, compare(one, other), "{:?}", array.data_type());
                    }
                }
                let picked = UInt32Array::from(distinct.codes.clone());
                let again = take(&distinct.values, &picked, None).unwrap();
                let bits = |array: &ArrayRef| format!("{array:?}");
                assert_eq!(bits(&again), bits(&array));
            }
        }
    }

    #[test]
    fn values_that_hardly_recur_have_no_numbers() {
        let numbers = |values: i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values((0..8000).map(|row| row % values)))
        };
        let of = |array: &ArrayRef| Distinct::of(array, &Watch::default(), &broken).unwrap();
        assert!(of(&numbers(2000)).is_some_and(|distinct| distinct.values.len() == 2000));
        assert!(of(&numbers(2001)).is_none());
        assert!(Distinct::of(&numbers(5), &Watch::aborting_after(0), &broken).is_err());
    }

    #[test]
    fn another_numbering_tells_values_or_not() {
        let array: ArrayRef = Arc::new(Int64Array::from(vec![5, 6, 5, 6]));
        let distinct = Distinct::of(&array, &Watch::default(), &broken).unwrap().unwrap();
        assert!(distinct.is_told_by(&[0, 1, 0, 1], 2) && distinct.is_told_by(&[0, 1, 2, 3], 4));
        assert!(!distinct.is_told_by(&[0, 0, 0, 0], 1) && !distinct.is_told_by(&[0, 1, 1, 1], 2));
    }
}
