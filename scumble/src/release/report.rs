//! What was asked, what was reached, what it cost: for scripts as JSON, with the keys that people
//! script against.

use super::Judgement;
use super::verify::SameValue;
use super::{OfTarget, Verified};
use crate::error::{Figure, Judged};
use crate::ratio::Ratio;
use crate::recoding::Style;
use crate::search::{Found, Warrant};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The whole story of a release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Report {
    /// The algorithm.
    pub algorithm: String,
    /// The search that generalized quasi-identifiers before the sensitive values were distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generalized_by: Option<String>,
    /// Rows of the input.
    pub rows: u64,
    /// Rows of the release.
    pub released: u64,
    /// Rows that were left out.
    pub suppressed: u64,
    /// Sensitive values that were left out of released rows, if the policy allows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed_values: Option<u64>,
    /// What was counted in the release.
    #[serde(flatten)]
    pub classes: ClassCounts,
    /// A judgement for each requirement, from the written release.
    pub privacy: Vec<Judged>,
    /// Sensitive attributes that no requirement protects, with the classes in which everybody has
    /// the same value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub same_value: Vec<SameValue>,
    /// Caps that follow from frequencies of the input, by column and value, for values that the
    /// release has.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub thresholds: Map<String, Value>,
    /// What is worth knowing though nothing is wrong, such as a capped value that no row has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What other kinds of recoding would have lost, if that was computed; absent from a report that
    /// was published.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
    /// The kind of release.
    #[serde(flatten)]
    pub release: ReleaseKind,
    /// What was read and written.
    pub io: Io,
    /// The stages of the job.
    pub phases: Vec<Phase>,
    /// What only the owner of the data may see; absent from a report that was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private: Option<PrivateReport>,
}

/// What the release and its policy do not tell: nodes and values that only suppressed rows have,
/// and figures that depend on them or on frequencies of the input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PrivateReport {
    /// Says that the file must not be published.
    pub(crate) owner_only: String,
    /// Losses that depend on frequencies of the input.
    pub loss: PrivateLosses,
    /// What was decided about values that may be in no released row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recoding: Option<PrivateRecoding>,
    /// What the search proved, if the recoding was drawn at random: it would tell what was drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<PrivateSearch>,
    /// Rows, or sensitive values if the scheme suppresses these, that were suppressed at random
    /// although no requirement forced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_suppressed: Option<u64>,
    /// Caps that follow from frequencies of the input, by column and value, for all values.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub thresholds: Map<String, Value>,
}

/// What another kind of recoding would have lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Alternative {
    /// The kind: "levels", "cuts", "regions" or "local".
    pub recoding: String,
    /// The algorithm that found it.
    pub algorithm: String,
    /// What it loses.
    pub loss: AlternativeLoss,
    /// Rows that it leaves out.
    pub suppressed: u64,
}

/// The losses of an alternative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AlternativeLoss {
    /// Loss metric.
    pub lm: f64,
    /// The same as a weighted mean over the columns, if the policy gives weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lm_weighted: Option<f64>,
    /// Discernibility, if that is minimized.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "some_whole",
        deserialize_with = "read_some_whole"
    )]
    pub dm: Option<u128>,
    /// Classification metric, if that is minimized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cm: Option<f64>,
}

impl Alternative {
    pub(crate) fn new(
        recoding: &str,
        algorithm: &str,
        loss: AlternativeLoss,
        suppressed: u64,
    ) -> Alternative {
        let (recoding, algorithm) = (recoding.into(), algorithm.into());
        Alternative { recoding, algorithm, loss, suppressed }
    }
}

/// What a search proved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PrivateSearch {
    /// What the search minimised, if more was suppressed afterwards: the difference from the loss
    /// of the release would tell how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whether nothing cheaper exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimal: Option<bool>,
    /// Nothing costs less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<f64>,
}

impl PrivateReport {
    pub(crate) fn new(loss: PrivateLosses, recoding: Option<PrivateRecoding>) -> PrivateReport {
        let owner_only = "Do not publish this file: it tells more than the release does.".into();
        let (search, extra_suppressed) = (None, None);
        PrivateReport {
            owner_only,
            loss,
            recoding,
            search,
            extra_suppressed,
            thresholds: Map::new(),
        }
    }

    /// The highest level of a column, if levels were chosen.
    pub fn height(&self, column: &str) -> Option<usize> {
        let Some(PrivateRecoding::Heights(heights)) = &self.recoding else { return None };
        heights.iter().find(|(name, _)| name == column).map(|(_, height)| *height)
    }

