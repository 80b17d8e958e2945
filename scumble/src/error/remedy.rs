//! What single change would make a release possible?
//!
//! If a requirement cannot be met, a job can be [asked](crate::Job::remedies) for changes that would
//! help. Each of them was tried: it led to a release that passed its verification.

use super::quoted;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;

/// Changes with which a release is possible.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Remedies {
    /// Each of them is enough on its own; the one that loses the least comes first.
    pub remedies: Vec<Remedy>,
    /// Why other changes may help too; `None` if all were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedies_incomplete: Option<String>,
}

/// A change with which a release is possible, and what that release loses.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Remedy {
    /// The change. A smaller one of this kind is not enough.
    pub change: Change,
    /// What it replaces, if something was given.
    pub from: Option<String>,
    /// The sensitive attribute that the changed requirement is about, if it names one.
    pub sensitive: Option<String>,
    /// The share of detail that the release loses. A column that is left out is lost as a whole.
    pub lm: f64,
    /// The same as a weighted mean over the columns, if the policy gives weights.
    pub lm_weighted: Option<f64>,
    /// Rows that the release leaves out.
    pub suppressed: u64,
    /// Whether the search was cut short, so that a job may find a release that loses less.
    pub is_upper_bound: bool,
}

/// A change of a policy, or of a job.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// Another value of a number.
    Number {
        /// The names that lead to the key. Items of a list are named by number, from 0.
        path: Vec<String>,
        /// The value.
        to: String,
    },
    /// Another limit on suppression.
    Suppression {
        /// The limit, as a share.
        limit: String,
        /// The same in rows, or in sensitive values if the scheme suppresses values.
        rows: u64,
    },
    /// Another kind of recoding, whatever algorithm finds it.
    Recoding(String),
    /// An attribute that is not released.
    LeaveOut(String),
    /// Another level of an attribute whose level is given.
    Level {
        /// The attribute.
        attribute: String,
        /// Its level.
        to: usize,
    },
    /// A search for levels, instead of those that are given.
    Search,
}

impl Change {
    /// The key of the policy, or what else is changed: `levels` are those that are given to a job.
    fn key(&self) -> String {
        match self {
            Change::Number { path, .. } => {
                let is_item = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
                let step = |(at, name): (usize, &String)| match (at, is_item(name)) {
                    (2.., true) if path.len() > at + 1 => format!("[{name}]"),
                    (0, _) => name.clone(),
                    _ => format!(".{name}"),
                };
                path.iter().enumerate().map(step).collect()
            }
            Change::Suppression { .. } => "search.suppression.limit".into(),
            Change::Recoding(_) => "search.recoding".into(),
            Change::LeaveOut(attribute) => format!("attributes.{attribute}.role"),
            Change::Level { attribute, .. } => format!("levels.{attribute}"),
            Change::Search => "levels".into(),
        }
    }

    /// The value, as a policy has it; `None` for something that is left out.
    fn to(&self) -> Option<String> {
        match self {
            Change::Number { to, .. } | Change::Recoding(to) => Some(to.clone()),
            Change::Suppression { limit, .. } => Some(limit.clone()),
            Change::LeaveOut(_) => Some("identifier".into()),
            Change::Level { to, .. } => Some(to.to_string()),
            Change::Search => None,
        }
    }
}

/// A number as JSON has it, if the text is one and no digit is lost.
fn number(text: &str) -> serde_json::Value {
    let number = serde_json::from_str::<serde_json::Number>(text).ok();
    match number.filter(|number| number.to_string() == text) {
        Some(number) => number.into(),
        None => text.into(),
    }
}

impl Serialize for Remedy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("key", &self.change.key())?;
        if let Some(from) = &self.from {
            map.serialize_entry("from", &number(from))?;
        }
        map.serialize_entry("to", &self.change.to().as_deref().map(number))?;
        if let Change::Suppression { rows, .. } = &self.change {
            map.serialize_entry("rows", rows)?;
        }
        if let Some(sensitive) = &self.sensitive {
            map.serialize_entry("sensitive", sensitive)?;
        }
        let mut loss = serde_json::Map::new();
        loss.insert("lm".into(), self.lm.into());
        if let Some(weighted) = self.lm_weighted {
            loss.insert("lm-weighted".into(), weighted.into());
        }
        map.serialize_entry("loss", &loss)?;
        map.serialize_entry("suppressed", &self.suppressed)?;
        if self.is_upper_bound {
            map.serialize_entry("loss-is-upper-bound", &true)?;
        }
        map.end()
    }
}

