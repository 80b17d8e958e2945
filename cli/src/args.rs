//! What may be typed.

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use scumble::search::lattice::incognito::Strategy;
use std::path::PathBuf;

/// Anonymizes tables about people: the release keeps as much detail as can be proven safe.
#[derive(Debug, Parser)]
#[command(name = "scumble", version, about, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, ClapArgs)]
pub struct Common {
    /// Print the report, and nothing else, as one JSON object
    #[arg(long, global = true)]
    pub json: bool,

    /// Threads to use; all cores where not given
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// The delimiter of CSV inputs; found by itself where not given (`tab` for a tab)
    #[arg(long, global = true, value_name = "CHAR", value_parser = delimiter)]
    pub delimiter: Option<u8>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Guess types and roles of a table's columns and write a policy to edit
    Init {
        input: PathBuf,
        /// Where to write the policy; it must not exist yet
        #[arg(short, long, default_value = "policy.toml")]
        output: PathBuf,
    },
    /// Find the best release that the policy allows, verify it and write it
    Anonymize {
        input: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        #[command(flatten)]
        output: OutputArgs,
        /// The order in which recodings are visited; all find the same cost
        #[arg(long, value_enum, default_value_t = StrategyArg::BestFirst)]
        strategy: StrategyArg,
        /// Fix the level of every quasi-identifier by hand, without a search: age=2,sex=0,…
        #[arg(long, value_name = "NAME=LEVEL,…", value_delimiter = ',', value_parser = level)]
        levels: Option<Vec<(String, usize)>>,
        /// Save the recoding, to be applied to other rows later
        #[arg(long, value_name = "FILE")]
        save_recoding: Option<PathBuf>,
    },
    /// Recode more rows in the way of a saved recoding, verified as strictly
    Apply {
        recoding: PathBuf,
        input: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Re-check a release from its file alone
    Verify {
        release: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
    },
    /// Measure the re-identification risk of a table or a release
    Risk {
        file: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        /// Risks above this count as high
        #[arg(long, default_value_t = 0.2, value_parser = probability)]
        threshold: f64,
        /// A table that contains this one, recoded in the same way: what a journalist knows
        #[arg(long, value_name = "FILE")]
        population: Option<PathBuf>,
    },
    /// Make a synthetic table with its policy and hierarchies
    Generate {
        #[arg(value_enum)]
        kind: KindArg,
        /// How many rows
        #[arg(long, allow_negative_numbers = true)]
        rows: u64,
        /// Same seed, same bytes
        #[arg(long, default_value_t = 0)]
        seed: u64,
        #[arg(short, long)]
        output: PathBuf,
        /// Where to write the policy; beside the table where not given
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// Re-run a published experiment and print its table
    Bench {
        #[arg(value_enum)]
        name: BenchArg,
        /// The folder with adult.csv and its hierarchies; synthetic census data is used where not given
        #[arg(long, value_name = "DIR")]
        adult: Option<PathBuf>,
        /// Runs of each case; the fastest counts
        #[arg(long, default_value_t = 20)]
        runs: u32,
    },
}

#[derive(Debug, ClapArgs)]
pub struct PolicyArgs {
    /// The policy
    #[arg(short, long)]
    pub policy: PathBuf,
    /// Require classes of at least K rows, whatever the policy says
    #[arg(short)]
    pub k: Option<u64>,
    /// Minimise another loss than the policy says: lm, dm or cm
    #[arg(long)]
    pub loss: Option<String>,
    /// Search in another way than the policy says: auto or incognito
    #[arg(long)]
    pub algorithm: Option<String>,
    /// Allow another share of rows to be suppressed than the policy does: 0.05, 5% or 1/20
    #[arg(long, value_name = "SHARE")]
    pub suppression: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct OutputArgs {
    /// The release: .csv, .parquet or .arrow. Its report is written beside it
    #[arg(short, long)]
    pub output: PathBuf,
    /// Leave the rows in the order of the input, which an outsider may know
    #[arg(long)]
    pub keep_order: bool,
    /// For whatever is drawn at random; nothing is in a full-domain release, whose bytes follow from input and policy
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StrategyArg {
    BestFirst,
    TopDown,
    BottomUp,
}

impl From<StrategyArg> for Strategy {
    fn from(arg: StrategyArg) -> Strategy {
        match arg {
            StrategyArg::BestFirst => Strategy::BestFirst,
            StrategyArg::TopDown => Strategy::TopDown,
            StrategyArg::BottomUp => Strategy::BottomUp,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum KindArg {
    Census,
    Agrawal,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum BenchArg {
    /// The full-domain search against ARX, on the Adult table
    FullDomain,
}

fn probability(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|number| (0.0..=1.0).contains(number)).ok_or("a number from 0 to 1".into())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" | "\t" => Ok(b'\t'),
        _ if text.len() == 1 && !matches!(text, "\"" | "\n" | "\r") => Ok(text.as_bytes()[0]),
        _ => Err("one ASCII character, or `tab`".into()),
    }
}

fn level(text: &str) -> Result<(String, usize), String> {
    // The name may hold an equals sign; the level cannot.
    let (name, level) = text.rsplit_once('=').ok_or("NAME=LEVEL")?;
    Ok((name.to_string(), level.trim().parse().map_err(|_| "a level is a whole number")?))
}
