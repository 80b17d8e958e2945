//! Random tables, hierarchies and requirements, each from a seed, with the policy that says the
//! same to the library.

use crate::exact::{Fraction, Ground};
use crate::fixture::{Folder, policy};
use crate::oracle::{Column, Demand, Plain, Tree};
use scumble::policy::{Policy, PolicyBuilder};
use scumble::random::Random;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// What stands for "missing" in every generated table besides an empty value.
const TOKENS: [&str; 1] = ["?"];

/// A generated table in its two forms: plain for the oracle, in files for the library.
pub struct Drawn {
    pub plain: Plain,
    pub file: PathBuf,
    /// For each quasi-identifier that partitioning may split anywhere, the number of each row, if
    /// it has one.
    pub ordered: Vec<Option<Vec<Option<f64>>>>,
    /// The part of the policy that speaks of columns.
    attributes: String,
    pub folder: Folder,
}

/// A requirement as the policy states it and as the oracle does.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The policy's key: `k`, `l-diversity`, `t-closeness` or `variance`.
    pub key: &'static str,
    value: String,
    pub demands: Vec<Demand>,
}

/// The kinds of requirement that a table is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedKind {
    Size,
    Frequency,
    Distinct,
    Entropy,
    Recursive,
    Close(Ground),
    Spread,
}

impl AskedKind {
    /// All of them, those that can always be asked for first.
    pub const ALL: [AskedKind; 9] = [
        AskedKind::Size,
        AskedKind::Frequency,
        AskedKind::Distinct,
        AskedKind::Entropy,
        AskedKind::Recursive,
        AskedKind::Close(Ground::Equal),
        AskedKind::Close(Ground::Ordered),
        AskedKind::Close(Ground::Hierarchical),
        AskedKind::Spread,
    ];
}

fn chance(random: &mut Random, of: u64) -> bool {
    random.below(of) == 0
}

fn pick<'a, T>(random: &mut Random, items: &'a [T]) -> &'a T {
    &items[random.below(items.len() as u64) as usize]
}

/// A random tree over leaves with these names: 1 to 3 levels above them. A node with one child may
/// carry its label.
pub fn tree(random: &mut Random, leaves: &[String]) -> Tree {
    let height = 1 + random.below(3) as usize;
    let mut paths: Vec<Vec<String>> = leaves.iter().map(|leaf| vec![leaf.clone()]).collect();
    for level in 1..height {
        let width = 1 + random.below(leaves.len() as u64);
        let mut parents: BTreeMap<String, String> = BTreeMap::new();
        for path in &mut paths {
            let child = path[level - 1].clone();
            let parent = parents
                .entry(child)
                .or_insert_with(|| format!("g{level}.{}", random.below(width)))
                .clone();
            path.push(parent);
        }
        let lonely =
            |parent: &String| parents.values().filter(|other| *other == parent).count() == 1;
        let repeat = chance(random, 2);
        for path in paths.iter_mut().filter(|path| repeat && lonely(&path[level])) {
            path[level] = path[level - 1].clone();
        }
    }
    paths.into_iter().map(|path| (path[0].clone(), [path, vec!["*".into()]].concat())).collect()
}

/// A hierarchy file, its rows in any order: only the tree may count.
fn tree_file(random: &mut Random, tree: &Tree) -> String {
    let mut lines: Vec<String> = tree.values().map(|path| path.join(";") + "\n").collect();
    for last in (1..lines.len()).rev() {
        lines.swap(last, random.below(last as u64 + 1) as usize);
    }
    lines.concat()
}

/// Values of a column, some of them missing: not all leaves occur, and those that do are often
/// skewed.
fn values(random: &mut Random, rows: usize, leaves: &[String], missing: bool) -> Vec<String> {
    let used = leaves.len().min(2 + random.below(leaves.len() as u64) as usize);
    let skewed = chance(random, 3);
    let one = |random: &mut Random| match random.below(12) {
        0 if missing => String::new(),
        1 if missing => "?".into(),
        _ => {
            let most = if skewed { 1 + random.below(used as u64) as usize } else { used };
            pick(random, &leaves[..most]).clone()
        }
    };
    (0..rows).map(|_| one(random)).collect()
}

