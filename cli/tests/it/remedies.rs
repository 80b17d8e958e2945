//! What a refused command offers: typed into the policy, each change gives a release, and the next
//! smaller one does not.

use crate::bed::{Bed, Outcome};
use serde_json::{Value, json};

const POLICY: &str = r#"[attributes.name]
role = "identifier"

[attributes.age]
role = "quasi-identifier"
type = "integer"
hierarchy = { intervals = [10, 20], from = 0, to = 100 }

[attributes.city]
role = "quasi-identifier"
hierarchy = "city.csv"

[attributes.ill]
role = "sensitive"

[privacy]
k = 2
l-diversity = { kind = "frequency", l = 2 }

[search]
recoding = "levels"
suppression = { limit = 0 }
"#;

/// Ten people: seven of them have the flu, all in Thun.
fn bed() -> Bed {
    let bed = Bed::people();
    let thun: String = (0..7).map(|at| format!("N{at},{},Thun,flu\n", 50 + at)).collect();
    bed.file(
        "table.csv",
        format!(
            "name,age,city,ill\n{thun}Ann,31,Bern,gout\nBob,35,Bern,asthma\nEva,38,Bern,cough\n"
        ),
    );
    bed.file("policy.toml", POLICY);
    bed
}

fn remedies(outcome: &Outcome) -> Vec<Value> {
    outcome.json()["remedies"].as_array().expect("remedies").clone()
}

#[test]
fn each_change_works_as_it_is_typed() {
    let bed = bed();
    let refused = bed.anonymize(&["--json"]).fails_with(1, "l-diversity");
    let found = remedies(&refused);
    let keys: Vec<&str> = found.iter().map(|one| one["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["search.suppression.limit", "privacy.l-diversity.l"], "{found:#?}");
    let (limit, l) = (&found[0], &found[1]);
    assert_eq!(
        (&limit["rows"], &limit["to"], &limit["from"]),
        (&json!(7), &json!("70%"), &json!(0))
    );
    assert_eq!((&l["to"], &l["from"]), (&json!(1.42), &json!(2)));
    for (one, next, from) in [(limit, "\"69%\"", "limit = 0"), (l, "1.43", "l = 2 ")] {
        let key = from.split(' ').next().unwrap();
        let end = if from.ends_with(' ') { " " } else { "" };
        let typed = format!("{key} = {}{end}", one["to"]);
        bed.file("policy.toml", POLICY);
        bed.edit("policy.toml", from, &typed);
        let report = bed.anonymize(&["--json"]).ok().json();
        assert_eq!(report["loss"]["lm"], one["loss"]["lm"]);
        assert_eq!(report["suppressed"], one["suppressed"]);
        bed.run(&["verify", "out.csv", "--policy", "policy.toml"]).ok();
        bed.edit("policy.toml", &typed, &format!("{key} = {next}{end}"));
        assert_eq!(bed.anonymize(&[]).status, 1, "{typed}");
    }
}

#[test]
fn a_person_reads_a_line_for_each() {
    let bed = bed();
    let refused = bed.anonymize(&[]).fails_with(1, "cannot be met");
    let lines: Vec<&str> = refused.stdout.lines().collect();
    assert_eq!(lines[0], "Each of these changes makes a release possible:");
    assert!(
        lines[1]
            .starts_with("  search.suppression.limit = \"70%\" (now 0), which is 7 rows: LM 0."),
        "{lines:#?}"
    );
    assert!(lines[1].ends_with(", 7 rows suppressed"), "{lines:#?}");
    assert_eq!(lines[2], "  privacy.l-diversity.l = 1.42 (now 2): LM 1.0000");
    assert_eq!(lines.len(), 3);
    // If the release goes to standard output, nothing else does.
    let arguments = ["anonymize", "table.csv", "--policy", "policy.toml", "-o", "-"];
    let piped = bed.run(&[&arguments[..], &["--format", "csv"]].concat());
    assert_eq!((piped.status, piped.stdout.as_str()), (1, ""));
    assert!(piped.stderr.ends_with(&refused.stdout), "{piped:?}");
}

/// Flags are changed as keys are, and what was typed need not have an effect any more.
#[test]
fn what_flags_ask_for_is_changed_too() {
    let bed = Bed::people();
    let found = remedies(&bed.anonymize(&["-k", "7", "--json"]).fails_with(1, "cannot be met"));
    let expected =
        json!([{"key": "privacy.k", "from": 7, "to": 6, "loss": {"lm": 1.0}, "suppressed": 0}]);
    assert_eq!(Value::from(found), expected);
    let levels = ["--levels", "age=0,city=2", "--json"];
    let found = remedies(&bed.anonymize(&levels).fails_with(1, "at levels"));
    let keys: Vec<(&str, &Value)> =
        found.iter().map(|one| (one["key"].as_str().unwrap(), &one["to"])).collect();
    // Nobody is advised to give up k.
    let expected: [(&str, &Value); 2] = [("levels", &Value::Null), ("levels.age", &json!(1))];
    assert!(expected.iter().all(|one| keys.contains(one)) && keys.len() == 2, "{found:#?}");
}

#[test]
fn an_attribute_may_be_left_out() {
    let bed = Bed::people();
    let sex = "name,age,city,ill,sex\nAnn,34,Bern,flu,w\nBob,36,Bern,gout,w\nCid,51,Thun,flu,w\n\
               Dee,55,Thun,asthma,w\nEva,38,Biel,gout,w\nFay,57,Thun,flu,w\n";
    bed.file("table.csv", sex);
    bed.edit("policy.toml", "[privacy]", "[attributes.sex]\nrole = \"sensitive\"\n[privacy]");
    bed.edit("policy.toml", "k = 2", "k = 2\nl-diversity = { kind = \"distinct\", l = 2 }");
    let refused = bed.anonymize(&[]).fails_with(1, "l-diversity of `sex`");
    assert!(refused.stdout.contains("without the column `sex`: LM 0."), "{}", refused.stdout);
    // Nobody is advised to ask for nothing.
    assert!(!refused.stdout.contains("privacy"), "{}", refused.stdout);
}

#[test]
fn a_distribution_has_no_remedies_and_says_so() {
    let bed = Bed::people();
    assert!(bed.anonymize(&["--json"]).ok().json().get("remedies").is_none());
    let asked = "k = 7\ndistribution = { attribute = \"ill\", target = \"uniform\" }";
    bed.edit("policy.toml", "k = 2", asked);
    let arguments = ["anonymize", "table.csv", "--policy", "policy.toml", "-o", "folder", "--json"];
    let refused = bed.run(&arguments).fails_with(1, "cannot be met");
    assert!(remedies(&refused).is_empty());
    let told = refused.json();
    let reason = told["remedies-incomplete"].as_str().unwrap();
    assert!(reason.contains("distribution"), "{told}");
    let shown = bed.run(&arguments[..6]).fails_with(1, "cannot be met").stdout;
    assert_eq!(shown, format!("Changes that make a release possible are not known: {reason}.\n"));
}
