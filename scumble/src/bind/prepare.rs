//! A policy meets a table: trees are bound, cells are coded by their leaves, and so are the values
//! that are counted.

use super::world::{World, dictionaries, listed_by_column, others, own_by_column};
use super::{OnCuts, Required, Surveyed};
use crate::error::{Error, Place, Result, quoted};
use crate::ids::{CellId, IdMap, LeafId, RowId, TableCellId};
use crate::loss::Loss;
use crate::policy::{Policy, PresenceAsked};
use crate::privacy::Presence;
use crate::ratio::Ratio;
use crate::search::cuts::Problem;
use crate::search::regions::Criterion;
use crate::search::{MOST_IN_SETS, Task};
use crate::table::{Column, Data, Dictionary, Role, Table, Tallies, Type};
use crate::taxonomy::Taxonomy;
use crate::watch::{PIECE, Watch};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// A table that is ready to be searched.
#[derive(Debug)]
pub struct Prepared {
    /// What a search gets.
    pub task: Task,
    /// The cell of the task that each cell of the table went to.
    pub leaf_cell: IdMap<TableCellId, CellId>,
    /// The quasi-identifiers, in order.
    pub names: Vec<String>,
    /// The counted columns, as requirements number them.
    pub counted: Vec<String>,
    /// The caps of all sensitive values, by column and value, where thresholds are asked for.
    pub caps: Vec<(String, String, Ratio)>,
    /// What a search for cuts needs besides, if the policy asks for one.
    pub cuts: Option<OnCuts>,
    /// What a search for cuts needs that is one of several candidates.
    pub tried_cuts: Option<Problem>,
}

/// What is known of a table that it does not hold itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outside<'a> {
    /// The policy's public table.
    pub population: Option<&'a Table>,
    /// The confidence that each row needs.
    pub confidences: Option<&'a [Ratio]>,
}

/// The cell of each row; borrowed from the table where its cells are those of the task.
pub(super) type CellOfRow<'a> = IdMap<RowId, CellId, Cow<'a, [u32]>>;

/// The requirements on a table, and what they count.
pub(super) struct Counted {
    pub(super) required: Required,
    /// The leaf of each row's value in the column's tree.
    pub(super) leaves: Vec<IdMap<RowId, LeafId>>,
}

impl Counted {
    /// The tallies by cell of each counted column.
    fn tallies(
        &self,
        cells: usize,
        cell_of_row: &CellOfRow<'_>,
        watch: &Watch,
    ) -> Result<Vec<Tallies>> {
        let tallies =
            |leaves: &IdMap<_, _>| Tallies::count(cells, cell_of_row.raw(), leaves.raw(), watch);
        self.leaves.iter().map(tallies).collect()
    }
}

/// The position of a target among the counted columns, and the number of each of its values where
/// they are wanted.
type TargetNumbers = (usize, Option<Arc<[f64]>>);

impl Policy {
    /// The tree of one column of a table, whatever its role.
    pub fn taxonomy(&self, table: &Table, name: &str) -> Result<Taxonomy> {
        let column = table.columns.iter().find(|column| column.name == name);
        let dictionary = column.and_then(Column::dictionary);
        let unknown = || Error::NoSuchColumn {
            file: table.file.clone(),
            column: name.to_string(),
            nearest: None,
        };
        let dictionary = dictionary.ok_or_else(unknown)?;
        Ok(self.declared(name).bind(name, dictionary, &table.file)?.taxonomy)
    }

    /// Binds the policy to a table.
    pub fn prepare(&self, table: &Table) -> Result<Prepared> {
        self.prepare_within(table, Outside::default(), &Watch::default())
    }

