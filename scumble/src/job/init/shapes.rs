//! What do single values look like?

/// Whether a text is an e-mail address.
pub(super) fn is_email(value: &str) -> bool {
    let is_plain = |text: &str| !text.is_empty() && !text.contains([' ', '@', ',', ';']);
    value.trim().split_once('@').is_some_and(|(local, domain)| {
        let dot = domain.rfind('.').unwrap_or(0);
        is_plain(local) && is_plain(domain) && dot > 0 && dot + 2 < domain.len()
    })
}

/// Whether a text is an IBAN, by its check digits.
pub(super) fn is_iban(value: &str) -> bool {
    let plain: Vec<u8> = value.bytes().filter(|byte| *byte != b' ').collect();
    let [a, b, c, d, rest @ ..] = &plain[..] else { return false };
    let is_start = a.is_ascii_uppercase() && b.is_ascii_uppercase();
    let is_checked = c.is_ascii_digit() && d.is_ascii_digit();
    if !is_start || !is_checked || !(11..=30).contains(&rest.len()) {
        return false;
    }
    let mut remainder = 0u32;
    for byte in rest.iter().chain([a, b, c, d]) {
        remainder = match byte {
            b'0'..=b'9' => (remainder * 10 + u32::from(byte - b'0')) % 97,
            b'A'..=b'Z' => (remainder * 100 + u32::from(byte - b'A') + 10) % 97,
            _ => return false,
        };
    }
    remainder == 1
}

/// Whether a text is a phone number: it begins as one, and has separators or a country code.
pub(super) fn is_phone(value: &str) -> bool {
    let value = value.trim();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_allowed =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'/' | b'(' | b')' | b'+');
    (7..=15).contains(&digits)
        && value.starts_with(['+', '0', '('])
        && value.bytes().all(is_allowed)
        && value.contains(['+', ' ', '-', '/', '('])
}

/// Whether a text is an IPv4 address.
pub(super) fn is_address(value: &str) -> bool {
    value.split('.').count() == 4 && value.parse::<std::net::Ipv4Addr>().is_ok()
}

/// Whether a text has the form of an ICD-10 code with its subdivision, such as `E11.9`.
pub(super) fn is_icd(value: &str) -> bool {
    let Some((category, rest)) = value.trim().split_once('.') else { return false };
    is_icd_category(category)
        && (1..=4).contains(&rest.len())
        && rest
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase() || byte == b'-')
}

/// Whether a text has the form of a category of ICD-10, such as `E11`.
pub(super) fn is_icd_category(value: &str) -> bool {
    matches!(value.trim().as_bytes(), [letter, tens, ones]
        if letter.is_ascii_uppercase() && tens.is_ascii_digit()
            && (ones.is_ascii_digit() || matches!(ones, b'A' | b'B')))
}

/// Whether a text consists of digits.
pub(super) fn is_digits(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is a number of several digits that begins with zero.
pub(super) fn is_zero_led(value: &str) -> bool {
    value.len() > 1 && value.starts_with('0') && is_digits(value)
}

/// The number of words.
pub(super) fn words(value: &str) -> usize {
    value.split_whitespace().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_told_apart() {
        let check = |is: fn(&str) -> bool, good: &[&str], bad: &[&str]| {
            good.iter().for_each(|value| assert!(is(value), "{value}"));
            bad.iter().for_each(|value| assert!(!is(value), "{value}"));
        };
        check(
            is_email,
            &["a@b.ch", "ann.lee@mail.example.org"],
            &["a@b", "@b.ch", "a b@c.de", "a"],
        );
        check(
            is_iban,
            &["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"],
            &["DE88370400440532013000", "DE89", "12345678901234567890"],
        );
        check(
            is_phone,
            &["+49 30 123456", "030/1234567", "(030) 1234567"],
            &["01234567", "1.5", "-1234567", "2020-01-01", "0123 4"],
        );
        check(is_address, &["10.0.0.1"], &["1.2.3", "1.234.567.8", "31.12.1980"]);
        check(is_icd, &["E11.9", "C50.911", "U07.1"], &["E11", "11.9", "e11.9", "E1.9"]);
        check(is_icd_category, &["E11", "C7A"], &["E1", "E111", "11E"]);
        check(is_zero_led, &["01", "007"], &["0", "10", "0.5", "0x1"]);
    }
}
