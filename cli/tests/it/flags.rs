//! Nothing that is typed is ignored: every flag of `anonymize` with every algorithm either changes
//! something that can be seen, or is refused by its name, or is a limit or a promise that the
//! release keeps in any case. A table says which of them, and a flag or an algorithm that is not in
//! it fails the test. Another table does so for the commands that read a release, a recoding or a
//! summary.

use crate::bed::{Bed, Outcome};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a flag does with an algorithm.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Expected {
    /// The release or its report is another one.
    Acts,
    /// Exit status 2 and one line that names the flag.
    Refused,
    /// The same release: a limit that is kept anyway, or a promise that holds anyway.
    Kept,
}

/// The algorithms, in the order of the table's columns.
const ALGORITHMS: [&str; 15] = [
    "auto",
    "incognito",
    "s-instant",
    "mondrian",
    "m-instant",
    "rothko-t",
    "rothko-s",
    "local",
    "l-plus-optimize",
    "annealing",
    "spalm",
    "mpalm",
    "sfalm",
    "sa-only",
    "qi-sa",
];

/// Each flag with what is typed, and a letter for each algorithm: `a`cts, `r`efused, `k`ept.
/// `LEVELS` and `OTHER` depend on the algorithm. Flags of one algorithm come with what shows their
/// effect: `+` separates what both runs have from what only the second has.
const TABLE: [(&str, &str, &str); 37] = [
    ("-k", "-k 12", "aaaaaaaaaa aaa aa"),
    ("--loss", "--loss dm", "aaarrrraaa ara rr"),
    ("--algorithm", "--algorithm OTHER", "aaaaaaaaaa aaa aa"),
    ("--scheme", "--scheme all-records", "rrrrrrrraa rrr rr"),
    ("--suppression", "--suppression 30%", "aaakakkkaa rrr rr"),
    ("--strategy", "--strategy top-down", "aarrrrrrrr ara rr"),
    ("--levels", "--levels LEVELS", "aaaaaaaaaa aaa rr"),
    ("--save-recoding", "--save-recoding saved.json", "aaaaaaaraa aaa rr"),
    ("--time-limit", "--time-limit 0s", "arrrrrraaa rrr rr"),
    ("--gap", "--gap 100%", "arrrrrrarr rrr rr"),
    ("--top", "--seed 3 + --top 9", "rrrrrrraar rrr rr"),
    ("--extra-generalization", "--seed 3 + --extra-generalization", "rrrrrrrraa rrr rr"),
    (
        "--extra-suppression",
        "--scheme all-records --seed 3 + --extra-suppression 30%",
        "rrrrrrrraa rrr rr",
    ),
    ("--sigmas", "--without moments,refinement + --sigmas 1", "rrrrrrrrrr rra rr"),
    ("--bucket", "--without moments,refinement + --bucket 40", "rrrrrrrrrr rra rr"),
    ("--sample-tuples", "--sample-tuples 20", "rrrrraarrr rrr rr"),
    ("--fan-out", "--sample-tuples 20 + --fan-out 2", "rrrrraarrr rrr rr"),
    ("--frequency-groups", "--sample-tuples 20 + --frequency-groups 1", "rrrrrarrrr rrr rr"),
    ("--alpha", "--sample-tuples 20 + --alpha 0.5", "rrrrrrarrr rrr rr"),
    ("--naive", "--sample-tuples 20 + --naive", "rrrrrrarrr rrr rr"),
    ("--spill-dir", "--spill-dir .", "kkkkkkkkkk kkk kk"),
    ("--summary", "--summary summary.json", "rrararrrrr rrr rr"),
    ("--summary-kind", "--summary-kind sample", "rrararrrrr rrr rr"),
    ("--by", "--threshold 1 + --by expectation", "rrararrrrr rrr rr"),
    ("--threshold", "--threshold 0.0001", "rrararrrrr rrr rr"),
    ("--without", "--without WITHOUT", "rrararrrrr rra rr"),
    ("--keep-order", "--keep-order", "aaaaarraaa aaa aa"),
    ("--seed", "--seed 1", "akkkkkkaka kkk kk"),
    ("--json", "--json", "kkkkkkkkkk kkk kk"),
    ("--threads", "--threads 1", "kkkkkkkkkk kkk kk"),
    ("--memory", "--memory 1GB", "kkkkkkkkkk kkk kk"),
    ("--format", "--format csv", "rrrrrrrrrr rrr rr"),
    ("--delimiter", "--delimiter ,", "kkkkkkkkkk kkk kk"),
    ("--encoding", "--encoding utf-8", "kkkkkkkkkk kkk kk"),
    ("--sheet", "--sheet first", "rrrrrrrrrr rrr rr"),
    ("--rename-duplicates", "--rename-duplicates", "kkkkkkkkkk kkk kk"),
    ("--html", "--html page.html", "aaaaaaaaaa aaa aa"),
];

