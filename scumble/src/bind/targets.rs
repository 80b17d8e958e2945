//! A distribution meets a table: which values there are, in which tree, and with which weights.
//!
//! The domain is what a target file lists; else what the attribute's hierarchy file lists, or the
//! whole numbers of `domain`; else the values that occur. A target is built over the values that it
//! gives a weight above 0, so a group's own range has a tree of its own.

use super::keys::Declared;
use crate::error::{Error, Place, Result, quoted};
use crate::ids::Id;
use crate::policy::{DistributionAsked, Of, Policy, RoundingAsked, TargetAsked, TargetForm};
use crate::ratio::{Ratio, greatest_common_divisor};
use crate::search::buckets::{Annotated, Measure, Rounding, Shape, Target, normal, zipf};
use crate::table::{Column, Decimals, Dictionary, Table, Type};
use crate::taxonomy::{Hierarchy, Taxonomy};

/// The values that the sensitive attribute may have, in order.
#[derive(Clone, Debug)]
pub struct Domain {
    /// What each value is called.
    pub labels: Vec<String>,
    /// The values as numbers; `None` for categories.
    pub numbers: Option<Decimals>,
    /// The domain's code of each code of the column; of values that no released row has, nothing is
    /// known.
    pub code_of: Vec<Option<u32>>,
    /// The attribute's hierarchy with the leaf of each value; `None` where the tree is balanced.
    taxonomy: Option<(Taxonomy, Vec<u32>)>,
    arity: u32,
}

/// The weights of a target over some values; 0 is outside of it.
#[derive(Clone, Debug, PartialEq)]
enum Weights {
    /// Whole numbers.
    Exact(Vec<u64>),
    /// Anything else.
    Real(Vec<f64>),
}

impl Policy {
    /// The domain of a distribution's attribute, which is a column of the table. `occurs` tells
    /// whether a released row has a value: what only suppressed rows have must not be seen in a
    /// release.
    pub fn domain(
        &self,
        asked: &DistributionAsked,
        table: &Table,
        column: &Column,
        occurs: impl Fn(u32) -> bool,
    ) -> Result<Domain> {
        let nowhere = || Error::NoSuchColumn {
            file: table.file.clone(),
            column: column.name.clone(),
            nearest: None,
        };
        let dictionary = column.dictionary().ok_or_else(nowhere)?;
        let place =
            |code: u32| Place::file(&table.file).line(dictionary.line(code)).column(&column.name);
        let unfit = |code: u32, problem: &str| Error::Unfit {
            place: place(code),
            value: dictionary.value(code).to_string(),
            problem: problem.into(),
        };
        let missing = self.missing_of(&column.name);
        let is_missing =
            |value: &str| value.is_empty() || missing.iter().any(|token| token == value);
        let present: Vec<u32> = (0..dictionary.len() as u32).filter(|code| occurs(*code)).collect();
        if let Some(code) = present.iter().copied().find(|code| is_missing(dictionary.value(*code)))
        {
            return Err(unfit(
                code,
                "is missing, but a distribution needs a value in every row; remove such rows",
            ));
        }
        // The column's values first, in the order of their codes; then those that need not occur.
        let mut values = Dictionary::default();
        for code in &present {
            values.encode(dictionary.value(*code), dictionary.line(*code));
        }
        for target in asked.all_targets() {
            if let TargetForm::File { weights, .. } = &target.form {
                for (line, value, _) in weights {
                    // A whole number may be written with a fraction of nothing: 39.0 for 39.
                    let number = Type::Real
                        .number(value)
                        .filter(|number| number.fract() == 0.0 && value.contains('.'));
                    let whole = number.map(|number| (number as i64).to_string());
                    values.encode(whole.as_ref().unwrap_or(value), *line);
                }
            }
        }
        if let Some((from, to)) = asked.domain {
            for number in from..=to {
                values.encode(&number.to_string(), 0);
            }
        }
        let declared = Declared { missing: &[], ..self.declared(&column.name) };
        let hierarchy = declared.hierarchy;
        let bound = declared.bind(&column.name, &values, &table.file);
        let bound = bound.map_err(|error| in_target(error, asked, dictionary))?;
        let leaves: Vec<&str> =
            (0..bound.taxonomy.codes()).map(|leaf| bound.taxonomy.level(0).label(leaf)).collect();
        let numeric = matches!(bound.kind, Type::Integer | Type::Real);
        if asked.domain.is_some() && bound.kind != Type::Integer {
            let missing = format!(
                "`domain` requires whole numbers, but {} has other values",
                quoted(&column.name)
            );
            return Err(self.incomplete(missing));
        }
        let mut order: Vec<u32> = (0..leaves.len() as u32).collect();
        let mut numbers = None;
        if numeric {
            let labels = &leaves;
            let inexact = |_| {
                // Once more in the order of the file, so that its first value is named.
                let leaves = bound.leaf_of.iter().take(present.len());
                match Decimals::read(leaves.map(|leaf| labels[leaf.index()])) {
                    Err(code) => unfit(
                        present[code],
                        "has more than 15 digits, or differs too much in scale from other values; round it",
                    ),
                    Ok(_) => nowhere(),
                }
            };
            let read = Decimals::read(leaves.iter().copied()).map_err(inexact)?;
            order.sort_by_key(|leaf| read.units[*leaf as usize]);
            let units = order.iter().map(|leaf| read.units[*leaf as usize]).collect();
            numbers = Some(Decimals { units, scale: read.scale });
        }
        let mut rank = vec![0u32; leaves.len()];
        (0..).zip(&order).for_each(|(code, leaf)| rank[*leaf as usize] = code);
        let mut code_of = vec![None; dictionary.len()];
        for (code, leaf) in present.iter().zip(bound.leaf_of.iter()) {
            code_of[*code as usize] = Some(rank[leaf.index()]);
        }
        let domain = Domain {
            labels: order.iter().map(|leaf| leaves[*leaf as usize].to_string()).collect(),
            numbers,
            code_of,
            // A tree without inner nodes has nothing to say: numbers get a balanced one, categories
            // stay below the root.
            taxonomy: (!matches!(hierarchy, Hierarchy::None) || !numeric)
                .then_some((bound.taxonomy, order)),
            arity: asked.arity,
        };
        domain.check(self, &column.name)?;
        Ok(domain)
    }
}

