//! A summary that others can make: counts of values as CSV, which the policy gives types and
//! hierarchies.
//!
//! A line `attribute,value,count` counts a value, and `attribute,value,attribute,value,count` a pair
//! of values. Pairs of attributes that form a tree make a network, in which each attribute depends
//! on the one nearer to the root; without pairs it is a histogram. Shares instead of counts need the
//! number of rows, in a line `,,count`.

use crate::error::{Error, Place, Result, quoted};
use crate::policy::Policy;
use crate::ratio::Ratio;
use crate::source::read_records;
use crate::summary::{ANY_TREE, Attribute, Belief, Dependence, MOST_ROWS, Network, Summary};
use crate::table::{Dictionary, Role};
use crate::watch::Watch;
use std::collections::BTreeMap;
use std::path::Path;

/// By how much shares may miss 1 because they were rounded.
const ROUNDED: f64 = 0.005;

/// What a line counts.
#[derive(Clone, Copy, Debug)]
enum Amount {
    Count(u64),
    Share(Ratio),
}

/// One table of counts: of an attribute, or of a pair.
#[derive(Debug, Default)]
struct Counted {
    /// Value, or both values, with the line and what it says.
    cells: BTreeMap<Vec<String>, (u64, Amount)>,
    /// The line that began it.
    line: u64,
    /// What errors call it.
    name: String,
}

/// All lines, by the attributes that they are about, as these are numbered.
struct Listed<'a> {
    policy: &'a Policy,
    file: &'a Path,
    /// The attributes in the order in which they occur.
    names: Vec<String>,
    roles: Vec<Role>,
    rows: Option<u64>,
    tables: Vec<(Vec<usize>, Counted)>,
}

impl Policy {
    /// A summary from a CSV of counts.
    pub fn summary_of_counts(&self, file: &Path) -> Result<Summary> {
        let mut listed = Listed {
            policy: self,
            file,
            names: Vec::new(),
            roles: Vec::new(),
            rows: None,
            tables: Vec::new(),
        };
        for (at, (line, record)) in read_records(file)?.into_iter().enumerate() {
            listed.add(line, record, at == 0)?;
        }
        listed.summary()
    }
}

