//! Errors as data: every variant carries what a person needs to find and correct the problem.
//!
//! The library never prints and never exits. [`Error::kind`] distinguishes three cases: the
//! requirement cannot be met (exit status 1), the input or the usage is wrong (2), or the
//! environment failed (3).

mod refusal;
mod remedy;

pub use refusal::{Figure, Judged, Refusal, Shortfall, WorstValue};
pub use remedy::{Change, Remedies, Remedy};

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an [`Error`]; the numbers are the exit statuses of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The requirement cannot be met, or a check failed. Nothing was released.
    Refused = 1,
    /// Bad usage or bad input.
    Input = 2,
    /// The disk, the network or the operating system failed.
    Environment = 3,
    /// The job was interrupted (128 + SIGINT, as in a shell).
    Interrupted = 130,
}

/// A place in a file, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// Line (text formats) or row (columnar formats), counted from 1.
    pub line: Option<u64>,
    /// The column's name.
    pub column: Option<String>,
}

impl Place {
    /// A whole file.
    pub fn file(file: impl Into<PathBuf>) -> Self {
        Place { file: file.into(), ..Place::default() }
    }

    /// The same file at a line.
    pub fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The same line in a column.
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ": column {}", quoted(column))?;
        }
        Ok(())
    }
}

/// A value for messages: quoted, on one line, control characters escaped, long values truncated.
pub fn quoted(value: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown: String = value.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if value.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// An error.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened, read, written or renamed.
    Io {
        /// The file.
        file: PathBuf,
        /// The operation that failed, as a verb: "read", "write".
        doing: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A Parquet or Arrow file is damaged or uses an unsupported feature.
    Columnar {
        /// The file.
        file: PathBuf,
        /// The error of the reader or writer.
        source: arrow_schema::ArrowError,
    },
    /// The format of a file cannot be told from its name.
    UnknownFormat {
        /// The file.
        file: PathBuf,
    },
    /// The header or all columns are missing.
    NoHeader {
        /// The file.
        file: PathBuf,
    },
    /// The table has no rows.
    EmptyTable {
        /// The file.
        file: PathBuf,
    },
    /// The table has too many rows.
    TooManyRows {
        /// The file.
        file: PathBuf,
        /// The maximum number of rows.
        most: u64,
    },
    /// Two columns have the same name.
    RepeatedColumn {
        /// The file.
        file: PathBuf,
        /// The name.
        column: String,
        /// Their positions, counted from 1.
        positions: (usize, usize),
    },
    /// A column of the header has no name.
    NamelessColumn {
        /// The file.
        file: PathBuf,
        /// Its position, counted from 1.
        position: usize,
    },
    /// A row has more or fewer fields than the header.
    RaggedRow {
        /// Where.
        place: Place,
        /// Fields in the header.
        expected: usize,
        /// Fields in the row.
        found: usize,
    },
    /// A quoted field is not closed.
    UnclosedQuote {
        /// The line where the record starts.
        place: Place,
    },
    /// A record cannot be read: the line of a text, or the cell of a sheet.
    BadRecord {
        /// Where.
        place: Place,
        /// What is wrong and what to do.
        problem: String,
    },
    /// A value is not valid UTF-8.
    InvalidUtf8 {
        /// Where.
        place: Place,
        /// The value, with invalid bytes replaced.
        value: String,
    },
    /// A value is not of its column's type.
    WrongType {
        /// Where.
        place: Place,
        /// The value.
        value: String,
        /// The type of the column: "an integer", "a number", "a date (YYYY-MM-DD)".
        expected: String,
    },
    /// A value is not in the hierarchy of its column.
    NotInHierarchy {
        /// Where.
        place: Place,
        /// The value.
        value: String,
        /// The hierarchy: a file or a description.
        hierarchy: String,
        /// What to do about the hierarchy: a phrase that follows "or".
        remedy: &'static str,
    },
    /// A value that a distribution cannot use.
    Unfit {
        /// Where it occurs first.
        place: Place,
        /// The value.
        value: String,
        /// What is wrong with it and what to do: a phrase that follows the value.
        problem: String,
    },
    /// A column has an unsupported type.
    UnsupportedColumn {
        /// Where.
        place: Place,
        /// Its type.
        data_type: String,
    },
    /// A leaf of a hierarchy, or a value in another list, occurs twice.
    RepeatedLeaf {
        /// Where it occurs again.
        place: Place,
        /// The leaf.
        leaf: String,
        /// The line where it occurs first.
        first: u64,
    },
    /// A label of a hierarchy has two parents.
    TwoParents {
        /// Where the second parent is.
        place: Place,
        /// The label.
        label: String,
        /// Both parents.
        parents: (String, String),
    },
    /// The rows of a hierarchy differ in length.
    UnevenHierarchy {
        /// Where.
        place: Place,
        /// Labels in the first row.
        expected: usize,
        /// Labels in this row.
        found: usize,
    },
    /// A label denotes two different sets of values.
    AmbiguousLabel {
        /// The value that conflicts with a generalized label, if it is a value.
        place: Option<Place>,
        /// The hierarchy.
        hierarchy: String,
        /// The label.
        label: String,
    },
    /// A hierarchy has no rows, or only one level.
    EmptyHierarchy {
        /// The file.
        place: Place,
    },
    /// The policy gives a column of the input no role.
    NoRole {
        /// The input.
        place: Place,
        /// The policy.
        policy: PathBuf,
    },
    /// The policy names a column that the input does not have.
    NoSuchColumn {
        /// The input.
        file: PathBuf,
        /// The column.
        column: String,
        /// The nearest column that exists.
        nearest: Option<String>,
    },
    /// The policy has an unknown key.
    UnknownKey {
        /// Where.
        place: Place,
        /// The key, with its path.
        key: String,
        /// The nearest key that exists.
        nearest: Option<String>,
    },
    /// A parameter has an invalid value.
    BadParameter {
        /// Where, if it is in a file.
        place: Option<Place>,
        /// The key, with its path.
        key: String,
        /// The value.
        value: String,
        /// The valid values: a phrase that follows "expected".
        expected: String,
    },
    /// A parameter that cannot be used together with the others.
    Inapplicable {
        /// Where, if it is in a file.
        place: Option<Place>,
        /// The key, with its path.
        key: String,
        /// What it requires or conflicts with: a phrase that follows the key.
        problem: String,
    },
    /// The policy is not valid TOML.
    PolicySyntax {
        /// Where.
        place: Place,
        /// The error of the parser.
        source: Box<toml::de::Error>,
    },
    /// The policy is incomplete or contradicts itself.
    Incomplete {
        /// The policy.
        file: PathBuf,
        /// What is wrong and what to do.
        missing: String,
    },
    /// The search space is too large.
    SpaceTooLarge {
        /// The number of nodes, which may be too large for an integer.
        nodes: f64,
        /// The maximum number of nodes.
        most: u64,
    },
    /// A file changed between two scans.
    ChangedMeanwhile {
        /// The file.
        file: PathBuf,
    },
    /// The memory limit is too small.
    TooLittleMemory {
        /// What does not fit in memory.
        what: String,
        /// An alternative to raising the limit: a phrase that follows "or".
        instead: Option<&'static str>,
    },
    /// An option that cannot be used together with the others.
    Unsuitable {
        /// The option.
        what: &'static str,
        /// What it requires.
        needs: &'static str,
    },
    /// The threads could not be started.
    TooManyThreads {
        /// The number of threads.
        threads: usize,
        /// The error of the thread pool.
        source: rayon::ThreadPoolBuildError,
    },
    /// The operating system provided no random numbers.
    NoRandomness {
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A recoding cannot be saved, because it fits only the rows it was made from.
    NotSaveable {
        /// The file to save it to.
        file: PathBuf,
    },
    /// A file, such as a summary or a saved recoding, does not match the policy or the data.
    Mismatch {
        /// The file.
        file: PathBuf,
        /// What differs and what to do.
        problem: String,
    },
    /// A query is invalid or not supported.
    BadQuery {
        /// What is wrong.
        problem: String,
        /// The supported queries.
        supported: &'static str,
    },
    /// A file is not valid JSON, or not of the expected form.
    BadJson {
        /// The file.
        file: PathBuf,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// The output would overwrite a file that the job reads or writes.
    OutputIsInput {
        /// The file.
        file: PathBuf,
    },
    /// A file already exists and must not be overwritten.
    Exists {
        /// The file.
        file: PathBuf,
    },
    /// A record of a CSV file is too long.
    LongRecord {
        /// Where it begins.
        place: Place,
        /// The maximum length in bytes.
        most: usize,
    },
    /// A hierarchy has too many levels.
    DeepHierarchy {
        /// The row.
        place: Place,
        /// Its levels.
        found: usize,
        /// The maximum number of levels.
        most: usize,
    },
    /// An output would replace something that is not a regular file.
    NotAFile {
        /// The output.
        file: PathBuf,
        /// What it is.
        what: String,
    },
    /// Another run is publishing to the same name, and does not end.
    Busy {
        /// The output.
        file: PathBuf,
        /// The file by which runs wait for each other.
        turn: PathBuf,
    },
    /// The disk is full, and rows that do not fit in memory cannot be written to it.
    SpillFull {
        /// The folder of spilled rows.
        folder: PathBuf,
        /// Bytes of the block to write.
        needed: u64,
        /// Free bytes in the folder.
        free: u64,
        /// Bytes that this run has written there.
        held: u64,
    },
    /// The disk is full, and the release is incomplete.
    ReleaseFull {
        /// The release, which is not published.
        file: PathBuf,
        /// Bytes written.
        written: u64,
        /// About how many more bytes are needed.
        missing: u64,
    },
    /// A folder for temporary files does not exist.
    NoFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// A stream of record batches failed earlier, and its rows cannot be read again.
    StreamFailed {
        /// The name of the stream.
        name: String,
    },
    /// A sink returned something other than what was written to it.
    WrongSeal {
        /// The name of the sink.
        name: String,
        /// The difference.
        problem: String,
    },
    /// A file of spilled rows is damaged.
    SpillDamaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, without any of its content.
        problem: &'static str,
    },
    /// An internal error: a bug in this program.
    Defect,
    /// The job was interrupted before it had a result.
    Interrupted,
    /// No recoding meets the requirements.
    CannotBeMet {
        /// The reason.
        shortfall: Shortfall,
        /// What was required, and what would have been reached.
        refusal: Option<Box<Refusal>>,
    },
    /// A release does not meet the policy.
    CheckFailed {
        /// The release.
        file: PathBuf,
        /// Its classes.
        classes: u64,
        /// The requirements that fail.
        failing: Vec<Judged>,
        /// Other problems.
        problems: Vec<String>,
        /// Whether the release existed before it was checked; otherwise nothing was released.
        exists: bool,
    },
}

impl Error {
    /// The kind of the error, which determines the exit status.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Io { source, doing, .. } => match source.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::IsADirectory => ErrorKind::Input,
                std::io::ErrorKind::NotADirectory if *doing != "write" => ErrorKind::Input,
                _ => ErrorKind::Environment,
            },
            Error::CannotBeMet { .. } | Error::CheckFailed { .. } => ErrorKind::Refused,
            Error::Interrupted => ErrorKind::Interrupted,
            Error::SpillFull { .. }
            | Error::ReleaseFull { .. }
            | Error::SpillDamaged { .. }
            | Error::Defect
            | Error::NoRandomness { .. }
            | Error::TooManyThreads { .. }
            | Error::ChangedMeanwhile { .. }
            | Error::Busy { .. }
            | Error::StreamFailed { .. }
            | Error::WrongSeal { .. }
            | Error::TooLittleMemory { .. } => ErrorKind::Environment,
            _ => ErrorKind::Input,
        }
    }

    /// An [`Error::TooLittleMemory`] that says how much is needed.
    pub(crate) fn too_little_memory(
        what: String,
        needed: u64,
        instead: Option<&'static str>,
    ) -> Error {
        let what = format!("{what} (about {} MiB are needed)", needed.div_ceil(1 << 20));
        Error::TooLittleMemory { what, instead }
    }

    /// An [`Error::Io`], ready for `map_err`.
    pub fn io(file: &Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> Error {
        let file = file.to_path_buf();
        move |source| Error::Io { file, doing, source }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            Error::Columnar { source, .. } => Some(source),
            Error::BadJson { source, .. } => Some(source),
            Error::NoRandomness { source } => Some(source),
            Error::TooManyThreads { source, .. } => Some(source),
            Error::PolicySyntax { source, .. } => Some(source.as_ref()),
            _ => None,
        }
    }
}

