//! What is asked for?
//!
//! A [`Policy`] is data: roles and hierarchies of columns, requirements, and how to search. It comes
//! from a TOML file ([`Policy::read`]), from any format of serde, or from a [`PolicyBuilder`]. All of
//! them go through the same checks, so an invalid policy does not exist. It knows no table; the room
//! [`bind`](crate::bind) lays it over one.

mod builder;
mod check;
mod distribution;
mod document;
mod effect;
mod entry;
mod exchange;
mod file;
mod hierarchy;
mod keys;
mod loaded;
mod notation;
mod presence;
mod privacy;
mod relax;
mod search;
mod wildcard;

pub use crate::search::buckets::Fakes;
pub use builder::PolicyBuilder;
pub use distribution::{DistributionAsked, Of, RoundingAsked, TargetAsked, TargetForm};
pub use document::Setting;
pub(crate) use effect::Way;
pub use keys::{KEYS, Key, nearest};
pub use presence::{MarginalsAsked, MarginalsOf, PresenceAsked, WorldAsked};
pub use privacy::{
    ClosenessAsked, DistanceAsked, DiversityAsked, Privacy, ThresholdsAsked, VarianceAsked,
};
pub(crate) use relax::Dial;
pub use search::{
    Algorithm, ByAsked, CutParameters, DiskParameters, InstantParameters, Kind, SearchAsked, Space,
    StructureSearch,
};

use crate::error::{Error, Result};
use crate::ratio::Ratio;
use crate::search::cuts::Suppression;
use crate::table::{Notation, Role, Type};
use crate::taxonomy::Hierarchy;
use std::path::{Path, PathBuf};

/// What the policy says of one column.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The column's name, or a pattern such as `lab_*` for several columns.
    pub name: String,
    /// Its role; the default role if `None`.
    pub role: Option<Role>,
    /// Its type; inferred from the values if `None`.
    pub kind: Option<Type>,
    /// How its values are written, if not in the plain way.
    pub notation: Option<Notation>,
    /// How its values are generalized. Labels of files and trees are in the plain way.
    pub hierarchy: Hierarchy,
    /// Values that mean "missing"; the default ones if `None`.
    pub missing: Option<Vec<String>>,
    /// How much its detail matters, if that is given; above 0.
    pub weight: Option<Ratio>,
}

impl Attribute {
    /// Whether classes of a local recoding are called by sets of its values.
    pub fn has_sets(&self) -> bool {
        matches!(self.hierarchy, Hierarchy::Sets)
    }
}

/// What is asked for: a checked policy.
///
/// ```
/// use scumble::policy::Policy;
/// use scumble::taxonomy::Hierarchy;
///
/// # fn main() -> scumble::error::Result<()> {
/// let policy = Policy::builder()
///     .identifier("name")
///     .quasi_identifier("age", Hierarchy::intervals(&[10.0, 20.0], Some(0.0), Some(100.0))?)
///     .sensitive("diagnosis")
///     .k(5)
///     .l_diversity("frequency", 3)
///     .suppression("5%")
///     .build()?;
/// assert_eq!(policy.privacy().k, Some(5));
/// assert!(policy.edit().k(0).build().is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Policy {
    file: PathBuf,
    attributes: Vec<Attribute>,
    default_role: Option<Role>,
    missing: Vec<String>,
    privacy: Privacy,
    search: SearchAsked,
    /// As it was written.
    document: Setting,
}

impl Policy {
    /// Reads and checks a policy and the files it names, whose paths are relative to it.
    pub fn read(file: &Path) -> Result<Policy> {
        PolicyBuilder::read(file)?.build()
    }

    /// Reads a policy from TOML. Errors call it `file`, and its paths are relative to the folder of
    /// `file`.
    pub fn parse(text: &str, file: &Path) -> Result<Policy> {
        PolicyBuilder::parse(text, file)?.build()
    }

    /// Reads a policy from TOML that names no files.
    pub fn from_toml(text: &str) -> Result<Policy> {
        Policy::parse(text, Path::new("policy"))
    }

    /// An empty policy, to be filled with the words of the TOML and then checked.
    pub fn builder() -> PolicyBuilder {
        PolicyBuilder::default()
    }

    /// A builder that holds this policy. Files that were read are not read again.
    pub fn edit(&self) -> PolicyBuilder {
        PolicyBuilder::of(self)
    }

    /// The same policy with caps that were derived from the frequencies of another table, by column
    /// and value: a release is judged by the caps of its input. Without `from-frequency` nothing
    /// changes.
    ///
    /// These caps are no part of the document that serde writes.
    pub fn with_caps(&self, caps: &[(String, String, Ratio)]) -> Result<Policy> {
        if let Some((column, value, cap)) = caps.iter().find(|(.., cap)| *cap > Ratio::ONE) {
            return Err(Error::BadParameter {
                place: None,
                key: format!("cap of {column} = {value}"),
                value: cap.to_string(),
                expected: "a fraction from 0 to 1".into(),
            });
        }
        let mut policy = self.clone();
        if let Some(asked) = &mut policy.privacy.thresholds
            && asked.from_frequency.is_some()
        {
            asked.fixed = caps.to_vec();
        }
        Ok(policy)
    }

    /// Whether caps follow from the frequencies of a table's sensitive values.
    pub fn derives_caps(&self) -> bool {
        self.privacy
            .thresholds
            .as_ref()
            .is_some_and(|asked| asked.from_frequency.is_some() && asked.fixed.is_empty())
    }

    /// The text that replaces a suppressed sensitive value, if values are suppressed.
    pub fn token(&self) -> Option<&str> {
        // Whatever found the cuts: a release is verified without the algorithm.
        let of_values = self.search.scheme.is_some_and(Suppression::is_of_values);
        of_values.then_some(self.search.token.as_str())
    }

    /// The policy's file and the hierarchy files that it names.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let hierarchies =
            self.attributes.iter().filter_map(|attribute| match &attribute.hierarchy {
                Hierarchy::File(file) => Some(file.file()),
                _ => None,
            });
        let targets = self.privacy.distribution.iter().flat_map(DistributionAsked::files);
        let world = self.privacy.presence.iter().map(PresenceAsked::file);
        std::iter::once(self.file.as_path()).chain(hierarchies).chain(targets).chain(world)
    }

    /// The file it came from: what errors call the policy, and what its paths are relative to.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What it says of columns, in its own order.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The role of columns that it does not name.
    pub fn default_role(&self) -> Option<Role> {
        self.default_role
    }

    /// Values that mean "missing" in every column.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The requirements.
    pub fn privacy(&self) -> &Privacy {
        &self.privacy
    }

    /// The algorithm and its parameters.
    pub fn search(&self) -> &SearchAsked {
        &self.search
    }

    /// The values that mean "missing" in a column.
    pub fn missing_of(&self, name: &str) -> &[String] {
        self.attribute(name)
            .and_then(|attribute| attribute.missing.as_deref())
            .unwrap_or(&self.missing)
    }

    /// An error about a policy that is incomplete or contradicts itself.
    pub(crate) fn incomplete(&self, missing: String) -> Error {
        Error::Incomplete { file: self.file.clone(), missing }
    }
}
