//! Is the optimum the optimum? Random small tables, every kind of requirement, every loss, three
//! suppression limits, all strategies: the library's answer costs what the cheapest of all nodes
//! costs, judged one by one by the oracle.

use crate::exact::Ground;
use crate::fixture::{Bound, Example, STRATEGIES, read};
use crate::oracle::{Demand, Outcome, least_cost};
use crate::tables::{Asked, AskedKind, Drawn};
use scumble::error::Error;
use scumble::loss::LossChoice;
use scumble::random::Random;
use scumble::search::Warrant;

/// Limits as they are typed, and in tenths.
const LIMITS: [(&str, usize); 3] = [("0", 0), ("0.1", 1), ("0.3", 3)];

/// What occurred: a comparison in which nothing is ever infeasible or suppressed proves little.
#[derive(Debug, Default)]
struct Seen {
    searches: usize,
    infeasible: usize,
    suppressing: usize,
    /// The optimum was neither the finest nor the coarsest node.
    between: usize,
    /// Nodes whose classes are close to the input but not to what is left of it; only t-closeness
    /// knows them.
    apart: usize,
}

impl Seen {
    fn assert_variety(&self) {
        let share = |part: usize| part as f64 / self.searches as f64;
        assert!(self.searches >= 500, "{self:?}");
        assert!(share(self.infeasible) < 0.5, "{self:?}");
        assert!(share(self.suppressing) > 0.05, "{self:?}");
        assert!(share(self.between) > 0.2, "{self:?}");
    }
}

/// Compares library and oracle over the tables of some seeds.
fn compare(
    name: &str,
    seeds: u64,
    ask: impl Fn(&mut Random, &Drawn) -> Option<Vec<Asked>>,
) -> Seen {
    let mut seen = Seen::default();
    for seed in 0..seeds {
        let drawn = Drawn::new(name, seed);
        let Some(asked) = ask(&mut Random::stream(7, seed), &drawn) else { continue };
        compare_one(&drawn, &asked, &format!("{name}, seed {seed}, {asked:?}"), &mut seen);
    }
    seen.assert_variety();
    seen
}

fn compare_one(drawn: &Drawn, asked: &[Asked], what: &str, seen: &mut Seen) {
    let rows = drawn.plain.rows;
    let demands: Vec<Demand> = asked.iter().flat_map(|asked| asked.demands.clone()).collect();
    let outcomes = drawn.plain.outcomes(&demands);
    seen.apart += outcomes.iter().filter(|outcome| !outcome.holds_in_release).count();
    let table = read(&drawn.file, b',', &drawn.policy(asked, "lm", "0"));
    for (limit, tenths) in LIMITS {
        let suppressible = rows * tenths / 10;
        for (loss, ..) in LossChoice::NAMES {
            let what = format!("{what}, limit {limit}, loss {loss}");
            let bound = Bound::new(&table, &drawn.policy(asked, loss, limit));
            let least = least_cost(&outcomes, rows, suppressible, loss);
            for strategy in STRATEGIES {
                let what = format!("{what}, {strategy:?}");
                let found = bound.search(strategy);
                seen.searches += 1;
                let (Some(found), Some(least)) = (&found, least) else {
                    assert!(
                        found.is_none() && least.is_none(),
                        "{what}: found {found:?}, least cost {least:?}"
                    );
                    seen.infeasible += 1;
                    continue;
                };
                assert_same_cost(loss, found.cost, least, &what);
                assert!(
                    found.optimal
                        && found.space == outcomes.len() as u64
                        && found.visited <= found.space,
                    "{what}"
                );
                let outcome =
                    outcomes.iter().find(|outcome| outcome.levels == found.levels).expect("a node");
                assert!(
                    outcome.is_feasible(rows, suppressible),
                    "{what}: {found:?} is not feasible: {outcome:?}"
                );
                assert_same_cost(loss, outcome.cost(loss), least, &what);
                seen.suppressing += usize::from(outcome.suppressed > 0);
                let is_bottom = found.levels.iter().all(|level| *level == 0);
                let is_top = found
                    .levels
                    .iter()
                    .zip(&drawn.plain.keys)
                    .all(|(level, key)| *level == key.height());
                seen.between += usize::from(!is_bottom && !is_top);
            }
        }
        let bound = Bound::new(&table, &drawn.policy(asked, "lm", limit));
        for outcome in &outcomes {
            assert_same_release(&bound, outcome, outcome.is_feasible(rows, suppressible), what);
        }
    }
}

/// LM is a sum of fractions, in another order on the other side; DM and the rows of CM are whole
/// numbers.
fn assert_same_cost(loss: &str, found: f64, expected: f64, what: &str) {
    let tolerance = if loss == "dm" { 0.0 } else { 1e-9 };
    assert!(
        (found - expected).abs() <= tolerance,
        "{what}: costs {found}, and the oracle says {expected}"
    );
}

