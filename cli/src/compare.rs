//! What would several policies, kinds of recoding or values of k release? Side by side.

use crate::args::Common;
use crate::failure::{Failure, Result};
use crate::show::{duration, share, thousands};
use crate::text::{self, HEADING, NOTE, Text};
use comfy_table::CellAlignment;
use scumble::{Error, ErrorKind, Job, Policy, RecodingReport, ReleaseKind, Report, Source, Watch};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// What is compared.
pub struct Compared<'a> {
    pub policies: &'a [PathBuf],
    /// Values of k that replace those of the policies; none if these stay.
    pub k: &'a [u64],
    pub seed: Option<u64>,
}

/// A job and what it is called.
struct Variant {
    policy: PathBuf,
    /// The kind of recoding, if kinds are compared.
    recoding: Option<&'static str>,
    k: Option<u64>,
    job: Job,
}

/// A variant, and what it would release.
struct Row {
    variant: Variant,
    report: std::result::Result<Report, Error>,
}

impl Row {
    /// The kind of recoding that was asked for, or that would be released.
    fn recoding(&self) -> Option<&'static str> {
        let of_release = || match &self.report.as_ref().ok()?.release {
            ReleaseKind::Table { recoding, .. } => Some(match recoding {
                RecodingReport::FullDomain { .. } => "levels",
                RecodingReport::Cuts { .. } => "cuts",
                RecodingReport::Regions { .. } => "regions",
                RecodingReport::Local { .. } => "local",
            }),
            ReleaseKind::Distribution { .. } => None,
        };
        self.variant.recoding.or_else(of_release)
    }
}

/// Compares; as JSON, for people, and as an HTML page.
pub fn compare(
    asked: &Compared<'_>,
    source: &dyn Source,
    common: &Common,
    watch: &Watch,
) -> Result<(Value, Text, String)> {
    let policies: Vec<(PathBuf, Policy)> = asked
        .policies
        .iter()
        .map(|file| Ok((file.clone(), Policy::read(file)?)))
        .collect::<Result<_>>()?;
    let variants = variants(&policies, asked, common)?;
    let jobs: Vec<Job> = variants.iter().map(|variant| variant.job.clone()).collect();
    let reports = Job::compare(&jobs, source, watch);
    let has_kinds = policies.len() == 1;
    let mut rows = Vec::new();
    for (variant, report) in variants.into_iter().zip(reports) {
        rows.push(Row { variant, report: listed(report, has_kinds, watch)? });
    }
    // If no kind can do what is asked, the reason is an error of the policy.
    let is_usable = |row: &Row| !matches!(&row.report, Err(e) if e.kind() == ErrorKind::Input);
    if !rows.iter().any(is_usable)
        && let Some(Row { report: Err(error), .. }) = rows.pop()
    {
        return Err(error.into());
    }
    let json = Value::Array(rows.iter().map(to_json).collect());
    let text = shown(&rows, &policies, source);
    Ok((json, text, page(&rows, &policies, source)))
}

/// The page.
fn page(rows: &[Row], policies: &[(PathBuf, Policy)], source: &dyn Source) -> String {
    let name = |Variant { policy, recoding, k, .. }: &Variant| {
        let file = policy.file_name().unwrap_or(policy.as_os_str()).to_string_lossy();
        let name = recoding.map_or(file.into_owned(), str::to_string);
        k.map_or(name.clone(), |k| format!("{name}, k = {k}"))
    };
    let variants = rows.iter();
    let variants = variants.map(|row| (name(&row.variant), row.report.as_ref().map_err(why_not)));
    let variants: Vec<_> = variants.collect();
    Report::compared_html(&source.name(), &variants, differ(policies))
}

/// Every policy or kind of recoding with every k.
fn variants(
    policies: &[(PathBuf, Policy)],
    asked: &Compared<'_>,
    common: &Common,
) -> Result<Vec<Variant>> {
    let mut variants = Vec::new();
    for (file, policy) in policies {
        if policy.privacy().distribution.is_some() {
            return Err(Failure::Usage(format!(
                "{}: a policy with `distribution` cannot be compared; its releases have no LM",
                file.display()
            )));
        }
        let own = [None];
        let chosen: Vec<Option<u64>> = asked.k.iter().copied().map(Some).collect();
        for k in if chosen.is_empty() { &own[..] } else { &chosen } {
            let policy = match k {
                Some(k) => policy.edit().k(*k).build().map_err(|error| in_k(error, *k))?,
                None => policy.clone(),
            };
            let job = crate::run::job(policy, common);
            let job = if let Some(seed) = asked.seed { job.seed(seed) } else { job };
            let kinds = if policies.len() == 1 {
                job.by_recoding()?.into_iter().map(|(name, job)| (Some(name), job)).collect()
            } else {
                vec![(None, job)]
            };
            variants.extend(kinds.into_iter().map(|(recoding, job)| {
                let (policy, k) = (file.clone(), *k);
                Variant { policy, recoding, k, job }
            }));
        }
    }
    Ok(variants)
}

