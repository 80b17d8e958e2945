//! Output for people: distribution releases and answers to queries.

use crate::show::{
    about, counted, duration, figure, heading, judged, note, notes, problems, released, thousands,
    verdict,
};
use crate::text::Text;
use scumble::{ClassCounts, Judged, QueryAnswer, ReleaseKind, Report, Verification};
use std::fmt::Write as _;
use std::path::Path;

/// A share with one decimal: 100 % is said only if nothing is gained.
fn percent(share: f64) -> String {
    let tenths = (share * 1000.0).ceil() / 10.0;
    if tenths >= 100.0 && share < 1.0 { "99.9 %".into() } else { format!("{tenths:.1} %") }
}

/// What was counted in a distribution release.
fn distributed(
    text: &mut Text,
    classes: &ClassCounts,
    (fakes, sum_of_ranges, share): (u64, f64, f64),
    privacy: &[Judged],
    compared: bool,
) {
    let _ = writeln!(
        text,
        "  {}; smallest {}; {}; sum of ranges {}, {} of a trivial release",
        counted(classes.groups.unwrap_or(0), "group", "groups"),
        counted(classes.smallest_group.unwrap_or(0), "record", "records"),
        counted(fakes, "fake", "fakes"),
        figure(sum_of_ranges),
        percent(share)
    );
    for one in privacy {
        if one.requirement != "distribution" {
            judged(text, one);
            continue;
        }
        let groups = match one.achieved.map_or(0, |failing| failing.0 as u128) {
            0 => "all groups follow their target".to_string(),
            1 => "1 group does not follow its target".to_string(),
            failing => format!("{} groups do not follow their target", thousands(failing)),
        };
        verdict(text, one.satisfied);
        let _ = writeln!(
            text,
            "distribution: {groups}{}",
            if compared { "; compared with the original table" } else { "" }
        );
    }
}

/// The summary of a distribution release.
pub fn report(report: &Report, input: &Path, output: &Path) -> Text {
    let mut text = heading(input, output);
    released(&mut text, report);
    if let ReleaseKind::Distribution { distribution } = &report.release {
        let counts =
            (distribution.fakes, distribution.sum_of_ranges, distribution.share_of_trivial);
        distributed(&mut text, &report.classes, counts, &report.privacy, true);
        let rounding = distribution.rounding;
        if rounding.largest > 0.0 {
            let _ = writeln!(
                text,
                "  weights rounded: probabilities differ by at most {:.2e}, total variation {:.2e}",
                rounding.largest, rounding.total_variation
            );
        }
    }
    notes(&mut text, &report.notes);
    if report.generalized_by.is_none() {
        note(&mut text, "quasi-identifiers are unchanged, so they show who is in the table");
    }
    let total: f64 = report.phases.iter().map(|phase| phase.seconds).sum();
    let _ = writeln!(
        text,
        "  algorithm {}; verified; {} in total; see {}",
        report.algorithm,
        duration(total),
        output.join("report.json").display()
    );
    text
}

/// The summary of a re-check of a distribution release.
pub fn verification(verification: &Verification, release: &Path) -> Text {
    let mut text = about(release, &counted(verification.released, "record", "records"));
    if let Some(checked) = &verification.distribution {
        let counts = (checked.fakes, checked.sum_of_ranges, checked.share_of_trivial);
        let compared = checked.compared_with_original;
        distributed(&mut text, &verification.classes, counts, &verification.privacy, compared);
        if !checked.target_checked && verification.satisfied {
            note(&mut text, "the target `source` was not checked; use --original to check it");
        }
    }
    problems(&mut text, verification);
    text
}

/// The answer to a query: a line for each tuple of GROUP BY and each aggregate.
pub fn answer(answer: &QueryAnswer) -> String {
    let mut text = String::new();
    for (values, answers) in &answer.answers {
        for (name, one) in answer.aggregates.iter().zip(answers) {
            for (column, value) in answer.by.iter().zip(values) {
                let value = if value.is_empty() { "NULL" } else { value };
                let _ = write!(text, "{column} = {value}  ");
            }
            if answers.len() > 1 {
                let _ = write!(text, "{name}: ");
            }
            let rows = counted(one.rows, "row", "rows");
            let _ = match one.bounds {
                Some((lower, upper)) => {
                    let (lower, upper) = (lower.rounded_down(), upper.rounded_up());
                    writeln!(text, "from {lower} to {upper}  ({rows})")
                }
                None if one.rows == 0 => writeln!(text, "NULL  (no rows)"),
                None => writeln!(text, "NULL  (no value of {rows} can satisfy the condition)"),
            };
        }
    }
    text
}
