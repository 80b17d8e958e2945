//! Does every search heed the weights of columns, or say that it does not? Full-domain recodings
//! are compared with all nodes of the lattice; cuts, regions, local recodings and the lower bound
//! have weights in the tests of their own files.

use crate::fixture::{Bound, Folder, STRATEGIES, anonymize, read, verify};
use crate::oracle::Outcome;
use crate::tables::{Asked, AskedKind, Drawn};
use scumble::error::Error;
use scumble::job::{Job, Synthetic, generate};
use scumble::policy::{Policy, PolicyBuilder};
use scumble::random::Random;
use scumble::recoding::{Mapping, Style};
use scumble::release::{Losses, Lost, Recoded};
use scumble::search::Task;
use scumble::search::local::{self, Course, Progress};
use scumble::table::Role;
use scumble::watch::Watch;
use scumble::{ReleaseKind, Report};

/// Random tables of which something is asked, each with its seed.
fn cases(name: &'static str, seeds: u64) -> impl Iterator<Item = (u64, Drawn, Vec<Asked>, Random)> {
    (0..seeds).filter_map(move |seed| {
        let drawn = Drawn::new(name, seed);
        let mut random = Random::stream(53, seed);
        let kind = AskedKind::ALL[seed as usize % AskedKind::ALL.len()];
        let asked = drawn.ask(&mut random, kind)?;
        Some((seed, drawn, vec![asked], random))
    })
}

/// The weighted mean of the columns' LM.
fn mean(outcome: &Outcome, weights: &[u64]) -> f64 {
    let columns = outcome.lm_of.iter().zip(weights);
    let sum: f64 = columns.map(|(lm, weight)| lm * *weight as f64).sum();
    sum / weights.iter().sum::<u64>() as f64
}

/// The full-domain search finds the least weighted LM of all nodes, in every order, and a larger
/// weight never costs its own column more.
#[test]
fn the_weighted_optimum_is_found_and_weights_never_hurt_their_column() {
    let (mut searches, mut changed, mut suppressed) = (0, 0, 0);
    for (seed, drawn, asked, mut random) in cases("weights", 400) {
        let limit = ["0", "0.1", "0.3"][random.below(3) as usize];
        let plain = drawn.policy(&asked, "lm", limit);
        let (mut weights, mut policy) = drawn.weigh(&mut random, &plain);
        let demands: Vec<_> = asked.iter().flat_map(|asked| asked.demands.clone()).collect();
        let outcomes = drawn.plain.outcomes(&demands);
        let rows = drawn.plain.rows;
        let table = read(&drawn.file, b',', &policy);
        let mut before: Option<Outcome> = None;
        let raised = random.below(weights.len() as u64) as usize;
        for round in 0..3 {
            let bound = Bound::new(&table, &policy);
            let suppressible = bound.prepared.task.suppressible as usize;
            let feasible = outcomes.iter().filter(|one| one.is_feasible(rows, suppressible));
            let least = feasible.map(|one| mean(one, &weights)).min_by(f64::total_cmp);
            for strategy in STRATEGIES {
                let found = bound.search(strategy);
                assert_eq!(found.is_some(), least.is_some(), "seed {seed}");
                let (Some(found), Some(least)) = (found, least) else { continue };
                let outcome = outcomes.iter().find(|one| one.levels == found.levels).unwrap();
                assert!(outcome.is_feasible(rows, suppressible), "seed {seed}");
                assert!((found.cost - least).abs() < 1e-9, "seed {seed}: {found:?} {least}");
                assert!((mean(outcome, &weights) - least).abs() < 1e-9, "seed {seed}");
                searches += 1;
                suppressed += usize::from(outcome.suppressed > 0);
                if let Some(before) = &before {
                    let (lm, known) = (outcome.lm_of[raised], before.lm_of[raised]);
                    assert!(lm <= known + 1e-9, "seed {seed}, round {round}: {lm} above {known}");
                    changed += usize::from(lm < known - 1e-9);
                }
                if strategy == STRATEGIES[2] {
                    before = Some(outcome.clone());
                }
            }
            weights[raised] *= 4;
            let name = format!("q{raised}");
            policy = policy.edit().weight(&name, weights[raised]).build().unwrap();
        }
    }
    assert!(searches > 2000 && changed > 100 && suppressed > 100);
}

