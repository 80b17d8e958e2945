//! Recodings by levels and cuts of tables that exceed the memory: the release is the same, byte for
//! byte, as that of a table in memory, for every format, requirement, loss and number of threads.

use crate::disk::{Case, read};
use crate::fixture::{Folder, open};
use scumble::error::Error;
use scumble::job::Job;
use scumble::policy::Policy;
use scumble::random::Random;
use scumble::recoding::Recoding;
use scumble::release::ReleaseFile;
use scumble::source::Source;
use scumble::watch::Watch;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A release, its recoding and its report, or why there is none.
#[derive(Debug)]
enum Outcome {
    Released(Vec<u8>, Vec<u8>, Value),
    Refused(String),
}

fn run(job: &Job, input: &Path, output: &Path, watch: &Watch) -> Result<Outcome, Error> {
    let (input, saved) = (open(input), output.with_extension("saved"));
    let sink = ReleaseFile::new(output).unwrap().like(&input).save_recoding(&saved);
    match job.run(&input, sink, watch) {
        Ok(report) => {
            let [release, saved] = [output, &saved].map(|file| std::fs::read(file).unwrap());
            Ok(Outcome::Released(release, saved, report.to_json()))
        }
        Err(Error::CannotBeMet { shortfall, refusal }) => {
            let refusal = refusal.map(|one| (one.rows, one.classes, one.privacy));
            Ok(Outcome::Refused(format!("{shortfall:?} {refusal:?}")))
        }
        Err(error) => Err(error),
    }
}

/// Whether two reports say the same; sums of floats may be added up in another order.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let measured = ["phases", "io", "seconds", "data-scans"];
            let told = |of: &serde_json::Map<String, Value>| {
                let keys = of.keys().filter(|key| !measured.contains(&key.as_str()));
                keys.cloned().collect::<Vec<_>>()
            };
            told(one) == told(other) && told(one).iter().all(|key| is_same(&one[key], &other[key]))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
        }
        (one, other) => match (one.as_f64(), other.as_f64()) {
            (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * one.abs().max(1.0),
            _ => one == other,
        },
    }
}

struct Compared {
    algorithm: &'static str,
    released: usize,
    refused: usize,
}

/// Runs random cases in memory and with next to none.
fn compare(
    algorithm: &'static str,
    seeds: std::ops::Range<u64>,
    more: &[(&str, &str)],
) -> Compared {
    let mut compared = Compared { algorithm, released: 0, refused: 0 };
    for seed in seeds {
        let Some(case) = Case::new("large", seed) else { continue };
        let random = &mut Random::stream(51, seed);
        let limit = ["0", "1/10", "1/3"][random.below(3) as usize];
        // A summary has no labels, and counted cells have no values with labels.
        let losses = if algorithm == "incognito" { 3 } else { 2 };
        let loss = ["lm", "dm", "cm"][random.below(losses) as usize];
        let mut edit = case.policy.edit().algorithm(algorithm).loss(loss).suppression(limit);
        for (key, value) in more {
            edit = edit.set(["search", key], *value);
        }
        let policy: Policy = match edit.build() {
            Ok(policy) => policy,
            Err(_) => continue,
        };
        let what = format!("{}, {algorithm}, {loss}, {limit}", case.what);
        let ending = case.input.extension().unwrap().to_str().unwrap();
        let outputs: Vec<PathBuf> = ["one", "other"]
            .iter()
            .map(|name| case.drawn.folder.path(&format!("{name}.{ending}")))
            .collect();
        let job = Job::new(policy).seed(3);
        let (in_memory, little) =
            (job.clone().memory(1 << 30), open(&case.input).memory_needed().unwrap() - 1);
        let beyond = job.memory(little).spill_folder(case.drawn.folder.path(""));
        let truth = match run(&in_memory, &case.input, &outputs[0], &Watch::silent()) {
            Ok(truth) => truth,
            // What a policy does not allow is refused before anything is read.
            Err(error) => {
                let other = run(&beyond, &case.input, &outputs[1], &Watch::silent());
                let other = other.expect_err(&what).to_string();
                assert_eq!(other, error.to_string(), "{what}");
                continue;
            }
        };
        for threads in [1, 2].into_iter().take(if seed.is_multiple_of(4) { 2 } else { 1 }) {
            let job = beyond.clone().threads(threads);
            let found = run(&job, &case.input, &outputs[1], &Watch::silent());
            let found = found.unwrap_or_else(|error| panic!("{what}: {error}"));
            match (&truth, &found) {
                (Outcome::Released(rows, saved, report), Outcome::Released(a, b, c)) => {
                    assert!(is_same(report, c), "{what}: {report}\n{c}");
                    assert!(saved == b, "{what}: another recoding");
                    // Bits of columnar files tell nothing of a value more than one way.
                    let is_text = ending == "csv";
                    assert!(!is_text || rows == a, "{what}: other bytes");
                    assert!(read(&outputs[0]) == read(&outputs[1]), "{what}: other rows");
                    assert!(c["io"]["bytes-written"].as_u64() > Some(0));
                }
                (Outcome::Refused(one), Outcome::Refused(other)) => {
                    assert_eq!(one, other, "{what}")
                }
                (one, other) => panic!("{what}: {one:?}\n{other:?}"),
            }
        }
        match truth {
            Outcome::Released(..) => compared.released += 1,
            Outcome::Refused(_) => compared.refused += 1,
        }
        let left = std::fs::read_dir(case.drawn.folder.path("")).unwrap();
        let left = left.filter(|entry| {
            entry.as_ref().unwrap().file_name().to_str().unwrap().contains("spill")
        });
        assert_eq!(left.count(), 0, "{what}: spilled rows are left");
    }
    compared
}

