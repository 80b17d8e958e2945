//! Does local recoding keep its promises? Random small tables with trees and numbers, every kind of
//! requirement: each class is judged by the oracle, the loss by brute force over all partitions,
//! and `auto` by every single algorithm.

use crate::fixture::{Bound, anonymize, open, read, verify};
use crate::tables::{Asked, AskedKind, Drawn};
use scumble::error::Error;
use scumble::ids::CellId;
use scumble::job::Job;
use scumble::loss::LossChoice;
use scumble::policy::Policy;
use scumble::random::Random;
use scumble::recoding::{Local, Mapping, Style};
use scumble::release::{Recoded, ReleaseFile};
use scumble::search::local::{self, Course, Progress};
use scumble::search::{Found, Task};
use scumble::watch::Watch;
use scumble::{ReleaseKind, Report};
use std::collections::BTreeMap;

pub fn asked(drawn: &Drawn, random: &mut Random) -> Vec<Asked> {
    let kinds = 1 + random.below(2);
    let kind = |_| AskedKind::ALL[random.below(AskedKind::ALL.len() as u64) as usize];
    let mut kinds: Vec<AskedKind> = (0..kinds).map(kind).collect();
    // A policy has each key once.
    let key = |kind: &AskedKind| match kind {
        AskedKind::Size => 0,
        AskedKind::Close(_) => 1,
        AskedKind::Spread => 2,
        _ => 3,
    };
    kinds.dedup_by_key(|kind| key(kind));
    kinds.into_iter().filter_map(|kind| drawn.ask(random, kind)).collect()
}

/// Random tables of which something is asked, each with its seed.
fn cases(
    name: &'static str,
    stream: u64,
    seeds: u64,
) -> impl Iterator<Item = (u64, Drawn, Vec<Asked>)> {
    (0..seeds).filter_map(move |seed| {
        let drawn = Drawn::for_regions(name, seed);
        let asked = asked(&drawn, &mut Random::stream(stream, seed));
        (!asked.is_empty()).then_some((seed, drawn, asked))
    })
}

pub fn search(task: &Task, style: Style, steps: u64) -> Result<Found, Error> {
    let mut heat = |progress: &Progress| {
        (progress.steps < steps).then(|| 1.0 - progress.steps as f64 / steps as f64)
    };
    let course = Course { style, seed: 3, top: 1 };
    local::search(task, None, course, &mut heat, &Watch::silent()).map(|mut found| found.remove(0))
}

/// The oracle agrees with every class of every local recoding, whatever is asked.
#[test]
fn classes_of_local_recodings_meet_every_requirement() {
    let (mut released, mut refused, mut several) = (0, 0, 0);
    for (seed, drawn, asked) in cases("local", 31, 300) {
        let policy = drawn.policy_with(&asked, "algorithm = \"local\"");
        let table = read(&drawn.file, b',', &policy);
        let bound = Bound::new(&table, &policy);
        let task = &bound.prepared.task;
        let style = if seed % 2 == 0 { Style::Cover } else { Style::Tight };
        let found = match search(task, style, 512) {
            Ok(found) => found,
            Err(Error::CannotBeMet { .. }) => {
                refused += 1;
                continue;
            }
            Err(other) => panic!("seed {seed}: {other}"),
        };
        let recoded = Recoded::new(task, &found.mapping, &Watch::default()).unwrap();
        assert_eq!(recoded.suppressed, 0, "seed {seed}");
        let cost = found.cost.unwrap();
        assert!((recoded.lm(task) - cost).abs() < 1e-5, "{cost} is not {}", recoded.lm(task));
        let leaf_cell = &bound.prepared.leaf_cell;
        let class_of = recoded.class_of_row(&table, leaf_cell, &Watch::silent()).unwrap();
        let mut parts: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (row, class) in class_of.iter().enumerate() {
            parts.entry(class).or_default().push(row);
        }
        let whole: Vec<usize> = (0..table.rows() as usize).collect();
        for demand in asked.iter().flat_map(|asked| &asked.demands) {
            for part in parts.values() {
                assert!(demand.holds(&drawn.plain, part, &whole), "seed {seed}: {demand:?}");
            }
        }
        released += 1;
        several += usize::from(parts.len() > 2);
    }
    assert!(released > 100 && refused > 5 && several > 50, "{released} {refused} {several}");
}

