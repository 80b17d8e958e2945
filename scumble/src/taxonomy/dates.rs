//! Hierarchies of dates: `{ dates = ["month", "quarter", "year", "decade"] }`. The leaves are the
//! days that occur. Timestamps may have hours and days too; their leaves are the moments that occur.

use super::moments::hour_label;
use super::{Path, ROOT, Taxonomy};
use crate::error::Result;
use crate::table::{Day, Moment, Type};

/// A calendar unit; each consists of whole units of the previous kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DateLevel {
    /// `2024-03-31 13h`
    Hour,
    /// `2024-03-31`
    Day,
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
    pub const NAMES: [(&'static str, DateLevel); 6] = [
        ("hour", DateLevel::Hour),
        ("day", DateLevel::Day),
        ("month", DateLevel::Month),
        ("quarter", DateLevel::Quarter),
        ("year", DateLevel::Year),
        ("decade", DateLevel::Decade),
    ];

    /// All units that are coarser than the values of a type: the default hierarchy of its columns.
    pub fn all(kind: Type) -> Vec<DateLevel> {
        let units = DateLevel::NAMES.iter().map(|(_, level)| *level);
        units.filter(|unit| unit.is_of(kind)).collect()
    }

    /// Whether it is coarser than the values of a type.
    pub(crate) fn is_of(self, kind: Type) -> bool {
        kind == Type::Timestamp || !matches!(self, DateLevel::Hour | DateLevel::Day)
    }

    fn label(self, moment: Moment) -> String {
        let day = moment.day();
        let (year, month, _) = day.parts();
        match self {
            DateLevel::Hour => hour_label(moment),
            DateLevel::Day => day.to_string(),
            DateLevel::Month => format!("{year:04}-{month:02}"),
            DateLevel::Quarter => format!("{year:04}-Q{}", month.div_ceil(3)),
            DateLevel::Year => format!("{year:04}"),
            DateLevel::Decade => format!("{:03}0s", year / 10),
        }
    }
}

/// Whether a text can occur in a release: a day or a moment, the label of a unit, or the root.
pub fn is_label(steps: &[DateLevel], text: &str) -> bool {
    // All days within a unit have the same label, so checking one of them suffices.
    let digits =
        |range: std::ops::Range<usize>| text.get(range).and_then(|part| part.parse::<u32>().ok());
    let year = digits(0..4).or_else(|| digits(0..3).map(|decade| decade * 10));
    let quarter =
        text.get(6..7).and_then(|part| part.parse::<u32>().ok()).filter(|_| text.contains('Q'));
    let month = quarter.map(|quarter| quarter * 3).or_else(|| digits(5..7)).unwrap_or(1);
    let first = year.and_then(|year| Day::new(year as i32, month, 1)).map(Moment::of);
    let hour = text.strip_suffix('h').and_then(|hour| Moment::read(&format!("{hour}:00")));
    let is_hour = hour.is_some_and(|(hour, _)| hour_label(hour) == text);
    text == ROOT
        || text.parse::<Day>().is_ok()
        || Type::Timestamp.number(text).is_some()
        || is_hour && steps.contains(&DateLevel::Hour)
        || first.is_some_and(|first| steps.iter().any(|step| step.label(first) == text))
}

/// The tree over distinct days or moments in ascending order; `texts` has their labels.
pub(super) fn taxonomy(
    steps: &[DateLevel],
    moments: &[Moment],
    texts: &[&str],
    with_missing: bool,
) -> Result<Taxonomy> {
    let labels: Vec<Vec<String>> =
        moments.iter().map(|at| steps.iter().map(|step| step.label(*at)).collect()).collect();
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
        let (moment, _) = Moment::read("2024-08-31 13:05").unwrap();
        let labels = |kind: Type| -> Vec<String> {
            DateLevel::all(kind).into_iter().map(|level| level.label(moment)).collect()
        };
        assert_eq!(labels(Type::Date), ["2024-08", "2024-Q3", "2024", "2020s"]);
        assert_eq!(labels(Type::Timestamp)[..2], ["2024-08-31 13h", "2024-08-31"]);
        for bad in ["2024-08-31 24h", "2024-08-31 1h", "2024-08-31 13h ", "24-08-31 13h", "13h"] {
            assert!(!is_label(&DateLevel::all(Type::Timestamp), bad), "{bad}");
        }
        assert!(!is_label(&DateLevel::all(Type::Date), "2024-08-31 13h"));
    }

    proptest! {
        #[test]
        fn laws_hold(
            moments in prop::collection::btree_set(-90_000i64..90_000, 1..60),
            missing in any::<bool>(), has_times in any::<bool>(),
        ) {
            // Some moments of an hour, or days.
            let (kind, step) = if has_times {
                (Type::Timestamp, Moment::HOUR / 2)
            } else {
                (Type::Date, Moment::DAY)
            };
            let moments: Vec<Moment> = moments.into_iter().map(|at| Moment(at * step)).collect();
            let text = |moment: &Moment| match kind {
                Type::Date => moment.day().to_string(),
                _ => moment.to_string(),
            };
            let texts: Vec<String> = moments.iter().map(text).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let units = DateLevel::all(kind);
            let tree = taxonomy(&units, &moments, &texts, missing).unwrap();
            super::super::tests::check_laws(&tree);
            for (code, _) in moments.iter().enumerate() {
                prop_assert_eq!(tree.level(0).label(code as u32), texts[code]);
                for label in tree.levels().iter().map(|level| level.label(level.node_of(code as u32))) {
                    prop_assert!(is_label(&units, label), "{}", label);
                    let odd = format!("{label} (Ann)");
                    prop_assert!(!is_label(&units, &odd));
                }
            }
        }
    }
}
