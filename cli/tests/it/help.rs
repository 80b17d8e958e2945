//! Help, completions and man pages, as a shell and a reader meet them.

use crate::bed::{Bed, Outcome};
use std::process::Command;

/// The commands that help lists, with those of `hierarchy`.
pub fn commands(bed: &Bed) -> Vec<Vec<String>> {
    let listed = |path: &[&str]| -> Vec<String> {
        let help = bed.run(&[path, &["--help"]].concat()).ok().stdout;
        let (_, list) = help.split_once("Commands:\n").unwrap();
        let lines = list.lines().take_while(|line| !line.is_empty());
        let names = lines.filter_map(|line| line.split_whitespace().next()).map(String::from);
        names.filter(|name| name != "help").collect()
    };
    let mut commands = vec![Vec::new()];
    for name in listed(&[]) {
        if name == "hierarchy" {
            commands
                .extend(listed(&["hierarchy"]).into_iter().map(|inner| vec![name.clone(), inner]));
        }
        commands.push(vec![name]);
    }
    assert!(commands.len() > 15, "{commands:?}");
    commands
}

/// The help of a command in a terminal of a width.
pub fn help(bed: &Bed, path: &[String], flag: &str, columns: usize) -> String {
    let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
    arguments.push(flag);
    let mut command = bed.command(&arguments);
    command.env("COLUMNS", columns.to_string());
    bed.finish(command).ok().stdout
}

#[test]
fn help_fits_its_terminal_and_short_help_has_one_line_per_flag() {
    let bed = Bed::new();
    for path in commands(&bed) {
        for columns in [80, 100] {
            for flag in ["-h", "--help"] {
                let text = help(&bed, &path, flag, columns);
                // The line of the usage is not wrapped.
                let mut lines = text.lines().filter(|line| !line.starts_with("Usage:"));
                let wide = lines.find(|line| line.chars().count() > columns);
                assert_eq!(wide, None, "{path:?} {flag} at {columns} columns");
                // A line of its own for each flag and argument: what goes on below is indented more.
                let further = |line: &&str| line.starts_with("         ");
                let broken = text.lines().find(|line| flag == "-h" && further(line));
                assert_eq!(broken, None, "{path:?} {flag} at {columns} columns");
            }
        }
    }
}

#[test]
fn every_flag_and_argument_has_a_text() {
    let bed = Bed::new();
    for path in commands(&bed) {
        let text = help(&bed, &path, "-h", 100);
        let items = text.lines().filter(|line| line.starts_with("  ") && !line.contains("Usage"));
        for line in items {
            let has_text =
                line.trim_start().split_once("  ").is_some_and(|(_, text)| text.len() > 4);
            assert!(has_text, "{path:?}: {line:?}");
        }
    }
}

#[test]
fn all_algorithms_are_named() {
    let bed = Bed::new();
    let text = help(&bed, &["anonymize".into()], "--help", 100);
    let words: Vec<&str> = text.split([' ', ',', '.', '\n', ';']).collect();
    for (name, ..) in scumble::policy::Algorithm::NAMES {
        assert!(words.contains(&name), "--help does not name {name}");
    }
}

/// The words that bash offers after these, with the script of the command.
fn completed(bed: &Bed, words: &[&str]) -> Option<Vec<String>> {
    let last = words.len() - 1;
    let typed: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let before = if last > 0 { words[last - 1] } else { "" };
    let script = format!(
        "source completions.bash; COMP_WORDS=({}); COMP_CWORD={last}; COMP_LINE='{}'; \
         COMP_POINT=${{#COMP_LINE}}; complete -p scumble > /dev/null || exit 1; \
         _scumble scumble '{}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        typed.join(" "),
        words.join(" "),
        words[last]
    );
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &script]).current_dir(bed.path("."));
    let Ok(output) = bash.output() else {
        crate::bed::skipped("there is no bash");
        return None;
    };
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect())
}

#[test]
fn bash_completes_commands_flags_and_values() {
    let bed = Bed::new();
    bed.file("completions.bash", bed.run(&["completions", "bash"]).ok().stdout);
    let Some(commands) = completed(&bed, &["scumble", "a"]) else { return };
    assert_eq!(commands, ["anonymize", "apply", "advise"]);
    let of = |words: &[&str]| completed(&bed, words).unwrap();
    assert_eq!(of(&["scumble", "anonymize", "t.csv", "--sup"]), ["--suppression"]);
    assert_eq!(of(&["scumble", "generate", "cen"]), ["census"]);
    assert_eq!(of(&["scumble", "anonymize", "--strategy", "b"]), ["best-first", "bottom-up"]);
    assert_eq!(of(&["scumble", "hierarchy", "dr"]), ["draw"]);
    // What a command refuses is not offered.
    assert_eq!(of(&["scumble", "risk", "--thr"]), ["--threshold", "--threads"]);
    for refused in ["--loss", "--supp"] {
        let offered = of(&["scumble", "risk", refused]);
        assert!(offered.iter().all(|word| !word.starts_with("--")), "{offered:?}");
    }
}

