//! Patterns of dates: `DD.MM.YYYY`, `M/D/YYYY`, `YYYYMMDD`, `DD.MM.YYYY hh:mm:ss`.

use crate::table::{Day, Moment, Type};

/// How dates are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatePattern {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// A unit, and whether it has a leading zero.
    Unit(Unit, bool),
    /// Any other character.
    Literal(char),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// The letters of each unit, with a leading zero or without.
const LETTERS: [(&str, Part); 11] = [
    ("YYYY", Part::Unit(Unit::Year, true)),
    ("MM", Part::Unit(Unit::Month, true)),
    ("M", Part::Unit(Unit::Month, false)),
    ("DD", Part::Unit(Unit::Day, true)),
    ("D", Part::Unit(Unit::Day, false)),
    ("hh", Part::Unit(Unit::Hour, true)),
    ("h", Part::Unit(Unit::Hour, false)),
    ("mm", Part::Unit(Unit::Minute, true)),
    ("ss", Part::Unit(Unit::Second, true)),
    ("T", Part::Literal('T')),
    ("Z", Part::Literal('Z')),
];

const EXPECTED: &str = "a pattern with YYYY, MM (or M) and DD (or D), and for times hh, mm and ss, \
                        such as \"DD.MM.YYYY\" or \"M/D/YYYY hh:mm\"";

/// Two-digit years are not guessed.
const TWO_DIGITS: &str =
    "a year of four digits (YYYY): two digits do not tell the century; write it into the table";

impl DatePattern {
    /// Checks a pattern; the error says what is expected.
    pub fn new(text: &str) -> Result<DatePattern, &'static str> {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some(first) = rest.chars().next() {
            let run = rest.chars().take_while(|character| *character == first).count();
            if !first.is_alphabetic() {
                if first.is_alphanumeric() || first.is_control() {
                    return Err(EXPECTED);
                }
                parts.push(Part::Literal(first));
                rest = &rest[first.len_utf8()..];
                continue;
            }
            let letters = &rest[..run * first.len_utf8()];
            if matches!(letters, "YY" | "yy") {
                return Err(TWO_DIGITS);
            }
            let part = LETTERS.iter().find(|(known, _)| *known == letters).ok_or(EXPECTED)?.1;
            parts.push(part);
            rest = &rest[letters.len()..];
        }
        let pattern = DatePattern { text: text.to_string(), parts };
        if pattern.is_complete() { Ok(pattern) } else { Err(EXPECTED) }
    }

    /// Whether it has every unit that a date needs once, and digits can be told apart.
    fn is_complete(&self) -> bool {
        let count = |unit: Unit| self.parts.iter().filter(|part| part.is(unit)).count();
        let dates = [Unit::Year, Unit::Month, Unit::Day].map(count) == [1, 1, 1];
        let times = match [Unit::Hour, Unit::Minute, Unit::Second].map(count) {
            [0, 0, 0] => true,
            [1, 1, seconds] => seconds <= 1,
            _ => false,
        };
        // One or two digits must not be followed by another digit.
        let is_apart = |pair: &[Part]| !matches!(pair, [Part::Unit(_, false), Part::Unit(..)]);
        dates && times && self.parts.windows(2).all(is_apart)
    }

    /// The pattern as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The type of what it describes.
    pub fn kind(&self) -> Type {
        if self.has(Unit::Hour) { Type::Timestamp } else { Type::Date }
    }

    fn has(&self, unit: Unit) -> bool {
        self.parts.iter().any(|part| part.is(unit))
    }

    /// A value in the plain way; `None` if it does not match, or if no calendar or clock has it.
    pub(super) fn plain(&self, value: &str) -> Option<String> {
        let (found, rest) = read(&self.parts, value)?;
        let day = day_of(&found).filter(|_| rest.is_empty())?;
        if !self.has(Unit::Hour) {
            return Some(day.to_string());
        }
        let text = Moment::new(day, (found[3], found[4], found[5]), 0)?.to_string();
        // Some years have no moments.
        Moment::read(&text).map(|_| text)
    }

    /// A plain value in this pattern; `None` if it is finer.
    pub(super) fn spelled(&self, value: &str) -> Option<String> {
        if !self.has(Unit::Hour) {
            return Some(write(&self.parts, &numbers_of(value.parse().ok()?)));
        }
        let (moment, has_zone) = Moment::read(value)?;
        let seconds = moment.time() / Moment::SECOND;
        let is_finer = moment.time() % Moment::SECOND != 0
            || seconds % 60 != 0 && !self.has(Unit::Second)
            || has_zone;
        let mut found = numbers_of(moment.day());
        found[3..].copy_from_slice(
            &[seconds / 3600, seconds / 60 % 60, seconds % 60].map(|number| number as u32),
        );
        (!is_finer).then(|| write(&self.parts, &found))
    }

    /// The end of a range, or a day or an hour, in the plain way. The date is in this pattern, and
    /// the time behind it says by its length what is counted.
    pub(super) fn plain_end(&self, end: &str) -> Option<String> {
        if !self.has(Unit::Hour) {
            return self.plain(end);
        }
        let (found, rest) = read(self.date_parts()?, end)?;
        is_time(rest).then(|| Some(format!("{}{rest}", day_of(&found)?)))?
    }

    /// The inverse.
    pub(super) fn spelled_end(&self, end: &str) -> Option<String> {
        if !self.has(Unit::Hour) {
            return self.spelled(end);
        }
        let (date, rest) = end.split_at_checked(10)?;
        let date = write(self.date_parts()?, &numbers_of(date.parse().ok()?));
        is_time(rest).then(|| date + rest)
    }

    /// What comes before the time, if that is the date.
    fn date_parts(&self) -> Option<&[Part]> {
        let is_of_time = |part: &Part| match part {
            Part::Unit(unit, _) => !matches!(unit, Unit::Year | Unit::Month | Unit::Day),
            Part::Literal(_) => false,
        };
        let time = self.parts.iter().position(is_of_time)?;
        let last = self.parts[..time].iter().rposition(|part| matches!(part, Part::Unit(..)))?;
        let date = &self.parts[..=last];
        let units = date.iter().filter(|part| matches!(part, Part::Unit(..))).count();
        (units == 3).then_some(date)
    }
}

