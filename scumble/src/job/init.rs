//! A first policy for a table: types and roles guessed, to be edited by someone who knows the data.

use crate::error::Result;
use crate::source::{Source, encode};
use crate::table::{Role, Type};
use crate::watch::Watch;
use std::fmt::Write;

/// Names that suggest a direct identifier.
const IDENTIFIERS: [&str; 10] =
    ["id", "name", "email", "phone", "ssn", "address", "passport", "iban", "mrn", "account"];

/// Names that suggest something about a person that outsiders should not learn.
const SENSITIVE: [&str; 12] = [
    "diagnosis",
    "disease",
    "salary",
    "income",
    "occupation",
    "religion",
    "hiv",
    "icd",
    "illness",
    "medication",
    "debt",
    "wage",
];

/// The text of a policy for a file. A column is guessed to be an identifier by its name or because
/// nearly every value is unique text, sensitive by its name, and a quasi-identifier otherwise: the
/// careful guess.
pub fn init(source: &dyn Source, watch: &Watch) -> Result<String> {
    // Read as sensitive, columns are counted one by one and no cells are formed.
    let roles = vec![Role::Sensitive; source.schema().fields().len()];
    let table = encode(source, &roles, watch, "read")?;
    let mut text = String::from(
        "# Types and roles are guessed from the names and values of columns. Check every role:\n\
         # identifier: identifies a person directly; dropped\n\
         # quasi-identifier: an outsider may know it; generalized\n\
         # sensitive: nobody should learn it about a person\n\
         # target: the release is used to predict it; released unchanged\n\
         # insensitive: released unchanged\n",
    );
    // The more columns, the fewer levels each, so that the search goes through all recodings in
    // time.
    let widths = match table.columns.len() {
        0..=7 => 4,
        8..=10 => 2,
        _ => 1,
    };
    for column in &table.columns {
        let Some(dictionary) = column.dictionary() else { continue };
        let present = || dictionary.values().filter(|value| !value.is_empty());
        let kind = Type::infer(present());
        let distinct = dictionary.len() as u64;
        let words: Vec<String> =
            column.name.to_lowercase().split(['-', '_', ' ', '.']).map(str::to_string).collect();
        let named = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        let unique_text = kind == Type::Text && distinct * 10 > table.rows() * 9;
        let role = match () {
            () if named(&IDENTIFIERS) || unique_text => "identifier",
            () if named(&SENSITIVE) => "sensitive",
            () => "quasi-identifier",
        };
        let missing = if dictionary.values().any(str::is_empty) { ", some missing" } else { "" };
        let _ = write!(
            text,
            "\n[attributes.{}]           # {distinct} distinct values{missing}\n",
            toml_key(&column.name)
        );
        let _ = writeln!(text, "role = \"{role}\"");
        let _ = writeln!(text, "type = \"{}\"", kind.name());
        if role == "quasi-identifier" {
            let _ = writeln!(
                text,
                "{}",
                hierarchy(kind, widths, present().filter_map(|value| kind.number(value)))
            );
        }
    }
    text.push_str(
        "\n[privacy]                    # all requirements must hold\nk = 5\n\
         # l-diversity = { kind = \"distinct\", l = 3 }\n# t-closeness = 0.2\n# variance = 1e6\n\n\
         [search]\nalgorithm = \"auto\"\nloss = \"lm\"\nsuppression = { scheme = \"records\", limit = 0.05 }\n",
    );
    Ok(text)
}

/// A hierarchy line that works as it stands, or a comment that shows how to write one.
fn hierarchy(kind: Type, widths: u32, numbers: impl Iterator<Item = f64>) -> String {
    match kind {
        Type::Date => {
            "hierarchy = { dates = [\"month\", \"quarter\", \"year\", \"decade\"] }".into()
        }
        Type::Text => {
            "# hierarchy = \"file.csv\"     # one row per leaf: leaf;parent;…;root".into()
        }
        Type::Integer | Type::Real => {
            let (low, high) = numbers.fold((f64::MAX, f64::MIN), |(low, high), number| {
                (low.min(number), high.max(number))
            });
            // Widths that double, the first about a twentieth of the range, as 1, 2 or 5 times a
            // power of ten.
            let rough = ((high - low) / 20.0).max(if kind == Type::Integer { 2.0 } else { 1e-6 });
            let power = 10f64.powf(rough.log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0]
                .into_iter()
                .find(|step| step * power >= rough)
                .unwrap_or(10.0)
                * power;
            // Intervals are counted exactly up to 2^53 only.
            if step * 8.0 > (1u64 << 53) as f64 {
                return "# hierarchy = { intervals = [1, 2], from = 0, to = 10 }     # the range is too wide to guess"
                    .into();
            }
            let widths: Vec<String> = (0..widths)
                .map(|doubling| format!("{}", step * f64::from(1 << doubling)))
                .collect();
            format!("hierarchy = {{ intervals = [{}] }}", widths.join(", "))
        }
    }
}

/// A key of TOML, quoted where it must be.
fn toml_key(name: &str) -> String {
    let bare = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if bare {
        return name.to_string();
    }
    let mut quoted = String::from("\"");
    for character in name.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(character));
            }
            _ => quoted.push(character),
        }
    }
    quoted + "\""
}
