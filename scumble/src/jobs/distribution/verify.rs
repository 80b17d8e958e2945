//! A distribution release re-checked from its folder, and against the table that it came from.

use super::bounds;
use super::lines::in_order;
use super::original::{self, Originals};
use super::plan::{self, GROUP, Rows};
use crate::bind::{ROUNDING, Weights, weights};
use crate::error::{Error, Result, quoted};
use crate::jobs::{Verification, verify as classes};
use crate::policy::{DistributionAsked, Policy, TargetAsked};
use crate::query::Ends;
use crate::ratio::Ratio;
use crate::release::{Distributed, Page, Released, Tree};
use crate::source::{Format, Source, encode};
use crate::table::{Data, Role, Table};
use crate::watch::Watch;
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// How a distribution release came out.
#[derive(Clone, Debug, Default)]
pub struct DistributionVerification {
    /// Records.
    pub rows: u64,
    /// Groups.
    pub groups: u64,
    /// The records of the smallest group.
    pub smallest: u64,
    /// Subdomains that no record needs.
    pub fakes: u64,
    /// The ranges of all subdomains, summed.
    pub sum_of_ranges: f64,
    /// Groups whose subdomains do not follow their target.
    pub failing: u64,
    /// Whether it was compared with the table that it came from.
    pub compared: bool,
    /// Whether some target could not be checked without that table.
    pub unchecked_targets: bool,
    /// How its records met the requirements on classes, where there are any.
    pub records: Option<Verification>,
    /// What is wrong.
    pub problems: Vec<String>,
    attribute: String,
    target: String,
}

