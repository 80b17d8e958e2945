//! What a value is called at each level of its hierarchy, read off the policy.
//!
//! Searches and writers use trees over codes. Such a tree would confirm its own mistakes, so labels
//! are derived here once more, from the definition of each kind of hierarchy.

use crate::policy::Policy;
use crate::table::{Day, Dictionary, Moment, Type};
use crate::taxonomy::{DateLevel, Hierarchy, Intervals, Mask, ROOT, Side, said_range};
use std::collections::HashMap;
use std::ops::RangeBounds;

/// The maximum number of levels that a mask has below the root.
const MOST_MASKED: usize = 64;

/// The labels of a column's values.
pub(super) struct Levels<'a> {
    hierarchy: &'a Hierarchy,
    kind: Type,
    missing: &'a [String],
    /// The rows of a hierarchy file by leaf, and by the leaf's number.
    rows: HashMap<&'a str, &'a [String]>,
    numbered: HashMap<u64, &'a [String]>,
    root: &'a str,
    /// The level of the root.
    pub(super) height: usize,
}

impl<'a> Levels<'a> {
    /// The labels of a column with these values.
    pub(super) fn new(policy: &'a Policy, name: &str, values: &Dictionary) -> Levels<'a> {
        let attribute = policy.attribute(name);
        let hierarchy = attribute.map_or(&Hierarchy::None, |attribute| &attribute.hierarchy);
        let listed = match hierarchy {
            Hierarchy::File(file) | Hierarchy::Tree(file) => file.rows(),
            _ => &[],
        };
        let missing = policy.missing_of(name);
        let present = values.values().filter(|value| !is_missing(missing, value));
        let kind = attribute.and_then(|attribute| attribute.kind).unwrap_or_else(|| {
            let leaves = listed.iter().map(|row| row[0].as_str());
            if listed.is_empty() { Type::infer(present.clone()) } else { Type::infer(leaves) }
        });
        let numbered =
            listed.iter().filter_map(|row| Some((bits(kind.number(&row[0])?), &row[..])));
        let height = match hierarchy {
            Hierarchy::File(_) | Hierarchy::Tree(_) => listed.first().map_or(1, Vec::len) - 1,
            Hierarchy::Intervals(intervals) => intervals.widths().len() + 1,
            Hierarchy::Mask(_) => {
                let longest = present.map(|value| value.chars().count()).max();
                longest.unwrap_or(1).clamp(1, MOST_MASKED)
            }
            Hierarchy::Dates(units) => units.len() + 1,
            Hierarchy::None if is_dated(kind) => DateLevel::all(kind).len() + 1,
            Hierarchy::None | Hierarchy::Sets => 1,
        };
        Levels {
            hierarchy,
            kind,
            missing,
            rows: listed.iter().map(|row| (row[0].as_str(), &row[..])).collect(),
            numbered: numbered.collect(),
            root: listed.first().and_then(|row| row.last()).map_or(ROOT, String::as_str),
            height,
        }
    }

    /// What a value is called at a level; `None` if the hierarchy does not have the value or the
    /// level. Missing values have no name below the root.
    pub(super) fn label(&self, value: &str, level: usize) -> Option<String> {
        if level > self.height {
            return None;
        }
        let row = self.row(value);
        if row.is_none() && is_missing(self.missing, value) {
            return Some(if level < self.height { "" } else { self.root }.to_string());
        }
        match self.hierarchy {
            Hierarchy::File(_) | Hierarchy::Tree(_) => row?.get(level).cloned(),
            _ if level == 0 => Some(value.to_string()),
            _ if level == self.height => Some(self.root.to_string()),
            Hierarchy::Intervals(intervals) => {
                interval(intervals, self.kind, self.kind.number(value)?, level - 1)
            }
            Hierarchy::Mask(mask) => Some(masked(mask, value, level)),
            Hierarchy::Dates(units) => calendar(self.kind, value, units[level - 1]),
            Hierarchy::None => calendar(self.kind, value, DateLevel::all(self.kind)[level - 1]),
            // It has two levels, which come first.
            Hierarchy::Sets => None,
        }
    }

    /// Whether a label of a release may stand for a value: its own, that of a node above it, or a
    /// range that has it.
    pub(super) fn may_be(&self, value: &str, label: &str) -> bool {
        label == value
            || (0..=self.height).any(|level| self.label(value, level).as_deref() == Some(label))
            || self.is_in_range(value, label)
    }

    /// Whether a number or a day is written in another way, or lies in a range.
    fn is_in_range(&self, value: &str, label: &str) -> bool {
        let is_text =
            matches!(self.hierarchy, Hierarchy::File(_) | Hierarchy::Tree(_) | Hierarchy::Mask(_));
        if is_text || is_missing(self.missing, value) {
            return false;
        }
        let Some(number) = self.kind.number(value) else { return false };
        let is_ranged = matches!(self.hierarchy, Hierarchy::None);
        self.kind.number(label) == Some(number)
            || said_range(label, self.kind)
                .is_some_and(|range| is_ranged && range.contains(&number))
    }

    /// The row of a hierarchy file; a number may be written in another way there.
    fn row(&self, value: &str) -> Option<&'a [String]> {
        let by_number = || self.numbered.get(&bits(self.kind.number(value)?));
        self.rows.get(value).or_else(by_number).copied()
    }
}

