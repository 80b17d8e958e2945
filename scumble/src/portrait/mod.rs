//! What does a release look like, before and after?
//!
//! A [`Portrait`] is data for people: what each column holds in the original table and in the
//! release, how quasi-identifiers were recoded, how large the classes are, and what the risk is. It
//! is counted from the tables alone, with nothing that a search or a writer knows, and in bounded
//! memory: columns with very many values are told as a histogram, or only counted.
//!
//! Without the original table a portrait holds nothing that the release, its policy and its
//! published report do not tell. With it, the portrait is for the owner only.

mod checksum;
mod classes;
mod columns;
mod histogram;
mod labels;
mod text;

use crate::error::Result;
use crate::policy::{Policy, Privacy};
use crate::release::{
    DISTRIBUTION, RecodingReport, ReleaseKind, Report, Risks, Tables, Verification,
};
use crate::source::Source;
use crate::table::{Role, Type};
use crate::watch::Watch;
pub use classes::{ClassSizes, SizeBar};
use columns::{Counted, LIMIT};
pub use histogram::Bar;
use labels::Meaning;
pub use labels::{Label, Labels};
use serde::Serialize;
use std::collections::BTreeMap;
pub(crate) use text::{counted, percent, steers, thousands};

/// Risks above this count as high, unless another threshold is asked for.
const THRESHOLD: f64 = 0.2;

/// Values of a column that are listed.
const LISTED: usize = 12;

/// The column of a distribution's records with the number of their group.
const GROUP: &str = "group";

/// A value is told up to so many characters.
const TOLD: usize = 120;

/// A release, column by column, before and after; or a table that was not released.
///
/// A [job](crate::Job::portray) makes it. [`to_html`](Portrait::to_html) makes a page of it that
/// needs nothing else: no network, no script.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Portrait {
    /// The version of the program.
    pub scumble: String,
    /// Whether it holds what only the owner of the data may see.
    pub owner_only: bool,
    /// The release, or the table if nothing was released.
    pub release: TableFacts,
    /// The table that was released, if it was at hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<TableFacts>,
    /// The columns, in the order of the original table or of the release.
    pub columns: Vec<ColumnPortrait>,
    /// The sizes of classes.
    pub classes: ClassSizes,
    /// The risk of re-identification.
    pub risk: RiskChange,
    /// What was asked and reached.
    #[serde(skip)]
    pub(crate) report: Option<Report>,
    /// How a check of the release came out.
    #[serde(skip)]
    pub(crate) verification: Option<Verification>,
    /// The policy as text.
    #[serde(skip)]
    pub(crate) policy: Option<String>,
    /// The requirements of the policy.
    #[serde(skip)]
    pub(crate) asked: Option<Privacy>,
    /// Whether it is a table of which only the risk was measured.
    #[serde(skip)]
    pub(crate) is_measured: bool,
}

/// A table and the files behind it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TableFacts {
    /// Its name without a folder.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// The files behind it; none if it came from a stream or from memory.
    pub files: Vec<FileFacts>,
}

/// A file, so that it can be recognized.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FileFacts {
    /// Its name without a folder.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// The SHA-256 checksum of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// A column before and after.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ColumnPortrait {
    /// Its name.
    pub name: String,
    /// Its role in the policy, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The type of its values, if that is known.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The share of detail that it lost (LM), suppressed rows included; `None` if the release and
    /// its policy do not tell it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Its values in the original table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<ColumnValues>,
    /// Its values in the release; `None` if it was not released.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<ColumnValues>,
    /// How a quasi-identifier was recoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
}

/// The values of a column of one table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ColumnValues {
    /// Rows of the table.
    pub rows: u64,
    /// Rows without a value.
    pub missing: u64,
    /// Distinct values; a missing value is not one.
    pub distinct: u64,
    /// Whether there are more distinct values, which were not counted.
    pub more: bool,
    /// The most frequent values; none of an identifier, or if there are more than are counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frequent: Vec<ValueRows>,
    /// Rows with other values than these.
    pub others: u64,
    /// Numbers and days by range.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<Bar>,
}

