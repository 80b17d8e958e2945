//! Which type and notation do the values of a column have?

use super::{DatePattern, Notation, THOUSANDS};
use crate::table::Type;
use std::collections::HashSet;

/// What the values of a column look like. Nothing here is guessed silently: what two notations
/// explain equally well is text, with the doubt stated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The type.
    pub kind: Type,
    /// How values are written, if not in the plain way.
    pub notation: Option<Notation>,
    /// Values that seem to mean "missing".
    pub missing: Vec<String>,
    /// What the owner should check, as a sentence without a full stop.
    pub doubt: Option<String>,
    /// Notations that would be possible, if they are in doubt.
    pub possible: Vec<Notation>,
}

/// Texts that often mean "missing", in lower case.
const TOKENS: [&str; 22] = [
    "na",
    "n/a",
    "#n/a",
    "nan",
    "null",
    "(null)",
    "<na>",
    "nil",
    "none",
    "-",
    "--",
    "?",
    ".",
    "unknown",
    "missing",
    "not available",
    "k.a.",
    "keine angabe",
    "unbekannt",
    "inconnu",
    "desconocido",
    "n.d.",
];

/// Those of them that a column of texts may well have as ordinary values.
const ORDINARY: [&str; 3] = ["nil", "none", "."];

/// Whether a text often means "missing".
fn is_token(value: &str) -> bool {
    TOKENS.contains(&value.trim().to_lowercase().as_str())
}

impl Detected {
    /// Looks at the distinct values of a column, which may include the empty one.
    pub fn of<'a>(values: impl Iterator<Item = &'a str> + Clone) -> Detected {
        let mut seen = HashSet::new();
        let tokens: Vec<&str> =
            values.clone().filter(|value| is_token(value) && seen.insert(*value)).collect();
        let others = values.filter(|value| !value.trim().is_empty() && !is_token(value));
        let mut found = of_values(others);
        let is_kept = |token: &&&str| {
            found.kind != Type::Text || !ORDINARY.contains(&token.trim().to_lowercase().as_str())
        };
        found.missing = tokens.iter().filter(is_kept).map(|token| token.to_string()).collect();
        found.missing.sort_unstable();
        found
    }

    fn new(kind: Type, notation: Option<Notation>) -> Detected {
        Detected { kind, notation, missing: Vec::new(), doubt: None, possible: Vec::new() }
    }

    fn doubtful(doubt: &str, possible: Vec<Notation>) -> Detected {
        let doubt = Some(doubt.to_string());
        Detected { doubt, possible, ..Detected::new(Type::Text, None) }
    }
}

/// The same for values that are not missing.
fn of_values<'a>(values: impl Iterator<Item = &'a str> + Clone) -> Detected {
    let plain = Type::infer(values.clone());
    if plain == Type::Real && is_grouped(values.clone(), '.') {
        let doubt = "every number with a point has three digits behind it; if the point separates \
                     thousands, set thousands = \".\" and decimal = \",\"";
        let found = Detected::new(Type::Real, None);
        return Detected { doubt: Some(doubt.to_string()), ..found };
    }
    if plain != Type::Text {
        return Detected::new(plain, None);
    }
    if values.clone().all(|value| Type::Timestamp.number(value).is_some())
        && values.clone().next().is_some()
    {
        let doubt = "some times have a zone and others have none, so they cannot be compared; write \
                     all of them in one way to use them as timestamps";
        return Detected::doubtful(doubt, Vec::new());
    }
    of_dates(values.clone()).or_else(|| of_numbers(values)).unwrap_or(Detected::new(plain, None))
}

