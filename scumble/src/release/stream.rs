//! The rows of regions that come one partition at a time: labelled, put into an order of their own,
//! and written at once.
//!
//! Within a region rows are ordered by a hash of what travels with them; regions follow each other
//! as the partition tree has them, and classes inside a region in the order of their labels. So the
//! order is a function of what is released, as it is for tables in memory, and says nothing about
//! the input's.

use super::rules::Rules;
use super::{Background, OfTarget};
use crate::error::{Error, Result};
use crate::loss::{cm, minority, open_bits, squared_error};
use crate::recoding::{Place, Style};
use crate::search::regions::Choice;
use crate::search::regions::disk::{Finished, Receiver, Scan, Stock, parts_of};
use crate::search::regions::mondrian::Grown;
use crate::source::spill::{Records, SpillFolder, SpillWriter};
use crate::source::{BATCH_BYTES, Series};
use crate::table::Tallies;
use crate::taxonomy::{Axis, Extent};
use crate::watch::{AT_ONCE, PIECE, Watch};
use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use arrow_row::RowConverter;
use arrow_schema::ArrowError;
use rayon::iter::{IntoParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Rows that are written at a time.
const BATCH: usize = 16_384;

/// Where the values of a released column come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The label of a quasi-identifier.
    Key(usize),
    /// What travels with the row.
    Travelling(usize),
}

/// A target whose values are counted.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedTarget {
    /// Its position among the counted columns.
    pub column: usize,
    /// What its values are, where all of them are numbers.
    pub numbers: Option<Vec<f64>>,
}

/// What was counted while regions were written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Rows written.
    pub rows: u64,
    /// Rows suppressed.
    pub suppressed: u64,
    /// Regions written.
    pub regions: u64,
    /// The sum of squared region sizes.
    pub squares: u128,
    /// The sum over rows and columns of the share of detail lost; all of it for suppressed rows.
    pub lost: f64,
    /// The same, times the weights of the columns.
    pub weighted: f64,
    /// Rows outside their region's majority label.
    pub minority: u64,
    /// Bits about the label that are open.
    pub open_bits: f64,
    /// The squared error of guessing the mean of a region.
    pub squared_error: f64,
}

impl Totals {
    /// One more region, with the values that its rows have of the target.
    fn add(&mut self, target: &CountedTarget, values: &[(u32, u32)]) {
        self.minority += minority(values);
        self.open_bits += open_bits(values);
        self.squared_error +=
            target.numbers.as_ref().map_or(0.0, |numbers| squared_error(values, numbers));
    }

    /// How well the target is known.
    pub fn of_target(&self, target: &CountedTarget) -> OfTarget {
        let rows = self.rows.max(1) as f64;
        OfTarget {
            cm: cm(self.minority, 0, self.rows),
            conditional_entropy: self.open_bits / rows,
            rmse: target.numbers.as_ref().map(|_| (self.squared_error / rows).sqrt()),
        }
    }
}

/// Writes regions as they come.
pub struct Stream<'a> {
    /// The dimensions.
    pub axes: &'a [Axis],
    /// What regions are called.
    pub style: Style,
    /// Where each comes from.
    pub columns: Vec<From>,
    /// Turns bytes that travelled back into values.
    pub converter: Option<&'a RowConverter>,
    /// Where rows go.
    pub(crate) sink: Background,
    /// What errors call it.
    pub target: &'a Path,
    /// Where rows of a region that is too large for memory wait.
    pub folder: &'a SpillFolder,
    /// How many bytes of them may be in memory.
    pub most_bytes: u64,
    /// Where splits are told.
    pub rules: Option<Rules<'a>>,
    /// What the release is for, where splits were chosen for it.
    pub aimed_at: Option<&'a CountedTarget>,
    /// What the detail of each quasi-identifier weighs.
    pub weights: Vec<f64>,
    /// What was counted.
    pub totals: Totals,
    /// Can abort it.
    pub watch: &'a Watch,
    /// Whether it is told how far the work has come.
    pub tells: bool,
    /// Rows that there are to write.
    pub expected: u64,
    /// Rows handed to the sink.
    pub written: u64,
}

/// A region of a finished partition: its rows, by their places in the release's order, and what it
/// is called.
struct Region {
    rows: Range<usize>,
    labels: Vec<String>,
}

