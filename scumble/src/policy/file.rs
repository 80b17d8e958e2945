//! From TOML to a policy: every key is known, every value is checked where it stands, and errors
//! name the line.

use super::keys::{self, nearest};
use super::{
    Algorithm, Attribute, ByAsked, ClosenessAsked, DistanceAsked, DiversityAsked, Policy, Privacy,
    Search, Space, ThresholdsAsked, VarianceAsked,
};
use crate::error::{Error, Place, Result};
use crate::loss::Loss;
use crate::privacy::Diversity;
use crate::ratio::Ratio;
use crate::recoding::Style;
use crate::search::cuts::Suppression;
use crate::search::regions::{Criterion, Partitioning};
use crate::source::read_records;
use crate::table::{Day, Role, Type};
use crate::taxonomy::{DateLevel, Hierarchy, HierarchyFile, Intervals, Mask, Side};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text and its name: what turns a position into a line.
pub(super) struct Text<'a> {
    text: &'a str,
    pub(super) file: &'a Path,
}

impl Text<'_> {
    fn place(&self, at: usize) -> Place {
        let line = self.text.get(..at).unwrap_or(self.text).matches('\n').count() as u64 + 1;
        Place::file(self.file).line(line)
    }
}

/// A table of the policy: its entries, all of them known keys.
pub(super) struct Section<'a> {
    text: &'a Text<'a>,
    path: String,
    pub(super) entries: Vec<(&'a str, Entry<'a>)>,
}

/// A value and where it stands.
#[derive(Clone)]
pub(super) struct Entry<'a> {
    pub(super) text: &'a Text<'a>,
    path: String,
    at: usize,
    pub(super) value: &'a DeValue<'a>,
}

impl<'a> Section<'a> {
    /// Opens a table; `known` is its name in the list of keys, `None` where any key is allowed.
    fn open(
        text: &'a Text<'a>,
        path: &str,
        known: Option<&str>,
        table: &'a DeTable<'a>,
    ) -> Result<Section<'a>> {
        let mut entries = Vec::new();
        for (name, value) in table.iter() {
            let (at, name): (usize, &str) = (name.span().start, name.get_ref());
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            if let Some(section) = known
                && !keys::of(section).any(|key| key == name)
            {
                let nearest = nearest(name, keys::of(section));
                return Err(Error::UnknownKey { place: text.place(at), key: path, nearest });
            }
            let at = value.span().start;
            entries.push((at, (name, Entry { text, path, at, value: value.get_ref() })));
        }
        // In the order of the file: columns are then named in the order in which their author
        // thinks of them.
        entries.sort_by_key(|(at, _)| *at);
        Ok(Section {
            text,
            path: path.to_string(),
            entries: entries.into_iter().map(|(_, entry)| entry).collect(),
        })
    }

    pub(super) fn get(&self, name: &str) -> Option<&Entry<'a>> {
        self.entries.iter().find(|(key, _)| *key == name).map(|(_, entry)| entry)
    }

    pub(super) fn required(&self, name: &str) -> Result<&Entry<'a>> {
        self.get(name).ok_or_else(|| {
            let missing = format!("[{}] needs `{name}`", self.path);
            Error::Incomplete { file: self.text.file.to_path_buf(), missing }
        })
    }
}

