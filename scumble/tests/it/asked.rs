//! Is a release judged by everything that was asked? Policies come from the builder and from serde,
//! with every part changed; binding one to a table is an error, or every requirement is among those
//! that are judged, with its figure.

use crate::fixture::{Folder, open};
use proptest::prelude::*;
use scumble::bind::Outside;
use scumble::error::{Error, Judged, Result};
use scumble::job::Job;
use scumble::policy::{Policy, PolicyBuilder, Setting};
use scumble::privacy::Statement;
use scumble::release::{ReleaseBatches, Report};
use scumble::source::encode;
use scumble::table::Table;
use scumble::taxonomy::{DateLevel, Hierarchy, Side};
use scumble::watch::Watch;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::OnceLock;

const TABLE: &str = "name,age,city,diagnosis,salary\n\
                     Ann,31,Rome,flu,1000\n\
                     Bob,34,Rome,flu,2000\n\
                     Cid,52,Oslo,flu,3000\n\
                     Dee,58,Oslo,flu,4000\n\
                     Eve,33,Rome,gout,1500\n\
                     Fay,57,Oslo,gout,3500\n";

/// Everybody, those of the table among them.
const WORLD: &str =
    "age,city\n31,Rome\n34,Rome\n52,Oslo\n58,Oslo\n33,Rome\n57,Oslo\n35,Rome\n55,Oslo\n";

const MARGINALS: &str = "age,31,2\nage,34,2\nage,52,2\nage,58,2\nage,33,2\nage,57,2\n\
                         city,Rome,6\ncity,Oslo,6\n";

fn folder() -> &'static Folder {
    static FOLDER: OnceLock<Folder> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Folder::new("asked");
        folder.write("table.csv", TABLE);
        folder.write("world.csv", WORLD);
        folder.write("marginals.csv", MARGINALS);
        folder.write("city.csv", "Rome;Italy;*\nOslo;Norway;*\n");
        folder
    })
}

fn read(file: &str, names: &[&str], policy: &Policy) -> Result<Table> {
    let source = open(&folder().path(file));
    let roles = policy.roles(names, source.path(), false)?;
    encode(&source, &roles, &Watch::silent(), "read")
}

/// What the requirements of a table come to: those that are judged group by group, and a confident
/// presence.
fn judged(policy: &Policy) -> Result<Vec<Statement>> {
    let table = read("table.csv", &["name", "age", "city", "diagnosis", "salary"], policy)?;
    let asked = policy.privacy().presence.as_ref();
    let world = match asked.and_then(|asked| asked.population()) {
        None => None,
        Some(_) => Some(read("world.csv", &["age", "city"], &keys().k(1).build()?)?),
    };
    let outside = Outside { population: world.as_ref(), confidences: None };
    let prepared = policy.prepare_within(&table, outside, &Watch::default())?;
    let statements = prepared.task.requirements.iter().map(|one| one.statement());
    Ok(statements.chain(prepared.task.confident.map(|confident| confident.statement())).collect())
}

fn keys() -> PolicyBuilder {
    Policy::builder()
        .quasi_identifier(
            "age",
            Hierarchy::intervals(&[10.0, 20.0], Some(0.0), Some(99.0)).unwrap(),
        )
        .quasi_identifier(
            "city",
            Hierarchy::tree([["Rome", "Italy", "*"], ["Oslo", "Norway", "*"]]).unwrap(),
        )
}

fn people() -> PolicyBuilder {
    keys().identifier("name").sensitive("diagnosis").insensitive("salary")
}

/// How often a requirement is judged with a figure.
fn count(judged: &[Statement], requirement: &str, required: f64) -> usize {
    let is_it = |one: &&Statement| one.requirement == requirement && one.required == required;
    judged.iter().filter(is_it).count()
}

