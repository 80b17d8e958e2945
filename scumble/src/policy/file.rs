//! From a document to a policy: every key is known, every value is checked, and errors name the
//! place.

use super::document::{Setting, Value};
use super::entry::{Entry, Origin, Section};
use super::loaded::Loaded;
use super::{
    Attribute, ClosenessAsked, DistanceAsked, DiversityAsked, Policy, Privacy, ThresholdsAsked,
    VarianceAsked, notation, search,
};
use crate::error::Result;
use crate::loss::Weights;
use crate::privacy::{Diversity, LDiversity};
use crate::ratio::Ratio;
use crate::table::{Role, Type};
use crate::taxonomy::Hierarchy;
use std::path::Path;

/// Checks a document; `file` is what errors call it and what its paths are relative to.
pub(super) fn read(document: Setting, file: &Path, loaded: &Loaded) -> Result<Policy> {
    let origin = Origin { file, loaded };
    let root = Entry::root(&origin, &document).table(Some(""))?;
    let mut attributes = Vec::new();
    if let Some(section) = root.get("attributes") {
        for (name, entry) in section.table(None)?.entries {
            attributes.push(attribute(name, &entry)?);
        }
    }
    let (mut default_role, mut missing) = (None, Vec::new());
    if let Some(section) = root.get("defaults") {
        let section = section.table(Some("defaults"))?;
        default_role = section.choice("role", Role::NAMES)?;
        missing = section.get("missing").map_or(Ok(Vec::new()), Entry::texts)?;
    }
    check_generalized(&root, &attributes, default_role)?;
    let privacy = match root.get("privacy") {
        None => Privacy::default(),
        Some(entry) => privacy(entry, &attributes)?,
    };
    let search = search::read(root.get("search"), &privacy)?;
    let file = file.to_path_buf();
    let mut policy = Policy { file, attributes, default_role, missing, privacy, search, document };
    policy.read_values();
    Ok(policy)
}

fn attribute(name: &str, entry: &Entry<'_>) -> Result<Attribute> {
    let section = entry.table(Some("attributes.*"))?;
    let mut kind = section.choice("type", Type::NAMES)?;
    let notation = notation::read(&section)?;
    let mut hierarchy = match section.get("hierarchy") {
        None => Hierarchy::None,
        Some(entry) => super::hierarchy::read(entry, notation.as_ref())?,
    };
    if section.boolean("sets")? {
        let sets = section.required("sets")?;
        if section.get("hierarchy").is_some() {
            return Err(sets.inapplicable("requires a column without a hierarchy; remove one"));
        }
        if kind.is_some_and(|kind| kind != Type::Text) {
            return Err(sets.inapplicable("requires the type text"));
        }
        hierarchy = Hierarchy::Sets;
    }
    if let Some(notation) = &notation {
        kind = notation::check(&section, notation, kind, &hierarchy)?;
        hierarchy = hierarchy.in_plain(|label| notation.plain_label(label))?;
    }
    check_times(&section, kind, &hierarchy)?;
    Ok(Attribute {
        name: name.to_string(),
        role: section.choice("role", Role::NAMES)?,
        kind,
        notation,
        hierarchy,
        missing: section.get("missing").map(Entry::texts).transpose()?,
        weight: section.get("weight").map(weight).transpose()?,
    })
}

/// Refuses hierarchies that do not belong to declared dates or timestamps.
fn check_times(section: &Section<'_>, kind: Option<Type>, hierarchy: &Hierarchy) -> Result<()> {
    let problem = match (kind, hierarchy) {
        (Some(Type::Timestamp), Hierarchy::Intervals(_)) => {
            "cannot have intervals, because the column has timestamps; use `dates`"
        }
        (Some(kind @ Type::Date), Hierarchy::Dates(steps))
            if steps.iter().any(|step| !step.is_of(kind)) =>
        {
            "cannot have the steps `hour` and `day`, because the column has dates without times"
        }
        _ => return Ok(()),
    };
    Err(section.required("hierarchy")?.inapplicable(problem))
}

fn weight(entry: &Entry<'_>) -> Result<Ratio> {
    let expected = "a number above 0 and below 1.8e19";
    let weight = entry.ratio(expected)?;
    if weight > Ratio::ZERO { Ok(weight) } else { Err(entry.wrong(expected)) }
}