#[test]
fn incognito_releases_the_same_in_any_memory() {
    let Compared { algorithm, released, refused } = compare("incognito", 0..160, &[]);
    assert!(released > 60 && refused > 3, "{algorithm}: {released}, {refused}");
}

#[test]
fn s_instant_releases_the_same_in_any_memory() {
    let Compared { algorithm, released, .. } = compare("s-instant", 200..300, &[]);
    assert!(released > 30, "{algorithm}: {released}");
    let by_cuts = compare("s-instant", 300..380, &[("space", "subtree")]);
    assert!(by_cuts.released > 20, "{}", by_cuts.released);
}

#[test]
fn cuts_are_the_same_in_any_memory() {
    for algorithm in ["l-plus-optimize", "annealing"] {
        let Compared { released, .. } = compare(algorithm, 400..560, &[]);
        assert!(released > 10, "{algorithm}: {released}");
    }
}

/// A table with more cells than a search for cuts holds at least.
fn many_cells(folder: &Folder) -> PathBuf {
    let mut random = Random::new(17);
    let mut text = String::from("id,q-a,q-b,q-c,sick\n");
    for id in 0..6000 {
        let a = random.below(400).min(random.below(1000));
        let (b, c) = (random.below(1000), random.below(4));
        text += &format!("{id},{a},{b},c{c},s{}\n", (a + random.below(3)) % 7);
    }
    folder.write("many.csv", &text)
}

fn asked(folder: &Folder, algorithm: &str, more: &str) -> Policy {
    let text = format!(
        r#"
        [attributes]
        id = {{ role = "identifier" }}
        q-a = {{ role = "quasi-identifier", type = "integer", hierarchy = {{ intervals = [10, 100], from = 0, to = 1000 }} }}
        q-b = {{ role = "quasi-identifier", type = "integer", hierarchy = {{ intervals = [10, 100], from = 0, to = 1000 }} }}
        q-c = {{ role = "quasi-identifier", type = "text" }}
        sick = {{ role = "sensitive" }}

        [privacy]
        k = 5
        l-diversity = {{ kind = "frequency", l = 2 }}

        [search]
        algorithm = "{algorithm}"
        {more}
        "#
    );
    Policy::read(&folder.write("policy.toml", &text)).unwrap()
}

/// A release with little memory, and the same without a limit if there is one.
fn reports(folder: &Folder, policy: Policy, input: &Path) -> [Value; 2] {
    let job = Job::new(policy).seed(1).spill_folder(folder.path(""));
    [60_000, 1 << 30].map(|memory| {
        let output = folder.path(&format!("{memory}.csv"));
        match run(&job.clone().memory(memory), input, &output, &Watch::silent()) {
            Ok(Outcome::Released(.., report)) => report,
            other => panic!("{other:?}"),
        }
    })
}

#[test]
fn cuts_of_too_many_cells_are_sought_above_some_level() {
    let folder = Folder::new("large-cuts");
    let (input, policy) = (many_cells(&folder), asked(&folder, "l-plus-optimize", ""));
    let [little, much] = reports(&folder, policy, &input);
    let lm = |report: &Value| report["loss"]["lm"].as_f64().unwrap();
    assert!(lm(&little) < 0.9 && lm(&little) >= lm(&much), "{little}");
    assert_eq!(
        (&little["search"]["optimal"], &much["search"]["optimal"]),
        (&false.into(), &true.into())
    );
    assert_eq!(little["search"]["lower-bound"], 0.0);
    assert!(little["smallest-class"].as_u64() >= Some(5));
}

