//! A first policy for a table: roles, types, notations and hierarchies are guessed, with a reason
//! beside each, to be checked by somebody who knows the data.
//!
//! One [scan] counts values and draws a sample. [roles] come from [words] in names, [shapes] of
//! values and uniqueness; the sample tells which few columns are [unique] together. Hierarchies of
//! [numbers] are intervals or quantiles, those of texts are [trees] by frequency, or [learn]ed from
//! the other columns. [text] writes the policy; columns that differ in a number share [wildcards].

mod files;
mod learn;
mod numbers;
mod plan;
mod roles;
mod scan;
mod shapes;
mod text;
mod toml;
mod trees;
mod unique;
mod wildcards;
mod words;

use crate::error::{Error, Result};
use crate::release::{Draft, publish};
use crate::source::Source;
use crate::table::{Role, Type};
use crate::watch::Watch;
use scan::Scan;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use unique::Singlings;

/// Sampled rows among which sets of columns are looked for.
const SEARCHED: usize = 4000;

/// A policy that was suggested for a table, and hierarchies that it needs.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// Where the policy will be.
    file: PathBuf,
    policy: String,
    /// Paths relative to the policy, in a folder that had none of them, and contents.
    hierarchies: Vec<(PathBuf, String)>,
    columns: Vec<SuggestedColumn>,
    singlings: Vec<(Vec<String>, usize, usize)>,
}

/// What was suggested for a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestedColumn {
    /// The name.
    pub name: String,
    /// The role.
    pub role: Role,
    /// The type; `None` if the values have no text form.
    pub kind: Option<Type>,
    /// Why it has this role.
    pub reason: String,
    /// What the owner should check, such as an ambiguous notation.
    pub doubts: Vec<String>,
}

impl Suggestion {
    /// The policy as TOML with comments. Its hierarchies are files with paths relative to it.
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// The hierarchies: paths relative to the policy, and contents. They list values of the table.
    pub fn hierarchies(&self) -> &[(PathBuf, String)] {
        &self.hierarchies
    }

    /// The columns, in the order of the table.
    pub fn columns(&self) -> &[SuggestedColumn] {
        &self.columns
    }

    /// Small sets of columns that single out many rows: the columns, the number of sampled rows
    /// that no other sampled row agrees with in all of them, and the number of sampled rows.
    pub fn singling_out(&self) -> &[(Vec<String>, usize, usize)] {
        &self.singlings
    }

    /// Everything that was suggested, for programs.
    pub fn to_json(&self) -> Value {
        let column = |column: &SuggestedColumn| {
            let role = Role::NAMES.iter().find(|(_, role)| *role == column.role);
            json!({
                "name": column.name,
                "role": role.map(|(name, _)| *name),
                "type": column.kind.map(Type::name),
                "reason": column.reason,
                "doubts": column.doubts,
            })
        };
        let singling = |(columns, alone, rows): &(Vec<String>, usize, usize)| json!({"columns": columns, "rows": alone, "of": rows});
        json!({
            "columns": self.columns.iter().map(column).collect::<Vec<_>>(),
            "singling-out": self.singlings.iter().map(singling).collect::<Vec<_>>(),
            "hierarchies": self.hierarchies.iter().map(|(file, _)| file).collect::<Vec<_>>(),
        })
    }

    /// Writes the policy and the hierarchies beside it, readable by the owner only: all of them, or
    /// none. A policy that is there already is not overwritten. Returns the files, the policy first.
    pub fn write(&self) -> Result<Vec<PathBuf>> {
        if is_there(&self.file) {
            return Err(Error::Exists { file: self.file.clone() });
        }
        let of_policy = Draft::with(&self.file, &self.policy)?;
        let beside = self.file.parent().unwrap_or(Path::new(""));
        let files: Vec<PathBuf> =
            self.hierarchies.iter().map(|(file, _)| beside.join(file)).collect();
        let folder = files.first().and_then(|file| file.parent()).filter(|folder| !folder.exists());
        if let Some(folder) = folder {
            std::fs::create_dir(folder).map_err(Error::io(folder, "write"))?;
        }
        let drafts = files.iter().zip(&self.hierarchies);
        let drafts = drafts.map(|(file, (_, text))| Draft::with(file, text));
        // The policy last: without its hierarchies it could not be read.
        let drafts = drafts.chain([Ok(of_policy)]).collect::<Result<Vec<Draft>>>();
        let written = drafts.and_then(publish);
        if let (Err(_), Some(folder)) = (&written, folder) {
            // It is removed only if it is empty, as it was.
            let _ = std::fs::remove_dir(folder);
        }
        written.map(|()| [self.file.clone()].into_iter().chain(files).collect())
    }
}

/// Whether there is anything of this name, even a link that leads nowhere.
fn is_there(file: &Path) -> bool {
    std::fs::symlink_metadata(file).is_ok()
}

/// Suggests a policy for a table, which is read once. Hierarchies of texts are learned from the
/// other columns if `learned` is true, and made from frequencies otherwise. Nothing is written yet:
/// `file` is where the policy will be, and its hierarchies get names that are free beside it.
pub fn suggest(
    source: &dyn Source,
    file: &Path,
    learned: bool,
    watch: &Watch,
) -> Result<Suggestion> {
    let scan = scan::scan(source, watch)?;
    let guesses = roles::guesses(&scan);
    let singlings = singlings(&scan, &guesses, watch)?;
    let plans = plan::plans(&scan, &guesses, learned, watch)?;
    let name = source.file();
    let name = name.file_name().map_or(source.name(), |name| name.to_string_lossy().into_owned());
    let page = text::Suggested {
        name,
        scan: &scan,
        guesses: &guesses,
        plans: &plans,
        singlings: &singlings,
    };
    let (policy, hierarchies) = page.beside(file.parent().unwrap_or(Path::new("")));
    let columns = scan.columns.iter().zip(&guesses).zip(&plans).map(|((profile, guess), plan)| {
        SuggestedColumn {
            name: profile.name.clone(),
            role: guess.role,
            kind: profile.values.is_some().then_some(plan.kind),
            reason: guess.reason.clone(),
            doubts: plan.doubts.clone(),
        }
    });
    let named = |singling: &unique::Singling| {
        let names = singling.columns.iter().map(|column| scan.columns[*column].name.clone());
        (names.collect(), singling.alone, singlings.rows)
    };
    Ok(Suggestion {
        file: file.to_path_buf(),
        policy,
        hierarchies,
        columns: columns.collect(),
        singlings: singlings.told().map(named).collect(),
    })
}

/// Looks for sets of quasi-identifiers that single out sampled rows.
fn singlings(scan: &Scan, guesses: &[roles::Guess], watch: &Watch) -> Result<Singlings> {
    let rows = scan.sampled.min(SEARCHED);
    let codes = |column: usize| {
        let values = scan.columns[column].values.as_ref()?;
        let is_searched = guesses[column].role == Role::QuasiIdentifier && values.distinct > 1;
        is_searched.then(|| (column, &values.sample[..rows]))
    };
    let columns: Vec<(usize, &[u32])> = (0..scan.columns.len()).filter_map(codes).collect();
    unique::search(&columns, rows, watch)
}
