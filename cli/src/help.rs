//! What help, completions and man pages show: for each command its examples, and the flags that have
//! an effect on it.
//!
//! Some flags are accepted by every command, so that they may stand before its name, and some are
//! declared once for several commands. Where such a flag never has an effect it is hidden, and
//! refused by its name if it is given.

use crate::failure::{Failure, Result};
use clap::builder::StyledStr;
use clap::builder::styling::{AnsiColor, Style, Styles};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory};
use std::fmt::Write as _;

/// A task with the command that does it.
type Example = (&'static str, &'static str);

/// What is known of a command besides its arguments.
struct Notes {
    /// The name of the command, with that of the command it belongs to.
    command: &'static str,
    /// The flags of all commands that have an effect on this one.
    common: &'static [&'static str],
    /// Its own flags that never have an effect.
    hidden: &'static [&'static str],
    examples: &'static [Example],
}

/// The flags of all commands, for one that reads a table.
const ALL: &[&str] =
    &["json", "format", "delimiter", "encoding", "sheet", "rename_duplicates", "threads", "memory"];

/// The flags that override the policy, for a command that only needs the roles of columns.
const ROLES_ONLY: &[&str] = &["k", "loss", "algorithm", "scheme", "suppression"];

const NOTES: &[Notes] = &[
    Notes {
        command: "init",
        common: ALL,
        hidden: &[],
        examples: &[
            ("Guess the role of each column", "scumble init people.csv"),
            ("Choose the name of the policy", "scumble init people.parquet -o strict.toml"),
        ],
    },
    Notes {
        command: "anonymize",
        common: ALL,
        hidden: &[],
        examples: &[
            (
                "Release a table as the policy says",
                "scumble anonymize people.csv -p policy.toml -o out.csv",
            ),
            (
                "Require classes of at least 20 rows, and suppress at most 1 % of all rows",
                "scumble anonymize people.csv -p policy.toml -o out.csv -k 20 --suppression 1%",
            ),
            (
                "Choose one level per column by hand, and check and write that",
                "scumble anonymize people.csv -p policy.toml -o out.csv --levels age=2,zip=1",
            ),
        ],
    },
    Notes {
        command: "verify",
        common: ALL,
        hidden: &["loss"],
        examples: &[
            ("Check a release", "scumble verify out.csv -p policy.toml"),
            (
                "Write a page that may be published with it",
                "scumble verify out.csv -p policy.toml --html page.html",
            ),
            (
                "Check a distribution, and compare it with the original table",
                "scumble verify out/ -p policy.toml --original people.csv",
            ),
        ],
    },
    Notes {
        command: "risk",
        common: ALL,
        hidden: ROLES_ONLY,
        examples: &[
            (
                "Compare the risk before and after",
                "scumble risk people.csv -p policy.toml\nscumble risk out.csv -p policy.toml",
            ),
            (
                "Count rows with a risk above 1 in 20",
                "scumble risk out.csv -p policy.toml --threshold 0.05",
            ),
        ],
    },
    Notes {
        command: "show",
        common: ALL,
        hidden: &[],
        examples: &[
            ("Look at each column of a release", "scumble show out.csv"),
            (
                "Compare it with the original table, as a page for the owner of the data",
                "scumble show out.csv -p policy.toml --original people.csv --html page.html",
            ),
        ],
    },
    Notes {
        command: "compare",
        common: ALL,
        hidden: &[],
        examples: &[
            (
                "Which kind of recoding loses the least?",
                "scumble compare people.csv -p policy.toml",
            ),
            (
                "What would a larger k cost?",
                "scumble compare people.csv -p policy.toml -k 2,5,10,20",
            ),
            (
                "Which of two policies leaves more detail?",
                "scumble compare people.csv -p strict.toml -p loose.toml",
            ),
        ],
    },
    Notes {
        command: "apply",
        common: ALL,
        hidden: &["loss", "algorithm"],
        examples: &[
            (
                "Save a recoding, then recode next month's rows in the same way",
                "scumble anonymize may.csv -p policy.toml -o out.csv --save-recoding may.json\n\
                 scumble apply may.json june.csv -p policy.toml -o june-out.csv",
            ),
            (
                "Require larger classes of the new rows",
                "scumble apply may.json june.csv -p policy.toml -o june-out.csv -k 20",
            ),
        ],
    },
    Notes {
        command: "summarize",
        common: ALL,
        hidden: ROLES_ONLY,
        examples: &[
            (
                "Summarize each column by itself",
                "scumble summarize people.csv -p policy.toml -o summary.json",
            ),
            (
                "Learn how columns depend on each other",
                "scumble summarize people.csv -p policy.toml -o summary.json --kind bayes",
            ),
        ],
    },
    Notes {
        command: "estimate",
        common: &["json", "threads", "memory"],
        hidden: &["scheme"],
        examples: &[
            (
                "List recodings that are likely to hold",
                "scumble estimate --summary summary.json -p policy.toml",
            ),
            (
                "Estimate one recoding for a higher k",
                "scumble estimate --summary summary.json -p policy.toml -k 20 \\\n  \
                 --levels age=2,zip=1",
            ),
        ],
    },
    Notes {
        command: "query",
        common: &["json"],
        hidden: &[],
        examples: &[
            (
                "Bound an average",
                "scumble query out/ \"SELECT AVG(pay) FROM release WHERE region = 'north'\"",
            ),
            (
                "Bound the largest value in each region",
                "scumble query out/ \"SELECT MAX(pay) FROM release GROUP BY region\"",
            ),
        ],
    },
    Notes {
        command: "hierarchy check",
        common: &["json"],
        hidden: &[],
        examples: &[("Check a file before it is used", "scumble hierarchy check education.csv")],
    },
    Notes {
        command: "hierarchy draw",
        common: ALL,
        hidden: &[],
        examples: &[
            ("Draw a file", "scumble hierarchy draw education.csv"),
            (
                "Draw what a policy means for a column",
                "scumble hierarchy draw people.csv -p policy.toml -a age",
            ),
        ],
    },
    Notes {
        command: "hierarchy build",
        common: ALL,
        hidden: &[],
        examples: &[(
            "Write the masks of a column as a file to edit",
            "scumble hierarchy build people.csv -p policy.toml -a zip -o zip.csv",
        )],
    },
    Notes {
        command: "advise",
        common: &["json"],
        hidden: &[],
        examples: &[
            (
                "1 of 10 people has the condition, 500 of 10000 people are in the table, and\n  a \
                 disclosure costs 1000",
                "scumble advise --prior 0.1 --population 10000 --table 500 \\\n  \
                 --cost 1000 --misuse 150",
            ),
            (
                "Limit what absence from the table tells, too",
                "scumble advise --prior 0.1 --population 10000 --table 500 \\\n  \
                 --cost 1000 --misuse 150 --misuse-below 30",
            ),
        ],
    },
    Notes {
        command: "generate",
        common: &["json"],
        hidden: &[],
        examples: &[
            (
                "A census to try the other commands on",
                "scumble generate census --rows 5000 -o census.csv",
            ),
            (
                "Ten million rows for a test of speed",
                "scumble generate agrawal --rows 10000000 --seed 7 -o agrawal.parquet",
            ),
        ],
    },
    Notes { command: "bench", common: &[], hidden: &[], examples: &[] },
    Notes {
        command: "completions",
        common: &["json"],
        hidden: &[],
        examples: &[
            ("Complete in this bash, to try it", "source <(scumble completions bash)"),
            (
                "Install for bash",
                "scumble completions bash \\\n  \
                 > ~/.local/share/bash-completion/completions/scumble",
            ),
            (
                "Install for fish",
                "scumble completions fish > ~/.config/fish/completions/scumble.fish",
            ),
        ],
    },
    Notes {
        command: "man",
        common: &["json"],
        hidden: &[],
        examples: &[(
            "Install for one user, then read a page",
            "scumble man ~/.local/share/man/man1\nman scumble-anonymize",
        )],
    },
];

