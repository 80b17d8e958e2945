//! Runs that die, and runs that meet: no output, no personal data left that a next run does not
//! remove.

use crate::bed::Bed;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const ARGUMENTS: [&str; 6] =
    ["anonymize", "census.csv", "--policy", "census.policy.toml", "-o", "out.csv"];

fn census(rows: u32) -> Bed {
    let bed = Bed::new();
    bed.run(&[
        "generate",
        "census",
        "--rows",
        &rows.to_string(),
        "--seed",
        "5",
        "-o",
        "census.csv",
    ])
    .ok();
    // The fastest search: what is killed is the walk from end to end.
    bed.edit("census.policy.toml", "algorithm = \"auto\"", "algorithm = \"incognito\"");
    bed
}

fn start(bed: &Bed) -> Child {
    bed.command(&ARGUMENTS).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn drafts(bed: &Bed) -> Vec<String> {
    bed.names()
        .into_iter()
        .filter(|name| name.starts_with(".out.csv.") && name.ends_with(".scumble-draft"))
        .collect()
}

/// Kills a run that has begun to write; `false` if it was too fast.
fn kill_while_writing(bed: &Bed) -> bool {
    let mut child = start(bed);
    let began = Instant::now();
    while drafts(bed).is_empty() && child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(60), "the run neither writes nor ends");
        std::thread::sleep(Duration::from_micros(200));
    }
    // SIGKILL: the process cannot tidy up.
    child.kill().unwrap();
    child.wait().unwrap();
    !drafts(bed).is_empty() && !bed.exists("out.csv")
}

#[test]
fn a_killed_run_leaves_no_output_and_the_next_one_tidies_up() {
    let bed = census(300_000);
    let caught = (0..20).any(|_| {
        let _ = std::fs::remove_file(bed.path("out.csv"));
        kill_while_writing(&bed)
    });
    assert!(caught, "no run was slow enough to be killed while it wrote");
    assert!(!bed.exists("out.csv") && !bed.exists("out.csv.report.json"), "{:?}", bed.names());
    for draft in drafts(&bed) {
        assert_eq!(bed.mode(&draft), 0o600, "{draft}");
    }
    // Another output in the same folder leaves it alone, and so does a run that fails before it
    // writes.
    assert_eq!(
        bed.run(&["anonymize", "nothing.csv", "--policy", "census.policy.toml", "-o", "out.csv"])
            .status,
        2
    );
    bed.run(&ARGUMENTS).ok();
    assert_eq!(drafts(&bed), Vec::<String>::new());
    assert!(bed.names().iter().all(|name| !name.contains("draft")), "{:?}", bed.names());
    bed.run(&["verify", "out.csv", "--policy", "census.policy.toml"]).ok();
}

/// Sends a signal to a run that has begun to write; its status, or `None` if it was too fast.
fn interrupt_while_writing(bed: &Bed, signal: &str) -> Option<i32> {
    let mut child =
        bed.command(&ARGUMENTS).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while drafts(bed).is_empty() && child.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(60), "the run neither writes nor ends");
        std::thread::sleep(Duration::from_micros(200));
    }
    let sent = std::process::Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let status = output.status.code().expect("a status, not a death by signal");
    if status == 0 {
        return None;
    }
    assert!(sent.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "scumble: interrupted; nothing was released\n"
    );
    Some(status)
}

/// SIGINT, SIGTERM and SIGHUP remove what was begun, at once, and the status says which it was.
#[test]
fn an_interrupted_run_leaves_nothing() {
    let bed = census(300_000);
    let before = bed.names();
    for (signal, status) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let caught = (0..20).find_map(|_| {
            let caught = interrupt_while_writing(&bed, signal);
            if caught.is_none() {
                let _ = std::fs::remove_file(bed.path("out.csv"));
                let _ = std::fs::remove_file(bed.path("out.csv.report.json"));
                let _ = std::fs::remove_file(bed.path("out.csv.private.json"));
            }
            caught
        });
        assert_eq!(caught, Some(status), "{signal}");
        assert_eq!(bed.names(), before, "{signal}");
    }
}

