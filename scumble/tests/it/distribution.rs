//! Distribution releases of random tables under random policies, all the way through files: each
//! verifies, alone and against its table, and every answer holds the truth and is what a naive
//! reading of the folder gives.

use crate::fixture::{Folder, open, policy};
use arrow_schema::SchemaRef;
use scumble::error::{Error, Result};
use scumble::job::{Job, QueryAnswer, query};
use scumble::random::Random;
use scumble::release::{
    ReleaseBatches, ReleaseFolder, ReleaseKind, Report, Sink, TableSink, Tables,
};
use scumble::source::{Meter, Source};
use scumble::watch::Watch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    // Only groups that are formed may have a target.
    let (of_bern, of_lake) =
        ("'Bern' = 'source', ", ", 'lake' = { kind = 'normal', of = 'group' }");
    let target = match groups.as_str() {
        "groups = ['city']" => target.replace(of_lake, ""),
        "groups = { city = 1 }" => target.replace(of_bern, ""),
        _ => target.lines().next().unwrap().to_string(),
    };
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
    let (mut with_fakes, mut generalized, mut with_targets) = (0, 0, 0);
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
        // Nor is every group there in every table.
        let is_missing = |error: &Error| error.to_string().contains("a target for a group of");
        if said.contains("targets") && report.as_ref().is_err_and(is_missing) {
            continue;
        }
        with_targets += u32::from(said.contains("targets"));
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
        let ask = |sql: &str| query(&release, &report, sql, &watch).unwrap();
        check_values(&rows, &ask, &format!("case {case}\n{said}\n{text}"));
        for (condition, keep) in asked {
            let chosen: Vec<i64> =
                rows.iter().filter(|row| keep(row.age, row.city)).map(|row| row.pay).collect();
            let answer = |aggregate: &str| {
                let sql = format!("SELECT {aggregate}(pay) FROM t WHERE {condition}");
                let answer = query(&release, &report, &sql, &watch).unwrap();
                let answer = answer.answers[0].1[0];
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
    assert!(with_fakes > 8 && generalized > 30 && with_targets > 1, "{with_fakes} {generalized}");
}

/// What a condition on the value selects from the rows, and all aggregates of that.
fn check_values(rows: &[Row], ask: &dyn Fn(&str) -> QueryAnswer, told: &str) {
    type Keep = fn(&Row) -> bool;
    let asked: [(&str, Keep); 4] = [
        ("pay > 0.25", |row| row.pay > 25),
        ("pay BETWEEN -0.25 AND 0.5 AND age >= 22", |row| {
            (-25..=50).contains(&row.pay) && row.age.is_some_and(|age| age >= 22)
        }),
        ("city = 'Bern' AND pay NOT IN (0, 0.75)", |row| {
            row.city == "Bern" && row.pay != 0 && row.pay != 75
        }),
        ("NOT (pay >= 0) AND (pay < -0.3 OR pay = -0.25)", |row| row.pay < 0),
    ];
    for (condition, keep) in asked {
        let mut chosen: Vec<i64> = rows.iter().filter(|row| keep(row)).map(|row| row.pay).collect();
        chosen.sort_unstable();
        let all = ask(&format!(
            "SELECT COUNT(*), SUM(pay), AVG(pay), MIN(pay), MAX(pay), MEDIAN(pay) FROM t WHERE {condition}"
        ));
        let found = all.answers[0].1.iter().map(|answer| {
            answer.bounds.map(|(lower, upper)| (lower.rounded_down(), upper.rounded_up()))
        });
        let found: Vec<Option<(f64, f64)>> = found.collect();
        let count = chosen.len();
        let mut truths = vec![count as f64];
        if count > 0 {
            let sum = chosen.iter().sum::<i64>() as f64 / 100.0;
            let middle = (chosen[(count - 1) / 2] + chosen[count / 2]) as f64 / 200.0;
            let (least, greatest) = (chosen[0] as f64 / 100.0, chosen[count - 1] as f64 / 100.0);
            truths.extend([sum, sum / count as f64, least, greatest, middle]);
        }
        for (truth, found) in truths.iter().zip(&found) {
            let (lower, upper) = found.unwrap_or((f64::NAN, f64::NAN));
            assert!(
                lower <= truth + 1e-9 && *truth <= upper + 1e-9,
                "{condition}: {truths:?} not in {found:?} of {:?}\n{told}",
                all.aggregates
            );
        }
    }
}

/// The employees of figure 1 of the paper.
const EMPLOYEES: &str = "zip,pay\n91110,30\n91110,40\n91110,50\n91130,60\n91210,40\n91220,30\n\
                         91240,50\n91310,40\n91320,60\n91330,60\n91340,60\n";

/// A job that releases the employees by area.
fn by_area(folder: &Folder, target: &str) -> Job {
    let text = format!(
        "[attributes.zip]\nrole = 'quasi-identifier'\ntype = 'text'\n\
         hierarchy = {{ mask = 'right' }}\n[attributes.pay]\nrole = 'sensitive'\n\
         [privacy.distribution]\nattribute = 'pay'\ngroups = {{ zip = 2 }}\n{target}\n"
    );
    Job::new(policy(&folder.path(""), &text))
}

/// A sink that hands another release to verification than it was given.
struct Replaced {
    given: ReleaseBatches,
    folder: PathBuf,
}

impl Sink for Replaced {
    fn name(&self) -> String {
        self.folder.display().to_string()
    }

    fn meter(&self) -> &Meter {
        Sink::meter(&self.given)
    }

    fn table(&mut self, name: &str, schema: &SchemaRef) -> Result<Box<dyn TableSink>> {
        Sink::table(&mut self.given, name, schema)
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn seal(&mut self) -> Result<Tables> {
        self.given.seal()?;
        Tables::open(&self.folder)
    }

    fn publish(&mut self, _: &Report) -> Result<()> {
        Ok(())
    }
}

/// Changes a piece of a file that must be there.
fn edit(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "no {from:?} in {}:\n{text}", file.display());
    std::fs::write(file, text.replacen(from, to, 1)).unwrap();
}

/// A job compares what it reads back with the table that it read, by what is written in both: a
/// release of another table fails, whatever the job's own plan was.
#[test]
fn a_job_compares_its_release_with_its_table() {
    let folder = Folder::new("distribution-run");
    let (job, watch) = (by_area(&folder, "target = 'uniform'"), Watch::silent());
    let (input, out) = (folder.write("employees.csv", EMPLOYEES), folder.path("out"));
    job.run(open(&input), ReleaseFolder::new(&out).unwrap(), &watch).unwrap();
    let found = |table: &str| {
        let input = folder.write("other.csv", table);
        let sink = Replaced { given: ReleaseBatches::new(), folder: out.clone() };
        job.run(open(&input), sink, &watch).err().map(|error| error.to_string())
    };
    let fails = |table: &str, says: &str| {
        let error = found(table).unwrap_or_default();
        assert!(error.contains(says), "{says}: {error}");
    };
    assert_eq!(found(EMPLOYEES), None);
    // The release has three times 60 in the third area at most.
    fails(&EMPLOYEES.replace("91310,40", "91310,60"), "definition 3.1");
    fails(&EMPLOYEES.replace("91310,40", "91311,40"), "not those of the table");
    fails(&EMPLOYEES.replace("91310,40", "91310,70"), "weights of group");
    // Contradictions are told as what they are, and not as rows that were lost.
    let groups = out.join("groups.csv");
    let sound = std::fs::read_to_string(&groups).unwrap();
    edit(&groups, "912**,912**,", "911**,912**,");
    fails(EMPLOYEES, "duplicate group");
    assert!(!found(EMPLOYEES).unwrap_or_default().contains("read back"));
    std::fs::write(&groups, sound).unwrap();
    assert_eq!(found(EMPLOYEES), None);
}

/// Points the second area to the target of the first and generalizes its values to the root, so
/// that all else fits: only the second area's own target can show it.
fn point_to_first_target(out: &Path) {
    edit(&out.join("groups.csv"), "912**,912**,2,3,3", "912**,912**,1,3,3");
    let rewrite = |name: &str, line: &dyn Fn(usize) -> String| {
        let file = out.join(name);
        let text = std::fs::read_to_string(&file).unwrap();
        let mut number = 0;
        let lines = text.lines().map(|own| {
            number += usize::from(own.starts_with("912**"));
            if own.starts_with("912**") { line(number) } else { own.to_string() }
        });
        let lines: Vec<String> = lines.collect();
        std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    };
    rewrite("sensitive.csv", &|_| "912**,30-60".into());
    rewrite("bounds.csv", &|n| format!("912**,{n},{},{},30,60,30,60", 30 * n, 60 * n));
}

#[test]
fn a_group_that_follows_the_target_of_another_is_seen() {
    let folder = Folder::new("distribution-targets");
    for (at, heavy) in [("a", 1), ("b", 3)] {
        std::fs::create_dir_all(folder.path(at)).unwrap();
        folder.write(&format!("{at}/w.csv"), &format!("30,1\n40,1\n50,1\n60,{heavy}\n"));
    }
    let (input, out) = (folder.write("employees.csv", EMPLOYEES), folder.path("out"));
    let watch = Watch::silent();
    // Whether it is seen in the release alone, without the table.
    for (target, is_seen) in [
        ("target = { kind = 'source', of = 'group' }", false),
        ("target = { kind = 'uniform', of = 'group' }", false),
        ("target = 'uniform'\ntargets = { '911**' = 'a/w.csv', '912**' = 'b/w.csv' }", true),
        (
            "target = 'uniform'\n\
             [privacy.distribution.targets]\n\
             '911**' = { kind = 'normal', mean = 30, deviation = 15 }\n\
             '912**' = { kind = 'normal', mean = 60, deviation = 15 }",
            true,
        ),
    ] {
        let job = by_area(&folder, target);
        job.run(open(&input), ReleaseFolder::new(&out).unwrap(), &watch).unwrap();
        point_to_first_target(&out);
        let release = Tables::open(&out).unwrap();
        let problems = |original: Option<&dyn Source>| {
            job.verify(&release, original, None, &watch).unwrap().problems
        };
        let original = open(&input);
        let (alone, beside) = (problems(None), problems(Some(&original)));
        assert_eq!(alone.len(), usize::from(is_seen), "{target}: {alone:?}");
        assert_eq!(beside.len(), 1, "{target}: {beside:?}");
        assert!(beside[0].contains("target weights of group `912**`"), "{target}: {beside:?}");
    }
}
