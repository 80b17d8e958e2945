//! A file that appears complete or not at all.
//!
//! A [`Draft`] is a hidden file beside its target, readable by its owner only and locked while its
//! process lives. It becomes the target by a rename, or it is removed. What a killed process left
//! is recognised by its name and by the lock that nobody holds any more, and is removed by the next
//! draft of the same target.
//!
//! Several drafts, such as a release and its report, are published together or not at all, and no
//! other run publishes to any of their names in between.
//!
//! Only a regular file is ever replaced. A rename would replace a device, a FIFO or a socket too,
//! which a run of root must not. A symbolic link is refused as well: to replace it would separate a
//! name from where its owner keeps the data, and to write through it would create a file in a place
//! that somebody else may have chosen.

use crate::error::{Error, Result};
use crate::lock::{create_private, is_held, is_same};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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
        check_regular(target)?;
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

    /// Gives the file its name. If it cannot have it, the target is as it was.
    fn rename(&mut self, previous: Option<Previous>) -> Result<Published> {
        let published = Published { target: self.target.clone(), previous };
        if let Err(error) = std::fs::rename(&self.path, &self.target) {
            if published.previous.is_some() {
                published.take_back();
            }
            return Err(Error::io(&self.target, "write")(error));
        }
        self.file = None;
        Ok(published)
    }

    /// Makes the content durable and gives the file its name.
    pub fn publish(self) -> Result<()> {
        publish(vec![self])
    }
}

/// Makes all drafts durable, then gives them their names in this order. If one cannot get its name,
/// those before it give theirs back: previous files are there again, new ones are gone.
pub fn publish(mut drafts: Vec<Draft>) -> Result<()> {
    let Some(mut last) = drafts.pop() else { return Ok(()) };
    last.sync()?;
    let target = last.target.clone();
    // Nothing comes after the last that could fail: one rename replaces its previous file.
    publish_before(drafts, &target, || last.rename(None).map(drop))
}

