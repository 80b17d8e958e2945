//! Where records and fields end: every delimiter and line break outside of quotes, found 64 bytes
//! at a time.
//!
//! The grammar is csv-core's, which is the judge of it in tests. A record ends with `\n`, `\r` or
//! both; blank lines are none. A field that begins with a quote lasts until the next quote that is
//! not doubled, and what follows that up to the delimiter belongs to it too; a quote anywhere else
//! is a character like others.

use super::super::Lines;
use std::ops::Range;
use wide::u8x16;

/// The records of some bytes.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    /// For each record: the byte before its first field (which wraps around at the very start),
    /// then the end of each field. Room for more lies behind them.
    room: Vec<u32>,
    filled: usize,
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

/// Places that a chunk may need, and one behind the last: a line break ends a record and begins
/// another.
const ROOM: usize = 2 * CHUNK + 1;

/// A bit for each byte of a chunk that is one of the needles.
#[inline(always)]
fn find<const N: usize>(chunk: &[u8; CHUNK], needles: &[u8x16; N]) -> u64 {
    let mut found = 0;
    for (part, bytes) in chunk.as_chunks::<16>().0.iter().enumerate() {
        let bytes = u8x16::new(*bytes);
        let alike =
            needles.iter().fold(u8x16::ZERO, |alike, needle| alike | bytes.simd_eq(*needle));
        found |= u64::from(alike.to_bitmask()) << (16 * part);
    }
    found
}

/// The chunk that some bytes begin with, filled up with zeros in `padded`, and a bit for each byte
/// that it has.
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

/// Bytes whose lines are counted in one register, a byte for each place: it has no room for more.
const COUNTED: usize = 255 * 16;

