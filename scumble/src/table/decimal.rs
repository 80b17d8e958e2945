//! Decimal numbers as they are written, exactly: whole numbers of a common power of ten.
//!
//! Sums of floats depend on their order and can pass a bound that must not be passed; sums of
//! integers cannot.

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
    let exponent = exponent
        .checked_sub(fraction.len() as i32)?
        .checked_add((all.len() - trimmed.len()) as i32)?;
    match trimmed.trim_start_matches('0') {
        "" => Some((0, 0)),
        digits if digits.len() as u32 > DIGITS => None,
        digits => Some((sign * digits.parse::<i64>().ok()?, exponent)),
    }
}

impl Decimals {
    /// Reads numbers; the position of one that cannot be held exactly beside the others is the
    /// error.
    pub fn read<'a>(texts: impl Iterator<Item = &'a str>) -> Result<Decimals, usize> {
        let parsed = texts.enumerate().map(|(at, text)| parse(text).ok_or(at));
        let parsed: Vec<(i64, i32)> = parsed.collect::<Result<_, _>>()?;
        let scale = parsed.iter().map(|(_, exponent)| (-exponent).max(0)).max().unwrap_or(0) as u32;
        let unit = |(at, (digits, exponent)): (usize, &(i64, i32))| {
            let power = u32::try_from(*exponent + scale as i32)
                .ok()
                .and_then(|power| 10i64.checked_pow(power));
            power.and_then(|power| digits.checked_mul(power)).ok_or(at)
        };
        Ok(Decimals {
            units: parsed.iter().enumerate().map(unit).collect::<Result<_, _>>()?,
            scale,
        })
    }
}

/// One more than the largest number of eight digits.
const EIGHT: u64 = 100_000_000;

/// The eight digits of a number below 10^8 as bytes from 0 to 9, the first digit in the lowest
/// byte: halves, then all quarters at once, then all digits at once, by multiplications that are
/// divisions for numbers this small.
#[inline(always)]
fn eight_digits(number: u64) -> u64 {
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7F_0000_007F;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000F_000F_000F_000F;
    tens | ((twos - 10 * tens) << 8)
}

/// What makes a digit out of each of eight numbers from 0 to 9.
const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

/// A whole number below 10^8 as it is written, and of how many of the bytes that is; there is
/// nothing to branch on.
#[inline(always)]
pub fn short_whole(number: u64) -> ([u8; 8], usize) {
    let digits = eight_digits(number);
    // Zeros in front are shifted out; the last digit stays, whatever it is.
    let zeros = (digits.trailing_zeros() / 8).min(7);
    (((digits | ZEROS) >> (8 * zeros)).to_le_bytes(), 8 - zeros as usize)
}

/// The numbers that [`short_whole`] writes are below this one.
pub const SHORT_WHOLE: u64 = EIGHT;

/// Writes a whole number.
pub fn push_whole(text: &mut Vec<u8>, number: u64) {
    if number >= EIGHT {
        push_whole(text, number / EIGHT);
        text.extend_from_slice(&(eight_digits(number % EIGHT) | ZEROS).to_le_bytes());
        return;
    }
    let (digits, length) = short_whole(number);
    text.extend_from_slice(&digits[..length]);
}

/// Writes a number of units of 10^-scale in the shortest way.
pub fn push_decimal(text: &mut Vec<u8>, units: i64, scale: u32) {
    if units < 0 {
        text.push(b'-');
    }
    match scale {
        0 => push_whole(text, units.unsigned_abs()),
        _ => push_fraction(text, units.unsigned_abs(), scale),
    }
}

fn push_fraction(text: &mut Vec<u8>, units: u64, scale: u32) {
    // A power that does not fit is above all units.
    let one = 10u64.checked_pow(scale);
    let (whole, mut rest) = one.map_or((0, units), |one| (units / one, units % one));
    push_whole(text, whole);
    if rest == 0 {
        return;
    }
    let mut places = scale as usize;
    // Zeros at the end of the fraction say nothing.
    while rest.is_multiple_of(10) {
        (rest, places) = (rest / 10, places - 1);
    }
    text.push(b'.');
    let digits = rest.ilog10() as usize + 1;
    text.resize(text.len() + places - digits, b'0');
    push_whole(text, rest);
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
        assert_eq!(
            read(&["1.5", "-0.25", "+3", "1e2", "007", "0"]).unwrap().units,
            [150, -25, 300, 10000, 700, 0]
        );
        assert_eq!(read(&["10", "20"]).unwrap(), Decimals { units: vec![10, 20], scale: 0 });
        assert_eq!(read(&["1", "x"]), Err(1));
        assert_eq!(
            read(&["1", "0.1234567890123456"]),
            Err(1),
            "more digits than a float tells apart"
        );
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
        assert_eq!(shown(100_000_000, 0), "100000000");
        assert_eq!(shown(i64::MAX, 19), "0.9223372036854775807");
        assert_eq!(
            shown(-120, 60),
            format!("-0.{}12", "0".repeat(57)),
            "finer than any power of ten that fits"
        );
    }

    #[test]
    fn every_number_of_digits_is_written_as_it_is() {
        for power in 0..19 {
            for near in [-1, 0, 1, 37] {
                let number = 10i64.pow(power) + near;
                assert_eq!(shown(number, 0), number.to_string());
            }
        }
        (0..100_000).step_by(7).for_each(|number| assert_eq!(shown(number, 0), number.to_string()));
    }

    proptest! {
        #[test]
        fn whole_numbers_are_written_as_they_are(number in any::<i64>(), shift in 0u32..63) {
            prop_assert_eq!(shown(number >> shift, 0), (number >> shift).to_string());
        }

        #[test]
        fn what_is_written_is_read(units in -999_999_999_999_999i64..999_999_999_999_999, scale in 0u32..10) {
            let text = shown(units, scale);
            let read = Decimals::read([text.as_str()].into_iter()).unwrap();
            prop_assert_eq!(i128::from(read.units[0]) * 10i128.pow(scale), i128::from(units) * 10i128.pow(read.scale));
        }
    }
}
