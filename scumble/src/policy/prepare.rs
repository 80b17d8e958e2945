//! A policy meets a table: trees are bound, cells are coded by their leaves, requirements get their columns.

use super::{DistanceAsked, Policy, VarianceAsked};
use crate::error::{Error, Place, Result};
use crate::loss::Loss;
use crate::privacy::{Distance, KAnonymity, LDiversity, Requirement, TCloseness, VarianceDiversity};
use crate::search::Task;
use crate::search::regions::Criterion;
use crate::table::{Column, Data, Role, Table, Tallies, Type};
use crate::taxonomy::{Binding, Hierarchy, Taxonomy, bind};
use std::sync::Arc;

/// A table that is ready to be searched.
#[derive(Debug)]
pub struct Prepared {
    /// What a search gets.
    pub task: Task,
    /// The cell of the task that each cell of the table went to.
    pub leaf_cell: Vec<u32>,
    /// The quasi-identifiers, in order.
    pub names: Vec<String>,
    /// The counted columns, as requirements number them.
    pub counted: Vec<String>,
    /// The types of the sensitive columns among them, as declared or as found in the table. A release is verified by
    /// these: its own values may be fewer, and look like another type.
    pub types: Vec<(String, Type)>,
}

/// The requirements on a table, and what they count.
pub(crate) struct Counted {
    pub(crate) names: Vec<String>,
    /// The value of each row, coded by the leaves of the column's tree.
    pub(crate) codes: Vec<Vec<u32>>,
    pub(crate) values: Vec<usize>,
    pub(crate) types: Vec<(String, Type)>,
    pub(crate) requirements: Vec<Box<dyn Requirement>>,
}

/// What closeness and variance need to know of a counted column.
struct Sensitive {
    taxonomy: Arc<Taxonomy>,
    /// The values in ascending order, where they are numbers or dates.
    order: Option<Arc<[u32]>>,
    /// Whether the policy gives it a hierarchy.
    has_tree: bool,
    numbers: Numbers,
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
    fn new(binding: &Binding, column: &Column, declared: Option<Type>, missing: &[String]) -> Numbers {
        let present = binding.taxonomy.codes() - u32::from(binding.taxonomy.missing().is_some());
        let is_number = |value: &str| Type::Real.number(value).is_some() && !missing.iter().any(|token| token == value);
        match binding.kind {
            Type::Integer | Type::Real if binding.numbers.len() == present as usize => {
                Numbers::All(binding.numbers.clone().into())
            }
            Type::Date => Numbers::None,
            _ if declared == Some(Type::Text) => Numbers::None,
            _ if column.dictionary().is_some_and(|dictionary| dictionary.values().any(is_number)) => Numbers::Some,
            _ => Numbers::None,
        }
    }
}

/// The leaves of a column in the order of their numbers, where all have one; a missing value comes last.
fn ascending(binding: &Binding) -> Option<Arc<[u32]>> {
    let present = binding.taxonomy.codes() - u32::from(binding.taxonomy.missing().is_some());
    if binding.kind == Type::Text || binding.numbers.len() != present as usize {
        return None;
    }
    let mut order: Vec<u32> = (0..binding.taxonomy.codes()).collect();
    let number = |leaf: u32| binding.numbers.get(leaf as usize).copied().unwrap_or(f64::INFINITY);
    order.sort_by(|a, b| number(*a).total_cmp(&number(*b)));
    Some(order.into())
}

impl Counted {
    /// The tallies by group of each counted column; `group_of_row` numbers below `groups`.
    pub(crate) fn tallies(&self, groups: usize, group_of_row: &[u32]) -> Vec<Tallies> {
        self.codes.iter().map(|codes| Tallies::count(groups, group_of_row, codes)).collect()
    }
}

impl Policy {
    fn bind(&self, table: &Table, column: &Column) -> Result<Binding> {
        let attribute = self.attribute(&column.name);
        let none = Hierarchy::None;
        let hierarchy = attribute.map_or(&none, |attribute| &attribute.hierarchy);
        let kind = attribute.and_then(|attribute| attribute.kind);
        let dictionary = column.dictionary().ok_or_else(|| Error::NoSuchColumn {
            file: table.file.clone(),
            column: column.name.clone(),
            nearest: None,
        })?;
        bind(hierarchy, kind, self.missing_of(&column.name), dictionary, &column.name, &table.file)
    }

