//! A table on its way into buckets: groups, values, targets.

use super::reckoning::{LEAF, Reckoning, VALUE};
use crate::bind::Domain;
use crate::error::{Error, Place, Result, quoted};
use crate::policy::{DistributionAsked, Of, Policy, nearest};
use crate::release::Released;
use crate::search::buckets::{Problem, Target, size};
use crate::table::{Cells, Column, Data, Table, Tallies};
use crate::watch::{PIECE, Watch};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The column that a release's records have beside their own.
pub(super) const GROUP: &str = "group";

/// What an empty value is called in the name of a group.
const MISSING: &str = "(missing)";

/// The most work that fakes may be: about an hour of one core.
const MOST_WORK: u128 = 10_000_000_000_000;

/// The rows that are released, in the order of the input.
pub(super) enum KeptRows {
    /// So many, from the first.
    All(usize),
    /// These.
    Some(Vec<u32>),
}

impl KeptRows {
    pub(super) fn len(&self) -> usize {
        match self {
            KeptRows::All(rows) => *rows,
            KeptRows::Some(rows) => rows.len(),
        }
    }

    /// The rows, unless all are released.
    pub(super) fn chosen(&self) -> Option<&[u32]> {
        match self {
            KeptRows::All(_) => None,
            KeptRows::Some(rows) => Some(rows),
        }
    }

    /// The row of the table that is released as number `at`.
    #[inline]
    pub(super) fn get(&self, at: usize) -> usize {
        match self {
            KeptRows::All(_) => at,
            KeptRows::Some(rows) => rows[at] as usize,
        }
    }

    /// What each released row has by one of the table's columns.
    fn map<T: Send>(&self, codes: &[u32], value: impl Fn(u32) -> T + Sync) -> Vec<T> {
        match self {
            KeptRows::All(rows) => codes[..*rows].par_iter().map(|code| value(*code)).collect(),
            KeptRows::Some(rows) => {
                rows.par_iter().map(|row| value(codes[*row as usize])).collect()
            }
        }
    }

    /// Which of the values of one of the table's columns released rows have.
    pub(super) fn occurring(&self, codes: &[u32], values: usize) -> Vec<bool> {
        const SOME: usize = 1 << 20;
        let none = || vec![false; values];
        let noted = |part: usize| {
            let mut noted = none();
            let rows = part * SOME..((part + 1) * SOME).min(self.len());
            rows.for_each(|at| noted[codes[self.get(at)] as usize] = true);
            noted
        };
        let either = |mut one: Vec<bool>, other: Vec<bool>| {
            one.iter_mut().zip(other).for_each(|(one, other)| *one |= other);
            one
        };
        (0..self.len().div_ceil(SOME)).into_par_iter().map(noted).reduce(none, either)
    }
}

/// A table whose rows have groups, values and targets.
pub(super) struct Plan<'a> {
    /// The columns of the records.
    pub(super) columns: Vec<&'a Released<'a>>,
    pub(super) domain: Domain,
    pub(super) rows: KeptRows,
    /// The owner's group of each released row.
    pub(super) groups: Vec<u32>,
    /// The owner's groups by name, sorted.
    pub(super) names: Vec<String>,
    /// The value of each released row, as a code of the domain.
    pub(super) values: Vec<u32>,
    /// How often each value occurs in each of the owner's groups.
    pub(super) tallies: Tallies,
    pub(super) targets: Vec<Target>,
    pub(super) target_of: Vec<u32>,
    /// The place of each released row's tuple of quasi-identifiers among all tuples, if groups are
    /// cut by them.
    pub(super) tuples: Option<Vec<u32>>,
}

/// What a plan is for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) policy: &'a Policy,
    pub(super) distribution: &'a DistributionAsked,
    /// Whether the quasi-identifiers were generalized.
    pub(super) is_generalized: bool,
    /// Whether groups are cut by equal quasi-identifiers.
    pub(super) is_parted: bool,
}

