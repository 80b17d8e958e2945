//! Rothko-T must give Mondrian's own release; Rothko-S must give one that keeps every row, meets
//! the requirements and cannot be split further where it says so. Random tables in every format,
//! every kind of requirement and criterion, and hardly any memory.

use crate::disk::{Case, OnDisk, Ran, Row, read, travelling};
use crate::fixture::{Folder, open, policy, run};
use scumble::error::{Error, ErrorKind};
use scumble::ids::IdMap;
use scumble::job::DiskParameters;
use scumble::policy::{Algorithm, Policy};
use scumble::random::Random;
use scumble::source::{Coder, Input, KeyCoder, Wanted, axis_between};
use scumble::table::{Dictionary, Type};
use scumble::taxonomy::Hierarchy;
use scumble::watch::Watch;
use serde_json::{Value, json};

/// Hardly any memory.
fn tiny(random: &mut Random) -> OnDisk {
    let parameters = DiskParameters {
        tuples: Some(5 + random.below(46)),
        groups: (random.below(3) > 0).then(|| 1 + random.below(4) as usize),
        fan_out: (random.below(2) > 0).then(|| 2 + random.below(6) as usize),
        ..DiskParameters::default()
    };
    OnDisk { parameters, memory: Some(16 << 20), seed: random.below(100) }
}

#[test]
fn rothko_t_gives_the_release_of_mondrian() {
    let (mut runs, mut refused, mut split, mut parted) = (0, 0, 0, 0);
    for seed in 0..350 {
        let Some(case) = Case::new("rothko-t", seed) else { continue };
        let disk = tiny(&mut Random::stream(23, seed));
        let what = format!("{}, {disk:?}", case.what);
        let mondrian = case.run(Algorithm::Mondrian, &OnDisk::default());
        let rothko = case.run(Algorithm::RothkoT, &disk);
        runs += 1;
        let (Some(mondrian), Some(rothko)) = (&mondrian, &rothko) else {
            assert!(
                mondrian.is_none() && rothko.is_none(),
                "{what}: one refuses, the other does not"
            );
            refused += 1;
            continue;
        };
        assert_same(mondrian, rothko, &what);
        assert!(rothko.is_minimal(), "{what}");
        split += usize::from(rothko.number("/classes") > 2.0);
        parted += usize::from(rothko.number("/io/repartitions") > 1.0);
    }
    assert!(
        runs > 250 && refused > 0 && refused * 3 < runs && split * 2 > runs && parted * 4 > runs
    );
}

fn assert_same(mondrian: &Ran, rothko: &Ran, what: &str) {
    assert_eq!(mondrian.names, rothko.names, "{what}");
    assert_eq!(mondrian.types, rothko.types, "{what}");
    assert_eq!(mondrian.tree, rothko.tree, "{what}");
    assert_eq!(mondrian.parts(), rothko.parts(), "{what}");
    assert_eq!(mondrian.rows, rothko.rows, "{what}");
    for figure in ["/loss/lm", "/loss/dm", "/classes", "/smallest-class", "/rows", "/released"] {
        let (one, other) = (mondrian.number(figure), rothko.number(figure));
        assert!((one - other).abs() <= 1e-9 * one.abs(), "{what}: {figure} is {one} and {other}");
    }
    assert_eq!(mondrian.report["privacy"], rothko.report["privacy"], "{what}");
}

/// What the runs of Rothko-S were like.
#[derive(Debug, Default)]
struct Seen {
    runs: usize,
    /// Some split was undone.
    pruned: usize,
    /// Another partition than Mondrian's.
    other: usize,
    /// Mondrian's own one, though rows were parted by a sample or could not be.
    same: usize,
}

