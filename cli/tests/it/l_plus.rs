//! The best cut from policy to release: what is written meets its caps and costs what the report
//! says, counted here again from the files alone.

use crate::bed::{Bed, Outcome};
use std::collections::BTreeMap;

const ILLS: [&str; 4] = ["flu", "gout", "asthma", "HIV"];

/// A town of 90 people, the same every time; ills depend on ages, so that some classes have one ill
/// only.
pub fn town() -> Bed {
    let bed = Bed::new();
    let mut text = String::from("age,city,ill,vote\n");
    let mut state = 7u32;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    for _ in 0..90 {
        let age = 20 + next(40);
        let city = ["Bern", "Biel", "Thun", "Spiez"][next(4) as usize];
        let ill = if age < 30 { ILLS[next(2) as usize] } else { ILLS[next(4) as usize] };
        text += &format!("{age},{city},{ill},{}\n", if next(3) == 0 { "yes" } else { "no" });
    }
    bed.file("table.csv", text);
    bed.file("city.csv", "Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\nSpiez;lake;CH\n");
    bed.file(
        "policy.toml",
        policy("thresholds = { default = \"1/2\", HIV = \"1/3\" }", "violating-values"),
    );
    bed
}

pub fn policy(privacy: &str, scheme: &str) -> String {
    format!(
        "[attributes.age]\nrole = \"quasi-identifier\"\nhierarchy = {{ intervals = [5, 10, 20], from = 20, to = 59 }}\n\
         [attributes.city]\nrole = \"quasi-identifier\"\nhierarchy = \"city.csv\"\n\
         [attributes.ill]\nrole = \"sensitive\"\n[attributes.vote]\nrole = \"target\"\n\
         [privacy]\n{privacy}\n[search]\nalgorithm = \"l-plus-optimize\"\nsuppression = {{ scheme = \"{scheme}\" }}\n"
    )
}

fn cap(ill: &str) -> (usize, usize) {
    if ill == "HIV" { (1, 3) } else { (1, 2) }
}

/// (leaves - 1) / (leaves of the domain - 1), by the label alone.
fn lm(age: &str, city: &str) -> f64 {
    let ages = match (age, age.split_once('-')) {
        ("*", _) => 40.0,
        (_, Some((from, to))) => to.parse::<f64>().unwrap() - from.parse::<f64>().unwrap() + 1.0,
        _ => 1.0,
    };
    let cities = match city {
        "CH" => 4.0,
        "plain" | "lake" => 2.0,
        _ => 1.0,
    };
    (ages - 1.0) / 39.0 + (cities - 1.0) / 3.0
}

/// The cost in the paper's unit, from the files; every class meets its caps or fails here.
fn cost(bed: &Bed, loss: &str, scheme: &str) -> f64 {
    let rows = bed.records("out.csv", ',');
    let all = bed.records("table.csv", ',').len() - 1;
    let mut classes: BTreeMap<(String, String), Vec<&Vec<String>>> = BTreeMap::new();
    for row in &rows[1..] {
        classes.entry((row[0].clone(), row[1].clone())).or_default().push(row);
    }
    let mut cost = 0.0;
    for ((age, city), rows) in &classes {
        for ill in ILLS {
            let (count, (above, below)) =
                (rows.iter().filter(|row| row[2] == ill).count(), cap(ill));
            assert!(
                count * below <= rows.len() * above,
                "{scheme}: {ill} is {count} of {} in {age}, {city}",
                rows.len()
            );
        }
        let hidden = rows.iter().filter(|row| row[2] == "*").count();
        assert!(hidden == 0 || scheme.ends_with("values"), "{scheme}");
        assert!(
            scheme != "all-values" || hidden == 0 || hidden == rows.len(),
            "all values of a class go, or none"
        );
        let minority = ["yes", "no"].map(|vote| rows.iter().filter(|row| row[3] == vote).count());
        cost += match loss {
            "lm" => lm(age, city) * rows.len() as f64 + 2.0 * hidden as f64,
            "dm" => (rows.len() * rows.len()) as f64,
            _ => *minority.iter().min().unwrap() as f64,
        };
    }
    let lost = (all - (rows.len() - 1)) as f64;
    cost + lost
        * if loss == "lm" {
            4.0
        } else if loss == "dm" {
            all as f64
        } else {
            1.0
        }
}

