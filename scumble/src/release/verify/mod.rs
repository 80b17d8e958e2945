//! Does a release keep what the policy asks, by what is written in it?
//!
//! The rows are [counted afresh](Recount) and every class is [judged](judge) by every requirement.
//! Nothing of a search or of a writer is used here, whatever the sink was.

mod needs;
mod presence;

use super::judge::verify as judge;
use super::recount::{ReadAs, Recount, ShareOfClasses, Unknown};
use super::report::ClassCounts;
use super::{Judgement, Tables, Verified};
use crate::bind::Surveyed;
use crate::error::{Error, Judged, Place, Result, quoted};
use crate::policy::{Attribute, Policy};
use crate::source::{Source, ahead};
use crate::table::{Dictionary, Role, Tallies};
use crate::watch::Watch;
pub(crate) use needs::RowNeeds;
use presence::{Presented, Written};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How a release came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Verification {
    /// Rows of the release.
    pub released: u64,
    /// Its classes, and the groups of a distribution release.
    #[serde(flatten)]
    pub classes: ClassCounts,
    /// A judgement for each requirement.
    pub privacy: Vec<Judged>,
    /// Sensitive attributes that no requirement protects, with the classes in which everybody has
    /// the same value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same_value: Vec<SameValue>,
    /// What is known of a distribution release besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<DistributionChecked>,
    /// Whether every requirement holds and nothing else is wrong.
    pub satisfied: bool,
    /// What was read.
    pub io: Read,
    /// What is wrong besides the requirements, such as an identifier in the release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// What is worth knowing though nothing is wrong, such as a capped value that no row has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What errors call the release.
    #[serde(skip)]
    pub(crate) file: PathBuf,
}

/// Classes in which everybody has the same value of a sensitive attribute. Who knows that somebody
/// is in such a class knows the value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SameValue {
    /// The attribute.
    pub sensitive: String,
    /// The classes.
    pub classes: u64,
    /// The rows of these classes.
    pub rows: u64,
}

/// What a verification read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Read {
    /// Bytes that were read, in all scans.
    pub bytes_read: u64,
}

/// What a verification found out about a distribution release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DistributionChecked {
    /// Groups.
    pub groups: u64,
    /// Subdomains that no record needs.
    pub fakes: u64,
    /// The ranges of all subdomains, summed.
    pub sum_of_ranges: f64,
    /// The share of that in the sum if every subdomain were the whole domain.
    pub share_of_trivial: f64,
    /// Whether the release was compared with the table that it came from.
    pub compared_with_original: bool,
    /// Whether every target could be checked; some depend on the original table.
    pub target_checked: bool,
}

impl Verification {
    /// Whether the release meets the policy; an error says why not.
    pub fn check(&self) -> Result<()> {
        self.check_if(true)
    }

    /// The same for a release that is not published unless it does.
    pub(crate) fn check_draft(&self) -> Result<()> {
        self.check_if(false)
    }

    fn check_if(&self, exists: bool) -> Result<()> {
        if self.satisfied {
            return Ok(());
        }
        let failing = self.privacy.iter().filter(|judged| !judged.satisfied).cloned().collect();
        let (classes, problems) = (self.classes.classes, self.problems.clone());
        Err(Error::CheckFailed { file: self.file.clone(), classes, failing, problems, exists })
    }

    /// A release that contradicts itself.
    pub(crate) fn failed(file: PathBuf, problems: Vec<String>) -> Verification {
        Verification {
            released: 0,
            classes: ClassCounts::default(),
            privacy: Vec::new(),
            same_value: Vec::new(),
            distribution: Some(DistributionChecked::default()),
            satisfied: false,
            io: Read::default(),
            problems,
            notes: Vec::new(),
            file,
        }
    }

    /// The same with something wrong besides the requirements.
    pub(crate) fn with_problem(mut self, problem: String) -> Verification {
        self.problems.push(problem);
        self.satisfied = false;
        self
    }

    /// Notes that something is wrong beside the requirements, as a comparison with the original
    /// table showed.
    pub(crate) fn fail(&mut self, problem: String) {
        self.problems.push(problem);
        self.satisfied = false;
        if let Some(distribution) = &mut self.distribution {
            distribution.compared_with_original = true;
        }
    }

