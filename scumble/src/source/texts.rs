//! Columns of a batch as texts.

use super::bits::Bits;
use super::{Lines, is_binary};
use crate::error::Result;
use crate::table::{Dictionary, ShortText};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Decimal128Array, DictionaryArray, Int32Array, Int64Array, RecordBatch,
    StringArray, UInt32Array,
};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType};
use arrow_select::take::take;
use std::sync::Arc;

/// The texts of an array. A value without a text is an error, not an empty text.
pub(super) fn texts(array: &ArrayRef) -> Result<StringArray, ArrowError> {
    match array.data_type() {
        DataType::Utf8 => Ok(array.as_string().clone()),
        DataType::Timestamp(_, Some(_)) => wall_clock(array),
        _ => {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            let texts = cast_with_options(array, &DataType::Utf8, &options);
            let texts = texts.map_err(|error| match array.data_type() {
                kind if is_binary(kind) => ArrowError::InvalidArgumentError(
                    "binary data is not text; give its column the role identifier".into(),
                ),
                _ => error,
            });
            Ok(texts?.as_string().clone())
        }
    }
}

/// What clocks showed in the zone of instants: the text without the difference to UTC.
fn wall_clock(array: &ArrayRef) -> Result<StringArray, ArrowError> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let texts = cast_with_options(array, &DataType::Utf8, &options)?;
    let clock = |text: &str| {
        // A sign in the date comes before the time.
        let zone = text.rfind(['+', '-', 'Z']).filter(|at| *at > "2024-05-01T".len());
        text[..zone.unwrap_or(text.len())].to_string()
    };
    Ok(texts.as_string::<i32>().iter().map(|text| text.map(clock)).collect())
}

/// The type of columns that are handed over by number.
pub(crate) fn coded_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// A column of a batch.
#[derive(Clone, Debug)]
pub enum Series {
    /// Value by value.
    Array(ArrayRef),
    /// By number among texts. An array of Arrow's would check every number again.
    Numbered(ScalarBuffer<i32>, StringArray),
    /// Numbers in units of 10^-scale.
    Decimals(ScalarBuffer<i64>, u32),
    /// Values in the plain way, and as they were written.
    Written(Box<WrittenSeries>),
}

/// A column of a batch in two ways.
#[derive(Clone, Debug)]
pub struct WrittenSeries {
    plain: Series,
    written: Series,
}

impl Series {
    /// A column that was written in another way than the plain one.
    pub(super) fn written(written: Series, plain: Series) -> Series {
        Series::Written(Box::new(WrittenSeries { plain, written }))
    }

    /// The array that is passed on: the values as they were written.
    pub(crate) fn as_written(&self) -> Result<ArrayRef, ArrowError> {
        match self {
            Series::Written(both) => both.written.to_array(),
            plain => plain.to_array(),
        }
    }

    /// Whether the values were written in another way.
    pub(super) fn is_written(&self) -> bool {
        matches!(self, Series::Written(_))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Series::Array(array) => array.len(),
            Series::Numbered(keys, _) => keys.len(),
            Series::Decimals(units, _) => units.len(),
            Series::Written(both) => both.plain.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some of its rows.
    pub(crate) fn slice(&self, start: usize, rows: usize) -> Series {
        match self {
            Series::Array(array) => Series::Array(array.slice(start, rows)),
            Series::Numbered(keys, texts) => {
                Series::Numbered(keys.slice(start, rows), texts.clone())
            }
            Series::Decimals(units, scale) => Series::Decimals(units.slice(start, rows), *scale),
            Series::Written(both) => {
                Series::written(both.written.slice(start, rows), both.plain.slice(start, rows))
            }
        }
    }

    /// The columns of a batch of arrays.
    pub fn all(batch: &RecordBatch) -> Vec<Series> {
        batch.columns().iter().cloned().map(Series::Array).collect()
    }

    /// The same as an array.
    pub fn to_array(&self) -> Result<ArrayRef, ArrowError> {
        match self {
            Series::Written(both) => both.plain.to_array(),
            Series::Array(array) => Ok(array.clone()),
            Series::Numbered(keys, texts) => {
                let keys = Int32Array::new(keys.clone(), None);
                Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(texts.clone()))?))
            }
            Series::Decimals(units, 0) => Ok(Arc::new(Int64Array::new(units.clone(), None))),
            Series::Decimals(units, scale) => {
                let units = units.iter().map(|unit| i128::from(*unit));
                let array = Decimal128Array::from_iter_values(units);
                Ok(Arc::new(array.with_precision_and_scale(38, *scale as i8)?))
            }
        }
    }

    /// Whether they are texts one by one.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Series::Array(array) if array.data_type() == &DataType::Utf8)
    }
}

