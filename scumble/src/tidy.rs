//! What must not outlive the process?
//!
//! Temporary files with personal data (drafts, spilled rows) are removed when their owner is
//! dropped. A process that is terminated by a signal drops nothing, so these files are also listed
//! here, and [`remove_all`] removes everything on the list. The list is locked while something is
//! created, renamed or removed, so that nothing is missed in between.

use std::io::Result;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static LISTED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn listed() -> MutexGuard<'static, Vec<PathBuf>> {
    LISTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a file or folder on the list until it is dropped. Removing the file is the owner's job.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Creates something at `path` and lists it.
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

/// Runs work that must complete or not start if the process is terminated by a signal. It must not
/// create or drop a [`Temporary`].
pub fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let _listed = listed();
    work()
}

/// Removes everything on the list. Nothing new can be created until the returned guard is dropped;
/// the process is expected to end first.
#[must_use]
pub fn remove_all() -> Tidied {
    let listed = listed();
    for path in listed.iter() {
        // Never follow a link: it may point to someone else's folder.
        let _ = match path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        };
    }
    Tidied { _listed: listed }
}

/// Proof that the list was cleaned up; holds its lock.
pub struct Tidied {
    _listed: MutexGuard<'static, Vec<PathBuf>>,
}
