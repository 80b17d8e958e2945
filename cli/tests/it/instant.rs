//! Summaries and what is decided from them: one scan, no data afterwards, and nothing believed that
//! is damaged.

use crate::bed::{Bed, PEOPLE, PEOPLE_POLICY};
use serde_json::Value;

const KINDS: [&str; 3] = ["histogram", "bayes", "sample"];

fn summarize(bed: &Bed, kind: &str, more: &[&str]) -> Value {
    let output = format!("{kind}.json");
    let arguments = [
        "summarize",
        "table.csv",
        "--policy",
        "policy.toml",
        "-o",
        &output,
        "--kind",
        kind,
        "--json",
    ];
    let outcome = bed.run(&[&arguments, more].concat()).ok();
    assert_eq!(outcome.touched, [output.as_str()], "{outcome:?}");
    assert_eq!(bed.mode(&output), 0o600);
    outcome.json()
}

fn estimate(bed: &Bed, summary: &str, more: &[&str]) -> Value {
    let arguments = ["estimate", "--summary", summary, "--policy", "policy.toml", "--json"];
    let outcome = bed.run(&[&arguments, more].concat()).ok();
    assert!(outcome.touched.is_empty(), "{outcome:?}");
    outcome.json()
}

/// A census with a policy that asks for k alone.
fn census(rows: &str) -> Bed {
    let bed = Bed::new();
    bed.run(&[
        "generate",
        "census",
        "--rows",
        rows,
        "--seed",
        "5",
        "-o",
        "table.csv",
        "--policy",
        "policy.toml",
    ])
    .ok();
    bed.edit("policy.toml", "l-diversity = { kind = \"distinct\", l = 3 }", "");
    bed.edit("policy.toml", "limit = 0.05", "limit = 0");
    bed
}

#[test]
fn a_summary_is_read_once_and_names_nobody() {
    for kind in KINDS {
        let bed = Bed::people();
        let json = summarize(&bed, kind, &[]);
        assert_eq!(
            (&json["rows"], &json["summary"], &json["data-scans"]),
            (&6.into(), &kind.into(), &1.into())
        );
        let text = bed.read(&format!("{kind}.json"));
        let saved: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&saved["version"], &saved["rows"]), (&1.into(), &6.into()));
        assert!(["Ann", "Bob", "Eva", "Fay"].iter().all(|name| !text.contains(name)), "{text}");
        // The order of rows leaves no trace.
        let mut lines: Vec<&str> = PEOPLE.lines().collect();
        lines[1..].reverse();
        bed.file("table.csv", lines.join("\n") + "\n");
        summarize(&bed, kind, &[]);
        assert_eq!(bed.read(&format!("{kind}.json")), text, "{kind}");
    }
}

#[test]
fn estimates_need_no_data() {
    let bed = census("3000");
    for kind in KINDS {
        summarize(&bed, kind, &[]);
    }
    summarize(&bed, "bayes", &["--max-parents", "2"]);
    summarize(&bed, "bayes", &["--max-parents", "2", "--search", "annealed", "--seed", "4"]);
    let annealed = bed.read("bayes.json");
    summarize(&bed, "bayes", &["--max-parents", "2", "--search", "annealed", "--seed", "4"]);
    assert_eq!(bed.read("bayes.json"), annealed);
    summarize(&bed, "sample", &["--rows", "500", "--seed", "1"]);
    std::fs::remove_file(bed.path("table.csv")).unwrap();
    for kind in KINDS {
        let file = format!("{kind}.json");
        let json = estimate(&bed, &file, &["-k", "10"]);
        assert_eq!((&json["rows"], &json["summary"]), (&3000.into(), &kind.into()));
        assert!(json["visited"].as_u64() > Some(0) && json["seconds"].is_number());
        let candidates = json["candidates"].as_array().unwrap();
        let figure = |one: &Value, key: &str| one[key].as_f64().unwrap();
        assert!(!candidates.is_empty(), "{json}");
        assert!(candidates.iter().all(
            |one| figure(one, "probability") >= 0.8 && figure(one, "expected-outliers") < 50.0
        ));
        let costs: Vec<f64> =
            candidates.iter().map(|one| one["loss"]["lm"].as_f64().unwrap()).collect();
        assert!(costs.is_sorted(), "{costs:?}");
        // The cheapest by hand: the same figures, and nothing else.
        let levels: Vec<String> = candidates[0]["levels"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, level)| format!("{name}={level}"))
            .collect();
        let by_hand = estimate(&bed, &file, &["-k", "10", "--levels", &levels.join(",")]);
        let [only] = &by_hand["candidates"].as_array().unwrap()[..] else { panic!("{by_hand}") };
        assert_eq!(
            (&only["levels"], &only["loss"]),
            (&candidates[0]["levels"], &candidates[0]["loss"])
        );
        assert!((figure(only, "probability") - figure(&candidates[0], "probability")).abs() < 1e-9);
        // A larger k is harder to hold; another threshold, and every shortcut off, are understood.
        let cheapest = |json: &Value| json["candidates"][0]["loss"]["lm"].as_f64().unwrap_or(2.0);
        assert!(cheapest(&estimate(&bed, &file, &["-k", "100"])) >= costs[0]);
        let all = estimate(
            &bed,
            &file,
            &[
                "-k",
                "10",
                "--without",
                "hybrid,expo,SD_CUT,limit,max",
                "--by",
                "probability",
                "--threshold",
                "0.5",
            ],
        );
        assert!(cheapest(&all) <= costs[0] + 1e-9);
    }
}

