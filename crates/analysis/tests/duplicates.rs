//! Arrays with equal contents.

mod common;

use common::made::Made;
use hprof_analysis::duplicates::duplicates;

/// The arrays of each group, and the bytes that all groups waste.
fn groups(made: Made) -> (Vec<u64>, u64) {
    let found = duplicates(&made.open(), 100).unwrap();
    let counts = found.groups.iter().map(|group| group.count);
    (counts.collect(), found.wasted_bytes)
}

/// `rustc_hash` 2 multiplies the first half of 16 bytes, less this seed, by the second half.
const SEED_OF_FX_HASH: u64 = 0x243f_6a88_85a3_08d3;

#[test]
fn arrays_whose_64_bit_hashes_collide_are_no_duplicates() {
    let mut made = Made::new();
    for number in 0..10u64 {
        let bytes = [SEED_OF_FX_HASH.to_le_bytes(), number.to_le_bytes()].concat();
        let array = made.primitives(8, 16, &bytes);
        made.root(0xff, array);
    }
    assert_eq!(groups(made), (vec![], 0));
}

#[test]
fn arrays_of_one_type_with_equal_elements_are_duplicates() {
    let mut made = Made::new();
    for (code, length, bytes) in [
        (8, 4, [1, 2, 3, 4]),
        (8, 4, [1, 2, 3, 4]),
        (8, 4, [1, 2, 3, 5]),
        (10, 1, [1, 2, 3, 4]),
        (8, 4, [1, 2, 3, 4]),
    ] {
        let array = made.primitives(code, length, &bytes);
        made.root(0xff, array);
    }
    // Nothing keeps this one alive.
    made.primitives(8, 4, &[1, 2, 3, 4]);
    let (counts, wasted) = groups(made);
    assert_eq!(counts, [3]);
    assert_eq!(wasted, 2 * 24);
}
