//! Hierarchies built, checked and drawn.

use crate::bed::Bed;

const POLICY: &str = "[attributes.zip]\nrole = \"quasi-identifier\"\nhierarchy = { mask = \"right\" }\n\
    [attributes.day]\nrole = \"quasi-identifier\"\nhierarchy = { dates = [\"month\", \"year\"] }\n\
    [attributes.dose]\nrole = \"quasi-identifier\"\nhierarchy = { intervals = [0.5, 1] }\n[privacy]\nk = 2\n";

const TABLE: &str = "zip,day,dose\n130,2024-01-05,0.3\n131,2024-01-07,0.4\n148,2024-02-01,0.5\n149,2024-02-02,0.7\n";

fn bed() -> Bed {
    let bed = Bed::new();
    bed.file("table.csv", TABLE).file("policy.toml", POLICY);
    bed
}

#[test]
fn what_is_built_is_a_tree_that_generalizes_in_the_same_way() {
    let bed = bed();
    for attribute in ["zip", "day", "dose"] {
        let file = format!("{attribute}.csv");
        bed.run(&[
            "hierarchy",
            "build",
            "table.csv",
            "-p",
            "policy.toml",
            "-a",
            attribute,
            "-o",
            &file,
        ])
        .ok();
        assert_eq!(bed.mode(&file), 0o600);
        bed.run(&["hierarchy", "check", &file]).ok();
    }
    assert_eq!(bed.read("zip.csv"), "130;13*;1**;*\n131;13*;1**;*\n148;14*;1**;*\n149;14*;1**;*\n");
    assert!(
        bed.read("dose.csv").contains("0.5;\"[0.5, 1)\";\"[0, 1)\";*\n"),
        "{}",
        bed.read("dose.csv")
    );
    let files = "[attributes.zip]\nrole = \"quasi-identifier\"\nhierarchy = \"zip.csv\"\n\
        [attributes.day]\nrole = \"quasi-identifier\"\nhierarchy = \"day.csv\"\n\
        [attributes.dose]\nrole = \"quasi-identifier\"\nhierarchy = \"dose.csv\"\n[privacy]\nk = 2\n";
    bed.file("files.toml", files);
    bed.run(&["anonymize", "table.csv", "-p", "policy.toml", "-o", "a.csv"]).ok();
    bed.run(&["anonymize", "table.csv", "-p", "files.toml", "-o", "b.csv"]).ok();
    assert_eq!(bed.read("a.csv"), bed.read("b.csv"));
    let again = bed.run(&[
        "hierarchy",
        "build",
        "table.csv",
        "-p",
        "policy.toml",
        "-a",
        "zip",
        "-o",
        "zip.csv",
    ]);
    assert_eq!(again.status, 2, "nothing is overwritten");
}

#[test]
fn a_tree_is_drawn_from_its_root() {
    let bed = bed();
    let drawn = bed.run(&["hierarchy", "draw", "table.csv", "-p", "policy.toml", "-a", "zip"]).ok();
    let expected = "*\n└── 1**\n    ├── 13*\n    │   ├── 130\n    │   └── 131\n    └── 14*\n        ├── 148\n        └── 149\n";
    assert_eq!(drawn.stdout, expected);
    bed.run(&[
        "hierarchy",
        "build",
        "table.csv",
        "-p",
        "policy.toml",
        "-a",
        "zip",
        "-o",
        "zip.csv",
    ])
    .ok();
    assert_eq!(bed.run(&["hierarchy", "draw", "zip.csv"]).ok().stdout, expected);
    let json = bed.run(&["hierarchy", "check", "zip.csv", "--json"]).ok().json();
    assert_eq!((json["leaves"].as_u64(), json["height"].as_u64()), (Some(4), Some(3)));
    assert_eq!(json["nodes"].to_string(), "[4,2,1,1]");
}

#[test]
fn what_is_no_tree_is_refused() {
    let bed = bed();
    bed.file("twice.csv", "a;x;*\nb;y;*\na;x;*\n")
        .file("two.csv", "a;x;p;*\nb;x;q;*\n")
        .file("means.csv", "a;x;*\nx;y;*\n");
    for (file, told) in
        [("twice.csv", "twice.csv:3"), ("two.csv", "two.csv:2"), ("means.csv", "`x`")]
    {
        let run = bed.run(&["hierarchy", "check", file]);
        assert_eq!(run.status, 2, "{file}");
        assert!(run.stderr.contains(told), "{file}: {}", run.stderr);
    }
    let run = bed.run(&["hierarchy", "draw", "table.csv", "-p", "policy.toml", "-a", "zipp"]);
    assert!(run.status == 2 && run.stderr.contains("zip"), "{}", run.stderr);
    assert_eq!(bed.run(&["hierarchy", "draw", "table.csv", "-p", "policy.toml"]).status, 2);
}
