//! Distribution releases from the command line: the paper's figures, what is refused, what
//! tampering shows.

use crate::bed::{Bed, Outcome};
use serde_json::{Value, json};
use std::path::Path;

/// The employees of figure 1 and the policy of the example, with something else in the place of its
/// last line.
fn employees(groups: &str) -> Bed {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/salaries");
    let bed = Bed::new();
    bed.file("table.csv", std::fs::read(folder.join("employees.csv")).unwrap());
    let policy = std::fs::read_to_string(folder.join("policy.toml")).unwrap();
    assert!(policy.contains("groups = { zipcode = 2 }"));
    bed.file("policy.toml", policy.replace("groups = { zipcode = 2 }", groups));
    bed
}

fn anonymize(bed: &Bed) -> Outcome {
    bed.run(&["anonymize", "table.csv", "--policy", "policy.toml", "-o", "out", "--json"])
}

fn verify(bed: &Bed) -> Outcome {
    bed.run(&["verify", "out", "--policy", "policy.toml"])
}

fn verify_with_original(bed: &Bed) -> Outcome {
    bed.run(&["verify", "out", "--policy", "policy.toml", "--original", "table.csv"])
}

/// A release, made and checked both ways.
fn released(groups: &str) -> Bed {
    let bed = employees(groups);
    anonymize(&bed).ok();
    verify(&bed).ok();
    verify_with_original(&bed).ok();
    bed
}

fn ask(bed: &Bed, sql: &str) -> Value {
    bed.run(&["query", "out", sql, "--json"]).ok().json()
}

fn lines(bed: &Bed, name: &str) -> Vec<String> {
    bed.read(name).lines().map(str::to_string).collect()
}

#[test]
fn figure_2() {
    let bed = employees("groups = { zipcode = 2 }");
    let report = anonymize(&bed).ok().json();
    assert_eq!(
        lines(&bed, "out/sensitive.csv")[1..],
        [
            "911**,30000",
            "911**,40000",
            "911**,50000",
            "911**,60000",
            "912**,30000-60000",
            "912**,30000-40000",
            "912**,50000-60000",
            "913**,30000-60000",
            "913**,30000-60000",
            "913**,30000-40000",
            "913**,50000-60000",
        ]
    );
    // Quasi-identifiers as they were, no name, no salary.
    let records = lines(&bed, "out/records.csv");
    assert_eq!(
        (records[0].as_str(), records[1].as_str()),
        ("zipcode,gender,group", "91110,F,911**")
    );
    assert_eq!(records.len(), 12);
    assert_eq!(report["distribution"]["sum-of-ranges"], json!(130_000.0));
    assert_eq!(
        (&report["distribution"]["fakes"], &report["distribution"]["groups"]),
        (&json!(0), &json!(3))
    );
    assert_eq!(report["privacy"][0]["satisfied"], json!(true));
    assert_eq!(
        serde_json::from_str::<Value>(&bed.read("out/report.json")).unwrap()["released"],
        json!(11)
    );
    assert_eq!(
        (bed.mode("out"), bed.mode("out/records.csv"), bed.mode("out/report.json")),
        (0o700, 0o600, 0o600)
    );
    // The queries of section 2.
    let female = ask(&bed, "SELECT AVG(salary) FROM employees WHERE gender = 'F'");
    assert_eq!(female, json!({"rows": 6, "lower": 35000, "upper": 55000}));
    let area = ask(&bed, "SELECT AVG(salary) FROM employees WHERE zipcode LIKE '913%'");
    assert_eq!(area, json!({"rows": 4, "lower": 35000, "upper": 55000}));
    let area =
        ask(&bed, "select sum(SALARY) from employees where zipcode between '91200' and '91299'");
    assert_eq!(area, json!({"rows": 3, "lower": 110_000, "upper": 160_000}));
    let rounded = ask(&bed, "SELECT AVG(salary) FROM e WHERE \"group\" = '912**'");
    assert_eq!(
        (&rounded["lower"], &rounded["upper"]),
        (&json!(36666.6666666666), &json!(53333.3333333334))
    );
}

#[test]
fn section_2_one_fake_completes_the_second_group() {
    let bed = released("groups = { zipcode = 2 }\nfakes = 1");
    let sensitive = lines(&bed, "out/sensitive.csv");
    let second: Vec<&String> = sensitive.iter().filter(|line| line.starts_with("912**")).collect();
    assert_eq!(second, ["912**,30000", "912**,40000", "912**,50000", "912**,60000"]);
    // Three of the four salaries, so 40K to 50K on average.
    let area = ask(&bed, "SELECT AVG(salary) FROM employees WHERE zipcode LIKE '912%'");
    assert_eq!(area, json!({"rows": 3, "lower": 40000, "upper": 50000}));
    // The first group follows the target already and takes none.
    assert_eq!(sensitive.iter().filter(|line| line.starts_with("911**")).count(), 4);
}

