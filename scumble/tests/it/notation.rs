//! Is a table in a notation released as the same table in the plain way is, up to spelling?

use crate::fixture::{Folder, anonymize, policy, verify};
use arrow_array::cast::AsArray;
use arrow_array::{
    ArrayRef, RecordBatch, StringArray, TimestampMicrosecondArray, TimestampMillisecondArray,
};
use scumble::error::Error;
use scumble::job::Job;
use scumble::random::Random;
use scumble::release::{ReleaseBatches, Tables};
use scumble::source::TableBatches;
use scumble::watch::Watch;
use serde_json::Value;
use std::sync::Arc;

/// A table in the European way, and the same in the plain way.
struct Drawn {
    european: Vec<[String; 6]>,
    plain: Vec<[String; 6]>,
}

const NAMES: [&str; 6] = ["born", "income", "admitted", "score", "note", "dose"];

fn grouped(whole: u64) -> String {
    let digits = whole.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('.');
        }
        text.push(digit);
    }
    text
}

impl Drawn {
    fn new(seed: u64, rows: usize) -> Drawn {
        let mut random = Random::stream(71, seed);
        let (mut european, mut plain) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let mut draw = |most: u64| random.below(most);
            let (year, month, day) = (1950 + draw(50), 1 + draw(12), 1 + draw(28));
            let is_missing = draw(15) == 0;
            let (whole, tenth) = ([draw(30_000), draw(900)][draw(2) as usize], draw(10));
            let (hour, minute, on) = (draw(24), 5 * draw(12), 1 + draw(28));
            let score = draw(4) as usize;
            let (dose, hundredth) = (draw(3), draw(100));
            let ending =
                |comma: &str| if tenth < 5 { String::new() } else { format!("{comma}{tenth}") };
            european.push([
                if is_missing { "k.A.".into() } else { format!("{day:02}.{month:02}.{year}") },
                grouped(whole) + &ending(","),
                format!("{on:02}.05.2024 {hour:02}:{minute:02}"),
                ["0,5", "1,5", "1.000", "2.000"][score].into(),
                format!("{on}.5."),
                format!("{dose},{hundredth:02}"),
            ]);
            plain.push([
                if is_missing { String::new() } else { format!("{year}-{month:02}-{day:02}") },
                whole.to_string() + &ending("."),
                format!("2024-05-{on:02}T{hour:02}:{minute:02}"),
                ["0.5", "1.5", "1000", "2000"][score].into(),
                format!("{on}.5."),
                format!("{dose}.{hundredth:02}"),
            ]);
        }
        Drawn { european, plain }
    }
}

fn csv(rows: &[[String; 6]]) -> String {
    let lines = rows.iter().map(|row| row.join(";") + "\n");
    NAMES.join(";") + "\n" + &lines.collect::<String>()
}

/// The policy of either table.
fn text(is_european: bool, income: &str, search: &str) -> String {
    let own = |keys: &'static str| if is_european { keys } else { "" };
    let tree = if is_european {
        r#"[["0,5", "0,5 to 1,5", "*"], ["1,5", "0,5 to 1,5", "*"], ["1.000", "1.000-2.000", "*"], ["2.000", "1.000-2.000", "*"]]"#
    } else {
        r#"[["0.5", "0.5 to 1.5", "*"], ["1.5", "0.5 to 1.5", "*"], ["1000", "1000-2000", "*"], ["2000", "1000-2000", "*"]]"#
    };
    format!(
        r#"
[attributes.born]
role = "quasi-identifier"
type = "date"
{}
[attributes.income]
role = "quasi-identifier"
type = "real"
{income}
{}
[attributes.admitted]
role = "quasi-identifier"
type = "timestamp"
{}
[attributes.score]
role = "quasi-identifier"
hierarchy = {{ tree = {tree} }}
{}
[attributes.note]
role = "insensitive"
{}
[attributes.dose]
role = "sensitive"
type = "real"
{}
[privacy]
k = 3
variance = 0.05
[search]
suppression = {{ limit = 0.1 }}
{search}
"#,
        own("format = \"DD.MM.YYYY\"\nmissing = [\"k.A.\"]"),
        own("decimal = \",\"\nthousands = \".\""),
        own("format = \"DD.MM.YYYY hh:mm\""),
        own("decimal = \",\"\nthousands = \".\""),
        own("format = \"DD.MM.YYYY\""),
        own("decimal = \",\""),
    )
}

