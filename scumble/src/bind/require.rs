//! Requirements get their columns: each is bound to what a scan has seen of the sensitive
//! attributes it is about.
//!
//! Nothing here needs rows. The distinct values of a column and how often each occurs are enough,
//! so a table in memory, one on disk and a release that is read once are all bound in this way.
//!
//! A requirement that cannot be bound is an error, never left out. What the policy asks for is
//! counted and compared with what was bound.

use super::caps::CappedColumn;
use crate::error::{Error, Place, Result, quoted};
use crate::ids::{Code, Id, IdMap, LeafId};
use crate::policy::{
    Attribute, ClosenessAsked, DistanceAsked, Policy, ThresholdsAsked, VarianceAsked,
};
use crate::privacy::{
    Caps, Distance, Diversity, KAnonymity, LDiversity, Requirement, TCloseness, Thresholds,
    VarianceDiversity,
};
use crate::ratio::Ratio;
use crate::table::{Dictionary, Type};
use crate::taxonomy::{Binding, Hierarchy, Taxonomy, bits_of};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// What a scan has seen of a sensitive column.
pub(crate) struct Surveyed<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its distinct values.
    pub(crate) dictionary: &'a Dictionary,
    /// How many rows have each of them.
    pub(crate) rows: &'a [u64],
}

/// The requirements, and the columns that they count.
pub(crate) struct Required {
    /// Which of the surveyed columns are counted, as requirements number them.
    pub(crate) columns: Vec<usize>,
    pub(crate) names: Vec<String>,
    /// The leaf of each code of their dictionaries, which is what requirements know a value by.
    pub(crate) leaf_of: Vec<IdMap<Code, LeafId>>,
    /// How many leaves there are.
    pub(crate) values: Vec<usize>,
    pub(crate) requirements: Vec<Box<dyn Requirement>>,
    /// The cap of each value where thresholds are asked for, by column and value.
    pub(crate) caps: Vec<(String, String, Ratio)>,
}

/// What closeness and variance need to know of a counted column.
struct Sensitive {
    taxonomy: Arc<Taxonomy>,
    /// The values in ascending order, where they are numbers or dates.
    order: Option<Arc<[u32]>>,
    /// The distance that fits it. What a table's values look like plays no part in it: a release
    /// has fewer of them, and must be judged in the same way. Where in doubt all values are equally
    /// far apart, which no other distance exceeds.
    fitting: Fitting,
    numbers: CountedNumbers,
    /// The leaf that stands for suppressed values, behind those of the tree.
    token: Option<LeafId>,
}

/// The distance that fits a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fitting {
    /// It has a hierarchy that does not depend on its values.
    Hierarchical,
    /// It is masked: the height of that tree depends on the longest value.
    Masked,
    /// It is declared to hold numbers or dates.
    Ordered,
    /// Nothing is known.
    Equal,
}

impl Fitting {
    fn new(attribute: Option<&Attribute>) -> Fitting {
        match attribute.map(|attribute| (&attribute.hierarchy, attribute.kind)) {
            Some((Hierarchy::Mask(_), _)) => Fitting::Masked,
            Some((
                Hierarchy::None,
                Some(Type::Integer | Type::Real | Type::Date | Type::Timestamp),
            )) => Fitting::Ordered,
            Some((Hierarchy::None | Hierarchy::Sets, _)) | None => Fitting::Equal,
            Some(_) => Fitting::Hierarchical,
        }
    }
}

/// The numbers of a counted column.
enum CountedNumbers {
    /// Its values are numbers; a missing one has none.
    All(Arc<[f64]>),
    /// Some of its values could be numbers, but it does not count as numeric.
    Some,
    /// None is.
    None,
}

