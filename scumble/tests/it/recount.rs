//! Is a release counted rightly, however its rows lie and however little memory there is?

use crate::disk::write;
use crate::fixture::{Folder, policy};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use scumble::error::Figure;
use scumble::job::Job;
use scumble::policy::Policy;
use scumble::random::Random;
use scumble::release::{Tables, Verification};
use scumble::watch::Watch;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A row of a release: two labels, either of which may be absent, and two sensitive values.
type Row = (Option<String>, Option<String>, String, i64);

const ATTRIBUTES: &str = "[attributes.age]\nrole = \"quasi-identifier\"\n\
    hierarchy = { intervals = [10, 20], from = 0, to = 1000 }\n\
    [attributes.city]\nrole = \"quasi-identifier\"\n[attributes.ill]\nrole = \"sensitive\"\n\
    [attributes.income]\nrole = \"sensitive\"\ntype = \"integer\"\n";

const EVERYTHING: &str = "[privacy]\nk = 3\nl-diversity = { kind = \"distinct\", l = 2, sensitive = \"ill\" }\n\
    t-closeness = 0.4\nvariance = { at-least = 2, sensitive = \"income\" }\n";

/// Rows of `classes` classes that lie anywhere.
fn scattered(random: &mut Random, rows: usize, classes: i64) -> Vec<Row> {
    let absent = |label: String, random: &mut Random| (random.below(20) > 0).then_some(label);
    let row = |_| {
        let class = random.between(0, classes - 1);
        let (from, town) = (class % 7 * 10, class / 7);
        let age = absent(format!("{from}-{}", from + 9), random);
        let city = absent(
            if town % 11 == 3 { String::new() } else { format!("town \u{e4}{town}") },
            random,
        );
        (
            age,
            city,
            ["flu", "cold", "", "gout"][random.below(4) as usize].to_string(),
            random.between(0, 9),
        )
    };
    (0..rows).map(row).collect()
}

fn csv(folder: &Folder, rows: &[Row]) -> PathBuf {
    let mut text = String::from("age,city,ill,income\n");
    for (age, city, ill, income) in rows {
        let (age, city) = (age.as_deref().unwrap_or(""), city.as_deref().unwrap_or(""));
        text += &format!("{age},{city},{ill},{income}\n");
    }
    folder.write("release.csv", &text)
}

fn columnar(folder: &Folder, name: &str, rows: &[Row]) -> PathBuf {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("age", Arc::new(rows.iter().map(|row| row.0.as_deref()).collect::<StringArray>())),
        ("city", Arc::new(rows.iter().map(|row| row.1.as_deref()).collect::<StringArray>())),
        ("ill", Arc::new(rows.iter().map(|row| Some(row.2.as_str())).collect::<StringArray>())),
        ("income", Arc::new(rows.iter().map(|row| Some(row.3)).collect::<Int64Array>())),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = folder.path(name);
    write(&file, &batch);
    file
}

/// The size of each class, and its distinct ills.
fn truth(rows: &[Row]) -> BTreeMap<(&str, &str), (u64, BTreeSet<&str>)> {
    let mut classes: BTreeMap<(&str, &str), (u64, BTreeSet<&str>)> = BTreeMap::new();
    for (age, city, ill, _) in rows {
        let labels = (age.as_deref().unwrap_or(""), city.as_deref().unwrap_or(""));
        let (size, ills) = classes.entry(labels).or_default();
        *size += 1;
        ills.insert(ill);
    }
    classes
}

fn check(file: &Path, policy: &Policy, memory: Option<u64>) -> Verification {
    let job = Job::new(policy.clone()).memory(memory.unwrap_or(1 << 40));
    job.verify(&Tables::open(file).unwrap(), None, None, &Watch::silent()).unwrap()
}

/// What a verification says, without what it cost.
fn says(found: &Verification) -> String {
    let Verification { released, classes, privacy, satisfied, problems, .. } = found;
    format!("{released} {classes:?} {privacy:?} {satisfied} {problems:?}")
}

