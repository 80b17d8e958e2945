//! Is everybody of a public table present within the range, whatever is released, and at the least
//! cost?

use crate::fixture::{Folder, STRATEGIES, anonymize, names, open, policy, read, verify};
use scumble::bind::{Outside, Prepared};
use scumble::error::Error;
use scumble::policy::Policy;
use scumble::random::Random;
use scumble::recoding::Mapping;
use scumble::release::Recoded;
use scumble::search::Warrant;
use scumble::search::lattice::spalm;
use scumble::search::regions::{Partitioning, mpalm};
use scumble::source::encode;
use scumble::table::{Role, Table};
use scumble::watch::Watch;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Table 1 of Nergiz and Clifton (2008), with the hierarchies of its figure 1 and table 2.
const P: &str = "\
name,zip,age,nationality,sen
Alice,47906,35,USA,0
Bob,47903,59,Canada,1
Christine,47906,42,USA,1
Dirk,47630,18,Brazil,0
Eunice,47630,22,Brazil,0
Frank,47633,63,Peru,1
Gail,48973,33,Spain,0
Harry,48972,47,Bulgaria,1
Iris,48970,52,France,1
";
const T: &str = "zip,age,nationality\n47903,59,Canada\n47906,42,USA\n47633,63,Peru\n48972,47,Bulgaria\n48970,52,France\n";
const NATIONS: &str = "\
USA;N. America;America;*
Canada;N. America;America;*
Peru;S. America;America;*
Brazil;S. America;America;*
Bulgaria;E. Europe;Europe;*
France;W. Europe;Europe;*
Spain;W. Europe;Europe;*
";
const ROLES: &str = r#"
attributes.zip = { role = "quasi-identifier", hierarchy = { mask = "right" } }
attributes.age = { role = "quasi-identifier", hierarchy = { intervals = [20, 40], from = 0, to = 79 } }
attributes.nationality = { role = "quasi-identifier", hierarchy = "nations.csv" }
"#;

fn table_1(name: &str, range: &str) -> (Folder, Policy) {
    let folder = Folder::new(name);
    folder.write("nations.csv", NATIONS);
    folder.write("world.csv", P);
    folder.write("table.csv", T);
    let text = format!("{ROLES}\nprivacy.presence = {{ {range}, population = \"world.csv\" }}\n");
    let policy = policy(folder.path("x").parent().unwrap(), &text);
    (folder, policy)
}

fn population(file: &Path, keys: &[&str]) -> Table {
    let source = open(file);
    let role =
        |name: &str| if keys.contains(&name) { Role::QuasiIdentifier } else { Role::Identifier };
    let roles: Vec<Role> = names(&source).iter().map(|name| role(name)).collect();
    encode(&source, &roles, &Watch::silent(), "read").unwrap()
}

fn prepared(folder: &Folder, policy: &Policy, keys: &[&str]) -> Prepared {
    let table = read(&folder.path("table.csv"), b',', policy);
    let world = population(&folder.path("world.csv"), keys);
    policy
        .prepare_within(
            &table,
            Outside { population: Some(&world), confidences: None },
            &Watch::default(),
        )
        .unwrap()
}

/// Tables 1 and 2: T3* is (1/2, 2/3)-present. With the finest hierarchies here it is the best that
/// is, and nothing finer.
#[test]
fn nergiz_2008_tables_1_and_2() {
    let (folder, policy) = table_1("table-1", "min = \"1/2\", max = \"2/3\"");
    let prepared = prepared(&folder, &policy, &["zip", "age", "nationality"]);
    for strategy in STRATEGIES {
        let found = spalm::search(&prepared.task, strategy, &Watch::default()).unwrap();
        assert_eq!((found.mapping.levels(), found.warrant), (&[3, 3, 2][..], Warrant::Optimal));
    }
    let release = folder.path("release.csv");
    let report = anonymize(&folder.path("table.csv"), &policy, &release).unwrap();
    let reached: Vec<f64> = report.privacy.iter().filter_map(|one| Some(one.achieved?.0)).collect();
    assert_eq!(reached, [2.0 / 3.0, 1.0 / 2.0]);
    assert_eq!(
        std::fs::read_to_string(&release).unwrap(),
        "zip,age,nationality\n47***,*,America\n47***,*,America\n47***,*,America\n48***,*,Europe\n48***,*,Europe\n"
    );
    // P2*: the classes of table 2's left half leave S. America at 1 of 3.
    let tighter = Recoded::new(&prepared.task, &Mapping::Levels(vec![1, 3, 1]), &Watch::default());
    assert!(matches!(tighter, Err(Error::CannotBeMet { .. })));
}

