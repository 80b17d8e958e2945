//! Hierarchies of intervals: `{ intervals = [5, 10, 20], from = 0, to = 100 }`.
//!
//! Level `i` has intervals of the `i`-th width, counted from `from`; each width is a multiple of the one before, so
//! intervals nest. Both ends belong to the domain, and the last interval of every level takes what is left, `to`
//! included. For whole numbers the leaves are all numbers of the domain, whether they occur or not; for real numbers
//! and dates they are the values that occur.

use super::{Level, ROOT, Taxonomy};
use crate::error::Result;
use crate::table::Type;

/// The largest number that may bound a domain.
const MOST: f64 = (1u64 << 53) as f64;

/// Widths and the domain they cover.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals {
    widths: Vec<f64>,
    from: Option<f64>,
    to: Option<f64>,
}

impl Intervals {
    /// The parameters, or what is wrong with them.
    pub fn new(widths: Vec<f64>, from: Option<f64>, to: Option<f64>) -> Result<Intervals, &'static str> {
        if widths.is_empty() || widths.iter().any(|width| !(*width > 0.0 && *width <= MOST)) {
            return Err("a list of positive widths, none above 2^53");
        }
        if widths.windows(2).any(|pair| pair[1] <= pair[0] || pair[1] % pair[0] != 0.0) {
            return Err("growing widths, each a multiple of the one before, so that intervals nest");
        }
        // Whole numbers are counted exactly up to 2^53.
        if [from, to].into_iter().flatten().any(|end| end.is_nan() || end.abs() > MOST) {
            return Err("`from` and `to` between -2^53 and 2^53");
        }
        match (from, to) {
            (Some(from), Some(to)) if from >= to => Err("`from` below `to`"),
            _ => Ok(Intervals { widths, from, to }),
        }
    }

    /// Whether all parameters are whole numbers, as a column of integers needs.
    pub fn is_whole(&self) -> bool {
        self.widths.iter().chain(&self.from).chain(&self.to).all(|number| number.fract() == 0.0)
    }

    /// The ends of the domain for a column whose values lie between `least` and `greatest`. Where an end is not given it is
    /// a multiple of the widest interval: no label may tell the least or the greatest value, whose row may be suppressed.
    pub(super) fn domain(&self, least: f64, greatest: f64, whole: bool) -> (f64, f64) {
        let widest = self.widths[self.widths.len() - 1];
        let from = self.from.unwrap_or_else(|| (least / widest).floor() * widest);
        let blocks = ((greatest - from) / widest).floor() + 1.0;
        // Whole numbers end just before the next block; real ones a block later, so that no interval is the last.
        let open = if whole { from + blocks * widest - 1.0 } else { from + (blocks + 1.0) * widest };
        (from, self.to.unwrap_or(open))
    }

    /// The tree over ascending distinct `values`, all within the domain; `texts` are their labels.
    pub(super) fn taxonomy(&self, values: &[f64], texts: &[&str], whole: bool, with_missing: bool) -> Result<Taxonomy> {
        let (least, greatest) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(1.0));
        let (from, to) = self.domain(least, greatest, whole);
        let mut levels = vec![Level::from_runs(texts.iter().map(|text| (*text, true, 1)))];
        for width in &self.widths {
            let count = (((to - from) / width).ceil()).max(1.0);
            let index = |value: f64| ((value - from) / width).floor().clamp(0.0, count - 1.0);
            let labels: Vec<String> = values
                .iter()
                .map(|value| {
                    let number = index(*value);
                    let start = from + number * width;
                    let last = number == count - 1.0;
                    let end = if last { to } else { start + width };
                    label(start, end, last, whole)
                })
                .collect();
            let domain_leaves = |value: f64| {
                let number = index(value);
                let start = from + number * width;
                let end = if number == count - 1.0 { to + 1.0 } else { start + width };
                (end - start) as u64
            };
            let begins = |code: usize| code == 0 || index(values[code]) != index(values[code - 1]);
            levels.push(Level::from_runs(labels.iter().enumerate().map(|(code, label)| {
                let leaves = match (whole, begins(code)) {
                    (false, _) => 1,
                    (true, true) => domain_leaves(values[code]),
                    (true, false) => 0,
                };
                (label.as_str(), begins(code), leaves)
            })));
        }
        let all = if whole { (to - from) as u64 + 1 } else { values.len() as u64 };
        let root = (0..values.len()).map(|code| (ROOT, code == 0, if code == 0 { all } else { 0 }));
        levels.push(Level::from_runs(root));
        if with_missing {
            Level::append_missing(&mut levels);
        }
        let missing = with_missing.then_some(values.len() as u32);
        Taxonomy::checked(self.describe(), levels, missing)
    }

    /// Whether a text may stand in a release: a number of the domain, an interval, or the root.
    pub fn is_label(&self, text: &str, kind: Type) -> bool {
        let inside = |number: f64| self.from.is_none_or(|from| from <= number) && self.to.is_none_or(|to| number <= to);
        if text == ROOT || kind.number(text).is_some_and(inside) {
            return true;
        }
        let whole = kind == Type::Integer && self.is_whole();
        let from = self.from.unwrap_or(0.0);
        self.widths.iter().any(|width| {
            let starts = numbers_in(text).into_iter().filter(|start| inside(*start) && (start - from) % width == 0.0);
            starts.into_iter().any(|start| {
                let inner = (start + width, false);
                let ends = match self.to {
                    Some(to) if (start - from) / width >= ((to - from) / width).ceil() - 1.0 => vec![(to, true)],
                    _ => vec![inner],
                };
                let fits = |end: f64| end > start && end <= start + width;
                ends.into_iter().any(|(end, last)| fits(end) && label(start, end, last, whole) == text)
            })
        })
    }

    /// The intervals in one phrase, for errors.
    pub(super) fn describe(&self) -> String {
        let end = |end: Option<f64>| end.map_or("…".to_string(), |end| end.to_string());
        format!("the intervals from {} to {}", end(self.from), end(self.to))
    }
}

