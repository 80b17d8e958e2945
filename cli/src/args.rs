//! The arguments of the command.
//!
//! The first paragraph of a text is the line that `-h` shows. The rest, if there is any, is what
//! `--help` shows in its place. Which flags a command shows, and its examples, are in
//! [`help`](crate::help).

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
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

/// Flags that are accepted before and after the name of a command.
#[derive(Debug, ClapArgs)]
pub struct Common {
    /// Print the report as one JSON object
    ///
    /// Print the report as one JSON object on standard output, and nothing else. A release that is
    /// refused is reported in the same way, with exit status 1.
    #[arg(long, global = true)]
    pub json: bool,

    /// Format of standard input and output
    ///
    /// Format of standard input and output: csv, jsonl, parquet or arrow; xlsx only for input. Files
    /// have the format of their names. CSV and JSON lines may be compressed with gzip or Zstandard.
    #[arg(long, global = true, value_enum, help_heading = "Input", hide_possible_values = true)]
    pub format: Option<FormatArg>,

    /// Delimiter of CSV input (default: detected)
    ///
    /// Delimiter of CSV input: one character, or `tab` (default: detected). A release in CSV has the
    /// delimiter of its input.
    #[arg(
        long,
        global = true,
        value_name = "CHAR",
        value_parser = delimiter,
        help_heading = "Input"
    )]
    pub delimiter: Option<u8>,

    /// Encoding of CSV input (default: detected)
    ///
    /// Encoding of CSV input, such as utf-8, utf-16le or windows-1252 (default: detected).
    #[arg(long, global = true, value_name = "NAME", help_heading = "Input")]
    pub encoding: Option<String>,

    /// Sheet of an .xlsx input
    ///
    /// Sheet of an .xlsx input (default: the first visible one).
    #[arg(long, global = true, value_name = "NAME", help_heading = "Input")]
    pub sheet: Option<String>,

    /// Rename columns without a name of their own
    ///
    /// Rename input columns that have no name or a duplicate one, to column_3 or x_2. By default they
    /// are an error.
    #[arg(long, global = true, help_heading = "Input")]
    pub rename_duplicates: bool,

    /// Number of threads (default: all cores)
    ///
    /// Number of threads, 1 to 1024 (default: all cores). The result does not depend on it.
    #[arg(
        long,
        global = true,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=1024),
        help_heading = "Limits"
    )]
    pub threads: Option<u16>,

    /// Memory limit, such as 512MiB or 4GB
    ///
    /// Limit of the working memory, such as 512MiB or 4GB (default: half of the available memory).
    /// Rows that do not fit are kept in temporary files.
    #[arg(long, global = true, value_name = "SIZE", value_parser = size, help_heading = "Limits")]
    pub memory: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    Csv,
    Jsonl,
    Parquet,
    Arrow,
    Xlsx,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a policy to edit, with a guess for each column
    ///
    /// Guess the type and role of each column and write a policy to edit. The policy works as it
    /// stands, but check every role: only you know what your columns mean.
    Init {
        /// Input table, or - for standard input
        input: PathBuf,
        /// Policy to write (default: policy.toml)
        ///
        /// Policy to write (default: policy.toml). The file must not exist.
        #[arg(
            short,
            long,
            value_name = "FILE",
            default_value = "policy.toml",
            hide_default_value = true
        )]
        output: PathBuf,
        /// Group texts by frequency, without learning
        ///
        /// Group texts by their frequency instead of learning from the other columns which values are
        /// alike.
        #[arg(long)]
        no_learned: bool,
    },
    /// Find the best release, verify it and write it
    ///
    /// Find the best release that the policy allows, verify it and write it. If the requirements
    /// cannot be met, nothing is written and the exit status is 1. Ctrl-C during the search ends it
    /// with the best recoding found so far.
    ///
    /// Flags override the policy. A flag that has no effect with the chosen algorithm is refused.
    Anonymize {
        /// Input table, or - for standard input
        input: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        #[command(flatten)]
        output: OutputArgs,
        /// Save the recoding for `scumble apply`
        ///
        /// Save the recoding for `scumble apply`. The file is for the owner of the data only.
        #[arg(long, value_name = "FILE")]
        save_recoding: Option<PathBuf>,
        /// Set the levels by hand instead of searching
        ///
        /// Set the level of every quasi-identifier instead of searching: age=2,sex=0,…
        #[arg(
            long,
            value_name = "NAME=LEVEL,…",
            value_delimiter = ',',
            value_parser = level,
            help_heading = "Search"
        )]
        levels: Option<Vec<(String, usize)>>,
        /// Order in which to visit recodings
        ///
        /// Order in which to visit full-domain recodings: best-first, top-down or bottom-up (default:
        /// best-first). All orders find the same cost. For incognito, spalm and sfalm.
        #[arg(
            long,
            value_enum,
            value_name = "ORDER",
            hide_possible_values = true,
            help_heading = "Search"
        )]
        strategy: Option<StrategyArg>,
        #[command(flatten)]
        cuts: CutArgs,
        #[command(flatten)]
        presence: PresenceArgs,
        #[command(flatten)]
        disk: DiskArgs,
        #[command(flatten)]
        instant: Box<AnonymizeInstantArgs>,
    },
    /// Check a release against the policy
    ///
    /// Check a release against the policy from its file alone, with no code of the search. The exit
    /// status is 1 if a requirement fails.
    Verify {
        /// Release: a file, or the folder of a distribution
        release: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        /// Original table, for policies that need it
        ///
        /// Original table, for policies that need it: a distribution is compared with it, caps given
        /// by `from-frequency` are derived from it, and the confidences of a `confidence-column` are
        /// read from it.
        #[arg(long, value_name = "FILE")]
        original: Option<PathBuf>,
        /// Also write the result as an HTML page
        ///
        /// Also write the result as an HTML page, which may be published with the release.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Measure the re-identification risk of a table
    ///
    /// Measure the re-identification risk of a table or a release. The policy says which columns are
    /// quasi-identifiers; nothing else in it matters.
    Risk {
        /// Table or release, or - for standard input
        file: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        /// Count rows above this risk (default: 0.2)
        ///
        /// Report the share of rows with a higher risk than this, from 0 to 1 (default: 0.2).
        #[arg(
            long,
            value_name = "RISK",
            default_value_t = 0.2,
            hide_default_value = true,
            value_parser = probability
        )]
        threshold: f64,
        /// Population that contains the table
        ///
        /// Population that contains the table, recoded in the same way. Without it, the table is
        /// assumed to be the whole population, which is the worst case.
        #[arg(long, value_name = "FILE")]
        population: Option<PathBuf>,
        /// Also write the result as an HTML page
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Show what each column looks like
    ///
    /// Show what each column of a release looks like; with --original also what it was before.
    Show {
        /// Release: a file, or the folder of a distribution
        release: PathBuf,
        /// Policy file (TOML); default: see --help
        ///
        /// Policy file (TOML). Without it, roles are those in the report beside the release.
        #[arg(short, long, value_name = "FILE")]
        policy: Option<PathBuf>,
        /// Original table, for the owner of the data only
        ///
        /// Original table. Its counts are shown beside those of the release; such a result is for the
        /// owner of the data only.
        #[arg(long, value_name = "FILE")]
        original: Option<PathBuf>,
        /// Also write the result as an HTML page
        ///
        /// Also write the result as an HTML page. With --original it is for the owner of the data only.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Compare recodings, policies or values of k
    ///
    /// Compare kinds of recoding, policies or values of k. Nothing is released.
    Compare {
        /// Input table, or - for standard input
        input: PathBuf,
        /// Policy file (TOML); may be repeated
        ///
        /// Policy file (TOML). With one policy, the kinds of recoding that it allows are compared; with
        /// several, the policies.
        #[arg(short, long, required = true, value_name = "FILE")]
        policy: Vec<PathBuf>,
        /// Values of k to compare; they override the policies
        #[arg(short, long, value_name = "K,…", value_delimiter = ',')]
        k: Vec<u64>,
        /// Random seed (default: 0)
        ///
        /// Seed for local recodings and annealing (default: 0), and for what is otherwise drawn with
        /// the operating system's random numbers.
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
        /// Also write an HTML page, for the owner only
        ///
        /// Also write the comparison as an HTML page, for the owner of the data only.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
    /// Recode more rows with a saved recoding
    ///
    /// Recode more rows with a saved recoding, then verify and write them. Classes that fail are
    /// suppressed up to the limit of the policy; beyond it, nothing is released.
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
    /// Summarize a table, for `estimate` and instant algorithms
    ///
    /// Summarize a table in one scan, for `scumble estimate` and the algorithms s-instant and
    /// m-instant. A summary has frequencies of the input and is for the owner of the data only.
    Summarize {
        /// Input table, or - for standard input
        input: PathBuf,
        #[command(flatten)]
        policy: PolicyArgs,
        /// Summary to write (JSON)
        #[arg(short, long, value_name = "FILE")]
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
    /// Estimate from a summary which recodings hold
    ///
    /// Estimate from a summary which recodings are likely to meet the requirements, and list them by
    /// loss. No row is read. Estimates cover all requirements but a presence; what they leave out is
    /// listed under `not-estimated`.
    Estimate {
        /// From `scumble summarize`, or a CSV of counts
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
    /// Query a distribution release, with guaranteed bounds
    ///
    /// Compute guaranteed bounds on aggregates from a distribution release.
    Query {
        /// Folder of the release
        release: PathBuf,
        /// SELECT COUNT|SUM|… FROM release [WHERE …]
        ///
        /// SELECT COUNT|SUM|AVG|MIN|MAX|MEDIAN(attribute) FROM release [WHERE …] [GROUP BY …]
        sql: String,
    },
    /// Check, draw or build hierarchies
    Hierarchy {
        #[command(subcommand)]
        action: HierarchyCommand,
    },
    /// Derive a range for delta-presence from costs
    ///
    /// Derive a range for delta-presence from the acceptable cost of misuse, and show the formulas.
    Advise {
        #[command(flatten)]
        stakes: AdviseArgs,
    },
    /// Generate a synthetic table with its policy
    ///
    /// Generate a synthetic table with its policy and hierarchies. The same seed gives the same
    /// bytes.
    Generate {
        /// Kind of table
        #[arg(value_enum)]
        kind: KindArg,
        /// Number of rows
        ///
        /// Number of rows; for a subset, the size of the population.
        #[arg(long, value_name = "N", allow_negative_numbers = true)]
        rows: u64,
        /// How to select a subset (default: uniform)
        ///
        /// How to select the people of a subset: uniform, or biased by age, sex and race (default:
        /// uniform).
        #[arg(
            long,
            value_enum,
            value_name = "HOW",
            default_value_t = SelectionArg::Uniform,
            hide_default_value = true,
            hide_possible_values = true
        )]
        selection: SelectionArg,
        /// Random seed (default: 0)
        #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
        seed: u64,
        /// Table to write
        ///
        /// Table to write: .csv, .jsonl (also with .gz or .zst), .parquet or .arrow.
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
        /// Policy to write (default: beside the table)
        #[arg(long, value_name = "FILE")]
        policy: Option<PathBuf>,
    },
    /// Run published experiments (from a checkout)
    ///
    /// Published experiments. Run them from a checkout: cargo run --release -p bench -- NAME
    Bench {
        /// Name of the experiment
        #[arg(value_parser = experiment)]
        name: Infallible,
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Print a completion script for a shell
    ///
    /// Print a script that completes commands, flags and their values in a shell.
    Completions {
        /// Shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write man pages
    ///
    /// Write a man page for each command.
    Man {
        /// Folder for the pages, which is created if necessary
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// How a summary is built.
#[derive(Debug, ClapArgs)]
pub struct BuildArgs {
    /// histogram, bayes or sample (default: histogram)
    ///
    /// Kind of summary: a histogram of independent attributes, a Bayesian network (bayes), or a
    /// uniform sample of rows (default: histogram).
    #[arg(long, value_enum, value_name = "KIND", hide_possible_values = true)]
    pub kind: Option<SummaryArg>,
    /// Parents of an attribute in a network (default: 1)
    ///
    /// Maximum number of parents of an attribute in a Bayesian network: 1 for the best tree (Chow and
    /// Liu), 2 for a search by BIC (default: 1).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub max_parents: Option<u8>,
    /// Search for a network (default: greedy)
    ///
    /// How to search for a network with two parents: greedy or annealed (default: greedy).
    #[arg(long, value_enum, value_name = "HOW", hide_possible_values = true)]
    pub search: Option<StructureArg>,
}

/// How estimates are made and judged.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Instant algorithms (s-instant, m-instant)")]
pub struct BelieveArgs {
    /// Accept by probability or expectation
    ///
    /// Accept a recoding by the probability that all classes hold, or by the expectation: the
    /// expected number of rows in classes that fail (default: expectation if rows may be suppressed,
    /// otherwise probability).
    #[arg(long, value_enum, value_name = "WHAT", hide_possible_values = true)]
    pub by: Option<ByArg>,
    /// Minimum probability, or maximum expectation
    ///
    /// Minimum probability (default: 0.8; for m-instant 0.95), or maximum number of rows expected to
    /// fail (default: the number that may be suppressed, at least 1).
    #[arg(long, value_name = "X")]
    pub threshold: Option<f64>,
    /// Switch off shortcuts of the estimates
    ///
    /// Switch off shortcuts of the estimates: hybrid, expo, sd-cut, limit, max. For a presence with
    /// marginals: pa, sd, dm, dc, moments, refinement, sharing.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub without: Vec<String>,
}

/// The summary of an instant algorithm.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Instant algorithms (s-instant, m-instant)")]
pub struct AnonymizeInstantArgs {
    /// Summary to use instead of building one
    ///
    /// Use this summary, written by `scumble summarize`, instead of building one from the input.
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// histogram, bayes or sample (default: histogram)
    ///
    /// Kind of summary to build from the input: histogram, bayes or sample (default: histogram).
    #[arg(long, value_enum, value_name = "KIND", hide_possible_values = true)]
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
    /// Check a hierarchy file
    ///
    /// Check that a hierarchy file is a tree without ambiguous labels.
    Check {
        /// Hierarchy file
        file: PathBuf,
    },
    /// Draw a hierarchy
    ///
    /// Draw a hierarchy file, or the hierarchy of a column of a table.
    Draw {
        /// Hierarchy file; a table if --policy is given
        file: PathBuf,
        /// Policy that defines the hierarchy of the column
        #[arg(short, long, value_name = "FILE", requires = "attribute")]
        policy: Option<PathBuf>,
        /// Name of the column
        #[arg(short, long, value_name = "NAME", requires = "policy")]
        attribute: Option<String>,
        /// Draw all nodes (default: 12 per parent)
        ///
        /// Draw all nodes (default: at most 12 children of a node).
        #[arg(long)]
        all: bool,
    },
    /// Write the hierarchy of a column to a file
    ///
    /// Write the hierarchy of a column of a table to a file, to edit or to use again.
    Build {
        /// Input table, or - for standard input
        input: PathBuf,
        /// Policy that defines the hierarchy of the column
        #[arg(short, long, value_name = "FILE")]
        policy: PathBuf,
        /// Name of the column
        #[arg(short, long, value_name = "NAME")]
        attribute: String,
        /// Hierarchy file to write; it must not exist
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

/// For searches that may end early, and draws against minimality attacks.
#[derive(Debug, ClapArgs)]
pub struct CutArgs {
    /// End the search after 10s, 500ms, 2m, …
    ///
    /// End the search after this time with the best recoding so far: 10s, 500ms or 2m. For local,
    /// l-plus-optimize, annealing and auto.
    #[arg(long, value_name = "TIME", help_heading = "Search")]
    pub time_limit: Option<String>,
    /// End the search if this share is avoidable
    ///
    /// End the search for a local recoding as soon as at most this share of its LM is proven to be
    /// avoidable: 0.05 or 5%. For local and auto.
    #[arg(long, value_name = "SHARE", help_heading = "Search")]
    pub gap: Option<String>,
    /// Draw one of the N best recodings
    ///
    /// Draw one of the N best cuts or local recodings at random (default: 1). For local,
    /// l-plus-optimize and annealing.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..),
        help_heading = "Against minimality attacks"
    )]
    pub top: Option<u16>,
    /// Generalize by one random step more
    ///
    /// Generalize the cut by one random step. For l-plus-optimize and annealing.
    #[arg(long, help_heading = "Against minimality attacks")]
    pub extra_generalization: bool,
    /// Suppress rows at random beyond need
    ///
    /// Suppress up to this share of rows at random although no requirement forces it: 0.01 or 1%. For
    /// l-plus-optimize and annealing.
    #[arg(long, value_name = "SHARE", help_heading = "Against minimality attacks")]
    pub extra_suppression: Option<String>,
}

/// How confident presence is judged.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Presence with marginals (sfalm, mpalm)")]
pub struct PresenceArgs {
    /// Ignore densities beyond N standard deviations
    ///
    /// Ignore densities more than N standard deviations from the mean, 1 to 9 (SD; default: 2).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=9))]
    pub sigmas: Option<u8>,
    /// Size of buckets of counts (default: 4)
    ///
    /// Group counts into buckets of size N (DC; default: 4).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..))]
    pub bucket: Option<u16>,
}

#[derive(Debug, ClapArgs)]
pub struct PolicyArgs {
    /// Policy file (TOML)
    #[arg(short, long, value_name = "FILE")]
    pub policy: PathBuf,
    /// Minimum number of rows in a class
    #[arg(short, help_heading = "Override the policy")]
    pub k: Option<u64>,
    /// Loss to minimize: lm, dm or cm
    #[arg(long, value_name = "LOSS", help_heading = "Override the policy")]
    pub loss: Option<String>,
    /// Search algorithm, such as auto or local
    ///
    /// Search algorithm: auto, incognito, s-instant, mondrian, m-instant, rothko-t, rothko-s, local,
    /// l-plus-optimize or annealing; for delta-presence spalm, mpalm or sfalm; for a distribution
    /// sa-only or qi-sa.
    #[arg(long, value_name = "NAME", help_heading = "Override the policy")]
    pub algorithm: Option<String>,
    /// Suppression scheme, such as records or none
    ///
    /// Suppression scheme: records or none; for l-plus-optimize and annealing none, all-records,
    /// violating-records, all-values or violating-values.
    #[arg(long, value_name = "NAME", help_heading = "Override the policy")]
    pub scheme: Option<String>,
    /// Maximum share of rows to suppress
    ///
    /// Maximum share of rows to suppress: 0.05, 5% or 1/20.
    #[arg(long, value_name = "SHARE", help_heading = "Override the policy")]
    pub suppression: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct OutputArgs {
    /// Release to write, or - for standard output
    ///
    /// Release to write: .csv, .jsonl (also with .gz or .zst), .parquet or .arrow; - for standard
    /// output; a folder for a distribution. It replaces an existing file, and appears complete or not
    /// at all.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Keep the row order of the input
    ///
    /// Keep the row order of the input, which an outsider may know. By default rows are sorted by
    /// their released values.
    #[arg(long)]
    pub keep_order: bool,
    /// Random seed, for a reproducible release
    ///
    /// Random seed. It makes the release reproducible, but also predictable. Without a seed,
    /// violating-records, --top, --extra-generalization and --extra-suppression use random numbers
    /// of the operating system.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Also write an HTML page, for the owner only
    ///
    /// Also write an HTML page about the release, for the owner of the data only. A page that may be
    /// published is written by `scumble verify`.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// For tables that do not fit into memory: rothko-t and rothko-s.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Tables larger than memory (rothko-t, rothko-s, local)")]
pub struct DiskArgs {
    /// Rows in a sample or a small partition
    ///
    /// Rows in a sample, and in a partition finished in memory (default: depends on --memory).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    pub sample_tuples: Option<u64>,
    /// Frequency groups in memory
    ///
    /// Frequency groups that rothko-t keeps in memory (default: depends on --memory).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub frequency_groups: Option<u32>,
    /// Partitions written at a time
    ///
    /// Partitions written at a time, 2 to 65536 (default: depends on --memory).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=65_536))]
    pub fan_out: Option<u32>,
    /// Error probability of samples (default: 0.05)
    ///
    /// Probability that a sample leads to a split that must be undone, at most 0.5 (default: 0.05).
    #[arg(long, value_name = "P", value_parser = alpha)]
    pub alpha: Option<f64>,
    /// Trust samples without a test, for comparison
    #[arg(long)]
    pub naive: bool,
    /// Folder for temporary files
    ///
    /// Folder for temporary files (default: the system's temporary folder).
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
    /// A subset of a census, with the population and its marginals
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
    /// Probability of the condition
    ///
    /// Probability that a person of the population has the condition that everyone in the table has.
    #[arg(long, value_name = "P")]
    pub prior: f64,
    /// Number of people in the population
    #[arg(long, value_name = "N")]
    pub population: f64,
    /// Number of people in the table
    #[arg(long, value_name = "N")]
    pub table: f64,
    /// Cost of being known to have the condition
    ///
    /// Cost of being known to have the condition, in any unit.
    #[arg(long, value_name = "COST")]
    pub cost: f64,
    /// Acceptable cost if belief rises
    ///
    /// Acceptable expected cost if belief in the condition rises, in the same unit.
    #[arg(long, value_name = "COST")]
    pub misuse: f64,
    /// Acceptable cost if belief falls
    ///
    /// Acceptable expected cost if belief in the condition falls (default: unlimited).
    #[arg(long, value_name = "COST")]
    pub misuse_below: Option<f64>,
    /// Confidence with marginals (default: 0.95)
    ///
    /// Confidence in the range if only marginals of the population are known (default: 0.95).
    #[arg(long, value_name = "C", default_value_t = 0.95, hide_default_value = true)]
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