/// The table of the issue: classes all `flu`, and a diversity of frequency 1/4 that no constructor
/// accepts. It must not be left out.
#[test]
fn a_diversity_that_cannot_be_made_is_an_error() {
    let error = people().k(2).l_diversity("frequency", "1/4").build().unwrap_err();
    assert_eq!(
        error.to_string(),
        "policy: invalid value `1/4` for `privacy.l-diversity.l`: expected a number of at least 1"
    );
    for (kind, l) in [("entropy", "0.5"), ("distinct", "0"), ("frequency", "0"), ("distinct", "x")]
    {
        assert!(people().l_diversity(kind, l).build().is_err(), "{kind} {l}");
    }
    assert!(people().recursive_l_diversity(0, 2).build().is_err());
    assert!(people().recursive_l_diversity(1, 0).build().is_err());
    assert!(people().set(["privacy", "l-diversity"], Vec::<Setting>::new()).build().is_err());
    // Where it can be made, nobody gets a release in which all of a class have the flu.
    let policy = people().k(2).l_diversity("frequency", 4).build().unwrap();
    let judged = judged(&policy).unwrap();
    assert_eq!((judged.len(), count(&judged, "l-diversity", 4.0)), (2, 1));
}

#[test]
fn every_requirement_of_a_policy_is_judged() {
    let both = people().sensitive("salary").k(3).l_diversity("distinct", 2).t_closeness("1/3");
    let policy =
        both.variance(100).default_threshold("1/2").threshold("flu", "2/3").build().unwrap();
    let judged = judged(&policy).unwrap();
    // Each for both sensitive attributes but for the variance, which is about numbers.
    assert_eq!(count(&judged, "k-anonymity", 3.0), 1);
    assert_eq!(count(&judged, "l-diversity", 2.0), 2);
    assert_eq!(count(&judged, "t-closeness", 1.0 / 3.0), 2);
    assert_eq!(count(&judged, "variance-diversity", 100.0), 1);
    assert_eq!(judged.len(), 8);
    let world = folder().path("world.csv");
    let policy = people().presence("0.1", "0.9", &world).build().unwrap();
    let judged = self::judged(&policy).unwrap();
    assert_eq!(count(&judged, "delta-presence", 0.1), 1);
    assert_eq!(count(&judged, "delta-presence", 0.9), 1);
}

/// A report tells by names alone which figures are minima.
#[test]
fn a_report_knows_which_figures_are_minima() {
    let world = folder().path("world.csv");
    let marginals = folder().path("marginals.csv");
    let policies = [
        people().k(2).t_closeness("1/3").default_threshold("1/2"),
        people().l_diversity("distinct", 2),
        people().l_diversity("entropy", 2),
        people().l_diversity("frequency", 2),
        people().recursive_l_diversity(2, 2),
        people().sensitive("salary").variance(100),
        people().presence("0.1", "0.9", &world),
        people().presence_with_marginals(0, "0.9", "0.5", &marginals),
    ];
    let mut seen = 0;
    for statement in policies.into_iter().flat_map(|one| judged(&one.build().unwrap()).unwrap()) {
        let told: Judged = serde_json::from_value(json!({
            "requirement": statement.requirement,
            "kind": statement.kind,
            "required": statement.required,
            "achieved": null,
            "satisfied": true,
        }))
        .unwrap();
        assert_eq!(told.is_minimum(), statement.larger_is_safer, "{statement:?}");
        seen += 1;
    }
    assert!(seen >= 11, "{seen}");
}

#[test]
fn what_a_presence_needs_cannot_be_left_out() {
    let policy = people().presence(0, "0.9", &folder().path("world.csv")).build().unwrap();
    let table =
        read("table.csv", &["name", "age", "city", "diagnosis", "salary"], &policy).unwrap();
    let error = policy.prepare(&table).unwrap_err().to_string();
    assert!(error.contains("world.csv"), "{error}");
    let marginals = folder().path("marginals.csv");
    let asked = people().presence_with_marginals(0, "0.9", "0.5", &marginals);
    assert_eq!(judged(&asked.clone().build().unwrap()).unwrap().len(), 1);
    let policy = asked.set(["privacy", "presence", "confidence-column"], "salary").build().unwrap();
    let error = policy.prepare(&table).unwrap_err().to_string();
    assert!(error.contains("confidence-column"), "{error}");
    let confidences = vec!["0.5".parse().unwrap(); 5];
    let outside = Outside { population: None, confidences: Some(&confidences) };
    assert!(
        policy.prepare_within(&table, outside, &Watch::default()).is_err(),
        "six rows and five confidences"
    );
}

