//! Recordings that claim or refer to more than they hold take memory for what they hold.

mod support;

use hprof_foreign::jfr::facts::{self, COLLECTION, Fact, Recorded, THREAD_DUMP, Visitor};
use hprof_foreign::{Kind, Profile, read};
use peak_alloc::PeakAlloc;
use support::{Metadata, checkpoint, chunk, event, number, numbers, text};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory for any file, most of it for names that a file repeats.
const FIXED: usize = 10 << 20;
/// Memory for each byte of a file.
const PER_BYTE: usize = 64;
/// Tests of this file count their memory together.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Reads a file, and checks the memory that this takes at any time.
fn within_bounds(file: &[u8]) -> Profile {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let profile = read(file, Kind::Jfr, &mut |_| {}).expect("a known version");
    let peak = MEMORY.peak_usage().saturating_sub(before);
    let most = FIXED + PER_BYTE * file.len();
    assert!(peak <= most, "{peak} bytes for a file of {}", file.len());
    profile
}

#[test]
fn numbers_of_entries_that_are_not_there_take_no_memory() {
    let _alone = ONE_AT_A_TIME.lock();
    for count in [1000, 1 << 20, 1 << 31, u64::from(u32::MAX), 1 << 50] {
        let pool = (24, count, vec![0; 900]);
        let file = chunk(&[Metadata::of_samples().event(), checkpoint(&[pool])]);
        let profile = within_bounds(&file);
        assert_eq!(profile.damaged, 1, "{count}");
        // Strings and frames that are claimed.
        let strings = event(0, &numbers(&[0, 0, 1, count]));
        assert!(within_bounds(&chunk(&[strings])).damaged > 0);
        let stack = (22, 1, numbers(&[1, count, 1, 1]));
        let sample = event(30, &numbers(&[0, 1]));
        let file = chunk(&[Metadata::of_samples().event(), checkpoint(&[stack]), sample]);
        assert!(within_bounds(&file).damaged > 0);
    }
}

#[test]
fn a_long_string_is_held_once_whatever_refers_to_it() {
    let _alone = ONE_AT_A_TIME.lock();
    // Not UTF-8, so that it is converted.
    let mut metadata = Metadata::of_samples();
    metadata.strings.push(text(&[0xe4; 100_000]));
    let long = metadata.strings.len() as u64 - 1;
    let field = metadata.string("field");
    let (name, class, id) = (
        metadata.string("name"),
        metadata.string("class"),
        metadata.string("id"),
    );
    let ten = metadata.string("10");
    let one = numbers(&[field, 2, name, long, class, ten, 0]);
    let mut element = numbers(&[class, 2, id, ten, name, long, 20_000]);
    element.extend(one.repeat(20_000));
    metadata.classes.push(element);
    within_bounds(&chunk(&[metadata.event()]));
}

#[test]
fn types_share_how_values_inside_of_them_are_read() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut metadata = Metadata::of_samples();
    let wide: Vec<_> = (0..900).map(|_| ("x", 10, "")).collect();
    metadata.class(100, "wide", &wide);
    let mut pools = Vec::new();
    for id in 1000..11_000 {
        metadata.class(id, "w", &[("x", 100, "")]);
        pools.push((id, 0, Vec::new()));
    }
    let file = chunk(&[metadata.event(), checkpoint(&pools)]);
    assert_eq!(within_bounds(&file).damaged, 0);
}

#[test]
fn threads_share_one_deep_stack() {
    let _alone = ONE_AT_A_TIME.lock();
    let threads: u64 = 20_000;
    let mut frames = numbers(&[1, 20_000]);
    (0..20_000).for_each(|_| frames.extend([1, 1]));
    let entries = (1..=threads).flat_map(|thread| numbers(&[thread, thread]));
    let pools = [(22, 1, frames), (25, threads, entries.collect())];
    let samples = (1..=threads).map(|thread| event(30, &numbers(&[thread, 1])));
    let mut events = vec![Metadata::of_samples().event(), checkpoint(&pools)];
    events.extend(samples);
    let profile = within_bounds(&chunk(&events));
    assert_eq!(profile.damaged, 0, "{:?}", profile.damage);
    assert_eq!(profile.weights[0].total, threads);
    assert_eq!(profile.threads.len() as u64, threads);
}

