//! What a release looks like: its files, its report, the order of its rows, and recodings that are
//! used again.

use crate::bed::{Bed, CITIES, PEOPLE, PEOPLE_POLICY, sorted};
use scumble::random::Random;
use serde_json::{Value, json};

/// A census table with its policy, named as `Bed::anonymize` expects.
fn census(rows: u32) -> Bed {
    let bed = Bed::new();
    let rows = rows.to_string();
    let arguments = [
        "generate",
        "census",
        "--rows",
        &rows,
        "--seed",
        "3",
        "-o",
        "table.csv",
        "--policy",
        "policy.toml",
    ];
    bed.run(&arguments).ok();
    bed
}

/// A report without what differs from run to run.
fn timeless(mut report: Value) -> Value {
    if let Some(search) = report["search"].as_object_mut() {
        search.remove("seconds").unwrap();
    }
    for phase in report["phases"].as_array_mut().unwrap() {
        phase.as_object_mut().unwrap().remove("seconds").unwrap();
    }
    report
}

/// The six people with what they earn instead of what they have, and a least variance of it.
fn earning(salaries: [&str; 6], variance: &str) -> Bed {
    let bed = Bed::new();
    let people =
        ["Ann,34,Bern", "Bob,36,Bern", "Cid,51,Thun", "Dee,55,Thun", "Eva,38,Biel", "Fay,57,Thun"];
    let rows = people.iter().zip(salaries).map(|(person, salary)| format!("{person},{salary}\n"));
    bed.file("table.csv", format!("name,age,city,salary\n{}", rows.collect::<String>()));
    bed.file("policy.toml", PEOPLE_POLICY).file("city.csv", CITIES);
    bed.edit("policy.toml", "attributes.ill", "attributes.salary");
    bed.edit("policy.toml", "k = 2", &format!("k = 2\nvariance = {variance}"));
    bed
}

#[test]
fn salaries_keep_their_variance() {
    // Thirties of the plain earn 20, 40 and 60: variance 800/3. Fifties of Thun earn 30, 40 and 80:
    // 1400/3.
    let salaries = ["20", "40", "30", "40", "60", "80"];
    let bed = earning(salaries, "\"800/3\"");
    let report = bed.anonymize(&["--json"]).ok().json();
    let found = &report["privacy"][1];
    assert_eq!(
        (&found["requirement"], &found["sensitive"]),
        (&json!("variance-diversity"), &json!("salary"))
    );
    assert!(
        (found["achieved"].as_f64().unwrap() - 800.0 / 3.0).abs() < 1e-9
            && found["satisfied"] == json!(true)
    );
    let levels = report["recoding"]["levels"].clone();
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
    // A little more, and these two classes are too narrow.
    let asked = "{ at-least = 266.66666666666667, sensitive = \"salary\" }";
    let stricter = earning(salaries, asked).anonymize(&["--json"]).ok().json();
    assert!(
        stricter["recoding"]["levels"] != levels
            && stricter["loss"]["lm"].as_f64() > report["loss"]["lm"].as_f64()
    );
    bed.edit("policy.toml", "\"800/3\"", asked);
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).fails_with(1, "variance-diversity");
    // All six together have 1175/3: mean 45, deviations 25, 5, 15, 5, 15, 35.
    let all = earning(salaries, "\"1175/3\"").anonymize(&["--json"]).ok().json();
    assert_eq!((&all["classes"], &all["privacy"][1]["satisfied"]), (&json!(1), &json!(true)));
    earning(salaries, "391.66667").anonymize(&[]).fails_with(1, "cannot be met");
    // Whoever's salary is missing counts for k, not for the variance.
    let missing = ["20", "", "30", "40", "60", "80"];
    assert_eq!(
        earning(missing, "400").anonymize(&["--json"]).ok().json()["privacy"][1]["achieved"],
        json!(400)
    );
    // One value that is no number must not take the attribute out of protection.
    earning(["20", "n/a", "30", "40", "60", "80"], "1")
        .anonymize(&[])
        .fails_with(2, "`salary`")
        .says("`missing`");
}

