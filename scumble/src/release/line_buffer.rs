//! Lines in the making, with fields that are copied instead of formatted.

use crate::table::{SHORT_WHOLE, push_decimal, short_whole};

/// Lines in the making.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer {
    /// Longer than what is said so far: short texts are copied with what stands behind them, which
    /// is quicker than to copy a number of bytes that is only known now.
    room: Vec<u8>,
    length: usize,
}

impl LineBuffer {
    /// What is said so far.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.room[..self.length]
    }

    /// Says nothing any more; the room stays.
    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }

    /// Room for so many bytes more. Like all that is said a hundred million times it is part of
    /// whoever calls it, so that the length is not stored and loaded again for each field.
    #[inline(always)]
    fn room(&mut self, bytes: usize) -> &mut [u8] {
        let end = self.length + bytes;
        if end > self.room.len() {
            grow(&mut self.room, end);
        }
        &mut self.room[self.length..end]
    }

    /// Says the first `length` of some bytes.
    #[inline(always)]
    pub(crate) fn push_first<const N: usize>(&mut self, all: &[u8; N], length: usize) {
        self.room(N).copy_from_slice(all);
        self.length += length;
    }

    pub(crate) fn push(&mut self, text: &[u8]) {
        self.room(text.len()).copy_from_slice(text);
        self.length += text.len();
    }

    #[inline(always)]
    pub(crate) fn push_byte(&mut self, byte: u8) {
        self.push_first(&[byte], 1);
    }

    /// Says a number of units of 10^-scale in the shortest way.
    #[inline(always)]
    pub(crate) fn push_decimal(&mut self, units: i64, scale: u32) {
        if scale == 0 && (0..SHORT_WHOLE as i64).contains(&units) {
            let (digits, length) = short_whole(units as u64);
            return self.push_first(&digits, length);
        }
        self.push_other(units, scale);
    }

    #[inline(never)]
    fn push_other(&mut self, units: i64, scale: u32) {
        let mut text = Vec::with_capacity(24);
        push_decimal(&mut text, units, scale);
        self.push(&text);
    }

    /// Says again what was said from `start` on, so many bytes of it.
    #[inline(always)]
    pub(crate) fn push_again(&mut self, start: usize, bytes: usize) {
        self.room(bytes);
        self.room.copy_within(start..start + bytes, self.length);
        self.length += bytes;
    }
}

/// Growth is rare once pages are used again.
#[cold]
fn grow(room: &mut Vec<u8>, least: usize) {
    room.resize(least.max(2 * room.len()).max(1 << 16), 0);
}

/// Texts as fields of a line, with what stands around them: each is made once and copied as often
/// as it occurs, those shorter than `N` bytes in one piece.
#[derive(Debug)]
pub(crate) struct Fields<const N: usize> {
    /// Short fields with their length in the last byte; of others, which of the long ones it is.
    pieces: Vec<[u8; N]>,
    long: Vec<Vec<u8>>,
}

/// In the place of the length: the field is a long one.
const LONG: u8 = u8::MAX;

impl<const N: usize> Fields<N> {
    /// `make` says a text as a field.
    pub(crate) fn new<T>(
        texts: impl Iterator<Item = T>,
        make: impl Fn(&mut Vec<u8>, T),
    ) -> Fields<N> {
        let mut fields = Fields { pieces: Vec::new(), long: Vec::new() };
        let mut field = Vec::new();
        for text in texts {
            field.clear();
            make(&mut field, text);
            let mut piece = [0; N];
            if field.len() < N {
                piece[..field.len()].copy_from_slice(&field);
                piece[N - 1] = field.len() as u8;
            } else {
                piece[..8].copy_from_slice(&(fields.long.len() as u64).to_le_bytes());
                piece[N - 1] = LONG;
                fields.long.push(field.clone());
            }
            fields.pieces.push(piece);
        }
        fields
    }

    #[inline(always)]
    pub(crate) fn push(&self, page: &mut LineBuffer, at: u32) {
        let piece = &self.pieces[at as usize];
        match piece[N - 1] {
            LONG => page.push(self.long(piece)),
            length => page.push_first(piece, length.into()),
        }
    }

    fn long(&self, piece: &[u8; N]) -> &[u8] {
        let mut at = [0; 8];
        at.copy_from_slice(&piece[..8]);
        &self.long[u64::from_le_bytes(at) as usize]
    }
}

/// A field of a CSV line, behind a delimiter unless it is the first, quoted where it must be.
pub(crate) fn push_field(line: &mut Vec<u8>, text: &str, position: usize, delimiter: u8) {
    if position > 0 {
        line.push(delimiter);
    }
    let special = |byte: u8| byte == delimiter || byte == b'"' || byte == b'\n' || byte == b'\r';
    if !text.bytes().any(special) {
        line.extend_from_slice(text.as_bytes());
        return;
    }
    line.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            line.push(b'"');
        }
        line.push(byte);
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_what_was_put_in() {
        let texts = [
            "",
            "a",
            "a,b",
            "123456789012345",
            "1234567890123",
            "12345678901234",
            "\"",
            "a text of some length",
        ];
        for position in [0, 1] {
            for after in ["", "\n"] {
                let fields: Fields<16> = Fields::new(texts.into_iter(), |field, text| {
                    push_field(field, text, position, b',');
                    field.extend_from_slice(after.as_bytes());
                });
                for (at, text) in texts.iter().enumerate() {
                    let (mut found, mut wanted) = (LineBuffer::default(), b"before".to_vec());
                    found.push(b"before");
                    fields.push(&mut found, at as u32);
                    push_field(&mut wanted, text, position, b',');
                    wanted.extend_from_slice(after.as_bytes());
                    assert_eq!(found.bytes(), wanted);
                }
            }
        }
    }

    /// Pages grow in between.
    #[test]
    fn numbers_are_said_as_decimals_are_written() {
        let (mut page, mut wanted) = (LineBuffer::default(), Vec::new());
        let mut random = crate::random::Random::new(2);
        for _ in 0..20_000 {
            let (units, scale) =
                (random.between(-1 << 40, 1 << 40) >> random.below(40), random.below(3) as u32);
            page.push_decimal(units, scale);
            page.push_byte(b',');
            push_decimal(&mut wanted, units, scale);
            wanted.push(b',');
        }
        assert!(page.bytes() == wanted);
    }
}
