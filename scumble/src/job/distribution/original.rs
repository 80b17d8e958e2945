//! A release beside the table that it came from.

use super::{Generalized, claims, read};
use crate::bind::Outside;
use crate::error::{Error, Result};
use crate::policy::{DistributionAsked, Policy};
use crate::recoding::{Columns, Recoding};
use crate::release::{Originals, Tables, Verification, check_distribution};
use crate::source::{Source, encode};
use crate::table::{Role, Table};
use crate::watch::Watch;
use std::path::PathBuf;

/// Verifies a release, beside the table it came from if that is given.
pub(in crate::job) fn verify(
    policy: &Policy,
    release: &Tables,
    original: Option<&dyn Source>,
    watch: &Watch,
) -> Result<Verification> {
    let (Some(original), Some(asked)) = (original, &policy.privacy().distribution) else {
        return check_distribution(release, policy, None, watch);
    };
    match count(policy, asked, release, original, watch) {
        Ok(originals) => check_distribution(release, policy, Some(&originals), watch),
        // What is wrong with the recoding is told beside what is wrong with the tables.
        Err(Error::Mismatch { file, problem }) if file.starts_with(release.name()) => {
            let mut verification = check_distribution(release, policy, None, watch)?;
            verification.fail(problem);
            Ok(verification)
        }
        Err(error) => Err(error),
    }
}

/// The values of the original by what its rows are called in the release.
///
/// If quasi-identifiers are generalized, the producer's code applies the saved recoding to the
/// table again. What comes out is a claim that the verification checks against the policy's
/// hierarchies and the records, so a mistake in that code fails here and hides nothing.
fn count(
    policy: &Policy,
    asked: &DistributionAsked,
    release: &Tables,
    original: &dyn Source,
    watch: &Watch,
) -> Result<Originals> {
    if !policy.privacy().asks_for_classes() {
        let table = read_labels(policy, asked, original, watch)?;
        return Originals::count(policy, asked, &table, &[], None, watch);
    }
    let table = read(original, policy, asked, watch)?;
    let generalized = recode(release, policy, &table, watch)?;
    let (columns, rows) = generalized.released(&table, watch)?;
    Originals::count(policy, asked, &table, &claims(&columns), rows.chosen(), watch)
}

/// Reads the sensitive attribute and the columns that rows are counted by.
fn read_labels(
    policy: &Policy,
    asked: &DistributionAsked,
    original: &dyn Source,
    watch: &Watch,
) -> Result<Table> {
    let names = original.names();
    let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
    let roles = policy.roles(&borrowed, &original.file(), false)?;
    let is_read = |name: &str, role: Role| {
        name == asked.attribute || Originals::has_labels(policy, asked, name, role)
    };
    let columns = borrowed.iter().zip(&roles);
    let read = columns.map(|(name, role)| {
        // What is not read is as good as an identifier.
        if is_read(name, *role) { Role::Target } else { Role::Identifier }
    });
    let mut table = encode(original, &read.collect::<Vec<_>>(), watch, "read")?;
    let kept = borrowed.iter().zip(&roles).filter(|(name, role)| is_read(name, **role));
    for (column, (_, role)) in table.columns.iter_mut().zip(kept) {
        column.role = *role;
    }
    Ok(table)
}

/// The quasi-identifiers as the release's own recoding makes them.
fn recode(release: &Tables, policy: &Policy, table: &Table, watch: &Watch) -> Result<Generalized> {
    let name = release.name().display();
    let file = PathBuf::from(format!("{name}.recoding.json"));
    let text = release.recoding().ok_or_else(|| Error::Incomplete {
        file: release.name().to_path_buf(),
        missing: format!(
            "{} is missing, so the classes cannot be compared with the table",
            file.display()
        ),
    })?;
    let saved = Recoding::from_json(text, &file)?;
    let prepared = policy.prepare_within(table, Outside::default(), watch)?;
    let task = &prepared.task;
    let columns =
        Columns { names: &prepared.names, taxonomies: &task.taxonomies, axes: &task.axes };
    let mapping = saved.bind(columns, &file)?;
    Generalized::new("saved-recoding", prepared, mapping, watch)
}
