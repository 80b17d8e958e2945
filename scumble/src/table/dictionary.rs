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
    codes: HashTable<u32>,
    empty: Option<u32>,
}

fn hash(value: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(value);
    hasher.finish()
}

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
        let Dictionary { text, ends, codes, .. } = self;
        let at = |code: u32| slice(text, ends, code);
        let hash = hash(value.as_bytes());
        if let Some(code) = codes.find(hash, |&code| at(code) == value) {
            return *code;
        }
        let code = self.push(value, line);
        let Dictionary { text, ends, codes, .. } = self;
        codes.insert_unique(hash, code, |&code| self::hash(slice(text, ends, code).as_bytes()));
        code
    }

    /// The code of a value, if it is known.
    pub fn find(&self, value: &str) -> Option<u32> {
        if value.is_empty() {
            return self.empty;
        }
        let Dictionary { text, ends, codes, .. } = self;
        codes.find(hash(value.as_bytes()), |&code| slice(text, ends, code) == value).copied()
    }

    /// The memory that it takes, about.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * 8 + self.lines.capacity() * 8 + self.codes.capacity() * 5
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

    proptest! {
        #[test]
        fn equal_values_have_equal_codes_and_nothing_else_does(values in prop::collection::vec("[a-c]{0,2}", 0..200)) {
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
