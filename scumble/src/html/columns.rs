//! A column in detail: how a quasi-identifier was recoded, and which values another column has.

use super::parts::{Chart, Detail, Grid, named};
use super::svg::{self, Column, Row, visible};
use super::view::is_distributed;
use crate::portrait::{
    Bar, ColumnPortrait, ColumnValues, Label, Labels, Portrait, counted, percent, thousands,
};

/// A quasi-identifier of a release.
pub(super) fn key(portrait: &Portrait, column: &ColumnPortrait) -> Detail {
    let mut notes = Vec::new();
    let mut charts = Vec::new();
    let kind = column.kind.clone().unwrap_or_default();
    if let Some(before) = column.before.as_ref().filter(|before| !before.histogram.is_empty()) {
        let column_of =
            |bar: &Bar| Column { name: bar.label(), before: Some(bar.rows), after: None };
        let columns: Vec<Column> = before.histogram.iter().map(column_of).collect();
        let title = format!("{}: rows of the original by value", column.name);
        let svg = svg::histogram(&title, &columns);
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
    let separator = if kind.is_empty() { "" } else { "; " };
    let about = match column.loss {
        Some(0.0) => format!("{kind}{separator}{}, unchanged", counted(after, "value", "values")),
        _ => format!(
            "{kind}{separator}{}{}{}",
            before.unwrap_or_default(),
            counted(after, "label", "labels"),
            loss.unwrap_or_default()
        ),
    };
    Detail { name: visible(&column.name), about, notes, charts, grid }
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
    Grid { caption: format!("Labels of {}", visible(&column.name)), heads, rows }
}

/// A column that was released as it is, or a column of a table.
pub(super) fn other(portrait: &Portrait, column: &ColumnPortrait) -> Detail {
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
    let name = visible(&column.name);
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
    let released = match () {
        () if portrait.is_measured => "",
        () if is_distributed(portrait, column) => {
            "; released as subdomains, apart from the records"
        }
        () => "; released as it is",
    };
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
    let svg = svg::histogram(&format!("{}: rows by value", column.name), &columns);
    let mut heads = vec!["Values".to_string(), rows_head(portrait)];
    if before.is_some() {
        heads.push("Rows of the original".into());
    }
    let row = |column: &Column| {
        let figures = [column.after, column.before].into_iter().flatten().map(thousands);
        std::iter::once(column.name.clone()).chain(figures).collect()
    };
    let rows = columns.iter().map(row).collect();
    let grid = Grid { caption: format!("Values of {}", visible(&column.name)), heads, rows };
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
    let grid = Grid { caption: format!("Values of {}", visible(&column.name)), heads, rows: cells };
    let caption = match before {
        Some(_) => "Rows by value, before → after",
        None => "Rows by value",
    };
    (Chart { caption: caption.into(), svg, has_before: before.is_some() }, grid)
}