#[test]
fn a_range_that_the_whole_misses_cannot_be_met() {
    let (folder, policy) = table_1("table-1-tight", "min = 0, max = 0.55");
    let prepared = prepared(&folder, &policy, &["zip", "age", "nationality"]);
    // 5 of 9 are in the table.
    for strategy in STRATEGIES {
        let found = spalm::search(&prepared.task, strategy, &Watch::default());
        assert!(matches!(found, Err(Error::CannotBeMet { .. })));
    }
    assert!(matches!(
        mpalm::search(&prepared.task, Partitioning::default(), &Watch::silent()),
        Err(Error::CannotBeMet { .. })
    ));
}

#[test]
fn a_table_that_is_not_of_the_population_is_refused() {
    let (folder, policy) = table_1("table-1-stranger", "min = 0, max = 0.9");
    // One Frank is there, two are not.
    folder
        .write("table.csv", "zip,age,nationality\n47633,63,Peru\n47633,63,Peru\n48972,47,Spain\n");
    let release = folder.path("release.csv");
    let refused = anonymize(&folder.path("table.csv"), &policy, &release).unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("world.csv") && said.contains("2 rows of the table"), "{said}");
    assert!(!release.exists());
}

/// A random world, a part of which is the table: two attributes with hierarchies and a number
/// without one.
struct World {
    folder: Folder,
    people: Vec<[u64; 3]>,
    private: usize,
}

impl World {
    fn new(name: &str, seed: u64) -> World {
        let mut random = Random::new(seed);
        let private = 2 + random.below(12) as usize;
        let people: Vec<[u64; 3]> = (0..private + random.below(40) as usize)
            .map(|_| [random.below(4), random.below(3), random.below(6)])
            .collect();
        let folder = Folder::new(&format!("{name}-{seed}"));
        folder.write("a.csv", "a0;a01;*\na1;a01;*\na2;a23;*\na3;a23;*\n");
        folder.write("b.csv", "b0;*\nb1;*\nb2;*\n");
        let csv = |people: &[[u64; 3]]| {
            let mut text = String::from("b,n,a,other\n");
            people.iter().for_each(|[a, b, n]| writeln!(text, "b{b},{n},a{a},x").unwrap());
            text
        };
        // Columns of the world may come in any order, and may be more.
        folder.write("world.csv", &csv(&people));
        let mut table = String::from("a,b,n,ill\n");
        for (at, [a, b, n]) in people[..private].iter().enumerate() {
            writeln!(table, "a{a},b{b},{n},{}", ["flu", "gout"][at % 2]).unwrap();
        }
        folder.write("table.csv", &table);
        World { folder, people, private }
    }

    fn policy(&self, asked: &str) -> Policy {
        let text = format!(
            "attributes.a = {{ role = \"quasi-identifier\", hierarchy = \"a.csv\" }}\n\
             attributes.b = {{ role = \"quasi-identifier\", hierarchy = \"b.csv\" }}\n\
             attributes.n = {{ role = \"quasi-identifier\" }}\nattributes.ill = {{ role = \"sensitive\" }}\n{asked}"
        );
        policy(self.folder.path("x").parent().unwrap(), &text)
    }

