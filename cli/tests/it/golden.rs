//! Every sentence in one place: `tests/golden/help.txt` has the help of every command, `errors.txt` a
//! command for each error that a person can meet, `summaries.txt` what commands print when they are
//! done. A change of a sentence shows up there; `SCUMBLE_GOLDEN=write cargo test -p scumble-cli
//! golden` writes the files anew, and the difference belongs into the change's description.

use crate::bed::Bed;
use crate::golden_cases::{ERRORS, SUMMARIES, UNREACHABLE};
use crate::help::{commands, help};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A command that is run in a folder of its own.
pub struct Case {
    /// For an error its variant, with what is special about it after a colon.
    pub about: &'static str,
    /// Makes the files.
    pub prepare: fn() -> Bed,
    pub command: &'static str,
}

/// The words of a command; quotes hold words together.
fn words(command: &str) -> Vec<&str> {
    let parts = command.split('\'').enumerate();
    parts
        .flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().collect::<Vec<_>>(),
            _ => vec![part],
        })
        .collect()
}

/// A text with times as `TIME` and the folder of the test as `DIR`.
fn normalized(text: &str, bed: &Bed) -> String {
    let text = text.replace(&*bed.path("").to_string_lossy(), "DIR/");
    let mut kept: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let unit = word.trim_end_matches(|one: char| !one.is_alphanumeric());
        let is_time = matches!(unit, "s" | "ms" | "µs");
        match kept.last_mut().filter(|last| is_time && last.parse::<f64>().is_ok()) {
            Some(number) => *number = format!("TIME{}", &word[unit.len()..]),
            None => kept.push(word.to_string()),
        }
    }
    kept.join(" ")
}

/// A line of a table with two spaces between columns, whatever their widths.
fn apart_by_two(line: &str) -> String {
    let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
    format!("  {}\n", cells.collect::<Vec<_>>().join("  "))
}

/// What a case prints, with the command before it and the exit status after it.
fn printed(case: &Case) -> (String, String) {
    let bed = (case.prepare)();
    let mut command = bed.command(&words(case.command));
    command.env("COLUMNS", "100");
    let outcome = bed.finish(command);
    assert!(!outcome.stderr.contains("internal error"), "{}: {outcome:?}", case.about);
    let mut output = normalized(&format!("{}{}", outcome.stdout, outcome.stderr), &bed);
    if case.command.starts_with("compare") {
        // The widths of its columns depend on times.
        output = output.lines().map(apart_by_two).collect();
    }
    let status = match outcome.status {
        0 => String::new(),
        status => format!("[exit status {status}]\n"),
    };
    let text = format!("## {}\n$ scumble {}\n{output}{status}\n", case.about, case.command);
    (text, output)
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Compares with a file, or writes it.
#[track_caller]
fn compare(name: &str, found: &str) {
    if std::env::var_os("SCUMBLE_GOLDEN").is_some_and(|wish| wish == "write") {
        std::fs::write(file(name), found).unwrap();
    }
    let known = std::fs::read_to_string(file(name)).unwrap();
    let mut about = "";
    for (number, (known, found)) in known.lines().zip(found.lines()).enumerate() {
        about = if known.starts_with("## ") { known } else { about };
        assert_eq!(known, found, "{name}:{}, {about}; see golden.rs if this is meant", number + 1);
    }
    assert_eq!(known.lines().count(), found.lines().count(), "{name}");
}

#[test]
fn golden_help() {
    let bed = Bed::new();
    let mut text = String::new();
    for path in commands(&bed) {
        for flag in ["-h", "--help"] {
            let name = [&["scumble".to_string()][..], &path].concat().join(" ");
            writeln!(text, "$ {name} {flag}\n{}", help(&bed, &path, flag, 80)).unwrap();
        }
    }
    // Lines of spaces between paragraphs are no sentences.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    compare("help.txt", &(lines.join("\n") + "\n"));
}

#[test]
fn golden_summaries() {
    let text: String = SUMMARIES.iter().map(|case| printed(case).0).collect();
    compare("summaries.txt", &text);
}

/// The variants of an enum and the text of each match arm about it in its file.
fn variants(source: &str, name: &str) -> Vec<(String, Vec<String>)> {
    let body = source.split_once(&format!("pub enum {name} {{\n")).unwrap().1;
    let body = body.split_once("\n}\n").unwrap().0;
    let is_variant =
        |line: &&str| line.starts_with("    ") && line.as_bytes()[4].is_ascii_uppercase();
    let names = body.lines().filter(|line| line.len() > 4).filter(is_variant);
    let names = names.map(|line| line.trim().trim_end_matches([',', ' ', '{']).to_string());
    let (_, display) = source.split_once("fn fmt(&self").unwrap();
    let arms = |variant: &str| -> Vec<String> {
        let mut pieces = Vec::new();
        for (at, _) in display.match_indices(&format!("{name}::{variant}")) {
            let arm = &display[at + 2..];
            let ends = [arm.find(&format!("\n            {name}::")), arm.find("\n        }\n")];
            let arm = &arm[..ends.into_iter().flatten().min().unwrap_or(arm.len())];
            // What stands in quotes, without what is filled in.
            let quoted = arm.split('"').skip(1).step_by(2);
            let plain = quoted.flat_map(|text| text.split(['{', '}']).step_by(2));
            let plain = plain.flat_map(|text| text.split(['\\', '\n'])).map(str::trim);
            pieces.extend(plain.filter(|text| text.len() > 6).map(String::from));
        }
        pieces
    };
    names.map(|variant| (variant.clone(), arms(&variant))).collect()
}

/// Each variant of an error that a command can meet has a case whose output is its sentence; the
/// others stand in a list with the reason.
#[test]
fn golden_errors() {
    let outputs: Vec<(&str, String, String)> = ERRORS
        .iter()
        .map(|case| {
            let (text, output) = printed(case);
            (case.about.split(':').next().unwrap(), text, output)
        })
        .collect();
    compare("errors.txt", &outputs.iter().map(|(_, text, _)| text.as_str()).collect::<String>());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scumble/src/error");
    let mut missing = Vec::new();
    for (name, source) in [("Error", "mod.rs"), ("Shortfall", "refusal.rs")] {
        let source = std::fs::read_to_string(folder.join(source)).unwrap();
        let known = variants(&source, name);
        assert!(known.len() > 10, "{known:?}");
        for (variant, sentences) in known {
            let mut cases = outputs.iter().filter(|(about, ..)| *about == variant).peekable();
            let is_excepted = UNREACHABLE.iter().any(|(listed, _)| *listed == variant);
            assert!(!is_excepted || cases.peek().is_none(), "{variant} can be reached after all");
            if cases.peek().is_none() && !is_excepted {
                missing.push(variant);
                continue;
            }
            for (_, text, output) in cases {
                let told = sentences.iter().any(|sentence| output.contains(sentence.as_str()));
                assert!(told || sentences.is_empty(), "not {variant}, {sentences:?}: {text}");
            }
        }
    }
    assert!(missing.is_empty(), "no case in golden_cases.rs for {missing:?}");
}