#[test]
fn a_change_is_checked_again() {
    let policy =
        people().k(2).algorithm("l-plus-optimize").set(["search", "top"], 3).build().unwrap();
    assert_eq!(policy.search().cuts().top, Some(3));
    let error = policy.edit().algorithm("mondrian").build().unwrap_err().to_string();
    assert_eq!(error, "policy: `search.top` requires the algorithm l-plus-optimize or local");
    assert!(policy.edit().k(0).build().is_err());
    assert_eq!(policy.edit().k(7).build().unwrap().privacy().k, Some(7));
    assert_eq!(policy.privacy().k, Some(2));
    // A key that cannot be set is not dropped.
    let scalar = people().set(["privacy"], 5).k(2);
    assert!(scalar.build().is_err());
    let capped =
        people().k(2).set(["privacy", "thresholds", "values"], "1/4").threshold("flu", "1/4");
    assert!(capped.build().is_err());
}

/// Every key of `[search]` that only some values have, and some that are wrong.
#[test]
fn parameters_of_algorithms_are_checked_with_the_policy() {
    let on_cuts = people().k(2).algorithm("l-plus-optimize");
    let suppressing = on_cuts.clone().set(["search", "suppression", "limit"], "5%");
    let marginals = folder().path("marginals.csv");
    let likely = people().presence_with_marginals(0, "0.9", "0.5", &marginals);
    let plain = people().k(2);
    let cases: [(&PolicyBuilder, &str, Vec<Setting>, Vec<Setting>); 19] = [
        (&on_cuts, "time-limit", vec!["10s".into(), "500ms".into()], vec!["soon".into(), 5.into()]),
        (&on_cuts, "top", vec![1.into(), 65_535.into()], vec![0.into(), 65_536.into(), "x".into()]),
        (&on_cuts, "extra-generalization", vec![true.into()], vec!["yes".into(), 1.into()]),
        (
            &suppressing,
            "extra-suppression",
            vec!["5%".into(), 0.05.into(), "1/20".into(), 0.into()],
            vec!["5.1%".into(), 1.into(), "some".into(), "-1%".into(), true.into()],
        ),
        (&on_cuts, "extra-suppression", vec![0.into()], vec!["1%".into()]),
        (&plain, "extra-suppression", vec![], vec!["1%".into(), 0.into()]),
        (&plain, "top", vec![], vec![2.into()]),
        (&plain, "strategy", vec!["top-down".into()], vec!["sideways".into()]),
        (&likely, "sigmas", vec![4.into()], vec![0.into(), 10.into()]),
        (&plain, "sigmas", vec![], vec![4.into()]),
        (&likely, "bucket", vec![2.into()], vec![1.into(), "2.5".into()]),
        (
            &likely,
            "without",
            vec![vec!["pa", "dc"].into()],
            vec![vec!["hybrid"].into(), "pa".into()],
        ),
        (&plain, "without", vec![vec!["hybrid"].into()], vec![vec!["pa"].into()]),
        (&plain, "sample-tuples", vec![1.into()], vec![0.into(), 4_294_967_296u64.into()]),
        (&plain, "fan-out", vec![2.into(), 65_536.into()], vec![1.into(), 65_537.into()]),
        (
            &plain,
            "alpha",
            vec!["0.5".into(), 0.01.into()],
            vec![0.into(), "0.51".into(), f64::NAN.into()],
        ),
        (&plain, "frequency-groups", vec![3.into()], vec![0.into(), (-3).into()]),
        (&plain, "summary-kind", vec!["bayes".into()], vec!["both".into()]),
        (&plain, "max-parents", vec![1.into()], vec![2.into(), 3.into()]),
    ];
    for (builder, key, good, bad) in cases {
        for value in good {
            let built = builder.clone().set(["search", key], value.clone()).build();
            assert!(built.is_ok(), "{key} {value:?}: {}", built.unwrap_err());
        }
        for value in bad {
            let error = builder.clone().set(["search", key], value.clone()).build().unwrap_err();
            assert!(error.to_string().contains(&format!("search.{key}")), "{value:?}: {error}");
            assert!(!error.to_string().contains("--"), "{error}");
        }
    }
}

