//! The messages of an Arrow file or stream, looked at before Arrow's reader sees them.
//!
//! A compressed buffer begins with a number: how long it is without compression. Arrow's reader
//! makes room for that many bytes at once, and a process that gets no memory is aborted. So each of
//! these numbers is compared with what its compressed bytes can hold at most.

use super::meter::Metered;
use arrow_ipc::reader::read_footer_length;
use arrow_ipc::{CompressionType, Message, RecordBatch, root_as_footer, root_as_message};
use arrow_schema::ArrowError;
use parquet::file::reader::Length;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

/// What precedes the description of a batch, in files that are not very old.
const CONTINUED: [u8; 4] = [0xFF; 4];

/// Bytes of the number before a compressed buffer.
const PREFIX: u64 = 8;

/// What a buffer has in place of its length if it is not compressed after all.
const NOT_COMPRESSED: i64 = -1;

/// Where a batch or a dictionary lies: its description, and behind that its bytes.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) start: u64,
    pub(super) description: u64,
    pub(super) bytes: u64,
}

/// The blocks of a file.
pub(super) struct Footer {
    pub(super) dictionaries: Vec<Block>,
    pub(super) batches: Vec<Block>,
}

pub(super) fn damaged(what: &str) -> ArrowError {
    ArrowError::ParseError(format!("the file is damaged: {what}"))
}

/// A number that a file tells, which may be any.
pub(super) fn unsigned(number: i64) -> Result<u64, ArrowError> {
    u64::try_from(number).map_err(|_| damaged("negative length"))
}

/// Some bytes of a file, which must have them before room is made.
pub(super) fn read(file: &mut Metered, place: Range<u64>) -> Result<Vec<u8>, ArrowError> {
    if place.start > place.end || place.end > Length::len(file) {
        return Err(damaged("truncated batch"));
    }
    file.seek(SeekFrom::Start(place.start))?;
    let mut bytes = vec![0; (place.end - place.start) as usize];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

impl Footer {
    pub(super) fn read(file: &mut Metered) -> Result<Footer, ArrowError> {
        let size = Length::len(file);
        let last: [u8; 10] = read(file, size.saturating_sub(10)..size)?
            .try_into()
            .map_err(|_| damaged("invalid footer"))?;
        let length = read_footer_length(last)? as u64;
        let footer = read(file, (size - 10).saturating_sub(length)..size - 10)?;
        let footer = root_as_footer(&footer).map_err(|_| damaged("invalid footer"))?;
        let dictionaries = blocks(footer.dictionaries().into_iter().flatten())?;
        let batches = blocks(footer.recordBatches().into_iter().flatten())?;
        Ok(Footer { dictionaries, batches })
    }
}

/// Blocks as a footer tells them.
fn blocks<'a>(told: impl Iterator<Item = &'a arrow_ipc::Block>) -> Result<Vec<Block>, ArrowError> {
    let block = |block: &arrow_ipc::Block| {
        let (start, bytes) = (unsigned(block.offset())?, unsigned(block.bodyLength())?);
        let description = unsigned(block.metaDataLength().into())?;
        Ok(Block { start, description, bytes })
    };
    told.map(block).collect()
}

impl Block {
    /// Where its bytes begin.
    pub(super) fn body(&self) -> Result<u64, ArrowError> {
        self.start.checked_add(self.description).ok_or_else(|| damaged("invalid batch offset"))
    }

    /// Its description, as it lies in the file.
    pub(super) fn describe(&self, file: &mut Metered) -> Result<Vec<u8>, ArrowError> {
        read(file, self.start..self.body()?)
    }
}

/// The message in a description that was read.
pub(super) fn message(described: &[u8]) -> Result<Message<'_>, ArrowError> {
    let skipped = if described.starts_with(&CONTINUED) { 8 } else { 4 };
    let message = described.get(skipped..).and_then(|bytes| root_as_message(bytes).ok());
    message.ok_or_else(|| damaged("invalid batch metadata"))
}

