//! What people see of distribution releases and of answers from them.

use crate::show::{duration, figure, judgement, share, thousands};
use scumble::jobs::{DistributionReport, DistributionVerification, QueryAnswer};
use std::fmt::Write as _;
use std::path::Path;

/// What was counted in a distribution release.
fn distributed(text: &mut String, checked: &DistributionVerification) {
    let _ = writeln!(
        text,
        "  {} groups, the smallest of {} records; {} fakes; sum of ranges {}",
        thousands(checked.groups.into()),
        thousands(checked.smallest.into()),
        thousands(checked.fakes.into()),
        figure(checked.sum_of_ranges)
    );
    let verdict = if checked.failing == 0 { "holds" } else { "FAILS" };
    let _ = writeln!(
        text,
        "  {verdict}  distribution: {} groups do not follow their target{}",
        thousands(checked.failing.into()),
        if checked.compared { "; compared with the table it came from" } else { "" }
    );
    if let Some(records) = &checked.records {
        for one in &records.verified.privacy {
            judgement(text, one, &records.counted);
        }
    }
}

/// The summary of a distribution release.
pub fn report(report: &DistributionReport, input: &Path, output: &Path) -> String {
    let mut text = format!("{} -> {}\n", input.display(), output.display());
    let _ = writeln!(
        text,
        "  {} of {} rows released, {} suppressed ({})",
        thousands(report.verification.rows.into()),
        thousands(report.rows.into()),
        thousands(report.suppressed.into()),
        share(report.suppressed, report.rows)
    );
    distributed(&mut text, &report.verification);
    let rounding = report.worst_rounding();
    if rounding.largest > 0.0 {
        let _ = writeln!(
            text,
            "  weights rounded: a probability is off by at most {:.2e}, the distribution by {:.2e}",
            rounding.largest, rounding.total_variation
        );
    }
    if report.generalized_by.is_none() {
        let _ =
            writeln!(text, "  quasi-identifiers are unchanged: who is in the table is not hidden");
    }
    let total: f64 = report.phases.iter().map(|phase| phase.seconds).sum();
    let _ = writeln!(
        text,
        "  {}, verified on the written folder; {} in all; see {}",
        report.algorithm,
        duration(total),
        output.join("report.json").display()
    );
    text
}

/// The summary of a re-check of a distribution release.
pub fn verification(checked: &DistributionVerification, release: &Path) -> String {
    let mut text = format!("{}: {} records\n", release.display(), thousands(checked.rows.into()));
    distributed(&mut text, checked);
    if checked.unchecked_targets {
        let _ = writeln!(
            text,
            "  the target is the table's own distribution, which only --original can check"
        );
    }
    for problem in &checked.problems {
        let _ = writeln!(text, "  FAILS  {problem}");
    }
    text
}

/// The answer to a query.
pub fn answer(answer: &QueryAnswer) -> String {
    let mut text = String::new();
    for (values, one) in &answer.answers {
        for (column, value) in answer.by.iter().zip(values) {
            let _ = write!(text, "{column} = {}  ", if value.is_empty() { "NULL" } else { value });
        }
        let _ = match one.bounds {
            Some((lower, upper)) => {
                writeln!(
                    text,
                    "from {} to {}  ({} rows)",
                    lower.rounded_down(),
                    upper.rounded_up(),
                    thousands(one.rows.into())
                )
            }
            None => writeln!(text, "NULL  (no rows)"),
        };
    }
    text
}
