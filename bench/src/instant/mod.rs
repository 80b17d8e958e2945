//! Decided from a summary: the experiments of Nergiz, Tamersoy and Saygin 2011 (figures 5 to 12,
//! table V) on census data of growing size and on Adult.
//!
//! What the paper counts as data scans of S-INSTANT are candidates that were checked against the
//! rows ("checks"), and of Incognito nodes that were evaluated ("visited"). Everything is timed
//! from a table in memory, as the paper's is; summaries are made beforehand, and how long that
//! takes is told by itself.

mod tables;

use crate::harness::{Measured, Scratch, TIGHT};
use scumble::error::{Error, Result};
use scumble::estimate::multinomial::Shortcuts;
use scumble::recoding::RegionNode;
use scumble::search::instant::By;
use scumble::search::lattice::s_instant::Nodes;
use scumble::search::regions::{m_instant, mondrian};
use scumble::summary::Estimator;
use scumble::watch::Watch;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;
use tables::{Bound, Data, KINDS, Ready};

/// Sizes of the census where none is given.
const SIZES: [u64; 3] = [100_000, 300_000, 1_000_000];

/// Beyond this size the best cuts, with which figures 6 and 9 compare, take minutes.
const MOST_WITH_CUTS: u64 = 1_000_000;

/// The size at which everything but the size varies.
const USUAL: u64 = 100_000;

const COLUMNS: [&str; 12] = [
    "figures",
    "table",
    "varied",
    "summary",
    "optimum, ms",
    "optimum visited",
    "optimum LM",
    "by",
    "ms",
    "checks",
    "LM",
    "LM over optimum",
];

/// S-INSTANT with every summary, by probability and by expectation, against an optimum.
fn compare(
    rows: &mut Vec<Vec<Value>>,
    figures: &str,
    bound: &Bound<'_>,
    varied: &str,
    bys: &[(&str, By)],
    subtree: bool,
) -> Result<()> {
    let optimum = if subtree { bound.cuts()? } else { Some(bound.incognito()?) };
    let visited = match (&optimum, subtree, bound.ready.table.rows() <= 300_000) {
        // The paper's Incognito goes from the top down.
        (Some(_), false, true) => json!(bound.top_down()?),
        (Some(optimum), true, _) => json!(optimum.checks),
        _ => Value::Null,
    };
    for (summary, (kind, _)) in KINDS.iter().enumerate() {
        for (name, by) in bys {
            let found = bound.s_instant(summary, *by, Shortcuts::ALL, subtree)?;
            let over = optimum.as_ref().and_then(|optimum| Some(found.lm? - optimum.lm?));
            let (ms, lm) = optimum.as_ref().map_or((Value::Null, Value::Null), |optimum| {
                let [ms, _, lm] = optimum.cells();
                (ms, lm)
            });
            let mut row = vec![
                json!(figures),
                json!(bound.ready.data.name),
                json!(varied),
                json!(kind),
                ms,
                visited.clone(),
                lm,
                json!(name),
            ];
            row.extend(found.cells());
            row.push(json!(over));
            rows.push(row);
        }
    }
    Ok(())
}

const BOTH: [(&str, By); 2] =
    [("probability", By::Probability(0.8)), ("expectation", By::Expectation(1.0))];

/// Figures 5 to 9 and 11 on one table: k, l, suppression, quasi-identifiers, thresholds;
/// full-domain and cuts.
fn single_dimensional(ready: &Ready, rows: &mut Vec<Vec<Value>>) -> Result<()> {
    let diverse = |l: u32| format!("l-diversity = {{ kind = \"frequency\", l = {l} }}");
    for k in [20, 40, 60, 80, 100] {
        let bound = ready.bound(&format!("k = {k}"), "0")?;
        compare(rows, "5a, 5b", &bound, &format!("k={k}"), &BOTH, false)?;
        compare(rows, "6a, 6b", &bound, &format!("cuts, k={k}"), &BOTH, true)?;
    }
    for share in 1..=5u64 {
        let bound = ready.bound("k = 20", &format!("0.0{share}"))?;
        let most = bound.prepared.task.suppressible as f64;
        compare(
            rows,
            "7",
            &bound,
            &format!("k=20, {share} % suppressed"),
            &[("expectation", By::Expectation(most))],
            false,
        )?;
    }
    for l in [2, 3, 4, 5, 10] {
        let bound = ready.bound(&diverse(l), "0")?;
        compare(rows, "8a, 8b", &bound, &format!("l={l}"), &BOTH, false)?;
        compare(rows, "9a, 9b", &bound, &format!("cuts, l={l}"), &BOTH, true)?;
    }
    let bound = ready.bound(&diverse(3), "0")?;
    for threshold in [0.1, 0.3, 0.5, 0.7, 0.9] {
        compare(
            rows,
            "11",
            &bound,
            &format!("l=3, threshold {threshold}"),
            &[("probability", By::Probability(threshold))],
            false,
        )?;
    }
    Ok(())
}

