//! `presence` under [privacy]: how likely a known person may be in the table, and what is known of
//! the world.

use super::entry::{Entry, Section};
use crate::error::Result;
use crate::ratio::Ratio;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A presence that is asked for.
#[derive(Clone, Debug)]
pub struct PresenceAsked {
    /// The least share of a group of the population that may be in the table.
    pub min: Ratio,
    /// The greatest share.
    pub max: Ratio,
    /// What is known of the world.
    pub world: WorldAsked,
}

/// What is known of the world that the table is a part of.
#[derive(Clone, Debug)]
pub enum WorldAsked {
    /// Everybody, those of the table among them.
    Population(PathBuf),
    /// How often each value occurs; the range is kept with a confidence.
    Marginals(MarginalsAsked),
}

/// Attribute distributions, and how sure one must be.
#[derive(Clone, Debug)]
pub struct MarginalsAsked {
    /// The file that holds them.
    pub file: PathBuf,
    /// Its lines: number, attribute, value, count.
    pub listed: Arc<[(u64, String, String, u64)]>,
    /// Whose they are.
    pub of: MarginalsOf,
    /// How sure one must be that the range is kept for a person of the table.
    pub confidence: Ratio,
    /// A column of the table with the confidence that its row needs instead.
    pub confidence_column: Option<String>,
    /// Whether every tuple that the marginals allow must be covered.
    pub cover_all: bool,
}

/// Whose values marginals count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarginalsOf {
    /// Everybody's, those of the table among them.
    Population,
    /// Everybody else's.
    Others,
}

impl PresenceAsked {
    /// The file that holds what is known of the world.
    pub fn file(&self) -> &Path {
        match &self.world {
            WorldAsked::Population(file) => file,
            WorldAsked::Marginals(asked) => &asked.file,
        }
    }

    /// The public table, if there is one.
    pub fn population(&self) -> Option<&Path> {
        match &self.world {
            WorldAsked::Population(file) => Some(file),
            WorldAsked::Marginals(_) => None,
        }
    }

    /// The attribute distributions, if there are any.
    pub fn marginals(&self) -> Option<&MarginalsAsked> {
        match &self.world {
            WorldAsked::Population(_) => None,
            WorldAsked::Marginals(asked) => Some(asked),
        }
    }
}

pub(super) fn parse(entry: &Entry<'_>) -> Result<PresenceAsked> {
    let section = entry.table(Some("privacy.presence"))?;
    let (min, max) = (share(&section, "min", Ratio::ZERO)?, share(&section, "max", Ratio::ONE)?);
    if min > max {
        return Err(section.required("min")?.wrong(format!("at most `max`, which is {max}")));
    }
    if max == Ratio::ZERO {
        return Err(section
            .required("max")?
            .wrong("a share above 0, because the table is not empty"));
    }
    Ok(PresenceAsked { min, max, world: world(entry, &section)? })
}

fn share(section: &Section<'_>, name: &str, absent: Ratio) -> Result<Ratio> {
    section.get(name).map_or(Ok(absent), |entry| entry.share("a share from 0 to 1"))
}

fn world(entry: &Entry<'_>, section: &Section<'_>) -> Result<WorldAsked> {
    let Some(marginals) = section.get("marginals") else {
        let Some(population) = section.get("population") else {
            return Err(
                entry.inapplicable("requires `population`, or `marginals` and `confidence`")
            );
        };
        let only = ["confidence", "marginals-of", "cover", "confidence-column"];
        if let Some(stray) = only.into_iter().find_map(|name| section.get(name)) {
            return Err(stray.inapplicable("requires `marginals`"));
        }
        return Ok(WorldAsked::Population(entry.origin.path(population.str()?)));
    };
    if let Some(stray) = section.get("population") {
        return Err(stray.inapplicable("cannot be used with `marginals`"));
    }
    let file = entry.origin.path(marginals.str()?);
    let of = [("population", MarginalsOf::Population), ("others", MarginalsOf::Others)];
    section.required("confidence")?;
    Ok(WorldAsked::Marginals(MarginalsAsked {
        listed: entry.origin.loaded.marginals(&file)?,
        file,
        of: section
            .get("marginals-of")
            .map_or(Ok(MarginalsOf::Population), |entry| entry.choice(of))?,
        confidence: share(section, "confidence", Ratio::ONE)?,
        confidence_column: section
            .get("confidence-column")
            .map(|entry| entry.str().map(str::to_string))
            .transpose()?,
        cover_all: section
            .get("cover")
            .map_or(Ok(false), |entry| entry.choice([("table", false), ("all", true)]))?,
    }))
}