/// Flags that every run has, and help.
const NEEDED: [&str; 3] = ["--policy", "--output", "--help"];

/// A town of people, the same every time; some of them are in the table.
fn rows() -> Vec<(bool, String)> {
    let mut state = 7u32;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    let person = |number: u32| {
        let age = 20 + next(40);
        let city = ["Bern", "Biel", "Thun"][next(3) as usize];
        let ill = ["flu", "gout", "asthma", "HIV"][next(4) as usize];
        let pay = 1000 * (1 + next(8));
        // Two people live where hardly anybody does.
        let (is_in, city) = match number {
            0 | 1 => (true, "Spiez"),
            2..5 => (false, "Spiez"),
            _ => (next(3) == 0, city),
        };
        (is_in, format!("{age},{city},{ill},{pay}\n"))
    };
    (0..600).map(person).collect()
}

const KEYS: &str = "[attributes.age]\nrole = \"quasi-identifier\"\n\
    hierarchy = { intervals = [5, 10, 20], from = 20, to = 59 }\n\
    [attributes.city]\nrole = \"quasi-identifier\"\nhierarchy = \"city.csv\"\n";

/// A table that the algorithm can release, and its policy.
fn bed(algorithm: &str) -> Bed {
    let bed = Bed::new();
    let header = "age,city,ill,pay\n";
    let all: String = rows().iter().map(|(_, row)| row.as_str()).collect();
    let some: String =
        rows().iter().filter(|(is_in, _)| *is_in).map(|(_, row)| row.as_str()).collect();
    bed.file("table.csv", format!("{header}{some}"));
    bed.file("world.csv", format!("{header}{all}"));
    bed.file("city.csv", "Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\nSpiez;lake;CH\n");
    let (ill, privacy) = match algorithm {
        "spalm" | "mpalm" => (
            "insensitive",
            "presence = { min = 0.1, max = 0.6, population = \"world.csv\" }".to_string(),
        ),
        "sfalm" => {
            let mut counts = BTreeMap::<String, u32>::new();
            for (_, row) in rows() {
                let fields: Vec<&str> = row.split(',').collect();
                *counts.entry(format!("age,{}", fields[0])).or_default() += 1;
                *counts.entry(format!("city,{}", fields[1])).or_default() += 1;
            }
            let lines = counts.iter().map(|(value, count)| format!("{value},{count}\n"));
            let text: String = lines.collect();
            bed.file("marginals.csv", format!("attribute,value,count\n{text}"));
            let presence = "min = 0.05, max = 0.7, confidence = 0.6, marginals = \"marginals.csv\"";
            ("insensitive", format!("presence = {{ {presence} }}"))
        }
        "sa-only" | "qi-sa" => {
            let asked = "attribute = \"pay\", target = \"uniform\", fakes = \"90%\"";
            ("insensitive", format!("distribution = {{ {asked} }}"))
        }
        "l-plus-optimize" | "annealing" => {
            ("sensitive", "k = 4\nl-diversity = { kind = \"frequency\", l = 2 }".into())
        }
        _ => ("insensitive", "k = 4".into()),
    };
    let pay = if algorithm.starts_with("sa") || algorithm.starts_with("qi") {
        "sensitive"
    } else {
        "insensitive"
    };
    bed.file(
        "policy.toml",
        format!(
            "{KEYS}[attributes.ill]\nrole = \"{ill}\"\n[attributes.pay]\nrole = \"{pay}\"\n\
             type = \"integer\"\n[privacy]\n{privacy}\n[search]\nalgorithm = \"{algorithm}\"\n\
             regions = \"cover\"\n"
        ),
    );
    if matches!(algorithm, "s-instant" | "m-instant") {
        let build = ["summarize", "table.csv", "--policy", "policy.toml", "-o", "summary.json"];
        bed.run(&[&build[..], &["--kind", "bayes"]].concat()).ok();
    } else {
        bed.file("summary.json", "{}");
    }
    bed
}