impl<'a> Plan<'a> {
    /// Plans for the rows that are released. Generalized quasi-identifiers make groups by
    /// themselves where the policy names none.
    pub(super) fn new(
        wanted: Asked<'_>,
        table: &Table,
        (columns, rows): (&'a [Released<'a>], KeptRows),
        reckoning: &mut Reckoning,
        watch: &Watch,
    ) -> Result<Plan<'a>> {
        let Asked { policy, distribution: asked, is_generalized, is_parted } = wanted;
        if let Some((from, to)) = asked.domain {
            let values = to.abs_diff(from) + 1;
            let what = || format!("the {values} values of `domain`");
            reckoning.add(what, values.saturating_mul(VALUE), "make `domain` smaller")?;
        }
        let column = sensitive(asked, table)?;
        let Data::Coded { codes, .. } = &column.data else { return Err(Error::Defect) };
        let codes = codes.raw();
        let occurs =
            rows.occurring(codes, column.dictionary().map_or(0, |dictionary| dictionary.len()));
        let domain = policy.domain(asked, table, column, |code| occurs[code as usize])?;
        watch.check()?;
        let grouped = grouping(policy, asked, table, columns, (is_generalized, &rows), watch);
        let (groups, names) = grouped?;
        // Values that occur have codes, and no other is looked at.
        let code_of: Vec<u32> =
            domain.code_of.iter().map(|code| code.unwrap_or(u32::MAX)).collect();
        if (0..)
            .zip(&occurs)
            .any(|(code, occurs): (usize, _)| *occurs && domain.code_of[code].is_none())
        {
            return Err(Error::Defect);
        }
        let values = rows.map(codes, |code| code_of[code as usize]);
        check_sums(&domain, rows.len(), asked, &table.file, column)?;
        let tallies = Tallies::count(names.len(), &groups, &values, watch)?;
        let released =
            |column: &&Released<'_>| column.name != asked.attribute && column.name != GROUP;
        let mut plan = Plan {
            columns: columns.iter().filter(released).collect(),
            domain,
            rows,
            groups,
            names,
            values,
            tallies,
            targets: Vec::new(),
            target_of: Vec::new(),
            tuples: None,
        };
        if is_parted {
            plan.tuples = Some(plan.tuples(watch)?);
        }
        let sizes = plan.smallest_parts(watch)?;
        plan.aim(asked, policy, &sizes, reckoning, watch)?;
        plan.check_fakes(asked)?;
        plan.check_weights(&table.file, column)?;
        Ok(plan)
    }

    /// The size of the smallest part of each of the owner's groups, which is one part if groups are
    /// not cut.
    fn smallest_parts(&self, watch: &Watch) -> Result<Vec<u64>> {
        let Some(tuples) = &self.tuples else {
            let sizes = (0..self.names.len()).map(|group| size(self.tallies.group(group)));
            return Ok(sizes.collect());
        };
        let pairs = self.groups.iter().zip(tuples);
        let mut pairs: Vec<u64> =
            pairs.map(|(group, tuple)| u64::from(*group) << 32 | u64::from(*tuple)).collect();
        watch.sort(&mut pairs)?;
        let mut smallest = vec![u64::MAX; self.names.len()];
        for part in pairs.chunk_by(|one, other| one == other) {
            let own = &mut smallest[(part[0] >> 32) as usize];
            *own = (*own).min(part.len() as u64);
        }
        Ok(smallest)
    }

    /// Finds the target of each group. `sizes` are those of the groups' smallest parts.
    fn aim(
        &mut self,
        asked: &DistributionAsked,
        policy: &Policy,
        sizes: &[u64],
        reckoning: &mut Reckoning,
        watch: &Watch,
    ) -> Result<()> {
        let is_missing = |(name, _): &&(String, _)| !self.names.contains(name);
        if let Some((name, target)) = asked.targets.iter().find(is_missing) {
            let near = nearest(name, self.names.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(Error::BadParameter {
                place: Some(Place::file(policy.file())),
                key: format!("privacy.distribution.targets.{name}"),
                value: target.name(),
                expected: format!("a target for a group of the table{near}"),
            });
        }
        let whole = self.tallies.totals(self.domain.len(), watch)?;
        let mut shared: HashMap<&str, u32> = HashMap::new();
        let own_name = |name: &str| {
            asked.targets.iter().position(|(group, _)| group == name).map_or(0, |at| at + 1)
        };
        // Groups that share a target are as large as the smallest of them.
        let mut smallest = vec![u64::MAX; asked.targets.len() + 1];
        for (name, size) in self.names.iter().zip(sizes) {
            let smallest = &mut smallest[own_name(name)];
            *smallest = (*smallest).min(*size);
        }
        let mut reckon = |values: usize| {
            let what = || "the hierarchies of the targets".to_string();
            let instead = "use fewer groups, or a target of the whole table";
            reckoning.add(what, LEAF * values as u64, instead)
        };
        for (group, name) in self.names.iter().enumerate() {
            let wanted = asked.target_of(name);
            let own = asked
                .targets
                .iter()
                .find(|(group, _)| group == name)
                .map_or("", |(group, _)| group);
            let next = self.targets.len() as u32;
            let number = match (wanted.of, shared.get(own)) {
                (Of::Table, Some(known)) => *known,
                (Of::Table, None) => {
                    reckon(self.domain.len())?;
                    let smallest = smallest[own_name(name)];
                    let target = self.domain.target(wanted, asked.rounding, &whole, smallest)?;
                    self.targets.push(target);
                    shared.insert(own, next);
                    next
                }
                (Of::Group, _) => {
                    let mut counts = vec![0; self.domain.len()];
                    for (code, count) in self.tallies.group(group) {
                        counts[*code as usize] = u64::from(*count);
                    }
                    let values = self.tallies.group(group);
                    let ends = values.first().zip(values.last());
                    reckon(ends.map_or(0, |(first, last)| (last.0 - first.0) as usize + 1))?;
                    let target =
                        self.domain.target(wanted, asked.rounding, &counts, sizes[group])?;
                    self.targets.push(target);
                    next
                }
            };
            self.target_of.push(number);
        }
        Ok(())
    }

    /// Refuses a value that has no weight in its group's target: it could not be released at all.
    fn check_weights(&self, file: &Path, column: &Column) -> Result<()> {
        // The first group in which each value has no weight.
        let mut outside: BTreeMap<u32, usize> = BTreeMap::new();
        for (group, target) in self.target_of.iter().enumerate() {
            let target = &self.targets[*target as usize];
            for (code, _) in self.tallies.group(group) {
                if target.leaf(*code).is_none() {
                    outside.entry(*code).or_insert(group);
                }
            }
        }
        if outside.is_empty() {
            return Ok(());
        }
        // The value that the file has first.
        let own = self.domain.code_of.iter().zip(0..);
        let mut own = own.filter_map(|(code, own)| Some((own, (*code)?)));
        let (own, code) = own.find(|(_, code)| outside.contains_key(code)).ok_or(Error::Defect)?;
        let mut place = Place::file(file).column(&column.name);
        place.line = column.dictionary().map(|dictionary| dictionary.line(own));
        Err(Error::Unfit {
            place,
            value: self.domain.labels[code as usize].clone(),
            problem: format!(
                "occurs in group {}, but has no weight in its target; add a weight, or remove such rows",
                quoted(&self.names[outside[&code]])
            ),
        })
    }

    /// Refuses more fakes than can be placed in a lifetime: their work grows with their square.
    fn check_fakes(&self, asked: &DistributionAsked) -> Result<()> {
        let largest =
            (0..self.names.len()).map(|group| size(self.tallies.group(group))).max().unwrap_or(0);
        let limit = u64::from(asked.fakes.limit(largest));
        let work = (u128::from(largest) + u128::from(limit)) * u128::from(limit).pow(2);
        if work <= MOST_WORK {
            Ok(())
        } else {
            Err(Error::BadParameter {
                place: None,
                key: "privacy.distribution.fakes".into(),
                value: limit.to_string(),
                expected: format!(
                    "a smaller limit for a group of {largest} rows; lower it, or make groups smaller"
                ),
            })
        }
    }

    /// What the search gets.
    pub(super) fn problem(&self, asked: &DistributionAsked, reckoning: &Reckoning) -> Problem<'_> {
        Problem {
            groups: &self.groups,
            values: &self.values,
            tallies: &self.tallies,
            targets: &self.targets,
            target_of: &self.target_of,
            fakes: asked.fakes,
            memory: reckoning.memory(),
        }
    }

    /// The place of each released row's tuple of quasi-identifiers among all tuples, by what their
    /// values are called.
    fn tuples(&self, watch: &Watch) -> Result<Vec<u32>> {
        let keys: Vec<&&Released<'_>> =
            self.columns.iter().filter(|column| column.is_key).collect();
        let ranks: Vec<Vec<u32>> = keys.iter().map(|column| column.ranks()).collect();
        let mut cells = Cells::new(keys.len());
        let mut tuple = vec![0; keys.len()];
        let mut tuples: Vec<u32> = Vec::with_capacity(self.rows.len());
        watch.each((0..self.rows.len()).map(|at| self.rows.get(at)), PIECE, |row| {
            for ((code, column), ranks) in tuple.iter_mut().zip(&keys).zip(&ranks) {
                *code = ranks[column.codes[row] as usize];
            }
            tuples.push(cells.add(&tuple, 1));
        })?;
        let mut order: Vec<u32> = (0..cells.len() as u32).collect();
        watch.sort_by(&mut order, |one, other| cells.codes(*one).cmp(cells.codes(*other)))?;
        let mut place = vec![0; order.len()];
        (0..).zip(&order).for_each(|(at, cell)| place[*cell as usize] = at);
        tuples.par_iter_mut().for_each(|tuple| *tuple = place[*tuple as usize]);
        Ok(tuples)
    }
}

