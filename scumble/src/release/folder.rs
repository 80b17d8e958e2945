//! A folder that appears complete or not at all: a [`Draft`](super::Draft) of several files.
//!
//! The draft is a hidden folder beside its target, open to its owner only and locked while its
//! process lives. A release of the same kind that stands at the target is moved aside for the
//! moment of the rename and then removed; anything else that stands there is left alone, and the
//! job is refused.

use super::write::{ENDING, Held, beside, claim, folder_of};
use crate::error::{Error, Result};
use crate::lock::create_private;
use crate::tidy;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::JoinHandle;

/// A file that every folder release has; what lacks it is not ours to replace.
const MARK: &str = "sensitive.csv";

/// A folder on its way to its name.
#[derive(Debug)]
pub struct FolderDraft {
    target: PathBuf,
    held: Option<Held>,
    /// Files that are being made durable.
    syncing: Mutex<Vec<(PathBuf, JoinHandle<std::io::Result<()>>)>>,
}

impl FolderDraft {
    /// An empty private folder beside `target`, which must be free, empty, or a release of the same
    /// kind.
    pub fn new(target: &Path) -> Result<FolderDraft> {
        // A trailing slash is no part of the name.
        let target: PathBuf = target.components().collect();
        let taken = match std::fs::symlink_metadata(&target) {
            Err(_) => false,
            Ok(found) if found.is_dir() => !is_replaceable(&target),
            Ok(_) => true,
        };
        if taken {
            return Err(Error::Exists { file: target });
        }
        let make = |path: &Path| {
            let mut builder = std::fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(path)?;
            File::open(path)
        };
        let held = claim(&target, make)?;
        Ok(FolderDraft { target, held: Some(held), syncing: Mutex::default() })
    }

    /// The draft's own path, to read back what was written.
    pub fn path(&self) -> &Path {
        self.held.as_ref().map_or(&self.target, |held| &held.path)
    }

    /// The folder's name after [`publish`](Self::publish).
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// A new private file in the folder.
    pub fn create(&self, name: &str) -> Result<File> {
        create_private(&self.path().join(name)).map_err(Error::io(&self.target.join(name), "write"))
    }

    /// Takes a file that is complete: it is made durable while others are written and read back.
    /// Disks take their time, and nobody has to wait for them before the end.
    pub fn finish(&self, file: File, name: &str) {
        let thread = std::thread::spawn(move || file.sync_all());
        if let Ok(mut syncing) = self.syncing.lock() {
            syncing.push((self.target.join(name), thread));
        }
    }

    /// Waits for the files that are being made durable; an error is that of the first that could
    /// not be.
    fn wait(&self) -> Result<()> {
        let syncing = self
            .syncing
            .lock()
            .map(|mut syncing| std::mem::take(&mut *syncing))
            .map_err(|_| Error::Defect)?;
        let ended = syncing.into_iter().map(|(file, thread)| match thread.join() {
            Ok(synced) => synced.map_err(Error::io(&file, "write")),
            Err(_) => Err(Error::Defect),
        });
        // All of them end before the first error is told.
        ended.collect::<Vec<_>>().into_iter().collect()
    }

    /// Makes the content durable and gives the folder its name.
    pub fn publish(mut self) -> Result<()> {
        self.wait()?;
        let failed = || Error::io(&self.target, "write");
        let Some(held) = &self.held else { return Ok(()) };
        for entry in std::fs::read_dir(&held.path).map_err(failed())? {
            let file = File::open(entry.map_err(failed())?.path()).map_err(failed())?;
            file.sync_all().map_err(failed())?;
        }
        let _ = held.file.sync_all();
        // By this name a later run removes it, should this one be killed in between.
        let aside = beside(&self.target, &format!(".{}-replaced{ENDING}", std::process::id()));
        let replaced = self.target.exists() && is_replaceable(&self.target);
        // An interrupt in between would leave nothing at the target.
        tidy::undisturbed(|| {
            if replaced {
                std::fs::rename(&self.target, &aside)?;
            }
            std::fs::rename(&held.path, &self.target).inspect_err(|_| {
                if replaced {
                    let _ = std::fs::rename(&aside, &self.target);
                }
            })
        })
        .map_err(failed())?;
        self.held = None;
        if let Ok(folder) = File::open(folder_of(&self.target)) {
            let _ = folder.sync_all();
        }
        if replaced {
            let _ = std::fs::remove_dir_all(&aside);
        }
        Ok(())
    }
}

/// Whether a folder is empty, or a release of this kind.
fn is_replaceable(folder: &Path) -> bool {
    let empty = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    empty || (folder.join(MARK).is_file() && folder.join("report.json").is_file())
}

impl Drop for FolderDraft {
    fn drop(&mut self) {
        let _ = self.wait();
        if let Some(held) = self.held.take() {
            let _ = std::fs::remove_dir_all(&held.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_folder_is_gone_unless_published_and_replaces_only_its_kind() {
        let place = std::env::temp_dir().join(format!("scumble-folder-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).unwrap();
        let names = || std::fs::read_dir(&place).unwrap().count();
        let target = place.join("out");
        drop(FolderDraft::new(&target).unwrap());
        assert_eq!(names(), 0);
        for content in ["one", "two"] {
            let draft = FolderDraft::new(&place.join("out/")).unwrap();
            for name in [MARK, "report.json"] {
                draft.create(name).unwrap().write_all(content.as_bytes()).unwrap();
            }
            draft.publish().unwrap();
            assert_eq!(std::fs::read_to_string(target.join(MARK)).unwrap(), content);
            assert_eq!(names(), 1);
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&target), mode(&target.join(MARK))), (0o700, 0o600));
        }
        std::fs::remove_file(target.join(MARK)).unwrap();
        assert!(
            matches!(FolderDraft::new(&target), Err(Error::Exists { .. })),
            "somebody else's folder"
        );
        std::fs::create_dir(place.join(format!(".out.1-0{}", ENDING))).unwrap();
        let free = FolderDraft::new(&place.join("free")).unwrap();
        assert_eq!(names(), 3, "drafts of other targets are left alone");
        drop(free);
        std::fs::remove_dir_all(&target).unwrap();
        drop(FolderDraft::new(&target).unwrap());
        assert_eq!(names(), 0, "an abandoned draft is removed");
        std::fs::remove_dir_all(place).unwrap();
    }
}
