//! Requirements get their columns: each is bound to what a scan has seen of the sensitive attributes it is about.
//!
//! Nothing here needs rows. The distinct values of a column and how often each occurs are enough, so a table in memory, one
//! on disk and a release that is read once are all bound in this way.

use super::{Attribute, ClosenessAsked, DistanceAsked, Policy, VarianceAsked};
use crate::error::{Error, Result, quoted};
use crate::privacy::{Distance, KAnonymity, LDiversity, Requirement, TCloseness, VarianceDiversity};
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
    pub(crate) leaf_of: Vec<Vec<u32>>,
    /// How many leaves there are.
    pub(crate) values: Vec<usize>,
    pub(crate) requirements: Vec<Box<dyn Requirement>>,
}

/// What closeness and variance need to know of a counted column.
struct Sensitive {
    taxonomy: Arc<Taxonomy>,
    /// The values in ascending order, where they are numbers or dates.
    order: Option<Arc<[u32]>>,
    /// The distance that fits it. What a table's values look like plays no part in it: a release has fewer of them, and
    /// must be judged in the same way. Where in doubt all values are equally far apart, which no other distance exceeds.
    fitting: Fitting,
    numbers: Numbers,
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
            Some((Hierarchy::None, Some(Type::Integer | Type::Real | Type::Date))) => Fitting::Ordered,
            Some((Hierarchy::None, _)) | None => Fitting::Equal,
            Some(_) => Fitting::Hierarchical,
        }
    }
}

/// The numbers of a counted column.
enum Numbers {
    /// Its values are numbers; a missing one has none.
    All(Arc<[f64]>),
    /// Some of its values could be numbers, but it does not count as numeric.
    Some,
    /// None is.
    None,
}

impl Numbers {
    /// What a column has; `declared` is the type that the policy states.
    fn new(binding: &Binding, dictionary: &Dictionary, declared: Option<Type>, missing: &[String]) -> Numbers {
        let present = binding.taxonomy.codes() - u32::from(binding.taxonomy.missing().is_some());
        let is_number = |value: &str| Type::Real.number(value).is_some() && !missing.iter().any(|token| token == value);
        match binding.kind {
            Type::Integer | Type::Real if binding.numbers.len() == present as usize => {
                Numbers::All(binding.numbers.clone().into())
            }
            Type::Date => Numbers::None,
            _ if declared == Some(Type::Text) => Numbers::None,
            _ if dictionary.values().any(is_number) => Numbers::Some,
            _ => Numbers::None,
        }
    }
}

/// The leaf of each value of a text column without a declared type. Numbers that are written differently share one, as
/// they do in a numeric column: without the rows that make it text, a release would be one.
fn leaves_by_number(binding: &Binding, dictionary: &Dictionary) -> Vec<u32> {
    let mut known: HashMap<u64, u32> = HashMap::new();
    let leaf = |(value, leaf): (&str, &u32)| match Type::Real.number(value) {
        Some(number) if Some(*leaf) != binding.taxonomy.missing() => *known.entry(bits_of(number)).or_insert(*leaf),
        _ => *leaf,
    };
    dictionary.values().zip(&binding.leaf_of).map(leaf).collect()
}

