//! Collections of a recording of JDK 25 with G1, whole and spoilt.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use hprof_gclog::{Collector, Part, Summary, read_recording, read_recording_part};
use peak_alloc::PeakAlloc;
use proptest::prelude::*;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

static RECORDING: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut file = Vec::new();
    let packed = include_bytes!("../../foreign/tests/data/jdk25-gc.jfr.gz");
    let unpacked = GzDecoder::new(&packed[..]).read_to_end(&mut file);
    unpacked.expect("the recording is whole");
    file
});

fn read(file: &[u8]) -> Summary {
    read_recording(file, &mut |_| {}).0
}

/// Each collection is in one part of the time, and each part has the length that was asked for.
#[test]
fn parts_of_the_time_add_up() {
    let span = hprof_foreign::span(&RECORDING, hprof_foreign::Kind::Jfr).expect("times");
    let whole = read(&RECORDING);
    let length = (span.to - span.from) / 4;
    let parts: Vec<Summary> = (0..4)
        .map(|number| {
            let from = span.from + number * length;
            let to = match number {
                3 => span.to + 1,
                _ => from + length,
            };
            let part = Part {
                from,
                to,
                has_dates: true,
            };
            let summary = read_recording_part(&RECORDING, Some(part), &mut |_| {}).0;
            assert_eq!(summary.part, Some(part));
            summary
        })
        .collect();
    let sum = |of: fn(&Summary) -> u64| (of(&whole), parts.iter().map(of).sum::<u64>());
    for (of_whole, of_parts) in [
        sum(|it| it.pauses.count),
        sum(|it| it.pauses.sum.0),
        sum(|it| it.counts.young),
        sum(|it| it.counts.concurrent_cycles),
        sum(|it| it.stops.count),
        sum(|it| it.recording.map_or(0, |it| it.events)),
    ] {
        assert_eq!(of_parts, of_whole);
    }
    assert!(parts.iter().any(|it| it.pauses.count < whole.pauses.count));
    let of_time = parts[1].duration.expect("times").0;
    assert!(
        of_time.abs_diff(length.unsigned_abs()) <= 1,
        "{of_time} {length}"
    );
}

/// The beans of that JVM counted 31 young collections, 2 full ones, and 8 pauses of concurrent cycles.
#[test]
fn counts_are_those_of_the_beans() {
    let summary = read(&RECORDING);
    assert_eq!(summary.collector, Some(Collector::G1));
    assert_eq!(summary.jvm.as_deref(), Some("25.0.2+10-LTS"));
    assert_eq!((summary.counts.young, summary.counts.full), (31, 2));
    assert_eq!(summary.pauses.count, 41);
    assert_eq!(summary.counts.concurrent_cycles, 7);
    assert_eq!(summary.counts.concurrent_aborted, 1);
    assert_eq!(summary.heap.max, Some(48 << 20));
    assert_eq!(summary.recording.map(|it| it.collections), Some(40));
    let cause = |name: &str| {
        let mut rows = summary.causes.iter();
        rows.find(|row| row.name == name)
            .map(|row| row.spread.count)
    };
    assert_eq!(cause("System.gc()"), Some(1));
    assert_eq!(cause("G1 Evacuation Pause"), Some(24));
    let worst = &summary.worst[0];
    assert_eq!(worst.kind, "Full");
    assert!(worst.heap.is_some_and(|heap| heap.after < heap.before));
    let (from, length) = (summary.from, summary.duration.expect("times"));
    assert!(
        worst
            .at
            .is_some_and(|at| at > from && at.0 < from.0 + length.0)
    );
    assert_eq!(summary.lines.restarts, 0);
    assert!(
        summary
            .findings
            .iter()
            .any(|it| it.id == "explicit-collections")
    );
}

#[test]
fn joined_recordings_are_summed() {
    let one = read(&RECORDING);
    // The numbers of collections are used again, in another chunk.
    let both = read(&RECORDING.repeat(2));
    assert_eq!(both.pauses.count, 2 * one.pauses.count);
    assert_eq!(both.counts.full, 2 * one.counts.full);
    assert_eq!(both.pauses.sum.0, 2 * one.pauses.sum.0);
    assert_eq!(both.recording.map(|it| it.jvms), Some(1));
    assert_eq!(both.lines.restarts, 0);
}

#[test]
fn a_file_without_collections_has_none() {
    for file in [&b""[..], b"FLR\0", b"something else"] {
        let summary = read(file);
        assert_eq!((summary.pauses.count, summary.collector), (0, None));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn spoilt_recordings_are_read_in_bounded_memory(
        spoilt in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        end in any::<prop::sample::Index>(),
    ) {
        let mut file = RECORDING.to_vec();
        for (at, byte) in spoilt {
            let at = at.index(file.len());
            file[at] = byte;
        }
        file.truncate(end.index(file.len()));
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let summary = read(&file);
        let peak = MEMORY.peak_usage().saturating_sub(before);
        // Tests run side by side.
        prop_assert!(peak <= (64 << 20), "{peak}");
        let of_kinds: u64 = summary.kinds.iter().map(|row| row.spread.count).sum();
        prop_assert_eq!(of_kinds, summary.pauses.count);
        serde_json::to_string(&summary).unwrap();
    }
}
