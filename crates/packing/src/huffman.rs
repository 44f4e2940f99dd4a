//! The Huffman codes of a block (RFC 1951, 3.2).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Out;
use crate::matches::{MAX_LENGTH, Sequence};

/// Literals, the end of the block, and lengths.
const LITERALS: usize = 286;
const DISTANCES: usize = 30;
/// The end of a block.
const END: usize = 256;
/// The most bits of a code, so that four literals fit between two flushes. DEFLATE allows 15.
const MAX_BITS: u32 = 12;
/// One in this number of groups of sequences is counted. A block is alike all over.
const SAMPLE: usize = 8;
const GROUP: usize = 64;

/// A code with the bits that follow it, lowest first: `bits << 8 | count`.
type Packed = u32;

/// The codes of a block.
pub(crate) struct Codes {
    literals: [Packed; 256],
    end: Packed,
    /// By the length of the match, with its extra bits.
    lengths: [Packed; MAX_LENGTH + 1],
    /// By distance symbol, without extra bits.
    distances: [Packed; DISTANCES],
    literal_bits: [u8; LITERALS],
    distance_bits: [u8; DISTANCES],
}

/// A symbol and the extra bits after its code.
struct Symbol {
    number: usize,
    extra: u32,
    extra_bits: u32,
}

/// The symbol of a length of 3 to 258 bytes.
fn length_symbol(length: usize) -> Symbol {
    let value = length as u32 - 3;
    let (number, extra, extra_bits) = match value {
        255 => (285, 0, 0),
        0..8 => (257 + value, 0, 0),
        _ => {
            let bits = value.ilog2() - 2;
            let number = 257 + 4 * bits + 4 + ((value >> bits) & 3);
            (number, value & ((1 << bits) - 1), bits)
        }
    };
    Symbol {
        number: number as usize,
        extra,
        extra_bits,
    }
}

/// The symbol of a distance.
#[inline(always)]
fn distance_symbol(distance_less_one: u16) -> Symbol {
    let value = u32::from(distance_less_one);
    let (number, extra, extra_bits) = match value {
        0..4 => (value, 0, 0),
        _ => {
            let bits = value.ilog2() - 1;
            let number = 2 * bits + 2 + ((value >> bits) & 1);
            (number, value & ((1 << bits) - 1), bits)
        }
    };
    Symbol {
        number: number as usize,
        extra,
        extra_bits,
    }
}

impl Codes {
    /// Codes for `block` and its sequences. Each symbol has one, as not all were counted.
    pub fn of(block: &[u8], sequences: &[Sequence]) -> Self {
        let (mut literals, mut distances) = ([1_u32; LITERALS], [1_u32; DISTANCES]);
        let weight = 2 * SAMPLE as u32;
        let mut at = 0;
        for (number, group) in sequences.chunks(GROUP).enumerate() {
            for it in group {
                let length = usize::from(it.length);
                let end = at + it.literals as usize;
                if number % SAMPLE == 0 {
                    for literal in &block[at..end] {
                        literals[usize::from(*literal)] += weight;
                    }
                    literals[length_symbol(length).number] += weight;
                    distances[distance_symbol(it.distance_less_one).number] += weight;
                }
                at = end + length;
            }
        }
        for literal in block[at..].iter().step_by(SAMPLE) {
            literals[usize::from(*literal)] += weight;
        }
        Self::new(bit_lengths(&literals), bit_lengths(&distances))
    }

    fn new(literal_bits: [u8; LITERALS], distance_bits: [u8; DISTANCES]) -> Self {
        let all = codes(&literal_bits);
        let mut lengths = [0; MAX_LENGTH + 1];
        for (length, packed) in lengths.iter_mut().enumerate().skip(3) {
            let symbol = length_symbol(length);
            *packed = with_extra(all[symbol.number], &symbol);
        }
        let mut literals = [0; 256];
        literals.copy_from_slice(&all[..END]);
        Self {
            literals,
            end: all[END],
            lengths,
            distances: codes(&distance_bits),
            literal_bits,
            distance_bits,
        }
    }

    /// The most bytes that a block of `length` plain bytes takes: each code has at most [`MAX_BITS`] for
    /// a byte, a match has fewer. Some more for the codes themselves, and a word that is written last.
    pub fn room(&self, length: usize) -> usize {
        length * 2 + 512
    }

    #[inline(always)]
    pub fn literal(&self, byte: u8) -> (u64, u32) {
        unpacked(self.literals[usize::from(byte)])
    }

    #[inline(always)]
    pub fn length(&self, length: u16) -> (u64, u32) {
        unpacked(self.lengths[usize::from(length)])
    }

    #[inline(always)]
    pub fn distance(&self, distance_less_one: u16) -> (u64, u32) {
        let symbol = distance_symbol(distance_less_one);
        let (code, bits) = unpacked(self.distances[symbol.number]);
        let extra = u64::from(symbol.extra) << bits;
        (code | extra, bits + symbol.extra_bits)
    }

    pub fn end(&self) -> (u64, u32) {
        unpacked(self.end)
    }

