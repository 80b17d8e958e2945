//! The pages are true: every command of README.md and docs/ runs, and prints what the page shows.
//!
//! A page is read as a script. Its `sh` blocks run in order in a folder that has the examples. A
//! `text` block directly after one is the command's output; a line `…` stands for any lines, and
//! times are not compared. A block may fail only if the page shows the message. A block inside an
//! HTML comment runs too: it does what the page asks the reader to do by hand.
//! `SCUMBLE_GOLDEN=write` puts what is printed into the pages; look at the difference.

use crate::bed::Bed;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `cargo run --release -- …` is the program under test; nothing is built or installed.
const CARGO: &str = r#"set -euo pipefail
cargo() {
    if [ "$1" = install ]; then return; fi
    while [ "$1" != -- ]; do shift; done
    shift
    scumble "$@"
}
"#;

/// Commands of a page, and the lines in which it shows what they print.
struct Step {
    line: usize,
    commands: String,
    shown: Option<Range<usize>>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The fenced blocks of a page: the language, and the lines inside.
fn blocks<'a>(lines: &[&'a str]) -> Vec<(&'a str, Range<usize>)> {
    let mut blocks = Vec::new();
    let mut open = None;
    for (index, line) in lines.iter().enumerate() {
        match (open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language, index + 1)),
            (Some((language, first)), Some(_)) => {
                blocks.push((language, first..index));
                open = None;
            }
            (_, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

fn steps(lines: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut after_commands = false;
    for (language, inside) in blocks(lines) {
        if language == "sh" {
            let commands = lines[inside.clone()].join("\n");
            steps.push(Step { line: inside.start, commands, shown: None });
        } else if language == "text" && after_commands {
            steps.last_mut().unwrap().shown = Some(inside);
        }
        after_commands = language == "sh";
    }
    steps
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The words of a line, with `T` for a time such as `2.3 s`.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let unit = word.trim_end_matches([',', ';', '.', ')']);
        let number = |word: &String| word.starts_with(|first: char| first.is_ascii_digit());
        if matches!(unit, "ns" | "µs" | "ms" | "s" | "min") && words.last().is_some_and(number) {
            words.pop();
            words.push(word.replace(unit, "T"));
        } else {
            words.push(word.to_string());
        }
    }
    words
}

fn matches(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&"…", rest)) => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((line, rest)) => printed
            .split_first()
            .is_some_and(|(first, others)| words(line) == words(first) && matches(rest, others)),
    }
}

/// Blank lines at the end are not compared: a page would not show them.
fn same(shown: &str, printed: &str) -> bool {
    let (shown, printed): (Vec<_>, Vec<_>) =
        (shown.trim_end().lines().collect(), printed.trim_end().lines().collect());
    matches(&shown, &printed)
}

/// Runs a block in the folder; whether it succeeded, and both streams in the order of the terminal.
fn run(bed: &Bed, commands: &str) -> (bool, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_scumble")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{CARGO}{commands}")])
        .env("PATH", format!("{}:{path}", program.display()))
        .env("COLUMNS", "100")
        .current_dir(bed.path("."))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

/// What a page shows instead: all that is printed, or as many first lines as before a gap at its end.
fn rewritten(shown: &str, printed: &str) -> String {
    let printed = printed.trim_end();
    let first = match shown.strip_suffix("\n…") {
        Some(before) => before.lines().count(),
        None => printed.lines().count(),
    };
    let mut lines: Vec<&str> = printed.lines().take(first).collect();
    if first < printed.lines().count() {
        lines.push("…");
    }
    lines.join("\n")
}

