//! Binds a hierarchy to the values of a column: the tree, and the leaf of each value.

use super::{
    Axis, AxisNumbers, DateLevel, Hierarchy, Ordered, ROOT, Taxonomy, bits_of, dates, set_label,
};
use crate::error::{Error, Place, Result};
use crate::ids::{Code, IdMap, LeafId};
use crate::table::{Day, Dictionary, Moment, Type};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// The tree of a column, and the position of the column's values in it.
#[derive(Debug)]
pub struct Binding {
    /// The tree.
    pub taxonomy: Taxonomy,
    /// The leaf of each code of the column's dictionary.
    pub leaf_of: IdMap<Code, LeafId>,
    /// The type of the column's values, as declared or as found.
    pub kind: Type,
    /// The number of each leaf; empty for text.
    pub numbers: Vec<f64>,
}

impl Binding {
    /// The column as a dimension: numbers and days without a hierarchy can be split anywhere.
    pub fn axis(
        hierarchy: &Hierarchy,
        kind: Type,
        numbers: &[f64],
        taxonomy: &Arc<Taxonomy>,
    ) -> Axis {
        let ordered = matches!(hierarchy, Hierarchy::None) && kind != Type::Text;
        match (numbers.first(), numbers.last()) {
            (Some(least), Some(greatest)) if ordered => Axis::Ordered(Ordered {
                kind,
                numbers: AxisNumbers::Ranked(numbers.into()),
                missing: taxonomy.missing().map(u64::from),
                least: *least,
                greatest: *greatest,
            }),
            _ => Axis::Tree(taxonomy.clone()),
        }
    }
}

/// The location for error messages: the file and the column.
struct Spot<'a> {
    file: &'a Path,
    column: &'a str,
    dictionary: &'a Dictionary,
}

impl Spot<'_> {
    fn place(&self, code: u32) -> Place {
        Place::file(self.file).line(self.dictionary.line(code)).column(self.column)
    }

    fn not_in(&self, code: u32, hierarchy: String, remedy: &'static str) -> Error {
        let value = self.dictionary.value(code).to_string();
        Error::NotInHierarchy { place: self.place(code), value, hierarchy, remedy }
    }
}

/// Builds the tree of `column` over the values that occur in it. Empty values, and those in
/// `missing`, are missing unless a hierarchy file lists them as leaves. `declared` is the type that
/// the policy states.
pub fn bind(
    hierarchy: &Hierarchy,
    declared: Option<Type>,
    missing: &[String],
    dictionary: &Dictionary,
    column: &str,
    file: &Path,
) -> Result<Binding> {
    let spot = Spot { file, column, dictionary };
    bind_at(hierarchy, declared, missing, &spot).map_err(|error| match error {
        Error::AmbiguousLabel { place: None, hierarchy, label } => {
            let code = (0..dictionary.len() as u32).find(|code| dictionary.value(*code) == label);
            Error::AmbiguousLabel { place: code.map(|code| spot.place(code)), hierarchy, label }
        }
        error => error,
    })
}

