//! The binomial distribution, also truncated: given that the number is at least, or at most, some
//! bound.
//!
//! The moments of a truncated binomial have no closed form. Three ways lead to them: the sum over
//! its terms, which is exact and takes as many steps as there are terms that count; the normal
//! distribution where the binomial is not skewed ([Nergiz, Tamersoy and Saygin 2011], section
//! 6.1.1: HYBRID); and an exponential one far out in a tail, where neighbouring terms have nearly
//! one ratio (section 6.1.2: EXPO).
//!
//! | here | paper |
//! |---|---|
//! | `Binomial { n, p }` | B(N, p) |
//! | [`Truncated`] | X given X >= k: its chance, its mean mu^(t) and its variance sigma^2^(t) |
//! | ratio | exp(-lambda) = (n-x)/(x+1) p/(1-p); the paper prints x-1 and exp(lambda) |
//!
//! Departures: EXPO is the geometric distribution, of which the exponential one is the limit:
//! binomials are whole numbers. It takes over from three standard deviations on, where figure 2(b)
//! begins; nearer to the mean the ratio is not constant at all, and terms are summed. The normal
//! distribution is asked at Peizer and Pratt's argument instead of (k - 1/2 - mu)/sigma: far out in
//! a tail, where a thousand buckets look for their smallest, the plain one is off by a factor of
//! ten.

use super::multinomial::Shortcuts;
use super::normal_tail;

/// A binomial counts as not skewed if this many standard deviations around its mean are within its
/// range; its exponential tail begins at the same distance.
const DEVIATIONS: f64 = 3.0;

/// Terms below this share of the sum so far are ignored.
const NEGLIGIBLE: f64 = 1e-18;

/// The number of successes in `n` trials with probability `p` each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binomial {
    /// The number of trials.
    pub n: u64,
    /// The probability of success.
    pub p: f64,
}

/// A random variable, conditional on lying in some part of its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truncated {
    /// The logarithm of the probability of that part.
    pub ln_chance: f64,
    /// The conditional mean; 0 if the part is impossible.
    pub mean: f64,
    /// The conditional variance.
    pub variance: f64,
}

impl Truncated {
    /// An impossible part.
    pub const NEVER: Truncated =
        Truncated { ln_chance: f64::NEG_INFINITY, mean: 0.0, variance: 0.0 };

    /// The probability of the part.
    pub fn chance(&self) -> f64 {
        self.ln_chance.exp()
    }

    /// The union with the number 0, which lies outside the part and has the probability
    /// exp(ln_zero).
    pub fn or_zero(self, ln_zero: f64) -> Truncated {
        if ln_zero == f64::NEG_INFINITY {
            return self;
        }
        let (more, less) = if self.ln_chance >= ln_zero {
            (self.ln_chance, ln_zero)
        } else {
            (ln_zero, self.ln_chance)
        };
        let ln_chance = more + (less - more).exp().ln_1p();
        let share = (self.ln_chance - ln_chance).exp();
        let mean = share * self.mean;
        let variance = share * (self.variance + (1.0 - share) * self.mean * self.mean);
        Truncated { ln_chance, mean, variance }
    }
}

/// Weight and moments of a sequence of terms, relative to some center.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    weight: f64,
    first: f64,
    second: f64,
}

impl Sum {
    fn add(&mut self, weight: f64, distance: f64) {
        self.weight += weight;
        self.first += weight * distance;
        self.second += weight * distance * distance;
    }

    /// The part that consists of these terms, if distances are relative to `centre` and weights are
    /// multiplied by exp(ln_scale).
    fn part(self, ln_scale: f64, centre: f64) -> Truncated {
        if self.weight <= 0.0 {
            return Truncated::NEVER;
        }
        let mean = self.first / self.weight;
        let variance = (self.second / self.weight - mean * mean).max(0.0);
        Truncated { ln_chance: ln_scale + self.weight.ln(), mean: centre + mean, variance }
    }
}

impl Binomial {
    /// The mean.
    pub fn mean(&self) -> f64 {
        self.n as f64 * self.p
    }

    /// The variance.
    pub fn variance(&self) -> f64 {
        self.mean() * (1.0 - self.p)
    }