const HEADING: Style = AnsiColor::Green.on_default().bold();

/// The whole command, as it is parsed.
pub fn command() -> Command {
    let styles = Styles::styled()
        .header(HEADING)
        .usage(HEADING)
        .literal(AnsiColor::Cyan.on_default().bold())
        .placeholder(AnsiColor::Cyan.on_default());
    let mut command = with_long_texts(crate::args::Args::command().styles(styles));
    let common: Vec<clap::Arg> =
        command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    for arg in &common {
        command = command.mut_arg(arg.get_id(), |arg| arg.hide(true));
    }
    command
        .after_help("Begin with `scumble init`, and see `scumble COMMAND --help` for examples.")
        .mut_subcommands(|inner| noted(inner, "", &common))
}

/// The long text without its first paragraph, which is the short text and says less.
fn rest(long: &StyledStr, short: Option<&StyledStr>) -> Option<StyledStr> {
    let (long, short) = (long.to_string(), short?.to_string());
    Some(long.strip_prefix(&short)?.trim_start_matches('.').trim_start().to_string().into())
}

/// A command whose long texts stand in place of the short ones, not below them.
fn with_long_texts(command: Command) -> Command {
    let about = command.get_long_about().and_then(|long| rest(long, command.get_about()));
    let command = if let Some(about) = about { command.long_about(about) } else { command };
    command.mut_args(|arg| {
        let text = arg.get_long_help().and_then(|long| rest(long, arg.get_help()));
        if let Some(text) = text { arg.long_help(text) } else { arg }
    })
}