    /// The result as one JSON object.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// A table that was counted and judged.
pub(crate) struct Checked {
    pub(crate) verified: Verified,
    /// The counted columns, as judgements number them.
    pub(crate) counted: Vec<String>,
    pub(crate) same_value: Vec<SameValue>,
    /// What is wrong besides the requirements.
    pub(crate) problems: Vec<String>,
    /// What is worth knowing though nothing is wrong.
    pub(crate) notes: Vec<String>,
    /// Bytes of other files that were read, such as a population.
    pub(crate) bytes: u64,
    pub(crate) file: PathBuf,
}

impl Checked {
    /// The same with a judgement that is exact, because more than the release is known. Of the two
    /// the stricter one counts.
    pub(crate) fn with_exact(mut self, exact: Option<Judgement>) -> Result<Checked> {
        let Some(exact) = exact else { return Ok(self) };
        let all = &mut self.verified.privacy;
        let judged = all.iter_mut().find(|one| one.statement == exact.statement);
        let judged = judged.ok_or(Error::Defect)?;
        *judged = Judgement { failing: judged.failing.max(exact.failing), ..exact };
        Ok(self)
    }

    /// The result for people and scripts.
    pub(crate) fn into_verification(self, release: &Tables) -> Verification {
        let Checked { verified, counted, same_value, problems, notes, bytes, file } = self;
        let privacy = verified.judged(&counted);
        let satisfied = problems.is_empty() && privacy.iter().all(|judged| judged.satisfied);
        Verification {
            released: verified.rows,
            classes: ClassCounts {
                classes: verified.classes,
                smallest_class: verified.smallest,
                average_class: verified.average(),
                groups: None,
                smallest_group: None,
            },
            privacy,
            same_value,
            distribution: None,
            satisfied,
            io: Read { bytes_read: release.bytes_read() + bytes },
            problems,
            notes,
            file,
        }
    }
}

/// Counts and judges a table in at most `memory` bytes of working memory (`None`: no limit).
/// Scans it for all classes, or for as many parts of them as the memory demands. `needs` has the
/// confidences of the original rows, where they have some of their own and are known.
pub(crate) fn check_table(
    table: &dyn Source,
    policy: &Policy,
    needs: Option<&RowNeeds>,
    memory: Option<u64>,
    watch: &Watch,
) -> Result<Checked> {
    let table = &*policy.plain_release(table);
    let (file, names) = (table.file(), table.names());
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let roles = policy.roles(&names, &file, true)?;
    let columns: Vec<(&str, Role)> = names.into_iter().zip(roles).collect();
    let mut waiting = vec![ShareOfClasses::WHOLE];
    let mut whole: Option<Scanned> = None;
    let mut bytes = 0;
    while let Some(part) = waiting.pop() {
        let check = Check { table, columns: &columns, policy, needs, memory, watch };
        match (check.scan(part)?, &mut whole) {
            (Outcome::TooMuch(halves), _) => waiting.extend(halves),
            (Outcome::Counted(scanned), None) => {
                bytes += scanned.bytes;
                whole = Some(scanned);
            }
            (Outcome::Counted(scanned), Some(whole)) => whole.take(scanned, &file)?,
        }
    }
    let Scanned { verified, counted, mut same_value, unknown, problems, notes, .. } =
        whole.ok_or(Error::Defect)?;
    same_value.retain(|same| same.classes > 0);
    let named =
        |role: Role| columns.iter().filter(move |column| column.1 == role).map(|column| column.0);
    let identifiers = named(Role::Identifier)
        .map(|name| format!("the release contains the identifier {}", quoted(name)));
    let labels = named(Role::QuasiIdentifier).zip(unknown);
    let labels = labels.filter_map(|(name, unknown)| {
        let (line, value) = unknown?;
        let place = Place::file(&file).line(line).column(name);
        let attribute = policy.attribute(name);
        let hierarchy = attribute.map_or(String::new(), |known| known.hierarchy.describe());
        let remedy = "";
        Some(match policy.as_written(Error::NotInHierarchy { place, value, hierarchy, remedy }) {
            Error::NotInHierarchy { place, value, hierarchy, .. } => {
                format!("{place}: {} cannot be a label of {hierarchy}", quoted(&value))
            }
            other => other.to_string(),
        })
    });
    let problems = identifiers.chain(labels).chain(problems).collect();
    Ok(Checked { verified, counted, same_value, problems, notes, bytes, file })
}

/// How a scan ended.
enum Outcome {
    Counted(Scanned),
    /// The classes of the part did not fit in memory; these have half of them each.
    TooMuch([ShareOfClasses; 2]),
}

/// What a scan found of a part of the classes.
struct Scanned {
    verified: Verified,
    counted: Vec<String>,
    same_value: Vec<SameValue>,
    unknown: Vec<Unknown>,
    /// What is wrong with the classes together.
    problems: Vec<String>,
    /// What is worth knowing of the whole table.
    notes: Vec<String>,
    /// Bytes of other files that were read.
    bytes: u64,
    /// Rows of the whole table.
    rows: u64,
}

impl Scanned {
    fn take(&mut self, other: Scanned, file: &Path) -> Result<()> {
        if self.rows != other.rows {
            return Err(Error::ChangedMeanwhile { file: file.to_path_buf() });
        }
        self.verified.take(other.verified);
        for (same, other) in self.same_value.iter_mut().zip(other.same_value) {
            same.classes += other.classes;
            same.rows += other.rows;
        }
        for (known, other) in self.unknown.iter_mut().zip(other.unknown) {
            // The one that comes first in the table.
            *known = known.take().into_iter().chain(other).min();
        }
        Ok(())
    }
}

/// What a scan needs to know.
struct Check<'a> {
    table: &'a dyn Source,
    columns: &'a [(&'a str, Role)],
    policy: &'a Policy,
    needs: Option<&'a RowNeeds>,
    memory: Option<u64>,
    watch: &'a Watch,
}