    /// The logarithm of the probability of 0.
    pub fn ln_zero(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.n as f64 * (-self.p).ln_1p() }
    }

    /// The logarithm of the probability of `x`, by Loader's method, which avoids the cancellation
    /// of large logarithms.
    pub fn ln_probability(&self, x: u64) -> f64 {
        let (n, p) = (self.n as f64, self.p);
        match x {
            _ if x > self.n => f64::NEG_INFINITY,
            _ if p <= 0.0 => {
                if x == 0 {
                    0.0
                } else {
                    f64::NEG_INFINITY
                }
            }
            _ if p >= 1.0 => {
                if x == self.n {
                    0.0
                } else {
                    f64::NEG_INFINITY
                }
            }
            0 => self.ln_zero(),
            _ if x == self.n => n * p.ln(),
            _ => {
                let (x, rest) = (x as f64, (self.n - x) as f64);
                let scale = stirling_error(n) - stirling_error(x) - stirling_error(rest);
                let deviance = deviance(x, n * p) + deviance(rest, n * (1.0 - p));
                scale - deviance + 0.5 * (n / (std::f64::consts::TAU * x * rest)).ln()
            }
        }
    }

    /// The part with at least `k` successes.
    pub fn at_least(&self, k: u64, shortcuts: Shortcuts) -> Truncated {
        let (mean, variance) = (self.mean(), self.variance());
        if k == 0 {
            return Truncated { ln_chance: 0.0, mean, variance };
        }
        if k > self.n || self.p <= 0.0 {
            return Truncated::NEVER;
        }
        if self.p >= 1.0 {
            return Truncated { ln_chance: 0.0, mean, variance: 0.0 };
        }
        let deviation = variance.sqrt();
        let symmetric =
            mean - DEVIATIONS * deviation >= 0.0 && mean + DEVIATIONS * deviation <= self.n as f64;
        if shortcuts.hybrid && symmetric {
            return normal_above(mean, deviation, k as f64 - 0.5, self.normal_argument(k - 1));
        }
        if (k as f64) > mean {
            return self.upper(k, shortcuts.expo && k as f64 >= mean + DEVIATIONS * deviation);
        }
        // There are few terms below k, so subtracting them keeps the precision.
        let (below, last) = (k - 1, (k - 1) as f64);
        let mirrored = Binomial { n: self.n, p: 1.0 - self.p };
        let lower =
            mirrored.upper(self.n - below, shortcuts.expo && last <= mean - DEVIATIONS * deviation);
        let (weight, distance) = (lower.chance(), self.n as f64 - lower.mean - mean);
        let left = 1.0 - weight;
        if left <= 0.0 {
            return Truncated::NEVER;
        }
        let first = -weight * distance / left;
        let second = (variance - weight * (lower.variance + distance * distance)) / left;
        Truncated {
            ln_chance: (-weight).ln_1p(),
            mean: mean + first,
            variance: (second - first * first).max(0.0),
        }
    }

    /// The part with at most `t` successes.
    pub fn at_most(&self, t: u64, shortcuts: Shortcuts) -> Truncated {
        if t >= self.n {
            return Truncated { ln_chance: 0.0, mean: self.mean(), variance: self.variance() };
        }
        let mirrored = Binomial { n: self.n, p: 1.0 - self.p }.at_least(self.n - t, shortcuts);
        if mirrored.ln_chance == f64::NEG_INFINITY {
            mirrored
        } else {
            Truncated { mean: self.n as f64 - mirrored.mean, ..mirrored }
        }
    }

    /// How it is if it is 0 or at least `k`: the paper's X >=0 k.
    pub fn zero_or_at_least(&self, k: u64, shortcuts: Shortcuts) -> Truncated {
        let above = self.at_least(k, shortcuts);
        if k == 0 { above } else { above.or_zero(self.ln_zero()) }
    }

    /// Where a standard normal number has the chance to be below that this one has to be at most
    /// `x` (Peizer and Pratt 1968).
    fn normal_argument(&self, x: u64) -> f64 {
        let (n, p, q, x) = (self.n as f64, self.p, 1.0 - self.p, x as f64);
        let bend = |t: f64| {
            if (t - 1.0).abs() < 1e-3 {
                // The limit, because the quotient would be 0/0.
                (1.0 - t) / 3.0
            } else if t <= 0.0 {
                1.0
            } else {
                (1.0 - t * t + 2.0 * t * t.ln()) / ((1.0 - t) * (1.0 - t))
            }
        };
        let distance = x + 2.0 / 3.0 - (n + 1.0 / 3.0) * p;
        let bent = 1.0 + q * bend((x + 0.5) / (n * p)) + p * bend((n - x - 0.5) / (n * q));
        distance * (bent / ((n + 1.0 / 6.0) * p * q)).sqrt()
    }

    /// The odds of a success, a factor of the ratio of neighbouring terms.
    pub(super) fn odds(&self) -> f64 {
        self.p / (1.0 - self.p)
    }

    /// The tail from `k` on, where `k` is above the mean: term by term, or as a geometric series.
    fn upper(&self, k: u64, geometric: bool) -> Truncated {
        let ln_scale = self.ln_probability(k);
        if ln_scale == f64::NEG_INFINITY {
            return Truncated::NEVER;
        }
        let (n, start, odds) = (self.n as f64, k as f64, self.odds());
        if geometric {
            let ratio = (n - start) / (start + 1.0) * odds;
            let rest = 1.0 - ratio;
            return Truncated {
                ln_chance: ln_scale - rest.ln(),
                mean: start + ratio / rest,
                variance: ratio / (rest * rest),
            };
        }
        let (mut term, mut at, mut sum) = (1.0, 0.0, Sum::default());
        while start + at <= n {
            sum.add(term, at);
            term *= (n - start - at) / (start + at + 1.0) * odds;
            at += 1.0;
            if term * (1.0 + at * at) < NEGLIGIBLE * sum.weight {
                break;
            }
        }
        sum.part(ln_scale, start)
    }
}

