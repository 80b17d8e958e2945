//! Tables in CSV, Parquet and Arrow: read in every dialect, written so that the same is read back.

use crate::bed::{Bed, PEOPLE, delimited, records, sorted};
use scumble::random::Random;
use std::io::Write;
use std::process::Stdio;

/// What k = 2 makes of the six people.
const RELEASED: [[&str; 3]; 6] = [
    ["30-39", "plain", "flu"],
    ["30-39", "plain", "gout"],
    ["30-39", "plain", "gout"],
    ["50-59", "lake", "asthma"],
    ["50-59", "lake", "flu"],
    ["50-59", "lake", "flu"],
];

fn strings<const N: usize>(rows: &[[&str; N]]) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.map(str::to_string).to_vec()).collect()
}

/// Anonymizes a table of the six people in some dialect; the release is that of the plain table, in
/// the same dialect.
#[track_caller]
fn check(table: impl AsRef<[u8]>, delimiter: char, more: &[&str]) {
    let bed = Bed::people();
    bed.file("table.csv", table).anonymize(more).ok();
    let rows = bed.records("out.csv", delimiter);
    assert_eq!(rows[0], ["age", "city", "ill"], "the identifier is left out, the order is kept");
    assert_eq!(sorted(rows[1..].to_vec()), strings(&RELEASED));
    let mut verify = vec!["verify", "out.csv", "--policy", "policy.toml"];
    verify.extend(more);
    bed.run(&verify).ok();
}

#[test]
fn delimiters_are_sniffed_and_kept() {
    for delimiter in [',', ';', '\t', '|'] {
        check(PEOPLE.replace(',', &delimiter.to_string()), delimiter, &[]);
    }
}

#[test]
fn any_delimiter_can_be_given() {
    check(PEOPLE.replace(',', ":"), ':', &["--delimiter", ":"]);
    check(PEOPLE.replace(',', "\t"), '\t', &["--delimiter", "tab"]);
    check(PEOPLE.replace(',', " "), ' ', &["--delimiter", " "]);
}

#[test]
fn the_delimiter_is_found_among_decoys() {
    // Decimal commas and lists in the fields of a semicolon table.
    let bed = Bed::people();
    bed.file("table.csv", "name;age;city;ill\nA,B;34;Bern;a,b\nC,D;36;Bern;a,c\nE,F;38;Biel;b,c\n")
        .anonymize(&[])
        .ok();
    assert_eq!(bed.records("out.csv", ';')[1], ["30-39", "plain", "a,b"]);
    // One row, and a quoted header full of commas.
    let bed = Bed::people();
    bed.file("table.csv", "name;age;city;\"ill\"\n\"a,b,c,d,e,f\";34;Bern;flu\n")
        .anonymize(&["-k", "1"])
        .ok();
    assert_eq!(bed.records("out.csv", ';').len(), 2);
}

#[test]
fn a_mark_carriage_returns_and_a_missing_last_line_break() {
    let marked = format!("\u{feff}{PEOPLE}");
    check(&marked, ',', &[]);
    check(PEOPLE.replace('\n', "\r\n"), ',', &[]);
    check(marked.replace('\n', "\r\n"), ',', &[]);
    check(PEOPLE.trim_end(), ',', &[]);
    check(PEOPLE.replace('\n', "\r\n").trim_end(), ',', &[]);
    check(format!("\u{feff}{}", PEOPLE.replace("name", "\"name\"")), ',', &[]);
    check(PEOPLE.replace("Cid", "\nCid") + "\n\n", ',', &[]);
}

#[test]
fn quoted_fields_may_hold_anything() {
    let nasty = ["a,b", "a\"b", "a\nb", "\"", "\r\n", "", " a ", "ä\u{1F600}"];
    let mut rows = strings(&[["city", "ill, \"or\nnot\""]]);
    rows.extend(nasty.iter().map(|value| vec!["Bern".into(), value.to_string()]));
    let bed = Bed::new();
    bed.file(
        "policy.toml",
        "[attributes.city]\nrole = \"quasi-identifier\"\n[defaults]\nrole = \"insensitive\"\n[privacy]\nk = 8\n",
    );
    bed.file("table.csv", delimited(&rows, ',')).anonymize(&["--levels", "city=0"]).ok();
    let released = bed.records("out.csv", ',');
    assert_eq!(released[0], rows[0]);
    assert_eq!(sorted(released), sorted(rows));
}

