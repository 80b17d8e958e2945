//! Which tables can be used without protecting anyone?
//!
//! Synthetic tables of any size, for trying a policy, for measurements and for tests. No row is
//! about a real person. Each kind is one file that says how a row is drawn and which policy and
//! hierarchies go with the table.
//!
//! - [`TableKind::Census`]: adults with correlated attributes, hierarchies of several shapes and some
//!   missing values.
//! - [`TableKind::Agrawal`]: the numeric table of the papers on larger-than-memory anonymization, with
//!   its four targets.
//!
//! A table is made in batches of 65,536 rows, and each batch draws from its own random stream, row
//! by row. A table of any size therefore needs the memory of one batch, the same seed gives the
//! same rows, and a longer table begins with the rows of a shorter one. The alternative, one stream
//! for the whole table, would make every row depend on all rows before it.

mod agrawal;
mod census;
pub mod subset;

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use crate::random::Random;

/// The number of rows of every batch but the last.
const BATCH_ROWS: u64 = 65_536;

/// The kinds of synthetic tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// Nine numeric attributes and four targets computed from them.
    Agrawal,
    /// Ten attributes of adults, most of them categorical, and an identifier.
    Census,
}

impl TableKind {
    /// All kinds, in the order of their names.
    pub const ALL: [TableKind; 2] = [TableKind::Agrawal, TableKind::Census];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            TableKind::Agrawal => "agrawal",
            TableKind::Census => "census",
        }
    }
}

/// A synthetic table, generated batch by batch as it is read.
#[derive(Debug)]
pub struct Generator {
    maker: Maker,
    rows: u64,
    seed: u64,
    next_batch: u64,
}

/// What a kind needs to draw rows.
#[derive(Debug)]
enum Maker {
    Agrawal,
    Census(Box<census::Urns>),
}

impl Generator {
    /// A table of this kind with `rows` rows. The same arguments give the same table.
    pub fn new(kind: TableKind, rows: u64, seed: u64) -> Generator {
        let maker = match kind {
            TableKind::Agrawal => Maker::Agrawal,
            TableKind::Census => Maker::Census(Box::new(census::Urns::new())),
        };
        Generator { maker, rows, seed, next_batch: 0 }
    }

    /// Names and types of the columns of every batch.
    pub fn schema(&self) -> SchemaRef {
        match &self.maker {
            Maker::Agrawal => agrawal::schema(),
            Maker::Census(_) => census::schema(),
        }
    }
}

impl Iterator for Generator {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        let first_row = self.next_batch.checked_mul(BATCH_ROWS)?;
        let rows = self.rows.saturating_sub(first_row).min(BATCH_ROWS) as usize;
        if rows == 0 {
            return None;
        }
        let mut random = Random::stream(self.seed, self.next_batch);
        self.next_batch += 1;
        Some(match &self.maker {
            Maker::Agrawal => agrawal::batch(&mut random, rows),
            Maker::Census(urns) => census::batch(urns, &mut random, first_row, rows),
        })
    }
}

/// The files that go with a table of this kind, as names relative to the table's folder and
/// contents. The first is a policy, named after the table (`people.csv` has `people.policy.toml`);
/// the others are the hierarchies it refers to, in `folder`.
pub fn companions(kind: TableKind, data_file_name: &str, folder: &str) -> Vec<(String, String)> {
    let policy_name = Path::new(data_file_name).with_extension("policy.toml");
    let policy_name = policy_name.to_string_lossy().into_owned();
    let folder = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let (template, hierarchies) = match kind {
        TableKind::Agrawal => (agrawal::POLICY, Vec::new()),
        TableKind::Census => (census::POLICY, census::hierarchies()),
    };
    let policy = template
        .replace("{folder}", &escaped(&folder))
        .replace("{policy}", &escaped(&policy_name))
        .replace("{data}", &escaped(data_file_name));
    let mut files = vec![(policy_name, policy)];
    files.extend(hierarchies.into_iter().map(|(name, text)| (format!("{folder}{name}"), text)));
    files
}

/// The quasi-identifiers of the census.
pub const CENSUS_KEYS: [&str; 8] =
    ["sex", "age", "race", "marital-status", "education", "birthplace", "workclass", "zip"];

/// The same for a table that is a part of a population: its policy requires delta-presence in that
/// population. `population` and `marginals` are the names of those files.
pub fn subset_companions(
    data_file_name: &str,
    folder: &str,
    population: &str,
    marginals: &str,
) -> Vec<(String, String)> {
    let mut files = companions(TableKind::Census, data_file_name, folder);
    let (population, marginals) = (escaped(population), escaped(marginals));
    if let Some((_, policy)) = files.first_mut() {
        let roles = policy.split("# --- Privacy").next().unwrap_or_default().to_string();
        *policy = format!(
            r#"{roles}# --- Privacy: the release must meet all of these requirements ----------------------------------------------------

# Nobody should learn who is in the table. In every class, at most a tenth of the people are in the table. The
# attacker is assumed to know the whole population:

[privacy]
presence = {{ min = 0.0, max = 0.1, population = "{population}" }}

# If only the counts of values in the population are known, require a confidence:
# presence = {{ min = 0.0, max = 0.1, confidence = 0.95, marginals = "{marginals}", marginals-of = "population" }}

# --- Search ------------------------------------------------------------------------------------------------------

[search]
algorithm = "auto"                 # spalm, or sfalm with marginals; mpalm partitions and keeps more detail
loss = "lm"                        # minimize the mean loss of detail
"#
        );
    }
    files
}

