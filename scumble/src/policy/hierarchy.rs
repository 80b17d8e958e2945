//! Hierarchies of a policy: read and checked, made in code, and written back.

use super::document::{Setting, Value};
use super::entry::{Entry, Section};
use super::loaded::Loaded;
use crate::error::{Error, Result};
use crate::table::{Day, Notation};
use crate::taxonomy::{DateLevel, Hierarchy, HierarchyFile, Intervals, Mask, Side};
use std::path::Path;

const SIDES: [(&str, Side); 2] = [("right", Side::Right), ("left", Side::Left)];
const STEPS: &str = "steps from fine to coarse, from hour, day, month, quarter, year, decade";

/// A hierarchy; ends of intervals may be written as the values of their column are.
pub(super) fn read(entry: &Entry<'_>, notation: Option<&Notation>) -> Result<Hierarchy> {
    if let Value::Text(path) = entry.value() {
        let file = entry.origin.path(path);
        return Ok(Hierarchy::File(entry.origin.loaded.hierarchy(&file)?));
    }
    let section = entry.table(Some("attributes.*.hierarchy"))?;
    let kinds: Vec<&str> = ["intervals", "mask", "dates", "tree"]
        .into_iter()
        .filter(|kind| section.get(kind).is_some())
        .collect();
    let expected = "a path, or a table with just one of `intervals`, `mask`, `dates` and `tree`";
    let [kind] = kinds[..] else { return Err(entry.wrong(expected)) };
    let belongs = |key: &str| match key {
        "from" | "to" => kind == "intervals",
        "char" => kind == "mask",
        key => key == kind,
    };
    if let Some((_, stray)) = section.entries.iter().find(|(key, _)| !belongs(key)) {
        return Err(stray.inapplicable(format!("cannot be used with `{kind}`")));
    }
    let given = section.required(kind)?;
    match kind {
        "intervals" => intervals(given, &section, notation),
        "mask" => mask(given, &section),
        "dates" => dates(given),
        _ => tree(given),
    }
}

fn intervals(
    given: &Entry<'_>,
    section: &Section<'_>,
    notation: Option<&Notation>,
) -> Result<Hierarchy> {
    let widths = given.items()?.iter().map(Entry::number).collect::<Result<Vec<f64>>>()?;
    let day = |entry: &Entry<'_>| entry.plain_text(notation)?.parse::<Day>().ok();
    let end = |name: &str| {
        let number = |entry: &Entry<'_>| match day(entry) {
            Some(day) => Ok(f64::from(day.0)),
            None => entry.number_in(notation),
        };
        section.get(name).map(number).transpose()
    };
    let intervals = Intervals::new(widths, end("from")?, end("to")?);
    let intervals = intervals.map_err(|expected| given.wrong(expected))?;
    let dates = ["from", "to"]
        .into_iter()
        .filter_map(|name| section.get(name))
        .any(|entry| day(entry).is_some());
    Ok(Hierarchy::Intervals(if dates { intervals.of_dates() } else { intervals }))
}

fn mask(given: &Entry<'_>, section: &Section<'_>) -> Result<Hierarchy> {
    let side = given.choice(SIDES)?;
    let Some(entry) = section.get("char") else {
        return Ok(Hierarchy::Mask(Mask { side, character: '*' }));
    };
    let mut characters = entry.str()?.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(Hierarchy::Mask(Mask { side, character })),
        _ => Err(entry.wrong("one character")),
    }
}

fn dates(given: &Entry<'_>) -> Result<Hierarchy> {
    let steps = given.items()?;
    let steps: Vec<DateLevel> =
        steps.iter().map(|item| item.choice(DateLevel::NAMES)).collect::<Result<_>>()?;
    if steps.is_empty() || steps.windows(2).any(|pair| pair[1] <= pair[0]) {
        return Err(given.wrong(STEPS));
    }
    Ok(Hierarchy::Dates(steps))
}

/// Rows of labels, from leaf to root.
fn tree(given: &Entry<'_>) -> Result<Hierarchy> {
    let row = |entry: &Entry<'_>| Ok((entry.line().unwrap_or(0), entry.texts()?));
    let rows = given.items()?.iter().map(row).collect::<Result<Vec<_>>>()?;
    Ok(Hierarchy::Tree(HierarchyFile::new(given.origin.file, rows)?))
}

