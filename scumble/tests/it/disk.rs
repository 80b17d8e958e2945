//! Random tables in every format with columns of many types that only travel, and what a run makes
//! of them.

use crate::fixture::open;
use crate::oracle::Demand;
use crate::partition::{Parts, Space, Split};
use crate::tables::{Asked, AskedKind, Drawn};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow_cast::cast;
use arrow_schema::DataType;
use scumble::error::Error;
use scumble::job::{DiskParameters, Job, Parameters};
use scumble::policy::{Algorithm, Policy};
use scumble::random::Random;
use scumble::release::ReleaseFile;
use scumble::source::Source;
use scumble::watch::Watch;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SPLITS: [(Split, &str); 4] = [
    (Split::Loss, "loss"),
    (Split::Median, "median"),
    (Split::InfoGain, "info-gain"),
    (Split::Regression, "regression"),
];

pub type Row = Vec<Option<String>>;

/// How rows are partitioned on disk.
#[derive(Clone, Debug, Default)]
pub struct OnDisk {
    pub parameters: DiskParameters,
    pub memory: Option<u64>,
    pub seed: u64,
}

impl OnDisk {
    pub fn job(&self, policy: Policy) -> Job {
        let parameters = Parameters { disk: self.parameters.clone(), ..Parameters::default() };
        let job = Job::new(policy).parameters(parameters).seed(self.seed);
        match self.memory {
            Some(memory) => job.memory(memory),
            None => job,
        }
    }
}

/// A table in a file, and what is asked of it.
pub struct Case {
    pub drawn: Drawn,
    pub demands: Vec<Demand>,
    target: Vec<f64>,
    split: Split,
    least_gain: f64,
    pooling: bool,
    weights: Vec<u64>,
    pub policy: Policy,
    pub is_cover: bool,
    pub input: PathBuf,
    ending: &'static str,
    pub what: String,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Ran {
    pub names: Vec<String>,
    pub types: Vec<DataType>,
    /// Rows without their order.
    pub rows: Vec<Row>,
    pub bytes: Vec<u8>,
    pub report: Value,
    /// The saved partition tree, nested.
    pub tree: Option<Value>,
}

impl Case {
    /// The case of a seed; `None` where the kinds of requirement do not suit the table.
    pub fn new(name: &str, seed: u64) -> Option<Case> {
        let drawn = Drawn::for_disk(name, seed);
        let random = &mut Random::stream(19, seed);
        let mut kinds = vec![AskedKind::ALL[seed as usize % AskedKind::ALL.len()]];
        while random.below(3) == 0 && kinds.len() < 3 {
            kinds.push(AskedKind::ALL[random.below(AskedKind::ALL.len() as u64) as usize]);
        }
        let sizes = kinds.iter().filter(|kind| **kind == AskedKind::Size).count();
        let asked: Vec<Asked> =
            kinds.iter().map(|kind| drawn.ask(random, *kind)).collect::<Option<_>>()?;
        let demands: Vec<Demand> = asked.iter().flat_map(|asked| asked.demands.clone()).collect();
        let (split, word) = SPLITS[random.below(4) as usize];
        let least_gain = [0.01, 0.17, 0.0][random.below(3) as usize];
        let is_cover = random.below(2) == 0;
        let regions = if is_cover { "cover" } else { "tight" };
        let pooling = random.below(3) > 0;
        let search = format!(
            "split = \"{word}\"\nleast-gain = {least_gain}\npooling = {pooling}\nregions = \"{regions}\""
        );
        let mut policy = (sizes < 2).then(|| drawn.policy_with(&asked, &search))?;
        let mut weights = vec![1; drawn.plain.keys.len()];
        if split == Split::Loss && seed.is_multiple_of(2) {
            (weights, policy) = drawn.weigh(&mut Random::stream(20, seed), &policy);
        }
        let target = drawn.plain.target.iter().map(|text| text.parse().unwrap()).collect();
        let ending = ["csv", "parquet", "arrow"][random.below(3) as usize];
        let what = format!("{name}, seed {seed}, {asked:?}, {search:?}, {ending}");
        let input = drawn.folder.path(&format!("input.{ending}"));
        write(&input, &table(&drawn, random, ending != "csv"));
        Some(Case {
            drawn,
            demands,
            target,
            split,
            least_gain,
            pooling,
            weights,
            policy,
            is_cover,
            input,
            ending,
            what,
        })
    }

