//! JSON lines: read by every command, written so that the same is read back, and refused by line.

use crate::bed::{Bed, Outcome};

/// The six people, the age as a number.
const PEOPLE: &str = r#"{"name":"Ann","age":34,"city":"Bern","ill":"flu"}
{"name":"Bob","age":36,"city":"Bern","ill":"gout"}
{"name":"Cid","age":51,"city":"Thun","ill":"flu"}
{"name":"Dee","age":55,"city":"Thun","ill":"asthma"}
{"name":"Eva","age":38,"city":"Biel","ill":"gout"}
{"name":"Fay","age":57,"city":"Thun","ill":"flu"}
"#;

/// Everything is passed on, but one column that is the same for all.
const COPY: &str = "[attributes.key]\nrole = \"quasi-identifier\"\n\
                    [defaults]\nrole = \"insensitive\"\n[privacy]\nk = 1\n";

fn people() -> Bed {
    let bed = Bed::people();
    bed.file("table.jsonl", PEOPLE);
    bed
}

fn anonymize(bed: &Bed, more: &[&str]) -> Outcome {
    let usual = ["anonymize", "table.jsonl", "--policy", "policy.toml", "-o", "out.jsonl"];
    bed.run(&[&usual[..], more].concat())
}

#[test]
fn every_command_reads_json_lines() {
    let bed = people();
    bed.anonymize(&["--save-recoding", "r.json", "--algorithm", "incognito"]).ok();
    anonymize(&bed, &["--algorithm", "incognito"]).ok();
    assert_eq!(
        bed.read("out.jsonl").lines().next(),
        Some(r#"{"age":"30-39","city":"plain","ill":"flu"}"#)
    );
    bed.run(&["verify", "out.jsonl", "--policy", "policy.toml"]).ok();
    bed.run(&["apply", "r.json", "table.jsonl", "--policy", "policy.toml", "-o", "a.csv"]).ok();
    assert_eq!(bed.read("a.csv"), bed.read("out.csv"));
    for ending in ["ndjson", "jsonl.gz", "jsonl.zst", "csv", "parquet", "arrow"] {
        let (there, back) = (format!("there.{ending}"), format!("{ending}-back.csv"));
        let copy = ["anonymize", "out.jsonl", "--policy", "copy.toml", "-o", &there];
        bed.file("copy.toml", COPY.replace("key", "city"));
        bed.run(&[&copy[..], &["--levels", "city=0", "--keep-order"]].concat()).ok();
        let copy = ["anonymize", &there, "--policy", "copy.toml", "-o", &back];
        bed.run(&[&copy[..], &["--levels", "city=0", "--keep-order"]].concat()).ok();
        assert_eq!(bed.read(&back), bed.read("out.csv"), "{ending}");
    }
    bed.run(&["init", "table.jsonl", "-o", "first.toml"]).ok();
    assert!(bed.read("first.toml").contains("type = \"integer\""));
    bed.run(&["risk", "table.jsonl", "--policy", "policy.toml"]).ok();
    bed.run(&["summarize", "table.jsonl", "--policy", "policy.toml", "-o", "s.json"]).ok();
    let build = ["hierarchy", "build", "table.jsonl", "--policy", "policy.toml"];
    bed.run(&[&build[..], &["--attribute", "age", "-o", "h.csv"]].concat()).ok();
    bed.run(&["generate", "census", "--rows", "500", "-o", "census.jsonl"]).ok();
    let census = ["anonymize", "census.jsonl", "--policy", "census.policy.toml", "-o", "c.jsonl"];
    let census = [&census[..], &["--algorithm", "mondrian"]].concat();
    bed.run(&[&census[..], &["--threads", "1"]].concat()).ok();
    let one = bed.bytes("c.jsonl");
    bed.run(&[&census[..], &["--threads", "4"]].concat()).ok();
    assert!(one == bed.bytes("c.jsonl"));
}

/// What is insensitive comes out as it came in: numbers as they were spelled, null and the empty
/// text apart, texts that look like numbers as texts.
#[test]
fn values_that_are_passed_on_come_out_as_they_came_in() {
    let bed = Bed::new();
    let mut table = String::new();
    for row in 0..5000u32 {
        let number = ["1", "1.50", "1e3", "-0.5E-2", "0"][row as usize % 5];
        let real = ["0.5", "-2.25", "null"][row as usize % 3];
        let text = ["\"5\"", "\"\"", "null", r#""a \"b\" \\ \u0001 ü\n""#][row as usize % 4];
        let large = ["123456789012345678901234567890", "7"][row as usize % 2];
        let flag = ["true", "false", "null"][row as usize % 3];
        table += &format!(
            "{{\"key\":\"same\",\"a \\\"name\\\"\":{row},\"spelled\":{number},\"real\":{real},\
             \"text\":{text},\"large\":{large},\"flag\":{flag},\"none\":null}}\n"
        );
    }
    bed.file("table.jsonl", &table).file("policy.toml", COPY);
    for more in [&[][..], &["--threads", "3"], &["--memory", "16MiB"]] {
        let usual = [&["--levels", "key=0", "--keep-order"], more].concat();
        anonymize(&bed, &usual).ok();
        assert!(bed.read("out.jsonl") == table);
    }
    // Other programs see numbers in Parquet, too.
    let parquet = ["anonymize", "table.jsonl", "--policy", "policy.toml", "-o", "a.parquet"];
    bed.run(&[&parquet[..], &["--levels", "key=0", "--keep-order"]].concat()).ok();
    let back = ["anonymize", "a.parquet", "--policy", "policy.toml", "-o", "out.jsonl"];
    bed.run(&[&back[..], &["--levels", "key=0", "--keep-order"]].concat()).ok();
    let first = bed.read("out.jsonl").lines().next().unwrap().to_string();
    assert!(first.contains(r#""a \"name\"":0,"spelled":"1","real":0.5,"text":"5""#), "{first}");
}

/// The columns are those of all lines, in the order in which they occur first.
#[test]
fn keys_may_be_missing_and_in_any_order() {
    let bed = Bed::new();
    bed.file("policy.toml", COPY);
    let table = "\u{feff}{\"b\": 1, \"key\": \"x\"}\r\n\r\n  \n{\"key\": \"x\", \"a\": [], \"c\": true}\n{}";
    bed.file("table.jsonl", table);
    bed.edit("policy.toml", "[defaults]", "[attributes.a]\nrole = \"identifier\"\n[defaults]");
    anonymize(&bed, &["--levels", "key=0", "--keep-order"]).ok();
    assert_eq!(
        bed.read("out.jsonl"),
        "{\"b\":1,\"key\":\"x\",\"c\":null}\n{\"b\":null,\"key\":\"x\",\"c\":true}\n\
         {\"b\":null,\"key\":null,\"c\":null}\n"
    );
}

#[test]
fn what_is_wrong_is_told_by_its_line() {
    let bed = people();
    let fails = |line: &str| {
        bed.file("table.jsonl", PEOPLE.replacen("{\"name\":\"Cid\"", &format!("\n{line}"), 1));
        anonymize(&bed, &[])
    };
    // A blank line comes before it.
    fails("{\"name\":\"Cid\",\"age\":3,\"name\":\"Cid\"")
        .fails_with(2, "table.jsonl:4: ")
        .says("twice");
    fails("{\"name\":\"Cid\",\"age\":3,\"n\\u0061me\":\"Cid\"")
        .fails_with(2, ":4: ")
        .says("`name`");
    fails("{\"name\":'Cid'").fails_with(2, "table.jsonl:4: ").says("byte 9");
    fails("[{\"name\":\"Cid\"").fails_with(2, "table.jsonl:4: ").says("array");
    fails("17\n{\"name\":\"Cid\"").fails_with(2, "table.jsonl:4: ").says("object");
    fails("{}{\"name\":\"Cid\"").fails_with(2, "table.jsonl:4: ").says("JSON");
    bed.file("table.jsonl", PEOPLE.replace("Biel", "\\ud800"));
    anonymize(&bed, &[]).fails_with(2, "table.jsonl:5: ").says("invalid string");
    // The error names the line of the value, too.
    bed.file("table.jsonl", PEOPLE.replace("{\"name\":\"Dee\",\"age\":55", "\n\n{\"age\":\"old\""));
    anonymize(&bed, &[]).fails_with(2, "table.jsonl:6: column `age`").says("old");
    bed.file("table.jsonl", [PEOPLE.as_bytes(), b"{\"name\":\"\xFF\"}\n"].concat());
    anonymize(&bed, &[]).fails_with(2, "table.jsonl:7: ").says("UTF-8");
    bed.file("table.jsonl", format!("{PEOPLE}{{\"name\":"));
    anonymize(&bed, &[]).fails_with(2, "table.jsonl:7: invalid JSON: the line ends before");
    for (nothing, part) in [("", "no rows"), ("\n \n", "no rows"), ("{}\n", "no columns")] {
        bed.file("table.jsonl", nothing);
        anonymize(&bed, &[]).fails_with(2, part);
    }
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    let nested = PEOPLE.replace("\"Bern\"", &deep);
    bed.file("table.jsonl", nested);
    anonymize(&bed, &[]).fails_with(2, "column `city`").says("nested").says("identifier");
    bed.edit("policy.toml", "role = \"sensitive\"", "role = \"insensitive\"");
    bed.file("table.jsonl", PEOPLE.replace("\"flu\"", "{\"code\":1}"));
    anonymize(&bed, &[]).fails_with(2, "column `ill`").says("nested").says("identifier");
    bed.edit("policy.toml", "role = \"insensitive\"", "role = \"identifier\"");
    anonymize(&bed, &[]).ok();
}

/// A line that is longer than the memory allows is refused before it is read.
#[test]
fn a_huge_line_does_not_take_the_memory() {
    let bed = people();
    let long = format!("{{\"name\":\"{}\"}}\n", "x".repeat(3 << 20));
    bed.file("table.jsonl", format!("{PEOPLE}{long}"));
    let outcome = anonymize(&bed, &["--memory", "32MiB"]);
    outcome.fails_with(2, "table.jsonl:7: ").says("longer than");
    bed.edit("policy.toml", "k = 2", "k = 1");
    let outcome = anonymize(&bed, &[]);
    assert!(!outcome.stderr.contains("longer than"), "{outcome:#?}");
}
