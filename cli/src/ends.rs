//! Where a command reads from and writes to.

use crate::args::{Common, FormatArg};
use crate::failure::{Failure, Result};
use scumble::{FileFormat, Format, ReleaseFile, ReleaseStream, Sink, TableFile, Watch};
use std::path::Path;

/// Whether a path means standard input or output.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

fn format_of(arg: FormatArg) -> Format {
    match arg {
        FormatArg::Csv => Format::Csv,
        FormatArg::Parquet => Format::Parquet,
        FormatArg::Arrow => Format::Arrow,
    }
}

/// Opens a table: a file, or standard input.
pub fn open(path: &Path, common: &Common, folder: &Path, watch: &Watch) -> Result<TableFile> {
    let as_typed = |format: FileFormat| {
        let format = format.with_delimiter(common.delimiter);
        common.memory.map_or(format, |memory| format.within(memory))
    };
    if !is_standard(path) {
        return Ok(TableFile::open_as(path, as_typed(FileFormat::of(path)?))?);
    }
    let Some(format) = common.format else {
        return Err(Failure::Usage(
            "--format is required to read standard input: csv, parquet or arrow".into(),
        ));
    };
    let format = as_typed(FileFormat::new(format_of(format)));
    let (stdin, name) = (std::io::stdin(), Path::new("standard input"));
    Ok(TableFile::spool(stdin, name, format, folder, watch)?)
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
        // A release of a CSV table keeps its delimiter.
        let of_input = input.format().delimiter.or(common.delimiter);
        let mut file = ReleaseFile::with_format(output, format.with_delimiter(of_input));
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
    let format = FileFormat::new(format).with_delimiter(input.format().delimiter);
    Ok(Box::new(ReleaseStream::new(std::io::stdout(), format, folder)))
}