/// What is counted of scans: one that finds values, one that counts, one that recodes.
#[test]
fn every_search_beyond_memory_reads_the_table_three_times() {
    let folder = Folder::new("large-scans");
    let input = many_cells(&folder);
    for (algorithm, more) in [
        ("incognito", ""),
        ("annealing", ""),
        ("s-instant", ""),
        ("s-instant", "space = \"subtree\""),
        ("m-instant", ""),
    ] {
        let [little, much] = reports(&folder, asked(&folder, algorithm, more), &input);
        assert_eq!(little["search"]["data-scans"], 3, "{algorithm}: {little}");
        assert_eq!(
            (&little["algorithm"], &much["algorithm"]),
            (&algorithm.into(), &algorithm.into())
        );
        assert_eq!(little["search"]["summary"], much["search"]["summary"], "{algorithm}");
        assert_eq!(much["search"]["data-scans"], 1, "{algorithm}");
        assert!(little["smallest-class"].as_u64() >= Some(5));
        assert_eq!(little["recoding"]["model"], much["recoding"]["model"]);
    }
}

/// Whatever is asked of auto is what it finds, of a table of any size.
#[test]
fn auto_never_changes_the_kind_of_recoding() {
    let folder = Folder::new("large-auto");
    let input = many_cells(&folder);
    for (kind, model) in [("levels", "full-domain"), ("cuts", "cuts"), ("regions", "regions")] {
        let policy = asked(&folder, "auto", &format!("recoding = \"{kind}\""));
        for report in reports(&folder, policy, &input) {
            assert_eq!(report["recoding"]["model"], model, "{report}");
        }
    }
}

/// Levels that were fixed by hand, and those that were saved.
#[test]
fn levels_are_applied_to_a_table_of_any_size() {
    let folder = Folder::new("large-levels");
    let input = many_cells(&folder);
    let policy = asked(&folder, "incognito", "");
    let levels =
        [("q-a", 2), ("q-b", 3), ("q-c", 1)].map(|(name, level)| (name.to_string(), level));
    let fixed = Job::new(policy.clone()).levels(levels.to_vec()).seed(1);
    let outputs = [60_000, 1 << 30].map(|memory| {
        let output = folder.path(&format!("{memory}.csv"));
        match run(&fixed.clone().memory(memory), &input, &output, &Watch::silent()) {
            Ok(Outcome::Released(release, saved, _)) => (release, saved),
            other => panic!("{other:?}"),
        }
    });
    assert!(outputs[0] == outputs[1]);
    let recoding = Recoding::from_json(&outputs[0].1, Path::new("saved.json"));
    let again = Job::new(policy.clone()).recoding(recoding.unwrap(), "saved.json").memory(60_000);
    let output = folder.path("again.csv");
    let Ok(Outcome::Released(release, ..)) = run(&again, &input, &output, &Watch::silent()) else {
        panic!("not released")
    };
    assert!(release == outputs[0].0);
    let fine = [("q-a", 0), ("q-b", 0), ("q-c", 0)].map(|(name, level)| (name.to_string(), level));
    let refused = [60_000, 1 << 30].map(|memory| {
        let job = Job::new(policy.clone()).levels(fine.to_vec()).memory(memory);
        match run(&job, &input, &output, &Watch::silent()) {
            Ok(Outcome::Refused(why)) => why,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(refused[0].split(' ').next(), refused[1].split(' ').next());
    assert!(refused[0].contains("ClassesFail"), "{}", refused[0]);
}

/// An abort at any moment leaves nothing behind, neither in the output nor in the spill folder.
#[test]
fn an_abort_leaves_nothing() {
    let folder = Folder::new("large-abort");
    let input = many_cells(&folder);
    let (mut aborted, mut ended) = (0, 0);
    for algorithm in ["incognito", "s-instant", "m-instant", "l-plus-optimize"] {
        let policy = asked(&folder, algorithm, "");
        for polls in [0, 1, 3, 10, 30, 100, 300, 1000, 3000, 100_000_000] {
            let spill = folder.path("spill");
            std::fs::create_dir_all(&spill).unwrap();
            let job = Job::new(policy.clone()).memory(60_000).spill_folder(&spill);
            let output = folder.path("aborted.csv");
            let _ = std::fs::remove_file(&output);
            match run(&job, &input, &output, &Watch::aborting_after(polls)) {
                Ok(_) => ended += 1,
                Err(Error::Interrupted) => {
                    aborted += 1;
                    assert!(!output.exists(), "{algorithm} after {polls}");
                }
                Err(other) => panic!("{other}"),
            }
            assert_eq!(std::fs::read_dir(&spill).unwrap().count(), 0, "{algorithm} after {polls}");
        }
    }
    assert!(aborted > 15 && ended >= 4, "{aborted} {ended}");
}
