//! Summaries and estimates: what was typed about them, and what is shown of them.

use crate::args::{AnonymizeInstantArgs, BelieveArgs, BuildArgs};
use crate::failure::{Failure, Result};
use crate::run::{Flag, name_of};
use crate::show::{about, counted, duration, heading, thousands};
use crate::text::{self, Text};
use scumble::{Estimated, Estimation, Policy, Summary};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Candidates that a person is shown.
const SHOWN: usize = 20;

/// What the flags of `summarize` say about the summary.
pub fn building(args: &BuildArgs, rows: Option<u32>) -> Vec<Flag> {
    let flags = [
        Flag::given("--kind", "summary-kind", args.kind.map(name_of)),
        Flag::given("--max-parents", "max-parents", args.max_parents),
        Flag::given("--search", "structure-search", args.search.map(name_of)),
        Flag::given("--rows", "sample-rows", rows),
    ];
    flags.into_iter().flatten().collect()
}

/// What the flags of `estimate` say about estimates.
pub fn believing(args: &BelieveArgs) -> Vec<Flag> {
    let without = (!args.without.is_empty()).then(|| args.without.clone());
    let flags = [
        Flag::given("--without", "without", without),
        Flag::given("--by", "by", args.by.map(name_of)),
        Flag::given("--threshold", "threshold", args.threshold.map(|x| x.to_string())),
    ];
    flags.into_iter().flatten().collect()
}

/// Refuses flags of instant algorithms if another algorithm runs: they would have no effect.
pub fn check(args: &AnonymizeInstantArgs, policy: &Policy) -> Result<()> {
    let given = [
        ("--summary", args.summary.is_some()),
        ("--summary-kind", args.summary_kind.is_some()),
        ("--by", args.believe.by.is_some()),
        ("--threshold", args.believe.threshold.is_some()),
    ];
    let is_instant = policy.search().algorithm.is_instant();
    if let Some((flag, _)) = given.iter().find(|(_, given)| *given && !is_instant) {
        return Err(Failure::Usage(format!(
            "{flag} requires the algorithm s-instant or m-instant"
        )));
    }
    if args.summary.is_some() && args.summary_kind.is_some() {
        return Err(Failure::Usage("--summary-kind cannot be used with --summary".into()));
    }
    Ok(())
}

/// What a kind of summary is called in a sentence.
pub fn article(kind: &str) -> &'static str {
    match kind {
        "bayes" => "a Bayesian network",
        "sample" => "a sample",
        _ => "a histogram",
    }
}

/// A summary that was written, for scripts.
pub fn summary_json(summary: &Summary, scans: u64, seconds: f64, output: &Path) -> Value {
    let attributes: Vec<Value> = summary
        .attributes
        .iter()
        .map(|attribute| json!({"name": attribute.name, "values": attribute.values.len()}))
        .collect();
    json!({
        "rows": summary.rows,
        "summary": summary.kind().name(),
        "file": output,
        "attributes": attributes,
        "data-scans": scans,
        "seconds": seconds,
    })
}

/// A summary that was written, for people.
pub fn summary(summary: &Summary, seconds: f64, input: &Path, output: &Path) -> Text {
    let attributes: Vec<String> = summary
        .attributes
        .iter()
        .map(|attribute| format!("{} {}", attribute.name, attribute.values.len()))
        .collect();
    let mut text = heading(input, output);
    let _ = writeln!(
        text,
        "  {} of {}, built in one scan in {}\n  distinct values: {}\n  \
         it has frequencies of the input and must not be published",
        article(summary.kind().name()),
        counted(summary.rows, "row", "rows"),
        duration(seconds),
        attributes.join(", ")
    );
    text
}

/// What was estimated, for people. A recoding may have been given instead of searched.
pub fn estimation(estimation: &Estimation, file: &Path, is_given: bool) -> Text {
    let list = &estimation.candidates;
    let likely = match list.len() {
        // The recoding that was asked for is listed in any case.
        _ if is_given => String::new(),
        // Nobody knows how likely the others are.
        _ if !estimation.not_estimated.is_empty() => String::new(),
        0 => ", none is likely to hold".to_string(),
        1 => ", 1 is likely to hold".to_string(),
        several => format!(", {} are likely to hold", thousands(several as u128)),
    };
    let mut text = about(
        file,
        &format!(
            "{} of {}; {} estimated in {}{likely}",
            article(&estimation.summary),
            counted(estimation.rows, "row", "rows"),
            counted(estimation.visited, "recoding", "recodings"),
            duration(estimation.seconds),
        ),
    );
    if !estimation.not_estimated.is_empty() {
        let names = estimation.not_estimated.join(", ");
        let _ = writeln!(text, "  not estimated, and left out of the figures: {names}");
    }
    let Some(first) = list.first() else { return text };
    let (Estimated::Levels(named) | Estimated::Cuts(named)) = &first.recoding;
    let loss = if first.loss.lm_weighted.is_some() { "weighted LM" } else { "LM" };
    let mut head = vec![loss, "probability", "rows expected to fail"];
    head.extend(named.keys().map(String::as_str));
    let mut table = text::table(&head, 0);
    for candidate in list.iter().take(SHOWN) {
        let mut row = vec![
            format!("{:.6}", candidate.loss.lm_weighted.unwrap_or(candidate.loss.lm)),
            format!("{:.4} ± {:.4}", candidate.probability, candidate.error.probability),
            format!(
                "{:.1} ± {:.1}",
                candidate.expected_outliers, candidate.error.expected_outliers
            ),
        ];
        match &candidate.recoding {
            Estimated::Levels(levels) => row.extend(levels.values().map(Value::to_string)),
            Estimated::Cuts(cuts) => {
                let values = |cut: &Value| cut.as_array().map_or(0, Vec::len).to_string();
                row.extend(cuts.values().map(values));
            }
        }
        table.add_row(row);
    }
    text.table(&table);
    let _ = writeln!(
        text,
        "  the last columns have the {}",
        match first.recoding {
            Estimated::Levels(_) => "level of each quasi-identifier (0 = unchanged)",
            Estimated::Cuts(_) => "number of values that each quasi-identifier keeps",
        }
    );
    if list.len() > SHOWN {
        let _ = writeln!(text, "  … and {} more; use --json to list all", list.len() - SHOWN);
    }
    text
}
