//! Columns that came by number, spelled out for writers of arrays.

use crate::source::Series;
use arrow_array::{Array, ArrayRef, GenericStringArray, OffsetSizeTrait, RecordBatch, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use std::sync::Arc;

/// The same rows as columns of these types. What came by number is spelled out: a file that keeps
/// numbers keeps all texts too, those of rows that are not released among them.
pub(crate) fn spelled(columns: &[Series], schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = columns.iter().zip(schema.fields()).map(|(series, field)| {
        match (series, field.data_type()) {
            (Series::Numbered(keys, texts), DataType::Utf8) => texts_of::<i32>(keys, texts),
            (Series::Numbered(keys, texts), DataType::LargeUtf8) => texts_of::<i64>(keys, texts),
            (series, kind) => cast(&series.to_array()?, kind),
        }
    });
    RecordBatch::try_new(schema.clone(), columns.collect::<Result<Vec<ArrayRef>, ArrowError>>()?)
}

/// Bytes of a short text. These are copied with what stands behind them, which is quicker than to
/// copy a number of bytes that is only known now.
const SHORT: usize = 32;

/// The text of each key.
fn texts_of<O: OffsetSizeTrait>(keys: &[i32], texts: &StringArray) -> Result<ArrayRef, ArrowError> {
    let (all, ends) = (texts.value_data(), texts.value_offsets());
    let place = |key: i32| ends[key as usize] as usize..ends[key as usize + 1] as usize;
    let length = keys.iter().map(|key| place(*key).len()).sum::<usize>();
    let mut bytes = vec![0; length];
    let mut offsets: Vec<O> = Vec::with_capacity(keys.len() + 1);
    let mut at = 0;
    let overflow = || ArrowError::OffsetOverflowError(length);
    for key in keys {
        offsets.push(O::from_usize(at).ok_or_else(overflow)?);
        let text = place(*key);
        // What is behind a short text is overwritten by the next one, so the last are copied alone.
        let piece = all.get(text.start..text.start + SHORT).filter(|_| text.len() <= SHORT);
        match (piece, bytes.get_mut(at..at + SHORT)) {
            (Some(piece), Some(room)) => room.copy_from_slice(piece),
            _ => bytes[at..at + text.len()].copy_from_slice(&all[text.clone()]),
        }
        at += text.len();
    }
    offsets.push(O::from_usize(at).ok_or_else(overflow)?);
    let nulls = texts.nulls().map(|nulls| -> NullBuffer {
        keys.iter().map(|key| nulls.is_valid(*key as usize)).collect()
    });
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(Arc::new(GenericStringArray::<O>::try_new(offsets, Buffer::from_vec(bytes), nulls)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use arrow_array::cast::AsArray;
    use arrow_schema::{Field, Schema};

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
