//! Hashing on hot paths: of stacks, their frames and their keys.

/// Mixes one word into a hash: the folded 128-bit product, as in wyhash
/// (<https://github.com/wangyi-fudan/wyhash>).
#[inline]
pub fn mix(hash: u64, word: u64) -> u64 {
    let product =
        u128::from(hash ^ 0x9e37_79b9_7f4a_7c15) * u128::from(word ^ 0xa076_1d64_78bd_642f);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn neighbours_differ() {
        let hashes: HashSet<u64> = (0..100u64)
            .flat_map(|a| (0..100u64).map(move |b| mix(mix(1, 0x7f00_0000 + 16 * a), b)))
            .collect();
        assert_eq!(hashes.len(), 10_000);
        // The cache takes its index from the low bits.
        let low: HashSet<u64> = hashes.iter().map(|hash| hash & 0xffff).collect();
        assert!(low.len() > 8_500, "{}", low.len());
    }
}
