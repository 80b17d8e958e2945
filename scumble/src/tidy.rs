//! What must not outlive the process?
//!
//! Files that hold personal data for a while (drafts, spilled rows) remove themselves when they are
//! dropped. A process that is told to end drops nothing, so they are listed here too, and
//! [`remove_all`] removes what is listed. The list is locked while something is made, named or
//! removed, so that nothing slips through in between.

use std::io::Result;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static LISTED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn listed() -> MutexGuard<'static, Vec<PathBuf>> {
    LISTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file or a folder that is on the list, until this is dropped. Removing it is its owner's work.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Makes something at `path` and lists it.
    pub fn make<T>(path: &Path, make: impl FnOnce() -> Result<T>) -> Result<(T, Temporary)> {
        let mut listed = listed();
        let made = make()?;
        listed.push(path.to_path_buf());
        Ok((made, Temporary { path: path.to_path_buf() }))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut listed = listed();
        if let Some(at) = listed.iter().position(|path| *path == self.path) {
            listed.swap_remove(at);
        }
    }
}

/// Does something that must happen wholly or not at all if the process is told to end. It must not
/// make or drop a [`Temporary`].
pub fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let _listed = listed();
    work()
}

/// Removes everything that is listed. Until the answer is dropped nothing new can be made: a
/// process ends before that.
#[must_use]
pub fn remove_all() -> Tidied {
    let listed = listed();
    for path in listed.iter() {
        // Never through a link: somebody else's folder may be behind it.
        let _ = match path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        };
    }
    Tidied { _listed: listed }
}

/// Nothing is listed any more.
pub struct Tidied {
    _listed: MutexGuard<'static, Vec<PathBuf>>,
}
