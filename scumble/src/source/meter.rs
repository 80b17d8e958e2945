//! What was really read and written.

use crate::error::{Error, Result};
use bytes::Bytes;
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts scans, rows and bytes as they happen, on any thread. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    scans: AtomicU64,
    rows: AtomicU64,
    read: AtomicU64,
    written: AtomicU64,
}

impl Meter {
    /// Scans that were begun.
    pub fn scans(&self) -> u64 {
        self.0.scans.load(Relaxed)
    }

    /// Rows that were handed over, in all scans.
    pub fn rows(&self) -> u64 {
        self.0.rows.load(Relaxed)
    }

    /// Bytes that were read.
    pub fn bytes_read(&self) -> u64 {
        self.0.read.load(Relaxed)
    }

    /// Bytes that were written.
    pub fn bytes_written(&self) -> u64 {
        self.0.written.load(Relaxed)
    }

    /// The counts at the start of a job, which reports what came after them. What was read before
    /// the first scan, such as a header, belongs to the first job.
    pub(crate) fn start(&self) -> Counted {
        if self.scans() == 0 { Counted::default() } else { self.counted() }
    }

    /// What was counted since the start of a job.
    pub(crate) fn since(&self, start: Counted) -> Counted {
        let now = self.counted();
        Counted {
            scans: now.scans - start.scans,
            rows: now.rows - start.rows,
            read: now.read - start.read,
            written: now.written - start.written,
        }
    }

    fn counted(&self) -> Counted {
        Counted {
            scans: self.scans(),
            rows: self.rows(),
            read: self.bytes_read(),
            written: self.bytes_written(),
        }
    }

    /// Counts a scan that begins.
    pub fn add_scan(&self) {
        self.0.scans.fetch_add(1, Relaxed);
    }

    /// Counts rows that were handed over.
    pub fn add_rows(&self, rows: u64) {
        self.0.rows.fetch_add(rows, Relaxed);
    }

    /// Counts bytes that were read.
    pub fn add_read(&self, bytes: u64) {
        self.0.read.fetch_add(bytes, Relaxed);
    }

    /// Counts bytes that were written.
    pub fn add_written(&self, bytes: u64) {
        self.0.written.fetch_add(bytes, Relaxed);
    }
}

/// What a meter has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Scans that were begun.
    pub(crate) scans: u64,
    /// Rows that were handed over.
    pub(crate) rows: u64,
    /// Bytes that were read.
    pub(crate) read: u64,
    /// Bytes that were written.
    pub(crate) written: u64,
}

/// A file whose bytes are counted as they are read and written.
pub(crate) struct Metered {
    file: File,
    meter: Meter,
}

impl Metered {
    pub(crate) fn new(file: File, meter: &Meter) -> Metered {
        Metered { file, meter: meter.clone() }
    }

    pub(crate) fn open(path: &Path, meter: &Meter) -> Result<Metered> {
        let file = File::open(path).map_err(Error::io(path, "read"))?;
        Ok(Metered::new(file, meter))
    }
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.meter.add_read(read as u64);
        Ok(read)
    }
}

impl Write for Metered {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buffer)?;
        self.meter.add_written(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for Metered {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Length for Metered {
    fn len(&self) -> u64 {
        Length::len(&self.file)
    }
}

/// A page of a Parquet file begins with a header of a few dozen bytes, which is read through a
/// buffer of this size. Pages of a release are often hardly longer.
const HEADER: usize = 512;

impl ChunkReader for Metered {
    type T = BufReader<Metered>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(BufReader::with_capacity(HEADER, Metered { file, meter: self.meter.clone() }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let bytes = self.file.get_bytes(start, length)?;
        self.meter.add_read(bytes.len() as u64);
        Ok(bytes)
    }
}
