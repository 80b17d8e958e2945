//! Why a command failed.

use scumble::{Error, ErrorKind};
use std::fmt;

/// The result of everything here that can fail.
pub type Result<T> = std::result::Result<T, Failure>;

/// Bad usage of the command, or an error of the library.
pub enum Failure {
    /// Flags that are invalid, missing or do not go together: one line that names them.
    Usage(String),
    /// An error of the library.
    Library(Error),
    /// The output of a command that is done otherwise cannot be written.
    StandardOutput(std::io::Error),
}

impl Failure {
    /// An invalid value of a flag.
    pub fn invalid(flag: &str, value: &str, expected: &str) -> Failure {
        Failure::Usage(format!("invalid value `{value}` for {flag}: expected {expected}"))
    }

    /// The same in terms of the flags that have set these keys.
    pub fn in_flags<K: AsRef<str>>(self, flags: &[(&str, K)]) -> Failure {
        match self {
            Failure::Library(error) => in_flags(error, flags),
            usage => usage,
        }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Usage(_) => ErrorKind::Input as u8,
            Failure::Library(error) => error.kind() as u8,
            Failure::StandardOutput(_) => ErrorKind::Environment as u8,
        }
    }

    /// Whether the reader of a release on standard output has closed the pipe. No file that a
    /// command writes can be a pipe.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Failure::Library(Error::Io { source, doing: "write", .. })
            if source.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

/// Parameters of a job that only a flag sets, by the names that the library gives them.
const FLAGS: [(&str, &str); 6] = [
    ("--encoding", "encoding"),
    ("--sheet", "sheet"),
    ("--levels", "levels"),
    ("--spill-dir", "spill-folder"),
    ("--keep-order", "keep-order"),
    ("--save-recoding", "save-recoding"),
];

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        in_flags(error, &FLAGS)
    }
}

/// An error about a key that one of these flags has set, in terms of the flag.
pub fn in_flags<K: AsRef<str>>(error: Error, flags: &[(&str, K)]) -> Failure {
    let flag_of =
        |key: &str| flags.iter().find(|(_, known)| known.as_ref() == key).map(|(flag, _)| *flag);
    match error {
        Error::BadParameter { key, value, expected, .. } if flag_of(&key).is_some() => {
            Failure::invalid(flag_of(&key).unwrap_or_default(), &value, &expected)
        }
        Error::Inapplicable { key, problem, .. } if flag_of(&key).is_some() => {
            Failure::Usage(format!("{} {problem}", flag_of(&key).unwrap_or_default()))
        }
        error => Failure::Library(error),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) => {
                // One line, whatever the value of a flag.
                message.chars().try_for_each(|character| match character {
                    _ if character.is_control() => write!(f, "{}", character.escape_debug()),
                    _ => write!(f, "{character}"),
                })
            }
            Failure::Library(
                error @ (Error::RepeatedColumn { .. } | Error::NamelessColumn { .. }),
            ) => write!(f, "{error}, or use --rename-duplicates"),
            Failure::Library(error) => error.fmt(f),
            Failure::StandardOutput(error) => write!(
                f,
                "standard output: cannot write: {error}; files that the command has written are \
                 complete"
            ),
        }
    }
}