fn whole_policy() -> Value {
    json!({
        "attributes": {
            "name": {"role": "identifier"},
            "age": {"role": "quasi-identifier", "type": "integer", "missing": ["?"],
                "hierarchy": {"intervals": [10, 20], "from": 0, "to": 99}},
            "city": {"role": "quasi-identifier",
                "hierarchy": {"tree": [["Rome", "Italy", "*"], ["Oslo", "Norway", "*"]]}},
            "diagnosis": {"role": "sensitive"},
            "salary": {"role": "sensitive", "type": "integer"},
        },
        "privacy": {
            "k": 2,
            "l-diversity": [{"kind": "frequency", "l": "4/3", "sensitive": "diagnosis"},
                {"kind": "recursive", "c": 3, "l": 2}],
            "t-closeness": {"t": 0.4, "distance": "equal", "sensitive": "diagnosis"},
            "variance": 10.5,
            "thresholds": {"default": 0.75, "flu": "2/3", "sensitive": "diagnosis"},
        },
        "search": {
            "algorithm": "incognito", "loss": "dm", "least-gain": 0.02, "alpha": 0.01, "fan-out": 5,
            "suppression": {"scheme": "records", "limit": "1/3", "token": "?"},
        },
    })
}

/// What a policy holds, without the lines of a file.
fn told(policy: &Policy) -> String {
    let text = format!(
        "{:?} {:?} {:?} {:?} {:?}",
        policy.attributes(),
        policy.default_role(),
        policy.missing(),
        policy.privacy(),
        policy.search()
    );
    let mut parts = text.split("Place {");
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |text, part| text + part.split_once('}').map_or(part, |(_, rest)| rest))
}

/// Every way to say a hierarchy, a world and a target comes back, from JSON and from TOML.
#[test]
fn a_policy_comes_back_from_serde() {
    let marginals = folder().path("marginals.csv");
    let policies = [
        serde_json::from_value::<Policy>(whole_policy()).unwrap(),
        people()
            .quasi_identifier("zip", Hierarchy::mask(Side::Left, '#'))
            .quasi_identifier("born", Hierarchy::dates(&[DateLevel::Month, DateLevel::Year]).unwrap())
            .quasi_identifier("home", Hierarchy::file(&folder().path("city.csv")).unwrap())
            .hierarchy("age", Hierarchy::intervals(&[0.1, 0.5], Some(-1.5), None).unwrap())
            .presence_with_marginals("1/7", 0.9, "0.123456789012345678", &marginals)
            .build()
            .unwrap(),
        Policy::parse(
            "[attributes.city]\nrole = \"quasi-identifier\"\nhierarchy = \"city.csv\"\n\
             [attributes.day]\nhierarchy = { intervals = [7], from = \"2020-01-01\" }\n\
             [attributes.salary]\nrole = \"sensitive\"\n\
             [privacy]\nk = 1_000\nl-diversity = { kind = \"entropy\", l = 1.1e0 }\n\
             [privacy.distribution]\nattribute = \"salary\"\nfakes = 1.0\ndomain = [0, 10]\n\
             target = { kind = \"normal\", mean = 3, deviation = 0.5 }\ntargets = { a = \"zipf\" }\n",
            &folder().path("policy.toml"),
        )
        .unwrap(),
    ];
    for policy in policies {
        let json = serde_json::to_value(&policy).unwrap();
        let back: Policy = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(told(&back), told(&policy));
        assert_eq!(serde_json::to_value(&back).unwrap(), json);
        let toml = toml::to_string(&policy).unwrap();
        // TOML sorts its tables, so columns come back in another order.
        let back: Policy = toml::from_str(&toml).unwrap();
        assert_eq!(back.attributes().len(), policy.attributes().len());
        assert_eq!(format!("{:?}", back.search()), format!("{:?}", policy.search()));
        let parsed = Policy::parse(&toml, Path::new("policy.toml")).unwrap();
        assert_eq!(parsed.privacy().k, policy.privacy().k);
    }
}

