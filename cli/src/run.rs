//! From arguments to jobs, and from their results to an exit status.

use crate::args::{
    AnonymizeInstantArgs, Args, Command, Common, CutArgs, DiskArgs, KindArg, OutputArgs,
    PolicyArgs, PresenceArgs, SelectionArg, StrategyArg,
};
use crate::ends::{self, is_standard, open};
use crate::failure::{Failure, Result, in_flags};
use crate::interrupts::Signals;
use crate::page::Page;
use crate::text::{self, Text};
use crate::{
    advise, compare, distribution, effect, hierarchy, init, instant, progress, shell, show,
};
use clap::ValueEnum;
use scumble::{
    Error, ErrorKind, Job, Policy, PolicyBuilder, Portrait, Recoding, ReleaseFolder, Report,
    Selection, Setting, Sink, Source, Summary, Synthetic, Tables, Watch,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The output of a command.
struct Output {
    /// For `--json`.
    json: Value,
    /// For people.
    text: Text,
    /// Why the exit status is not 0, if a check failed.
    failed: Option<Failure>,
    /// Whether the text goes to standard error, because the release is on standard output.
    on_error: bool,
}

impl Output {
    fn new(json: Value, text: impl Into<Text>) -> Output {
        Output { json, text: text.into(), failed: None, on_error: false }
    }
}

/// Makes the pool of threads, with this one among them. A pool of one does not have this one: it
/// would wait for itself.
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
    let (watch, line) = progress::watch(progress::Plan::of(&args.command));
    let signals = Signals::listen(&watch);
    let output = match &args.command {
        Command::Anonymize { output, .. } | Command::Apply { output, .. } => Some(&output.output),
        _ => None,
    };
    let (releases, on_output) = (output.is_some(), output.is_some_and(|file| is_standard(file)));
    let done = dispatch(args.command, &args.common, &watch);
    line.clear();
    watch.notes().iter().for_each(|note| show::remark(note));
    let error = match done {
        Ok(output) => {
            let printed = if output.on_error {
                show::print_error(&output.text.shown(text::on_error()));
                Ok(())
            } else if json {
                show::print(&(output.json.to_string() + "\n"))
            } else {
                show::print(&output.text.shown(text::on_output()))
            };
            printed.err().or(output.failed)
        }
        Err(error) if error.is_closed_pipe() => None,
        Err(Failure::Library(error)) if json && error.kind() == ErrorKind::Refused => {
            let printed = show::print(&(refused(&error).to_string() + "\n"));
            Some(printed.err().unwrap_or(Failure::Library(error)))
        }
        Err(error) => Some(error),
    };
    let Some(error) = error else { return 0 };
    match (&error, signals.received()) {
        // As shells expect it of a command that a signal ended.
        (Failure::Library(Error::Interrupted), Some(signal)) => {
            let told = if releases { "interrupted; nothing was released" } else { "interrupted" };
            show::complain(told);
            128 + signal
        }
        _ => {
            show::complain(&error.to_string());
            let advice = if json { Text::default() } else { show::remedies(&error) };
            if on_output {
                show::print_error(&advice.shown(text::on_error()));
            } else if !advice.is_empty()
                && let Err(error) = show::print(&advice.shown(text::on_output()))
            {
                show::complain(&error.to_string());
            }
            error.status()
        }
    }
}

/// The JSON of a command that released nothing.
fn refused(error: &Error) -> Value {
    match error {
        Error::CannotBeMet { refusal: Some(refusal), .. } => refusal.to_json(error),
        Error::CheckFailed { failing, problems, .. } => {
            let text = error.to_string();
            json!({"error": text, "released": 0, "privacy": failing, "problems": problems})
        }
        _ => json!({"error": error.to_string(), "released": 0}),
    }
}

/// A job with the limits of the command line.
pub fn job(policy: Policy, common: &Common) -> Job {
    let job = Job::new(policy);
    match common.memory {
        Some(memory) => job.memory(memory),
        None => job,
    }
}

