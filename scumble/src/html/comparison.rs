//! What several policies, kinds of recoding or values of k would release, on one page.

use super::Style;
use super::measures::sureness;
use super::parts::{Chart, Grid};
use super::svg::{self, Point, visible};
use crate::portrait::{percent, thousands};
use crate::release::{Losses, ReleaseKind, Report};
use askama::Template;

#[derive(Template)]
#[template(path = "comparison.html")]
struct ComparisonPage<'a> {
    title: String,
    version: &'a str,
    style: Style,
    table: Grid,
    failed: Vec<String>,
    has_trees: bool,
    picture: Option<Chart>,
}

impl Report {
    /// What several jobs would release of one table, as one HTML page for its owner. Each has a name,
    /// and a report or the reason why there is none. `has_trees` says whether their hierarchies
    /// differ, so that their losses are measured by different yardsticks.
    pub fn compared_html(
        table: &str,
        variants: &[(String, std::result::Result<&Report, String>)],
        has_trees: bool,
    ) -> String {
        let last = std::path::Path::new(table).file_name();
        let page = ComparisonPage {
            title: visible(&last.map_or(table.into(), |name| name.to_string_lossy())),
            version: env!("CARGO_PKG_VERSION"),
            style: Style::new(),
            table: grid(variants),
            failed: failed(variants),
            has_trees,
            picture: picture(variants),
        };
        // Writing to a string cannot fail.
        page.render().unwrap_or_default()
    }

    fn losses(&self) -> Option<&Losses> {
        match &self.release {
            ReleaseKind::Table { loss, .. } => Some(loss),
            ReleaseKind::Distribution { .. } => None,
        }
    }

    /// The average risk of a row.
    fn average_risk(&self) -> f64 {
        self.classes.classes as f64 / self.released.max(1) as f64
    }
}

type Variant<'a> = (String, std::result::Result<&'a Report, String>);

/// A line for each variant that has a report.
fn grid(variants: &[Variant<'_>]) -> Grid {
    let reports = || variants.iter().filter_map(|(_, report)| report.as_ref().ok());
    let has_cm = reports().any(|report| report.losses().is_some_and(|loss| loss.cm.is_some()));
    let heads = ["Variant", "LM", "DM", "CM", "Highest risk", "Average risk", "Rows left out"];
    let heads = heads.into_iter().chain(["Classes", "Smallest class", "Seconds", "How sure"]);
    let heads = heads.filter(|head| *head != "CM" || has_cm).map(String::from).collect();
    let row = |(at, (name, report)): (usize, &Variant<'_>)| {
        let report = report.as_ref().ok()?;
        let loss = report.losses()?;
        let dm = u64::try_from(loss.dm).map_or_else(|_| loss.dm.to_string(), thousands);
        let mut cells =
            vec![format!("{}. {}", at + 1, visible(name)), format!("{:.4}", loss.lm), dm];
        if has_cm {
            cells.push(loss.cm.map_or("–".into(), |cm| format!("{cm:.4}")));
        }
        let seconds: f64 =
            report.phases.iter().filter(|one| one.name != "read").map(|one| one.seconds).sum();
        let smallest = report.classes.smallest_class;
        cells.extend([
            percent(1.0 / smallest.max(1) as f64),
            percent(report.average_risk()),
            thousands(report.suppressed),
            thousands(report.classes.classes),
            thousands(smallest),
            format!("{seconds:.2}"),
            sureness(report),
        ]);
        Some(cells)
    };
    let rows = variants.iter().enumerate().filter_map(row).collect();
    Grid { caption: "What each variant would release".into(), heads, rows }
}

/// Why the others have none.
fn failed(variants: &[Variant<'_>]) -> Vec<String> {
    let reason = |(at, (name, report)): (usize, &Variant<'_>)| {
        let reason = report.as_ref().err()?;
        Some(visible(&format!("{}. {name}: {reason}", at + 1)))
    };
    variants.iter().enumerate().filter_map(reason).collect()
}

fn picture(variants: &[Variant<'_>]) -> Option<Chart> {
    let point = |(at, (name, report)): (usize, &Variant<'_>)| {
        let report = report.as_ref().ok()?;
        let (x, y) = (report.losses()?.lm, report.average_risk());
        Some(Point { number: at + 1, name: name.clone(), x, y })
    };
    let points: Vec<Point> = variants.iter().enumerate().filter_map(point).collect();
    let axes = ["detail lost (LM)", "average risk of a row"];
    let svg = svg::points("Average risk of a row against detail lost", &points, axes);
    let caption = "Average risk of a row against detail lost (LM)".into();
    (points.len() > 1).then_some(Chart { caption, svg, has_before: false })
}
