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
        let is_of_distribution =
            matches!(self.search.algorithm, Algorithm::SaOnly | Algorithm::QiSa);
        if is_of_distribution && self.privacy.distribution.is_none() {
            return Err(self.incomplete(
                "the algorithm requires `distribution` under [privacy]; add it, or use another \
                 algorithm"
                    .into(),
            ));
        }
        let is_confident =
            self.privacy.presence.as_ref().is_some_and(|asked| asked.marginals().is_some());
        let decided_by_summary = self.search.algorithm.is_instant();
        if !self.search.without().is_empty() && !is_confident && !decided_by_summary {
            return Err(self.incomplete(
                "`without` requires the algorithm s-instant or m-instant, or `presence` with \
                 `marginals`"
                    .into(),
            ));
        }
        let instant = self.search.instant();
        let by_summary = [
            ("summary-kind", instant.summary_kind.is_some()),
            ("by", self.search.by.is_some()),
            ("threshold", self.search.threshold.is_some()),
        ];
        if let Some((key, _)) = by_summary.iter().find(|(_, given)| *given && !decided_by_summary) {
            return Err(
                self.incomplete(format!("`{key}` requires the algorithm s-instant or m-instant"))
            );
        }
        Ok(())
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
                Algorithm::Spalm | Algorithm::Mpalm | Algorithm::Sfalm => Err(self.incomplete(
                    "the algorithm requires `presence` under [privacy]; add it, or use another \
                     algorithm"
                        .into(),
                )),
                _ => Ok(()),
            };
        };
        if self.search.suppression > Ratio::ZERO {
            let missing = "`presence` and suppression cannot be combined, because a suppressed \
                           person is still in the table";
            return Err(self.incomplete(missing.into()));
        }
        match (algorithm, &asked.world) {
            (Algorithm::Auto | Algorithm::Mpalm, _)
            | (Algorithm::Spalm, WorldAsked::Population(_))
            | (Algorithm::Sfalm, WorldAsked::Marginals(_)) => Ok(()),
            (_, WorldAsked::Population(_)) => Err(self.incomplete(
                "`presence` with a population requires the algorithm spalm or mpalm".into(),
            )),
            (_, WorldAsked::Marginals(_)) => Err(self.incomplete(
                "`presence` with marginals requires the algorithm sfalm or mpalm".into(),
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
            (None, true) => Err(self.incomplete(
                "a search for cuts has no suppression limit; use the suppression scheme none, \
                 all-records, violating-records, all-values or violating-values"
                    .into(),
            )),
            (Some(scheme), false) => {
                let names = Suppression::NAMES;
                let name = names.iter().find(|(_, known)| *known == scheme);
                let name = name.map_or("", |(name, _)| name);
                Err(self.incomplete(format!(
                    "the suppression scheme `{name}` requires the algorithm l-plus-optimize or \
                     annealing; use `records` or `none` with others"
                )))
            }
        }
    }
}