/// The table's rows in another order, the header first.
fn shuffled(text: &str, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut lines: Vec<&str> = text.lines().collect();
    for at in (2..lines.len()).rev() {
        lines.swap(at, 1 + random.below(at as u64) as usize);
    }
    lines.join("\n") + "\n"
}

#[test]
fn all_that_is_written_is_private() {
    let bed = Bed::people();
    for ending in ["csv", "parquet", "arrow"] {
        let out = format!("out.{ending}");
        let arguments = [
            "anonymize",
            "table.csv",
            "--policy",
            "policy.toml",
            "-o",
            &out,
            "--save-recoding",
            "r.json",
        ];
        let outcome = bed.run(&arguments).ok();
        let (private, report) = (format!("{out}.private.json"), format!("{out}.report.json"));
        assert_eq!(outcome.touched, [out.as_str(), &private, &report, "r.json"]);
        for name in outcome.touched {
            assert_eq!(bed.mode(&name), 0o600, "{name}");
        }
    }
    // Whatever was there before, and however open it was.
    bed.file("out.csv", "old");
    std::fs::set_permissions(
        bed.path("out.csv"),
        std::os::unix::fs::PermissionsExt::from_mode(0o666),
    )
    .unwrap();
    bed.anonymize(&[]).ok();
    assert_eq!(bed.mode("out.csv"), 0o600);
}

#[test]
fn the_report_is_beside_the_release_and_on_standard_output() {
    let bed = census(500);
    let outcome = bed.anonymize(&["--json"]).ok();
    assert_eq!(outcome.stdout.lines().count(), 1);
    let beside: Value = serde_json::from_str(&bed.read("out.csv.report.json")).unwrap();
    let private: Value = serde_json::from_str(&bed.read("out.csv.private.json")).unwrap();
    let mut both = outcome.json();
    assert!(both.as_object_mut().unwrap().remove("alternatives").is_some());
    let bound = both["loss"].as_object_mut().unwrap().remove("lm-bound").unwrap();
    assert!(bound.as_f64().unwrap() <= both["loss"]["lm"].as_f64().unwrap());
    assert_eq!(private["loss"]["lm-bound"], bound);
    assert_eq!(both.as_object_mut().unwrap().remove("private"), Some(private));
    assert_eq!(timeless(both), timeless(beside));
    let outcome = bed.anonymize(&[]).ok();
    assert!(
        outcome.stdout.contains("out.csv.report.json") && !outcome.stdout.starts_with('{'),
        "{outcome:#?}"
    );
}

