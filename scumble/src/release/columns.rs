//! The columns of a release, row by row: as they were, or recoded.

use super::rows::inverse;
use super::{Recoded, RecodedValues};
use crate::error::Result;
use crate::ids::{CellId, ClassId, IdMap, RowId, TableCellId};
use crate::table::{Data, Dictionary, Role, Table};
use crate::watch::Watch;
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
    pub fn of(
        table: &'a Table,
        recoded: Option<(&'a Recoded, &IdMap<TableCellId, CellId>)>,
        watch: &Watch,
    ) -> Result<Vec<Released<'a>>> {
        let class_of_row: IdMap<RowId, ClassId> = recoded
            .map(|(recoded, leaf_cell)| recoded.class_of_row(table, leaf_cell, watch))
            .transpose()?
            .unwrap_or_default();
        let mut key = 0;
        let mut columns = Vec::new();
        for column in &table.columns {
            let is_key = column.role == Role::QuasiIdentifier;
            let (codes, labels) = match (&column.data, recoded) {
                (Data::Coded { dictionary, codes, .. }, _) => {
                    (Cow::Borrowed(codes.raw()), Labels::Plain(dictionary))
                }
                (Data::Key(_), Some((recoded, _))) => {
                    let code = |class: ClassId| recoded.classes.codes(class)[key];
                    let values = recoded
                        .classes
                        .tuples()
                        .map(|tuple| tuple[key] as usize + 1)
                        .max()
                        .unwrap_or(0);
                    let codes = watch.list(class_of_row.iter().map(code))?;
                    (Cow::Owned(codes), Labels::Recoded(&recoded.values[key], values))
                }
                _ => continue,
            };
            key += usize::from(is_key);
            columns.push(Released { name: &column.name, is_key, codes, labels });
        }
        Ok(columns)
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
