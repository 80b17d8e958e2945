//! Every node of the Adult lattice, one by one: the oracle for a table that is too large for maps
//! of text.
//!
//! It shares no code with the library: the file is split by hand, labels get numbers, and every
//! node is grouped afresh from the distinct tuples of leaves. Only equal rows are counted together
//! beforehand.

use std::collections::HashMap;
use std::path::Path;

/// The quasi-identifiers, in the order of the file.
pub const KEYS: [&str; 7] =
    ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"];

/// Most occupations and salary classes that there are.
const OCCUPATIONS: usize = 14;
const SALARIES: usize = 2;

/// The labels of one quasi-identifier.
struct Tree {
    /// `label[leaf][level]`, numbered within the level.
    label: Vec<Vec<u8>>,
    /// `cost[level][label]`: (leaves below it - 1) / (leaves below the root - 1).
    cost: Vec<Vec<f64>>,
}

/// Rows with the same leaves, or a class.
#[derive(Clone, Copy, Default)]
struct Tally {
    rows: u32,
    occupations: [u32; OCCUPATIONS],
    salaries: [u32; SALARIES],
}

/// What a requirement makes of a node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub suppressed: u64,
    pub lm: f64,
    pub dm: u64,
    pub cm: f64,
}

/// A node of the lattice.
pub struct Node {
    pub levels: [usize; 7],
    /// LM if no row were suppressed.
    pub marginal: f64,
    /// With k = 5 alone, and with recursive (3, 4)-diversity of the occupation too.
    pub k: Outcome,
    pub k_and_diversity: Outcome,
}

/// The whole lattice.
pub struct Brute {
    pub rows: u64,
    pub cells: usize,
    pub nodes: Vec<Node>,
}

/// Numbers texts in the order in which they come.
#[derive(Default)]
struct Numbers(HashMap<String, u8>);

impl Numbers {
    fn of(&mut self, text: &str) -> u8 {
        let next = u8::try_from(self.0.len()).expect("a small domain");
        *self.0.entry(text.to_string()).or_insert(next)
    }
}

fn lines(file: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.split(';').map(String::from).collect()).collect()
}

impl Tree {
    fn read(file: &Path) -> (Tree, HashMap<String, u8>) {
        let paths = lines(file);
        let height = paths[0].len();
        let mut numbers: Vec<Numbers> = (0..height).map(|_| Numbers::default()).collect();
        let mut leaves: Vec<Vec<u32>> = vec![vec![0; paths.len()]; height];
        let mut label = Vec::new();
        for path in &paths {
            let of_leaf: Vec<u8> =
                path.iter().zip(&mut numbers).map(|(text, numbers)| numbers.of(text)).collect();
            for (level, number) in of_leaf.iter().enumerate() {
                leaves[level][usize::from(*number)] += 1;
            }
            label.push(of_leaf);
        }
        let whole = (paths.len() - 1) as f64;
        let share = |below: &u32| f64::from(below.saturating_sub(1)) / whole;
        let cost = leaves.iter().map(|level| level.iter().map(share).collect()).collect();
        (Tree { label, cost }, numbers.swap_remove(0).0)
    }
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.rows += other.rows;
        self.occupations.iter_mut().zip(other.occupations).for_each(|(sum, more)| *sum += more);
        self.salaries.iter_mut().zip(other.salaries).for_each(|(sum, more)| *sum += more);
    }

    /// x1 < 3 (x4 + x5 + …).
    fn is_diverse(&self) -> bool {
        let mut counts = self.occupations;
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts[0] < 3 * counts[3..].iter().sum::<u32>()
    }
}

impl Outcome {
    fn add(&mut self, class: &Tally, cost: f64, is_released: bool) {
        let rows = u64::from(class.rows);
        if is_released {
            self.lm += cost * rows as f64;
            self.dm += rows * rows;
            self.cm += f64::from(class.rows - class.salaries.iter().max().expect("two salaries"));
        } else {
            self.suppressed += rows;
        }
    }