/// Whenever a run is killed, the output is the old one or the new one, and never half of either.
#[test]
fn a_run_killed_at_any_time_leaves_the_old_release_or_the_new_one() {
    let bed = census(60_000);
    bed.run(&ARGUMENTS).ok();
    let (whole, _) = (bed.bytes("out.csv"), bed.bytes("out.csv.report.json"));
    let began = Instant::now();
    assert!(start(&bed).wait().unwrap().success());
    let length = began.elapsed();
    for part in 1..=12 {
        bed.file("out.csv", "old").file("out.csv.report.json", "{}");
        let mut child = start(&bed);
        std::thread::sleep(length * part / 11);
        let _ = child.kill();
        child.wait().unwrap();
        let found = bed.bytes("out.csv");
        assert!(found == b"old" || found == whole, "killed after {part}/11: {} bytes", found.len());
        let report = bed.read("out.csv.report.json");
        let whole_report: Result<serde_json::Value, _> = serde_json::from_str(&report);
        assert!(whole_report.is_ok(), "killed after {part}/11: {report}");
    }
    bed.run(&ARGUMENTS).ok();
    assert!(bed.names().iter().all(|name| !name.contains("draft")), "{:?}", bed.names());
}

#[test]
fn two_runs_at_once_do_not_destroy_each_other() {
    let bed = census(60_000);
    for _ in 0..3 {
        let runs: Vec<Child> = (0..2).map(|_| start(&bed)).collect();
        for mut run in runs {
            assert_eq!(run.wait().unwrap().code(), Some(0));
        }
    }
    bed.run(&["verify", "out.csv", "--policy", "census.policy.toml"]).ok();
    assert!(bed.names().iter().all(|name| !name.contains("draft")), "{:?}", bed.names());
}

/// Many short runs at once: a draft must be safe from its first moment on.
#[test]
fn many_runs_at_once_do_not_destroy_each_other() {
    let bed = census(50);
    let mut failed = Vec::new();
    for _ in 0..25 {
        let command = || {
            bed.command(&ARGUMENTS).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let runs: Vec<Child> = (0..8).map(|_| command()).collect();
        for run in runs {
            let output = run.wait_with_output().unwrap();
            if !output.status.success() {
                failed.push(String::from_utf8_lossy(&output.stderr).into_owned());
            }
        }
    }
    assert!(failed.is_empty(), "{} of 200 failed: {:#?}", failed.len(), failed);
    bed.run(&["verify", "out.csv", "--policy", "census.policy.toml"]).ok();
    assert!(bed.names().iter().all(|name| !name.contains("draft")), "{:?}", bed.names());
}

/// Runs that release different tables under one name: in the end, release and report are of one run.
#[test]
fn a_release_and_its_report_are_of_the_same_run() {
    let bed = census(200);
    let arguments = |k: &'static str| [&ARGUMENTS[..], &["-k", k]].concat();
    let released = ["2", "3", "5", "9"].map(|k| {
        bed.run(&arguments(k)).ok();
        (k, bed.bytes("out.csv"))
    });
    for _ in 0..25 {
        let start = |(k, _): &(&'static str, Vec<u8>)| {
            bed.command(&arguments(k)).stdout(Stdio::null()).spawn().unwrap()
        };
        for mut run in released.iter().map(start).collect::<Vec<Child>>() {
            assert_eq!(run.wait().unwrap().code(), Some(0));
        }
        let report: serde_json::Value =
            serde_json::from_str(&bed.read("out.csv.report.json")).unwrap();
        let k = report["privacy"][0]["required"].to_string();
        let (_, release) = released.iter().find(|(of, _)| *of == k).unwrap();
        assert!(bed.bytes("out.csv") == *release, "the report of k = {k}, another release");
    }
    assert!(bed.names().iter().all(|name| !name.contains("draft")), "{:?}", bed.names());
}

/// A name that looks like a draft but is a link: nothing behind it is touched.
#[test]
fn a_link_that_looks_like_a_draft_is_not_followed() {
    let bed = census(50);
    bed.file("precious", "mine");
    std::os::unix::fs::symlink(bed.path("precious"), bed.path(".out.csv.1-0.scumble-draft"))
        .unwrap();
    bed.run(&ARGUMENTS).ok();
    assert_eq!(bed.read("precious"), "mine");
}