/// What a column loses, as a mean over all rows.
fn lm_of(task: &Task, mapping: &Mapping, column: usize) -> f64 {
    let recoded = Recoded::new(task, mapping, &Watch::default()).unwrap();
    let whole = (task.taxonomies[column].leaves() - 1).max(1) as f64;
    let lost = recoded.classes.ids().map(|class| {
        let rows = f64::from(recoded.classes.count(class));
        let value = recoded.classes.codes(class)[column];
        let share = match recoded.values[column].lost(value) {
            _ if !recoded.kept[class] => 1.0,
            Lost::Leaves(leaves) => leaves as f64 / whole,
            Lost::Share(share) => share,
        };
        rows * share
    });
    lost.sum::<f64>() / task.rows() as f64
}

fn census(folder: &Folder, rows: u64) -> (std::path::PathBuf, Policy) {
    let data = folder.path("census.csv");
    let files = generate(Synthetic::Census, rows, 5, &data, None, &Watch::default()).unwrap();
    (data, Policy::read(&files[1]).unwrap())
}

/// On a census, local recoding gives detail back to each column that weighs more, and what it finds
/// for the weights is better than what it finds without them.
#[test]
fn local_recodings_heed_weights() {
    let folder = Folder::new("weights-local");
    let (data, policy) = census(&folder, 1500);
    let policy = policy.edit().k(5).suppression("1%").algorithm("local").build().unwrap();
    let found = |policy: &Policy| {
        let table = read(&data, b',', policy);
        let task = policy.prepare(&table).unwrap().task;
        let mut heat = |progress: &Progress| {
            (progress.steps < 6000).then(|| 1.0 - progress.steps as f64 / 6000.0)
        };
        let course = Course { style: Style::Cover, seed: 1, top: 1 };
        let mut found = local::search(&task, None, course, &mut heat, &Watch::silent()).unwrap();
        (task, found.remove(0))
    };
    let (task, even) = found(&policy);
    let names = Bound::new(&read(&data, b',', &policy), &policy).prepared.names;
    assert!(names.len() >= 4);
    for (column, name) in names.iter().enumerate() {
        let weighted = policy.edit().weight(name, 10).build().unwrap();
        let (weighted_task, found) = found(&weighted);
        let before = lm_of(&task, &even.mapping, column);
        let after = lm_of(&weighted_task, &found.mapping, column);
        assert!(after < before || before == 0.0, "{name}: {after} is not below {before}");
        let aim = |mapping: &Mapping| {
            let recoded = Recoded::new(&weighted_task, mapping, &Watch::default()).unwrap();
            recoded.lm_weighted(&weighted_task).unwrap()
        };
        let (least, plain) = (aim(&found.mapping), aim(&even.mapping));
        assert!(least < plain || before == 0.0, "{name}: {least} is not below {plain}");
        assert!((found.cost.unwrap() - least).abs() < 1e-5, "{name}");
    }
}

fn losses(report: &Report) -> Losses {
    let ReleaseKind::Table { loss, .. } = &report.release else { panic!("a table") };
    *loss
}

/// Algorithms that heed weights.
const HEEDING: [&str; 8] = [
    "auto",
    "incognito",
    "mondrian",
    "local",
    "l-plus-optimize",
    "annealing",
    "s-instant",
    "rothko-t",
];

