//! How long does a search, or a whole job, go on after it was aborted?
//!
//! Every search is aborted at random moments, and so are jobs from file to file, over a synthetic
//! census of 4 million rows, or of `SCUMBLE_ROWS` rows if that variable is set. For each it prints
//! the largest and the mean time from the abort to the end, in milliseconds, and the largest
//! processor time of all threads within it, which says more on a busy machine. With an argument,
//! only searches whose name contains it are tried.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a bench prints what it measures")]

use scumble::bind::{Outside, Prepared};
use scumble::error::Error;
use scumble::estimate::multinomial::Shortcuts;
use scumble::generate::subset::Selection;
use scumble::job::{InstantParameters, Parameters};
use scumble::policy::Policy;
use scumble::random::Random;
use scumble::ratio::Ratio;
use scumble::search::buckets::{Annotated, Fakes, Measure, Problem, Shape, Target, qi_sa, sa_only};
use scumble::search::cuts::l_plus_optimize::{self, Techniques};
use scumble::search::cuts::{Machine, annealing, s_instant};
use scumble::search::instant::{By, holds};
use scumble::search::lattice::incognito::{self, Strategy};
use scumble::search::lattice::s_instant::Nodes;
use scumble::search::lattice::{sfalm, spalm};
use scumble::search::local::{self, Course};
use scumble::search::regions::{m_instant, mfalm, mondrian, mpalm};
use scumble::source::encode;
use scumble::summary::{Estimator, Structure, SummaryKind};
use scumble::table::{Data, Role, Table, Tallies};
use scumble::watch::Watch;
use scumble::{Job, ReleaseFile, Source, Synthetic, TableFile, generate};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often each search is aborted.
const ABORTS: u32 = 25;

/// Moments are drawn from the first so many seconds of a search.
const LONGEST: f64 = 8.0;

type Result<T> = std::result::Result<T, Error>;

fn main() {
    // Cargo hands over options of its own.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let rows = std::env::var("SCUMBLE_ROWS").ok().and_then(|rows| rows.parse().ok());
    let mut bench = Bench { wanted, random: Random::stream(1, 1) };
    let folder = std::env::temp_dir().join(format!("scumble-bench-abort-{}", std::process::id()));
    let tried =
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string()).and_then(|()| {
            try_all(&mut bench, &folder, rows.unwrap_or(4_000_000)).map_err(|e| e.to_string())
        });
    // A folder that stays behind is no reason to fail.
    _ = std::fs::remove_dir_all(&folder);
    if let Err(error) = tried {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

struct Bench {
    wanted: Option<String>,
    random: Random,
}

impl Bench {
    /// Whether a search, or one of a family, is tried.
    fn wants(&self, name: &str) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| name.contains(wanted) || wanted.contains(name))
    }

    /// Aborts a search again and again.
    fn abort<T>(&mut self, name: &str, search: impl Fn(&Watch) -> Result<T> + Sync) -> Result<()> {
        if !self.wants(name) {
            return Ok(());
        }
        let (whole, _) = aborted(&search, Duration::from_secs_f64(LONGEST))?;
        let (mut largest, mut sum, mut ended, mut worked) = (0.0f64, 0.0, 0, 0.0f64);
        for _ in 0..ABORTS {
            let moment = whole.as_secs_f64().min(LONGEST) * self.random.unit();
            let (_, latency) = aborted(&search, Duration::from_secs_f64(moment))?;
            if let Some((latency, work)) = latency {
                let milliseconds = latency.as_secs_f64() * 1000.0;
                (largest, sum, ended) = (largest.max(milliseconds), sum + milliseconds, ended + 1);
                worked = worked.max(work.as_secs_f64() * 1000.0);
            }
        }
        let mean = sum / f64::from(ended.max(1));
        let whole = whole.as_secs_f64();
        println!(
            "{name:36} {whole:6.2} s, {ended:2} aborts: largest {largest:7.1} ms, mean {mean:6.1} ms, \
             processor {worked:7.1} ms"
        );
        Ok(())
    }
}

/// The processor time of all threads so far; zero if the system does not tell.
fn work() -> Duration {
    let of_thread = |task: std::io::Result<std::fs::DirEntry>| {
        let told = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        told.split(' ').next()?.parse::<u64>().ok()
    };
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    Duration::from_nanos(threads.filter_map(of_thread).sum())
}

