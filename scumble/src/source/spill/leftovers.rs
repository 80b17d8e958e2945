//! What killed runs left, and only that, is removed.
//!
//! A folder goes if it has such a name, belongs to the same user, and its lock is there and held by
//! nobody; then its spill files go, then the lock, then the folder. A run that is killed in the
//! middle of this leaves the lock for the next one. A folder without a lock is on its way in (its
//! run finds it gone and makes another) or on its way out; it goes if it is empty. A folder with
//! anything else in it stays, with its lock.
//!
//! The parent may be open to everybody. So everything is reached through handles, from folder to
//! folder, and never through a link: a name that is exchanged between two steps leads nowhere.

use super::folder::{LOCK, is_file_name, is_folder_name};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, unlinkat};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Removes folders of dead runs from `parent`, in which `own` is the folder of this run. Whatever
/// cannot be removed stays: it is not this run's task to fail for it.
pub fn remove(parent: &Path, own: &Path) {
    let Ok(parent) = openat(CWD, parent, FOLDER, Mode::empty()) else { return };
    let Some(own) = own.file_name().and_then(|name| CString::new(name.as_bytes()).ok()) else {
        return;
    };
    let Some(owner) = open_folder(&parent, &own).and_then(|folder| owner(&folder)) else { return };
    for name in names(&parent).filter(|name| is_folder_name(name.to_bytes()) && *name != own) {
        if let Some(folder) = open_folder(&parent, &name)
            && self::owner(&folder) == Some(owner)
            && is_emptied(&folder)
        {
            let _ = unlinkat(&parent, &name, AtFlags::REMOVEDIR);
        }
    }
}

fn open_folder(parent: &OwnedFd, name: &CStr) -> Option<OwnedFd> {
    openat(parent, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()).ok()
}

fn owner(file: impl AsFd) -> Option<u32> {
    fstat(file).ok().map(|status| status.st_uid)
}

fn names(folder: &OwnedFd) -> impl Iterator<Item = CString> {
    let entries = Dir::read_from(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_owned())
        .filter(|name| ![&b"."[..], b".."].contains(&name.to_bytes()))
}

/// Empties the folder of a dead run; whether it may go now, if it is empty.
fn is_emptied(folder: &OwnedFd) -> bool {
    // Not to wait for anybody, if the lock should be a pipe.
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let lock = match openat(folder, LOCK, flags, Mode::empty()) {
        Ok(lock) => lock,
        Err(error) => return error == Errno::NOENT,
    };
    if !fstat(&lock)
        .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::RegularFile)
    {
        return false;
    }
    // Held until the folder is empty, so that of two runs one does this.
    let lock = File::from(lock);
    if lock.try_lock().is_err() {
        return false;
    }
    for name in names(folder).filter(|name| is_file_name(name.to_bytes())) {
        let _ = unlinkat(folder, &name, AtFlags::empty());
    }
    let is_alone = names(folder).all(|name| name.to_bytes() == LOCK.as_bytes());
    is_alone && unlinkat(folder, LOCK, AtFlags::empty()).is_ok()
}