/// Equal weights are the same as none, for every algorithm and byte for byte; other weights change
/// something. The report has both means, and all of them are verified.
#[test]
fn equal_weights_change_no_byte() {
    let folder = Folder::new("weights-equal");
    let (data, policy) = census(&folder, 400);
    // Cuts do not support distinct diversity.
    let policy = policy.edit().k(4).remove(["privacy", "l-diversity"]).scheme("none");
    let policy = policy.build().unwrap();
    let names = Bound::new(&read(&data, b',', &policy), &policy).prepared.names;
    let mut changed = 0;
    for algorithm in HEEDING {
        let policy = policy.edit().algorithm(algorithm).build().unwrap();
        let run = |policy: &Policy| {
            let output = folder.path("out.csv");
            let report = anonymize(&data, policy, &output).unwrap();
            assert!(verify(&output, policy).satisfied);
            (report, std::fs::read(&output).unwrap())
        };
        let weigh = |weight: &dyn Fn(usize) -> &'static str| {
            let with = |builder: PolicyBuilder, (number, name): (usize, &String)| {
                builder.weight(name, weight(number))
            };
            names.iter().enumerate().fold(policy.edit(), with).build().unwrap()
        };
        let (report, plain) = run(&policy);
        assert_eq!(losses(&report).lm_weighted, None);
        for weight in ["1", "0.7"] {
            let (equal, bytes) = run(&weigh(&|_| weight));
            assert!(bytes == plain, "{algorithm}: weights of {weight}");
            assert_eq!(losses(&equal).lm_weighted, Some(losses(&report).lm), "{algorithm}");
        }
        let (other, bytes) = run(&weigh(&|number| ["9", "1/2", "1"][number % 3]));
        changed += usize::from(bytes != plain);
        let loss = losses(&other);
        let weighted = loss.lm_weighted.unwrap();
        assert!(loss.lm_bound.is_none() && weighted > 0.0 && weighted <= 1.0, "{algorithm}");
        if ["auto", "local"].contains(&algorithm) {
            let bound = loss.lm_weighted_bound.unwrap();
            assert!(bound > 0.0 && bound <= weighted, "{algorithm}: {bound} {weighted}");
            let private = other.private.as_ref().unwrap().loss;
            assert_eq!((private.lm_weighted_bound, private.lm_bound), (Some(bound), None));
            let published = std::fs::read(folder.path("out.csv.report.json")).unwrap();
            let published: serde_json::Value = serde_json::from_slice(&published).unwrap();
            assert_eq!(published["loss"].get("lm-weighted-bound"), None);
            assert_eq!(published["loss"]["lm-weighted"], weighted);
        }
        for alternative in &other.alternatives {
            assert!(alternative.loss.lm_weighted.unwrap() >= weighted, "{alternative:?}");
        }
        if algorithm == "s-instant" {
            let ReleaseKind::Table { search: Some(search), .. } = &other.release else { panic!() };
            assert!((search.cost.unwrap() - weighted).abs() < 1e-9, "nothing is suppressed");
        }
    }
    assert!(changed >= 6, "{changed}");
}

