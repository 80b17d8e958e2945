//! How much does a split tell about the target?

use super::children::{ANY, Parted, children};
use super::choose::{Choice, Splits, allows, apart, rounded, splits, threshold};
use super::{Aim, FrequencySet, Judge};
use crate::error::Result;
use crate::taxonomy::{Axis, Extent};
use crate::watch::Watch;
use std::cmp::Ordering;
use std::ops::Range;

/// The allowable split with the greatest gain.
pub(super) fn by_gain(
    axes: &[Axis],
    extents: &[Extent],
    judge: &Judge<'_>,
    aim: &Aim,
    watch: &Watch,
    set: &mut impl FnMut(usize) -> Result<FrequencySet>,
) -> Result<Option<(f64, Choice)>> {
    let mut best: Option<(f64, Choice)> = None;
    for (column, (axis, extent)) in axes.iter().zip(extents).enumerate() {
        if extent.first == extent.last {
            continue;
        }
        let set = set(column)?;
        let mut candidates: Vec<(f64, Vec<Range<usize>>, Choice)> = Vec::new();
        let all = set.codes.len();
        match splits(axis, *extent) {
            Splits::Apart(missing) => {
                let at = set.codes.partition_point(|code| *code < missing);
                let parts = vec![0..at, at..all];
                let both: Vec<_> = parts.iter().map(|part| vec![part.clone()]).collect();
                let gain = gain(aim, &set, &both);
                candidates.push((gain, parts, apart(column, &set, at, missing)));
            }
            Splits::Thresholds { .. } => {
                for (at, gain) in gains(aim, &set, watch)? {
                    if best.as_ref().is_none_or(|(known, _)| gain > *known) {
                        candidates.push((
                            gain,
                            vec![0..at, at..all],
                            threshold(axis, column, &set, at),
                        ));
                    }
                }
            }
            Splits::Children { level } => {
                if let Some(Parted { choice, parts, .. }) =
                    children(axis, column, level, (&set, ANY), judge, watch)?
                {
                    let gain = gain(aim, &set, &parts);
                    let beats = |known: f64| gain.total_cmp(&known) == Ordering::Greater;
                    if best.as_ref().is_none_or(|(known, _)| beats(*known)) {
                        best = Some((gain, choice));
                    }
                }
                continue;
            }
        }
        // Of equal gains the lowest threshold comes first.
        let gains = candidates.iter().map(|(gain, ..)| *gain);
        let mut order: Vec<(f64, usize)> = gains.zip(0..).collect();
        watch.sort_by(&mut order, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)))?;
        let beats = |gain: f64| {
            best.as_ref().is_none_or(|(known, _)| gain.total_cmp(known) == Ordering::Greater)
        };
        let mut found = None;
        for (gain, at) in order.into_iter().take_while(|(gain, _)| beats(*gain)) {
            watch.check()?;
            if allows(&candidates[at].1, &set, judge, watch)? {
                found = Some((gain, candidates.swap_remove(at).2));
                break;
            }
        }
        best = found.or(best);
    }
    Ok(best)
}

/// What is known of the target in some rows: enough to say how uncertain it is there.
#[derive(Clone, Debug)]
enum Spread {
    Labels(Vec<u64>),
    /// Rows, sum and sum of squares.
    Numbers(f64, f64, f64),
}

impl Spread {
    fn none(aim: &Aim, set: &FrequencySet) -> Spread {
        match aim {
            Aim::InfoGain { column } => {
                let labels =
                    (0..set.codes.len()).filter_map(|at| set.tallies[*column].group(at).last());
                Spread::Labels(vec![
                    0;
                    labels.map(|(label, _)| *label as usize + 1).max().unwrap_or(0)
                ])
            }
            Aim::Loss { .. } | Aim::Median | Aim::Regression { .. } => {
                Spread::Numbers(0.0, 0.0, 0.0)
            }
        }
    }

    fn add(&mut self, aim: &Aim, set: &FrequencySet, at: usize, sign: i64) {
        match (self, aim) {
            (Spread::Labels(labels), Aim::InfoGain { column }) => {
                for (label, count) in set.tallies[*column].group(at) {
                    let known = &mut labels[*label as usize];
                    *known = known.wrapping_add_signed(sign * i64::from(*count));
                }
            }
            (Spread::Numbers(rows, sum, squares), Aim::Regression { column, numbers }) => {
                for (value, count) in set.tallies[*column].group(at) {
                    let (number, count) =
                        (numbers[*value as usize], sign as f64 * f64::from(*count));
                    *rows += count;
                    *sum += count * number;
                    *squares += count * number * number;
                }
            }
            _ => {}
        }
    }

    /// Bits (times rows) of the labels, or squared error of the numbers.
    fn uncertainty(&self) -> f64 {
        match self {
            Spread::Labels(labels) => {
                let rows: u64 = labels.iter().sum();
                let bits = |count: &u64| *count as f64 * (rows as f64 / *count as f64).log2();
                labels.iter().filter(|count| **count > 0).map(bits).sum()
            }
            Spread::Numbers(rows, sum, squares) => {
                if *rows > 0.0 {
                    (squares - sum * sum / rows).max(0.0)
                } else {
                    0.0
                }
            }
        }
    }
}

/// Bits of information about the label per row, or the share of the squared error that goes away.
fn scaled(aim: &Aim, rows: u64, whole: f64, left: f64) -> f64 {
    let gain = match aim {
        Aim::InfoGain { .. } => (whole - left) / rows as f64,
        _ if whole > 0.0 => (whole - left) / whole,
        _ => 0.0,
    };
    rounded(gain)
}

fn spread_of(aim: &Aim, set: &FrequencySet, part: impl Iterator<Item = usize>) -> Spread {
    let mut spread = Spread::none(aim, set);
    part.for_each(|at| spread.add(aim, set, at, 1));
    spread
}

fn gain(aim: &Aim, set: &FrequencySet, parts: &[Vec<Range<usize>>]) -> f64 {
    let whole = spread_of(aim, set, 0..set.codes.len()).uncertainty();
    let positions = |part: &Vec<Range<usize>>| part.clone().into_iter().flatten();
    let left = parts.iter().map(|part| spread_of(aim, set, positions(part)).uncertainty()).sum();
    scaled(aim, set.rows(), whole, left)
}

/// The gain of every threshold, by the position behind it.
fn gains(aim: &Aim, set: &FrequencySet, watch: &Watch) -> Result<Vec<(usize, f64)>> {
    let mut above = spread_of(aim, set, 0..set.codes.len());
    let mut below = Spread::none(aim, set);
    let (rows, whole) = (set.rows(), above.uncertainty());
    let step = |at: usize| {
        watch.check()?;
        below.add(aim, set, at, 1);
        above.add(aim, set, at, -1);
        Ok((at + 1, scaled(aim, rows, whole, below.uncertainty() + above.uncertainty())))
    };
    (0..set.codes.len().saturating_sub(1)).map(step).collect()
}