#[test]
fn rothko_s_keeps_every_row_and_every_promise() {
    let mut seen = Seen::default();
    for seed in 0..350 {
        let Some(case) = Case::new("rothko-s", seed) else { continue };
        let random = &mut Random::stream(29, seed);
        let naive = random.below(2) == 0;
        let alpha = [0.05, 0.5][random.below(2) as usize];
        let mut disk = tiny(random);
        disk.parameters = DiskParameters { naive, alpha, ..disk.parameters };
        let what = format!("{}, {disk:?}", case.what);
        let Some(rothko) = case.run(Algorithm::RothkoS, &disk) else {
            assert!(case.space().partition().is_none(), "{what}: refused");
            continue;
        };
        seen.runs += 1;
        assert_promises(&case, &rothko, &what);
        assert!(rothko.is_minimal(), "{what}: counts of so few rows fit into memory");
        seen.pruned += usize::from(rothko.number("/io/pruned-nodes") > 0.0);
        let mut mondrian = case.space().partition().unwrap();
        mondrian.iter_mut().for_each(|part| part.sort_unstable());
        mondrian.sort();
        *(if mondrian == rothko.parts() { &mut seen.same } else { &mut seen.other }) += 1;
        if seed % 8 == 0 {
            for threads in [1, 2] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let again = pool.install(|| case.run(Algorithm::RothkoS, &disk)).unwrap();
                assert!(
                    again.bytes == rothko.bytes && again.tree == rothko.tree,
                    "{what}: differs, {threads} threads"
                );
            }
        }
    }
    assert!(
        seen.runs > 200 && seen.pruned * 20 > seen.runs && seen.other * 10 > seen.runs,
        "{seen:?}"
    );
    assert!(seen.same * 10 > seen.runs, "{seen:?}");
}

/// Nothing of a row is lost but what its region's label hides, and regions meet the requirements;
/// where the run says that they are minimal, no split of any region is allowable.
fn assert_promises(case: &Case, ran: &Ran, what: &str) {
    let (names, _, rows) = read(&case.input);
    assert_eq!(ran.travelled(), travelling(&names, &rows), "{what}");
    let space = case.space();
    let parts = ran.parts();
    assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), case.drawn.plain.rows, "{what}");
    for part in &parts {
        assert!(space.holds(part), "{what}: {part:?} fails");
        if ran.is_minimal() {
            assert_eq!(space.any_allowable(part), None, "{what}: {part:?} could be split");
        }
    }
    let squares: usize = parts.iter().map(|part| part.len() * part.len()).sum();
    assert_eq!(ran.number("/loss/dm"), squares as f64, "{what}");
    assert_eq!(ran.number("/classes"), parts.len() as f64, "{what}");
}

/// A table of one column, run by every way of partitioning.
struct Small {
    folder: Folder,
    policy: Policy,
}

impl Small {
    fn new(name: &str, column: &str, values: impl Iterator<Item = String>, rest: &str) -> Small {
        let folder = Folder::new(name);
        let text: String =
            values.enumerate().map(|(row, value)| format!("{row},{value}\n")).collect();
        folder.write("table.csv", &format!("id,q\n{text}"));
        folder.write("q.csv", &(0..50).map(|leaf| format!("{leaf};*\n")).collect::<String>());
        let text = format!(
            "[attributes.id]\nrole = \"insensitive\"\n[attributes.q]\nrole = \"quasi-identifier\"\n{column}\n{rest}"
        );
        let policy = policy(&folder.path(""), &text);
        Small { folder, policy }
    }

    /// The sorted rows and the report, or the error.
    fn run(&self, algorithm: Algorithm, disk: &OnDisk) -> Result<(Vec<Row>, Value), Error> {
        let policy = self.policy.edit().algorithm(algorithm.name()).build().unwrap();
        let output = self.folder.path("output.csv");
        let report = run(&disk.job(policy), &self.folder.path("table.csv"), &output)?;
        let (_, _, mut rows) = read(&output);
        rows.sort();
        Ok((rows, report.to_json()))
    }

    /// Mondrian's rows, which must be those of others too.
    fn assert_same(&self, others: &[Algorithm], disk: &OnDisk) -> Vec<Row> {
        let mondrian = self.run(Algorithm::Mondrian, &OnDisk::default()).unwrap().0;
        for algorithm in others {
            let rows = self.run(*algorithm, disk).unwrap().0;
            let other = rows.iter().zip(&mondrian).find(|(one, other)| one != other);
            assert!(rows.len() == mondrian.len() && other.is_none(), "{algorithm:?}: {other:?}");
        }
        mondrian
    }

