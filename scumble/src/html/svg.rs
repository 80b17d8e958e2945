//! Charts as SVG: bars, histograms, trees.
//!
//! A chart is as wide as its place. Horizontal positions are shares of that width, while texts and
//! heights are in pixels, so a chart is readable on a phone and needs no script. Colours are classes
//! of the page's style sheet. Every chart has a title that says in words what it shows; its figures
//! are also in a table of the page.

use crate::portrait::{counted, percent, steers, thousands};
use std::fmt::Write as _;

/// A bar, or a pair of bars, with its name.
pub(super) struct Row {
    /// What it stands for.
    pub(super) name: String,
    /// How far it stands below others in a tree.
    pub(super) depth: usize,
    /// The figure before, if it is known.
    pub(super) before: Option<f64>,
    /// The figure after; `None` for a node of a tree that only has others below it.
    pub(super) after: Option<f64>,
    /// The figures in words.
    pub(super) told: String,
}

/// A finished chart. Its texts are escaped.
pub(super) struct Svg(String);

impl Svg {
    /// The element.
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// The height of a line of text.
const LINE: f64 = 20.0;

/// The height of a bar.
const BAR: f64 = 9.0;

/// How far a node of a tree is indented.
const INDENT: f64 = 16.0;

/// Names are cut after so many characters, so that they leave room for figures on a phone.
const NAME: usize = 30;

/// Horizontal bars, one or two for each row, with names above them. Rows with a depth are drawn as a
/// tree. `whole` is the figure of a bar over the whole width.
pub(super) fn bars(title: &str, rows: &[Row], whole: f64) -> Svg {
    let has_before = rows.iter().any(|row| row.before.is_some());
    let mut drawn = String::new();
    let mut top = 2.0;
    // Bars begin where their names do, and end within the width on a phone.
    let deepest = rows.iter().map(|row| row.depth).max().unwrap_or(0);
    let room = 100.0 - 5.0 * deepest.min(10) as f64;
    // Where the line of each depth began.
    let mut parents: Vec<f64> = Vec::new();
    for row in rows {
        let left = row.depth as f64 * INDENT;
        parents.truncate(row.depth);
        if let Some(parent) = parents.last() {
            let (x, y) = (left - INDENT + 4.0, top + LINE - 10.0);
            let _ = write!(drawn, r#"<path class="branch" d="M{x} {parent}V{y}H{}"/>"#, left - 1.0);
        }
        let name = cut(&row.name, NAME.saturating_sub(2 * row.depth).max(12));
        let y = top + LINE - 6.0;
        let class = if row.after.is_some() { "name" } else { "name node" };
        let _ =
            write!(drawn, r#"<text class="{class}" x="{left}" y="{y}">{}</text>"#, escaped(&name));
        let told = escaped(&row.told);
        let _ = write!(drawn, r#"<text class="figure" x="100%" y="{y}">{told}</text>"#);
        top += LINE;
        // A nested element moves shares of the width by pixels.
        let mut bar = |class: &str, figure: f64| {
            let width = room * (figure / whole.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            let _ = write!(
                drawn,
                r#"<svg x="{left}" y="{top}" width="100%" height="{BAR}"><rect class="{class}" width="{width:.2}%" height="{}"/></svg>"#,
                BAR - 2.0
            );
            top += BAR;
        };
        row.before
            .filter(|_| row.after.is_some())
            .into_iter()
            .for_each(|figure| bar("before", figure));
        row.after.into_iter().for_each(|figure| bar("after", figure));
        parents.push(if row.after.is_some() { top } else { top - 2.0 });
        top += if has_before { 8.0 } else { 5.0 };
    }
    Svg(element(title, top, &drawn, "bars"))
}

/// A bar of a histogram: its range, and its figures before and after.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) before: Option<u64>,
    pub(super) after: Option<u64>,
}

/// The height of a histogram's bars.
const HEIGHT: f64 = 110.0;

/// Vertical bars side by side, with the names of the first, the middle and the last one, and the
/// figure of the highest one.
pub(super) fn histogram(title: &str, columns: &[Column]) -> Svg {
    let figures = columns.iter().flat_map(|column| [column.before, column.after]).flatten();
    let most = figures.max().unwrap_or(0).max(1);
    let (mut drawn, count) = (String::new(), columns.len().max(1) as f64);
    let top = LINE + 4.0;
    let told = format!("up to {}", counted(most, "row", "rows"));
    let _ = write!(drawn, r#"<text class="axis" x="0" y="12">{}</text>"#, escaped(&told));
    for (at, column) in columns.iter().enumerate() {
        let sides = [("before", column.before), ("after", column.after)];
        let sides: Vec<(&str, u64)> =
            sides.into_iter().filter_map(|(class, figure)| Some((class, figure?))).collect();
        let width = 100.0 / count * 0.84 / sides.len().max(1) as f64;
        for (side, (class, figure)) in sides.iter().enumerate() {
            let left = 100.0 / count * (at as f64 + 0.08) + width * side as f64;
            let height = HEIGHT * *figure as f64 / most as f64;
            let y = top + HEIGHT - height;
            let name = escaped(&column.name);
            let told = thousands(*figure);
            let _ = write!(
                drawn,
                r#"<rect class="{class}" x="{left:.2}%" y="{y:.1}" width="{width:.2}%" height="{height:.1}"><title>{name}: {told}</title></rect>"#
            );
        }
    }
    let base = top + HEIGHT;
    let _ = write!(drawn, r#"<line class="base" x1="0" y1="{base}" x2="100%" y2="{base}"/>"#);
    let places = [
        (0, "start", 0.0),
        (columns.len() / 2, "middle", 0.5),
        (columns.len().saturating_sub(1), "end", 1.0),
    ];
    for (at, class, shift) in places {
        let Some(column) = columns.get(at).filter(|_| columns.len() > 2 || class != "middle")
        else {
            continue;
        };
        let x = 100.0 / count * (at as f64 + shift);
        let name = escaped(&cut(&column.name, 18));
        let y = base + 15.0;
        let _ = write!(drawn, r#"<text class="axis {class}" x="{x:.2}%" y="{y}">{name}</text>"#);
    }
    Svg(element(title, base + LINE + 4.0, &drawn, "histogram"))
}

/// A numbered point.
pub(super) struct Point {
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) x: f64,
    pub(super) y: f64,
}

/// Numbered points between two axes that begin at 0. Shares are told in percent.
pub(super) fn points(title: &str, points: &[Point], axes: [&str; 2]) -> Svg {
    let most = |of: fn(&Point) -> f64| rounded(points.iter().map(of).fold(0.0, f64::max));
    let (most_x, most_y) = (most(|point| point.x), most(|point| point.y));
    let (height, left, width) = (220.0, 6.0, 86.0);
    let top = LINE + 10.0;
    let base = top + height;
    let mut drawn = String::new();
    let _ = write!(drawn, r#"<text class="axis" x="0" y="12">{}</text>"#, escaped(axes[1]));
    let told = |share: f64| escaped(&percent(share));
    for step in 0..=2 {
        let part = f64::from(step) / 2.0;
        let (x, y) = (left + width * part, base - height * part);
        let _ = write!(
            drawn,
            r#"<line class="rule" x1="{left}%" y1="{y}" x2="100%" y2="{y}"/><text class="axis" x="{left}%" y="{}">{}</text>"#,
            y - 4.0,
            if step == 0 { String::new() } else { told(most_y * part) }
        );
        let _ = write!(
            drawn,
            r#"<text class="axis middle" x="{x:.2}%" y="{}">{}</text>"#,
            base + 16.0,
            told(most_x * part)
        );
    }
    for Point { number, name, x, y } in points {
        let (x, y) = (left + width * x / most_x, base - height * y / most_y);
        let name = escaped(name);
        let _ = write!(
            drawn,
            r#"<circle class="after" cx="{x:.2}%" cy="{y:.1}" r="5"><title>{name}</title></circle><text class="number" x="{x:.2}%" y="{:.1}" dx="8">{number}</text>"#,
            y - 6.0
        );
    }
    let _ = write!(
        drawn,
        r#"<text class="axis end" x="100%" y="{}">{}</text>"#,
        base + 34.0,
        escaped(axes[0])
    );
    Svg(element(title, base + 40.0, &drawn, "points"))
}

/// The end of an axis: 1, 2 or 5 times a power of ten.
fn rounded(most: f64) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(most.log10().floor());
    let fits = |times: &&f64| **times * power >= most;
    [1.0, 2.0, 5.0].iter().find(fits).unwrap_or(&10.0) * power
}

fn element(title: &str, height: f64, drawn: &str, class: &str) -> String {
    let title = escaped(title);
    format!(
        r#"<svg class="chart {class}" role="img" aria-label="{title}" width="100%" height="{height}">{drawn}</svg>"#
    )
}

/// The first characters of a name.
fn cut(name: &str, most: usize) -> String {
    match name.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_string(),
    }
}

/// A text with nothing that a browser would take for markup, and nothing that changes how its
/// neighbours are shown.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(character),
        }
    }
    safe
}

/// A text in which characters that steer others are spelled out.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if steers(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(name: &str, depth: usize, before: Option<f64>, after: Option<f64>) -> Row {
        Row { name: name.into(), depth, before, after, told: "1".into() }
    }