/// The same with what the flags of an output say.
fn with_output(mut job: Job, output: &OutputArgs) -> Job {
    if let Some(seed) = output.seed {
        job = job.seed(seed);
    }
    if output.keep_order { job.keep_order() } else { job }
}

/// Reads a table and releases it.
fn anonymize(
    job: &Job,
    input: &Path,
    output: &Path,
    (recoding, page): (Option<&Path>, &Page),
    (common, spill): (&Common, &Path),
    watch: &Watch,
) -> Result<Output> {
    let source = open(input, common, spill, watch)?;
    let remedied = |error: Error| job.with_remedies(error, &source, watch);
    let release = |sink: Box<dyn Sink>| match page.file() {
        None => Ok::<_, Failure>(job.run(&source, sink, watch).map_err(remedied)?),
        Some(file) => {
            let job = job.clone().writes(file);
            let portrayed = job.run_portrayed(&source, sink, watch);
            let (report, portrait) = portrayed.map_err(remedied)?;
            page.write(|| Ok(portrait.to_html()))?;
            Ok(report)
        }
    };
    if job.policy().privacy().distribution.is_some() {
        if is_standard(output) {
            return Err(Failure::Usage(
                "a distribution cannot be written to standard output; it needs a folder".into(),
            ));
        }
        if recoding.is_some() {
            return Err(Failure::Usage(
                "--save-recoding cannot be used with a distribution; see recoding.json in the \
                 output folder"
                    .into(),
            ));
        }
        let report = release(Box::new(ReleaseFolder::new(output)?))?;
        let text = distribution::report(&report, input, output);
        return Ok(Output::new(report.to_json(), text));
    }
    let sink = ends::release(output, recoding, &source, common, spill)?;
    let report = release(sink)?;
    let text = show::report(&report, input, output);
    let on_error = is_standard(output);
    Ok(Output { on_error, ..Output::new(report.to_json(), text) })
}

