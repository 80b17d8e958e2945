//! How the values of a column are written, if not in the plain way: `31.12.1980` for a date,
//! `1.234,5` for a number.
//!
//! The rest of the library knows the plain way only: `1980-12-31` and `1234.5`. A [`Notation`]
//! reads values and labels into it and spells them back, so that a release is written like its
//! table. [`Detected`] finds the notation of a column from its values.

mod detect;
mod pattern;

pub use detect::Detected;
pub use pattern::DatePattern;

use super::Type;
use std::collections::BTreeMap;

/// A way to write values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notation {
    /// Dates, or dates with a time.
    Dates(DatePattern),
    /// Numbers.
    Numbers {
        /// What separates decimals, `.` or `,`.
        decimal: char,
        /// What may separate groups of three digits.
        thousands: Option<char>,
    },
}

/// Characters that may separate groups of three digits: point, comma, apostrophes, spaces.
pub const THOUSANDS: [char; 7] = ['.', ',', '\'', '\u{2019}', ' ', '\u{a0}', '\u{202f}'];

/// What separates the ends of a plain range of real numbers.
const BETWEEN: &str = ", ";

impl Notation {
    /// A notation of numbers; the error says what is expected.
    pub fn numbers(
        decimal: Option<&str>,
        thousands: Option<&str>,
    ) -> Result<Notation, &'static str> {
        let single = |text: &str| text.parse::<char>().ok();
        let decimal = match decimal.map(single) {
            None if thousands == Some(".") => return Err("`decimal = \",\"` beside it"),
            None => '.',
            Some(Some(decimal @ ('.' | ','))) => decimal,
            Some(_) => return Err("\",\" or \".\""),
        };
        let thousands = match thousands.map(single) {
            None => None,
            Some(Some(thousands)) if thousands == decimal => {
                return Err("another character than the decimal separator");
            }
            Some(Some(thousands)) if THOUSANDS.contains(&thousands) => Some(thousands),
            Some(_) => return Err("a point, a comma, a space or an apostrophe"),
        };
        Ok(Notation::Numbers { decimal, thousands })
    }

    /// The notation that keys of a policy state; `None` if they state none.
    pub fn from_keys(keys: &BTreeMap<String, String>) -> Option<Notation> {
        let key = |name: &str| keys.get(name).map(String::as_str);
        match key("format") {
            Some(format) => DatePattern::new(format).ok().map(Notation::Dates),
            None => Notation::numbers(key("decimal"), key("thousands")).ok(),
        }
    }

    /// The keys of a policy that state it.
    pub fn keys(&self) -> Vec<(&'static str, String)> {
        match self {
            Notation::Dates(pattern) => vec![("format", pattern.text().to_string())],
            Notation::Numbers { decimal, thousands } => {
                let decimal = (*decimal != '.').then(|| ("decimal", decimal.to_string()));
                let thousands = thousands.map(|thousands| ("thousands", thousands.to_string()));
                decimal.into_iter().chain(thousands).collect()
            }
        }
    }

    /// Whether values of a type can be written this way.
    pub fn fits(&self, kind: Type) -> bool {
        match self {
            Notation::Dates(pattern) => kind == pattern.kind(),
            Notation::Numbers { .. } => matches!(kind, Type::Integer | Type::Real),
        }
    }

    /// The type of its values, if it tells.
    pub fn kind(&self) -> Option<Type> {
        match self {
            Notation::Dates(pattern) => Some(pattern.kind()),
            Notation::Numbers { .. } => None,
        }
    }

    /// What a value should have been, for an error.
    pub fn expected(&self) -> String {
        match self {
            Notation::Dates(pattern) => {
                format!("a {} as in `format = \"{}\"`", pattern.kind().name(), pattern.text())
            }
            Notation::Numbers { decimal, thousands } => {
                let decimal = format!("a number with the decimal separator \"{decimal}\"");
                let thousands = thousands
                    .map(|character| format!(" and the thousands separator \"{character}\""));
                decimal + &thousands.unwrap_or_default()
            }
        }
    }

    /// A value in the plain way; `None` if it is not written in this one.
    pub fn plain(&self, value: &str) -> Option<String> {
        match self {
            Notation::Dates(pattern) => pattern.plain(value.trim()),
            Notation::Numbers { decimal, thousands } => {
                plain_number(value.trim(), *decimal, *thousands)
            }
        }
    }

    /// A plain value in this notation; `None` if it is no such value.
    fn spelled(&self, value: &str) -> Option<String> {
        match self {
            Notation::Dates(pattern) => pattern.spelled(value),
            Notation::Numbers { decimal, thousands } => spelled_number(value, *decimal, *thousands),
        }
    }

    /// The end of a range in the plain way. That of timestamps is not a value: its length says
    /// whether it has a whole day, hour, minute or second.
    fn plain_end(&self, end: &str) -> Option<String> {
        match self {
            Notation::Dates(pattern) => pattern.plain_end(end),
            Notation::Numbers { .. } => self.plain(end),
        }
    }

    /// The inverse.
    fn spelled_end(&self, end: &str) -> Option<String> {
        match self {
            Notation::Dates(pattern) => pattern.spelled_end(end),
            Notation::Numbers { .. } => self.spelled(end),
        }
    }

    /// A label of a release in the plain way: a value, or a range of values. Other labels, such as
    /// the root or a month, stay as they are.
    pub fn plain_label(&self, label: &str) -> String {
        self.plain(label).unwrap_or_else(|| {
            relabelled(label, |end| self.plain_end(end), (self.between(), BETWEEN))
        })
    }

    /// The inverse: a plain label as it is published.
    pub fn spelled_label(&self, label: &str) -> String {
        self.spelled(label).unwrap_or_else(|| {
            relabelled(label, |end| self.spelled_end(end), (BETWEEN, self.between()))
        })
    }

    /// What separates the ends of a range of real numbers: decimal commas need another character.
    fn between(&self) -> &'static str {
        match self {
            Notation::Numbers { decimal: ',', .. }
            | Notation::Numbers { thousands: Some(','), .. } => "; ",
            _ => BETWEEN,
        }
    }
}

