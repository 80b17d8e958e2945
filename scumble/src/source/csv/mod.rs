//! Delimited text: quotes, a byte-order mark, CRLF, line breaks inside quotes, and errors that name
//! the line.
//!
//! A file is read in [`blocks`] of whole records; each is [`cut`] into fields and [`parse`]d into
//! columns, by any thread. The delimiter is sniffed, and a quote that never closes is an error
//! instead of a swallowed rest of the file.

mod blocks;
mod cut;
mod parse;

use super::encoding::{Decoded, Wanted};
use super::{Batch, Form, Lines};
use crate::error::{Error, Place, Result};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use blocks::{BLOCK, Block, Blocks, Raw};
use cut::{Cuts, Piece, said};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// The delimiters of a table, in order of preference.
const OF_TABLES: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The delimiters of a hierarchy: the semicolon is the custom, and labels may have commas.
const OF_HIERARCHIES: [u8; 4] = [b';', b',', b'\t', b'|'];

/// How much of a file is looked at to find its delimiter, and how many records.
const SNIFFED: usize = 64 * 1024;
const SNIFFED_RECORDS: usize = 100;

/// The delimiter that cuts the first records into the same number of fields, the larger the better.
fn sniff(start: &[u8], preferred: [u8; 4]) -> u8 {
    let start = &start[..start.len().min(SNIFFED)];
    let score = |delimiter: u8| {
        let (line, is_all, most, has_quotes) = (1, false, SNIFFED_RECORDS, true);
        let cuts = Cuts::of(
            Piece { bytes: start, delimiter, line, is_all, most, has_quotes },
            Cuts::default(),
        );
        let counts: Vec<usize> = (0..cuts.records()).map(|record| cuts.fields(record)).collect();
        let in_all = || start.iter().filter(|byte| **byte == delimiter).count() + 1;
        let fields = counts.first().copied().unwrap_or_else(in_all);
        let even = counts.iter().filter(|count| **count == fields).count();
        if fields < 2 { (0, 0) } else { (even * 100 / counts.len().max(1), fields) }
    };
    let scored = preferred.into_iter().rev().map(|delimiter| (score(delimiter), delimiter));
    let best = scored.max_by_key(|(score, _)| *score).filter(|(score, _)| *score > (0, 0));
    best.map_or(preferred[0], |(_, delimiter)| delimiter)
}

/// The maximum number of columns. A file that is not a table may have a byte that looks like a
/// delimiter millions of times.
pub(super) const MOST_COLUMNS: usize = 1 << 16;

/// The maximum length of a record of a hierarchy or of another small file.
const LONGEST_OF_SMALL: usize = 16 << 20;

/// What the fields of each record say, with its line.
fn texts(block: &Block, path: &Path) -> Result<Vec<(u64, Vec<String>)>> {
    let (bytes, cuts) = (block.bytes(), &block.cuts);
    let mut scratch = Vec::new();
    let record = |record: usize| {
        let line = cuts.line(record);
        let text = |field: &[u8]| {
            String::from_utf8(said(field, &mut scratch).to_vec()).map_err(|error| {
                let value = String::from_utf8_lossy(error.as_bytes()).into_owned();
                Error::InvalidUtf8 { place: Place::file(path).line(line), value }
            })
        };
        Ok((line, cuts.record(bytes, record).map(text).collect::<Result<_>>()?))
    };
    (0..cuts.records()).map(record).collect()
}

/// The rows of a file below its header, not yet read.
pub(super) struct CsvRows {
    blocks: Blocks,
    names: Arc<[String]>,
}

impl CsvRows {
    /// The delimiter, which is known by now.
    pub(super) fn delimiter(&self) -> u8 {
        self.blocks.delimiter()
    }

    /// The same rows with other names for their columns.
    pub(super) fn named(self, schema: &Schema) -> CsvRows {
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        CsvRows { names, ..self }
    }
}

