//! From arguments to jobs, and from their results to an exit status.

use crate::args::{
    AnonymizeInstantArgs, Args, BenchArg, Command, Common, CutArgs, DiskArgs, KindArg, OutputArgs,
    PolicyArgs, PresenceArgs, SelectionArg, StrategyArg,
};
use crate::{advise, bench, distribution, hierarchy, instant, interrupts, progress, show};
use clap::ValueEnum;
use scumble::error::{Error, Kind, Result};
use scumble::generate::Kind as Table;
use scumble::generate::subset::Selection;
use scumble::jobs::{self, DiskOptions, Failure, InstantOptions, Options};
use scumble::policy::{Policy, PolicyBuilder, Setting};
use scumble::watch::Watch;
use serde_json::{Value, json};
use std::path::Path;

/// What a command has to say: for scripts, and for people. `failed` is why the status is 1
/// nevertheless.
struct Output {
    json: Value,
    text: String,
    failed: Option<Failure>,
}

/// Makes the threads that work together, one of which is this one. Where it is to be the only one
/// it is not among them: it would wait for whoever waits for it.
fn start_pool(threads: Option<u16>) {
    let threads = threads
        .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = if threads > 1 { pool.use_current_thread() } else { pool };
    // Only fails if a pool exists already, and none does.
    let _ = pool.build_global();
}

/// Runs a command; returns the exit status.
pub fn run(args: Args) -> u8 {
    start_pool(args.common.threads);
    let json = args.common.json;
    let (watch, line) = progress::watch();
    interrupts::await_signals(&watch, &line);
    let done = dispatch(args.command, &args.common, &watch);
    line.clear();
    match done {
        Ok(output) => {
            show::print(&if json { output.json.to_string() + "\n" } else { output.text });
            match output.failed {
                None => 0,
                Some(failure) => {
                    show::complain(&failure.error.to_string());
                    failure.error.kind() as u8
                }
            }
        }
        Err(failure) => {
            if let (true, Kind::Refused) = (json, failure.error.kind()) {
                let report = failure.report.clone();
                let report = report
                    .unwrap_or_else(|| json!({"error": failure.error.to_string(), "released": 0}));
                show::print(&(report.to_string() + "\n"));
            }
            show::complain(&failure.error.to_string());
            failure.error.kind() as u8
        }
    }
}

