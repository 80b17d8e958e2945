//! Is the best cut the best? Every cut of small random trees, one by one, by the definitions of the
//! paper, with none of the library's code: rows instead of cells, every subset of records instead
//! of a formula.

use scumble::ids::{CellId, Code, IdMap, RowId};
use scumble::loss::{LossChoice, Weights};
use scumble::privacy::Caps;
use scumble::random::Random;
use scumble::ratio::Ratio;
use scumble::search::cuts::l_plus_optimize::{self, Outcome, Techniques};
use scumble::search::cuts::{Cuts, Machine, Problem, Suppression, annealing};
use scumble::table::{Cells, Dictionary, Tallies};
use scumble::taxonomy::{Hierarchy, HierarchyFile, bind};
use scumble::watch::Watch;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A tree over leaves 0, 1, …: for each level, from the leaves to the root, the node of each leaf.
type Levels = Vec<Vec<usize>>;

fn random_tree(random: &mut Random) -> Levels {
    let leaves = 2 + random.below(4) as usize;
    let mut levels: Levels = vec![(0..leaves).collect()];
    for _ in 0..random.below(3) {
        // Neighbours join or do not; sometimes none does, and the level is a chain.
        let below = levels.last().unwrap();
        let nodes = below[leaves - 1] + 1;
        let mut joined = vec![0];
        for _ in 1..nodes {
            let last = *joined.last().unwrap();
            joined.push(last + usize::from(random.below(2) == 0));
        }
        let next = below.iter().map(|node| joined[*node]).collect();
        levels.push(next);
    }
    levels.push(vec![0; leaves]);
    levels
}

/// A person: leaves, sensitive value, label.
struct Row {
    leaves: Vec<usize>,
    value: usize,
    label: usize,
}

struct Case {
    trees: Vec<Levels>,
    rows: Vec<Row>,
    values: usize,
    labels: usize,
    caps: Vec<(u64, u64)>,
    k: u64,
    scheme: Suppression,
    loss: LossChoice,
    /// What each column weighs, 1 unless the loss is LM.
    weights: Vec<u64>,
    limit: Option<u64>,
}

impl Case {
    fn random(random: &mut Random, scheme: Suppression, loss: LossChoice) -> Case {
        let trees: Vec<Levels> = (0..1 + random.below(3)).map(|_| random_tree(random)).collect();
        let (values, labels) =
            (1 + random.below(4) as usize, if loss == LossChoice::Cm { 2 } else { 1 });
        let skew = 1 + random.below(3);
        let row = |random: &mut Random| Row {
            leaves: trees.iter().map(|tree| random.below(tree[0].len() as u64) as usize).collect(),
            value: (0..skew).map(|_| random.below(values as u64)).min().unwrap() as usize,
            label: random.below(labels as u64) as usize,
        };
        let rows = (0..3 + random.below(14)).map(|_| row(random)).collect();
        let uniform = (1, 1 + random.below(4));
        let mixed = random.below(2) == 0;
        let caps = (0..values).map(|_| match (mixed, random.below(4)) {
            (true, 0) => (1, 1),
            (true, 1) => (2, 3),
            (true, 2) => (1, 2 + random.below(3)),
            _ => uniform,
        });
        let caps = caps.collect();
        let k = if random.below(2) == 0 { 1 } else { 1 + random.below(4) };
        let is_weighted = loss == LossChoice::Lm && random.below(2) == 0;
        let weight = |_: &Levels| if is_weighted { 1 + random.below(4) } else { 1 };
        let weights = trees.iter().map(weight).collect();
        Case { trees, rows, values, labels, caps, k, scheme, loss, weights, limit: None }
    }

    fn search(&self, top: usize, techniques: Techniques) -> (Machine, Outcome) {
        let machine = self.machine();
        let outcome = l_plus_optimize::search(&machine, techniques, top, &mut |_| true).unwrap();
        (machine, outcome)
    }

