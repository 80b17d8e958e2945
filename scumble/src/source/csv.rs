//! Delimited text: quotes, a byte-order mark, CRLF, line breaks inside quotes, and errors that name the line.
//!
//! The state machine is csv-core's. What is added here: the delimiter is sniffed, a quote that never closes is an
//! error instead of a swallowed rest of the file, and fields go straight into Arrow's columns.

use super::meter::{Meter, Metered};
use super::{BATCH_BYTES, BATCH_ROWS, Batch, Lines};
use crate::error::{Error, Place, Result};
use arrow_array::{ArrayRef, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use csv_core::ReadRecordResult;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The delimiters of a table, in order of preference.
const OF_TABLES: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The delimiters of a hierarchy: the semicolon is the custom, and labels may have commas.
const OF_HIERARCHIES: [u8; 4] = [b';', b',', b'\t', b'|'];

/// How much of a file is looked at to find its delimiter.
const SNIFFED: usize = 64 * 1024;

/// The records of a file, one at a time.
pub(super) struct Records {
    path: PathBuf,
    file: Metered,
    machine: csv_core::Reader,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    /// Bytes that were read from the file.
    read: u64,
    ended: bool,
    output: Vec<u8>,
    ends: Vec<usize>,
    fields: usize,
    line: u64,
    /// Line breaks that the machine was not shown.
    skipped: u64,
}

impl Records {
    /// `preferred` are the delimiters that are tried, the best guess first.
    fn open(path: &Path, delimiter: Option<u8>, preferred: [u8; 4], meter: &Meter) -> Result<(Records, u8)> {
        let file = Metered::open(path, meter)?;
        let mut records = Records {
            path: path.to_path_buf(),
            file,
            machine: csv_core::Reader::new(),
            buffer: vec![0; 4 * SNIFFED],
            at: 0,
            filled: 0,
            read: 0,
            ended: false,
            output: vec![0; 1024],
            ends: vec![0; 64],
            fields: 0,
            line: 1,
            skipped: 0,
        };
        while !records.ended && records.filled < SNIFFED {
            records.fill()?;
        }
        if records.buffer[..records.filled].starts_with(b"\xEF\xBB\xBF") {
            records.at = 3;
        }
        let delimiter = delimiter.unwrap_or_else(|| sniff(&records.buffer[records.at..records.filled], preferred));
        records.machine = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        Ok((records, delimiter))
    }

    /// Reads more of the file behind what is buffered.
    fn fill(&mut self) -> Result<()> {
        if self.filled == self.buffer.len() {
            self.filled = 0;
            self.at = 0;
        }
        let read = loop {
            match self.file.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read.map_err(Error::io(&self.path, "read"))?,
            }
        };
        self.filled += read;
        self.read += read as u64;
        self.ended = read == 0;
        Ok(())
    }

    /// Goes on to the next record; `false` at the end.
    fn advance(&mut self) -> Result<bool> {
        self.skip_line_breaks()?;
        self.line = self.machine.line() + self.skipped;
        let (mut written, mut fields) = (0, 0);
        loop {
            if self.at == self.filled && !self.ended {
                self.fill()?;
            }
            // At the end a line break is fed to the machine: inside a quote it would be data, and no record ends.
            let input: &[u8] = if self.at < self.filled { &self.buffer[self.at..self.filled] } else { b"\n" };
            let artificial = self.at == self.filled;
            let (result, read, out, end) =
                self.machine.read_record(input, &mut self.output[written..], &mut self.ends[fields..]);
            if !artificial {
                self.at += read;
            }
            written += out;
            fields += end;
            match result {
                ReadRecordResult::Record => {
                    self.fields = fields;
                    return Ok(true);
                }
                ReadRecordResult::InputEmpty if artificial => {
                    return match (written, fields) {
                        (0, 0) => Ok(false),
                        _ => Err(Error::UnclosedQuote { place: Place::file(&self.path).line(self.line) }),
                    };
                }
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.output.resize(2 * self.output.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::End => return Ok(false),
            }
        }
    }

    /// Blank lines, and the second half of a CRLF, so that the line of the next record is known before it is read.
    fn skip_line_breaks(&mut self) -> Result<()> {
        loop {
            if self.at == self.filled {
                if self.ended {
                    return Ok(());
                }
                self.fill()?;
                continue;
            }
            match self.buffer[self.at] {
                b'\n' => self.skipped += 1,
                b'\r' => {}
                _ => return Ok(()),
            }
            self.at += 1;
        }
    }

    /// Bytes of the file that records were made of.
    fn consumed(&self) -> u64 {
        self.read - (self.filled - self.at) as u64
    }

    fn field(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.output[start..self.ends[number]]
    }

    fn text(&self, number: usize, column: Option<&str>) -> Result<String> {
        String::from_utf8(self.field(number).to_vec()).map_err(|error| {
            let mut place = Place::file(&self.path).line(self.line);
            place.column = column.map(str::to_string);
            Error::InvalidUtf8 { place, value: String::from_utf8_lossy(error.as_bytes()).into_owned() }
        })
    }

    fn texts(&self) -> Result<Vec<String>> {
        (0..self.fields).map(|number| self.text(number, None)).collect()
    }
}

/// The delimiter that cuts the first records into the same number of fields, the larger the better.
fn sniff(start: &[u8], preferred: [u8; 4]) -> u8 {
    let score = |delimiter: u8| {
        let mut machine = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
        let (mut rest, mut output, mut ends) = (start, vec![0; start.len() + 1], vec![0; 1 << 12]);
        let mut counts = Vec::new();
        while counts.len() < 100 {
            let (result, read, _, fields) = machine.read_record(rest, &mut output, &mut ends);
            rest = &rest[read..];
            match result {
                ReadRecordResult::Record => counts.push(fields),
                // More fields in a record than any table has columns: not a record of this delimiter.
                _ => break,
            }
        }
        let fields = counts.first().copied().unwrap_or(start.iter().filter(|byte| **byte == delimiter).count() + 1);
        let even = counts.iter().filter(|count| **count == fields).count();
        if fields < 2 { (0, 0) } else { (even * 100 / counts.len().max(1), fields) }
    };
    let scored = preferred.into_iter().rev().map(|delimiter| (score(delimiter), delimiter));
    let best = scored.max_by_key(|(score, _)| *score).filter(|(score, _)| *score > (0, 0));
    best.map_or(preferred[0], |(_, delimiter)| delimiter)
}

/// Opens a file and reads its header.
pub(super) fn open(path: &Path, delimiter: Option<u8>, meter: &Meter) -> Result<(Records, u8, SchemaRef)> {
    let (mut records, delimiter) = Records::open(path, delimiter, OF_TABLES, meter)?;
    if !records.advance()? {
        return Err(Error::NoHeader { file: path.to_path_buf() });
    }
    let fields: Vec<Field> = records.texts()?.into_iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
    Ok((records, delimiter, Arc::new(Schema::new(fields))))
}

/// All records of a file, with their lines.
pub(super) fn read_all(path: &Path) -> Result<Vec<(u64, Vec<String>)>> {
    let (mut records, _) = Records::open(path, None, OF_HIERARCHIES, &Meter::default())?;
    let mut all = Vec::new();
    while records.advance()? {
        all.push((records.line, records.texts()?));
    }
    Ok(all)
}

/// One column on its way into an Arrow array.
struct Text {
    bytes: Vec<u8>,
    offsets: Vec<i32>,
}

/// The rows below the header, in batches.
pub(super) struct Batches {
    records: Records,
    names: Vec<String>,
    wanted: Vec<bool>,
    done: bool,
    rows: u64,
    /// The size of the file.
    size: u64,
}

impl Batches {
    /// `records` stands behind the header, whose fields it still holds.
    pub(super) fn new(records: Records, wanted: &[bool], size: u64) -> Batches {
        let names = (0..records.fields).map(|field| String::from_utf8_lossy(records.field(field)).into_owned());
        let names = names.collect();
        Batches { records, names, wanted: wanted.to_vec(), done: false, rows: 0, size }
    }

    fn read(&mut self) -> Result<Option<Batch>> {
        let width = self.wanted.len();
        let columns = (0..width).filter(|column| self.wanted[*column]).collect::<Vec<usize>>();
        let mut texts: Vec<Text> =
            columns.iter().map(|_| Text { bytes: Vec::new(), offsets: Vec::with_capacity(BATCH_ROWS + 1) }).collect();
        texts.iter_mut().for_each(|text| text.offsets.push(0));
        let mut lines = Vec::with_capacity(BATCH_ROWS);
        // A batch ends by rows, or by bytes where values are long: several are in memory at a time.
        let mut bytes = 0usize;
        while lines.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            if !self.records.advance()? {
                self.done = true;
                break;
            }
            if self.records.fields != width {
                let place = Place::file(&self.records.path).line(self.records.line);
                return Err(Error::RaggedRow { place, expected: width, found: self.records.fields });
            }
            lines.push(self.records.line);
            bytes += self.records.ends[width - 1];
            for (text, column) in texts.iter_mut().zip(&columns) {
                text.bytes.extend_from_slice(self.records.field(*column));
                let end = i32::try_from(text.bytes.len()).map_err(|_| self.too_long())?;
                text.offsets.push(end);
            }
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let arrays = texts.into_iter().zip(&columns).map(|(text, column)| self.array(text, *column, &lines));
        let columns = arrays.collect::<Result<_>>()?;
        self.rows += lines.len() as u64;
        // The rest has rows as long as those so far, more or less.
        let estimate = self.rows as f64 * (self.size as f64 / self.records.consumed().max(1) as f64);
        let total = Some(if self.done { self.rows } else { (estimate as u64).max(self.rows) });
        Ok(Some(Batch { columns, lines: Lines::Each(lines), total }))
    }

    fn too_long(&self) -> Error {
        let place = Place::file(&self.records.path).line(self.records.line);
        Error::UnsupportedColumn { place, data_type: "text longer than 2 GiB".into() }
    }

    fn array(&self, text: Text, column: usize, lines: &[u64]) -> Result<ArrayRef> {
        let Text { bytes, offsets } = text;
        let valid = std::str::from_utf8(&bytes).is_ok();
        let cut = |row: usize| &bytes[offsets[row] as usize..offsets[row + 1] as usize];
        // A field may also end in the middle of a character that the next one completes.
        let bad = match valid && offsets.iter().all(|end| is_boundary(&bytes, *end as usize)) {
            true => None,
            false => (0..lines.len()).find(|row| std::str::from_utf8(cut(*row)).is_err()),
        };
        if let Some(row) = bad {
            let place = Place::file(&self.records.path).line(lines[row]).column(self.names[column].clone());
            return Err(Error::InvalidUtf8 { place, value: String::from_utf8_lossy(cut(row)).into_owned() });
        }
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let array = StringArray::try_new(offsets, Buffer::from_vec(bytes), None);
        Ok(Arc::new(array.map_err(|source| Error::Columnar { file: self.records.path.clone(), source })?))
    }
}

fn is_boundary(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)
}

impl Iterator for Batches {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Result<Batch>> {
        if self.done {
            return None;
        }
        let batch = self.read().transpose();
        if !matches!(batch, Some(Ok(_))) {
            self.done = true;
        }
        batch
    }
}
