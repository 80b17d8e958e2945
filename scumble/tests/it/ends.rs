//! Does a job give the same from any source into any sink, and is what meters count what happened?

use crate::disk::{self, Row, texts};
use crate::fixture::{Folder, open, policy};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::SchemaRef;
use scumble::error::{Error, Result};
use scumble::job::{DiskParameters, Job, Parameters, Synthetic, generate};
use scumble::policy::Policy;
use scumble::random::Random;
use scumble::release::{
    ReleaseBatches, ReleaseFile, ReleaseFolder, ReleaseKind, Report, Sink, TableSink, Tables,
};
use scumble::source::{Counts, Meter, RecordBatches, Source, TableBatches, TableFile, TableStream};
use scumble::watch::Watch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const ATTRIBUTES: &str = r#"
attributes.name = { role = "identifier" }
attributes.age = { role = "quasi-identifier", hierarchy = { intervals = [5, 20], from = 20, to = 60 } }
attributes.city = { role = "quasi-identifier", hierarchy = "city.csv" }
attributes.note = { role = "insensitive" }
attributes.ill = { role = "sensitive" }
"#;

const ILLS: [&str; 5] = ["flu", "asthma", "gout", "cold", "measles"];

/// A folder with a hierarchy, and 3000 rows in five batches.
pub fn people(name: &str) -> (Folder, Vec<RecordBatch>) {
    let folder = Folder::new(name);
    folder.write("city.csv", "Bern;CH;*\nBiel;CH;*\nRome;IT;*\nOslo;NO;*\n");
    let mut random = Random::new(11);
    let mut batch = |from: i64, rows: i64| {
        let mut draw = |most: u64| random.below(most);
        let ages: Vec<i64> = (0..rows).map(|_| 20 + draw(40) as i64).collect();
        let cities = (0..rows).map(|_| ["Bern", "Biel", "Rome", "Oslo"][draw(4) as usize]);
        let cities: Vec<&str> = cities.collect();
        let notes = (0..rows).map(|_| (draw(4) > 0).then(|| format!("a, \"note\" {}", draw(90))));
        let notes: Vec<Option<String>> = notes.collect();
        let ills: Vec<&str> = (0..rows).map(|_| ILLS[draw(5) as usize]).collect();
        let names = (from..from + rows).map(|row| format!("person {row}"));
        let columns: [(&str, ArrayRef); 5] = [
            ("name", Arc::new(StringArray::from_iter_values(names))),
            ("age", Arc::new(Int64Array::from(ages))),
            ("city", Arc::new(StringArray::from(cities))),
            ("note", Arc::new(StringArray::from(notes))),
            ("ill", Arc::new(StringArray::from(ills))),
        ];
        let columns = columns.map(|(name, array)| (name, array, true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    };
    let batches = [700, 1, 1299, 400, 600].iter().scan(0, |from, rows| {
        let batch = batch(*from, *rows);
        *from += rows;
        Some(batch)
    });
    let batches = batches.collect();
    (folder, batches)
}

pub fn stream(batches: &[RecordBatch]) -> TableStream {
    let (schema, batches) = (batches[0].schema(), batches.to_vec());
    let batches = batches.into_iter().map(Ok);
    TableStream::new(Box::new(RecordBatchIterator::new(batches, schema))).unwrap()
}

/// The same rows in a file.
pub fn file(folder: &Folder, name: &str, batches: &[RecordBatch]) -> PathBuf {
    let path = folder.path(name);
    let whole = arrow_select::concat::concat_batches(&batches[0].schema(), batches).unwrap();
    disk::write(&path, &whole);
    path
}

/// Rows as texts; a missing value is an empty one, as in CSV.
fn rows_of(batches: &[RecordBatch]) -> Vec<Row> {
    let filled = |row: Row| row.into_iter().map(|cell| Some(cell.unwrap_or_default())).collect();
    batches.iter().flat_map(texts).map(filled).collect()
}

fn sorted_rows(rows: &[Row]) -> Vec<&Row> {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort();
    sorted
}

pub fn scanned(source: &dyn Source) -> Vec<Row> {
    let columns: Vec<usize> = (0..source.schema().fields().len()).collect();
    let batches: Result<Vec<RecordBatch>> = source.scan(&columns).unwrap().collect();
    rows_of(&batches.unwrap())
}

/// A job for a policy, with partitions on disk of few rows.
pub fn job(folder: &Folder, asked: &str) -> Job {
    let policy = policy(&folder.path(""), &format!("{ATTRIBUTES}{asked}"));
    let on_disk = matches!(policy.search().algorithm.name(), "rothko-s");
    let job = Job::new(policy).seed(3);
    if !on_disk {
        return job;
    }
    let disk = DiskParameters { tuples: Some(200), ..DiskParameters::default() };
    job.parameters(Parameters { disk, ..Parameters::default() }).memory(16 << 20)
}

/// What a source comes to, as rows and a report.
pub fn released(job: &Job, source: impl Source) -> (Vec<Row>, Report) {
    let mut sink = ReleaseBatches::new();
    let report = job.run(source, &mut sink, &Watch::silent()).unwrap();
    (rows_of(&sink.batches()), report)
}

#[test]
fn every_source_gives_the_same_release() {
    let (folder, batches) = people("ends-sources");
    let files = ["in.csv", "in.arrow", "in.parquet"].map(|name| file(&folder, name, &batches));
    for (algorithm, asked) in [
        ("incognito", "privacy.k = 40"),
        ("mondrian", "privacy.k = 9"),
        ("rothko-s", "privacy.k = 9"),
        ("l-plus-optimize", "privacy.k = 40"),
    ] {
        let job = job(&folder, &format!("{asked}\nsearch.algorithm = \"{algorithm}\"\n"));
        let (expected, told) = released(&job, TableBatches::new(batches.clone()).unwrap());
        assert_eq!((expected.len(), told.algorithm.as_str()), (3000, algorithm));
        assert!(told.classes.classes > 2, "{algorithm}: {:?}", told.classes);
        if algorithm == "rothko-s" {
            assert!(told.io.repartitions > Some(0), "nothing was spilled: {:?}", told.io);
        }
        let mut others: Vec<Box<dyn Source>> = vec![Box::new(stream(&batches))];
        others.push(Box::new(stream(&batches).spill_after(20_000, &folder.path(""))));
        others.extend(files.iter().map(|file| Box::new(open(file)) as Box<dyn Source>));
        for source in others {
            let name = source.name();
            let (rows, report) = released(&job, source);
            // CSV has no nulls: on disk, rows without a note are sorted as those with an empty one.
            let is_same = if name.ends_with("csv") {
                sorted_rows(&rows) == sorted_rows(&expected)
            } else {
                rows == expected
            };
            assert!(is_same, "{algorithm} from {name}");
            assert_eq!(report.classes, told.classes, "{algorithm} from {name}");
            assert_eq!(report.privacy, told.privacy, "{algorithm} from {name}");
        }
        // A file as a sink has the same rows in the same order.
        let output = folder.path("out.csv");
        let sink = ReleaseFile::new(&output).unwrap();
        job.run(stream(&batches), sink, &Watch::silent()).unwrap();
        assert!(scanned(&open(&output)) == expected, "{algorithm} to a file");
    }
}

pub const DISTRIBUTION: &str = "privacy.distribution = { attribute = \"ill\", target = \"uniform\", \
    groups = [\"city\"], fakes = 3 }\n";

#[test]
fn a_distribution_in_memory_has_the_tables_of_a_folder() {
    let (folder, batches) = people("ends-distribution");
    for asked in [DISTRIBUTION.to_string(), format!("privacy.k = 20\n{DISTRIBUTION}")] {
        let job = job(&folder, &asked);
        let out = folder.path("out");
        let sink = ReleaseFolder::new(&out).unwrap();
        let told = job.run(open(&file(&folder, "in.csv", &batches)), sink, &Watch::silent());
        let told = told.unwrap();
        let sources: [Box<dyn Source>; 2] =
            [Box::new(TableBatches::new(batches.clone()).unwrap()), Box::new(stream(&batches))];
        for source in sources {
            let name = source.name();
            let mut sink = ReleaseBatches::new();
            let report = job.run(source, &mut sink, &Watch::silent()).unwrap();
            assert_eq!(report.release, told.release, "{name}");
            for table in ["records", "sensitive", "bounds", "groups", "hierarchy"] {
                let expected = scanned(&open(&out.join(format!("{table}.csv"))));
                let rows = rows_of(&sink.table(table));
                assert!(!rows.is_empty() && rows == expected, "{table} from {name}");
            }
            assert!(sink.batches().is_empty(), "there is no table of its own");
            assert!(!sink.texts().is_empty());
            for (script, text) in sink.texts() {
                assert_eq!(*text, std::fs::read_to_string(out.join(script)).unwrap(), "{script}");
            }
        }
    }
}

#[test]
fn nothing_is_handed_out_that_was_refused() {
    let (folder, batches) = people("ends-refused");
    let source = TableBatches::new(batches).unwrap();
    for asked in ["privacy.k = 3001", &format!("privacy.k = 3001\n{DISTRIBUTION}")] {
        let mut sink = ReleaseBatches::new().with_recoding();
        let refused = job(&folder, asked).run(&source, &mut sink, &Watch::silent());
        assert!(matches!(refused, Err(Error::CannotBeMet { .. })), "{refused:?}");
        let tables = ["release", "records", "sensitive", "bounds", "groups", "hierarchy"];
        assert!(tables.iter().all(|table| sink.table(table).is_empty()));
        assert!(sink.batches().is_empty() && sink.texts().is_empty() && sink.recoding().is_none());
    }
    // The same job with a requirement that can be met fills it.
    let mut sink = ReleaseBatches::new().with_recoding();
    job(&folder, "privacy.k = 30").run(&source, &mut sink, &Watch::silent()).unwrap();
    assert!(!sink.batches().is_empty() && sink.recoding().is_some());
}

/// Memory that hands other rows to verification than it keeps.
struct Tampering<'a> {
    sink: &'a mut ReleaseBatches,
    instead: TableBatches,
}

impl Sink for Tampering<'_> {
    fn name(&self) -> String {
        Sink::name(self.sink)
    }

    fn meter(&self) -> &Meter {
        Sink::meter(self.sink)
    }

    fn table(&mut self, name: &str, schema: &SchemaRef) -> Result<Box<dyn TableSink>> {
        Sink::table(self.sink, name, schema)
    }

    fn seal(&mut self) -> Result<Tables> {
        self.sink.seal()?;
        assert!(self.sink.batches().is_empty(), "rows before they are verified");
        Ok(Tables::one(self.instead.clone()))
    }

    fn publish(&mut self, _: &Report) -> Result<()> {
        panic!("published though the check failed")
    }
}

