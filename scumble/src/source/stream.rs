//! Tables that arrive once, as a stream of record batches.
//!
//! A stream can be read only once, a job may need several scans, and it must know how large the
//! table is. So batches are kept as they are read: in memory, and beyond a limit in a private file
//! that goes with the source. The meter counts the bytes of the stream once, and what is written to
//! that file and read back from it.

use super::memory::bytes_of;
use super::spill::WaitingFile;
use super::{Meter, Metered, RecordBatches, Source, check_names};
use crate::error::{Error, Result};
use crate::watch::Watch;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
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
    rest: Rest,
    kept: Vec<RecordBatch>,
    /// Bytes of all batches that were read, and of those in memory.
    bytes: u64,
    in_memory: u64,
    rows: u64,
    /// Bytes that may be kept in memory, and where the others go.
    limit: Option<(u64, PathBuf)>,
    spilled: Option<Spilled>,
}

/// What of a stream has not been read yet.
enum Rest {
    Open(Box<dyn RecordBatchReader + Send>),
    Ended,
    /// After an error nobody knows what is missing.
    Failed,
}

/// Batches behind those in memory, in a private file.
struct Spilled {
    file: WaitingFile,
    writer: StreamWriter<BufWriter<Metered>>,
    batches: usize,
}

impl TableStream {
    /// A stream that is kept in memory as it is read, as far as the memory limit of the job allows.
    pub fn new(reader: Box<dyn RecordBatchReader + Send>) -> Result<TableStream> {
        let (name, schema) = ("stream of record batches", reader.schema());
        check_names(&schema, Path::new(name))?;
        let state = State {
            rest: Rest::Open(reader),
            kept: Vec::new(),
            bytes: 0,
            in_memory: 0,
            rows: 0,
            limit: None,
            spilled: None,
        };
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
        let failed = |source: ArrowError| Error::Columnar { file: name.into(), source };
        // Unless the batch is read and kept, what comes next is not known to be the rest.
        let mut reader = match std::mem::replace(&mut self.rest, Rest::Failed) {
            Rest::Open(reader) => reader,
            Rest::Ended => {
                self.rest = Rest::Ended;
                return Ok(None);
            }
            Rest::Failed => return Err(Error::StreamFailed { name: name.into() }),
        };
        let Some(batch) = reader.next().transpose().map_err(failed)? else {
            self.rest = Rest::Ended;
            return Ok(None);
        };
        self.keep(&batch, name, meter)?;
        self.rest = Rest::Open(reader);
        Ok(Some(batch))
    }

    fn keep(&mut self, batch: &RecordBatch, name: &str, meter: &Meter) -> Result<()> {
        let bytes = bytes_of(batch);
        meter.add_read(bytes);
        match &self.limit {
            Some((most, folder)) if self.spilled.is_some() || self.in_memory + bytes > *most => {
                if self.spilled.is_none() {
                    self.spilled = Some(Spilled::new(folder, batch, meter)?);
                }
                let spilled = self.spilled.as_mut().ok_or(Error::Defect)?;
                let failed = |source: ArrowError| Error::Columnar { file: name.into(), source };
                spilled.writer.write(batch).map_err(failed)?;
                spilled.batches += 1;
            }
            _ => {
                self.in_memory += bytes;
                self.kept.push(batch.clone());
            }
        }
        self.bytes += bytes;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }
}

impl Spilled {
    fn new(folder: &Path, batch: &RecordBatch, meter: &Meter) -> Result<Spilled> {
        let (waiting, file) = WaitingFile::create(folder)?;
        let writer = BufWriter::new(Metered::new(file, meter));
        let writer = StreamWriter::try_new(writer, &batch.schema());
        let failed = |source| Error::Columnar { file: waiting.path().to_path_buf(), source };
        Ok(Spilled { writer: writer.map_err(failed)?, file: waiting, batches: 0 })
    }

    fn failed(&self, source: ArrowError) -> Error {
        Error::Columnar { file: self.file.path().to_path_buf(), source }
    }

    /// Makes what was written readable.
    fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|source| self.failed(source))
    }

    /// Begins to read what was written.
    fn reader(&mut self, meter: &Meter) -> Result<StreamReader<BufReader<Metered>>> {
        let file = Metered::open(self.file.path(), meter)?;
        StreamReader::try_new(BufReader::new(file), None).map_err(|source| self.failed(source))
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
    spilled: Option<StreamReader<BufReader<Metered>>>,
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
            state.kept[self.next].clone()
        } else if self.next < known {
            let spilled = state.spilled.as_mut().ok_or(Error::Defect)?;
            spilled.flush()?;
            if self.spilled.is_none() {
                let mut reader = spilled.reader(&self.meter)?;
                // A scan that read the first ones from the stream has none of them to come.
                for _ in kept..self.next {
                    reader.next().transpose().map_err(failed)?;
                }
                self.spilled = Some(reader);
            }
            let reader = self.spilled.as_mut().ok_or(Error::Defect)?;
            reader.next().transpose().map_err(failed)?.ok_or(Error::Defect)?
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

    /// The number of rows, once the stream was read to its end.
    fn rows(&self) -> Option<u64> {
        let state = lock(&self.state);
        matches!(state.rest, Rest::Ended).then_some(state.rows)
    }

    fn unpacked_bytes(&self) -> Option<u64> {
        let state = lock(&self.state);
        matches!(state.rest, Rest::Ended).then_some(state.bytes)
    }

    fn settle(&self, memory: u64, folder: &Path, watch: &Watch) -> Result<()> {
        let mut state = lock(&self.state);
        state.limit.get_or_insert_with(|| (memory, folder.to_path_buf()));
        loop {
            watch.check()?;
            if state.pull(&self.name, &self.meter)?.is_none() {
                return Ok(());
            }
        }
    }
}
