//! Aggregates of a distribution release, with bounds that hold for certain.

use crate::error::{Error, Result};
use crate::query::bounds::{Answer, Ends, bound};
use crate::query::condition::Cell;
use crate::query::sql::{Names, parse};
use crate::release::{Distributed, ReleaseKind, Report, Tables};
use crate::table::{Dictionary, Type};
use crate::watch::Watch;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

/// The answer to a query: one, or one for each tuple of the columns it is grouped by.
#[derive(Clone, Debug)]
pub struct QueryAnswer {
    /// The columns of GROUP BY.
    pub by: Vec<String>,
    /// Values of these columns with the answer; one without values where there are no such columns.
    pub answers: Vec<(Vec<String>, Answer)>,
}

fn put(object: &mut Map<String, Value>, answer: &Answer) {
    let number = |number: f64| {
        if number.fract() == 0.0 && number.abs() < 9e15 {
            json!(number as i64)
        } else {
            json!(number)
        }
    };
    object.insert("rows".into(), json!(answer.rows));
    let bounds = answer
        .bounds
        .map(|(lower, upper)| (number(lower.rounded_down()), number(upper.rounded_up())));
    let (lower, upper) = bounds.unwrap_or_default();
    object.insert("lower".into(), lower);
    object.insert("upper".into(), upper);
}

impl QueryAnswer {
    /// The answer as one JSON object. Bounds have at most 15 digits and are rounded outwards.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        if self.by.is_empty() {
            self.answers.iter().for_each(|(_, answer)| put(&mut object, answer));
            return object.into();
        }
        object.insert(
            "rows".into(),
            json!(self.answers.iter().map(|(_, answer)| answer.rows).sum::<u64>()),
        );
        let one = |(values, answer): &(Vec<String>, Answer)| {
            let mut object = Map::new();
            let value = |value: &String| if value.is_empty() { Value::Null } else { json!(value) };
            let named: Map<String, Value> =
                self.by.iter().cloned().zip(values.iter().map(value)).collect();
            object.insert("by".into(), named.into());
            put(&mut object, answer);
            Value::Object(object)
        };
        object.insert("answers".into(), self.answers.iter().map(one).collect());
        object.into()
    }
}

/// What a release says of itself, as far as a query needs it.
struct Described<'a> {
    attribute: &'a str,
    numeric: bool,
    columns: Vec<(String, Type)>,
}

fn describe<'a>(release: &Tables, report: &'a Report) -> Result<Described<'a>> {
    let wrong = || Error::Mismatch {
        file: release.name().to_path_buf(),
        problem: "report.json is not the report of a distribution".into(),
    };
    let ReleaseKind::Distribution { distribution } = &report.release else { return Err(wrong()) };
    let kind = |(name, kind): &(String, String)| {
        let found = Type::NAMES.iter().find(|(known, _)| kind == known).map(|(_, kind)| *kind);
        found.map(|kind| (name.clone(), kind)).ok_or_else(wrong)
    };
    let mut columns: Vec<(String, Type)> =
        distribution.columns.iter().map(kind).collect::<Result<_>>()?;
    columns.push(("group".into(), Type::Text));
    let numeric = distribution.values == "numbers";
    Ok(Described { attribute: &distribution.attribute, numeric, columns })
}

/// Answers an aggregate query, such as `SELECT AVG(salary) FROM release WHERE gender = 'F'`, from a
/// distribution release. The bounds hold for every table that fits the release.
pub fn query(release: &Tables, report: &Report, sql: &str, watch: &Watch) -> Result<QueryAnswer> {
    let described = describe(release, report)?;
    let (attribute, numeric) = (described.attribute, described.numeric);
    let query = parse(sql, Names { attribute, numeric, columns: &described.columns })?;
    let released = Distributed::read(release, watch)?;
    // Only the columns that are named are read, and their distinct tuples are counted.
    let table = release.get("records")?;
    let mismatch = |problem: &str| Error::Mismatch { file: table.file(), problem: problem.into() };
    let header = table.names();
    let position = |name: &str| {
        let found = header.iter().position(|known| known == name);
        found.ok_or_else(|| mismatch("a column that the report names is missing"))
    };
    let mut keys = vec![position("group")?];
    let mut used: Vec<(usize, Type)> = Vec::new();
    for column in &query.used {
        let (name, kind) = &described.columns[*column];
        let key = position(name)?;
        let at = keys.iter().position(|known| *known == key);
        used.push((at.unwrap_or(keys.len()), *kind));
        if at.is_none() {
            keys.push(key);
        }
    }
    let counts = table.count(&keys, watch)?;
    let group_at = 0;
    let dictionaries: Vec<&Dictionary> =
        (0..keys.len()).map(|column| counts.dictionary(column)).collect();
    let index: HashMap<&str, usize> =
        released.groups.iter().enumerate().map(|(at, group)| (group.name.as_str(), at)).collect();
    let groups: Vec<Option<usize>> =
        dictionaries[group_at].values().map(|name| index.get(name).copied()).collect();
    // The selected records of each group, apart for each tuple of GROUP BY; in the order of the
    // values.
    let mut selected: BTreeMap<Vec<&str>, BTreeMap<usize, u32>> = BTreeMap::new();
    if query.by.is_empty() {
        selected.insert(Vec::new(), BTreeMap::new());
    }
    for (codes, count) in counts.cells().tuples().zip(counts.cells().counts()) {
        let cell = |column: usize| {
            let (at, kind) = used[column];
            Cell { text: dictionaries[at].value(codes[at]), kind }
        };
        if query.condition.holds(&cell) == Some(true) {
            let group = groups[codes[group_at] as usize]
                .ok_or_else(|| mismatch("a group is missing from groups.csv"))?;
            let by: Vec<&str> = query.by.iter().map(|column| cell(*column).text).collect();
            *selected.entry(by).or_default().entry(group).or_default() += count;
        }
    }
    let mut ends: HashMap<usize, Ends> = HashMap::new();
    for group in selected.values().flat_map(BTreeMap::keys) {
        let read = &released.groups[*group];
        ends.entry(*group).or_insert_with(|| Ends::new(released.ends(read)));
    }
    let mut answers = Vec::with_capacity(selected.len());
    for (by, groups) in selected {
        let short =
            |(group, count): (&usize, &u32)| released.groups[*group].len() < u64::from(*count);
        if groups.iter().any(short) {
            return Err(mismatch("a group has more records than subdomains; verify the release"));
        }
        let groups: Vec<(&Ends, u32)> =
            groups.iter().map(|(group, count)| (&ends[group], *count)).collect();
        let answer = bound(query.aggregate, &groups, released.scale.unwrap_or(0));
        answers.push((by.into_iter().map(str::to_string).collect(), answer));
    }
    let by =
        query.by.iter().map(|column| described.columns[query.used[*column]].0.clone()).collect();
    Ok(QueryAnswer { by, answers })
}
