//! Tables whose membership is sensitive, from the command line: generated, released, verified,
//! tampered with, refused.

use crate::bed::{Bed, Outcome};
use serde_json::{Value, json};

/// A generated subset with its population, marginals and policy.
fn patients(selection: &str) -> Bed {
    let bed = Bed::new();
    let arguments = [
        "generate",
        "subset",
        "--rows",
        "6000",
        "--seed",
        "5",
        "--selection",
        selection,
        "-o",
        "patients.csv",
    ];
    bed.run(&arguments).ok();
    bed
}

const POLICY: &str = "patients.policy.toml";

fn with_marginals(bed: &Bed, presence: &str) {
    let text = bed.read(POLICY);
    let lines = text.lines().map(|line| {
        if line.starts_with("presence =") {
            format!("presence = {{ {presence} }}")
        } else {
            line.to_string()
        }
    });
    bed.file(POLICY, lines.collect::<Vec<_>>().join("\n"));
}

fn anonymize(bed: &Bed, more: &[&str]) -> Outcome {
    bed.run(
        &[&["anonymize", "patients.csv", "--policy", POLICY, "-o", "release.csv", "--json"], more]
            .concat(),
    )
}

fn verify(bed: &Bed) -> Outcome {
    bed.run(&["verify", "release.csv", "--policy", POLICY, "--json"])
}

/// Released and verified: the report.
fn released(bed: &Bed, more: &[&str]) -> Value {
    let report = anonymize(bed, more).ok().json();
    let checked = verify(bed).ok().json();
    assert_eq!((&checked["satisfied"], &checked["released"]), (&json!(true), &report["released"]));
    report
}

fn lm(report: &Value) -> f64 {
    report["loss"]["lm"].as_f64().unwrap()
}

#[test]
fn a_subset_comes_with_its_world() {
    for selection in ["uniform", "biased"] {
        let bed = patients(selection);
        let (private, world) = (bed.read("patients.csv"), bed.read("patients.population.csv"));
        let people: std::collections::HashSet<&str> = world.lines().collect();
        assert_eq!(world.lines().count(), 6001);
        assert!(private.lines().all(|line| people.contains(line)));
        let rows = private.lines().count() - 1;
        assert!((150..450).contains(&rows), "{rows}");
        // The marginals count the population, each attribute everybody once.
        let marginals = bed.read("patients.marginals.csv");
        let mut sums = std::collections::BTreeMap::<&str, u64>::new();
        for line in marginals.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            *sums.entry(fields[0]).or_default() += fields[2].parse::<u64>().unwrap();
        }
        assert_eq!(sums.len(), 8);
        assert!(sums.values().all(|sum| *sum == 6000), "{sums:?}");
        let old = |text: &str| {
            let ages: Vec<u32> = text
                .lines()
                .skip(1)
                .map(|line| line.split(',').nth(2).unwrap().parse().unwrap())
                .collect();
            ages.iter().filter(|age| **age >= 50).count() as f64 / ages.len() as f64
        };
        let bias = old(&private) / old(&world);
        assert!(
            if selection == "biased" { bias > 1.3 } else { (0.8..1.25).contains(&bias) },
            "{selection} {bias}"
        );
    }
    // The same seed, the same bytes.
    assert_eq!(patients("biased").read("patients.csv"), patients("biased").read("patients.csv"));
    let bed = Bed::new();
    let refused =
        bed.run(&["generate", "census", "--rows", "5", "--selection", "biased", "-o", "x.csv"]);
    assert_eq!(refused.status, 2);
}

