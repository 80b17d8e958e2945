//! Output for people.

use crate::failure::{Failure, Result};
use scumble::{
    ClassCounts, Judged, RecodingReport, ReleaseKind, Report, Risk, Risks, SearchReport,
    Verification,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Writes to standard output. Every command does so here.
pub fn print(text: &str) -> Result<()> {
    written(std::io::stdout().lock().write_all(text.as_bytes()))
}

/// Prints help or the version, in colour on a terminal.
pub fn print_help(help: &clap::Error) -> Result<()> {
    written(help.print())
}

/// Whether everything has reached standard output. A reader that closed the pipe has seen enough,
/// as `head` has: that is not an error.
fn written(written: std::io::Result<()>) -> Result<()> {
    match written.and_then(|()| std::io::stdout().lock().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::StandardOutput(error))
        }
        _ => Ok(()),
    }
}

/// Writes to standard error, if the release is on standard output.
pub fn print_error(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Prints one line on standard error: where the problem is, what is wrong, and what to do.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "scumble: {line}");
}

/// The message of the argument parser as one line, without the usage.
pub fn one_line(error: &clap::Error) -> String {
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "expected a command, such as anonymize; see scumble --help".into();
    }
    let message = error.to_string();
    let parts = message.split("\n\n");
    let usage = parts.clone().find_map(|part| part.strip_prefix("Usage: ")).unwrap_or("scumble");
    let told = parts.filter(|part| !part.starts_with("Usage:") && !part.starts_with("For more"));
    let words = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = told.map(words).collect::<Vec<_>>().join("; ");
    let is_name = |word: &&str| word.chars().all(|character| character.is_ascii_lowercase());
    let command = usage.split_whitespace().take_while(is_name).collect::<Vec<_>>().join(" ");
    format!("{}; see {command} --help", said.strip_prefix("error: ").unwrap_or(&said))
}

/// A whole number with its thousands apart.
pub fn thousands(number: u128) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A number with its noun.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number.into()), if number == 1 { one } else { many })
}

pub fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 1e-3 => format!("{:.0} µs", seconds * 1e6),
        _ if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}

pub fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 })
}

pub fn figure(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number}") } else { format!("{number:.4}") }
}

pub fn judged(text: &mut String, judged: &Judged) {
    let kind = judged.kind.as_ref().map_or(String::new(), |kind| format!("{kind} "));
    let about = judged.sensitive.as_ref().map_or(String::new(), |name| format!(" of {name}"));
    let also: String = judged
        .parameters
        .iter()
        .map(|(name, value)| format!(" with {name} = {}", figure(value.0)))
        .collect();
    let verdict = if judged.satisfied { "holds" } else { "FAILS" };
    let reached = reached(judged);
    let _ = writeln!(text, "  {verdict}  {kind}{}{about}{also}: {reached}", judged.requirement);
}

/// What a requirement asks, and what was reached.
fn reached(judged: &Judged) -> String {
    let worst = judged.worst.as_ref();
    if judged.is_per_value() {
        // A figure would be a multiple of a cap that nobody sees.
        return worst.map_or("no value with a cap".into(), |worst| format!("worst is {worst}"));
    }
    let limit = if judged.is_minimum() { "at least" } else { "at most" };
    let reached = judged.achieved.map_or("nothing measured".into(), |reached| figure(reached.0));
    let by = worst.map_or(String::new(), |worst| format!(" by `{}`", worst.value));
    format!("required {limit} {}, reached {reached}{by}", figure(judged.required.0))
}

fn classes(text: &mut String, classes: &ClassCounts) {
    let _ = writeln!(
        text,
        "  {}; smallest {}, average {:.1} rows",
        counted(classes.classes, "class", "classes"),
        counted(classes.smallest_class, "row", "rows"),
        classes.average_class
    );
}

/// How many rows were released.
pub fn released(text: &mut String, report: &Report) {
    let _ = writeln!(
        text,
        "  {} of {} released, {} suppressed ({})",
        thousands(report.released.into()),
        counted(report.rows, "row", "rows"),
        thousands(report.suppressed.into()),
        share(report.suppressed, report.rows)
    );
    if let Some(values) = report.suppressed_values {
        let _ = writeln!(
            text,
            "  {} suppressed in released rows ({})",
            counted(values, "sensitive value", "sensitive values"),
            share(values, report.released)
        );
    }
    let extra = report.private.as_ref().and_then(|private| private.extra_suppressed);
    if let Some(extra) = extra {
        let extra = thousands(extra.into());
        let _ = writeln!(text, "  {extra} of them at random (extra suppression)");
    }
}

