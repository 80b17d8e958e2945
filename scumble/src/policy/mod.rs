//! What is asked for?
//!
//! A [`Policy`] is a TOML file, read and checked: roles and hierarchies of the columns,
//! requirements, and how to search. [`Policy::prepare`] binds it to a table; what is typed and what
//! it means are two types.

mod distribution;
mod file;
mod keys;
mod presence;

pub use distribution::{DistributionAsked, Of, TargetAsked, TargetForm};
pub use keys::{KEYS, Key, nearest};
pub use presence::{MarginalsAsked, MarginalsOf, PresenceAsked, WorldAsked};

use crate::error::{Error, Place, Result};
use crate::loss::Loss;
use crate::privacy::Diversity;
use crate::ratio::Ratio;
use crate::search::cuts::Suppression;
use crate::search::regions::Partitioning;
use crate::table::{Role, Type};
use crate::taxonomy::Hierarchy;
use std::path::{Path, PathBuf};

/// What the policy says of one column.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// The column's name.
    pub name: String,
    /// Its role, if it is said here and not by the defaults.
    pub role: Option<Role>,
    /// Its type, if it is not to be inferred.
    pub kind: Option<Type>,
    /// How its values are generalized.
    pub hierarchy: Hierarchy,
    /// Values that mean "missing"; the defaults' where not said.
    pub missing: Option<Vec<String>>,
}

/// A diversity that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct DiversityAsked {
    /// The form, with its parameters.
    pub form: Diversity,
    /// The sensitive attribute; all of them where not said.
    pub sensitive: Option<String>,
}

/// Which ground distance t-closeness uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistanceAsked {
    /// Hierarchical where the attribute has a hierarchy, ordered for numbers, equal otherwise.
    Fitting,
    /// Any two values are equally far apart.
    Equal,
    /// By rank.
    Ordered,
    /// By common ancestor.
    Hierarchical,
}

impl DistanceAsked {
    /// Every choice with its name in a policy.
    pub const NAMES: [(&'static str, DistanceAsked); 4] = [
        ("fitting", DistanceAsked::Fitting),
        ("equal", DistanceAsked::Equal),
        ("ordered", DistanceAsked::Ordered),
        ("hierarchical", DistanceAsked::Hierarchical),
    ];
}

/// A closeness that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosenessAsked {
    /// The largest distance.
    pub t: Ratio,
    /// The ground distance.
    pub distance: DistanceAsked,
    /// The sensitive attribute; all of them where not said.
    pub sensitive: Option<String>,
}

/// A variance that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct VarianceAsked {
    /// The least variance.
    pub at_least: Ratio,
    /// The sensitive attribute; all that have numbers where not said.
    pub sensitive: Option<String>,
}

/// Caps on the confidence in sensitive values that are asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdsAsked {
    /// The cap of values that have none of their own.
    pub default: Option<Ratio>,
    /// The base from which caps follow by frequency.
    pub from_frequency: Option<Ratio>,
    /// Caps of values, each with the place where it stands.
    pub values: Vec<(String, Ratio, Place)>,
    /// Caps by column and value that are known from another table: a release has the caps of its
    /// input.
    pub fixed: Vec<(String, String, Ratio)>,
    /// The sensitive attribute; all of them where not said.
    pub sensitive: Option<String>,
}

/// Everything that must hold, together.
#[derive(Clone, Debug, Default)]
pub struct Privacy {
    /// The least class size.
    pub k: Option<u64>,
    /// Diversities.
    pub diversity: Vec<DiversityAsked>,
    /// Closenesses.
    pub closeness: Vec<ClosenessAsked>,
    /// Variances.
    pub variance: Vec<VarianceAsked>,
    /// Caps on the confidence in sensitive values.
    pub thresholds: Option<ThresholdsAsked>,
    /// A distribution that a sensitive attribute must seem to be drawn from.
    pub distribution: Option<DistributionAsked>,
    /// How likely a known person may be in the table.
    pub presence: Option<PresenceAsked>,
}

