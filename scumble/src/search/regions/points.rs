//! Rows as points: a few words each, moved so that the rows of a partition lie side by side.
//!
//! A point is one row, or all rows that have its words: then one of the words is how many they are.
//! Rows that are alike stay together in every partition, so the same splits are found either way;
//! whatever counts rows asks [`Points::rows`] and [`Layout::rows`], and knows no difference.

use crate::error::Result;
use crate::taxonomy::Extent;
use crate::watch::{PIECE, Watch};

/// Calls a function of a number of words that is known beforehand, so that they are worked on
/// several at a time; or does something else where they are many.
macro_rules! by_number {
    ($number:expr, $function:ident($($argument:expr),*), $otherwise:expr) => {
        match $number {
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            3 => $function::<3>($($argument),*),
            4 => $function::<4>($($argument),*),
            5 => $function::<5>($($argument),*),
            6 => $function::<6>($($argument),*),
            7 => $function::<7>($($argument),*),
            8 => $function::<8>($($argument),*),
            9 => $function::<9>($($argument),*),
            10 => $function::<10>($($argument),*),
            11 => $function::<11>($($argument),*),
            12 => $function::<12>($($argument),*),
            _ => $otherwise,
        }
    };
}

/// Where the columns of a point stand among its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The first word of each quasi-identifier, and whether its code takes two.
    keys: Vec<(usize, bool)>,
    /// The first counted column.
    counted: usize,
    /// The word that says how many rows a point stands for, where it is not one.
    weight: Option<usize>,
    /// Words of a point.
    width: usize,
}

impl Layout {
    /// Quasi-identifiers of one word each (two where `wide`), counted columns, and words that only
    /// travel.
    pub fn new(wide: &[bool], counted: usize, travelling: usize) -> Layout {
        let mut at = 0;
        let mut keys = Vec::with_capacity(wide.len());
        for wide in wide {
            keys.push((at, *wide));
            at += if *wide { 2 } else { 1 };
        }
        Layout { keys, counted: at, weight: None, width: at + counted + travelling }
    }

    /// Words of a point.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many quasi-identifiers there are.
    pub fn keys(&self) -> usize {
        self.keys.len()
    }

    /// The code of a quasi-identifier.
    pub fn code(&self, point: &[u32], column: usize) -> u64 {
        self.reader(column)(point)
    }

    /// What reads the code of a quasi-identifier, of many points.
    pub fn reader(&self, column: usize) -> impl Fn(&[u32]) -> u64 + Copy + use<> {
        let (at, wide) = self.keys[column];
        move |point: &[u32]| {
            if wide {
                u64::from(point[at]) << 32 | u64::from(point[at + 1])
            } else {
                u64::from(point[at])
            }
        }
    }

    /// Writes the code of a quasi-identifier.
    pub fn set_code(&self, point: &mut [u32], column: usize, code: u64) {
        let (at, wide) = self.keys[column];
        if wide {
            (point[at], point[at + 1]) = ((code >> 32) as u32, code as u32)
        } else {
            point[at] = code as u32
        }
    }

    /// The value of a counted column.
    pub fn value(&self, point: &[u32], column: usize) -> u32 {
        point[self.counted + column]
    }

    /// Whether every quasi-identifier takes one word.
    pub fn is_narrow(&self) -> bool {
        self.counted == self.keys.len()
    }

    /// The same with one more word that travels: the number of the row.
    pub fn numbered(&self) -> Layout {
        Layout { width: self.width + 1, ..self.clone() }
    }

    /// The same with one more word: how many rows a point stands for.
    pub fn weighted(&self) -> Layout {
        Layout { weight: Some(self.width), width: self.width + 1, ..self.clone() }
    }

    /// How many rows a point stands for.
    pub fn rows(&self, point: &[u32]) -> u64 {
        self.weight.map_or(1, |at| u64::from(point[at]))
    }

    /// Makes the extents of all quasi-identifiers hold a point too.
    pub fn include(&self, extents: &mut [Extent], point: &[u32]) {
        extents
            .iter_mut()
            .enumerate()
            .for_each(|(column, extent)| extent.include(self.code(point, column)));
    }

    /// The least and the greatest code of every quasi-identifier of points that lie side by side.
    pub fn extents(&self, words: &[u32]) -> Vec<Extent> {
        let keys = self.keys.len();
        if self.is_narrow() {
            // Both ends of all columns in one pass.
            let one_by_one = || (0..keys).map(|column| self.end(words, column)).collect();
            return by_number!(keys, ends(words, self.width), one_by_one());
        }
        let mut extents = vec![Extent::NONE; keys];
        words.chunks_exact(self.width).for_each(|point| self.include(&mut extents, point));
        extents
    }

    /// The extent of a column of one word.
    fn end(&self, words: &[u32], column: usize) -> Extent {
        let codes = words.chunks_exact(self.width).map(|point| point[column]);
        let (first, last) =
            codes.fold((u32::MAX, 0), |(first, last), code| (first.min(code), last.max(code)));
        Extent { first: first.into(), last: last.into() }
    }

