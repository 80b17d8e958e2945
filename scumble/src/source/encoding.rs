//! Text in any encoding, as UTF-8.
//!
//! Nothing in a CSV file says how its text is encoded. A byte-order mark is certain. Without one,
//! UTF-16 shows in its zero bytes, because delimiters, digits and line breaks have one each. All
//! other text begins as ASCII, and is decided where the first byte occurs that is not: from there,
//! 64 KiB either are UTF-8 or they are not, and then they are taken for Windows-1252, which has
//! Latin-1 in it and is what spreadsheets of Western Europe write. This is a guess, so it is noted.
//! Damaged UTF-8 has more characters that are whole than ones that are not, and bytes that
//! Windows-1252 does not have are not guessed to be text: both stay UTF-8, and are refused where
//! they are read.
//!
//! The window depends on the bytes alone, not on how they arrive, so that two scans agree. Until
//! it is reached, bytes are only looked at to see that they are ASCII, and UTF-8 is passed on as
//! it is.

use crate::error::{Error, Place, Result};
use crate::watch::Watch;
use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Bytes that decide the encoding.
const WINDOW: usize = 1 << 16;

/// The bytes of the longest byte-order mark.
const MARK: usize = 4;

/// Of so many UTF-16 characters of a table, one at least is ASCII.
const ONE_OF: usize = 4;

/// The encoding of this name or alias.
pub(super) fn by_name(name: &str) -> Result<&'static Encoding> {
    let known = Encoding::for_label(name.as_bytes());
    // The standard has a name for text that nobody should decode.
    known.filter(|encoding| encoding.name() != "replacement").ok_or_else(|| Error::BadParameter {
        place: None,
        key: "encoding".into(),
        value: name.into(),
        expected: "the name of an encoding, such as utf-8, utf-16le, windows-1252 or iso-8859-15"
            .into(),
    })
}

/// How the encoding of a file is found.
pub(super) enum Wanted {
    /// It is given.
    Given(&'static Encoding),
    /// From the bytes; guesses are noted.
    Detected(Watch),
    /// UTF-8, unless a byte-order mark says UTF-16.
    Marked,
}

/// Bytes that the given encoding does not have.
#[derive(Debug)]
struct Malformed(String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

/// A file as UTF-8. A byte-order mark of UTF-8 stays.
pub(super) struct Decoded {
    name: PathBuf,
    file: Box<dyn Read + Send>,
    wanted: Wanted,
    state: State,
    /// Bytes to be handed over, from `next` on.
    pending: Vec<u8>,
    next: usize,
}

enum State {
    /// Nothing was read.
    New,
    /// All ASCII.
    Undecided,
    /// The rest is handed over as it is.
    Utf8,
    Other(Box<Foreign>),
}

/// The rest of a file in another encoding.
struct Foreign {
    decoder: Decoder,
    /// Bytes that were read and not decoded.
    raw: Vec<u8>,
    ended: bool,
    /// What follows is malformed.
    is_broken: bool,
}

/// Reads up to so many bytes more; whether the file has ended.
fn fill(file: &mut dyn Read, bytes: &mut Vec<u8>, most: usize) -> io::Result<bool> {
    let (mut filled, wanted) = (bytes.len(), bytes.len() + most);
    bytes.resize(wanted, 0);
    while filled < wanted {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(filled < wanted)
}

fn malformed(what: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, Malformed(what.into()))
}

/// What an error of a reader means that has read up to this line of a file.
pub(super) fn failed(error: io::Error, file: &Path, line: u64) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Malformed>()) {
        Some(malformed) => {
            let problem = format!("{malformed}; set the encoding, or convert the file to UTF-8");
            Error::BadRecord { place: Place::file(file).line(line), problem }
        }
        None => Error::io(file, "read")(error),
    }
}

impl Decoded {
    /// Reads a file that messages call `name`.
    pub(super) fn new(file: Box<dyn Read + Send>, name: &Path, wanted: Wanted) -> Decoded {
        let name = name.to_path_buf();
        Decoded { name, file, wanted, state: State::New, pending: Vec::new(), next: 0 }
    }