fn bind_at(
    hierarchy: &Hierarchy,
    declared: Option<Type>,
    missing: &[String],
    spot: &Spot<'_>,
) -> Result<Binding> {
    let dictionary = spot.dictionary;
    let is_missing = |value: &str| value.is_empty() || missing.iter().any(|token| token == value);
    if let Hierarchy::File(rows) | Hierarchy::Tree(rows) = hierarchy {
        return bind_file(rows, declared, is_missing, spot);
    }
    // In the order of their text, not of their appearance: the order of a taxonomy must not reveal
    // the order of rows.
    let mut present: Vec<u32> =
        (0..dictionary.len() as u32).filter(|code| !is_missing(dictionary.value(*code))).collect();
    present.sort_unstable_by_key(|code| dictionary.value(*code));
    let with_missing = present.len() < dictionary.len();
    let values = present.iter().map(|code| dictionary.value(*code));
    let kind = declared.unwrap_or_else(|| Type::infer(values.clone()));
    if kind == Type::Text || matches!(hierarchy, Hierarchy::Mask(_) | Hierarchy::Sets) {
        let texts: Vec<&str> = values.collect();
        let (taxonomy, codes) = match hierarchy {
            Hierarchy::Mask(mask) => mask.taxonomy(&texts, with_missing)?,
            Hierarchy::None => flat(&texts, root_beside(&texts), with_missing)?,
            // A value must not look like a set.
            Hierarchy::Sets => {
                let labels: Vec<String> = texts.iter().map(|text| set_label(&[text])).collect();
                // The set of all values is called like the root.
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                flat(&labels, ROOT, with_missing)?
            }
            _ => {
                let kind = numeric_kind(hierarchy);
                return Err(spot.wrong_type(spot.first_wrong(&present, kind), kind));
            }
        };
        let leaf_of = spread(dictionary.len(), &present, &codes, taxonomy.missing());
        return Ok(Binding { taxonomy, leaf_of, kind: Type::Text, numbers: Vec::new() });
    }

    // Numbers and dates: equal numbers are one leaf however they are written, labelled by the
    // shortest form.
    let mut by_number: BTreeMap<u64, (f64, Vec<u32>)> = BTreeMap::new();
    for code in &present {
        let wrong = || spot.wrong_type(spot.first_wrong(&present, kind), kind);
        let number = kind.number(dictionary.value(*code)).ok_or_else(wrong)?;
        by_number.entry(bits_of(number)).or_insert((number, Vec::new())).1.push(*code);
    }
    let numbers: Vec<f64> = by_number.values().map(|(number, _)| *number).collect();
    let shortest = |codes: &[u32]| {
        codes.iter().map(|code| dictionary.value(*code)).min_by_key(|text| text.len())
    };
    if kind == Type::Timestamp {
        spot.check_zones(&present)?;
    }
    let texts: Vec<&str> = by_number.values().filter_map(|(_, codes)| shortest(codes)).collect();
    let taxonomy = match hierarchy {
        Hierarchy::Intervals(intervals) if kind == Type::Timestamp => {
            let expected = "`dates`, because the column has timestamps";
            return Err(spot.wrong_hierarchy(intervals.describe(), expected));
        }
        Hierarchy::Intervals(intervals) => {
            let outside = by_number.values().filter(|(number, _)| !intervals.contains(*number));
            if let Some(code) = outside.flat_map(|(_, codes)| codes).min() {
                return Err(spot.not_in(*code, intervals.describe(), "widen `from` and `to`"));
            }
            if kind == Type::Date && !intervals.is_whole() {
                let expected = "widths in whole days, because the column has dates";
                return Err(spot.wrong_hierarchy(intervals.describe(), expected));
            }
            intervals.taxonomy(&numbers, &texts, intervals.scale(kind), with_missing)?
        }
        Hierarchy::Dates(_) if !matches!(kind, Type::Date | Type::Timestamp) => {
            let wanted = numeric_kind(hierarchy);
            return Err(spot.wrong_type(spot.first_wrong(&present, wanted), wanted));
        }
        Hierarchy::Dates(steps) => {
            if let Some(unit) = steps.iter().find(|unit| !unit.is_of(kind)) {
                let named = DateLevel::NAMES.iter().find(|(_, known)| known == unit);
                let unit = format!("`{}`", named.map_or("", |(name, _)| name));
                let expected = "month, quarter, year or decade, because the column has dates \
                                without times";
                return Err(spot.wrong_hierarchy(unit, expected));
            }
            calendar(steps, kind, (&numbers, &texts), with_missing)?
        }
        _ if matches!(kind, Type::Date | Type::Timestamp) => {
            calendar(&DateLevel::all(kind), kind, (&numbers, &texts), with_missing)?
        }
        _ => flat(&texts, ROOT, with_missing)?.0,
    };
    let missing = taxonomy.missing().unwrap_or(0);
    let mut leaf_of = IdMap::new(vec![missing; dictionary.len()]);
    for (leaf, (_, codes)) in (0..).zip(by_number.values()) {
        codes.iter().for_each(|code| leaf_of.set(Code(*code), LeafId(leaf)));
    }
    Ok(Binding { taxonomy, leaf_of, kind, numbers })
}

impl Spot<'_> {
    /// Of the codes of a column that is not of a type, the one that the file has first. Codes are
    /// numbered in the order of appearance; these are in the order of their texts.
    fn first_wrong(&self, codes: &[u32], kind: Type) -> u32 {
        let is_wrong = |code: &u32| kind.number(self.dictionary.value(*code)).is_none();
        let wrong = codes.iter().copied().filter(is_wrong).min();
        wrong.or_else(|| codes.iter().copied().min()).unwrap_or(0)
    }

    fn wrong_hierarchy(&self, value: String, expected: &str) -> Error {
        let key = format!("hierarchy of {}", crate::error::quoted(self.column));
        Error::BadParameter { place: None, key, value, expected: expected.into() }
    }

    /// Refuses timestamps of which some have a zone, and some have none.
    fn check_zones(&self, codes: &[u32]) -> Result<()> {
        let mut codes = codes.to_vec();
        codes.sort_unstable();
        let value = |code: &u32| self.dictionary.value(*code);
        let Some(wrong) = Type::mixed_zone(codes.iter().map(value)) else { return Ok(()) };
        let code = codes.iter().find(|code| value(code) == wrong);
        Err(self.wrong_type(code.copied().unwrap_or(0), Type::Timestamp))
    }

    fn wrong_type(&self, code: u32, kind: Type) -> Error {
        let value = if self.dictionary.is_empty() {
            String::new()
        } else {
            self.dictionary.value(code).to_string()
        };
        Error::WrongType { place: self.place(code), value, expected: kind.expected().into() }
    }
}

