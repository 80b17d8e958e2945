//! Where a command reads from and writes to.

use crate::args::{Common, FormatArg};
use crate::failure::{Failure, Result};
use scumble::{FileFormat, Format, ReleaseFile, ReleaseStream, Sink, TableFile, Tables, Watch};
use std::path::Path;

/// Whether a path means standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

fn format_of(arg: FormatArg) -> Format {
    match arg {
        FormatArg::Csv => Format::Csv,
        FormatArg::Jsonl => Format::Jsonl,
        FormatArg::Xlsx => Format::Xlsx,
        FormatArg::Parquet => Format::Parquet,
        FormatArg::Arrow => Format::Arrow,
    }
}

/// A format with what the flags say about inputs.
fn as_typed(format: FileFormat, common: &Common) -> Result<FileFormat> {
    let mut format = format.with_delimiter(common.delimiter);
    format.sheet = common.sheet.clone();
    format.rename_duplicates = common.rename_duplicates;
    if let Some(name) = &common.encoding {
        format = format.with_encoding(name)?;
    }
    Ok(common.memory.map_or(format.clone(), |memory| format.within(memory)))
}

/// Opens a table: a file, or standard input.
pub fn open(path: &Path, common: &Common, folder: &Path, watch: &Watch) -> Result<TableFile> {
    if !is_standard(path) {
        let format = as_typed(FileFormat::of(path)?, common)?;
        return Ok(TableFile::open_in(path, format, folder, watch)?);
    }
    let Some(format) = common.format else {
        return Err(Failure::Usage(
            "--format is required to read standard input: csv, jsonl, parquet, arrow or xlsx"
                .into(),
        ));
    };
    let format = as_typed(FileFormat::new(format_of(format)), common)?;
    let (stdin, name) = (std::io::stdin(), Path::new("standard input"));
    Ok(TableFile::spool(stdin, name, format, folder, watch)?)
}

/// Opens a release: a table, or the folder of a distribution.
pub fn tables(path: &Path, common: &Common, folder: &Path, watch: &Watch) -> Result<Tables> {
    match path.is_dir() {
        true => Ok(Tables::open_folder(path, common.encoding.as_deref(), watch)?),
        false => Ok(Tables::one(open(path, common, folder, watch)?)),
    }
}

/// Where a release of one table goes: a file, or standard output.
pub fn release(
    output: &Path,
    recoding: Option<&Path>,
    input: &TableFile,
    common: &Common,
    folder: &Path,
) -> Result<Box<dyn Sink>> {
    if !is_standard(output) {
        let format = FileFormat::of(output)?;
        check_writable(format.format)?;
        // A release of a CSV table keeps its delimiter.
        let of_input = input.format().delimiter.or(common.delimiter);
        let format = format.with_delimiter(of_input);
        let mut file = ReleaseFile::with_format(output, format).like(input);
        if let Some(recoding) = recoding {
            file = file.save_recoding(recoding);
        }
        return Ok(Box::new(file));
    }
    if common.json {
        return Err(Failure::Usage(
            "--json cannot be used when the release goes to standard output".into(),
        ));
    }
    if recoding.is_some() {
        return Err(Failure::Usage(
            "--save-recoding cannot be used when the release goes to standard output".into(),
        ));
    }
    let format = common.format.map_or(input.format().format, format_of);
    check_writable(format)?;
    let format = FileFormat::new(format).with_delimiter(input.format().delimiter);
    Ok(Box::new(ReleaseStream::new(std::io::stdout(), format, folder).like(input)))
}

/// Refuses the format that is only read.
fn check_writable(format: Format) -> Result<()> {
    match format {
        Format::Xlsx => Err(Failure::Usage(
            "xlsx is only read; write .csv, .jsonl, .parquet or .arrow (--format with -)".into(),
        )),
        _ => Ok(()),
    }
}
