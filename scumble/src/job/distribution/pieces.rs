//! Pieces of a table: made in parallel, handed over in order.

use crate::error::Result;
use crate::watch::Watch;
use rayon::prelude::*;
use std::ops::Range;

/// Rows that one thread makes at a time.
const PIECE: u64 = 1 << 13;

/// Pieces that are made while those before them are handed over.
const WINDOW: usize = 16;

/// Makes pieces of items in parallel and hands them over in order, some while the next ones are
/// made. `rows` tells about how many rows an item has. What is handed over does not depend on the
/// number of threads.
pub(super) fn in_order<T: Send>(
    items: usize,
    rows: impl Fn(usize) -> u64,
    make: impl Fn(Range<usize>) -> T + Sync,
    mut take: impl FnMut(T) -> Result<()> + Send,
    watch: &Watch,
) -> Result<()> {
    let mut next = 0;
    let mut piece = || {
        let (start, mut length) = (next, 0);
        while next < items && length < PIECE {
            length += rows(next).max(1);
            next += 1;
        }
        (start < next).then_some(start..next)
    };
    let mut made: Vec<T> = Vec::new();
    loop {
        watch.check()?;
        let coming: Vec<Range<usize>> = std::iter::from_fn(&mut piece).take(WINDOW).collect();
        let hand_over = || made.into_iter().try_for_each(&mut take);
        let (handed_over, now) = rayon::join(hand_over, || {
            coming.into_par_iter().with_max_len(1).map(&make).collect::<Vec<T>>()
        });
        handed_over?;
        if now.is_empty() {
            return Ok(());
        }
        made = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    /// Items of very different sizes, the same rows for one thread and for several.
    #[test]
    fn pieces_come_in_order() {
        let sizes: Vec<u64> =
            (0..4000).map(|item| if item % 97 == 0 { 20_000 } else { item % 7 }).collect();
        let make = |items: Range<usize>| -> Vec<(usize, u64)> {
            items.flat_map(|item| (0..sizes[item]).map(move |row| (item, row))).collect()
        };
        let wanted = make(0..sizes.len());
        let watch = Watch::silent();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut found = Vec::new();
            let take = |piece: Vec<(usize, u64)>| {
                found.extend(piece);
                Ok(())
            };
            pool.install(|| in_order(sizes.len(), |item| sizes[item], make, take, &watch)).unwrap();
            assert!(found == wanted);
        }
        let failed =
            in_order(sizes.len(), |item| sizes[item], make, |_| Err(Error::Defect), &watch);
        assert!(matches!(failed, Err(Error::Defect)));
        let aborted = in_order(9, |_| 1, make, |_| Ok(()), &Watch::aborting_after(0));
        assert!(matches!(aborted, Err(Error::Interrupted)));
    }
}
