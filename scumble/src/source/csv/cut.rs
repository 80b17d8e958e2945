//! Where records and fields end: every delimiter and line break outside of quotes, found 64 bytes at a time.
//!
//! The grammar is csv-core's, which is the judge of it in tests. A record ends with `\n`, `\r` or both; blank lines are none.
//! A field that begins with a quote lasts until the next quote that is not doubled, and what follows that up to the
//! delimiter belongs to it too; a quote anywhere else is a character like others.

use super::super::Lines;
use std::ops::Range;
use wide::u8x16;

/// The records of some bytes.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    /// For each record: the byte before its first field (which wraps around at the very start), then the end of each field.
    places: Vec<u32>,
    /// Where each record begins among the places, and where the last one ends.
    firsts: Vec<u32>,
    lines: Vec<u64>,
    /// The line of the first record, where all others follow line by line.
    first_line: u64,
    /// Whether some field may be in quotes.
    pub(super) quoted: bool,
    /// What lies behind the last whole record begins here, on this line.
    pub(super) end: usize,
    pub(super) end_line: u64,
    /// Whether that is a quote which has not closed yet.
    pub(super) is_open: bool,
}

/// Bytes that are looked at together.
const CHUNK: usize = 64;

/// A bit for each byte of a chunk that is one of the needles.
#[inline(always)]
fn find<const N: usize>(chunk: &[u8; CHUNK], needles: &[u8x16; N]) -> u64 {
    let mut found = 0;
    for (part, bytes) in chunk.as_chunks::<16>().0.iter().enumerate() {
        let bytes = u8x16::new(*bytes);
        let alike = needles.iter().fold(u8x16::ZERO, |alike, needle| alike | bytes.simd_eq(*needle));
        found |= u64::from(alike.to_bitmask()) << (16 * part);
    }
    found
}

/// The chunk that some bytes begin with, filled up with zeros in `padded`, and a bit for each byte that it has.
#[inline(always)]
fn chunk<'a>(bytes: &'a [u8], padded: &'a mut [u8; CHUNK]) -> (&'a [u8; CHUNK], u64) {
    match bytes.first_chunk::<CHUNK>() {
        Some(chunk) => (chunk, !0),
        None => {
            padded[..bytes.len()].copy_from_slice(bytes);
            (padded, !(!0 << bytes.len()))
        }
    }
}

/// How many lines end among some bytes, and whether any of them is a quote.
pub(super) fn look(bytes: &[u8]) -> (u64, bool) {
    let (line, quote, mut padded) = ([u8x16::splat(b'\n')], [u8x16::splat(b'"')], [0; CHUNK]);
    let (mut lines, mut quotes) = (0, 0);
    for bytes in bytes.chunks(CHUNK) {
        let (chunk, has) = chunk(bytes, &mut padded);
        lines += u64::from((find(chunk, &line) & has).count_ones());
        quotes |= find(chunk, &quote) & has;
    }
    (lines, quotes != 0)
}

/// What is to be cut.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) delimiter: u8,
    /// The line that the bytes begin on.
    pub(super) line: u64,
    /// Whether nothing follows them: then what is left at the end is a record too.
    pub(super) is_all: bool,
    /// Records after which to stop.
    pub(super) most: usize,
    /// Whether there may be quotes. Most files have none, and then nothing looks for them.
    pub(super) has_quotes: bool,
}

impl Cuts {
    /// Cuts bytes that begin with a record.
    pub(super) fn of(piece: Piece<'_>) -> Cuts {
        let mut cuts = Cuts { first_line: piece.line, end_line: piece.line, ..Cuts::default() };
        if piece.most == usize::MAX {
            // Fields of eight bytes and records of sixty, more or less.
            cuts.places.reserve(piece.bytes.len() / 8);
            cuts.firsts.reserve(piece.bytes.len() / 64);
        }
        cuts.firsts.push(0);
        cuts.quoted = piece.has_quotes;
        match cuts.quoted {
            false => cuts.cut::<3, false>(piece, [piece.delimiter, b'\n', b'\r'].map(u8x16::splat)),
            true => cuts.cut::<4, true>(piece, [piece.delimiter, b'\n', b'\r', b'"'].map(u8x16::splat)),
        }
        cuts
    }

