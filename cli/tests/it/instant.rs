//! Summaries and what is decided from them: one scan, no data afterwards, and nothing believed that
//! is damaged.

use crate::bed::{Bed, PEOPLE, PEOPLE_POLICY};
use serde_json::Value;

const KINDS: [&str; 3] = ["histogram", "bayes", "sample"];

fn summarize(bed: &Bed, kind: &str, more: &[&str]) -> Value {
    let output = format!("{kind}.json");
    let arguments = [
        "summarize",
        "table.csv",
        "--policy",
        "policy.toml",
        "-o",
        &output,
        "--kind",
        kind,
        "--json",
    ];
    let outcome = bed.run(&[&arguments, more].concat()).ok();
    assert_eq!(outcome.touched, [output.as_str()], "{outcome:?}");
    assert_eq!(bed.mode(&output), 0o600);
    outcome.json()
}

fn estimate(bed: &Bed, summary: &str, more: &[&str]) -> Value {
    let arguments = ["estimate", "--summary", summary, "--policy", "policy.toml", "--json"];
    let outcome = bed.run(&[&arguments, more].concat()).ok();
    assert!(outcome.touched.is_empty(), "{outcome:?}");
    outcome.json()
}

/// A census with a policy that asks for k alone.
fn census(rows: &str) -> Bed {
    let bed = Bed::new();
    bed.run(&[
        "generate",
        "census",
        "--rows",
        rows,
        "--seed",
        "5",
        "-o",
        "table.csv",
        "--policy",
        "policy.toml",
    ])
    .ok();
    bed.edit("policy.toml", "l-diversity = { kind = \"distinct\", l = 3 }", "");
    bed.edit("policy.toml", "limit = 0.05", "limit = 0");
    bed
}

#[test]
fn a_summary_is_read_once_and_names_nobody() {
    for kind in KINDS {
        let bed = Bed::people();
        let json = summarize(&bed, kind, &[]);
        assert_eq!(
            (&json["rows"], &json["summary"], &json["data-scans"]),
            (&6.into(), &kind.into(), &1.into())
        );
        let text = bed.read(&format!("{kind}.json"));
        let saved: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&saved["version"], &saved["rows"]), (&1.into(), &6.into()));
        assert!(["Ann", "Bob", "Eva", "Fay"].iter().all(|name| !text.contains(name)), "{text}");
        // The order of rows leaves no trace.
        let mut lines: Vec<&str> = PEOPLE.lines().collect();
        lines[1..].reverse();
        bed.file("table.csv", lines.join("\n") + "\n");
        summarize(&bed, kind, &[]);
        assert_eq!(bed.read(&format!("{kind}.json")), text, "{kind}");
    }
}

#[test]
fn estimates_need_no_data() {
    let bed = census("3000");
    for kind in KINDS {
        summarize(&bed, kind, &[]);
    }
    summarize(&bed, "bayes", &["--max-parents", "2"]);
    summarize(&bed, "bayes", &["--max-parents", "2", "--search", "annealed", "--seed", "4"]);
    let annealed = bed.read("bayes.json");
    summarize(&bed, "bayes", &["--max-parents", "2", "--search", "annealed", "--seed", "4"]);
    assert_eq!(bed.read("bayes.json"), annealed);
    summarize(&bed, "sample", &["--rows", "500", "--seed", "1"]);
    std::fs::remove_file(bed.path("table.csv")).unwrap();
    for kind in KINDS {
        let file = format!("{kind}.json");
        let json = estimate(&bed, &file, &["-k", "10"]);
        assert_eq!((&json["rows"], &json["summary"]), (&3000.into(), &kind.into()));
        assert!(json["visited"].as_u64() > Some(0) && json["seconds"].is_number());
        let candidates = json["candidates"].as_array().unwrap();
        let figure = |one: &Value, key: &str| one[key].as_f64().unwrap();
        assert!(!candidates.is_empty(), "{json}");
        assert!(candidates.iter().all(
            |one| figure(one, "probability") >= 0.8 && figure(one, "expected-outliers") < 50.0
        ));
        let costs: Vec<f64> =
            candidates.iter().map(|one| one["loss"]["lm"].as_f64().unwrap()).collect();
        assert!(costs.is_sorted(), "{costs:?}");
        // The cheapest by hand: the same figures, and nothing else.
        let levels: Vec<String> = candidates[0]["levels"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, level)| format!("{name}={level}"))
            .collect();
        let by_hand = estimate(&bed, &file, &["-k", "10", "--levels", &levels.join(",")]);
        let [only] = &by_hand["candidates"].as_array().unwrap()[..] else { panic!("{by_hand}") };
        assert_eq!(
            (&only["levels"], &only["loss"]),
            (&candidates[0]["levels"], &candidates[0]["loss"])
        );
        assert!((figure(only, "probability") - figure(&candidates[0], "probability")).abs() < 1e-9);
        // A larger k is harder to hold; another threshold, and every shortcut off, are understood.
        let cheapest = |json: &Value| json["candidates"][0]["loss"]["lm"].as_f64().unwrap_or(2.0);
        assert!(cheapest(&estimate(&bed, &file, &["-k", "100"])) >= costs[0]);
        let all = estimate(
            &bed,
            &file,
            &[
                "-k",
                "10",
                "--without",
                "hybrid,expo,SD_CUT,limit,max",
                "--by",
                "probability",
                "--threshold",
                "0.5",
            ],
        );
        assert!(cheapest(&all) <= costs[0] + 1e-9);
    }
}

