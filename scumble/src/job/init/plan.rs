//! What should the policy say about the values of each column?

use super::learn;
use super::numbers::{Numbers, calendar, of_numbers};
use super::roles::{Guess, is_code};
use super::scan::{Profile, Scan, Values};
use super::trees::{Tree, by_frequency, of_groups};
use crate::error::Result;
use crate::table::{Notation, Role, Type};
use crate::taxonomy::{DateLevel, ROOT};
use crate::watch::Watch;

/// How the values of a quasi-identifier are generalized.
#[derive(Debug)]
pub(super) enum Plan {
    /// Not by a hierarchy.
    None,
    /// By intervals of these widths.
    Intervals(Vec<String>),
    /// By characters that are masked with this one.
    Mask(char),
    /// By the calendar.
    Dates(Vec<DateLevel>),
    /// By a tree.
    Tree(Tree),
}

/// What is planned for a column.
#[derive(Debug)]
pub(super) struct Planned {
    /// The type.
    pub(super) kind: Type,
    /// How its values are written.
    pub(super) notation: Option<Notation>,
    /// Values that seem to mean "missing".
    pub(super) missing: Vec<String>,
    /// How they are generalized.
    pub(super) plan: Plan,
    /// What the hierarchy is, or why there is none: a sentence without a full stop.
    pub(super) about: Option<String>,
    /// What the owner should check.
    pub(super) doubts: Vec<String>,
}

/// Trees over texts that are too many to list would help nobody.
const MOST_TEXTS: usize = 5000;

/// Characters that may mask others.
const MASKS: [char; 5] = ['*', '#', '•', '_', '~'];

/// Plans all columns.
pub(super) fn plans(
    scan: &Scan,
    guesses: &[Guess],
    learned: bool,
    watch: &Watch,
) -> Result<Vec<Planned>> {
    // What a column says about others: not if it is dropped.
    let feature = |(profile, guess): (&Profile, &Guess)| {
        let is_used = learned && guess.role != Role::Identifier;
        is_used.then(|| learn::feature(profile)).flatten()
    };
    let features: Vec<Option<learn::Feature>> =
        scan.columns.iter().zip(guesses).map(feature).collect();
    let mut plans = Vec::new();
    for (at, (profile, guess)) in scan.columns.iter().zip(guesses).enumerate() {
        watch.check()?;
        let mut planned = Planned::new(profile);
        if let (Role::QuasiIdentifier, Some(values)) = (guess.role, &profile.values) {
            let others: Vec<&learn::Feature> = features
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != at)
                .filter_map(|(_, feature)| feature.as_ref())
                .collect();
            planned.generalize(values, is_code(profile), &others, watch)?;
        }
        plans.push(planned);
    }
    Ok(plans)
}

impl Planned {
    fn new(profile: &Profile) -> Planned {
        let detected = profile.values.as_ref().map(|values| &values.detected);
        let kind = detected.map_or(Type::Text, |detected| detected.kind);
        let kind = if is_code(profile) { Type::Text } else { kind };
        Planned {
            kind,
            notation: detected.and_then(|detected| detected.notation.clone()),
            missing: detected.map_or(Vec::new(), |detected| detected.missing.clone()),
            plan: Plan::None,
            about: None,
            doubts: detected.and_then(|detected| detected.doubt.clone()).into_iter().collect(),
        }
    }

    fn generalize(
        &mut self,
        values: &Values,
        is_code: bool,
        others: &[&learn::Feature],
        watch: &Watch,
    ) -> Result<()> {
        if values.present == 0 {
            return Ok(());
        }
        match self.kind {
            _ if is_code => {
                let has = |character: &char| {
                    values.codes().any(|code| values.dictionary.value(code).contains(*character))
                };
                let free = MASKS.into_iter().find(|character| !has(character));
                self.plan = free.map_or(Plan::None, Plan::Mask);
                self.about = Some("digits are masked from the right".into());
            }
            Type::Date | Type::Timestamp => {
                self.plan = Plan::Dates(calendar(self.kind, values.ends));
            }
            Type::Integer | Type::Real => match of_numbers(values) {
                Numbers::Widths(widths) => {
                    let widths = widths.iter().map(ToString::to_string).collect();
                    self.plan = Plan::Intervals(widths);
                }
                Numbers::Tree(tree) => {
                    self.about = Some(
                        "intervals of equal width do not fit the numbers, so the hierarchy halves the \
                         rows instead"
                            .into(),
                    );
                    self.plan = Plan::Tree(tree);
                }
                Numbers::None(reason) => {
                    self.about = Some(reason.into());
                    // Beyond, labels of ranges cannot be told from other texts.
                    let is_exact = |end: f64| end.abs() < (1u64 << 53) as f64;
                    if !values
                        .ends
                        .is_some_and(|(least, greatest)| is_exact(least) && is_exact(greatest))
                    {
                        self.kind = Type::Text;
                    }
                }
            },
            Type::Text => self.group(values, others, watch)?,
        }
        Ok(())
    }

    /// Texts: learned if the other columns say something, else by frequency.
    fn group(&mut self, values: &Values, others: &[&learn::Feature], watch: &Watch) -> Result<()> {
        let codes = learn::by_rows(values);
        let texts: Vec<&str> = codes.iter().map(|code| values.dictionary.value(*code)).collect();
        if !values.is_all || texts.len() > MOST_TEXTS {
            self.about = Some(
                "too many texts to group them here; a hierarchy of your own will keep more detail"
                    .into(),
            );
            // The root is called so.
            if texts.contains(&ROOT) {
                self.missing.push(ROOT.into());
            }
            return Ok(());
        }
        let (levels, about) = match learn::levels(values, &codes, others, watch)? {
            Some(levels) => (
                levels,
                "learned: values that behave alike in the other columns stand together; edit it",
            ),
            None => {
                let rows: Vec<u64> =
                    codes.iter().map(|code| values.counts[*code as usize]).collect();
                (by_frequency(&rows), "by frequency: rare values are grouped first; edit it")
            }
        };
        match of_groups(&texts, &levels) {
            Some(tree) if tree.levels() > 1 => {
                let sizes: Vec<String> = tree.sizes().iter().map(usize::to_string).collect();
                let groups = sizes.join(", ");
                self.about = Some(format!("the hierarchy ({groups} groups) is {about}"));
                self.plan = Plan::Tree(tree);
            }
            Some(tree) => {
                self.about =
                    Some("the hierarchy only names the root, because a value is `*`".into());
                self.plan = Plan::Tree(tree);
            }
            None => {}
        }
        Ok(())
    }
}