    fn machine(&self) -> Machine {
        let bound: Vec<_> = self
            .trees
            .iter()
            .map(|tree| {
                let path = |leaf: usize| -> Vec<String> {
                    tree.iter()
                        .enumerate()
                        .map(|(level, nodes)| format!("{level}.{}", nodes[leaf]))
                        .collect()
                };
                let rows = (0..tree[0].len()).map(|leaf| (1, path(leaf))).collect();
                let file = HierarchyFile::new(Path::new("h"), rows).unwrap();
                let mut dictionary = Dictionary::default();
                (0..tree[0].len()).for_each(|leaf| {
                    dictionary.encode(&format!("0.{leaf}"), 1);
                });
                bind(&Hierarchy::File(file), None, &[], &dictionary, "c", Path::new("t")).unwrap()
            })
            .collect();
        let mut cells = Cells::new(self.trees.len());
        let cell = |row: &Row| {
            let tuple: Vec<u32> = row
                .leaves
                .iter()
                .zip(&bound)
                .map(|(leaf, binding)| binding.leaf_of.at(Code(*leaf as u32)).0)
                .collect();
            cells.add(&tuple, 1)
        };
        let of_row: IdMap<RowId, CellId> = self.rows.iter().map(cell).collect();
        let codes: Vec<u32> =
            self.rows.iter().map(|row| (row.value * self.labels + row.label) as u32).collect();
        let given: Vec<_> = self.weights.iter().map(|weight| Some(Ratio::whole(*weight))).collect();
        let problem = Problem {
            taxonomies: bound.into_iter().map(|binding| Arc::new(binding.taxonomy)).collect(),
            tallies: Tallies::count(cells.len(), of_row.raw(), &codes, &Watch::default()).unwrap(),
            labels: self.labels,
            caps: Caps::new(self.caps.iter().map(|(a, b)| Ratio::new(*a, *b).unwrap()).collect())
                .unwrap(),
            k: self.k,
            scheme: self.scheme,
            loss: self.loss,
            weights: Weights::new(&given).unwrap(),
            suppressible: self.limit,
        };
        Machine::new(&problem, &cells, &Watch::silent()).unwrap()
    }

    /// All cuts of a tree: for each leaf the level at which it is said. A node that covers the same
    /// leaves as one below it is left out, since it says the same.
    fn cuts_of(tree: &Levels) -> Vec<Vec<usize>> {
        fn below(tree: &Levels, level: usize, leaves: &[usize]) -> Vec<Vec<usize>> {
            if level == 0 {
                return vec![vec![0]];
            }
            let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for leaf in leaves {
                children.entry(tree[level - 1][*leaf]).or_default().push(*leaf);
            }
            if children.len() == 1 {
                return below(tree, level - 1, leaves);
            }
            let mut cuts = vec![vec![]];
            for leaves in children.values() {
                let of_child = below(tree, level - 1, leaves);
                cuts = cuts
                    .iter()
                    .flat_map(|cut| of_child.iter().map(move |more| [&cut[..], more].concat()))
                    .collect();
            }
            cuts.push(vec![level; leaves.len()]);
            cuts
        }
        below(tree, tree.len() - 1, &(0..tree[0].len()).collect::<Vec<_>>())
    }

    /// What a node costs in a tree.
    fn lm(tree: &Levels, leaf: usize, level: usize) -> f64 {
        let leaves = tree[level].iter().filter(|node| **node == tree[level][leaf]).count();
        (leaves - 1) as f64 / (tree[0].len() - 1) as f64
    }

    fn is_fine(&self, rows: &[&Row]) -> bool {
        (0..self.values).all(|value| {
            let count = rows.iter().filter(|row| row.value == value).count() as u64;
            count * self.caps[value].1 <= rows.len() as u64 * self.caps[value].0
        })
    }

    fn minority(&self, rows: &[&Row]) -> f64 {
        let of = |label: usize| rows.iter().filter(|row| row.label == label).count();
        (rows.len() - (0..self.labels).map(of).max().unwrap()) as f64
    }

