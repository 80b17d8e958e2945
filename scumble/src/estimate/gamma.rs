//! The gamma distribution, from which the normal and the chi-square distribution are computed.
//!
//! For a shape a and x >= 0, the tail Q(a, x) is the integral of t^(a-1) e^-t from x on, divided by
//! the whole integral. It is a common factor `x^a e^-x / gamma(a + 1)` times a sum or a continued
//! fraction:
//!
//! | where | form | terms needed |
//! |---|---|---|
//! | x < a + 1 | 1 - factor (1 + x/(a+1) + x^2/((a+1)(a+2)) + …) | a few sqrt(a) at most |
//! | x >= a + 1 | factor a / (x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - …))) | a few sqrt(a) at most |
//!
//! In the first range the tail is not small, so the subtraction loses no precision. For large
//! shapes, precision would be lost in the factor if it were computed from logarithms of a and x:
//! these are of size a ln a and cancel. Here it is written as
//! `exp(-a h(x/a) - s(a)) / sqrt(2 pi a)`, with h(u) = u - 1 - ln u and s the error of Stirling's
//! formula. Nothing cancels, because both are positive and as small as the result allows.

use std::f64::consts::TAU;

/// Q(a, x), the area of the gamma distribution with shape `a` > 0 to the right of `x`; NaN for
/// negative x.
pub(super) fn upper(a: f64, x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return 1.0;
    }
    if x < a + 1.0 {
        1.0 - factor(a, x) * lower_sum(a, x)
    } else {
        factor(a, x) * a * upper_fraction(a, x)
    }
}

/// The density at `x` > 0.
pub(super) fn density(a: f64, x: f64) -> f64 {
    factor(a, x) * a / x
}

/// x^a e^-x / gamma(a + 1).
fn factor(a: f64, x: f64) -> f64 {
    (-a * above_logarithm(a, x) - stirling_error(a)).exp() / (TAU * a).sqrt()
}

/// h(u) = u - 1 - ln u for u = x / a. Near 1 the two parts nearly cancel, so ln u is computed as 2
/// (w + w^3/3 + w^5/5 + …) with w = (u - 1)/(u + 1), and u - 1 = 2w / (1 - w).
fn above_logarithm(a: f64, x: f64) -> f64 {
    let w = (x - a) / (x + a);
    if w.abs() > 0.1 {
        return (x - a) / a - (x / a).ln();
    }
    let square = w * w;
    let (mut sum, mut power, mut odd) = (w / (1.0 - w), square, 3.0);
    while power > f64::EPSILON * w.abs() / 8.0 {
        sum -= power / odd;
        power *= square;
        odd += 2.0;
    }
    2.0 * w * sum
}

/// s(a) = ln gamma(a + 1) - (a + 1/2) ln a + a - ln(2 pi) / 2, the error of Stirling's formula. For
/// a >= 16 by its series, below that by s(a) - s(a + 1) = (a + 1/2) ln(1 + 1/a) - 1.
fn stirling_error(a: f64) -> f64 {
    let (mut shape, mut sum) = (a, 0.0);
    while shape < 16.0 {
        sum += (shape + 0.5) * (1.0 / shape).ln_1p() - 1.0;
        shape += 1.0;
    }
    // Coefficients B(2i) / (2i (2i - 1)) with the Bernoulli numbers B.
    let coefficients =
        [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
    let square = 1.0 / (shape * shape);
    sum + coefficients.iter().rev().fold(0.0, |rest, coefficient| rest * square + coefficient)
        / shape
}

/// 1 + x/(a+1) + x^2/((a+1)(a+2)) + …, for x < a + 1: terms shrink from the second on.
fn lower_sum(a: f64, x: f64) -> f64 {
    let (mut sum, mut term, mut next) = (1.0, 1.0, a + 1.0);
    while term > sum * f64::EPSILON / 8.0 {
        term *= x / next;
        sum += term;
        next += 1.0;
    }
    sum
}

/// The continued fraction 1 / (x+1-a - 1(1-a)/(x+3-a - …)), for x >= a + 1, by Lentz's method:
/// products of ratios of numerators and denominators, which stay moderate in size.
fn upper_fraction(a: f64, x: f64) -> f64 {
    // Replaces a denominator of exactly zero.
    const TINY: f64 = 1e-300;
    let nonzero = |number: f64| if number.abs() < TINY { TINY } else { number };
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / TINY, 1.0 / b);
    let (mut value, mut i) = (d, 1.0);
    // The number of terms grows with the square root of a. The limit only guards against an endless
    // loop.
    while i < 1e7 {
        let numerator = -i * (i - a);
        b += 2.0;
        d = 1.0 / nonzero(numerator * d + b);
        c = nonzero(b + numerator / c);
        value *= c * d;
        if (c * d - 1.0).abs() <= f64::EPSILON {
            break;
        }
        i += 1.0;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::super::tests::close;
    use super::*;

    #[test]
    fn stirlings_error_gives_factorials_and_halves() {
        let gamma_of_next =
            |a: f64| (stirling_error(a) + (a + 0.5) * a.ln() - a + TAU.ln() / 2.0).exp();
        let mut factorial = 1.0;
        for n in 1..=20 {
            factorial *= f64::from(n);
            assert!(close(gamma_of_next(f64::from(n)), factorial, 1e-13), "{n}");
        }
        assert!(close(gamma_of_next(0.5), std::f64::consts::PI.sqrt() / 2.0, 1e-14));
    }

    #[test]
    fn shape_one_is_the_exponential_distribution() {
        for x in [1e-9, 0.1, 1.0, 1.999, 2.0, 2.001, 10.0, 700.0] {
            assert!(close(upper(1.0, x), (-x).exp(), 1e-13), "{x}");
            assert!(close(density(1.0, x), (-x).exp(), 1e-13), "{x}");
        }
        assert_eq!(upper(1.0, 0.0), 1.0);
        assert!(upper(1.0, -1.0).is_nan() && upper(1.0, f64::NAN).is_nan());
    }

    #[test]
    fn sum_and_fraction_meet() {
        for a in [0.5, 1.0, 7.5, 100.0, 12_345.5, 1e6, 5e7] {
            let x = a + 1.0;
            let (below, above) =
                (1.0 - factor(a, x) * lower_sum(a, x), factor(a, x) * a * upper_fraction(a, x));
            assert!(close(below, above, 1e-11), "{a}: {below} and {above}");
        }
    }
}
