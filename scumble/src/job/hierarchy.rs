//! Hierarchies by themselves: read from a file, or laid over the values of a column.

use crate::error::{Error, Result};
use crate::policy::{Policy, nearest};
use crate::source::{Source, encode, read_records};
use crate::table::{Dictionary, Role, Type};
use crate::taxonomy::{Hierarchy, HierarchyFile, Taxonomy, bind};
use crate::watch::Watch;
use std::path::Path;

/// The tree in a hierarchy file; an error if it is not one, or if a label means two things.
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
    source: &dyn Source,
    policy: &Policy,
    attribute: &str,
    watch: &Watch,
) -> Result<Taxonomy> {
    let names = source.names();
    if !names.iter().any(|name| name == attribute) {
        let nearest = nearest(attribute, names.iter().map(String::as_str));
        let (file, column) = (source.file(), attribute.to_string());
        return Err(Error::NoSuchColumn { file, column, nearest });
    }
    let role = |name: &String| if name == attribute { Role::Sensitive } else { Role::Identifier };
    let roles: Vec<Role> = names.iter().map(role).collect();
    policy.check_patterns(&[attribute])?;
    let source = &*policy.plain(source);
    let taxonomy = policy.taxonomy(&encode(source, &roles, watch, "read")?, attribute)?;
    Ok(match policy.notation(attribute) {
        None => taxonomy,
        Some(notation) => taxonomy.relabelled(|label| notation.spelled_label(label)),
    })
}
