//! Why was nothing released?
//!
//! A [`Refusal`] lists the requirements, what would have been reached, and how many classes fail.
//! Messages are made from it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// The result of checking a requirement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Judged {
    /// The requirement: "k-anonymity", "l-diversity", "t-closeness", "variance-diversity",
    /// "thresholds", "delta-presence" or "distribution".
    pub requirement: String,
    /// The kind of the requirement, if it has kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The sensitive attribute it applies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitive: Option<String>,
    /// The target of a distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The required figure.
    pub required: Figure,
    /// Further parameters by name, such as `l` of recursive (c, l)-diversity.
    #[serde(flatten)]
    pub parameters: BTreeMap<String, Figure>,
    /// The figure of the worst class; `None` if there is no class, or no number for it.
    pub achieved: Option<Figure>,
    /// Whether all classes meet it.
    pub satisfied: bool,
    /// The number of classes that fail.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failing_classes: u64,
    /// The value that comes closest to its cap or exceeds it most, if values have caps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<WorstValue>,
}

/// A sensitive value in the class where its share is largest, compared with its cap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WorstValue {
    /// The value.
    pub value: String,
    /// Rows of the class that have it.
    pub rows: u64,
    /// Rows of the class.
    pub class_rows: u64,
    /// Its share of the class.
    pub share: Figure,
    /// The largest share that it may have: a fraction, such as "1/20".
    pub cap: String,
}

impl fmt::Display for WorstValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorstValue { value, rows, class_rows, share, cap } = self;
        let value = super::quoted(value);
        let share = share.0;
        write!(f, "{value} in {rows} of {class_rows} rows of a class, share {share:.4}, cap {cap}")
    }
}

impl Judged {
    /// The result, with the number of classes that fail out of so many.
    pub(super) fn with_classes(&self, classes: u64) -> String {
        match (self.failing_classes, classes) {
            (0, _) => self.to_string(),
            (1, 1) => format!("{self} (the only class fails)"),
            // A presence also constrains groups of the population that have no row.
            (failing, _) if failing > classes => format!("{self} ({failing} groups fail)"),
            (failing, _) => format!("{self} ({failing} of {classes} classes fail)"),
        }
    }

    /// The requirement in words, such as "recursive l-diversity of `ill` with l = 2".
    pub fn name(&self) -> String {
        let mut name = match (self.requirement.as_str(), self.kind.as_deref()) {
            ("l-diversity", Some(kind)) => format!("{kind} l-diversity"),
            ("t-closeness", Some(distance)) => format!("t-closeness ({distance} distance)"),
            ("delta-presence", _) if !self.parameters.is_empty() => {
                let end = |name: &str| self.parameters.get(name).copied().unwrap_or(Figure(0.0));
                let (min, max) = (end("min"), end("max"));
                return format!("confidence of delta-presence from {min} to {max}");
            }
            (requirement, _) => requirement.to_string(),
        };
        if let Some(about) = &self.sensitive {
            name += &format!(" of {}", super::quoted(about));
        }
        let also = self.parameters.iter().map(|(name, value)| format!("{name} = {value}"));
        match also.collect::<Vec<String>>() {
            also if also.is_empty() => name,
            also => format!("{name} with {}", also.join(", ")),
        }
    }

    /// What was required and reached, in words.
    pub fn figures(&self) -> String {
        match (&self.worst, self.achieved) {
            (Some(worst), _) if self.is_per_value() => worst.to_string(),
            (None, _) if self.is_per_value() => "no value with a cap".into(),
            (_, None) => format!("required {} {}, nothing measured", self.side(), self.required),
            (worst, Some(reached)) => {
                let (required, reached) = self.required.beside(reached);
                let by = worst.as_ref().map(|worst| format!(" by {}", super::quoted(&worst.value)));
                let by = by.unwrap_or_default();
                format!("required {} {required}, reached {reached}{by}", self.side())
            }
        }
    }

    /// On which side of the required figure it holds.
    fn side(&self) -> &'static str {
        match self.kind.as_deref() {
            // (c, l)-diversity asks for less than c.
            Some("recursive") => "less than",
            _ if self.is_minimum() => "at least",
            _ => "at most",
        }
    }

    /// Whether values have caps of their own, so that figures are multiples of a cap.
    pub fn is_per_value(&self) -> bool {
        self.kind.as_deref() == Some("per-value")
    }

    /// Whether a larger figure is safer: the required one is then a minimum, otherwise a maximum.
    pub fn is_minimum(&self) -> bool {
        !matches!(
            (self.requirement.as_str(), self.kind.as_deref()),
            ("t-closeness" | "thresholds" | "distribution", _)
                | ("l-diversity", Some("recursive"))
                | ("delta-presence", Some("max"))
        )
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.figures())
    }
}

