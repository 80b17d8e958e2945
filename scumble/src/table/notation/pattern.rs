//! Patterns of dates: `DD.MM.YYYY`, `M/D/YYYY`, `YYYYMMDD`, `DD.MM.YYYY hh:mm:ss`.

use crate::table::{Day, Type};

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
        Type::Date
    }

    /// A date in the plain way; `None` if it does not match, or if the calendar does not have it.
    pub(super) fn plain(&self, value: &str) -> Option<String> {
        let mut rest = value;
        let mut found = [0u32; 6];
        for part in &self.parts {
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
        let day = Day::new(found[0] as i32, found[1], found[2])?;
        rest.is_empty().then(|| day.to_string())
    }

    /// A plain date in this pattern.
    pub(super) fn spelled(&self, value: &str) -> Option<String> {
        let (year, month, day) = value.parse::<Day>().ok()?.parts();
        let found = [year as u32, month, day, 0, 0, 0];
        let mut text = String::with_capacity(self.text.len());
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push(*literal),
                Part::Unit(Unit::Year, _) => text += &format!("{year:04}"),
                Part::Unit(unit, true) => text += &format!("{:02}", found[*unit as usize]),
                Part::Unit(unit, false) => text += &found[*unit as usize].to_string(),
            }
        }
        Some(text)
    }
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