#[test]
fn a_population_is_held_against_the_release() {
    let bed = patients("biased");
    let levels = released(&bed, &[]);
    assert_eq!(
        (levels["algorithm"].as_str(), &levels["search"]["optimal"]),
        (Some("spalm"), &json!(true))
    );
    let presence = &levels["privacy"][0];
    assert_eq!(
        (presence["requirement"].as_str(), presence["satisfied"].as_bool()),
        (Some("delta-presence"), Some(true))
    );
    assert!(presence["achieved"].as_f64().unwrap() <= 0.1);
    let regions = released(&bed, &["--algorithm", "mpalm"]);
    assert!(lm(&regions) < lm(&levels), "{} {}", lm(&regions), lm(&levels));
    // Every order and number of threads finds the same bytes.
    let bytes = |more: &[&str]| {
        anonymize(&bed, more).ok();
        bed.read("release.csv")
    };
    assert_eq!(bytes(&["--strategy", "top-down"]), bytes(&["--threads", "1"]));
    assert_eq!(
        bytes(&["--algorithm", "mpalm", "--threads", "2"]),
        bytes(&["--algorithm", "mpalm", "--threads", "1"])
    );
    // A release with a class twice as full is refused, with or without its report.
    let release = bytes(&[]);
    let class = release.lines().nth(1).unwrap();
    bed.file("release.csv", format!("{release}{}", format!("{class}\n").repeat(400)));
    let refused = verify(&bed);
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("delta-presence"), "{}", refused.stderr);
}

#[test]
fn likely_worlds_are_judged_and_verified() {
    let bed = patients("uniform");
    let asked = "min = 0.0, max = 0.15, confidence = 0.9, marginals = \"patients.marginals.csv\"";
    with_marginals(&bed, asked);
    let levels = released(&bed, &[]);
    assert_eq!(levels["algorithm"], "sfalm");
    let presence = &levels["privacy"][0];
    assert_eq!(
        (presence["kind"].as_str(), presence["required"].as_f64()),
        (Some("confident"), Some(0.9))
    );
    let achieved = presence["achieved"].as_f64().unwrap();
    assert!((0.9..=1.0).contains(&achieved));
    // What a search leaves out changes neither the truth of its release nor what is reported of it.
    for without in ["sd", "dc", "dm", "sd,dc,dm", "moments", "sharing", "refinement"] {
        let other = released(&bed, &["--without", without]);
        if without != "refinement" {
            assert_eq!(
                (lm(&other), &other["privacy"][0]["achieved"]),
                (lm(&levels), &presence["achieved"]),
                "{without}"
            );
        }
    }
    let proven = released(&bed, &["--without", "pa"]);
    assert_eq!(
        (&proven["search"]["optimal"], &levels["search"]["optimal"]),
        (&json!(true), &json!(false))
    );
    assert!(lm(&proven) <= lm(&levels));
    released(&bed, &["--sigmas", "4", "--bucket", "2"]);
    // The same bytes for any number of threads.
    for algorithm in ["sfalm", "mpalm"] {
        let bytes = |threads: &str| {
            anonymize(&bed, &["--algorithm", algorithm, "--threads", threads]).ok();
            bed.read("release.csv")
        };
        assert_eq!(bytes("1"), bytes("3"));
    }
    let regions = released(&bed, &["--algorithm", "mpalm"]);
    assert!(lm(&regions) <= lm(&levels) && regions["recoding"]["model"] == "regions");
    // What cannot be met is told as JSON too, with what was reached.
    with_marginals(&bed, &asked.replace("0.15", "0.03"));
    let refused = anonymize(&bed, &[]);
    assert_eq!(refused.status, 1);
    let told: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(
        (told["released"].as_u64(), told["privacy"][0]["achieved"].as_f64()),
        (Some(0), Some(0.0)),
        "{told}"
    );
    with_marginals(&bed, asked);
    // By hand: checked as strictly.
    let by_hand = "sex=0,age=0,race=0,marital-status=0,education=0,birthplace=0,workclass=0,zip=0";
    let refused = anonymize(&bed, &["--levels", by_hand]);
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("delta-presence"), "{}", refused.stderr);
}

