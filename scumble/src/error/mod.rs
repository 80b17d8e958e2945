//! What can go wrong, as data: every variant carries what a person needs to find the spot and mend
//! it.
//!
//! The library never prints and never exits. [`Error::kind`] says whose turn it is: the requirement
//! cannot be met (exit status 1), the input or the usage is wrong (2), or the environment failed
//! (3).

mod refusal;

pub use refusal::{Figure, Judged, Refusal, Shortfall};

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whose turn it is to act on an [`Error`]; the numbers are the exit statuses of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The requirement cannot be met, or a check failed. Nothing was released.
    Refused = 1,
    /// Bad usage or bad input.
    Input = 2,
    /// The disk, the network, the operating system.
    Environment = 3,
    /// Somebody asked for an early end, as a shell tells of it (128 + SIGINT).
    Interrupted = 130,
}

/// A spot in a file: the parts that are known.
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

/// A value as it may be shown in one line: quoted, control characters escaped, long ones cut.
pub fn quoted(value: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown: String = value.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if value.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// Everything that can go wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened, read, written or renamed.
    Io {
        /// The file.
        file: PathBuf,
        /// What was being done, as a verb: "read", "write".
        doing: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A Parquet or Arrow file is damaged or uses something that is not supported.
    Columnar {
        /// The file.
        file: PathBuf,
        /// What the reader said.
        source: arrow_schema::ArrowError,
    },
    /// The name of a file does not say which format it has.
    UnknownFormat {
        /// The file.
        file: PathBuf,
    },
    /// There is no header line, or no column.
    NoHeader {
        /// The file.
        file: PathBuf,
    },
    /// There is a header, but not one row.
    EmptyTable {
        /// The file.
        file: PathBuf,
    },
    /// More rows than this can count.
    TooManyRows {
        /// The file.
        file: PathBuf,
        /// How many rows are possible.
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
    /// A quoted field never ends.
    UnclosedQuote {
        /// The line where the field's record begins.
        place: Place,
    },
    /// Bytes that are not UTF-8.
    InvalidUtf8 {
        /// Where.
        place: Place,
        /// The bytes, those that are not text replaced.
        value: String,
    },
    /// A value is not of its column's type.
    WrongType {
        /// Where.
        place: Place,
        /// The value.
        value: String,
        /// The type it should have: "an integer", "a number", "a date (YYYY-MM-DD)".
        expected: &'static str,
    },
    /// A value is not a leaf of its column's hierarchy.
    NotInHierarchy {
        /// Where.
        place: Place,
        /// The value.
        value: String,
        /// The hierarchy: a file, or a description.
        hierarchy: String,
    },
    /// A value that a distribution cannot do anything with.
    Unfit {
        /// Where it stands first.
        place: Place,
        /// The value.
        value: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// A column of a type that has no text form here.
    UnsupportedColumn {
        /// Where.
        place: Place,
        /// Its type.
        data_type: String,
    },
    /// A hierarchy in which a leaf stands twice.
    RepeatedLeaf {
        /// Where it stands again.
        place: Place,
        /// The leaf.
        leaf: String,
        /// The line where it stood first.
        first: u64,
    },
    /// A hierarchy in which one label has two parents.
    TwoParents {
        /// Where the second parent stands.
        place: Place,
        /// The label.
        label: String,
        /// Both parents.
        parents: (String, String),
    },
    /// A hierarchy whose rows differ in length.
    UnevenHierarchy {
        /// Where.
        place: Place,
        /// Labels in the first row.
        expected: usize,
        /// Labels in this row.
        found: usize,
    },
    /// A label that stands for two different sets of values.
    AmbiguousLabel {
        /// The value that is written like another label, where it is one.
        place: Option<Place>,
        /// The hierarchy.
        hierarchy: String,
        /// The label.
        label: String,
    },
    /// A hierarchy with no row, or with one level only.
    EmptyHierarchy {
        /// The file.
        place: Place,
    },
    /// A column of the input that the policy gives no role.
    NoRole {
        /// The input.
        place: Place,
        /// The policy.
        policy: PathBuf,
    },
    /// A column that the policy names and the input lacks.
    NoSuchColumn {
        /// The input.
        file: PathBuf,
        /// The column.
        column: String,
        /// The nearest column that exists.
        nearest: Option<String>,
    },
    /// A key of the policy that does not exist.
    UnknownKey {
        /// Where.
        place: Place,
        /// The key, with its path.
        key: String,
        /// The nearest key that exists.
        nearest: Option<String>,
    },
    /// A value of the policy, or of a flag, that is not allowed.
    BadParameter {
        /// Where: the policy's line, or none for a flag.
        place: Option<Place>,
        /// The key or flag.
        key: String,
        /// What was given.
        value: String,
        /// What is allowed.
        expected: String,
    },
    /// The policy is not TOML.
    PolicySyntax {
        /// Where.
        place: Place,
        /// What the parser said.
        source: Box<toml::de::Error>,
    },
    /// Something the policy must say and does not.
    Incomplete {
        /// The policy.
        file: PathBuf,
        /// What is missing and what to write.
        missing: String,
    },
    /// More nodes than the search can go through.
    SpaceTooLarge {
        /// How many there are (as a number too large for an integer may be).
        nodes: f64,
        /// How many can be searched.
        most: u64,
    },
    /// A file that is not what it was when it was read first.
    ChangedMeanwhile {
        /// The file.
        file: PathBuf,
    },
    /// The memory limit is too small.
    TooLittleMemory {
        /// What does not fit.
        what: String,
        /// What to do besides raising the limit.
        instead: Option<&'static str>,
    },
    /// Something that was asked for does not go with the rest.
    Unsuitable {
        /// What was asked for.
        what: &'static str,
        /// What it needs.
        needs: &'static str,
    },
    /// The system could not start the threads.
    TooManyThreads {
        /// How many were asked for.
        threads: usize,
        /// What the system said.
        source: rayon::ThreadPoolBuildError,
    },
    /// The operating system has no randomness.
    NoRandomness {
        /// What it said.
        source: std::io::Error,
    },
    /// A recoding that depends on the very rows it was made from.
    NotSaveable {
        /// Where it should have been saved.
        file: PathBuf,
    },
    /// A summary or a saved recoding does not fit the policy or the data.
    Mismatch {
        /// The file.
        file: PathBuf,
        /// What differs, and what to do.
        problem: String,
    },
    /// A query that cannot be answered.
    BadQuery {
        /// Why not.
        problem: String,
        /// What can be.
        supported: &'static str,
    },
    /// A file that is not the JSON it should be.
    BadJson {
        /// The file.
        file: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// The output would overwrite something that the job reads or writes itself.
    OutputIsInput {
        /// The file.
        file: PathBuf,
    },
    /// A file is there that must not be overwritten.
    Exists {
        /// The file.
        file: PathBuf,
    },
    /// No space is left for rows that do not fit into memory.
    SpillFull {
        /// The run's folder of spilled rows.
        folder: PathBuf,
        /// Bytes of the block that was to be written.
        needed: u64,
        /// Bytes that are free there.
        free: u64,
        /// Bytes that the run holds there.
        held: u64,
    },
    /// The disk is full, and the release on it not whole.
    ReleaseFull {
        /// The release, which does not appear.
        file: PathBuf,
        /// Bytes that were written.
        written: u64,
        /// About how many more there would have been.
        missing: u64,
    },
    /// There is no such folder for temporary files.
    NoFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// A stream of record batches failed before, and its rows cannot be read again.
    StreamFailed {
        /// The stream.
        name: String,
    },
    /// A sink handed back something else than what was written.
    WrongSeal {
        /// The sink.
        name: String,
        /// What differs.
        problem: String,
    },
    /// A file of spilled rows is not what was written.
    SpillDamaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it. Nothing of its content.
        problem: &'static str,
    },
    /// Something failed that never should: a defect of this program.
    Defect,
    /// The job was told to end before it had anything to hand over.
    Interrupted,
    /// No recoding meets the requirements.
    CannotBeMet {
        /// Why not.
        shortfall: Shortfall,
        /// What was asked, and what would have been reached.
        refusal: Option<Box<Refusal>>,
    },
    /// A release, written or given, breaks what the policy asks.
    CheckFailed {
        /// The release.
        file: PathBuf,
        /// Its classes.
        classes: u64,
        /// The requirements that it breaks.
        failing: Vec<Judged>,
        /// What else is wrong.
        problems: Vec<String>,
    },
}

impl Error {
    /// Whose turn it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Io { source, doing, .. } => match source.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::IsADirectory => ErrorKind::Input,
                std::io::ErrorKind::NotADirectory if *doing == "read" => ErrorKind::Input,
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
            | Error::StreamFailed { .. }
            | Error::WrongSeal { .. }
            | Error::TooLittleMemory { .. } => ErrorKind::Environment,
            _ => ErrorKind::Input,
        }
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

/// ", did you mean `x`?", or nothing.
fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean {}?", quoted(name))).unwrap_or_default()
}

impl fmt::Display for Error {
    /// One line, whatever files and columns are called.
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

/// An error with names as they are.
struct Plain<'a>(&'a Error);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Error::Io { file, doing, source } => {
                write!(f, "{}: cannot {doing}: {source}", file.display())
            }
            Error::Columnar { file, source } => {
                let said = source.to_string().replace('\n', " ");
                write!(f, "{}: not a readable Parquet or Arrow file: {said}", file.display())
            }
            Error::UnknownFormat { file } => {
                write!(
                    f,
                    "{}: the format is told by the ending; use .csv, .parquet or .arrow",
                    file.display()
                )
            }
            Error::NoHeader { file } => {
                write!(f, "{}:1: no header; the first line must name the columns", file.display())
            }
            Error::EmptyTable { file } => write!(f, "{}: no rows below the header", file.display()),
            Error::TooManyRows { file, most } => {
                write!(f, "{}: more than {most} rows; split the table", file.display())
            }
            Error::RepeatedColumn { file, column, positions } => write!(
                f,
                "{}:1: column {} stands twice in the header, at {} and {}; rename one",
                file.display(),
                quoted(column),
                positions.0,
                positions.1
            ),
            Error::NamelessColumn { file, position } => {
                write!(f, "{}:1: column {position} of the header has no name", file.display())
            }
            Error::RaggedRow { place, expected, found } => {
                write!(f, "{place}: {found} fields where the header has {expected}")
            }
            Error::UnclosedQuote { place } => {
                write!(f, "{place}: a quoted field that starts here never ends")
            }
            Error::InvalidUtf8 { place, value } => {
                write!(f, "{place}: {} is not UTF-8; convert the file first", quoted(value))
            }
            Error::WrongType { place, value, expected } => write!(
                f,
                "{place}: {} is not {expected}; mend it, or list it under `missing` in the policy",
                quoted(value)
            ),
            Error::NotInHierarchy { place, value, hierarchy } => {
                write!(f, "{place}: {} is not a leaf of {hierarchy}; add it there", quoted(value))
            }
            Error::Unfit { place, value, problem } => {
                write!(f, "{place}: {} {problem}", quoted(value))
            }
            Error::UnsupportedColumn { place, data_type } => {
                write!(
                    f,
                    "{place}: values of type {data_type} are not supported; flatten the column, or drop it"
                )
            }
            Error::RepeatedLeaf { place, leaf, first } => {
                write!(f, "{place}: leaf {} stands on line {first} already", quoted(leaf))
            }
            Error::TwoParents { place, label, parents } => write!(
                f,
                "{place}: {} lies below {} here and below {} before; a hierarchy must be a tree",
                quoted(label),
                quoted(&parents.1),
                quoted(&parents.0)
            ),
            Error::UnevenHierarchy { place, expected, found } => {
                write!(
                    f,
                    "{place}: {found} labels where the first row has {expected}; every row needs as many"
                )
            }
            Error::AmbiguousLabel { place: None, hierarchy, label } => {
                write!(
                    f,
                    "{hierarchy}: label {} stands for two different sets of values; rename one",
                    quoted(label)
                )
            }
            Error::AmbiguousLabel { place: Some(place), hierarchy, label } => write!(
                f,
                "{place}: {} is written like a generalized value of {hierarchy}; rename it, or list it under `missing`",
                quoted(label)
            ),
            Error::EmptyHierarchy { place } => {
                write!(
                    f,
                    "{place}: a hierarchy needs a row for each leaf, from the leaf to one root"
                )
            }
            Error::NoRole { place, policy } => write!(
                f,
                "{place}: no role in {}; add [attributes] for it, or `role` under [defaults]",
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
                write!(f, "{place}: no such key: {}{}", quoted(key), suggestion(nearest))
            }
            Error::BadParameter { place, key, value, expected } => {
                if let Some(place) = place {
                    write!(f, "{place}: ")?;
                }
                write!(f, "{key} = {}: expected {expected}", quoted(value))
            }
            Error::PolicySyntax { place, source } => {
                write!(f, "{place}: not TOML: {}", source.message().trim().replace('\n', " "))
            }
            Error::Incomplete { file, missing } => write!(f, "{}: {missing}", file.display()),
            Error::SpaceTooLarge { nodes, most } => write!(
                f,
                "the lattice has {nodes:.3e} nodes and at most {most} can be searched; use fewer levels or \
                 quasi-identifiers"
            ),
            Error::ChangedMeanwhile { file } => {
                write!(
                    f,
                    "{}: it changed while it was read; run again when nobody writes to it",
                    file.display()
                )
            }
            Error::TooLittleMemory { what, instead } => {
                write!(f, "the memory limit is too small for {what}; raise it")?;
                instead.map_or(Ok(()), |instead| write!(f, ", or {instead}"))
            }
            Error::Unsuitable { what, needs } => write!(f, "{what} needs {needs}"),
            Error::TooManyThreads { threads, .. } => {
                write!(f, "cannot start {threads} threads; use fewer")
            }
            Error::NoRandomness { .. } => {
                write!(f, "the operating system gave no random numbers; nothing was released")
            }
            Error::NotSaveable { file } => write!(
                f,
                "{}: tight regions fit only the rows they were made from; set regions = \"cover\" to save the recoding",
                file.display()
            ),
            Error::Mismatch { file, problem } => write!(f, "{}: {problem}", file.display()),
            Error::BadQuery { problem, supported } => {
                write!(f, "the query: {problem}; {supported}")
            }
            Error::BadJson { file, source } => {
                write!(f, "{}: not the expected JSON: {source}", file.display())
            }
            Error::OutputIsInput { file } => {
                write!(
                    f,
                    "{}: this would overwrite a file of the job itself; choose another name",
                    file.display()
                )
            }
            Error::Exists { file } => {
                write!(f, "{}: it exists already; choose another name", file.display())
            }
            Error::ReleaseFull { file, written, missing } => write!(
                f,
                "{}: the disk is full after {written} bytes; about {missing} more are needed, or another place",
                file.display()
            ),
            Error::SpillFull { folder, needed, free, held } => {
                write!(f, "{}: the disk is full: ", folder.display())?;
                match needed.saturating_sub(*free) {
                    // Free bytes need not be ours: quotas, and file systems that ran out of
                    // entries.
                    0 => write!(f, "{needed} bytes were refused, though {free} are free")?,
                    missing => write!(
                        f,
                        "the next {needed} bytes need {missing} more bytes than the {free} left"
                    )?,
                }
                write!(
                    f,
                    ", after {held} bytes of this run; nothing was released. Free some space, or choose another folder for temporary files"
                )
            }
            Error::SpillDamaged { file, problem } => {
                write!(
                    f,
                    "{}: spilled rows are damaged: {problem}; nothing was released. Is the disk sound?",
                    file.display()
                )
            }
            Error::NoFolder { folder } => {
                write!(f, "{}: temporary files need a folder that exists", folder.display())
            }
            Error::StreamFailed { name } => {
                write!(f, "{name}: reading failed before; open the stream again")
            }
            Error::WrongSeal { name, problem } => {
                write!(f, "{name}: what was written cannot be read back: {problem}")
            }
            Error::Interrupted => write!(f, "interrupted; nothing was released"),
            Error::Defect => {
                write!(f, "an internal error; nothing was released. Please report what you did")
            }
            Error::CannotBeMet { shortfall, .. } => {
                write!(f, "the requirements cannot be met: {shortfall}")
            }
            Error::CheckFailed { file, classes, failing, problems } => {
                let of = |judged: &Judged| match judged.failing_classes {
                    0 => judged.to_string(),
                    failing => format!("{judged}, {failing} of {classes} classes fail"),
                };
                let all: Vec<String> =
                    problems.iter().cloned().chain(failing.iter().map(of)).collect();
                write!(f, "{}: not released: {}", file.display(), all.join("; "))
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
            expected: "an integer",
        };
        let shown = error.to_string();
        assert!(
            !shown.contains('\n') && !shown.contains('\u{7}') && shown.contains('…'),
            "{shown}"
        );
        assert_eq!(error.kind(), ErrorKind::Input);
    }
}