    /// Goes on in this encoding with what is pending.
    fn go_on(&mut self, encoding: &'static Encoding) {
        if encoding == UTF_8 {
            self.state = State::Utf8;
            return;
        }
        let raw = self.pending.split_off(self.next);
        (self.pending, self.next) = (Vec::new(), 0);
        let decoder = encoding.new_decoder_with_bom_removal();
        self.state =
            State::Other(Box::new(Foreign { decoder, raw, ended: false, is_broken: false }));
    }

    /// Looks at the start of the file.
    fn begin(&mut self) -> io::Result<()> {
        let looked_at = if matches!(self.wanted, Wanted::Detected(_)) { WINDOW } else { MARK };
        fill(&mut *self.file, &mut self.pending, looked_at)?;
        if self.pending.starts_with(&[0xFF, 0xFE, 0, 0]) {
            return Err(malformed("the file is UTF-32, which is not supported"));
        }
        let marked = Encoding::for_bom(&self.pending).map(|(encoding, _)| encoding);
        match (&self.wanted, marked) {
            (Wanted::Given(given), Some(marked)) if *given != marked => {
                let (given, marked) = (given.name(), marked.name());
                return Err(malformed(format!(
                    "the file begins with the byte-order mark of {marked} and is not {given}"
                )));
            }
            (Wanted::Given(encoding), None) => self.go_on(encoding),
            (_, Some(encoding)) => self.go_on(encoding),
            (Wanted::Marked, None) => self.state = State::Utf8,
            (Wanted::Detected(watch), None) => match utf_16(&self.pending) {
                Some(encoding) => {
                    watch.note(note(&self.name, encoding, "every other byte of its start is zero"));
                    self.go_on(encoding)
                }
                None => self.state = State::Undecided,
            },
        }
        Ok(())
    }

    /// Reads what may be ASCII to its end. `None` if the encoding was decided.
    fn read_ascii(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        if self.next == self.pending.len() {
            // Straight into the buffer: most files are ASCII, or are decided early.
            let read = self.file.read(buffer)?;
            let ascii = ascii(&buffer[..read]);
            (self.pending, self.next) = (buffer[ascii..read].to_vec(), 0);
            if ascii > 0 || read == 0 {
                return Ok(Some(ascii));
            }
        }
        let ascii = ascii(&self.pending[self.next..]);
        if ascii > 0 {
            return Ok(Some(self.hand_over(buffer, ascii)));
        }
        self.pending.drain(..std::mem::take(&mut self.next));
        let more = WINDOW.saturating_sub(self.pending.len());
        let ended = fill(&mut *self.file, &mut self.pending, more)?;
        let window = &self.pending[..self.pending.len().min(WINDOW)];
        match &self.wanted {
            Wanted::Detected(watch) if is_windows_1252(window, ended) => {
                watch.note(note(&self.name, WINDOWS_1252, "it is not UTF-8"));
                self.go_on(WINDOWS_1252);
            }
            _ => self.state = State::Utf8,
        }
        Ok(None)
    }

    /// Hands over pending bytes.
    fn hand_over(&mut self, buffer: &mut [u8], most: usize) -> usize {
        let pending = &self.pending[self.next..];
        let bytes = pending.len().min(buffer.len()).min(most);
        buffer[..bytes].copy_from_slice(&pending[..bytes]);
        self.next += bytes;
        bytes
    }
}

impl Foreign {
    /// Decodes some more bytes; nothing at the end.
    fn decode(&mut self, file: &mut dyn Read, decoded: &mut Vec<u8>) -> io::Result<()> {
        decoded.clear();
        while decoded.is_empty() && !self.ended {
            if self.is_broken {
                let encoding = self.decoder.encoding().name();
                return Err(malformed(format!("the bytes are not valid {encoding}")));
            }
            let is_last = fill(file, &mut self.raw, WINDOW)?;
            let most = self.decoder.max_utf8_buffer_length_without_replacement(self.raw.len());
            decoded.resize(most.unwrap_or(4 * self.raw.len() + 16), 0);
            let (result, read, written) =
                self.decoder.decode_to_utf8_without_replacement(&self.raw, decoded, is_last);
            decoded.truncate(written);
            self.raw.drain(..read);
            // What is before a fault is handed over first, so that its line is known.
            self.is_broken = matches!(result, DecoderResult::Malformed(..));
            self.ended = is_last && result == DecoderResult::InputEmpty;
        }
        Ok(())
    }
}

