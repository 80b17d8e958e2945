//! The README's first screen is true: the table it shows is what the command writes.

use crate::bed::Bed;
use std::path::Path;

#[test]
fn the_six_rows_of_the_readme_are_released_as_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let bed = Bed::new();
    for name in ["people.csv", "policy.toml"] {
        bed.file(name, std::fs::read(root.join("examples/six").join(name)).unwrap());
    }
    bed.run(&["anonymize", "people.csv", "--policy", "policy.toml", "-o", "six.csv"]).ok();
    let cells = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split(',').collect::<Vec<_>>().join(" | ")).collect()
    };
    let (before, after) = (cells(&bed.read("people.csv")), cells(&bed.read("six.csv")));
    assert_eq!((before.len(), after.len()), (7, 7));
    for (before, after) in before.iter().zip(&after) {
        let shown = |line: &&str| {
            line.starts_with(&format!("| {before} |")) && line.ends_with(&format!("| {after} |"))
        };
        assert_eq!(readme.lines().filter(shown).count(), 1, "{before} / {after}");
    }
}

#[test]
fn the_census_example_is_what_generate_makes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/census");
    let bed = Bed::new();
    bed.run(&[
        "generate",
        "census",
        "--rows",
        "5000",
        "--seed",
        "1",
        "-o",
        "census.csv",
        "--policy",
        "policy.toml",
    ])
    .ok();
    for name in
        ["census.csv", "policy.toml", "hierarchies/education.csv", "hierarchies/birthplace.csv"]
    {
        assert!(
            bed.read(name) == std::fs::read_to_string(root.join(name)).unwrap(),
            "{name} differs"
        );
    }
}

#[test]
fn the_hospital_example_is_what_its_script_makes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/hospital");
    let made = std::process::Command::new("awk").arg("-f").arg(folder.join("make.awk")).output();
    let Ok(made) = made else {
        crate::bed::skipped("there is no awk");
        return;
    };
    assert!(made.stdout == std::fs::read(folder.join("patients.csv")).unwrap());
}
