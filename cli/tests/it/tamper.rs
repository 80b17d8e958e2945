//! `verify` sees whatever was done to a release after it was written.

use crate::bed::{Bed, Outcome};
use serde_json::json;

/// Sixteen people in four classes of four, each class with the ills a, b, c, d once: what the tests
/// below require is met with little to spare.
fn released(requirement: &str) -> Bed {
    let bed = Bed::new();
    let mut table = String::from("name,age,city,ill\n");
    for (person, (age, city)) in
        [(31, "Bern"), (51, "Bern"), (31, "Thun"), (51, "Thun")].iter().enumerate()
    {
        for ill in ["a", "b", "c", "d"] {
            table += &format!("{person}{ill},{age},{city},{ill}\n");
        }
    }
    bed.file("table.csv", table).file("city.csv", "Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\n");
    bed.file("policy.toml", crate::bed::PEOPLE_POLICY.replace("k = 2", requirement));
    bed.anonymize(&["--levels", "age=1,city=1"]).ok();
    assert_eq!(bed.records("out.csv", ',').len(), 17);
    verify(&bed).ok();
    bed
}

fn verify(bed: &Bed) -> Outcome {
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"])
}

/// The check fails, for people and for scripts, and says so in one line.
#[track_caller]
fn caught(bed: &Bed, says: &str) {
    verify(bed).fails_with(1, "out.csv").says(says);
    let outcome =
        bed.run(&["verify", "out.csv", "--policy", "policy.toml", "--json"]).fails_with(1, says);
    assert_eq!(outcome.json()["satisfied"], json!(false));
}

/// Blank lines may fill a part of the file that is read by itself; no row is in it.
#[test]
fn blank_lines_are_no_rows() {
    let bed = released("k = 4");
    let release = bed.read("out.csv");
    for text in [
        release.replace('\n', "\r\n"),
        release.clone() + &"\n".repeat(300_000),
        "\n".repeat(300_000) + &release,
    ] {
        bed.file("out.csv", text);
        verify(&bed).ok();
    }
    for ending in ["\n", "\r\n", "\n\n", "\r\n\r\n"] {
        bed.file("out.csv", String::from("age,city,ill") + ending);
        verify(&bed).fails_with(2, "out.csv").says("no rows");
    }
}

#[test]
fn an_untouched_release_holds() {
    let bed = released("k = 4");
    let report = bed.run(&["verify", "out.csv", "--policy", "policy.toml", "--json"]).ok().json();
    assert_eq!(report["satisfied"], json!(true));
    assert_eq!(
        (&report["released"], &report["classes"], &report["smallest-class"]),
        (&json!(16), &json!(4), &json!(4))
    );
    assert_eq!(report["privacy"][0]["achieved"], json!(4));
    // Another k than the policy's.
    bed.run(&["verify", "out.csv", "--policy", "policy.toml", "-k", "5"])
        .fails_with(1, "k-anonymity");
}

#[test]
fn a_row_removed() {
    let bed = released("k = 4");
    bed.edit("out.csv", "30-39,plain,b\n", "");
    caught(&bed, "k-anonymity: required at least 4, reached 3 (1 of 4 classes fail)");
}

#[test]
fn a_row_moved_to_another_class() {
    let bed = released("k = 4");
    bed.edit("out.csv", "30-39,plain,b", "50-59,plain,b");
    caught(&bed, "k-anonymity");
}

#[test]
fn a_row_made_finer() {
    let bed = released("k = 4");
    bed.edit("out.csv", "30-39,plain,b", "31,Bern,b");
    caught(&bed, "k-anonymity");
}

#[test]
fn a_space_makes_another_class() {
    let bed = released("k = 4");
    bed.edit("out.csv", "30-39,plain,b", "30-39 ,plain,b");
    caught(&bed, "k-anonymity");
}

