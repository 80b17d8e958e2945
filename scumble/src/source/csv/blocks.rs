//! A file in blocks that begin and end with records, so that each can be parsed by itself and by any thread.
//!
//! A block without quotes ends with its last line break. In one with quotes a line break may be data, so its records are cut
//! here, in order, and what was found goes along.

use super::super::meter::{Meter, Metered};
use super::cut::{Cuts, Piece, look};
use crate::error::{Error, Place, Result};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of a block; more where a record is longer. Small enough that a table of some ten thousand rows has one for every
/// thread, and that a block stays in the cache between the steps of its parsing.
pub(super) const BLOCK: usize = 1 << 16;

/// Places in a block are numbers of 32 bits, and so are those of Arrow's texts, with a sign.
const LONGEST: usize = i32::MAX as usize;

/// Some whole records of a file.
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    pub(super) cuts: Cuts,
    /// Bytes of the file up to its end.
    pub(super) end: u64,
}

/// Bytes of a block before its records are known, which may be found by another thread.
pub(super) struct Raw {
    bytes: Vec<u8>,
    cuts: Option<Cuts>,
    delimiter: u8,
    line: u64,
    end: u64,
}

impl Raw {
    /// Cuts the records.
    pub(super) fn cut(self) -> Block {
        let Raw { bytes, cuts, delimiter, line, end } = self;
        let piece = Piece { bytes: &bytes, delimiter, line, is_all: true, most: usize::MAX, has_quotes: false };
        let cuts = cuts.unwrap_or_else(|| Cuts::of(piece));
        Block { bytes, cuts, end }
    }
}

/// A file that is read block by block.
pub(super) struct Blocks {
    path: PathBuf,
    file: Metered,
    delimiter: u8,
    /// Bytes that were read and belong to no block yet.
    rest: Vec<u8>,
    /// The line that they begin on.
    line: u64,
    /// Bytes of the file before them.
    before: u64,
    /// Whether the file has no more bytes.
    ended: bool,
    /// Bytes that are read at a time.
    step: usize,
    /// The room of blocks that are done with.
    spare: Vec<Vec<u8>>,
}

impl Blocks {
    /// Opens a file and reads its start, without the mark that some programs begin a text with. `choose` finds the delimiter.
    pub(super) fn open(path: &Path, meter: &Meter, step: usize, choose: impl FnOnce(&[u8]) -> u8) -> Result<Blocks> {
        let file = Metered::open(path, meter)?;
        let (path, rest, spare) = (path.to_path_buf(), Vec::new(), Vec::new());
        let mut blocks = Blocks { path, file, delimiter: b',', rest, line: 1, before: 0, ended: false, step, spare };
        blocks.read(step)?;
        if blocks.rest.starts_with(b"\xEF\xBB\xBF") {
            blocks.rest.drain(..3);
            blocks.before = 3;
        }
        blocks.delimiter = choose(&blocks.rest);
        Ok(blocks)
    }

    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads so many bytes more of the file, or all that are left.
    fn read(&mut self, wanted: usize) -> Result<()> {
        self.rest.reserve_exact(wanted);
        let read = self.file.by_ref().take(wanted as u64).read_to_end(&mut self.rest);
        self.ended = read.map_err(Error::io(&self.path, "read"))? < wanted;
        match self.rest.len() > LONGEST {
            false => Ok(()),
            true => {
                let place = Place::file(&self.path).line(self.line);
                Err(Error::UnsupportedColumn { place, data_type: "a record longer than 2 GiB".into() })
            }
        }
    }

    /// The next record by itself, such as a header.
    pub(super) fn first(&mut self) -> Result<Option<Block>> {
        loop {
            let cuts = self.cut(1)?;
            if cuts.records() > 0 {
                return Ok(Some(self.take(cuts.end, cuts.end_line, Some(cuts)).cut()));
            }
            if self.ended {
                return Ok(None);
            }
            // A record is longer than what was read: it is looked for in twice as much.
            self.read(self.rest.len().max(self.step))?;
        }
    }

    /// The next block; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Raw>> {
        if self.rest.len() < self.step && !self.ended {
            self.read(self.step - self.rest.len())?;
        }
        loop {
            if self.rest.is_empty() {
                return Ok(None);
            }
            let end = match self.ended {
                true => self.rest.len(),
                false => self.rest.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1),
            };
            let (end, line, cuts) = match look(&self.rest[..end]) {
                (lines, false) => (end, self.line + lines, None),
                (_, true) => {
                    let cuts = self.cut(usize::MAX)?;
                    (cuts.end, cuts.end_line, Some(cuts))
                }
            };
            if end > 0 {
                return Ok(Some(self.take(end, line, cuts)));
            }
            if self.ended {
                return Ok(None);
            }
            // A record is longer than what was read: it is looked for in twice as much.
            self.read(self.rest.len().max(self.step))?;
        }
    }

    /// Cuts the rest; a quote that does not close any more is an error.
    fn cut(&self, most: usize) -> Result<Cuts> {
        let Blocks { rest, delimiter, line, ended, .. } = self;
        let (delimiter, line, is_all) = (*delimiter, *line, *ended);
        let cuts = Cuts::of(Piece { bytes: rest, delimiter, line, is_all, most, has_quotes: true });
        match cuts.is_open && *ended {
            false => Ok(cuts),
            true => Err(Error::UnclosedQuote { place: Place::file(&self.path).line(cuts.end_line) }),
        }
    }

    /// Hands over the first bytes of the rest; what follows begins on this line.
    fn take(&mut self, end: usize, next_line: u64, cuts: Option<Cuts>) -> Raw {
        let mut rest = self.spare.pop().unwrap_or_default();
        rest.clear();
        rest.reserve_exact((self.rest.len() - end).max(self.step));
        rest.extend_from_slice(&self.rest[end..]);
        let mut bytes = std::mem::replace(&mut self.rest, rest);
        bytes.truncate(end);
        let line = std::mem::replace(&mut self.line, next_line);
        self.before += end as u64;
        Raw { bytes, cuts, delimiter: self.delimiter, line, end: self.before }
    }

    /// Takes back the room of a block that is done with; that of a huge record is given back to the system.
    pub(super) fn take_back(&mut self, bytes: Vec<u8>) {
        if bytes.capacity() <= 2 * self.step {
            self.spare.push(bytes);
        }
    }
}