/// A label with the ends of its range written in another way, those of real numbers being
/// separated by the second of two texts instead of the first.
fn relabelled(
    label: &str,
    end: impl Fn(&str) -> Option<String>,
    (from, to): (&str, &str),
) -> String {
    if let Some(whole) = end(label) {
        return whole;
    }
    for start in ["up to ", "above "] {
        if let Some(end) = label.strip_prefix(start).and_then(&end) {
            return format!("{start}{end}");
        }
    }
    let pair = |inner: &str, from: &str, to: &str| {
        inner
            .match_indices(from)
            .find_map(|(at, _)| Some(end(&inner[..at])? + to + &end(&inner[at + from.len()..])?))
    };
    let inner = label.strip_prefix(['[', '(']).and_then(|rest| rest.strip_suffix([']', ')']));
    if let Some(range) = inner.and_then(|inner| pair(inner, from, to)) {
        return format!("{}{range}{}", &label[..1], &label[label.len() - 1..]);
    }
    let range = [" to ", "-"].into_iter().find_map(|between| pair(label, between, between));
    range.unwrap_or_else(|| label.to_string())
}

/// A number with a sign, digits, decimals and an exponent, of which only the digits and the
/// decimals are looked at.
fn parts(number: &str, decimal: char) -> Option<(&str, &str, Option<&str>, &str)> {
    let (mantissa, exponent) = number.split_at(number.find(['e', 'E']).unwrap_or(number.len()));
    let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let sign = &mantissa[..mantissa.len() - unsigned.len()];
    let (whole, fraction) = match unsigned.split_once(decimal) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (unsigned, None),
    };
    let is_fraction = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_exponent = |text: &str| {
        let digits = text[1..].strip_prefix(['-', '+']).unwrap_or(&text[1..]);
        !digits.is_empty() && is_fraction(digits)
    };
    let fits = fraction.is_none_or(is_fraction) && (exponent.is_empty() || is_exponent(exponent));
    fits.then_some((sign, whole, fraction, exponent))
}

fn plain_number(number: &str, decimal: char, thousands: Option<char>) -> Option<String> {
    let (sign, whole, fraction, exponent) = parts(number, decimal)?;
    let groups: Vec<&str> = match thousands {
        Some(thousands) => whole.split(thousands).collect(),
        None => vec![whole],
    };
    let is_digits = |group: &&str| group.bytes().all(|byte| byte.is_ascii_digit());
    let is_grouped = groups.len() == 1
        || (1..=3).contains(&groups[0].len()) && groups[1..].iter().all(|group| group.len() == 3);
    let has_digits = !whole.is_empty() || fraction.is_some_and(|digits| !digits.is_empty());
    if !has_digits || !is_grouped || !groups.iter().all(is_digits) {
        return None;
    }
    let fraction = fraction.map(|digits| format!(".{digits}")).unwrap_or_default();
    Some(format!("{sign}{}{fraction}{exponent}", groups.concat()))
}