fn in_k(error: Error, k: u64) -> Failure {
    match error {
        Error::BadParameter { expected, .. } => Failure::invalid("--k", &k.to_string(), &expected),
        error => error.into(),
    }
}

/// A report, or a reason that is a row of its own: a requirement that cannot be met, or a kind of
/// recoding that does not support what is asked. Everything else ends the command.
fn listed(
    report: std::result::Result<Report, Error>,
    has_kinds: bool,
    watch: &Watch,
) -> Result<std::result::Result<Report, Error>> {
    match report {
        Err(error) => match error.kind() {
            ErrorKind::Refused => Ok(Err(error)),
            ErrorKind::Input if has_kinds => Ok(Err(error)),
            ErrorKind::Interrupted if watch.stopped() => Ok(Err(error)),
            _ => Err(error.into()),
        },
        done => Ok(done),
    }
}

/// Time of a job, apart from reading the table, which is read once for all.
fn seconds(report: &Report) -> f64 {
    report.phases.iter().filter(|phase| phase.name != "read").map(|phase| phase.seconds).sum()
}

/// The risk of a row of the release, for an attacker who knows that the person is in it: the highest
/// of all rows, and the average.
fn risk(report: &Report) -> (f64, f64) {
    let classes = &report.classes;
    (1.0 / classes.smallest_class as f64, classes.classes as f64 / report.released as f64)
}

fn to_json(row: &Row) -> Value {
    let Row { variant, report } = row;
    let mut object = Map::new();
    object.insert("policy".into(), json!(variant.policy));
    if let Some(recoding) = row.recoding() {
        object.insert("recoding".into(), recoding.into());
    }
    if let Some(k) = variant.job.policy().privacy().k {
        object.insert("k".into(), k.into());
    }
    match report {
        Ok(report) => object.extend(reported(report)),
        Err(error) => {
            object.insert("released".into(), 0.into());
            object.insert("error".into(), error.to_string().into());
        }
    }
    object.into()
}

/// The figures of a report, by the names that they have in it.
fn reported(report: &Report) -> Map<String, Value> {
    let full = report.to_json();
    let keys = [
        "algorithm",
        "rows",
        "released",
        "suppressed",
        "suppressed-values",
        "classes",
        "smallest-class",
        "average-class",
        "loss",
        "search",
    ];
    let found = keys.iter().filter_map(|key| Some((key.to_string(), full.get(*key)?.clone())));
    let mut object: Map<String, Value> = found.collect();
    let (highest, average) = risk(report);
    object.insert("risk".into(), json!({"highest": highest, "average": average}));
    object.insert("seconds".into(), seconds(report).into());
    object
}

/// The table, with what is to be known about its figures.
fn shown(rows: &[Row], policies: &[(PathBuf, Policy)], source: &dyn Source) -> Text {
    let mut text = Text::default();
    let total = rows.iter().find_map(|row| Some(row.report.as_ref().ok()?.rows));
    let of = total.map_or(String::new(), |rows| format!(": {} rows", thousands(rows.into())));
    text.add(HEADING, &source.name());
    let _ = writeln!(text, "{of}; nothing was released");
    let columns = columns(rows);
    let head: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let names = head.iter().take_while(|name| matches!(**name, "policy" | "recoding")).count();
    let mut table = text::table(&head, names);
    for row in rows {
        table.add_row(columns.iter().map(|(_, cell)| cell(row)));
    }
    // The last one has words.
    if let Some(column) = table.column_mut(columns.len().saturating_sub(1)) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    text.table(&table);
    notes(&mut text, rows, policies);
    text
}

