//! Do texts for people say what happened? Each test has the name of what once misled somebody.

use crate::bed::Bed;
use serde_json::json;

/// Six people whose ills have caps of their own.
fn capped(caps: &str) -> Bed {
    let bed = Bed::people();
    bed.edit("policy.toml", "k = 2", &format!("k = 2\nthresholds = {caps}"));
    bed
}

const HOLDS: &str = "{ default = \"2/3\", asthma = \"1/3\" }";
const FAILS: &str = "{ default = \"9/10\", flu = \"1/4\" }";

/// Two classes of three; asthma is 1 of 3 in one of them, which is exactly its cap.
#[test]
fn the_worst_value_is_named_with_its_share_and_its_cap() {
    let bed = capped(HOLDS);
    let outcome = bed.anonymize(&[]).ok();
    let told = "holds  thresholds of `ill`: worst is `asthma` in 1 of 3 rows of a class, share \
                0.3333, cap 1/3";
    assert!(outcome.stdout.contains(told), "{outcome:#?}");
    assert!(!outcome.stdout.contains("required at most 1"), "{outcome:#?}");
    let public: serde_json::Value = serde_json::from_str(&bed.read("out.csv.report.json")).unwrap();
    let worst =
        json!({"value": "asthma", "rows": 1, "class-rows": 3, "share": 1.0 / 3.0, "cap": "1/3"});
    assert_eq!(public["privacy"][1]["worst"], worst, "{public}");
    assert_eq!(
        (&public["privacy"][1]["required"], &public["privacy"][1]["achieved"]),
        (&json!(1), &json!(1))
    );
    // A class of two with asthma and flu.
    let verify = ["verify", "out.csv", "--policy", "policy.toml"];
    let outcome = bed.run(&verify).ok();
    assert!(outcome.stdout.contains(told), "{outcome:#?}");
    let released = bed.read("out.csv");
    let with_flu =
        released.lines().find(|line| line.ends_with("Thun,flu") || line.ends_with("lake,flu"));
    let without = released.replacen(&format!("{}\n", with_flu.unwrap()), "", 1);
    bed.file("out.csv", without);
    let worst = "thresholds of `ill`: `asthma` in 1 of 2 rows of a class, share 0.5000, cap 1/3 (1 of 2 \
                 classes fail)";
    let outcome = bed.run(&verify).fails_with(1, worst);
    assert!(
        outcome.stdout.contains("FAILS  thresholds of `ill`: worst is `asthma`"),
        "{outcome:#?}"
    );
    let report = bed.run(&[&verify[..], &["--json"]].concat()).json();
    assert_eq!(report["privacy"][1]["worst"]["value"], json!("asthma"));
}

/// The order of rows must not show in a report that is published. Each of the three ills has two
/// thirds of its cap.
#[test]
fn the_worst_of_equal_values_is_the_first_by_name() {
    let bed = capped("{ flu = \"3/4\", gout = \"1/2\", asthma = \"1/4\" }");
    for seed in ["1", "2", "3", "4"] {
        let report = bed.anonymize(&["--json", "--levels", "age=3,city=2", "--seed", seed]);
        let report = report.ok().json();
        assert_eq!(report["privacy"][1]["worst"]["value"], json!("asthma"), "{report}");
    }
}

#[test]
fn a_refusal_names_the_requirement_the_figures_and_the_classes() {
    let bed = Bed::people();
    bed.anonymize(&["-k", "7"]).fails_with(
        1,
        "recodings meets them; the most general recoding fails k-anonymity: required at least 7, \
         reached 6 (the only class fails); relax",
    );
    bed.anonymize(&["--levels", "age=0,city=0"]).fails_with(
        1,
        "at most 0 may be suppressed; k-anonymity: required at least 2, reached 1 (6 of 6 classes \
         fail)",
    );
    bed.anonymize(&["-k", "7", "--algorithm", "mondrian"]).fails_with(
        1,
        "the whole table of 6 rows, as one class, fails k-anonymity: required at least 7, reached 6;",
    );
    let fails = "`flu` in 3 of 6 rows of a class, share 0.5000, cap 1/4";
    for algorithm in ["incognito", "mondrian", "rothko-t", "l-plus-optimize"] {
        let outcome = capped(FAILS).anonymize(&["--algorithm", algorithm]).fails_with(1, fails);
        assert!(!outcome.stderr.contains("required 1"), "{outcome:#?}");
    }
    let report = capped(FAILS).anonymize(&["--json"]).fails_with(1, fails).json();
    assert_eq!(report["privacy"][1]["worst"]["cap"], json!("1/4"));
}

/// `verify` once said of a file that is there that it was not released.
#[test]
fn a_release_that_fails_is_not_called_unreleased() {
    let bed = Bed::people();
    bed.anonymize(&[]).ok();
    let outcome = bed
        .run(&["verify", "out.csv", "--policy", "policy.toml", "-k", "4"])
        .fails_with(
            1,
            "out.csv: the release does not meet the policy: k-anonymity: required at least 4",
        )
        .says("do not publish it, and anonymize the original table again");
    assert!(!outcome.stderr.contains("released"), "{outcome:#?}");
}
