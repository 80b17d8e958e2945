//! Patients as a European spreadsheet has them: `31.12.1980`, `1.234,5`, `01.05.2024 13:05`. Every
//! command reads them, and releases are written in the same way.

use crate::bed::Bed;
use scumble::random::Random;
use serde_json::json;

const POLICY: &str = r#"[attributes.name]
role = "identifier"

[attributes.born]
role = "quasi-identifier"
type = "date"
format = "DD.MM.YYYY"
missing = ["k.A."]

[attributes.income]
role = "quasi-identifier"
type = "real"
decimal = ","
thousands = "."
hierarchy = { intervals = [1000, 5000, 20000], from = 0, to = 40000 }

[attributes.admitted]
role = "quasi-identifier"
type = "timestamp"
format = "DD.MM.YYYY hh:mm"

[attributes."lab_*"]
role = "sensitive"
type = "real"
decimal = ","

[attributes.ill]
role = "sensitive"

[privacy]
k = 3
variance = { at-least = 0.1, sensitive = "lab_na" }

[search]
suppression = { limit = 0.1 }
"#;

/// 200 patients, separated by semicolons.
fn patients() -> String {
    let mut random = Random::new(12);
    let mut text = String::from("name;born;income;admitted;lab_na;lab_k;ill\n");
    for patient in 0..200 {
        let mut draw = |most: u64| random.below(most);
        let born = match draw(20) {
            0 => "k.A.".to_string(),
            _ => format!("{:02}.{:02}.{}", 1 + draw(28), 1 + draw(12), 1950 + draw(50)),
        };
        let (thousand, rest) = (1 + draw(38), draw(1000));
        let income = format!("{thousand}.{rest:03},5");
        let admitted = format!("{:02}.05.2024 {:02}:{:02}", 1 + draw(28), draw(24), draw(60));
        let (sodium, potassium) = (draw(90), draw(90));
        let ill = ["flu", "gout", "asthma"][draw(3) as usize];
        text += &format!(
            "P{patient};{born};{income};{admitted};13{},{};{},{};{ill}\n",
            sodium / 10,
            sodium % 10,
            potassium / 10,
            potassium % 10
        );
    }
    text
}

fn bed() -> Bed {
    let bed = Bed::new();
    bed.file("table.csv", patients()).file("policy.toml", POLICY);
    bed
}

/// Whether a text is `31.12.1980`.
fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3 && [2, 2, 4] == [parts[0].len(), parts[1].len(), parts[2].len()]
}

/// Whether a label may stand in a release of the column.
fn is_label(column: &str, label: &str) -> bool {
    if label.is_empty() || label == "*" {
        return true;
    }
    match column {
        "born" | "admitted" => {
            let ends: Vec<&str> = label.split(" to ").collect();
            let is_date_or_time = |end: &&str| end.get(..10).is_some_and(is_date);
            let is_unit = label.starts_with("19") || label.starts_with("20");
            is_unit && !label.contains('.') || ends.iter().all(is_date_or_time)
        }
        "income" => label.starts_with('[') && label.contains("; ") && label.contains(".000"),
        _ => true,
    }
}

#[test]
fn every_search_releases_and_verifies_in_the_notation() {
    let algorithms =
        ["incognito", "mondrian", "local", "rothko-t", "rothko-s", "s-instant", "m-instant"];
    for (algorithm, out) in
        algorithms.iter().flat_map(|name| [(name, "out.csv"), (name, "out.parquet")])
    {
        let bed = bed();
        bed.run(&[
            "anonymize",
            "table.csv",
            "-p",
            "policy.toml",
            "-o",
            out,
            "--algorithm",
            algorithm,
        ])
        .ok();
        let report = bed.run(&["verify", out, "-p", "policy.toml", "--json"]).ok().json();
        assert_eq!(report["satisfied"], json!(true));
        let risk = bed.run(&["risk", out, "-p", "policy.toml", "--json"]).ok();
        assert!(risk.stdout.len() > 20);
        if out == "out.csv" {
            let records = bed.records(out, ';');
            for record in &records[1..] {
                for (column, field) in records[0].iter().zip(record) {
                    assert!(is_label(column, field), "{algorithm} {column}: {field}");
                }
            }
            // What is passed on is as it was written.
            let text = bed.read("table.csv");
            assert!(records[1..].iter().all(|record| text.contains(&record[3..].join(";"))));
            // A value in another notation is no label.
            bed.edit(out, &records[1][1], "31/12/1980");
            bed.run(&["verify", out, "-p", "policy.toml"]).complains().says("31/12/1980");
        }
    }
}