/// The numbers that a label may be made of.
fn numbers_in(text: &str) -> Vec<f64> {
    let parts = text.split(['[', ']', ')', ' ', ',']).flat_map(|part| {
        // A sign begins a number; a dash behind a digit ends one.
        let dash = part.char_indices().skip(1).find(|(_, character)| *character == '-').map(|(at, _)| at);
        let (first, second) = dash.map_or((part, ""), |at| (&part[..at], &part[at + 1..]));
        [first, second]
    });
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// `20-24` for whole numbers (`-5 to -1` where a sign would confuse), `[20, 25)` for real ones.
fn label(start: f64, end: f64, last: bool, whole: bool) -> String {
    match (whole, last) {
        (true, _) => {
            let end = if last { end } else { end - 1.0 };
            match start {
                _ if start == end => format!("{start}"),
                _ if start < 0.0 => format!("{start} to {end}"),
                _ => format!("{start}-{end}"),
            }
        }
        (false, true) => format!("[{start}, {end}]"),
        (false, false) => format!("[{start}, {end})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ages(values: &[f64]) -> Taxonomy {
        let texts: Vec<String> = values.iter().map(f64::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let intervals = Intervals::new(vec![5.0, 10.0, 20.0, 40.0], Some(0.0), Some(100.0)).unwrap();
        intervals.taxonomy(values, &texts, true, false).unwrap()
    }

    #[test]
    fn both_ends_belong_to_the_domain() {
        let taxonomy = ages(&[0.0, 4.0, 5.0, 39.0, 40.0, 99.0, 100.0]);
        let label = |level: usize, code: u32| {
            let level = taxonomy.level(level);
            level.label(level.node_of(code)).to_string()
        };
        assert_eq!((label(1, 0), label(1, 1), label(1, 2)), ("0-4".into(), "0-4".into(), "5-9".into()));
        assert_eq!((label(1, 5), label(1, 6)), ("95-100".into(), "95-100".into()));
        assert_eq!((label(4, 3), label(4, 4), label(4, 6)), ("0-39".into(), "40-79".into(), "80-100".into()));
        assert_eq!(taxonomy.leaves(), 101);
        assert_eq!(taxonomy.level(1).leaves(0), 5);
        assert_eq!(taxonomy.level(1).leaves(taxonomy.level(1).node_of(6)), 6);
    }

    #[test]
    fn what_a_tree_writes_is_a_label_and_little_else_is() {
        let values: Vec<f64> = (-30..=100).map(f64::from).collect();
        let texts: Vec<String> = values.iter().map(f64::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        for (from, to) in [(None, None), (Some(-30.0), Some(100.0)), (Some(-40.0), Some(103.0))] {
            let intervals = Intervals::new(vec![5.0, 10.0, 20.0], from, to).unwrap();
            for (kind, whole) in [(Type::Integer, true), (Type::Real, false)] {
                let taxonomy = intervals.taxonomy(&values, &texts, whole, false).unwrap();
                for level in taxonomy.levels() {
                    for node in 0..level.len() as u32 {
                        assert!(intervals.is_label(level.label(node), kind), "{:?} {}", (from, to), level.label(node));
                    }
                }
                for odd in ["", "old", "3-7", "30-39 (Ann)", "[3, 8)", "5-", "-"] {
                    assert!(!intervals.is_label(odd, kind), "{odd}");
                }
            }
        }
        let ages = Intervals::new(vec![10.0], Some(0.0), Some(100.0)).unwrap();
        for odd in ["101", "-1", "130-139", "30-38", "90-99", "100-109"] {
            assert!(!ages.is_label(odd, Type::Integer), "{odd}");
        }
        assert!(ages.is_label("90-100", Type::Integer));
    }

    #[test]
    fn no_label_tells_the_greatest_value() {
        let intervals = Intervals::new(vec![20.0], None, None).unwrap();
        let labels = |values: &[f64], whole: bool| -> Vec<String> {
            let texts: Vec<String> = values.iter().map(f64::to_string).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let tree = intervals.taxonomy(values, &texts, whole, false).unwrap();
            (0..tree.level(1).len() as u32).map(|node| tree.level(1).label(node).to_string()).collect()
        };
        assert_eq!(labels(&[61.0, 79.0], true), ["60-79"]);
        assert_eq!(labels(&[61.0, 97.0], true), ["60-79", "80-99"]);
        assert_eq!(labels(&[61.0, 97.0], false), ["[60, 80)", "[80, 100)"]);
        assert_eq!(labels(&[61.0, 80.0], false), ["[60, 80)", "[80, 100)"]);
    }

    #[test]
    fn widths_that_do_not_nest_are_refused() {
        assert!(Intervals::new(vec![5.0, 12.0], None, None).is_err());
        assert!(Intervals::new(vec![], None, None).is_err());
        assert!(Intervals::new(vec![0.0], None, None).is_err());
        assert!(Intervals::new(vec![5.0], Some(3.0), Some(3.0)).is_err());
        assert!(Intervals::new(vec![5.0, 5.0], None, None).is_err());
    }

    proptest! {
        #[test]
        fn laws_hold(values in prop::collection::btree_set(0i32..=100, 1..60), whole in any::<bool>(), missing in any::<bool>()) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let texts: Vec<String> = values.iter().map(f64::to_string).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let intervals = Intervals::new(vec![5.0, 10.0, 20.0], None, None).unwrap();
            super::super::tests::check_laws(&intervals.taxonomy(&values, &texts, whole, missing).unwrap());
        }
    }
}