impl<'a> Entry<'a> {
    /// The value as it was typed, near enough for an error.
    fn shown(&self) -> String {
        match self.value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(value) => value.to_string(),
            other => format!("{} {}", article(other.type_str()), other.type_str()),
        }
    }

    pub(super) fn wrong(&self, expected: impl Into<String>) -> Error {
        let place = Some(self.text.place(self.at));
        Error::BadParameter {
            place,
            key: self.path.clone(),
            value: self.shown(),
            expected: expected.into(),
        }
    }

    pub(super) fn table(&self, known: Option<&str>) -> Result<Section<'a>> {
        match self.value {
            DeValue::Table(table) => Section::open(self.text, &self.path, known, table),
            _ => Err(self.wrong("a table")),
        }
    }

    pub(super) fn items(&self) -> Result<Vec<Entry<'a>>> {
        let DeValue::Array(array) = self.value else { return Err(self.wrong("a list")) };
        let item = |value: &'a Spanned<DeValue<'a>>| Entry {
            at: value.span().start,
            value: value.get_ref(),
            ..self.clone()
        };
        Ok(array.iter().map(item).collect())
    }

    /// One table, or a list of them.
    fn one_or_more(&self) -> Result<Vec<Entry<'a>>> {
        match self.value {
            DeValue::Array(_) => self.items(),
            _ => Ok(vec![self.clone()]),
        }
    }

    pub(super) fn str(&self) -> Result<&'a str> {
        match self.value {
            DeValue::String(text) => Ok(text),
            _ => Err(self.wrong("a text")),
        }
    }

    pub(super) fn texts(&self) -> Result<Vec<String>> {
        self.items()?.iter().map(|item| item.str().map(str::to_string)).collect()
    }

    /// One of a list of names.
    pub(super) fn choice<T: Copy>(
        &self,
        names: impl Iterator<Item = (&'static str, T)>,
    ) -> Result<T> {
        let names: Vec<(&str, T)> = names.collect();
        let typed = self.str()?;
        let found = names.iter().find(|(name, _)| *name == typed).map(|(_, value)| *value);
        found.ok_or_else(|| {
            let all: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            let hint =
                nearest(typed, all.iter().copied()).map(|name| format!("; did you mean `{name}`?"));
            self.wrong(format!("one of {}{}", all.join(", "), hint.unwrap_or_default()))
        })
    }

    /// A number as it was typed: exactly.
    pub(super) fn ratio(&self, expected: &str) -> Result<Ratio> {
        let typed = match self.value {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_string(),
            DeValue::Float(number) => number.as_str().to_string(),
            _ => return Err(self.wrong(expected)),
        };
        typed.parse().map_err(|_| self.wrong(expected))
    }

    pub(super) fn whole(&self, expected: &str) -> Result<u64> {
        let ratio = self.ratio(expected)?;
        if ratio.denominator() == 1 { Ok(ratio.numerator()) } else { Err(self.wrong(expected)) }
    }

    pub(super) fn number(&self) -> Result<f64> {
        let typed = match self.value {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return Err(self.wrong("a number")),
        };
        typed.replace('_', "").parse().map_err(|_| self.wrong("a number"))
    }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

pub(super) fn parse(text: &str, file: &Path) -> Result<Policy> {
    let source = Text { text, file };
    let syntax = |error: toml::de::Error| Error::PolicySyntax {
        place: source.place(error.span().map_or(0, |span| span.start)),
        message: error.message().to_string(),
    };
    let table = DeTable::parse(text).map_err(syntax)?;
    let root = Section::open(&source, "", Some(""), table.get_ref())?;
    let mut attributes = Vec::new();
    if let Some(section) = root.get("attributes") {
        for (name, entry) in section.table(None)?.entries {
            attributes.push(attribute(name, &entry)?);
        }
    }
    let (mut default_role, mut missing) = (None, Vec::new());
    if let Some(section) = root.get("defaults") {
        let section = section.table(Some("defaults"))?;
        default_role =
            section.get("role").map(|entry| entry.choice(Role::NAMES.into_iter())).transpose()?;
        missing = section.get("missing").map_or(Ok(Vec::new()), Entry::texts)?;
    }
    let privacy = root.get("privacy").map_or(Ok(Privacy::default()), privacy)?;
    let search = search(root.get("search"))?;
    Ok(Policy { file: file.to_path_buf(), attributes, default_role, missing, privacy, search })
}

fn attribute(name: &str, entry: &Entry<'_>) -> Result<Attribute> {
    let section = entry.table(Some("attributes.*"))?;
    Ok(Attribute {
        name: name.to_string(),
        role: section.get("role").map(|entry| entry.choice(Role::NAMES.into_iter())).transpose()?,
        kind: section.get("type").map(|entry| entry.choice(Type::NAMES.into_iter())).transpose()?,
        hierarchy: section.get("hierarchy").map_or(Ok(Hierarchy::None), hierarchy)?,
        missing: section.get("missing").map(Entry::texts).transpose()?,
    })
}

fn hierarchy(entry: &Entry<'_>) -> Result<Hierarchy> {
    if let DeValue::String(path) = entry.value {
        let file = entry.text.file.parent().unwrap_or(Path::new("")).join(path.as_ref());
        return Ok(Hierarchy::File(HierarchyFile::new(&file, read_records(&file)?)?));
    }
    let section = entry.table(Some("attributes.*.hierarchy"))?;
    let kinds: Vec<&str> = ["intervals", "mask", "dates"]
        .into_iter()
        .filter(|kind| section.get(kind).is_some())
        .collect();
    let expected = "a path, or a table with just one of `intervals`, `mask` and `dates`";
    let [kind] = kinds[..] else { return Err(entry.wrong(expected)) };
    let belongs = |key: &str| match key {
        "from" | "to" => kind == "intervals",
        "char" => kind == "mask",
        key => key == kind,
    };
    if let Some((_, stray)) = section.entries.iter().find(|(key, _)| !belongs(key)) {
        return Err(stray.wrong(format!("nothing: it does not go with `{kind}`")));
    }
    let given = section.required(kind)?;
    match kind {
        "intervals" => {
            let widths = given.items()?.iter().map(Entry::number).collect::<Result<Vec<f64>>>()?;
            let day =
                |entry: &Entry<'_>| entry.str().ok().and_then(|text| text.parse::<Day>().ok());
            let end = |name: &str| {
                let number = |entry: &Entry<'_>| {
                    day(entry).map_or_else(|| entry.number(), |day| Ok(f64::from(day.0)))
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
        "mask" => {
            let side = given.choice([("right", Side::Right), ("left", Side::Left)].into_iter())?;
            let character = match section.get("char") {
                None => '*',
                Some(entry) => {
                    let mut characters = entry.str()?.chars();
                    match (characters.next(), characters.next()) {
                        (Some(character), None) => character,
                        _ => return Err(entry.wrong("one character")),
                    }
                }
            };
            Ok(Hierarchy::Mask(Mask { side, character }))
        }
        _ => {
            let steps: Vec<DateLevel> = given
                .items()?
                .iter()
                .map(|item| item.choice(DateLevel::NAMES.into_iter()))
                .collect::<Result<_>>()?;
            if steps.is_empty() || steps.windows(2).any(|pair| pair[1] <= pair[0]) {
                return Err(given.wrong("steps from fine to coarse: month, quarter, year, decade"));
            }
            Ok(Hierarchy::Dates(steps))
        }
    }
}

fn privacy(entry: &Entry<'_>) -> Result<Privacy> {
    let section = entry.table(Some("privacy"))?;
    let k = match section.get("k") {
        None => None,
        Some(entry) => {
            let expected = "a whole number from 1";
            Some(
                entry
                    .whole(expected)
                    .and_then(|k| if k >= 1 { Ok(k) } else { Err(entry.wrong(expected)) })?,
            )
        }
    };
    let several = |name: &str| section.get(name).map_or(Ok(Vec::new()), Entry::one_or_more);
    Ok(Privacy {
        k,
        diversity: several("l-diversity")?.iter().map(diversity).collect::<Result<_>>()?,
        closeness: several("t-closeness")?.iter().map(closeness).collect::<Result<_>>()?,
        variance: several("variance")?.iter().map(variance).collect::<Result<_>>()?,
        thresholds: section.get("thresholds").map(thresholds).transpose()?,
        presence: section.get("presence").map(super::presence::parse).transpose()?,
        distribution: section.get("distribution").map(super::distribution::parse).transpose()?,
    })
}

fn sensitive(section: &Section<'_>) -> Result<Option<String>> {
    section.get("sensitive").map(|entry| entry.str().map(str::to_string)).transpose()
}

fn diversity(entry: &Entry<'_>) -> Result<DiversityAsked> {
    let section = entry.table(Some("privacy.l-diversity"))?;
    let kind = section.required("kind")?;
    let l = section.required("l")?;
    let names = ["frequency", "distinct", "entropy", "recursive"];
    let chosen = kind.choice(names.into_iter().map(|name| (name, name)))?;
    if let (Some(c), true) = (section.get("c"), chosen != "recursive") {
        return Err(c.wrong("nothing: `c` goes with the kind `recursive`"));
    }
    let (real, whole) = ("a number from 1", "a whole number from 1");
    let form = match chosen {
        "frequency" => Diversity::Frequency(l.ratio(real)?),
        "entropy" => Diversity::Entropy(l.ratio(real)?),
        "distinct" => Diversity::Distinct(l.whole(whole)?),
        _ => Diversity::Recursive {
            c: section.required("c")?.ratio("a number above 0")?,
            l: l.whole(whole)?,
        },
    };
    // The parameters themselves are checked where the requirement is made; here the line is known.
    match crate::privacy::LDiversity::new(0, form) {
        Some(_) => Ok(DiversityAsked { form, sensitive: sensitive(&section)? }),
        None if matches!(form, Diversity::Recursive { l: 1.., .. }) => {
            Err(section.required("c")?.wrong("a number above 0"))
        }
        None => Err(l.wrong(real)),
    }
}

fn closeness(entry: &Entry<'_>) -> Result<ClosenessAsked> {
    let expected = "a number from 0 to 1";
    let checked = |entry: &Entry<'_>| {
        let t = entry.ratio(expected)?;
        if t <= Ratio::ONE { Ok(t) } else { Err(entry.wrong(expected)) }
    };
    if !matches!(entry.value, DeValue::Table(_)) {
        return Ok(ClosenessAsked {
            t: checked(entry)?,
            distance: DistanceAsked::Fitting,
            sensitive: None,
        });
    }
    let section = entry.table(Some("privacy.t-closeness"))?;
    let distance = section
        .get("distance")
        .map(|entry| entry.choice(DistanceAsked::NAMES.into_iter()))
        .transpose()?;
    Ok(ClosenessAsked {
        t: checked(section.required("t")?)?,
        distance: distance.unwrap_or(DistanceAsked::Fitting),
        sensitive: sensitive(&section)?,
    })
}

fn variance(entry: &Entry<'_>) -> Result<VarianceAsked> {
    let expected = "a number above 0 and below 1.8e19";
    let checked = |entry: &Entry<'_>| {
        let at_least = entry.ratio(expected)?;
        if at_least > Ratio::ZERO { Ok(at_least) } else { Err(entry.wrong(expected)) }
    };
    if !matches!(entry.value, DeValue::Table(_)) {
        return Ok(VarianceAsked { at_least: checked(entry)?, sensitive: None });
    }
    let section = entry.table(Some("privacy.variance"))?;
    Ok(VarianceAsked {
        at_least: checked(section.required("at-least")?)?,
        sensitive: sensitive(&section)?,
    })
}

fn thresholds(entry: &Entry<'_>) -> Result<ThresholdsAsked> {
    let section = entry.table(None)?;
    let cap = |entry: &Entry<'_>| {
        let expected = "a fraction from 0 to 1";
        let cap = entry.ratio(expected)?;
        if cap <= Ratio::ONE { Ok(cap) } else { Err(entry.wrong(expected)) }
    };
    let mut asked = ThresholdsAsked {
        default: None,
        from_frequency: None,
        values: Vec::new(),
        fixed: Vec::new(),
        sensitive: sensitive(&section)?,
    };
    for (name, entry) in &section.entries {
        let place = |entry: &Entry<'_>| entry.text.place(entry.at);
        match (*name, entry.value) {
            ("default", _) => asked.default = Some(cap(entry)?),
            ("from-frequency", _) => asked.from_frequency = Some(cap(entry)?),
            ("sensitive", _) => {}
            ("values", DeValue::Table(_)) => {
                for (name, entry) in &entry.table(None)?.entries {
                    asked.values.push((name.to_string(), cap(entry)?, place(entry)));
                }
            }
            (value, _) => asked.values.push((value.to_string(), cap(entry)?, place(entry))),
        }
    }
    if asked.default.is_none() && asked.from_frequency.is_none() && asked.values.is_empty() {
        return Err(entry.wrong("a cap for some value, a `default` or `from-frequency`"));
    }
    Ok(asked)
}