fn of_dates<'a>(values: impl Iterator<Item = &'a str> + Clone) -> Option<Detected> {
    let first = values.clone().next()?.trim();
    let separator = first.chars().find(|character| !character.is_ascii_digit())?;
    if !['.', '/', '-'].contains(&separator) {
        return None;
    }
    let fitting = |order: [&str; 3]| {
        let date = order.join(&separator.to_string());
        let times = ["", " hh:mm", " hh:mm:ss", " h:mm", " h:mm:ss"];
        times.into_iter().find_map(|time| {
            let pattern = DatePattern::new(&format!("{date}{time}")).ok()?;
            let fits = values.clone().all(|value| pattern.plain(value.trim()).is_some());
            fits.then_some(Notation::Dates(pattern))
        })
    };
    let of_order = |padded: [&str; 3], short: [&str; 3]| fitting(padded).or_else(|| fitting(short));
    let day_first = of_order(["DD", "MM", "YYYY"], ["D", "M", "YYYY"]);
    let month_first = of_order(["MM", "DD", "YYYY"], ["M", "D", "YYYY"]);
    let year_first = of_order(["YYYY", "MM", "DD"], ["YYYY", "M", "D"]);
    let found =
        |notation: Notation| Detected::new(notation.kind().unwrap_or(Type::Text), Some(notation));
    match (day_first, month_first, year_first) {
        (Some(day_first), Some(month_first), _) => {
            let doubt =
                "no day is above 12, so day and month cannot be told apart; set format to one of";
            let patterns = [&day_first, &month_first].map(|notation| notation.keys()[0].1.clone());
            let doubt = format!("{doubt} \"{}\" and \"{}\"", patterns[0], patterns[1]);
            Some(Detected::doubtful(&doubt, vec![day_first, month_first]))
        }
        (Some(notation), None, _) | (None, Some(notation), _) | (None, None, Some(notation)) => {
            Some(found(notation))
        }
        (None, None, None) if has_short_years(values, separator) => {
            let doubt = "the dates have years of two digits, which do not tell the century; write \
                         four digits into the table to use them as dates";
            Some(Detected::doubtful(doubt, Vec::new()))
        }
        (None, None, None) => None,
    }
}

