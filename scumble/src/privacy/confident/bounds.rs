//! What is known of a confidence without any likelihood: by what is possible at all, by mean and
//! variance, and by tuples that are harder.

use super::{ConfidentPresence, Tuple};
use crate::error::Result;
use crate::estimate::{moments, normal_tail, possible};
use crate::ratio::Ratio;
use crate::watch::Watch;
use std::sync::atomic::Ordering;

/// What is known of a confidence without any likelihood.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Whether the range is kept in every world, or in none, if one of both is so.
    pub(super) certain: Option<bool>,
    /// The probability that the range is not kept is not above this.
    pub(super) missed: f64,
    /// The confidence is not above this.
    pub(super) at_most: f64,
}

/// The probability of missing the range that a needed confidence leaves, rounded down.
pub(super) fn allowed(needed: Ratio) -> f64 {
    let above = needed.denominator().saturating_sub(needed.numerator());
    above as f64 / needed.denominator() as f64 * (1.0 - 1e-15)
}

/// A number that the probability of straying so far to one side of the mean is not above. The
/// number of matches is distributed as a sum of independent ones (Vatutin and Mikhailov 1982), so
/// Bernstein's inequality holds with its variance.
fn bernstein(variance: f64, distance: f64) -> f64 {
    (-distance * distance / (2.0 * variance + 2.0 / 3.0 * distance)).exp()
}

/// The same by the theorem of Berry and Esseen: such a sum differs from the normal distribution by
/// at most 0.56 / sigma, since the third moments of its parts are no larger than their variances
/// (the constant is Shevtsova's of 2010). It decides between large classes, which are costly.
fn berry_esseen((least, most): (f64, f64), distance: f64) -> f64 {
    if least < 100.0 {
        return 1.0;
    }
    normal_tail(distance / most.sqrt()) * (1.0 + 1e-12) + 0.56 / least.sqrt()
}

/// A number that the probability of at least (or, below the mean, at most) so many matches is not
/// above. Whether one person matches makes it only less likely of others (negative association), so
/// matches stray no further than independent ones of the same mean would: exp(-U KL(x/U ||
/// mean/U)).
fn chernoff(others: f64, mean: f64, number: f64) -> f64 {
    if number > others {
        return 0.0;
    }
    let part = |number: f64, mean: f64| {
        if number > 0.0 { number * ((mean - number) / number).ln_1p() } else { 0.0 }
    };
    let exponent = part(number, mean) + part(others - number, others - mean);
    // Both parts are about as large as the distance to the mean, which their rounding grows with.
    (exponent + 1e-5 + 1e-14 * others).exp().min(1.0)
}

impl ConfidentPresence {
    /// What is decided without any likelihood: by what is possible, and by mean and variance.
    pub(super) fn by_bounds(&self, tuple: &Tuple) -> Option<bool> {
        if self.shortcuts.moments {
            self.decided(tuple, self.known(tuple))
        } else {
            self.decided(tuple, self.certainty(tuple))
        }
    }

    /// What follows for a tuple from what is known of its confidence.
    pub(super) fn decided(&self, tuple: &Tuple, known: Bounds) -> Option<bool> {
        let needed = self.confidences[tuple.needed as usize];
        match known.certain {
            Some(is_kept) => Some(is_kept || needed == Ratio::ZERO),
            // Some world misses the range, and some world keeps it.
            None if needed == Ratio::ONE => Some(false),
            None if needed == Ratio::ZERO => Some(true),
            None if known.missed <= allowed(needed) => Some(true),
            None if known.at_most < needed.to_f64() * (1.0 - 1e-15) => Some(false),
            None => None,
        }
    }

    /// What the possible numbers of matches say.
    pub(super) fn certainty(&self, tuple: &Tuple) -> Bounds {
        let (least, most) = self.bounds(tuple.rows);
        let few = possible(self.draws.others(), &tuple.marked);
        let many =
            if tuple.more.is_empty() { few } else { possible(self.draws.others(), &tuple.more) };
        let (missed, at_most) = (1.0, 1.0);
        if least <= few.0 && many.1 <= most {
            Bounds { certain: Some(true), missed: 0.0, at_most }
        } else if least > most || few.1 < least || most < many.0 {
            Bounds { certain: Some(false), missed, at_most: 0.0 }
        } else {
            Bounds { certain: None, missed, at_most }
        }
    }