#[test]
fn frequency_diversity() {
    let bed = released("l-diversity = { kind = \"frequency\", l = 4 }");
    bed.edit("out.csv", "50-59,lake,a", "50-59,lake,b");
    caught(&bed, "l-diversity of `ill`: required at least 4, reached 2 (1 of 4 classes fail)");
}

#[test]
fn distinct_diversity() {
    let bed = released("l-diversity = { kind = \"distinct\", l = 4 }");
    bed.edit("out.csv", "50-59,lake,a", "50-59,lake,b");
    caught(&bed, "l-diversity of `ill`: required at least 4, reached 3 (1 of 4 classes fail)");
}

#[test]
fn entropy_diversity() {
    let bed = released("l-diversity = { kind = \"entropy\", l = 4 }");
    bed.edit("out.csv", "50-59,lake,a", "50-59,lake,b");
    caught(&bed, "l-diversity of `ill`: required at least 4, reached 2.8");
}

#[test]
fn recursive_diversity() {
    // 1 < 0.6 (1 + 1) holds; with two of a kind, 2 < 0.6 (1) does not.
    let bed = released("l-diversity = { kind = \"recursive\", l = 3, c = 0.6 }");
    bed.edit("out.csv", "50-59,lake,a", "50-59,lake,b");
    caught(&bed, "l-diversity of `ill`");
}

#[test]
fn recursive_diversity_with_too_few_values() {
    let bed = released("l-diversity = { kind = \"recursive\", l = 4, c = 2 }");
    bed.edit("out.csv", "50-59,lake,a", "50-59,lake,b");
    caught(&bed, "l-diversity of `ill`");
}

#[test]
fn closeness() {
    let bed = released("t-closeness = 0");
    bed.edit("out.csv", "50-59,lake,a", "50-59,lake,b");
    caught(&bed, "of `ill`: required at most 0,");
    // A value that nobody had.
    let bed = released("t-closeness = 0.1");
    bed.edit("out.csv", "50-59,lake,a", "50-59,lake,e");
    caught(&bed, "of `ill`: required at most 0.1,");
}

#[test]
fn one_of_several_requirements() {
    let bed = released(
        "k = 4\nt-closeness = 0.5\nl-diversity = [{ kind = \"distinct\", l = 3 }, { kind = \"entropy\", l = 4 }]",
    );
    bed.edit("out.csv", "50-59,lake,a", "50-59,lake,b");
    let report = bed
        .run(&["verify", "out.csv", "--policy", "policy.toml", "--json"])
        .fails_with(1, "l-diversity")
        .json();
    let satisfied: Vec<bool> = report["privacy"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["satisfied"].as_bool().unwrap())
        .collect();
    assert_eq!(satisfied, [true, true, false, true]);
}

#[test]
fn a_sensitive_value_erased_counts_as_a_value() {
    let bed = released("l-diversity = { kind = \"distinct\", l = 4 }");
    bed.edit("out.csv", "50-59,lake,a", "50-59,lake,");
    verify(&bed).ok();
    bed.edit("out.csv", "50-59,lake,b", "50-59,lake,");
    caught(&bed, "l-diversity");
}

/// Puts a column in front of the release.
fn with_column(bed: &Bed, name: &str) {
    let text = bed.read("out.csv");
    let lines = text.lines().enumerate().map(|(line, text)| match line {
        0 => format!("{name},{text}\n"),
        _ => format!("p{line},{text}\n"),
    });
    bed.file("out.csv", lines.collect::<String>());
}

#[test]
fn an_identifier_added() {
    let bed = released("k = 4");
    with_column(&bed, "name");
    caught(&bed, "identifier `name`");
}

#[test]
fn an_unknown_column_added() {
    let bed = released("k = 4");
    with_column(&bed, "shoe-size");
    verify(&bed).fails_with(2, "column `shoe-size`").says("no role");
}

