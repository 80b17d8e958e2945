//! Labels of times. A range says whole days if its ends are days, else whole hours, minutes,
//! seconds or microseconds, and has all of the last one: `2024-05-01 to 2024-05-31`,
//! `2024-05-01 13h to 2024-05-02 08h`, `2024-05-01 13:05 to 2024-05-01 13:09`.
//!
//! A single day or hour is called `2024-05-01` or `2024-05-01 13h`, which no value is. A single
//! minute would look like a value, so it is a range of seconds.

use crate::table::{Day, Moment};

/// What a label counts, from coarse to fine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Day,
    Hour,
    Minute,
    Second,
    Micro,
}

impl Unit {
    const ALL: [Unit; 5] = [Unit::Day, Unit::Hour, Unit::Minute, Unit::Second, Unit::Micro];

    fn micros(self) -> i64 {
        match self {
            Unit::Day => Moment::DAY,
            Unit::Hour => Moment::HOUR,
            Unit::Minute => Moment::MINUTE,
            Unit::Second => Moment::SECOND,
            Unit::Micro => 1,
        }
    }

    /// What the unit of a moment is called.
    fn label(self, moment: Moment) -> String {
        let (day, time) = (moment.day(), moment.time());
        let (hour, minute) = (time / Moment::HOUR, time % Moment::HOUR / Moment::MINUTE);
        let (second, micro) = (time % Moment::MINUTE / Moment::SECOND, time % Moment::SECOND);
        match self {
            Unit::Day => day.to_string(),
            Unit::Hour => format!("{day} {hour:02}h"),
            Unit::Minute => format!("{day} {hour:02}:{minute:02}"),
            Unit::Second => format!("{day} {hour:02}:{minute:02}:{second:02}"),
            Unit::Micro => format!("{day} {hour:02}:{minute:02}:{second:02}.{micro:06}"),
        }
    }

    /// The unit that a label names, and its first moment.
    fn read(label: &str) -> Option<(Unit, Moment)> {
        let moment = match label.len() {
            10 => Moment::of(label.parse::<Day>().ok()?),
            14 => Moment::read(&format!("{}:00", label.strip_suffix('h')?))?.0,
            _ => Moment::read(label)?.0,
        };
        let unit = match label.len() {
            10 => Unit::Day,
            14 => Unit::Hour,
            16 => Unit::Minute,
            19 => Unit::Second,
            _ => Unit::Micro,
        };
        (unit.label(moment) == label).then_some((unit, moment))
    }

    /// The coarsest unit that begins at all of these moments.
    fn of(starts: &[i64]) -> Unit {
        let begins = |unit: &Unit| starts.iter().all(|start| start.rem_euclid(unit.micros()) == 0);
        Unit::ALL.into_iter().find(begins).unwrap_or(Unit::Micro)
    }
}

/// The hour of a moment.
pub(super) fn hour_label(moment: Moment) -> String {
    Unit::Hour.label(moment)
}

/// The range from one moment to another, both included.
pub(super) fn range_label(first: Moment, last: Moment) -> String {
    if first == last {
        return first.to_string();
    }
    let next = last.0 + 1;
    let mut unit = Unit::of(&[first.0, next]);
    let is_single = |unit: Unit| next - first.0 == unit.micros();
    if is_single(unit) {
        unit = match unit {
            Unit::Day | Unit::Hour => return unit.label(first),
            Unit::Minute => Unit::Second,
            _ => Unit::Micro,
        };
    }
    format!("{} to {}", unit.label(first), unit.label(last))
}

/// Everything up to a moment, which is included.
pub(super) fn up_to_label(last: Moment) -> String {
    format!("up to {}", Unit::of(&[last.0 + 1]).label(last))
}

/// Everything after a moment.
pub(super) fn above_label(before: Moment) -> String {
    format!("above {}", Unit::of(&[before.0 + 1]).label(before))
}

/// The first and the last moment of a range; an open end is `None`.
pub(super) fn said_range(label: &str) -> Option<(Option<Moment>, Option<Moment>)> {
    let end = |(unit, start): (Unit, Moment)| Moment(start.0 + unit.micros() - 1);
    let (range, written) = if let Some(rest) = label.strip_prefix("up to ") {
        let last = end(Unit::read(rest)?);
        ((None, Some(last)), up_to_label(last))
    } else if let Some(rest) = label.strip_prefix("above ") {
        let before = end(Unit::read(rest)?);
        ((Some(Moment(before.0 + 1)), None), above_label(before))
    } else {
        let (first, last) = label.split_once(" to ").unwrap_or((label, label));
        let (first, last) = (Unit::read(first)?.1, end(Unit::read(last)?));
        ((Some(first), Some(last)), range_label(first, last))
    };
    let is_range = range.0.zip(range.1).is_none_or(|(first, last)| first < last);
    (is_range && written == label).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn moment(text: &str) -> Moment {
        Moment::read(text).unwrap().0
    }

    #[test]
    fn ranges_are_what_a_person_would_write() {
        let before = |text: &str| Moment(moment(text).0 - 1);
        let range = |first: &str, next: &str| range_label(moment(first), before(next));
        let cases = [
            ("2024-05-01 00:00", "2024-06-01 00:00", "2024-05-01 to 2024-05-31"),
            ("2024-05-01 00:00", "2024-05-02 00:00", "2024-05-01"),
            ("2024-05-01 13:00", "2024-05-01 14:00", "2024-05-01 13h"),
            ("2024-05-01 13:00", "2024-05-02 00:00", "2024-05-01 13h to 2024-05-01 23h"),
            ("2024-05-01 13:05", "2024-05-01 13:10", "2024-05-01 13:05 to 2024-05-01 13:09"),
            ("2024-05-01 13:05", "2024-05-01 13:06", "2024-05-01 13:05:00 to 2024-05-01 13:05:59"),
        ];
        for (first, next, label) in cases {
            assert_eq!(range(first, next), label);
        }
        assert_eq!(up_to_label(before("2024-06-01 00:00")), "up to 2024-05-31");
        assert_eq!(above_label(before("2024-05-01 13:00")), "above 2024-05-01 12h");
        for bad in [
            "2024-05-01 13:05",
            "2024-05-01 13:05 to 2024-05-01 13:05",
            "2024-05-01 00h to 2024-05-01 23h",
            "2024-05-02 to 2024-05-01",
            "2024-05-01 to 2024-05-01",
            "up to 2024-05-01 23h",
            "2024-05-01 13h to 2024-05-02",
            "2024-05-01 13:05 to ",
        ] {
            assert_eq!(said_range(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn labels_are_read_back(
            first in -1000i64..1000, length in 1i64..1000, units in prop::sample::select(vec![1i64, 7, 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000]),
        ) {
            let (first, next) = (first * units, (first + length) * units);
            let (first, last) = (Moment(first), Moment(next - 1));
            let label = range_label(first, last);
            if first == last {
                prop_assert_eq!(moment(&label), first);
            } else {
                prop_assert_eq!(said_range(&label), Some((Some(first), Some(last))), "{}", label);
                // No label of a range is a value.
                prop_assert_eq!(Moment::read(&label), None);
            }
            prop_assert_eq!(said_range(&up_to_label(last)), Some((None, Some(last))));
            let after = Some(Moment(last.0 + 1));
            prop_assert_eq!(said_range(&above_label(last)), Some((after, None)));
        }
    }
}
