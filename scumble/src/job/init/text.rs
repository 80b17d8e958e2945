//! The policy as it is written: readable comments, at most 100 columns wide, columns by role.

use super::files::Files;
use super::is_there;
use super::plan::{Plan, Planned};
use super::roles::Guess;
use super::scan::{Profile, Scan, Values};
use super::toml::{capital, comment, grouped, key, quoted, shown};
use super::unique::{Singling, Singlings};
use super::wildcards::{Wildcard, wildcards};
use crate::table::Role;
use crate::taxonomy::DateLevel;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The folder of hierarchies.
const FOLDER: &str = "hierarchies";

/// The default number of rows in a class.
const K: u64 = 5;

/// With more quasi-identifiers than this, only regions are searched, which takes seconds instead of
/// minutes.
const MANY_KEYS: usize = 20;

/// What the roles mean.
const ROLES: &str = "\
# identifier        identifies a person directly; dropped
# quasi-identifier  others may know it about a person; generalized
# sensitive         nobody should learn it about a person; released unchanged
# target            the release is used to predict it; released unchanged
# insensitive       of no interest to anybody; released unchanged
";

/// Everything that a policy is written from.
pub(super) struct Suggested<'a> {
    /// The name of the table.
    pub(super) name: String,
    /// What is in it.
    pub(super) scan: &'a Scan,
    /// The role of each column.
    pub(super) guesses: &'a [Guess],
    /// What is planned for its values.
    pub(super) plans: &'a [Planned],
    /// Sets of columns that single out rows.
    pub(super) singlings: &'a Singlings,
}

