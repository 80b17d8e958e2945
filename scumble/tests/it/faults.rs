//! What if a source or a sink misbehaves, fails in the middle, or the job is aborted? Nothing may be
//! released that is not what it seems to be, and nothing may be left behind.

use crate::ends::{DISTRIBUTION, data_scans, file, job, people, released, stream};
use crate::fixture::open;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, SchemaRef};
use scumble::error::{Error, Result};
use scumble::release::{
    ReleaseBatches, ReleaseFile, ReleaseFolder, ReleaseStream, Report, Sink, TableSink, Tables,
};
use scumble::source::{
    Compression, FileFormat, Format, Meter, RecordBatches, Source, TableBatches, TableFile,
    TableStream,
};
use scumble::watch::Watch;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The columns that a scan returns instead of those that were asked for.
type Returns = fn(&[usize]) -> Vec<usize>;

/// A table whose scans do not return the columns that were asked for.
struct Careless {
    table: TableBatches,
    returns: Returns,
}

impl Source for Careless {
    fn name(&self) -> String {
        "careless".into()
    }

    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn meter(&self) -> &Meter {
        self.table.meter()
    }

    fn scan(&self, columns: &[usize]) -> Result<RecordBatches> {
        self.table.scan(&(self.returns)(columns))
    }
}

/// Columns are known by their position: names of people could be released as notes.
#[test]
fn a_source_that_returns_other_columns_is_refused() {
    let (folder, batches) = people("faults-careless");
    let job = job(&folder, "privacy.k = 40");
    let returns: [Returns; 4] = [
        |_| vec![0, 1, 2, 3, 4],
        |columns| columns[1..].to_vec(),
        |columns| columns.iter().rev().copied().collect(),
        |columns| columns.iter().map(|column| if *column == 3 { 0 } else { *column }).collect(),
    ];
    for returns in returns {
        let table = TableBatches::new(batches.clone()).unwrap();
        let mut sink = ReleaseBatches::new();
        let ran = job.run(Careless { table, returns }, &mut sink, &Watch::silent());
        let Err(Error::Mismatch { problem, .. }) = ran else { panic!("{ran:?}") };
        assert!(problem.contains("returned ["), "{problem}");
        assert!(sink.batches().is_empty());
    }
}

#[test]
fn a_stream_that_failed_is_not_taken_for_a_shorter_one() {
    let (folder, batches) = people("faults-stream");
    let job = job(&folder, "privacy.k = 40");
    let schema = batches[0].schema();
    let mut pieces: Vec<Result<RecordBatch, ArrowError>> = batches.into_iter().map(Ok).collect();
    pieces.insert(3, Err(ArrowError::IpcError("the connection was lost".into())));
    let reader = RecordBatchIterator::new(pieces, schema);
    let source = TableStream::new(Box::new(reader)).unwrap();
    let first = job.run(&source, ReleaseBatches::new(), &Watch::silent());
    assert!(matches!(first, Err(Error::Columnar { .. })), "{first:?}");
    for _ in 0..2 {
        let again = job.run(&source, ReleaseBatches::new(), &Watch::silent());
        assert!(matches!(again, Err(Error::StreamFailed { .. })), "{again:?}");
    }
}

#[test]
fn a_stream_is_held_to_the_memory_limit() {
    let (folder, batches) = people("faults-memory");
    let spill = folder.path("spill");
    std::fs::create_dir(&spill).unwrap();
    let little = |asked: &str| job(&folder, asked).memory(100_000).spill_folder(&spill);
    let refused = little("privacy.k = 40\nsearch.algorithm = \"mondrian\"");
    let refused = refused.run(stream(&batches), ReleaseBatches::new(), &Watch::silent());
    assert!(matches!(refused, Err(Error::TooLittleMemory { .. })), "{refused:?}");
    for (asked, algorithm) in [
        ("", "local"),
        ("search.algorithm = \"local\"", "local"),
        ("search.recoding = \"regions\"", "rothko-s"),
        ("search.loss = \"dm\"", "rothko-s"),
        ("search.algorithm = \"incognito\"", "incognito"),
        ("search.recoding = \"levels\"", "incognito"),
    ] {
        let asked = format!("privacy.k = 40\n{asked}");
        let (rows, report) = released(&little(&asked), stream(&batches));
        assert_eq!((rows.len(), report.algorithm.as_str()), (3000, algorithm), "{asked}");
        assert!(report.alternatives.is_empty(), "nothing else was searched");
        assert!(report.io.bytes_written > 0 && std::fs::read_dir(&spill).unwrap().count() == 0);
    }
}

