//! Batches of an Arrow file, some rows and columns at a time.
//!
//! Arrow's reader reads whole batches: all columns, and all rows even if a writer put the whole
//! table into one batch. If values lie in the file one after the other (no compression, no nested
//! types, no dictionaries), the description of a batch tells where those of some rows are, and only
//! these are read. All that is read is checked as it becomes an array. Other batches are left to
//! Arrow's reader.

use super::messages::{Block, Footer, damaged, message, unsigned};
use super::meter::Metered;
use super::{BATCH_BYTES, BATCH_ROWS};
use arrow_array::types::{ByteArrayType, GenericBinaryType, GenericStringType};
use arrow_array::{
    ArrayRef, ArrowNativeTypeOp, GenericByteArray, OffsetSizeTrait, RecordBatch,
    RecordBatchOptions, make_array,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_ipc::reader::FileReader;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use parquet::file::reader::Length;
use std::collections::VecDeque;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

/// The batches of a file in pieces.
pub(super) struct Slices {
    reader: Box<FileReader<BufReader<Metered>>>,
    /// Bytes of the file.
    size: u64,
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
        let file = reader.get_mut().get_mut();
        let (footer, size) = (Footer::read(file)?, Length::len(file));
        let left = footer.batches.into_iter().enumerate().collect();
        Ok(Slices { reader, size, wanted, schema, left, current: None })
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
            self.current = self.open(block)?;
            if self.current.is_none() {
                self.reader.set_index(number)?;
                return self.reader.next().map(|batch| batch?.project(&self.wanted)).transpose();
            }
        }
    }

    /// Looks at the description of a batch; `None` if it cannot be read some rows at a time.
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
            let end = start.checked_add(length).filter(|end| *end <= self.size);
            Ok(start..end.ok_or_else(|| damaged("truncated batch"))?)
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
        let columns: Vec<_> = self.wanted.iter().map(|at| columns[*at].clone()).collect();
        for (field, (places, has_nulls)) in self.schema.fields().iter().zip(&columns) {
            if rows > 0 && !has_room(field.data_type(), places, *has_nulls, rows) {
                return Err(damaged("too few values"));
            }
        }
        Ok(Some(OpenBatch { rows, next: 0, columns }))
    }

    /// Some rows of a batch: fewer than usual if their texts are long.
    fn piece(&mut self, open: &mut OpenBatch) -> Result<RecordBatch, ArrowError> {
        let file = self.reader.get_mut().get_mut();
        // A multiple of eight, so that the bits of the next piece begin with a byte.
        let about = |rows: u64| (rows & !7).max(8);
        let kinds = || self.schema.fields().iter().map(|field| field.data_type());
        let wide: u64 = kinds().filter_map(width).sum();
        let long = BATCH_BYTES / kinds().filter_map(offset_width).count().max(1);
        let mut rows = (open.rows - open.next)
            .min(BATCH_ROWS as u64)
            .min(about(BATCH_BYTES as u64 / wide.max(1)));
        let mut ends = Vec::with_capacity(open.columns.len());
        for (field, (places, _)) in self.schema.fields().iter().zip(&open.columns) {
            let Some(width) = offset_width(field.data_type()) else {
                ends.push(None);
                continue;
            };
            let bytes = part(file, &places[1], open.next * width, (rows + 1) * width)?;
            let read = Ends::new(&bytes, width)?;
            rows = rows.min(about(read.fit(long) as u64));
            ends.push(Some(read));
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
            if let Some(ends) = ends {
                let nulls =
                    nulls.map(|bits| NullBuffer::new(BooleanBuffer::new(bits, 0, rows as usize)));
                arrays.push(ends.texts(file, &places[2], rows as usize, kind, nulls)?);
                continue;
            }
            let values = match kind {
                DataType::Null => Vec::new(),
                DataType::Boolean => vec![bits(&places[1])?],
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

/// Some bytes of a buffer, which lies in the file.
fn part(
    file: &mut Metered,
    buffer: &Range<u64>,
    start: u64,
    length: u64,
) -> Result<Vec<u8>, ArrowError> {
    let left = (buffer.end - buffer.start).checked_sub(start);
    if left.is_none_or(|left| left < length) {
        return Err(damaged("too few values"));
    }
    file.seek(SeekFrom::Start(buffer.start + start))?;
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Where texts end; the first number is where the first text begins. The numbers are in order.
enum Ends {
    Short(Vec<i32>),
    Long(Vec<i64>),
}

impl Ends {
    fn new(bytes: &[u8], width: u64) -> Result<Ends, ArrowError> {
        fn is_valid<O: OffsetSizeTrait>(ends: &[O]) -> bool {
            ends.first().is_some_and(|first| *first >= O::zero()) && ends.is_sorted()
        }
        let (ends, is_valid) = match width {
            4 => {
                let ends = bytes.as_chunks().0.iter().map(|end| i32::from_le_bytes(*end));
                let ends: Vec<i32> = ends.collect();
                let is_valid = is_valid(&ends);
                (Ends::Short(ends), is_valid)
            }
            _ => {
                let ends = bytes.as_chunks().0.iter().map(|end| i64::from_le_bytes(*end));
                let ends: Vec<i64> = ends.collect();
                let is_valid = is_valid(&ends);
                (Ends::Long(ends), is_valid)
            }
        };
        if is_valid { Ok(ends) } else { Err(damaged("invalid string offsets")) }
    }

    /// How many of the texts have so many bytes together.
    fn fit(&self, bytes: usize) -> usize {
        fn fit<O: OffsetSizeTrait>(ends: &[O], bytes: usize) -> usize {
            ends.partition_point(|end| (*end - ends[0]).as_usize() <= bytes) - 1
        }
        match self {
            Ends::Short(ends) => fit(ends, bytes),
            Ends::Long(ends) => fit(ends, bytes),
        }
    }

    /// The first `rows` texts, from the buffer where they lie.
    fn texts(
        self,
        file: &mut Metered,
        place: &Range<u64>,
        rows: usize,
        kind: &DataType,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, ArrowError> {
        fn array<T: ByteArrayType<Offset: ArrowNativeTypeOp>>(
            mut ends: Vec<T::Offset>,
            file: &mut Metered,
            place: &Range<u64>,
            rows: usize,
            nulls: Option<NullBuffer>,
        ) -> Result<ArrayRef, ArrowError> {
            ends.truncate(rows + 1);
            let (first, last) = (ends[0], ends[rows]);
            let (start, length) = (first.as_usize(), (last - first).as_usize());
            let bytes = part(file, place, start as u64, length as u64)?;
            ends.iter_mut().for_each(|end| *end = end.sub_wrapping(first));
            let ends = OffsetBuffer::new(ends.into());
            Ok(Arc::new(GenericByteArray::<T>::try_new(ends, Buffer::from_vec(bytes), nulls)?))
        }
        match (self, kind) {
            (Ends::Short(ends), DataType::Utf8) => {
                array::<GenericStringType<i32>>(ends, file, place, rows, nulls)
            }
            (Ends::Short(ends), _) => {
                array::<GenericBinaryType<i32>>(ends, file, place, rows, nulls)
            }
            (Ends::Long(ends), DataType::LargeUtf8) => {
                array::<GenericStringType<i64>>(ends, file, place, rows, nulls)
            }
            (Ends::Long(ends), _) => {
                array::<GenericBinaryType<i64>>(ends, file, place, rows, nulls)
            }
        }
    }
}

/// Whether the buffers of a column can hold so many rows. How long texts are is seen later.
fn has_room(kind: &DataType, places: &[Range<u64>], has_nulls: bool, rows: u64) -> bool {
    let bits = |place: &Range<u64>| (place.end - place.start).saturating_mul(8) >= rows;
    let values = |place: &Range<u64>, width: u64, rows: u64| {
        rows.checked_mul(width).is_some_and(|bytes| bytes <= place.end - place.start)
    };
    let has_values = match (kind, places) {
        (DataType::Null, _) => return true,
        (DataType::Boolean, [_, place]) => bits(place),
        (kind, [_, place, ..]) => match offset_width(kind) {
            Some(width) => rows.checked_add(1).is_some_and(|ends| values(place, width, ends)),
            None => width(kind).is_some_and(|width| values(place, width, rows)),
        },
        _ => false,
    };
    has_values && (!has_nulls || bits(&places[0]))
}

/// Bytes of the number that tells where a text ends.
fn offset_width(kind: &DataType) -> Option<u64> {
    match kind {
        DataType::Utf8 | DataType::Binary => Some(4),
        DataType::LargeUtf8 | DataType::LargeBinary => Some(8),
        _ => None,
    }
}

/// Bytes of a value, if all values have as many.
fn width(kind: &DataType) -> Option<u64> {
    match kind {
        DataType::FixedSizeBinary(bytes) => u64::try_from(*bytes).ok(),
        kind => kind.primitive_width().map(|bytes| bytes as u64),
    }
}

/// How many buffers a column of this type has; `None` if its rows cannot be read alone.
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

    /// Batches that cannot be read some rows at a time are read whole, and handed over in pieces
    /// too.
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

    /// Batches are described before their values and at the end of the file. Neither description
    /// may be trusted.
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