/// Weights that cannot act are refused, and the message names the key.
#[test]
fn weights_without_effect_are_refused() {
    let folder = Folder::new("weights-refused");
    let data = folder.write("t.csv", "a,b,s,n\n1,x,u,1\n2,y,v,2\n1,x,v,3\n2,y,u,4\n");
    let base = Policy::builder()
        .role("a", Role::QuasiIdentifier)
        .role("b", Role::QuasiIdentifier)
        .sensitive("s")
        .target("n")
        .weight("b", 3)
        .k(2);
    let refused = |builder: PolicyBuilder, why: &str| {
        let error = builder
            .build()
            .and_then(|policy| anonymize(&data, &policy, &folder.path("out.csv")))
            .err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains("attributes.b.weight") && text.contains(why), "{why}: {text}");
    };
    for loss in ["dm", "cm"] {
        for algorithm in ["auto", "incognito", "l-plus-optimize"] {
            refused(base.clone().loss(loss).algorithm(algorithm), "requires the loss lm");
        }
    }
    refused(base.clone().loss("dm").algorithm("s-instant"), "requires the loss lm");
    for split in ["median", "info-gain", "regression"] {
        for algorithm in ["mondrian", "rothko-t", "rothko-s"] {
            refused(base.clone().algorithm(algorithm).split(split), "requires the split `loss`");
        }
        let regions = base.clone().set(["search", "recoding"], "regions").split(split);
        refused(regions, "requires the split `loss`");
    }
    refused(base.clone().algorithm("m-instant"), "m-instant");
    let distribution = base.clone().distribution("s", "source");
    let error = distribution.build().and_then(|policy| {
        let sink = scumble::release::ReleaseFolder::new(&folder.path("out"))?;
        Job::new(policy).run(crate::fixture::open(&data), sink, &Watch::silent())
    });
    let text = error.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(text.contains("attributes.b.weight") && text.contains("distribution"), "{text}");
    for role in ["identifier", "sensitive", "target", "insensitive"] {
        let other = base.clone().set(["attributes", "b", "role"], role);
        refused(other, "requires the role quasi-identifier");
    }
    let defaults = base.clone().remove(["attributes", "b", "role"]);
    refused(defaults.clone(), "requires the role quasi-identifier");
    let by_default = defaults.default_role(Role::QuasiIdentifier);
    assert!(by_default.build().is_ok());
    for bad in ["0", "-1", "x", "1/0", "nan"] {
        refused(base.clone().weight("b", bad), "a number above 0");
    }
    refused(base.clone().weight("b", true), "a number above 0");
    refused(base.clone().weight("b", "1e-18"), "common denominator");
    // A limit on what is searched is none on what is given, and a weight is exact on every way.
    let policy = base.weight("a", "1/3").loss("dm").build().unwrap();
    let json = serde_json::to_string(&policy).unwrap();
    let again: Policy = serde_json::from_str(&json).unwrap();
    for (name, weight) in [("a", "1/3"), ("b", "3")] {
        let attribute = again.attribute(name).unwrap();
        assert_eq!(attribute.weight, Some(weight.parse().unwrap()));
    }
    let levels = Job::new(policy).levels(vec![("a".into(), 1), ("b".into(), 0)]);
    let report = crate::fixture::run(&levels, &data, &folder.path("out.csv")).unwrap();
    let loss = losses(&report);
    assert_eq!((loss.lm, loss.lm_weighted), (0.5, Some(0.1)));
}

/// A presence is searched by LM too, and regions under one are not.
#[test]
fn presence_heeds_weights_or_refuses_them() {
    let folder = Folder::new("weights-presence");
    // Each value of either column has four people, two of whom are in the table.
    let people = || (0..16).map(|n| (n % 4, n / 4));
    let listed = |(a, b): (u32, u32)| format!("{a},{b}\n");
    let world: String = people().map(listed).collect();
    folder.write("world.csv", &format!("a,b\n{world}"));
    let some: String = people().filter(|(a, b)| (a + b) % 2 == 0).map(listed).collect();
    let data = folder.write("t.csv", &format!("a,b\n{some}"));
    let policy = |algorithm: &str, heavy: &str| {
        Policy::builder()
            .role("a", Role::QuasiIdentifier)
            .role("b", Role::QuasiIdentifier)
            .weight(heavy, 50)
            .presence(0, 0.5, &folder.path("world.csv"))
            .algorithm(algorithm)
            .build()
            .unwrap()
    };
    let levels = |heavy: &str| {
        let report = anonymize(&data, &policy("spalm", heavy), &folder.path("out.csv")).unwrap();
        let ReleaseKind::Table { recoding, .. } = &report.release else { panic!("a table") };
        format!("{recoding:?}")
    };
    assert_ne!(levels("a"), levels("b"));
    let error = anonymize(&data, &policy("mpalm", "a"), &folder.path("out.csv")).unwrap_err();
    assert!(matches!(&error, Error::Inapplicable { key, .. } if key == "attributes.a.weight"));
}