/// What is left out in figure 10: every set of those that the paper combines, and each of the two
/// that it never leaves out.
const LEFT_OUT: [&[&str]; 10] = [
    &[],
    &["max"],
    &["limit"],
    &["expo"],
    &["max", "limit"],
    &["max", "expo"],
    &["limit", "expo"],
    &["max", "limit", "expo"],
    &["hybrid"],
    &["sd-cut"],
];

/// Figure 10: combinations of optimizations.
fn optimizations(ready: &Ready) -> Result<Measured> {
    let mut rows = Vec::new();
    let bound = ready.bound("l-diversity = { kind = \"frequency\", l = 3 }", "0")?;
    for (summary, (kind, _)) in KINDS.iter().enumerate() {
        for left_out in LEFT_OUT {
            // Without SD_CUT every size up to the number of rows is summed for every bucket; the
            // paper does not wait for it.
            if left_out == ["sd-cut"] && *kind != "histogram" {
                continue;
            }
            let shortcuts = left_out
                .iter()
                .try_fold(Shortcuts::ALL, |shortcuts, name| shortcuts.without(name))
                .ok_or(Error::Defect)?;
            for (name, by) in BOTH {
                let found = bound.s_instant(summary, by, shortcuts, false)?;
                let mut row = vec![
                    json!(ready.data.name),
                    json!(kind),
                    json!(if left_out.is_empty() { "nothing".into() } else { left_out.join(", ") }),
                    json!(name),
                ];
                row.extend(found.cells());
                rows.push(row);
            }
        }
    }
    Ok(Measured {
        title: "Figure 10: S-INSTANT for 3-diversity without some of its optimizations".into(),
        columns: vec!["table", "summary", "without", "by", "ms", "checks", "LM"],
        rows,
    })
}

/// Figure 12 and table V: M-INSTANT against Mondrian.
fn multidimensional(ready: &Ready) -> Result<Measured> {
    let mut rows = Vec::new();
    let cases = [20, 40, 60, 80, 100].into_iter().map(|k| (k, 0.95, "12"));
    for (k, threshold, figure) in cases
        .chain([0.1, 0.3, 0.5, 0.7, 0.9].into_iter().map(|threshold| (20, threshold, "table V")))
    {
        let bound = ready.bound(&format!("k = {k}"), "0")?;
        let task = &bound.prepared.task;
        let start = Instant::now();
        let mondrian = mondrian::search(task, TIGHT, &Watch::default())?;
        let (seconds, optimum) = (start.elapsed().as_secs_f64(), bound.lm(&mondrian)?);
        for (summary, (kind, _)) in KINDS.iter().enumerate() {
            let beliefs = bound.beliefs(summary)?;
            let start = Instant::now();
            let estimator = Estimator::new(&beliefs, Shortcuts::ALL, &Watch::default())?;
            let foreseen =
                m_instant::partition(&estimator, By::Probability(threshold), &Watch::default())?;
            let first = start.elapsed().as_secs_f64();
            let settled = m_instant::settle(task, &foreseen.regions, TIGHT, &Watch::default())?;
            let both = start.elapsed().as_secs_f64();
            let lm = bound.lm(&settled)?;
            rows.push(vec![
                json!(figure),
                json!(ready.data.name),
                json!(k),
                json!(threshold),
                json!(kind),
                json!(format!("{:.1}", seconds * 1e3)),
                json!(optimum),
                json!(format!("{:.1}", first * 1e3)),
                json!(format!("{:.1}", both * 1e3)),
                json!(
                    foreseen
                        .regions
                        .nodes
                        .iter()
                        .filter(|node| matches!(node, RegionNode::Region))
                        .count()
                ),
                json!(lm),
                json!(lm - optimum),
            ]);
        }
    }
    Ok(Measured {
        title: "Figure 12 and table V: M-INSTANT against Mondrian, both in memory".into(),
        columns: vec![
            "figure",
            "table",
            "k",
            "threshold",
            "summary",
            "Mondrian, ms",
            "Mondrian LM",
            "first phase, ms",
            "both, ms",
            "regions foreseen",
            "LM",
            "LM over Mondrian",
        ],
        rows,
    })
}

