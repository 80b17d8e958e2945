//! Does a portrait tell the truth? Its figures are compared with a count of the written tables that
//! shares nothing with the library.

use crate::fixture::Folder;
use proptest::prelude::*;
use scumble::portrait::{ColumnPortrait, Portrait};
use scumble::release::{ReleaseFile, Report};
use scumble::source::TableFile;
use scumble::watch::Watch;
use scumble::{Job, Policy, Tables};
use std::collections::{BTreeMap, BTreeSet};

/// The towns with what is above them.
const TOWNS: [(&str, &str); 5] =
    [("Bern", "plain"), ("Biel", "plain"), ("Thun", "lake"), ("Spiez", "lake"), ("Chur", "hill")];

const POLICY: &str = r#"
[attributes.name]
role = "identifier"
[attributes.age]
role = "quasi-identifier"
type = "integer"
hierarchy = { intervals = [5, 20], from = 0, to = 100 }
[attributes.town]
role = "quasi-identifier"
hierarchy = { tree = [["Bern", "plain", "*"], ["Biel", "plain", "*"], ["Thun", "lake", "*"], ["Spiez", "lake", "*"], ["Chur", "hill", "*"]] }
[attributes.score]
role = "quasi-identifier"
type = "integer"
[attributes.ill]
role = "sensitive"
[privacy]
k = 3
[search]
"#;

const SEARCHES: [&str; 5] = [
    "algorithm = \"incognito\"\nsuppression = { limit = 0.3 }",
    "algorithm = \"mondrian\"\nregions = \"tight\"",
    "algorithm = \"mondrian\"",
    "algorithm = \"local\"",
    "algorithm = \"l-plus-optimize\"\nsuppression = { scheme = \"all-records\" }",
];

/// A table as text, cell by cell. There are no quotes in it.
fn cells(text: &str) -> Vec<Vec<String>> {
    text.lines().map(|line| line.split(',').map(str::to_string).collect()).collect()
}

/// The column of a table by its name, without the header.
fn column(table: &[Vec<String>], name: &str) -> Vec<String> {
    let at = table[0].iter().position(|head| head == name).unwrap();
    table[1..].iter().map(|row| row[at].clone()).collect()
}

fn counts<T: Ord>(values: impl IntoIterator<Item = T>) -> BTreeMap<T, u64> {
    let mut counts = BTreeMap::new();
    values.into_iter().for_each(|value| *counts.entry(value).or_insert(0) += 1);
    counts
}

/// Whether a value is covered by a label, by their texts.
fn covers(name: &str, label: &str, value: &str) -> bool {
    if label == "*" || label == value {
        return true;
    }
    if label.is_empty() || value.is_empty() {
        return false;
    }
    if name == "town" {
        return TOWNS.iter().any(|(town, above)| *town == value && *above == label);
    }
    let value: i64 = value.parse().unwrap();
    if label == "any number" {
        return true;
    }
    if let Some(to) = label.strip_prefix("up to ") {
        return value <= to.parse().unwrap();
    }
    if let Some(from) = label.strip_prefix("above ") {
        return value > from.parse().unwrap();
    }
    let (from, to) = match label.split_once(" to ").or_else(|| label.split_once('-')) {
        Some((from, to)) => (from.parse().unwrap(), to.parse().unwrap()),
        None => return value == label.parse::<i64>().unwrap(),
    };
    (from..=to).contains(&value)
}

