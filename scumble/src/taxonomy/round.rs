//! Thresholds that a person would write.
//!
//! A split between two values of a table can be described by any number between them. A value of
//! the table would be somebody's value, so the threshold is the roundest number that is none,
//! where there is room: a multiple of a large power of ten (or of five or two of them), the first
//! day of a year or a month.

use crate::table::{Day, Moment, Type};

/// A threshold between two numbers of the table: `below` is not above it, and `above` is.
pub fn threshold_between(kind: Type, below: f64, above: f64) -> f64 {
    let threshold = match kind {
        Type::Integer => whole(below, above, round_whole),
        Type::Date => whole(below, above, round_day),
        Type::Timestamp => whole(below, above, round_moment),
        Type::Real => round_real(below, above).unwrap_or(below),
        Type::Text => below,
    };
    if below <= threshold && threshold < above { threshold } else { below }
}

/// The sides of a range from one number of the table to another, rounded outwards: the numbers lie
/// above the first side and not above the second. Neither end is one of the two numbers where there
/// is room. The range grows by about a quarter of its width on each side at most, and never beyond
/// the limits, which are sides as well.
pub fn rounded_outwards(
    kind: Type,
    (first, last): (f64, f64),
    (above, up_to): (Option<f64>, Option<f64>),
) -> (f64, f64) {
    let (above, up_to) = (above.unwrap_or(f64::NEG_INFINITY), up_to.unwrap_or(f64::INFINITY));
    let step = if kind == Type::Real { 0.0 } else { 1.0 };
    // Numbers that cannot be negative do not get a range that can.
    let raised = |side: f64| if first > 0.0 { side.max(-step) } else { side };
    // Larger steps come first.
    let below = |sides: &mut dyn Iterator<Item = f64>| {
        let fits = |side: &f64| above <= *side && *side < first && side.is_finite();
        sides.map(raised).find(fits)
    };
    let over = |mut sides: &mut dyn Iterator<Item = f64>| {
        let fits = |side: &f64| last <= *side && *side <= up_to && side.is_finite();
        Iterator::find(&mut sides, fits)
    };
    let (lower, upper) = match kind {
        Type::Real => {
            let steps = || real_steps(last - first);
            let upper = over(&mut steps().map(|step| step_above(last, step)));
            (below(&mut steps().map(|step| step_below(first, step))), upper)
        }
        // A side of whole numbers is the last number before the next range.
        Type::Integer => {
            let steps = || whole_steps(last - first);
            let upper = over(&mut steps().map(|step| multiple_above(last, step) - 1.0));
            (below(&mut steps().map(|step| multiple_below(first, step) - 1.0)), upper)
        }
        Type::Date => {
            let both = |months| Some((months_below(first, months)?, months_above(last, months)?));
            // A day more on either side, if months are too long.
            let days =
                || day_steps(last - first).filter_map(both).chain([(first - 1.0, last + 2.0)]);
            let upper = over(&mut days().map(|(_, next)| next - 1.0));
            (below(&mut days().map(|(from, _)| from - 1.0)), upper)
        }
        Type::Timestamp => {
            let (first, last) = (first as i64, last as i64);
            let both = |step| Some((step_before(first, step)?, step_after(last, step)?));
            let steps = || moment_steps(last - first).filter_map(both);
            let upper = over(&mut steps().map(|(_, next)| (next - 1) as f64));
            (below(&mut steps().map(|(from, _)| (from - 1) as f64)), upper)
        }
        Type::Text => (None, None),
    };
    // The numbers lie above it even if there is no room for a step.
    let before_first = if kind == Type::Real { first.next_down() } else { first - 1.0 };
    let nearest_below = if above.is_finite() { above } else { before_first };
    (lower.unwrap_or(nearest_below.min(before_first)), upper.unwrap_or(last))
}

/// Steps of whole numbers for a range of this width, the largest first.
fn whole_steps(width: f64) -> impl Iterator<Item = f64> {
    let first = WHOLE.partition_point(|step| *step > width / 4.0);
    WHOLE[first.min(WHOLE.len() - 1)..].iter().copied()
}

/// Powers of ten, and five and two of them, from the largest to 1.
const WHOLE: [f64; 51] = {
    let mut steps = [1.0; 51];
    let (mut at, mut power) = (51, 1i64);
    while at > 0 {
        steps[at - 1] = power as f64;
        steps[at - 2] = (2 * power) as f64;
        steps[at - 3] = (5 * power) as f64;
        (at, power) = (at - 3, power * 10);
    }
    steps
};

/// The largest multiple of a step below a number, so that the number is not it.
fn multiple_below(number: f64, step: f64) -> f64 {
    ((number - 1.0) / step).floor() * step
}

