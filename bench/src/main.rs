//! Published experiments, re-run: one file each. They reach inside the library.

mod agrawal;
mod distribution;
mod estimates;
mod full_domain;
mod harness;
mod init;
mod instant;
mod l_plus;
mod l_plus_utility;
mod mondrian;
mod presence;
mod presence_claims;
mod rothko;
mod rothko_quality;
mod rothko_tests;
mod tree;

use clap::{Parser, ValueEnum};
use harness::Measured;
use scumble::error::Result;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Re-runs a published experiment and prints its table.
#[derive(Debug, Parser)]
#[command(name = "bench", version, about, max_term_width = 100)]
struct Args {
    #[arg(value_enum)]
    name: Experiment,
    /// The folder with adult.csv and its hierarchies (default: synthetic census data)
    #[arg(long, value_name = "DIR")]
    adult: Option<PathBuf>,
    /// A Python that has the packages anonypy and anonypyx, to be measured on the same table
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// The program scumble, for experiments that time whole commands (default: the one in the
    /// folder of this executable)
    #[arg(long, value_name = "PATH")]
    scumble: Option<PathBuf>,
    /// Runs of each case, of which the fastest counts (default: 20); for rothko-quality, data sets
    /// that are averaged over (default: 3); for estimates, random cases (default: 800)
    #[arg(long)]
    runs: Option<u32>,
    /// Rows of the synthetic table; for rothko, rothko-tests, rothko-quality, distribution, presence,
    /// init and instant, and for l-plus to measure that size alone
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1000..))]
    rows: Option<u64>,
    /// Threads to use (default: all cores)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Print the measurements as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Experiment {
    /// The full-domain search against ARX, on the Adult table
    FullDomain,
    /// Mondrian in memory: the search alone, and on the Adult table the whole command against
    /// Python's
    Mondrian,
    /// The best cuts: the experiments of l+-Optimize, on the Adult table
    LPlus,
    /// What the best cuts are worth: thresholds by the average l, and classification errors, on the
    /// Adult table
    LPlusUtility,
    /// Partitioning on disk: I/O and time against frequency groups, sample size, data size and k
    Rothko,
    /// Nodes that Rothko-S prunes, with its tests and without
    RothkoTests,
    /// What a sample costs in quality
    RothkoQuality,
    /// Bounds of queries on distribution releases, figures 5 to 13 of the paper
    Distribution,
    /// Delta-presence without complete world knowledge: figures 4 to 7, table 5 and two claims
    Presence,
    /// What the hierarchies of `init` are worth: learned ones against others, on synthetic tables and
    /// on the Adult table
    Init,
    /// Decided from a summary: figures 5 to 12 and table V of the paper on instant anonymization
    Instant,
    /// Estimates of instant anonymization, and the errors they state, against dealt tables
    Estimates,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(option) = args.unused() {
        let name = args.name.to_possible_value();
        let name = name.as_ref().map_or("this experiment", |value| value.get_name());
        let problem = format!("{option} cannot be used with {name}; leave it out");
        let _ = writeln!(std::io::stderr().lock(), "bench: {problem}");
        return ExitCode::from(2);
    }
    start_pool(args.threads);
    match measure(&args) {
        Ok(tables) => {
            let shown =
                if args.json { to_json(&tables).to_string() + "\n" } else { to_text(&tables) };
            // A reader that has closed the pipe does not want the rest.
            let _ = std::io::stdout().lock().write_all(shown.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr().lock(), "bench: {error}");
            ExitCode::from(error.kind() as u8)
        }
    }
}

impl Args {
    /// The first option that was given and has no effect on the experiment.
    fn unused(&self) -> Option<&'static str> {
        use Experiment::*;
        let on_rows = !matches!(self.name, FullDomain | Mondrian | LPlusUtility | Estimates);
        let on_adult = !matches!(self.name, Rothko | RothkoTests | RothkoQuality | Estimates);
        let on_runs = matches!(self.name, FullDomain | Mondrian | RothkoQuality | Estimates);
        let on_commands = matches!(self.name, Mondrian);
        let options = [
            ("--adult", self.adult.is_some(), on_adult),
            ("--python", self.python.is_some(), on_commands),
            ("--scumble", self.scumble.is_some(), on_commands),
            ("--runs", self.runs.is_some(), on_runs),
            ("--rows", self.rows.is_some(), on_rows),
        ];
        let unused = options.into_iter().find(|(_, is_given, acts)| *is_given && !acts);
        unused.map(|(option, ..)| option)
    }
}

/// Starts the global pool the way the command does, with this thread in it unless it is alone.
fn start_pool(threads: Option<u16>) {
    let threads = threads
        .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    let pool = if threads > 1 { pool.use_current_thread() } else { pool };
    // Fails only if there is a pool already, and there is none.
    let _ = pool.build_global();
}

fn measure(args: &Args) -> Result<Vec<Measured>> {
    let adult = args.adult.as_deref();
    let fastest_of = args.runs.unwrap_or(20);
    Ok(match args.name {
        Experiment::FullDomain => vec![full_domain::full_domain(adult, fastest_of)?],
        Experiment::Mondrian => {
            let (python, scumble) = (args.python.as_deref(), args.scumble.as_deref());
            vec![mondrian::mondrian(adult, python, scumble, fastest_of)?]
        }
        Experiment::LPlus => l_plus::l_plus(adult, args.rows)?,
        Experiment::LPlusUtility => l_plus_utility::l_plus_utility(adult)?,
        Experiment::Rothko => vec![rothko::rothko(args.rows)?],
        Experiment::RothkoTests => vec![rothko_tests::rothko_tests(args.rows)?],
        Experiment::RothkoQuality => vec![rothko_quality::rothko_quality(args.rows, args.runs)?],
        Experiment::Distribution => {
            let rows = args.rows.map_or(10_000, |rows| rows as usize);
            vec![distribution::distribution(adult, rows)?]
        }
        Experiment::Presence => presence::presence(adult, args.rows)?,
        Experiment::Init => init::init(adult, args.rows)?,
        Experiment::Instant => instant::instant(adult, args.rows)?,
        Experiment::Estimates => {
            vec![estimates::estimates(args.runs.unwrap_or(800), estimates::RUNS)?]
        }
    })
}

fn to_json(tables: &[Measured]) -> Value {
    match tables {
        [table] => table.to_json(),
        tables => json!({"tables": tables.iter().map(Measured::to_json).collect::<Vec<_>>()}),
    }
}

fn to_text(tables: &[Measured]) -> String {
    let texts: Vec<String> = tables.iter().map(Measured::to_text).collect();
    texts.join("\n")
}
