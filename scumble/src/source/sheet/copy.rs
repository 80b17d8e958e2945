//! Cells on their way into a CSV file.

use super::super::csv::Renumbered;
use super::super::meter::{Meter, Metered};
use super::super::spill::WaitingFile;
use super::Copied;
use crate::error::{Error, Place, Result};
use calamine::{DataRef, ExcelDateTime};
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The limits of the format: a file that has more is damaged.
const MOST_ROWS: u32 = 1 << 20;
const MOST_COLUMNS: u32 = 1 << 14;

/// A sheet that is copied row by row. The first row that has a value is the header.
pub(super) struct Copy {
    /// What messages call the workbook, and its sheet.
    path: PathBuf,
    sheet: String,
    waiting: WaitingFile,
    out: BufWriter<Metered>,
    /// The columns of the header; none before it.
    columns: Option<Range<u32>>,
    /// The current row and its cells.
    row: u32,
    cells: Vec<(u32, String)>,
    /// Lines of the copy, and line breaks in fields.
    lines: u64,
    breaks: u64,
    renumbered: Vec<(u64, u64)>,
    bytes: u64,
    times: Times,
}

/// How each column of the sheet shows days and times.
#[derive(Clone, Debug, Default)]
pub(super) struct Times {
    days: Vec<bool>,
    times: Vec<bool>,
    /// Whether days are written with a time.
    timed: Vec<bool>,
}

impl Times {
    /// The same for a second copy, if some column has days and times of a day.
    pub(super) fn again(self) -> Option<Times> {
        let both = |(day, time): (&bool, &bool)| *day && *time;
        let timed: Vec<bool> = self.days.iter().zip(&self.times).map(both).collect();
        timed.contains(&true).then(|| Times { timed, ..Times::default() })
    }

    fn mark(list: &mut Vec<bool>, column: u32) {
        let column = column as usize;
        if list.len() <= column {
            list.resize(column + 1, false);
        }
        list[column] = true;
    }

    /// A serial number of days as a person writes it.
    fn text(&mut self, value: &ExcelDateTime, column: u32) -> String {
        let days = value.as_f64();
        if value.is_duration() || (0.0..1.0).contains(&days) {
            return time_of_day(days);
        }
        let (year, month, day, hour, minute, second, milli) = value.to_ymd_hms_milli();
        let date = format!("{year:04}-{month:02}-{day:02}");
        let is_day = (hour, minute, second, milli) == (0, 0, 0, 0);
        let list = if is_day { &mut self.days } else { &mut self.times };
        Times::mark(list, column);
        // Both lists have the same length in the end.
        let other = if is_day { &mut self.times } else { &mut self.days };
        other.resize(other.len().max(column as usize + 1), false);
        if is_day && !self.timed.get(column as usize).is_some_and(|timed| *timed) {
            return date;
        }
        let fraction = if milli == 0 { String::new() } else { format!(".{milli:03}") };
        format!("{date} {hour:02}:{minute:02}:{second:02}{fraction}")
    }
}

/// A part of a day, or several days, as hours, minutes and seconds.
fn time_of_day(days: f64) -> String {
    let millis = (days.abs() * 86_400_000.0).round() as u64;
    let (seconds, milli) = (millis / 1000, millis % 1000);
    let sign = if days < 0.0 { "-" } else { "" };
    let fraction = if milli == 0 { String::new() } else { format!(".{milli:03}") };
    format!("{sign}{:02}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// A number as briefly as it can be written.
fn number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return format!("{}", number as i64);
    }
    format!("{number:?}")
}

/// What a person calls a cell.
fn address(row: u32, column: u32) -> String {
    let (mut letters, mut left) = (Vec::new(), column + 1);
    while left > 0 {
        letters.push(char::from(b'A' + ((left - 1) % 26) as u8));
        left = (left - 1) / 26;
    }
    let letters: String = letters.into_iter().rev().collect();
    format!("{letters}{}", row + 1)
}

impl Copy {
    /// Begins a copy in `folder`.
    pub(super) fn begin(
        path: &Path,
        sheet: &str,
        folder: &Path,
        times: Times,
        meter: &Meter,
    ) -> Result<Copy> {
        let (waiting, file) = WaitingFile::create(folder)?;
        let out = BufWriter::with_capacity(1 << 16, Metered::new(file, meter));
        Ok(Copy {
            path: path.to_path_buf(),
            sheet: sheet.into(),
            waiting,
            out,
            columns: None,
            row: 0,
            cells: Vec::new(),
            lines: 0,
            breaks: 0,
            renumbered: Vec::new(),
            bytes: 0,
            times,
        })
    }

