//! Does the process that made this still live?
//!
//! What only lives as long as its process (a draft, a folder of spilled rows) carries a file that
//! the process keeps locked. The system drops the lock however the process ends, so what nobody
//! holds any more was left by a killed one.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

/// A new file that only its owner may read and write. Fails if anything has that name already.
pub fn create_private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Locks a new file; whether it is ours now, and still there: between its making and its lock
/// another run may have taken it for abandoned. Where a file system knows no locks every file
/// counts as held, and nobody removes another's.
pub fn is_held(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => true,
        Ok(()) => is_same(file, path),
    }
}

/// Whether a path still leads to this very file, and not to a later one of the same name.
#[cfg(unix)]
pub fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |file: std::fs::Metadata| (file.dev(), file.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(file), Ok(path)) => identity(file) == identity(path),
        _ => false,
    }
}

/// Whether the path leads to a file.
#[cfg(not(unix))]
pub fn is_same(_: &File, path: &Path) -> bool {
    path.exists()
}
