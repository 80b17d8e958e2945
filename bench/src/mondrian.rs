//! Partitioning in memory: the search alone on the synthetic data of the paper's figure 7, and on
//! Adult the whole command against the Mondrian of Python packages, all in one run.

use crate::harness::{Measured, Scratch, fastest, processor_seconds, read};
use scumble::error::{Error, Result};
use scumble::policy::Policy;
use scumble::search::regions::mondrian::search;
use scumble::watch::Watch;
use scumble::{Synthetic, generate};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Packages on PyPI.
const PEERS: [&str; 2] = ["anonypy", "anonypyx"];

/// Rows of the synthetic table.
const ROWS: u64 = 1_000_000;

/// What is run with the Python that has the peers.
const SCRIPT: &str = include_str!("peers.py");

/// Mondrian as in the papers, and as the peers have it: the widest attribute, and no child of a
/// node is pooled.
const PAPERS: &str = "[search]\nalgorithm = \"mondrian\"\nsplit = \"median\"\npooling = false\n\
     regions = \"tight\"\n";

/// The policy over Adult: what the peers are asked for. They know no hierarchies; ours come from
/// the files beside it.
fn adult_policy(folder: &Path) -> String {
    let mut text = String::from(
        "[defaults]\nrole = \"insensitive\"\n[attributes.age]\nrole = \"quasi-identifier\"\n",
    );
    for key in ["education", "native-country", "workclass", "marital-status", "sex", "race"] {
        let file = folder.join(format!("adult_hierarchy_{key}.csv"));
        text += &format!(
            "[attributes.{key}]\nrole = \"quasi-identifier\"\nhierarchy = {}\n",
            json!(file)
        );
    }
    text + "[privacy]\nk = 10\n" + PAPERS
}

/// The program that whole commands are measured with: the given one, or `scumble` in the folder of
/// this executable, where a build of the workspace puts it.
fn program(given: Option<&Path>) -> Result<PathBuf> {
    let own = std::env::current_exe().map_err(Error::io(Path::new("bench"), "find"))?;
    let beside = own.with_file_name(format!("scumble{}", std::env::consts::EXE_SUFFIX));
    let program = given.map_or(beside, Path::to_path_buf);
    if program.is_file() {
        return Ok(program);
    }
    let told = "no such program; build it with `cargo build --release`, or pass --scumble PATH";
    Err(Error::io(&program, "run")(std::io::Error::other(told)))
}

/// The fastest of some runs of a command by the clock, and its mean processor time. What it writes
/// is not there before any of them: to take away an old file is not part of the work.
fn timed(command: &mut Command, writes: &Path, runs: u32) -> Result<(f64, Option<f64>)> {
    let before = processor_seconds();
    let mut best = f64::INFINITY;
    for _ in 0..runs.max(1) {
        let _ = std::fs::remove_file(writes);
        let start = Instant::now();
        let program = Path::new(command.get_program()).to_path_buf();
        let output = command.stdin(Stdio::null()).output().map_err(Error::io(&program, "run"))?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            let last = told.lines().last().unwrap_or("it failed without a word").to_string();
            return Err(Error::io(&program, "run")(std::io::Error::other(last)));
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    let spent = processor_seconds().zip(before);
    let spent =
        spent.map(|(after, before)| (after.children - before.children) / f64::from(runs.max(1)));
    Ok((best, spent))
}

/// Mondrian by itself, and against the peers where Adult and a Python that has them are given.
pub fn mondrian(
    adult: Option<&Path>,
    python: Option<&Path>,
    scumble: Option<&Path>,
    runs: u32,
) -> Result<Measured> {
    // A program that is missing is noticed before anything is measured.
    let adult =
        adult.map(|folder| program(scumble).map(|program| (folder, program))).transpose()?;
    let scratch = Scratch::new()?;
    let mut rows = agrawal(&scratch, runs)?;
    if let Some((folder, program)) = adult {
        let (table, policy) = (folder.join("adult.csv"), scratch.path("policy.toml"));
        std::fs::write(&policy, adult_policy(folder)).map_err(Error::io(&policy, "write"))?;
        let mut command = Command::new(program);
        let release = scratch.path("release.csv");
        command.arg("anonymize").arg(&table).arg("--policy").arg(&policy).arg("-o").arg(&release);
        // In turn with the peers, so that a machine that is slow for a while is slow for all.
        let mut ours = timed(&mut command, &release, runs)?;
        let mut theirs = Vec::new();
        for peer in PEERS {
            let Some(python) = python else { break };
            let written = scratch.path("peer.csv");
            let mut slow = Command::new(python);
            slow.args(["-c", SCRIPT, peer]).arg(&table).arg(&written);
            theirs.push((peer, timed(&mut slow, &written, 1)?));
            let again = timed(&mut command, &release, runs)?;
            ours = (ours.0.min(again.0), ours.1.zip(again.1).map(|(one, other)| one.min(other)));
        }
        let mut put = |name: String, (seconds, spent): (f64, Option<f64>)| {
            let against = |ours: f64, theirs: f64| json!(format!("{:.0}x", theirs / ours));
            rows.push(vec![
                json!(name),
                json!(30_162),
                json!(format!("{seconds:.4}")),
                spent.map_or(Value::Null, |spent| json!(format!("{spent:.4}"))),
                Value::Null,
                against(ours.0, seconds),
                ours.1.zip(spent).map_or(Value::Null, |(ours, theirs)| against(ours, theirs)),
            ]);
        };
        put("Adult, 7 quasi-identifiers, k=10, whole command".into(), ours);
        for (peer, measured) in theirs {
            put(format!("the same by {peer}"), measured);
        }
    }
    Ok(Measured {
        title: format!(
            "Mondrian in memory, seconds, fastest of {runs} runs (peers: of one, ours before and after each)"
        ),
        columns: vec![
            "case",
            "rows",
            "seconds",
            "CPU seconds",
            "rows a second",
            "ratio",
            "ratio, CPU",
        ],
        rows,
    })
}

/// The search over encoded rows, numbers split anywhere.
fn agrawal(scratch: &Scratch, runs: u32) -> Result<Vec<Vec<Value>>> {
    let data = scratch.path("agrawal.parquet");
    let files = generate(Synthetic::Agrawal, ROWS, 1, &data, None, &Watch::default())?;
    let text = std::fs::read_to_string(&files[1]).map_err(Error::io(&files[1], "read"))?;
    let columns = text.split("[privacy]").next().unwrap_or_default();
    let plain: Vec<&str> = columns.lines().filter(|line| !line.starts_with("hierarchy")).collect();
    let text = plain.join("\n") + "\n[privacy]\nk = 1000\n" + PAPERS;
    let policy = Policy::parse(&text, &files[1])?;
    let table = read(&data, &policy)?;
    let prepared = policy.prepare(&table)?;
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut rows = Vec::new();
    for threads in [1, all] {
        let (seconds, found) = fastest(threads, runs, || {
            search(&prepared.task, policy.search().partitioning, &Watch::default())
        })?;
        rows.push(vec![
            json!(format!(
                "agrawal, k=1000, search alone, {threads} threads, {} nodes",
                found.visited
            )),
            json!(ROWS),
            json!(format!("{seconds:.4}")),
            Value::Null,
            json!(format!("{:.0}", ROWS as f64 / seconds)),
            Value::Null,
            Value::Null,
        ]);
    }
    Ok(rows)
}