/// The summary of a release.
pub fn report(report: &Report, input: &Path, output: &Path) -> String {
    let mut text = format!("{} -> {}\n", input.display(), output.display());
    released(&mut text, report);
    classes(&mut text, &report.classes);
    report.privacy.iter().for_each(|one| judged(&mut text, one));
    for same in &report.same_value {
        same_value(&mut text, &same.sensitive, same.classes, same.rows);
    }
    notes(&mut text, &report.notes);
    if let ReleaseKind::Table { loss, recoding, search } = &report.release {
        let _ = write!(text, "  loss: LM {:.4}", loss.lm);
        if let Some(weighted) = loss.lm_weighted {
            let _ = write!(text, ", weighted LM {weighted:.4}");
        }
        let of_owner = report.private.as_ref();
        let of_input = of_owner.map(|private| private.loss).unwrap_or_default();
        if let Some(entropy) = of_input.entropy {
            let _ = write!(text, ", entropy {entropy:.2} bits per value");
        }
        if let Some(cm) = loss.cm {
            let _ = write!(text, ", CM {cm:.4}");
        }
        let _ = writeln!(text);
        avoidable(&mut text, "LM", Some(loss.lm), loss.lm_bound);
        avoidable(&mut text, "weighted LM", loss.lm_weighted, loss.lm_weighted_bound);
        if let Some(open) = of_input.conditional_entropy {
            let rmse = of_input.rmse.map_or(String::new(), |rmse| format!(", RMSE {rmse:.4}"));
            let _ = writeln!(text, "  target: conditional entropy {open:.4} bits per row{rmse}");
        }
        alternatives(&mut text, report);
        decided(&mut text, recoding, |name| of_owner.and_then(|private| private.height(name)));
        if let Some(search) = search {
            let proof = of_owner.and_then(|private| private.search);
            let proven = proof.map(|proof| SearchReport {
                optimal: proof.optimal,
                lower_bound: proof.lower_bound,
                cost: proof.cost.or(search.cost),
                ..search.clone()
            });
            searched(&mut text, proven.as_ref().unwrap_or(search));
        }
    }
    let total: f64 = report.phases.iter().map(|phase| phase.seconds).sum();
    let _ = write!(text, "  verified; {} in total", duration(total));
    let _ = if crate::ends::is_standard(output) {
        writeln!(text)
    } else {
        let _ = writeln!(text);
        writeln!(
            text,
            "  {}.report.json may be published with the release; {}.private.json may not",
            output.display(),
            output.display()
        )
    };
    text
}

/// How much of a loss another release could avoid at most, rounded up.
fn avoidable(text: &mut String, name: &str, lm: Option<f64>, bound: Option<f64>) {
    let Some((lm, bound)) = lm.zip(bound.filter(|bound| *bound > 0.0)) else { return };
    let (above, share) = ((lm - bound).max(0.0), (1.0 - bound / lm).max(0.0));
    let (above, share) = ((above * 1e4).ceil() / 1e4, (share * 1e3).ceil() / 10.0);
    let _ = writeln!(
        text,
        "  at most {above:.4} ({share:.1} %) of the {name} could be avoided, proven"
    );
}

/// What other kinds of recoding would have lost.
fn alternatives(text: &mut String, report: &Report) {
    let kind = |recoding: &str| match recoding {
        "levels" => "one level per column".to_string(),
        "cuts" => "one cut per column".to_string(),
        other => format!("{other} recoding").replace("regions recoding", "regions"),
    };
    for other in &report.alternatives {
        let suppressed = match other.suppressed {
            0 => String::new(),
            rows => format!(", {} suppressed", counted(rows, "row", "rows")),
        };
        let weighted = other.loss.lm_weighted;
        let weighted = weighted.map_or(String::new(), |lm| format!(", weighted LM {lm:.4}"));
        let _ = writeln!(
            text,
            "  instead with {} ({}): LM {:.4}{weighted}{suppressed}",
            kind(&other.recoding),
            other.algorithm,
            other.loss.lm
        );
    }
}

fn decided(text: &mut String, recoding: &RecodingReport, height: impl Fn(&str) -> Option<usize>) {
    match recoding {
        RecodingReport::FullDomain { levels } => {
            let level = |(name, level): &(String, usize)| match height(name) {
                Some(height) => format!("{name} {level}/{height}"),
                None => format!("{name} {level}"),
            };
            let levels = levels.iter().map(level).collect::<Vec<String>>().join(", ");
            let _ = writeln!(text, "  levels (0 = unchanged): {levels}");
        }
        RecodingReport::Cuts { cuts } => {
            let cuts: Vec<String> =
                cuts.iter().map(|(name, labels)| format!("{name} {}", labels.len())).collect();
            let _ = writeln!(text, "  distinct values in the release: {}", cuts.join(", "));
        }
        RecodingReport::Regions { .. } | RecodingReport::Local { .. } => {}
    }
}

