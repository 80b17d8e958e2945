//! Partitioning: Mondrian over 100,000 encoded rows of the synthetic table of LeFevre and DeWitt,
//! by criterion.

use scumble::bind::Prepared;
use scumble::job::{Synthetic, generate};
use scumble::policy::Policy;
use scumble::search::regions::Partitioning;
use scumble::search::regions::mondrian::search;
use scumble::source::{Source, TableFile, encode};
use scumble::watch::Watch;

fn main() {
    divan::main();
}

/// The table with numbers that are split anywhere, bound to a policy.
fn agrawal(privacy: &str, split: &str) -> (Prepared, Partitioning) {
    let folder = std::env::temp_dir().join("scumble-bench-regions");
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    let data = folder.join("agrawal.parquet");
    let files = generate(Synthetic::Agrawal, 100_000, 1, &data, None, &Default::default())
        .expect("a synthetic table");
    let text = std::fs::read_to_string(&files[1]).expect("its policy");
    let columns = text.split("[privacy]").next().expect("attributes");
    let plain: Vec<&str> = columns.lines().filter(|line| !line.starts_with("hierarchy")).collect();
    let text = plain.join("\n")
        + &format!("\n[privacy]\n{privacy}\n[search]\nalgorithm = \"mondrian\"\n{split}\n");
    let policy = Policy::parse(&text, &files[1]).expect("a policy");
    let source = TableFile::open(&data).expect("a readable file");
    let schema = source.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let roles = policy.roles(&names, &data, false).expect("a role for every column");
    let table = encode(&source, &roles, &Watch::silent(), "read").expect("a table");
    (policy.prepare(&table).expect("a bound policy"), policy.search().partitioning)
}

#[divan::bench(args = [10, 100, 1000])]
fn median_k_anonymity(bencher: divan::Bencher<'_, '_>, k: u32) {
    let (prepared, partitioning) = agrawal(&format!("k = {k}"), "");
    bencher.bench(|| search(&prepared.task, partitioning, &Default::default()));
}

#[divan::bench(sample_count = 10)]
fn information_gain(bencher: divan::Bencher<'_, '_>) {
    let (prepared, partitioning) = agrawal("k = 100", "split = \"info-gain\"");
    bencher.bench(|| search(&prepared.task, partitioning, &Default::default()));
}
