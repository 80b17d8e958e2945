//! Thresholds that a person would write.
//!
//! A split between two values of a table can be described by any number between them. A value of
//! the table would be somebody's value, so the threshold is the roundest number that is none,
//! where there is room: a multiple of a large power of ten (or of five or two of them), the first
//! day of a year or a month.

use crate::table::{Day, Type};

/// A threshold between two numbers of the table: `below` is not above it, and `above` is.
pub fn threshold_between(kind: Type, below: f64, above: f64) -> f64 {
    let threshold = match kind {
        Type::Integer => whole(below, above, round_whole),
        Type::Date => whole(below, above, round_day),
        Type::Real => round_real(below, above).unwrap_or(below),
        Type::Text => below,
    };
    if below <= threshold && threshold < above { threshold } else { below }
}

/// The sides of a range from one number of the table to another, rounded outwards: the numbers lie
/// above the first side and not above the second. The range grows by at most half of its width on
/// each side, and never beyond the limits, which are sides as well.
pub fn rounded_outwards(
    kind: Type,
    (first, last): (f64, f64),
    (above, up_to): (Option<f64>, Option<f64>),
) -> (f64, f64) {
    let step = if kind == Type::Real { 0.0 } else { 1.0 };
    // Whole numbers need room for an end that is none of them.
    let slack = ((last - first) / 2.0).floor().max(3.0 * step);
    let slack = if kind == Type::Real { (last - first) / 2.0 } else { slack };
    let low = above.map_or(first - slack, |above| above.max(first - slack));
    // A side up to which numbers go may itself be one of the next range.
    let high = up_to.map_or(last + slack, |up_to| (up_to + step).min(last + slack));
    let lower = if low < first { threshold_between(kind, low, first) } else { low };
    let upper = if last < high { threshold_between(kind, last, high) } else { last };
    (lower.min(first - step), upper.max(last))
}

/// Whole numbers and days: a range ends where the next one begins, so there are two ends to be
/// chosen at once. `round` finds the roundest first number of the next range.
fn whole(below: f64, above: f64, round: impl Fn(i64, i64) -> i64) -> f64 {
    // Numbers of a column are whole and at most 2^53.
    let (below, above) = (below as i64, above as i64);
    let next = match above.saturating_sub(below) {
        ..=1 => above,
        // One end or the other is a number of the table.
        2 => round(below + 1, above),
        _ => round(below + 2, above - 1),
    };
    (next - 1) as f64
}

/// The multiple of a step in a range that is nearest to its middle.
fn multiple(first: i64, last: i64, step: i64) -> Option<i64> {
    let middle = first + (last - first) / 2;
    let near = [middle.div_euclid(step) * step, (middle.div_euclid(step) + 1) * step];
    let within = near.into_iter().filter(|number| (first..=last).contains(number));
    within.min_by_key(|number| number.abs_diff(middle))
}

/// Powers of ten, and five and two of them, from the largest to 1.
fn steps() -> impl Iterator<Item = i64> {
    (0..17).rev().flat_map(|power| [5, 2, 1].map(|times| times * 10i64.pow(power)))
}

fn round_whole(first: i64, last: i64) -> i64 {
    steps().find_map(|step| multiple(first, last, step)).unwrap_or(first)
}