    /// The same, with what mean and variance say.
    pub(super) fn known(&self, tuple: &Tuple) -> Bounds {
        let certainty = self.certainty(tuple);
        if certainty.certain.is_some() {
            return certainty;
        }
        let (least, most) = self.bounds(tuple.rows);
        let others = self.draws.others();
        let few = moments(others, &tuple.marked);
        let many = if tuple.more.is_empty() { few } else { moments(others, &tuple.more) };
        // A hair nearer and wider, since both are rounded.
        let beyond = |(mean, variance): (f64, f64), number: f64, distance: f64| {
            let (distance, hair) =
                (distance - mean * 1e-12, variance * 1e-9 + 1e-9 + 1e-15 * others as f64);
            if distance <= 0.0 {
                return 1.0;
            }
            let most = variance + hair;
            let cantelli = most / (most + distance * distance);
            let bernstein = bernstein(most, distance) * (1.0 + 1e-9);
            let normal = berry_esseen((variance - hair, most), distance);
            cantelli.min(bernstein).min(normal).min(chernoff(others as f64, mean, number))
        };
        let below = |moments: (f64, f64), number: f64| beyond(moments, number, moments.0 - number);
        let above = |moments: (f64, f64), number: f64| beyond(moments, number, number - moments.0);
        let too_few = if least == 0 { 0.0 } else { below(few, (least - 1) as f64) };
        let too_many = if most == u64::MAX { 0.0 } else { above(many, most as f64 + 1.0) };
        let enough = above(few, least as f64);
        let not_more = if most == u64::MAX { 1.0 } else { below(many, most as f64) };
        let missed = (too_few + too_many).min(1.0);
        Bounds { certain: None, missed, at_most: enough.min(not_more) }
    }

    /// The tuples that no other dominates, where one end of the range asks nothing (definition 12);
    /// else all of them.
    pub(super) fn dominant<'a>(
        &self,
        mut tuples: Vec<&'a Tuple>,
        watch: &Watch,
    ) -> Result<Vec<&'a Tuple>> {
        let (only_max, only_min) = (self.min == Ratio::ZERO, self.max == Ratio::ONE);
        self.seen.fetch_add(tuples.len() as u64, Ordering::Relaxed);
        if !self.shortcuts.dominant || !(only_max || only_min) {
            self.judged.fetch_add(tuples.len() as u64, Ordering::Relaxed);
            return Ok(tuples);
        }
        let harder =
            |one: &Tuple, other: &Tuple| one.needed >= other.needed && self.is_harder(one, other);
        // A tuple that dominates another comes before it.
        let marked = |tuple: &Tuple| tuple.marked.iter().sum::<u64>();
        watch.sort_by(&mut tuples, |a, b| {
            let order = b.rows.cmp(&a.rows).then_with(|| marked(a).cmp(&marked(b)));
            let order = if only_max { order } else { order.reverse() };
            order.then_with(|| b.needed.cmp(&a.needed)).then_with(|| a.marked.cmp(&b.marked))
        })?;
        let mut kept: Vec<&Tuple> = Vec::new();
        for tuple in tuples {
            watch.check()?;
            if !kept.iter().any(|known| harder(known, tuple)) {
                kept.push(tuple);
            }
        }
        self.judged.fetch_add(kept.len() as u64, Ordering::Relaxed);
        Ok(kept)
    }

    /// Whether the confidence of one tuple is at most that of another by theorem 3: where one end of
    /// the range asks nothing, more rows and fewer others make the greatest share harder to keep,
    /// and the other way round for the least.
    pub(super) fn is_harder(&self, one: &Tuple, other: &Tuple) -> bool {
        // With one end a tuple has one list of counts.
        let mut pairs = one.marked.iter().zip(&other.marked);
        if self.min == Ratio::ZERO {
            one.rows >= other.rows && pairs.all(|(one, other)| one <= other)
        } else if self.max == Ratio::ONE {
            one.rows <= other.rows && pairs.all(|(one, other)| one >= other)
        } else {
            false
        }
    }
}
