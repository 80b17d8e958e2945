//! A release of several tables, in a folder that appears complete or not at all.
//!
//! The draft is a hidden folder beside its target, open to its owner only and locked while its
//! process lives. A release of the same kind at the target is moved aside for the moment of the
//! rename and then removed; anything else there is left alone, and the job is refused.

use super::super::draft::{Draft, Held, check_regular, claim, previous_of, publish_before};
use super::file::{PRIVATE, named_after, private_draft};
use super::{Sink, TableSink, TableWriter, Tables};
use crate::error::{Error, Result};
use crate::lock::create_private;
use crate::release::Report;
use crate::source::{FileFormat, Format, Meter, Metered, Series, Source, TableFile};
use crate::watch::Watch;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// A file that every folder release has; a folder without it is not ours to replace.
const MARK: &str = "sensitive.csv";

/// The recoding of the quasi-identifiers, beside the folder: it is for the owner of the data.
pub(super) const RECODING: &str = ".recoding.json";

/// A release of several tables: a folder of CSV files, with `report.json` among them. What only the
/// owner may see is beside the folder: `OUT.private.json`, and `OUT.recoding.json` if
/// quasi-identifiers were generalized.
pub struct ReleaseFolder {
    target: PathBuf,
    meter: Meter,
    draft: Option<Held>,
    recoding: Option<Draft>,
    tables: Vec<String>,
    syncing: Syncing,
}

/// A file that is being made durable.
type Sync = (PathBuf, JoinHandle<std::io::Result<()>>);

/// Files that are being made durable.
#[derive(Clone, Default)]
struct Syncing(Arc<Mutex<Vec<Sync>>>);

impl Syncing {
    /// Makes a complete file durable while others are written and read back.
    fn begin(&self, file: File, name: PathBuf) {
        let thread = std::thread::spawn(move || file.sync_all());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((name, thread));
    }

    /// Waits for all of them; an error is that of the first that failed.
    fn wait(&self) -> Result<()> {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let ended = all.into_iter().map(|(file, thread)| match thread.join() {
            Ok(synced) => synced.map_err(Error::io(&file, "write")),
            Err(_) => Err(Error::Defect),
        });
        // All of them end before the first error is returned.
        ended.collect::<Vec<_>>().into_iter().collect()
    }
}

/// How the tables of a folder are stored.
pub(super) fn format() -> FileFormat {
    FileFormat::new(Format::Csv).with_delimiter(Some(b','))
}

/// A table in a folder that messages call `target`, as it was written.
fn open_table(folder: &Path, target: &Path, name: &str) -> Result<TableFile> {
    let file = format!("{name}.csv");
    let format = format().with_encoding("utf-8")?;
    TableFile::open_named(&folder.join(&file), &target.join(&file), format)
}

/// The same in a folder that others may have edited since.
pub(super) fn open_edited(
    folder: &Path,
    name: &str,
    format: &FileFormat,
    watch: &Watch,
) -> Result<TableFile> {
    let file = folder.join(format!("{name}.csv"));
    TableFile::open_in(&file, format.clone(), &std::env::temp_dir(), watch)
}

impl ReleaseFolder {
    /// An empty private folder beside `target`, which must be free, empty, or a release of the same
    /// kind.
    pub fn new(target: &Path) -> Result<ReleaseFolder> {
        // A trailing slash is no part of the name.
        let target: PathBuf = target.components().collect();
        check_regular(&target)?;
        let taken = match std::fs::symlink_metadata(&target) {
            Err(_) => false,
            Ok(found) => !found.is_dir() || !is_replaceable(&target),
        };
        if taken {
            return Err(Error::Exists { file: target });
        }
        let draft = Some(claim(&target, make_private)?);
        let (meter, tables, syncing) = (Meter::default(), Vec::new(), Syncing::default());
        Ok(ReleaseFolder { target, meter, draft, recoding: None, tables, syncing })
    }

    /// The folder of the draft. A sink that was abandoned gets a new one.
    fn path(&mut self) -> Result<&Path> {
        let draft = match self.draft.take() {
            Some(draft) => draft,
            None => claim(&self.target, make_private)?,
        };
        Ok(&self.draft.insert(draft).path)
    }

    /// A new private file in the folder.
    fn create(&mut self, name: &str) -> Result<File> {
        let path = self.path()?.join(name);
        create_private(&path).map_err(Error::io(&self.target.join(name), "write"))
    }

