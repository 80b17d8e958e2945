//! The rows of a release, in an order that says nothing about the input's.
//!
//! Rows are sorted by what is released of them: class, then the columns that are passed on. The
//! order is a function of the released rows alone, so it can tell nothing else, and it needs no
//! randomness. `keep_order` opts out.

use super::passed::{Distinct, PassedOn};
use super::{Recoded, RecodedValues};
use crate::error::{Error, Result};
use crate::ids::{CellId, ClassId, Code, Id, IdMap, IdVec, RowId, TableCellId};
use crate::source::Series;
use crate::table::{Column, Data, Dictionary, Role, RowNumbers, Table, gather, neighbours};
use crate::watch::{AT_ONCE, PIECE, Watch};
use arrow_array::{StringArray, UInt32Array};
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, SortOptions};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// What stands for suppressed values of a sensitive column, which is text then.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    /// The column.
    pub column: &'a str,
    /// The text; no value of the column is written so.
    pub text: &'a str,
}

impl Token<'_> {
    fn is_in(token: Option<Token<'_>>, column: &Column) -> bool {
        token.is_some_and(|token| token.column == column.name)
    }
}

/// The columns of a release of this table: those of the input without the identifiers; recoded
/// columns are text.
pub fn schema(table: &Table, token: Option<Token<'_>>) -> SchemaRef {
    let kind = |column: &Column| match &column.data {
        _ if Token::is_in(token, column) => DataType::Utf8,
        Data::Plain(_) | Data::Coded { .. } => released_type(&column.kind),
        Data::Key(_) => DataType::Utf8,
    };
    let fields: Vec<Field> =
        table.columns.iter().map(|column| Field::new(&column.name, kind(column), true)).collect();
    Arc::new(Schema::new(fields))
}

/// The type in which a column is released: its own. Dictionaries and views are spelled out: taking
/// some rows of such an array leaves the values of all others in its buffers, and a file would
/// carry those of suppressed rows.
pub(crate) fn released_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Utf8View => DataType::LargeUtf8,
        DataType::BinaryView => DataType::LargeBinary,
        DataType::Dictionary(_, value) => released_type(value),
        DataType::RunEndEncoded(_, value) => released_type(value.data_type()),
        kind => kind.clone(),
    }
}

/// The type in which all values of a column are one array. Text may not fit 32-bit offsets once all
/// batches are put together.
pub(super) fn wide(kind: &DataType) -> DataType {
    match released_type(kind) {
        DataType::Utf8 => DataType::LargeUtf8,
        DataType::Binary => DataType::LargeBinary,
        kind => kind,
    }
}

/// Whether a column of this type can be released row by row with nothing of other rows left in its
/// buffers: nested types only if they hold no dictionaries and views.
pub(crate) fn is_releasable(kind: &DataType) -> bool {
    fn is_plain(kind: &DataType) -> bool {
        match kind {
            DataType::List(field)
            | DataType::LargeList(field)
            | DataType::FixedSizeList(field, _) => is_plain(field.data_type()),
            DataType::Struct(fields) => fields.iter().all(|field| is_plain(field.data_type())),
            DataType::Map(..)
            | DataType::Union(..)
            | DataType::ListView(_)
            | DataType::LargeListView(_) => false,
            kind => released_type(kind) == *kind,
        }
    }
    is_plain(&released_type(kind))
}

/// The released rows, batch by batch.
pub struct ReleasedRows<'a> {
    table: &'a Table,
    recoded: &'a Recoded,
    /// The columns that are passed on as they came.
    passed: Vec<Option<PassedOn<'a>>>,
    /// For each column that is released by number, its names; `None` if there are about as many
    /// names as rows.
    names: Vec<Option<StringArray>>,
    /// The codes of the column with suppressed values; the first code that its dictionary does not
    /// have is the token.
    hidden: Option<Hidden<'a>>,
    /// The rows in the order of the release.
    rows: Vec<u32>,
    /// The class of each row of the table.
    class_of_row: IdMap<RowId, ClassId>,
    next: usize,
}

/// A column some of whose values are suppressed.
struct Hidden<'a> {
    token: Token<'a>,
    codes: IdMap<RowId, Code>,
}

