//! The classes of a release counted afresh, in one scan of its file and in memory that its rows do
//! not fill.
//!
//! Classes are the distinct tuples of quasi-identifiers as they stand in the file. Rows of one
//! class mostly lie side by side, so a row is compared with the one before it, and its class is
//! looked up only where they differ. The values of sensitive columns are numbered in the order of
//! their appearance; what they mean to a requirement is known when all have been seen.
//!
//! Where classes and what is counted of them outgrow the memory, a scan counts only a [`ShareOfClasses`] of
//! the classes, and the file is read again for the others. The hash of a class decides about its
//! part and nothing else: classes are told apart by their labels.

use crate::error::{Error, Result};
use crate::ids::{ClassId, Code, Id, IdMap, LeafId};
use crate::source::{Batch, Codes, Lines, Series, Texts};
use crate::table::{Cells, Dictionary, Tallies};
use crate::watch::{PIECE, Watch};
use arrow_schema::ArrowError;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;
use std::ops::Range;
use std::path::Path;

/// Some of the classes: those whose hash leaves `index` when divided by `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareOfClasses {
    index: u64,
    of: u64,
}

impl ShareOfClasses {
    /// All classes.
    pub const WHOLE: ShareOfClasses = ShareOfClasses { index: 0, of: 1 };

    /// Beyond so many parts a file would be read for ever: what is left is counted, whatever memory
    /// it takes.
    const MOST: u64 = 1 << 12;

    /// The two halves of the part; `None` where it is not worth while.
    pub fn halves(self) -> Option<[ShareOfClasses; 2]> {
        let of = 2 * self.of;
        (of <= ShareOfClasses::MOST).then_some([
            ShareOfClasses { index: self.index, of },
            ShareOfClasses { index: self.index + self.of, of },
        ])
    }

    fn has(self, keys: &[Texts], row: usize) -> bool {
        if self == ShareOfClasses::WHOLE {
            return true;
        }
        let mut hasher = FxHasher::default();
        for texts in keys {
            let text = texts.get(row);
            hasher.write(text.as_bytes());
            hasher.write_usize(text.len());
        }
        hasher.finish() % self.of == self.index
    }
}

/// A label that may not stand in its column, with its line.
pub type Unknown = Option<(u64, String)>;

/// What a scan has counted.
pub struct Recount<'a> {
    part: ShareOfClasses,
    /// What is done with each column that is read.
    read_as: Vec<ReadAs>,
    /// Whether a label may stand in a quasi-identifier.
    is_label: &'a dyn Fn(usize, &str) -> bool,
    labels: Vec<Codes>,
    unknown: Vec<Unknown>,
    classes: Cells<ClassId>,
    counted: Vec<CountedColumn>,
    compared: Vec<ComparedColumn>,
    rows: u64,
}

/// What is done with a column that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAs {
    /// A quasi-identifier: its labels make classes.
    Labels,
    /// Its values are counted in each class.
    Counted,
    /// It is noted in which classes all rows have the same value.
    Compared,
}

/// A column of which it is noted where all rows of a class have the same value.
#[derive(Default)]
struct ComparedColumn {
    codes: Codes,
    /// The code of each row of the batch.
    batch: Vec<u32>,
    /// The code that all rows of a class have; no code if they differ.
    of_class: Vec<Option<Code>>,
}

/// The values of a counted column.
#[derive(Default)]
struct CountedColumn {
    codes: Codes,
    /// The rows of the whole file that have each value.
    rows: Vec<u64>,
    /// The code of each row of the batch.
    batch: Vec<u32>,
    /// The rows of each class that have each value.
    tallies: FxHashMap<(ClassId, Code), u32>,
}

