//! From nothing but a file: `init`, then `anonymize` and `verify` with what it wrote, as it is.

use crate::bed::{Bed, Outcome, delimited};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};

/// A small generator of numbers, so that tables are the same each time.
struct Draws(u64);

impl Draws {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % most
    }

    fn of<'a>(&mut self, values: &[&'a str]) -> &'a str {
        values[self.below(values.len() as u64) as usize]
    }
}

/// A table of some rows; each column has a name and a value for each row.
fn table(rows: usize, columns: &mut [(&str, &mut dyn FnMut(usize) -> String)]) -> String {
    let mut records = vec![columns.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>()];
    for row in 0..rows {
        records.push(columns.iter_mut().map(|(_, value)| value(row)).collect());
    }
    delimited(&records, ',')
}

/// `init`, `anonymize`, `verify`, each of which must end well.
#[track_caller]
fn run_all(bed: &Bed, table: &str) -> Outcome {
    bed.run(&["init", table]).ok();
    let done = bed.run(&["anonymize", table, "--policy", "policy.toml", "-o", "out.csv"]).ok();
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
    done
}

/// Sex, age group and postal code of somebody, which a release can keep in part.
fn ordinary(row: usize) -> [String; 3] {
    [["f", "m"][row % 2].into(), (20 + row * 7 % 60).to_string(), (13_000 + row % 5).to_string()]
}

/// Tables that people have, each with what is odd about it.
fn awkward() -> Vec<(&'static str, String)> {
    let mut draws = Draws(7);
    let mut tables: Vec<(&str, String)> = Vec::new();
    let mut one = |name: &'static str, rows: usize, value: &mut dyn FnMut(usize) -> String| {
        let mut sex = |row: usize| ordinary(row)[0].clone();
        let mut age = |row: usize| ordinary(row)[1].clone();
        tables
            .push((name, table(rows, &mut [("sex", &mut sex), ("age", &mut age), (name, value)])));
    };
    one("all missing", 40, &mut |_| String::new());
    one("unique text", 40, &mut |row| format!("text {row}"));
    one("unique number", 40, &mut |row| (row * 37 % 101).to_string());
    one("tiny reals", 40, &mut |row| format!("0.000{}", row + 10));
    one("large reals", 40, &mut |row| {
        format!("{}.5", 1_000_000_000_000u64 + row as u64 * 77_777_777)
    });
    one("extreme reals", 40, &mut |row| format!("{}e{}", row + 1, 300 - row as i32 * 15));
    one("negative", 40, &mut |row| format!("-{}", row * 3));
    one("around zero", 40, &mut |row| format!("{}.25", row as i64 - 20));
    one("stars", 40, &mut |row| ["*", "a*", "**", "b"][row % 4].into());
    one("star words", 40, &mut |row| format!("{}*", ["x", "y", "z", "*x"][row % 4]));
    one("mixed dates", 40, &mut |row| {
        if row % 2 == 0 {
            format!("2020-01-{:02}", row % 28 + 1)
        } else {
            format!("{}.3.2021", row % 28 + 1)
        }
    });
    one("ambiguous dates", 40, &mut |row| {
        format!("{:02}/{:02}/2020", row % 12 + 1, row * 5 % 12 + 1)
    });
    one("quotes", 40, &mut |row| ["say \"hi\"", "two\nlines", "a;b,c|d", "\ttab"][row % 4].into());
    one("many quotes", 60, &mut |row| format!("{}\"{}\"; {}\nx", row % 12, row % 12, row % 12));
    one("leading zeros", 40, &mut |row| format!("{:05}", row * 13 % 50));
    one("booleans", 40, &mut |row| (row % 3 == 0).to_string());
    one("constant", 40, &mut |_| "Bern".into());
    one("a diagnosis", 40, &mut |_| "flu".into());
    one("missing tokens", 40, &mut |row| ["N/A", "?", "17", "25", ""][row % 5].into());
    one("blank cells", 40, &mut |row| [" ", "17", "25", "  "][row % 4].into());
    one("huge integers", 40, &mut |row| format!("9007199254740{:03}", 990 + row % 10));
    one("longer integers", 40, &mut |row| format!("123456789012345678{:02}", row % 40));
    one("emails", 40, &mut |row| format!("person{row}@mail.example.org"));
    one("phones", 40, &mut |row| format!("+49 30 {}", 1_000_000 + row * 7919));
    one("a long text", 40, &mut |row| {
        format!("the patient number {row} came in the morning and left again")
    });
    one("centuries", 40, &mut |row| format!("{}-02-{:02}", 1900 + row * 5, row % 28 + 1));
    one("times", 40, &mut |row| format!("2024-05-{:02}T{:02}:30:00", row % 3 + 1, row % 24));
    one("years", 40, &mut |row| (1950 + row * 3 % 70).to_string());
    one("mostly zero", 80, &mut |row| {
        if row % 4 == 0 { (row * row * 13).to_string() } else { "0".into() }
    });
    one("mostly small", 80, &mut |row| format!("{:.2}", 1.15f64.powi(row as i32)));
    one("groups", 200, &mut |_| {
        draws.of(&["flu", "gout", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]).into()
    });
    for name in [
        "a.b",
        "say \"hi\"",
        "two words",
        "Größe",
        "*",
        "lab_*",
        "it's",
        "back\\slash",
        "-",
        "../x",
    ] {
        one(name, 30, &mut |row| ["x", "y", "z"][row % 3].into());
    }
    tables
}