    fn label(column: usize, value: u64, level: usize) -> u64 {
        match (column, level) {
            (_, 0) => value,
            (0, 1) => 10 + value / 2,
            _ => 99,
        }
    }

    /// Whether every group of the population is present within the range, groups without a private
    /// row among them, and every class has k rows.
    fn holds(&self, levels: &[usize], range: (u64, u64, u64), k: u64) -> bool {
        let (min, max, of) = range;
        let mut groups: BTreeMap<Vec<u64>, (u64, u64)> = BTreeMap::new();
        for (at, person) in self.people.iter().enumerate() {
            let said =
                (0..3).map(|column| World::label(column, person[column], levels[column])).collect();
            let group = groups.entry(said).or_default();
            group.0 += u64::from(at < self.private);
            group.1 += 1;
        }
        let within =
            |(present, all): &(u64, u64)| present * of >= min * all && present * of <= max * all;
        groups.values().all(|group| within(group) && (group.0 == 0 || group.0 >= k))
    }
}

fn lm(prepared: &Prepared, levels: &[usize]) -> f64 {
    Recoded::new(&prepared.task, &Mapping::Levels(levels.to_vec()), &Watch::default())
        .unwrap()
        .lm(&prepared.task)
}

#[test]
fn spalm_is_the_best_of_all_recodings() {
    let (mut optima, mut impossible) = (0, 0);
    for seed in 0..150 {
        let world = World::new("spalm", seed);
        let (range, k) = (
            [(0, 5, 10), (1, 6, 10), (2, 10, 10), (0, 7, 10)][seed as usize % 4],
            1 + seed / 4 % 3,
        );
        let policy = world.policy(&format!(
            "privacy.k = {k}\nprivacy.presence = {{ min = \"{}/{}\", max = \"{}/{}\", population = \"world.csv\" }}",
            range.0, range.2, range.1, range.2
        ));
        let prepared = prepared(&world.folder, &policy, &["a", "b", "n"]);
        let all = (0..12).map(|at| vec![at % 3, at / 3 % 2, at / 6]);
        let feasible: Vec<Vec<usize>> =
            all.filter(|levels| world.holds(levels, range, k)).collect();
        let best = feasible.iter().map(|levels| lm(&prepared, levels)).min_by(f64::total_cmp);
        for strategy in STRATEGIES {
            match (spalm::search(&prepared.task, strategy, &Watch::default()), best) {
                (Ok(found), Some(best)) => {
                    assert_eq!(found.warrant, Warrant::Optimal);
                    assert!(feasible.contains(&found.mapping.levels().to_vec()));
                    assert!(
                        (lm(&prepared, found.mapping.levels()) - best).abs() < 1e-12,
                        "seed {seed}"
                    );
                    optima += 1;
                }
                (Err(Error::CannotBeMet { .. }), None) => impossible += 1,
                (found, best) => panic!("seed {seed}: {found:?}, and the best is {best:?}"),
            }
        }
        // What is refused is refused by hand too.
        for levels in (0..12).map(|at| vec![at % 3, at / 3 % 2, at / 6]) {
            let allowed =
                Recoded::new(&prepared.task, &Mapping::Levels(levels.clone()), &Watch::default())
                    .is_ok();
            assert_eq!(allowed, feasible.contains(&levels), "seed {seed} {levels:?}");
        }
    }
    assert!(optima > 100 && impossible > 50, "{optima} {impossible}");
}

/// The people of each released class by its labels, counted by hand: a label is a value, a name of
/// the hierarchy or a range.
fn is_said(label: &str, value: u64, column: usize) -> bool {
    match (column, label.split_once('-')) {
        _ if label == "*" => true,
        (2, _) if label.starts_with("up to ") => value <= label[6..].parse().unwrap(),
        (2, _) if label.starts_with("above ") => value > label[6..].parse().unwrap(),
        (2, Some((first, last))) => {
            (first.parse::<u64>().unwrap()..=last.parse().unwrap()).contains(&value)
        }
        (2, None) => label.parse() == Ok(value),
        (0, _) if label == "a01" => value < 2,
        (0, _) if label == "a23" => value >= 2,
        _ => label[1..].parse() == Ok(value),
    }
}