#[test]
fn missing_values_are_values_of_their_own() {
    let bed = Bed::people();
    bed.edit(
        "policy.toml",
        "role = \"quasi-identifier\"\ntype",
        "missing = [\"?\", \"n/a\"]\nrole = \"quasi-identifier\"\ntype",
    );
    bed.edit("table.csv", "Ann,34", "Ann,?").edit("table.csv", "Bob,36", "Bob,").edit(
        "table.csv",
        "Eva,38",
        "Eva,n/a",
    );
    bed.anonymize(&[]).ok();
    let rows = sorted(bed.records("out.csv", ',')[1..].to_vec());
    assert_eq!(
        rows[..3],
        strings(&[["", "plain", "flu"], ["", "plain", "gout"], ["", "plain", "gout"]])
    );
    assert_eq!(rows[3..], strings(&RELEASED)[3..]);
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
    // For all columns at once; a file that lists a token keeps it as a value.
    let bed = Bed::people();
    bed.edit("policy.toml", "[privacy]", "[defaults]\nmissing = [\"?\"]\n[privacy]");
    bed.file("city.csv", "Bern;plain;CH\nBiel;plain;CH\n?;lake;CH\n");
    bed.file("table.csv", PEOPLE.replace("Thun", "?")).anonymize(&[]).ok();
    assert_eq!(sorted(bed.records("out.csv", ',')[1..].to_vec()), strings(&RELEASED));
}

#[test]
fn a_missing_value_is_generalized_to_the_root_only() {
    let bed = Bed::people();
    bed.edit("table.csv", "Ann,34", "Ann,");
    let levels = |levels: &str| {
        let outcome = bed.anonymize(&["-k", "1", "--levels", levels]).ok();
        drop(outcome);
        bed.records("out.csv", ',')[1..].iter().map(|row| row[0].clone()).collect::<Vec<_>>()
    };
    assert_eq!(levels("age=0,city=0").iter().filter(|age| age.is_empty()).count(), 1);
    assert_eq!(levels("age=2,city=0").iter().filter(|age| age.is_empty()).count(), 1);
    assert!(levels("age=3,city=0").iter().all(|age| age == "*"));
}

#[test]
fn types_are_inferred() {
    let bed = Bed::new();
    bed.file("policy.toml", "[defaults]\nrole = \"quasi-identifier\"\n[privacy]\nk = 1\n");
    bed.file("table.csv", "day,number,word\n2024-02-29,07,x\n2024-03-01,7.0,y\n")
        .anonymize(&["--levels", "day=1,number=0,word=0"])
        .ok();
    // A month, and one number written in two ways.
    assert_eq!(bed.read("out.csv"), "day,number,word\n2024-02,07,x\n2024-03,07,y\n");
}

const ENDINGS: [&str; 3] = ["csv", "parquet", "arrow"];

/// The same census table in three formats, released to three formats: nine times the same rows.
#[test]
fn every_format_gives_the_same_release() {
    let bed = Bed::new();
    for ending in ENDINGS {
        let table = format!("census.{ending}");
        bed.run(&["generate", "census", "--rows", "3000", "--seed", "9", "-o", &table]).ok();
    }
    // A local recoding does not depend on the format.
    let local = ENDINGS.map(|from| {
        let (table, out) = (format!("census.{from}"), format!("local-from-{from}.csv"));
        bed.run(&["anonymize", &table, "--policy", "census.policy.toml", "-o", &out]).ok();
        assert!(bed.read(&format!("{out}.report.json")).contains("\"local\""));
        bed.bytes(&out)
    });
    assert!(local.iter().all(|release| *release == local[0]));
    bed.edit("census.policy.toml", "algorithm = \"auto\"", "algorithm = \"incognito\"");
    // Everything passes through a CSV file to be compared.
    bed.file(
        "copy.toml",
        "[attributes.sex]\nrole = \"quasi-identifier\"\n[defaults]\nrole = \"insensitive\"\n[privacy]\nk = 1\n",
    );
    let run = |table: &str, policy: &str, output: &str, more: &[&str]| {
        bed.run(&[&["anonymize", table, "--policy", policy, "-o", output], more].concat()).ok();
    };
    let mut releases = Vec::new();
    for from in ENDINGS {
        for to in ENDINGS {
            let (table, out) = (format!("census.{from}"), format!("from-{from}.{to}"));
            run(&table, "census.policy.toml", &out, &[]);
            bed.run(&["verify", &out, "--policy", "census.policy.toml"]).ok();
            let copy = format!("{out}-copy.csv");
            run(&out, "copy.toml", &copy, &["--levels", "sex=0"]);
            releases.push((out, bed.read(&copy)));
        }
    }
    for (name, release) in &releases {
        assert!(*release == releases[0].1, "{name} differs from {}", releases[0].0);
    }
}

/// Words that break readers: quotes, delimiters, line breaks, marks, spaces, emptiness, letters of
/// many bytes.
fn nasty(random: &mut Random) -> String {
    const PIECES: [&str; 24] = [
        "", "\"", "\"\"", ",", ";", "\t", "|", "\n", "\r\n", "\r", " ", "  ", "a", "Z", "0", "-1",
        "1e5", "é", "漢", "😀", "\u{feff}", "'", "\\", "NULL",
    ];
    (0..random.below(5)).map(|_| PIECES[random.below(PIECES.len() as u64) as usize]).collect()
}

