//! Tuples of codes packed into words.
//!
//! Each column has a bit field, wide enough for its codes. No field crosses the end of a word.

/// Where the code of a column stands in a packed tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The number of its word.
    pub word: usize,
    /// The number of bits below it.
    pub shift: u32,
    /// The largest code that fits.
    pub mask: u32,
}

impl Field {
    /// The code in a packed tuple.
    #[inline]
    pub fn get(self, words: &[u64]) -> u32 {
        (words[self.word] >> self.shift) as u32 & self.mask
    }

    /// Puts a code where there are zeros.
    #[inline]
    pub fn put(self, words: &mut [u64], code: u32) {
        words[self.word] |= u64::from(code) << self.shift;
    }
}

/// The bit fields of all columns.
#[derive(Clone, Debug)]
pub struct Packing {
    fields: Vec<Field>,
    words: usize,
}

impl Packing {
    /// For columns with so many codes each.
    pub fn new(codes: impl IntoIterator<Item = u32>) -> Packing {
        let (mut word, mut shift) = (0, 0);
        let mut fields = Vec::new();
        for codes in codes {
            // A bit also for a column of one value: no field begins behind the end of a word.
            let bits = (u32::BITS - codes.saturating_sub(1).leading_zeros()).max(1);
            if shift + bits > u64::BITS {
                (word, shift) = (word + 1, 0);
            }
            fields.push(Field { word, shift, mask: u32::MAX >> (u32::BITS - bits) });
            shift += bits;
        }
        Packing { fields, words: word + 1 }
    }

    /// The field of each column.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Words of a tuple.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Whether all fields lie in the first 32 bits.
    pub fn is_half(&self) -> bool {
        let end = |field: &Field| field.shift + (u32::BITS - field.mask.leading_zeros());
        self.words == 1 && self.fields.last().is_none_or(|field| end(field) <= u32::BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn codes_come_back() {
        let mut random = Random::new(5);
        for columns in 0..40 {
            let codes = |random: &mut Random| match random.below(3) {
                0 => 1,
                1 => 1 + random.below(9) as u32,
                _ => 1 + random.below(u64::from(u32::MAX)) as u32,
            };
            let codes: Vec<u32> = (0..columns).map(|_| codes(&mut random)).collect();
            let packing = Packing::new(codes.iter().copied());
            for _ in 0..50 {
                let tuple: Vec<u32> =
                    codes.iter().map(|codes| random.below(u64::from(*codes)) as u32).collect();
                let mut words = vec![0; packing.words()];
                let fields = packing.fields().iter().zip(&tuple);
                fields.for_each(|(field, code)| field.put(&mut words, *code));
                let found: Vec<u32> =
                    packing.fields().iter().map(|field| field.get(&words)).collect();
                assert_eq!(found, tuple);
                assert!(!packing.is_half() || words[0] <= u64::from(u32::MAX));
            }
        }
    }
}