#[test]
fn cuts_are_estimated_too() {
    let bed = census("2000");
    bed.edit("policy.toml", "[search]", "[search]\nspace = \"subtree\"");
    summarize(&bed, "histogram", &[]);
    let json = estimate(&bed, "histogram.json", &["-k", "50"]);
    assert!(json["candidates"][0]["cuts"]["age"].is_array(), "{json}");
    let report = bed.anonymize(&["--algorithm", "s-instant", "-k", "50", "--json"]).ok().json();
    assert_eq!(
        (&report["algorithm"], &report["recoding"]["model"]),
        (&"s-instant".into(), &"cuts".into())
    );
}

#[test]
fn bad_summaries_are_refused() {
    let bed = Bed::people();
    summarize(&bed, "bayes", &[]);
    let good = bed.read("bayes.json");
    let refused = |text: &str, part: &str| {
        bed.file("bad.json", text);
        bed.run(&["estimate", "--summary", "bad.json", "--policy", "policy.toml"])
            .fails_with(2, part);
        bed.anonymize(&["--algorithm", "s-instant", "--summary", "bad.json"]).fails_with(2, part);
    };
    refused(
        &good.replace("\"version\": 1", "\"version\": 2"),
        "unsupported summary version 2, expected 1",
    );
    refused(&good[..good.len() / 2], "invalid JSON");
    refused("", "invalid JSON");
    refused("[]", "invalid JSON");
    refused(&good.replace("\"rows\": 6", "\"rows\": 7"), "the summary is damaged");
    refused(
        &good.replace("\"city\"", "\"town\""),
        "`town` has the role quasi-identifier in the summary",
    );
    refused(
        &good.replace("\"sensitive\"", "\"secret\""),
        "the summary is damaged: invalid role or type of `ill`",
    );
    // Other hierarchies, and other columns, than the policy's.
    bed.file("bad.json", &good);
    bed.file("city.csv", "Bern;north;CH\nBiel;north;CH\nThun;lake;CH\n");
    bed.run(&["estimate", "--summary", "bad.json", "--policy", "policy.toml"])
        .fails_with(2, "the hierarchy of `city` differs from the policy");
    bed.file("city.csv", "Bern;plain;CH\nBiel;plain;CH\n");
    bed.run(&["estimate", "--summary", "bad.json", "--policy", "policy.toml"])
        .fails_with(2, "the hierarchy of `city` differs from the policy");
    bed.file("city.csv", crate::bed::CITIES);
    bed.file(
        "policy.toml",
        PEOPLE_POLICY.to_string() + "\n[attributes.zip]\nrole = \"quasi-identifier\"\n",
    );
    bed.run(&["estimate", "--summary", "bad.json", "--policy", "policy.toml"])
        .fails_with(2, "the summary has no column `zip`, which the policy names");
    bed.run(&["estimate", "--summary", "none.json", "--policy", "policy.toml"])
        .fails_with(2, "none.json");
}

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let bed = Bed::people();
    bed.anonymize(&["--summary-kind", "bayes"]).fails_with(2, "s-instant or m-instant");
    bed.anonymize(&["--threshold", "0.5"]).fails_with(2, "s-instant or m-instant");
    bed.anonymize(&["--algorithm", "s-instant", "--threshold", "1.5"])
        .fails_with(2, "a probability above 0 and at most 1");
    bed.anonymize(&["--algorithm", "s-instant", "--without", "speed"])
        .fails_with(2, "one of hybrid, expo, sd-cut, limit, max");
    bed.anonymize(&["--algorithm", "s-instant", "--loss", "cm"]).fails_with(2, "cm");
    let summarize = ["summarize", "table.csv", "--policy", "policy.toml", "-o", "s.json"];
    bed.run(&[&summarize[..], &["--rows", "3"]].concat()).fails_with(2, "--rows").says("`sample`");
    bed.run(&[&summarize[..], &["--max-parents", "2"]].concat())
        .fails_with(2, "--max-parents")
        .says("`bayes`");
    bed.run(&["summarize", "table.csv", "--policy", "policy.toml", "-o", "table.csv"])
        .fails_with(2, "table.csv");
}