impl Read for Decoded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.state {
                State::New => self.begin()?,
                State::Undecided => {
                    if let Some(read) = self.read_ascii(buffer)? {
                        return Ok(read);
                    }
                }
                _ if self.next < self.pending.len() => {
                    return Ok(self.hand_over(buffer, usize::MAX));
                }
                State::Utf8 => return self.file.read(buffer),
                State::Other(foreign) => {
                    self.next = 0;
                    foreign.decode(&mut *self.file, &mut self.pending)?;
                    if self.pending.is_empty() {
                        return Ok(0);
                    }
                }
            }
        }
    }
}

/// How many bytes at the start are ASCII. Most files are, and the standard library looks at many
/// bytes at a time.
fn ascii(bytes: &[u8]) -> usize {
    if bytes.is_ascii() {
        return bytes.len();
    }
    bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(bytes.len())
}

fn note(name: &Path, encoding: &'static Encoding, why: &str) -> String {
    let (name, encoding) = (name.display(), encoding.name());
    format!("{name}: read as {encoding}, because {why}; set the encoding if that is wrong")
}

/// The byte order of UTF-16 without a mark, if the start of a file looks like it: zero bytes in
/// one half of the characters only, and in many.
fn utf_16(start: &[u8]) -> Option<&'static Encoding> {
    // Most files have none, and the standard library looks at many bytes at a time.
    if !start.contains(&0) {
        return None;
    }
    let pairs = start.as_chunks::<2>().0;
    let zeros = |at: usize| pairs.iter().filter(|pair| pair[at] == 0).count();
    let (high, low) = (zeros(0), zeros(1));
    match () {
        () if pairs.len() < 2 => None,
        () if ONE_OF * low >= pairs.len() && ONE_OF * high < low => Some(UTF_16LE),
        () if ONE_OF * high >= pairs.len() && ONE_OF * low < high => Some(UTF_16BE),
        () => None,
    }
}

