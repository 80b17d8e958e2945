//! Tables that arrive once, as a stream of record batches.
//!
//! A stream can be read only once, and a job may need several scans. The batches of the first scan
//! are kept: in memory, and beyond a limit in a private file that goes with the source.

use super::memory::bytes_of;
use super::spill::SpillFolder;
use super::{Meter, RecordBatches, Source, check_names};
use crate::error::{Error, Result};
use crate::lock::create_private;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A stream of record batches as a source: anything that is an Arrow [`RecordBatchReader`], such as
/// a reader of the C stream interface.
pub struct TableStream {
    name: String,
    schema: SchemaRef,
    state: Arc<Mutex<State>>,
    meter: Meter,
}

struct State {
    /// The rest of the stream; `None` at its end and after an error.
    reader: Option<Box<dyn RecordBatchReader + Send>>,
    kept: Vec<RecordBatch>,
    bytes: u64,
    /// Bytes that may be kept in memory, and where the others go.
    limit: Option<(u64, PathBuf)>,
    spilled: Option<Spilled>,
}

/// Batches behind those in memory, in a private file.
struct Spilled {
    folder: SpillFolder,
    writer: StreamWriter<BufWriter<File>>,
    batches: usize,
}

/// The file of a spilled stream, in its folder.
const FILE: &str = "0.rows";

impl TableStream {
    /// A stream that is kept in memory as it is read.
    pub fn new(reader: Box<dyn RecordBatchReader + Send>) -> Result<TableStream> {
        let (name, schema) = ("stream of record batches", reader.schema());
        check_names(&schema, Path::new(name))?;
        let state =
            State { reader: Some(reader), kept: Vec::new(), bytes: 0, limit: None, spilled: None };
        let state = Arc::new(Mutex::new(state));
        Ok(TableStream { name: name.into(), schema, state, meter: Meter::default() })
    }

    /// The same stream, of which at most this many bytes are kept in memory. The rest waits in a
    /// private folder inside of `folder`.
    pub fn spill_after(self, bytes: u64, folder: &Path) -> TableStream {
        lock(&self.state).limit = Some((bytes, folder.to_path_buf()));
        self
    }

    /// The same stream, which messages call by this name.
    pub fn named(self, name: impl Into<String>) -> TableStream {
        TableStream { name: name.into(), ..self }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Reads the next batch of the stream and keeps it.
    fn pull(&mut self, name: &str, meter: &Meter) -> Result<Option<RecordBatch>> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let failed = |source: ArrowError| Error::Columnar { file: name.into(), source };
        let next = reader.next().transpose().map_err(failed);
        if !matches!(next, Ok(Some(_))) {
            // What comes behind an error is not known to be the rest of the table.
            self.reader = None;
        }
        let Some(batch) = next? else { return Ok(None) };
        meter.add_read(bytes_of(&batch));
        self.keep(&batch, name)?;
        Ok(Some(batch))
    }

    fn keep(&mut self, batch: &RecordBatch, name: &str) -> Result<()> {
        let bytes = bytes_of(batch);
        match &self.limit {
            Some((most, folder)) if self.spilled.is_some() || self.bytes + bytes > *most => {
                if self.spilled.is_none() {
                    self.spilled = Some(Spilled::new(folder, batch)?);
                }
                let spilled = self.spilled.as_mut().ok_or(Error::Defect)?;
                let failed = |source: ArrowError| Error::Columnar { file: name.into(), source };
                spilled.writer.write(batch).map_err(failed)?;
                spilled.batches += 1;
            }
            _ => {
                self.bytes += bytes;
                self.kept.push(batch.clone());
            }
        }
        Ok(())
    }
}

impl Drop for Spilled {
    /// Its folder goes once nothing but the lock is in it.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.folder.path().join(FILE));
    }
}

impl Spilled {
    fn new(folder: &Path, batch: &RecordBatch) -> Result<Spilled> {
        let folder = SpillFolder::create(folder)?;
        let path = folder.path().join(FILE);
        let file = create_private(&path).map_err(Error::io(&path, "write"))?;
        let writer = StreamWriter::try_new(BufWriter::new(file), &batch.schema());
        let writer = writer.map_err(|source| Error::Columnar { file: path, source })?;
        Ok(Spilled { folder, writer, batches: 0 })
    }

    /// Makes what was written readable.
    fn flush(&mut self) -> Result<()> {
        let file = self.folder.path().join(FILE);
        self.writer.flush().map_err(|source| Error::Columnar { file, source })
    }

    /// Begins to read what was written.
    fn reader(&mut self) -> Result<StreamReader<BufReader<File>>> {
        let path = self.folder.path().join(FILE);
        let file = File::open(&path).map_err(Error::io(&path, "read"))?;
        let reader = StreamReader::try_new(BufReader::new(file), None);
        reader.map_err(|source| Error::Columnar { file: path, source })
    }
}

/// A scan of a stream: what was kept, then the rest.
struct Scan {
    state: Arc<Mutex<State>>,
    columns: Vec<usize>,
    name: String,
    meter: Meter,
    next: usize,
    /// Spilled batches as they are read back, once the scan has come to them.
    spilled: Option<StreamReader<BufReader<File>>>,
    ended: bool,
}

impl Scan {
    fn read_next(&mut self) -> Result<Option<RecordBatch>> {
        let mut state = lock(&self.state);
        let failed =
            |source: ArrowError| Error::Columnar { file: self.name.clone().into(), source };
        let kept = state.kept.len();
        let known = kept + state.spilled.as_ref().map_or(0, |spilled| spilled.batches);
        let batch = if self.next < kept {
            let batch = state.kept[self.next].clone();
            self.meter.add_read(bytes_of(&batch));
            batch
        } else if self.next < known {
            let spilled = state.spilled.as_mut().ok_or(Error::Defect)?;
            spilled.flush()?;
            if self.spilled.is_none() {
                let mut reader = spilled.reader()?;
                // A scan that read the first ones from the stream has none of them to come.
                for _ in kept..self.next {
                    reader.next().transpose().map_err(failed)?;
                }
                self.spilled = Some(reader);
            }
            let reader = self.spilled.as_mut().ok_or(Error::Defect)?;
            let batch = reader.next().transpose().map_err(failed)?.ok_or(Error::Defect)?;
            self.meter.add_read(bytes_of(&batch));
            batch
        } else {
            // A reader of spilled batches does not see the one that is pulled now.
            self.spilled = None;
            match state.pull(&self.name, &self.meter)? {
                Some(batch) => batch,
                None => return Ok(None),
            }
        };
        self.next += 1;
        batch.project(&self.columns).map(Some).map_err(failed)
    }
}

impl Iterator for Scan {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        if self.ended {
            return None;
        }
        let next = self.read_next().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl Source for TableStream {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn scan(&self, columns: &[usize]) -> Result<RecordBatches> {
        self.meter.add_scan();
        let state = self.state.clone();
        let (columns, name, meter) = (columns.to_vec(), self.name.clone(), self.meter.clone());
        Ok(Box::new(Scan { state, columns, name, meter, next: 0, spilled: None, ended: false }))
    }
}
