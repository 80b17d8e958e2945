//! A release in one file.

use super::super::draft::{Draft, publish};
use super::{Sink, TableSink, TableWriter, Tables};
use crate::error::{Error, Result};
use crate::release::{PrivateReport, Report};
use crate::source::spill::WaitingFile;
use crate::source::{FileFormat, Format, Meter, Metered, TableFile};
use arrow_schema::SchemaRef;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// A release in a file, with its report beside it (`OUT.report.json`), and what only the owner may
/// see (`OUT.private.json`). All appear complete, and readable by their owner only, or not at all.
pub struct ReleaseFile {
    target: PathBuf,
    format: FileFormat,
    /// Columns whose texts are numbers.
    numbers: Vec<String>,
    recoding: Option<PathBuf>,
    most_bytes: usize,
    meter: Meter,
    draft: Option<Draft>,
    saved: Option<Draft>,
    /// Makes the draft durable while it is verified.
    syncing: Option<JoinHandle<Result<()>>>,
}

impl ReleaseFile {
    /// A release whose format the name of the file tells.
    pub fn new(target: &Path) -> Result<ReleaseFile> {
        Ok(ReleaseFile::with_format(target, FileFormat::of(target)?))
    }

    /// A release of this format.
    pub fn with_format(target: &Path, format: FileFormat) -> ReleaseFile {
        ReleaseFile {
            target: target.to_path_buf(),
            format,
            numbers: Vec::new(),
            recoding: None,
            most_bytes: usize::MAX,
            meter: Meter::default(),
            draft: None,
            saved: None,
            syncing: None,
        }
    }

    /// The same, with the delimiter of a CSV input if both are CSV, and the spelling of the numbers
    /// of JSON lines if both are JSON lines.
    pub fn like(mut self, input: &TableFile) -> ReleaseFile {
        if input.format().format == Format::Csv && self.format.delimiter.is_none() {
            self.format.delimiter = input.format().delimiter;
        }
        self.numbers = input.spelled_numbers();
        self
    }

    /// The same, with the recoding saved to a file of its own.
    pub fn save_recoding(mut self, file: &Path) -> ReleaseFile {
        self.recoding = Some(file.to_path_buf());
        self
    }

    /// The delimiter of a CSV release.
    fn delimiter(&self) -> u8 {
        let is_tsv = self.target.extension().is_some_and(|end| end.eq_ignore_ascii_case("tsv"));
        self.format.delimiter.unwrap_or(if is_tsv { b'\t' } else { b',' })
    }
}

/// A place beside a release, named after it.
pub(super) fn named_after(output: &Path, ending: &str) -> PathBuf {
    let mut name = output.as_os_str().to_os_string();
    name.push(ending);
    name.into()
}

/// What a report may be published in, and what only the owner may see.
pub(super) const REPORT: &str = ".report.json";
pub(super) const PRIVATE: &str = ".private.json";

/// A draft of what only the owner may see, for a release at `output`.
pub(super) fn private_draft(output: &Path, report: &Report) -> Result<Option<Draft>> {
    let text = report.private.as_ref().map(PrivateReport::to_text);
    text.map(|text| Draft::with(&named_after(output, PRIVATE), &text)).transpose()
}

impl Sink for ReleaseFile {
    fn name(&self) -> String {
        self.target.display().to_string()
    }

    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn table(&mut self, _: &str, schema: &SchemaRef) -> Result<Box<dyn TableSink>> {
        if self.draft.is_some() {
            return Err(Error::Defect);
        }
        let draft = Draft::new(&self.target)?;
        self.format.delimiter = Some(self.delimiter());
        let file = Metered::new(draft.writer()?, &self.meter);
        let writer =
            TableWriter::with_numbers(file, &self.target, &self.format, schema, &self.numbers)?;
        self.draft = Some(draft);
        Ok(Box::new(writer.within(self.most_bytes)))
    }

    fn seal(&mut self) -> Result<Tables> {
        let draft = self.draft.as_ref().ok_or(Error::Defect)?;
        let file = draft.writer()?;
        let target = self.target.clone();
        // The bytes go to the disk while they are verified.
        self.syncing =
            Some(std::thread::spawn(move || file.sync_all().map_err(Error::io(&target, "write"))));
        Ok(Tables::one(TableFile::open_named(
            draft.path(),
            &self.target,
            self.format.as_written(),
        )?))
    }