/// Reads the header of a file; `path` is what errors call it.
pub(super) fn open(
    file: Box<dyn Read + Send>,
    path: &Path,
    delimiter: Option<u8>,
    longest: usize,
) -> Result<(CsvRows, SchemaRef)> {
    let choose = |start: &[u8]| delimiter.unwrap_or_else(|| sniff(start, OF_TABLES));
    let mut blocks = Blocks::open(file, path, (BLOCK, longest), choose)?;
    let Some(header) = blocks.first()? else {
        return Err(Error::NoHeader { file: path.to_path_buf() });
    };
    if header.cuts.fields(0) > MOST_COLUMNS {
        let place = Place::file(path).line(header.cuts.line(0));
        let problem = format!("the header has more than {MOST_COLUMNS} columns; remove some");
        return Err(Error::BadRecord { place, problem });
    }
    let names: Vec<String> =
        texts(&header, path)?.into_iter().flat_map(|(_, names)| names).collect();
    let fields: Vec<Field> =
        names.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
    Ok((CsvRows { blocks, names: names.into() }, Arc::new(Schema::new(fields))))
}

/// All records of a file, with their lines.
pub(super) fn read_all(path: &Path) -> Result<Vec<(u64, Vec<String>)>> {
    // Most of them are small, and a byte more than there are tells that there is none. What is no
    // plain file has no size.
    let size = std::fs::metadata(path)
        .map_or(0, |file| if file.is_file() { file.len() } else { u64::MAX });
    let step = size.saturating_add(1).clamp(1 << 10, SNIFFED as u64) as usize;
    let file = std::fs::File::open(path).map_err(Error::io(path, "read"))?;
    let file = Decoded::new(Box::new(file), path, Wanted::Marked);
    let sizes = (step, LONGEST_OF_SMALL);
    let mut blocks =
        Blocks::open(Box::new(file), path, sizes, |start| sniff(start, OF_HIERARCHIES))?;
    let mut all = Vec::new();
    while let Some(block) = blocks.next()? {
        all.extend(texts(&block.cut(Cuts::default()), path)?);
    }
    Ok(all)
}

/// The rows of a file in parts that do not depend on each other.
pub(super) struct Parts {
    rows: CsvRows,
    forms: Vec<Form>,
    /// Bytes of the whole text, more or less.
    size: u64,
    /// Rows of the parts that were counted.
    counted: u64,
    /// What lines are called, if it is not by their numbers in the file.
    renumbered: Option<Arc<Renumbered>>,
}

/// Lines that are rows of something else, whose fields had line breaks: for each row with such
/// fields its line and the line breaks in all rows before it and in it.
#[derive(Debug, Default)]
pub(super) struct Renumbered(pub(super) Vec<(u64, u64)>);

impl Renumbered {
    /// The row that begins on a line.
    fn row(&self, line: u64) -> u64 {
        let before = self.0.partition_point(|(other, _)| *other < line);
        line - before.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}

impl Parts {
    pub(super) fn new(rows: CsvRows, forms: &[Form], size: u64) -> Parts {
        Parts { rows, forms: forms.to_vec(), size, counted: 0, renumbered: None }
    }

    /// The same, with rows of a sheet in place of lines.
    pub(super) fn renumbered(self, rows: Option<Arc<Renumbered>>) -> Parts {
        Parts { renumbered: rows.filter(|rows| !rows.0.is_empty()), ..self }
    }

    /// How many there are, more or less.
    pub(super) fn estimate(&self) -> u64 {
        1 + self.size / BLOCK as u64
    }

    /// The next one, to be parsed.
    pub(super) fn next(&mut self) -> Result<Option<RawRecords>> {
        Ok(self.rows.blocks.next()?.map(RawRecords))
    }

    /// What parses them. Each parser must be given parts in their order, some or all.
    pub(super) fn parser(&self) -> Parser {
        let parser = parse::Parser::new(&self.rows.blocks, self.rows.names.clone(), &self.forms);
        Parser { parser, spare: Cuts::default() }
    }