/// Another generalization of the same values, as private and less precise.
#[test]
fn figure_4() {
    let bed = released("groups = { zipcode = 2 }");
    let root = "30000-60000";
    let groups: [(&str, [&str; 4]); 3] = [
        ("911**", ["30000-40000", "50000", "30000-40000", "60000"]),
        ("912**", ["50000-60000", "30000-40000", root, ""]),
        ("913**", [root, root, root, root]),
    ];
    let mut sensitive = String::from("group,value\n");
    let mut bounds = lines(&bed, "out/bounds.csv")[0].clone() + "\n";
    for (group, values) in groups {
        let values: Vec<&str> = values.into_iter().filter(|value| !value.is_empty()).collect();
        let ends =
            |end: usize| values.iter().map(move |value| value.split('-').cycle().nth(end).unwrap());
        let mut lower: Vec<i64> = ends(0).map(|end| end.parse().unwrap()).collect();
        let mut upper: Vec<i64> = ends(1).map(|end| end.parse().unwrap()).collect();
        lower.sort();
        upper.sort_by(|a, b| b.cmp(a));
        for selected in 1..=values.len() {
            let sum = |ends: &[i64]| ends[..selected].iter().sum::<i64>();
            let (low, high) = (lower[selected - 1], upper[selected - 1]);
            let (least, greatest) = (lower[0], upper[0]);
            let (from, to) = (sum(&lower), sum(&upper));
            bounds += &format!("{group},{selected},{from},{to},{least},{high},{low},{greatest}\n");
        }
        values.iter().for_each(|value| sensitive += &format!("{group},{value}\n"));
    }
    bed.file("out/sensitive.csv", sensitive).file("out/bounds.csv", bounds);
    verify(&bed).ok();
    verify_with_original(&bed).ok();
    // "The bounds derived from the trivial generalization are much worse."
    let area = ask(&bed, "SELECT AVG(salary) FROM employees WHERE zipcode LIKE '913%'");
    assert_eq!(area, json!({"rows": 4, "lower": 30000, "upper": 60000}));
}