/// Pictures of a release, and comparisons of policies.
#[test]
fn what_is_shown_is_in_the_notation() {
    let bed = bed();
    bed.anonymize(&["--algorithm", "mondrian", "--html", "page.html"]).ok();
    assert!(bed.read("page.html").contains(".000)"));
    let show = ["show", "out.csv", "-p", "policy.toml", "--original", "table.csv", "--json"];
    let shown = bed.run(&show).ok().json();
    let column = |name: &str| {
        let columns = shown["columns"].as_array().unwrap();
        columns.iter().find(|column| column["name"] == name).unwrap().clone()
    };
    let born = column("born");
    let labels = born["labels"]["listed"].as_array().unwrap();
    assert!(
        labels.iter().all(|label| is_label("born", label["label"].as_str().unwrap())),
        "{born}"
    );
    // Every row before is covered by some label.
    let covered: u64 = labels.iter().map(|label| label["before"].as_u64().unwrap()).sum();
    assert!(covered > 100, "{born}");
    let values = born["before"]["frequent"].as_array().unwrap();
    assert!(values.iter().all(|value| is_date(value["value"].as_str().unwrap())), "{born}");
    assert!(column("income")["loss"].as_f64().unwrap() > 0.0);
    bed.run(&["compare", "table.csv", "-p", "policy.toml"]).ok();
}

#[test]
fn parquet_texts_have_notations_too() {
    let bed = bed();
    // The same table as Parquet: everything is passed on.
    let all = "[attributes.ill]\nrole = \"quasi-identifier\"\n[defaults]\nrole = \"insensitive\"\n[privacy]\nk = 1\n";
    bed.file("all.toml", all);
    bed.run(&["anonymize", "table.csv", "-p", "all.toml", "-o", "table.parquet", "--keep-order"])
        .ok();
    for algorithm in ["incognito", "mondrian", "rothko-t"] {
        let run = |input: &str, output: &str| {
            bed.run(&[
                "anonymize",
                input,
                "-p",
                "policy.toml",
                "-o",
                output,
                "--algorithm",
                algorithm,
            ])
            .ok();
        };
        run("table.csv", "a.csv");
        run("table.parquet", "b.csv");
        let sorted = |name: &str, delimiter: char| crate::bed::sorted(bed.records(name, delimiter));
        assert_eq!(sorted("a.csv", ';'), sorted("b.csv", ','), "{algorithm}");
    }
}

#[test]
fn a_saved_recoding_is_applied_to_more_rows() {
    let bed = bed();
    for algorithm in ["incognito", "mondrian"] {
        let more = ["--algorithm", algorithm, "--save-recoding", "saved.json"];
        bed.anonymize(&more).ok();
        bed.run(&["apply", "saved.json", "table.csv", "-p", "policy.toml", "-o", "again.csv"]).ok();
        let rows = |name: &str| crate::bed::sorted(bed.records(name, ';'));
        assert_eq!(rows("out.csv"), rows("again.csv"), "{algorithm}");
    }
}

#[test]
fn summaries_know_values_in_a_notation() {
    let bed = bed();
    for kind in ["histogram", "bayes", "sample"] {
        bed.run(&["summarize", "table.csv", "-p", "policy.toml", "-o", "s.json", "--kind", kind])
            .ok();
        bed.run(&["estimate", "--summary", "s.json", "-p", "policy.toml"]).ok();
        bed.anonymize(&["--algorithm", "s-instant", "--summary", "s.json"]).ok();
    }
}

