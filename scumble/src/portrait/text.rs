//! A portrait as plain text, for a terminal. Headings are not indented, and everything else is.

use super::{ColumnPortrait, ColumnValues, Label, Portrait, SizeBar};
use crate::release::{Risk, Risks};
use std::fmt::{self, Display, Formatter};

/// Labels and values are cut after so many characters.
const WIDTH: usize = 36;

/// The length of the longest bar.
const BAR: f64 = 24.0;

impl Display for Portrait {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (release, columns) = (&self.release, self.columns.len() as u64);
        let rows = counted(release.rows, "row", "rows");
        let columns = counted(columns, "column", "columns");
        writeln!(f, "{}: {rows}, {columns}", plain(&release.name))?;
        if let Some(original) = &self.original {
            let rows = counted(original.rows, "row", "rows");
            writeln!(f, "original: {}, {rows}", plain(&original.name))?;
            writeln!(f, "Do not publish this: it tells more than the release does.")?;
        }
        self.columns.iter().try_for_each(|column| self.column(f, column))?;
        self.class_sizes(f)?;
        self.risks(f)
    }
}

impl Portrait {
    fn column(&self, f: &mut Formatter<'_>, column: &ColumnPortrait) -> fmt::Result {
        let kind = column.kind.iter().map(String::as_str);
        let about: Vec<&str> = column.role.as_deref().into_iter().chain(kind).collect();
        let about = if about.is_empty() { "role not known".into() } else { about.join(", ") };
        writeln!(f, "\n{}: {about}", plain(&column.name))?;
        if let Some(before) = &column.before {
            writeln!(f, "  before: {}", distinct(before, "distinct value", "distinct values"))?;
        }
        let Some(after) = &column.after else { return writeln!(f, "  not released") };
        let Some(labels) = &column.labels else {
            writeln!(f, "  after: {}", distinct(after, "distinct value", "distinct values"))?;
            return values(f, column);
        };
        let loss = column.loss.map(|loss| format!("; {} of the detail lost", percent(loss)));
        let loss = loss.unwrap_or_default();
        writeln!(f, "  after: {}{loss}", distinct(after, "label", "labels"))?;
        let before = |label: &Label| vec![label.before];
        let rows = labels.listed.iter().map(|label| {
            let others = if self.original.is_some() { before(label) } else { Vec::new() };
            (named(&label.label), label.rows, others)
        });
        table(f, self.heads("label"), rows.collect())?;
        if labels.others > 0 {
            let (others, rows) = (labels.others, labels.other_rows);
            let others = counted(others, "other label", "other labels");
            writeln!(f, "  {others} in {}", counted(rows, "row", "rows"))?;
        }
        if labels.overlap {
            writeln!(f, "  labels overlap: a value may be covered by several of them")?;
        }
        Ok(())
    }

    fn heads(&self, what: &'static str) -> Vec<&'static str> {
        let all = [what, "rows", "before"];
        all[..if self.original.is_some() { 3 } else { 2 }].to_vec()
    }

    fn class_sizes(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sizes = &self.classes;
        if sizes.after.is_empty() {
            return writeln!(f, "\nclasses: not counted; --policy tells the quasi-identifiers");
        }
        writeln!(f, "\nclasses by size")?;
        let label = |bar: &SizeBar| match bar.to {
            to if to == bar.from => counted(to, "row", "rows"),
            to => format!("{}-{} rows", thousands(bar.from), thousands(to)),
        };
        let bars = sizes.after.iter().enumerate().map(|(at, bar)| {
            let before = sizes.before.get(at).map(|bar| Some(bar.classes));
            (label(bar), bar.classes, before.into_iter().collect())
        });
        let heads = ["size", "classes", "before"];
        let heads = heads[..if sizes.before.is_empty() { 2 } else { 3 }].to_vec();
        table(f, heads, bars.collect())
    }

    fn risks(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(after) = &self.risk.after else { return Ok(()) };
        writeln!(f, "\nrisk of re-identification (prosecutor)")?;
        let line = |f: &mut Formatter<'_>, name: &str, risks: &Risks| {
            let Risk { highest, average, above_threshold } = risks.prosecutor;
            let (highest, average) = (percent(highest), percent(average));
            let above = percent(above_threshold);
            let limit = percent(risks.threshold);
            writeln!(
                f,
                "  {name:<7} highest {highest}, average {average}; {above} of the rows are above {limit}"
            )
        };
        if let Some(before) = &self.risk.before {
            line(f, "before", before)?;
        }
        line(f, "after", after)
    }
}