#[test]
fn covering_all_and_single_confidences() {
    let bed = patients("uniform");
    let asked = "min = 0.01, max = 0.2, confidence = 0.8, marginals = \"patients.marginals.csv\"";
    with_marginals(&bed, asked);
    let table = released(&bed, &[]);
    with_marginals(&bed, &format!("{asked}, cover = \"all\""));
    let all = released(&bed, &[]);
    assert!(lm(&all) >= lm(&table));
    released(&bed, &["--algorithm", "mpalm"]);
    // A release that leaves somebody uncovered fails.
    let release = bed.read("release.csv");
    let class = release.lines().nth(1).unwrap();
    let rest: Vec<&str> = release
        .lines()
        .filter(|line| line.rsplitn(3, ',').nth(2) != class.rsplitn(3, ',').nth(2))
        .collect();
    bed.file("release.csv", rest.join("\n") + "\n");
    assert!(verify(&bed).stderr.contains("no class covers"));
    // One person needs more than all others: no class of hers is present with less.
    let text = bed.read("patients.csv");
    let mut lines = text.lines();
    let mut with = format!("{},sure\n", lines.next().unwrap());
    for (at, line) in lines.enumerate() {
        with += &format!("{line},{}\n", if at == 0 { "0.9999" } else { "" });
    }
    bed.file("patients.csv", with);
    bed.edit(POLICY, "[privacy]", "[attributes.sure]\nrole = \"identifier\"\n\n[privacy]");
    with_marginals(&bed, &format!("{asked}, confidence-column = \"sure\""));
    let sure = released(&bed, &[]);
    assert!(lm(&sure) >= lm(&table));
    assert!(!bed.read("release.csv").lines().next().unwrap().contains("sure"));
    bed.edit("patients.csv", "0.9999", "1.9999");
    let refused = anonymize(&bed, &[]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("patients.csv:2: column `sure`"), "{}", refused.stderr);
}

/// The patients with a confidence for each, which is not released.
fn with_confidences(bed: &Bed, of_row: impl Fn(usize) -> &'static str) {
    let text = bed.read("patients.csv");
    let mut lines = text.lines();
    let mut with = format!("{},sure\n", lines.next().unwrap());
    for (at, line) in lines.enumerate() {
        with += &format!("{line},{}\n", of_row(at));
    }
    bed.file("patients.csv", with);
}

#[test]
fn a_class_needs_no_more_than_its_rows_do() {
    let bed = patients("uniform");
    let asked = "min = 0.0, max = 0.15, confidence = 1, marginals = \"patients.marginals.csv\"";
    with_marginals(&bed, asked);
    // Certainty is possible among thousands of others.
    let certain = released(&bed, &[]);
    assert_eq!(certain["privacy"][0]["achieved"], 1.0);
    let plain = bed.read("patients.csv");
    bed.edit(POLICY, "[privacy]", "[attributes.sure]\nrole = \"identifier\"\n\n[privacy]");
    with_marginals(&bed, &format!("{asked}, confidence-column = \"sure\""));
    let with_original = || {
        let original = ["--original", "patients.csv"];
        bed.run(&[&["verify", "release.csv", "--policy", POLICY, "--json"], &original[..]].concat())
    };
    let mut losses = vec![lm(&certain)];
    for rare in ["1", "0.99", "0.6"] {
        bed.file("patients.csv", &plain);
        with_confidences(&bed, |at| if at % 50 == 0 { rare } else { "0.6" });
        for algorithm in ["mpalm", "sfalm"] {
            let report = anonymize(&bed, &["--algorithm", algorithm]).ok().json();
            let presence = &report["privacy"][0];
            assert_eq!(presence["satisfied"], true, "{presence}");
            if rare == "0.6" {
                // Less than the policy asks of rows that ask nothing else.
                assert!((0.6..1.0).contains(&presence["achieved"].as_f64().unwrap()), "{presence}");
                assert_eq!(verify(&bed).status, 1);
            }
            with_original().ok();
            if algorithm == "sfalm" {
                losses.push(lm(&report));
            }
        }
    }
    assert!(losses.is_sorted_by(|more, less| less <= more) && losses[3] < losses[0], "{losses:?}");
    // Rows that need more confidence fail with the same release.
    bed.file("patients.csv", &plain);
    with_confidences(&bed, |at| if at == 7 { "" } else { "0.6" });
    let refused = with_original();
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("delta-presence"), "{}", refused.stderr);
}