/// Whether bytes are Windows-1252 rather than UTF-8 or no text.
fn is_windows_1252(bytes: &[u8], is_all: bool) -> bool {
    let (mut whole, mut broken, mut rest) = (0, 0, bytes);
    let letters = |text: &[u8]| text.iter().filter(|byte| **byte >= 0xC0).count();
    while let Err(error) = std::str::from_utf8(rest) {
        whole += letters(&rest[..error.valid_up_to()]);
        let Some(length) = error.error_len() else {
            // The window may end in the middle of a character.
            broken += usize::from(is_all);
            rest = &[];
            break;
        };
        broken += 1;
        rest = &rest[error.valid_up_to() + length..];
    }
    whole += letters(rest);
    let is_text = |byte: &u8| !matches!(byte, 0..=8 | 0x81 | 0x8D | 0x8F | 0x90 | 0x9D);
    broken > whole && bytes.iter().all(is_text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A reader that hands over any number of bytes at a time.
    struct Pieces(Vec<u8>, usize, Random);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let left = &self.0[self.1..];
            let scale = [3, 1000, 100_000][self.2.below(3) as usize];
            let most = 1 + self.2.below(scale) as usize;
            let bytes = left.len().min(buffer.len()).min(most);
            buffer[..bytes].copy_from_slice(&left[..bytes]);
            self.1 += bytes;
            Ok(bytes)
        }
    }

    /// What comes out of bytes, and the encoding that was noted.
    fn decoded(bytes: &[u8], wanted: Option<&str>, seed: u64) -> (Result<String, String>, String) {
        let watch = Watch::silent();
        let wanted = match wanted {
            Some(name) => Wanted::Given(by_name(name).unwrap()),
            None => Wanted::Detected(watch.clone()),
        };
        let mut random = Random::new(seed);
        let step = 1 + random.below(100_000) as usize;
        let pieces = Box::new(Pieces(bytes.to_vec(), 0, random));
        let mut file = Decoded::new(pieces, Path::new("a.csv"), wanted);
        let (mut all, mut buffer) = (Vec::new(), vec![0; step]);
        let read = loop {
            match file.read(&mut buffer) {
                Ok(0) => break Ok(()),
                Ok(read) => all.extend_from_slice(&buffer[..read]),
                Err(error) => break Err(error.to_string()),
            }
        };
        let text = read.and_then(|()| String::from_utf8(all).map_err(|error| error.to_string()));
        (text, watch.notes().concat())
    }

    fn utf_16(text: &str, is_big: bool) -> Vec<u8> {
        let bytes = |unit: u16| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn the_text_is_the_same_in_every_encoding_and_however_it_arrives() {
        let line = "Jürgen;Größe;5,7;x\n";
        for before in [0, 1, 60_000, 65_520, 65_536, 200_000] {
            let text = format!("{}{}", "a;b\n".repeat(before / 4), line.repeat(30));
            let latin: Vec<u8> = text.chars().map(|letter| letter as u32 as u8).collect();
            for seed in 0..6 {
                let (utf_8, note) = decoded(text.as_bytes(), None, seed);
                assert!(utf_8 == Ok(text.clone()) && note.is_empty(), "{before} {note}");
                let (read, note) = decoded(&latin, None, seed);
                assert!(read == Ok(text.clone()) && note.contains("windows-1252"), "{before}");
                for (is_big, name) in [(false, "UTF-16LE"), (true, "UTF-16BE")] {
                    let (read, note) = decoded(&utf_16(&text, is_big), None, seed);
                    assert!(read == Ok(text.clone()) && note.contains(name), "{before} {name}");
                    let marked = utf_16(&format!("\u{feff}{text}"), is_big);
                    let (read, note) = decoded(&marked, None, seed);
                    assert!(read == Ok(text.clone()) && note.is_empty(), "{before} {name}");
                    let (read, _) = decoded(&utf_16(&text, is_big), Some(name), seed);
                    assert!(read == Ok(text.clone()), "{before} {name}");
                }
            }
        }
    }

    #[test]
    fn only_what_can_be_windows_1252_is_taken_for_it() {
        let is = |bytes: &[u8]| is_windows_1252(bytes, true);
        assert!(is(b"gr\xFC\xDFe") && is(b"\x80 12") && is(b"caf\xE9"));
        // Nothing is wrong with it; no encoding has these; damaged UTF-8; a cut character.
        assert!(!is("grüße".as_bytes()) && !is(b"\x81") && !is(b"\xE9\0"));
        assert!(!is("grü\u{df}e x\u{e9} \u{fffd}".as_bytes()) && !is(b"\xC3\xA9\xFC"));
        assert!(!is_windows_1252(b"gr\xC3", false) && is_windows_1252(b"gr\xC3", true));
    }

    #[test]
    fn malformed_text_comes_after_what_is_before_it() {
        let mut bytes = utf_16("a\nb\nc\n", false);
        bytes[8..10].copy_from_slice(&0xDC00u16.to_le_bytes());
        for seed in 0..9 {
            let mut file = Decoded::new(
                Box::new(Pieces(bytes.clone(), 0, Random::new(seed))),
                Path::new("a.csv"),
                Wanted::Given(UTF_16LE),
            );
            let mut text = String::new();
            let error = file.read_to_string(&mut text).unwrap_err();
            let error = failed(error, Path::new("a.csv"), 3).to_string();
            assert!(error.starts_with("a.csv:3: ") && error.contains("UTF-16LE"), "{error}");
        }
        let (read, _) = decoded(&[0x82, 0xA0, 0x82], Some("shift_jis"), 1);
        assert!(read.is_err_and(|error| error.contains("Shift_JIS")));
        assert!(by_name("replacement").is_err() && by_name("").is_err());
    }
}
