//! What may be typed.

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::convert::Infallible;
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

    /// Threads to use (default: all cores)
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,

    /// Working memory that may be used: 512MiB, 4GB, …; half of what the machine has to spare where
    /// not given
    #[arg(long, global = true, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,

    /// The format of `-`, which is standard input or output: csv (also compressed with gzip or
    /// Zstandard), parquet or arrow
    #[arg(long, global = true, value_enum)]
    pub format: Option<FormatArg>,

    /// The delimiter of CSV inputs; detected by default (`tab` for a tab)
    #[arg(long, global = true, value_name = "CHAR", value_parser = delimiter)]
    pub delimiter: Option<u8>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FormatArg {
    Csv,
    Parquet,
    Arrow,
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
        /// The order in which recodings are visited; all find the same cost (default: best-first)
        #[arg(long, value_enum)]
        strategy: Option<StrategyArg>,
        /// Fix the level of every quasi-identifier by hand, without a search: age=2,sex=0,…
        #[arg(long, value_name = "NAME=LEVEL,…", value_delimiter = ',', value_parser = level)]
        levels: Option<Vec<(String, usize)>>,
        #[command(flatten)]
        cuts: CutArgs,
        #[command(flatten)]
        presence: PresenceArgs,
        /// Save the recoding, to be applied to other rows later
        #[arg(long, value_name = "FILE")]
        save_recoding: Option<PathBuf>,
        #[command(flatten)]
        disk: DiskArgs,
        #[command(flatten)]
        instant: Box<AnonymizeInstantArgs>,
    },
    /// Summarize a table in one scan: what `estimate`, s-instant and m-instant go by
    Summarize {
        input: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        /// The summary, a JSON file
        #[arg(short, long)]
        output: PathBuf,
        #[command(flatten)]
        build: BuildArgs,
        /// Rows of a sample
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        rows: Option<u32>,
        /// Draws the sample, and anneals
        #[arg(long, value_name = "N", default_value_t = 0)]
        seed: u64,
    },
    /// Tell from a summary alone which recodings likely hold and what they cost, the cheapest first
    Estimate {
        /// The summary
        #[arg(long, value_name = "FILE")]
        summary: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        /// Only this recoding: age=2,sex=0,…
        #[arg(long, value_name = "NAME=LEVEL,…", value_delimiter = ',', value_parser = level)]
        levels: Option<Vec<(String, usize)>>,
        #[command(flatten)]
        believe: BelieveArgs,
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
        /// The table that was released: a distribution release is compared with it, and caps that
        /// follow from frequencies follow from its
        #[arg(long, value_name = "FILE")]
        original: Option<PathBuf>,
    },
    /// Answer an aggregate query from a distribution release, with bounds that hold for certain
    Query {
        /// The folder of the release
        release: PathBuf,
        /// SELECT COUNT|SUM|AVG|MIN|MAX|MEDIAN(attribute) FROM release [WHERE …] [GROUP BY …]
        sql: String,
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
    /// Turn acceptable misuse into the range of delta-presence
    Advise {
        #[command(flatten)]
        stakes: AdviseArgs,
    },
    /// Make a synthetic table with its policy and hierarchies
    Generate {
        #[arg(value_enum)]
        kind: KindArg,
        /// How many rows; of a subset, how many people there are in all
        #[arg(long, allow_negative_numbers = true)]
        rows: u64,
        /// Who is in a subset: everybody alike, or by age, sex and race
        #[arg(long, value_enum, default_value_t = SelectionArg::Uniform)]
        selection: SelectionArg,
        /// Same seed, same bytes
        #[arg(long, default_value_t = 0)]
        seed: u64,
        #[arg(short, long)]
        output: PathBuf,
        /// Where to write the policy (default: beside the table)
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// Build, check and draw hierarchies
    Hierarchy {
        #[command(subcommand)]
        action: HierarchyCommand,
    },
    /// Published experiments, which are run from a checkout: cargo run --release -p bench -- NAME
    Bench {
        #[arg(value_parser = experiment)]
        name: Infallible,
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
}

/// How a summary is built.
#[derive(Debug, ClapArgs)]
pub struct BuildArgs {
    /// What the summary holds: independent attributes, a Bayesian network, or a uniform sample
    /// (default: histogram)
    #[arg(long, value_enum)]
    pub kind: Option<SummaryArg>,
    /// Parents of an attribute in the network: 1 is the best tree (Chow and Liu), 2 is found by BIC
    /// (default: 1)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub max_parents: Option<u8>,
    /// How a network with two parents is searched (default: greedy)
    #[arg(long, value_enum)]
    pub search: Option<StructureArg>,
}

/// How estimates are made and judged.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Decided by belief (s-instant, m-instant)")]
pub struct BelieveArgs {
    /// Go by the probability that all classes hold, or by the expected number of rows in classes
    /// that do not; the expectation where rows may be suppressed and nothing else is said
    #[arg(long, value_enum)]
    pub by: Option<ByArg>,
    /// The least probability (default: 0.8, or 0.95 for m-instant), or the most rows that are
    /// expected to fail (those that may be suppressed, at least 1)
    #[arg(long, value_name = "X")]
    pub threshold: Option<f64>,
    /// Estimate without some of the shortcuts: hybrid, expo, sd-cut, limit, max. For a presence
    /// with marginals: pa, sd, dm and dc of its paper; moments, refinement and sharing
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub without: Vec<String>,
}

/// What a release that is decided by belief goes by.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Decided by belief (s-instant, m-instant)")]
pub struct AnonymizeInstantArgs {
    /// Go by this summary instead of one that is made of the input
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// The summary that is made of the input
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
    /// Check that a hierarchy file is a tree whose labels each mean one thing
    Check { file: PathBuf },
    /// Draw the tree of a hierarchy file, or the one that a policy lays over a column of a table
    Draw {
        /// A hierarchy file; a table with --policy
        file: PathBuf,
        /// The policy that says how the column's values are generalized
        #[arg(short, long, requires = "attribute")]
        policy: Option<PathBuf>,
        /// The column
        #[arg(short, long, requires = "policy")]
        attribute: Option<String>,
        /// Draw every node, also where there are many
        #[arg(long)]
        all: bool,
    },
    /// Write the tree that a policy lays over a column of a table as a hierarchy file
    Build {
        input: PathBuf,
        /// The policy that says how the column's values are generalized
        #[arg(short, long)]
        policy: PathBuf,
        /// The column
        #[arg(short, long)]
        attribute: String,
        /// The file; it must not exist yet
        #[arg(short, long)]
        output: PathBuf,
    },
}

#[derive(Debug, ClapArgs)]
pub struct CutArgs {
    /// End the search for cuts after this time with the best so far: 10s, 500ms or 2m
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<String>,
    /// Draw the release at random from the N best cuts, against minimality attacks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub top: Option<u16>,
    /// Release a cut one random step more general than the one found, against minimality attacks
    #[arg(long)]
    pub extra_generalization: bool,
}

/// How confident presence is judged.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Presence with marginals (sfalm, mpalm)")]
pub struct PresenceArgs {
    /// Leave out densities further from the mean than so many standard deviations (SD)
    #[arg(long, value_name = "2|4", value_parser = clap::value_parser!(u8).range(1..=9))]
    pub sigmas: Option<u8>,
    /// Take numbers in buckets of so many (DC)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..))]
    pub bucket: Option<u16>,
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
    /// Search in another way than the policy says: auto, incognito, s-instant, mondrian, m-instant,
    /// rothko-t, rothko-s, l-plus-optimize, annealing, spalm, mpalm, sfalm, sa-only or qi-sa
    #[arg(long)]
    pub algorithm: Option<String>,
    /// Suppress in another way than the policy says: records, none, all-records, violating-records,
    /// all-values or violating-values
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Allow another share of rows to be suppressed than the policy does: 0.05, 5% or 1/20
    #[arg(long, value_name = "SHARE")]
    pub suppression: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct OutputArgs {
    /// The release: .csv, .parquet or .arrow, its report beside it; a folder for a distribution
    #[arg(short, long)]
    pub output: PathBuf,
    /// Leave the rows in the order of the input, which an outsider may know
    #[arg(long)]
    pub keep_order: bool,
    /// Make everything that is drawn at random reproducible, and therefore guessable. Without it,
    /// what must not be guessed (records that violate, --top, --extra-generalization) is drawn from
    /// the operating system
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// For tables that do not fit into memory: rothko-t and rothko-s.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Tables larger than memory (rothko-t, rothko-s)")]
pub struct DiskArgs {
    /// Rows of a sample, and of a partition that is finished in memory; by --memory by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    pub sample_tuples: Option<u64>,
    /// Frequency groups of rothko-t in memory; by --memory by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub frequency_groups: Option<u32>,
    /// Partitions that are written at a time; by --memory by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=65_536))]
    pub fan_out: Option<u32>,
    /// The chance that a sample leads to a split that must be undone (default: 0.05)
    #[arg(long, value_parser = alpha)]
    pub alpha: Option<f64>,
    /// Believe samples without a test, for comparison
    #[arg(long)]
    pub naive: bool,
    /// Where rows wait, in a private folder that is removed; the system's temporary folder where
    /// not given
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
    Census,
    Agrawal,
    /// A part of a census whose membership is sensitive, with the population and its marginals
    Subset,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SelectionArg {
    Uniform,
    Biased,
}

/// What is known and what is acceptable; costs in any one unit.
#[derive(Debug, ClapArgs)]
pub struct AdviseArgs {
    /// How likely anybody of the population has the condition that all of the table have
    #[arg(long)]
    pub prior: f64,
    /// People of the population
    #[arg(long)]
    pub population: f64,
    /// People of the table
    #[arg(long)]
    pub table: f64,
    /// What it costs to be known to have the condition
    #[arg(long)]
    pub cost: f64,
    /// The cost of misuse that is acceptable where belief in the condition grows
    #[arg(long)]
    pub misuse: f64,
    /// The same if it shrinks (default: any)
    #[arg(long)]
    pub misuse_below: Option<f64>,
    /// How sure one will be of the range, where only marginals are known
    #[arg(long, default_value_t = 0.95)]
    pub confidence: f64,
}

/// Refuses every experiment: the command has none.
fn experiment(_: &str) -> Result<Infallible, String> {
    Err("experiments are run from a checkout with `cargo run --release -p bench -- NAME`".into())
}

fn alpha(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number| *number > 0.0 && *number <= 0.5)
        .ok_or("a number above 0, up to 0.5".into())
}

fn size(text: &str) -> Result<u64, String> {
    let wrong = || "a size such as 512MiB, 4GB or 1000000".to_string();
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
        return Err("a size from 16MiB".into());
    }
    Ok(bytes as u64)
}

fn probability(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number| (0.0..=1.0).contains(number))
        .ok_or("a number from 0 to 1".into())
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
