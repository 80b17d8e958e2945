//! What must fit together: requirements, algorithm and suppression.
//!
//! These checks come when a release is made, not when the policy is read: the same policy may also be
//! used to verify, to summarize and to estimate, which no algorithm concerns.

use super::{Algorithm, Policy, WorldAsked};
use crate::error::Result;
use crate::ratio::Ratio;
use crate::search::cuts::Suppression;

impl Policy {
    /// Refuses what no release can be made by, before anything is read.
    pub(crate) fn check_release(&self) -> Result<()> {
        self.scheme()?;
        self.check_presence()?;
        let is_confident =
            self.privacy.presence.as_ref().is_some_and(|asked| asked.marginals().is_some());
        let decided_by_summary = self.search.algorithm.is_instant();
        if !self.search.without().is_empty() && !is_confident && !decided_by_summary {
            return Err(self.incomplete(
                "`without` needs the algorithm s-instant or m-instant, or a `presence` with \
                 `marginals`"
                    .into(),
            ));
        }
        if self.search.instant().summary_kind.is_some() && !decided_by_summary {
            return Err(
                self.incomplete("`summary-kind` needs the algorithm s-instant or m-instant".into())
            );
        }
        Ok(())
    }

    /// Refuses what does not go with a presence, and searches that are for nothing else.
    pub(crate) fn check_presence(&self) -> Result<()> {
        let algorithm = self.search.algorithm;
        if self.privacy.presence.is_some() && self.privacy.distribution.is_some() {
            return Err(self.incomplete(
                "`presence` and `distribution` do not go together: a folder of records hides nobody".into(),
            ));
        }
        let Some(asked) = &self.privacy.presence else {
            return match algorithm {
                Algorithm::Spalm | Algorithm::Mpalm | Algorithm::Sfalm => Err(self.incomplete(
                    "the algorithm is for `presence` under [privacy]; without one use incognito or mondrian".into(),
                )),
                _ => Ok(()),
            };
        };
        if self.search.suppression > Ratio::ZERO {
            let missing = "`presence` and suppression do not go together: whoever is left out of the release is in the \
                           table all the same";
            return Err(self.incomplete(missing.into()));
        }
        match (algorithm, &asked.world) {
            (Algorithm::Auto | Algorithm::Mpalm, _)
            | (Algorithm::Spalm, WorldAsked::Population(_))
            | (Algorithm::Sfalm, WorldAsked::Marginals(_)) => Ok(()),
            (_, WorldAsked::Population(_)) => Err(self.incomplete(
                "`presence` with a population needs the algorithm spalm or mpalm".into(),
            )),
            (_, WorldAsked::Marginals(_)) => Err(self
                .incomplete("`presence` with marginals needs the algorithm sfalm or mpalm".into())),
        }
    }

    /// The scheme that a search for cuts follows; one that the chosen algorithm does not know is
    /// refused.
    pub(crate) fn scheme(&self) -> Result<Suppression> {
        match (self.search().scheme, self.search().algorithm.is_on_cuts()) {
            (Some(Suppression::None), _) | (None, false) => Ok(Suppression::None),
            (Some(scheme), true) => Ok(scheme),
            (None, true) if self.search().suppression == Ratio::ZERO => Ok(Suppression::None),
            (None, true) => Err(self.incomplete(
                "a search for cuts weighs suppression against generalization and knows no limit; give a suppression \
                 scheme of none, all-records, violating-records, all-values or violating-values"
                    .into(),
            )),
            (Some(scheme), false) => {
                let name = Suppression::NAMES.iter().find(|(_, known)| *known == scheme).map_or("", |(name, _)| name);
                Err(self.incomplete(format!(
                    "the suppression scheme `{name}` needs the algorithm l-plus-optimize or annealing; the others know \
                     `records` and `none`"
                )))
            }
        }
    }
}