impl DistributionVerification {
    /// Why the release may not go out; `None` if it may.
    pub fn failure(&self) -> Option<String> {
        let records = self.records.as_ref().and_then(Verification::failure);
        let all: Vec<String> = self.problems.iter().cloned().chain(records).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    pub(super) fn counts_json(&self) -> Map<String, Value> {
        // Where quasi-identifiers stay, people are told apart by nothing but their groups' buckets.
        let own = (self.groups, self.smallest);
        let (classes, smallest) = self
            .records
            .as_ref()
            .map_or(own, |records| (records.verified.classes, records.verified.smallest));
        let counts = json!({
            "released": self.rows,
            "classes": classes,
            "smallest-class": smallest,
            "average-class": if classes == 0 { 0.0 } else { self.rows as f64 / classes as f64 },
            "groups": self.groups,
            "smallest-group": self.smallest,
        });
        match counts {
            Value::Object(counts) => counts,
            _ => Map::new(),
        }
    }

    pub(super) fn privacy_json(&self) -> Value {
        let mut all = vec![json!({
            "requirement": "distribution",
            "sensitive": self.attribute,
            "target": self.target,
            "required": 0,
            "achieved": self.failing,
            "satisfied": self.failing == 0,
        })];
        if let Some(Value::Array(more)) =
            self.records.as_ref().map(|records| records.verified.privacy_json(&records.counted))
        {
            all.extend(more);
        }
        all.into()
    }

    /// The result as one JSON object.
    pub fn to_json(&self) -> Value {
        let mut object = self.counts_json();
        object.insert("privacy".into(), self.privacy_json());
        let distribution = json!({
            "groups": self.groups,
            "fakes": self.fakes,
            "sum-of-ranges": self.sum_of_ranges,
            "compared-with-original": self.compared,
            "target-checked": !self.unchecked_targets,
        });
        object.insert("distribution".into(), distribution);
        object.insert("satisfied".into(), json!(self.failure().is_none()));
        if !self.problems.is_empty() {
            object.insert("problems".into(), json!(self.problems));
        }
        object.into()
    }
}

/// Re-checks the folder of a distribution release against a policy and, where it is given, the
/// table it came from. What is broken is in the result; an error means that the folder could not be
/// judged.
pub fn verify_distribution(
    folder: &Path,
    policy: &Policy,
    original: Option<&Path>,
    delimiter: Option<u8>,
) -> Result<DistributionVerification> {
    let result = match original {
        None => judge(folder, policy, None),
        Some(original) => original::verify(folder, policy, original, delimiter),
    };
    match result {
        // A folder that contradicts itself was judged, and failed.
        Err(Error::Mismatch { file, problem }) if file.starts_with(folder) => {
            Ok(DistributionVerification {
                problems: vec![format!(
                    "{}: {problem}",
                    file.file_name().unwrap_or_default().display()
                )],
                ..DistributionVerification::default()
            })
        }
        other => other,
    }
}

/// The policy's distribution.
pub(super) fn asked(policy: &Policy) -> Result<&DistributionAsked> {
    policy.privacy().distribution.as_ref().ok_or_else(|| {
        let missing = "there is no `distribution` under [privacy], and the release is one".into();
        Error::Incomplete { file: policy.file().to_path_buf(), missing }
    })
}

/// Judges a folder from what is written in it; `originals` are the values that its groups had.
pub(super) fn judge(
    folder: &Path,
    policy: &Policy,
    originals: Option<&Originals<'_>>,
) -> Result<DistributionVerification> {
    let asked = asked(policy)?;
    let (released, records) =
        rayon::join(|| Distributed::read(folder), || read_records(folder, policy, asked));
    let (released, (records, mut problems)) = (released?, records?);
    let (groups, bounds) = rayon::join(
        || check_groups(&released, &records, policy, asked),
        || check_bounds(folder, &released),
    );
    problems.extend(groups?);
    let mut failing = 0;
    let torn: Vec<Option<u32>> = released
        .groups
        .par_iter()
        .map(|group| released.trees[group.tree].torn(&group.subdomains))
        .collect();
    for (group, torn) in released.groups.iter().zip(torn) {
        if let Some(node) = torn {
            failing += 1;
            if failing == 1 {
                let node = &released.trees[group.tree].labels[node as usize];
                let name = quoted(&group.name);
                problems.push(format!(
                    "the subdomains of group {name} do not follow its target below {} (definition 3.2)",
                    quoted(node)
                ));
            }
        }
    }
    let unchecked_targets = check_targets(&released, asked, originals, &mut problems)?;
    problems.extend(bounds?);
    if let Some(originals) = originals {
        problems.extend(original::check(&released, originals));
    }
    let classes_of = match policy.privacy().asks_for_classes() {
        true => {
            let file = folder.join("records.csv");
            Some(classes::verify(
                &file,
                &records_policy(policy, asked),
                Some(b','),
                None,
                &Watch::default(),
            )?)
        }
        false => None,
    };
    let sum_of_ranges: f64 = released
        .groups
        .iter()
        .flat_map(|group| {
            group.subdomains.iter().map(|(node, copies)| (group.tree, *node, *copies))
        })
        .map(|(tree, node, copies)| released.trees[tree].range(node) as f64 * f64::from(copies))
        .sum();
    Ok(DistributionVerification {
        rows: records.rows(),
        groups: released.groups.len() as u64,
        smallest: released.groups.iter().map(|group| group.records).min().unwrap_or(0),
        fakes: released.groups.iter().map(|group| group.len().saturating_sub(group.records)).sum(),
        sum_of_ranges: sum_of_ranges / 10f64.powi(released.scale.unwrap_or(0) as i32),
        failing,
        compared: originals.is_some(),
        unchecked_targets,
        records: classes_of,
        problems,
        attribute: asked.attribute.clone(),
        target: asked.target.name(),
    })
}

/// A policy for the records alone: without the sensitive attribute, with the column of the groups.
fn records_policy(policy: &Policy, asked: &DistributionAsked) -> Policy {
    let mut policy = policy.clone();
    policy.privacy.distribution = None;
    policy
        .attributes
        .retain(|attribute| attribute.name != asked.attribute && attribute.name != GROUP);
    policy.attributes.push(crate::policy::Attribute {
        name: GROUP.into(),
        role: Some(Role::Insensitive),
        kind: None,
        hierarchy: Default::default(),
        missing: None,
    });
    policy
}

/// The records, every column coded, and what must not be among them.
fn read_records(
    folder: &Path,
    policy: &Policy,
    asked: &DistributionAsked,
) -> Result<(Table, Vec<String>)> {
    let file = folder.join("records.csv");
    let source = Source::open(&file, Format::Csv(Some(b',')))?;
    let mut problems = Vec::new();
    if source.names().any(|name| name == asked.attribute) {
        problems.push(format!(
            "the sensitive attribute {} is among the records",
            quoted(&asked.attribute)
        ));
    }
    let roles = records_policy(policy, asked).roles(
        &source.names().collect::<Vec<_>>(),
        source.file(),
        true,
    )?;
    for (name, _) in source.names().zip(&roles).filter(|(_, role)| **role == Role::Identifier) {
        problems.push(format!("the identifier {} is in the release", quoted(name)));
    }
    // Only what groups are made of is read: all quasi-identifiers where they are parts or classes.
    let all_keys = super::algorithm(policy, asked).1 || policy.privacy().asks_for_classes();
    let is_read = |name: &str, role: Role| {
        let named = name == GROUP || asked.groups.iter().any(|(group, _)| group == name);
        named || (all_keys && role == Role::QuasiIdentifier)
    };
    let wanted: Vec<(bool, Role)> =
        source.names().zip(&roles).map(|(name, role)| (is_read(name, *role), *role)).collect();
    let read: Vec<Role> = wanted
        .iter()
        .map(|(read, _)| if *read { Role::Target } else { Role::Identifier })
        .collect();
    let mut table = encode(source, &read)?;
    let kept = wanted.into_iter().filter(|(read, _)| *read);
    table.columns.iter_mut().zip(kept).for_each(|(column, (_, role))| column.role = role);
    Ok((table, problems))
}

/// Whether groups are of the size they say, made as the policy asks, and with no more fakes than it
/// allows.
fn check_groups(
    released: &Distributed,
    records: &Table,
    policy: &Policy,
    asked: &DistributionAsked,
) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let index: HashMap<&str, usize> =
        released.groups.iter().enumerate().map(|(at, group)| (group.name.as_str(), at)).collect();
    let Some(Data::Coded { dictionary, codes, .. }) =
        records.columns.iter().find(|column| column.name == GROUP).map(|column| &column.data)
    else {
        return Ok(vec!["the records have no column `group`".into()]);
    };
    let mut sizes = vec![0u64; dictionary.len()];
    codes.iter().for_each(|code| sizes[*code as usize] += 1);
    let mut counted = vec![0u64; released.groups.len()];
    for (code, size) in (0..).zip(&sizes) {
        match index.get(dictionary.value(code)) {
            Some(at) => counted[*at] = *size,
            None => problems.push(format!(
                "records of group {}, which is unknown",
                quoted(dictionary.value(code))
            )),
        }
    }
    for (group, counted) in released.groups.iter().zip(counted) {
        let (name, subdomains) = (quoted(&group.name), group.len());
        if counted != group.records {
            problems.push(format!("group {name} says {} records and has {counted}", group.records));
        } else if subdomains < counted {
            problems.push(format!(
                "group {name} has {counted} records and only {subdomains} subdomains"
            ));
        } else if subdomains - counted > u64::from(asked.fakes.limit(counted)) {
            problems.push(format!(
                "group {name} has more fakes than the policy allows: {}",
                subdomains - counted
            ));
        } else if subdomains != group.said {
            problems
                .push(format!("group {name} says {} subdomains and has {subdomains}", group.said));
        }
        if problems.len() > 10 {
            return Ok(problems);
        }
    }
    if !problems.is_empty() {
        return Ok(problems);
    }
    // The owner's groups, made again from the records; a column `group` of the owner's own is not
    // there any more.
    let replaced = asked.groups.iter().any(|(name, _)| name == GROUP);
    let columns = Released::of(records, None);
    let rows = Rows::All(records.rows() as usize);
    let parted = super::algorithm(policy, asked).1;
    if !replaced {
        let generalized = policy.privacy().asks_for_classes();
        let (owners, names) = plan::grouping(policy, asked, records, &columns, generalized, &rows)?;
        // The owner that each group says it is a part of, by name and by number.
        let part_of = |group: &str| released.groups[index[group]].part_of.as_str();
        let said: Vec<&str> = dictionary.values().map(part_of).collect();
        let number = |said: &&str| names.binary_search_by(|name| name.as_str().cmp(said)).ok();
        let numbers: Vec<Option<usize>> = said.iter().map(number).collect();
        let is_strange = |(code, owner): &(&u32, &u32)| {
            let (code, owner) = (**code as usize, **owner as usize);
            numbers[code] != Some(owner) && said[code] != names[owner]
        };
        let some_rows = codes.par_chunks(1 << 16).zip(owners.par_chunks(1 << 16));
        let strange =
            some_rows.find_map_first(|(codes, owners)| codes.iter().zip(owners).find(is_strange));
        if let Some((code, owner)) = strange {
            let name = quoted(dictionary.value(*code));
            problems
                .push(format!("group {name} has records of {}", quoted(&names[*owner as usize])));
        }
    }
    if parted {
        for column in columns.iter().filter(|column| column.is_key && column.name != GROUP) {
            let mut value_of = vec![u32::MAX; dictionary.len()];
            let torn = codes.iter().zip(column.codes.iter()).find(|(code, value)| {
                let first = &mut value_of[**code as usize];
                *first = if *first == u32::MAX { **value } else { *first };
                first != *value
            });
            if let Some((code, _)) = torn {
                let name = quoted(dictionary.value(*code));
                problems.push(format!("group {name} has records with different quasi-identifiers"));
                break;
            }
        }
    } else if released.groups.iter().any(|group| group.name != group.part_of) {
        problems.push("groups are parted, and the policy does not ask for qi-sa".into());
    }
    Ok(problems)
}

