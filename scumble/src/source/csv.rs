//! Delimited text: quotes, a byte-order mark, CRLF, line breaks inside quotes, and errors that name the line.
//!
//! Records without quotes are cut where they lie, eight bytes at a time; csv-core's state machine reads the others. What is
//! added to it: the delimiter is sniffed, a quote that never closes is an error instead of a swallowed rest of the file, and
//! fields go straight into Arrow's columns.

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

/// How much of a file is looked at to find its delimiter, and how many records.
const SNIFFED: usize = 64 * 1024;
const SNIFFED_RECORDS: usize = 100;
const MOST_SNIFFED_FIELDS: usize = 1 << 12;

/// Bytes that are read of a file at a time.
const BUFFER: usize = 4 * SNIFFED;

/// The records of a file, one at a time.
pub(super) struct Records {
    path: PathBuf,
    file: Metered,
    cutter: Cutter,
    /// Reads records with quotes; made when the first one comes.
    machine: Option<Box<csv_core::Reader>>,
    buffer: Vec<u8>,
    /// Bytes of a record that are looked at in the buffer.
    most: usize,
    at: usize,
    filled: usize,
    /// Bytes that were read from the file.
    read: u64,
    ended: bool,
    /// The fields of a record with quotes, one behind the other.
    output: Vec<u8>,
    ends: Vec<usize>,
    /// Where the record begins in the buffer, if it was cut there.
    start: Option<usize>,
    fields: usize,
    line: u64,
    /// The line that the next byte stands on.
    next_line: u64,
}

/// What lies at the start of some bytes.
enum Cut {
    /// A record without quotes, so long with the line break behind it.
    Record(usize),
    /// A record with a quote in it.
    Quoted,
    /// The start of a record, as far as can be seen.
    Open,
}

/// Cuts records at every delimiter, which is right as long as there is no quote in them: almost always, and several times
/// faster than a state machine.
struct Cutter {
    delimiter: u8,
    /// Where the fields of the last record end.
    ends: Vec<usize>,
}

const LOW_BITS: u64 = u64::from_ne_bytes([0x7F; 8]);

impl Cutter {
    fn new(delimiter: u8) -> Cutter {
        Cutter { delimiter, ends: Vec::new() }
    }

    /// The record that some bytes begin with; `is_all` where no more follow them.
    fn cut(&mut self, bytes: &[u8], is_all: bool) -> Cut {
        self.ends.clear();
        let needles = [self.delimiter, b'"', b'\n', b'\r'].map(|byte| u64::from_ne_bytes([byte; 8]));
        let mut start = 0;
        while start < bytes.len() {
            let chunk = match bytes[start..].first_chunk() {
                Some(chunk) => u64::from_le_bytes(*chunk),
                None => {
                    let mut last = [0; 8];
                    last[..bytes.len() - start].copy_from_slice(&bytes[start..]);
                    u64::from_le_bytes(last)
                }
            };
            // The high bit of each byte that is none of the four.
            let others = needles.iter().fold(!0, |others, needle| {
                let apart = chunk ^ needle;
                others & (((apart & LOW_BITS) + LOW_BITS) | apart)
            });
            let mut found = !(others | LOW_BITS);
            while found != 0 {
                let at = start + found.trailing_zeros() as usize / 8;
                found &= found - 1;
                // Behind the end there is nothing, whatever a delimiter may look like.
                let Some(&byte) = bytes.get(at) else { break };
                if byte == b'"' {
                    return Cut::Quoted;
                }
                self.ends.push(at);
                if byte != self.delimiter {
                    return Cut::Record(at + 1);
                }
            }
            start += 8;
        }
        match is_all {
            false => Cut::Open,
            true => {
                self.ends.push(bytes.len());
                Cut::Record(bytes.len())
            }
        }
    }
}

/// A machine that reads records with quotes.
fn machine(delimiter: u8) -> Box<csv_core::Reader> {
    Box::new(csv_core::ReaderBuilder::new().delimiter(delimiter).build())
}

impl Records {
    /// `preferred` are the delimiters that are tried, the best guess first.
    fn open(path: &Path, delimiter: Option<u8>, preferred: [u8; 4], meter: &Meter) -> Result<(Records, u8)> {
        let size = std::fs::metadata(path).map_or(BUFFER, |found| found.len() as usize + 1);
        Records::with_buffer(size.clamp(1024, BUFFER), path, delimiter, preferred, meter)
    }