fn is_missing(tokens: &[String], value: &str) -> bool {
    value.is_empty() || tokens.iter().any(|token| token == value)
}

/// The bits of a number, the same for 0 and -0.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// The interval of a number, counted from `from`, or from 0 if that is not given. The last one
/// before `to` takes what is left. `None` outside of the domain.
fn interval(intervals: &Intervals, kind: Type, number: f64, step: usize) -> Option<String> {
    let width = *intervals.widths().get(step)?;
    let (from, to) = (intervals.from(), intervals.to());
    if from.is_some_and(|from| number < from) || to.is_some_and(|to| to < number) {
        return None;
    }
    // Whole multiples of a decimal unit: 0.3 lies in [0.3, 0.4), which sums of floats get wrong.
    let decimals = [Some(width), from, to].into_iter().flatten().map(decimals).max()?;
    let unit = 10f64.powi(decimals as i32);
    let units = |number: f64| (number * unit).round();
    let (first, width) = (units(from.unwrap_or(0.0)), units(width));
    let start = |index: f64| (first + index * width) / unit + 0.0;
    let mut index = ((number * unit - first) / width).floor();
    // The quotient may be off by one.
    if start(index) > number {
        index -= 1.0;
    } else if start(index + 1.0) <= number {
        index += 1.0;
    }
    let last = to.map(|to| (((units(to) - first) / width).ceil() - 1.0).max(0.0));
    let index = last.map_or(index, |last| index.min(last));
    let closed = to.filter(|_| last == Some(index));
    let (start, end) = (start(index), closed.unwrap_or(start(index + 1.0)));
    let until = if closed.is_some() { end } else { end - 1.0 };
    let day = |number: f64| Day(number as i32).to_string();
    Some(match kind {
        Type::Text | Type::Timestamp => return None,
        Type::Date if start == until => day(start),
        Type::Date => format!("{} to {}", day(start), day(until)),
        Type::Integer if intervals.is_whole() && start == until => start.to_string(),
        Type::Integer if intervals.is_whole() && start < 0.0 => format!("{start} to {until}"),
        Type::Integer if intervals.is_whole() => format!("{start}-{until}"),
        Type::Integer | Type::Real if closed.is_some() => format!("[{start}, {end}]"),
        Type::Integer | Type::Real => format!("[{start}, {end})"),
    })
}

