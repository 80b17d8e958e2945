//! The footer and the pages of a Parquet file, looked at before they are decoded.
//!
//! A page tells how many values it has, and Parquet's decoders make room for that many at once: a
//! damaged number takes all memory, or aborts the process. So it is compared with the bytes of the
//! page, and with what else the page tells.

use super::messages::damaged;
use super::meter::Metered;
use super::thrift::{Flaw, check_footer, check_page_header};
use arrow_schema::ArrowError;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, RowGroups,
};
use parquet::arrow::parquet_to_arrow_field_levels;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use std::io::{BufRead, BufReader};
use std::sync::Arc;

fn refused(what: &str) -> ParquetError {
    ParquetError::from(ArrowError::ExternalError(Box::new(damaged(what))))
}

/// What a file ends with: the length of its footer, and four letters.
const TAIL: u64 = 8;
const MAGIC: &[u8] = b"PAR1";

/// Reads the footer of a file, which is checked.
pub(super) fn metadata(file: &Metered) -> Result<ArrowReaderMetadata> {
    let options = ArrowReaderOptions::default();
    match footer(file)? {
        Some(footer) => {
            check_footer(&footer).map_err(|_| refused("invalid metadata"))?;
            let metadata = ParquetMetaDataReader::decode_metadata(&footer)?;
            ArrowReaderMetadata::try_new(Arc::new(metadata), options)
        }
        // Parquet's reader says what is wrong.
        None => ArrowReaderMetadata::load(file, options),
    }
}

/// The bytes of the footer; `None` if the file does not end as a Parquet file does.
fn footer(file: &Metered) -> Result<Option<Bytes>> {
    let Some(end) = Length::len(file).checked_sub(TAIL) else { return Ok(None) };
    let tail = file.get_bytes(end, TAIL as usize)?;
    let Some((length, MAGIC)) = tail.split_first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length);
    match end.checked_sub(length.into()) {
        Some(start) => Ok(Some(file.get_bytes(start, length as usize)?)),
        None => Ok(None),
    }
}

/// A file from which Parquet's reader gets page headers only after they were checked.
struct CheckedHeaders(Metered);

/// By how much more is looked at if a header is longer than what was looked at.
const LONGER: usize = 16;

impl Length for CheckedHeaders {
    fn len(&self) -> u64 {
        Length::len(&self.0)
    }
}

impl ChunkReader for CheckedHeaders {
    type T = BufReader<Metered>;

    /// Parquet's reader of pages calls this for their headers only.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut read = self.0.get_read(start)?;
        let seen = read.fill_buf()?;
        let (mut found, mut length) = (check_page_header(seen), seen.len());
        let rest = usize::try_from(self.len().saturating_sub(start)).unwrap_or(usize::MAX);
        // Statistics may make it long.
        while found == Err(Flaw::Short) && length < rest {
            length = length.max(1).saturating_mul(LONGER).min(rest);
            found = check_page_header(&self.0.get_bytes(start, length)?);
        }
        found.map_err(|_| refused("invalid page header"))?;
        Ok(read)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// A reader of the columns of a mask whose pages are checked.
pub(super) fn reader(
    file: Metered,
    metadata: &ArrowReaderMetadata,
    mask: ProjectionMask,
    rows: usize,
) -> Result<ParquetRecordBatchReader> {
    let fields = Some(metadata.schema().fields());
    let levels = parquet_to_arrow_field_levels(metadata.parquet_schema(), mask, fields)?;
    let pages =
        Pages { file: Arc::new(CheckedHeaders(file)), metadata: metadata.metadata().clone() };
    ParquetRecordBatchReader::try_new_with_row_groups(&levels, &pages, rows, None)
}

/// All row groups of a file.
struct Pages {
    file: Arc<CheckedHeaders>,
    metadata: Arc<ParquetMetaData>,
}

impl RowGroups for Pages {
    fn num_rows(&self) -> usize {
        let rows = |group: &RowGroupMetaData| usize::try_from(group.num_rows()).unwrap_or(0);
        self.metadata.row_groups().iter().map(rows).fold(0, usize::saturating_add)
    }