impl CountedNumbers {
    /// What a column has; `declared` is the type that the policy states.
    fn new(
        binding: &Binding,
        dictionary: &Dictionary,
        declared: Option<Type>,
        missing: &[String],
    ) -> CountedNumbers {
        let present = binding.taxonomy.codes() - u32::from(binding.taxonomy.missing().is_some());
        let is_number = |value: &str| {
            Type::Real.number(value).is_some() && !missing.iter().any(|token| token == value)
        };
        match binding.kind {
            Type::Integer | Type::Real if binding.numbers.len() == present as usize => {
                CountedNumbers::All(binding.numbers.clone().into())
            }
            Type::Date | Type::Timestamp => CountedNumbers::None,
            _ if declared == Some(Type::Text) => CountedNumbers::None,
            _ if dictionary.values().any(is_number) => CountedNumbers::Some,
            _ => CountedNumbers::None,
        }
    }
}

/// The leaf of each value of a text column without a declared type. Numbers that are written
/// differently share one, as they do in a numeric column: without the rows that make it text, a
/// release would be one.
fn leaves_by_number(binding: &Binding, dictionary: &Dictionary) -> IdMap<Code, LeafId> {
    let mut known: HashMap<u64, LeafId> = HashMap::new();
    let missing = binding.taxonomy.missing().map(LeafId);
    let leaf = |(value, leaf): (&str, LeafId)| match Type::Real.number(value) {
        Some(number) if Some(leaf) != missing => *known.entry(bits_of(number)).or_insert(leaf),
        _ => leaf,
    };
    dictionary.values().zip(binding.leaf_of.iter()).map(leaf).collect()
}

/// The leaves of a column in the order of their numbers, where all have one; a missing value comes
/// last.
fn ascending(binding: &Binding) -> Option<Arc<[u32]>> {
    let present = binding.taxonomy.codes() - u32::from(binding.taxonomy.missing().is_some());
    // Where all values are missing there is no text among them.
    let is_text = binding.kind == Type::Text && present > 0;
    if is_text || binding.numbers.len() != present as usize {
        return None;
    }
    let mut order: Vec<u32> = (0..binding.taxonomy.codes()).collect();
    let number = |leaf: u32| binding.numbers.get(leaf as usize).copied().unwrap_or(f64::INFINITY);
    order.sort_by(|a, b| number(*a).total_cmp(&number(*b)));
    Some(order.into())
}

impl Policy {
    /// Whether some requirement counts the values of a sensitive column.
    pub(crate) fn counts(&self, column: &str) -> bool {
        let about = |asked: &Option<String>| asked.as_ref().is_none_or(|name| name == column);
        let privacy = self.privacy();
        privacy.diversity.iter().any(|asked| about(&asked.sensitive))
            || privacy.closeness.iter().any(|asked| about(&asked.sensitive))
            || privacy.variance.iter().any(|asked| about(&asked.sensitive))
            || privacy.thresholds.iter().any(|asked| about(&asked.sensitive))
    }

