//! A file of spilled rows: written once, block by block, then read front to back.

use super::Records;
use super::block::{self, BlockScratch, HEADER};
use super::folder::Folder;
use crate::error::{Error, Result};
use crate::lock::create_private;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes in a folder, which go when this is dropped.
struct Stored {
    folder: Arc<Folder>,
    number: u64,
    path: PathBuf,
    is_made: bool,
    bytes: u64,
}

impl Stored {
    /// Appends a block of some rows whole, or leaves the file as it was.
    fn append(&mut self, block: &[u8], rows: usize) -> Result<()> {
        let needed = block.len() as u64;
        let failed = |error| self.folder.write_failed(&self.path, needed, error);
        self.folder.hold(needed).map_err(failed)?;
        let opened = if self.is_made {
            OpenOptions::new().append(true).open(&self.path)
        } else {
            create_private(&self.path)
        };
        let written = opened.and_then(|mut file| {
            self.is_made = true;
            // What could be written of it would be neither a block nor counted, and takes space on
            // a full disk.
            file.write_all(block).inspect_err(|_| _ = file.set_len(self.bytes))
        });
        if let Err(error) = written {
            self.folder.release(needed);
            return Err(self.folder.write_failed(&self.path, needed, error));
        }
        self.folder.count_written(needed, rows as u64);
        self.bytes += needed;
        Ok(())
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        if self.is_made {
            let _ = std::fs::remove_file(&self.path);
        }
        self.folder.release(self.bytes);
    }
}

/// The seed of a block's checksum: a block from another file, or from elsewhere in this one, is not
/// this block.
fn place(number: u64, offset: u64) -> u64 {
    number.rotate_left(40) ^ offset
}

/// Rows on their way to a file. Dropped before [`finish`](Self::finish), it removes what it wrote.
pub struct SpillWriter {
    stored: Stored,
    block_bytes: usize,
    buffer: Records,
    /// Bytes that the rows in the buffer take.
    filled: usize,
    rows: u64,
    payload: u64,
    largest: usize,
}

impl SpillWriter {
    pub(super) fn new(folder: Arc<Folder>, width: usize, block_bytes: usize) -> SpillWriter {
        let (number, path) = folder.next_file();
        let stored = Stored { folder, number, path, is_made: false, bytes: 0 };
        SpillWriter {
            stored,
            block_bytes,
            buffer: Records::new(width),
            filled: 0,
            rows: 0,
            payload: 0,
            largest: 0,
        }
    }

    /// One more row, of the file's width.
    #[inline]
    pub fn push(&mut self, words: &[u32], payload: &[u8]) -> Result<()> {
        let needed = Records::row_bytes(self.buffer.width) + payload.len();
        if self.filled + needed > self.block_bytes && self.filled > 0 {
            self.write_block()?;
        }
        if self.buffer.len() == self.buffer.ends.capacity()
            || self.buffer.payload.capacity() - self.buffer.payload.len() < payload.len()
        {
            self.grow(payload.len());
        }
        self.buffer.push(words, payload);
        self.filled += needed;
        self.rows += 1;
        self.payload += payload.len() as u64;
        Ok(())
    }

    /// Makes room for a row: twice as much as before, as far as a block can use it.
    #[cold]
    fn grow(&mut self, payload: usize) {
        let buffer = &mut self.buffer;
        let most_rows = self.block_bytes / Records::row_bytes(buffer.width);
        if buffer.len() == buffer.ends.capacity() {
            let rows = (buffer.len() * 2).max(16).min(most_rows).max(buffer.len() + 1);
            buffer.ends.reserve_exact(rows - buffer.len());
            buffer.words.reserve_exact(rows * buffer.width - buffer.words.len());
        }
        let wanted = buffer.payload.len() + payload;
        if wanted > buffer.payload.capacity() {
            let bytes = (buffer.payload.capacity() * 2).min(self.block_bytes).max(wanted);
            buffer.payload.reserve_exact(bytes - buffer.payload.len());
        }
    }

    fn write_block(&mut self) -> Result<()> {
        let SpillWriter { stored, buffer, .. } = self;
        let folder = stored.folder.clone();
        self.largest = folder.with_scratch(|scratch| {
            if !block::encode(buffer, place(stored.number, stored.bytes), scratch) {
                let problem = "a row takes more than 4 GiB";
                return Err(Error::io(&stored.path, "write")(std::io::Error::new(
                    ErrorKind::FileTooLarge,
                    problem,
                )));
            }
            stored.append(&scratch.block, buffer.len())?;
            Ok(self.largest.max(scratch.block.len()))
        })?;
        self.buffer.clear();
        self.filled = 0;
        // A row that was larger than a block must not make its buffer so for ever.
        self.buffer.payload.shrink_to(self.block_bytes);
        Ok(())
    }

