//! Exact fractions: a threshold is exactly what was typed, never the nearest float.
//!
//! `0.2` in a policy means 1/5. A bound that guards privacy is compared in integers: `2/10 <= 1/5`
//! holds, which binary floating point does not guarantee.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A non-negative fraction in lowest terms, with parts small enough that products with counts fit
/// in 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    /// Zero.
    pub const ZERO: Ratio = Ratio { numerator: 0, denominator: 1 };
    /// One.
    pub const ONE: Ratio = Ratio { numerator: 1, denominator: 1 };

    /// The fraction, or `None` for a denominator of zero.
    pub fn new(numerator: u64, denominator: u64) -> Option<Ratio> {
        if denominator == 0 {
            return None;
        }
        let common = greatest_common_divisor(numerator, denominator);
        Some(Ratio { numerator: numerator / common, denominator: denominator / common })
    }

    /// A whole number.
    pub const fn whole(number: u64) -> Ratio {
        Ratio { numerator: number, denominator: 1 }
    }

    /// The numerator, in lowest terms.
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// The denominator, in lowest terms; never zero.
    pub fn denominator(self) -> u64 {
        self.denominator
    }

    /// The nearest float, for printing only.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The largest integer that is at most `self * count`.
    pub fn floor_of(self, count: u64) -> u64 {
        if let Some(product) = self.numerator.checked_mul(count) {
            return product / self.denominator;
        }
        let product = u128::from(self.numerator) * u128::from(count) / u128::from(self.denominator);
        u64::try_from(product).unwrap_or(u64::MAX)
    }
}

/// The greatest common divisor; 1 for two zeros.
pub(crate) fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u128::from(self.numerator) * u128::from(other.denominator);
        let right = u128::from(other.numerator) * u128::from(self.denominator);
        left.cmp(&right)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            _ => write!(f, "{}/{}", self.numerator, self.denominator),
        }
    }
}

/// The text is not a fraction that [`Ratio`] can hold.
#[derive(Debug, PartialEq, Eq)]
pub struct NotARatio;

impl FromStr for Ratio {
    type Err = NotARatio;

    /// Parses `3`, `0.05`, `1.1e9`, `1/4` and `5%` exactly.
    fn from_str(text: &str) -> Result<Ratio, NotARatio> {
        let text = text.trim();
        if let Some((above, below)) = text.split_once('/') {
            let above = above.trim().parse().map_err(|_| NotARatio)?;
            let below = below.trim().parse().map_err(|_| NotARatio)?;
            return Ratio::new(above, below).ok_or(NotARatio);
        }
        match text.strip_suffix('%') {
            Some(percent) => decimal(percent.trim_end(), -2),
            None => decimal(text, 0),
        }
    }
}

/// A decimal literal with an optional exponent, times ten to the `shift`.
fn decimal(text: &str, shift: i32) -> Result<Ratio, NotARatio> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| NotARatio)?),
        None => (text, 0),
    };
    let mantissa = mantissa.strip_prefix('+').unwrap_or(mantissa).replace('_', "");
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((&mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NotARatio);
    }
    let number: u128 = digits.parse().map_err(|_| NotARatio)?;
    let places = i32::try_from(fraction.len()).map_err(|_| NotARatio)?;
    let power =
        exponent.checked_add(shift).and_then(|power| power.checked_sub(places)).ok_or(NotARatio)?;
    let ten = 10u128.checked_pow(power.unsigned_abs()).ok_or(NotARatio)?;
    let (mut above, mut below) =
        if power < 0 { (number, ten) } else { (number.checked_mul(ten).ok_or(NotARatio)?, 1) };
    for prime in [2, 5] {
        while above % prime == 0 && below % prime == 0 {
            above /= prime;
            below /= prime;
        }
    }
    let above = u64::try_from(above).map_err(|_| NotARatio)?;
    let below = u64::try_from(below).map_err(|_| NotARatio)?;
    Ratio::new(above, below).ok_or(NotARatio)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Ratio {
        text.parse().unwrap()
    }

    #[test]
    fn decimals_percentages_and_fractions_are_read_exactly() {
        assert_eq!(read("0.2"), Ratio::new(1, 5).unwrap());
        assert_eq!(read("5%"), read("0.05"));
        assert_eq!(read("1.1e9"), Ratio::whole(1_100_000_000));
        assert_eq!(read("2/6").to_string(), "1/3");
        assert_eq!(read("1e-3"), Ratio::new(1, 1000).unwrap());
        for bad in ["", "x", "1/0", "-1", "0.1.2", "1e999", "nan", "inf", ".", "1/2/3"] {
            assert_eq!(bad.parse::<Ratio>(), Err(NotARatio), "{bad}");
        }
    }

    #[test]
    fn order_and_floor_are_exact() {
        assert!(read("1/3") < read("0.33334") && read("1/3") > read("0.33333"));
        assert_eq!(read("1/3").floor_of(3), 1);
        assert_eq!(read("0.05").floor_of(30162), 1508);
    }
}
