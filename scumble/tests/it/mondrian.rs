//! Does Mondrian make the partition that its description says, is it minimal, and do its labels
//! tell the truth? Random small tables with ordered columns (many ties, missing values, dates) and
//! trees, every kind of requirement, every criterion, rare children pooled or not, judged by a
//! textbook that lists all splits.

use crate::exact::Ground;
use crate::fixture::{Bound, Folder, open, read, verify};
use crate::oracle::{Column, Demand};
use crate::partition::{Parts, Space, Split};
use crate::said::covers;
use crate::tables::{Asked, AskedKind, Drawn};
use scumble::error::Error;
use scumble::ids::{CellId, ClassId, Id, IdMap, RowId};
use scumble::job::{Job, Synthetic, generate};
use scumble::policy::Policy;
use scumble::random::Random;
use scumble::recoding::{Columns, Mapping, Recoding, RegionNode, Regions, Style};
use scumble::release::{Recoded, ReleaseFile};
use scumble::search::regions::mondrian;
use scumble::search::{Task, Warrant};
use scumble::table::{Data, Role, Table, Tallies};
use scumble::watch::Watch;
use std::collections::BTreeMap;
use std::path::Path;

const SPLITS: [(Split, &str); 4] = [
    (Split::Loss, "loss"),
    (Split::Median, "median"),
    (Split::InfoGain, "info-gain"),
    (Split::Regression, "regression"),
];

/// A table with what is asked of it.
struct Case {
    drawn: Drawn,
    asked: Vec<Asked>,
    demands: Vec<Demand>,
    target: Vec<f64>,
    pooling: bool,
    weights: Vec<u64>,
    what: String,
}

impl Case {
    fn new(name: &str, seed: u64, kinds: &[AskedKind]) -> Option<Case> {
        let drawn = Drawn::for_regions(name, seed);
        let random = &mut Random::stream(11, seed);
        let asked: Vec<Asked> =
            kinds.iter().map(|kind| drawn.ask(random, *kind)).collect::<Option<_>>()?;
        let demands = asked.iter().flat_map(|asked| asked.demands.clone()).collect();
        let target = drawn.plain.target.iter().map(|text| text.parse().unwrap()).collect();
        let pooling = !seed.is_multiple_of(3);
        let what = format!("{name}, seed {seed}, {asked:?}, pooling {pooling}");
        let weight = |_: &Column| if seed.is_multiple_of(2) { 1 } else { 1 + random.below(6) };
        let weights = drawn.plain.keys.iter().map(weight).collect();
        Some(Case { drawn, asked, demands, target, pooling, weights, what })
    }

    fn space(&self, split: Split, least_gain: f64) -> Space<'_> {
        let Case { drawn, demands, target, pooling, weights, .. } = self;
        let (plain, ordered, pooling) = (&drawn.plain, &drawn.ordered, *pooling);
        Space { plain, demands, ordered, target, split, least_gain, pooling, weights }
    }

    fn policy(&self, split: &str, least_gain: f64, regions: &str) -> Policy {
        let search = format!(
            "algorithm = \"mondrian\"\nsplit = \"{split}\"\nleast-gain = {least_gain}\npooling = {}\nregions = \"{regions}\"",
            self.pooling
        );
        let mut policy = self.drawn.policy_with(&self.asked, &search);
        if split == "loss" {
            for (number, weight) in self.weights.iter().enumerate() {
                policy = policy.edit().weight(&format!("q{number}"), *weight).build().unwrap();
            }
        }
        policy
    }
}

/// A partition by the library, on its way to a release.
struct Made<'a> {
    table: &'a Table,
    bound: Bound<'a>,
    mapping: Mapping,
    recoded: Recoded,
}

