//! The parts of a workbook, looked at before they are parsed.
//!
//! A workbook is a zip archive of XML. The parser keeps shared texts and styles in memory and trusts
//! the count of texts that the file claims, and a few kilobytes can unpack to many gigabytes. So
//! every part is unpacked once, piece by piece, to see how long it really is. Tags and texts are told
//! apart as the parser does, because it keeps each of them as a whole.

use std::io::{self, Read, Seek};
use zip::ZipArchive;
use zip::result::ZipError;

/// What a workbook needs.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Bytes of memory for what the parser keeps, more or less.
    pub(super) memory: u64,
    /// The longest tag or text.
    pub(super) longest: u64,
    /// More texts are claimed than the file can have.
    pub(super) is_damaged: bool,
    /// Cells with a formula and no value.
    pub(super) formulas_without_values: u64,
}

/// Bytes of memory that a tag may lead to, in parts that are kept.
const OF_SHARED_TEXTS: u64 = 48;
const OF_OTHERS: u64 = 256;

/// Bytes that are unpacked at a time.
const STEP: usize = 1 << 16;

/// Looks at all parts; `go_on` is asked now and then.
pub(super) fn needs<R: Read + Seek>(
    file: R,
    mut go_on: impl FnMut() -> io::Result<()>,
) -> Result<Needs, ZipError> {
    let mut archive = ZipArchive::new(file)?;
    let mut needs = Needs::default();
    let mut bytes = vec![0; STEP];
    for at in 0..archive.len() {
        let mut part = archive.by_index(at)?;
        let name = part.name()?.to_ascii_lowercase();
        let (mut lexer, mut length) = (Lexer::default(), 0u64);
        loop {
            go_on()?;
            match part.read(&mut bytes)? {
                0 => break,
                read => {
                    length += read as u64;
                    lexer.read(&bytes[..read]);
                }
            }
        }
        // Pictures are no XML, and nobody reads them.
        if !lexer.is_xml {
            continue;
        }
        let of_tag = match () {
            () if name.ends_with("sharedstrings.xml") => OF_SHARED_TEXTS,
            // Cells are read one by one.
            () if name.contains("worksheets/") => 0,
            () => OF_OTHERS,
        };
        let kept = if of_tag == 0 { 0 } else { length };
        needs.memory = needs.memory.saturating_add(kept + of_tag * lexer.tags);
        needs.longest = needs.longest.max(lexer.longest.max(lexer.piece));
        // Each text has a tag.
        needs.is_damaged |= lexer.claimed > lexer.tags;
        needs.formulas_without_values += lexer.formulas_without_values;
    }
    Ok(needs)
}

/// Tells tags and texts apart.
#[derive(Default)]
struct Lexer {
    place: InXml,
    /// Whether the first character that is not blank opens a tag.
    is_xml: bool,
    has_begun: bool,
    tags: u64,
    /// Bytes of the tag or text so far, and of the longest one.
    piece: u64,
    longest: u64,
    /// The start of the tag.
    start: Vec<u8>,
    /// The largest number of texts that is claimed.
    claimed: u64,
    /// The formula of a cell has ended, and no value came.
    has_formula: bool,
    formulas_without_values: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum InXml {
    #[default]
    Text,
    Tag,
    /// A value of an attribute, in these quotes.
    Quotes(u8),
}

/// Bytes of a tag that are looked at. The tag of shared texts has two short numbers.
const SHORT: usize = 1 << 9;

impl Lexer {
    fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.piece += 1;
            match (self.place, *byte) {
                (InXml::Text, b'<') => {
                    self.is_xml |= !self.has_begun;
                    self.has_begun = true;
                    self.end_text();
                    self.place = InXml::Tag;
                    self.start.clear();
                }
                (InXml::Text, byte) => {
                    // A byte-order mark may come before.
                    let is_blank = byte.is_ascii_whitespace() || byte >= 0x80;
                    self.has_begun |= !is_blank;
                }
                (InXml::Tag, b'>') => {
                    let long = match &self.start[..] {
                        [b'!', b'-', ..] => Some(b'-'),
                        [b'!', b'[', ..] => Some(b']'),
                        _ => None,
                    };
                    // Comments and character data end with two signs of their own, which are not
                    // those that they begin with.
                    let ends = |sign| self.start.len() >= 5 && self.start.ends_with(&[sign, sign]);
                    if long.is_none_or(ends) {
                        self.end_tag();
                        self.place = InXml::Text;
                    } else {
                        self.push(b'>');
                    }
                }
                (InXml::Tag, quote @ (b'"' | b'\'')) => {
                    self.push(quote);
                    if self.start.first() != Some(&b'!') {
                        self.place = InXml::Quotes(quote);
                    }
                }
                (InXml::Quotes(quote), byte) if byte == quote => {
                    self.push(byte);
                    self.place = InXml::Tag;
                }
                (_, byte) => self.push(byte),
            }
        }
    }

    /// Keeps the start of a tag, and its last two bytes.
    fn push(&mut self, byte: u8) {
        if self.start.len() == SHORT {
            self.start.remove(SHORT - 2);
        }
        self.start.push(byte);
    }

    fn end_text(&mut self) {
        // The sign that opens the next tag is counted.
        let text = self.piece - 1;
        self.has_formula &= text == 0;
        self.longest = self.longest.max(text);
        self.piece = 1;
    }

    fn end_tag(&mut self) {
        self.tags += 1;
        self.longest = self.longest.max(std::mem::take(&mut self.piece));
        self.claimed = self.claimed.max(claimed(&self.start));
        let name = self.start.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        let ends_itself = self.start.ends_with(b"/");
        let local = name.rsplit(|byte| *byte == b':').next().unwrap_or_default();
        let local = local.strip_suffix(b"/").unwrap_or(local);
        let is_end = name.starts_with(b"/");
        match local.strip_prefix(b"/").unwrap_or(local) {
            b"f" => self.has_formula = is_end || ends_itself,
            b"v" => {}
            b"c" if is_end => {
                self.formulas_without_values += u64::from(std::mem::take(&mut self.has_formula));
            }
            _ => self.has_formula = false,
        }
    }
}

