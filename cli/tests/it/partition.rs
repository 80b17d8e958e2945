//! Releases by partitioning: what regions are called, what is refused, and what a saved partition
//! does to other rows.

use crate::bed::{Bed, CITIES, Outcome, PEOPLE, sorted};
use serde_json::{Value, json};

/// Six people whose ages have no hierarchy, with a salary as the target.
const POLICY: &str = r#"[attributes.name]
role = "identifier"

[attributes.age]
role = "quasi-identifier"

[attributes.city]
role = "quasi-identifier"
hierarchy = "city.csv"

[attributes.ill]
role = "sensitive"

[privacy]
k = 2

[search]
split = "median"
algorithm = "mondrian"
"#;

fn people() -> Bed {
    let bed = Bed::new();
    bed.file("table.csv", PEOPLE).file("policy.toml", POLICY).file("city.csv", CITIES);
    bed
}

/// Ages alone, one for each row.
fn ages(ages: &[&str]) -> Bed {
    let bed = Bed::new();
    let rows: String = ages.iter().map(|age| format!("{age},x\n")).collect();
    bed.file("table.csv", format!("age,other\n{rows}"));
    let policy = "[attributes.age]\nrole = \"quasi-identifier\"\n[attributes.other]\nrole = \"insensitive\"\n";
    bed.file(
        "policy.toml",
        format!("{policy}[privacy]\nk = 2\n[search]\nalgorithm = \"mondrian\"\n"),
    );
    bed
}

impl Bed {
    /// The values of the first column of a release, in order of their text.
    fn first_column(&self, name: &str) -> Vec<String> {
        let mut values: Vec<String> =
            self.records(name, ',').into_iter().skip(1).map(|row| row[0].clone()).collect();
        values.sort();
        values
    }

    fn apply(&self, recoding: &str, table: &str, more: &[&str]) -> Outcome {
        self.run(
            &[&["apply", recoding, table, "--policy", "policy.toml", "-o", "applied.csv"], more]
                .concat(),
        )
    }
}

#[test]
fn six_people_are_halved_at_the_median_age() {
    let bed = people();
    bed.edit("policy.toml", "algorithm", "regions = \"tight\"\nalgorithm");
    let report = bed.anonymize(&["--json"]).ok().json();
    // Both attributes have their whole range; the first is split. Three and three people allow
    // nothing more.
    let out = "age,city,ill\n34-38,plain,flu\n34-38,plain,gout\n34-38,plain,gout\n\
               51-57,Thun,asthma\n51-57,Thun,flu\n51-57,Thun,flu\n";
    assert_eq!(bed.read("out.csv"), out);
    assert_eq!(report["algorithm"], json!("mondrian"));
    assert_eq!(report["search"]["minimal"], json!(true));
    assert!(report["search"].get("optimal").is_none() && report["search"].get("cost").is_none());
    assert_eq!(report["recoding"], json!({"model": "regions", "regions": 2, "labels": "tight"}));
    assert_eq!((&report["loss"]["dm"], &report["average-class"]), (&json!(18), &json!(3.0)));
    // Ages lose 4/23 and 6/23, cities half (two of three leaves) and nothing.
    let lm = (3.0 * 4.0 / 23.0 + 3.0 * 6.0 / 23.0 + 3.0 * 0.5) / 12.0;
    assert!((report["loss"]["lm"].as_f64().unwrap() - lm).abs() < 1e-12, "{report}");
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
    bed.edit("out.csv", "34-38", "34-39");
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).fails_with(1, "k-anonymity");
}

#[test]
fn boxes_cover_the_domain_under_the_roots_own_name() {
    let bed = people();
    let report = bed.anonymize(&["--json", "--save-recoding", "saved.json"]).ok().json();
    assert_eq!(report["recoding"]["labels"], json!("cover"));
    assert_eq!(bed.first_column("out.csv")[2..4], ["above 49", "up to 49"].map(String::from));
    assert!(
        bed.records("out.csv", ',').iter().skip(1).all(|row| row[1] == "CH"),
        "{}",
        bed.read("out.csv")
    );
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
}

