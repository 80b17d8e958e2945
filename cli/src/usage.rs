//! Mistakes in what was typed, each as one line.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error as _;

/// The message of the argument parser as one line that ends with the help to look at.
pub fn one_line(error: &clap::Error) -> String {
    let said = sentence(error).unwrap_or_else(|| without_usage(error));
    let command = path(std::env::args().skip(1));
    format!("{said}; see {command} --help")
}

/// A sentence of our own for the mistakes that people make.
fn sentence(error: &clap::Error) -> Option<String> {
    let told = |kind: ContextKind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        _ => None,
    };
    let meant = |kind: ContextKind| {
        let first = match error.get(kind) {
            Some(ContextValue::Strings(texts)) => {
                nearest(texts, &told(ContextKind::InvalidSubcommand)?)
            }
            Some(ContextValue::String(text)) => Some(text.clone()),
            _ => None,
        };
        first.map(|name| format!("; did you mean `{name}`?"))
    };
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            let command = path(std::env::args().skip(1));
            let example = if command == "scumble" { "anonymize" } else { "draw" };
            Some(format!("expected a command, such as {example}"))
        }
        ErrorKind::InvalidSubcommand => {
            let name = told(ContextKind::InvalidSubcommand)?;
            let meant = meant(ContextKind::SuggestedSubcommand).unwrap_or_default();
            Some(format!("unknown command `{name}`{meant}"))
        }
        ErrorKind::UnknownArgument => {
            let name = told(ContextKind::InvalidArg)?;
            if !name.starts_with('-') {
                return Some(format!("unexpected argument `{name}`"));
            }
            let near = told(ContextKind::SuggestedArg);
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            Some(format!("unknown flag {name}{near}"))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = told(ContextKind::InvalidArg)?;
            // Who has only a table does not know yet where a policy comes from.
            let makes_releases = ["scumble anonymize", "scumble compare"];
            let command = path(std::env::args().skip(1));
            let is_policy = missing.starts_with("--policy") && makes_releases.contains(&&*command);
            let hint = if is_policy { " (scumble init writes one)" } else { "" };
            Some(format!("missing {missing}{hint}"))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let (flag, value) = (told(ContextKind::InvalidArg)?, told(ContextKind::InvalidValue)?);
            let flag = flag.split(' ').next().unwrap_or(&flag);
            if value.is_empty() {
                return Some(format!("{flag} requires a value"));
            }
            let expected = match (told(ContextKind::ValidValue), error.source()) {
                (Some(values), _) => format!("expected one of {values}"),
                (None, Some(problem)) => expected(&problem.to_string()),
                (None, None) => return None,
            };
            Some(format!("invalid value `{value}` for {flag}: {expected}"))
        }
        _ => None,
    }
}

/// The name that begins most like what was typed.
fn nearest(names: &[String], typed: &str) -> Option<String> {
    let common = |name: &&String| {
        name.chars().zip(typed.chars()).take_while(|(one, two)| one == two).count()
    };
    names.iter().max_by_key(common).cloned()
}

/// What a number should have been, in words.
fn expected(problem: &str) -> String {
    match problem {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "expected a whole number".into()
        }
        "invalid float literal" | "cannot parse float from empty string" => {
            "expected a number".into()
        }
        _ if problem.starts_with("number too ") => "the number is out of range".into(),
        _ => problem.to_string(),
    }
}

/// The message as it is, without the usage and what follows it.
fn without_usage(error: &clap::Error) -> String {
    let message = error.to_string();
    let parts = message.split("\n\n");
    let told = parts.filter(|part| !part.starts_with("Usage:") && !part.starts_with("For more"));
    let words = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = told.map(words).collect::<Vec<_>>().join("; ");
    said.strip_prefix("error: ").unwrap_or(&said).to_string()
}

/// The command that was meant, with the one it belongs to.
fn path(arguments: impl Iterator<Item = String>) -> String {
    let command = crate::help::command();
    let (mut path, mut command) = (String::from("scumble"), &command);
    for argument in arguments {
        if let Some(inner) = command.find_subcommand(&argument) {
            path = format!("{path} {argument}");
            command = inner;
        } else if command.has_subcommands() && !argument.starts_with('-') {
            break;
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_to_look_at_is_that_of_the_command() {
        let of = |typed: &str| path(typed.split_whitespace().map(String::from));
        assert_eq!(of(""), "scumble");
        assert_eq!(of("anonymize table.csv -o out"), "scumble anonymize");
        assert_eq!(of("--json hierarchy draw verify"), "scumble hierarchy draw");
        assert_eq!(of("anonymise risk"), "scumble");
    }
}
