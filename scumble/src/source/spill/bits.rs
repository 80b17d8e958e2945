//! Small numbers in few bits: a column of words as offsets from its minimum.
//!
//! Four lanes are packed side by side: value `i` goes to lane `i mod 4`, and each lane is a stream
//! of its own, low bits first, in 32-bit words; word `j` of the four lanes stand together. So every
//! step shifts four neighbouring values by the same distance, which a compiler turns into one
//! instruction for all four. After 32 steps the words are full, whatever the number of bits: that
//! makes a group, and for each number of bits there is a loop over groups in which every distance
//! is a constant. A group that is not full is packed like one, and as much of it kept as has
//! values.

/// Values that are handled by one step.
const LANES: usize = 4;
/// Values of a group.
const GROUP: usize = 32 * LANES;
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
    let kernel = PACK[bits as usize];
    let start = out.len();
    out.resize(start + packed_len(values.len(), bits), 0);
    let (groups, rest) = values.as_chunks::<GROUP>();
    let (whole, tail) = out[start..].split_at_mut(groups.len() * bits as usize * ROW);
    kernel(groups, minimum, whole);
    if !rest.is_empty() {
        let (mut group, mut packed) = ([minimum; GROUP], [0; 32 * ROW]);
        group[..rest.len()].copy_from_slice(rest);
        kernel(&[group], minimum, &mut packed);
        tail.copy_from_slice(&packed[..tail.len()]);
    }
}

/// Fills `values` with what [`pack`] made of as many; `packed` must have the length that
/// [`packed_len`] tells.
pub fn unpack(packed: &[u8], minimum: u32, bits: u32, values: &mut [u32]) {
    let kernel = UNPACK[bits as usize];
    let (groups, rest) = values.as_chunks_mut::<GROUP>();
    let (whole, tail) = packed.split_at(groups.len() * bits as usize * ROW);
    kernel(whole, minimum, groups);
    if !rest.is_empty() {
        let (mut group, mut packed) = ([0; GROUP], [0; 32 * ROW]);
        packed[..tail.len()].copy_from_slice(tail);
        kernel(&packed, minimum, std::slice::from_mut(&mut group));
        rest.copy_from_slice(&group[..rest.len()]);
    }
}

type Pack = fn(&[[u32; GROUP]], u32, &mut [u8]);
type Unpack = fn(&[u8], u32, &mut [[u32; GROUP]]);

/// A function's instances for 0 to 32 bits.
macro_rules! for_all_bits {
    ($function:ident: $($bits:literal)*) => { [$($function::<$bits>),*] };
    ($function:ident) => {
        for_all_bits!($function: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
    };
}

const PACK: [Pack; 33] = for_all_bits!(pack_groups);
const UNPACK: [Unpack; 33] = for_all_bits!(unpack_groups);

fn pack_groups<const BITS: usize>(groups: &[[u32; GROUP]], minimum: u32, out: &mut [u8]) {
    if BITS == 0 {
        return;
    }
    for (group, out) in groups.iter().zip(out.chunks_exact_mut(BITS * ROW)) {
        let mut rows = out.as_chunks_mut::<ROW>().0.iter_mut();
        let mut word = [0u32; LANES];
        for (step, values) in group.as_chunks::<LANES>().0.iter().enumerate() {
            let used = (step * BITS % 32) as u32;
            let offsets = values.map(|value| value.wrapping_sub(minimum));
            for lane in 0..LANES {
                word[lane] |= offsets[lane].wrapping_shl(used);
            }
            if used as usize + BITS >= 32 {
                if let Some(row) = rows.next() {
                    *row = to_bytes(word);
                }
                // What did not fit any more opens the next word; at a distance of 32 all of it did.
                word = offsets.map(|offset| offset.checked_shr(32 - used).unwrap_or(0));
            }
        }
    }
}

fn unpack_groups<const BITS: usize>(packed: &[u8], minimum: u32, groups: &mut [[u32; GROUP]]) {
    if BITS == 0 {
        return groups.as_flattened_mut().fill(minimum);
    }
    let mask = u32::MAX >> (32 - BITS);
    for (group, packed) in groups.iter_mut().zip(packed.chunks_exact(BITS * ROW)) {
        let mut rows = packed.as_chunks::<ROW>().0.iter();
        let mut word = [0u32; LANES];
        for (step, values) in group.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            // So many bits were read of the word; of a full one (and of none at the beginning)
            // nothing is left.
            let used = (step * BITS % 32) as u32;
            let mut offsets = match used {
                0 => [0; LANES],
                _ => word.map(|word| word.wrapping_shr(used)),
            };
            if used == 0 || used as usize + BITS > 32 {
                word = rows.next().map_or([0; LANES], from_bytes);
                let had = if used == 0 { 0 } else { 32 - used };
                for lane in 0..LANES {
                    offsets[lane] |= word[lane].wrapping_shl(had);
                }
            }
            *values = offsets.map(|offset| (offset & mask).wrapping_add(minimum));
        }
    }
}

fn to_bytes(word: [u32; LANES]) -> [u8; ROW] {
    let mut bytes = [0; ROW];
    for (bytes, lane) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(word) {
        *bytes = lane.to_le_bytes();
    }
    bytes
}

fn from_bytes(bytes: &[u8; ROW]) -> [u32; LANES] {
    let mut word = [0; LANES];
    for (lane, bytes) in word.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *lane = u32::from_le_bytes(*bytes);
    }
    word
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