    fn with_buffer(
        bytes: usize,
        path: &Path,
        delimiter: Option<u8>,
        preferred: [u8; 4],
        meter: &Meter,
    ) -> Result<(Records, u8)> {
        let file = Metered::open(path, meter)?;
        let mut records = Records {
            path: path.to_path_buf(),
            file,
            cutter: Cutter::new(0),
            machine: None,
            buffer: vec![0; bytes],
            most: bytes,
            at: 0,
            filled: 0,
            read: 0,
            ended: false,
            output: Vec::new(),
            ends: Vec::new(),
            start: None,
            fields: 0,
            line: 1,
            next_line: 1,
        };
        while !records.ended && records.filled < SNIFFED.min(bytes) {
            records.fill()?;
        }
        if records.buffer[..records.filled].starts_with(b"\xEF\xBB\xBF") {
            records.at = 3;
        }
        let delimiter = delimiter.unwrap_or_else(|| sniff(&records.buffer[records.at..records.filled], preferred));
        records.cutter = Cutter::new(delimiter);
        Ok((records, delimiter))
    }

    /// Reads more of the file behind what is buffered.
    fn fill(&mut self) -> Result<()> {
        if self.filled == self.buffer.len() {
            // What is left of a record moves to the front; one that takes the whole buffer needs a larger one.
            self.buffer.copy_within(self.at.., 0);
            self.filled -= self.at;
            self.at = 0;
            if self.filled == self.buffer.len() {
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
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
        self.line = self.next_line;
        if self.at == self.filled {
            return Ok(false);
        }
        loop {
            match self.cutter.cut(&self.buffer[self.at..self.filled], self.ended) {
                Cut::Record(length) => {
                    self.start = Some(self.at);
                    self.fields = self.cutter.ends.len();
                    self.at += length;
                    self.next_line += u64::from(self.buffer[self.at - 1] == b'\n');
                    return Ok(true);
                }
                Cut::Quoted => return self.read_quoted(),
                // A record that is longer than the buffer may have a quote at its end: it is not worth a larger buffer.
                Cut::Open if self.filled - self.at >= self.most => return self.read_quoted(),
                Cut::Open => self.fill()?,
            }
        }
    }

    /// Reads a record by the state machine.
    fn read_quoted(&mut self) -> Result<bool> {
        let mut machine = self.machine.take().unwrap_or_else(|| machine(self.cutter.delimiter));
        machine.set_line(self.next_line);
        let (mut written, mut fields) = (0, 0);
        self.start = None;
        self.output.resize(self.output.len().max(1024), 0);
        self.ends.resize(self.ends.len().max(64), 0);
        loop {
            if self.at == self.filled && !self.ended {
                self.fill()?;
            }
            // At the end a line break is fed to the machine: inside a quote it would be data, and no record ends.
            let input: &[u8] = if self.at < self.filled { &self.buffer[self.at..self.filled] } else { b"\n" };
            let artificial = self.at == self.filled;
            let (result, read, out, end) =
                machine.read_record(input, &mut self.output[written..], &mut self.ends[fields..]);
            if !artificial {
                self.at += read;
            }
            written += out;
            fields += end;
            match result {
                ReadRecordResult::Record => break,
                ReadRecordResult::InputEmpty if artificial => {
                    return Err(Error::UnclosedQuote { place: Place::file(&self.path).line(self.line) });
                }
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.output.resize(2 * self.output.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::End => return Err(Error::Defect),
            }
        }
        self.fields = fields;
        self.next_line = machine.line();
        self.machine = Some(machine);
        Ok(true)
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
                b'\n' => self.next_line += 1,
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

    #[inline]
    fn field(&self, number: usize) -> &[u8] {
        match self.start {
            Some(start) => {
                // A delimiter stands between fields.
                let from = if number == 0 { 0 } else { self.cutter.ends[number - 1] + 1 };
                &self.buffer[start + from..start + self.cutter.ends[number]]
            }
            None => {
                let from = if number == 0 { 0 } else { self.ends[number - 1] };
                &self.output[from..self.ends[number]]
            }
        }
    }

    /// Bytes of the fields, more or less.
    fn length(&self) -> usize {
        let ends = if self.start.is_some() { &self.cutter.ends } else { &self.ends };
        ends[self.fields - 1]
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
        let counts = field_counts(start, delimiter);
        let in_all = || start.iter().filter(|byte| **byte == delimiter).count() + 1;
        let fields = counts.first().copied().unwrap_or_else(in_all);
        let even = counts.iter().filter(|count| **count == fields).count();
        if fields < 2 { (0, 0) } else { (even * 100 / counts.len().max(1), fields) }
    };
    let scored = preferred.into_iter().rev().map(|delimiter| (score(delimiter), delimiter));
    let best = scored.max_by_key(|(score, _)| *score).filter(|(score, _)| *score > (0, 0));
    best.map_or(preferred[0], |(_, delimiter)| delimiter)
}

/// The number of fields of each of the first records that are whole.
fn field_counts(mut rest: &[u8], delimiter: u8) -> Vec<usize> {
    let (mut cutter, mut quoted) = (Cutter::new(delimiter), None);
    let mut counts = Vec::new();
    while counts.len() < SNIFFED_RECORDS {
        while let [b'\n' | b'\r', others @ ..] = rest {
            rest = others;
        }
        match cutter.cut(rest, false) {
            Cut::Record(length) => {
                counts.push(cutter.ends.len());
                rest = &rest[length..];
            }
            Cut::Open => break,
            Cut::Quoted => {
                let (machine, output, ends) = quoted
                    .get_or_insert_with(|| (machine(delimiter), vec![0; rest.len() + 1], vec![0; MOST_SNIFFED_FIELDS]));
                let (result, read, _, fields) = machine.read_record(rest, output, ends);
                rest = &rest[read..];
                match result {
                    ReadRecordResult::Record => counts.push(fields),
                    // More fields in a record than any table has columns: not a record of this delimiter.
                    _ => break,
                }
            }
        }
    }
    counts
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
            bytes += self.records.length();
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    type Found = (u64, Vec<Vec<u8>>);

    /// All records by csv-core alone, with the line that each begins on.
    fn by_machine(text: &[u8]) -> Vec<Found> {
        let mut machine = machine(b';');
        let (mut at, mut found) = (0, Vec::new());
        let text = [text, b"\n"].concat();
        loop {
            while matches!(text.get(at), Some(b'\n' | b'\r')) {
                at += 1;
            }
            let line = 1 + text[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
            let (mut output, mut ends) = (vec![0; text.len()], vec![0; text.len() + 1]);
            let (result, read, _, fields) = machine.read_record(&text[at..], &mut output, &mut ends);
            at += read;
            if !matches!(result, ReadRecordResult::Record) {
                return found;
            }
            let start = |field: usize| if field == 0 { 0 } else { ends[field - 1] };
            found.push((line, (0..fields).map(|field| output[start(field)..ends[field]].to_vec()).collect()));
        }
    }

    fn by_records(text: &[u8], buffer: usize) -> Result<Vec<Found>> {
        static FILES: AtomicU64 = AtomicU64::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let file = std::env::temp_dir().join(format!("scumble-csv-{}-{number}", std::process::id()));
        std::fs::write(&file, text).unwrap();
        let meter = Meter::default();
        let opened = Records::with_buffer(buffer, &file, Some(b';'), OF_TABLES, &meter);
        // What is open can be read to its end.
        std::fs::remove_file(&file).unwrap();
        let (mut records, _) = opened?;
        let mut found = Vec::new();
        while records.advance()? {
            let fields = (0..records.fields).map(|field| records.field(field).to_vec()).collect();
            found.push((records.line, fields));
            assert_eq!(records.consumed() + (records.filled - records.at) as u64, meter.bytes());
        }
        assert_eq!(meter.bytes(), text.len() as u64);
        Ok(found)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn cutting_and_the_state_machine_agree(
            pieces in prop::collection::vec(
                prop::sample::select(vec!["a", "bcdefghijk", ";", ";", "\n", "\r\n", "\r", "\"", "\"\"", "é", "\0", ","]),
                0..60,
            ),
            buffer in 1usize..40,
        ) {
            let text: Vec<u8> = pieces.concat().into_bytes();
            let whole = by_records(&text, 1 << 16);
            prop_assert_eq!(whole.is_ok(), by_records(&text, buffer).is_ok());
            match whole {
                Err(error) => prop_assert!(error.to_string().contains("quote"), "{}", error),
                Ok(found) => {
                    prop_assert_eq!(&found, &by_machine(&text));
                    prop_assert_eq!(&found, &by_records(&text, buffer).unwrap());
                }
            }
        }
    }

    #[test]
    fn a_quote_that_never_closes_is_told_with_the_line_where_its_record_begins() {
        let error = by_records(b"a;b\nc;\"d\n\n", 4).unwrap_err();
        assert!(error.to_string().contains(":2"), "{error}");
    }
}
