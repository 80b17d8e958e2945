//! What a page says, in the order in which it says it: the texts and charts that the template needs.

use super::columns::{key, other};
use super::meaning::{Meaning, meanings};
use super::measures::{alternatives, classes, losses, risk, searched};
use super::parts::{Chart, Detail, Figure, Grid};
use super::svg::visible;
use crate::error::Judged;
use crate::portrait::{ColumnPortrait, ColumnValues, Portrait, counted, percent, thousands};
use crate::release::ReleaseKind;

/// A figure with its name.
pub(super) struct Fact {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) note: String,
}

/// A requirement and what was reached.
pub(super) struct Requirement {
    pub(super) name: String,
    pub(super) asked: String,
    pub(super) reached: String,
    pub(super) holds: bool,
}

/// A column in the overview.
pub(super) struct Glance {
    pub(super) name: String,
    pub(super) role: String,
    pub(super) kind: String,
    pub(super) before: String,
    pub(super) after: String,
    pub(super) loss: String,
}

/// The page.
pub(super) struct View<'a> {
    pub(super) portrait: &'a Portrait,
    pub(super) title: String,
    pub(super) kind: &'static str,
    pub(super) verdict: Option<(bool, String)>,
    pub(super) facts: Vec<Fact>,
    pub(super) requirements: Vec<Requirement>,
    pub(super) problems: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) glance: Vec<Glance>,
    pub(super) keys: Vec<Detail>,
    pub(super) others: Vec<Detail>,
    pub(super) losses: Option<Chart>,
    pub(super) classes: Option<Figure>,
    pub(super) risk: Option<Figure>,
    pub(super) search: Vec<String>,
    pub(super) alternatives: Option<Grid>,
    pub(super) meanings: Vec<Meaning>,
    pub(super) unchanged: String,
    pub(super) is_distribution: bool,
    pub(super) files: Grid,
    pub(super) policy: String,
}

