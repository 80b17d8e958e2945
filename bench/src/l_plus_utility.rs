//! What the best cuts are worth (Liu and Wang 2010, section VIII-A): figure 6 by the average l, and
//! the classification errors of figures 5 (d) and 6 (d), on the Adult table.

use crate::harness::{Measured, read};
use crate::l_plus::{Setting, number, schemes, uniform};
use crate::tree::{Attribute, Examples, Tree};
use scumble::bind::{OnCuts, Prepared};
use scumble::error::{Error, Result};
use scumble::ids::{Id, RowId};
use scumble::loss::LossChoice;
use scumble::random::{Random, Secrets};
use scumble::recoding::Mapping;
use scumble::release::{Draws, Recoded, Records};
use scumble::search::cuts::Machine;
use scumble::search::cuts::l_plus_optimize::{Techniques, search};
use scumble::search::lattice::incognito::{self, Strategy};
use scumble::table::Table;
use scumble::watch::Watch;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Random splits that errors are averaged over.
const SPLITS: u64 = 5;

/// All tables.
pub fn l_plus_utility(adult: Option<&Path>) -> Result<Vec<Measured>> {
    let setting = Setting::of_adult(adult)?;
    let frequencies = frequencies(&setting)?;
    let by_average = |l: u32| caps_with_average(&frequencies, l);
    Ok(vec![
        figure_6(&setting, &by_average)?,
        errors(&setting, "Figure 5 (d): one threshold 1/l for all values", &uniform, true)?,
        errors(&setting, "Figure 6 (d): thresholds by frequency", &by_average, false)?,
    ])
}

/// How often each sensitive value occurs.
fn frequencies(setting: &Setting<'_>) -> Result<BTreeMap<String, u64>> {
    let file = &setting.data;
    let text = std::fs::read_to_string(file).map_err(Error::io(file, "read"))?;
    let mut lines = text.lines().map(|line| line.split(';').collect::<Vec<_>>());
    let header = lines.next().unwrap_or_default();
    let at = header.iter().position(|column| *column == "occupation").ok_or(Error::Defect)?;
    let mut counts = BTreeMap::new();
    lines.for_each(|row| *counts.entry(row[at].to_string()).or_default() += 1);
    Ok(counts)
}

/// The paper's thresholds, scaled so that their average is exactly 1/l: the base for values rarer
/// than the average, and in proportion to the frequency for the others.
fn caps_with_average(frequencies: &BTreeMap<String, u64>, l: u32) -> String {
    let values = frequencies.len() as u64;
    let rows: u64 = frequencies.values().sum();
    // The threshold of a value is that of the rarest times weight / rows.
    let weight = |count: u64| rows.max(values * count);
    let sum: u64 = frequencies.values().map(|count| weight(*count)).sum();
    let below = u64::from(l) * sum;
    let cap = |(value, count): (&String, &u64)| {
        format!("\"{value}\" = \"{}/{below}\"", (values * weight(*count)).min(below))
    };
    let caps: Vec<String> = frequencies.iter().map(cap).collect();
    format!("thresholds = {{ values = {{ {} }} }}", caps.join(", "))
}

/// What the caps of a policy come to: 1 / their average, and 1 / the least of them.
fn average_l(setting: &Setting<'_>) -> Result<(f64, f64)> {
    let prepared = setting.prepare("l-plus-optimize")?;
    let OnCuts { problem, .. } = prepared.cuts.as_ref().ok_or(Error::Defect)?;
    let caps: Vec<f64> = problem.caps.of_values().iter().map(|cap| cap.to_f64()).collect();
    let average = caps.iter().sum::<f64>() / caps.len() as f64;
    Ok((1.0 / average, 1.0 / caps.iter().copied().fold(1.0, f64::min)))
}

fn figure_6(setting: &Setting<'_>, privacy: &dyn Fn(u32) -> String) -> Result<Measured> {
    let mut rows = Vec::new();
    for (loss, ..) in LossChoice::NAMES {
        for scheme in schemes(loss) {
            for l in 2..=6 {
                let one = Setting { loss, scheme, privacy: privacy(l), ..setting.clone() };
                let same = Setting { privacy: uniform(l), ..one.clone() };
                let (average, rarest) = average_l(&one)?;
                let (run, plain, full_domain) = (one.run()?, same.run()?, same.full_domain()?);
                rows.push(vec![
                    json!(loss),
                    json!(scheme),
                    json!(format!("{average:.2}")),
                    json!(format!("{rarest:.2}")),
                    number(run.cost()),
                    number(plain.cost()),
                    json!(format!("{:.1} %", 100.0 * (1.0 - run.cost() / plain.cost()))),
                    number(full_domain),
                    run.time(),
                    json!(run.outcome.visited),
                ]);
            }
        }
    }
    let columns = vec![
        "loss",
        "scheme",
        "average l",
        "l of the rarest",
        "cost",
        "cost with 1/l for all",
        "less",
        "full-domain with 1/l for all",
        "seconds",
        "evaluated",
    ];
    let title = "Figure 6: thresholds by frequency, by the average l".into();
    Ok(Measured { title, columns, rows })
}

