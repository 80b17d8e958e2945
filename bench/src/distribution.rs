//! Distribution-based anonymization: figures 5 to 13 of Koudas, Srivastava, Yu and Zhang (2009).
//!
//! What is measured is the relative error (upper - lower) / truth of AVG(capital loss) over 100
//! random ranges of ages per width. The paper does not say how it made source distributions into
//! small whole weights; here it is the policy's `rounding`.

use crate::harness::Measured;
use scumble::error::Result;
use scumble::query::bounds::{Aggregate, Ends, bound};
use scumble::random::Random;
use scumble::ratio::Ratio;
use scumble::search::buckets::{
    Annotated, Distributed, Fakes, Measure, Problem, Rounding, Shape, Target, normal, qi_sa,
    sa_only, zipf,
};
use scumble::source::encode;
use scumble::table::{Data as Column, Role, Tallies};
use scumble::watch::Watch;
use scumble::{Source, TableFile};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;

/// The widths of the ranges.
const WIDTHS: [u32; 7] = [5, 10, 20, 30, 40, 50, 60];

/// Queries for each width.
const QUERIES: usize = 100;

/// How far the share of a node may be from the target's: the policy's `rounding`.
const TOLERANCE: f64 = 0.05;

/// Ages of the synthetic tables, as in section 6.1.
const AGES: (i64, i64) = (17, 79);

/// The domain of the synthetic tables, as in section 6.3.
const DOMAIN: (i64, i64) = (1024, 3072);

/// Values of a domain, ascending, with their weights.
type Weighed = (Vec<i64>, Vec<f64>);

struct Table {
    ages: Vec<u32>,
    values: Vec<i64>,
}

impl Table {
    /// Rows of random ages whose values `value` draws.
    fn draw(rows: usize, seed: u64, value: impl Fn(&mut Random, f64) -> f64) -> Table {
        let mut random = Random::new(seed);
        let mut table = Table { ages: Vec::new(), values: Vec::new() };
        for _ in 0..rows {
            let age = random.between(AGES.0, AGES.1);
            // How far the age is through the range, for values that depend on it.
            let way = (age - AGES.0) as f64 / (AGES.1 - AGES.0) as f64;
            table.ages.push(age as u32);
            table.values.push(
                value(&mut random, way).round().clamp(DOMAIN.0 as f64, DOMAIN.1 as f64) as i64,
            );
        }
        table
    }

    fn uncorrelated(rows: usize) -> Table {
        Table::draw(rows, 1, |random, _| 2048.0 + 300.0 * random.normal())
    }

    fn correlated(rows: usize) -> Table {
        Table::draw(rows, 2, |random, way| 1300.0 + 1500.0 * way + 150.0 * random.normal())
    }

    fn uniform(rows: usize) -> Table {
        Table::draw(rows, 3, |random, _| random.between(DOMAIN.0, DOMAIN.1) as f64)
    }

    /// Values by Zipf's law over the domain; where it is correlated, ages follow the order of the
    /// values.
    fn zipf(rows: usize, s: f64, correlated: bool) -> Table {
        let weights = zipf((DOMAIN.1 - DOMAIN.0 + 1) as usize, s);
        let mut sums: Vec<f64> = Vec::with_capacity(weights.len());
        weights.iter().for_each(|weight| sums.push(sums.last().unwrap_or(&0.0) + weight));
        let mut random = Random::new(4);
        let draw = |random: &mut Random| {
            let at = random.unit() * sums[sums.len() - 1];
            DOMAIN.0 + sums.partition_point(|sum| *sum <= at) as i64
        };
        let mut values: Vec<i64> = (0..rows).map(|_| draw(&mut random)).collect();
        let mut ages: Vec<u32> = (0..rows).map(|_| random.between(AGES.0, AGES.1) as u32).collect();
        if correlated {
            values.sort_unstable();
            ages.sort_unstable();
        }
        Table { ages, values }
    }