/// The paper's example: 70 patients of 260 million people.
#[test]
fn few_rows_of_millions_are_verified_at_once() {
    let bed = Bed::new();
    let (mut table, mut marginals) =
        (String::from("age,sex,zip\n"), String::from("attribute,value,count\n"));
    for row in 0..70 {
        table += &format!("{},{},{}\n", row * 37 % 100, ["F", "M"][row % 2], row * 13 % 50);
    }
    for (name, values) in [("age", 100), ("zip", 50)] {
        for value in 0..values {
            marginals += &format!("{name},{value},{}\n", 260_000_000 / values);
        }
    }
    marginals += "sex,F,130000000\nsex,M,130000000\n";
    bed.file("patients.csv", table);
    bed.file("m.csv", marginals);
    bed.file(
        POLICY,
        "[defaults]\nrole = \"quasi-identifier\"\n[privacy]\n\
         presence = { min = 0.0, max = 0.01, confidence = 0.95, marginals = \"m.csv\" }\n",
    );
    let report = released(&bed, &[]);
    let achieved = report["privacy"][0]["achieved"].as_f64().unwrap();
    assert!((1.0 - 1e-11..1.0).contains(&achieved), "{achieved}");
    // The same among 260,000 people is the measure.
    let seconds = |report: &Value| -> f64 {
        let phases = report["phases"].as_array().unwrap().iter();
        phases
            .filter(|phase| phase["name"] == "verify")
            .map(|phase| phase["seconds"].as_f64().unwrap())
            .sum()
    };
    let large = seconds(&report);
    bed.file("m.csv", bed.read("m.csv").replace("000\n", "\n"));
    let small = seconds(&released(&bed, &[]));
    assert!(large < 20.0 * small + 0.5, "{large} s and {small} s");
}

