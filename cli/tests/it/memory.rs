//! Does every search keep to the memory limit? A run ends within 1.25 times the limit plus 64 MiB, or
//! it is refused with status 3.

use crate::bed::{Bed, peak_of};

const LIMIT: &str = "16MiB";
const MOST: u64 = (16 << 20) / 4 * 5 + (64 << 20);

/// A synthetic census in a file, with a policy that every search supports.
fn census(table: &str, rows: u32) -> Bed {
    let bed = Bed::new();
    let rows = rows.to_string();
    bed.run(&["generate", "census", "--rows", &rows, "--seed", "3", "-o", table]).ok();
    let stem = table.split('.').next().unwrap();
    std::fs::rename(bed.path(&format!("{stem}.policy.toml")), bed.path("policy.toml")).unwrap();
    bed.edit("policy.toml", "{ kind = \"distinct\", l = 3 }", "{ kind = \"frequency\", l = 2 }");
    std::fs::create_dir(bed.path("spill")).unwrap();
    bed
}

/// Whether a run released something; it must keep to the limit in any case.
#[track_caller]
fn is_released(bed: &Bed, arguments: &[&str]) -> bool {
    let all = [arguments, &["--memory", LIMIT, "--spill-dir", "spill"]].concat();
    let (output, peak) = peak_of(bed.command(&all));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(peak <= MOST, "{arguments:?}: {} MiB", peak >> 20);
    assert!(std::fs::read_dir(bed.path("spill")).unwrap().next().is_none(), "{arguments:?}");
    match output.status.code() {
        Some(0) => true,
        Some(3) => false,
        _ => panic!("{arguments:?}: {said}"),
    }
}

/// Searches for levels, cuts and regions of a table that is several times larger than the limit.
const SEARCHES: [&[&str]; 8] = [
    &["--algorithm", "incognito"],
    &["--algorithm", "s-instant"],
    &["--algorithm", "m-instant"],
    &["--algorithm", "l-plus-optimize", "--time-limit", "3s"],
    &["--algorithm", "annealing", "--time-limit", "1s"],
    &["--algorithm", "rothko-s"],
    &["--algorithm", "rothko-t"],
    &["--algorithm", "local", "--time-limit", "1s"],
];

fn all_keep_to_the_limit(table: &str, release: &str) {
    let bed = census(table, 200_000);
    for search in SEARCHES {
        let fixed = ["anonymize", table, "--policy", "policy.toml", "-o", release];
        assert!(is_released(&bed, &[&fixed, search].concat()), "{search:?} was refused");
    }
    let levels = "sex=1,age=5,race=1,marital-status=2,education=3,birthplace=2,workclass=2,zip=4";
    let fixed = ["anonymize", table, "--policy", "policy.toml", "-o", release];
    let by_hand = bed.run(&[&fixed[..], &["--levels", levels]].concat());
    by_hand.ok();
    assert!(is_released(&bed, &[&fixed[..], &["--levels", levels]].concat()));
}

#[test]
fn searches_of_a_csv_file_keep_to_the_limit() {
    all_keep_to_the_limit("table.csv", "out.csv");
}

#[test]
fn searches_of_an_arrow_file_keep_to_the_limit() {
    all_keep_to_the_limit("table.arrow", "out.parquet");
}

/// An algorithm that has the table in memory is refused before it reads it.
#[test]
fn what_cannot_keep_to_the_limit_is_refused() {
    let bed = census("table.csv", 200_000);
    for search in [&["--algorithm", "mondrian"][..], &["--algorithm", "incognito", "--keep-order"]]
    {
        let fixed = ["anonymize", "table.csv", "--policy", "policy.toml", "-o", "out.csv"];
        let more = ["--memory", LIMIT];
        let outcome = bed.run(&[&fixed[..], search, &more].concat());
        let status = if search.len() == 2 { 3 } else { 2 };
        outcome.fails_with(status, if status == 3 { "memory limit" } else { "--keep-order" });
        assert!(!bed.exists("out.csv"));
    }
}