#[test]
fn labels_are_called_as_documented() {
    let labels = |values: &[&str], style: &str| {
        let bed = ages(values);
        if style == "tight" {
            bed.edit("policy.toml", "algorithm", "regions = \"tight\"\nalgorithm");
        }
        let saved: &[&str] = if style == "boxes" { &["--save-recoding", "s.json"] } else { &[] };
        bed.anonymize(saved).ok();
        bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
        let mut labels = bed.first_column("out.csv");
        labels.dedup();
        labels
    };
    assert_eq!(labels(&["20", "24", "30", "30"], "tight"), ["20-24", "30"]);
    assert_eq!(labels(&["-5", "-1", "3", "9"], "tight"), ["-5 to -1", "3-9"]);
    assert_eq!(labels(&["2.5", "3", "4.25", "5.5"], "tight"), ["[2.5, 3]", "[4.25, 5.5]"]);
    let days = ["2024-02-29", "2024-03-01", "2025-01-01", "2025-07-04"];
    assert_eq!(labels(&days, "tight"), ["2024-02-29 to 2024-03-01", "2025-01-01 to 2025-07-04"]);
    let eight = ["20", "24", "30", "34", "40", "44", "50", "54"];
    assert_eq!(labels(&eight, "boxes"), ["26-35", "36-45", "above 45", "up to 25"]);
    let reals = ["1.5", "2", "3", "3.5", "7", "9", "10", "11"];
    assert_eq!(labels(&reals, "boxes"), ["(2.5, 5]", "(5, 9.5]", "above 9.5", "up to 2.5"]);
    // The same rounded outwards, inside the boxes.
    assert_eq!(labels(&eight, "cover"), ["19-25", "29-35", "39-45", "49-55"]);
    assert_eq!(labels(&reals, "cover"), ["(1.4, 2.1]", "(2.9, 3.6]", "(6.5, 9.5]", "(9.8, 11.2]"]);
    assert_eq!(labels(&days, "cover"), ["2024-02-28 to 2024-03-02", "2024-12-01 to 2025-07-31"]);
    // A missing number has a branch of its own, or everything is one class.
    assert_eq!(labels(&["20", "24", "", ""], "tight"), ["", "20-24"]);
    assert_eq!(labels(&["20", "24", "", ""], "boxes"), ["", "any number"]);
    assert_eq!(labels(&["20", "24", "30", "34", "35", "36", ""], "tight"), ["*"]);
    assert_eq!(labels(&["20", "24", "30", "34", "35", "36", ""], "boxes"), ["*"]);
}

#[test]
fn threads_do_not_change_the_bytes() {
    let bed = Bed::new();
    let generate = ["generate", "agrawal", "--rows", "30000", "--seed", "5", "-o", "table.csv"];
    bed.run(&[&generate[..], &["--policy", "policy.toml"]].concat()).ok();
    for split in ["median", "info-gain"] {
        let policy = bed.read("policy.toml");
        let searched =
            policy.find("[search]").map_or(policy.as_str(), |at| &policy[..at]).to_string();
        bed.file(
            "p.toml",
            searched + &format!("[search]\nalgorithm = \"mondrian\"\nsplit = \"{split}\"\n"),
        );
        for threads in ["1", "2"] {
            let out = format!("{threads}.csv");
            bed.run(&[
                "anonymize",
                "table.csv",
                "--policy",
                "p.toml",
                "-k",
                "20",
                "-o",
                &out,
                "--threads",
                threads,
            ])
            .ok();
        }
        assert!(bed.bytes("1.csv") == bed.bytes("2.csv"), "{split}");
        assert!(bed.first_column("1.csv").len() == 30000);
    }
}

