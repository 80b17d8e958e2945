//! The key `distribution`: what was typed, read and checked.

use super::document::Value;
use super::entry::{Entry, Section};
use super::{Algorithm, Attribute};
use crate::error::{Error, Result};
use crate::ratio::Ratio;
use crate::search::buckets::Fakes;
use crate::table::Notation;
use std::path::{Path, PathBuf};

/// Whose values a target is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The whole table's.
    Table,
    /// The group's own.
    Group,
}

/// A target distribution as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum TargetForm {
    /// Every value of the domain alike.
    Uniform,
    /// As often as the values occur.
    Source,
    /// The normal distribution.
    Normal {
        /// The mean (default: that of the values).
        mean: Option<f64>,
        /// The standard deviation (default: that of the values).
        deviation: Option<f64>,
    },
    /// The value of rank k has weight 1 / k^s.
    Zipf {
        /// How skewed it is.
        s: f64,
    },
    /// Weights by value.
    File {
        /// Where they stand.
        file: PathBuf,
        /// Line, value and weight, as they were read.
        read: Vec<(u64, String, Ratio)>,
        /// The same with values in the plain way.
        weights: Vec<(u64, String, Ratio)>,
    },
}

/// A target and what it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetAsked {
    /// The distribution.
    pub form: TargetForm,
    /// Whose values.
    pub of: Of,
}

impl TargetAsked {
    /// What it is called in a report.
    pub fn name(&self) -> String {
        match &self.form {
            TargetForm::Uniform => "uniform".into(),
            TargetForm::Source => "source".into(),
            TargetForm::Normal { .. } => "normal".into(),
            TargetForm::Zipf { .. } => "zipf".into(),
            TargetForm::File { file, .. } => {
                file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into())
            }
        }
    }
}

/// How far the share of a node may be from that of its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RoundingAsked {
    /// As the weights and the groups need it: real weights are rounded, and whole ones where a
    /// group has few units of them.
    Default,
    /// Not at all, unless the weights are real.
    Exact,
    /// This far.
    Within(Ratio),
}

impl RoundingAsked {
    /// The tolerance by default, and of real weights that must be exact.
    pub const TOLERANCE: f64 = 0.01;

    /// A group has few units of weights if it has fewer than this. Values that are left over when
    /// whole units are taken become copies of the node: up to one unit, here a tenth of the group.
    pub const UNITS: u64 = 10;

    /// The tolerance where weights are rounded.
    pub fn tolerance(self) -> f64 {
        match self {
            RoundingAsked::Default | RoundingAsked::Exact => RoundingAsked::TOLERANCE,
            RoundingAsked::Within(share) => share.to_f64(),
        }
    }
}

/// A distribution that a sensitive attribute must seem to be drawn from.
#[derive(Clone, Debug, PartialEq)]
pub struct DistributionAsked {
    /// The sensitive attribute.
    pub attribute: String,
    /// The target of groups that have none of their own.
    pub target: TargetAsked,
    /// Targets of groups by their names.
    pub targets: Vec<(String, TargetAsked)>,
    /// The columns whose values make the groups, each at a level of its hierarchy.
    pub groups: Vec<(String, usize)>,
    /// How many fakes a group may take.
    pub fakes: Fakes,
    /// SA-only or QI-SA, if it is said here.
    pub algorithm: Option<Algorithm>,
    /// Children of a node where the attribute has no hierarchy.
    pub arity: u32,
    /// The least and the greatest whole number of the domain.
    pub domain: Option<(i64, i64)>,
    /// How far the share of a node may be from the target's.
    pub rounding: RoundingAsked,
}

impl DistributionAsked {
    /// Whether groups are cut by equal quasi-identifiers; `otherwise` is the algorithm of
    /// `[search]`.
    pub(crate) fn is_parted(&self, otherwise: Algorithm) -> bool {
        self.algorithm.unwrap_or(otherwise) == Algorithm::QiSa
    }

    /// The target of most groups, then those of single groups.
    pub(crate) fn all_targets(&self) -> impl Iterator<Item = &TargetAsked> {
        std::iter::once(&self.target).chain(self.targets.iter().map(|(_, target)| target))
    }