    /// Takes a parsed part into account, all before it having been.
    pub(super) fn count(&mut self, parsed: Parsed) -> Batch {
        let Parsed { mut batch, bytes, end } = parsed;
        self.rows.blocks.take_back(bytes);
        self.counted += batch.rows as u64;
        // The rest has rows as long as those so far, more or less.
        let estimate = self.counted as f64 * (self.size as f64 / end.max(1) as f64);
        batch.total = Some((estimate as u64).max(self.counted));
        if let Some(renumbered) = &self.renumbered {
            let row = |row| renumbered.row(batch.lines.of(row));
            batch.lines = Lines::Each((0..batch.rows).map(row).collect());
        }
        batch
    }
}

/// Some bytes of a file that begin and end with records.
pub(super) struct RawRecords(Raw);

/// A part after its parsing.
pub(super) struct Parsed {
    batch: Batch,
    bytes: Vec<u8>,
    /// Bytes of the file up to its end.
    end: u64,
}

/// Parses parts.
pub(super) struct Parser {
    parser: parse::Parser,
    /// The cuts of the last part, whose room is used again.
    spare: Cuts,
}

impl Parser {
    pub(super) fn parse(&mut self, part: RawRecords) -> Result<Parsed> {
        let Block { bytes, mut cuts, end, .. } = part.0.cut(std::mem::take(&mut self.spare));
        let batch = self.parser.parse(&bytes, &mut cuts)?;
        self.spare = cuts;
        Ok(Parsed { batch, bytes, end })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Batches, Meter, Texts, ahead};
    use super::*;
    use crate::random::Random;
    use crate::watch::Watch;
    use csv_core::ReadRecordResult;
    use proptest::prelude::*;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering};

    type Found = (u64, Vec<Vec<u8>>);