/// The ends of ranges are nobody's value by default, for mondrian and on disk. With `tight` they
/// are, and the summary says so.
#[test]
fn ends_of_regions_are_nobodys_value() {
    let days: Vec<String> = (0..400)
        .map(|row| format!("19{:02}-{:02}-{:02}", 40 + row % 60, 1 + row % 12, 3 + 3 * (row / 60)))
        .collect();
    let days: Vec<&str> = days.iter().map(String::as_str).collect();
    let reals: Vec<String> =
        (0..300).map(|row| format!("{}.{}", row * row % 97, row % 10)).collect();
    let reals: Vec<&str> = reals.iter().map(String::as_str).collect();
    for values in [&days, &reals] {
        for algorithm in ["mondrian", "rothko-t", "rothko-s"] {
            let bed = ages(values);
            bed.edit("policy.toml", "mondrian", algorithm);
            let quiet = bed.anonymize(&[]).ok();
            assert!(!quiet.stdout.contains("tight"), "{}", quiet.stdout);
            // A single value that a whole class shares is no end.
            let shown = |bed: &Bed| {
                let labels = bed.first_column("out.csv");
                let ranges = labels.iter().filter(|label| !values.contains(&label.as_str()));
                let ends = |label: &String| {
                    let words = label.replace(['(', '[', ']', ','], " ");
                    words.split_whitespace().filter(|word| values.contains(word)).count()
                };
                ranges.map(ends).sum::<usize>()
            };
            assert_eq!(shown(&bed), 0, "{algorithm}: {:?}", bed.first_column("out.csv"));
            bed.edit("policy.toml", "algorithm", "regions = \"tight\"\nalgorithm");
            for name in ["out.csv", "out.csv.report.json", "out.csv.private.json"] {
                std::fs::remove_file(bed.path(name)).unwrap();
            }
            let told = bed.anonymize(&[]).ok();
            assert!(told.stdout.contains("exact values of somebody"), "{}", told.stdout);
            assert!(shown(&bed) > 100);
        }
    }
}

#[test]
fn a_saved_partition_makes_the_same_classes_again() {
    let bed = people();
    bed.edit("policy.toml", "algorithm", "regions = \"tight\"\nalgorithm");
    bed.anonymize(&["--save-recoding", "saved.json"]).fails_with(2, "cover");
    bed.edit("policy.toml", "tight", "cover");
    bed.anonymize(&["--save-recoding", "saved.json"]).ok();
    bed.apply("saved.json", "table.csv", &[]).ok();
    assert_eq!(sorted(bed.records("applied.csv", ',')), sorted(bed.records("out.csv", ',')));
    // Another file: a class of one is no class.
    let others = "name,age,city,ill\nGus,20,Bern,flu\nHal,30,Thun,flu\nIda,99,Bern,flu\n";
    bed.file("others.csv", others);
    std::fs::remove_file(bed.path("applied.csv")).unwrap();
    std::fs::remove_file(bed.path("applied.csv.report.json")).unwrap();
    std::fs::remove_file(bed.path("applied.csv.private.json")).unwrap();
    let refused = bed.apply("saved.json", "others.csv", &["--json"]).fails_with(1, "1 of 3 rows");
    assert_eq!(refused.json()["released"], json!(0));
    bed.apply("saved.json", "others.csv", &["--suppression", "0.5"]).ok();
    assert_eq!(bed.first_column("applied.csv"), ["up to 49", "up to 49"]);
}

/// A partition that has seen no missing number has no label for one: it gets a branch of its own,
/// never a range.
#[test]
fn a_saved_partition_does_not_take_a_missing_number_for_a_number() {
    let bed = ages(&["20", "24", "30", "34"]);
    bed.edit("policy.toml", "algorithm", "regions = \"cover\"\nalgorithm");
    bed.anonymize(&["--save-recoding", "saved.json"]).ok();
    bed.file("others.csv", "age,other\n20,x\n21,x\n,x\n,x\n99,x\n98,x\n");
    bed.apply("saved.json", "others.csv", &[]).ok();
    assert_eq!(
        bed.first_column("applied.csv"),
        ["", "", "above 25", "above 25", "up to 25", "up to 25"]
    );
    bed.file("one.csv", "age,other\n20,x\n21,x\n,x\n99,x\n98,x\n");
    bed.apply("saved.json", "one.csv", &[]).fails_with(1, "1 of 5 rows");
}