    /// The text of a file.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// Losses that depend on frequencies of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PrivateLosses {
    /// No release has a smaller LM, proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lm_bound: Option<f64>,
    /// No release has a smaller weighted LM, proven, if the policy gives weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lm_weighted_bound: Option<f64>,
    /// Non-uniform entropy, in bits per cell; not counted for tables on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f64>,
    /// Bits about the target that are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditional_entropy: Option<f64>,
    /// Error of guessing a numeric target as the mean of its class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
}

/// What was decided about values that may be in no released row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrivateRecoding {
    /// The highest level of each column. It may follow from the longest value of the input.
    Heights(#[serde(with = "pairs")] Vec<(String, usize)>),
    /// All nodes of the cut through each tree.
    Cuts(#[serde(with = "pairs")] Vec<(String, Vec<String>)>),
}

/// The kind of a release, with what is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ReleaseKind {
    /// Sensitive values that follow a target distribution.
    Distribution {
        /// What was released.
        distribution: DistributionReport,
    },
    /// One table with generalized quasi-identifiers.
    Table {
        /// What was lost.
        loss: Losses,
        /// What was decided.
        recoding: RecodingReport,
        /// How the search went; `None` if nothing was searched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        search: Option<SearchReport>,
    },
}

/// Classes of a release, and groups of a distribution release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClassCounts {
    /// Classes: sets of rows with equal quasi-identifiers.
    pub classes: u64,
    /// Rows of the smallest class.
    pub smallest_class: u64,
    /// Rows over classes.
    pub average_class: f64,
    /// Groups of a distribution release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u64>,
    /// Records of the smallest group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_group: Option<u64>,
}

/// What a release lost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Losses {
    /// Loss metric: the share of detail lost, averaged over cells.
    pub lm: f64,
    /// The same as a weighted mean over the columns, if the policy gives weights: what the search
    /// minimized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lm_weighted: Option<f64>,
    /// No release has a smaller LM, proven, if that is known. It depends on the input and not only
    /// on the release, so it is absent from a report that was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lm_bound: Option<f64>,
    /// The same of the weighted LM. If the policy gives weights, that is what is proven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lm_weighted_bound: Option<f64>,
    /// Discernibility: squared class sizes.
    #[serde(serialize_with = "whole", deserialize_with = "read_whole")]
    pub dm: u128,
    /// Classification metric of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cm: Option<f64>,
}

impl Losses {
    pub(crate) fn new(lm: f64, dm: u128, target: Option<OfTarget>) -> Losses {
        Losses {
            lm,
            lm_weighted: None,
            lm_bound: None,
            lm_weighted_bound: None,
            dm,
            cm: target.map(|target| target.cm),
        }
    }

    /// The same with a proven bound of what was minimized. A loss is a sum of floats and may be
    /// rounded down, so no bound is above it.
    pub(crate) fn with_bound(self, bound: Option<f64>) -> Losses {
        let least = |loss: f64| bound.map(|bound| bound.min(loss));
        match self.lm_weighted {
            Some(weighted) => Losses { lm_weighted_bound: least(weighted), ..self },
            None => Losses { lm_bound: least(self.lm), ..self },
        }
    }

    /// The same without what the release does not tell.
    fn published(self) -> Losses {
        Losses { lm_bound: None, lm_weighted_bound: None, ..self }
    }
}

impl PrivateLosses {
    pub(crate) fn new(target: Option<OfTarget>, entropy: Option<f64>) -> PrivateLosses {
        PrivateLosses {
            lm_bound: None,
            lm_weighted_bound: None,
            entropy,
            conditional_entropy: target.map(|target| target.conditional_entropy),
            rmse: target.and_then(|target| target.rmse),
        }
    }
}

/// What was decided, as far as a report tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum RecodingReport {
    /// The level of each quasi-identifier.
    FullDomain {
        /// Levels by column.
        #[serde(with = "pairs")]
        levels: Vec<(String, usize)>,
    },
    /// A cut through the tree of each quasi-identifier.
    Cuts {
        /// The labels that the release has, by column.
        #[serde(with = "pairs")]
        cuts: Vec<(String, Vec<String>)>,
    },
    /// Boxes in the space of quasi-identifiers.
    Regions {
        /// The number of regions.
        regions: u64,
        /// How they are labelled: "tight" or "cover".
        labels: String,
    },
    /// Classes whose labels may overlap.
    Local {
        /// How numbers are labelled: "tight" or "cover".
        labels: String,
    },
}

impl RecodingReport {
    pub(crate) fn regions(regions: u64, style: Style) -> RecodingReport {
        RecodingReport::Regions { regions, labels: style.name().into() }
    }

    pub(crate) fn local(style: Style) -> RecodingReport {
        RecodingReport::Local { labels: style.name().into() }
    }
}

