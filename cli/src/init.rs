//! What `init` says: which roles it guessed, what to check first, and what to run next.

use crate::args::FormatArg;
use clap::ValueEnum;
use scumble::{Role, Suggestion};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The maximum number of columns that are named because of a doubt.
const MOST_DOUBTS: usize = 5;

/// The report.
pub fn json(suggestion: &Suggestion, files: &[PathBuf]) -> Value {
    let mut json = suggestion.to_json();
    json["policy"] = json!(files.first());
    json["hierarchies"] = json!(files.get(1..).unwrap_or_default());
    json
}

/// The same for people.
pub fn text(
    suggestion: &Suggestion,
    input: &Path,
    format: Option<FormatArg>,
    files: &[PathBuf],
) -> String {
    let [policy, hierarchies @ ..] = files else { return String::new() };
    let mut text = format!("wrote {}", policy.display());
    if let Some(folder) = hierarchies.first().and_then(|file| file.parent()) {
        let (number, folder) = (hierarchies.len(), folder.display());
        let plural = if number == 1 { "hierarchy" } else { "hierarchies" };
        let _ = write!(text, " and {number} {plural} in {folder}");
    }
    let _ = writeln!(text, "\nroles guessed: {}", roles(suggestion));
    let checks = checks(suggestion);
    if !checks.is_empty() {
        text += "check first:\n";
        text.extend(checks.iter().map(|check| format!("  {check}\n")));
    }
    let format = format.and_then(|format| format.to_possible_value());
    let format = format.map_or(String::new(), |value| format!(" --format {}", value.get_name()));
    let _ = writeln!(
        text,
        "check every role, then run\n  scumble anonymize {}{format} --policy {} -o release.csv",
        typed(input),
        typed(policy),
    );
    text
}

/// A path as one word of a shell.
fn typed(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |one: char| one.is_alphanumeric() || "_-./,:@%+=".contains(one);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// How many columns have each role.
fn roles(suggestion: &Suggestion) -> String {
    let names = [
        (Role::Identifier, "identifier"),
        (Role::QuasiIdentifier, "quasi-identifier"),
        (Role::Sensitive, "sensitive"),
    ];
    let count = |(role, name): (Role, &str)| {
        let count = suggestion.columns().iter().filter(|column| column.role == role).count();
        let plural = if count == 1 || role == Role::Sensitive { "" } else { "s" };
        format!("{count} {name}{plural}")
    };
    names.map(count).join(", ")
}

/// What is most likely to be wrong, or to matter most.
fn checks(suggestion: &Suggestion) -> Vec<String> {
    let mut checks = Vec::new();
    let names = |columns: &[String]| {
        let plain = |name: &String| name.replace(char::is_control, " ");
        columns.iter().map(plain).collect::<Vec<_>>().join(", ")
    };
    if let Some((columns, alone, rows)) = suggestion.singling_out().first() {
        let (which, verb) = if columns.len() == 1 {
            ("it singles", "it")
        } else {
            ("together they single", "them")
        };
        let columns = names(columns);
        checks.push(format!(
            "{columns}: {which} out {alone} of {rows} sampled rows; keep {verb} generalized"
        ));
    }
    let columns = suggestion.columns();
    let sensitive = columns.iter().filter(|column| column.role == Role::Sensitive);
    if sensitive.count() == 0 {
        checks.push("no column was found to be sensitive; if one is, give it that role".into());
    }
    let doubtful = columns.iter().filter(|column| !column.doubts.is_empty());
    for column in doubtful.clone().take(MOST_DOUBTS) {
        let name = names(std::slice::from_ref(&column.name));
        checks.push(format!("{name}: {}", column.doubts[0]));
    }
    let more = doubtful.count().saturating_sub(MOST_DOUBTS);
    if more > 0 {
        checks.push(format!("{more} more columns with doubts; see their comments"));
    }
    checks
}