pub fn names(prefix: &str, number: u64) -> Vec<String> {
    (0..number).map(|leaf| format!("{prefix}{leaf}")).collect()
}

/// The domain of a column before it has values.
struct Domain {
    tree: Tree,
    /// Whether leaves that do not occur count too.
    is_fixed: bool,
    /// The hierarchy as the policy states it; a file is still to be written.
    stated: Stated,
}

enum Stated {
    Nothing,
    File,
    Inline(String),
}

impl Domain {
    fn flat(leaves: &[String]) -> Domain {
        let tree =
            leaves.iter().map(|leaf| (leaf.clone(), vec![leaf.clone(), "*".into()])).collect();
        Domain { tree, is_fixed: false, stated: Stated::Nothing }
    }

    /// A token that the hierarchy lists is a value like any other.
    fn file(random: &mut Random, mut leaves: Vec<String>) -> Domain {
        if chance(random, 8) {
            leaves.push("?".into());
        }
        Domain { tree: tree(random, &leaves), is_fixed: true, stated: Stated::File }
    }

    /// Whole numbers from 0 to `to`, in intervals of one or two widths; the last one takes what is
    /// left, `to` included.
    fn intervals(random: &mut Random, to: u64) -> Domain {
        let widths = pick::<&[u64]>(random, &[&[2], &[3], &[2, 4], &[2, 6]]);
        let path = |number: u64| {
            let interval =
                |width: &u64| format!("{width}:{}", (number / width).min(to.div_ceil(*width) - 1));
            let middle = widths.iter().map(interval);
            std::iter::once(number.to_string()).chain(middle).chain(["*".into()]).collect()
        };
        let tree = (0..=to).map(|number| (number.to_string(), path(number))).collect();
        let stated = Stated::Inline(format!("{{ intervals = {widths:?}, from = 0, to = {to} }}"));
        Domain { tree, is_fixed: true, stated }
    }

    /// Texts of two letters, of which the last is masked first.
    fn mask() -> Domain {
        let pairs = ["aa", "ab", "ac", "ba", "bb", "ca"].map(|text| (text.to_string(), text));
        let path = |text: &str| vec![text.to_string(), format!("{}*", &text[..1]), "*".into()];
        let tree = pairs.into_iter().map(|(leaf, text)| (leaf, path(text))).collect();
        Domain { tree, is_fixed: false, stated: Stated::Inline("{ mask = \"right\" }".into()) }
    }

    fn of_key(random: &mut Random) -> Domain {
        let leaves = names(pick::<&str>(random, &["v", ""]), 1 + random.below(8));
        match random.below(10) {
            0 => Domain::flat(&leaves),
            1 => Domain::intervals(random, leaves.len() as u64),
            2 => Domain::mask(),
            _ => Domain::file(random, leaves),
        }
    }
}

/// Numbers or days without a hierarchy: the text of each with its place on the number line. Few of
/// them, so that many rows tie.
fn ordered(random: &mut Random) -> Vec<(String, f64)> {
    let texts: &[(&str, f64)] = match random.below(6) {
        0 => &[
            ("2023-12-30", 0.0),
            ("2024-01-01", 2.0),
            ("2024-02-29", 61.0),
            ("2024-03-01", 62.0),
            ("2025-07-04", 552.0),
        ],
        1 => &[
            ("0.5", 0.5),
            ("1.25", 1.25),
            ("-2.75", -2.75),
            ("3.5", 3.5),
            ("0.1", 0.1),
            ("0.3", 0.3),
        ],
        2 => &[("-5", -5.0), ("-3", -3.0), ("0", 0.0), ("4", 4.0), ("11", 11.0)],
        3 => &[
            ("1", 1.0),
            ("10", 10.0),
            ("100", 100.0),
            ("1000", 1000.0),
            ("1001", 1001.0),
            ("1002", 1002.0),
        ],
        _ => &[
            ("0", 0.0),
            ("1", 1.0),
            ("2", 2.0),
            ("3", 3.0),
            ("4", 4.0),
            ("5", 5.0),
            ("6", 6.0),
            ("7", 7.0),
            ("8", 8.0),
        ],
    };
    texts.iter().map(|(text, number)| (text.to_string(), *number)).collect()
}

