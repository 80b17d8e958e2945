//! Hierarchies by themselves: read from a file, or laid over the values of a column.

use crate::error::{Error, Result};
use crate::policy::{Policy, nearest};
use crate::source::{encode, read_records};
use crate::table::{Dictionary, Role, Type};
use crate::taxonomy::{Hierarchy, HierarchyFile, Taxonomy, bind};
use std::path::Path;

/// The tree in a hierarchy file; an error where it is none, or where a label means two things.
pub fn read_hierarchy(file: &Path) -> Result<Taxonomy> {
    let rows = HierarchyFile::new(file, read_records(file)?)?;
    // No value needs to lie in it, so nothing depends on the type.
    let bound = bind(
        &Hierarchy::File(rows),
        Some(Type::Text),
        &[],
        &Dictionary::default(),
        "the leaves",
        file,
    )?;
    Ok(bound.taxonomy)
}

/// The tree that a policy lays over the values of one column of a table. No other column is read.
pub fn build_hierarchy(
    input: &Path,
    policy: &Policy,
    attribute: &str,
    delimiter: Option<u8>,
) -> Result<Taxonomy> {
    let source = super::open(input, delimiter)?;
    if !source.names().any(|name| name == attribute) {
        let nearest = nearest(attribute, source.names());
        return Err(Error::NoSuchColumn {
            file: input.to_path_buf(),
            column: attribute.to_string(),
            nearest,
        });
    }
    let role = |name: &str| if name == attribute { Role::Sensitive } else { Role::Identifier };
    let roles: Vec<Role> = source.names().map(role).collect();
    policy.taxonomy(&encode(source, &roles)?, attribute)
}