impl Suggested<'_> {
    /// The policy, and the files that it refers to: in `hierarchies`, or, if one of them is there
    /// already, in `hierarchies-2`, and so on.
    pub(super) fn beside(&self, folder: &Path) -> (String, Vec<(PathBuf, String)>) {
        let mut number = 1;
        loop {
            let name = if number == 1 { FOLDER.to_string() } else { format!("{FOLDER}-{number}") };
            let (text, files) = self.written(&name);
            if !files.iter().any(|(file, _)| is_there(&folder.join(file))) {
                return (text, files);
            }
            number += 1;
        }
    }

    /// The policy, and the files that it refers to, in a folder of this name.
    fn written(&self, folder: &str) -> (String, Vec<(PathBuf, String)>) {
        let wildcards = wildcards(self.scan, self.guesses, self.plans);
        let mut files = Files::new(folder);
        let mut sections = String::new();
        let groups = [
            (Role::Identifier, "Identifiers: dropped"),
            (Role::QuasiIdentifier, "Quasi-identifiers: generalized"),
            (Role::Sensitive, "Sensitive: released unchanged, and counted in every class"),
        ];
        for (role, title) in groups {
            let columns: Vec<usize> = (0..self.guesses.len())
                .filter(|column| self.guesses[*column].role == role)
                .collect();
            if !columns.is_empty() {
                let _ = write!(sections, "\n# ---- {title} ----\n");
            }
            for column in columns {
                match wildcards.iter().find(|wildcard| wildcard.columns.contains(&column)) {
                    None => self.section(column, &mut sections, &mut files),
                    Some(wildcard) if wildcard.columns[0] == column => {
                        self.shared_section(wildcard, &mut sections, &mut files);
                    }
                    Some(_) => {}
                }
            }
        }
        let text = self.head(&files) + &sections + &self.privacy();
        (text, files.files)
    }

    fn head(&self, files: &Files) -> String {
        let rows = grouped(self.scan.rows);
        let mut text = comment(&format!(
            "A policy for {}, suggested from its {rows} row{}. These are guesses: check every role.",
            shown(&self.name),
            if self.scan.rows == 1 { "" } else { "s" },
        ));
        text += "#\n";
        text += ROLES;
        let told: Vec<&Singling> = self.singlings.told().collect();
        if !told.is_empty() {
            text += "#\n";
            text += &comment(
                "Columns that single out people together (no other sampled row has the same values):",
            );
        }
        for singling in told {
            let names = self.names(&singling.columns);
            let (alone, all) =
                (grouped(singling.alone as u64), grouped(self.singlings.rows as u64));
            text += &comment(&format!("  {names}: {alone} of {all} sampled rows"));
        }
        if !self.singlings.is_complete {
            text +=
                &comment("Not all sets of up to four columns were tried, only the most telling.");
        }
        if !self.guesses.iter().any(|guess| guess.role == Role::QuasiIdentifier) {
            text += "#\n";
            text += &comment(
                "Every column identifies people, so nothing can be released. Give another role to a \
                 column that does not.",
            );
        }
        if !files.files.is_empty() {
            text += "#\n";
            text += &comment(&format!(
                "The files in {}/ list values of the table, rare ones too. Edit them as you \
                 like, and read them before you pass them on.",
                files.folder
            ));
        }
        text
    }

    /// The names of columns: `a, b and c`.
    fn names(&self, columns: &[usize]) -> String {
        let names: Vec<String> =
            columns.iter().map(|column| shown(&self.scan.columns[*column].name)).collect();
        match &names[..] {
            [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            _ => names.concat(),
        }
    }

    /// One column.
    fn section(&self, column: usize, text: &mut String, files: &mut Files) {
        let _ = write!(text, "\n[attributes.{}]\n", key(&self.scan.columns[column].name));
        for line in self.reasons(column) {
            *text += &comment(&(capital(&line) + "."));
        }
        self.keys(column, text, files);
    }

    /// Columns with names of one pattern, of which the same is said.
    fn shared_section(&self, wildcard: &Wildcard, text: &mut String, files: &mut Files) {
        let Wildcard { pattern, columns } = wildcard;
        let ends = [columns[0], columns[columns.len() - 1]];
        let [first, last] = ends.map(|column| shown(&self.scan.columns[column].name));
        let _ = write!(text, "\n[attributes.{}]\n", quoted(pattern));
        let reason = capital(&self.guesses[columns[0]].reason);
        *text += &comment(&format!(
            "{reason}. {} columns, from {first} to {last}; a section of its own for one of them \
             comes first.",
            columns.len()
        ));
        self.keys(columns[0], text, files);
    }

    /// The keys of a column.
    fn keys(&self, column: usize, text: &mut String, files: &mut Files) {
        let (profile, guess) = (&self.scan.columns[column], &self.guesses[column]);
        let planned = &self.plans[column];
        let role = Role::NAMES.iter().find(|(_, role)| *role == guess.role);
        let role = role.map_or("quasi-identifier", |(name, _)| name);
        let _ = writeln!(text, "role = \"{role}\"");
        if profile.values.is_none() || guess.role == Role::Identifier {
            return;
        }
        let _ = writeln!(text, "type = \"{}\"", planned.kind.name());
        for (key, value) in planned.notation.iter().flat_map(|notation| notation.keys()) {
            let _ = writeln!(text, "{key} = {}", quoted(&value));
        }
        if !planned.missing.is_empty() {
            let tokens: Vec<String> = planned.missing.iter().map(|token| quoted(token)).collect();
            let _ = writeln!(text, "missing = [{}]", tokens.join(", "));
        }
        if let Some(hierarchy) = hierarchy(&planned.plan, profile, files) {
            let _ = writeln!(text, "hierarchy = {hierarchy}");
        }
    }

    /// What the comment of a column says, in lines.
    fn reasons(&self, column: usize) -> Vec<String> {
        let (profile, guess) = (&self.scan.columns[column], &self.guesses[column]);
        let planned = &self.plans[column];
        let known = profile.values.as_ref().filter(|values| values.distinct > 0).map(facts);
        let known = known.map(|facts| format!(". {}", capital(&facts))).unwrap_or_default();
        let mut lines = vec![guess.reason.clone() + &known];
        let of_column =
            |singling: &&Singling| singling.columns.contains(&column) && singling.columns.len() > 1;
        if let Some(singling) = self.singlings.told().find(of_column) {
            let others: Vec<usize> =
                singling.columns.iter().copied().filter(|other| *other != column).collect();
            let percent = 100.0 * singling.alone as f64 / self.singlings.rows as f64;
            let others = self.names(&others);
            lines.push(format!(
                "together with {others} it singles out {percent:.0} % of the sampled rows"
            ));
        }
        let has_one = |values: &Values| values.present > 0 && !is_varied(values);
        if guess.role == Role::Sensitive && profile.values.as_ref().is_some_and(has_one) {
            lines.push(
                "all rows have the same value, so no release can hide it, and no diversity is \
                 asked of it"
                    .into(),
            );
        }
        if guess.role != Role::Identifier {
            if !planned.missing.is_empty() {
                lines.push(
                    "values that seem to mean \"missing\" are listed; remove those that do not"
                        .into(),
                );
            }
            lines.extend(planned.about.clone());
            lines.extend(planned.doubts.iter().map(|doubt| format!("check this: {doubt}")));
        }
        lines
    }

    fn privacy(&self) -> String {
        let rows = self.scan.rows;
        let mut text = String::from("\n[privacy]\n");
        let k = match rows {
            1 => {
                text += &comment(
                    "The table has one row, and nobody can be hidden in it: there is no release \
                     with k = 2.",
                );
                2
            }
            2..K => {
                text +=
                    &comment(&format!("The table has only {rows} rows, so k is {rows}, not {K}."));
                rows
            }
            _ => K,
        };
        text += &comment(&format!(
            "Every combination of quasi-identifiers in the release has at least {k} rows."
        ));
        let _ = writeln!(text, "k = {k}");
        text += &self.diversity();
        text += "\n[search]\n";
        let keys = self.guesses.iter().filter(|guess| guess.role == Role::QuasiIdentifier).count();
        if keys > MANY_KEYS {
            text += &comment(&format!(
                "Regions are fast with {keys} quasi-identifiers. `any` searches all kinds, and \
                 may find a release that loses less."
            ));
            text += "recoding = \"regions\"\n";
        }
        text +=
            &comment("At most 5 % of the rows may be left out to keep the others more precise.");
        text += "algorithm = \"auto\"\nloss = \"lm\"\n";
        text + "suppression = { scheme = \"records\", limit = 0.05 }\n"
    }

    fn diversity(&self) -> String {
        let sensitive = |varied: bool| {
            let columns = self.scan.columns.iter().zip(self.guesses);
            let is_it = move |(profile, guess): &(&Profile, &Guess)| {
                let is_varied = profile.values.as_ref().is_some_and(is_varied);
                guess.role == Role::Sensitive && is_varied == varied
            };
            columns.filter(is_it).map(|(profile, _)| quoted(&profile.name)).collect::<Vec<_>>()
        };
        let (varied, constant) = (sensitive(true), sensitive(false));
        if varied.is_empty() {
            let why = if constant.is_empty() {
                "No column was found to be sensitive"
            } else {
                "No sensitive column has two values"
            };
            return comment(&format!("{why}. For a sensitive column, ask for diversity:"))
                + "# l-diversity = { kind = \"distinct\", l = 2 }\n";
        }
        let mut text = comment(
            "Each class has at least two values of every sensitive column. See also t-closeness.",
        );
        if constant.is_empty() {
            text += "l-diversity = { kind = \"distinct\", l = 2 }\n";
        } else {
            text += "l-diversity = [\n";
            for name in varied {
                let _ = writeln!(text, "    {{ kind = \"distinct\", l = 2, sensitive = {name} }},");
            }
            text += "]\n";
        }
        text
    }
}

