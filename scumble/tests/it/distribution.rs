//! Distribution releases of random tables under random policies, all the way through files: each
//! verifies, alone and against its table, and every answer holds the truth and is what a naive
//! reading of the folder gives.

use crate::fixture::{Folder, open, policy};
use scumble::job::{Job, query};
use scumble::random::Random;
use scumble::release::{ReleaseFolder, ReleaseKind, Tables};
use scumble::source::Source;
use scumble::watch::Watch;
use std::collections::BTreeMap;
use std::path::Path;

struct Row {
    age: Option<i64>,
    city: &'static str,
    pay: i64,
}

const CITIES: [&str; 4] = ["Bern", "Biel", "Thun", "Visp, \"am\" Berg"];

fn table(random: &mut Random) -> Vec<Row> {
    let rows = random.between(1, 60);
    let values = random.between(1, 7);
    let row = |random: &mut Random| Row {
        age: (random.below(12) > 0).then(|| random.between(20, 24)),
        city: CITIES[random.below(4) as usize],
        pay: random.between(0, values) * 25 - 50,
    };
    (0..rows).map(|_| row(random)).collect()
}

/// A random policy; pay is written in hundredths, so 25 is 0.25.
fn asked(random: &mut Random) -> String {
    let one =
        |random: &mut Random, of: &[&str]| of[random.below(of.len() as u64) as usize].to_string();
    let target = one(
        random,
        &[
            "target = 'uniform'",
            "target = 'source'",
            "target = 'weights.csv'",
            "target = { kind = 'zipf', s = 0.7 }",
            "target = 'normal'",
            "target = { kind = 'uniform', of = 'group' }",
            "target = { kind = 'source', of = 'group' }",
            "target = 'uniform'\ntargets = { 'Bern' = 'source', 'lake' = { kind = 'normal', of = 'group' } }",
        ],
    );
    let groups = one(
        random,
        &["", "groups = ['city']", "groups = { city = 1 }", "groups = ['city', 'age']"],
    );
    let fakes = one(random, &["", "fakes = 2", "fakes = '20%'", "fakes = 6"]);
    let algorithm = one(random, &["", "algorithm = 'qi-sa'"]);
    let more = one(random, &["", "arity = 3", "rounding = '5%'", "arity = 4\nrounding = 0.2"]);
    format!(
        "[attributes.age]\nrole = 'quasi-identifier'\n[attributes.city]\nrole = 'quasi-identifier'\n\
         hierarchy = 'city.csv'\n[attributes.pay]\nrole = 'sensitive'\ntype = 'real'\n\
         [privacy.distribution]\nattribute = 'pay'\n{target}\n{groups}\n{fakes}\n{algorithm}\n{more}\n"
    )
}

/// A naive reading of a release: for each group the ends of its subdomains, in hundredths.
fn naive(folder: &Path) -> BTreeMap<String, Vec<(i64, i64)>> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let hundredths = |text: &str| (text.parse::<f64>().unwrap() * 100.0).round() as i64;
    // No comma stands in what is taken apart here: the names of groups come first and may be
    // quoted, so lines are cut from the right.
    let mut ends = BTreeMap::new();
    for line in read("hierarchy.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        ends.insert(fields[1].to_string(), (hundredths(fields[4]), hundredths(fields[5])));
    }
    let mut groups: BTreeMap<String, Vec<(i64, i64)>> = BTreeMap::new();
    for line in read("sensitive.csv").lines().skip(1) {
        let (group, value) = line.rsplit_once(',').unwrap();
        groups.entry(group.to_string()).or_default().push(ends[value]);
    }
    groups
}

/// Sum bounds of the records that a condition selects, from the folder alone.
fn naive_sum(folder: &Path, keep: impl Fn(Option<i64>, &str) -> bool) -> (i64, i64, u64) {
    let mut selected: BTreeMap<String, usize> = BTreeMap::new();
    for line in std::fs::read_to_string(folder.join("records.csv")).unwrap().lines().skip(1) {
        let (age, rest) = line.split_once(',').unwrap();
        let city = CITIES.iter().find(|city| {
            let quoted = format!("\"{}\"", city.replace('"', "\"\""));
            rest.starts_with(&format!("{city},")) || rest.starts_with(&format!("{quoted},"))
        });
        let city = city.unwrap();
        let quoted = format!("\"{}\",", city.replace('"', "\"\""));
        let group =
            rest.strip_prefix(&quoted).or_else(|| rest.strip_prefix(&format!("{city},"))).unwrap();
        if keep(age.parse().ok(), city) {
            *selected.entry(group.to_string()).or_default() += 1;
        }
    }
    let (mut lower, mut upper, mut rows) = (0, 0, 0);
    for (group, mut ends) in naive(folder) {
        let count = selected.remove(&group).unwrap_or(0);
        ends.sort_by_key(|(low, _)| *low);
        lower += ends[..count].iter().map(|(low, _)| low).sum::<i64>();
        ends.sort_by_key(|(_, high)| -*high);
        upper += ends[..count].iter().map(|(_, high)| high).sum::<i64>();
        rows += count as u64;
    }
    assert!(selected.is_empty(), "records of unknown groups: {selected:?}");
    (lower, upper, rows)
}