impl From<Shortfall> for Error {
    fn from(shortfall: Shortfall) -> Error {
        Error::CannotBeMet { shortfall, refusal: None }
    }
}

/// "; did you mean `x`?", or nothing.
fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean {}?", quoted(name))).unwrap_or_default()
}

impl fmt::Display for Error {
    /// One line: control characters in the names of files and columns are escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        for character in Plain(self).to_string().chars() {
            if character.is_control() {
                write!(f, "{}", character.escape_debug())?
            } else {
                f.write_char(character)?
            }
        }
        Ok(())
    }
}

/// An error whose names are not escaped.
struct Plain<'a>(&'a Error);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Error::Io { file, doing, source } => {
                write!(f, "{}: cannot {doing}: {source}", file.display())
            }
            Error::Columnar { file, source } => {
                let said = source.to_string().replace('\n', " ");
                write!(
                    f,
                    "{}: damaged or unsupported Parquet or Arrow data: {said}",
                    file.display()
                )
            }
            Error::UnknownFormat { file } => {
                write!(
                    f,
                    "{}: unknown format; the name must end in .csv, .jsonl (also with .gz or .zst), .xlsx, .parquet or .arrow",
                    file.display()
                )
            }
            Error::NoHeader { file } => {
                write!(f, "{}:1: no header; the first line must name the columns", file.display())
            }
            Error::EmptyTable { file } => write!(f, "{}: the table has no rows", file.display()),
            Error::TooManyRows { file, most } => {
                write!(f, "{}: more than {most} rows; split the table", file.display())
            }
            Error::RepeatedColumn { file, column, positions } => write!(
                f,
                "{}:1: duplicate column {} at positions {} and {}; rename one",
                file.display(),
                quoted(column),
                positions.0,
                positions.1
            ),
            Error::NamelessColumn { file, position } => {
                write!(
                    f,
                    "{}:1: column {position} has no name; add one to the header",
                    file.display()
                )
            }
            Error::RaggedRow { place, expected, found } => {
                let fields = if *found == 1 { "field" } else { "fields" };
                write!(
                    f,
                    "{place}: the row has {found} {fields}, and the header has {expected}; correct \
                     the row, or put quotes around fields that contain the delimiter"
                )
            }
            Error::UnclosedQuote { place } => {
                write!(
                    f,
                    "{place}: unclosed quoted field in the record that starts here; close the quote"
                )
            }
            Error::BadRecord { place, problem } => write!(f, "{place}: {problem}"),
            Error::InvalidUtf8 { place, value } => {
                let instead = if place.column.is_some() { ", or set its encoding" } else { "" };
                write!(
                    f,
                    "{place}: {} is not valid UTF-8; convert the file to UTF-8{instead}",
                    quoted(value)
                )
            }
            Error::WrongType { place, value, expected } => write!(
                f,
                "{place}: {} is not {expected}; correct the value, or list it under `missing` in the \
                 policy",
                quoted(value)
            ),
            Error::NotInHierarchy { place, value, hierarchy, remedy } => {
                write!(
                    f,
                    "{place}: {} is not in {hierarchy}; correct the value, or {remedy}",
                    quoted(value)
                )
            }
            Error::Unfit { place, value, problem } if value.is_empty() => {
                write!(f, "{place}: the value {problem}")
            }
            Error::Unfit { place, value, problem } => {
                write!(f, "{place}: {} {problem}", quoted(value))
            }
            Error::UnsupportedColumn { place, data_type } => {
                write!(
                    f,
                    "{place}: {data_type} cannot be anonymized; flatten the column, or give it the role identifier, which drops it"
                )
            }
            Error::RepeatedLeaf { place, leaf, first } => {
                write!(f, "{place}: duplicate {}, first on line {first}; remove one", quoted(leaf))
            }
            Error::TwoParents { place, label, parents } => write!(
                f,
                "{place}: {} has two parents, {} and {}; a hierarchy must be a tree",
                quoted(label),
                quoted(&parents.0),
                quoted(&parents.1)
            ),
            Error::UnevenHierarchy { place, expected, found } => {
                write!(
                    f,
                    "{place}: the row has {found} labels, and the first row has {expected}; all rows must have the same length"
                )
            }
            Error::AmbiguousLabel { place: None, hierarchy, label } => {
                write!(
                    f,
                    "{hierarchy}: label {} denotes two different sets of values; rename one",
                    quoted(label)
                )
            }
            Error::AmbiguousLabel { place: Some(place), hierarchy, label } => write!(
                f,
                "{place}: {} is also a generalized label of {hierarchy}; rename it, or list it under `missing` in the policy",
                quoted(label)
            ),
            Error::EmptyHierarchy { place } => {
                write!(
                    f,
                    "{place}: incomplete hierarchy; it needs a row for each leaf, from the leaf to the root"
                )
            }
            Error::NoRole { place, policy } => write!(
                f,
                "{place} has no role in {}; add a role under [attributes], or a default under \
                 [defaults]",
                policy.display()
            ),
            Error::NoSuchColumn { file, column, nearest } => write!(
                f,
                "{}: no column {}, which the policy names{}",
                file.display(),
                quoted(column),
                suggestion(nearest)
            ),
            Error::UnknownKey { place, key, nearest } => {
                write!(f, "{place}: unknown key {}{}", quoted(key), suggestion(nearest))
            }
            Error::BadParameter { place, key, value, expected } => {
                if let Some(place) = place {
                    write!(f, "{place}: ")?;
                }
                write!(
                    f,
                    "invalid value {} for {}: expected {expected}",
                    quoted(value),
                    quoted(key)
                )
            }
            Error::Inapplicable { place, key, problem } => {
                if let Some(place) = place {
                    write!(f, "{place}: ")?;
                }
                write!(f, "{} {problem}", quoted(key))
            }
            Error::PolicySyntax { place, source } => {
                let message = source.message().trim().replace('\n', " ");
                write!(f, "{place}: invalid TOML: {message}")
            }
            Error::Incomplete { file, missing } => write!(f, "{}: {missing}", file.display()),
            Error::SpaceTooLarge { nodes, most } => write!(
                f,
                "there are {nodes:.1e} full-domain recodings, and the limit is {most}; use fewer \
                 levels or quasi-identifiers, or an algorithm such as local or mondrian"
            ),
            Error::ChangedMeanwhile { file } => {
                write!(
                    f,
                    "{}: the file changed while it was being read; run the command again when the file \
                     is complete",
                    file.display()
                )
            }
            Error::TooLittleMemory { what, instead } => {
                write!(f, "the memory limit is too small for {what}; raise it")?;
                instead.map_or(Ok(()), |instead| write!(f, ", or {instead}"))
            }
            Error::Unsuitable { what, needs } => write!(f, "{what} requires {needs}"),
            Error::TooManyThreads { threads, .. } => {
                write!(f, "cannot start {threads} threads; use fewer")
            }
            Error::NoRandomness { .. } => {
                write!(f, "the operating system provided no random numbers; nothing was released")
            }
            Error::NotSaveable { file } => write!(
                f,
                "{}: tight regions cannot be saved; set `regions = \"cover\"` under [search]",
                file.display()
            ),
            Error::Mismatch { file, problem } => write!(f, "{}: {problem}", file.display()),
            Error::BadQuery { problem, supported } => {
                write!(f, "invalid query: {problem}; {supported}")
            }
            Error::BadJson { file, source } => {
                write!(f, "{}: invalid JSON: {source}", file.display())
            }
            Error::OutputIsInput { file } => {
                write!(
                    f,
                    "{}: the output would overwrite a file that this job reads or writes; choose \
                     another name",
                    file.display()
                )
            }
            Error::Exists { file } => {
                write!(f, "{}: already exists; choose another name", file.display())
            }
            Error::LongRecord { place, most } => write!(
                f,
                "{place}: the record that starts here is longer than {most} bytes; close its \
                 quote, or raise the memory limit"
            ),
            Error::DeepHierarchy { place, found, most } => write!(
                f,
                "{place}: the hierarchy has {found} levels, and the limit is {most}; remove some"
            ),
            Error::NotAFile { file, what } => {
                write!(f, "{}: the output is {what}; choose another name", file.display())
            }
            Error::Busy { file, turn } => write!(
                f,
                "{}: another run is publishing to this name. Nothing was released; run again, and \
                 remove {} if there is no other run",
                file.display(),
                turn.display()
            ),
            Error::ReleaseFull { file, written, missing } => write!(
                f,
                "{}: the disk is full after {written} bytes, and about {missing} more are needed. Nothing was released; free some space, or choose another folder",
                file.display()
            ),
            Error::SpillFull { folder, needed, free, held } => {
                write!(f, "{}: the disk is full: ", folder.display())?;
                if needed > free {
                    write!(f, "cannot write {needed} bytes, because only {free} are free")?;
                } else {
                    // A quota may be exceeded, or the file system may have no entries left.
                    write!(f, "cannot write {needed} bytes, although {free} are free")?;
                }
                write!(
                    f,
                    "; this run has written {held} bytes. Nothing was released; free some space, or choose another folder for temporary files"
                )
            }
            Error::SpillDamaged { file, problem } => {
                write!(
                    f,
                    "{}: the temporary file is damaged: {problem}. Nothing was released; check the disk",
                    file.display()
                )
            }
            Error::NoFolder { folder } => {
                write!(f, "{}: no such folder; choose one for temporary files", folder.display())
            }
            Error::StreamFailed { name } => {
                write!(f, "{name}: reading failed earlier; open the stream again")
            }
            Error::WrongSeal { name, problem } => {
                write!(f, "{name}: the sink did not return what was written: {problem}")
            }
            Error::Interrupted => write!(f, "interrupted before there was a result"),
            Error::Defect => {
                write!(f, "internal error; please report this bug")
            }
            Error::CannotBeMet { shortfall, refusal } => {
                write!(f, "the requirements cannot be met: ")?;
                shortfall.explain(refusal.as_deref(), f)
            }
            Error::CheckFailed { file, classes, failing, problems, exists } => {
                let of = |judged: &Judged| judged.with_classes(*classes);
                let all: Vec<String> =
                    problems.iter().cloned().chain(failing.iter().map(of)).collect();
                let (file, all) = (file.display(), all.join("; "));
                if *exists {
                    write!(
                        f,
                        "{file}: the release does not meet the policy: {all}; do not publish it, \
                         and anonymize the original table again"
                    )
                } else {
                    write!(f, "{file}: verification failed: {all}; nothing was released")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_names_what_is_known() {
        let place = Place::file("a.csv").line(7).column("age");
        assert_eq!(place.to_string(), "a.csv:7: column `age`");
        assert_eq!(Place::file("a.csv").to_string(), "a.csv");
    }

    #[test]
    fn an_error_is_one_line_whatever_the_value() {
        let error = Error::WrongType {
            place: Place::file("a.csv").line(2).column("age"),
            value: "4\n2\u{7}".repeat(50),
            expected: "an integer".into(),
        };
        let shown = error.to_string();
        assert!(
            !shown.contains('\n') && !shown.contains('\u{7}') && shown.contains('…'),
            "{shown}"
        );
        assert_eq!(error.kind(), ErrorKind::Input);
    }
}
