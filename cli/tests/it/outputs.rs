//! What an output may replace: a regular file, and nothing else.

use crate::bed::{Bed, Outcome};
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::process::Command;

/// Every flag that names an output, with the arguments before it. The name is the last argument.
fn outputs(name: &str) -> Vec<Vec<String>> {
    let lines = [
        "init table.csv -o",
        "anonymize table.csv -p policy.toml -o",
        "anonymize table.csv -p policy.toml -o out.csv --save-recoding",
        "anonymize employees.csv -p salaries.toml -o",
        "apply r.json table.csv -p policy.toml -o",
        "summarize table.csv -p policy.toml -o",
        "generate agrawal --rows 5 -o",
        "generate agrawal --rows 5 -o agrawal.csv --policy",
        "hierarchy build table.csv -p policy.toml -a city -o",
    ];
    let split = |line: &str| line.split(' ').chain([name]).map(str::to_string).collect();
    lines.into_iter().map(split).collect()
}

fn bed() -> Bed {
    let bed = Bed::people();
    bed.anonymize(&["--save-recoding", "r.json"]).ok();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/salaries");
    for (name, as_name) in [("employees.csv", "employees.csv"), ("policy.toml", "salaries.toml")] {
        bed.file(as_name, std::fs::read(format!("{examples}/{name}")).unwrap());
    }
    bed
}

fn run(bed: &Bed, arguments: &[String]) -> Outcome {
    bed.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn fifo(bed: &Bed, name: &str) {
    assert!(Command::new("mkfifo").arg(bed.path(name)).status().unwrap().success());
}

#[test]
fn a_fifo_is_not_replaced_by_any_command() {
    let bed = bed();
    fifo(&bed, "pipe.csv");
    for arguments in outputs("pipe.csv") {
        run(&bed, &arguments).fails_with(2, "pipe.csv");
    }
    assert!(std::fs::symlink_metadata(bed.path("pipe.csv")).unwrap().file_type().is_fifo());
}

#[test]
fn a_link_is_neither_replaced_nor_written_through() {
    let bed = bed();
    bed.file("precious", "mine");
    symlink("precious", bed.path("link.csv")).unwrap();
    symlink("nowhere", bed.path("dangling.csv")).unwrap();
    for name in ["link.csv", "dangling.csv"] {
        for arguments in outputs(name) {
            run(&bed, &arguments).fails_with(2, name);
        }
        assert!(std::fs::symlink_metadata(bed.path(name)).unwrap().is_symlink());
    }
    assert_eq!(bed.read("precious"), "mine");
    let arguments = ["anonymize", "table.csv", "-p", "policy.toml", "-o", "link.csv"];
    bed.run(&arguments).fails_with(2, "link.csv: the output is a symbolic link to precious");
}

/// Files that a command writes besides the one that is named.
#[test]
fn a_link_beside_an_output_is_not_replaced() {
    let bed = Bed::people();
    bed.file("precious", "mine");
    symlink("precious", bed.path("out.csv.report.json")).unwrap();
    bed.anonymize(&[]).fails_with(2, "out.csv.report.json: the output is a symbolic link");
    symlink("precious", bed.path("agrawal.policy.toml")).unwrap();
    let arguments = ["generate", "agrawal", "--rows", "5", "-o", "agrawal.csv"];
    bed.run(&arguments).fails_with(2, "agrawal.policy.toml");
    assert_eq!(bed.read("precious"), "mine");
}

/// Only root can make a device and could replace it; others have nothing to lose here.
#[test]
fn a_device_is_not_replaced() {
    let bed = bed();
    let made = Command::new("mknod").arg(bed.path("null.csv")).args(["c", "1", "3"]).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return;
    }
    let device = |bed: &Bed| std::fs::symlink_metadata(bed.path("null.csv")).unwrap().rdev();
    let before = device(&bed);
    for arguments in outputs("null.csv") {
        run(&bed, &arguments).fails_with(2, "null.csv");
    }
    assert_eq!(device(&bed), before);
}
