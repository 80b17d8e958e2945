//! SQL for the folder: tables and loading for three databases, and the queries of section 3.3.

use super::filters::{self, Values};
use super::plan::{GROUP, Plan};
use crate::policy::Policy;
use crate::release::Released;
use crate::table::Type;

/// The type of each column of the records, as SQL needs it: declared, or the narrowest that writes
/// all values as they are.
pub(super) fn columns(policy: &Policy, plan: &Plan<'_>) -> Vec<(String, Type)> {
    let kind = |column: &Released<'_>| {
        // Of released rows only: what others have must not be seen, not even in a type.
        let occurs = plan.rows.occurring(&column.codes, column.values());
        let found =
            column.labels().zip(&occurs).filter(|(text, occurs)| **occurs && !text.is_empty());
        let found = found.map(|(text, _)| text);
        // A number that SQL would write in another way, such as a zip code with a leading zero, is
        // text.
        let plain = |text: &str| text.parse::<i64>().is_ok_and(|number| number.to_string() == text);
        let inferred = match Type::infer(found.clone()) {
            Type::Integer if !found.clone().all(plain) => Type::Text,
            inferred => inferred,
        };
        let declared = policy.attribute(column.name).and_then(|attribute| attribute.kind);
        let fits = |kind: &Type| {
            *kind == Type::Text || found.clone().all(|text| kind.number(text).is_some())
        };
        declared.filter(fits).unwrap_or(inferred)
    };
    plan.columns.iter().map(|column| (column.name.to_string(), kind(column))).collect()
}

/// The same for databases: what is spelled in a notation is text to them.
pub(super) fn in_sql(policy: &Policy, columns: &[(String, Type)]) -> Vec<(String, Type)> {
    let kind = |(name, kind): &(String, Type)| match policy.notation(name) {
        Some(_) => (name.clone(), Type::Text),
        None => (name.clone(), *kind),
    };
    columns.iter().map(kind).collect()
}

/// What scripts need to know of a release.
struct Described<'a> {
    attribute: &'a str,
    columns: &'a [(String, Type)],
    /// Decimals of the numbers; `None` for categories.
    scale: Option<u32>,
    /// Whether a leaf of the hierarchy may be a run of whole numbers.
    has_runs: bool,
}

/// A name in SQL, whatever it is.
pub(super) fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A database and what it calls things.
struct Dialect {
    integer: &'static str,
    real: &'static str,
    date: &'static str,
    exact: &'static str,
}

const SQLITE: Dialect =
    Dialect { integer: "INTEGER", real: "REAL", date: "TEXT", exact: "NUMERIC" };
const DUCKDB: Dialect =
    Dialect { integer: "BIGINT", real: "DOUBLE", date: "DATE", exact: "DECIMAL(38, {scale})" };
const POSTGRESQL: Dialect =
    Dialect { integer: "BIGINT", real: "DOUBLE PRECISION", date: "DATE", exact: "NUMERIC" };

fn tables(report: &Described<'_>, dialect: &Dialect) -> String {
    let kind = |kind: Type| match kind {
        Type::Integer => dialect.integer,
        Type::Real => dialect.real,
        Type::Date => dialect.date,
        // With a zone or without, their texts are in order.
        Type::Timestamp | Type::Text => "TEXT",
    };
    let records: Vec<String> = report
        .columns
        .iter()
        .map(|(column, of)| format!("{} {}", name(column), kind(*of)))
        .collect();
    let scale = report.scale.unwrap_or(0).to_string();
    let number = match report.scale {
        Some(0) => dialect.integer.to_string(),
        _ => dialect.exact.replace("{scale}", &scale),
    };
    let ends: String = match report.scale {
        None => String::new(),
        Some(_) => ["sum_lower", "sum_upper", "min_lower", "min_upper", "max_lower", "max_upper"]
            .iter()
            .map(|end| format!(", {end} {number}"))
            .collect(),
    };
    let integer = dialect.integer;
    format!(
        "CREATE TABLE records ({}{}\"{GROUP}\" TEXT);\n\
         CREATE TABLE sensitive (\"group\" TEXT, value TEXT);\n\
         CREATE TABLE bounds (\"group\" TEXT, selected {integer}{ends});\n\
         CREATE TABLE groups (\"group\" TEXT, part_of TEXT, target {integer}, records {integer}, subdomains {integer});\n\
         CREATE TABLE hierarchy (target {integer}, value TEXT, parent TEXT, weight {integer}, lower {number}, upper {number});\n",
        records.join(", "),
        if records.is_empty() { "" } else { ", " },
    )
}