impl Check<'_> {
    /// Counts and judges a part of the classes.
    fn scan(&self, part: ShareOfClasses) -> Result<Outcome> {
        let Check { table, columns, policy, needs, memory, watch } = *self;
        let file = table.file();
        let read_as = |(name, role): &(&str, Role)| match role {
            Role::QuasiIdentifier => Some(ReadAs::Labels),
            Role::Sensitive if policy.counts(name) => Some(ReadAs::Counted),
            Role::Sensitive => Some(ReadAs::Compared),
            _ => None,
        };
        let wanted: Vec<bool> = columns.iter().map(|one| read_as(one).is_some()).collect();
        let named = |wanted: ReadAs| {
            columns.iter().filter(move |one| read_as(one) == Some(wanted)).map(|one| one.0)
        };
        let keys: Vec<&str> = named(ReadAs::Labels).collect();
        let attributes: Vec<Option<&Attribute>> =
            keys.iter().map(|name| policy.attribute(name)).collect();
        let is_label = |key: usize, label: &str| {
            attributes[key]
                .is_none_or(|attribute| attribute.hierarchy.is_label(label, attribute.kind))
        };
        let all_read = columns.iter().filter_map(read_as).collect();
        let mut recount = Recount::new(part, all_read, &is_label);
        // Who belongs to no class is known only when all classes are.
        let may_be_parted = memory.is_some() && policy.privacy().presence.is_none();
        let halves = if may_be_parted { part.halves() } else { None };
        // Whatever grows holds its old place and its new one for a moment: three times as much.
        let most = memory.map_or(u64::MAX, |memory| memory / 3);
        let too_much = ahead(table.texts(&wanted)?, watch, |batches| {
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
        let surveyed: Vec<Surveyed<'_>> = named(ReadAs::Counted)
            .zip(recount.values())
            .map(|(name, (dictionary, rows))| Surveyed { name, dictionary, rows })
            .collect();
        let required = policy.required(&surveyed, &file)?;
        let notes = policy.absent_values(&surveyed);
        let counted = required.columns.iter().zip(&required.leaf_of);
        let tallies: Vec<Tallies> = counted
            .map(|(column, leaf_of)| recount.take_tallies(*column, leaf_of, watch))
            .collect::<Result<_>>()?;
        let mut verified = judge(recount.classes(), &tallies, &required.requirements, watch)?;
        let labels: Vec<&Dictionary> = recount.labels().collect();
        let written = Written { keys: &keys, labels: &labels, classes: recount.classes() };
        let presented = presence::judge(policy, &written, needs, watch)?;
        let Presented { judgements, problems, bytes } = presented;
        verified.privacy.extend(judgements);
        let (unknown, rows) = (recount.unknown().to_vec(), recount.rows());
        let counted = required.names;
        let same = named(ReadAs::Compared).zip(recount.uniform());
        let same =
            same.map(|(name, (classes, rows))| SameValue { sensitive: name.into(), classes, rows });
        let same_value = same.collect();
        let scanned =
            Scanned { verified, counted, same_value, unknown, problems, notes, bytes, rows };
        Ok(Outcome::Counted(scanned))
    }
}
