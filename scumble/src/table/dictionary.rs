//! The distinct values of a column, numbered in the order of their first appearance.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Text values, each with a code and the line where it stood first. An empty or null value is one code of its own.
#[derive(Debug, Default)]
pub struct Dictionary {
    text: String,
    ends: Vec<usize>,
    lines: Vec<u64>,
    codes: HashTable<(Key, u32)>,
    empty: Option<u32>,
}

/// What values are looked up by. Those of up to seven bytes, as most are, are all in their key, so that nothing else is
/// compared; of longer ones it is a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key(u64);

impl Key {
    /// The key of a value that is not empty.
    #[inline]
    fn of(value: &[u8]) -> Key {
        let length = value.len();
        // Both ends of the value; where they overlap they agree.
        let bytes = match value {
            [byte] => u64::from(*byte),
            [a, b] | [a, b, _] => {
                u64::from(u16::from_le_bytes([*a, *b])) | u64::from(value[length - 1]) << (8 * (length - 1))
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
                return Key(hasher.finish() | LONG);
            }
        };
        Key(bytes | (length as u64) << 56)
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
        let key = Key::of(value.as_bytes());
        if let Some(code) = self.find_by(key, value) {
            return code;
        }
        let code = self.push(value, line);
        self.codes.insert_unique(key.hash(), (key, code), |(key, _)| key.hash());
        code
    }

    /// The code of a value, if it is known.
    pub fn find(&self, value: &str) -> Option<u32> {
        if value.is_empty() {
            return self.empty;
        }
        self.find_by(Key::of(value.as_bytes()), value)
    }

    #[inline]
    fn find_by(&self, key: Key, value: &str) -> Option<u32> {
        let is_it = |(known, code): &(Key, u32)| *known == key && (key.is_whole() || self.value(*code) == value);
        self.codes.find(key.hash(), is_it).map(|(_, code)| *code)
    }

    /// The memory that it takes, about.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 8 + self.lines.capacity() * 8 + self.codes.allocation_size()
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
        slice(&self.text, &self.ends, code)
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

fn slice<'a>(text: &'a str, ends: &[usize], code: u32) -> &'a str {
    let code = code as usize;
    let start = if code == 0 { 0 } else { ends[code - 1] };
    &text[start..ends[code]]
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
            let value: Vec<u8> = (0..length).map(|_| [0, 1, b'a', 0x7F][random.below(4) as usize]).collect();
            let key = Key::of(&value);
            assert_eq!(key.is_whole(), length < 8);
            let first = known.entry(key.0).or_insert_with(|| value.clone());
            assert!(*first == value || length >= 8, "{first:?} and {value:?}");
        }
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
