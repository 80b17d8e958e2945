//! How a table is stored in a file: its format, and what else must be known to read or write it.

use super::encoding;
use crate::error::{Error, Result};
use encoding_rs::Encoding;
use std::path::Path;

/// A format of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text with a delimiter.
    Csv,
    /// A JSON object on each line.
    Jsonl,
    /// A sheet of an Excel workbook, which can only be read.
    Xlsx,
    /// Apache Parquet.
    Parquet,
    /// Arrow's interprocess format, as a file or a stream.
    Arrow,
}

impl Format {
    /// Every format with its name.
    pub const NAMES: [(&'static str, Format); 5] = [
        ("csv", Format::Csv),
        ("jsonl", Format::Jsonl),
        ("xlsx", Format::Xlsx),
        ("parquet", Format::Parquet),
        ("arrow", Format::Arrow),
    ];

    /// Whether columns have types of Arrow.
    pub(crate) fn keeps_types(self) -> bool {
        matches!(self, Format::Parquet | Format::Arrow)
    }

    /// Whether a file of this format may be compressed as a whole. The others compress inside.
    fn is_plain_text(self) -> bool {
        matches!(self, Format::Csv | Format::Jsonl)
    }
}

/// How a file of text is compressed as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// gzip, `.csv.gz`.
    Gzip,
    /// Zstandard, `.csv.zst`.
    Zstd,
}

/// How a table is stored in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFormat {
    /// The format.
    pub format: Format,
    /// The delimiter of CSV (default: detected when read; a comma when written, or a tab for
    /// `.tsv`).
    pub delimiter: Option<u8>,
    /// The compression of CSV or JSON lines.
    pub compression: Compression,
    /// The sheet of a workbook (default: the first one that is not hidden).
    pub sheet: Option<String>,
    /// Whether repeated and missing names of columns are replaced when the file is read.
    pub rename_duplicates: bool,
    /// The encoding of CSV (default: detected).
    pub(super) encoding: Option<&'static Encoding>,
    /// The memory that a reader may assume.
    memory: Option<u64>,
}

/// The maximum length of a record of text. Reading one takes up to 14 times as much memory.
const LONGEST_RECORD: usize = 64 << 20;

/// The part of the memory that a record of text may have, and what it may have in any case.
const PART_OF_MEMORY: u64 = 16;
const ALWAYS_ALLOWED: usize = 1 << 20;

/// The memory that is assumed if none is given.
const USUAL_MEMORY: u64 = 2 << 30;

impl FileFormat {
    /// A format without a delimiter of its own and without compression.
    pub fn new(format: Format) -> FileFormat {
        FileFormat {
            format,
            delimiter: None,
            compression: Compression::None,
            sheet: None,
            rename_duplicates: false,
            encoding: None,
            memory: None,
        }
    }

    /// The same format for a reader with this much memory: a record of text may have a sixteenth
    /// of it.
    pub fn within(self, memory: u64) -> FileFormat {
        FileFormat { memory: Some(memory), ..self }
    }

    /// The format of a file, from the ending of its name.
    pub fn of(file: &Path) -> Result<FileFormat> {
        let unknown = || Error::UnknownFormat { file: file.to_path_buf() };
        let name = file.file_name().and_then(|name| name.to_str()).ok_or_else(unknown)?;
        let name = name.to_ascii_lowercase();
        let (name, compression) = match name.rsplit_once('.') {
            Some((name, "gz")) => (name, Compression::Gzip),
            Some((name, "zst")) => (name, Compression::Zstd),
            _ => (name.as_str(), Compression::None),
        };
        let parts = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        let format = match parts.map(|(_, ending)| ending) {
            Some("csv" | "tsv" | "txt") => Format::Csv,
            Some("jsonl" | "ndjson") => Format::Jsonl,
            Some("xlsx" | "xlsm") => Format::Xlsx,
            Some("parquet" | "pq") => Format::Parquet,
            Some("arrow" | "feather" | "ipc") => Format::Arrow,
            _ => return Err(unknown()),
        };
        if compression != Compression::None && !format.is_plain_text() {
            return Err(unknown());
        }
        Ok(FileFormat { compression, ..FileFormat::new(format) })
    }

    /// The same format with this delimiter, if there is one.
    pub fn with_delimiter(self, delimiter: Option<u8>) -> FileFormat {
        FileFormat { delimiter: delimiter.or(self.delimiter), ..self }
    }

    /// The same format for a file that this crate has written: its text is UTF-8.
    pub(crate) fn as_written(&self) -> FileFormat {
        FileFormat { encoding: Some(encoding_rs::UTF_8), ..self.clone() }
    }

    /// The same format with this encoding of CSV: a name or an alias of the WHATWG's Encoding
    /// Standard, such as `windows-1252` or `latin1`, which are the same.
    pub fn with_encoding(self, name: &str) -> Result<FileFormat> {
        let encoding = encoding::by_name(name)?;
        Ok(FileFormat { encoding: Some(encoding), ..self })
    }

    /// The same format with the compression that these first bytes of a file show.
    pub(super) fn packed_like(self, start: &[u8]) -> FileFormat {
        let compression = match start {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        };
        let is_text = self.format.is_plain_text();
        FileFormat { compression: if is_text { compression } else { Compression::None }, ..self }
    }

    /// The maximum length of a record of text.
    pub(super) fn longest_record(&self) -> usize {
        let Some(memory) = self.memory else { return LONGEST_RECORD };
        let part = usize::try_from(memory / PART_OF_MEMORY).unwrap_or(usize::MAX);
        part.clamp(ALWAYS_ALLOWED, LONGEST_RECORD)
    }

    /// The memory that a reader may take for what it must keep as a whole.
    pub(super) fn memory(&self) -> u64 {
        self.memory.unwrap_or(USUAL_MEMORY)
    }
}
