//! Hierarchies of intervals: `{ intervals = [5, 10, 20], from = 0, to = 100 }`.
//!
//! Level `i` has intervals of the `i`-th width, counted from `from`. Each width is a multiple of
//! the previous one, so intervals nest. Both ends belong to the domain, and the last interval of
//! every level takes what is left, `to` included. For whole numbers the leaves are all numbers of
//! the domain, whether they occur or not; for real numbers and dates they are the values that
//! occur.
//!
//! Widths and ends are stored as whole multiples of a decimal unit: 0.3 lies in `[0.3, 0.4)`, which
//! floats would get wrong.

use super::{Level, ROOT, Taxonomy};
use crate::error::Result;
use crate::table::{Day, Type};

/// The largest allowed end of a domain.
const MOST: f64 = (1u64 << 53) as f64;

/// The maximum number of decimals of a width or an end.
const MOST_DECIMALS: usize = 9;

/// Widths and the domain they cover, in units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intervals {
    widths: Vec<i128>,
    from: Option<i128>,
    to: Option<i128>,
    /// The number of units in 1, a power of ten.
    unit: i128,
    /// Whether the ends were given as dates.
    dates: bool,
}

/// The kind of numbers that intervals consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// Whole numbers, each of which is a leaf; both ends of an interval belong to it.
    Whole,
    /// Days; both ends of an interval belong to it.
    Days,
    /// Real numbers; the upper end belongs to the next interval.
    Real,
}

/// The ends of a domain, in units. An open domain excludes `end`, a closed one includes it.
struct Domain {
    from: i128,
    end: i128,
    closed: bool,
}

impl Domain {
    /// The number of intervals of a width.
    fn count(&self, width: i128) -> i128 {
        let length = self.end - self.from;
        ((length + width - 1) / width).max(1)
    }
}