#[test]
fn serde_checks_like_a_file() {
    let read = |text: &str| serde_json::from_str::<Policy>(text).map_err(|error| error.to_string());
    let refused = |text: &str, part: &str| {
        let error = read(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    };
    assert!(read("{\"privacy\": {\"k\": 2}}").is_ok());
    refused("{\"privacy\": {\"k\": 0}}", "privacy.k");
    refused("{\"privacy\": {\"k\": -2}}", "privacy.k");
    refused("{\"privacy\": {\"k\": 2.5}}", "privacy.k");
    refused("{\"privacy\": {\"k\": null}}", "privacy.k");
    refused("{\"privacy\": {\"k\": true}}", "privacy.k");
    refused("{\"privacy\": {\"kk\": 2}}", "did you mean `k`");
    refused("{\"privacy\": {\"k\": 2, \"k\": 1}}", "duplicate");
    refused("{\"privacy\": []}", "a table");
    refused("[]", "a table");
    refused("{\"privacy\": {\"presence\": {\"max\": 0.5}}}", "population");
}

#[test]
fn a_tree_in_the_policy_is_the_tree_of_a_file() {
    let inline = people().k(2).build().unwrap();
    let file = Hierarchy::file(&folder().path("city.csv")).unwrap();
    let filed = people().quasi_identifier("city", file).k(2).build().unwrap();
    let names = ["name", "age", "city", "diagnosis", "salary"];
    let table = read("table.csv", &names, &inline).unwrap();
    let tree = |policy: &Policy| policy.taxonomy(&table, "city").unwrap();
    assert_eq!(tree(&inline).levels(), tree(&filed).levels());
    let uneven = Hierarchy::tree([vec!["a", "*"], vec!["b", "c", "*"]]);
    assert!(matches!(uneven, Err(Error::UnevenHierarchy { .. })));
    let text = "[attributes.city]\nhierarchy = { tree = [[\"a\", \"*\"],\n[\"a\", \"*\"]] }\n";
    let error = Policy::parse(text, Path::new("p.toml")).unwrap_err().to_string();
    assert!(error.starts_with("p.toml:3: duplicate `a`"), "{error}");
}

/// A change of one part of a policy.
#[derive(Clone, Debug)]
enum Change {
    Replace(Value),
    Remove,
    Rename(String),
}

/// Values that are wrong almost everywhere, and some that are not.
fn odd() -> Vec<Value> {
    let list = json!([
        0, -1, 1, 3, 0.3, 1e300, 18_446_744_073_709_551_615u64, "nan", "inf", "1/0", "-1/2", "1/3",
        "5%", "", "salary", "diagnosis", "nobody", null, true, [], {},
        [{"kind": "distinct", "l": 2}],
    ]);
    list.as_array().cloned().unwrap_or_default()
}

fn changes() -> impl Strategy<Value = Change> {
    prop_oneof![
        8 => prop::sample::select(odd()).prop_map(Change::Replace),
        1 => Just(Change::Remove),
        1 => "[a-z]{1,6}".prop_map(Change::Rename),
    ]
}

/// The number of parts of a document.
fn parts(value: &Value) -> usize {
    1 + match value {
        Value::Object(fields) => fields.values().map(parts).sum(),
        Value::Array(items) => items.iter().map(parts).sum(),
        _ => 0,
    }
}

/// Changes the part with a number, counted depth first.
fn apply(value: &mut Value, at: &mut usize, change: &Change) {
    if let Value::Object(fields) = value {
        for name in fields.keys().cloned().collect::<Vec<_>>() {
            if *at == 0 {
                return;
            }
            *at -= 1;
            match change {
                _ if *at > 0 => apply(&mut fields[&name], at, change),
                Change::Replace(other) => fields[&name] = other.clone(),
                Change::Remove => {
                    fields.shift_remove(&name);
                }
                Change::Rename(other) => {
                    let inner = fields.shift_remove(&name).unwrap_or_default();
                    fields.insert(other.clone(), inner);
                }
            }
        }
    } else if let Value::Array(items) = value {
        for item in items {
            if *at == 0 {
                return;
            }
            *at -= 1;
            match (*at, change) {
                (0, Change::Replace(other)) => *item = other.clone(),
                (0, _) => {}
                _ => apply(item, at, change),
            }
        }
    }
}

/// The figure of a document's number: what a person means by it, read without the library's reader.
fn figure(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            let text = text.trim();
            if let Some((above, below)) = text.split_once('/') {
                return Some(above.parse::<f64>().ok()? / below.parse::<f64>().ok()?);
            }
            match text.strip_suffix('%') {
                Some(percent) => Some(percent.parse::<f64>().ok()? / 100.0),
                None => text.parse().ok(),
            }
        }
        _ => None,
    }
}

fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.clone(),
        Value::Null => Vec::new(),
        one => vec![one.clone()],
    }
}

/// What a document asks for, requirement by requirement: its name, and the figure.
fn asked(document: &Value) -> Vec<(&'static str, f64)> {
    let privacy = &document["privacy"];
    let number = |value: &Value| figure(value).unwrap_or(f64::NAN);
    let mut asked = Vec::new();
    if !privacy["k"].is_null() {
        asked.push(("k-anonymity", number(&privacy["k"])));
    }
    for one in list(&privacy["l-diversity"]) {
        // A recursive one is reported by its c.
        let of = if one["kind"] == "recursive" { &one["c"] } else { &one["l"] };
        asked.push(("l-diversity", number(of)));
    }
    for one in list(&privacy["t-closeness"]) {
        asked.push(("t-closeness", number(if one.is_object() { &one["t"] } else { &one })));
    }
    for one in list(&privacy["variance"]) {
        let at_least = if one.is_object() { &one["at-least"] } else { &one };
        asked.push(("variance-diversity", number(at_least)));
    }
    asked
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

/// What a document asks for and nobody judges.
fn left_out(document: &Value, judged: &[Statement]) -> Vec<String> {
    let is_judged = |requirement: &str, required: f64| {
        judged.iter().any(|one| one.requirement == requirement && close(one.required, required))
    };
    let asked = asked(document).into_iter();
    let missing = asked.filter(|(requirement, required)| !is_judged(requirement, *required));
    let mut missing: Vec<String> = missing.map(|one| format!("{one:?}")).collect();
    let is_capped = document["privacy"].get("thresholds").is_some();
    if is_capped && !judged.iter().any(|one| one.requirement == "thresholds") {
        missing.push("thresholds".into());
    }
    missing
}

/// Reads a document, sends it through serde and the builder, and binds it. Whether it is judged; it
/// must then be judged by all that it asks.
fn is_judged_by_all(document: &Value) -> bool {
    let Ok(policy) = serde_json::from_value::<Policy>(document.clone()) else { return false };
    let again: Policy = serde_json::from_value(serde_json::to_value(&policy).unwrap()).unwrap();
    assert_eq!(told(&again), told(&policy));
    let outcomes = [policy.edit().build().unwrap(), again].map(|policy| judged(&policy));
    for judged in outcomes.iter().flatten() {
        assert_eq!(left_out(document, judged), [""; 0], "{document} is judged by {judged:?}");
    }
    assert_eq!(outcomes[0].is_ok(), outcomes[1].is_ok());
    outcomes[0].is_ok()
}

#[test]
fn what_is_left_out_would_be_seen() {
    let document = whole_policy();
    let judged = judged(&serde_json::from_value(document.clone()).unwrap()).unwrap();
    assert_eq!(left_out(&document, &judged), [""; 0]);
    for name in ["k-anonymity", "l-diversity", "t-closeness", "variance-diversity", "thresholds"] {
        let others: Vec<Statement> =
            judged.iter().filter(|one| one.requirement != name).cloned().collect();
        assert!(others.len() < judged.len() && !left_out(&document, &others).is_empty(), "{name}");
    }
}

/// Every part of a policy that asks for everything, replaced by every odd value.
#[test]
fn nothing_that_is_asked_is_left_out() {
    let document = whole_policy();
    let (mut judged, mut refused) = (0, 0);
    for at in 1..parts(&document) {
        let changes = odd().into_iter().map(Change::Replace).chain([Change::Remove]);
        for change in changes {
            let mut changed = document.clone();
            apply(&mut changed, &mut at.clone(), &change);
            if is_judged_by_all(&changed) { judged += 1 } else { refused += 1 }
        }
    }
    // Neither answer is the only one.
    assert!(judged > 100 && refused > 300, "{judged} judged, {refused} refused");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Several parts at once.
    #[test]
    fn nothing_is_left_out_of_several_changes(
        all in prop::collection::vec((any::<prop::sample::Index>(), changes()), 1..4),
    ) {
        let mut document = whole_policy();
        for (at, change) in &all {
            let parts = parts(&document);
            if parts > 1 {
                apply(&mut document, &mut (at.index(parts - 1) + 1), change);
            }
        }
        is_judged_by_all(&document);
    }

    /// The same by the builder, with numbers of every kind.
    #[test]
    fn a_built_policy_is_judged_by_what_was_given(
        k in prop_oneof![Just(None), any::<i64>().prop_map(Some), (0i64..5).prop_map(Some)],
        l in prop_oneof![any::<f64>(), (0u8..5).prop_map(f64::from)],
        kind in prop_oneof![Just("frequency"), Just("distinct"), Just("entropy"), Just("recursive")],
        t in prop_oneof![any::<f64>(), 0.0..1.5f64],
        variance in prop_oneof![any::<f64>(), 0.0..1e6f64],
        about in prop_oneof![Just(None), Just(Some("diagnosis")), Just(Some("salary")), Just(Some("age"))],
    ) {
        let table = |name: &str, value: f64| {
            let about = about.map(|about| ("sensitive", about.into()));
            Setting::table([(name, value.into())].into_iter().chain(about))
        };
        let mut builder = people().sensitive("salary").l_diversity(kind, l);
        builder = k.map_or(builder.clone(), |k| builder.k(k));
        builder = builder.require("t-closeness", table("t", t));
        builder = builder.require("variance", table("at-least", variance));
        let Ok(policy) = builder.build() else { return Ok(()) };
        prop_assert!(k.is_none_or(|k| k >= 1) && l >= 1.0 && (0.0..=1.0).contains(&t) && variance > 0.0);
        let Ok(judged) = judged(&policy) else { return Ok(()) };
        let found = |requirement: &str, required: f64| {
            judged.iter().any(|one| one.requirement == requirement && close(one.required, required))
        };
        prop_assert!(k.is_none_or(|k| found("k-anonymity", k as f64)));
        prop_assert!(found("l-diversity", l) && found("t-closeness", t));
        prop_assert!(found("variance-diversity", variance));
    }
}

/// What a document asks for, with the sensitive attribute that it is about.
fn asked_of_columns(document: &Value) -> Vec<(&'static str, Option<String>, Option<f64>)> {
    let privacy = &document["privacy"];
    let number = |value: &Value| Some(figure(value).unwrap_or(f64::NAN));
    let attributes = document["attributes"].as_object();
    let sensitive: Vec<String> = attributes
        .into_iter()
        .flatten()
        .filter(|(_, attribute)| attribute["role"] == "sensitive")
        .map(|(name, _)| name.clone())
        .collect();
    let mut all = Vec::new();
    let mut each = |name: &'static str, one: &Value, figure: Option<f64>| {
        let about = one.get("sensitive").and_then(Value::as_str).map(str::to_string);
        let about = about.map_or(sensitive.clone(), |about| vec![about]);
        all.extend(about.into_iter().map(|about| (name, Some(about), figure)));
    };
    for one in list(&privacy["l-diversity"]) {
        let of = if one["kind"] == "recursive" { &one["c"] } else { &one["l"] };
        each("l-diversity", &one, number(of));
    }
    for one in list(&privacy["t-closeness"]) {
        each("t-closeness", &one, number(if one.is_object() { &one["t"] } else { &one }));
    }
    if let Some(one) = privacy.get("thresholds") {
        each("thresholds", one, None);
    }
    // A variance is about numbers: the salaries, unless the document says otherwise.
    for one in list(&privacy["variance"]) {
        let at_least = if one.is_object() { &one["at-least"] } else { &one };
        all.push(("variance-diversity", None, number(at_least)));
    }
    if !privacy["k"].is_null() {
        all.push(("k-anonymity", None, number(&privacy["k"])));
    }
    if let Some(one) = privacy.get("presence") {
        // Nothing is less likely than 0 or more likely than 1, so these ask for nothing.
        for (side, idle) in [("min", 0.0), ("max", 1.0)] {
            if let Some(figure) = one.get(side).and_then(figure).filter(|one| *one != idle) {
                all.push(("delta-presence", None, Some(figure)));
            }
        }
    }
    if let Some(one) = privacy.get("distribution") {
        let about = one["attribute"].as_str().map(str::to_string);
        all.push(("distribution", about, None));
    }
    all
}