/// How many lines end among some bytes, and whether any of them is a quote.
pub(super) fn look(bytes: &[u8]) -> (u64, bool) {
    let (line, quote) = (u8x16::splat(b'\n'), u8x16::splat(b'"'));
    let (mut lines, mut quotes) = (0, u8x16::ZERO);
    for bytes in bytes.chunks(COUNTED) {
        let mut counts = u8x16::ZERO;
        let mut look = |bytes: &[u8; 16]| {
            let bytes = u8x16::new(*bytes);
            // What is equal is all ones, which is one less than nothing.
            counts -= bytes.simd_eq(line);
            quotes |= bytes.simd_eq(quote);
        };
        let (chunks, rest) = bytes.as_chunks::<CHUNK>();
        for chunk in chunks {
            for bytes in chunk.as_chunks::<16>().0 {
                look(bytes);
            }
        }
        let (whole, rest) = rest.as_chunks::<16>();
        whole.iter().for_each(&mut look);
        let mut last = [0; 16];
        last[..rest.len()].copy_from_slice(rest);
        look(&last);
        lines += counts.to_array().into_iter().map(u64::from).sum::<u64>();
    }
    (lines, quotes != u8x16::ZERO)
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
    /// Cuts bytes that begin with a record, into the room of others that are done with.
    pub(super) fn of(piece: Piece<'_>, spare: Cuts) -> Cuts {
        let Cuts { mut room, mut firsts, .. } = spare;
        if piece.most == usize::MAX {
            // Fields of six bytes and records of sixty, more or less.
            let wanted = piece.bytes.len() / 6 + ROOM;
            if room.len() < wanted {
                room = vec![0; wanted];
            }
            firsts.reserve(piece.bytes.len() / 64);
        }
        firsts.clear();
        let (first_line, end_line) = (piece.line, piece.line);
        let mut cuts = Cuts { room, firsts, first_line, end_line, ..Cuts::default() };
        cuts.firsts.push(0);
        cuts.quoted = piece.has_quotes;
        if cuts.quoted {
            cuts.cut::<3, true>(piece, [b'\n', b'\r', b'"'].map(u8x16::splat));
        } else {
            cuts.cut::<2, false>(piece, [b'\n', b'\r'].map(u8x16::splat));
        }
        cuts
    }

    /// `stops` are the bytes besides the delimiter that say something.
    fn cut<const N: usize, const QUOTES: bool>(&mut self, piece: Piece<'_>, stops: [u8x16; N]) {
        let Piece { bytes, delimiter, is_all, most, .. } = piece;
        let delimiter = [u8x16::splat(delimiter)];
        // A quoted field's second quote of a pair, which is passed over; lines inside of the record
        // so far.
        let (mut quoted, mut pair, mut inner) = (false, usize::MAX, 0);
        // Places are put into room that is there already; those of the record so far begin at
        // `first`.
        let mut places = std::mem::take(&mut self.room);
        let (mut first, mut filled) = (0, 1);
        places.resize(places.len().max(ROOM), 0);
        places[0] = u32::MAX;
        let (mut start, mut padded) = (0, [0; CHUNK]);
        while start < bytes.len() {
            let (chunk, has) = chunk(&bytes[start..], &mut padded);
            let mut delimiters = find(chunk, &delimiter) & has;
            let mut stops = find(chunk, &stops) & has;
            if places.len() < filled + ROOM {
                places.resize(2 * places.len(), 0);
            }
            // The delimiters before each stop are fields' ends, unless they are quoted.
            loop {
                let reached = stops ^ stops.wrapping_sub(1);
                let mut ends = if QUOTES && quoted { 0 } else { delimiters & reached };
                delimiters &= !reached;
                while ends != 0 {
                    places[filled] = start as u32 | ends.trailing_zeros();
                    filled += 1;
                    ends &= ends - 1;
                }
                if stops == 0 {
                    break;
                }
                let bit = stops.trailing_zeros() as usize;
                let (at, byte) = (start + bit, chunk[bit]);
                stops &= stops - 1;
                if QUOTES && (quoted || byte == b'"') {
                    match byte {
                        b'"' if !quoted => quoted = places[filled - 1].wrapping_add(1) == at as u32,
                        b'"' if at == pair => {}
                        b'"' if bytes.get(at + 1) == Some(&b'"') => pair = at + 1,
                        b'"' => quoted = false,
                        b'\n' => inner += 1,
                        _ => {}
                    }
                    continue;
                }
                places[filled] = at as u32;
                filled += 1;
                // Without a field before it and with nothing in it this is a blank line, or the
                // second half of a line break: the record begins behind it.
                if filled - first > 2 || places[first].wrapping_add(1) != at as u32 {
                    self.end_record(filled, inner);
                    if self.records() >= most {
                        self.finish(at + 1, byte == b'\n');
                        (self.room, self.filled) = (places, filled);
                        return;
                    }
                    (first, inner) = (filled, 0);
                }
                places[first] = at as u32;
                filled = first + 1;
                self.end = at + 1;
                self.end_line += u64::from(byte == b'\n');
            }
            start += CHUNK;
        }
        self.is_open = quoted;
        if is_all
            && !quoted
            && (filled - first > 1 || places[first].wrapping_add(1) != bytes.len() as u32)
        {
            places[filled] = bytes.len() as u32;
            (first, filled) = (filled + 1, filled + 1);
            self.end_record(filled, inner);
            self.finish(bytes.len(), false);
        }
        // Without what is known of a record that goes on behind the bytes.
        (self.room, self.filled) = (places, first);
    }

    /// The places of all records.
    fn places(&self) -> &[u32] {
        &self.room[..self.filled]
    }

    /// A record ends before this place; so many lines ended inside of it.
    #[inline(always)]
    fn end_record(&mut self, places: usize, inner: u64) {
        let line = self.end_line;
        if self.lines.is_empty() && line != self.first_line + self.records() as u64 {
            match self.records() {
                0 => self.first_line = line,
                records => {
                    self.lines.extend((0..records as u64).map(|record| self.first_line + record))
                }
            }
        }
        if !self.lines.is_empty() {
            self.lines.push(line);
        }
        self.end_line += inner;
        self.firsts.push(places as u32);
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

    /// The lines of all records, which are known to nobody else from then on.
    pub(super) fn take_lines(&mut self) -> Lines {
        if self.lines.is_empty() {
            Lines::From(self.first_line)
        } else {
            Lines::Each(std::mem::take(&mut self.lines))
        }
    }

    /// The first record that has not this many fields.
    pub(super) fn ragged(&self, width: usize) -> Option<usize> {
        let even = |pair: &[u32]| (pair[1] - pair[0]) as usize == width + 1;
        self.firsts.windows(2).position(|pair| !even(pair))
    }

    /// Where a field of a record stands; records must be even.
    #[inline]
    pub(super) fn field(&self, width: usize, column: usize, record: usize) -> Range<usize> {
        let places = &self.places()[record * (width + 1) + column..][..2];
        places[0].wrapping_add(1) as usize..places[1] as usize
    }

    /// Where a field of every record stands; records must be even.
    #[inline]
    pub(super) fn column(
        &self,
        width: usize,
        column: usize,
    ) -> impl ExactSizeIterator<Item = Range<usize>> {
        let places = self.places().chunks_exact(width + 1);
        places
            .map(move |record| record[column].wrapping_add(1) as usize..record[column + 1] as usize)
    }

    /// For each record, how many of its first fields are those of the record before it; `None`
    /// where that is seldom so. Most releases are sorted, and so is many a table. Records must be
    /// even.
    pub(super) fn repeats(&self, bytes: &[u8], width: usize) -> Option<Vec<u32>> {
        let records = || self.places().chunks_exact(width + 1);
        let pairs = || records().zip(records().skip(1));
        // How many it was the last time is how many it will be, mostly: they are compared in one
        // piece.
        let mut repeated = 0;
        let mut repeats = |(before, now): (&[u32], &[u32])| {
            let is_same = |from: usize, to: usize| {
                let place =
                    |record: &[u32]| record[from].wrapping_add(1) as usize..record[to] as usize;
                bytes[place(before)] == bytes[place(now)]
            };
            if repeated > 0 && !is_same(0, repeated) {
                // Mostly it is one fewer, or two; of wide records not all lengths can be tried.
                let (mut fewer, mut more, mut step) = (repeated - 1, repeated, 1);
                while fewer > 0 && !is_same(0, fewer) {
                    step *= 2;
                    (fewer, more) = (fewer.saturating_sub(step), fewer);
                }
                while more - fewer > 1 {
                    let middle = fewer.midpoint(more);
                    let is_same = is_same(fewer, middle);
                    (fewer, more) = if is_same { (middle, more) } else { (fewer, middle) };
                }
                repeated = fewer;
            } else {
                while repeated < width && is_same(repeated, repeated + 1) {
                    repeated += 1;
                }
            }
            repeated as u32
        };
        let (looked_at, mut met) = (pairs().len().min(LOOKED_AT), 0);
        let mut all = Vec::with_capacity(pairs().len() + 1);
        all.push(0);
        for pair in pairs() {
            let repeated = repeats(pair);
            all.push(repeated);
            if all.len() <= looked_at + 1 {
                met += repeated as usize;
                if all.len() == looked_at + 1 && 3 * met <= width * looked_at {
                    return None;
                }
            }
        }
        (looked_at > 0).then_some(all)
    }

    /// The fields of a record, as they stand.
    pub(super) fn record<'a>(
        &'a self,
        bytes: &'a [u8],
        record: usize,
    ) -> impl Iterator<Item = &'a [u8]> {
        let places = &self.places()[self.firsts[record] as usize..self.firsts[record + 1] as usize];
        places
            .windows(2)
            .map(move |pair| &bytes[pair[0].wrapping_add(1) as usize..pair[1] as usize])
    }
}

/// Records that tell whether others are like those before them.
const LOOKED_AT: usize = 32;

/// What a field says: itself, or what its quotes hold. `scratch` is a place for it.
#[inline]
pub(super) fn said<'a>(field: &'a [u8], scratch: &'a mut Vec<u8>) -> &'a [u8] {
    match field {
        [b'"', quoted @ ..] => {
            scratch.clear();
            let mut bytes = quoted.iter();
            while let Some(&byte) = bytes.next() {
                // The quote of a pair stands for one; the one behind is looked at only if it is
                // there.
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
