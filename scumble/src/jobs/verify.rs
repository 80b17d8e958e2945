//! A release re-checked from its file alone.

use crate::error::{Error, Place, Result, quoted};
use crate::policy::Policy;
use crate::release::{Verified, verify as judge};
use crate::source::{Format, Source, encode};
use crate::table::{Role, Table};
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
    /// What is wrong beside the requirements: an identifier that is there, a value that no hierarchy knows.
    pub problems: Vec<String>,
}

impl Verification {
    /// Why the release may not go out; `None` if it may.
    pub fn failure(&self) -> Option<String> {
        let failing = self.verified.privacy.iter().filter(|judgement| !judgement.satisfied()).map(|judgement| {
            let statement = &judgement.statement;
            let about = statement.column.and_then(|column| self.counted.get(column));
            let about = about.map_or(String::new(), |name| format!(" of {}", quoted(name)));
            let reached = judgement.achieved.map_or("nothing".to_string(), |figure| format!("{figure}"));
            format!(
                "{}{about}: {} required, {reached} reached, {} of {} classes fail",
                statement.requirement, statement.required, judgement.failing, self.verified.classes
            )
        });
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
        });
        if !self.problems.is_empty() {
            object["problems"] = json!(self.problems);
        }
        object
    }
}

/// Re-checks a release against a policy. What is broken is in the result; an error means that the file could not be
/// judged.
pub fn verify(release: &Path, policy: &Policy, delimiter: Option<u8>) -> Result<Verification> {
    verify_source(super::open(release, delimiter)?, policy)
}

/// The same for a file whose name does not tell its format.
pub(super) fn verify_file(file: &Path, format: Format, policy: &Policy, watch: &Watch) -> Result<Verification> {
    verify_source(Source::open(file, format)?.watched(watch, "verify"), policy)
}

fn verify_source(source: Source, policy: &Policy) -> Result<Verification> {
    let roles = policy.roles(&source, true)?;
    let identifiers = source.names().zip(&roles).filter(|(_, role)| **role == Role::Identifier);
    let mut problems: Vec<String> =
        identifiers.map(|(name, _)| format!("the identifier {} is in the release", quoted(name))).collect();
    let table = encode(source, &roles)?;
    problems.extend(unknown_labels(policy, &table));
    let counted = policy.counted(&table)?;
    let tallies = counted.tallies(table.cells.len(), &table.row_cells);
    let verified = judge(&table.cells, &tallies, &counted.required.requirements);
    Ok(Verification { verified, counted: counted.required.names, problems })
}

/// Values of quasi-identifiers that no node of their hierarchy is called, one for each column.
fn unknown_labels(policy: &Policy, table: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for column in table.with_role(Role::QuasiIdentifier) {
        let (Some(attribute), Some(dictionary)) = (policy.attribute(&column.name), column.dictionary()) else {
            continue;
        };
        let hierarchy = &attribute.hierarchy;
        let unknown = (0..dictionary.len() as u32).find(|code| {
            let value = dictionary.value(*code);
            !value.is_empty() && !hierarchy.is_label(value, attribute.kind)
        });
        if let Some(code) = unknown {
            let line = Some(dictionary.line(code));
            let error = Error::NotInHierarchy {
                place: Place { file: table.file.clone(), line, column: Some(column.name.clone()) },
                value: dictionary.value(code).to_string(),
                hierarchy: hierarchy.describe(),
            };
            found.push(error.to_string());
        }
    }
    found
}
