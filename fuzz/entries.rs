//! What is done with bytes from outside, whatever they are. A fuzzer and the tests call these.
//!
//! An error is a fine answer. A panic, an abort, or memory or time out of proportion is not.

#![allow(dead_code)]

use scumble::query::sql::{Names, parse};
use scumble::{
    Error, FileFormat, Format, Job, Policy, Recoding, ReleaseBatches, Report, Sink, Source,
    Summary, TableBatches, TableFile, Tables, Type, Watch, query, read_hierarchy, suggest,
};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Rows after which a table has been seen: a batch of nulls may have any number of them.
const ROWS: usize = 1 << 18;

/// How often a job may ask whether to go on.
const POLLS: u64 = 20_000;

/// The memory that readers are told they have.
const MEMORY: u64 = 64 << 20;

const PEOPLE: &[u8] = include_bytes!("corpus/csv/people.csv");
const POLICY: &str = include_str!("corpus/policy/people.toml");
/// The same with ages that have no hierarchy, so that they can be split at any number.
const SPLIT: &str = include_str!("corpus/policy/mondrian.toml");
const DISTRIBUTION: &str = include_str!("corpus/policy/uniform.toml");

fn spooled(bytes: &[u8], format: FileFormat) -> Result<TableFile, Error> {
    let format = format.within(MEMORY);
    let (bytes, name) = (Cursor::new(bytes.to_vec()), Path::new("input"));
    TableFile::spool(bytes, name, format, &std::env::temp_dir(), &Watch::silent())
}

/// The table on which policies and recodings are tried. It is in memory, because it is always the
/// same.
fn people() -> TableBatches {
    static TABLE: OnceLock<TableBatches> = OnceLock::new();
    let read = || {
        let batches = spooled(PEOPLE, FileFormat::new(Format::Csv))?.scan(&[0, 1, 2, 3])?;
        TableBatches::new(batches.collect::<Result<_, Error>>()?)
    };
    TABLE.get_or_init(|| read().expect("the table of people is whole")).clone()
}

/// A distribution release of that table.
fn release() -> &'static (Tables, Report) {
    static RELEASE: OnceLock<(Tables, Report)> = OnceLock::new();
    let make = || {
        let job = Job::new(Policy::from_toml(DISTRIBUTION)?).seed(1);
        let mut sink = ReleaseBatches::new();
        let report = job.run(people(), &mut sink, &Watch::silent())?;
        Ok::<_, Error>((sink.seal()?, report))
    };
    RELEASE.get_or_init(|| make().expect("the table of people can be released"))
}

/// Runs a job on a table.
fn run(job: Job, table: &dyn Source) -> Result<(), Error> {
    fine(job.memory(MEMORY).run(table, ReleaseBatches::new(), &Watch::aborting_after(POLLS)))
}

/// Reads all columns, by number and as they are, guesses their types and roles, and anonymizes the
/// table by these guesses.
fn table(bytes: &[u8], format: FileFormat) -> Result<(), Error> {
    let table = spooled(bytes, format)?;
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    let mut rows = 0;
    for batch in table.scan(&columns)? {
        rows += batch?.num_rows();
        if rows > ROWS {
            return Ok(());
        }
    }
    let suggested = suggest(&table, Path::new("policy.toml"), true, &Watch::aborting_after(POLLS))?;
    // Its hierarchies are not files here; without them, values have only the root above them.
    let is_file = |line: &&str| line.starts_with("hierarchy = \"");
    let lines: Vec<&str> = suggested.policy().lines().filter(|line| !is_file(line)).collect();
    run(Job::new(Policy::from_toml(&lines.join("\n"))?), &table)
}

/// An error of the library, which is an answer, unless it is a defect.
fn fine<T>(answer: Result<T, Error>) -> Result<(), Error> {
    match answer {
        Err(Error::Defect) => panic!("a defect"),
        Err(error) => {
            // A message must be one line, whatever it is about.
            assert!(!error.to_string().contains(['\n', '\r']), "{error}");
            Err(error)
        }
        Ok(_) => Ok(()),
    }
}

/// Ends an entry: whatever was found, it was found calmly.
fn end(answer: Result<(), Error>) {
    let _ = fine(answer);
}

/// A table in the encoding that is detected, and in one that its length chooses.
pub fn csv(bytes: &[u8]) {
    end(table(bytes, FileFormat::new(Format::Csv)));
    let given = ["utf-16le", "windows-1252", "shift_jis", "utf-8", "gb18030", "utf-16be"];
    let name = given[bytes.len() % given.len()];
    end(FileFormat::new(Format::Csv).with_encoding(name).and_then(|mut format| {
        format.rename_duplicates = true;
        table(bytes, format)
    }));
}

pub fn jsonl(bytes: &[u8]) {
    end(table(bytes, FileFormat::new(Format::Jsonl)));
}

pub fn xlsx(bytes: &[u8]) {
    end(table(bytes, FileFormat::new(Format::Xlsx)));
}

pub fn parquet(bytes: &[u8]) {
    end(table(bytes, FileFormat::new(Format::Parquet)));
}

pub fn arrow(bytes: &[u8]) {
    end(table(bytes, FileFormat::new(Format::Arrow)));
}

/// A policy by itself, and on a table.
pub fn policy(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    end(Policy::from_toml(text).and_then(|policy| run(Job::new(policy), &people())));
}

/// A hierarchy by itself, and over the values of a column.
pub fn hierarchy(bytes: &[u8]) {
    let name = format!("scumble-fuzz-{}-{:?}", std::process::id(), std::thread::current().id());
    let file: PathBuf = std::env::temp_dir().join(name);
    if std::fs::write(&file, bytes).is_ok() {
        end(read_hierarchy(&file).and_then(|_| {
            let path = file.to_string_lossy().into_owned();
            let policy = Policy::from_toml(POLICY)?.edit();
            let policy = policy.set(["attributes", "city", "hierarchy"], path);
            run(Job::new(policy.build()?), &people())
        }));
        let _ = std::fs::remove_file(&file);
    }
}

/// A saved recoding, applied to the table that it was made for.
pub fn recoding(bytes: &[u8]) {
    let file = Path::new("recoding.json");
    end(Recoding::from_json(bytes, file).and_then(|saved| {
        let apply = |policy: &str| {
            let job = Job::new(Policy::from_toml(policy)?);
            run(job.recoding(saved.clone(), file), &people())
        };
        // Most recodings fit only one of the two.
        apply(POLICY).or(apply(SPLIT))
    }));
}

/// A summary, and what is estimated from it.
pub fn summary(bytes: &[u8]) {
    end(Summary::from_json(bytes, Path::new("summary.json")).and_then(|summary| {
        let job = Job::new(Policy::from_toml(POLICY)?);
        fine(job.estimate(&summary, &Watch::aborting_after(POLLS)))
    }));
}

/// A query by itself, and answered from a release.
pub fn sql(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let columns = [("zipcode", Type::Text), ("gender", Type::Text), ("age", Type::Integer)];
    let columns = columns.map(|(name, kind)| (name.to_string(), kind));
    let names = Names {
        attribute: "salary",
        numeric: true,
        columns: &columns,
        notations: &Default::default(),
    };
    end(parse(text, names).map(|_| ()));
    let (tables, report) = release();
    end(fine(query(tables, report, text, &Watch::aborting_after(POLLS))));
}