#[test]
fn cuts_are_estimated_too() {
    let bed = census("2000");
    bed.edit("policy.toml", "[search]", "[search]\nspace = \"subtree\"");
    summarize(&bed, "histogram", &[]);
    let json = estimate(&bed, "histogram.json", &["-k", "50"]);
    assert!(json["candidates"][0]["cuts"]["age"].is_array(), "{json}");
    let report = bed.anonymize(&["--algorithm", "s-instant", "-k", "50", "--json"]).ok().json();
    assert_eq!(
        (&report["algorithm"], &report["recoding"]["model"]),
        (&"s-instant".into(), &"cuts".into())
    );
}

#[test]
fn bad_summaries_are_refused() {
    let bed = Bed::people();
    summarize(&bed, "bayes", &[]);
    let good = bed.read("bayes.json");
    let refused = |text: &str, part: &str| {
        bed.file("bad.json", text);
        bed.run(&["estimate", "--summary", "bad.json", "--policy", "policy.toml"])
            .fails_with(2, part);
        bed.anonymize(&["--algorithm", "s-instant", "--summary", "bad.json"]).fails_with(2, part);
    };
    refused(
        &good.replace("\"version\": 1", "\"version\": 2"),
        "unsupported summary version 2, expected 1",
    );
    refused(&good[..good.len() / 2], "invalid JSON");
    refused("", "invalid JSON");
    refused("[]", "invalid JSON");
    refused(&good.replace("\"rows\": 6", "\"rows\": 7"), "the summary is damaged");
    refused(
        &good.replace("\"city\"", "\"town\""),
        "`town` has the role quasi-identifier in the summary",
    );
    refused(
        &good.replace("\"sensitive\"", "\"secret\""),
        "the summary is damaged: invalid role or type of `ill`",
    );
    // Other hierarchies, and other columns, than the policy's.
    bed.file("bad.json", &good);
    bed.file("city.csv", "Bern;north;CH\nBiel;north;CH\nThun;lake;CH\n");
    bed.run(&["estimate", "--summary", "bad.json", "--policy", "policy.toml"])
        .fails_with(2, "the hierarchy of `city` differs from the policy");
    bed.file("city.csv", "Bern;plain;CH\nBiel;plain;CH\n");
    bed.run(&["estimate", "--summary", "bad.json", "--policy", "policy.toml"])
        .fails_with(2, "the hierarchy of `city` differs from the policy");
    bed.file("city.csv", crate::bed::CITIES);
    bed.file(
        "policy.toml",
        PEOPLE_POLICY.to_string() + "\n[attributes.zip]\nrole = \"quasi-identifier\"\n",
    );
    bed.run(&["estimate", "--summary", "bad.json", "--policy", "policy.toml"])
        .fails_with(2, "the summary has no column `zip`, which the policy names");
    bed.run(&["estimate", "--summary", "none.json", "--policy", "policy.toml"])
        .fails_with(2, "none.json");
}

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let bed = Bed::people();
    bed.anonymize(&["--summary-kind", "bayes"]).fails_with(2, "s-instant or m-instant");
    bed.anonymize(&["--threshold", "0.5"]).fails_with(2, "s-instant or m-instant");
    bed.anonymize(&["--algorithm", "s-instant", "--threshold", "1.5"])
        .fails_with(2, "a probability above 0 and at most 1");
    bed.anonymize(&["--algorithm", "s-instant", "--without", "speed"])
        .fails_with(2, "one of hybrid, expo, sd-cut, limit, max");
    bed.anonymize(&["--algorithm", "s-instant", "--loss", "cm"]).fails_with(2, "cm");
    let summarize = ["summarize", "table.csv", "--policy", "policy.toml", "-o", "s.json"];
    bed.run(&[&summarize[..], &["--rows", "3"]].concat()).fails_with(2, "--rows").says("`sample`");
    bed.run(&[&summarize[..], &["--max-parents", "2"]].concat())
        .fails_with(2, "--max-parents")
        .says("`bayes`");
    bed.run(&["summarize", "table.csv", "--policy", "policy.toml", "-o", "table.csv"])
        .fails_with(2, "table.csv");
}