/// One rare country does not keep the others from being named. Those that are too rare stay
/// together, in the release, in a saved partition and in what it is applied to.
#[test]
fn rare_children_are_pooled() {
    let bed = Bed::new();
    let rows = ["France", "Spain", "Malta", "France", "Spain", "Cyprus", "France", "Spain"];
    bed.file("table.csv", format!("country\n{}\n", rows.join("\n")));
    let europe = ["France", "Spain", "Malta", "Cyprus", "Italy"].map(|leaf| leaf.to_string() + ";");
    let lines = europe.map(|leaf| leaf + "Europe;World\n").concat() + "Chad;Africa;World\n";
    bed.file("country.csv", lines);
    let policy = "[attributes.country]\nrole = \"quasi-identifier\"\nhierarchy = \"country.csv\"\n\
                  [privacy]\nk = 2\n[search]\nalgorithm = \"mondrian\"\n";
    bed.file("policy.toml", policy.to_string() + "pooling = false\n");
    bed.anonymize(&[]).ok();
    assert_eq!(bed.first_column("out.csv"), ["Europe"; 8]);
    bed.file("policy.toml", policy);
    for algorithm in ["mondrian", "rothko-t", "rothko-s", "m-instant"] {
        for threads in ["1", "2", "3"] {
            let report =
                bed.anonymize(&["--algorithm", algorithm, "--threads", threads, "--json"]).ok();
            assert_eq!(report.json()["search"]["minimal"], json!(true), "{algorithm}");
            let expected =
                ["Europe", "Europe", "France", "France", "France", "Spain", "Spain", "Spain"];
            assert_eq!(bed.first_column("out.csv"), expected, "{algorithm}, {threads} threads");
        }
    }
    // What was not there when the partition was made belongs to the rest, so its name is wider.
    for algorithm in ["mondrian", "rothko-t", "rothko-s"] {
        bed.anonymize(&["--algorithm", algorithm, "--save-recoding", "saved.json"]).ok();
        let saved: Value = serde_json::from_str(&bed.read("saved.json")).unwrap();
        let split = json!({"attribute": "country", "level": 0, "labels": ["France", "Spain"], "rest": true});
        let nodes = json!([{"children": split}, "region", "region", "region"]);
        assert_eq!(saved["nodes"], nodes, "{algorithm}");
        bed.apply("saved.json", "table.csv", &[]).ok();
        assert_eq!(sorted(bed.records("applied.csv", ',')), sorted(bed.records("out.csv", ',')));
        bed.file("others.csv", "country\nChad\nItaly\nSpain\nSpain\n");
        bed.apply("saved.json", "others.csv", &[]).ok();
        assert_eq!(bed.first_column("applied.csv"), ["Spain", "Spain", "World", "World"]);
        bed.file("one.csv", "country\nChad\nSpain\nSpain\n");
        bed.apply("saved.json", "one.csv", &[]).status_is(1, "1 of 3 rows");
    }
}

#[test]
fn a_broken_partition_is_refused() {
    let bed = people();
    bed.edit("policy.toml", "algorithm", "regions = \"cover\"\nalgorithm");
    bed.anonymize(&["--save-recoding", "saved.json"]).ok();
    let whole: Value = serde_json::from_str(&bed.read("saved.json")).unwrap();
    let with = |nodes: Value| {
        let mut broken = whole.clone();
        broken["nodes"] = nodes;
        bed.file("broken.json", broken.to_string());
        bed.apply("broken.json", "table.csv", &[])
    };
    let at_38 = json!({"threshold": {"attribute": "age", "up-to": 38}});
    with(json!([at_38, "region", "region"])).ok();
    with(json!([])).status_is(2, "the tree of regions is incomplete");
    with(json!([at_38, "region"])).status_is(2, "the tree of regions is incomplete");
    with(json!([at_38, "region", "region", "region"])).status_is(2, "too many nodes");
    with(json!([{"threshold": {"attribute": "city", "up-to": 38}}, "region", "region"]))
        .status_is(2, "no numbers");
    with(json!([{"threshold": {"attribute": "agee", "up-to": 38}}, "region", "region"]))
        .status_is(2, "agee");
    // No row is below a node that the hierarchy does not have.
    let at_9 = |rest: bool| json!({"children": {"attribute": "city", "level": 9, "labels": ["Bern"], "rest": rest}});
    with(json!([at_9(false), "region"])).ok();
    with(json!([at_9(true), "region", "region"])).ok();
    with(json!([at_9(true), "region"])).status_is(2, "the tree of regions is incomplete");
    with(json!([at_9(false), "region", "region"])).status_is(2, "too many nodes");
    // As deep as one likes, on one side.
    let mut deep: Vec<Value> = (0..5000).map(|_| at_38.clone()).collect();
    deep.extend((0..5001).map(|_| json!("region")));
    with(json!(deep)).ok();
}

