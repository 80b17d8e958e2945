//! What a value is: a whole number, a real number, a date, a timestamp or a text.

use super::Moment;
use chrono::{Datelike, NaiveDate};
use std::fmt;

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Whole numbers.
    Integer,
    /// Finite decimal numbers.
    Real,
    /// Days of the calendar, written `YYYY-MM-DD`.
    Date,
    /// Points in time, written `YYYY-MM-DD hh:mm:ss`, with a zone or without.
    Timestamp,
    /// Anything.
    Text,
}

impl Type {
    /// Every type with its name in a policy, from the narrowest to the widest.
    pub const NAMES: [(&'static str, Type); 5] = [
        ("integer", Type::Integer),
        ("real", Type::Real),
        ("date", Type::Date),
        ("timestamp", Type::Timestamp),
        ("text", Type::Text),
    ];

    /// The type's name in a policy.
    pub fn name(self) -> &'static str {
        Type::NAMES.iter().find(|(_, kind)| *kind == self).map_or("text", |(name, _)| name)
    }

    /// What a value should have been, for an error.
    pub fn expected(self) -> &'static str {
        match self {
            Type::Integer => "an integer",
            Type::Real => "a number",
            Type::Date => "a date (YYYY-MM-DD)",
            Type::Timestamp => {
                "a timestamp (such as 2024-05-01 13:05, years 1700 to 2199, all with a zone or none)"
            }
            Type::Text => "text",
        }
    }

    /// The place of a value on the number line (dates count days, timestamps microseconds), or `None` where the value is not
    /// of this type. Text has no such place.
    pub fn number(self, value: &str) -> Option<f64> {
        match self {
            // Beyond 2^53 two integers could share a float; they are refused rather than merged.
            Type::Integer => {
                let number = value.trim().parse::<i64>().ok()?;
                (number.unsigned_abs() <= 1 << 53).then_some(number as f64)
            }
            Type::Real => {
                let digits = value.trim().trim_start_matches(['-', '+']);
                let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                if whole && digits.parse::<u64>().ok().is_none_or(|number| number > 1 << 53) {
                    return None;
                }
                value.trim().parse::<f64>().ok().filter(|number| number.is_finite())
            }
            Type::Date => value.trim().parse::<Day>().ok().map(|day| f64::from(day.0)),
            Type::Timestamp => Moment::read(value.trim()).map(|(moment, _)| moment.0 as f64),
            Type::Text => None,
        }
    }

    /// Whether it consists of steps, so that a range has a first and a last value.
    pub fn is_stepped(self) -> bool {
        matches!(self, Type::Integer | Type::Date | Type::Timestamp)
    }

    /// The first of some timestamps that has a zone where others have none, or the other way round.
    pub fn mixed_zone<'a>(mut values: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        let has_zone = |value: &str| Moment::read(value.trim()).map(|(_, has_zone)| has_zone);
        let first = has_zone(values.next()?);
        values.find(|value| has_zone(value) != first)
    }

    /// The narrowest type that all values have; text when there is none.
    pub fn infer<'a>(values: impl Iterator<Item = &'a str> + Clone) -> Type {
        let some = values.clone().next().is_some();
        let fits = |kind: Type| values.clone().all(|value| kind.number(value).is_some());
        let narrowest = [Type::Integer, Type::Real, Type::Date, Type::Timestamp];
        let narrowest = narrowest.into_iter().find(|kind| some && fits(*kind));
        // Instants and what clocks show cannot be compared.
        let is_mixed =
            |kind: &Type| *kind == Type::Timestamp && Type::mixed_zone(values.clone()).is_some();
        narrowest.filter(|kind| !is_mixed(kind)).unwrap_or(Type::Text)
    }
}

/// A day of the proleptic Gregorian calendar, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i32);

impl Day {
    /// The day with a year (0 to 9999), a month and a day of the month, if the calendar has it.
    pub fn new(year: i32, month: u32, day: u32) -> Option<Day> {
        let date = NaiveDate::from_ymd_opt(year, month, day)?;
        (0..=9999).contains(&year).then(|| Day(date.to_epoch_days()))
    }