/// The texts of some rows of a column; a null is an empty text.
pub enum Texts {
    /// One by one.
    Plain(StringArray),
    /// By number among texts of their own. The same text may have two numbers, and a row may have
    /// none.
    Coded(ScalarBuffer<i32>, Option<NullBuffer>, StringArray),
}

impl Texts {
    /// The texts of a column of a batch.
    pub fn of(values: &Series) -> Result<Texts, ArrowError> {
        match values {
            Series::Array(array) => Texts::of_array(array),
            Series::Numbered(keys, texts) => Ok(Texts::Coded(keys.clone(), None, texts.clone())),
            Series::Decimals(..) => Texts::of_array(&values.to_array()?),
            Series::Written(both) => Texts::of(&both.plain),
        }
    }

    /// The texts of an array.
    pub fn of_array(array: &ArrayRef) -> Result<Texts, ArrowError> {
        match array.as_any().downcast_ref::<DictionaryArray<Int32Type>>() {
            Some(coded) if coded.values().data_type() == &DataType::Utf8 => {
                let nulls = coded.nulls().filter(|nulls| nulls.null_count() > 0);
                Ok(Texts::Coded(
                    coded.keys().values().clone(),
                    nulls.cloned(),
                    coded.values().as_string().clone(),
                ))
            }
            _ => self::texts(array).map(Texts::Plain),
        }
    }

    /// The number of a row's text, if it has one.
    fn key(keys: &[i32], nulls: Option<&NullBuffer>, row: usize) -> Option<usize> {
        nulls.is_none_or(|nulls| nulls.is_valid(row)).then(|| keys[row] as usize)
    }

    /// The text of a row.
    pub fn get(&self, row: usize) -> &str {
        match self {
            Texts::Plain(texts) if texts.is_null(row) => "",
            Texts::Plain(texts) => texts.value(row),
            Texts::Coded(keys, nulls, values) => {
                Texts::key(keys, nulls.as_ref(), row).map_or("", |key| text_at(values, key))
            }
        }
    }

    /// Marks every row whose text differs from that of the row before it. A row with the same text
    /// may be marked too.
    pub fn mark_changes(&self, changed: &mut [bool]) {
        let marks = changed.iter_mut().skip(1);
        match self {
            // Compared as numbers, which is what makes a wide release quick to count.
            Texts::Coded(keys, None, _) => {
                marks
                    .zip(keys.windows(2))
                    .for_each(|(changed, pair)| *changed |= pair[0] != pair[1]);
            }
            Texts::Plain(texts) if texts.null_count() == 0 => {
                let bytes = texts.value_data();
                let mut places =
                    texts.offsets().windows(2).map(|ends| ends[0] as usize..ends[1] as usize);
                let Some(mut before) = places.next() else { return };
                let mut short_before = ShortText::of(bytes, &before);
                for (changed, place) in marks.zip(places) {
                    let short = ShortText::of(bytes, &place);
                    *changed |= match (short_before, short) {
                        (Some(one), Some(other)) => !one.is(other),
                        _ => bytes[before] != bytes[place.clone()],
                    };
                    (before, short_before) = (place, short);
                }
            }
            _ => {
                let pairs = marks.enumerate().filter(|(_, changed)| !**changed);
                pairs.for_each(|(before, changed)| {
                    *changed = self.get(before) != self.get(before + 1)
                });
            }
        }
    }
}

fn text_at(values: &StringArray, key: usize) -> &str {
    if values.is_null(key) { "" } else { values.value(key) }
}

/// A dictionary that is filled from batches. Where batches have texts of their own, each is looked
/// up once.
#[derive(Debug, Default)]
pub struct Codes {
    dictionary: Dictionary,
    /// The texts of the last batches: there are as many kinds of them as threads that read.
    known: Vec<KnownTexts>,
    /// Which of them the batch has.
    current: usize,
    /// Which of them is given up next.
    next: usize,
    /// The code of each value of a fixed width; nothing inside if there are others.
    of_bits: Option<Option<(Bits, Vec<u32>)>>,
}

/// Texts of a batch, and the codes of those that were met.
#[derive(Debug)]
struct KnownTexts {
    values: StringArray,
    met: Vec<u32>,
}

/// Kinds of texts that are remembered.
const KINDS: usize = 16;

/// No code: there are never so many.
const UNMET: u32 = u32::MAX;