impl Listed<'_> {
    fn wrong(&self, line: u64, problem: String) -> Error {
        Error::BadRecord { place: Place::file(self.file).line(line), problem }
    }

    fn add(&mut self, line: u64, record: Vec<String>, is_first: bool) -> Result<()> {
        let found = record.len();
        let Some((last, keys)) = record.split_last().filter(|_| matches!(found, 3 | 5)) else {
            let place = Place::file(self.file).line(line);
            return Err(Error::RaggedRow { place, expected: 3, found });
        };
        let amount = match (last.trim().parse::<u64>(), last.trim().parse::<Ratio>()) {
            (Ok(count), _) => Amount::Count(count),
            (_, Ok(share)) if share <= Ratio::ONE => Amount::Share(share),
            // The first line may name the columns.
            _ if is_first => return Ok(()),
            _ => {
                return Err(Error::BadParameter {
                    place: Some(Place::file(self.file).line(line)),
                    key: "count".into(),
                    value: last.clone(),
                    expected: "a whole number, or a share from 0 to 1 such as 0.25 or 1/4".into(),
                });
            }
        };
        if let ([attribute, value], Amount::Count(count)) = (keys, amount)
            && attribute.is_empty()
            && value.is_empty()
        {
            if self.rows.replace(count).is_some() {
                return Err(self.wrong(line, "the number of rows is given twice".into()));
            }
            return Ok(());
        }
        let mut cell: Vec<(usize, String)> = Vec::new();
        for pair in keys.chunks_exact(2) {
            let attribute = self.attribute(&pair[0], line)?;
            let value = self.policy.plain_value(&pair[0], &pair[1]).into_owned();
            cell.push((attribute, value));
        }
        // A pair is the same in either order.
        cell.sort_by_key(|(attribute, _)| *attribute);
        let (attributes, values): (Vec<usize>, Vec<String>) = cell.into_iter().unzip();
        if attributes.windows(2).any(|pair| pair[0] == pair[1]) {
            let name = quoted(&self.names[attributes[0]]);
            return Err(self.wrong(line, format!("a pair of {name} with itself")));
        }
        let at = self.tables.iter().position(|(known, _)| *known == attributes);
        let at = at.unwrap_or_else(|| {
            let names: Vec<String> =
                attributes.iter().map(|attribute| quoted(&self.names[*attribute])).collect();
            let name = names.join(" and ");
            self.tables.push((attributes, Counted { line, name, ..Counted::default() }));
            self.tables.len() - 1
        });
        let leaf = values.join(", ");
        match self.tables[at].1.cells.insert(values, (line, amount)) {
            None => Ok(()),
            Some((first, _)) => {
                let place = Place::file(self.file).line(line);
                Err(Error::RepeatedLeaf { place, leaf, first })
            }
        }
    }

    /// The number of an attribute.
    fn attribute(&mut self, name: &str, line: u64) -> Result<usize> {
        if let Some(known) = self.names.iter().position(|known| known == name) {
            return Ok(known);
        }
        let declared = self.policy.attribute(name).and_then(|attribute| attribute.role);
        match declared.or(self.policy.default_role()) {
            Some(role @ (Role::QuasiIdentifier | Role::Sensitive)) => {
                self.names.push(name.to_string());
                self.roles.push(role);
                Ok(self.names.len() - 1)
            }
            _ => Err(self.wrong(
                line,
                format!(
                    "{} is neither a quasi-identifier nor sensitive in the policy; remove its lines",
                    quoted(name)
                ),
            )),
        }
    }

    fn summary(self) -> Result<Summary> {
        let rows = self.rows()?;
        let counted: Vec<Counts> =
            self.tables.iter().map(|(_, table)| self.counts(table, rows)).collect::<Result<_>>()?;
        let mut attributes = Vec::new();
        for attribute in 0..self.names.len() {
            attributes.push(self.summarized(attribute, &counted)?);
        }
        // Quasi-identifiers come first.
        let mut order: Vec<usize> = (0..attributes.len()).collect();
        order.sort_by_key(|at| self.roles[*at] == Role::Sensitive);
        if self.roles.iter().all(|role| *role == Role::Sensitive) {
            let problem = "no quasi-identifier is counted".into();
            return Err(Error::Mismatch { file: self.file.to_path_buf(), problem });
        }
        let attributes: Vec<Attribute> = order.iter().map(|at| attributes[*at].clone()).collect();
        let belief = if self.tables.iter().all(|(keys, _)| keys.len() == 1) {
            Belief::Histogram
        } else {
            Belief::Bayes(self.network(&attributes, &order, &counted)?)
        };
        Ok(Summary { file: self.file.to_path_buf(), rows, attributes, belief })
    }

    /// The number of rows: as it is given, or the sum of the first counts.
    fn rows(&self) -> Result<u64> {
        let first = self.tables.iter().find_map(|(_, table)| table.sum());
        let shares = || {
            let line = self.tables.first().map_or(1, |(_, table)| table.line);
            self.wrong(line, "shares require the number of rows; add a line `,,ROWS`".into())
        };
        if self.tables.is_empty() {
            return Err(Error::EmptyTable { file: self.file.to_path_buf() });
        }
        match self.rows.or(first).ok_or_else(shares)? {
            0 => Err(Error::EmptyTable { file: self.file.to_path_buf() }),
            rows if rows > MOST_ROWS => {
                Err(Error::TooManyRows { file: self.file.to_path_buf(), most: MOST_ROWS })
            }
            rows => Ok(rows),
        }
    }

    /// The rows with each value or pair of values, those that have any.
    fn counts(&self, table: &Counted, rows: u64) -> Result<Counts> {
        if let Some(sum) = table.sum() {
            if sum != rows {
                let problem = format!("the counts of {} add up to {sum}, not {rows}", table.name);
                return Err(self.wrong(table.line, problem));
            }
            let count = |(values, (line, amount)): (&Vec<String>, &(u64, Amount))| {
                let Amount::Count(count) = amount else { return None };
                (*count > 0).then(|| (values.clone(), (*line, *count)))
            };
            let cells = table.cells.iter().filter_map(count).collect();
            return Ok(Counts { cells, is_exact: true });
        }
        let mut shares = Vec::new();
        for (values, (line, amount)) in &table.cells {
            shares.push((
                values,
                *line,
                match amount {
                    Amount::Share(share) => share.to_f64(),
                    Amount::Count(count @ (0 | 1)) => *count as f64,
                    Amount::Count(_) => {
                        let problem = format!("{} has both counts and shares", table.name);
                        return Err(self.wrong(*line, problem));
                    }
                },
            ));
        }
        let sum: f64 = shares.iter().map(|(.., share)| share).sum();
        if (sum - 1.0).abs() > ROUNDED {
            let problem = format!("the shares of {} add up to {sum:.4}, not 1", table.name);
            return Err(self.wrong(table.line, problem));
        }
        let parts = apportioned(&shares.iter().map(|(.., share)| *share).collect::<Vec<_>>(), rows);
        let cells = shares.iter().zip(parts).filter(|(_, count)| *count > 0);
        let cells =
            cells.map(|((values, line, _), count)| ((*values).clone(), (*line, count))).collect();
        Ok(Counts { cells, is_exact: false })
    }

    /// An attribute with its values, from its own counts or from those of a pair.
    fn summarized(&self, attribute: usize, counted: &[Counts]) -> Result<Attribute> {
        let mut own: Option<(Marginal, bool)> = None;
        let mut tables: Vec<(&Vec<usize>, &Counted, &Counts)> = self
            .tables
            .iter()
            .zip(counted)
            .filter(|((keys, _), _)| keys.contains(&attribute))
            .map(|((keys, table), counts)| (keys, table, counts))
            .collect();
        tables.sort_by_key(|(keys, ..)| keys.len());
        for (keys, table, counts) in tables {
            let at = usize::from(keys[0] != attribute);
            let marginal = counts.marginal(at);
            let Some((known, is_exact)) = &own else {
                own = Some((marginal, counts.is_exact));
                continue;
            };
            let values = known.keys().chain(marginal.keys());
            let rows_of = |of: &Marginal, value: &String| of.get(value).map_or(0, |one| one.1);
            let differing = |value: &&String| rows_of(known, value) != rows_of(&marginal, value);
            if let Some(value) = values.filter(|_| *is_exact && counts.is_exact).find(differing) {
                let problem = format!(
                    "{} has {} rows with {} of {}, but it has {}",
                    table.name,
                    rows_of(&marginal, value),
                    quoted(value),
                    quoted(&self.names[attribute]),
                    rows_of(known, value)
                );
                return Err(self.wrong(table.line, problem));
            }
        }
        let (marginal, _) = own.unwrap_or_default();
        let mut dictionary = Dictionary::default();
        for (value, (line, _)) in &marginal {
            dictionary.encode(value, *line);
        }
        let (name, role) = (&self.names[attribute], self.roles[attribute]);
        let summarized = self.policy.summarized(name, role, &dictionary, self.file)?;
        let counts: Vec<u64> = marginal.values().map(|(_, count)| *count).collect();
        let values = marginal.into_keys().collect();
        Ok(Attribute { values, counts, tree: ANY_TREE, ..summarized })
    }

    /// The tree of all pairs. `order[position]` is the number of an attribute.
    fn network(
        &self,
        attributes: &[Attribute],
        order: &[usize],
        counted: &[Counts],
    ) -> Result<Network> {
        let sizes: Vec<usize> = attributes.iter().map(|attribute| attribute.values.len()).collect();
        let position = |attribute: usize| order.iter().position(|one| *one == attribute);
        let mut open: Vec<(usize, [usize; 2])> = Vec::new();
        for (table, (keys, _)) in self.tables.iter().enumerate() {
            if let [a, b] = keys[..] {
                let both = position(a).zip(position(b)).ok_or(Error::Defect)?;
                open.push((table, [both.0, both.1]));
            }
        }
        let mut dependences: Vec<Dependence> = Vec::new();
        for root in 0..attributes.len() {
            if dependences.iter().any(|known| known.attribute == root) {
                continue;
            }
            let own = attributes[root].counts.iter().zip(0..);
            let counts = own.map(|(count, value)| (vec![value], *count)).collect();
            dependences.push(Dependence { attribute: root, given: Vec::new(), counts });
            // From the root outward; an edge to what is known already closes a circle.
            let mut next = dependences.len() - 1;
            while let Some(parent) = dependences.get(next).map(|known| known.attribute) {
                next += 1;
                let (now, rest) = open.into_iter().partition(|(_, ends)| ends.contains(&parent));
                open = rest;
                let now: Vec<(usize, [usize; 2])> = now;
                for (table, ends) in now {
                    let child = if ends[0] == parent { ends[1] } else { ends[0] };
                    let (_, listed) = &self.tables[table];
                    if dependences.iter().any(|known| known.attribute == child) {
                        let problem = format!(
                            "the pairs are no tree: {} closes a circle; remove one of its pairs",
                            listed.name
                        );
                        return Err(self.wrong(listed.line, problem));
                    }
                    let is_turned = ends[0] != parent;
                    let counts = counted[table].numbered(attributes, [parent, child], is_turned);
                    dependences.push(Dependence { attribute: child, given: vec![parent], counts });
                }
            }
        }
        Network::new(sizes, dependences, &Watch::silent())
    }
}