#[test]
fn every_scheme_and_loss_is_released_as_it_was_counted() {
    let bed = town();
    let mut costs = BTreeMap::new();
    for loss in ["lm", "dm", "cm"] {
        for scheme in ["none", "all-records", "violating-records", "all-values", "violating-values"]
        {
            let arguments = ["--loss", loss, "--scheme", scheme, "--seed", "5", "--json"];
            if loss != "lm" && scheme.ends_with("values") {
                bed.anonymize(&arguments)
                    .fails_with(2, "only the loss `lm` supports the suppression of values");
                continue;
            }
            let report = bed.anonymize(&arguments).ok().json();
            let search = &report["search"];
            assert_eq!(
                (search["optimal"].as_bool(), search.get("lower-bound")),
                (Some(true), None),
                "{report}"
            );
            // 8 intervals of 5, two each, four of 10, two of 20: ((2^2 + 1)^2 + 1)^2 + 1; cities
            // 2^2 + 1.
            assert_eq!(search["space"], 677 * 5);
            let (told, counted) = (search["cost"].as_f64().unwrap(), cost(&bed, loss, scheme));
            assert!(
                (told - counted).abs() < 1e-6,
                "{loss} {scheme}: {told} told, {counted} counted"
            );
            assert_eq!(report["recoding"]["model"], "cuts");
            let written = bed.records("out.csv", ',');
            assert_eq!(report["suppressed"], 90 - (written.len() - 1));
            let hidden = written.iter().filter(|row| row[2] == "*").count();
            assert_eq!(report["suppressed-values"].as_u64().unwrap_or(0), hidden as u64);
            costs.insert((loss, scheme), told);
            bed.run(&["verify", "out.csv", "--policy", "policy.toml", "--scheme", scheme]).ok();
        }
    }
    // Whatever may be suppressed need not be: the optimum is never dearer than without.
    for ((loss, scheme), cost) in &costs {
        assert!(*cost <= costs[&(*loss, "none")], "{loss} {scheme}");
    }
    assert!(costs[&("lm", "violating-records")] < costs[&("lm", "none")], "{costs:?}");
}

#[test]
fn a_suppressed_value_put_back_is_found() {
    let bed = town();
    bed.anonymize(&[]).ok();
    let text = bed.read("out.csv");
    assert!(text.contains(",*,"), "some values are suppressed");
    // Whatever breaks a cap has more than a third of its class, which is more than HIV may have.
    bed.file("out.csv", text.replace(",*,", ",HIV,"));
    let outcome = bed.run(&["verify", "out.csv", "--policy", "policy.toml"]);
    assert_eq!(outcome.status, 1, "{outcome:?}");
}