#[test]
fn a_column_removed() {
    for (name, at) in [("age", 0), ("city", 1), ("ill", 2)] {
        let bed = released("k = 4");
        let mut rows = bed.records("out.csv", ',');
        rows.iter_mut().for_each(|row| drop(row.remove(at)));
        bed.file("out.csv", crate::bed::delimited(&rows, ','));
        verify(&bed).fails_with(2, "out.csv").says(&format!("`{name}`"));
    }
}

#[test]
fn a_quasi_identifier_outside_its_hierarchy() {
    let bed = released("k = 4");
    // The whole class, so that it is large enough.
    bed.file("out.csv", bed.read("out.csv").replace("30-39,plain", "30-39,seaside"));
    caught(&bed, "`seaside`");
}

#[test]
fn a_quasi_identifier_outside_its_intervals() {
    let bed = released("k = 4");
    for bad in ["130-139", "old", "31-38", "31.5", "-5", "130"] {
        bed.anonymize(&["--levels", "age=1,city=1"]).ok();
        bed.file("out.csv", bed.read("out.csv").replace("30-39", bad));
        caught(&bed, &format!("`{bad}`"));
    }
}

#[test]
fn a_quasi_identifier_outside_its_calendar_or_mask() {
    let bed = Bed::new();
    let policy = "[attributes.born]\nrole = \"quasi-identifier\"\nhierarchy = { dates = [\"month\", \"year\"] }\n\
        [attributes.zip]\nrole = \"quasi-identifier\"\ntype = \"text\"\nhierarchy = { mask = \"right\" }\n[privacy]\nk = 2\n";
    bed.file("policy.toml", policy)
        .file("table.csv", "born,zip\n2001-05-04,3012\n2001-05-09,3013\n");
    bed.anonymize(&["--levels", "born=1,zip=1"]).ok();
    assert_eq!(bed.read("out.csv"), "born,zip\n2001-05,301*\n2001-05,301*\n");
    verify(&bed).ok();
    bed.file("out.csv", "born,zip\n2001-05 (Ann),301*\n2001-05 (Ann),301*\n");
    caught(&bed, "`2001-05 (Ann)`");
}

#[test]
fn all_rows_removed() {
    let bed = released("k = 4");
    bed.file("out.csv", "age,city,ill\n");
    verify(&bed).fails_with(2, "no rows");
    bed.file("out.csv", "");
    verify(&bed).fails_with(2, "header");
}

#[test]
fn a_release_cut_off_in_the_middle() {
    let bed = released("k = 4");
    let text = bed.read("out.csv");
    bed.file("out.csv", &text[..text.len() - 3]);
    verify(&bed).fails_with(2, "out.csv:17");
}

#[test]
fn the_input_is_no_release() {
    let bed = released("k = 4");
    bed.file("out.csv", bed.read("table.csv"));
    caught(&bed, "identifier `name`");
}

#[test]
fn parquet_and_arrow_releases_are_judged_the_same() {
    for ending in ["parquet", "arrow"] {
        let bed = released("k = 4\nl-diversity = { kind = \"distinct\", l = 4 }");
        bed.edit("out.csv", "50-59,lake,a", "50-59,lake,b");
        bed.file(
            "loose.toml",
            bed.read("policy.toml")
                .replace("{ intervals = [10, 20], from = 0, to = 100 }", "{ mask = \"right\" }")
                .replace("type = \"integer\"", "")
                .replace("\"city.csv\"", "{ mask = \"right\" }")
                .replace("l = 4", "l = 3"),
        );
        bed.edit("loose.toml", "[attributes.name]\nrole = \"identifier\"\n", "");
        let out = format!("out.{ending}");
        bed.run(&[
            "anonymize",
            "out.csv",
            "--policy",
            "loose.toml",
            "-o",
            &out,
            "--levels",
            "age=0,city=0",
        ])
        .ok();
        bed.run(&["verify", &out, "--policy", "policy.toml"])
            .fails_with(1, "l-diversity of `ill`: required at least 4, reached 3");
    }
}
