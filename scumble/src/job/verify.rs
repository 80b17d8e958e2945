//! A release re-checked from what is written in it.

use super::Job;
use super::world::confidences;
use crate::error::{Error, Result};
use crate::policy::Policy;
use crate::release::{Report, RowNeeds, Tables, Verification, check_table};
use crate::source::{Source, encode};
use crate::table::Role;
use crate::watch::Watch;

impl Job {
    /// Re-checks a release against the policy. What is broken is in the result; an error means that
    /// the release could not be judged.
    ///
    /// `original` is the table that was released, if it is at hand: a distribution is compared with
    /// it, caps that the policy derives from frequencies are derived from it, and confidences that
    /// its rows need are read from it. Without it the caps are taken from `report`, and without
    /// that from the release itself; and every class needs the policy's `confidence`.
    pub fn verify(
        &self,
        release: &Tables,
        original: Option<&dyn Source>,
        report: Option<&Report>,
        watch: &Watch,
    ) -> Result<Verification> {
        let before = release.read_before();
        let plain = original.map(|original| self.policy.plain(original));
        let original = plain.as_deref();
        let of_original = original.map(|original| (original.meter(), original.meter().start()));
        let mut verification =
            self.on_threads(|| self.verify_with_caps(release, original, report, watch))?;
        let original = of_original.map_or(0, |(meter, start)| meter.since(start).read);
        let read = &mut verification.io.bytes_read;
        *read = read.saturating_sub(before) + original;
        Ok(verification)
    }

    /// The same with the caps that the policy derives from frequencies.
    fn verify_with_caps(
        &self,
        release: &Tables,
        original: Option<&dyn Source>,
        report: Option<&Report>,
        watch: &Watch,
    ) -> Result<Verification> {
        if release.only().is_some() {
            refuse_distribution(&self.policy)?;
        }
        let caps = match (self.policy.derives_caps(), original) {
            (false, _) => None,
            (true, Some(original)) => Some(self.caps_of(original, watch)?),
            (true, None) => report.and_then(Report::caps),
        };
        let policy = caps.map(|caps| self.policy.with_caps(&caps)).transpose()?;
        let policy = policy.as_ref().unwrap_or(&self.policy);
        let verification = match release.only() {
            None => super::distribution::verify(policy, release, original, watch),
            Some(table) => {
                let memory = Some(self.limits.memory());
                let needs = original.map(|original| self.needs_of(original, watch)).transpose()?;
                let needs = needs.flatten();
                let checked = check_table(table, policy, needs.as_ref(), memory, watch)?;
                Ok(checked.into_verification(release))
            }
        }?;
        // Caps that follow from frequencies are those of a release that has all its rows.
        let (found, told) = (verification.released, report.map(|report| report.released));
        Ok(match told.filter(|told| self.policy.derives_caps() && *told != found) {
            Some(told) => verification.with_problem(format!(
                "the report says that {told} rows were released, but there are {found}"
            )),
            None => verification,
        })
    }

    /// The confidences that the rows of a table need, if they have some of their own.
    fn needs_of(&self, original: &dyn Source, watch: &Watch) -> Result<Option<RowNeeds>> {
        let Some(confidences) = confidences(&self.policy, original, watch)? else {
            return Ok(None);
        };
        let names = original.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let roles = self.policy.roles(&names, &original.file(), false)?;
        let table = encode(original, &roles, watch, "read")?;
        Ok(Some(RowNeeds::new(&table, &confidences, watch)?))
    }

    /// The caps that the policy derives from the frequencies of a table's sensitive values.
    fn caps_of(
        &self,
        original: &dyn Source,
        watch: &Watch,
    ) -> Result<Vec<(String, String, crate::ratio::Ratio)>> {
        let names = original.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut roles = self.policy.roles(&names, &original.file(), false)?;
        // The attribute of a distribution is nothing to other requirements.
        let distribution = self.policy.privacy().distribution.as_ref();
        for (name, role) in names.iter().zip(&mut roles) {
            if distribution.is_some_and(|asked| asked.attribute == *name) {
                *role = Role::Insensitive;
            }
        }
        self.policy.caps_of(&encode(original, &roles, watch, "read")?, watch)
    }
}

/// Refuses a policy with a distribution, which a single table cannot keep: its sensitive values
/// would be beside the records.
fn refuse_distribution(policy: &Policy) -> Result<()> {
    match policy.privacy().distribution {
        None => Ok(()),
        Some(_) => Err(Error::Unsuitable {
            what: "a distribution",
            needs: "the folder of the release, not a file",
        }),
    }
}