/// A table as it is released, row by row. Suppressed rows have labels too: those that the recoding
/// would give them.
struct Released {
    /// Of each quasi-identifier.
    attributes: Vec<Attribute>,
    is_released: Vec<bool>,
    cost: f64,
}

/// A table and what a policy means for it.
struct Bound {
    table: Table,
    prepared: Prepared,
}

impl Bound {
    fn new(setting: &Setting<'_>, algorithm: &str) -> Result<Bound> {
        let policy = setting.policy(algorithm)?;
        let table = read(&setting.data, &policy)?;
        let prepared = policy.prepare(&table)?;
        Ok(Bound { table, prepared })
    }

    fn rows(&self) -> impl Iterator<Item = RowId> + use<> {
        RowId::first(self.table.row_cells.len())
    }

    fn is_ordered(&self, column: usize) -> bool {
        self.prepared.names[column] == "age"
    }

    fn released(&self, recoded: &Recoded, cost: f64) -> Result<Released> {
        let watch = Watch::default();
        let classes = recoded.class_of_row(&self.table, &self.prepared.leaf_cell, &watch)?;
        let attribute = |column: usize| Attribute {
            codes: self.rows().map(|row| recoded.classes.codes(classes.at(row))[column]).collect(),
            is_ordered: self.is_ordered(column),
        };
        Ok(Released {
            attributes: (0..self.prepared.names.len()).map(attribute).collect(),
            is_released: self.rows().map(|row| recoded.is_released(row, classes.at(row))).collect(),
            cost,
        })
    }

    /// The table as it is.
    fn original(&self) -> Released {
        let Bound { table, prepared } = self;
        let code = |row: RowId, column: usize| {
            prepared.task.cells.codes(prepared.leaf_cell.at(table.row_cells.at(row)))[column]
        };
        let attribute = |column: usize| Attribute {
            codes: self.rows().map(|row| code(row, column)).collect(),
            is_ordered: self.is_ordered(column),
        };
        Released {
            attributes: (0..prepared.names.len()).map(attribute).collect(),
            is_released: vec![true; table.row_cells.len()],
            cost: 0.0,
        }
    }
}

/// The optimal cut, applied.
fn by_cuts(setting: &Setting<'_>) -> Result<Released> {
    let bound = Bound::new(setting, "l-plus-optimize")?;
    let Bound { table, prepared } = &bound;
    let watch = Watch::default();
    let OnCuts { problem, values, labels, .. } = prepared.cuts.as_ref().ok_or(Error::Defect)?;
    let machine = Machine::new(problem, &prepared.task.cells, &watch)?;
    let outcome = search(&machine, Techniques::default(), 1, &mut |_| true)?;
    let (cost, cuts) = outcome.best.first().ok_or(Error::Defect)?;
    let mapping = Mapping::Cuts(machine.taxonomy_cuts(cuts).ok_or(Error::Defect)?);
    let cells = table.row_cells.then(&prepared.leaf_cell, &watch)?;
    let records = Records { cells: &cells, values, labels };
    let draws = Draws { secrets: Secrets::Seed(1), extra: 0 };
    let recoded = Recoded::by_scheme(&prepared.task, &mapping, problem, records, draws, &watch)?;
    bound.released(&recoded, *cost)
}

/// The optimal levels, applied.
fn by_levels(setting: &Setting<'_>) -> Result<Released> {
    let bound = Bound::new(&Setting { scheme: "none", ..setting.clone() }, "incognito")?;
    let task = &bound.prepared.task;
    let found = incognito::search(task, Strategy::BestFirst, &Watch::default())?;
    let cost = found.cost.unwrap_or(f64::NAN) * task.rows() as f64;
    bound.released(&Recoded::new(task, &found.mapping, &Watch::default())?, cost)
}

/// The rows to learn from and to test with: two thirds and one third, as in the paper. Split 0
/// has the first and the last rows of the file, as in the paper; others are random.
fn split(rows: usize, number: u64) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<usize> = (0..rows).collect();
    if number > 0 {
        let mut random = Random::stream(2010, number);
        for last in (1..rows).rev() {
            order.swap(last, random.below(last as u64 + 1) as usize);
        }
    }
    let test = order.split_off(rows * 2 / 3);
    (order, test)
}

/// Shares of wrong class labels, over random splits.
#[derive(Default)]
struct Errors {
    /// Of all rows that are held out.
    all: Vec<f64>,
    /// Of those that are released.
    released: Vec<f64>,
    /// Of all, in the split by the order of the file.
    in_order: f64,
    leaves: Vec<f64>,
}