fn search(entry: Option<&Entry<'_>>) -> Result<Search> {
    let mut search = Search {
        algorithm: Algorithm::Auto,
        loss: Loss::Lm,
        suppression: Ratio::ZERO,
        scheme: None,
        token: "*".into(),
        partitioning: Partitioning::default(),
        space: Space::default(),
        by: None,
        threshold: None,
    };
    let Some(entry) = entry else { return Ok(search) };
    let section = entry.table(Some("search"))?;
    if let Some(entry) = section.get("algorithm") {
        search.algorithm =
            entry.choice(Algorithm::NAMES.into_iter().map(|(name, value, _)| (name, value)))?;
    }
    if let Some(entry) = section.get("loss") {
        search.loss =
            entry.choice(Loss::NAMES.into_iter().map(|(name, value, _)| (name, value)))?;
    }
    if let Some(entry) = section.get("split") {
        search.partitioning.criterion = entry.choice(Criterion::NAMES.into_iter())?;
    }
    if let Some(entry) = section.get("least-gain") {
        let gain = entry.number()?;
        if gain.is_nan() || gain < 0.0 {
            return Err(entry.wrong("a number from 0"));
        }
        search.partitioning.least_gain = gain;
    }
    if let Some(entry) = section.get("regions") {
        search.partitioning.style = entry.choice(Style::NAMES.into_iter())?;
    }
    if let Some(entry) = section.get("space") {
        search.space = entry.choice(Space::NAMES.into_iter())?;
    }
    if let Some(entry) = section.get("by") {
        search.by = Some(entry.choice(ByAsked::NAMES.into_iter())?);
    }
    if let Some(entry) = section.get("threshold") {
        search.threshold = Some(entry.ratio("a number from 0")?);
    }
    if let Some(entry) = section.get("suppression") {
        let section = entry.table(Some("search.suppression"))?;
        let schemes = Suppression::NAMES.into_iter().map(|(name, scheme)| (name, Some(scheme)));
        let schemes = [("records", None)].into_iter().chain(schemes);
        search.scheme = section.get("scheme").map_or(Ok(None), |entry| entry.choice(schemes))?;
        if let Some(token) = section.get("token") {
            search.token = token.str()?.to_string();
            if search.token.is_empty() || Type::Real.number(&search.token).is_some() {
                return Err(token.wrong("a text that is neither empty nor a number"));
            }
        }
        if let Some(limit) = section.get("limit") {
            if search.scheme.is_some_and(|scheme| scheme != Suppression::None) {
                return Err(limit.wrong("nothing: it goes with the scheme `records`"));
            }
            let expected = "a share from 0 to 1";
            search.suppression = limit.ratio(expected)?;
            if search.suppression > Ratio::ONE {
                return Err(limit.wrong(expected));
            }
        }
        if search.scheme == Some(Suppression::None) {
            search.suppression = Ratio::ZERO;
        }
    }
    Ok(search)
}
