//! Do local recodings lose the least with sets, and do sets survive whatever a value is? All
//! partitions of small tables, with the loss by its definition; hostile values from a file and
//! back.

use crate::bound::{lost, lost_in_set};
use crate::disk::{Row, read as rows_of};
use crate::fixture::{Bound, Folder, anonymize, open, read, run, verify};
use crate::local::{asked, partitions, search};
use crate::tables::{Asked, Drawn};
use scumble::error::Error;
use scumble::job::Job;
use scumble::policy::{Policy, PolicyBuilder};
use scumble::random::Random;
use scumble::recoding::{Local, Mapping, Style};
use scumble::release::{Recoded, ReleaseFile, Tables};
use scumble::table::Role;
use scumble::taxonomy::{Hierarchy, Side, said_set};
use scumble::watch::Watch;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A table, in some of whose columns sets are released.
struct Case {
    drawn: Drawn,
    asked: Vec<Asked>,
    sets: Vec<bool>,
    policy: Policy,
}

/// Random tables whose numbers and days are taken for texts in some columns.
fn cases(name: &'static str, seeds: u64) -> impl Iterator<Item = (u64, Case)> {
    (0..seeds).filter_map(move |seed| {
        let drawn = Drawn::for_regions(name, seed);
        let random = &mut Random::stream(61, seed);
        let asked = asked(&drawn, random);
        let set = |numbers: &Option<_>| numbers.is_some() && random.below(4) > 0;
        let sets: Vec<bool> = drawn.ordered.iter().map(set).collect();
        if asked.is_empty() || !sets.contains(&true) {
            return None;
        }
        let mut builder = drawn.policy_with(&asked, "algorithm = \"local\"").edit();
        for (number, _) in sets.iter().enumerate().filter(|(_, set)| **set) {
            builder = builder.sets(&format!("q{number}"), true);
        }
        let policy = builder.build().unwrap();
        Some((seed, Case { drawn, asked, sets, policy }))
    })
}

impl Case {
    /// LM of classes of rows by its definition, if every class meets the requirements.
    fn lm(&self, classes: &[Vec<usize>]) -> Option<f64> {
        let plain = &self.drawn.plain;
        let whole: Vec<usize> = (0..plain.rows).collect();
        let mut sum = 0.0;
        for class in classes {
            let mut demands = self.asked.iter().flat_map(|asked| &asked.demands);
            if !demands.all(|demand| demand.holds(plain, class, &whole)) {
                return None;
            }
            for (key, column) in plain.keys.iter().enumerate() {
                let lost = match self.sets[key] {
                    true => lost_in_set(column, class),
                    false => lost(column, self.drawn.ordered[key].as_ref(), class),
                };
                sum += lost * class.len() as f64;
            }
        }
        Some(sum / (plain.rows * plain.keys.len()) as f64)
    }
}

/// The rows of each class of a mapping, and its LM as the library has it.
fn released(bound: &Bound<'_>, mapping: &Mapping) -> Option<(Vec<Vec<usize>>, f64)> {
    let task = &bound.prepared.task;
    let recoded = Recoded::new(task, mapping, &Watch::default()).ok()?;
    let leaf_cell = &bound.prepared.leaf_cell;
    let class_of = recoded.class_of_row(bound.table, leaf_cell, &Watch::silent()).unwrap();
    let mut classes: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (row, class) in class_of.iter().enumerate() {
        classes.entry(class).or_default().push(row);
    }
    Some((classes.into_values().collect(), recoded.lm(task)))
}

/// With ranges that are tight, the loss of every partition is what the definition says, and the
/// search is never below the least of them and mostly there.
#[test]
fn small_tables_get_the_least_loss_with_sets() {
    let (mut tables, mut reached, mut excess, mut gained) = (0, 0, 0.0, 0);
    for (seed, case) in cases("sets-least", 1500) {
        let table = read(&case.drawn.file, b',', &case.policy);
        let bound = Bound::new(&table, &case.policy);
        let task = &bound.prepared.task;
        if !(3..=7).contains(&task.cells.len()) {
            continue;
        }
        let mut least: Option<f64> = None;
        for class_of in partitions(task.cells.len()) {
            let classes = class_of.iter().max().map_or(0, |class| class + 1);
            let mapping = Mapping::Local(Local { class_of, classes, style: Style::Tight });
            if let Some((classes, lm)) = released(&bound, &mapping) {
                let defined = case.lm(&classes).expect("the oracle agrees");
                assert!((lm - defined).abs() < 1e-9, "seed {seed}: {lm}, and not {defined}");
                least = Some(least.map_or(lm, |least| least.min(lm)));
            }
        }
        let found = search(task, Style::Tight, 1024);
        let Some(optimum) = least else {
            assert!(matches!(found, Err(Error::CannotBeMet { .. })), "seed {seed}");
            continue;
        };
        let found = found.unwrap();
        let (_, lm) = released(&bound, &found.mapping).expect("classes hold");
        assert!((found.cost.unwrap() - lm).abs() < 1e-5, "seed {seed}");
        assert!(lm > optimum - 1e-9, "seed {seed}: {lm} is below the optimum {optimum}");
        tables += 1;
        reached += usize::from(lm < optimum + 1e-9);
        excess += lm - optimum;
        // The same without sets, where every text that is not alone is `*`.
        let with_sets = case.sets.iter().enumerate().filter(|(_, set)| **set);
        let plain = with_sets.fold(case.policy.edit(), |builder, (number, _)| {
            let name = format!("q{number}");
            builder.sets(&name, false).set(["attributes", &name, "type"], "text")
        });
        let bound = Bound::new(&table, &plain.build().unwrap());
        let found = search(&bound.prepared.task, Style::Tight, 1024).unwrap();
        let (_, without) = released(&bound, &found.mapping).unwrap();
        gained += usize::from(lm < without - 1e-9);
    }
    let is_near = reached * 20 >= tables * 17 && excess / tables as f64 <= 0.015;
    assert!(tables >= 100 && is_near, "{reached} of {tables}, excess {excess}");
    assert!(gained * 5 > tables, "{gained} of {tables} are better with sets");
}