fn dispatch(command: Command, common: &Common, watch: &Watch) -> Result<Output, Failure> {
    let done = |json: Value, text: String| Ok(Output { json, text, failed: None });
    let options = |output: &OutputArgs| Options {
        delimiter: common.delimiter,
        keep_order: output.keep_order,
        disk: DiskOptions {
            memory: common.memory,
            seed: output.seed.unwrap_or(0),
            ..DiskOptions::default()
        },
        seed: output.seed,
        watch: watch.clone(),
        ..Options::default()
    };
    match command {
        Command::Init { input, output } => {
            let text = jobs::init(&input, common.delimiter)?;
            if output.exists() {
                return Err(Error::Exists { file: output }.into());
            }
            scumble::release::replace(&output, &text)?;
            let said = format!(
                "{}: written; check every role, then run\n  scumble anonymize {} --policy {} -o release.csv\n",
                output.display(),
                input.display(),
                output.display()
            );
            done(json!({"policy": output}), said)
        }
        Command::Anonymize {
            input,
            policy,
            output,
            strategy,
            levels,
            cuts,
            presence,
            save_recoding,
            disk,
            instant,
        } => {
            let flags = search_flags(strategy, &cuts, &presence, &disk, &instant);
            let policy = read_policy(&policy, flags)?;
            let instant = instant::options(*instant, &policy, output.seed)?;
            let given = options(&output);
            let disk = DiskOptions { spill: disk.spill_dir, ..given.disk };
            let options = Options { levels, save_recoding, disk, instant, ..given };
            if policy.privacy().distribution.is_some() {
                let report = jobs::distribute(&input, &policy, &output.output, &options)?;
                return done(
                    report.to_json(),
                    distribution::report(&report, &input, &output.output),
                );
            }
            let report = jobs::anonymize(&input, &policy, &output.output, &options)?;
            done(report.to_json(), show::report(&report, &input, &output.output))
        }
        Command::Summarize { input, policy, output, build, rows, seed } => {
            let policy = read_policy(&policy, instant::building(&build, rows))?;
            let built = InstantOptions { seed, ..InstantOptions::default() };
            let disk = DiskOptions { memory: common.memory, ..DiskOptions::default() };
            let options = Options {
                delimiter: common.delimiter,
                watch: watch.clone(),
                disk,
                instant: built,
                ..Options::default()
            };
            let (summary, seconds) = jobs::summarize(&input, &policy, &output, &options)?;
            done(
                instant::summary_json(&summary, seconds, &output),
                instant::summary(&summary, seconds, &input, &output),
            )
        }
        Command::Estimate { summary, policy, levels, believe } => {
            let policy = read_policy(&policy, instant::without(&believe))?;
            let options = instant::believing(&believe, InstantOptions::default());
            let estimation = jobs::estimate(&summary, &policy, &options, levels.as_deref(), watch)?;
            done(estimation.to_json(), instant::estimation(&estimation, &summary))
        }
        Command::Apply { recoding, input, policy, output } => {
            let policy = read_policy(&policy, Vec::new())?;
            let report =
                jobs::apply(&recoding, &input, &policy, &output.output, &options(&output))?;
            done(report.to_json(), show::report(&report, &input, &output.output))
        }
        Command::Verify { release, policy, original } if release.is_dir() => {
            let policy = read_policy(&policy, Vec::new())?;
            let checked = jobs::verify_distribution(
                &release,
                &policy,
                original.as_deref(),
                common.delimiter,
            )?;
            let error = |reason| Error::CheckFailed { file: release.clone(), reason };
            let failed =
                checked.failure().map(|reason| Failure { error: error(reason), report: None });
            Ok(Output {
                json: checked.to_json(),
                text: distribution::verification(&checked, &release),
                failed,
            })
        }
        Command::Query { release, sql } => {
            let answer = jobs::query(&release, &sql)?;
            done(answer.to_json(), distribution::answer(&answer))
        }
        Command::Verify { release, policy, original } => {
            let mut policy = read_policy(&policy, Vec::new())?;
            if let Some(original) = original {
                policy = policy.with_caps(&jobs::caps_of(&original, &policy, common.delimiter)?)?;
            }
            let memory = DiskOptions { memory: common.memory, ..DiskOptions::default() }.memory();
            let verification =
                jobs::verify(&release, &policy, common.delimiter, Some(memory), watch)?;
            let failed = verification.failure().map(|reason| Failure {
                error: Error::CheckFailed { file: release.clone(), reason },
                report: None,
            });
            Ok(Output {
                json: verification.to_json(),
                text: show::verification(&verification, &release),
                failed,
            })
        }
        Command::Risk { file, policy, threshold, population } => {
            let policy = read_policy(&policy, Vec::new())?;
            let risks =
                jobs::risk(&file, &policy, population.as_deref(), threshold, common.delimiter)?;
            done(show::risks_json(&risks), show::risks(&risks, &file))
        }
        Command::Advise { stakes } => {
            let (json, text) = advise::advise(&stakes)?;
            done(json, text)
        }
        Command::Generate { kind, rows, selection, seed, output, policy } => {
            let policy = policy.as_deref();
            if selection == SelectionArg::Biased && !matches!(kind, KindArg::Subset) {
                return Err(wrong("--selection", "biased", "the kind `subset`".into()).into());
            }
            let files = match kind {
                KindArg::Census => {
                    jobs::generate(Table::Census, rows, seed, &output, policy, watch)?
                }
                KindArg::Agrawal => {
                    jobs::generate(Table::Agrawal, rows, seed, &output, policy, watch)?
                }
                KindArg::Subset => {
                    let selection = match selection {
                        SelectionArg::Uniform => Selection::Uniform,
                        SelectionArg::Biased => Selection::Biased,
                    };
                    jobs::generate_subset(selection, rows, seed, &output, policy, watch)?
                }
            };
            let text = files.iter().map(|file| format!("{}\n", file.display())).collect();
            done(json!({"rows": rows, "seed": seed, "files": files}), text)
        }
        Command::Hierarchy { action } => {
            let (json, text) = hierarchy::run(action, common.delimiter)?;
            done(json, text)
        }
        Command::Bench { name, adult, python, runs, rows } => {
            let fastest_of = runs.unwrap_or(20);
            let tables = match name {
                BenchArg::FullDomain => vec![bench::full_domain(adult.as_deref(), fastest_of)?],
                BenchArg::Mondrian => {
                    vec![bench::mondrian(adult.as_deref(), python.as_deref(), fastest_of)?]
                }
                BenchArg::LPlus => bench::l_plus(adult.as_deref(), rows)?,
                BenchArg::Rothko => vec![bench::rothko(rows)?],
                BenchArg::RothkoTests => vec![bench::rothko_tests(rows)?],
                BenchArg::RothkoQuality => vec![bench::rothko_quality(rows, runs)?],
                BenchArg::Presence => bench::presence(adult.as_deref(), rows)?,
                BenchArg::Instant => bench::instant(adult.as_deref(), rows)?,
                BenchArg::Distribution => vec![bench::distribution(adult.as_deref(), 10_000)?],
            };
            let text: Vec<String> = tables.iter().map(bench::Measured::to_text).collect();
            let json = match &tables[..] {
                [table] => table.to_json(),
                tables => {
                    json!({"tables": tables.iter().map(bench::Measured::to_json).collect::<Vec<_>>()})
                }
            };
            done(json, text.join("\n"))
        }
    }
}

