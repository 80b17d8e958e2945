//! Bad input: exit status 2, one line that says what, where and which value, and nothing written.

use crate::bed::{Bed, CITIES, Outcome, PEOPLE, PEOPLE_POLICY};

/// The six people with another table.
fn table(content: impl AsRef<[u8]>) -> Outcome {
    let bed = Bed::people();
    bed.file("table.csv", content).anonymize(&[])
}

/// The six people with a piece of the table changed.
fn table_with(from: &str, to: &str) -> Outcome {
    Bed::people().edit("table.csv", from, to).anonymize(&[])
}

/// The six people with a piece of the policy changed.
fn policy_with(from: &str, to: &str) -> Outcome {
    Bed::people().edit("policy.toml", from, to).anonymize(&[])
}

fn hierarchy(content: &str) -> Outcome {
    Bed::people().file("city.csv", content).anonymize(&[])
}

#[test]
fn experiments_are_no_part_of_the_command() {
    let command = "`cargo run --release -p bench -- NAME`";
    let bed = Bed::new();
    bed.run(&["bench", "rothko"]).fails_with(2, command);
    bed.run(&["bench", "full-domain", "--adult", "folder", "--runs", "3"]).fails_with(2, command);
}

#[test]
fn the_six_people_themselves_are_fine() {
    let outcome = Bed::people().anonymize(&[]).ok();
    assert_eq!(outcome.touched, ["out.csv", "out.csv.private.json", "out.csv.report.json"]);
}

// --- the table ---

#[test]
fn a_row_that_is_too_short_or_too_long() {
    table_with("Bob,36,Bern,gout", "Bob,36,Bern")
        .fails_with(2, "table.csv:3")
        .says("3 fields")
        .says("4");
    table_with("Bob,36,Bern,gout", "Bob,36,Bern,gout,")
        .fails_with(2, "table.csv:3")
        .says("5 fields")
        .says("4");
}

#[test]
fn lines_are_counted_as_an_editor_does_with_crlf() {
    let crlf = |text: String| text.replace('\n', "\r\n");
    table(crlf(PEOPLE.replace("Cid,51,Thun,flu", "Cid,51,Thun"))).fails_with(2, "table.csv:4:");
    table(crlf(PEOPLE.replace("51", "x"))).fails_with(2, "table.csv:4: column `age`");
    table(crlf(PEOPLE.replace("Cid", "\"Cid")))
        .fails_with(2, "table.csv:4:")
        .says("unclosed quoted field");
    hierarchy(&crlf(CITIES.replace("Biel;plain;CH", "Biel;CH"))).fails_with(2, "city.csv:2");
}

#[test]
fn lines_are_counted_as_an_editor_does_with_blank_ones() {
    table(PEOPLE.replace("Cid,51,Thun,flu", "\n\nCid,51,Thun")).fails_with(2, "table.csv:6:");
    table(PEOPLE.replace("\nCid,51", "\n\nCid,x")).fails_with(2, "table.csv:5: column `age`");
    hierarchy(&CITIES.replace("Biel;plain;CH", "\nBiel;CH")).fails_with(2, "city.csv:3");
}

#[test]
fn lines_are_counted_as_an_editor_does_inside_quotes() {
    let broken = PEOPLE.replace("Ann", "\"An\nn\"");
    table(broken.replace("Cid,51,Thun,flu", "Cid,51,Thun")).fails_with(2, "table.csv:5:");
    table(broken.replace("51", "x")).fails_with(2, "table.csv:5: column `age`");
}

#[test]
fn no_header() {
    table("").fails_with(2, "table.csv").says("header");
    table("\n\n\n").fails_with(2, "table.csv").says("header");
    table("\u{feff}").fails_with(2, "table.csv").says("header");
}

#[test]
fn a_repeated_header() {
    table_with("name,age,city,ill", "name,age,city,age")
        .fails_with(2, "table.csv:1")
        .says("`age`")
        .says("2 and 4");
}

#[test]
fn a_nameless_column() {
    table_with("name,age,city,ill", "name,,city,ill").fails_with(2, "table.csv:1").says("column 2");
}

/// A table with whole UTF-8 in it is damaged rather than in another encoding.
#[test]
fn bytes_that_are_not_utf8() {
    let people = PEOPLE.replace("Bob,36,Bern", "B\u{f6}b,36,B\u{e9}rn");
    let bytes = |from: &[u8], to: &[u8]| {
        let text = people.as_bytes();
        let at = text.windows(from.len()).position(|window| window == from).unwrap();
        [&text[..at], to, &text[at + from.len()..]].concat()
    };
    let cities = CITIES.replace("Bern;", "Bern;plain;CH\nB\u{e9}rn;");
    let table = |text: Vec<u8>| {
        let bed = Bed::people();
        bed.file("city.csv", &cities).file("table.csv", text).anonymize(&[])
    };
    let outcome = table(bytes(b"Thun,asthma", b"Th\xFCn,asthma"));
    let outcome = outcome.fails_with(2, "table.csv:5: column `city`").says("Th").says("UTF-8");
    outcome.says("set its encoding");
    let outcome = table(bytes(b"Thun,asthma", b"Thun,asthm\xC3"));
    outcome.fails_with(2, "table.csv:5: column `ill`").says("asthm").says("UTF-8");
    // Two halves of a character in neighbouring rows are two faults, not one letter.
    let halves = bytes(b"rn,gout", b"rn,\xC3");
    let at = halves.windows(8).position(|window| window == b"Thun,flu").unwrap();
    let halves = [&halves[..at + 5], b"\xA9", &halves[at + 8..]].concat();
    table(halves).fails_with(2, "table.csv:3: column `ill`").says("UTF-8");
    // Bytes that no encoding of Western Europe has are not guessed to be text.
    let outcome =
        Bed::people().file("table.csv", PEOPLE.replace("city", "c\u{0}ty")).anonymize(&[]);
    outcome.fails_with(2, "table.csv");
    let other = [PEOPLE.as_bytes(), b"G\x81l,57,Thun,flu\n"].concat();
    let bed = Bed::people();
    bed.file("table.csv", &other).edit("policy.toml", "\"identifier\"", "\"insensitive\"");
    bed.anonymize(&[]).fails_with(2, "table.csv:8: column `name`").says("UTF-8");
}