/// Whether a sensitive column has two values that differ, however they are written.
fn is_varied(values: &Values) -> bool {
    let mut numbers = values.codes().map(|code| (values.number(code), code));
    let Some((first, _)) = numbers.next() else { return false };
    numbers.any(|(number, _)| number.is_none() || number != first)
}

/// How many values there are.
fn facts(values: &Values) -> String {
    let (distinct, rows) = (values.distinct, values.sample.len());
    let about = if values.is_all { "" } else { "about " };
    let plural = if distinct == 1 { "" } else { "s" };
    let mut text = format!("{about}{} distinct value{plural}", grouped(distinct));
    if values.distinct_share() > 0.5 && values.present > 1 {
        let _ = write!(text, " in {} rows", grouped(values.present));
    }
    let missing = values.sample.iter().filter(|code| values.is_missing[**code as usize]).count();
    if missing > 0 {
        let percent = 100.0 * missing as f64 / rows as f64;
        let percent = if percent < 1.0 { "under 1".into() } else { format!("{percent:.0}") };
        let _ = write!(text, ", {percent} % missing");
    }
    text
}

/// The value of the key `hierarchy`.
fn hierarchy(plan: &Plan, profile: &Profile, files: &mut Files) -> Option<String> {
    Some(match plan {
        Plan::None => return None,
        Plan::Intervals(widths) => format!("{{ intervals = [{}] }}", widths.join(", ")),
        Plan::Mask('*') => "{ mask = \"right\" }".into(),
        Plan::Mask(character) => format!("{{ mask = \"right\", char = \"{character}\" }}"),
        Plan::Dates(levels) => {
            let name = |level: &DateLevel| {
                let known = DateLevel::NAMES.iter().find(|(_, known)| known == level);
                quoted(known.map_or("", |(name, _)| name))
            };
            let names: Vec<String> = levels.iter().map(name).collect();
            format!("{{ dates = [{}] }}", names.join(", "))
        }
        Plan::Tree(tree) => match tree.to_csv() {
            Some(text) => quoted(&files.add(&profile.name, text)),
            None => tree.to_toml(quoted),
        },
    })
}