#[test]
fn releases_by_belief_are_verified_and_reported() {
    let bed = census("4000");
    let optimum = bed.anonymize(&["--algorithm", "incognito", "-k", "20", "--json"]).ok().json();
    for kind in KINDS {
        for algorithm in ["s-instant", "m-instant"] {
            let report = bed
                .anonymize(&[
                    "--algorithm",
                    algorithm,
                    "-k",
                    "20",
                    "--summary-kind",
                    kind,
                    "--json",
                ])
                .ok()
                .json();
            assert_eq!(report["algorithm"], algorithm);
            let search = &report["search"];
            assert_eq!((&search["data-scans"], &search["summary"]), (&1.into(), &kind.into()));
            assert!(
                search["checks"].as_u64() >= Some(1) && search["probability"].as_f64() > Some(0.5),
                "{search}"
            );
            assert!(report["smallest-class"].as_u64() >= Some(20));
            bed.run(&["verify", "out.csv", "--policy", "policy.toml", "-k", "20"]).ok();
            if algorithm == "s-instant" {
                let lm = |report: &Value| report["loss"]["lm"].as_f64().unwrap();
                assert_eq!(search["optimal"], false);
                assert!(
                    lm(&report) >= lm(&optimum) - 1e-9 && lm(&report) <= lm(&optimum) + 0.1,
                    "{kind}: {report}"
                );
            }
        }
    }
    // The same summary from a file, twice and on one thread: the same bytes.
    summarize(&bed, "bayes", &[]);
    let run = |more: &[&str]| {
        bed.anonymize(
            &[&["--algorithm", "s-instant", "-k", "20", "--summary", "bayes.json"], more].concat(),
        )
        .ok();
        bed.bytes("out.csv")
    };
    assert_eq!(run(&[]), run(&["--threads", "1"]));
    // Suppression, by expectation.
    let report = bed
        .anonymize(&["--algorithm", "s-instant", "-k", "20", "--suppression", "5%", "--json"])
        .ok()
        .json();
    assert!(report["suppressed"].as_u64() <= Some(200));
    assert!(report["loss"]["lm"].as_f64() < optimum["loss"]["lm"].as_f64());
}

/// A summary of one table decides about another that lacks some of its values and has others.
#[test]
fn a_summary_may_be_of_other_rows() {
    let bed = census("3000");
    summarize(&bed, "bayes", &[]);
    bed.run(&[
        "generate",
        "census",
        "--rows",
        "1500",
        "--seed",
        "6",
        "-o",
        "other.csv",
        "--policy",
        "other.toml",
    ])
    .ok();
    for algorithm in ["s-instant", "m-instant"] {
        let arguments =
            ["anonymize", "other.csv", "--policy", "policy.toml", "-o", "out.csv", "-k", "15"];
        let more = ["--algorithm", algorithm, "--summary", "bayes.json", "--json"];
        let report = bed.run(&[&arguments[..], &more].concat()).ok().json();
        assert!(report["smallest-class"].as_u64() >= Some(15), "{report}");
    }
}

#[test]
fn what_cannot_be_met_is_told_with_status_1() {
    let bed = Bed::people();
    for algorithm in ["s-instant", "m-instant"] {
        let outcome = bed.anonymize(&["--algorithm", algorithm, "-k", "7", "--json"]);
        let report = outcome.json();
        outcome.fails_with(1, "");
        assert_eq!(
            (&report["released"], &report["privacy"][0]["required"]),
            (&0.into(), &7.into()),
            "{report}"
        );
    }
}

