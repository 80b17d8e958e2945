//! The arguments of the command.

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::convert::Infallible;
use std::path::PathBuf;

/// Anonymize tables about people and keep as much detail as the policy allows.
#[derive(Debug, Parser)]
#[command(name = "scumble", version, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, ClapArgs)]
pub struct Common {
    /// Print the report as one JSON object, and nothing else
    #[arg(long, global = true)]
    pub json: bool,

    /// Number of threads, at most 1024 (default: all cores)
    #[arg(
        long,
        global = true,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    pub threads: Option<u16>,

    /// Limit of the working memory, such as 512MiB or 4GB (default: half of the available memory)
    #[arg(long, global = true, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,

    /// Format of standard input and output; xlsx only for input. CSV and JSON lines may be compressed
    /// with gzip or Zstandard
    #[arg(long, global = true, value_enum)]
    pub format: Option<FormatArg>,

    /// Delimiter of CSV input: one character, or `tab` (default: detected)
    #[arg(long, global = true, value_name = "CHAR", value_parser = delimiter)]
    pub delimiter: Option<u8>,

    /// Encoding of CSV input, such as utf-8, utf-16le or windows-1252 (default: detected)
    #[arg(long, global = true, value_name = "NAME")]
    pub encoding: Option<String>,

    /// Sheet of an .xlsx input (default: the first visible one)
    #[arg(long, global = true, value_name = "NAME")]
    pub sheet: Option<String>,

