//! How sure may we be?
//!
//! Pure mathematics: nothing here knows what a table is. One file per distribution, each with the
//! number that a share `alpha` of the distribution lies above. A small tail is computed as a tail,
//! never as one minus the rest, so it keeps its precision.
//!
//! An argument that makes no sense (a share outside of 0 to 1, no degrees of freedom) gives NaN,
//! which every comparison with a threshold answers with "no".

//!
//! A second family is about many buckets at once, to which rows are dealt by chance: [`binomial`]
//! sizes, [`diverse`] values, what that makes of one [`bucket`] (of which a sample may have
//! [seen](sampled) some rows), of all of them ([`multinomial`]), and of all mappings ([`grid`]).

pub mod binomial;
pub mod bucket;
mod chi_square;
pub mod diverse;
mod gamma;
pub mod grid;
mod hypergeometric;
pub mod multinomial;
mod normal;
pub mod sampled;
#[cfg(test)]
mod simulated;

pub use chi_square::{chi_square_above, chi_square_tail};
pub use hypergeometric::{Cut, Hypergeometric, Likelihoods, moments, reaches};
pub use normal::{normal_tail, z_above};

/// Where `ln tail(x) = ln alpha`, by Newton's method from `start`. `tail` gives a tail and the
/// density at x.
///
/// For a distribution with a log-concave tail the tangent of `ln tail` lies above it. So the first
/// step ends at or right of the solution, and every later one moves left towards it; the first that
/// does not is rounding, and the end.
fn where_tail_is(alpha: f64, start: f64, tail: impl Fn(f64) -> (f64, f64)) -> f64 {
    let next = |x: f64| {
        let (tail, density) = tail(x);
        x + (tail.ln() - alpha.ln()) * (tail / density)
    };
    let mut x = next(start);
    // Convergence is quadratic; the bound only keeps a mistake from becoming an endless loop.
    for _ in 0..200 {
        let closer = next(x);
        if closer >= x || closer.is_nan() {
            break;
        }
        x = closer;
    }
    x
}

#[cfg(test)]
mod tests {
    /// The integral of a smooth function over an interval, by Simpson's rule on `steps` (even)
    /// pieces.
    pub(super) fn integral(function: impl Fn(f64) -> f64, from: f64, to: f64, steps: u32) -> f64 {
        let width = (to - from) / f64::from(steps);
        let inner =
            |i: u32| function(from + width * f64::from(i)) * if i % 2 == 1 { 4.0 } else { 2.0 };
        (function(from) + (1..steps).map(inner).sum::<f64>() + function(to)) * width / 3.0
    }

    /// Whether two numbers agree to a relative difference.
    pub(super) fn close(a: f64, b: f64, relative: f64) -> bool {
        (a - b).abs() <= relative * b.abs()
    }
}
