//! Summaries and estimates: what was typed about them, and what is shown of them.

use crate::args::{AnonymizeInstantArgs, BelieveArgs, BuildArgs};
use crate::run::{Flag, name_of, wrong};
use crate::show::{duration, thousands};
use scumble::error::Result;
use scumble::jobs::{Estimation, InstantOptions};
use scumble::policy::Policy;
use scumble::recoding::Mapping;
use scumble::summary::Summary;
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

/// The shortcuts that estimates go without.
pub fn without(args: &BelieveArgs) -> Vec<Flag> {
    let given = (!args.without.is_empty()).then(|| args.without.clone());
    Flag::given("--without", "without", given).into_iter().collect()
}

/// How estimates are to be judged.
pub fn believing(args: &BelieveArgs, options: InstantOptions) -> InstantOptions {
    InstantOptions { by: args.by.map(Into::into), threshold: args.threshold, ..options }
}

/// What concerns searches by belief; given with another algorithm it would be silently without
/// effect.
pub fn options(
    args: AnonymizeInstantArgs,
    policy: &Policy,
    seed: Option<u64>,
) -> Result<InstantOptions> {
    let given = [
        ("--summary", args.summary.is_some()),
        ("--summary-kind", args.summary_kind.is_some()),
        ("--by", args.believe.by.is_some()),
        ("--threshold", args.believe.threshold.is_some()),
    ];
    if let Some((flag, _)) =
        given.iter().find(|(_, given)| *given && !policy.search().algorithm.is_instant())
    {
        return Err(wrong(flag, "given", "the algorithm s-instant or m-instant".into()));
    }
    if !policy.search().algorithm.is_instant() {
        return Ok(InstantOptions::default());
    }
    if args.summary.is_some() && args.summary_kind.is_some() {
        return Err(wrong(
            "--summary-kind",
            "given",
            "no --summary, which has a kind of its own".into(),
        ));
    }
    let options = InstantOptions {
        summary: args.summary,
        seed: seed.unwrap_or(0),
        ..InstantOptions::default()
    };
    Ok(believing(&args.believe, options))
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
pub fn summary_json(summary: &Summary, seconds: f64, output: &Path) -> Value {
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
        "data-scans": 1,
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
        "{} -> {}: {} of {} rows, read once in {}\n  values of each attribute: {}\n",
        input.display(),
        output.display(),
        article(summary.kind().name()),
        thousands(summary.rows.into()),
        duration(seconds),
        attributes.join(", ")
    )
}

/// What is believed, for people.
pub fn estimation(estimation: &Estimation, file: &Path) -> String {
    let list = &estimation.candidates.list;
    let mut text = format!(
        "{}: {} of {} rows; {} recodings estimated in {}, {} believed in\n",
        file.display(),
        article(estimation.summary),
        thousands(estimation.rows.into()),
        thousands(estimation.candidates.visited.into()),
        duration(estimation.seconds),
        thousands(list.len() as u128)
    );
    if list.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "  {:>10} {:>11} {:>14}  levels of {}",
        "LM",
        "probability",
        "expected to fail",
        estimation.names().join(", ")
    );
    for candidate in list.iter().take(SHOWN) {
        let said = match &candidate.mapping {
            Mapping::Levels(levels) => {
                levels.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
            }
            Mapping::Cuts(cuts) => {
                let values: Vec<String> =
                    cuts.iter().map(|cut| cut.nodes().len().to_string()).collect();
                format!("cuts of {} values", values.join(" "))
            }
            Mapping::Regions(_) => String::new(),
        };
        let _ = writeln!(
            text,
            "  {:>10.6} {:>11.4} {:>14.1}    {said}",
            candidate.lm, candidate.probability, candidate.outliers
        );
    }
    if list.len() > SHOWN {
        let _ = writeln!(text, "  … and {} more; --json has all", list.len() - SHOWN);
    }
    text
}
