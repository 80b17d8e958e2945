//! Synthetic tables that can be used at once, first policies, and the figures of `risk` by hand.

use crate::bed::{Bed, PEOPLE};
use serde_json::{Value, json};

const KINDS: [&str; 2] = ["census", "agrawal"];
const ENDINGS: [&str; 3] = ["csv", "parquet", "arrow"];

fn generate(bed: &Bed, kind: &str, rows: &str, seed: &str, output: &str) -> Vec<String> {
    bed.run(&["generate", kind, "--rows", rows, "--seed", seed, "-o", output]).ok().touched
}

#[test]
fn same_seed_same_bytes() {
    for kind in KINDS {
        for ending in ENDINGS {
            let bed = Bed::new();
            let name = |name: &str| format!("{name}.{ending}");
            generate(&bed, kind, "2000", "1", &name("a"));
            generate(&bed, kind, "2000", "1", &name("b"));
            generate(&bed, kind, "2000", "2", &name("c"));
            assert!(bed.bytes(&name("a")) == bed.bytes(&name("b")), "{kind} {ending}");
            assert!(bed.bytes(&name("a")) != bed.bytes(&name("c")), "{kind} {ending}");
        }
    }
}

#[test]
fn a_longer_table_begins_with_the_shorter() {
    for kind in KINDS {
        let bed = Bed::new();
        generate(&bed, kind, "100", "1", "short.csv");
        generate(&bed, kind, "70000", "1", "long.csv");
        assert!(bed.read("long.csv").starts_with(&bed.read("short.csv")), "{kind}");
        assert_eq!(bed.read("long.csv").lines().count(), 70_001);
    }
}

#[test]
fn the_policy_works_at_once() {
    for kind in KINDS {
        for ending in ENDINGS {
            let bed = Bed::new();
            let table = format!("people.{ending}");
            let touched = generate(&bed, kind, "3000", "1", &table);
            assert!(touched.contains(&"people.policy.toml".to_string()), "{touched:?}");
            let out = format!("out.{ending}");
            bed.run(&["anonymize", &table, "--policy", "people.policy.toml", "-o", &out]).ok();
            bed.run(&["verify", &out, "--policy", "people.policy.toml"]).ok();
            bed.run(&["risk", &table, "--policy", "people.policy.toml"]).ok();
            let risk =
                bed.run(&["risk", &out, "--policy", "people.policy.toml", "--json"]).ok().json();
            let k = if kind == "census" { 5.0 } else { 100.0 };
            assert!(risk["prosecutor"]["highest"].as_f64().unwrap() <= 1.0 / k, "{risk}");
        }
    }
}