    /// The requirements on a table whose sensitive columns these are; of those that no requirement
    /// [counts](Self::counts) nothing is asked. The table may be an input or a release: what
    /// compares with the whole compares with the rows that are there.
    pub(crate) fn required(&self, columns: &[Surveyed<'_>], file: &Path) -> Result<Required> {
        let mut binder =
            Binder { policy: self, columns, file, bound: Vec::new(), required: Required::none() };
        let privacy = self.privacy();
        // One for each pair of a requirement and a column; a presence is bound elsewhere.
        let mut asked_for = 0;
        if let Some(k) = privacy.k {
            asked_for += 1;
            let bound = KAnonymity::new(k);
            binder
                .push(bound.ok_or_else(|| binder.refused("k", k, "a whole number of at least 1"))?);
        }
        for asked in &privacy.diversity {
            for column in binder.columns_of(&asked.sensitive, "l-diversity")? {
                asked_for += 1;
                binder.diverse(column, asked.form)?;
            }
        }
        for asked in &privacy.closeness {
            for column in binder.columns_of(&asked.sensitive, "t-closeness")? {
                let distance = binder.distance(asked, column)?;
                let whole = binder.whole(column);
                asked_for += 1;
                let bound = TCloseness::new(column, asked.t, distance, whole);
                let refused = || binder.refused("t-closeness.t", asked.t, "a number from 0 to 1");
                binder.push(bound.ok_or_else(refused)?);
            }
        }
        for asked in &privacy.variance {
            for (column, numbers) in binder.numeric(asked)? {
                asked_for += 1;
                let bound = VarianceDiversity::new(column, asked.at_least, numbers);
                let refused =
                    || binder.refused("variance.at-least", asked.at_least, "a number above 0");
                binder.push(bound.ok_or_else(refused)?);
            }
        }
        if let Some(asked) = &privacy.thresholds {
            for column in binder.columns_of(&asked.sensitive, "thresholds")? {
                asked_for += 1;
                binder.capped(column, asked)?;
            }
        }
        if binder.required.requirements.len() != asked_for {
            return Err(Error::Defect);
        }
        // A presence is bound to what is known of the world, which is not here.
        if binder.required.requirements.is_empty() && privacy.presence.is_none() {
            let missing = "no requirement; add `k`, `l-diversity`, `t-closeness`, `variance`, `thresholds` or \
                           `presence` under [privacy]";
            return Err(self.incomplete(missing.into()));
        }
        Ok(binder.required)
    }
}

impl Required {
    fn none() -> Required {
        Required {
            columns: Vec::new(),
            names: Vec::new(),
            leaf_of: Vec::new(),
            values: Vec::new(),
            requirements: Vec::new(),
            caps: Vec::new(),
        }
    }
}

/// Requirements on their way to their columns.
struct Binder<'a> {
    policy: &'a Policy,
    columns: &'a [Surveyed<'a>],
    file: &'a Path,
    /// The counted columns, in step with those of `required`.
    bound: Vec<Sensitive>,
    required: Required,
}

