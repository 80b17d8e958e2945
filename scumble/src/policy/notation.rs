//! How the values of a column are written: `format`, `decimal` and `thousands`.

use super::entry::Section;
use super::{Attribute, Policy};
use crate::error::Result;
use crate::table::{DatePattern, Notation, Role, Type};
use crate::taxonomy::Hierarchy;

/// The notation of a column, if a key states one.
pub(super) fn read(section: &Section<'_>) -> Result<Option<Notation>> {
    let (decimal, thousands) = (section.get("decimal"), section.get("thousands"));
    if let Some(format) = section.get("format") {
        if let Some(stray) = decimal.or(thousands) {
            return Err(stray.inapplicable("cannot be used with `format`; remove one"));
        }
        let pattern = DatePattern::new(format.str()?).map_err(|expected| format.wrong(expected))?;
        return Ok(Some(Notation::Dates(pattern)));
    }
    let texts = [decimal, thousands].map(|entry| entry.map(|entry| entry.str()).transpose());
    let [of_decimal, of_thousands] = texts;
    let (of_decimal, of_thousands) = (of_decimal?, of_thousands?);
    if let Some(entry) = decimal {
        // By itself first, so that an error names the key that is wrong.
        Notation::numbers(of_decimal, None).map_err(|expected| entry.wrong(expected))?;
    }
    let Some(entry) = thousands.or(decimal) else { return Ok(None) };
    let notation = Notation::numbers(of_decimal, of_thousands);
    notation.map(Some).map_err(|expected| entry.wrong(expected))
}

/// Refuses a notation that does not belong to the type or the hierarchy of its column. The type is
/// the one that the notation tells if none is declared.
pub(super) fn check(
    section: &Section<'_>,
    notation: &Notation,
    kind: Option<Type>,
    hierarchy: &Hierarchy,
) -> Result<Option<Type>> {
    let keys = ["format", "decimal", "thousands"];
    let entry = keys.into_iter().find_map(|key| section.get(key).map(|entry| (key, entry)));
    let Some((key, entry)) = entry else { return Ok(kind) };
    match (kind, notation) {
        (Some(kind), Notation::Dates(pattern)) if !notation.fits(kind) => {
            let own = pattern.kind().name();
            return Err(entry.inapplicable(format!("requires the type {own}, not {}", kind.name())));
        }
        (Some(kind), Notation::Numbers { .. }) if !notation.fits(kind) => {
            let problem = format!("requires the type integer or real, not {}", kind.name());
            return Err(entry.inapplicable(problem));
        }
        _ => {}
    }
    let of_texts = match hierarchy {
        Hierarchy::Mask(_) => "a mask",
        Hierarchy::Sets => "sets",
        _ => return Ok(kind.or(notation.kind())),
    };
    let problem =
        format!("cannot be used with {of_texts}, which takes values as texts; remove `{key}`");
    Err(entry.inapplicable(problem))
}

impl Policy {
    /// Takes values that the policy names for values in the notations of their columns.
    pub(super) fn read_values(&mut self) {
        let distribution = self.privacy.distribution.as_ref();
        let of_distribution =
            distribution.and_then(|asked| self.attribute(&asked.attribute)?.notation.clone());
        if let (Some(asked), Some(notation)) = (&mut self.privacy.distribution, of_distribution) {
            asked.read_values(&notation);
        }
        let Some(asked) = &mut self.privacy.thresholds else { return };
        let (about, default_role) = (asked.sensitive.clone(), self.default_role);
        let is_asked = |attribute: &&Attribute| match &about {
            Some(name) => attribute.covers(name),
            None => attribute.role.or(default_role) == Some(Role::Sensitive),
        };
        let of_caps = self.attributes.iter().filter(is_asked);
        let of_caps = of_caps.filter_map(|attribute| attribute.notation.as_ref());
        let of_caps: Vec<&Notation> = of_caps.collect();
        let plain = |value: &str| of_caps.iter().find_map(|notation| notation.plain(value));
        let named = asked.values.iter_mut().map(|(value, ..)| value);
        for value in named.chain(&mut asked.known) {
            *value = plain(value).unwrap_or(std::mem::take(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::Policy;
    use crate::taxonomy::Hierarchy;

    fn said(keys: &str) -> String {
        let text = format!("[attributes.a]\nrole = \"quasi-identifier\"\n{keys}");
        match Policy::from_toml(&text) {
            Ok(policy) => format!("{:?}", policy.attribute("a").unwrap().kind),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn contradictions_are_refused_with_the_key() {
        let cases = [
            ("format = \"DD.MM.YYYY\"", "Some(Date)"),
            ("format = \"DD.MM.YYYY\"\ntype = \"date\"", "Some(Date)"),
            ("decimal = \",\"", "None"),
            ("decimal = \",\"\nthousands = \".\"\ntype = \"real\"", "Some(Real)"),
            ("format = \"DD.MM.YYYY\"\ntype = \"text\"", "attributes.a.format"),
            ("format = \"DD.MM.YYYY\"\ndecimal = \",\"", "attributes.a.decimal"),
            ("format = \"DD.MM.YY\"", "do not tell the century"),
            ("format = \"dd\"", "attributes.a.format"),
            ("format = 5", "attributes.a.format"),
            ("decimal = \",\"\ntype = \"date\"", "attributes.a.decimal"),
            ("decimal = \";\"", "attributes.a.decimal"),
            ("thousands = \".\"", "attributes.a.thousands"),
            ("decimal = \",\"\nthousands = \",\"", "attributes.a.thousands"),
            ("thousands = \" \"\nhierarchy = { mask = \"right\" }", "attributes.a.thousands"),
            ("decimal = \",\"\nsets = true", "attributes.a.decimal"),
        ];
        for (keys, expected) in cases {
            assert!(said(keys).contains(expected), "{keys}: {}", said(keys));
        }
    }

    /// Trees are in the plain way inside, and as they were written in what serde and the builder
    /// see, however often a policy is changed.
    #[test]
    fn a_policy_is_written_as_it_was_read() {
        let text = r#"{"attributes": {"a": {"role": "quasi-identifier", "type": "real", "decimal": ",",
            "thousands": ".", "hierarchy": {"tree": [["1.000,5", "1.000-1.999", "*"]]}}}}"#;
        let policy: Policy = serde_json::from_str(text).unwrap();
        let again = policy.edit().build().unwrap();
        let json = serde_json::to_value(&again).unwrap();
        assert_eq!(json, serde_json::from_str::<serde_json::Value>(text).unwrap());
        let Hierarchy::Tree(tree) = &again.attribute("a").unwrap().hierarchy else { panic!() };
        assert_eq!(tree.rows()[0], ["1000.5", "1000-1999", "*"]);
        let merged = text.replace(r#"]]}"#, r#"], ["1000,5", "x", "*"]]}"#);
        let error = serde_json::from_str::<Policy>(&merged).unwrap_err().to_string();
        assert!(error.contains("duplicate `1000.5`"), "{error}");
    }

    #[test]
    fn the_builder_has_the_same_words() {
        let policy = Policy::builder()
            .quasi_identifier("born", Hierarchy::None)
            .format("born", "D.M.YYYY")
            .decimal("pay", ",")
            .thousands("pay", "'")
            .build()
            .unwrap();
        let keys = |name: &str| policy.attribute(name).unwrap().notation.as_ref().unwrap().keys();
        assert_eq!(keys("born"), [("format", "D.M.YYYY".to_string())]);
        assert_eq!(keys("pay"), [("decimal", ",".to_string()), ("thousands", "'".to_string())]);
    }
}
