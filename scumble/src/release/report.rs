//! What was asked, what was reached, what it cost: for scripts as JSON, with the keys that people
//! script against.

use super::{OfTarget, Verified};
use crate::ratio::Ratio;
use crate::recoding::Style;
use crate::search::Warrant;
use serde_json::{Map, Value, json};

/// What a release lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Losses {
    /// Loss metric.
    pub lm: f64,
    /// Discernibility.
    pub dm: u128,
    /// How well the target is known, where there is one.
    pub target: Option<OfTarget>,
    /// Non-uniform entropy, in bits per cell; not counted where rows are on disk.
    pub entropy: Option<f64>,
}

/// How a search went.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    /// What it can swear to.
    pub warrant: Warrant,
    /// What it minimised, in its own unit; partitioning minimises nothing.
    pub cost: Option<f64>,
    /// How many recodings there are, where they can be counted.
    pub space: Option<u128>,
    /// How many recodings (or nodes of a partition tree) were evaluated.
    pub visited: u64,
    /// How often rows were read for it.
    pub data_scans: u64,
    /// How long it took.
    pub seconds: f64,
    /// What it went by, where that was belief.
    pub believed: Option<Believed>,
}

/// What a search by belief went by, and how often it was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Believed {
    /// The kind of summary.
    pub summary: &'static str,
    /// How many recodings were believed in.
    pub candidates: u64,
    /// How many of them were checked against the rows.
    pub checks: u64,
    /// The probability that the one that was taken holds, as it was believed before the rows were
    /// looked at.
    pub probability: f64,
    /// The rows that were expected to fail.
    pub outliers: f64,
}

/// A stage of the work and how long it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// "read", "bind", "search", "write", "verify".
    pub name: &'static str,
    /// How long it took.
    pub seconds: f64,
}

/// Bytes that were moved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Io {
    /// Read, of input and release.
    pub read: u64,
    /// Written, of the release.
    pub written: u64,
    /// How often rows were written to new partitions on disk.
    pub repartitions: u64,
    /// Splits' nodes that were undone.
    pub pruned: u64,
    /// Partitions larger than memory that no sample could split.
    pub unsplit: u64,
    /// What was to be expected, for partitions on disk.
    pub predicted: Option<Predicted>,
}

/// What section 4 of LeFevre and DeWitt predicts for partitions on disk, in tables, beside what
/// happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicted {
    /// How often all rows are written to new partitions.
    pub repartitions: u64,
    /// How often all rows are read.
    pub scans: u64,
    /// How often all rows are written.
    pub writes: u64,
    /// How often all rows were read.
    pub scanned: f64,
    /// How often all rows were written.
    pub written: f64,
}

/// What was decided, as far as a report tells it.
#[derive(Clone, Debug, PartialEq)]
pub enum Decided {
    /// The level of each quasi-identifier, and the height of its tree.
    Levels(Vec<(String, usize, usize)>),
    /// The labels of each quasi-identifier's cut.
    Cuts(Vec<(String, Vec<String>)>),
    /// How many regions, and what they are called.
    Regions(u64, Style),
}

impl Decided {
    fn to_json(&self) -> Value {
        match self {
            Decided::Levels(levels) => {
                let levels: Map<String, Value> =
                    levels.iter().map(|(name, level, _)| (name.clone(), json!(level))).collect();
                json!({"model": "full-domain", "levels": levels})
            }
            Decided::Cuts(cuts) => {
                let cuts: Map<String, Value> =
                    cuts.iter().map(|(name, labels)| (name.clone(), json!(labels))).collect();
                json!({"model": "cuts", "cuts": cuts})
            }
            Decided::Regions(regions, style) => {
                let style =
                    Style::NAMES.iter().find(|(_, known)| known == style).map(|(name, _)| *name);
                json!({"model": "regions", "regions": regions, "labels": style})
            }
        }
    }
}

impl Searched {
    fn to_json(&self) -> Value {
        let Searched { warrant, cost, space, visited, data_scans, seconds, believed } = self;
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| object.insert(key.to_string(), value);
        if let Some(space) = space {
            put("space", whole(*space));
        }
        put("visited", json!(visited));
        if let Some(cost) = cost {
            put("cost", json!(cost));
        }
        match *warrant {
            Warrant::Optimal => put("optimal", json!(true)),
            Warrant::AtLeast(bound) => {
                put("optimal", json!(false));
                put("lower-bound", json!(bound))
            }
            Warrant::Minimal(minimal) => put("minimal", json!(minimal)),
            Warrant::Likely => put("optimal", json!(false)),
        };
        if let Some(Believed { summary, candidates, checks, probability, outliers }) = believed {
            put("summary", json!(summary));
            put("candidates", json!(candidates));
            put("checks", json!(checks));
            put("probability", json!(probability));
            put("expected-outliers", json!(outliers));
        }
        put("data-scans", json!(data_scans));
        put("seconds", json!(seconds));
        Value::Object(object)
    }
}

/// The whole story of a release.
#[derive(Clone, Debug)]
pub struct Report {
    /// The algorithm's name.
    pub algorithm: &'static str,
    /// Rows of the input.
    pub rows: u64,
    /// Rows that were left out.
    pub suppressed: u64,
    /// Sensitive values that were left out of rows that were not, where that is a way.
    pub suppressed_values: Option<u64>,
    /// What was counted in the written release.
    pub verified: Verified,
    /// The names of the counted columns, as judgements number them.
    pub counted: Vec<String>,
    /// Caps that followed from the input's frequencies, by column and value: a release alone does
    /// not tell them.
    pub caps: Vec<(String, String, Ratio)>,
    /// What was lost.
    pub losses: Losses,
    /// What was decided.
    pub decided: Decided,
    /// How the search went; `None` where levels were fixed by hand.
    pub searched: Option<Searched>,
    /// Bytes that were moved.
    pub io: Io,
    /// How long each stage took.
    pub phases: Vec<Phase>,
}