/// The column of the distribution's attribute.
fn sensitive<'a>(asked: &DistributionAsked, table: &'a Table) -> Result<&'a Column> {
    table.columns.iter().find(|column| column.name == asked.attribute).ok_or_else(|| {
        Error::NoSuchColumn {
            file: table.file.clone(),
            column: asked.attribute.clone(),
            nearest: None,
        }
    })
}

/// Refuses numbers so large that their sums would not fit.
fn check_sums(
    domain: &Domain,
    rows: usize,
    asked: &DistributionAsked,
    file: &Path,
    column: &Column,
) -> Result<()> {
    let Some(numbers) = &domain.numbers else { return Ok(()) };
    let largest = numbers.units.iter().map(|number| number.unsigned_abs()).max().unwrap_or(0);
    // No group takes more fakes than the whole table could.
    let most = rows as u128 * (1 + u128::from(asked.fakes.limit(rows as u64)));
    if u128::from(largest) * 2 * most.max(1) < 1 << 62 {
        Ok(())
    } else {
        Err(Error::Unfit {
            place: Place::file(file).column(&column.name),
            value: domain.labels.last().cloned().unwrap_or_default(),
            problem:
                "and other values are too large to sum exactly; use another unit or fewer digits"
                    .into(),
        })
    }
}