    /// People of the Adult table who have a capital loss, if the file has that column.
    fn adult(folder: &Path) -> Result<Option<Table>> {
        let source = TableFile::open(&folder.join("adult.csv"))?;
        let schema = source.schema();
        let names = || schema.fields().iter().map(|field| field.name().as_str());
        let wanted = ["age", "capital-loss"];
        if wanted.iter().any(|wanted| !names().any(|name| name == *wanted)) {
            return Ok(None);
        }
        let role =
            |name: &str| if wanted.contains(&name) { Role::Target } else { Role::Identifier };
        let roles: Vec<Role> = names().map(role).collect();
        let table = encode(&source, &roles, &Watch::default(), "read")?;
        let numbers = |name: &str| -> Vec<i64> {
            let column =
                table.columns.iter().find(|column| column.name == name).map(|column| &column.data);
            let Some(Column::Coded { dictionary, codes, .. }) = column else { return Vec::new() };
            codes.iter().map(|code| dictionary.value(code.0).trim().parse().unwrap_or(0)).collect()
        };
        let losses =
            numbers("age").into_iter().zip(numbers("capital-loss")).filter(|(_, loss)| *loss > 0);
        let (ages, values): (Vec<u32>, Vec<i64>) =
            losses.map(|(age, loss)| (age as u32, loss)).unzip();
        Ok(Some(Table { ages, values }))
    }

    /// Without a random tenth of its rows.
    fn thinned(&self) -> Table {
        let mut random = Random::new(9);
        let kept: Vec<bool> = self.ages.iter().map(|_| random.below(10) > 0).collect();
        let ages =
            self.ages.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(age, _)| *age).collect();
        let values = self
            .values
            .iter()
            .zip(&kept)
            .filter(|(_, kept)| **kept)
            .map(|(value, _)| *value)
            .collect();
        Table { ages, values }
    }

    fn distinct(&self) -> Vec<i64> {
        let mut values = self.values.clone();
        values.sort_unstable();
        values.dedup();
        values
    }
}

/// What is asked of one run.
#[derive(Clone)]
struct Case<'a> {
    figure: &'static str,
    data: String,
    said: String,
    table: &'a Table,
    /// The values of the domain with their weights; apart for each of the owner's groups.
    targets: Vec<Weighed>,
    /// Equal parts of the ages that are the owner's groups.
    groups: u32,
    arity: u32,
    fakes: u64,
    parted: bool,
    /// Whole weights as they are, instead of small ones within the tolerance.
    exact: bool,
    widths: &'a [u32],
}

