//! Small numbers in few bits: a column of words as offsets from its minimum.
//!
//! The crate `bitpacking` packs groups of 128 values in four lanes: value `i` goes to lane
//! `i mod 4`. Each lane is a stream of 32-bit words, low bits first, and word `j` of the four lanes
//! is stored side by side. So the last group, which may not be full, is padded, packed like the
//! others, and cut off after the words that hold values.

use bitpacking::{BitPacker, BitPacker4x};

/// Values that are packed side by side.
const LANES: usize = 4;
/// Values of a group.
const GROUP: usize = BitPacker4x::BLOCK_LEN;
/// Bytes of one word of every lane.
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
    let packer = BitPacker4x::new();
    let start = out.len();
    out.resize(start + packed_len(values.len(), bits), 0);
    let bytes = GROUP / 8 * bits as usize;
    let (groups, rest) = values.as_chunks::<GROUP>();
    let (whole, tail) = out[start..].split_at_mut(groups.len() * bytes);
    for (number, group) in groups.iter().enumerate() {
        let offsets = group.map(|value| value.wrapping_sub(minimum));
        packer.compress(&offsets, &mut whole[number * bytes..][..bytes], bits as u8);
    }
    if !rest.is_empty() {
        let (mut offsets, mut packed) = ([0; GROUP], [0; GROUP * 4]);
        for (offset, value) in offsets.iter_mut().zip(rest) {
            *offset = value.wrapping_sub(minimum);
        }
        packer.compress(&offsets, &mut packed, bits as u8);
        tail.copy_from_slice(&packed[..tail.len()]);
    }
}

/// Fills `values` with what [`pack`] made of as many; `packed` must have the length that
/// [`packed_len`] tells.
pub fn unpack(packed: &[u8], minimum: u32, bits: u32, values: &mut [u32]) {
    let packer = BitPacker4x::new();
    let bytes = GROUP / 8 * bits as usize;
    let (groups, rest) = values.as_chunks_mut::<GROUP>();
    let (whole, tail) = packed.split_at(groups.len() * bytes);
    for (number, group) in groups.iter_mut().enumerate() {
        packer.decompress(&whole[number * bytes..][..bytes], group, bits as u8);
        for value in group {
            *value = value.wrapping_add(minimum);
        }
    }
    if !rest.is_empty() {
        let (mut offsets, mut padded) = ([0; GROUP], [0; GROUP * 4]);
        padded[..tail.len()].copy_from_slice(tail);
        packer.decompress(&padded, &mut offsets, bits as u8);
        for (value, offset) in rest.iter_mut().zip(offsets) {
            *value = offset.wrapping_add(minimum);
        }
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
            for count in (0..10).chain([127, 128, 129, 130, 256, 1000]) {
                let minimum = u32::try_from(random.below(u64::from(u32::MAX - most) + 1)).unwrap();
                let values: Vec<u32> = (0..count)
                    .map(|_| minimum + u32::try_from(random.below(u64::from(most) + 1)).unwrap())
                    .collect();
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