    /// The cost of one partition, and the records or values that go; `each` is what LM says of a
    /// record that stays.
    fn cost(&self, rows: &[&Row], each: f64) -> (f64, u64) {
        let (n, all, columns) =
            (rows.len() as f64, self.rows.len() as f64, self.trees.len() as f64);
        let general = |rows: &[&Row]| match self.loss {
            LossChoice::Lm => each * rows.len() as f64,
            LossChoice::Dm => (rows.len() * rows.len()) as f64,
            LossChoice::Cm => self.minority(rows),
        };
        let suppressed = match self.loss {
            LossChoice::Lm => 2.0 * columns,
            LossChoice::Dm => all,
            LossChoice::Cm => 1.0,
        };
        let large = rows.len() as u64 >= self.k;
        if large && self.is_fine(rows) {
            return (general(rows), 0);
        }
        match self.scheme {
            Suppression::None => (f64::INFINITY, 0),
            Suppression::AllRecords => (suppressed * n, rows.len() as u64),
            Suppression::AllValues | Suppression::ViolatingValues if !large => (f64::INFINITY, 0),
            Suppression::AllValues => (general(rows) + columns * n, rows.len() as u64),
            Suppression::ViolatingValues => {
                let broken = |value: &usize| {
                    let count = rows.iter().filter(|row| row.value == *value).count() as u64;
                    count * self.caps[*value].1 > rows.len() as u64 * self.caps[*value].0
                };
                let hidden = rows.iter().filter(|row| broken(&row.value)).count();
                (general(rows) + columns * hidden as f64, hidden as u64)
            }
            Suppression::ViolatingRecords => {
                // Every subset of the records; the largest that is fine, and of those the cheapest.
                let subsets = (0u32..1 << rows.len()).map(|set| {
                    let kept: Vec<&Row> = rows
                        .iter()
                        .enumerate()
                        .filter(|(at, _)| set >> at & 1 == 1)
                        .map(|(_, row)| *row)
                        .collect();
                    kept
                });
                let fine = subsets.filter(|kept| {
                    kept.is_empty() || self.is_fine(kept) && kept.len() as u64 >= self.k
                });
                let cost = |kept: &Vec<&Row>| {
                    general(kept) + suppressed * (rows.len() - kept.len()) as f64
                };
                let best = fine.map(|kept| (kept.len(), cost(&kept)));
                let (kept, cost) =
                    best.max_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1))).unwrap();
                (cost, (rows.len() - kept) as u64)
            }
        }
    }

    /// Whether a cut may be released that loses so many records or values.
    fn is_allowed(&self, lost: u64) -> bool {
        let keeps_nothing = self.scheme.is_of_records() && lost == self.rows.len() as u64;
        !keeps_nothing && self.limit.is_none_or(|limit| lost <= limit)
    }

    /// The costs of all recodings of these rows that may be released.
    fn all_costs(&self) -> Vec<f64> {
        self.all_prices().into_iter().map(|(cost, _)| cost).collect()
    }

    /// The costs of all recodings of these rows that may be released, and what they lose, the
    /// cheapest first; each partitioning with its cheapest labels once.
    fn all_prices(&self) -> Vec<(f64, u64)> {
        let cuts: Vec<Vec<Vec<usize>>> = self.trees.iter().map(Case::cuts_of).collect();
        let mut chosen: Vec<Vec<&Vec<usize>>> = vec![vec![]];
        for column in &cuts {
            chosen = chosen
                .iter()
                .flat_map(|c| column.iter().map(move |cut| [&c[..], &[cut]].concat()))
                .collect();
        }
        let mut by_partition: BTreeMap<Vec<Vec<usize>>, (f64, u64)> = BTreeMap::new();
        for cut in chosen {
            let mut parts: BTreeMap<Vec<(usize, usize)>, Vec<&Row>> = BTreeMap::new();
            let name = |row: &Row, column: usize| {
                let leaf = row.leaves[column];
                let level = cut[column][leaf];
                (level, self.trees[column][level][leaf])
            };
            for row in &self.rows {
                parts
                    .entry((0..cut.len()).map(|column| name(row, column)).collect())
                    .or_default()
                    .push(row);
            }
            let total: u64 = self.weights.iter().sum();
            let each = |row: &Row| -> f64 {
                (0..cut.len())
                    .map(|column| {
                        let leaf = row.leaves[column];
                        let lm = Case::lm(&self.trees[column], leaf, cut[column][leaf]);
                        lm * self.weights[column] as f64 * cut.len() as f64 / total as f64
                    })
                    .sum()
            };
            let costs: Vec<(f64, u64)> =
                parts.values().map(|rows| self.cost(rows, each(rows[0]))).collect();
            let lost = costs.iter().map(|(_, lost)| lost).sum();
            let cost = match self.is_allowed(lost) {
                true => costs.iter().map(|(cost, _)| cost).sum::<f64>(),
                false => f64::INFINITY,
            };
            // Cuts that tell apart the same values of every column are one recoding of this table.
            let groups = |column: usize| -> Vec<usize> {
                let mut names: Vec<(usize, usize)> =
                    self.rows.iter().map(|row| name(row, column)).collect();
                let all = names.clone();
                names.sort_unstable();
                names.dedup();
                all.iter().map(|one| all.iter().position(|other| other == one).unwrap()).collect()
            };
            let key: Vec<Vec<usize>> = (0..cut.len()).map(groups).collect();
            let least = by_partition.entry(key).or_insert((cost, lost));
            least.0 = least.0.min(cost);
        }
        let mut prices: Vec<(f64, u64)> =
            by_partition.into_values().filter(|(cost, _)| cost.is_finite()).collect();
        prices.sort_by(|a, b| a.0.total_cmp(&b.0));
        prices
    }

    fn describe(&self) -> String {
        let rows: Vec<_> =
            self.rows.iter().map(|row| (&row.leaves, row.value, row.label)).collect();
        format!(
            "{:?} {:?} k={} caps={:?} limit={:?} weights={:?}\n{:?}\n{rows:?}",
            self.loss, self.scheme, self.k, self.caps, self.limit, self.weights, self.trees
        )
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(1.0)
}