fn spelled_number(number: &str, decimal: char, thousands: Option<char>) -> Option<String> {
    let (sign, whole, fraction, exponent) = parts(number, '.')?;
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) || whole.is_empty() && fraction.is_none() {
        return None;
    }
    let mut text = sign.to_string();
    for (at, digit) in whole.char_indices() {
        let separator = thousands.filter(|_| at > 0 && (whole.len() - at).is_multiple_of(3));
        text.extend(separator.into_iter().chain([digit]));
    }
    if let Some(fraction) = fraction {
        text.push(decimal);
        text.push_str(fraction);
    }
    Some(text + exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn european() -> Notation {
        Notation::numbers(Some(","), Some(".")).unwrap()
    }

    fn dates(pattern: &str) -> Notation {
        Notation::Dates(DatePattern::new(pattern).unwrap())
    }

    #[test]
    fn values_are_read_into_the_plain_way() {
        let read = |value: &str| european().plain(value);
        let cases = [
            ("1.234,5", "1234.5"),
            (" -12,50 ", "-12.50"),
            ("1.234.567", "1234567"),
            ("1234,5", "1234.5"),
            ("0,5", "0.5"),
            (",5", ".5"),
            ("1,5e3", "1.5e3"),
        ];
        for (value, plain) in cases {
            assert_eq!(read(value).as_deref(), Some(plain), "{value}");
        }
        for bad in ["1.23,5", "1,234.5", "12345.678", "", ",", ".", "-", "1e", "1,5,5", "x", "1..2"]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(dates("DD.MM.YYYY").plain("31.12.1980").as_deref(), Some("1980-12-31"));
        assert_eq!(dates("M/D/YYYY").plain("2/9/1980").as_deref(), Some("1980-02-09"));
    }

    #[test]
    fn labels_of_ranges_are_spelled_in_the_notation() {
        let cases = [
            (european(), "[1234.5, 2000)", "[1.234,5; 2.000)"),
            (european(), "(2.5, 3]", "(2,5; 3]"),
            (european(), "1000-1999", "1.000-1.999"),
            (european(), "-2000 to -1", "-2.000 to -1"),
            (european(), "up to 2.5", "up to 2,5"),
            (european(), "*", "*"),
            (european(), "", ""),
            (dates("DD.MM.YYYY"), "2020-01-01 to 2020-01-28", "01.01.2020 to 28.01.2020"),
            (dates("DD-MM-YYYY"), "above 2020-01-31", "above 31-01-2020"),
            (dates("DD.MM.YYYY"), "2020-Q1", "2020-Q1"),
            (dates("DD.MM.YYYY"), "2020-01", "2020-01"),
            (dates("DD.MM.YYYY hh:mm"), "2020-01-31 13:05", "31.01.2020 13:05"),
            (dates("DD.MM.YYYY hh:mm"), "2020-01-31 13h", "31.01.2020 13h"),
            (dates("D.M.YYYY h:mm"), "2020-01-31 to 2020-02-01", "31.1.2020 to 1.2.2020"),
            (dates("DD.MM.YYYY hh:mm:ss"), "above 2020-01-31 13:05", "above 31.01.2020 13:05"),
            (
                dates("DD.MM.YYYY hh:mm"),
                "2020-01-31 13:05:00 to 2020-01-31 13:05:59",
                "31.01.2020 13:05:00 to 31.01.2020 13:05:59",
            ),
            (dates("hh:mm DD.MM.YYYY"), "2020-01-31 13h", "2020-01-31 13h"),
            (dates("YYYYMMDDThhmmss"), "2020-01-31 13:05", "20200131T130500"),
        ];
        for (notation, plain, spelled) in cases {
            assert_eq!(notation.spelled_label(plain), spelled);
            assert_eq!(notation.plain_label(spelled), plain);
        }
    }

    #[test]
    fn separators_that_contradict_each_other_are_refused() {
        assert!(Notation::numbers(None, Some(".")).is_err());
        assert!(Notation::numbers(Some(","), Some(",")).is_err());
        assert!(Notation::numbers(Some(";"), None).is_err());
        assert!(Notation::numbers(None, Some("5")).is_err());
        assert!(Notation::numbers(Some(""), None).is_err());
    }

    proptest! {
        #[test]
        fn what_is_spelled_is_read_back(
            a in -10_000_000i64..10_000_000, b in 0u32..1000, scale in 0usize..3, day in -200_000i32..2_000_000,
        ) {
            let number = if scale == 0 { a.to_string() } else { format!("{a}.{b:0scale$}") };
            let day = super::super::Day(day).to_string();
            let all = [
                (european(), number.clone()),
                (Notation::numbers(None, Some(",")).unwrap(), number.clone()),
                (Notation::numbers(Some(","), Some(" ")).unwrap(), format!("[{number}, {number}5)")),
                (european(), format!("{number} to {number}1")),
                (dates("DD.MM.YYYY"), day.clone()),
                (dates("M/D/YYYY"), format!("{day} to {day}")),
                (dates("YYYYMMDD"), format!("up to {day}")),
            ];
            for (notation, plain) in all {
                let spelled = notation.spelled_label(&plain);
                prop_assert_eq!(notation.plain_label(&spelled), plain);
            }
        }
    }
}