impl<'a> Hidden<'a> {
    fn new(table: &Table, recoded: &Recoded, token: Token<'a>) -> Option<Hidden<'a>> {
        let within = recoded.within.as_ref()?;
        let column = table.columns.iter().find(|column| Token::is_in(Some(token), column))?;
        let Data::Coded { dictionary, codes, .. } = &column.data else { return None };
        let last = Code(dictionary.len() as u32);
        let code = |(code, hidden): (Code, &bool)| if *hidden { last } else { code };
        let codes = codes.iter().zip(within.hidden.values()).map(code).collect();
        Some(Hidden { token, codes })
    }
}

/// What the values of a column are called, by number.
#[derive(Clone, Copy)]
enum Names<'a> {
    /// Those of a dictionary, perhaps a token behind them, and whether the empty text is a text
    /// like others.
    Dictionary(&'a Dictionary, Option<&'a str>, bool),
    Values(&'a RecodedValues),
}

impl<'a> Names<'a> {
    fn len(self) -> usize {
        match self {
            Names::Dictionary(dictionary, token, _) => {
                dictionary.len() + usize::from(token.is_some())
            }
            Names::Values(values) => values.len(),
        }
    }

    /// What a value is called; one without a name is null.
    fn get(self, value: u32) -> Option<&'a str> {
        let (name, may_be_empty) = match self {
            Names::Dictionary(dictionary, Some(token), _) if value as usize == dictionary.len() => {
                (token, false)
            }
            Names::Dictionary(dictionary, _, may_be_empty) => {
                (dictionary.value(value), may_be_empty)
            }
            Names::Values(values) => (values.label(value), false),
        };
        Some(name).filter(|name| may_be_empty || !name.is_empty())
    }
}

/// The number of each row's value.
#[derive(Clone, Copy)]
enum ValueNumbers<'a> {
    /// One by one.
    Rows(&'a [u32]),
    /// That of a quasi-identifier in the row's class.
    Classes(usize),
}

/// Rows of a batch: few enough that one is written while the next one is made.
const BATCH: usize = 1 << 11;

/// Rows that a name should have on average to be told by number.
const ROWS_OF_A_NAME: usize = 4;

