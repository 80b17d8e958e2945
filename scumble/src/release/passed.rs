//! Columns that are passed on as they came.
//!
//! Comparing the numbers of recurring values is much faster than comparing the values, and rows are
//! picked from a short list of values that stays in cache.

use super::rows::{inverse, wide};
use crate::error::{Error, Result};
use crate::source::Series;
use crate::table::{Passed, RowNumbers};
use crate::watch::Watch;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, UInt32Array, make_array};
use arrow_cast::cast;
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::{ArrowError, SortOptions};
use arrow_select::{concat::concat, take::take};

/// A column that is passed on, as it is released.
pub(super) enum PassedOn<'a> {
    /// All its values.
    Whole(ArrayRef),
    /// By number.
    Distinct(Distinct<'a>),
}

impl<'a> PassedOn<'a> {
    pub(super) fn new(
        passed: &'a Passed,
        watch: &Watch,
        broken: &impl Fn(ArrowError) -> Error,
    ) -> Result<PassedOn<'a>> {
        match passed {
            Passed::Arrays(arrays) => {
                let widen = |array: &ArrayRef| {
                    watch.check()?;
                    cast(array, &wide(array.data_type())).map_err(broken)
                };
                let widened = arrays.iter().map(widen).collect::<Result<Vec<ArrayRef>>>()?;
                joined(&widened, watch, broken).map(PassedOn::Whole)
            }
            Passed::Numbered { numbers, values } => {
                Distinct::new(numbers, values.clone()).map(PassedOn::Distinct).map_err(broken)
            }
        }
    }

    /// The values of some rows.
    pub(super) fn of_rows(&self, rows: &[u32]) -> Result<Series, ArrowError> {
        match self {
            PassedOn::Whole(array) => {
                let picked = take(array, &UInt32Array::from(rows.to_vec()), None)?;
                cleared(picked).map(Series::Array)
            }
            PassedOn::Distinct(Distinct { numbers, values, .. }) => {
                let picked = numbers.pick(rows);
                if let Some(texts) = values.as_string_opt::<i32>() {
                    let keys = picked.into_iter().map(|number| number as i32).collect();
                    return Ok(Series::Numbered(keys, texts.clone()));
                }
                take(values, &UInt32Array::from(picked), None).map(Series::Array)
            }
        }
    }

    /// Compares two rows.
    pub(super) fn comparator(&self) -> Result<DynComparator, ArrowError> {
        match self {
            PassedOn::Whole(array) => make_comparator(array, array, SortOptions::default()),
            PassedOn::Distinct(Distinct { numbers, ranks, .. }) => {
                let ranked = numbers.iter().map(|number| ranks[number as usize]);
                let ranked = UInt32Array::from_iter_values(ranked);
                make_comparator(&ranked, &ranked, SortOptions::default())
            }
        }
    }

    /// Whether rows with the same code of another numbering always have the same value.
    pub(super) fn is_told_by(&self, codes: &[u32], values: usize) -> bool {
        let PassedOn::Distinct(Distinct { numbers, .. }) = self else { return false };
        let mut number_of = vec![u32::MAX; values];
        codes.iter().zip(numbers.iter()).all(|(code, number)| {
            let known = number_of.get_mut(*code as usize);
            let before = known.map(|known| std::mem::replace(known, number));
            before.is_some_and(|before| before == u32::MAX || before == number)
        })
    }
}

/// A column by number.
pub(super) struct Distinct<'a> {
    /// The number of each row's value.
    pub(super) numbers: &'a RowNumbers,
    /// The values.
    pub(super) values: ArrayRef,
    /// The place of each value in the order in which Arrow compares them, nulls first.
    pub(super) ranks: Vec<u32>,
}