    fn column_chunks(&self, column: usize) -> Result<Box<dyn PageIterator>> {
        let (file, metadata) = (self.file.clone(), self.metadata.clone());
        Ok(Box::new(Chunks { file, metadata, column, group: 0 }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups().iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// A column, one row group after the other.
struct Chunks {
    file: Arc<CheckedHeaders>,
    metadata: Arc<ParquetMetaData>,
    column: usize,
    group: usize,
}

impl Iterator for Chunks {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.metadata.row_groups().get(self.group)?;
        self.group += 1;
        let (column, rows) = (group.column(self.column), group.num_rows() as usize);
        let pages = SerializedPageReader::new(self.file.clone(), column, rows, None);
        let levels = [column.column_descr().max_rep_level(), column.column_descr().max_def_level()];
        Some(pages.map(|pages| Box::new(Checked { pages, levels }) as Box<dyn PageReader>))
    }
}

impl PageIterator for Chunks {}

/// Pages that are refused if they claim more values than they can have.
struct Checked<P> {
    pages: P,
    /// The maximum repetition and definition levels of the column.
    levels: [i16; 2],
}

impl<P: PageReader> Checked<P> {
    fn check(&self, page: Option<Page>) -> Result<Option<Page>> {
        match page {
            Some(page) if claims_too_many(&page, self.levels) => {
                Err(refused("a page claims more values than it can hold"))
            }
            page => Ok(page),
        }
    }
}

impl<P: PageReader> Iterator for Checked<P> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl<P: PageReader> PageReader for Checked<P> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        self.check(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.pages.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        let page = self.pages.take_deferred_dictionary()?;
        self.check(page)
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.pages.at_record_boundary()
    }
}

/// Whether a decoder would make room for values that the page cannot have. Data pages are read some
/// values at a time, except for texts whose lengths are packed.
fn claims_too_many(page: &Page, levels: [i16; 2]) -> bool {
    let (encoding, values, most) = match page {
        // Every value of a dictionary has a byte at least.
        Page::DictionaryPage { buf, num_values, .. } => return *num_values as usize > buf.len(),
        Page::DataPage {
            buf,
            num_values,
            encoding,
            def_level_encoding,
            rep_level_encoding,
            ..
        } => {
            let mut rest = Some(&buf[..]);
            for (level, encoding) in
                levels.into_iter().zip([rep_level_encoding, def_level_encoding])
            {
                rest = rest.and_then(|rest| after_levels(rest, level, *encoding, *num_values));
            }
            (*encoding, rest, *num_values)
        }
        Page::DataPageV2 {
            buf,
            num_values,
            encoding,
            def_levels_byte_len,
            rep_levels_byte_len,
            ..
        } => {
            let levels = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
            (*encoding, buf.get(levels..), *num_values)
        }
    };
    // What is too short to be looked at is left to the decoder, which says so.
    let lists = match encoding {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return false,
    };
    let mut rest = values;
    for _ in 0..lists {
        let Some(list) = rest.and_then(Deltas::read) else { return false };
        if list.count > u64::from(most) {
            return true;
        }
        rest = list.behind();
    }
    false
}

/// What follows the levels of a page of the first version.
fn after_levels(bytes: &[u8], level: i16, encoding: Encoding, values: u32) -> Option<&[u8]> {
    let Ok(Some(highest)) = u16::try_from(level).map(std::num::NonZero::new) else {
        return Some(bytes);
    };
    if encoding == Encoding::RLE {
        let (length, bytes) = bytes.split_first_chunk::<4>()?;
        return bytes.get(u32::from_le_bytes(*length) as usize..);
    }
    let bits = u64::from(highest.ilog2() + 1) * u64::from(values);
    bytes.get(usize::try_from(bits.div_ceil(8)).ok()?..)
}

/// Numbers that are packed as differences (Parquet's `DELTA_BINARY_PACKED`).
struct Deltas<'a> {
    count: u64,
    parts: u64,
    values_of_part: u64,
    rest: &'a [u8],
}

impl<'a> Deltas<'a> {
    fn read(mut bytes: &'a [u8]) -> Option<Deltas<'a>> {
        let (block, parts, count) = (varint(&mut bytes)?, varint(&mut bytes)?, varint(&mut bytes)?);
        varint(&mut bytes)?;
        let values_of_part = block.checked_div(parts)?;
        Some(Deltas { count, parts, values_of_part, rest: bytes })
    }

    /// What follows them; `None` if the numbers end before.
    fn behind(mut self) -> Option<&'a [u8]> {
        let mut left = self.count.saturating_sub(1);
        while left > 0 {
            varint(&mut self.rest)?;
            let (widths, rest) = self.rest.split_at_checked(usize::try_from(self.parts).ok()?)?;
            self.rest = rest;
            for width in widths {
                if left == 0 {
                    break;
                }
                let bytes = self.values_of_part.checked_mul((*width).into())?.div_ceil(8);
                self.rest = self.rest.get(usize::try_from(bytes).ok()?..)?;
                left = left.saturating_sub(self.values_of_part.max(1));
            }
        }
        Some(self.rest)
    }
}

/// A number of seven bits to the byte, the lowest first.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number: u64 = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7F) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn dictionary(bytes: usize, num_values: u32) -> Page {
        let (encoding, is_sorted) = (Encoding::PLAIN, false);
        Page::DictionaryPage { buf: Bytes::from(vec![0; bytes]), num_values, encoding, is_sorted }
    }

    fn data(buf: &[u8], encoding: Encoding, num_values: u32) -> Page {
        Page::DataPage {
            buf: Bytes::copy_from_slice(buf),
            num_values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        }
    }

    #[test]
    fn a_dictionary_has_no_more_values_than_bytes() {
        assert!(claims_too_many(&dictionary(24, u32::MAX), [0, 1]));
        assert!(!claims_too_many(&dictionary(24, 3), [0, 1]));
        assert!(!claims_too_many(&dictionary(0, 0), [0, 1]));
    }

    /// Both lists of a page whose texts share beginnings, behind levels of two bytes.
    #[test]
    fn packed_lengths_are_no_more_than_the_values_of_a_page() {
        let levels = [2, 0, 0, 0, 6, 1];
        // 128 values in a block of 4 parts, their number, the first one; then the smallest
        // difference, the widths of the parts, and what the first part has: 32 values of a bit.
        let list = |count: u8| vec![0x80, 1, 4, count, 0, 0, 1, 0, 0, 0, 9, 9, 9, 9];
        let page = |prefixes: u8, suffixes: u8, values: u32| {
            let bytes = [&levels[..], &list(prefixes), &list(suffixes)].concat();
            data(&bytes, Encoding::DELTA_BYTE_ARRAY, values)
        };
        assert!(!claims_too_many(&page(3, 3, 3), [0, 1]));
        assert!(claims_too_many(&page(4, 3, 3), [0, 1]));
        assert!(claims_too_many(&page(3, 4, 3), [0, 1]));
        let short = data(&levels[..3], Encoding::DELTA_BYTE_ARRAY, 3);
        assert!(!claims_too_many(&short, [0, 1]), "left to the decoder");
    }
}