fn released(
    rows: &[(u8, usize, u8, u8)],
    search: &str,
) -> Option<(String, String, Report, Portrait, Policy, Folder)> {
    let folder = Folder::new("portrait");
    let mut text = String::from("name,age,town,score,ill\n");
    for (number, (age, town, score, ill)) in rows.iter().enumerate() {
        let town = TOWNS.get(*town).map_or("", |(town, _)| town);
        text += &format!(
            "n{number},{age},{town},{score},{}\n",
            ["flu", "gout", "mumps"][*ill as usize]
        );
    }
    let input = folder.write("table.csv", &text);
    let policy = Policy::from_toml(&format!("{POLICY}{search}\n")).unwrap();
    let (source, output) = (TableFile::open(&input).unwrap(), folder.path("out.csv"));
    let job = Job::new(policy.clone()).seed(1);
    let ran = job.run_portrayed(&source, ReleaseFile::new(&output).unwrap(), &Watch::silent());
    let (report, portrait) = ran.ok()?;
    let release = std::fs::read_to_string(&output).unwrap();
    Some((text, release, report, portrait, policy, folder))
}

fn check_column(portrait: &ColumnPortrait, before: &[String], after: &[String]) {
    let name = portrait.name.as_str();
    let told = portrait.after.as_ref().unwrap();
    let labels = counts(after.iter().cloned());
    let missing = labels.get("").copied().unwrap_or(0);
    assert_eq!((told.rows, told.missing), (after.len() as u64, missing), "{name}");
    assert_eq!(told.distinct, labels.keys().filter(|label| !label.is_empty()).count() as u64);
    let original = portrait.before.as_ref().unwrap();
    let values: BTreeSet<&String> = before.iter().filter(|value| !value.is_empty()).collect();
    assert_eq!((original.rows, original.distinct), (before.len() as u64, values.len() as u64));
    let of_bars: u64 = original.histogram.iter().map(|bar| bar.rows).sum();
    assert!(original.histogram.is_empty() || of_bars == before.len() as u64 - original.missing);
    let Some(labelled) = &portrait.labels else {
        for value in &told.frequent {
            assert_eq!(value.rows, labels[&value.value], "{name}");
        }
        return;
    };
    assert_eq!(labelled.listed.len() as u64 + labelled.others, labels.len() as u64);
    for label in &labelled.listed {
        assert_eq!(label.rows, labels[&label.label], "{name} {}", label.label);
        let covered: Vec<&String> =
            before.iter().filter(|value| covers(name, &label.label, value)).collect();
        let values: BTreeSet<&&String> = covered.iter().collect();
        let told = (label.before, label.values);
        let found = (Some(covered.len() as u64), Some(values.len() as u64));
        assert_eq!(told, found, "{name} {}", label.label);
    }
    let listed: Vec<&str> = labelled.listed.iter().map(|label| label.label.as_str()).collect();
    let is_twice =
        |value: &String| listed.iter().filter(|label| covers(name, label, value)).count() > 1;
    if labelled.others == 0 {
        assert_eq!(labelled.overlap, before.iter().any(is_twice), "{name} {listed:?}");
    }
}