#[test]
fn nothing_is_handed_out_that_fails_its_check() {
    let (folder, batches) = people("ends-tampered");
    let source = TableBatches::new(batches).unwrap();
    let job = job(&folder, "privacy.k = 40");
    let mut honest = ReleaseBatches::new();
    job.run(&source, &mut honest, &Watch::silent()).unwrap();
    // One row too few, and one row in a class of its own.
    let whole = honest.batches();
    let whole = arrow_select::concat::concat_batches(&whole[0].schema(), &whole).unwrap();
    let short = whole.slice(1, whole.num_rows() - 1);
    let age = whole.schema().index_of("age").unwrap();
    let mut ages: Vec<Option<String>> = texts(&whole).iter().map(|row| row[age].clone()).collect();
    ages[0] = Some("21".into());
    let mut columns = whole.columns().to_vec();
    let ages: ArrayRef = Arc::new(StringArray::from(ages));
    columns[age] = arrow_cast::cast(&ages, columns[age].data_type()).unwrap();
    let alone = RecordBatch::try_new(whole.schema(), columns).unwrap();
    assert_ne!(alone, whole);
    for instead in [short, alone] {
        let instead = TableBatches::new(vec![instead]).unwrap();
        let mut sink = ReleaseBatches::new();
        let sunk = job.run(&source, Tampering { sink: &mut sink, instead }, &Watch::silent());
        assert!(matches!(sunk, Err(Error::CheckFailed { .. })), "{sunk:?}");
        assert!(sink.batches().is_empty());
    }
}