impl Privacy {
    /// Whether anything is asked of classes of equal quasi-identifiers.
    pub fn asks_for_classes(&self) -> bool {
        let of_sensitive = self.diversity.len() + self.closeness.len() + self.variance.len();
        self.k.is_some() || of_sensitive > 0 || self.thresholds.is_some() || self.presence.is_some()
    }
}

/// A search algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// The one that suits the policy and the data.
    Auto,
    /// The optimal full-domain recoding.
    Incognito,
    /// A full-domain recoding, or cuts, found from a summary.
    SInstant,
    /// Greedy partitioning in memory.
    Mondrian,
    /// Partitioning that a summary decides.
    MInstant,
    /// Greedy partitioning on disk, by exact counts.
    RothkoT,
    /// Greedy partitioning on disk, by samples.
    RothkoS,
    /// The optimal full-subtree recoding.
    LPlusOptimize,
    /// Simulated annealing over full-subtree recodings.
    Annealing,
    /// The optimal full-domain recoding under a presence with a population.
    Spalm,
    /// Greedy partitioning under a presence.
    Mpalm,
    /// The best full-domain recoding under a presence with marginals.
    Sfalm,
    /// A bucket for each group of a distribution.
    SaOnly,
    /// A bucket for each part of equal quasi-identifiers.
    QiSa,
}

impl Algorithm {
    /// Every algorithm that exists, with its name and meaning.
    pub const NAMES: [(&'static str, Algorithm, &'static str); 14] = [
        ("auto", Algorithm::Auto, "incognito, or rothko-s where the input exceeds the memory"),
        (
            "incognito",
            Algorithm::Incognito,
            "the provably best full-domain recoding: one level per attribute",
        ),
        (
            "s-instant",
            Algorithm::SInstant,
            "a likely good one from a summary of the table, checked against the rows",
        ),
        ("mondrian", Algorithm::Mondrian, "greedy partitioning into regions, in memory"),
        (
            "m-instant",
            Algorithm::MInstant,
            "partitioning that a summary of the table decides, mended where the rows disagree",
        ),
        (
            "rothko-t",
            Algorithm::RothkoT,
            "the same regions for tables that do not fit into memory, by exact counts",
        ),
        (
            "rothko-s",
            Algorithm::RothkoS,
            "partitioning for tables that do not fit into memory, by samples",
        ),
        (
            "l-plus-optimize",
            Algorithm::LPlusOptimize,
            "the provably best full-subtree recoding: one cut per attribute",
        ),
        (
            "annealing",
            Algorithm::Annealing,
            "simulated annealing over the same cuts, for comparison",
        ),
        (
            "spalm",
            Algorithm::Spalm,
            "of a `presence` with a population: the provably best full-domain recoding",
        ),
        ("mpalm", Algorithm::Mpalm, "of a `presence`: greedy partitioning into regions"),
        (
            "sfalm",
            Algorithm::Sfalm,
            "of a `presence` with marginals: the best full-domain recoding",
        ),
        ("sa-only", Algorithm::SaOnly, "of a `distribution`: each group is one bucket"),
        (
            "qi-sa",
            Algorithm::QiSa,
            "of a `distribution`: each group is cut by equal quasi-identifiers",
        ),
    ];

    /// Whether it partitions the space into regions.
    pub fn is_partitioning(self) -> bool {
        matches!(
            self,
            Algorithm::Mondrian
                | Algorithm::MInstant
                | Algorithm::RothkoT
                | Algorithm::RothkoS
                | Algorithm::Mpalm
        )
    }

    /// Whether it is decided from a summary.
    pub fn is_instant(self) -> bool {
        matches!(self, Algorithm::SInstant | Algorithm::MInstant)
    }

    /// Whether it looks for cuts.
    pub fn is_on_cuts(self) -> bool {
        matches!(self, Algorithm::LPlusOptimize | Algorithm::Annealing)
    }
}

