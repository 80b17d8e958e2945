//! Caps on the confidence in sensitive values: from what was typed to a fraction for each value.

use super::Surveyed;
use crate::error::{Error, Result, quoted};
use crate::ids::{Code, Id, IdMap, LeafId};
use crate::policy::{Policy, ThresholdsAsked, nearest};
use crate::ratio::Ratio;
use crate::table::Dictionary;
use crate::taxonomy::Hierarchy;

/// A sensitive column as caps see it: its values, and where each went.
pub(super) struct CappedColumn<'a> {
    pub(super) name: &'a str,
    pub(super) dictionary: &'a Dictionary,
    /// The leaf of each value of the dictionary.
    pub(super) leaf_of: &'a IdMap<Code, LeafId>,
    /// How often each leaf occurs.
    pub(super) counts: &'a [u64],
    /// Whether caps that follow from frequencies are rounded down. They are published with the
    /// release. If rows may be suppressed, exact ones would tell how often each value is among
    /// them.
    pub(super) is_rounded: bool,
}

impl ThresholdsAsked {
    /// The cap of each leaf. A value that is written in two ways has the lower of both caps.
    pub(super) fn caps(&self, values: &CappedColumn<'_>) -> Vec<Ratio> {
        let rest = |count: u64| match self.from_frequency {
            Some(base) if values.is_rounded => {
                rounded(by_frequency(base, count, values.counts)).max(base)
            }
            Some(base) => by_frequency(base, count, values.counts),
            None => self.default.unwrap_or(Ratio::ONE),
        };
        let mut caps: Vec<Ratio> = values.counts.iter().map(|count| rest(*count)).collect();
        let mut named = vec![false; caps.len()];
        for (code, leaf) in values.leaf_of.pairs() {
            let value = values.dictionary.value(code.0);
            let fixed = self
                .fixed
                .iter()
                .filter(|(column, known, _)| column == values.name && known == value);
            let typed =
                self.values.iter().filter(|(known, ..)| known == value).map(|(_, cap, _)| *cap);
            let leaf = leaf.index();
            // Caps of another table never loosen what was asked.
            if let Some(cap) = fixed.map(|(.., cap)| *cap).chain(typed).min() {
                caps[leaf] = if named[leaf] { caps[leaf].min(cap) } else { cap };
                named[leaf] = true;
            }
        }
        caps
    }
}

/// Section VIII-A-2: a value that is rarer than average has the base, any other one the base times
/// its frequency over the average one. Fractions that are too long are rounded down, toward
/// refusal.
fn by_frequency(base: Ratio, count: u64, counts: &[u64]) -> Ratio {
    let distinct = counts.iter().filter(|count| **count > 0).count() as u128;
    let rows: u128 = counts.iter().map(|count| u128::from(*count)).sum();
    if u128::from(count) * distinct <= rows {
        return base;
    }
    let (above, below) = (u128::from(count) * distinct, rows);
    let (mut a, mut b) = (above, below);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    let share = Ratio::new((above / a) as u64, (below / a) as u64).unwrap_or(Ratio::ONE);
    let above = u128::from(base.numerator()) * u128::from(share.numerator());
    let below = u128::from(base.denominator()) * u128::from(share.denominator());
    let exact = u64::try_from(above).ok().zip(u64::try_from(below).ok());
    let cap = match exact {
        Some((above, below)) => Ratio::new(above, below),
        None => {
            let shift = (u128::BITS - below.leading_zeros()).saturating_sub(u64::BITS - 1);
            let below = (below >> shift) + 1;
            Ratio::new(u64::try_from(above >> shift).unwrap_or(u64::MAX), below as u64)
        }
    };
    cap.unwrap_or(base).min(Ratio::ONE)
}

/// A cap rounded down to two significant digits.
fn rounded(cap: Ratio) -> Ratio {
    let (above, below) = (u128::from(cap.numerator()), u128::from(cap.denominator()));
    let mut unit = 10u128;
    while above * unit < 10 * below && unit < 1 << 60 {
        unit *= 10;
    }
    Ratio::new((above * unit / below) as u64, unit as u64).unwrap_or(Ratio::ZERO)
}