/// A normal variable, conditional on being at least `from`; the probability of that is the standard
/// normal tail above `argument`.
fn normal_above(mean: f64, deviation: f64, from: f64, argument: f64) -> Truncated {
    let z = (from - mean) / deviation;
    let (tail, above) = (normal_tail(argument), normal_tail(z));
    if tail <= 0.0 || above <= 0.0 {
        return Truncated::NEVER;
    }
    let hazard = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt() / above;
    let variance = deviation * deviation * (1.0 + z * hazard - hazard * hazard);
    let ln_chance = if argument < 0.0 { (-normal_tail(-argument)).ln_1p() } else { tail.ln() };
    Truncated { ln_chance, mean: mean + deviation * hazard, variance: variance.max(0.0) }
}

/// ln n! minus Stirling's formula: exact for small numbers, a series for larger ones.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        let factorial: f64 = (1..=n as u32).map(|i| f64::from(i).ln()).sum();
        return factorial - ((n + 0.5) * n.ln() - n + 0.5 * std::f64::consts::TAU.ln());
    }
    let square = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / (1680.0 * square)) / square) / square) / n
}

/// x ln(x / m) + m - x, precise even if x and m are close.
fn deviance(x: f64, m: f64) -> f64 {
    let difference = x - m;
    if difference.abs() < 0.1 * (x + m) {
        let v = difference / (x + m);
        let mut sum = difference * v;
        let (mut power, square) = (2.0 * x * v, v * v);
        for i in 1..1000 {
            power *= square;
            let more = sum + power / f64::from(2 * i + 1);
            if more == sum {
                break;
            }
            sum = more;
        }
        return sum;
    }
    x * (x / m).ln() + m - x
}

#[cfg(test)]
mod tests {
    use super::super::tests::close;
    use super::*;

    /// All probabilities of a binomial, by recurrence from 0; for small `n` only.
    fn all(n: u64, p: f64) -> Vec<f64> {
        let mut terms = vec![(1.0 - p).powi(n as i32)];
        for x in 0..n {
            terms.push(terms[x as usize] * (n - x) as f64 / (x + 1) as f64 * p / (1.0 - p));
        }
        terms
    }

    fn moments(terms: &[f64], keep: impl Fn(u64) -> bool) -> (f64, f64, f64) {
        let kept = || {
            terms
                .iter()
                .enumerate()
                .filter(|(x, _)| keep(*x as u64))
                .map(|(x, term)| (x as f64, *term))
        };
        let weight: f64 = kept().map(|(_, term)| term).sum();
        let mean = kept().map(|(x, term)| x * term).sum::<f64>() / weight;
        (weight, mean, kept().map(|(x, term)| (x - mean) * (x - mean) * term).sum::<f64>() / weight)
    }

