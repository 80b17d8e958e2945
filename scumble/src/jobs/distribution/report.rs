//! The story of a distribution release.

use super::DistributionVerification;
use crate::release::{Io, Phase};
use crate::search::buckets::Rounding;
use crate::table::Type;
use serde_json::{Map, Value, json};

/// What was asked, what was reached, what it cost.
#[derive(Clone, Debug)]
pub struct DistributionReport {
    /// sa-only or qi-sa.
    pub algorithm: &'static str,
    /// The search that generalized the quasi-identifiers first.
    pub generalized_by: Option<&'static str>,
    /// Rows of the input.
    pub rows: u64,
    /// Rows that were left out.
    pub suppressed: u64,
    /// The sensitive attribute.
    pub attribute: String,
    /// The name of the target that groups without their own have.
    pub target: String,
    /// How far the weights of each target are from what was asked.
    pub rounding: Vec<Rounding>,
    /// How many values the domain has.
    pub domain: u64,
    /// Decimals of its numbers; `None` for categories.
    pub scale: Option<u32>,
    /// The columns of the records with their types.
    pub columns: Vec<(String, Type)>,
    /// What was counted in the written release.
    pub verification: DistributionVerification,
    /// Bytes that were moved.
    pub io: Io,
    /// How long each stage took.
    pub phases: Vec<Phase>,
}

impl DistributionReport {
    /// The worst rounding of any target.
    pub fn worst_rounding(&self) -> Rounding {
        let worst = |worst: Rounding, one: &Rounding| Rounding {
            largest: worst.largest.max(one.largest),
            total_variation: worst.total_variation.max(one.total_variation),
        };
        self.rounding.iter().fold(Rounding::default(), worst)
    }

    /// The report as one JSON object.
    pub fn to_json(&self) -> Value {
        let rounding = self.worst_rounding();
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| object.insert(key.to_string(), value);
        put("algorithm", json!(self.algorithm));
        if let Some(name) = self.generalized_by {
            put("generalized-by", json!(name));
        }
        put("rows", json!(self.rows));
        put("suppressed", json!(self.suppressed));
        for (key, value) in self.verification.counts_json() {
            put(&key, value);
        }
        put("privacy", self.verification.privacy_json());
        let columns: Map<String, Value> =
            self.columns.iter().map(|(name, kind)| (name.clone(), json!(kind.name()))).collect();
        put(
            "distribution",
            json!({
                "attribute": self.attribute,
                "values": if self.scale.is_some() { "numbers" } else { "categories" },
                "target": self.target,
                "targets": self.rounding.len(),
                "domain": self.domain,
                "groups": self.verification.groups,
                "fakes": self.verification.fakes,
                "sum-of-ranges": self.verification.sum_of_ranges,
                "rounding": {"largest": rounding.largest, "total-variation": rounding.total_variation},
                "columns": columns,
            }),
        );
        put("io", json!({"bytes-read": self.io.read, "bytes-written": self.io.written}));
        let phase = |phase: &Phase| json!({"name": phase.name, "seconds": phase.seconds});
        put("phases", self.phases.iter().map(phase).collect());
        Value::Object(object)
    }
}