impl Case<'_> {
    fn group_of(&self, age: u32) -> u32 {
        let span = (AGES.1 - AGES.0 + 1) as u32;
        (age.saturating_sub(AGES.0 as u32).min(span - 1) * self.groups) / span
    }

    /// Fills buckets; the time that took.
    fn fill(&self) -> (Vec<Target>, Distributed<'static>, Vec<Vec<i64>>, f64) {
        let all: Vec<i64> = {
            let mut all: Vec<i64> =
                self.targets.iter().flat_map(|(values, _)| values).copied().collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let code = |value: &i64| all.binary_search(value).unwrap_or(0) as u32;
        let build = |(values, weights): &Weighed| {
            let shape = Shape::Balanced { arity: self.arity };
            let measure = Measure::Numbers(values);
            let (hierarchy, rounding) = if self.exact {
                let whole: Vec<u64> = weights.iter().map(|weight| *weight as u64).collect();
                (Annotated::exact(&whole, &shape, measure), Rounding::default())
            } else {
                Annotated::rounded(weights, TOLERANCE, &shape, measure)
            };
            Target { codes: values.iter().map(code).collect(), hierarchy, rounding }
        };
        let targets: Vec<Target> = self.targets.iter().map(build).collect();
        let target_of: Vec<u32> =
            (0..self.groups).map(|group| group.min(targets.len() as u32 - 1)).collect();
        let groups: Vec<u32> = self.table.ages.iter().map(|age| self.group_of(*age)).collect();
        let values: Vec<u32> = self.table.values.iter().map(code).collect();
        let share = Ratio::new(self.fakes, 100).unwrap_or(Ratio::ZERO);
        let start = Instant::now();
        let tallies = Tallies::count(target_of.len(), &groups, &values, &Watch::default());
        let Ok(tallies) = tallies else { unreachable!("a measurement is never aborted") };
        let problem = Problem {
            groups: &groups,
            values: &values,
            tallies: &tallies,
            targets: &targets,
            target_of: &target_of,
            fakes: Fakes::Share(share),
            memory: None,
        };
        let found = if self.parted {
            qi_sa::search(&problem, &self.table.ages, &Watch::default())
        } else {
            sa_only::search(&problem, &Watch::default())
        };
        let seconds = start.elapsed().as_secs_f64();
        let Ok(found) = found else { unreachable!("a measurement is never aborted") };
        let found = found.into_owned();
        let ends = self.targets.iter().map(|(values, _)| values.clone()).collect();
        (targets, found, ends, seconds)
    }

    fn measure(&self) -> Vec<Value> {
        let (targets, found, values, seconds) = self.fill();
        let target_of = |group: usize| (found.part_of[group] as usize).min(targets.len() - 1);
        let ends: Vec<Ends> = found
            .buckets
            .iter()
            .enumerate()
            .map(|(group, bucket)| {
                let (target, values) = (&targets[target_of(group)], &values[target_of(group)]);
                Ends::new(bucket.subdomains.iter().map(|(node, copies)| {
                    let leaves = &target.hierarchy.node(*node).leaves;
                    (values[leaves.start as usize], values[leaves.end as usize - 1], *copies)
                }))
            })
            .collect();
        let mut random = Random::new(7);
        let mut errors = Vec::new();
        for width in WIDTHS {
            if !self.widths.contains(&width) {
                errors.push(Value::Null);
                continue;
            }
            let (mut sum, mut queries) = (0.0, 0);
            while queries < QUERIES {
                let from = random.between(AGES.0, AGES.1 - i64::from(width)) as u32;
                let mut selected = vec![0u32; ends.len()];
                let (mut total, mut rows) = (0i64, 0i64);
                for ((age, value), group) in
                    self.table.ages.iter().zip(&self.table.values).zip(found.groups.iter())
                {
                    if (from..=from + width).contains(age) {
                        selected[*group as usize] += 1;
                        (total, rows) = (total + value, rows + 1);
                    }
                }
                if rows == 0 {
                    continue;
                }
                let groups: Vec<(&Ends, u32)> =
                    ends.iter().zip(selected).filter(|(_, selected)| *selected > 0).collect();
                if let Some((lower, upper)) = bound(Aggregate::Avg, &groups, 0).bounds {
                    let truth = total as f64 / rows as f64;
                    sum += (upper.rounded_up() - lower.rounded_down()) / truth;
                    queries += 1;
                }
            }
            errors.push(json!(format!("{:.3}", sum / QUERIES as f64)));
        }
        let fakes: u64 = found
            .buckets
            .iter()
            .flat_map(|bucket| &bucket.fakes)
            .map(|(_, count)| u64::from(*count))
            .sum();
        let mut row = vec![
            json!(self.figure),
            json!(self.data),
            json!(format!(
                "{}{}",
                if self.parted { "QI-SA" } else { "SA-only" },
                if self.fakes > 0 { format!(" +{} %", self.fakes) } else { String::new() }
            )),
            json!(self.said),
        ];
        row.extend(errors);
        row.push(json!(fakes));
        row.push(json!(format!("{:.1}", seconds * 1e3)));
        row
    }
}

/// A table's own distribution.
fn source(table: &Table) -> Weighed {
    let values = table.distinct();
    let mut counts = vec![0.0; values.len()];
    table
        .values
        .iter()
        .filter_map(|value| values.binary_search(value).ok())
        .for_each(|at| counts[at] += 1.0);
    (values, counts)
}

/// The whole numbers of a range with weights.
fn over(from: i64, to: i64, weights: impl Fn(&[f64]) -> Vec<f64>) -> Weighed {
    let values: Vec<i64> = (from..=to).collect();
    let weights = weights(&values.iter().map(|value| *value as f64).collect::<Vec<_>>());
    (values, weights)
}

