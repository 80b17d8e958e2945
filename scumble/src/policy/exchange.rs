//! A policy in other formats: serde in both directions.
//!
//! What is written has the words of the TOML, and exact fractions stay exact: a number that a float
//! would round is written as a text. What is read goes through the same checks as a TOML file. Paths
//! are written so that they do not depend on where the policy was.

use super::Policy;
use super::builder::PolicyBuilder;
use super::document::{Field, Setting, Value};
use crate::ratio::Ratio;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};
use std::fmt;
use std::path::Path;

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let folder = self.file.parent().unwrap_or(Path::new(""));
        let mut document = self.document.clone();
        anchor(&mut document, folder)
            .ok_or_else(|| S::Error::custom("a path of the policy is not valid UTF-8"))?;
        Written { name: "", setting: &document }.serialize(serializer)
    }
}

impl Policy {
    /// The policy as TOML, with its paths as they stand in it and without comments.
    pub(crate) fn to_toml(&self) -> Option<String> {
        toml::to_string(&Written { name: "", setting: &self.document }).ok()
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Policy, D::Error> {
        let document = Setting::deserialize(deserializer)?;
        PolicyBuilder::from_document(document).build().map_err(D::Error::custom)
    }
}

/// Makes paths relative to nothing but the working folder. `None` if one is not UTF-8.
fn anchor(document: &mut Setting, folder: &Path) -> Option<()> {
    let join = |setting: &mut Setting| {
        if let Value::Text(path) = &mut setting.value {
            *path = folder.join(&*path).into_os_string().into_string().ok()?;
        }
        Some(())
    };
    let kinds = ["uniform", "source", "normal", "zipf"];
    let is_file = |setting: &Setting| matches!(&setting.value, Value::Text(text) if !kinds.contains(&text.as_str()));
    for column in document.fields_at(&["attributes"]).into_iter().flatten() {
        let keys = column.setting.fields_at::<&str>(&[]).into_iter().flatten();
        keys.filter(|key| key.name == "hierarchy").try_for_each(|key| join(&mut key.setting))?;
    }
    for key in document.fields_at(&["privacy", "presence"]).into_iter().flatten() {
        if key.name == "population" || key.name == "marginals" {
            join(&mut key.setting)?;
        }
    }
    for key in document.fields_at(&["privacy", "distribution"]).into_iter().flatten() {
        if key.name == "target" && is_file(&key.setting) {
            join(&mut key.setting)?;
        }
    }
    for group in document.fields_at(&["privacy", "distribution", "targets"]).into_iter().flatten() {
        if is_file(&group.setting) {
            join(&mut group.setting)?;
        }
    }
    Some(())
}

/// Keys whose numbers are floats; all others are exact.
const FLOATS: [&str; 8] =
    ["intervals", "from", "to", "domain", "least-gain", "mean", "deviation", "s"];

/// A setting and the name of its key.
struct Written<'a> {
    name: &'a str,
    setting: &'a Setting,
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.setting.value {
            Value::Text(text) => serializer.serialize_str(text),
            Value::Boolean(value) => serializer.serialize_bool(*value),
            Value::Number(text) => number(self.name, text, serializer),
            Value::List(list) => {
                let mut sequence = serializer.serialize_seq(Some(list.len()))?;
                for setting in list {
                    sequence.serialize_element(&Written { name: self.name, setting })?;
                }
                sequence.end()
            }
            Value::Table(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for Field { name, setting, .. } in fields {
                    map.serialize_entry(name, &Written { name, setting })?;
                }
                map.end()
            }
            // No key accepts it, so no policy holds it.
            Value::Other(kind, _) => Err(S::Error::custom(format!("{kind} in a policy"))),
        }
    }
}

fn number<S: Serializer>(name: &str, text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let plain = text.replace('_', "");
    if let Ok(whole) = plain.parse::<i64>() {
        return serializer.serialize_i64(whole);
    }
    match plain.parse::<f64>() {
        Ok(float) if FLOATS.contains(&name) || is_exact(float, text) => {
            serializer.serialize_f64(float)
        }
        _ => serializer.serialize_str(text),
    }
}

/// Whether the shortest text of a float is the same number.
fn is_exact(float: f64, text: &str) -> bool {
    let exact = text.parse::<Ratio>();
    exact.is_ok() && format!("{float:?}").parse::<Ratio>() == exact
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Setting, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Setting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Setting, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Setting, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Setting, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Setting, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Setting, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Setting, E> {
        Ok(Value::Other("null", "nothing".into()).into())
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Setting, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Setting, D::Error> {
        Setting::deserialize(inner)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Setting, A::Error> {
        let mut list = Vec::new();
        while let Some(setting) = sequence.next_element::<Setting>()? {
            list.push(setting);
        }
        Ok(Value::List(list).into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Setting, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, setting)) = map.next_entry::<String, Setting>()? {
            fields.push(Field::new(name, setting));
        }
        Ok(Value::Table(fields).into())
    }
}