/// More of them: whole numbers that need more than 32 bits, numbers with a fraction, or plain ones.
fn many_ordered(random: &mut Random) -> Vec<(String, f64)> {
    let step = *pick(random, &[1.0, 7.0, 0.125, -1e9, 13.5]);
    (0..10 + random.below(50))
        .map(|at| step * (at as f64 - 3.0))
        .map(|number| (number.to_string(), number))
        .collect()
}

/// What a table is drawn for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    FullDomain,
    Regions,
    Disk,
}

/// A table in the making.
struct Draft {
    folder: Folder,
    rows: usize,
    attributes: String,
    raw: Vec<(String, Vec<String>)>,
}

impl Draft {
    fn column(&mut self, random: &mut Random, name: &str, role: &str, domain: Domain) -> Column {
        let hierarchy = match &domain.stated {
            Stated::Nothing => String::new(),
            Stated::Inline(text) => format!("hierarchy = {text}\n"),
            Stated::File => {
                self.folder.write(&format!("{name}.csv"), &tree_file(random, &domain.tree));
                format!("hierarchy = \"{name}.csv\"\n")
            }
        };
        writeln!(self.attributes, "[attributes.{name}]\nrole = \"{role}\"\n{hierarchy}").unwrap();
        let leaves: Vec<String> = domain.tree.keys().cloned().collect();
        let missing = chance(random, 4);
        let values = values(random, self.rows, &leaves, missing);
        let occurs = |leaf: &String| domain.is_fixed || values.contains(leaf);
        let tree = domain
            .tree
            .iter()
            .filter(|(leaf, _)| occurs(leaf))
            .map(|(leaf, path)| (leaf.clone(), path.clone()));
        let column = Column::new(&values, tree.collect(), &TOKENS);
        self.raw.push((name.into(), values));
        column
    }
}

impl Drawn {
    /// The table of a seed. Attribute `s0` is text with a hierarchy; `s1`, where there is one, is
    /// numeric without.
    pub fn new(name: &str, seed: u64) -> Drawn {
        Drawn::with(name, seed, For::FullDomain)
    }

    /// A table for partitioning: most quasi-identifiers are ordered, and the target is a number.
    pub fn for_regions(name: &str, seed: u64) -> Drawn {
        Drawn::with(name, seed, For::Regions)
    }

    /// A table for partitioning on disk: more rows, wider ranges, and any further columns are
    /// insensitive.
    pub fn for_disk(name: &str, seed: u64) -> Drawn {
        Drawn::with(name, seed, For::Disk)
    }