/// The regions of a finished partition.
#[derive(Default)]
struct RegionList {
    list: Vec<Region>,
    /// The numbers of their rows, region by region.
    order: Vec<u32>,
    /// The first point that no region has yet.
    next: usize,
}

impl RegionList {
    /// Takes the next points.
    fn take(&mut self, points: usize) -> Range<usize> {
        let start = self.next;
        self.next += points;
        start..self.next
    }

    /// One more region, of these points.
    fn add(&mut self, points: &[Range<usize>], labels: Vec<String>, finished: &Finished<'_>) {
        let (start, width) = (self.order.len(), finished.layout.width());
        for range in points {
            let points = finished.points(range.clone()).chunks_exact(width);
            self.order.extend(points.map(|point| point[width - 1]));
        }
        self.list.push(Region { rows: start..self.order.len(), labels });
    }
}

impl Stream<'_> {
    fn broken(&self, source: ArrowError) -> Error {
        Error::Columnar { file: self.target.to_path_buf(), source }
    }

    /// The label of each quasi-identifier, and what it loses of a row.
    fn said(&self, places: &[Place], extents: &[Extent]) -> (Vec<String>, Vec<f64>) {
        let said = |((axis, place), extent): ((&Axis, &Place), &Extent)| match self.style.place(
            axis,
            *extent,
            Some(place),
        ) {
            Some(place) => place.said(axis),
            None => (axis.label(*extent), axis.lost(*extent)),
        };
        self.axes.iter().zip(places).zip(extents).map(said).unzip()
    }

    /// Counts a region.
    fn count(&mut self, rows: u64, lost: &[f64]) {
        for (lost, weight) in lost.iter().zip(&self.weights) {
            self.totals.lost += lost * rows as f64;
            self.totals.weighted += lost * rows as f64 * weight;
        }
        self.totals.rows += rows;
        self.totals.regions += 1;
        self.totals.squares += u128::from(rows) * u128::from(rows);
    }

    /// The regions below a node, in order.
    fn regions(
        &mut self,
        grown: &Grown,
        places: &[Place],
        finished: &Finished<'_>,
        regions: &mut RegionList,
    ) -> Result<()> {
        match grown {
            Grown::Region(rows) => {
                let range = regions.take(*rows);
                let extents = finished.layout.extents(finished.points(range.clone()));
                let (labels, lost) = self.said(places, &extents);
                self.count(*rows as u64, &lost);
                if let Some(target) = self.aimed_at {
                    let values = values(finished, target.column, std::slice::from_ref(&range));
                    self.totals.add(target, &values);
                }
                regions.add(&[range], labels, finished);
                self.rules.as_mut().map_or(Ok(()), Rules::region)
            }
            Grown::Split(choice, parts) => {
                self.split(choice)?;
                for (part, places) in parts.iter().zip(parts_of(choice, places)) {
                    self.regions(part, &places, finished, regions)?;
                }
                Ok(())
            }
            Grown::Classes { sizes, suppressed } => {
                self.classes(sizes, places, finished, regions)?;
                regions.take(*suppressed);
                self.totals.suppressed += *suppressed as u64;
                // Weights are 1 on average.
                let lost = (suppressed * self.axes.len()) as f64;
                self.totals.lost += lost;
                self.totals.weighted += lost;
                Ok(())
            }
        }
    }

    /// The classes inside a box, in the order of their labels. Sets of rows with the same labels
    /// are one class.
    fn classes(
        &mut self,
        sizes: &[usize],
        places: &[Place],
        finished: &Finished<'_>,
        regions: &mut RegionList,
    ) -> Result<()> {
        let mut classes: Vec<(Vec<String>, Vec<f64>, Range<usize>)> =
            Vec::with_capacity(sizes.len());
        self.watch.each(sizes, PIECE, |size| {
            let range = regions.take(*size);
            let extents = finished.layout.extents(finished.points(range.clone()));
            let (labels, lost) = self.said(places, &extents);
            classes.push((labels, lost, range));
        })?;
        let mut sorted: Vec<usize> = (0..classes.len()).collect();
        let labels = |class: usize| &classes[class].0;
        self.watch.sort_by(&mut sorted, |a, b| labels(*a).cmp(labels(*b)).then(a.cmp(b)))?;
        for same in sorted.chunk_by(|a, b| labels(*a) == labels(*b)) {
            let (labels, lost, _) = &classes[same[0]];
            let points: Vec<Range<usize>> =
                same.iter().map(|class| classes[*class].2.clone()).collect();
            self.count(points.iter().map(|range| range.len() as u64).sum(), lost);
            if let Some(target) = self.aimed_at {
                self.totals.add(target, &values(finished, target.column, &points));
            }
            regions.add(&points, labels.clone(), finished);
        }
        Ok(())
    }

    /// Writes regions; `order` has the numbers of their rows in `payload`, region by region.
    fn write(&mut self, regions: &[Region], order: &[u32], payload: &Records) -> Result<()> {
        let mut start = 0;
        // The region that the next batch begins in.
        let mut first = 0;
        while start < order.len() {
            self.watch.check()?;
            let end = batch_end(order, start, payload);
            while regions[first].rows.end <= start {
                first += 1;
            }
            let batch = self
                .batch(&regions[first..], start..end, order, payload)
                .map_err(|error| self.broken(error))?;
            self.sink.write(batch)?;
            self.written += (end - start) as u64;
            if self.tells {
                self.watch.progress("write", self.written, Some(self.expected));
            }
            start = end;
        }
        Ok(())
    }

    fn batch(
        &self,
        regions: &[Region],
        rows: Range<usize>,
        order: &[u32],
        payload: &Records,
    ) -> Result<Vec<Series>, ArrowError> {
        let label = |key: usize| -> ArrayRef {
            let mut builder = StringBuilder::with_capacity(rows.len(), rows.len() * 12);
            for region in regions.iter().take_while(|region| region.rows.start < rows.end) {
                let label = &region.labels[key];
                for _ in region.rows.start.max(rows.start)..region.rows.end.min(rows.end) {
                    if label.is_empty() {
                        builder.append_null()
                    } else {
                        builder.append_value(label)
                    }
                }
            }
            Arc::new(builder.finish())
        };
        let (converter, keys) = (self.converter, self.axes.len());
        let travelled = || match converter {
            None => Ok(Vec::new()),
            Some(converter) => {
                let parser = converter.parser();
                converter.convert_rows(
                    order[rows.clone()]
                        .iter()
                        .map(|row| parser.parse(payload.payload(*row as usize))),
                )
            }
        };
        let (labels, travelled) =
            rayon::join(|| (0..keys).into_par_iter().map(label).collect::<Vec<_>>(), travelled);
        let travelled = travelled?;
        let column = |from: &From| match from {
            From::Key(key) => Series::Array(labels[*key].clone()),
            From::Travelling(position) => Series::Array(travelled[*position].clone()),
        };
        Ok(self.columns.iter().map(column).collect())
    }
}