/// All partitions of some cells, as the class of each cell.
pub fn partitions(cells: usize) -> Vec<Vec<u32>> {
    let mut all = vec![Vec::new()];
    for _ in 0..cells {
        let longer = |known: &Vec<u32>| {
            let next = known.iter().max().map_or(0, |class| class + 1);
            let known = known.clone();
            (0..=next).map(move |class| known.iter().copied().chain([class]).collect::<Vec<_>>())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// What is minimized.
fn aim(task: &Task, recoded: &Recoded) -> f64 {
    recoded.lm_weighted(task).unwrap_or_else(|| recoded.lm(task))
}

/// The least LM over all partitions of the cells whose classes all hold.
fn least(task: &Task, style: Style) -> Option<f64> {
    let lm = |class_of: Vec<u32>| {
        let classes = class_of.iter().max().map_or(0, |class| class + 1);
        let mapping = Mapping::Local(Local { class_of, classes, style });
        Recoded::new(task, &mapping, &Watch::default()).ok().map(|recoded| aim(task, &recoded))
    };
    partitions(task.cells.len()).into_iter().filter_map(lm).reduce(f64::min)
}

/// On tables so small that all partitions can be tried, the search is never below the optimum and
/// mostly there.
#[test]
fn small_tables_get_the_least_loss_of_all_partitions() {
    let (mut tables, mut reached, mut excess) = (0, 0, 0.0);
    for (seed, drawn, asked) in cases("local-least", 37, 900) {
        let mut policy = drawn.policy_with(&asked, "algorithm = \"local\"");
        if seed % 3 == 0 {
            policy = policy.edit().weight("q0", 1 + seed % 5).build().unwrap();
        }
        let table = read(&drawn.file, b',', &policy);
        let bound = Bound::new(&table, &policy);
        let task = &bound.prepared.task;
        if !(3..=7).contains(&task.cells.len()) {
            continue;
        }
        let optimum = least(task, Style::Cover);
        let found = search(task, Style::Cover, 1024);
        let Some(optimum) = optimum else {
            assert!(matches!(found, Err(Error::CannotBeMet { .. })), "seed {seed}");
            continue;
        };
        let recoded = Recoded::new(task, &found.unwrap().mapping, &Watch::default()).unwrap();
        let lm = aim(task, &recoded);
        assert!(lm > optimum - 1e-9, "seed {seed}: {lm} is below the optimum {optimum}");
        tables += 1;
        reached += usize::from(lm < optimum + 1e-9);
        excess += lm - optimum;
    }
    let is_near = reached * 20 >= tables * 17 && excess / tables as f64 <= 0.015;
    assert!(tables >= 100 && is_near, "{reached} of {tables}, excess {excess}");
}

/// Squared class sizes, or the rows outside the majority label of their class.
fn plain_cost(task: &Task, class_of: &[u32], loss: LossChoice) -> u64 {
    let mut classes: BTreeMap<u32, BTreeMap<u32, u64>> = BTreeMap::new();
    for (cell, class) in (0..).zip(class_of) {
        let labels = classes.entry(*class).or_default();
        match loss {
            LossChoice::Dm => {
                *labels.entry(0).or_default() += u64::from(task.cells.count(CellId(cell)));
            }
            _ => task.tallies[0]
                .group(cell as usize)
                .iter()
                .for_each(|(label, rows)| *labels.entry(*label).or_default() += u64::from(*rows)),
        }
    }
    let cost = |labels: &BTreeMap<u32, u64>| {
        let (rows, most) = (labels.values().sum::<u64>(), *labels.values().max().unwrap());
        if loss == LossChoice::Dm { rows * rows } else { rows - most }
    };
    classes.values().map(cost).sum()
}

/// With another loss as the aim, the cost that is reported is that of the classes, and near the
/// least over all partitions.
#[test]
fn other_losses_come_near_the_least_of_all_partitions() {
    for loss in [LossChoice::Dm, LossChoice::Cm] {
        let (mut tables, mut reached) = (0, 0);
        for (seed, drawn, asked) in cases("local-aims", 43, 900) {
            let policy = drawn.policy_with(&asked, "algorithm = \"local\"");
            let table = read(&drawn.file, b',', &policy);
            let mut bound = Bound::new(&table, &policy);
            let task = &mut bound.prepared.task;
            if !(3..=7).contains(&task.cells.len()) || task.tallies.is_empty() {
                continue;
            }
            (task.loss, task.target) = (loss, Some(0));
            let is_allowable = |class_of: &Vec<u32>| {
                let classes = class_of.iter().max().map_or(0, |class| class + 1);
                let (class_of, style) = (class_of.clone(), Style::Cover);
                let mapping = Mapping::Local(Local { class_of, classes, style });
                Recoded::new(task, &mapping, &Watch::default()).is_ok()
            };
            let allowable = partitions(task.cells.len()).into_iter().filter(is_allowable);
            let optimum = allowable.map(|class_of| plain_cost(task, &class_of, loss)).min();
            let Some(optimum) = optimum else { continue };
            let found = search(task, Style::Cover, 1024).unwrap();
            let Mapping::Local(Local { class_of, .. }) = &found.mapping else { panic!("local") };
            let cost = plain_cost(task, class_of, loss);
            let unit = if loss == LossChoice::Dm { 1.0 } else { task.rows() as f64 };
            let reported = found.cost.unwrap() * unit;
            assert!((reported - cost as f64).abs() < 1e-3, "seed {seed}: {reported}, {cost}");
            assert!(cost >= optimum, "seed {seed}: {cost} is below the optimum {optimum}");
            tables += 1;
            reached += usize::from(cost == optimum);
        }
        assert!(tables >= 100 && reached * 20 >= tables * 17, "{loss:?}: {reached} of {tables}");
    }
}

/// What is kept to draw from are different recodings, the cheapest first.
#[test]
fn the_best_recodings_are_different_and_in_order() {
    let mut most = 0;
    for (seed, drawn, asked) in cases("local-top", 47, 60) {
        let policy = drawn.policy_with(&asked, "algorithm = \"local\"");
        let table = read(&drawn.file, b',', &policy);
        let bound = Bound::new(&table, &policy);
        let mut heat = |progress: &Progress| (progress.steps < 4096).then_some(0.5);
        let course = Course { style: Style::Cover, seed, top: 5 };
        let found = local::search(&bound.prepared.task, None, course, &mut heat, &Watch::silent());
        let Ok(found) = found else { continue };
        assert!((1..=5).contains(&found.len()));
        assert!(found.windows(2).all(|pair| pair[0].cost <= pair[1].cost), "seed {seed}");
        for (at, one) in found.iter().enumerate() {
            Recoded::new(&bound.prepared.task, &one.mapping, &Watch::default()).unwrap();
            let is_other = |other: &Found| other.mapping != one.mapping;
            assert!(found[at + 1..].iter().all(is_other), "seed {seed}");
        }
        most = most.max(found.len());
    }
    assert_eq!(most, 5);
}

/// A row far from all others is suppressed as soon as that is allowed, since it would widen a class
/// of twenty.
#[test]
fn an_outlier_is_suppressed_if_that_costs_less() {
    let drawn = Drawn::for_regions("local-outlier", 1);
    let rows = format!("a\n{}{}100\n", "1\n".repeat(20), "2\n".repeat(20));
    let file = drawn.folder.path("outlier.csv");
    std::fs::write(&file, rows).unwrap();
    let release = |limit: &str| {
        let policy = crate::fixture::policy(
            &drawn.folder.path(""),
            &format!(
                "[attributes.a]\nrole = \"quasi-identifier\"\ntype = \"integer\"\n\
                 [privacy]\nk = 5\n[search]\nalgorithm = \"local\"\n\
                 suppression = {{ limit = {limit} }}\n"
            ),
        );
        let report = anonymize(&file, &policy, &drawn.folder.path("out.csv")).unwrap();
        let ReleaseKind::Table { loss, .. } = report.release else { panic!("a table") };
        (report.suppressed, loss.lm)
    };
    let (suppressed, lm) = release("0.1");
    assert_eq!((suppressed, lm), (1, 1.0 / 41.0));
    let (suppressed, lm) = release("0");
    assert!(suppressed == 0 && lm > 0.5, "{suppressed} {lm}");
}

/// Classes that are too large to be dissolved are taken apart nonetheless.
#[test]
fn large_classes_are_taken_apart() {
    let drawn = Drawn::for_regions("local-large", 1);
    let mut rows = String::from("a,b,illness\n");
    let mut random = Random::new(5);
    for _ in 0..600 {
        let illness = ["flu", "gout", "asthma", "cold", "flu", "flu"][random.below(6) as usize];
        rows += &format!("{},{},{illness}\n", random.below(40), random.below(40));
    }
    let file = drawn.folder.path("large.csv");
    std::fs::write(&file, rows).unwrap();
    let policy = crate::fixture::policy(
        &drawn.folder.path(""),
        "[attributes]\na = { role = \"quasi-identifier\", type = \"integer\" }\n\
         b = { role = \"quasi-identifier\", type = \"integer\" }\n\
         illness = { role = \"sensitive\" }\n\
         [privacy]\nk = 5\nl-diversity = { kind = \"frequency\", l = 1.7 }\n",
    );
    let table = read(&file, b',', &policy);
    let bound = Bound::new(&table, &policy);
    let cost = |steps| search(&bound.prepared.task, Style::Cover, steps).unwrap().cost.unwrap();
    let (start, end) = (cost(0), cost(8192));
    assert!(end < 0.8 * start && end < 0.25, "{start} {end}");
}

/// What a release loses by the loss of its policy, and its report, if there is one.
fn loss_of(drawn: &Drawn, policy: &Policy, is_saved: bool) -> Option<(f64, Report)> {
    let output = drawn.folder.path("out.csv");
    let input = open(&drawn.file);
    let mut sink = ReleaseFile::new(&output).unwrap().like(&input);
    if is_saved {
        sink = sink.save_recoding(&drawn.folder.path("saved.json"));
    }
    match Job::new(policy.clone()).run(&input, sink, &Watch::silent()) {
        Ok(report) => {
            let ReleaseKind::Table { loss, .. } = &report.release else { panic!("a table") };
            assert!(verify(&output, policy).satisfied);
            let lost = match policy.search().loss {
                LossChoice::Lm => loss.lm,
                LossChoice::Dm => loss.dm as f64,
                LossChoice::Cm => loss.cm.expect("the policy has a target"),
            };
            Some((lost, report))
        }
        Err(Error::CannotBeMet { .. }) => None,
        // Cuts do not support every requirement.
        Err(Error::Incomplete { .. }) if policy.search().algorithm.is_on_cuts() => None,
        Err(other) => panic!("{other}"),
    }
}

/// Whatever one algorithm can do, the default does as well. Returns the number of tables, how often
/// each algorithm was chosen, and how often cuts were among the others.
fn compare_auto(
    name: &'static str,
    loss: &str,
    is_saved: bool,
    singles: &[&str],
) -> (usize, BTreeMap<String, usize>, usize) {
    let (mut tables, mut chosen, mut others) = (0, BTreeMap::<String, usize>::new(), 0);
    for (seed, drawn, asked) in cases(name, 41, 330) {
        let suppression = ["", "suppression = { limit = 0.2 }"][seed as usize % 2];
        let policy = |algorithm: &str| {
            let search = format!("algorithm = \"{algorithm}\"\nloss = \"{loss}\"\n{suppression}");
            drawn.policy_with(&asked, &search)
        };
        let auto = loss_of(&drawn, &policy("auto"), is_saved);
        for algorithm in singles {
            let Some((single, report)) = loss_of(&drawn, &policy(algorithm), is_saved) else {
                continue;
            };
            let (lost, by) = auto.as_ref().expect("auto finds what one algorithm finds");
            let found = &by.algorithm;
            assert!(*lost <= single + 1e-12, "seed {seed}: {found} {lost}, {algorithm} {single}");
            // What auto says of cuts is what a search for nothing else would have found.
            let known = by.alternatives.iter().find(|other| other.algorithm == *algorithm);
            if let Some(known) = known.filter(|other| other.recoding == "cuts") {
                let dm = known.loss.dm.map(|dm| dm as f64);
                let lost = dm.or(known.loss.cm).unwrap_or(known.loss.lm);
                let same = (lost - single).abs() < 1e-12;
                assert!(same && known.suppressed == report.suppressed, "seed {seed}: {known:?}");
                others += 1;
            }
        }
        if let Some((_, by)) = auto {
            tables += 1;
            *chosen.entry(by.algorithm).or_default() += 1;
        }
    }
    (tables, chosen, others)
}

#[test]
fn auto_is_never_worse_than_a_single_algorithm() {
    let singles = ["incognito", "mondrian", "local", "l-plus-optimize"];
    let (tables, chosen, others) = compare_auto("local-auto", "lm", false, &singles);
    assert!(tables >= 200 && chosen["local"] > 100 && chosen.len() > 1, "{tables} {chosen:?}");
    assert!(others > 40, "{others}");
}

/// The same if the recoding is saved, which leaves local recodings out.
#[test]
fn auto_that_is_saved_is_never_worse_either() {
    let singles = ["incognito", "mondrian", "l-plus-optimize"];
    let (tables, chosen, others) = compare_auto("local-saved", "lm", true, &singles);
    let by_cuts = chosen.get("l-plus-optimize").copied().unwrap_or(0);
    assert!(tables >= 200 && by_cuts + others > 40, "{tables} {chosen:?} {others}");
    assert!(chosen.keys().all(|algorithm| algorithm != "local"), "{chosen:?}");
}

/// The same if other losses than LM are minimized.
#[test]
fn auto_is_never_worse_by_another_loss() {
    let singles = ["incognito", "mondrian", "local", "l-plus-optimize"];
    for loss in ["dm", "cm"] {
        let (tables, chosen, others) = compare_auto("local-other", loss, false, &singles);
        assert!(tables >= 200 && chosen["local"] > 50 && chosen.len() > 2, "{tables} {chosen:?}");
        assert!(others > 40, "{others}");
    }
}