/// Counts of pairs of many values outgrow a small memory; a histogram of them does not, and a
/// sample takes what there is.
#[test]
fn a_network_that_does_not_fit_is_refused() {
    let bed = Bed::new();
    bed.run(&[
        "generate",
        "agrawal",
        "--rows",
        "40000",
        "--seed",
        "3",
        "-o",
        "table.csv",
        "--policy",
        "policy.toml",
    ])
    .ok();
    let build = |kind: &str| {
        let arguments =
            ["summarize", "table.csv", "--policy", "policy.toml", "-o", "s.json", "--kind", kind];
        bed.run(&[&arguments[..], &["--memory", "16MiB"]].concat())
    };
    build("bayes").fails_with(3, "memory limit");
    assert!(!bed.exists("s.json"));
    build("sample").ok();
    build("histogram").ok();
}

/// t-closeness alone used to be believed of the raw table, with probability 1.
#[test]
fn every_requirement_is_estimated() {
    let bed = census("3000");
    let policy = bed.read("policy.toml");
    let privacy = policy.find("[privacy]").unwrap();
    let end = policy[privacy + 1..].find("\n[").map_or(policy.len(), |at| privacy + 1 + at);
    let asked = |text: &str| {
        bed.file(
            "policy.toml",
            format!("{}[privacy]\n{text}\n{}", &policy[..privacy], &policy[end..]),
        );
    };
    summarize(&bed, "histogram", &[]);
    for text in [
        "t-closeness = 0.2",
        "l-diversity = { kind = \"distinct\", l = 4 }",
        "l-diversity = { kind = \"entropy\", l = 3 }",
        "l-diversity = { kind = \"recursive\", c = 2, l = 3 }",
    ] {
        asked(text);
        let all = estimate(&bed, "histogram.json", &[]);
        assert_eq!(all["not-estimated"], serde_json::json!([]), "{text}");
        let best = &all["candidates"][0];
        assert!(best["probability"].as_f64() >= Some(0.8), "{text}: {all}");
        assert!(best["error"]["probability"].as_f64() < Some(0.5), "{text}: {best}");
        // No raw table of 3,000 people has classes that large.
        let levels = best["levels"].as_object().unwrap();
        let raw: Vec<String> = levels.keys().map(|name| format!("{name}=0")).collect();
        let raw = estimate(&bed, "histogram.json", &["--levels", &raw.join(",")]);
        assert!(raw["candidates"][0]["probability"].as_f64() < Some(0.01), "{text}: {raw}");
        let search = bed.anonymize(&["--algorithm", "s-instant", "--json"]).ok().json();
        assert!(search["search"]["checks"].as_u64() <= Some(5), "{text}: {search}");
    }
}

/// Columns that go together but for one row in each pair: independent ones would have no rare
/// class.
#[test]
fn a_wrong_belief_ends_in_a_search_by_rows() {
    let bed = Bed::new();
    let mut table = String::from("a,b,c,d,ill\n");
    for row in 0..1000u32 {
        let one = row % 2;
        let other = |column: u32| if row == column { 1 - one } else { one };
        table += &format!("{},{},{},{},{}\n", other(0), other(1), other(2), other(3), row % 7);
    }
    bed.file("table.csv", &table);
    let keys: String = ["a", "b", "c", "d"]
        .map(|name| format!("{name} = {{ role = \"quasi-identifier\" }}\n"))
        .concat();
    bed.file(
        "policy.toml",
        format!("[privacy]\nk = 5\n[attributes]\n{keys}ill = {{ role = \"sensitive\" }}\n"),
    );
    for space in ["full-domain", "subtree"] {
        let search = format!("\n[search]\nalgorithm = \"s-instant\"\nspace = \"{space}\"\n");
        let policy = bed.read("policy.toml");
        bed.file("policy.toml", format!("{}{search}", policy.split("\n[search]").next().unwrap()));
        let outcome = bed.anonymize(&["--json"]).ok();
        let report = outcome.json();
        let search = &report["search"];
        assert_eq!((&search["checks"], &search["fallback"]), (&5.into(), &"incognito".into()));
        assert!(search["probability"].as_f64() > Some(0.8), "{search}");
        assert_eq!(search["optimal"], space == "full-domain", "{search}");
        let text = bed.anonymize(&[]).ok();
        assert!(text.stdout.contains("incognito decided by the rows"), "{text:?}");
        let best = bed.anonymize(&["--algorithm", "incognito", "--json"]);
        if space == "full-domain" {
            assert_eq!(report["loss"]["lm"], best.ok().json()["loss"]["lm"]);
        }
    }
}