    fn with(name: &str, seed: u64, made_for: For) -> Drawn {
        let for_regions = made_for != For::FullDomain;
        let random = &mut Random::stream(0x5C0B, seed);
        let rows = match made_for {
            For::Disk => 20 + random.below(230) as usize,
            _ => 5 + random.below(36) as usize,
        };
        let folder = Folder::new(&format!("{name}-{seed}"));
        let mut attributes = String::from("[defaults]\nmissing = [\"?\"]\n");
        if made_for == For::Disk {
            attributes += "role = \"insensitive\"\n";
        }
        let mut draft = Draft { folder, rows, attributes, raw: Vec::new() };
        let (mut keys, mut places) = (Vec::new(), Vec::new());
        for number in 0..1 + random.below(4) {
            let name = format!("q{number}");
            if for_regions && !chance(random, 3) {
                let many = made_for == For::Disk && chance(random, 2);
                let numbers = if many { many_ordered(random) } else { ordered(random) };
                let numbers: BTreeMap<String, f64> = numbers.into_iter().collect();
                let domain = Domain::flat(&numbers.keys().cloned().collect::<Vec<_>>());
                let column = draft.column(random, &name, "quasi-identifier", domain);
                places.push(Some(
                    column.values.iter().map(|value| numbers.get(value).copied()).collect(),
                ));
                keys.push(column);
                continue;
            }
            // Names that are numbers would be ordered where they have no hierarchy.
            let domain = if for_regions && chance(random, 4) {
                Domain::flat(&names("v", 4))
            } else {
                Domain::of_key(random)
            };
            let numbered = matches!(domain.stated, Stated::Nothing)
                && domain.tree.keys().all(|leaf| leaf.parse::<f64>().is_ok());
            let column = draft.column(random, &name, "quasi-identifier", domain);
            places.push(
                numbered.then(|| column.values.iter().map(|value| value.parse().ok()).collect()),
            );
            keys.push(column);
        }
        let leaves = names("x", 2 + random.below(5));
        let domain = Domain::file(random, leaves);
        let mut sensitive = vec![draft.column(random, "s0", "sensitive", domain)];
        if chance(random, 2) {
            let domain = Domain::flat(&names("", 2 + random.below(7)));
            sensitive.push(draft.column(random, "s1", "sensitive", domain));
        }
        let Draft { folder, mut attributes, mut raw, .. } = draft;
        let labels = if for_regions {
            ["-4", "0", "1", "2.5", "30"].map(String::from).to_vec()
        } else {
            names("y", 3)
        };
        let target = values(random, rows, &labels, false);
        writeln!(attributes, "[attributes.y]\nrole = \"target\"").unwrap();
        raw.push(("y".into(), target.clone()));
        let file = folder.write("table.csv", &csv(&raw, rows));
        Drawn {
            plain: Plain { rows, keys, sensitive, target },
            file,
            ordered: places,
            attributes,
            folder,
        }
    }

    /// A requirement of a kind, about one sensitive attribute or all of them; `None` where no
    /// attribute suits.
    pub fn ask(&self, random: &mut Random, kind: AskedKind) -> Option<Asked> {
        let fraction = |random: &mut Random, typed: &[(&str, u128, u128)]| {
            let (text, above, below) = *pick(random, typed);
            (text.to_string(), Fraction::new(above, below))
        };
        let all = self.plain.sensitive.len();
        let of: Vec<usize> = match (kind, random.below(3)) {
            (AskedKind::Size, _) => vec![0],
            (AskedKind::Close(Ground::Ordered) | AskedKind::Spread, _) => (1..all).collect(),
            (AskedKind::Close(Ground::Hierarchical), 0) => (0..all).collect(),
            (AskedKind::Close(Ground::Hierarchical), _) => vec![0],
            (_, 0) => (0..all).collect(),
            _ => vec![random.below(all as u64) as usize],
        };
        if of.is_empty() {
            return None;
        }
        let about =
            if of.len() == all { String::new() } else { format!(", sensitive = \"s{}\"", of[0]) };
        let demands =
            |demand: &dyn Fn(usize) -> Demand| of.iter().map(|of| demand(*of)).collect::<Vec<_>>();
        let diversity = |kind: &str, parameters: String, demands: Vec<Demand>| Asked {
            key: "l-diversity",
            value: format!("{{ kind = \"{kind}\", {parameters}{about} }}"),
            demands,
        };
        let ls = [
            ("2", 2, 1),
            ("1.5", 3, 2),
            ("\"5/3\"", 5, 3),
            ("2.5", 5, 2),
            ("3", 3, 1),
            ("1.25", 5, 4),
        ];
        let cs = [("1", 1, 1), ("2", 2, 1), ("3", 3, 1), ("4.5", 9, 2), ("\"4/3\"", 4, 3)];
        let ts = [
            ("0.2", 1, 5),
            ("0.35", 7, 20),
            ("\"1/3\"", 1, 3),
            ("0.5", 1, 2),
            ("0.1", 1, 10),
            ("0.25", 1, 4),
        ];
        let vs = [
            ("0.25", 1, 4),
            ("\"2/9\"", 2, 9),
            ("0.5", 1, 2),
            ("0.16", 4, 25),
            ("1", 1, 1),
            ("\"2/3\"", 2, 3),
            ("2", 2, 1),
        ];
        Some(match kind {
            AskedKind::Size => {
                let k = *pick(random, &[1, 2, 2, 3, 3, 4, 5, 6, 10, 30]);
                Asked { key: "k", value: k.to_string(), demands: vec![Demand::Size { k }] }
            }
            AskedKind::Frequency => {
                let (text, l) = fraction(random, &ls);
                diversity(
                    "frequency",
                    format!("l = {text}"),
                    demands(&|of| Demand::Frequency { of, l }),
                )
            }
            AskedKind::Distinct => {
                let l = 1 + random.below(4) as usize;
                diversity("distinct", format!("l = {l}"), demands(&|of| Demand::Distinct { of, l }))
            }
            AskedKind::Entropy => {
                let (text, l) = fraction(random, &ls);
                diversity(
                    "entropy",
                    format!("l = {text}"),
                    demands(&|of| Demand::Entropy { of, l }),
                )
            }
            AskedKind::Recursive => {
                let ((text, c), l) = (fraction(random, &cs), *pick(random, &[1, 2, 2, 2, 3, 3, 4]));
                let parameters = format!("c = {text}, l = {l}");
                diversity("recursive", parameters, demands(&|of| Demand::Recursive { of, c, l }))
            }
            AskedKind::Close(ground) => {
                let (text, t) = fraction(random, &ts);
                let name = format!("{ground:?}").to_lowercase();
                Asked {
                    key: "t-closeness",
                    value: format!("{{ t = {text}, distance = \"{name}\"{about} }}"),
                    demands: demands(&|of| Demand::Close { of, t, ground }),
                }
            }
            AskedKind::Spread => {
                let (text, v) = fraction(random, &vs);
                // Alone it is about all attributes with numbers, and there is one.
                let value = if chance(random, 2) {
                    text
                } else {
                    format!("{{ at-least = {text}{about} }}")
                };
                Asked { key: "variance", value, demands: demands(&|of| Demand::Spread { of, v }) }
            }
        })
    }

