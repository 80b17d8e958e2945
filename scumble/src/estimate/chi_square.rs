//! The chi-square distribution: the sum of the squares of independent standard normal variables,
//! one per degree of freedom.

use super::normal::z_above;
use super::{gamma, where_tail_is};

/// The area under the chi-square curve to the right of `x`; NaN for zero degrees of freedom or
/// negative x.
pub fn chi_square_tail(x: f64, degrees: u64) -> f64 {
    if degrees == 0 { f64::NAN } else { gamma::upper(degrees as f64 / 2.0, x / 2.0) }
}

/// The number with the area `alpha` under the chi-square curve to its right; NaN unless 0 < alpha <
/// 1 and there is at least one degree of freedom.
pub fn chi_square_above(alpha: f64, degrees: u64) -> f64 {
    if degrees == 0 || !(alpha > 0.0 && alpha < 1.0) {
        return f64::NAN;
    }
    if degrees == 1 {
        // A single square: both sides of the normal curve. (Its tail is not log-concave; the others
        // are.)
        let z = z_above(alpha / 2.0);
        return z * z;
    }
    let count = degrees as f64;
    // Wilson and Hilferty 1931: the cube root of a chi-square variable is nearly normal. Far to the
    // left, where this fails, any starting point works.
    let spread = 2.0 / (9.0 * count);
    let start = count * (1.0 - spread + z_above(alpha) * spread.sqrt()).max(0.05).powi(3);
    let shape = count / 2.0;
    where_tail_is(alpha, start, |x| {
        (gamma::upper(shape, x / 2.0), gamma::density(shape, x / 2.0) / 2.0)
    })
}

#[cfg(test)]
mod tests {
    use super::super::normal::normal_tail;
    use super::super::tests::{close, integral};
    use super::*;
    use proptest::prelude::*;

    /// Degrees, alpha and the quantile, computed with 40 digits, then rounded.
    const KNOWN: [(u64, f64, f64); 19] = [
        (1, 0.5, 0.4549364231195728),
        (1, 0.05, 3.841458820694126),
        (1, 1e-12, 50.844127911818155),
        (3, 0.5, 2.365973884375338),
        (3, 0.05, 7.81472790325118),
        (3, 1e-3, 16.266236196238133),
        (5, 1e-12, 65.23863621336784),
        (10, 0.05, 18.307038053275146),
        (10, 1e-12, 78.47164656283849),
        (30, 0.05, 43.77297182574219),
        (99, 1e-3, 148.2303591651017),
        (99, 1e-12, 232.32045655103514),
        (1000, 0.5, 999.333412403381),
        (1000, 0.05, 1074.679448803441),
        (1000, 1e-12, 1347.620053856608),
        (12_345, 1e-3, 12836.274938908327),
        (1_000_000, 0.5, 999999.3333334123),
        (1_000_000, 0.05, 1002327.310781219),
        (1_000_000, 1e-12, 1009980.6085140439),
    ];

    #[test]
    fn known_values() {
        for (degrees, alpha, x) in KNOWN {
            let found = chi_square_above(alpha, degrees);
            assert!(close(found, x, 1e-12), "{degrees}, {alpha}: {found} is not {x}");
        }
        assert!(chi_square_above(0.05, 0).is_nan() && chi_square_tail(1.0, 0).is_nan());
        for alpha in [0.0, 1.0, -0.1, 1.1, f64::NAN] {
            assert!(chi_square_above(alpha, 3).is_nan(), "{alpha}");
        }
    }

    /// The tail in closed form: a sum of Poisson terms for even degrees, and of similar terms and a
    /// normal tail for odd degrees.
    fn closed_form(x: f64, degrees: u64) -> f64 {
        let half = x / 2.0;
        let odd = degrees % 2 == 1;
        let (mut sum, mut shape) =
            if odd { (2.0 * normal_tail(x.sqrt()), 0.5) } else { (0.0, 0.0) };
        // Each term is h^s e^-h / gamma(s + 1); the first at s = 1/2 has gamma(3/2) = sqrt(pi) / 2.
        let mut term = if odd {
            (half / std::f64::consts::PI).sqrt() * 2.0 * (-half).exp()
        } else {
            (-half).exp()
        };
        while 2.0 * shape < degrees as f64 - 0.5 {
            sum += term;
            shape += 1.0;
            term *= half / shape;
        }
        sum
    }

    #[test]
    fn few_degrees_have_closed_forms() {
        for degrees in 1..=60 {
            for alpha in [0.5, 0.3, 0.05, 1e-3, 1e-6, 1e-12] {
                let x = chi_square_above(alpha, degrees);
                assert!(close(closed_form(x, degrees), alpha, 1e-12), "{degrees}, {alpha}");
                assert!(close(chi_square_tail(x, degrees), alpha, 1e-12), "{degrees}, {alpha}");
            }
        }
        // Two degrees: the tail is exp(-x / 2).
        assert!(close(chi_square_above(0.05, 2), -2.0 * 0.05f64.ln(), 1e-14));
    }

    #[test]
    fn the_curve_has_the_area() {
        // The density relative to its height at the quantile, so that no gamma function is needed:
        // the ratio of the area to its right to the whole area is alpha.
        for degrees in [3u64, 10, 101, 5000, 1_000_000] {
            for alpha in [0.5, 0.05, 1e-6] {
                let count = degrees as f64;
                let x = chi_square_above(alpha, degrees);
                let power = count / 2.0 - 1.0;
                let curve = |t: f64| {
                    if t <= 0.0 { 0.0 } else { (power * (t / x).ln() - (t - x) / 2.0).exp() }
                };
                let reach = 14.0 * (2.0 * count).sqrt() + 100.0;
                let right = integral(curve, x, x + reach, 200_000);
                let left = integral(curve, (x - reach).max(0.0), x, 200_000);
                assert!(close(right / (left + right), alpha, 1e-6), "{degrees}, {alpha}");
            }
        }
    }

    #[test]
    fn many_degrees_are_nearly_normal() {
        // The Cornish-Fisher expansion about the normal quantile, whose next term is of order 1 /
        // degrees.
        for degrees in [1_000_000u64, 10_000_000, 100_000_000] {
            for alpha in [0.5, 0.05, 1e-6, 1e-12] {
                let (n, z) = (degrees as f64, z_above(alpha));
                let expanded = n
                    + z * (2.0 * n).sqrt()
                    + 2.0 / 3.0 * (z * z - 1.0)
                    + (z.powi(3) - 7.0 * z) / (9.0 * (2.0 * n).sqrt());
                assert!(
                    close(chi_square_above(alpha, degrees), expanded, 1e-10),
                    "{degrees}, {alpha}"
                );
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn it_grows_with_the_degrees_and_as_the_share_shrinks(
            scale in 0.0..6.0f64,
            exponent in -12.0..-0.31f64,
            step in 1e-6..0.3f64,
        ) {
            let degrees = 10f64.powf(scale) as u64;
            let (more, less) = (10f64.powf(exponent), 10f64.powf(exponent - step));
            let x = chi_square_above(more, degrees);
            prop_assert!(chi_square_above(less, degrees) > x);
            prop_assert!(chi_square_above(more, degrees + 1) > x);
            prop_assert!(close(chi_square_tail(x, degrees), more, 1e-9), "{degrees} {more}");
        }
    }
}