#[test]
fn a_presence_is_named_as_not_estimated() {
    let bed = Bed::people();
    summarize(&bed, "histogram", &[]);
    let policy = bed.read("policy.toml");
    let presence = "[privacy]\npresence = { min = 0, max = 0.9, population = \"table.csv\" }\n";
    bed.file("policy.toml", policy.replace("[privacy]\n", presence));
    let json = estimate(&bed, "histogram.json", &[]);
    assert_eq!(json["not-estimated"], serde_json::json!(["delta-presence"]));
    let text =
        bed.run(&["estimate", "--summary", "histogram.json", "--policy", "policy.toml"]).ok();
    let named = "not estimated, and left out of the figures: delta-presence";
    assert!(text.stdout.contains(named), "{text:?}");
    assert!(!text.stdout.contains("likely to hold"), "{text:?}");
}

/// A saved summary as a CSV of counts, and as pairs where it is a network.
fn as_counts(saved: &Value) -> String {
    let attributes = saved["attributes"].as_array().unwrap();
    let named = |name: &Value| attributes.iter().find(|one| one["name"] == *name).unwrap();
    let value = |attribute: &Value, at: &Value| {
        attribute["values"][at.as_u64().unwrap() as usize].as_str().unwrap().to_string()
    };
    let mut text = String::from("attribute,value,count\n");
    let single = |attribute: &Value| -> String {
        let values = attribute["values"].as_array().unwrap();
        let line = |(value, count): (&Value, &Value)| {
            format!("{},{},{count}\n", attribute["name"].as_str().unwrap(), value.as_str().unwrap())
        };
        values.iter().zip(attribute["counts"].as_array().unwrap()).map(line).collect()
    };
    let Some(network) = saved["network"].as_array() else {
        return text + &attributes.iter().map(single).collect::<String>();
    };
    for one in network {
        let own = named(&one["attribute"]);
        let [given] = &one["given"].as_array().unwrap()[..] else {
            text += &single(own);
            continue;
        };
        for tuple in one["counts"].as_array().unwrap() {
            text += &format!(
                "{},{},{},{},{}\n",
                own["name"].as_str().unwrap(),
                value(own, &tuple[1]),
                given.as_str().unwrap(),
                value(named(given), &tuple[0]),
                tuple[2]
            );
        }
    }
    text
}

/// What others can count says the same as the summary of the table.
#[test]
fn summaries_can_be_made_by_hand() {
    let bed = census("3000");
    for kind in ["histogram", "bayes"] {
        summarize(&bed, kind, &[]);
        let saved: Value = serde_json::from_str(&bed.read(&format!("{kind}.json"))).unwrap();
        bed.file("counts.csv", as_counts(&saved));
        let ours = estimate(&bed, &format!("{kind}.json"), &["-k", "10"]);
        let theirs = estimate(&bed, "counts.csv", &["-k", "10"]);
        assert_eq!((&theirs["rows"], &theirs["summary"]), (&3000.into(), &kind.into()));
        let [ours, theirs] =
            [ours, theirs].map(|json| json["candidates"].as_array().unwrap().clone());
        assert!(!ours.is_empty() && ours.len() == theirs.len(), "{} {}", ours.len(), theirs.len());
        for (one, other) in ours.iter().zip(&theirs) {
            assert_eq!(one["levels"], other["levels"]);
            let off = one["probability"].as_f64().unwrap() - other["probability"].as_f64().unwrap();
            assert!(off.abs() < 1e-6, "{one} {other}");
        }
        // Without the checksum of a hierarchy, and as the summary of a search.
        let text = serde_json::to_string(&saved).unwrap();
        let cut: String =
            text.split("\"hierarchy\":\"").enumerate().fold(String::new(), |all, (at, part)| {
                all + if at == 0 { part } else { part.split_once("\",").unwrap().1 }
            });
        bed.file("open.json", cut);
        assert_eq!(estimate(&bed, "open.json", &["-k", "10"])["candidates"][0], ours[0]);
        let search = ["--algorithm", "s-instant", "-k", "10", "--summary", "counts.csv", "--json"];
        let report = bed.anonymize(&search).ok().json();
        assert_eq!(report["search"]["summary"], kind);
    }
}