/// The experiments of sections 6.1 to 6.5; `rows` is the size of the synthetic tables.
pub fn distribution(adult: Option<&Path>, rows: usize) -> Result<Measured> {
    let adult = adult.map(Table::adult).transpose()?.flatten();
    let mut cases = Vec::new();
    let (uncorrelated, correlated, flat) =
        (Table::uncorrelated(rows), Table::correlated(rows), Table::uniform(rows));
    let mut tables = vec![("no correlation", &uncorrelated), ("correlation", &correlated)];
    tables.extend(adult.iter().map(|adult| ("Adult, capital loss", adult)));
    let case = |figure, data: &str, said: &str, table, target: Weighed, parted| Case {
        figure,
        data: data.into(),
        said: said.into(),
        table,
        targets: vec![target],
        groups: 1,
        arity: 2,
        fakes: 0,
        parted,
        exact: false,
        widths: &WIDTHS,
    };
    for (data, table) in &tables {
        cases.push(Case {
            exact: true,
            ..case("5", data, "source, exact", table, source(table), false)
        });
        for fakes in [0, 5, 10, 20] {
            cases.push(Case { fakes, ..case("5", data, "source", table, source(table), true) });
        }
    }
    let thinned: Vec<(&str, Table, Weighed)> =
        tables.iter().map(|(data, table)| (*data, table.thinned(), source(table))).collect();
    for (data, table, target) in &thinned {
        for fakes in [0, 5, 10, 20] {
            cases.push(Case {
                fakes,
                ..case("6", data, "source before 10 % were removed", table, target.clone(), false)
            });
        }
    }
    let middle = (DOMAIN.0 + DOMAIN.1) as f64 / 2.0;
    let at_50 = |case| Case { widths: &[50], ..case };
    for r in [2, 4, 6, 8, 10] {
        let deviation = (DOMAIN.1 - DOMAIN.0) as f64 / f64::from(r);
        let target = over(DOMAIN.0, DOMAIN.1, |values| normal(values, middle, deviation));
        for parted in [false, true] {
            cases.push(at_50(case(
                "7",
                "uniform",
                &format!("normal, r = {r}"),
                &flat,
                target.clone(),
                parted,
            )));
        }
    }
    let skewed = [Table::zipf(rows, 0.1, false), Table::zipf(rows, 0.1, true)];
    for (figure, data, table) in
        [("8", "Zipf 0.1", &skewed[0]), ("9", "Zipf 0.1, correlation", &skewed[1])]
    {
        for s in [0.1, 0.3, 0.5, 0.7, 0.9] {
            let target = over(DOMAIN.0, DOMAIN.1, |values| zipf(values.len(), s));
            for parted in [false, true] {
                cases.push(at_50(case(
                    figure,
                    data,
                    &format!("Zipf {s}"),
                    table,
                    target.clone(),
                    parted,
                )));
            }
        }
    }
    let even = || over(DOMAIN.0, DOMAIN.1, |values| vec![1.0; values.len()]);
    for (arity, said) in [(2, "uniform, binary"), (3, "uniform, ternary")] {
        for parted in [false, true] {
            cases.push(Case { arity, ..case("10", "uniform", said, &flat, even(), parted) });
        }
    }
    let mut parts = vec![("12", "correlation", &correlated)];
    parts.extend(adult.iter().map(|adult| ("11", "Adult, capital loss", adult)));
    for (figure, data, table) in parts {
        for groups in [1, 2, 10] {
            for parted in [false, true] {
                let said = format!(
                    "{groups} groups, {}",
                    if figure == "11" { "source" } else { "uniform" }
                );
                let mut case = Case { groups, ..case(figure, data, &said, table, even(), parted) };
                case.targets = own(&case, figure == "11");
                cases.push(case);
            }
        }
    }
    let sizes: Vec<Table> = [1, 2, 4, 8, 16].map(|times| Table::uncorrelated(times * rows)).into();
    for table in &sizes {
        for parted in [false, true] {
            let data = format!("no correlation, {} rows", table.ages.len());
            cases.push(Case {
                widths: &[],
                ..case("13", &data, "source", table, source(table), parted)
            });
        }
    }
    Ok(Measured {
        title: format!(
            "AVG over ages: (upper - lower) / truth by the width of the range, {QUERIES} queries each; {rows} rows, weights within {} %",
            TOLERANCE * 100.0
        ),
        columns: vec![
            "figure",
            "data",
            "algorithm",
            "target",
            "5",
            "10",
            "20",
            "30",
            "40",
            "50",
            "60",
            "fakes",
            "ms",
        ],
        rows: cases.iter().map(Case::measure).collect(),
    })
}

/// The targets of a case's groups: their own distributions, or all whole numbers between their
/// least and their greatest value.
fn own(case: &Case<'_>, as_source: bool) -> Vec<Weighed> {
    let part = |group: u32| {
        let own = case
            .table
            .ages
            .iter()
            .zip(&case.table.values)
            .filter(|(age, _)| case.group_of(**age) == group);
        let (ages, values): (Vec<u32>, Vec<i64>) = own.map(|(age, value)| (*age, *value)).unzip();
        let (least, greatest) = (values.iter().min().copied(), values.iter().max().copied());
        if as_source {
            source(&Table { ages, values })
        } else {
            over(least.unwrap_or(0), greatest.unwrap_or(0), |values| vec![1.0; values.len()])
        }
    };
    (0..case.groups).map(part).collect()
}