/// The number of texts that a tag claims.
fn claimed(tag: &[u8]) -> u64 {
    const NAME: &[u8] = b"uniqueCount";
    let mut most = 0;
    for at in 0..tag.len().saturating_sub(NAME.len()) {
        if tag[at..].starts_with(NAME) {
            let rest = &tag[at + NAME.len()..];
            let digits = rest.iter().skip_while(|byte| !byte.is_ascii_digit());
            let digits = digits.take_while(|byte| byte.is_ascii_digit());
            let number = digits.fold(0u64, |number, digit| {
                number.saturating_mul(10).saturating_add(u64::from(digit - b'0'))
            });
            most = most.max(number);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexed(xml: &str) -> Lexer {
        let mut lexer = Lexer::default();
        // In pieces, as it is unpacked.
        xml.as_bytes().chunks(3).for_each(|bytes| lexer.read(bytes));
        lexer
    }

    #[test]
    fn tags_and_texts_are_measured_as_the_parser_keeps_them() {
        let plain = lexed("<?xml?>\n<sst uniqueCount=\"2\"><si><t>abc</t></si><si/></sst>");
        assert!(plain.is_xml && plain.tags == 8 && plain.claimed == 2, "{}", plain.tags);
        assert_eq!(plain.longest, "<sst uniqueCount=\"2\">".len() as u64);
        for long in ["<a>{}</a>", "<a b=\"{}\"/>", "<!--{}-->", "<![CDATA[{}]]>", "<a {}>"] {
            for inside in ["x", "><", "/>", ">", "->", "]>", "--x>"] {
                let inside = inside.repeat(1000);
                // Outside of quotes and signs of their own, a tag ends with the first one.
                let is_split = long.starts_with("<a>") || long.starts_with("<a {");
                if is_split && inside.contains('>') {
                    continue;
                }
                let found = lexed(&long.replace("{}", &inside));
                assert!(found.longest >= inside.len() as u64, "{long} {}", found.longest);
            }
        }
        assert!(!lexed("\u{89}PNG<a>").is_xml && lexed("\u{feff} <a>").is_xml);
        assert!(lexed("<sst uniqueCount='99999999999999999999999'>").claimed == u64::MAX);
    }

    #[test]
    fn formulas_without_values_are_counted() {
        let count = |cells: &str| lexed(cells).formulas_without_values;
        assert_eq!(count("<c><f>A1</f><v></v></c><c><f>A1</f></c><c><f/><v/></c>"), 3);
        assert_eq!(count("<c><f>A1</f><v>7</v></c><c><v>7</v></c><c/><c></c>"), 0);
        assert_eq!(count("<c><f>A1</f><v>7</v></c><x:c><x:f>A1</x:f><x:v></x:v></x:c>"), 1);
    }
}