    /// Runs an algorithm; an error is one of the requirements, or a failure.
    pub fn run(&self, algorithm: Algorithm, disk: &OnDisk) -> Option<Ran> {
        let saved = self.is_cover.then(|| self.drawn.folder.path("saved.json"));
        let policy = self.policy.edit().algorithm(algorithm.name()).build().unwrap();
        let output = self.drawn.folder.path(&format!("output.{}", self.ending));
        let input = open(&self.input);
        let mut sink = ReleaseFile::new(&output).unwrap().like(&input);
        if let Some(saved) = &saved {
            sink = sink.save_recoding(saved);
        }
        match disk.job(policy).run(&input, sink, &Watch::silent()) {
            Ok(report) => Some(Ran::read(&output, report.to_json(), saved.as_deref())),
            Err(Error::CannotBeMet { .. }) => None,
            Err(other) => panic!("{}: {other}", self.what),
        }
    }

    pub fn space(&self) -> Space<'_> {
        let Case { drawn, demands, target, .. } = self;
        let (split, least_gain, pooling) = (self.split, self.least_gain, self.pooling);
        let (plain, ordered) = (&drawn.plain, &drawn.ordered);
        let weights = &self.weights;
        Space { plain, demands, ordered, target, split, least_gain, pooling, weights }
    }
}

