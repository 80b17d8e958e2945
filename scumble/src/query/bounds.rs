//! Bounds that hold in every world, and that some world reaches.
//!
//! Koudas et al. 2009, section 3.3. A world gives each record of a group a subdomain of its own
//! (those left over were fakes) and a value in it. Which s records of a group a query selects does
//! not matter, only how many.
//!
//! Let l₁ ≤ l₂ ≤ … be the lower ends of a group's subdomains and h₁ ≥ h₂ ≥ … the upper ends. In
//! every world the i-th smallest of s selected values is at least lᵢ, and the world that gives them
//! the subdomains of l₁ … lₛ at their lower ends has exactly these: a least element among all
//! worlds, value by value. Every aggregate here rises with each value, and groups do not touch each
//! other, so the least answer is that of the least values of all groups together, and likewise the
//! greatest. Both are reached, so the bounds are tight.
//!
//! | aggregate | lower | upper |
//! |---|---|---|
//! | SUM | Σ over groups of l₁ + … + lₛ | Σ of h₁ + … + hₛ |
//! | AVG | the same, over the number of selected rows, which is known | |
//! | MIN | the least l₁ | the least hₛ |
//! | MAX | the greatest lₛ | the greatest h₁ |
//! | MEDIAN | of all l₁ … lₛ together | of all h₁ … hₛ |
//!
//! Numbers are integers in units of 10^-scale. Only the printed answer is rounded, outwards.

/// An aggregate of the sensitive attribute over the selected rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    /// The number of rows.
    Count,
    /// The sum.
    Sum,
    /// The mean.
    Avg,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The middle value, or the mean of the two middle ones.
    Median,
}

impl Aggregate {
    /// Every aggregate with its name in SQL.
    pub const NAMES: [(&'static str, Aggregate); 6] = [
        ("COUNT", Aggregate::Count),
        ("SUM", Aggregate::Sum),
        ("AVG", Aggregate::Avg),
        ("MIN", Aggregate::Min),
        ("MAX", Aggregate::Max),
        ("MEDIAN", Aggregate::Median),
    ];
}

/// The ends of a group's subdomains, which is all that bounds depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The lower ends, ascending.
    lows: Vec<i64>,
    /// The upper ends, descending.
    highs: Vec<i64>,
}

/// The auxiliary table's line for a group and a number of selected rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The number of selected rows, at least 1.
    pub selected: u32,
    /// Bounds of the sum.
    pub sum: (i64, i64),
    /// Bounds of the smallest value.
    pub min: (i64, i64),
    /// Bounds of the largest value.
    pub max: (i64, i64),
}

impl Ends {
    /// The ends of subdomains, given as (lower, upper, copies).
    pub fn new(subdomains: impl Iterator<Item = (i64, i64, u32)> + Clone) -> Ends {
        let spread = |ends: Vec<(i64, u32)>| {
            let total = ends.iter().map(|(_, copies)| *copies as usize).sum();
            let mut all = Vec::with_capacity(total);
            for (end, copies) in ends {
                all.resize(all.len() + copies as usize, end);
            }
            all
        };
        let mut lows: Vec<(i64, u32)> =
            subdomains.clone().map(|(low, _, copies)| (low, copies)).collect();
        lows.sort_unstable();
        let mut highs: Vec<(i64, u32)> =
            subdomains.map(|(_, high, copies)| (high, copies)).collect();
        highs.sort_unstable_by(|a, b| b.cmp(a));
        Ends { lows: spread(lows), highs: spread(highs) }
    }

    /// The number of subdomains.
    pub fn len(&self) -> usize {
        self.lows.len()
    }

    /// Whether there are no subdomains.
    pub fn is_empty(&self) -> bool {
        self.lows.is_empty()
    }

    /// The auxiliary table for 1, 2, … `records` selected rows; `records` is at most the number of
    /// subdomains.
    pub fn lines(&self, records: u32) -> impl Iterator<Item = Line> {
        let mut sum = (0i64, 0i64);
        let ends = self.lows.iter().zip(&self.highs).take(records as usize);
        (1..).zip(ends).map(move |(selected, (low, high))| {
            // A genuine release has no sums that large, but a forged one must not crash the
            // program.
            sum = (sum.0.saturating_add(*low), sum.1.saturating_add(*high));
            Line { selected, sum, min: (self.lows[0], *high), max: (*low, self.highs[0]) }
        })
    }
}

/// A number that is known exactly: `numerator / denominator * 10^-scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    numerator: i128,
    denominator: u64,
    scale: u32,
}

/// The maximum number of digits of a printed bound: as many as a float always holds.
const DIGITS: u32 = 15;

impl Exact {
    /// A whole number of units of 10^-scale.
    pub fn units(number: i128, scale: u32) -> Exact {
        Exact { numerator: number, denominator: 1, scale }
    }

    /// The largest number of at most 15 digits that is not above this one.
    pub fn rounded_down(self) -> f64 {
        self.rounded(i128::div_euclid)
    }

    /// The smallest number of at most 15 digits that is not below this one.
    pub fn rounded_up(self) -> f64 {
        self.rounded(|above, below| -(-above).div_euclid(below))
    }