#[test]
fn every_release_is_present_within_the_range_and_verified() {
    let mut released = [0, 0, 0];
    for seed in 0..120 {
        let world = World::new("released", seed);
        for (at, algorithm) in
            ["\"spalm\"", "\"mpalm\"", "\"mpalm\"\nsearch.regions = \"cover\""].iter().enumerate()
        {
            let (min, max) = [(0, 6), (1, 7), (0, 4)][seed as usize % 3];
            let policy = world.policy(&format!(
                "privacy.presence = {{ min = \"{min}/10\", max = \"{max}/10\", population = \"world.csv\" }}\n\
                 search.algorithm = {algorithm}"
            ));
            let release = world.folder.path("release.csv");
            if anonymize(&world.folder.path("table.csv"), &policy, &release).is_err() {
                continue;
            }
            released[at] += 1;
            let text = std::fs::read_to_string(&release).unwrap();
            let mut classes: BTreeMap<Vec<&str>, u64> = BTreeMap::new();
            for line in text.lines().skip(1) {
                *classes.entry(line.split(',').take(3).collect()).or_default() += 1;
            }
            let mut people = vec![0; classes.len()];
            let mut absent = 0u64;
            for person in &world.people {
                let matching = |class: &Vec<&str>| {
                    (0..3).all(|column| is_said(class[column], person[column], column))
                };
                let found: Vec<usize> = (0..)
                    .zip(classes.keys())
                    .filter(|(_, class)| matching(class))
                    .map(|(at, _)| at)
                    .collect();
                assert!(found.len() < 2, "seed {seed}: classes overlap\n{text}");
                match found[..] {
                    [class] => people[class] += 1u64,
                    _ => absent += 1,
                }
            }
            assert!(min == 0 || absent == 0, "seed {seed}\n{text}");
            for (rows, people) in classes.values().zip(&people) {
                assert!(
                    rows * 10 <= max * people && rows * 10 >= min * people,
                    "seed {seed}: {rows} of {people}\n{text}"
                );
            }
            let verified = verify(&release, &policy);
            verified.check().unwrap();
            // A row more in some class, and it may not pass: the share of the fullest class is what
            // was reported.
            let fullest =
                classes.values().zip(&people).map(|(rows, people)| *rows as f64 / *people as f64);
            let reported = verified.privacy[0].achieved.unwrap().0;
            assert!((fullest.fold(0.0, f64::max) - reported).abs() < 1e-12);
        }
    }
    assert!(released.iter().all(|released| *released > 40), "{released:?}");
}

/// Releases that no honest run writes: too full, overlapping, about nobody.
#[test]
fn tampered_releases_are_refused() {
    let (folder, policy) = table_1("table-1-tampered", "min = \"1/2\", max = \"2/3\"");
    let failure = |text: &str| {
        let release = folder.write("release.csv", text);
        verify(&release, &policy).check().err().map(|error| error.to_string())
    };
    let honest = "zip,age,nationality\n47***,*,America\n47***,*,America\n47***,*,America\n48***,*,Europe\n48***,*,Europe\n";
    assert_eq!(failure(honest), None);
    let too_full = honest.to_string() + "48***,*,Europe\n";
    assert!(
        failure(&too_full).unwrap().contains("delta-presence: required at most 0.6667, reached 1")
    );
    let missing = honest.replace("48***,*,Europe\n", "");
    assert!(failure(&missing).unwrap().contains("required at least 0.5, reached 0"));
    let overlapping = honest.replacen("48***", "48*", 1).replacen("48*,", "*,", 1);
    assert!(failure(&overlapping).unwrap().contains("belong to several classes"));
    let strangers = honest.to_string() + "48***,60-79,Europe\n";
    assert!(failure(&strangers).unwrap().contains("more rows than the population has people"));
}
