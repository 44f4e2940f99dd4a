//! Damaged files: no panic, and all that is sound is counted.

mod common;

use common::{data, stream};
use hprof_analysis::contents::{Contents, ReadOptions, read};
use hprof_analysis::heap::{Group, histogram, layout};
use hprof_analysis::input::Input;
use hprof_analysis::stacks::{CallTree, Measure, Weights, by_method, by_thread};
use proptest::prelude::*;

/// Asks everything there is to ask.
fn use_all(contents: &Contents) {
    for dump in &contents.dumps {
        for group in [Group::Class, Group::Family, Group::Package, Group::Loader] {
            histogram(contents, dump, group);
        }
        let (layout, _) = layout(contents, &dump.census);
        dump.census.largest.sorted(&layout);
    }
    for measure in Measure::ALL {
        if let Some(weights) = Weights::of(contents, measure) {
            CallTree::new(&contents.stacks, &weights);
            by_method(&contents.stacks, &weights);
            by_thread(&contents.stacks, &weights);
        }
    }
}

fn read_file(bytes: &[u8]) -> Option<Contents> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    read(Input::open(file.path()).ok()?, &ReadOptions::default()).ok()
}

fn read_stream(bytes: &[u8]) -> Option<Contents> {
    let input = Input::from_reader("test", std::io::Cursor::new(bytes.to_vec()));
    read(input, &ReadOptions::default()).ok()
}

const FILES: [&str; 5] = [
    "hprof-32.bin",
    "cpu-samples-b.hprof",
    "heap-sites-b.hprof",
    "cpu-samples.txt",
    "monitor.txt",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Counting on several threads, in pieces whose starts are guessed, finds what one pass from
    /// start to end finds, also in damaged files.
    #[test]
    fn pieces_are_counted_as_the_whole(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        piece_bytes in 100u64..30_000,
    ) {
        let mut bytes = std::fs::read(data("hprof-32.bin")).unwrap();
        for (at, value) in flips {
            let at = 31 + at.index(bytes.len() - 31);
            bytes[at] = value;
        }
        let options = ReadOptions { threads: 4, piece_bytes, ..ReadOptions::default() };
        let pieces = read(Input::from_bytes("test", bytes.clone()), &options).unwrap();
        let whole = read_stream(&bytes).unwrap();
        prop_assert_eq!(&pieces.damage, &whole.damage);
        prop_assert_eq!(&pieces.records, &whole.records);
        prop_assert_eq!(&pieces.threads, &whole.threads);
        prop_assert_eq!(pieces.dumps.len(), whole.dumps.len());
        for (a, b) in pieces.dumps.iter().zip(&whole.dumps) {
            prop_assert_eq!(&a.census.roots, &b.census.roots);
            prop_assert_eq!(
                histogram(&pieces, a, Group::Class),
                histogram(&whole, b, Group::Class)
            );
        }
    }

    #[test]
    fn flipped_bytes_and_cuts_are_survived(
        file in prop::sample::select(&FILES[..]),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = std::fs::read(data(file)).unwrap();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        for length in [bytes.len(), cut.index(bytes.len())] {
            let (file, stream) = (read_file(&bytes[..length]), read_stream(&bytes[..length]));
            prop_assert_eq!(file.is_some(), stream.is_some());
            for contents in [file, stream].into_iter().flatten() {
                use_all(&contents);
            }
        }
    }
}

#[test]
fn a_strict_reading_ends_with_the_first_damage() {
    let mut bytes = std::fs::read(data("hprof-32.bin")).unwrap();
    let strict = |bytes: &[u8]| {
        let options = ReadOptions {
            strict: true,
            ..ReadOptions::default()
        };
        let stream = Input::from_reader("test", std::io::Cursor::new(bytes.to_vec()));
        let file = Input::from_bytes("test", bytes.to_vec());
        [stream, file].map(|input| read(input, &options).map_err(|error| error.to_string()))
    };
    assert!(strict(&bytes).iter().all(Result::is_ok));
    let cut = strict(&bytes[..bytes.len() - 1]);
    for result in cut {
        let Err(error) = result else {
            panic!("damage is passed over")
        };
        assert!(error.starts_with("at byte "), "{error}");
    }
    // The tag of the first string.
    bytes[46] = 0x40;
    for result in strict(&bytes) {
        let Err(error) = result else {
            panic!("damage is passed over")
        };
        assert!(error.starts_with("at byte 46: "), "{error}");
    }
    let text = std::fs::read(data("cpu-samples.txt")).unwrap();
    assert!(strict(&text).iter().all(Result::is_ok));
    let end = text
        .windows(15)
        .position(|w| w == b"CPU SAMPLES END")
        .unwrap();
    assert!(strict(&text[..end]).iter().all(Result::is_err));
}

#[test]
fn every_cut_of_a_profile_is_reported_unless_it_falls_between_records() {
    let bytes = std::fs::read(data("cpu-samples-b.hprof")).unwrap();
    let whole = stream(bytes.clone());
    let mut clean = 0;
    for length in (31..bytes.len()).step_by(97) {
        let contents = stream(bytes[..length].to_vec());
        let read: u64 = contents.records.values().map(|count| count.bytes).sum();
        let lost = contents.damage.lost_bytes;
        if contents.damage.is_empty() {
            clean += 1;
            assert_eq!(read + 31, length as u64);
        } else {
            assert!(lost <= length as u64, "{:?}", contents.damage);
        }
    }
    let records: u64 = whole.records.values().map(|count| count.count).sum();
    assert!(clean <= records);
}