/// A number that scripts can read exactly: as a string past 2^53.
fn whole(number: u128) -> Value {
    match u64::try_from(number) {
        Ok(number) if number <= 1 << 53 => json!(number),
        _ => json!(number.to_string()),
    }
}

fn caps_json(caps: &[(String, String, Ratio)]) -> Value {
    let mut columns = Map::new();
    for (column, value, cap) in caps {
        let of_column = columns.entry(column.clone()).or_insert_with(|| json!({}));
        of_column[value] = json!(cap.to_string());
    }
    Value::Object(columns)
}

/// The caps that a report has, or `None` where it has none that can be read.
pub fn caps_of_report(report: &Value) -> Option<Vec<(String, String, Ratio)>> {
    let mut caps = Vec::new();
    for (column, values) in report.get("thresholds")?.as_object()? {
        for (value, cap) in values.as_object()? {
            let cap: Ratio = cap.as_str()?.parse().ok()?;
            caps.push((column.clone(), value.clone(), cap));
        }
    }
    caps.iter().all(|(.., cap)| *cap <= Ratio::ONE).then_some(caps)
}

/// A figure; whole numbers without a fraction, and null for what is no number (a ratio to nothing).
fn figure(number: f64) -> Value {
    match number {
        _ if !number.is_finite() => Value::Null,
        _ if number.fract() == 0.0 && number.abs() < 9e15 => json!(number as i64),
        _ => json!(number),
    }
}

impl Verified {
    /// The judgements as JSON; `counted` names the counted columns.
    pub fn privacy_json(&self, counted: &[String]) -> Value {
        let judgement = |judgement: &super::Judgement| {
            let statement = &judgement.statement;
            let mut object = Map::new();
            object.insert("requirement".into(), json!(statement.requirement));
            if let Some(kind) = statement.kind {
                object.insert("kind".into(), json!(kind));
            }
            if let Some(name) = statement.column.and_then(|column| counted.get(column)) {
                object.insert("sensitive".into(), json!(name));
            }
            object.insert("required".into(), figure(statement.required));
            if let Some((name, value)) = statement.also {
                object.insert(name.into(), figure(value));
            }
            object.insert("achieved".into(), judgement.achieved.map_or(Value::Null, figure));
            object.insert("satisfied".into(), json!(judgement.satisfied()));
            if judgement.failing > 0 {
                object.insert("failing-classes".into(), json!(judgement.failing));
            }
            Value::Object(object)
        };
        self.privacy.iter().map(judgement).collect()
    }

    /// Rows over classes.
    pub fn average(&self) -> f64 {
        if self.classes == 0 { 0.0 } else { self.rows as f64 / self.classes as f64 }
    }
}

impl Losses {
    fn to_json(self) -> Value {
        let mut object = Map::new();
        object.insert("lm".into(), json!(self.lm));
        object.insert("dm".into(), whole(self.dm));
        if let Some(target) = self.target {
            object.insert("cm".into(), json!(target.cm));
        }
        if let Some(entropy) = self.entropy {
            object.insert("entropy".into(), json!(entropy));
        }
        if let Some(target) = self.target {
            object.insert("conditional-entropy".into(), json!(target.conditional_entropy));
            if let Some(rmse) = target.rmse {
                object.insert("rmse".into(), json!(rmse));
            }
        }
        Value::Object(object)
    }
}

impl Io {
    fn to_json(self) -> Value {
        let mut io = json!({
            "bytes-read": self.read,
            "bytes-written": self.written,
            "repartitions": self.repartitions,
            "pruned-nodes": self.pruned,
        });
        if let Some(predicted) = self.predicted {
            io["unsplit-partitions"] = json!(self.unsplit);
            io["tables-read"] = json!(predicted.scanned);
            io["tables-written"] = json!(predicted.written);
            io["predicted"] = json!({
                "repartitions": predicted.repartitions,
                "tables-read": predicted.scans,
                "tables-written": predicted.writes,
            });
        }
        io
    }
}

impl Report {
    /// The report as one JSON object.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| object.insert(key.to_string(), value);
        put("algorithm", json!(self.algorithm));
        put("rows", json!(self.rows));
        put("released", json!(self.verified.rows));
        put("suppressed", json!(self.suppressed));
        if let Some(values) = self.suppressed_values {
            put("suppressed-values", json!(values));
        }
        put("classes", json!(self.verified.classes));
        put("smallest-class", json!(self.verified.smallest));
        put("average-class", json!(self.verified.average()));
        put("privacy", self.verified.privacy_json(&self.counted));
        if !self.caps.is_empty() {
            put("thresholds", caps_json(&self.caps));
        }
        put("loss", self.losses.to_json());
        put("recoding", self.decided.to_json());
        if let Some(searched) = &self.searched {
            put("search", searched.to_json());
        }
        put("io", self.io.to_json());
        let phase = |phase: &Phase| json!({"name": phase.name, "seconds": phase.seconds});
        put("phases", self.phases.iter().map(phase).collect());
        Value::Object(object)
    }
}
