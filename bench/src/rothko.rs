//! Partitioning on disk: I/O and time against frequency groups, sample size, data size and k,
//! beside what section 4 predicts (LeFevre and DeWitt 2007, figures 10 to 21). The paper has 50
//! million rows of which 2 million fit into memory; the same share fits here, whatever the number
//! of rows.

use crate::harness::{Scratch, Shown};
use crate::synthetic::{Asked, Data, LEAST_GAIN, release, table};
use scumble::ReleaseKind;
use scumble::error::Result;
use scumble::job::DiskParameters;
use serde_json::{Value, json};

/// Rows where nothing else is asked for.
const ROWS: u64 = 1_000_000;

/// How a table is partitioned.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Rothko-T with so many frequency groups (F_CACHE).
    Counts(usize),
    /// Rothko-S.
    Sample,
}

/// One release, and the figures that it is in.
struct Case {
    figures: Vec<u8>,
    way: Way,
    rows: u64,
    /// TM.
    tuples: u64,
    k: u64,
    split: &'static str,
}

impl Case {
    fn same(&self, other: &Case) -> bool {
        let asked = |case: &Case| (case.way, case.rows, case.tuples, case.k, case.split);
        asked(self) == asked(other)
    }

    fn measure(&self, scratch: &Scratch) -> Result<Vec<Value>> {
        let Case { figures, way, rows, tuples, k, split } = self;
        let (algorithm, groups) = match way {
            Way::Counts(groups) => ("rothko-t", Some(*groups)),
            Way::Sample => ("rothko-s", None),
        };
        let privacy = format!("k = {k}");
        let asked = Asked {
            of: Data::Agrawal,
            algorithm,
            split,
            least_gain: LEAST_GAIN,
            privacy,
            other: Some(("c2", "target")),
        };
        let disk = DiskParameters { tuples: Some(*tuples), groups, ..DiskParameters::default() };
        let (report, spent) = release(
            scratch,
            &table(scratch, asked.of, *rows, 1, "parquet")?,
            &asked,
            disk,
            None,
            0,
        )?;
        let seconds = match &report.release {
            ReleaseKind::Table { search: Some(search), .. } => search.seconds,
            _ => 0.0,
        };
        let share =
            |share: Option<f64>| share.map_or(Value::Null, |share| json!(format!("{share:.2}")));
        let predicted = |get: fn(&scumble::release::Predicted) -> Value| {
            report.io.predicted.as_ref().map_or(Value::Null, get)
        };
        let megabytes = |bytes: u64| json!(format!("{:.1}", bytes as f64 / 1e6));
        let count = *rows as f64;
        Ok(vec![
            json!(figures.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")),
            json!(algorithm),
            json!(split),
            json!(rows),
            json!(tuples),
            json!(groups),
            json!(k),
            share(report.io.tables_read),
            predicted(|io| json!(io.tables_read)),
            share(report.io.tables_written),
            predicted(|io| json!(io.tables_written)),
            megabytes(report.io.bytes_read),
            megabytes(report.io.bytes_written),
            json!(report.io.pruned_nodes),
            json!(format!("{seconds:.2}")),
            spent.map_or(Value::Null, |spent| json!(format!("{spent:.2}"))),
            spent.map_or(Value::Null, |spent| {
                json!(format!("{:.1}", spent * 1e9 / (count * count.log2())))
            }),
        ])
    }
}

/// All cases, each once.
fn cases(rows: u64) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let tuples = (rows / 25).max(2);
    let k = (rows / 1000).clamp(2, 1000);
    let mut add = |figure: u8, way: Way, rows: u64, tuples: u64, k: u64, split: &'static str| {
        let case = Case { figures: vec![figure], way, rows, tuples, k, split };
        match cases.iter_mut().find(|known| known.same(&case)) {
            Some(known) => known.figures.push(figure),
            None => cases.push(case),
        }
    };
    for groups in [1, 2, 4, 8, 16] {
        add(10, Way::Counts(groups), rows, tuples, k, "median");
    }
    for sampled in [rows / 200, rows / 100, rows / 50, tuples, rows / 10, rows / 5] {
        add(11, Way::Sample, rows, sampled.max(2), k, "median");
    }
    let sizes = [rows / 8, rows / 4, rows / 2, rows];
    let fewer_or_more = [10, 100, 1000, 10_000].into_iter().filter(|k| *k <= rows / 100);
    for (way, figure) in [(Way::Counts(1), 13), (Way::Counts(8), 14), (Way::Sample, 15)] {
        for size in sizes {
            add(12, way, size, tuples, k, "median");
            add(figure, way, size, tuples, k, "median");
        }
        for k in fewer_or_more.clone() {
            add(figure + 3, way, rows, tuples, k, "median");
        }
    }
    for (way, figure) in [(Way::Counts(1), 19), (Way::Counts(4), 20), (Way::Sample, 21)] {
        for size in sizes {
            add(figure, way, size, tuples, k, "info-gain");
        }
    }
    cases
}

/// Figures 10 to 21.
pub fn rothko(rows: Option<u64>, shown: &mut Shown) -> Result<()> {
    let rows = rows.unwrap_or(ROWS);
    let scratch = Scratch::new()?;
    shown.begin(
        "Partitioning on disk: tables and MB read and written; seconds by the clock of survey and partitioning, and \
                the processor's of the whole job, verification too, also in nanoseconds by n log2 n",
        vec![
            "figures",
            "algorithm",
            "split",
            "rows",
            "TM",
            "F_CACHE",
            "k",
            "tables read",
            "predicted read",
            "tables written",
            "predicted written",
            "MB read",
            "MB written",
            "pruned",
            "seconds",
            "CPU seconds",
            "CPU ns / (n log n)",
        ],
    );
    cases(rows).iter().try_for_each(|case| {
        shown.row(case.measure(&scratch)?);
        Ok(())
    })
}
