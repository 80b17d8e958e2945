//! What leaves the house says nothing about those who stay: releases and what is published with
//! them, searched for values that only suppressed rows have.

use crate::bed::Bed;
use serde_json::Value;

/// 60 people in three towns, and two more with a town, an age and an ill of their own.
fn outliers() -> Bed {
    let bed = Bed::new();
    let mut text = String::from("town,zip,ill,vote\n");
    for row in 0..60 {
        let town = ["Bern", "Biel", "Thun"][row % 3];
        let ill = ["flu", "gout", "cold", "mumps"][row / 3 % 4];
        text += &format!("{town},30{},{ill},{}\n", row % 3, ["yes", "no"][row % 2]);
    }
    text += "Quux,777777,kuru,odd\nXyzzy,888888,scurvy,odd\n";
    bed.file("table.csv", text);
    bed.file(
        "town.csv",
        "Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\nQuux;hill;CH\nXyzzy;dale;CH\n",
    );
    bed
}

fn policy(privacy: &str, search: &str) -> String {
    format!(
        "[attributes.town]\nrole = \"quasi-identifier\"\nhierarchy = \"town.csv\"\n\
         [attributes.zip]\nrole = \"quasi-identifier\"\ntype = \"text\"\n\
         hierarchy = {{ mask = \"right\", char = \"*\" }}\n\
         [attributes.ill]\nrole = \"sensitive\"\n[attributes.vote]\nrole = \"target\"\n\
         [privacy]\n{privacy}\n[search]\n{search}\n"
    )
}

/// Values that only suppressed rows have, and nodes that have nothing else below them.
const SECRET: [&str; 9] =
    ["Quux", "Xyzzy", "hill", "dale", "777777", "888888", "kuru", "scurvy", "odd"];

#[test]
fn public_outputs_tell_nothing_of_suppressed_rows() {
    let caps = "k = 5\nthresholds = { from-frequency = \"1/3\" }";
    let records = "algorithm = \"l-plus-optimize\"\nsuppression = { scheme = \"all-records\" }";
    let violating =
        "algorithm = \"l-plus-optimize\"\nsuppression = { scheme = \"violating-records\" }";
    let limit =
        |algorithm: &str| format!("algorithm = \"{algorithm}\"\nsuppression = {{ limit = 0.05 }}");
    let cases = [
        ("k = 5", limit("incognito")),
        (caps, limit("incognito")),
        ("k = 5", limit("s-instant")),
        (caps, records.to_string()),
        ("k = 5", records.to_string()),
        (caps, violating.to_string()),
    ];
    let mut suppressed = 0;
    for (privacy, search) in cases {
        let bed = outliers();
        bed.file("policy.toml", policy(privacy, &search));
        let report = bed.anonymize(&["--json"]).ok().json();
        let released = bed.read("out.csv");
        // A scheme may keep one of the two at the root.
        let secret = || SECRET.iter().filter(|value| !released.contains(*value));
        suppressed += report["suppressed"].as_u64().unwrap();
        for name in ["out.csv", "out.csv.report.json"] {
            let told: Vec<_> = secret().filter(|value| bed.read(name).contains(*value)).collect();
            assert!(told.is_empty(), "{search}: {name} tells {told:?}:\n{}", bed.read(name));
        }
        assert_eq!(bed.mode("out.csv.private.json"), 0o600);
        let private = bed.read("out.csv.private.json");
        assert!(private.starts_with("{\n  \"owner-only\": \"Do not publish"), "{private}");
        assert_eq!(report["private"], serde_json::from_str::<Value>(&private).unwrap());
        // So do the pages for everybody, and those for the owner say what they are.
        let page = ["verify", "out.csv", "--policy", "policy.toml", "--html", "page.html"];
        bed.run(&page).ok();
        let show = bed.run(&["show", "out.csv", "--policy", "policy.toml", "--json"]).ok();
        for text in [bed.read("page.html"), show.stdout] {
            let told: Vec<_> = secret().filter(|value| text.contains(*value)).collect();
            assert!(told.is_empty(), "{search}: a page tells {told:?}:\n{text}");
        }
        // The public report is enough to verify.
        std::fs::remove_file(bed.path("out.csv.private.json")).unwrap();
        bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
    }
    assert!(suppressed >= 6, "{suppressed}");
}

/// Caps that follow from frequencies are those of a release with all its rows.
#[test]
fn a_release_that_lost_rows_is_noticed_when_caps_follow_from_frequencies() {
    for algorithm in ["incognito", "mondrian", "rothko-t"] {
        let bed = outliers();
        let table = bed.read("table.csv");
        let kept: Vec<&str> = table.lines().filter(|line| !line.ends_with("odd")).collect();
        bed.file("table.csv", kept.join("\n") + "\n");
        let search = format!("algorithm = \"{algorithm}\"");
        bed.file("policy.toml", policy("thresholds = { from-frequency = \"1/2\" }", &search));
        bed.anonymize(&[]).ok();
        let verify = || bed.run(&["verify", "out.csv", "--policy", "policy.toml"]);
        verify().ok();
        let released = bed.read("out.csv");
        let fewer: Vec<&str> = released.lines().take(50).collect();
        bed.file("out.csv", fewer.join("\n") + "\n");
        verify().fails_with(1, "the report says that 60 rows were released, but there are 49");
    }
}

/// k alone does not keep a sensitive value secret, and the command says so.
#[test]
fn a_sensitive_value_that_a_whole_class_shares_is_noted() {
    let bed = Bed::new();
    let mut text = String::from("town,ill\n");
    for (town, ill) in [("Bern", "flu"), ("Biel", "flu"), ("Biel", "gout"), ("Thun", "")] {
        text += &format!("{town},{ill}\n").repeat(3);
    }
    bed.file("table.csv", &text);
    let roles = "[attributes.town]\nrole = \"quasi-identifier\"\n[attributes.ill]\n\
                 role = \"sensitive\"\n[privacy]\nk = 3\n";
    bed.file("policy.toml", roles);
    // All of Bern has flu; what those of Thun have is not known.
    let note = "note: no requirement protects `ill`; everybody has the same value in 1 class (3 \
                people)";
    for algorithm in ["incognito", "mondrian", "rothko-s", "rothko-t"] {
        let outcome = bed.anonymize(&["--algorithm", algorithm]).ok();
        assert!(outcome.stdout.contains(note), "{algorithm}: {}", outcome.stdout);
        let verify = bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
        assert!(verify.stdout.contains(note), "{}", verify.stdout);
        let json = bed.run(&["verify", "out.csv", "--policy", "policy.toml", "--json"]).ok().json();
        let expected = serde_json::json!([{"sensitive": "ill", "classes": 1, "rows": 3}]);
        assert_eq!(json["same-value"], expected, "{json}");
    }
    bed.file("policy.toml", roles.to_string() + "l-diversity = { kind = \"distinct\", l = 1 }\n");
    assert!(!bed.anonymize(&[]).ok().stdout.contains("note:"));
}
