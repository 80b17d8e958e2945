//! A file that appears complete or not at all.
//!
//! A [`Draft`] is a hidden file beside its target, readable by its owner only and locked while its
//! process lives. It becomes the target by a rename, or it is removed. What a killed process left
//! is recognised by its name and by the lock that nobody holds any more, and is removed by the next
//! draft of the same target.

use crate::error::{Error, Result};
use crate::lock::{create_private, is_held, is_same};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the names of drafts end with.
pub(super) const ENDING: &str = ".scumble-draft";

/// A file on its way to its name.
#[derive(Debug)]
pub struct Draft {
    target: PathBuf,
    path: PathBuf,
    file: Option<File>,
    /// Whether what was written is on the disk: to ask for that a second time is to wait a second
    /// time.
    is_durable: AtomicBool,
}

impl Draft {
    /// An empty private file beside `target`.
    pub fn new(target: &Path) -> Result<Draft> {
        if target.is_dir() {
            return Err(Error::io(target, "write")(std::io::ErrorKind::IsADirectory.into()));
        }
        let Held { path, file } = claim(target, create_private)?;
        let (target, is_durable) = (target.to_path_buf(), AtomicBool::new(false));
        Ok(Draft { target, path, file: Some(file), is_durable })
    }

    /// A draft with this content.
    pub fn with(target: &Path, content: &str) -> Result<Draft> {
        let draft = Draft::new(target)?;
        draft.writer()?.write_all(content.as_bytes()).map_err(Error::io(target, "write"))?;
        Ok(draft)
    }

    /// The draft's own path, to read back what was written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's name after [`publish`](Self::publish).
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// A second handle to write through, until the content is made durable.
    pub fn writer(&self) -> Result<File> {
        self.is_durable.store(false, Ordering::Relaxed);
        match &self.file {
            Some(file) => file.try_clone().map_err(Error::io(&self.target, "write")),
            None => Err(Error::io(&self.target, "write")(std::io::ErrorKind::NotFound.into())),
        }
    }