impl Intervals {
    /// Checks the parameters; the error says what is wrong with them.
    pub fn new(
        widths: Vec<f64>,
        from: Option<f64>,
        to: Option<f64>,
    ) -> Result<Intervals, &'static str> {
        if widths.is_empty() || widths.iter().any(|width| !(*width > 0.0 && *width <= MOST)) {
            return Err("a list of positive widths of at most 2^53");
        }
        // Whole numbers are counted exactly up to 2^53.
        if [from, to].into_iter().flatten().any(|end| end.is_nan() || end.abs() > MOST) {
            return Err("`from` and `to` between -2^53 and 2^53");
        }
        let decimals = widths
            .iter()
            .chain(&from)
            .chain(&to)
            .map(|number| decimals(*number))
            .max()
            .unwrap_or(0);
        if decimals > MOST_DECIMALS {
            return Err("numbers with at most nine decimal places");
        }
        let unit = 10i128.pow(decimals as u32);
        let units = |number: f64| in_units(number, decimals).ok_or("decimal numbers");
        let intervals = Intervals {
            widths: widths.into_iter().map(units).collect::<Result<_, _>>()?,
            from: from.map(units).transpose()?,
            to: to.map(units).transpose()?,
            unit,
            dates: false,
        };
        if intervals.widths.windows(2).any(|pair| pair[1] <= pair[0] || pair[1] % pair[0] != 0) {
            return Err("increasing widths, each a multiple of the previous one");
        }
        match (intervals.from, intervals.to) {
            (Some(from), Some(to)) if from >= to => Err("`from` below `to`"),
            _ => Ok(intervals),
        }
    }

    /// The same intervals, with ends that were given as dates.
    pub fn of_dates(self) -> Intervals {
        Intervals { dates: true, ..self }
    }

    /// The widths, from narrow to wide.
    pub fn widths(&self) -> Vec<f64> {
        self.widths.iter().map(|width| self.number(*width)).collect()
    }

    /// The least number of the domain, if it is given.
    pub fn from(&self) -> Option<f64> {
        self.from.map(|end| self.number(end))
    }

    /// The greatest number of the domain, if it is given.
    pub fn to(&self) -> Option<f64> {
        self.to.map(|end| self.number(end))
    }

    /// Whether the ends were given as dates.
    pub fn has_dates(&self) -> bool {
        self.dates
    }

    /// Whether all parameters are whole numbers, as a column of integers needs.
    pub fn is_whole(&self) -> bool {
        self.unit == 1
    }

    /// The scale of the intervals of a column of a given type.
    pub(super) fn scale(&self, kind: Type) -> Scale {
        match kind {
            Type::Date => Scale::Days,
            Type::Integer if self.is_whole() => Scale::Whole,
            _ => Scale::Real,
        }
    }

    /// The number nearest to a number of units.
    fn number(&self, units: i128) -> f64 {
        units as f64 / self.unit as f64
    }

    /// Whether a number belongs to the domain and is small enough for intervals to be counted
    /// exactly.
    pub(super) fn contains(&self, number: f64) -> bool {
        let narrowest = self.number(self.widths[0]).min(1.0);
        number.abs() / narrowest <= MOST
            && self.from.is_none_or(|from| self.number(from) <= number)
            && self.to.is_none_or(|to| number <= self.number(to))
    }

    /// The index of the interval of a width that contains a number, counted from `from`. The
    /// quotient of floats is an estimate that may be off by one; the ends of the intervals decide.
    fn index(&self, number: f64, from: i128, width: i128) -> i128 {
        let start = |index: i128| self.number(from + index * width);
        let mut index = ((number - self.number(from)) / self.number(width)).floor() as i128;
        while start(index) > number {
            index -= 1;
        }
        while start(index + 1) <= number {
            index += 1;
        }
        index
    }

    /// The domain of a column whose values are between `least` and `greatest`. An end that is not
    /// given is a multiple of the widest interval: no label may reveal the smallest or the largest
    /// value, whose row may be suppressed.
    fn domain(&self, least: f64, greatest: f64) -> Domain {
        let widest = self.widths[self.widths.len() - 1];
        let from = self.from.unwrap_or_else(|| self.index(least, 0, widest) * widest);
        let open = || from + (self.index(greatest, from, widest) + 1) * widest;
        Domain { from, end: self.to.unwrap_or_else(open), closed: self.to.is_some() }
    }

    /// The tree over ascending distinct `values`, which all [belong](Self::contains) to the domain;
    /// `texts` has their labels.
    pub(super) fn taxonomy(
        &self,
        values: &[f64],
        texts: &[&str],
        scale: Scale,
        with_missing: bool,
    ) -> Result<Taxonomy> {
        let (least, greatest) =
            (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
        let domain = self.domain(least, greatest);
        let beyond = domain.end + i128::from(domain.closed);
        let mut levels = vec![Level::from_runs(texts.iter().map(|text| (*text, true, 1)))];
        for width in &self.widths {
            let last = domain.count(*width) - 1;
            let numbers: Vec<i128> = values
                .iter()
                .map(|value| self.index(*value, domain.from, *width).clamp(0, last))
                .collect();
            let labels: Vec<String> = numbers
                .iter()
                .map(|number| self.label(domain.from, *width, *number, last, scale))
                .collect();
            let begins = |code: usize| code == 0 || numbers[code] != numbers[code - 1];
            levels.push(Level::from_runs(labels.iter().enumerate().map(|(code, label)| {
                let start = domain.from + numbers[code] * width;
                let end = if numbers[code] == last { beyond } else { start + width };
                let leaves = match (scale == Scale::Whole, begins(code)) {
                    (false, _) => 1,
                    (true, true) => (end - start) as u64,
                    (true, false) => 0,
                };
                (label.as_str(), begins(code), leaves)
            })));
        }
        let all =
            if scale == Scale::Whole { (beyond - domain.from) as u64 } else { values.len() as u64 };
        let root = (0..values.len()).map(|code| (ROOT, code == 0, if code == 0 { all } else { 0 }));
        levels.push(Level::from_runs(root));
        if with_missing {
            Level::append_missing(&mut levels);
        }
        let missing = with_missing.then_some(values.len() as u32);
        Taxonomy::checked(self.describe(), levels, missing)
    }

    /// The label of an interval; the one numbered `last` ends with `to`, if that is given.
    fn label(&self, from: i128, width: i128, number: i128, last: i128, scale: Scale) -> String {
        let start = from + number * width;
        match self.to.filter(|_| number == last) {
            Some(to) => label(self.number(start), self.number(to), true, scale),
            None => label(self.number(start), self.number(start + width), false, scale),
        }
    }

    /// Whether a text can occur in a release: a number of the domain, an interval, or the root.
    pub fn is_label(&self, text: &str, kind: Type) -> bool {
        if text == ROOT || kind.number(text).is_some_and(|number| self.contains(number)) {
            return true;
        }
        let scale = self.scale(kind);
        // If it is not given, the domain begins with a multiple of every width.
        let from = self.from.unwrap_or(0);
        let starts = match scale {
            Scale::Days => {
                text.split(" to ").flat_map(str::parse).map(|day: Day| f64::from(day.0)).collect()
            }
            _ => numbers_in(text),
        };
        let fits = |start: f64, width: i128| {
            let number = self.index(start, from, width);
            let last = match self.to {
                None => i128::MAX,
                // Values that all equal `to` have an interval of their own if it starts there.
                Some(to) if self.from.is_none() && from + number * width == to => number,
                // Intervals below an open end have negative numbers, so this rounds down.
                Some(to) => (to - from + width - 1).div_euclid(width) - 1,
            };
            number <= last && self.label(from, width, number, last, scale) == text
        };
        let starts = starts.into_iter().filter(|start| self.contains(*start));
        starts.into_iter().any(|start| self.widths.iter().any(|width| fits(start, *width)))
    }

    /// A short description for error messages.
    pub(super) fn describe(&self) -> String {
        let shown = |end: i128| {
            if self.dates {
                day(self.number(end)).to_string()
            } else {
                self.number(end).to_string()
            }
        };
        let end = |end: Option<i128>| end.map_or("…".to_string(), shown);
        format!("the intervals from {} to {}", end(self.from), end(self.to))
    }
}

