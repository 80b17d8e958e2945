//! A release in memory.

use super::{RELEASE, Sink, TableSink, Tables};
use crate::error::{Error, Result};
use crate::release::Report;
use crate::source::{Meter, Source, TableBatches};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// A release as record batches. They can be taken once the job has verified them.
#[derive(Debug, Default)]
pub struct ReleaseBatches {
    tables: Vec<(String, SchemaRef, Shared<Vec<RecordBatch>>)>,
    texts: Vec<(String, String)>,
    recoding: Option<Shared<Vec<u8>>>,
    meter: Meter,
    published: bool,
}

/// What a writer on another thread fills.
#[derive(Clone, Debug, Default)]
struct Shared<T>(Arc<Mutex<T>>);

impl<T> Shared<T> {
    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ReleaseBatches {
    /// An empty release.
    pub fn new() -> ReleaseBatches {
        ReleaseBatches::default()
    }

    /// The same, with the recoding kept.
    pub fn with_recoding(self) -> ReleaseBatches {
        ReleaseBatches { recoding: Some(Shared::default()), ..self }
    }

    /// The rows of the release; none before it was verified.
    pub fn batches(&self) -> Vec<RecordBatch> {
        self.table(RELEASE)
    }

    /// The rows of one of several tables; none before the release was verified.
    pub fn table(&self, name: &str) -> Vec<RecordBatch> {
        let found = self.tables.iter().find(|(known, ..)| self.published && known == name);
        found.map_or(Vec::new(), |(.., batches)| batches.with(|batches| batches.clone()))
    }

    /// Texts that belong to the release, such as scripts, by name.
    pub fn texts(&self) -> &[(String, String)] {
        if self.published { &self.texts } else { &[] }
    }

    /// The recoding as JSON, if it was asked for.
    pub fn recoding(&self) -> Option<String> {
        let kept = self.recoding.as_ref().filter(|_| self.published)?;
        kept.with(|bytes| String::from_utf8(bytes.clone()).ok())
    }
}

struct Writer {
    batches: Shared<Vec<RecordBatch>>,
    meter: Meter,
}

impl TableSink for Writer {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.meter.add_written(batch.get_array_memory_size() as u64);
        self.batches.with(|batches| batches.push(batch));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Write for Shared<Vec<u8>> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.with(|kept| kept.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Sink for ReleaseBatches {
    fn name(&self) -> String {
        "release".into()
    }

    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn table(&mut self, name: &str, schema: &SchemaRef) -> Result<Box<dyn TableSink>> {
        if self.published || self.tables.iter().any(|(known, ..)| known == name) {
            return Err(Error::Mismatch {
                file: self.name().into(),
                problem: "already contains the batches of another job; use a new one".into(),
            });
        }
        let batches = Shared::default();
        self.tables.push((name.into(), schema.clone(), batches.clone()));
        Ok(Box::new(Writer { batches, meter: self.meter.clone() }))
    }

    fn seal(&mut self) -> Result<Tables> {
        let mut tables: Vec<(String, Box<dyn Source>)> = Vec::new();
        for (name, schema, batches) in &self.tables {
            let batches = batches.with(|batches| batches.clone());
            let table = TableBatches::with_schema(schema.clone(), batches)?.named(self.name());
            tables.push((name.clone(), Box::new(table)));
        }
        Ok(Tables::new(self.name(), tables))
    }

    fn publish(&mut self, _: &Report) -> Result<()> {
        self.published = true;
        Ok(())
    }

    /// A release that was published stays.
    fn abandon(&mut self) {
        if !self.published {
            (self.tables, self.texts) = (Vec::new(), Vec::new());
            self.recoding = self.recoding.take().map(|_| Shared::default());
        }
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn text(&mut self, name: &str, text: &str) -> Result<()> {
        self.texts.push((name.into(), text.into()));
        Ok(())
    }

    fn recoding(&mut self) -> Result<Option<Box<dyn Write + Send>>> {
        let kept = self.recoding.clone();
        Ok(kept.map(|kept| Box::new(kept) as Box<dyn Write + Send>))
    }

    fn wants_recoding(&self) -> bool {
        self.recoding.is_some()
    }
}
