//! `scumble show` and the pages of `--html`.

use crate::bed::{Bed, PEOPLE};

fn released(more: &[&str]) -> Bed {
    let bed = Bed::people();
    bed.anonymize(&[&["--html", "page.html"], more].concat()).ok();
    bed
}

#[test]
fn show_tells_what_columns_look_like_before_and_after() {
    let bed = released(&[]);
    let show =
        bed.run(&["show", "out.csv", "--policy", "policy.toml", "--original", "table.csv"]).ok();
    let expected = "\
out.csv: 6 rows, 4 columns
original: table.csv, 6 rows
Do not publish this: it tells more than the release does.

name: identifier, text
  before: 6 distinct values
  not released

age: quasi-identifier, integer
  before: 6 distinct values
  after: 2 labels; 9 % of the detail lost
    label  rows  before
    30-39     3       3  ########################
    50-59     3       3  ########################

city: quasi-identifier, text
  before: 3 distinct values
  after: 2 labels; 25 % of the detail lost
    label  rows  before
    plain     3       3  ########################
    lake      3       3  ########################

ill: sensitive, text
  before: 3 distinct values
  after: 3 distinct values
    value   rows  before
    flu        3       3  ########################
    gout       2       2  ################
    asthma     1       1  ########

classes by size
    size    classes  before
    1 row         0       6
    2 rows        0       0
    3 rows        2       0  ########################

risk of re-identification (prosecutor)
  before  highest 100 %, average 100 %; 100 % of the rows are above 20 %
  after   highest 33.3 %, average 33.3 %; 100 % of the rows are above 20 %
";
    assert_eq!(show.stdout, expected);
}

/// Without a policy, what is shown of roles comes from the report beside the release.
#[test]
fn show_works_without_a_policy() {
    let bed = Bed::people();
    let diverse = "k = 2\nl-diversity = { kind = \"distinct\", l = 2 }";
    bed.edit("policy.toml", "k = 2", diverse).anonymize(&[]).ok();
    let json = bed.run(&["show", "out.csv", "--json"]).ok().json();
    assert_eq!(json["owner-only"], false);
    let column =
        |at: usize| (json["columns"][at]["name"].as_str(), json["columns"][at]["role"].as_str());
    assert_eq!(column(0), (Some("age"), Some("quasi-identifier")));
    assert_eq!(column(2), (Some("ill"), Some("sensitive")));
    assert_eq!(json["risk"]["after"]["classes"], 2);
    std::fs::remove_file(bed.path("out.csv.report.json")).unwrap();
    let alone = bed.run(&["show", "out.csv"]).ok().stdout;
    assert!(alone.contains("age: role not known") || alone.contains("age: text"), "{alone}");
    assert!(alone.contains("classes: not counted; --policy tells"), "{alone}");
}

/// The page is beside the release, for its owner only, and changes nothing of the release.
#[test]
fn a_page_is_written_with_a_release() {
    let bed = released(&[]);
    let (page, release) = (bed.read("page.html"), bed.bytes("out.csv"));
    assert_eq!(bed.mode("page.html"), 0o600);
    for part in [
        "<!DOCTYPE html>",
        "For the owner of the data only. Do not publish this page",
        "default-src 'none'",
        "k-anonymity with k = 2",
        "It means:",
        "<h2 id=\"risk\">",
        "[attributes.city]",
        "table.csv",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("url("));
    let again = released(&["--threads", "1"]);
    // Only the time that the search took differs.
    let lines = |page: &str| -> Vec<String> {
        page.lines().filter(|line| !line.ends_with(" seconds.</li>")).map(str::to_string).collect()
    };
    assert_eq!(lines(&again.read("page.html")), lines(&page));
    assert_eq!(lines(&page).len() + 1, page.lines().count());
    let without = Bed::people();
    without.anonymize(&[]).ok();
    assert_eq!(without.bytes("out.csv"), release);
    for file in [("out.csv", &bed), ("table.csv", &bed)] {
        let sum = std::process::Command::new("sha256sum").arg(file.1.path(file.0)).output();
        let Ok(sum) = sum else { continue };
        let sum = String::from_utf8(sum.stdout).unwrap();
        let digits = sum.split_whitespace().next().unwrap().trim_start_matches('\\');
        assert!(page.contains(digits), "{}: {digits}", file.0);
    }
}