/// The input with columns of many types: as texts, or as what they are.
fn table(drawn: &Drawn, random: &mut Random, typed: bool) -> RecordBatch {
    let text = std::fs::read_to_string(&drawn.file).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    // Where there is a hierarchy, values must be its leaves to the letter.
    let is_ordered = |name: &str| {
        name.strip_prefix('q')
            .is_some_and(|at| drawn.ordered[at.parse::<usize>().unwrap()].is_some())
    };
    for (at, name) in lines[0].iter().enumerate() {
        let texts: StringArray =
            lines[1..].iter().map(|line| Some(line[at]).filter(|text| !text.is_empty())).collect();
        let texts: ArrayRef = Arc::new(texts);
        let kinds = [DataType::Int64, DataType::Float64, DataType::Date32, DataType::Int32];
        let kind = &kinds[random.below(4) as usize];
        let strict = arrow_cast::CastOptions { safe: false, ..Default::default() };
        let as_typed = arrow_cast::cast_with_options(&texts, kind, &strict).ok();
        columns.push((
            name.to_string(),
            as_typed.filter(|_| typed && is_ordered(name)).unwrap_or(texts),
        ));
    }
    let rows = drawn.plain.rows;
    let mut draw = |most: u64| random.below(most);
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let words: Vec<Option<String>> = (0..rows)
        .map(|_| match draw(6) {
            0 => None,
            1 => Some("a, \"b\"\nc".into()),
            2 => Some("é".repeat(draw(60) as usize + 1)),
            number => Some(format!("w{number}")),
        })
        .collect();
    let floats: Float64Array =
        (0..rows).map(|_| (draw(5) > 0).then(|| draw(100) as f64 / 8.0 - 3.0)).collect();
    let flags: BooleanArray = (0..rows).map(|_| (draw(5) > 0).then(|| draw(2) > 0)).collect();
    let days: Int64Array = (0..rows).map(|_| (draw(5) > 0).then(|| draw(20_000) as i64)).collect();
    let days = cast(&cast(&days, &DataType::Int32).unwrap(), &DataType::Date32).unwrap();
    let short: ArrayRef = Arc::new(StringArray::from(words.clone()));
    let kind =
        [DataType::LargeUtf8, DataType::Utf8View, DataType::Binary][draw(3) as usize].clone();
    let many: Vec<(&str, ArrayRef)> = vec![
        ("id", ids),
        ("words", short.clone()),
        ("floats", Arc::new(floats)),
        ("flags", Arc::new(flags)),
        ("days", days),
    ];
    columns.extend(many.into_iter().map(|(name, array)| (name.to_string(), array)));
    if typed {
        columns.push(("other".into(), cast(&short, &kind).unwrap()));
    }
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

/// Writes a table in the format that its name tells.
pub fn write(file: &Path, batch: &RecordBatch) {
    let schema = batch.schema();
    match file.extension().unwrap().to_str().unwrap() {
        "csv" => {
            let quoted = |text: Option<String>| match text {
                Some(text) if text.contains(['"', ',', '\n']) => {
                    format!("\"{}\"", text.replace('"', "\"\""))
                }
                text => text.unwrap_or_default(),
            };
            let names: Vec<&str> =
                schema.fields().iter().map(|field| field.name().as_str()).collect();
            let mut text = names.join(",") + "\n";
            for row in texts(batch) {
                text += &(row.into_iter().map(quoted).collect::<Vec<_>>().join(",") + "\n");
            }
            std::fs::write(file, text).unwrap();
        }
        "parquet" => {
            let mut writer =
                parquet::arrow::ArrowWriter::try_new(File::create(file).unwrap(), schema, None)
                    .unwrap();
            writer.write(batch).unwrap();
            writer.close().unwrap();
        }
        _ => {
            let mut writer =
                arrow_ipc::writer::FileWriter::try_new(File::create(file).unwrap(), &schema)
                    .unwrap();
            writer.write(batch).unwrap();
            writer.finish().unwrap();
        }
    }
}

pub fn texts(batch: &RecordBatch) -> Vec<Row> {
    let as_text = |array: &ArrayRef| {
        cast(&cast(array, &DataType::LargeUtf8).unwrap(), &DataType::Utf8).unwrap()
    };
    let columns: Vec<ArrayRef> = batch.columns().iter().map(as_text).collect();
    let columns: Vec<&StringArray> =
        columns.iter().map(|array| array.as_any().downcast_ref().unwrap()).collect();
    let cell = |array: &StringArray, row: usize| {
        (!array.is_null(row)).then(|| array.value(row).to_string())
    };
    (0..batch.num_rows())
        .map(|row| columns.iter().map(|array| cell(array, row)).collect())
        .collect()
}

/// The rows of a file, with the names and types of its columns.
pub fn read(file: &Path) -> (Vec<String>, Vec<DataType>, Vec<Row>) {
    let source = open(file);
    let schema = source.schema();
    let mut rows = Vec::new();
    for batch in source.scan(&(0..schema.fields().len()).collect::<Vec<_>>()).unwrap() {
        rows.extend(texts(&batch.unwrap()));
    }
    let fields = schema.fields();
    let types = fields.iter().map(|field| field.data_type().clone()).collect();
    (fields.iter().map(|field| field.name().clone()).collect(), types, rows)
}

impl Ran {
    fn read(output: &Path, report: Value, saved: Option<&Path>) -> Ran {
        let (names, types, mut rows) = read(output);
        rows.sort();
        let tree = saved.map(|saved| {
            let saved: Value = serde_json::from_slice(&std::fs::read(saved).unwrap()).unwrap();
            let mut nodes = &saved["nodes"].as_array().unwrap()[..];
            let tree = nested(&mut nodes);
            assert!(nodes.is_empty(), "nodes behind the tree: {nodes:?}");
            tree
        });
        Ran { names, types, rows, bytes: std::fs::read(output).unwrap(), report, tree }
    }

    /// Every column but the quasi-identifiers, by row.
    pub fn travelled(&self) -> Vec<Row> {
        travelling(&self.names, &self.rows)
    }

    /// The rows of each class, by their numbers in the input.
    pub fn parts(&self) -> Parts {
        let id = self.names.iter().position(|name| name == "id").unwrap();
        let mut classes: BTreeMap<Row, Vec<usize>> = BTreeMap::new();
        for row in &self.rows {
            let labels = row
                .iter()
                .zip(&self.names)
                .filter(|(_, name)| is_key(name))
                .map(|cell| cell.0.clone());
            classes
                .entry(labels.collect())
                .or_default()
                .push(row[id].as_ref().unwrap().parse().unwrap());
        }
        let mut parts: Parts = classes.into_values().collect();
        parts.iter_mut().for_each(|part| part.sort_unstable());
        parts.sort();
        parts
    }

    pub fn number(&self, pointer: &str) -> f64 {
        self.report
            .pointer(pointer)
            .and_then(Value::as_f64)
            .unwrap_or_else(|| panic!("{pointer}: {}", self.report))
    }

    pub fn is_minimal(&self) -> bool {
        self.report.pointer("/search/minimal").and_then(Value::as_bool).unwrap()
    }
}

/// Every column but the quasi-identifiers, by row and without an order.
pub fn travelling(names: &[String], rows: &[Row]) -> Vec<Row> {
    let kept: Vec<usize> = (0..names.len()).filter(|column| !is_key(&names[*column])).collect();
    let mut rows: Vec<Row> =
        rows.iter().map(|row| kept.iter().map(|column| row[*column].clone()).collect()).collect();
    rows.sort();
    rows
}

fn is_key(name: &str) -> bool {
    name.starts_with('q')
}

/// The tree that begins with the first of some nodes, nested; the others are left. A branch for
/// missing values that no row went to is passed over: who reads a tree adds it where it belongs.
fn nested(nodes: &mut &[Value]) -> Value {
    let (node, rest) = nodes.split_first().expect("a tree ends with regions");
    *nodes = rest;
    if let Some(split) = node.get("threshold") {
        let (attribute, up_to) = (&split["attribute"], split.get("up-to"));
        let (below, above) = (nested(nodes), nested(nodes));
        let is_number_split = below[0] == *attribute && below[1].is_number();
        return if up_to.is_none() && above == "region" && is_number_split {
            below
        } else {
            json!([attribute, up_to, below, above])
        };
    }
    match node.get("children") {
        Some(split) => {
            let labels = split["labels"].as_array().unwrap().iter();
            let parts: Vec<Value> = labels.map(|label| json!([label, nested(nodes)])).collect();
            let rest = (split["rest"] == true).then(|| nested(nodes));
            json!([split["attribute"], split["level"], parts, rest])
        }
        None => node.clone(),
    }
}
