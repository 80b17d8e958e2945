//! The rows of a recoding by levels or cuts that do not fit into memory: sorted on disk, and written
//! in the order that [`ReleasedRows`](super::ReleasedRows) would give them.

use super::values::{Lost, RecodedValues};
use super::{Background, CountedTarget, From};
use crate::error::{Error, Result};
use crate::loss::{minority, open_bits, squared_error};
use crate::source::spill::{Blocks, Records, SpillFile, SpillFolder};
use crate::source::{BATCH_BYTES, Series};
use crate::watch::Watch;
use arrow_array::{ArrayRef, StringArray};
use arrow_row::RowConverter;
use arrow_schema::ArrowError;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Runs that are merged at a time.
const RUNS: usize = 64;

/// Rows of a batch, as for rows in memory.
const BATCH: usize = 1 << 11;

/// Rows that a name should have on average to be told by number.
const ROWS_OF_A_NAME: u64 = 4;

/// Sorts records by their words, then by what travels with them. Words that are not compared follow
/// from those that are.
pub struct Sorter<'a> {
    folder: &'a SpillFolder,
    /// Words that are compared.
    compared: usize,
    width: usize,
    most_bytes: u64,
    block: usize,
    buffer: Records,
    filled: u64,
    runs: Vec<SpillFile>,
    watch: &'a Watch,
}

/// Takes the words and the payload of a record.
pub type EachRecord<'a> = dyn FnMut(&[u32], &[u8]) -> Result<()> + 'a;

fn compare(one: (&[u32], &[u8]), other: (&[u32], &[u8])) -> Ordering {
    one.0.cmp(other.0).then_with(|| one.1.cmp(other.1))
}

impl<'a> Sorter<'a> {
    /// For records of `width` words, of which the first `compared` are compared, in about so many
    /// bytes of memory.
    pub fn new(
        folder: &'a SpillFolder,
        (width, compared): (usize, usize),
        memory: u64,
        watch: &'a Watch,
    ) -> Sorter<'a> {
        let block = (memory / 2 / (RUNS as u64 + 1)).clamp(4096, 1 << 18) as usize;
        Sorter {
            folder,
            compared,
            width,
            most_bytes: memory / 2,
            block,
            buffer: Records::new(width),
            filled: 0,
            runs: Vec::new(),
            watch,
        }
    }

    /// One more record.
    pub fn push(&mut self, words: &[u32], payload: &[u8]) -> Result<()> {
        // Two words more to sort it, and half as much as lists may be larger than what they hold.
        let needed = (Records::row_bytes(self.width) + payload.len() + 16) as u64 * 3 / 2;
        if self.filled + needed > self.most_bytes && self.filled > 0 {
            self.write()?;
        }
        self.filled += needed;
        self.buffer.push(words, payload);
        Ok(())
    }

    fn key<'b>(&self, records: &'b Records, row: usize) -> (&'b [u32], &'b [u8]) {
        (&records.words(row)[..self.compared], records.payload(row))
    }

    /// The records in memory, in order.
    fn order(&self) -> Result<Vec<u32>> {
        // Words are compared where they lie only if the first two are equal.
        let first = |row: u32| {
            let words = &self.buffer.words(row as usize)[..self.compared];
            let word = |at: usize| u64::from(words.get(at).copied().unwrap_or(0));
            (word(0) << 32 | word(1), row)
        };
        let rows = 0..self.buffer.len() as u32;
        let mut keyed: Vec<(u64, u32)> = self.watch.list(rows.map(first))?;
        self.watch.sort_by(&mut keyed, |a, b| {
            let key = |row: u32| self.key(&self.buffer, row as usize);
            a.0.cmp(&b.0).then_with(|| compare(key(a.1), key(b.1))).then(a.1.cmp(&b.1))
        })?;
        Ok(keyed.into_iter().map(|(_, row)| row).collect())
    }

    /// Writes a sorted run.
    fn write(&mut self) -> Result<()> {
        let mut writer = self.folder.file(self.width, self.block);
        for row in self.order()? {
            let row = row as usize;
            writer.push(self.buffer.words(row), self.buffer.payload(row))?;
        }
        self.buffer.clear();
        self.filled = 0;
        self.runs.push(writer.finish()?);
        if self.runs.len() == RUNS {
            let runs = std::mem::take(&mut self.runs);
            let mut writer = self.folder.file(self.width, self.block);
            self.merge(&runs, &mut |words, payload| writer.push(words, payload))?;
            self.runs.push(writer.finish()?);
        }
        Ok(())
    }

    /// Hands over all records in order.
    pub fn finish(mut self, each: &mut EachRecord<'_>) -> Result<()> {
        if self.runs.is_empty() {
            for row in self.order()? {
                each(self.buffer.words(row as usize), self.buffer.payload(row as usize))?;
            }
            return Ok(());
        }
        if !self.buffer.is_empty() {
            self.write()?;
        }
        self.buffer = Records::new(self.width);
        let runs = std::mem::take(&mut self.runs);
        self.merge(&runs, each)
    }

    fn merge(&self, runs: &[SpillFile], each: &mut EachRecord<'_>) -> Result<()> {
        let mut heads = runs.iter().map(Head::new).collect::<Result<Vec<_>>>()?;
        let by_key = |heads: &[Head], a: usize, b: usize| {
            let of = |at: usize| self.key(&heads[at].block, heads[at].next);
            compare(of(a), of(b)).then(a.cmp(&b))
        };
        // Those that are not at their end, the one with the least record last.
        let mut open: Vec<usize> =
            (0..heads.len()).filter(|head| !heads[*head].is_over()).collect();
        open.sort_by(|a, b| by_key(&heads, *b, *a));
        let mut handed = 0usize;
        while let Some(least) = open.pop() {
            handed += 1;
            if handed.is_multiple_of(BATCH) {
                self.watch.check()?;
            }
            let head = &mut heads[least];
            each(head.block.words(head.next), head.block.payload(head.next))?;
            head.advance()?;
            if !head.is_over() {
                let at = open.partition_point(|other| by_key(&heads, *other, least).is_gt());
                open.insert(at, least);
            }
        }
        Ok(())
    }
}