#[test]
fn scattered_classes_are_counted_exactly_in_any_memory() {
    let folder = Folder::new("recount");
    let policy = policy(&folder.path(""), &format!("{ATTRIBUTES}{EVERYTHING}"));
    let mut random = Random::new(31);
    for classes in [1, 2, 9, 60, 300] {
        let rows = scattered(&mut random, 700, classes);
        let truth = truth(&rows);
        let written = [
            csv(&folder, &rows),
            columnar(&folder, "release.parquet", &rows),
            columnar(&folder, "release.arrow", &rows),
        ];
        let mut said = BTreeSet::new();
        for file in written {
            let whole = check(&file, &policy, None);
            let (classes, privacy) = (&whole.classes, &whole.privacy);
            let sizes = || truth.values().map(|class| class.0);
            assert_eq!((whole.released, classes.classes), (700, truth.len() as u64));
            assert_eq!(classes.smallest_class, sizes().min().unwrap());
            assert_eq!(privacy[0].failing_classes, sizes().filter(|size| *size < 3).count() as u64);
            let distinct = || truth.values().map(|class| class.1.len());
            assert_eq!(
                privacy[1].failing_classes,
                distinct().filter(|ills| *ills < 2).count() as u64
            );
            assert_eq!(privacy[1].achieved, distinct().min().map(|least| Figure(least as f64)));
            assert_eq!(privacy.len(), 5);
            for memory in [1, 30_000, 60_000, 1 << 30] {
                let limited = check(&file, &policy, Some(memory));
                assert_eq!(says(&limited), says(&whole), "{memory} bytes");
                assert!(limited.io.bytes_read >= whole.io.bytes_read);
                // One scan where there is room, several where there is none.
                let again = limited.io.bytes_read > whole.io.bytes_read;
                assert!(
                    if memory == 1 { again } else { memory < 1 << 30 || !again },
                    "{memory} bytes"
                );
            }
            said.insert(says(&whole));
        }
        assert_eq!(said.len(), 1, "{said:?}");
    }
}

#[test]
fn the_first_unknown_label_is_named_whatever_part_has_it() {
    let folder = Folder::new("recount-labels");
    let policy = policy(&folder.path(""), &format!("{ATTRIBUTES}[privacy]\nk = 1\n"));
    let mut random = Random::new(5);
    let mut rows = scattered(&mut random, 400, 60);
    for (at, label) in [(90, "3-8"), (350, "old"), (120, "-4")] {
        rows[at].0 = Some(label.into());
    }
    let file = csv(&folder, &rows);
    for memory in [None, Some(1), Some(20_000)] {
        let found = check(&file, &policy, memory);
        let [problem] = found.problems.as_slice() else { panic!("{:?}", found.problems) };
        assert!(problem.contains("release.csv:92") && problem.contains("`3-8`"), "{problem}");
        assert!(found.check().is_err());
    }
}

/// More labels than a Parquet file keeps by number: the later ones are written out. Every class has
/// one row in the first half of the file and one in the second, so that none can be judged from a
/// neighbour.
#[test]
fn more_labels_than_a_file_or_the_memory_holds_at_once() {
    let folder = Folder::new("recount-many");
    let policy = policy(&folder.path(""), &format!("{ATTRIBUTES}[privacy]\nk = 2\n"));
    let mut random = Random::new(8);
    let classes = 40_000;
    let row = |class: usize| {
        (None, Some(format!("a town with a long name, number {class:07}")), "flu".to_string(), 1)
    };
    let mut order: Vec<usize> = (0..classes).collect();
    let mut rows: Vec<Row> = Vec::new();
    for _ in 0..2 {
        for last in (1..classes).rev() {
            order.swap(last, random.below(last as u64 + 1) as usize);
        }
        rows.extend(order.iter().map(|class| row(*class)));
    }
    let file = columnar(&folder, "release.parquet", &rows);
    let whole = check(&file, &policy, None);
    assert_eq!((whole.classes.classes, whole.classes.smallest_class), (classes as u64, 2));
    whole.check().unwrap();
    let limited = check(&file, &policy, Some(4 << 20));
    assert_eq!(says(&limited), says(&whole));
    assert!(limited.io.bytes_read > 2 * whole.io.bytes_read);
    // One row that went elsewhere is found, in whatever part it is.
    rows[70_000] = row(classes);
    let file = columnar(&folder, "release.parquet", &rows);
    for memory in [None, Some(4 << 20)] {
        let found = check(&file, &policy, memory);
        assert_eq!(
            (found.classes.classes, found.privacy[0].failing_classes),
            (classes as u64 + 1, 2)
        );
    }
}
