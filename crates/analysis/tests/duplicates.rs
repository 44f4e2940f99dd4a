//! Arrays with equal contents.

mod common;

use common::made::{Made, Put};
use hprof_analysis::duplicates::duplicates;
use hprof_analysis::numbers::ObjectNumber;

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

const LATIN1: i8 = 0;
const UTF16: i8 = 1;

/// The strings of a dump and the bytes that equal ones waste. The dump has arrays of bytes, each with the coders of the strings that use it.
fn strings_of(arrays: &[(&[u8], Vec<i8>)]) -> (u64, u64) {
    let mut made = Made::new();
    let object = made.object();
    let fields = [("value", Put::Ref(0)), ("coder", Put::Byte(0))];
    let class = made.class("java.lang.String", object, &fields);
    for (bytes, coders) in arrays {
        let array = made.primitives(8, bytes.len() as u32, bytes);
        for &coder in coders {
            let values = [("value", Put::Ref(array)), ("coder", Put::Byte(coder))];
            // Nothing keeps it alive: strings count all the same.
            made.instance(class, &values);
        }
    }
    let found = duplicates(&made.open(), 100).unwrap();
    assert!(found.groups.iter().all(|group| !group.is_string));
    (found.strings.unwrap(), found.wasted_in_strings.unwrap())
}

#[test]
fn equal_strings_are_those_of_one_text_in_whatever_form() {
    // A string takes 24 bytes with its header of 12, and an array of up to eight bytes as many.
    let (string, array) = (24, 24);
    let many = [LATIN1; 70];
    let of = |bytes: &'static [u8], coders: &'static [i8]| (bytes, coders.to_vec());
    for (arrays, strings, waste) in [
        (vec![of(b"one", &[LATIN1]), of(b"two", &[LATIN1])], 2, 0),
        (
            vec![of(b"one", &[LATIN1]), of(b"one", &[LATIN1])],
            2,
            string + array,
        ),
        // An array that several strings share is there once.
        (vec![(&b"one"[..], many.to_vec())], 70, 69 * string),
        (
            vec![of(b"one", &[LATIN1, LATIN1]), of(b"one", &[])],
            2,
            string,
        ),
        // Bytes that are equal and stand for other characters.
        (vec![of(b"ab", &[LATIN1]), of(b"ab", &[UTF16])], 2, 0),
        (vec![of(b"ab", &[LATIN1, UTF16])], 2, 0),
        // Latin-1 in units of two bytes, with and without an equal text of bytes.
        (
            vec![of(b"a\0b\0", &[UTF16]), of(b"ab", &[LATIN1])],
            2,
            string + array,
        ),
        (
            vec![of(b"a\0b\0", &[UTF16]), of(b"a\0b\0", &[UTF16])],
            2,
            string + array,
        ),
        // Neither form has characters.
        (vec![of(b"", &[LATIN1]), of(b"", &[UTF16])], 2, string + 16),
    ] {
        assert_eq!(strings_of(&arrays), (strings, waste), "{arrays:?}");
    }
}

#[test]
fn a_group_is_one_of_strings_if_a_string_that_lives_has_its_first_array() {
    let mut made = Made::new();
    let object = made.object();
    let class = made.class("java.lang.String", object, &[("value", Put::Ref(0))]);
    let mut arrays = Vec::new();
    for bytes in [b"dead", b"dead", b"live", b"live"] {
        let array = made.primitives(8, 4, bytes);
        made.root(0xff, array);
        arrays.push(array);
    }
    let strings =
        [arrays[0], arrays[2]].map(|array| made.instance(class, &[("value", Put::Ref(array))]));
    made.root(0xff, strings[1]);
    let snapshot = made.open();
    let number = |id| snapshot.graph().number(id).unwrap();
    let found = duplicates(&snapshot, 100).unwrap();
    let groups = found
        .groups
        .iter()
        .map(|group| (group.object, group.is_string));
    let groups: Vec<(ObjectNumber, bool)> = groups.collect();
    assert_eq!(
        groups,
        [(number(arrays[0]), false), (number(arrays[2]), true)]
    );
}