/// The number of decimals that a number is written with.
fn decimals(number: f64) -> usize {
    number.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// A value with some characters hidden, but never all of them.
fn masked(mask: &Mask, value: &str, hidden: usize) -> String {
    let characters: Vec<char> = value.chars().collect();
    let hidden = hidden.min(characters.len().saturating_sub(1));
    let is_hidden = |at: usize| match mask.side {
        Side::Left => at < hidden,
        Side::Right => at >= characters.len() - hidden,
    };
    let shown = |(at, own): (usize, &char)| if is_hidden(at) { mask.character } else { *own };
    characters.iter().enumerate().map(shown).collect()
}

/// Whether values of a type have units of the calendar.
fn is_dated(kind: Type) -> bool {
    matches!(kind, Type::Date | Type::Timestamp)
}

/// The unit of the calendar that a day or a moment belongs to, from how that is written.
fn calendar(kind: Type, value: &str, unit: DateLevel) -> Option<String> {
    // A moment is written in UTC before it is looked at.
    let moment = match kind {
        Type::Timestamp => Moment::read(value.trim())?.0.to_string(),
        _ => value.trim().to_string(),
    };
    let (day, time) = moment.split_at_checked(10)?;
    day.parse::<Day>().ok()?;
    let (year, month) = (&day[..4], &day[5..7]);
    Some(match unit {
        DateLevel::Hour => format!("{day} {}h", time.get(1..3)?),
        DateLevel::Day => day.to_string(),
        DateLevel::Month => format!("{year}-{month}"),
        DateLevel::Quarter => format!("{year}-Q{}", month.parse::<u32>().ok()?.div_ceil(3)),
        DateLevel::Year => year.to_string(),
        DateLevel::Decade => format!("{}0s", &day[..3]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taxonomy::bind;
    use std::path::Path;

    fn policy(attribute: &str) -> Policy {
        let text = format!(
            "[attributes.x]\nrole = \"quasi-identifier\"\nmissing = [\"?\"]\n{attribute}\n\
             [privacy]\nk = 2\n"
        );
        Policy::from_toml(&text).unwrap()
    }

    /// Every label of every value is the one that the tree of searches and writers gives, which is
    /// what two independent derivations of the same definition must agree on.
    fn agrees(attribute: &str, values: &[&str]) {
        let policy = policy(attribute);
        let mut dictionary = Dictionary::default();
        values.iter().for_each(|value| {
            dictionary.encode(value, 1);
        });
        let hierarchy = &policy.attribute("x").unwrap().hierarchy;
        let kind = policy.attribute("x").unwrap().kind;
        let missing = policy.missing_of("x");
        let bound = bind(hierarchy, kind, missing, &dictionary, "x", Path::new("t.csv")).unwrap();
        let levels = Levels::new(&policy, "x", &dictionary);
        assert_eq!(levels.height, bound.taxonomy.height(), "{attribute}");
        for (value, leaf) in dictionary.values().zip(bound.leaf_of.iter()) {
            for (number, level) in bound.taxonomy.levels().iter().enumerate() {
                let label = level.label(level.node_of(leaf.0));
                assert!(levels.may_be(value, label), "{attribute}: {value} as {label}");
                if number > 0 {
                    let own = levels.label(value, number);
                    assert_eq!(own.as_deref(), Some(label), "{attribute}: {value} at {number}");
                }
            }
        }
        assert_eq!(levels.label(values[0], levels.height + 1), None);
    }

    #[test]
    fn labels_are_those_of_the_definition() {
        let numbers = ["0", "5", "12", "-7", "039", "39", "", "?", "99", "100"];
        agrees("type = \"integer\"", &numbers);
        agrees("hierarchy = { intervals = [5, 10, 20] }", &numbers);
        agrees("hierarchy = { intervals = [5, 15, 45], from = -10, to = 100 }", &numbers);
        agrees("hierarchy = { intervals = [1, 3], from = -7 }", &numbers);
        agrees("type = \"real\"\nhierarchy = { intervals = [5, 10], to = 100 }", &numbers);
        let reals = ["0.3", "0.30", "0.1", "1.7", "-2.4", "3", "?"];
        agrees("hierarchy = { intervals = [0.1, 0.2, 1] }", &reals);
        agrees("hierarchy = { intervals = [0.3, 0.9], from = -2.4, to = 3 }", &reals);
        let days = ["2024-02-29", "1999-12-31", "2000-01-01", "1969-07-20", ""];
        agrees("type = \"date\"", &days);
        agrees("hierarchy = { dates = [\"quarter\", \"decade\"] }", &days);
        agrees("hierarchy = { intervals = [7, 28] }\ntype = \"date\"", &days);
        let codes = ["13053", "13068", "1485", "7", "äöü", "?", ""];
        agrees("hierarchy = { mask = \"right\" }", &codes);
        agrees("hierarchy = { mask = \"left\", char = \"#\" }\ntype = \"text\"", &codes);
        agrees("type = \"text\"", &codes);
    }

    #[test]
    fn a_label_of_another_value_is_none_of_its_own() {
        let policy = policy("type = \"integer\"");
        let mut dictionary = Dictionary::default();
        dictionary.encode("30", 1);
        let levels = Levels::new(&policy, "x", &dictionary);
        for label in ["30", "30.0", "20-30", "30-31", "up to 30", "above 29", "any number", "*"] {
            assert!(levels.may_be("30", label) == (label != "30.0"), "{label}");
        }
        for label in ["31", "20-29", "above 30", "up to 29", ""] {
            assert!(!levels.may_be("30", label), "{label}");
        }
        assert!(levels.may_be("", "*") && !levels.may_be("", "20-30"));
    }
}