impl Codes {
    /// The values that were met.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// The same, when nothing more will be.
    pub fn into_dictionary(self) -> Dictionary {
        self.dictionary
    }

    /// Must be called with the texts of a batch before its first row is looked up.
    pub fn begin(&mut self, texts: &Texts) {
        let Texts::Coded(_, _, values) = texts else { return };
        let known = self.known.iter().position(|known| is_start(&known.values, values));
        self.current = known.unwrap_or_else(|| match self.known.len() {
            length @ ..KINDS => length,
            _ => {
                self.next = (self.next + 1) % KINDS;
                self.next
            }
        });
        match self.known.get_mut(self.current) {
            Some(last) => {
                last.met.truncate(if known.is_some() { last.met.len() } else { 0 });
                last.met.resize(values.len(), UNMET);
                last.values = values.clone();
            }
            None => self
                .known
                .push(KnownTexts { values: values.clone(), met: vec![UNMET; values.len()] }),
        }
    }

    /// The code of a row's text, and whether it was met for the first time.
    pub fn code(&mut self, texts: &Texts, row: usize, line: u64) -> (u32, bool) {
        let key = match texts {
            Texts::Coded(keys, nulls, _) => Texts::key(keys, nulls.as_ref(), row),
            Texts::Plain(_) => None,
        };
        if let Some(code) =
            key.map(|key| self.known[self.current].met[key]).filter(|code| *code != UNMET)
        {
            return (code, false);
        }
        let known = self.dictionary.len();
        let code = self.dictionary.encode(texts.get(row), line);
        if let Some(key) = key {
            self.known[self.current].met[key] = code;
        }
        (code, self.dictionary.len() > known)
    }

    /// Adds the codes of all rows of a batch.
    pub fn encode(
        &mut self,
        column: &Series,
        lines: &Lines,
        codes: &mut Vec<u32>,
    ) -> Result<(), ArrowError> {
        match column {
            Series::Array(array) if self.encode_bits(array, lines, codes)? => {}
            _ => self.encode_texts(&Texts::of(column)?, lines, codes),
        }
        Ok(())
    }

    /// The same for values of a fixed width, of which only distinct ones become text; false if
    /// they are others, or hardly recur.
    fn encode_bits(
        &mut self,
        array: &ArrayRef,
        lines: &Lines,
        codes: &mut Vec<u32>,
    ) -> Result<bool, ArrowError> {
        if self.of_bits.is_none() {
            self.of_bits = Some(Bits::new(array.data_type()).map(|bits| (bits, Vec::new())));
        }
        let Some(Some((bits, code_of))) = &mut self.of_bits else { return Ok(false) };
        let start = codes.len();
        let new = bits.add(array, codes)?;
        let texts = self::texts(&take(array, &UInt32Array::from(new.clone()), None)?)?;
        let numbers = &mut codes[start..];
        // A null has a code like others, in the order of appearance.
        let null = numbers.iter().position(|number| *number == 0);
        for (text, row) in texts.iter().zip(&new) {
            if let Some(null) = null.filter(|null| *null < *row as usize) {
                self.dictionary.encode_empty(lines.of(null));
            }
            code_of.push(self.dictionary.encode(text.unwrap_or(""), lines.of(*row as usize)));
        }
        let empty = null.map(|null| self.dictionary.encode_empty(lines.of(null)));
        for number in numbers {
            *number = match *number {
                0 => empty.unwrap_or_default(),
                number => code_of[number as usize - 1],
            };
        }
        if !bits.recur() {
            self.of_bits = Some(None);
        }
        Ok(true)
    }

    /// Adds the codes of all texts.
    pub(super) fn encode_texts(&mut self, texts: &Texts, lines: &Lines, codes: &mut Vec<u32>) {
        self.begin(texts);
        match texts {
            Texts::Coded(keys, None, values) => {
                let (dictionary, met) = (&mut self.dictionary, &mut self.known[self.current].met);
                if met.contains(&UNMET) {
                    for (row, key) in keys.iter().enumerate() {
                        let code = &mut met[*key as usize];
                        if *code == UNMET {
                            *code =
                                dictionary.encode(text_at(values, *key as usize), lines.of(row));
                        }
                    }
                }
                codes.extend(keys.iter().map(|key| met[*key as usize]));
            }
            Texts::Coded(keys, Some(_), _) => {
                codes.extend((0..keys.len()).map(|row| self.code(texts, row, lines.of(row)).0));
            }
            Texts::Plain(texts) => {
                let (dictionary, bytes) = (&mut self.dictionary, texts.value_data());
                // What an array of texts has is text.
                let mut code = |row: usize, ends: &[i32]| {
                    let place = ends[0] as usize..ends[1] as usize;
                    dictionary.encode_at(bytes, place, || lines.of(row)).unwrap_or_default()
                };
                let rows = texts.offsets().windows(2).enumerate();
                match texts.nulls() {
                    None => codes.extend(rows.map(|(row, ends)| code(row, ends))),
                    Some(nulls) => codes.extend(rows.map(|(row, ends)| {
                        // A null may have bytes.
                        if nulls.is_null(row) { code(row, &[0, 0]) } else { code(row, ends) }
                    })),
                }
            }
        }
    }
}

