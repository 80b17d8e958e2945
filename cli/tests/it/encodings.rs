//! CSV in every encoding, headers with names that are missing or repeated, and flags about them.

use crate::bed::{Bed, CITIES, Outcome, PEOPLE, PEOPLE_POLICY};
use std::io::Write;
use std::process::Stdio;

/// The six people with letters that ASCII does not have.
fn people() -> String {
    PEOPLE.replace("Biel", "Zürich").replace("asthma", "grüße")
}

fn bed() -> Bed {
    let bed = Bed::people();
    bed.file("city.csv", CITIES.replace("Biel", "Zürich")).file("table.csv", people());
    bed
}

fn utf_16(text: &str, is_big: bool) -> Vec<u8> {
    let bytes = |unit: u16| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() };
    text.encode_utf16().flat_map(bytes).collect()
}

/// A search that takes no time.
const QUICK: [&str; 2] = ["--algorithm", "incognito"];

/// All characters must be Latin-1.
fn latin_1(text: &str) -> Vec<u8> {
    text.chars().map(|character| u8::try_from(character as u32).unwrap()).collect()
}

/// The same table in other encodings: the name that detection notes, if it is a guess.
fn encoded() -> Vec<(&'static str, Vec<u8>, Option<&'static str>)> {
    let (text, marked) = (people(), format!("\u{feff}{}", people()));
    vec![
        ("utf-8", text.clone().into_bytes(), None),
        ("utf-8", marked.clone().into_bytes(), None),
        ("utf-16le", utf_16(&marked, false), None),
        ("utf-16be", utf_16(&marked, true), None),
        ("utf-16le", utf_16(&text, false), Some("UTF-16LE")),
        ("utf-16be", utf_16(&text, true), Some("UTF-16BE")),
        ("latin1", latin_1(&text), Some("windows-1252")),
    ]
}

/// Done, and standard error is one note with this text.
#[track_caller]
fn noted(outcome: Outcome, part: &str) -> Outcome {
    assert_eq!(outcome.status, 0, "{outcome:#?}");
    outcome.complains().says("note: ").says(part)
}

#[test]
fn encodings_are_detected_and_can_be_given() {
    let plain = bed();
    plain.anonymize(&QUICK).ok();
    let release = plain.read("out.csv");
    assert!(release.contains("grüße"), "{release}");
    for (name, bytes, guess) in encoded() {
        for ending in ["csv", "csv.gz", "csv.zst"] {
            let table = format!("table.{ending}");
            let packed = match ending {
                "csv" => bytes.clone(),
                "csv.gz" => gzip(&bytes),
                _ => zstd(&bytes),
            };
            let bed = bed();
            bed.file(&table, packed);
            let run = |more: &[&str]| {
                let usual = ["anonymize", &table, "--policy", "policy.toml", "-o", "out.csv"];
                bed.run(&[&usual[..], &QUICK, more].concat())
            };
            match guess {
                Some(guess) => drop(noted(run(&[]), guess).says("set the encoding")),
                None => drop(run(&[]).ok()),
            }
            assert_eq!(bed.read("out.csv"), release, "{name} {ending}");
            // What is given is no guess.
            run(&["--encoding", name]).ok();
            assert_eq!(bed.read("out.csv"), release, "{name} {ending}");
        }
        for threads in ["1", "3"] {
            let bed = self::bed();
            bed.file("table.csv", &bytes);
            let given = ["--encoding", name, "--threads", threads];
            bed.anonymize(&[&QUICK[..], &given].concat()).ok();
            assert_eq!(bed.read("out.csv"), release, "{name} {threads}");
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    // A stored block needs no compressor; the checksum is that of RFC 1952.
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    let length = bytes.len() as u16;
    packed.extend(length.to_le_bytes().into_iter().chain((!length).to_le_bytes()));
    packed.extend_from_slice(bytes);
    let checksum = bytes.iter().fold(!0u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            if sum & 1 == 1 { sum >> 1 ^ 0xEDB8_8320 } else { sum >> 1 }
        })
    });
    packed.extend((!checksum).to_le_bytes());
    packed.extend((bytes.len() as u32).to_le_bytes());
    packed
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    // One raw block in a frame that tells its length in four bytes.
    let mut packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    packed.extend((bytes.len() as u32).to_le_bytes());
    let block = (bytes.len() as u32) << 3 | 1;
    packed.extend_from_slice(&block.to_le_bytes()[..3]);
    packed.extend_from_slice(bytes);
    packed
}

#[test]
fn every_command_reads_other_encodings() {
    let bed = bed();
    bed.file("table.csv", latin_1(&people()));
    let given = ["--encoding", "windows-1252"];
    let run = |arguments: &[&str]| bed.run(&[arguments, &given[..]].concat());
    run(&["init", "table.csv", "-o", "first.toml"]).ok();
    assert!(bed.read("first.toml").contains("attributes.city"));
    run(&["risk", "table.csv", "--policy", "policy.toml"]).ok();
    run(&["summarize", "table.csv", "--policy", "policy.toml", "-o", "s.json"]).ok();
    assert!(bed.read("s.json").contains("Zürich"));
    let build = ["hierarchy", "build", "table.csv", "--policy", "policy.toml"];
    run(&[&build[..], &["--attribute", "city", "-o", "h.csv"]].concat()).ok();
    assert!(bed.read("h.csv").contains("Zürich"));
    let save = ["--save-recoding", "r.json", "--algorithm", "incognito"];
    bed.anonymize(&[&given[..], &save].concat()).ok();
    run(&["apply", "r.json", "table.csv", "--policy", "policy.toml", "-o", "again.csv"]).ok();
    assert_eq!(bed.read("again.csv"), bed.read("out.csv"));
    // A release is UTF-8.
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
}