    #[test]
    fn probabilities_are_those_of_the_recurrence() {
        for (n, p) in [(1, 0.3), (7, 0.5), (40, 0.01), (200, 0.25), (300, 0.97)] {
            for (x, term) in all(n, p).into_iter().enumerate() {
                let found = Binomial { n, p }.ln_probability(x as u64);
                assert!(
                    (found - term.ln()).abs() < 1e-10 || term < 1e-280,
                    "{n} {p} {x}: {found} {}",
                    term.ln()
                );
            }
        }
        // A known value for large n: at the mean, 1 / sqrt(2 pi n p q) (1 - (1 - p q) / (12 n p
        // q)).
        let large = Binomial { n: 10_000_000, p: 0.1 };
        let expected = -0.5 * (std::f64::consts::TAU * 900_000.0).ln()
            + (-(0.91 / 12.0 / 900_000.0_f64)).ln_1p();
        assert!(close(large.ln_probability(1_000_000), expected, 1e-12));
    }

    #[test]
    fn truncated_moments_are_those_of_the_terms() {
        for (n, p) in [(12, 0.3), (50, 0.02), (200, 0.25), (400, 0.6)] {
            let terms = all(n, p);
            for k in [1, 2, n / 5, n / 3, n / 2, n] {
                let binomial = Binomial { n, p };
                let kept: [&dyn Fn(u64) -> bool; 3] =
                    [&|x| x >= k, &|x| x <= k, &|x| x == 0 || x >= k];
                let parts = [Binomial::at_least, Binomial::at_most, Binomial::zero_or_at_least];
                for (which, (part, keep)) in parts.iter().zip(kept).enumerate() {
                    let part = part(&binomial, k, Shortcuts::NONE);
                    let (weight, mean, variance) = moments(&terms, keep);
                    assert!((part.ln_chance - weight.ln()).abs() < 1e-9, "{n} {p} {k} {which}");
                    assert!(
                        close(part.mean, mean, 1e-7) || mean < 1e-9,
                        "{n} {p} {k} {which}: {} {mean}",
                        part.mean
                    );
                    assert!(
                        (part.variance - variance).abs() < 1e-6 * (1.0 + variance),
                        "{n} {p} {k} {which}"
                    );
                }
            }
        }
    }

    /// Figure 2 of the paper: B(1000, 0.25) as a normal number, and beyond three deviations as an
    /// exponential one.
    #[test]
    fn shortcuts_are_near_the_truth() {
        // Far tails, as they occur with many buckets.
        for (mean, k) in [(30.0, 10), (60.0, 30), (200.0, 140), (30.0, 52)] {
            let rare = Binomial { n: 100_000, p: mean / 100_000.0 };
            let chance = |hybrid| {
                if (k as f64) < mean {
                    rare.at_most(k - 1, Shortcuts { hybrid, ..Shortcuts::NONE }).chance()
                } else {
                    rare.at_least(k, Shortcuts { hybrid, ..Shortcuts::NONE }).chance()
                }
            };
            assert!(
                close(chance(true), chance(false), 0.05),
                "{mean} {k}: {} {}",
                chance(true),
                chance(false)
            );
        }
        let binomial = Binomial { n: 1000, p: 0.25 };
        let (hybrid, expo) = (
            Shortcuts { hybrid: true, ..Shortcuts::NONE },
            Shortcuts { expo: true, ..Shortcuts::NONE },
        );
        for k in [200, 230, 250, 270, 300] {
            let (exact, normal) =
                (binomial.at_least(k, Shortcuts::NONE), binomial.at_least(k, hybrid));
            assert!((exact.chance() - normal.chance()).abs() < 0.0005, "{k}");
            assert!((exact.mean - normal.mean).abs() < 0.35, "{k}: {} {}", exact.mean, normal.mean);
        }
        let (exact, tail) = (binomial.at_least(292, Shortcuts::NONE), binomial.at_least(292, expo));
        assert!(close(tail.chance(), exact.chance(), 0.2) && (tail.mean - exact.mean).abs() < 0.8);
        // Near the mean the ratio is not constant, so EXPO is not used.
        assert_eq!(binomial.at_least(260, expo), binomial.at_least(260, Shortcuts::NONE));
    }
}