/// Aborts a search after some time: how long it took, and how long the end took, by the clock and
/// in processor time, if it came early.
fn aborted<T>(
    search: &(impl Fn(&Watch) -> Result<T> + Sync),
    after: Duration,
) -> Result<(Duration, Option<(Duration, Duration)>)> {
    let (watch, start) = (Watch::silent(), Instant::now());
    std::thread::scope(|scope| {
        let aborter = watch.clone();
        let (done, waiting) = std::sync::mpsc::channel::<()>();
        let handle = scope.spawn(move || {
            // A search that ends earlier drops the other end.
            let timed_out =
                waiting.recv_timeout(after) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
            let before = work();
            aborter.abort();
            timed_out.then(|| (Instant::now(), before))
        });
        // The answer is dropped too before the clock stops.
        let found = search(&watch).map(|_| ());
        let (end, took, after) = (Instant::now(), start.elapsed(), work());
        drop(done);
        let moment = handle.join().ok().flatten();
        match found {
            Ok(()) => Ok((took, None)),
            Err(Error::Interrupted) => {
                let latency = |(moment, before)| {
                    (end.saturating_duration_since(moment), after.saturating_sub(before))
                };
                Ok((took, moment.map(latency)))
            }
            Err(other) => Err(other),
        }
    })
}

fn try_all(bench: &mut Bench, folder: &Path, rows: u64) -> Result<()> {
    let data = folder.join("census.csv");
    let files = generate(Synthetic::Census, rows, 1, &data, None, &Watch::default())?;
    let census = Census { files, data };
    lattice(bench, &census)?;
    regions(bench, &census)?;
    local_recoding(bench, &census)?;
    cuts(bench, &census)?;
    instant(bench, &census)?;
    buckets(bench, &census)?;
    presence(bench, folder, rows)?;
    jobs(bench, &census, folder, rows)
}

/// Whole jobs, from a file to a file: reading, search, writing and verification.
fn jobs(bench: &mut Bench, census: &Census, folder: &Path, rows: u64) -> Result<()> {
    if !bench.wants("job") {
        return Ok(());
    }
    let out = folder.join("out");
    std::fs::create_dir_all(&out).map_err(Error::io(&out, "create"))?;
    for format in ["csv", "parquet", "arrow"] {
        let data = folder.join(format!("table.{format}"));
        generate(Synthetic::Census, rows, 1, &data, None, &Watch::default())?;
        let source = TableFile::open(&data)?;
        let cases = [
            ("incognito", "k = 100", "algorithm = \"incognito\""),
            ("mondrian", "k = 100", "algorithm = \"mondrian\""),
            ("local", "k = 100", "algorithm = \"local\""),
            ("rothko-s", "k = 100", "algorithm = \"rothko-s\""),
            ("rothko-t", "k = 100", "algorithm = \"rothko-t\""),
        ];
        for (name, privacy, search) in cases {
            let policy = census.policy(privacy, search)?;
            // Less than the table takes, for those that work on disk.
            let job = Job::new(policy);
            let job = if name.starts_with("rothko") { job.memory(128 << 20) } else { job };
            let release = out.join(format!("release.{format}"));
            bench.abort(&format!("job {name} {format}"), |watch| {
                let ran = job.run(&source, ReleaseFile::new(&release)?, watch).map(|_| ());
                // Outside of the job, and not what is measured.
                if ran.is_ok() {
                    _ = std::fs::remove_file(&release);
                    for ending in ["report.json", "private.json"] {
                        _ = std::fs::remove_file(out.join(format!("release.{format}.{ending}")));
                    }
                }
                ran
            })?;
            let left = std::fs::read_dir(&out).map_err(Error::io(&out, "read"))?.count();
            assert_eq!(left, 0, "files are left behind by {name}");
        }
    }
    Ok(())
}

struct Census {
    files: Vec<PathBuf>,
    data: PathBuf,
}

impl Census {
    /// The policy with other sections of privacy and search.
    fn policy(&self, privacy: &str, search: &str) -> Result<Policy> {
        let text = std::fs::read_to_string(&self.files[1]).unwrap_or_default();
        let attributes = text.split("[privacy]").next().unwrap_or("");
        let asked = format!("{attributes}[privacy]\n{privacy}\n[search]\n{search}\n");
        Policy::parse(&asked, &self.files[1])
    }

    /// The table, bound to such a policy.
    fn bound(&self, privacy: &str, search: &str) -> Result<(Policy, Table, Prepared)> {
        let policy = self.policy(privacy, search)?;
        let table = read(&self.data, &policy)?;
        let prepared = policy.prepare(&table)?;
        Ok((policy, table, prepared))
    }
}

fn read(file: &Path, policy: &Policy) -> Result<Table> {
    let source = TableFile::open(file)?;
    let schema = source.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let roles = policy.roles(&names, file, false)?;
    encode(&source, &roles, &Watch::default(), "read")
}

