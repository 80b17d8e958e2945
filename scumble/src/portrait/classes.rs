//! The sizes of classes, counted in bounded memory.

use crate::error::{Error, Result};
use crate::release::{ReadAs, Recount, ShareOfClasses};
use crate::source::{Source, ahead};
use crate::watch::Watch;
use serde::Serialize;
use std::collections::BTreeMap;

/// The sizes of classes before and after, in ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassSizes {
    /// Of the original table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<SizeBar>,
    /// Of the release; empty if the quasi-identifiers are not known.
    pub after: Vec<SizeBar>,
}

/// The classes whose size is within a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SizeBar {
    /// The smallest size.
    pub from: u64,
    /// The largest size.
    pub to: u64,
    /// Classes of these sizes.
    pub classes: u64,
    /// The rows of these classes.
    pub rows: u64,
}

impl ClassSizes {
    /// From the number of classes of each size.
    pub(super) fn new(
        before: Option<&BTreeMap<u64, u64>>,
        after: Option<&BTreeMap<u64, u64>>,
    ) -> ClassSizes {
        let ends = |sizes: Option<&BTreeMap<u64, u64>>| {
            sizes.and_then(|sizes| Some((*sizes.keys().next()?, *sizes.keys().next_back()?)))
        };
        let all = [ends(before), ends(after)];
        let least = all.iter().flatten().map(|ends| ends.0).min().unwrap_or(1);
        let most = all.iter().flatten().map(|ends| ends.1).max().unwrap_or(1);
        let bars = |sizes: &BTreeMap<u64, u64>| -> Vec<SizeBar> {
            ranges(least, most).map(move |range| bar(sizes, range)).collect()
        };
        ClassSizes {
            before: before.map(bars).unwrap_or_default(),
            after: after.map(bars).unwrap_or_default(),
        }
    }
}

/// 1, 2, 3, 4, 5-9, 10-19, 20-49, 50-99, 100-199, … from the range of one size to that of another.
fn ranges(least: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    let powers = (0..19).map(|power| 10u64.pow(power));
    let starts = powers.flat_map(|power| [power, 2 * power, 5 * power]);
    let starts: Vec<u64> = [1, 2, 3, 4].into_iter().chain(starts.skip(2)).collect();
    let ranges: Vec<(u64, u64)> = starts.windows(2).map(|pair| (pair[0], pair[1] - 1)).collect();
    ranges.into_iter().filter(move |(from, to)| *to >= least && *from <= most)
}

fn bar(sizes: &BTreeMap<u64, u64>, (from, to): (u64, u64)) -> SizeBar {
    let bar = SizeBar { from, to, classes: 0, rows: 0 };
    sizes.range(from..=to).fold(bar, |bar, (size, classes)| SizeBar {
        classes: bar.classes + classes,
        rows: bar.rows + size * classes,
        ..bar
    })
}

/// The number of classes of each size: the distinct tuples of the columns that are keys. If all of
/// them exceed the memory, they are counted in parts, with a scan for each.
pub(super) fn sizes(
    table: &dyn Source,
    keys: &[bool],
    memory: Option<u64>,
    watch: &Watch,
) -> Result<BTreeMap<u64, u64>> {
    let file = table.file();
    let mut sizes = BTreeMap::new();
    let mut waiting = vec![ShareOfClasses::WHOLE];
    let read_as = vec![ReadAs::Labels; keys.iter().filter(|key| **key).count()];
    // Whatever grows holds its old place and its new one for a moment.
    let most = memory.map_or(u64::MAX, |memory| memory / 3);
    while let Some(part) = waiting.pop() {
        let mut recount = Recount::new(part, read_as.clone(), &|_, _| true);
        let halves = part.halves();
        let too_much = ahead(table.texts(keys)?, watch, |batches| {
            for batch in batches {
                let batch = batch?;
                recount.add(&batch, &file)?;
                watch.progress("portray", recount.rows(), batch.total);
                if halves.is_some() && recount.bytes() > most {
                    return Ok(halves);
                }
            }
            Ok(None)
        })?;
        match too_much {
            Some(halves) => waiting.extend(halves),
            None if recount.rows() == 0 => return Err(Error::EmptyTable { file }),
            None => recount
                .classes()
                .counts()
                .iter()
                .for_each(|size| *sizes.entry(u64::from(*size)).or_insert(0) += 1),
        }
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_in_one_range() {
        let all: Vec<(u64, u64)> = ranges(1, 2_000_000).collect();
        assert_eq!(all[..7], [(1, 1), (2, 2), (3, 3), (4, 4), (5, 9), (10, 19), (20, 49)]);
        assert!(all.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{all:?}");
        let sizes = BTreeMap::from([(3, 2), (7, 1), (9, 4), (1000, 1)]);
        let told = ClassSizes::new(None, Some(&sizes)).after;
        assert_eq!(told[0], SizeBar { from: 3, to: 3, classes: 2, rows: 6 });
        assert_eq!(told[2], SizeBar { from: 5, to: 9, classes: 5, rows: 43 });
        assert_eq!(told.iter().map(|bar| bar.rows).sum::<u64>(), 1049);
        assert_eq!(told.last().map(|bar| bar.from), Some(1000));
    }
}
