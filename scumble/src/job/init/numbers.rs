//! Hierarchies of numbers and dates that a person would write.
//!
//! Numbers get intervals of equal width: one, two or five times a power of ten, each a multiple of
//! the one before, at most five of them. If the narrowest of them would put most rows into one
//! interval, as with incomes of which most are zero, the values are halved again and again instead,
//! so that each part has about as many rows; thresholds are the roundest numbers that fit.

use super::scan::Values;
use super::trees::Tree;
use crate::table::{Moment, Type};
use crate::taxonomy::{DateLevel, bits_of, cover_label, threshold_between};
use std::collections::BTreeMap;

/// The maximum number of levels between the values and the root.
const LEVELS: usize = 5;

/// The widest interval is at most half of the range, the narrowest at least this part of it.
const NARROWEST: f64 = 64.0;

/// The share of rows in one interval above which a column is skewed.
const MOST_IN_ONE: f64 = 0.5;

/// The maximum number of distinct numbers of a tree.
const MOST_LEAVES: usize = 5000;

/// A number of one digit and a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Width {
    digit: i32,
    power: i32,
}

impl Width {
    /// The greatest that is not above a number.
    fn up_to(number: f64) -> Option<Width> {
        if !(number > 0.0 && number.is_finite()) {
            return None;
        }
        let power = number.log10().floor() as i32;
        // The logarithm may be off by a little.
        let candidates = [(1, power + 1), (5, power), (2, power), (1, power), (5, power - 1)];
        let mut widths = candidates.into_iter().map(|(digit, power)| Width { digit, power });
        widths.find(|width| width.value() <= number)
    }

    fn value(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// The greatest of which it is a multiple.
    fn next(self) -> Width {
        match self.digit {
            1 => Width { digit: 5, power: self.power - 1 },
            _ => Width { digit: 1, ..self },
        }
    }
}

impl std::fmt::Display for Width {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let zeros = |count: i32| "0".repeat(count.max(0) as usize);
        match self.power {
            0.. => write!(f, "{}{}", self.digit, zeros(self.power)),
            power => write!(f, "0.{}{}", zeros(-power - 1), self.digit),
        }
    }
}

