//! Aggregates of a distribution release, with bounds that hold for certain.

use crate::error::{Error, Result};
use crate::query::bounds::{Answer, Ends, bound};
use crate::query::condition::Cell;
use crate::query::filtered::{Choice, bound_filtered};
use crate::query::sql::{Names, parse};
use crate::query::{Query, select};
use crate::release::{Distributed, ReleaseKind, Report, Tables};
use crate::source::{PlainReader, PlainSource, Source};
use crate::table::{Dictionary, Notation, Type};
use crate::watch::Watch;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

/// The answer to a query: one, or one for each tuple of the columns it is grouped by.
#[derive(Clone, Debug)]
pub struct QueryAnswer {
    /// The columns of GROUP BY.
    pub by: Vec<String>,
    /// The aggregates: each has its alias, or is as it was written.
    pub aggregates: Vec<String>,
    /// Values of the columns of GROUP BY with an answer for each aggregate; one without values
    /// where there are no such columns.
    pub answers: Vec<(Vec<String>, Vec<Answer>)>,
}

fn put_bounds(object: &mut Map<String, Value>, answer: &Answer) {
    let number = |number: f64| {
        if number.fract() == 0.0 && number.abs() < 9e15 {
            json!(number as i64)
        } else {
            json!(number)
        }
    };
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
            self.answers.iter().for_each(|(_, answers)| self.put(&mut object, answers));
            return object.into();
        }
        let rows = self.answers.iter().filter_map(|(_, answers)| Some(answers.first()?.rows));
        object.insert("rows".into(), json!(rows.sum::<u64>()));
        let one = |(values, answers): &(Vec<String>, Vec<Answer>)| {
            let mut object = Map::new();
            let value = |value: &String| if value.is_empty() { Value::Null } else { json!(value) };
            let named: Map<String, Value> =
                self.by.iter().cloned().zip(values.iter().map(value)).collect();
            object.insert("by".into(), named.into());
            self.put(&mut object, answers);
            Value::Object(object)
        };
        object.insert("answers".into(), self.answers.iter().map(one).collect());
        object.into()
    }

    /// The rows and the bounds; of several aggregates an array of bounds.
    fn put(&self, object: &mut Map<String, Value>, answers: &[Answer]) {
        object.insert("rows".into(), json!(answers.first().map_or(0, |answer| answer.rows)));
        if let [only] = answers {
            return put_bounds(object, only);
        }
        let one = |(name, answer): (&String, &Answer)| {
            let mut object = Map::new();
            object.insert("aggregate".into(), json!(name));
            put_bounds(&mut object, answer);
            Value::Object(object)
        };
        let all = self.aggregates.iter().zip(answers).map(one);
        object.insert("aggregates".into(), all.collect());
    }
}

/// What a release says of itself, as far as a query needs it.
struct Described<'a> {
    attribute: &'a str,
    numeric: bool,
    columns: Vec<(String, Type)>,
    notations: BTreeMap<String, Notation>,
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
    let notation = |(name, keys): (&String, &BTreeMap<String, String>)| {
        Notation::from_keys(keys).map(|notation| (name.clone(), notation)).ok_or_else(wrong)
    };
    let notations = distribution.notations.iter().map(notation).collect::<Result<_>>()?;
    Ok(Described { attribute: &distribution.attribute, numeric, columns, notations })
}

/// Answers an aggregate query, such as `SELECT AVG(salary) FROM release WHERE gender = 'F'`, from a
/// distribution release. The bounds hold for every table that fits the release. A condition may also
/// be about the sensitive attribute; then the bounds are about the tables in which a row satisfies it.
pub fn query(release: &Tables, report: &Report, sql: &str, watch: &Watch) -> Result<QueryAnswer> {
    let described = describe(release, report)?;
    let (attribute, numeric) = (described.attribute, described.numeric);
    let (columns, notations) = (&described.columns, &described.notations);
    let query = parse(sql, Names { attribute, numeric, columns, notations })?;
    let released = Distributed::read(release, notations.get(attribute), watch)?;
    // Only the columns that are named are read, and their distinct tuples are counted.
    let table = release.get("records")?;
    let reader = |name: &String| notations.get(name).cloned().map(PlainReader::of_labels);
    let readers = table.names().iter().map(reader).collect();
    let table: &dyn Source = &PlainSource::new(table, readers);
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
    let mut worlds = Worlds {
        released: &released,
        query: &query,
        plain: HashMap::new(),
        filtered: HashMap::new(),
    };
    let mut answers = Vec::with_capacity(selected.len());
    for (by, groups) in selected {
        watch.check()?;
        let short =
            |(group, count): (&usize, &u32)| released.groups[*group].len() < u64::from(*count);
        if groups.iter().any(short) {
            return Err(mismatch("a group has more records than subdomains; verify the release"));
        }
        answers.push((by, worlds.answer(&groups)));
    }
    let by: Vec<String> =
        query.by.iter().map(|column| described.columns[query.used[*column]].0.clone()).collect();
    let spelled = |(value, name): (&str, &String)| match notations.get(name) {
        Some(notation) => notation.spelled_label(value),
        None => value.to_string(),
    };
    let answers = answers
        .into_iter()
        .map(|(values, answer)| (values.into_iter().zip(&by).map(spelled).collect(), answer));
    let answers = answers.collect();
    let aggregates = query.aggregates.iter().map(|(name, _)| name.clone()).collect();
    Ok(QueryAnswer { by, aggregates, answers })
}

/// The subdomains of groups, as a query sees them.
struct Worlds<'a> {
    released: &'a Distributed,
    query: &'a Query,
    /// The ends of groups that were asked for, without a condition on the attribute.
    plain: HashMap<usize, Ends>,
    /// The nodes of trees that were asked for, under the condition on the attribute.
    filtered: HashMap<usize, Vec<Choice>>,
}

impl Worlds<'_> {
    /// An answer for each aggregate over some records of each group.
    fn answer(&mut self, groups: &BTreeMap<usize, u32>) -> Vec<Answer> {
        let Worlds { released, query, plain, filtered } = self;
        let scale = released.scale.unwrap_or(0);
        let aggregates = query.aggregates.iter().map(|(_, aggregate)| *aggregate);
        let Some(condition) = &query.value else {
            for group in groups.keys() {
                let read = &released.groups[*group];
                plain.entry(*group).or_insert_with(|| Ends::new(released.ends(read)));
            }
            let groups: Vec<(&Ends, u32)> =
                groups.iter().map(|(group, count)| (&plain[group], *count)).collect();
            return aggregates.map(|aggregate| bound(aggregate, &groups, scale)).collect();
        };
        let mut choices: Vec<(Vec<Choice>, u32)> = Vec::with_capacity(groups.len());
        for (group, count) in groups {
            let read = &released.groups[*group];
            let nodes = filtered.entry(read.tree).or_insert_with(|| {
                select::choices(&released.trees[read.tree], condition, released.scale.is_some())
            });
            let copied =
                |(node, copies): &(u32, u32)| Choice { copies: *copies, ..nodes[*node as usize] };
            choices.push((read.subdomains.iter().map(copied).collect(), *count));
        }
        let groups: Vec<(&[Choice], u32)> =
            choices.iter().map(|(choices, count)| (&choices[..], *count)).collect();
        aggregates.map(|aggregate| bound_filtered(aggregate, &groups, scale)).collect()
    }
}