    /// Binds the policy to a table of which something is known that it does not hold itself.
    pub fn prepare_within(
        &self,
        table: &Table,
        outside: Outside<'_>,
        watch: &Watch,
    ) -> Result<Prepared> {
        self.check_presence()?;
        let keys = dictionaries(table.with_role(Role::QuasiIdentifier));
        let names: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
        let world = self.world(&names, outside.population)?;
        let (mut taxonomies, mut axes, mut maps, mut leaves) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (key, (name, dictionary)) in keys.iter().enumerate() {
            let bound = match &world {
                None => self.declared(name).bind_key(name, dictionary, &table.file)?,
                Some(world) => world.bind(self, key, name, dictionary, &table.file)?,
            };
            axes.push(bound.axis);
            taxonomies.push(bound.taxonomy);
            maps.push(bound.leaf_of);
            leaves.push(bound.world);
        }
        let maps: Vec<&[u32]> = maps.iter().map(IdMap::raw).collect();
        let (mut cells, leaf_cell) = table.cells.recode(&maps, watch)?;
        let others = match &world {
            Some(World::Population(population, positions)) => {
                Some(others(population, positions, &leaves, &mut cells, watch)?)
            }
            _ => None,
        };
        let mut counted = self.counted(table, watch)?;
        let (target, target_numbers) = self.target(table, &mut counted)?.unzip();
        let target_numbers = target_numbers.flatten();
        let cell_of_row = table.row_cells.then_if_changed(&leaf_cell, watch)?;
        self.check_token(table)?;
        let sensitive = table.with_role(Role::Sensitive);
        self.check_named_values(
            sensitive.filter_map(|column| Some((column.name.as_str(), column.dictionary()?))),
        )?;
        let weights = self.weights(names.iter().copied())?;
        let trees_and_cells = (taxonomies.as_slice(), &cells);
        let cuts =
            self.on_cuts(trees_and_cells, &cell_of_row, &counted, target, &weights, watch)?;
        let is_asked = self.search().algorithm.is_on_cuts();
        let (cuts, tried) = if is_asked { (cuts, None) } else { (None, cuts) };
        let mut tallies = counted.tallies(cells.len(), &cell_of_row, watch)?;
        let required = &mut counted.required;
        let mut judged = 0;
        if let (Some(others), Some(asked)) = (others, &self.privacy().presence) {
            for one in Presence::within(tallies.len(), asked.min, asked.max) {
                required.requirements.push(Box::new(one));
                judged += 1;
            }
            tallies.push(others);
            required.names.push("others".into());
            required.values.push(1);
        }
        let mut confident = match &world {
            Some(World::Marginals(asked, lines)) => {
                let own = own_by_column(&cells, &taxonomies);
                let listed = listed_by_column(asked, &names, lines, &leaves, &own, &taxonomies)?;
                judged += 1;
                Some(self.confident(&listed, &own)?)
            }
            _ => None,
        };
        if self.privacy().presence.is_some() && judged == 0 {
            return Err(Error::Defect);
        }
        self.check_confidences(table, outside.confidences)?;
        if let Some(of_rows) = outside.confidences {
            let mut list = of_rows.to_vec();
            watch.sort(&mut list)?;
            list.dedup();
            let place = |one: &Ratio| list.partition_point(|known| known < one) as u32;
            let codes = watch.list(of_rows.iter().map(place))?;
            confident = confident.map(|asked| asked.with_confidences(tallies.len(), list.clone()));
            tallies.push(Tallies::count(cells.len(), cell_of_row.raw(), &codes, watch)?);
            required.names.push("confidence".into());
            required.values.push(list.len());
        }
        let sets = self.sets(&names, &taxonomies)?;
        let task = Task {
            taxonomies,
            sets,
            axes,
            tallies,
            cells,
            values: counted.required.values,
            requirements: counted.required.requirements,
            confident,
            loss: self.search().loss,
            weights,
            target,
            target_numbers,
            suppressible: self.search().suppression.floor_of(table.rows()),
        };
        let names = names.into_iter().map(str::to_string).collect();
        let Required { names: counted, caps, .. } = counted.required;
        let tried_cuts = tried.map(|tried| tried.problem);
        Ok(Prepared { task, leaf_cell, names, counted, caps, cuts, tried_cuts })
    }

    /// Which quasi-identifiers have sets of values for labels.
    fn sets(&self, names: &[&str], taxonomies: &[Arc<Taxonomy>]) -> Result<Vec<bool>> {
        let has_sets = |name: &str| self.attribute(name).is_some_and(|one| one.has_sets());
        let of_column = |(name, tree): (&&str, &Arc<Taxonomy>)| {
            let (sets, values) = (has_sets(name), tree.codes());
            if sets && values > MOST_IN_SETS {
                return Err(Error::Inapplicable {
                    place: Some(Place::file(self.file())),
                    key: format!("attributes.{name}.sets"),
                    problem: format!(
                        "supports at most {MOST_IN_SETS} different values, but the column has \
                         {values}; use a hierarchy, or leave it out"
                    ),
                });
            }
            Ok(sets)
        };
        names.iter().zip(taxonomies).map(of_column).collect()
    }

