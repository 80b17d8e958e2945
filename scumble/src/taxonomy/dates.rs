//! Hierarchies of dates: `{ dates = ["month", "quarter", "year", "decade"] }`. The leaves are the
//! days that occur.

use super::{Path, ROOT, Taxonomy};
use crate::error::Result;
use crate::table::Day;

/// A calendar unit; each consists of whole units of the previous kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DateLevel {
    /// `2024-03`
    Month,
    /// `2024-Q1`
    Quarter,
    /// `2024`
    Year,
    /// `2020s`
    Decade,
}

impl DateLevel {
    /// Every unit with its name in a policy.
    pub const NAMES: [(&'static str, DateLevel); 4] = [
        ("month", DateLevel::Month),
        ("quarter", DateLevel::Quarter),
        ("year", DateLevel::Year),
        ("decade", DateLevel::Decade),
    ];

    /// All units: the default hierarchy of a date column.
    pub fn all() -> Vec<DateLevel> {
        DateLevel::NAMES.iter().map(|(_, level)| *level).collect()
    }

    fn label(self, day: Day) -> String {
        let (year, month, _) = day.parts();
        match self {
            DateLevel::Month => format!("{year:04}-{month:02}"),
            DateLevel::Quarter => format!("{year:04}-Q{}", month.div_ceil(3)),
            DateLevel::Year => format!("{year:04}"),
            DateLevel::Decade => format!("{:03}0s", year / 10),
        }
    }
}

/// Whether a text can occur in a release: a day, the label of a unit, or the root.
pub fn is_label(steps: &[DateLevel], text: &str) -> bool {
    // All days within a unit have the same label, so checking one of them suffices.
    let digits =
        |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<u32>().ok());
    let year = digits(0..4).or_else(|| digits(0..3).map(|decade| decade * 10));
    let quarter =
        text.get(6..7).and_then(|part| part.parse::<u32>().ok()).filter(|_| text.contains('Q'));
    let month = quarter.map(|quarter| quarter * 3).or_else(|| digits(5..7)).unwrap_or(1);
    let first = year.and_then(|year| Day::new(year as i32, month, 1));
    text == ROOT
        || text.parse::<Day>().is_ok()
        || first.is_some_and(|day| steps.iter().any(|step| step.label(day) == text))
}

/// The tree over distinct days in ascending order; `texts` has their labels.
pub(super) fn taxonomy(
    steps: &[DateLevel],
    days: &[Day],
    texts: &[&str],
    with_missing: bool,
) -> Result<Taxonomy> {
    let labels: Vec<Vec<String>> =
        days.iter().map(|day| steps.iter().map(|step| step.label(*day)).collect()).collect();
    let paths: Vec<Path<'_>> = texts
        .iter()
        .zip(&labels)
        .map(|(text, labels)| {
            std::iter::once(*text)
                .chain(labels.iter().map(String::as_str))
                .chain(std::iter::once(ROOT))
                .collect()
        })
        .collect();
    Ok(Taxonomy::from_paths("the date hierarchy".into(), &paths, with_missing)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_day_climbs_the_calendar() {
        let day = "2024-08-31".parse().unwrap();
        let labels: Vec<String> =
            DateLevel::all().into_iter().map(|level| level.label(day)).collect();
        assert_eq!(labels, ["2024-08", "2024-Q3", "2024", "2020s"]);
    }

    proptest! {
        #[test]
        fn laws_hold(days in prop::collection::btree_set(-3000i32..3000, 1..60), missing in any::<bool>()) {
            let days: Vec<Day> = days.into_iter().map(Day).collect();
            let texts: Vec<String> = days.iter().map(Day::to_string).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let tree = taxonomy(&DateLevel::all(), &days, &texts, missing).unwrap();
            super::super::tests::check_laws(&tree);
            for (code, _) in days.iter().enumerate() {
                prop_assert_eq!(tree.level(0).label(code as u32), texts[code]);
                for label in tree.levels().iter().map(|level| level.label(level.node_of(code as u32))) {
                    prop_assert!(is_label(&DateLevel::all(), label), "{}", label);
                    let odd = format!("{label} (Ann)");
                    prop_assert!(!is_label(&DateLevel::all(), &odd));
                }
            }
        }
    }
}