pub fn wrong(key: &str, value: &str, expected: String) -> Error {
    Error::BadParameter { place: None, key: key.into(), value: value.into(), expected }
}

/// A key of `[search]` that a flag sets.
pub struct Flag {
    /// The flag, as errors call it.
    pub name: &'static str,
    /// The key.
    pub key: &'static str,
    /// What was given.
    pub value: Setting,
}

impl Flag {
    /// A flag, if it was given.
    pub fn given<V: Into<Setting>>(
        name: &'static str,
        key: &'static str,
        value: Option<V>,
    ) -> Option<Flag> {
        value.map(|value| Flag { name, key, value: value.into() })
    }
}

/// The name of a choice on the command line, which is its name in a policy.
pub fn name_of(choice: impl ValueEnum) -> String {
    choice.to_possible_value().map_or(String::new(), |value| value.get_name().to_string())
}

/// What the flags of `anonymize` say about the search.
fn search_flags(
    strategy: Option<StrategyArg>,
    cuts: &CutArgs,
    presence: &PresenceArgs,
    disk: &DiskArgs,
    instant: &AnonymizeInstantArgs,
) -> Vec<Flag> {
    let without = &instant.believe.without;
    let flags = [
        Flag::given("--strategy", "strategy", strategy.map(name_of)),
        Flag::given("--time-limit", "time-limit", cuts.time_limit.clone()),
        Flag::given("--top", "top", cuts.top),
        Flag::given(
            "--extra-generalization",
            "extra-generalization",
            cuts.extra_generalization.then_some(true),
        ),
        Flag::given("--sigmas", "sigmas", presence.sigmas),
        Flag::given("--bucket", "bucket", presence.bucket),
        Flag::given("--sample-tuples", "sample-tuples", disk.sample_tuples),
        Flag::given("--frequency-groups", "frequency-groups", disk.frequency_groups),
        Flag::given("--fan-out", "fan-out", disk.fan_out),
        Flag::given("--alpha", "alpha", disk.alpha),
        Flag::given("--naive", "naive", disk.naive.then_some(true)),
        Flag::given("--summary-kind", "summary-kind", instant.summary_kind.map(name_of)),
        Flag::given("--without", "without", (!without.is_empty()).then(|| without.clone())),
    ];
    flags.into_iter().flatten().collect()
}

/// A policy with what the flags say instead.
fn read_policy(args: &PolicyArgs, flags: Vec<Flag>) -> Result<Policy> {
    let mut builder = PolicyBuilder::read(Path::new(&args.policy))?;
    // The key that each flag sets, for errors.
    let mut set: Vec<(&str, String)> = Vec::new();
    if let Some(k) = args.k {
        builder = builder.k(k);
        set.push(("-k", "privacy.k".into()));
    }
    if let Some(name) = &args.loss {
        builder = builder.loss(name);
        set.push(("--loss", "search.loss".into()));
    }
    if let Some(name) = &args.algorithm {
        builder = builder.algorithm(name);
        set.push(("--algorithm", "search.algorithm".into()));
    }
    if let Some(name) = &args.scheme {
        builder = builder.scheme(name);
        set.push(("--scheme", "search.suppression.scheme".into()));
    }
    if let Some(share) = &args.suppression {
        builder = builder.suppression(share.as_str());
        set.push(("--suppression", "search.suppression.limit".into()));
    }
    for Flag { name, key, value } in flags {
        builder = builder.set(["search", key], value);
        set.push((name, format!("search.{key}")));
    }
    builder.build().map_err(|error| match error {
        Error::BadParameter { place, key, value, expected } => {
            match set.iter().find(|(_, known)| *known == key) {
                Some((flag, _)) => wrong(flag, &value, expected),
                None => Error::BadParameter { place, key, value, expected },
            }
        }
        error => error,
    })
}
