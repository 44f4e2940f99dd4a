//! Spoilt files are read as far as they go: no panic, and what is listed as lost is in the file.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use hprof_foreign::jfr::facts::{self, COLLECTION, Fact, Recorded, Skipped, THREAD_DUMP, Visitor};
use hprof_foreign::{Kind, Others, read};
use hprof_stacks::{Measure, by_method};
use proptest::prelude::*;

const KINDS: [Kind; 6] = [
    Kind::Jfr,
    Kind::Collapsed,
    Kind::Pprof,
    Kind::Speedscope,
    Kind::Firefox,
    Kind::Perf,
];

/// A small recording of JDK 17.
static RECORDING: LazyLock<Vec<u8>> =
    LazyLock::new(|| unpacked(include_bytes!("data/jdk17.jfr.gz")));

/// Collections and thread dumps of `GcBeans` of the Java programs for tests, on JDK 25 with G1.
static COLLECTIONS: LazyLock<Vec<u8>> =
    LazyLock::new(|| unpacked(include_bytes!("data/jdk25-gc.jfr.gz")));

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let unpacked = GzDecoder::new(packed).read_to_end(&mut file);
    unpacked.expect("the recording is whole");
    file
}

/// Counts events with their texts.
#[derive(Default)]
struct Counted {
    collections: u64,
    dumps: Vec<String>,
    causes: Vec<String>,
    chunks: Vec<(i64, i64)>,
}

impl<'a> Visitor<'a> for Counted {
    fn event(&mut self, event: &Recorded<'a, '_>) {
        if event.event == THREAD_DUMP {
            self.dumps.push(event.text(Fact::Result).into_owned());
        } else {
            self.collections += 1;
            self.causes.push(event.text(Fact::Cause).into_owned());
        }
        event.number(Fact::GcId);
        event.nanos(Fact::SumOfPauses);
    }

    fn chunk_end(&mut self, from: i64, to: i64) {
        self.chunks.push((from, to));
    }
}

fn counted(file: &[u8]) -> (Counted, Skipped) {
    let mut counted = Counted::default();
    let mut passed = 0;
    let skipped = facts::read(
        file,
        &[COLLECTION, THREAD_DUMP],
        &mut counted,
        &mut |part| {
            assert_eq!(part.start, passed);
            passed = part.end;
        },
    );
    assert_eq!(passed, file.len());
    (counted, skipped)
}

#[test]
fn collections_and_thread_dumps_are_found() {
    let (counted, skipped) = self::counted(&COLLECTIONS);
    assert_eq!(skipped.damaged, 0, "{:?}", skipped.damage);
    assert_eq!(counted.collections, 40);
    let explicit = counted.causes.iter().filter(|it| *it == "System.gc()");
    assert_eq!(explicit.count(), 1, "{:?}", counted.causes);
    assert_eq!(counted.dumps.len(), 2);
    for dump in &counted.dumps {
        assert!(dump.contains("Full thread dump OpenJDK"), "{dump}");
        assert!(dump.contains("JNI global refs"), "{dump}");
    }
    let [(from, to)] = counted.chunks[..] else {
        panic!("{:?}", counted.chunks);
    };
    assert!(from > 1_700_000_000_000_000_000 && (1..10_000_000_000).contains(&(to - from)));
    // The reading as a profile counts them.
    let others = read(&COLLECTIONS, Kind::Jfr, &mut |_| {})
        .expect("a recording")
        .others;
    let expected = Others {
        collections: 40,
        thread_dumps: 2,
    };
    assert_eq!(others, expected);
}

#[test]
fn a_recording_is_read() {
    let profile = read(&RECORDING, Kind::Jfr, &mut |_| {}).expect("a recording");
    assert_eq!(profile.damaged, 0, "{:?}", profile.damage);
    let measures: Vec<_> = profile.weights.iter().map(|it| it.measure).collect();
    let expected = [
        Measure::Samples,
        Measure::AllocatedBytes,
        Measure::Contention,
        Measure::Waits,
    ];
    assert_eq!(measures, expected);
    let costs = by_method(&profile.stacks, &profile.weights[0]);
    assert_eq!(costs[0].name, "Work.spin");
    assert!(profile.threads.iter().any(|it| it.name == "main"));
    // The profile names a cut with its place.
    let cut =
        read(&RECORDING[..RECORDING.len() - 100], Kind::Jfr, &mut |_| {}).expect("a recording");
    assert!(
        cut.damage
            .iter()
            .any(|it| it.message.contains("is cut short")),
        "{:?}",
        cut.damage
    );
}

/// A JVM that is killed leaves a chunk whose head says neither its size nor where its metadata is,
/// and which lacks them.
#[test]
fn a_chunk_without_metadata_is_explained_and_those_before_are_read() {
    let mut killed = RECORDING[..RECORDING.len() / 2].to_vec();
    killed[8..32].fill(0);
    let whole = read(&RECORDING, Kind::Jfr, &mut |_| {}).expect("a recording");
    for chunks in [0, 2] {
        let file = [RECORDING.repeat(chunks), killed.clone()].concat();
        let profile = read(&file, Kind::Jfr, &mut |_| {}).expect("a recording");
        assert_eq!(profile.damaged, 1, "{:?}", profile.damage);
        let damage = &profile.damage[0];
        assert_eq!(damage.offset, Some((chunks * RECORDING.len()) as u64));
        assert_eq!(damage.lost_bytes, killed.len() as u64);
        for part in ["the JVM ended before it wrote", "jfr assemble FOLDER"] {
            assert!(damage.message.contains(part), "{}", damage.message);
        }
        let samples = profile.weights.first().map_or(0, |it| it.total);
        assert_eq!(samples, chunks as u64 * whole.weights[0].total);
    }
}