/// A number strictly between two others, with as few digits as possible; `None` if there is none.
fn round_real(below: f64, above: f64) -> Option<f64> {
    let middle = below + (above - below) / 2.0;
    let widest = (above - below).log10().ceil() as i32;
    for power in (widest - 18..=widest).rev() {
        for times in [5.0, 2.0, 1.0] {
            // Parsed, since powers of ten are not exact in floats: the float nearest to the decimal.
            let number = |multiple: f64| {
                format!("{}e{power}", multiple * times).parse::<f64>().unwrap_or(f64::NAN)
            };
            let multiple = (middle / number(1.0)).floor();
            let near = [number(multiple), number(multiple + 1.0)];
            let within = near.into_iter().filter(|number| below < *number && *number < above);
            let found = within.min_by(|a, b| (a - middle).abs().total_cmp(&(b - middle).abs()));
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// The first day of a year, a half-year, a quarter or a month, or any day.
fn round_day(first: i64, last: i64) -> i64 {
    let date = |day: i64| i32::try_from(day).ok().map(|day| Day(day).parts());
    let (Some((from, from_month, _)), Some((to, to_month, _))) = (date(first), date(last)) else {
        return first;
    };
    let day = |year: i64, month: i64| {
        let (year, month) = (i32::try_from(year).ok()?, month as u32);
        Day::new(year, month, 1).map(|day| i64::from(day.0))
    };
    let is_within = |day: &i64| (first..=last).contains(day);
    // The year in the middle of those that may begin here, and so on.
    let months = |step: i64| {
        let (start, end) = (
            i64::from(from) * 12 + i64::from(from_month) - 1,
            i64::from(to) * 12 + i64::from(to_month) - 1,
        );
        let middle = start + (end - start) / 2;
        let at = middle.div_euclid(step);
        let near = [at - 1, at, at + 1, at + 2].map(|at| at * step);
        let days = near
            .into_iter()
            .filter_map(|month| day(month.div_euclid(12), month.rem_euclid(12) + 1));
        days.filter(is_within).min_by_key(|day| day.abs_diff(first + (last - first) / 2))
    };
    let steps = [1200, 600, 240, 120, 60, 24, 12, 6, 3, 1];
    steps.into_iter().find_map(months).unwrap_or(first + (last - first) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn day(text: &str) -> f64 {
        Type::Date.number(text).unwrap()
    }

    #[test]
    fn thresholds_are_what_a_person_would_write() {
        let whole = |below, above| threshold_between(Type::Integer, below, above);
        assert_eq!(whole(38.0, 42.0), 39.0, "38 | 40-");
        assert_eq!(whole(38.0, 39.0), 38.0, "there is no room");
        assert_eq!(whole(41.0, 47.0), 44.0, "41 | 45-");
        assert_eq!(whole(-7.0, 3.0), -1.0, "-7 | 0-");
        assert_eq!(whole(900.0, 12_000.0), 9999.0, "900 | 10000-");
        assert_eq!(whole(39.0, 41.0), 39.0, "39 | 40-");
        let real = |below, above| threshold_between(Type::Real, below, above);
        assert_eq!(real(38.2, 38.7), 38.5);
        assert_eq!(real(0.1, 0.3), 0.2);
        assert_eq!(real(-2.0, 3.0), 0.0);
        assert_eq!(real(1e300, 1.5e300), 1.2e300);
        assert_eq!(real(1.0, 1.0 + f64::EPSILON), 1.0, "there is no room");
        let date = |below: &str, above: &str| {
            let threshold = threshold_between(Type::Date, day(below), day(above));
            Day(threshold as i32 + 1).to_string()
        };
        assert_eq!(date("1980-03-17", "1980-04-09"), "1980-04-01");
        assert_eq!(date("1979-03-17", "1982-04-09"), "1980-01-01");
        assert_eq!(date("1979-03-17", "2021-04-09"), "2000-01-01");
        assert_eq!(date("1980-03-17", "1980-03-29"), "1980-03-23");
        assert_eq!(date("1980-03-17", "1980-03-18"), "1980-03-18");
    }

    /// Where there is room, no end of a range is one of the two values, and the rows stay apart.
    #[test]
    fn no_end_is_a_value_where_there_is_room() {
        let mut random = Random::new(8);
        for _ in 0..20_000 {
            let (kind, scale) = [(Type::Integer, 1.0), (Type::Date, 1.0), (Type::Real, 64.0)]
                [random.below(3) as usize];
            let below = (random.below(100_000) as f64 - 50_000.0) / scale;
            let most = 1 << random.below(12);
            let above = below + (1.0 + random.below(most) as f64) / scale;
            let threshold = threshold_between(kind, below, above);
            assert!(below <= threshold && threshold < above, "{kind:?} {below} {above}");
            if kind == Type::Real {
                assert!(below < threshold, "{below} {above}");
            } else {
                assert_eq!(threshold.fract(), 0.0);
                let is_free = below < threshold && threshold + 1.0 < above;
                assert!(is_free || above - below < 3.0, "{kind:?} {below} {above} {threshold}");
            }
        }
    }
}
