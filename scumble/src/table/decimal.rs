//! Decimal numbers as they are written, exactly: whole numbers of a common power of ten.
//!
//! Sums of floats depend on their order and can pass a bound that must not be passed; sums of integers cannot.

/// Numbers in units of 10^-scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimals {
    /// The numbers.
    pub units: Vec<i64>,
    /// Digits behind the point.
    pub scale: u32,
}

/// The digits that a float tells apart for certain; numbers with more are refused.
const DIGITS: u32 = 15;

/// A number as written: digits, and the power of ten they are times.
fn parse(text: &str) -> Option<(i64, i32)> {
    let (mantissa, exponent) = match text.trim().split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text.trim(), 0),
    };
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let trimmed = all.trim_end_matches('0');
    let exponent = exponent.checked_sub(fraction.len() as i32)?.checked_add((all.len() - trimmed.len()) as i32)?;
    match trimmed.trim_start_matches('0') {
        "" => Some((0, 0)),
        digits if digits.len() as u32 > DIGITS => None,
        digits => Some((sign * digits.parse::<i64>().ok()?, exponent)),
    }
}

impl Decimals {
    /// Reads numbers; the position of one that cannot be held exactly beside the others is the error.
    pub fn read<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Decimals, usize> {
        let parsed = texts.enumerate().map(|(at, text)| parse(text).ok_or(at));
        let parsed: Vec<(i64, i32)> = parsed.collect::<Result<_, _>>()?;
        let scale = parsed.iter().map(|(_, exponent)| (-exponent).max(0)).max().unwrap_or(0) as u32;
        let unit = |(at, (digits, exponent)): (usize, &(i64, i32))| {
            let power = u32::try_from(*exponent + scale as i32).ok().and_then(|power| 10i64.checked_pow(power));
            power.and_then(|power| digits.checked_mul(power)).ok_or(at)
        };
        Ok(Decimals { units: parsed.iter().enumerate().map(unit).collect::<Result<_, _>>()?, scale })
    }
}

/// The digits of the numbers below a hundred.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Writes a number of units of 10^-scale in the shortest way.
pub fn push_decimal(text: &mut Vec<u8>, units: i64, scale: u32) {
    let mut digits = [b'0'; 40];
    let mut at = digits.len();
    let (mut rest, mut left) = (units.unsigned_abs(), scale);
    // Zeros at the end of the fraction say nothing.
    while left > 0 && rest.is_multiple_of(10) {
        rest /= 10;
        left -= 1;
    }
    let point = left;
    let mut written = 0;
    // Two digits at a time where no point comes between them.
    while point == 0 && rest >= 100 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
        written += 2;
    }
    while rest > 0 || written <= point {
        if written == point && point > 0 {
            at -= 1;
            digits[at] = b'.';
        }
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        written += 1;
    }
    if units < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    text.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(units: i64, scale: u32) -> String {
        let mut text = Vec::new();
        push_decimal(&mut text, units, scale);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn numbers_are_read_exactly_to_one_scale() {
        let read = |texts: &[&str]| Decimals::read(texts.iter().copied());
        assert_eq!(read(&["1.5", "-0.25", "+3", "1e2", "007", "0"]).unwrap().units, [150, -25, 300, 10000, 700, 0]);
        assert_eq!(read(&["10", "20"]).unwrap(), Decimals { units: vec![10, 20], scale: 0 });
        assert_eq!(read(&["1", "x"]), Err(1));
        assert_eq!(read(&["1", "0.1234567890123456"]), Err(1), "more digits than a float tells apart");
        assert_eq!(read(&["1e18", "0.001"]), Err(0), "too far apart");
        for bad in ["", ".", "-", "1.2.3", "nan", "1e", "1e999999999999", "--1"] {
            assert!(read(&[bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_written_in_the_shortest_way() {
        assert_eq!(shown(1250, 2), "12.5");
        assert_eq!(shown(-5, 3), "-0.005");
        assert_eq!(shown(0, 4), "0");
        assert_eq!(shown(100, 2), "1");
        assert_eq!(shown(i64::MIN, 0), i64::MIN.to_string());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(units in -999_999_999_999_999i64..999_999_999_999_999, scale in 0u32..10) {
            let text = shown(units, scale);
            let read = Decimals::read([text.as_str()].into_iter()).unwrap();
            prop_assert_eq!(i128::from(read.units[0]) * 10i128.pow(scale), i128::from(units) * 10i128.pow(read.scale));
        }
    }
}