/// The same with something that gets the name `target` after the drafts have theirs, such as a
/// folder. `rename` gives it that name. If it fails, the drafts give theirs back.
pub(super) fn publish_before(
    mut drafts: Vec<Draft>,
    target: &Path,
    rename: impl FnOnce() -> Result<()>,
) -> Result<()> {
    drafts.iter().try_for_each(Draft::sync)?;
    let targets: Vec<PathBuf> = drafts.iter().map(|draft| draft.target.clone()).collect();
    let targets: Vec<&Path> = targets.iter().map(PathBuf::as_path).chain([target]).collect();
    let turns = Turn::all(targets.iter().copied())?;
    targets.iter().try_for_each(|target| check_regular(target))?;
    let mut published: Vec<Published> = Vec::with_capacity(drafts.len());
    let renamed = drafts.iter_mut().try_for_each(|draft| {
        let previous = keep_previous(&draft.target)?;
        published.push(draft.rename(previous)?);
        Ok(())
    });
    if let Err(error) = renamed.and_then(|()| rename()) {
        published.into_iter().rev().for_each(Published::take_back);
        return Err(error);
    }
    published.into_iter().for_each(Published::forget_previous);
    drop(turns);
    // A rename itself is durable once the folder is; not every system can sync a folder.
    let mut folders: Vec<&Path> = targets.iter().map(|target| folder_of(target)).collect();
    folders.dedup();
    for folder in folders.into_iter().flat_map(File::open) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// A file that has got its name.
struct Published {
    target: PathBuf,
    previous: Option<Previous>,
}

/// What had a name before, under another one.
struct Previous {
    path: PathBuf,
    /// A run that begins now would take it for abandoned if it were not locked. What this run may
    /// not open, another user's may not remove.
    _lock: Option<File>,
}

impl Published {
    /// Restores the previous file, or removes the new one.
    fn take_back(self) {
        let _ = match &self.previous {
            Some(previous) => std::fs::rename(&previous.path, &self.target),
            None => std::fs::remove_file(&self.target),
        };
    }

    fn forget_previous(self) {
        if let Some(previous) = self.previous {
            let _ = std::fs::remove_file(previous.path);
        }
    }
}

/// Keeps what has a name now under the name of a draft, so that it can be restored, and so that a
/// later run removes it should this one be killed. `None` if nothing has the name.
fn keep_previous(target: &Path) -> Result<Option<Previous>> {
    match std::fs::symlink_metadata(target) {
        Err(_) => return Ok(None),
        Ok(found) if !found.is_file() => {
            return Err(Error::io(target, "write")(std::io::ErrorKind::IsADirectory.into()));
        }
        Ok(_) => {}
    }
    let lock = File::open(target).ok();
    let _ = lock.as_ref().map(File::try_lock);
    let path = previous_of(target);
    let _ = std::fs::remove_file(&path);
    // A second name leaves the first in place for readers. Where there can be none (FAT, somebody
    // else's file), nothing has the name for a moment.
    std::fs::hard_link(target, &path)
        .or_else(|_| std::fs::rename(target, &path))
        .map_err(Error::io(target, "write"))?;
    Ok(Some(Previous { path, _lock: lock }))
}

/// Where the previous file or folder of a name waits while another one gets the name. Only the run
/// that has the [`Turn`] uses it.
pub(super) fn previous_of(target: &Path) -> PathBuf {
    beside(target, &format!(".previous{ENDING}"))
}

/// How long a run waits for others that publish to the same name. They need milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// The right to publish to a name, for one run at a time.
///
/// A file beside the target, which only one run can create. It looks like a draft, so one that a
/// killed run left is recognised by its lock, and removed. To lock the folder itself would need no
/// file, but commands are often run as `flock FOLDER command`, and would wait for themselves.
#[derive(Debug)]
struct Turn {
    held: Held,
}

impl Turn {
    /// Waits until no other run publishes to this name.
    fn new(target: &Path) -> Result<Turn> {
        let path = beside(target, &format!(".turn{ENDING}"));
        let began = Instant::now();
        loop {
            match create_private(&path) {
                Ok(file) if is_held(&file, &path) => return Ok(Turn { held: Held { path, file } }),
                // Between its making and its lock another run took it for abandoned.
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    remove_if_abandoned(&path);
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(Error::io(target, "write")(error)),
            }
            if began.elapsed() > PATIENCE {
                return Err(Error::Busy { file: target.to_path_buf(), turn: path });
            }
        }
    }

    /// The turns of several names. All runs wait in the same order, so none waits for another that
    /// waits for it.
    fn all<'a>(targets: impl Iterator<Item = &'a Path>) -> Result<Vec<Turn>> {
        let place = |target: &'a Path| {
            let folder = folder_of(target);
            let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
            (folder.join(target.file_name().unwrap_or_default()), target)
        };
        let mut targets: Vec<(PathBuf, &Path)> = targets.map(place).collect();
        targets.sort();
        targets.dedup_by(|one, other| one.0 == other.0);
        targets.into_iter().map(|(_, target)| Turn::new(target)).collect()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.held.path);
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Refuses a name that something other than a regular file or a folder has.
pub fn check_regular(target: &Path) -> Result<()> {
    let Ok(found) = std::fs::symlink_metadata(target) else { return Ok(()) };
    let kind = found.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(());
    }
    let what = match std::fs::read_link(target) {
        Ok(behind) if kind.is_symlink() => format!("a symbolic link to {}", behind.display()),
        _ if kind.is_symlink() => "a symbolic link".into(),
        _ => special(kind).into(),
    };
    Err(Error::NotAFile { file: target.to_path_buf(), what })
}

#[cfg(unix)]
fn special(kind: std::fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_block_device() || kind.is_char_device() {
        "a device"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "not a regular file"
    }
}

#[cfg(not(unix))]
fn special(_: std::fs::FileType) -> &'static str {
    "not a regular file"
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
        if is_draft {
            remove_if_abandoned(&entry.path());
        }
    }
}