#[test]
fn verify_and_risk_write_pages_that_do_not_have_the_original() {
    let bed = released(&[]);
    let verify = ["verify", "out.csv", "--policy", "policy.toml", "--html", "public.html"];
    bed.run(&verify).ok();
    let page = bed.read("public.html");
    assert!(page.contains("This page may be published with the release"), "{page}");
    assert!(page.contains("Verified: the release meets every requirement"), "{page}");
    for name in PEOPLE.lines().skip(1).map(|line| line.split(',').next().unwrap()) {
        assert!(!page.contains(&format!("{name}<")) && !page.contains("table.csv"), "{name}");
    }
    // A release that fails has a page that says so.
    bed.edit("out.csv", "30-39", "50-59");
    bed.run(&verify).complains();
    assert!(bed.read("public.html").contains("✗ fails"), "{}", bed.read("public.html"));
    bed.run(&["risk", "table.csv", "--policy", "policy.toml", "--html", "risk.html"]).ok();
    assert!(bed.read("risk.html").contains("Risk report"));
}

#[test]
fn no_page_is_left_if_nothing_is_released() {
    let bed = Bed::people();
    let refused = bed.anonymize(&["--html", "page.html", "-k", "100"]);
    refused.fails_with(1, "k-anonymity");
    bed.anonymize(&["--html", "no/page.html"]).complains();
    for file in ["table.csv", "policy.toml", "city.csv", "out.csv", "out.csv.report.json"] {
        bed.anonymize(&["--html", file]).fails_with(2, "");
    }
    bed.anonymize(&["--html", "-"]).fails_with(2, "--html requires the name of a file");
    bed.anonymize(&[]).ok();
    for file in
        ["out.csv", "policy.toml", "city.csv", "out.csv.report.json", "out.csv.private.json"]
    {
        bed.run(&["verify", "out.csv", "--policy", "policy.toml", "--html", file])
            .fails_with(2, "");
        bed.run(&["show", "out.csv", "--policy", "policy.toml", "--html", file]).fails_with(2, "");
    }
}

