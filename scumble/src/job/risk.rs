//! Re-identification risk of a table or a release.

use super::Job;
use crate::error::Result;
use crate::release::Risks;
use crate::source::{Counts, Source};
use crate::table::Role;
use crate::watch::Watch;
use std::collections::HashMap;

impl Job {
    /// Measures a table or a release. Rows are indistinguishable if their quasi-identifiers are
    /// written alike. `population` is a table that contains this one, recoded in the same way;
    /// risks above `threshold` count as high.
    pub fn risk(
        &self,
        table: impl Source,
        population: Option<&dyn Source>,
        threshold: f64,
        watch: &Watch,
    ) -> Result<Risks> {
        self.on_threads(|| {
            let classes = self.classes(&table, watch)?;
            let crowds = match population {
                None => None,
                Some(population) => Some(crowds(&classes, &self.classes(population, watch)?)),
            };
            Ok(Risks::new(classes.cells(), crowds.as_deref(), threshold))
        })
    }

    /// The classes of a table, by its quasi-identifiers as they are written. Identifiers may be
    /// there, as in an input, or not.
    fn classes(&self, table: &dyn Source, watch: &Watch) -> Result<Counts> {
        let table = &*self.policy.plain_release(table);
        let names = table.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let roles = self.policy.roles(&names, &table.file(), true)?;
        table.check_texts(roles.iter().map(|role| *role == Role::QuasiIdentifier))?;
        let is_key = |column: &usize| roles[*column] == Role::QuasiIdentifier;
        let keys: Vec<usize> = (0..roles.len()).filter(is_key).collect();
        let counts = table.count(&keys, watch)?;
        if counts.is_empty() {
            return Err(crate::error::Error::EmptyTable { file: table.file() });
        }
        Ok(counts)
    }
}

/// The size of each class of a table in a population, never less than in the table itself.
fn crowds(table: &Counts, population: &Counts) -> Vec<u64> {
    // Columns may come in another order there.
    let mut order: Vec<usize> = (0..population.names().len()).collect();
    order.sort_by_key(|at| &population.names()[*at]);
    let mut own: Vec<usize> = (0..table.names().len()).collect();
    own.sort_by_key(|at| &table.names()[*at]);
    let sorted = |tuple: &[&str], order: &[usize]| -> Vec<String> {
        order.iter().map(|at| tuple[*at].to_string()).collect()
    };
    let known: HashMap<Vec<String>, u64> =
        population.tuples().map(|(tuple, rows)| (sorted(&tuple, &order), rows)).collect();
    let crowd = |(tuple, rows): (Vec<&str>, u64)| {
        known.get(&sorted(&tuple, &own)).copied().unwrap_or(0).max(rows)
    };
    table.tuples().map(crowd).collect()
}