impl<'a> View<'a> {
    pub(super) fn new(portrait: &'a Portrait) -> View<'a> {
        let is_key = |column: &&ColumnPortrait| column.labels.is_some();
        let released = || portrait.columns.iter().filter(|column| column.after.is_some());
        let keys = released().filter(is_key).map(|column| key(portrait, column));
        let others = released().filter(|column| column.labels.is_none() && shows(column));
        let (report, verification) = (portrait.report.as_ref(), portrait.verification.as_ref());
        let privacy = verification.map(|checked| &checked.privacy);
        let privacy = privacy.or(report.map(|report| &report.privacy));
        let notes = verification.map(|checked| &checked.notes);
        let mut notes = notes.or(report.map(|report| &report.notes)).cloned().unwrap_or_default();
        notes.extend(same_values(portrait));
        let is_unchanged =
            |column: &&ColumnPortrait| column.labels.is_none() && !is_distributed(portrait, column);
        let unchanged = released().filter(is_unchanged).map(name_of);
        View {
            title: visible(&portrait.release.name),
            kind: if portrait.is_measured { "Risk report" } else { "Release report" },
            verdict: verdict(portrait),
            facts: facts(portrait),
            requirements: privacy.into_iter().flatten().map(requirement).collect(),
            problems: verification
                .map(|checked| checked.problems.iter().map(|text| visible(text)).collect())
                .unwrap_or_default(),
            notes: notes.iter().map(|text| visible(text)).collect(),
            glance: portrait.columns.iter().map(|column| glance(portrait, column)).collect(),
            keys: keys.collect(),
            others: others.map(|column| other(portrait, column)).collect(),
            losses: losses(portrait),
            classes: classes(portrait),
            risk: risk(portrait),
            search: report.map(searched).unwrap_or_default(),
            alternatives: report.and_then(alternatives),
            meanings: portrait.asked.as_ref().map(meanings).unwrap_or_default(),
            unchanged: unchanged.collect::<Vec<_>>().join(", "),
            is_distribution: portrait.columns.iter().any(|one| is_distributed(portrait, one)),
            files: files(portrait),
            policy: portrait.policy.as_deref().map(policy_text).unwrap_or_default(),
            portrait,
        }
    }
}

/// Whether a column is the attribute of a distribution, whose values are in a table of their own.
pub(super) fn is_distributed(portrait: &Portrait, column: &ColumnPortrait) -> bool {
    portrait.report.as_ref().is_some_and(|report| match &report.release {
        ReleaseKind::Distribution { distribution } => distribution.attribute == column.name,
        ReleaseKind::Table { .. } => false,
    })
}

fn name_of(column: &ColumnPortrait) -> String {
    visible(&column.name)
}

/// The policy line by line: characters that steer others are spelled out, line breaks stay.
fn policy_text(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}

/// Whether a column has something to be drawn.
fn shows(column: &ColumnPortrait) -> bool {
    let after = column.after.as_ref();
    after.is_some_and(|after| !after.frequent.is_empty() || !after.histogram.is_empty())
}

fn verdict(portrait: &Portrait) -> Option<(bool, String)> {
    let (checked, report) = (portrait.verification.as_ref(), portrait.report.as_ref());
    match (checked, report) {
        (Some(checked), _) if checked.satisfied => {
            Some((true, "Verified: the release meets every requirement of the policy.".into()))
        }
        (Some(_), _) => Some((false, "The release does not meet the policy.".into())),
        (None, Some(report)) if report.privacy.iter().all(|judged| judged.satisfied) => Some((
            true,
            "Verified before it was published: the release meets every requirement of the policy."
                .into(),
        )),
        (None, Some(_)) => Some((false, "The release does not meet the policy.".into())),
        (None, None) => None,
    }
}

fn facts(portrait: &Portrait) -> Vec<Fact> {
    let report = portrait.report.as_ref();
    let is_distribution = report.is_some_and(|report| report.classes.smallest_group.is_some());
    let fact = |name: &str, value: String, note: String| Fact { name: name.into(), value, note };
    let mut facts = Vec::new();
    match &portrait.report {
        Some(report) => {
            let lost = counted(report.suppressed, "row left out", "rows left out");
            let share = report.suppressed as f64 / report.rows.max(1) as f64;
            let note =
                if report.suppressed == 0 { lost } else { format!("{lost} ({})", percent(share)) };
            let rows = format!("{} of {}", thousands(report.released), thousands(report.rows));
            facts.push(fact("Rows released", rows, note));
            if let ReleaseKind::Table { loss, .. } = &report.release {
                facts.push(fact(
                    "Detail lost",
                    percent(loss.lm),
                    "LM, over all quasi-identifiers".into(),
                ));
            }
        }
        None => facts.push(fact("Rows", thousands(portrait.release.rows), String::new())),
    }
    if let Some(risks) = &portrait.risk.after {
        let average = risks.rows as f64 / risks.classes.max(1) as f64;
        facts.push(fact(
            "Classes",
            thousands(risks.classes),
            format!("{average:.1} rows on average"),
        ));
        let smallest = portrait.classes.after.iter().find(|bar| bar.classes > 0);
        let smallest = match (&portrait.report, smallest) {
            (Some(report), _) => {
                Some(report.classes.smallest_group.unwrap_or(report.classes.smallest_class))
            }
            (None, _) if risks.prosecutor.highest > 0.0 => {
                Some((1.0 / risks.prosecutor.highest).round() as u64)
            }
            _ => None,
        };
        let name = if is_distribution { "Smallest group" } else { "Smallest class" };
        if let Some(smallest) = smallest {
            facts.push(fact(name, counted(smallest, "row", "rows"), String::new()));
        }
        let before = portrait.risk.before.as_ref();
        let before = before.map(|risks| format!("{} before", percent(risks.prosecutor.highest)));
        facts.push(fact(
            "Highest risk",
            percent(risks.prosecutor.highest),
            before.unwrap_or_else(|| "of any row".into()),
        ));
    }
    facts
}

/// A figure as people write it.
fn figure(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number}") } else { format!("{number:.4}") }
}