/// Cells, names of columns and the policy come from anybody.
#[test]
fn hostile_values_are_texts() {
    let evil = "<script>alert(1)</script>\"'&\u{202e}\u{7}\u{200b}";
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let bed = Bed::new();
    let mut table = format!("{},{},vote\n", quoted(evil), quoted("<img src=x onerror=alert(2)>"));
    for row in 0..8 {
        table += &format!("{},{},{}\n", row / 4, quoted(evil), quoted("</title></svg><b>"));
    }
    bed.file("table.csv", table);
    let toml = |text: &str| {
        format!("{:?}", text)
            .replace("\\u{202e}", "\\u202E")
            .replace("\\u{7}", "\\u0007")
            .replace("\\u{200b}", "\\u200B")
            .replace("\\'", "'")
    };
    bed.file("policy.toml", format!(
        "[attributes.{}]\nrole = \"quasi-identifier\"\n[attributes.\"<img src=x onerror=alert(2)>\"]\nrole = \
         \"sensitive\"\n[attributes.vote]\nrole = \"target\"\nmissing = [\"<script>\"]\n[privacy]\nk = 2\n",
        toml(evil)
    ));
    bed.anonymize(&["--html", "a.html"]).ok();
    bed.run(&["verify", "out.csv", "--policy", "policy.toml", "--html", "b.html"]).ok();
    bed.run(&["risk", "table.csv", "--policy", "policy.toml", "--html", "c.html"]).ok();
    let show =
        bed.run(&["show", "out.csv", "--policy", "policy.toml", "--original", "table.csv"]).ok();
    for text in [bed.read("a.html"), bed.read("b.html"), bed.read("c.html")] {
        for part in ["<script", "<img", "</title></svg>", "<b>"] {
            assert!(!text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("&lt;script&gt;") || text.contains("&#60;script&#62;"), "{text}");
    }
    for text in [bed.read("a.html"), bed.read("b.html"), bed.read("c.html"), show.stdout] {
        assert!(!text.contains(['\u{202e}', '\u{7}', '\u{200b}']), "{text:?}");
    }
}

#[test]
fn compare_writes_a_page_with_a_table_and_a_picture() {
    let bed = Bed::people();
    let compare = ["compare", "table.csv", "--policy", "policy.toml", "-k", "2,3,100"];
    let json = bed.run(&[&compare[..], &["--json"]].concat()).ok();
    let rows: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    bed.run(&[&compare[..], &["--html", "page.html"]].concat()).ok();
    let page = bed.read("page.html");
    assert!(page.contains("For the owner of the data only"), "{page}");
    assert_eq!(bed.mode("page.html"), 0o600);
    let rows = rows.as_array().unwrap();
    let (done, failed): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.get("loss").is_some());
    assert!(!done.is_empty() && !failed.is_empty(), "{rows:?}");
    assert_eq!(page.matches("<circle").count(), done.len(), "{page}");
    assert_eq!(page.matches("class=\"bad\"").count(), failed.len(), "{page}");
    for row in done {
        let lm = format!("<td>{:.4}</td>", row["loss"]["lm"].as_f64().unwrap());
        let name = format!("{}, k = {}<", row["recoding"].as_str().unwrap(), row["k"]);
        assert!(page.contains(&lm) && page.contains(&name), "{lm} {name}: {page}");
    }
    for file in ["table.csv", "policy.toml"] {
        bed.run(&[&compare[..], &["--html", file]].concat()).fails_with(2, "");
    }
}

/// Labels are told as they are written, and counted by what they mean.
#[test]
fn values_in_another_notation_are_counted() {
    let bed = Bed::new();
    let mut table = String::from("born;ill\n");
    for day in 1..=8 {
        table += &format!("0{day}.0{}.1980;{}\n", day.min(7), ["flu", "gout"][day % 2]);
    }
    bed.file("table.csv", table);
    let policy = "[attributes.born]\nrole = \"quasi-identifier\"\ntype = \"date\"\nformat = \
                  \"DD.MM.YYYY\"\nhierarchy = { intervals = [30, 90], from = \"1980-01-01\", to = \
                  \"1981-12-31\" }\n[attributes.ill]\nrole = \"sensitive\"\n[privacy]\nk = 2\n";
    bed.file("policy.toml", policy);
    let report = bed.anonymize(&["--html", "page.html", "--json"]).ok().json();
    let show = ["show", "out.csv", "--policy", "policy.toml", "--original", "table.csv", "--json"];
    let json = bed.run(&show).ok().json();
    let born = &json["columns"][0];
    let labels = born["labels"]["listed"].as_array().unwrap();
    let sum = |key: &str| labels.iter().map(|label| label[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("rows"), sum("before"), sum("values")), (8, 8, 8), "{json}");
    let released = bed.read("out.csv");
    for label in labels {
        let label = label["label"].as_str().unwrap();
        assert!(label.contains(".1980") && released.contains(label), "{label}: {released}");
    }
    assert_eq!(born["loss"], report["loss"]["lm"], "{json}");
    assert_eq!(born["before"]["distinct"], 8);
    assert_eq!(born["before"]["histogram"].as_array().unwrap().len(), 7, "{born}");
}

#[test]
fn a_policy_of_another_table_is_refused() {
    let bed = released(&[]);
    bed.edit("policy.toml", "attributes.city", "attributes.town");
    for command in [&["show", "out.csv"][..], &["show", "out.csv", "--original", "table.csv"]] {
        bed.run(&[command, &["--policy", "policy.toml"]].concat()).fails_with(2, "town");
    }
}
