//! A compact set of serial numbers.

use std::collections::HashMap;

const CHUNK_BITS: u32 = 12;
const WORDS: usize = (1 << CHUNK_BITS) / 64;

/// A set of serial numbers, one bit each.
///
/// Serials are handed out one after the other from a base, so the set keeps one bitmap per
/// 4096 consecutive numbers that are in use: about one bit per serial, and no more than
/// 512 bytes for a stray one.
#[derive(Debug, Clone, Default)]
pub struct SerialSet {
    chunks: HashMap<u32, Box<[u64; WORDS]>>,
}

impl SerialSet {
    /// Adds a serial; true if it was not in the set before.
    pub fn insert(&mut self, serial: u32) -> bool {
        let (chunk, word, bit) = split(serial);
        let words = self
            .chunks
            .entry(chunk)
            .or_insert_with(|| Box::new([0; WORDS]));
        let is_new = words[word] & bit == 0;
        words[word] |= bit;
        is_new
    }

    /// True if the serial is in the set.
    pub fn contains(&self, serial: u32) -> bool {
        let (chunk, word, bit) = split(serial);
        self.chunks
            .get(&chunk)
            .is_some_and(|words| words[word] & bit != 0)
    }
}

fn split(serial: u32) -> (u32, usize, u64) {
    let within = serial & ((1 << CHUNK_BITS) - 1);
    (
        serial >> CHUNK_BITS,
        (within / 64) as usize,
        1 << (within % 64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn behaves_like_a_hash_set(
            serials in prop::collection::vec(prop_oneof![290_000u32..310_000, any::<u32>()], 0..200)
        ) {
            let mut ours = SerialSet::default();
            let mut theirs = HashSet::new();
            for &serial in &serials {
                prop_assert_eq!(ours.insert(serial), theirs.insert(serial));
            }
            for serial in serials.iter().flat_map(|s| [*s, s.wrapping_add(1), s.wrapping_sub(1)]) {
                prop_assert_eq!(ours.contains(serial), theirs.contains(&serial));
            }
        }
    }
}
