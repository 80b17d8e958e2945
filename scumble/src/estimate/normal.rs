//! The standard normal distribution.

use super::{gamma, where_tail_is};

/// The area under the standard normal curve to the right of `z`.
///
/// The square of a normal variable has a gamma distribution with shape 1/2, so for z >= 0 the area
/// is half its tail at z^2 / 2.
pub fn normal_tail(z: f64) -> f64 {
    let half = gamma::upper(0.5, z * z / 2.0) / 2.0;
    if z < 0.0 { 1.0 - half } else { half }
}

/// The number with the area `alpha` under the standard normal curve to its right; NaN unless 0 <
/// alpha < 1.
pub fn z_above(alpha: f64) -> f64 {
    if !(alpha > 0.0 && alpha < 1.0) {
        return f64::NAN;
    }
    if alpha > 0.5 {
        return -z_above(1.0 - alpha);
    }
    if alpha == 0.5 {
        return 0.0;
    }
    let density = |z: f64| (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    // The tail is below exp(-z^2 / 2), so this start is to the right of the solution.
    where_tail_is(alpha, (-2.0 * alpha.ln()).sqrt(), |z| (normal_tail(z), density(z)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{close, integral};
    use super::*;
    use proptest::prelude::*;

    /// Computed with 40 digits, then rounded.
    const KNOWN: [(f64, f64); 9] = [
        (0.25, 0.6744897501960817),
        (0.05, 1.6448536269514726),
        (0.025, 1.9599639845400543),
        (0.01, 2.326347874040841),
        (1e-3, 3.0902323061678136),
        (1e-6, 4.753424308822899),
        (1e-9, 5.9978070150076865),
        (1e-12, 7.034483825301132),
        (1e-100, 21.273453560965326),
    ];

    #[test]
    fn known_values() {
        for (alpha, z) in KNOWN {
            assert!(close(z_above(alpha), z, 1e-14), "{alpha}: {} is not {z}", z_above(alpha));
        }
        assert_eq!(z_above(0.5), 0.0);
        for alpha in [0.0, 1.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(z_above(alpha).is_nan(), "{alpha}");
        }
    }

    #[test]
    fn the_curve_has_the_area() {
        let density = |z: f64| (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
        for alpha in [0.4, 0.05, 0.001, 1e-6, 1e-12] {
            let z = z_above(alpha);
            assert!(close(integral(density, z, z + 12.0, 20_000), alpha, 1e-10), "{alpha}");
        }
    }

    proptest! {
        #[test]
        fn smaller_shares_lie_further_out(exponent in -12.0..-0.31f64, step in 1e-9..0.3f64) {
            let (more, less) = (10f64.powf(exponent), 10f64.powf(exponent - step));
            prop_assert!(z_above(less) > z_above(more));
            prop_assert!(close(normal_tail(z_above(more)), more, 1e-12));
            prop_assert!(close(normal_tail(-z_above(more)), 1.0 - more, 1e-12));
        }
    }
}