const TABLES: [&str; 5] = ["records", "sensitive", "bounds", "groups", "hierarchy"];
const INDEX: &str = "CREATE UNIQUE INDEX bounds_of ON bounds (\"group\", selected);\n";

fn load_sqlite(report: &Described<'_>) -> String {
    let mut text = "-- Run in this folder: sqlite3 release.db < load-sqlite.sql\n".to_string();
    text += &tables(report, &SQLITE);
    text += ".mode csv\n";
    for table in TABLES {
        // The header comes as a row like all others; not every shell can skip it.
        text += &format!(".import {table}.csv {table}\nDELETE FROM {table} WHERE rowid = 1;\n");
    }
    // The shell reads an empty field as an empty text.
    for (column, _) in report.columns {
        text += &format!("UPDATE records SET {0} = NULL WHERE {0} = '';\n", name(column));
    }
    text + INDEX
}

fn load_duckdb(report: &Described<'_>) -> String {
    let mut text = "-- Run in this folder: duckdb release.duckdb < load-duckdb.sql\n".to_string();
    text += &tables(report, &DUCKDB);
    for table in TABLES {
        text += &format!(
            "COPY {table} FROM '{table}.csv' (FORMAT csv, HEADER true, DELIMITER ',', QUOTE '\"', ESCAPE '\"');\n"
        );
    }
    text + INDEX
}

fn load_postgresql(report: &Described<'_>) -> String {
    let mut text = "-- Run in this folder: psql -d DATABASE -f load-postgresql.sql\n".to_string();
    text += &tables(report, &POSTGRESQL);
    for table in TABLES {
        text += &format!("\\copy {table} FROM '{table}.csv' WITH (FORMAT csv, HEADER true)\n");
    }
    text + INDEX
}

/// Queries that run as they stand in all three databases; the condition is to be edited.
fn queries(report: &Described<'_>) -> String {
    let attribute = report.attribute;
    let by = report.columns.first().map_or("\"group\"".to_string(), |(column, _)| name(column));
    let selected = "WITH chosen AS (SELECT \"group\", count(*) AS selected FROM records WHERE 1 = 1 GROUP BY \"group\")\n";
    let mut text = format!(
        "-- Guaranteed bounds on aggregates of {}: join the selected records with the table of bounds.\n\
         -- Replace 1 = 1 by any condition on the records. Runs in SQLite, PostgreSQL and DuckDB.\n\n\
         -- COUNT (exact)\n{selected}SELECT coalesce(sum(selected), 0) AS rows FROM chosen;\n",
        attribute.replace('\n', " ")
    );
    if report.scale.is_none() {
        return text + &filters::queries(attribute, Values::Categories);
    }
    let join = "FROM chosen JOIN bounds ON bounds.\"group\" = chosen.\"group\" AND bounds.selected = chosen.selected";
    let rows = "sum(chosen.selected) AS rows";
    for (aggregate, lower, upper) in [
        ("SUM", "sum(sum_lower)", "sum(sum_upper)"),
        (
            "AVG",
            "sum(sum_lower) * 1.0 / sum(chosen.selected)",
            "sum(sum_upper) * 1.0 / sum(chosen.selected)",
        ),
        ("MIN", "min(min_lower)", "min(min_upper)"),
        ("MAX", "max(max_lower)", "max(max_upper)"),
    ] {
        text += &format!(
            "\n-- {aggregate}\n{selected}SELECT {rows}, {lower} AS lower, {upper} AS upper\n{join};\n"
        );
    }
    text += &format!(
        "\n-- AVG, grouped by a column\n\
         WITH chosen AS (SELECT {by} AS part, \"group\", count(*) AS selected FROM records WHERE 1 = 1 GROUP BY {by}, \"group\")\n\
         SELECT part, {rows}, sum(sum_lower) * 1.0 / sum(chosen.selected) AS lower, \
         sum(sum_upper) * 1.0 / sum(chosen.selected) AS upper\n{join}\nGROUP BY part ORDER BY part;\n"
    );
    let values = if report.has_runs { Values::Runs } else { Values::Numbers };
    text + &filters::queries(attribute, values)
}

/// The scripts of a folder with their names.
pub(super) fn all(
    attribute: &str,
    columns: &[(String, Type)],
    scale: Option<u32>,
    has_runs: bool,
) -> [(&'static str, String); 4] {
    let report = &Described { attribute, columns, scale, has_runs };
    [
        ("queries.sql", queries(report)),
        ("load-sqlite.sql", load_sqlite(report)),
        ("load-duckdb.sql", load_duckdb(report)),
        ("load-postgresql.sql", load_postgresql(report)),
    ]
}
