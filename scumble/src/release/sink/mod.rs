//! Where does a release go?
//!
//! A [`Sink`] takes the tables of a release, hands them back as sources to be verified, and
//! publishes them, or forgets them: a [file](ReleaseFile), a [folder](ReleaseFolder) of several
//! tables, or [batches in memory](ReleaseBatches).

mod file;
mod folder;
mod memory;
mod objects;
mod spell;
mod spelled;
mod writer;

pub use file::{ReleaseFile, ReleaseStream};
pub use folder::ReleaseFolder;
pub use memory::ReleaseBatches;
use spell::{by_number, in_parts, spelled};
pub(crate) use spelled::spelled_table;
pub(crate) use writer::{Background, TableWriter, failure};

use super::Report;
use crate::error::{Error, Result};
use crate::source::{Meter, Series, Source, TableFile};
use crate::watch::Watch;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where a release goes.
///
/// A job calls [`table`](Sink::table) and writes, then [`seal`](Sink::seal), verifies what that
/// returns, and calls [`publish`](Sink::publish). If anything fails it calls
/// [`abandon`](Sink::abandon). Nothing may be visible to others before `publish`, and nothing may be
/// left behind by a sink that is abandoned, or dropped without `publish`.
pub trait Sink: Send {
    /// What messages call it.
    fn name(&self) -> String;

    /// Counts the bytes that are written.
    fn meter(&self) -> &Meter;

    /// Begins a table. Most releases have one; a distribution has several, told by name.
    fn table(&mut self, name: &str, schema: &SchemaRef) -> Result<Box<dyn TableSink>>;

    /// All tables are written: hands them back as verification will read them.
    fn seal(&mut self) -> Result<Tables>;

    /// Makes the release and its report visible, all or nothing.
    fn publish(&mut self, report: &Report) -> Result<()>;

    /// Forgets what was written: the job has failed. The sink may be used again.
    fn abandon(&mut self) {}

    /// Whether it takes a release of several tables.
    fn takes_several(&self) -> bool {
        false
    }

    /// Adds a small text, such as a script, to a release of several tables.
    fn text(&mut self, _name: &str, _text: &str) -> Result<()> {
        Ok(())
    }

    /// Where the recoding is written, if it is wanted.
    fn recoding(&mut self) -> Result<Option<Box<dyn Write + Send>>> {
        Ok(None)
    }

    /// Whether the recoding is wanted, so that a job that cannot save one is refused at once.
    fn wants_recoding(&self) -> bool {
        false
    }

    /// The files that will be written, which must not be files that the job reads.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Limits the bytes that a format may gather before it writes them.
    fn limit(&mut self, _bytes: usize) {}

    /// Whether columns keep their types. In text, every value must have a text.
    #[doc(hidden)]
    fn keeps_types(&self) -> bool {
        true
    }
}

/// A table of a release on its way into a sink.
pub trait TableSink: Send {
    /// Writes more rows.
    fn write(&mut self, batch: RecordBatch) -> Result<()>;

    /// All rows were written. A table that is dropped without it is not complete.
    fn finish(self: Box<Self>) -> Result<()>;

    /// Whether rows may come by number, with texts that no row has among the numbered ones.
    #[doc(hidden)]
    fn takes_numbers(&self) -> bool {
        false
    }

    /// Writes more rows that may come by number.
    #[doc(hidden)]
    fn write_series(&mut self, _columns: &[Series]) -> Result<()> {
        Err(Error::Defect)
    }
}

/// A mutable reference to a sink, and a boxed one, are sinks too.
macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<S: Sink + ?Sized> Sink for $pointer {
            fn name(&self) -> String {
                (**self).name()
            }

            fn meter(&self) -> &Meter {
                (**self).meter()
            }

            fn table(&mut self, name: &str, schema: &SchemaRef) -> Result<Box<dyn TableSink>> {
                (**self).table(name, schema)
            }

            fn seal(&mut self) -> Result<Tables> {
                (**self).seal()
            }

            fn publish(&mut self, report: &Report) -> Result<()> {
                (**self).publish(report)
            }

            fn abandon(&mut self) {
                (**self).abandon()
            }

            fn takes_several(&self) -> bool {
                (**self).takes_several()
            }

            fn text(&mut self, name: &str, text: &str) -> Result<()> {
                (**self).text(name, text)
            }

            fn recoding(&mut self) -> Result<Option<Box<dyn Write + Send>>> {
                (**self).recoding()
            }

            fn wants_recoding(&self) -> bool {
                (**self).wants_recoding()
            }

            fn files(&self) -> Vec<PathBuf> {
                (**self).files()
            }

            fn limit(&mut self, bytes: usize) {
                (**self).limit(bytes)
            }

            fn keeps_types(&self) -> bool {
                (**self).keeps_types()
            }
        }
    )*};
}