impl<'a> Made<'a> {
    fn new(table: &'a Table, policy: &Policy) -> Option<Made<'a>> {
        let bound = Bound::new(table, policy);
        let task = &bound.prepared.task;
        let found = match mondrian::search(task, policy.search().partitioning, &Watch::silent()) {
            Ok(found) => found,
            Err(Error::CannotBeMet { .. }) => return None,
            Err(other) => panic!("{other}"),
        };
        assert_eq!(found.warrant, Warrant::Minimal(true));
        let recoded = Recoded::new(task, &found.mapping, &Watch::default()).unwrap();
        assert_eq!(recoded.suppressed, 0);
        Some(Made { table, bound, mapping: found.mapping, recoded })
    }

    fn task(&self) -> &Task {
        &self.bound.prepared.task
    }

    fn regions(&self) -> &Regions {
        let Mapping::Regions(regions) = &self.mapping else { panic!("regions") };
        regions
    }

    /// The class of each row.
    fn class_of(&self, recoded: &Recoded) -> IdMap<RowId, ClassId> {
        recoded.class_of_row(self.table, &self.bound.prepared.leaf_cell, &Watch::default()).unwrap()
    }

    fn parts(&self) -> Parts {
        let mut parts: BTreeMap<ClassId, Vec<usize>> = BTreeMap::new();
        for (row, class) in self.class_of(&self.recoded).iter().enumerate() {
            parts.entry(class).or_default().push(row);
        }
        sorted(parts.into_values().collect())
    }

    /// The labels of a class.
    fn labels(&self, class: ClassId) -> Vec<&str> {
        let codes = self.recoded.classes.codes(class);
        codes.iter().zip(&self.recoded.values).map(|(value, values)| values.label(*value)).collect()
    }
}

fn sorted(mut parts: Parts) -> Parts {
    parts.iter_mut().for_each(|part| part.sort_unstable());
    parts.sort();
    parts
}

/// What the runs were like, so that a test cannot pass by trying nothing.
#[derive(Debug, Default)]
struct Seen {
    runs: usize,
    refused: usize,
    /// Partitions with at least three regions.
    split: usize,
    /// Runs of a criterion with a target that give another partition than the median.
    aimed: usize,
    /// Partitions with children that are pooled.
    pooled: usize,
}

/// Compares library and textbook over some seeds, and looks at the labels.
fn compare(name: &str, seeds: u64, kinds: impl Fn(&mut Random) -> Vec<AskedKind>) -> Seen {
    let mut seen = Seen::default();
    for seed in 0..seeds {
        let Some(case) = Case::new(name, seed, &kinds(&mut Random::stream(13, seed))) else {
            continue;
        };
        let table = read(&case.drawn.file, b',', &case.policy("median", 0.01, "tight"));
        let median = case.space(Split::Median, 0.01).partition().map(sorted);
        for (split, word) in SPLITS {
            let least_gain = [0.01, 0.17, 0.0][seed as usize % 3];
            let space = case.space(split, least_gain);
            let expected = space.partition().map(sorted);
            let what = format!("{}, {word}, least gain {least_gain}", case.what);
            let tight = Made::new(&table, &case.policy(word, least_gain, "tight"));
            let cover = Made::new(&table, &case.policy(word, least_gain, "cover"));
            assert_eq!(tight.as_ref().map(Made::parts), expected, "{what}, tight");
            assert_eq!(cover.as_ref().map(Made::parts), expected, "{what}, cover");
            seen.runs += 1;
            let (Some(tight), Some(cover), Some(expected)) = (tight, cover, expected) else {
                seen.refused += 1;
                continue;
            };
            seen.split += usize::from(expected.len() >= 3);
            seen.aimed += usize::from(Some(&expected) != median.as_ref());
            let is_pooled =
                |node: &RegionNode| matches!(node, RegionNode::Children { rest: Some(_), .. });
            let has_pooled = cover.regions().nodes.iter().any(is_pooled);
            assert!(case.pooling || !has_pooled, "{what}");
            seen.pooled += usize::from(has_pooled);
            for region in &expected {
                assert!(space.holds(region), "{what}: {region:?} fails");
                assert_eq!(space.any_allowable(region), None, "{what}: {region:?} could be split");
            }
            check_losses(&space, &tight, &expected, &what);
            check_tight(&case.drawn, &tight, case.pooling, &what);
            check_cover(&case.drawn, &cover, seed, &what);
            check_descent(&cover, &what);
            check_saved(&cover, &what);
        }
    }
    seen
}

fn check_losses(space: &Space<'_>, made: &Made<'_>, parts: &Parts, what: &str) {
    let (rows, keys) = (space.plain.rows as f64, space.plain.keys.len());
    let near = |found: f64, expected: f64, name: &str| {
        assert!(
            (found - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "{what}: {name} {found}, and not {expected}"
        );
    };
    let of_part = |part: &Vec<usize>| {
        (0..keys).map(|key| space.width(key, part)).sum::<f64>() * part.len() as f64
    };
    near(
        made.recoded.lm(made.task()),
        parts.iter().map(of_part).sum::<f64>() / (rows * keys as f64),
        "LM",
    );
    near(
        made.recoded.dm(made.task()) as f64,
        parts.iter().map(|part| (part.len() * part.len()) as f64).sum(),
        "DM",
    );
    let mut bits = 0.0;
    for part in parts {
        for key in 0..keys {
            let said = rows_said(space, key, part).len();
            for row in part {
                let column = &space.plain.keys[key].values;
                let alike = column.iter().filter(|value| **value == column[*row]).count();
                bits += (said as f64 / alike as f64).log2();
            }
        }
    }
    near(
        made.recoded.entropy(made.task(), &Watch::default()).unwrap(),
        bits / (rows * keys as f64),
        "entropy",
    );
    let target = made.table.with_role(Role::Target).next().unwrap();
    let Data::Coded { dictionary, codes, .. } = &target.data else { panic!("a target is coded") };
    let class_of = made.class_of(&made.recoded);
    let tallies =
        Tallies::count(made.recoded.classes.len(), class_of.raw(), codes.raw(), &Watch::default())
            .unwrap();
    let numbers: Vec<f64> = dictionary.values().map(|text| text.parse().unwrap()).collect();
    let whole = tallies.totals(numbers.len(), &Watch::default()).unwrap();
    let found = made.recoded.of_target(made.task(), &whole, &tallies, Some(&numbers));
    let open: f64 = parts.iter().map(|part| space.entropy(part) * part.len() as f64).sum();
    near(found.conditional_entropy, open / rows, "conditional entropy");
    let error: f64 = parts.iter().map(|part| space.squared_error(part)).sum();
    near(found.rmse.unwrap(), (error / rows).sqrt(), "RMSE");
}

/// The rows of the table whose value the label of a part stands for.
fn rows_said(space: &Space<'_>, key: usize, part: &[usize]) -> Vec<usize> {
    let all = 0..space.plain.rows;
    let column = &space.plain.keys[key];
    match &space.ordered[key] {
        None => {
            let level = space.ancestor(key, part);
            let label = |row: usize| &column.tree[&column.values[row]][level];
            all.filter(|row| label(*row) == label(part[0])).collect()
        }
        Some(numbers) if part.iter().all(|row| numbers[*row].is_none()) => {
            all.filter(|row| numbers[*row].is_none()).collect()
        }
        Some(numbers) if part.iter().any(|row| numbers[*row].is_none()) => all.collect(),
        Some(numbers) => {
            let held = |row: &usize| {
                part.iter().any(|end| numbers[*end] <= numbers[*row]) && numbers[*row].is_some()
            };
            all.filter(held)
                .filter(|row| part.iter().any(|end| numbers[*end] >= numbers[*row]))
                .collect()
        }
    }
}

/// Whether a label of a quasi-identifier covers a value.
fn says(drawn: &Drawn, key: usize, label: &str, value: &str) -> bool {
    let column: &Column = &drawn.plain.keys[key];
    // The oracle calls intervals `width:number`, the library by their ends.
    let is_interval =
        column.tree.get(value).is_some_and(|path| path.iter().any(|known| known.contains(':')));
    match &drawn.ordered[key] {
        Some(_) => covers(label, value),
        None if is_interval => covers(label, value),
        None => column.tree[value].iter().any(|known| known == label),
    }
}

/// Tight labels cover the values of their rows, and any two classes are apart in some column:
/// a reader of two labels of the release knows that no value is both. If children are pooled, the
/// values of one label may be among those of another instead.
fn check_tight(drawn: &Drawn, made: &Made<'_>, pooling: bool, what: &str) {
    for (row, class) in made.class_of(&made.recoded).iter().enumerate() {
        for (key, label) in made.labels(class).into_iter().enumerate() {
            let value = &drawn.plain.keys[key].values[row];
            assert!(says(drawn, key, label, value), "{what}: {label:?} does not cover {value:?}");
            let is_missing = value.is_empty();
            assert!(
                !is_missing || label.is_empty() || label == "*" || drawn.ordered[key].is_none(),
                "{what}: {label:?}"
            );
        }
    }
    let values = |key: usize| drawn.plain.keys[key].tree.keys();
    for one in made.recoded.classes.ids() {
        for other in ClassId::first(one.index()) {
            let (one, other) = (made.labels(one), made.labels(other));
            let apart = |key: usize| {
                !values(key).any(|value| {
                    says(drawn, key, one[key], value) && says(drawn, key, other[key], value)
                })
            };
            let nested = |key: usize| {
                let said = |label: &str| -> Vec<&String> {
                    values(key).filter(|value| says(drawn, key, label, value)).collect()
                };
                let (one, other) = (said(one[key]), said(other[key]));
                let within = |a: &[&String], b: &[&String]| a.iter().all(|value| b.contains(value));
                one.len() != other.len() && (within(&one, &other) || within(&other, &one))
            };
            assert!(
                (0..one.len()).any(|key| apart(key) || (pooling && nested(key))),
                "{what}: {one:?} and {other:?} overlap"
            );
        }
    }
}

/// Boxes cover the domain: whatever tuple comes, the box that it falls into is called by labels
/// that cover it.
fn check_cover(drawn: &Drawn, made: &Made<'_>, seed: u64, what: &str) {
    let (task, regions) = (made.task(), made.regions());
    let boxes = regions.boxes(task.axes.len());
    let random = &mut Random::stream(17, seed);
    for _ in 0..20 {
        let code = |tree: &std::sync::Arc<scumble::taxonomy::Taxonomy>| {
            random.below(u64::from(tree.codes()))
        };
        let codes: Vec<u64> = task.taxonomies.iter().map(code).collect();
        let at = regions.find(&task.axes, |column| codes[column]) as usize;
        for (key, place) in boxes[at].iter().enumerate() {
            let value = task.taxonomies[key].level(0).label(codes[key] as u32);
            let (label, lost) = place.said(&task.axes[key]);
            assert!(says(drawn, key, &label, value), "{what}: {label:?} does not cover {value:?}");
            assert!((0.0..=1.0).contains(&lost), "{what}: {label:?} loses {lost}");
        }
    }
}

/// Cells that go down the tree together end where each of them ends by itself.
fn check_descent(made: &Made<'_>, what: &str) {
    let (task, regions) = (made.task(), made.regions());
    let alone = |cell: u32| {
        regions.find(&task.axes, |column| u64::from(task.cells.codes(CellId(cell))[column]))
    };
    let mut one_by_one: Vec<(u32, u32)> =
        (0..task.cells.len() as u32).map(|cell| (alone(cell), cell)).collect();
    one_by_one.sort_unstable();
    let mut order = Vec::new();
    let ended = regions.descend(&task.axes, &task.cells, &mut order, &Watch::default()).unwrap();
    let together: Vec<(u32, u32)> =
        ended.iter().flat_map(|(node, cells)| cells.iter().map(|cell| (*node, *cell))).collect();
    assert_eq!(together, one_by_one, "{what}");
}

/// A saved partition makes the same classes of the same table.
fn check_saved(made: &Made<'_>, what: &str) {
    let task = made.task();
    let columns = Columns {
        names: &made.bound.prepared.names,
        taxonomies: &task.taxonomies,
        axes: &task.axes,
    };
    assert_eq!(made.regions().style, Style::Cover);
    let boxes = Mapping::Regions(Regions { style: Style::Boxes, ..made.regions().clone() });
    let recoding = Recoding::of(columns, &boxes).unwrap();
    let read = Recoding::from_json(recoding.to_json().as_bytes(), Path::new("saved")).unwrap();
    assert_eq!(read, recoding, "{what}");
    let mapping = read.bind(columns, Path::new("saved")).unwrap();
    let recoded = Recoded::new(task, &mapping, &Watch::default()).unwrap();
    assert_eq!(made.class_of(&recoded), made.class_of(&made.recoded), "{what}");
    assert!(Recoding::of(columns, &made.mapping).is_none(), "ranges hold the rows that were seen");
    let tight = Mapping::Regions(Regions { style: Style::Tight, ..made.regions().clone() });
    assert!(
        Recoding::of(columns, &tight).is_none(),
        "tight labels hold for the rows that were seen only"
    );
}

fn compare_kind(name: &str, kind: AskedKind) {
    let seen = compare(name, 120, |_| vec![kind]);
    assert!(
        seen.runs > 200 && seen.split * 4 > seen.runs && seen.aimed * 20 > seen.runs,
        "{seen:?}"
    );
    assert!(seen.pooled * 50 > seen.runs, "{seen:?}");
    let is_close = matches!(kind, AskedKind::Close(_));
    assert!(is_close == (seen.refused == 0) && seen.refused * 2 < seen.runs, "{seen:?}");
}

#[test]
fn k_anonymity() {
    compare_kind("regions-k", AskedKind::Size);
}

#[test]
fn frequency_diversity() {
    compare_kind("regions-frequency", AskedKind::Frequency);
}

#[test]
fn distinct_diversity() {
    compare_kind("regions-distinct", AskedKind::Distinct);
}

#[test]
fn entropy_diversity() {
    compare_kind("regions-entropy", AskedKind::Entropy);
}

#[test]
fn recursive_diversity() {
    compare_kind("regions-recursive", AskedKind::Recursive);
}

#[test]
fn variance() {
    // Most of what is drawn asks for more than the whole table has.
    let seen = compare("regions-variance", 180, |_| vec![AskedKind::Spread]);
    assert!(seen.split > 60 && seen.aimed > 20 && seen.refused > 0, "{seen:?}");
}

#[test]
fn closeness_with_equal_distance() {
    compare_kind("regions-equal", AskedKind::Close(Ground::Equal));
}

#[test]
fn closeness_with_ordered_distance() {
    compare_kind("regions-ordered", AskedKind::Close(Ground::Ordered));
}

#[test]
fn closeness_with_hierarchical_distance() {
    compare_kind("regions-hierarchical", AskedKind::Close(Ground::Hierarchical));
}

/// Two or three requirements at once; the policy has one `k` only.
#[test]
fn mixtures() {
    let seen = compare("regions-mixture", 300, |random| {
        let number = 1 + random.below(2);
        let mut kinds: Vec<AskedKind> =
            (0..number).map(|_| AskedKind::ALL[1 + random.below(8) as usize]).collect();
        kinds.push(AskedKind::Size);
        kinds
    });
    assert!(seen.runs > 400 && seen.split * 5 > seen.runs && seen.refused > 0, "{seen:?}");
}

/// A target far from zero is told apart as well as one around it.
#[test]
fn regression_does_not_care_where_zero_is() {
    for seed in 0..40 {
        let Some(case) = Case::new("regions-far", seed, &[AskedKind::Size]) else { continue };
        let policy = case.policy("regression", 0.01, "tight");
        let table = read(&case.drawn.file, b',', &policy);
        let Some(near) = Made::new(&table, &policy) else { continue };
        let mut bound = Bound::new(&table, &policy);
        let numbers = bound.prepared.task.target_numbers.take().unwrap();
        bound.prepared.task.target_numbers =
            Some(numbers.iter().map(|number| number + 1e12).collect());
        let far =
            mondrian::search(&bound.prepared.task, policy.search().partitioning, &Watch::silent())
                .unwrap();
        assert_eq!(far.mapping, near.mapping, "{}", case.what);
    }
}

/// The lines of a release, in the order of their text.
fn lines(release: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = release.split(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines
}

/// A table that is large enough for threads: any number of them gives the same bytes, with pooled
/// children, and what was saved gives the same rows again.
#[test]
fn threads_and_saving_change_nothing() {
    let folder = Folder::new("regions-threads");
    let input = folder.path("table.csv");
    let files = generate(Synthetic::Census, 4000, 3, &input, None, &Watch::default()).unwrap();
    let text = std::fs::read_to_string(&files[1]).unwrap();
    let only_k: Vec<&str> = text.lines().filter(|line| !line.starts_with("l-diversity")).collect();
    let only_k = Policy::read(&folder.write("k.toml", &only_k.join("\n"))).unwrap();
    let diverse = Policy::read(&files[1]).unwrap();
    assert!(text.contains("\nl-diversity"));
    for (asked, split, k) in [
        (&only_k, "loss", 3),
        (&diverse, "loss", 10),
        (&only_k, "median", 4),
        (&diverse, "median", 3),
    ] {
        let policy = asked.edit().algorithm("mondrian").split(split).k(k).build().unwrap();
        let job = Job::new(policy.clone());
        let (output, saved) = (folder.path("output.csv"), folder.path("saved.json"));
        let run = |job: &Job, saved: Option<&Path>| {
            let source = open(&input);
            let mut sink = ReleaseFile::new(&output).unwrap().like(&source);
            if let Some(saved) = saved {
                sink = sink.save_recoding(saved);
            }
            job.run(&source, sink, &Watch::silent()).unwrap();
            std::fs::read(&output).unwrap()
        };
        let runs = [1, 2, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let by_values = run(&job, None);
                (by_values, run(&job, Some(&saved)), std::fs::read(&saved).unwrap())
            })
        });
        assert!(runs.iter().all(|run| *run == runs[0]), "{split}, k = {k}");
        let [(_, by_boxes, json), ..] = runs;
        assert!(String::from_utf8(json.clone()).unwrap().contains("\"rest\": true"), "{split}");
        let recoding = Recoding::from_json(&json, &saved).unwrap();
        let again = run(&Job::new(policy.clone()).recoding(recoding, "saved"), None);
        // Labels are numbered by node, and nodes of a saved tree in another order.
        assert!(lines(&again) == lines(&by_boxes), "{split}, k = {k}");
        assert!(verify(&output, &policy).satisfied, "{split}, k = {k}");
    }
}
