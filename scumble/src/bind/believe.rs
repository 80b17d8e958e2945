//! A policy meets a summary: its trees are laid over the values that the summary knows, and its
//! requirements become what belief can tell of them.

use super::keys::Declared;
use super::{BoundKey, Required, Surveyed};
use crate::error::{Error, Result, quoted};
use crate::estimate::bucket::Condition;
use crate::loss::{Loss, LossChoice};
use crate::policy::Policy;
use crate::summary::{ANY_TREE, Attribute, Beliefs, Sensitive, Summary, fingerprint};
use crate::table::{Dictionary, Role};
use std::path::Path;

impl Policy {
    /// Binds a summary, which was read from `file`. One of another table, or of other hierarchies,
    /// is refused.
    pub fn believe(&self, summary: Summary, file: &Path) -> Result<Beliefs> {
        if self.search().loss.needs_target() {
            let others = LossChoice::NAMES.into_iter().filter(|(_, loss, _)| !loss.needs_target());
            let others: Vec<&str> = others.map(|(name, ..)| name).collect();
            return Err(self.incomplete(format!(
                "the loss `{}` cannot be used with a summary, which has no class labels; use {}",
                self.search().loss.name(),
                others.join(" or ")
            )));
        }
        self.check_attributes(&summary, file)?;
        let keys: Vec<&Attribute> =
            summary.with_role(Role::QuasiIdentifier).map(|(_, attribute)| attribute).collect();
        let (mut taxonomies, mut axes, mut leaf_of) = (Vec::new(), Vec::new(), Vec::new());
        for attribute in &keys {
            let bound = self.bind_summarized(attribute, file)?;
            axes.push(bound.axis);
            taxonomies.push(bound.taxonomy);
            leaf_of.push(bound.leaf_of);
        }
        let weights = self.weights(keys.iter().map(|attribute| attribute.name.as_str()))?;
        let names = keys.iter().map(|attribute| attribute.name.clone()).collect();
        let sensitive: Vec<(usize, &Attribute)> = summary.with_role(Role::Sensitive).collect();
        let dictionaries: Vec<Dictionary> =
            sensitive.iter().map(|(_, attribute)| dictionary(attribute)).collect();
        let of = |((_, attribute), dictionary)| {
            let Attribute { name, counts, .. }: &Attribute = attribute;
            Surveyed { name, dictionary, rows: counts }
        };
        let surveyed: Vec<Surveyed<'_>> =
            sensitive.iter().copied().zip(&dictionaries).map(of).collect();
        self.check_named_values(surveyed.iter().map(|column| (column.name, column.dictionary)))?;
        let Required { columns, leaf_of: leaves, values, requirements, .. } =
            self.required(&surveyed, file)?;
        let mut not_estimated = Vec::new();
        let mut condition = Condition::default();
        for requirement in &requirements {
            let believed = requirement.believed(&values);
            if believed.is_partial {
                not_estimated.push(requirement.statement().requirement.to_string());
            }
            condition = condition.and(believed);
        }
        // A presence is about a population, of which a summary says nothing.
        if self.privacy().presence.is_some() {
            not_estimated.push("delta-presence".into());
        }
        let sensitive =
            columns.iter().zip(leaves).zip(&values).map(|((column, leaf_of), values)| Sensitive {
                attribute: sensitive[*column].0,
                leaf_of,
                values: *values,
            });
        Ok(Beliefs {
            names,
            taxonomies,
            axes,
            leaf_of,
            sensitive: sensitive.collect(),
            condition,
            not_estimated,
            loss: self.search().loss,
            weights,
            suppressible: self.search().suppression.floor_of(summary.rows),
            summary,
        })
    }

    /// Whether the summary is about the attributes that the policy names, with the same roles.
    fn check_attributes(&self, summary: &Summary, file: &Path) -> Result<()> {
        let mismatch = |problem: String| Error::Mismatch { file: file.to_path_buf(), problem };
        let role_name = |role: Role| {
            Role::NAMES.iter().find(|(_, known)| *known == role).map_or("", |(name, _)| name)
        };
        let role = |name: &str| {
            self.attribute(name).and_then(|attribute| attribute.role).or(self.default_role())
        };
        for attribute in &summary.attributes {
            if role(&attribute.name) != Some(attribute.role) {
                let (name, was) = (quoted(&attribute.name), role_name(attribute.role));
                return Err(mismatch(format!(
                    "{name} has the role {was} in the summary, but another in the policy"
                )));
            }
        }
        for attribute in self.attributes() {
            let asked = attribute
                .role
                .or(self.default_role())
                .filter(|role| matches!(role, Role::QuasiIdentifier | Role::Sensitive));
            if asked.is_some()
                && !summary.attributes.iter().any(|known| attribute.covers(&known.name))
            {
                let name = quoted(&attribute.name);
                return Err(mismatch(format!(
                    "the summary has no column {name}, which the policy names"
                )));
            }
        }
        Ok(())
    }

    /// The tree of a summarized quasi-identifier, which must be the one that it had.
    fn bind_summarized(&self, attribute: &Attribute, file: &Path) -> Result<BoundKey> {
        let declared = self.declared(&attribute.name);
        let declared = Declared { kind: declared.kind.or(Some(attribute.kind)), ..declared };
        let is_any = attribute.tree == ANY_TREE;
        match declared.bind_key(&attribute.name, &dictionary(attribute), file) {
            Ok(bound) if is_any || fingerprint(&bound.taxonomy) == attribute.tree => Ok(bound),
            Err(error) if is_any => Err(error),
            _ => {
                let name = quoted(&attribute.name);
                let problem = format!(
                    "the hierarchy of {name} differs from the policy; summarize the table again"
                );
                Err(Error::Mismatch { file: file.to_path_buf(), problem })
            }
        }
    }

    /// What a summary keeps of an attribute besides values and counts, from the values of a table.
    pub(crate) fn summarized(
        &self,
        name: &str,
        role: Role,
        dictionary: &Dictionary,
        file: &Path,
    ) -> Result<Attribute> {
        let binding = self.declared(name).bind(name, dictionary, file)?;
        let is_key = role == Role::QuasiIdentifier;
        let tree = if is_key { fingerprint(&binding.taxonomy) } else { ANY_TREE };
        Ok(Attribute {
            name: name.to_string(),
            role,
            kind: binding.kind,
            values: Vec::new(),
            counts: Vec::new(),
            tree,
        })
    }
}

/// The values of a summarized attribute, numbered as it numbers them.
fn dictionary(attribute: &Attribute) -> Dictionary {
    let mut dictionary = Dictionary::default();
    for value in &attribute.values {
        dictionary.encode(value, 1);
    }
    dictionary
}