/// The smallest multiple of a step above the number that follows a number.
fn multiple_above(number: f64, step: f64) -> f64 {
    ((number + 2.0) / step).ceil() * step
}

/// Powers of ten, and five and two of them, for a range of this width: the exponent and the factor.
///
/// There are none for a width that is too small or too large for a float.
fn real_steps(width: f64) -> impl Iterator<Item = (i32, f64)> {
    let widest = Some((width / 4.0).log10().floor()).filter(|widest| widest.is_finite());
    let steps = widest.into_iter().flat_map(|widest| (widest as i32 - 3..=widest as i32).rev());
    let steps = steps.flat_map(|power| [5.0, 2.0, 1.0].map(|times| (power, times)));
    steps.filter(move |(power, times)| decimal(*times, *power) <= width / 4.0)
}

/// The powers of ten that are exact in floats.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// A decimal as the nearest float. Large powers of ten are not exact in floats; if the power and
/// the digits are, one operation rounds to the nearest.
fn decimal(digits: f64, power: i32) -> f64 {
    const EXACT: f64 = (1u64 << 53) as f64;
    let exact = POWERS.get(power.unsigned_abs() as usize).filter(|_| digits.abs() <= EXACT);
    match exact {
        Some(ten) if power < 0 => digits / ten,
        Some(ten) => digits * ten,
        None => format!("{digits}e{power}").parse().unwrap_or(f64::NAN),
    }
}

fn step_below(number: f64, (power, times): (i32, f64)) -> f64 {
    let multiple = (number / decimal(times, power)).ceil();
    // A quotient may be rounded to the multiple itself.
    let near = [1.0, 2.0].map(|back| decimal((multiple - back) * times, power));
    if near[0] < number { near[0] } else { near[1] }
}

fn step_above(number: f64, (power, times): (i32, f64)) -> f64 {
    let multiple = (number / decimal(times, power)).floor();
    let near = [1.0, 2.0].map(|on| decimal((multiple + on) * times, power));
    if near[0] > number { near[0] } else { near[1] }
}

/// Steps of days for a range of this width, in months: decades, years, quarters, months.
fn day_steps(width: f64) -> impl Iterator<Item = i64> {
    const STEPS: [(i64, f64); 4] = [(120, 14_610.0), (12, 1461.0), (3, 365.0), (1, 28.0)];
    STEPS.into_iter().filter(move |(_, least)| width >= *least).map(|(months, _)| months)
}

/// A step of the calendar or of clocks.
#[derive(Clone, Copy)]
enum Step {
    /// So many months.
    Months(i64),
    /// So many microseconds, which divide a day.
    Micros(i64),
}

/// Steps of clocks, the largest first.
const CLOCK: [i64; 13] = [
    Moment::DAY,
    12 * Moment::HOUR,
    6 * Moment::HOUR,
    Moment::HOUR,
    30 * Moment::MINUTE,
    15 * Moment::MINUTE,
    5 * Moment::MINUTE,
    Moment::MINUTE,
    30 * Moment::SECOND,
    15 * Moment::SECOND,
    5 * Moment::SECOND,
    Moment::SECOND,
    1,
];

/// Steps for a range of timestamps of this width, the largest first; always at least one.
fn moment_steps(width: i64) -> impl Iterator<Item = Step> {
    let months = day_steps((width / Moment::DAY) as f64).map(Step::Months);
    let clock = CLOCK.into_iter().filter(move |step| *step == 1 || *step <= width / 4);
    months.chain(clock.map(Step::Micros))
}

/// The last beginning of a step before a moment.
fn step_before(moment: i64, step: Step) -> Option<i64> {
    match step {
        Step::Months(months) => {
            // The day before, if the moment is the first of its day.
            let day = Moment(moment - 1).day();
            let month = month_of(f64::from(day.0)).div_euclid(months) * months;
            first_of(month).map(|day| day as i64 * Moment::DAY)
        }
        Step::Micros(micros) => Some((moment - 1).div_euclid(micros) * micros),
    }
}

/// The first beginning of a step after the moment that follows a moment.
fn step_after(moment: i64, step: Step) -> Option<i64> {
    match step {
        Step::Months(months) => {
            let day = Moment(moment + 1).day();
            let month = (month_of(f64::from(day.0)).div_euclid(months) + 1) * months;
            first_of(month).map(|day| day as i64 * Moment::DAY)
        }
        Step::Micros(micros) => Some(((moment + 1).div_euclid(micros) + 1) * micros),
    }
}

/// The first day of a month, counted from year 0, if it is a day.
fn first_of(month: i64) -> Option<f64> {
    let year = i32::try_from(month.div_euclid(12)).ok()?;
    Day::new(year, month.rem_euclid(12) as u32 + 1, 1).map(|day| f64::from(day.0))
}