    /// Binds the policy to a table.
    pub fn prepare(&self, table: &Table) -> Result<Prepared> {
        let keys: Vec<&Column> = table.with_role(Role::QuasiIdentifier).collect();
        let bound: Vec<Binding> = keys.iter().map(|column| self.bind(table, column)).collect::<Result<_>>()?;
        let (mut taxonomies, mut axes, mut maps) = (Vec::new(), Vec::new(), Vec::new());
        for (column, binding) in keys.iter().zip(bound) {
            let taxonomy = Arc::new(binding.taxonomy);
            let hierarchy = self.attribute(&column.name).map_or(&Hierarchy::None, |attribute| &attribute.hierarchy);
            axes.push(Binding::axis(hierarchy, binding.kind, &binding.numbers, &taxonomy));
            taxonomies.push(taxonomy);
            maps.push(binding.leaf_of);
        }
        let (cells, leaf_cell) = table.cells.recode(&maps);
        let mut counted = self.counted(table)?;
        let (target, target_numbers) = self.target(table, &mut counted)?.unzip();
        let target_numbers = target_numbers.flatten();
        let cell_of_row: Vec<u32> = table.row_cells.iter().map(|cell| leaf_cell[*cell as usize]).collect();
        let task = Task {
            taxonomies,
            axes,
            tallies: counted.tallies(cells.len(), &cell_of_row),
            cells,
            values: counted.values,
            requirements: counted.requirements,
            loss: self.search.loss,
            target,
            target_numbers,
            suppressible: self.search.suppression.floor_of(table.rows()),
        };
        let names = keys.iter().map(|column| column.name.clone()).collect();
        Ok(Prepared { task, leaf_cell, names, counted: counted.names, types: counted.types })
    }

    /// Counts the target too where the search looks at it: its position among the counted columns, and its numbers where
    /// they are wanted.
    fn target(&self, table: &Table, counted: &mut Counted) -> Result<Option<(usize, Option<Arc<[f64]>>)>> {
        let wanted_by = match (self.search.loss, self.search.partitioning.criterion) {
            _ if !self.search.algorithm.is_partitioning() && self.search.loss == Loss::Cm => "the loss `cm`",
            (_, Criterion::InfoGain) if self.search.algorithm.is_partitioning() => "the split `info-gain`",
            (_, Criterion::Regression) if self.search.algorithm.is_partitioning() => "the split `regression`",
            _ => return Ok(None),
        };
        let incomplete = |missing: String| Error::Incomplete { file: self.file.clone(), missing };
        let mut targets = table.with_role(Role::Target);
        let target =
            targets.next().ok_or_else(|| incomplete(format!("{wanted_by} needs a column with the role `target`")))?;
        if targets.next().is_some() {
            return Err(incomplete(format!("{wanted_by} needs one `target`, and there are several")));
        }
        let Data::Coded { dictionary, codes, .. } = &target.data else { return Ok(None) };
        let numbers = match self.search.partitioning.criterion {
            Criterion::Regression if self.search.algorithm.is_partitioning() => {
                let number = |code: u32| {
                    let value = dictionary.value(code);
                    Type::Real.number(value).ok_or_else(|| Error::WrongType {
                        place: Place::file(&table.file).line(dictionary.line(code)).column(&target.name),
                        value: value.to_string(),
                        expected: Type::Real.expected(),
                    })
                };
                Some((0..dictionary.len() as u32).map(number).collect::<Result<_>>()?)
            }
            _ => None,
        };
        counted.names.push(target.name.clone());
        counted.codes.push(codes.clone());
        counted.values.push(dictionary.len());
        Ok(Some((counted.names.len() - 1, numbers)))
    }