/// How quick estimates are: the whole lattice, and one mapping.
fn speed(ready: &Ready) -> Result<Measured> {
    let mut rows = Vec::new();
    for k in [5, 20, 100] {
        let bound = ready.bound(&format!("k = {k}"), "0")?;
        let beliefs = bound.beliefs(0)?;
        let mut whole = f64::INFINITY;
        let (mut one, mut space) = (f64::INFINITY, 0);
        for _ in 0..10 {
            let start = Instant::now();
            let estimator = Estimator::new(&beliefs, Shortcuts::ALL, &Watch::default())?;
            let nodes = Nodes::new(&estimator)?;
            let heights: Vec<usize> = beliefs.taxonomies.iter().map(|tree| tree.height()).collect();
            let mut levels = vec![0; heights.len()];
            let mut outliers = 0.0;
            space = 0;
            loop {
                outliers += nodes.total(&levels)?.map_or(0.0, |total| total.outliers());
                space += 1;
                // The next node, like the next number of an odometer.
                let Some(column) =
                    (0..levels.len()).find(|column| levels[*column] < heights[*column])
                else {
                    break;
                };
                levels[..column].fill(0);
                levels[column] += 1;
            }
            std::hint::black_box(outliers);
            whole = whole.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            (0..1000).for_each(|_| {
                _ = std::hint::black_box(nodes.total(std::hint::black_box(
                    &heights.iter().map(|height| height / 2).collect::<Vec<_>>(),
                )));
            });
            one = one.min(start.elapsed().as_secs_f64() / 1000.0);
        }
        rows.push(vec![
            json!(ready.data.name),
            json!(k),
            json!(space),
            json!(format!("{:.2}", whole * 1e3)),
            json!(format!("{:.2}", one * 1e6)),
        ]);
    }
    Ok(Measured {
        title: "Estimates from a histogram: every node of the lattice, with all that they share, and one more mapping; fastest of 10".into(),
        columns: vec!["table", "k", "nodes", "all, ms", "one, microseconds"],
        rows,
    })
}

/// The experiments, on census tables up to `rows` rows and on Adult where it is given.
pub fn instant(adult: Option<&Path>, rows: Option<u64>) -> Result<Vec<Measured>> {
    let scratch = Scratch::new()?;
    let usual = rows.unwrap_or(USUAL).min(USUAL);
    let sizes: Vec<u64> = match rows {
        Some(most) => [USUAL, 300_000, 1_000_000, 3_000_000, 10_000_000]
            .into_iter()
            .filter(|size| *size < most)
            .chain([most])
            .collect(),
        None => SIZES.to_vec(),
    };
    let mut tables = Vec::new();
    let mut readies = vec![Ready::new(Data::census(usual, &scratch)?, 7)?];
    if let Some(folder) = adult {
        readies.push(Ready::new(Data::adult(folder), 7)?);
    }
    let mut compared = Vec::new();
    for ready in &readies {
        single_dimensional(ready, &mut compared)?;
    }
    for (keys, l) in [(3, 3), (4, 3), (5, 3), (6, 3)] {
        let ready = Ready::new(Data::census(usual, &scratch)?, keys)?;
        let bound =
            ready.bound(&format!("l-diversity = {{ kind = \"frequency\", l = {l} }}"), "0")?;
        compare(
            &mut compared,
            "8e, 8f",
            &bound,
            &format!("l={l}, {keys} quasi-identifiers"),
            &BOTH,
            false,
        )?;
    }
    let mut summaries = Vec::new();
    for size in sizes {
        let ready = Ready::new(Data::census(size, &scratch)?, 7)?;
        let diverse = "l-diversity = { kind = \"frequency\", l = 3 }";
        for (privacy, varied, levels, cuts) in
            [("k = 20", "k=20", "5c, 5d", "6c, 6d"), (diverse, "l=3", "8c, 8d", "9c, 9d")]
        {
            let bound = ready.bound(privacy, "0")?;
            compare(&mut compared, levels, &bound, varied, &BOTH, false)?;
            if size <= MOST_WITH_CUTS {
                let varied = format!("cuts, {varied}");
                compare(&mut compared, cuts, &bound, &varied, &BOTH, true)?;
            }
        }
        let seconds = ready.seconds.iter().map(|seconds| json!(format!("{seconds:.3}")));
        summaries.push([json!(ready.data.name)].into_iter().chain(seconds).collect());
        std::fs::remove_file(&ready.data.file).map_err(Error::io(&ready.data.file, "remove"))?;
    }
    tables.push(Measured {
        title: "Figures 5 to 9 and 11: S-INSTANT against the optimum".into(),
        columns: COLUMNS.to_vec(),
        rows: compared,
    });
    tables.push(Measured {
        title: "Seconds to make a summary of a table in memory".into(),
        columns: vec!["table", "histogram", "bayes", "sample"],
        rows: summaries,
    });
    for ready in &readies {
        tables.push(optimizations(ready)?);
        tables.push(multidimensional(ready)?);
        tables.push(speed(ready)?);
    }
    Ok(tables)
}
