//! A sheet of a workbook, as a private CSV file.
//!
//! Parsing a sheet takes far longer than parsing CSV, and a job may scan its input more than once.
//! So a sheet is copied when it is opened, cell by cell, to a file that goes with the table, and
//! everything after that is CSV. A line of the copy is a row of the sheet, unless cells have line
//! breaks; then the lines are renumbered.
//!
//! Numbers are written as briefly as they can be, booleans as `true` and `false`, days as
//! `2024-05-01`, times of day as `13:45:00`, and others as `2024-05-01 13:45:00`. A column that
//! has both days and times of a day has the time in all of its cells. What is a day or a time
//! follows from the number format of a cell, as in the spreadsheet program.

mod copy;
mod package;

use super::csv::Renumbered;
use super::format::FileFormat;
use super::meter::{Meter, Metered};
use super::spill::WaitingFile;
use crate::error::{Error, Place, Result, quoted};
use crate::watch::Watch;
use calamine::{DataRef, Reader, SheetType, SheetVisible, Xlsx, XlsxError};
use copy::{Copy, Times};
use std::fmt::Display;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The delimiter of the copy.
pub(super) const COMMA: u8 = b',';

/// Cells after which a watch is asked.
const POLLED: u32 = 1 << 12;

/// An opened workbook.
pub(super) struct Book {
    /// What messages call it.
    path: PathBuf,
    book: Xlsx<BufReader<Metered>>,
    /// The sheet that is read.
    sheet: String,
}

/// The copy of a sheet.
pub(super) struct Copied {
    file: WaitingFile,
    bytes: u64,
    rows: Arc<Renumbered>,
}

impl Copied {
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What the lines of the copy are in the sheet.
    pub(super) fn rows(&self) -> Arc<Renumbered> {
        self.rows.clone()
    }
}

fn bad(path: &Path, problem: impl Display) -> Error {
    let problem = format!("not a readable .xlsx workbook: {problem}").replace('\n', " ");
    Error::BadRecord { place: Place::file(path), problem }
}

/// The parser trusts a file in places, and may panic where that is wrong. A damaged file is an
/// error.
fn guarded<T>(path: &Path, read: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(bad(path, "the file is damaged")))
}

impl Book {
    /// Opens a workbook that messages call `name`, unless it takes too much memory.
    pub(super) fn open(
        path: &Path,
        name: &Path,
        format: &FileFormat,
        (meter, watch): (&Meter, &Watch),
    ) -> Result<Book> {
        let file = BufReader::new(Metered::open(path, meter)?);
        let mut aborted = None;
        let go_on = || {
            watch.check().map_err(|error| {
                aborted = Some(error);
                io::ErrorKind::Interrupted.into()
            })
        };
        let needs = guarded(name, || Ok(package::needs(file, go_on)))?;
        let needs = match (needs, aborted) {
            (_, Some(aborted)) => return Err(aborted),
            (needs, None) => needs.map_err(|error| bad(name, error))?,
        };
        if needs.is_damaged {
            return Err(bad(name, "the file is damaged"));
        }
        let longest = format.longest_record();
        if needs.longest > longest as u64 {
            return Err(Error::LongRecord { place: Place::file(name), most: longest });
        }
        if needs.memory > format.memory() {
            let what = format!("the texts and styles of {}", name.display());
            let instead = Some("save the sheet as CSV");
            return Err(Error::too_little_memory(what, needs.memory, instead));
        }
        if needs.formulas_without_values > 0 {
            watch.note(format!(
                "{}: {} formulas without a stored value are read as empty cells; open and save the \
                 workbook in a spreadsheet program",
                name.display(),
                needs.formulas_without_values
            ));
        }
        let file = BufReader::new(Metered::open(path, meter)?);
        guarded(name, || {
            let book = Xlsx::new(file).map_err(|error: XlsxError| bad(name, error))?;
            let (path, sheet) = (name.to_path_buf(), String::new());
            Book { path, book, sheet }.choose(format.sheet.as_deref(), watch)
        })
    }

    /// Chooses the sheet of this name, or the first one that is not hidden.
    fn choose(mut self, wanted: Option<&str>, watch: &Watch) -> Result<Book> {
        let sheets: Vec<(String, bool)> = self
            .book
            .sheets_metadata()
            .iter()
            .filter(|sheet| sheet.typ == SheetType::WorkSheet)
            .map(|sheet| (sheet.name.clone(), sheet.visible != SheetVisible::Visible))
            .collect();
        let chosen = match wanted {
            Some(name) => sheets.iter().find(|(known, _)| known == name),
            None => sheets.iter().find(|(_, is_hidden)| !is_hidden).or(sheets.first()),
        };
        let Some((sheet, is_hidden)) = chosen.cloned() else {
            let names: Vec<String> = sheets.iter().map(|(name, _)| quoted(name)).collect();
            let Some(wanted) = wanted else { return Err(bad(&self.path, "it has no sheets")) };
            return Err(Error::BadParameter {
                place: Some(Place::file(&self.path)),
                key: "sheet".into(),
                value: wanted.into(),
                expected: format!("one of {}", names.join(", ")),
            });
        };
        let mut others = Vec::new();
        for (name, is_hidden) in sheets.iter().filter(|(name, _)| *name != sheet) {
            if self.has_cells(name) {
                let hidden = if *is_hidden { " (hidden)" } else { "" };
                others.push(format!("{}{hidden}", quoted(name)));
            }
        }
        if is_hidden || !others.is_empty() {
            let file = self.path.display();
            let hidden = if is_hidden { ", which is hidden" } else { "" };
            let mut note = format!("{file}: read the sheet {}{hidden}", quoted(&sheet));
            if !others.is_empty() {
                note += &format!("; left out {}", others.join(", "));
            }
            watch.note(note);
        }
        Ok(Book { sheet, ..self })
    }

    /// Whether a sheet has a value among its first cells. One that cannot be read may have.
    fn has_cells(&mut self, sheet: &str) -> bool {
        let Ok(mut cells) = self.book.worksheet_cells_reader(sheet) else { return false };
        (0..POLLED).any(|_| match cells.next_cell() {
            Ok(Some(cell)) => !matches!(cell.get_value(), DataRef::Empty),
            Ok(None) => false,
            Err(_) => true,
        })
    }

    /// Copies the sheet to a private file in `folder`.
    pub(super) fn copy(
        mut self,
        folder: &Path,
        (meter, watch): (&Meter, &Watch),
    ) -> Result<Copied> {
        let path = self.path.clone();
        guarded(&path, || {
            let mut copy = |times| {
                let copy = Copy::begin(&path, &self.sheet, folder, times, meter)?;
                self.copy_cells(copy, watch)
            };
            let (copied, times) = copy(Times::default())?;
            // A column that has days and times of a day is written once more.
            times.again().map_or(Ok(copied), |times| Ok(copy(times)?.0))
        })
    }

    fn copy_cells(&mut self, mut copy: Copy, watch: &Watch) -> Result<(Copied, Times)> {
        let cells = self.book.worksheet_cells_reader(&self.sheet);
        let mut cells = cells.map_err(|error| bad(&self.path, error))?;
        let mut count = 0u32;
        while let Some(cell) = cells.next_cell().map_err(|error| bad(&self.path, error))? {
            count = count.wrapping_add(1);
            if count.is_multiple_of(POLLED) {
                watch.check()?;
            }
            copy.add(cell.get_position(), cell.get_value())?;
        }
        copy.finish()
    }
}
