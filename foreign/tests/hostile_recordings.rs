//! Recordings that claim or refer to more than they hold take memory for what they hold.

use hprof_foreign::jfr::facts::{self, COLLECTION, Fact, Recorded, THREAD_DUMP, Visitor};
use hprof_foreign::{Kind, Profile, read};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory for any file, most of it for names that a file repeats.
const FIXED: usize = 10 << 20;
/// Memory for each byte of a file.
const PER_BYTE: usize = 64;
/// Tests of this file count their memory together.
static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// A compressed integer.
fn number(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn numbers(all: &[u64]) -> Vec<u8> {
    all.iter().flat_map(|&it| number(it)).collect()
}

/// An event with its size, which takes three bytes.
fn event(type_id: u64, body: &[u8]) -> Vec<u8> {
    let type_id = number(type_id);
    let size = 3 + type_id.len() + body.len();
    assert!(size < 1 << 21, "{size}");
    let size = [
        size as u8 | 0x80,
        (size >> 7) as u8 | 0x80,
        (size >> 14) as u8,
    ];
    [&size[..], &type_id, body].concat()
}

/// A chunk of events, the first of which is its metadata.
fn chunk(events: &[Vec<u8>]) -> Vec<u8> {
    let events = events.concat();
    let mut chunk = b"FLR\0\0\x02\0\0".to_vec();
    for word in [68 + events.len() as u64, 68, 68, 0, 0, 0, 1_000_000_000] {
        chunk.extend(word.to_be_bytes());
    }
    chunk.extend([0, 0, 0, 1]);
    [chunk, events].concat()
}

/// The strings and the tree of a metadata event.
#[derive(Default)]
struct Metadata {
    strings: Vec<Vec<u8>>,
    classes: Vec<Vec<u8>>,
}

impl Metadata {
    fn string(&mut self, text: &str) -> u64 {
        let encoded = [&[3][..], &number(text.len() as u64), text.as_bytes()].concat();
        let known = self.strings.iter().position(|it| *it == encoded);
        let index = known.unwrap_or_else(|| {
            self.strings.push(encoded);
            self.strings.len() - 1
        });
        index as u64
    }

    /// An element, whose children are bytes already.
    fn element(
        &mut self,
        name: &str,
        attributes: &[(&str, &str)],
        children: &[Vec<u8>],
    ) -> Vec<u8> {
        let mut bytes = number(self.string(name));
        bytes.extend(number(attributes.len() as u64));
        for (key, value) in attributes {
            let (key, value) = (self.string(key), self.string(value));
            bytes.extend(numbers(&[key, value]));
        }
        bytes.extend(number(children.len() as u64));
        bytes.extend(children.concat());
        bytes
    }

    /// Adds a type; fields are named, of a type, and `pool`, `array` or neither.
    fn class(&mut self, id: u64, name: &str, fields: &[(&str, u64, &str)]) {
        let mut all = Vec::new();
        for &(name, of, form) in fields {
            let of = of.to_string();
            let mut attributes = vec![("name", name), ("class", &*of)];
            match form {
                "pool" => attributes.push(("constantPool", "true")),
                "array" => attributes.push(("dimension", "1")),
                _ => {}
            }
            all.push(self.element("field", &attributes, &[]));
        }
        let id = id.to_string();
        let class = self.element("class", &[("id", &id), ("name", name)], &all);
        self.classes.push(class);
    }

    /// The types by which samples have stacks and threads.
    fn of_samples() -> Self {
        let mut all = Self::default();
        all.class(10, "int", &[]);
        all.class(11, "java.lang.String", &[]);
        all.class(
            20,
            "jdk.types.Method",
            &[("type", 23, "pool"), ("name", 24, "pool")],
        );
        all.class(
            21,
            "jdk.types.StackFrame",
            &[("method", 20, "pool"), ("lineNumber", 10, "")],
        );
        all.class(22, "jdk.types.StackTrace", &[("frames", 21, "array")]);
        all.class(23, "java.lang.Class", &[("name", 24, "pool")]);
        all.class(24, "jdk.types.Symbol", &[("string", 11, "")]);
        all.class(25, "java.lang.Thread", &[("osThreadId", 10, "")]);
        let fields = [("sampledThread", 25, "pool"), ("stackTrace", 22, "pool")];
        all.class(30, "jdk.ExecutionSample", &fields);
        all
    }

    fn event(mut self) -> Vec<u8> {
        let classes = std::mem::take(&mut self.classes);
        let inner = self.element("metadata", &[], &classes);
        let root = self.element("root", &[], &[inner]);
        let mut body = numbers(&[0, 0, 1, self.strings.len() as u64]);
        body.extend(self.strings.concat());
        body.extend(root);
        event(0, &body)
    }
}

/// A checkpoint of pools: type, number of entries as claimed, bytes of entries.
fn checkpoint(pools: &[(u64, u64, Vec<u8>)]) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 1];
    body.extend(number(pools.len() as u64));
    for (of, count, entries) in pools {
        body.extend(numbers(&[*of, *count]));
        body.extend(entries);
    }
    event(1, &body)
}

fn text(text: &[u8]) -> Vec<u8> {
    [&[5][..], &number(text.len() as u64), text].concat()
}

/// Reads a file, and checks the memory that this takes at any time.
fn within_bounds(file: &[u8]) -> Profile {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let profile = read(file, Kind::Jfr, &mut |_| {});
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
    // What there is room for is there.
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
