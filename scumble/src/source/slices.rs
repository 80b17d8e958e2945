//! Large batches of an Arrow file, some rows at a time.
//!
//! A writer may put a whole table into one batch, and Arrow's reader reads batches whole: memory
//! that was promised would not be kept. Where values lie in the file one behind the other (no
//! compression, nothing nested, no dictionaries), those of some rows are at places that the batch's
//! own description tells, and are read alone. Everything that is read is checked as it becomes an
//! array; other batches are left to Arrow's reader.

use super::messages::{Block, Footer, damaged, message, read, unsigned};
use super::meter::Metered;
use super::{BATCH_BYTES, BATCH_ROWS};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use std::collections::VecDeque;
use std::io::BufReader;
use std::ops::Range;

/// Bytes of a batch that are read at once; more are read some rows at a time.
const WHOLE: u64 = 4 * BATCH_BYTES as u64;

/// The batches of a file, the large ones in pieces.
pub(super) struct Slices {
    reader: Box<FileReader<BufReader<Metered>>>,
    wanted: Vec<usize>,
    /// The schema of the wanted columns.
    schema: SchemaRef,
    /// The batches that are left: the number of each, and where it lies.
    left: VecDeque<(usize, Block)>,
    current: Option<OpenBatch>,
}

/// A batch that is read some rows at a time.
struct OpenBatch {
    rows: u64,
    next: u64,
    /// Each wanted column's buffers, as places in the file, and whether it has nulls.
    columns: Vec<(Vec<Range<u64>>, bool)>,
}

impl Slices {
    pub(super) fn new(
        mut reader: Box<FileReader<BufReader<Metered>>>,
        wanted: Vec<usize>,
    ) -> Result<Slices, ArrowError> {
        let schema = reader.schema().project(&wanted)?.into();
        let footer = Footer::read(reader.get_mut().get_mut())?;
        let left = footer.batches.into_iter().enumerate().collect();
        Ok(Slices { reader, wanted, schema, left, current: None })
    }

