//! Lines of a release's files: made in parallel, handed over in order.

use crate::error::{Error, Result};
use crate::release::{Fields, FolderDraft, Page, push_field};
use rayon::prelude::*;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::sync::Mutex;

/// Lines that one thread makes at a time: about as many bytes as stay near it until they are
/// written.
const PIECE: u64 = 1 << 13;

/// Pieces that are made while those before them are handed over.
const WINDOW: usize = 16;

/// Makes the lines of items in parallel and hands them over in order, some while the next ones are
/// made. `lines` tells about how many an item has. What is handed over does not depend on the
/// number of threads.
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
        page.clear();
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
        let (handed_over, now) = rayon::join(hand_over, || {
            coming.into_par_iter().with_max_len(1).map(make_one).collect::<Vec<_>>()
        });
        handed_over?;
        if now.is_empty() {
            return Ok(());
        }
        made = now;
    }
}

/// Texts as fields of a line, each with the comma before it but for the first column, and what
/// follows it.
pub(super) fn rendered<'a>(
    texts: impl Iterator<Item = &'a str>,
    position: usize,
    after: &str,
) -> Fields<16> {
    Fields::new(texts, |field, text| {
        push_field(field, text, position, b',');
        field.extend_from_slice(after.as_bytes());
    })
}

/// A file of the folder that takes lines.
pub(super) struct Lines<'a> {
    draft: &'a FolderDraft,
    name: &'static str,
    file: File,
    written: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn create(
        draft: &'a FolderDraft,
        name: &'static str,
        header: &str,
    ) -> Result<Lines<'a>> {
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

    /// Nothing more comes: the file is made durable while others are written. Returns how many
    /// bytes it has.
    pub(super) fn finish(self) -> u64 {
        self.draft.finish(self.file, self.name);
        self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Items of very different sizes, the same lines for one thread and for several.
    #[test]
    fn lines_come_in_order() {
        let sizes: Vec<u64> =
            (0..4000).map(|item| if item % 97 == 0 { 20_000 } else { item % 7 }).collect();
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
