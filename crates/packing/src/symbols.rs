//! Writes the sequences of a block in its codes.

use crate::Out;
use crate::huffman::Codes;
use crate::matches::Sequence;

/// Literals between two flushes: a code has at most 12 bits, and 7 may wait.
const GROUP: usize = 4;

/// Writes `block`, which `sequences` describe, and the mark of its end.
pub(crate) fn write(block: &[u8], sequences: &[Sequence], codes: &Codes, out: &mut Out<'_>) {
    let mut at = 0;
    // Most matches have the distance of the one before.
    let (mut known, mut distance) = (None, (0, 0));
    for it in sequences {
        let mut literals = it.literals as usize;
        while literals > GROUP {
            for byte in &block[at..at + GROUP] {
                let (code, bits) = codes.literal(*byte);
                out.put(code, bits);
            }
            out.flush();
            at += GROUP;
            literals -= GROUP;
        }
        // Without a branch on their number, which nothing could predict. A match follows, so there are
        // bytes to read.
        for (number, byte) in block[at..at + GROUP].iter().enumerate() {
            let (code, bits) = codes.literal(*byte);
            let is_there = number < literals;
            out.put(
                if is_there { code } else { 0 },
                if is_there { bits } else { 0 },
            );
        }
        out.flush();
        at += literals + usize::from(it.length);
        if known != Some(it.distance_less_one) {
            known = Some(it.distance_less_one);
            distance = codes.distance(it.distance_less_one);
        }
        let (code, bits) = codes.length(it.length);
        out.put(code, bits);
        out.put(distance.0, distance.1);
        out.flush();
    }
    for byte in &block[at..] {
        let (code, bits) = codes.literal(*byte);
        out.put(code, bits);
        out.flush();
    }
    let (code, bits) = codes.end();
    out.put(code, bits);
    out.flush();
}