fn dispatch(command: Command, common: &Common, watch: &Watch) -> Result<Output> {
    let temporary = std::env::temp_dir();
    let open = |path: &Path| open(path, common, &temporary, watch);
    match command {
        Command::Init { input, output, no_learned } => {
            effect::check_tables(common, effect::Ends::inputs(&[&input]))?;
            // Nobody should wait for a policy that has no place.
            if output.exists() {
                return Err(Error::Exists { file: output }.into());
            }
            let suggestion = scumble::suggest(&open(&input)?, !no_learned, watch)?;
            let files = suggestion.write(&output)?;
            let json = init::json(&suggestion, &files);
            Ok(Output::new(json, init::text(&suggestion, &input, &output)))
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
            let Asked { policy, set } = read_asked(&policy, flags)?;
            instant::check(&instant, &policy)?;
            let ends = effect::Ends { inputs: &[&input], outputs: &[&output.output] };
            effect::check_tables(common, ends)?;
            let keys = set.iter().map(|(_, key)| key.clone());
            let mut job = with_output(self::job(policy, common), &output).given(keys);
            let spill = disk.spill_dir.unwrap_or(temporary.clone());
            job = job.spill_folder(&spill);
            if let Some(levels) = levels {
                job = job.levels(levels);
            }
            if let Some(file) = &instant.summary {
                let summary = read_summary(file, job.policy())?;
                job = job.summary(summary).reads(file);
            }
            let page = Page::new(output.html)?;
            let (ends, beside) = ((common, spill.as_path()), (save_recoding.as_deref(), &page));
            anonymize(&job, &input, &output.output, beside, ends, watch)
                .map_err(|failure| failure.in_flags(&set))
        }
        Command::Apply { recoding, input, policy, output } => {
            let Asked { policy, set } = read_asked(&policy, Vec::new())?;
            let ends = effect::Ends { inputs: &[&input], outputs: &[&output.output] };
            effect::check_tables(common, ends)?;
            let keys = set.iter().map(|(_, key)| key.clone());
            let job = with_output(job(policy, common), &output).given(keys);
            let text = std::fs::read(&recoding).map_err(Error::io(&recoding, "read"))?;
            let saved = Recoding::from_json(&text, &recoding)?;
            let job = job.recoding(saved, &recoding);
            let (ends, page) = ((common, temporary.as_path()), Page::new(output.html)?);
            anonymize(&job, &input, &output.output, (None, &page), ends, watch)
                .map_err(|failure| failure.in_flags(&set))
        }
        Command::Summarize { input, policy, output, build, rows, seed } => {
            effect::check_tables(common, effect::Ends::inputs(&[&input]))?;
            effect::check_roles("summarize", &policy)?;
            let policy = read_policy(&policy, instant::building(&build, rows))?;
            effect::check_summarize(&build, seed.is_some(), &policy)?;
            let (source, job) = (open(&input)?, job(policy, common).seed(seed.unwrap_or(0)));
            job.check_output(&source, &output)?;
            let start = Instant::now();
            let summary = job.summarize(&source, watch)?;
            scumble::write_private(&output, &summary.to_json())?;
            let seconds = start.elapsed().as_secs_f64();
            let json = instant::summary_json(&summary, source.meter().scans(), seconds, &output);
            Ok(Output::new(json, instant::summary(&summary, seconds, &input, &output)))
        }
        Command::Estimate { summary, policy, levels, believe } => {
            let args = policy;
            let policy = read_policy(&args, instant::believing(&believe))?;
            effect::check_estimate(&args, &believe, levels.is_some(), &policy)?;
            let (mut job, is_given) = (job(policy, common), levels.is_some());
            if let Some(levels) = levels {
                job = job.levels(levels);
            }
            let estimation = job.estimate(&read_summary(&summary, job.policy())?, watch)?;
            Ok(Output::new(
                estimation.to_json(),
                instant::estimation(&estimation, &summary, is_given),
            ))
        }
        Command::Verify { release, policy, original, html } => {
            let page = Page::new(html)?;
            let tables = [Some(&release), original.as_ref()];
            let tables: Vec<&Path> = tables.into_iter().flatten().map(PathBuf::as_path).collect();
            effect::check_tables(common, effect::Ends::inputs(&tables))?;
            let args = policy;
            let policy = read_policy(&args, Vec::new())?;
            effect::check_verify(&args, original.is_some(), &policy)?;
            let job = job(policy, common);
            let is_folder = release.is_dir();
            let tables =
                if is_folder { Tables::open(&release)? } else { Tables::one(open(&release)?) };
            let original = original.as_deref().map(open).transpose()?;
            let original = original.as_ref().map(|table| table as &dyn Source);
            let report = report_beside(&release);
            page.check(Some(&job), &tables, original, &release)?;
            let verification = job.verify(&tables, original, report.as_ref(), watch)?;
            page.write(|| {
                // What the original tells is not for everybody.
                let portrait = job.portray(&tables, None, report.as_ref(), watch)?;
                Ok(portrait.with_verification(verification.clone()).to_html())
            })?;
            let text = if is_folder {
                distribution::verification(&verification, &release)
            } else {
                show::verification(&verification, &release)
            };
            let failed = verification.check().err().map(Failure::from);
            Ok(Output { failed, ..Output::new(verification.to_json(), text) })
        }
        Command::Show { release, policy, original, html } => {
            let tables = [Some(&release), original.as_ref()];
            let tables: Vec<&Path> = tables.into_iter().flatten().map(PathBuf::as_path).collect();
            effect::check_tables(common, effect::Ends::inputs(&tables))?;
            let policy = policy.map(|file| PolicyBuilder::read(&file)?.build()).transpose()?;
            let job = policy.map(|policy| job(policy, common));
            let tables = if release.is_dir() {
                Tables::open(&release)?
            } else {
                Tables::one(open(&release)?)
            };
            let original = original.as_deref().map(open).transpose()?;
            let original = original.as_ref().map(|table| table as &dyn Source);
            let (page, report) = (Page::new(html)?, report_beside(&release));
            page.check(job.as_ref(), &tables, original, &release)?;
            let report = report.as_ref();
            let portrait = match &job {
                Some(job) => job.portray(&tables, original, report, watch)?,
                None => Portrait::without_policy(&tables, original, report, watch)?,
            };
            let output = Output::new(portrait.to_json(), portrait.to_string());
            page.write(|| Ok(portrait.to_html()))?;
            Ok(output)
        }
        Command::Query { release, sql } => {
            let file = release.join("report.json");
            let text = std::fs::read(&file).map_err(Error::io(&file, "read"))?;
            let report = Report::from_json(&text)
                .map_err(|source| Error::BadJson { file: file.clone(), source })?;
            let answer = scumble::query(&Tables::open(&release)?, &report, &sql, watch)?;
            Ok(Output::new(answer.to_json(), distribution::answer(&answer)))
        }
        Command::Risk { file, policy, threshold, population, html } => {
            let tables = [Some(&file), population.as_ref()];
            let tables: Vec<&Path> = tables.into_iter().flatten().map(PathBuf::as_path).collect();
            effect::check_tables(common, effect::Ends::inputs(&tables))?;
            effect::check_roles("risk", &policy)?;
            let job = job(read_policy(&policy, Vec::new())?, common);
            let population = population.as_deref().map(open).transpose()?;
            let population = population.as_ref().map(|table| table as &dyn Source);
            let (page, table) = (Page::new(html)?, open(&file)?);
            let risks = job.risk(&table, population, threshold, watch)?;
            let table = Tables::one(table);
            page.check(Some(&job), &table, population, &file)?;
            page.write(|| Ok(job.portray_risk(&table, risks, watch)?.to_html()))?;
            Ok(Output::new(risks.to_json(), show::risks(&risks, &file)))
        }
        Command::Compare { input, policy, k, seed, html } => {
            effect::check_tables(common, effect::Ends::inputs(&[&input]))?;
            let asked = compare::Compared { policies: &policy, k: &k, seed };
            let (page, input) = (Page::new(html)?, open(&input)?);
            page.check_apart(policy.iter().chain(&input.files()).cloned().collect())?;
            let (json, text, html) = compare::compare(&asked, &input, common, watch)?;
            page.write(|| Ok(html))?;
            Ok(Output::new(json, text))
        }
        Command::Advise { stakes } => {
            let (json, text) = advise::advise(&stakes)?;
            Ok(Output::new(json, text))
        }
        Command::Generate { kind, rows, selection, seed, output, policy } => {
            if selection == SelectionArg::Biased && !matches!(kind, KindArg::Subset) {
                return Err(Failure::Usage("--selection biased requires the kind `subset`".into()));
            }
            let kind = match (kind, selection) {
                (KindArg::Census, _) => Synthetic::Census,
                (KindArg::Agrawal, _) => Synthetic::Agrawal,
                (KindArg::Subset, SelectionArg::Uniform) => Synthetic::Subset(Selection::Uniform),
                (KindArg::Subset, SelectionArg::Biased) => Synthetic::Subset(Selection::Biased),
            };
            let files = scumble::generate(kind, rows, seed, &output, policy.as_deref(), watch)?;
            let text: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
            Ok(Output::new(json!({"rows": rows, "seed": seed, "files": files}), text))
        }
        Command::Hierarchy { action } => {
            let (json, text) = hierarchy::run(action, &open, watch)?;
            Ok(Output::new(json, text))
        }
        Command::Bench { name, .. } => match name {},
        Command::Completions { shell } => {
            let script = shell::completions(shell);
            let json = json!({"shell": shell.to_string(), "script": script});
            Ok(Output::new(json, Text::raw(script)))
        }
        Command::Man { folder } => {
            let files = shell::man(&folder)?;
            let text: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
            Ok(Output::new(json!({"files": files}), text))
        }
    }
}

