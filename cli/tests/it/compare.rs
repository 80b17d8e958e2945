//! `compare`: the figures of every row are those of the command that would release it.

use crate::bed::Bed;
use serde_json::Value;

/// A table of 400 people with a sensitive attribute and a target.
fn bed() -> Bed {
    let bed = Bed::new();
    let mut state = 5u32;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    let mut table = "age,city,ill,income\n".to_string();
    for _ in 0..400 {
        let age = 20 + next(60);
        let city = ["Bern", "Biel", "Thun", "Spiez"][next(4) as usize];
        let ill = ["flu", "gout", "asthma"][next(3) as usize];
        let income = if age / 10 % 2 == 0 || next(5) == 0 { "high" } else { "low" };
        table += &format!("{age},{city},{ill},{income}\n");
    }
    bed.file("table.csv", table).file("policy.toml", POLICY);
    bed.file("city.csv", "Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\nSpiez;lake;CH\n");
    bed
}

const POLICY: &str = r#"[attributes.age]
role = "quasi-identifier"
hierarchy = { intervals = [5, 10, 20], from = 20, to = 79 }

[attributes.city]
role = "quasi-identifier"
hierarchy = "city.csv"

[attributes.ill]
role = "sensitive"

[attributes.income]
role = "target"

[privacy]
k = 5

[search]
suppression = { limit = 0.02 }
"#;

fn compare(bed: &Bed, more: &[&str]) -> Vec<Value> {
    let outcome = bed.run(&[&["compare", "table.csv", "--json"], more].concat()).ok();
    assert!(outcome.touched.is_empty(), "{outcome:?}");
    let rows: Value = serde_json::from_str(&outcome.stdout).unwrap();
    rows.as_array().expect("a list").clone()
}

/// The keys that a row has in common with the report of a command.
const SAME: [&str; 7] =
    ["algorithm", "rows", "released", "suppressed", "classes", "smallest-class", "average-class"];

/// Whether a row says what `anonymize` and `risk` say of the release.
#[track_caller]
fn assert_same(bed: &Bed, row: &Value, more: &[&str]) {
    let report = bed.anonymize(&[more, &["--json", "--seed", "1"]].concat()).ok().json();
    for key in SAME {
        assert_eq!(row[key], report[key], "{key}: {row}\n{report}");
    }
    assert_eq!(row["loss"], report["loss"], "{row}\n{report}");
    assert_eq!(row["search"]["optimal"], report["search"]["optimal"]);
    let risk = ["risk", "out.csv", "--policy", "policy.toml", "--json"];
    let risk = &bed.run(&risk).ok().json()["prosecutor"];
    for key in ["highest", "average"] {
        let (told, measured) = (row["risk"][key].as_f64(), risk[key].as_f64());
        assert!((told.unwrap() - measured.unwrap()).abs() < 1e-12, "{key}: {row} {risk}");
    }
}

#[test]
fn kinds_of_recoding_are_compared_as_they_would_be_released() {
    let bed = bed();
    let rows = compare(&bed, &["--policy", "policy.toml", "--seed", "1"]);
    let kinds: Vec<&str> = rows.iter().map(|row| row["recoding"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["levels", "cuts", "regions", "local"]);
    for row in &rows {
        let bed = self::bed();
        let kind = row["recoding"].as_str().unwrap();
        let search = format!("[search]\nrecoding = \"{kind}\"\n");
        bed.edit("policy.toml", "[search]\n", &search);
        assert_same(&bed, row, &[]);
        assert!(row["loss"]["cm"].is_number() && row["seconds"].as_f64().unwrap() > 0.0);
    }
    // The least of them is what would be released without a choice.
    let report = bed.anonymize(&["--json", "--seed", "1"]).ok().json();
    let lm = |report: &Value| report["loss"]["lm"].as_f64().unwrap();
    let least = rows.iter().map(lm).fold(1.0, f64::min);
    assert_eq!(lm(&report), least);
}

#[test]
fn values_of_k_are_compared() {
    let bed = bed();
    bed.edit("policy.toml", "[search]\n", "[search]\nrecoding = \"levels\"\n");
    let rows = compare(&bed, &["--policy", "policy.toml", "-k", "2,20,500"]);
    let k: Vec<u64> = rows.iter().map(|row| row["k"].as_u64().unwrap()).collect();
    assert_eq!(k, [2, 20, 500]);
    assert_same(&bed, &rows[0], &["-k", "2"]);
    assert_same(&bed, &rows[1], &["-k", "20"]);
    let refused = &rows[2];
    assert_eq!(refused["released"], 0);
    assert!(
        refused["error"].as_str().unwrap().contains("required at least 500, reached 400"),
        "{refused}"
    );
    assert!(refused.get("loss").is_none() && refused.get("risk").is_none());
    let shown = bed.run(&["compare", "table.csv", "-p", "policy.toml", "--k", "2,500"]).ok().stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], "table.csv: 400 rows; nothing was released");
    assert!(lines[1].trim_start().starts_with("recoding"), "{shown}");
    assert!(lines[2].contains("optimal") && lines[2].contains(" 2 "), "{shown}");
    assert!(
        lines[3].ends_with("cannot be met: k-anonymity: required at least 500, reached 400"),
        "{shown}"
    );
    assert!(lines.iter().all(|line| !line.ends_with(' ')), "{shown}");
}