impl<'a> Distinct<'a> {
    fn new(numbers: &'a RowNumbers, values: ArrayRef) -> Result<Distinct<'a>, ArrowError> {
        let compare = make_comparator(&values, &values, SortOptions::default())?;
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        order.sort_unstable_by(|one, other| compare(*one as usize, *other as usize));
        let ranks = inverse(&order);
        // If no row is null, there are no nulls to look for later.
        let values = if numbers.contains(0) { values } else { without_nulls(&values)? };
        Ok(Distinct { numbers, values, ranks })
    }
}

/// The same values with any value in place of a null.
fn without_nulls(values: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    Ok(make_array(values.to_data().into_builder().nulls(None).build()?))
}

/// Rows of an array that are copied at once.
const COPIED: usize = 1 << 22;

/// Arrays as one. Many rows are copied array by array, so that an abort need not wait.
fn joined(
    arrays: &[ArrayRef],
    watch: &Watch,
    broken: &impl Fn(ArrowError) -> Error,
) -> Result<ArrayRef> {
    let parts: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    if arrays.iter().map(|array| array.len()).sum::<usize>() <= COPIED {
        return concat(&parts).map_err(broken);
    }
    let data: Vec<_> = arrays.iter().map(|array| array.to_data()).collect();
    let rows = data.iter().map(|data| data.len()).sum();
    let mut whole = MutableArrayData::new(data.iter().collect(), false, rows);
    for (at, data) in data.iter().enumerate() {
        watch.check()?;
        whole.try_extend(at, 0, data.len()).map_err(broken)?;
    }
    Ok(make_array(whole.freeze()))
}

/// The same values with zeros under nulls. Readers leave anything there, such as the value that was
/// set to null, and Arrow's files keep it.
fn cleared(array: ArrayRef) -> Result<ArrayRef, ArrowError> {
    fn has_nulls(data: &ArrayData) -> bool {
        data.nulls().is_some_and(|nulls| nulls.null_count() > 0)
            || data.child_data().iter().any(has_nulls)
    }
    let data = array.to_data();
    if !has_nulls(&data) {
        return Ok(array);
    }
    let children =
        data.child_data().iter().map(|child| Ok(cleared(make_array(child.clone()))?.to_data()));
    let children = children.collect::<Result<Vec<ArrayData>, ArrowError>>()?;
    let data = data.into_builder().child_data(children).build()?;
    let Some(nulls) = data.nulls() else { return Ok(make_array(data)) };
    let mut clear = MutableArrayData::new(vec![&data], true, data.len());
    let mut next = 0;
    for (start, end) in nulls.valid_slices() {
        clear.try_extend_nulls(start - next)?;
        clear.try_extend(0, start, end)?;
        next = end;
    }
    clear.try_extend_nulls(data.len() - next)?;
    Ok(make_array(clear.freeze()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float64Array, Int64Array, StringArray};
    use std::sync::Arc;

    fn broken(source: ArrowError) -> Error {
        Error::Columnar { file: "test".into(), source }
    }

    /// A column by number is compared and picked as the same column as an array.
    #[test]
    fn numbers_stand_for_values() {
        let floats = [None, Some(2.0), Some(f64::NAN), Some(-0.0), Some(0.0), Some(-3.5)];
        let texts = [None, Some("b"), Some(""), Some("\u{e9}"), Some("ba"), Some("a")];
        let columns: [ArrayRef; 3] = [
            Arc::new(Float64Array::from_iter(floats)),
            Arc::new(StringArray::from_iter(texts)),
            Arc::new(Int64Array::from(vec![None, Some(5), Some(-5), Some(0), Some(7), Some(6)])),
        ];
        let numbers = vec![3, 0, 1, 1, 5, 4, 2, 0, 5];
        for values in columns {
            let all = take(&values, &UInt32Array::from(numbers.clone()), None).unwrap();
            let by_number =
                Passed::Numbered { numbers: RowNumbers::new(numbers.clone(), 6), values };
            let one_by_one = Passed::Arrays(vec![all.slice(0, 4), all.slice(4, 5)]);
            let watch = Watch::default();
            let [numbered, whole] = [&by_number, &one_by_one]
                .map(|passed| PassedOn::new(passed, &watch, &broken).unwrap());
            let rows = [8, 1, 0, 3, 2, 7];
            let bits = |passed: &PassedOn<'_>| {
                let array = passed.of_rows(&rows).unwrap().to_array().unwrap();
                format!("{:?}", cast(&array, &wide(array.data_type())).unwrap())
            };
            assert_eq!(bits(&numbered), bits(&whole));
            let [one, other] = [&numbered, &whole].map(|passed| passed.comparator().unwrap());
            for a in 0..numbers.len() {
                for b in 0..numbers.len() {
                    assert_eq!(one(a, b), other(a, b), "{a} {b}");
                }
            }
            assert!(PassedOn::new(&one_by_one, &Watch::aborting_after(0), &broken).is_err());
        }
    }

    #[test]
    fn another_numbering_tells_values_or_not() {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(5), Some(6)]));
        let passed = Passed::Numbered { numbers: RowNumbers::new(vec![1, 2, 1, 2], 3), values };
        let passed = PassedOn::new(&passed, &Watch::default(), &broken).unwrap();
        assert!(passed.is_told_by(&[0, 1, 0, 1], 2) && passed.is_told_by(&[0, 1, 2, 3], 4));
        assert!(!passed.is_told_by(&[0, 0, 0, 0], 1) && !passed.is_told_by(&[0, 1, 1, 1], 2));
    }
}