    /// Whether every row has the confidence that it needs, if the policy names a column for it.
    fn check_confidences(&self, table: &Table, given: Option<&[Ratio]>) -> Result<()> {
        let marginals = self.privacy().presence.as_ref().and_then(PresenceAsked::marginals);
        let column = marginals.and_then(|marginals| marginals.confidence_column.as_deref());
        match (column, given) {
            (None, None) => Ok(()),
            (Some(column), None) => Err(self.incomplete(format!(
                "`confidence-column` is {}, but no confidences were passed with the table",
                quoted(column)
            ))),
            (None, Some(_)) => Err(self.incomplete(
                "confidences were passed with the table, but `presence` has no `confidence-column`"
                    .into(),
            )),
            (Some(column), Some(given)) => {
                let wrong = |value: String, expected: String| Error::BadParameter {
                    place: Some(Place::file(&table.file).column(column)),
                    key: "confidence".into(),
                    value,
                    expected,
                };
                if given.len() as u64 != table.rows() {
                    let expected = format!("one value for each of {} rows", table.rows());
                    return Err(wrong(given.len().to_string(), expected));
                }
                let high = given.iter().find(|share| **share > Ratio::ONE);
                high.map_or(Ok(()), |share| {
                    Err(wrong(share.to_string(), "a share from 0 to 1".into()))
                })
            }
        }
    }

    /// The only target, for whatever wants one.
    pub(crate) fn one_target<T>(&self, wanted_by: &str, first: Option<T>, more: bool) -> Result<T> {
        match first {
            None => {
                Err(self
                    .incomplete(format!("{wanted_by} requires a column with the role `target`")))
            }
            Some(_) if more => Err(self.incomplete(format!(
                "{wanted_by} requires exactly one column with the role `target`"
            ))),
            Some(target) => Ok(target),
        }
    }

    /// Counts the target too where the search looks at it: its position among the counted columns,
    /// and its numbers where they are wanted.
    fn target(&self, table: &Table, counted: &mut Counted) -> Result<Option<TargetNumbers>> {
        let wanted_by = match (self.search().loss, self.search().partitioning.criterion) {
            (loss, _) if !self.search().algorithm.is_partitioning() && loss.needs_target() => {
                &format!("the loss `{}`", loss.name())
            }
            (_, Criterion::InfoGain) if self.search().algorithm.is_partitioning() => {
                "the split `info-gain`"
            }
            (_, Criterion::Regression) if self.search().algorithm.is_partitioning() => {
                "the split `regression`"
            }
            _ => return Ok(None),
        };
        let mut targets = table.with_role(Role::Target);
        let target = self.one_target(wanted_by, targets.next(), targets.next().is_some())?;
        let Data::Coded { dictionary, codes, .. } = &target.data else { return Ok(None) };
        let numbers = match self.search().partitioning.criterion {
            Criterion::Regression if self.search().algorithm.is_partitioning() => {
                Some(numbers(dictionary, &target.name, &table.file)?.into())
            }
            _ => None,
        };
        counted.required.names.push(target.name.clone());
        counted.required.values.push(dictionary.len());
        // A target has no tree: its codes are its leaves.
        counted.leaves.push(IdMap::new(codes.raw().to_vec()));
        Ok(Some((counted.leaves.len() - 1, numbers)))
    }

    /// The caps that follow from the frequencies of a table's sensitive values.
    pub fn caps_of(&self, table: &Table, watch: &Watch) -> Result<Vec<(String, String, Ratio)>> {
        Ok(self.counted(table, watch)?.required.caps)
    }

    /// The requirements on a table, with the rows of the sensitive columns they count.
    fn counted(&self, table: &Table, watch: &Watch) -> Result<Counted> {
        let mut seen = Vec::new();
        for column in table.with_role(Role::Sensitive) {
            if let Data::Coded { dictionary, codes, .. } = &column.data {
                let mut rows = vec![0; dictionary.len()];
                watch.each(codes.raw(), PIECE, |code| rows[*code as usize] += 1)?;
                seen.push((column.name.as_str(), dictionary, codes, rows));
            }
        }
        let surveyed: Vec<Surveyed<'_>> = seen
            .iter()
            .map(|(name, dictionary, _, rows)| Surveyed { name, dictionary, rows })
            .collect();
        let required = self.required(&surveyed, &table.file)?;
        let leaves = required.columns.iter().zip(&required.leaf_of).map(|(column, leaf_of)| {
            let (_, _, codes, _) = seen[*column];
            codes.then(leaf_of, watch)
        });
        Ok(Counted { leaves: leaves.collect::<Result<_>>()?, required })
    }
}

/// The number of each value of a target.
pub(crate) fn numbers(dictionary: &Dictionary, column: &str, file: &Path) -> Result<Vec<f64>> {
    let number = |code: u32| {
        let value = dictionary.value(code);
        Type::Real.number(value).ok_or_else(|| Error::WrongType {
            place: Place::file(file).line(dictionary.line(code)).column(column),
            value: value.to_string(),
            expected: Type::Real.expected().into(),
        })
    };
    (0..dictionary.len() as u32).map(number).collect()
}