/// The number of decimals of a number.
fn decimals(number: f64) -> usize {
    // The shortest text that parses as this number, without an exponent.
    number.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// A number with at most `decimals` decimals as an integer, without its decimal point.
fn in_units(number: f64, decimals: usize) -> Option<i128> {
    let text = number.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    format!("{whole}{fraction:0<decimals$}").parse().ok()
}

/// The numbers that a label may consist of.
fn numbers_in(text: &str) -> Vec<f64> {
    let parts = text.split(['[', ']', ')', ' ', ',']).flat_map(|part| {
        // A sign begins a number; a dash after a digit ends one.
        let dash =
            part.char_indices().skip(1).find(|(_, character)| *character == '-').map(|(at, _)| at);
        let (first, second) = dash.map_or((part, ""), |at| (&part[..at], &part[at + 1..]));
        [first, second]
    });
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// The day with a number, or the nearer end of the calendar if it lies outside.
fn day(number: f64) -> Day {
    let (first, last) =
        (Day::new(0, 1, 1).unwrap_or(Day(0)), Day::new(9999, 12, 31).unwrap_or(Day(0)));
    Day(number as i32).clamp(first, last)
}

/// `20-24` for whole numbers (`-5 to -1` where a minus sign would confuse),
/// `2020-01-01 to 2020-01-31` for days, `[20, 25)` for real numbers.
fn label(start: f64, end: f64, last: bool, scale: Scale) -> String {
    // The last number that belongs to the interval.
    let until = if last { end } else { end - 1.0 };
    match (scale, last) {
        (Scale::Whole, _) if start == until => format!("{start}"),
        (Scale::Whole, _) if start < 0.0 => format!("{start} to {until}"),
        (Scale::Whole, _) => format!("{start}-{until}"),
        (Scale::Days, _) if start == until => day(start).to_string(),
        (Scale::Days, _) => format!("{} to {}", day(start), day(until)),
        (Scale::Real, true) => format!("[{start}, {end}]"),
        (Scale::Real, false) => format!("[{start}, {end})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ages(values: &[f64]) -> Taxonomy {
        let texts: Vec<String> = values.iter().map(f64::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let intervals =
            Intervals::new(vec![5.0, 10.0, 20.0, 40.0], Some(0.0), Some(100.0)).unwrap();
        intervals.taxonomy(values, &texts, Scale::Whole, false).unwrap()
    }

    #[test]
    fn both_ends_belong_to_the_domain() {
        let taxonomy = ages(&[0.0, 4.0, 5.0, 39.0, 40.0, 99.0, 100.0]);
        let label = |level: usize, code: u32| {
            let level = taxonomy.level(level);
            level.label(level.node_of(code)).to_string()
        };
        assert_eq!(
            (label(1, 0), label(1, 1), label(1, 2)),
            ("0-4".into(), "0-4".into(), "5-9".into())
        );
        assert_eq!((label(1, 5), label(1, 6)), ("95-100".into(), "95-100".into()));
        assert_eq!(
            (label(4, 3), label(4, 4), label(4, 6)),
            ("0-39".into(), "40-79".into(), "80-100".into())
        );
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
            for (kind, scale) in [(Type::Integer, Scale::Whole), (Type::Real, Scale::Real)] {
                let taxonomy = intervals.taxonomy(&values, &texts, scale, false).unwrap();
                for level in taxonomy.levels() {
                    for node in 0..level.len() as u32 {
                        assert!(
                            intervals.is_label(level.label(node), kind),
                            "{:?} {}",
                            (from, to),
                            level.label(node)
                        );
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

    /// Intervals are counted from 0 if `from` is not given, and `to` may be below that.
    #[test]
    fn an_end_below_zero_belongs_to_the_last_interval() {
        let values: Vec<f64> = (-80..=-42).map(f64::from).collect();
        let intervals = Intervals::new(vec![10.0], None, Some(-42.0)).unwrap();
        for (kind, scale, label) in
            [(Type::Integer, Scale::Whole, "-50 to -42"), (Type::Real, Scale::Real, "[-50, -42]")]
        {
            assert_eq!(labels(&intervals, 1, &values, scale).last().unwrap(), label);
            assert!(intervals.is_label(label, kind), "{label}");
        }
        for odd in ["-50 to -41", "-40 to -42", "-60 to -50", "-41"] {
            assert!(!intervals.is_label(odd, Type::Integer), "{odd}");
        }
    }

    #[test]
    fn no_label_tells_the_greatest_value() {
        let intervals = Intervals::new(vec![20.0], None, None).unwrap();
        let labels = |values: &[f64], scale: Scale| -> Vec<String> {
            let texts: Vec<String> = values.iter().map(f64::to_string).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let tree = intervals.taxonomy(values, &texts, scale, false).unwrap();
            (0..tree.level(1).len() as u32)
                .map(|node| tree.level(1).label(node).to_string())
                .collect()
        };
        assert_eq!(labels(&[61.0, 79.0], Scale::Whole), ["60-79"]);
        assert_eq!(labels(&[61.0, 97.0], Scale::Whole), ["60-79", "80-99"]);
        assert_eq!(labels(&[61.0, 97.0], Scale::Real), ["[60, 80)", "[80, 100)"]);
        assert_eq!(labels(&[61.0, 80.0], Scale::Real), ["[60, 80)", "[80, 100)"]);
    }

    #[test]
    fn widths_that_do_not_nest_are_refused() {
        assert!(Intervals::new(vec![5.0, 12.0], None, None).is_err());
        assert!(Intervals::new(vec![], None, None).is_err());
        assert!(Intervals::new(vec![0.0], None, None).is_err());
        assert!(Intervals::new(vec![5.0], Some(3.0), Some(3.0)).is_err());
        assert!(Intervals::new(vec![5.0, 5.0], None, None).is_err());
    }

    /// The labels of a level over some values.
    fn labels(intervals: &Intervals, level: usize, values: &[f64], scale: Scale) -> Vec<String> {
        let texts: Vec<String> = values.iter().map(f64::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let tree = intervals.taxonomy(values, &texts, scale, false).unwrap();
        let level = tree.level(level);
        (0..values.len() as u32).map(|code| level.label(level.node_of(code)).to_string()).collect()
    }

    /// 0.3 / 0.1 is below 3 in floats, and 0.5 % 0.1 is not 0.
    #[test]
    fn decimals_are_exact() {
        let intervals = Intervals::new(vec![0.1, 0.5, 1.0], None, None).unwrap();
        let tenths: Vec<f64> = (0..1000).map(|tenth| f64::from(tenth) / 10.0).collect();
        let shown = |tenth: u32| f64::from(tenth) / 10.0;
        for (tenth, label) in (0..).zip(labels(&intervals, 1, &tenths, Scale::Real)) {
            assert_eq!(label, format!("[{}, {})", shown(tenth), shown(tenth + 1)));
            assert!(intervals.is_label(&label, Type::Real), "{label}");
        }
        for (tenth, label) in (0..).zip(labels(&intervals, 2, &tenths, Scale::Real)) {
            assert_eq!(label, format!("[{}, {})", shown(tenth / 5 * 5), shown(tenth / 5 * 5 + 5)));
        }
        assert!(Intervals::new(vec![0.1, 0.25], None, None).is_err());
        assert!(Intervals::new(vec![1e-12], None, None).is_err());
        assert!(!intervals.is_label("[0.05, 0.15)", Type::Real) && !intervals.contains(1e300));
    }

    #[test]
    fn days_are_written_as_days() {
        let days = |texts: &[&str]| -> Vec<f64> {
            texts.iter().map(|text| f64::from(text.parse::<Day>().unwrap().0)).collect()
        };
        let ends = days(&["2020-01-01", "2020-12-31"]);
        let weeks =
            Intervals::new(vec![7.0, 28.0], Some(ends[0]), Some(ends[1])).unwrap().of_dates();
        let values = days(&["2020-01-01", "2020-01-07", "2020-01-08", "2020-12-31"]);
        let expected = [
            "2020-01-01 to 2020-01-07",
            "2020-01-01 to 2020-01-07",
            "2020-01-08 to 2020-01-14",
            "2020-12-30 to 2020-12-31",
        ];
        assert_eq!(labels(&weeks, 1, &values, Scale::Days), expected);
        for label in expected {
            assert!(weeks.is_label(label, Type::Date), "{label}");
        }
        for odd in [
            "2020-01-02 to 2020-01-08",
            "2020-01-01 to 2020-01-08",
            "2019-12-25 to 2019-12-31",
            "18262-18268",
        ] {
            assert!(!weeks.is_label(odd, Type::Date), "{odd}");
        }
        assert_eq!(weeks.describe(), "the intervals from 2020-01-01 to 2020-12-31");
        let long = Intervals::new(vec![1_000_000.0], None, None).unwrap();
        assert_eq!(
            labels(&long, 1, &days(&["0001-01-01"]), Scale::Days),
            ["0000-01-01 to 1969-12-31"]
        );
    }

    /// An end that is not given must not depend on which values remain.
    #[test]
    fn open_intervals_of_one_number_stay_apart() {
        let intervals = Intervals::new(vec![1.0, 5.0], None, None).unwrap();
        assert_eq!(labels(&intervals, 1, &[0.0, 3.0, 4.0], Scale::Whole), ["0", "3", "4"]);
    }

    proptest! {
        /// Whatever the ends are, verification knows every label that a tree can write.
        #[test]
        fn every_label_is_known(
            values in prop::collection::btree_set(-60i32..=60, 1..8),
            widths in prop::sample::select(vec![vec![1], vec![10], vec![3, 12], vec![5, 10, 20]]),
            (below, above) in (prop::option::of(1i32..30), prop::option::of(0i32..30)),
            decimals in prop::sample::select(vec![1.0, 10.0]),
        ) {
            let number = |value: i32| f64::from(value) / decimals;
            let (least, greatest) = (*values.first().unwrap(), *values.last().unwrap());
            let widths = widths.into_iter().map(number).collect();
            let from = below.map(|below| number(least - below));
            let to = above.map(|above| number(greatest + above));
            let intervals = Intervals::new(widths, from, to).unwrap();
            let values: Vec<f64> = values.into_iter().map(number).collect();
            for (kind, scale) in [(Type::Integer, Scale::Whole), (Type::Real, Scale::Real)] {
                if scale == Scale::Whole && decimals != 1.0 {
                    continue;
                }
                for level in 1..=intervals.widths.len() {
                    for label in labels(&intervals, level, &values, scale) {
                        prop_assert!(intervals.is_label(&label, kind), "{:?} {}", intervals, label);
                    }
                }
            }
        }

        #[test]
        fn laws_hold(values in prop::collection::btree_set(0i32..=100, 1..60), whole in any::<bool>(), missing in any::<bool>()) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let texts: Vec<String> = values.iter().map(f64::to_string).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let intervals = Intervals::new(vec![5.0, 10.0, 20.0], None, None).unwrap();
            let scale = if whole { Scale::Whole } else { Scale::Real };
            super::super::tests::check_laws(&intervals.taxonomy(&values, &texts, scale, missing).unwrap());
        }
    }
}