impl fmt::Display for Remedy {
    /// One line: what to change, and what it costs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now = self.from.as_ref().map_or(String::new(), |from| format!(" (now {from})"));
        match &self.change {
            Change::Number { to, .. } => write!(f, "{} = {to}{now}", quoted_key(&self.change))?,
            Change::Suppression { limit, rows } => {
                write!(f, "search.suppression.limit = \"{limit}\"{now}, which is {rows} rows")?;
            }
            Change::Recoding(to) => write!(f, "search.recoding = \"{to}\"{now}")?,
            Change::LeaveOut(attribute) => write!(f, "without the column {}", quoted(attribute))?,
            Change::Level { attribute, to } => {
                write!(f, "level {to} of {}{now}", quoted(attribute))?;
            }
            Change::Search => write!(f, "a search for levels, instead of the given ones")?,
        }
        if let Some(sensitive) = &self.sensitive {
            write!(f, " for {}", quoted(sensitive))?;
        }
        let most = if self.is_upper_bound { "at most " } else { "" };
        match self.lm_weighted {
            Some(weighted) => write!(f, ": {most}weighted LM {weighted:.4}")?,
            None => write!(f, ": {most}LM {:.4}", self.lm)?,
        }
        match self.suppressed {
            0 => Ok(()),
            1 => write!(f, ", 1 row suppressed"),
            rows => write!(f, ", {rows} rows suppressed"),
        }
    }
}

/// The key of a change, on one line whatever the names of columns and values are.
fn quoted_key(change: &Change) -> String {
    change.key().chars().flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remedy(change: Change, from: Option<&str>) -> Remedy {
        let (from, sensitive) = (from.map(str::to_string), None);
        Remedy {
            change,
            from,
            sensitive,
            lm: 0.25,
            lm_weighted: None,
            suppressed: 0,
            is_upper_bound: false,
        }
    }

    #[test]
    fn a_remedy_is_a_line_and_an_object() {
        let path = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        let (k, l) = (path(&["privacy", "k"]), path(&["privacy", "l-diversity", "1", "l"]));
        let k = remedy(Change::Number { path: k, to: "7".into() }, Some("10"));
        assert_eq!(k.to_string(), "privacy.k = 7 (now 10): LM 0.2500");
        assert_eq!(
            serde_json::to_string(&k).unwrap(),
            r#"{"key":"privacy.k","from":10,"to":7,"loss":{"lm":0.25},"suppressed":0}"#
        );
        let l = Remedy {
            sensitive: Some("ill\nness".into()),
            lm_weighted: Some(0.5),
            suppressed: 1,
            is_upper_bound: true,
            ..remedy(Change::Number { path: l, to: "2.5".into() }, Some("10/3"))
        };
        assert_eq!(
            l.to_string(),
            "privacy.l-diversity[1].l = 2.5 (now 10/3) for `ill\\nness`: at most weighted LM \
             0.5000, 1 row suppressed"
        );
        let json = serde_json::to_value(&l).unwrap();
        assert_eq!((&json["to"], &json["from"]), (&2.5.into(), &"10/3".into()));
        assert_eq!(json["loss-is-upper-bound"], true);
        let limit = Change::Suppression { limit: "1.5%".into(), rows: 3 };
        let limit = remedy(limit, None);
        assert_eq!(
            limit.to_string(),
            "search.suppression.limit = \"1.5%\", which is 3 rows: LM 0.2500"
        );
        assert_eq!(serde_json::to_value(&limit).unwrap()["rows"], 3);
        // A value whose name is a number is not an item of a list.
        let cap = Change::Number { path: path(&["privacy", "thresholds", "1"]), to: "0.5".into() };
        assert_eq!(remedy(cap, None).to_string(), "privacy.thresholds.1 = 0.5: LM 0.2500");
    }
}
