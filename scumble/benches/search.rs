//! Counting, roll-up and search, over the cells of a census table of 100,000 rows.

use scumble::bind::Prepared;
use scumble::job::{Synthetic, generate};
use scumble::policy::Policy;
use scumble::recoding::Mapping;
use scumble::release::Recoded;
use scumble::search::lattice::incognito::{Strategy, search};
use scumble::source::{Source, TableFile, encode};
use scumble::table::{Table, Tallies};
use scumble::watch::Watch;

fn main() {
    divan::main();
}

fn census(privacy: &str) -> (Table, Prepared) {
    let folder = std::env::temp_dir().join("scumble-bench-search");
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    let data = folder.join("census.csv");
    let files = generate(Synthetic::Census, 100_000, 1, &data, None, &Default::default())
        .expect("a synthetic table");
    let text = std::fs::read_to_string(&files[1]).expect("its policy");
    let asked = text.replace("l-diversity = { kind = \"distinct\", l = 3 }", privacy);
    let policy = Policy::parse(&asked, &files[1]).expect("a policy");
    let source = TableFile::open(&data).expect("a readable file");
    let schema = source.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let roles = policy.roles(&names, &data, false).expect("a role for every column");
    let table = encode(&source, &roles, &Watch::silent(), "read").expect("a table");
    let prepared = policy.prepare(&table).expect("a bound policy");
    (table, prepared)
}

/// Counting: a sensitive attribute by cell, from rows.
#[divan::bench]
fn tally_rows_by_cell(bencher: divan::Bencher<'_, '_>) {
    let (table, _) = census("");
    let codes = table.columns.iter().find_map(|column| match &column.data {
        scumble::table::Data::Coded { codes, .. } => Some(codes),
        _ => None,
    });
    let codes = codes.expect("a sensitive column");
    let (cells, of_row) = (table.cells.len(), table.row_cells.raw());
    bencher.bench(|| Tallies::count(cells, of_row, codes.raw(), &Watch::silent()));
}

/// Roll-up: cells to the classes of the coarsest node but one, judged.
#[divan::bench]
fn roll_up_cells_to_classes(bencher: divan::Bencher<'_, '_>) {
    let (_, prepared) = census("");
    let top = Mapping::Levels(prepared.task.taxonomies.iter().map(|tree| tree.height()).collect());
    bencher.bench(|| Recoded::new(&prepared.task, &top, &Watch::default()));
}

#[divan::bench(args = [Strategy::BestFirst, Strategy::TopDown], sample_count = 10)]
fn search_k_anonymity(bencher: divan::Bencher<'_, '_>, strategy: Strategy) {
    let (_, prepared) = census("");
    bencher.bench(|| search(&prepared.task, strategy, &Default::default()));
}

#[divan::bench(sample_count = 10)]
fn search_recursive_diversity(bencher: divan::Bencher<'_, '_>) {
    let (_, prepared) = census("l-diversity = { kind = \"recursive\", c = 3, l = 4 }");
    bencher.bench(|| search(&prepared.task, Strategy::BestFirst, &Default::default()));
}