    /// Rename input columns that have no name or a duplicate one: x_2, column_3
    #[arg(long, global = true)]
    pub rename_duplicates: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    Csv,
    Jsonl,
    Parquet,
    Arrow,
    Xlsx,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  Which kind of recoding loses the least?
    scumble compare patients.csv --policy policy.toml
  What would a larger k cost?
    scumble compare patients.csv --policy policy.toml --k 2,5,10,20
  Which of two policies leaves more detail?
    scumble compare patients.csv --policy strict.toml --policy loose.toml";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Guess the type and role of each column and write a policy to edit
    Init {
        /// Input table, or - for standard input
        input: PathBuf,
        /// Policy to write; the file must not exist (default: policy.toml)
        #[arg(short, long, default_value = "policy.toml", hide_default_value = true)]
        output: PathBuf,
        /// Group texts by their frequency instead of learning from the other columns which values
        /// are alike
        #[arg(long)]
        no_learned: bool,
    },
    /// Find the best release that the policy allows, verify it and write it
    Anonymize {
        /// Input table, or - for standard input
        input: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        #[command(flatten)]
        output: OutputArgs,
        /// Order in which to visit recodings; all orders find the same cost (default: best-first)
        #[arg(long, value_enum)]
        strategy: Option<StrategyArg>,
        /// Set the level of every quasi-identifier and skip the search: age=2,sex=0,…
        #[arg(long, value_name = "NAME=LEVEL,…", value_delimiter = ',', value_parser = level)]
        levels: Option<Vec<(String, usize)>>,
        /// Save the recoding for `scumble apply`
        #[arg(long, value_name = "FILE")]
        save_recoding: Option<PathBuf>,
        #[command(flatten)]
        cuts: CutArgs,
        #[command(flatten)]
        presence: PresenceArgs,
        #[command(flatten)]
        disk: DiskArgs,
        #[command(flatten)]
        instant: Box<AnonymizeInstantArgs>,
    },
    /// Summarize a table in one scan, for `estimate`, s-instant and m-instant
    Summarize {
        /// Input table, or - for standard input
        input: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        /// Summary to write (JSON)
        #[arg(short, long)]
        output: PathBuf,
        #[command(flatten)]
        build: BuildArgs,
        /// Number of rows in a sample (default: 20000)
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        rows: Option<u32>,
        /// Seed for sampling and annealing (default: 0)
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
    },
    /// Estimate from a summary which recodings are likely to hold, cheapest first
    Estimate {
        /// Summary written by `scumble summarize`
        #[arg(long, value_name = "FILE")]
        summary: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        /// Estimate only this recoding: age=2,sex=0,…
        #[arg(long, value_name = "NAME=LEVEL,…", value_delimiter = ',', value_parser = level)]
        levels: Option<Vec<(String, usize)>>,
        #[command(flatten)]
        believe: BelieveArgs,
    },
    /// Recode more rows with a saved recoding, then verify and write them
    Apply {
        /// Recoding written by --save-recoding
        recoding: PathBuf,
        /// Input table, or - for standard input
        input: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Re-check a release from its file alone
    Verify {
        /// Release: a file, or the folder of a distribution
        release: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        /// Original table. A distribution is compared with it, caps given by `from-frequency` are
        /// derived from it, and confidences of a `confidence-column` are read from it
        #[arg(long, value_name = "FILE")]
        original: Option<PathBuf>,
        /// Also write the result as an HTML page, which may be published with the release
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Show what each column of a release looks like, before and after
    Show {
        /// Release: a file, or the folder of a distribution
        release: PathBuf,
        /// Policy file (TOML). Without it, roles are those that the report beside the release tells
        #[arg(short, long)]
        policy: Option<PathBuf>,
        /// Original table. Its counts are shown beside those of the release, for the owner only
        #[arg(long, value_name = "FILE")]
        original: Option<PathBuf>,
        /// Also write an HTML page; with --original it is for the owner only
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Compute guaranteed bounds on an aggregate from a distribution release
    Query {
        /// Folder of the release
        release: PathBuf,
        /// Query: SELECT COUNT|SUM|AVG|MIN|MAX|MEDIAN(attribute) FROM release [WHERE …] [GROUP BY …]
        sql: String,
    },
    /// Measure the re-identification risk of a table or a release
    Risk {
        /// Table or release
        file: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        /// Report the share of rows with a higher risk than this (default: 0.2)
        #[arg(long, default_value_t = 0.2, hide_default_value = true, value_parser = probability)]
        threshold: f64,
        /// Population that contains the table, recoded in the same way (default: the table itself)
        #[arg(long, value_name = "FILE")]
        population: Option<PathBuf>,
        /// Also write the result as an HTML page
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Compare kinds of recoding, policies or values of k; nothing is released
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare {
        /// Input table, or - for standard input
        input: PathBuf,
        /// Policy file (TOML). With one policy, the kinds of recoding that it allows are compared; with
        /// several, the policies
        #[arg(short, long, required = true, value_name = "FILE")]
        policy: Vec<PathBuf>,
        /// Values of k to compare; they override the policies
        #[arg(short, long, value_name = "K,…", value_delimiter = ',')]
        k: Vec<u64>,
        /// Seed for local recodings and annealing (default: 0), and for what is otherwise drawn with
        /// the operating system's random numbers
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
        /// Also write the comparison as an HTML page, for the owner only
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Derive a range for delta-presence from the acceptable cost of misuse
    Advise {
        #[command(flatten)]
        stakes: AdviseArgs,
    },
    /// Generate a synthetic table with its policy and hierarchies
    Generate {
        /// Kind of table
        #[arg(value_enum)]
        kind: KindArg,
        /// Number of rows; for a subset, the size of the population
        #[arg(long, allow_negative_numbers = true)]
        rows: u64,
        /// How to select the people of a subset: uniformly, or by age, sex and race (default:
        /// uniform)
        #[arg(
            long,
            value_enum,
            default_value_t = SelectionArg::Uniform,
            hide_default_value = true
        )]
        selection: SelectionArg,
        /// Random seed; the same seed gives the same bytes (default: 0)
        #[arg(long, default_value_t = 0, hide_default_value = true)]
        seed: u64,
        /// Table to write: .csv, .jsonl (also with .gz or .zst), .parquet or .arrow
        #[arg(short, long)]
        output: PathBuf,
        /// Policy to write (default: beside the table)
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// Check, draw or build hierarchies
    Hierarchy {
        #[command(subcommand)]
        action: HierarchyCommand,
    },
    /// Published experiments; run them from a checkout: cargo run --release -p bench -- NAME
    Bench {
        /// Name of the experiment
        #[arg(value_parser = experiment)]
        name: Infallible,
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
}

/// How a summary is built.
#[derive(Debug, ClapArgs)]
pub struct BuildArgs {
    /// Kind of summary: independent attributes, a Bayesian network or a uniform sample (default:
    /// histogram)
    #[arg(long, value_enum)]
    pub kind: Option<SummaryArg>,
    /// Maximum number of parents of an attribute in the network: 1 for the best tree (Chow and Liu),
    /// 2 for a search by BIC (default: 1)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub max_parents: Option<u8>,
    /// How to search for a network with two parents (default: greedy)
    #[arg(long, value_enum)]
    pub search: Option<StructureArg>,
}

/// How estimates are made and judged.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Instant algorithms (s-instant, m-instant)")]
pub struct BelieveArgs {
    /// Accept a recoding by the probability that all classes hold, or by the expected number of rows
    /// in classes that fail (default: expectation if rows may be suppressed, else probability)
    #[arg(long, value_enum)]
    pub by: Option<ByArg>,
    /// Minimum probability (default: 0.8; for m-instant 0.95), or maximum number of rows expected to
    /// fail (default: the number that may be suppressed, at least 1)
    #[arg(long, value_name = "X")]
    pub threshold: Option<f64>,
    /// Switch off shortcuts of the estimates: hybrid, expo, sd-cut, limit, max. For a presence with
    /// marginals: pa, sd, dm, dc, moments, refinement, sharing
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub without: Vec<String>,
}

/// The summary of an instant algorithm.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Instant algorithms (s-instant, m-instant)")]
pub struct AnonymizeInstantArgs {
    /// Use this summary instead of building one from the input
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Kind of summary to build from the input (default: histogram)
    #[arg(long, value_enum, value_name = "KIND")]
    pub summary_kind: Option<SummaryArg>,
    #[command(flatten)]
    pub believe: BelieveArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SummaryArg {
    Histogram,
    Bayes,
    Sample,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StructureArg {
    Greedy,
    Annealed,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ByArg {
    Probability,
    Expectation,
}

#[derive(Debug, Subcommand)]
pub enum HierarchyCommand {
    /// Check that a hierarchy file is a tree without ambiguous labels
    Check {
        /// Hierarchy file
        file: PathBuf,
    },
    /// Draw a hierarchy file, or the hierarchy of a column of a table
    Draw {
        /// Hierarchy file; a table if --policy is given
        file: PathBuf,
        /// Policy that defines the hierarchy of the column
        #[arg(short, long, requires = "attribute")]
        policy: Option<PathBuf>,
        /// Name of the column
        #[arg(short, long, requires = "policy")]
        attribute: Option<String>,
        /// Draw all nodes (default: at most 12 children of a node)
        #[arg(long)]
        all: bool,
    },
    /// Write the hierarchy of a column of a table to a file
    Build {
        /// Input table, or - for standard input
        input: PathBuf,
        /// Policy that defines the hierarchy of the column
        #[arg(short, long)]
        policy: PathBuf,
        /// Name of the column
        #[arg(short, long)]
        attribute: String,
        /// Hierarchy file to write; it must not exist
        #[arg(short, long)]
        output: PathBuf,
    },
}

/// For searches for cuts: l-plus-optimize and annealing.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Cuts (l-plus-optimize, annealing)")]
pub struct CutArgs {
    /// End the search after this time with the best cut so far: 10s, 500ms or 2m
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<String>,
    /// End the search for a local recoding if at most this share of its LM is avoidable: 0.05, 5%
    #[arg(long, value_name = "SHARE")]
    pub gap: Option<String>,
    /// Choose at random among the N best cuts or local recodings, against minimality attacks
    /// (default: 1)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub top: Option<u16>,
    /// Generalize the cut by one random step, against minimality attacks
    #[arg(long)]
    pub extra_generalization: bool,
    /// Suppress up to this share of rows at random beyond need, against minimality attacks: 0.01, 1%
    #[arg(long, value_name = "SHARE")]
    pub extra_suppression: Option<String>,
}

/// How confident presence is judged.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Presence with marginals (sfalm, mpalm)")]
pub struct PresenceArgs {
    /// Ignore densities more than N standard deviations from the mean (SD; default: 2)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=9))]
    pub sigmas: Option<u8>,
    /// Group counts into buckets of size N (DC; default: 4)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..))]
    pub bucket: Option<u16>,
}

#[derive(Debug, ClapArgs)]
pub struct PolicyArgs {
    /// Policy file (TOML)
    #[arg(short, long)]
    pub policy: PathBuf,
    /// Minimum number of rows in a class; overrides the policy
    #[arg(short)]
    pub k: Option<u64>,
    /// Loss to minimize: lm, dm or cm; overrides the policy
    #[arg(long)]
    pub loss: Option<String>,
    /// Search algorithm: auto, incognito, s-instant, mondrian, m-instant, rothko-t, rothko-s,
    /// l-plus-optimize, annealing, spalm, mpalm, sfalm, sa-only or qi-sa; overrides the policy
    #[arg(long)]
    pub algorithm: Option<String>,
    /// Suppression scheme: records, none, all-records, violating-records, all-values or
    /// violating-values; overrides the policy
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Maximum share of rows to suppress: 0.05, 5% or 1/20; overrides the policy
    #[arg(long, value_name = "SHARE")]
    pub suppression: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct OutputArgs {
    /// Release to write: .csv, .jsonl (also with .gz or .zst), .parquet or .arrow; - for standard
    /// output; a folder for a distribution
    #[arg(short, long)]
    pub output: PathBuf,
    /// Keep the row order of the input, which an outsider may know
    #[arg(long)]
    pub keep_order: bool,
    /// Random seed. It makes the release reproducible, but also predictable: without a seed,
    /// violating-records, --top, --extra-generalization and --extra-suppression use the operating
    /// system's random numbers
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Also write an HTML page about the release, for the owner only; `scumble verify --html` writes
    /// one that may be published
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// For tables that do not fit into memory: rothko-t and rothko-s.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Tables larger than memory (rothko-t, rothko-s)")]
pub struct DiskArgs {
    /// Rows in a sample, and in a partition finished in memory (default: depends on --memory)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    pub sample_tuples: Option<u64>,
    /// Frequency groups of rothko-t in memory (default: depends on --memory)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub frequency_groups: Option<u32>,
    /// Partitions written at a time (default: depends on --memory)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=65_536))]
    pub fan_out: Option<u32>,
    /// Probability that a sample leads to a split that must be undone (default: 0.05)
    #[arg(long, value_parser = alpha)]
    pub alpha: Option<f64>,
    /// Trust samples without a test, for comparison
    #[arg(long)]
    pub naive: bool,
    /// Folder for temporary files (default: the system's temporary folder)
    #[arg(long, value_name = "DIR")]
    pub spill_dir: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StrategyArg {
    BestFirst,
    TopDown,
    BottomUp,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum KindArg {
    /// A census with eight quasi-identifiers and their hierarchies
    Census,
    /// The table of Agrawal et al., with nine numeric quasi-identifiers
    Agrawal,
    /// A subset of a census whose membership is sensitive, with the population and its marginals
    Subset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SelectionArg {
    Uniform,
    Biased,
}

/// What is known and what is acceptable. All costs have the same unit.
#[derive(Debug, ClapArgs)]
pub struct AdviseArgs {
    /// Probability that a person of the population has the condition that everyone in the table has
    #[arg(long)]
    pub prior: f64,
    /// Number of people in the population
    #[arg(long)]
    pub population: f64,
    /// Number of people in the table
    #[arg(long)]
    pub table: f64,
    /// Cost of being known to have the condition, in any unit
    #[arg(long)]
    pub cost: f64,
    /// Acceptable expected cost if belief in the condition rises, in the same unit
    #[arg(long)]
    pub misuse: f64,
    /// Acceptable expected cost if belief in the condition falls (default: unlimited)
    #[arg(long)]
    pub misuse_below: Option<f64>,
    /// Confidence in the range if only marginals are known (default: 0.95)
    #[arg(long, default_value_t = 0.95, hide_default_value = true)]
    pub confidence: f64,
}

/// Refuses every experiment: the command has none.
fn experiment(_: &str) -> Result<Infallible, String> {
    Err("run experiments from a checkout: `cargo run --release -p bench -- NAME`".into())
}

fn alpha(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number| *number > 0.0 && *number <= 0.5)
        .ok_or("expected a number above 0 and at most 0.5".into())
}

fn size(text: &str) -> Result<u64, String> {
    let wrong = || "expected a size such as 512MiB or 4GB".to_string();
    let split = text
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let units = [("", 1.0), ("B", 1.0), ("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)];
    let binary = [
        ("K", 10),
        ("M", 20),
        ("G", 30),
        ("T", 40),
        ("KIB", 10),
        ("MIB", 20),
        ("GIB", 30),
        ("TIB", 40),
    ];
    let unit = unit.trim().to_ascii_uppercase();
    let decimal = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let factor = decimal.or_else(|| {
        binary.iter().find(|(name, _)| *name == unit).map(|(_, power)| (1u64 << power) as f64)
    });
    let bytes = digits.parse::<f64>().map_err(|_| wrong())? * factor.ok_or_else(wrong)?;
    // Less would not hold a batch of rows.
    if !(16.0 * 1_048_576.0..1e18).contains(&bytes) {
        return Err("the minimum is 16MiB".into());
    }
    Ok(bytes as u64)
}

fn probability(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number| (0.0..=1.0).contains(number))
        .ok_or("expected a number from 0 to 1".into())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" | "\t" => Ok(b'\t'),
        _ if text.len() == 1 && !matches!(text, "\"" | "\n" | "\r") => Ok(text.as_bytes()[0]),
        _ => Err("expected one ASCII character, or `tab`".into()),
    }
}

fn level(text: &str) -> Result<(String, usize), String> {
    // The name may hold an equals sign; the level cannot.
    let (name, level) = text.rsplit_once('=').ok_or("expected NAME=LEVEL")?;
    Ok((name.to_string(), level.trim().parse().map_err(|_| "the level must be a whole number")?))
}
