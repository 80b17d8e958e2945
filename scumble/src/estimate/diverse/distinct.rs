//! At least so many distinct values.
//!
//! In x rows with shares s_j, exactly the values of a set S occur with the probability x! [t^x]
//! prod over S of (exp(s_j t) - 1): the number of ways to deal the rows so that none of them is
//! missed. The sum over all sets of d values is an elementary symmetric polynomial, and the
//! coefficient is found by the trapezoid rule on the circle |t| = x, which converges faster than any
//! power of the number of points. So the probability is exact for any number of rows.

use super::{EXACTLY, Guess};
use crate::error::Result;
use crate::watch::Watch;

/// A value that is expected so often occurs, but for a chance of 1e-17.
const CERTAIN: f64 = 40.0;

/// A bound on the chance of fewer than `least` distinct values, if this number of values is certain.
const MISSED: f64 = 1e-14;

/// The chance that `rows` rows have at least `least` of the values with these shares, the largest
/// first.
pub(super) fn chance(shares: &[f64], least: u64, rows: u64, watch: &Watch) -> Result<Guess> {
    if rows < least || (shares.len() as u64) < least {
        return Ok(Guess::NEVER);
    }
    let least = least as usize;
    let x = rows as f64;
    if shares[least - 1] * x >= CERTAIN {
        return Ok(Guess { chance: 1.0, doubt: MISSED * least as f64 });
    }
    let points = (10.0 * x.sqrt() + 40.0).ceil();
    let mut sum = 0.0;
    // The function takes conjugate values at conjugate points.
    for point in 0..=(points / 2.0).floor() as u64 {
        watch.check()?;
        let angle = std::f64::consts::TAU * point as f64 / points;
        let is_alone = point == 0 || 2.0 * point as f64 == points;
        let times = if is_alone { 1.0 } else { 2.0 };
        sum += times * at(shares, least, x, angle);
    }
    // x! e^x / x^x.
    let scale = (ln_factorial(rows) + x - x * x.ln()).exp();
    let fewer = (scale * sum / points).clamp(0.0, 1.0);
    Ok(Guess { chance: 1.0 - fewer, doubt: EXACTLY })
}

/// The real part of exp(-x) t^-x x^x times the sum over all sets of fewer than `least` values, at
/// t = x exp(i angle).
fn at(shares: &[f64], least: usize, x: f64, angle: f64) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    // Each set is scaled by exp(-x s) for the shares s that it has, and the whole by the rest. So
    // no number is large: symmetric[d] has d values.
    let mut symmetric = vec![(0.0, 0.0); least];
    symmetric[0] = (1.0, 0.0);
    for (number, share) in shares.iter().enumerate() {
        let (grown, turned) = ((share * x * (cosine - 1.0)).exp(), share * x * sine);
        let absent = (-share * x).exp();
        let (re, im) = (grown * turned.cos() - absent, grown * turned.sin());
        for values in (0..least.min(number + 2)).rev() {
            let with = if values > 0 {
                let (a, b) = symmetric[values - 1];
                (a * re - b * im, a * im + b * re)
            } else {
                (0.0, 0.0)
            };
            let without = symmetric[values];
            symmetric[values] = (without.0 * absent + with.0, without.1 * absent + with.1);
        }
    }
    let (re, im) = symmetric.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let (turned_sine, turned_cosine) = (x * angle).sin_cos();
    re * turned_cosine + im * turned_sine
}

/// By Stirling's series; exact products for few.
fn ln_factorial(n: u64) -> f64 {
    if n < 20 {
        return (2..=n).map(|factor| (factor as f64).ln()).sum();
    }
    let x = n as f64;
    let series = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * x * x)) / (x * x)) / x;
    x * x.ln() - x + 0.5 * (std::f64::consts::TAU * x).ln() + series
}