    /// Makes the content durable.
    fn sync(&mut self) -> Result<()> {
        self.syncing.wait()?;
        let failed = || Error::io(&self.target, "write");
        let Some(held) = &self.draft else { return Err(Error::Defect) };
        for entry in std::fs::read_dir(&held.path).map_err(failed())? {
            let file = File::open(entry.map_err(failed())?.path()).map_err(failed())?;
            file.sync_all().map_err(failed())?;
        }
        let _ = held.file.sync_all();
        Ok(())
    }

    /// Gives the folder its name, which no other run publishes to meanwhile. If it cannot have it,
    /// the target is as it was.
    fn rename(&mut self) -> Result<()> {
        let failed = || Error::io(&self.target, "write");
        let Some(held) = &self.draft else { return Err(Error::Defect) };
        // By this name a later run removes it, should this one be killed in between. Until then it
        // is locked, or a run that begins now would remove it.
        let aside = previous_of(&self.target);
        let _ = std::fs::remove_dir_all(&aside);
        let previous = File::open(&self.target).ok();
        let _ = previous.as_ref().map(File::try_lock);
        let replaced = self.target.exists() && is_replaceable(&self.target);
        if replaced {
            std::fs::rename(&self.target, &aside).map_err(failed())?;
        }
        let renamed = std::fs::rename(&held.path, &self.target).inspect_err(|_| {
            if replaced {
                let _ = std::fs::rename(&aside, &self.target);
            }
        });
        renamed.map_err(failed())?;
        self.draft = None;
        if replaced {
            let _ = std::fs::remove_dir_all(&aside);
        }
        Ok(())
    }
}

/// Creates a folder that only its owner can read, and opens it.
fn make_private(path: &Path) -> std::io::Result<File> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    File::open(path)
}

/// Whether a folder is empty, or a release of this kind.
fn is_replaceable(folder: &Path) -> bool {
    let empty = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    empty || (folder.join(MARK).is_file() && folder.join("report.json").is_file())
}

/// A table of the folder, which is made durable when it is complete.
struct FolderTable {
    writer: TableWriter,
    file: File,
    name: PathBuf,
    syncing: Syncing,
}

impl TableSink for FolderTable {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.writer.write(batch)
    }

    fn takes_numbers(&self) -> bool {
        self.writer.takes_numbers()
    }

    fn write_series(&mut self, columns: &[Series]) -> Result<()> {
        self.writer.write_series(columns)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Box::new(self.writer).finish()?;
        self.syncing.begin(self.file, self.name);
        Ok(())
    }
}

impl Sink for ReleaseFolder {
    fn name(&self) -> String {
        self.target.display().to_string()
    }

    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn table(&mut self, name: &str, schema: &SchemaRef) -> Result<Box<dyn TableSink>> {
        let file_name = format!("{name}.csv");
        let (file, target) = (self.create(&file_name)?, self.target.join(&file_name));
        let second = file.try_clone().map_err(Error::io(&target, "write"))?;
        let metered = Metered::new(second, &self.meter);
        let writer = TableWriter::new(metered, &target, &format(), schema)?;
        self.tables.push(name.into());
        let syncing = self.syncing.clone();
        Ok(Box::new(FolderTable { writer, file, name: target, syncing }))
    }

    fn seal(&mut self) -> Result<Tables> {
        let mut tables: Vec<(String, Box<dyn Source>)> = Vec::new();
        let folder = self.path()?.to_path_buf();
        for name in &self.tables {
            let table = open_table(&folder, &self.target, name)?;
            tables.push((name.clone(), Box::new(table)));
        }
        Ok(Tables::new(&self.target, tables))
    }

    fn publish(&mut self, report: &Report) -> Result<()> {
        self.text("report.json", &report.to_public_text())?;
        // What only the owner may see is not in the folder, which may be published as it is.
        let private = private_draft(&self.target, report)?;
        let beside = self.recoding.take().into_iter().chain(private).collect();
        self.sync()?;
        let target = self.target.clone();
        publish_before(beside, &target, || self.rename())
    }

    fn takes_several(&self) -> bool {
        true
    }

    fn text(&mut self, name: &str, text: &str) -> Result<()> {
        let mut file = Metered::new(self.create(name)?, &self.meter);
        file.write_all(text.as_bytes()).map_err(Error::io(&self.target.join(name), "write"))
    }

