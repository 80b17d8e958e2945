//! Where do random numbers come from?
//!
//! From one small seeded generator, so that every draw can be repeated. It is SplitMix64: a counter
//! that grows by an odd constant, scrambled by two rounds of multiply and xor-shift. It is fast and
//! has no bad seeds. A test freezes its output. A crate of random numbers may change its streams
//! between versions, and with them every synthetic table and every sampled answer.
//!
//! It is meant for synthetic tables, samples and annealing, not for secrets: one output is enough to
//! compute all that follow. What must not be guessed is drawn with [`Dice`], which ask the operating
//! system unless the user has given a seed.

use crate::error::{Error, Result};

/// The step of SplitMix64's counter: the golden ratio times 2^64, made odd.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A seeded generator of random numbers. The same seed gives the same numbers, everywhere and in
/// every version.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// One of many generators with the same seed, for work that is divided into numbered pieces.
    /// Each piece draws from its own stream, so its numbers depend neither on the other pieces nor
    /// on the order in which they are processed.
    ///
    /// All streams are parts of one cycle of 2^64 numbers and start at scattered places in it. The
    /// probability that any two of a hundred thousand streams with a million draws each overlap is
    /// below one in a thousand.
    pub fn stream(seed: u64, index: u64) -> Random {
        let start = scramble(seed.wrapping_add(STEP));
        Random { state: scramble(start.wrapping_add(index.wrapping_mul(STEP))) }
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        scramble(self.state)
    }

    /// A number from 0 to `n - 1`, all exactly equally likely. `n` must not be zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        let Ok(number) = lemire(n, || Ok::<u64, std::convert::Infallible>(self.next_u64()));
        number
    }

    /// A whole number from `low` to `high`, both included. `low` must not exceed `high`.
    #[inline]
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        assert!(low <= high, "no number lies between {low} and {high}");
        let offset = match high.wrapping_sub(low) as u64 {
            u64::MAX => self.next_u64(),
            width => self.below(width + 1),
        };
        low.wrapping_add(offset as i64)
    }

    /// A number in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// An index of `weights`, drawn in exact proportion to them. They must not all be zero. To draw
    /// often from the same weights, use an [`Urn`].
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let total = weights.iter().map(|&weight| u64::from(weight)).sum();
        let mut left = self.below(total);
        for (index, &weight) in weights.iter().enumerate() {
            match left.checked_sub(u64::from(weight)) {
                Some(rest) => left = rest,
                None => return index,
            }
        }
        unreachable!("the number drawn is below the sum of the weights")
    }

    /// A number from the standard normal distribution, by the Box-Muller method. Its last bit may
    /// differ between platforms, because logarithm and cosine come from the platform.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Where draws come from that must not be guessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// The operating system.
    System,
    /// A seed, which makes them reproducible, and therefore guessable.
    Seed(u64),
}

impl Secrets {
    /// Dice for one of many pieces of work; see [`Random::stream`].
    pub fn stream(self, index: u64) -> Dice {
        match self {
            Secrets::System => Dice::system(),
            Secrets::Seed(seed) => Dice::Seeded(Random::stream(seed, index)),
        }
    }

    /// Dice for work that is done in one piece.
    pub fn dice(self) -> Dice {
        match self {
            Secrets::System => Dice::system(),
            Secrets::Seed(seed) => Dice::Seeded(Random::new(seed)),
        }
    }
}

/// Numbers that are asked of the operating system at a time.
const ASKED: usize = 32;

/// Draws that must not be guessed.
#[derive(Debug)]
pub enum Dice {
    /// From a seed.
    Seeded(Random),
    /// From the operating system, some numbers at a time.
    System(Vec<u64>),
}

impl Dice {
    fn system() -> Dice {
        Dice::System(Vec::new())
    }

    /// 64 random bits.
    fn next_u64(&mut self) -> Result<u64> {
        let waiting = match self {
            Dice::Seeded(random) => return Ok(random.next_u64()),
            Dice::System(waiting) => waiting,
        };
        if let Some(bits) = waiting.pop() {
            return Ok(bits);
        }
        let mut bytes = [0; ASKED * 8];
        getrandom::fill(&mut bytes)
            .map_err(|error| Error::NoRandomness { source: std::io::Error::from(error) })?;
        let (numbers, _) = bytes.as_chunks::<8>();
        waiting.extend(numbers.iter().map(|number| u64::from_ne_bytes(*number)));
        waiting.pop().ok_or(Error::Defect)
    }

