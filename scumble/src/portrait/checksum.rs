//! Checksums of the files behind a table, by which a reader of a report recognizes them.

use super::{FileFacts, TableFacts};
use crate::error::{Error, Result};
use crate::source::Source;
use crate::watch::Watch;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes that are read between two polls for an abort.
const PIECE: usize = 1 << 18;

/// A table with its files and its number of rows. A draft has the name of the file that it becomes.
pub(super) fn facts(table: &dyn Source, rows: u64, watch: &Watch) -> Result<TableFacts> {
    let (name, paths) = (last(&table.file()), table.files());
    let of = |path: &Path| {
        let known = if paths.len() == 1 { name.clone() } else { last(path) };
        checksum(path, watch).map(|(bytes, sha256)| FileFacts { name: known, bytes, sha256 })
    };
    let files = paths.iter().map(|path| of(path)).collect::<Result<_>>()?;
    Ok(TableFacts { name, rows, files })
}

/// The name of a file without its folder, which is nobody else's business.
pub(super) fn last(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The length and the SHA-256 of a file.
fn checksum(path: &Path, watch: &Watch) -> Result<(u64, String)> {
    let failed = Error::io(path, "read");
    let read = || -> Result<std::io::Result<(u64, String)>> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) => return Ok(Err(error)),
        };
        let (mut hash, mut piece, mut bytes) = (Sha256::new(), vec![0; PIECE], 0);
        loop {
            watch.check()?;
            match file.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => {
                    hash.update(&piece[..length]);
                    bytes += length as u64;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        let digits = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Ok((bytes, digits)))
    };
    read()?.map_err(failed)
}
