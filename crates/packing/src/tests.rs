use std::io::Read;

use flate2::read::MultiGzDecoder;
use proptest::prelude::*;

use super::*;

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut member = Vec::new();
    Packer::default().member(bytes, None, &mut member);
    member
}

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    MultiGzDecoder::new(packed).read_to_end(&mut plain).unwrap();
    plain
}

/// Records as in a heap dump: the id of an object, of its class, and of two objects it refers to.
fn records(count: u64) -> Vec<u8> {
    let record = |number: u64| {
        let mut record = vec![0x21];
        record.extend((0x7_c000_0000 + 24 * number).to_be_bytes());
        record.extend(1_u32.to_be_bytes());
        record.extend((0x8_0000_1000 + 104 * (number % 3)).to_be_bytes());
        record.extend(16_u32.to_be_bytes());
        record.extend((0x7_c000_0000 + 24 * (number / 2)).to_be_bytes());
        record.extend((number % 7).to_be_bytes());
        record
    };
    (0..count).flat_map(record).collect()
}

#[test]
fn any_gzip_reads_blocks_of_any_length() {
    let all = records(90_000);
    for length in [
        0,
        1,
        3,
        15,
        16,
        17,
        41,
        1000,
        BLOCK - 1,
        BLOCK,
        BLOCK + 1,
        all.len(),
    ] {
        let bytes = &all[..length];
        assert!(unpacked(&packed(bytes)) == bytes, "{length}");
    }
}

#[test]
fn records_of_objects_take_a_sixth() {
    let bytes = records(25_000);
    assert!(packed(&bytes).len() < bytes.len() / 6);
}

#[test]
fn a_long_run_of_one_byte_takes_few_bytes() {
    let packed = packed(&vec![0; BLOCK]);
    // 4,064 matches of 258 bytes, and the codes.
    assert!(packed.len() < 2_500, "{}", packed.len());
    assert!(unpacked(&packed) == vec![0; BLOCK]);
}

#[test]
fn bytes_without_order_hardly_grow() {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    let bytes: Vec<u8> = (0..BLOCK).map(|_| next()).collect();
    let packed = packed(&bytes);
    assert!(packed.len() < BLOCK + BLOCK / 50, "{}", packed.len());
    assert!(unpacked(&packed) == bytes);
}

#[test]
fn the_first_member_tells_the_size_of_the_blocks() {
    let mut packer = Packer::default();
    let mut file = Vec::new();
    packer.member(b"ab", Some(2), &mut file);
    packer.member(b"c", None, &mut file);
    assert_eq!(file[..4], [0x1f, 0x8b, 8, 16]);
    assert!(file[10..].starts_with(b"HPROF BLOCKSIZE=2\0"));
    assert_eq!(unpacked(&file), b"abc");
}

/// Bytes with matches of many lengths and distances: pieces of what came before, changed here and there.
fn repeating() -> impl Strategy<Value = Vec<u8>> {
    let step = (any::<bool>(), 0_usize..70_000, 0_usize..700, any::<u8>());
    prop::collection::vec(step, 0..120).prop_map(|steps| {
        let mut bytes = Vec::new();
        for (is_new, back, length, byte) in steps {
            if is_new || bytes.is_empty() {
                bytes.extend((0..length % 40).map(|at| byte.wrapping_mul(at as u8 | 1)));
                continue;
            }
            let start = bytes.len().saturating_sub(back % bytes.len() + 1);
            for at in start..start + length {
                bytes.push(if at % 31 == 0 { byte } else { bytes[at] });
            }
        }
        bytes
    })
}

proptest! {
    #[test]
    fn what_was_packed_is_read_back(bytes in repeating()) {
        prop_assert!(unpacked(&packed(&bytes)) == bytes);
    }

    #[test]
    fn a_packer_keeps_nothing_of_the_block_before(blocks in prop::collection::vec(repeating(), 1..4)) {
        let mut packer = Packer::default();
        let mut file = Vec::new();
        for block in &blocks {
            packer.member(block, None, &mut file);
        }
        prop_assert!(unpacked(&file) == blocks.concat());
    }
}