impl Errors {
    fn of(released: &Released, more: Option<&[u32]>, labels: &[u32]) -> Errors {
        let copy =
            |one: &Attribute| Attribute { codes: one.codes.clone(), is_ordered: one.is_ordered };
        let mut attributes: Vec<Attribute> = released.attributes.iter().map(copy).collect();
        attributes.extend(more.map(|codes| Attribute { codes: codes.to_vec(), is_ordered: false }));
        let examples = Examples { attributes, labels: labels.to_vec() };
        let mut errors = Errors::default();
        for number in 0..=SPLITS {
            let (learn, test) = split(labels.len(), number);
            let is_released = |row: &usize| released.is_released[*row];
            let learn: Vec<usize> = learn.into_iter().filter(is_released).collect();
            let tree = Tree::learn(&examples, &learn);
            let all = tree.error(&examples, &test);
            if number == 0 {
                errors.in_order = all;
                continue;
            }
            let test: Vec<usize> = test.into_iter().filter(is_released).collect();
            errors.all.push(all);
            errors.released.push(tree.error(&examples, &test));
            errors.leaves.push(tree.leaves() as f64);
        }
        errors
    }

    fn cells(&self) -> [Value; 4] {
        let percent = |share: f64| json!(format!("{:.2}", 100.0 * share));
        let spread = deviation(&self.all);
        [
            json!(format!("{:.2} ± {:.2}", 100.0 * mean(&self.all), 100.0 * spread)),
            percent(mean(&self.released)),
            percent(self.in_order),
            json!(format!("{:.0}", mean(&self.leaves))),
        ]
    }
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// The standard deviation of a sample.
fn deviation(numbers: &[f64]) -> f64 {
    let mean = mean(numbers);
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    (squares / (numbers.len() as f64 - 1.0)).sqrt()
}

/// Errors of trees from releases by CM; with the original and no attributes at all, if asked.
fn errors(
    setting: &Setting<'_>,
    title: &str,
    privacy: &dyn Fn(u32) -> String,
    with_others: bool,
) -> Result<Measured> {
    let setting = Setting { loss: "cm", scheme: "none", ..setting.clone() };
    let bound = Bound::new(&Setting { privacy: uniform(2), ..setting.clone() }, "l-plus-optimize")?;
    let OnCuts { values, labels, .. } = bound.prepared.cuts.as_ref().ok_or(Error::Defect)?;
    let occupation: Vec<u32> = values.iter().map(Id::number).collect();
    let labels: Vec<u32> = labels.iter().map(Id::number).collect();
    let mut rows = Vec::new();
    let mut add = |name: &str, l: Value, released: &Released| {
        let suppressed = released.is_released.iter().filter(|is| !**is).count();
        let mut row = vec![json!(name), l, number(released.cost), json!(suppressed)];
        row.extend(Errors::of(released, None, &labels).cells());
        row.extend(Errors::of(released, Some(&occupation), &labels).cells());
        rows.push(row);
    };
    if with_others {
        let original = bound.original();
        let attributes = Vec::new();
        add("no attributes", Value::Null, &Released { attributes, ..bound.original() });
        add("original", Value::Null, &original);
    }
    for l in 2..=6 {
        let one = Setting { privacy: privacy(l), ..setting.clone() };
        if with_others {
            add("full-domain, none", json!(l), &by_levels(&one)?);
        }
        for scheme in schemes("cm") {
            add(scheme, json!(l), &by_cuts(&Setting { scheme, ..one.clone() })?);
        }
    }
    let columns = vec![
        "release",
        "l",
        "CM",
        "suppressed",
        "error %",
        "of released %",
        "file order %",
        "leaves",
        "with occupation: error %",
        "of released %, with",
        "file order %, with",
        "leaves, with",
    ];
    let title = format!("{title}; errors of a tree on held-out rows, mean of {SPLITS} splits");
    Ok(Measured { title, columns, rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 12 rows and 3 values, the average frequency is 4: two are rarer, and one has twice as
    /// much, so the thresholds are in proportion 1 : 1 : 2 and their average is 1/l.
    #[test]
    fn thresholds_have_the_average_that_is_asked_for() {
        let counts = [("a", 1), ("b", 3), ("c", 8)].map(|(value, count)| (value.into(), count));
        let caps = caps_with_average(&BTreeMap::from(counts), 4);
        // 3/16, 3/16 and 3/8, which sum up to 3/4.
        let expected = "\"a\" = \"36/192\", \"b\" = \"36/192\", \"c\" = \"72/192\"";
        assert_eq!(caps, format!("thresholds = {{ values = {{ {expected} }} }}"));
    }

    #[test]
    fn splits_have_every_row_once_and_differ() {
        let mut seen = Vec::new();
        for number in 0..4 {
            let (learn, test) = split(100, number);
            assert_eq!((learn.len(), test.len()), (66, 34));
            let mut all: Vec<usize> = learn.iter().chain(&test).copied().collect();
            all.sort_unstable();
            assert_eq!(all, (0..100).collect::<Vec<_>>());
            assert!(!seen.contains(&test));
            seen.push(test);
        }
        assert_eq!(seen[0], (66..100).collect::<Vec<_>>());
        assert!((deviation(&[1.0, 2.0, 3.0]) - 1.0).abs() < 1e-12);
    }
}