/// A figure of a report. Whole numbers are written without a fraction, and infinity as null.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Figure(pub f64);

impl Figure {
    /// The figure, if it is finite.
    pub fn finite(number: f64) -> Option<Figure> {
        number.is_finite().then_some(Figure(number))
    }

    /// This figure and another one to compare it with: with at most four decimals, and with more if
    /// they would look the same although they differ.
    fn beside(self, other: Figure) -> (String, String) {
        for decimals in [4, 8, 12] {
            let (one, two) = (rounded(self.0, decimals), rounded(other.0, decimals));
            if (one == two) == (self == other) {
                return (one, two);
            }
        }
        (self.to_string(), other.to_string())
    }
}

/// A number with at most so many decimals, and none that are 0 at the end.
fn rounded(number: f64, decimals: usize) -> String {
    let exact = number.to_string();
    if exact.split_once('.').is_none_or(|(_, digits)| digits.len() <= decimals) {
        return exact;
    }
    let long = format!("{number:.decimals$}");
    long.trim_end_matches('0').trim_end_matches('.').to_string()
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number if !number.is_finite() => serializer.serialize_none(),
            number if number.fract() == 0.0 && number.abs() < 9e15 => {
                serializer.serialize_i64(number as i64)
            }
            number => serializer.serialize_f64(number),
        }
    }
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Figure, D::Error> {
        Ok(Figure(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::INFINITY)))
    }
}

/// Why no recoding can be released.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shortfall {
    /// No recoding holds.
    NoRecoding {
        /// The number of recodings.
        space: u64,
        /// Rows of the table.
        rows: u64,
        /// Rows that may be suppressed; `None` for a presence, which allows no suppression.
        suppressible: Option<u64>,
    },
    /// No cut can be released.
    NoCut {
        /// Whether this is proven; otherwise the search ended early.
        proven: bool,
    },
    /// No cut can be released that suppresses so little.
    NoCutWithin {
        /// What is suppressed: `rows` or `sensitive values`.
        what: &'static str,
        /// Rows of the table.
        rows: u64,
        /// How many may be suppressed.
        suppressible: u64,
    },
    /// The rows or values that a scheme suppresses are too many.
    TooManySuppressed {
        /// What is suppressed: `rows` or `sensitive values`.
        what: &'static str,
        /// How many of them.
        suppressed: u64,
        /// Rows of the table.
        rows: u64,
        /// How many may be suppressed.
        suppressible: u64,
    },
    /// No recoding was found to hold, but confidences were computed too small.
    NoConfidentRecoding {
        /// Recodings in the search space.
        space: u64,
        /// Rows of the table.
        rows: u64,
    },
    /// The whole table as one class fails a requirement.
    WholeTable {
        /// Rows of the table.
        rows: u64,
        /// The requirement.
        requirement: &'static str,
        /// The required figure.
        required: f64,
        /// The figure of the whole table.
        reached: f64,
    },
    /// The whole table as one class fails a presence with marginals.
    WholeTablePresence {
        /// Rows of the table.
        rows: u64,
        /// The confidence that was reached.
        confidence: f64,
    },
    /// The classes of a recoding fail.
    ClassesFail {
        /// The levels of the recoding, if it has levels.
        levels: Option<Vec<usize>>,
        /// Rows in classes that fail.
        failing: u64,
        /// Rows of the table.
        rows: u64,
        /// Rows that may be suppressed.
        suppressible: u64,
    },
    /// Classes are close to the whole table, but not to its released part.
    FarFromRelease {
        /// Classes that fail.
        classes: u64,
    },
    /// A class fails, and nothing may be suppressed.
    NothingSuppressible {
        /// Rows of the class.
        rows: u64,
    },
    /// A class is too small, and only values may be suppressed.
    OnlyValues {
        /// Rows of the class.
        rows: u64,
    },
    /// Everything would be suppressed.
    AllSuppressed {
        /// Rows of the table.
        rows: u64,
    },
    /// A recoding has too many classes to be estimated from a summary.
    TooManyClasses,
}