/// The rest of a run.
struct Head {
    blocks: Blocks,
    block: Records,
    next: usize,
}

impl Head {
    fn new(run: &SpillFile) -> Result<Head> {
        let mut head = Head { blocks: run.blocks()?, block: Records::new(run.width()), next: 0 };
        head.blocks.append_to(&mut head.block)?;
        Ok(head)
    }

    fn is_over(&self) -> bool {
        self.next == self.block.len()
    }

    fn advance(&mut self) -> Result<()> {
        self.next += 1;
        if self.is_over() {
            self.block.clear();
            self.next = 0;
            self.blocks.append_to(&mut self.block)?;
        }
        Ok(())
    }
}

/// What was counted while classes were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassTotals {
    /// Rows written.
    pub rows: u64,
    /// The sum of squared class sizes.
    pub squares: u128,
    /// The leaves that the rows lost of each column.
    pub lost: Vec<u128>,
    /// For each column, whether some row has a value.
    pub is_released: Vec<Vec<bool>>,
    /// Rows outside their class's majority label.
    pub minority: u64,
    /// Bits about the label that are open.
    pub open_bits: f64,
    /// The squared error of guessing the mean of a class.
    pub squared_error: f64,
}

/// Writes sorted records: the values of a class first, the label last.
pub struct ClassWriter<'a> {
    values: &'a [RecodedValues],
    columns: &'a [From],
    converter: Option<&'a RowConverter>,
    sink: Background,
    file: &'a Path,
    target: Option<&'a CountedTarget>,
    /// For each key, its names if rows tell it by number.
    names: Vec<Option<StringArray>>,
    batch: Records,
    /// The values of the class that is written, its rows, and its labels.
    class: Vec<u32>,
    class_rows: u64,
    labels: BTreeMap<u32, u32>,
    expected: u64,
    totals: ClassTotals,
    watch: &'a Watch,
}