fn assert_same_release(bound: &Bound<'_>, outcome: &Outcome, is_feasible: bool, what: &str) {
    let release = bound.release(&outcome.levels);
    assert_eq!(release.is_some(), is_feasible, "{what}: {release:?} against {outcome:?}");
    let Some(release) = release else { return };
    let same = release.suppressed == outcome.suppressed as u64
        && release.dm == outcome.dm
        && (release.lm - outcome.lm).abs() < 1e-9
        && (release.cm - outcome.cm).abs() < 1e-9;
    assert!(same, "{what}: {release:?} against {outcome:?}");
}

/// A search that is stopped hands over a feasible node and a bound that no node is cheaper than.
#[test]
fn a_stopped_search_has_a_release_and_a_bound() {
    let (mut stopped, mut finished) = (0, 0);
    for seed in 0..60 {
        let drawn = Drawn::new("stopped", seed);
        let Some(asked) = drawn.ask(&mut Random::stream(8, seed), AskedKind::Recursive) else {
            continue;
        };
        let asked = [asked];
        let outcomes = drawn.plain.outcomes(&asked[0].demands);
        let rows = drawn.plain.rows;
        let table = read(&drawn.file, b',', &drawn.policy(&asked, "lm", "0"));
        for ((loss, ..), strategy) in LossChoice::NAMES.into_iter().zip(STRATEGIES) {
            let bound = Bound::new(&table, &drawn.policy(&asked, loss, "0.1"));
            let Some(least) = least_cost(&outcomes, rows, rows / 10, loss) else { continue };
            for after in [0, 1, 3, 10] {
                let what = format!("seed {seed}, {loss}, {strategy:?}, stopped after {after}");
                match bound.search_until(strategy, after) {
                    Ok(found) => {
                        let cost = found.cost.unwrap();
                        let outcome = outcomes
                            .iter()
                            .find(|outcome| outcome.levels == found.mapping.levels())
                            .unwrap();
                        assert!(outcome.is_feasible(rows, rows / 10), "{what}");
                        assert_same_cost(loss, cost, outcome.cost(loss), &what);
                        match found.warrant {
                            Warrant::AtLeast(proven) => {
                                assert!(proven <= least + 1e-9 && proven < cost, "{what}")
                            }
                            _ => assert_same_cost(loss, cost, least, &what),
                        }
                        match found.warrant {
                            Warrant::AtLeast(_) => stopped += 1,
                            _ => finished += 1,
                        }
                    }
                    Err(Error::Interrupted) => stopped += 1,
                    Err(other) => panic!("{what}: {other}"),
                }
            }
        }
    }
    assert!(stopped > 50 && finished > 50, "{stopped} stopped, {finished} finished");
}

fn compare_kind(name: &str, seeds: u64, kind: AskedKind) {
    let seen = compare(name, seeds, |random, drawn| Some(vec![drawn.ask(random, kind)?]));
    match kind {
        // One class of all rows is as close to the whole as can be.
        AskedKind::Close(_) => assert!(seen.infeasible == 0 && seen.apart > 50, "{seen:?}"),
        _ => assert!(seen.infeasible * 20 > seen.searches && seen.apart == 0, "{seen:?}"),
    }
}

#[test]
fn k_anonymity() {
    compare_kind("k", 200, AskedKind::Size);
}

#[test]
fn frequency_diversity() {
    compare_kind("frequency", 200, AskedKind::Frequency);
}

#[test]
fn distinct_diversity() {
    compare_kind("distinct", 200, AskedKind::Distinct);
}

#[test]
fn entropy_diversity() {
    compare_kind("entropy", 200, AskedKind::Entropy);
}

#[test]
fn recursive_diversity() {
    compare_kind("recursive", 200, AskedKind::Recursive);
}

#[test]
fn closeness_with_equal_distance() {
    compare_kind("equal", 200, AskedKind::Close(Ground::Equal));
}

#[test]
fn closeness_with_ordered_distance() {
    compare_kind("ordered", 400, AskedKind::Close(Ground::Ordered));
}

#[test]
fn closeness_with_hierarchical_distance() {
    compare_kind("hierarchical", 200, AskedKind::Close(Ground::Hierarchical));
}

#[test]
fn variance_diversity() {
    compare_kind("variance", 400, AskedKind::Spread);
}

/// Two requirements at once, of any two kinds; the policy has one `k` only.
#[test]
fn mixtures_of_two() {
    let seen = compare("mixture", 600, |random, drawn| {
        let mut kind = || AskedKind::ALL[random.below(AskedKind::ALL.len() as u64) as usize];
        let (first, second) = (kind(), kind());
        if first == AskedKind::Size && second == AskedKind::Size {
            return None;
        }
        Some(vec![drawn.ask(random, first)?, drawn.ask(random, second)?])
    });
    assert!(seen.infeasible * 20 > seen.searches && seen.apart > 50, "{seen:?}");
}

/// All rows may be suppressed, and all would have to be: that is no release.
#[test]
fn nothing_is_no_release() {
    let table = Example::new(
        "nothing",
        "q\n1\n1\n2\n",
        "attributes.q = { role = \"quasi-identifier\" }\n",
        &[],
    );
    assert_eq!(table.optimum("privacy.k = 4\nsearch.suppression = { limit = 1 }"), None);
    assert_eq!(
        table.optimum("privacy.k = 2\nsearch.suppression = { limit = 1 }"),
        Some((vec![0], 1.0 / 3.0))
    );
}
