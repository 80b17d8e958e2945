//! What must hold: the requirements of a policy.

use super::{DistributionAsked, PresenceAsked};
use crate::error::Place;
use crate::privacy::Diversity;
use crate::ratio::Ratio;

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
    /// Values that are right even if the table does not have them.
    pub known: Vec<String>,
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