/// Whether all values are three numbers of one or two digits.
fn has_short_years<'a>(mut values: impl Iterator<Item = &'a str>, separator: char) -> bool {
    values.all(|value| {
        let parts: Vec<&str> = value.trim().split(separator).collect();
        let is_short = |part: &&str| {
            (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        parts.len() == 3 && parts.iter().all(is_short)
    })
}

fn of_numbers<'a>(values: impl Iterator<Item = &'a str> + Clone) -> Option<Detected> {
    values.clone().next()?;
    let fits = |decimal: char, thousands: Option<char>| {
        let notation = Notation::Numbers { decimal, thousands };
        let is_number = |value: &str| {
            notation.plain(value).is_some_and(|plain| Type::Real.number(&plain).is_some())
        };
        values.clone().all(is_number).then_some(notation)
    };
    let found = |notation: Notation| {
        let plain: Vec<String> = values.clone().filter_map(|value| notation.plain(value)).collect();
        Detected::new(Type::infer(plain.iter().map(String::as_str)), Some(notation))
    };
    if let Some(commas) = fits(',', None) {
        // 1,234 may be either.
        let thousands = fits('.', Some(',')).filter(|_| is_grouped(values.clone(), ','));
        return Some(match thousands {
            None => found(commas),
            Some(thousands) => {
                let doubt = "every number with a comma has three digits behind it, so decimals and \
                             thousands cannot be told apart; set decimal = \",\" or thousands = \",\"";
                Detected::doubtful(doubt, vec![commas, thousands])
            }
        });
    }
    let all = THOUSANDS.iter().flat_map(|thousands| [('.', *thousands), (',', *thousands)]);
    all.filter(|(decimal, thousands)| decimal != thousands)
        .find_map(|(decimal, thousands)| fits(decimal, Some(thousands)))
        .map(found)
}

/// Whether a character occurs, and only where it could separate thousands.
fn is_grouped<'a>(values: impl Iterator<Item = &'a str>, separator: char) -> bool {
    let mut occurs = false;
    for value in values {
        let value = value.trim().trim_start_matches(['-', '+']);
        let Some((whole, rest)) = value.split_once(separator) else { continue };
        occurs = true;
        if rest.len() != 3 || !(1..=3).contains(&whole.len()) || whole.starts_with('0') {
            return false;
        }
    }
    occurs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(values: &[&str]) -> Detected {
        Detected::of(values.iter().copied())
    }

    /// The type, and the keys that a policy would have.
    fn said(values: &[&str]) -> (&'static str, String) {
        let found = detected(values);
        let keys = found.notation.iter().flat_map(Notation::keys);
        let keys: Vec<String> = keys.map(|(key, value)| format!("{key}={value}")).collect();
        (found.kind.name(), keys.join(" "))
    }

    #[test]
    fn types_and_notations_are_found() {
        let cases: [(&[&str], &str, &str); 18] = [
            (&["1", "2"], "integer", ""),
            (&["1.5", "2"], "real", ""),
            (&["1980-12-31"], "date", ""),
            (&["31.12.1980", "01.02.1990"], "date", "format=DD.MM.YYYY"),
            (&["31.12.1980", "1.2.1990"], "date", "format=D.M.YYYY"),
            (&["12/31/1980", "01/02/1990"], "date", "format=MM/DD/YYYY"),
            (&["2024-05-01 13:05", "2024-05-01T13:05:10.5"], "timestamp", ""),
            (&["2024-05-01T13:05Z", "2024-05-01T13:05:10+02:00"], "timestamp", ""),
            (&["31.12.2024 13:05", "01.02.2024 00:00"], "timestamp", "format=DD.MM.YYYY hh:mm"),
            (&["12/31/2024 3:05:10", "1/2/2024 13:00:00"], "timestamp", "format=M/D/YYYY h:mm:ss"),
            (&["1980/12/31"], "date", "format=YYYY/MM/DD"),
            (&["1,5", "20", "0,25"], "real", "decimal=,"),
            (&["1.234,5", "2"], "real", "decimal=, thousands=."),
            (&["1.234.567", "2"], "integer", "decimal=, thousands=."),
            (&["1,234,567", "2"], "integer", "thousands=,"),
            (&["1'234", "2.5"], "real", "thousands='"),
            (&["1\u{202f}234,5"], "real", "decimal=, thousands=\u{202f}"),
            (&["a", "1,5"], "text", ""),
        ];
        for (values, kind, keys) in cases {
            assert_eq!(said(values), (kind, keys.to_string()), "{values:?}");
            assert_eq!(detected(values).doubt, None, "{values:?}");
        }
    }

    #[test]
    fn what_is_ambiguous_is_not_guessed() {
        let cases: [(&[&str], &str, usize); 6] = [
            (&["2024-05-01 13:05", "2024-05-01 13:05Z"], "have a zone", 0),
            (&["01.02.1980", "11.12.1990"], "day and month", 2),
            (&["1/2/1980"], "day and month", 2),
            (&["31.12.80", "1.2.91"], "two digits", 0),
            (&["1,234", "950"], "decimals and thousands", 2),
            (&["1.234", "950"], "three digits", 0),
        ];
        for (values, doubt, possible) in cases {
            let found = detected(values);
            assert!(found.doubt.as_ref().is_some_and(|said| said.contains(doubt)), "{found:?}");
            assert_eq!((found.notation, found.possible.len()), (None, possible), "{values:?}");
        }
        // Decimals of another length, or a leading zero, decide.
        assert_eq!(said(&["1,234", "1,5"]), ("real", "decimal=,".into()));
        assert_eq!(said(&["0,234", "1,500"]), ("real", "decimal=,".into()));
    }

    #[test]
    fn missing_tokens_are_noticed() {
        let numbers = detected(&["1", "NA", "-", "2", "", "none"]);
        assert_eq!(numbers.kind, Type::Integer);
        assert_eq!(numbers.missing, ["-", "NA", "none"]);
        let dates = detected(&["31.12.1980", "unknown"]);
        assert_eq!((dates.kind, dates.missing.len()), (Type::Date, 1));
        let texts = detected(&["a", "N/A", "?", "none"]);
        assert_eq!(
            (texts.kind, texts.missing),
            (Type::Text, vec!["?".to_string(), "N/A".to_string()])
        );
        assert_eq!(detected(&["", ""]), Detected::new(Type::Text, None));
        assert_eq!(detected(&["NA"]).kind, Type::Text);
    }
}