/// The leaves of a column in the order of their numbers, where all have one; a missing value comes last.
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
        let privacy = &self.privacy;
        privacy.diversity.iter().any(|asked| about(&asked.sensitive))
            || privacy.closeness.iter().any(|asked| about(&asked.sensitive))
            || privacy.variance.iter().any(|asked| about(&asked.sensitive))
    }

    /// The requirements on a table whose sensitive columns these are; of those that no requirement
    /// [counts](Self::counts) nothing is asked. The table may be an input or a release: what compares with the whole
    /// compares with the rows that are there.
    pub(crate) fn required(&self, columns: &[Surveyed<'_>], file: &Path) -> Result<Required> {
        let mut binder = Binder { policy: self, columns, file, bound: Vec::new(), required: Required::none() };
        let privacy = &self.privacy;
        if let Some(k) = privacy.k.and_then(KAnonymity::new) {
            binder.push(Some(k));
        }
        for asked in &privacy.diversity {
            for column in binder.columns_of(&asked.sensitive, "l-diversity")? {
                binder.push(LDiversity::new(column, asked.form));
            }
        }
        for asked in &privacy.closeness {
            for column in binder.columns_of(&asked.sensitive, "t-closeness")? {
                let distance = binder.distance(asked, column)?;
                let whole = binder.whole(column);
                binder.push(TCloseness::new(column, asked.t, distance, whole));
            }
        }
        for asked in &privacy.variance {
            for (column, numbers) in binder.numeric(asked)? {
                binder.push(VarianceDiversity::new(column, asked.at_least, numbers));
            }
        }
        if binder.required.requirements.is_empty() {
            let missing = "nothing is required; give `k`, `l-diversity`, `t-closeness` or `variance` under [privacy]";
            return Err(self.incomplete(missing.into()));
        }
        Ok(binder.required)
    }

    pub(super) fn incomplete(&self, missing: String) -> Error {
        Error::Incomplete { file: self.file.clone(), missing }
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
    fn push(&mut self, requirement: Option<impl Requirement + 'static>) {
        self.required.requirements.extend(requirement.map(|one| Box::new(one) as Box<dyn Requirement>));
    }

    /// The counted columns that a requirement is about: one, or all that are sensitive.
    fn columns_of(&mut self, about: &Option<String>, what: &str) -> Result<Vec<usize>> {
        let is_about = |column: &Surveyed<'_>| about.as_ref().is_none_or(|name| name == column.name);
        let chosen: Vec<usize> = (0..self.columns.len()).filter(|column| is_about(&self.columns[*column])).collect();
        if chosen.is_empty() {
            return Err(self.policy.incomplete(match about {
                Some(name) => format!("{what} is about `{name}`, which is not a sensitive attribute of the table"),
                None => format!("{what} needs a column with the role `sensitive`"),
            }));
        }
        chosen.into_iter().map(|column| self.position(column)).collect()
    }

    /// The position of a surveyed column among the counted ones, which it joins when first asked for.
    fn position(&mut self, column: usize) -> Result<usize> {
        if let Some(position) = self.required.columns.iter().position(|known| *known == column) {
            return Ok(position);
        }
        let Surveyed { name, dictionary, .. } = self.columns[column];
        let mut binding = self.policy.bind(name, dictionary, self.file)?;
        let attribute = self.policy.attribute(name);
        let declared = attribute.and_then(|attribute| attribute.kind);
        let order = ascending(&binding);
        let numbers = Numbers::new(&binding, dictionary, declared, self.policy.missing_of(name));
        let fitting = Fitting::new(attribute);
        if declared.is_none() && fitting == Fitting::Equal && binding.kind == Type::Text {
            binding.leaf_of = leaves_by_number(&binding, dictionary);
        }
        let required = &mut self.required;
        required.columns.push(column);
        required.names.push(name.to_string());
        required.values.push(binding.taxonomy.codes() as usize);
        required.leaf_of.push(binding.leaf_of);
        self.bound.push(Sensitive { taxonomy: Arc::new(binding.taxonomy), order, fitting, numbers });
        Ok(self.bound.len() - 1)
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
                    "the hierarchical distance needs a tree of its own, and that of a mask depends on the longest value; \
                     use the equal distance or a hierarchy file",
                );
            }
            // A value, then the root.
            (DistanceAsked::Hierarchical, Fitting::Equal, _) => Distance::Equal,
            (DistanceAsked::Hierarchical, ..) | (DistanceAsked::Fitting, Fitting::Hierarchical, _) => {
                Distance::Hierarchical(taxonomy.clone())
            }
            (DistanceAsked::Ordered, _, Some(order)) | (DistanceAsked::Fitting, Fitting::Ordered, Some(order)) => {
                Distance::Ordered(order.clone())
            }
            (DistanceAsked::Ordered, _, None) => {
                return refused("the ordered distance needs numbers or dates, and the attribute is text");
            }
            (DistanceAsked::Fitting | DistanceAsked::Equal, ..) => Distance::Equal,
        })
    }

    /// How many rows of the whole table have each leaf of a counted column.
    fn whole(&self, column: usize) -> Vec<u64> {
        let mut whole = vec![0; self.required.values[column]];
        let rows = self.columns[self.required.columns[column]].rows;
        for (leaf, rows) in self.required.leaf_of[column].iter().zip(rows) {
            whole[*leaf as usize] += rows;
        }
        whole
    }

    /// The columns that a variance is about, with their numbers. Attributes without any are passed over if none was named;
    /// one that looks numeric in part is not, for it would go unprotected because of one mistyped value.
    fn numeric(&mut self, asked: &VarianceAsked) -> Result<Vec<(usize, Arc<[f64]>)>> {
        let columns = self.columns_of(&asked.sensitive, "variance")?;
        let incomplete = |missing: String| Err(self.policy.incomplete(missing));
        let mut numeric = Vec::new();
        for column in columns {
            let name = quoted(&self.required.names[column]);
            match &self.bound[column].numbers {
                Numbers::All(numbers) => numeric.push((column, numbers.clone())),
                Numbers::None if asked.sensitive.is_none() => {}
                Numbers::None => return incomplete(format!("variance needs numbers, and {name} has none")),
                Numbers::Some => {
                    let advice =
                        "list under `missing` what is none, or name the attribute that is meant as `sensitive`";
                    return incomplete(format!("variance needs numbers, and {name} is text in part; {advice}"));
                }
            }
        }
        if numeric.is_empty() {
            return incomplete("variance needs a sensitive attribute with numbers, and there is none".into());
        }
        Ok(numeric)
    }
}