/// A file whose scans and rows are counted outside of the library.
struct Counting {
    file: TableFile,
    meter: Meter,
    scans: AtomicU64,
    rows: Arc<AtomicU64>,
}

impl Counting {
    fn new(file: &Path) -> Counting {
        let (meter, scans, rows) = Default::default();
        Counting { file: open(file), meter, scans, rows }
    }
}

impl Source for Counting {
    fn name(&self) -> String {
        self.file.name()
    }

    fn schema(&self) -> SchemaRef {
        self.file.schema()
    }

    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn scan(&self, columns: &[usize]) -> Result<RecordBatches> {
        self.scans.fetch_add(1, Relaxed);
        self.meter.add_scan();
        let rows = self.rows.clone();
        Ok(Box::new(self.file.scan(columns)?.inspect(move |batch| {
            let more = batch.as_ref().map_or(0, |batch| batch.num_rows());
            rows.fetch_add(more as u64, Relaxed);
        })))
    }

    fn unpacked_bytes(&self) -> Option<u64> {
        self.file.unpacked_bytes()
    }

    fn is_all_text(&self) -> bool {
        true
    }
}

pub fn data_scans(report: &Report) -> u64 {
    match &report.release {
        ReleaseKind::Table { search: Some(search), .. } => search.data_scans,
        other => panic!("{other:?}"),
    }
}

