//! Does an abort end every search, and never with part of an answer?
//!
//! A watch aborts at a given poll, so every moment can be tried without a clock. Whatever comes
//! back is [`Error::Interrupted`] or the answer that comes without an abort.

use crate::fixture::{Folder, policy, read};
use scumble::Job;
use scumble::bind::{Outside, Prepared};
use scumble::error::Error;
use scumble::estimate::multinomial::Shortcuts;
use scumble::job::{InstantParameters, Parameters};
use scumble::policy::Policy;
use scumble::random::Random;
use scumble::ratio::Ratio;
use scumble::search::buckets::{Annotated, Fakes, Measure, Problem, Shape, Target, qi_sa, sa_only};
use scumble::search::cuts::l_plus_optimize::{self, Techniques};
use scumble::search::cuts::{self, Machine, annealing};
use scumble::search::instant::{By, holds};
use scumble::search::lattice::incognito::{self, Strategy};
use scumble::search::lattice::s_instant::Nodes;
use scumble::search::lattice::{sfalm, spalm};
use scumble::search::local::{self, Course};
use scumble::search::regions::{m_instant, mfalm, mondrian, mpalm};
use scumble::source::{TableFile, encode};
use scumble::summary::{Estimator, Structure, SummaryKind};
use scumble::table::{Role, Table, Tallies};
use scumble::watch::Watch;
use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::sync::{Arc, OnceLock};

const ROLES: &str = r#"
attributes.zip = { role = "quasi-identifier", hierarchy = { mask = "right" } }
attributes.age = { role = "quasi-identifier", hierarchy = { intervals = [5, 20], from = 0, to = 99 } }
attributes.nation = { role = "quasi-identifier", hierarchy = "nation.csv" }
attributes.disease = { role = "sensitive" }
attributes.income = { role = "target" }
"#;

const NATIONS: &str = "n0;a;*\nn1;a;*\nn2;a;*\nn3;b;*\nn4;b;*\nn5;c;*\n";

/// A random table, the first part of a population; both in `folder`, with the population's
/// marginals.
fn tables(folder: &Folder) {
    let mut random = Random::stream(7, 3);
    let (mut table, mut world) = (String::new(), String::new());
    let mut marginals: BTreeMap<String, u64> = BTreeMap::new();
    for person in 0..1200 {
        let zip = 4710 + random.below(30).min(random.below(30));
        let age = random.below(60).max(random.below(60)) + 20;
        let nation = random.below(6).min(random.below(6));
        let keys = format!("{zip},{age},n{nation}");
        writeln!(world, "{keys}").unwrap();
        for (name, value) in ["zip", "age", "nation"].iter().zip(keys.split(',')) {
            *marginals.entry(format!("{name},{value}")).or_insert(0) += 1;
        }
        if person < 300 {
            let disease = random.below(4);
            writeln!(table, "{keys},d{disease},{}", (age + zip + disease) % 3).unwrap();
        }
    }
    folder.write("nation.csv", NATIONS);
    folder.write("table.csv", &format!("zip,age,nation,disease,income\n{table}"));
    folder.write("world.csv", &format!("zip,age,nation\n{world}"));
    let lines: String =
        marginals.iter().map(|(value, count)| format!("{value},{count}\n")).collect();
    folder.write("marginals.csv", &format!("attribute,value,count\n{lines}"));
}

/// A policy that asks for `asked`, and the table it is bound to.
fn bound(folder: &Folder, asked: &str) -> (Policy, Table, Prepared) {
    let policy = policy(&folder.path(""), &format!("{ROLES}{asked}\n"));
    let table = read(&folder.path("table.csv"), b',', &policy);
    let world = TableFile::open(&folder.path("world.csv")).unwrap();
    let roles = [Role::QuasiIdentifier; 3];
    let world = encode(&world, &roles, &Watch::default(), "read").unwrap();
    let population = asked.contains("population").then_some(&world);
    let prepared = policy
        .prepare_within(&table, Outside { population, confidences: None }, &Watch::default())
        .unwrap();
    (policy, table, prepared)
}

/// Aborts a search at many polls, and after many reports of progress: it is interrupted or has the
/// whole answer. Returns how often it was interrupted.
fn abort_everywhere<T: Debug>(name: &str, search: impl Fn(&Watch) -> Result<T, Error>) -> u32 {
    let whole = format!("{:?}", search(&Watch::default()).unwrap());
    let (mut interrupted, mut polls) = (0, 0);
    loop {
        match search(&Watch::aborting_after(polls)) {
            Err(Error::Interrupted) => interrupted += 1,
            Err(other) => panic!("{name}: {other} after {polls} polls"),
            Ok(found) => {
                assert_eq!(format!("{found:?}"), whole, "{name} after {polls} polls");
                break;
            }
        }
        // The first moments one by one, later ones further apart.
        polls += 1 + polls / 12;
    }
    for reports in [0, 1, 2, 5] {
        match search(&aborting_after_reports(reports)) {
            Err(Error::Interrupted) => {}
            Err(other) => panic!("{name}: {other} after {reports} reports"),
            Ok(found) => assert_eq!(format!("{found:?}"), whole, "{name}: {reports} reports"),
        }
    }
    // A search that was asked for the best so far returns nothing either once it is aborted.
    let watch = Watch::silent();
    watch.stop();
    watch.abort();
    assert!(matches!(search(&watch), Err(Error::Interrupted)), "{name}: stopped and aborted");
    interrupted
}