fn requirement(judged: &Judged) -> Requirement {
    let kind = judged.kind.as_ref().map_or(String::new(), |kind| format!("{kind} "));
    let about = judged.sensitive.as_ref().map_or(String::new(), |name| format!(" of {name}"));
    let also: Vec<String> = judged
        .parameters
        .iter()
        .map(|(name, value)| format!("{name} = {}", figure(value.0)))
        .collect();
    let also = if also.is_empty() { String::new() } else { format!(" ({})", also.join(", ")) };
    let worst = judged.worst.as_ref();
    let (asked, reached) = if judged.is_per_value() {
        let worst = worst.map(|worst| format!("worst: {worst}"));
        ("each value within its cap".into(), worst.unwrap_or("no value with a cap".into()))
    } else {
        let limit = if judged.is_minimum() { "at least" } else { "at most" };
        let reached =
            judged.achieved.map_or("nothing measured".into(), |reached| figure(reached.0));
        let by = worst.map_or(String::new(), |worst| format!(" by {}", worst.value));
        (format!("{limit} {}", figure(judged.required.0)), format!("{reached}{by}"))
    };
    Requirement {
        name: visible(&format!("{kind}{}{about}{also}", judged.requirement)),
        asked,
        reached: visible(&reached),
        holds: judged.satisfied,
    }
}

/// Notes on sensitive attributes that can be learned although every requirement holds.
fn same_values(portrait: &Portrait) -> Vec<String> {
    let checked = portrait.verification.as_ref().map(|checked| &checked.same_value);
    let same = checked.or(portrait.report.as_ref().map(|report| &report.same_value));
    let note = |same: &crate::release::SameValue| {
        format!(
            "No requirement protects {}: everybody has the same value in {} ({}).",
            same.sensitive,
            counted(same.classes, "class", "classes"),
            counted(same.rows, "person", "people")
        )
    };
    same.into_iter().flatten().map(note).collect()
}

fn told_values(values: &ColumnValues) -> String {
    let more = if values.more { "more than " } else { "" };
    let missing = match values.missing {
        0 => String::new(),
        missing => format!(", {} missing", thousands(missing)),
    };
    format!("{more}{}{missing}", thousands(values.distinct))
}

fn glance(portrait: &Portrait, column: &ColumnPortrait) -> Glance {
    let unknown = || "–".to_string();
    let loss = match (column.loss, &column.labels, &column.after) {
        (Some(loss), ..) => percent(loss),
        (None, Some(_), _) => unknown(),
        (None, None, Some(_)) if portrait.is_measured => unknown(),
        (None, None, Some(_)) if is_distributed(portrait, column) => "subdomains".into(),
        (None, None, Some(_)) => "unchanged".into(),
        (None, None, None) => "left out".into(),
    };
    Glance {
        name: name_of(column),
        role: column.role.clone().unwrap_or_else(unknown),
        kind: column.kind.clone().unwrap_or_else(unknown),
        before: column.before.as_ref().map_or_else(unknown, told_values),
        after: column.after.as_ref().map_or_else(unknown, told_values),
        loss,
    }
}

fn files(portrait: &Portrait) -> Grid {
    let original = portrait.original.iter().flat_map(|original| &original.files);
    let release = portrait.release.files.iter();
    let all = original.map(|file| ("original", file)).chain(release.map(|file| ("release", file)));
    let row = |(what, file): (&str, &crate::portrait::FileFacts)| {
        vec![
            visible(&file.name),
            if portrait.is_measured { "table".into() } else { what.to_string() },
            thousands(file.bytes),
            file.sha256.clone(),
        ]
    };
    let heads = ["File", "What it is", "Bytes", "SHA-256"].map(String::from).to_vec();
    Grid { caption: "Files and their checksums".into(), heads, rows: all.map(row).collect() }
}
