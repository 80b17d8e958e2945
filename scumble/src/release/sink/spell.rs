//! Columns that came by number, as writers of arrays want them.

use crate::source::Series;
use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow_buffer::ScalarBuffer;
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::take::take;

/// The same rows as columns of these types. Columns that came by number are spelled out: a file
/// that keeps numbers keeps all texts too, also those of rows that are not released.
pub(crate) fn spelled(columns: &[Series], schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = columns.iter().zip(schema.fields()).map(|(series, field)| {
        match (series, field.data_type()) {
            (Series::Numbered(keys, texts), kind @ (DataType::Utf8 | DataType::LargeUtf8)) => {
                texts_of(keys, texts, kind)
            }
            (series, kind) => cast(&series.to_array()?, kind),
        }
    });
    RecordBatch::try_new(schema.clone(), columns.collect::<Result<Vec<ArrayRef>, ArrowError>>()?)
}

/// The same rows for a writer that looks at the texts of rows only. Numbers stay numbers.
pub(crate) fn by_number(columns: &[Series], schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let named = columns.iter().zip(schema.fields()).map(|(series, field)| {
        let kind = field.data_type();
        let array = series.to_array()?;
        let is_numbered = matches!(series, Series::Numbered(..))
            && matches!(kind, DataType::Utf8 | DataType::LargeUtf8);
        Ok((field.name(), if is_numbered { array } else { cast(&array, kind)? }, true))
    });
    RecordBatch::try_from_iter_with_nullable(named.collect::<Result<Vec<_>, ArrowError>>()?)
}

/// Makes one batch of some rows, or several. Texts of many rows may have more bytes than 32-bit
/// offsets can tell; those of one row fit.
pub(crate) fn in_parts(
    columns: &[Series],
    make: &impl Fn(&[Series]) -> Result<RecordBatch, ArrowError>,
) -> Result<Vec<RecordBatch>, ArrowError> {
    let rows = columns.first().map_or(0, Series::len);
    match make(columns) {
        Ok(batch) => Ok(vec![batch]),
        Err(error) if rows < 2 => Err(error),
        Err(_) => {
            let half = |start: usize, rows: usize| -> Vec<Series> {
                columns.iter().map(|series| series.slice(start, rows)).collect()
            };
            let mut parts = in_parts(&half(0, rows / 2), make)?;
            parts.extend(in_parts(&half(rows / 2, rows - rows / 2), make)?);
            Ok(parts)
        }
    }
}

/// The text of each key, in an array of this type.
fn texts_of(
    keys: &ScalarBuffer<i32>,
    texts: &StringArray,
    kind: &DataType,
) -> Result<ArrayRef, ArrowError> {
    let keys = Int32Array::new(keys.clone(), None);
    // If texts recur, it is cheaper to convert them than their rows.
    if texts.len() < keys.len() {
        take(&cast(texts, kind)?, &keys, None)
    } else {
        cast(&take(texts, &keys, None)?, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use arrow_array::cast::AsArray;
    use arrow_schema::{Field, Schema};
    use std::sync::Arc;

    /// Rows that do not fit into one batch come in several, in their order.
    #[test]
    fn rows_that_do_not_fit_come_in_parts() {
        let texts = StringArray::from_iter_values((0..50).map(|row| row.to_string()));
        let columns = [
            Series::Numbered((0..50).collect(), texts.clone()),
            Series::Array(Arc::new(texts.clone())),
            Series::Decimals((0..50).collect(), 0),
        ];
        let kinds = [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8];
        let fields = kinds.map(|kind| Field::new(kind.to_string(), kind, true));
        let names = ["a", "b", "c"].into_iter().zip(fields);
        let fields: Vec<Field> = names.map(|(name, field)| field.with_name(name)).collect();
        let schema = Arc::new(Schema::new(fields));
        for most in [1, 7, 49, 50] {
            let parts = in_parts(&columns, &|columns| match columns[0].len() {
                rows if rows > most => Err(ArrowError::OffsetOverflowError(rows)),
                _ => spelled(columns, &schema),
            });
            let parts = parts.unwrap();
            assert!(parts.iter().all(|part| part.num_rows() <= most));
            for column in 0..3 {
                let found = parts.iter().flat_map(|part| {
                    let texts = cast(part.column(column), &DataType::Utf8).unwrap();
                    texts
                        .as_string::<i32>()
                        .iter()
                        .flatten()
                        .map(str::to_string)
                        .collect::<Vec<_>>()
                });
                assert!(found.eq((0..50).map(|row| row.to_string())), "{most} {column}");
            }
        }
        let failed = in_parts(&columns, &|_| Err(ArrowError::OffsetOverflowError(1)));
        assert!(failed.is_err());
    }

    #[test]
    fn numbers_are_spelled_as_arrow_spells_them() {
        let mut random = Random::new(6);
        for round in 0..200 {
            let text = |random: &mut Random| match random.below(6) {
                0 if round % 2 == 0 => None,
                1 => Some(String::new()),
                _ => Some("ab\u{e9}".repeat(random.below(15) as usize)),
            };
            let texts: StringArray = (0..1 + random.below(9)).map(|_| text(&mut random)).collect();
            let rows = random.below(60);
            let mut key = || random.below(texts.len() as u64) as i32;
            let keys: Vec<i32> = (0..rows).map(|_| key()).collect();
            let series = Series::Numbered(keys.into(), texts);
            for kind in [DataType::Utf8, DataType::LargeUtf8] {
                let schema = Arc::new(Schema::new(vec![Field::new("x", kind.clone(), true)]));
                let own = spelled(std::slice::from_ref(&series), &schema).unwrap();
                let truth = cast(&series.to_array().unwrap(), &kind).unwrap();
                assert_eq!(own.column(0), &truth);
                let bytes = own.column(0).to_data().buffers()[1].len();
                let said: usize = match kind {
                    DataType::Utf8 => truth.as_string::<i32>().iter().flatten().map(str::len).sum(),
                    _ => truth.as_string::<i64>().iter().flatten().map(str::len).sum(),
                };
                assert_eq!(bytes, said);
            }
        }
    }
}