impl Shortfall {
    /// What to do about it; a phrase, or nothing.
    fn advice(&self) -> Option<&'static str> {
        match self {
            Shortfall::NoRecoding { suppressible: None, .. } => {
                Some("widen the range of `presence`")
            }
            Shortfall::NoConfidentRecoding { .. } => {
                Some("switch refinement on, or widen the range of `presence`")
            }
            Shortfall::NoRecoding { .. } | Shortfall::NoCutWithin { .. } => {
                Some("relax the requirements, or raise the suppression limit")
            }
            Shortfall::ClassesFail { levels: Some(_), .. } => {
                Some("generalize more, relax the requirements, or raise the suppression limit")
            }
            Shortfall::ClassesFail { levels: None, .. } | Shortfall::TooManySuppressed { .. } => {
                Some("relax the requirements, or raise the suppression limit")
            }
            Shortfall::FarFromRelease { .. } => {
                Some("relax the requirements, or change the suppression limit")
            }
            Shortfall::NothingSuppressible { .. } => {
                Some("relax the requirements, or allow suppression")
            }
            Shortfall::OnlyValues { .. } => {
                Some("relax the requirements, or use a scheme that suppresses records")
            }
            Shortfall::WholeTable { .. }
            | Shortfall::WholeTablePresence { .. }
            | Shortfall::AllSuppressed { .. } => Some("relax the requirements"),
            Shortfall::NoCut { proven: true } => {
                Some("relax the requirements, or allow suppression")
            }
            Shortfall::NoCut { proven: false } => Some("allow more time"),
            Shortfall::TooManyClasses => Some("raise some levels"),
        }
    }

    /// Whether the search found no recoding at all, so that a refusal is about the most general one.
    fn is_of_search(&self) -> bool {
        matches!(
            self,
            Shortfall::NoRecoding { .. }
                | Shortfall::NoConfidentRecoding { .. }
                | Shortfall::NoCut { .. }
                | Shortfall::NoCutWithin { .. }
        )
    }

    /// What is wrong, with the requirements that fail, and what to do.
    pub(super) fn explain(
        &self,
        refusal: Option<&Refusal>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let judged = refusal.map_or(&[][..], |refusal| &refusal.privacy);
        let failing: Vec<&Judged> = judged.iter().filter(|judged| !judged.satisfied).collect();
        let classes = refusal.map_or(0, |refusal| refusal.classes);
        let listed = |tell: &dyn Fn(&Judged) -> String| {
            failing.iter().map(|judged| tell(judged)).collect::<Vec<String>>().join("; ")
        };
        match self {
            Shortfall::WholeTable { rows, .. } | Shortfall::WholeTablePresence { rows, .. }
                if !failing.is_empty() =>
            {
                let failing = listed(&Judged::to_string);
                write!(f, "the whole table of {rows} rows, as one class, fails {failing}")?;
            }
            // It is about the released part only, which is not judged in a refusal.
            Shortfall::FarFromRelease { .. } => self.fact(f)?,
            Shortfall::NoCut { proven: true } if !failing.is_empty() => {
                let failing = listed(&|judged| judged.with_classes(classes));
                write!(f, "even the most general cut fails {failing}")?;
            }
            _ => {
                if let Some(levels) = refusal.and_then(|refusal| refusal.levels.as_ref())
                    && matches!(self, Shortfall::ClassesFail { .. })
                {
                    let level = |(name, level): &(String, usize)| format!("{name}={level}");
                    let levels: Vec<String> = levels.iter().map(level).collect();
                    write!(f, "at levels {}, ", levels.join(","))?;
                }
                self.fact(f)?;
                let recoding = match refusal {
                    _ if !self.is_of_search() => "",
                    Some(Refusal { suppressible: 0, .. }) => "the most general recoding fails ",
                    _ => "without suppression, the most general recoding fails ",
                };
                if !failing.is_empty() {
                    let failing = listed(&|judged| judged.with_classes(classes));
                    write!(f, "; {recoding}{failing}")?;
                }
            }
        }
        self.advice().map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }

    /// What is wrong.
    fn fact(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shortfall::NoRecoding { space, suppressible: None | Some(0), .. } => {
                write!(f, "none of {space} recodings meets them")
            }
            Shortfall::NoConfidentRecoding { space, .. } => write!(
                f,
                "none of {space} recodings was found to meet them, but one may, because confidences \
                 are underestimated without refinement"
            ),
            Shortfall::NoRecoding { space, rows, suppressible: Some(most) } => write!(
                f,
                "none of {space} recodings meets them with at most {most} of {rows} rows suppressed"
            ),
            Shortfall::NoCut { proven: true } => write!(f, "even the most general cut fails"),
            Shortfall::NoCutWithin { what, rows, suppressible } => {
                write!(
                    f,
                    "no cut meets them with at most {suppressible} of {rows} {what} suppressed"
                )
            }
            Shortfall::TooManySuppressed { what, suppressed, rows, suppressible } => write!(
                f,
                "{suppressed} of {rows} {what} would be suppressed, and at most {suppressible} may be"
            ),
            Shortfall::NoCut { proven: false } => {
                write!(f, "the search ended before it found a cut that meets them")
            }
            Shortfall::WholeTable { rows, requirement, required, reached } => write!(
                f,
                "the whole table of {rows} rows, as one class, fails {requirement}: required \
                 {required}, reached {reached}"
            ),
            Shortfall::WholeTablePresence { rows, confidence } => write!(
                f,
                "the whole table of {rows} rows, as one class, keeps the range of `presence` with \
                 a confidence of only {confidence:.6}"
            ),
            Shortfall::ClassesFail { failing, rows, suppressible, .. } => write!(
                f,
                "{failing} of {rows} rows are in classes that fail, and at most {suppressible} may be \
                 suppressed"
            ),
            Shortfall::FarFromRelease { classes: 1 } => {
                write!(f, "a class is close to the whole table, but not to the rows that remain")
            }
            Shortfall::FarFromRelease { classes } => write!(
                f,
                "{classes} classes are close to the whole table, but not to the rows that remain"
            ),
            Shortfall::NothingSuppressible { rows } => {
                let rows = rows_of(*rows);
                write!(f, "a class of {rows} fails, and the policy allows no suppression")
            }
            Shortfall::OnlyValues { rows } => {
                let rows = rows_of(*rows);
                write!(f, "a class has only {rows}, and the scheme suppresses values, not rows")
            }
            Shortfall::AllSuppressed { rows } => {
                write!(f, "all {rows} rows would be suppressed")
            }
            Shortfall::TooManyClasses => {
                write!(f, "these levels have too many classes to be estimated from this summary")
            }
        }
    }
}