    /// Takes the values of targets for values in a notation.
    pub(super) fn read_values(&mut self, notation: &Notation) {
        let of_groups = self.targets.iter_mut().map(|(_, target)| target);
        for target in std::iter::once(&mut self.target).chain(of_groups) {
            if let TargetForm::File { weights, .. } = &mut target.form {
                for (_, value, _) in weights {
                    *value = notation.plain(value).unwrap_or(std::mem::take(value));
                }
            }
        }
    }

    /// The files that it names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.all_targets().filter_map(|target| match &target.form {
            TargetForm::File { file, .. } => Some(file.as_path()),
            _ => None,
        })
    }

    /// The target of a group.
    pub fn target_of(&self, group: &str) -> &TargetAsked {
        self.targets
            .iter()
            .find(|(name, _)| name == group)
            .map_or(&self.target, |(_, target)| target)
    }
}

pub(super) fn parse(entry: &Entry<'_>, attributes: &[Attribute]) -> Result<DistributionAsked> {
    let section = entry.table(Some("privacy.distribution"))?;
    let target = target(section.required("target")?)?;
    let mut targets = Vec::new();
    if let Some(entry) = section.get("targets") {
        for (name, entry) in entry.table(None)?.entries {
            targets.push((name.to_string(), self::target(&entry)?));
        }
    }
    let names = [("sa-only", Algorithm::SaOnly), ("qi-sa", Algorithm::QiSa)];
    let arity = match section.get("arity") {
        None => 2,
        Some(entry) => {
            let expected = "a whole number from 2 to 1000";
            let arity = entry.whole(expected)?;
            if (2..=1000).contains(&arity) {
                arity as u32
            } else {
                return Err(entry.wrong(expected));
            }
        }
    };
    let rounding = match section.get("rounding") {
        None => RoundingAsked::Default,
        Some(entry) if matches!(entry.value(), Value::Text(text) if text == "exact") => {
            RoundingAsked::Exact
        }
        Some(entry) => {
            let expected = "exact, or a share from 0.000001 to 0.5, such as \"1%\"";
            let share = entry.ratio(expected)?;
            // Smaller ones would ask for weights of millions, which no group can follow.
            let fits = share.to_f64() >= 1e-6 && share.to_f64() <= 0.5;
            if fits { RoundingAsked::Within(share) } else { return Err(entry.wrong(expected)) }
        }
    };
    let attribute = section.required("attribute")?.str()?.to_string();
    let found = attributes.iter().find(|known| known.covers(&attribute));
    let notation = found.and_then(|known| known.notation.as_ref());
    Ok(DistributionAsked {
        attribute,
        target,
        targets,
        groups: section.get("groups").map_or(Ok(Vec::new()), groups)?,
        fakes: section.get("fakes").map_or(Ok(Fakes::Number(0)), fakes)?,
        algorithm: section.get("algorithm").map(|entry| entry.choice(names)).transpose()?,
        arity,
        domain: section.get("domain").map(|entry| domain(entry, notation)).transpose()?,
        rounding,
    })
}

fn groups(entry: &Entry<'_>) -> Result<Vec<(String, usize)>> {
    let found: Vec<(String, usize)> = match entry.value() {
        Value::Table(_) => {
            let level = |(name, entry): (&str, Entry<'_>)| {
                Ok((
                    name.to_string(),
                    entry.whole("a level: a whole number of at least 0")? as usize,
                ))
            };
            entry.table(None)?.entries.into_iter().map(level).collect::<Result<_>>()?
        }
        Value::Text(name) => vec![(name.to_string(), 0)],
        _ => entry.texts()?.into_iter().map(|name| (name, 0)).collect(),
    };
    let repeated =
        (1..found.len()).any(|at| found[..at].iter().any(|(name, _)| *name == found[at].0));
    if repeated { Err(entry.inapplicable("names a column twice")) } else { Ok(found) }
}

fn fakes(entry: &Entry<'_>) -> Result<Fakes> {
    let expected = "a whole number, or a share such as \"5%\"";
    let number = entry.ratio(expected)?;
    let is_share = match entry.value() {
        Value::Text(text) => text.contains(['%', '/', '.']),
        Value::Number(text) => text.contains(['.', 'e', 'E']),
        _ => false,
    };
    match is_share {
        true if number <= Ratio::whole(10) => Ok(Fakes::Share(number)),
        false if number.denominator() == 1 && number.numerator() <= 1_000_000 => {
            Ok(Fakes::Number(number.numerator() as u32))
        }
        _ => Err(entry.wrong(expected)),
    }
}