#[test]
fn the_token_is_no_value() {
    let bed = town();
    bed.edit(
        "policy.toml",
        "scheme = \"violating-values\"",
        "scheme = \"violating-values\", token = \"gout\"",
    );
    bed.anonymize(&[]).fails_with(2, "a token that is not a sensitive value");
    bed.edit("policy.toml", "token = \"gout\"", "token = \"withheld\"");
    bed.anonymize(&[]).ok();
    assert!(bed.read("out.csv").contains(",withheld,"));
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
    for token in ["", "12"] {
        bed.file("policy.toml", policy("k = 2", &format!("all-values\", token = \"{token}")));
        bed.anonymize(&[]).fails_with(2, "search.suppression.token");
    }
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let bed = town();
    for (privacy, scheme, part) in [
        ("thresholds = { default = \"1/2\", HVI = \"1/3\" }", "none", "did you mean `HIV`?"),
        ("thresholds = { default = \"3/2\" }", "none", "a fraction from 0 to 1"),
        ("thresholds = {}", "none", "a cap for a value"),
        ("k = 2\nt-closeness = 0.2", "none", "t-closeness"),
        ("l-diversity = { kind = \"entropy\", l = 2 }", "none", "not entropy l-diversity"),
        ("k = 2", "most-records", "one of records, none, all-records"),
        ("k = 2", "none\", limit = \"0.1", "cannot be used with the scheme `none`"),
    ] {
        bed.file("policy.toml", policy(privacy, scheme));
        bed.anonymize(&[]).fails_with(2, part);
    }
    bed.file("policy.toml", policy("k = 2", "all-records"));
    bed.anonymize(&["--algorithm", "incognito"])
        .fails_with(2, "requires the algorithm l-plus-optimize or annealing");
    bed.anonymize(&["--algorithm", "incognito", "--scheme", "none", "--top", "3"])
        .fails_with(2, "--top");
    bed.anonymize(&["--time-limit", "soon"]).fails_with(2, "10s, 500ms or 2m");
    // Nothing that can be released: exit status 1, and a report of how far it falls short.
    bed.file("policy.toml", policy("k = 91", "none"));
    let outcome = bed.anonymize(&["--json"]);
    assert_eq!((outcome.status, outcome.touched.len()), (1, 0), "{outcome:?}");
    assert!(outcome.stdout.contains("\"released\":0"), "{outcome:?}");
    bed.file("policy.toml", policy("k = 91", "all-records"));
    bed.anonymize(&[]).fails_with(1, "all 90 rows would be suppressed");
}

/// The policy's limit is kept whatever the scheme, also if a flag chooses the scheme.
#[test]
fn a_limit_on_suppression_is_kept_by_every_scheme() {
    let bed = town();
    // Two people whom only the whole country would protect.
    bed.file("table.csv", bed.read("table.csv") + "25,Chur,flu,no\n26,Chur,flu,no\n");
    bed.file("city.csv", bed.read("city.csv") + "Chur;alps;CH\n");
    let thresholds = "thresholds = { default = \"1/2\", HIV = \"1/4\" }";
    for scheme in ["all-records", "violating-records", "all-values", "violating-values"] {
        bed.file("policy.toml", policy(thresholds, scheme));
        let run = |more: &[&str]| bed.anonymize(&[more, &["--json", "--seed", "1"]].concat());
        let lost = |report: &serde_json::Value| {
            let values = report["suppressed-values"].as_u64().unwrap_or(0);
            report["suppressed"].as_u64().unwrap() + values
        };
        let free = run(&[]).ok().json();
        assert!(lost(&free) > 1, "{scheme} suppresses something: {free}");
        let most = lost(&free) - 1;
        let share = format!("{most}/92");
        for algorithm in ["l-plus-optimize", "annealing"] {
            let report = run(&["--suppression", &share, "--algorithm", algorithm]).ok().json();
            assert!(lost(&report) <= most, "{algorithm} {scheme}: {report}");
            let costs = [&report, &free].map(|one| one["search"]["cost"].as_f64().unwrap());
            assert!(costs[0] >= costs[1], "{algorithm} {scheme}: {costs:?}");
        }
        // The flag keeps the policy's limit.
        bed.file("policy.toml", policy(thresholds, &format!("all-records\", limit = \"{share}")));
        assert!(lost(&run(&["--scheme", scheme]).ok().json()) <= most, "{scheme}");
    }
    bed.file("policy.toml", policy("thresholds = { HIV = \"1/92\" }", "all-records"));
    bed.anonymize(&["--suppression", "1/92"])
        .fails_with(1, "no cut meets them with at most 1 of 92 rows suppressed");
    bed.anonymize(&["--scheme", "none", "--suppression", "5%"])
        .fails_with(2, "--suppression cannot be used with the scheme `none`");
}