#[test]
fn releases_by_belief_are_verified_and_reported() {
    let bed = census("4000");
    let optimum = bed.anonymize(&["--algorithm", "incognito", "-k", "20", "--json"]).ok().json();
    for kind in KINDS {
        for algorithm in ["s-instant", "m-instant"] {
            let report = bed
                .anonymize(&[
                    "--algorithm",
                    algorithm,
                    "-k",
                    "20",
                    "--summary-kind",
                    kind,
                    "--json",
                ])
                .ok()
                .json();
            assert_eq!(report["algorithm"], algorithm);
            let search = &report["search"];
            assert_eq!((&search["data-scans"], &search["summary"]), (&1.into(), &kind.into()));
            assert!(
                search["checks"].as_u64() >= Some(1) && search["probability"].as_f64() > Some(0.5),
                "{search}"
            );
            assert!(report["smallest-class"].as_u64() >= Some(20));
            bed.run(&["verify", "out.csv", "--policy", "policy.toml", "-k", "20"]).ok();
            if algorithm == "s-instant" {
                let lm = |report: &Value| report["loss"]["lm"].as_f64().unwrap();
                assert_eq!(search["optimal"], false);
                assert!(
                    lm(&report) >= lm(&optimum) - 1e-9 && lm(&report) <= lm(&optimum) + 0.1,
                    "{kind}: {report}"
                );
            }
        }
    }
    // The same summary from a file, twice and on one thread: the same bytes.
    summarize(&bed, "bayes", &[]);
    let run = |more: &[&str]| {
        bed.anonymize(
            &[&["--algorithm", "s-instant", "-k", "20", "--summary", "bayes.json"], more].concat(),
        )
        .ok();
        bed.bytes("out.csv")
    };
    assert_eq!(run(&[]), run(&["--threads", "1"]));
    // Suppression, by expectation.
    let report = bed
        .anonymize(&["--algorithm", "s-instant", "-k", "20", "--suppression", "5%", "--json"])
        .ok()
        .json();
    assert!(report["suppressed"].as_u64() <= Some(200));
    assert!(report["loss"]["lm"].as_f64() < optimum["loss"]["lm"].as_f64());
}

/// A summary of one table decides about another that lacks some of its values and has others.
#[test]
fn a_summary_may_be_of_other_rows() {
    let bed = census("3000");
    summarize(&bed, "bayes", &[]);
    bed.run(&[
        "generate",
        "census",
        "--rows",
        "1500",
        "--seed",
        "6",
        "-o",
        "other.csv",
        "--policy",
        "other.toml",
    ])
    .ok();
    for algorithm in ["s-instant", "m-instant"] {
        let arguments =
            ["anonymize", "other.csv", "--policy", "policy.toml", "-o", "out.csv", "-k", "15"];
        let more = ["--algorithm", algorithm, "--summary", "bayes.json", "--json"];
        let report = bed.run(&[&arguments[..], &more].concat()).ok().json();
        assert!(report["smallest-class"].as_u64() >= Some(15), "{report}");
    }
}

#[test]
fn what_cannot_be_met_is_told_with_status_1() {
    let bed = Bed::people();
    for algorithm in ["s-instant", "m-instant"] {
        let outcome = bed.anonymize(&["--algorithm", algorithm, "-k", "7", "--json"]);
        let report = outcome.json();
        outcome.fails_with(1, "");
        assert_eq!(
            (&report["released"], &report["privacy"][0]["required"]),
            (&0.into(), &7.into()),
            "{report}"
        );
    }
}

/// Counts of pairs of many values outgrow a small memory; a histogram of them does not, and a
/// sample takes what there is.
#[test]
fn a_network_that_does_not_fit_is_refused() {
    let bed = Bed::new();
    bed.run(&[
        "generate",
        "agrawal",
        "--rows",
        "40000",
        "--seed",
        "3",
        "-o",
        "table.csv",
        "--policy",
        "policy.toml",
    ])
    .ok();
    let build = |kind: &str| {
        let arguments =
            ["summarize", "table.csv", "--policy", "policy.toml", "-o", "s.json", "--kind", kind];
        bed.run(&[&arguments[..], &["--memory", "16MiB"]].concat())
    };
    build("bayes").fails_with(3, "memory limit");
    assert!(!bed.exists("s.json"));
    build("sample").ok();
    build("histogram").ok();
}