fn cases(per: u64, mut judge: impl FnMut(&mut Random, Case)) {
    for (number, (_, scheme)) in Suppression::NAMES.into_iter().enumerate() {
        for (_, loss, _) in LossChoice::NAMES {
            for seed in 0..per {
                let mut random = Random::stream(seed, number as u64 * 3 + loss as u64);
                if scheme.is_defined_for(loss) {
                    let case = Case::random(&mut random, scheme, loss);
                    judge(&mut random, case);
                }
            }
        }
    }
}

#[test]
fn the_best_cut_is_the_best_of_all() {
    let (mut impossible, mut possible) = (0, 0);
    cases(300, |random, case| {
        let techniques = Techniques {
            first_solution: random.below(2) == 0,
            descending: random.below(2) == 0,
            update: random.below(2) == 0,
            members: random.below(2) == 0,
        };
        let (_, outcome) = case.search(1, techniques);
        let all = case.all_costs();
        assert!(outcome.optimal);
        assert_eq!(outcome.best.is_empty(), all.is_empty(), "{}", case.describe());
        if let (Some((cost, _)), Some(least)) = (outcome.best.first(), all.first()) {
            assert!(close(*cost, *least), "{cost} instead of {least}: {}", case.describe());
            assert!(close(outcome.bound, *least));
            possible += 1;
        } else {
            impossible += 1;
        }
    });
    assert!(possible > 1800 && impossible > 40, "{possible} {impossible}");
}

#[test]
fn the_best_five_are_the_best_five() {
    cases(60, |_, case| {
        let (_, outcome) = case.search(5, Techniques::default());
        let all = case.all_costs();
        let costs: Vec<f64> = outcome.best.iter().map(|(cost, _)| *cost).collect();
        let expected = &all[..all.len().min(5)];
        let same =
            costs.len() == expected.len() && costs.iter().zip(expected).all(|(a, b)| close(*a, *b));
        assert!(same, "{costs:?} instead of {expected:?}: {}", case.describe());
        let distinct: std::collections::BTreeSet<&Cuts> =
            outcome.best.iter().map(|(_, cuts)| cuts).collect();
        assert_eq!(distinct.len(), costs.len());
    });
}

/// The least cost under DM is often that of the roots, N squared, and that of suppressing all N
/// records is N squared as well.
#[test]
fn a_cut_that_keeps_no_row_is_no_candidate() {
    let row = |leaf: usize| Row { leaves: vec![leaf], value: 0, label: 0 };
    let case = |scheme| Case {
        trees: vec![vec![vec![0, 1, 2, 3], vec![0; 4]]],
        rows: (0..4).map(row).collect(),
        values: 1,
        labels: 1,
        caps: vec![(1, 1)],
        k: 4,
        scheme,
        loss: LossChoice::Dm,
        weights: vec![1],
        limit: None,
    };
    for scheme in [Suppression::AllRecords, Suppression::ViolatingRecords] {
        let (machine, outcome) = case(scheme).search(10, Techniques::default());
        let roots: Cuts = machine.trees().iter().map(|tree| vec![tree.root()]).collect();
        assert_eq!(outcome.best, [(16.0, roots)], "only the root keeps a row");
        let annealed = annealing::search(&machine, 50, 1, &mut |_| true).unwrap();
        assert_eq!(annealed.best, outcome.best);
    }
}