fn month_of(day: f64) -> i64 {
    let (year, month, _) = Day(day as i32).parts();
    i64::from(year) * 12 + i64::from(month) - 1
}

/// The last of the days that begin a step of months, before a day.
fn months_below(day: f64, step: i64) -> Option<f64> {
    first_of(month_of(day - 1.0).div_euclid(step) * step)
}

/// The first of the days that begin a step of months, after the day that follows a day.
fn months_above(day: f64, step: i64) -> Option<f64> {
    first_of((month_of(day + 1.0).div_euclid(step) + 1) * step)
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
            let number = |multiple: f64| decimal(multiple * times, power);
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

/// The first moment of a day as round as [`round_day`] finds it, or of an hour, a minute or a second.
fn round_moment(first: i64, last: i64) -> i64 {
    let days = (-(-first).div_euclid(Moment::DAY), last.div_euclid(Moment::DAY));
    if days.0 <= days.1 {
        return round_day(days.0, days.1) * Moment::DAY;
    }
    CLOCK.into_iter().find_map(|step| multiple(first, last, step)).unwrap_or(first)
}

/// The first day of a century, a decade, a year, a quarter, a month or something between, or any
/// day.
fn round_day(first: i64, last: i64) -> i64 {
    if i32::try_from(first).is_err() || i32::try_from(last).is_err() {
        return first;
    }
    let middle = first + (last - first) / 2;
    let months = (month_of(first as f64) + month_of(last as f64)).div_euclid(2);
    // The first day in the middle of those that may begin here.
    let begins = |step: i64| {
        let near = (-1..=2).map(|further| (months.div_euclid(step) + further) * step);
        let days = near.filter_map(first_of).map(|day| day as i64);
        days.filter(|day| (first..=last).contains(day)).min_by_key(|day| day.abs_diff(middle))
    };
    [1200, 600, 240, 120, 60, 24, 12, 6, 3, 1].into_iter().find_map(begins).unwrap_or(middle)
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

    #[test]
    fn times_are_what_a_person_would_write() {
        let moment = |text: &str| Type::Timestamp.number(text).unwrap();
        let next = |below: &str, above: &str| {
            let threshold = threshold_between(Type::Timestamp, moment(below), moment(above));
            assert!(moment(below) <= threshold && threshold < moment(above));
            Moment(threshold as i64 + 1).to_string()
        };
        assert_eq!(next("2019-03-17 10:00", "2020-04-09 10:00"), "2020-01-01 00:00");
        assert_eq!(next("2020-03-17 10:00", "2020-03-18 10:00"), "2020-03-18 00:00");
        assert_eq!(next("2020-03-17 10:10", "2020-03-17 12:50"), "2020-03-17 12:00");
        assert_eq!(next("2020-03-17 13:10", "2020-03-17 15:50"), "2020-03-17 14:00");
        assert_eq!(next("2020-03-17 13:10", "2020-03-17 13:12"), "2020-03-17 13:11");
        assert_eq!(next("2020-03-17 13:10", "2020-03-17 13:11"), "2020-03-17 13:10:30");
        let range = |first: &str, last: &str| {
            let ends = (moment(first), moment(last));
            let (above, up_to) = rounded_outwards(Type::Timestamp, ends, (None, None));
            super::super::range_label(Type::Timestamp, above + 1.0, up_to)
        };
        let cases = [
            ("2020-03-17 10:10", "2020-05-09 10:10", "2020-03-01 to 2020-05-31"),
            ("2020-03-17 10:10", "2020-03-29 10:10", "2020-03-17 to 2020-03-29"),
            ("2020-03-17 10:10", "2020-03-17 15:50", "2020-03-17 10h to 2020-03-17 15h"),
            ("2020-03-17 10:10", "2020-03-17 10:14", "2020-03-17 10:09 to 2020-03-17 10:14"),
        ];
        for (first, last, label) in cases {
            assert_eq!(range(first, last), label);
        }
    }

    #[test]
    fn decimals_are_what_their_text_is() {
        let mut random = Random::new(7);
        for _ in 0..100_000 {
            let most = 1 << random.below(54);
            let digits = random.below(most) as f64;
            let digits = if random.below(2) == 0 { digits } else { -digits };
            let power = random.below(60) as i32 - 30;
            let text: f64 = format!("{digits}e{power}").parse().unwrap();
            assert_eq!(decimal(digits, power).to_bits(), text.to_bits(), "{digits}e{power}");
        }
    }

    /// The width of a range may be too small or too large for a float, and so may a quarter of it.
    #[test]
    fn ranges_of_extreme_numbers_hold_them() {
        let tiny = f64::from_bits(1);
        let extremes = [f64::MIN, -1e308, -1.0, -tiny, 0.0, tiny, 2.0 * tiny, 1e-300, 1.7e308];
        for (at, first) in extremes.iter().enumerate() {
            for last in extremes[at + 1..].iter().chain([&f64::MAX]) {
                let (above, up_to) = rounded_outwards(Type::Real, (*first, *last), (None, None));
                assert!(above < *first && *last <= up_to && up_to.is_finite(), "{first} {last}");
                let threshold = threshold_between(Type::Real, *first, *last);
                assert!(*first <= threshold && threshold < *last, "{first} {last}");
            }
        }
    }

    #[test]
    fn ranges_are_rounded_to_what_a_person_would_write() {
        let none = (None, None);
        let whole = |first: f64, last: f64, limits| {
            let (above, up_to) = rounded_outwards(Type::Integer, (first, last), limits);
            (above + 1.0, up_to)
        };
        assert_eq!(whole(31.0, 38.0, none), (30.0, 39.0));
        assert_eq!(whole(30.0, 39.0, none), (28.0, 41.0), "30 and 39 are somebody's");
        assert_eq!(whole(2.0, 87.0, none), (0.0, 99.0));
        assert_eq!(whole(0.0, 2999.0, none), (-500.0, 3499.0));
        assert_eq!(whole(31.0, 38.0, (Some(30.0), Some(38.0))), (31.0, 38.0), "there is no room");
        assert_eq!(whole(31.0, 38.0, (Some(28.0), Some(39.0))), (30.0, 39.0));
        let real = |first: f64, last: f64| rounded_outwards(Type::Real, (first, last), none);
        assert_eq!(real(31.25, 38.5), (31.0, 39.0));
        assert_eq!(real(0.1, 0.3), (0.08, 0.32));
        assert_eq!(real(1e300, 1.5e300), (9e299, 1.6e300));
        let days = |first: &str, last: &str| {
            let (above, up_to) = rounded_outwards(Type::Date, (day(first), day(last)), none);
            (Day(above as i32 + 1).to_string(), Day(up_to as i32).to_string())
        };
        let text = |from: &str, to: &str| (from.to_string(), to.to_string());
        assert_eq!(days("1980-03-17", "1980-05-09"), text("1980-03-01", "1980-05-31"));
        assert_eq!(days("1971-03-17", "1979-05-09"), text("1971-01-01", "1979-12-31"));
        assert_eq!(days("1980-03-01", "1980-03-09"), text("1980-02-29", "1980-03-10"));
    }

    /// Rounded ranges hold their numbers, stay within the limits, and do not grow too much.
    #[test]
    fn rounded_ranges_hold_their_numbers() {
        let mut random = Random::new(9);
        for _ in 0..20_000 {
            let kinds = [Type::Integer, Type::Date, Type::Timestamp, Type::Real];
            let kind = kinds[random.below(4) as usize];
            let unit = match kind {
                Type::Real => 1.0 / 64.0,
                Type::Timestamp => 37_000_001.0,
                _ => 1.0,
            };
            let first = (random.below(100_000) as f64 - 50_000.0) * unit;
            let most = 1 << random.below(12);
            let last = first + (1.0 + random.below(most) as f64) * unit;
            let step = if kind == Type::Real { 0.0 } else { 1.0 };
            let mut limit = |number: f64| match random.below(2) {
                0 => None,
                _ => Some(number * (1.0 + random.below(40) as f64) * unit),
            };
            let above = limit(1.0).map(|below| first - below);
            let up_to = limit(1.0).map(|over| last + over - step);
            let (low, high) = rounded_outwards(kind, (first, last), (above, up_to));
            assert!(low < first && last <= high, "{kind:?} {first} {last}: {low} {high}");
            assert!(above.is_none_or(|above| above <= low), "{above:?} {low}");
            assert!(up_to.is_none_or(|up_to| high <= up_to), "{up_to:?} {high}");
            if above.is_none() && up_to.is_none() {
                let (width, more) = (last - first, if kind == Type::Date { 62.0 } else { 4.0 });
                assert!(high - low <= 1.5 * width + more * step, "{first} {last}: {low} {high}");
                assert!(low + step < first && last < high, "{first} {last}: {low} {high}");
            }
        }
    }

    /// Where there is room, no end of a range is one of the two values, and the rows stay apart.
    #[test]
    fn no_end_is_a_value_where_there_is_room() {
        let mut random = Random::new(8);
        for _ in 0..20_000 {
            let kinds = [Type::Integer, Type::Date, Type::Timestamp, Type::Real];
            let kind = kinds[random.below(4) as usize];
            let unit = match kind {
                Type::Real => 1.0 / 64.0,
                Type::Timestamp => 37_000_001.0,
                _ => 1.0,
            };
            let below = (random.below(100_000) as f64 - 50_000.0) * unit;
            let most = 1 << random.below(12);
            let above = below + (1.0 + random.below(most) as f64) * unit;
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
