//! Sets of values as labels: `{cold, flu}`.
//!
//! Values are listed in braces, in the order of the column, with a comma and a space between them.
//! A value is in double quotes, with its own ones doubled, where it could be misread: if it is
//! empty (a missing value), begins or ends with white space, or has a comma, a brace, a quote or a
//! control character. A single value is its own label, unless it begins with a brace: then it is a
//! set of one. So a label that begins with a brace is always a set, and can be read back.

/// What some values of a column are called; nothing is called by no values.
pub fn set_label(values: &[&str]) -> String {
    match values {
        [] => String::new(),
        [value] if !value.starts_with('{') => value.to_string(),
        _ => format!(
            "{{{}}}",
            values.iter().map(|value| member(value)).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// A value inside of braces.
fn member(value: &str) -> String {
    let is_special =
        |character: char| matches!(character, ',' | '{' | '}' | '"') || character.is_control();
    let is_plain = !value.is_empty() && value.trim() == value && !value.contains(is_special);
    if is_plain { value.to_string() } else { format!("\"{}\"", value.replace('"', "\"\"")) }
}

/// The values that a label stands for; `None` if it begins with a brace and is no set that
/// [`set_label`] writes.
pub fn said_set(label: &str) -> Option<Vec<String>> {
    let Some(mut rest) = label.strip_prefix('{') else { return Some(vec![label.to_string()]) };
    let mut values: Vec<String> = Vec::new();
    loop {
        let (value, after) = read_member(rest)?;
        values.push(value);
        match after.strip_prefix(", ") {
            Some(next) => rest = next,
            None if after == "}" => break,
            None => return None,
        }
    }
    let all: Vec<&str> = values.iter().map(String::as_str).collect();
    let is_repeated = (1..all.len()).any(|at| all[..at].contains(&all[at]));
    (!is_repeated && set_label(&all) == label).then_some(values)
}

/// The first value of a list, and what follows it.
fn read_member(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', '}'])?;
        return Some((text[..end].to_string(), &text[end..]));
    };
    let (mut value, mut rest) = (String::new(), quoted);
    loop {
        let end = rest.find('"')?;
        value += &rest[..end];
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                value.push('"');
                rest = more;
            }
            None => return Some((value, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn sets_are_spelled_as_documented() {
        assert_eq!(set_label(&["cold", "flu"]), "{cold, flu}");
        assert_eq!(set_label(&["cold"]), "cold");
        assert_eq!(set_label(&["{a, b}"]), "{\"{a, b}\"}");
        assert_eq!(set_label(&["a b", "say \"x\"", ""]), "{a b, \"say \"\"x\"\"\", \"\"}");
        assert_eq!(set_label(&["a,b", " c", "d\n", "*"]), "{\"a,b\", \" c\", \"d\n\", *}");
        for bad in ["{", "{}", "{a", "{a}", "{a,b}", "{a, a}", "{\"a\", b}", "{a, b} ", "{a, b}}"] {
            assert_eq!(said_set(bad), None, "{bad}");
        }
        assert_eq!(said_set("a}, \""), Some(vec!["a}, \"".to_string()]));
    }

    proptest! {
        #[test]
        fn labels_are_read_back(
            values in prop::collection::btree_set("[ab{},\" *\n\u{e4}]{0,4}", 1..5),
        ) {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            prop_assert_eq!(said_set(&set_label(&values)).unwrap(), values);
        }
    }

    #[test]
    fn different_sets_have_different_labels() {
        let values = ["a", "b", "{a, b}", "{", "a, b", "\"a\"", "", "a}", " a", "a\n"];
        let mut known: BTreeMap<String, u32> = BTreeMap::new();
        for set in 1u32..1 << values.len() {
            let chosen = values.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
            let chosen: Vec<&str> = chosen.map(|(_, value)| *value).collect();
            assert_eq!(known.insert(set_label(&chosen), set), None);
        }
    }
}