    /// Where the counted columns begin.
    pub fn counted(&self) -> usize {
        self.counted
    }
}

/// The points of one partition.
#[derive(Debug)]
pub struct Points<'a> {
    layout: &'a Layout,
    words: &'a mut [u32],
    rows: u64,
}

impl<'a> Points<'a> {
    /// Points that lie side by side.
    pub fn new(layout: &'a Layout, words: &'a mut [u32]) -> Points<'a> {
        let points = words.len() / layout.width;
        let rows = match layout.weight {
            None => points as u64,
            Some(_) => words.chunks_exact(layout.width).map(|point| layout.rows(point)).sum(),
        };
        Points { layout, words, rows }
    }

    /// Points that stand for so many rows together.
    pub(super) fn holding(layout: &'a Layout, words: &'a mut [u32], rows: u64) -> Points<'a> {
        Points { layout, words, rows }
    }

    /// Where columns stand.
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.words.len() / self.layout.width
    }

    /// How many rows they stand for.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The points, one by one.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.words.chunks_exact(self.layout.width)
    }

    /// The least and the greatest code of every quasi-identifier.
    pub fn extents(&self, watch: &Watch) -> Result<Vec<Extent>> {
        let (some, more) = self.words.split_at(self.words.len().min(PIECE * self.layout.width));
        let mut extents = self.layout.extents(some);
        for piece in more.chunks(PIECE * self.layout.width) {
            watch.check()?;
            for (extent, more) in extents.iter_mut().zip(self.layout.extents(piece)) {
                extent.include(more.first);
                extent.include(more.last);
            }
        }
        Ok(extents)
    }

    /// The points, as many at a time as are gone through between two polls for an abort.
    fn pieces(&self) -> std::slice::Chunks<'_, u32> {
        self.words.chunks(PIECE * self.layout.width)
    }

    /// Tells the code of a quasi-identifier and the rows of each point, unless the job is aborted.
    pub fn each_code(
        &self,
        column: usize,
        watch: &Watch,
        mut each: impl FnMut(u64, u64),
    ) -> Result<()> {
        let (code, layout) = (self.layout.reader(column), self.layout);
        for piece in self.pieces() {
            watch.check()?;
            let points = piece.chunks_exact(layout.width);
            points.for_each(|point| each(code(point), layout.rows(point)));
        }
        Ok(())
    }

    /// What is told of each point, as often as there are rows that it stands for.
    pub fn by_row<T: Copy>(&self, watch: &Watch, told: impl Fn(&[u32]) -> T) -> Result<Vec<T>> {
        let mut by_row = Vec::with_capacity(self.rows as usize);
        for piece in self.pieces() {
            watch.check()?;
            let points = piece.chunks_exact(self.layout.width);
            if self.layout.weight.is_none() {
                by_row.extend(points.map(&told));
                continue;
            }
            for point in points {
                let (told, mut left) = (told(point), self.layout.rows(point) as usize);
                while left > PIECE {
                    watch.check()?;
                    by_row.extend(std::iter::repeat_n(told, PIECE));
                    left -= PIECE;
                }
                by_row.extend(std::iter::repeat_n(told, left));
            }
        }
        Ok(by_row)
    }

    /// The same points for a while.
    pub fn again(&mut self) -> Points<'_> {
        Points { layout: self.layout, words: self.words, rows: self.rows }
    }

    /// The first so many points, each of which is a row, and the others.
    pub fn split_at(self, points: usize) -> (Points<'a>, Points<'a>) {
        let (first, others) = self.words.split_at_mut(points * self.layout.width);
        (Points::new(self.layout, first), Points::new(self.layout, others))
    }

    /// Moves each point to its place; `places` has every number below [`len`](Self::len) once.
    pub fn put_in_place(self, places: &mut [u32], watch: &Watch) -> Result<()> {
        let (width, mut moved) = (self.layout.width, 0usize);
        for at in 0..places.len() {
            // Those before are in their places, so the others belong behind them.
            while places[at] as usize != at {
                let to = places[at] as usize;
                swap(self.words, at * width, to * width, width);
                places.swap(at, to);
                moved += 1;
                if moved % PIECE == 0 {
                    watch.check()?;
                }
            }
        }
        Ok(())
    }

    /// Puts the points with a code below `before` first, and parts them from the rest.
    pub fn part(
        self,
        column: usize,
        before: u64,
        watch: &Watch,
    ) -> Result<(Points<'a>, Points<'a>)> {
        let Points { layout, words, rows } = self;
        let width = layout.width;
        let code = layout.reader(column);
        let goes_first = |point: &[u32]| code(point) < before;
        let (mut first, mut end) = (0, words.len());
        while first < end {
            watch.check()?;
            // As far as both ends move before the next poll. What lies behind `end` goes second,
            // and what lies before `first` goes first, so they do not pass each other.
            let until = end.min(first + PIECE * width);
            let since = first.max(end.saturating_sub(PIECE * width));
            loop {
                while first < until && goes_first(&words[first..]) {
                    first += width;
                }
                while end > since && !goes_first(&words[end - width..]) {
                    end -= width;
                }
                if first >= until || end <= since || first >= end {
                    break;
                }
                // The left one belongs right, the right one belongs left.
                swap(words, first, end - width, width);
            }
        }
        let (below, above) = words.split_at_mut(first);
        let below_rows = match layout.weight {
            None => (below.len() / width) as u64,
            Some(_) => {
                let mut rows = 0;
                for piece in below.chunks(PIECE * width) {
                    watch.check()?;
                    rows += piece.chunks_exact(width).map(|point| layout.rows(point)).sum::<u64>();
                }
                rows
            }
        };
        let above = Points { layout, words: above, rows: rows - below_rows };
        Ok((Points { layout, words: below, rows: below_rows }, above))
    }

    /// Parts the points by what `part_of` says of the code of a quasi-identifier, a number below
    /// `parts`.
    pub fn part_many(
        self,
        column: usize,
        parts: usize,
        part_of: impl Fn(u64) -> usize,
        watch: &Watch,
    ) -> Result<Vec<Points<'a>>> {
        let Points { layout, words, .. } = self;
        let width = layout.width;
        let code = layout.reader(column);
        // The words and the rows of each part.
        let mut sizes = vec![(0usize, 0u64); parts];
        for piece in words.chunks(PIECE * width) {
            watch.check()?;
            for point in piece.chunks_exact(width) {
                let (size, rows) = &mut sizes[part_of(code(point))];
                (*size, *rows) = (*size + width, *rows + layout.rows(point));
            }
        }
        // Where the next point of each part goes; what lies before it in the part is there already.
        let mut next: Vec<usize> = Vec::with_capacity(parts);
        let mut at = 0;
        for (size, _) in &sizes {
            next.push(at);
            at += size;
        }
        let part_at = |point: &[u32]| part_of(code(point));
        if words.len() <= PIECE * width {
            put_in_order::<false>(words, width, &sizes, next, part_at, watch)?
        } else {
            put_in_order::<true>(words, width, &sizes, next, part_at, watch)?
        }
        let mut rest = words;
        let mut parted = Vec::with_capacity(parts);
        for (size, rows) in sizes {
            let (words, others) = rest.split_at_mut(size);
            parted.push(Points { layout, words, rows });
            rest = others;
        }
        Ok(parted)
    }
}

