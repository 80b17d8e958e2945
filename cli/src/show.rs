//! What people see.

use scumble::jobs::Verification;
use scumble::release::{Decided, Judgement, Report, Risk, Risks, Verified};
use scumble::search::Warrant;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Writes to standard output; whoever has closed it does not want to know.
pub fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}

/// One line on standard error: what is wrong, where, and what to do.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "scumble: {line}");
}

/// What the argument parser says, as one line, without the usage that `--help` shows.
pub fn one_line(error: &clap::Error) -> String {
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a command is missing, such as anonymize; see scumble --help".into();
    }
    let message = error.to_string();
    let told = message
        .split("\n\n")
        .filter(|part| !part.starts_with("Usage:") && !part.starts_with("For more"));
    let words: Vec<&str> = told.flat_map(str::split_whitespace).collect();
    let said = words.join(" ");
    format!("{}; see scumble --help", said.strip_prefix("error: ").unwrap_or(&said))
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

pub fn judgement(text: &mut String, judgement: &Judgement, counted: &[String]) {
    let statement = &judgement.statement;
    let kind = statement.kind.map_or(String::new(), |kind| format!("{kind} "));
    let about = statement
        .column
        .and_then(|column| counted.get(column))
        .map_or(String::new(), |name| format!(" of {name}"));
    let also = statement
        .also
        .map_or(String::new(), |(name, value)| format!(" with {name} = {}", figure(value)));
    let limit = if statement.larger_is_safer { "at least" } else { "at most" };
    let reached = judgement.achieved.map_or("nothing to measure".into(), figure);
    let verdict = if judgement.satisfied() { "holds" } else { "FAILS" };
    let _ = writeln!(
        text,
        "  {verdict}  {kind}{}{about}{also}: {limit} {} asked, {reached} reached",
        statement.requirement,
        figure(statement.required)
    );
}

fn classes(text: &mut String, verified: &Verified) {
    let _ = writeln!(
        text,
        "  {} classes, the smallest of {} rows, {:.1} on average",
        thousands(verified.classes.into()),
        thousands(verified.smallest.into()),
        verified.average()
    );
}

/// The summary of a release.
pub fn report(report: &Report, input: &Path, output: &Path) -> String {
    let mut text = format!("{} -> {}\n", input.display(), output.display());
    let verified = &report.verified;
    let _ = writeln!(
        text,
        "  {} of {} rows released, {} suppressed ({})",
        thousands(verified.rows.into()),
        thousands(report.rows.into()),
        thousands(report.suppressed.into()),
        share(report.suppressed, report.rows)
    );
    classes(&mut text, verified);
    for one in &verified.privacy {
        judgement(&mut text, one, &report.counted);
    }
    let losses = &report.losses;
    let _ = write!(text, "  detail lost: LM {:.4}", losses.lm);
    if let Some(entropy) = losses.entropy {
        let _ = write!(text, ", entropy {entropy:.2} bits a value");
    }
    if let Some(target) = losses.target {
        let _ = write!(text, ", CM {:.4}", target.cm);
    }
    let _ = writeln!(text);
    if let Some(target) = losses.target {
        let rmse = target.rmse.map_or(String::new(), |rmse| {
            format!("; its class's mean misses it by {rmse:.4} (RMSE)")
        });
        let _ = writeln!(
            text,
            "  target: {:.4} bits a row left open{rmse}",
            target.conditional_entropy
        );
    }
    match &report.decided {
        Decided::Levels(levels) => {
            let levels: Vec<String> = levels
                .iter()
                .map(|(name, level, height)| format!("{name} {level}/{height}"))
                .collect();
            let _ = writeln!(
                text,
                "  levels (0 as it is, the last nothing left): {}",
                levels.join(", ")
            );
        }
        Decided::Cuts(cuts) => {
            let cuts: Vec<String> =
                cuts.iter().map(|(name, labels)| format!("{name} {}", labels.len())).collect();
            let _ = writeln!(text, "  values left of each column: {}", cuts.join(", "));
        }
        Decided::Regions(..) => {}
    }
    if let Some(searched) = &report.searched {
        let _ = match (searched.warrant, searched.space) {
            (Warrant::Minimal(true), _) => {
                writeln!(text, "  no allowable split is left; {}", duration(searched.seconds))
            }
            (Warrant::Minimal(false), _) => {
                writeln!(text, "  an allowable split may be left; {}", duration(searched.seconds))
            }
            (Warrant::Likely, _) => {
                let (visited, seconds) =
                    (thousands(searched.visited.into()), duration(searched.seconds));
                writeln!(
                    text,
                    "  not proven to be the best; {visited} recodings were estimated; {seconds}"
                )
            }
            (warrant, space) => {
                let space =
                    space.map_or(String::new(), |space| format!(" of {}", thousands(space)));
                let proven = match (warrant, searched.cost) {
                    (Warrant::AtLeast(bound), Some(cost)) if bound <= 0.0 => {
                        format!("cost {cost:.6}, not proven to be the best{space} recodings")
                    }
                    (Warrant::AtLeast(bound), Some(cost)) => {
                        format!("cost {cost:.6}, and no recoding{space} costs less than {bound:.6}")
                    }
                    _ => format!("proven to be the best{space} recodings"),
                };
                let (visited, seconds) =
                    (thousands(searched.visited.into()), duration(searched.seconds));
                writeln!(text, "  {proven}; {visited} were evaluated in {seconds}")
            }
        };
    }
    if let Some(believed) = report.searched.as_ref().and_then(|searched| searched.believed.as_ref())
    {
        let _ = writeln!(
            text,
            "  believed from {}: holds with probability {:.4}, {:.1} rows expected to fail; {} of {} candidates checked",
            crate::instant::article(believed.summary),
            believed.probability,
            believed.outliers,
            believed.checks,
            believed.candidates
        );
    }
    let total: f64 = report.phases.iter().map(|phase| phase.seconds).sum();
    let _ = writeln!(
        text,
        "  verified on the written file; {} in all; see {}.report.json",
        duration(total),
        output.display()
    );
    text
}

/// The summary of a re-check.
pub fn verification(verification: &Verification, release: &Path) -> String {
    let mut text =
        format!("{}: {} rows\n", release.display(), thousands(verification.verified.rows.into()));
    classes(&mut text, &verification.verified);
    for one in &verification.verified.privacy {
        judgement(&mut text, one, &verification.counted);
    }
    for problem in &verification.problems {
        let _ = writeln!(text, "  FAILS  {problem}");
    }
    text
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
        "{}: {} rows in {} classes; {} rows are alone in theirs ({})\n",
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