impl<'a> Recount<'a> {
    /// Nothing counted yet, of a part of the classes. `read_as` says what is done with the columns
    /// that are read, `is_label` whether a label may stand in a quasi-identifier.
    pub fn new(
        part: ShareOfClasses,
        read_as: Vec<ReadAs>,
        is_label: &'a dyn Fn(usize, &str) -> bool,
    ) -> Recount<'a> {
        let number = |one: ReadAs| read_as.iter().filter(|read_as| **read_as == one).count();
        let (width, counted) = (number(ReadAs::Labels), number(ReadAs::Counted));
        let compared = number(ReadAs::Compared);
        Recount {
            part,
            read_as,
            is_label,
            labels: (0..width).map(|_| Codes::default()).collect(),
            unknown: vec![None; width],
            classes: Cells::new(width),
            counted: (0..counted).map(|_| CountedColumn::default()).collect(),
            compared: (0..compared).map(|_| ComparedColumn::default()).collect(),
            rows: 0,
        }
    }

    /// Counts more rows of `file`.
    pub fn add(&mut self, batch: &Batch, file: &Path) -> Result<()> {
        let rows = batch.rows;
        self.rows += rows as u64;
        if self.rows > u64::from(u32::MAX) {
            return Err(Error::TooManyRows { file: file.to_path_buf(), most: u64::from(u32::MAX) });
        }
        let (mut keys, mut values) = (Vec::new(), self.counted.iter_mut());
        let mut compared = self.compared.iter_mut();
        for (series, read_as) in batch.columns.iter().zip(&self.read_as) {
            let lines = &batch.lines;
            let read = match read_as {
                ReadAs::Labels => Texts::of(series).map(|texts| keys.push(texts)),
                ReadAs::Counted => {
                    values.next().map_or(Ok(()), |values| values.read(series, lines))
                }
                ReadAs::Compared => {
                    compared.next().map_or(Ok(()), |values| values.read(series, lines))
                }
            };
            read.map_err(|source| Error::Columnar { file: file.to_path_buf(), source })?;
        }
        let mut changed = vec![false; rows];
        for (labels, texts) in self.labels.iter_mut().zip(&keys) {
            labels.begin(texts);
            texts.mark_changes(&mut changed);
        }
        let mut tuple = vec![0; keys.len()];
        let mut start = 0;
        while start < rows {
            let alike = changed[start + 1..].iter().position(|changed| *changed);
            let end = alike.map_or(rows, |alike| start + 1 + alike);
            if self.part.has(&keys, start) {
                let class = self.class(&keys, start..end, batch.lines.of(start), &mut tuple);
                self.counted.iter_mut().for_each(|values| values.tally(class, start..end));
                self.compared.iter_mut().for_each(|values| values.compare(class, start..end));
            }
            start = end;
        }
        Ok(())
    }

    /// Counts rows of one class; `tuple` is a scratch place for its codes.
    fn class(
        &mut self,
        keys: &[Texts],
        rows: Range<usize>,
        line: u64,
        tuple: &mut [u32],
    ) -> ClassId {
        for (column, (labels, texts)) in self.labels.iter_mut().zip(keys).enumerate() {
            let (code, is_new) = labels.code(texts, rows.start, line);
            tuple[column] = code;
            if is_new && self.unknown[column].is_none() {
                let label = texts.get(rows.start);
                let known = label.is_empty() || (self.is_label)(column, label);
                self.unknown[column] = (!known).then(|| (line, label.to_string()));
            }
        }
        self.classes.add(tuple, rows.len() as u32)
    }

    /// The memory of what grows with the number of classes. The values of counted columns are not
    /// among it: requirements need to know all of them.
    pub fn bytes(&self) -> u64 {
        let labels: usize = self.labels.iter().map(|labels| labels.dictionary().bytes()).sum();
        // A hash table has a byte for each place, and more places than it fills.
        let tallies: usize =
            self.counted.iter().map(|values| values.tallies.capacity() * 13 * 8 / 7).sum();
        let compared: usize =
            self.compared.iter().map(|values| values.of_class.capacity() * 8).sum();
        (labels + tallies + compared + self.classes.bytes()) as u64
    }

    /// For each compared column, the classes in which all rows have the same value, and the rows of
    /// these classes. A missing value tells nothing.
    pub fn uniform(&self) -> impl Iterator<Item = (u64, u64)> {
        self.compared.iter().map(|values| {
            let missing = values.codes.dictionary().find("").map(Code);
            let same = values.of_class.iter().zip(self.classes.counts());
            let same = same.filter(|(code, _)| code.is_some() && **code != missing);
            same.fold((0, 0), |(classes, rows), (_, count)| (classes + 1, rows + u64::from(*count)))
        })
    }

    /// Rows of the file, those of other parts among them.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The classes of this part.
    pub fn classes(&self) -> &Cells<ClassId> {
        &self.classes
    }

    /// For each quasi-identifier, the first label that may not stand there.
    pub fn unknown(&self) -> &[Unknown] {
        &self.unknown
    }

    /// The labels of each quasi-identifier, by which classes are coded.
    pub fn labels(&self) -> impl Iterator<Item = &Dictionary> {
        self.labels.iter().map(Codes::dictionary)
    }

    /// For each counted column, its values and the rows of the whole file that have them.
    pub fn values(&self) -> impl Iterator<Item = (&Dictionary, &[u64])> {
        self.counted.iter().map(|values| (values.codes.dictionary(), values.rows.as_slice()))
    }

    /// The tallies of a counted column by class, each value having become its leaf. They can be
    /// taken once.
    pub fn take_tallies(
        &mut self,
        column: usize,
        leaf_of: &IdMap<Code, LeafId>,
        watch: &Watch,
    ) -> Result<Tallies> {
        let tallies = std::mem::take(&mut self.counted[column].tallies);
        let counts = tallies.into_iter();
        let counts = counts.map(|((class, code), rows)| (class, leaf_of.at(code), rows));
        let mut counts: Vec<(ClassId, LeafId, u32)> = watch.list(counts)?;
        watch.sort(&mut counts)?;
        let mut starts = Vec::with_capacity(self.classes.len() + 1);
        let mut entries: Vec<(u32, u32)> = Vec::with_capacity(counts.len());
        watch.each(counts.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)), PIECE, |alike| {
            let (class, leaf, _) = alike[0];
            starts.resize(class.index() + 1, entries.len() as u32);
            entries.push((leaf.number(), alike.iter().map(|(.., rows)| rows).sum()));
        })?;
        starts.resize(self.classes.len() + 1, entries.len() as u32);
        Ok(Tallies::from_parts(starts, entries))
    }
}