    fn assert_same_error(&self, part: &str, status: ErrorKind) {
        let mondrian = self.run(Algorithm::Mondrian, &OnDisk::default()).unwrap_err();
        assert!(mondrian.to_string().contains(part) && mondrian.kind() == status, "{mondrian}");
        for algorithm in BOTH {
            let error = self.run(algorithm, &few(10)).unwrap_err();
            assert_eq!(
                (error.to_string(), error.kind()),
                (mondrian.to_string(), mondrian.kind()),
                "{algorithm:?}"
            );
        }
    }
}

const BOTH: [Algorithm; 2] = [Algorithm::RothkoT, Algorithm::RothkoS];

fn few(tuples: u64) -> OnDisk {
    let parameters = DiskParameters { tuples: Some(tuples), ..DiskParameters::default() };
    OnDisk { parameters, memory: Some(16 << 20), seed: 0 }
}

/// The same, with samples that are believed without a test.
fn naive(disk: OnDisk) -> OnDisk {
    OnDisk { parameters: DiskParameters { naive: true, ..disk.parameters }, ..disk }
}

/// What a column holds is known for certain after its last value only.
#[test]
fn types_are_inferred_on_disk_as_they_are_in_memory() {
    let asked = "[privacy]\nk = 2\n[search]\npooling = false";
    let late = |value: &'static str| {
        let value =
            move |row: u64| if row == 20_000 { value.to_string() } else { (row % 7).to_string() };
        (0..20_002).map(value)
    };
    for value in ["x", "1.5", "2024-01-01", "99999999999999999999", ""] {
        let table = Small::new("types-late", "", late(value), asked);
        let rows = table.assert_same(&[Algorithm::RothkoT], &few(9000));
        // A text, or a missing value, that nobody else has can only be called the root, with all
        // others.
        let is_root = |row: &Row| row[1].as_deref() == Some("*");
        let is_number = value == "1.5";
        assert_eq!(rows.iter().all(is_root), !is_number, "{value}");
        let by_sample = table.run(Algorithm::RothkoS, &few(9000)).unwrap().0;
        assert_eq!(by_sample.iter().all(is_root), !is_number, "{value}");
    }
    let columns: [&[&str]; 6] = [
        &["007", "7", "8", "9", "9", "08"],
        &["1", "2", "2.0", "1e0", "3.5", "3.50"],
        &["2024-01-01", "2024-01-02", "2024-01-02", "", "2024-01-01", ""],
        &["", "", "", "", "", ""],
        &[
            "-9007199254740992",
            "9007199254740992",
            "0",
            "0",
            "-9007199254740992",
            "9007199254740992",
        ],
        &[
            "-9007199254740993",
            "9007199254740992",
            "0",
            "0",
            "-9007199254740993",
            "9007199254740992",
        ],
    ];
    for (number, values) in columns.into_iter().enumerate() {
        let name = format!("types-{number}");
        Small::new(&name, "", values.iter().map(|value| value.to_string()), asked)
            .assert_same(&[Algorithm::RothkoT], &few(2));
    }
}

#[test]
fn what_is_wrong_with_an_input_is_told_as_in_memory() {
    let values = |wrong: &'static str| {
        (0..50).map(move |row| if row == 30 { wrong.into() } else { row.to_string() })
    };
    let asked = "[privacy]\nk = 2";
    for (kind, expected) in [("integer", "an integer"), ("date", "a date")] {
        let wrong = if kind == "integer" { "3.5" } else { "0" };
        let table = Small::new("wrong-type", &format!("type = \"{kind}\""), values("3.5"), asked);
        table.assert_same_error(&format!("`{wrong}`"), ErrorKind::Input);
        table.assert_same_error(expected, ErrorKind::Input);
    }
    let table = Small::new("no-leaf", "hierarchy = \"q.csv\"", values("new"), asked);
    table.assert_same_error("table.csv:32: column `q`: `new` is not in ", ErrorKind::Input);
    Small::new("no-rows", "", values("1").take(0), asked)
        .assert_same_error("no rows", ErrorKind::Input);
    Small::new("too-few", "", values("1"), "[privacy]\nk = 51")
        .assert_same_error("k-anonymity", ErrorKind::Refused);
}