#[test]
fn the_report_has_the_keys_of_the_contract() {
    let bed = census(2000);
    let report = bed.anonymize(&["--json", "--algorithm", "incognito"]).ok().json();
    let keys: Vec<&String> = report.as_object().unwrap().keys().collect();
    let expected = [
        "algorithm",
        "rows",
        "released",
        "suppressed",
        "classes",
        "smallest-class",
        "average-class",
        "privacy",
        "loss",
        "recoding",
        "search",
        "io",
        "phases",
        "private",
    ];
    assert_eq!(keys, expected);
    let by_default = census(2000).anonymize(&["--json"]).ok().json();
    assert_eq!(by_default["algorithm"], json!("local"));
    let lm = |report: &Value| report["loss"]["lm"].as_f64().unwrap();
    let others = by_default["alternatives"].as_array().unwrap();
    let kinds: Vec<&Value> = others.iter().map(|other| &other["recoding"]).collect();
    assert_eq!(kinds, [&json!("levels"), &json!("regions")]);
    assert_eq!(lm(&others[0]), lm(&report));
    assert!(others.iter().all(|other| lm(other) > lm(&by_default)), "{others:?}");
    assert_eq!((&report["algorithm"], &report["rows"]), (&json!("incognito"), &json!(2000)));
    let whole = |pointer: &str| {
        report.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer}"))
    };
    let real = |pointer: &str| {
        report.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}"))
    };
    assert_eq!(whole("/released") + whole("/suppressed"), 2000);
    assert!(whole("/suppressed") <= 100 && whole("/smallest-class") >= 5);
    assert!(
        (real("/average-class") - whole("/released") as f64 / whole("/classes") as f64).abs()
            < 1e-9
    );
    let privacy = report["privacy"].as_array().unwrap();
    assert_eq!(privacy.len(), 2);
    assert_eq!(privacy[0]["requirement"], "k-anonymity");
    assert_eq!(privacy[0]["achieved"], report["smallest-class"]);
    assert_eq!(
        (&privacy[1]["requirement"], &privacy[1]["kind"]),
        (&json!("l-diversity"), &json!("distinct"))
    );
    assert_eq!(
        (&privacy[1]["sensitive"], &privacy[1]["required"]),
        (&json!("occupation"), &json!(3))
    );
    assert!(
        privacy.iter().all(|one| one["satisfied"] == json!(true) && one["achieved"].is_number())
    );
    for pointer in ["/loss/lm", "/loss/cm"] {
        assert!((0.0..=1.0).contains(&real(pointer)), "{pointer}");
    }
    assert!(whole("/loss/dm") >= 2000);
    assert_eq!(report["recoding"]["model"], "full-domain");
    let names =
        ["sex", "age", "race", "marital-status", "education", "birthplace", "workclass", "zip"];
    let levels = report["recoding"]["levels"].as_object().unwrap();
    assert_eq!(levels.keys().collect::<Vec<_>>(), names);
    assert!(levels.values().all(Value::is_u64));
    assert!(whole("/search/visited") >= 1 && whole("/search/visited") <= whole("/search/space"));
    assert_eq!((&report["search"]["optimal"], whole("/search/data-scans")), (&json!(true), 1));
    assert_eq!(real("/search/cost"), real("/loss/lm"));
    assert!(real("/search/seconds") >= 0.0);
    for key in ["bytes-read", "bytes-written", "repartitions", "pruned-nodes"] {
        whole(&format!("/io/{key}"));
    }
    assert_eq!(whole("/io/bytes-written"), bed.bytes("out.csv").len() as u64);
    let phases = report["phases"].as_array().unwrap();
    assert!(
        phases.len() > 2
            && phases.iter().all(|phase| phase["name"].is_string() && phase["seconds"].is_f64())
    );
}

/// LM, DM and class sizes of the six people, by hand: every age costs 9 of 100, three cities 1 of
/// 2, three nothing.
#[test]
fn the_figures_of_the_six_people() {
    let report = Bed::people().anonymize(&["--json"]).ok().json();
    assert_eq!(report["recoding"]["levels"], json!({"age": 1, "city": 1}));
    assert_eq!(
        (&report["classes"], &report["smallest-class"], &report["average-class"]),
        (&json!(2), &json!(3), &json!(3.0))
    );
    let lm = (6.0 * 9.0 / 100.0 + 3.0 * 1.0 / 2.0) / 12.0;
    assert!((report["loss"]["lm"].as_f64().unwrap() - lm).abs() < 1e-12, "{report}");
    assert_eq!(report["loss"]["dm"], json!(18));
}

#[test]
fn a_requirement_that_cannot_be_met_releases_nothing() {
    let bed = Bed::people();
    let outcome = bed.anonymize(&["-k", "7", "--json"]).fails_with(1, "cannot be met");
    assert_eq!(outcome.stdout.lines().count(), 1);
    let report = outcome.json();
    assert_eq!((&report["rows"], &report["released"]), (&json!(6), &json!(0)));
    let first = &report["privacy"][0];
    assert_eq!((&first["requirement"], &first["required"]), (&json!("k-anonymity"), &json!(7)));
    assert_eq!((&first["achieved"], &first["satisfied"]), (&json!(6), &json!(false)));
    // Without --json: a line for people, and what would help.
    let outcome = bed.anonymize(&["-k", "7"]).fails_with(1, "cannot be met").says("6");
    assert_eq!(
        outcome.stdout,
        "This change makes a release possible:\n  privacy.k = 6 (now 7): LM 1.0000\n"
    );
}

