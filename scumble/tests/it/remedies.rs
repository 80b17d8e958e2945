//! Does every change that is offered help, and is it the smallest of its kind? Random small tables
//! and requirements that cannot be met; changes are applied to the textbook's demands, and every
//! node of the lattice is judged by the oracle.

use crate::exact::Fraction;
use crate::fixture::open;
use crate::oracle::{Demand, least_cost};
use crate::tables::{Asked, AskedKind, Drawn};
use scumble::error::{Change, Error, Refusal, Remedies, Remedy};
use scumble::job::{Job, Parameters};
use scumble::policy::Policy;
use scumble::random::Random;
use scumble::release::{ReleaseBatches, ReleaseKind, Report};
use scumble::watch::Watch;
use std::time::Duration;

/// Limits as they are typed, and in tenths.
const LIMITS: [(&str, usize); 3] = [("0", 0), ("0.1", 1), ("0.3", 3)];

/// A job that looks for changes as long as it takes.
fn job(policy: &Policy) -> Job {
    let remedies = Duration::from_secs(3600);
    Job::new(policy.clone()).parameters(Parameters { remedies, ..Parameters::default() }).seed(1)
}

fn run(job: &Job, drawn: &Drawn) -> Result<Report, Error> {
    job.run(open(&drawn.file), ReleaseBatches::new(), &Watch::default())
}

/// Why a job releases nothing, if it is because of its requirements.
fn refused(job: &Job, drawn: &Drawn) -> Option<Box<Refusal>> {
    match run(job, drawn) {
        Err(Error::CannotBeMet { refusal, .. }) => refusal,
        Ok(_) => None,
        Err(other) => panic!("{other}"),
    }
}

fn remedies(job: &Job, drawn: &Drawn, refusal: &Refusal) -> Remedies {
    let found = job.remedies(open(&drawn.file), refusal, &Watch::default());
    found.unwrap_or_else(|error| panic!("{error}"))
}

/// A decimal number.
fn fraction(text: &str) -> Fraction {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    let digits: u128 = format!("{whole}{rest}").parse().unwrap();
    Fraction::new(digits, 10u128.pow(rest.len() as u32))
}

/// The stricter value next to one of three significant digits: a smaller factor, or a larger
/// variance.
fn stricter_by_digits(value: Fraction, is_factor: bool) -> Fraction {
    let number = value.above as f64 / value.below as f64;
    let mut exponent = number.log10().floor() as i32 - 2;
    let mut digits = (number / 10f64.powi(exponent)).round() as u128;
    if is_factor && digits == 100 {
        (digits, exponent) = (1000, exponent - 1);
    }
    digits = if is_factor { digits - 1 } else { digits + 1 };
    match exponent {
        0.. => Fraction::new(digits * 10u128.pow(exponent as u32), 1),
        _ => Fraction::new(digits, 10u128.pow(-exponent as u32)),
    }
}

fn hundredth_more(l: Fraction) -> Fraction {
    Fraction::new(l.above * 100 + l.below, l.below * 100)
}