/// A summary: counts as CSV, or JSON.
fn read_summary(file: &Path, policy: &Policy) -> Result<Summary> {
    if file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv")) {
        return Ok(policy.summary_of_counts(file)?);
    }
    Ok(Summary::from_json(&std::fs::read(file).map_err(Error::io(file, "read"))?, file)?)
}

/// The report beside a release, if there is one that can be read.
fn report_beside(release: &Path) -> Option<Report> {
    let file = if release.is_dir() {
        release.join("report.json")
    } else {
        let mut name = release.as_os_str().to_os_string();
        name.push(".report.json");
        PathBuf::from(name)
    };
    Report::from_json(&std::fs::read(file).ok()?).ok()
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
        Flag::given("--gap", "gap", cuts.gap.clone()),
        Flag::given("--top", "top", cuts.top),
        Flag::given(
            "--extra-generalization",
            "extra-generalization",
            cuts.extra_generalization.then_some(true),
        ),
        Flag::given("--extra-suppression", "extra-suppression", cuts.extra_suppression.clone()),
        Flag::given("--sigmas", "sigmas", presence.sigmas),
        Flag::given("--bucket", "bucket", presence.bucket),
        Flag::given("--sample-tuples", "sample-tuples", disk.sample_tuples),
        Flag::given("--frequency-groups", "frequency-groups", disk.frequency_groups),
        Flag::given("--fan-out", "fan-out", disk.fan_out),
        Flag::given("--alpha", "alpha", disk.alpha),
        Flag::given("--naive", "naive", disk.naive.then_some(true)),
        Flag::given("--summary-kind", "summary-kind", instant.summary_kind.map(name_of)),
        Flag::given("--without", "without", (!without.is_empty()).then(|| without.clone())),
        Flag::given("--by", "by", instant.believe.by.map(name_of)),
        Flag::given("--threshold", "threshold", instant.believe.threshold.map(|x| x.to_string())),
    ];
    flags.into_iter().flatten().collect()
}

