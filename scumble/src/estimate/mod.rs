//! How sure can we be?
//!
//! Pure mathematics: nothing here depends on tables. One file per distribution, each with its upper
//! quantile: the number above which a share `alpha` of the distribution lies. A small tail is
//! computed as a tail, never as one minus the rest, so it keeps its precision.
//!
//! An invalid argument (a share outside 0 to 1, zero degrees of freedom) gives NaN, and every
//! comparison of NaN with a threshold is false.

//!
//! A second family is about rows that fall into many buckets at random: [`binomial`] sizes,
//! [`diverse`] values (of which something is [`asked`]), one [`bucket`] (of which a sample may have [seen](sampled) some rows), all
//! buckets together ([`multinomial`]), and all mappings ([`grid`]).

pub mod asked;
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
#[cfg(any(test, feature = "internals"))]
pub mod trial;

pub use chi_square::{chi_square_above, chi_square_tail};
pub use hypergeometric::{Cut, Hypergeometric, Likelihoods, moments, possible, reaches};
pub use normal::{normal_tail, z_above};

/// The solution of `ln tail(x) = ln alpha`, by Newton's method from `start`. `tail` returns the
/// tail and the density at x.
///
/// If the tail is log-concave, the tangent of `ln tail` lies above it. The first step therefore
/// ends at or to the right of the solution, and every later step moves left towards it; a step that
/// does not is due to rounding and ends the iteration.
fn where_tail_is(alpha: f64, start: f64, tail: impl Fn(f64) -> (f64, f64)) -> f64 {
    let next = |x: f64| {
        let (tail, density) = tail(x);
        x + (tail.ln() - alpha.ln()) * (tail / density)
    };
    let mut x = next(start);
    // Convergence is quadratic. The limit only guards against an endless loop.
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
    /// The integral of a smooth function over an interval, by Simpson's rule with `steps` (even)
    /// pieces.
    pub(super) fn integral(function: impl Fn(f64) -> f64, from: f64, to: f64, steps: u32) -> f64 {
        let width = (to - from) / f64::from(steps);
        let inner =
            |i: u32| function(from + width * f64::from(i)) * if i % 2 == 1 { 4.0 } else { 2.0 };
        (function(from) + (1..steps).map(inner).sum::<f64>() + function(to)) * width / 3.0
    }

    /// Whether two numbers agree up to a relative difference.
    pub(super) fn close(a: f64, b: f64, relative: f64) -> bool {
        (a - b).abs() <= relative * b.abs()
    }
}
