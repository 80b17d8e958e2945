//! A Bayesian network: each attribute depends on a few others, and given those on nothing else.
//!
//! The share of a tuple of single values is a product of conditional shares. That of generalized
//! tuples is a sum of such products over all values below them, which is never written out:
//! attributes are gone through in the order of the network, and what is carried along is, for each
//! tuple of groups so far and each choice of values that later attributes still ask for, the
//! believed share. An attribute's value is forgotten when its last child is done. So it costs the
//! number of tuples times the values of a few attributes, not the product of all domains.

use super::{Believe, Grouping, Joint, MOST_TUPLES, NOWHERE};
use crate::error::Result;
use crate::watch::{PIECE, Watch};
use rustc_hash::FxHashMap;

/// An attribute and what it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// The attribute.
    pub attribute: usize,
    /// The attributes that it depends on; each stands earlier in the network.
    pub given: Vec<usize>,
    /// How many rows have each tuple of values of `given` and then of the attribute, ascending;
    /// none has zero.
    pub counts: Vec<(Vec<u32>, u64)>,
}

/// A network: every attribute once, after all that it depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// How many values each attribute has.
    sizes: Vec<usize>,
    /// The attributes in order.
    dependences: Vec<Dependence>,
    /// What each is given the others, in the same order.
    conditionals: Vec<Conditional>,
}

/// Conditional shares: for each tuple of the values of others, the attribute's values with their
/// shares.
type Conditional = FxHashMap<u64, Vec<(u32, f64)>>;

impl Dependence {
    /// The number of a tuple of given values.
    fn number(&self, values: impl Iterator<Item = u64>, sizes: &[usize]) -> u64 {
        self.given
            .iter()
            .zip(values)
            .fold(0, |number, (given, value)| number * sizes[*given] as u64 + value)
    }

    fn conditional(&self, sizes: &[usize], watch: &Watch) -> Result<Conditional> {
        let mut rows: Conditional = FxHashMap::default();
        for piece in self.counts.chunks(PIECE) {
            watch.check()?;
            for (values, count) in piece {
                let Some((value, given)) = values.split_last() else { continue };
                let key = self.number(given.iter().map(|value| u64::from(*value)), sizes);
                rows.entry(key).or_default().push((*value, *count as f64));
            }
        }
        for values in rows.values_mut() {
            watch.check()?;
            let whole: f64 = values.iter().map(|(_, count)| count).sum();
            values.iter_mut().for_each(|(_, count)| *count /= whole);
        }
        Ok(rows)
    }
}

impl Network {
    /// A network of attributes with so many values; each dependence stands after those of the
    /// attributes that it names.
    pub fn new(sizes: Vec<usize>, dependences: Vec<Dependence>, watch: &Watch) -> Result<Network> {
        let conditional = |dependence: &Dependence| dependence.conditional(&sizes, watch);
        let conditionals = dependences.iter().map(conditional).collect::<Result<_>>()?;
        Ok(Network { sizes, dependences, conditionals })
    }

    /// The attributes in order.
    pub fn dependences(&self) -> &[Dependence] {
        &self.dependences
    }

