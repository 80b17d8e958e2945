//! A policy in code, with the words of the TOML.

use super::document::{Setting, Value};
use super::loaded::Loaded;
use super::{DistributionAsked, Policy, PresenceAsked, TargetForm, file, hierarchy};
use crate::error::{Error, Place, Result};
use crate::ratio::Ratio;
use crate::table::{Role, Type};
use crate::taxonomy::Hierarchy;
use std::path::{Path, PathBuf};

/// What errors call a policy that did not come from a file.
pub(super) const NAME: &str = "policy";

/// A policy that is being made or changed. Nothing is checked before [`build`](Self::build), which
/// applies the same checks as to a file.
///
/// Methods have the names of the keys in `docs/policy.md`. Everything that has no method of its own
/// is reached by [`set`](Self::set).
#[derive(Clone, Debug)]
pub struct PolicyBuilder {
    file: PathBuf,
    document: Setting,
    loaded: Loaded,
    /// Caps that were derived from another table.
    caps: Vec<(String, String, Ratio)>,
    /// A path that could not be set, because something on it is no table.
    blocked: Option<String>,
}

impl Default for PolicyBuilder {
    fn default() -> Self {
        let document = Value::Table(Vec::new()).into();
        PolicyBuilder {
            file: NAME.into(),
            document,
            loaded: Loaded::default(),
            caps: Vec::new(),
            blocked: None,
        }
    }
}