#[test]
fn generate_says_what_it_wrote() {
    let bed = Bed::new();
    let outcome = bed
        .run(&[
            "generate", "census", "--rows", "10", "-o", "t.csv", "--policy", "sub.toml", "--json",
        ])
        .ok();
    let report = outcome.json();
    assert_eq!((&report["rows"], &report["seed"]), (&json!(10), &json!(0)));
    let mut files: Vec<&str> =
        report["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    assert_eq!(files[..2], ["t.csv", "sub.toml"]);
    files.sort();
    assert_eq!(files, outcome.touched);
}

#[test]
fn generate_refuses_what_it_cannot_write() {
    let bed = Bed::new();
    bed.file("plain", "");
    let run = |output: &str| bed.run(&["generate", "census", "--rows", "10", "-o", output]);
    run("t.xlsx").fails_with(2, "t.xlsx");
    run("nowhere/t.csv").fails_with(2, "nowhere/t.csv");
    run("plain/t.csv").fails_with(3, "plain/t.csv");
}

#[test]
fn generate_writes_all_or_nothing() {
    let arguments =
        ["generate", "census", "--rows", "10", "-o", "t.csv", "--policy", "nowhere/p.toml"];
    Bed::new().run(&arguments).fails_with(2, "nowhere/p.toml");
}

#[test]
fn a_table_of_no_rows_is_refused_when_it_is_used() {
    let bed = Bed::new();
    for ending in ENDINGS {
        let table = format!("t.{ending}");
        generate(&bed, "census", "0", "1", &table);
        bed.run(&["anonymize", &table, "--policy", "t.policy.toml", "-o", "out.csv"])
            .fails_with(2, "no rows");
    }
}

// --- init ---

#[test]
fn init_writes_a_policy_that_works() {
    for ending in ENDINGS {
        let bed = Bed::new();
        let table = format!("people.{ending}");
        generate(&bed, "census", "300", "1", &table);
        let touched = bed.run(&["init", &table]).ok().touched;
        assert!(touched.contains(&"policy.toml".to_string()), "{touched:?}");
        bed.run(&["anonymize", &table, "--policy", "policy.toml", "-o", "out.csv"]).ok();
        bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
    }
}

#[test]
fn init_does_not_overwrite() {
    let bed = Bed::people();
    bed.run(&["init", "table.csv"])
        .fails_with(2, "policy.toml")
        .says("exists")
        .says("already exists");
    bed.run(&["init", "table.csv", "-o", "table.csv"]).fails_with(2, "table.csv").says("exists");
}

/// Columns of every kind, with names that need quotes and values that need care: the policy is
/// accepted.
#[test]
fn init_copes_with_strange_columns() {
    let mut refused = Vec::new();
    for (name, values) in [
        ("plain", ["x", "y"]),
        ("two words", ["x", "y"]),
        ("a.b", ["x", "y"]),
        ("say \"hi\"", ["x", "y"]),
        ("it's", ["x", "y"]),
        ("both \" and '", ["x", "y"]),
        ("back\\slash", ["x", "y"]),
        ("two\nlines", ["x", "y"]),
        ("tab\tbed", ["x", "y"]),
        ("naïve", ["x", "y"]),
        ("constant", ["7", "7"]),
        ("tiny", ["0.00001", "0.00002"]),
        ("real", ["-0.3", "1.7"]),
        ("huge", ["1e300", "-1e300"]),
        ("large", ["9007199254740992", "-9007199254740992"]),
        ("negative", ["-5", "-6"]),
        ("date", ["2024-02-29", "0001-01-01"]),
        ("empty", ["", ""]),
        ("half", ["", "3"]),
    ] {
        let bed = Bed::new();
        let rows =
            [name, values[0], values[1]].map(|value| vec!["a".to_string(), value.to_string()]);
        bed.file("t.csv", crate::bed::delimited(&rows, ',').replacen("\"a\"", "\"first\"", 1));
        let outcome = bed.run(&["init", "t.csv"]);
        assert_eq!(outcome.status, 0, "{name}: {outcome:#?}");
        let policy = bed
            .read("policy.toml")
            .replace("k = 5", "k = 2")
            .replace("\"identifier\"", "\"quasi-identifier\"");
        bed.file("policy.toml", &policy);
        let outcome = bed.run(&["anonymize", "t.csv", "--policy", "policy.toml", "-o", "out.csv"]);
        if outcome.status != 0 {
            refused.push((name, outcome.stderr));
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

// --- risk ---

fn risk(bed: &Bed, file: &str, more: &[&str]) -> Value {
    bed.run(&[&["risk", file, "--policy", "policy.toml", "--json"], more].concat()).ok().json()
}

/// Four classes by city and age: two of 1, one of 2, one of 4.
const CLASSES: &str = "name,age,city,ill\na,34,Bern,x\nb,36,Bern,x\nc,51,Thun,x\nd,51,Thun,x\ne,38,Biel,x\nf,38,Biel,x\n\
    g,38,Biel,x\nh,38,Biel,x\n";

#[test]
fn risks_by_hand() {
    let bed = Bed::people();
    bed.file("table.csv", CLASSES);
    let found = risk(&bed, "table.csv", &[]);
    // Rows: 8. Average of 1/class: (1 + 1 + 2/2 + 4/4) / 8 = 4/8.
    let adversary = json!({"highest": 1.0, "average": 0.5, "above-threshold": 1.0});
    assert_eq!(
        found,
        json!({
            "rows": 8, "classes": 4, "unique": 2, "threshold": 0.2, "prosecutor": adversary, "journalist": adversary,
            "marketer": {"average": 0.5},
        })
    );
    // Above 1/4: all but the class of four, whose risk is equal to it. Above 1/2: the unique two.
    assert_eq!(
        risk(&bed, "table.csv", &["--threshold", "0.25"])["prosecutor"]["above-threshold"],
        json!(0.5)
    );
    assert_eq!(
        risk(&bed, "table.csv", &["--threshold", "0.5"])["prosecutor"]["above-threshold"],
        json!(0.25)
    );
    let text = bed.run(&["risk", "table.csv", "--policy", "policy.toml"]).ok().stdout;
    assert!(
        text.contains("2 rows are unique") && text.contains("100.00 %") && text.contains("50.00 %"),
        "{text}"
    );
}

#[test]
fn risks_of_a_release() {
    let bed = Bed::people();
    bed.anonymize(&[]).ok();
    let found = risk(&bed, "out.csv", &[]);
    assert_eq!((&found["classes"], &found["unique"]), (&json!(2), &json!(0)));
    assert!((found["prosecutor"]["highest"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert!((found["marketer"]["average"].as_f64().unwrap() - 2.0 / 6.0).abs() < 1e-12);
}

#[test]
fn risks_against_a_population() {
    let bed = Bed::people();
    // The sample is four of the eight: a alone of Bern 34, c of Thun, e and f of Biel.
    let lines: Vec<&str> = CLASSES.lines().collect();
    let sample = [lines[0], lines[1], lines[3], lines[5], lines[6]].join("\n") + "\n";
    bed.file("population.csv", CLASSES).file("table.csv", sample);
    let found = risk(&bed, "table.csv", &["--population", "population.csv"]);
    assert_eq!(found["prosecutor"]["average"], json!((1.0 + 1.0 + 0.5 + 0.5) / 4.0));
    // In the population the three classes have 1, 2 and 4 people.
    assert_eq!(found["journalist"]["highest"], json!(1.0));
    assert_eq!(found["journalist"]["average"], json!((1.0 + 0.5 + 0.25 + 0.25) / 4.0));
    assert_eq!(found["marketer"]["average"], json!(0.5));
    assert_eq!(found["journalist"]["above-threshold"], json!(1.0));
}

#[test]
fn a_threshold_is_a_share() {
    let bed = Bed::people();
    for threshold in ["1.5", "nan", "inf"] {
        bed.run(&["risk", "table.csv", "--policy", "policy.toml", "--threshold", threshold])
            .fails_with(2, "threshold");
    }
    assert_eq!(bed.read("table.csv"), PEOPLE);
}