/// A value and the rows that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueRows {
    /// The value; a long one is shortened.
    pub value: String,
    /// The rows.
    pub rows: u64,
}

/// Risks of re-identification before and after.
#[derive(Clone, Debug, Serialize)]
pub struct RiskChange {
    /// Of the original table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Risks>,
    /// Of the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Risks>,
}

/// What is portrayed, and how.
pub(crate) struct Sitting<'a> {
    /// The release.
    pub(crate) release: &'a Tables,
    /// The table that was released, for a portrait that only the owner may see.
    pub(crate) original: Option<&'a dyn Source>,
    /// The policy; without it roles are those that the report tells.
    pub(crate) policy: Option<&'a Policy>,
    /// The report of the release.
    pub(crate) report: Option<&'a Report>,
    /// Whether the release is a table that may have identifiers.
    pub(crate) is_measured: bool,
    /// A limit on the working memory.
    pub(crate) memory: Option<u64>,
}

impl Portrait {
    /// The portrait as one JSON object.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The same with how a check of the release came out.
    pub fn with_verification(mut self, verification: Verification) -> Portrait {
        self.verification = Some(verification);
        self
    }

    /// The same with risks that were measured otherwise, such as with a population.
    pub fn with_risks(mut self, risks: Risks) -> Portrait {
        self.risk.after = Some(risks);
        self
    }

    /// Portrays a release whose policy is not at hand. Roles are those that the report tells.
    pub fn without_policy(
        release: &Tables,
        original: Option<&dyn Source>,
        report: Option<&Report>,
        watch: &Watch,
    ) -> Result<Portrait> {
        let (policy, is_measured, memory) = (None, false, None);
        Sitting { release, original, policy, report, is_measured, memory }.portray(watch)
    }
}

/// Both sides of a column while it is portrayed.
struct Pair {
    name: String,
    role: Option<Role>,
    before: Option<Counted>,
    after: Option<Counted>,
}