/// Refuses a file whose buffers cannot be as long as they claim. It is at its start afterwards.
pub(super) fn check_file(file: &mut Metered) -> Result<(), ArrowError> {
    let Footer { dictionaries, batches } = Footer::read(file)?;
    for block in dictionaries.into_iter().chain(batches) {
        let described = block.describe(file)?;
        let body = block.body()?;
        let end = body.checked_add(block.bytes).filter(|end| *end <= Length::len(file));
        let end = end.ok_or_else(|| damaged("truncated batch"))?;
        check_message(file, &message(&described)?, body..end)?;
    }
    Ok(file.rewind()?)
}

/// The same for the stream format, whose messages follow one another.
pub(super) fn check_stream(file: &mut Metered) -> Result<(), ArrowError> {
    let size = Length::len(file);
    let mut next = 0;
    // A stream may end without a mark.
    while size - next >= 4 {
        let mut length = read(file, next..next + 4)?;
        next += 4;
        if length == CONTINUED {
            length = read(file, next..next + 4)?;
            next += 4;
        }
        let length = <[u8; 4]>::try_from(length).map_err(|_| damaged("truncated batch"))?;
        let length = unsigned(i32::from_le_bytes(length).into())?;
        if length == 0 {
            break;
        }
        let described = read(file, next..next + length)?;
        next += length;
        let message = root_as_message(&described).map_err(|_| damaged("invalid batch metadata"))?;
        let end = next.checked_add(unsigned(message.bodyLength())?).filter(|end| *end <= size);
        let end = end.ok_or_else(|| damaged("truncated batch"))?;
        check_message(file, &message, next..end)?;
        next = end;
    }
    Ok(file.rewind()?)
}

/// Checks the buffers of a batch or of a dictionary. Other messages have none.
fn check_message(
    file: &mut Metered,
    message: &Message<'_>,
    body: Range<u64>,
) -> Result<(), ArrowError> {
    let of_dictionary = message.header_as_dictionary_batch().and_then(|batch| batch.data());
    match message.header_as_record_batch().or(of_dictionary) {
        Some(batch) => check_buffers(file, &batch, body),
        None => Ok(()),
    }
}

fn check_buffers(
    file: &mut Metered,
    batch: &RecordBatch<'_>,
    body: Range<u64>,
) -> Result<(), ArrowError> {
    let Some(compression) = batch.compression() else { return Ok(()) };
    let expansion = expansion(compression.codec())?;
    let mut unpacked: u64 = 0;
    for buffer in batch.buffers().into_iter().flatten() {
        let (start, length) = (unsigned(buffer.offset())?, unsigned(buffer.length())?);
        if length == 0 {
            continue;
        }
        let start =
            body.start.checked_add(start).ok_or_else(|| damaged("invalid buffer offset"))?;
        let end = start.checked_add(length).filter(|end| *end <= body.end && length >= PREFIX);
        end.ok_or_else(|| damaged("truncated buffer"))?;
        let prefix = <[u8; PREFIX as usize]>::try_from(read(file, start..start + PREFIX)?)
            .map_err(|_| damaged("truncated buffer"))?;
        let claimed = i64::from_le_bytes(prefix);
        if claimed == NOT_COMPRESSED {
            continue;
        }
        let claimed = unsigned(claimed)?;
        if claimed > (length - PREFIX).saturating_mul(expansion) {
            return Err(damaged("a compressed buffer claims more bytes than it can hold"));
        }
        unpacked = unpacked.saturating_add(claimed);
    }
    // Arrow's reader would be aborted if the system had no room. Nothing is written here, so this
    // costs nothing.
    let reserved = usize::try_from(unpacked)
        .is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok());
    if reserved {
        Ok(())
    } else {
        Err(ArrowError::MemoryError(format!("a batch of {unpacked} bytes does not fit in memory")))
    }
}

/// How many bytes a compressed byte can stand for at most.
///
/// LZ4: each byte that extends the length of a match adds 255 (LZ4 block format).
/// Zstandard: a block of four bytes repeats one byte, for a block of 128 KiB (RFC 8878, 3.1.1.2).
fn expansion(codec: CompressionType) -> Result<u64, ArrowError> {
    match codec {
        CompressionType::LZ4_FRAME => Ok(255),
        CompressionType::ZSTD => Ok((128 << 10) / 4),
        _ => Err(damaged("unknown compression")),
    }
}