#[test]
fn shares_are_counts_of_the_rows() {
    let bed = Bed::people();
    let shares =
        "age,30,0.5\nage,55,1/2\ncity,Bern,0.333\ncity,Thun,0.333\ncity,Biel,0.333\nill,flu,1.0\n";
    bed.file("counts.csv", format!(",,600\n{shares}"));
    let json = estimate(&bed, "counts.csv", &["-k", "2"]);
    assert_eq!((&json["rows"], &json["summary"]), (&600.into(), &"histogram".into()));
    let probability = json["candidates"][0]["probability"].as_f64();
    assert!(probability > Some(0.999), "six classes of a hundred rows: {json}");
}

#[test]
fn counts_that_cannot_be_are_refused_with_their_line() {
    let bed = Bed::people();
    let good = "age,30,3\nage,55,3\ncity,Bern,2\ncity,Thun,4\nill,flu,6\n";
    bed.file("good.csv", good);
    estimate(&bed, "good.csv", &[]);
    let refused = |text: &str, part: &str| {
        bed.file("bad.csv", text);
        bed.run(&["estimate", "--summary", "bad.csv", "--policy", "policy.toml"])
            .fails_with(2, part);
        bed.anonymize(&["--algorithm", "s-instant", "--summary", "bad.csv"]).fails_with(2, part);
    };
    let more = |line: &str| format!("{good}{line}\n");
    refused("", "bad.csv");
    refused(&more("age,30"), "bad.csv:6");
    refused(&more("age,31,many"), "bad.csv:6");
    refused(&more("age,31,-1"), "bad.csv:6");
    refused(&more("age,31,1.5"), "a whole number, or a share");
    refused(&more("age,30,1"), "bad.csv:6");
    refused(&more("age,31,1"), "bad.csv:3: the counts of `city` add up to 6, not 7");
    refused(&more("name,Ann,6"), "bad.csv:6: `name` is neither a quasi-identifier nor sensitive");
    refused(&more("zip,1,6"), "bad.csv:6: `zip` is neither");
    refused(&good.replace("Bern", "Rome"), "bad.csv:3");
    refused(&good.replace("age,55", "age,old"), "bad.csv:2");
    refused("age,30,6\ncity,Bern,6\n", "the summary has no column `ill`");
    refused("ill,flu,6\n", "no quasi-identifier is counted");
    refused(
        &good.replace("ill,flu,6", "ill,flu,0.9"),
        "bad.csv:5: the shares of `ill` add up to 0.9000",
    );
    refused(
        &good.replace("ill,flu,6", "ill,flu,0.5\nill,gout,3"),
        "`ill` has both counts and shares",
    );
    refused("age,30,1/2\nage,55,0.5\ncity,Bern,1/1\nill,flu,1/1\n", "bad.csv");
    refused(&more(",,7"), "not 7");
    refused(&more(",,6\n,,6"), "bad.csv:7: the number of rows is given twice");
    let huge = u64::MAX.to_string();
    refused(
        &format!("age,30,{huge}\nage,55,{huge}\ncity,Bern,{huge}\nill,flu,{huge}\n"),
        "bad.csv",
    );
    // Pairs.
    let pairs = more("age,30,city,Bern,2\nage,30,city,Thun,1\nage,55,city,Thun,3");
    bed.file("good.csv", &pairs);
    assert_eq!(estimate(&bed, "good.csv", &[])["summary"], "bayes");
    refused(
        &pairs.replace("Bern,2\nage,30,city,Thun,1", "Bern,1\nage,30,city,Thun,2"),
        "bad.csv:6",
    );
    refused(&(pairs.clone() + "city,Thun,age,55,3\n"), "bad.csv:9");
    refused(&(pairs.clone() + "age,30,age,55,6\n"), "bad.csv:9: a pair of `age` with itself");
    let circle = "city,Bern,ill,flu,2\ncity,Thun,ill,flu,4\nage,30,ill,flu,3\nage,55,ill,flu,3\n";
    refused(&(pairs + circle), "closes a circle");
}
