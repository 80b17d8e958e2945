//! Re-identification risk of a table or a release.

use crate::error::Result;
use crate::policy::Policy;
use crate::release::Risks;
use crate::source::encode;
use crate::table::{Cells, Role, Table};
use std::collections::HashMap;
use std::path::Path;

/// Measures a table or a release; rows are indistinguishable where their quasi-identifiers are
/// written alike. `population` is a table that contains this one, recoded in the same way.
pub fn risk(
    file: &Path,
    policy: &Policy,
    population: Option<&Path>,
    threshold: f64,
    delimiter: Option<u8>,
) -> Result<Risks> {
    let table = read(file, policy, delimiter)?;
    let crowds = match population {
        None => None,
        Some(file) => Some(crowds(&table, &read(file, policy, delimiter)?)),
    };
    Ok(Risks::new(&table.cells, crowds.as_deref(), threshold))
}

/// Only the quasi-identifiers, as they are written. Identifiers may be there, as in an input, or
/// not.
fn read(file: &Path, policy: &Policy, delimiter: Option<u8>) -> Result<Table> {
    let source = super::open(file, delimiter)?;
    let mut roles = policy.roles(&source.names().collect::<Vec<_>>(), source.file(), true)?;
    for role in &mut roles {
        if *role != Role::QuasiIdentifier {
            *role = Role::Identifier;
        }
    }
    encode(source, &roles)
}

/// The size of each class of a table in a population, never less than in the table itself.
fn crowds(table: &Table, population: &Table) -> Vec<u64> {
    let texts = |table: &Table, cell: u32| -> Vec<String> {
        let columns = table
            .columns
            .iter()
            .filter_map(|column| Some((column.name.as_str(), column.dictionary()?)));
        let mut named: Vec<(&str, String)> = columns
            .zip(table.cells.codes(cell))
            .map(|((name, dictionary), code)| (name, dictionary.value(*code).to_string()))
            .collect();
        named.sort();
        named.into_iter().map(|(_, text)| text).collect()
    };
    let sizes = |cells: &Cells, cell: u32| u64::from(cells.counts()[cell as usize]);
    let known: HashMap<Vec<String>, u64> = (0..population.cells.len() as u32)
        .map(|cell| (texts(population, cell), sizes(&population.cells, cell)))
        .collect();
    (0..table.cells.len() as u32)
        .map(|cell| {
            known.get(&texts(table, cell)).copied().unwrap_or(0).max(sizes(&table.cells, cell))
        })
        .collect()
}
