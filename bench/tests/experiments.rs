//! Published experiments at a tiny size: the figures are not the paper's, but every row is there
//! and makes sense.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own for one run, gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("scumble-bench-it-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the program in an empty folder, which is also its folder for temporary files. Nothing may
/// be left there.
fn run(program: &Path, arguments: &[&str]) -> Output {
    let folder = Folder::new();
    let mut command = Command::new(program);
    let output =
        command.args(arguments).current_dir(&folder.0).env("TMPDIR", &folder.0).output().unwrap();
    let left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(Result::unwrap).collect();
    assert!(left.is_empty(), "{left:?}");
    output
}

fn json(arguments: &[&str]) -> Value {
    let output = run(Path::new(env!("CARGO_BIN_EXE_bench")), arguments);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn rows(name: &str, more: &[&str]) -> Vec<Value> {
    let json = json(&[&[name, "--rows", "2000", "--json"], more].concat());
    assert!(json["title"].is_string(), "{json}");
    json["rows"].as_array().unwrap().clone()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .or_else(|| value.as_str()?.parse().ok())
        .unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn rothko_reads_and_writes_about_as_predicted() {
    let rows = rows("rothko", &[]);
    // The figures of every row, and each of the paper's at least once.
    let figures: Vec<&str> =
        rows.iter().flat_map(|row| row["figures"].as_str().unwrap().split(", ")).collect();
    assert!((10..=21).all(|figure| figures.contains(&figure.to_string().as_str())), "{figures:?}");
    let of = |figure: &str, column: &str| -> Vec<f64> {
        let in_figure =
            |row: &&Value| row["figures"].as_str().unwrap().split(", ").any(|name| name == figure);
        rows.iter().filter(in_figure).map(|row| number(&row[column])).collect()
    };
    // More frequency groups, fewer tables written; the encoded table itself is one of them.
    let (written, predicted) = (of("10", "tables written"), of("10", "predicted written"));
    assert_eq!(predicted, [5.0, 3.0, 2.0, 2.0, 1.0]);
    assert!(written.is_sorted_by(|a, b| a >= b) && written[0] > written[4], "{written:?}");
    assert!(
        written.iter().zip(&predicted).all(|(happened, predicted)| *happened >= *predicted),
        "{written:?}"
    );
    // The largest sample: read three times, written once.
    assert_eq!(
        (of("11", "tables read").last(), of("11", "tables written").last()),
        (Some(&3.0), Some(&1.0))
    );
}

#[test]
fn tests_on_samples_prune_less_than_belief() {
    let rows = rows("rothko-tests", &[]);
    assert_eq!(
        rows.iter().map(|row| number(&row["sample"])).collect::<Vec<_>>(),
        [100.0, 250.0, 500.0, 1000.0]
    );
    // Regions of 1000 rows do not fit into a sample of 100.
    assert_eq!(rows[0]["k=1000"], "x (x)");
    assert!(rows.iter().all(|row| row["k=10000"].is_null()));
    let (mut tested, mut naive) = (0.0, 0.0);
    for cell in
        rows.iter().flat_map(|row| row.as_object().unwrap().values()).filter_map(Value::as_str)
    {
        let (with, without) =
            cell.strip_suffix(')').and_then(|cell| cell.split_once(" (")).expect(cell);
        if let (Ok(with), Ok(without)) = (with.parse::<f64>(), without.parse::<f64>()) {
            (tested, naive) = (tested + with, naive + without);
        }
    }
    assert!(tested < naive, "{tested} {naive}");
}

#[test]
fn quality_falls_with_k() {
    let rows = rows("rothko-quality", &["--runs", "1"]);
    assert_eq!(rows.len(), 24);
    for by_k in rows.chunks(4) {
        let quality: Vec<f64> = by_k.iter().map(|row| number(&row["all rows"])).collect();
        assert!(quality.is_sorted_by(|a, b| a < b), "{quality:?}");
        assert!(by_k.iter().all(|row| row["n=2500"].is_null() && row["n=500"].is_string()));
    }
}

#[test]
fn presence_prints_figures_4_to_7_and_table_5() {
    let json = json(&["presence", "--rows", "2500", "--json"]);
    let tables = json["tables"].as_array().unwrap();
    let titled = |begin: &str| -> Vec<&Value> {
        tables.iter().filter(|table| table["title"].as_str().unwrap().starts_with(begin)).collect()
    };
    for (title, many) in
        [("Figure 4", 2), ("Figure 5", 2), ("Figure 6", 2), ("Figure 7", 2), ("Table 5", 1)]
    {
        assert_eq!(titled(title).len(), many, "{title}");
        assert!(
            titled(title).iter().all(|table| table["rows"].as_array().unwrap().len() >= 4),
            "{title}"
        );
    }
    // What cuts and buckets leave out may cost detail with the paper's rules, never with ours.
    let mut compared = 0;
    for row in titled("Figure 5").iter().flat_map(|table| table["rows"].as_array().unwrap()) {
        let lm = |column: &str| row[column].as_str().unwrap().parse::<f64>().ok();
        if let (Some(exact), Some(own), Some(all)) =
            (lm("~DM~DC LM"), lm("scumble LM"), lm("all LM"))
        {
            assert!(own <= exact + 1e-4 && own <= all + 1e-4, "{row}");
            compared += 1;
        }
    }
    assert!(compared > 3, "{compared}");
    // Knowing the population is worth something, and so are regions.
    for row in
        titled("Population or marginals").iter().flat_map(|table| table["rows"].as_array().unwrap())
    {
        let lm = |column: &str| row[column].as_str().unwrap().parse::<f64>().ok();
        if let (Some(spalm), Some(mpalm)) = (lm("SPALM LM"), lm("MPALM LM")) {
            assert!(mpalm <= spalm + 1e-4, "{row}");
        }
        if let (Some(sfalm), Some(regions)) = (lm("SFALM LM"), lm("regions LM")) {
            assert!(regions <= sfalm + 1e-4, "{row}");
        }
    }
}

/// Every figure and table is there, releases are never better than the optimum, and most are as
/// good.
#[test]
fn instant_has_all_figures() {
    let json = json(&["instant", "--rows", "1500", "--json"]);
    let tables = json["tables"].as_array().unwrap();
    let rows = |part: &str| -> Vec<Value> {
        let of =
            tables.iter().find(|table| table["title"].as_str().unwrap().contains(part)).unwrap();
        of["rows"].as_array().unwrap().clone()
    };
    let compared = rows("Figures 5 to 9");
    let figures: Vec<&str> =
        compared.iter().flat_map(|row| row["figures"].as_str().unwrap().split(", ")).collect();
    for figure in ["5a", "5c", "6a", "6c", "7", "8a", "8c", "8e", "9a", "9c", "11"] {
        assert!(figures.contains(&figure), "{figure}");
    }
    let over: Vec<f64> =
        compared.iter().filter_map(|row| row["LM over optimum"].as_f64()).collect();
    assert!(over.len() > 50 && over.iter().all(|over| *over >= -1e-9), "{over:?}");
    assert!(over.iter().filter(|over| **over < 1e-9).count() * 2 > over.len(), "{over:?}");
    assert_eq!(rows("Figure 10").len(), 2 * (10 + 9 + 9));
    let multidimensional = rows("Figure 12");
    assert_eq!(multidimensional.len(), 30);
    assert!(multidimensional.iter().all(|row| number(&row["LM over Mondrian"]) < 0.2));
    assert_eq!(rows("Estimates from a histogram").len(), 3);
}

/// Before anything is measured, and in one line that says what to do.
#[test]
fn a_missing_program_is_told_at_once() {
    let arguments = ["mondrian", "--adult", ".", "--scumble", "nowhere/scumble"];
    let output = run(Path::new(env!("CARGO_BIN_EXE_bench")), &arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), told.lines().count()), (Some(3), 1), "{told}");
    assert!(told.contains("nowhere/scumble") && told.contains("--scumble PATH"), "{told}");
    assert!(output.stdout.is_empty());
}

/// Without --scumble the program is looked for in the folder of the executable.
#[test]
fn the_program_is_looked_for_beside_the_executable() {
    let folder = Folder::new();
    let copy = folder.0.join("bench");
    std::fs::copy(env!("CARGO_BIN_EXE_bench"), &copy).unwrap();
    let output = run(&copy, &["mondrian", "--adult", "."]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains(&*folder.0.join("scumble").to_string_lossy()), "{told}");
}

#[test]
fn an_option_without_effect_is_refused() {
    for (arguments, option) in [
        (["full-domain", "--rows", "2000"], "--rows"),
        (["rothko", "--adult", "."], "--adult"),
        (["distribution", "--runs", "2"], "--runs"),
        (["presence", "--python", "python3"], "--python"),
    ] {
        let output = run(Path::new(env!("CARGO_BIN_EXE_bench")), &arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(option) && said.lines().count() == 1, "{said}");
    }
}
