//! A summary as a file: JSON that a person can read, with a version.
//!
//! What is read is checked before it is believed: counts that do not add up, values that are not
//! there and networks that go in circles are refused, since they would be found out much later, or
//! never.

use super::bayes::{Dependence, Network};
use super::{ANY_TREE, Attribute, Belief, DrawnRows, MOST_ROWS, Summary, SummaryKind};
use crate::error::{Error, Result, quoted};
use crate::table::{Role, Type};
use crate::watch::Watch;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The version of summaries that this code writes and reads.
pub const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    version: u32,
    summary: String,
    rows: u64,
    attributes: Vec<SavedAttribute>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<Vec<SavedDependence>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sample: Option<Vec<Vec<u32>>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedAttribute {
    name: String,
    role: String,
    #[serde(rename = "type")]
    kind: String,
    /// The fingerprint of the hierarchy over these values; of a summary that was made by others,
    /// nothing.
    #[serde(default)]
    hierarchy: String,
    values: Vec<String>,
    counts: Vec<u64>,
}

/// Tuples are the values of `given`, the value of the attribute, and the rows with them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedDependence {
    attribute: String,
    given: Vec<String>,
    counts: Vec<Vec<u64>>,
}

/// Only the version, to be told before anything else is expected.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Summary {
    /// The summary as JSON: one line for each attribute, dependence and sampled row.
    pub fn to_json(&self) -> String {
        let role = |role: Role| {
            Role::NAMES.iter().find(|(_, known)| *known == role).map_or("", |(name, _)| name)
        };
        let attribute = |attribute: &Attribute| SavedAttribute {
            name: attribute.name.clone(),
            role: role(attribute.role).to_string(),
            kind: attribute.kind.name().to_string(),
            hierarchy: format!("{:016x}", attribute.tree),
            values: attribute.values.clone(),
            counts: attribute.counts.clone(),
        };
        let name = |attribute: &usize| self.attributes[*attribute].name.clone();
        let dependence = |one: &Dependence| SavedDependence {
            attribute: name(&one.attribute),
            given: one.given.iter().map(name).collect(),
            counts: one
                .counts
                .iter()
                .map(|(values, count)| {
                    values.iter().map(|value| u64::from(*value)).chain([*count]).collect()
                })
                .collect(),
        };
        // A struct of names and numbers has a JSON form.
        let line = |value: serde_json::Result<String>| format!("    {}", value.unwrap_or_default());
        let list = |name: &str, lines: Vec<String>| {
            format!(",\n  \"{name}\": [\n{}\n  ]", lines.join(",\n"))
        };
        let mut text = format!(
            "{{\n  \"version\": {VERSION},\n  \"summary\": \"{}\",\n  \"rows\": {}",
            self.kind().name(),
            self.rows
        );
        text += &list(
            "attributes",
            self.attributes
                .iter()
                .map(|one| line(serde_json::to_string(&attribute(one))))
                .collect(),
        );
        match &self.belief {
            Belief::Histogram => {}
            Belief::Bayes(network) => {
                let lines = network
                    .dependences()
                    .iter()
                    .map(|one| line(serde_json::to_string(&dependence(one))));
                text += &list("network", lines.collect());
            }
            Belief::Sample(drawn) => {
                text += &list(
                    "sample",
                    drawn.rows().map(|row| line(serde_json::to_string(row))).collect(),
                );
            }
        }
        text + "\n}\n"
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    pub fn from_json(text: &[u8], file: &Path) -> Result<Summary> {
        let broken = |source| Error::BadJson { file: file.to_path_buf(), source };
        let Versioned { version } = serde_json::from_slice(text).map_err(broken)?;
        let mismatch = |problem: String| Error::Mismatch { file: file.to_path_buf(), problem };
        if version != VERSION {
            return Err(mismatch(format!(
                "unsupported summary version {version}, expected {VERSION}; summarize the table again"
            )));
        }
        let saved: Saved = serde_json::from_slice(text).map_err(broken)?;
        let summary = saved.checked().map_err(|problem| {
            mismatch(format!("the summary is damaged: {problem}; summarize the table again"))
        })?;
        Ok(Summary { file: file.to_path_buf(), ..summary })
    }
}

