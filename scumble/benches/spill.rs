//! Spilling: rows to blocks and back through a file, against copying their words in memory.

use divan::counter::BytesCount;
use scumble::random::Random;
use scumble::source::spill::{Records, SpillFile, SpillFolder};

fn main() {
    divan::main();
}

const ROWS: usize = 200_000;
/// Words per row, with as many distinct values as the columns of a table of people have.
const DISTINCT: [u64; 12] = [2, 5, 9, 20, 74, 100, 1000, 5000, 20_000, 130_000, 1 << 20, 1 << 31];

fn rows() -> Records {
    let mut random = Random::new(1);
    let mut records = Records::new(DISTINCT.len());
    for _ in 0..ROWS {
        records.push(&DISTINCT.map(|distinct| random.below(distinct) as u32), &[]);
    }
    records
}

fn bytes(records: &Records) -> BytesCount {
    BytesCount::new(records.words.len() * 4)
}

fn folder() -> SpillFolder {
    SpillFolder::create(&std::env::temp_dir()).expect("a folder")
}

fn write(folder: &SpillFolder, records: &Records, block_bytes: usize) -> SpillFile {
    let mut writer = folder.file(records.width, block_bytes);
    for row in 0..records.len() {
        writer.push(records.words(row), records.payload(row)).expect("space");
    }
    writer.finish().expect("space")
}

/// Blocks of a size in KiB.
#[divan::bench(args = [16, 64, 256, 1024])]
fn write_200_000_rows(bencher: divan::Bencher<'_, '_>, block: usize) {
    let (folder, records) = (folder(), rows());
    bencher.counter(bytes(&records)).bench(|| write(&folder, &records, block << 10));
}

#[divan::bench(args = [16, 64, 256, 1024])]
fn read_200_000_rows(bencher: divan::Bencher<'_, '_>, block: usize) {
    let (folder, records) = (folder(), rows());
    let file = write(&folder, &records, block << 10);
    let mut buffer = Records::new(records.width);
    bencher.counter(bytes(&records)).bench_local(|| {
        let mut blocks = file.blocks().expect("the file");
        while blocks.append_to(&mut buffer).expect("sound blocks") {
            buffer.clear();
        }
    });
}

/// Two million rows to so many files at once, in blocks of 32 KiB, as repartitioning does it.
#[divan::bench(args = [1, 30, 1000], sample_count = 10)]
fn scatter_2_000_000_rows(bencher: divan::Bencher<'_, '_>, files: usize) {
    let (folder, records) = (folder(), rows());
    bencher.counter(BytesCount::new(10 * records.words.len() * 4)).bench(|| {
        let mut writers: Vec<_> =
            (0..files).map(|_| folder.file(records.width, 32 << 10)).collect();
        for row in 0..10 * ROWS {
            let words = records.words(row % ROWS);
            // A word with 2^31 distinct values is as good as chance.
            writers[words[11] as usize % files].push(words, &[]).expect("space");
        }
        writers
            .into_iter()
            .map(|writer| writer.finish().expect("space"))
            .collect::<Vec<SpillFile>>()
    });
}

/// The floor: the words of every row copied to a buffer of a block, which nothing is done with.
#[divan::bench]
fn copy_the_words(bencher: divan::Bencher<'_, '_>) {
    let records = rows();
    let mut buffer: Vec<u32> = Vec::with_capacity(64 << 8);
    bencher.counter(bytes(&records)).bench_local(|| {
        for row in 0..records.len() {
            if buffer.len() + records.width > buffer.capacity() {
                divan::black_box(&mut buffer).clear();
            }
            buffer.extend_from_slice(records.words(row));
        }
    });
}
