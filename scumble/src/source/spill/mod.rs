//! Where do rows wait that do not fit into memory?
//!
//! In files of a [`SpillFolder`]: a private folder that lives as long as its run. A [`SpillWriter`]
//! gathers rows and appends them block by block; the [`SpillFile`] that it becomes is read front to
//! back, as often as needed, and removed when it is dropped.
//!
//! A run may have a thousand writers under a small memory limit. So a writer's buffer has a size
//! that the caller chooses, and a writer holds no open file: each block opens the file, appends and
//! closes it, which costs little beside the block and can never use up the handles of the process.
//!
//! Rows are personal data. The folder and its files are readable by their owner only, errors name
//! files and never content, and what a killed run left is removed by the next one in the same
//! parent folder (`leftovers.rs`).

mod bits;
mod block;
mod file;
mod folder;
#[cfg(unix)]
mod leftovers;
#[cfg(test)]
mod tests;
mod tuples;

pub use file::{Blocks, SpillFile, SpillWriter};
pub use folder::{SpillFolder, WaitingFile};
pub use tuples::{CountedTuples, EachPiece, TupleCounter, Tuples};

/// Encoded rows: `width` words each, and bytes that only travel with the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// Words per row.
    pub width: usize,
    /// The words, row by row.
    pub words: Vec<u32>,
    /// Where each row's bytes end in `payload`.
    pub ends: Vec<u64>,
    /// The bytes that travel with the rows, one row's after the other's.
    pub payload: Vec<u8>,
}

impl Records {
    /// No rows yet, of so many words each.
    pub fn new(width: usize) -> Self {
        Records { width, ..Records::default() }
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// No row at all?
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One more row. There must be `width` words.
    #[inline]
    pub fn push(&mut self, words: &[u32], payload: &[u8]) {
        assert_eq!(words.len(), self.width, "a row of another width");
        self.words.extend_from_slice(words);
        if !payload.is_empty() {
            self.payload.extend_from_slice(payload);
        }
        self.ends.push(self.payload.len() as u64);
    }

    /// A row's words.
    #[inline]
    pub fn words(&self, row: usize) -> &[u32] {
        &self.words[row * self.width..(row + 1) * self.width]
    }

    /// The bytes that travel with a row.
    #[inline]
    pub fn payload(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.payload[start as usize..self.ends[row] as usize]
    }

    /// Forgets the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
        self.ends.clear();
        self.payload.clear();
    }

    /// The memory that is held, used or not.
    pub fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u32>()
            + self.ends.capacity() * size_of::<u64>()
            + self.payload.capacity()
    }

    /// The memory that a row takes besides its payload.
    pub fn row_bytes(width: usize) -> usize {
        width * size_of::<u32>() + size_of::<u64>()
    }
}
