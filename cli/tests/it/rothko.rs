//! Tables larger than the memory that is allowed: what a person types, how much memory that takes,
//! and what is left when it goes wrong.

use crate::bed::{Bed, Outcome, peak_of, sorted};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Every number is split anywhere; classes of at least 1000 rows.
const POLICY: &str = r#"
[defaults]
role = "insensitive"
[attributes]
salary = { role = "quasi-identifier" }
commission = { role = "quasi-identifier" }
age = { role = "quasi-identifier" }
elevel = { role = "quasi-identifier" }
zipcode = { role = "quasi-identifier" }
hvalue = { role = "quasi-identifier" }
loan = { role = "quasi-identifier" }
c2 = { role = "sensitive" }
[privacy]
k = 1000
l-diversity = { kind = "distinct", l = 2 }
[search]
regions = "cover"
"#;

/// A folder with a table, its policy and a place to spill.
fn agrawal(table: &str, rows: u32) -> Bed {
    let bed = Bed::new();
    bed.run(&["generate", "agrawal", "--rows", &rows.to_string(), "--seed", "3", "-o", table]).ok();
    bed.file("policy.toml", POLICY);
    std::fs::create_dir(bed.path("spill")).unwrap();
    bed
}

fn arguments<'a>(table: &'a str, output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed =
        ["anonymize", table, "--policy", "policy.toml", "-o", output, "--spill-dir", "spill"];
    [&fixed, more].concat()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

/// Mondrian's release, and its saved recoding, are what Rothko-T's are; Rothko-S saves one that
/// gives the same classes again.
#[test]
fn all_ways_of_partitioning_agree_on_one_table() {
    let bed = agrawal("table.parquet", 20_000);
    let run = |algorithm: &str, output: &str, saved: &str, more: &[&str]| {
        let fixed = ["--algorithm", algorithm, "-k", "50", "--save-recoding", saved, "--json"];
        let report =
            bed.run(&arguments("table.parquet", output, &[&fixed, more].concat())).ok().json();
        assert!(is_empty(&bed.path("spill")), "{algorithm} left something");
        (report, sorted(bed.records(output, ',')))
    };
    let tiny = ["--sample-tuples", "700", "--fan-out", "5", "--frequency-groups", "3"];
    // Frequency groups are rothko-t's alone.
    let tiny_for = |algorithm: &str| if algorithm == "rothko-t" { &tiny[..] } else { &tiny[..4] };
    let (in_memory, expected) = run("mondrian", "mondrian.csv", "mondrian.json", &[]);
    let (on_disk, rows) = run("rothko-t", "rothko-t.csv", "rothko-t.json", &tiny);
    assert_eq!(rows, expected);
    assert_eq!(on_disk["classes"], in_memory["classes"]);
    assert!(on_disk["io"]["repartitions"].as_u64() > Some(1), "{on_disk}");
    for (algorithm, saved) in [("rothko-t", "rothko-t.json"), ("rothko-s", "rothko-s.json")] {
        let (report, rows) = run(algorithm, "out.csv", saved, tiny_for(algorithm));
        assert_eq!(report["search"]["minimal"], true, "{report}");
        bed.run(&[
            "apply",
            saved,
            "table.parquet",
            "--policy",
            "policy.toml",
            "-k",
            "50",
            "-o",
            "again.csv",
        ])
        .ok();
        assert_eq!(sorted(bed.records("again.csv", ',')), rows, "{algorithm}");
    }
    let seed = |seed: &str| {
        run("rothko-s", "out.csv", "out.json", &[tiny_for("rothko-s"), &["--seed", seed]].concat());
        bed.bytes("out.csv")
    };
    assert!(seed("1") == seed("1") && seed("1") != seed("2"), "a seed draws the sample");
}

#[test]
fn an_order_that_is_not_known_cannot_be_kept() {
    let bed = agrawal("table.csv", 2000);
    let outcome =
        bed.run(&arguments("table.csv", "out.csv", &["--algorithm", "rothko-s", "--keep-order"]));
    outcome.fails_with(2, "--keep-order requires an algorithm that works in memory");
}

const LIMIT: &str = "64MiB";
/// 1.25 times as much, which is more than 64 MiB above a bare process.
const MOST: u64 = (64 << 20) / 4 * 5;

#[track_caller]
fn assert_memory(bed: &Bed, table: &str, output: &str, more: &[&str]) {
    let all = arguments(table, output, &[&["--memory", LIMIT], more].concat());
    let (done, peak) = peak_of(bed.command(&all));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(peak <= MOST, "{table} to {output}, {more:?}: {} MiB", peak >> 20);
    assert!(is_empty(&bed.path("spill")));
}

#[test]
fn memory_stays_within_its_limit() {
    let bed = agrawal("table.csv", 1_000_000);
    assert_memory(&bed, "table.csv", "out.parquet", &["--algorithm", "rothko-s"]);
    assert_memory(&bed, "table.csv", "out.csv", &["--algorithm", "rothko-t"]);
    bed.run(&["generate", "agrawal", "--rows", "1500000", "--seed", "3", "-o", "table.parquet"])
        .ok();
    assert_memory(&bed, "table.parquet", "out.parquet", &["--algorithm", "rothko-s"]);
    assert_memory(&bed, "table.parquet", "out.parquet", &["--algorithm", "rothko-s", "-k", "5"]);
}

