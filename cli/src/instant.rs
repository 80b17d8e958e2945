//! Summaries and estimates: what was typed about them, and what is shown of them.

use crate::args::{AnonymizeInstantArgs, BelieveArgs, BuildArgs, StructureArg};
use crate::run::wrong;
use crate::show::{duration, thousands};
use scumble::error::Result;
use scumble::estimate::multinomial::Shortcuts;
use scumble::jobs::{Estimation, InstantOptions};
use scumble::policy::Policy;
use scumble::recoding::Mapping;
use scumble::summary::{Kind, Structure, Summary};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// Candidates that a person is shown.
const SHOWN: usize = 20;

/// How a summary is to be built.
pub fn building(args: &BuildArgs, rows: Option<u32>, seed: u64) -> Result<InstantOptions> {
    let kind: Kind = args.kind.into();
    if rows.is_some() && kind != Kind::Sample {
        return Err(wrong("--rows", "given", "--kind sample".into()));
    }
    if args.max_parents > 1 && kind != Kind::Bayes {
        return Err(wrong("--max-parents", &args.max_parents.to_string(), "--kind bayes".into()));
    }
    let structure = match (args.max_parents, args.search) {
        (1, _) => Structure::ChowLiu,
        (_, StructureArg::Greedy) => Structure::Greedy,
        (_, StructureArg::Annealed) => Structure::Annealed { seed },
    };
    let sampled = rows.map(|rows| rows as usize);
    Ok(InstantOptions { kind, structure, sampled, seed, ..InstantOptions::default() })
}

/// How estimates are to be made and judged.
pub fn believing(args: &BelieveArgs, options: InstantOptions) -> Result<InstantOptions> {
    let without = |left: Shortcuts, name: &String| {
        left.without(name).ok_or_else(|| {
            wrong("--without", name, format!("one of {}", Shortcuts::NAMES.join(", ")))
        })
    };
    let shortcuts = args.without.iter().try_fold(options.shortcuts, without)?;
    Ok(InstantOptions {
        by: args.by.map(Into::into),
        threshold: args.threshold,
        shortcuts,
        ..options
    })
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
    let kind = args.summary_kind.map_or(Kind::default(), Into::into);
    let options = InstantOptions {
        summary: args.summary,
        kind,
        seed: seed.unwrap_or(0),
        ..InstantOptions::default()
    };
    believing(&args.believe, options)
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
