//! Is the process that created this still alive?
//!
//! Anything that must not outlive its process (a draft, a folder of spilled rows) has a file that
//! the process keeps locked. The system releases the lock however the process ends, so an unlocked
//! file was left by a process that was killed.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

/// Creates a file that only its owner can read and write. Fails if the name already exists.
pub fn create_private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Locks a new file and returns whether it is now ours and still exists: between creation and
/// locking, another run may have removed it as abandoned. On a file system without locks every file
/// counts as held, and no run removes the file of another.
pub fn is_held(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => true,
        Ok(()) => is_same(file, path),
    }
}

/// Whether a path still refers to this file and not to a later one with the same name.
#[cfg(unix)]
pub fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |file: std::fs::Metadata| (file.dev(), file.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(file), Ok(path)) => identity(file) == identity(path),
        _ => false,
    }
}

/// Whether the path exists.
#[cfg(not(unix))]
pub fn is_same(_: &File, path: &Path) -> bool {
    path.exists()
}
