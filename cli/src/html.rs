//! The pages of `--html`.

use crate::failure::{Failure, Result};
use scumble::{Job, Portrait, Source, Tables};
use std::path::{Path, PathBuf};

/// The page that a command writes besides its output.
#[derive(Default)]
pub struct HtmlFile {
    file: Option<PathBuf>,
}

impl HtmlFile {
    /// A page in this file, if one is wanted. Standard output is for the report.
    pub fn new(file: Option<PathBuf>) -> Result<HtmlFile> {
        match &file {
            Some(file) if crate::ends::is_standard(file) => {
                Err(Failure::Usage("--html requires the name of a file, not -".into()))
            }
            _ => Ok(HtmlFile { file }),
        }
    }

    /// Where it is written, if it is wanted.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Refuses a page that would overwrite what a command reads: the release, whose report and
    /// private report stand beside it, the other table, or a file of the policy.
    pub fn check(
        &self,
        job: Option<&Job>,
        tables: &Tables,
        other: Option<&dyn Source>,
        release: &Path,
    ) -> Result<()> {
        let mut read = tables.files();
        read.extend(other.iter().flat_map(|table| table.files()));
        for ending in [".report.json", ".private.json"] {
            let mut name = release.as_os_str().to_os_string();
            name.push(ending);
            read.push(name.into());
        }
        read.extend(job.iter().flat_map(|job| job.policy().files()).map(Path::to_path_buf));
        self.check_apart(read)
    }

    /// Refuses a page that would overwrite one of these files.
    pub fn check_apart(&self, read: Vec<PathBuf>) -> Result<()> {
        match &self.file {
            None => Ok(()),
            Some(file) => Ok(Portrait::check_output(&read, file)?),
        }
    }

    /// Writes it, if it is wanted.
    pub fn write(&self, html: impl FnOnce() -> Result<String>) -> Result<()> {
        if let Some(file) = &self.file {
            scumble::write_private(file, &html()?)?;
        }
        Ok(())
    }
}