    /// Sums become means, and suppressed rows pay.
    fn finish(mut self, rows: u64) -> Outcome {
        let lost = self.suppressed as f64;
        self.lm = (self.lm + lost * KEYS.len() as f64) / (rows as f64 * KEYS.len() as f64);
        self.dm += rows * self.suppressed;
        self.cm = (self.cm + lost) / rows as f64;
        self
    }
}

impl Brute {
    pub fn new(folder: &Path) -> Brute {
        let table = lines(&folder.join("adult.csv"));
        let column = |name: &str| table[0].iter().position(|other| other == name).unwrap();
        let tree = |name: &&str| Tree::read(&folder.join(format!("adult_hierarchy_{name}.csv")));
        let (trees, leaves): (Vec<Tree>, Vec<HashMap<String, u8>>) = KEYS.iter().map(tree).unzip();
        let positions = KEYS.map(column);
        let (occupation, salary) = (column("occupation"), column("salary-class"));
        let (mut occupations, mut salaries) = (Numbers::default(), Numbers::default());
        let mut cells: HashMap<[u8; 7], Tally> = HashMap::new();
        for row in &table[1..] {
            let mut key = [0; 7];
            for (at, leaf) in key.iter_mut().enumerate() {
                *leaf = leaves[at][&row[positions[at]]];
            }
            let cell = cells.entry(key).or_default();
            cell.rows += 1;
            cell.occupations[usize::from(occupations.of(&row[occupation]))] += 1;
            cell.salaries[usize::from(salaries.of(&row[salary]))] += 1;
        }
        let rows = table.len() as u64 - 1;
        let mut nodes = vec![[0; 7]];
        for (at, tree) in trees.iter().enumerate() {
            let raised = |node: &[usize; 7]| {
                let node = *node;
                (0..tree.cost.len()).map(move |level| {
                    let mut raised = node;
                    raised[at] = level;
                    raised
                })
            };
            nodes = nodes.iter().flat_map(raised).collect();
        }
        let nodes =
            nodes.into_iter().map(|levels| Node::new(levels, &trees, &cells, rows)).collect();
        Brute { rows, cells: cells.len(), nodes }
    }

    /// The least cost of all nodes that suppress no more than that.
    pub fn least(
        &self,
        of: fn(&Node) -> Outcome,
        suppressible: u64,
        cost: fn(Outcome) -> f64,
    ) -> f64 {
        let feasible =
            self.nodes.iter().map(of).filter(|outcome| outcome.suppressed <= suppressible);
        feasible.map(cost).min_by(f64::total_cmp).expect("the root is feasible")
    }
}

impl Node {
    fn new(levels: [usize; 7], trees: &[Tree], cells: &HashMap<[u8; 7], Tally>, rows: u64) -> Node {
        let mut classes: HashMap<[u8; 7], Tally> = HashMap::new();
        for (leaves, cell) in cells {
            let mut key = [0; 7];
            for (at, label) in key.iter_mut().enumerate() {
                *label = trees[at].label[usize::from(leaves[at])][levels[at]];
            }
            classes.entry(key).or_default().add(cell);
        }
        let (mut marginal, mut k, mut k_and_diversity) =
            (0.0, Outcome::default(), Outcome::default());
        for (key, class) in &classes {
            let of_column = |at: usize| trees[at].cost[levels[at]][usize::from(key[at])];
            let cost: f64 = (0..KEYS.len()).map(of_column).sum();
            marginal += cost * f64::from(class.rows);
            k.add(class, cost, class.rows >= 5);
            k_and_diversity.add(class, cost, class.rows >= 5 && class.is_diverse());
        }
        marginal /= rows as f64 * KEYS.len() as f64;
        Node { levels, marginal, k: k.finish(rows), k_and_diversity: k_and_diversity.finish(rows) }
    }
}