/// How a search went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SearchReport {
    /// Recodings in the space, if they can be counted.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "some_whole",
        deserialize_with = "read_some_whole"
    )]
    pub space: Option<u128>,
    /// Recodings, or nodes of a partition tree, that were evaluated.
    pub visited: u64,
    /// What the search minimised, in its own unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whether nothing cheaper exists: proven, not hoped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimal: Option<bool>,
    /// Nothing costs less: proven when the search ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<f64>,
    /// Whether no allowable split is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimal: Option<bool>,
    /// What a search by a summary went by.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub believed: Option<Believed>,
    /// Scans of the input that happened.
    pub data_scans: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

impl SearchReport {
    /// Hands over what would tell which of several recodings was drawn, and the cost, if it would
    /// tell how much was suppressed afterwards.
    pub(crate) fn take_proof(&mut self, with_cost: bool) -> PrivateSearch {
        PrivateSearch {
            cost: if with_cost { self.cost.take() } else { None },
            optimal: self.optimal.take(),
            lower_bound: self.lower_bound.take(),
        }
    }

    /// What a search found, by what it believed.
    pub(crate) fn of(found: &Found, believed: Option<Believed>, seconds: f64) -> SearchReport {
        let Found { space, visited, cost, warrant, .. } = *found;
        let report = SearchReport { space, visited, cost, believed, seconds, ..Default::default() };
        report.warranted(warrant)
    }

    /// The same with what the search proved.
    pub(crate) fn warranted(self, warrant: Warrant) -> SearchReport {
        match warrant {
            Warrant::Optimal => SearchReport { optimal: Some(true), ..self },
            Warrant::AtLeast(bound) => {
                SearchReport { optimal: Some(false), lower_bound: Some(bound), ..self }
            }
            Warrant::Minimal(minimal) => SearchReport { minimal: Some(minimal), ..self },
            Warrant::Likely => SearchReport { optimal: Some(false), ..self },
        }
    }
}

/// What a search by a summary went by, and how often it was checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Believed {
    /// The kind of summary.
    pub summary: String,
    /// Recodings that the summary suggests.
    pub candidates: u64,
    /// Recodings that were checked against the rows.
    pub checks: u64,
    /// The search by rows that decided because no recoding that was checked holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The probability that the chosen one holds, before the rows were looked at.
    pub probability: f64,
    /// The rows that were expected to fail.
    #[serde(rename = "expected-outliers")]
    pub outliers: f64,
}

/// A stage of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// "read", "bind", "search", "recode", "write", "verify".
    pub name: String,
    /// Wall-clock time.
    pub seconds: f64,
}

/// What was read and written, as meters counted it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Io {
    /// Bytes that were read: of the input, of spilled rows and of the release.
    pub bytes_read: u64,
    /// Bytes that were written: of spilled rows and of the release.
    pub bytes_written: u64,
    /// How often rows were written to new partitions on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repartitions: Option<u64>,
    /// Nodes of splits that were undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned_nodes: Option<u64>,
    /// Partitions larger than memory that no sample could split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsplit_partitions: Option<u64>,
    /// How often all rows were read, as a share of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables_read: Option<f64>,
    /// How often all rows were written, as a share of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables_written: Option<f64>,
    /// What was to be expected, for partitions on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
}

/// What section 4 of LeFevre and DeWitt predicts for partitions on disk, in tables.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Predicted {
    /// How often all rows are written to new partitions.
    pub repartitions: u64,
    /// How often all rows are read.
    pub tables_read: u64,
    /// How often all rows are written.
    pub tables_written: u64,
}

/// What is told of a distribution release.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct DistributionReport {
    /// The sensitive attribute.
    pub attribute: String,
    /// "numbers" or "categories".
    pub values: String,
    /// The target of groups without their own.
    pub target: String,
    /// Targets, those of groups among them.
    pub targets: u64,
    /// Values of the domain.
    pub domain: u64,
    /// Groups.
    pub groups: u64,
    /// Subdomains that no record needs.
    pub fakes: u64,
    /// The ranges of all subdomains, summed.
    pub sum_of_ranges: f64,
    /// The share of that in the sum if every subdomain were the whole domain: 1 if the release is
    /// trivial.
    #[serde(default = "one")]
    pub share_of_trivial: f64,
    /// How far the weights of targets are from what was asked.
    pub rounding: RoundingReport,
    /// How the values of columns are written, if not in the plain way: `format`, or `decimal` and
    /// `thousands`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notations: BTreeMap<String, BTreeMap<String, String>>,
    /// The columns of the records with their types.
    #[serde(with = "pairs")]
    pub columns: Vec<(String, String)>,
}

/// Releases of earlier versions do not say how far they are from a trivial one.
fn one() -> f64 {
    1.0
}

