//! A file in blocks that begin and end with records, so that each can be parsed by itself and by
//! any thread.
//!
//! A block without quotes ends with its last line break. In one with quotes a line break may be
//! data, so its records are cut here, in order, and what was found goes along.

use super::super::encoding;
use super::cut::{Cuts, Piece, look};
use crate::error::{Error, Place, Result};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Bytes of a block; more where a record is longer. Small enough that a table of some ten thousand
/// rows has one for every thread, and that a block stays in the cache between the steps of its
/// parsing.
pub(super) const BLOCK: usize = 1 << 16;

/// Some whole records of a file, in the first bytes of a room.
pub(super) struct Block {
    pub(super) bytes: Vec<u8>,
    pub(super) length: usize,
    pub(super) cuts: Cuts,
    /// Bytes of the file up to its end.
    pub(super) end: u64,
}

/// Bytes of a block before its records are known, which may be found by another thread.
pub(super) struct Raw {
    bytes: Vec<u8>,
    length: usize,
    cuts: Option<Cuts>,
    delimiter: u8,
    line: u64,
    end: u64,
}

impl Raw {
    /// Cuts the records, into the room of cuts that are done with.
    pub(super) fn cut(self, spare: Cuts) -> Block {
        let Raw { bytes, length, cuts, delimiter, line, end } = self;
        let piece = Piece {
            bytes: &bytes[..length],
            delimiter,
            line,
            is_all: true,
            most: usize::MAX,
            has_quotes: false,
        };
        let cuts = cuts.unwrap_or_else(|| Cuts::of(piece, spare));
        Block { bytes, length, cuts, end }
    }
}

impl Block {
    /// The records.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// A file that is read block by block.
pub(super) struct Blocks {
    path: PathBuf,
    file: Box<dyn Read + Send>,
    delimiter: u8,
    /// Bytes that were read and belong to no block yet, in the first bytes of a room.
    room: Vec<u8>,
    filled: usize,
    /// The line that they begin on.
    line: u64,
    /// Bytes of the file before them.
    before: u64,
    /// Whether the file has no more bytes.
    ended: bool,
    /// Bytes that are read at a time.
    step: usize,
    /// The maximum length of a record. Places in a block are numbers of 32 bits, and so are those
    /// of Arrow's texts, with a sign.
    longest: usize,
    /// The room of blocks that are done with.
    spare: Vec<Vec<u8>>,
}

impl Blocks {
    /// Reads the start of a file, without a byte-order mark. `path` is what errors call it, `step`
    /// and `longest` are the bytes to read at a time and the maximum length of a record, `choose`
    /// finds the delimiter.
    pub(super) fn open(
        file: Box<dyn Read + Send>,
        path: &Path,
        (step, longest): (usize, usize),
        choose: impl FnOnce(&[u8]) -> u8,
    ) -> Result<Blocks> {
        let (path, room, spare) = (path.to_path_buf(), Vec::new(), Vec::new());
        let (line, before, filled, ended) = (1, 0, 0, false);
        let (delimiter, longest) = (b',', longest.min(i32::MAX as usize / 2));
        let mut blocks = Blocks {
            path,
            file,
            delimiter,
            room,
            filled,
            line,
            before,
            ended,
            step,
            longest,
            spare,
        };
        blocks.read(step)?;
        if blocks.rest().starts_with(b"\xEF\xBB\xBF") {
            blocks.room.drain(..3);
            blocks.filled -= 3;
            blocks.before = 3;
        }
        blocks.delimiter = choose(blocks.rest());
        Ok(blocks)
    }

    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn rest(&self) -> &[u8] {
        &self.room[..self.filled]
    }

    /// Reads so many bytes more of the file, or all that are left.
    fn read(&mut self, wanted: usize) -> Result<()> {
        let end = self.filled + wanted;
        if self.room.len() < end {
            self.room.resize(end, 0);
        }
        while self.filled < end {
            match self.file.read(&mut self.room[self.filled..end]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let lines = self.rest().iter().filter(|byte| **byte == b'\n').count() as u64;
                    return Err(encoding::failed(error, &self.path, self.line + lines));
                }
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(read) => self.filled += read,
            }
        }
        Ok(())
    }

    /// Reads more of a record that is longer than what was read: it is looked for in twice as much.
    fn read_on(&mut self) -> Result<()> {
        if self.filled > self.longest {
            let place = Place::file(&self.path).line(self.line);
            return Err(Error::LongRecord { place, most: self.longest });
        }
        self.read(self.filled.max(self.step).min(self.longest + 1))
    }

    /// The next record by itself, such as a header.
    pub(super) fn first(&mut self) -> Result<Option<Block>> {
        loop {
            let cuts = self.cut(1)?;
            if cuts.records() > 0 {
                return Ok(Some(
                    self.take(cuts.end, cuts.end_line, Some(cuts)).cut(Cuts::default()),
                ));
            }
            if self.ended {
                return Ok(None);
            }
            self.read_on()?;
        }
    }

    /// The next block; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Raw>> {
        if self.filled < self.step && !self.ended {
            self.read(self.step - self.filled)?;
        }
        loop {
            if self.filled == 0 {
                return Ok(None);
            }
            let end = if self.ended {
                self.filled
            } else {
                self.rest()
                    .iter()
                    .rposition(|byte| matches!(byte, b'\n' | b'\r'))
                    .map_or(0, |at| at + 1)
            };
            let (end, line, cuts) = match look(&self.room[..end]) {
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
            self.read_on()?;
        }
    }

    /// Cuts the rest; a quote that does not close any more is an error.
    fn cut(&self, most: usize) -> Result<Cuts> {
        let (bytes, delimiter, line, is_all) = (self.rest(), self.delimiter, self.line, self.ended);
        let cuts = Cuts::of(
            Piece { bytes, delimiter, line, is_all, most, has_quotes: true },
            Cuts::default(),
        );
        if cuts.is_open && is_all {
            Err(Error::UnclosedQuote { place: Place::file(&self.path).line(cuts.end_line) })
        } else {
            Ok(cuts)
        }
    }

    /// Hands over the first bytes of the rest; what follows begins on this line.
    fn take(&mut self, end: usize, next_line: u64, cuts: Option<Cuts>) -> Raw {
        let left = self.filled - end;
        let mut room = self.spare.pop().unwrap_or_default();
        // What follows the end of a file needs no room.
        let needed = if self.ended { left } else { left.max(self.step) };
        if room.len() < needed {
            room.resize(needed, 0);
        }
        room[..left].copy_from_slice(&self.room[end..self.filled]);
        let bytes = std::mem::replace(&mut self.room, room);
        self.filled = left;
        let line = std::mem::replace(&mut self.line, next_line);
        self.before += end as u64;
        Raw { bytes, length: end, cuts, delimiter: self.delimiter, line, end: self.before }
    }

    /// Takes back the room of a block that is done with; that of a huge record is given back to the
    /// system.
    pub(super) fn take_back(&mut self, bytes: Vec<u8>) {
        if bytes.capacity() <= 2 * self.step {
            self.spare.push(bytes);
        }
    }
}