impl Counted {
    /// The sum of its counts; `None` if it has shares.
    fn sum(&self) -> Option<u64> {
        let count = |(_, amount): &(u64, Amount)| match amount {
            Amount::Count(count) => Some(*count),
            Amount::Share(_) => None,
        };
        self.cells.values().try_fold(0u64, |sum, cell| Some(sum.saturating_add(count(cell)?)))
    }
}

/// Values with a line and their rows.
type Marginal = BTreeMap<String, (u64, u64)>;

/// Rows with each value or pair of values.
struct Counts {
    cells: BTreeMap<Vec<String>, (u64, u64)>,
    /// Whether they were given as counts.
    is_exact: bool,
}

impl Counts {
    /// The rows with each value of one of the attributes.
    fn marginal(&self, at: usize) -> Marginal {
        let mut marginal = Marginal::new();
        for (values, (line, count)) in &self.cells {
            marginal.entry(values[at].clone()).or_insert((*line, 0)).1 += count;
        }
        marginal
    }

    /// Pairs by the numbers of their values, the parent's first, ascending.
    fn numbered(
        &self,
        attributes: &[Attribute],
        ends: [usize; 2],
        is_turned: bool,
    ) -> Vec<(Vec<u32>, u64)> {
        let number = |attribute: usize, value: &String| {
            attributes[attribute].values.binary_search(value).ok().map(|number| number as u32)
        };
        let pair = |(values, (_, count)): (&Vec<String>, &(u64, u64))| {
            let (parent, child) =
                if is_turned { (&values[1], &values[0]) } else { (&values[0], &values[1]) };
            Some((vec![number(ends[0], parent)?, number(ends[1], child)?], *count))
        };
        let mut counts: Vec<(Vec<u32>, u64)> = self.cells.iter().filter_map(pair).collect();
        counts.sort();
        counts
    }
}

/// Whole rows for shares: rounded down, and what is left to those that lost most.
fn apportioned(shares: &[f64], rows: u64) -> Vec<u64> {
    let sum: f64 = shares.iter().sum();
    let exact: Vec<f64> = shares.iter().map(|share| share / sum * rows as f64).collect();
    let mut parts: Vec<u64> = exact.iter().map(|part| part.floor() as u64).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()).then(a.cmp(b)));
    let mut left = rows.saturating_sub(parts.iter().sum());
    for at in order.into_iter().cycle().take(shares.len() * 2) {
        if left == 0 {
            break;
        }
        parts[at] += 1;
        left -= 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_become_whole_rows() {
        assert_eq!(apportioned(&[0.333, 0.333, 0.334], 100), [33, 33, 34]);
        assert_eq!(apportioned(&[0.5, 0.25, 0.25], 3), [1, 1, 1]);
        assert_eq!(apportioned(&[1.0, 0.0], 7), [7, 0]);
        for rows in [1, 10, 12345, 1 << 40] {
            assert_eq!(apportioned(&[0.123, 0.3, 0.577], rows).iter().sum::<u64>(), rows);
        }
    }
}
