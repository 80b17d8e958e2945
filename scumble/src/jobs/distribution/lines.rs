//! Lines of a release's files: made in parallel, handed over in order, with fields that are copied instead of formatted.

use crate::error::{Error, Result};
use crate::release::{FolderDraft, push_field};
use crate::table::{SHORT_WHOLE, push_decimal, short_whole};
use rayon::prelude::*;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::sync::Mutex;

/// Lines that one thread makes at a time: about as many bytes as stay near it until they are written.
const PIECE: u64 = 1 << 13;

/// Pieces that are made while those before them are handed over.
const WINDOW: usize = 16;

/// Makes the lines of items in parallel and hands them over in order, some while the next ones are made. `lines` tells about
/// how many an item has. What is handed over does not depend on the number of threads.
pub(super) fn in_order(
    items: usize,
    lines: impl Fn(usize) -> u64,
    make: impl Fn(Range<usize>, &mut Page) + Sync,
    mut take: impl FnMut(&[u8]) -> Result<()> + Send,
) -> Result<()> {
    // Room that was used is used again: fresh memory costs more than the lines that are made in it.
    let spare: Mutex<Vec<Page>> = Mutex::default();
    let mut next = 0;
    let mut piece = || {
        let (start, mut length) = (next, 0);
        while next < items && length < PIECE {
            length += lines(next).max(1);
            next += 1;
        }
        (start < next).then_some(start..next)
    };
    let make_one = |items: Range<usize>| {
        let mut page = spare.lock().map_or(None, |mut spare| spare.pop()).unwrap_or_default();
        page.length = 0;
        make(items, &mut page);
        page
    };
    let mut made: Vec<Page> = Vec::new();
    loop {
        let coming: Vec<Range<usize>> = std::iter::from_fn(&mut piece).take(WINDOW).collect();
        let hand_over = || {
            for page in made {
                take(page.bytes())?;
                _ = spare.lock().map(|mut spare| spare.push(page));
            }
            Ok(())
        };
        let (handed_over, now) =
            rayon::join(hand_over, || coming.into_par_iter().with_max_len(1).map(make_one).collect::<Vec<_>>());
        handed_over?;
        if now.is_empty() {
            return Ok(());
        }
        made = now;
    }
}

/// Lines in the making.
#[derive(Default)]
pub(super) struct Page {
    /// Longer than what is said so far: short texts are copied with what stands behind them, which is quicker than to copy a
    /// number of bytes that is only known now.
    room: Vec<u8>,
    length: usize,
}

impl Page {
    /// What is said so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.room[..self.length]
    }

    /// Room for so many bytes more. Like all that is said a hundred million times it is part of whoever calls it, so that the length is
    /// not stored and loaded again for each field.
    #[inline(always)]
    fn room(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.length + bytes;
        if end > self.room.len() {
            grow(&mut self.room, end);
        }
        &mut self.room[self.length..end]
    }

    /// Says the first `length` of some bytes.
    #[inline(always)]
    pub(super) fn push_first<const N: usize>(&mut self, all: &[u8; N], length: usize) {
        self.room(N).copy_from_slice(all);
        self.length += length;
    }

    pub(super) fn push(&mut self, text: &[u8]) {
        self.room(text.len()).copy_from_slice(text);
        self.length += text.len();
    }

    #[inline(always)]
    pub(super) fn push_byte(&mut self, byte: u8) {
        self.push_first(&[byte], 1);
    }

    /// Says a number of units of 10^-scale in the shortest way.
    #[inline(always)]
    pub(super) fn push_decimal(&mut self, units: i64, scale: u32) {
        if scale == 0 && (0..SHORT_WHOLE as i64).contains(&units) {
            let (digits, length) = short_whole(units as u64);
            return self.push_first(&digits, length);
        }
        self.push_other(units, scale);
    }

    #[inline(never)]
    fn push_other(&mut self, units: i64, scale: u32) {
        let mut text = Vec::with_capacity(24);
        push_decimal(&mut text, units, scale);
        self.push(&text);
    }

    /// Says what was said from `start` on until there are so many copies of it.
    pub(super) fn repeat(&mut self, start: usize, copies: u32) {
        let end = start + (self.length - start) * copies as usize;
        while self.length < end {
            let more = (self.length - start).min(end - self.length);
            self.room(more);
            self.room.copy_within(start..start + more, self.length);
            self.length += more;
        }
    }
}

/// Growth is rare once pages are used again.
#[cold]
fn grow(room: &mut Vec<u8>, least: usize) {
    room.resize(least.max(2 * room.len()).max(1 << 16), 0);
}

/// Texts as fields of a line, each with the comma before it but for the first column, and what follows it.
pub(super) struct Fields {
    /// Short fields with their length in the last byte; of others, where they stand.
    pieces: Vec<[u8; 16]>,
    long: Vec<u8>,
}

/// In the place of the length: the field is a long one.
const LONG: u8 = u8::MAX;

