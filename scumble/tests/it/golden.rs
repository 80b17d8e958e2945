//! Are decisions the same as yesterday? Chosen levels, costs and visited nodes over synthetic
//! tables stand in `golden/decisions.txt`. A change of the search shows up there, wanted or not;
//! `SCUMBLE_GOLDEN=write cargo test -p scumble golden` writes the file anew, and the difference
//! belongs into the change's description.

use crate::fixture::{Folder, STRATEGIES, encoded, open};
use scumble::job::{Synthetic, generate};
use scumble::policy::Policy;
use scumble::search::lattice::incognito::{self, Strategy};
use scumble::watch::Watch;
use std::fmt::Write;
use std::path::Path;

/// k, the suppression limit and the loss.
const ASKED: [(u64, &str, &str); 6] = [
    (2, "0", "lm"),
    (5, "0.05", "lm"),
    (20, "0.02", "lm"),
    (5, "0.05", "dm"),
    (5, "0", "dm"),
    (3, "0.1", "cm"),
];

/// What the searches decide for each of the questions over one table.
fn decide(text: &mut String, name: &str, data: &Path, policy: &Policy, strategies: &[Strategy]) {
    for (k, limit, loss) in ASKED {
        let policy = policy.edit().k(k).suppression(limit).loss(loss).build().unwrap();
        let table = encoded(&open(data), &policy).unwrap();
        // Not every table has a label for CM.
        let Ok(prepared) = policy.prepare(&table) else { continue };
        write!(text, "{name} k={k} limit={limit} loss={loss}:").unwrap();
        for (number, strategy) in strategies.iter().enumerate() {
            match incognito::search(&prepared.task, *strategy, &Watch::default()) {
                Err(_) => write!(text, " none").unwrap(),
                Ok(found) => {
                    if number == 0 {
                        for (name, level) in prepared.names.iter().zip(found.mapping.levels()) {
                            write!(text, " {name}={level}").unwrap();
                        }
                        let (cost, space) = (found.cost.unwrap(), found.space.unwrap());
                        write!(text, "; cost {cost:.9}; visited of {space}:").unwrap();
                    }
                    write!(text, " {}", found.visited).unwrap();
                }
            }
        }
        text.push('\n');
    }
}

/// All orders on a small table, and the one that is used on two larger ones.
fn decisions() -> String {
    let mut text = String::new();
    let six = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/six");
    let policy = Policy::read(&six.join("policy.toml")).unwrap();
    decide(&mut text, "six", &six.join("people.csv"), &policy, &STRATEGIES);
    let tables = [(Synthetic::Census, "census", 2000), (Synthetic::Agrawal, "agrawal", 1000)];
    for (kind, name, rows) in tables {
        let folder = Folder::new(&format!("golden-{name}"));
        let data = folder.path("table.csv");
        let files = generate(kind, rows, 7, &data, None, &Watch::default()).unwrap();
        decide(&mut text, name, &data, &Policy::read(&files[1]).unwrap(), &STRATEGIES[..1]);
    }
    text
}

#[test]
fn golden_decisions() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/decisions.txt");
    let found = decisions();
    if std::env::var_os("SCUMBLE_GOLDEN").is_some_and(|wish| wish == "write") {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &found).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap();
    for (known, found) in known.lines().zip(found.lines()) {
        assert_eq!(known, found, "see golden.rs if this is meant");
    }
    assert_eq!(known.lines().count(), found.lines().count());
}