fn nasty_table(random: &mut Random, rows: usize) -> Vec<Vec<String>> {
    let columns = random.between(1, 4) as usize;
    let mut names: Vec<String> = vec!["key".into()];
    while names.len() <= columns {
        let name = nasty(random) + &format!("{}", names.len());
        names.push(name);
    }
    let mut table = vec![names];
    for _ in 0..rows {
        let mut row = vec!["same".to_string()];
        row.extend((0..columns).map(|_| nasty(random)));
        table.push(row);
    }
    table
}

/// A TOML key in quotes.
fn key(name: &str) -> String {
    let escape = |character: char| match character {
        '"' | '\\' => format!("\\{character}"),
        _ if character.is_control() => format!("\\u{:04X}", character as u32),
        _ => character.to_string(),
    };
    format!("\"{}\"", name.chars().map(escape).collect::<String>())
}

/// Random tables of nasty words go from CSV to Parquet to Arrow and back, in columns of every role
/// that passes on, and come back with the same rows.
#[test]
fn what_is_written_is_read_back() {
    let mut random = Random::new(20);
    for round in 0..24 {
        let rows = [1, 2, 7, 300][round % 4];
        let table = nasty_table(&mut random, rows);
        let roles = ["insensitive", "sensitive", "target"];
        let mut policy =
            String::from("[attributes.key]\nrole = \"quasi-identifier\"\n[privacy]\nk = 1\n");
        for name in &table[0][1..] {
            let role = roles[random.below(3) as usize];
            policy += &format!("[attributes.{}]\nrole = \"{role}\"\n", key(name));
        }
        let bed = Bed::new();
        let delimiter = [',', ';', '\t', '|'][random.below(4) as usize];
        let given = if delimiter == '\t' { "tab".to_string() } else { delimiter.to_string() };
        bed.file("policy.toml", policy).file("a.csv", delimited(&table, delimiter));
        let steps = [
            ("a.csv", "b.csv"),
            ("b.csv", "c.parquet"),
            ("c.parquet", "d.arrow"),
            ("d.arrow", "e.csv"),
            ("c.parquet", "f.csv"),
            ("b.csv", "g.arrow"),
            ("g.arrow", "h.parquet"),
            ("h.parquet", "i.csv"),
        ];
        for (from, to) in steps {
            let arguments =
                ["anonymize", from, "--policy", "policy.toml", "-o", to, "--levels", "key=0"];
            let outcome = bed.run(&[&arguments[..], &delimiter_of(from, to, &given)].concat());
            assert!(
                outcome.status == 0,
                "round {round}, {from} to {to}: {outcome:#?}\n{}",
                bed.read("a.csv")
            );
        }
        let expected = sorted(table);
        for name in ["b.csv", "e.csv", "f.csv", "i.csv"] {
            assert_eq!(
                sorted(records(&bed.read(name), delimiter)),
                expected,
                "round {round}, {name}"
            );
        }
    }
}

/// Long fields, many columns, and records that lie across the borders of any buffer.
#[test]
fn large_fields_many_columns_and_many_rows() {
    let mut random = Random::new(4);
    let mut long = strings(&[["key", "text"]]);
    for length in [0, 1, 1000, 1023, 1024, 1025, 70_000, 300_000] {
        long.push(vec!["same".into(), "é\"".repeat(length)]);
    }
    let mut wide = vec![vec!["key".to_string()], vec!["same".to_string()]];
    for column in 0..300 {
        wide[0].push(format!("c{column}"));
        wide[1].push(nasty(&mut random));
    }
    let mut deep = strings(&[["key", "text"]]);
    deep.extend(
        (0..60_000).map(|row| vec!["same".to_string(), format!("{row}{}", nasty(&mut random))]),
    );
    for table in [long, wide, deep] {
        let bed = Bed::new();
        bed.file(
            "policy.toml",
            "[attributes.key]\nrole = \"quasi-identifier\"\n[defaults]\nrole = \"insensitive\"\n[privacy]\nk = 1\n",
        );
        bed.file("a.csv", delimited(&table, ','));
        for (from, to) in [("a.csv", "b.parquet"), ("b.parquet", "c.arrow"), ("c.arrow", "d.csv")] {
            let arguments =
                ["anonymize", from, "--policy", "policy.toml", "-o", to, "--levels", "key=0"];
            bed.run(&[&arguments[..], &delimiter_of(from, to, ",")].concat()).ok();
        }
        assert!(sorted(bed.records("d.csv", ',')) == sorted(table));
    }
}