impl Fields {
    pub(super) fn new<'a>(texts: impl Iterator<Item = &'a str>, position: usize, after: &str) -> Fields {
        let mut fields = Fields { pieces: Vec::new(), long: Vec::new() };
        let mut field = Vec::new();
        for text in texts {
            field.clear();
            push_field(&mut field, text, position, b',');
            field.extend_from_slice(after.as_bytes());
            let mut piece = [0; 16];
            if field.len() < piece.len() {
                piece[..field.len()].copy_from_slice(&field);
                piece[15] = field.len() as u8;
            } else {
                piece[..8].copy_from_slice(&(fields.long.len() as u64).to_le_bytes());
                // No field is as long as four gigabytes: the reader refuses such lines.
                piece[8..12].copy_from_slice(&(field.len() as u32).to_le_bytes());
                piece[15] = LONG;
                fields.long.extend_from_slice(&field);
            }
            fields.pieces.push(piece);
        }
        fields
    }

    #[inline(always)]
    pub(super) fn push(&self, page: &mut Page, at: u32) {
        let piece = &self.pieces[at as usize];
        match piece[15] {
            LONG => page.push(self.long(piece)),
            length => page.push_first(piece, length.into()),
        }
    }

    fn long(&self, piece: &[u8; 16]) -> &[u8] {
        let (mut start, mut length) = ([0; 8], [0; 4]);
        start.copy_from_slice(&piece[..8]);
        length.copy_from_slice(&piece[8..12]);
        &self.long[u64::from_le_bytes(start) as usize..][..u32::from_le_bytes(length) as usize]
    }
}

/// A file of the folder that takes lines.
pub(super) struct Lines<'a> {
    draft: &'a FolderDraft,
    name: &'static str,
    file: File,
    written: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn create(draft: &'a FolderDraft, name: &'static str, header: &str) -> Result<Lines<'a>> {
        let mut lines = Lines { draft, name, file: draft.create(name)?, written: 0 };
        lines.write(format!("{header}\n").as_bytes())?;
        Ok(lines)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        self.file.write_all(bytes).map_err(Error::io(&self.draft.target().join(self.name), "write"))
    }

    /// Writes the lines of items, as [`in_order`] makes them.
    pub(super) fn write_all(
        &mut self,
        items: usize,
        lines: impl Fn(usize) -> u64,
        make: impl Fn(Range<usize>, &mut Page) + Sync,
    ) -> Result<()> {
        in_order(items, lines, make, |bytes| self.write(bytes))
    }

    /// Nothing more comes: the file is made durable while others are written. Returns how many bytes it has.
    pub(super) fn finish(self) -> u64 {
        self.draft.finish(self.file, self.name);
        self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_what_was_put_in() {
        let texts =
            ["", "a", "a,b", "123456789012345", "1234567890123", "12345678901234", "\"", "a text of some length"];
        for position in [0, 1] {
            for after in ["", "\n"] {
                let fields = Fields::new(texts.into_iter(), position, after);
                for (at, text) in texts.iter().enumerate() {
                    let (mut found, mut wanted) = (Page::default(), b"before".to_vec());
                    found.push(b"before");
                    fields.push(&mut found, at as u32);
                    push_field(&mut wanted, text, position, b',');
                    wanted.extend_from_slice(after.as_bytes());
                    assert_eq!(found.bytes(), wanted);
                }
            }
        }
    }

    #[test]
    fn repeated_texts_are_as_many_as_asked_for() {
        for copies in 1..70 {
            let mut page = Page::default();
            page.push(b"x,y\nab\n");
            page.repeat(4, copies);
            assert_eq!(page.bytes(), [&b"x,y\n"[..], &b"ab\n".repeat(copies as usize)].concat());
        }
    }

    /// Pages grow in between.
    #[test]
    fn numbers_are_said_as_decimals_are_written() {
        let (mut page, mut wanted) = (Page::default(), Vec::new());
        let mut random = crate::random::Random::new(2);
        for _ in 0..20_000 {
            let (units, scale) = (random.between(-1 << 40, 1 << 40) >> random.below(40), random.below(3) as u32);
            page.push_decimal(units, scale);
            page.push_byte(b',');
            push_decimal(&mut wanted, units, scale);
            wanted.push(b',');
        }
        assert!(page.bytes() == wanted);
    }

    /// Items of very different sizes, the same lines for one thread and for several.
    #[test]
    fn lines_come_in_order() {
        let sizes: Vec<u64> = (0..4000).map(|item| if item % 97 == 0 { 20_000 } else { item % 7 }).collect();
        let make = |items: Range<usize>, page: &mut Page| {
            for item in items {
                (0..sizes[item]).for_each(|line| page.push(format!("{item} {line}\n").as_bytes()));
            }
        };
        let mut wanted = Page::default();
        make(0..sizes.len(), &mut wanted);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut found: Vec<u8> = Vec::new();
            let take = |bytes: &[u8]| {
                found.extend_from_slice(bytes);
                Ok(())
            };
            pool.install(|| in_order(sizes.len(), |item| sizes[item], make, take)).unwrap();
            assert!(found == wanted.bytes());
        }
        let failed = in_order(sizes.len(), |item| sizes[item], make, |_| Err(Error::Defect));
        assert!(matches!(failed, Err(Error::Defect)));
    }
}