/// Since JDK 14 a chunk holds copies of its own head, which begin no chunks.
#[test]
fn a_cut_recording_is_read_up_to_its_end() {
    let samples = |file: &[u8]| {
        let profile = read(file, Kind::Jfr, &mut |_| {}).expect("a recording");
        let found = profile.weights.iter();
        let found = found.filter(|it| it.measure == Measure::Samples);
        let samples: u64 = found.map(|it| it.total).sum();
        (samples, profile)
    };
    let (all, _) = samples(&RECORDING);
    let mut before = 0;
    // Copies begin at 113311, 116200, 118423 and 120399.
    for (cut, at_least) in [
        (115_000, 1),
        (117_500, 50),
        (119_500, 80),
        (121_900, all - 20),
    ] {
        let mut file = RECORDING[..cut].to_vec();
        let (found, profile) = samples(&file);
        assert!(found >= at_least && found > before, "{cut}: {found}");
        before = found;
        let offsets = profile.damage.iter().filter_map(|it| it.offset);
        assert!(offsets.clone().any(|it| it == 0), "{:?}", profile.damage);
        let said = format!("is cut short; {cut} bytes of it are there");
        let messages: Vec<_> = profile.damage.iter().map(|it| &*it.message).collect();
        assert!(messages.iter().any(|it| it.contains(&said)), "{messages:?}");
        assert!(
            !messages.iter().any(|it| it.contains("no chunk begins")),
            "{messages:?}"
        );
        // So is one that the JVM did not finish, and one behind which there is another.
        file[8..16].fill(0);
        assert_eq!(samples(&file).0, found);
        for size in [0, u64::MAX >> 1] {
            file[8..16].copy_from_slice(&size.to_be_bytes());
            let both = [&file[..], &RECORDING].concat();
            assert_eq!(samples(&both).0, found + all, "{cut}");
        }
    }
    // The bytes between two recordings have copies too.
    let rest = &RECORDING[113_000..121_000];
    let both = [&RECORDING[..], rest, &RECORDING].concat();
    let (found, profile) = samples(&both);
    assert_eq!(
        (found, profile.damaged),
        (2 * all, 1),
        "{:?}",
        profile.damage
    );
    assert_eq!(profile.damage[0].lost_bytes, rest.len() as u64);
}

/// CPUs read chunks side by side; sums and damage are those of reading one after the other.
#[test]
fn chunks_count_in_the_order_of_the_file() {
    const CHUNKS: u64 = 23;
    let one = read(&RECORDING, Kind::Jfr, &mut |_| {}).expect("a recording");
    let part = [&RECORDING[..], b"rubbish"].concat();
    let file = part.repeat(CHUNKS as usize);
    let all = read(&file, Kind::Jfr, &mut |_| {}).expect("a recording");
    assert_eq!(all.created_millis, one.created_millis);
    for (all, one) in all.weights.iter().zip(&one.weights) {
        assert_eq!((all.measure, all.rows.len()), (one.measure, one.rows.len()));
        // Each recording rounds its times.
        let expected = CHUNKS * one.total;
        assert!(all.total.abs_diff(expected) <= CHUNKS, "{:?}", all.measure);
    }
    let places: Vec<_> = all.damage.iter().map(|it| it.offset).collect();
    let expected = (0..CHUNKS).map(|at| Some(at * part.len() as u64 + RECORDING.len() as u64));
    assert_eq!(places, expected.collect::<Vec<_>>());
    assert!(all.damage.iter().all(|it| it.lost_bytes == 7));
}

fn check(file: &[u8], kind: Kind) {
    if kind == Kind::Jfr {
        counted(file);
    }
    let mut passed = 0;
    let profile = read(file, kind, &mut |part| {
        assert_eq!(part.start, passed);
        passed = part.end;
    });
    assert_eq!(passed, file.len());
    let Ok(profile) = profile else {
        return;
    };
    for damage in &profile.damage {
        assert!(damage.lost_bytes <= file.len() as u64, "{damage:?}");
    }
    for weights in &profile.weights {
        for row in &weights.rows {
            assert!(profile.stacks.trace(row.trace).is_some());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for kind in KINDS {
            check(&bytes, kind);
        }
        Kind::of(&bytes);
    }

    #[test]
    fn spoilt_recordings_are_read(
        spoilt in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        end in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
        has_collections in any::<bool>(),
    ) {
        let mut file = if has_collections { COLLECTIONS.to_vec() } else { RECORDING.to_vec() };
        for (at, byte) in spoilt {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if is_cut {
            file.truncate(end.index(file.len()));
        }
        check(&file, Kind::Jfr);
    }
}
