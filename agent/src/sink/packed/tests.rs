use std::io::Read;

use flate2::read::MultiGzDecoder;
use proptest::prelude::*;
use ruzstd::decoding::StreamingDecoder;

use super::*;

fn plain(packing: Packing, file: &mut File) -> Vec<u8> {
    let (mut packed, mut plain) = (Vec::new(), Vec::new());
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut packed).unwrap();
    match packing {
        Packing::Gzip => {
            let mut reader = MultiGzDecoder::new(packed.as_slice());
            reader.read_to_end(&mut plain).unwrap();
        }
        Packing::Zstd => {
            let mut rest = packed.as_slice();
            while !rest.is_empty() {
                let mut reader = StreamingDecoder::new(&mut rest).unwrap();
                reader.read_to_end(&mut plain).unwrap();
            }
        }
    }
    plain
}

/// The plain length of each gzip member.
fn members(file: &mut File) -> Vec<usize> {
    let (mut packed, mut lengths) = (Vec::new(), Vec::new());
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut packed).unwrap();
    let mut rest = packed.as_slice();
    while !rest.is_empty() {
        let mut member = flate2::bufread::GzDecoder::new(rest);
        let mut plain = Vec::new();
        member.read_to_end(&mut plain).unwrap();
        rest = member.into_inner();
        lengths.push(plain.len());
    }
    lengths
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|number| (number * 7 / 3) as u8).collect()
}

#[test]
fn all_members_but_the_last_are_full_also_after_finishing() {
    for packing in [Packing::Gzip, Packing::Zstd] {
        let mut packed = Packed::new(tempfile::tempfile().unwrap(), packing);
        let all = bytes(4 * BLOCK + 77);
        let mut done = 0;
        for end in [0, 5, 2 * BLOCK - 1, 2 * BLOCK, 2 * BLOCK + 9, all.len()] {
            packed.write_all(&all[done..end]).unwrap();
            done = end;
            for _ in 0..2 {
                packed.finish().unwrap();
                let mut file = packed.file.try_clone().unwrap();
                assert!(plain(packing, &mut file) == all[..end], "{end}");
                if packing == Packing::Gzip {
                    let lengths = members(&mut file);
                    let (_, full) = lengths.split_last().unwrap();
                    assert!(full.iter().all(|length| *length == BLOCK), "{lengths:?}");
                }
            }
        }
    }
}

/// A disk that is full: the file ends with a whole member.
#[test]
fn a_file_that_cannot_grow_ends_with_a_whole_member() {
    let path = tempfile::NamedTempFile::new().unwrap();
    let mut packed = Packed::new(path.reopen().unwrap(), Packing::Gzip);
    packed.write_all(&bytes(3 * BLOCK)).unwrap();
    packed.finish().unwrap();
    // Nothing can be written to it any more.
    packed.file = File::open(path.path()).unwrap();
    let all = bytes(16 * BLOCK);
    let written = packed.write_all(&all).and_then(|()| packed.finish());
    assert!(written.is_err());
    let mut file = path.reopen().unwrap();
    assert!(plain(Packing::Gzip, &mut file) == bytes(3 * BLOCK));
}

/// A disk that is full for a while: members wait, up to a bound, and nothing is lost.
#[test]
fn members_wait_for_room_on_a_full_disk() {
    let Ok(full) = File::options().write(true).open("/dev/full") else {
        return;
    };
    let path = tempfile::NamedTempFile::new().unwrap();
    let mut packed = Packed::new(path.reopen().unwrap(), Packing::Zstd);
    let noise = |length: usize| -> Vec<u8> {
        let next = |state: u64| {
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1)
        };
        let states = std::iter::successors(Some(1_u64), |state| Some(next(*state)));
        states
            .take(length)
            .map(|state| (state >> 56) as u8)
            .collect()
    };
    let all = noise(12 * BLOCK);
    packed.write_all(&all[..3 * BLOCK]).unwrap();
    packed.finish().unwrap();
    let disk = std::mem::replace(&mut packed.file, full);
    packed.write_all(&all[3 * BLOCK..8 * BLOCK]).unwrap();
    assert_eq!(packed.finish().unwrap_err().kind(), ErrorKind::StorageFull);
    packed.file = disk;
    packed.write_all(&all[8 * BLOCK..]).unwrap();
    packed.finish().unwrap();
    let mut file = packed.file.try_clone().unwrap();
    assert!(plain(Packing::Zstd, &mut file) == all);
    // Memory is bounded.
    packed.file = File::options().write(true).open("/dev/full").unwrap();
    let more = noise(64 * BLOCK);
    assert!(packed.write_all(&more).is_err());
    assert!(packed.unwritten.iter().map(Vec::len).sum::<usize>() <= MOST_UNWRITTEN);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn pieces_of_any_length_are_read_back(
        pieces in proptest::collection::vec((0..BLOCK * 3 / 2, any::<bool>()), 1..4),
        is_gzip: bool,
    ) {
        let packing = if is_gzip { Packing::Gzip } else { Packing::Zstd };
        let mut packed = Packed::new(tempfile::tempfile().unwrap(), packing);
        let mut all = Vec::new();
        for (length, finishes) in pieces {
            let piece = bytes(length);
            packed.write_all(&piece).unwrap();
            all.extend(piece);
            if finishes {
                packed.finish().unwrap();
            }
        }
        packed.finish().unwrap();
        let mut file = packed.file.try_clone().unwrap();
        prop_assert!(plain(packing, &mut file) == all);
    }
}