impl Policy {
    /// What each value of a quasi-identifier is called at a level of its hierarchy.
    pub fn labels_at(&self, table: &Table, column: &Column, level: usize) -> Result<Vec<String>> {
        let nowhere = || Error::NoSuchColumn {
            file: table.file.clone(),
            column: column.name.clone(),
            nearest: None,
        };
        let dictionary = column.dictionary().ok_or_else(nowhere)?;
        let name = &column.name;
        let bound = self.declared(name).bind(name, dictionary, &table.file)?;
        if level > bound.taxonomy.height() {
            return Err(Error::BadParameter {
                place: None,
                key: "privacy.distribution.groups".into(),
                value: format!("{name}={level}"),
                expected: format!("a level from 0 to {}", bound.taxonomy.height()),
            });
        }
        let level = bound.taxonomy.level(level);
        Ok(bound
            .leaf_of
            .iter()
            .map(|leaf| level.label(level.node_of(leaf.0)).to_string())
            .collect())
    }
}

impl Domain {
    /// Refuses a hierarchy over numbers in which a node is not a segment of the number line.
    fn check(&self, policy: &Policy, column: &str) -> Result<()> {
        let Some((taxonomy, leaves)) = &self.taxonomy else { return Ok(()) };
        for level in taxonomy.levels() {
            let mut nodes: Vec<u32> = leaves.iter().map(|leaf| level.node_of(*leaf)).collect();
            nodes.dedup();
            let mut seen = std::collections::HashSet::new();
            if let Some(torn) = nodes.iter().find(|node| !seen.insert(**node)) {
                let missing = format!(
                    "the hierarchy of {}: {} is not a range, because other numbers lie between its values",
                    quoted(column),
                    quoted(level.label(*torn))
                );
                return Err(policy.incomplete(missing));
            }
        }
        Ok(())
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The number of decimals of the values.
    pub fn scale(&self) -> u32 {
        self.numbers.as_ref().map_or(0, |numbers| numbers.scale)
    }

    /// The values as floats, for distributions that are formulas.
    fn floats(&self) -> Option<Vec<f64>> {
        let numbers = self.numbers.as_ref()?;
        let unit = 10f64.powi(-(numbers.scale as i32));
        Some(numbers.units.iter().map(|number| *number as f64 * unit).collect())
    }

    /// The tree over some values.
    fn shape(&self, codes: &[u32]) -> Shape {
        let Some((taxonomy, leaves)) = &self.taxonomy else {
            return Shape::Balanced { arity: self.arity };
        };
        let starts = |level: &crate::taxonomy::Level| {
            let node = |code: u32| level.node_of(leaves[code as usize]);
            (1..codes.len())
                .filter(|at| node(codes[*at]) != node(codes[at - 1]))
                .map(|at| at as u32)
                .collect()
        };
        Shape::Levels(taxonomy.levels().iter().rev().map(starts).collect())
    }

    /// A target; `counts` is how often each value occurs in what the target is about, and
    /// `smallest` is the size of the smallest group that follows it.
    pub fn target(
        &self,
        asked: &TargetAsked,
        rounding: RoundingAsked,
        counts: &[u64],
        smallest: u64,
    ) -> Result<Target> {
        let found = weights(asked, &self.labels, self.floats().as_deref(), counts)?;
        let above_zero = |code: &u32| match &found {
            Weights::Exact(weights) => weights[*code as usize] > 0,
            Weights::Real(weights) => weights[*code as usize] > 0.0,
        };
        let codes: Vec<u32> = (0..self.len() as u32).filter(above_zero).collect();
        let shape = self.shape(&codes);
        let units: Option<Vec<i64>> = self
            .numbers
            .as_ref()
            .map(|numbers| codes.iter().map(|code| numbers.units[*code as usize]).collect());
        let measure = units.as_deref().map_or(Measure::Categories, Measure::Numbers);
        let (hierarchy, rounding) = match (&found, rounding) {
            (Weights::Exact(weights), RoundingAsked::Exact) => {
                let weights: Vec<u64> = codes.iter().map(|code| weights[*code as usize]).collect();
                (Annotated::exact(&weights, &shape, measure), Rounding::default())
            }
            (Weights::Exact(weights), RoundingAsked::Default) => {
                let weights: Vec<u64> = codes.iter().map(|code| weights[*code as usize]).collect();
                let units = (smallest, RoundingAsked::UNITS);
                Annotated::eased(&weights, units, rounding.tolerance(), &shape, measure)
            }
            (found, rounding) => {
                let weight = |code: &u32| match found {
                    Weights::Exact(weights) => weights[*code as usize] as f64,
                    Weights::Real(weights) => weights[*code as usize],
                };
                let weights: Vec<f64> = codes.iter().map(weight).collect();
                Annotated::rounded(&weights, rounding.tolerance(), &shape, measure)
            }
        };
        Ok(Target { codes, hierarchy, rounding })
    }

    /// What a node of a target is called: a value, `least-greatest`, or as the hierarchy says.
    pub fn label(&self, target: &Target, node: u32) -> String {
        let leaves = &target.hierarchy.node(node).leaves;
        let (first, last) =
            (target.codes[leaves.start as usize], target.codes[leaves.end as usize - 1]);
        if first == last {
            return self.labels[first as usize].clone();
        }
        match &self.taxonomy {
            None => format!("{}-{}", self.labels[first as usize], self.labels[last as usize]),
            Some((taxonomy, order)) => {
                let (first, last) = (order[first as usize], order[last as usize]);
                // The lowest node above both.
                let above = taxonomy
                    .levels()
                    .iter()
                    .find(|level| level.node_of(first) == level.node_of(last));
                above
                    .map_or_else(String::new, |level| level.label(level.node_of(first)).to_string())
            }
        }
    }
}

/// The weights that a target gives to some values, which occur as often as `counts` says.
fn weights(
    asked: &TargetAsked,
    labels: &[String],
    numbers: Option<&[f64]>,
    counts: &[u64],
) -> Result<Weights> {
    // A group's own target is about the values between its least and its greatest one.
    let inside = match asked.of {
        Of::Group => {
            let first = counts.iter().position(|count| *count > 0).unwrap_or(0);
            first..counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1)
        }
        Of::Table => 0..labels.len(),
    };
    let numeric = || {
        numbers.ok_or_else(|| Error::BadParameter {
            place: None,
            key: "distribution.target".into(),
            value: asked.name(),
            expected: "uniform, source, zipf or a file, because the attribute is categorical"
                .into(),
        })
    };
    let spread = |inner: Vec<f64>| {
        let mut all = vec![0.0; labels.len()];
        all[inside.clone()].copy_from_slice(&inner);
        Weights::Real(all)
    };
    Ok(match &asked.form {
        TargetForm::Uniform => {
            Weights::Exact((0..labels.len()).map(|at| inside.contains(&at).into()).collect())
        }
        TargetForm::Source => Weights::Exact(counts.to_vec()),
        TargetForm::Zipf { s } => spread(zipf(inside.len(), *s)),
        TargetForm::Normal { mean, deviation } => {
            let numbers = numeric()?;
            let own = moments(numbers, counts);
            let (mean, deviation) = (mean.unwrap_or(own.0), deviation.unwrap_or(own.1));
            spread(normal(&numbers[inside.clone()], mean, deviation))
        }
        TargetForm::File { file, weights, .. } => {
            Weights::Exact(whole(file, weights, labels, numbers.is_some())?)
        }
    })
}