/// How to search.
#[derive(Clone, Debug)]
pub struct Search {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// What is minimised.
    pub loss: Loss,
    /// The share of rows that may be left out.
    pub suppression: Ratio,
    /// What happens to classes that fail, where cuts are searched; `None` for whole classes up to
    /// the share.
    pub scheme: Option<Suppression>,
    /// What stands for a suppressed sensitive value.
    pub token: String,
    /// How partitioning algorithms split.
    pub partitioning: Partitioning,
    /// Which recodings s-instant goes through.
    pub space: Space,
    /// What instant algorithms ask of an estimate; the default of the algorithm where not said.
    pub by: Option<ByAsked>,
    /// The threshold of the estimate, likewise.
    pub threshold: Option<Ratio>,
}

/// Which recodings are gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Space {
    /// One level for each attribute.
    #[default]
    FullDomain,
    /// One cut for each attribute.
    Subtree,
}

impl Space {
    /// Every space with its name in a policy.
    pub const NAMES: [(&'static str, Space); 2] =
        [("full-domain", Space::FullDomain), ("subtree", Space::Subtree)];
}

/// By which estimate a recoding is believed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByAsked {
    /// The probability that all classes meet the requirements.
    Probability,
    /// The expected number of rows in classes that do not.
    Expectation,
}

impl ByAsked {
    /// Every choice with its name in a policy.
    pub const NAMES: [(&'static str, ByAsked); 2] =
        [("probability", ByAsked::Probability), ("expectation", ByAsked::Expectation)];
}

/// A policy, read and checked.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The file it came from.
    pub file: PathBuf,
    /// What it says of columns, in its own order.
    pub attributes: Vec<Attribute>,
    /// The role of columns that it does not name.
    pub default_role: Option<Role>,
    /// Values that mean "missing" in every column.
    pub missing: Vec<String>,
    /// What must hold.
    pub privacy: Privacy,
    /// How to search.
    pub search: Search,
}

impl Policy {
    /// Reads and checks a policy and the hierarchy files it names, which lie relative to it.
    pub fn read(file: &Path) -> Result<Policy> {
        let text = std::fs::read(file).map_err(Error::io(file, "read"))?;
        let text = String::from_utf8(text).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let line = bytes[..valid].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
            let value =
                String::from_utf8_lossy(&bytes[valid..bytes.len().min(valid + 8)]).into_owned();
            Error::InvalidUtf8 { place: Place::file(file).line(line), value }
        })?;
        Policy::parse(&text, file)
    }

    /// Reads a policy from text; `file` is what errors call it and where its hierarchies are looked
    /// for.
    pub fn parse(text: &str, file: &Path) -> Result<Policy> {
        file::parse(text.strip_prefix('\u{feff}').unwrap_or(text), file)
    }

    /// The same policy with the caps of a table that it was bound to, by column and value, where it
    /// derives caps from frequencies: those of a release are others.
    pub fn with_caps(&self, caps: &[(String, String, Ratio)]) -> Policy {
        let mut policy = self.clone();
        if let Some(asked) = &mut policy.privacy.thresholds
            && asked.from_frequency.is_some()
        {
            asked.fixed = caps.to_vec();
        }
        policy
    }

    /// Whether caps follow from the frequencies of a table's sensitive values.
    pub fn derives_caps(&self) -> bool {
        self.privacy
            .thresholds
            .as_ref()
            .is_some_and(|asked| asked.from_frequency.is_some() && asked.fixed.is_empty())
    }

    /// What stands for a suppressed sensitive value, where values are suppressed.
    pub fn token(&self) -> Option<&str> {
        let of_values = self.search.algorithm.is_on_cuts()
            && self.search.scheme.is_some_and(Suppression::is_of_values);
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
    pub fn search(&self) -> &Search {
        &self.search
    }

    /// What the policy says of a column.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// The values that mean "missing" in a column.
    pub fn missing_of(&self, name: &str) -> &[String] {
        self.attribute(name)
            .and_then(|attribute| attribute.missing.as_deref())
            .unwrap_or(&self.missing)
    }

    /// An error about something that the policy must say and does not.
    pub(crate) fn incomplete(&self, missing: String) -> Error {
        Error::Incomplete { file: self.file.clone(), missing }
    }
}