/// Refuses sets and weights in columns that are never generalized, and weights that have no common
/// denominator of a reasonable size, together with the default.
fn check_generalized(
    root: &Section<'_>,
    attributes: &[Attribute],
    default_role: Option<Role>,
) -> Result<()> {
    let Some(section) = root.get("attributes") else { return Ok(()) };
    let section = section.table(None)?;
    let mut weights = vec![None];
    for attribute in attributes {
        let given = [("sets", attribute.has_sets()), ("weight", attribute.weight.is_some())];
        for (key, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
            let entry = section.required(&attribute.name)?.table(Some("attributes.*"))?;
            let entry = entry.required(key)?;
            if attribute.role.or(default_role) != Some(Role::QuasiIdentifier) {
                return Err(entry.inapplicable("requires the role quasi-identifier"));
            }
            if key == "sets" {
                continue;
            }
            weights.push(attribute.weight);
            if Weights::new(&weights).is_none() {
                return Err(
                    entry.wrong("weights whose common denominator is smaller; use shorter numbers")
                );
            }
        }
    }
    Ok(())
}

fn privacy(entry: &Entry<'_>, attributes: &[Attribute]) -> Result<Privacy> {
    let section = entry.table(Some("privacy"))?;
    let several = |name: &str| section.get(name).map_or(Ok(Vec::new()), Entry::one_or_more);
    Ok(Privacy {
        k: section.whole("k", 1..=u64::MAX)?,
        diversity: several("l-diversity")?.iter().map(diversity).collect::<Result<_>>()?,
        closeness: several("t-closeness")?.iter().map(closeness).collect::<Result<_>>()?,
        variance: several("variance")?.iter().map(variance).collect::<Result<_>>()?,
        thresholds: section.get("thresholds").map(thresholds).transpose()?,
        presence: section.get("presence").map(super::presence::parse).transpose()?,
        distribution: section
            .get("distribution")
            .map(|entry| super::distribution::parse(entry, attributes))
            .transpose()?,
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
    let chosen = kind.choice(names.map(|name| (name, name)))?;
    if let (Some(c), true) = (section.get("c"), chosen != "recursive") {
        return Err(c.inapplicable("requires the kind `recursive`"));
    }
    let (real, whole) = ("a number of at least 1", "a whole number of at least 1");
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
    match LDiversity::new(0, form) {
        Some(_) => Ok(DiversityAsked { form, sensitive: sensitive(&section)? }),
        None if matches!(form, Diversity::Recursive { l: 1.., .. }) => {
            Err(section.required("c")?.wrong("a number above 0"))
        }
        None => Err(l.wrong(real)),
    }
}

fn closeness(entry: &Entry<'_>) -> Result<ClosenessAsked> {
    let expected = "a number from 0 to 1";
    if !entry.is_table() {
        return Ok(ClosenessAsked {
            t: entry.share(expected)?,
            distance: DistanceAsked::Fitting,
            sensitive: None,
        });
    }
    let section = entry.table(Some("privacy.t-closeness"))?;
    let distance = section.choice("distance", DistanceAsked::NAMES)?;
    Ok(ClosenessAsked {
        t: section.required("t")?.share(expected)?,
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
    if !entry.is_table() {
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
    let cap = |entry: &Entry<'_>| entry.share("a fraction from 0 to 1");
    let mut asked = ThresholdsAsked {
        default: None,
        from_frequency: None,
        values: Vec::new(),
        known: Vec::new(),
        fixed: Vec::new(),
        sensitive: sensitive(&section)?,
    };
    for (name, entry) in &section.entries {
        let place = |entry: &Entry<'_>| entry.origin.place(entry.line());
        match (*name, entry.value()) {
            ("default", _) => asked.default = Some(cap(entry)?),
            ("from-frequency", _) => asked.from_frequency = Some(cap(entry)?),
            ("sensitive", _) => {}
            ("values-known", _) => asked.known = entry.texts()?,
            ("values", Value::Table(_)) => {
                for (name, entry) in &entry.table(None)?.entries {
                    asked.values.push((name.to_string(), cap(entry)?, place(entry)));
                }
            }
            (value, _) => asked.values.push((value.to_string(), cap(entry)?, place(entry))),
        }
    }
    if asked.default.is_none() && asked.from_frequency.is_none() && asked.values.is_empty() {
        return Err(entry.wrong("a cap for a value, `default` or `from-frequency`"));
    }
    Ok(asked)
}