fn lattice(bench: &mut Bench, census: &Census) -> Result<()> {
    let records = "suppression = { scheme = \"records\", limit = 0.05 }";
    let diverse = "k = 5\nl-diversity = { kind = \"distinct\", l = 3 }";
    let asked = [
        ("incognito k", "k = 5", "loss = \"lm\""),
        ("incognito k, l, suppression", diverse, records),
        ("incognito t, cm", "t-closeness = 0.3", "loss = \"cm\""),
        ("incognito k, dm", "k = 50", "loss = \"dm\""),
    ];
    for (name, privacy, search) in asked {
        if !bench.wants(name) {
            continue;
        }
        let (_, _, prepared) = census.bound(privacy, search)?;
        for strategy in [Strategy::BestFirst, Strategy::TopDown, Strategy::BottomUp] {
            bench.abort(&format!("{name} {strategy:?}"), |watch| {
                incognito::search(&prepared.task, strategy, watch)
            })?;
        }
    }
    Ok(())
}

fn regions(bench: &mut Bench, census: &Census) -> Result<()> {
    let asked = [
        ("mondrian k", "k = 5", "algorithm = \"mondrian\""),
        (
            "mondrian k, l, info-gain",
            "k = 5\nl-diversity = { kind = \"distinct\", l = 3 }",
            "algorithm = \"mondrian\"\nsplit = \"info-gain\"\nregions = \"cover\"",
        ),
    ];
    for (name, privacy, search) in asked {
        if !bench.wants(name) {
            continue;
        }
        let (policy, _, prepared) = census.bound(privacy, search)?;
        bench.abort(name, |watch| {
            mondrian::search(&prepared.task, policy.search().partitioning, watch)
        })?;
    }
    Ok(())
}

fn local_recoding(bench: &mut Bench, census: &Census) -> Result<()> {
    if !bench.wants("local") {
        return Ok(());
    }
    let (policy, _, prepared) = census.bound("k = 100", "algorithm = \"local\"")?;
    let style = policy.search().partitioning.style;
    bench.abort("local", |watch| {
        let course = Course { style, seed: 1, top: 1 };
        local::search(&prepared.task, None, course, &mut |_| Some(0.5), watch)
    })
}

fn cuts(bench: &mut Bench, census: &Census) -> Result<()> {
    if !bench.wants("l-plus-optimize") && !bench.wants("annealing") {
        return Ok(());
    }
    let privacy = "l-diversity = { kind = \"frequency\", l = 3 }";
    let search = "algorithm = \"l-plus-optimize\"\nsuppression = { scheme = \"all-records\" }";
    let (_, _, prepared) = census.bound(privacy, search)?;
    let (Some(cuts), cells) = (&prepared.cuts, &prepared.task.cells) else { return Ok(()) };
    bench.abort("l-plus-optimize", |watch| {
        let machine = Machine::new(&cuts.problem, cells, watch)?;
        l_plus_optimize::search(&machine, Techniques::default(), 1, &mut |_| true)
    })?;
    bench.abort("annealing", |watch| {
        let machine = Machine::new(&cuts.problem, cells, watch)?;
        annealing::search(&machine, annealing::STEPS, 1, &mut |_| true)
    })
}

fn instant(bench: &mut Bench, census: &Census) -> Result<()> {
    if !["learning", "s-instant", "m-instant"].iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let privacy = "k = 5\nl-diversity = { kind = \"frequency\", l = 3 }";
    let (policy, table, prepared) = census.bound(privacy, "algorithm = \"s-instant\"")?;
    let task = &prepared.task;
    let kinds = [
        ("histogram", SummaryKind::Histogram, Structure::ChowLiu),
        ("bayes, tree", SummaryKind::Bayes, Structure::ChowLiu),
        ("bayes, greedy", SummaryKind::Bayes, Structure::Greedy),
        ("bayes, annealed", SummaryKind::Bayes, Structure::Annealed { seed: 1 }),
        ("sample", SummaryKind::Sample, Structure::ChowLiu),
    ];
    for (name, kind, structure) in kinds {
        let sampled = Some(1_000_000);
        let instant =
            InstantParameters { kind, structure, sampled, ..InstantParameters::default() };
        let parameters = Parameters { instant, ..Parameters::default() };
        let job = Job::new(policy.clone()).memory(8 << 30).parameters(parameters);
        let learn = |watch: &Watch| job.summarize_table(&table, watch);
        bench.abort(&format!("learning {name}"), learn)?;
        let by = By::Expectation(task.rows() as f64 / 100.0);
        let beliefs = policy.believe(learn(&Watch::default())?, &census.data)?;
        bench.abort(&format!("s-instant {name}"), |watch| {
            let estimator = Estimator::new(&beliefs, Shortcuts::ALL, watch)?;
            for candidate in Nodes::new(&estimator)?.candidates(by, watch)?.list {
                if holds(task, &candidate.mapping, watch)? {
                    break;
                }
            }
            Ok(())
        })?;
        bench.abort(&format!("s-instant over cuts {name}"), |watch| {
            let estimator = Estimator::new(&beliefs, Shortcuts::ALL, watch)?;
            s_instant::candidates(&estimator, by, watch)
        })?;
        bench.abort(&format!("m-instant {name}"), |watch| {
            let estimator = Estimator::new(&beliefs, Shortcuts::ALL, watch)?;
            let foreseen = m_instant::partition(&estimator, by, watch)?;
            m_instant::settle(task, &foreseen.regions, policy.search().partitioning, watch)
        })?;
    }
    Ok(())
}

