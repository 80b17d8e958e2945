//! One private folder per run: made, locked, counted, removed.

use super::block::BlockScratch;
use super::file::SpillWriter;
use crate::error::{Error, Result};
use crate::lock::{create_private, is_held};
use std::fs::{DirBuilder, File};
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// What the names of these folders begin with; 16 hexadecimal digits follow.
const PREFIX: &str = "scumble-spill-";
/// The file in the folder that is locked while the run lives.
pub(super) const LOCK: &str = "lock";
/// What the names of spill files end with; digits stand before it.
const ENDING: &str = ".rows";
/// How often a folder is tried that another run took away, or a name that exists: each has a chance
/// of next to nothing.
const ATTEMPTS: usize = 100;
/// No block is larger: lengths within it are told in 32 bits.
const LARGEST_BLOCK: usize = 1 << 30;

/// Whether a name is one that [`SpillFolder::create`] gives.
#[cfg(unix)]
pub(super) fn is_folder_name(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX.as_bytes()).is_some_and(|digits| {
        digits.len() == 16 && digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Whether a name is one that a spill file gets.
#[cfg(unix)]
pub(super) fn is_file_name(name: &[u8]) -> bool {
    name.strip_suffix(ENDING.as_bytes())
        .is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

/// The folder in which a run keeps rows that do not fit into memory. It goes when the last of its
/// files has gone.
pub struct SpillFolder {
    folder: Arc<Folder>,
}

impl SpillFolder {
    /// A new private folder in `parent`, from which what killed runs left is removed first.
    pub fn create(parent: &Path) -> Result<SpillFolder> {
        if !parent.is_dir() {
            return Err(Error::NoFolder { folder: parent.to_path_buf() });
        }
        let failed = |error: std::io::Error| {
            if is_full(&error) {
                Error::SpillFull {
                    folder: parent.to_path_buf(),
                    needed: 1,
                    free: free_bytes(parent),
                    held: 0,
                }
            } else {
                Error::io(parent, "create a temporary folder")(error)
            }
        };
        for _ in 0..ATTEMPTS {
            // Names that nobody can guess: otherwise another user could take them all before.
            let path = parent
                .join(format!("{PREFIX}{:016x}", RandomState::new().hash_one(std::process::id())));
            let mut builder = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                made => made.map_err(failed)?,
            };
            let lock_path = path.join(LOCK);
            match create_private(&lock_path) {
                Ok(lock) if is_held(&lock, &lock_path) => {
                    #[cfg(unix)]
                    super::leftovers::remove(parent, &path);
                    return Ok(SpillFolder { folder: Arc::new(Folder::new(path, lock)) });
                }
                // Between its making and its lock another run took it for abandoned.
                Ok(_) => _ = std::fs::remove_dir(&path),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    let _ = std::fs::remove_dir(&path);
                    return Err(failed(error));
                }
            }
        }
        Err(Error::io(parent, "create a temporary folder")(ErrorKind::ResourceBusy.into()))
    }

    /// A writer to a new file, of rows with so many words. It gathers about `block_bytes` in memory
    /// (at most twice that, and at least a row) before it writes a block.
    pub fn file(&self, width: usize, block_bytes: usize) -> SpillWriter {
        SpillWriter::new(self.folder.clone(), width, block_bytes.min(LARGEST_BLOCK))
    }

    /// Lets the folder hold no more than so many bytes at a time.
    pub fn limit(&self, most: u64) {
        self.folder.most.store(most, Relaxed);
    }

    /// Bytes read from its files so far.
    pub fn bytes_read(&self) -> u64 {
        self.folder.read.load(Relaxed)
    }

    /// Bytes written to its files so far.
    pub fn bytes_written(&self) -> u64 {
        self.folder.written.load(Relaxed)
    }

    /// Rows read from its files so far, each time that they were.
    pub fn rows_read(&self) -> u64 {
        self.folder.rows_read.load(Relaxed)
    }

    /// Rows written to its files so far, each time that they were.
    pub fn rows_written(&self) -> u64 {
        self.folder.rows_written.load(Relaxed)
    }

    /// Bytes that its files hold now.
    pub fn bytes_held(&self) -> u64 {
        self.folder.held.load(Relaxed)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.folder.path
    }
}

/// A private file of its own folder, for bytes that wait until they are read. Both go when it is
/// dropped, or with the next run in the same parent folder if this one is killed.
pub struct WaitingFile {
    folder: SpillFolder,
    path: PathBuf,
}

impl WaitingFile {
    /// An empty file in a new private folder in `parent`, open for reading and writing.
    pub fn create(parent: &Path) -> Result<(WaitingFile, File)> {
        let folder = SpillFolder::create(parent)?;
        let (_, path) = folder.folder.next_file();
        let waiting = WaitingFile { folder, path };
        let file = create_private(&waiting.path).map_err(|error| waiting.failed(error))?;
        Ok((waiting, file))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a failed write means.
    pub fn failed(&self, error: std::io::Error) -> Error {
        self.folder.folder.write_failed(&self.path, 1, error)
    }
}

impl Drop for WaitingFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// What writers and files share. Dropped with the last of them, it removes the folder.
pub(super) struct Folder {
    path: PathBuf,
    /// Locked until the folder is gone.
    _lock: File,
    files: AtomicU64,
    pub(super) read: AtomicU64,
    pub(super) rows_read: AtomicU64,
    written: AtomicU64,
    rows_written: AtomicU64,
    held: AtomicU64,
    most: AtomicU64,
    scratch: Mutex<Vec<BlockScratch>>,
}

impl Folder {
    fn new(path: PathBuf, lock: File) -> Folder {
        let zero = || AtomicU64::new(0);
        let most = AtomicU64::new(u64::MAX);
        let scratch = Mutex::default();
        Folder {
            path,
            _lock: lock,
            files: zero(),
            read: zero(),
            rows_read: zero(),
            written: zero(),
            rows_written: zero(),
            held: zero(),
            most,
            scratch,
        }
    }

    /// The number and the path of a new file, which is not made yet.
    pub fn next_file(&self) -> (u64, PathBuf) {
        let number = self.files.fetch_add(1, Relaxed);
        (number, self.path.join(format!("{number}{ENDING}")))
    }

    /// Counts bytes that are about to be written; an error as of a full disk if they are more than
    /// may be held.
    pub fn hold(&self, bytes: u64) -> std::io::Result<()> {
        let fits =
            |held: u64| held.checked_add(bytes).filter(|held| *held <= self.most.load(Relaxed));
        match self.held.fetch_update(Relaxed, Relaxed, fits) {
            Ok(_) => Ok(()),
            Err(_) => Err(ErrorKind::StorageFull.into()),
        }
    }

    /// Counts held bytes, and the rows in them, as written.
    pub fn count_written(&self, bytes: u64, rows: u64) {
        self.written.fetch_add(bytes, Relaxed);
        self.rows_written.fetch_add(rows, Relaxed);
    }

    /// Bytes that are not held any more.
    pub fn release(&self, bytes: u64) {
        self.held.fetch_sub(bytes, Relaxed);
    }

    /// What a failed write of so many bytes means.
    pub fn write_failed(&self, file: &Path, needed: u64, error: std::io::Error) -> Error {
        let held = self.held.load(Relaxed);
        match error.kind() {
            _ if is_full(&error) => {
                let free = free_bytes(&self.path).min(self.most.load(Relaxed).saturating_sub(held));
                Error::SpillFull { folder: self.path.clone(), needed, free, held }
            }
            ErrorKind::NotFound => {
                Error::SpillDamaged { file: file.to_path_buf(), problem: "the file is missing" }
            }
            _ => Error::io(file, "write")(error),
        }
    }

    /// Does something with buffers that are kept for the next time.
    pub fn with_scratch<T>(&self, work: impl FnOnce(&mut BlockScratch) -> T) -> T {
        let pool = || self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scratch = pool().pop().unwrap_or_default();
        let result = work(&mut scratch);
        scratch.shrink();
        pool().push(scratch);
        result
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Its files have gone by themselves. If one could not, the lock stays with it: the next run
        // will try again.
        let mut entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        if entries.all(|entry| entry.file_name() == LOCK) {
            let _ = std::fs::remove_file(self.path.join(LOCK));
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

/// Bytes that this process may still write to the file system of a path; zero where that cannot be
/// told.
fn free_bytes(path: &Path) -> u64 {
    #[cfg(unix)]
    if let Ok(system) = rustix::fs::statvfs(path) {
        return system.f_bavail.saturating_mul(system.f_frsize);
    }
    let _ = path;
    0
}
