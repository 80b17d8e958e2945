//! Lines of a release's files: made in parallel, handed over in order, with fields that are copied instead of formatted.

use crate::error::{Error, Result};
use crate::release::{FolderDraft, push_field};
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
    make: impl Fn(Range<usize>, &mut Vec<u8>) + Sync,
    mut take: impl FnMut(&[u8]) -> Result<()> + Send,
) -> Result<()> {
    // Room that was used is used again: fresh memory costs more than the lines that are made in it.
    let spare: Mutex<Vec<Vec<u8>>> = Mutex::default();
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
        let mut bytes = spare.lock().map_or(None, |mut spare| spare.pop()).unwrap_or_default();
        bytes.clear();
        make(items, &mut bytes);
        bytes
    };
    let mut made: Vec<Vec<u8>> = Vec::new();
    loop {
        let coming: Vec<Range<usize>> = std::iter::from_fn(&mut piece).take(WINDOW).collect();
        let hand_over = || {
            for bytes in made {
                take(&bytes)?;
                _ = spare.lock().map(|mut spare| spare.push(bytes));
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

/// Appends the first `length` of some bytes. All are copied and the others taken back, which is quicker than to copy a number
/// that is only known now.
#[inline]
pub(super) fn push_first<const N: usize>(bytes: &mut Vec<u8>, all: &[u8; N], length: usize) {
    bytes.extend_from_slice(all);
    bytes.truncate(bytes.len() - (N - length));
}

/// Appends a text that ends the last of `bytes` until there are so many copies of it.
pub(super) fn repeat(bytes: &mut Vec<u8>, start: usize, copies: u32) {
    let end = start + (bytes.len() - start) * copies as usize;
    while bytes.len() < end {
        let more = (bytes.len() - start).min(end - bytes.len());
        bytes.extend_from_within(start..start + more);
    }
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

    #[inline]
    pub(super) fn push(&self, bytes: &mut Vec<u8>, at: u32) {
        let piece = &self.pieces[at as usize];
        match piece[15] {
            LONG => bytes.extend_from_slice(self.long(piece)),
            length => push_first(bytes, piece, length.into()),
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
        make: impl Fn(Range<usize>, &mut Vec<u8>) + Sync,
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
                    let (mut found, mut wanted) = (b"before".to_vec(), b"before".to_vec());
                    fields.push(&mut found, at as u32);
                    push_field(&mut wanted, text, position, b',');
                    wanted.extend_from_slice(after.as_bytes());
                    assert_eq!(found, wanted);
                }
            }
        }
    }

    #[test]
    fn repeated_texts_are_as_many_as_asked_for() {
        for copies in 1..70 {
            let mut bytes = b"x,y\n".to_vec();
            bytes.extend_from_slice(b"ab\n");
            repeat(&mut bytes, 4, copies);
            assert_eq!(bytes, [&b"x,y\n"[..], &b"ab\n".repeat(copies as usize)].concat());
        }
    }

    /// Items of very different sizes, the same lines for one thread and for several.
    #[test]
    fn lines_come_in_order() {
        let sizes: Vec<u64> = (0..4000).map(|item| if item % 97 == 0 { 20_000 } else { item % 7 }).collect();
        let make = |items: Range<usize>, bytes: &mut Vec<u8>| {
            for item in items {
                (0..sizes[item]).for_each(|line| bytes.extend_from_slice(format!("{item} {line}\n").as_bytes()));
            }
        };
        let mut wanted = Vec::new();
        make(0..sizes.len(), &mut wanted);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut found: Vec<u8> = Vec::new();
            let take = |bytes: &[u8]| {
                found.extend_from_slice(bytes);
                Ok(())
            };
            pool.install(|| in_order(sizes.len(), |item| sizes[item], make, take)).unwrap();
            assert!(found == wanted);
        }
        let failed = in_order(sizes.len(), |item| sizes[item], make, |_| Err(Error::Defect));
        assert!(matches!(failed, Err(Error::Defect)));
    }
}