    fn rounded(self, divide: impl Fn(i128, i128) -> i128) -> f64 {
        let below = i128::from(self.denominator);
        // The units times 10^shift, as large as 15 digits allow; divided if they already have more.
        let shifted = |shift: i32, divide: &dyn Fn(i128, i128) -> i128| {
            let ten = 10i128.checked_pow(shift.unsigned_abs())?;
            if shift < 0 {
                Some(divide(self.numerator, below.checked_mul(ten)?))
            } else {
                Some(divide(self.numerator.checked_mul(ten)?, below))
            }
        };
        let fits = |shift: i32| {
            shifted(shift, &|above, below| above / below)
                .is_some_and(|digits| digits.abs() < 10i128.pow(DIGITS))
        };
        let mut shift = 0;
        while !fits(shift) && shift > -30 {
            shift -= 1;
        }
        while fits(shift + 1) && shift < 20 {
            shift += 1;
        }
        let digits = shifted(shift, &divide).unwrap_or_default();
        // Parsed from text, so that the shortest form of the float has exactly these digits.
        format!("{digits}e{}", -shift - self.scale as i32).parse().unwrap_or(f64::NAN)
    }

    /// The exact value of a mean of whole units, or of one of them.
    pub(super) fn over(numerator: i128, denominator: u64, scale: u32) -> Exact {
        Exact { numerator, denominator, scale }
    }
}

/// The possible answers to a query over all worlds that are consistent with the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of selected rows, which is known exactly.
    pub rows: u64,
    /// The smallest and the largest answer; `None` for an aggregate of no rows that has no value.
    pub bounds: Option<(Exact, Exact)>,
}

/// The tight bounds of an aggregate over the given number of selected rows of each group, which
/// must have at least as many subdomains. `scale` is the number of decimals of the ends.
pub fn bound(aggregate: Aggregate, groups: &[(&Ends, u32)], scale: u32) -> Answer {
    let rows: u64 = groups.iter().map(|(_, selected)| u64::from(*selected)).sum();
    let some = || groups.iter().filter(|(_, selected)| *selected > 0);
    let units = |(low, high): (i128, i128)| (Exact::units(low, scale), Exact::units(high, scale));
    let sum = |of: fn(&Ends) -> &[i64]| -> i128 {
        some()
            .flat_map(|(ends, selected)| &of(ends)[..*selected as usize])
            .map(|end| i128::from(*end))
            .sum()
    };
    let lows: fn(&Ends) -> &[i64] = |ends| &ends.lows;
    let highs: fn(&Ends) -> &[i64] = |ends| &ends.highs;
    let bounds = match aggregate {
        Aggregate::Count => Some((Exact::units(rows.into(), 0), Exact::units(rows.into(), 0))),
        _ if rows == 0 => None,
        Aggregate::Sum => Some(units((sum(lows), sum(highs)))),
        Aggregate::Avg => {
            Some((Exact::over(sum(lows), rows, scale), Exact::over(sum(highs), rows, scale)))
        }
        Aggregate::Min => {
            let low = some().map(|(ends, _)| ends.lows[0]).min();
            let high = some().map(|(ends, selected)| ends.highs[*selected as usize - 1]).min();
            low.zip(high).map(|(low, high)| units((low.into(), high.into())))
        }
        Aggregate::Max => {
            let low = some().map(|(ends, selected)| ends.lows[*selected as usize - 1]).max();
            let high = some().map(|(ends, _)| ends.highs[0]).max();
            low.zip(high).map(|(low, high)| units((low.into(), high.into())))
        }
        Aggregate::Median => {
            let median = |of: fn(&Ends) -> &[i64]| {
                let mut all: Vec<i64> = some()
                    .flat_map(|(ends, selected)| &of(ends)[..*selected as usize])
                    .copied()
                    .collect();
                all.sort_unstable();
                let (one, other) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
                Exact::over(i128::from(one) + i128::from(other), 2, scale)
            };
            Some((median(lows), median(highs)))
        }
    };
    Answer { rows, bounds }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn printed_bounds_are_rounded_outwards() {
        let third = Exact::over(110, 3, 0);
        assert_eq!(third.rounded_down().to_string(), "36.6666666666666");
        assert_eq!(third.rounded_up().to_string(), "36.6666666666667");
        let negative = Exact::over(-110, 3, 1);
        assert_eq!(negative.rounded_down().to_string(), "-3.66666666666667");
        assert_eq!(negative.rounded_up().to_string(), "-3.66666666666666");
        let huge = Exact::units(12_345_678_901_234_567, 0);
        assert_eq!(
            (huge.rounded_down(), huge.rounded_up()),
            (12_345_678_901_234_500.0, 12_345_678_901_234_600.0)
        );
        for exact in [0, 7, -7, 2_500_000] {
            let number = Exact::units(exact, 3);
            assert_eq!(number.rounded_down(), exact as f64 / 1000.0);
            assert_eq!(number.rounded_up(), exact as f64 / 1000.0);
        }
    }

    proptest! {
        #[test]
        fn no_printed_bound_is_inside(numerator in -1_000_000_000i128..1_000_000_000, denominator in 1u64..10_000, scale in 0u32..4) {
            let number = Exact::over(numerator, denominator, scale);
            // The printed bounds are decimals, here in units of 10^-20.
            let decimal = |float: f64| -> i128 {
                let shortest = format!("{float}");
                let (sign, digits) = shortest.strip_prefix('-').map_or((1, shortest.as_str()), |rest| (-1, rest));
                let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
                assert!(fraction.len() <= 20, "{shortest}");
                sign * format!("{whole}{fraction:0<20}").parse::<i128>().unwrap()
            };
            let (down, up) = (decimal(number.rounded_down()), decimal(number.rounded_up()));
            let below = i128::from(denominator) * 10i128.pow(scale);
            // down / 10^20 <= numerator / below <= up / 10^20, by division to keep within 128 bits.
            let truth = numerator * 10i128.pow(20);
            prop_assert!(down <= truth.div_euclid(below) , "{} {}", down, truth);
            prop_assert!(up >= -(-truth).div_euclid(below));
        }
    }
}