/// Where a batch ends that begins with a row: fewer rows where they are long.
fn batch_end(order: &[u32], start: usize, payload: &Records) -> usize {
    let (mut end, mut bytes) = (start, 0);
    while end < order.len() && end < start + BATCH && bytes < BATCH_BYTES {
        bytes += payload.payload(order[end] as usize).len();
        end += 1;
    }
    end
}

/// Orders rows by a hash of what travels with them, equal hashes by the bytes themselves: a
/// function of what is released, as any order by content is, and the one that costs least.
fn sort_by_payload(rows: &mut [u32], payload: &Records, watch: &Watch) -> Result<()> {
    let bytes = |row: u32| payload.payload(row as usize);
    let keyed = rows.iter().map(|row| (hash(0, bytes(*row)), *row));
    let mut keyed: Vec<(u64, u32)> = watch.list(keyed)?;
    let compare =
        |a: &(u64, u32), b: &(u64, u32)| a.0.cmp(&b.0).then_with(|| bytes(a.1).cmp(bytes(b.1)));
    if keyed.len() <= AT_ONCE {
        keyed.par_sort_unstable_by(compare);
    } else {
        watch.sort_by(&mut keyed, compare)?;
    }
    for (row, (_, sorted)) in rows.iter_mut().zip(keyed) {
        *row = sorted;
    }
    Ok(())
}

