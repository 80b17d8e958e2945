//! The distinct values of a column, numbered in the order of their first appearance.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::Range;

/// Text values, each with a code and the line where it stood first. An empty or null value is one
/// code of its own.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    text: String,
    ends: Vec<usize>,
    lines: Vec<u64>,
    codes: HashTable<(LookupKey, u32)>,
    empty: Option<u32>,
    /// A small cache of recent short values, indexed by their hash.
    recent: Vec<(ShortText, u32)>,
}

/// A value of up to 23 bytes as three numbers; the uppermost byte is its length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortText(u64, u64, u64);

/// Places for values that were met lately, eight for each value or more, and few enough to stay in
/// the nearest cache.
const RECENT: std::ops::RangeInclusive<usize> = 32..=1024;

impl ShortText {
    /// Nothing: no value is so long.
    const NONE: ShortText = ShortText(u64::MAX, u64::MAX, u64::MAX);

    /// For each length, the bytes of the numbers that belong to a value.
    const MASKS: [[u64; 3]; 24] = {
        let mut masks = [[0; 3]; 24];
        let mut length = 1;
        while length < 24 {
            masks[length] = masks[length - 1];
            masks[length][(length - 1) / 8] |= 0xFF << (8 * ((length - 1) % 8));
            length += 1;
        }
        masks
    };

    /// The same for values of at most eight bytes.
    const WORDS: [u64; 9] = {
        let mut words = [0; 9];
        let mut length = 1;
        while length < 9 {
            words[length] = ShortText::MASKS[length][0];
            length += 1;
        }
        words
    };

    /// A value that stands somewhere among bytes; `None` if it is long, or at their very end.
    #[inline]
    pub(crate) fn of(bytes: &[u8], place: &Range<usize>) -> Option<ShortText> {
        let length = place.end.wrapping_sub(place.start);
        let mask = ShortText::MASKS.get(length)?;
        let (words, _) = bytes.get(place.start..place.start + 24)?.as_chunks::<8>();
        let word = |at: usize| u64::from_le_bytes(words[at]) & mask[at];
        Some(ShortText(word(0), word(1), word(2) | (length as u64) << 56))
    }

    /// A value of at most eight bytes, whose other words are known: most values are that short.
    #[inline(always)]
    fn of_one_word(bytes: &[u8], place: &Range<usize>) -> Option<ShortText> {
        let length = place.end.wrapping_sub(place.start);
        let mask = ShortText::WORDS.get(length)?;
        let word = bytes.get(place.start..)?.first_chunk::<8>()?;
        Some(ShortText(u64::from_le_bytes(*word) & mask, 0, (length as u64) << 56))
    }

    /// Where it has its place, of a power of two.
    #[inline]
    fn place(self, places: usize) -> usize {
        let mixed = self.0 ^ self.1.rotate_left(23) ^ self.2.rotate_left(46);
        (mixed.wrapping_mul(ODD) >> 48) as usize & places.wrapping_sub(1)
    }

    #[inline]
    pub(crate) fn is(self, other: ShortText) -> bool {
        (self.0 ^ other.0) | (self.1 ^ other.1) | (self.2 ^ other.2) == 0
    }
}

/// What values are looked up by. Those of up to seven bytes, as most are, are all in their key, so
/// that nothing else is compared; of longer ones it is a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LookupKey(u64);

impl LookupKey {
    /// The key of a value that is not empty.
    #[inline]
    fn of(value: &[u8]) -> LookupKey {
        let length = value.len();
        // Both ends of the value; where they overlap they agree.
        let bytes = match value {
            [byte] => u64::from(*byte),
            [a, b] | [a, b, _] => {
                u64::from(u16::from_le_bytes([*a, *b]))
                    | u64::from(value[length - 1]) << (8 * (length - 1))
            }
            [a, b, c, d, ..] if length < 8 => {
                let mut last = [0; 4];
                last.copy_from_slice(&value[length - 4..]);
                u64::from(u32::from_le_bytes([*a, *b, *c, *d]))
                    | u64::from(u32::from_le_bytes(last)) << (8 * (length - 4))
            }
            _ => {
                let mut hasher = FxHasher::default();
                hasher.write(value);
                return LookupKey(hasher.finish() | LONG);
            }
        };
        LookupKey(bytes | (length as u64) << 56)
    }

