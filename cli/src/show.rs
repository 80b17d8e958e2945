//! Output for people.

use crate::failure::{Failure, Result};
use crate::text::{self, BAD, GOOD, HEADING, NOTE, Text};
use anstyle::Style;
use scumble::{
    ClassCounts, Error, Judged, RecodingReport, ReleaseKind, Report, Risks, SearchReport,
    Verification,
};
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
    let style = if text::on_error() { BAD } else { Style::new() };
    let _ = writeln!(std::io::stderr().lock(), "{style}scumble:{style:#} {line}");
}

/// Prints a line that is worth knowing on standard error.
pub fn remark(note: &str) {
    let style = if text::on_error() { NOTE } else { Style::new() };
    let _ = writeln!(std::io::stderr().lock(), "{style}scumble: note:{style:#} {note}");
}

/// What would make a release possible, if that was looked for: a line for each change.
pub fn remedies(failure: &Failure) -> Text {
    let mut text = Text::default();
    let Failure::Library(Error::CannotBeMet { refusal: Some(refusal), .. }) = failure else {
        return text;
    };
    let Some(found) = &refusal.remedies else { return text };
    let head = match (found.remedies.len(), &found.remedies_incomplete) {
        (0, Some(_)) => "",
        (0, None) => {
            "No single change of a number, of the suppression limit, of the recoding or of an \
             attribute makes a release possible.\n"
        }
        (1, _) => "This change makes a release possible:\n",
        _ => "Each of these changes makes a release possible:\n",
    };
    text.add(HEADING, head);
    for remedy in &found.remedies {
        let _ = writeln!(text, "  {remedy}");
    }
    if let Some(reason) = &found.remedies_incomplete {
        let open = match found.remedies.len() {
            0 => "Changes that make a release possible are not known",
            _ => "There may be others",
        };
        let _ = writeln!(text, "{open}: {reason}.");
    }
    text
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

/// Where a result comes from and where it went, as a heading.
pub fn heading(input: &Path, output: &Path) -> Text {
    let mut text = Text::default();
    text.add(HEADING, &format!("{} -> {}", input.display(), output.display()));
    let _ = writeln!(text);
    text
}

/// What a result is about, as a heading, with a fact.
pub fn about(file: &Path, fact: &str) -> Text {
    let mut text = Text::default();
    text.add(HEADING, &file.display().to_string());
    let _ = writeln!(text, ": {fact}");
    text
}

/// The beginning of a line: whether something holds.
pub fn verdict(text: &mut Text, holds: bool) {
    let _ = write!(text, "  ");
    if holds {
        text.add(GOOD, "holds")
    } else {
        text.add(BAD, "FAILS")
    }
    let _ = write!(text, "  ");
}

pub fn judged(text: &mut Text, judged: &Judged) {
    verdict(text, judged.satisfied);
    let worst = if judged.worst.is_some() && judged.is_per_value() { "worst is " } else { "" };
    let _ = writeln!(text, "{}: {worst}{}", judged.name(), judged.figures());
}

fn classes(text: &mut Text, classes: &ClassCounts) {
    let _ = writeln!(
        text,
        "  {}; smallest {}, average {:.1} rows",
        counted(classes.classes, "class", "classes"),
        counted(classes.smallest_class, "row", "rows"),
        classes.average_class
    );
}

/// How many rows were released.
pub fn released(text: &mut Text, report: &Report) {
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
pub fn report(report: &Report, input: &Path, output: &Path) -> Text {
    let mut text = heading(input, output);
    released(&mut text, report);
    classes(&mut text, &report.classes);
    report.privacy.iter().for_each(|one| judged(&mut text, one));
    for same in &report.same_value {
        same_value(&mut text, &same.sensitive, same.classes, same.rows);
    }
    notes(&mut text, &report.notes);
    if let ReleaseKind::Table { recoding, search, .. } = &report.release {
        let of_owner = report.private.as_ref();
        losses(&mut text, report);
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
    let _ = writeln!(text, "  verified; {} in total", duration(total));
    if !crate::ends::is_standard(output) {
        let output = output.display();
        let _ = writeln!(
            text,
            "  {output}.report.json may be published with the release; {output}.private.json may not"
        );
    }
    text
}

/// What was lost, and how much of it could be avoided.
fn losses(text: &mut Text, report: &Report) {
    let ReleaseKind::Table { loss, .. } = &report.release else { return };
    let _ = write!(text, "  loss: LM {:.4}", loss.lm);
    if let Some(weighted) = loss.lm_weighted {
        let _ = write!(text, ", weighted LM {weighted:.4}");
    }
    let of_input = report.private.as_ref().map(|private| private.loss).unwrap_or_default();
    if let Some(entropy) = of_input.entropy {
        let _ = write!(text, ", entropy {entropy:.2} bits per value");
    }
    if let Some(cm) = loss.cm {
        let _ = write!(text, ", CM {cm:.4}");
    }
    let _ = writeln!(text);
    avoidable(text, "LM", Some(loss.lm), loss.lm_bound);
    avoidable(text, "weighted LM", loss.lm_weighted, loss.lm_weighted_bound);
    if let Some(open) = of_input.conditional_entropy {
        let rmse = of_input.rmse.map_or(String::new(), |rmse| format!(", RMSE {rmse:.4}"));
        let _ = writeln!(text, "  target: conditional entropy {open:.4} bits per row{rmse}");
    }
}

/// How much of a loss another release could avoid at most, rounded up.
fn avoidable(text: &mut Text, name: &str, lm: Option<f64>, bound: Option<f64>) {
    let Some((lm, bound)) = lm.zip(bound.filter(|bound| *bound > 0.0)) else { return };
    let (above, share) = ((lm - bound).max(0.0), (1.0 - bound / lm).max(0.0));
    let (above, share) = ((above * 1e4).ceil() / 1e4, (share * 1e3).ceil() / 10.0);
    let _ = writeln!(
        text,
        "  at most {above:.4} ({share:.1} %) of the {name} could be avoided, proven"
    );
}

/// What other kinds of recoding would have lost.
fn alternatives(text: &mut Text, report: &Report) {
    if report.alternatives.is_empty() {
        return;
    }
    let kind = |recoding: &str| match recoding {
        "levels" => "one level per column".to_string(),
        "cuts" => "one cut per column".to_string(),
        "regions" => "regions".to_string(),
        other => format!("{other} recoding"),
    };
    let figures = |at: usize| {
        let loss = &report.alternatives[at].loss;
        [
            loss.lm_weighted.map(|lm| format!("{lm:.4}")),
            loss.dm.map(thousands),
            loss.cm.map(|cm| format!("{cm:.4}")),
        ]
    };
    let names = ["weighted LM", "DM", "CM"];
    let all = 0..report.alternatives.len();
    let is_known = |column: usize| all.clone().any(|at| figures(at)[column].is_some());
    let shown = [is_known(0), is_known(1), is_known(2)];
    let mut head = vec!["alternatives", "algorithm", "LM"];
    head.extend(names.into_iter().zip(shown).filter(|(_, shown)| *shown).map(|(name, _)| name));
    head.push("rows suppressed");
    let mut table = text::table(&head, 2);
    for (at, other) in report.alternatives.iter().enumerate() {
        let mut row = vec![kind(&other.recoding), other.algorithm.clone()];
        row.push(format!("{:.4}", other.loss.lm));
        for (is_shown, figure) in shown.iter().zip(figures(at)) {
            row.extend(is_shown.then(|| figure.unwrap_or_default()));
        }
        row.push(thousands(other.suppressed.into()));
        table.add_row(row);
    }
    text.table(&table);
}

fn decided(text: &mut Text, recoding: &RecodingReport, height: impl Fn(&str) -> Option<usize>) {
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

fn searched(text: &mut Text, search: &SearchReport) {
    let (visited, seconds) = (thousands(search.visited.into()), duration(search.seconds));
    let space = search.space.map_or(String::new(), |space| format!(" of {}", thousands(space)));
    let _ = match (search.minimal, search.optimal, search.lower_bound, search.cost) {
        (Some(true), ..) => {
            writeln!(text, "  minimal: no allowable split is left; searched in {seconds}")
        }
        (Some(false), ..) => {
            writeln!(text, "  an allowable split may be left; searched in {seconds}")
        }
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
        let failed = match (&believed.fallback, believed.candidates) {
            (None, _) => String::new(),
            (Some(algorithm), 0) => {
                format!("no recoding was likely to hold, so {algorithm} decided by the rows; ")
            }
            (Some(algorithm), _) => {
                format!(
                    "the recodings that were checked fail, so {algorithm} decided by the rows; "
                )
            }
        };
        let _ = writeln!(
            text,
            "  {failed}estimated from {}: it holds with probability {:.4}, and {:.1} rows are \
             expected to fail; {} of {} candidates checked",
            crate::instant::article(&believed.summary),
            believed.probability,
            believed.outliers,
            believed.checks,
            believed.candidates
        );
    }
}

/// The summary of a re-check.
pub fn verification(verification: &Verification, release: &Path) -> Text {
    let mut text = about(release, &counted(verification.released, "row", "rows"));
    classes(&mut text, &verification.classes);
    verification.privacy.iter().for_each(|one| judged(&mut text, one));
    problems(&mut text, verification);
    for same in &verification.same_value {
        same_value(&mut text, &same.sensitive, same.classes, same.rows);
    }
    notes(&mut text, &verification.notes);
    text
}

/// A sensitive attribute that can be learnt although every requirement holds.
pub fn same_value(text: &mut Text, sensitive: &str, classes: u64, rows: u64) {
    let classes = counted(classes, "class", "classes");
    let people = counted(rows, "person", "people");
    note(
        text,
        &format!(
            "no requirement protects `{sensitive}`; everybody has the same value in {classes} ({people})"
        ),
    );
}

/// Something worth knowing though nothing is wrong.
pub fn note(text: &mut Text, words: &str) {
    let _ = write!(text, "  ");
    text.add(NOTE, "note:");
    let _ = writeln!(text, " {words}");
}

/// The notes of a report.
pub fn notes(text: &mut Text, notes: &[String]) {
    notes.iter().for_each(|words| note(text, words));
}

/// Problems other than failed requirements.
pub fn problems(text: &mut Text, verification: &Verification) {
    for problem in &verification.problems {
        verdict(text, false);
        let _ = writeln!(text, "{problem}");
    }
}

/// Risks for people.
pub fn risks(risks: &Risks, file: &Path) -> Text {
    let unique = match risks.unique {
        0 => "no row is unique".into(),
        1 => format!("1 row is unique ({})", share(1, risks.rows)),
        rows => format!("{} rows are unique ({})", thousands(rows.into()), share(rows, risks.rows)),
    };
    let (rows, classes) =
        (counted(risks.rows, "row", "rows"), counted(risks.classes, "class", "classes"));
    let mut text = about(file, &format!("{rows} in {classes}; {unique}"));
    let above = format!("rows above {}", risks.threshold);
    let mut table = text::table(&["risk", "highest", "average", &above], 1);
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    for (name, risk) in [("prosecutor", risks.prosecutor), ("journalist", risks.journalist)] {
        let above = format!("{:.1} %", 100.0 * risk.above_threshold);
        table.add_row([name.into(), percent(risk.highest), percent(risk.average), above]);
    }
    table.add_row(["marketer".into(), String::new(), percent(risks.marketer), String::new()]);
    text.table(&table);
    text
}
