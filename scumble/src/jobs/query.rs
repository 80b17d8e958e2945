//! Aggregates of a distribution release, with bounds that hold for certain.

use crate::error::{Error, Result};
use crate::query::bounds::{Answer, Ends, bound};
use crate::query::condition::Cell;
use crate::query::sql::{Names, parse};
use crate::release::Distributed;
use crate::source::{Format, Source, encode};
use crate::table::{Dictionary, Role, Type};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The answer to a query: one, or one for each tuple of the columns it is grouped by.
#[derive(Clone, Debug)]
pub struct QueryAnswer {
    /// The columns of GROUP BY.
    pub by: Vec<String>,
    /// Values of these columns with the answer; one without values where there are no such columns.
    pub answers: Vec<(Vec<String>, Answer)>,
}

fn put(object: &mut Map<String, Value>, answer: &Answer) {
    let number = |number: f64| match number.fract() == 0.0 && number.abs() < 9e15 {
        true => json!(number as i64),
        false => json!(number),
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
struct Described {
    attribute: String,
    numeric: bool,
    columns: Vec<(String, Type)>,
}

fn describe(folder: &Path) -> Result<Described> {
    let file = folder.join("report.json");
    let text = std::fs::read(&file).map_err(Error::io(&file, "read"))?;
    let report: Value = serde_json::from_slice(&text)
        .map_err(|source| Error::BadJson { file: file.clone(), source })?;
    let wrong = || Error::Mismatch {
        file: file.clone(),
        problem: "not the report of a distribution release".into(),
    };
    let distribution = report.get("distribution").ok_or_else(wrong)?;
    let columns = distribution.get("columns").and_then(Value::as_object).ok_or_else(wrong)?;
    let kind = |(name, kind): (&String, &Value)| {
        let found = Type::NAMES
            .iter()
            .find(|(known, _)| kind.as_str() == Some(known))
            .map(|(_, kind)| *kind);
        found.map(|kind| (name.clone(), kind)).ok_or_else(wrong)
    };
    let mut columns: Vec<(String, Type)> = columns.iter().map(kind).collect::<Result<_>>()?;
    columns.push(("group".into(), Type::Text));
    Ok(Described {
        attribute: distribution
            .get("attribute")
            .and_then(Value::as_str)
            .ok_or_else(wrong)?
            .to_string(),
        numeric: distribution.get("values").and_then(Value::as_str) == Some("numbers"),
        columns,
    })
}

/// Answers a query from the folder of a distribution release.
pub fn query(folder: &Path, sql: &str) -> Result<QueryAnswer> {
    let described = describe(folder)?;
    let names = Names {
        attribute: &described.attribute,
        numeric: described.numeric,
        columns: &described.columns,
    };
    let query = parse(sql, names)?;
    let released = Distributed::read(folder)?;
    // Only the columns that are named are read, and the distinct tuples of them and the group are
    // counted.
    let file = folder.join("records.csv");
    let source = Source::open(&file, Format::Csv(Some(b',')))?;
    let mismatch = |problem: &str| Error::Mismatch { file: file.clone(), problem: problem.into() };
    let wanted: Vec<&str> =
        query.used.iter().map(|column| described.columns[*column].0.as_str()).collect();
    let header: Vec<String> = source.names().map(str::to_string).collect();
    let role = |name: &String| match name == "group" || wanted.contains(&name.as_str()) {
        true => Role::QuasiIdentifier,
        false => Role::Identifier,
    };
    let table = encode(source, &header.iter().map(role).collect::<Vec<_>>())?;
    let position = |name: &str| {
        let found = table.columns.iter().position(|column| column.name == name);
        found.ok_or_else(|| mismatch("a column is missing that the report names"))
    };
    let group_at = position("group")?;
    let used: Vec<(usize, Type)> = query
        .used
        .iter()
        .map(|column| Ok((position(&described.columns[*column].0)?, described.columns[*column].1)))
        .collect::<Result<_>>()?;
    let dictionaries: Vec<&Dictionary> =
        table.columns.iter().filter_map(|column| column.dictionary()).collect();
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
    for (codes, count) in table.cells.tuples().zip(table.cells.counts()) {
        let cell = |column: usize| {
            let (at, kind) = used[column];
            Cell { text: dictionaries[at].value(codes[at]), kind }
        };
        if query.condition.holds(&cell) == Some(true) {
            let group = groups[codes[group_at] as usize]
                .ok_or_else(|| mismatch("a group that groups.csv lacks"))?;
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