#[test]
fn a_source_that_is_used_again_reports_each_job_by_itself() {
    let (folder, batches) = people("faults-again");
    let input = file(&folder, "in.csv", &batches);
    let (job, source) = (job(&folder, "privacy.k = 40"), open(&input));
    let reports: Vec<Report> = (0..3).map(|_| released(&job, &source).1).collect();
    assert_eq!(source.meter().scans(), 3);
    for report in &reports {
        assert_eq!((data_scans(report), report.io), (1, reports[0].io));
    }
}

/// A sink that notes what is called, and may hand back other columns than it was given.
#[derive(Default)]
struct Noting {
    kept: ReleaseBatches,
    calls: Arc<Mutex<Vec<&'static str>>>,
    without_first: bool,
}

struct NotingTable(Box<dyn TableSink>, Arc<Mutex<Vec<&'static str>>>);

impl TableSink for NotingTable {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.0.write(batch)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.1.lock().unwrap().push("finish");
        self.0.finish()
    }
}

impl Sink for Noting {
    fn name(&self) -> String {
        "noting".into()
    }

    fn meter(&self) -> &Meter {
        self.kept.meter()
    }

    fn table(&mut self, name: &str, schema: &SchemaRef) -> Result<Box<dyn TableSink>> {
        let table = Sink::table(&mut self.kept, name, schema)?;
        Ok(Box::new(NotingTable(table, self.calls.clone())))
    }

    fn seal(&mut self) -> Result<Tables> {
        let tables = self.kept.seal()?;
        if !self.without_first {
            return Ok(tables);
        }
        let mut whole = ReleaseBatches::new();
        std::mem::swap(&mut whole, &mut self.kept);
        whole.publish(&serde_json::from_value(report()).unwrap())?;
        let columns: Vec<usize> = (1..whole.batches()[0].num_columns()).collect();
        let project = |batch: RecordBatch| batch.project(&columns).unwrap();
        let projected = whole.batches().into_iter().map(project).collect();
        Ok(Tables::one(TableBatches::new(projected)?))
    }

    fn publish(&mut self, report: &Report) -> Result<()> {
        self.calls.lock().unwrap().push("publish");
        self.kept.publish(report)
    }

    fn abandon(&mut self) {
        self.calls.lock().unwrap().push("abandon");
    }
}

/// Any report.
fn report() -> serde_json::Value {
    serde_json::json!({
        "algorithm": "", "rows": 0, "released": 0, "suppressed": 0, "classes": 0,
        "smallest-class": 0, "average-class": 0.0, "privacy": [], "phases": [],
        "loss": {"lm": 0.0, "dm": 0}, "recoding": {"model": "cuts", "cuts": {}},
        "io": {"bytes-read": 0, "bytes-written": 0},
    })
}

#[test]
fn a_sink_hears_how_a_job_ends() {
    let (folder, batches) = people("faults-sink");
    let source = TableBatches::new(batches).unwrap();
    let calls = |asked: &str, without_first: bool, watch: &Watch| {
        let mut sink = Noting { without_first, ..Noting::default() };
        let ran = job(&folder, asked).run(&source, &mut sink, watch);
        (ran, sink.calls.lock().unwrap().clone())
    };
    let (ran, heard) = calls("privacy.k = 40", false, &Watch::silent());
    assert!(ran.is_ok());
    assert_eq!(heard, ["finish", "publish"]);
    let (ran, heard) = calls("privacy.k = 4000", false, &Watch::silent());
    assert!(matches!(ran, Err(Error::CannotBeMet { .. })));
    assert_eq!(heard, ["abandon"]);
    // What is not read back would not be judged.
    let (ran, heard) = calls("privacy.k = 40", true, &Watch::silent());
    assert!(matches!(ran, Err(Error::WrongSeal { .. })), "{ran:?}");
    assert_eq!(heard, ["finish", "abandon"]);
}