/// The demands with a number of one of them replaced: by the value of a change, and by the stricter
/// value next to it, unless that is what was asked or even stricter.
fn changed(asked: &[Asked], path: &[String], to: &str) -> (Vec<Demand>, Option<Vec<Demand>>) {
    let key = path[1].as_str();
    let at = path.get(2).and_then(|name| name.parse::<usize>().ok()).unwrap_or(0);
    let name = path.last().unwrap().as_str();
    let value = fraction(to);
    let whole = value.above as usize;
    let (mut weaker, mut stricter, mut is_next) = (Vec::new(), Vec::new(), true);
    let mut seen = 0;
    for one in asked {
        let is_it = one.key == key && seen == at;
        seen += usize::from(one.key == key);
        for demand in &one.demands {
            let (mut weak, mut strict) = (demand.clone(), demand.clone());
            if is_it {
                match (&mut weak, &mut strict, demand) {
                    (Demand::Size { k }, Demand::Size { k: next }, Demand::Size { k: asked }) => {
                        (*k, *next) = (whole, whole + 1);
                        is_next = *next < *asked;
                    }
                    (
                        Demand::Distinct { l, .. },
                        Demand::Distinct { l: next, .. },
                        Demand::Distinct { l: asked, .. },
                    ) => {
                        (*l, *next) = (whole, whole + 1);
                        is_next = *next < *asked;
                    }
                    (
                        Demand::Recursive { c, l, .. },
                        Demand::Recursive { c: next_c, l: next_l, .. },
                        Demand::Recursive { c: asked_c, l: asked_l, .. },
                    ) => {
                        if name == "l" {
                            (*l, *next_l) = (whole, whole + 1);
                            is_next = *next_l < *asked_l;
                        } else {
                            (*c, *next_c) = (value, stricter_by_digits(value, true));
                            is_next = !next_c.at_most(*asked_c);
                        }
                    }
                    (
                        Demand::Frequency { l, .. },
                        Demand::Frequency { l: next, .. },
                        Demand::Frequency { l: asked, .. },
                    )
                    | (
                        Demand::Entropy { l, .. },
                        Demand::Entropy { l: next, .. },
                        Demand::Entropy { l: asked, .. },
                    ) => {
                        (*l, *next) = (value, hundredth_more(value));
                        is_next = !asked.at_most(*next);
                    }
                    (
                        Demand::Close { t, .. },
                        Demand::Close { t: next, .. },
                        Demand::Close { t: asked, .. },
                    ) => {
                        let thousandths = value.above * 1000 / value.below;
                        (*t, *next) = (value, Fraction::new(thousandths - 1, 1000));
                        is_next = !next.at_most(*asked);
                    }
                    (
                        Demand::Spread { v, .. },
                        Demand::Spread { v: next, .. },
                        Demand::Spread { v: asked, .. },
                    ) => {
                        (*v, *next) = (value, stricter_by_digits(value, false));
                        is_next = !asked.at_most(*next);
                    }
                    other => panic!("{other:?}"),
                }
            }
            weaker.push(weak);
            stricter.push(strict);
        }
    }
    (weaker, is_next.then_some(stricter))
}

/// The weakest value of each number of the demands that still asks for something.
fn weakest(demand: &Demand) -> Vec<(&'static str, &'static str)> {
    match demand {
        Demand::Size { k: 3.. } => vec![("k", "2")],
        Demand::Distinct { l: 3.., .. } => vec![("l", "2")],
        Demand::Frequency { .. } | Demand::Entropy { .. } => vec![("l", "1.01")],
        Demand::Recursive { l: 3.., .. } => vec![("l", "2")],
        Demand::Close { .. } => vec![("t", "0.999")],
        _ => Vec::new(),
    }
}

/// What occurred: a test in which nothing is offered proves nothing.
#[derive(Debug, Default)]
struct Seen {
    refused: usize,
    numbers: usize,
    limits: usize,
    /// Numbers that are not the weakest of all.
    between: usize,
    left_out: usize,
    none: usize,
}