#[test]
fn what_fell_short_is_named_for_each_requirement() {
    let bed = Bed::people();
    bed.edit(
        "policy.toml",
        "k = 2",
        "k = 2\nl-diversity = { kind = \"distinct\", l = 4 }\nt-closeness = 0",
    );
    let report = bed.anonymize(&["--json"]).fails_with(1, "cannot be met").json();
    let privacy = report["privacy"].as_array().unwrap();
    let satisfied: Vec<&Value> = privacy.iter().map(|one| &one["satisfied"]).collect();
    assert_eq!(satisfied, [&json!(true), &json!(false), &json!(true)]);
    assert_eq!((&privacy[1]["required"], &privacy[1]["achieved"]), (&json!(4), &json!(3)));
    assert_eq!(privacy[2]["achieved"], json!(0));
}

#[test]
fn a_failed_run_leaves_the_last_release_alone() {
    let bed = Bed::people();
    bed.anonymize(&[]).ok();
    let before = bed.bytes("out.csv");
    bed.anonymize(&["-k", "7"]).fails_with(1, "cannot be met");
    assert_eq!(bed.bytes("out.csv"), before);
}

#[test]
fn a_huge_k_is_refused_calmly() {
    Bed::people().anonymize(&["-k", "18446744073709551615"]).fails_with(1, "cannot be met");
    Bed::people()
        .edit("policy.toml", "k = 2", "k = 18446744073709551615")
        .anonymize(&[])
        .fails_with(1, "cannot be met");
}

#[test]
fn suppression_leaves_out_whole_classes_up_to_the_limit() {
    let bed = Bed::people();
    bed.edit("table.csv", "Fay,57,Thun,flu", "Fay,97,Bern,flu");
    let report =
        bed.anonymize(&["--suppression", "1/6", "--json", "--algorithm", "incognito"]).ok().json();
    assert_eq!((&report["released"], &report["suppressed"]), (&json!(5), &json!(1)));
    assert!(!bed.read("out.csv").contains("90"), "{}", bed.read("out.csv"));
    let report =
        bed.anonymize(&["--suppression", "0.16", "--json", "--algorithm", "incognito"]).ok().json();
    assert_eq!(report["suppressed"], json!(0));
}

/// Among releases of one cost the finer one says more.
#[test]
fn a_tie_goes_to_the_finer_release() {
    let bed = Bed::people();
    bed.edit("table.csv", "Biel", "Bern")
        .file("table.csv", bed.read("table.csv").replace("Thun", "Bern"));
    bed.edit("policy.toml", "hierarchy = \"city.csv\"", "");
    for strategy in ["best-first", "top-down", "bottom-up"] {
        let report = bed.anonymize(&["--json", "--strategy", strategy]).ok().json();
        assert_eq!(
            report["recoding"]["levels"]["city"],
            json!(0),
            "{strategy}: everybody lives in Bern"
        );
    }
}

#[test]
fn strategies_and_losses_agree_on_the_cost() {
    let bed = census(400);
    for loss in ["lm", "dm", "cm"] {
        let costs = ["best-first", "top-down", "bottom-up"].map(|strategy| {
            let report =
                bed.anonymize(&["--json", "--loss", loss, "--strategy", strategy]).ok().json();
            report["search"]["cost"].as_f64().unwrap()
        });
        assert!(costs.iter().all(|cost| *cost == costs[0]), "{loss}: {costs:?}");
    }
}

#[test]
fn the_order_of_the_input_leaves_no_trace() {
    for ending in ["csv", "parquet", "arrow"] {
        let bed = census(1500);
        // Ids tell rows apart in the input and are not released.
        let table = bed.read("table.csv");
        let out = format!("out.{ending}");
        let run = |text: String| {
            bed.file("table.csv", text)
                .run(&["anonymize", "table.csv", "--policy", "policy.toml", "-o", &out])
                .ok();
            bed.bytes(&out)
        };
        let first = run(table.clone());
        for seed in 0..3 {
            assert!(run(shuffled(&table, seed)) == first, "{ending}, shuffle {seed}");
        }
        assert!(
            run(shuffled(&table, 7) + &table[table.find('\n').unwrap() + 1..]) != first,
            "more rows, another release"
        );
    }
}