/// A hash of bytes that is the same in every run.
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(seed);
    hasher.write(bytes);
    hasher.finish()
}

/// The values that some points have of a counted column, with their counts.
fn values(finished: &Finished<'_>, column: usize, points: &[Range<usize>]) -> Vec<(u32, u32)> {
    let layout = finished.layout;
    let words = points.iter().map(|range| finished.points(range.clone()));
    let points = words.flat_map(|words| words.chunks_exact(layout.width()));
    let mut values: Vec<u32> = points.map(|point| layout.value(point, column)).collect();
    values.sort_unstable();
    values.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect()
}

impl Receiver for Stream<'_> {
    fn split(&mut self, choice: &Choice) -> Result<()> {
        self.rules.as_mut().map_or(Ok(()), |rules| rules.split(choice))
    }

    fn finished(&mut self, places: &[Place], finished: &Finished<'_>) -> Result<()> {
        let points = finished.words.len() / finished.layout.width();
        let mut regions = RegionList { order: Vec::with_capacity(points), ..RegionList::default() };
        self.regions(finished.grown, places, finished, &mut regions)?;
        let RegionList { list, mut order, .. } = regions;
        if self.converter.is_some() {
            let mut parts: Vec<&mut [u32]> = Vec::with_capacity(list.len());
            let mut rest = &mut order[..];
            for region in &list {
                let (part, others) = rest.split_at_mut(region.rows.len());
                parts.push(part);
                rest = others;
            }
            let sort = |part: &mut &mut [u32]| sort_by_payload(part, finished.payload, self.watch);
            parts.par_iter_mut().try_for_each(sort)?;
        }
        self.write(&list, &order, finished.payload)
    }

    fn region(
        &mut self,
        places: &[Place],
        extents: &[Extent],
        tallies: &[Tallies],
        stock: Stock,
    ) -> Result<()> {
        let (labels, lost) = self.said(places, extents);
        self.count(stock.rows(), &lost);
        if let Some(target) = self.aimed_at {
            self.totals.add(target, tallies[target.column].group(0));
        }
        self.rules.as_mut().map_or(Ok(()), Rules::region)?;
        self.scatter(stock, &labels, 0)
    }
}

impl Stream<'_> {
    /// Writes the rows of one region that may not fit into memory: parted by a hash of what is
    /// released of them, so that their order is a function of that and of nothing else. Rows that
    /// are alike in everything keep any order.
    fn scatter(&mut self, stock: Stock, labels: &[String], round: u64) -> Result<()> {
        let needed = stock.memory_bytes() + 8 * stock.rows();
        if needed <= self.most_bytes || round >= 3 {
            let mut payload = Records::new(0);
            stock.scan(&mut |records| {
                self.watch.check()?;
                for row in 0..records.len() {
                    payload.push(&[], records.payload(row));
                }
                // Only rows that are all alike come here in more than one piece.
                if payload.bytes() as u64 > self.most_bytes {
                    self.write_sorted(&payload, labels)?;
                    payload.clear();
                }
                Ok(())
            })?;
            return self.write_sorted(&payload, labels);
        }
        let parts = (needed / self.most_bytes + 1).min(256) * 2;
        let block = (self.most_bytes / 4 / parts).clamp(4096, 1 << 18) as usize;
        let mut writers: Vec<SpillWriter> =
            (0..parts).map(|_| self.folder.file(0, block)).collect();
        stock.scan(&mut |records| {
            self.watch.check()?;
            (0..records.len()).try_for_each(|row| {
                let part = (hash(round + 1, records.payload(row)) >> 20) % parts;
                writers[part as usize].push(&[], records.payload(row))
            })
        })?;
        drop(stock);
        let mut files = Vec::new();
        for writer in writers {
            files.push(writer.finish()?);
        }
        files.into_iter().try_for_each(|file| self.scatter(Stock::of(file), labels, round + 1))
    }

    fn write_sorted(&mut self, payload: &Records, labels: &[String]) -> Result<()> {
        let mut order: Vec<u32> = (0..payload.len() as u32).collect();
        sort_by_payload(&mut order, payload, self.watch)?;
        let region = Region { rows: 0..order.len(), labels: labels.to_vec() };
        self.write(&[region], &order, payload)
    }
}