    fn cut<const N: usize, const QUOTES: bool>(&mut self, piece: Piece<'_>, needles: [u8x16; N]) {
        let Piece { bytes, delimiter, is_all, most, .. } = piece;
        // A quoted field's second quote of a pair, which is passed over; lines inside of the record so far.
        let (mut quoted, mut pair, mut inner) = (false, usize::MAX, 0);
        // The last place: the end of a field, or of the record before.
        let mut last = u32::MAX;
        let mut has_fields = false;
        self.places.push(last);
        let (mut start, mut padded) = (0, [0; CHUNK]);
        while start < bytes.len() {
            let (chunk, has) = chunk(&bytes[start..], &mut padded);
            let mut found = find(chunk, &needles) & has;
            while found != 0 {
                let at = start + found.trailing_zeros() as usize;
                let byte = chunk[at - start];
                found &= found - 1;
                if QUOTES && (quoted || byte == b'"') {
                    match byte {
                        b'"' if !quoted => quoted = last.wrapping_add(1) == at as u32,
                        b'"' if at == pair => {}
                        b'"' if bytes.get(at + 1) == Some(&b'"') => pair = at + 1,
                        b'"' => quoted = false,
                        b'\n' => inner += 1,
                        _ => {}
                    }
                    continue;
                }
                if byte == delimiter {
                    last = at as u32;
                    self.places.push(last);
                    has_fields = true;
                    continue;
                }
                if has_fields || last.wrapping_add(1) != at as u32 {
                    self.places.push(at as u32);
                    self.end_record(inner);
                    if self.records() >= most {
                        self.finish(at + 1, byte == b'\n');
                        return;
                    }
                    self.places.push(at as u32);
                    (has_fields, inner) = (false, 0);
                } else if let Some(before) = self.places.last_mut() {
                    // A blank line, or the second half of a line break: the record begins behind it.
                    *before = at as u32;
                }
                last = at as u32;
                self.end = at + 1;
                self.end_line += u64::from(byte == b'\n');
            }
            start += CHUNK;
        }
        self.is_open = quoted;
        if is_all && !quoted && (has_fields || last.wrapping_add(1) != bytes.len() as u32) {
            self.places.push(bytes.len() as u32);
            self.end_record(inner);
            self.finish(bytes.len(), false);
            return;
        }
        // What is known of a record that goes on behind the bytes.
        self.places.truncate(self.firsts.last().map_or(0, |first| *first as usize));
    }

    /// A record ends with the last place; so many lines ended inside of it.
    fn end_record(&mut self, inner: u64) {
        let line = self.end_line;
        if self.lines.is_empty() && line != self.first_line + self.records() as u64 {
            match self.records() {
                0 => self.first_line = line,
                records => self.lines.extend((0..records as u64).map(|record| self.first_line + record)),
            }
        }
        if !self.lines.is_empty() {
            self.lines.push(line);
        }
        self.end_line += inner;
        self.firsts.push(self.places.len() as u32);
    }

    fn finish(&mut self, end: usize, with_line: bool) {
        self.end = end;
        self.end_line += u64::from(with_line);
    }

    /// How many records there are.
    pub(super) fn records(&self) -> usize {
        self.firsts.len() - 1
    }

    /// How many fields a record has.
    pub(super) fn fields(&self, record: usize) -> usize {
        (self.firsts[record + 1] - self.firsts[record]) as usize - 1
    }

    /// The line that a record begins on.
    pub(super) fn line(&self, record: usize) -> u64 {
        self.lines.get(record).copied().unwrap_or(self.first_line + record as u64)
    }

    /// The lines of all records.
    pub(super) fn into_lines(self) -> Lines {
        if self.lines.is_empty() { Lines::From(self.first_line) } else { Lines::Each(self.lines) }
    }

    /// The first record that has not this many fields.
    pub(super) fn ragged(&self, width: usize) -> Option<usize> {
        let even = |pair: &[u32]| (pair[1] - pair[0]) as usize == width + 1;
        self.firsts.windows(2).position(|pair| !even(pair))
    }

    /// Where a field of every record stands; records must be even.
    #[inline]
    pub(super) fn column(&self, width: usize, column: usize) -> impl ExactSizeIterator<Item = Range<usize>> {
        let places = self.places.chunks_exact(width + 1);
        places.map(move |record| record[column].wrapping_add(1) as usize..record[column + 1] as usize)
    }

    /// The fields of a record, as they stand.
    pub(super) fn record<'a>(&'a self, bytes: &'a [u8], record: usize) -> impl Iterator<Item = &'a [u8]> {
        let places = &self.places[self.firsts[record] as usize..self.firsts[record + 1] as usize];
        places.windows(2).map(move |pair| &bytes[pair[0].wrapping_add(1) as usize..pair[1] as usize])
    }
}

/// What a field says: itself, or what its quotes hold. `scratch` is a place for it.
#[inline]
pub(super) fn said<'a>(field: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
    match field {
        [b'"', quoted @ ..] => {
            scratch.clear();
            let mut bytes = quoted.iter();
            while let Some(&byte) = bytes.next() {
                // The quote of a pair stands for one; the one behind is looked at only if it is there.
                if byte == b'"' {
                    match bytes.as_slice() {
                        [b'"', rest @ ..] => bytes = rest.iter(),
                        rest => {
                            scratch.extend_from_slice(rest);
                            break;
                        }
                    }
                }
                scratch.push(byte);
            }
            scratch
        }
        plain => plain,
    }
}