/// A sink that aborts its job when the second batch comes.
struct Aborting<'a>(&'a mut Noting, Watch);

struct AbortingTable(Box<dyn TableSink>, Watch, AtomicUsize);

impl TableSink for AbortingTable {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        if self.2.fetch_add(1, Relaxed) == 1 {
            self.1.abort();
        }
        self.0.write(batch)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.0.finish()
    }
}

impl Sink for Aborting<'_> {
    fn name(&self) -> String {
        self.0.name()
    }

    fn meter(&self) -> &Meter {
        self.0.meter()
    }

    fn table(&mut self, name: &str, schema: &SchemaRef) -> Result<Box<dyn TableSink>> {
        let table = self.0.table(name, schema)?;
        Ok(Box::new(AbortingTable(table, self.1.clone(), AtomicUsize::new(0))))
    }

    fn seal(&mut self) -> Result<Tables> {
        self.0.seal()
    }

    fn publish(&mut self, report: &Report) -> Result<()> {
        self.0.publish(report)
    }

    fn abandon(&mut self) {
        self.0.abandon();
    }
}

/// A database would take the end of a table for the end of all rows.
#[test]
fn a_table_that_was_cut_off_is_not_finished() {
    let (folder, batches) = people("faults-cut-off");
    let twenty: Vec<RecordBatch> = (0..20).flat_map(|_| batches.clone()).collect();
    let source = TableBatches::new(twenty).unwrap();
    for algorithm in ["incognito", "mondrian", "local", "rothko-s"] {
        let job = job(&folder, &format!("privacy.k = 40\nsearch.algorithm = \"{algorithm}\""));
        let (mut sink, watch) = (Noting::default(), Watch::silent());
        let ran = job.run(&source, Aborting(&mut sink, watch.clone()), &watch);
        assert!(matches!(ran, Err(Error::Interrupted)), "{algorithm}: {ran:?}");
        assert_eq!(*sink.calls.lock().unwrap(), ["abandon"], "{algorithm}");
    }
}

#[test]
fn a_sink_can_be_used_again_after_a_failure() {
    let (folder, batches) = people("faults-sink-again");
    let source = TableBatches::new(batches).unwrap();
    let (good, bad) = (job(&folder, "privacy.k = 40"), job(&folder, "privacy.k = 4000"));
    let output = folder.path("out.csv");
    let mut sink = ReleaseFile::new(&output).unwrap();
    assert!(bad.run(&source, &mut sink, &Watch::silent()).is_err());
    good.run(&source, &mut sink, &Watch::silent()).unwrap();
    assert!(output.exists());
    let (good, bad) =
        (job(&folder, DISTRIBUTION), job(&folder, &format!("{DISTRIBUTION}privacy.k = 4000")));
    let mut sink = ReleaseFolder::new(&folder.path("out")).unwrap();
    assert!(bad.run(&source, &mut sink, &Watch::silent()).is_err());
    assert!(!folder.path("out").exists());
    good.run(&source, &mut sink, &Watch::silent()).unwrap();
    assert!(folder.path("out/records.csv").exists());
}

/// Bytes that never end, or end in an error.
struct Endless {
    text: Vec<u8>,
    at: usize,
    fails: bool,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.text.len() {
            if self.fails {
                return Err(std::io::ErrorKind::ConnectionReset.into());
            }
            std::thread::park();
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let read = buffer.len().min(self.text.len() - self.at);
        buffer[..read].copy_from_slice(&self.text[self.at..][..read]);
        self.at += read;
        Ok(read)
    }
}