#[test]
fn a_number_that_is_not_one() {
    for bad in ["3x", "36.5", "", "1e2", "٣٦", "99999999999999999999"] {
        let outcome = table_with("Bob,36", &format!("Bob,{bad}"));
        if bad.is_empty() {
            // An empty field is a missing value.
            outcome.ok();
        } else {
            outcome
                .fails_with(2, "table.csv:3: column `age`")
                .says(&format!("`{bad}`"))
                .says("integer");
        }
    }
}

#[test]
fn a_real_number_and_a_date_that_are_none() {
    let bed = Bed::people();
    bed.edit("policy.toml", "type = \"integer\"", "type = \"real\"").edit(
        "table.csv",
        "Bob,36",
        "Bob,nan",
    );
    bed.anonymize(&[]).fails_with(2, "table.csv:3: column `age`").says("`nan`").says("a number");
    let bed = Bed::people();
    bed.edit("policy.toml", "type = \"integer\"", "type = \"date\"");
    bed.edit("policy.toml", "hierarchy = { intervals = [10, 20], from = 0, to = 100 }", "");
    bed.anonymize(&[]).fails_with(2, "table.csv:2: column `age`").says("`34`").says("date");
    // Without a type, the value that is no number is named, not the others.
    let bed = Bed::people();
    bed.edit("policy.toml", "type = \"integer\"\n", "").edit("table.csv", "Cid,51", "Cid,5x");
    bed.anonymize(&[]).fails_with(2, "table.csv:4: column `age`").says("`5x`").says("a number");
}

#[test]
fn a_value_that_its_hierarchy_lacks() {
    let outcome = table_with("Biel", "Genf");
    outcome.fails_with(2, "table.csv:6: column `city`").says("`Genf`").says("city.csv");
    let outcome = table_with("57", "157");
    outcome.fails_with(2, "table.csv:7: column `age`").says("`157`").says("from 0 to 100");
    // An inner node is no value of a person.
    table_with("Biel", "plain").fails_with(2, "table.csv:6: column `city`").says("`plain`");
}

#[test]
fn an_empty_table() {
    table("name,age,city,ill\n").fails_with(2, "table.csv").says("no rows");
    table("name,age,city,ill").fails_with(2, "table.csv").says("no rows");
}

#[test]
fn a_quote_that_never_closes() {
    table_with("Cid", "\"Cid").fails_with(2, "table.csv:4").says("unclosed quoted field");
    table_with("57,Thun,flu\n", "57,Thun,\"flu\n")
        .fails_with(2, "table.csv:7")
        .says("unclosed quoted field");
    table_with("57,Thun,flu\n", "57,Thun,\"")
        .fails_with(2, "table.csv:7")
        .says("unclosed quoted field");
    table_with("name", "\"name").fails_with(2, "table.csv:1").says("unclosed quoted field");
}

#[test]
fn the_wrong_delimiter() {
    Bed::people().anonymize(&["--delimiter", ";"]).fails_with(2, "table.csv");
}

#[test]
fn a_value_that_is_written_like_a_masked_one() {
    let bed = Bed::people();
    bed.edit("policy.toml", "\"city.csv\"", "{ mask = \"right\" }").edit(
        "table.csv",
        "Biel",
        "Ber*",
    );
    bed.anonymize(&[]).fails_with(2, "column `city`").says("`Ber*`");
}

#[test]
fn a_long_or_strange_value_stays_on_its_line() {
    let outcome = table_with("Bob,36", &format!("Bob,\"{}\"", "x\r\n\u{1b}[31m".repeat(1000)));
    let outcome = outcome.fails_with(2, "table.csv:3: column `age`");
    assert!(outcome.stderr.len() < 1000 && !outcome.stderr.contains('\u{1b}'), "{outcome:?}");
}

#[test]
fn a_strange_column_name_stays_on_its_line() {
    table_with("ill\n", "\"il\nl\"\n").fails_with(2, "table.csv").says("`ill`");
    table_with("ill\n", "ill,\"x\ny\"\n").fails_with(2, "table.csv").says("x\\ny");
}

#[test]
fn a_strange_name_in_a_policy_stays_on_its_line() {
    policy_with("[attributes.ill]\nrole = \"sensitive\"", "[attributes.\"i\\nl\"]\nrole = \"x\"")
        .fails_with(2, "role");
}