impl Outcome {
    /// Refused with this status and one line; what stood there before may stand there still.
    #[track_caller]
    fn status_is(self, status: i32, part: &str) {
        assert_eq!(self.status, status, "{self:#?}");
        self.complains().says(part);
    }
}

#[test]
fn fewer_rows_than_k_are_refused_with_a_report() {
    let bed = people();
    let report =
        bed.anonymize(&["-k", "7", "--json"]).fails_with(1, "the whole table of 6 rows").json();
    assert_eq!((&report["released"], &report["smallest-class"]), (&json!(0), &json!(6)));
    let k = &report["privacy"][0];
    assert_eq!(
        (&k["required"], &k["achieved"], &k["satisfied"]),
        (&json!(7), &json!(6), &json!(false))
    );
    for algorithm in ["rothko-s", "rothko-t"] {
        let on_disk = bed.anonymize(&["-k", "7", "--json", "--algorithm", algorithm]);
        assert_eq!(
            on_disk.fails_with(1, "the whole table of 6 rows").json()["privacy"],
            report["privacy"]
        );
    }
    // The diversity of the whole table is as good as it gets: four kinds of illness there are not.
    bed.edit("policy.toml", "k = 2", "k = 2\nl-diversity = { kind = \"distinct\", l = 4 }");
    bed.anonymize(&[]).fails_with(1, "l-diversity");
}

#[test]
fn a_criterion_needs_its_target() {
    let bed = people();
    bed.edit("policy.toml", "median", "info-gain");
    bed.anonymize(&[]).fails_with(2, "target");
    bed.edit("policy.toml", "sensitive", "target");
    bed.anonymize(&[]).ok();
    bed.edit("policy.toml", "info-gain", "regression");
    let refused = bed.anonymize(&["-k", "3"]);
    refused.status_is(2, "table.csv:2: column `ill`: `flu` is not a number");
}

/// What a release leaves open of its target, by hand.
#[test]
fn the_report_measures_the_target() {
    let bed = Bed::new();
    bed.file("table.csv", "age,pay\n20,1\n21,3\n50,10\n51,10\n90,6\n");
    let policy = "[attributes.age]\nrole = \"quasi-identifier\"\ntype = \"integer\"\nHIERARCHY\n\
                  [attributes.pay]\nrole = \"target\"\n[privacy]\nk = 2\n[search]\n";
    bed.file("policy.toml", policy.replace("HIERARCHY", "") + "algorithm = \"mondrian\"\n");
    let loss = bed.anonymize(&["--json"]).ok().json()["private"]["loss"].clone();
    // 1, 3 | 10, 10, 6: a bit each for two rows, then 2 log2(3/2) + log2 3 bits; errors 1, 1, then
    // 16/9, 16/9, 64/9.
    let near = |value: &Value, expected: f64| {
        assert!((value.as_f64().unwrap() - expected).abs() < 1e-12, "{loss}")
    };
    near(&loss["conditional-entropy"], (2.0 + 2.0 * 1.5f64.log2() + 3f64.log2()) / 5.0);
    near(&loss["rmse"], ((2.0 + 96.0 / 9.0) / 5.0f64).sqrt());
    // At fixed levels the row of 90 is alone and suppressed: it costs what the whole table does,
    // whose labels are 1, 3, 10, 10 and 6 with mean 6.
    let intervals = "hierarchy = { intervals = [10], from = 0, to = 100 }";
    bed.file(
        "policy.toml",
        policy.replace("HIERARCHY", intervals) + "suppression = { limit = 0.2 }\n",
    );
    let report = bed.anonymize(&["--json", "--levels", "age=1"]).ok().json();
    let loss = report["private"]["loss"].clone();
    let whole = (3.0 * 5f64.log2() + 2.0 * 2.5f64.log2()) / 5.0;
    near(&loss["conditional-entropy"], (2.0 + 0.0 + whole) / 5.0);
    near(&loss["rmse"], ((2.0 + 0.0 + (25.0 + 9.0 + 16.0 + 16.0) / 5.0) / 5.0f64).sqrt());
    assert!(bed.anonymize(&["--levels", "age=1"]).ok().stdout.contains("RMSE"));
    // Text has no mean.
    bed.edit("table.csv", "90,6", "90,six");
    let report = bed.anonymize(&["--json", "--levels", "age=1"]).ok().json();
    let loss = report["private"]["loss"].clone();
    assert!(loss.get("rmse").is_none() && loss.get("conditional-entropy").is_some(), "{loss}");
}

