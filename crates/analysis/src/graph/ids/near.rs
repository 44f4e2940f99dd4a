//! The block of a number near that of another.

use super::Block;

/// The last block that begins at or before a number, searched in growing steps from the place `near`.
/// The first block begins at 0.
pub(super) fn last_before(blocks: &[Block], number: u64, near: usize) -> usize {
    let is_before = |block: &Block| block.before() <= number;
    let (mut low, mut step) = (near.min(blocks.len() - 1), 1);
    let mut high = low + 1;
    if is_before(&blocks[low]) {
        while high < blocks.len() && is_before(&blocks[high]) {
            low = high;
            high = (high + step).min(blocks.len());
            step *= 2;
        }
    } else {
        while !is_before(&blocks[low]) {
            high = low;
            low = low.saturating_sub(step);
            step *= 2;
        }
    }
    low + blocks[low..high].partition_point(is_before) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_is_found_from_every_place() {
        // Empty blocks begin where the next one does.
        let starts = [0, 3, 3, 3, 7, 8, 20, 20, 21, 50, 51, 400];
        let blocks = starts.map(|ranks| Block {
            ranks,
            ..Block::default()
        });
        for number in 0..500 {
            let expected = blocks.partition_point(|block| block.before() <= number) - 1;
            for near in 0..blocks.len() + 2 {
                assert_eq!(
                    last_before(&blocks, number, near),
                    expected,
                    "{number} {near}"
                );
            }
        }
    }
}