#[test]
fn hierarchies_are_built_in_the_notation_and_read_again() {
    let bed = bed();
    for attribute in ["born", "income", "admitted"] {
        let file = format!("{attribute}.hierarchy.csv");
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
        bed.run(&["hierarchy", "check", &file]).ok();
        bed.run(&["hierarchy", "draw", &file]).ok();
    }
    let leaves = |file: &str| bed.records(file, ';').into_iter().map(|row| row[0].clone());
    assert!(leaves("born.hierarchy.csv").all(|leaf| is_date(&leaf)));
    assert!(leaves("income.hierarchy.csv").all(|leaf| leaf.contains('.') && leaf.ends_with(",5")));
    let born = bed.records("admitted.hierarchy.csv", ';')[0].clone();
    assert!(is_date(&born[2]) && born[1].ends_with('h') && is_date(&born[1][..10]), "{born:?}");
    // Leaves of a file may be in the notation.
    bed.anonymize(&[]).ok();
    let before = bed.read("out.csv");
    let text = POLICY.replace(
        "hierarchy = { intervals = [1000, 5000, 20000], from = 0, to = 40000 }",
        "hierarchy = \"income.hierarchy.csv\"",
    );
    bed.file("policy.toml", text);
    bed.anonymize(&["--levels", "born=4,income=3,admitted=3"]).ok();
    bed.run(&["verify", "out.csv", "-p", "policy.toml"]).ok();
    assert_eq!(before.lines().next(), bed.read("out.csv").lines().next());
}

#[test]
fn a_distribution_is_written_and_asked_in_the_notation() {
    for k in ["", "k = 3"] {
        let bed = bed();
        let text = POLICY
            .replace("[attributes.income]\nrole = \"quasi-identifier\"", "[attributes.income]\nrole = \"sensitive\"")
            .replace("hierarchy = { intervals = [1000, 5000, 20000], from = 0, to = 40000 }\n", "")
            .replace("[attributes.\"lab_*\"]\nrole = \"sensitive\"", "[attributes.\"lab_*\"]\nrole = \"insensitive\"")
            .replace("[attributes.ill]\nrole = \"sensitive\"", "[attributes.ill]\nrole = \"quasi-identifier\"")
            .replace("k = 3\nvariance = { at-least = 0.1, sensitive = \"lab_na\" }", &format!(
                "{k}\ndistribution = {{ attribute = \"income\", target = \"uniform\", groups = [\"ill\"], fakes = \"30%\" }}"
            ));
        bed.file("policy.toml", text);
        bed.run(&["anonymize", "table.csv", "-p", "policy.toml", "-o", "out"]).ok();
        let verify = ["verify", "out", "-p", "policy.toml", "--original", "table.csv", "--json"];
        assert_eq!(bed.run(&verify).ok().json()["satisfied"], json!(true));
        let records = bed.records("out/records.csv", ',');
        assert_eq!(records[0], ["born", "admitted", "lab_na", "lab_k", "ill", "group"]);
        assert!(records[1..].iter().all(|record| is_label("born", &record[0])));
        assert!(records[1..].iter().all(|record| record[2].starts_with("13")));
        let values = bed.records("out/sensitive.csv", ',');
        assert!(
            values[1..].iter().any(|row| row[1].contains("-") && row[1].contains(".")),
            "{values:?}"
        );
        // A label that is not in the notation of its column is not a node of the target.
        let ask = |sql: &str| bed.run(&["query", "out", sql, "--json"]);
        let rows = |condition: &str| {
            ask(&format!("SELECT AVG(income) FROM release WHERE {condition}")).ok().json()
        };
        let (all, some) = (rows("1 = 1"), rows("born >= '01.01.1980'"));
        assert_eq!(some, rows("born >= '1980-01-01'"));
        assert_eq!(all["rows"], json!(200));
        if k.is_empty() {
            let counted = bed.records("table.csv", ';')[1..]
                .iter()
                .filter(|row| is_date(&row[1]) && &row[1][6..] >= "1980")
                .count();
            assert_eq!(some["rows"], json!(counted));
        }
        let (spelled, plain) = (rows("income > '10.000,5'"), rows("income > 10000.5"));
        assert_eq!(spelled, plain);
        ask("SELECT COUNT(*) FROM release WHERE born LIKE '%1980'")
            .fails_with(2, "`born` has a notation");
    }
}