fn left(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

fn packed(text: &[u8], compression: Compression) -> Vec<u8> {
    match compression {
        Compression::None => text.to_vec(),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(text).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zstd => zstd::stream::encode_all(text, 0).unwrap(),
    }
}

#[test]
fn a_table_from_a_pipe_is_one_from_a_file_and_leaves_nothing() {
    let (folder, batches) = people("faults-pipe");
    let input = file(&folder, "in.csv", &batches);
    let spill = folder.path("spill");
    std::fs::create_dir(&spill).unwrap();
    let job = job(&folder, "privacy.k = 40");
    let (expected, told) = released(&job, open(&input));
    let text = std::fs::read(&input).unwrap();
    let csv = FileFormat::new(Format::Csv);
    let spool = |reader: Box<dyn Read + Send>, watch: &Watch| {
        TableFile::spool(reader, Path::new("pipe"), csv.clone(), &spill, watch)
    };
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
        let bytes = packed(&text, compression);
        let length = bytes.len() as u64;
        let table = spool(Box::new(std::io::Cursor::new(bytes)), &Watch::silent()).unwrap();
        assert_eq!(left(&spill), 1);
        let (rows, report) = released(&job, &table);
        assert!(rows == expected, "{compression:?}");
        // Read from the pipe, written to the copy, read from the copy.
        let more = report.io.bytes_read - (told.io.bytes_read - text.len() as u64);
        assert_eq!(more, 2 * length, "{compression:?}");
        assert_eq!(report.io.bytes_written, told.io.bytes_written + length, "{compression:?}");
        drop(table);
        assert_eq!(left(&spill), 0, "{compression:?}");
    }
    let broken = Endless { text: text.clone(), at: 0, fails: true };
    assert!(matches!(spool(Box::new(broken), &Watch::silent()), Err(Error::Io { .. })));
    assert_eq!(left(&spill), 0, "after an error");
    let endless = Endless { text: text.clone(), at: 0, fails: false };
    let watch = Watch::aborting_after(5);
    assert!(matches!(spool(Box::new(endless), &watch), Err(Error::Interrupted)));
    assert_eq!(left(&spill), 0, "after an abort");
    let nothing = spool(Box::new(std::io::empty()), &Watch::silent());
    assert!(matches!(nothing, Err(Error::NoHeader { .. })));
    assert_eq!(left(&spill), 0, "after an empty pipe");
}

#[test]
fn a_release_in_a_pipe_is_the_file_and_leaves_nothing() {
    let (folder, batches) = people("faults-to-pipe");
    let source = TableBatches::new(batches).unwrap();
    let spill = folder.path("spill");
    std::fs::create_dir(&spill).unwrap();
    let job = job(&folder, "privacy.k = 40");
    for name in ["out.csv", "out.csv.gz", "out.csv.zst", "out.parquet", "out.arrow"] {
        let output = folder.path(name);
        job.run(&source, ReleaseFile::new(&output).unwrap(), &Watch::silent()).unwrap();
        let mut written = Vec::new();
        let sink = ReleaseStream::new(&mut written, FileFormat::of(&output).unwrap(), &spill);
        job.run(&source, sink, &Watch::silent()).unwrap();
        assert!(written == std::fs::read(&output).unwrap(), "{name}");
        assert_eq!(left(&spill), 0, "{name}");
        assert_eq!(crate::ends::scanned(&open(&output)).len(), 3000, "{name}");
    }
    let mut written = Vec::new();
    let sink = ReleaseStream::new(&mut written, FileFormat::new(Format::Csv), &spill);
    let refused = crate::ends::job(&folder, "privacy.k = 4000");
    assert!(refused.run(&source, sink, &Watch::silent()).is_err());
    assert!(written.is_empty() && left(&spill) == 0);
}

/// Every number of a report survives being written and read.
#[test]
fn numbers_of_a_report_are_read_as_they_were_written() {
    let mut random = scumble::random::Random::new(5);
    let mut value = report();
    for _ in 0..20_000 {
        let number = f64::from_bits(random.next_u64());
        if !number.is_finite() {
            continue;
        }
        value["loss"]["lm"] = number.into();
        let report: Report = serde_json::from_value(value.clone()).unwrap();
        let text = report.to_json().to_string();
        assert_eq!(Report::from_json(text.as_bytes()).unwrap(), report, "{number:?}");
    }
}