/// What a document asks for, as often as it does, and a report does not tell of.
fn left_out_of_report(document: &Value, report: &Report) -> Vec<String> {
    let mut told: Vec<&Judged> = report.privacy.iter().collect();
    let mut missing = Vec::new();
    for one in asked_of_columns(document) {
        let (requirement, about, required) = &one;
        let is_it = |judged: &&&Judged| {
            judged.requirement == *requirement
                && about.as_ref().is_none_or(|about| judged.sensitive.as_ref() == Some(about))
                && required.is_none_or(|required| close(judged.required.0, required))
        };
        match told.iter().position(|judged| is_it(&judged)) {
            Some(at) => _ = told.swap_remove(at),
            None => missing.push(format!("{one:?}")),
        }
    }
    missing
}

/// Releases the table by a document, with each of some algorithms; how many releases there were.
/// Each must have been judged by all that was asked.
fn releases_by_all(document: &Value, algorithms: &[Option<&str>]) -> usize {
    let Ok(policy) = serde_json::from_value::<Policy>(document.clone()) else { return 0 };
    let mut released = 0;
    for algorithm in algorithms {
        let mut builder = policy.edit();
        if let Some(algorithm) = algorithm {
            builder = builder.algorithm(algorithm).set(["search", "suppression"], no_suppression());
            builder = builder.set(["search", "sample-tuples"], 2);
        }
        let Ok(policy) = builder.build() else { continue };
        let (job, source) = (Job::new(policy).seed(1), open(&folder().path("table.csv")));
        let Ok(report) = job.run(source, ReleaseBatches::new(), &Watch::silent()) else { continue };
        let left_out = left_out_of_report(document, &report);
        assert_eq!(
            left_out, [""; 0],
            "{algorithm:?}: {document} is judged by {:?}",
            report.privacy
        );
        assert!(report.privacy.iter().all(|judged| judged.satisfied));
        released += 1;
    }
    released
}