#[test]
fn a_strange_name_of_a_file_stays_on_its_line() {
    policy_with("\"city.csv\"", "\"ci\\nty.csv\"").fails_with(2, "ty.csv");
    Bed::people().run(&["risk", "ta\nble.csv", "--policy", "policy.toml"]).fails_with(2, "ble.csv");
}

#[test]
fn a_strange_name_in_a_mismatch_stays_on_its_line() {
    let bed = Bed::people();
    bed.edit("table.csv", "city", "\"ci\nty\"").edit(
        "policy.toml",
        "attributes.city",
        "attributes.\"ci\\nty\"",
    );
    bed.file("r.json", r#"{"version":1,"model":"full-domain","attributes":[{"name":"age","level":1,"root":false}]}"#);
    bed.run(&["apply", "r.json", "table.csv", "--policy", "policy.toml", "-o", "out.csv"])
        .fails_with(2, "r.json");
    bed.anonymize(&["--levels", "age=1"]).fails_with(2, "--levels");
    bed.anonymize(&["--levels", "age=1,cinty=1"]).fails_with(2, "--levels");
}

// --- files ---

#[test]
fn files_that_are_not_there() {
    let run = |input: &str, policy: &str| {
        Bed::people().run(&["anonymize", input, "--policy", policy, "-o", "out.csv"])
    };
    run("tabel.csv", "policy.toml").fails_with(2, "tabel.csv").says("No such file");
    run("table.csv", "policies.toml").fails_with(2, "policies.toml").says("No such file");
    policy_with("city.csv", "cities.csv").fails_with(2, "cities.csv").says("No such file");
}

/// As much a slip of the user as a name that is not there.
#[test]
fn a_file_taken_for_a_folder() {
    let run = |input: &str| {
        Bed::people().run(&["anonymize", input, "--policy", "policy.toml", "-o", "out.csv"])
    };
    run("table.csv/table.csv").fails_with(2, "table.csv/table.csv");
}

#[test]
fn folders_in_place_of_files() {
    let bed = Bed::people();
    bed.file("folder.csv/file", "").file("folder.toml/file", "");
    let run = |input: &str, policy: &str| {
        bed.run(&["anonymize", input, "--policy", policy, "-o", "out.csv"])
    };
    run("folder.csv", "policy.toml").fails_with(2, "folder.csv");
    run("table.csv", "folder.toml").fails_with(2, "folder.toml");
    let arguments = ["anonymize", "table.csv", "--policy", "policy.toml", "-o", "folder.csv"];
    bed.run(&arguments).fails_with(2, "folder.csv");
}

#[test]
fn no_recoding_is_saved_of_a_release_that_fails() {
    let bed = Bed::people();
    bed.file("folder.csv/file", "");
    let arguments =
        ["anonymize", "table.csv", "--policy", "policy.toml", "--save-recoding", "r.json", "-o"];
    bed.run(&[&arguments[..], &["folder.csv"]].concat()).fails_with(2, "folder.csv");
    bed.run(&[&arguments[..], &["out.csv", "-k", "7"]].concat()).fails_with(1, "cannot be met");
}

#[test]
fn a_recoding_that_cannot_be_saved_stops_the_release() {
    let bed = Bed::people();
    bed.anonymize(&["--save-recoding", "nowhere/r.json"]).fails_with(2, "nowhere/r.json");
}

#[test]
fn an_ending_that_tells_no_format() {
    let run = |input: &str, output: &str| {
        let bed = Bed::people();
        bed.file("table.ods", PEOPLE);
        bed.run(&["anonymize", input, "--policy", "policy.toml", "-o", output])
    };
    for output in ["out.ods", "out", "out.parquet.gz", "out.xlsx.gz", ".csv"] {
        run("table.csv", output).fails_with(2, output).says(".parquet");
    }
    run("table.ods", "out.csv").fails_with(2, "table.ods").says(".parquet");
}

#[test]
fn the_output_is_the_input() {
    let bed = Bed::people();
    std::os::unix::fs::symlink(bed.path("table.csv"), bed.path("link.csv")).unwrap();
    for output in ["table.csv", "./table.csv", "link.csv"] {
        let outcome = bed.run(&["anonymize", "table.csv", "--policy", "policy.toml", "-o", output]);
        outcome.fails_with(2, "overwrite a file that this job reads or writes").says(output);
    }
    assert_eq!(bed.read("table.csv"), PEOPLE);
}

/// The release, the saved recoding and the report must not land on a file that the run needs, nor
/// on each other.
#[test]
fn an_output_lands_on_another_file_of_the_run() {
    let bed = Bed::people();
    let run = |output: &str, recoding: &str| {
        bed.run(&[
            "anonymize",
            "table.csv",
            "--policy",
            "policy.toml",
            "-o",
            output,
            "--save-recoding",
            recoding,
        ])
    };
    let mut accepted = Vec::new();
    for (output, recoding) in [
        ("city.csv", "r.json"),
        ("out.csv", "table.csv"),
        ("out.csv", "policy.toml"),
        ("out.csv", "city.csv"),
        ("out.csv", "out.csv"),
        ("out.csv", "out.csv.report.json"),
        ("out.csv", "out.csv.private.json"),
    ] {
        bed.file("table.csv", PEOPLE).file("policy.toml", PEOPLE_POLICY).file("city.csv", CITIES);
        let outcome = run(output, recoding);
        if outcome.status != 2 || !outcome.touched.is_empty() {
            accepted.push((output, recoding, outcome.status, outcome.touched));
        }
    }
    assert!(accepted.is_empty(), "{accepted:#?}");
}

/// A run that fails releases nothing, even where it fails last.
#[test]
fn a_report_that_cannot_be_written_stops_the_release() {
    let bed = Bed::people();
    bed.file("out.csv.report.json/file", "");
    bed.anonymize(&[]).fails_with(2, "out.csv.report.json");
}

#[test]
fn bad_input_says_nothing_on_standard_output() {
    for arguments in [&[] as &[&str], &["--json"]] {
        let outcome = Bed::people()
            .edit("table.csv", "36", "x")
            .anonymize(arguments)
            .fails_with(2, "table.csv:3");
        assert_eq!(outcome.stdout, "");
    }
}

/// Tests run as root, whom no mode stops; but nobody can make a file below a file, or write past a
/// limit.
#[test]
fn an_output_that_cannot_be_written() {
    let bed = Bed::people();
    bed.file("plain", "");
    let run = |output: &str| {
        bed.run(&["anonymize", "table.csv", "--policy", "policy.toml", "-o", output])
    };
    run("plain/out.csv").fails_with(3, "plain/out.csv").says("cannot write");
    // A folder that is not there is a slip of the user.
    run("nowhere/out.csv").fails_with(2, "nowhere/out.csv").says("No such file");
}

#[test]
fn a_full_disk() {
    let bed = Bed::new();
    bed.run(&["generate", "census", "--rows", "20000", "--seed", "1", "-o", "census.csv"]).ok();
    for output in ["out.csv", "out.parquet", "out.arrow"] {
        // A file may not grow past 1 KiB; the signal that comes with the limit is ignored, the
        // write fails.
        let script = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
        let mut command = std::process::Command::new("bash");
        command.args(["-c", script, "bash", env!("CARGO_BIN_EXE_scumble")]);
        command.args(["anonymize", "census.csv", "--policy", "census.policy.toml", "-o", output]);
        command.current_dir(bed.path(""));
        bed.finish(command).fails_with(3, output).says("cannot write");
    }
}

#[test]
fn damaged_columnar_files() {
    let bed = Bed::people();
    bed.edit("policy.toml", "\"identifier\"", "\"insensitive\"");
    for ending in ["parquet", "arrow"] {
        let name = format!("good.{ending}");
        bed.run(&[
            "anonymize",
            "table.csv",
            "--policy",
            "policy.toml",
            "-o",
            &name,
            "--levels",
            "age=0,city=0",
            "-k1",
        ])
        .ok();
        let good = bed.bytes(&name);
        let bad = format!("bad.{ending}");
        let half = &good[..good.len() / 2];
        for content in [
            b"" as &[u8],
            b"x",
            PEOPLE.as_bytes(),
            half,
            &good[..good.len() - 1],
            &good[good.len() / 2..],
        ] {
            bed.file(&bad, content);
            let outcome = bed.run(&["anonymize", &bad, "--policy", "policy.toml", "-o", "out.csv"]);
            outcome.fails_with(2, &bad);
        }
        // The other format under this one's name.
        let other = if ending == "arrow" { "parquet" } else { "arrow" };
        bed.run(&[
            "anonymize",
            "table.csv",
            "--policy",
            "policy.toml",
            "-o",
            &format!("other.{other}"),
            "-k1",
        ])
        .ok();
        bed.file(&bad, bed.bytes(&format!("other.{other}")));
        bed.run(&["anonymize", &bad, "--policy", "policy.toml", "-o", "out.csv"])
            .fails_with(2, &bad);
    }
}

/// A byte that flips may pass unseen or be refused; it may not make the tool fall over.
#[test]
fn a_flipped_byte_never_makes_a_panic() {
    let bed = Bed::people();
    bed.edit("policy.toml", "\"identifier\"", "\"insensitive\"");
    for ending in ["parquet", "arrow"] {
        let name = format!("good.{ending}");
        bed.run(&[
            "anonymize",
            "table.csv",
            "--policy",
            "policy.toml",
            "-o",
            &name,
            "--levels",
            "age=0,city=0",
            "-k1",
        ])
        .ok();
        let good = bed.bytes(&name);
        let mut failures = Vec::new();
        let step = (good.len() / 80).max(1);
        for at in (0..good.len()).step_by(step) {
            let mut bad = good.clone();
            bad[at] ^= [0x80, 0xFF, 0x01][at % 3];
            let name = format!("bad.{ending}");
            bed.file(&name, &bad);
            let outcome = bed.run(&["risk", &name, "--policy", "policy.toml", "--threads", "1"]);
            let calm = matches!(outcome.status, 0 | 2) && outcome.stderr.lines().count() <= 1;
            if !calm {
                failures.push((at, bad[at], outcome.status, outcome.stderr));
            }
        }
        assert!(
            failures.is_empty(),
            "{ending}: {} of them, first {:#?}",
            failures.len(),
            &failures[0]
        );
    }
}

// --- hierarchies ---

#[test]
fn hierarchies_that_are_no_trees() {
    hierarchy("Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\nBern;plain;CH\n")
        .fails_with(2, "city.csv:4")
        .says("`Bern`");
    let outcome = hierarchy("Bern;plain;inland;CH\nBiel;plain;shore;CH\nThun;lake;shore;CH\n");
    outcome.fails_with(2, "city.csv:2").says("`plain`").says("`inland`").says("`shore`");
    hierarchy("Bern;plain;CH\nBiel;CH\nThun;lake;CH\n")
        .fails_with(2, "city.csv:2")
        .says("2 labels")
        .says("3");
    hierarchy("Bern;plain;CH\nBiel;plain;CH\nThun;lake;FR\n")
        .fails_with(2, "city.csv:3")
        .says("`CH`")
        .says("`FR`");
    hierarchy("").fails_with(2, "city.csv");
    hierarchy("\n\n").fails_with(2, "city.csv");
    hierarchy("Bern\nBiel\nThun\n").fails_with(2, "city.csv");
    hierarchy("Bern;\"plain;CH\nBiel;plain;CH\n")
        .fails_with(2, "city.csv:1")
        .says("unclosed quoted field");
}

/// Every level costs time and memory for each leaf.
#[test]
fn a_hierarchy_of_too_many_levels() {
    let levels: Vec<String> = (0..100_000).map(|level| format!("l{level}")).collect();
    let bed = Bed::new();
    bed.file("deep.csv", levels.join(";") + "\n");
    bed.run(&["hierarchy", "check", "deep.csv"])
        .fails_with(2, "deep.csv:1: the hierarchy has 100000 levels");
}

/// A line takes several times its length in memory, so its length is limited too.
#[test]
fn a_line_that_would_exceed_the_memory() {
    let bed = Bed::people();
    let long = "x".repeat(3 << 20);
    for (table, line) in [
        (format!("{long}\n1\n"), 1),
        (format!("{PEOPLE}Gus,34,{long},flu\n"), 8),
        (format!("{PEOPLE}Gus,34,\"{}\",flu\n", "x\n".repeat(3 << 19)), 8),
    ] {
        bed.file("table.csv", table);
        let outcome = bed.anonymize(&["--memory", "16MiB"]);
        outcome.fails_with(2, &format!("table.csv:{line}: the record that starts here is longer"));
    }
    bed.file("table.csv", ",".repeat(100_000) + "\n");
    bed.anonymize(&[]).fails_with(2, "table.csv:1").says("columns");
}

#[test]
fn more_threads_than_any_machine_has() {
    let bed = Bed::people();
    for threads in ["65535", "1025", "0"] {
        bed.anonymize(&["--threads", threads]).fails_with(2, "--threads").says(threads);
    }
    bed.anonymize(&["--threads", "64"]).ok();
}

#[test]
fn a_label_that_means_two_sets() {
    // `lake` is a leaf and an inner node above others.
    hierarchy("Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\nlake;plain;CH\n")
        .fails_with(2, "city.csv")
        .says("`lake`");
    // An empty label would look like a missing value.
    let bed = Bed::people();
    bed.file("city.csv", "Bern;;CH\nBiel;;CH\nThun;lake;CH\n").edit(
        "table.csv",
        "Eva,38,Biel",
        "Eva,38,",
    );
    bed.anonymize(&[]).fails_with(2, "city.csv");
}

#[test]
fn intervals_that_do_not_nest() {
    for (from, to, says) in [
        ("[10, 20]", "[10, 25]", "multiple"),
        ("[10, 20]", "[20, 10]", "increasing"),
        ("[10, 20]", "[]", "positive"),
        ("[10, 20]", "[0]", "positive"),
        ("[10, 20]", "[-5]", "positive"),
        ("[10, 20]", "[nan]", "positive"),
        ("[10, 20]", "5", "list"),
        ("[10, 20]", "[\"5\"]", "number"),
        ("to = 100", "to = 0", "below"),
        ("to = 100", "to = inf", "2^53"),
        ("to = 100", "too = 100", "`to`"),
        ("to = 100", "char = \"x\"", "intervals"),
        ("intervals = [10, 20], from = 0, to = 100", "", "intervals"),
        (
            "intervals = [10, 20], from = 0, to = 100",
            "dates = [\"year\", \"month\"]",
            "fine to coarse",
        ),
        ("intervals = [10, 20], from = 0, to = 100", "dates = [\"week\"]", "month"),
        ("intervals = [10, 20], from = 0, to = 100", "mask = \"up\"", "right"),
        (
            "intervals = [10, 20], from = 0, to = 100",
            "mask = \"left\", char = \"xy\"",
            "one character",
        ),
        (
            "intervals = [10, 20], from = 0, to = 100",
            "mask = \"left\", intervals = [1]",
            "just one",
        ),
    ] {
        policy_with(from, to).fails_with(2, "policy.toml:7").says(says);
    }
}

/// A domain wider than any count of its numbers is refused, or it works; it does not make the tool
/// fall over.
#[test]
fn intervals_over_a_huge_domain() {
    for ends in
        ["from = -1e300, to = 1e300", "from = -1e19, to = 1e19", "to = 1e300", "from = -1e300"]
    {
        let outcome = policy_with("from = 0, to = 100", ends);
        assert!(outcome.status == 0 || outcome.status == 2, "{ends}: {outcome:#?}");
    }
}

/// The layout is leaf;parent;…;root, so a semicolon wins where commas in the labels come out even.
#[test]
fn commas_in_the_labels_of_a_hierarchy() {
    let bed = Bed::people();
    bed.file(
        "city.csv",
        "Bern;the plain, flat;CH, EU\nBiel;the plain, flat;CH, EU\nThun;the lake, wet;CH, EU\n",
    );
    bed.anonymize(&[]).ok();
    assert!(bed.read("out.csv").contains("\"the lake, wet\""), "{}", bed.read("out.csv"));
}

// --- the policy ---

#[test]
fn a_column_with_no_role() {
    let outcome = policy_with("[attributes.ill]\nrole = \"sensitive\"\n", "");
    outcome.fails_with(2, "table.csv").says("column `ill`").says("policy.toml").says("role");
    policy_with("[attributes.ill]\nrole = \"sensitive\"\n", "[attributes.ill]\n")
        .fails_with(2, "column `ill`");
}

#[test]
fn a_column_that_the_table_lacks() {
    policy_with("[attributes.ill]", "[attributes.illl]")
        .fails_with(2, "table.csv")
        .says("`illl`")
        .says("mean `ill`");
}

#[test]
fn a_key_that_does_not_exist() {
    policy_with("hierarchy = \"city.csv\"", "heirarchy = \"city.csv\"")
        .fails_with(2, "policy.toml:11")
        .says("`attributes.city.heirarchy`")
        .says("mean `hierarchy`");
    policy_with("[privacy]", "[privacee]").fails_with(2, "policy.toml:16").says("mean `privacy`");
    policy_with("k = 2", "K = 2").fails_with(2, "policy.toml:17").says("mean `k`");
    policy_with("k = 2", "k = 2\nl-diversty = 3")
        .fails_with(2, "policy.toml:18")
        .says("mean `l-diversity`");
    policy_with("k = 2", "k = 2\n[search]\nlose = \"lm\"")
        .fails_with(2, "policy.toml:19")
        .says("mean `loss`");
}

#[test]
fn a_name_that_is_not_in_its_list() {
    policy_with("\"sensitive\"", "\"sensitiv\"")
        .fails_with(2, "policy.toml:14")
        .says("mean `sensitive`");
    policy_with("\"integer\"", "\"int\"").fails_with(2, "policy.toml:6").says("integer, real");
    policy_with("k = 2", "l-diversity = { kind = \"shannon\", l = 2 }")
        .fails_with(2, "policy.toml:17")
        .says("entropy");
    policy_with("k = 2", "k = 2\n[search]\nloss = \"ml\"")
        .fails_with(2, "policy.toml:19")
        .says("lm, dm");
    policy_with("k = 2", "k = 2\n[search]\nalgorithm = \"magic\"")
        .fails_with(2, "policy.toml:19")
        .says("incognito");
    policy_with("k = 2", "k = 2\n[search]\nsuppression = { scheme = \"all\" }")
        .fails_with(2, "policy.toml:19");
    policy_with("role = \"sensitive\"", "role = 3").fails_with(2, "policy.toml:14").says("`3`");
}

#[test]
fn a_k_that_is_none() {
    for k in ["0", "-1", "1.5", "\"x\"", "\"\"", "[2]", "true", "nan", "99999999999999999999999"] {
        policy_with("k = 2", &format!("k = {k}"))
            .fails_with(2, "policy.toml:17")
            .says("for `privacy.k`")
            .says("whole number of at least 1");
    }
    Bed::people().anonymize(&["-k", "0"]).fails_with(2, "-k").says("at least 1");
}

#[test]
fn parameters_out_of_range() {
    for (line, says) in [
        ("t-closeness = 1.5", "from 0 to 1"),
        ("t-closeness = -0.1", "from 0 to 1"),
        ("t-closeness = { t = 2 }", "from 0 to 1"),
        ("t-closeness = { distance = \"equal\" }", "`t`"),
        ("t-closeness = { t = 0.5, distance = \"far\" }", "ordered"),
        ("t-closeness = { t = 0.5, distance = \"ordered\" }", "`ill`"),
        ("t-closeness = { t = 0.5, sensitive = \"city\" }", "`city`"),
        ("variance = 0", "above 0"),
        ("variance = -1", "above 0"),
        ("variance = \"much\"", "above 0"),
        ("variance = { sensitive = \"ill\" }", "`at-least`"),
        ("variance = { at-least = 1, least = 2 }", "`at-least`"),
        ("variance = { at-least = 1, sensitive = \"ill\" }", "`ill`"),
        ("variance = { at-least = 1, sensitive = \"city\" }", "`city`"),
        ("variance = 2", "numbers"),
        ("l-diversity = { kind = \"distinct\", l = 0 }", "at least 1"),
        ("l-diversity = { kind = \"distinct\", l = 1.5 }", "whole number"),
        ("l-diversity = { kind = \"entropy\", l = 0.5 }", "at least 1"),
        ("l-diversity = { kind = \"recursive\", l = 2 }", "`c`"),
        ("l-diversity = { kind = \"recursive\", l = 2, c = 0 }", "above 0"),
        ("l-diversity = { kind = \"distinct\", l = 2, c = 3 }", "recursive"),
        ("l-diversity = { l = 2 }", "`kind`"),
        ("l-diversity = { kind = \"distinct\" }", "`l`"),
        ("l-diversity = 3", "table"),
        ("k = 2\n[search]\nsuppression = { limit = 1.5 }", "from 0 to 1"),
        ("k = 2\n[search]\nsuppression = { limit = -0.5 }", "from 0 to 1"),
        ("k = 2\n[search]\nsuppression = 0.5", "table"),
    ] {
        policy_with("k = 2", line).fails_with(2, "policy.toml").says(says);
    }
    for share in ["2", "-1", "x", "101%", "1/0"] {
        Bed::people()
            .anonymize(&[&format!("--suppression={share}")])
            .fails_with(2, "--suppression")
            .says(share);
    }
    Bed::people().anonymize(&["--loss", "ml"]).fails_with(2, "--loss").says("lm");
    Bed::people()
        .anonymize(&["--algorithm", "magic"])
        .fails_with(2, "--algorithm")
        .says("incognito");
}

#[test]
fn a_policy_that_is_not_toml() {
    policy_with("k = 2", "k == 2").fails_with(2, "policy.toml:17").says("TOML");
    policy_with("k = 2", "k = 2\nk = 3").fails_with(2, "policy.toml:18").says("TOML");
    policy_with("[privacy]", "[privacy").fails_with(2, "policy.toml:16").says("TOML");
    Bed::people()
        .file("policy.toml", PEOPLE)
        .anonymize(&[])
        .fails_with(2, "policy.toml:1")
        .says("TOML");
    Bed::people()
        .file("policy.toml", b"[privacy]\n\xFF = 2")
        .anonymize(&[])
        .fails_with(2, "policy.toml:2")
        .says("UTF-8");
    let marked = format!("\u{feff}{PEOPLE_POLICY}");
    Bed::people().file("policy.toml", marked).anonymize(&[]).ok();
}

#[test]
fn a_policy_that_asks_for_nothing() {
    policy_with("k = 2", "").fails_with(2, "policy.toml").says("no requirement");
    policy_with("[privacy]\nk = 2", "").fails_with(2, "policy.toml").says("no requirement");
    Bed::people().file("policy.toml", "").anonymize(&[]).fails_with(2, "column `name`");
}

#[test]
fn a_role_that_a_requirement_or_a_loss_needs() {
    let bed = Bed::people();
    bed.file("policy.toml", PEOPLE_POLICY.replace("quasi-identifier", "insensitive"));
    bed.anonymize(&[]).fails_with(2, "policy.toml").says("quasi-identifier");
    let bed = Bed::people();
    bed.edit("policy.toml", "\"sensitive\"", "\"insensitive\"");
    bed.edit("policy.toml", "k = 2", "l-diversity = { kind = \"distinct\", l = 2 }");
    bed.anonymize(&[]).fails_with(2, "policy.toml").says("l-diversity").says("`sensitive`");
    bed.edit("policy.toml", "l-diversity = { kind = \"distinct\", l = 2 }", "t-closeness = 0.5");
    bed.anonymize(&[]).fails_with(2, "policy.toml").says("t-closeness").says("`sensitive`");
    policy_with("k = 2", "k = 2\n[search]\nloss = \"cm\"")
        .fails_with(2, "policy.toml")
        .says("`cm`")
        .says("`target`");
    Bed::people().anonymize(&["--loss", "cm"]).fails_with(2, "`cm`").says("`target`");
}

// --- flags ---

#[test]
fn levels_that_are_wrong() {
    for (levels, says) in [
        ("age=1", "city"),
        ("age=1,city=1,zip=1", "zip"),
        ("age=1,citi=1", "mean `city`"),
        ("age=1,city=1,ill=0", "ill"),
        ("age=1,city=1,age=2", "age"),
        ("age=4,city=1", "0 to 3"),
        ("age=1,city=3", "0 to 2"),
    ] {
        Bed::people()
            .anonymize(&[&format!("--levels={levels}")])
            .fails_with(2, "--levels")
            .says(says);
    }
}

/// The contract wants one line, which the parser of arguments does not give by itself.
#[test]
fn flags_are_refused_in_one_line() {
    let bed = Bed::people();
    let mut faults = Vec::new();
    let mut refused = |arguments: &[&str], says: &str| {
        let outcome = bed.run(arguments);
        let one = outcome.stderr.lines().count() == 1 && outcome.stderr.contains(says);
        if outcome.status != 2 || !outcome.touched.is_empty() || !one {
            faults.push((arguments.join(" "), outcome.status, outcome.stderr));
        }
    };
    refused(&["anonymise", "table.csv"], "anonymize");
    refused(&["anonymize", "table.csv", "-o", "out.csv"], "--policy");
    refused(&["anonymize", "table.csv", "--policy", "policy.toml"], "--output");
    refused(&["anonymize", "--policy", "policy.toml", "-o", "out.csv"], "INPUT");
    refused(&["generate", "census", "--rows", "-3", "-o", "x.csv"], "--rows");
    refused(&["generate", "cencus", "--rows", "3", "-o", "x.csv"], "census");
    refused(
        &["risk", "table.csv", "--policy", "policy.toml", "--threshold", "high"],
        "--threshold",
    );
    refused(&[], "anonymize");
    let full = ["anonymize", "table.csv", "--policy", "policy.toml"];
    for (more, says) in [
        (&["-o", ""] as &[&str], "--output"),
        (&["-o", "out.csv", "more.csv"], "more.csv"),
        (&["-o", "out.csv", "--kay", "3"], "--kay"),
        (&["-o", "out.csv", "-k", "-1"], "-1"),
        (&["-o", "out.csv", "-k", "1.5"], "-k"),
        (&["-o", "out.csv", "-k", "x"], "-k"),
        (&["-o", "out.csv", "-k", ""], "-k"),
        (&["-o", "out.csv", "--delimiter", "ab"], "--delimiter"),
        (&["-o", "out.csv", "--strategy", "sideways"], "top-down"),
        (&["-o", "out.csv", "--threads", "0"], "--threads"),
        (&["-o", "out.csv", "--seed", "x"], "--seed"),
        (&["-o", "out.csv", "--levels=age=-1,city=1"], "--levels"),
        (&["-o", "out.csv", "--levels=age=1.5,city=1"], "--levels"),
        (&["-o", "out.csv", "--levels=age=x,city=1"], "--levels"),
        (&["-o", "out.csv", "--levels=age,city"], "--levels"),
        (&["-o", "out.csv", "--levels=age=1;city=1"], "--levels"),
        (&["-o", "out.csv", "--levels=age=99999999999999999999999,city=1"], "--levels"),
        (&["-o", "out.csv", "--levels="], "--levels"),
        (&["-o", "out.csv", "--levels=,"], "--levels"),
        (&["-o", "out.csv", "--levels"], "--levels"),
    ] {
        refused(&[&full[..], more].concat(), says);
    }
    assert!(faults.is_empty(), "{} of them: {faults:#?}", faults.len());
}

#[test]
fn other_commands_refuse_the_same_things() {
    for (command, out) in [("verify", false), ("risk", false), ("apply", true)] {
        let run = |bed: &Bed, file: &str| {
            bed.file("r.json", r#"{"version":1,"model":"full-domain","attributes":[]}"#);
            let mut arguments = vec![command];
            if out {
                arguments.push("r.json");
            }
            arguments.extend([file, "--policy", "policy.toml"]);
            if out {
                arguments.extend(["-o", "out.csv"]);
            }
            bed.run(&arguments)
        };
        run(&Bed::people(), "nothing.csv").fails_with(2, "nothing.csv");
        run(Bed::people().file("table.csv", ""), "table.csv").fails_with(2, "header");
        run(Bed::people().edit("table.csv", "Bern,gout", "Bern"), "table.csv")
            .fails_with(2, "table.csv:3");
        run(Bed::people().edit("policy.toml", "k = 2", "k = 0"), "table.csv")
            .fails_with(2, "policy.toml:17");
        run(Bed::people().edit("table.csv", ",ill", ",sick"), "table.csv").fails_with(2, "`ill`");
    }
    let init = |table: &'static str| ["init", table, "-o", "new.toml"];
    Bed::people().file("table.csv", "").run(&init("table.csv")).fails_with(2, "header");
    Bed::people().run(&init("table.doc")).fails_with(2, "table.doc");
}

#[test]
fn a_recoding_that_is_none() {
    let bed = Bed::people();
    let run = |content: &str| {
        bed.file("r.json", content);
        bed.run(&["apply", "r.json", "table.csv", "--policy", "policy.toml", "-o", "out.csv"])
    };
    run("").fails_with(2, "r.json");
    run("{}").fails_with(2, "r.json");
    run("[1,\n2]").fails_with(2, "r.json");
    let good = r#"{"version":1,"model":"full-domain","attributes":[{"name":"age","level":1,"root":false},
        {"name":"city","level":1,"root":false}]}"#;
    run(&good.replace("\"version\":1", "\"version\":2")).fails_with(2, "version 2");
    run(&good.replace("full-domain", "half-domain")).fails_with(2, "r.json");
    run(&good.replace("\"level\":1", "\"level\":-1")).fails_with(2, "r.json");
    run(&good.replace("city", "village")).fails_with(2, "`city`");
    run(&good.replace("city", "age")).fails_with(2, "r.json");
    bed.run(&["apply", "s.json", "table.csv", "--policy", "policy.toml", "-o", "out.csv"])
        .fails_with(2, "s.json");
}

#[test]
fn a_recoding_that_is_not_even_text() {
    let bed = Bed::people();
    bed.file("r.json", b"\xFF\xFE{}");
    bed.run(&["apply", "r.json", "table.csv", "--policy", "policy.toml", "-o", "out.csv"])
        .fails_with(2, "r.json");
}

/// A search may run for an hour before it spills.
#[test]
fn a_folder_that_is_missing_is_refused_at_the_start() {
    let bed = Bed::people();
    bed.anonymize(&["--spill-dir", "nowhere"]).fails_with(2, "nowhere: cannot spill rows into it");
    bed.anonymize(&["--spill-dir", "city.csv"])
        .fails_with(2, "city.csv: cannot spill rows into it");
    bed.anonymize(&["--spill-dir", "."]).ok();
}
