//! Distinct values of a fixed width: numbers, days, times.

use arrow_array::{Array, ArrayRef};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType};
use hashbrown::HashTable;

/// The average number of rows per value from which a column is numbered.
const ROWS_OF_A_VALUE: usize = 4;

/// A column with no more distinct values than this is always numbered.
const FEW: usize = 1 << 14;

/// Whether a column of `rows` rows repeats its values often enough to be worth numbering.
pub(super) fn recur(values: usize, rows: usize) -> bool {
    values <= FEW.max(rows / ROWS_OF_A_VALUE)
}

/// Distinct values of up to 16 bytes, numbered from 1 in the order in which they are met. 0 is
/// null. Floating-point numbers are the same value if all their bits are.
#[derive(Debug)]
pub(super) struct Bits {
    index: HashTable<(u128, u32)>,
    /// A small cache of recent values, indexed by their hash.
    recent: Vec<(u128, u32)>,
    values: u32,
    /// Rows that were met.
    rows: usize,
}

/// Entries of the cache of recent values.
const RECENT: usize = 1 << 9;

/// The golden ratio times 2^64.
const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

fn hash(value: u128) -> u64 {
    let mixed = value as u64 ^ ((value >> 64) as u64).rotate_left(31);
    let product = u128::from(mixed ^ ODD) * u128::from(ODD);
    (product >> 64) as u64 ^ product as u64
}

impl Bits {
    /// For a column of this type; `None` if its values have no fixed width, or a large one.
    pub(super) fn new(kind: &DataType) -> Option<Bits> {
        let is_narrow = kind.primitive_width().is_some_and(|bytes| bytes <= 16);
        // No value has number 0, so nothing was met lately.
        let recent = || vec![(0, 0); RECENT];
        (is_narrow || *kind == DataType::Boolean).then(|| Bits {
            index: HashTable::new(),
            recent: recent(),
            values: 0,
            rows: 0,
        })
    }

    /// How many distinct values there are.
    pub(super) fn len(&self) -> usize {
        self.values as usize
    }

    /// Whether values recur often enough in the rows that were met.
    pub(super) fn recur(&self) -> bool {
        recur(self.len(), self.rows)
    }

    /// Adds the numbers of the rows of an array. Returns the rows that have new values, in order.
    pub(super) fn add(
        &mut self,
        array: &ArrayRef,
        numbers: &mut Vec<u32>,
    ) -> Result<Vec<u32>, ArrowError> {
        let array = match array.data_type() {
            DataType::Boolean => &cast(array, &DataType::UInt8)?,
            _ => array,
        };
        self.rows += array.len();
        let data = array.to_data();
        let width = array.data_type().primitive_width().unwrap_or(0);
        let bytes = data.buffers().first().map_or(&[][..], |buffer| buffer.as_slice());
        let bytes = &bytes[data.offset() * width..][..data.len() * width];
        Ok(match width {
            1 => self.add_all::<1>(bytes, array, numbers),
            2 => self.add_all::<2>(bytes, array, numbers),
            4 => self.add_all::<4>(bytes, array, numbers),
            8 => self.add_all::<8>(bytes, array, numbers),
            _ => self.add_all::<16>(bytes, array, numbers),
        })
    }

    fn add_all<const WIDTH: usize>(
        &mut self,
        bytes: &[u8],
        array: &ArrayRef,
        numbers: &mut Vec<u32>,
    ) -> Vec<u32> {
        let mut new = Vec::new();
        let nulls = array.nulls();
        numbers.reserve(array.len());
        for (row, value) in bytes.as_chunks::<WIDTH>().0.iter().enumerate() {
            if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                numbers.push(0);
                continue;
            }
            let mut whole = [0; 16];
            whole[..WIDTH].copy_from_slice(value);
            let value = u128::from_le_bytes(whole);
            let place = hash(value) as usize % RECENT;
            let number = match self.recent[place] {
                (known, number) if known == value && number > 0 => number,
                _ => self.meet(value, row as u32, &mut new),
            };
            self.recent[place] = (value, number);
            numbers.push(number);
        }
        new
    }

    /// The number of a value that was not met lately.
    fn meet(&mut self, value: u128, row: u32, new: &mut Vec<u32>) -> u32 {
        let hashed = hash(value);
        if let Some((_, number)) = self.index.find(hashed, |(known, _)| *known == value) {
            return *number;
        }
        // A table has fewer than 2^32 rows.
        self.values += 1;
        self.index.insert_unique(hashed, (value, self.values), |(known, _)| hash(*known));
        new.push(row);
        self.values
    }
}