fn outputs(bed: &Bed) -> Vec<String> {
    let inputs = ["table.csv", "world.csv", "city.csv", "marginals.csv", "policy.toml"];
    let is_output = |name: &String| !inputs.contains(&name.as_str()) && name != "summary.json";
    bed.names().into_iter().filter(is_output).collect()
}

fn run(bed: &Bed, algorithm: &str, more: &[&str]) -> Outcome {
    for name in outputs(bed) {
        let path = bed.path(&name);
        let _ = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
    }
    let out = if matches!(algorithm, "sa-only" | "qi-sa") { "out" } else { "out.csv" };
    let fixed = ["anonymize", "table.csv", "--policy", "policy.toml", "-o", out];
    let json: &[&str] = if more.contains(&"--json") { &[] } else { &["--json"] };
    bed.run(&[&fixed[..], json, more].concat())
}

/// The report without times, and the files.
type Seen = (Value, Vec<(String, Vec<u8>)>);

/// What can be seen of a release.
fn seen(bed: &Bed, outcome: Outcome) -> Seen {
    let mut report = outcome.ok().json();
    for part in ["phases", "io"] {
        report.as_object_mut().unwrap().remove(part);
    }
    if let Some(search) = report.get_mut("search").and_then(Value::as_object_mut) {
        search.remove("seconds");
    }
    let mut files = Vec::new();
    for name in outputs(bed) {
        let path = bed.path(&name);
        if path.is_dir() {
            for entry in std::fs::read_dir(&path).unwrap() {
                let inside = format!("{name}/{}", entry.unwrap().file_name().to_string_lossy());
                files.push(inside);
            }
        } else {
            files.push(name);
        }
    }
    files.retain(|name| !name.contains("report.json"));
    files.sort();
    (report, files.into_iter().map(|name| (name.clone(), bed.bytes(&name))).collect())
}

fn other(algorithm: &str) -> &'static str {
    match algorithm {
        "spalm" | "sfalm" => "mpalm",
        "mpalm" => "spalm",
        "sa-only" => "qi-sa",
        "qi-sa" => "sa-only",
        "mondrian" => "incognito",
        "annealing" => "l-plus-optimize",
        _ => "mondrian",
    }
}