/// The owner's group of each released row, and the groups' names in order.
fn grouping(
    policy: &Policy,
    asked: &DistributionAsked,
    table: &Table,
    columns: &[Released<'_>],
    (generalized, rows): (bool, &KeptRows),
    watch: &Watch,
) -> Result<(Vec<u32>, Vec<String>)> {
    let keys = columns.iter().filter(|column| column.is_key);
    let all: Vec<(String, usize)> = keys.map(|column| (column.name.to_string(), 0)).collect();
    // Classes that a search made are groups by themselves.
    let wanted = if asked.groups.is_empty() && generalized { &all } else { &asked.groups };
    if wanted.is_empty() {
        return Ok((vec![0; rows.len()], vec!["all".into()]));
    }
    let column = |(name, level): &(String, usize)| {
        grouping_column(policy, asked, table, columns, generalized, name, *level)
    };
    let parts: Vec<GroupingColumn<'_>> = wanted.iter().map(column).collect::<Result<_>>()?;
    let name = |ids: &[u32]| {
        let labels = ids.iter().zip(&parts).map(|(id, part)| part.label(*id, wanted.len() > 1));
        labels.collect::<Vec<String>>().join("|")
    };
    if let [only] = &parts[..] {
        // The labels of a single column are numbered already, and a value's place is known before
        // its rows are looked at.
        let mut occurs = vec![false; only.labels.len()];
        let values = rows.occurring(only.codes, only.ids.len());
        only.ids.iter().zip(values).for_each(|(id, value)| occurs[*id as usize] |= value);
        let ids = (0..).zip(occurs).filter(|(_, occurs)| *occurs).map(|(id, _)| id);
        let (place, names) = in_order(ids.map(|id| (name(&[id]), id)).collect(), only.labels.len());
        let place: Vec<u32> = only.ids.iter().map(|id| place[*id as usize]).collect();
        return Ok((rows.map(only.codes, |code| place[code as usize]), names));
    }
    let mut cells = Cells::new(parts.len());
    let mut groups: Vec<u32> = Vec::with_capacity(rows.len());
    let mut tuple = vec![0; parts.len()];
    watch.each((0..rows.len()).map(|at| rows.get(at)), PIECE, |row| {
        tuple
            .iter_mut()
            .zip(&parts)
            .for_each(|(id, part)| *id = part.ids[part.codes[row] as usize]);
        groups.push(cells.add(&tuple, 1));
    })?;
    let named = (0..cells.len() as u32).map(|cell| (name(cells.codes(cell)), cell)).collect();
    let (place, names) = in_order(named, cells.len());
    groups.par_iter_mut().for_each(|group| *group = place[*group as usize]);
    Ok((groups, names))
}

/// The names of some of `most` groups in order, and the place of each there.
fn in_order(mut named: Vec<(String, u32)>, most: usize) -> (Vec<u32>, Vec<String>) {
    named.sort();
    let mut place = vec![0; most];
    (0..).zip(&named).for_each(|(at, (_, group))| place[*group as usize] = at);
    (place, named.into_iter().map(|(name, _)| name).collect())
}

/// One column that groups are made of: the values it has, equal labels being one.
struct GroupingColumn<'a> {
    codes: &'a [u32],
    ids: Vec<u32>,
    labels: Vec<String>,
}

