//! Which columns can share a section? Those whose names differ only in a number at the end, such as
//! `lab_1` to `lab_120`, and of which the same is said.

use super::plan::{Plan, Planned};
use super::roles::Guess;
use super::scan::{Profile, Scan};
use crate::table::Role;
use std::collections::{BTreeMap, HashSet};

/// The number of columns from which on they share a section.
const LEAST: usize = 20;

/// A section for several columns.
pub(super) struct Wildcard {
    /// Its name.
    pub(super) pattern: String,
    /// Its columns, in the order of the table.
    pub(super) columns: Vec<usize>,
}

/// The sections that several columns share, at most one for each pattern. Other columns have
/// sections of their own, which come first.
pub(super) fn wildcards(scan: &Scan, guesses: &[Guess], plans: &[Planned]) -> Vec<Wildcard> {
    let mut groups: BTreeMap<(&str, String), Vec<usize>> = BTreeMap::new();
    for (column, profile) in scan.columns.iter().enumerate() {
        if let Some(said) = said(profile, &guesses[column], &plans[column]) {
            let prefix = profile.name.trim_end_matches(|last: char| last.is_ascii_digit());
            let is_plain = !prefix.is_empty() && !prefix.contains(['*', '?']);
            if is_plain && prefix.len() < profile.name.len() {
                groups.entry((prefix, said)).or_default().push(column);
            }
        }
    }
    let mut groups: Vec<((&str, String), Vec<usize>)> =
        groups.into_iter().filter(|(_, columns)| columns.len() >= LEAST).collect();
    // Of several groups with one pattern, the largest has it.
    groups.sort_by_key(|(_, columns)| std::cmp::Reverse(columns.len()));
    let mut taken: HashSet<String> =
        scan.columns.iter().map(|profile| profile.name.clone()).collect();
    groups.retain(|((prefix, _), _)| taken.insert(format!("{prefix}*")));
    let wildcard = |((prefix, _), columns): ((&str, String), Vec<usize>)| Wildcard {
        pattern: format!("{prefix}*"),
        columns,
    };
    groups.into_iter().map(wildcard).collect()
}

/// What is said of a column, if others may share it: nothing is in doubt, and no file is its own.
fn said(profile: &Profile, guess: &Guess, plan: &Planned) -> Option<String> {
    let values = profile.values.as_ref()?;
    let is_shared = !matches!(plan.plan, Plan::Tree(_)) && plan.doubts.is_empty();
    // Diversity is asked of sensitive columns by their names.
    if !is_shared || guess.role == Role::Sensitive || values.present == 0 {
        return None;
    }
    let keys = plan.notation.iter().flat_map(|notation| notation.keys()).collect::<Vec<_>>();
    Some(format!(
        "{:?} {} {:?} {:?} {keys:?} {:?}",
        guess.role, guess.reason, plan.kind, plan.missing, plan.plan
    ))
}