impl Saved {
    fn checked(self) -> Result<Summary, String> {
        let rows = self.rows;
        if rows > MOST_ROWS {
            return Err(format!("{rows} rows are more than {MOST_ROWS}"));
        }
        let attributes: Vec<Attribute> =
            self.attributes.into_iter().map(|one| one.checked(rows)).collect::<Result<_, _>>()?;
        let keys = attributes
            .iter()
            .take_while(|attribute| attribute.role == Role::QuasiIdentifier)
            .count();
        let others = attributes[keys..].iter().all(|attribute| attribute.role == Role::Sensitive);
        let names = attributes
            .iter()
            .enumerate()
            .all(|(at, one)| attributes[..at].iter().all(|earlier| earlier.name != one.name));
        if rows == 0 || keys == 0 || !others || !names {
            return Err("invalid attributes".into());
        }
        let kind = SummaryKind::NAMES
            .iter()
            .find(|(name, _)| *name == self.summary)
            .map(|(_, kind)| *kind);
        let belief = match (kind, self.network, self.sample) {
            (Some(SummaryKind::Histogram), None, None) => Belief::Histogram,
            (Some(SummaryKind::Bayes), Some(network), None) => {
                Belief::Bayes(checked_network(network, &attributes, rows)?)
            }
            (Some(SummaryKind::Sample), None, Some(sample)) => {
                Belief::Sample(checked_sample(&sample, &attributes, rows)?)
            }
            _ => {
                return Err(format!(
                    "unknown kind {}, or its data is missing",
                    quoted(&self.summary)
                ));
            }
        };
        Ok(Summary { file: "summary".into(), rows, attributes, belief })
    }
}

impl SavedAttribute {
    fn checked(self, rows: u64) -> Result<Attribute, String> {
        let wrong = |what: &str| format!("invalid {what} of {}", quoted(&self.name));
        let role = Role::NAMES.iter().find(|(name, _)| *name == self.role).map(|(_, role)| *role);
        let kind = Type::NAMES.iter().find(|(name, _)| *name == self.kind).map(|(_, kind)| *kind);
        let (Some(role), Some(kind)) = (role, kind) else { return Err(wrong("role or type")) };
        let tree = match self.hierarchy.as_str() {
            "" => ANY_TREE,
            known => u64::from_str_radix(known, 16).map_err(|_| wrong("hierarchy"))?,
        };
        let sum = self.counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
        let ascending = self.values.windows(2).all(|pair| pair[0] < pair[1]);
        if self.values.len() != self.counts.len()
            || sum != Some(rows)
            || !ascending
            || self.counts.contains(&0)
        {
            return Err(wrong("values and counts"));
        }
        Ok(Attribute {
            name: self.name,
            role,
            kind,
            values: self.values,
            counts: self.counts,
            tree,
        })
    }
}

fn checked_network(
    saved: Vec<SavedDependence>,
    attributes: &[Attribute],
    rows: u64,
) -> Result<Network, String> {
    let sizes: Vec<usize> = attributes.iter().map(|attribute| attribute.values.len()).collect();
    let mut dependences: Vec<Dependence> = Vec::new();
    let position = |name: &String| attributes.iter().position(|attribute| attribute.name == *name);
    for one in saved {
        let wrong = || format!("invalid network at {}", quoted(&one.attribute));
        let attribute = position(&one.attribute).ok_or_else(wrong)?;
        let given: Vec<usize> =
            one.given.iter().map(position).collect::<Option<_>>().ok_or_else(wrong)?;
        let known =
            |attribute: &usize| dependences.iter().any(|earlier| earlier.attribute == *attribute);
        let columns: Vec<usize> = given.iter().copied().chain([attribute]).collect();
        let tuple = |tuple: &Vec<u64>| {
            let (count, values) = tuple.split_last()?;
            let inside = |(value, column): (&u64, &usize)| {
                (*value < sizes[*column] as u64).then_some(*value as u32)
            };
            let values: Vec<u32> =
                values.iter().zip(&columns).map(inside).collect::<Option<_>>()?;
            (values.len() == columns.len() && *count > 0).then_some((values, *count))
        };
        let counts: Vec<(Vec<u32>, u64)> =
            one.counts.iter().map(tuple).collect::<Option<_>>().ok_or_else(wrong)?;
        let sum = counts.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count));
        let ascending = counts.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if given.len() > 2
            || !given.iter().all(known)
            || known(&attribute)
            || sum != Some(rows)
            || !ascending
        {
            return Err(wrong());
        }
        dependences.push(Dependence { attribute, given, counts });
    }
    if dependences.len() != attributes.len() {
        return Err("the network does not have all attributes".into());
    }
    // An inert watch aborts nothing.
    Network::new(sizes, dependences, &Watch::default()).map_err(|error| error.to_string())
}

fn checked_sample(
    saved: &[Vec<u32>],
    attributes: &[Attribute],
    rows: u64,
) -> Result<DrawnRows, String> {
    let inside = |row: &Vec<u32>| {
        let values = row
            .iter()
            .zip(attributes)
            .all(|(value, attribute)| (*value as usize) < attribute.values.len());
        row.len() == attributes.len() && values
    };
    if saved.is_empty() || saved.len() as u64 > rows || !saved.iter().all(inside) {
        return Err("the sample does not match the attributes".into());
    }
    Ok(DrawnRows { width: attributes.len(), values: saved.concat() })
}