/// Runs a job on a counting source and on the file itself.
fn assert_scans(job: &Job, input: &Path, rows: u64, expected: u64) {
    let counting = Counting::new(input);
    let (released, report) = released(job, &counting);
    assert_eq!(data_scans(&report), expected);
    assert_eq!(counting.scans.load(Relaxed), expected);
    // The last scan takes everything; one that ended early had nearly all rows.
    let seen = counting.rows.load(Relaxed);
    assert_eq!(seen, expected * rows);
    assert_eq!(counting.meter.rows(), seen);
    assert_eq!((counting.file.meter().scans(), counting.file.meter().rows()), (expected, seen));
    let direct = open(input);
    let (again, report) = self::released(job, &direct);
    assert!(again == released);
    assert_eq!((data_scans(&report), direct.meter().scans()), (expected, expected));
    assert_eq!(direct.meter().rows(), seen);
    let bytes = std::fs::metadata(input).unwrap().len();
    assert!(direct.meter().bytes_read() >= expected * bytes);
    assert!(direct.meter().bytes_read() < (expected + 1) * bytes);
    assert!(report.io.bytes_read >= direct.meter().bytes_read());
}

#[test]
fn scans_are_those_that_happened() {
    let (folder, batches) = people("ends-scans");
    let input = file(&folder, "in.csv", &batches);
    assert_scans(&job(&folder, "privacy.k = 40"), &input, 3000, 1);
    assert_scans(&job(&folder, "privacy.k = 9\nsearch.algorithm = \"mondrian\""), &input, 3000, 1);
    let on_disk = "privacy.k = 9\nsearch.algorithm = \"rothko-s\"";
    assert_scans(&job(&folder, on_disk), &input, 3000, 2);
    // Numbers to the last row but one, so that the survey begins again.
    let text: String = (0..20_000).map(|row| format!("{},x\n", row % 50)).collect();
    let late = folder.write("late.csv", &format!("code,ill\n{text}unknown,x\n"));
    let asked = "attributes.code = { role = \"quasi-identifier\" }\n\
        attributes.ill = { role = \"sensitive\" }\nprivacy.k = 2\nsearch.algorithm = \"rothko-s\"";
    let disk = DiskParameters { tuples: Some(2000), ..DiskParameters::default() };
    let parameters = Parameters { disk, ..Parameters::default() };
    let on_disk = Job::new(policy(&folder.path(""), asked)).parameters(parameters).seed(1);
    assert_scans(&on_disk.memory(16 << 20), &late, 20_001, 3);
}

