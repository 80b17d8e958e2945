//! A table whose membership is sensitive: a part of a population, drawn alike or with a bias
//! (Nergiz and Clifton 2008, section 8).
//!
//! The paper takes 1957 of 45,222 people, once at random and once as the statistics of diabetes by
//! age, sex and race suggest, each taken for independent of the others. The factors below only have
//! the shape of those statistics: older people are in the table far more often, men a little, and
//! some races.

use crate::random::Random;

/// How people are selected for the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All people with the same probability.
    #[default]
    Uniform,
    /// By age, sex and race.
    Biased,
}

impl Selection {
    /// Every selection with its name.
    pub const NAMES: [(&'static str, Selection); 2] =
        [("uniform", Selection::Uniform), ("biased", Selection::Biased)];
}

/// The share of the population that is in the table: 1957 of 45,222.
pub const SHARE: f64 = 1957.0 / 45_222.0;

/// Factors by age, each with the last age to which it applies.
const BY_AGE: [(i64, f64); 6] =
    [(29, 0.15), (39, 0.4), (49, 0.9), (59, 1.6), (69, 2.2), (i64::MAX, 2.4)];

/// The factor of men; that of women is two minus this.
const MEN: f64 = 1.1;

/// Factors by the beginning of a race's name; other races have the factor 1.
const BY_RACE: [(&str, f64); 5] =
    [("White", 0.9), ("Black", 1.5), ("Amer-Indian", 1.6), ("Native", 1.6), ("Asian", 1.05)];

/// The probability that a person is in the table.
pub fn chance(selection: Selection, age: i64, sex: &str, race: &str) -> f64 {
    match selection {
        Selection::Uniform => SHARE,
        Selection::Biased => {
            let of_age =
                BY_AGE.iter().find(|(up_to, _)| age <= *up_to).map_or(1.0, |(_, factor)| *factor);
            let of_sex = if sex == "Male" { MEN } else { 2.0 - MEN };
            let of_race = BY_RACE
                .iter()
                .find(|(name, _)| race.starts_with(name))
                .map_or(1.0, |(_, factor)| *factor);
            (SHARE * of_age * of_sex * of_race).min(1.0)
        }
    }
}

/// Draws whether a person with this probability is in the table.
pub fn is_in(chance: f64, random: &mut Random) -> bool {
    random.unit() < chance
}