    fn bad(&self, (row, column): (u32, u32), problem: &str) -> Error {
        let cell = address(row, column);
        let problem = format!("cell {cell} of the sheet `{}` {problem}", self.sheet);
        Error::BadRecord { place: Place::file(&self.path).line(u64::from(row) + 1), problem }
    }

    /// Adds the next cell, row by row and from left to right.
    pub(super) fn add(&mut self, at: (u32, u32), value: &DataRef<'_>) -> Result<()> {
        let text = match value {
            DataRef::Empty => return Ok(()),
            DataRef::Int(number) => number.to_string(),
            DataRef::Float(float) => number(*float),
            DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => {
                text.clone()
            }
            DataRef::SharedString(text) => text.to_string(),
            DataRef::Bool(value) => value.to_string(),
            DataRef::DateTime(value) => self.times.text(value, at.1.min(MOST_COLUMNS)),
            DataRef::Error(error) => {
                let problem = format!("has the error {error}; correct or clear it");
                return Err(self.bad(at, &problem));
            }
        };
        let (row, column) = at;
        let last = self.cells.last().map(|(column, _)| *column);
        let is_next = row > self.row || row == self.row && last.is_none_or(|last| last < column);
        if !is_next || row >= MOST_ROWS || column >= MOST_COLUMNS {
            return Err(self.bad(at, "is out of order; the file is damaged"));
        }
        if text.is_empty() {
            return Ok(());
        }
        if row > self.row {
            self.end_row()?;
            self.row = row;
        }
        self.cells.push((column, text));
        Ok(())
    }

    /// Writes the row, behind a blank line for each row without values.
    fn end_row(&mut self) -> Result<()> {
        let cells = std::mem::take(&mut self.cells);
        let (Some((first, _)), Some((last, _))) = (cells.first(), cells.last()) else {
            return Ok(());
        };
        let columns = self.columns.get_or_insert(*first..last + 1).clone();
        if let Some((column, _)) = cells.iter().find(|(column, _)| !columns.contains(column)) {
            let problem = "has a value, but its column has no name in the header; add one";
            return Err(self.bad((self.row, *column), problem));
        }
        let mut line = vec![b'\n'; (u64::from(self.row) - self.lines) as usize];
        let begin = line.len();
        let mut cells = cells.into_iter().peekable();
        for column in columns.clone() {
            if column > columns.start {
                line.push(super::COMMA);
            }
            if let Some((_, text)) = cells.next_if(|(at, _)| *at == column) {
                push_field(&mut line, &text);
            }
        }
        let breaks = line[begin..].iter().filter(|byte| **byte == b'\n').count() as u64;
        line.push(b'\n');
        self.lines = u64::from(self.row) + 1;
        if breaks > 0 {
            let begins = self.lines + self.breaks;
            self.breaks += breaks;
            self.renumbered.push((begins, self.breaks));
        }
        self.bytes += line.len() as u64;
        self.out.write_all(&line).map_err(|error| self.waiting.failed(error))
    }

    /// Completes the copy.
    pub(super) fn finish(mut self) -> Result<(Copied, Times)> {
        self.end_row()?;
        self.out.flush().map_err(|error| self.waiting.failed(error))?;
        let Copy { waiting: file, bytes, renumbered, times, .. } = self;
        Ok((Copied { file, bytes, rows: Arc::new(Renumbered(renumbered)) }, times))
    }
}

/// A field of CSV, in quotes where it must be.
fn push_field(line: &mut Vec<u8>, text: &str) {
    if !text.contains([',', '"', '\n', '\r']) {
        line.extend_from_slice(text.as_bytes());
        return;
    }
    line.push(b'"');
    line.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_called_as_in_a_spreadsheet() {
        let cells =
            [(0, "A1"), (25, "Z1"), (26, "AA1"), (701, "ZZ1"), (702, "AAA1"), (16383, "XFD1")];
        for (column, name) in cells {
            assert_eq!(address(0, column), name);
        }
    }

    #[test]
    fn numbers_and_times_are_brief_and_exact() {
        let numbers = [(1.0, "1"), (-0.5, "-0.5"), (1e15, "1000000000000000.0"), (1e300, "1e300")];
        for (value, text) in numbers {
            assert_eq!(number(value), text);
            assert_eq!(text.parse::<f64>().unwrap(), value);
        }
        assert_eq!(time_of_day(0.5), "12:00:00");
        assert_eq!(time_of_day(1.25), "30:00:00");
        assert_eq!(time_of_day(1.5 / 86_400.0), "00:00:01.500");
    }
}