    /// All records by csv-core alone, with the line that each begins on.
    fn by_machine(text: &[u8]) -> Vec<Found> {
        let mut machine = csv_core::ReaderBuilder::new().delimiter(b';').build();
        let (mut at, mut found) = (0, Vec::new());
        let text = [text, b"\n"].concat();
        loop {
            while matches!(text.get(at), Some(b'\n' | b'\r')) {
                at += 1;
            }
            let line = 1 + text[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
            let (mut output, mut ends) = (vec![0; text.len()], vec![0; text.len() + 1]);
            let (result, read, _, fields) =
                machine.read_record(&text[at..], &mut output, &mut ends);
            at += read;
            if !matches!(result, ReadRecordResult::Record) {
                return found;
            }
            let start = |field: usize| if field == 0 { 0 } else { ends[field - 1] };
            found.push((
                line,
                (0..fields).map(|field| output[start(field)..ends[field]].to_vec()).collect(),
            ));
        }
    }

    fn written(text: &[u8]) -> PathBuf {
        static FILES: AtomicU64 = AtomicU64::new(0);
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let file =
            std::env::temp_dir().join(format!("scumble-csv-{}-{number}", std::process::id()));
        std::fs::write(&file, text).unwrap();
        file
    }

    /// All records in blocks of so many bytes, the first `alone` of them by themselves.
    fn by_blocks(text: &[u8], step: usize, alone: usize) -> Result<Vec<Found>> {
        let file = written(text);
        let opened = std::fs::File::open(&file).unwrap();
        let opened = Blocks::open(Box::new(opened), &file, (step, 1 << 20), |_| b';');
        // What is open can be read to its end.
        std::fs::remove_file(&file).unwrap();
        let (mut blocks, mut found, mut scratch) = (opened?, Vec::new(), Vec::new());
        for number in 0.. {
            let block = if number < alone {
                blocks.first()?
            } else {
                blocks.next()?.map(|raw| raw.cut(Cuts::default()))
            };
            let Some(block) = block else { break };
            for record in 0..block.cuts.records() {
                let fields = block
                    .cuts
                    .record(block.bytes(), record)
                    .map(|field| said(field, &mut scratch).to_vec());
                found.push((block.cuts.line(record), fields.collect()));
            }
        }
        Ok(found)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn cutting_and_the_state_machine_agree(
            pieces in prop::collection::vec(
                prop::sample::select(vec!["a", "bcdefghijk", ";", ";", "\n", "\r\n", "\r", "\"", "\"\"", "é", "\0", ","]),
                0..60,
            ),
            plain in prop::bool::ANY,
            step in 1usize..200,
            alone in 0usize..3,
        ) {
            // Without quotes another way is taken.
            let pieces: Vec<&str> = pieces.into_iter().filter(|piece| !plain || !piece.contains('"')).collect();
            let text: Vec<u8> = pieces.concat().into_bytes();
            let whole = by_blocks(&text, 1 << 16, 0);
            prop_assert_eq!(whole.is_ok(), by_blocks(&text, step, alone).is_ok());
            match whole {
                Err(error) => prop_assert!(error.to_string().contains("quote"), "{}", error),
                Ok(found) => {
                    prop_assert_eq!(&found, &by_machine(&text));
                    prop_assert_eq!(&found, &by_blocks(&text, step, alone).unwrap());
                }
            }
        }
    }

    #[test]
    fn a_record_longer_than_the_limit_is_refused_by_its_line() {
        let read = |text: &str, step: usize| {
            let text = std::io::Cursor::new(text.to_string().into_bytes());
            let mut blocks =
                Blocks::open(Box::new(text), Path::new("a.csv"), (step, 100), |_| b';')?;
            let mut length = 0;
            while let Some(block) = blocks.next()? {
                length += block.cut(Cuts::default()).bytes().len();
            }
            Ok::<usize, Error>(length)
        };
        for step in [1, 16, 64, 100] {
            for long in ["x".repeat(300), format!("\"{}\"", "x\n".repeat(150)), ";".repeat(300)] {
                let error = read(&format!("a\nb\n{long}\nc\n"), step).unwrap_err();
                assert!(
                    matches!(&error, Error::LongRecord { place, most: 100 } if place.line == Some(3)),
                    "{step}: {error}"
                );
            }
            // Many records are no long record.
            assert_eq!(read(&"some;fields\n".repeat(90), step).unwrap(), 12 * 90);
            assert_eq!(read(&("x".repeat(90) + "\ny\n"), step).unwrap(), 93);
        }
    }

    #[test]
    fn a_quote_that_never_closes_is_told_with_the_line_where_its_record_begins() {
        for step in [4, 100] {
            let error = by_blocks(b"a;b\nc;\"d\n\n", step, 0).unwrap_err();
            assert!(error.to_string().contains(":2"), "{error}");
        }
    }

    /// A table with a column that recurs, one in quotes, one with values of its own, and one that
    /// is not wanted.
    fn table(rows: usize) -> (Vec<u8>, Vec<[String; 3]>) {
        let mut random = Random::new(11);
        let (mut text, mut truth) = (b"a;b;c;d\n".to_vec(), Vec::new());
        for row in 0..rows {
            let often = ["", "x", "Zürich", "a longer value"][random.below(4) as usize];
            let quoted = format!("{};\n{}", random.below(3), random.below(50));
            let own = format!("number {row} of {}", random.below(1000));
            text.extend_from_slice(format!("{often};\"{quoted}\";{own};\"never\"\n").as_bytes());
            truth.push([often.to_string(), quoted, own]);
        }
        (text, truth)
    }

    fn read(text: &[u8], forms: [Form; 4], threads: usize) -> Result<(Vec<[String; 3]>, Vec<u64>)> {
        let file = written(text);
        let opened = open(Box::new(std::fs::File::open(&file).unwrap()), &file, None, 1 << 20);
        std::fs::remove_file(&file).unwrap();
        let parts = Parts::new(opened?.0, &forms, text.len() as u64);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            ahead(Batches::parted(parts, &Meter::default()), &Watch::silent(), |batches| {
                let (mut found, mut lines) = (Vec::new(), Vec::new());
                for batch in batches {
                    let batch = batch?;
                    let texts: Vec<Texts> =
                        batch.columns.iter().map(|series| Texts::of(series).unwrap()).collect();
                    found.extend(
                        (0..batch.rows)
                            .map(|row| [0, 1, 2].map(|at| texts[at].get(row).to_string())),
                    );
                    lines.extend((0..batch.rows).map(|row| batch.lines.of(row)));
                    assert!(batch.total.is_some_and(|total| total >= found.len() as u64));
                }
                Ok((found, lines))
            })
        })
    }

    #[test]
    fn columns_are_the_same_in_every_form_and_for_any_number_of_threads() {
        let (text, truth) = table(30_000);
        let lines: Vec<u64> = (0..truth.len() as u64).map(|row| 2 + 2 * row).collect();
        for threads in [1, 2, 5] {
            for form in [Form::Plain, Form::Coded] {
                let found = read(&text, [form, form, form, Form::Skipped], threads).unwrap();
                assert!(found == (truth.clone(), lines.clone()), "{form:?} {threads}");
            }
        }
    }

    /// Fields that are those of the record before are not looked up again; others may look like
    /// them for a while.
    #[test]
    fn sorted_records_are_read_like_others() {
        let values = ["", "a", "ab", "b", "b\"b", "a;b", "a value of some length, and then some"];
        let field = |value: &str| {
            let quoted = value.contains([';', '"']);
            if quoted { format!("\"{}\"", value.replace('"', "\"\"")) } else { value.to_string() }
        };
        let mut random = Random::new(12);
        for (values, ending) in [(&values[..], "\n"), (&values[..4], "\r\n"), (&values[..1], "\n")]
        {
            let mut text = format!("a;b;c;d{ending}").into_bytes();
            let mut truth: Vec<[String; 3]> = Vec::new();
            for _ in 0..20_000 {
                let mut record = truth.last().cloned().unwrap_or_default();
                // The first of three changes seldom, the last often.
                (0..3)
                    .filter(|at| random.below(8 >> at) == 0)
                    .collect::<Vec<_>>()
                    .into_iter()
                    .for_each(|at: usize| {
                        record[at] = values[random.below(values.len() as u64) as usize].to_string();
                    });
                let fields: Vec<String> = record.iter().map(|value| field(value)).collect();
                text.extend_from_slice(
                    format!("{};{}{ending}", fields.join(";"), random.below(3)).as_bytes(),
                );
                truth.push(record);
            }
            for threads in [1, 3] {
                let forms = [Form::Coded, Form::Coded, Form::Coded, Form::Skipped];
                assert!(read(&text, forms, threads).unwrap().0 == truth);
            }
        }
    }

    /// Wide records that begin like those before them, for any number of fields.
    #[test]
    fn repeated_fields_are_counted_as_they_are_one_by_one() {
        let mut random = Random::new(13);
        for width in [1, 2, 3, 17, 200] {
            let mut record: Vec<u64> = vec![0; width];
            let (mut text, mut truth) = (String::new(), vec![0]);
            for row in 0..300 {
                let mut next = record.clone();
                // From some field on others, which may be the same ones by chance.
                let first = random.below(width as u64 + 2) as usize;
                next.iter_mut()
                    .skip(first)
                    .for_each(|value| *value = random.below(3) * random.below(40));
                let alike =
                    record.iter().zip(&next).take_while(|(one, other)| one == other).count();
                truth.extend((row > 0).then_some(alike as u32));
                let fields: Vec<String> = next.iter().map(u64::to_string).collect();
                text += &(fields.join(";") + "\n");
                record = next;
            }
            let (bytes, delimiter, line, is_all) = (text.as_bytes(), b';', 1, true);
            let piece =
                Piece { bytes, delimiter, line, is_all, most: usize::MAX, has_quotes: false };
            let found = Cuts::of(piece, Cuts::default()).repeats(bytes, width);
            assert_eq!(found.expect("a third of the fields are repeated"), truth, "{width}");
        }
    }

    #[test]
    fn what_is_wrong_in_the_middle_of_a_file_is_told_by_its_line_for_any_number_of_threads() {
        let (text, _) = table(30_000);
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        // Two lines are a row.
        let with =
            |row: &[u8]| [&lines[..20_001].concat(), row, &lines[20_001..].concat()].concat();
        for threads in [1, 3] {
            for form in [Form::Plain, Form::Coded] {
                let forms = [form, form, form, Form::Skipped];
                let ragged = read(&with(b"a;b;c\n"), forms, threads).unwrap_err();
                assert!(
                    matches!(&ragged, Error::RaggedRow { place, found: 3, .. } if place.line == Some(20_002))
                );
                let no_text = read(&with(b"a;\xFF;c;d\n"), forms, threads).unwrap_err();
                assert!(no_text.to_string().contains("20002"), "{no_text}");
                assert!(read(&with(b"a;b;c;\xFF\n"), forms, threads).is_ok());
                let open = read(&with(b"a;b;c;\"d\n"), forms, threads).unwrap_err();
                assert!(!matches!(open, Error::Defect), "{open}");
            }
        }
    }
}