/// A file that is read twice may change in between.
#[test]
fn an_input_that_changes_between_two_scans_is_an_error_of_the_environment() {
    let folder = Folder::new("changes");
    let mut dictionary = Dictionary::default();
    dictionary.encode("a", 1);
    let keys = vec![
        (0, KeyCoder::Number(axis_between(Type::Integer, 0.0, 9.0, false)), Vec::new()),
        (1, KeyCoder::Leaf(dictionary, IdMap::new(vec![0])), Vec::new()),
    ];
    let coder =
        Coder { keys, counted: Vec::new(), travelling: Vec::new(), width: 2, converter: None };
    let key = || Wanted::Key { hierarchy: Hierarchy::None, kind: None, missing: Vec::new() };
    let scan = |text: &str| {
        let file = folder.write("table.csv", text);
        let input = Input {
            source: &open(&file),
            watch: &Watch::silent(),
            coder: &coder,
            wanted: &[key(), key()],
            rows: 2,
            payload_bytes: 0,
        };
        input.scan(&mut |_| Ok(()))
    };
    assert!(scan("n,t\n0,a\n9,a\n").is_ok());
    for changed in [
        "n,t\n0,a\n",
        "n,t\n0,a\n9,a\n1,a\n",
        "n,t\n0,a\n10,a\n",
        "n,t\n0,a\n,a\n",
        "n,t\n0,a\n9,b\n",
        "n,t\n0,a\nx,a\n",
    ] {
        let error = scan(changed).unwrap_err();
        assert!(
            matches!(error, Error::ChangedMeanwhile { .. })
                && error.kind() == ErrorKind::Environment,
            "{changed}: {error}"
        );
    }
}

/// One region that is larger than memory, whatever is done: rows that are all alike, and rows that
/// cannot be parted.
#[test]
fn a_region_may_be_larger_than_memory() {
    let same = Small::new("alike", "", (0..5000).map(|_| "7".to_string()), "[privacy]\nk = 3");
    for disk in [few(20), naive(few(20))] {
        let rows = same.assert_same(&BOTH, &disk);
        assert_eq!((rows.len(), rows[0][1].as_deref()), (5000, Some("7")));
    }
    let apart =
        Small::new("apart", "", (0..3000).map(|row| row.to_string()), "[privacy]\nk = 1501");
    assert_eq!(apart.assert_same(&BOTH, &few(50))[0][1].as_deref(), Some("-500 to 3499"));
    let finest =
        Small::new("finest", "", (0..3000).map(|row| (row / 2).to_string()), "[privacy]\nk = 1");
    assert_eq!(finest.assert_same(&BOTH, &few(50)).len(), 3000);
}

/// A sample of ten rows makes nobody confident of parts of at least 300 rows: exact counts decide,
/// and the result is Mondrian's own.
#[test]
fn without_a_confident_split_exact_counts_decide() {
    let table = Small::new(
        "unsure",
        "",
        (0..1000).map(|row| (row * 7 % 1000).to_string()),
        "[privacy]\nk = 300",
    );
    let (mondrian, _) = table.run(Algorithm::Mondrian, &OnDisk::default()).unwrap();
    let (rows, report) = table.run(Algorithm::RothkoS, &few(10)).unwrap();
    assert_eq!(rows, mondrian);
    assert_eq!(
        (&report["io"]["pruned-nodes"], &report["search"]["minimal"]),
        (&json!(0), &json!(true))
    );
    assert_eq!(report["classes"], 2);
}

/// Few rows of one value, a sample in which they are many: the split is made in error, and undone;
/// nothing is left of it.
#[test]
fn a_split_in_error_is_undone() {
    let value = |row: u64| if row.is_multiple_of(10) { "1".to_string() } else { "0".to_string() };
    let table = Small::new("in-error", "", (0..1000).map(value), "[privacy]\nk = 110");
    let undone = (0..20).filter(|seed| {
        let disk = OnDisk { seed: *seed, ..naive(few(20)) };
        let (rows, report) = table.run(Algorithm::RothkoS, &disk).unwrap();
        assert!(rows.iter().all(|row| row[1].as_deref() == Some("-1 to 2")));
        assert_eq!((&report["classes"], &report["search"]["minimal"]), (&json!(1), &json!(true)));
        report["io"]["pruned-nodes"] == 2
    });
    let undone = undone.count();
    assert!((1..20).contains(&undone), "{undone} of 20");
}