#[test]
fn the_order_of_small_tables_with_ties_leaves_no_trace() {
    // Few distinct values: every column ties somewhere, and so do many recodings.
    let mut random = Random::new(8);
    for _ in 0..15 {
        let bed = Bed::people();
        let mut text = String::from("name,age,city,ill\n");
        for row in 0..random.between(6, 40) {
            let city = ["Bern", "Biel", "Thun", ""][random.below(4) as usize];
            let age = ["30", "030", "40", "", "40.0", "50"][random.below(6) as usize];
            let ill = ["flu", "gout", "", "FLU"][random.below(4) as usize];
            text += &format!("{row},{age},{city},{ill}\n");
        }
        bed.edit("policy.toml", "\"integer\"", "\"real\"");
        let run = |text: String| {
            bed.file("table.csv", text).anonymize(&["--suppression", "0.2"]);
            bed.exists("out.csv").then(|| bed.read("out.csv"))
        };
        let first = run(text.clone());
        for seed in 0..4 {
            assert_eq!(run(shuffled(&text, seed)), first, "{text}");
        }
    }
}

#[test]
fn keep_order_keeps_it() {
    let bed = Bed::people();
    bed.anonymize(&["--keep-order"]).ok();
    let ills = |name: &str| {
        bed.records(name, ',')[1..]
            .iter()
            .map(|row| row.last().unwrap().clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ills("out.csv"), ills("table.csv"));
    bed.anonymize(&[]).ok();
    assert_ne!(ills("out.csv"), ills("table.csv"));
}

#[test]
fn the_same_bytes_for_any_number_of_threads() {
    let bed = census(40_000);
    let run = |threads: &str| {
        let report = bed
            .anonymize(&["--threads", threads, "--json", "--save-recoding", "r.json"])
            .ok()
            .json();
        (bed.bytes("out.csv"), bed.bytes("r.json"), timeless(report))
    };
    let first = run("1");
    for threads in ["2", "5"] {
        assert!(run(threads) == first, "{threads} threads");
    }
}

#[test]
fn a_seed_changes_nothing_in_a_full_domain_release() {
    let bed = Bed::people();
    bed.anonymize(&["--seed", "1"]).ok();
    let first = bed.bytes("out.csv");
    bed.anonymize(&["--seed", "2"]).ok();
    assert_eq!(bed.bytes("out.csv"), first);
}

#[test]
fn levels_fix_a_recoding_without_a_search() {
    let bed = Bed::people();
    let report = bed.anonymize(&["--levels", "city=2,age=1", "--json"]).ok().json();
    assert_eq!(report["recoding"]["levels"], json!({"age": 1, "city": 2}));
    assert_eq!(report.get("search"), None);
    assert!(bed.records("out.csv", ',')[1..].iter().all(|row| row[1] == "CH"));
    // Rows that fail may be suppressed as in a search.
    let outcome = bed.anonymize(&["--levels", "age=0,city=0", "--json"]);
    assert_eq!(outcome.status, 1, "{outcome:#?}");
    assert_eq!(outcome.touched, Vec::<String>::new());
    let report = outcome.complains().json();
    assert_eq!((&report["released"], &report["smallest-class"]), (&json!(0), &json!(1)));
    assert_eq!(report["privacy"][0]["satisfied"], json!(false));
}

#[test]
fn a_saved_recoding_gives_the_same_release_again() {
    let bed = census(3000);
    bed.anonymize(&["--save-recoding", "r.json", "--algorithm", "incognito"]).ok();
    let first = bed.bytes("out.csv");
    let apply = |input: &str, out: &str| {
        bed.run(&["apply", "r.json", input, "--policy", "policy.toml", "-o", out, "--json"])
    };
    let report = apply("table.csv", "again.csv").ok().json();
    assert_eq!(bed.bytes("again.csv"), first);
    assert_eq!(bed.mode("again.csv"), 0o600);
    let beside: Value = serde_json::from_str(&bed.read("again.csv.report.json")).unwrap();
    let mut public = report;
    assert!(public.as_object_mut().unwrap().remove("private").is_some());
    assert_eq!(timeless(public), timeless(beside));
    // Other people of the same kind: the same levels, another release that holds.
    bed.run(&[
        "generate",
        "census",
        "--rows",
        "3000",
        "--seed",
        "4",
        "-o",
        "more.csv",
        "--policy",
        "more.toml",
    ])
    .ok();
    let outcome = apply("more.csv", "more-out.csv");
    if outcome.status == 0 {
        bed.run(&["verify", "more-out.csv", "--policy", "policy.toml"]).ok();
    } else {
        outcome.fails_with(1, "cannot be met");
    }
}

#[test]
fn an_applied_recoding_is_held_to_the_policy() {
    let bed = Bed::people();
    bed.anonymize(&["--save-recoding", "r.json"]).ok();
    // Fay moved and is alone now.
    bed.file("more.csv", PEOPLE.replace("Fay,57,Thun,flu", "Fay,57,Bern,flu"));
    let apply = |more: &[&str]| {
        bed.run(
            &[
                &["apply", "r.json", "more.csv", "--policy", "policy.toml", "-o", "more-out.csv"],
                more,
            ]
            .concat(),
        )
    };
    let report = apply(&["--json"]).fails_with(1, "cannot be met").json();
    assert_eq!((&report["released"], &report["smallest-class"]), (&json!(0), &json!(1)));
    let report = apply(&["--suppression", "1/6", "--json"]).ok().json();
    assert_eq!(report["suppressed"], json!(1));
    apply(&["-k", "1"]).ok();
}

#[test]
fn an_applied_recoding_must_fit_the_policy() {
    let bed = Bed::people();
    bed.anonymize(&["--save-recoding", "r.json"]).ok();
    let apply =
        || bed.run(&["apply", "r.json", "table.csv", "--policy", "other.toml", "-o", "other.csv"]);
    let policy = bed.read("policy.toml");
    bed.file("other.toml", policy.replace("\"sensitive\"", "\"quasi-identifier\""));
    apply().fails_with(2, "r.json").says("`ill`");
    bed.file(
        "other.toml",
        policy.replace("\"quasi-identifier\"\nhierarchy = \"city.csv\"", "\"insensitive\""),
    );
    apply().fails_with(2, "r.json");
    // The root stays the root where a tree has become lower.
    bed.anonymize(&["--levels", "age=3,city=0", "--save-recoding", "r.json", "-k", "1"]).ok();
    bed.file("other.toml", policy.replace("[10, 20]", "[10]").replace("k = 2", "k = 1"));
    apply().ok();
    assert!(bed.records("other.csv", ',')[1..].iter().all(|row| row[0] == "*"));
}

/// The columns are found by name: another order of columns is the same table.
#[test]
fn an_applied_recoding_finds_columns_by_name() {
    let bed = Bed::people();
    bed.anonymize(&["--save-recoding", "r.json"]).ok();
    let turned: Vec<Vec<String>> = bed
        .records("table.csv", ',')
        .into_iter()
        .map(|row| row.into_iter().rev().collect())
        .collect();
    bed.file("turned.csv", crate::bed::delimited(&turned, ','));
    bed.run(&["apply", "r.json", "turned.csv", "--policy", "policy.toml", "-o", "turned-out.csv"])
        .ok();
    let back: Vec<Vec<String>> = bed
        .records("turned-out.csv", ',')
        .into_iter()
        .map(|row| row.into_iter().rev().collect())
        .collect();
    assert_eq!(sorted(back), sorted(bed.records("out.csv", ',')));
}

#[test]
fn help_and_version_are_no_failure() {
    let bed = Bed::new();
    for arguments in [&["--help"] as &[&str], &["anonymize", "--help"], &["--version"]] {
        assert!(!bed.run(arguments).ok().stdout.is_empty());
    }
}

/// What is left of a sensitive column may look like another type; the release is judged as the
/// input was.
#[test]
fn a_release_is_judged_as_its_input_was() {
    let policy = |kind: &str, privacy: &str| {
        format!(
            "[attributes.q]\nrole = \"quasi-identifier\"\n[attributes.s]\nrole = \"sensitive\"\n{kind}\n[privacy]\n{privacy}\n\
             [search]\nsuppression = {{ limit = 0.2 }}\n"
        )
    };
    // Only missing values of a number are left.
    let bed = Bed::new();
    bed.file("policy.toml", policy("", "k = 2\nt-closeness = { t = 0.5, distance = \"ordered\" }"));
    bed.file("table.csv", format!("q,s\n{}2,5\n", "1,\n".repeat(9)));
    let outcome = bed.anonymize(&["--json", "--levels", "q=0"]).ok();
    assert_eq!(outcome.json()["privacy"][1]["kind"], "ordered");
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
    // Text that looks like numbers once the one that does not is gone: 1 and 01 are one value from
    // the beginning, unless the policy says that this is text.
    let bed = Bed::new();
    bed.file("policy.toml", policy("", "l-diversity = { kind = \"distinct\", l = 2 }"));
    bed.file("table.csv", format!("q,s\n{}1,1\n2,x\n", "1,1\n1,01\n".repeat(4)));
    assert_eq!(bed.anonymize(&["--levels", "q=0"]).status, 1);
    bed.file(
        "policy.toml",
        policy("type = \"text\"", "l-diversity = { kind = \"distinct\", l = 2 }"),
    );
    let outcome = bed.anonymize(&["--json", "--levels", "q=0"]).ok();
    assert_eq!(outcome.json()["privacy"][0]["achieved"], 2);
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
}

/// The root of a column without a hierarchy gets another name if a value is called like it.
#[test]
fn a_star_may_be_a_value() {
    for algorithm in ["incognito", "mondrian", "local", "l-plus-optimize", "rothko-t"] {
        let bed = Bed::new();
        bed.file("table.csv", "a\n*\n*\nany\nany\nq\n");
        bed.file("policy.toml", "[attributes.a]\nrole = \"quasi-identifier\"\n[privacy]\nk = 5\n");
        bed.anonymize(&["--algorithm", algorithm]).ok();
        assert_eq!(bed.read("out.csv"), "a\n".to_string() + &"any value\n".repeat(5));
        bed.run(&["verify", "out.csv", "-p", "policy.toml"]).ok();
        // The set of all values has no other name.
        bed.edit("policy.toml", "role", "sets = true\nrole");
        bed.run(&["anonymize", "table.csv", "-p", "policy.toml", "-o", "sets.csv"])
            .fails_with(2, "`*` is also a generalized label");
    }
}

/// Numbers of any size are released in ranges that are read again.
#[test]
fn large_reals_without_a_hierarchy_are_released() {
    let mut random = Random::new(5);
    for exponent in [15, 16, 18, 30, 300] {
        let bed = Bed::new();
        let rows: String = (0..60)
            .map(|_| format!("{}.{}e{exponent}\n", random.below(9), random.below(1000)))
            .collect();
        bed.file("table.csv", format!("a\n-{}", rows.replace("\n3", "\n-3")));
        let policy =
            "[attributes.a]\nrole = \"quasi-identifier\"\ntype = \"real\"\n[privacy]\nk = 5\n";
        bed.file("policy.toml", policy);
        for algorithm in ["mondrian", "local", "rothko-t"] {
            bed.anonymize(&["--algorithm", algorithm]).ok();
            bed.run(&["verify", "out.csv", "-p", "policy.toml"]).ok();
            assert!(bed.read("out.csv").contains(", "), "{}", bed.read("out.csv"));
        }
    }
}
