//! Rows of a file as records: codes of quasi-identifiers, codes of counted values, and the bytes of
//! everything that only travels. The file is read as often as it is asked for, and must not change
//! meanwhile.

use super::spill::Records;
use super::survey::{Decoded, MISSING, NumberOrText, Survey};
use super::texts::texts;
use super::{Batch, Series, Source, Wanted};
use crate::error::{Error, Result};
use crate::ids::{Code, IdMap, LeafId};
use crate::table::Dictionary;
use crate::taxonomy::{Axis, AxisNumbers, Ordered, bits_of};
use crate::watch::Watch;
use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_row::{RowConverter, SortField};
use arrow_schema::{ArrowError, DataType};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use std::path::Path;
use std::sync::mpsc;

/// Batches of records that may wait between the thread that makes them and the one that uses them.
const AHEAD: usize = 2;

/// How the values of a quasi-identifier become codes.
#[derive(Debug)]
pub enum KeyCoder {
    /// By the number.
    Number(Ordered),
    /// By the leaf of each distinct value.
    Leaf(Dictionary, IdMap<Code, LeafId>),
}

impl KeyCoder {
    /// Whether codes need two words.
    pub fn is_wide(&self) -> bool {
        matches!(self, KeyCoder::Number(Ordered { numbers: AxisNumbers::Bits, .. }))
    }
}

/// The code of a number (as bits, [`MISSING`] for none) on an ordered axis.
fn code_of(axis: &Ordered, bits: u64) -> u64 {
    match (bits, &axis.numbers) {
        (MISSING, _) => axis.missing.unwrap_or(0),
        (bits, AxisNumbers::Offset) => (f64::from_bits(bits) - axis.least) as u64,
        (bits, _) => bits_of(f64::from_bits(bits)),
    }
}

/// An ordered axis for numbers between two ends: by distance where codes of one word do, else by
/// bits.
pub fn axis_between(kind: crate::table::Type, least: f64, greatest: f64, missing: bool) -> Ordered {
    use crate::table::Type;
    let width = greatest - least;
    let offset = matches!(kind, Type::Integer | Type::Date) && width < f64::from(u32::MAX) - 1.0;
    let (numbers, above) = if offset {
        (AxisNumbers::Offset, width as u64 + 1)
    } else {
        (AxisNumbers::Bits, u64::MAX)
    };
    Ordered { kind, numbers, missing: missing.then_some(above), least, greatest }
}

/// What becomes of each column.
#[derive(Debug)]
pub struct Coder {
    /// The quasi-identifiers, by column.
    pub keys: Vec<(usize, KeyCoder, Vec<String>)>,
    /// The counted columns: the column, its values, and the leaf of each.
    pub counted: Vec<(usize, Dictionary, IdMap<Code, LeafId>)>,
    /// The columns that travel, as these types.
    pub travelling: Vec<(usize, DataType)>,
    /// Words of a record.
    pub width: usize,
    /// Turns travelling values into bytes and back.
    pub converter: Option<RowConverter>,
}

impl Coder {
    /// What turns values of these types into bytes; `None` where nothing travels.
    pub fn converter(travelling: &[(usize, DataType)]) -> Result<Option<RowConverter>, ArrowError> {
        let fields: Vec<SortField> =
            travelling.iter().map(|(_, kind)| SortField::new(kind.clone())).collect();
        if fields.is_empty() { Ok(None) } else { RowConverter::new(fields).map(Some) }
    }

    /// The sampled rows of a survey as records' words.
    pub fn sample(&self, survey: &Survey) -> Vec<u32> {
        let rows = self.keys.first().map_or(0, |(column, ..)| survey.sample[*column].len());
        let mut words = vec![0u32; rows * self.width];
        for (row, words) in words.chunks_exact_mut(self.width.max(1)).enumerate() {
            let mut at = 0;
            for (column, key, _) in &self.keys {
                let raw = survey.sample[*column][row];
                match key {
                    KeyCoder::Number(axis) => {
                        put(words, &mut at, code_of(axis, raw), key.is_wide())
                    }
                    KeyCoder::Leaf(_, leaf_of) => {
                        // A column of missing values only was taken for numbers: there is one leaf.
                        let code = Code(if raw == MISSING { 0 } else { raw as u32 });
                        put(words, &mut at, leaf_of.at(code).0.into(), false)
                    }
                }
            }
            for (column, _, leaf_of) in &self.counted {
                let code = Code(survey.sample[*column][row] as u32);
                put(words, &mut at, leaf_of.at(code).0.into(), false);
            }
        }
        words
    }