#[test]
fn every_aggregate_and_group_by() {
    let bed = released("groups = { zipcode = 2 }");
    for (sql, rows, lower, upper) in [
        ("SELECT COUNT(*) FROM e", 11, 11, 11),
        ("SELECT COUNT(salary) FROM e WHERE gender <> 'F'", 5, 5, 5),
        ("SELECT MIN(salary) FROM e WHERE zipcode IN ('91110', '91130')", 4, 30000, 30000),
        (
            "SELECT MAX(salary) FROM e WHERE NOT (gender = 'F' OR zipcode < '91300')",
            3,
            30000,
            60000,
        ),
        ("SELECT MEDIAN(salary) FROM e WHERE \"group\" = '911**'", 4, 45000, 45000),
        ("SELECT SUM(salary) FROM e WHERE gender IS NOT NULL AND 1 = 1", 11, 430_000, 560_000),
    ] {
        assert_eq!(ask(&bed, sql), json!({"rows": rows, "lower": lower, "upper": upper}), "{sql}");
    }
    assert_eq!(
        ask(&bed, "SELECT SUM(salary) FROM e WHERE gender IS NULL"),
        json!({"rows": 0, "lower": null, "upper": null})
    );
    let by = ask(&bed, "SELECT gender, AVG(salary) FROM e GROUP BY gender");
    assert_eq!(
        by["answers"][0],
        json!({"by": {"gender": "F"}, "rows": 6, "lower": 35000, "upper": 55000})
    );
    assert_eq!(by["answers"].as_array().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_answered_is_refused_with_what_can() {
    let bed = released("groups = { zipcode = 2 }");
    for (sql, says) in [
        ("DELETE FROM e", "expected one SELECT statement"),
        ("SELECT", "Expected"),
        ("SELECT AVG(salary) FROM e; SELECT 1", "expected one SELECT statement"),
        ("SELECT AVG(salary) FROM e ORDER BY 1", "clause"),
        ("SELECT AVG(salary) FROM e LIMIT 1", "clause"),
        ("SELECT AVG(salary) FROM e GROUP BY gender HAVING COUNT(*) > 1", "clause"),
        ("SELECT AVG(DISTINCT salary) FROM e", "plain argument"),
        ("SELECT AVG(salary) OVER () FROM e", "plain argument"),
        ("SELECT AVG(salary) FILTER (WHERE gender = 'F') FROM e", "plain argument"),
        ("SELECT AVG(salary) FROM e, f", "one table"),
        ("SELECT AVG(salary) FROM e JOIN f ON 1 = 1", "clause"),
        ("SELECT AVG(salary) FROM (SELECT * FROM e)", "one table"),
        ("SELECT AVG(salary), gender FROM e", "must appear in GROUP BY"),
        ("SELECT gender FROM e", "must appear in GROUP BY"),
        ("SELECT STDDEV(salary) FROM e", "unknown aggregate"),
        ("SELECT AVG(zipcode) FROM e", "not the sensitive attribute"),
        ("SELECT AVG(salary + 1) FROM e", "not the sensitive attribute"),
        ("SELECT AVG(salary) FROM e WHERE salary > 3 OR gender = 'F'", "combined by AND"),
        ("SELECT AVG(salary) FROM e WHERE NOT (salary > 3 AND gender = 'F')", "combined by AND"),
        ("SELECT AVG(salary) FROM e WHERE salary LIKE '3%'", "compared by LIKE"),
        ("SELECT AVG(salary) FROM e WHERE salary > 'many'", "is numeric"),
        ("SELECT AVG(salary) FROM e GROUP BY salary", "cannot be in GROUP BY"),
        ("SELECT AVG(salary) FROM e WHERE name = 'Alice'", "no column `name`"),
        ("SELECT AVG(salary) FROM e WHERE zipcode = gender", "not a constant"),
        ("SELECT AVG(salary) FROM e WHERE zipcode = 91110", "write '91110'"),
        ("SELECT AVG(salary) FROM e WHERE gender IN (SELECT 1)", "not a supported condition"),
        ("SELECT AVG(salary) FROM e WHERE gender LIKE 'x!' ESCAPE '!'", "escape"),
        ("SELECT AVG(salary) FROM e UNION SELECT 1", "plain SELECT"),
    ] {
        let outcome = bed.run(&["query", "out", sql]).fails_with(2, says);
        outcome.says("supported: SELECT");
    }
    // As deep as it is long: a chain of conditions must not end the program.
    let chain = vec!["gender = 'F'"; 5000].join(" OR ");
    assert_eq!(ask(&bed, &format!("SELECT COUNT(*) FROM e WHERE {chain}"))["rows"], json!(6));
    let nested = format!("{}1 = 1{}", "(".repeat(3000), ")".repeat(3000));
    bed.run(&["query", "out", &format!("SELECT COUNT(*) FROM e WHERE {nested}")])
        .fails_with(2, "recursion");
    bed.run(&["query", "table.csv", "SELECT COUNT(*) FROM e"]).fails_with(2, "table.csv");
}

#[test]
fn tampering_is_seen() {
    let caught = |name: &str, from: &str, to: &str, says: &str| {
        let bed = released("groups = { zipcode = 2 }");
        bed.edit(name, from, to);
        verify(&bed).fails_with(1, says);
        let json = bed
            .run(&["verify", "out", "--policy", "policy.toml", "--json"])
            .fails_with(1, says)
            .json();
        assert_eq!(json["satisfied"], json!(false));
    };
    caught("out/sensitive.csv", "911**,30000\n", "911**,40000\n", "definition 3.2");
    caught("out/sensitive.csv", "912**,30000-40000\n", "912**,30000\n", "definition 3.2");
    caught("out/sensitive.csv", "911**,30000\n", "", "only 3 subdomains");
    caught("out/sensitive.csv", "911**,30000\n", "911**,35000\n", "not a node");
    caught("out/sensitive.csv", "911**,60000\n", "911**,60000\n911**,30000-60000\n", "more fakes");
    caught("out/bounds.csv", "912**,3,110000", "912**,3,120000", "bounds.csv does not match");
    caught("out/records.csv", "91110,F,911**", "91110,F,912**", "records");
    caught("out/records.csv", "91110,F,911**", "91210,F,911**", "has records of group `912**`");
    caught("out/groups.csv", "911**,911**,1,4,4", "911**,911**,1,5,4", "groups.csv says 5");
    caught("out/groups.csv", "911**,911**,1,4,4", "911**,911**,1,4,3", "groups.csv says 3");
    caught(
        "out/hierarchy.csv",
        "1,30000-40000,30000-60000,1",
        "1,30000-40000,30000-60000,99999999999999999999",
        "weight",
    );
    caught(
        "out/hierarchy.csv",
        "1,30000-40000,30000-60000,1",
        "1,30000-40000,30000-60000,2",
        "weights",
    );
    caught(
        "out/hierarchy.csv",
        "1,30000-60000,,1,30000",
        "1,30000-60000,,1,20000",
        "bounds of a node",
    );
}

#[test]
fn the_original_shows_what_the_folder_cannot() {
    let bed = released("groups = { zipcode = 2 }");
    // Four times 60 in the third area were three: still a private release, and not of this table.
    bed.edit("table.csv", "Jason,91310,M,40000", "Jason,91310,M,60000");
    verify(&bed).ok();
    verify_with_original(&bed).fails_with(1, "definition 3.1");
    bed.edit("table.csv", "Jason,91310,M,60000", "Jason,91311,M,40000");
    verify_with_original(&bed).fails_with(1, "are not those of the table");
}

#[test]
fn targets_of_every_kind() {
    for target in [
        "target = \"source\"",
        "target = { kind = \"source\", of = \"group\" }",
        "target = { kind = \"uniform\", of = \"group\" }",
        "target = \"normal\"",
        "target = { kind = \"normal\", mean = 50000, deviation = 10000 }",
        "target = { kind = \"zipf\", s = 0.5 }",
        "target = \"weights.csv\"",
        "target = \"uniform\"\ntargets = { \"912**\" = \"weights.csv\", \"913**\" = { kind = \"zipf\" } }",
        "target = \"uniform\"\ndomain = [29999, 60001]",
        "target = \"source\"\nrounding = \"10%\"\nalgorithm = \"qi-sa\"",
        "target = \"uniform\"\narity = 3\nfakes = \"50%\"\nalgorithm = \"qi-sa\"",
    ] {
        let bed = employees("groups = { zipcode = 2 }");
        bed.file(
            "weights.csv",
            "value,weight\n30000,1/4\n40000,0.25\n50000.0,1\n60000,2\n70000,0\n80000,1\n",
        );
        bed.edit("policy.toml", "target = \"uniform\"", target);
        anonymize(&bed).ok();
        verify(&bed).ok();
        verify_with_original(&bed).ok();
        // The true sums of each area lie inside.
        for (area, truth) in [("911%", 180_000.0), ("912%", 120_000.0), ("913%", 220_000.0)] {
            let answer =
                ask(&bed, &format!("SELECT SUM(salary) FROM e WHERE zipcode LIKE '{area}'"));
            let (lower, upper) =
                (answer["lower"].as_f64().unwrap(), answer["upper"].as_f64().unwrap());
            assert!(lower <= truth && truth <= upper, "{target} {area}: {answer}");
        }
    }
}

#[test]
fn categories_with_a_hierarchy() {
    let bed = employees("");
    bed.edit("policy.toml", "type = \"integer\"", "type = \"text\"\nhierarchy = \"levels.csv\"");
    bed.file("levels.csv", "30000;low;any\n40000;low;any\n50000;high;any\n60000;high;any\n");
    let report = anonymize(&bed).ok().json();
    verify(&bed).ok();
    verify_with_original(&bed).ok();
    // 2, 3, 2 and 4 of eleven: two of each value, and what is left over in "high" and at the top.
    let sensitive = lines(&bed, "out/sensitive.csv");
    let count =
        |value: &str| sensitive.iter().filter(|line| line.ends_with(&format!(",{value}"))).count();
    assert_eq!(
        (count("30000"), count("60000"), count("low"), count("high"), count("any")),
        (2, 2, 1, 1, 1)
    );
    // The range of a subdomain is the number of its values (footnote 3).
    assert_eq!(report["distribution"]["sum-of-ranges"], json!(8.0 + 2.0 + 2.0 + 4.0));
    assert_eq!(ask(&bed, "SELECT COUNT(salary) FROM e")["rows"], json!(11));
    bed.run(&["query", "out", "SELECT AVG(salary) FROM e"]).fails_with(2, "requires numbers");
}

/// "We may first use any basic k-anonymity algorithm, then for each group …" (section 1).
#[test]
fn quasi_identifiers_may_be_generalized_first() {
    for algorithm in ["auto", "incognito", "mondrian"] {
        let bed = employees("");
        bed.edit(
            "policy.toml",
            "[privacy.distribution]",
            "[privacy]\nk = 3\n\n[privacy.distribution]",
        );
        let search = format!("\n[search]\nalgorithm = \"{algorithm}\"\nregions = \"cover\"\n");
        let search = if algorithm == "mondrian" {
            search
        } else {
            search.replace("regions = \"cover\"\n", "")
        };
        bed.file("policy.toml", bed.read("policy.toml") + &search);
        let report = anonymize(&bed).ok().json();
        assert!(report["smallest-class"].as_u64().unwrap() >= 3, "{report}");
        assert_eq!(report["groups"], report["classes"], "each class is a group");
        assert_eq!(report["privacy"].as_array().unwrap().len(), 2);
        verify(&bed).ok();
        verify_with_original(&bed).ok();
        assert_eq!(ask(&bed, "SELECT COUNT(*) FROM e")["rows"], report["released"]);
        // The records do not keep k = 6 as well.
        bed.run(&["verify", "out", "--policy", "policy.toml", "-k", "12"])
            .fails_with(1, "k-anonymity");
    }
}

/// A smaller value without a weight comes later, and in a later group.
#[test]
fn the_first_line_without_a_weight_is_named() {
    let bed = employees("groups = { zipcode = 2 }");
    bed.file("weights.csv", "30000,0\n40000,1\n50000,0\n60000,1\n");
    bed.edit("policy.toml", "target = \"uniform\"", "target = \"weights.csv\"");
    bed.edit("table.csv", "Alice,91110,F,30000", "Alice,91110,F,60000");
    anonymize(&bed).fails_with(2, "table.csv:4: column `salary`: `50000` occurs in group `911**`");
    bed.edit("table.csv", "Carol,91110,M,50000", "Carol,91110,M,60000");
    anonymize(&bed).fails_with(2, "table.csv:7: column `salary`: `30000` occurs in group `912**`");
}

#[test]
fn bad_policies_are_refused() {
    let refused = |from: &str, to: &str, says: &str| {
        let bed = employees("groups = { zipcode = 2 }");
        bed.file("weights.csv", "30000,1\n40000,0\n50000,1\n60000,1\n")
            .file("words.csv", "30000,1\nforty,2\n");
        bed.edit("policy.toml", from, to);
        anonymize(&bed).fails_with(2, says);
        assert!(!bed.exists("out"));
    };
    let target = "target = \"uniform\"";
    refused(
        target,
        "target = \"weights.csv\"",
        "table.csv:3: column `salary`: `40000` occurs in group",
    );
    refused(target, "target = \"words.csv\"", "words.csv:2: `forty` is not an integer");
    refused(target, "target = \"unifrom\"", "uniform, source, normal, zipf");
    refused(
        target,
        "target = { kind = \"zipf\", mean = 3 }",
        "cannot be used with the kind `zipf`",
    );
    refused(target, "target = { kind = \"zipf\", s = 0 }", "a number above 0");
    refused(target, "target = \"uniform\"\nfakes = \"-1\"", "fakes");
    refused(target, "target = \"uniform\"\nfakes = 1.5e9", "fakes");
    refused(target, "target = \"uniform\"\narity = 1", "arity");
    refused(target, "target = \"uniform\"\nrounding = 0", "rounding");
    refused(target, "target = \"uniform\"\ndomain = [5, 3]", "domain");
    refused(target, "target = \"uniform\"\nfake = 3", "did you mean `fakes`?");
    refused("groups = { zipcode = 2 }", "groups = { zipcode = 9 }", "a level from 0 to 5");
    refused("groups = { zipcode = 2 }", "groups = [\"name\"]", "columns that are released");
    refused("groups = { zipcode = 2 }", "groups = [\"salary\"]", "columns that are released");
    refused("attribute = \"salary\"", "attribute = \"salry\"", "did you mean `salary`?");
    refused("attribute = \"salary\"", "attribute = \"gender\"", "requires the role `sensitive`");
    refused(
        "role = \"quasi-identifier\"\n\n",
        "role = \"sensitive\"\n\n",
        "gender` is sensitive, but nothing protects it",
    );
    let bed = employees("groups = { zipcode = 2 }");
    bed.edit("table.csv", "Bob,91110,M,40000", "Bob,91110,M,");
    anonymize(&bed).fails_with(2, "table.csv:3: column `salary`: the value is missing");
    // Whatever is not a folder for it cannot keep a distribution.
    let bed = employees("groups = { zipcode = 2 }");
    bed.run(&["verify", "table.csv", "--policy", "policy.toml"]).fails_with(2, "folder");
    bed.file("out/mine.txt", "keep");
    anonymize(&bed).fails_with(2, "already exists");
    assert_eq!(bed.read("out/mine.txt"), "keep");
}

/// A flag that names the algorithm of a distribution counts more than the policy's own; what would
/// have no effect is refused.
#[test]
fn flags_act_on_a_distribution_or_are_refused() {
    let fixed = ["anonymize", "table.csv", "--policy", "policy.toml", "-o", "out", "--json"];
    let run = |bed: &Bed, more: &[&str]| {
        let _ = std::fs::remove_dir_all(bed.path("out"));
        bed.run(&[&fixed[..], more].concat())
    };
    let bed = employees("groups = { zipcode = 2 }\nalgorithm = \"sa-only\"");
    assert_eq!(run(&bed, &[]).ok().json()["algorithm"], "sa-only");
    assert_eq!(run(&bed, &["--algorithm", "qi-sa"]).ok().json()["algorithm"], "qi-sa");
    let _ = std::fs::remove_dir_all(bed.path("out"));
    for flags in [
        ["--algorithm", "mondrian"],
        ["--loss", "dm"],
        ["--scheme", "records"],
        ["--strategy", "top-down"],
        ["--suppression", "5%"],
    ] {
        run(&bed, &flags).fails_with(2, flags[0]).says("without classes");
    }
    // With classes they act, and the buckets stay as the policy says.
    let bed = employees("algorithm = \"sa-only\"");
    let classes = run(&bed, &["-k", "3", "--algorithm", "incognito", "--loss", "dm"]).ok().json();
    let names = (&classes["algorithm"], &classes["generalized-by"]);
    assert_eq!(names, (&json!("sa-only"), &json!("incognito")));
    let _ = std::fs::remove_dir_all(bed.path("out"));
    run(&bed, &["-k", "3", "--algorithm", "rothko-s"]).fails_with(2, "--algorithm must be");
    bed.file("policy.toml", bed.read("policy.toml") + "\n[search]\nalgorithm = \"qi-sa\"\n");
    run(&bed, &[]).fails_with(2, "remove one");
}

#[test]
fn a_target_for_a_group_that_does_not_exist_is_refused() {
    let bed = employees("groups = { zipcode = 2 }\ntargets = { \"911*\" = \"source\" }");
    anonymize(&bed).fails_with(2, "did you mean `911**`?");
}

#[test]
fn a_column_of_group_names_may_be_called_group() {
    let bed = employees("groups = [\"group\"]");
    bed.file("table.csv", bed.read("table.csv").replace("zipcode", "group"));
    bed.edit("policy.toml", "[attributes.zipcode]", "[attributes.group]");
    anonymize(&bed).ok();
    verify(&bed).ok();
    verify_with_original(&bed).ok();
    assert_eq!(lines(&bed, "out/records.csv")[0], "gender,group");
    let bed = employees("groups = [\"gender\"]");
    bed.file("table.csv", bed.read("table.csv").replace("zipcode", "group"));
    bed.edit("policy.toml", "[attributes.zipcode]", "[attributes.group]");
    anonymize(&bed).fails_with(2, "rename it");
}

#[test]
fn the_same_bytes_for_any_number_of_threads_and_order_of_rows() {
    let bed = released("groups = { zipcode = 2 }\nfakes = 2\nalgorithm = \"qi-sa\"");
    let files = [
        "records.csv",
        "sensitive.csv",
        "bounds.csv",
        "groups.csv",
        "hierarchy.csv",
        "queries.sql",
    ];
    let first: Vec<String> = files.iter().map(|name| bed.read(&format!("out/{name}"))).collect();
    let table = bed.read("table.csv");
    let (header, rows) = table.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.reverse();
    bed.file("table.csv", format!("{header}\n{}\n", rows.join("\n")));
    bed.run(&["anonymize", "table.csv", "--policy", "policy.toml", "-o", "out/", "--threads", "1"])
        .ok();
    for (name, first) in files.iter().zip(first) {
        assert_eq!(bed.read(&format!("out/{name}")), first, "{name}");
    }
    assert!(bed.names().iter().all(|name| !name.contains("draft")), "{:?}", bed.names());
}

/// A value that only a suppressed row has is nowhere in the folder, nor is its row.
#[test]
fn nothing_of_suppressed_rows_is_left() {
    let bed = employees("fakes = 2");
    bed.file("table.csv", bed.read("table.csv") + "Zed,77077,Quux,77777\n");
    bed.edit("policy.toml", "[privacy.distribution]", "[privacy]\nk = 3\n\n[privacy.distribution]");
    bed.file(
        "policy.toml",
        bed.read("policy.toml") + "\n[search]\nsuppression = { limit = 0.1 }\n",
    );
    let report = anonymize(&bed).ok().json();
    assert_eq!((&report["released"], &report["suppressed"]), (&json!(11), &json!(1)));
    for name in bed.names().iter().filter(|name| name.starts_with("out/")) {
        // The report has times too, in which any digits may stand.
        let text = if name == "out/report.json" {
            report["distribution"].to_string()
        } else {
            bed.read(name)
        };
        assert!(
            !["77777", "77077", "Quux"].iter().any(|own| text.contains(own)),
            "{name}:\n{text}"
        );
    }
    verify(&bed).ok();
    verify_with_original(&bed).ok();
}

/// No algorithm that has all rows in memory takes more of it than it was given.
#[test]
fn rows_that_exceed_the_memory_are_refused() {
    let bed = employees("groups = { zipcode = 2 }");
    let table = bed.read("table.csv");
    let (header, rows) = table.split_once('\n').unwrap();
    let many = rows.repeat(16 * 1024 * 1024 / rows.len() / 5);
    bed.file("table.csv", format!("{header}\n{many}"));
    let asked =
        ["anonymize", "table.csv", "--policy", "policy.toml", "-o", "out", "--memory", "16MiB"];
    bed.run(&asked).fails_with(3, "the memory limit is too small");
    assert!(!bed.path("out").exists());
    bed.run(&[&asked[..7], &["64MiB"]].concat()).ok();
}

/// Caps follow from the frequencies of the input: suppressed rows do not move them.
#[test]
fn caps_are_those_of_the_input() {
    let bed = Bed::new();
    let ills = [
        ("Bern", ["flu", "flu", "flu", "gout", "cold"].as_slice()),
        ("Biel", ["gout", "gout", "cold", "cold", "flu"].as_slice()),
        ("Thun", ["flu", "flu"].as_slice()),
    ];
    let rows = ills.iter().flat_map(|(city, ills)| ills.iter().map(move |ill| (city, ill)));
    let rows: Vec<String> =
        rows.zip(1..).map(|((city, ill), pay)| format!("{city},{ill},{pay}\n")).collect();
    bed.file("table.csv", format!("city,ill,salary\n{}", rows.concat()));
    bed.file(
        "policy.toml",
        "[attributes.city]\nrole = \"quasi-identifier\"\n[attributes.ill]\nrole = \"sensitive\"\n\
         [attributes.salary]\nrole = \"sensitive\"\n[privacy]\n\
         thresholds = { from-frequency = \"2/5\", sensitive = \"ill\" }\n\
         distribution = { attribute = \"salary\", target = \"uniform\" }\n\
         [search]\nsuppression = { limit = 0.2 }\n",
    );
    // 6 of 12 rows have one of three values: the cap of flu is 2/5 * 6/4. In the 10 rows that are
    // left it would be 2/5 * 12/10, and Bern would fail.
    let report = anonymize(&bed).ok().json();
    assert_eq!(report["suppressed"], json!(2));
    assert_eq!(report["thresholds"]["ill"]["flu"], json!("3/5"), "{report}");
    verify(&bed).ok();
    verify_with_original(&bed).ok();
    std::fs::remove_file(bed.path("out/report.json")).unwrap();
    verify(&bed).fails_with(1, "thresholds");
    verify_with_original(&bed).ok();
}

/// Which rows are in which class is checked by labels, whatever the saved recoding says.
#[test]
fn generalized_rows_are_compared_by_their_labels() {
    let bed = employees("");
    bed.edit("policy.toml", "[privacy.distribution]", "[privacy]\nk = 3\n\n[privacy.distribution]");
    anonymize(&bed).ok();
    verify_with_original(&bed).ok();
    let records = bed.read("out/records.csv");
    let (header, rows) = records.split_once('\n').unwrap();
    let label = rows.split(',').next().unwrap();
    assert!(label.contains('*'), "{records}");
    // All labels of one class are those of another area.
    let wrong = label.replace("91", "92");
    for name in ["records.csv", "groups.csv", "sensitive.csv", "bounds.csv"] {
        let name = format!("out/{name}");
        bed.file(&name, bed.read(&name).replace(label, &wrong));
    }
    assert!(bed.read("out/records.csv").starts_with(header));
    verify(&bed).ok();
    verify_with_original(&bed).fails_with(1, "not those of the table");
}

#[test]
fn a_share_of_fakes_is_rounded_down() {
    let bed = employees("groups = { zipcode = 2 }\nfakes = \"50%\"");
    anonymize(&bed).ok();
    verify(&bed).ok();
    // The second area has three records, and one fake already.
    assert_eq!(lines(&bed, "out/groups.csv")[2], "912**,912**,1,3,4");
    bed.edit("policy.toml", "50%", "33%");
    verify(&bed).fails_with(1, "more fakes");
}

/// A query may be about the sensitive attribute too: the bounds are those of all assignments of
/// subdomains to records.
#[test]
fn conditions_on_the_sensitive_attribute_get_tight_bounds() {
    // 30, 40, 50 and 60 thousand in the first area; in the second one of these, one of the lower
    // two and one of the upper two.
    let bed = released("groups = { zipcode = 2 }");
    let area = |area: &str| format!("zipcode LIKE '{area}%'");
    for (aggregate, condition, rows, lower, upper) in [
        ("COUNT(*)", format!("salary > 50000 AND {}", area("911")), 4, 1, 1),
        ("COUNT(*)", format!("{} AND salary IN (30000, 60000)", area("911")), 4, 2, 2),
        ("COUNT(*)", "salary >= 40000 AND zipcode = '91130'".into(), 1, 0, 1),
        ("COUNT(salary)", format!("salary BETWEEN 1 AND 50000 AND {}", area("912")), 3, 1, 3),
        ("COUNT(salary)", "salary BETWEEN 30000 AND 60000".into(), 11, 11, 11),
        ("SUM(salary)", format!("salary > 35000 AND {}", area("911")), 4, 150_000, 150_000),
        ("SUM(salary)", format!("salary > 35000 AND {}", area("912")), 3, 50_000, 160_000),
        // Each may be below 50,000, but a sum is over one row at least.
        ("SUM(salary)", "salary >= 50000 AND zipcode = '91210'".into(), 1, 50_000, 60_000),
        ("AVG(salary)", format!("salary <> 60000 AND {}", area("911")), 4, 40_000, 40_000),
        ("AVG(salary)", format!("NOT (salary < 50000) AND {}", area("912")), 3, 50_000, 60_000),
        ("MIN(salary)", "salary > 35000".into(), 11, 40_000, 40_000),
        ("MAX(salary)", "salary < 55000 AND zipcode = '91110'".into(), 3, 40_000, 50_000),
        ("MEDIAN(salary)", format!("salary > 35000 AND {}", area("911")), 4, 50_000, 50_000),
    ] {
        let sql = format!("SELECT {aggregate} FROM e WHERE {condition}");
        assert_eq!(ask(&bed, &sql), json!({"rows": rows, "lower": lower, "upper": upper}), "{sql}");
    }
    // No value that satisfies the condition is possible.
    let none = ask(&bed, "SELECT SUM(salary) FROM e WHERE salary > 60000 AND gender = 'F'");
    assert_eq!(none, json!({"rows": 6, "lower": null, "upper": null}));
    let none = ask(&bed, "SELECT COUNT(*) FROM e WHERE salary > 60000");
    assert_eq!(none, json!({"rows": 11, "lower": 0, "upper": 0}));
}

#[test]
fn categories_are_counted_by_value() {
    let bed = employees("");
    bed.edit("policy.toml", "type = \"integer\"", "type = \"text\"\nhierarchy = \"levels.csv\"");
    bed.file("levels.csv", "30000;low;any\n40000;low;any\n50000;high;any\n60000;high;any\n");
    anonymize(&bed).ok();
    // Two of each value, and one each of "low", "high" and "any".
    for (condition, rows, lower, upper) in [
        ("salary = '30000'", 11, 2, 4),
        ("salary IN ('30000', '40000')", 11, 5, 6),
        ("salary <> '60000'", 11, 7, 9),
        ("salary LIKE '%0000' AND gender = 'F'", 6, 6, 6),
        ("salary = '30000' AND gender = 'F'", 6, 0, 4),
        ("salary = '99'", 11, 0, 0),
    ] {
        let sql = format!("SELECT COUNT(*) FROM e WHERE {condition}");
        assert_eq!(ask(&bed, &sql), json!({"rows": rows, "lower": lower, "upper": upper}), "{sql}");
    }
    let queries = bed.read("out/queries.sql");
    assert!(queries.contains("-- COUNT with a condition on salary"), "{queries}");
}

#[test]
fn several_aggregates_in_one_query() {
    let bed = released("groups = { zipcode = 2 }");
    let sql = "SELECT COUNT(*), AVG(salary) AS mean, MIN(salary) FROM e WHERE zipcode LIKE '911%'";
    assert_eq!(
        ask(&bed, sql),
        json!({"rows": 4, "aggregates": [
            {"aggregate": "COUNT(*)", "lower": 4, "upper": 4},
            {"aggregate": "mean", "lower": 45000, "upper": 45000},
            {"aggregate": "MIN(salary)", "lower": 30000, "upper": 30000},
        ]})
    );
    let by = ask(&bed, "SELECT gender, COUNT(*), AVG(salary) FROM e GROUP BY gender");
    assert_eq!(
        by["answers"][0],
        json!({"by": {"gender": "F"}, "rows": 6, "aggregates": [
            {"aggregate": "COUNT(*)", "lower": 6, "upper": 6},
            {"aggregate": "AVG(salary)", "lower": 35000, "upper": 55000},
        ]})
    );
    let shown = bed.run(&["query", "out", sql]).ok().stdout;
    assert!(shown.contains("mean: from 45000 to 45000"), "{shown}");
}

/// A table of seven groups with values of the paper's domain, and a policy with something more.
fn papers_domain(rows: u64, domain: (u64, u64), more: &str) -> Bed {
    let bed = Bed::new();
    let mut table = String::from("zone,salary\n");
    for row in 0..rows {
        // A multiplier of a full cycle: values are spread over the domain, without a pattern.
        let drawn =
            row.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let value = domain.0 + (drawn >> 33) % (domain.1 - domain.0 + 1);
        table += &format!("zone{},{value}\n", row % 7);
    }
    let policy = format!(
        "[attributes.zone]\nrole = \"quasi-identifier\"\n[attributes.salary]\nrole = \"sensitive\"\n\
         [privacy.distribution]\nattribute = \"salary\"\ntarget = \"uniform\"\ngroups = [\"zone\"]\n\
         domain = [{}, {}]\n{more}\n",
        domain.0, domain.1
    );
    bed.file("table.csv", table).file("policy.toml", policy);
    bed
}

/// 1025 : 1024 at the root: exact weights leave nothing but copies of the root.
#[test]
fn the_domain_of_the_paper_is_not_trivial_by_default() {
    let share = |more: &str| {
        let bed = papers_domain(7_000, (1024, 3072), more);
        let report = anonymize(&bed).ok().json();
        let shown = verify(&bed).ok().stdout;
        assert!(shown.contains("of a trivial release"), "{shown}");
        verify_with_original(&bed).ok();
        let said = bed.read("out/report.json");
        assert!(said.contains("share-of-trivial"), "{said}");
        let average = ask(&bed, "SELECT AVG(salary) FROM t");
        let end = |key: &str| average[key].as_f64().unwrap();
        (report["distribution"]["share-of-trivial"].as_f64().unwrap(), end("upper") - end("lower"))
    };
    assert_eq!(share("rounding = \"exact\""), (1.0, 2048.0));
    let (by_default, width) = share("");
    assert!(by_default < 0.1 && width < 0.06 * 2048.0, "{by_default} {width}");
    // What is given wins, and here it is what the default is.
    assert_eq!(share("rounding = \"1%\"").0, by_default);
    // Weights that were rounded are seen where they must be exact.
    let bed = papers_domain(700, (1024, 3072), "");
    anonymize(&bed).ok();
    bed.edit("policy.toml", "groups", "rounding = \"exact\"\ngroups");
    verify(&bed).fails_with(1, "target weights");
}

/// Below a subdomain that nothing is inside of, whole numbers need not be listed.
#[test]
fn only_the_nodes_of_a_stated_domain_that_are_used_are_written() {
    let bed = papers_domain(210, (0, 99_999), "");
    let report = anonymize(&bed).ok().json();
    assert_eq!(report["distribution"]["domain"], json!(100_000));
    let nodes = lines(&bed, "out/hierarchy.csv").len();
    assert!(nodes < 1000, "{nodes}");
    verify(&bed).ok();
    verify_with_original(&bed).ok();
    // Every number of a run is a value.
    let table = bed.read("table.csv");
    let values = table.lines().skip(1).map(|line| line.rsplit(',').next().unwrap());
    let values: Vec<i64> = values.map(|value| value.parse().unwrap()).collect();
    for limit in [0, 1, 777, 50_000, 99_999] {
        let truth = values.iter().filter(|value| **value >= limit).count() as i64;
        let said = ask(&bed, &format!("SELECT COUNT(*) FROM t WHERE salary >= {limit}"));
        let (lower, upper) = (said["lower"].as_i64().unwrap(), said["upper"].as_i64().unwrap());
        assert!(lower <= truth && truth <= upper, "{limit}: {truth} not in {said}");
        assert!(limit > 0 || lower == 210);
    }
    // A run that is cut short is another domain.
    let hierarchy = bed.read("out/hierarchy.csv");
    let last = hierarchy.lines().rfind(|line| line.ends_with(",99999")).unwrap();
    let (head, _) = last.rsplit_once(',').unwrap();
    bed.edit("out/hierarchy.csv", last, &format!("{head},99998"));
    verify(&bed).fails_with(1, "bounds of a node");
    bed.file("out/hierarchy.csv", hierarchy.replace(",99999\n", ",99998\n"));
    verify(&bed).fails_with(1, "");
    bed.file("out/hierarchy.csv", hierarchy.replace(",99999\n", ",9999999999999\n"));
    verify(&bed).fails_with(1, "run of whole numbers");
}

#[test]
fn a_domain_that_exceeds_the_memory_is_refused_before_it_is_built() {
    let bed = papers_domain(70, (0, 2_000_000), "");
    let asked =
        ["anonymize", "table.csv", "--policy", "policy.toml", "-o", "out", "--memory", "64MiB"];
    let outcome = bed.run(&asked).fails_with(3, "the 2000001 values of `domain` (about ");
    outcome.says("MiB are needed); raise it, or make `domain` smaller");
    assert!(!bed.exists("out"));
}

#[test]
fn fakes_that_exceed_the_memory_are_refused_before_their_tables_are_built() {
    let bed = papers_domain(21_000, (1024, 3072), "fakes = \"50%\"");
    let asked =
        ["anonymize", "table.csv", "--policy", "policy.toml", "-o", "out", "--memory", "64MiB"];
    let outcome = bed.run(&asked).fails_with(3, "the tables of fakes (about ");
    outcome.says("MiB are needed); raise it, or lower `fakes`");
    assert!(!bed.exists("out"));
    let bed = papers_domain(2_100, (1024, 3072), "fakes = \"1%\"");
    bed.run(&asked).ok();
}

/// The tables in the folder of a release are CSV that others may have saved anew.
#[test]
fn the_encoding_of_a_folder_is_detected_and_said_or_given() {
    let bed = employees("groups = { zipcode = 2 }");
    bed.edit("table.csv", "91110,M", "91110,M\u{e4}nnlich");
    anonymize(&bed).ok();
    verify(&bed).ok();
    let text = bed.read("out/records.csv");
    let latin_1: Vec<u8> = text.chars().map(|one| one as u32 as u8).collect();
    assert!(text.contains('\u{e4}') && text.chars().all(|one| (one as u32) < 256));
    bed.file("out/records.csv", latin_1);
    let guessed = verify(&bed);
    assert_eq!(guessed.status, 0, "{guessed:#?}");
    guessed.complains().says("out/records.csv").says("windows-1252");
    let given = |name| bed.run(&["verify", "out", "--policy", "policy.toml", "--encoding", name]);
    given("windows-1252").ok();
    given("utf-16le").fails_with(2, "out/").says("not valid UTF-16LE");
}