#[test]
fn every_shell_has_a_script() {
    let bed = Bed::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = bed.run(&["completions", shell]).ok().stdout;
        assert!(script.contains("extra-suppression"), "{shell}: {script}");
        let report = bed.run(&["completions", shell, "--json"]).ok().json();
        assert_eq!(report["script"], script, "{shell}");
    }
    bed.run(&["completions", "tcl"]).fails_with(2, "tcl").says("zsh");
}

/// The complaints of a program that reads man pages, if it exists.
fn complaints(program: &str, arguments: &[&str], page: &std::path::Path) -> Option<String> {
    let output = Command::new(program).args(arguments).arg(page).env("LC_ALL", "C.UTF-8").output();
    let output = output.ok().filter(|output| output.status.code() != Some(127))?;
    let complaints = [output.stdout, output.stderr][usize::from(program == "man")].clone();
    assert!(output.status.success() || program == "mandoc", "{program}: {complaints:?}");
    Some(String::from_utf8_lossy(&complaints).into_owned())
}

#[test]
fn every_command_has_a_man_page_without_warnings() {
    let bed = Bed::new();
    let outcome = bed.run(&["man", "share/man1"]).ok();
    let mut expected: Vec<String> = commands(&bed)
        .into_iter()
        .map(|path| {
            let path = [vec!["scumble".to_string()], path].concat().join("-");
            format!("share/man1/{path}.1")
        })
        .collect();
    expected.sort();
    let mut listed: Vec<&str> = outcome.stdout.lines().collect();
    listed.sort_unstable();
    assert_eq!(listed, expected);
    assert_eq!(bed.names(), expected);
    let page = bed.read("share/man1/scumble-anonymize.1");
    assert!(page.contains("extra\\-suppression") && page.contains("Examples"), "{page}");
    assert!(!page.contains('\u{1b}'), "{page}");
    let page = bed.read("share/man1/scumble-risk.1");
    assert!(!page.contains("suppression"), "what the command refuses is not shown: {page}");
    let mut read = 0;
    for name in &expected {
        if let Some(complaints) = complaints("man", &["--warnings", "-l"], &bed.path(name)) {
            assert_eq!(complaints, "", "{name}");
            read += 1;
        }
        if let Some(complaints) =
            complaints("mandoc", &["-T", "lint", "-W", "error"], &bed.path(name))
        {
            assert_eq!(complaints, "", "{name}");
            read += 1;
        }
    }
    if read == 0 {
        crate::bed::skipped("there is neither man nor mandoc");
    }
}

/// The result goes to standard output as JSON, and a folder that cannot be made is refused.
#[test]
fn man_reports_its_files() {
    let bed = Bed::new();
    let report = bed.run(&["man", "pages", "--json"]).ok().json();
    assert_eq!(report["files"].as_array().unwrap().len(), bed.names().len());
    bed.file("taken", "");
    let outcome: Outcome = bed.run(&["man", "taken"]);
    outcome.complains().says("taken: cannot create");
}

#[test]
fn a_mistake_points_to_the_help_of_its_command() {
    let bed = Bed::people();
    bed.anonymize(&["--nonsense"]).fails_with(2, "see scumble anonymize --help");
    bed.run(&["hierarchy", "draw", "--nonsense"])
        .fails_with(2, "see scumble hierarchy draw --help");
    bed.run(&["nonsense"]).fails_with(2, "see scumble --help");
}

/// The synopsis of a page is the usage of help, and not a list of all flags.
#[test]
fn the_synopsis_of_a_man_page_is_short() {
    let bed = Bed::new();
    bed.run(&["man", "pages"]).ok();
    let page = bed.read("pages/scumble-anonymize.1");
    let (_, rest) = page.split_once("\n.SH SYNOPSIS\n").unwrap();
    let (synopsis, description) = rest.split_once("\n.SH DESCRIPTION\n").unwrap();
    let usage = "scumble anonymize [OPTIONS] \\-\\-policy <FILE> \\-\\-output <FILE> <INPUT>";
    assert_eq!(synopsis, usage);
    assert!(description.contains(".SH OPTIONS\n") && description.contains("suppression"));
}
