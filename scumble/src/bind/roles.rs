//! Every column gets its role.

use crate::error::{Error, Place, Result};
use crate::policy::{Policy, nearest};
use crate::table::Role;
use std::path::Path;

impl Policy {
    /// The role of each column; `file` names the table in errors. It is an error if a column has no
    /// role, or if the policy names an attribute that is not among the columns. Identifiers may be
    /// absent from a release.
    pub fn roles(&self, columns: &[&str], file: &Path, is_release: bool) -> Result<Vec<Role>> {
        for attribute in self.attributes() {
            let dropped =
                is_release && attribute.role.or(self.default_role()) == Some(Role::Identifier);
            if !dropped && !columns.iter().any(|column| attribute.covers(column)) {
                return Err(Error::NoSuchColumn {
                    file: file.to_path_buf(),
                    column: attribute.name.clone(),
                    nearest: nearest(&attribute.name, columns.iter().copied()),
                });
            }
        }
        self.check_patterns(columns)?;
        let roles = columns.iter().map(|name| self.role(name, file)).collect::<Result<Vec<_>>>()?;
        if !roles.contains(&Role::QuasiIdentifier) {
            return Err(self.incomplete(
                "no column has the role `quasi-identifier`; give it to columns that an outsider may know"
                    .into(),
            ));
        }
        Ok(roles)
    }

    fn role(&self, name: &str, file: &Path) -> Result<Role> {
        let declared = self.attribute(name).and_then(|attribute| attribute.role);
        declared.or(self.default_role()).ok_or_else(|| Error::NoRole {
            place: Place::file(file).column(name),
            policy: self.file().to_path_buf(),
        })
    }
}