#[test]
fn standard_input_may_be_in_another_encoding() {
    let bed = bed();
    let usual = ["anonymize", "-", "--policy", "policy.toml", "-o", "-", "--format", "csv"];
    let mut command = bed.command(&usual);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(&utf_16(&people(), true)).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.contains("UTF-16BE"), "{told}");
    bed.anonymize(&[]).ok();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), bed.read("out.csv"));
}

/// Where the first letter comes late, the encoding is decided late.
#[test]
fn a_late_letter_decides() {
    let bed = bed();
    let ascii = "Ann,34,Bern,flu\n".repeat(60_000);
    let table = |rest: &[u8]| [b"name,age,city,ill\n", ascii.as_bytes(), rest].concat();
    bed.file("table.csv", table(b"B\xF6b,34,Bern,gr\xFC\xDFe\n"));
    noted(bed.anonymize(&["-k", "1"]), "windows-1252");
    assert!(bed.read("out.csv").contains("grüße"));
    bed.file("table.csv", table("Böb,34,Bern,grüße\n".as_bytes()));
    bed.anonymize(&["-k", "1"]).ok();
    assert!(bed.read("out.csv").contains("grüße"));
    // Once it is UTF-8, it stays UTF-8.
    let mixed = ["Böb,34,Bern,grüße\n".as_bytes(), ascii.as_bytes(), b"B\xF6b,34,Bern,gr\xFC\n"];
    bed.file("table.csv", table(&mixed.concat()));
    let outcome = bed.anonymize(&["-k", "1"]);
    outcome.fails_with(2, "table.csv:120003: column `ill`").says("set its encoding");
}

#[test]
fn text_that_is_not_in_the_given_encoding_is_told_by_its_line() {
    let bed = bed();
    let mut bytes = utf_16(&people(), false);
    // Half of a pair of surrogates in the third line.
    let at = 2 * people().find("Bob").unwrap();
    bytes[at..at + 2].copy_from_slice(&[0x00, 0xD8]);
    bed.file("table.csv", &bytes);
    let given = ["--encoding", "utf-16le"];
    bed.anonymize(&given).fails_with(2, "table.csv:3: ").says("UTF-16LE");
    // An odd byte at the end.
    bed.file("table.csv", [utf_16(&people(), false), vec![65]].concat());
    bed.anonymize(&given).fails_with(2, "table.csv:8: ").says("UTF-16LE");
    // A mark of another encoding.
    bed.file("table.csv", format!("\u{feff}{}", people()));
    bed.anonymize(&given).fails_with(2, "table.csv:1: ").says("mark of UTF-8");
    bed.file("table.csv", [0xFF, 0xFE, 0, 0, 65, 0, 0, 0]);
    bed.anonymize(&[]).fails_with(2, "table.csv:1: ").says("UTF-32");
}

#[test]
fn flags_about_formats_need_such_a_format() {
    let bed = bed();
    bed.anonymize(&["--encoding", "klingon"]).fails_with(2, "--encoding").says("windows-1252");
    bed.anonymize(&["--sheet", "people"]).fails_with(2, "--sheet").says(".xlsx");
    let copy = ["anonymize", "table.csv", "--policy", "policy.toml", "-o"];
    for output in ["table.parquet", "table.jsonl", "table.arrow"] {
        bed.run(&[&copy[..], &[output]].concat()).ok();
        let verify = ["verify", output, "--policy", "policy.toml"];
        bed.run(&verify).ok();
        let refused = bed.run(&[&verify[..], &["--encoding", "utf-8"]].concat());
        refused.fails_with(2, "--encoding").says("CSV");
    }
    let outcome = bed.run(&[&copy[..], &["out.xlsx"]].concat());
    outcome.fails_with(2, "xlsx is only read");
    let stakes = ["advise", "--prior", "0.1", "--population", "9", "--table", "3"];
    let more = ["--cost", "1", "--misuse", "1", "--rename-duplicates"];
    assert_eq!(bed.run(&[&stakes[..], &more].concat()).status, 2);
}

#[test]
fn columns_can_be_renamed() {
    let bed = Bed::people();
    let table = PEOPLE.replace("name,age,city,ill", "age,age,,ill");
    bed.file("table.csv", &table);
    bed.anonymize(&[]).fails_with(2, "table.csv:1").says("1 and 2").says("--rename-duplicates");
    bed.file("table.csv", table.replace("age,age,", "name,age,"));
    bed.anonymize(&[]).fails_with(2, "column 3 has no name").says("--rename-duplicates");
    bed.file("table.csv", &table);
    let policy = PEOPLE_POLICY.replace("attributes.age", "attributes.age_2");
    let policy = policy.replace("attributes.name", "attributes.age");
    bed.file("policy.toml", policy.replace("attributes.city", "attributes.column_3"));
    bed.anonymize(&["--rename-duplicates"]).ok();
    assert!(bed.read("out.csv").starts_with("age_2,column_3,ill\n"));
    bed.run(&["init", "table.csv", "-o", "new.toml", "--rename-duplicates"]).ok();
    assert!(bed.read("new.toml").contains("[attributes.column_3]"));
    // Renaming only what must be renamed.
    let plain = Bed::people();
    plain.anonymize(&["--rename-duplicates"]).ok();
}