/// The flag for a delimiter, which is refused if no file has one.
fn delimiter_of<'a>(from: &str, to: &str, given: &'a str) -> Vec<&'a str> {
    let is_csv = from.ends_with("csv") || to.ends_with("csv");
    if is_csv { vec!["--delimiter", given] } else { Vec::new() }
}

/// Runs a command with this standard input; returns its status and what it wrote.
fn pipe(bed: &Bed, arguments: &[&str], input: &[u8]) -> (i32, Vec<u8>, String) {
    let mut command = bed.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.env("TMPDIR", bed.path("tmp")).spawn().unwrap();
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    let writer = std::thread::spawn(move || {
        // A command that refuses its arguments does not read.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), output.stdout, stderr)
}

#[test]
fn standard_input_and_output_are_files_too() {
    let bed = Bed::people();
    std::fs::create_dir(bed.path("tmp")).unwrap();
    for name in ["out.csv", "out.parquet", "out.arrow"] {
        bed.run(&["anonymize", "table.csv", "--policy", "policy.toml", "-o", name]).ok();
    }
    for format in ["csv", "parquet", "arrow"] {
        let name = format!("out.{format}");
        // A table of a format comes out in the same one.
        let released =
            ["anonymize", "-", "--policy", "released.toml", "-o", "-", "--format", format];
        bed.file(
            "released.toml",
            "[attributes]\nage = { role = \"insensitive\" }\ncity = { role = \"quasi-identifier\" }\n\
             ill = { role = \"insensitive\" }\n[privacy]\nk = 3\n",
        );
        let (status, stdout, stderr) = pipe(&bed, &released, &bed.bytes(&name));
        assert_eq!(status, 0, "{format}: {stderr}");
        assert!(stderr.contains("6 of 6 rows"), "people read on standard error: {stderr}");
        bed.file(&format!("again.{format}"), &stdout);
        let files = ["anonymize", &name, "--policy", "released.toml", "-o", "file.csv"];
        bed.run(&files).ok();
        let verify = ["verify", &format!("again.{format}"), "--policy", "released.toml"];
        bed.run(&verify).ok();
        if format == "csv" {
            assert_eq!(String::from_utf8(stdout).unwrap(), bed.read("file.csv"));
        }
    }
    let usual = ["anonymize", "-", "--policy", "policy.toml", "-o", "-"];
    let (status, stdout, stderr) = pipe(&bed, &usual, PEOPLE.as_bytes());
    assert!(status == 2 && stdout.is_empty() && stderr.contains("--format"), "{stderr}");
    let refused = [&usual[..], &["--format", "csv", "-k", "7"]].concat();
    let (status, stdout, stderr) = pipe(&bed, &refused, PEOPLE.as_bytes());
    assert!(status == 1 && stdout.is_empty() && stderr.contains("cannot be met"), "{stderr}");
    let (status, stdout, stderr) = pipe(&bed, &[&usual[..], &["--format", "csv"]].concat(), b"");
    assert!(status == 2 && stdout.is_empty() && stderr.contains("standard input"), "{stderr}");
    bed.edit(
        "policy.toml",
        "k = 2",
        "distribution = { attribute = \"ill\", target = \"uniform\" }",
    );
    let (status, _, stderr) =
        pipe(&bed, &[&usual[..], &["--format", "csv"]].concat(), PEOPLE.as_bytes());
    assert!(status == 2 && stderr.contains("folder"), "{stderr}");
    assert!(!bed.exists("-") && std::fs::read_dir(bed.path("tmp")).unwrap().count() == 0);
}

#[test]
fn compressed_csv_is_read_and_written() {
    let bed = Bed::people();
    bed.anonymize(&[]).ok();
    for ending in ["gz", "zst"] {
        let (input, output) = (format!("in.csv.{ending}"), format!("out.csv.{ending}"));
        // Everybody alike and nothing generalized: a copy.
        bed.file(
            "copy.toml",
            "[attributes.city]\nrole = \"quasi-identifier\"\n[defaults]\nrole = \"insensitive\"\n\
             [privacy]\nk = 1\n",
        );
        let copy =
            ["anonymize", "table.csv", "--policy", "copy.toml", "--keep-order", "-o", &input];
        bed.run(&copy).ok();
        assert_ne!(bed.bytes(&input), PEOPLE.as_bytes());
        bed.run(&["anonymize", &input, "--policy", "policy.toml", "-o", &output]).ok();
        bed.run(&["verify", &output, "--policy", "policy.toml"]).ok();
        let back = ["anonymize", &output, "--policy", "copy.toml", "--keep-order", "-o", "b.csv"];
        bed.run(&back).ok();
        assert_eq!(bed.read("b.csv"), bed.read("out.csv"), "{ending}");
    }
}