/// Values that look like parts of a set, like a set, or like nothing.
const HOSTILE: [&str; 14] = [
    "{", "}", "{a, b}", "a", "b", "a, b", "a,b", "\"a\"", "\"", " a", "a\nb", "\u{e4}{", "**", "{}",
];

/// A table of hostile values, and a policy that asks for sets.
fn hostile(folder: &Folder, rows: usize) -> (PathBuf, PolicyBuilder) {
    let random = &mut Random::stream(67, rows as u64);
    let mut text = String::from("x,y,n,s\n");
    for row in 0..rows {
        let x = HOSTILE[random.below(HOSTILE.len() as u64) as usize].replace('"', "\"\"");
        let y = ["", "?", "one", "two", "three"][random.below(5) as usize];
        text += &format!("\"{x}\",{y},{},v{}\n", random.below(30), row % 7);
    }
    let data = folder.write("table.csv", &text);
    let builder = Policy::builder()
        .quasi_identifier("x", Hierarchy::Sets)
        .role("y", Role::QuasiIdentifier)
        .sets("y", true)
        .missing("y", &["?"])
        .role("n", Role::QuasiIdentifier)
        .sensitive("s")
        .k(4);
    (data, builder)
}

/// Some columns of a file as texts.
fn texts(file: &Path, names: &[&str]) -> Vec<Vec<String>> {
    let (all, _, rows) = rows_of(file);
    let at = |name: &&str| all.iter().position(|known| known == name).unwrap();
    let columns: Vec<usize> = names.iter().map(at).collect();
    let text = |row: &Row, column: usize| row[column].clone().unwrap_or_default();
    rows.iter().map(|row| columns.iter().map(|at| text(row, *at)).collect()).collect()
}

/// Every row's value is in the set that is released for it, whatever the values are, and the
/// verification reads the labels back. The bytes are the same for any number of threads.
#[test]
fn hostile_values_survive_as_sets() {
    let folder = Folder::new("sets-hostile");
    let runs = [(60, "local", "0"), (1500, "local", "5%"), (120, "auto", "0")];
    for (rows, algorithm, limit) in runs {
        let (data, builder) = hostile(&folder, rows);
        let policy = builder.algorithm(algorithm).suppression(limit).build().unwrap();
        let output = folder.path("out.csv");
        let runs = [1, 2, 3].map(|threads| {
            let job = Job::new(policy.clone()).keep_order().threads(threads);
            run(&job, &data, &output).unwrap();
            std::fs::read(&output).unwrap()
        });
        assert!(runs.iter().all(|run| *run == runs[0]), "{algorithm}");
        assert!(verify(&output, &policy).satisfied);
        let (before, after) = (texts(&data, &["x", "y", "s"]), texts(&output, &["x", "y", "s"]));
        let (mut of_several, mut of_one, mut next) = (0, 0, 0);
        for row in &after {
            // Suppressed rows are left out, and the others keep their order.
            let covers = |label: &String, value: &str| {
                let set = said_set(label).expect("a label that can be read");
                label == "*" || set.iter().any(|member| member == value)
            };
            let fits = |original: &Vec<String>| {
                let y = if original[1] == "?" { "" } else { &original[1] };
                covers(&row[0], &original[0]) && covers(&row[1], y) && original[2] == row[2]
            };
            next += before[next..].iter().position(fits).expect("a row with these values") + 1;
            for set in row[..2].iter().filter(|label| label.starts_with('{')) {
                let is_one = said_set(set).unwrap().len() == 1;
                *(if is_one { &mut of_one } else { &mut of_several }) += 1;
            }
        }
        assert!(limit != "0" || after.len() == before.len());
        assert!(of_several > 10, "{algorithm}: {of_several} {of_one}");
        assert!(rows < 1500 || of_one > 0, "{of_one}");
    }
}