/// A number of rows.
fn rows_of(rows: u64) -> String {
    if rows == 1 { "1 row".into() } else { format!("{rows} rows") }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.explain(None, f)
    }
}

/// What was required, and what would have been reached without suppression.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Refusal {
    /// Rows of the input.
    pub rows: u64,
    /// Rows that may be suppressed.
    pub suppressible: u64,
    /// Classes of the recoding that comes closest, or of the one that was given.
    pub classes: u64,
    /// Rows of the smallest class.
    pub smallest_class: u64,
    /// The result for each requirement.
    pub privacy: Vec<Judged>,
    /// The levels of that recoding, if it has levels.
    #[serde(skip)]
    pub levels: Option<Vec<(String, usize)>>,
    /// Changes with which a release is possible; `None` before they are [looked
    /// for](crate::Job::remedies).
    #[serde(flatten)]
    pub remedies: Option<super::Remedies>,
}

impl Refusal {
    /// The refusal as one JSON object, with the message under `error`.
    pub fn to_json(&self, error: &super::Error) -> serde_json::Value {
        let mut object = serde_json::Map::new();
        object.insert("error".into(), error.to_string().into());
        object.insert("released".into(), 0.into());
        if let Ok(serde_json::Value::Object(told)) = serde_json::to_value(self) {
            object.extend(told);
        }
        if let Some(levels) = &self.levels {
            let levels: serde_json::Map<String, serde_json::Value> =
                levels.iter().map(|(name, level)| (name.clone(), (*level).into())).collect();
            let recoding = serde_json::json!({"model": "full-domain", "levels": levels});
            object.insert("recoding".into(), recoding);
        }
        object.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(kind: Option<&str>, required: f64, reached: f64) -> Judged {
        Judged {
            requirement: "l-diversity".into(),
            kind: kind.map(String::from),
            sensitive: Some("ill".into()),
            target: None,
            required: Figure(required),
            parameters: BTreeMap::new(),
            achieved: Figure::finite(reached),
            satisfied: false,
            failing_classes: 1,
            worst: None,
        }
    }

    #[test]
    fn figures_that_differ_look_different() {
        let told = |required, reached| judged(Some("entropy"), required, reached).figures();
        assert_eq!(told(4.0, 2.749_459_27), "required at least 4, reached 2.7495");
        assert_eq!(told(4.0, 3.999_96), "required at least 4, reached 3.99996");
        assert_eq!(told(1.5, 1.5), "required at least 1.5, reached 1.5");
        assert_eq!(told(4.0, f64::INFINITY), "required at least 4, nothing measured");
        let third = 1.0 / 3.0;
        assert_eq!(told(third, third), "required at least 0.3333, reached 0.3333");
    }

    /// "required 3, reached 3.333" once read as if it held.
    #[test]
    fn recursive_diversity_asks_for_less() {
        let mut one = judged(Some("recursive"), 3.0, 10.0 / 3.0);
        one.parameters.insert("l".into(), Figure(2.0));
        assert_eq!(
            one.to_string(),
            "recursive l-diversity of `ill` with l = 2: required less than 3, reached 3.3333"
        );
    }
}
