//! What must fit together: requirements, algorithm and suppression.
//!
//! These checks come when a release is made, not when the policy is read: the same policy may also be
//! used to verify, to summarize and to estimate, where the algorithm does not matter.

use super::{Algorithm, Policy, WorldAsked};
use crate::error::Result;
use crate::ratio::Ratio;
use crate::search::cuts::Suppression;

impl Policy {
    /// Refuses combinations that no release can be made with, before anything is read.
    pub(crate) fn check_release(&self) -> Result<()> {
        self.scheme()?;
        self.check_presence()?;
        self.check_distribution()?;
        let is_of_distribution =
            matches!(self.search.algorithm, Algorithm::SaOnly | Algorithm::QiSa);
        if is_of_distribution && self.privacy.distribution.is_none() {
            return Err(self.inapplicable(
                "search.algorithm",
                format!(
                    "{} requires `distribution` under [privacy]; add it, or use another algorithm",
                    self.search.algorithm.name()
                ),
            ));
        }
        let is_confident =
            self.privacy.presence.as_ref().is_some_and(|asked| asked.marginals().is_some());
        let decided_by_summary = self.search.algorithm.is_instant();
        if !self.search.without().is_empty() && !is_confident && !decided_by_summary {
            return Err(self.inapplicable(
                "search.without",
                "requires the algorithm s-instant or m-instant, or `presence` with `marginals`",
            ));
        }
        let instant = self.search.instant();
        let by_summary = [
            ("summary-kind", instant.summary_kind.is_some()),
            ("by", self.search.by.is_some()),
            ("threshold", self.search.threshold.is_some()),
        ];
        if let Some((key, _)) = by_summary.iter().find(|(_, given)| *given && !decided_by_summary) {
            return Err(self.inapplicable(
                &format!("search.{key}"),
                "requires the algorithm s-instant or m-instant",
            ));
        }
        Ok(())
    }

    /// Refuses two algorithms for the buckets of a distribution, and draws that it does not make.
    fn check_distribution(&self) -> Result<()> {
        let own = self.privacy.distribution.as_ref().and_then(|asked| asked.algorithm);
        let is_extra = self.search.cuts().extra_suppression.is_some();
        if is_extra && self.privacy.distribution.is_some() {
            return Err(self.inapplicable(
                "search.extra-suppression",
                "cannot be used with `distribution`; leave it out",
            ));
        }
        let asked = self.search.algorithm;
        if asked == Algorithm::Local && self.privacy.distribution.is_some() {
            return Err(self.inapplicable(
                "search.algorithm",
                "local cannot be used with `distribution`; use incognito or mondrian",
            ));
        }
        match own {
            Some(own) if matches!(asked, Algorithm::SaOnly | Algorithm::QiSa) && own != asked => {
                let problem = format!(
                    "is {}, but `algorithm` under [privacy.distribution] is {}; remove one",
                    asked.name(),
                    own.name()
                );
                Err(self.inapplicable("search.algorithm", problem))
            }
            _ => Ok(()),
        }
    }

    /// Refuses what cannot be combined with a presence, and algorithms that need one.
    pub(crate) fn check_presence(&self) -> Result<()> {
        let algorithm = self.search.algorithm;
        if self.privacy.presence.is_some() && self.privacy.distribution.is_some() {
            return Err(self.incomplete(
                "`presence` and `distribution` cannot be combined, because the records of a \
                 distribution show who is in the table"
                    .into(),
            ));
        }
        let Some(asked) = &self.privacy.presence else {
            return match algorithm {
                Algorithm::Spalm | Algorithm::Mpalm | Algorithm::Sfalm => Err(self.inapplicable(
                    "search.algorithm",
                    format!(
                        "{} requires `presence` under [privacy]; add it, or use another algorithm",
                        algorithm.name()
                    ),
                )),
                _ => Ok(()),
            };
        };
        if self.search.suppression > Ratio::ZERO {
            return Err(self.inapplicable(
                "search.suppression.limit",
                "cannot be combined with `presence`, because a suppressed person is still in the \
                 table",
            ));
        }
        match (algorithm, &asked.world) {
            (Algorithm::Auto | Algorithm::Mpalm, _)
            | (Algorithm::Spalm, WorldAsked::Population(_))
            | (Algorithm::Sfalm, WorldAsked::Marginals(_)) => Ok(()),
            (_, WorldAsked::Population(_)) => Err(self.inapplicable(
                "search.algorithm",
                "must be spalm or mpalm, because the policy has a `presence` with a population",
            )),
            (_, WorldAsked::Marginals(_)) => Err(self.inapplicable(
                "search.algorithm",
                "must be sfalm or mpalm, because the policy has a `presence` with marginals",
            )),
        }
    }

    /// The suppression scheme of a search for cuts. A scheme that the algorithm does not know is an
    /// error.
    pub(crate) fn scheme(&self) -> Result<Suppression> {
        match (self.search().scheme, self.search().algorithm.is_on_cuts()) {
            (Some(Suppression::None), _) | (None, false) => Ok(Suppression::None),
            (Some(scheme), true) => Ok(scheme),
            (None, true) if self.search().suppression == Ratio::ZERO => Ok(Suppression::None),
            // Classes that fail are left out as a whole, as by the other algorithms.
            (None, true) => Ok(Suppression::AllRecords),
            (Some(scheme), false) => {
                let names = Suppression::NAMES;
                let name = names.iter().find(|(_, known)| *known == scheme);
                let name = name.map_or("", |(name, _)| name);
                Err(self.inapplicable(
                    "search.suppression.scheme",
                    format!(
                        "{name} requires the algorithm l-plus-optimize or annealing; use `records` \
                         or `none` with others"
                    ),
                ))
            }
        }
    }
}