#[test]
fn a_step_against_minimality_that_cannot_be_taken_is_refused() {
    let bed = town();
    bed.file("policy.toml", policy("k = 90", "none"));
    bed.anonymize(&[]).ok();
    bed.anonymize(&["--extra-generalization"]).fails_with(2, "--extra-generalization");
    bed.anonymize(&["--algorithm", "annealing", "--top", "3"]).fails_with(2, "--top");
}

/// Under DM the root costs as much as nothing at all.
#[test]
fn a_release_is_preferred_to_none_of_the_same_cost() {
    let bed = town();
    for scheme in ["all-records", "violating-records"] {
        bed.file("policy.toml", policy("k = 90", scheme));
        let report = bed.anonymize(&["--loss", "dm", "--json"]).ok().json();
        assert_eq!((&report["released"], &report["classes"]), (&90.into(), &1.into()));
        for seed in 0..6 {
            let seed = seed.to_string();
            bed.anonymize(&["--loss", "dm", "--top", "9", "--seed", &seed]).ok();
        }
    }
}

/// A monthly job does not fail because nobody has HIV this month; a typo is still an error.
#[test]
fn a_cap_of_a_known_value_may_be_absent() {
    let bed = town();
    bed.file("table.csv", bed.read("table.csv").replace("HIV", "flu"));
    let caps = "thresholds = { default = \"2/3\", HIV = \"1/3\"";
    for algorithm in ["l-plus-optimize", "incognito", "rothko-t", "s-instant"] {
        let more = ["--algorithm", algorithm, "--json"];
        bed.file("policy.toml", policy(&format!("{caps} }}"), "none"));
        bed.anonymize(&more).fails_with(2, "privacy.thresholds.HIV");
        bed.file("policy.toml", policy(&format!("{caps}, values-known = [\"HIV\"] }}"), "none"));
        let report = bed.anonymize(&more).ok().json();
        let note = "no row of the release has `HIV`, which has the cap 1/3";
        assert_eq!(report["notes"], serde_json::json!([note]), "{algorithm}: {report}");
        let summary = bed.anonymize(&more[..2]).ok();
        assert!(summary.stdout.contains(note), "{summary:?}");
        let verified = bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
        assert!(verified.stdout.contains(note), "{verified:?}");
        // Leaves of the hierarchy are known too.
        bed.file("policy.toml", policy(&format!("{caps} }}"), "none"));
        let leaves: Vec<String> = ILLS.iter().map(|ill| format!("[\"{ill}\", \"any\"]")).collect();
        let tree =
            format!("role = \"sensitive\"\nhierarchy = {{ tree = [{}] }}", leaves.join(", "));
        bed.edit("policy.toml", "role = \"sensitive\"", &tree);
        assert_eq!(bed.anonymize(&more).ok().json()["notes"], report["notes"], "{algorithm}");
        let typo = format!("{caps}, HVI = \"1/4\", values-known = [\"HIV\"] }}");
        bed.file("policy.toml", policy(&typo, "none"));
        bed.anonymize(&more).fails_with(2, "did you mean `HIV`?");
    }
    // A value that is there is not noted, and all of it suppressed looks as if it were absent.
    let bed = town();
    assert!(bed.anonymize(&["--json"]).ok().json().get("notes").is_none());
    bed.file("policy.toml", policy("thresholds = { HIV = 0 }", "violating-values"));
    let report = bed.anonymize(&["--json"]).ok().json();
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.starts_with("no row of the release has `HIV`"), "{report}");
}

#[test]
fn k_alone_is_k_optimize_over_hierarchies() {
    let bed = town();
    bed.file("policy.toml", policy("k = 7", "all-records"));
    let report = bed.anonymize(&["--loss", "dm", "--json"]).ok().json();
    assert!(report["smallest-class"].as_u64().unwrap() >= 7, "{report}");
    let full_domain = bed
        .anonymize(&["--loss", "dm", "--algorithm", "incognito", "--scheme", "none", "--json"])
        .ok();
    assert!(report["search"]["cost"].as_f64() <= full_domain.json()["search"]["cost"].as_f64());
    // The same k by frequencies of nothing: l-diversity of frequencies goes with cuts too.
    bed.file(
        "policy.toml",
        policy("k = 3\nl-diversity = { kind = \"frequency\", l = 2 }", "violating-records"),
    );
    bed.anonymize(&[]).ok();
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
}