/// A watch that is aborted by its listener.
fn aborting_after_reports(reports: u64) -> Watch {
    let own: Arc<OnceLock<Watch>> = Arc::default();
    let (known, heard) = (own.clone(), std::sync::atomic::AtomicU64::new(0));
    let watch = Watch::new(move |_| {
        if heard.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= reports {
            known.get().unwrap().abort();
        }
    });
    own.set(watch.clone()).unwrap();
    watch
}

#[test]
fn incognito_ends_with_nothing_or_all() {
    let folder = Folder::new("abort-incognito");
    tables(&folder);
    let asked = [
        "privacy.k = 5\nsearch.suppression = { scheme = \"records\", limit = 0.05 }",
        "privacy.k = 3\nprivacy.l-diversity = { kind = \"entropy\", l = 2 }\nsearch.loss = \"dm\"",
        "privacy.t-closeness = { t = 0.4 }\nsearch = { loss = \"cm\", suppression = { scheme = \"records\", limit = 0.1 } }",
    ];
    for asked in asked {
        let (_, _, prepared) = bound(&folder, asked);
        for strategy in [Strategy::BestFirst, Strategy::TopDown, Strategy::BottomUp] {
            let search = |watch: &Watch| incognito::search(&prepared.task, strategy, watch);
            assert!(abort_everywhere(asked, search) > 20, "{asked}");
        }
    }
}

#[test]
fn presence_ends_with_nothing_or_all() {
    let folder = Folder::new("abort-presence");
    tables(&folder);
    let asked = "privacy.presence = { min = 0, max = 0.5, population = \"world.csv\" }";
    let (policy, _, prepared) = bound(&folder, asked);
    let task = &prepared.task;
    let partitioning = policy.search().partitioning;
    assert!(abort_everywhere("spalm", |watch| spalm::search(task, Strategy::default(), watch)) > 5);
    assert!(abort_everywhere("mpalm", |watch| mpalm::search(task, partitioning, watch)) > 20);
    let asked = "privacy.presence = { min = 0, max = 0.6, confidence = 0.9, marginals = \"marginals.csv\" }";
    // What was judged is remembered, so each search begins with a task of its own.
    let fresh = || bound(&folder, asked).2;
    let sfalm = |watch: &Watch| sfalm::search(&fresh().task, Strategy::default(), watch);
    assert!(abort_everywhere("sfalm", sfalm) > 20);
    assert!(abort_everywhere("mfalm", |watch| mfalm::search(&fresh().task, watch)) > 20);
}

#[test]
fn partitioning_ends_with_nothing_or_all() {
    let folder = Folder::new("abort-mondrian");
    tables(&folder);
    let asked = [
        "privacy.k = 4\nsearch.algorithm = \"mondrian\"",
        "privacy.k = 4\nprivacy.l-diversity = { kind = \"distinct\", l = 2 }\nsearch = { algorithm = \"mondrian\", split = \"info-gain\", regions = \"cover\" }",
    ];
    for asked in asked {
        let (policy, _, prepared) = bound(&folder, asked);
        let partitioning = policy.search().partitioning;
        let search = |watch: &Watch| mondrian::search(&prepared.task, partitioning, watch);
        assert!(abort_everywhere(asked, search) > 20, "{asked}");
    }
}

#[test]
fn local_recoding_ends_with_nothing_or_all() {
    let folder = Folder::new("abort-local");
    tables(&folder);
    let asked = [
        "privacy.k = 4\nsearch.algorithm = \"local\"",
        "privacy.k = 4\nprivacy.l-diversity = { kind = \"entropy\", l = 2 }\nsearch.algorithm = \"local\"",
    ];
    for asked in asked {
        let (policy, _, prepared) = bound(&folder, asked);
        let style = policy.search().partitioning.style;
        let search = |watch: &Watch| {
            // A few steps: the whole schedule would take long.
            let mut left = 20;
            let mut heat = |_: &local::Progress| {
                left -= 1;
                (left > 0).then(|| f64::from(left) / 20.0)
            };
            let course = Course { style, seed: 1, top: 1 };
            local::search(&prepared.task, None, course, &mut heat, watch)
        };
        assert!(abort_everywhere(asked, search) > 20, "{asked}");
    }
}

