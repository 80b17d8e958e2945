//! The world that a table is a part of: everybody, or how often each value occurs among them.
//!
//! Trees are laid over the values of the table and of the world together, so a person who is not in
//! the table has a place in every group as well.

use super::BoundKey;
use crate::error::{Error, Place, Result, quoted};
use crate::ids::{CellId, Code, Id, LeafId};
use crate::policy::{MarginalsAsked, MarginalsOf, Policy, WorldAsked, nearest};
use crate::privacy::ConfidentPresence;
use crate::source::{FileFormat, Source, TableFile, encode};
use crate::table::{Cells, Column, Dictionary, Role, Table, Tallies};
use crate::taxonomy::Taxonomy;
use crate::watch::{PIECE, Watch};
use std::path::Path;
use std::sync::Arc;

/// What is known of the world, in the order of the table's quasi-identifiers.
pub(crate) enum World<'a> {
    /// A table of everybody, and for each quasi-identifier its position among the table's.
    Population(&'a Table, Vec<usize>),
    /// For each quasi-identifier, lines of the marginals.
    Marginals(&'a MarginalsAsked, Vec<Vec<usize>>),
}

impl Policy {
    /// What is known of the world of a table with these quasi-identifiers; `population` is the
    /// policy's public table.
    pub(crate) fn world<'a>(
        &'a self,
        keys: &[&str],
        population: Option<&'a Table>,
    ) -> Result<Option<World<'a>>> {
        let Some(asked) = &self.privacy().presence else { return Ok(None) };
        match (&asked.world, population) {
            (WorldAsked::Population(file), None) => Err(self.incomplete(format!(
                "`presence` names the population {}, but it was not passed with the table",
                file.display()
            ))),
            (WorldAsked::Population(_), Some(population)) => {
                let names: Vec<&str> =
                    population.columns.iter().map(|column| column.name.as_str()).collect();
                let find = |key: &&str| {
                    names.iter().position(|name| name == key).ok_or_else(|| Error::NoSuchColumn {
                        file: population.file.clone(),
                        column: key.to_string(),
                        nearest: nearest(key, names.iter().copied()),
                    })
                };
                let positions = keys.iter().map(find).collect::<Result<_>>()?;
                Ok(Some(World::Population(population, positions)))
            }
            (WorldAsked::Marginals(marginals), _) => {
                let of_key = |key: &&str| {
                    let lines =
                        marginals.listed.iter().enumerate().filter(|(_, line)| line.1 == *key);
                    let lines: Vec<usize> = lines.map(|(at, _)| at).collect();
                    if lines.is_empty() {
                        Err(marginals.impossible(format!(
                            "no counts for the quasi-identifier {}",
                            quoted(key)
                        )))
                    } else {
                        Ok(lines)
                    }
                };
                Ok(Some(World::Marginals(
                    marginals,
                    keys.iter().map(of_key).collect::<Result<_>>()?,
                )))
            }
        }
    }
}

impl MarginalsAsked {
    fn impossible(&self, problem: String) -> Error {
        Error::Mismatch { file: self.file.clone(), problem }
    }
}

