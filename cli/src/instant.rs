//! Summaries and estimates: what was typed about them, and what is shown of them.

use crate::args::{AnonymizeInstantArgs, BelieveArgs, BuildArgs};
use crate::failure::{Failure, Result};
use crate::run::{Flag, name_of};
use crate::show::{duration, thousands};
use scumble::{Estimated, Estimation, Policy, Summary};
use serde_json::{Value, json};
use std::fmt::Write;
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
pub fn summary(summary: &Summary, seconds: f64, input: &Path, output: &Path) -> String {
    let attributes: Vec<String> = summary
        .attributes
        .iter()
        .map(|attribute| format!("{} {}", attribute.name, attribute.values.len()))
        .collect();
    format!(
        "{} -> {}: {} of {} rows, built in one scan in {}\n  distinct values: {}\n",
        input.display(),
        output.display(),
        article(summary.kind().name()),
        thousands(summary.rows.into()),
        duration(seconds),
        attributes.join(", ")
    )
}

/// What was estimated, for people.
pub fn estimation(estimation: &Estimation, file: &Path) -> String {
    let list = &estimation.candidates;
    let mut text = format!(
        "{}: {} of {} rows; {} recodings estimated in {}, {} are likely to hold\n",
        file.display(),
        article(&estimation.summary),
        thousands(estimation.rows.into()),
        thousands(estimation.visited.into()),
        duration(estimation.seconds),
        thousands(list.len() as u128)
    );
    let Some(first) = list.first() else { return text };
    let (Estimated::Levels(named) | Estimated::Cuts(named)) = &first.recoding;
    let names: Vec<&str> = named.keys().map(String::as_str).collect();
    let _ = writeln!(
        text,
        "  {:>10} {:>11} {:>14}  levels of {}",
        if first.loss.lm_weighted.is_some() { "weighted" } else { "LM" },
        "probability",
        "expected to fail",
        names.join(", ")
    );
    for candidate in list.iter().take(SHOWN) {
        let told = match &candidate.recoding {
            Estimated::Levels(levels) => {
                levels.values().map(Value::to_string).collect::<Vec<_>>().join(" ")
            }
            Estimated::Cuts(cuts) => {
                let values = |cut: &Value| cut.as_array().map_or(0, Vec::len).to_string();
                let values: Vec<String> = cuts.values().map(values).collect();
                format!("cuts of {} values", values.join(" "))
            }
        };
        let _ = writeln!(
            text,
            "  {:>10.6} {:>11.4} {:>14.1}    {told}",
            candidate.loss.lm_weighted.unwrap_or(candidate.loss.lm),
            candidate.probability,
            candidate.expected_outliers
        );
    }
    if list.len() > SHOWN {
        let _ = writeln!(text, "  … and {} more; use --json to list all", list.len() - SHOWN);
    }
    text
}