#[test]
fn caps_by_frequency_are_those_of_the_input() {
    let bed = town();
    bed.file(
        "policy.toml",
        policy("thresholds = { from-frequency = \"1/3\" }", "violating-records"),
    );
    let report = bed.anonymize(&["--json"]).ok().json();
    assert!(report["suppressed"].as_u64().unwrap() > 0, "{report}");
    // 1/3 for what is rarer than 90 / 4, in proportion for the others, but in two digits.
    let table = bed.records("table.csv", ',');
    for ill in ILLS {
        let count = table.iter().filter(|row| row[2] == ill).count() as f64;
        let exact = (count / 22.5).max(1.0) / 3.0;
        let expected = ((100.0 * exact).floor() / 100.0).max(1.0 / 3.0);
        let told = report["thresholds"]["ill"][ill].as_str().unwrap();
        let (above, below) = told.split_once('/').unwrap();
        let told = above.parse::<f64>().unwrap() / below.parse::<f64>().unwrap();
        assert!((told - expected).abs() < 1e-12, "{ill}: {told} {expected}");
    }
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
    bed.run(&["verify", "out.csv", "--policy", "policy.toml", "--original", "table.csv"]).ok();
}

#[test]
fn an_early_end_still_releases() {
    let bed = town();
    let report = bed.anonymize(&["--time-limit", "0s", "--json"]).ok().json();
    let search = &report["search"];
    assert_eq!(search["optimal"], false, "{report}");
    assert!(search["lower-bound"].as_f64().unwrap() <= search["cost"].as_f64().unwrap());
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
    let optimum = bed.anonymize(&["--time-limit", "1h", "--json"]).ok().json();
    assert!(optimum["search"]["cost"].as_f64() <= search["cost"].as_f64());
    let annealed =
        bed.anonymize(&["--algorithm", "annealing", "--seed", "1", "--json"]).ok().json();
    assert_eq!(
        (&annealed["algorithm"], &annealed["search"]["optimal"]),
        (&"annealing".into(), &false.into())
    );
    assert!(annealed["search"]["cost"].as_f64() >= optimum["search"]["cost"].as_f64());
}

#[test]
fn draws_against_minimality_follow_the_seed() {
    let bed = town();
    let cost = |more: &[&str]| -> f64 {
        let report = bed.anonymize(&[more, &["--json"]].concat()).ok().json();
        bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
        report["search"]["cost"].as_f64().unwrap()
    };
    let best = cost(&[]);
    let drawn: Vec<f64> = ["1", "2", "3", "4", "5", "6"]
        .iter()
        .map(|seed| cost(&["--top", "5", "--seed", seed]))
        .collect();
    assert!(
        drawn.iter().all(|cost| *cost >= best) && drawn.iter().any(|cost| *cost > best),
        "{best} {drawn:?}"
    );
    assert_eq!(cost(&["--top", "5", "--seed", "3"]), drawn[2]);
    assert!(cost(&["--extra-generalization", "--seed", "1"]) > best);
}

#[test]
fn saved_cuts_are_applied_to_other_rows() {
    let bed = town();
    bed.anonymize(&["--save-recoding", "cuts.json"]).ok();
    let first = bed.bytes("out.csv");
    bed.run(&["apply", "cuts.json", "table.csv", "--policy", "policy.toml", "-o", "again.csv"])
        .ok();
    assert_eq!(bed.bytes("again.csv"), first);
    bed.edit("cuts.json", "\"city\"", "\"town\"");
    bed.run(&["apply", "cuts.json", "table.csv", "--policy", "policy.toml", "-o", "third.csv"])
        .fails_with(2, "no cut for the quasi-identifier");
}