/// A set that nobody would write is no label, and a value that is written like the root is refused.
#[test]
fn what_is_no_set_is_refused() {
    let folder = Folder::new("sets-tampered");
    let (data, builder) = hostile(&folder, 80);
    let policy = builder.algorithm("local").build().unwrap();
    let output = folder.path("out.csv");
    anonymize(&data, &policy, &output).unwrap();
    let text = std::fs::read_to_string(&output).unwrap();
    let labels = texts(&output, &["x"]).into_iter().map(|mut row| row.remove(0));
    let is_set = |label: &String| label.starts_with('{') && said_set(label).unwrap().len() > 1;
    let label = labels.into_iter().find(is_set).expect("a set");
    // All rows of a class get another label, so that only the label can be wrong.
    let satisfied = |other: &str| {
        let quoted = |label: &str| format!("\"{}\"", label.replace('"', "\"\""));
        let tampered = text.replace(&quoted(&label), &quoted(other));
        assert!(tampered != text || other == label, "{label}");
        let release = Tables::open(&folder.write("tampered.csv", &tampered)).unwrap();
        let job = Job::new(policy.clone());
        job.verify(&release, None, None, &Watch::silent()).unwrap().satisfied
    };
    let inner = &label[1..label.len() - 1];
    assert!(satisfied(&label) && satisfied(&format!("{{{inner}, zz}}")));
    for wrong in [format!("{{{inner}"), format!("{{{label}"), format!("{{{inner},zz}}")] {
        assert!(!satisfied(&wrong), "{wrong}");
    }
    let root = "x,y,n,s\n*,one,1,v\na,one,1,v\nb,one,1,v\nb,one,1,v\n";
    let error = anonymize(&folder.write("root.csv", root), &policy, &output).unwrap_err();
    assert!(matches!(error, Error::AmbiguousLabel { .. }), "{error}");
}

/// Where sets cannot act they are refused, and the message names the key.
#[test]
fn sets_without_effect_are_refused() {
    let folder = Folder::new("sets-refused");
    let (data, base) = hostile(&folder, 40);
    let output = folder.path("out.csv");
    let refused = |builder: PolicyBuilder, why: &str| {
        let error = builder.build().and_then(|policy| anonymize(&data, &policy, &output));
        let text = error.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains("attributes.x.sets") && text.contains(why), "{why}: {text}");
    };
    let elsewhere = "requires a search for local recodings";
    for algorithm in [
        "incognito",
        "mondrian",
        "rothko-t",
        "rothko-s",
        "l-plus-optimize",
        "annealing",
        "s-instant",
        "m-instant",
    ] {
        refused(base.clone().algorithm(algorithm), elsewhere);
    }
    for recoding in ["levels", "cuts", "regions"] {
        refused(base.clone().set(["search", "recoding"], recoding), elsewhere);
    }
    let masked = base.clone().set(["attributes", "x", "hierarchy", "mask"], "right");
    refused(masked, "requires a column without a hierarchy");
    refused(base.clone().set(["attributes", "x", "type"], "integer"), "requires the type text");
    let other = base.clone().set(["attributes", "x", "role"], "insensitive");
    refused(other, "requires the role quasi-identifier");
    let policy = base.build().unwrap();
    let levels = ["x", "y", "n"].map(|name| (name.to_string(), 1)).to_vec();
    let error = run(&Job::new(policy.clone()).levels(levels), &data, &output).unwrap_err();
    assert!(error.to_string().contains("attributes.x.sets"), "{error}");
    let sink = ReleaseFile::new(&output).unwrap().save_recoding(&folder.path("saved.json"));
    let error = Job::new(policy.clone()).run(open(&data), sink, &Watch::silent()).unwrap_err();
    assert!(error.to_string().contains("attributes.x.sets"), "{error}");
}

/// A set is one word of 64 bits.
#[test]
fn a_column_of_sets_has_at_most_64_values() {
    let folder = Folder::new("sets-many");
    let (_, base) = hostile(&folder, 40);
    let (policy, output) = (base.k(2).algorithm("local").build().unwrap(), folder.path("out.csv"));
    let table = |values: u32| {
        let rows: String = (0..values).map(|n| format!("v{n:02},one,{},s\n", n / 2)).collect();
        folder.write("many.csv", &format!("x,y,n,s\n{rows}"))
    };
    let error = anonymize(&table(65), &policy, &output).unwrap_err();
    assert!(error.to_string().contains("at most 64 different values"), "{error}");
    // The last bit counts like the first.
    anonymize(&table(64), &policy, &output).unwrap();
    let labels: BTreeSet<String> =
        texts(&output, &["x"]).into_iter().map(|mut row| row.remove(0)).collect();
    let sets: Vec<Vec<String>> = labels.iter().map(|label| said_set(label).unwrap()).collect();
    let all: BTreeSet<&String> = sets.iter().flatten().collect();
    assert!(all.len() == 64 && sets.iter().all(|set| set.len() == 2), "{labels:?}");
    // Serde keeps the key, and a builder that gives a hierarchy takes it back.
    let again: Policy = serde_json::from_str(&serde_json::to_string(&policy).unwrap()).unwrap();
    assert!(again.attribute("x").unwrap().has_sets());
    let edited = policy.edit().hierarchy("x", Hierarchy::mask(Side::Right, '#')).build().unwrap();
    assert!(!edited.attribute("x").unwrap().has_sets());
}