    #[test]
    fn bars_are_shares_of_the_whole() {
        let rows = [row("a", 0, Some(10.0), Some(5.0)), row("b", 1, None, None)];
        let Svg(svg) = bars("two", &rows, 10.0);
        assert!(svg.contains(r#"class="before" width="100.00%""#), "{svg}");
        assert!(svg.contains(r#"class="after" width="50.00%""#), "{svg}");
        assert_eq!(svg.matches("<path").count(), 1, "{svg}");
        let Svg(empty) = bars("none", &[row("a", 0, Some(0.0), Some(0.0))], 0.0);
        assert!(empty.contains(r#"width="0.00%""#), "{empty}");
    }

    #[test]
    fn a_histogram_has_a_bar_for_each_figure() {
        let column = |after| Column { name: "1–5".into(), before: Some(4), after };
        let Svg(svg) = histogram("all", &[column(Some(8)), column(None)]);
        assert_eq!(svg.matches("<rect").count(), 3, "{svg}");
        assert!(svg.contains(r#"height="110.0""#) && svg.contains("up to 8 rows"), "{svg}");
    }

    #[test]
    fn axes_end_at_round_numbers() {
        for (most, end) in
            [(0.0, 1.0), (0.013, 0.02), (0.2, 0.2), (0.21, 0.5), (0.9, 1.0), (3.0, 5.0)]
        {
            assert!((rounded(most) - end).abs() < 1e-12, "{most}");
        }
        let point = |x, y| Point { number: 1, name: "a".into(), x, y };
        let Svg(svg) = points("all", &[point(0.5, 0.0), point(0.25, 0.1)], ["x", "y"]);
        assert!(svg.contains(r#"cx="92.00%" cy="250.0""#), "{svg}");
        assert!(svg.contains(r#"cx="49.00%" cy="30.0""#), "{svg}");
    }

    proptest! {
        /// No text gets out of its element, and none steers what is around it.
        #[test]
        fn texts_stay_texts(text in any::<String>()) {
            let safe = escaped(&text);
            prop_assert!(!safe.contains(['<', '>', '"', '\'']));
            prop_assert!(!safe.chars().any(steers));
            let Svg(svg) = bars(&text, &[row(&text, 0, None, Some(1.0))], 1.0);
            prop_assert_eq!(svg.matches('<').count(), 10);
        }
    }
}