/// Whether the weights in the folder are those of the policy's targets; returns whether some could
/// not be checked.
fn check_targets(
    released: &Distributed,
    asked: &DistributionAsked,
    originals: Option<&Originals<'_>>,
    problems: &mut Vec<String>,
) -> Result<bool> {
    let mut unchecked = false;
    let mut seen = HashSet::new();
    for (at, group) in released.groups.iter().enumerate() {
        let wanted = asked.target_of(&group.part_of);
        if !seen.insert((group.tree, wanted.name())) {
            continue;
        }
        let tree = &released.trees[group.tree];
        let counts = originals.map(|originals| originals.counts(released, tree, wanted.of, at));
        match check_target(tree, released.scale, wanted, asked.rounding, counts.as_deref())? {
            None => unchecked = true,
            Some(true) => {}
            Some(false) => problems.push(format!(
                "the weights of group {}'s target are not those of {}",
                quoted(&group.name),
                quoted(&wanted.name())
            )),
        }
    }
    Ok(unchecked)
}

/// Whether a tree has the weights of a target; `None` where that depends on values that are not
/// known.
fn check_target(
    tree: &Tree,
    scale: Option<u32>,
    wanted: &TargetAsked,
    rounding: Option<Ratio>,
    counts: Option<&[u64]>,
) -> Result<Option<bool>> {
    let leaves = tree.leaf_nodes();
    let labels: Vec<String> =
        leaves.iter().map(|node| tree.labels[*node as usize].clone()).collect();
    let unit = 10f64.powi(-(scale.unwrap_or(0) as i32));
    let numbers: Option<Vec<f64>> = scale
        .map(|_| leaves.iter().map(|node| tree.ends[*node as usize].0 as f64 * unit).collect());
    let Some(found) = weights(wanted, &labels, numbers.as_deref(), counts)? else {
        return Ok(None);
    };
    let nodes = 1..tree.labels.len();
    let share = |node: usize| (tree.weights[node], tree.units[tree.parents[node] as usize]);
    let tolerance = match (&found, rounding) {
        (Weights::Exact(_), None) => 0.0,
        (_, rounding) => rounding.map_or(ROUNDING, Ratio::to_f64) + 1e-9,
    };
    Ok(Some(match &found {
        Weights::Exact(weights) => {
            let mut sums = vec![0u128; weights.len() + 1];
            (0..weights.len())
                .for_each(|leaf| sums[leaf + 1] = sums[leaf] + u128::from(weights[leaf]));
            let mass = |node: usize| {
                sums[tree.leaves[node].1 as usize] - sums[tree.leaves[node].0 as usize]
            };
            weights.iter().all(|weight| *weight > 0)
                && nodes.clone().all(|node| {
                    let ((weight, unit), parent) = (share(node), mass(tree.parents[node] as usize));
                    match tolerance == 0.0 {
                        // Both sides fit: masses are sums of 64-bit numbers below 2^63.
                        true => u128::from(weight) * parent == mass(node) * unit,
                        false => {
                            (weight as f64 / unit as f64 - mass(node) as f64 / parent as f64).abs()
                                <= tolerance
                        }
                    }
                })
        }
        Weights::Real(weights) => {
            let mass = |node: usize| -> f64 {
                weights[tree.leaves[node].0 as usize..tree.leaves[node].1 as usize].iter().sum()
            };
            nodes.clone().all(|node| {
                let (weight, unit) = share(node);
                (weight as f64 / unit as f64 - mass(node) / mass(tree.parents[node] as usize)).abs()
                    <= tolerance
            })
        }
    }))
}