/// Whether two arrays begin at the same place in memory. Both are held, so it cannot have been
/// taken by another one meanwhile.
pub(crate) fn is_same(one: &StringArray, other: &StringArray) -> bool {
    one.value_offsets().as_ptr() == other.value_offsets().as_ptr()
        && one.value_data().as_ptr() == other.value_data().as_ptr()
}

/// Whether some texts are the first ones of others, which a reader has gathered meanwhile.
pub(super) fn is_start(first: &StringArray, all: &StringArray) -> bool {
    let (ends, all_ends) = (first.value_offsets(), all.value_offsets());
    if first.null_count() > 0 || all.null_count() > 0 || ends.len() > all_ends.len() {
        return false;
    }
    let of_first = |ends: &[i32]| (ends[0] as usize, ends[first.len()] as usize);
    let (texts, all_texts) = (of_first(ends), of_first(all_ends));
    is_same(first, all)
        || ends == &all_ends[..ends.len()]
            && first.value_data()[texts.0..texts.1] == all.value_data()[all_texts.0..all_texts.1]
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

    /// The codes of each batch go into a list of their own, as those of quasi-identifiers do. Once
    /// the rows of one batch were taken for those of the table, and numbers that recur were
    /// formatted one by one.
    #[test]
    fn numbers_recur_in_the_table_not_in_a_batch() {
        let mut known = Codes::default();
        let mut batch = |numbers: std::ops::Range<i64>| {
            let array: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
            known.encode(&Series::Array(array), &Lines::From(1), &mut Vec::new()).unwrap();
            matches!(known.of_bits, Some(Some(_)))
        };
        assert!((0..6).all(|_| batch(0..16_000)), "96,000 rows of 16,000 numbers");
        assert!(batch(16_000..18_000), "98,000 rows of 18,000 numbers recur");
        assert!(!batch(18_000..80_000), "160,000 rows of 80,000 numbers do not");
    }

    /// In plain texts exactly the changes are marked, and marks of other columns stay.
    #[test]
    fn changes_of_plain_texts_are_marked() {
        let mut random = Random::new(8);
        let pieces = ["", "a", "ab", "a text of 23 bytes, no 24", "a text of 23 bytes, no 2", "é"];
        for round in 0..200 {
            let rows = random.below(30) as usize;
            let texts: Vec<String> = (0..rows)
                .map(|_| {
                    pieces[random.below(2 + round % 5) as usize].repeat(1 + round as usize % 3)
                })
                .collect();
            let array = StringArray::from_iter_values(&texts);
            let start = random.below(rows as u64 + 1) as usize;
            let texts = &texts[start..];
            let before: Vec<bool> = texts.iter().map(|_| random.below(4) == 0).collect();
            let mut found = before.clone();
            Texts::Plain(array.slice(start, texts.len())).mark_changes(&mut found);
            let truth: Vec<bool> = (0..texts.len())
                .map(|row| before[row] || row > 0 && texts[row] != texts[row - 1])
                .collect();
            assert_eq!(found, truth, "{texts:?}");
        }
    }

    #[test]
    fn coded_and_plain_texts_are_the_same() {
        let mut random = Random::new(7);
        let mut codes = Codes::default();
        let mut truth = Dictionary::default();
        let mut values: ArrayRef =
            Arc::new(StringArray::from(vec![Some("a"), Some(""), Some("b"), Some("a"), None]));
        for batch in 0..40 {
            if batch % 3 == 0 {
                // Other texts, under the same keys.
                let letter = ["x", "y", "a"][batch % 9 / 3];
                values = Arc::new(StringArray::from(vec![
                    Some(letter),
                    Some("b"),
                    None,
                    Some("c"),
                    Some(""),
                ]));
            }
            let array = coded(&mut random, &values, 50, batch % 2 == 0);
            let (own, plain) =
                (Texts::of_array(&array).unwrap(), Texts::Plain(texts(&array).unwrap()));
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