    /// Makes the content durable.
    pub fn sync(&self) -> Result<()> {
        if !self.is_durable.load(Ordering::Relaxed) {
            self.file
                .as_ref()
                .map_or(Ok(()), File::sync_all)
                .map_err(Error::io(&self.target, "write"))?;
            self.is_durable.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Notes that somebody else has made the content durable.
    pub(super) fn mark_durable(&self) {
        self.is_durable.store(true, Ordering::Relaxed);
    }

    /// Makes the content durable and gives the file its name.
    pub fn publish(self) -> Result<()> {
        publish(vec![self])
    }
}

/// Makes all drafts durable, then gives them their names in this order. Nothing in between needs
/// space on the disk.
pub fn publish(mut drafts: Vec<Draft>) -> Result<()> {
    drafts.iter().try_for_each(Draft::sync)?;
    for draft in &mut drafts {
        std::fs::rename(&draft.path, &draft.target).map_err(Error::io(&draft.target, "write"))?;
        draft.file = None;
    }
    // A rename itself is durable once the folder is; not every system can sync a folder.
    let mut folders: Vec<&Path> = drafts.iter().map(|draft| folder_of(&draft.target)).collect();
    folders.dedup();
    for folder in folders.into_iter().flat_map(File::open) {
        let _ = folder.sync_all();
    }
    Ok(())
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Writes a small file whole: it appears complete, readable by its owner only, or not at all.
pub fn replace(target: &Path, content: &str) -> Result<()> {
    Draft::with(target, content)?.publish()
}

/// A draft's path, and the handle that holds its lock.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) path: PathBuf,
    pub(super) file: File,
}

/// Makes a draft of `target` under a free name beside it, and locks it. `make` creates a file or a
/// folder and opens it.
pub(super) fn claim(target: &Path, make: impl Fn(&Path) -> std::io::Result<File>) -> Result<Held> {
    remove_abandoned(target);
    let mut number = 0u32;
    loop {
        let path = beside(target, &format!(".{}-{number}{ENDING}", std::process::id()));
        match make(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 1000 => {}
            Err(error) => return Err(Error::io(target, "write")(error)),
            Ok(file) if is_held(&file, &path) => return Ok(Held { path, file }),
            // Between its making and its lock another run took it for abandoned.
            Ok(_) if number >= 1000 => {
                return Err(Error::io(target, "write")(std::io::ErrorKind::ResourceBusy.into()));
            }
            Ok(_) => {}
        }
        number += 1;
    }
}

pub(super) fn folder_of(target: &Path) -> &Path {
    target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

pub(super) fn beside(target: &Path, ending: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(ending);
    folder_of(target).join(name)
}

/// Removes drafts of a target whose process is gone.
fn remove_abandoned(target: &Path) {
    let prefix = beside(target, ".");
    let Some(prefix) = prefix.file_name().and_then(|name| name.to_str()) else { return };
    let Ok(entries) = std::fs::read_dir(folder_of(target)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_draft =
            name.to_str().is_some_and(|name| name.starts_with(prefix) && name.ends_with(ENDING));
        // Never through a link: somebody else's file may be behind it.
        let Ok(kind) = entry.file_type() else { continue };
        let opened = match is_draft {
            true if kind.is_file() => OpenOptions::new().write(true).open(entry.path()),
            true if kind.is_dir() => File::open(entry.path()),
            _ => continue,
        };
        // The lock is held until the draft is gone: its owner may be just about to take it. And it
        // must be on what is there now: the owner may have given the name to a new draft since.
        if let Ok(file) = opened
            && file.try_lock().is_ok()
            && is_same(&file, &entry.path())
        {
            let _ = if kind.is_dir() {
                std::fs::remove_dir_all(entry.path())
            } else {
                std::fs::remove_file(entry.path())
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("scumble-write-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_draft_is_gone_unless_published() {
        let folder = folder("drop");
        let target = folder.join("out.csv");
        drop(Draft::new(&target).unwrap());
        assert_eq!(names(&folder), Vec::<String>::new());
        replace(&target, "a\n").unwrap();
        assert_eq!(names(&folder), ["out.csv"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// What cannot get its name keeps those behind it from theirs: a release stands behind its
    /// report.
    #[test]
    fn a_release_never_stands_without_its_report() {
        let folder = folder("together");
        let (report, release) = (folder.join("out.report.json"), folder.join("out.csv"));
        let drafts =
            vec![Draft::with(&report, "{}").unwrap(), Draft::with(&release, "a\n").unwrap()];
        std::fs::create_dir(&report).unwrap();
        std::fs::write(report.join("in the way"), "").unwrap();
        assert!(publish(drafts).is_err());
        assert_eq!(names(&folder), ["out.report.json"]);
        std::fs::remove_dir_all(&report).unwrap();
        publish(vec![Draft::with(&report, "{}").unwrap(), Draft::with(&release, "a\n").unwrap()])
            .unwrap();
        assert_eq!(names(&folder), ["out.csv", "out.report.json"]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn abandoned_drafts_are_removed_and_live_ones_are_not() {
        let folder = folder("abandoned");
        let target = folder.join("out.csv");
        std::fs::write(folder.join(format!(".out.csv.1-0{ENDING}")), "left by a killed run")
            .unwrap();
        std::fs::write(folder.join(format!(".other.csv.1-0{ENDING}")), "of another target")
            .unwrap();
        let live = Draft::new(&target).unwrap();
        let second = Draft::new(&target).unwrap();
        assert_eq!(names(&folder).len(), 3, "{:?}", names(&folder));
        drop(second);
        live.publish().unwrap();
        assert_eq!(names(&folder), [format!(".other.csv.1-0{ENDING}"), "out.csv".to_string()]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