/// An error about a value that the column does not have is about the target that lists it.
fn in_target(mut error: Error, asked: &DistributionAsked, dictionary: &Dictionary) -> Error {
    if let Error::WrongType { place, value, .. } | Error::NotInHierarchy { place, value, .. } =
        &mut error
        && !dictionary.values().any(|own| own == value)
        && let Some(file) = asked.files().next()
    {
        place.file = file.to_path_buf();
        place.column = None;
    }
    error
}

/// Mean and standard deviation of values with counts; never a deviation of 0.
fn moments(numbers: &[f64], counts: &[u64]) -> (f64, f64) {
    let rows: f64 = counts.iter().map(|count| *count as f64).sum();
    let mean =
        numbers.iter().zip(counts).map(|(number, count)| number * *count as f64).sum::<f64>()
            / rows.max(1.0);
    let square = |(number, count): (&f64, &u64)| (number - mean).powi(2) * *count as f64;
    let deviation = (numbers.iter().zip(counts).map(square).sum::<f64>() / rows.max(1.0)).sqrt();
    (mean, if deviation > 0.0 { deviation } else { 1.0 })
}

/// The weights of a file over some values, times the least number that makes all of them whole. A
/// value that the file does not list has none.
fn whole(
    file: &std::path::Path,
    weights: &[(u64, String, Ratio)],
    labels: &[String],
    numeric: bool,
) -> Result<Vec<u64>> {
    // A number may be written in another way: 39.0 for 39.
    let key = |text: &str| {
        let number = if numeric { Type::Real.number(text) } else { None };
        number.map_or_else(|| text.to_string(), |number| format!("{number}"))
    };
    let mut listed: std::collections::HashMap<String, (u64, Ratio)> =
        std::collections::HashMap::new();
    for (line, value, weight) in weights {
        if let Some((first, _)) = listed.insert(key(value), (*line, *weight)) {
            return Err(Error::RepeatedLeaf {
                place: Place::file(file).line(*line),
                leaf: value.clone(),
                first,
            });
        }
    }
    let too_large = || Error::Mismatch {
        file: file.to_path_buf(),
        problem: "the weights have no common denominator below 2^62; round them".into(),
    };
    let mut common = 1u64;
    for (_, weight) in listed.values() {
        let part = weight.denominator() / greatest_common_divisor(common, weight.denominator());
        common = common.checked_mul(part).ok_or_else(too_large)?;
    }
    let scaled = |label: &String| match listed.get(&key(label)) {
        None => Some(0),
        Some((_, weight)) => weight.numerator().checked_mul(common / weight.denominator()),
    };
    let scaled: Vec<u64> =
        labels.iter().map(scaled).collect::<Option<_>>().ok_or_else(too_large)?;
    let sum = scaled.iter().try_fold(0u64, |sum, weight| sum.checked_add(*weight));
    sum.filter(|sum| *sum < 1 << 62).ok_or_else(too_large)?;
    Ok(scaled)
}