fn buckets(bench: &mut Bench, census: &Census) -> Result<()> {
    if !bench.wants("sa-only") && !bench.wants("qi-sa") {
        return Ok(());
    }
    let (_, table, _) = census.bound("k = 5", "")?;
    let coded = table.with_role(Role::Sensitive).find_map(|column| match &column.data {
        Data::Coded { codes, dictionary, .. } => Some((codes.raw(), dictionary.len())),
        _ => None,
    });
    let Some((values, domain)) = coded else { return Ok(()) };
    let numbers: Vec<i64> = (0..domain as i64).collect();
    let weights = vec![1; domain];
    let shape = Shape::Balanced { arity: 2 };
    let hierarchy = Annotated::exact(&weights, &shape, Measure::Numbers(&numbers));
    let codes = (0..domain as u32).collect();
    let targets = [Target { codes, hierarchy, rounding: Default::default() }];
    let groups: Vec<u32> = table.row_cells.raw().iter().map(|cell| cell % 1000).collect();
    let tallies = Tallies::count(1000, &groups, values, &Watch::default())?;
    let problem = Problem {
        groups: &groups,
        values,
        tallies: &tallies,
        targets: &targets,
        target_of: &[0; 1000],
        fakes: Fakes::Share(Ratio::new(1, 20).unwrap_or(Ratio::ZERO)),
        memory: None,
    };
    bench.abort("sa-only", |watch| sa_only::search(&problem, watch))?;
    bench.abort("qi-sa", |watch| qi_sa::search(&problem, table.row_cells.raw(), watch))
}

fn presence(bench: &mut Bench, folder: &Path, rows: u64) -> Result<()> {
    if !["spalm", "mpalm", "sfalm", "mfalm"].iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let data = folder.join("part.csv");
    let files =
        generate(Synthetic::Subset(Selection::Uniform), rows, 1, &data, None, &Watch::default())?;
    let text = std::fs::read_to_string(&files[3]).unwrap_or_default();
    let attributes = text.split("[privacy").next().unwrap_or("");
    let asked = |world: &str| {
        let text = format!("{attributes}\n[privacy]\npresence = {{ {world} }}\n");
        Policy::parse(&text, &files[3])
    };
    let name = |file: &Path| file.display().to_string();
    let policy = asked(&format!("min = 0, max = 0.5, population = \"{}\"", name(&files[1])))?;
    let table = read(&data, &policy)?;
    let keys: Vec<&str> =
        table.with_role(Role::QuasiIdentifier).map(|column| column.name.as_str()).collect();
    let source = TableFile::open(&files[1])?;
    let schema = source.schema();
    let role =
        |name: &str| if keys.contains(&name) { Role::QuasiIdentifier } else { Role::Identifier };
    let roles: Vec<Role> =
        schema.fields().iter().map(|field| role(field.name().as_str())).collect();
    let world = encode(&source, &roles, &Watch::default(), "read")?;
    let outside = Outside { population: Some(&world), confidences: None };
    let prepared = policy.prepare_within(&table, outside, &Watch::default())?;
    let partitioning = policy.search().partitioning;
    bench.abort("spalm", |watch| spalm::search(&prepared.task, Strategy::default(), watch))?;
    bench.abort("mpalm", |watch| mpalm::search(&prepared.task, partitioning, watch))?;
    let policy = asked(&format!(
        "min = 0, max = 0.5, confidence = 0.9, marginals = \"{}\"",
        name(&files[2])
    ))?;
    // What was judged is remembered: each search begins with a task of its own.
    let fresh = || policy.prepare_within(&table, Outside::default(), &Watch::default());
    let tasks: Vec<Prepared> = (0..=ABORTS).map(|_| fresh()).collect::<Result<_>>()?;
    let next = std::sync::atomic::AtomicUsize::new(0);
    let task = || {
        let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        &tasks[at % tasks.len()].task
    };
    bench.abort("sfalm", |watch| sfalm::search(task(), Strategy::default(), watch))?;
    bench.abort("mfalm", |watch| mfalm::search(task(), watch))
}