impl Policy {
    /// Refuses caps of values that no sensitive column has: a slip of the pen would leave the real
    /// value without one. A value that is known otherwise may be missing this time: a leaf of the
    /// attribute's hierarchy, or one that the policy lists.
    pub(crate) fn check_named_values<'a>(
        &self,
        columns: impl Iterator<Item = (&'a str, &'a Dictionary)>,
    ) -> Result<()> {
        let Some(asked) = &self.privacy().thresholds else { return Ok(()) };
        let columns =
            columns.filter(|(name, _)| asked.sensitive.as_ref().is_none_or(|about| about == name));
        let columns: Vec<(&str, &Dictionary)> = columns.collect();
        let leaves: Vec<&str> = columns.iter().flat_map(|(name, _)| self.leaves_of(name)).collect();
        for (value, cap, place) in &asked.values {
            let all = columns.iter().flat_map(|(_, dictionary)| dictionary.values());
            let listed = asked.known.iter().map(String::as_str).chain(leaves.iter().copied());
            if !all.clone().chain(listed.clone()).any(|known| known == value) {
                let near = nearest(value, all.chain(listed))
                    .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                return Err(Error::BadParameter {
                    place: Some(place.clone()),
                    key: format!("privacy.thresholds.{value}"),
                    value: cap.to_string(),
                    expected: format!("a cap for a value of the sensitive attribute{near}"),
                });
            }
        }
        Ok(())
    }

    /// The leaves that a column's hierarchy lists.
    fn leaves_of(&self, name: &str) -> impl Iterator<Item = &str> {
        let rows = match self.attribute(name).map(|attribute| &attribute.hierarchy) {
            Some(Hierarchy::File(file) | Hierarchy::Tree(file)) => file.rows(),
            _ => &[],
        };
        rows.iter().filter_map(|row| row.first()).map(String::as_str)
    }

    /// Notes about values with a cap that no row has. They are about a release, not its input:
    /// whether a suppressed row had the value is nobody's business.
    pub(crate) fn absent_values(&self, columns: &[Surveyed<'_>]) -> Vec<String> {
        let Some(asked) = &self.privacy().thresholds else { return Vec::new() };
        let columns = columns
            .iter()
            .filter(|column| asked.sensitive.as_ref().is_none_or(|about| about == column.name));
        let occurs = |value: &str| {
            let mut all = columns.clone().flat_map(|column| column.dictionary.values());
            all.any(|known| known == value)
        };
        let absent = asked.values.iter().filter(|(value, ..)| !occurs(value));
        absent
            .map(|(value, cap, _)| {
                format!("no row of the release has {}, which has the cap {cap}", quoted(value))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caps_follow_frequencies() {
        let base = Ratio::new(1, 4).unwrap();
        // 10 of 16 in 4 values, on average 4: 1/4 * 10/4.
        let counts = [10, 4, 1, 1];
        let caps: Vec<String> =
            counts.iter().map(|count| by_frequency(base, *count, &counts).to_string()).collect();
        assert_eq!(caps, ["5/8", "1/4", "1/4", "1/4"]);
        assert_eq!(
            by_frequency(Ratio::new(1, 2).unwrap(), 30, &[30, 1, 1]),
            Ratio::ONE,
            "no cap is above the whole"
        );
    }

    #[test]
    fn published_caps_have_two_digits() {
        let told = |above, below| rounded(Ratio::new(above, below).unwrap()).to_string();
        assert_eq!(told(5, 8), "31/50");
        assert_eq!(told(3, 5), "3/5");
        assert_eq!(told(1, 1), "1");
        assert_eq!(told(999, 1000), "99/100");
        assert_eq!(told(1, 3000), "33/100000");
    }

    #[test]
    fn long_fractions_are_rounded_down() {
        let base = Ratio::new(u64::MAX / 3, u64::MAX - 1).unwrap();
        let cap = by_frequency(base, 1_000_003, &[1_000_003, 7, 999_331]);
        let exact = base.to_f64() * 1_000_003.0 * 3.0 / 1_999_341.0;
        assert!(cap.to_f64() <= exact && cap.to_f64() > exact * 0.999_999, "{cap} {exact}");
    }
}
