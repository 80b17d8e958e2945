//! Which flags have an effect on a command? What was typed is meant to do something: a flag without
//! effect is refused by its name.
//!
//! For flags of `anonymize` and `apply` that set a key of the policy, the library knows the answer.

use crate::args::{BelieveArgs, BuildArgs, Common, FormatArg, PolicyArgs};
use crate::ends::is_standard;
use crate::failure::{Failure, Result};
use scumble::{FileFormat, Format, Policy};
use std::path::Path;

/// Refuses the first flag that was given and has no effect: its name, whether it was given, whether
/// it has an effect, and what it requires or why not.
fn check<'a>(flags: impl IntoIterator<Item = (&'static str, bool, bool, &'a str)>) -> Result<()> {
    let mut unused =
        flags.into_iter().filter(|(_, is_given, has_effect, _)| *is_given && !has_effect);
    match unused.next() {
        Some((flag, _, _, problem)) => Err(Failure::Usage(format!("{flag} {problem}"))),
        None => Ok(()),
    }
}

/// The tables of a command. Outputs are those that have a format.
#[derive(Clone, Copy, Default)]
pub struct Ends<'a> {
    pub inputs: &'a [&'a Path],
    pub outputs: &'a [&'a Path],
}

impl<'a> Ends<'a> {
    /// Tables that are only read.
    pub fn inputs(inputs: &'a [&'a Path]) -> Ends<'a> {
        Ends { inputs, outputs: &[] }
    }
}

/// Refuses flags about formats if no table of a command has such a format: files have the format of
/// their names, and only CSV has delimiters and an encoding.
pub fn check_tables(common: &Common, ends: Ends<'_>) -> Result<()> {
    let format = |table: &Path| match common.format {
        // A release on standard output has the format of its input.
        None if is_standard(table) => Some(FormatArg::Csv),
        given if is_standard(table) => given,
        _ => FileFormat::of(table).ok().map(|format| match format.format {
            Format::Csv => FormatArg::Csv,
            Format::Jsonl => FormatArg::Jsonl,
            Format::Parquet => FormatArg::Parquet,
            Format::Arrow => FormatArg::Arrow,
            Format::Xlsx => FormatArg::Xlsx,
        }),
    };
    // Tables in the folder of a distribution are CSV.
    let has_folder = ends.inputs.iter().any(|input| input.is_dir());
    let any = |tables: &[&Path], wanted: FormatArg| {
        tables.iter().any(|table| format(table) == Some(wanted))
    };
    let Ends { inputs, outputs } = ends;
    check([
        (
            "--format",
            common.format.is_some(),
            inputs.iter().chain(outputs).any(|table| is_standard(table)),
            "requires - as input or output; files have the format of their names",
        ),
        (
            "--delimiter",
            common.delimiter.is_some(),
            any(inputs, FormatArg::Csv) || any(outputs, FormatArg::Csv),
            "requires a CSV file as input or output",
        ),
        (
            "--encoding",
            common.encoding.is_some(),
            any(inputs, FormatArg::Csv) || has_folder,
            "requires a CSV file as input; other formats have their own, and releases are UTF-8",
        ),
        (
            "--sheet",
            common.sheet.is_some(),
            any(inputs, FormatArg::Xlsx),
            "requires an .xlsx file as input",
        ),
        (
            "--rename-duplicates",
            common.rename_duplicates,
            inputs.iter().any(|table| format(table).is_some()),
            "requires a table as input",
        ),
    ])
}

/// Refuses flags that override the policy for commands that only ask for roles.
pub fn check_roles(command: &str, args: &PolicyArgs) -> Result<()> {
    let problem = format!("has no effect on `{command}`, which needs only roles; leave it out");
    check([
        ("-k", args.k.is_some(), false, problem.as_str()),
        ("--loss", args.loss.is_some(), false, &problem),
        ("--algorithm", args.algorithm.is_some(), false, &problem),
        ("--scheme", args.scheme.is_some(), false, &problem),
        ("--suppression", args.suppression.is_some(), false, &problem),
    ])
}

/// Refuses flags without effect on `verify`. How a release was found does not matter, except for
/// suppressed values, for caps that depend on suppression, and for the parts of a distribution.
pub fn check_verify(args: &PolicyArgs, has_original: bool, policy: &Policy) -> Result<()> {
    let is_distribution = policy.privacy().distribution.is_some();
    let is_on_cuts = policy.search().algorithm.is_on_cuts();
    let derives_caps = policy.derives_caps();
    let marginals = policy.privacy().presence.as_ref().and_then(|asked| asked.marginals());
    let has_confidences = marginals.is_some_and(|asked| asked.confidence_column.is_some());
    let unused = "has no effect on `verify` with this policy; leave it out";
    check([
        ("--loss", args.loss.is_some(), false, "has no effect on `verify`; leave it out"),
        ("--algorithm", args.algorithm.is_some(), is_on_cuts || is_distribution, unused),
        ("--scheme", args.scheme.is_some(), is_on_cuts || derives_caps, unused),
        ("--suppression", args.suppression.is_some(), derives_caps, unused),
        (
            "--original",
            has_original,
            is_distribution || derives_caps || has_confidences,
            "requires a policy with `distribution`, `from-frequency` or `confidence-column`",
        ),
    ])
}

/// Refuses flags without effect on the kind of summary that is built.
pub fn check_summarize(build: &BuildArgs, has_seed: bool, policy: &Policy) -> Result<()> {
    let instant = policy.search().instant();
    let is_kind = |name: &str| instant.summary_kind.unwrap_or_default().name() == name;
    let has_two_parents = is_kind("bayes") && instant.max_parents == Some(2);
    let is_annealed = instant.structure_search.unwrap_or_default() != Default::default();
    check([
        ("--max-parents", build.max_parents.is_some(), is_kind("bayes"), "requires --kind bayes"),
        ("--search", build.search.is_some(), has_two_parents, "requires --max-parents 2"),
        (
            "--seed",
            has_seed,
            is_kind("sample") || has_two_parents && is_annealed,
            "requires --kind sample or --search annealed; nothing else is random",
        ),
    ])
}

/// Refuses flags without effect on `estimate`.
pub fn check_estimate(
    args: &PolicyArgs,
    believe: &BelieveArgs,
    has_levels: bool,
    policy: &Policy,
) -> Result<()> {
    let is_instant = policy.search().algorithm.is_instant();
    let chooses = "chooses among recodings and cannot be used with --levels; leave it out";
    check([
        (
            "--algorithm",
            args.algorithm.is_some(),
            is_instant,
            "must be s-instant or m-instant for `estimate`",
        ),
        ("--scheme", args.scheme.is_some(), false, "has no effect on `estimate`; leave it out"),
        ("--algorithm", args.algorithm.is_some(), !has_levels, chooses),
        ("--loss", args.loss.is_some(), !has_levels, chooses),
        ("--suppression", args.suppression.is_some(), !has_levels, chooses),
        ("--by", believe.by.is_some(), !has_levels, chooses),
        ("--threshold", believe.threshold.is_some(), !has_levels, chooses),
    ])
}
