//! Which values has each column?
//!
//! A [`Table`] is what one scan of a file leaves in memory. Columns that are counted
//! (quasi-identifiers, sensitive attributes, the target) are dictionary-encoded; distinct tuples of
//! quasi-identifiers become [`Cells`], and each row keeps only the number of its cell. Columns that
//! are merely released stay Arrow values, by number where these recur. Identifiers are not here at all.

mod cells;
mod decimal;
mod dictionary;
mod moment;
mod notation;
mod packing;
mod value;

pub use cells::{Cells, Tallies};
pub(crate) use cells::{gather, neighbours};
pub use decimal::{Decimals, SHORT_WHOLE, push_decimal, short_whole};
pub use dictionary::Dictionary;
pub(crate) use dictionary::ShortText;
pub use moment::Moment;
pub use notation::{DatePattern, Detected, Notation};
pub use packing::{Field, Packing};
pub use value::{Day, Type};

use crate::ids::{Code, IdMap, RowId, TableCellId};
use arrow_array::ArrayRef;
use arrow_schema::DataType;
use std::path::PathBuf;

/// What a column is to an adversary and to a user of the release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Names a person by itself; never released.
    Identifier,
    /// Known to an adversary; recoded.
    QuasiIdentifier,
    /// What must not be learnt about a person; released as it is, counted in every group.
    Sensitive,
    /// The class label or number that the release will be used to predict; released as it is.
    Target,
    /// Of no interest to an adversary; released as it is.
    Insensitive,
}

impl Role {
    /// Every role with its name in a policy.
    pub const NAMES: [(&'static str, Role); 5] = [
        ("identifier", Role::Identifier),
        ("quasi-identifier", Role::QuasiIdentifier),
        ("sensitive", Role::Sensitive),
        ("target", Role::Target),
        ("insensitive", Role::Insensitive),
    ];

    /// The role's name in a policy.
    pub fn name(self) -> &'static str {
        let found = Role::NAMES.iter().find(|(_, role)| *role == self);
        found.map_or("insensitive", |(name, _)| name)
    }
}

/// The values of one column.
#[derive(Debug)]
pub enum Data {
    /// A quasi-identifier: a row has it through its cell.
    Key(Dictionary),
    /// A column that is released as it is, counted or of texts that recur: a code for each row.
    /// `plain` holds the original arrays where they were not text, so that a release keeps their
    /// type.
    Coded {
        /// The distinct values.
        dictionary: Dictionary,
        /// The value of each row.
        codes: IdMap<RowId, Code>,
        /// The values as they were read, unless they were text.
        plain: Option<Passed>,
    },
    /// A column that is only passed on.
    Plain(Passed),
}

/// The values of a column as they were read.
#[derive(Debug)]
pub enum Passed {
    /// One by one.
    Arrays(Vec<ArrayRef>),
    /// By number, if they recur.
    Numbered {
        /// The number of each row's value.
        numbers: RowNumbers,
        /// The values. The first is null.
        values: ArrayRef,
    },
}

/// A number for each row, in as few bytes as the largest one needs. Rows are picked in an order of
/// their own, and most columns fit into a cache this way.
#[derive(Debug)]
pub enum RowNumbers {
    /// Below 2^8.
    Bytes(Vec<u8>),
    /// Below 2^16.
    Shorts(Vec<u16>),
    /// Any.
    Words(Vec<u32>),
}

impl RowNumbers {
    /// Numbers below `end`.
    pub fn new(numbers: Vec<u32>, end: usize) -> RowNumbers {
        match end {
            ..=0x100 => RowNumbers::Bytes(numbers.iter().map(|number| *number as u8).collect()),
            0x101..=0x1_0000 => {
                RowNumbers::Shorts(numbers.iter().map(|number| *number as u16).collect())
            }
            _ => RowNumbers::Words(numbers),
        }
    }

    /// The number of a row.
    #[inline]
    pub fn at(&self, row: usize) -> u32 {
        match self {
            RowNumbers::Bytes(numbers) => numbers[row].into(),
            RowNumbers::Shorts(numbers) => numbers[row].into(),
            RowNumbers::Words(numbers) => numbers[row],
        }
    }

    /// The numbers of some rows.
    pub fn pick(&self, rows: &[u32]) -> Vec<u32> {
        // The width is looked at once for all rows.
        let rows = rows.iter().map(|row| *row as usize);
        match self {
            RowNumbers::Bytes(numbers) => rows.map(|row| numbers[row].into()).collect(),
            RowNumbers::Shorts(numbers) => rows.map(|row| numbers[row].into()).collect(),
            RowNumbers::Words(numbers) => rows.map(|row| numbers[row]).collect(),
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).map(|row| self.at(row))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            RowNumbers::Bytes(numbers) => numbers.len(),
            RowNumbers::Shorts(numbers) => numbers.len(),
            RowNumbers::Words(numbers) => numbers.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a row has this number.
    pub fn contains(&self, number: u32) -> bool {
        match self {
            RowNumbers::Bytes(all) => u8::try_from(number).is_ok_and(|one| all.contains(&one)),
            RowNumbers::Shorts(all) => u16::try_from(number).is_ok_and(|one| all.contains(&one)),
            RowNumbers::Words(all) => all.contains(&number),
        }
    }
}

impl Default for Passed {
    fn default() -> Passed {
        Passed::Arrays(Vec::new())
    }
}

/// One column: its name, its role and its values.
#[derive(Debug)]
pub struct Column {
    /// The name in the header.
    pub name: String,
    /// The role.
    pub role: Role,
    /// The type that it has in the source.
    pub kind: DataType,
    /// The values.
    pub data: Data,
}

impl Column {
    /// The distinct values, for columns that are counted.
    pub fn dictionary(&self) -> Option<&Dictionary> {
        match &self.data {
            Data::Key(dictionary) | Data::Coded { dictionary, .. } => Some(dictionary),
            Data::Plain(_) => None,
        }
    }
}

/// A file after one scan: every column but the identifiers, in the file's order.
#[derive(Debug)]
pub struct Table {
    /// Where it came from.
    pub file: PathBuf,
    /// The columns.
    pub columns: Vec<Column>,
    /// The distinct tuples of quasi-identifiers, coded by the columns' dictionaries in the columns'
    /// order.
    pub cells: Cells<TableCellId>,
    /// The cell of each row.
    pub row_cells: IdMap<RowId, TableCellId>,
}

impl Table {
    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.row_cells.len() as u64
    }

    /// The columns with a role, in order.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(move |column| column.role == role)
    }
}