fn check_refused(drawn: &Drawn, asked: &[Asked], (limit, tenths): (&str, usize), seen: &mut Seen) {
    let search = format!("recoding = \"levels\"\nsuppression = {{ limit = {limit} }}");
    let policy = drawn.policy_with(asked, &search);
    let job = job(&policy);
    let Some(refusal) = refused(&job, drawn) else { return };
    let rows = drawn.plain.rows;
    let suppressible = rows * tenths / 10;
    let what = format!("{asked:?}, limit {limit}");
    let Remedies { remedies, remedies_incomplete } = remedies(&job, drawn, &refusal);
    assert_eq!(remedies_incomplete, None, "{what}");
    seen.refused += 1;
    seen.none += usize::from(remedies.is_empty());
    let least = |demands: &[Demand], suppressible: usize| {
        least_cost(&drawn.plain.outcomes(demands), rows, suppressible, "lm")
    };
    let demands: Vec<Demand> = asked.iter().flat_map(|asked| asked.demands.clone()).collect();
    for remedy in &remedies {
        let what = format!("{what}: {remedy:?}");
        let report = run(&job.amended(&remedy.change).unwrap(), drawn);
        let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(report.suppressed, remedy.suppressed, "{what}");
        assert!(report.privacy.iter().all(|judged| judged.satisfied), "{what}");
        assert!(!remedy.is_upper_bound, "{what}");
        match &remedy.change {
            Change::Number { path, to } => {
                let (weaker, stricter) = changed(asked, path, to);
                let best = least(&weaker, suppressible);
                let best = best.unwrap_or_else(|| panic!("{what} does not help"));
                assert!((best - remedy.lm).abs() < 1e-9, "{what}: {best}");
                if let Some(stricter) = stricter {
                    assert_eq!(least(&stricter, suppressible), None, "{what}: too weak");
                    seen.between += usize::from(!["1.01", "2", "0.999"].contains(&to.as_str()));
                }
                seen.numbers += 1;
            }
            Change::Suppression { rows: limit, .. } => {
                let best = least(&demands, *limit as usize);
                let best = best.unwrap_or_else(|| panic!("{what} does not help"));
                assert!((best - remedy.lm).abs() < 1e-9, "{what}: {best}");
                assert_eq!(least(&demands, *limit as usize - 1), None, "{what}: too much");
                seen.limits += 1;
            }
            Change::LeaveOut(name) => {
                assert!(name.starts_with('s'), "{what}");
                seen.left_out += 1;
            }
            Change::Recoding(_) => {}
            other => panic!("{other:?}"),
        }
    }
    let is_offered =
        |is_it: &dyn Fn(&Change) -> bool| remedies.iter().any(|one| is_it(&one.change));
    let is_limit = |change: &Change| matches!(change, Change::Suppression { .. });
    let can_suppress = least(&demands, rows - 1).is_some();
    assert_eq!(is_offered(&is_limit), can_suppress, "{what}: {remedies:?}");
    for (at, one) in asked.iter().enumerate() {
        let number = asked[..at].iter().filter(|other| other.key == one.key).count().to_string();
        for (name, value) in weakest(&one.demands[0]) {
            let path = ["privacy", one.key, &number, name].map(str::to_string);
            let helps = least(&changed(asked, &path, value).0, suppressible).is_some();
            let is_it = |change: &Change| match change {
                Change::Number { path, .. } => {
                    let is_item =
                        path.get(2).is_none_or(|at| at.parse::<usize>().is_err() || *at == number);
                    let is_name = path.last().is_some_and(|last| last == name || last == one.key);
                    path[1] == one.key && is_item && is_name
                }
                _ => false,
            };
            assert_eq!(is_offered(&is_it), helps, "{what}: {name}, {remedies:?}");
        }
    }
}

#[test]
fn changes_are_those_of_the_oracle() {
    let mut seen = Seen::default();
    for seed in 0..240 {
        let drawn = Drawn::new("remedies", seed);
        let random = &mut Random::stream(91, seed);
        let mut kind = || AskedKind::ALL[random.below(AskedKind::ALL.len() as u64) as usize];
        let (first, second) = (kind(), kind());
        let mut asked: Vec<Asked> = drawn.ask(random, first).into_iter().collect();
        if second != AskedKind::Size && seed % 2 == 0 {
            asked.extend(drawn.ask(random, second));
        }
        for limit in LIMITS.into_iter().filter(|_| !asked.is_empty()) {
            check_refused(&drawn, &asked, limit, &mut seen);
        }
    }
    let Seen { refused, numbers, limits, between, left_out, none } = seen;
    assert!(refused > 60 && numbers > 30 && limits > 20 && between > 10, "{seen:?}");
    assert!(left_out > 3 && none < refused / 2, "{seen:?}");
}

/// Whatever searches: a change that is offered leads to a release that loses what was said.
#[test]
fn every_kind_of_recoding_is_helped() {
    let mut offered = 0;
    for seed in 0..60 {
        let drawn = Drawn::new("kinds", seed);
        let random = &mut Random::stream(92, seed);
        let recoding = ["any", "cuts", "regions", "local"][seed as usize % 4];
        // A search for cuts knows caps of one sensitive attribute.
        let is_simple = recoding == "cuts" && drawn.plain.sensitive.len() > 1 || seed % 8 < 4;
        let kind = if is_simple { AskedKind::Size } else { AskedKind::Frequency };
        let Some(asked) = drawn.ask(random, kind) else { continue };
        let search = format!("recoding = \"{recoding}\"\nsuppression = {{ limit = 0.1 }}");
        let job = job(&drawn.policy_with(&[asked], &search));
        let Some(refusal) = refused(&job, &drawn) else { continue };
        for remedy in remedies(&job, &drawn, &refusal).remedies {
            let report = run(&job.amended(&remedy.change).unwrap(), &drawn);
            let report = report.unwrap_or_else(|error| panic!("{recoding} {remedy:?}: {error}"));
            assert_eq!(report.suppressed, remedy.suppressed, "{recoding} {remedy:?}");
            let lm = match report.release {
                ReleaseKind::Table { loss, .. } => loss.lm,
                other => panic!("{other:?}"),
            };
            assert_eq!(lm, remedy.lm, "{recoding} {remedy:?}");
            offered += 1;
        }
    }
    assert!(offered > 20, "{offered}");
}