impl World<'_> {
    fn file(&self) -> &Path {
        match self {
            World::Population(table, _) => &table.file,
            World::Marginals(asked, _) => &asked.file,
        }
    }

    /// The values of a quasi-identifier in the world, each with the line where it stands first.
    fn values(&self, key: usize) -> Vec<(&str, u64)> {
        match self {
            World::Population(table, positions) => {
                let dictionary = table.columns[positions[key]].dictionary();
                let values = dictionary.into_iter().flat_map(|dictionary| {
                    (0..dictionary.len() as u32)
                        .map(|code| (dictionary.value(code), dictionary.line(code)))
                });
                values.collect()
            }
            World::Marginals(asked, lines) => lines[key]
                .iter()
                .map(|at| (asked.listed[*at].2.as_str(), asked.listed[*at].0))
                .collect(),
        }
    }

    /// Lays the tree of a quasi-identifier over its values in the table and in the world.
    pub(crate) fn bind(
        &self,
        policy: &Policy,
        key: usize,
        name: &str,
        own: &Dictionary,
        file: &Path,
    ) -> Result<BoundKey> {
        let mut both = Dictionary::default();
        for code in 0..own.len() as u32 {
            both.encode(own.value(code), own.line(code));
        }
        let codes: Vec<Code> = self
            .values(key)
            .into_iter()
            .map(|(value, line)| match self {
                World::Population(..) => Code(both.encode(value, line)),
                World::Marginals(..) => Code(both.encode(&policy.plain_value(name, value), line)),
            })
            .collect();
        let mut bound =
            policy.declared(name).bind_key(name, &both, file).map_err(|mut error| {
                // A value that the table does not have is the world's.
                if let Error::WrongType { place, value, .. }
                | Error::NotInHierarchy { place, value, .. } = &mut error
                    && own.find(value).is_none()
                {
                    place.file = self.file().to_path_buf();
                }
                error
            })?;
        bound.world = codes.iter().map(|code| bound.leaf_of.at(*code)).collect();
        bound.leaf_of.raw_mut().truncate(own.len());
        Ok(bound)
    }
}

/// Adds the cells of a population to those of a table, and counts in each the people who are not in
/// the table. `maps[i]` are the leaves of the values of quasi-identifier `i`.
pub(crate) fn others(
    population: &Table,
    positions: &[usize],
    maps: &[Vec<LeafId>],
    cells: &mut Cells<CellId>,
    watch: &Watch,
) -> Result<Tallies> {
    let mut people = vec![0u64; cells.len()];
    let mut tuple = vec![0; positions.len()];
    watch.each(population.cells.ids(), PIECE, |cell| {
        let codes = population.cells.codes(cell);
        for ((leaf, position), map) in tuple.iter_mut().zip(positions).zip(maps) {
            *leaf = map[codes[*position] as usize].0;
        }
        let at = cells.add(&tuple, 0).index();
        people.resize(people.len().max(at + 1), 0);
        people[at] += u64::from(population.cells.count(cell));
    })?;
    let (mut starts, mut entries, mut missing) = (vec![0u32], Vec::new(), 0u64);
    for (present, all) in cells.counts().iter().zip(&people) {
        missing += u64::from(*present).saturating_sub(*all);
        let others = all.saturating_sub(u64::from(*present));
        entries.extend((others > 0).then_some((0, others as u32)));
        starts.push(entries.len() as u32);
    }
    match missing {
        0 => Ok(Tallies::from_parts(starts, entries)),
        missing => Err(Error::Mismatch {
            file: population.file.clone(),
            problem: format!(
                "{missing} rows of the table are not in the population; it must contain the whole table"
            ),
        }),
    }
}

/// How many rows have each leaf, column by column.
pub(crate) fn own_by_column(cells: &Cells<CellId>, taxonomies: &[Arc<Taxonomy>]) -> Vec<Vec<u64>> {
    let of_column = |(column, taxonomy): (usize, &Arc<Taxonomy>)| {
        let mut rows = vec![0; taxonomy.codes() as usize];
        for (code, count) in cells.column(column).zip(cells.counts()) {
            rows[code as usize] += u64::from(*count);
        }
        rows
    };
    taxonomies.iter().enumerate().map(of_column).collect()
}