#[test]
fn policies_run_as_they_are() {
    let mut failed = Vec::new();
    for (name, table) in awkward() {
        let bed = Bed::new();
        bed.file("t.csv", table);
        let steps: [&[&str]; 3] = [
            &["init", "t.csv"],
            &["anonymize", "t.csv", "--policy", "policy.toml", "-o", "out.csv"],
            &["verify", "out.csv", "--policy", "policy.toml"],
        ];
        for step in steps {
            let outcome = bed.run(step);
            if outcome.status != 0 || !outcome.stderr.is_empty() {
                let policy =
                    if bed.exists("policy.toml") { bed.read("policy.toml") } else { String::new() };
                failed.push(format!("{name}: {step:?}: {}\n{policy}", outcome.stderr));
                break;
            }
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn tables_of_one_kind_of_column() {
    let (mut number, mut person) =
        (|row: usize| (row % 7).to_string(), |row: usize| format!("p{row}"));
    let mut ill = |row: usize| ["flu", "gout", "asthma"][row % 3].to_string();
    let only = |columns: &mut [(&str, &mut dyn FnMut(usize) -> String)]| {
        let bed = Bed::new();
        bed.file("t.csv", table(30, columns));
        bed
    };
    run_all(&only(&mut [("x", &mut number)]), "t.csv");
    run_all(&only(&mut [("diagnosis", &mut ill)]), "t.csv");
    let mut other = |row: usize| format!("{row}@mail.example.org");
    let bed = only(&mut [("name", &mut person), ("email", &mut other)]);
    bed.run(&["init", "t.csv"]).ok();
    let policy = bed.read("policy.toml");
    assert!(policy.contains("# Every column identifies people"), "{policy}");
    bed.run(&["anonymize", "t.csv", "--policy", "policy.toml", "-o", "out.csv"])
        .fails_with(2, "no column has the role `quasi-identifier`");
}

/// A table of one row cannot be released, and the policy says so first.
#[test]
fn small_tables() {
    for rows in 1..=6usize {
        let bed = Bed::new();
        let lines = &[
            "name,age,diagnosis",
            "Ann,34,flu",
            "Bob,36,gout",
            "Cid,51,flu",
            "Dee,55,flu",
            "Eva,38,gout",
            "Fay,57,flu",
        ];
        bed.file("t.csv", lines[..=rows].join("\n") + "\n");
        bed.run(&["init", "t.csv"]).ok();
        let policy = bed.read("policy.toml");
        let outcome = bed.run(&["anonymize", "t.csv", "--policy", "policy.toml", "-o", "out.csv"]);
        if rows == 1 {
            assert!(policy.contains("nobody can be hidden in it"), "{policy}");
            outcome.fails_with(1, "k-anonymity");
            continue;
        }
        assert_eq!(policy.contains(&format!("k is {rows}, not 5")), rows < 5, "{policy}");
        assert!(policy.contains(&format!("\nk = {}\n", rows.min(5))), "{policy}");
        outcome.ok();
    }
}

/// What `init` wrote into a folder, by name.
fn written(bed: &Bed, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let names = bed.names().into_iter();
    let inside = names.filter_map(|name| Some(name.strip_prefix(folder)?.to_string()));
    inside.map(|name| (name.clone(), bed.bytes(&format!("{folder}{name}")))).collect()
}

fn census(bed: &Bed, rows: &str, table: &str) {
    bed.run(&[
        "generate",
        "census",
        "--rows",
        rows,
        "--seed",
        "1",
        "-o",
        table,
        "--policy",
        "made/p.toml",
    ]);
    std::fs::create_dir_all(bed.path("made")).unwrap();
    bed.run(&[
        "generate",
        "census",
        "--rows",
        rows,
        "--seed",
        "1",
        "-o",
        table,
        "--policy",
        "made/p.toml",
    ])
    .ok();
}

#[test]
fn the_same_table_gives_the_same_policy() {
    let bed = Bed::new();
    census(&bed, "30000", "t.csv");
    for (folder, threads) in [("a", "1"), ("b", "4"), ("c", "4")] {
        bed.file(&format!("{folder}/keep"), "");
        let policy = format!("{folder}/policy.toml");
        bed.run(&["init", "t.csv", "-o", &policy, "--threads", threads]).ok();
        assert_eq!(bed.mode(&policy), 0o600);
        assert_eq!(bed.mode(&format!("{folder}/hierarchies/education.csv")), 0o600);
    }
    assert!(written(&bed, "a/").len() > 5);
    assert_eq!(written(&bed, "a/"), written(&bed, "b/"));
    assert_eq!(written(&bed, "c/"), written(&bed, "b/"));
}

#[test]
fn nothing_is_overwritten() {
    let bed = Bed::new();
    census(&bed, "2000", "t.csv");
    bed.file("hierarchies/education.csv", "mine");
    let said = bed.run(&["init", "t.csv"]).ok().stdout;
    assert!(said.starts_with("wrote policy.toml and 5 hierarchies in hierarchies-2\n"), "{said}");
    assert_eq!(bed.read("hierarchies/education.csv"), "mine");
    assert!(bed.read("policy.toml").contains("# The files in hierarchies-2/ list values"));
    assert!(bed.read("policy.toml").contains("hierarchy = \"hierarchies-2/education.csv\"\n"));
    bed.run(&["anonymize", "t.csv", "-p", "policy.toml", "-o", "out.csv"]).ok();
    bed.run(&["init", "t.csv"]).fails_with(2, "policy.toml: already exists");
    bed.run(&["init", "t.csv", "-o", "t.csv"]).fails_with(2, "t.csv: already exists");
    let outcome = bed.run(&["init", "t.csv", "-o", "nowhere/policy.toml"]);
    outcome.fails_with(2, "nowhere/policy.toml");
}

#[test]
fn roles_come_with_reasons() {
    let bed = Bed::new();
    census(&bed, "2000", "t.csv");
    let json = bed.run(&["init", "t.csv", "--json"]).ok().json();
    let columns = json["columns"].as_array().unwrap();
    let of =
        |name: &str| -> &Value { columns.iter().find(|column| column["name"] == name).unwrap() };
    for (name, role, kind) in [
        ("id", "identifier", "text"),
        ("age", "quasi-identifier", "integer"),
        ("zip", "quasi-identifier", "text"),
        ("occupation", "sensitive", "text"),
    ] {
        assert_eq!((&of(name)["role"], &of(name)["type"]), (&role.into(), &kind.into()), "{name}");
        assert!(!of(name)["reason"].as_str().unwrap().is_empty());
    }
    assert!(json["singling-out"][0]["rows"].as_u64().unwrap() > 500, "{json}");
    let policy = bed.read("policy.toml");
    assert!(policy.lines().all(|line| line.chars().count() <= 100), "{policy}");
    assert!(policy.contains("l-diversity = { kind = \"distinct\", l = 2 }\n"), "{policy}");
    assert!(policy.contains("# The hierarchy (8, 4, 2 groups) is learned"), "{policy}");
    let bed = Bed::new();
    census(&bed, "2000", "t.csv");
    bed.run(&["init", "t.csv", "--no-learned"]).ok();
    assert!(!bed.read("policy.toml").contains("learned"));
}

/// Columns of each kind in four languages.
#[test]
fn names_and_values_are_understood() {
    let bed = Bed::new();
    let table = "\
Versichertennummer;Nachname;Geburtsdatum;PLZ;Geschlecht;Hauptdiagnose;Bemerkung;Laborwert\n";
    let row = |row: usize| {
        format!(
            "A{:09};Name{row};{:02}.{:02}.19{};{:05};{};E{}.{};Am {row}. Tag kam der Patient wieder ins Haus;{},{}\n",
            row * 104_729,
            row % 28 + 1,
            row % 12 + 1,
            40 + row % 50,
            1000 + row % 40 * 100,
            ["m", "w"][row % 2],
            10 + row % 3,
            row % 4,
            row % 9,
            row % 100
        )
    };
    bed.file("t.csv", table.to_string() + &(0..200).map(row).collect::<String>());
    run_all(&bed, "t.csv");
    let policy = bed.read("policy.toml");
    let section = |name: &str| {
        let start = policy.find(&format!("[attributes.{name}]")).unwrap();
        policy[start..].split("\n\n").next().unwrap().to_string()
    };
    for name in ["Versichertennummer", "Nachname", "Bemerkung"] {
        assert!(section(name).contains("role = \"identifier\""), "{policy}");
    }
    assert!(section("Geburtsdatum").contains("format = \"DD.MM.YYYY\""), "{policy}");
    assert!(section("PLZ").contains("hierarchy = { mask = \"right\" }"), "{policy}");
    assert!(section("Hauptdiagnose").contains("role = \"sensitive\""), "{policy}");
    assert!(section("Laborwert").contains("decimal = \",\""), "{policy}");
}

#[test]
fn many_columns_and_many_rows() {
    let bed = Bed::new();
    let names: Vec<String> = (1..=120).map(|column| format!("lab_{column}")).collect();
    let mut text = names.join(",") + "\n";
    let mut draws = Draws(3);
    for _ in 0..60 {
        let values: Vec<String> =
            names.iter().map(|_| format!("{}.{}", draws.below(9), draws.below(10))).collect();
        text += &(values.join(",") + "\n");
    }
    bed.file("t.csv", text);
    run_all(&bed, "t.csv");
    let bed = Bed::new();
    let mut text = String::from("id,sex,age,visits\n");
    for row in 0..200_000u64 {
        text += &format!(
            "{row},{},{},{}\n",
            draws.of(&["f", "m"]),
            10 * draws.below(8),
            draws.below(3)
        );
    }
    bed.file("t.csv", text);
    run_all(&bed, "t.csv");
    assert!(bed.read("policy.toml").contains("About "), "{}", bed.read("policy.toml"));
}

/// The command that comes next can be typed as it is shown.
#[test]
fn what_comes_next_can_be_typed() {
    let bed = Bed::new();
    let rows: String = (0..60).map(|row| ordinary(row).join(",") + "\n").collect();
    let name = "Anna's patients 2025.csv";
    bed.file(name, format!("sex,age,zip\n{rows}"));
    let next = |said: Outcome| said.ok().stdout.lines().last().unwrap().trim().to_string();
    let typed = next(bed.run(&["init", name, "-o", "my policy.toml"]));
    let program = env!("CARGO_BIN_EXE_scumble");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &typed.replacen("scumble", program, 1)]).current_dir(bed.path("."));
    bed.finish(shell).ok();
    assert!(bed.exists("release.csv"));
    let init = format!("'{program}' init - --format csv -o p.toml <\"{name}\"");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &init]).current_dir(bed.path("."));
    let typed = next(bed.finish(shell));
    assert_eq!(typed, "scumble anonymize - --format csv --policy p.toml -o release.csv");
}

/// Five million rows, in bounded memory.
#[test]
fn millions_of_rows() {
    const ROWS: u64 = 5_000_000;
    let bed = Bed::new();
    let mut draws = Draws(11);
    let mut file = BufWriter::new(File::create(bed.path("t.csv")).unwrap());
    writeln!(file, "age,region,diagnosis").unwrap();
    for _ in 0..ROWS {
        let (age, region) = (20 + draws.below(60), draws.below(12).min(draws.below(12)));
        let ill = draws.of(&["flu", "gout", "asthma", "angina"]);
        writeln!(file, "{age},region {region},{ill}").unwrap();
    }
    file.into_inner().unwrap().sync_all().unwrap();
    let done = run_all(&bed, "t.csv");
    assert!(bed.read("policy.toml").contains("suggested from its 5,000,000 rows"));
    assert!(done.stdout.contains("5,000,000"), "{}", done.stdout);
    let report: Value = serde_json::from_str(&bed.read("out.csv.report.json")).unwrap();
    assert_eq!(report["rows"].as_u64(), Some(ROWS));
    // There is a class of thousands of people for every age in every region.
    assert_eq!(report["loss"]["lm"].as_f64(), Some(0.0));
}