    fn recoding(&mut self) -> Result<Option<Box<dyn Write + Send>>> {
        let draft = Draft::new(&named_after(&self.target, RECODING))?;
        let file = Metered::new(draft.writer()?, &self.meter);
        self.recoding = Some(draft);
        Ok(Some(Box::new(file)))
    }

    fn files(&self) -> Vec<PathBuf> {
        let beside = [PRIVATE, RECODING].map(|ending| named_after(&self.target, ending));
        [self.target.clone()].into_iter().chain(beside).collect()
    }

    /// The draft goes. Threads that make its files durable are not waited for.
    fn abandon(&mut self) {
        self.syncing = Syncing::default();
        self.tables.clear();
        self.recoding = None;
        if let Some(held) = self.draft.take() {
            let _ = std::fs::remove_dir_all(&held.path);
        }
    }
}

impl Drop for ReleaseFolder {
    fn drop(&mut self) {
        self.abandon();
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::draft::ENDING;
    use super::*;
    use std::io::Write;

    #[test]
    fn a_folder_is_gone_unless_published_and_replaces_only_its_kind() {
        let place = std::env::temp_dir().join(format!("scumble-folder-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).unwrap();
        let names = || std::fs::read_dir(&place).unwrap().count();
        let target = place.join("out");
        drop(ReleaseFolder::new(&target).unwrap());
        assert_eq!(names(), 0);
        for content in ["one", "two"] {
            let mut draft = ReleaseFolder::new(&place.join("out/")).unwrap();
            for name in [MARK, "report.json"] {
                draft.create(name).unwrap().write_all(content.as_bytes()).unwrap();
            }
            draft.sync().unwrap();
            draft.rename().unwrap();
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
            matches!(ReleaseFolder::new(&target), Err(Error::Exists { .. })),
            "somebody else's folder"
        );
        std::fs::create_dir(place.join(format!(".out.1-0{}", ENDING))).unwrap();
        let free = ReleaseFolder::new(&place.join("free")).unwrap();
        assert_eq!(names(), 3, "drafts of other targets are left alone");
        drop(free);
        std::fs::remove_dir_all(&target).unwrap();
        drop(ReleaseFolder::new(&target).unwrap());
        assert_eq!(names(), 0, "an abandoned draft is removed");
        std::fs::remove_dir_all(place).unwrap();
    }
    /// A folder that somebody else made after the job began is in the way of the rename.
    #[test]
    fn nothing_is_left_beside_a_folder_that_cannot_get_its_name() {
        let place = std::env::temp_dir().join(format!("scumble-beside-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&place);
        std::fs::create_dir_all(&place).unwrap();
        let names = || {
            let entries = std::fs::read_dir(&place).unwrap().flatten();
            let mut names: Vec<String> =
                entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        };
        let report = serde_json::json!({
            "algorithm": "", "rows": 0, "released": 0, "suppressed": 0, "classes": 0,
            "smallest-class": 0, "average-class": 0.0, "privacy": [], "phases": [],
            "loss": {"lm": 0.0, "dm": 0}, "recoding": {"model": "cuts", "cuts": {}},
            "io": {"bytes-read": 0, "bytes-written": 0},
        });
        let report = Report::from_json(report.to_string().as_bytes()).unwrap();
        let (target, beside) = (place.join("out"), place.join("out.recoding.json"));
        let publish = |in_the_way: bool| {
            let mut sink = ReleaseFolder::new(&target).unwrap();
            sink.create(MARK).unwrap().write_all(b"value").unwrap();
            sink.recoding().unwrap().unwrap().write_all(b"new").unwrap();
            if in_the_way {
                std::fs::create_dir(&target).unwrap();
                std::fs::write(target.join("theirs"), "").unwrap();
            }
            sink.publish(&report)
        };
        assert!(publish(true).is_err());
        assert_eq!(names(), ["out"]);
        std::fs::remove_dir_all(&target).unwrap();
        std::fs::write(&beside, "previous").unwrap();
        assert!(publish(true).is_err());
        assert_eq!(names(), ["out", "out.recoding.json"]);
        assert_eq!(std::fs::read_to_string(&beside).unwrap(), "previous");
        std::fs::remove_dir_all(&target).unwrap();
        publish(false).unwrap();
        assert_eq!(names(), ["out", "out.recoding.json"]);
        assert_eq!(std::fs::read_to_string(&beside).unwrap(), "new");
        std::fs::remove_dir_all(place).unwrap();
    }
}