/// How many people the marginals count with each leaf, column by column. What no population can
/// have is refused; `own` is how many rows of the table have each leaf, where the table is known.
pub(crate) fn listed_by_column(
    asked: &MarginalsAsked,
    names: &[&str],
    lines: &[Vec<usize>],
    leaves: &[Vec<LeafId>],
    own: &[Vec<u64>],
    taxonomies: &[Arc<Taxonomy>],
) -> Result<Vec<Vec<u64>>> {
    let mut listed = Vec::new();
    for (column, name) in names.iter().enumerate() {
        let counts = listed_by_leaf(asked, &lines[column], &leaves[column], own[column].len())?;
        let rarer = counts.iter().zip(&own[column]).position(|(count, own)| count < own);
        if let Some(leaf) = rarer.filter(|_| asked.of == MarginalsOf::Population) {
            return Err(asked.impossible(format!(
                "the count of {} = {} is {}, but {} rows of the table have this value",
                quoted(name),
                quoted(taxonomies[column].level(0).label(leaf as u32)),
                counts[leaf],
                own[column][leaf]
            )));
        }
        listed.push(counts);
    }
    let sums: Vec<u64> = listed.iter().map(|counts| counts.iter().sum()).collect();
    let first = sums.first().copied().unwrap_or(0);
    if let Some(at) = sums.iter().position(|sum| *sum != first) {
        return Err(asked.impossible(format!(
            "the counts of {} sum to {first}, but those of {} sum to {}; all sums must be equal",
            quoted(names[0]),
            quoted(names[at]),
            sums[at]
        )));
    }
    let rows: u64 = own.first().map_or(0, |rows| rows.iter().sum());
    let own = if asked.of == MarginalsOf::Population { rows } else { 0 };
    if first <= own {
        return Err(asked.impossible("the marginals count no one outside the table".into()));
    }
    Ok(listed)
}

/// The counts of some lines by leaf. A leaf that stands there twice is refused, however it is
/// written.
fn listed_by_leaf(
    asked: &MarginalsAsked,
    lines: &[usize],
    leaves: &[LeafId],
    codes: usize,
) -> Result<Vec<u64>> {
    let mut counts = vec![0u64; codes];
    let mut first: Vec<Option<u64>> = vec![None; codes];
    for (at, leaf) in lines.iter().zip(leaves) {
        let (line, attribute, value, count) = &asked.listed[*at];
        if let Some(first) = first[leaf.index()].replace(*line) {
            let place = Place::file(&asked.file).line(*line).column(attribute);
            return Err(Error::RepeatedLeaf { place, leaf: value.clone(), first });
        }
        counts[leaf.index()] += count;
    }
    Ok(counts)
}

impl Policy {
    /// The presence that is asked for in likely worlds. `listed` is how many people the marginals
    /// count with each leaf, `own` how many rows of the table have it.
    pub(crate) fn confident(
        &self,
        listed: &[Vec<u64>],
        own: &[Vec<u64>],
    ) -> Result<ConfidentPresence> {
        let asked = self.privacy().presence.as_ref().ok_or(Error::Defect)?;
        let marginals = asked.marginals().ok_or(Error::Defect)?;
        let own = (marginals.of == MarginalsOf::Population).then_some(own);
        let range = (asked.min, asked.max);
        Ok(ConfidentPresence::new(range, marginals.confidence, listed, own, marginals.cover_all))
    }
}

/// The quasi-identifiers of a table with their values.
pub(crate) fn dictionaries<'a>(
    columns: impl Iterator<Item = &'a Column>,
) -> Vec<(&'a str, &'a Dictionary)> {
    columns.filter_map(|column| Some((column.name.as_str(), column.dictionary()?))).collect()
}

impl Policy {
    /// The policy's public table, if it names one, with only these quasi-identifiers; and the bytes
    /// that were read.
    pub(crate) fn population(&self, keys: &[&str], watch: &Watch) -> Result<Option<(Table, u64)>> {
        let asked = self.privacy().presence.as_ref().and_then(|asked| asked.population());
        let Some(file) = asked else { return Ok(None) };
        let source = TableFile::open_in(file, FileFormat::of(file)?, &std::env::temp_dir(), watch)?;
        let source: &dyn Source = &*self.plain(&source);
        let names = source.names();
        if let Some(absent) = keys.iter().find(|key| !names.iter().any(|name| name == *key)) {
            return Err(Error::NoSuchColumn {
                file: file.to_path_buf(),
                column: absent.to_string(),
                nearest: nearest(absent, names.iter().map(String::as_str)),
            });
        }
        let role = |name: &String| {
            let is_key = keys.contains(&name.as_str());
            if is_key { Role::QuasiIdentifier } else { Role::Identifier }
        };
        let roles: Vec<Role> = names.iter().map(role).collect();
        let table = encode(source, &roles, watch, "population")?;
        Ok(Some((table, source.meter().bytes_read())))
    }
}
