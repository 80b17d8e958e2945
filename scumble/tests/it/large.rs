//! Recodings by levels and cuts of tables that exceed the memory: the release is the same, byte for
//! byte, as that of a table in memory, for every format, requirement, loss and number of threads.

use crate::disk::Case;
use crate::fixture::open;
use scumble::error::Error;
use scumble::job::Job;
use scumble::policy::Policy;
use scumble::random::Random;
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
        let loss =
            ["lm", "dm", "cm"][random.below(if algorithm == "incognito" { 3 } else { 2 }) as usize];
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
        let beyond = job.memory(little).spill_folder(&case.drawn.folder.path(""));
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
                    assert!(rows == a && saved == b, "{what}: other bytes");
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