/// How numbers are generalized.
#[derive(Debug)]
pub(super) enum Numbers {
    /// Intervals of these widths.
    Widths(Vec<Width>),
    /// A tree over the values.
    Tree(Tree),
    /// Not at all; why.
    None(&'static str),
}

/// A hierarchy for a column of numbers.
pub(super) fn of_numbers(values: &Values) -> Numbers {
    let Some((least, greatest)) = values.ends else { return Numbers::None(FEW) };
    let whole = values.detected.kind == Type::Integer;
    if whole && greatest - least < 4.0 || values.distinct < 3 {
        return Numbers::None(FEW);
    }
    let is_listed = values.is_all && values.dictionary.len() <= MOST_LEAVES;
    let tree = || if is_listed { quantiles(values) } else { None };
    let all = widths(least, greatest, whole);
    if all.is_empty() {
        let none = Numbers::None("the numbers are too large or too small for intervals");
        return tree().map_or(none, Numbers::Tree);
    }
    let mut useful = Vec::new();
    let mut nodes = values.codes().filter(|code| values.number(*code).is_some()).count();
    for width in all {
        let intervals = rows_of(values, width);
        if useful.is_empty() && is_crowded(&intervals) {
            let none = Numbers::None(
                "most rows would be in one interval; without a hierarchy the numbers can be split \
                 anywhere",
            );
            return tree().map_or(none, Numbers::Tree);
        }
        // A level that joins nothing only makes labels longer.
        if intervals.len() < nodes {
            nodes = intervals.len();
            useful.push(width);
        }
    }
    if useful.is_empty() { Numbers::None(FEW) } else { Numbers::Widths(useful) }
}

const FEW: &str = "few numbers, so there is nothing between a number and all of them";

/// The rows and the distinct numbers of each interval.
fn rows_of(values: &Values, width: Width) -> BTreeMap<i64, (u64, u64)> {
    let (width, mut intervals) = (width.value(), BTreeMap::<i64, (u64, u64)>::new());
    for code in values.codes() {
        if let Some(number) = values.number(code) {
            let known = intervals.entry((number / width).floor() as i64).or_default();
            *known = (known.0 + values.counts[code as usize], known.1 + 1);
        }
    }
    intervals
}

/// Whether most rows are in one of several intervals, and could be told apart.
fn is_crowded(intervals: &BTreeMap<i64, (u64, u64)>) -> bool {
    let all: u64 = intervals.values().map(|(rows, _)| rows).sum();
    let most =
        |(rows, distinct): &(u64, u64)| *rows as f64 > MOST_IN_ONE * all as f64 && *distinct > 1;
    intervals.len() > 1 && intervals.values().any(most)
}

/// Nested widths for a range of numbers, from narrow to wide.
fn widths(least: f64, greatest: f64, whole: bool) -> Vec<Width> {
    let range = greatest - least;
    let mut widths = Vec::new();
    let mut next = Width::up_to(range / 2.0);
    while let Some(width) = next {
        let value = width.value();
        let is_exact = width.power >= -9
            && least.abs().max(greatest.abs()) / value.min(1.0) < (1u64 << 53) as f64
            && value <= (1u64 << 52) as f64;
        let is_useful = value >= range / NARROWEST && (!whole || value >= 2.0);
        if !is_exact || !is_useful || widths.len() == LEVELS {
            break;
        }
        widths.insert(0, width);
        next = Some(width.next());
    }
    widths
}

/// A number of a column, in which way it is written, and its rows.
struct Number {
    number: f64,
    text: String,
    rows: u64,
}

/// Some neighbouring numbers: the threshold below them, if any, and the one above.
#[derive(Clone, Copy)]
struct Part {
    first: usize,
    end: usize,
    above: Option<f64>,
    up_to: Option<f64>,
}

/// A tree whose nodes are halved by their rows.
fn quantiles(values: &Values) -> Option<Tree> {
    let kind = values.detected.kind;
    let mut by_number: BTreeMap<u64, Number> = BTreeMap::new();
    for code in values.codes() {
        let (number, text) = (values.number(code)?, values.dictionary.value(code));
        let new = Number { number, text: text.to_string(), rows: 0 };
        let known = by_number.entry(bits_of(number)).or_insert(new);
        known.rows += values.counts[code as usize];
        if text.len() < known.text.len() {
            known.text = text.to_string();
        }
    }
    let numbers: Vec<Number> = by_number.into_values().collect();
    let mut levels = vec![vec![Part { first: 0, end: numbers.len(), above: None, up_to: None }]];
    for _ in 0..LEVELS {
        let last = levels.last()?;
        let next: Vec<Part> = last.iter().flat_map(|part| halved(*part, &numbers, kind)).collect();
        if next.len() == last.len() {
            break;
        }
        levels.push(next);
    }
    let label = |part: &Part| match part.end - part.first {
        1 => numbers[part.first].text.clone(),
        _ => {
            let label = cover_label(kind, part.above, part.up_to);
            let notation = values.detected.notation.as_ref();
            notation.map_or(label.clone(), |notation| notation.spelled_label(&label))
        }
    };
    // From the leaves to the root.
    let mut rows: Vec<Vec<String>> =
        numbers.iter().map(|number| vec![number.text.clone()]).collect();
    for level in levels.iter().skip(1).rev() {
        for part in level {
            let label = label(part);
            rows[part.first..part.end].iter_mut().for_each(|row| row.push(label.clone()));
        }
    }
    rows.iter_mut().for_each(|row| row.push("*".into()));
    let leaves: Vec<&str> = numbers.iter().map(|number| number.text.as_str()).collect();
    Tree::new(rows, &leaves)
}

/// Both halves of a part, or the part itself if it has one number.
fn halved(part: Part, numbers: &[Number], kind: Type) -> Vec<Part> {
    let all: u64 = numbers[part.first..part.end].iter().map(|number| number.rows).sum();
    let mut below = 0;
    let ends = (part.first + 1..part.end).map(|end| {
        below += numbers[end - 1].rows;
        (below.abs_diff(all - below), end)
    });
    let Some((_, end)) = ends.min() else { return vec![part] };
    let threshold = threshold_between(kind, numbers[end - 1].number, numbers[end].number);
    vec![
        Part { end, up_to: Some(threshold), ..part },
        Part { first: end, above: Some(threshold), ..part },
    ]
}

/// Microseconds of a day, which is how timestamps are counted.
const DAY: f64 = Moment::DAY as f64;

/// Steps of the calendar that make sense for a range of dates or timestamps.
pub(super) fn calendar(kind: Type, ends: Option<(f64, f64)>) -> Vec<DateLevel> {
    let range = ends.map_or(0.0, |(least, greatest)| greatest - least);
    let days = if kind == Type::Timestamp { range / DAY } else { range };
    let is_useful = |level: &DateLevel| match level {
        DateLevel::Decade => days > 3653.0,
        DateLevel::Year => days > 366.0,
        _ => true,
    };
    DateLevel::all(kind).into_iter().filter(is_useful).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(least: f64, greatest: f64, whole: bool) -> String {
        let widths = widths(least, greatest, whole);
        widths.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn widths_are_round_and_nested() {
        assert_eq!(said(17.0, 90.0, true), "5 10 20");
        assert_eq!(said(0.0, 5.0, true), "2");
        assert_eq!(said(0.0, 50_000.0, true), "1000 5000 10000 20000");
        assert_eq!(said(1e-4, 9e-4, false), "0.00005 0.0001 0.0002");
        assert_eq!(said(0.0, 1e12, false), "50000000000 100000000000 500000000000");
        assert_eq!(said(-1e300, 1e300, false), "");
        assert_eq!(said(0.0, 1e-12, false), "");
        for (least, greatest) in [(0.0, 7.3), (-5.0, 1234.5), (0.001, 0.42), (0.0, 1e6)] {
            let widths: Vec<f64> =
                widths(least, greatest, false).into_iter().map(Width::value).collect();
            assert!((1..=LEVELS).contains(&widths.len()));
            assert!(crate::taxonomy::Intervals::new(widths, None, None).is_ok());
        }
    }
}