impl Sitting<'_> {
    pub(crate) fn portray(&self, watch: &Watch) -> Result<Portrait> {
        let table = self.table()?;
        self.check_roles(table)?;
        let limit = self.limit(table, self.original);
        // Values are counted in the plain way and told as they are written.
        let table = &*self.plain_release(table);
        let original = self.original.map(|original| match self.policy {
            Some(policy) => policy.plain(original),
            None => Box::new(original),
        });
        let after = columns::count(table, limit, watch)?;
        let before = original.as_ref().map(|original| columns::count(&**original, limit, watch));
        let before = before.transpose()?;
        let released_rows = after.rows;
        let original_rows = before.as_ref().map(|before| before.rows);
        let rows = original_rows.or(self.report.map(|report| report.rows));
        let pairs = self.pairs(before.map(|all| all.columns), after.columns, watch)?;
        let columns = pairs.into_iter().map(|pair| self.column(pair, rows, released_rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let sizes = |table: &dyn Source| self.sizes(table, watch);
        let after = sizes(table)?;
        let before = original.as_ref().map(|original| sizes(&**original)).transpose()?.flatten();
        Ok(Portrait {
            scumble: env!("CARGO_PKG_VERSION").into(),
            owner_only: self.original.is_some(),
            release: self.facts(released_rows, watch)?,
            original: match self.original.zip(original_rows) {
                Some((original, rows)) => Some(checksum::facts(original, rows, watch)?),
                None => None,
            },
            columns,
            risk: RiskChange {
                before: before.as_ref().map(|sizes| Risks::of_sizes(sizes, THRESHOLD)),
                after: after.as_ref().map(|sizes| Risks::of_sizes(sizes, THRESHOLD)),
            },
            classes: ClassSizes::new(before.as_ref(), after.as_ref()),
            report: self.report.map(|report| match self.original {
                Some(_) => report.clone(),
                None => report.published(),
            }),
            verification: None,
            policy: self.policy.and_then(Policy::to_toml),
            asked: self.policy.map(|policy| policy.privacy().clone()),
            is_measured: self.is_measured,
        })
    }

    /// The table of the release, or that of its records.
    fn table(&self) -> Result<&dyn Source> {
        self.release.only().map_or_else(|| self.release.get(DISTRIBUTION[0]), Ok)
    }

    fn plain_release<'b>(&self, table: &'b dyn Source) -> Box<dyn Source + 'b> {
        self.policy.map_or_else(|| Box::new(table) as _, |policy| policy.plain_release(table))
    }

    /// The release with all its files.
    fn facts(&self, rows: u64, watch: &Watch) -> Result<TableFacts> {
        let mut facts =
            TableFacts { name: checksum::last(self.release.name()), rows, files: Vec::new() };
        for table in self.release.sources() {
            facts.files.extend(checksum::facts(table, 0, watch)?.files);
        }
        Ok(facts)
    }

    /// How many distinct values of a column are counted.
    fn limit(&self, table: &dyn Source, original: Option<&dyn Source>) -> usize {
        let columns = table.schema().fields().len()
            + original.map_or(0, |original| original.schema().fields().len());
        // A value takes about a hundred bytes, and half of the memory is for other things.
        let fits = self.memory.map(|memory| memory / 200 / columns.max(1) as u64);
        fits.map_or(LIMIT, |fits| (fits as usize).clamp(1000, LIMIT))
    }

    /// Refuses a policy that is about another table.
    fn check_roles(&self, table: &dyn Source) -> Result<()> {
        let Some(policy) = self.policy else { return Ok(()) };
        let mut names = table.names();
        if let Some(asked) = policy.privacy().distribution.as_ref().filter(|_| self.is_folder()) {
            names.retain(|name| name != GROUP);
            names.push(asked.attribute.clone());
        }
        let check = |names: &[String], table: &dyn Source, is_release: bool| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            policy.roles(&names, &table.file(), is_release)
        };
        check(&names, table, true)?;
        self.original
            .map_or(Ok(()), |original| check(&original.names(), original, false).map(|_| ()))
    }

    /// Whether it is a release of several tables.
    fn is_folder(&self) -> bool {
        self.release.only().is_none()
    }

    /// The role of each column of a table, as far as it is known.
    fn roles(&self, table: &dyn Source) -> Vec<Option<Role>> {
        let names = table.names();
        names.iter().map(|name| self.role(name)).collect()
    }

    fn role(&self, name: &str) -> Option<Role> {
        match self.policy {
            Some(policy) => policy
                .attribute(name)
                .and_then(|attribute| attribute.role)
                .or(policy.default_role()),
            None => self.report.and_then(|report| role_told(report, name)),
        }
    }

    /// The columns of both tables, in the order of the original.
    fn pairs(
        &self,
        before: Option<Vec<(String, Counted)>>,
        after: Vec<(String, Counted)>,
        watch: &Watch,
    ) -> Result<Vec<Pair>> {
        let mut after: Vec<(String, Option<Counted>)> =
            after.into_iter().map(|(name, counted)| (name, Some(counted))).collect();
        // The values of a distribution are in a table of their own, the number of a group is not
        // an attribute.
        if self.is_folder() {
            after.retain(|(name, _)| name != GROUP);
            let values = self.release.get(DISTRIBUTION[1])?;
            let attribute = self.policy.and_then(|policy| policy.privacy().distribution.as_ref());
            let attribute = attribute.map(|asked| asked.attribute.clone()).or_else(|| match &self
                .report?
                .release
            {
                ReleaseKind::Distribution { distribution } => Some(distribution.attribute.clone()),
                ReleaseKind::Table { .. } => None,
            });
            let counted = columns::count(values, LIMIT, watch)?.columns;
            let counted = counted.into_iter().find(|(name, _)| name == "value");
            if let Some((name, (_, counted))) = attribute.zip(counted) {
                after.push((name, Some(counted)));
            }
        }
        let mut pairs = Vec::new();
        for (name, before) in before.into_iter().flatten() {
            let found = after.iter_mut().find(|(known, _)| *known == name);
            let after = found.and_then(|(_, counted)| counted.take());
            pairs.push(Pair { role: self.role(&name), name, before: Some(before), after });
        }
        for (name, after) in after {
            if after.is_some() {
                pairs.push(Pair { role: self.role(&name), name, before: None, after });
            }
        }
        Ok(pairs)
    }

    fn column(&self, pair: Pair, rows: Option<u64>, released: u64) -> Result<ColumnPortrait> {
        let Pair { name, role, before, after } = pair;
        let missing = self.policy.map_or(&[][..], |policy| policy.missing_of(&name));
        let declared = self.policy.and_then(|policy| policy.attribute(&name)?.kind);
        let is_key = role == Some(Role::QuasiIdentifier);
        let kind = declared.or_else(|| {
            let of_values = before.as_ref().or(after.as_ref().filter(|_| !is_key))?;
            Some(of_values.kind(missing))
        });
        let mut labels = None;
        if let Some(after) = after.as_ref().filter(|_| is_key && !self.is_measured) {
            let original = self.original.map(|original| original.file()).unwrap_or_default();
            let meaning = match self.policy {
                Some(policy) => Meaning::new(policy, &name, before.as_ref(), after, &original)?,
                None => Meaning::unknown(),
            };
            let suppressed = rows.map_or(0, |rows| rows.saturating_sub(released));
            labels = Some(labels::portray(&meaning, after, suppressed));
        }
        let (mut labels, loss) = labels.unzip();
        let notation = self.policy.and_then(|policy| policy.notation(&name));
        let spell = |text: &mut String| {
            if let Some(notation) = notation {
                *text = notation.spelled_label(text);
            }
        };
        labels.iter_mut().flat_map(|one| &mut one.listed).for_each(|one| spell(&mut one.label));
        let is_named = role == Some(Role::Identifier);
        let values = |counted: Counted, kind: Option<Type>| {
            let mut values = counted.values(missing, kind, is_named);
            values.frequent.iter_mut().for_each(|one| spell(&mut one.value));
            values
        };
        Ok(ColumnPortrait {
            name,
            role: role.map(|role| role.name().to_string()),
            kind: kind.map(|kind| kind.name().to_string()),
            loss: loss.flatten(),
            before: before.map(|counted| values(counted, kind)),
            // The labels of a release are no numbers.
            after: after.map(|counted| {
                let kind = if is_key && !self.is_measured { Some(Type::Text) } else { kind };
                values(counted, kind)
            }),
            labels,
        })
    }

    /// The number of classes of each size; `None` if the quasi-identifiers are not known.
    fn sizes(&self, table: &dyn Source, watch: &Watch) -> Result<Option<BTreeMap<u64, u64>>> {
        let keys: Vec<bool> =
            self.roles(table).iter().map(|role| *role == Some(Role::QuasiIdentifier)).collect();
        if !keys.contains(&true) || !self.knows_keys() {
            return Ok(None);
        }
        classes::sizes(table, &keys, self.memory, watch).map(Some)
    }

    /// Whether all quasi-identifiers are known.
    fn knows_keys(&self) -> bool {
        self.policy.is_some()
            || self.report.is_some_and(|report| {
                matches!(
                    &report.release,
                    ReleaseKind::Table {
                        recoding: RecodingReport::FullDomain { .. } | RecodingReport::Cuts { .. },
                        ..
                    }
                )
            })
    }
}

/// The role of a column, as far as a report tells it.
fn role_told(report: &Report, name: &str) -> Option<Role> {
    let is_key = match &report.release {
        ReleaseKind::Table { recoding: RecodingReport::FullDomain { levels }, .. } => {
            levels.iter().any(|(key, _)| key == name)
        }
        ReleaseKind::Table { recoding: RecodingReport::Cuts { cuts }, .. } => {
            cuts.iter().any(|(key, _)| key == name)
        }
        _ => false,
    };
    let judged = report.privacy.iter().filter_map(|judged| judged.sensitive.as_deref());
    let mut sensitive = judged.chain(report.same_value.iter().map(|same| same.sensitive.as_str()));
    match is_key {
        true => Some(Role::QuasiIdentifier),
        false => sensitive.any(|known| known == name).then_some(Role::Sensitive),
    }
}

/// A value as it is told: a long one is shortened.
fn told(value: &str) -> String {
    match value.char_indices().nth(TOLD) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_string(),
    }
}
