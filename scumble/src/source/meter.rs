//! How much of a file was read.

use crate::error::{Error, Result};
use bytes::Bytes;
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the bytes that are read of a file, by whatever thread.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<AtomicU64>);

impl Meter {
    /// Bytes that were read until now.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// A file whose bytes are counted as they are read.
pub(super) struct Metered {
    file: File,
    meter: Meter,
}

impl Metered {
    pub(super) fn open(path: &Path, meter: &Meter) -> Result<Metered> {
        let file = File::open(path).map_err(Error::io(path, "read"))?;
        Ok(Metered { file, meter: meter.clone() })
    }
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.meter.add(read);
        Ok(read)
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

/// A page of a Parquet file is found by a header of some dozen bytes, which is read through a
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
        self.meter.add(bytes.len());
        Ok(bytes)
    }
}