    /// A number from 0 to `n - 1`, all exactly equally likely. `n` must not be zero.
    pub fn below(&mut self, n: u64) -> Result<u64> {
        lemire(n, || self.next_u64())
    }
}

/// A number from 0 to `n - 1`, all exactly equally likely, by Lemire's method: the high half of a
/// product with `n` is the number; the few low halves that would favour some numbers are rejected.
/// The division is needed only if a rejection is possible, which is rare for small `n`.
#[inline]
fn lemire<E>(n: u64, mut bits: impl FnMut() -> Result<u64, E>) -> Result<u64, E> {
    assert!(n > 0, "there is no number below zero to draw");
    let mut product = u128::from(bits()?) * u128::from(n);
    if (product as u64) < n {
        let rejected = n.wrapping_neg() % n;
        while (product as u64) < rejected {
            product = u128::from(bits()?) * u128::from(n);
        }
    }
    Ok((product >> 64) as u64)
}

/// SplitMix64's two rounds, a bijection of 64-bit numbers.
#[inline]
fn scramble(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Selects a simple random sample in one pass (Vitter's algorithm R).
#[derive(Debug, Clone)]
pub struct Reservoir {
    random: Random,
    most: u64,
    seen: u64,
}

impl Reservoir {
    /// A sample of at most `most` items.
    pub fn new(most: u64, seed: u64) -> Reservoir {
        Reservoir { random: Random::new(seed), most, seen: 0 }
    }

    /// The place in the sample that the next item takes, replacing any earlier one; `None` if it is
    /// not drawn. Places are first assigned in order.
    #[inline]
    pub fn place(&mut self) -> Option<usize> {
        self.seen += 1;
        let place =
            if self.seen <= self.most { self.seen - 1 } else { self.random.below(self.seen) };
        (place < self.most).then_some(place as usize)
    }

    /// Of the next items, those that are drawn, each with its place in the sample.
    pub(crate) fn places(&mut self, items: usize) -> Vec<(u32, u32)> {
        (0..items as u32).filter_map(|item| Some((item, self.place()? as u32))).collect()
    }
}

/// Integer weights prepared for many draws: an urn holds as many balls of a value as its weight,
/// and a draw looks at one ball. It is as exact as [`Random::weighted`] and faster, and takes one
/// byte per unit of weight.
#[derive(Debug, Clone)]
pub struct Urn {
    balls: Vec<u8>,
}

impl Urn {
    /// Fills an urn for at most 256 weights, which must not all be zero.
    pub fn new(weights: &[u32]) -> Urn {
        assert!(weights.len() <= 256, "a ball has one byte for its value");
        let of_value = |(value, &weight): (usize, &u32)| vec![value as u8; weight as usize];
        let balls: Vec<u8> = weights.iter().enumerate().flat_map(of_value).collect();
        assert!(!balls.is_empty(), "an empty urn has nothing to draw");
        Urn { balls }
    }

    /// The index of one of the weights, drawn in proportion to them.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> usize {
        usize::from(self.balls[random.below(self.balls.len() as u64) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pearson's statistic of counts against weights.
    fn chi_square(counts: &[u64], weights: &[u32]) -> f64 {
        let drawn: f64 = counts.iter().map(|&count| count as f64).sum();
        let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
        let share = weights.iter().map(|&weight| drawn * f64::from(weight) / total);
        counts.iter().zip(share).map(|(&count, due)| (count as f64 - due).powi(2) / due).sum()
    }

    fn tally(values: usize, draws: usize, mut draw: impl FnMut() -> usize) -> Vec<u64> {
        let mut counts = vec![0; values];
        (0..draws).for_each(|_| counts[draw()] += 1);
        counts
    }

    /// With nine degrees of freedom, a fair draw stays below this limit 999 times in 1000.
    const LIMIT_OF_TEN: f64 = 27.88;

    #[test]
    fn the_stream_of_numbers_is_frozen() {
        // The first assertion has the reference output of SplitMix64 for this seed; the second
        // freezes our own streams.
        let mut random = Random::new(1_234_567);
        let reference = [6457827717110365317, 3203168211198807973, 9817491932198370423];
        assert_eq!([(); 3].map(|()| random.next_u64()), reference);
        let mut stream = Random::stream(42, 7);
        assert_eq!(
            [(); 3].map(|()| stream.next_u64()),
            [8163751063597049310, 17397668896632915156, 11641495067283555062]
        );
        assert_eq!([(); 6].map(|()| stream.between(-5, 5)), [-2, 4, -5, 4, -1, -5]);
    }

    #[test]
    fn draws_are_as_likely_as_they_should_be() {
        let mut random = Random::new(1);
        let counts = tally(10, 100_000, || random.below(10) as usize);
        assert!(chi_square(&counts, &[1; 10]) < LIMIT_OF_TEN, "{counts:?}");
        let counts = tally(10, 100_000, || (random.between(-4, 5) + 4) as usize);
        assert!(chi_square(&counts, &[1; 10]) < LIMIT_OF_TEN, "{counts:?}");
        let counts = tally(10, 100_000, || (random.unit() * 10.0) as usize);
        assert!(chi_square(&counts, &[1; 10]) < LIMIT_OF_TEN, "{counts:?}");

        let weights = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
        let counts = tally(10, 100_000, || random.weighted(&weights));
        assert!(chi_square(&counts, &weights) < LIMIT_OF_TEN, "{counts:?}");
        let urn = Urn::new(&weights);
        let counts = tally(10, 100_000, || urn.draw(&mut random));
        assert!(chi_square(&counts, &weights) < LIMIT_OF_TEN, "{counts:?}");
    }

    /// The check above must be able to fail: it detects a draw that favours one value of ten by a
    /// tenth.
    #[test]
    fn a_small_bias_is_noticed() {
        let mut random = Random::new(1);
        let counts = tally(10, 100_000, || (random.below(101) as usize / 10).min(9));
        assert!(chi_square(&counts, &[1; 10]) > LIMIT_OF_TEN, "{counts:?}");
    }

    /// A quarter of all numbers is rejected here. Keeping them would make every third value twice
    /// as likely.
    #[test]
    fn below_is_unbiased_for_large_bounds() {
        let mut random = Random::new(3);
        let bound = 3 << 62;
        let counts = tally(3, 60_000, || (random.below(bound) % 3) as usize);
        assert!(chi_square(&counts, &[1; 3]) < 13.8, "{counts:?}");
    }

    #[test]
    fn streams_differ_from_each_other_and_from_the_plain_generator() {
        let first = |mut random: Random| random.next_u64();
        let mut seen: Vec<u64> = (0..1000).map(|index| first(Random::stream(9, index))).collect();
        seen.extend((0..1000).map(|seed| first(Random::stream(seed + 10, 0))));
        seen.extend((0..1000).map(|seed| first(Random::new(seed))));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 3000);
    }

    #[test]
    fn dice_are_fair_and_repeat_only_with_a_seed() {
        let mut dice = Secrets::System.dice();
        let counts = tally(10, 100_000, || dice.below(10).unwrap() as usize);
        assert!(chi_square(&counts, &[1; 10]) < 60.0, "{counts:?}");
        let draw = |secrets: Secrets, index: u64| {
            let mut dice = secrets.stream(index);
            [(); 4].map(|()| dice.below(u64::MAX).unwrap())
        };
        assert_eq!(draw(Secrets::Seed(3), 1), draw(Secrets::Seed(3), 1));
        assert_ne!(draw(Secrets::Seed(3), 1), draw(Secrets::Seed(3), 2));
        assert_ne!(draw(Secrets::System, 1), draw(Secrets::System, 1));
        let (mut seeded, mut random) = (Secrets::Seed(9).dice(), Random::new(9));
        assert!((1..100).all(|n| seeded.below(n).unwrap() == random.below(n)));
    }

    #[test]
    fn extremes_are_reached_and_not_passed() {
        let mut random = Random::new(5);
        assert_eq!(random.below(1), 0);
        assert_eq!(random.between(7, 7), 7);
        assert_eq!(random.weighted(&[0, 0, 3, 0]), 2);
        assert!((0..100).map(|_| random.between(i64::MIN, i64::MAX)).any(|number| number < 0));
        let dice: Vec<i64> = (0..1000).map(|_| random.between(1, 6)).collect();
        assert_eq!((dice.iter().min(), dice.iter().max()), (Some(&1), Some(&6)));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit())));
    }

    #[test]
    fn normal_has_mean_zero_and_variance_one() {
        let mut random = Random::new(8);
        let draws: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|draw| draw * draw).sum::<f64>() / 1e5 - mean * mean;
        let beyond_two = draws.iter().filter(|draw| draw.abs() > 2.0).count();
        assert!(mean.abs() < 0.015 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        assert!((4250..4850).contains(&beyond_two), "{beyond_two}");
    }
}