    /// Random weights of the quasi-identifiers, and a policy with them.
    pub fn weigh(&self, random: &mut Random, policy: &Policy) -> (Vec<u64>, Policy) {
        let weight = |_: &Column| *pick(random, &[1, 1, 2, 3, 7]);
        let weights: Vec<u64> = self.plain.keys.iter().map(weight).collect();
        let with = |builder: PolicyBuilder, (number, weight): (usize, &u64)| {
            builder.weight(&format!("q{number}"), *weight)
        };
        let builder = weights.iter().enumerate().fold(policy.edit(), with);
        (weights, builder.build().unwrap())
    }

    /// The whole policy of a full-domain search.
    pub fn policy(&self, asked: &[Asked], loss: &str, limit: &str) -> Policy {
        self.policy_with(asked, &format!("loss = \"{loss}\"\nsuppression = {{ limit = {limit} }}"))
    }

    /// The whole policy; `search` is what it says under that key.
    pub fn policy_with(&self, asked: &[Asked], search: &str) -> Policy {
        let mut text = format!("{}[privacy]\n", self.attributes);
        for key in ["k", "l-diversity", "t-closeness", "variance"] {
            let values: Vec<&str> =
                asked.iter().filter(|asked| asked.key == key).map(|asked| &*asked.value).collect();
            match values[..] {
                [] => {}
                [one] => writeln!(text, "{key} = {one}").unwrap(),
                _ => writeln!(text, "{key} = [{}]", values.join(", ")).unwrap(),
            }
        }
        writeln!(text, "[search]\n{search}").unwrap();
        policy(&self.folder.path(""), &text)
    }
}

fn csv(columns: &[(String, Vec<String>)], rows: usize) -> String {
    let line = |cells: Vec<&str>| cells.join(",") + "\n";
    let header = line(columns.iter().map(|(name, _)| name.as_str()).collect());
    let row = |row: usize| line(columns.iter().map(|(_, values)| values[row].as_str()).collect());
    header + &(0..rows).map(row).collect::<String>()
}