/// A limit on suppression is kept, and the best cut under it is the best of all that keep it: by
/// brute force, for one and for several cuts, with limits that matter and limits that cannot be met.
#[test]
fn the_best_cut_under_a_limit_is_the_best_of_all_that_keep_it() {
    let (mut impossible, mut dearer, mut same) = (0, 0, 0);
    cases(300, |random, mut case| {
        if case.scheme == Suppression::None {
            return;
        }
        let unlimited = case.all_prices();
        // Mostly a limit that some cut keeps.
        let drawn = unlimited.get(random.below(1 + unlimited.len() as u64) as usize);
        let any = random.below(case.rows.len() as u64);
        case.limit = Some(drawn.map_or(any, |(_, lost)| *lost));
        let techniques = Techniques {
            first_solution: random.below(4) > 0,
            descending: random.below(2) == 0,
            update: random.below(4) > 0,
            members: random.below(4) > 0,
        };
        let top = if random.below(2) == 0 { 1 } else { 2 + random.below(4) as usize };
        let (machine, outcome) = case.search(top, techniques);
        let all = case.all_costs();
        let costs: Vec<f64> = outcome.best.iter().map(|(cost, _)| *cost).collect();
        let expected = &all[..all.len().min(top)];
        let is_same =
            costs.len() == expected.len() && costs.iter().zip(expected).all(|(a, b)| close(*a, *b));
        assert!(outcome.optimal && is_same, "{costs:?}, not {expected:?}: {}", case.describe());
        for (cost, cuts) in &outcome.best {
            assert!(close(*cost, machine.cost(cuts).unwrap()), "{}", case.describe());
        }
        match (all.first(), unlimited.first()) {
            (None, _) => impossible += 1,
            (Some(a), Some((b, _))) if !close(*a, *b) => dearer += 1,
            _ => same += 1,
        }
    });
    assert!(impossible > 300 && dearer > 100 && same > 300, "{impossible} {dearer} {same}");
}

/// The trees of the paper's figure 1 and example 2: two levels of two, twice.
#[test]
fn the_trees_of_example_2_have_25_cuts() {
    let tree: Levels = vec![vec![0, 1, 2, 3], vec![0, 0, 1, 1], vec![0; 4]];
    let row = |leaf: usize, value: usize| Row { leaves: vec![leaf, 3 - leaf], value, label: 0 };
    let case = Case {
        trees: vec![tree.clone(), tree],
        rows: (0..4).flat_map(|leaf| [row(leaf, 0), row(leaf, 1)]).collect(),
        values: 2,
        labels: 1,
        caps: vec![(1, 2), (1, 2)],
        k: 1,
        scheme: Suppression::None,
        loss: LossChoice::Lm,
        weights: vec![1; 2],
        limit: None,
    };
    let (machine, outcome) = case.search(100, Techniques::default());
    assert_eq!((machine.space(), outcome.best.len()), (Some(25), 25));
    assert_eq!(outcome.best[0].0, 0.0, "every tuple has both values already");
    assert_eq!(outcome.best[24].0, 16.0, "eight records that say nothing cost two each");
}

/// A search that is ended early swears to no more than is true, and what it hands over has the cost
/// it says.
#[test]
fn bounds_hold_whenever_a_search_is_ended() {
    let mut early = 0;
    cases(60, |random, mut case| {
        case.limit = (random.below(2) == 0).then(|| random.below(case.rows.len() as u64));
        let machine = case.machine();
        let first_solution = random.below(2) == 0;
        let mut left = random.below(12);
        let mut last_decided = 0.0;
        let techniques = Techniques { first_solution, ..Techniques::default() };
        let outcome = l_plus_optimize::search(&machine, techniques, 1, &mut |progress| {
            assert!(
                progress.bound <= progress.best
                    && progress.decided >= last_decided
                    && progress.decided <= 1.0
            );
            last_decided = progress.decided;
            left = left.saturating_sub(1);
            left > 0
        })
        .unwrap();
        let all = case.all_costs();
        let least = all.first().copied().unwrap_or(f64::INFINITY);
        assert!(
            outcome.bound <= least + 1e-9 * least.min(1e12),
            "{} above {least}: {}",
            outcome.bound,
            case.describe()
        );
        if let Some((cost, cuts)) = outcome.best.first() {
            assert!(
                *cost >= least - 1e-9 * least && close(*cost, machine.cost(cuts).unwrap()),
                "{}",
                case.describe()
            );
        }
        assert!(!outcome.optimal || close(outcome.bound, least) || all.is_empty());
        early += u64::from(!outcome.optimal);
    });
    assert!(early > 60, "{early}");
}