fn check(rows: &[(u8, usize, u8, u8)], search: &str) -> bool {
    let Some((input, output, report, portrait, policy, folder)) = released(rows, search) else {
        return false;
    };
    let (before, after) = (cells(&input), cells(&output));
    assert!(portrait.owner_only);
    assert_eq!(portrait.release.rows, report.released);
    for one in &portrait.columns {
        match one.name.as_str() {
            "name" => {
                assert!(one.after.is_none() && one.before.as_ref().unwrap().frequent.is_empty())
            }
            name => check_column(one, &column(&before, name), &column(&after, name)),
        }
    }
    // The loss of the release is the mean of those of its columns.
    let losses: Vec<f64> = portrait.columns.iter().filter_map(|column| column.loss).collect();
    assert_eq!(losses.len(), 3, "{search}");
    let lm = report.to_json()["loss"]["lm"].as_f64().unwrap();
    let mean = losses.iter().sum::<f64>() / 3.0;
    assert!((mean - lm).abs() < 1e-9, "{search}: {losses:?}, {lm}");
    // Classes and risks.
    for (table, bars, risks) in [
        (&before, &portrait.classes.before, portrait.risk.before.unwrap()),
        (&after, &portrait.classes.after, portrait.risk.after.unwrap()),
    ] {
        let keys = ["age", "town", "score"].map(|name| column(table, name));
        let tuple = |row: usize| keys.iter().map(|key| key[row].clone()).collect::<Vec<_>>();
        let sizes: Vec<u64> = counts((0..table.len() - 1).map(tuple)).into_values().collect();
        for bar in bars {
            let held = || sizes.iter().filter(|size| (bar.from..=bar.to).contains(*size));
            assert_eq!((bar.classes, bar.rows), (held().count() as u64, held().sum()));
        }
        assert_eq!(bars.iter().map(|bar| bar.classes).sum::<u64>(), sizes.len() as u64);
        assert_eq!(risks.classes, sizes.len() as u64);
        let highest = 1.0 / *sizes.iter().min().unwrap() as f64;
        assert_eq!(risks.prosecutor.highest, highest);
        assert_eq!(risks.prosecutor.average, sizes.len() as f64 / (table.len() - 1) as f64);
    }
    // What everybody may see is the same without what the original tells.
    let release = Tables::open(&folder.path("out.csv")).unwrap();
    let job = Job::new(policy);
    let public = job.portray(&release, None, Some(&report), &Watch::silent()).unwrap();
    assert!(!public.owner_only && public.original.is_none() && public.risk.before.is_none());
    for (one, all) in public.columns.iter().zip(portrait.columns.iter().skip(1)) {
        assert!(one.before.is_none(), "{}", one.name);
        assert_eq!(one.after, all.after);
        let rows = |column: &ColumnPortrait| {
            let labels = column.labels.as_ref()?;
            Some(counts(labels.listed.iter().map(|label| (label.label.clone(), label.rows))))
        };
        assert_eq!(rows(one), rows(all), "{}", one.name);
        for label in one.labels.iter().flat_map(|labels| &labels.listed) {
            assert!(label.before.is_none() && label.values.is_none());
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn figures_are_those_of_the_tables(
        rows in prop::collection::vec((0u8..=100, 0usize..6, 0u8..12, 0u8..3), 6..40),
    ) {
        let made = SEARCHES.iter().filter(|search| check(&rows, search)).count();
        prop_assert!(made > 0);
    }
}

/// A limit on the memory changes what is listed of columns with very many values, not what is
/// counted.
#[test]
fn very_many_values_become_a_histogram() {
    let folder = Folder::new("portrait-many");
    let mut text = String::from("age,code,ill\n");
    for row in 0..6000u32 {
        text += &format!("{},c{row},{}\n", row % 3, row % 4000);
    }
    let input = folder.write("table.csv", &text);
    let policy = "[attributes.age]\nrole = \"quasi-identifier\"\n[attributes.code]\nrole = \
                  \"insensitive\"\n[attributes.ill]\nrole = \"sensitive\"\n[privacy]\nk = 2\n";
    let job = Job::new(Policy::from_toml(policy).unwrap()).memory(16 << 20);
    let release = || Tables::open(&input).unwrap();
    let few = Job::new(Policy::from_toml(policy).unwrap()).memory(1);
    for (job, is_limited) in [(job, false), (few, true)] {
        let portrait = job.portray(&release(), None, None, &Watch::silent()).unwrap();
        let [age, code, ill] = &portrait.columns[..] else { panic!() };
        assert_eq!(age.after.as_ref().unwrap().distinct, 3);
        let (code, ill) = (code.after.as_ref().unwrap(), ill.after.as_ref().unwrap());
        assert_eq!((code.more, ill.more), (is_limited, is_limited));
        assert_eq!(code.frequent.is_empty(), is_limited);
        assert_eq!(code.others + code.frequent.len() as u64, 6000);
        // Values 0 to 1999 occur twice.
        let rows: Vec<u64> = ill.histogram.iter().map(|bar| bar.rows).collect();
        assert_eq!((rows.len(), rows[0], rows[7]), (8, 1000, 500), "{:?}", ill.histogram);
        assert_eq!(portrait.risk.after.unwrap().classes, 3);
    }
}