    /// The next rows; `None` at the end.
    fn read_next(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            if let Some(mut open) = self.current.take_if(|open| open.next < open.rows) {
                let batch = self.piece(&mut open)?;
                self.current = Some(open);
                return Ok(Some(batch));
            }
            let Some((number, block)) = self.left.pop_front() else { return Ok(None) };
            self.current = if block.bytes > WHOLE { self.open(block)? } else { None };
            if self.current.is_none() {
                self.reader.set_index(number)?;
                return self.reader.next().map(|batch| batch?.project(&self.wanted)).transpose();
            }
        }
    }

    /// Looks at the description of a batch; `None` where it cannot be read some rows at a time.
    fn open(&mut self, block: Block) -> Result<Option<OpenBatch>, ArrowError> {
        let schema = self.reader.schema();
        let buffers_of: Option<Vec<usize>> =
            schema.fields().iter().map(|field| buffers(field.data_type())).collect();
        let Some(buffers_of) = buffers_of else { return Ok(None) };
        let body = block.body()?;
        let described = block.describe(self.reader.get_mut().get_mut())?;
        let message = message(&described)?;
        let batch = message.header_as_record_batch();
        let batch = batch.ok_or_else(|| damaged("invalid batch metadata"))?;
        if batch.compression().is_some() {
            return Ok(None);
        }
        let places = batch.buffers().into_iter().flatten().map(|buffer| {
            let (start, length) = (unsigned(buffer.offset())?, unsigned(buffer.length())?);
            let start = body.checked_add(start).ok_or_else(|| damaged("invalid buffer offset"))?;
            Ok(start..start.checked_add(length).ok_or_else(|| damaged("invalid buffer offset"))?)
        });
        let mut places = places.collect::<Result<Vec<Range<u64>>, ArrowError>>()?.into_iter();
        let rows = unsigned(batch.length())?;
        let mut columns = Vec::new();
        let mut nodes = batch.nodes().into_iter().flatten();
        for buffers in &buffers_of {
            let node = nodes.next().ok_or_else(|| damaged("missing column"))?;
            let places: Vec<Range<u64>> = places.by_ref().take(*buffers).collect();
            if unsigned(node.length())? != rows || places.len() < *buffers {
                return Err(damaged("columns of different lengths"));
            }
            columns.push((places, node.null_count() > 0));
        }
        let columns = self.wanted.iter().map(|column| columns[*column].clone()).collect();
        Ok(Some(OpenBatch { rows, next: 0, columns }))
    }

    /// Some rows of a batch: fewer than usual where their texts are long.
    fn piece(&mut self, open: &mut OpenBatch) -> Result<RecordBatch, ArrowError> {
        let file = self.reader.get_mut().get_mut();
        // Whole bytes of bits, so that the next piece begins with one.
        let about = |rows: u64| (rows & !7).max(8);
        let kinds = || self.schema.fields().iter().map(|field| field.data_type());
        let wide: u64 = kinds().filter_map(width).sum();
        let long = BATCH_BYTES as u64 / kinds().filter_map(offset_width).count().max(1) as u64;
        let mut rows = (open.rows - open.next)
            .min(BATCH_ROWS as u64)
            .min(about(BATCH_BYTES as u64 / wide.max(1)));
        let mut ends = Vec::with_capacity(open.columns.len());
        for (field, (places, _)) in self.schema.fields().iter().zip(&open.columns) {
            let ends_of_texts = match offset_width(field.data_type()) {
                None => Vec::new(),
                Some(width) => {
                    offsets(&part(file, &places[1], open.next * width, (rows + 1) * width)?, width)?
                }
            };
            if let Some(first) = ends_of_texts.first() {
                let fit = ends_of_texts.partition_point(|end| end - first <= long) as u64;
                rows = rows.min(about(fit.saturating_sub(1)));
            }
            ends.push(ends_of_texts);
        }
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(open.columns.len());
        for ((field, (places, has_nulls)), ends) in
            self.schema.fields().iter().zip(&open.columns).zip(ends)
        {
            let mut bits =
                |place| part(file, place, open.next / 8, rows.div_ceil(8)).map(Buffer::from_vec);
            let kind = field.data_type();
            let nulls = match (kind, has_nulls) {
                (DataType::Null, _) | (_, false) => None,
                (_, true) => Some(bits(&places[0])?),
            };
            let values = match kind {
                DataType::Null => Vec::new(),
                DataType::Boolean => vec![bits(&places[1])?],
                kind if offset_width(kind).is_some() => {
                    let ends = ends
                        .get(..=rows as usize)
                        .ok_or_else(|| damaged("invalid string offsets"))?;
                    let (first, last) = (ends[0], ends[rows as usize]);
                    let length =
                        last.checked_sub(first).ok_or_else(|| damaged("invalid string offsets"))?;
                    let texts = part(file, &places[2], first, length)?;
                    vec![relative(ends, kind)?, Buffer::from_vec(texts)]
                }
                kind => {
                    let width =
                        width(kind).ok_or_else(|| damaged("column without a fixed width"))?;
                    vec![Buffer::from_vec(part(file, &places[1], open.next * width, rows * width)?)]
                }
            };
            let data = ArrayData::builder(kind.clone())
                .len(rows as usize)
                .null_bit_buffer(nulls)
                .buffers(values);
            arrays.push(make_array(data.align_buffers(true).build()?));
        }
        open.next += rows;
        let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
    }
}

impl Iterator for Slices {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Result<RecordBatch, ArrowError>> {
        self.read_next().transpose()
    }
}

/// Some bytes of a buffer.
fn part(
    file: &mut Metered,
    buffer: &Range<u64>,
    start: u64,
    length: u64,
) -> Result<Vec<u8>, ArrowError> {
    let from = buffer.start.checked_add(start).ok_or_else(|| damaged("invalid buffer offset"))?;
    let to = from
        .checked_add(length)
        .filter(|to| *to <= buffer.end)
        .ok_or_else(|| damaged("too few values"))?;
    read(file, from..to)
}

/// Where texts end, of which the first is where they begin.
fn offsets(bytes: &[u8], width: u64) -> Result<Vec<u64>, ArrowError> {
    let ends: Result<Vec<u64>, ArrowError> = match width {
        4 => bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|end| unsigned(i32::from_le_bytes(*end).into()))
            .collect(),
        _ => {
            bytes.as_chunks::<8>().0.iter().map(|end| unsigned(i64::from_le_bytes(*end))).collect()
        }
    };
    ends.and_then(
        |ends| if ends.is_sorted() { Ok(ends) } else { Err(damaged("invalid string offsets")) },
    )
}