/// Distinct values, and missing ones.
fn distinct(values: &ColumnValues, one: &str, many: &str) -> String {
    let more = if values.more { "more than " } else { "" };
    let distinct = counted(values.distinct, one, many);
    match values.missing {
        0 => format!("{more}{distinct}"),
        missing => format!("{more}{distinct}, {} without a value", counted(missing, "row", "rows")),
    }
}

/// The values of a column that was released as it is, beside those of the original.
fn values(f: &mut Formatter<'_>, column: &ColumnPortrait) -> fmt::Result {
    let Some(after) = &column.after else { return Ok(()) };
    if !after.histogram.is_empty() && (after.more || after.distinct > after.frequent.len() as u64) {
        let bars = after.histogram.iter();
        let bars = bars.map(|bar| (bar.label(), bar.rows, Vec::new()));
        return table(f, vec!["values", "rows"], bars.collect());
    }
    let before = column.before.as_ref().filter(|before| !before.frequent.is_empty());
    let rows = after.frequent.iter().map(|value| {
        let found = |before: &ColumnValues| {
            let mut known = before.frequent.iter().filter(|one| one.value == value.value);
            known.next().map(|one| one.rows)
        };
        (named(&value.value), value.rows, before.map(found).into_iter().collect())
    });
    let heads = ["value", "rows", "before"];
    table(f, heads[..if before.is_some() { 3 } else { 2 }].to_vec(), rows.collect())?;
    let others = after.distinct - after.frequent.len() as u64;
    if others > 0 && !after.frequent.is_empty() {
        let rows = counted(after.others, "row", "rows");
        writeln!(f, "  {} in {rows}", counted(others, "other value", "other values"))?;
    }
    Ok(())
}

/// Rows of a name, a number with a bar, and further numbers.
fn table(
    f: &mut Formatter<'_>,
    heads: Vec<&str>,
    rows: Vec<(String, u64, Vec<Option<u64>>)>,
) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    let names = rows.iter().map(|(name, ..)| name.chars().count());
    let name_width = names.chain([heads[0].len()]).max().unwrap_or(0);
    let mut widths = vec![0; heads.len() - 1];
    let cells = |(_, number, others): &(String, u64, Vec<Option<u64>>)| -> Vec<String> {
        let others = others.iter().map(|other| other.map_or("?".into(), thousands));
        [thousands(*number)].into_iter().chain(others).collect()
    };
    for (at, width) in widths.iter_mut().enumerate() {
        let of_row = rows.iter().map(|row| cells(row).get(at).map_or(0, String::len));
        *width = of_row.chain([heads[at + 1].len()]).max().unwrap_or(0);
    }
    write!(f, "    {:<name_width$}", heads[0])?;
    for (head, width) in heads[1..].iter().zip(&widths) {
        write!(f, "  {head:>width$}")?;
    }
    writeln!(f)?;
    let most = rows.iter().map(|(_, number, _)| *number).max().unwrap_or(0).max(1);
    for row in &rows {
        let padding = name_width - row.0.chars().count();
        write!(f, "    {}{:padding$}", row.0, "")?;
        for (cell, width) in cells(row).iter().zip(&widths) {
            write!(f, "  {cell:>width$}")?;
        }
        let length = (row.1 as f64 / most as f64 * BAR).ceil() as usize;
        let bar = "#".repeat(length);
        writeln!(f, "{}{bar}", if bar.is_empty() { "" } else { "  " })?;
    }
    Ok(())
}

/// A label or a value; an empty one means that a value is missing.
fn named(value: &str) -> String {
    if value.is_empty() { "(missing)".into() } else { plain(value) }
}

/// A text in a cell of its own: cut, and without characters that would steer a terminal.
fn plain(text: &str) -> String {
    let mut shown = String::new();
    for (at, character) in text.chars().enumerate() {
        if at == WIDTH {
            shown.push('…');
            break;
        }
        if steers(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Whether a character changes how others are shown: control characters, and those that change the
/// direction of writing or are not seen.
pub(crate) fn steers(character: char) -> bool {
    let invisible = ['\u{61c}', '\u{feff}', '\u{180e}'];
    character.is_control()
        || invisible.contains(&character)
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// A whole number with its thousands apart.
pub(crate) fn thousands(number: u64) -> String {
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
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

/// A share.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent > 0.0 && percent < 0.05 {
        return "below 0.1 %".into();
    }
    let told = format!("{percent:.1}");
    format!("{} %", told.strip_suffix(".0").unwrap_or(&told))
}