fn grouping_column<'a>(
    policy: &Policy,
    asked: &DistributionAsked,
    table: &Table,
    columns: &'a [Released<'_>],
    generalized: bool,
    name: &str,
    level: usize,
) -> Result<GroupingColumn<'a>> {
    let wrong = |expected: &str| Error::BadParameter {
        place: None,
        key: "privacy.distribution.groups".into(),
        value: name.to_string(),
        expected: expected.into(),
    };
    let released =
        columns.iter().find(|column| column.name == name && column.name != asked.attribute);
    let released = released.ok_or_else(|| wrong("columns that are released"))?;
    let all: Vec<String> = match level {
        0 => released.labels().map(str::to_string).collect(),
        _ if generalized => {
            return Err(wrong("level 0, because the quasi-identifiers are generalized"));
        }
        _ if !released.is_key => {
            return Err(wrong("level 0, because the column is not a quasi-identifier"));
        }
        level => match table.columns.iter().find(|column| column.name == *name) {
            Some(column) => policy.labels_at(table, column, level)?,
            None => return Err(Error::Defect),
        },
    };
    let (mut index, mut labels): (HashMap<String, u32>, Vec<String>) = (HashMap::new(), Vec::new());
    let mut ids = Vec::with_capacity(all.len());
    for label in all {
        let next = labels.len() as u32;
        ids.push(*index.entry(label.clone()).or_insert_with(|| {
            labels.push(label);
            next
        }));
    }
    Ok(GroupingColumn { codes: &released.codes, ids, labels })
}

impl GroupingColumn<'_> {
    /// The label in the name of a group; a bar inside it is told from the bars between columns.
    fn label(&self, id: u32, several: bool) -> String {
        match self.labels[id as usize].as_str() {
            "" => MISSING.into(),
            label if several => label.replace('\\', "\\\\").replace('|', "\\|"),
            label => label.into(),
        }
    }
}

/// The names of the groups of a release: the owner's, or their numbered parts.
pub(super) fn part_names(names: &[String], part_of: &[u32], parted: bool) -> Vec<String> {
    let mut next = vec![0u64; names.len()];
    let name = |group: &u32| {
        let name = &names[*group as usize];
        if !parted {
            return name.clone();
        }
        next[*group as usize] += 1;
        // A slash inside a name is told from the one before the number.
        format!("{}/{}", name.replace('\\', "\\\\").replace('/', "\\/"), next[*group as usize])
    };
    part_of.iter().map(name).collect()
}
