//! From arguments to jobs, and from their results to an exit status.

use crate::args::{
    Args, BenchArg, Command, Common, CutArgs, KindArg, OutputArgs, PolicyArgs, PresenceArgs,
    SelectionArg,
};
use crate::{advise, bench, distribution, hierarchy, instant, interrupts, progress, show};
use scumble::error::{Error, Kind, Result};
use scumble::generate::Kind as Table;
use scumble::generate::subset::Selection;
use scumble::jobs::{self, CutOptions, DiskOptions, Failure, InstantOptions, Options};
use scumble::loss::Loss;
use scumble::policy::{Algorithm, Policy};
use scumble::privacy::Shortcuts;
use scumble::search::cuts::Suppression;
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
            let policy = read_policy(&policy)?;
            let cuts = cut_options(&cuts, &policy)?;
            let shortcuts = shortcuts(&presence, &instant.believe.without, &policy)?;
            let instant = instant::options(*instant, &policy, output.seed)?;
            let given = options(&output);
            let disk = DiskOptions {
                tuples: disk.sample_tuples,
                groups: disk.frequency_groups.map(|groups| groups as usize),
                fan_out: disk.fan_out.map(|fan_out| fan_out as usize),
                alpha: disk.alpha,
                naive: disk.naive,
                spill: disk.spill_dir,
                ..given.disk
            };
            let options = Options {
                strategy: strategy.into(),
                levels,
                save_recoding,
                disk,
                cuts,
                shortcuts,
                instant,
                ..given
            };
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
            let policy = read_policy(&policy)?;
            let built = instant::building(&build, rows, seed)?;
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
            let policy = read_policy(&policy)?;
            let options = instant::believing(&believe, InstantOptions::default())?;
            let estimation = jobs::estimate(&summary, &policy, &options, levels.as_deref(), watch)?;
            done(estimation.to_json(), instant::estimation(&estimation, &summary))
        }
        Command::Apply { recoding, input, policy, output } => {
            let policy = read_policy(&policy)?;
            let report =
                jobs::apply(&recoding, &input, &policy, &output.output, &options(&output))?;
            done(report.to_json(), show::report(&report, &input, &output.output))
        }
        Command::Verify { release, policy, original } if release.is_dir() => {
            let policy = read_policy(&policy)?;
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
            let mut policy = read_policy(&policy)?;
            if let Some(original) = original {
                policy = policy.with_caps(&jobs::caps_of(&original, &policy, common.delimiter)?);
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
            let policy = read_policy(&policy)?;
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

/// What concerns searches for cuts; given with another algorithm it would be silently without
/// effect.
fn cut_options(args: &CutArgs, policy: &Policy) -> Result<CutOptions> {
    let given = [
        ("--time-limit", args.time_limit.is_some()),
        ("--top", args.top.is_some()),
        ("--extra-generalization", args.extra_generalization),
    ];
    match given.iter().find(|(_, given)| *given && !policy.search().algorithm.is_on_cuts()) {
        Some((flag, _)) => {
            Err(wrong(flag, "given", "the algorithm l-plus-optimize or annealing".into()))
        }
        None => Ok(CutOptions {
            time_limit: args.time_limit,
            top: args.top.map_or(1, usize::from),
            extra_generalization: args.extra_generalization,
        }),
    }
}

/// How confident presence is judged; given with another requirement it would be silently without
/// effect.
fn shortcuts(args: &PresenceArgs, without: &[String], policy: &Policy) -> Result<Shortcuts> {
    let mut shortcuts = Shortcuts::default();
    let given = [("--sigmas", args.sigmas.is_some()), ("--bucket", args.bucket.is_some())];
    let confident =
        policy.privacy().presence.as_ref().is_some_and(|asked| asked.marginals().is_some());
    if let Some((flag, _)) = given.iter().find(|(_, given)| *given && !confident) {
        return Err(wrong(flag, "given", "a policy whose `presence` has `marginals`".into()));
    }
    shortcuts.sigmas = args.sigmas.map(f64::from).or(shortcuts.sigmas);
    shortcuts.bucket = args.bucket.map_or(shortcuts.bucket, u64::from);
    // These are of the estimates where a belief decides.
    let is_instant = policy.search().algorithm.is_instant();
    if !without.is_empty() && !confident && !is_instant {
        let expected =
            "the algorithm s-instant or m-instant, or a policy whose `presence` has `marginals`";
        return Err(wrong("--without", "given", expected.into()));
    }
    for name in without.iter().filter(|_| !is_instant) {
        let found = Shortcuts::NAMES.iter().find(|(known, _)| known == name);
        let expected = || names(Shortcuts::NAMES.iter().map(|n| n.0));
        found.ok_or_else(|| wrong("--without", name, expected()))?.1(&mut shortcuts);
    }
    Ok(shortcuts)
}

/// A policy with what the flags say instead.
fn read_policy(args: &PolicyArgs) -> Result<Policy> {
    let mut policy = Policy::read(Path::new(&args.policy))?;
    if let Some(k) = args.k {
        if k < 1 {
            return Err(wrong("-k", &k.to_string(), "a whole number from 1".into()));
        }
        policy.privacy.k = Some(k);
    }
    if let Some(name) = &args.loss {
        let found = Loss::NAMES.iter().find(|(known, ..)| known == name);
        policy.search.loss =
            found.ok_or_else(|| wrong("--loss", name, names(Loss::NAMES.iter().map(|n| n.0))))?.1;
    }
    if let Some(name) = &args.algorithm {
        let found = Algorithm::NAMES.iter().find(|(known, ..)| known == name);
        let expected = || names(Algorithm::NAMES.iter().map(|n| n.0));
        policy.search.algorithm = found.ok_or_else(|| wrong("--algorithm", name, expected()))?.1;
    }
    if let Some(name) = &args.scheme {
        let found =
            Suppression::NAMES.iter().find(|(known, _)| known == name).map(|(_, scheme)| *scheme);
        let all = ["records"].into_iter().chain(Suppression::NAMES.iter().map(|(name, _)| *name));
        if found.is_none() && name != "records" {
            return Err(wrong("--scheme", name, names(all)));
        }
        policy.search.scheme = found;
        if found.is_some() {
            policy.search.suppression = scumble::ratio::Ratio::ZERO;
        }
    }
    if let Some(share) = &args.suppression {
        let expected = || wrong("--suppression", share, "a share from 0 to 1".into());
        policy.search.suppression = share.parse().map_err(|_| expected())?;
        if policy.search().suppression > scumble::ratio::Ratio::ONE {
            return Err(expected());
        }
    }
    Ok(policy)
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("one of {}", names.collect::<Vec<_>>().join(", "))
}