/// A field of the European release in the plain way, by the letter: dates are turned around, points
/// are left out and commas become points.
fn translated(name: &str, field: &str) -> String {
    match name {
        "born" | "admitted" => {
            let bytes = field.as_bytes();
            let is_date = |at: usize| {
                bytes.get(at..at + 10).is_some_and(|piece| {
                    piece.iter().enumerate().all(|(at, byte)| match at {
                        2 | 5 => *byte == b'.',
                        _ => byte.is_ascii_digit(),
                    })
                })
            };
            let (mut text, mut at) = (String::new(), 0);
            while at < bytes.len() {
                if is_date(at) {
                    let piece = &field[at..at + 10];
                    text += &format!("{}-{}-{}", &piece[6..], &piece[3..5], &piece[..2]);
                    at += 10;
                } else {
                    text.push(char::from(bytes[at]));
                    at += 1;
                }
            }
            text
        }
        "note" => field.to_string(),
        _ => field.replace('.', "").replace(',', ".").replace("; ", ", "),
    }
}

/// The rows of a CSV release without their order, and what its report says of them.
fn rows(text: &str, is_european: bool) -> Vec<Vec<String>> {
    let line = |line: &str| -> Vec<String> {
        let (mut fields, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
        for character in line.chars() {
            match character {
                '"' => is_quoted = !is_quoted,
                ';' if !is_quoted => fields.push(std::mem::take(&mut field)),
                character => field.push(character),
            }
        }
        fields.push(field);
        let fields = fields.into_iter().zip(NAMES);
        let plain = |(field, name): (String, &str)| match name {
            _ if is_european => translated(name, &field),
            // Values of both ways of writing a timestamp.
            "admitted" => field.replace('T', " "),
            _ => field,
        };
        fields.map(plain).collect()
    };
    let mut rows: Vec<Vec<String>> = text.lines().skip(1).map(line).collect();
    rows.sort();
    rows
}

fn said(report: &Value) -> Value {
    let keys = ["rows", "released", "suppressed", "classes", "smallest-class", "privacy", "loss"];
    keys.iter().map(|key| report[*key].clone()).collect()
}

const SEARCHES: [&str; 8] = [
    "algorithm = \"incognito\"",
    "algorithm = \"mondrian\"",
    "algorithm = \"mondrian\"\nregions = \"tight\"",
    "algorithm = \"local\"",
    "algorithm = \"rothko-t\"",
    "algorithm = \"rothko-s\"",
    "algorithm = \"s-instant\"",
    "algorithm = \"m-instant\"",
];

/// For every kind of search: the same rows, classes and figures, and both releases verify.
#[test]
fn a_release_in_a_notation_is_the_plain_one_up_to_spelling() {
    let folder = Folder::new("notation");
    let mut spelled = 0;
    for (seed, search) in (0..).zip(SEARCHES.iter().cycle().take(3 * SEARCHES.len())) {
        let drawn = Drawn::new(seed, 150);
        let income = ["", "hierarchy = { intervals = [500, 5000], from = 0, to = 30000 }"];
        let income = income[seed as usize / SEARCHES.len() % 2];
        let mut seen = Vec::new();
        for (is_european, table) in [(true, &drawn.european), (false, &drawn.plain)] {
            let policy = policy(&folder.path(""), &text(is_european, income, search));
            let (input, output) = (folder.write("in.csv", &csv(table)), folder.path("out.csv"));
            let report = anonymize(&input, &policy, &output).unwrap();
            let verified = verify(&output, &policy);
            assert!(verified.satisfied, "{search}: {verified:?}");
            let release = std::fs::read_to_string(&output).unwrap();
            spelled += usize::from(is_european && release.contains(".000"));
            let verified = serde_json::to_value(verified.classes).unwrap();
            seen.push((rows(&release, is_european), said(&report.to_json()), verified));
        }
        let (plain, european) = (seen.pop().unwrap(), seen.pop().unwrap());
        assert_eq!(european.0, plain.0, "{search}");
        assert_eq!((european.1, european.2), (plain.1, plain.2), "{search}");
    }
    assert!(spelled > 10, "{spelled}");
}

fn batch(rows: &[[String; 6]]) -> RecordBatch {
    let column = |at: usize| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(row[at].as_str())).collect::<StringArray>())
    };
    let columns = NAMES.iter().enumerate().map(|(at, name)| (*name, column(at), true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// From memory into memory, and values that are passed on stay as they were written.
#[test]
fn record_batches_may_have_notations() {
    let mut drawn = Drawn::new(3, 200);
    // Not as the notation would be spelled.
    drawn.european[0][5] = " 0,50".into();
    let folder = Folder::new("notation-batches");
    let policy = policy(&folder.path(""), &text(true, "", "algorithm = \"mondrian\""));
    let mut release = ReleaseBatches::new();
    let table = TableBatches::new(vec![batch(&drawn.european)]).unwrap();
    let job = Job::new(policy);
    let report = job.run(table, &mut release, &Watch::silent()).unwrap();
    let batches = release.batches();
    let all = |name: &str| -> Vec<String> {
        let column = |batch: &RecordBatch| batch.column_by_name(name).unwrap().clone();
        let arrays: Vec<ArrayRef> = batches.iter().map(column).collect();
        arrays
            .iter()
            .flat_map(|array| {
                array
                    .as_string::<i32>()
                    .iter()
                    .map(|text| text.unwrap_or("").to_string())
                    .collect::<Vec<_>>()
            })
            .collect()
    };
    let mut doses = all("dose");
    let mut own: Vec<String> = drawn.european.iter().map(|row| row[5].clone()).collect();
    doses.sort();
    own.sort();
    assert_eq!((doses, report.suppressed), (own, 0));
    assert!(
        all("income").iter().any(|label| label.starts_with(['[', '(']) && label.contains("; "))
    );
    let sealed = TableBatches::new(batches).unwrap();
    assert!(job.verify(&Tables::one(sealed), None, None, &Watch::silent()).unwrap().satisfied);
}

/// The first value that is not written in the notation is named as it is written.
#[test]
fn values_in_another_notation_are_refused() {
    let folder = Folder::new("notation-wrong");
    let cases = [
        (0, "1980-12-31", "a date as in `format = \"DD.MM.YYYY\"`"),
        (1, "1,234.5", "a number with the decimal separator \",\""),
        (2, "01.05.2024", "a timestamp as in `format = \"DD.MM.YYYY hh:mm\"`"),
        (5, "?", "a number with the decimal separator \",\""),
    ];
    for search in ["mondrian", "rothko-t"] {
        for (column, value, expected) in cases {
            let mut drawn = Drawn::new(4, 60);
            drawn.european[20][column] = value.into();
            drawn.european[30][column] = value.into();
            let search = format!("algorithm = \"{search}\"");
            let policy = policy(&folder.path(""), &text(true, "", &search));
            let input = folder.write("in.csv", &csv(&drawn.european));
            let error = anonymize(&input, &policy, &folder.path("out.csv")).unwrap_err();
            let said = error.to_string();
            let Error::WrongType { place, value: named, .. } = error else { panic!("{said}") };
            assert_eq!((place.line, named.as_str()), (Some(22), value), "{said}");
            assert_eq!(place.column.as_deref(), Some(NAMES[column]));
            assert!(said.contains(expected), "{said}");
        }
    }
    // A value that no leaf is, is refused by its hierarchy.
    let mut drawn = Drawn::new(4, 60);
    drawn.european[20][3] = "x".into();
    let policy = policy(&folder.path(""), &text(true, "", ""));
    let input = folder.write("in.csv", &csv(&drawn.european));
    let error = anonymize(&input, &policy, &folder.path("out.csv")).unwrap_err();
    assert!(matches!(error, Error::NotInHierarchy { .. }), "{error}");
}

/// Timestamps of Arrow are what clocks show in the zone of their column, winter or summer.
#[test]
fn arrow_timestamps_are_wall_clock_times() {
    // 2024-01-15 12:30 and 2024-07-15 12:30 in UTC.
    let micros = [1_705_321_800_000_000i64, 1_721_046_600_000_000];
    let columns = |zone: Option<&str>| -> [ArrayRef; 2] {
        let fine = TimestampMicrosecondArray::from(micros.to_vec());
        let coarse = TimestampMillisecondArray::from(micros.map(|at| at / 1000).to_vec());
        match zone {
            None => [Arc::new(fine), Arc::new(coarse)],
            Some(zone) => {
                [Arc::new(fine.with_timezone(zone)), Arc::new(coarse.with_timezone(zone))]
            }
        }
    };
    let text = "[attributes.at]\nrole = \"quasi-identifier\"\ntype = \"timestamp\"\n\
        hierarchy = { dates = [\"hour\", \"day\", \"year\"] }\n[privacy]\nk = 1\n";
    let cases = [
        (None, ["2024-01-15 12h", "2024-07-15 12h"]),
        (Some("Europe/Berlin"), ["2024-01-15 13h", "2024-07-15 14h"]),
        (Some("-03:30"), ["2024-01-15 09h", "2024-07-15 09h"]),
        (Some("UTC"), ["2024-01-15 12h", "2024-07-15 12h"]),
    ];
    for (zone, expected) in cases {
        for column in columns(zone) {
            let batch = RecordBatch::try_from_iter([("at", column)]).unwrap();
            let table = TableBatches::new(vec![batch]).unwrap();
            let policy = scumble::Policy::from_toml(text).unwrap();
            let mut release = ReleaseBatches::new();
            let job = Job::new(policy).levels(vec![("at".into(), 1)]);
            job.run(table, &mut release, &Watch::silent()).unwrap();
            let labels: Vec<String> = release
                .batches()
                .iter()
                .flat_map(|batch| {
                    batch
                        .column(0)
                        .as_string::<i32>()
                        .iter()
                        .flatten()
                        .map(str::to_string)
                        .collect::<Vec<_>>()
                })
                .collect();
            assert_eq!(labels, expected, "{zone:?}");
        }
    }
}

/// A range of timestamps that are numbers, and what a reader takes it for: independent of how it is
/// made, every row lies in its own label.
#[test]
fn every_timestamp_lies_in_its_label() {
    let folder = Folder::new("notation-times");
    for (seed, search) in (20..).zip(SEARCHES.iter().cycle().take(2 * SEARCHES.len())) {
        let mut random = Random::stream(73, seed);
        let mut table = String::from("at,id\n");
        let mut values = Vec::new();
        for id in 0..80 {
            let spread = [1, 60, 3600, 86_400][seed as usize % 4];
            let seconds = random.below(100 * spread);
            let (day, time) = (seconds / 86_400, seconds % 86_400);
            let value = format!(
                "{}-{:02} {:02}:{:02}:{:02}",
                ["2024-02", "2024-03", "2024-04", "2024-05"][day as usize / 28 % 4],
                1 + day % 28,
                time / 3600,
                time / 60 % 60,
                time % 60
            );
            table += &format!("{value},{id}\n");
            values.push(value);
        }
        let text = format!(
            "[attributes.at]\nrole = \"quasi-identifier\"\ntype = \"timestamp\"\n\
             [attributes.id]\nrole = \"insensitive\"\n[privacy]\nk = 5\n[search]\n{search}\n"
        );
        let policy = policy(&folder.path(""), &text);
        let (input, output) = (folder.write("in.csv", &table), folder.path("out.csv"));
        anonymize(&input, &policy, &output).unwrap();
        assert!(verify(&output, &policy).satisfied, "{search}");
        let release = std::fs::read_to_string(&output).unwrap();
        for line in release.lines().skip(1) {
            let (label, id) = line.split_once(',').unwrap();
            let value = &values[id.parse::<usize>().unwrap()];
            assert!(holds(label, value), "{search}: {label} does not have {value}");
        }
    }
}

/// Whether a label has a value, read as documented: by texts alone, which are in order.
fn holds(label: &str, value: &str) -> bool {
    // A unit has all values that begin like it; ranges have their last unit.
    let unit = |text: &str| text.strip_suffix('h').unwrap_or(text).to_string();
    let cut = |text: &str| {
        let value = format!("{value}.000000");
        value[..unit(text).len().min(value.len())].to_string()
    };
    if label == "*" {
        true
    } else if let Some(end) = label.strip_prefix("up to ") {
        cut(end) <= unit(end)
    } else if let Some(end) = label.strip_prefix("above ") {
        cut(end) > unit(end)
    } else if let Some((first, last)) = label.split_once(" to ") {
        cut(first) >= unit(first) && cut(last) <= unit(last)
    } else if let Some(decade) = label.strip_suffix("0s") {
        value.starts_with(decade)
    } else if let Some((year, quarter)) = label.split_once("-Q") {
        let month: u32 = value[5..7].parse().unwrap();
        value.starts_with(year) && month.div_ceil(3).to_string() == quarter
    } else {
        value.starts_with(&unit(label))
    }
}
