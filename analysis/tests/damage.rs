//! Damaged files: no panic, and all that is sound is counted.

mod common;

use common::{data, stream};
use hprof_analysis::contents::{Contents, ReadOptions, read};
use hprof_analysis::heap::{Group, histogram};
use hprof_analysis::input::Input;
use hprof_analysis::stacks::{CallTree, Measure, Weights, by_method, by_thread};
use proptest::prelude::*;

/// Asks everything there is to ask.
fn use_all(contents: &Contents) {
    for dump in &contents.dumps {
        for group in [Group::Class, Group::Family, Group::Package, Group::Loader] {
            histogram(contents, dump, group);
        }
        dump.census.largest.sorted();
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