impl Binder<'_> {
    fn push(&mut self, requirement: impl Requirement + 'static) {
        self.required.requirements.push(Box::new(requirement));
    }

    /// The error about a parameter that no requirement can be made of.
    fn refused(&self, key: &str, value: impl ToString, expected: &str) -> Error {
        Error::BadParameter {
            place: Some(Place::file(self.policy.file())),
            key: format!("privacy.{key}"),
            value: value.to_string(),
            expected: expected.into(),
        }
    }

    /// Caps on the values of a column.
    fn push_caps(&mut self, column: usize, caps: Vec<Ratio>) -> Result<()> {
        let most = caps.iter().copied().max().unwrap_or(Ratio::ONE);
        let refused = || self.refused("thresholds", most, "caps from 0 to 1");
        let caps = Caps::new(caps).ok_or_else(refused)?;
        let names = self.value_names(column);
        self.push(Thresholds::new(column, caps).with_names(names));
        Ok(())
    }

    /// How each leaf of a counted column is written. Of several spellings it is the first by name,
    /// so that the order of the rows does not matter.
    fn value_names(&self, column: usize) -> Vec<String> {
        let dictionary = self.columns[self.required.columns[column]].dictionary;
        let mut names = vec![None::<&str>; self.required.values[column]];
        for (value, leaf) in dictionary.values().zip(self.required.leaf_of[column].iter()) {
            let name = &mut names[leaf.index()];
            *name = Some(name.map_or(value, |known| known.min(value)));
        }
        names.into_iter().map(|name| name.unwrap_or_default().to_string()).collect()
    }

    /// The counted columns that a requirement is about: one, or all that are sensitive.
    fn columns_of(&mut self, about: &Option<String>, what: &str) -> Result<Vec<usize>> {
        let is_about =
            |column: &Surveyed<'_>| about.as_ref().is_none_or(|name| name == column.name);
        let chosen: Vec<usize> =
            (0..self.columns.len()).filter(|column| is_about(&self.columns[*column])).collect();
        if chosen.is_empty() {
            return Err(self.policy.incomplete(match about {
                Some(name) => format!(
                    "{what} names `{name}`, which is not a sensitive attribute of the table"
                ),
                None => format!("{what} requires a column with the role `sensitive`"),
            }));
        }
        chosen.into_iter().map(|column| self.position(column)).collect()
    }

    /// The position of a surveyed column among the counted ones, which it joins when first asked
    /// for.
    fn position(&mut self, column: usize) -> Result<usize> {
        if let Some(position) = self.required.columns.iter().position(|known| *known == column) {
            return Ok(position);
        }
        let Surveyed { name, dictionary, .. } = self.columns[column];
        let (mut binding, token) = self.bind(name, dictionary)?;
        let attribute = self.policy.attribute(name);
        let declared = attribute.and_then(|attribute| attribute.kind);
        let order = ascending(&binding);
        let numbers =
            CountedNumbers::new(&binding, dictionary, declared, self.policy.missing_of(name));
        let fitting = Fitting::new(attribute);
        if declared.is_none() && fitting == Fitting::Equal && binding.kind == Type::Text {
            binding.leaf_of = leaves_by_number(&binding, dictionary);
        }
        let required = &mut self.required;
        required.columns.push(column);
        required.names.push(name.to_string());
        required.values.push(binding.taxonomy.codes() as usize + usize::from(token.is_some()));
        required.leaf_of.push(binding.leaf_of);
        self.bound.push(Sensitive {
            taxonomy: Arc::new(binding.taxonomy),
            order,
            fitting,
            numbers,
            token,
        });
        Ok(self.bound.len() - 1)
    }

    /// The tree of a sensitive column and the leaf of each value. The token for suppressed values
    /// is none of them and has a leaf of its own, behind the others.
    fn bind(&self, name: &str, dictionary: &Dictionary) -> Result<(Binding, Option<LeafId>)> {
        let token = self.policy.token().and_then(|token| dictionary.find(token));
        let Some(token) = token else {
            return Ok((self.policy.declared(name).bind(name, dictionary, self.file)?, None));
        };
        let mut values = Dictionary::default();
        let codes = (0..dictionary.len() as u32).map(|code| {
            if code == token {
                None
            } else {
                Some(Code(values.encode(dictionary.value(code), dictionary.line(code))))
            }
        });
        let codes: Vec<Option<Code>> = codes.collect();
        let mut binding = self.policy.declared(name).bind(name, &values, self.file)?;
        let last = LeafId(binding.taxonomy.codes());
        binding.leaf_of =
            codes.iter().map(|code| code.map_or(last, |code| binding.leaf_of.at(code))).collect();
        Ok((binding, Some(last)))
    }

    /// A diversity. Suppressed values are nobody's: they make a class larger and are bounded by
    /// nothing.
    fn diverse(&mut self, column: usize, form: Diversity) -> Result<()> {
        let refused = || {
            let (value, expected) = match form {
                Diversity::Frequency(l) | Diversity::Entropy(l) => {
                    (l, "`l` to be a number of at least 1")
                }
                Diversity::Distinct(l) | Diversity::Recursive { l: l @ 0, .. } => {
                    (Ratio::whole(l), "`l` to be a whole number of at least 1")
                }
                Diversity::Recursive { c, .. } => (c, "`c` to be a number above 0"),
            };
            self.refused("l-diversity", value, expected)
        };
        let diversity = LDiversity::new(column, form).ok_or_else(refused)?;
        match (self.bound[column].token, diversity.caps(self.required.values[column])) {
            (Some(token), Some((_, mut caps))) => {
                caps[token.index()] = Ratio::ONE;
                self.push_caps(column, caps)
            }
            _ => {
                self.push(diversity);
                Ok(())
            }
        }
    }

    /// Caps of a column's values. A suppressed value has none.
    fn capped(&mut self, column: usize, asked: &ThresholdsAsked) -> Result<()> {
        let Surveyed { name, dictionary, .. } = self.columns[self.required.columns[column]];
        let (leaf_of, token) = (&self.required.leaf_of[column], self.bound[column].token);
        let mut counts = self.whole(column);
        if let Some(token) = token {
            counts[token.index()] = 0;
        }
        let is_rounded = self.policy.search().may_suppress();
        let column_caps = CappedColumn { name, dictionary, leaf_of, counts: &counts, is_rounded };
        let mut caps = asked.caps(&column_caps);
        let leaves = leaf_of.pairs().filter(|(_, leaf)| Some(*leaf) != token);
        let by_value = |(code, leaf): (Code, LeafId)| {
            (name.to_string(), dictionary.value(code.0).to_string(), caps[leaf.index()])
        };
        let of_values: Vec<(String, String, Ratio)> = leaves.map(by_value).collect();
        self.required.caps.extend(of_values);
        if let Some(token) = token {
            caps[token.index()] = Ratio::ONE;
        }
        self.push_caps(column, caps)
    }

    fn distance(&self, asked: &ClosenessAsked, column: usize) -> Result<Distance> {
        let Sensitive { taxonomy, order, fitting, .. } = &self.bound[column];
        let refused = |missing: &str| {
            let name = quoted(&self.required.names[column]);
            Err(self.policy.incomplete(format!("{missing} ({name})")))
        };
        Ok(match (asked.distance, fitting, order) {
            (DistanceAsked::Hierarchical, Fitting::Masked, _) => {
                return refused(
                    "the hierarchical distance cannot be used with a mask; use the equal distance or a \
                     hierarchy file",
                );
            }
            // A value, then the root.
            (DistanceAsked::Hierarchical, Fitting::Equal, _) => Distance::Equal,
            (DistanceAsked::Hierarchical, ..)
            | (DistanceAsked::Fitting, Fitting::Hierarchical, _) => {
                Distance::Hierarchical(taxonomy.clone())
            }
            (DistanceAsked::Ordered, _, Some(order))
            | (DistanceAsked::Fitting, Fitting::Ordered, Some(order)) => {
                Distance::Ordered(order.clone())
            }
            (DistanceAsked::Ordered, _, None) => {
                return refused(
                    "the ordered distance requires numbers or dates, but the attribute is text",
                );
            }
            (DistanceAsked::Fitting | DistanceAsked::Equal, ..) => Distance::Equal,
        })
    }

    /// How many rows of the whole table have each leaf of a counted column.
    fn whole(&self, column: usize) -> Vec<u64> {
        let mut whole = vec![0; self.required.values[column]];
        let rows = self.columns[self.required.columns[column]].rows;
        for (leaf, rows) in self.required.leaf_of[column].iter().zip(rows) {
            whole[leaf.index()] += rows;
        }
        whole
    }

    /// The columns that a variance is about, with their numbers. Attributes without any are passed
    /// over if none was named; one that looks numeric in part is not, for it would go unprotected
    /// because of one mistyped value.
    fn numeric(&mut self, asked: &VarianceAsked) -> Result<Vec<(usize, Arc<[f64]>)>> {
        let columns = self.columns_of(&asked.sensitive, "variance")?;
        let incomplete = |missing: String| Err(self.policy.incomplete(missing));
        let mut numeric = Vec::new();
        for column in columns {
            let name = quoted(&self.required.names[column]);
            match &self.bound[column].numbers {
                CountedNumbers::All(numbers) => numeric.push((column, numbers.clone())),
                CountedNumbers::None if asked.sensitive.is_none() => {}
                CountedNumbers::None => {
                    return incomplete(format!("variance requires numbers, but {name} has none"));
                }
                CountedNumbers::Some => {
                    let advice = "list the others under `missing`, or name another attribute under `sensitive`";
                    return incomplete(format!(
                        "variance requires numbers, but only some values of {name} are numbers; {advice}"
                    ));
                }
            }
        }
        if numeric.is_empty() {
            return incomplete("variance requires a sensitive attribute with numbers".into());
        }
        Ok(numeric)
    }
}