#[test]
fn a_population_and_marginals_may_be_in_the_notation() {
    let mut random = Random::new(5);
    let (mut population, mut table) = (String::from("born;score\n"), String::from("born;score\n"));
    let mut counts = std::collections::BTreeMap::new();
    for person in 0..400 {
        let (born, score) = (
            format!("{:02}.06.19{}", 1 + random.below(3), 50 + 10 * random.below(4)),
            ["0,5", "1,5", "1.000"][random.below(3) as usize],
        );
        let line = format!("{born};{score}\n");
        population += &line;
        if person % 8 == 0 {
            table += &line;
        }
        *counts.entry(("born", born)).or_insert(0) += 1;
        *counts.entry(("score", score.to_string())).or_insert(0) += 1;
    }
    let marginals = counts.iter().map(|((name, value), count)| format!("{name};{value};{count}\n"));
    let bed = Bed::new();
    let policy = |presence: &str| {
        format!(
            "[attributes.born]\nrole = \"quasi-identifier\"\nformat = \"DD.MM.YYYY\"\n\
             [attributes.score]\nrole = \"quasi-identifier\"\ndecimal = \",\"\nthousands = \".\"\n\
             [privacy]\npresence = {{ min = 0, max = 0.5, {presence} }}\n"
        )
    };
    bed.file("table.csv", table)
        .file("population.csv", population)
        .file("marginals.csv", marginals.collect::<String>())
        .file("a.toml", policy("population = \"population.csv\""))
        .file("b.toml", policy("marginals = \"marginals.csv\", confidence = 0.5"));
    for policy in ["a.toml", "b.toml"] {
        bed.run(&["anonymize", "table.csv", "-p", policy, "-o", "out.csv"]).ok();
        let report = bed.run(&["verify", "out.csv", "-p", policy, "--json"]).ok().json();
        assert_eq!(report["satisfied"], json!(true), "{policy}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    let bed = bed();
    bed.edit("table.csv", "k.A.", "31.12.80");
    let line =
        bed.read("table.csv").lines().position(|line| line.contains("31.12.80")).unwrap() + 1;
    bed.anonymize(&[])
        .fails_with(2, &format!("table.csv:{line}: column `born`: `31.12.80` is not a date as in `format = \"DD.MM.YYYY\"`"));
    bed.edit("policy.toml", "DD.MM.YYYY\"", "DD.MM.YY\"");
    bed.anonymize(&[]).fails_with(2, "two digits do not tell the century").says("policy.toml:");
    let cases = [
        ("format = \"DD.MM.YYYY\"", "format = \"DD.MM.YYYY hh:mm\"", "requires the type timestamp"),
        ("thousands = \".\"\n", "thousands = \",\"\n", "attributes.income.thousands"),
        (
            "type = \"timestamp\"\n",
            "type = \"timestamp\"\nhierarchy = { intervals = [1] }\n",
            "use `dates`",
        ),
        (
            "format = \"DD.MM.YYYY\"\n",
            "format = \"DD.MM.YYYY\"\nhierarchy = { dates = [\"day\"] }\n",
            "without times",
        ),
        ("lab_*", "labor_*", "no column `labor_*`"),
        (
            "[attributes.ill]",
            "[attributes.\"*b_na\"]\nrole = \"insensitive\"\n[attributes.ill]",
            "matches the column `lab_na` as well as",
        ),
    ];
    let line = |bed: &Bed, part: &str| {
        bed.read("table.csv").lines().position(|line| line.contains(part)).unwrap() + 1
    };
    // What does not belong to a hierarchy is named as it is written.
    let bed = self::bed();
    bed.edit("policy.toml", "to = 40000", "to = 30000");
    let outside = bed.read("table.csv");
    let outside = outside.lines().find_map(|line| {
        let income = line.split(';').nth(2)?;
        income.starts_with('3').then(|| income.to_string()).filter(|income| income.len() > 6)
    });
    let outside = outside.unwrap();
    let place = format!("table.csv:{}: column `income`: `{outside}`", line(&bed, &outside));
    bed.anonymize(&[]).fails_with(2, &place).says("is not in the intervals from 0 to 30000");
    for (from, to, said) in cases {
        let bed = self::bed();
        bed.edit("policy.toml", from, to).anonymize(&[]).fails_with(2, said);
    }
}

/// Where single values are suppressed, the others are spelled in the notation.
#[test]
fn suppressed_values_stand_beside_others() {
    let bed = bed();
    let first = bed.records("table.csv", ';')[1][4].clone();
    let policy = format!(
        r#"
[defaults]
role = "identifier"
[attributes.born]
role = "quasi-identifier"
format = "DD.MM.YYYY"
missing = ["k.A."]
hierarchy = {{ dates = ["year", "decade"] }}
[attributes.income]
role = "quasi-identifier"
type = "real"
decimal = ","
thousands = "."
hierarchy = {{ intervals = [5000, 20000], from = 0, to = 40000 }}
[attributes.lab_na]
role = "sensitive"
type = "real"
decimal = ","
[privacy]
thresholds = {{ default = "1/3", "{first}" = "1/20" }}
[search]
algorithm = "annealing"
time-limit = "1s"
suppression = {{ scheme = "violating-values" }}
"#
    );
    bed.file("policy.toml", policy);
    bed.anonymize(&["--seed", "1"]).ok();
    bed.run(&["verify", "out.csv", "-p", "policy.toml"]).ok();
    let fields: Vec<String> =
        bed.records("out.csv", ';')[1..].iter().map(|row| row[2].clone()).collect();
    let is_value = |field: &String| field == "*" || field.len() == 5 && &field[3..4] == ",";
    assert!(fields.iter().all(is_value), "{fields:?}");
    assert!(fields.iter().any(|field| field == "*"), "{fields:?}");
    // A cap of a value that no row has is a slip of the pen, in any notation.
    bed.edit("policy.toml", &format!("\"{first}\" = "), "\"99,9\" = ");
    bed.anonymize(&[]).fails_with(2, "a cap for a value of the sensitive attribute");
}

/// Ends of intervals and domains may be written as the column is, or in the plain way.
#[test]
fn ends_may_be_in_the_notation() {
    let released = |income: &str, born: &str| {
        let bed = bed();
        bed.edit("policy.toml", "from = 0, to = 40000", income);
        bed.edit("policy.toml", "missing = [\"k.A.\"]", &format!("missing = [\"k.A.\"]\n{born}"));
        bed.anonymize(&["--algorithm", "incognito"]).ok();
        bed.read("out.csv")
    };
    let days = |from: &str| format!("hierarchy = {{ intervals = [3650], from = {from} }}");
    let plain = released("from = 0.5, to = 40000", &days("\"1940-12-31\""));
    let spelled = released("from = \"0,5\", to = \"40.000\"", &days("\"31.12.1940\""));
    assert_eq!(plain, spelled);
    assert_ne!(plain, released("from = \"1,5\", to = \"40.000\"", &days("\"31.12.1940\"")));
    assert_ne!(plain, released("from = 0.5, to = 40000", &days("\"1940-12-30\"")));
    for (from, to) in [("from = 0", "from = \"zero\""), ("to = 40000", "to = \"31.12.1980\"")] {
        let bed = bed();
        bed.edit("policy.toml", from, to);
        bed.anonymize(&[]).fails_with(2, "expected a number, in the plain way or as its column");
    }
    // Without a notation a text is no number.
    let bed = bed();
    bed.edit("policy.toml", "from = 0", "from = \"0\"");
    bed.edit("policy.toml", "decimal = \",\"\nthousands = \".\"\n", "");
    bed.anonymize(&[]).fails_with(2, "expected a number");
}

#[test]
fn a_domain_may_be_in_the_notation() {
    let released = |domain: &str| {
        let bed = Bed::new();
        let rows = (0..40).map(|row| format!("{};{}.000\n", row % 2, 1 + row % 3));
        let table: String = ["who;salary\n".to_string()].into_iter().chain(rows).collect();
        bed.file("table.csv", table);
        let policy = format!(
            "[attributes.who]\nrole = \"quasi-identifier\"\n[attributes.salary]\n\
             role = \"sensitive\"\ntype = \"integer\"\ndecimal = \",\"\nthousands = \".\"\n[privacy.distribution]\n\
             attribute = \"salary\"\ntarget = \"uniform\"\ngroups = [\"who\"]\n\
             domain = {domain}\n"
        );
        bed.file("policy.toml", policy);
        bed.run(&["anonymize", "table.csv", "-p", "policy.toml", "-o", "out"]).ok();
        bed.read("out/sensitive.csv")
    };
    let plain = released("[0, 4000]");
    assert_eq!(released("[\"0\", \"4.000\"]"), plain);
    assert_ne!(released("[\"0\", \"5.000\"]"), plain);
}