impl<'a> ReleasedRows<'a> {
    /// Prepares the rows. `leaf_cell` is the recoded cell that each cell of `table` went to.
    pub fn new(
        table: &'a Table,
        leaf_cell: &IdMap<TableCellId, CellId>,
        recoded: &'a Recoded,
        token: Option<Token<'a>>,
        keep_order: bool,
        watch: &Watch,
    ) -> Result<ReleasedRows<'a>> {
        let broken = |source: ArrowError| Error::Columnar { file: table.file.clone(), source };
        let passed_on = |column: &'a Column| match &column.data {
            _ if Token::is_in(token, column) => Ok(None),
            Data::Plain(passed) | Data::Coded { plain: Some(passed), .. } => {
                PassedOn::new(passed, watch, &broken).map(Some)
            }
            _ => Ok(None),
        };
        let passed: Vec<Option<PassedOn<'a>>> =
            table.columns.par_iter().map(passed_on).collect::<Result<_>>()?;
        let class_of_row = recoded.class_of_row(table, leaf_cell, watch)?;
        let hidden = token.and_then(|token| Hidden::new(table, recoded, token));
        let released =
            class_of_row.pairs().filter(|(row, class)| recoded.is_released(*row, *class));
        let rows: Vec<u32> = if keep_order {
            released.map(|(row, _)| row.number()).collect()
        } else {
            let places = class_ranks(recoded);
            let placed = released.map(|(row, class)| (places[class], row.number()));
            let (mut rows, bounds) = gather(recoded.classes.len(), placed, watch)?;
            let order = Order::new(table, &passed, hidden.as_ref()).map_err(broken)?;
            order.sort(&mut rows, &bounds, watch)?;
            rows
        };
        let mut prepared = ReleasedRows {
            table,
            recoded,
            passed,
            names: Vec::new(),
            hidden,
            rows,
            class_of_row,
            next: 0,
        };
        prepared.name();
        Ok(prepared)
    }

    /// Makes lists of names where these are few, so that rows need to tell no more than a number.
    fn name(&mut self) {
        let few = |names: &Names<'_>| names.len() * ROWS_OF_A_NAME <= self.rows.len();
        let names = (0..self.passed.len()).map(|column| {
            let names = self.told(column).map(|(names, _)| names).filter(few)?;
            Some((0..names.len() as u32).map(|value| names.get(value)).collect::<StringArray>())
        });
        self.names = names.collect();
    }

    /// The names and the numbers of a column that is not passed on as it came.
    fn told(&self, column: usize) -> Option<(Names<'_>, ValueNumbers<'_>)> {
        if self.passed[column].is_some() {
            return None;
        }
        let column = (&self.table.columns[column], column);
        match &column.0.data {
            Data::Coded { dictionary, codes, .. } => {
                let hidden = self
                    .hidden
                    .as_ref()
                    .filter(|hidden| Token::is_in(Some(hidden.token), column.0));
                let token = hidden.map(|hidden| hidden.token.text);
                let codes = hidden.map_or(codes, |hidden| &hidden.codes);
                let may_be_empty = column.0.role == Role::Insensitive;
                Some((
                    Names::Dictionary(dictionary, token, may_be_empty),
                    ValueNumbers::Rows(codes.raw()),
                ))
            }
            _ => {
                let before = &self.table.columns[..column.1];
                let key =
                    before.iter().filter(|column| column.role == Role::QuasiIdentifier).count();
                Some((Names::Values(self.recoded.values.get(key)?), ValueNumbers::Classes(key)))
            }
        }
    }

    /// How many rows are released.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn batch(&self, rows: &[u32]) -> Result<Vec<Series>, ArrowError> {
        let class = |row: u32| self.class_of_row.at(RowId(row));
        let runs = rows.chunk_by(|row, next| class(*row) == class(*next));
        let classes: Vec<(ClassId, usize)> = runs.map(|run| (class(run[0]), run.len())).collect();
        let mut columns = Vec::with_capacity(self.table.columns.len());
        for (column, passed) in self.passed.iter().enumerate() {
            columns.push(match (passed, self.told(column)) {
                (Some(passed), _) => passed.of_rows(rows)?,
                (None, Some((names, numbers))) => {
                    let mut told: Vec<i32> = Vec::with_capacity(rows.len());
                    match numbers {
                        ValueNumbers::Rows(codes) => {
                            told.extend(rows.iter().map(|row| codes[*row as usize] as i32))
                        }
                        // Rows of a class mostly stand together.
                        ValueNumbers::Classes(key) => classes.iter().for_each(|(class, rows)| {
                            let value = self.recoded.classes.codes(*class)[key] as i32;
                            told.extend(std::iter::repeat_n(value, *rows));
                        }),
                    }
                    match &self.names[column] {
                        Some(names) => Series::Numbered(told.into(), names.clone()),
                        None => {
                            let texts = told
                                .iter()
                                .map(|value| names.get(*value as u32))
                                .collect::<StringArray>();
                            Series::Array(Arc::new(texts))
                        }
                    }
                }
                (None, None) => {
                    return Err(ArrowError::SchemaError("a column without values".into()));
                }
            });
        }
        Ok(columns)
    }
}

/// The place of each class among all classes, by its nodes.
fn class_ranks(recoded: &Recoded) -> IdVec<ClassId, u32> {
    let mut order: Vec<ClassId> = recoded.classes.ids().collect();
    order.sort_unstable_by_key(|class| recoded.classes.codes(*class));
    let mut ranks = IdVec::repeat(0, order.len());
    (0..).zip(order).for_each(|(rank, class)| ranks[class] = rank);
    ranks
}

/// The place of each item in an order.
pub(crate) fn inverse(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    for (rank, item) in order.iter().enumerate() {
        ranks[*item as usize] = rank as u32;
    }
    ranks
}

/// The order of a class's rows: by every column that is passed on, the counted ones first, then the
/// others. As many columns as fit are packed into one number per row, from the first on; the rest
/// is compared only if that number is equal. So how many fit, and which come by number, does not
/// change the order: that depends on values that may be suppressed.
struct Order<'a> {
    packed: Vec<Packed<'a>>,
    /// Bits of the number.
    bits: u32,
    compared: Vec<DynComparator>,
    /// Bits of a row's own number.
    row_bits: u32,
}

/// The bits that a number from 0 to `values` takes.
fn bits_of(values: usize) -> u32 {
    usize::BITS - values.leading_zeros()
}

/// A column of which every value has a place among all its values, in so many bits.
struct Packed<'a> {
    numbers: PackedNumbers<'a>,
    ranks: Vec<u32>,
    bits: u32,
}

/// The number of each row's value in such a column.
enum PackedNumbers<'a> {
    Codes(&'a [u32]),
    Passed(&'a RowNumbers),
}

impl Packed<'_> {
    #[inline]
    fn rank(&self, row: u32) -> u32 {
        let number = match self.numbers {
            PackedNumbers::Codes(codes) => codes[row as usize],
            PackedNumbers::Passed(numbers) => numbers.at(row as usize),
        };
        self.ranks[number as usize]
    }
}