impl ComparedColumn {
    /// Numbers the values of a batch.
    fn read(&mut self, series: &Series, lines: &Lines) -> Result<(), ArrowError> {
        self.batch.clear();
        self.codes.encode(series, lines, &mut self.batch)
    }

    fn compare(&mut self, class: ClassId, rows: Range<usize>) {
        let codes = &self.batch[rows];
        let same = codes.iter().all(|code| *code == codes[0]).then(|| Code(codes[0]));
        match self.of_class.get_mut(class.index()) {
            Some(known) if *known == same => {}
            Some(known) => *known = None,
            // Classes are numbered in the order in which they are met.
            None => self.of_class.push(same),
        }
    }
}

impl CountedColumn {
    /// Numbers the values of a batch.
    fn read(&mut self, series: &Series, lines: &Lines) -> Result<(), ArrowError> {
        self.batch.clear();
        self.codes.encode(series, lines, &mut self.batch)?;
        self.rows.resize(self.codes.dictionary().len(), 0);
        self.batch.iter().for_each(|code| self.rows[*code as usize] += 1);
        Ok(())
    }

    fn tally(&mut self, class: ClassId, rows: Range<usize>) {
        for code in &self.batch[rows] {
            *self.tallies.entry((class, Code(*code))).or_insert(0) += 1;
        }
    }
}