    fn publish(&mut self, report: &Report) -> Result<()> {
        let synced = self.syncing.take().map(JoinHandle::join).ok_or(Error::Defect)?;
        synced.unwrap_or(Err(Error::Defect))?;
        let draft = self.draft.take().ok_or(Error::Defect)?;
        draft.mark_durable();
        let private = private_draft(&self.target, report)?;
        let beside = Draft::with(&named_after(&self.target, REPORT), &report.to_public_text())?;
        // The release gets its name last: there is none without its report.
        publish(self.saved.take().into_iter().chain(private).chain([beside, draft]).collect())
    }

    fn recoding(&mut self) -> Result<Option<Box<dyn Write + Send>>> {
        let Some(file) = &self.recoding else { return Ok(None) };
        let saved = Draft::new(file)?;
        let writer = Metered::new(saved.writer()?, &self.meter);
        self.saved = Some(saved);
        Ok(Some(Box::new(writer)))
    }

    fn wants_recoding(&self) -> bool {
        self.recoding.is_some()
    }

    fn files(&self) -> Vec<PathBuf> {
        let beside = [REPORT, PRIVATE].map(|ending| named_after(&self.target, ending));
        let recoding = self.recoding.clone();
        [self.target.clone()].into_iter().chain(beside).chain(recoding).collect()
    }

    fn limit(&mut self, bytes: usize) {
        self.most_bytes = bytes;
    }

    fn keeps_types(&self) -> bool {
        self.format.format.keeps_types()
    }

    /// Drafts go with their handles. The thread that makes one durable is not waited for.
    fn abandon(&mut self) {
        (self.draft, self.saved, self.syncing) = (None, None, None);
    }
}

/// A release that is copied to a writer, such as standard output, once it is verified. Until then
/// it waits in a private file.
pub struct ReleaseStream<W> {
    writer: W,
    format: FileFormat,
    /// Columns whose texts are numbers.
    numbers: Vec<String>,
    folder: PathBuf,
    most_bytes: usize,
    meter: Meter,
    waiting: Option<WaitingFile>,
}

impl<W: Write + Send> ReleaseStream<W> {
    /// A release of this format that waits in a private folder inside of `folder`.
    pub fn new(writer: W, format: FileFormat, folder: &Path) -> ReleaseStream<W> {
        let delimiter = format.delimiter.or(Some(b','));
        ReleaseStream {
            writer,
            format: format.with_delimiter(delimiter),
            numbers: Vec::new(),
            folder: folder.to_path_buf(),
            most_bytes: usize::MAX,
            meter: Meter::default(),
            waiting: None,
        }
    }

    /// The same, with the spelling of the numbers of JSON lines if both are JSON lines.
    pub fn like(self, input: &TableFile) -> ReleaseStream<W> {
        ReleaseStream { numbers: input.spelled_numbers(), ..self }
    }

    fn waiting(&self) -> Result<&WaitingFile> {
        self.waiting.as_ref().ok_or(Error::Defect)
    }
}

impl<W: Write + Send> Sink for ReleaseStream<W> {
    fn name(&self) -> String {
        "standard output".into()
    }

    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn table(&mut self, _: &str, schema: &SchemaRef) -> Result<Box<dyn TableSink>> {
        let (waiting, file) = WaitingFile::create(&self.folder)?;
        let (file, name) = (Metered::new(file, &self.meter), PathBuf::from(self.name()));
        let writer = TableWriter::with_numbers(file, &name, &self.format, schema, &self.numbers)?;
        self.waiting = Some(waiting);
        Ok(Box::new(writer.within(self.most_bytes)))
    }

    fn seal(&mut self) -> Result<Tables> {
        let (path, name) = (self.waiting()?.path(), self.name());
        Ok(Tables::one(TableFile::open_named(path, name.as_ref(), self.format.as_written())?))
    }

    fn publish(&mut self, _: &Report) -> Result<()> {
        let name = PathBuf::from(self.name());
        let mut file = Metered::open(self.waiting()?.path(), &self.meter)?;
        let copied = std::io::copy(&mut file, &mut self.writer);
        let copied = copied.and_then(|bytes| self.writer.flush().map(|()| bytes));
        self.meter.add_written(copied.map_err(Error::io(&name, "write"))?);
        self.waiting = None;
        Ok(())
    }

    fn abandon(&mut self) {
        self.waiting = None;
    }

    fn limit(&mut self, bytes: usize) {
        self.most_bytes = bytes;
    }

    fn keeps_types(&self) -> bool {
        self.format.format.keeps_types()
    }
}