/// A policy, and what flags have changed of it.
struct Asked {
    policy: Policy,
    /// Each flag with the key that it set.
    set: Vec<(&'static str, String)>,
}

/// A policy with the keys that flags override.
fn read_policy(args: &PolicyArgs, flags: Vec<Flag>) -> Result<Policy> {
    Ok(read_asked(args, flags)?.policy)
}

/// The same, with the flags.
fn read_asked(args: &PolicyArgs, flags: Vec<Flag>) -> Result<Asked> {
    let mut builder = PolicyBuilder::read(Path::new(&args.policy))?;
    // The key that each flag sets, for errors.
    let mut set: Vec<(&'static str, String)> = Vec::new();
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
        // In a policy with a distribution some names are about that.
        let of_buckets =
            builder.at(["privacy", "distribution", "algorithm"]) == Some(name.as_str());
        let key = if of_buckets { "privacy.distribution.algorithm" } else { "search.algorithm" };
        set.push(("--algorithm", key.into()));
    }
    if let Some(name) = &args.scheme {
        builder = builder.scheme(name);
        set.push(("--scheme", "search.suppression.scheme".into()));
    }
    if let Some(share) = &args.suppression {
        builder = match args.scheme.as_deref() {
            // A limit without a scheme of its own replaces `none`, a scheme of its own does not.
            Some("none") => builder.set(["search", "suppression", "limit"], share.as_str()),
            _ => builder.suppression(share.as_str()),
        };
        set.push(("--suppression", "search.suppression.limit".into()));
    }
    for Flag { name, key, value } in flags {
        builder = builder.set(["search", key], value);
        set.push((name, format!("search.{key}")));
    }
    let policy = builder.build().map_err(|error| in_flags(error, &set))?;
    Ok(Asked { policy, set })
}