#[test]
fn random_releases_verify_and_their_answers_hold_the_truth() {
    let folder = Folder::new("distribution");
    folder.write(
        "city.csv",
        "Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\n\"Visp, \"\"am\"\" Berg\";hills;CH\n",
    );
    let weights: Vec<String> = (-10..10)
        .map(|step| format!("{},{}\n", f64::from(step) / 4.0, 1 + (step + 10) % 3))
        .collect();
    folder.write("weights.csv", &weights.concat());
    let mut random = Random::new(5);
    let (mut with_fakes, mut generalized) = (0, 0);
    for case in 0..80 {
        let rows = table(&mut random);
        let mut text = String::from("age,city,pay\n");
        for Row { age, city, pay } in &rows {
            let (age, city) =
                (age.map_or(String::new(), |age| age.to_string()), city.replace('"', "\"\""));
            text += &format!("{age},\"{city}\",{}\n", *pay as f64 / 100.0);
        }
        let input = folder.write("table.csv", &text);
        let said = asked(&mut random);
        let policy = policy(&folder.path(""), &said);
        let out = folder.path("out");
        let (job, watch) = (Job::new(policy), Watch::silent());
        let report = job.run(open(&input), ReleaseFolder::new(&out).unwrap(), &watch);
        let report = report.unwrap_or_else(|error| panic!("case {case}: {error}\n{said}\n{text}"));
        let (original, release) = (open(&input), Tables::open(&out).unwrap());
        let ReleaseKind::Distribution { distribution } = &report.release else {
            panic!("case {case}: {:?}", report.release)
        };
        for original in [None, Some(&original as &dyn Source)] {
            let checked = job.verify(&release, original, None, &watch).unwrap();
            let failed = checked.check().err().map(|error| error.to_string());
            assert_eq!(failed, None, "case {case}\n{said}\n{text}");
            let found = checked.distribution.unwrap();
            assert_eq!(
                (found.fakes, found.sum_of_ranges, found.compared_with_original),
                (distribution.fakes, distribution.sum_of_ranges, original.is_some()),
                "case {case}"
            );
        }
        with_fakes += usize::from(distribution.fakes > 0);
        generalized += usize::from(distribution.sum_of_ranges > 0.0);
        type Keep = fn(Option<i64>, &str) -> bool;
        let asked: [(&str, Keep); 5] = [
            ("1 = 1", |_, _| true),
            ("age >= 22 AND age < 24", |age, _| age.is_some_and(|age| (22..24).contains(&age))),
            ("age IS NULL OR city LIKE '%i%'", |age, city| age.is_none() || city.contains('i')),
            ("NOT (age = 21) AND city IN ('Bern', 'Visp, \"am\" Berg')", |age, city| {
                age.is_some_and(|age| age != 21) && (city == CITIES[0] || city == CITIES[3])
            }),
            ("city < 'Thun'", |_, city| city < "Thun"),
        ];
        for (condition, keep) in asked {
            let chosen: Vec<i64> =
                rows.iter().filter(|row| keep(row.age, row.city)).map(|row| row.pay).collect();
            let answer = |aggregate: &str| {
                let sql = format!("SELECT {aggregate}(pay) FROM t WHERE {condition}");
                let answer = query(&release, &report, &sql, &watch).unwrap();
                let (_, answer) = answer.answers[0].clone();
                assert_eq!(
                    answer.rows,
                    chosen.len() as u64,
                    "case {case}: {condition}\n{said}\n{text}"
                );
                answer.bounds.map(|(lower, upper)| (lower.rounded_down(), upper.rounded_up()))
            };
            let (lower, upper, count) = naive_sum(&out, keep);
            assert_eq!(count, chosen.len() as u64);
            let Some(sum) = answer("SUM") else {
                assert!(chosen.is_empty());
                continue;
            };
            assert_eq!(
                sum,
                (lower as f64 / 100.0, upper as f64 / 100.0),
                "case {case}: {condition}\n{said}\n{text}"
            );
            let mut sorted = chosen.clone();
            sorted.sort_unstable();
            let (total, rows) = (chosen.iter().sum::<i64>() as f64 / 100.0, chosen.len());
            let middle = (sorted[(rows - 1) / 2] + sorted[rows / 2]) as f64 / 200.0;
            let (least, greatest) = (sorted[0] as f64 / 100.0, sorted[rows - 1] as f64 / 100.0);
            for (name, truth) in [
                ("SUM", total),
                ("AVG", total / rows as f64),
                ("MIN", least),
                ("MAX", greatest),
                ("MEDIAN", middle),
            ] {
                let (lower, upper) = answer(name).unwrap();
                assert!(
                    lower <= truth + 1e-9 && truth <= upper + 1e-9,
                    "case {case}: {name} {truth} not in {lower} to {upper}\n{said}\n{text}"
                );
            }
        }
    }
    assert!(with_fakes > 8 && generalized > 30, "{with_fakes} {generalized}");
}
