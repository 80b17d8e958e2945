//! A block: some rows as bytes, and back.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | checksum (XXH64) of the rest, seeded with the block's place |
//! | 5 × 4 | bytes of the body, rows, words per row, bytes of payload, bytes of payload as stored |
//! | 5 × (words per row + 1) | minimum and bits of every column, then of the payloads' lengths |
//! | … | the columns, then the lengths, packed |
//! | … | the payload: compressed (LZ4) if that is shorter, as it is otherwise |
//!
//! Everything is little-endian. The seed makes a sound block in a wrong place as bad as a damaged
//! one.

use super::Records;
use super::bits::{bits_of, pack, packed_len, unpack};
use lz4_flex::block::{
    CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size,
};
use twox_hash::XxHash64;

/// Bytes before the body.
pub const HEADER: usize = 28;
/// Bytes of a column's minimum and bits.
const FRAME: usize = 5;
/// Payload below this is not worth an attempt to compress it.
const LEAST_COMPRESSED: usize = 64;

/// What encoding and decoding need besides the block, to be used again and again.
#[derive(Default)]
pub struct BlockScratch {
    /// The block that was encoded last, or is to be decoded.
    pub block: Vec<u8>,
    column: Vec<u32>,
    table: CompressTable,
}

impl BlockScratch {
    /// Gives back what a row of unusual size took.
    pub fn shrink(&mut self) {
        const KEPT: usize = 4 << 20;
        self.block.truncate(KEPT);
        self.block.shrink_to(KEPT);
    }
}

/// Writes the records as one block to `scratch.block`. False if they are too many for one.
#[must_use]
pub fn encode(records: &Records, place: u64, scratch: &mut BlockScratch) -> bool {
    let BlockScratch { block, column, table } = scratch;
    let width = records.width;
    block.clear();
    block.resize(HEADER + FRAME * (width + 1), 0);
    column.resize(records.len(), 0);
    for index in 0..=width {
        let range = if index < width {
            Some(gather(&records.words, width, index, column))
        } else {
            lengths(&records.ends, column)
        };
        let Some((minimum, largest)) = range else { return false };
        let bits = bits_of(largest - minimum);
        let frame = HEADER + FRAME * index;
        block[frame..frame + 4].copy_from_slice(&minimum.to_le_bytes());
        block[frame + 4] = bits as u8;
        pack(column, minimum, bits, block);
    }
    let stored = append_payload(&records.payload, block, table);
    let fields = [block.len() - HEADER, records.len(), width, records.payload.len(), stored];
    for (slot, field) in block[8..HEADER].chunks_exact_mut(4).zip(fields) {
        let Ok(field) = u32::try_from(field) else { return false };
        slot.copy_from_slice(&field.to_le_bytes());
    }
    let checksum = XxHash64::oneshot(place, &block[8..]);
    block[..8].copy_from_slice(&checksum.to_le_bytes());
    true
}

/// One word of every row to `column`; the least and the greatest of them, zeros if there is none.
fn gather(words: &[u32], width: usize, index: usize, column: &mut [u32]) -> (u32, u32) {
    let (mut low, mut high) = (u32::MAX, 0);
    for (target, row) in column.iter_mut().zip(words.chunks_exact(width)) {
        let word = row[index];
        *target = word;
        low = low.min(word);
        high = high.max(word);
    }
    (low.min(high), high)
}

/// The length of each payload to `column`; the least and the greatest. None if one is too long to
/// be told.
fn lengths(ends: &[u64], column: &mut [u32]) -> Option<(u32, u32)> {
    let (mut start, mut low, mut high) = (0, u32::MAX, 0);
    for (target, &end) in column.iter_mut().zip(ends) {
        let length = u32::try_from(end - start).ok()?;
        *target = length;
        low = low.min(length);
        high = high.max(length);
        start = end;
    }
    Some((low.min(high), high))
}

/// Appends the payload and tells how many bytes that took: as many as it has, unless compressed.
fn append_payload(payload: &[u8], block: &mut Vec<u8>, table: &mut CompressTable) -> usize {
    let start = block.len();
    if payload.len() >= LEAST_COMPRESSED {
        block.resize(start + get_maximum_output_size(payload.len()), 0);
        let compressed = compress_into_with_table(payload, &mut block[start..], table);
        // A sixteenth is the least that pays for expanding it again.
        if let Ok(length) = compressed
            && length < payload.len() - payload.len() / 16
        {
            block.truncate(start + length);
            return length;
        }
        block.truncate(start);
    }
    block.extend_from_slice(payload);
    payload.len()
}

/// The bytes of the body that follows this header, which is not yet to be trusted.
pub fn body_len(header: &[u8; HEADER]) -> usize {
    field(header, 0) as usize
}

fn field(block: &[u8], index: usize) -> u32 {
    four(block, 8 + 4 * index)
}

fn four(block: &[u8], at: usize) -> u32 {
    block[at..at + 4].iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

/// Appends the rows of `scratch.block` to the records. False, and nothing appended, if it is not as
/// it was written.
#[must_use]
pub fn decode(scratch: &mut BlockScratch, place: u64, records: &mut Records) -> bool {
    let BlockScratch { block, column, .. } = scratch;
    let Some((checksum, rest)) = block.split_first_chunk::<8>() else { return false };
    if block.len() < HEADER || XxHash64::oneshot(place, rest) != u64::from_le_bytes(*checksum) {
        return false;
    }
    let [body, rows, width, payload, stored] =
        [0, 1, 2, 3, 4].map(|index| field(block, index) as usize);
    // Behind a sound checksum this cannot fail; but no panic may hang on that.
    let frame = |index: usize| {
        (four(block, HEADER + FRAME * index), u32::from(block[HEADER + FRAME * index + 4]))
    };
    let mut at = HEADER + FRAME * (width + 1);
    if body != block.len() - HEADER || width != records.width || block.len() < at {
        return false;
    }
    let bits = (0..=width).map(|index| frame(index).1);
    if bits.clone().any(|bits| bits > 32)
        || at + bits.map(|bits| packed_len(rows, bits)).sum::<usize>() + stored != block.len()
    {
        return false;
    }

    let (words, bytes) = (records.words.len(), records.payload.len());
    column.resize(rows, 0);
    records.words.resize(words + rows * width, 0);
    for index in 0..width {
        let (minimum, bits) = frame(index);
        let end = at + packed_len(rows, bits);
        unpack(&block[at..end], minimum, bits, column);
        for (row, word) in records.words[words..].chunks_exact_mut(width).zip(&*column) {
            row[index] = *word;
        }
        at = end;
    }
    let (minimum, bits) = frame(width);
    let end = at + packed_len(rows, bits);
    unpack(&block[at..end], minimum, bits, column);
    let mut last = bytes as u64;
    records.ends.extend(column.iter().map(|&length| {
        last += u64::from(length);
        last
    }));
    records.payload.resize(bytes + payload, 0);
    let target = &mut records.payload[bytes..];
    let whole = if stored == payload {
        target.copy_from_slice(&block[end..]);
        true
    } else {
        decompress_into(&block[end..], target).is_ok_and(|length| length == payload)
    };
    if !whole || last != (bytes + payload) as u64 {
        records.words.truncate(words);
        records.ends.truncate(records.ends.len() - rows);
        records.payload.truncate(bytes);
        return false;
    }
    true
}