forward!(&mut S, Box<S>);

/// The tables of a release, as they are verified and queried.
pub struct Tables {
    name: PathBuf,
    tables: Vec<(String, Box<dyn Source>)>,
    /// The recoding of the quasi-identifiers, as JSON, if the release has one.
    recoding: Option<Vec<u8>>,
}

/// The name of the table of a release that has only one.
pub const RELEASE: &str = "release";

/// The tables of a distribution release.
pub const DISTRIBUTION: [&str; 5] = ["records", "sensitive", "bounds", "groups", "hierarchy"];

impl Tables {
    /// Tables by name; messages call the release `name`.
    pub fn new(name: impl Into<PathBuf>, tables: Vec<(String, Box<dyn Source>)>) -> Tables {
        Tables { name: name.into(), tables, recoding: None }
    }

    /// A release of one table.
    pub fn one(table: impl Source + 'static) -> Tables {
        Tables::new(table.name(), vec![(RELEASE.into(), Box::new(table))])
    }

    /// A release in a file, or a distribution release in a folder.
    pub fn open(path: &Path) -> Result<Tables> {
        match path.is_dir() {
            true => Tables::open_folder(path, None, &Watch::silent()),
            false => Ok(Tables::one(TableFile::open(path)?)),
        }
    }

    /// A distribution release in a folder, whose tables are CSV in this encoding (default: detected,
    /// and what was guessed is noted).
    pub fn open_folder(path: &Path, encoding: Option<&str>, watch: &Watch) -> Result<Tables> {
        let format = match encoding {
            Some(name) => folder::format().with_encoding(name)?,
            None => folder::format(),
        };
        let mut tables: Vec<(String, Box<dyn Source>)> = Vec::new();
        for name in DISTRIBUTION {
            let table = folder::open_edited(path, name, &format, watch)?;
            tables.push((name.into(), Box::new(table)));
        }
        let path: PathBuf = path.components().collect();
        let recoding = std::fs::read(file::named_after(&path, folder::RECODING)).ok();
        Ok(Tables { recoding, ..Tables::new(path, tables) })
    }

    /// The recoding of the quasi-identifiers of a distribution release, as JSON.
    pub(crate) fn recoding(&self) -> Option<&[u8]> {
        self.recoding.as_deref()
    }

    /// What messages call the release.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// A table by its name.
    pub(crate) fn get(&self, name: &str) -> Result<&dyn Source> {
        let found = self.tables.iter().find(|(known, _)| known == name);
        let missing = || Error::Mismatch {
            file: self.name.clone(),
            problem: format!("the release has no table `{name}`"),
        };
        found.map(|(_, table)| table.as_ref()).ok_or_else(missing)
    }

    /// All tables.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &dyn Source> {
        self.tables.iter().map(|(_, table)| table.as_ref())
    }

    /// The files of all tables.
    pub fn files(&self) -> Vec<PathBuf> {
        self.sources().flat_map(|table| table.files()).collect()
    }

    /// The only table, if there is one only.
    pub(crate) fn only(&self) -> Option<&dyn Source> {
        match &self.tables[..] {
            [(_, table)] => Some(table.as_ref()),
            _ => None,
        }
    }

    /// Bytes of all tables that were read before a verification that begins now.
    pub(crate) fn read_before(&self) -> u64 {
        self.tables.iter().map(|(_, table)| table.meter().start().read).sum()
    }

    /// Bytes that were read of all tables.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.tables.iter().map(|(_, table)| table.meter().bytes_read()).sum()
    }
}
