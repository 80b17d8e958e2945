//! What is measured of a release as a whole: losses, classes, risk, and how sure the search is.

use super::parts::{Chart, Figure, Grid};
use super::svg::{self, Row, visible};
use crate::portrait::{ColumnPortrait, Portrait, SizeBar, counted, percent, thousands};
use crate::release::{ReleaseKind, Report, Risks, SearchReport};

/// What each quasi-identifier lost.
pub(super) fn losses(portrait: &Portrait) -> Option<Chart> {
    let lost = portrait.columns.iter().filter_map(|column| Some((column, column.loss?)));
    let row = |(column, loss): (&ColumnPortrait, f64)| Row {
        name: visible(&column.name),
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

pub(super) fn classes(portrait: &Portrait) -> Option<Figure> {
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

pub(super) fn risk(portrait: &Portrait) -> Option<Figure> {
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
pub(super) fn searched(report: &Report) -> Vec<String> {
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
    told.push(proven(search, optimal).into());
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
        told.push(format!("At most {gap:.1} % of the {name} could be avoided by any recoding that the policy allows, proven."));
    }
    told
}

pub(super) fn alternatives(report: &Report) -> Option<Grid> {
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

/// What a search proved, in a sentence.
fn proven(search: &SearchReport, optimal: Option<bool>) -> &'static str {
    match (search.minimal, optimal) {
        (Some(true), _) => {
            "No allowable split is left. That does not prove that no other recoding costs less."
        }
        (Some(false), _) => "An allowable split may be left.",
        (_, Some(true)) => "Proven optimal: no other recoding of this kind costs less.",
        _ => "Not proven optimal: another recoding of this kind may cost less.",
    }
}

/// The same in a few words.
pub(super) fn sureness(report: &Report) -> String {
    let ReleaseKind::Table { loss, search, .. } = &report.release else { return "–".into() };
    let bounded = match loss.lm_weighted {
        Some(weighted) => loss.lm_weighted_bound.map(|bound| (weighted, bound)),
        None => loss.lm_bound.map(|bound| (loss.lm, bound)),
    };
    match (search, bounded.filter(|(_, bound)| *bound > 0.0)) {
        (Some(SearchReport { optimal: Some(true), .. }), _) => "optimal of its kind".into(),
        (_, Some((lm, bound))) => {
            // Rounded up: the gap is never smaller than what is told.
            let avoidable = (1e3 * (1.0 - bound / lm).max(0.0)).ceil() / 10.0;
            format!("at most {avoidable:.1} % avoidable")
        }
        _ => "not proven".into(),
    }
}