#[test]
fn a_column_of_confidences_is_a_scan_of_its_own() {
    let folder = Folder::new("ends-confidences");
    let data = folder.path("patients.csv");
    let kind = Synthetic::Subset(scumble::Selection::Uniform);
    let files = generate(kind, 3000, 5, &data, None, &Watch::silent()).unwrap();
    let text = std::fs::read_to_string(&data).unwrap();
    let rows = text.lines().count() as u64 - 1;
    let sure = |(at, line): (usize, &str)| match at {
        0 => format!("{line},sure\n"),
        1 => format!("{line},0.9\n"),
        _ => format!("{line},\n"),
    };
    std::fs::write(&data, text.lines().enumerate().map(sure).collect::<String>()).unwrap();
    let asked = std::fs::read_to_string(&files[3]).unwrap();
    let presence = |confidences: &str| {
        format!(
            "presence = {{ min = 0.01, max = 0.3, confidence = 0.8, \
             marginals = \"patients.marginals.csv\"{confidences} }}"
        )
    };
    for (confidences, scans) in [("", 1), (", confidence-column = \"sure\"", 2)] {
        let lines = asked.lines().map(|line| {
            if line.starts_with("presence =") { presence(confidences) } else { line.to_string() }
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        let text =
            text.replace("[privacy]", "[attributes.sure]\nrole = \"identifier\"\n\n[privacy]");
        let policy = Policy::parse(&text, &files[3]).unwrap();
        assert_scans(&Job::new(policy).seed(1), &data, rows, scans);
    }
}

#[test]
fn a_spilled_stream_is_read_twice_and_leaves_nothing() {
    let (folder, batches) = people("ends-stream");
    let expected = rows_of(&batches);
    let spill = folder.path("spill");
    std::fs::create_dir(&spill).unwrap();
    let left = || std::fs::read_dir(&spill).unwrap().count();
    for bytes in [0, 30_000, u64::MAX] {
        let table = stream(&batches).spill_after(bytes, &spill);
        assert!(scanned(&table) == expected, "first scan, {bytes} bytes");
        assert_eq!(left() > 0, bytes < u64::MAX, "{bytes} bytes");
        assert!(scanned(&table) == expected, "second scan, {bytes} bytes");
        assert_eq!(table.meter().scans(), 2);
        drop(table);
        assert_eq!(left(), 0, "{bytes} bytes");
        // A scan that ends early leaves the rest of the stream to the next one.
        let table = stream(&batches).spill_after(bytes, &spill);
        assert_eq!(table.scan(&[1]).unwrap().take(2).count(), 2);
        assert!(scanned(&table) == expected && scanned(&table) == expected, "{bytes} bytes");
        drop(table);
        assert_eq!(left(), 0, "{bytes} bytes");
    }
}

/// Scans that begin before others have ended, one of them with its columns in another order.
#[test]
fn scans_of_a_stream_do_not_disturb_each_other() {
    let (folder, batches) = people("ends-interleaved");
    let of = |row: &Row| vec![row[1].clone(), row[4].clone()];
    let expected: Vec<Row> = rows_of(&batches).iter().map(of).collect();
    for bytes in [u64::MAX, 30_000, 0] {
        let table = stream(&batches).spill_after(bytes, &folder.path(""));
        let mut scans = [table.scan(&[1, 4]).unwrap(), table.scan(&[4, 1]).unwrap()];
        let mut found = [Vec::new(), Vec::new()];
        for steps in [[1, 2], [3, 0], [0, 1], [9, 9]] {
            for ((scan, found), steps) in scans.iter_mut().zip(&mut found).zip(steps) {
                found.extend(scan.take(steps).map(|batch| batch.unwrap()));
            }
        }
        let [one, mut other] = found.map(|batches| rows_of(&batches));
        other.iter_mut().for_each(|row| row.reverse());
        assert!(one == expected, "first scan, {bytes} bytes");
        assert!(other == expected, "second scan, {bytes} bytes");
    }
}

fn sorted(counts: &Counts) -> BTreeMap<Vec<String>, u64> {
    let owned = |(tuple, rows): (Vec<&str>, u64)| {
        (tuple.into_iter().map(str::to_string).collect::<Vec<_>>(), rows)
    };
    let sorted: BTreeMap<_, _> = counts.tuples().map(owned).collect();
    assert_eq!(sorted.len(), counts.len(), "a tuple is there twice");
    sorted
}

#[test]
fn merged_counts_are_those_of_the_whole() {
    let (folder, batches) = people("ends-counts");
    let watch = Watch::silent();
    // Columns in another order than the table's; 3 has nulls.
    let keys = [3, 1, 2];
    let mut expected: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for row in rows_of(&batches) {
        let tuple = keys.iter().map(|key| row[*key].clone().unwrap()).collect();
        *expected.entry(tuple).or_default() += 1;
    }
    let table = |batches: &[RecordBatch]| TableBatches::new(batches.to_vec()).unwrap();
    let whole = table(&batches).count(&keys, &watch).unwrap();
    assert_eq!((sorted(&whole), whole.rows()), (expected.clone(), 3000));
    assert_eq!(whole.names(), ["note", "age", "city"]);
    assert!(sorted(&stream(&batches).count(&keys, &watch).unwrap()) == expected);
    for name in ["in.csv", "in.parquet"] {
        let counts = open(&file(&folder, name, &batches)).count(&keys, &watch).unwrap();
        assert!(sorted(&counts) == expected, "{name}");
    }
    // Two parts that met their values in different orders, and name their columns in different
    // orders.
    for other_keys in [[3, 1, 2], [1, 2, 3], [2, 3, 1]] {
        let mut merged = table(&batches[3..]).count(&keys, &watch).unwrap();
        let other = table(&batches[..3]).count(&other_keys, &watch).unwrap();
        assert!(merged.rows() == 1000 && other.rows() == 2000);
        merged.merge(&other).unwrap();
        assert!(sorted(&merged) == expected && merged.rows() == 3000, "{other_keys:?}");
    }
    let mut merged = table(&batches).count(&keys, &watch).unwrap();
    let other = table(&batches).count(&[1, 2], &watch).unwrap();
    assert!(merged.merge(&other).is_err());
    let other = table(&batches).count(&[1, 2, 4], &watch).unwrap();
    assert!(merged.merge(&other).is_err());
}

#[test]
fn a_report_is_read_as_it_was_written() {
    let (folder, batches) = people("ends-report");
    let input = file(&folder, "in.csv", &batches);
    for algorithm in ["incognito", "l-plus-optimize", "mondrian", "rothko-s"] {
        let job = job(&folder, &format!("privacy.k = 40\nsearch.algorithm = \"{algorithm}\"\n"));
        let output = folder.path("out.csv");
        let sink = ReleaseFile::new(&output).unwrap();
        let told = job.run(open(&input), sink, &Watch::silent()).unwrap();
        assert_read_back(&told, &folder.path("out.csv.report.json"));
    }
    let output = folder.path("out");
    let sink = ReleaseFolder::new(&output).unwrap();
    let job = job(&folder, &format!("privacy.k = 20\n{DISTRIBUTION}"));
    let told = job.run(open(&input), sink, &Watch::silent()).unwrap();
    assert_read_back(&told, &output.join("report.json"));
}

fn assert_read_back(told: &Report, file: &Path) {
    let read = Report::from_json(&std::fs::read(file).unwrap()).unwrap();
    // What only the owner may see is in another file.
    assert!(told.private.is_some());
    let public = Report { private: None, ..told.clone() };
    assert_eq!(read.to_json(), public.to_json());
    assert_eq!(read, public);
    // With it the report is the same too.
    assert_eq!(serde_json::from_value::<Report>(told.to_json()).unwrap(), *told);
}