/// Removes a draft if its process is gone.
fn remove_if_abandoned(path: &Path) {
    // Never through a link: somebody else's file may be behind it.
    let Ok(kind) = std::fs::symlink_metadata(path).map(|found| found.file_type()) else { return };
    let opened = match kind {
        _ if kind.is_file() => OpenOptions::new().write(true).open(path),
        _ if kind.is_dir() => File::open(path),
        _ => return,
    };
    // The lock is held until the draft is gone: its owner may be just about to take it. And it must
    // be on what is there now: the owner may have given the name to a new draft since.
    if let Ok(file) = opened
        && file.try_lock().is_ok()
        && is_same(&file, path)
    {
        let _ =
            if kind.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
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

    /// A release that cannot get its name, as in a sticky folder where somebody else has it: what
    /// came before it is taken back, and previous files are there again.
    #[test]
    fn a_report_never_stands_without_its_release() {
        let folder = folder("taken-back");
        let target = |name: &str| folder.join(name);
        std::fs::create_dir(target("out.csv")).unwrap();
        std::fs::write(target("out.csv/in the way"), "").unwrap();
        std::fs::write(target("out.private.json"), "previous").unwrap();
        let drafts = || {
            // The folder comes after the drafts.
            std::fs::rename(target("out.csv"), target("aside")).unwrap();
            let names = ["out.private.json", "out.report.json", "out.csv"];
            let drafts: Vec<Draft> =
                names.iter().map(|name| Draft::with(&target(name), "new").unwrap()).collect();
            std::fs::rename(target("aside"), target("out.csv")).unwrap();
            drafts
        };
        assert!(publish(drafts()).is_err());
        assert_eq!(names(&folder), ["out.csv", "out.private.json"]);
        let read = |name: &str| std::fs::read_to_string(target(name)).unwrap();
        assert_eq!(read("out.private.json"), "previous");
        let drafts = drafts();
        std::fs::remove_dir_all(target("out.csv")).unwrap();
        publish(drafts).unwrap();
        assert_eq!(names(&folder), ["out.csv", "out.private.json", "out.report.json"]);
        assert_eq!(read("out.private.json"), "new");
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Files that several threads publish together are of one of them in the end.
    #[test]
    fn files_that_are_published_together_stay_together() {
        let folder = folder("mixed");
        let files = ["b.json", "a.json", "out.csv"].map(|name| folder.join(name));
        for _ in 0..20 {
            std::thread::scope(|scope| {
                for run in ["one", "two", "three"] {
                    let files = &files;
                    scope.spawn(move || {
                        let drafts = files.iter().map(|file| Draft::with(file, run).unwrap());
                        publish(drafts.collect()).unwrap();
                    });
                }
            });
            let found = files.each_ref().map(|file| std::fs::read_to_string(file).unwrap());
            assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
        }
        assert_eq!(names(&folder), ["a.json", "b.json", "out.csv"]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Runs that publish to the same name wait for each other, but not for one that is gone.
    #[test]
    fn an_abandoned_turn_is_taken_over() {
        let folder = folder("turn");
        let target = folder.join("out.csv");
        std::fs::write(beside(&target, &format!(".turn{ENDING}")), "").unwrap();
        std::fs::write(previous_of(&target), "left by a killed run").unwrap();
        let turn = Turn::new(&target).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| replace(&target, "new"));
            std::thread::sleep(Duration::from_millis(50));
            assert!(!target.exists(), "published out of turn");
            drop(turn);
            waiting.join().unwrap().unwrap();
        });
        assert_eq!(names(&folder), ["out.csv"]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn only_a_regular_file_is_replaced() {
        let folder = folder("special");
        std::fs::write(folder.join("precious"), "mine").unwrap();
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, folder.join(name)).unwrap();
        };
        link("precious", "link");
        link("nowhere", "dangling");
        link("/", "to a folder");
        let socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        let before = names(&folder);
        for name in ["link", "dangling", "to a folder", "socket"] {
            let replaced = replace(&folder.join(name), "new");
            assert!(matches!(replaced, Err(Error::NotAFile { .. })), "{name}: {replaced:?}");
        }
        // One that appears after the draft.
        let late = Draft::with(&folder.join("late"), "new").unwrap();
        link("precious", "late");
        assert!(matches!(late.publish(), Err(Error::NotAFile { .. })));
        std::fs::remove_file(folder.join("late")).unwrap();
        assert_eq!(names(&folder), before);
        assert_eq!(std::fs::read_to_string(folder.join("precious")).unwrap(), "mine");
        drop(socket);
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