/// Escapes a text for use inside quotes in TOML; in a comment, it stays on one line.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\\' => safe.extend(['\\', character]),
            control if control.is_control() => safe += &format!("\\u{:04X}", control as u32),
            plain => safe.push(plain),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};
    use arrow_schema::DataType;
    use toml::{Table, Value};

    fn table(kind: TableKind, rows: u64, seed: u64) -> Vec<RecordBatch> {
        Generator::new(kind, rows, seed).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_table_and_another_seed_another() {
        for kind in TableKind::ALL {
            assert_eq!(table(kind, 70_000, 5), table(kind, 70_000, 5));
            assert_ne!(table(kind, 1000, 5), table(kind, 1000, 6));
        }
    }

    /// A change of these rows changes every generated table and must be mentioned in the changelog.
    #[test]
    fn the_rows_of_a_seed_are_frozen() {
        let row = |kind, number: usize| {
            let batches = table(kind, 65_537, 42);
            let batch = &batches[number / 65_536];
            let cells = batch.columns().iter().map(|column| match column.data_type() {
                DataType::Int64 => {
                    column.as_primitive::<Int64Type>().value(number % 65_536).to_string()
                }
                DataType::Float64 => {
                    column.as_primitive::<Float64Type>().value(number % 65_536).to_string()
                }
                _ => column.as_string::<i32>().value(number % 65_536).to_string(),
            });
            cells.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            row(TableKind::Agrawal, 3),
            "24465 34812 53 1 11 9 874349 26 498700 B B -80024.41 129637.47"
        );
        assert_eq!(
            row(TableKind::Agrawal, 65_536),
            "70307 69886 25 3 10 2 112243 10 420283 A B -10127.29 68929.31"
        );
        assert_eq!(
            row(TableKind::Census, 3),
            "P0000004 Male 32 White Never married Master United States Freelance 71708 Sales <=50K"
        );
        assert_eq!(
            row(TableKind::Census, 65_536),
            "P0065537 Male 39 White Married Some college United States Private company 81002 Office support <=50K"
        );
    }

    #[test]
    fn a_longer_table_begins_with_the_shorter() {
        for kind in TableKind::ALL {
            let (short, long) = (table(kind, 66_000, 1), table(kind, 140_000, 1));
            assert_eq!(short[0], long[0]);
            assert_eq!(short[1], long[1].slice(0, 66_000 - 65_536));
        }
    }

    #[test]
    fn batches_have_the_rows_asked_for_and_differ() {
        for kind in TableKind::ALL {
            let sizes = |rows| table(kind, rows, 3).iter().map(RecordBatch::num_rows).collect();
            let (none, one, full, more): (Vec<_>, Vec<_>, Vec<_>, Vec<_>) =
                (sizes(0), sizes(1), sizes(131_072), sizes(131_073));
            assert_eq!(none, [0usize; 0]);
            assert_eq!(one, [1]);
            assert_eq!(full, [65_536, 65_536]);
            assert_eq!(more, [65_536, 65_536, 1]);
            let batches = table(kind, 131_072, 3);
            assert_ne!(batches[0].column(2), batches[1].column(2));
            assert_eq!(batches[0].schema(), Generator::new(kind, 1, 1).schema());
        }
    }

    #[test]
    fn the_policy_gives_every_column_a_role_and_finds_every_hierarchy() {
        for kind in TableKind::ALL {
            let files = companions(kind, "people.csv", "people.hierarchies");
            assert_eq!(files[0].0, "people.policy.toml");
            let policy: Table = files[0].1.parse().unwrap();
            let attributes = policy["attributes"].as_table().unwrap();
            let schema = Generator::new(kind, 1, 1).schema();
            let columns: Vec<&str> = schema.fields().iter().map(|field| &**field.name()).collect();
            let mut with_role: Vec<&str> = attributes.keys().map(|name| &**name).collect();
            assert!(attributes.values().all(|attribute| attribute.get("role").is_some()));
            with_role.sort_by_key(|name| columns.iter().position(|column| column == name));
            assert_eq!(with_role, columns);

            let hierarchy =
                |attribute: &Value| attribute.get("hierarchy")?.as_str().map(String::from);
            let mut asked: Vec<String> = attributes.values().filter_map(hierarchy).collect();
            let mut given: Vec<String> = files[1..].iter().map(|file| file.0.clone()).collect();
            asked.sort();
            given.sort();
            assert_eq!(asked, given);
        }
    }

    #[test]
    fn interval_hierarchies_nest() {
        for kind in TableKind::ALL {
            let policy: Table = companions(kind, "a.csv", "")[0].1.parse().unwrap();
            for (name, attribute) in policy["attributes"].as_table().unwrap() {
                let Some(hierarchy) = attribute.get("hierarchy").and_then(Value::as_table) else {
                    continue;
                };
                let Some(widths) = hierarchy.get("intervals").and_then(Value::as_array) else {
                    continue;
                };
                let widths: Vec<i64> =
                    widths.iter().map(|width| width.as_integer().unwrap()).collect();
                let (from, to) = (&hierarchy["from"], &hierarchy["to"]);
                assert!(
                    widths.windows(2).all(|pair| pair[1] > pair[0] && pair[1] % pair[0] == 0),
                    "{name}"
                );
                let span = to.as_integer().unwrap() - from.as_integer().unwrap();
                assert!(widths.iter().all(|&width| width <= span), "{name}");
            }
        }
    }

    #[test]
    fn odd_file_names_stay_inside_their_quotes() {
        let files = companions(TableKind::Census, "od\"d\nname.csv", "a\"\\b");
        let policy: Table = files[0].1.parse().unwrap();
        let hierarchy = policy["attributes"]["education"]["hierarchy"].as_str().unwrap();
        assert_eq!(hierarchy, "a\"\\b/education.csv");
        assert!(files.iter().any(|file| file.0 == hierarchy));
        assert_eq!(companions(TableKind::Census, "x.csv", "")[1].0, "sex.csv");
    }
}