fn searched(text: &mut String, search: &SearchReport) {
    let (visited, seconds) = (thousands(search.visited.into()), duration(search.seconds));
    let space = search.space.map_or(String::new(), |space| format!(" of {}", thousands(space)));
    let _ = match (search.minimal, search.optimal, search.lower_bound, search.cost) {
        (Some(true), ..) => writeln!(text, "  no allowable split is left; {seconds}"),
        (Some(false), ..) => writeln!(text, "  an allowable split may be left; {seconds}"),
        (_, Some(true), ..) => {
            writeln!(text, "  proven optimal; {visited}{space} recodings evaluated in {seconds}")
        }
        (_, _, Some(bound), Some(cost)) if bound > 0.0 => writeln!(
            text,
            "  cost {cost:.6}, lower bound {bound:.6}; {visited}{space} recodings evaluated in \
             {seconds}"
        ),
        (_, _, Some(_), Some(cost)) => writeln!(
            text,
            "  cost {cost:.6}, not proven optimal; {visited}{space} recodings evaluated in {seconds}"
        ),
        _ if search.believed.is_some() => {
            writeln!(text, "  not proven optimal; {visited} recodings estimated in {seconds}")
        }
        _ => writeln!(text, "  not proven optimal; {visited} steps in {seconds}"),
    };
    if let Some(believed) = &search.believed {
        let _ = writeln!(
            text,
            "  estimated from {}: holds with probability {:.4}, {:.1} rows expected to fail; {} of \
             {} candidates checked",
            crate::instant::article(&believed.summary),
            believed.probability,
            believed.outliers,
            believed.checks,
            believed.candidates
        );
    }
}

/// The summary of a re-check.
pub fn verification(verification: &Verification, release: &Path) -> String {
    let rows = thousands(verification.released.into());
    let mut text = format!("{}: {rows} rows\n", release.display());
    classes(&mut text, &verification.classes);
    verification.privacy.iter().for_each(|one| judged(&mut text, one));
    for same in &verification.same_value {
        same_value(&mut text, &same.sensitive, same.classes, same.rows);
    }
    problems(&mut text, verification);
    notes(&mut text, &verification.notes);
    text
}

/// A sensitive attribute that can be learnt although every requirement holds.
pub fn same_value(text: &mut String, sensitive: &str, classes: u64, rows: u64) {
    let _ = writeln!(
        text,
        "  note: no requirement protects `{sensitive}`; everybody has the same value in {} ({})",
        counted(classes, "class", "classes"),
        counted(rows, "person", "people")
    );
}

/// What is worth knowing though nothing is wrong.
pub fn notes(text: &mut String, notes: &[String]) {
    for note in notes {
        let _ = writeln!(text, "  note: {note}");
    }
}

/// Problems other than failed requirements.
pub fn problems(text: &mut String, verification: &Verification) {
    for problem in &verification.problems {
        let _ = writeln!(text, "  FAILS  {problem}");
    }
}

/// Risks as JSON.
pub fn risks_json(risks: &Risks) -> Value {
    let one = |risk: &Risk| json!({"highest": risk.highest, "average": risk.average, "above-threshold": risk.above_threshold});
    json!({
        "rows": risks.rows,
        "classes": risks.classes,
        "unique": risks.unique,
        "threshold": risks.threshold,
        "prosecutor": one(&risks.prosecutor),
        "journalist": one(&risks.journalist),
        "marketer": {"average": risks.marketer},
    })
}

/// Risks for people.
pub fn risks(risks: &Risks, file: &Path) -> String {
    let mut text = format!(
        "{}: {} rows in {} classes; {} rows are unique ({})\n",
        file.display(),
        thousands(risks.rows.into()),
        thousands(risks.classes.into()),
        thousands(risks.unique.into()),
        share(risks.unique, risks.rows)
    );
    let _ = writeln!(
        text,
        "  {:<12}{:>10}{:>10}{:>16}",
        "",
        "highest",
        "average",
        format!("above {}", risks.threshold)
    );
    for (name, risk) in [("prosecutor", risks.prosecutor), ("journalist", risks.journalist)] {
        let _ = writeln!(
            text,
            "  {name:<12}{:>9.2}%{:>9.2}%{:>14.1} %",
            100.0 * risk.highest,
            100.0 * risk.average,
            100.0 * risk.above_threshold
        );
    }
    let _ = writeln!(text, "  {:<12}{:>10}{:>9.2}%", "marketer", "", 100.0 * risks.marketer);
    text
}
