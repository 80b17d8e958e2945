//! What a page says, in the order in which it says it: the texts and charts that the template needs.

use super::meaning::{Meaning, meanings};
use super::svg::{self, Column, Row, Svg, visible};
use crate::error::Judged;
use crate::portrait::{
    Bar, ColumnPortrait, ColumnValues, Label, Labels, Portrait, SizeBar, counted, percent,
    thousands,
};
use crate::release::{ReleaseKind, Report, Risks};

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

/// A table with a heading for each of its columns. The first cell of a row is its name.
pub(super) struct Grid {
    pub(super) caption: String,
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A column in detail.
pub(super) struct Detail {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) notes: Vec<String>,
    pub(super) charts: Vec<Chart>,
    pub(super) grid: Option<Grid>,
}

/// A chart with its caption.
pub(super) struct Chart {
    pub(super) caption: String,
    pub(super) svg: Svg,
    /// Whether it has bars of the original too.
    pub(super) has_before: bool,
}

/// A chart with its table.
pub(super) struct Figure {
    pub(super) chart: Chart,
    pub(super) grid: Grid,
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
        let unchanged = released().filter(|column| column.labels.is_none()).map(name_of);
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
            files: files(portrait),
            policy: portrait.policy.as_deref().map(policy_text).unwrap_or_default(),
            portrait,
        }
    }
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
            (Some(report), _) => Some(report.classes.smallest_class),
            (None, _) if risks.prosecutor.highest > 0.0 => {
                Some((1.0 / risks.prosecutor.highest).round() as u64)
            }
            _ => None,
        };
        if let Some(smallest) = smallest {
            facts.push(fact("Smallest class", counted(smallest, "row", "rows"), String::new()));
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

/// A quasi-identifier of a release.
fn key(portrait: &Portrait, column: &ColumnPortrait) -> Detail {
    let mut notes = Vec::new();
    let mut charts = Vec::new();
    let kind = column.kind.clone().unwrap_or_default();
    if let Some(before) = column.before.as_ref().filter(|before| !before.histogram.is_empty()) {
        let column_of =
            |bar: &Bar| Column { name: bar.label(), before: Some(bar.rows), after: None };
        let columns: Vec<Column> = before.histogram.iter().map(column_of).collect();
        let title = format!("{}: rows of the original by value", column.name);
        let svg = svg::histogram(&title, &columns, "rows");
        charts.push(Chart { caption: "Before: rows by value".into(), svg, has_before: false });
    }
    let mut grid = None;
    if let Some(labels) = &column.labels {
        if labels.overlap {
            notes.push(
                "Labels overlap: rows with one value may have got different labels, so a value of the \
                 original may be covered by several of them."
                    .into(),
            );
        }
        if labels.others > 0 {
            notes.push(format!(
                "{} with {} not listed.",
                counted(labels.others, "other label", "other labels"),
                counted(labels.other_rows, "row is", "rows are")
            ));
        }
        if !labels.listed.is_empty() {
            charts.push(labels_chart(portrait, column, labels));
            grid = Some(labels_grid(portrait, column, labels));
        }
    }
    let loss = column.loss.map(|loss| format!("; {} of the detail lost", percent(loss)));
    let after = column.after.as_ref().map_or(0, |after| after.distinct);
    let before = column.before.as_ref().map(|before| {
        let more = if before.more { "more than " } else { "" };
        format!("{more}{} became ", counted(before.distinct, "value", "values"))
    });
    let about = format!(
        "{kind}{}{}{}{}",
        if kind.is_empty() { "" } else { "; " },
        before.unwrap_or_default(),
        counted(after, "label", "labels"),
        loss.unwrap_or_default()
    );
    Detail { name: name_of(column), about, notes, charts, grid }
}

/// The name of a label or a value.
fn named(label: &str) -> String {
    if label.is_empty() { "(missing)".into() } else { visible(label) }
}

fn labels_chart(portrait: &Portrait, column: &ColumnPortrait, labels: &Labels) -> Chart {
    // Rows below labels that overlap are counted several times: no bars to be compared.
    let has_before = portrait.original.is_some() && !labels.overlap;
    let before = |label: &Label| label.before.filter(|_| has_before).map(|rows| rows as f64);
    let told = |label: &Label| match label.before.filter(|_| has_before) {
        Some(before) => format!("{} → {}", thousands(before), thousands(label.rows)),
        None => thousands(label.rows),
    };
    let mut rows: Vec<Row> = Vec::new();
    // The nodes above the last row, without the root, which all labels have above them.
    let mut open: Vec<&str> = Vec::new();
    for label in &labels.listed {
        let path: Vec<&str> = label.path.iter().skip(1).map(String::as_str).collect();
        let shared = open.iter().zip(&path).take_while(|(one, other)| one == other).count();
        open.truncate(shared);
        for node in &path[shared..] {
            let (name, depth) = (visible(node), open.len());
            rows.push(Row { name, depth, before: None, after: None, told: String::new() });
            open.push(node);
        }
        let after = Some(label.rows as f64);
        let (name, depth) = (named(&label.label), open.len());
        rows.push(Row { name, depth, before: before(label), after, told: told(label) });
        if !label.path.is_empty() {
            open.push(&label.label);
        }
    }
    let whole = rows.iter().flat_map(|row| [row.before, row.after]).flatten().fold(0.0, f64::max);
    let title = format!("{}: rows of the release by label", column.name);
    let caption = match has_before {
        true => "Rows by label, before → after",
        false => "Rows of the release by label",
    };
    Chart { caption: caption.into(), svg: svg::bars(&title, &rows, whole), has_before }
}

fn labels_grid(portrait: &Portrait, column: &ColumnPortrait, labels: &Labels) -> Grid {
    let knows = portrait.original.is_some();
    let known = |number: Option<u64>| number.map_or("–".into(), thousands);
    let row = |label: &Label| {
        let mut cells = vec![named(&label.label), thousands(label.rows)];
        if knows {
            cells.extend([known(label.before), known(label.values)]);
        }
        cells.push(label.lost.map_or("–".into(), percent));
        cells
    };
    let mut heads = vec!["Label".to_string(), "Rows of the release".into()];
    if knows {
        heads.extend(["Rows it covers in the original".to_string(), "Values it covers".into()]);
    }
    heads.push("Detail lost by a row".into());
    let rows = labels.listed.iter().map(row).collect();
    Grid { caption: format!("Labels of {}", name_of(column)), heads, rows }
}

/// A column that was released as it is, or a column of a table.
fn other(portrait: &Portrait, column: &ColumnPortrait) -> Detail {
    let empty = ColumnValues {
        rows: 0,
        missing: 0,
        distinct: 0,
        more: false,
        frequent: Vec::new(),
        others: 0,
        histogram: Vec::new(),
    };
    let after = column.after.as_ref().unwrap_or(&empty);
    let name = name_of(column);
    let mut notes = Vec::new();
    let is_listed = after.distinct as usize <= after.frequent.len();
    let (chart, grid) = if !after.histogram.is_empty() && !is_listed {
        histogram_of(portrait, column, after)
    } else {
        values_of(portrait, column, after)
    };
    let others = after.distinct.saturating_sub(after.frequent.len() as u64);
    if after.histogram.is_empty() && others > 0 {
        let rows = counted(after.others, "row", "rows");
        notes.push(format!(
            "{} in {rows} not listed.",
            counted(others, "other value", "other values")
        ));
    }
    let role = column.role.clone().unwrap_or_else(|| "role not known".into());
    let kind = column.kind.as_ref().map_or(String::new(), |kind| format!(", {kind}"));
    let released = if portrait.is_measured { "" } else { "; released as it is" };
    let values = counted(after.distinct, "distinct value", "distinct values");
    let about = format!("{role}{kind}; {values}{released}");
    Detail { name, about, notes, charts: vec![chart], grid: Some(grid) }
}

fn histogram_of(
    portrait: &Portrait,
    column: &ColumnPortrait,
    after: &ColumnValues,
) -> (Chart, Grid) {
    let before = column.before.as_ref().map(|before| &before.histogram);
    // Ranges of the two may differ if the ends of the values do.
    let same = |before: &&Vec<Bar>| {
        let known =
            |bar: &Bar| before.iter().any(|one| (&one.from, &one.to) == (&bar.from, &bar.to));
        after.histogram.iter().all(known)
    };
    let before = before.filter(same);
    let rows_in = |bars: &[Bar], bar: &Bar| {
        bars.iter()
            .find(|one| (&one.from, &one.to) == (&bar.from, &bar.to))
            .map_or(0, |one| one.rows)
    };
    let all = before.unwrap_or(&after.histogram);
    let columns: Vec<Column> = all
        .iter()
        .map(|bar| Column {
            name: bar.label(),
            before: before.map(|_| bar.rows),
            after: Some(rows_in(&after.histogram, bar)),
        })
        .collect();
    let svg = svg::histogram(&format!("{}: rows by value", column.name), &columns, "rows");
    let mut heads = vec!["Values".to_string(), rows_head(portrait)];
    if before.is_some() {
        heads.push("Rows of the original".into());
    }
    let row = |column: &Column| {
        let figures = [column.after, column.before].into_iter().flatten().map(thousands);
        std::iter::once(column.name.clone()).chain(figures).collect()
    };
    let rows = columns.iter().map(row).collect();
    let grid = Grid { caption: format!("Values of {}", name_of(column)), heads, rows };
    (Chart { caption: "Rows by value".into(), svg, has_before: before.is_some() }, grid)
}

fn rows_head(portrait: &Portrait) -> String {
    if portrait.is_measured { "Rows".into() } else { "Rows of the release".into() }
}

fn values_of(portrait: &Portrait, column: &ColumnPortrait, after: &ColumnValues) -> (Chart, Grid) {
    let before = column.before.as_ref().filter(|before| !before.frequent.is_empty());
    let found = |value: &str| {
        let mut values = before?.frequent.iter();
        values.find(|one| one.value == value).map(|one| one.rows)
    };
    let mut rows = Vec::new();
    let mut cells = Vec::new();
    for value in &after.frequent {
        let known = found(&value.value);
        let told = match known {
            Some(before) => format!("{} → {}", thousands(before), thousands(value.rows)),
            None => thousands(value.rows),
        };
        let (name, after) = (named(&value.value), Some(value.rows as f64));
        let mut row = vec![name.clone(), thousands(value.rows)];
        if before.is_some() {
            row.push(known.map_or("–".into(), thousands));
        }
        cells.push(row);
        rows.push(Row { name, depth: 0, before: known.map(|rows| rows as f64), after, told });
    }
    let whole = rows.iter().flat_map(|row| [row.before, row.after]).flatten().fold(0.0, f64::max);
    let svg = svg::bars(&format!("{}: rows by value", column.name), &rows, whole);
    let mut heads = vec!["Value".to_string(), rows_head(portrait)];
    if before.is_some() {
        heads.push("Rows of the original".into());
    }
    let grid = Grid { caption: format!("Values of {}", name_of(column)), heads, rows: cells };
    let caption = match before {
        Some(_) => "Rows by value, before → after",
        None => "Rows by value",
    };
    (Chart { caption: caption.into(), svg, has_before: before.is_some() }, grid)
}

/// What each quasi-identifier lost.
fn losses(portrait: &Portrait) -> Option<Chart> {
    let lost = portrait.columns.iter().filter_map(|column| Some((column, column.loss?)));
    let row = |(column, loss): (&ColumnPortrait, f64)| Row {
        name: name_of(column),
        depth: 0,
        before: None,
        after: Some(loss),
        told: percent(loss),
    };
    let rows: Vec<Row> = lost.map(row).collect();
    let chart = |rows: &[Row]| Chart {
        caption: "Detail lost by quasi-identifier, 0 to 100 %".into(),
        svg: svg::bars("Detail lost by quasi-identifier", rows, 1.0),
        has_before: false,
    };
    (!rows.is_empty()).then(|| chart(&rows))
}

fn classes(portrait: &Portrait) -> Option<Figure> {
    let sizes = &portrait.classes;
    if sizes.after.is_empty() {
        return None;
    }
    let has_before = !sizes.before.is_empty();
    let name = |bar: &SizeBar| match bar.to == bar.from {
        true => counted(bar.to, "row", "rows"),
        false => format!("{}–{} rows", thousands(bar.from), thousands(bar.to)),
    };
    let before = |at: usize| sizes.before.get(at).copied();
    let some = |at: usize| {
        let all = [sizes.after.get(at), sizes.before.get(at)];
        all.into_iter().flatten().any(|bar| bar.classes > 0)
    };
    let bars = || sizes.after.iter().enumerate().filter(|(at, _)| some(*at));
    let row = |(at, bar): (usize, &SizeBar)| Row {
        name: name(bar),
        depth: 0,
        before: before(at).map(|bar| bar.rows as f64),
        after: Some(bar.rows as f64),
        told: match before(at) {
            Some(before) => format!("{} → {}", thousands(before.rows), thousands(bar.rows)),
            None => thousands(bar.rows),
        },
    };
    let rows: Vec<Row> = bars().map(row).collect();
    let whole = rows.iter().flat_map(|row| [row.before, row.after]).flatten().fold(0.0, f64::max);
    let cells = |(at, bar): (usize, &SizeBar)| {
        let mut cells = vec![name(bar), thousands(bar.classes), thousands(bar.rows)];
        let before = before(at).map(|bar| [thousands(bar.classes), thousands(bar.rows)]);
        cells.extend(before.into_iter().flatten());
        cells
    };
    let mut heads = vec!["Size of the class".to_string(), "Classes".into(), "Rows in them".into()];
    if has_before {
        heads.extend(["Classes before".to_string(), "Rows in them before".into()]);
    }
    let grid = Grid { caption: "Classes by size".into(), heads, rows: bars().map(cells).collect() };
    let caption = match has_before {
        true => "Rows by the size of their class, before → after",
        false => "Rows by the size of their class",
    };
    let svg = svg::bars("Rows by the size of their class", &rows, whole);
    Some(Figure { chart: Chart { caption: caption.into(), svg, has_before }, grid })
}

fn risk(portrait: &Portrait) -> Option<Figure> {
    let (after, before) = (portrait.risk.after.as_ref()?, portrait.risk.before.as_ref());
    let limit = percent(after.threshold);
    type Of = fn(&Risks) -> f64;
    let mut measures: Vec<(String, Of)> = vec![
        ("Highest risk of a row".into(), |risks| risks.prosecutor.highest),
        ("Average risk of a row".into(), |risks| risks.prosecutor.average),
        (format!("Rows with a risk above {limit}"), |risks| risks.prosecutor.above_threshold),
        ("Rows that are unique".into(), |risks| risks.unique as f64 / risks.rows.max(1) as f64),
    ];
    if after.journalist != after.prosecutor {
        let of_population: [(String, Of); 2] = [
            ("Highest risk with the population".into(), |risks| risks.journalist.highest),
            ("Average risk with the population".into(), |risks| risks.journalist.average),
        ];
        measures.extend(of_population);
    }
    let mut rows = Vec::new();
    let mut cells = Vec::new();
    for (name, of) in measures {
        let (now, was) = (of(after), before.map(of));
        let told = match was {
            Some(was) => format!("{} → {}", percent(was), percent(now)),
            None => percent(now),
        };
        let was_told = was.map(percent);
        cells.push(std::iter::once(name.clone()).chain(was_told).chain([percent(now)]).collect());
        rows.push(Row { name, depth: 0, before: was, after: Some(now), told });
    }
    let mut heads = vec!["Measure".to_string()];
    heads.extend(before.map(|_| "Before".to_string()));
    heads.push(if portrait.is_measured { "Measured".into() } else { "After".into() });
    let grid = Grid { caption: "Risk of re-identification".into(), heads, rows: cells };
    let svg = svg::bars("Risk of re-identification", &rows, 1.0);
    let caption = "Risk of re-identification, 0 to 100 %".into();
    Some(Figure { chart: Chart { caption, svg, has_before: before.is_some() }, grid })
}

/// What the search did, and how sure the answer is.
fn searched(report: &Report) -> Vec<String> {
    let mut told = vec![format!("Algorithm: {}.", report.algorithm)];
    let ReleaseKind::Table { loss, search, .. } = &report.release else { return told };
    let Some(search) = search else {
        told.push("Nothing was searched: the recoding was given.".into());
        return told;
    };
    let space = search.space.map_or(String::new(), |space| {
        format!(" of {}", u64::try_from(space).map_or_else(|_| space.to_string(), thousands))
    });
    told.push(format!(
        "{}{space} recodings or steps evaluated in {:.2} seconds.",
        thousands(search.visited),
        search.seconds
    ));
    let proof = report.private.as_ref().and_then(|private| private.search);
    let optimal = search.optimal.or(proof.and_then(|proof| proof.optimal));
    let bound = search.lower_bound.or(proof.and_then(|proof| proof.lower_bound));
    told.push(match (search.minimal, optimal) {
        (Some(true), _) => "No allowable split is left. That is not a proof that no other release \
                            loses less."
            .into(),
        (Some(false), _) => "An allowable split may be left.".into(),
        (_, Some(true)) => "Proven optimal: no release of this kind loses less.".into(),
        _ => "Not proven optimal: a release of this kind that loses less may exist.".into(),
    });
    if let Some((cost, bound)) = search.cost.zip(bound.filter(|bound| *bound > 0.0)) {
        told.push(format!("Cost {cost:.6}; no recoding costs less than {bound:.6}, proven."));
    }
    let of_lm = loss.lm_bound.map(|bound| ("LM", loss.lm, bound));
    let of_weighted =
        loss.lm_weighted.zip(loss.lm_weighted_bound).map(|(lm, bound)| ("weighted LM", lm, bound));
    for (name, lm, bound) in of_lm.into_iter().chain(of_weighted).filter(|(.., bound)| *bound > 0.0)
    {
        // Rounded up: the gap is never smaller than what is told.
        let gap = (1e3 * (1.0 - bound / lm).max(0.0)).ceil() / 10.0;
        told.push(format!("At most {gap:.1} % of the {name} could be avoided, proven."));
    }
    told
}

fn alternatives(report: &Report) -> Option<Grid> {
    let ReleaseKind::Table { loss, .. } = &report.release else { return None };
    if report.alternatives.is_empty() {
        return None;
    }
    let row = |kind: &str, algorithm: &str, lm: f64, suppressed: u64| {
        vec![kind.to_string(), algorithm.to_string(), format!("{lm:.4}"), thousands(suppressed)]
    };
    let this = row("this release", &report.algorithm, loss.lm, report.suppressed);
    let others = report.alternatives.iter();
    let others =
        others.map(|other| row(&other.recoding, &other.algorithm, other.loss.lm, other.suppressed));
    let heads = ["Kind of recoding", "Algorithm", "LM", "Rows left out"].map(String::from).to_vec();
    let rows = std::iter::once(this).chain(others).collect();
    Some(Grid { caption: "What other kinds of recoding would lose".into(), heads, rows })
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