    /// Year, month and day of the month. A day that `chrono` cannot represent (more than 262,000
    /// years away) becomes the first or last one that it can.
    pub fn parts(self) -> (i32, u32, u32) {
        let end = if self.0 < 0 { NaiveDate::MIN } else { NaiveDate::MAX };
        let date = NaiveDate::from_epoch_days(self.0).unwrap_or(end);
        (date.year(), date.month(), date.day())
    }
}

impl std::str::FromStr for Day {
    type Err = ();

    fn from_str(text: &str) -> Result<Day, ()> {
        let bytes = text.as_bytes();
        if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
            return Err(());
        }
        let part = |range: std::ops::Range<usize>| {
            let digits = &text.get(range).ok_or(())?;
            digits
                .bytes()
                .all(|byte| byte.is_ascii_digit())
                .then(|| digits.parse::<u32>().ok())
                .flatten()
                .ok_or(())
        };
        Day::new(part(0..4)? as i32, part(5..7)?, part(8..10)?).ok_or(())
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Days outside the years 0 to 9999 occur in columnar files. They are no dates for a policy,
        // but two of them must not look the same.
        match NaiveDate::from_epoch_days(self.0) {
            Some(date) => date.fmt(f),
            None => write!(f, "{} days after 1970-01-01", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_through_the_calendar() {
        assert_eq!("1970-01-01".parse(), Ok(Day(0)));
        assert_eq!("2000-02-29".parse(), Ok(Day(11_016)));
        for bad in [
            "1900-02-29",
            "2001-13-01",
            "2001-00-10",
            "01-01-2001",
            "2001-1-01",
            "2001-01-32",
            "２001-1-1",
        ] {
            assert_eq!(bad.parse::<Day>(), Err(()), "{bad}");
        }
        let mut last = "0000-01-01".parse::<Day>().unwrap();
        for _ in 0..1_000_000 {
            let next = Day(last.0 + 1);
            let (year, month, day) = next.parts();
            assert_eq!(Day::new(year, month, day), Some(next));
            last = next;
        }
    }

    /// They are no dates for a policy, but a columnar file may hold them.
    #[test]
    fn days_outside_four_digits_have_a_text_and_do_not_parse() {
        let texts = [2_932_897, -719_529, i32::MAX, i32::MAX - 1, i32::MIN]
            .map(|number| Day(number).to_string());
        assert_eq!(texts[..2], ["+10000-01-01", "-0001-12-31"]);
        assert_ne!(texts[2], texts[3]);
        assert!(texts.iter().all(|text| text.parse::<Day>().is_err()), "{texts:?}");
        assert_eq!(Day::new(10_000, 1, 1), None);
        assert_eq!(Day::new(-1, 12, 31), None);
    }

    #[test]
    fn the_narrowest_type_is_inferred() {
        assert_eq!(Type::infer(["1", "-2"].into_iter()), Type::Integer);
        assert_eq!(Type::infer(["1", "2.5", "1e3"].into_iter()), Type::Real);
        assert_eq!(Type::infer(["2020-01-01"].into_iter()), Type::Date);
        assert_eq!(Type::infer(["2020-01-01", "1"].into_iter()), Type::Text);
        assert_eq!(Type::infer(["2020-01-01 10:00"].into_iter()), Type::Timestamp);
        let (clock, instant) = ("2020-01-01 10:00", "2020-01-01T10:00Z");
        assert_eq!(Type::infer([instant, instant].into_iter()), Type::Timestamp);
        assert_eq!(Type::infer([clock, instant].into_iter()), Type::Text);
        assert_eq!(Type::infer(["2020-01-01 10:00", "2020-01-01"].into_iter()), Type::Text);
        assert_eq!(Type::infer(["nan"].into_iter()), Type::Text);
        assert_eq!(Type::infer(["9007199254740993", "9007199254740992"].into_iter()), Type::Text);
        assert_eq!(Type::infer(std::iter::empty()), Type::Text);
    }
}