/// A column: its name, and the text of a row.
type Column = (&'static str, fn(&Row) -> String);

/// The columns that some row has.
fn columns(rows: &[Row]) -> Vec<Column> {
    let has =
        |part: fn(&Report) -> bool| rows.iter().any(|row| row.report.as_ref().is_ok_and(part));
    let is = |part: fn(&Variant) -> bool| rows.iter().any(|row| part(&row.variant));
    let all: [(bool, Column); 15] = [
        (
            is(|one| one.recoding.is_none()),
            ("policy", |row| row.variant.policy.display().to_string()),
        ),
        (true, ("recoding", |row| row.recoding().unwrap_or_default().to_string())),
        (
            is(|one| one.k.is_some()),
            ("k", |row| row.variant.k.map_or(String::new(), |k| thousands(k.into()))),
        ),
        (true, ("LM", |row| told(row, |report| lm(report).map(four)))),
        (
            has(|one| weighted(one).is_some()),
            ("weighted LM", |row| told(row, |report| weighted(report).map(four))),
        ),
        (true, ("DM", |row| told(row, |report| dm(report).map(thousands)))),
        (has(|one| cm(one).is_some()), ("CM", |row| told(row, |report| cm(report).map(four)))),
        (true, ("highest risk", |row| told(row, |report| Some(percent(risk(report).0))))),
        (true, ("average risk", |row| told(row, |report| Some(percent(risk(report).1))))),
        (true, ("rows lost", |row| told(row, |report| Some(lost(report.suppressed, report.rows))))),
        (
            has(|one| one.suppressed_values.is_some()),
            ("values lost", |row| {
                told(row, |report| Some(lost(report.suppressed_values?, report.released)))
            }),
        ),
        (
            true,
            ("classes", |row| told(row, |report| Some(thousands(report.classes.classes.into())))),
        ),
        (
            true,
            ("smallest", |row| {
                told(row, |report| Some(thousands(report.classes.smallest_class.into())))
            }),
        ),
        (true, ("time", |row| told(row, |report| Some(duration(seconds(report)))))),
        (
            true,
            ("", |row| match &row.report {
                Ok(report) => proof(report).unwrap_or_default(),
                Err(error) => why_not(error),
            }),
        ),
    ];
    all.into_iter().filter(|(is_shown, _)| *is_shown).map(|(_, column)| column).collect()
}

/// A figure of a row; empty if it has none.
fn told(row: &Row, tell: impl Fn(&Report) -> Option<String>) -> String {
    row.report.as_ref().ok().and_then(tell).unwrap_or_default()
}

fn lm(report: &Report) -> Option<f64> {
    match &report.release {
        ReleaseKind::Table { loss, .. } => Some(loss.lm),
        ReleaseKind::Distribution { .. } => None,
    }
}

fn weighted(report: &Report) -> Option<f64> {
    match &report.release {
        ReleaseKind::Table { loss, .. } => loss.lm_weighted,
        ReleaseKind::Distribution { .. } => None,
    }
}

fn dm(report: &Report) -> Option<u128> {
    match &report.release {
        ReleaseKind::Table { loss, .. } => Some(loss.dm),
        ReleaseKind::Distribution { .. } => None,
    }
}

fn cm(report: &Report) -> Option<f64> {
    match &report.release {
        ReleaseKind::Table { loss, .. } => loss.cm,
        ReleaseKind::Distribution { .. } => None,
    }
}

fn four(number: f64) -> String {
    format!("{number:.4}")
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

fn lost(part: u64, whole: u64) -> String {
    match part {
        0 => "0".into(),
        part => format!("{} ({})", thousands(part.into()), share(part, whole)),
    }
}

/// Why there is no release, in a few words: the requirements that the most general recoding fails,
/// if that is the reason.
fn why_not(error: &Error) -> String {
    match error {
        Error::CannotBeMet { shortfall, refusal } => {
            let judged = refusal.iter().flat_map(|refusal| &refusal.privacy);
            let failing = judged.filter(|judged| !judged.satisfied).map(ToString::to_string);
            let failing: Vec<String> = failing.collect();
            let reason =
                if failing.is_empty() { shortfall.to_string() } else { failing.join("; ") };
            format!("cannot be met: {reason}")
        }
        error => error.to_string(),
    }
}

/// What is proven about the loss.
fn proof(report: &Report) -> Option<String> {
    let ReleaseKind::Table { loss, search, .. } = &report.release else { return None };
    if search.as_ref()?.optimal == Some(true) {
        return Some("optimal".into());
    }
    let (lm, bound) = match loss.lm_weighted {
        Some(weighted) => (weighted, loss.lm_weighted_bound?),
        None => (loss.lm, loss.lm_bound?),
    };
    let avoidable = 1.0 - bound / lm;
    let is_known = avoidable.is_finite() && avoidable < 1.0;
    is_known.then(|| format!("at most {:.1} % avoidable", (avoidable.max(0.0) * 1e3).ceil() / 10.0))
}

/// What must be known before figures are compared.
fn notes(text: &mut Text, rows: &[Row], policies: &[(PathBuf, Policy)]) {
    if rows.iter().any(|row| row.report.is_ok()) {
        let _ = writeln!(
            text,
            "  risk: the probability that an attacker finds the row of a person who is known to be \
             in the release"
        );
    }
    let is_optimal = |report: &Report| proof(report).is_some_and(|proof| proof == "optimal");
    if rows.iter().any(|row| row.report.as_ref().is_ok_and(is_optimal)) {
        let _ = writeln!(text, "  optimal: no recoding of this kind loses less, proven");
    }
    if differ(policies) {
        text.add(NOTE, "  note:");
        let _ = writeln!(
            text,
            " the policies treat columns differently; LM is a share of the detail that a \
             policy's own hierarchies have, so it does not compare one policy with another"
        );
    }
}

/// Whether the losses of policies do not compare.
fn differ(policies: &[(PathBuf, Policy)]) -> bool {
    policies.windows(2).any(|pair| !have_same_columns(&pair[0].1, &pair[1].1))
}

/// Whether two policies say the same of columns, so that a loss means the same in both.
fn have_same_columns(one: &Policy, other: &Policy) -> bool {
    let columns = |policy: &Policy| {
        let value = serde_json::to_value(policy).unwrap_or_default();
        let part = |name: &str| value.get(name).cloned().unwrap_or_default();
        let mut attributes: Vec<(String, Value)> =
            part("attributes").as_object().cloned().unwrap_or_default().into_iter().collect();
        attributes.sort_by(|a, b| a.0.cmp(&b.0));
        (attributes, part("defaults"))
    };
    columns(one) == columns(other)
}
