//! Small numbers in few bits: a column of words as offsets from its minimum.
//!
//! Four lanes are packed side by side: value `i` goes to lane `i mod 4`, and each lane is a stream of its own, low bits
//! first, in 32-bit words; word `j` of the four lanes stand together. So every step shifts four neighbouring values by
//! the same distance, which a compiler turns into one instruction for all four.

/// Values that are handled by one step.
const LANES: usize = 4;
/// Bytes of a word of every lane.
const ROW: usize = LANES * 4;

/// How many bits hold any number up to this one.
pub fn bits_of(largest: u32) -> u32 {
    u32::BITS - largest.leading_zeros()
}

/// The bytes that `count` values take at this many bits each.
pub fn packed_len(count: usize, bits: u32) -> usize {
    (count.div_ceil(LANES) * bits as usize).div_ceil(32) * ROW
}

/// Appends values, none below `minimum` and none `2^bits` or more above it.
pub fn pack(values: &[u32], minimum: u32, bits: u32, out: &mut Vec<u8>) {
    if bits == 0 {
        return;
    }
    let start = out.len();
    out.resize(start + packed_len(values.len(), bits), 0);
    let mut rows = out[start..].chunks_exact_mut(ROW);
    let mut emit = |word: &[u32; LANES]| {
        if let Some(row) = rows.next() {
            for (bytes, word) in row.chunks_exact_mut(4).zip(word) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
        }
    };
    let (mut word, mut used) = ([0u32; LANES], 0u32);
    let mut step = |values: &[u32; LANES]| {
        let offsets = values.map(|value| value.wrapping_sub(minimum));
        for lane in 0..LANES {
            word[lane] |= offsets[lane].wrapping_shl(used);
        }
        used += bits;
        if used >= 32 {
            emit(&word);
            used -= 32;
            // What did not fit any more opens the next word; at `used = 0` all of it did.
            word = if used == 0 { [0; LANES] } else { offsets.map(|offset| offset.wrapping_shr(bits - used)) };
        }
    };
    let (whole, rest) = values.as_chunks::<LANES>();
    whole.iter().for_each(&mut step);
    if !rest.is_empty() {
        let mut last = [minimum; LANES];
        last[..rest.len()].copy_from_slice(rest);
        step(&last);
    }
    if used > 0 {
        emit(&word);
    }
}

/// Fills `values` with what [`pack`] made of as many; `packed` must have the length that [`packed_len`] tells.
pub fn unpack(packed: &[u8], minimum: u32, bits: u32, values: &mut [u32]) {
    if bits == 0 {
        return values.fill(minimum);
    }
    let mut rows = packed.as_chunks::<ROW>().0.iter();
    let mut fetch = || match rows.next() {
        Some(row) => {
            let mut word = [0u32; LANES];
            for (word, bytes) in word.iter_mut().zip(row.as_chunks::<4>().0) {
                *word = u32::from_le_bytes(*bytes);
            }
            word
        }
        None => [0; LANES],
    };
    let mask = u32::MAX >> (32 - bits);
    // Bits of `word` from `used` on are still to be read.
    let (mut word, mut used) = ([0u32; LANES], 32u32);
    let mut step = |values: &mut [u32; LANES]| {
        let mut offsets = if used == 32 { [0; LANES] } else { word.map(|word| word.wrapping_shr(used)) };
        used += bits;
        if used > 32 {
            let had = bits - (used - 32);
            word = fetch();
            for lane in 0..LANES {
                offsets[lane] |= word[lane].wrapping_shl(had);
            }
            used -= 32;
        }
        *values = offsets.map(|offset| (offset & mask).wrapping_add(minimum));
    };
    let (whole, rest) = values.as_chunks_mut::<LANES>();
    whole.iter_mut().for_each(&mut step);
    if !rest.is_empty() {
        let mut last = [0; LANES];
        step(&mut last);
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn every_width_and_length_comes_back() {
        let mut random = Random::new(1);
        for bits in 0..=32u32 {
            let most = u32::MAX.checked_shr(32 - bits).unwrap_or(0);
            assert_eq!(bits_of(most), bits);
            for count in (0..70).chain([1000]) {
                let minimum = u32::try_from(random.below(u64::from(u32::MAX - most) + 1)).unwrap();
                let values: Vec<u32> =
                    (0..count).map(|_| minimum + u32::try_from(random.below(u64::from(most) + 1)).unwrap()).collect();
                let mut packed = vec![7];
                pack(&values, minimum, bits, &mut packed);
                assert_eq!(packed.len() - 1, packed_len(count, bits));
                let mut back = vec![0; count];
                unpack(&packed[1..], minimum, bits, &mut back);
                assert_eq!(values, back, "{count} values of {bits} bits");
            }
        }
    }

    /// Three values of 12 bits, worked by hand: each is alone in its lane.
    #[test]
    fn the_layout_is_what_the_head_says() {
        let mut packed = Vec::new();
        pack(&[0x1ab, 0x102, 0x103, 0x100, 0x1cd], 0x100, 12, &mut packed);
        // Lane 0 holds 0x0ab and, above it, 0x0cd.
        assert_eq!(packed, [0xab, 0xd0, 0x0c, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    }
}