#[test]
fn every_flag_acts_or_is_refused_with_every_algorithm() {
    let mut wrong = Vec::new();
    for (column, algorithm) in ALGORITHMS.iter().enumerate() {
        let bed = bed(algorithm);
        let mut known: BTreeMap<String, Seen> = BTreeMap::new();
        for (flag, typed, expected) in TABLE {
            let letters: Vec<char> = expected.chars().filter(|letter| *letter != ' ').collect();
            assert_eq!(letters.len(), ALGORITHMS.len(), "{flag}");
            let expected = match letters[column] {
                'a' => Expected::Acts,
                'r' => Expected::Refused,
                _ => Expected::Kept,
            };
            let without = if *algorithm == "sfalm" { "moments,refinement" } else { "hybrid" };
            let typed = typed.replace("OTHER", other(algorithm)).replace("WITHOUT", without);
            let typed = typed.replace("LEVELS", "age=3,city=2");
            let (both, second) = typed.split_once(" + ").unwrap_or(("", &typed));
            let both: Vec<&str> = both.split_whitespace().collect();
            let second: Vec<&str> = second.split_whitespace().collect();
            if expected == Expected::Refused {
                let outcome = run(&bed, algorithm, &second);
                let is_one_line = outcome.stderr.trim_end().lines().count() == 1;
                let is_named = outcome.stderr.contains(flag);
                if outcome.status != 2 || !is_one_line || !is_named || !outcome.touched.is_empty() {
                    wrong.push(format!("{algorithm} {typed}: not refused by name: {outcome:?}"));
                }
                continue;
            }
            let before = known.entry(both.join(" ")).or_insert_with(|| {
                let before = run(&bed, algorithm, &both);
                assert_eq!(before.status, 0, "{algorithm}: {before:?}");
                seen(&bed, before)
            });
            let outcome = run(&bed, algorithm, &[both, second].concat());
            // That nothing can be released any more is an effect too.
            if outcome.status == 1 && expected == Expected::Acts {
                continue;
            }
            if outcome.status != 0 {
                wrong.push(format!("{algorithm} {typed}: {outcome:?}"));
                continue;
            }
            let after = seen(&bed, outcome);
            if (*before == after) != (expected == Expected::Kept) {
                wrong.push(format!("{algorithm} {typed}: not {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The flags that a help text lists.
fn flags_of(help: &str) -> Vec<&str> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let flags = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        let short = words.clone().next();
        Some(words.find(|word| word.starts_with("--")).or(short)?.trim_end_matches(','))
    });
    flags.collect()
}

/// The table above lists every flag and every algorithm of the command. A new one fails this test
/// until the table says what it does.
#[test]
fn the_table_of_flags_is_complete() {
    let bed = Bed::new();
    let help = bed.run(&["anonymize", "--help"]).ok().stdout;
    let flags = flags_of(&help);
    assert!(flags.len() > 25, "{flags:?}");
    for flag in &flags {
        let is_known = TABLE.iter().any(|(known, ..)| known == flag) || NEEDED.contains(flag);
        assert!(is_known, "{flag} is not in the table");
    }
    for (flag, ..) in TABLE {
        assert!(flags.contains(&flag), "{flag} is no flag: {flags:?}");
    }
    let bed = self::bed("auto");
    let refused = run(&bed, "auto", &["--algorithm", "none-of-them"]).stderr;
    let names = refused.split_once("one of ").unwrap().1.trim();
    let names: Vec<&str> = names.split(", ").collect();
    assert_eq!(names, ALGORITHMS, "{refused}");
}

/// A flag, what is typed, and what is expected of it.
type FlagCase = (&'static str, &'static str, char);

/// For each other command its flags, with what is typed and whether it `a`cts, is `r`efused or is
/// `k`ept. A flag may be there several times, together with others.
const COMMANDS: [(&str, &str, &[FlagCase]); 5] = [
    (
        "verify",
        "verify out.csv --policy policy.toml",
        &[
            ("-k", "-k 12", 'a'),
            ("--loss", "--loss dm", 'r'),
            ("--algorithm", "--algorithm mondrian", 'r'),
            ("--scheme", "--scheme records", 'r'),
            ("--suppression", "--suppression 10%", 'r'),
            ("--original", "--original table.csv", 'r'),
            ("--json", "--json", 'k'),
            ("--threads", "--threads 1", 'k'),
            ("--memory", "--memory 1GB", 'k'),
            ("--format", "--format csv", 'r'),
            ("--delimiter", "--delimiter ;", 'a'),
            ("--encoding", "--encoding utf-8", 'k'),
            ("--sheet", "--sheet first", 'r'),
            ("--rename-duplicates", "--rename-duplicates", 'k'),
            ("--html", "--html page.html", 'a'),
        ],
    ),
    (
        "risk",
        "risk table.csv --policy policy.toml",
        &[
            ("-k", "-k 12", 'r'),
            ("--loss", "--loss dm", 'r'),
            ("--algorithm", "--algorithm mondrian", 'r'),
            ("--scheme", "--scheme records", 'r'),
            ("--suppression", "--suppression 10%", 'r'),
            ("--threshold", "--threshold 0.9", 'a'),
            ("--population", "--population world.csv", 'a'),
            ("--json", "--json", 'k'),
            ("--threads", "--threads 1", 'k'),
            ("--memory", "--memory 1GB", 'k'),
            ("--format", "--format csv", 'r'),
            ("--delimiter", "--delimiter ;", 'a'),
            ("--encoding", "--encoding utf-8", 'k'),
            ("--sheet", "--sheet first", 'r'),
            ("--rename-duplicates", "--rename-duplicates", 'k'),
            ("--html", "--html page.html", 'a'),
        ],
    ),
    (
        "apply",
        "apply saved.json table.csv --policy policy.toml -o again.csv",
        &[
            ("-k", "-k 40", 'a'),
            ("--loss", "--loss dm", 'r'),
            ("--algorithm", "--algorithm mondrian", 'r'),
            ("--scheme", "--scheme all-records", 'r'),
            ("--suppression", "-k 12 + --suppression 90%", 'a'),
            ("--keep-order", "--keep-order", 'a'),
            ("--seed", "--seed 1", 'k'),
            ("--json", "--json", 'k'),
            ("--threads", "--threads 1", 'k'),
            ("--memory", "--memory 1GB", 'k'),
            ("--format", "--format csv", 'r'),
            ("--delimiter", "--delimiter ;", 'a'),
            ("--encoding", "--encoding utf-8", 'k'),
            ("--sheet", "--sheet first", 'r'),
            ("--rename-duplicates", "--rename-duplicates", 'k'),
            ("--html", "--html page.html", 'a'),
        ],
    ),
    (
        "summarize",
        "summarize table.csv --policy policy.toml -o again.json",
        &[
            ("-k", "-k 12", 'r'),
            ("--loss", "--loss dm", 'r'),
            ("--algorithm", "--algorithm mondrian", 'r'),
            ("--scheme", "--scheme records", 'r'),
            ("--suppression", "--suppression 10%", 'r'),
            ("--kind", "--kind sample", 'a'),
            ("--max-parents", "--max-parents 1", 'r'),
            ("--max-parents", "--kind sample --max-parents 2", 'r'),
            ("--max-parents", "--kind bayes + --max-parents 1", 'k'),
            ("--search", "--search annealed", 'r'),
            ("--search", "--kind bayes --search annealed", 'r'),
            ("--search", "--kind bayes --max-parents 2 + --search greedy", 'k'),
            ("--rows", "--rows 10", 'r'),
            ("--rows", "--kind bayes --rows 10", 'r'),
            ("--rows", "--kind sample + --rows 10", 'a'),
            ("--seed", "--seed 7", 'r'),
            ("--seed", "--kind bayes --seed 7", 'r'),
            ("--seed", "--kind sample --rows 10 + --seed 7", 'a'),
            ("--json", "--json", 'k'),
            ("--threads", "--threads 1", 'k'),
            ("--memory", "--memory 1GB", 'k'),
            ("--format", "--format csv", 'r'),
            ("--delimiter", "--delimiter ;", 'a'),
            ("--encoding", "--encoding utf-8", 'k'),
            ("--sheet", "--sheet first", 'r'),
            ("--rename-duplicates", "--rename-duplicates", 'k'),
        ],
    ),
    (
        "estimate",
        "estimate --summary summary.json --policy policy.toml",
        &[
            ("-k", "-k 12", 'a'),
            ("--loss", "--loss dm", 'a'),
            ("--algorithm", "--algorithm mondrian", 'r'),
            ("--algorithm", "--algorithm s-instant --levels age=3,city=2", 'r'),
            ("--algorithm", "--algorithm s-instant", 'k'),
            ("--scheme", "--scheme none", 'r'),
            ("--suppression", "--suppression 30%", 'a'),
            ("--levels", "--levels age=3,city=2", 'a'),
            ("--by", "--threshold 1 + --by expectation", 'a'),
            ("--by", "--levels age=3,city=2 --by expectation", 'r'),
            ("--threshold", "--threshold 0.0001", 'a'),
            ("--threshold", "--levels age=3,city=2 --threshold 0.5", 'r'),
            ("--loss", "--levels age=3,city=2 --loss dm", 'r'),
            ("--suppression", "--levels age=3,city=2 --suppression 1%", 'r'),
            ("-k", "--levels age=1,city=1 + -k 20", 'a'),
            ("--without", "--without limit", 'k'),
            ("--json", "--json", 'k'),
            ("--threads", "--threads 1", 'k'),
            ("--memory", "--memory 1GB", 'k'),
            ("--format", "--format csv", 'r'),
            ("--delimiter", "--delimiter ;", 'r'),
            ("--encoding", "--encoding utf-8", 'r'),
            ("--sheet", "--sheet first", 'r'),
            ("--rename-duplicates", "--rename-duplicates", 'r'),
        ],
    ),
];

/// A release with its recoding, and a summary.
fn released_bed() -> Bed {
    let bed = bed("auto");
    let more = ["--save-recoding", "saved.json", "--seed", "1"];
    assert_eq!(run(&bed, "auto", &more).status, 0);
    let build = "summarize table.csv --policy policy.toml -o summary.json --kind bayes";
    bed.run(&build.split(' ').collect::<Vec<_>>()).ok();
    bed
}

/// What a command says and writes, without times. What it writes is removed again.
fn told(bed: &Bed, arguments: &[&str]) -> (i32, Value, Vec<(String, Vec<u8>)>, String) {
    let json: &[&str] = if arguments.contains(&"--json") { &[] } else { &["--json"] };
    let outcome = bed.run(&[arguments, json].concat());
    let mut report: Value = serde_json::from_str(&outcome.stdout).unwrap_or(Value::Null);
    for part in ["phases", "io", "seconds"] {
        report.as_object_mut().map(|report| report.remove(part));
    }
    let written = outcome.touched.iter().filter(|name| !name.contains("report.json"));
    let files = written.map(|name| (name.clone(), bed.bytes(name))).collect();
    for name in &outcome.touched {
        std::fs::remove_file(bed.path(name)).unwrap();
    }
    (outcome.status, report, files, outcome.stderr)
}

#[test]
fn every_flag_of_the_other_commands_acts_or_is_refused() {
    let bed = released_bed();
    let mut wrong = Vec::new();
    for (command, fixed, flags) in COMMANDS {
        let fixed: Vec<&str> = fixed.split(' ').collect();
        for (flag, typed, expected) in flags {
            let (both, second) = typed.split_once(" + ").unwrap_or(("", typed));
            let both: Vec<&str> = both.split_whitespace().collect();
            let second: Vec<&str> = second.split_whitespace().collect();
            let before = told(&bed, &[&fixed[..], &both].concat());
            let after = told(&bed, &[&fixed[..], &both, &second].concat());
            let (status, stderr) = (after.0, &after.3);
            let is_right = match expected {
                'r' => {
                    let is_one_line = stderr.trim_end().lines().count() == 1;
                    status == 2 && is_one_line && stderr.contains(flag) && after.2.is_empty()
                }
                // Columns of another delimiter are not found, and that is an effect.
                'a' => (before.1, before.2) != (after.1.clone(), after.2.clone()),
                _ => before.0 == 0 && (&before.1, &before.2) == (&after.1, &after.2),
            };
            if !is_right {
                wrong.push(format!("{command} {typed}: not {expected}: {status} {stderr}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Flags that have an effect on some releases only.
#[test]
fn flags_of_verify_act_where_the_policy_gives_them_a_meaning() {
    let bed = bed("l-plus-optimize");
    let values = ["--scheme", "all-values", "-k", "1"];
    assert_eq!(run(&bed, "l-plus-optimize", &values).status, 0);
    let verify = ["verify", "out.csv", "--policy", "policy.toml", "-k", "1"];
    let with = |more: &[&str]| told(&bed, &[&verify[..], more].concat()).1;
    assert_eq!(with(&["--scheme", "all-values"])["satisfied"], Value::Bool(true));
    assert_ne!(with(&["--scheme", "all-values"]), with(&["--scheme", "all-records"]));
    // A file without a delimiter.
    let parquet = ["anonymize", "table.csv", "--policy", "policy.toml", "-o", "out.parquet"];
    bed.run(&parquet).ok();
    let arguments = ["verify", "out.parquet", "--policy", "policy.toml", "--delimiter", ";"];
    bed.run(&arguments).fails_with(2, "--delimiter");
}

/// Flags that are refused in the table above, but act with another policy or on standard input.
const REFUSED_HERE: [(&str, &str); 13] = [
    ("verify", "--sheet"),
    ("risk", "--sheet"),
    ("apply", "--sheet"),
    ("summarize", "--sheet"),
    ("verify", "--algorithm"),
    ("verify", "--scheme"),
    ("verify", "--suppression"),
    ("verify", "--original"),
    ("verify", "--format"),
    ("risk", "--format"),
    ("apply", "--format"),
    ("apply", "--scheme"),
    ("summarize", "--format"),
];

/// The table above lists every flag that help shows, and help shows no flag that is always refused.
#[test]
fn help_shows_the_flags_that_act_and_no_others() {
    let bed = Bed::new();
    for (command, fixed, flags) in COMMANDS {
        let help = bed.run(&[command, "--help"]).ok().stdout;
        let shown = flags_of(&help);
        assert!(shown.len() > 5, "{command}: {shown:?}");
        for flag in &shown {
            let needed = NEEDED.contains(flag) || fixed.contains(flag);
            let is_known = needed || flags.iter().any(|(known, ..)| known == flag);
            assert!(is_known, "{flag} of {command} is not in the table");
        }
        for (flag, ..) in flags {
            let mut cases = flags.iter().filter(|(known, ..)| known == flag);
            let is_refused = cases.all(|(.., expected)| *expected == 'r');
            let acts = !is_refused || REFUSED_HERE.contains(&(command, flag));
            assert_eq!(acts, shown.contains(flag), "{flag} of {command}: {shown:?}");
        }
    }
}

/// Tables that a command does not have, and files that have the format of their names.
#[test]
fn a_format_and_a_delimiter_need_a_table() {
    let bed = released_bed();
    let commands = [
        "init table.csv -o new.toml",
        "generate agrawal --rows 10 -o new.csv",
        "query out SELECT",
        "advise --prior 0.1 --population 1000 --table 100 --cost 1000 --misuse 150",
    ];
    for command in commands {
        let arguments: Vec<&str> = command.split(' ').collect();
        let refused = |more: &[&'static str]| {
            bed.run(&[&arguments[..], more].concat()).fails_with(2, more[0]);
        };
        refused(&["--format", "csv"]);
        if !command.starts_with("init") {
            refused(&["--delimiter", ";"]);
            refused(&["--memory", "1GB"]);
            refused(&["--threads", "1"]);
        }
    }
}