/// A command with its notes, and those of the commands that belong to it.
fn noted(mut command: Command, parent: &str, common: &[clap::Arg]) -> Command {
    let path = format!("{parent}{}", command.get_name());
    command = with_long_texts(command);
    if command.has_subcommands() {
        return command.mut_subcommands(|inner| noted(inner, &format!("{path} "), common));
    }
    let Some(notes) = NOTES.iter().find(|notes| notes.command == path) else { return command };
    let shown = |arg: &&clap::Arg| notes.common.contains(&arg.get_id().as_str());
    command = command.args(common.iter().filter(shown).cloned());
    for name in notes.hidden {
        command = command.mut_arg(name, |arg| arg.hide(true));
    }
    if notes.examples.is_empty() {
        command
    } else {
        command.after_long_help(listed(notes.examples))
    }
}

fn listed(examples: &[Example]) -> StyledStr {
    let mut text = StyledStr::new();
    let _ = write!(text, "{HEADING}Examples:{HEADING:#}");
    for (task, command) in examples {
        let _ = write!(text, "\n  {task}:\n    {}", command.replace('\n', "\n    "));
    }
    text
}

/// Refuses flags of all commands that have no effect on this one.
pub fn check(matches: &ArgMatches) -> Result<()> {
    let (mut path, mut inner) = (String::new(), matches);
    while let Some((name, further)) = inner.subcommand() {
        path = if path.is_empty() { name.to_string() } else { format!("{path} {name}") };
        inner = further;
    }
    let Some(notes) = NOTES.iter().find(|notes| notes.command == path) else { return Ok(()) };
    let unused = ALL.iter().find(|flag| {
        let is_given = matches.value_source(flag) == Some(ValueSource::CommandLine);
        is_given && !notes.common.contains(flag)
    });
    match unused {
        None => Ok(()),
        Some(flag) => {
            let flag = flag.replace('_', "-");
            Err(Failure::Usage(format!("--{flag} has no effect on `{path}`; leave it out")))
        }
    }
}

/// The command without what is hidden, for completions and man pages, which would show it.
pub fn visible() -> Command {
    fn of(command: &Command) -> Command {
        let shown = command.get_arguments().filter(|arg| !arg.is_hide_set()).cloned();
        let names = NOTES.iter().flat_map(|notes| notes.command.split(' '));
        let name = names.into_iter().find(|name| *name == command.get_name());
        // What is global was already added where it has an effect.
        let mut copy = Command::new(name.unwrap_or("scumble"))
            .args(shown.map(|arg| arg.global(false)))
            .subcommands(command.get_subcommands().map(of));
        if let Some(about) = command.get_about() {
            copy = copy.about(about.clone());
        }
        if let Some(about) = command.get_long_about() {
            copy = copy.long_about(about.clone());
        }
        if let Some(after) = command.get_after_long_help() {
            copy = copy.after_long_help(after.clone());
        }
        copy
    }
    of(&command()).version(env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands that do something, with their paths.
    fn leaves(command: &Command, parent: &str) -> Vec<(String, Command)> {
        let inner = command.get_subcommands().flat_map(|inner| {
            let path = format!("{parent}{}", inner.get_name());
            if inner.has_subcommands() {
                leaves(inner, &format!("{path} "))
            } else {
                vec![(path, inner.clone())]
            }
        });
        inner.collect()
    }

    #[test]
    fn every_command_has_notes_and_all_but_bench_have_examples() {
        let leaves = leaves(&command(), "");
        let paths: Vec<&str> = leaves.iter().map(|(path, _)| path.as_str()).collect();
        let noted: Vec<&str> = NOTES.iter().map(|notes| notes.command).collect();
        assert_eq!(paths, noted, "in the order of `scumble --help`");
        for (path, command) in &leaves {
            let has_examples = command.get_after_long_help().is_some();
            assert!(has_examples || path == "bench", "{path} has no examples");
        }
    }

    #[test]
    fn the_names_in_notes_are_flags() {
        let known: Vec<String> = crate::args::Args::command()
            .get_arguments()
            .filter(|arg| arg.is_global_set())
            .map(|arg| arg.get_id().to_string())
            .collect();
        let mut all: Vec<&str> = ALL.to_vec();
        all.sort_unstable();
        let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
        known.sort_unstable();
        assert_eq!(all, known);
        command().debug_assert();
        visible().debug_assert();
    }

    #[test]
    fn examples_are_accepted() {
        for notes in NOTES {
            let commands = notes.examples.iter().map(|(_, text)| text.replace("\\\n", " "));
            for line in commands.flat_map(|text| text.lines().map(String::from).collect::<Vec<_>>())
            {
                let line = line.split(" > ").next().unwrap_or("");
                let Some(line) = line.strip_prefix("scumble ") else { continue };
                assert!(line.starts_with(notes.command) || line.contains("--save-recoding"));
                // Only the argument of a query is quoted.
                let mut words: Vec<String> = Vec::from(["scumble".into()]);
                for (number, part) in line.split('"').enumerate() {
                    match number % 2 {
                        0 => words.extend(part.split_whitespace().map(String::from)),
                        _ => words.push(part.into()),
                    }
                }
                let matches = command().try_get_matches_from(&words);
                let matches = matches.unwrap_or_else(|error| panic!("{line}: {error}"));
                assert!(check(&matches).is_ok(), "{line}");
            }
        }
    }
}
