//! What experiments share: tables of measurements, scratch folders, clocks.

use scumble::error::{Error, Result};
use scumble::policy::Policy;
use scumble::recoding::Style;
use scumble::search::regions::{Criterion, Partitioning};
use scumble::source::encode;
use scumble::table::Table;
use scumble::{Source, TableFile, Watch};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The quasi-identifiers of the Adult table, in the order of the papers.
pub const SEVEN: [&str; 7] =
    ["age", "education", "native-country", "workclass", "marital-status", "sex", "race"];

/// Partitioning as in the papers: the widest attribute at its median, a node into all its children
/// or not at all, regions by the range of their values. Their loss is compared.
pub const TIGHT: Partitioning = Partitioning {
    criterion: Criterion::Median,
    least_gain: 0.01,
    pooling: false,
    style: Style::Tight,
};

/// A file as a table in memory, with the roles of a policy.
pub fn read(file: &Path, policy: &Policy) -> Result<Table> {
    let source = TableFile::open(file)?;
    let schema = source.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let roles = policy.roles(&names, file, false)?;
    encode(&source, &roles, &Watch::default(), "read")
}

/// A table of measurements.
pub struct Measured {
    /// What was measured.
    pub title: String,
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// Rows, with a value for each column.
    pub rows: Vec<Vec<Value>>,
}

impl Measured {
    /// One object for each row.
    fn to_json(&self) -> Value {
        let row = |row: &Vec<Value>| -> Value {
            self.columns
                .iter()
                .map(|name| name.to_string())
                .zip(row.iter().cloned())
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        json!({"title": self.title, "rows": self.rows.iter().map(row).collect::<Vec<_>>()})
    }

    /// The head of a Markdown table.
    fn head(&self) -> String {
        let (columns, rules) = (self.columns.join(" | "), "---|".repeat(self.columns.len()));
        format!("{}\n\n| {columns} |\n|{rules}\n", self.title)
    }
}

/// Tables on standard output: as text row by row, so that a long experiment can be watched, or as
/// one JSON object at the end.
pub struct Shown {
    as_json: bool,
    tables: Vec<Measured>,
}

impl Shown {
    /// Nothing yet.
    pub fn new(as_json: bool) -> Shown {
        Shown { as_json, tables: Vec::new() }
    }

    fn write(&self, text: &str) {
        let mut output = std::io::stdout().lock();
        // A reader that has closed the pipe does not want the rest.
        let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    }

    /// Begins a table, to which the next rows belong.
    pub fn begin(&mut self, title: impl Into<String>, columns: Vec<&'static str>) {
        let table = Measured { title: title.into(), columns, rows: Vec::new() };
        if !self.as_json {
            let gap = if self.tables.is_empty() { "" } else { "\n" };
            self.write(&format!("{gap}{}", table.head()));
        }
        self.tables.push(table);
    }

    /// Another row of the last table.
    pub fn row(&mut self, row: Vec<Value>) {
        if !self.as_json {
            let cells: Vec<String> = row.iter().map(cell).collect();
            self.write(&format!("| {} |\n", cells.join(" | ")));
        }
        if let Some(table) = self.tables.last_mut() {
            table.rows.push(row);
        }
    }

    /// A whole table.
    pub fn table(&mut self, table: Measured) {
        self.begin(table.title, table.columns);
        table.rows.into_iter().for_each(|row| self.row(row));
    }

    /// The end of all tables.
    pub fn finish(self) {
        if self.as_json {
            let object = match self.tables.as_slice() {
                [table] => table.to_json(),
                tables => {
                    json!({"tables": tables.iter().map(Measured::to_json).collect::<Vec<_>>()})
                }
            };
            self.write(&format!("{object}\n"));
        }
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            format!("{:.4}", number.as_f64().unwrap_or(f64::NAN))
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The processor's time, user's and system's, in seconds.
#[derive(Clone, Copy)]
pub struct Spent {
    /// Of this process.
    pub own: f64,
    /// Of all its children that have ended.
    pub children: f64,
}

/// The processor's time so far, where the system tells.
pub fn processor_seconds() -> Option<Spent> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may hold anything, the fields are numbers; these four are in
    // hundredths of a second.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let seconds = |field: usize| fields.get(field)?.parse::<f64>().ok().map(|ticks| ticks / 100.0);
    Some(Spent { own: seconds(11)? + seconds(12)?, children: seconds(13)? + seconds(14)? })
}

/// A folder for synthetic tables that is gone afterwards.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new() -> Result<Scratch> {
        let folder = std::env::temp_dir().join(format!("scumble-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(Error::io(&folder, "write"))?;
        Ok(Scratch(folder))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays behind is no reason to fail.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The fastest of some runs on some threads, in seconds, and what the last one found. One more run
/// comes first, so that nothing is cold.
pub fn fastest<T: Send>(
    threads: usize,
    runs: u32,
    run: impl Fn() -> Result<T> + Sync,
) -> Result<(f64, T)> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
        Error::Io { file: "threads".into(), doing: "start", source: std::io::Error::other(error) }
    })?;
    pool.install(|| {
        let mut best = f64::INFINITY;
        let mut found = run()?;
        for _ in 0..runs {
            let start = Instant::now();
            found = run()?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        Ok((best, found))
    })
}