    /// A batch as records. `arrays` are those of the columns that are read, `at` tells where each
    /// column is among them.
    fn encode(&self, batch: &Batch, at: &[usize], file: &Path) -> Result<Records> {
        let broken = |source: ArrowError| Error::Columnar { file: file.to_path_buf(), source };
        let arrays: Vec<ArrayRef> = batch
            .columns
            .iter()
            .map(Series::to_array)
            .collect::<Result<_, ArrowError>>()
            .map_err(broken)?;
        let rows = batch.rows;
        let changed = || Error::ChangedMeanwhile { file: file.to_path_buf() };
        let keys: Vec<Vec<u64>> = self
            .keys
            .par_iter()
            .map(|(column, key, missing)| {
                encode_key(&arrays[at[*column]], key, missing, broken, changed)
            })
            .collect::<Result<_>>()?;
        let counted: Vec<Vec<u32>> = self
            .counted
            .par_iter()
            .map(|(column, dictionary, leaf_of)| {
                let texts = texts(&arrays[at[*column]]).map_err(broken)?;
                let code = |row: usize| {
                    let text = if texts.is_null(row) { "" } else { texts.value(row) };
                    dictionary.find(text).map(|code| leaf_of.at(Code(code)).0).ok_or_else(changed)
                };
                (0..rows).map(code).collect()
            })
            .collect::<Result<_>>()?;
        let mut records = Records::new(self.width);
        records.words = vec![0; rows * self.width];
        let mut place = 0;
        for ((_, key, _), codes) in self.keys.iter().zip(&keys) {
            for (words, code) in records.words.chunks_exact_mut(self.width).zip(codes) {
                let mut at = place;
                put(words, &mut at, *code, key.is_wide());
            }
            place += if key.is_wide() { 2 } else { 1 };
        }
        for codes in &counted {
            for (words, code) in records.words.chunks_exact_mut(self.width).zip(codes) {
                words[place] = *code;
            }
            place += 1;
        }
        match &self.converter {
            None => records.ends = vec![0; rows],
            Some(converter) => {
                let arrays: Vec<ArrayRef> = self
                    .travelling
                    .iter()
                    .map(|(column, kind)| cast(&batch.columns[at[*column]].as_written()?, kind))
                    .collect::<Result<_, ArrowError>>()
                    .map_err(broken)?;
                let converted = converter.convert_columns(&arrays).map_err(broken)?;
                records.ends.reserve(rows);
                for row in converted.iter() {
                    records.payload.extend_from_slice(row.data());
                    records.ends.push(records.payload.len() as u64);
                }
            }
        }
        Ok(records)
    }
}

fn put(words: &mut [u32], at: &mut usize, code: u64, wide: bool) {
    if wide {
        (words[*at], words[*at + 1]) = ((code >> 32) as u32, code as u32);
        *at += 2;
    } else {
        words[*at] = code as u32;
        *at += 1;
    }
}

fn encode_key(
    array: &ArrayRef,
    key: &KeyCoder,
    missing: &[String],
    broken: impl Fn(ArrowError) -> Error,
    changed: impl Fn() -> Error,
) -> Result<Vec<u64>> {
    match key {
        KeyCoder::Number(axis) => {
            let decoded = Decoded::new(array, missing).map_err(broken)?;
            if let (AxisNumbers::Offset, Some(numbers)) =
                (&axis.numbers, decoded.plain_integers(Some(axis.kind)))
            {
                let (least, greatest) = (axis.least as i64, axis.greatest as i64);
                // The first scan saw another file.
                if numbers.iter().any(|number| *number < least || *number > greatest) {
                    return Err(changed());
                }
                return Ok(numbers.iter().map(|number| (number - least) as u64).collect());
            }
            let mut codes = Vec::with_capacity(array.len());
            for row in 0..array.len() {
                let bits = match decoded.value(row, Some(axis.kind)) {
                    NumberOrText::Missing if axis.missing.is_some() => MISSING,
                    NumberOrText::Number(_, number)
                        if (axis.least..=axis.greatest).contains(&number) =>
                    {
                        number.to_bits()
                    }
                    // The first scan saw another file.
                    _ => return Err(changed()),
                };
                codes.push(code_of(axis, bits));
            }
            Ok(codes)
        }
        KeyCoder::Leaf(dictionary, leaf_of) => {
            let texts = texts(array).map_err(broken)?;
            let code = |row: usize| {
                let text = if texts.is_null(row) { "" } else { texts.value(row) };
                dictionary
                    .find(text)
                    .map(|code| u64::from(leaf_of.at(Code(code)).0))
                    .ok_or_else(&changed)
            };
            (0..array.len()).map(code).collect()
        }
    }
}

/// A file whose rows are read as records.
pub struct Input<'a> {
    /// The table.
    pub source: &'a dyn Source,
    /// Ends a scan when it is aborted.
    pub watch: &'a Watch,
    /// What becomes of its columns.
    pub coder: &'a Coder,
    /// What is wanted of each column.
    pub wanted: &'a [Wanted],
    /// How many rows a first scan found.
    pub rows: u64,
    /// About how many bytes travel with them.
    pub payload_bytes: u64,
}

impl Input<'_> {
    /// Hands over all rows, the next ones being read and coded meanwhile.
    pub fn scan(&self, each: &mut dyn FnMut(&Records) -> Result<()>) -> Result<()> {
        let (source, watch) = (self.source, self.watch);
        let file = source.file();
        let read: Vec<bool> =
            self.wanted.iter().map(|wanted| !matches!(wanted, Wanted::Nothing)).collect();
        let mut at = vec![0; read.len()];
        let mut next = 0;
        for (at, read) in at.iter_mut().zip(&read) {
            *at = next;
            next += usize::from(*read);
        }
        let batches = source.batches(&read)?;
        let mut rows = 0;
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel::<Result<Records>>(AHEAD);
            let (coder, file, at) = (self.coder, file.as_path(), &at);
            scope.spawn(move || {
                for batch in batches {
                    let records = batch.and_then(|batch| coder.encode(&batch, at, file));
                    let failed = records.is_err();
                    // The other side hangs up when it has found an error of its own.
                    if sender.send(records).is_err() || failed {
                        break;
                    }
                }
            });
            receiver.into_iter().try_for_each(|records| {
                let records = records?;
                watch.check()?;
                rows += records.len() as u64;
                watch.progress("partition", rows, Some(self.rows));
                each(&records)
            })
        })?;
        if rows == self.rows { Ok(()) } else { Err(Error::ChangedMeanwhile { file }) }
    }
}

/// The axis of a coded quasi-identifier that is parted by numbers.
impl From<&Ordered> for Axis {
    fn from(ordered: &Ordered) -> Axis {
        Axis::Ordered(ordered.clone())
    }
}