/// The type that a hierarchy for numbers expects.
fn numeric_kind(hierarchy: &Hierarchy) -> Type {
    match hierarchy {
        Hierarchy::Dates(steps) if steps.iter().any(|unit| !unit.is_of(Type::Date)) => {
            Type::Timestamp
        }
        Hierarchy::Dates(_) => Type::Date,
        _ => Type::Real,
    }
}

fn bind_file(
    rows: &super::HierarchyFile,
    declared: Option<Type>,
    is_missing: impl Fn(&str) -> bool,
    spot: &Spot<'_>,
) -> Result<Binding> {
    let dictionary = spot.dictionary;
    let listed: HashMap<&str, ()> = rows.rows().iter().map(|row| (row[0].as_str(), ())).collect();
    let absent = |code: u32| {
        is_missing(dictionary.value(code)) && !listed.contains_key(dictionary.value(code))
    };
    let with_missing = (0..dictionary.len() as u32).any(absent);
    let (taxonomy, leaves) = rows.taxonomy(with_missing)?;
    let kind =
        declared.unwrap_or_else(|| Type::infer(rows.rows().iter().map(|row| row[0].as_str())));
    // A number may be written differently from the file: 39.0 for 39.
    let by_number: HashMap<u64, u32> = match kind {
        Type::Text => HashMap::new(),
        _ => leaves
            .iter()
            .filter_map(|(text, leaf)| Some((bits_of(kind.number(text)?), *leaf)))
            .collect(),
    };
    let find = |code: u32| {
        let value = dictionary.value(code);
        let number = || kind.number(value).and_then(|number| by_number.get(&bits_of(number)));
        match leaves.get(value).or_else(number) {
            Some(leaf) => Ok(LeafId(*leaf)),
            None if absent(code) => Ok(LeafId(taxonomy.missing().unwrap_or(0))),
            None => Err(spot.not_in(code, rows.file().display().to_string(), "add it there")),
        }
    };
    let leaf_of = (0..dictionary.len() as u32).map(find).collect::<Result<_>>()?;
    let number_of = |code: u32| kind.number(taxonomy.level(0).label(code));
    let real = taxonomy.codes() - u32::from(taxonomy.missing().is_some());
    let numbers: Option<Vec<f64>> = (0..real).map(number_of).collect();
    Ok(Binding { leaf_of, kind, numbers: numbers.unwrap_or_default(), taxonomy })
}

/// A name of the root that no value has. If all are taken, the tree is refused.
fn root_beside(values: &[&str]) -> &'static str {
    let names = [ROOT, "any", "any value", "all values", "(any value)"];
    names.into_iter().find(|name| !values.contains(name)).unwrap_or(ROOT)
}

/// A tree of two levels: values, then the root.
fn flat(values: &[&str], root: &str, with_missing: bool) -> Result<(Taxonomy, Vec<u32>)> {
    let paths: Vec<Vec<&str>> = values.iter().map(|value| vec![*value, root]).collect();
    Taxonomy::from_paths("the column".into(), &paths, with_missing)
}

fn calendar(
    steps: &[DateLevel],
    kind: Type,
    (numbers, texts): (&[f64], &[&str]),
    with_missing: bool,
) -> Result<Taxonomy> {
    let moment = |number: &f64| match kind {
        Type::Timestamp => Moment(*number as i64),
        _ => Moment::of(Day(*number as i32)),
    };
    let moments: Vec<Moment> = numbers.iter().map(moment).collect();
    dates::taxonomy(steps, &moments, texts, with_missing)
}

/// The leaf of each code, from the leaves of the present codes; all other codes are missing.
fn spread(
    codes: usize,
    present: &[u32],
    leaves: &[u32],
    missing: Option<u32>,
) -> IdMap<Code, LeafId> {
    let mut leaf_of = IdMap::new(vec![missing.unwrap_or(0); codes]);
    for (code, leaf) in present.iter().zip(leaves) {
        leaf_of.set(Code(*code), LeafId(*leaf));
    }
    leaf_of
}

#[cfg(test)]
mod tests {
    use super::super::{HierarchyFile, Intervals};
    use super::*;

    fn dictionary(values: &[&str]) -> Dictionary {
        let mut dictionary = Dictionary::default();
        for (line, value) in (2..).zip(values) {
            dictionary.encode(value, line);
        }
        dictionary
    }

    fn bound(hierarchy: &Hierarchy, kind: Option<Type>, values: &[&str]) -> Result<Binding> {
        let binding = bind(
            hierarchy,
            kind,
            &["?".to_string()],
            &dictionary(values),
            "age",
            Path::new("t.csv"),
        )?;
        super::super::tests::check_laws(&binding.taxonomy);
        Ok(binding)
    }

