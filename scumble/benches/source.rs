//! Reading: a file into a table, in each format, against the time of reading its bytes.

use divan::counter::BytesCount;
use scumble::job::{Synthetic, generate};
use scumble::policy::Policy;
use scumble::source::{Source, TableFile, encode};
use scumble::table::Table;
use scumble::watch::Watch;
use std::path::{Path, PathBuf};

fn main() {
    divan::main();
}

/// A census table of 100,000 rows in a format, made once.
fn census(ending: &str) -> (PathBuf, Policy) {
    let folder = std::env::temp_dir().join("scumble-bench-source");
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    let data = folder.join(format!("census.{ending}"));
    let files = generate(Synthetic::Census, 100_000, 1, &data, None, &Default::default())
        .expect("a synthetic table");
    (data, Policy::read(&files[1]).expect("its policy"))
}

fn read(data: &Path, policy: &Policy) -> Table {
    let source = TableFile::open(data).expect("a readable file");
    let schema = source.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let roles = policy.roles(&names, data, false).expect("a role for every column");
    encode(&source, &roles, &Watch::silent(), "read").expect("a table")
}

#[divan::bench(args = ["csv", "parquet", "arrow"])]
fn encode_100_000_rows(bencher: divan::Bencher<'_, '_>, ending: &str) {
    let (data, policy) = census(ending);
    let bytes = std::fs::metadata(&data).map_or(0, |file| file.len());
    bencher.counter(BytesCount::new(bytes)).bench(|| read(&data, &policy));
}

/// The floor: the same bytes, read and not looked at.
#[divan::bench]
fn read_the_bytes(bencher: divan::Bencher<'_, '_>) {
    let (data, _) = census("csv");
    let bytes = std::fs::metadata(&data).map_or(0, |file| file.len());
    bencher.counter(BytesCount::new(bytes)).bench(|| std::fs::read(&data));
}

#[divan::bench]
fn bind_to_the_policy(bencher: divan::Bencher<'_, '_>) {
    let (data, policy) = census("csv");
    let table = read(&data, &policy);
    bencher.bench(|| policy.prepare(&table));
}