#[test]
fn annealing_finds_cuts_that_cost_what_it_says() {
    let (mut reached, mut all_cases) = (0, 0);
    cases(20, |random, case| {
        let machine = case.machine();
        let outcome = annealing::search(&machine, 400, random.next_u64(), &mut |_| true).unwrap();
        let Some(least) = case.all_costs().first().copied() else { return };
        all_cases += 1;
        let Some((cost, cuts)) = outcome.best.first() else { return };
        assert!(
            *cost >= least - 1e-9 * least
                && close(*cost, machine.cost(cuts).unwrap())
                && outcome.bound <= least * (1.0 + 1e-9)
        );
        reached += u64::from(close(*cost, least));
    });
    assert!(reached * 10 > all_cases * 8, "the optimum in {reached} of {all_cases} cases");
}

/// Without a time limit annealing ends by itself, after a number of steps that depends on the trees
/// alone.
#[test]
fn annealing_ends_by_itself() {
    let mut most = 0;
    cases(5, |random, case| {
        let machine = case.machine();
        let steps = annealing::steps_for(&machine);
        let nodes: usize = machine.trees().iter().map(|tree| tree.branches().len()).sum();
        assert_eq!(steps, 40 * nodes as u64);
        let outcome = annealing::search(&machine, steps, random.next_u64(), &mut |_| true).unwrap();
        assert!(outcome.visited <= steps + 1);
        most = most.max(outcome.visited);
    });
    assert!(most > 100 && annealing::STEPS >= most);
}

/// Annealing keeps a limit on suppression too, and begins where it is kept.
#[test]
fn annealing_keeps_a_limit() {
    let (mut found, mut possible) = (0, 0);
    cases(30, |random, mut case| {
        case.limit = Some(random.below(case.rows.len() as u64));
        let machine = case.machine();
        let outcome = annealing::search(&machine, 200, random.next_u64(), &mut |_| true).unwrap();
        let all = case.all_costs();
        possible += u64::from(!all.is_empty());
        let Some((cost, _)) = outcome.best.first() else { return };
        found += 1;
        assert!(all.iter().any(|one| close(*one, *cost)), "{cost}: {}", case.describe());
    });
    assert!(found * 10 > possible * 9, "a cut in {found} of {possible} cases");
}

/// One step more general is another cut, costs what any cut costs, and never splits what was
/// together.
#[test]
fn a_generalized_cut_is_one_step_up() {
    cases(20, |random, case| {
        let (machine, outcome) = case.search(1, Techniques::default());
        let Some((_, cuts)) = outcome.best.first() else { return };
        let drawn = machine.generalized(cuts, |n| Ok(random.below(n))).unwrap();
        let Some((cost, next)) = drawn else {
            // A step may be missing where it would suppress everything.
            let only_roots =
                |(cut, tree): (&Vec<u32>, &scumble::search::cuts::Tree)| *cut == [tree.root()];
            let is_general = cuts.iter().zip(machine.trees()).all(only_roots);
            return assert!(is_general || case.scheme.is_of_records());
        };
        let changed: Vec<usize> =
            (0..cuts.len()).filter(|column| cuts[*column] != next[*column]).collect();
        assert_eq!(changed.len(), 1);
        assert!(next[changed[0]].len() < cuts[changed[0]].len());
        assert!(machine.taxonomy_cuts(&next).is_some(), "it covers every leaf once");
        assert!(cost == machine.cost(&next).unwrap() && cost >= outcome.bound - 1e-9);
        assert!(cost.is_finite(), "what may be released stays so");
    });
}

#[test]
fn the_best_cut_is_the_same_for_any_number_of_threads() {
    let found = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut found = Vec::new();
        pool.install(|| {
            cases(10, |_, case| {
                let (_, outcome) = case.search(3, Techniques::default());
                found.push((outcome.best, outcome.visited));
            });
        });
        found
    };
    assert!(found(1) == found(3));
}
