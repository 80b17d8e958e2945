//! The columns of a release, row by row: as they were, or recoded.

use super::rows::inverse;
use super::{Recoded, RecodedValues};
use crate::table::{Data, Dictionary, Role, Table};
use std::borrow::Cow;

/// A column as it is released.
#[derive(Debug)]
pub struct Released<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it is a quasi-identifier.
    pub is_key: bool,
    /// The value of each row of the table.
    pub codes: Cow<'a, [u32]>,
    labels: Labels<'a>,
}

#[derive(Debug)]
enum Labels<'a> {
    Plain(&'a Dictionary),
    Recoded(&'a RecodedValues, usize),
}

impl<'a> Released<'a> {
    /// The coded columns of a table, and its recoded quasi-identifiers. `recoded` comes with the
    /// cell of the search that each cell of the table went to.
    pub fn of(table: &'a Table, recoded: Option<(&'a Recoded, &[u32])>) -> Vec<Released<'a>> {
        let class_of_row: Vec<u32> = match recoded {
            None => Vec::new(),
            Some((recoded, leaf_cell)) => table
                .row_cells
                .iter()
                .map(|cell| recoded.class_of[leaf_cell[*cell as usize] as usize])
                .collect(),
        };
        let mut key = 0;
        let mut columns = Vec::new();
        for column in &table.columns {
            let is_key = column.role == Role::QuasiIdentifier;
            let (codes, labels) = match (&column.data, recoded) {
                (Data::Coded { dictionary, codes, .. }, _) => {
                    (Cow::Borrowed(&codes[..]), Labels::Plain(dictionary))
                }
                (Data::Key(_), Some((recoded, _))) => {
                    let code = |class: &u32| recoded.classes.codes(*class)[key];
                    let values = recoded
                        .classes
                        .tuples()
                        .map(|tuple| tuple[key] as usize + 1)
                        .max()
                        .unwrap_or(0);
                    let codes: Vec<u32> = class_of_row.iter().map(code).collect();
                    (Cow::Owned(codes), Labels::Recoded(&recoded.values[key], values))
                }
                _ => continue,
            };
            key += usize::from(is_key);
            columns.push(Released { name: &column.name, is_key, codes, labels });
        }
        columns
    }

    /// How many values the column may have.
    pub fn values(&self) -> usize {
        match self.labels {
            Labels::Plain(dictionary) => dictionary.len(),
            Labels::Recoded(_, values) => values,
        }
    }

    /// What a value is called.
    pub fn label(&self, value: u32) -> &'a str {
        match self.labels {
            Labels::Plain(dictionary) => dictionary.value(value),
            Labels::Recoded(values, _) => values.label(value),
        }
    }

    /// What all values are called.
    pub fn labels(&self) -> impl Iterator<Item = &'a str> + Clone {
        (0..self.values() as u32).map(|value| self.label(value))
    }

    /// The values in the order of what they are called, which says nothing about the order of the
    /// input.
    pub fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.values() as u32).collect();
        order.sort_unstable_by_key(|value| self.label(*value));
        order
    }

    /// The place of each value in that order.
    pub fn ranks(&self) -> Vec<u32> {
        inverse(&self.order())
    }
}