/// Rothko-T makes Mondrian's regions, so it knows as much of the target, whether a region was in
/// memory or not.
#[test]
fn on_disk_the_target_is_measured_alike() {
    let bed = Bed::new();
    bed.run(&["generate", "agrawal", "--rows", "3000", "--seed", "3", "-o", "table.csv"]).ok();
    let policy = |target: &str, split: &str| {
        let keys = ["salary", "age", "loan", "hyears", "commission", "elevel"];
        let keys: String = keys
            .iter()
            .map(|key| format!("[attributes.{key}]\nrole = \"quasi-identifier\"\n"))
            .collect();
        let target = format!(
            "[attributes.{target}]\nrole = \"target\"\n[defaults]\nrole = \"identifier\"\n"
        );
        format!("{keys}{target}[privacy]\nk = 100\n[search]\nsplit = \"{split}\"\n")
    };
    for (target, split) in [("c2", "info-gain"), ("r7", "regression"), ("elevel2", "info-gain")] {
        if target == "elevel2" {
            // A class label that is a number: both measures are there.
            bed.edit("table.csv", "r10", "elevel2");
        }
        bed.file("policy.toml", policy(target, split));
        let loss = |algorithm: &[&str]| {
            bed.anonymize(&[&["--json", "--algorithm"], algorithm].concat()).ok().json()
        };
        let measured = |report: &Value, key: &str| match key {
            "cm" => report["loss"][key].clone(),
            key => report["private"]["loss"][key].clone(),
        };
        let memory = loss(&["mondrian"]);
        for tuples in ["1000", "20"] {
            let report = loss(&["rothko-t", "--sample-tuples", tuples]);
            for key in ["cm", "conditional-entropy", "rmse"] {
                let (expected, found) = (measured(&memory, key), measured(&report, key));
                let both = expected.as_f64().zip(found.as_f64());
                let near = both.is_some_and(|(a, b)| (a - b).abs() <= 1e-9 * a.abs().max(1.0));
                assert!(
                    near || (expected.is_null() && found.is_null()),
                    "{target} {tuples} {key}: {memory} {report}"
                );
            }
            assert_eq!(measured(&report, "rmse").is_null(), target == "c2", "{report}");
        }
    }
}

/// What a sample of rows larger than memory could not split is counted, though exact counts
/// finished it.
#[test]
fn partitions_that_no_sample_splits_are_counted() {
    let bed = Bed::new();
    bed.run(&[
        "generate",
        "agrawal",
        "--rows",
        "2000",
        "--seed",
        "3",
        "-o",
        "table.csv",
        "--policy",
        "policy.toml",
    ])
    .ok();
    let sampled = |tuples: &str, k: &str| {
        let more = ["--json", "--algorithm", "rothko-s", "--sample-tuples", tuples, "-k", k];
        let report = bed.anonymize(&more).ok().json();
        assert_eq!(report["search"]["minimal"], json!(true), "{report}");
        report["io"]["unsplit-partitions"].clone()
    };
    assert!(sampled("20", "300").as_u64() > Some(0));
    assert_eq!(sampled("500", "10"), json!(0));
}