    fn is_whole(self) -> bool {
        self.0 & LONG != LONG
    }

    #[inline]
    fn hash(self) -> u64 {
        // The table takes bits from both ends of what it is given.
        let product = u128::from(self.0 ^ ODD) * u128::from(ODD);
        (product >> 64) as u64 ^ product as u64
    }
}

/// Where keys of short values have their length, those of long ones have ones.
const LONG: u64 = 0xFF << 56;

/// The golden ratio times 2^64.
const ODD: u64 = 0x9E37_79B9_7F4A_7C15;

impl Dictionary {
    /// How many distinct values there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether no value has been seen.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The code of a value, new or known. `line` is where it stands now.
    pub fn encode(&mut self, value: &str, line: u64) -> u32 {
        if value.is_empty() {
            return self.encode_empty(line);
        }
        let key = LookupKey::of(value.as_bytes());
        self.find_by(key, value.as_bytes()).unwrap_or_else(|| self.insert(key, value, line))
    }

    /// The same for a value that stands somewhere among bytes; `None` where it is not text. The line
    /// is asked for only if the value was not met lately.
    ///
    /// Always inlined: a call costs a third of what it does for most values.
    #[inline(always)]
    pub fn encode_at(
        &mut self,
        bytes: &[u8],
        place: Range<usize>,
        line: impl FnOnce() -> u64,
    ) -> Option<u32> {
        let met = match ShortText::of_one_word(bytes, &place) {
            Some(short) => self.met_lately(short),
            None => ShortText::of(bytes, &place).and_then(|short| self.met_lately(short)),
        };
        if met.is_some() { met } else { self.meet(bytes, place, line()) }
    }

    /// The code of a value that was met lately.
    #[inline(always)]
    fn met_lately(&self, short: ShortText) -> Option<u32> {
        let (known, code) = self.recent.get(short.place(self.recent.len()))?;
        known.is(short).then_some(*code)
    }

    /// The same for a value that was not met lately.
    #[inline(never)]
    fn meet(&mut self, bytes: &[u8], place: Range<usize>, line: u64) -> Option<u32> {
        let short = ShortText::of(bytes, &place);
        let code = self.encode_bytes(&bytes[place], line)?;
        if let Some(short) = short {
            let places = (8 * self.len()).next_power_of_two().clamp(*RECENT.start(), *RECENT.end());
            if self.recent.len() < places {
                self.recent = vec![(ShortText::NONE, 0); places];
            }
            let place = short.place(self.recent.len());
            self.recent[place] = (short, code);
        }
        Some(code)
    }

    fn encode_bytes(&mut self, value: &[u8], line: u64) -> Option<u32> {
        if value.is_empty() {
            return Some(self.encode_empty(line));
        }
        let key = LookupKey::of(value);
        // What is known is text.
        match self.find_by(key, value) {
            Some(code) => Some(code),
            None => std::str::from_utf8(value).ok().map(|value| self.insert(key, value, line)),
        }
    }

    fn insert(&mut self, key: LookupKey, value: &str, line: u64) -> u32 {
        let code = self.push(value, line);
        self.codes.insert_unique(key.hash(), (key, code), |(key, _)| key.hash());
        code
    }

    /// The code of a value, if it is known.
    pub fn find(&self, value: &str) -> Option<u32> {
        if value.is_empty() {
            return self.empty;
        }
        self.find_by(LookupKey::of(value.as_bytes()), value.as_bytes())
    }

    #[inline]
    fn find_by(&self, key: LookupKey, value: &[u8]) -> Option<u32> {
        let is_it = |(known, code): &(LookupKey, u32)| {
            *known == key && (key.is_whole() || self.bytes_of(*code) == value)
        };
        self.codes.find(key.hash(), is_it).map(|(_, code)| *code)
    }