fn no_suppression() -> Setting {
    Setting::table([("limit", Setting::from(0))])
}

/// Documents that ask for what the others cannot be combined with.
fn other_policies() -> Vec<Value> {
    let mut present = whole_policy();
    let world = folder().path("world.csv");
    present["privacy"]["presence"] = json!({"min": 0.01, "max": 0.99, "population": world});
    present["search"] = json!({"algorithm": "spalm"});
    let mut distributed = whole_policy();
    distributed["attributes"]["salary"]["role"] = json!("insensitive");
    distributed["privacy"] = json!({
        "k": 2, "distribution": {"attribute": "diagnosis", "target": "uniform", "fakes": 6},
    });
    distributed["search"] = json!({"algorithm": "sa-only"});
    vec![present, distributed]
}

#[test]
fn what_a_report_leaves_out_would_be_seen() {
    let document = whole_policy();
    let policy: Policy = serde_json::from_value(document.clone()).unwrap();
    let source = open(&folder().path("table.csv"));
    let report = Job::new(policy).run(source, ReleaseBatches::new(), &Watch::silent()).unwrap();
    assert_eq!(left_out_of_report(&document, &report), [""; 0]);
    for at in 0..report.privacy.len() {
        let mut less = report.clone();
        let gone = less.privacy.remove(at);
        assert!(!left_out_of_report(&document, &less).is_empty(), "{gone:?}");
    }
}

/// Every part of a policy, replaced by every odd value, all the way to a release: in memory, as
/// regions, on disk, with a population and as a distribution.
#[test]
fn no_release_is_judged_by_less_than_was_asked() {
    let mut policies = vec![(whole_policy(), vec![None, Some("mondrian"), Some("rothko-s")])];
    policies.extend(other_policies().into_iter().map(|document| (document, vec![None])));
    for (document, algorithms) in policies {
        let mut released = 0;
        for at in 1..parts(&document) {
            for change in odd().into_iter().map(Change::Replace).chain([Change::Remove]) {
                let mut changed = document.clone();
                apply(&mut changed, &mut at.clone(), &change);
                released += releases_by_all(&changed, &algorithms);
            }
        }
        assert!(released > 50, "{released} releases of {document}");
    }
}
