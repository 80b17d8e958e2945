//! A release re-checked from its file alone.

use super::presence::{self, Presented, Written};
use crate::bind::Surveyed;
use crate::error::{Error, Place, Result, quoted};
use crate::policy::{Attribute, Policy};
use crate::ratio::Ratio;
use crate::release::{Draft, Part, Recount, Unknown, Verified, caps_of_report, verify as judge};
use crate::source::{Format, Source, ahead, encode};
use crate::table::{Dictionary, Role, Tallies};
use crate::watch::Watch;
use serde_json::{Value, json};
use std::path::Path;

/// How a release came out.
#[derive(Clone, Debug)]
pub struct Verification {
    /// What was counted and judged.
    pub verified: Verified,
    /// The counted columns, as judgements number them.
    pub counted: Vec<String>,
    /// What is wrong beside the requirements: an identifier that is there, a value that no
    /// hierarchy knows.
    pub problems: Vec<String>,
    /// Bytes of the file that were read, in all scans.
    pub bytes_read: u64,
}

impl Verification {
    /// Why the release may not go out; `None` if it may.
    pub fn failure(&self) -> Option<String> {
        let failing = self.verified.privacy.iter().filter(|judgement| !judgement.satisfied()).map(
            |judgement| {
                let statement = &judgement.statement;
                let about = statement.column.and_then(|column| self.counted.get(column));
                let about = about.map_or(String::new(), |name| format!(" of {}", quoted(name)));
                let reached =
                    judgement.achieved.map_or("nothing".to_string(), |figure| format!("{figure}"));
                format!(
                    "{}{about}: {} required, {reached} reached, {} of {} classes fail",
                    statement.requirement,
                    statement.required,
                    judgement.failing,
                    self.verified.classes
                )
            },
        );
        let all: Vec<String> = self.problems.iter().cloned().chain(failing).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// The result as one JSON object.
    pub fn to_json(&self) -> Value {
        let mut object = json!({
            "released": self.verified.rows,
            "classes": self.verified.classes,
            "smallest-class": self.verified.smallest,
            "average-class": self.verified.average(),
            "privacy": self.verified.privacy_json(&self.counted),
            "satisfied": self.failure().is_none(),
            "io": {"bytes-read": self.bytes_read},
        });
        if !self.problems.is_empty() {
            object["problems"] = json!(self.problems);
        }
        object
    }
}

/// Re-checks a release against a policy, in `memory` bytes of working memory (`None`: as many as it
/// takes). What is broken is in the result; an error means that the file could not be judged. Where
/// the policy derives caps from frequencies, those of the input are taken from the report beside
/// the release; without one they are the release's own.
pub fn verify(
    release: &Path,
    policy: &Policy,
    delimiter: Option<u8>,
    memory: Option<u64>,
    watch: &Watch,
) -> Result<Verification> {
    let report = || {
        std::fs::read(super::report_of(release))
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
    };
    let caps = policy.derives_caps().then(report).flatten().as_ref().and_then(caps_of_report);
    let policy = &caps.map_or_else(|| policy.clone(), |caps| policy.with_caps(&caps));
    recount(&|| super::open(release, delimiter), policy, memory, watch)
}

/// The caps that a policy derives from the frequencies of a table's sensitive values.
pub fn caps_of(
    original: &Path,
    policy: &Policy,
    delimiter: Option<u8>,
) -> Result<Vec<(String, String, Ratio)>> {
    let source = super::open(original, delimiter)?;
    let roles = policy.roles(&source.names().collect::<Vec<_>>(), source.file(), false)?;
    policy.caps_of(&encode(source, &roles)?)
}

/// Re-checks a release that has no name yet. One that may not go out, or has not the rows that were
/// written, is an error.
pub(super) fn verify_draft(
    draft: &Draft,
    format: Format,
    policy: &Policy,
    rows: u64,
    memory: u64,
    watch: &Watch,
) -> Result<Verification> {
    // Meanwhile its bytes go to the disk.
    let (verification, synced) = std::thread::scope(|scope| {
        let syncing = scope.spawn(|| draft.sync());
        let verification =
            recount(&|| Source::open(draft.path(), format), policy, Some(memory), watch);
        (verification, syncing.join())
    });
    synced.unwrap_or(Err(Error::Defect))?;
    let verification = verification?;
    let found = verification.verified.rows;
    let lost =
        (found != rows).then(|| format!("{rows} rows were written and {found} were read back"));
    match lost.or_else(|| verification.failure()) {
        Some(reason) => Err(Error::CheckFailed { file: draft.target().to_path_buf(), reason }),
        None => Ok(verification),
    }
}

/// Scans the file for all classes, or for as many parts of them as the memory demands.
fn recount(
    open: &dyn Fn() -> Result<Source>,
    policy: &Policy,
    memory: Option<u64>,
    watch: &Watch,
) -> Result<Verification> {
    super::refuse_distribution(policy)?;
    let source = open()?;
    let (file, roles) = (
        source.file().to_path_buf(),
        policy.roles(&source.names().collect::<Vec<_>>(), source.file(), true)?,
    );
    let columns: Vec<(String, Role)> = source.names().map(str::to_string).zip(roles).collect();
    let mut unopened = Some(source);
    let mut waiting = vec![Part::WHOLE];
    let mut whole: Option<Scanned> = None;
    let mut bytes_read = 0;
    while let Some(part) = waiting.pop() {
        let source = unopened.take().map_or_else(open, Ok)?;
        let meter = source.meter();
        let scanned = scan(source, &columns, policy, part, memory, watch);
        bytes_read += meter.bytes();
        match (scanned?, &mut whole) {
            (Outcome::TooMuch(halves), _) => waiting.extend(halves),
            (Outcome::Counted(scanned), None) => {
                bytes_read += scanned.bytes;
                whole = Some(scanned);
            }
            (Outcome::Counted(scanned), Some(whole)) => whole.take(scanned, &file)?,
        }
    }
    let Scanned { verified, counted, unknown, problems, .. } = whole.ok_or(Error::Defect)?;
    let named = |role: Role| {
        columns.iter().filter(move |column| column.1 == role).map(|(name, _)| name.as_str())
    };
    let identifiers = named(Role::Identifier)
        .map(|name| format!("the identifier {} is in the release", quoted(name)));
    let labels = named(Role::QuasiIdentifier).zip(unknown);
    let labels = labels.filter_map(|(name, unknown)| {
        let (line, value) = unknown?;
        let place = Place::file(&file).line(line).column(name);
        let hierarchy = policy
            .attribute(name)
            .map_or(String::new(), |attribute| attribute.hierarchy.describe());
        Some(Error::NotInHierarchy { place, value, hierarchy }.to_string())
    });
    Ok(Verification {
        verified,
        counted,
        problems: identifiers.chain(labels).chain(problems).collect(),
        bytes_read,
    })
}

/// How a scan ended.
enum Outcome {
    Counted(Scanned),
    /// The classes of the part did not fit into memory; these have half of them each.
    TooMuch([Part; 2]),
}

/// What a scan found of a part of the classes.
struct Scanned {
    verified: Verified,
    counted: Vec<String>,
    unknown: Vec<Unknown>,
    /// What is wrong with the classes together.
    problems: Vec<String>,
    /// Bytes of other files that were read.
    bytes: u64,
    /// Rows of the whole file.
    rows: u64,
}

impl Scanned {
    fn take(&mut self, other: Scanned, file: &Path) -> Result<()> {
        if self.rows != other.rows {
            return Err(Error::ChangedMeanwhile { file: file.to_path_buf() });
        }
        self.verified.take(other.verified);
        for (known, other) in self.unknown.iter_mut().zip(other.unknown) {
            // The one that stands first in the file.
            *known = known.take().into_iter().chain(other).min();
        }
        Ok(())
    }
}

/// Counts and judges a part of the classes.
fn scan(
    source: Source,
    columns: &[(String, Role)],
    policy: &Policy,
    part: Part,
    memory: Option<u64>,
    watch: &Watch,
) -> Result<Outcome> {
    let file = source.file().to_path_buf();
    let is_key = |role: Role| role == Role::QuasiIdentifier;
    let is_counted = |name: &str, role: Role| role == Role::Sensitive && policy.counts(name);
    let wanted: Vec<bool> =
        columns.iter().map(|(name, role)| is_key(*role) || is_counted(name, *role)).collect();
    let read: Vec<&(String, Role)> =
        columns.iter().zip(&wanted).filter(|column| *column.1).map(|column| column.0).collect();
    let keys = read.iter().filter(|column| is_key(column.1));
    let attributes: Vec<Option<&Attribute>> =
        keys.map(|(name, _)| policy.attribute(name)).collect();
    let is_label = |key: usize, label: &str| {
        attributes[key].is_none_or(|attribute| attribute.hierarchy.is_label(label, attribute.kind))
    };
    let mut recount =
        Recount::new(part, read.iter().map(|column| is_key(column.1)).collect(), &is_label);
    // Whatever grows holds its old place and its new one for a moment, which is three times as
    // much. Whoever belongs to no class is known only when all classes are.
    let halves = memory.filter(|_| policy.privacy().presence.is_none()).and(part.halves());
    let most = memory.map_or(u64::MAX, |memory| memory / 3);
    let too_much = ahead(source.texts(&wanted)?, |batches| {
        for batch in batches {
            let batch = batch?;
            recount.add(&batch, &file)?;
            watch.progress("verify", recount.rows(), batch.total);
            if halves.is_some() && recount.bytes() > most {
                return Ok(halves);
            }
        }
        Ok(None)
    })?;
    if let Some(halves) = too_much {
        return Ok(Outcome::TooMuch(halves));
    }
    if recount.rows() == 0 {
        return Err(Error::EmptyTable { file });
    }
    let surveyed = read.iter().filter(|column| !is_key(column.1)).zip(recount.values());
    let surveyed: Vec<Surveyed<'_>> = surveyed
        .map(|((name, _), (dictionary, rows))| Surveyed { name, dictionary, rows })
        .collect();
    let required = policy.required(&surveyed, &file)?;
    let counted = required.columns.iter().zip(&required.leaf_of);
    let tallies: Vec<Tallies> =
        counted.map(|(column, leaf_of)| recount.take_tallies(*column, leaf_of)).collect();
    let mut verified = judge(recount.classes(), &tallies, &required.requirements);
    let keys: Vec<&str> =
        read.iter().filter(|column| is_key(column.1)).map(|column| column.0.as_str()).collect();
    let labels: Vec<&Dictionary> = recount.labels().collect();
    let written = Written { keys: &keys, labels: &labels, classes: recount.classes() };
    let Presented { judgements, problems, bytes } = presence::judge(policy, &written)?;
    verified.privacy.extend(judgements);
    let unknown = recount.unknown().to_vec();
    let rows = recount.rows();
    Ok(Outcome::Counted(Scanned {
        verified,
        counted: required.names,
        unknown,
        problems,
        bytes,
        rows,
    }))
}
