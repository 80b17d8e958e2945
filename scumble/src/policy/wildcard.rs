//! Sections for several columns: `[attributes."lab_*"]`.
//!
//! A column has the section with its own name. If there is none, it has the most specific pattern
//! that matches: the one with the most characters besides `*` and `?`. A tie is an error, which is
//! found when the policy meets the columns.

use super::{Attribute, Policy};
use crate::error::{Error, Place, Result};

impl Attribute {
    /// Whether its name stands for several columns.
    pub(crate) fn is_pattern(&self) -> bool {
        self.name.contains(['*', '?'])
    }

    /// Whether it may be about a column: it has its name, or a pattern that matches.
    pub(crate) fn covers(&self, column: &str) -> bool {
        self.name == column || self.is_pattern() && matches(&self.name, column)
    }

    /// Characters of a pattern that stand for themselves.
    fn literals(&self) -> usize {
        self.name.chars().filter(|character| !matches!(character, '*' | '?')).count()
    }
}

/// Whether a pattern matches: `*` stands for any characters, `?` for one.
fn matches(pattern: &str, column: &str) -> bool {
    let (pattern, column): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), column.chars().collect());
    // Where the last star stands, and how much of the column it has taken so far.
    let (mut star, mut at, mut next) = (None, 0, 0);
    while at < column.len() {
        match pattern.get(next) {
            Some('*') => {
                star = Some((next, at));
                next += 1;
            }
            Some(character) if *character == '?' || *character == column[at] => {
                (at, next) = (at + 1, next + 1);
            }
            _ => match &mut star {
                None => return false,
                Some((place, taken)) => {
                    *taken += 1;
                    (at, next) = (*taken, *place + 1);
                }
            },
        }
    }
    pattern[next..].iter().all(|character| *character == '*')
}

impl Policy {
    /// The patterns that match a column best: more than one is a tie.
    fn patterns(&self, column: &str) -> Vec<&Attribute> {
        let matching = || self.attributes.iter().filter(|attribute| attribute.covers(column));
        let most = matching().map(Attribute::literals).max();
        matching().filter(|attribute| Some(attribute.literals()) == most).collect()
    }

    /// What the policy says of a column: in its own section, or in that of a pattern.
    pub fn attribute(&self, column: &str) -> Option<&Attribute> {
        let own = self.attributes.iter().find(|attribute| attribute.name == column);
        own.or_else(|| self.patterns(column).first().copied())
    }

    /// Refuses columns for which two patterns are equally specific.
    pub(crate) fn check_patterns(&self, columns: &[&str]) -> Result<()> {
        for column in columns {
            let is_named = self.attributes.iter().any(|attribute| attribute.name == *column);
            if let [one, other, ..] = self.patterns(column)[..]
                && !is_named
            {
                let problem = format!(
                    "matches the column `{column}` as well as `{}`, which is as specific; give \
                     the column a section of its own",
                    other.name
                );
                return Err(Error::Inapplicable {
                    place: Some(Place::file(&self.file)),
                    key: format!("attributes.{}", one.name),
                    problem,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// By definition: what a star takes is tried.
    fn matches_slowly(pattern: &[char], column: &[char]) -> bool {
        match pattern.split_first() {
            None => column.is_empty(),
            Some(('*', rest)) => {
                (0..=column.len()).any(|taken| matches_slowly(rest, &column[taken..]))
            }
            Some((character, rest)) => column.split_first().is_some_and(|(first, others)| {
                (*character == '?' || character == first) && matches_slowly(rest, others)
            }),
        }
    }

    #[test]
    fn patterns_match_by_definition() {
        let mut random = Random::new(1);
        let mut matched = 0;
        for _ in 0..20_000 {
            let mut draw = |from: &[char], most: u64| -> String {
                (0..random.below(most))
                    .map(|_| from[random.below(from.len() as u64) as usize])
                    .collect()
            };
            let (pattern, column) =
                (draw(&['a', 'b', '*', '?', 'é'], 6), draw(&['a', 'b', 'é'], 7));
            let all: [Vec<char>; 2] = [&pattern, &column].map(|text| text.chars().collect());
            let expected = matches_slowly(&all[0], &all[1]);
            assert_eq!(matches(&pattern, &column), expected, "{pattern} {column}");
            matched += u32::from(expected);
        }
        assert!((1000..19_000).contains(&matched), "{matched}");
    }

    #[test]
    fn the_most_specific_section_counts() {
        let text = "[attributes.\"*\"]\nrole = \"insensitive\"\n[attributes.\"lab_*\"]\nrole = \"sensitive\"\n\
            [attributes.lab_k]\nrole = \"target\"\n[attributes.\"*_na\"]\nrole = \"identifier\"\n\
            [attributes.\"x*y\"]\nrole = \"quasi-identifier\"\n";
        let policy = Policy::from_toml(text).unwrap();
        let section = |column: &str| policy.attribute(column).unwrap().name.as_str();
        let cases = [
            ("other", "*"),
            ("lab_x", "lab_*"),
            ("lab_k", "lab_k"),
            ("x*y", "x*y"),
            ("xzy", "x*y"),
        ];
        for (column, name) in cases {
            assert_eq!(section(column), name, "{column}");
        }
        assert!(policy.check_patterns(&["other", "lab_x", "lab_k", "x*y"]).is_ok());
        // `lab_` is longer than `_na`.
        assert_eq!(section("lab_na"), "lab_*");
        let tied = Policy::from_toml(&text.replace("*_na", "*b_na")).unwrap();
        let error = tied.check_patterns(&["other", "lab_na"]).unwrap_err().to_string();
        assert!(error.contains("`attributes.lab_*`") && error.contains("`*b_na`"), "{error}");
    }
}