/// How far whole weights are from the shares that were asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RoundingReport {
    /// The largest difference of any share.
    pub largest: f64,
    /// Half the sum of all differences.
    pub total_variation: f64,
}

impl Report {
    /// The report as one JSON object.
    pub fn to_json(&self) -> Value {
        // Keys are strings and all numbers finite, so this cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// What may be published with the release.
    pub(crate) fn published(&self) -> Report {
        let mut public = Report { private: None, alternatives: Vec::new(), ..self.clone() };
        if let ReleaseKind::Table { loss, .. } = &mut public.release {
            *loss = loss.published();
        }
        public
    }

    /// The same as the text of a file.
    pub(crate) fn to_public_text(&self) -> String {
        serde_json::to_string_pretty(&self.published()).unwrap_or_default() + "\n"
    }

    /// Reads a report.
    pub fn from_json(text: &[u8]) -> Result<Report, serde_json::Error> {
        serde_json::from_slice(text)
    }

    /// The caps that the report has, by column and value; `None` if it has none that can be read.
    pub(crate) fn caps(&self) -> Option<Vec<(String, String, Ratio)>> {
        caps_of(&self.thresholds)
    }
}

/// Caps as a report tells them.
pub(crate) fn caps_json(caps: &[(String, String, Ratio)]) -> Map<String, Value> {
    let mut columns = Map::new();
    for (column, value, cap) in caps {
        let of_column = columns.entry(column.clone()).or_insert_with(|| Map::new().into());
        of_column[value] = Value::String(cap.to_string());
    }
    columns
}

/// The caps among the keys of a report.
pub(crate) fn caps_of(thresholds: &Map<String, Value>) -> Option<Vec<(String, String, Ratio)>> {
    let mut caps = Vec::new();
    for (column, values) in thresholds {
        for (value, cap) in values.as_object()? {
            let cap: Ratio = cap.as_str()?.parse().ok()?;
            caps.push((column.clone(), value.clone(), cap));
        }
    }
    (!caps.is_empty() && caps.iter().all(|(.., cap)| *cap <= Ratio::ONE)).then_some(caps)
}

impl Verified {
    /// The judgements as a report tells them; `counted` names the counted columns.
    pub(crate) fn judged(&self, counted: &[String]) -> Vec<Judged> {
        self.privacy.iter().map(|judgement| judgement.judged(counted)).collect()
    }

    /// Rows over classes.
    pub(crate) fn average(&self) -> f64 {
        if self.classes == 0 { 0.0 } else { self.rows as f64 / self.classes as f64 }
    }
}

impl Judgement {
    fn judged(&self, counted: &[String]) -> Judged {
        let statement = &self.statement;
        let column = statement.column.and_then(|column| counted.get(column));
        let parameter = |(name, value): (&str, f64)| (name.to_string(), Figure(value));
        Judged {
            requirement: statement.requirement.into(),
            kind: statement.kind.map(str::to_string),
            sensitive: column.cloned(),
            target: None,
            required: Figure(statement.required),
            parameters: statement.also.into_iter().flatten().map(parameter).collect(),
            achieved: self.achieved.and_then(Figure::finite),
            satisfied: self.satisfied(),
            failing_classes: self.failing,
            worst: self.worst.clone(),
        }
    }
}

/// A number that scripts can read exactly: as a string past 2^53.
fn whole<S: Serializer>(number: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    match u64::try_from(*number) {
        Ok(number) if number <= 1 << 53 => serializer.serialize_u64(number),
        _ => serializer.serialize_str(&number.to_string()),
    }
}

fn some_whole<S: Serializer>(number: &Option<u128>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => whole(number, serializer),
        None => serializer.serialize_none(),
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Whole {
    Number(u64),
    Text(String),
}

fn read_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    match Whole::deserialize(deserializer)? {
        Whole::Number(number) => Ok(number.into()),
        Whole::Text(text) => text.parse().map_err(serde::de::Error::custom),
    }
}

fn read_some_whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u128>, D::Error> {
    read_whole(deserializer).map(Some)
}

/// Pairs as an object, in their order.
mod pairs {
    use serde::de::{DeserializeOwned, Error};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::{Map, Value};

    pub(super) fn serialize<S: Serializer, T: Serialize>(
        pairs: &[(String, T)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>, T: DeserializeOwned>(
        deserializer: D,
    ) -> Result<Vec<(String, T)>, D::Error> {
        let object = Map::<String, Value>::deserialize(deserializer)?;
        let pair =
            |(name, value)| Ok((name, serde_json::from_value(value).map_err(Error::custom)?));
        object.into_iter().map(pair).collect()
    }
}