#[test]
fn a_long_name_is_not_repeated_without_end() {
    let _alone = ONE_AT_A_TIME.lock();
    let methods: u64 = 20_000;
    let symbols = [
        &number(1)[..],
        &text(&[b'a'; 60_000]),
        &number(2),
        &text(b"m"),
    ]
    .concat();
    let entries = (1..=methods).flat_map(|method| numbers(&[method, 1, 2]));
    let mut frames = numbers(&[1, methods]);
    (1..=methods).for_each(|method| frames.extend(numbers(&[method, 1])));
    let pools = [
        (24, 2, symbols),
        (23, 1, numbers(&[1, 1])),
        (20, methods, entries.collect()),
        (22, 1, frames),
    ];
    let sample = event(30, &numbers(&[0, 1]));
    let file = chunk(&[Metadata::of_samples().event(), checkpoint(&pools), sample]);
    let profile = within_bounds(&file);
    assert_eq!(profile.damaged, 1);
    let message = &profile.damage[0].message;
    assert!(message.contains("repeats long names"), "{message}");
    // The names that there is room for are there.
    let named = profile.weights[0].rows[0].trace;
    let first = profile.stacks.frames_of(named)[0];
    assert_eq!(profile.stacks.frame(first).class_name.len(), 60_000);
}

#[test]
fn values_without_bytes_take_no_time() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut metadata = Metadata::of_samples();
    metadata.class(100, "empty", &[]);
    let many: Vec<_> = (0..50).map(|_| ("x", 100, "")).collect();
    metadata.class(101, "nothing", &many);
    metadata.class(102, "array", &[("x", 101, "array")]);
    let mut entries = Vec::new();
    (0..100_000).for_each(|key| entries.extend(numbers(&[key, 90_000])));
    let file = chunk(&[metadata.event(), checkpoint(&[(102, 100_000, entries)])]);
    within_bounds(&file);
}

/// The bytes of all texts.
#[derive(Default)]
struct Texts {
    events: u64,
    bytes: usize,
}

impl<'a> Visitor<'a> for Texts {
    fn event(&mut self, event: &Recorded<'a, '_>) {
        self.events += 1;
        for fact in [Fact::Cause, Fact::Name, Fact::Result] {
            self.bytes += event.text(fact).len();
        }
    }

    fn chunk_end(&mut self, _: i64, _: i64) {}
}

#[test]
fn a_long_text_is_handed_out_a_bounded_number_of_times() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut metadata = Metadata::of_samples();
    metadata.class(40, "jdk.types.GCCause", &[("cause", 11, "")]);
    metadata.class(41, COLLECTION, &[("gcId", 10, ""), ("cause", 40, "pool")]);
    metadata.class(42, THREAD_DUMP, &[("result", 11, "")]);
    let long = text(&[b'a'; 60_000]);
    let pools = [
        (40, 1, [number(1), long.clone()].concat()),
        (11, 1, [number(1), long].concat()),
    ];
    let mut events = vec![metadata.event(), checkpoint(&pools)];
    events.extend((0..100_000).map(|id| event(41, &numbers(&[id, 1]))));
    // The text is in the pool of strings.
    events.extend((0..100_000).map(|_| event(42, &numbers(&[2, 1]))));
    let file = chunk(&events);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut texts = Texts::default();
    let wanted = [COLLECTION, THREAD_DUMP];
    let skipped = facts::read(&file, &wanted, &mut texts, &mut |_| {});
    assert_eq!((skipped.damaged, texts.events), (0, 200_000));
    assert!(
        (60_000..=8 * file.len()).contains(&texts.bytes),
        "{}",
        texts.bytes
    );
    let peak = MEMORY.peak_usage().saturating_sub(before);
    let most = FIXED + PER_BYTE * file.len();
    assert!(peak <= most, "{peak} bytes for a file of {}", file.len());
}
