//! What is each column to an adversary, and why? By its name, by what its values look like, and by
//! how many of them there are. Where nothing says otherwise, others may know a column: that is the
//! careful guess.

use super::scan::{Profile, Scan, Values};
use super::shapes::{
    is_address, is_digits, is_email, is_iban, is_icd, is_icd_category, is_phone, is_zero_led, words,
};
use super::words::{Meaning, meaning};
use crate::table::{Role, Type};

/// The share of rows whose values must have a form.
const MOST: f64 = 0.9;

/// The number of rows below which it means nothing that values are unique.
const FEW_ROWS: u64 = 10;

/// A role, and why.
pub(super) struct Guess {
    /// The role.
    pub(super) role: Role,
    /// A sentence without a full stop.
    pub(super) reason: String,
}

/// Whether values are codes, whose digits stand for places rather than for a number.
pub(super) fn is_code(profile: &Profile) -> bool {
    let Some(values) = &profile.values else { return false };
    if matches!(meaning(&profile.name), Some((Meaning::PostalCode, ..))) {
        return values.detected.kind != Type::Real && values.detected.notation.is_none();
    }
    let is_of_digits = || {
        values.present > 0 && values.codes().all(|code| is_digits(values.dictionary.value(code)))
    };
    let has_zeros = || values.codes().any(|code| is_zero_led(values.dictionary.value(code)));
    is_of_digits() && (profile.is_declared_text || has_zeros())
}

/// Guesses the roles of all columns.
pub(super) fn guesses(scan: &Scan) -> Vec<Guess> {
    let mut guesses: Vec<Guess> = scan.columns.iter().map(guess).collect();
    if guesses.iter().all(|guess| guess.role != Role::QuasiIdentifier) {
        // Nothing could be released otherwise.
        for guess in guesses.iter_mut().filter(|guess| guess.role == Role::Sensitive) {
            guess.role = Role::QuasiIdentifier;
            guess.reason += "; it would be sensitive if there were columns that others know, but \
                             as there are none, every value that is released occurs several times";
        }
    }
    guesses
}

/// Guesses the role of a column.
fn guess(profile: &Profile) -> Guess {
    let guess = |role: Role, reason: &str| Guess { role, reason: reason.to_string() };
    let Some(values) = &profile.values else {
        let reason = "nested or binary values, which cannot be generalized";
        return guess(Role::Identifier, reason);
    };
    if values.present == 0 {
        return guess(Role::QuasiIdentifier, "all values are missing");
    }
    let meant = meaning(&profile.name);
    let by_name = |called: &str| format!("{called}, by its name");
    let is_date = matches!(values.detected.kind, Type::Date | Type::Timestamp);
    match meant {
        Some((meaning @ (Meaning::Birth | Meaning::PostalCode), called, _)) => {
            let more = if meaning == Meaning::Birth { "; never dropped silently" } else { "" };
            return guess(Role::QuasiIdentifier, &(by_name(called) + more));
        }
        _ if is_date => {
            return guess(Role::QuasiIdentifier, "a date, and others may know when it was");
        }
        _ => {}
    }
    if let Some(reason) = by_form(values) {
        return guess(Role::Identifier, reason);
    }
    match meant {
        Some((Meaning::Identifier, called, _)) if values.distinct > 2 || values.present < 20 => {
            guess(Role::Identifier, &by_name(called))
        }
        Some((Meaning::Sensitive, called, _)) => guess(Role::Sensitive, &by_name(called)),
        _ if is_of_icd(values) => {
            guess(Role::Sensitive, "the values have the form of ICD-10 codes of diagnoses")
        }
        Some((Meaning::MaybeIdentifier, called, is_alone))
            if values.distinct_share() > 0.5 || is_alone && values.distinct_share() > 0.05 =>
        {
            guess(Role::Identifier, &by_name(called))
        }
        Some((Meaning::Known, called, _)) => {
            guess(Role::QuasiIdentifier, &(by_name(called) + "; others may know it"))
        }
        _ => match by_uniqueness(profile, values) {
            Some(reason) => guess(Role::Identifier, reason),
            None if values.distinct == 1 && values.present > 1 => {
                guess(Role::QuasiIdentifier, "the same value in every row that has one")
            }
            None => guess(Role::QuasiIdentifier, "others may know it, as far as can be told"),
        },
    }
}

/// Why values identify people, as far as their form tells.
fn by_form(values: &Values) -> Option<&'static str> {
    if values.detected.kind != Type::Text {
        return None;
    }
    let most = |is: fn(&str) -> bool| values.share(is) > MOST;
    if most(is_email) {
        Some("the values are e-mail addresses")
    } else if most(is_iban) {
        Some("the values are IBANs")
    } else if most(is_address) {
        Some("the values are IP addresses")
    } else if values.detected.possible.is_empty() && most(is_phone) {
        Some("the values have the form of phone numbers")
    } else if is_free_text(values) {
        Some("free text, which may name people and cannot be generalized")
    } else {
        None
    }
}

/// Whether values are sentences.
fn is_free_text(values: &Values) -> bool {
    let mean = |measure: &dyn Fn(&str) -> usize| {
        let (mut sum, mut rows) = (0.0, 0.0);
        for code in values.codes() {
            let count = values.counts[code as usize] as f64;
            sum += count * measure(values.dictionary.value(code)) as f64;
            rows += count;
        }
        sum / f64::max(rows, 1.0)
    };
    let is_varied = values.distinct_share() > 0.3 && values.distinct > 2;
    let is_long = mean(&|value| value.chars().count()) > 80.0;
    is_varied && (is_long || mean(&words) >= 5.0)
}

fn is_of_icd(values: &Values) -> bool {
    let is_either = |value: &str| is_icd(value) || is_icd_category(value);
    values.detected.kind == Type::Text
        && values.share(is_either) > MOST
        && values.share(is_icd) > 0.0
}

/// Why values identify people because nearly every row has its own. A measurement does not.
fn by_uniqueness(profile: &Profile, values: &Values) -> Option<&'static str> {
    if values.present < FEW_ROWS || values.distinct_share() <= MOST {
        return None;
    }
    match values.detected.kind {
        Type::Text if values.detected.doubt.is_some() => None,
        Type::Text => Some("nearly every row has a text of its own"),
        _ if is_code(profile) => Some("nearly every row has a code of its own"),
        Type::Integer => {
            let (least, greatest) = values.ends?;
            let is_sequence = greatest - least < 1.2 * values.distinct as f64;
            if is_sequence && values.present >= 50 {
                return Some("it numbers the rows");
            }
            let lengths = || values.codes().map(|code| values.dictionary.value(code).len());
            let (shortest, longest) = (lengths().min()?, lengths().max()?);
            let is_number = shortest >= 7 && longest <= shortest + 1;
            is_number.then_some("nearly every row has a long number of its own")
        }
        _ => None,
    }
}