/// A folder and every file below it.
fn contents(folder: &Path) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        all.push(path.display().to_string());
        if path.is_dir() {
            all.extend(contents(&path));
        }
    }
    all.sort();
    all
}

/// Runs a job that is aborted at its first poll, its third, its seventh, … until one ends by itself.
/// Returns how many were aborted.
fn aborted_everywhere(run: &dyn Fn(&Watch) -> Result<Report>, folder: &Path) -> usize {
    let before = contents(folder);
    let (mut polls, mut aborted) = (0, 0);
    loop {
        match run(&Watch::aborting_after(polls)) {
            Err(Error::Interrupted) => aborted += 1,
            ended => {
                ended.unwrap();
                return aborted;
            }
        }
        assert_eq!(contents(folder), before, "after {polls} polls");
        polls += 1 + polls / 8;
    }
}

/// Reading, binding, searching, spilling, recoding, writing and verifying, from every kind of source
/// into every kind of sink: whenever a job is aborted, nothing is left of it.
#[test]
fn an_aborted_job_leaves_nothing() {
    let (folder, batches) = people("faults-aborted");
    let inputs = ["in.csv", "in.arrow", "in.parquet"].map(|name| file(&folder, name, &batches));
    folder.write("world.csv", &world(&batches));
    let spill = folder.path("spill");
    std::fs::create_dir(&spill).unwrap();
    let root = folder.path("");
    let present = "privacy.presence = { min = 0.1, max = 0.9, population = \"world.csv\" }";
    for (algorithm, asked) in [
        ("incognito", "privacy.k = 40\nprivacy.l-diversity = { kind = \"distinct\", l = 2 }"),
        ("mondrian", "privacy.k = 40\nprivacy.t-closeness = 0.5"),
        ("local", "privacy.k = 40\nprivacy.l-diversity = { kind = \"distinct\", l = 2 }"),
        ("rothko-s", "privacy.k = 40"),
        ("rothko-t", "privacy.k = 40"),
        ("l-plus-optimize", "privacy.k = 40"),
        ("s-instant", "privacy.k = 40"),
        ("m-instant", "privacy.k = 40"),
        ("spalm", present),
        ("mpalm", present),
        ("sa-only", DISTRIBUTION),
        ("qi-sa", DISTRIBUTION),
    ] {
        let asked = format!("{asked}\nsearch.algorithm = \"{algorithm}\"\n");
        let job = job(&folder, &asked).spill_folder(&spill);
        let is_distribution = asked.contains("privacy.distribution");
        for (at, input) in inputs.iter().enumerate() {
            let output = folder.path(["out.csv", "out.arrow", "out.parquet"][at]);
            let to_file = |watch: &Watch| {
                let source = open(input);
                if is_distribution {
                    return job.run(source, ReleaseFolder::new(&folder.path("out"))?, watch);
                }
                job.run(source, ReleaseFile::new(&output)?, watch)
            };
            let aborted = aborted_everywhere(&to_file, &root);
            assert!(aborted > 10, "{algorithm}: {aborted} aborts");
            for made in ["out", "out.csv", "out.arrow", "out.parquet"] {
                let _ = std::fs::remove_dir_all(folder.path(made));
                let _ = std::fs::remove_file(folder.path(made));
                let _ = std::fs::remove_file(folder.path(&format!("{made}.report.json")));
            }
        }
        let in_memory = |watch: &Watch| {
            let mut sink = ReleaseBatches::new();
            let source = stream(&batches).spill_after(10_000, &spill);
            let ran = job.run(source, &mut sink, watch);
            assert_eq!(ran.is_ok(), !sink.table("release").is_empty() || !sink.texts().is_empty());
            ran
        };
        assert!(aborted_everywhere(&in_memory, &root) > 10, "{algorithm}");
    }
}

/// The people of a table, each of them twice.
fn world(batches: &[RecordBatch]) -> String {
    let mut text = String::from("age,city\n");
    let table = TableBatches::new(batches.to_vec()).unwrap();
    for row in crate::ends::scanned(&table) {
        let line = format!("{},{}\n", row[1].as_ref().unwrap(), row[2].as_ref().unwrap());
        text += &line.repeat(2);
    }
    text
}