/// One level of several that are given.
#[test]
fn a_level_is_raised_no_further_than_it_must_be() {
    let (mut raised, mut left_out) = (0, 0);
    for seed in 0..120 {
        let drawn = Drawn::new("levels", seed);
        let random = &mut Random::stream(93, seed);
        let Some(asked) = drawn.ask(random, AskedKind::Size) else { continue };
        let demands = asked.demands.clone();
        let policy = drawn.policy_with(&[asked], "");
        let levels: Vec<usize> = drawn.plain.keys.iter().map(|_| 0).collect();
        let named = |levels: &[usize]| {
            levels.iter().enumerate().map(|(at, level)| (format!("q{at}"), *level)).collect()
        };
        let job = job(&policy).levels(named(&levels));
        let Some(refusal) = refused(&job, &drawn) else { continue };
        let found = remedies(&job, &drawn, &refusal).remedies;
        let holds = |at: usize, level: usize| {
            let mut levels = levels.clone();
            levels[at] = level;
            let outcome = drawn.plain.release(&levels, &demands);
            outcome.is_feasible(drawn.plain.rows, 0).then_some(outcome.lm)
        };
        for (at, key) in drawn.plain.keys.iter().enumerate() {
            let expected = (1..=key.height()).find_map(|level| Some((level, holds(at, level)?)));
            let name = format!("q{at}");
            let is_about = |one: &&Remedy| match &one.change {
                Change::Level { attribute, .. } => *attribute == name,
                Change::LeaveOut(attribute) => *attribute == name,
                _ => false,
            };
            let told = found.iter().find(is_about);
            assert_eq!(told.is_some(), expected.is_some(), "{seed} {name}: {found:?}");
            let (Some(remedy), Some((level, lm))) = (told, expected) else { continue };
            assert!((remedy.lm - lm).abs() < 1e-9, "{seed} {remedy:?}: {lm}");
            match &remedy.change {
                Change::Level { to, .. } => assert_eq!(*to, level, "{seed} {remedy:?}"),
                _ => assert_eq!(level, key.height(), "{seed} {remedy:?}"),
            }
            raised += usize::from(level < key.height());
            left_out += usize::from(level == key.height());
            run(&job.amended(&remedy.change).unwrap(), &drawn).unwrap();
        }
    }
    assert!(raised > 2 && left_out > 10, "{raised} {left_out}");
}

/// Nothing is claimed to be known if there was no time for it.
#[test]
fn a_search_without_time_says_so() {
    let drawn = Drawn::new("hurry", 3);
    let asked = drawn.ask(&mut Random::stream(94, 1), AskedKind::Size).unwrap();
    let policy = drawn.policy_with(&[asked], "").edit().k(1000).build().unwrap();
    let parameters = Parameters { remedies: Duration::ZERO, ..Parameters::default() };
    let job = Job::new(policy).parameters(parameters);
    let refusal = refused(&job, &drawn).unwrap();
    let Remedies { remedies, remedies_incomplete } = remedies(&job, &drawn, &refusal);
    assert!(remedies.is_empty() && remedies_incomplete.is_some());
    let watch = Watch::silent();
    watch.stop();
    let stopped = job.remedies(open(&drawn.file), &refusal, &watch).unwrap();
    assert_eq!(stopped.remedies_incomplete.as_deref(), Some("the search was interrupted"));
    watch.abort();
    let aborted = job.remedies(open(&drawn.file), &refusal, &watch);
    assert!(matches!(aborted, Err(Error::Interrupted)), "{aborted:?}");
}