#[test]
fn policies_are_compared_and_other_hierarchies_are_noted() {
    let bed = bed();
    bed.edit("policy.toml", "[search]", "[search]\nrecoding = \"regions\"");
    let policy = bed.read("policy.toml");
    let coarse = policy.replace("[5, 10, 20]", "[20]");
    bed.file("coarse.toml", coarse).file("strict.toml", policy.replace("k = 5", "k = 25"));
    let both = ["--policy", "policy.toml", "--policy", "strict.toml", "--seed", "1"];
    let rows = compare(&bed, &both);
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["policy"], &rows[0]["k"]), (&"policy.toml".into(), &5.into()));
    assert_eq!((&rows[1]["policy"], &rows[1]["k"]), (&"strict.toml".into(), &25.into()));
    assert_same(&bed, &rows[0], &[]);
    assert_same(&bed, &rows[1], &["-k", "25"]);
    let shown = |other: &str| {
        let arguments = ["compare", "table.csv", "-p", "policy.toml", "-p", other];
        bed.run(&arguments).ok().stdout
    };
    let note = "the policies treat columns differently";
    assert!(!shown("strict.toml").contains(note) && shown("strict.toml").contains("strict.toml"));
    assert!(shown("coarse.toml").contains(note));
}

/// A presence has two kinds of recoding, and a policy that wants one kind has one row.
#[test]
fn only_kinds_that_a_policy_allows_are_compared() {
    let bed = bed();
    let kinds = |policy: &str| -> Vec<String> {
        let rows = compare(&bed, &["--policy", policy]);
        rows.iter().map(|row| row["recoding"].as_str().unwrap().to_string()).collect()
    };
    for (algorithm, kind) in [("mondrian", "regions"), ("l-plus-optimize", "cuts")] {
        let text = POLICY.replace("[search]", &format!("[search]\nalgorithm = \"{algorithm}\""));
        bed.file("one.toml", text);
        assert_eq!(kinds("one.toml"), [kind]);
    }
    bed.file("dm.toml", POLICY.replace("[search]", "[search]\nloss = \"dm\""));
    assert_eq!(kinds("dm.toml"), ["levels", "cuts", "regions", "local"]);
    let people = bed.read("table.csv");
    bed.file("world.csv", people);
    let presence = "presence = { min = 0, max = 1, population = \"world.csv\" }";
    let text = POLICY.replace("suppression = { limit = 0.02 }", "").replace("k = 5", presence);
    bed.file("presence.toml", text);
    assert_eq!(kinds("presence.toml"), ["levels", "regions"]);
    // Entropy is beyond a search for cuts, which is a row of its own.
    let text = POLICY.replace("k = 5", "l-diversity = { kind = \"entropy\", l = 2 }");
    bed.file("entropy.toml", text);
    let rows = compare(&bed, &["--policy", "entropy.toml"]);
    assert_eq!(rows.len(), 4);
    let reason = rows[1]["error"].as_str().unwrap();
    assert!(reason.contains("cannot be cuts"), "{reason}");
    assert!(rows[0]["loss"]["lm"].is_number(), "{}", rows[0]);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let bed = bed();
    let run = |more: &[&str]| bed.run(&[&["compare", "table.csv"], more].concat());
    run(&[]).fails_with(2, "--policy");
    run(&["-p", "none.toml"]).fails_with(2, "none.toml");
    run(&["-p", "policy.toml", "-k", "0"]).fails_with(2, "--k");
    run(&["-p", "policy.toml", "-p", "none.toml"]).fails_with(2, "none.toml");
    bed.file(
        "distribution.toml",
        POLICY.replace("k = 5", "distribution = { attribute = \"ill\", target = \"uniform\" }"),
    );
    run(&["-p", "distribution.toml"]).fails_with(2, "distribution");
    bed.file("other.toml", POLICY.replace("attributes.ill", "attributes.illness"));
    run(&["-p", "other.toml"]).fails_with(2, "ill");
    run(&["-p", "policy.toml", "-p", "other.toml"]).fails_with(2, "ill");
    run(&["-p", "policy.toml", "--format", "csv"]).fails_with(2, "--format");
}

/// A limited memory: the table is partitioned on disk, and nothing is left behind.
#[test]
fn tables_beyond_the_memory_are_compared_too() {
    let bed = bed();
    let row = |at: usize| format!("{},{},{},low\n", 20 + at % 60, ["Bern", "Thun"][at % 2], at % 7);
    let rows: String = (0..400_000).map(row).collect();
    bed.file("table.csv", format!("age,city,ill,income\n{rows}"));
    let text = POLICY.replace("[search]", "[search]\nalgorithm = \"rothko-s\"");
    bed.file("policy.toml", text.replace("suppression = { limit = 0.02 }", ""));
    let rows = compare(&bed, &["--policy", "policy.toml", "--memory", "32MiB", "--seed", "1"]);
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["recoding"], &rows[0]["rows"]), (&"regions".into(), &400_000.into()));
    assert_same(&bed, &rows[0], &["--memory", "32MiB"]);
}