    /// The requirements on a table and the sensitive columns they count. The table may be an input or a release: what
    /// compares with the whole compares with the rows that are there.
    pub(crate) fn counted(&self, table: &Table) -> Result<Counted> {
        let incomplete = |missing: String| Error::Incomplete { file: self.file.clone(), missing };
        let sensitive: Vec<&Column> = table.with_role(Role::Sensitive).collect();
        let mut counted = Counted {
            names: Vec::new(),
            codes: Vec::new(),
            values: Vec::new(),
            types: Vec::new(),
            requirements: Vec::new(),
        };
        let mut bindings: Vec<Sensitive> = Vec::new();
        // The columns that a requirement is about, counted when first asked for.
        let mut columns_of = |about: &Option<String>, what: &str, counted: &mut Counted| -> Result<Vec<usize>> {
            let chosen: Vec<&&Column> =
                sensitive.iter().filter(|column| about.as_ref().is_none_or(|name| *name == column.name)).collect();
            if chosen.is_empty() {
                return Err(incomplete(match about {
                    Some(name) => format!("{what} is about `{name}`, which is not a sensitive attribute of the table"),
                    None => format!("{what} needs a column with the role `sensitive`"),
                }));
            }
            let mut positions = Vec::new();
            for column in chosen {
                let known = counted.names.iter().position(|name| *name == column.name);
                positions.push(match known {
                    Some(position) => position,
                    None => {
                        let Data::Coded { codes, .. } = &column.data else { continue };
                        let binding = self.bind(table, column)?;
                        let has_tree =
                            self.attribute(&column.name).is_some_and(|a| !matches!(a.hierarchy, Hierarchy::None));
                        counted.names.push(column.name.clone());
                        counted.values.push(binding.taxonomy.codes() as usize);
                        counted.types.push((column.name.clone(), binding.kind));
                        counted.codes.push(codes.iter().map(|code| binding.leaf_of[*code as usize]).collect());
                        let declared = self.attribute(&column.name).and_then(|attribute| attribute.kind);
                        bindings.push(Sensitive {
                            has_tree,
                            numbers: Numbers::new(&binding, column, declared, self.missing_of(&column.name)),
                            order: ascending(&binding),
                            taxonomy: Arc::new(binding.taxonomy),
                        });
                        counted.names.len() - 1
                    }
                });
            }
            Ok(positions)
        };
        let mut requirements: Vec<Box<dyn Requirement>> = Vec::new();
        if let Some(k) = self.privacy.k.and_then(KAnonymity::new) {
            requirements.push(Box::new(k));
        }
        for asked in &self.privacy.diversity {
            for column in columns_of(&asked.sensitive, "l-diversity", &mut counted)? {
                if let Some(requirement) = LDiversity::new(column, asked.form) {
                    requirements.push(Box::new(requirement));
                }
            }
        }
        let mut close = Vec::new();
        for asked in &self.privacy.closeness {
            for column in columns_of(&asked.sensitive, "t-closeness", &mut counted)? {
                close.push((column, asked));
            }
        }
        let mut spread = Vec::new();
        for asked in &self.privacy.variance {
            spread.push((asked, columns_of(&asked.sensitive, "variance", &mut counted)?));
        }
        for (column, asked) in close {
            let Sensitive { taxonomy, order, has_tree, .. } = &bindings[column];
            let distance = match (asked.distance, order) {
                (DistanceAsked::Hierarchical, _) => Distance::Hierarchical(taxonomy.clone()),
                (DistanceAsked::Fitting, _) if *has_tree => Distance::Hierarchical(taxonomy.clone()),
                (DistanceAsked::Fitting | DistanceAsked::Ordered, Some(order)) => Distance::Ordered(order.clone()),
                (DistanceAsked::Ordered, None) => {
                    let name = crate::error::quoted(&counted.names[column]);
                    return Err(incomplete(format!("the ordered distance needs numbers or dates, and {name} is text")));
                }
                (DistanceAsked::Fitting | DistanceAsked::Equal, _) => Distance::Equal,
            };
            let mut whole = vec![0u64; counted.values[column]];
            counted.codes[column].iter().for_each(|code| whole[*code as usize] += 1);
            if let Some(requirement) = TCloseness::new(column, asked.t, distance, whole) {
                requirements.push(Box::new(requirement));
            }
        }
        for (asked, columns) in spread {
            for (column, numbers) in self.numeric(asked, columns, &bindings, &counted.names)? {
                if let Some(requirement) = VarianceDiversity::new(column, asked.at_least, numbers) {
                    requirements.push(Box::new(requirement));
                }
            }
        }
        if requirements.is_empty() {
            let missing = "nothing is required; give `k`, `l-diversity`, `t-closeness` or `variance` under [privacy]";
            return Err(incomplete(missing.into()));
        }
        counted.requirements = requirements;
        Ok(counted)
    }

    /// The columns that a variance is about, with their numbers. Attributes without any are passed over if none was named;
    /// one that looks numeric in part is not, for it would go unprotected because of one mistyped value.
    fn numeric(
        &self,
        asked: &VarianceAsked,
        columns: Vec<usize>,
        bindings: &[Sensitive],
        names: &[String],
    ) -> Result<Vec<(usize, Arc<[f64]>)>> {
        let incomplete = |missing: String| Err(Error::Incomplete { file: self.file.clone(), missing });
        let mut numeric = Vec::new();
        for column in columns {
            let name = crate::error::quoted(&names[column]);
            match &bindings[column].numbers {
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
