//! The seed corpus of the fuzzer, and mutations of it, through the same functions.

use scumble::random::Random;
use scumble::{
    Error, FileFormat, Format, Job, Policy, Recoding, ReleaseBatches, Source, TableFile, Watch,
};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[path = "../../../fuzz/entries.rs"]
mod entries;

type Entry = fn(&[u8]);

/// Every target with its entry, and how many mutations of each of its files are tried.
const TARGETS: [(&str, Entry, u64); 10] = [
    ("csv", entries::csv, 500),
    ("jsonl", entries::jsonl, 500),
    ("xlsx", entries::xlsx, 300),
    ("parquet", entries::parquet, 500),
    ("arrow", entries::arrow, 700),
    ("policy", entries::policy, 500),
    ("hierarchy", entries::hierarchy, 800),
    ("recoding", entries::recoding, 500),
    ("summary", entries::summary, 300),
    ("sql", entries::sql, 500),
];

/// The wall-clock time for the mutations of a target. Slow machines try fewer.
const PATIENCE: Duration = Duration::from_secs(15);

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |file: PathBuf| (file.clone(), std::fs::read(&file).unwrap());
    files.into_iter().map(read).collect()
}

#[test]
fn every_file_of_the_corpus_is_read_calmly() {
    for (target, entry, _) in TARGETS {
        let files = corpus(target);
        assert!(!files.is_empty(), "{target} has no corpus");
        files.iter().for_each(|(_, bytes)| entry(bytes));
        let file = format!("../fuzz/fuzz_targets/{target}.rs");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        assert!(file.is_file(), "{} is missing", file.display());
    }
}

/// The seeds are what they claim to be, or their mutations would test nothing.
#[test]
fn tables_of_the_corpus_have_rows() {
    for (target, format) in [("parquet", Format::Parquet), ("arrow", Format::Arrow)] {
        for (file, bytes) in corpus(target) {
            if !file.file_name().unwrap().to_str().unwrap().starts_with("damaged") {
                let read = rows(&bytes, format);
                assert!(matches!(read, Ok(6 | 120)), "{}: {read:?}", file.display());
            }
        }
    }
}

fn rows(bytes: &[u8], format: Format) -> Result<usize, Error> {
    let (bytes, folder) = (Cursor::new(bytes.to_vec()), std::env::temp_dir());
    let format = FileFormat::new(format);
    let table = TableFile::spool(bytes, Path::new("table"), format, &folder, &Watch::silent())?;
    let columns: Vec<usize> = (0..table.schema().fields().len()).collect();
    table.scan(&columns)?.map(|batch| Ok(batch?.num_rows())).sum()
}

/// One to four changes: a byte, a number of four or eight bytes that is extreme, a piece that is
/// missing, twice there or elsewhere.
fn mutated(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len() as u64) as usize;
        let piece = at..bytes.len().min(at + 1 + random.below(24) as usize);
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => {
                bytes[at] = [0, 0xFF, 0x7F, 0x80, b'"', b'\n', b'9', b'{'][random.below(8) as usize]
            }
            2 | 3 => put(&mut bytes, at & !3, &(1u64 << random.below(64)).to_le_bytes()),
            4 => {
                put(&mut bytes, at & !3, &(i32::MAX as u32 + random.below(3) as u32).to_le_bytes())
            }
            5 => drop(bytes.drain(piece)),
            6 => {
                let copy = bytes[piece].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => bytes.truncate(at),
        }
    }
    bytes
}

fn put(bytes: &mut [u8], at: usize, number: &[u8]) {
    let end = bytes.len().min(at + number.len());
    bytes[at..end].copy_from_slice(&number[..end - at]);
}

