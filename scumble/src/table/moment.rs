//! Points in time: `2024-05-01 13:05`, `2024-05-01T13:05:10.25+02:00`.
//!
//! A column has times with a zone, which are instants, or times without one, which are what clocks
//! showed. Both are microseconds since 1970-01-01 00:00: of instants in UTC. Years 1700 to 2199 are
//! enough for people, and leave every microsecond an exact float.

use super::Day;
use std::fmt;

/// A point in time, in microseconds since 1970-01-01 00:00.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub i64);

/// The years that moments may have.
const YEARS: std::ops::RangeInclusive<i32> = 1700..=2199;

impl Moment {
    /// Microseconds of a second, and so on.
    pub const SECOND: i64 = 1_000_000;
    /// Of a minute.
    pub const MINUTE: i64 = 60 * Moment::SECOND;
    /// Of an hour.
    pub const HOUR: i64 = 60 * Moment::MINUTE;
    /// Of a day.
    pub const DAY: i64 = 24 * Moment::HOUR;

    /// The first moment of a day.
    pub fn of(day: Day) -> Moment {
        Moment(i64::from(day.0) * Moment::DAY)
    }

    /// The day.
    pub fn day(self) -> Day {
        Day(self.0.div_euclid(Moment::DAY) as i32)
    }

    /// The microseconds since the day began.
    pub fn time(self) -> i64 {
        self.0.rem_euclid(Moment::DAY)
    }

    /// A moment from its parts, if clocks and the calendar have it.
    pub fn new(day: Day, (hour, minute, second): (u32, u32, u32), micros: u32) -> Option<Moment> {
        let fits = hour < 24 && minute < 60 && second < 60 && micros < 1_000_000;
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        let time = seconds * Moment::SECOND + i64::from(micros);
        fits.then_some(Moment(Moment::of(day).0 + time))
    }

    /// A moment as it is written, and whether it has a zone. The seconds may be left out, and have
    /// at most six decimals that are not 0.
    pub fn read(text: &str) -> Option<(Moment, bool)> {
        let (date, rest) = text.split_at_checked(10)?;
        let rest = rest.strip_prefix(['T', ' '])?;
        let (hour, rest) = two_digits(rest)?;
        let (minute, rest) = two_digits(rest.strip_prefix(':')?)?;
        let (second, rest) = rest.strip_prefix(':').map_or(Some((0, rest)), two_digits)?;
        // Only seconds have decimals.
        let has_seconds = text.as_bytes().get(16) == Some(&b':');
        let (micros, rest) = match rest.strip_prefix('.').filter(|_| has_seconds) {
            Some(rest) => micros(rest)?,
            None => (0, rest),
        };
        let moment = Moment::new(date.parse().ok()?, (hour, minute, second), micros)?;
        let (moment, has_zone) = match rest {
            "" => (moment, false),
            "Z" => (moment, true),
            zone => (Moment(moment.0 - offset(zone)?), true),
        };
        YEARS.contains(&moment.day().parts().0).then_some((moment, has_zone))
    }
}

/// The number that two digits at the beginning of a text are, and the rest.
fn two_digits(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(2)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| Some((digits.parse().ok()?, rest)))?
}

/// The microseconds that decimals of a second are, and the rest.
fn micros(text: &str) -> Option<(u32, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(length);
    let (exact, finer) = digits.split_at(length.min(6));
    let is_exact = length > 0 && finer.bytes().all(|digit| digit == b'0');
    is_exact.then(|| Some((format!("{exact:0<6}").parse().ok()?, rest)))?
}

/// The microseconds that a zone such as `+02:00` is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, rest) = two_digits(&zone[1..])?;
    let (minutes, rest) = match rest {
        "" => (0, ""),
        rest => two_digits(rest.strip_prefix(':').unwrap_or(rest))?,
    };
    let fits = rest.is_empty() && hours < 24 && minutes < 60;
    let offset = i64::from(hours) * Moment::HOUR + i64::from(minutes) * Moment::MINUTE;
    fits.then_some(sign * offset)
}

impl fmt::Display for Moment {
    /// Without seconds if there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.time() / Moment::MINUTE;
        let (second, micros) =
            (self.time() % Moment::MINUTE / Moment::SECOND, self.time() % Moment::SECOND);
        write!(f, "{} {:02}:{:02}", self.day(), minutes / 60, minutes % 60)?;
        if (second, micros) != (0, 0) {
            write!(f, ":{second:02}")?;
        }
        if micros != 0 {
            write!(f, ".{}", format!("{micros:06}").trim_end_matches('0'))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_are_read_as_documented() {
        let read = |text: &str| Moment::read(text).map(|(moment, zone)| (moment.to_string(), zone));
        let cases = [
            ("2024-05-01 13:05", "2024-05-01 13:05", false),
            ("2024-05-01T13:05:10", "2024-05-01 13:05:10", false),
            ("2024-05-01T13:05:10.250", "2024-05-01 13:05:10.25", false),
            ("2024-05-01T13:05:10.123456000", "2024-05-01 13:05:10.123456", false),
            ("2024-05-01T00:05:10+02:00", "2024-04-30 22:05:10", true),
            ("2024-05-01T13:05-0330", "2024-05-01 16:35", true),
            ("2024-05-01 13:05:10.5Z", "2024-05-01 13:05:10.5", true),
            ("2024-05-01 13:05+02", "2024-05-01 11:05", true),
        ];
        for (text, expected, zone) in cases {
            assert_eq!(read(text), Some((expected.to_string(), zone)), "{text}");
        }
        for bad in [
            "2024-05-01",
            "2024-05-01 13h",
            "2024-05-01 13",
            "2024-05-01 24:00",
            "2024-05-01 13:60",
            "2024-05-01 13:05:60",
            "2024-05-01 13:05.5",
            "2024-05-01 13:05:10.",
            "2024-05-01 13:05:10.1234567",
            "2024-05-01 13:05 ",
            "2024-05-01 13:05z",
            "2024-05-01 13:05+2",
            "2024-05-01 13:05+02:00:00",
            "2024-05-01_13:05",
            "2024-02-30 13:05",
            "1699-12-31 23:59",
            "9999-12-31 00:00",
            "2024-05-01é13:05",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(micros in -8_520_336_000_000_000i64..7_258_118_400_000_000) {
            let moment = Moment(micros);
            prop_assert_eq!(Moment::read(&moment.to_string()), Some((moment, false)));
            // Every number and the next one are exact.
            prop_assert_eq!((micros as f64 as i64, (micros as f64 + 1.0) as i64), (micros, micros + 1));
        }
    }
}