    fn label(binding: &Binding, code: u32, level: usize) -> &str {
        let level = binding.taxonomy.level(level);
        level.label(level.node_of(binding.leaf_of.at(Code(code)).0))
    }

    #[test]
    fn equal_numbers_are_one_leaf_and_missing_is_its_own() {
        let binding = bound(&Hierarchy::None, None, &["39", "?", "039", "7", ""]).unwrap();
        assert_eq!(binding.kind, Type::Integer);
        assert_eq!(binding.leaf_of.raw(), [1, 2, 1, 0, 2]);
        assert_eq!(binding.numbers, [7.0, 39.0]);
        assert_eq!((label(&binding, 1, 0), label(&binding, 1, 1)), ("", "*"));
    }

    #[test]
    fn a_value_outside_its_hierarchy_is_refused_with_its_line() {
        let intervals =
            Hierarchy::Intervals(Intervals::new(vec![5.0], Some(0.0), Some(100.0)).unwrap());
        let error = bound(&intervals, None, &["1", "100", "101"]).unwrap_err().to_string();
        assert!(error.starts_with("t.csv:4: column `age`: `101` is not in "), "{error}");
        let rows = vec![(1, vec!["a".to_string(), "*".to_string()])];
        let file = Hierarchy::File(HierarchyFile::new(Path::new("h.csv"), rows).unwrap());
        let error = bound(&file, None, &["a", "b"]).unwrap_err().to_string();
        assert!(error.starts_with("t.csv:3: column `age`: `b` is not in h.csv"), "{error}");
    }

    #[test]
    fn a_file_may_write_numbers_in_its_own_way() {
        let rows = ["40", "39", "?"]
            .iter()
            .map(|leaf| (1, vec![leaf.to_string(), "*".to_string()]))
            .collect();
        let file = Hierarchy::File(HierarchyFile::new(Path::new("h.csv"), rows).unwrap());
        let binding = bound(&file, Some(Type::Real), &["39.0", "40", "?", ""]).unwrap();
        assert_eq!(binding.leaf_of.raw(), [1, 0, 2, 3]);
    }

    #[test]
    fn a_wrong_type_is_refused_with_its_line() {
        let error =
            bound(&Hierarchy::None, Some(Type::Integer), &["1", "2.5"]).unwrap_err().to_string();
        assert!(error.starts_with("t.csv:3: column `age`: `2.5` is not an integer"), "{error}");
        assert!(bound(&Hierarchy::Dates(DateLevel::all(Type::Date)), None, &["1", "2"]).is_err());
    }

    /// Values are sorted before they are looked at; the line that is named is still the first.
    #[test]
    fn the_first_bad_line_is_named_not_the_smallest_bad_value() {
        let intervals =
            Hierarchy::Intervals(Intervals::new(vec![5.0], Some(0.0), Some(100.0)).unwrap());
        let dates = Hierarchy::Dates(DateLevel::all(Type::Date));
        let file = {
            let rows = vec![(1, vec!["7".to_string(), "*".to_string()])];
            Hierarchy::File(HierarchyFile::new(Path::new("h.csv"), rows).unwrap())
        };
        let cases: [(&Hierarchy, Option<Type>, [&str; 3]); 7] = [
            (&intervals, None, ["7", "300", "-1"]),
            (&intervals, Some(Type::Integer), ["7", "x", "a"]),
            (&intervals, None, ["7", "x", "a"]),
            (&Hierarchy::None, Some(Type::Real), ["7", "x", "a"]),
            (&dates, None, ["2020-01-01", "x", "a"]),
            (&dates, Some(Type::Date), ["2020-01-01", "9", "8"]),
            (&file, None, ["7", "x", "a"]),
        ];
        for (hierarchy, kind, values) in cases {
            let error = bound(hierarchy, kind, &values).unwrap_err().to_string();
            let told = format!("t.csv:3: column `age`: `{}` is not ", values[1]);
            assert!(error.starts_with(&told), "{error}");
        }
        let error = bound(&dates, Some(Type::Integer), &["9", "8"]).unwrap_err().to_string();
        assert!(error.starts_with("t.csv:2: column `age`: `9` is not a date"), "{error}");
    }

    #[test]
    fn a_column_with_only_missing_values_has_a_tree() {
        for hierarchy in
            [Hierarchy::None, Hierarchy::Intervals(Intervals::new(vec![5.0], None, None).unwrap())]
        {
            let binding = bound(&hierarchy, Some(Type::Integer), &["", "?"]).unwrap();
            assert_eq!(binding.leaf_of.raw(), [0, 0]);
        }
    }
}