#[test]
fn mutations_of_the_corpus_are_read_calmly() {
    std::thread::scope(|scope| {
        for (target, entry, count) in TARGETS {
            scope.spawn(move || {
                let began = Instant::now();
                for (number, (file, bytes)) in corpus(target).into_iter().enumerate() {
                    for round in 0..count {
                        if began.elapsed() > PATIENCE {
                            return;
                        }
                        let mut random = Random::stream(number as u64, round);
                        let bytes = mutated(&bytes, &mut random);
                        let start = Instant::now();
                        let calm = std::panic::catch_unwind(|| entry(&bytes)).is_ok();
                        let time = start.elapsed();
                        let quick = time < Duration::from_secs(10);
                        assert!(calm && quick, "{}, round {round}: {time:?}", file.display());
                    }
                }
            });
        }
    });
}

/// Places of the eight bytes before a compressed buffer: they say how long it is.
fn prefixes(bytes: &[u8]) -> Vec<usize> {
    let starts = |magic: &[u8]| {
        let found = bytes.windows(magic.len()).enumerate();
        found.filter(|(_, window)| *window == magic).map(|(at, _)| at).collect::<Vec<usize>>()
    };
    let frames = [starts(&[0x28, 0xB5, 0x2F, 0xFD]), starts(&[0x04, 0x22, 0x4D, 0x18])].concat();
    frames.into_iter().filter_map(|at| at.checked_sub(8)).collect()
}

/// Room for a quarter of an exabyte was asked for, and the process was aborted.
#[test]
fn a_compressed_buffer_cannot_claim_more_than_it_holds() {
    let mut tried = 0;
    for (file, bytes) in corpus("arrow") {
        for at in prefixes(&bytes) {
            for claimed in [1u64 << 58, 1 << 40, 1 << 62, u64::MAX - 1, 1 << 63, i64::MAX as u64] {
                let mut bytes = bytes.clone();
                put(&mut bytes, at, &claimed.to_le_bytes());
                let error = rows(&bytes, Format::Arrow).unwrap_err().to_string();
                assert!(error.contains("damaged"), "{}: {error}", file.display());
                tried += 1;
            }
        }
    }
    assert!(tried >= 40, "{tried}");
}

/// Packed lengths that claim 2^56 values: room for all of them was asked for.
#[test]
fn a_page_of_parquet_cannot_claim_more_values_than_it_holds() {
    let mut refused = 0;
    for (file, bytes) in corpus("parquet") {
        let name = file.file_name().unwrap().to_str().unwrap().to_string();
        // A field of the list of lengths: blocks of 128 values in 4 parts, then their number.
        let packed = bytes.windows(3).position(|window| window == [0x80, 0x01, 0x04]);
        let Some(at) = packed.filter(|_| name.starts_with("delta-length")) else { continue };
        let mut long = bytes[..at + 3].to_vec();
        // The number and what follows are overwritten: a damaged page has the same length.
        long.extend_from_slice(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]);
        long.extend_from_slice(&bytes[long.len()..]);
        let error = rows(&long, Format::Parquet).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{name}: {error}");
        refused += 1;
    }
    assert!(refused >= 2, "{refused}");
}

/// The level was looked up in the tree, which panicked.
#[test]
fn a_split_at_a_level_that_the_tree_does_not_have_parts_nothing() {
    let read = |target: &str, name: &str| {
        let found = corpus(target).into_iter().find(|(file, _)| file.ends_with(name));
        found.unwrap_or_else(|| panic!("{name} is missing")).1
    };
    let policy = String::from_utf8(read("policy", "people.toml")).unwrap();
    let file = Path::new("recoding.json");
    let saved = Recoding::from_json(&read("recoding", "level-beyond-the-tree.json"), file).unwrap();
    let people = Cursor::new(read("csv", "people.csv"));
    let (format, folder) = (FileFormat::new(Format::Csv), std::env::temp_dir());
    let people = TableFile::spool(people, file, format, &folder, &Watch::silent()).unwrap();
    let job = Job::new(Policy::from_toml(&policy).unwrap()).recoding(saved, file);
    let report = job.run(&people, ReleaseBatches::new(), &Watch::silent()).unwrap();
    assert_eq!((report.released, report.classes.classes), (6, 1));
}