/// Numbers stay numbers unless some are suppressed: a token is no number.
#[test]
fn a_numeric_sensitive_column_becomes_text() {
    let bed = town();
    let text = ILLS
        .iter()
        .enumerate()
        .fold(bed.read("table.csv"), |text, (code, ill)| text.replace(ill, &format!("{code}")));
    bed.file("table.csv", text);
    bed.file("policy.toml", policy("thresholds = { default = \"1/2\" }", "violating-values"));
    bed.edit("policy.toml", "role = \"sensitive\"", "role = \"sensitive\"\ntype = \"integer\"");
    bed.anonymize(&[]).ok();
    assert!(bed.read("out.csv").contains(",*,"));
    bed.run(&["anonymize", "table.csv", "--policy", "policy.toml", "-o", "out.parquet"]).ok();
    bed.run(&["verify", "out.parquet", "--policy", "policy.toml"]).ok();
    bed.run(&[
        "anonymize",
        "table.csv",
        "--policy",
        "policy.toml",
        "-o",
        "all.arrow",
        "--scheme",
        "all-values",
    ])
    .ok();
    bed.run(&["verify", "all.arrow", "--policy", "policy.toml", "--scheme", "all-values"]).ok();
}

/// The algorithm may be a flag of `anonymize`; `verify` need not know it.
#[test]
fn suppressed_values_are_verified_without_the_algorithm() {
    let bed = town();
    bed.file("policy.toml", policy("thresholds = { default = \"1/2\" }", "violating-values"));
    bed.edit("policy.toml", "algorithm = \"l-plus-optimize\"", "");
    bed.anonymize(&["--algorithm", "l-plus-optimize"]).ok();
    assert!(bed.read("out.csv").contains(",*,"));
    bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
}

#[test]
fn threads_and_runs_give_the_same_bytes() {
    let bed = town();
    let bytes = |more: &[&str]| {
        bed.anonymize(more).ok();
        bed.bytes("out.csv")
    };
    for scheme in ["violating-records", "violating-values"] {
        let one = bytes(&["--threads", "1", "--seed", "9", "--scheme", scheme]);
        assert_eq!(one, bytes(&["--threads", "4", "--seed", "9", "--scheme", scheme]));
    }
}

/// The first SIGINT during a search takes the best so far, verified; it does not end the command.
#[test]
fn an_interrupt_takes_the_best_so_far() {
    let bed = Bed::new();
    bed.run(&["generate", "census", "--rows", "20000", "--seed", "2", "-o", "census.csv"]).ok();
    let policy = bed.read("census.policy.toml");
    let from = policy.find("[privacy]").unwrap();
    let search = "[search]\nalgorithm = \"l-plus-optimize\"\nsuppression = { scheme = \"violating-records\" }\n";
    bed.file("census.policy.toml", format!("{}[privacy]\nk = 5\n{search}", &policy[..from]));
    let arguments =
        ["anonymize", "census.csv", "--policy", "census.policy.toml", "-o", "out.csv", "--json"];
    let interrupted = |after: u64| -> Outcome {
        let mut command = std::process::Command::new("timeout");
        // `timeout` sends the signal; the command's own status comes through.
        command.args(["--preserve-status", "-s", "INT", &format!("{}", after as f64 / 1e3)]);
        command.arg(env!("CARGO_BIN_EXE_scumble")).args(arguments).current_dir(bed.path(""));
        bed.finish(command)
    };
    let mut after = 100;
    let outcome = loop {
        let outcome = interrupted(after);
        // Too early: nothing heeds it while the table is read.
        if outcome.status != 130 {
            break outcome;
        }
        after += after / 2;
        assert!(after < 60_000, "the search is never reached");
    };
    let report = outcome.ok().json();
    if report["search"]["optimal"] == false {
        assert!(
            report["search"]["lower-bound"].as_f64().unwrap()
                <= report["search"]["cost"].as_f64().unwrap()
        );
    }
    bed.run(&["verify", "out.csv", "--policy", "census.policy.toml"]).ok();
}