/// Whether a text may be the time of a label: ` 13h`, ` 13:05:10`, or nothing.
fn is_time(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'h');
    text.is_empty() || text.strip_prefix(' ').is_some_and(|time| time.bytes().all(is_part))
}

/// The numbers of the units in a text, and what is behind them.
fn read<'a>(parts: &[Part], text: &'a str) -> Option<([u32; 6], &'a str)> {
    let (mut rest, mut found) = (text, [0u32; 6]);
    for part in parts {
        match part {
            Part::Literal(literal) => rest = rest.strip_prefix(*literal)?,
            Part::Unit(unit, padded) => {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                let length = match (unit, padded) {
                    (Unit::Year, _) => 4,
                    (_, true) => 2,
                    (_, false) => digits.min(2),
                };
                if length == 0 || digits < length {
                    return None;
                }
                found[*unit as usize] = rest[..length].parse().ok()?;
                rest = &rest[length..];
            }
        }
    }
    Some((found, rest))
}

/// The text of the numbers of some units.
fn write(parts: &[Part], found: &[u32; 6]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Literal(literal) => text.push(*literal),
            Part::Unit(Unit::Year, _) => text += &format!("{:04}", found[0]),
            Part::Unit(unit, true) => text += &format!("{:02}", found[*unit as usize]),
            Part::Unit(unit, false) => text += &found[*unit as usize].to_string(),
        }
    }
    text
}

fn day_of(found: &[u32; 6]) -> Option<Day> {
    Day::new(found[0] as i32, found[1], found[2])
}

fn numbers_of(day: Day) -> [u32; 6] {
    let (year, month, day) = day.parts();
    [year as u32, month, day, 0, 0, 0]
}

impl Part {
    fn is(&self, unit: Unit) -> bool {
        matches!(self, Part::Unit(known, _) if *known == unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_checked_with_a_reason() {
        for good in ["DD.MM.YYYY", "M/D/YYYY", "YYYYMMDD", "D. M. YYYY", "YYYY/MM/DD hh:mm:ss"] {
            assert!(DatePattern::new(good).is_ok(), "{good}");
        }
        let bad = [
            "",
            "DD.MM",
            "YYYY",
            "DD.MM.YYYY YYYY",
            "DMYYYY",
            "DD.MM.YYYY hh",
            "dd.mm.yyyy",
            "DDD",
            "é",
        ];
        for bad in bad {
            assert_eq!(DatePattern::new(bad), Err(EXPECTED), "{bad}");
        }
        assert_eq!(DatePattern::new("DD.MM.YY"), Err(TWO_DIGITS));
    }

    #[test]
    fn dates_match_exactly_or_not_at_all() {
        let read = |pattern: &str, value: &str| DatePattern::new(pattern).unwrap().plain(value);
        assert_eq!(read("DD.MM.YYYY", "29.02.2000").as_deref(), Some("2000-02-29"));
        assert_eq!(read("D.M.YYYY", "1.12.2000").as_deref(), Some("2000-12-01"));
        assert_eq!(read("YYYYMMDD", "20001231").as_deref(), Some("2000-12-31"));
        for bad in
            ["29.02.1900", "1.2.2000", "01.02.20001", "01.02.200", "01-02-2000", "", "01.02.2000 "]
        {
            assert_eq!(read("DD.MM.YYYY", bad), None, "{bad}");
        }
    }
}