impl<'a> ClassWriter<'a> {
    /// For records of `width` words; `expected` rows will come.
    #[expect(clippy::too_many_arguments, reason = "a plain list of what is needed")]
    pub(crate) fn new(
        values: &'a [RecodedValues],
        columns: &'a [From],
        converter: Option<&'a RowConverter>,
        sink: Background,
        file: &'a Path,
        target: Option<&'a CountedTarget>,
        (width, expected): (usize, u64),
        watch: &'a Watch,
    ) -> ClassWriter<'a> {
        let named = |values: &RecodedValues| {
            let names = (0..values.len() as u32).map(|value| name(values, value));
            let is_few = values.len() as u64 * ROWS_OF_A_NAME <= expected;
            is_few.then(|| names.collect::<StringArray>())
        };
        let totals = ClassTotals {
            lost: vec![0; values.len()],
            is_released: values.iter().map(|values| vec![false; values.len()]).collect(),
            ..ClassTotals::default()
        };
        ClassWriter {
            names: values.iter().map(named).collect(),
            values,
            columns,
            converter,
            sink,
            file,
            target,
            batch: Records::new(width),
            class: Vec::new(),
            class_rows: 0,
            labels: BTreeMap::new(),
            expected,
            totals,
            watch,
        }
    }

    /// One more row.
    pub fn push(&mut self, words: &[u32], payload: &[u8]) -> Result<()> {
        let keys = &words[..self.values.len()];
        if self.class_rows == 0 || self.class != keys {
            self.end_class();
            self.class.clear();
            self.class.extend_from_slice(keys);
        }
        self.class_rows += 1;
        if let (Some(_), Some(label)) = (self.target, words.last()) {
            *self.labels.entry(*label).or_default() += 1;
        }
        self.batch.push(words, payload);
        if self.batch.len() == BATCH || self.batch.payload.len() > BATCH_BYTES {
            self.write()?;
        }
        Ok(())
    }

    fn end_class(&mut self) {
        let (rows, totals) = (self.class_rows, &mut self.totals);
        if rows == 0 {
            return;
        }
        totals.rows += rows;
        totals.squares += u128::from(rows) * u128::from(rows);
        for (column, value) in self.class.iter().enumerate() {
            totals.is_released[column][*value as usize] = true;
            if let Lost::Leaves(leaves) = self.values[column].lost(*value) {
                totals.lost[column] += u128::from(rows) * u128::from(leaves);
            }
        }
        if let Some(target) = self.target {
            let labels: Vec<(u32, u32)> = std::mem::take(&mut self.labels).into_iter().collect();
            totals.minority += minority(&labels);
            totals.open_bits += open_bits(&labels);
            let numbers = target.numbers.as_ref();
            totals.squared_error += numbers.map_or(0.0, |numbers| squared_error(&labels, numbers));
        }
        self.class_rows = 0;
    }

    fn write(&mut self) -> Result<()> {
        self.watch.check()?;
        let failed = |source| Error::Columnar { file: self.file.to_path_buf(), source };
        let columns = self.columns().map_err(failed)?;
        self.sink.write(columns)?;
        self.batch.clear();
        let done = self.totals.rows + self.class_rows;
        self.watch.progress("write", done, Some(self.expected));
        Ok(())
    }

    fn columns(&self) -> Result<Vec<Series>, ArrowError> {
        let travelled = match self.converter {
            None => Vec::new(),
            Some(converter) => {
                let parser = converter.parser();
                let rows = 0..self.batch.len();
                converter.convert_rows(rows.map(|row| parser.parse(self.batch.payload(row))))?
            }
        };
        let told = |key: usize| {
            let codes = self.batch.words.chunks_exact(self.batch.width).map(|words| words[key]);
            match &self.names[key] {
                Some(names) => Series::Numbered(
                    codes.map(|code| code as i32).collect::<Vec<i32>>().into(),
                    names.clone(),
                ),
                None => {
                    let names = codes.map(|code| name(&self.values[key], code));
                    Series::Array(Arc::new(names.collect::<StringArray>()) as ArrayRef)
                }
            }
        };
        let column = |from: &From| match from {
            From::Key(key) => told(*key),
            From::Travelling(position) => Series::Array(travelled[*position].clone()),
        };
        Ok(self.columns.iter().map(column).collect())
    }

    /// Writes what is left, and waits until all is written.
    pub fn finish(mut self) -> Result<ClassTotals> {
        self.end_class();
        if !self.batch.is_empty() {
            self.write()?;
        }
        self.sink.finish()?;
        Ok(self.totals)
    }
}

/// What a value is called; one without a name is null.
fn name(values: &RecodedValues, value: u32) -> Option<&str> {
    Some(values.label(value)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn records_are_sorted_in_any_memory() {
        let folder = SpillFolder::create(&std::env::temp_dir()).unwrap();
        let watch = Watch::default();
        for (memory, rows) in [(1, 300), (3000, 2000), (100_000, 5000), (1 << 24, 5000)] {
            let mut random = Random::new(7);
            let mut sorter = Sorter::new(&folder, (3, 2), memory, &watch);
            let mut truth = Vec::new();
            for row in 0..rows {
                let words = [random.below(9) as u32, random.below(40) as u32, row];
                let payload = vec![random.below(3) as u8; random.below(4) as usize];
                sorter.push(&words, &payload).unwrap();
                truth.push((words[..2].to_vec(), payload));
            }
            truth.sort();
            let mut found = Vec::new();
            let each = &mut |words: &[u32], payload: &[u8]| {
                found.push((words[..2].to_vec(), payload.to_vec()));
                Ok(())
            };
            sorter.finish(each).unwrap();
            assert_eq!(found, truth, "{memory}");
        }
        assert_eq!(folder.bytes_held(), 0);
        assert!(folder.rows_written() > 7000);
    }
}