/// Rows that are worth a thread of their own, and rows of a class that are sorted by digits.
const MANY: usize = 1 << 12;

impl<'a> Order<'a> {
    fn new(
        table: &'a Table,
        passed: &[Option<PassedOn<'a>>],
        hidden: Option<&'a Hidden<'_>>,
    ) -> Result<Order<'a>, ArrowError> {
        let (mut packed, mut all_bits): (Vec<Packed<'_>>, u32) = (Vec::new(), 0);
        let (mut compared, mut last): (Vec<DynComparator>, Vec<DynComparator>) =
            (Vec::new(), Vec::new());
        let columns = table.columns.iter().zip(passed);
        let (others, counted): (Vec<_>, Vec<_>) =
            columns.partition(|(column, _)| column.role == Role::Insensitive);
        for (column, passed) in counted.into_iter().chain(others) {
            match (&column.data, passed) {
                (Data::Coded { dictionary, codes, .. }, _) => {
                    let mut order: Vec<u32> = (0..dictionary.len() as u32).collect();
                    order.sort_unstable_by_key(|code| dictionary.value(*code));
                    let mut ranks = inverse(&order);
                    // Suppressed values come last and are all equal.
                    ranks.push(order.len() as u32);
                    let hidden = hidden.filter(|hidden| Token::is_in(Some(hidden.token), column));
                    let codes = hidden.map_or(codes, |hidden| &hidden.codes);
                    let bits = bits_of(dictionary.len());
                    let is_other = column.role == Role::Insensitive;
                    if all_bits + bits <= u64::BITS
                        && compared.is_empty()
                        && (!is_other || last.is_empty())
                    {
                        all_bits += bits;
                        let numbers = PackedNumbers::Codes(codes.raw());
                        packed.push(Packed { numbers, ranks, bits });
                    } else {
                        let ranked: UInt32Array =
                            codes.raw().iter().map(|code| ranks[*code as usize]).collect();
                        let comparator = make_comparator(&ranked, &ranked, SortOptions::default())?;
                        if is_other { last.push(comparator) } else { compared.push(comparator) }
                    }
                    // A null and an empty text have one code and are released as they were.
                    let is_other =
                        |passed: &&PassedOn<'_>| !passed.is_told_by(codes.raw(), dictionary.len());
                    if let Some(passed) = passed.as_ref().filter(is_other) {
                        last.push(passed.comparator()?);
                    }
                }
                (_, Some(PassedOn::Distinct(Distinct { numbers, values, ranks })))
                    if column.role == Role::Insensitive
                        && compared.is_empty()
                        && last.is_empty()
                        && all_bits + bits_of(values.len()) <= u64::BITS =>
                {
                    let bits = bits_of(values.len());
                    all_bits += bits;
                    let numbers = PackedNumbers::Passed(numbers);
                    packed.push(Packed { numbers, ranks: ranks.clone(), bits });
                }
                (_, Some(passed)) => last.push(passed.comparator()?),
                _ => debug_assert_eq!(column.role, Role::QuasiIdentifier),
            }
        }
        compared.append(&mut last);
        let row_bits = u32::BITS - (table.row_cells.len() as u32).leading_zeros();
        Ok(Order { packed, bits: all_bits, compared, row_bits })
    }

    /// Sorts the rows of each class, which lie between `bounds`.
    fn sort(&self, rows: &mut [u32], bounds: &[u32], watch: &Watch) -> Result<()> {
        let mut rest = rows;
        let parts = neighbours(bounds, MANY).into_iter().map(|classes| {
            let bounds = &bounds[classes.start..=classes.end];
            let (part, others) = std::mem::take(&mut rest)
                .split_at_mut((bounds[bounds.len() - 1] - bounds[0]) as usize);
            rest = others;
            (part, bounds)
        });
        let parts: Vec<(&mut [u32], &[u32])> = parts.collect();
        parts.into_par_iter().try_for_each(|(rows, bounds)| {
            watch.check()?;
            let (mut numbers, mut keyed) = (Vec::new(), Vec::new());
            bounds.windows(2).try_for_each(|class| {
                let class = (class[0] - bounds[0]) as usize..(class[1] - bounds[0]) as usize;
                self.sort_class(&mut rows[class], &mut numbers, &mut keyed, watch)
            })
        })
    }

    /// Sorts rows of one class; the others are room.
    fn sort_class(
        &self,
        rows: &mut [u32],
        numbers: &mut Vec<u64>,
        keyed: &mut Vec<(u64, u32)>,
        watch: &Watch,
    ) -> Result<()> {
        if !self.compared.is_empty() || self.bits + self.row_bits > u64::BITS {
            keyed.clear();
            keyed.extend(rows.iter().map(|row| (self.key(*row), *row)));
            let compare = |a: &(u64, u32), b: &(u64, u32)| {
                let rest =
                    || self.compared.iter().map(|compare| compare(a.1 as usize, b.1 as usize));
                a.0.cmp(&b.0)
                    .then_with(|| rest().find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
            };
            if rows.len() < MANY {
                keyed.sort_unstable_by(compare)
            } else if rows.len() <= AT_ONCE {
                keyed.par_sort_unstable_by(compare)
            } else {
                watch.sort_by(keyed, compare)?;
            }
            rows.iter_mut().zip(keyed).for_each(|(row, (_, sorted))| *row = *sorted);
            return Ok(());
        }
        // The number of the row follows its key. Rows with one key are equal in all that is
        // released, so their order reveals nothing.
        numbers.clear();
        numbers.extend(rows.iter().map(|row| self.key(*row) << self.row_bits | u64::from(*row)));
        if rows.len() < MANY {
            numbers.sort_unstable()
        } else {
            let bits = self.row_bits..self.row_bits + self.bits;
            *numbers = sorted_by_digits(std::mem::take(numbers), bits, watch)?;
        }
        rows.iter_mut()
            .zip(numbers)
            .for_each(|(row, number)| *row = (*number & ((1 << self.row_bits) - 1)) as u32);
        Ok(())
    }

    fn key(&self, row: u32) -> u64 {
        let place = |packed: &Packed<'_>| u64::from(packed.rank(row));
        self.packed.iter().fold(0, |key, packed| key << packed.bits | place(packed))
    }
}

/// Bits of a number that are sorted at a time: few enough that every digit's next place stays in
/// the nearest cache.
const DIGIT: u32 = 10;

/// Sorts numbers by some of their bits, which are digits from the last to the first; equal ones
/// keep their order.
fn sorted_by_digits(mut numbers: Vec<u64>, bits: Range<u32>, watch: &Watch) -> Result<Vec<u64>> {
    let mut sorted = vec![0; numbers.len()];
    for shift in bits.clone().step_by(DIGIT as usize) {
        let mask = (1usize << DIGIT.min(bits.end - shift)) - 1;
        let digit = |number: u64| (number >> shift) as usize & mask;
        let mut next = vec![0usize; mask + 2];
        watch.each(&numbers, PIECE, |number| next[digit(*number) + 1] += 1)?;
        (0..mask).for_each(|digit| next[digit + 1] += next[digit]);
        watch.each(&numbers, PIECE, |number| {
            let place = &mut next[digit(*number)];
            sorted[*place] = *number;
            *place += 1;
        })?;
        std::mem::swap(&mut numbers, &mut sorted);
    }
    Ok(numbers)
}

impl Iterator for ReleasedRows<'_> {
    type Item = Result<Vec<Series>>;

    fn next(&mut self) -> Option<Result<Vec<Series>>> {
        let end = (self.next + BATCH).min(self.rows.len());
        if self.next == end {
            return None;
        }
        let batch = self.batch(&self.rows[self.next..end]);
        self.next = end;
        Some(batch.map_err(|source| Error::Columnar { file: self.table.file.clone(), source }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn sorting_by_digits_is_sorting() {
        let mut random = Random::new(4);
        for (rows, key_bits, row_bits) in
            [(0, 5, 1), (1, 0, 1), (3000, 7, 12), (3000, 21, 12), (500, 55, 9)]
        {
            let key =
                |random: &mut Random| if key_bits == 0 { 0 } else { random.below(1 << key_bits) };
            let numbers: Vec<u64> =
                (0..rows).map(|row| key(&mut random) << row_bits | row).collect();
            let mut truth = numbers.clone();
            truth.sort_unstable();
            let sorted =
                sorted_by_digits(numbers, row_bits..row_bits + key_bits, &Watch::default());
            assert_eq!(sorted.unwrap(), truth);
        }
    }
}