#[test]
fn impossible_worlds_are_refused() {
    let bed = patients("uniform");
    let says = |presence: &str, words: &[&str]| {
        with_marginals(&bed, presence);
        let refused = anonymize(&bed, &[]);
        assert_eq!(refused.status, 2, "{}", refused.stderr);
        assert!(words.iter().all(|word| refused.stderr.contains(word)), "{}", refused.stderr);
        assert!(!bed.exists("release.csv"));
    };
    let likely = |more: &str| format!("max = 0.1, confidence = 0.9, marginals = \"m.csv\"{more}");
    let marginals = bed.read("patients.marginals.csv");
    let changed = |from: &str, to: &str| {
        let line = marginals.lines().find(|line| line.starts_with(from)).unwrap();
        bed.file("m.csv", marginals.replace(line, to));
    };
    changed("sex,Female", "sex,Female,3");
    says(&likely(""), &["m.csv", "`sex`", "`Female` is 3"]);
    changed("sex,Female", "sex,Female,9000");
    says(&likely(""), &["m.csv", "`age`", "`sex`", "sum to"]);
    changed("sex,Female", "sex,Robot,3");
    says(&likely(""), &["m.csv:", "`Robot` is not in"]);
    changed("sex,Female", "sex,Male,3");
    says(&likely(""), &["m.csv:", "duplicate `Male`, first on line"]);
    changed("sex,Female", "sex,Female,many");
    says(&likely(""), &["m.csv:", "`many`", "whole number"]);
    bed.file(
        "m.csv",
        marginals.lines().filter(|line| !line.starts_with("zip")).collect::<Vec<_>>().join("\n"),
    );
    says(&likely(""), &["no counts for the quasi-identifier `zip`"]);
    bed.file("m.csv", &marginals);
    says(&likely(", population = \"patients.population.csv\""), &["policy.toml:", "population"]);
    says("max = 0.1, marginals = \"m.csv\"", &["confidence"]);
    says("max = 0.1", &["`population`"]);
    says("min = 0.2, max = 0.1, population = \"patients.population.csv\"", &["min", "1/10"]);
    says("max = 1.5, population = \"patients.population.csv\"", &["max", "from 0 to 1"]);
    says("max = 0.1, population = \"nobody.csv\"", &["nobody.csv"]);
    says(
        "max = 0.1, confidence = 0.9, population = \"patients.population.csv\"",
        &["requires `marginals`"],
    );
    // The table itself is no population of a larger one.
    says("max = 0.5, population = \"few.csv\"", &["few.csv"]);
    let few: Vec<String> = bed.read("patients.csv").lines().take(20).map(str::to_string).collect();
    bed.file("few.csv", few.join("\n") + "\n");
    says(
        "max = 0.5, population = \"few.csv\"",
        &["few.csv", "rows of the table are not in the population"],
    );
    with_marginals(&bed, "max = 0.1, population = \"patients.population.csv\"");
    for (arguments, word) in [
        (vec!["--suppression", "0.05"], "suppression"),
        (vec!["--algorithm", "incognito"], "spalm or mpalm"),
        (vec!["--algorithm", "sfalm"], "spalm or mpalm"),
        (vec!["--without", "pa"], "marginals"),
    ] {
        let refused = anonymize(&bed, &arguments);
        assert_eq!(refused.status, 2);
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    with_marginals(&bed, &likely(""));
    let refused = anonymize(&bed, &["--without", "magic"]);
    assert!(
        refused.status == 2 && refused.stderr.contains("one of pa, sd, dm, dc"),
        "{}",
        refused.stderr
    );
}

/// The worked example of section 6: about 0.05 and 0.02.
#[test]
fn advice_on_diabetes() {
    let bed = Bed::new();
    let stakes =
        ["--prior", "0.07", "--population", "45222", "--table", "1808.88", "--cost", "10000"];
    let more = ["--misuse", "100", "--misuse-below", "200", "--confidence", "0.98"];
    let json = bed.run(&[&["advise"], &stakes[..], &more, &["--json"]].concat()).ok().json();
    assert_eq!(
        (json["delta-max"].as_f64(), json["delta-min"].as_f64()),
        (Some(0.050322), Some(0.019355))
    );
    assert!((json["liability"]["person"].as_f64().unwrap() - 186.0).abs() < 1e-9);
    let text = bed.run(&[&["advise"], &stakes[..], &more].concat()).ok().stdout;
    assert!(text.contains("delta-max = (a P + (1 - a - b) T) / ((1 - b) P) = 0.050322"), "{text}");
    assert!(text.contains("presence = { min = 0.019355, max = 0.050322, population ="), "{text}");
    let wrong = bed.run(&[
        "advise",
        "--prior",
        "2",
        "--population",
        "10",
        "--table",
        "1",
        "--cost",
        "1",
        "--misuse",
        "0",
    ]);
    assert!(wrong.status == 2 && wrong.stderr.contains("--prior"), "{}", wrong.stderr);
}

/// A range that not even the whole table keeps: a report, what could be done, and nothing written.
#[test]
fn a_range_that_cannot_be_kept() {
    let bed = patients("uniform");
    bed.edit(
        POLICY,
        "presence = { min = 0.0, max = 0.1, pop",
        "presence = { min = 0.0, max = 0.001, pop",
    );
    let report = anonymize(&bed, &[]).fails_with(1, "widen the range of `presence`").json();
    let presence = &report["privacy"][0];
    assert_eq!((&report["released"], &presence["satisfied"]), (&json!(0), &json!(false)));
    assert!(presence["achieved"].as_f64().unwrap() > 0.001, "{presence}");
    assert!(!bed.exists("release.csv"));
}