/// Whether the auxiliary table is, byte for byte, what the subdomains imply.
fn check_bounds(folder: &Path, released: &Distributed) -> Result<Option<String>> {
    let path = folder.join("bounds.csv");
    let mut file = std::fs::File::open(&path).map_err(Error::io(&path, "read"))?;
    let mut found: Vec<u8> = Vec::new();
    let mut same = |expected: &[u8]| -> Result<bool> {
        found.resize(expected.len(), 0);
        match file.read_exact(&mut found) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(Error::io(&path, "read")(error)),
            Ok(()) => Ok(found == expected),
        }
    };
    let mut fits = same((bounds::header(released.scale.is_some()) + "\n").as_bytes())?;
    let make = |groups: Range<usize>, page: &mut Page| {
        for group in &released.groups[groups] {
            let ends = released.scale.map(|_| Ends::new(released.ends(group)));
            let records = group.records.min(group.len()) as u32;
            bounds::push_lines(
                page,
                &group.name,
                ends.as_ref(),
                records,
                released.scale.unwrap_or(0),
            );
        }
    };
    let lines = |group: usize| released.groups[group].records;
    let compare = |expected: &[u8]| {
        fits = fits && same(expected)?;
        Ok(())
    };
    in_order(released.groups.len(), lines, make, compare)?;
    let rest = file.read(&mut [0]).map_err(Error::io(&path, "read"))?;
    Ok((!fits || rest > 0).then(|| "bounds.csv does not follow from sensitive.csv".to_string()))
}