    /// For each place in the order, whether the attribute there says anything: it is grouped or
    /// restricted, or one that depends on it does.
    fn telling(&self, groups: &[Grouping<'_>]) -> Vec<bool> {
        let mut telling = vec![false; self.sizes.len()];
        for dependence in self.dependences.iter().rev() {
            let groups = &groups[dependence.attribute];
            telling[dependence.attribute] |= groups.len > 1 || groups.of.contains(&NOWHERE);
            if telling[dependence.attribute] {
                dependence.given.iter().for_each(|given| telling[*given] = true);
            }
        }
        self.dependences.iter().map(|dependence| telling[dependence.attribute]).collect()
    }
}

impl Believe for Network {
    fn joint(&self, groups: &[Grouping<'_>], watch: &Watch) -> Result<Option<Joint>> {
        let telling = self.telling(groups);
        // Each attribute's groups are digits of the final number, whatever the order in which they
        // are found.
        let mut weights = vec![1u64; groups.len()];
        for attribute in (0..groups.len().saturating_sub(1)).rev() {
            let above = groups[attribute + 1].len.max(1) as u64;
            let Some(weight) = weights[attribute + 1].checked_mul(above) else { return Ok(None) };
            weights[attribute] = weight;
        }
        // A state: the number so far, and the values that are still asked for.
        let mut states: Vec<(u64, u64, f64)> = vec![(0, 0, 1.0)];
        let mut asked: Vec<usize> = Vec::new();
        for (place, dependence) in self.dependences.iter().enumerate() {
            if !telling[place] {
                continue;
            }
            let later = |attribute: &usize| {
                self.dependences
                    .iter()
                    .zip(&telling)
                    .skip(place + 1)
                    .any(|(one, telling)| *telling && one.given.contains(attribute))
            };
            let still: Vec<usize> =
                asked.iter().copied().chain([dependence.attribute]).filter(later).collect();
            let values = still.iter().try_fold(1u64, |product, attribute| {
                product.checked_mul(self.sizes[*attribute] as u64)
            });
            let grouped = (&groups[dependence.attribute], weights[dependence.attribute]);
            let extended = match values {
                None => None,
                Some(_) => self.extended(&states, (&asked, &still), place, grouped, watch)?,
            };
            let Some(extended) = extended else { return Ok(None) };
            (states, asked) = (extended, still);
        }
        let mut tuples: Vec<(u64, f64)> =
            states.into_iter().map(|(number, _, share)| (number, share)).collect();
        watch.sort_by(&mut tuples, |one, other| one.0.cmp(&other.0))?;
        Ok(Some(Joint { tuples }))
    }
}

impl Network {
    /// The states after one more attribute; `asked` are the attributes whose values were known,
    /// `still` those that stay so.
    fn extended(
        &self,
        states: &[(u64, u64, f64)],
        (asked, still): (&[usize], &[usize]),
        place: usize,
        (groups, weight): (&Grouping<'_>, u64),
        watch: &Watch,
    ) -> Result<Option<Vec<(u64, u64, f64)>>> {
        let (dependence, conditional) = (&self.dependences[place], &self.conditionals[place]);
        // The value of an asked attribute is a digit of the state's second number.
        let digit = |attribute: usize| {
            let at = asked.iter().position(|known| *known == attribute)?;
            let below: u64 =
                asked[at + 1..].iter().map(|known| self.sizes[*known] as u64).product();
            Some((below, self.sizes[attribute] as u64))
        };
        let digits: Option<Vec<(u64, u64)>> =
            dependence.given.iter().map(|given| digit(*given)).collect();
        let Some(digits) = digits else { return Ok(None) };
        let kept: Vec<Option<(u64, u64)>> =
            still.iter().map(|attribute| digit(*attribute)).collect();
        let mut next: FxHashMap<(u64, u64), f64> = FxHashMap::default();
        for (number, values, share) in states {
            watch.check()?;
            let given = dependence
                .number(digits.iter().map(|(below, size)| values / below % size), &self.sizes);
            for (value, chance) in conditional.get(&given).map_or(&[][..], Vec::as_slice) {
                let group = groups.of[*value as usize];
                if group == NOWHERE {
                    continue;
                }
                let values = still.iter().zip(&kept).fold(0, |all, (attribute, digit)| {
                    let own =
                        digit.map_or(u64::from(*value), |(below, size)| values / below % size);
                    all * self.sizes[*attribute] as u64 + own
                });
                *next.entry((number + u64::from(group) * weight, values)).or_insert(0.0) +=
                    share * chance;
            }
            if next.len() > MOST_TUPLES {
                return Ok(None);
            }
        }
        let states = next.into_iter().map(|((number, values), share)| (number, values, share));
        Ok(Some(states.collect()))
    }
}