/// Runs a page. Returns the number of its commands and of the outputs that were compared.
fn follow(name: &str) -> (usize, usize) {
    let page = std::fs::read_to_string(root().join(name)).unwrap();
    let lines: Vec<&str> = page.lines().collect();
    let bed = Bed::new();
    copy(&root().join("examples"), &bed.path("examples"));
    let write = std::env::var_os("SCUMBLE_GOLDEN").is_some_and(|wish| wish == "write");
    let mut outputs = Vec::new();
    let steps = steps(&lines);
    for Step { line, commands, shown } in steps.iter().filter(|step| step.commands != "./check") {
        let (succeeded, printed) = run(&bed, commands);
        let told = printed.lines().any(|line| line.starts_with("scumble: ")) && shown.is_some();
        assert!(succeeded || told, "{name}:{line}: status\n{commands}\n{printed}");
        let Some(shown) = shown else { continue };
        let text = lines[shown.clone()].join("\n");
        let holds = same(&text, &printed);
        assert!(
            holds || write,
            "{name}:{line}: the page shows\n{text}\nbut this is printed:\n{printed}\n\
             SCUMBLE_GOLDEN=write replaces it"
        );
        outputs.push((shown.clone(), if holds { text } else { rewritten(&text, &printed) }));
    }
    if write {
        let mut page = lines.clone();
        for (shown, text) in outputs.iter().rev() {
            page.splice(shown.clone(), text.lines());
        }
        std::fs::write(root().join(name), page.join("\n") + "\n").unwrap();
    }
    (steps.len(), outputs.len())
}

/// One test for each page, so that a failure names it and pages run at the same time.
macro_rules! pages {
    ($($test:ident $page:literal at least $steps:literal;)*) => {
        $(#[test]
        fn $test() {
            let (commands, outputs) = follow($page);
            assert!(commands + outputs >= $steps, "{commands} commands, {outputs} outputs");
        })*

        #[test]
        fn every_page_with_commands_is_followed() {
            // Experiments take minutes, and some need a table that is not part of the project.
            let followed = [$($page,)* "docs/experiments.md"];
            for entry in std::fs::read_dir(root().join("docs")).unwrap().map(Result::unwrap) {
                let name = format!("docs/{}", entry.file_name().to_str().unwrap());
                if name.ends_with(".md") && !followed.contains(&name.as_str()) {
                    let page = std::fs::read_to_string(entry.path()).unwrap();
                    let lines: Vec<&str> = page.lines().collect();
                    assert!(steps(&lines).is_empty(), "{name} has commands that nobody runs");
                }
            }
        }
    };
}

pages! {
    the_readme "README.md" at least 4;
    the_page_about_privacy "docs/privacy.md" at least 4;
    the_page_about_policies "docs/policy.md" at least 1;
    the_page_about_algorithms "docs/algorithms.md" at least 4;
    the_first_hour "docs/start.md" at least 14;
    the_guide "docs/guide.md" at least 18;
    the_page_about_reports "docs/report.md" at least 1;
}

/// The guide writes its policy step by step: what it quotes stands in the policies that it uses.
#[test]
fn the_policy_of_the_guide_is_that_of_the_example() {
    let page = std::fs::read_to_string(root().join("docs/guide.md")).unwrap();
    let lines: Vec<&str> = page.lines().collect();
    let policies = ["first.toml", "policy.toml"]
        .map(|name| std::fs::read_to_string(root().join("examples/hospital").join(name)).unwrap());
    let quoted: Vec<String> = blocks(&lines)
        .into_iter()
        .filter(|(language, _)| *language == "toml")
        .map(|(_, inside)| lines[inside].join("\n"))
        .collect();
    assert!(quoted.len() >= 5, "only {} pieces of a policy", quoted.len());
    for piece in quoted {
        assert!(policies.iter().any(|policy| policy.contains(&piece)), "in no policy:\n{piece}");
    }
}

#[test]
fn outputs_are_compared_without_times_and_with_gaps() {
    assert!(same("a 1\n…\nend in 2.3 s\n", "a   1\nb\nc\nend in 15 s\n"));
    assert!(same("a\n", "a\n\n"));
    assert!(same("T: 3 ms, then\n", "T: 10.5 ms, then\n"));
    assert!(!same("a 1\n", "a 2\n"));
    assert!(!same("a\n", "a\nb\n"));
    assert!(!same("a\nb\n", "a\n"));
    assert!(!same("…\nz\n", "a\nb\n"));
    assert_eq!(rewritten("a\n…", "b\nc\nd\n"), "b\n…");
    assert_eq!(rewritten("a\nb", "c\nd\n"), "c\nd");
}