impl PolicyBuilder {
    /// A TOML file. Only its syntax is checked here, so that what does not fit together can be
    /// changed before it is built.
    pub fn read(file: &Path) -> Result<PolicyBuilder> {
        let text = std::fs::read(file).map_err(Error::io(file, "read"))?;
        let text = String::from_utf8(text).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let line = bytes[..valid].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
            let value =
                String::from_utf8_lossy(&bytes[valid..bytes.len().min(valid + 8)]).into_owned();
            Error::InvalidUtf8 { place: Place::file(file).line(line), value }
        })?;
        PolicyBuilder::parse(&text, file)
    }

    /// TOML text. Errors call it `file`, and its paths are relative to the folder of `file`.
    pub fn parse(text: &str, file: &Path) -> Result<PolicyBuilder> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = Setting::from_toml(text, file)?;
        Ok(PolicyBuilder { file: file.into(), document, ..PolicyBuilder::default() })
    }

    pub(super) fn of(policy: &Policy) -> PolicyBuilder {
        let files = policy.attributes.iter().filter_map(|attribute| match &attribute.hierarchy {
            Hierarchy::File(file) => Some(file.as_written()),
            _ => None,
        });
        let marginals = policy.privacy.presence.as_ref().and_then(PresenceAsked::marginals);
        let targets = policy.privacy.distribution.iter().flat_map(DistributionAsked::all_targets);
        let targets = targets.filter_map(|target| match &target.form {
            TargetForm::File { file, read, .. } => Some((file.clone(), read.clone())),
            _ => None,
        });
        let loaded = Loaded {
            hierarchies: files.collect(),
            marginals: marginals.map(|asked| (asked.file.clone(), asked.listed.clone())),
            targets: targets.collect(),
        };
        PolicyBuilder {
            file: policy.file.clone(),
            document: policy.document.clone(),
            loaded,
            caps: policy.privacy.thresholds.iter().flat_map(|asked| asked.fixed.clone()).collect(),
            blocked: None,
        }
    }

    pub(super) fn from_document(document: Setting) -> PolicyBuilder {
        PolicyBuilder { document, ..PolicyBuilder::default() }
    }

    /// Checks everything.
    pub fn build(self) -> Result<Policy> {
        // A value in the place of a table is usually an error itself, with a better message.
        let policy = file::read(self.document, &self.file, &self.loaded)?;
        match self.blocked {
            Some(key) => Err(Error::Inapplicable {
                place: Some(Place::file(self.file)),
                key,
                problem: "is not inside a table".into(),
            }),
            None => policy.with_caps(&self.caps),
        }
    }

    /// Sets any key, by the names of the tables that lead to it:
    /// `.set(["search", "time-limit"], "10s")`.
    pub fn set<const N: usize>(self, path: [&str; N], value: impl Into<Setting>) -> Self {
        self.set_at(&path, value.into())
    }

    /// The same for a path whose length is not known.
    pub(super) fn set_at<S: AsRef<str>>(mut self, path: &[S], value: Setting) -> Self {
        match self.document.at_mut(path) {
            Some(setting) => *setting = value,
            None => {
                let names: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
                self.blocked = Some(names.join("."));
            }
        }
        self
    }

    /// The text of a key, if it is there and a text.
    pub fn at<const N: usize>(&self, path: [&str; N]) -> Option<&str> {
        match &self.document.at(&path)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Removes a key, or a table with all that is in it.
    pub fn remove<const N: usize>(mut self, path: [&str; N]) -> Self {
        self.document.remove(&path);
        self
    }

    /// A column that is left out of the release.
    pub fn identifier(self, name: &str) -> Self {
        self.role(name, Role::Identifier)
    }

    /// A column that an outsider may know, and how its values are generalized.
    pub fn quasi_identifier(self, name: &str, hierarchy: Hierarchy) -> Self {
        self.role(name, Role::QuasiIdentifier).hierarchy(name, hierarchy)
    }

    /// A column that must not be told about anybody.
    pub fn sensitive(self, name: &str) -> Self {
        self.role(name, Role::Sensitive)
    }

    /// The class label or the number that the release is used to predict.
    pub fn target(self, name: &str) -> Self {
        self.role(name, Role::Target)
    }

    /// A column that is released as it is.
    pub fn insensitive(self, name: &str) -> Self {
        self.role(name, Role::Insensitive)
    }

    /// The role of a column.
    pub fn role(self, name: &str, role: Role) -> Self {
        self.set(["attributes", name, "role"], name_of(Role::NAMES, role))
    }

    /// The role of columns that have none.
    pub fn default_role(self, role: Role) -> Self {
        self.set(["defaults", "role"], name_of(Role::NAMES, role))
    }

    /// The type of a column, instead of the one that its values have.
    pub fn kind(self, name: &str, kind: Type) -> Self {
        self.set(["attributes", name, "type"], name_of(Type::NAMES, kind))
    }

    /// How the values of a column are generalized.
    pub fn hierarchy(mut self, name: &str, hierarchy: Hierarchy) -> Self {
        if let Hierarchy::File(file) = &hierarchy {
            // The caller's folder is not the policy's.
            let path = std::path::absolute(file.file()).unwrap_or(file.file().to_path_buf());
            let text = path.to_string_lossy().into_owned();
            self.loaded.hierarchies.retain(|known| known.file() != path);
            self.loaded.hierarchies.push(file.moved(&path));
            let builder = self.remove(["attributes", name, "sets"]);
            return builder.set(["attributes", name, "hierarchy"], text);
        }
        self = match hierarchy {
            Hierarchy::Sets => self.sets(name, true),
            _ => self.remove(["attributes", name, "sets"]),
        };
        match hierarchy::written(&hierarchy) {
            Some(written) => self.set(["attributes", name, "hierarchy"], written),
            None => self.remove(["attributes", name, "hierarchy"]),
        }
    }

    /// Values of a column that mean "missing", besides the empty one.
    pub fn missing(self, name: &str, values: &[&str]) -> Self {
        self.set(["attributes", name, "missing"], values.to_vec())
    }

    /// How the dates of a column are written, such as `"DD.MM.YYYY"`.
    pub fn format(self, name: &str, pattern: &str) -> Self {
        self.set(["attributes", name, "format"], pattern)
    }

    /// What separates the decimals of the numbers of a column.
    pub fn decimal(self, name: &str, separator: &str) -> Self {
        self.set(["attributes", name, "decimal"], separator)
    }

    /// What may separate groups of three digits in the numbers of a column.
    pub fn thousands(self, name: &str, separator: &str) -> Self {
        self.set(["attributes", name, "thousands"], separator)
    }

    /// How much the detail of a quasi-identifier matters to LM, relative to others.
    pub fn weight(self, name: &str, weight: impl Into<Setting>) -> Self {
        self.set(["attributes", name, "weight"], weight)
    }

    /// Whether a class of a local recoding is called by the set of its values in a column of texts
    /// without a hierarchy.
    pub fn sets(self, name: &str, sets: bool) -> Self {
        self.set(["attributes", name, "sets"], sets)
    }

    /// Values that mean "missing" in every column.
    pub fn default_missing(self, values: &[&str]) -> Self {
        self.set(["defaults", "missing"], values.to_vec())
    }

    /// k-anonymity: the minimum number of rows in a class.
    pub fn k(self, k: impl Into<Setting>) -> Self {
        self.set(["privacy", "k"], k)
    }

    /// l-diversity of a kind: `"frequency"`, `"distinct"` or `"entropy"`. A second call asks for a
    /// second one.
    pub fn l_diversity(self, kind: &str, l: impl Into<Setting>) -> Self {
        self.require("l-diversity", Setting::table([("kind", kind.into()), ("l", l.into())]))
    }

    /// Recursive (c, l)-diversity.
    pub fn recursive_l_diversity(self, c: impl Into<Setting>, l: impl Into<Setting>) -> Self {
        let fields = [("kind", "recursive".into()), ("c", c.into()), ("l", l.into())];
        self.require("l-diversity", Setting::table(fields))
    }

    /// t-closeness: the maximum distance between a class and the table.
    pub fn t_closeness(self, t: impl Into<Setting>) -> Self {
        self.require("t-closeness", t)
    }

    /// The minimum variance of numbers in a class.
    pub fn variance(self, at_least: impl Into<Setting>) -> Self {
        self.require("variance", at_least)
    }

    /// Adds a requirement to those of its key, `l-diversity`, `t-closeness` or `variance`. A table
    /// says more than the methods above, such as the sensitive attribute it is about.
    pub fn require(self, key: &str, value: impl Into<Setting>) -> Self {
        let path = ["privacy", key];
        let value: Setting = match self.document.at(&path).cloned() {
            None => value.into(),
            Some(Setting { value: Value::List(mut list), .. }) => {
                list.push(value.into());
                list.into()
            }
            Some(known) => vec![known, value.into()].into(),
        };
        self.set(path, value)
    }

    /// l+-diversity: the maximum share of a class that a sensitive value may have.
    pub fn threshold(self, value: &str, cap: impl Into<Setting>) -> Self {
        self.set(["privacy", "thresholds", "values", value], cap)
    }

    /// The same for all values that have none of their own.
    pub fn default_threshold(self, cap: impl Into<Setting>) -> Self {
        self.set(["privacy", "thresholds", "default"], cap)
    }

    /// Values that may have a cap although the table does not have them.
    pub fn values_known(self, values: &[&str]) -> Self {
        self.set(["privacy", "thresholds", "values-known"], values.to_vec())
    }

    /// delta-presence in a population, a table of everybody.
    pub fn presence(
        self,
        min: impl Into<Setting>,
        max: impl Into<Setting>,
        population: &Path,
    ) -> Self {
        let population = absolute(population);
        let fields = [("min", min.into()), ("max", max.into()), ("population", population)];
        self.set(["privacy", "presence"], Setting::table(fields))
    }

    /// delta-presence with a confidence, if only marginals of the population are known.
    pub fn presence_with_marginals(
        self,
        min: impl Into<Setting>,
        max: impl Into<Setting>,
        confidence: impl Into<Setting>,
        marginals: &Path,
    ) -> Self {
        let fields = [
            ("min", min.into()),
            ("max", max.into()),
            ("confidence", confidence.into()),
            ("marginals", absolute(marginals)),
        ];
        self.set(["privacy", "presence"], Setting::table(fields))
    }

    /// The distribution that a sensitive attribute must seem to be drawn from.
    pub fn distribution(self, attribute: &str, target: impl Into<Setting>) -> Self {
        let fields = [("attribute", attribute.into()), ("target", target.into())];
        self.set(["privacy", "distribution"], Setting::table(fields))
    }

    /// The algorithm, by its name. In a policy with a distribution, `"sa-only"` and `"qi-sa"` choose
    /// how it is made, and all others how classes are.
    pub fn algorithm(self, name: &str) -> Self {
        let (of_search, of_buckets) =
            (["search", "algorithm"], ["privacy", "distribution", "algorithm"]);
        let is_of_buckets = |name: &str| matches!(name, "sa-only" | "qi-sa");
        let known = match self.document.at(&of_search).map(|known| &known.value) {
            Some(Value::Text(known)) if is_of_buckets(known) => Some(known.clone()),
            _ => None,
        };
        if self.document.at(&["privacy", "distribution"]).is_none() {
            return self.set(of_search, name);
        }
        match known {
            _ if is_of_buckets(name) => {
                let builder = if known.is_some() { self.remove(of_search) } else { self };
                builder.set(of_buckets, name)
            }
            Some(known) if self.document.at(&of_buckets).is_none() => {
                self.set(of_buckets, known.as_str()).set(of_search, name)
            }
            _ => self.set(of_search, name),
        }
    }

    /// What is minimised: `"lm"`, `"dm"` or `"cm"`.
    pub fn loss(self, name: &str) -> Self {
        self.set(["search", "loss"], name)
    }

    /// How partitioning algorithms split: `"loss"`, `"median"`, `"info-gain"` or `"regression"`.
    pub fn split(self, name: &str) -> Self {
        self.set(["search", "split"], name)
    }

    /// The maximum share of rows that may be left out.
    pub fn suppression(self, limit: impl Into<Setting>) -> Self {
        let scheme = self.document.at(&["search", "suppression", "scheme"]);
        let is_none = scheme
            .is_some_and(|scheme| matches!(&scheme.value, Value::Text(name) if name == "none"));
        let builder = if is_none { self.scheme("records") } else { self };
        builder.set(["search", "suppression", "limit"], limit)
    }

    /// What happens to classes that fail. `"none"` removes the limit, since nothing is suppressed.
    pub fn scheme(self, name: &str) -> Self {
        let builder = self.set(["search", "suppression", "scheme"], name);
        match name {
            "none" => builder.remove(["search", "suppression", "limit"]),
            _ => builder,
        }
    }
}

/// A path that does not depend on where the policy lies.
fn absolute(path: &Path) -> Setting {
    let path = std::path::absolute(path).unwrap_or(path.to_path_buf());
    path.to_string_lossy().into_owned().into()
}

/// The name of a value in a list of names.
fn name_of<T: PartialEq, const N: usize>(names: [(&'static str, T); N], value: T) -> &'static str {
    names.into_iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}