/// The same for texts that begin at the first, as they are written.
fn relative(ends: &[u64], kind: &DataType) -> Result<Buffer, ArrowError> {
    let far = |_| damaged("invalid string offsets");
    let ends = ends.iter().map(|end| end - ends[0]);
    Ok(match offset_width(kind) {
        Some(4) => {
            let ends: Vec<i32> = ends.map(i32::try_from).collect::<Result<_, _>>().map_err(far)?;
            Buffer::from_vec(ends)
        }
        _ => {
            let ends: Vec<i64> = ends.map(i64::try_from).collect::<Result<_, _>>().map_err(far)?;
            Buffer::from_vec(ends)
        }
    })
}

/// Bytes of the number that says where a text ends.
fn offset_width(kind: &DataType) -> Option<u64> {
    match kind {
        DataType::Utf8 | DataType::Binary => Some(4),
        DataType::LargeUtf8 | DataType::LargeBinary => Some(8),
        _ => None,
    }
}

/// Bytes of a value, where all have as many.
fn width(kind: &DataType) -> Option<u64> {
    match kind {
        DataType::FixedSizeBinary(bytes) => u64::try_from(*bytes).ok(),
        kind => kind.primitive_width().map(|bytes| bytes as u64),
    }
}

/// How many buffers a column of this type has; `None` where its rows cannot be read alone.
fn buffers(kind: &DataType) -> Option<usize> {
    match kind {
        DataType::Null => Some(0),
        DataType::Boolean => Some(2),
        kind if offset_width(kind).is_some() => Some(3),
        kind => width(kind).map(|_| 2),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FileFormat, Format, Source, TableFile};
    use super::*;
    use crate::random::Random;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_array::{
        BinaryArray, BooleanArray, Decimal128Array, DictionaryArray, FixedSizeBinaryArray,
        Float64Array, Int8Array, Int64Array, LargeStringArray, NullArray, StringArray,
        StringViewArray,
    };
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
    use arrow_select::concat::concat_batches;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    const ROWS: usize = 150_003;

    /// A column of each kind, with nulls and without.
    fn columns(random: &mut Random) -> Vec<ArrayRef> {
        let mut number =
            |row: usize| (random.below(7) > 0).then(|| row as i64 * 31 - random.below(9) as i64);
        let numbers: Vec<Option<i64>> = (0..ROWS).map(&mut number).collect();
        let told = |number: &Option<i64>| number.map(|number| format!("a text of {number}"));
        let texts: Vec<Option<String>> = numbers.iter().map(told).collect();
        // Some are so long that few of them fit.
        let long = (0..ROWS)
            .map(|row| Some(if row % 5000 == 77 { "é".repeat(400_000) } else { row.to_string() }));
        let fixed = numbers.iter().map(|number| number.map(|number| number.to_le_bytes()));
        vec![
            Arc::new(Int64Array::from(numbers.clone())),
            Arc::new(StringArray::from(texts.clone())),
            Arc::new(BooleanArray::from_iter(
                numbers.iter().map(|number| number.map(|number| number % 3 == 0)),
            )),
            Arc::new(NullArray::new(ROWS)),
            Arc::new(long.collect::<LargeStringArray>()),
            Arc::new(Float64Array::from_iter_values((0..ROWS).map(|row| row as f64 / 7.0))),
            Arc::new(Int8Array::from_iter_values((0..ROWS).map(|row| row as i8))),
            Arc::new(BinaryArray::from_iter(
                texts.iter().map(|text| text.as_ref().map(|text| text.as_bytes())),
            )),
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 8).unwrap()),
            Arc::new(Decimal128Array::from_iter(
                numbers.iter().map(|number| number.map(i128::from)),
            )),
        ]
    }

    fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
        let names = (0..columns.len()).map(|column| format!("column {column}"));
        RecordBatch::try_from_iter_with_nullable(
            names.zip(columns).map(|(name, column)| (name, column, true)),
        )
        .unwrap()
    }

    fn written(
        name: &str,
        batches: &[&RecordBatch],
        compression: Option<CompressionType>,
    ) -> PathBuf {
        let path = std::env::temp_dir()
            .join(format!("scumble-slices-{name}-{}.arrow", std::process::id()));
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        let mut writer =
            FileWriter::try_new_with_options(file, &batches[0].schema(), options).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
        path
    }

    /// The wanted columns of a file, and the sizes of the pieces that they came in.
    fn read_back(
        path: &Path,
        wanted: &[bool],
    ) -> crate::error::Result<(Vec<RecordBatch>, Vec<usize>)> {
        let source = TableFile::open_as(path, FileFormat::new(Format::Arrow))?;
        let source: &dyn Source = &source;
        let at: Vec<usize> = (0..wanted.len()).filter(|column| wanted[*column]).collect();
        let schema = Arc::new(source.schema().project(&at).unwrap());
        let mut pieces = Vec::new();
        for batch in source.batches(wanted)? {
            let arrays = batch?.columns.iter().map(|series| series.to_array().unwrap()).collect();
            pieces.push(RecordBatch::try_new(schema.clone(), arrays).unwrap());
        }
        let sizes = pieces.iter().map(RecordBatch::num_rows).collect();
        Ok((pieces, sizes))
    }

    #[test]
    fn large_batches_come_in_pieces_that_are_all_there() {
        let random = &mut Random::new(6);
        let all = batch(columns(random));
        let small = all.slice(5, 100);
        let path = written("pieces", &[&all, &small, &all.slice(1, ROWS - 1)], None);
        for seed in 0..6u64 {
            let mut wanted: Vec<bool> =
                (0..all.num_columns()).map(|_| seed == 0 || random.below(3) == 0).collect();
            wanted[seed as usize] = true;
            let at: Vec<usize> = (0..wanted.len()).filter(|column| wanted[*column]).collect();
            let (pieces, sizes) = read_back(&path, &wanted).unwrap();
            assert!(sizes.iter().all(|rows| *rows <= BATCH_ROWS) && sizes.len() > 60, "{sizes:?}");
            let truth =
                [&all, &small, &all.slice(1, ROWS - 1)].map(|batch| batch.project(&at).unwrap());
            let schema = truth[0].schema();
            assert_eq!(
                concat_batches(&schema, &pieces).unwrap(),
                concat_batches(&schema, &truth).unwrap()
            );
            // What few rows of long texts take is about what was asked for.
            let bytes = pieces.iter().map(RecordBatch::get_array_memory_size).max().unwrap();
            assert!(bytes < 8 * BATCH_BYTES, "{bytes}");
        }
        std::fs::remove_file(path).unwrap();
    }

    /// What cannot be read some rows at a time is read whole, and handed over in pieces all the
    /// same.
    #[test]
    fn other_batches_are_whole_in_memory() {
        let random = &mut Random::new(7);
        let plain = columns(random);
        let texts = plain[1].as_string::<i32>();
        let coded: DictionaryArray<Int32Type> =
            texts.iter().map(|text| text.map(|text| text.get(..12).unwrap_or(text))).collect();
        let views: StringViewArray = texts.iter().collect();
        for (name, columns, compression) in [
            ("packed", plain.clone(), Some(CompressionType::ZSTD)),
            ("coded", vec![plain[0].clone(), Arc::new(coded), plain[4].clone()], None),
            ("views", vec![Arc::new(views), plain[4].clone()], None),
        ] {
            let all = batch(columns);
            let path = written(name, &[&all], compression);
            let (pieces, sizes) = read_back(&path, &vec![true; all.num_columns()]).unwrap();
            assert!(sizes.len() > 1, "{name}: {sizes:?}");
            assert_eq!(concat_batches(&all.schema(), &pieces).unwrap(), all, "{name}");
            std::fs::remove_file(path).unwrap();
        }
    }

    /// Descriptions of batches stand before them, and all of them at the end; neither may be
    /// believed.
    #[test]
    fn damage_is_an_error_and_asks_for_no_memory() {
        let random = &mut Random::new(8);
        let all = batch(columns(random)[..2].to_vec());
        let path = written("damaged", &[&all], None);
        let bytes = std::fs::read(&path).unwrap();
        let (mut wrong, mut read) = (0, 0);
        for round in 0..300 {
            let mut damaged = bytes.clone();
            match round {
                0 => damaged.truncate(bytes.len() / 2),
                _ => {
                    let near = 8 + random.below(1200) as usize;
                    let at = if round % 2 == 0 { near } else { bytes.len() - near };
                    damaged[at] = [0, 0xFF, 0x7F, 0x80][random.below(4) as usize];
                }
            }
            std::fs::write(&path, damaged).unwrap();
            match read_back(&path, &[true, true]) {
                Err(error) => wrong += usize::from(!error.to_string().is_empty()),
                Ok((pieces, _)) => read += usize::from(!pieces.is_empty()),
            }
        }
        assert!(wrong > 30 && read > 30, "{wrong} wrong, {read} read");
        std::fs::remove_file(path).unwrap();
    }
}