    /// Writes the head of a block with these codes.
    pub fn write(&self, is_last: bool, out: &mut Out<'_>) {
        /// The order in which the lengths of the codes of lengths come.
        const ORDER: [u8; 19] = [
            16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
        ];
        out.put(u64::from(is_last), 1);
        // Codes of its own.
        out.put(2, 2);
        out.put(LITERALS as u64 - 257, 5);
        out.put(DISTANCES as u64 - 1, 5);
        out.put(ORDER.len() as u64 - 4, 4);
        out.flush();
        // Each length in four bits. The codes of runs would save some hundred bytes of a mebibyte.
        for symbol in ORDER {
            out.put(if symbol < 16 { 4 } else { 0 }, 3);
            out.flush();
        }
        for bits in self.literal_bits.iter().chain(&self.distance_bits) {
            out.put(u64::from(bits.reverse_bits() >> 4), 4);
            out.flush();
        }
    }
}

fn with_extra(code: Packed, symbol: &Symbol) -> Packed {
    let (bits, count) = (code >> 8, code & 0xff);
    (bits | symbol.extra << count) << 8 | (count + symbol.extra_bits)
}

#[inline(always)]
fn unpacked(packed: Packed) -> (u64, u32) {
    (u64::from(packed >> 8), packed & 0xff)
}

/// The canonical codes for these lengths (RFC 1951, 3.2.2). DEFLATE has the first bit of a code lowest.
fn codes<const N: usize>(bit_lengths: &[u8; N]) -> [Packed; N] {
    let mut counts = [0_u32; MAX_BITS as usize + 1];
    for bits in bit_lengths {
        counts[usize::from(*bits)] += 1;
    }
    let mut next = [0_u32; MAX_BITS as usize + 1];
    for bits in 1..next.len() {
        let shorter = if bits == 1 { 0 } else { counts[bits - 1] };
        next[bits] = (next[bits - 1] + shorter) << 1;
    }
    bit_lengths.map(|bits| {
        let next = &mut next[usize::from(bits)];
        let code = next.reverse_bits() >> (32 - u32::from(bits));
        *next += 1;
        code << 8 | u32::from(bits)
    })
}

/// How many bits each symbol's code has, 1 to [`MAX_BITS`]. All `counts` are at least 1.
fn bit_lengths<const N: usize>(counts: &[u32; N]) -> [u8; N] {
    let mut counts = *counts;
    loop {
        let lengths = huffman(&counts);
        if lengths.iter().all(|bits| u32::from(*bits) <= MAX_BITS) {
            return lengths;
        }
        // Rare symbols get more frequent, until no code is too long. At last all are alike.
        counts = counts.map(|count| (count >> 2) | 1);
    }
}

/// Huffman's algorithm.
fn huffman<const N: usize>(counts: &[u32; N]) -> [u8; N] {
    // Symbols come first, then what they were joined to.
    let mut parents = vec![0; 2 * N];
    let nodes = counts.iter().enumerate();
    let mut heap: BinaryHeap<_> = nodes
        .map(|(node, count)| Reverse((u64::from(*count), node)))
        .collect();
    let mut joined = N;
    while let (Some(Reverse(one)), Some(Reverse(other))) = (heap.pop(), heap.pop()) {
        parents[one.1] = joined;
        parents[other.1] = joined;
        heap.push(Reverse((one.0 + other.0, joined)));
        joined += 1;
        if heap.len() == 1 {
            break;
        }
    }
    let root = joined - 1;
    let mut depths = vec![0_u8; joined];
    for node in (0..root).rev() {
        depths[node] = depths[parents[node]].saturating_add(1);
    }
    std::array::from_fn(|symbol| depths[symbol])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_no_common_beginning_and_no_gap() {
        for counts in [
            [1; LITERALS],
            std::array::from_fn(|symbol| 1 << (symbol % 31)),
            std::array::from_fn(|symbol| if symbol == 7 { u32::MAX } else { 1 }),
        ] {
            let lengths = bit_lengths(&counts);
            let parts = lengths.map(|bits| 1_u32 << (MAX_BITS - u32::from(bits)));
            assert_eq!(parts.iter().sum::<u32>(), 1 << MAX_BITS);
        }
    }

    #[test]
    fn symbols_are_those_of_the_rfc() {
        // RFC 1951, 3.2.5: the first and the last length of some rows.
        for (length, number, bits) in [
            (3, 257, 0),
            (10, 264, 0),
            (11, 265, 1),
            (18, 268, 1),
            (19, 269, 2),
            (130, 280, 4),
            (131, 281, 5),
            (257, 284, 5),
            (258, 285, 0),
        ] {
            let symbol = length_symbol(length);
            assert_eq!((symbol.number, symbol.extra_bits), (number, bits));
        }
        for (distance, number, bits) in [
            (1, 0, 0),
            (4, 3, 0),
            (5, 4, 1),
            (9, 6, 2),
            (193, 15, 6),
            (24_577, 29, 13),
            (32_768, 29, 13),
        ] {
            let symbol = distance_symbol((distance - 1) as u16);
            assert_eq!((symbol.number, symbol.extra_bits), (number, bits));
        }
    }
}