    /// The memory that it takes, about.
    pub fn bytes(&self) -> usize {
        self.text.capacity()
            + self.ends.capacity() * 8
            + self.lines.capacity() * 8
            + self.codes.allocation_size()
    }

    /// The code of the empty value.
    pub fn encode_empty(&mut self, line: u64) -> u32 {
        match self.empty {
            Some(code) => code,
            None => {
                let code = self.push("", line);
                self.empty = Some(code);
                code
            }
        }
    }

    fn push(&mut self, value: &str, line: u64) -> u32 {
        // A table has fewer than 2^32 rows, which reading enforces, so a code fits.
        let code = self.ends.len() as u32;
        self.text.push_str(value);
        self.ends.push(self.text.len());
        self.lines.push(line);
        code
    }

    /// The value of a code; the empty value is an empty text.
    pub fn value(&self, code: u32) -> &str {
        &self.text[self.place(code)]
    }

    fn bytes_of(&self, code: u32) -> &[u8] {
        &self.text.as_bytes()[self.place(code)]
    }

    fn place(&self, code: u32) -> Range<usize> {
        let code = code as usize;
        let start = if code == 0 { 0 } else { self.ends[code - 1] };
        start..self.ends[code]
    }

    /// The line where a value stood first.
    pub fn line(&self, code: u32) -> u64 {
        self.lines[code as usize]
    }

    /// The values in the order of their codes.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.len()).map(|code| self.value(code as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values of every length, some with the same ends or with zeros.
    #[test]
    fn short_values_have_keys_of_their_own() {
        let mut random = crate::random::Random::new(3);
        let mut known = std::collections::HashMap::new();
        for _ in 0..50_000 {
            let length = random.between(1, 9) as usize;
            let value: Vec<u8> =
                (0..length).map(|_| [0, 1, b'a', 0x7F][random.below(4) as usize]).collect();
            let key = LookupKey::of(&value);
            assert_eq!(key.is_whole(), length < 8);
            let first = known.entry(key.0).or_insert_with(|| value.clone());
            assert!(*first == value || length >= 8, "{first:?} and {value:?}");
        }
    }

    #[test]
    fn values_among_others_have_the_codes_that_they_have_alone() {
        let mut random = crate::random::Random::new(5);
        let pieces: [&[u8]; 40] = std::array::from_fn(|piece| match piece {
            0 => &b"\xFF"[..],
            1 => "é".as_bytes(),
            piece => [&b"\0"[..], b"a", b"b"][piece % 3],
        });
        let bytes: Vec<u8> =
            (0..4000).flat_map(|_| pieces[random.below(40) as usize]).copied().collect();
        let (mut among, mut alone) = (Dictionary::default(), Dictionary::default());
        let mut texts = 0;
        for line in 0..60_000 {
            let start = random.below(bytes.len() as u64 + 1) as usize;
            let end = bytes.len().min(start + random.below(30) as usize);
            let value = std::str::from_utf8(&bytes[start..end]).ok();
            texts += u64::from(value.is_some());
            assert_eq!(
                among.encode_at(&bytes, start..end, || line),
                value.map(|value| alone.encode(value, line))
            );
        }
        assert!(texts > 10_000 && among.values().eq(alone.values()));
    }

    proptest! {
        #[test]
        fn equal_values_have_equal_codes_and_nothing_else_does(values in prop::collection::vec("[a-c]{0,2}|[ab]{6,9}", 0..200)) {
            let mut dictionary = Dictionary::default();
            let codes: Vec<u32> = (1..).zip(&values).map(|(line, value)| dictionary.encode(value, line)).collect();
            for (i, code) in codes.iter().enumerate() {
                prop_assert_eq!(dictionary.value(*code), &values[i]);
                let first = values.iter().position(|value| value == &values[i]).unwrap();
                prop_assert_eq!(codes[first], *code);
                prop_assert_eq!(dictionary.line(*code), first as u64 + 1);
            }
        }
    }
}