#[test]
fn cuts_end_with_nothing_or_all() {
    let folder = Folder::new("abort-cuts");
    tables(&folder);
    let asked = "privacy.l-diversity = { kind = \"frequency\", l = 2 }\nsearch = { algorithm = \"l-plus-optimize\", suppression = { scheme = \"all-records\" } }";
    let (_, _, prepared) = bound(&folder, asked);
    let (problem, cells) = (&prepared.cuts.as_ref().unwrap().problem, &prepared.task.cells);
    let optimize = |watch: &Watch| {
        let machine = Machine::new(problem, cells, watch)?;
        // Until some progress is made: the whole enumeration would take long.
        let mut left = 40;
        l_plus_optimize::search(&machine, Techniques::default(), 2, &mut |_| {
            left -= 1;
            left > 0
        })
    };
    assert!(abort_everywhere("l-plus-optimize", optimize) > 20);
    let anneal = |watch: &Watch| {
        let machine = Machine::new(problem, cells, watch)?;
        annealing::search(&machine, 60, 1, &mut |_| true)
    };
    assert!(abort_everywhere("annealing", anneal) > 20);
}

#[test]
fn belief_ends_with_nothing_or_all() {
    let folder = Folder::new("abort-instant");
    tables(&folder);
    let kinds = [
        (SummaryKind::Histogram, Structure::ChowLiu),
        (SummaryKind::Bayes, Structure::ChowLiu),
        (SummaryKind::Bayes, Structure::Greedy),
        (SummaryKind::Bayes, Structure::Annealed { seed: 1 }),
        (SummaryKind::Sample, Structure::ChowLiu),
    ];
    let asked = "privacy.k = 5\nprivacy.l-diversity = { kind = \"frequency\", l = 2 }\nsearch.algorithm = \"s-instant\"";
    let (policy, table, prepared) = bound(&folder, asked);
    let by = By::Expectation(20.0);
    for (kind, structure) in kinds {
        let instant = InstantParameters { kind, structure, ..InstantParameters::default() };
        let parameters = Parameters { instant, ..Parameters::default() };
        let job = Job::new(policy.clone()).memory(1 << 30).parameters(parameters);
        let learn = |watch: &Watch| job.summarize_table(&table, watch);
        // Hash maps of a network have an order of their own, and equal content.
        let told = |watch: &Watch| learn(watch).map(|summary| summary.to_json());
        let name = format!("learning {kind:?} {structure:?}");
        assert!(abort_everywhere(&name, told) > 2, "{name}");
        let summary = learn(&Watch::default()).unwrap();
        let beliefs = policy.believe(summary, &folder.path("table.csv")).unwrap();
        let levels = |watch: &Watch| {
            let estimator = Estimator::new(&beliefs, Shortcuts::ALL, watch)?;
            let found = Nodes::new(&estimator)?.candidates(by, watch)?;
            let mut held = None;
            for candidate in &found.list {
                if held.is_none() && holds(&prepared.task, &candidate.mapping, watch)? {
                    held = Some(candidate.mapping.clone());
                }
            }
            Ok((found, held))
        };
        assert!(abort_everywhere("s-instant", levels) > 20);
        let some_cuts = |watch: &Watch| {
            let estimator = Estimator::new(&beliefs, Shortcuts::ALL, watch)?;
            cuts::s_instant::candidates(&estimator, by, watch)
        };
        assert!(abort_everywhere("s-instant over cuts", some_cuts) > 20);
        let regions = |watch: &Watch| {
            let estimator = Estimator::new(&beliefs, Shortcuts::ALL, watch)?;
            let foreseen = m_instant::partition(&estimator, By::Expectation(40.0), watch)?;
            let partitioning = policy.search().partitioning;
            let found = m_instant::settle(&prepared.task, &foreseen.regions, partitioning, watch)?;
            Ok((foreseen, found))
        };
        assert!(abort_everywhere("m-instant", regions) > 20);
    }
}

#[test]
fn buckets_end_with_nothing_or_all() {
    let mut random = Random::stream(3, 1);
    let values: Vec<i64> = (0..16).collect();
    let shape = Shape::Balanced { arity: 2 };
    let hierarchy = Annotated::exact(&[1; 16], &shape, Measure::Numbers(&values));
    let target = Target { codes: (0..16).collect(), hierarchy, rounding: Default::default() };
    let groups: Vec<u32> = (0..400).map(|_| random.below(5) as u32).collect();
    let tuples: Vec<u32> = (0..400).map(|_| random.below(3) as u32).collect();
    let values: Vec<u32> = (0..400).map(|_| random.below(16) as u32).collect();
    let tallies = Tallies::count(5, &groups, &values, &Watch::default()).unwrap();
    let problem = Problem {
        groups: &groups,
        values: &values,
        tallies: &tallies,
        targets: &[target],
        target_of: &[0; 5],
        fakes: Fakes::Share(Ratio::new(1, 10).unwrap()),
        memory: None,
    };
    assert!(abort_everywhere("sa-only", |watch| sa_only::search(&problem, watch)) > 20);
    assert!(abort_everywhere("qi-sa", |watch| qi_sa::search(&problem, &tuples, watch)) > 20);
}