/// Moves points to their parts, whose words and rows are known. The next point of each part goes to
/// `next`. Few points are moved without a poll for an abort.
#[inline(always)]
fn put_in_order<const POLLED: bool>(
    words: &mut [u32],
    width: usize,
    sizes: &[(usize, u64)],
    mut next: Vec<usize>,
    part_at: impl Fn(&[u32]) -> usize,
    watch: &Watch,
) -> Result<()> {
    let (mut end, mut moved) = (0, 0usize);
    for (part, (size, _)) in sizes.iter().enumerate() {
        end += size;
        let mut at = next[part];
        while at < end {
            // Parts before this one are complete, so a point of another part goes to one behind.
            match part_at(&words[at..]) {
                here if here == part => at += width,
                behind => {
                    swap(words, at, next[behind], width);
                    next[behind] += width;
                }
            }
            if POLLED {
                moved += 1;
                if moved % PIECE == 0 {
                    watch.check()?;
                }
            }
        }
    }
    Ok(())
}

/// The extents of the first `N` words of points that have so many.
fn ends<const N: usize>(words: &[u32], width: usize) -> Vec<Extent> {
    let (mut first, mut last) = ([u32::MAX; N], [0u32; N]);
    for point in words.chunks_exact(width) {
        let Some(point) = point.first_chunk::<N>() else { break };
        for column in 0..N {
            first[column] = first[column].min(point[column]);
            last[column] = last[column].max(point[column]);
        }
    }
    first
        .into_iter()
        .zip(last)
        .map(|(first, last)| Extent { first: first.into(), last: last.into() })
        .collect()
}

/// Swaps the points of so many words at two places, the first of which is before the second.
fn swap(words: &mut [u32], first: usize, second: usize, width: usize) {
    let (left, right) = words.split_at_mut(second);
    let (left, right) = (&mut left[first..first + width], &mut right[..width]);
    by_number!(width, swap_chunks(left, right), left.swap_with_slice(right))
}

fn swap_chunks<const N: usize>(left: &mut [u32], right: &mut [u32]) {
    if let (Some(left), Some(right)) = (left.first_chunk_mut::<N>(), right.first_chunk_mut::<N>()) {
        std::mem::swap(left, right);
    }
}