    /// Rows pushed so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The memory that the writer holds.
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.bytes()
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Result<SpillFile> {
        if !self.buffer.is_empty() {
            self.write_block()?;
        }
        let SpillWriter { stored, buffer, rows, payload, largest, .. } = self;
        Ok(SpillFile { stored, width: buffer.width, rows, payload, largest })
    }
}

/// Rows in a file, which goes when this is dropped.
pub struct SpillFile {
    stored: Stored,
    width: usize,
    rows: u64,
    payload: u64,
    largest: usize,
}

impl SpillFile {
    /// How many rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Words of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.stored.bytes
    }

    /// The bytes that travel with its rows.
    pub fn payload_bytes(&self) -> u64 {
        self.payload
    }

    /// The memory that its records would take, all at once.
    pub fn memory_bytes(&self) -> u64 {
        self.rows * Records::row_bytes(self.width) as u64 + self.payload
    }

    /// Its rows from the beginning, a block at a time.
    pub fn blocks(&self) -> Result<Blocks> {
        let Stored { folder, number, path, bytes, .. } = &self.stored;
        let mut blocks = Blocks {
            folder: folder.clone(),
            number: *number,
            path: path.clone(),
            file: None,
            position: 0,
            bytes: *bytes,
            width: self.width,
            largest: self.largest,
            scratch: BlockScratch::default(),
        };
        if *bytes > 0 {
            let file = File::open(path).map_err(|error| blocks.failed(error))?;
            if file.metadata().map_err(Error::io(path, "read"))?.len() == *bytes {
                blocks.file = Some(file)
            } else {
                return Err(blocks.damaged("the length is wrong"));
            }
        }
        Ok(blocks)
    }

    /// All rows at once, in memory of exactly the size that they need.
    pub fn read(&self) -> Result<Records> {
        let mut records = Records::new(self.width);
        let rows = usize::try_from(self.rows).map_err(|_| Error::Defect)?;
        records.words.reserve_exact(rows * self.width);
        records.ends.reserve_exact(rows);
        records.payload.reserve_exact(usize::try_from(self.payload).map_err(|_| Error::Defect)?);
        let mut blocks = self.blocks()?;
        while blocks.append_to(&mut records)? {}
        Ok(records)
    }
}

/// The blocks of a file, one after the other; ends after an error.
pub struct Blocks {
    folder: Arc<Folder>,
    number: u64,
    path: PathBuf,
    file: Option<File>,
    position: u64,
    bytes: u64,
    width: usize,
    largest: usize,
    scratch: BlockScratch,
}

impl Blocks {
    /// Appends the rows of the next block; false if there is none.
    pub fn append_to(&mut self, records: &mut Records) -> Result<bool> {
        let Some(mut file) = self.file.take_if(|_| self.position < self.bytes) else {
            return Ok(false);
        };
        let mut header = [0; HEADER];
        file.read_exact(&mut header).map_err(|error| self.failed(error))?;
        // A length is believed only as far as a block of this file can have it: memory is limited.
        let length = HEADER.saturating_add(block::body_len(&header));
        if length > self.largest || self.bytes - self.position < length as u64 {
            return Err(self.damaged("a block has an invalid length"));
        }
        let buffer = &mut self.scratch.block;
        buffer.resize(length, 0);
        buffer[..HEADER].copy_from_slice(&header);
        file.read_exact(&mut buffer[HEADER..]).map_err(|error| self.failed(error))?;
        self.folder.read.fetch_add(length as u64, Relaxed);
        let before = records.len();
        if !block::decode(&mut self.scratch, place(self.number, self.position), records) {
            return Err(self.damaged("a block does not match its checksum"));
        }
        self.folder.rows_read.fetch_add((records.len() - before) as u64, Relaxed);
        self.position += length as u64;
        self.file = Some(file);
        Ok(true)
    }

    fn failed(&self, error: std::io::Error) -> Error {
        match error.kind() {
            ErrorKind::NotFound => self.damaged("the file is missing"),
            ErrorKind::UnexpectedEof => self.damaged("a block is truncated"),
            _ => Error::io(&self.path, "read")(error),
        }
    }

    fn damaged(&self, problem: &'static str) -> Error {
        Error::SpillDamaged { file: self.path.clone(), problem }
    }
}

impl Iterator for Blocks {
    type Item = Result<Records>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut records = Records::new(self.width);
        match self.append_to(&mut records) {
            Ok(true) => Some(Ok(records)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}