impl Hierarchy {
    /// Intervals of growing width over the domain from `from` to `to`, both ends included. Each
    /// width is a multiple of the one before.
    pub fn intervals(widths: &[f64], from: Option<f64>, to: Option<f64>) -> Result<Hierarchy> {
        let made = Intervals::new(widths.to_vec(), from, to);
        Ok(Hierarchy::Intervals(made.map_err(|expected| wrong("intervals", widths, expected))?))
    }

    /// The same for a column of dates; widths are days.
    pub fn intervals_of_days(
        widths: &[f64],
        from: Option<Day>,
        to: Option<Day>,
    ) -> Result<Hierarchy> {
        let number = |day: Option<Day>| day.map(|day| f64::from(day.0));
        let made = Intervals::new(widths.to_vec(), number(from), number(to));
        let made = made.map_err(|expected| wrong("intervals", widths, expected))?;
        Ok(Hierarchy::Intervals(made.of_dates()))
    }

    /// Characters masked one by one from one side, each replaced by `character`.
    pub fn mask(side: Side, character: char) -> Hierarchy {
        Hierarchy::Mask(Mask { side, character })
    }

    /// Steps of the calendar, from fine to coarse.
    pub fn dates(steps: &[DateLevel]) -> Result<Hierarchy> {
        if steps.is_empty() || steps.windows(2).any(|pair| pair[1] <= pair[0]) {
            return Err(wrong("dates", steps, STEPS));
        }
        Ok(Hierarchy::Dates(steps.to_vec()))
    }

    /// A CSV file with a row per leaf: `leaf;parent;…;root`.
    pub fn file(file: &Path) -> Result<Hierarchy> {
        Ok(Hierarchy::File(Loaded::default().hierarchy(file)?))
    }

    /// A tree with a row of labels for each leaf, from the leaf to the root. All rows have the same
    /// length and the same root.
    pub fn tree<S: Into<String>>(
        rows: impl IntoIterator<Item = impl IntoIterator<Item = S>>,
    ) -> Result<Hierarchy> {
        let rows = rows.into_iter().map(|row| row.into_iter().map(Into::into).collect());
        let rows = (1..).zip(rows).collect();
        Ok(Hierarchy::Tree(HierarchyFile::new(Path::new(super::builder::NAME), rows)?))
    }
}

fn wrong(key: &str, value: impl std::fmt::Debug, expected: &str) -> Error {
    Error::BadParameter {
        place: None,
        key: format!("hierarchy.{key}"),
        value: format!("{value:?}"),
        expected: expected.into(),
    }
}

/// A hierarchy in the words of a policy; `None` for none.
pub(super) fn written(hierarchy: &Hierarchy) -> Option<Setting> {
    Some(match hierarchy {
        Hierarchy::None | Hierarchy::Sets => return None,
        Hierarchy::File(file) => file.file().to_string_lossy().into_owned().into(),
        Hierarchy::Tree(tree) => {
            Setting::table([("tree", tree.as_written().rows().to_vec().into())])
        }
        Hierarchy::Mask(Mask { side, character }) => {
            let side = SIDES.iter().find(|(_, known)| known == side).map_or("", |(name, _)| name);
            Setting::table([("mask", side.into()), ("char", character.to_string().into())])
        }
        Hierarchy::Dates(steps) => {
            let name = |step: &DateLevel| {
                DateLevel::NAMES
                    .iter()
                    .find(|(_, known)| known == step)
                    .map_or("", |(name, _)| name)
            };
            Setting::table([("dates", steps.iter().map(name).collect::<Vec<_>>().into())])
        }
        Hierarchy::Intervals(intervals) => {
            let end = |end: f64| {
                if intervals.has_dates() { Day(end as i32).to_string().into() } else { end.into() }
            };
            let ends = [("from", intervals.from()), ("to", intervals.to())];
            let ends = ends.into_iter().filter_map(|(name, at)| Some((name, end(at?))));
            Setting::table([("intervals", intervals.widths().into())].into_iter().chain(ends))
        }
    })
}
