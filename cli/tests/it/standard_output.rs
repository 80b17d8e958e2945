//! Standard output that cannot be written: a script must not take silence for success.

use crate::bed::Bed;
use std::fs::File;
use std::process::{Command, Stdio};

const SALARIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/salaries");

/// A folder with an input for every command: a table, a release of it, a summary, a saved recoding,
/// a distribution.
fn bed() -> Bed {
    let bed = Bed::people();
    bed.anonymize(&["--save-recoding", "r.json"]).ok();
    bed.run(&["summarize", "table.csv", "-p", "policy.toml", "-o", "s.json"]).ok();
    let salaries = |name: &str| std::fs::read(format!("{SALARIES}/{name}")).unwrap();
    bed.file("employees.csv", salaries("employees.csv"));
    bed.file("salaries.toml", salaries("policy.toml"));
    bed.run(&["anonymize", "employees.csv", "-p", "salaries.toml", "-o", "released"]).ok();
    bed
}

/// Every command, by its arguments.
fn commands() -> Vec<(&'static str, Vec<&'static str>)> {
    let lines = [
        ("init", "table.csv -o new.toml"),
        ("anonymize", "table.csv -p policy.toml -o out.csv"),
        ("anonymize", "table.csv -p policy.toml -o - --format csv"),
        ("anonymize", "employees.csv -p salaries.toml -o released"),
        ("summarize", "table.csv -p policy.toml -o s.json"),
        ("estimate", "--summary s.json -p policy.toml"),
        ("apply", "r.json table.csv -p policy.toml -o out.csv"),
        ("verify", "out.csv -p policy.toml"),
        ("verify", "released -p salaries.toml"),
        ("risk", "out.csv -p policy.toml"),
        ("advise", "--prior 0.1 --population 1000 --table 100 --cost 10 --misuse 2"),
        ("generate", "agrawal --rows 5 -o agrawal.csv"),
        ("hierarchy", "check city.csv"),
        ("hierarchy", "draw city.csv"),
        ("hierarchy", "build table.csv -p policy.toml -a city -o built.csv"),
    ];
    let split = |(command, rest): (&'static str, &'static str)| {
        (command, [command].into_iter().chain(rest.split(' ')).collect())
    };
    let mut commands: Vec<(&str, Vec<&str>)> = lines.into_iter().map(split).collect();
    let sql = "SELECT SUM(salary) FROM release";
    commands.push(("query", vec!["query", "released", sql]));
    commands
}

/// Runs a command with a standard output of its own; returns its status and standard error.
fn run_into(mut command: Command, output: Stdio) -> (Option<i32>, String) {
    let output = command.stdout(output).stderr(Stdio::piped()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn remove_new(bed: &Bed) {
    for name in ["new.toml", "built.csv"] {
        let _ = std::fs::remove_file(bed.path(name));
    }
}

#[test]
fn a_full_standard_output_is_an_error_of_every_command() {
    let bed = bed();
    let mut silent = Vec::new();
    for (command, arguments) in commands() {
        for more in [&[] as &[&str], &["--json"]] {
            if arguments.contains(&"-") && !more.is_empty() {
                continue;
            }
            remove_new(&bed);
            let all = [&arguments[..], more].concat();
            let full = File::options().write(true).open("/dev/full").unwrap();
            let (status, said) = run_into(bed.command(&all), full.into());
            let is_one_line = said.ends_with('\n') && said.lines().count() == 1;
            if status != Some(3) || !is_one_line || !said.contains("standard output") {
                silent.push((command, all, status, said));
            }
        }
    }
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn a_full_standard_output_is_an_error_of_a_refusal_and_of_help() {
    let bed = Bed::people();
    let refused =
        ["anonymize", "table.csv", "-p", "policy.toml", "-o", "out.csv", "-k", "7", "--json"];
    for arguments in [&refused as &[&str], &["--help"], &["risk", "--help"], &["--version"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (status, said) = run_into(bed.command(arguments), full.into());
        assert_eq!((status, said.lines().count()), (Some(3), 1), "{arguments:?}: {said}");
    }
    assert!(!bed.exists("out.csv"));
}

#[test]
fn a_closed_pipe_ends_every_command_quietly() {
    let bed = bed();
    let mut loud = Vec::new();
    for (command, arguments) in commands() {
        remove_new(&bed);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let to_pipe = arguments.contains(&"-");
        let (status, said) = run_into(bed.command(&arguments), writer.into());
        if status != Some(0) || !said.is_empty() {
            loud.push((command, to_pipe, status, said));
        }
    }
    assert!(loud.is_empty(), "{loud:#?}");
}