/// The most values that a stated domain may have: each is a leaf of a tree in memory.
const MOST_VALUES: i64 = 1 << 24;

fn domain(entry: &Entry<'_>, notation: Option<&Notation>) -> Result<(i64, i64)> {
    let expected = "[from, to], two whole numbers at most 16,777,215 apart";
    let ends = entry.items()?;
    let ends: Vec<f64> = ends.iter().map(|end| end.number_in(notation)).collect::<Result<_>>()?;
    match ends[..] {
        [from, to]
            if from.fract() == 0.0 && to.fract() == 0.0 && from.abs().max(to.abs()) < 9e15 =>
        {
            let (from, to) = (from as i64, to as i64);
            if from <= to && to - from < MOST_VALUES {
                Ok((from, to))
            } else {
                Err(entry.wrong(expected))
            }
        }
        _ => Err(entry.wrong(expected)),
    }
}

fn target(entry: &Entry<'_>) -> Result<TargetAsked> {
    let kinds = ["uniform", "source", "normal", "zipf"];
    let plain = |kind: &str| match kind {
        "uniform" => Some(TargetForm::Uniform),
        "source" => Some(TargetForm::Source),
        "normal" => Some(TargetForm::Normal { mean: None, deviation: None }),
        "zipf" => Some(TargetForm::Zipf { s: 1.0 }),
        _ => None,
    };
    if let Value::Text(text) = entry.value() {
        let form = plain(text).map_or_else(|| weights(entry, text), Ok)?;
        return Ok(TargetAsked { form, of: Of::Table });
    }
    let section = entry.table(Some("privacy.distribution.target"))?;
    let kind = section.required("kind")?.choice(kinds.map(|kind| (kind, kind)))?;
    let belongs = |key: &str| match key {
        "mean" | "deviation" => kind == "normal",
        "s" => kind == "zipf",
        _ => true,
    };
    if let Some((_, stray)) = section.entries.iter().find(|(key, _)| !belongs(key)) {
        return Err(stray.inapplicable(format!("cannot be used with the kind `{kind}`")));
    }
    let form = match kind {
        "normal" => TargetForm::Normal {
            mean: section.get("mean").map(finite).transpose()?,
            deviation: above_zero(&section, "deviation")?,
        },
        "zipf" => TargetForm::Zipf { s: above_zero(&section, "s")?.unwrap_or(1.0) },
        kind => plain(kind).unwrap_or(TargetForm::Uniform),
    };
    let of = [("table", Of::Table), ("group", Of::Group)];
    let of = section.get("of").map_or(Ok(Of::Table), |entry| entry.choice(of))?;
    Ok(TargetAsked { form, of })
}

fn finite(entry: &Entry<'_>) -> Result<f64> {
    let number = entry.number()?;
    if number.is_finite() { Ok(number) } else { Err(entry.wrong("a number")) }
}

fn above_zero(section: &Section<'_>, name: &str) -> Result<Option<f64>> {
    let Some(entry) = section.get(name) else { return Ok(None) };
    let number = entry.number()?;
    if number.is_finite() && number > 0.0 {
        Ok(Some(number))
    } else {
        Err(entry.wrong("a number above 0"))
    }
}

/// A CSV `value,weight`.
fn weights(entry: &Entry<'_>, path: &str) -> Result<TargetForm> {
    let file = entry.origin.path(path);
    let weights = entry.origin.loaded.target(&file).map_err(|error| match error {
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => entry.wrong(
            "uniform, source, normal, zipf, or the path of an existing CSV file `value,weight`",
        ),
        error => error,
    })?;
    if weights.iter().all(|(_, _, weight)| weight.numerator() == 0) {
        let missing = format!(
            "{}: all weights are 0; give at least one value a weight above 0",
            file.display()
        );
        return Err(Error::Incomplete { file: entry.origin.file.to_path_buf(), missing });
    }
    Ok(TargetForm::File { file, read: weights.clone(), weights })
}