/// Text that no dictionary could hold only travels, and takes most of the space.
#[test]
fn long_texts_travel_within_the_limit() {
    let bed = Bed::new();
    std::fs::create_dir(bed.path("spill")).unwrap();
    bed.file(
        "policy.toml",
        "[attributes]\nq = { role = \"quasi-identifier\" }\nt = { role = \"insensitive\" }\n[privacy]\nk = 10\n",
    );
    let mut text = String::from("q,t\n");
    let mut state = 1u64;
    for row in 0..160_000u32 {
        text += &format!("{},", row % 977);
        for _ in 0..64 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            text += &format!("{:016x}", state);
        }
        text.push('\n');
    }
    bed.file("table.csv", text);
    assert_memory(&bed, "table.csv", "out.parquet", &["--algorithm", "rothko-s"]);
    bed.file("table.csv", "");
    std::fs::rename(bed.path("out.parquet"), bed.path("table.parquet")).unwrap();
    bed.edit("policy.toml", "\"quasi-identifier\"", "\"quasi-identifier\", type = \"text\"");
    assert_memory(&bed, "table.parquet", "out.csv", &["--algorithm", "rothko-t"]);
}

/// Starts a run that spills, and waits until it does.
fn start_spilling(bed: &Bed) -> Child {
    let all = arguments(
        "table.csv",
        "out.csv",
        &["--algorithm", "rothko-t", "--sample-tuples", "2000", "-k", "100"],
    );
    let mut child = bed.command(&all).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    let spills =
        || bed.names().iter().any(|name| name.starts_with("spill/") && name.ends_with(".rows"));
    while !spills() {
        assert!(
            began.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none(),
            "it does not spill"
        );
        std::thread::sleep(Duration::from_micros(500));
    }
    child
}

#[test]
fn a_killed_run_leaves_no_output_and_the_next_one_removes_what_it_spilled() {
    let bed = agrawal("table.csv", 150_000);
    let mut child = start_spilling(&bed);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!bed.exists("out.csv") && !bed.exists("out.csv.report.json"), "{:?}", bed.names());
    let left = |bed: &Bed| std::fs::read_dir(bed.path("spill")).unwrap().count();
    assert_eq!(left(&bed), 1);
    // What looks alike but is no run's stays.
    bed.file("spill/scumble-spill-mine/0.rows", "mine").file("spill/0.rows", "mine");
    bed.file("spill/scumble-spill-0123456789abcdef/letter.txt", "mine");
    bed.run(&arguments(
        "table.csv",
        "out.csv",
        &["--algorithm", "rothko-t", "--sample-tuples", "2000"],
    ))
    .ok();
    assert_eq!(left(&bed), 3, "{:?}", bed.names());
    let mine: Vec<String> =
        bed.names().into_iter().filter(|name| name.starts_with("spill/")).collect();
    let expected = [
        "spill/0.rows",
        "spill/scumble-spill-0123456789abcdef/letter.txt",
        "spill/scumble-spill-mine/0.rows",
    ];
    assert_eq!(mine, expected);
}

#[test]
fn an_interrupted_run_leaves_nothing_behind() {
    let bed = agrawal("table.csv", 150_000);
    for (signal, status) in [("-INT", 130), ("-TERM", 143)] {
        let child = start_spilling(&bed);
        assert!(
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(status),
            "{signal}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(is_empty(&bed.path("spill")), "{signal}: {:?}", bed.names());
        assert!(
            !bed.names().iter().any(|name| name.contains("out.csv")),
            "{signal}: {:?}",
            bed.names()
        );
    }
}

/// Runs something where the folder `small` is a file system of its own with so many bytes; what is
/// in it afterwards is printed on standard output.
fn on_a_small_disk(bed: &Bed, kilobytes: u32, program: &str, arguments: &[&str]) -> Outcome {
    let script = format!(
        "mount -t tmpfs -o size={kilobytes}k none small || exit 99; \"$0\" \"$@\"; status=$?; \
         find small -mindepth 1; exit $status"
    );
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &script, program]).args(arguments);
    command.current_dir(bed.path("")).stdin(Stdio::null());
    bed.finish(command)
}

#[test]
fn a_full_disk_leaves_neither_a_release_nor_rows() {
    let bed = agrawal("table.csv", 60_000);
    std::fs::create_dir(bed.path("small")).unwrap();
    if on_a_small_disk(&bed, 500, "true", &[]).status != 0 {
        crate::bed::skipped("no file system can be mounted here");
        return;
    }
    let scumble = env!("CARGO_BIN_EXE_scumble");
    for algorithm in ["rothko-t", "rothko-s"] {
        let more = ["--algorithm", algorithm, "--sample-tuples", "1000", "-k", "50"];
        let spill = [
            &[
                "anonymize",
                "table.csv",
                "--policy",
                "policy.toml",
                "-o",
                "out.csv",
                "--spill-dir",
                "small",
            ],
            &more[..],
        ];
        let outcome = on_a_small_disk(&bed, 500, scumble, &spill.concat());
        assert_eq!(outcome.stdout, "", "{algorithm} left something");
        outcome.fails_with(3, "the disk is full").says("bytes, because only");
        let output = arguments("table.csv", "small/out.csv", &more);
        let outcome = on_a_small_disk(&bed, 1000, scumble, &output);
        assert_eq!(outcome.stdout, "", "{algorithm} left something");
        outcome.fails_with(3, "the disk is full after").says("more are needed");
    }
}
