//! Columns of a batch as texts, whatever they were in the file.

use super::Source;
use crate::error::{Error, Place, Result};
use crate::table::Dictionary;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, StringArray};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{ArrowError, DataType};

/// Refuses columns that are to be counted and have no text form.
pub(super) fn check_texts(source: &Source, counted: impl Iterator<Item = bool>) -> Result<()> {
    for (field, counted) in source.schema().fields().iter().zip(counted) {
        if counted && !can_cast_types(field.data_type(), &DataType::Utf8) {
            let place = Place::file(source.file()).column(field.name().clone());
            return Err(Error::UnsupportedColumn { place, data_type: field.data_type().to_string() });
        }
    }
    Ok(())
}

/// The texts of an array. A value without one is an error, not an empty text.
pub(super) fn texts(array: &ArrayRef) -> Result<StringArray, ArrowError> {
    match array.data_type() {
        DataType::Utf8 => Ok(array.as_string().clone()),
        _ => {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            Ok(cast_with_options(array, &DataType::Utf8, &options)?.as_string().clone())
        }
    }
}

/// How text columns come in the batches of a file that keeps them so.
pub(super) fn coded_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The texts of some rows of a column; a null is an empty text.
pub enum Texts {
    /// One by one.
    Plain(StringArray),
    /// By number among texts of their own. The same text may have two numbers.
    Coded(DictionaryArray<Int32Type>, StringArray),
}

impl Texts {
    /// The texts of an array.
    pub fn of(array: &ArrayRef) -> Result<Texts, ArrowError> {
        match array.as_any().downcast_ref::<DictionaryArray<Int32Type>>() {
            Some(coded) if coded.values().data_type() == &DataType::Utf8 => {
                Ok(Texts::Coded(coded.clone(), coded.values().as_string().clone()))
            }
            _ => self::texts(array).map(Texts::Plain),
        }
    }

    /// The text of a row.
    pub fn get(&self, row: usize) -> &str {
        match self {
            Texts::Plain(texts) if texts.is_null(row) => "",
            Texts::Plain(texts) => texts.value(row),
            Texts::Coded(coded, values) => coded.key(row).map_or("", |key| text_at(values, key)),
        }
    }

    /// Notes every row whose text may differ from that of the row before it; no row that does is passed over.
    pub fn mark_changes(&self, changed: &mut [bool]) {
        let marks = changed.iter_mut().skip(1);
        match self {
            // Compared as numbers, which is what makes a wide release quick to count.
            Texts::Coded(coded, _) if coded.keys().null_count() == 0 => {
                let keys = coded.keys().values();
                marks.zip(keys.iter().zip(&keys[1..])).for_each(|(changed, (before, now))| *changed |= before != now);
            }
            _ => {
                let pairs = marks.enumerate().filter(|(_, changed)| !**changed);
                pairs.for_each(|(before, changed)| *changed = self.get(before) != self.get(before + 1));
            }
        }
    }
}

fn text_at(values: &StringArray, key: usize) -> &str {
    if values.is_null(key) { "" } else { values.value(key) }
}

/// A dictionary that is filled from batches. Where a batch has texts of its own, each is looked up once.
#[derive(Debug, Default)]
pub struct Codes {
    dictionary: Dictionary,
    /// The texts of the last batch, and the codes of those that were met.
    values: Option<StringArray>,
    met: Vec<u32>,
}

/// No code: there are never so many.
const UNMET: u32 = u32::MAX;

impl Codes {
    /// The values that were met.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Must be called with the texts of a batch before its first row is looked up.
    pub fn begin(&mut self, texts: &Texts) {
        let Texts::Coded(_, values) = texts else { return };
        // The last array is still held, so its place in memory cannot have been taken by another one.
        let same = self.values.as_ref().is_some_and(|last| {
            last.len() == values.len()
                && last.value_offsets().as_ptr() == values.value_offsets().as_ptr()
                && last.value_data().as_ptr() == values.value_data().as_ptr()
                && last.null_count() == 0
                && values.null_count() == 0
        });
        if !same {
            self.met.clear();
            self.met.resize(values.len(), UNMET);
            self.values = Some(values.clone());
        }
    }

    /// The code of a row's text, and whether it was met for the first time.
    pub fn code(&mut self, texts: &Texts, row: usize, line: u64) -> (u32, bool) {
        let key = match texts {
            Texts::Coded(coded, _) => coded.key(row),
            Texts::Plain(_) => None,
        };
        if let Some(code) = key.map(|key| self.met[key]).filter(|code| *code != UNMET) {
            return (code, false);
        }
        let known = self.dictionary.len();
        let code = self.dictionary.encode(texts.get(row), line);
        if let Some(key) = key {
            self.met[key] = code;
        }
        (code, self.dictionary.len() > known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use arrow_array::Int32Array;
    use std::sync::Arc;

    /// Keys into texts with a repeated text, an empty one and a null among them.
    fn coded(random: &mut Random, values: &ArrayRef, rows: usize, nulls: bool) -> ArrayRef {
        let key = |random: &mut Random| match random.between(0, 5) {
            5 if nulls => None,
            key => Some(key.min(4) as i32),
        };
        let keys: Int32Array = (0..rows).map(|_| key(random)).collect();
        Arc::new(DictionaryArray::new(keys, values.clone()))
    }

    #[test]
    fn coded_and_plain_texts_are_the_same() {
        let mut random = Random::new(7);
        let mut codes = Codes::default();
        let mut truth = Dictionary::default();
        let mut values: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some(""), Some("b"), Some("a"), None]));
        for batch in 0..40 {
            if batch % 3 == 0 {
                // Other texts, under the same keys.
                let letter = ["x", "y", "a"][batch % 9 / 3];
                values = Arc::new(StringArray::from(vec![Some(letter), Some("b"), None, Some("c"), Some("")]));
            }
            let array = coded(&mut random, &values, 50, batch % 2 == 0);
            let (own, plain) = (Texts::of(&array).unwrap(), Texts::Plain(texts(&array).unwrap()));
            let (mut marked, mut differs) = (vec![false; 50], vec![false; 50]);
            own.mark_changes(&mut marked);
            plain.mark_changes(&mut differs);
            codes.begin(&own);
            for row in 0..50 {
                assert_eq!(own.get(row), plain.get(row));
                assert!(marked[row] || !differs[row]);
                assert_eq!(differs[row], row > 0 && plain.get(row) != plain.get(row - 1));
                let known = truth.len();
                let code = truth.encode(plain.get(row), row as u64);
                assert_eq!(codes.code(&own, row, row as u64), (code, truth.len() > known));
            }
        }
    }
}
